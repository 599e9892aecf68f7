#include "calibration/validation.h"

#include "base/memory.h"
#include "base/watcher.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double DIFFER = 1.5;

enum { FOLDS = 5 };

const uint64_t ss_validation_bands[SS_VALIDATION_BANDS] = {64 << 10, 1 << 20, 64 << 20, UINT64_MAX};

uint32_t ss_validation_band(uint64_t bytes) {
  uint32_t band = 0;
  while (bytes > ss_validation_bands[band]) band++;
  return band;
}

static uint32_t group_of(const struct ss_observation *list, size_t i, enum ss_leave_out what) {
  const struct ss_observation *o = &list[i];
  return what == SS_LEAVE_NODES         ? o->nodes
         : what == SS_LEAVE_COLLECTIVES ? (uint32_t)o->algorithm->collective
         : what == SS_LEAVE_ROWS        ? (uint32_t)(i % FOLDS)
         : what == SS_LEAVE_SIZES       ? ss_validation_band(o->bytes)
                                        : 0;
}

/* --- leaving out -------------------------------------------------------------------------------------------- */

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

static bool fit_part(const struct ss_fitted_part *p, struct ss_cluster_fit *fit, bool *fitted, struct ss_error *why) {
  const struct ss_cluster_fit_part part = {p->use, p->known};
  *fitted = ss_cluster_fit(p->list, p->count, p->options, &part, fit, why);
  return *fitted || why->status != SS_MACHINE;
}

bool ss_part_predict(const struct ss_fitted_part *p, const bool *wanted, double *predicted, struct ss_error *error) {
  struct ss_cluster_fit fit;
  struct ss_error why;
  bool fitted, ok = fit_part(p, &fit, &fitted, &why);
  if (!ok) *error = why;
  for (size_t i = 0; !fitted && i < p->count; i++)
    if (wanted[i]) predicted[i] = NAN;
  ok = ok && (!fitted || predict(p, &fit.cluster, wanted, predicted, error));
  ss_cluster_fit_free(&fit);
  return ok;
}

/* Which range each has, of a cluster fitted to others. */
static bool find_ranges(const struct ss_fitted_part *p, const bool *wanted, struct ss_validation *v,
                        struct ss_error *error) {
  struct ss_accuracy a;
  struct ss_own_errors *own = &v->own[v->parts++];
  if (!ss_accuracy_estimate(p, own, &a, error)) return false;
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_accuracy_question q = ss_accuracy_question_of(&p->list[i]);
    struct ss_range *range = &v->range[i];
    if (!wanted[i]) continue;
    range->class = ss_accuracy_class_of(&a, &q, &range->nodes_doubled, &range->size_doubled);
    range->within = ss_accuracy_spread(&a, &q);
    range->part = v->parts - 1;
  }
  return true;
}

/* Fits to a part, and predicts another. What cannot be fitted is no failure. */
static bool fit_and_predict(struct ss_fitted_part *p, const bool *wanted, struct ss_validation *v,
                            struct ss_error *error) {
  struct ss_cluster_fit fit;
  struct ss_error why;
  bool fitted, ok = fit_part(p, &fit, &fitted, &why);
  if (!ok) *error = why;
  else if (!fitted && v->unfit++ == 0) (void)snprintf(v->reason, sizeof v->reason, "%.250s", why.text);
  p->fit = &fit;
  ok = ok && (!fitted || (predict(p, &fit.cluster, wanted, v->predicted, error) &&
                          (!v->range || find_ranges(p, wanted, v, error))));
  p->fit = NULL;
  ss_cluster_fit_free(&fit);
  return ok;
}

static bool first_of_group(const struct ss_observation *list, size_t at, enum ss_leave_out what) {
  for (size_t i = 0; i < at; i++)
    if (group_of(list, i, what) == group_of(list, at, what)) return false;
  return true;
}

/* What is fitted to, and what is predicted, when `first`'s group is left out. */
static void choose(const struct ss_observation *list, size_t count, size_t first, enum ss_leave_out what,
                   const bool *fitted, bool *use, bool *wanted) {
  for (size_t i = 0; i < count; i++) {
    const bool mine = group_of(list, i, what) == group_of(list, first, what);
    use[i] = what == SS_LEAVE_OTHERS ? fitted[i] : what == SS_LEAVE_NOTHING || !mine;
    wanted[i] = what == SS_LEAVE_OTHERS ? !fitted[i] : mine;
  }
}

size_t ss_validation_groups(const struct ss_observations *all, enum ss_leave_out what) {
  size_t groups = 0;
  for (size_t i = 0; i < all->count; i++) groups += first_of_group(all->list, i, what);
  return groups;
}

static bool open_validation(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                            size_t groups, struct ss_validation *out) {
  *out = (struct ss_validation){.count = all->count};
  out->predicted = ss_alloc(all->count, sizeof *out->predicted);
  out->message = ss_alloc(all->count, sizeof *out->message);
  if (options->ranges) out->range = ss_alloc_zero(all->count, sizeof *out->range);
  if (options->ranges) out->own = ss_alloc(groups, sizeof *out->own);
  if (!out->predicted || !out->message || (options->ranges && (!out->range || !out->own))) return false;
  for (size_t i = 0; i < all->count; i++) {
    out->predicted[i] = NAN;
    out->message[i] = ss_observation_message(&all->list[i]);
  }
  return true;
}

/* Classes that something is left out for within each part: those of what is left out of it. */
static uint32_t judged_by(enum ss_leave_out what) {
  switch (what) {
  case SS_LEAVE_COLLECTIVES: return 1u << SS_NEW_COLLECTIVE | 1u << SS_NEW_KIND;
  case SS_LEAVE_NODES: return 1u << SS_NODES_DOUBLED;
  case SS_LEAVE_SIZES: return 1u << SS_SIZE_DOUBLED;
  case SS_LEAVE_ROWS: return 0;
  case SS_LEAVE_NOTHING:
  case SS_LEAVE_OTHERS: break;
  }
  return SS_ACCURACY_ALL;
}

bool ss_validate(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                 enum ss_leave_out what, const bool *fitted, struct ss_validation *out, struct ss_error *error) {
  const size_t count = all->count, groups = ss_validation_groups(all, what);
  SS_AUTO_FREE bool *use = ss_alloc(count, sizeof *use), *wanted = ss_alloc(count, sizeof *wanted);
  struct ss_fitted_part part = {
      .list = all->list, .count = count, .options = options, .use = use, .judged = judged_by(what)};
  part.known = ss_alloc_zero(count, sizeof *part.known);
  bool ok = (open_validation(all, options, groups, out) && use && wanted && part.known) ||
            ss_fail_memory(error, "judging a calibration");
  ss_watcher_begin(options->watcher, "groups", groups);
  for (size_t i = 0; ok && i < count; i++) {
    if (!first_of_group(all->list, i, what)) continue;
    choose(all->list, count, i, what, fitted, use, wanted);
    ok = fit_and_predict(&part, wanted, out, error);
    ss_watcher_advance(options->watcher, 1, 1, (double)groups);
  }
  ss_watcher_end(options->watcher);
  ss_known_terms_free(part.known, count);
  return ok;
}

void ss_validation_free(struct ss_validation *v) {
  free(v->predicted);
  free(v->message);
  free(v->range);
  free(v->own);
  *v = (struct ss_validation){0};
}

/* --- judging ------------------------------------------------------------------------------------------------ */

static bool is_within(const struct ss_validation *v, const struct ss_observation *o, size_t i, double factor) {
  return fmax(v->predicted[i] / o->seconds, o->seconds / v->predicted[i]) <= factor;
}

struct ss_error_spread ss_validation_judge(const struct ss_validation *v, const struct ss_observation *list,
                                           bool (*in)(const struct ss_observation *o, uint64_t message,
                                                      const void *context),
                                           const void *context) {
  struct ss_error_spread j = {0, NAN, NAN, NAN, NAN, NAN};
  size_t half = 0, most = 0;
  SS_AUTO_FREE double *of = ss_alloc(v->count, sizeof *of);
  for (size_t i = 0; of && i < v->count; i++) {
    if (!isfinite(v->predicted[i]) || (in && !in(&list[i], v->message[i], context))) continue;
    of[j.count++] = fabs(v->predicted[i] / list[i].seconds - 1);
    half += v->range && is_within(v, &list[i], i, v->range[i].within.half);
    most += v->range && is_within(v, &list[i], i, v->range[i].within.most);
  }
  if (j.count == 0) return j;
  if (v->range) j.within_half = (double)half / (double)j.count;
  if (v->range) j.within_most = (double)most / (double)j.count;
  gsl_sort(of, 1, j.count);
  j.median = gsl_stats_median_from_sorted_data(of, 1, j.count);
  j.p90 = gsl_stats_quantile_from_sorted_data(of, 1, j.count, 0.9);
  j.worst = of[j.count - 1];
  return j;
}

/* --- rankings ----------------------------------------------------------------------------------------------- */

/* An algorithm that did a collective, all its times. */
struct runner {
  const struct ss_observation *what;
  double measured, predicted;
};

static int compare_whats(const struct ss_observation *a, const struct ss_observation *b, bool algorithm) {
  const uint64_t x[] = {a->algorithm->collective, a->nodes, a->per_node, a->bytes, (uintptr_t)a->algorithm};
  const uint64_t y[] = {b->algorithm->collective, b->nodes, b->per_node, b->bytes, (uintptr_t)b->algorithm};
  for (int i = 0; i < 4 + algorithm; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

static int by_what(const void *a, const void *b) {
  const struct runner *x = a, *y = b;
  const int order = compare_whats(x->what, y->what, true);
  return order != 0 ? order : (x->measured > y->measured) - (x->measured < y->measured);
}

/* Of several times of one the middle one stays; the prediction is the same for all. */
static size_t take_medians(struct runner *r, size_t count) {
  size_t kept = 0;
  for (size_t i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && compare_whats(r[i].what, r[next].what, true) == 0;) next++;
    r[kept++] = r[i + (next - i) / 2];
  }
  return kept;
}

bool ss_validation_rank(const struct ss_validation *v, const struct ss_observation *list, struct ss_ranked_pairs *out,
                        struct ss_error *error) {
  SS_AUTO_FREE struct runner *r = ss_alloc(v->count, sizeof *r);
  size_t count = 0;
  *out = (struct ss_ranked_pairs){0};
  if (!r) return ss_fail_memory(error, "judging a calibration");
  for (size_t i = 0; i < v->count; i++)
    if (isfinite(v->predicted[i])) r[count++] = (struct runner){&list[i], list[i].seconds, v->predicted[i]};
  qsort(r, count, sizeof *r, by_what);
  count = take_medians(r, count);
  for (size_t i = 0; i < count; i++)
    for (size_t k = i + 1; k < count && compare_whats(r[i].what, r[k].what, false) == 0; k++) {
      const bool faster = r[i].measured < r[k].measured;
      if (fmax(r[i].measured, r[k].measured) <= DIFFER * fmin(r[i].measured, r[k].measured)) continue;
      out->pairs++;
      out->right += faster == (r[i].predicted < r[k].predicted);
    }
  return true;
}
