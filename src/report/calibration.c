#include "report/calibration.h"

enum { TOLD = 12 };

static bool print_model(const void *root, FILE *stream, struct ss_error *error) {
  return ss_json_print(root, stream, error);
}

bool ss_model_write(const char *path, cJSON *root, struct ss_error *error) {
  const bool ok = ss_output_write(path, print_model, root, error);
  cJSON_Delete(root);
  return ok;
}

/* --- words --------------------------------------------------------------------------------------------------- */

static void tell_assumptions(const struct ss_calibrated *c, FILE *stream) {
  bool any = false;
  for (size_t i = 0; i < c->observations->count; i++) {
    const struct ss_algorithm *a = c->observations->list[i].algorithm;
    if (!ss_calibrated_supposes(c->observations, i)) continue;
    (void)fprintf(stream, "%s %s: %s",
                  any ? "," : "supposed, since the logs do not say it:", ss_collective_names[a->collective], a->name);
    any = true;
  }
  if (any) (void)fputs(" (--suppose COLLECTIVE=ALGORITHM)\n", stream);
}

static void tell_piece(const struct ss_calibrated *c, enum ss_cost_kind kind, uint32_t at, FILE *stream) {
  const struct ss_cost_piece *p = &c->fit.cluster.piece[kind][at];
  const struct ss_piece_quality *q = &c->fit.quality[kind][at];
  if (q->residuals.samples == 0) return;
  (void)fprintf(stream, "%s, messages of %s to %s: ", ss_cost_kind_names[kind], ss_shown(SS_BYTES, q->low),
                ss_shown(SS_BYTES, q->high));
  (void)fprintf(stream, "latency %s%s, bandwidth %s%s; ", ss_shown(SS_TIME, p->cost[0].value),
                p->cost[0].known ? "" : " (not determined)", ss_shown(SS_RATE, 1 / p->cost[1].value),
                p->cost[1].known ? "" : " (not determined)");
  (void)fprintf(stream, "residuals %.6g%% median, %.6g%% at most; %zu of %zu outliers\n",
                ss_percent(q->residuals.typical), ss_percent(q->residuals.worst), q->residuals.outliers,
                q->residuals.samples);
}

static void tell_memory(const struct ss_cluster_fit *fit, FILE *stream) {
  for (uint32_t i = 0; i < fit->cluster.pieces[SS_COST_MEMORY]; i++) {
    const struct ss_cost_piece *p = &fit->cluster.piece[SS_COST_MEMORY][i];
    (void)fprintf(stream, "memory, vectors %s %s: sums %s%s",
                  p->up_to == UINT64_MAX ? "of any size above, or" : "of up to",
                  p->up_to == UINT64_MAX ? "all" : ss_shown(SS_BYTES, (double)p->up_to),
                  p->cost[0].value > 0 ? ss_shown(SS_RATE, 1 / p->cost[0].value) : "-",
                  p->cost[0].known    ? ""
                  : fit->sum_supposed ? " (supposed)"
                                      : " (not determined)");
    if (p->cost[1].known) (void)fprintf(stream, ", new pages %s", ss_shown(SS_RATE, 1 / p->cost[1].value));
    (void)fputc('\n', stream);
  }
}

static void tell_outliers(const struct ss_calibrated *c, FILE *stream) {
  size_t told = 0;
  for (size_t i = 0; i < c->fit.count && told < TOLD; i++) {
    const struct ss_observation *o = &c->observations->list[i];
    if (c->fit.weight[i] > 0) continue;
    told++;
    (void)fprintf(stream, "outlier: %s line %" PRIu32 ": %s of %s takes %s, where %s are predicted\n",
                  ss_calibrated_source(c->observations, o), o->line, ss_collective_names[o->algorithm->collective],
                  ss_shown(SS_BYTES, (double)o->bytes), ss_shown(SS_TIME, o->seconds),
                  ss_shown(SS_TIME, c->fit.predicted[i]));
  }
  if (c->fit.residuals.outliers > told)
    (void)fprintf(stream, "and %zu outliers more (in the file's notes)\n", c->fit.residuals.outliers - told);
}

static void tell_doubts(const struct ss_calibrated *c, FILE *stream) {
  SS_AUTO_JSON cJSON *doubts = ss_calibrated_doubts(c);
  const cJSON *doubt;
  cJSON_ArrayForEach(doubt, doubts) {
    (void)fprintf(stream, "doubtful: %s\n", doubt->valuestring);
  }
}

static void tell_spread(const char *what, double half, double most, FILE *stream) {
  if (half > 0)
    (void)fprintf(stream, "accuracy: half of the times of %s are within a factor of %.3g, 90%% within %.3g\n", what,
                  half, most);
}

/* Which sizes of each collective were measured, and by how much calls alike differed. */
static void tell_measured(const struct ss_accuracy *a, FILE *stream) {
  bool any = false;
  for (int c = 0; c < SS_COLLECTIVES; c++) {
    const struct ss_size_span *span = &a->calls.of[c];
    if (span->most == 0) continue;
    (void)fprintf(stream, "%s%s of %s to %s", any ? ", " : "sizes: ", ss_collective_names[c],
                  ss_shown(SS_BYTES, (double)span->least), ss_shown(SS_BYTES, (double)span->most));
    any = true;
  }
  if (any) (void)fputc('\n', stream);
  if (a->noise.half > 0)
    (void)fprintf(stream, "noise: half of the calls are within a factor of %.3g of the median of those like them\n",
                  a->noise.half);
}

static void tell_accuracy(const struct ss_accuracy *a, FILE *stream) {
  const struct ss_spread *as = &a->of[SS_AS_MEASURED], *new = &a->of[SS_NEW_COLLECTIVE],
                         *doubled = &a->of[SS_NODES_DOUBLED];
  tell_spread("what was measured", as->half, as->most, stream);
  tell_spread("a collective that was not", new->half, new->most, stream);
  if (as->half > 0 && doubled->half > 0)
    tell_spread("what was measured, on twice as many nodes,", exp(hypot(log(as->half), log(doubled->half))),
                exp(hypot(log(as->most), log(doubled->most))), stream);
  if (!a->known || a->pooled)
    (void)fprintf(stream, "accuracy: %s; logs of other collectives, or other numbers of nodes, would tell\n",
                  a->known ? "of what was not measured, as of other machines" : "unknown");
}

void ss_calibrated_tell(const struct ss_calibrated *c, FILE *stream) {
  const struct ss_measured_cluster *m = &c->fit.cluster;
  (void)fprintf(stream, "%zu times of %s\n", c->fit.count, c->measured);
  tell_assumptions(c, stream);
  for (enum ss_cost_kind kind = 0; kind <= SS_COST_INTRA; kind++)
    for (uint32_t i = 0; i < m->pieces[kind]; i++) tell_piece(c, kind, i, stream);
  if (c->fit.exchange_tied)
    (void)fputs("exchanges: nothing measured tells their costs from those between nodes\n", stream);
  tell_memory(&c->fit, stream);
  if (m->gpus_per_node > 1)
    (void)fprintf(stream, "nodes of %" PRIu32 " GPUs with %" PRIu32 " card%s\n", m->gpus_per_node, m->nics,
                  m->nics > 1 ? "s" : "");
  tell_outliers(c, stream);
  tell_measured(&c->accuracy, stream);
  tell_accuracy(&c->accuracy, stream);
  tell_doubts(c, stream);
}
/* SPDX-License-Identifier: Apache-2.0 */
