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

static uint32_t group_of(const struct ss_observation *o, enum ss_leave_out what) {
  return what == SS_LEAVE_NODES ? o->nodes : what == SS_LEAVE_COLLECTIVES ? (uint32_t)o->algorithm->collective : 0;
}

/* --- leaving out -------------------------------------------------------------------------------------------- */

/* What is fitted to, and what is predicted then. */
struct part {
  bool *use, *predict; /* [count] */
  struct ss_known_terms *known;
};

static bool predict(const struct ss_observation *list, const struct ss_measured_cluster *cluster, const bool *which,
                    struct ss_validation *v, struct ss_error *error) {
  for (size_t i = 0; i < v->count; i++) {
    size_t first = 0; /* that is the same call */
    if (!which[i]) continue;
    while (!which[first] || !ss_observation_same_call(&list[first], &list[i])) first++;
    if (first < i) v->predicted[i] = v->predicted[first];
    else if (!ss_observation_predict(cluster, &list[i], &v->predicted[i], error)) return false;
  }
  return true;
}

/* Fits to a part, and predicts another. What cannot be fitted is no failure. */
static bool fit_and_predict(const struct ss_observation *list, const struct ss_cluster_fit_options *options,
                            const struct part *part, struct ss_validation *v, struct ss_error *error) {
  struct ss_cluster_fit fit;
  struct ss_error why;
  const struct ss_cluster_fit_part fitted = {part->use, part->known};
  bool ok = ss_cluster_fit(list, v->count, options, &fitted, &fit, &why);
  if (!ok && why.status != SS_MACHINE) {
    if (v->unfit++ == 0) (void)snprintf(v->reason, sizeof v->reason, "%.250s", why.text);
    ss_cluster_fit_free(&fit);
    return true;
  }
  if (!ok) *error = why;
  ok = ok && predict(list, &fit.cluster, part->predict, v, error);
  ss_cluster_fit_free(&fit);
  return ok;
}

static bool first_of_group(const struct ss_observation *list, size_t at, enum ss_leave_out what) {
  for (size_t i = 0; i < at; i++)
    if (group_of(&list[i], what) == group_of(&list[at], what)) return false;
  return true;
}

/* The part that is fitted to when `first`'s group is left out. */
static void choose(const struct ss_observation *list, size_t count, size_t first, enum ss_leave_out what,
                   const bool *fitted, struct part *part) {
  for (size_t i = 0; i < count; i++) {
    const bool mine = group_of(&list[i], what) == group_of(&list[first], what);
    part->use[i] = what == SS_LEAVE_OTHERS ? fitted[i] : what == SS_LEAVE_NOTHING || !mine;
    part->predict[i] = what == SS_LEAVE_OTHERS ? !fitted[i] : mine;
  }
}

size_t ss_validation_groups(const struct ss_observations *all, enum ss_leave_out what) {
  size_t groups = 0;
  for (size_t i = 0; i < all->count; i++) groups += first_of_group(all->list, i, what);
  return groups;
}

bool ss_validate(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                 enum ss_leave_out what, const bool *fitted, struct ss_validation *out, struct ss_error *error) {
  const struct ss_observation *list = all->list;
  const size_t count = all->count;
  *out = (struct ss_validation){.count = count};
  out->predicted = ss_alloc(count, sizeof *out->predicted);
  out->message = ss_alloc(count, sizeof *out->message);
  struct part part = {ss_alloc(count, sizeof *part.use), ss_alloc(count, sizeof *part.predict),
                      ss_alloc_zero(count, sizeof *part.known)};
  bool ok = (out->predicted && out->message && part.use && part.predict && part.known) ||
            ss_fail_memory(error, "judging a calibration");
  for (size_t i = 0; ok && i < count; i++) {
    out->predicted[i] = NAN;
    out->message[i] = ss_observation_message(&list[i]);
  }
  const size_t groups = ss_validation_groups(all, what);
  ss_watcher_begin(options->watcher, "groups", groups);
  for (size_t i = 0; ok && i < count; i++) {
    if (!first_of_group(list, i, what)) continue;
    choose(list, count, i, what, fitted, &part);
    ok = fit_and_predict(list, options, &part, out, error);
    ss_watcher_advance(options->watcher, 1, 1, (double)groups);
  }
  ss_watcher_end(options->watcher);
  ss_known_terms_free(part.known, count);
  free(part.use);
  free(part.predict);
  return ok;
}

void ss_validation_free(struct ss_validation *v) {
  free(v->predicted);
  free(v->message);
  *v = (struct ss_validation){0};
}

/* --- judging ------------------------------------------------------------------------------------------------ */

struct ss_error_spread ss_validation_judge(const struct ss_validation *v, const struct ss_observation *list,
                                           bool (*in)(const struct ss_observation *o, uint64_t message,
                                                      const void *context),
                                           const void *context) {
  struct ss_error_spread j = {0, NAN, NAN, NAN};
  SS_AUTO_FREE double *of = ss_alloc(v->count, sizeof *of);
  for (size_t i = 0; of && i < v->count; i++)
    if (isfinite(v->predicted[i]) && (!in || in(&list[i], v->message[i], context)))
      of[j.count++] = fabs(v->predicted[i] / list[i].seconds - 1);
  if (j.count == 0) return j;
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
