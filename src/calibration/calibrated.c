#include "calibration/calibrated.h"

#include "base/memory.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *ss_date_text(char *buffer, size_t size) {
  const time_t now = time(NULL);
  struct tm day;
  if (!gmtime_r(&now, &day) || strftime(buffer, size, "%Y-%m-%d", &day) == 0) (void)snprintf(buffer, size, "-");
  return buffer;
}

/* --- JSON -------------------------------------------------------------------------------------------------- */

static bool add_quality(cJSON *object, double low, double high, const struct ss_residuals *r) {
  const double valid[] = {low, high};
  return cJSON_AddItemToObject(object, "valid", cJSON_CreateDoubleArray(valid, 2)) &&
         cJSON_AddNumberToObject(object, "samples", (double)r->samples) &&
         cJSON_AddNumberToObject(object, "outliers", (double)r->outliers) &&
         cJSON_AddNumberToObject(object, "residual_median", r->typical) &&
         cJSON_AddNumberToObject(object, "residual_max", r->worst);
}

bool ss_line_quality_json(cJSON *object, const struct ss_line *line) {
  return add_quality(object, line->low, line->high, &line->residuals);
}

static bool add_cost(cJSON *item, const char *name, const struct ss_fitted_cost *cost) {
  char error[64];
  (void)snprintf(error, sizeof error, "%s_error", name);
  return cJSON_AddNumberToObject(item, name, cost->value) && cJSON_AddNumberToObject(item, error, cost->error);
}

static bool add_piece(cJSON *list, const struct ss_cluster_fit *fit, enum ss_cost_kind kind, uint32_t at) {
  static const char *const names[2][2] = {{"latency", "seconds_per_byte"}, {"sum_per_byte", "page_per_byte"}};
  const struct ss_cost_piece *piece = &fit->cluster.piece[kind][at];
  const struct ss_piece_quality *q = &fit->quality[kind][at];
  cJSON *item = cJSON_CreateObject();
  if (!cJSON_AddItemToArray(list, item)) return false;
  for (int i = 0; i < 2; i++)
    if (!add_cost(item, names[kind == SS_COST_MEMORY][i], &piece->cost[i])) return false;
  return q->residuals.samples == 0 || add_quality(item, q->low, q->high, &q->residuals);
}

cJSON *ss_calibrated_pieces(const struct ss_cluster_fit *fit, enum ss_cost_kind kind) {
  cJSON *list = cJSON_CreateArray();
  bool ok = list != NULL;
  for (uint32_t i = 0; ok && i < fit->cluster.pieces[kind]; i++) ok = add_piece(list, fit, kind, i);
  if (ok) return list;
  cJSON_Delete(list);
  return NULL;
}

/* Latency and bandwidth, or segments, of a kind. */
static bool add_links(cJSON *object, const struct ss_calibrated *c, enum ss_cost_kind kind) {
  const struct ss_measured_cluster *m = &c->fit->cluster;
  cJSON *list = m->pieces[kind] > 1 ? cJSON_AddArrayToObject(object, "segments") : NULL;
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    const struct ss_cost_piece *piece = &m->piece[kind][i];
    const bool last = piece->up_to == UINT64_MAX;
    cJSON *item = list ? cJSON_CreateObject() : object;
    if (list && !cJSON_AddItemToArray(list, item)) return false;
    const double latency = isnan(c->latency) || kind == SS_COST_INTRA ? piece->cost[0].value : c->latency;
    if (!last && !cJSON_AddNumberToObject(item, "up_to", (double)piece->up_to)) return false;
    if (!cJSON_AddNumberToObject(item, "latency", latency) ||
        !cJSON_AddNumberToObject(item, "bandwidth", 1 / piece->cost[1].value))
      return false;
  }
  return true;
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

static bool add_count(cJSON *object, const char *name, uint32_t window) {
  return window == UINT32_MAX ? cJSON_AddStringToObject(object, name, "all") != NULL
                              : cJSON_AddNumberToObject(object, name, window) != NULL;
}

/* NCCL's chains have one message under way in a ring. */
static bool add_window(cJSON *root, const struct ss_measured_cluster *m) {
  if (m->library.kind == SS_NO_LIBRARY) return add_count(root, "window", m->window);
  cJSON *window = cJSON_AddObjectToObject(root, "window");
  return window && cJSON_AddNumberToObject(window, "chain", 1) && add_count(window, "exchange", m->window);
}

/* As docs/model.md, "Memory of hosts", has it. */
static bool add_memory(cJSON *root, const struct ss_calibrated *c) {
  const struct ss_measured_cluster *m = &c->fit->cluster;
  const uint32_t pieces = m->pieces[SS_COST_MEMORY];
  cJSON *memory = pieces > 0 ? cJSON_AddObjectToObject(root, "memory") : NULL;
  cJSON *list = pieces > 1 ? cJSON_AddArrayToObject(memory, "pieces") : NULL;
  for (uint32_t i = 0; i < pieces; i++) {
    const struct ss_cost_piece *piece = &m->piece[SS_COST_MEMORY][i];
    cJSON *item = list ? cJSON_CreateObject() : memory;
    if (list && !cJSON_AddItemToArray(list, item)) return false;
    if (i + 1 < pieces && !cJSON_AddNumberToObject(item, "up_to", (double)piece->up_to)) return false;
    if (!cJSON_AddNumberToObject(item, "sum_per_byte", piece->cost[0].value) ||
        !cJSON_AddNumberToObject(item, "page_per_byte", piece->cost[1].value))
      return false;
  }
  return pieces == 0 || memory;
}

static bool add_way(cJSON *costs, const struct ss_measured_cluster *m, int way) {
  cJSON *of = cJSON_AddObjectToObject(costs, ss_way_names[way]);
  for (int p = 0; of && p < SS_PROTOCOLS; p++) {
    const enum ss_cost_kind kind = ss_cost_kind_of_way((enum ss_way)way, (enum ss_protocol)p);
    const struct ss_fitted_cost *cost = m->piece[kind][0].cost;
    cJSON *link = m->pieces[kind] > 0 ? cJSON_AddObjectToObject(of, ss_protocol_names[p]) : NULL;
    if (m->pieces[kind] > 0 && (!link || !cJSON_AddNumberToObject(link, "latency", cost[0].value) ||
                                !cJSON_AddNumberToObject(link, "bandwidth", 1 / cost[1].value)))
      return false;
  }
  return of != NULL;
}

static bool add_library(cJSON *root, const struct ss_measured_cluster *m) {
  struct ss_library l;
  if (m->library.kind == SS_NO_LIBRARY) return true;
  ss_measured_library(m, 0, &l);
  cJSON *library = cJSON_AddObjectToObject(root, "library");
  bool ok = library && cJSON_AddStringToObject(library, "name", ss_library_names[l.kind]) &&
            cJSON_AddStringToObject(library, "version", l.version) &&
            cJSON_AddStringToObject(library, "gpu", ss_gpu_names[l.gpu]) &&
            cJSON_AddStringToObject(library, "cpu", ss_cpu_names[l.cpu]) &&
            (!l.pci || cJSON_AddStringToObject(library, "inside", "pci")) &&
            cJSON_AddBoolToObject(library, "ll128", l.ll128) &&
            cJSON_AddNumberToObject(library, "channels", l.channels) &&
            cJSON_AddNumberToObject(library, "channel_bandwidth", l.channel_rate);
  cJSON *costs = ok ? cJSON_AddObjectToObject(library, "costs") : NULL;
  ok = costs && add_way(costs, m, SS_WAY_RING) && add_way(costs, m, SS_WAY_TREE);
  cJSON *start = ok ? cJSON_AddObjectToObject(costs, "start") : NULL;
  for (int p = 0; start && p < SS_PROTOCOLS; p++)
    if (m->pieces[(int)SS_COST_START + p] > 0 &&
        !cJSON_AddNumberToObject(start, ss_protocol_names[p], m->piece[(int)SS_COST_START + p][0].cost[0].value))
      return false;
  return start != NULL;
}

static bool add_machine(cJSON *root, const struct ss_calibrated *c) {
  const struct ss_measured_cluster *m = &c->fit->cluster;
  if (!cJSON_AddStringToObject(root, "model", "fair") || !add_links(root, c, ss_calibrated_main_kind(c)) ||
      !cJSON_AddNumberToObject(root, "gpus_per_node", m->gpus_per_node) ||
      !cJSON_AddNumberToObject(root, "nics", m->nics) || !add_window(root, m))
    return false;
  if (m->pieces[SS_COST_EXCHANGE] > 0 && between_nodes(c)) {
    cJSON *exchange = cJSON_AddObjectToObject(root, "exchange");
    if (!exchange || !add_links(exchange, c, SS_COST_EXCHANGE)) return false;
  }
  if (!add_memory(root, c) || !add_library(root, m)) return false;
  if (m->pieces[SS_COST_INTRA] == 0 || m->gpus_per_node == 1) return true;
  cJSON *intra = cJSON_AddObjectToObject(root, "intra");
  return intra && add_links(intra, c, SS_COST_INTRA);
}

static bool add_accuracy(cJSON *root, const struct ss_calibrated *c) {
  return !c->accuracy || cJSON_AddItemToObject(root, "accuracy", ss_accuracy_json(c->accuracy, c->own));
}

/* What is supposed begins with "estimated", as everywhere. */
static bool add_memory_source(cJSON *source, const struct ss_calibrated *c) {
  char text[400];
  snprintf(text, sizeof text, "%s%.300s", c->fit->sum_supposed ? "estimated: sums of 0.1 ns a byte; pages: " : "",
           c->measured);
  return c->fit->cluster.pieces[SS_COST_MEMORY] == 0 || cJSON_AddStringToObject(source, "memory", text);
}

static bool add_source(cJSON *root, const struct ss_calibrated *c) {
  cJSON *source = cJSON_AddObjectToObject(root, "source");
  const bool inside = c->fit->cluster.pieces[SS_COST_INTRA] > 0 && c->fit->cluster.gpus_per_node > 1;
  return source && cJSON_AddStringToObject(source, "bandwidth", c->measured) &&
         cJSON_AddStringToObject(source, "latency", isnan(c->latency) ? c->measured : "given: --latency") &&
         add_memory_source(source, c) &&
         (!inside || cJSON_AddStringToObject(source, "intra",
                                             inside_nodes(c) ? c->measured
                                                             : "estimated: no run stayed inside a node; four times "
                                                               "the rate of all cards"));
}

bool ss_calibrated_supposes(const struct ss_observations *all, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (all->list[k].supposed && all->list[k].algorithm == all->list[i].algorithm) return false;
  return all->list[i].supposed;
}

/* "allreduce: ring", each once. */
static bool add_assumptions(cJSON *notes, const struct ss_observations *all) {
  cJSON *list = cJSON_AddArrayToObject(notes, "assumes");
  for (size_t i = 0; list && i < all->count; i++) {
    const struct ss_algorithm *a = all->list[i].algorithm;
    char text[96];
    (void)snprintf(text, sizeof text, "%s: %s", ss_collective_names[a->collective], a->name);
    if (ss_calibrated_supposes(all, i) && !cJSON_AddItemToArray(list, cJSON_CreateString(text))) return false;
  }
  return list != NULL;
}

static const char *without_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char *ss_calibrated_source(const struct ss_observations *all, const struct ss_observation *o) {
  return without_folder(all->source[o->source]);
}

static bool add_outliers(cJSON *notes, const struct ss_calibrated *c) {
  cJSON *list = cJSON_AddArrayToObject(notes, "outliers");
  for (size_t i = 0; list && i < c->fit->count; i++) {
    const struct ss_observation *o = &c->observations->list[i];
    if (c->fit->weight[i] > 0) continue;
    cJSON *item = cJSON_CreateObject();
    if (!cJSON_AddItemToArray(list, item) ||
        !cJSON_AddStringToObject(item, "source", ss_calibrated_source(c->observations, o)) ||
        !cJSON_AddNumberToObject(item, "line", o->line) ||
        !cJSON_AddNumberToObject(item, "bytes", (double)o->bytes) ||
        !cJSON_AddNumberToObject(item, "measured_s", o->seconds) ||
        !cJSON_AddNumberToObject(item, "predicted_s", c->fit->predicted[i]))
      return false;
  }
  return list != NULL;
}

/* How well each collective, and each number of nodes, is predicted from the others. */
static bool add_unseen(cJSON *notes, const struct ss_calibrated *c) {
  static const char *const what[] = {"collectives", "nodes"};
  cJSON *validation = cJSON_AddObjectToObject(notes, "validation");
  for (int i = 0; validation && i < 2; i++) {
    const struct ss_error_spread *j = &c->unseen[i];
    if (j->count == 0) continue;
    cJSON *item = cJSON_AddObjectToObject(validation, what[i]);
    if (!item || !cJSON_AddNumberToObject(item, "median_error", j->median) ||
        !cJSON_AddNumberToObject(item, "p90_error", j->p90))
      return false;
  }
  return validation != NULL;
}

static bool add_notes(cJSON *root, const struct ss_calibrated *c) {
  cJSON *notes = cJSON_AddObjectToObject(root, "notes");
  if (!notes || !add_assumptions(notes, c->observations) ||
      !cJSON_AddStringToObject(notes, "links",
                               between_nodes(c) ? "between nodes, as a rank sees them when all take part"
                                                : "measured inside one node: between nodes it is only supposed"))
    return false;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++) {
    const bool is_main = kind == ss_calibrated_main_kind(c);
    if (c->fit->cluster.pieces[kind] == 0 || (kind == SS_COST_INTER && !is_main)) continue;
    if (kind == SS_COST_INTRA && !inside_nodes(c)) continue;
    cJSON *list = ss_calibrated_pieces(c->fit, kind);
    if (!list || !cJSON_AddItemToObject(notes, is_main ? "fit" : ss_cost_kind_keys[kind], list)) return false;
  }
  if (c->fit->sum_supposed && !cJSON_AddStringToObject(notes, "supposed", "sums of 0.1 ns a byte")) return false;
  if (c->fit->cluster.library.kind != SS_NO_LIBRARY &&
      !cJSON_AddStringToObject(notes, "chosen", "the library's tuner, with priors of models/measured/priors.json"))
    return false;
  if (c->fit->exchange_tied &&
      !cJSON_AddStringToObject(notes, "tied", "exchange: nothing measured tells it from messages between nodes"))
    return false;
  return cJSON_AddNumberToObject(notes, "samples", (double)c->fit->count) &&
         cJSON_AddNumberToObject(notes, "residual_median", c->fit->residuals.typical) &&
         cJSON_AddNumberToObject(notes, "residual_max", c->fit->residuals.worst) && add_unseen(notes, c) &&
         add_outliers(notes, c);
}

cJSON *ss_calibrated_cluster(const struct ss_calibrated *c) {
  char summary[300], date[16];
  cJSON *root = cJSON_CreateObject();
  (void)snprintf(summary, sizeof summary, "measured: %.200s, fitted on %s", c->measured,
                 ss_date_text(date, sizeof date));
  if (root && cJSON_AddStringToObject(root, "name", c->name) && cJSON_AddStringToObject(root, "summary", summary) &&
      add_machine(root, c) && add_accuracy(root, c) && add_source(root, c) && add_notes(root, c))
    return root;
  cJSON_Delete(root);
  return NULL;
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
static bool add_kernel(cJSON *kernels, const char *name, double per_byte) {
  cJSON *item = cJSON_AddObjectToObject(kernels, name);
  return item && cJSON_AddNumberToObject(item, "t0", 0) && cJSON_AddNumberToObject(item, "per_byte", per_byte / 3);
}

cJSON *ss_calibrated_device(const struct ss_calibrated *c) {
  char measured[400];
  cJSON *root = cJSON_CreateObject();
  (void)snprintf(measured, sizeof measured, "dense_add from %.250s; merge_sum estimated: as dense_add", c->measured);
  cJSON *kernels = root && cJSON_AddStringToObject(root, "name", c->name) &&
                           cJSON_AddStringToObject(root, "summary", "sums as measured within collectives") &&
                           cJSON_AddStringToObject(root, "measured", measured)
                       ? cJSON_AddObjectToObject(root, "kernels")
                       : NULL;
  if (kernels && add_kernel(kernels, "merge_sum", sum_of(c->fit)->value) &&
      add_kernel(kernels, "dense_add", sum_of(c->fit)->value))
    return root;
  cJSON_Delete(root);
  return NULL;
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

/* Collectives, ranks and nodes, in a few words. */
static void say_measured(const struct ss_observations *all, char *text, size_t size) {
  char sources[256];
  uint32_t least = UINT32_MAX, most = 0, nodes = 0;
  name_sources(all, sources, sizeof sources);
  int at = snprintf(text, size, "%s (", sources);
  for (int c = 0; c < SS_COLLECTIVES; c++)
    for (size_t i = 0; i < all->count; i++) {
      if ((int)all->list[i].algorithm->collective != c) continue;
      at += snprintf(text + at, size - (size_t)at, "%s, ", ss_collective_names[c]);
      break;
    }
  for (size_t i = 0; i < all->count; i++) {
    const uint32_t ranks = all->list[i].nodes * all->list[i].per_node;
    least = ranks < least ? ranks : least;
    most = ranks > most ? ranks : most;
    nodes = all->list[i].nodes > nodes ? all->list[i].nodes : nodes;
  }
  if (least < most) (void)snprintf(text + at, size - (size_t)at, "%" PRIu32 " to %" PRIu32 " ranks, ", least, most);
  else (void)snprintf(text + at, size - (size_t)at, "%" PRIu32 " ranks, ", most);
  at = (int)strlen(text);
  (void)snprintf(text + at, size - (size_t)at, "%s%" PRIu32 " node%s)", least < most ? "up to " : "", nodes,
                 nodes == 1 ? "" : "s");
}

/* Most nodes and most ranks on one: "4x8", or "4" of one rank each. */
static int name_nodes(const struct ss_observations *all, char *text, size_t size) {
  uint32_t nodes = 0, per_node = 0;
  for (size_t i = 0; i < all->count; i++) {
    nodes = all->list[i].nodes > nodes ? all->list[i].nodes : nodes;
    per_node = all->list[i].per_node > per_node ? all->list[i].per_node : per_node;
  }
  return snprintf(text, size, "%" PRIu32 "x%" PRIu32 "-", nodes, per_node);
}

void ss_calibration_name(const char *name, const struct ss_observations *all, char *text, size_t size) {
  const bool system = !name && all->system[0];
  const int at = name || system ? 0 : name_nodes(all, text, size);
  const char *of = name ? name : system ? all->system : all->hardware[0] ? all->hardware : "measured";
  (void)snprintf(text + at, size - (size_t)at, "%.100s", of);
  for (char *c = text; !name && *c; c++) *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
}

/* --- the whole --------------------------------------------------------------------------------------------- */

/* How well what was left out is predicted, where it is asked for and there is more than one group to leave
 * out. */
static bool judge_unseen(const struct ss_cluster_fit_options *fit, const struct ss_observations *all,
                         enum ss_leave_out what, struct ss_error_spread *out, struct ss_error *error) {
  struct ss_validation validation;
  *out = (struct ss_error_spread){.count = 0};
  if (fit->unjudged || ss_validation_groups(all, what) < 2) return true;
  const bool ok = ss_validate(all, fit, what, NULL, &validation, error);
  if (ok) *out = ss_validation_judge(&validation, all->list, NULL, NULL);
  ss_validation_free(&validation);
  return ok;
}

/* How far off it may be. */
static bool judge(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                  struct ss_calibration *out, struct ss_error *error) {
  SS_AUTO_FREE bool *use = ss_alloc(all->count, sizeof *use);
  struct ss_known_terms *known = ss_alloc_zero(all->count, sizeof *known);
  const struct ss_fitted_part part = {
      all->list, all->count, options, use, known, &out->fit, options->unjudged ? 0 : SS_ACCURACY_ALL};
  for (size_t i = 0; use && i < all->count; i++) use[i] = true;
  const bool ok = use && known ? ss_accuracy_estimate(&part, &out->own, &out->accuracy, error)
                               : ss_fail_memory(error, "judging a calibration");
  ss_known_terms_free(known, all->count);
  return ok;
}

bool ss_calibrate(const struct ss_observations *all, const struct ss_cluster_fit_options *options, const char *name,
                  struct ss_calibration *out, struct ss_error *error) {
  *out = (struct ss_calibration){.name = ""};
  say_measured(all, out->measured, sizeof out->measured);
  ss_calibration_name(name, all, out->name, sizeof out->name);
  if (any_stream_alone(all) && isnan(options->latency))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: messages of osu_bw overlap and say nothing of latency: give it (--latency 2us), or add a log "
                   "of osu_latency",
                   all->source[0]);
  out->is = (struct ss_calibrated){out->name,        out->measured,  &out->fit,      all,
                                   options->latency, {{.count = 0}}, &out->accuracy, &out->own};
  bool ok = ss_cluster_fit(all->list, all->count, options, NULL, &out->fit, error) ||
            ss_fail_prefix(error, "%s", all->source[0]);
  ok = ok && judge(all, options, out, error);
  ok = ok && judge_unseen(options, all, SS_LEAVE_COLLECTIVES, &out->is.unseen[0], error) &&
       judge_unseen(options, all, SS_LEAVE_NODES, &out->is.unseen[1], error);
  if (!ok) ss_calibration_free(out);
  return ok;
}

void ss_calibration_free(struct ss_calibration *calibration) {
  ss_cluster_fit_free(&calibration->fit);
}
