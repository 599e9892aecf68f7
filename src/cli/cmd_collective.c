/* How long collectives take on a cluster, by the algorithms that libraries have. */
#include "base/file.h"
#include "base/json.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "query/supposed.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/results_table.h"
#include "schemes/run.h"
#include "schemes/simulate.h"
#include "sim/collectives/tuner.h"
#include "study/ranges.h"

struct arguments {
  struct ss_call call;
  const char *name, *algorithm;
  uint32_t ranks, rings, chunks; /* rings, chunks: 0 where they are not said */
  double least, most;            /* B */
  bool certain;
};

enum { ALGORITHMS_MAX = 16 };

/* What was asked, and the times. */
struct answer {
  const struct arguments *a;
  const struct ss_cluster *cluster;
  enum ss_collective collective;
  const struct ss_algorithm *algorithm[ALGORITHMS_MAX];
  size_t algorithms;
  bool tuned;                                /* by what the cluster's library chooses, in place of the algorithms */
  enum ss_message_kind kind[ALGORITHMS_MAX]; /* of its messages, where the cluster has an accuracy */
  bool compares;                             /* what it chooses with what else it has */
  cJSON *times;                              /* a record a size and algorithm */
};

/* --- what was asked ----------------------------------------------------------------------------------------- */

static bool read_sizes(void *arguments, const char *value, struct ss_error *error) {
  struct arguments *a = arguments;
  char before[64];
  const char *colon = strchr(value, ':');
  (void)snprintf(before, sizeof before, "%.*s", colon ? (int)(colon - value) : 63, value);
  if (!ss_units_parse(before, SS_BYTES, &a->least, error)) return ss_fail_prefix(error, "--sizes");
  a->most = a->least;
  if (colon && !ss_units_parse(colon + 1, SS_BYTES, &a->most, error)) return ss_fail_prefix(error, "--sizes");
  return (a->least >= 1 && a->least <= a->most && a->most <= 0x1p50) ||
         ss_fail(error, SS_BAD_INPUT, "--sizes: \"%s\" is no range from 1 B to 1 PiB (say 1KiB:1GiB)", value);
}

static bool choose(struct answer *out, struct ss_error *error) {
  const struct arguments *a = out->a;
  size_t count;
  const struct ss_algorithm *all = ss_algorithms(&count);
  if (!a->name)
    return ss_fail(error, SS_BAD_INPUT,
                   "say which collective: allreduce, allgather, reduce_scatter, alltoall, broadcast, reduce, "
                   "sendrecv or ping_pong");
  const enum ss_collective collective = out->collective = ss_collective_of(a->name);
  if (collective == SS_COLLECTIVES)
    return ss_fail(error, SS_BAD_INPUT, "no collective is called \"%s\"%s", a->name,
                   ss_suggest(a->name, ss_collective_names, NULL).text);
  if (a->algorithm && strcmp(a->algorithm, "all") != 0) {
    out->algorithm[out->algorithms++] = ss_algorithm_of(collective, a->algorithm);
    if (out->algorithm[0]) return true;
    const char *names[ALGORITHMS_MAX + 1] = {NULL};
    char those[200];
    for (size_t i = 0, k = 0; i < count && k < ALGORITHMS_MAX; i++)
      if (all[i].collective == collective) names[k++] = all[i].name;
    return ss_fail(error, SS_BAD_INPUT, "--algorithm: %s has no \"%s\"%s", ss_collective_names[collective],
                   a->algorithm,
                   ss_suggest(a->algorithm, names, ss_words_join(names, ", ", those, sizeof those)).text);
  }
  for (size_t i = 0; i < count && out->algorithms < ALGORITHMS_MAX; i++)
    if (all[i].collective == collective) out->algorithm[out->algorithms++] = &all[i];
  return true;
}

/* NCCL's choice where nobody names an algorithm: one time a size. Its alltoall is a group of sends and receives, its
 * broadcast and reduce go along rings. */
static bool tune(struct answer *out, struct ss_error *error) {
  const struct arguments *a = out->a;
  if (a->algorithm || out->cluster->library.kind != SS_NCCL) return true;
  out->tuned = ss_tuner_chooses(out->cluster, out->collective);
  if (out->tuned && (a->rings > 0 || a->chunks > 0))
    return ss_fail(error, SS_BAD_INPUT, "--%s needs --algorithm: without one the cluster's library, NCCL, chooses",
                   a->rings > 0 ? "rings" : "chunks");
  if (out->collective == SS_ALLTOALL) out->algorithm[0] = ss_algorithm_of(SS_ALLTOALL, "linear");
  if (out->collective < SS_SENDRECV) out->algorithms = 1;
  return true;
}

/* Chunks, or rings. */
static bool has_option(const struct ss_algorithm *algorithm, bool chunks) {
  return algorithm && (chunks ? algorithm->chunk > 0 : algorithm->rings);
}

/* An option that no algorithm which is played has would do nothing. */
static bool check_ways(const struct answer *r, struct ss_error *error) {
  static const char *const options[] = {"--rings", "--chunks"};
  const uint32_t said[] = {r->a->rings, r->a->chunks};
  for (int o = 0; o < 2; o++) {
    char those[200] = "";
    bool some = said[o] == 0;
    size_t count, at = 0;
    const struct ss_algorithm *all = ss_algorithms(&count);
    for (size_t i = 0; i < r->algorithms; i++) some = some || has_option(r->algorithm[i], o);
    for (size_t i = 0; i < count && at < sizeof those; i++)
      if (has_option(&all[i], o))
        at += (size_t)snprintf(those + at, sizeof those - at, "%s%s of %s", at > 0 ? ", " : "", all[i].name,
                               ss_collective_names[all[i].collective]);
    if (!some)
      return ss_fail(error, SS_BAD_INPUT, "%s: %s of %s has none; these have: %s", options[o],
                     r->algorithms == 1 && r->algorithm[0] ? r->algorithm[0]->name : "every algorithm",
                     ss_collective_names[r->collective], those);
  }
  return true;
}

/* With the call's own --latency and --bandwidth. */
static bool read_cluster(const struct ss_request *request, struct ss_cluster *cluster, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_request_object(request, "collective", &doc, error) &&
         ss_supposed_cluster(ss_doc_root(doc), request, cluster, error);
}

/* --- playing ----------------------------------------------------------------------------------------------- */

static struct ss_pattern_call call_of(const struct answer *r, size_t algorithm, double bytes) {
  const struct ss_algorithm *own = r->algorithm[algorithm];
  const struct ss_layout layout = ss_layout_of(r->cluster, r->a->ranks);
  assert(own);
  return (struct ss_pattern_call){.algorithm = own,
                                  .ranks = r->a->ranks,
                                  .bytes = (uint64_t)bytes,
                                  .rings = own->rings ? ss_rings_of(r->a->rings, layout) : 1,
                                  .chunks = own->chunk > 0 ? r->a->chunks : 1,
                                  .memory = ss_host_at(&r->cluster->memory, (uint64_t)bytes),
                                  .library = ss_pattern_library(r->cluster)};
}

/* What one core plays in a second, roughly; and what is worth a word before it begins. */
static const double messages_a_second = 3e6, many_seconds = 10;

/* Says how long it may take. */
static void tell_work(const struct answer *r, const struct ss_notice *notice) {
  double all = 0, most = 0, sizes = 0;
  const char *longest = "";
  char text[200];
  double bytes = r->a->least;
  while (bytes <= r->a->most) sizes++, bytes *= 2;
  for (size_t i = 0; i < r->algorithms; i++) {
    const struct ss_pattern_call call = call_of(r, i, r->a->least);
    const double messages = sizes * ss_pattern_messages(&call, r->cluster->gpus_per_node);
    all += messages;
    if (messages > most) most = messages, longest = r->algorithm[i]->name;
  }
  if (all < many_seconds * messages_a_second) return;
  snprintf(text, sizeof text,
           "about %.2g messages are to be played, most of them of %s: some %s (--algorithm NAME, --sizes)", all,
           longest, ss_shown(SS_TIME, all / messages_a_second));
  ss_notice_tell(notice, text);
}

/* The library's choice on each of the clusters. */
static bool play_choice(const struct answer *out, struct ss_choice choice, uint64_t bytes,
                        const struct ss_cluster *const *clusters, uint32_t count, double *seconds,
                        struct ss_error *error) {
  for (uint32_t i = 0; i < count; i++)
    if (!ss_choice_time(clusters[i], choice, out->collective, out->a->ranks, bytes, &seconds[i], error)) return false;
  return true;
}

/* A call of one algorithm at one size, its time, and what may be off in it. */
struct played {
  struct ss_pattern_call call;
  double seconds;
  struct ss_uncertainty uncertainty;
  struct ss_components components;
};

/* One algorithm, or what the library chose, at one size; where no class tells how far off the whole is, also where
 * one number of the cluster each is larger. */
static bool play_one(const struct answer *out, size_t algorithm, const struct ss_choice *choice, uint64_t bytes,
                     struct played *p, struct ss_error *error) {
  const struct ss_accuracy_question asked = {(uint32_t)out->collective, out->kind[algorithm],
                                             ss_cluster_nodes(out->cluster, out->a->ranks), bytes};
  const struct ss_cluster *clusters[1 + SS_COMPONENTS] = {out->cluster};
  const struct ss_device none = ss_device_none();
  double seconds[1 + SS_COMPONENTS];
  struct ss_variants varied = {.count = 0};
  const bool of_whole = ss_uncertainty_of_call(out->cluster, &asked, &p->uncertainty);
  if (out->a->certain) p->uncertainty = ss_certain;
  else if (!of_whole) p->uncertainty = ss_uncertainty_of(out->cluster, &none, out->a->ranks, SS_COLLECTIVES);
  if (!of_whole) ss_variants_make(&varied, out->cluster, &p->uncertainty);
  for (uint32_t i = 0; i < varied.count; i++) clusters[1 + i] = &varied.cluster[i];
  p->call = out->tuned ? ss_choice_call(out->cluster, *choice, out->collective, out->a->ranks, bytes)
                       : call_of(out, algorithm, (double)bytes);
  if (!(out->tuned ? play_choice(out, *choice, bytes, clusters, 1 + varied.count, seconds, error)
                   : ss_pattern_times(clusters, 1 + varied.count, &p->call, seconds, error)) ||
      !ss_seconds_check(seconds[0], error))
    return false;
  p->components = ss_variants_split(&varied, seconds[0], seconds + 1);
  if (of_whole) p->components.s[SS_TRANSFER] = seconds[0];
  p->seconds = seconds[0];
  return seconds[0] >= 1 / SS_SECONDS_MOST ||
         ss_fail(error, SS_BAD_INPUT, "%g B in %g s: a size, rate or latency is out of all proportion", (double)bytes,
                 seconds[0]);
}

/* Bytes a second as nccl-tests has them: what a rank's link carries in a ring. */
static double bus_rate(const struct answer *r, double rate) {
  const double P = r->a->ranks;
  switch (r->collective) {
  case SS_ALLREDUCE: return rate * 2 * (P - 1) / P;
  case SS_BROADCAST:
  case SS_REDUCE:
  case SS_SENDRECV:
  case SS_PING_PONG: return rate;
  default: return rate * (P - 1) / P;
  }
}

/* The i-th way and protocol that the library has for so many bytes; false: it has it not. */
static bool other_choice(const struct answer *r, int i, uint64_t bytes, struct ss_choice *out) {
  *out = (struct ss_choice){(enum ss_way)(i / SS_PROTOCOLS), (enum ss_protocol)(i % SS_PROTOCOLS), 0};
  return isfinite(ss_tuner_believes(r->cluster, r->collective, r->a->ranks, bytes, *out));
}

/* Whether all that the library has at all sizes is played in a second or so, with what may be off. */
static bool plays_others(const struct answer *r) {
  static const double FEW = 5e5;
  double all = 0, bytes = r->a->least;
  while (bytes <= r->a->most) {
    for (int i = 0; i < SS_WAYS * SS_PROTOCOLS; i++) {
      struct ss_choice c;
      if (!other_choice(r, i, (uint64_t)bytes, &c)) continue;
      const struct ss_pattern_call call = ss_choice_call(r->cluster, c, r->collective, r->a->ranks, (uint64_t)bytes);
      all += ss_pattern_messages(&call, r->cluster->gpus_per_node);
    }
    bytes *= 2;
  }
  return all <= FEW;
}

static struct ss_uncertain uncertain_of(const struct played *p, const char *label) {
  return (struct ss_uncertain){.time = p->seconds,
                               .components = &p->components,
                               .uncertainty = &p->uncertainty,
                               .label = label,
                               .own = {1, 1}};
}

/* Adds what the library might take instead, where that takes less than 1 / MUCH of the time, and less in as many
 * draws as make it likely. */
static const double MUCH = 1.2;
static bool add_faster(const struct answer *out, const struct ss_candidate *taken, uint64_t bytes, cJSON *item,
                       struct ss_error *error) {
  struct ss_choice best = {0}, c;
  struct played p;
  struct ss_candidate two[2] = {*taken, {.name = NULL}};
  struct ss_decision ignored;
  double least = taken->of.time / MUCH, time;
  bool any = false;
  for (int i = 0; i < SS_WAYS * SS_PROTOCOLS; i++) {
    if (!other_choice(out, i, bytes, &c)) continue;
    if (!play_choice(out, c, bytes, &out->cluster, 1, &time, error)) return false;
    if (time < least) least = time, best = c, any = true;
  }
  if (!any) return true;
  if (!play_one(out, 0, &best, bytes, &p, error)) return false;
  two[1].of = uncertain_of(&p, ss_choice_algorithm(best));
  if (!ss_decide(two, 2, NULL, &ignored, error)) return false;
  if (!out->a->certain && two[1].wins < SS_LIKELY) return true;
  ss_json_add(item, SS_T("faster_algorithm", ss_choice_algorithm(best)),
              SS_T("faster_protocol", ss_protocol_names[best.protocol]), SS_N("faster_s", least));
  if (!out->a->certain)
    ss_json_add(item, SS_N("faster_low_s", two[1].range.low), SS_N("faster_high_s", two[1].range.high));
  return true;
}

static bool play_size(struct answer *out, uint64_t bytes, struct ss_error *error) {
  const struct ss_choice choice =
      out->tuned ? ss_tuner_choose(out->cluster, out->collective, out->a->ranks, bytes) : (struct ss_choice){0};
  struct played played[ALGORITHMS_MAX];
  struct ss_candidate list[ALGORITHMS_MAX] = {{.name = NULL}};
  struct ss_decision ignored;
  for (size_t i = 0; i < out->algorithms; i++) {
    struct played *p = &played[i];
    if (!play_one(out, i, &choice, bytes, p, error)) return false;
    list[i].of = uncertain_of(p, out->tuned ? ss_choice_algorithm(choice) : out->algorithm[i]->name);
  }
  if (!ss_decide(list, out->algorithms, NULL, &ignored, error)) return false;
  for (size_t i = 0; i < out->algorithms; i++) {
    const struct played *p = &played[i];
    const uint32_t chunks = ss_pattern_chunks(&p->call);
    cJSON *item =
        ss_json_object(SS_T("algorithm", list[i].of.label), SS_N("bytes", (double)bytes), SS_N("time_s", p->seconds),
                       SS_N("busbw_bytes_per_s", bus_rate(out, (double)bytes / p->seconds)));
    if (!out->a->certain)
      ss_json_add(item, SS_N("time_low_s", list[i].range.low), SS_N("time_high_s", list[i].range.high),
                  SS_N("busbw_low_bytes_per_s", bus_rate(out, (double)bytes / list[i].range.high)),
                  SS_N("busbw_high_bytes_per_s", bus_rate(out, (double)bytes / list[i].range.low)));
    if (!out->a->certain && out->algorithms > 1) ss_json_add(item, SS_N("wins", list[i].wins));
    if (p->call.rings > 1) ss_json_add(item, SS_N("rings", p->call.rings));
    if (chunks > 1) ss_json_add(item, SS_N("chunks", chunks));
    if (out->tuned)
      ss_json_add(item, SS_T("protocol", ss_protocol_names[choice.protocol]), SS_N("believed_s", choice.seconds));
    cJSON_AddItemToArray(out->times, item);
    if (out->compares && !add_faster(out, &list[i], bytes, item, error)) return false;
  }
  return true;
}

static bool play(struct answer *out, struct ss_error *error) {
  const struct arguments *a = out->a;
  for (size_t i = 0; out->cluster->accuracy.known && !a->certain && i < out->algorithms; i++) {
    const struct ss_pattern_call call = call_of(out, i, a->least);
    out->kind[i] = ss_pattern_kind(&call, out->cluster->gpus_per_node);
  }
  out->compares = out->tuned && plays_others(out);
  double bytes = a->least;
  while (bytes <= a->most) {
    if (!play_size(out, (uint64_t)bytes, error)) return false;
    bytes *= 2;
  }
  return true;
}

/* --- printing ----------------------------------------------------------------------------------------------- */

/* With what both tables add to each record. */
static cJSON *times_of(const struct answer *r) {
  cJSON *times = cJSON_Duplicate(r->times, true), *t;
  cJSON_ArrayForEach(t, times) {
    ss_json_add(t, SS_T("collective", ss_collective_names[r->collective]), SS_N("ranks", r->a->ranks));
    ss_time_add(t, "time", ss_json_number(t, "time_s"), ss_json_number(t, "time_low_s"),
                ss_json_number(t, "time_high_s"));
    const double wins = ss_json_number(t, "wins");
    char share[16];
    snprintf(share, sizeof share, "%d%%", ss_of_100(wins));
    ss_json_add_text(t, "won", isfinite(wins) ? share : NULL);
    const char *protocol = ss_json_word(t, "faster_protocol");
    const double low = ss_json_number(t, "faster_low_s"), high = ss_json_number(t, "faster_high_s");
    char faster[120] = "";
    if (!protocol) continue;
    ss_append(faster, sizeof faster, "%s %s %s", ss_json_word(t, "faster_algorithm"), protocol,
              ss_shown(SS_TIME, ss_json_number(t, "faster_s")));
    if (low < high) ss_append(faster, sizeof faster, " (%s to %s)", ss_shown(SS_TIME, low), ss_shown(SS_TIME, high));
    ss_json_add_text(t, "faster", faster);
  }
  return times;
}

static bool print_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct answer *r = report;
  const struct ss_column columns[] = {
      {"bytes", "bytes", "B"},          {"<algorithm", "algorithm", NULL},
      {"?<protocol", "protocol", NULL}, {"?rings", "rings", "%.0f"},
      {"?chunks", "chunks", "%.0f"},    {r->a->certain ? "time" : "time (90%)", "time", NULL},
      {"?fastest in", "won", NULL},     {"bus bandwidth", "busbw_bytes_per_s", "B/s"},
      {"?<faster", "faster", NULL}};
  const uint32_t nodes = ss_cluster_nodes(r->cluster, r->a->ranks);
  (void)fprintf(stream, "%s on %s, %" PRIu32 " ranks on %" PRIu32 " node%s\n\n", ss_collective_names[r->collective],
                r->cluster->name, r->a->ranks, nodes, nodes == 1 ? "" : "s");
  if (!ss_records_print(columns, times_of(r), false, stream, error)) return false;
  if (!r->a->certain)
    fputs("\n(90%): where time lies in 90 of 100 draws of the numbers and the model that are not certain (--certain "
          "leaves them out);\nbus bandwidth: at the time as it is told\n",
          stream);
  for (const cJSON *t = r->times->child; t; t = t->next) {
    if (!ss_json_word(t, "faster_protocol")) continue;
    fputs(
        "faster: what NCCL has and does not choose by itself (NCCL_ALGO, NCCL_PROTO), where it takes less by a sixth "
        "or more, and likely so\n",
        stream);
    break;
  }
  if (!r->a->certain && r->algorithms > 1)
    fputs("fastest in: the share of the draws in which it takes the least of its size\n", stream);
  return true;
}

static bool print_csv(const void *report, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"collective", "collective", NULL},
                                             {"algorithm", "algorithm", NULL},
                                             {"ranks", "ranks", SS_EXACT},
                                             {"bytes", "bytes", SS_EXACT},
                                             {"time_s", "time_s", SS_EXACT},
                                             {"busbw_bytes_per_s", "busbw_bytes_per_s", SS_EXACT},
                                             {"?protocol", "protocol", NULL},
                                             {"?believed_s", "believed_s", SS_EXACT},
                                             {"?faster_algorithm", "faster_algorithm", NULL},
                                             {"?faster_protocol", "faster_protocol", NULL},
                                             {"?faster_s", "faster_s", SS_EXACT},
                                             {"?faster_low_s", "faster_low_s", SS_EXACT},
                                             {"?faster_high_s", "faster_high_s", SS_EXACT},
                                             {"?rings", "rings", SS_EXACT},
                                             {"?chunks", "chunks", SS_EXACT},
                                             {"?time_low_s", "time_low_s", SS_EXACT},
                                             {"?time_high_s", "time_high_s", SS_EXACT},
                                             {"?wins", "wins", SS_EXACT}};
  return ss_records_print(columns, times_of(report), true, stream, error);
}

static bool print_json(const void *report, FILE *stream, struct ss_error *error) {
  const struct answer *r = report;
  cJSON *root = ss_json_object(SS_J("times", cJSON_Duplicate(r->times, true)), SS_T("cluster", r->cluster->name),
                               SS_T("collective", ss_collective_names[r->collective]), SS_N("ranks", r->a->ranks));
  return ss_json_print_free(root, stream, error);
}

/* Says what is beyond the nodes and bytes that the cluster was fitted on. */
static void tell_beyond(const struct answer *r, const struct ss_notice *notice) {
  const struct arguments *a = r->a;
  const struct ss_cluster *cluster = r->cluster;
  double largest = a->least;
  while (2 * largest <= a->most) largest *= 2;
  ss_cluster_tell_nodes(cluster, ss_cluster_nodes(cluster, a->ranks), notice);
  ss_cluster_tell_one_node(cluster, a->ranks, notice);
  ss_cluster_tell_bytes(cluster, (uint32_t)r->collective, (uint64_t)a->least, notice);
  ss_cluster_tell_bytes(cluster, (uint32_t)r->collective, (uint64_t)largest, notice);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (struct arguments *)call;
  struct ss_cluster cluster;
  struct answer answer = {.a = a, .cluster = &cluster, .times = cJSON_CreateArray()};
  bool ok = choose(&answer, error) && read_cluster(&call->request, &cluster, error) && tune(&answer, error) &&
            check_ways(&answer, error);
  if (ok) tell_work(&answer, call->request.notice);
  if (ok && !a->certain) tell_beyond(&answer, call->request.notice);
  ok = ok && play(&answer, error) && ss_call_write(call, &answer, print_table, print_json, print_csv, error);
  cJSON_Delete(answer.times);
  return ok;
}

static const struct ss_option_spec options[] = {
    {"", SS_TEXT(struct arguments, name), .value = "collective"},
    {"--algorithm", SS_TEXT(struct arguments, algorithm), .value = "NAME",
     .help = "one alone, or all there are (all; of NCCL, what it chooses)"},
    {"--ranks", SS_COUNT32(struct arguments, ranks, 2, 16384), .value = "P", .help = "how many (16)"},
    {"--sizes", SS_OTHER(read_sizes), .value = "A:B",
     .help = "bytes from A to B, doubling (1KiB:1GiB): of allreduce the vector, of allgather what each rank ends "
             "with, of reduce_scatter what it begins with, of alltoall what it holds for all, else the message"},
    {"--rings", SS_COUNT32(struct arguments, rings, 1, 64), .value = "N",
     .help = "rings, or pairs of trees, side by side, each by a card of its own (as many as a node has cards; 1 "
             "inside a node, under \"alpha-beta\" and of MPI)"},
    {"--chunks", SS_COUNT32(struct arguments, chunks, 1, 65536), .value = "N",
     .help = "parts that pass through trees and chains one behind the other (trees 1; broadcast and reduce pieces of "
             "512 KiB)"},
    SS_OPTION_CLUSTER(" (p3.16xlarge-25g)", "bandwidth", "latency"),
    {"--certain", SS_FLAG(struct arguments, certain), .help = SS_HELP_CERTAIN},
    SS_OPTIONS_OUTPUT,
    {.name = NULL}};

const struct ss_command ss_command_collective = {
    .name = "collective",
    .summary = "how long allreduce, allgather, alltoall, ... take on a cluster, by algorithm",
    .usage = "usage: sparsync collective NAME [OPTION...]\n\n"
             "Plays allreduce, allgather, reduce_scatter, alltoall, broadcast, reduce, sendrecv or ping_pong on a "
             "cluster by the algorithms that MPI libraries and NCCL have, and prints what nccl-tests would: time and "
             "bus bandwidth by size. Sums, copies and buffers count as the cluster's \"memory\" says; without it "
             "they are not counted.\n",
    .examples =
        "  sparsync collective allreduce --cluster leonardo --ranks 64\n"
        "  sparsync collective alltoall --cluster h100-8-measured --ranks 80 --algorithm linear --sizes 1MiB:16GiB\n"
        "  sparsync collective allreduce --algorithm trees --chunks 16 --cluster polaris --ranks 32\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.ranks = 16, .least = 1024, .most = 0x1p30},
    .company = SS_ALONE,
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
