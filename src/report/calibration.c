#include "report/calibration.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/units.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* What no link of today has, and more than what fits: reasons to doubt. */
static const double FASTEST = 400e9 / 8 * 4, SLOWEST_START = 1e-3, POOR = 0.25;
enum { TOLD = 12 };

const char *ss_date_text(char *buffer, size_t size) {
  const time_t now = time(NULL);
  struct tm day;
  if (!gmtime_r(&now, &day) || strftime(buffer, size, "%Y-%m-%d", &day) == 0) (void)snprintf(buffer, size, "-");
  return buffer;
}

static bool print_model(const void *root, FILE *stream, struct ss_error *error) {
  return ss_json_print(root, stream, error);
}

bool ss_model_write(const char *path, cJSON *root, bool built, struct ss_error *error) {
  const bool ok = ss_output_write(path, print_model, built ? root : NULL, error);
  cJSON_Delete(root);
  return ok;
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
  const struct ss_residuals r = {line->samples, line->outliers, line->typical, line->worst};
  return add_quality(object, line->low, line->high, &r);
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

static bool between_nodes(const struct ss_calibrated *c) {
  for (size_t i = 0; i < c->observations->count; i++)
    if (c->observations->list[i].nodes > 1) return true;
  return false;
}
static bool inside_nodes(const struct ss_calibrated *c) {
  for (size_t i = 0; i < c->observations->count; i++)
    if (c->observations->list[i].nodes == 1) return true;
  return false;
}

/* What runs tell most of: links between nodes, or, of one node, those inside it. */
static enum ss_cost_kind main_kind(const struct ss_calibrated *c) {
  return between_nodes(c) ? SS_COST_INTER : SS_COST_INTRA;
}

static bool add_window(cJSON *root, uint32_t window) {
  return window == UINT32_MAX ? cJSON_AddStringToObject(root, "window", "all") != NULL
                              : cJSON_AddNumberToObject(root, "window", window) != NULL;
}

static bool add_machine(cJSON *root, const struct ss_calibrated *c) {
  const struct ss_measured_cluster *m = &c->fit->cluster;
  if (!cJSON_AddStringToObject(root, "model", "fair") || !add_links(root, c, main_kind(c)) ||
      !cJSON_AddNumberToObject(root, "gpus_per_node", m->gpus_per_node) ||
      !cJSON_AddNumberToObject(root, "nics", m->nics) || !add_window(root, m->window))
    return false;
  if (m->pieces[SS_COST_EXCHANGE] > 0 && between_nodes(c)) {
    cJSON *exchange = cJSON_AddObjectToObject(root, "exchange");
    if (!exchange || !add_links(exchange, c, SS_COST_EXCHANGE)) return false;
  }
  if (m->pieces[SS_COST_INTRA] == 0 || m->gpus_per_node == 1) return true;
  cJSON *intra = cJSON_AddObjectToObject(root, "intra");
  return intra && add_links(intra, c, SS_COST_INTRA);
}

static bool add_source(cJSON *root, const struct ss_calibrated *c) {
  cJSON *source = cJSON_AddObjectToObject(root, "source");
  const bool inside = c->fit->cluster.pieces[SS_COST_INTRA] > 0 && c->fit->cluster.gpus_per_node > 1;
  return source && cJSON_AddStringToObject(source, "bandwidth", c->measured) &&
         cJSON_AddStringToObject(source, "latency", isnan(c->latency) ? c->measured : "given: --latency") &&
         (!inside || cJSON_AddStringToObject(source, "intra",
                                             inside_nodes(c) ? c->measured
                                                             : "estimated: no run stayed inside a node; four times "
                                                               "the rate of all cards"));
}

/* Whether observation i is the first of its algorithm that was supposed. */
static bool first_supposed(const struct ss_observations *all, size_t i) {
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
    if (first_supposed(all, i) && !cJSON_AddItemToArray(list, cJSON_CreateString(text))) return false;
  }
  return list != NULL;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool add_outliers(cJSON *notes, const struct ss_calibrated *c) {
  cJSON *list = cJSON_AddArrayToObject(notes, "outliers");
  for (size_t i = 0; list && i < c->fit->count; i++) {
    const struct ss_observation *o = &c->observations->list[i];
    if (c->fit->weight[i] > 0) continue;
    cJSON *item = cJSON_CreateObject();
    if (!cJSON_AddItemToArray(list, item) ||
        !cJSON_AddStringToObject(item, "source", base_name(c->observations->source[o->source])) ||
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
  static const char *const names[SS_COST_KINDS] = {"fit", "exchange", "intra", "memory", "stream"};
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++) {
    const bool is_main = kind == main_kind(c);
    if (c->fit->cluster.pieces[kind] == 0 || (kind == SS_COST_INTER && !is_main)) continue;
    if (kind == SS_COST_INTRA && !inside_nodes(c)) continue;
    cJSON *list = ss_calibrated_pieces(c->fit, kind);
    if (!list || !cJSON_AddItemToObject(notes, is_main ? "fit" : names[kind], list)) return false;
  }
  if (c->fit->sum_supposed && !cJSON_AddStringToObject(notes, "supposed", "sums of 0.1 ns a byte")) return false;
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
      add_machine(root, c) && add_source(root, c) && add_notes(root, c))
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

/* --- words --------------------------------------------------------------------------------------------------- */

static void tell_assumptions(const struct ss_calibrated *c, FILE *stream) {
  bool any = false;
  for (size_t i = 0; i < c->observations->count; i++) {
    const struct ss_algorithm *a = c->observations->list[i].algorithm;
    if (!first_supposed(c->observations, i)) continue;
    (void)fprintf(stream, "%s %s: %s",
                  any ? "," : "supposed, since the logs do not say it:", ss_collective_names[a->collective], a->name);
    any = true;
  }
  if (any) (void)fputs(" (--suppose COLLECTIVE=ALGORITHM)\n", stream);
}

static void tell_piece(const struct ss_calibrated *c, enum ss_cost_kind kind, uint32_t at, FILE *stream) {
  const struct ss_cost_piece *p = &c->fit->cluster.piece[kind][at];
  const struct ss_piece_quality *q = &c->fit->quality[kind][at];
  char text[4][32];
  if (q->residuals.samples == 0) return;
  (void)fprintf(stream, "%s, messages of %s to %s: ", ss_cost_kind_names[kind],
                ss_units_format(text[0], sizeof text[0], SS_BYTES, q->low),
                ss_units_format(text[1], sizeof text[1], SS_BYTES, q->high));
  (void)fprintf(stream, "latency %s%s, bandwidth %s%s; ",
                ss_units_format(text[2], sizeof text[2], SS_TIME, p->cost[0].value),
                p->cost[0].known ? "" : " (not determined)",
                ss_units_format(text[3], sizeof text[3], SS_RATE, 1 / p->cost[1].value),
                p->cost[1].known ? "" : " (not determined)");
  (void)fprintf(stream, "residuals %.2g%% median, %.2g%% at most; %zu of %zu outliers\n", 100 * q->residuals.typical,
                100 * q->residuals.worst, q->residuals.outliers, q->residuals.samples);
}

static void tell_memory(const struct ss_cluster_fit *fit, FILE *stream) {
  for (uint32_t i = 0; i < fit->cluster.pieces[SS_COST_MEMORY]; i++) {
    const struct ss_cost_piece *p = &fit->cluster.piece[SS_COST_MEMORY][i];
    char text[3][32];
    (void)fprintf(
        stream, "memory, vectors %s %s: sums %s%s", p->up_to == UINT64_MAX ? "of any size above, or" : "of up to",
        p->up_to == UINT64_MAX ? "all" : ss_units_format(text[0], sizeof text[0], SS_BYTES, (double)p->up_to),
        p->cost[0].value > 0 ? ss_units_format(text[1], sizeof text[1], SS_RATE, 1 / p->cost[0].value) : "-",
        p->cost[0].known    ? ""
        : fit->sum_supposed ? " (supposed)"
                            : " (not determined)");
    if (p->cost[1].known)
      (void)fprintf(stream, ", new pages %s",
                    ss_units_format(text[2], sizeof text[2], SS_RATE, 1 / p->cost[1].value));
    (void)fputc('\n', stream);
  }
}

static void tell_outliers(const struct ss_calibrated *c, FILE *stream) {
  size_t told = 0;
  for (size_t i = 0; i < c->fit->count && told < TOLD; i++) {
    const struct ss_observation *o = &c->observations->list[i];
    char text[3][32];
    if (c->fit->weight[i] > 0) continue;
    told++;
    (void)fprintf(stream, "outlier: %s line %" PRIu32 ": %s of %s takes %s, where %s are predicted\n",
                  base_name(c->observations->source[o->source]), o->line,
                  ss_collective_names[o->algorithm->collective],
                  ss_units_format(text[0], sizeof text[0], SS_BYTES, (double)o->bytes),
                  ss_units_format(text[1], sizeof text[1], SS_TIME, o->seconds),
                  ss_units_format(text[2], sizeof text[2], SS_TIME, c->fit->predicted[i]));
  }
  if (c->fit->residuals.outliers > told)
    (void)fprintf(stream, "and %zu outliers more (in the file's notes)\n", c->fit->residuals.outliers - told);
}

/* Fits that hardly can be true. */
static void tell_doubts(const struct ss_calibrated *c, FILE *stream) {
  const struct ss_measured_cluster *m = &c->fit->cluster;
  const enum ss_cost_kind kind = main_kind(c);
  char text[32];
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    const double rate = 1 / m->piece[kind][i].cost[1].value, start = m->piece[kind][i].cost[0].value;
    if (kind == SS_COST_INTER && rate > FASTEST)
      (void)fprintf(stream, "doubtful: no card between nodes has %s: were these runs inside one node?\n",
                    ss_units_format(text, sizeof text, SS_RATE, rate));
    if (start > SLOWEST_START && isnan(c->latency))
      (void)fprintf(stream, "doubtful: a start-up of %s is no link's: something else takes the time of small sizes\n",
                    ss_units_format(text, sizeof text, SS_TIME, start));
  }
  if (c->fit->residuals.typical > POOR)
    (void)fprintf(stream,
                  "doubtful: half of the times are more than %.0f%% off: the algorithms are others, or the "
                  "network does not behave as the model has it\n",
                  100 * c->fit->residuals.typical);
  if ((double)c->fit->residuals.outliers > POOR * (double)c->fit->count)
    (void)fprintf(stream, "doubtful: %zu of %zu times are outliers\n", c->fit->residuals.outliers, c->fit->count);
}

static void tell_unseen(const struct ss_calibrated *c, FILE *stream) {
  static const char *const what[] = {"a collective", "a number of nodes"};
  for (int i = 0; i < 2; i++)
    if (c->unseen[i].count > 0)
      (void)fprintf(
          stream,
          "accuracy: %s that was not measured is predicted with a median error of %.0f%%, 90%% within %.0f%%\n",
          what[i], 100 * c->unseen[i].median, 100 * c->unseen[i].p90);
  if (c->unseen[0].count == 0 && c->unseen[1].count == 0)
    (void)fputs("accuracy: unknown; logs of other collectives, or other numbers of nodes, would tell\n", stream);
}

void ss_calibrated_tell(const struct ss_calibrated *c, FILE *stream) {
  const struct ss_measured_cluster *m = &c->fit->cluster;
  (void)fprintf(stream, "%zu times of %s\n", c->fit->count, c->measured);
  tell_assumptions(c, stream);
  for (enum ss_cost_kind kind = 0; kind <= SS_COST_INTRA; kind++)
    for (uint32_t i = 0; i < m->pieces[kind]; i++) tell_piece(c, kind, i, stream);
  tell_memory(c->fit, stream);
  if (m->gpus_per_node > 1)
    (void)fprintf(stream, "nodes of %" PRIu32 " GPUs with %" PRIu32 " card%s\n", m->gpus_per_node, m->nics,
                  m->nics > 1 ? "s" : "");
  tell_outliers(c, stream);
  tell_unseen(c, stream);
  tell_doubts(c, stream);
}
