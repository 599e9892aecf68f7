#include "calibration/problem.h"

/* A piece has at least SIZES sizes; at most CHOICES boundaries are tried at a time. */
enum { FOLDS = 5, MOVES = 8, SIZES = 4, CHOICES = 24 };
static const double CAP = 4, RESOLUTION = 1e-4;

/* --- designs -------------------------------------------------------------------------------------------------- */

enum ss_cost_kind ss_fit_charged_as(const struct ss_measured_cluster *m, enum ss_cost_kind kind) {
  if (m->pieces[kind] > 0) return kind;
  return kind <= SS_COST_INTRA ? SS_COST_INTER : SS_COST_KINDS; /* ways without costs follow from rings in Simple */
}

static size_t costs_of(const struct ss_measured_cluster *m) {
  size_t pieces = 0;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++) pieces += m->pieces[kind];
  return 2 * pieces;
}

size_t ss_fit_index(const struct ss_measured_cluster *m, enum ss_cost_kind kind, uint32_t piece) {
  size_t before = 0;
  for (enum ss_cost_kind k = 0; k < kind; k++) before += m->pieces[k];
  return 2 * (before + piece);
}

static size_t column_of(const struct ss_measured_cluster *m, const struct ss_cost_term *t) {
  const enum ss_cost_kind kind = ss_fit_charged_as(m, t->kind);
  const struct ss_cost_piece *piece = ss_cost_piece_of(m, kind, t->size);
  return ss_fit_index(m, kind, (uint32_t)(piece - m->piece[kind])) + (size_t)t->which;
}

bool ss_fit_latency_given(const struct ss_fit_problem *p, enum ss_cost_kind kind) {
  const bool between = kind == SS_COST_INTER || kind == SS_COST_EXCHANGE;
  return !isnan(p->latency) && (between || (kind == SS_COST_INTRA && !p->between));
}

/* What is given, or the observations cannot tell and is supposed, and taken off their times. */
static bool is_supposed(const struct ss_fit_problem *p, const struct ss_cost_term *t) {
  return (t->which == 0 && ss_fit_latency_given(p, t->kind)) || (t->kind == SS_COST_INTRA && !p->inside) ||
         (t->kind == SS_COST_MEMORY && t->which == 0 && p->suppose_sum);
}

/* A message that is a byte longer than a piece's last takes no less: of each boundary, the cost that begins there
 * less the one that ends. Returns how many. */
static size_t order_pieces(struct ss_fit_problem *p, const struct ss_measured_cluster *m) {
  const size_t costs = costs_of(m);
  size_t orders = 0;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_MEMORY; kind++)
    for (uint32_t i = 0; i + 1 < m->pieces[kind]; i++) {
      const double bytes = (double)m->piece[kind][i].up_to;
      double *row = &p->order[orders++ * costs], *ends = &row[ss_fit_index(m, kind, i)];
      memset(row, 0, costs * sizeof *row);
      ends[0] = -1;
      ends[1] = -bytes;
      ends[2] = 1;
      ends[3] = bytes;
    }
  return orders;
}

static void suppose(struct ss_fit_problem *p, struct ss_times *t, const struct ss_measured_cluster *m,
                    const struct ss_way_prior *prior) {
  const struct ss_fitted_cost *like = m->piece[SS_COST_INTER][0].cost;
  const double value[] = {prior->latency, prior->byte_time},
               spread[] = {prior->latency_spread, prior->byte_time_spread};
  for (size_t which = 0; which < 2; which++) {
    if (m->pieces[prior->kind] == 0 || !(spread[which] > 0) || t->priors == SS_FIT_PRIORS) continue;
    const bool own = prior->kind == SS_COST_INTER || prior->absolute;
    const size_t of = ss_fit_index(m, prior->kind, 0) + which;
    p->prior[t->priors++] =
        (struct ss_cost_prior){of, own ? SIZE_MAX : ss_fit_index(m, SS_COST_INTER, 0) + which, value[which],
                               spread[which], own ? value[which] : value[which] * like[which].value};
  }
}

/* What a piece costs its neighbour does, give or take a factor of two: sizes that few times tell, or none. */
static void tie_pieces(struct ss_fit_problem *p, struct ss_times *t, const struct ss_measured_cluster *m) {
  for (enum ss_cost_kind kind = 0; kind < SS_COST_MEMORY; kind++)
    for (uint32_t i = 0; i + 1 < m->pieces[kind]; i++)
      for (size_t which = 0; which < 2; which++) {
        const double like = m->piece[kind][i].cost[which].value;
        const size_t of = ss_fit_index(m, kind, i) + which;
        if (like > 0) p->prior[t->priors++] = (struct ss_cost_prior){of + 2, of, 1, M_LN2, like};
      }
}

/* Calls that repeat are left out together: what is not seen is another call. */
static size_t fold_of(const struct ss_fit_problem *p, size_t i) {
  return p->first[i] % FOLDS;
}

/* The times of every fold but `without`, or of that one alone; FOLDS: of all. Returns how many. */
static struct ss_times design(struct ss_fit_problem *p, const struct ss_measured_cluster *m, size_t without,
                              bool alone) {
  struct ss_times t = {
      .costs = costs_of(m), .orders = order_pieces(p, m), .per = p->per, .seconds = p->seconds, .order = p->order};
  for (size_t i = 0; i < p->count; i++) {
    if (without < FOLDS && (fold_of(p, i) == without) != alone) continue;
    double *row = &p->per[t.count * t.costs];
    memset(row, 0, t.costs * sizeof *row);
    const struct ss_known_terms *known = ss_fit_terms(p, i);
    double supposed_seconds = 0;
    for (uint32_t k = 0; k < known->count; k++) {
      const struct ss_cost_term *term = &known->term[k];
      if (ss_fit_charged_as(m, term->kind) == SS_COST_KINDS) continue;
      if (!is_supposed(p, term)) row[column_of(m, term)] += term->weight;
      else supposed_seconds += term->weight * ss_cost_piece_of(m, term->kind, term->size)->cost[term->which].value;
    }
    const double seconds = p->list[p->at[i]].seconds;
    p->taken[t.count] = fmin(supposed_seconds, seconds / 2);
    p->seconds[t.count] = seconds - p->taken[t.count];
    t.count++;
  }
  for (size_t i = 0; m->library.kind == SS_NCCL && i < p->way_priors; i++) suppose(p, &t, m, &p->way_prior[i]);
  if (p->mpi) tie_pieces(p, &t, m);
  t.prior = p->prior;
  return t;
}

struct ss_times ss_fit_design(struct ss_fit_problem *p, const struct ss_measured_cluster *m) {
  return design(p, m, FOLDS, false);
}

static double distance(const struct ss_fit_problem *p, const struct ss_times *t, size_t i,
                       const struct ss_robust_cost *cost) {
  const double predicted = p->taken[i] + ss_times_predict(t, i, cost);
  return fmin(predicted > 0 ? fabs(log((p->taken[i] + t->seconds[i]) / predicted)) : INFINITY, p->cap);
}

static bool fits(struct ss_fit_problem *p, const struct ss_times *times, struct ss_robust_cost *cost) {
  struct ss_error error;
  const bool ok = ss_robust_fit(times, cost, NULL, &error);
  if (!ok && error.status == SS_MACHINE) p->starved = true;
  return ok;
}

double ss_fit_score(struct ss_fit_problem *p, const struct ss_measured_cluster *m) {
  struct ss_robust_cost cost[SS_FIT_COSTS];
  const struct ss_times t = design(p, m, FOLDS, false);
  double sum = 0;
  if (!fits(p, &t, cost)) return INFINITY;
  for (size_t i = 0; i < t.count; i++) sum += distance(p, &t, i, cost);
  return fmax(sum / (double)t.count, RESOLUTION);
}

bool ss_fit_cross_validate(struct ss_fit_problem *p, const struct ss_measured_cluster *m, double *score) {
  for (size_t fold = 0; fold < FOLDS; fold++) {
    struct ss_robust_cost cost[SS_FIT_COSTS];
    const struct ss_times known = design(p, m, fold, false);
    if (!fits(p, &known, cost)) return false;
    const struct ss_times left = design(p, m, fold, true);
    for (size_t i = 0, k = 0; i < p->count; i++)
      if (fold_of(p, i) == fold) score[i] = distance(p, &left, k++, cost);
  }
  return true;
}

static bool by_distance(struct ss_fit_problem *p, const struct ss_measured_cluster *m) {
  struct ss_robust_cost cost[SS_FIT_COSTS];
  p->cap = INFINITY;
  const struct ss_times t = design(p, m, FOLDS, false);
  if (!fits(p, &t, cost)) return false;
  double *sorted = p->score[0];
  for (size_t i = 0; i < t.count; i++) sorted[i] = distance(p, &t, i, cost);
  struct ss_residuals all;
  for (size_t i = 0; i < t.count; i++) p->score[1][i] = 1;
  if (!ss_residuals_of(sorted, p->score[1], t.count, &all)) return !(p->starved = true);
  p->cap = fmax(CAP * all.typical, RESOLUTION);
  return true;
}

/* --- pieces ------------------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

bool ss_fit_is_of(const struct ss_measured_cluster *m, const struct ss_cost_term *t, enum ss_cost_kind kind) {
  return ss_fit_charged_as(m, t->kind) == kind && t->size < UINT64_MAX;
}

/* The sizes that a kind has, ascending, each once. */
static size_t sizes_of(const struct ss_fit_problem *p, const struct ss_measured_cluster *m, enum ss_cost_kind kind) {
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_known_terms *known = ss_fit_terms(p, i);
    for (uint32_t k = 0; k < known->count; k++)
      if (ss_fit_is_of(m, &known->term[k], kind)) p->sizes[count++] = known->term[k].size;
  }
  qsort(p->sizes, count, sizeof *p->sizes, by_size);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || p->sizes[i] > p->sizes[i - 1]) p->sizes[kept++] = p->sizes[i];
  return kept;
}

/* A piece of `kind` ends after this size, if both that it makes are large enough. */
static bool split(struct ss_measured_cluster *m, enum ss_cost_kind kind, const uint64_t *sizes, size_t count,
                  size_t least, uint64_t after) {
  uint32_t at = 0;
  while (m->piece[kind][at].up_to < after) at++;
  const uint64_t low = at > 0 ? m->piece[kind][at - 1].up_to : 0, high = m->piece[kind][at].up_to;
  size_t below = 0, above = 0;
  for (size_t i = 0; i < count; i++) {
    below += (at == 0 || sizes[i] > low) && sizes[i] <= after;
    above += sizes[i] > after && sizes[i] <= high;
  }
  if (below < least || above < least) return false;
  memmove(&m->piece[kind][at + 1], &m->piece[kind][at], (m->pieces[kind] - at) * sizeof m->piece[kind][0]);
  m->piece[kind][at].up_to = after;
  m->pieces[kind]++;
  return true;
}

static void try_piece(struct ss_fit_problem *p, const struct ss_measured_cluster *tried,
                      struct ss_measured_cluster *best, double *score) {
  const double mine = ss_fit_score(p, tried);
  if (mine >= *score) return;
  *score = mine;
  *best = *tried;
}

/* The one more boundary that helps most; false: there is none to try. */
static bool add_best(struct ss_fit_problem *p, struct ss_measured_cluster *m) {
  static const uint32_t usual[SS_COST_KINDS] = {SS_COST_PIECES, SS_COST_PIECES, SS_COST_PIECES, 2};
  uint32_t most[SS_COST_KINDS];
  memcpy(most, usual, sizeof most);
  if (m->library.kind == SS_NCCL) most[SS_COST_INTER] = 1;
  struct ss_measured_cluster best = {0}, tried;
  double score = INFINITY;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++) {
    if (kind == SS_COST_INTRA && !p->inside) continue;
    if (m->pieces[kind] == 0 || m->pieces[kind] >= most[kind]) continue;
    const size_t sizes = sizes_of(p, m, kind), step = 1 + sizes / CHOICES;
    for (size_t i = 0; i + 1 < sizes; i += step) {
      tried = *m;
      if (split(&tried, kind, p->sizes, sizes, SIZES, p->sizes[i])) try_piece(p, &tried, &best, &score);
    }
  }
  if (score == INFINITY) return false;
  *m = best;
  return true;
}

bool ss_fit_better(const double *a, const double *b, size_t count, double errors) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) sum += b[i] - a[i];
  const double mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) squares += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
  return mean > errors * sqrt(squares / (double)count / (double)(count > 1 ? count - 1 : 1));
}

/* A piece for each factor of 16 in size from 4 KiB to 1 MiB, wherever there are sizes. */
static struct ss_measured_cluster in_bands(struct ss_fit_problem *p, const struct ss_measured_cluster *m) {
  struct ss_measured_cluster out = *m;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_MEMORY; kind++) {
    if (m->pieces[kind] == 0 || (kind == SS_COST_INTRA && !p->inside)) continue;
    const size_t sizes = sizes_of(p, m, kind);
    out.pieces[kind] = 1;
    out.piece[kind][0] = m->piece[kind][m->pieces[kind] - 1];
    for (uint64_t band = 1 << 12; band <= 1 << 20; band *= 16) (void)split(&out, kind, p->sizes, sizes, 1, band);
  }
  return out;
}

static bool has_boundaries(const struct ss_measured_cluster *m) {
  return m->pieces[SS_COST_INTER] > 1 || m->pieces[SS_COST_EXCHANGE] > 1 || m->pieces[SS_COST_INTRA] > 1;
}

static bool of_several_algorithms(const struct ss_fit_problem *p) {
  for (size_t i = 1; i < p->count; i++)
    if (p->list[p->at[i]].algorithm != p->list[p->at[0]].algorithm) return true;
  return false;
}

/* Of several algorithms bands take the place of boundaries that were sought, unless these tell what was not seen
 * better beyond what the best of many do by chance: they follow what one algorithm takes longer than it is known to.
 * Of one line for all sizes bands take the place where they tell it better. */
static bool bands_tell(const struct ss_fit_problem *p, const struct ss_measured_cluster *found,
                       const double *of_bands, const double *of_found) {
  if (has_boundaries(found))
    return of_several_algorithms(p) && !ss_fit_better(of_found, of_bands, p->count, SS_FIT_MANY);
  return ss_fit_better(of_bands, of_found, p->count, SS_FIT_ONE);
}

void ss_fit_find_pieces(struct ss_fit_problem *p, struct ss_measured_cluster *m) {
  const struct ss_measured_cluster bands = in_bands(p, m);
  struct ss_measured_cluster grown = *m;
  double *held = p->score[0], *mine = p->score[1];
  if (!by_distance(p, m) || !ss_fit_cross_validate(p, m, held)) return;
  for (int move = 0; move < MOVES && add_best(p, &grown); move++) {
    if (!ss_fit_cross_validate(p, &grown, mine) || !ss_fit_better(mine, held, p->count, SS_FIT_MANY)) continue;
    *m = grown;
    memcpy(held, mine, p->count * sizeof *held);
  }
  if (p->mpi && ss_fit_cross_validate(p, &bands, mine) && bands_tell(p, m, mine, held)) *m = bands;
}
/* SPDX-License-Identifier: Apache-2.0 */
