#include "calibration/accuracy.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

/* Groups of fewer times say little of their distribution. Sizes are left out by powers of SIZES_LEFT_OUT. */
enum { LEAST_TIMES = 3, LEAVES_MAX = 64, FOLDS = 5, SIZES_LEFT_OUT = 16 };
/* Doublings that do not count, and that do. */
static const double NEAR = 0.5, FAR = 0.25;

const uint64_t ss_size_bands[SS_SIZE_BANDS] = {64 << 10, 1 << 20, 64 << 20, UINT64_MAX};

/* --- what was measured -------------------------------------------------------------------------------------- */

static enum ss_message_kind kind_of(const struct ss_observation *o) {
  return o->nodes < 2 ? SS_INSIDE : ss_observation_exchanges(o) ? SS_EXCHANGE : SS_CHAIN;
}

struct ss_accuracy_question ss_accuracy_question_of(const struct ss_observation *o) {
  return (struct ss_accuracy_question){(uint32_t)o->algorithm->collective, kind_of(o), o->nodes, o->bytes};
}

static void take_size(uint64_t bytes, struct ss_size_span *span) {
  if (span->most == 0 || bytes < span->least) span->least = bytes;
  if (bytes > span->most) span->most = bytes;
}

static void measure(const struct ss_observation *list, size_t count, const bool *use, struct ss_accuracy *out) {
  bool between = false;
  *out = (struct ss_accuracy){.known = true, .nodes_min = UINT32_MAX, .bytes.least = UINT64_MAX};
  for (size_t i = 0; i < count; i++) between = between || (use[i] && list[i].nodes > 1);
  for (size_t i = 0; i < count; i++) {
    const struct ss_observation *o = &list[i];
    if (!use[i]) continue;
    out->kind[kind_of(o)] = true;
    if (between && o->nodes < 2) continue;
    out->collectives |= UINT32_C(1) << o->algorithm->collective;
    if (o->nodes < out->nodes_min) out->nodes_min = o->nodes;
    if (o->nodes > out->nodes_max) out->nodes_max = o->nodes;
    take_size(o->bytes, &out->bytes);
    take_size(o->bytes, &out->calls.of[o->algorithm->collective]);
  }
}

/* --- what is left out ---------------------------------------------------------------------------------------- */

struct leaves {
  struct ss_leave list[LEAVES_MAX];
  size_t count;
};

static uint32_t band_of(uint64_t bytes) {
  uint32_t band = 0;
  while (bytes > ss_size_bands[band]) band++;
  return band;
}

uint64_t ss_leave_group(const struct ss_observation *list, size_t i, enum ss_leave_out by) {
  switch (by) {
  case SS_LEAVE_COLLECTIVES: return list[i].algorithm->collective;
  case SS_LEAVE_KIND: return kind_of(&list[i]);
  case SS_LEAVE_NODES: return list[i].nodes;
  case SS_LEAVE_SIZES: return band_of(list[i].bytes);
  case SS_LEAVE_ROWS: return i % FOLDS;
  default: return 0;
  }
}

bool ss_leave_takes(const struct ss_leave *l, const struct ss_observation *list, size_t i) {
  switch (l->by) {
  case SS_LEAVE_MOST_NODES: return list[i].nodes >= l->value;
  case SS_LEAVE_LARGE: return list[i].bytes > l->value;
  case SS_LEAVE_SMALL: return list[i].bytes < l->value;
  default: return ss_leave_group(list, i, l->by) == l->value;
  }
}

static bool predict(const struct ss_fitted_part *p, const struct ss_measured_cluster *cluster, const bool *wanted,
                    double *predicted, struct ss_error *error) {
  for (size_t i = 0; i < p->count; i++) {
    size_t first = 0; /* that is the same call */
    if (!wanted[i]) continue;
    while (!wanted[first] || !ss_observation_same_call(&p->list[first], &p->list[i])) first++;
    if (first < i) predicted[i] = predicted[first];
    else if (!ss_observation_predict(cluster, &p->list[i], &predicted[i], error)) return false;
  }
  return true;
}

bool ss_part_predict(struct ss_fitted_part *p, const bool *wanted, struct ss_cluster_fit *fit, double *predicted,
                     struct ss_error *why, struct ss_error *error) {
  p->fit = ss_cluster_fit(p, fit, why) ? fit : NULL;
  if (p->fit) return predict(p, &fit->cluster, wanted, predicted, error);
  for (size_t i = 0; i < p->count; i++)
    if (wanted[i]) predicted[i] = NAN;
  if (why->status == SS_MACHINE) *error = *why;
  return why->status != SS_MACHINE;
}

/* Of the class that it tells something of; unless that is not judged. */
static void add_leave(struct leaves *l, const struct ss_fitted_part *p, enum ss_leave_out by, uint64_t value) {
  static const enum ss_accuracy_class tells[] = {
      [SS_LEAVE_COLLECTIVES] = SS_NEW_COLLECTIVE, [SS_LEAVE_KIND] = SS_NEW_KIND,
      [SS_LEAVE_NODES] = SS_NODES_DOUBLED,        [SS_LEAVE_MOST_NODES] = SS_NODES_DOUBLED,
      [SS_LEAVE_LARGE] = SS_SIZE_DOUBLED,         [SS_LEAVE_SMALL] = SS_SIZE_DOUBLED};
  if ((p->judged >> tells[by] & 1) == 0) return;
  for (size_t i = 0; i < l->count; i++)
    if (l->list[i].by == by && l->list[i].value == value) return;
  if (l->count < LEAVES_MAX) l->list[l->count++] = (struct ss_leave){by, value};
}

static uint32_t bits_of(const struct ss_fitted_part *p, enum ss_message_kind kind) {
  uint32_t bits = 0;
  for (size_t i = 0; i < p->count; i++)
    if (p->use[i] && kind_of(&p->list[i]) == kind) bits |= UINT32_C(1) << p->list[i].algorithm->collective;
  return bits;
}

/* Each collective; each kind that is more than one; the fewest nodes, and so many and all above; the largest and the
 * smallest sizes. */
static void find_leaves(const struct ss_fitted_part *p, const struct ss_accuracy *a, struct leaves *out) {
  out->count = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_observation *o = &p->list[i];
    if (!p->use[i]) continue;
    add_leave(out, p, SS_LEAVE_COLLECTIVES, o->algorithm->collective);
    if (o->nodes > 1 && o->nodes == a->nodes_min) add_leave(out, p, SS_LEAVE_NODES, o->nodes);
    if (o->nodes > 1 && o->nodes > a->nodes_min) add_leave(out, p, SS_LEAVE_MOST_NODES, o->nodes);
  }
  for (uint64_t kind = SS_CHAIN; kind <= SS_EXCHANGE; kind++) {
    const uint32_t bits = bits_of(p, (enum ss_message_kind)kind);
    if ((bits & (bits - 1)) != 0) add_leave(out, p, SS_LEAVE_KIND, kind);
  }
  add_leave(out, p, SS_LEAVE_LARGE, a->bytes.most / SIZES_LEFT_OUT);
  add_leave(out, p, SS_LEAVE_SMALL, a->bytes.least * SIZES_LEFT_OUT);
}

/* --- groups -------------------------------------------------------------------------------------------------- */

/* One time that was left out: of which class it is. */
struct left {
  enum ss_accuracy_class class;
  enum ss_message_kind kind;
  double distance, error;
};

static double level(int i) {
  return (i + 0.5) / SS_ERROR_LEVELS;
}

/* Levels of errors, which are sorted here. */
static struct ss_error_levels levels_of(double *errors, size_t count) {
  struct ss_error_levels out;
  gsl_sort(errors, 1, count);
  for (int i = 0; i < SS_ERROR_LEVELS; i++)
    out.at[i] = gsl_stats_quantile_from_sorted_data(errors, 1, count, level(i));
  return out;
}

static bool classify(const struct ss_leave *l, const struct ss_accuracy *rest, const struct ss_observation *o,
                     struct left *out) {
  double nodes, sizes;
  const struct ss_accuracy_question q = ss_accuracy_question_of(o);
  out->class = ss_accuracy_class_of(rest, &q, &nodes, &sizes);
  out->kind = q.kind;
  out->distance = 0;
  if (l->by == SS_LEAVE_COLLECTIVES || l->by == SS_LEAVE_KIND)
    return out->class != SS_AS_MEASURED && nodes <= NEAR && sizes <= 1;
  if (out->class != SS_AS_MEASURED) return false;
  const bool of_nodes = l->by == SS_LEAVE_NODES || l->by == SS_LEAVE_MOST_NODES;
  out->class = of_nodes ? SS_NODES_DOUBLED : SS_SIZE_DOUBLED;
  out->distance = of_nodes ? nodes : fmax(1, round(sizes));
  return of_nodes ? nodes >= FAR && sizes <= 1 : sizes >= NEAR && nodes <= NEAR;
}

/* What is beyond errors of times as measured, for each doubling: errors that are independent add up by their squares,
 * here those of equal rank. */
static void take_measured_off(struct ss_error_group *g, const struct ss_error_levels *measured) {
  for (int i = 0; i < SS_ERROR_LEVELS; i++) {
    const double all = g->errors.at[i], least = measured->at[i];
    g->errors.at[i] = all > least ? sqrt(all * all - least * least) / g->distance : 0;
  }
}

/* Groups among what one leave-out left: of a class, a kind and a distance. */
static void group(struct left *left, size_t count, const struct ss_error_levels measured[SS_MESSAGE_KINDS],
                  double *scratch, struct ss_own_errors *out) {
  for (size_t i = 0; i < count; i++) {
    size_t mine = 0;
    const struct left first = left[i];
    for (size_t k = i; k < count; k++) {
      if (left[k].class != first.class || left[k].kind != first.kind || left[k].distance != first.distance) continue;
      scratch[mine++] = left[k].error;
      left[k].class = SS_ACCURACY_CLASSES;
    }
    if (first.class == SS_ACCURACY_CLASSES || mine < LEAST_TIMES || out->count == SS_ERROR_GROUPS) continue;
    struct ss_error_group *g = &out->group[out->count++];
    *g = (struct ss_error_group){first.class, (uint32_t)mine, first.distance, levels_of(scratch, mine)};
    if (first.distance > 0) take_measured_off(g, &measured[first.kind]);
  }
}

/* Errors by kind of messages, each a group, and in `measured`. */
static void group_measured(const struct ss_fitted_part *p, const double *off, double *scratch,
                           struct ss_error_levels measured[SS_MESSAGE_KINDS], struct ss_own_errors *out) {
  for (int kind = 0; kind < SS_MESSAGE_KINDS; kind++) {
    size_t mine = 0;
    for (size_t i = 0; i < p->count; i++)
      if (p->use[i] && (int)kind_of(&p->list[i]) == kind) scratch[mine++] = off[i];
    measured[kind] = (struct ss_error_levels){{0}};
    if (mine == 0) continue;
    measured[kind] = levels_of(scratch, mine);
    out->group[out->count++] = (struct ss_error_group){SS_AS_MEASURED, (uint32_t)mine, 0, measured[kind]};
  }
}

/* Scratch of leave-outs. */
struct leaving {
  bool *use, *wanted;
  double *predicted, *errors, *off;
  struct left *left;
};

/* Uses what a leave-out leaves; how many that are. */
static size_t take_out(const struct ss_fitted_part *p, const struct ss_leave *l, struct leaving *s) {
  size_t used = 0;
  for (size_t i = 0; i < p->count; i++) {
    s->wanted[i] = p->use[i] && ss_leave_takes(l, p->list, i);
    s->use[i] = p->use[i] && !s->wanted[i];
    used += s->use[i];
  }
  return used;
}

static bool predict_rest(const struct ss_fitted_part *p, struct leaving *s, struct ss_error *error) {
  struct ss_fitted_part part = {p->list, p->count, p->options, s->use, p->known, NULL, 0};
  struct ss_cluster_fit fit;
  struct ss_error why;
  const bool ok = ss_part_predict(&part, s->wanted, &fit, s->predicted, &why, error);
  ss_cluster_fit_free(&fit);
  return ok;
}

static bool is_measured(const struct ss_accuracy *rest, const struct ss_observation *o) {
  double nodes, sizes;
  const struct ss_accuracy_question q = ss_accuracy_question_of(o);
  return ss_accuracy_class_of(rest, &q, &nodes, &sizes) == SS_AS_MEASURED && nodes <= 0 && sizes <= 0;
}

/* Of each time that was measured: how far off it is predicted when a fifth of the rows, it among them, is left out;
 * its residual where that is not asked for, or cannot be had. */
static bool judge_measured(const struct ss_fitted_part *p, struct leaving *s, struct ss_error *error) {
  const bool folds = (p->judged >> SS_AS_MEASURED & 1) != 0;
  for (size_t i = 0, at = 0; i < p->count; i++)
    if (p->use[i]) s->off[i] = fabs(log(p->fit->predicted[at++] / p->list[i].seconds));
  for (uint64_t fold = 0; folds && fold < FOLDS; fold++) {
    const struct ss_leave l = {SS_LEAVE_ROWS, fold};
    struct ss_accuracy rest;
    if (take_out(p, &l, s) == 0) continue;
    measure(p->list, p->count, s->use, &rest);
    for (size_t i = 0; i < p->count; i++) s->wanted[i] = s->wanted[i] && is_measured(&rest, &p->list[i]);
    if (!predict_rest(p, s, error)) return false;
    for (size_t i = 0; i < p->count; i++)
      if (s->wanted[i] && isfinite(s->predicted[i])) s->off[i] = fabs(log(s->predicted[i] / p->list[i].seconds));
  }
  return true;
}

static bool leave_out(const struct ss_fitted_part *p, const struct ss_leave *l, struct leaving *s,
                      const struct ss_error_levels measured[SS_MESSAGE_KINDS], struct ss_own_errors *out,
                      struct ss_error *error) {
  struct ss_accuracy rest;
  size_t wanted = 0;
  if (take_out(p, l, s) == 0) return true;
  measure(p->list, p->count, s->use, &rest);
  for (size_t i = 0; i < p->count; i++) { /* only what will be judged is predicted */
    s->wanted[i] = s->wanted[i] && classify(l, &rest, &p->list[i], &s->left[wanted]);
    wanted += s->wanted[i];
  }
  if (wanted < LEAST_TIMES) return true;
  if (!predict_rest(p, s, error)) return false;
  size_t count = 0;
  for (size_t i = 0; i < p->count; i++) {
    if (!s->wanted[i] || !isfinite(s->predicted[i]) || !classify(l, &rest, &p->list[i], &s->left[count])) continue;
    s->left[count++].error = fabs(log(s->predicted[i] / p->list[i].seconds));
  }
  group(s->left, count, measured, s->errors, out);
  return true;
}

/* Its own errors: of what is left out of it in turn. */
static bool judge_part(const struct ss_fitted_part *p, struct ss_own_errors *out, struct ss_error *error) {
  struct ss_error_levels measured[SS_MESSAGE_KINDS];
  struct ss_accuracy a;
  struct leaves l;
  struct ss_arena arena = {0};
  struct leaving s = {.use = NULL};
  out->count = 0;
  bool ok = ss_take(&arena, s.use, p->count) && ss_take(&arena, s.wanted, p->count) &&
            ss_take(&arena, s.predicted, p->count) && ss_take(&arena, s.errors, p->count) &&
            ss_take(&arena, s.off, p->count) && ss_take(&arena, s.left, p->count + 1);
  if (!ok) (void)ss_fail_memory(error, "judging a calibration");
  ok = ok && judge_measured(p, &s, error);
  if (ok) group_measured(p, s.off, s.errors, measured, out);
  measure(p->list, p->count, p->use, &a);
  find_leaves(p, &a, &l);
  for (size_t i = 0; ok && i < l.count; i++) ok = leave_out(p, &l.list[i], &s, measured, out, error);
  ss_arena_free(&arena);
  return ok;
}

/* --- a compromise --------------------------------------------------------------------------------------------- */

struct point {
  double error, weight;
};

static int by_error(const void *a, const void *b) {
  const struct point *x = a, *y = b;
  return (x->error > y->error) - (x->error < y->error);
}

/* The error that a share of all weight is not above: between the middles of points. */
static double quantile(const struct point *point, size_t count, double share) {
  double all = 0, before = 0;
  for (size_t i = 0; i < count; i++) all += point[i].weight;
  for (size_t i = 0; i < count; i++) {
    const double middle = (before + point[i].weight / 2) / all;
    if (middle >= share) {
      if (i == 0) return point[0].error;
      const double last = (before - point[i - 1].weight / 2) / all;
      return point[i - 1].error + (point[i].error - point[i - 1].error) * (share - last) / (middle - last);
    }
    before += point[i].weight;
  }
  return count > 0 ? point[count - 1].error : 0;
}

static size_t add_points(const struct ss_error_levels *errors, double weight, struct point *at) {
  for (int i = 0; i < SS_ERROR_LEVELS; i++) at[i] = (struct point){errors->at[i], weight / SS_ERROR_LEVELS};
  return weight > 0 ? SS_ERROR_LEVELS : 0;
}

void ss_accuracy_compromise(const struct ss_own_errors *own, const struct ss_pooled_errors *pooled,
                            struct ss_accuracy *out) {
  struct point point[(SS_ERROR_GROUPS + 1) * SS_ERROR_LEVELS];
  out->pooled = true;
  for (int of = 0; of < SS_ACCURACY_CLASSES; of++) {
    size_t count = 0, groups = 0;
    for (uint32_t i = 0; i < own->count; i++) {
      if ((int)own->group[i].class != of) continue;
      const double weight = of == SS_AS_MEASURED ? own->group[i].times : 1;
      count += add_points(&own->group[i].errors, weight, point + count);
      groups++;
    }
    if (of != SS_AS_MEASURED && groups > 0) out->pooled = false;
    count += add_points(&pooled->errors[of], pooled->weight[of], point + count);
    qsort(point, count, sizeof *point, by_error);
    out->of[of] = (struct ss_spread){0, 0};
    if (count > 0)
      out->of[of] = (struct ss_spread){exp(quantile(point, count, 0.5)), exp(quantile(point, count, 0.9))};
    if (count > 0 && (of == SS_NEW_COLLECTIVE || of == SS_NEW_KIND)) { /* no better known than what is nearer */
      out->of[of].half = fmax(out->of[of].half, out->of[of - 1].half);
      out->of[of].most = fmax(out->of[of].most, out->of[of - 1].most);
    }
  }
}

/* Calls like one another: half of them lie between quartiles. 90% of a normal law's lie 1.645/0.6745 times as wide.
 */
static struct ss_spread noise_of(const struct ss_fitted_part *p, double *scratch) {
  size_t count = 0;
  for (size_t i = 0; i < p->count; i++)
    if (p->use[i] && p->list[i].quartiles >= 1) scratch[count++] = log(p->list[i].quartiles) / 2;
  if (count == 0) return (struct ss_spread){0, 0};
  gsl_sort(scratch, 1, count);
  const double half = gsl_stats_median_from_sorted_data(scratch, 1, count);
  return (struct ss_spread){fmin(exp(half), 1e6), fmin(exp(half * 1.645 / 0.6745), 1e6)};
}

bool ss_accuracy_estimate(const struct ss_fitted_part *part, struct ss_own_errors *own, struct ss_accuracy *out,
                          struct ss_error *error) {
  struct ss_pooled_errors pooled;
  SS_AUTO_FREE struct ss_own_errors *mine = own ? NULL : ss_alloc(1, sizeof *mine);
  SS_AUTO_FREE double *scratch = ss_alloc(part->count, sizeof *scratch);
  struct ss_own_errors *errors = own ? own : mine;
  if (!errors || !scratch) return ss_fail_memory(error, "judging a calibration");
  if (!ss_pooled_errors_read(&pooled, error) || !judge_part(part, errors, error)) return false;
  measure(part->list, part->count, part->use, out);
  ss_accuracy_compromise(errors, &pooled, out);
  out->noise = noise_of(part, scratch);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
