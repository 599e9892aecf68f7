#include "calibration/calibrated.h"

#include <time.h>

const char *ss_date_text(char *buffer, size_t size) {
  const time_t now = time(NULL);
  struct tm day;
  if (!gmtime_r(&now, &day) || strftime(buffer, size, "%Y-%m-%d", &day) == 0) (void)snprintf(buffer, size, "-");
  return buffer;
}

/* --- JSON -------------------------------------------------------------------------------------------------- */

static void add_quality(cJSON *object, double low, double high, const struct ss_residuals *r) {
  ss_json_add(object, SS_J("valid", cJSON_CreateDoubleArray((const double[]){low, high}, 2)),
              SS_N("samples", (double)r->samples), SS_N("outliers", (double)r->outliers),
              SS_N("residual_median", r->typical), SS_N("residual_max", r->worst));
}

void ss_line_quality_json(cJSON *object, const struct ss_line *line) {
  add_quality(object, line->low, line->high, &line->residuals);
}

static void add_cost(cJSON *item, const char *name, const struct ss_fitted_cost *cost) {
  char error[64];
  (void)snprintf(error, sizeof error, "%s_error", name);
  ss_json_add(item, SS_N(name, cost->value), SS_N(error, cost->error));
}

cJSON *ss_calibrated_pieces(const struct ss_cluster_fit *fit, enum ss_cost_kind kind) {
  static const char *const names[2][2] = {{"latency", "seconds_per_byte"}, {"sum_per_byte", "page_per_byte"}};
  cJSON *list = cJSON_CreateArray();
  for (uint32_t at = 0; at < fit->cluster.pieces[kind]; at++) {
    const struct ss_piece_quality *q = &fit->quality[kind][at];
    cJSON *item = cJSON_CreateObject();
    for (int i = 0; i < 2; i++)
      add_cost(item, names[kind == SS_COST_MEMORY][i], &fit->cluster.piece[kind][at].cost[i]);
    if (q->residuals.samples > 0) add_quality(item, q->low, q->high, &q->residuals);
    cJSON_AddItemToArray(list, item);
  }
  return list;
}

/* What one piece says into `object`, what several say into a list of that name, each up to its size. */
static void add_pieces(cJSON *object, const char *list_name, const struct ss_measured_cluster *m,
                       enum ss_cost_kind kind,
                       void (*add)(cJSON *item, const struct ss_cost_piece *piece, double latency), double latency) {
  cJSON *list = m->pieces[kind] > 1 ? cJSON_AddArrayToObject(object, list_name) : NULL;
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    const struct ss_cost_piece *piece = &m->piece[kind][i];
    cJSON *item = list ? cJSON_CreateObject() : object;
    if (list) cJSON_AddItemToArray(list, item);
    if (i + 1 < m->pieces[kind]) ss_json_add_number(item, "up_to", (double)piece->up_to);
    add(item, piece, latency);
  }
}

static void add_link(cJSON *item, const struct ss_cost_piece *piece, double latency) {
  ss_json_add(item, SS_N("latency", isnan(latency) ? piece->cost[0].value : latency),
              SS_N("bandwidth", 1 / piece->cost[1].value));
}

/* Latency, where it is not given, and bandwidth, or segments, of a kind. */
static void add_links(cJSON *object, const struct ss_calibrated *c, enum ss_cost_kind kind) {
  add_pieces(object, "segments", &c->fit.cluster, kind, add_link, kind == SS_COST_INTRA ? NAN : c->latency);
}

static void add_touched(cJSON *item, const struct ss_cost_piece *piece, double latency) {
  (void)latency;
  ss_json_add(item, SS_N("sum_per_byte", piece->cost[0].value), SS_N("page_per_byte", piece->cost[1].value));
}

/* Whether some runs were of several nodes, and whether some stayed inside one. */
static bool ran(const struct ss_calibrated *c, bool several) {
  for (size_t i = 0; i < c->observations->count; i++)
    if ((c->observations->list[i].nodes > 1) == several) return true;
  return false;
}
static bool between_nodes(const struct ss_calibrated *c) {
  return ran(c, true);
}
static bool inside_nodes(const struct ss_calibrated *c) {
  return ran(c, false);
}

enum ss_cost_kind ss_calibrated_main_kind(const struct ss_calibrated *c) {
  return between_nodes(c) ? SS_COST_INTER : SS_COST_INTRA;
}

static struct ss_json_member window_of(const char *name, uint32_t window) {
  return window == UINT32_MAX ? SS_T(name, "all") : SS_N(name, window);
}

static cJSON *way_json(const struct ss_measured_cluster *m, enum ss_way way) {
  cJSON *of = cJSON_CreateObject();
  for (int p = 0; p < SS_PROTOCOLS; p++) {
    const enum ss_cost_kind kind = ss_cost_kind_of_way(way, (enum ss_protocol)p);
    if (m->pieces[kind] > 0) add_link(cJSON_AddObjectToObject(of, ss_protocol_names[p]), m->piece[kind], NAN);
  }
  return of;
}

static cJSON *library_json(const struct ss_measured_cluster *m) {
  struct ss_library l;
  ss_measured_library(m, 0, &l);
  cJSON *library = ss_json_object(SS_T("name", ss_library_names[l.kind]), SS_T("version", l.version),
                                  SS_T("gpu", ss_gpu_names[l.gpu]), SS_T("cpu", ss_cpu_names[l.cpu]));
  cJSON *start = cJSON_CreateObject();
  if (l.pci) ss_json_add_text(library, "inside", "pci");
  for (int p = 0; p < SS_PROTOCOLS; p++)
    if (m->pieces[(int)SS_COST_START + p] > 0)
      ss_json_add_number(start, ss_protocol_names[p], m->piece[(int)SS_COST_START + p][0].cost[0].value);
  ss_json_add(library, SS_B("ll128", l.ll128), SS_N("channels", l.channels),
              SS_N("channel_bandwidth", l.channel_rate),
              SS_J("costs", ss_json_object(SS_J("ring", way_json(m, SS_WAY_RING)),
                                           SS_J("tree", way_json(m, SS_WAY_TREE)), SS_J("start", start))));
  return library;
}

static void add_machine(cJSON *root, const struct ss_calibrated *c) {
  const struct ss_measured_cluster *m = &c->fit.cluster;
  const bool library = m->library.kind != SS_NO_LIBRARY;
  ss_json_add(root, SS_T("model", "fair"));
  add_links(root, c, ss_calibrated_main_kind(c));
  ss_json_add(root, SS_N("gpus_per_node", m->gpus_per_node), SS_N("nics", m->nics),
              /* NCCL's chains have one message under way in a ring. */
              library ? SS_J("window", ss_json_object(SS_N("chain", 1), window_of("exchange", m->window)))
                      : window_of("window", m->window));
  if (m->pieces[SS_COST_EXCHANGE] > 0 && between_nodes(c))
    add_links(cJSON_AddObjectToObject(root, "exchange"), c, SS_COST_EXCHANGE);
  if (m->pieces[SS_COST_MEMORY] > 0)
    add_pieces(cJSON_AddObjectToObject(root, "memory"), "pieces", m, SS_COST_MEMORY, add_touched, NAN);
  if (library) ss_json_add(root, SS_J("library", library_json(m)));
  else if (c->observations->of_gloo == c->observations->count) /* no other plays otherwise for its name */
    ss_json_add(root, SS_J("library", ss_json_object(SS_T("name", ss_library_names[SS_GLOO]))));
  if (m->pieces[SS_COST_INTRA] > 0 && m->gpus_per_node > 1)
    add_links(cJSON_AddObjectToObject(root, "intra"), c, SS_COST_INTRA);
}

/* What is supposed begins with "estimated", as everywhere. */
static cJSON *source_json(const struct ss_calibrated *c) {
  char text[600];
  const uint32_t *pieces = c->fit.cluster.pieces;
  cJSON *source = ss_json_object(SS_T("bandwidth", c->measured),
                                 SS_T("latency", isnan(c->latency) ? c->measured : "given: --latency"));
  (void)snprintf(text, sizeof text, "%s%.300s",
                 c->fit.sum_supposed ? "estimated: sums of 0.1 ns a byte; pages: " : "", c->measured);
  if (pieces[SS_COST_MEMORY] > 0) ss_json_add_text(source, "memory", text);
  if (pieces[SS_COST_INTRA] > 0 && c->fit.cluster.gpus_per_node > 1)
    ss_json_add_text(source, "intra",
                     inside_nodes(c) ? c->measured
                                     : "estimated: no run stayed inside a node; four times the rate of all cards");
  return source;
}

bool ss_calibrated_supposes(const struct ss_observations *all, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (all->list[k].supposed && all->list[k].algorithm == all->list[i].algorithm) return false;
  return all->list[i].supposed;
}

/* "allreduce: ring", each once. */
static cJSON *assumptions(const struct ss_observations *all) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < all->count; i++) {
    const struct ss_algorithm *a = all->list[i].algorithm;
    char text[96];
    (void)snprintf(text, sizeof text, "%s: %s", ss_collective_names[a->collective], a->name);
    if (ss_calibrated_supposes(all, i)) cJSON_AddItemToArray(list, cJSON_CreateString(text));
  }
  return list;
}

static const char *without_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char *ss_calibrated_source(const struct ss_observations *all, const struct ss_observation *o) {
  return without_folder(all->source[o->source]);
}

static cJSON *outliers(const struct ss_calibrated *c) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < c->fit.count; i++) {
    const struct ss_observation *o = &c->observations->list[i];
    if (c->fit.weight[i] > 0) continue;
    cJSON_AddItemToArray(list,
                         ss_json_object(SS_T("source", ss_calibrated_source(c->observations, o)),
                                        SS_N("line", o->line), SS_N("bytes", (double)o->bytes),
                                        SS_N("measured_s", o->seconds), SS_N("predicted_s", c->fit.predicted[i])));
  }
  return list;
}

static cJSON *notes_json(const struct ss_calibrated *c) {
  const bool between = between_nodes(c);
  cJSON *notes =
      ss_json_object(SS_J("assumes", assumptions(c->observations)),
                     SS_T("links", between ? "between nodes, as a rank sees them when all take part"
                                           : "measured inside one node: between nodes it is only supposed"));
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++) {
    const bool is_main = kind == ss_calibrated_main_kind(c);
    if (c->fit.cluster.pieces[kind] == 0 || (kind == SS_COST_INTER && !is_main)) continue;
    if (kind == SS_COST_INTRA && !inside_nodes(c)) continue;
    ss_json_add(notes, SS_J(is_main ? "fit" : ss_cost_kind_keys[kind], ss_calibrated_pieces(&c->fit, kind)));
  }
  if (c->fit.sum_supposed) ss_json_add_text(notes, "supposed", "sums of 0.1 ns a byte");
  if (c->fit.cluster.library.kind != SS_NO_LIBRARY)
    ss_json_add_text(notes, "chosen", "the library's tuner, with priors of models/measured/priors.json");
  if (c->fit.exchange_tied)
    ss_json_add_text(notes, "tied", "exchange: nothing measured tells it from messages between nodes");
  ss_json_add(notes, SS_N("samples", (double)c->fit.count), SS_N("residual_median", c->fit.residuals.typical),
              SS_N("residual_max", c->fit.residuals.worst), SS_J("outliers", outliers(c)));
  return notes;
}

/* What no link of today has, and more than what fits. */
static const double FASTEST = 400e9 / 8 * 4, SLOWEST_START = 1e-3, POOR = 0.25;

static SS_PRINTF(2, 3) void doubt(cJSON *list, const char *format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

cJSON *ss_calibrated_doubts(const struct ss_calibrated *c) {
  const struct ss_measured_cluster *m = &c->fit.cluster;
  const enum ss_cost_kind kind = ss_calibrated_main_kind(c);
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    const double rate = 1 / m->piece[kind][i].cost[1].value, start = m->piece[kind][i].cost[0].value;
    if (kind == SS_COST_INTER && rate > FASTEST)
      doubt(list, "no card between nodes has %s: were these runs inside one node?", ss_shown(SS_RATE, rate));
    if (start > SLOWEST_START && isnan(c->latency))
      doubt(list, "a start-up of %s is no link's: something else takes the time of small sizes",
            ss_shown(SS_TIME, start));
  }
  if (c->fit.residuals.typical > POOR)
    doubt(list,
          "half of the times are more than %.0f%% off: the algorithms are others, or the network does not behave as "
          "the model has it",
          100 * c->fit.residuals.typical);
  if ((double)c->fit.residuals.outliers > POOR * (double)c->fit.count)
    doubt(list, "%zu of %zu times are outliers", c->fit.residuals.outliers, c->fit.count);
  return list;
}

/* Doubts are said also of a fit that nobody judged. */
static void add_accuracy(cJSON *root, const struct ss_calibrated *c) {
  cJSON *doubts = ss_calibrated_doubts(c), *accuracy = NULL;
  const bool any = doubts && doubts->child;
  if (c->accuracy.known) accuracy = ss_accuracy_json(&c->accuracy, &c->own);
  else if (any) accuracy = cJSON_CreateObject();
  if (accuracy) ss_json_add(root, SS_J("accuracy", accuracy));
  if (any) ss_json_add(accuracy, SS_J("doubtful", doubts));
  else cJSON_Delete(doubts);
}

cJSON *ss_calibrated_cluster(const struct ss_calibrated *c) {
  char summary[300], date[16];
  (void)snprintf(summary, sizeof summary, "measured: %.200s, fitted on %s", c->measured,
                 ss_date_text(date, sizeof date));
  cJSON *root = ss_json_object(SS_T("name", c->name), SS_T("summary", summary));
  add_machine(root, c);
  add_accuracy(root, c);
  ss_json_add(root, SS_J("source", source_json(c)), SS_J("notes", notes_json(c)));
  return root;
}

/* --- devices ------------------------------------------------------------------------------------------------- */

/* That of the largest vectors. */
static const struct ss_fitted_cost *sum_of(const struct ss_cluster_fit *fit) {
  return &fit->cluster.piece[SS_COST_MEMORY][fit->cluster.pieces[SS_COST_MEMORY] - 1].cost[0];
}

bool ss_calibrated_sums(const struct ss_cluster_fit *fit) {
  return fit->cluster.pieces[SS_COST_MEMORY] > 0 && !fit->sum_supposed && sum_of(fit)->known;
}

/* A sum moves three bytes for each that comes. */
static cJSON *kernel_json(const struct ss_cluster_fit *fit) {
  return ss_json_object(SS_N("t0", 0), SS_N("per_byte", sum_of(fit)->value / 3));
}

cJSON *ss_calibrated_device(const struct ss_calibrated *c) {
  char measured[400];
  (void)snprintf(measured, sizeof measured, "dense_add from %.250s; merge_sum estimated: as dense_add", c->measured);
  return ss_json_object(SS_T("name", c->name), SS_T("summary", "sums as measured within collectives"),
                        SS_T("measured", measured),
                        SS_J("kernels", ss_json_object(SS_J("merge_sum", kernel_json(&c->fit)),
                                                       SS_J("dense_add", kernel_json(&c->fit)))));
}

/* --- what was measured ------------------------------------------------------------------------------------- */

static bool any_stream_alone(const struct ss_observations *all) {
  for (size_t i = 0; i < all->count; i++)
    if (!all->list[i].stream) return false;
  return true;
}

/* "all_reduce.log", or "a.log and 3 others". */
static void name_sources(const struct ss_observations *all, char *text, size_t size) {
  const char *base = without_folder(all->source[0]);
  if (all->sources == 1) (void)snprintf(text, size, "%.200s", base);
  else
    (void)snprintf(text, size, "%.200s and %" PRIu32 " other%s", base, all->sources - 1, all->sources > 2 ? "s" : "");
}

/* What runs were of, at the least and at the most. */
struct span {
  uint32_t collectives; /* a bit each */
  uint32_t ranks[2], nodes, per_node;
};

static struct span span_of(const struct ss_observations *all) {
  struct span s = {.ranks = {UINT32_MAX, 0}};
  for (size_t i = 0; i < all->count; i++) {
    const struct ss_observation *o = &all->list[i];
    const uint32_t ranks = o->nodes * o->per_node;
    s.collectives |= UINT32_C(1) << o->algorithm->collective;
    s.ranks[0] = ranks < s.ranks[0] ? ranks : s.ranks[0];
    s.ranks[1] = ranks > s.ranks[1] ? ranks : s.ranks[1];
    s.nodes = o->nodes > s.nodes ? o->nodes : s.nodes;
    s.per_node = o->per_node > s.per_node ? o->per_node : s.per_node;
  }
  return s;
}

/* Collectives, ranks and nodes, in a few words. */
static void say_measured(const struct ss_observations *all, char *text, size_t size) {
  const struct span s = span_of(all);
  const bool several = s.ranks[0] < s.ranks[1];
  char sources[256], ranks[64] = "";
  name_sources(all, sources, sizeof sources);
  int at = snprintf(text, size, "%s (", sources);
  for (int c = 0; c < SS_COLLECTIVES; c++)
    if (s.collectives >> c & 1) at += snprintf(text + at, size - (size_t)at, "%s, ", ss_collective_names[c]);
  if (several) (void)snprintf(ranks, sizeof ranks, "%" PRIu32 " to ", s.ranks[0]);
  (void)snprintf(text + at, size - (size_t)at, "%s%" PRIu32 " ranks, %s%" PRIu32 " node%s)", ranks, s.ranks[1],
                 several ? "up to " : "", s.nodes, s.nodes == 1 ? "" : "s");
}

void ss_calibration_name(const char *name, const struct ss_observations *all, char *text, size_t size) {
  const bool system = !name && all->system[0];
  const struct span s = span_of(all);
  /* most nodes and most ranks on one: "4x8" */
  const int at = name || system ? 0 : snprintf(text, size, "%" PRIu32 "x%" PRIu32 "-", s.nodes, s.per_node);
  const char *of = name ? name : system ? all->system : all->hardware[0] ? all->hardware : "measured";
  (void)snprintf(text + at, size - (size_t)at, "%.100s", of);
  for (char *c = text; !name && *c; c++) *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
}

/* --- the whole --------------------------------------------------------------------------------------------- */

bool ss_calibrate(const struct ss_observations *all, const struct ss_cluster_fit_options *options, const char *name,
                  struct ss_calibrated *out, struct ss_error *error) {
  *out = (struct ss_calibrated){.observations = all, .latency = options->latency};
  say_measured(all, out->measured, sizeof out->measured);
  ss_calibration_name(name, all, out->name, sizeof out->name);
  if (any_stream_alone(all) && isnan(options->latency))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: messages of osu_bw overlap and say nothing of latency: give it (--latency 2us), or add a log "
                   "of osu_latency",
                   all->source[0]);
  SS_AUTO_FREE bool *use = ss_alloc(all->count, sizeof *use);
  const struct ss_fitted_part part = {.list = all->list,
                                      .count = all->count,
                                      .options = options,
                                      .use = use,
                                      .known = ss_alloc_zero(all->count, sizeof *part.known),
                                      .fit = &out->fit,
                                      .judged = options->unjudged ? 0 : SS_ACCURACY_ALL};
  for (size_t i = 0; use && i < all->count; i++) use[i] = true;
  bool ok = (use && part.known) || ss_fail_memory(error, "judging a calibration");
  ok = ok && (ss_cluster_fit(&part, &out->fit, error) || ss_fail_prefix(error, "%s", all->source[0]));
  ok = ok && ss_accuracy_estimate(&part, &out->own, &out->accuracy, error);
  ss_known_terms_free(part.known, all->count);
  return ok;
}

void ss_calibrated_free(struct ss_calibrated *calibrated) {
  ss_cluster_fit_free(&calibrated->fit);
}
/* SPDX-License-Identifier: Apache-2.0 */
