#include "calibration/validation.h"

#include "base/watcher.h"

static const double DIFFER = 1.5;

/* --- leaving out -------------------------------------------------------------------------------------------- */

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

static bool predict_group(struct ss_fitted_part *p, const bool *wanted, struct ss_validation *v,
                          struct ss_error *error) {
  struct ss_cluster_fit fit;
  struct ss_error why;
  bool ok = ss_part_predict(p, wanted, &fit, v->predicted, &why, error);
  if (ok && !p->fit && v->unfit++ == 0) (void)snprintf(v->reason, sizeof v->reason, "%.250s", why.text);
  ok = ok && (!p->fit || !v->range || find_ranges(p, wanted, v, error));
  ss_cluster_fit_free(&fit);
  return ok;
}

static bool first_of_group(const struct ss_observation *list, size_t at, enum ss_leave_out what) {
  for (size_t i = 0; i < at; i++)
    if (ss_leave_group(list, i, what) == ss_leave_group(list, at, what)) return false;
  return true;
}

static bool open_validation(const struct ss_observations *all, enum ss_leave_out what, size_t groups, bool ranges,
                            struct ss_validation *out) {
  *out = (struct ss_validation){.observations = all, .left_out = what};
  out->predicted = ss_alloc(all->count, sizeof *out->predicted);
  for (size_t i = 0; out->predicted && i < all->count; i++) out->predicted[i] = NAN;
  if (ranges) out->range = ss_alloc_zero(all->count, sizeof *out->range);
  if (ranges) out->own = ss_alloc(groups, sizeof *out->own);
  return out->predicted && (!ranges || (out->range && out->own));
}

/* Classes that something is left out for within each part: those of what is left out of it, and what all add to. */
static uint32_t judged_by(enum ss_leave_out what) {
  static const uint32_t measured = 1u << SS_AS_MEASURED;
  switch (what) {
  case SS_LEAVE_COLLECTIVES: return measured | 1u << SS_NEW_COLLECTIVE | 1u << SS_NEW_KIND;
  case SS_LEAVE_NODES: return measured | 1u << SS_NODES_DOUBLED;
  case SS_LEAVE_SIZES: return measured | 1u << SS_SIZE_DOUBLED;
  case SS_LEAVE_ROWS: return measured;
  default: return SS_ACCURACY_ALL;
  }
}

bool ss_leave_each(const struct ss_leaving *l, struct ss_error *error) {
  SS_AUTO_FREE bool *out = ss_alloc(l->count, sizeof *out);
  bool ok = out || ss_fail_memory(error, "judging a calibration");
  ss_watcher_begin(l->watcher, "groups", l->groups);
  for (size_t g = 0; ok && g < l->groups; g++) {
    for (size_t i = 0; i < l->count; i++) out[i] = l->takes(l->context, g, i);
    ok = l->predict(l->context, g, out, error);
    ss_watcher_advance(l->watcher, 1, 1, (double)l->groups);
  }
  ss_watcher_end(l->watcher);
  return ok;
}

/* What of observations is left out: of each group the first. */
struct leaving {
  struct ss_fitted_part part;
  bool *use; /* the part's */
  enum ss_leave_out what;
  const bool *fitted;
  size_t *first;
  struct ss_validation *out;
};

static bool takes(void *context, size_t group, size_t i) {
  const struct leaving *l = context;
  const struct ss_leave left = {l->what, ss_leave_group(l->part.list, l->first[group], l->what)};
  return l->what == SS_LEAVE_OTHERS ? !l->fitted[i] : ss_leave_takes(&left, l->part.list, i);
}

static bool predict_left_out(void *context, size_t group, const bool *left_out, struct ss_error *error) {
  struct leaving *l = context;
  (void)group;
  for (size_t i = 0; i < l->part.count; i++) l->use[i] = !left_out[i] || l->what == SS_LEAVE_NOTHING;
  return predict_group(&l->part, left_out, l->out, error);
}

/* Group by group; of SS_LEAVE_OTHERS there is one. */
bool ss_validate(const struct ss_observations *all, const struct ss_cluster_fit_options *options,
                 enum ss_leave_out what, const bool *fitted, struct ss_validation *out, struct ss_error *error) {
  const size_t count = all->count;
  SS_AUTO_FREE bool *use = ss_alloc(count, sizeof *use);
  SS_AUTO_FREE size_t *first = ss_alloc(count, sizeof *first);
  struct leaving l = {
      .part = {.list = all->list, .count = count, .options = options, .use = use, .judged = judged_by(what)},
      .use = use,
      .what = what,
      .fitted = fitted,
      .first = first,
      .out = out};
  struct ss_leaving leaving = {
      .context = &l, .count = count, .takes = takes, .predict = predict_left_out, .watcher = options->watcher};
  for (size_t i = 0; first && i < count; i++)
    if (first_of_group(all->list, i, what)) first[leaving.groups++] = i;
  l.part.known = ss_alloc_zero(count, sizeof *l.part.known);
  const bool ok =
      ((open_validation(all, what, leaving.groups, options->ranges, out) && use && first && l.part.known) ||
       ss_fail_memory(error, "judging a calibration")) &&
      ss_leave_each(&leaving, error);
  ss_known_terms_free(l.part.known, count);
  return ok;
}

void ss_validation_free(struct ss_validation *v) {
  free(v->predicted);
  free(v->range);
  free(v->own);
  *v = (struct ss_validation){0};
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

bool ss_validation_rank(const struct ss_validation *v, struct ss_ranked_pairs *out, struct ss_error *error) {
  const struct ss_observation *list = v->observations->list;
  const size_t all = v->observations->count;
  SS_AUTO_FREE struct runner *r = ss_alloc(all, sizeof *r);
  size_t count = 0;
  *out = (struct ss_ranked_pairs){0};
  if (!r) return ss_fail_memory(error, "judging a calibration");
  for (size_t i = 0; i < all; i++)
    if (isfinite(v->predicted[i])) r[count++] = (struct runner){&list[i], list[i].seconds, v->predicted[i]};
  qsort(r, count, sizeof *r, by_what);
  count = take_medians(r, count);
  for (size_t i = 0; i < count; i++)
    for (size_t k = i + 1; k < count && compare_whats(r[i].what, r[k].what, false) == 0; k++) {
      const bool faster = r[i].measured < r[k].measured;
      if (fmax(r[i].measured, r[k].measured) <= DIFFER * fmin(r[i].measured, r[k].measured)) continue;
      out->pairs++;
      out->right += faster ? r[i].predicted < r[k].predicted : r[i].predicted > r[k].predicted;
    }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
