/* The verdict of one claim. */
#include "claims/claims.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
  struct ss_claim_values values;
  struct ss_claim_range ours;
  bool ordered; /* the claimed ranking or direction holds, or none is claimed */
};

/* --- one evaluation ------------------------------------------------------------------------------------------- */

static const struct ss_claim_change *changed_value(const struct ss_claim_change *changes, size_t count,
                                                   const char *name) {
  for (size_t i = 0; i < count; i++)
    if (changes[i].path && !ss_node_present(changes[i].names) && strcmp(changes[i].path, name) == 0)
      return &changes[i];
  return NULL;
}

static bool value_of(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node node,
                     const struct ss_claim_change *changes, size_t count, const struct ss_claim_values *values,
                     double *out, struct ss_error *error) {
  struct ss_node from;
  struct ss_doc *doc;
  const struct ss_claim_change *change = changed_value(changes, count, ss_node_key(node));
  if (change) {
    *out = change->value;
    return true;
  }
  if (!ss_node_is_object(node)) return ss_claim_expression(node, values, out, error);
  return ss_node_need(node, "from", &from, error) &&
         ss_claims_input(cache, file, from, changes, count, &doc, error) &&
         ss_claim_pick(node, ss_doc_root(doc), values, out, error);
}

static bool our_range(struct ss_node ours, const struct ss_claim_values *values, struct ss_claim_range *out,
                      struct ss_error *error) {
  if (!ss_node_is_array(ours)) {
    if (!ss_claim_expression(ours, values, &out->low, error)) return false;
    out->high = out->low;
    return true;
  }
  if (ss_node_size(ours) != 2) return ss_node_fail(ours, error, "expected an expression or [low, high]");
  return ss_claim_expression(ss_node_first(ours), values, &out->low, error) &&
         ss_claim_expression(ss_node_next(ss_node_first(ours)), values, &out->high, error);
}

static bool compute(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node claim,
                    const struct ss_claim_change *changes, size_t count, struct outcome *out,
                    struct ss_error *error) {
  struct ss_node order = ss_node_get(claim, "order"), let = ss_node_get(claim, "let");
  double value, holds = 1;
  *out = (struct outcome){.ordered = true};
  if (ss_node_present(let) && !ss_node_is_object(let))
    return ss_node_fail(let, error, "expected an object of values by name");
  bool ok = true;
  for (struct ss_node n = ss_node_first(let); ok && ss_node_present(n); n = ss_node_next(n))
    ok = value_of(cache, file, n, changes, count, &out->values, &value, error) &&
         ss_claim_values_add(&out->values, ss_node_key(n), value, error);
  ok = ok && our_range(ss_node_get(claim, "ours"), &out->values, &out->ours, error) &&
       ss_claim_values_add(&out->values, "ours", out->ours.low, error) &&
       ss_claim_values_add(&out->values, "ours_high", out->ours.high, error) &&
       (!ss_node_present(order) || ss_claim_expression(order, &out->values, &holds, error));
  out->ordered = holds != 0;
  if (!ok) ss_claim_values_free(&out->values);
  return ok;
}

/* --- estimates ------------------------------------------------------------------------------------------------ */

enum { ESTIMATES_MAX = 8 };

struct estimates {
  struct ss_claim_change change[ESTIMATES_MAX];
  double value[ESTIMATES_MAX];
  size_t count;
};

static bool other_value(struct ss_node node, const char *key, double default_value, double *out,
                        struct ss_error *error) {
  struct ss_node given = ss_node_get(node, key);
  *out = default_value;
  return !ss_node_present(given) || ss_node_positive(given, SS_NUMBER, out, error);
}

/* "set" with "of": a field of those inputs (a path of the scenario, or an option); without: a value of "let". */
static bool read_estimate(struct ss_node node, struct ss_claim_estimate *out, struct ss_claim_change *change,
                          struct ss_error *error) {
  static const char *const keys[] = {"input", "set", "of", "value", "halved", "doubled", "notes", NULL};
  struct ss_node input, set, value;
  if (!ss_node_keys(node, keys, error) || !ss_node_need(node, "input", &input, error) ||
      !ss_node_text(input, &out->input, error) || !ss_node_need(node, "set", &set, error) ||
      !ss_node_text(set, &change->path, error) || !ss_node_need(node, "value", &value, error) ||
      !ss_node_positive(value, SS_NUMBER, &out->value, error) ||
      !other_value(node, "halved", out->value / 2, &out->halved, error) ||
      !other_value(node, "doubled", out->value * 2, &out->doubled, error))
    return false;
  change->names = ss_node_get(node, "of");
  change->value = out->value;
  out->factor = strncmp(change->path, SS_CLAIM_FACTOR, strlen(SS_CLAIM_FACTOR)) == 0;
  return !ss_node_present(change->names) || ss_node_is_array(change->names) ||
         ss_node_fail(change->names, error, "expected a list of inputs");
}

/* A claim's own list, or the one of that name in the file's "estimates". */
static bool find_estimates(const struct ss_claims_file *file, struct ss_node claim, struct ss_node *out,
                           struct ss_error *error) {
  const char *name;
  *out = ss_node_get(claim, "estimated");
  if (!ss_node_is_text(*out)) return true;
  if (!ss_node_text(*out, &name, error)) return false;
  const struct ss_node list = ss_node_get(file->estimates, name);
  if (!ss_node_present(list)) return ss_node_fail(*out, error, "no list of \"estimates\" is called \"%s\"", name);
  *out = list;
  return true;
}

static bool read_estimates(const struct ss_claims_file *file, struct ss_node claim, struct ss_claim *out,
                           struct estimates *e, struct ss_error *error) {
  struct ss_node list;
  if (!find_estimates(file, claim, &list, error)) return false;
  *e = (struct estimates){.count = ss_node_size(list)};
  if (!ss_node_present(list)) return true;
  if (!ss_node_is_array(list) || e->count > ESTIMATES_MAX)
    return ss_node_fail(list, error, "expected a list of at most %d estimated inputs", ESTIMATES_MAX);
  out->estimate = ss_alloc_zero(e->count, sizeof *out->estimate);
  if (!out->estimate) return ss_fail_memory(error, "judging claims");
  out->estimates = e->count;
  size_t i = 0;
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n), i++)
    if (!read_estimate(n, &out->estimate[i], &e->change[i], error)) return false;
  return true;
}

/* Each estimate at half and double, the others as they are. */
static bool try_estimates(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node node,
                          struct estimates *e, bool ordered, struct ss_claim *claim, bool *turns,
                          struct ss_error *error) {
  *turns = false;
  for (size_t i = 0; i < 2 * e->count; i++) {
    struct ss_claim_estimate *estimate = &claim->estimate[i / 2];
    struct outcome other;
    e->change[i / 2].value = i % 2 ? estimate->doubled : estimate->halved;
    if (!compute(cache, file, node, e->change, e->count, &other, error)) return false;
    e->change[i / 2].value = estimate->value;
    *(i % 2 ? &estimate->ours_doubled : &estimate->ours_halved) = other.ours;
    *turns = *turns || other.ordered != ordered;
    ss_claim_values_free(&other.values);
  }
  return true;
}

/* --- the reason ------------------------------------------------------------------------------------------------ */

static bool value_named(const struct ss_claim_values *values, const char *name, size_t length, double *out) {
  for (size_t i = 0; i < values->count; i++)
    if (strlen(values->value[i].name) == length && strncmp(values->value[i].name, name, length) == 0) {
      *out = values->value[i].value;
      return true;
    }
  return false;
}

/* "{name}" is replaced by the value of that name, to four digits: reasons quote what was computed, not what once was.
 */
static bool fill_in(struct ss_node node, const struct ss_claim_values *values, char **out, struct ss_error *error) {
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

/* The tolerance's share of the bound, or the number itself. */
static double slack(const struct ss_claim *claim, double bound) {
  double value = 0;
  if (!claim->tolerance || !ss_units_parse(claim->tolerance, SS_RATIO, &value, NULL)) return 0;
  return strchr(claim->tolerance, '%') ? value * fabs(bound) : value;
}

static bool inside(const struct ss_claim *claim) {
  const struct ss_claim_range *p = &claim->printed, *o = &claim->ours;
  const double rounding = 1e-12;
  if (claim->ends)
    return fabs(o->low - p->low) <= slack(claim, p->low) + rounding * fabs(p->low) &&
           fabs(o->high - p->high) <= slack(claim, p->high) + rounding * fabs(p->high);
  const bool above = isinf(p->low) || o->low >= p->low - slack(claim, p->low) - rounding * fabs(p->low);
  return above && (isinf(p->high) || o->high <= p->high + slack(claim, p->high) + rounding * fabs(p->high));
}

static enum ss_claim_verdict decide(const struct ss_claim *claim, bool has_order, bool ordered, bool turns) {
  if (turns) return SS_CLAIM_DEPENDS;
  if (!ordered) return SS_CLAIM_NOT_REPRODUCED;
  if (isnan(claim->printed.low) || inside(claim)) return SS_CLAIM_REPRODUCED;
  return has_order ? SS_CLAIM_SAME_ORDER : SS_CLAIM_NOT_REPRODUCED;
}

/* A flag, or an expression that is not zero. */
static bool truth(struct ss_node node, const struct ss_claim_values *values, bool *out, struct ss_error *error) {
  double value = 0;
  *out = false;
  if (!ss_node_present(node)) return true;
  if (ss_node_is_flag(node)) return ss_node_flag(node, out, error);
  if (!ss_claim_expression(node, values, &value, error)) return false;
  *out = value != 0;
  return true;
}

bool ss_claim_judge(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node node,
                    struct ss_claim *claim, struct ss_error *error) {
  struct estimates estimates;
  struct outcome base;
  struct ss_node why;
  bool turns, input, inconsistent;
  if (!ss_node_need(node, "why", &why, error) || !read_estimates(file, node, claim, &estimates, error) ||
      !compute(cache, file, node, estimates.change, estimates.count, &base, error))
    return false;
  claim->ours = base.ours;
  const bool ok = truth(ss_node_get(node, "input"), &base.values, &input, error) &&
                  truth(ss_node_get(node, "inconsistent"), &base.values, &inconsistent, error) &&
                  try_estimates(cache, file, node, &estimates, base.ordered, claim, &turns, error) &&
                  fill_in(why, &base.values, &claim->why, error);
  if (ok)
    claim->verdict = input          ? SS_CLAIM_INPUT
                     : inconsistent ? SS_CLAIM_INCONSISTENT
                                    : decide(claim, ss_node_present(ss_node_get(node, "order")), base.ordered, turns);
  ss_claim_values_free(&base.values);
  return ok;
}
