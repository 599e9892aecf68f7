#include "study/ranges.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
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

static double factor(const struct lot *lot, uint64_t draw) {
  return lot->most > 0 ? ss_spread_factor(lot->half, lot->most, ss_unit(ss_mix(lot->number, draw))) : 1;
}

/* 2: the other window, which half of the draws have. */
static double other_window(const struct lot *lot, uint64_t draw) {
  return lot->most > 0 && ss_unit(ss_mix(lot->number, draw)) < 0.5 ? 2 : 1;
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

static struct ss_drawn drawn_of(const struct lots *lots, uint64_t draw) {
  struct ss_drawn out = {.model = factor(&lots->model, draw)};
  for (uint64_t i = 0; i < SS_WINDOW; i++)
    out.component[i] = factor(&lots->shared[i], draw) * factor(&lots->own[i], draw);
  out.component[SS_WINDOW] = other_window(&lots->shared[SS_WINDOW], draw);
  return out;
}

struct ss_drawn ss_draw_of(const struct ss_uncertainty *u, const char *label, uint64_t draw) {
  const struct lots lots = lots_of(u, number_of(label));
  return drawn_of(&lots, draw);
}

/* The times get the distribution of those that were played, and keep their order. */
static void map_draws(const struct ss_uncertain *u, double time[SS_RANGE_DRAWS]) {
  size_t order[SS_RANGE_DRAWS];
  gsl_sort_index(order, time, 1, SS_RANGE_DRAWS);
  for (size_t i = 0; i < SS_RANGE_DRAWS; i++)
    time[order[i]] = gsl_stats_quantile_from_sorted_data(u->played, 1, u->plays, (double)i / (SS_RANGE_DRAWS - 1));
}

static void add_draws(const struct ss_uncertain *u, double out[SS_RANGE_DRAWS]) {
  const uint64_t label = number_of(u->label);
  const struct lots lots = lots_of(u->uncertainty, label);
  const struct lot ranks = own_lot(&u->own, label, OWN_RANKS);
  double time[SS_RANGE_DRAWS];
  for (uint64_t d = 0; d < SS_RANGE_DRAWS; d++) {
    const struct ss_drawn drawn = drawn_of(&lots, d);
    const double least = u->least + u->passes * (drawn.component[SS_PASSES] - 1);
    time[d] = fmax(ss_components_time(u->components, u->time, drawn.component), least);
  }
  if (u->played) map_draws(u, time);
  for (uint64_t d = 0; d < SS_RANGE_DRAWS; d++) out[d] += time[d] * factor(&lots.model, d) * factor(&ranks, d);
}

/* What is drawn of it: its parts, or itself. */
static size_t parts_of(const struct ss_uncertain *u) {
  return u->part ? u->parts : 1;
}

static const struct ss_uncertain *part_of(const struct ss_uncertain *u, size_t i) {
  return u->part ? &u->part[i] : u;
}

void ss_draws_of(const struct ss_uncertain *u, double out[SS_RANGE_DRAWS]) {
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++) out[d] = 0;
  for (size_t i = 0; i < parts_of(u); i++) add_draws(part_of(u, i), out);
}

/* One thing under two names: an all-reduce and the dense baseline that it is, or an option that changes nothing. */
bool ss_uncertain_same(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  const double rounding = 1e-9 * fmax(a->time, b->time);
  bool alike = fabs(a->time - b->time) <= rounding;
  for (int i = 0; i < SS_COMPONENTS; i++)
    alike = alike && fabs(a->components->s[i] - b->components->s[i]) <= rounding;
  return alike;
}

struct ss_likely ss_likely_of(double draws[SS_RANGE_DRAWS]) {
  const size_t low = SS_RANGE_DRAWS / 20, high = SS_RANGE_DRAWS - 1 - low;
  return (struct ss_likely){gsl_stats_select(draws, 1, SS_RANGE_DRAWS, low),
                            gsl_stats_select(draws, 1, SS_RANGE_DRAWS, high)};
}

/* --- what would tell ------------------------------------------------------------------------------------------ */

/* Of a normal logarithm, nearly. */
static double deviation(const struct ss_spread *spread) {
  return ss_spread_certain(spread) ? 0 : log(spread->most) / 1.645;
}

enum { APART = 4 }; /* messages, kernels, the model, ranks */

/* What the part makes of the logarithm of the whole, to first order, by what is drawn for its label apart. */
static void add_apart(const struct ss_uncertain *whole, const struct ss_uncertain *part, double out[APART]) {
  const struct ss_uncertainty *u = part->uncertainty;
  const double share = whole->time > 0 ? 1 / whole->time : 0;
  for (int i = 0; i < SS_COMPONENTS; i++)
    out[i == SS_COMPUTING] += share * part->components->s[i] * deviation(&u->own[i]);
  out[2] += share * part->time * deviation(&u->model);
  out[3] += share * part->time * deviation(&part->own);
}

/* What the logarithms of two have in common of what is drawn apart. */
static double covariance_apart(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  double sum = 0;
  for (size_t x = 0; x < parts_of(a); x++)
    for (size_t y = 0; y < parts_of(b); y++) {
      const struct ss_uncertain *mine = part_of(a, x), *other = part_of(b, y);
      double of_mine[APART] = {0}, of_other[APART] = {0};
      if (number_of(mine->label) != number_of(other->label)) continue;
      add_apart(a, mine, of_mine);
      add_apart(b, other, of_other);
      for (int k = 0; k < APART; k++) sum += of_mine[k] * of_other[k];
    }
  return sum;
}

/* The variance that the parts of the two leave in the logarithm of their ratio, by what is drawn apart: of one label
 * it is one draw. */
static double variance_apart(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  return covariance_apart(a, a) - 2 * covariance_apart(a, b) + covariance_apart(b, b);
}

static double deviation_shared(const struct ss_uncertain *u, int component) {
  double sum = 0;
  for (size_t i = 0; i < parts_of(u); i++)
    sum += part_of(u, i)->components->s[component] *
           (component == SS_WINDOW ? 1 : deviation(&part_of(u, i)->uncertainty->of[component]));
  const double share = u->time > 0 ? sum / u->time : 0;
  return component == SS_WINDOW ? log1p(fmax(share, -1 + 1e-9)) / 2 : share; /* one of two */
}

/* To first order: errors of both add where they are apart, and cancel where they are shared. */
static const char *measure_of(const struct ss_uncertain *a, const struct ss_uncertain *b) {
  double largest = variance_apart(a, b);
  const char *words = NULL;
  for (int i = 0; i < SS_COMPONENTS; i++) {
    const double differs = deviation_shared(a, i) - deviation_shared(b, i);
    if (differs * differs <= largest) continue;
    largest = differs * differs;
    words = ss_component_words((enum ss_component)i);
  }
  return words || !part_of(a, 0)->uncertainty->doubtful ? words : "the network again, on a machine at rest,";
}

/* --- decisions ------------------------------------------------------------------------------------------------ */

static const struct ss_likely unknown = {NAN, NAN};

static bool is_drawn(const struct ss_uncertain *u) {
  const struct ss_uncertainty *of = part_of(u, 0)->uncertainty;
  bool drawn = !ss_spread_certain(&of->model);
  for (int i = 0; i < SS_COMPONENTS; i++) drawn = drawn || ss_component_uncertain(of, (enum ss_component)i);
  return drawn;
}

/* Is anything of it uncertain, or its ranks, of which perhaps nobody knows how far off they are? */
static bool is_ranged(const struct ss_uncertain *u) {
  bool ranged = is_drawn(u);
  for (size_t i = 0; i < parts_of(u); i++) ranged = ranged || part_of(u, i)->own.most != 1;
  return ranged;
}

/* Where it is off by its ranks alone. */
static struct ss_likely range_of_ranks(const struct ss_uncertain *u) {
  struct ss_likely out = {0, 0};
  for (size_t i = 0; i < parts_of(u); i++) {
    out.low += part_of(u, i)->time / part_of(u, i)->own.most;
    out.high += part_of(u, i)->time * part_of(u, i)->own.most;
  }
  return out;
}

static struct ss_likely ratio_of(const double *above, const double *below) {
  double ratio[SS_RANGE_DRAWS];
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++) ratio[d] = below[d] > 0 ? above[d] / below[d] : 1;
  return ss_likely_of(ratio);
}

/* Times of all candidates in all draws. */
struct drawing {
  struct ss_candidate *list;
  size_t n;
  double (*draws)[SS_RANGE_DRAWS]; /* [n], and of the baseline */
};

/* The first that is the same under another name, or itself. */
static size_t first_same(const struct ss_candidate *list, size_t i) {
  size_t k = 0;
  while (k < i && (list[k].left_out || !ss_uncertain_same(&list[k].of, &list[i].of))) k++;
  return k;
}

static void count_wins(const struct drawing *d) {
  double least[SS_RANGE_DRAWS];
  size_t winner[SS_RANGE_DRAWS] = {0};
  for (size_t k = 0; k < SS_RANGE_DRAWS; k++) least[k] = INFINITY;
  for (size_t i = 0; i < d->n; i++) {
    d->list[i].wins = 0;
    if (first_same(d->list, i) < i || d->list[i].left_out) continue;
    for (size_t k = 0; k < SS_RANGE_DRAWS; k++) {
      if (!(d->draws[i][k] < least[k])) continue;
      least[k] = d->draws[i][k];
      winner[k] = i;
    }
  }
  for (size_t k = 0; k < SS_RANGE_DRAWS; k++) d->list[winner[k]].wins += 1;
  for (size_t i = 0; i < d->n; i++) d->list[i].wins /= SS_RANGE_DRAWS;
  for (size_t i = 0; i < d->n; i++)
    if (!d->list[i].left_out) d->list[i].wins = d->list[first_same(d->list, i)].wins;
}

/* Who wins most of the draws that the best does not, the faster of equals; NULL: nobody is there but what is the same
 * as it. */
static const struct ss_candidate *rival_of(const struct drawing *d, const struct ss_candidate *best) {
  const struct ss_candidate *rival = NULL;
  for (const struct ss_candidate *c = d->list; c < d->list + d->n; c++) {
    if (ss_uncertain_same(&c->of, &best->of) || c->left_out) continue;
    if (rival && (c->wins < rival->wins || (c->wins == rival->wins && c->of.time >= rival->of.time))) continue;
    rival = c;
  }
  return rival;
}

/* Nobody knows how far off ranks are that were extrapolated from too few. */
static bool is_known(const struct ss_candidate *c) {
  return !isnan(c->range.low);
}

static struct ss_likely ratio_to(const struct drawing *d, const struct ss_candidate *other,
                                 const struct ss_candidate *own) {
  if (!is_known(other) || !is_known(own)) return unknown;
  if (ss_uncertain_same(&other->of, &own->of)) return (struct ss_likely){1, 1};
  return ratio_of(d->draws[other - d->list], d->draws[own - d->list]);
}

static void compare(const struct drawing *d, const struct ss_uncertain *base, struct ss_decision *out) {
  for (struct ss_candidate *c = d->list; c < d->list + d->n; c++) {
    const struct ss_candidate *other = c == out->best ? out->next : out->best;
    if (other) c->next_ratio = ratio_to(d, other, c);
    if (base && is_known(c))
      c->base_ratio = ss_uncertain_same(&c->of, base) ? (struct ss_likely){1, 1}
                                                      : ratio_of(d->draws[d->n], d->draws[c - d->list]);
    if (!is_known(out->best)) c->wins = NAN;
  }
  const struct ss_candidate *rival = out->best->wins < 0.95 ? rival_of(d, out->best) : NULL;
  if (!rival) return;
  const struct ss_likely ratio = ratio_to(d, rival, out->best);
  if (ratio.low > 1) return; /* it is told apart from each of the others, though not from all of them together */
  out->rival = rival;
  out->rival_ratio = ratio;
  out->measure = measure_of(&out->best->of, &rival->of);
}

static bool draw(struct drawing *d, const struct ss_uncertain *base, struct ss_decision *out,
                 struct ss_error *error) {
  SS_AUTO_FREE double(*draws)[SS_RANGE_DRAWS] = ss_alloc(d->n + 1, sizeof *draws);
  if (!draws) return ss_fail_memory(error, "drawing what is not certain");
  d->draws = draws;
  for (size_t i = 0; i < d->n; i++) ss_draws_of(&d->list[i].of, draws[i]);
  if (base) ss_draws_of(base, draws[d->n]);
  count_wins(d);
  compare(d, base, out);
  for (size_t i = 0; i < d->n; i++) /* brings the draws out of order */
    if (is_known(&d->list[i])) d->list[i].range = ss_likely_of(draws[i]);
  return true;
}

bool ss_decide(struct ss_candidate *list, size_t n, const struct ss_uncertain *base, struct ss_decision *out,
               struct ss_error *error) {
  *out = (struct ss_decision){.best = list, .rival_ratio = unknown, .list = list, .n = n};
  for (struct ss_candidate *c = list; c < list + n; c++) {
    if (!c->left_out && (out->best->left_out || c->of.time < out->best->of.time)) out->best = c;
    c->next_ratio = c->base_ratio = unknown;
    c->range = range_of_ranks(&c->of);
    if (!is_ranged(&c->of)) c->range = unknown;
    c->wins = NAN;
  }
  for (const struct ss_candidate *c = list; c < list + n; c++)
    if (c != out->best && !c->left_out && (!out->next || c->of.time < out->next->of.time)) out->next = c;
  struct drawing d = {list, n, NULL};
  return !is_drawn(&out->best->of) || draw(&d, base, out, error);
}

const char *ss_needs_words(bool lossy, bool model_parallel) {
  if (lossy) return model_parallel ? " (lossy; needs model parallelism)" : " (lossy)";
  return model_parallel ? " (needs model parallelism)" : "";
}

const char *ss_result_needs(const struct ss_result *r) {
  return ss_needs_words(!r->lossless, ss_scheme_model_parallel(r->setting.scheme));
}

/* What has to be known of who is named beside the best: "next" or "rival". */
static void add_needs(cJSON *o, const char *lossless, const char *model_parallel, const struct ss_candidate *who) {
  if (who) ss_json_add(o, SS_B(lossless, !who->lossy), SS_B(model_parallel, who->model_parallel));
}

static const char *name_of(const struct ss_candidate *c) {
  return !c ? NULL : c->name ? c->name : c->of.label;
}

cJSON *ss_candidate_json(const struct ss_candidate *c) {
  return ss_json_object(SS_T("label", name_of(c)), SS_B("lossless", !c->lossy),
                        SS_B("model_parallel", c->model_parallel));
}

/* Takes it exactly as long as the best, in every draw? (The best's time to its own is 1 then.) */
static bool is_tied(const struct ss_decision *d, const struct ss_candidate *c) {
  const struct ss_likely *r = &c->next_ratio;
  return c != d->best && !c->left_out && c->of.time <= d->best->of.time * (1 + 1e-9) &&
         (!isfinite(r->low) || (r->low == 1 && r->high == 1));
}

static void add_ties(cJSON *o, const struct ss_decision *d) {
  cJSON *ties = cJSON_CreateArray();
  for (const struct ss_candidate *c = d->list; c < d->list + d->n; c++)
    if (is_tied(d, c)) cJSON_AddItemToArray(ties, ss_candidate_json(c));
  if (cJSON_GetArraySize(ties) > 0) ss_json_add(o, SS_J("ties", ties));
  else cJSON_Delete(ties);
}

static double offered_time(const struct ss_candidate *c) {
  return c->offered_name ? c->as_offered.time : c->of.time;
}

static struct ss_likely offered_range(const struct ss_candidate *c) {
  double draws[SS_RANGE_DRAWS];
  if (!c->offered_name) return c->range;
  if (!is_drawn(&c->as_offered)) return unknown;
  ss_draws_of(&c->as_offered, draws);
  return ss_likely_of(draws);
}

/* Where nobody offers the best to PyTorch; of several together each has its own. */
static void add_offered(cJSON *o, const struct ss_decision *d) {
  const struct ss_candidate *best = NULL;
  for (const struct ss_candidate *c = d->list; c < d->list + d->n; c++)
    if (c->offer && !c->left_out && (!best || offered_time(c) < offered_time(best))) best = c;
  if (d->best->offer || d->best->of.parts > 0 || !best) return;
  const bool open = best->offer->over && !(best->library && best->library->kind);
  const struct ss_likely range = offered_range(best);
  ss_json_add(o, SS_T("offered_best", best->offered_name ? best->offered_name : name_of(best)),
              SS_N("offered_best_s", offered_time(best)), SS_T("offered_best_by", best->offer->by),
              SS_T("offered_best_how", best->offer->how));
  if (isfinite(range.low))
    ss_json_add(o, SS_N("offered_best_low_s", range.low), SS_N("offered_best_high_s", range.high));
  add_needs(o, "offered_best_lossless", "offered_best_model_parallel", best);
  if (open) ss_json_add(o, SS_T("offered_best_over", ss_library_names[best->offer->over]));
}

void ss_decision_add_times(cJSON *o, const struct ss_decision *d) {
  const double time = d->best->of.time, next = d->next ? d->next->of.time : NAN;
  ss_json_add(o, SS_N("time_s", time), SS_T("next", name_of(d->next)), SS_N("next_time_s", next),
              SS_N("margin", time > 0 ? next / time - 1 : NAN));
  add_needs(o, "next_lossless", "next_model_parallel", d->next);
  add_ties(o, d);
  add_offered(o, d);
}

/* Who wins less than the last one, or as much behind it in the list; NULL: nobody. */
static const struct ss_candidate *next_winner(const struct ss_decision *d, const struct ss_candidate *last) {
  const struct ss_candidate *next = NULL;
  for (const struct ss_candidate *c = d->list; c < d->list + d->n; c++) {
    if (c->left_out || !(c->wins > 0) || first_same(d->list, (size_t)(c - d->list)) < (size_t)(c - d->list)) continue;
    const bool after = !last || c->wins < last->wins || (c->wins == last->wins && c > last);
    if (after && (!next || c->wins > next->wins)) next = c;
  }
  return next;
}

static cJSON *others_json(const struct ss_decision *d) {
  cJSON *others = cJSON_CreateArray();
  for (const struct ss_candidate *c = next_winner(d, NULL); c; c = next_winner(d, c)) {
    if (ss_uncertain_same(&c->of, &d->best->of) || ss_uncertain_same(&c->of, &d->rival->of)) continue;
    cJSON *other = ss_candidate_json(c);
    ss_json_add(other, SS_N("wins", c->wins));
    cJSON_AddItemToArray(others, other);
  }
  return others;
}

void ss_decision_add_draws(cJSON *o, const struct ss_decision *d) {
  const struct ss_candidate *best = d->best;
  if (!is_ranged(&best->of)) return;
  ss_json_add(o, SS_N("time_low_s", best->range.low), SS_N("time_high_s", best->range.high));
  if (!is_drawn(&best->of)) return;
  ss_json_add(o, SS_N("wins", best->wins), SS_N("next_ratio_low", best->next_ratio.low),
              SS_N("next_ratio_high", best->next_ratio.high), SS_N("dense_ratio_low", best->base_ratio.low),
              SS_N("dense_ratio_high", best->base_ratio.high), SS_T("rival", name_of(d->rival)),
              SS_N("rival_time_s", d->rival ? d->rival->of.time : NAN),
              SS_N("rival_wins", d->rival ? d->rival->wins : NAN), SS_N("rival_ratio_low", d->rival_ratio.low),
              SS_N("rival_ratio_high", d->rival_ratio.high), SS_T("measure", d->measure));
  add_needs(o, "rival_lossless", "rival_model_parallel", d->rival);
  if (d->rival) ss_json_add(o, SS_J("others", others_json(d)));
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
  const double steps = log((double)r->ranks / from) / log((double)from / half),
               off = fmax(r->off, 1 + 2 * DBL_EPSILON);
  return (struct ss_spread){fmin(pow(off, steps / 2), 1e6), fmin(pow(off, steps), 1e6)};
}

struct ss_uncertain ss_result_uncertain(const struct ss_result *r) {
  const bool drawn = !ss_spread_certain(&r->uncertainty.model);
  const struct ss_spread further = ss_result_further(r), mean = ss_mean_spread(r->time, r->time_sd, r->iterations);
  return (struct ss_uncertain){.time = r->time,
                               .components = &r->components,
                               .uncertainty = &r->uncertainty,
                               .label = r->setting.label,
                               .own = drawn ? ss_spread_join(further, mean) : further};
}

struct ss_uncertain ss_result_dense_uncertain(const struct ss_result *r) {
  return (struct ss_uncertain){.time = r->dense_s,
                               .components = &r->dense_components,
                               .uncertainty = &r->dense_uncertainty,
                               .label = r->dense,
                               .own = {1, 1}};
}

bool ss_result_ranged(const struct ss_result *r) {
  return !ss_spread_certain(&r->uncertainty.model) || r->extrapolated_from > 0;
}

/* Who runs an all-reduce picks its algorithm. */
static bool is_picked(const struct ss_result *r) {
  return strcmp(r->setting.scheme->name, "allreduce") == 0 && !r->setting.hierarchy && r->dense_s > 0;
}

void ss_results_candidates(const struct ss_result *results, size_t n, struct ss_candidate *list) {
  const struct ss_result *best, *next;
  ss_results_rank(results, n, &best, &next);
  for (size_t i = 0; i < n; i++) {
    const struct ss_library *library = results[i].machine ? &results[i].machine->library : NULL;
    list[i] = (struct ss_candidate){.of = ss_result_uncertain(&results[i]),
                                    .left_out = ss_result_left_out(&results[i], best),
                                    .lossy = !results[i].lossless,
                                    .model_parallel = ss_scheme_model_parallel(results[i].setting.scheme),
                                    .offer = ss_setting_offer(&results[i].setting, library),
                                    .library = library,
                                    .offered_name = is_picked(&results[i]) ? "allreduce" : NULL,
                                    .as_offered = ss_result_dense_uncertain(&results[i])};
  }
}

bool ss_results_decide(struct ss_result *results, size_t n, struct ss_error *error) {
  SS_AUTO_FREE struct ss_candidate *list = ss_alloc(n, sizeof *list);
  if (!list) return ss_fail_memory(error, "comparing results");
  ss_results_candidates(results, n, list);
  const struct ss_uncertain dense = ss_result_dense_uncertain(results);
  struct ss_decision ignored;
  if (!ss_decide(list, n, dense.time > 0 ? &dense : NULL, &ignored, error)) return false;
  for (size_t i = 0; i < n; i++) {
    struct ss_result *r = &results[i];
    r->time_low = list[i].range.low;
    r->time_high = list[i].range.high;
    r->wins = list[i].wins;
    r->next_low = list[i].next_ratio.low;
    r->next_high = list[i].next_ratio.high;
    r->dense_low = list[i].base_ratio.low;
    r->dense_high = list[i].base_ratio.high;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
