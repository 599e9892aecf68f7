/* Writes down what a scheme sends, round by round, and how long the engine takes for it: simgrid_rounds reads it.
 *
 *   dump_rounds TRACE CLUSTER.json SCHEME [SLOWER [--kernels [AT SCHEME]...]]
 *
 * TRACE: a .safetensors file, of which the first iteration is played, or "exchange:P", a pairwise exchange of P ranks
 * with ragged sizes (SCHEME is not looked at). SCHEME: JSON, as a scenario has it. Those with AT s, in order of time,
 * are played at once with the first, and machine/plays.h says when each of them ends. */
#include "schemes/simulate.h"
#include "sim/engine.h"
#include "sim/recording.h"
#include "trace/file/trace.h"

#include "base/memory.h"
#include "ragged.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recorder {
  struct ss_player player; /* first: a player is the recorder it stands in */
  struct ss_player *then;  /* who plays what is written down */
};

/* What is played. */
struct act {
  double at, end;
  uint32_t servers;
  bool together; /* else it is alone, and the engine plays it */
  struct ss_recording recording;
  struct ss_replay replay;
};
enum { ACTS = 8 };

static double slower = 1;

static void fail(const struct ss_error *error) {
  fprintf(stderr, "dump_rounds: %s\n", error->text);
  exit(2);
}

/* --- the cluster -------------------------------------------------------------------------------------------- */

static void print_class(const char *name, const struct ss_link *plain, const struct ss_segments *segments) {
  printf("class %s %" PRIu32, name, segments->count ? segments->count : 1);
  if (segments->count == 0) printf(" %" PRIu64 " %.17g %.17g", UINT64_MAX, plain->alpha, 1 / plain->beta);
  for (uint32_t i = 0; i < segments->count; i++)
    printf(" %" PRIu64 " %.17g %.17g", segments->piece[i].up_to, segments->piece[i].link.alpha,
           1 / segments->piece[i].link.beta);
  putchar('\n');
}

static void print_cluster(const struct ss_cluster *c, uint32_t ranks) {
  printf("cluster %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %d\n", ranks, c->gpus_per_node, ss_cluster_nics(c),
         ss_cluster_window(c), c->intra_shared);
  print_class("inter", &c->inter, &c->inter_segments);
  print_class("exchange", c->has_exchange ? &c->exchange : &c->inter,
              c->has_exchange ? &c->exchange_segments : &c->inter_segments);
  print_class("intra", c->has_intra ? &c->intra : &c->inter, c->has_intra ? &c->intra_segments : &c->inter_segments);
  for (uint32_t l = 0; l < c->fabric_levels; l++)
    printf("level %" PRIu32 " %.17g %.17g\n", c->fabric[l].nodes, ss_cluster_uplink_rate(c, l), c->fabric[l].latency);
}

/* --- rounds ------------------------------------------------------------------------------------------------- */

static bool record(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct recorder *r = (struct recorder *)player;
  const struct ss_messages *m = &round->messages;
  printf("round %d %d %" PRId64, round->dependent, round->exchange,
         round->settled ? (int64_t)round->settled_count : (int64_t)-1);
  for (uint32_t i = 0; round->settled && i < round->settled_count; i++) printf(" %" PRIu32, round->settled[i]);
  putchar('\n');
  for (uint32_t i = 0; i < m->count; i++)
    printf("m %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", ss_message_from(m, i), ss_message_to(m, i),
           ss_message_bytes(m, i));
  for (uint32_t i = 0; i < round->after_count; i++)
    printf("c %" PRIu32 " %.17g\n", round->after[i].endpoint, round->after[i].seconds);
  return r->then->play(r->then, round, error);
}

static struct recorder begin_play(double at, uint32_t servers, struct ss_player *then) {
  printf("play %.17g %" PRIu32 "\n", at, servers);
  return (struct recorder){.player = {.play = record}, .then = then};
}

static void print_result(double time) {
  printf("result %.17g\n", time / slower);
}

static void open_engine(struct ss_engine *engine, const struct ss_cluster *cluster, uint32_t ranks,
                        uint32_t servers) {
  struct ss_error error;
  if (!ss_engine_open(engine, cluster, ranks, servers, &error)) fail(&error);
}

static void close_engine(struct ss_engine *engine) {
  print_result(ss_engine_tally(engine, 0).time);
  ss_engine_close(engine);
}

static void play_exchange(const struct ss_cluster *cluster, uint32_t ranks) {
  struct ss_engine engine;
  struct ss_error error;
  SS_AUTO_FREE uint64_t *bytes = ss_alloc(ranks, sizeof *bytes);
  print_cluster(cluster, ranks);
  open_engine(&engine, cluster, ranks, 0);
  struct recorder r = begin_play(0, 0, &engine.player);
  for (uint32_t s = 1; s < ranks && bytes; s++) {
    for (uint32_t i = 0; i < ranks; i++) bytes[i] = ragged_bytes(i, s);
    struct ss_round round = {
        .messages = {.count = ranks, .shift = s, .bytes = bytes}, .dependent = s == 1, .exchange = true};
    if (!r.player.play(&r.player, &round, &error)) fail(&error);
  }
  close_engine(&engine);
}

static void play_together(const struct ss_cluster *cluster, uint32_t ranks, struct act *act, uint32_t count) {
  struct ss_plays_size size = {.ranks = ranks};
  for (uint32_t i = 0; i < count; i++)
    if (act[i].servers > size.servers) size.servers = act[i].servers;
  struct ss_plays *plays = ss_plays_open(&cluster, 1, size);
  for (uint32_t i = 0; plays && i <= count; i++) {
    const double until = i < count ? act[i].at : HUGE_VAL;
    double ended;
    uint32_t id;
    while (ss_plays_advance(plays, until, &id, &ended) == SS_PLAYS_ENDED) act[id].end = ended;
    if (i == count) break;
    act[i].replay = (struct ss_replay){.recording = &act[i].recording};
    const struct ss_play_begun begun = {.cluster = cluster,
                                        .servers = act[i].servers,
                                        .stretch = 1,
                                        .pace = 1,
                                        .rounds = ss_replay_rounds(&act[i].replay),
                                        .id = i};
    if (!ss_plays_start(plays, &begun, until, 0)) break;
  }
  for (uint32_t i = 0; i < count; i++) print_result(act[i].end);
  ss_plays_close(plays);
}

/* --- schemes ------------------------------------------------------------------------------------------------ */

/* On the engine, or to be played later. */
static void run_scheme(const struct ss_setting *setting, const struct ss_cluster *cluster,
                       const struct ss_input *input, const struct ss_device *device, struct act *act,
                       struct ss_arena *arena) {
  const struct ss_layout layout = ss_layout_of(cluster, input->ranks);
  struct ss_state state = {0};
  struct ss_outcome outcome = {.exact = false};
  struct ss_error error;
  struct ss_engine engine;
  act->servers = ss_setting_servers(setting, layout);
  struct recorder r = begin_play(act->at, act->servers, act->together ? &act->recording.player : &engine.player);
  struct ss_stage stage = {.setting = setting,
                           .input = input,
                           .servers = act->servers,
                           .per_node = layout.per_node,
                           .player = &r.player,
                           .device = device,
                           .payloads = true,
                           .state = &state,
                           .arena = arena};
  if (!act->together) open_engine(&engine, cluster, input->ranks, act->servers);
  if (!ss_state_begin(&state, input->ranks, &error) ||
      !ss_run_own(setting, input, (struct ss_own_content){.proofs = true}, arena, &stage.own, &error) ||
      !ss_stage_run(&stage, NULL, &outcome, &error))
    fail(&error);
  ss_state_free(&state);
  if (!act->together) close_engine(&engine);
}

static void read_setting(const char *json, struct ss_layout layout, struct ss_setting *out) {
  const struct ss_setting defaults = {.index_bytes = 4};
  struct ss_error error;
  struct ss_doc *doc;
  if (!ss_doc_parse("scheme", json, strlen(json), &doc, &error) ||
      !ss_setting_read(ss_doc_root(doc), &defaults, out, &error) || !ss_setting_check(out, layout, &error))
    fail(&error);
  ss_doc_free(doc);
}

static void play_scheme(const struct ss_cluster *cluster, const struct ss_trace *trace, const char *scheme,
                        bool kernels, struct act *act) {
  struct ss_coalesce_scratch scratch = {0};
  struct ss_arena arena = {0};
  struct ss_error error;
  struct ss_setting setting;
  struct ss_input input;
  const struct ss_device none = ss_device_none();
  const struct ss_device quick = ss_device_of("quick", 5e-6 * slower, 1e-11 * slower);
  const struct ss_origin origin = {.trace = trace, .merge = 1};
  read_setting(scheme, ss_layout_of(cluster, ss_trace_ranks(trace)), &setting);
  const struct ss_input_options options = ss_setting_input_options(&setting, ss_trace_ranks(trace), true, false);
  if (!ss_input_make(&origin, &options, &arena, &scratch, &input, &error)) fail(&error);
  run_scheme(&setting, cluster, &input, kernels ? &quick : &none, act, &arena);
  ss_coalesce_free(&scratch);
  ss_arena_free(&arena);
}

/* `rest`: AT SCHEME of those besides the first. */
static void play_schemes(const struct ss_cluster *cluster, const char *path, const char *first, bool kernels,
                         char **rest, uint32_t count) {
  struct act act[ACTS] = {{0}};
  struct ss_error error;
  struct ss_trace *trace;
  if (!ss_trace_open(path, &trace, &error)) fail(&error);
  print_cluster(cluster, ss_trace_ranks(trace));
  for (uint32_t i = 0; i <= count; i++) {
    act[i].together = count > 0;
    ss_recording_open(&act[i].recording);
    if (i > 0) act[i].at = strtod(rest[2 * i - 2], NULL) * slower;
    play_scheme(cluster, trace, i > 0 ? rest[2 * i - 1] : first, kernels, &act[i]);
  }
  if (count > 0) play_together(cluster, ss_trace_ranks(trace), act, count + 1);
  for (uint32_t i = 0; i <= count; i++) ss_recording_free(&act[i].recording);
  ss_trace_close(trace);
}

int main(int count, char **arguments) {
  struct ss_cluster cluster;
  struct ss_error error;
  struct ss_doc *doc;
  if (count < 4 || count >= 6 + 2 * ACTS) {
    fprintf(stderr, "usage: dump_rounds TRACE CLUSTER.json SCHEME [SLOWER [--kernels [AT SCHEME]...]]\n");
    return 2;
  }
  if (!ss_doc_read(arguments[2], 1 << 20, &doc, &error) || !ss_cluster_read(ss_doc_root(doc), &cluster, &error))
    fail(&error);
  ss_doc_free(doc);
  if (count > 4) slower = strtod(arguments[4], NULL);
  ss_cluster_scale(&cluster,
                   &(struct ss_cluster_factors){.latency = slower, .byte_time = slower, .intra_bandwidth = 1});
  if (strncmp(arguments[1], "exchange:", 9) == 0) play_exchange(&cluster, (uint32_t)atoi(arguments[1] + 9));
  else
    play_schemes(&cluster, arguments[1], arguments[3], count > 5, arguments + 6,
                 count > 6 ? (uint32_t)(count - 6) / 2 : 0);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
