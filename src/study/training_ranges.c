/* What draws say of trainings: of each thing that is told of an iteration, and of what would help. */
#include "study/trainings.h"

/* What the mean of the measured iterations may be off, of which no more tell something than differ. */
static struct ss_spread mean_spread(const struct ss_training_point *p) {
  const uint64_t first = p->options.warmup, n = p->options.iterations - first;
  const double *end = p->result.end;
  double squares = 0;
  for (uint64_t i = 0; i < n; i++)
    squares =
        ss_mean_square_add(squares, end[first + i - 1] - end[first - 1], i, end[first + i] - end[first + i - 1]);
  const uint64_t differ = p->options.sigma > 0 || p->fed->cycle > n ? n : p->fed->cycle;
  return ss_mean_spread(p->result.mean, n > 1 ? sqrt(squares / (double)(n - 1)) : 0, differ);
}

/* The same, and what is off where software was inferred: of each system apart. */
static struct ss_spread own_spread(const struct ss_training *t, const struct ss_training_point *p) {
  const struct ss_spread mean = mean_spread(p);
  if (!t->inferred || !(t->inferred->within.most > 1)) return mean;
  return ss_spread_join(mean, t->inferred->within);
}

static struct ss_uncertain whole_of(const struct ss_training *t, const struct ss_training_point *p) {
  return (struct ss_uncertain){.time = p->result.mean,
                               .components = &p->parts.mean,
                               .uncertainty = &p->uncertainty,
                               .played = p->parts.plays > 0 ? p->parts.played : NULL,
                               .plays = p->parts.plays,
                               .label = p->system->name,
                               .passes = p->result.own,
                               .least = fmin(p->result.own + p->result.step, p->result.mean),
                               .own = t->durations.certain ? (struct ss_spread){1, 1} : own_spread(t, p)};
}

bool ss_training_decide(const struct ss_training *t, size_t first, size_t n, struct ss_candidate *list,
                        struct ss_decision *out, struct ss_error *error) {
  const struct ss_training_point *p = &t->point[first];
  const struct ss_candidate *base = NULL;
  for (size_t i = 0; i < n; i++)
    list[i] = (struct ss_candidate){.of = whole_of(t, &p[i]),
                                    .left_out = !ss_training_may_win(t, &p[i]),
                                    .lossy = ss_system_lossy(p[i].system),
                                    .model_parallel = ss_scheme_model_parallel(p[i].system->sparse.scheme),
                                    .offer = ss_offer_over(&p[i].system->offer, &t->durations.cluster.library),
                                    .library = &t->durations.cluster.library};
  for (size_t i = 0; i < n; i++)
    if (p[i].system->baseline && (!base || list[i].of.time < base->of.time)) base = &list[i];
  return ss_decide(list, n, base ? &base->of : NULL, out, error);
}

/* --- what is told of one iteration ------------------------------------------------------------------------------ */

typedef double draws[SS_RANGE_DRAWS];

/* Of something else of the same point, as far as components change it; `least`: of it, above 0 where it has passes.
 */
static void draw_other(const struct ss_uncertain *whole, double time, const struct ss_components *components,
                       struct ss_spread own, double least, draws out) {
  struct ss_uncertain other = *whole;
  other.time = time;
  other.components = components;
  other.own = own;
  other.played = NULL;
  other.least = least;
  if (!(least > 0)) other.passes = 0;
  ss_draws_of(&other, out);
}

static struct ss_likely ratio(double scale, const draws above, const draws below) {
  draws out;
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++)
    out[d] = below[d] > 0 ? scale * (above ? above[d] : 1) / below[d] : scale;
  return ss_likely_of(out);
}

/* Passes last what they are given as; what else an iteration takes is stall. */
static void draw_passes(struct ss_training_point *p, const struct ss_uncertain *whole, const draws iteration) {
  const struct ss_components passes = {.s[SS_PASSES] = p->result.own};
  const double rounding = 1e-9 * p->result.mean;
  draws own, stall;
  draw_other(whole, p->result.own, &passes, p->options.sigma > 0 ? whole->own : (struct ss_spread){1, 1}, 0, own);
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++) stall[d] = iteration[d] - own[d] > rounding ? iteration[d] - own[d] : 0;
  p->likely[SS_TOLD_STALL] = ss_likely_of(stall);
  p->likely[SS_TOLD_COMPUTE] = ss_likely_of(own);
}

static void draw_channels(struct ss_training_point *p, const struct ss_uncertain *whole) {
  const struct ss_components split = {.s[SS_COMPUTING] = p->result.split};
  const struct ss_spread sure = {1, 1};
  draws of_split, busy, hidden, share;
  draw_other(whole, p->result.split, &split, sure, 0, of_split);
  draw_other(whole, p->result.busy, &p->parts.busy, sure, 0, busy);
  p->likely[SS_TOLD_SPLIT] = ss_likely_of(of_split);
  if (p->result.busy > 0) {
    draw_other(whole, p->result.hidden * p->result.busy, &p->parts.hidden, sure, 0, hidden);
    for (size_t d = 0; d < SS_RANGE_DRAWS; d++) share[d] = busy[d] > 0 ? fmin(hidden[d] / busy[d], 1) : 1;
    p->likely[SS_TOLD_HIDDEN] = ss_likely_of(share);
  }
  p->likely[SS_TOLD_COMMUNICATION] = ss_likely_of(busy);
}

/* Of the same workload and system, on the fewest ranks. */
static const struct ss_training_point *fewest_ranks(const struct ss_training *t, const struct ss_training_point *p) {
  const struct ss_training_point *least = p;
  for (const struct ss_training_point *q = t->point; q < t->point + t->points; q++)
    if (q->fed == p->fed && q->system == p->system && q->ranks < least->ranks) least = q;
  return least;
}

static void draw_point(const struct ss_training *t, struct ss_training_point *p) {
  const struct ss_uncertain whole = whole_of(t, p);
  draws iteration, other;
  ss_draws_of(&whole, iteration);
  draw_passes(p, &whole, iteration);
  draw_channels(p, &whole);
  p->likely[SS_TOLD_TOKENS] = ratio(p->tokens * p->result.mean, NULL, iteration);
  const struct ss_uncertain least = whole_of(t, fewest_ranks(t, p));
  ss_draws_of(&least, other);
  p->likely[SS_TOLD_SCALING] = ratio(1, other, iteration);
  for (struct ss_help *h = p->help; h < p->help + p->helps; h++) {
    draw_other(&whole, h->mean, &h->parts.mean, whole.own, fmin(whole.passes, h->mean), other);
    h->speedup = ratio(1, iteration, other);
    h->range = ss_likely_of(other);
  }
}

bool ss_training_draw(struct ss_training *t, struct ss_error *error) {
  SS_AUTO_FREE struct ss_candidate *list = ss_alloc(t->points, sizeof *list);
  if (!list) return ss_fail_memory(error, "comparing systems");
  for (size_t i = 0, n; i < t->points; i += n) {
    struct ss_decision ignored;
    n = ss_training_group(t, i);
    if (!ss_training_decide(t, i, n, list, &ignored, error)) return false;
    for (size_t k = 0; k < n; k++) {
      struct ss_training_point *p = &t->point[i + k];
      for (int told = 0; told < SS_TOLD; told++) p->likely[told] = (struct ss_likely){NAN, NAN};
      p->likely[SS_TOLD_ITERATION] = list[k].range;
      p->likely[SS_TOLD_SPEEDUP] = list[k].base_ratio;
      p->wins = list[k].wins;
      if (isfinite(p->wins)) draw_point(t, p);
    }
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
