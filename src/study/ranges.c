#include "study/ranges.h"

#include "base/memory.h"
#include "base/random.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* --- draws ---------------------------------------------------------------------------------------------------- */

enum { SEED = 1 };

/* What factors are drawn from: the logarithms of a spread, and what numbers the draws. */
struct lot {
  double half, most; /* both 0: nothing is drawn */
  uint64_t number;
};

static struct lot lot_of(const struct ss_spread *spread, uint64_t of) {
  if (ss_spread_certain(spread)) return (struct lot){0, 0, 0};
  return (struct lot){log(spread->half), log(spread->most), ss_mix(SEED, of)};
}

/* Half of all factors lie within the spread's one factor, 90% within the other, up and down alike; straight lines
 * between the logarithms, and on to the end. */
static double factor(const struct lot *lot, uint64_t draw) {
  if (!(lot->most > 0)) return 1;
  const double u = 2 * ss_unit(ss_mix(lot->number, draw)) - 1, share = fabs(u);
  const double size =
      share < 0.5 ? lot->half * share / 0.5 : lot->half + (lot->most - lot->half) * (share - 0.5) / 0.4;
  return exp(u < 0 ? -size : size);
}

static uint64_t number_of(const char *label) {
  return label ? XXH64(label, strlen(label), 0) : 0;
}

/* What is drawn for each label apart, which is number_of its text: its own error of messages, of kernels, of the
 * model, and of ranks and iterations. */
enum { OWN_MESSAGES = SS_COMPUTING + 1, OWN_KERNELS, OWN_MODEL, OWN_RANKS };
static struct lot own_lot(const struct ss_spread *spread, uint64_t label, uint64_t what) {
  return lot_of(spread, ss_mix(label, what));
}

/* All that a label's draws are made of. */
struct lots {
  struct lot shared[SS_COMPONENTS], own[SS_COMPONENTS], model;
};

static struct lots lots_of(const struct ss_uncertainty *u, uint64_t label) {
  struct lots out = {.model = own_lot(&u->model, label, OWN_MODEL)};
  for (uint64_t i = 0; i < SS_COMPONENTS; i++) {
    out.shared[i] = lot_of(&u->of[i], i);
    out.own[i] = own_lot(&u->own[i], label, i == SS_COMPUTING ? OWN_KERNELS : OWN_MESSAGES);
  }
  return out;
}

struct ss_drawn ss_draw_of(const struct ss_uncertainty *u, const char *label, uint64_t draw) {
  const struct lots lots = lots_of(u, number_of(label));
  struct ss_drawn out = {.model = factor(&lots.model, draw)};
  for (uint64_t i = 0; i < SS_COMPONENTS; i++)
    out.component[i] = factor(&lots.shared[i], draw) * factor(&lots.own[i], draw);
  return out;
}

void ss_draws_of(const struct ss_uncertain *u, double out[SS_RANGE_DRAWS]) {
  const uint64_t label = number_of(u->label);
  const struct lots lots = lots_of(u->uncertainty, label);
  const struct lot ranks = own_lot(&u->own, label, OWN_RANKS);
  for (uint64_t d = 0; d < SS_RANGE_DRAWS; d++) {
    double time = u->time;
    for (uint64_t i = 0; i < SS_COMPONENTS; i++)
      if (u->components->s[i] > 0)
        time += u->components->s[i] * (factor(&lots.shared[i], d) * factor(&lots.own[i], d) - 1);
    out[d] = fmax(time, 0) * factor(&lots.model, d) * factor(&ranks, d);
  }
}

/* One thing under two names: an all-reduce and the dense baseline that it is, or an option that changes nothing. */
bool ss_uncertain_same(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  const double rounding = 1e-9 * fmax(a->time, b->time);
  bool alike = fabs(a->time - b->time) <= rounding;
  for (int i = 0; i < SS_COMPONENTS; i++)
    alike = alike && fabs(a->components->s[i] - b->components->s[i]) <= rounding;
  return alike;
}

/* Is it, under another name, one of those before it? */
static bool came_before(const struct ss_uncertain *list, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (ss_uncertain_same(&list[k], &list[i])) return true;
  return false;
}

void ss_draws_count_wins(const struct ss_uncertain *list, size_t n, size_t *wins) {
  double least[SS_RANGE_DRAWS], draws[SS_RANGE_DRAWS];
  size_t winner[SS_RANGE_DRAWS] = {0};
  for (size_t i = 0; i < n; i++) {
    if (came_before(list, i)) continue;
    ss_draws_of(&list[i], draws);
    for (size_t d = 0; d < SS_RANGE_DRAWS; d++) {
      if (i > 0 && !(draws[d] < least[d])) continue;
      least[d] = draws[d];
      winner[d] = i;
    }
  }
  for (size_t d = 0; n > 0 && d < SS_RANGE_DRAWS; d++) wins[winner[d]]++;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct ss_likely ss_likely_of(double draws[SS_RANGE_DRAWS]) {
  qsort(draws, SS_RANGE_DRAWS, sizeof *draws, by_size);
  return (struct ss_likely){draws[SS_RANGE_DRAWS / 20], draws[SS_RANGE_DRAWS - 1 - SS_RANGE_DRAWS / 20]};
}

struct ss_likely ss_range_of(const struct ss_uncertain *u) {
  double draws[SS_RANGE_DRAWS];
  ss_draws_of(u, draws);
  return ss_likely_of(draws);
}

/* --- comparisons -------------------------------------------------------------------------------------------- */

/* Of a normal logarithm, nearly. */
static double variance(const struct ss_spread *spread) {
  const double deviation = ss_spread_certain(spread) ? 0 : log(spread->most) / 1.645;
  return deviation * deviation;
}

static double share_of(const struct ss_uncertain *u, int component) {
  return u->time > 0 ? u->components->s[component] / u->time : 0;
}

/* Of what is drawn for it apart. */
static double apart_of(const struct ss_uncertain *u) {
  double sum = variance(&u->uncertainty->model) + variance(&u->own), messages = 0;
  for (int i = 0; i < SS_COMPUTING; i++) messages += share_of(u, i) * sqrt(variance(&u->uncertainty->own[i]));
  const double kernels = share_of(u, SS_COMPUTING);
  return sum + messages * messages + kernels * kernels * variance(&u->uncertainty->own[SS_COMPUTING]);
}

/* To first order: errors of both add where they are apart, and cancel where they are shared. */
static enum ss_component most_of(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  double largest = apart_of(a) + apart_of(b);
  enum ss_component most = SS_COMPONENTS;
  for (int i = 0; i < SS_COMPONENTS; i++) {
    const double differs = share_of(a, i) - share_of(b, i);
    const double part = differs * differs * fmax(variance(&a->uncertainty->of[i]), variance(&b->uncertainty->of[i]));
    if (part <= largest) continue;
    largest = part;
    most = (enum ss_component)i;
  }
  return most;
}

struct ss_comparison ss_compare(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  struct ss_comparison out = {.wins = 1, .ratio = {1, 1}, .most = SS_COMPONENTS};
  if (ss_uncertain_same(a, b)) return out;
  double mine[SS_RANGE_DRAWS], other[SS_RANGE_DRAWS];
  ss_draws_of(a, mine);
  ss_draws_of(b, other);
  size_t wins = 0;
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++) {
    wins += mine[d] <= other[d];
    other[d] = mine[d] > 0 ? other[d] / mine[d] : 1;
  }
  out.wins = (double)wins / SS_RANGE_DRAWS;
  out.ratio = ss_likely_of(other);
  out.most = most_of(a, b);
  return out;
}

const char *ss_comparison_measure(const struct ss_comparison *c) {
  return c->most == SS_COMPONENTS ? NULL : ss_component_words(c->most);
}

/* --- of a mean over iterations ---------------------------------------------------------------------------------- */

double ss_mean_square_add(double squares, double sum, uint64_t n, double next) {
  if (n == 0) return 0;
  const double mean = sum / (double)n;
  return squares + (next - mean) * (next - mean) * (double)n / (double)(n + 1);
}

struct ss_spread ss_mean_spread(double mean, double sd, uint64_t count) {
  if (!(sd > 0) || !(mean > 0) || count < 2) return (struct ss_spread){1, 1};
  const double error = sd / mean / sqrt((double)count), freedom = (double)(count - 1);
  return (struct ss_spread){fmin(exp(error * gsl_cdf_tdist_Pinv(0.75, freedom)), 1e6),
                            fmin(exp(error * gsl_cdf_tdist_Pinv(0.95, freedom)), 1e6)};
}

/* --- of results ----------------------------------------------------------------------------------------------- */

/* What half of the captured ranks, which predict all of them, are off, is off again for each such step from there. */
struct ss_spread ss_result_further(const struct ss_result *r) {
  const uint32_t from = r->extrapolated_from, half = from / 2;
  if (from == 0) return (struct ss_spread){1, 1};
  if (isnan(r->off) || half == 0) return r->further;
  const double steps = log((double)r->ranks / from) / log((double)from / half);
  return (struct ss_spread){fmin(pow(r->off, steps / 2), 1e6), fmin(pow(r->off, steps), 1e6)};
}

struct ss_uncertain ss_result_uncertain(const struct ss_result *r) {
  const bool drawn = !ss_spread_certain(&r->uncertainty.model);
  const struct ss_spread further = ss_result_further(r), mean = ss_mean_spread(r->time, r->time_sd, r->iterations);
  return (struct ss_uncertain){r->time, &r->components, &r->uncertainty, r->setting.label,
                               drawn ? ss_spread_join(further, mean) : further};
}

struct ss_uncertain ss_result_dense_uncertain(const struct ss_result *r) {
  return (struct ss_uncertain){r->dense_s, &r->dense_components, &r->dense_uncertainty, r->dense, {1, 1}};
}

bool ss_result_ranged(const struct ss_result *r) {
  return !ss_spread_certain(&r->uncertainty.model) || r->extrapolated_from > 0;
}

/* Nobody knows how far off ranks are that were extrapolated from too few. */
static bool known(const struct ss_result *r) {
  return ss_result_ranged(r) && !isnan(ss_result_further(r).most);
}

void ss_result_add_range(struct ss_result *r) {
  const struct ss_uncertain u = ss_result_uncertain(r);
  r->time_low = r->time_high = NAN;
  if (!known(r)) return;
  if (ss_spread_certain(&r->uncertainty.model)) { /* nothing but what is known of extrapolated ranks */
    r->time_low = r->time / u.own.most;
    r->time_high = r->time * u.own.most;
    return;
  }
  const struct ss_likely range = ss_range_of(&u);
  r->time_low = range.low;
  r->time_high = range.high;
}

static bool are_same(const struct ss_result *a, const struct ss_result *b) {
  const struct ss_uncertain x = ss_result_uncertain(a), y = ss_result_uncertain(b);
  return ss_uncertain_same(&x, &y);
}

/* s of what does not fit: more than any time, and no infinity, of which a share is as much. */
#define NEVER 1e200

/* Who wins most of the draws that `best` does not; NULL: nobody is there but what is the same as it. */
static const struct ss_result *rival_of(const struct ss_result *results, size_t n, const struct ss_result *best,
                                        const size_t *wins) {
  size_t most = 0;
  const struct ss_result *rival = NULL;
  for (size_t i = 0; i < n; i++) {
    if (are_same(&results[i], best) || ss_result_left_out(&results[i], best)) continue;
    if (rival && (wins[i] < most || (wins[i] == most && results[i].time >= rival->time))) continue;
    rival = &results[i];
    most = wins[i];
  }
  return rival;
}

struct ss_contest ss_results_contest(const struct ss_result *results, size_t n, const struct ss_result *best) {
  struct ss_contest out = {.wins = NAN};
  SS_AUTO_FREE size_t *wins = ss_alloc_zero(n, sizeof *wins);
  SS_AUTO_FREE struct ss_uncertain *list = ss_alloc(n, sizeof *list);
  if (!wins || !list || ss_spread_certain(&best->uncertainty.model) || isnan(best->time_low)) return out;
  for (size_t i = 0; i < n; i++) {
    list[i] = ss_result_uncertain(&results[i]);
    if (ss_result_left_out(&results[i], best)) list[i].time = NEVER;
  }
  ss_draws_count_wins(list, n, wins);
  out.wins = (double)wins[best - results] / SS_RANGE_DRAWS;
  out.rival = rival_of(results, n, best, wins);
  out.decided = out.wins >= 0.95 || !out.rival;
  if (!out.rival) return out;
  out.rival_wins = (double)wins[out.rival - results] / SS_RANGE_DRAWS;
  const struct ss_uncertain a = ss_result_uncertain(best), b = ss_result_uncertain(out.rival);
  out.against = ss_compare(&a, &b);
  return out;
}
