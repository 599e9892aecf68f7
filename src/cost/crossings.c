#include "cost/crossings.h"

#include "base/gsl.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>

/* A position with costs. */
struct probe {
  double x, cost[2];
  int winner;
};

struct finding {
  const struct ss_crossover_search *search;
  struct ss_crossover *out;
  struct probe *probe; /* ascending */
  size_t probes, capacity;
  struct ss_error why; /* of the first position that was left out */
  bool stopped;        /* memory is short or a position failed, inside GSL's solver, which knows no other way out */
  struct ss_error failure; /* of a position that the machine could not do: nothing is then known */
};

/* --- probing ---------------------------------------------------------------------------------------------- */

static double distance(const double cost[2]) {
  return log(cost[1] / cost[0]);
}

static int winner_of(const struct finding *f, const double cost[2]) {
  const double d = distance(cost);
  return fabs(d) <= f->search->same ? 0 : d > 0 ? -1 : 1;
}

static void note_gap(struct finding *f, double x, const struct ss_error *why) {
  struct ss_crossover *out = f->out;
  for (size_t i = 0; i < out->gaps; i++)
    if (out->gap[i].at >= x && out->gap[i].at <= x) return; /* refining comes by again */
  if (!ss_grow_by_one(out->gap, out->gaps)) {
    f->stopped = true;
    return;
  }
  if (out->gaps == 0) f->why = *why;
  struct ss_crossover_gap *gap = &out->gap[out->gaps++];
  gap->at = x;
  snprintf(gap->why, sizeof gap->why, "%.199s", why->text);
}

/* Costs of nothing, or that are no numbers, cannot be compared. */
static bool costs_at(struct finding *f, double x, struct probe *out) {
  struct ss_error why;
  *out = (struct probe){.x = x};
  if (!f->search->costs(f->search->context, x, out->cost, &why)) {
    if (why.status != SS_MACHINE) note_gap(f, x, &why);
    if (why.status == SS_MACHINE) f->failure = why;
    f->stopped = f->stopped || why.status == SS_MACHINE;
    return false;
  }
  if (!(isfinite(out->cost[0]) && isfinite(out->cost[1]) && out->cost[0] > 0 && out->cost[1] > 0)) {
    ss_fail(&why, SS_BAD_INPUT, "nothing is sent, or the form has no value here");
    note_gap(f, x, &why);
    return false;
  }
  out->winner = winner_of(f, out->cost);
  return true;
}

uint32_t ss_crossover_positions(const struct ss_crossover_search *s) {
  const bool every = s->whole && s->high - s->low < s->probes;
  return s->low >= s->high ? 1 : every ? (uint32_t)(s->high - s->low) + 1 : s->probes;
}

/* Even in the logarithm, or every whole number when there are few. */
double ss_crossover_position(const struct ss_crossover_search *s, uint32_t i) {
  const uint32_t count = ss_crossover_positions(s);
  if (i == 0) return s->low;
  if (i + 1 == count) return s->high;
  if (s->whole && s->high - s->low < s->probes) return s->low + i;
  const double share = i / (double)(count - 1), x = exp((1 - share) * log(s->low) + share * log(s->high));
  return s->whole ? nearbyint(x) : x;
}

static bool probe_grid(struct finding *f) {
  const struct ss_crossover_search *s = f->search;
  const uint32_t count = ss_crossover_positions(s);
  f->probe = ss_alloc(count, sizeof *f->probe);
  if (!f->probe) return false;
  double last = 0;
  for (uint32_t i = 0; i < count && !f->stopped; i++) {
    const double x = ss_crossover_position(s, i);
    if (x <= last) continue; /* whole numbers repeat where the grid is fine */
    last = x;
    f->probes += costs_at(f, x, &f->probe[f->probes]);
  }
  return !f->stopped;
}

/* A single position where the costs are equal is a crossing there when the winner changes, and else a touch: it takes
 * the side of what comes after, or of what was before where numbers are whole ("from which the other is cheaper"). */
static void decide_ties(struct finding *f) {
  struct probe *p = f->probe;
  for (size_t i = 0; i < f->probes; i++) {
    const bool first = i == 0, last = i + 1 == f->probes;
    if (p[i].winner != 0 || (first && last)) continue;
    if ((!first && p[i - 1].winner == 0) || (!last && p[i + 1].winner == 0)) continue;
    p[i].winner = first ? p[i + 1].winner : last || f->search->whole ? p[i - 1].winner : p[i + 1].winner;
  }
}

/* --- refining --------------------------------------------------------------------------------------------- */

static double difference(double log_x, void *context) {
  struct probe p;
  return costs_at(context, exp(log_x), &p) ? distance(p.cost) : NAN;
}

enum { STEPS_MOST = 200 };

/* The root between two positions with other winners; false: no solver for want of memory. Where the costs cannot be
 * had in between, the second position itself. */
static bool refine_root(struct finding *f, const struct probe *a, const struct probe *b, double *at) {
  gsl_function gap = {.function = difference, .params = f};
  gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
  if (!solver) return false;
  *at = b->x;
  bool going = gsl_root_fsolver_set(solver, &gap, log(a->x), log(b->x)) == GSL_SUCCESS;
  for (int i = 0; going && i < STEPS_MOST; i++) {
    going = gsl_root_fsolver_iterate(solver) == GSL_SUCCESS;
    if (going) *at = exp(gsl_root_fsolver_root(solver));
    going = going && gsl_root_test_interval(gsl_root_fsolver_x_lower(solver), gsl_root_fsolver_x_upper(solver),
                                            f->search->precision, 0) == GSL_CONTINUE;
  }
  gsl_root_fsolver_free(solver);
  *at = fmin(fmax(*at, a->x), b->x);
  return !f->stopped;
}

/* The end of a stretch in which the costs are equal, which no root finder sees: halving by who is cheaper. */
static double refine_edge(struct finding *f, const struct probe *a, const struct probe *b) {
  double low = a->x, high = b->x;
  while (high / low - 1 > f->search->precision) {
    struct probe middle;
    const double x = sqrt(low * high);
    if (x <= low || x >= high || !costs_at(f, x, &middle)) break;
    if (middle.winner == a->winner) low = x;
    else high = x;
  }
  return high;
}

/* A whole position between the two that has costs, the middle first. */
static bool whole_between(struct finding *f, double low, double high, struct probe *out) {
  const uint64_t first = (uint64_t)low + 1, end = (uint64_t)high, middle = (first + end) / 2;
  for (uint64_t x = middle; x < end && !f->stopped; x++)
    if (costs_at(f, (double)x, out)) return true;
  for (uint64_t x = middle; x > first && !f->stopped; x--)
    if (costs_at(f, (double)(x - 1), out)) return true;
  return false;
}

/* Moves the two together until there is nothing between them. */
static void refine_whole(struct finding *f, struct probe *a, struct probe *b) {
  struct probe middle;
  const bool all = f->search->high - f->search->low < f->search->probes;
  while (!all && b->x - a->x > 1 && whole_between(f, a->x, b->x, &middle)) {
    if (middle.winner == 0 || middle.winner == a->winner) {
      middle.winner = a->winner;
      *a = middle;
    } else {
      *b = middle;
    }
  }
}

/* --- telling ---------------------------------------------------------------------------------------------- */

static bool add_crossing(struct finding *f, struct probe a, struct probe b) {
  struct ss_crossover *out = f->out;
  if (!ss_grow_by_one(out->crossing, out->crossings)) return false;
  struct ss_crossing *c = &out->crossing[out->crossings++];
  *c = (struct ss_crossing){.below = a.winner, .above = b.winner};
  struct probe here = b;
  if (f->search->whole) {
    refine_whole(f, &a, &b);
    here = b;
    c->before = a.x;
  } else {
    double at = b.x;
    if (a.winner == 0 || b.winner == 0) at = refine_edge(f, &a, &b);
    else if (!refine_root(f, &a, &b, &at)) return false;
    if (!costs_at(f, at, &here)) here = b;
    c->before = here.x;
    /* a step of a cost is crossed without the two being equal anywhere near */
    c->jump = a.winner * b.winner < 0 && fabs(distance(here.cost)) > 1e3 * f->search->precision;
  }
  c->at = here.x;
  c->cost[0] = here.cost[0];
  c->cost[1] = here.cost[1];
  return !f->stopped;
}

static void weigh_part(struct ss_crossover_part *part, const struct probe *p) {
  const double ratio = exp(fabs(distance(p->cost)));
  part->ratio_min = fmin(part->ratio_min, ratio);
  part->ratio_max = fmax(part->ratio_max, ratio);
}

static struct ss_crossover_part part_from(double x, int winner) {
  return (struct ss_crossover_part){.from = x, .to = x, .winner = winner, .ratio_min = INFINITY, .ratio_max = 1};
}

static bool tell_parts(struct finding *f) {
  struct ss_crossover *out = f->out;
  const bool whole = f->search->whole;
  struct ss_crossover_part part = part_from(f->probe[0].x, f->probe[0].winner);
  out->part = ss_alloc(f->probes, sizeof *out->part);
  if (!out->part) return false;
  for (size_t i = 0; i < f->probes; i++) {
    const struct probe *p = &f->probe[i];
    if (p->winner != part.winner) {
      if (!add_crossing(f, f->probe[i - 1], *p)) return false;
      const struct ss_crossing *c = &out->crossing[out->crossings - 1];
      part.to = c->before;
      if (!whole && !c->jump) part.ratio_min = 1;
      out->part[out->parts++] = part;
      part = part_from(c->at, p->winner);
      if (!whole && !c->jump) part.ratio_min = 1;
    }
    weigh_part(&part, p);
    part.to = p->x;
  }
  out->part[out->parts++] = part;
  return true;
}

static void tell_ratios(const struct finding *f) {
  struct ss_crossover *out = f->out;
  out->ratio_min = INFINITY;
  out->ratio_max = 0;
  for (size_t i = 0; i < f->probes; i++) {
    const struct probe *p = &f->probe[i];
    const double ratio = p->cost[1] / p->cost[0];
    if (ratio < out->ratio_min) {
      out->ratio_min = ratio;
      out->ratio_min_at = p->x;
    }
    if (ratio > out->ratio_max) {
      out->ratio_max = ratio;
      out->ratio_max_at = p->x;
    }
  }
  out->probes = f->probes;
}

bool ss_crossover_find(const struct ss_crossover_search *search, struct ss_crossover *out, struct ss_error *error) {
  struct finding f = {.search = search, .out = out};
  *out = (struct ss_crossover){0};
  ss_gsl_errors_off(); /* a form without a value is told, not an abort */
  bool ok = probe_grid(&f);
  if (ok && f.probes > 0) {
    decide_ties(&f);
    ok = tell_parts(&f);
    tell_ratios(&f);
  }
  ss_gsl_errors_back();
  const size_t probes = f.probes;
  free(f.probe);
  if (ok && probes > 0) return true;
  ss_crossover_free(out);
  if (f.failure.status == SS_MACHINE && error) *error = f.failure;
  if (f.failure.status == SS_MACHINE) return false;
  if (!ok) return ss_fail_memory(error, "finding a crossover");
  if (error) *error = f.why;
  return false;
}

void ss_crossover_free(struct ss_crossover *crossover) {
  free(crossover->crossing);
  free(crossover->part);
  free(crossover->gap);
  *crossover = (struct ss_crossover){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
