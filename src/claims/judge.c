/* Verdicts. */
#include "claims/estimates.h"
#include "claims/fits.h"

#include "base/watcher.h"
#include "query/pick.h"
#include "query/verdict.h"

/* One claim while it is judged. */
struct judging {
  struct ss_query *query;
  struct ss_claim_fits *fits;
  const struct ss_claims_file *file;
  struct ss_node node;
  struct ss_estimates estimates;
  bool trying; /* one of the estimates is at half or double */
};

struct outcome {
  struct ss_picked values;
  struct ss_claim_range ours;
  bool ordered; /* the claimed ranking or direction holds, or none is claimed */
};

/* --- inputs ------------------------------------------------------------------------------------------------- */

/* Calls ss_query_ask, or ss_query_expect when no answer is wanted. */
static bool ask(const struct judging *j, struct ss_node from, const cJSON **answer, struct ss_error *error) {
  struct ss_estimates_changes changes;
  struct ss_query_request request = {.change = changes.change};
  if (!ss_request_named(j->file->inputs, from, &request.node, error)) return false;
  ss_estimates_change(&j->estimates, request.node, &changes);
  request.changes = changes.count;
  return answer ? ss_query_ask(j->query, &request, answer, error) : ss_query_expect(j->query, &request, error);
}

/* --- one evaluation ------------------------------------------------------------------------------------------- */

static bool value_of(const struct judging *j, struct ss_node node, const struct ss_picked *values, double *out,
                     struct ss_error *error) {
  const double *changed = ss_estimates_value(&j->estimates, ss_node_key(node));
  const cJSON *answer;
  struct ss_node from;
  if (changed) {
    *out = *changed;
    return true;
  }
  if (!ss_node_is_object(node)) return ss_picked_evaluate(node, values, out, error);
  return ss_node_need(node, "from", &from, error) && ask(j, from, &answer, error) &&
         ss_pick(node, answer, values, out, error);
}

static bool our_range(struct ss_node ours, const struct ss_picked *values, struct ss_claim_range *out,
                      struct ss_error *error) {
  if (!ss_node_is_array(ours)) {
    if (!ss_picked_evaluate(ours, values, &out->low, error)) return false;
    out->high = out->low;
    return true;
  }
  if (ss_node_size(ours) != 2) return ss_node_fail(ours, error, "expected an expression or [low, high]");
  return ss_picked_evaluate(ss_node_first(ours), values, &out->low, error) &&
         ss_picked_evaluate(ss_node_next(ss_node_first(ours)), values, &out->high, error);
}

static bool compute(const struct judging *j, struct outcome *out, struct ss_error *error) {
  struct ss_node order = ss_node_get(j->node, "order"), let = ss_node_get(j->node, "let");
  double value, holds = 1;
  *out = (struct outcome){.ordered = true};
  if (ss_node_present(let) && !ss_node_is_object(let))
    return ss_node_fail(let, error, "expected an object of values by name");
  bool ok = true;
  for (struct ss_node n = ss_node_first(let); ok && ss_node_present(n); n = ss_node_next(n)) {
    if (j->trying && !ss_estimates_touch(j->node, n)) continue;
    ok = value_of(j, n, &out->values, &value, error) && ss_picked_add(&out->values, ss_node_key(n), value, error);
  }
  ok = ok && our_range(ss_node_get(j->node, "ours"), &out->values, &out->ours, error) &&
       ss_picked_add(&out->values, "ours", out->ours.low, error) &&
       ss_picked_add(&out->values, "ours_high", out->ours.high, error) &&
       (!ss_node_present(order) || ss_picked_evaluate(order, &out->values, &holds, error));
  out->ordered = holds != 0;
  if (!ok) ss_picked_free(&out->values);
  return ok;
}

/* --- tolerances ------------------------------------------------------------------------------------------------ */

/* The tolerance's share of the bound, or the number itself. */
static double slack(const struct ss_claim *claim, double bound) {
  double value = 0;
  if (!claim->tolerance || !ss_units_parse(claim->tolerance, SS_RATIO, &value, NULL)) return 0;
  return strchr(claim->tolerance, '%') ? value * fabs(bound) : value;
}

/* The numbers that are as good as one end of what is printed: on both sides of it, or also all those beyond. */
static struct ss_bounds around(const struct ss_claim *claim, double end, bool below, bool above) {
  const double rounding = 1e-12, off = isinf(end) ? 0 : slack(claim, end) + rounding * fabs(end);
  return (struct ss_bounds){.low = below ? -INFINITY : end - off, .high = above ? INFINITY : end + off};
}

/* Is it what is printed, within the tolerance? So is everything where no number is printed. */
static bool fits(const struct ss_claim *claim, struct ss_claim_range ours) {
  if (isnan(claim->printed.low)) return true;
  const struct ss_bounds low = around(claim, claim->printed.low, false, !claim->ends),
                         high = around(claim, claim->printed.high, !claim->ends, false);
  return ss_bounds_hold(&low, ours.low) && ss_bounds_hold(&high, ours.high);
}

/* How many times one number is the other; NaN where that says nothing. */
static double times(double a, double b) {
  if (!isfinite(a) || !isfinite(b) || a * b <= 0) return NAN;
  return fabs(a) > fabs(b) ? a / b : b / a;
}

/* By what factor the farther end misses. */
static double missed_by(const struct ss_claim *claim) {
  const struct ss_claim_range *p = &claim->printed, *o = &claim->ours;
  if (fits(claim, *o)) return NAN;
  const double low = claim->ends || o->low < p->low ? times(o->low, p->low) : NAN;
  const double high = claim->ends || o->high > p->high ? times(o->high, p->high) : NAN;
  return fmax(low, high); /* the other of the two when one is NaN */
}

/* By what factor a bound on one side is passed. */
static double passed_by(const struct ss_claim *claim) {
  const struct ss_claim_range *p = &claim->printed, *o = &claim->ours;
  if (claim->ends || isinf(p->low) == isinf(p->high) || !fits(claim, *o)) return NAN;
  const double ratio = isinf(p->high) ? o->low / p->low : p->high / o->high;
  return isfinite(ratio) && ratio > 0 ? fmax(ratio, 1) : NAN;
}

/* --- estimates ------------------------------------------------------------------------------------------------ */

/* The value of estimate i / 2: halved for even i, doubled for odd ones. */
static double variation(const struct ss_estimates *e, size_t i) {
  return i % 2 ? e->estimate[i / 2].of.doubled : e->estimate[i / 2].of.halved;
}

static struct ss_claim_range spanned(struct ss_claim_range a, struct ss_claim_range b) {
  return (struct ss_claim_range){fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* What came of the estimates at half and at double, one by one, the others as they are. Where there is no number (at
 * twice its rate a training may learn nothing) ours is NaN, and leaves the tolerance. */
struct trials {
  bool turns;  /* the ranking turns with one of them */
  bool leaves; /* or ours leaves the tolerance */
  struct ss_claim_range over;
};

static bool try_estimates(struct judging *j, const struct ss_claim *claim, const struct outcome *base,
                          struct trials *out, struct ss_error *error) {
  *out = (struct trials){.over = base->ours};
  for (size_t i = 0; i < 2 * j->estimates.count; i++) {
    struct ss_tried_estimate *estimate = &j->estimates.estimate[i / 2];
    struct outcome other;
    estimate->value = variation(&j->estimates, i);
    j->trying = true;
    const bool ok = compute(j, &other, error);
    j->trying = false;
    estimate->value = estimate->of.value;
    if (!ok && !(estimate->open && error->status == SS_BAD_INPUT)) return false;
    if (!ok) other = (struct outcome){.ours = {NAN, NAN}, .ordered = base->ordered};
    *(i % 2 ? &estimate->of.ours_doubled : &estimate->of.ours_halved) = other.ours;
    out->turns = out->turns || other.ordered != base->ordered;
    out->leaves = out->leaves || !fits(claim, other.ours);
    out->over = spanned(out->over, other.ours);
    ss_picked_free(&other.values);
  }
  return true;
}

/* Says what the claim will ask, as far as that can be seen: what is wrong is told when it is asked. */
static void expect(const struct judging *j) {
  struct ss_node let = ss_node_get(j->node, "let");
  for (struct ss_node n = ss_node_first(let); ss_node_present(n); n = ss_node_next(n)) {
    const struct ss_node from = ss_node_get(n, "from");
    struct ss_error ignored;
    if (j->trying && !ss_estimates_touch(j->node, n)) continue;
    if (ss_node_present(from) && !ask(j, from, NULL, &ignored)) continue;
  }
}

static void expect_all(struct judging *j) {
  expect(j);
  j->trying = true;
  for (size_t i = 0; i < 2 * j->estimates.count; i++) {
    struct ss_tried_estimate *estimate = &j->estimates.estimate[i / 2];
    estimate->value = variation(&j->estimates, i);
    expect(j);
    estimate->value = estimate->of.value;
  }
}

/* --- the reason ------------------------------------------------------------------------------------------------ */

static bool value_named(const struct ss_picked *values, const char *name, size_t length, double *out) {
  for (size_t i = 0; i < values->count; i++)
    if (strlen(values->value[i].name) == length && strncmp(values->value[i].name, name, length) == 0) {
      *out = values->value[i].value;
      return true;
    }
  return false;
}

/* "{name}" is replaced by the value of that name, to four digits: reasons quote what was computed, not what once was.
 */
static bool fill_in(struct ss_node node, const struct ss_picked *values, char **out, struct ss_error *error) {
  const char *text;
  size_t size = 0;
  if (!ss_node_text(node, &text, error)) return false;
  FILE *stream = open_memstream(out, &size);
  if (!stream) return ss_fail_memory(error, "judging claims");
  bool ok = true;
  while (ok && *text) {
    const size_t plain = strcspn(text, "{");
    fwrite(text, 1, plain, stream);
    text += plain;
    if (!*text) break;
    const size_t length = strcspn(text + 1, "}");
    double value;
    ok = value_named(values, text + 1, length, &value) ||
         ss_node_fail(node, error, "no value is called \"%.*s\"", (int)length, text + 1);
    if (ok) fprintf(stream, "%.4g", value);
    text += length + 1 + (text[length + 1] == '}');
  }
  if (fclose(stream) != 0 && ok) ok = ss_fail_memory(error, "judging claims");
  if (ok) return true;
  free(*out);
  *out = NULL;
  return false;
}

/* --- verdicts -------------------------------------------------------------------------------------------------- */

/* Nothing was asked but what files say. */
static bool asks_no_model(const struct judging *j) {
  struct ss_node let = ss_node_get(j->node, "let");
  for (struct ss_node n = ss_node_first(let); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_node from = ss_node_get(n, "from"), input;
    struct ss_error ignored;
    if (ss_node_present(from) && ss_request_named(j->file->inputs, from, &input, &ignored) &&
        !ss_node_present(ss_node_get(input, "file")))
      return false;
  }
  return true;
}

/* Is every printed number as foretold, by a stated range that says something and by a share of itself, and is that
 * nearer than ours? */
static bool foretold(const struct ss_claim *claim) {
  static const double near = 0.15, widest = 1.5 * 1.5;
  const double printed[] = {claim->printed.low, claim->printed.high}, ours[] = {claim->ours.low, claim->ours.high};
  double off = 0, ours_off = 0;
  bool holds = claim->predicted.ends > 0;
  for (size_t i = 0; i < claim->predicted.ends && i < sizeof printed / sizeof *printed; i++) {
    const struct ss_claim_foretold *end = &claim->predicted.end[i];
    holds = holds && end->low <= printed[i] && printed[i] <= end->high && end->high <= widest * end->low;
    off = fmax(off, fabs(end->value / printed[i] - 1));
    ours_off = fmax(ours_off, fabs(ours[i] / printed[i] - 1));
  }
  return holds && off <= near * (1 + 1e-12) && off < ours_off;
}

static enum ss_claim_verdict decide(const struct judging *j, const struct ss_claim *claim, bool ordered,
                                    const struct trials *trials) {
  const bool has_order = ss_node_present(ss_node_get(j->node, "order"));
  if (ordered && fits(claim, claim->ours)) {
    if (asks_no_model(j)) return SS_CLAIM_ARITHMETIC;
    return trials->turns || trials->leaves ? SS_CLAIM_FRAGILE : SS_CLAIM_REPRODUCED;
  }
  if (ordered && !trials->turns && foretold(claim)) return SS_CLAIM_PREDICTED;
  if (trials->turns) return SS_CLAIM_DEPENDS;
  return ordered && has_order ? SS_CLAIM_DIRECTION : SS_CLAIM_NOT_REPRODUCED;
}

/* A flag, or an expression that is not zero. */
static bool truth(struct ss_node node, const struct ss_picked *values, bool *out, struct ss_error *error) {
  double value = 0;
  *out = false;
  if (!ss_node_present(node)) return true;
  if (ss_node_is_flag(node)) return ss_node_flag(node, out, error);
  if (!ss_picked_evaluate(node, values, &value, error)) return false;
  *out = value != 0;
  return true;
}

static bool same(const struct ss_claim_range *a, const struct ss_claim_range *b) {
  return a->low == b->low && a->high == b->high;
}

/* A training's scenario does not show here whether any rows are drawn. */
static bool changes_nothing(const struct ss_tried_estimate *e, const struct ss_claim_range *ours) {
  return e->open && e->of.factor && same(&e->of.ours_halved, ours) && same(&e->of.ours_doubled, ours);
}

static bool keep_estimates(const struct ss_estimates *e, struct ss_claim *claim, struct ss_error *error) {
  if (e->count == 0) return true;
  claim->estimate = ss_alloc(e->count, sizeof *claim->estimate);
  if (!claim->estimate) return ss_fail_memory(error, "judging claims");
  for (size_t i = 0; i < e->count; i++)
    if (!changes_nothing(&e->estimate[i], &claim->ours)) claim->estimate[claim->estimates++] = e->estimate[i].of;
  return true;
}

/* The inputs that are asked for, each once. */
static bool keep_runs(const struct judging *j, struct ss_claim *claim, struct ss_error *error) {
  struct ss_node let = ss_node_get(j->node, "let");
  const size_t most = ss_node_present(let) ? ss_node_size(let) : 0;
  claim->run = ss_alloc(most + 1, sizeof *claim->run);
  if (!claim->run) return ss_fail_memory(error, "judging claims");
  for (struct ss_node n = ss_node_first(let); ss_node_present(n); n = ss_node_next(n)) {
    const struct ss_node from = ss_node_get(n, "from");
    bool known = !ss_node_present(from);
    for (size_t i = 0; i < claim->runs && !known; i++) known = strcmp(claim->run[i], from.at->valuestring) == 0;
    if (!known) claim->run[claim->runs++] = from.at->valuestring;
  }
  return true;
}

/* Of what our input was fitted to, or the paper contradicts, nothing hangs on what is open. */
static bool tries_open(struct ss_node claim) {
  return !ss_node_present(ss_node_get(claim, "input")) && !ss_node_present(ss_node_get(claim, "inconsistent"));
}

static bool read_estimates(struct judging *j, struct ss_error *error) {
  return ss_estimates_read(j->file, j->node, tries_open(j->node), &j->estimates, error);
}

static bool judge(struct judging *j, struct ss_claim *claim, struct ss_error *error) {
  struct outcome base;
  struct trials trials;
  struct ss_node why;
  bool input, inconsistent;
  if (!ss_node_need(j->node, "why", &why, error) || !read_estimates(j, error) || !compute(j, &base, error))
    return false;
  claim->ours = base.ours;
  const bool ok = truth(ss_node_get(j->node, "input"), &base.values, &input, error) &&
                  truth(ss_node_get(j->node, "inconsistent"), &base.values, &inconsistent, error) &&
                  try_estimates(j, claim, &base, &trials, error) && fill_in(why, &base.values, &claim->why, error) &&
                  ss_claim_fits_predict(j->fits, claim, &claim->predicted, error) &&
                  keep_estimates(&j->estimates, claim, error) && keep_runs(j, claim, error);
  if (ok) {
    claim->over = trials.over;
    claim->verdict = input          ? SS_CLAIM_INPUT
                     : inconsistent ? SS_CLAIM_INCONSISTENT
                                    : decide(j, claim, base.ordered, &trials);
    if (claim->verdict != SS_CLAIM_INPUT && claim->verdict != SS_CLAIM_INCONSISTENT) {
      claim->factor = missed_by(claim);
      claim->margin = passed_by(claim);
    }
  }
  ss_picked_free(&base.values);
  return ok;
}

static struct judging judging_of(struct ss_query *query, struct ss_claim_fits *fits, const struct ss_claim *claim) {
  return (struct judging){.query = query, .fits = fits, .file = claim->file, .node = claim->node};
}

/* Progress while answers are computed side by side: claims count as done in proportion to the answers that are, since
 * nearly all the time of a claim goes into its answers. */
struct steps {
  const struct ss_watcher *watcher;
  size_t claims, taken;
};

static void take_steps(void *context, size_t done, size_t all) {
  struct steps *s = context;
  const size_t more = s->claims * done / all - s->taken;
  s->taken += more;
  ss_watcher_advance(s->watcher, more, (double)more, (double)s->claims);
}

static bool judge_all(struct ss_claims *claims, struct ss_query *query, struct ss_claim_fits *fits,
                      const struct ss_watcher *watcher, struct ss_error *error) {
  struct steps steps = {watcher, claims->count, 0};
  struct ss_error ignored;
  bool ok = true;
  for (size_t i = 0; i < claims->count; i++) {
    struct judging j = judging_of(query, fits, &claims->claim[i]);
    if (read_estimates(&j, &ignored)) expect_all(&j);
  }
  ss_watcher_begin(watcher, "claims", claims->count);
  ss_query_answer_expected(query, take_steps, &steps);
  ss_query_watch(query, watcher, 0);
  for (size_t i = 0; ok && i < claims->count; i++) {
    struct judging j = judging_of(query, fits, &claims->claim[i]);
    ok = judge(&j, &claims->claim[i], error);
    if (i >= steps.taken) ss_watcher_advance(watcher, 1, 0, 0); /* its work is told by the query */
  }
  ss_watcher_end(watcher);
  return ok;
}

bool ss_claims_judge(struct ss_claims *claims, unsigned jobs, const struct ss_notice *notice,
                     const struct ss_watcher *watcher, struct ss_error *error) {
  struct ss_query *query = ss_query_new(jobs, notice);
  struct ss_claim_fits *fits = ss_claim_fits_new(jobs);
  const bool ok =
      query && fits ? judge_all(claims, query, fits, watcher, error) : ss_fail_memory(error, "judging claims");
  ss_claim_fits_free(fits);
  ss_query_free(query);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
