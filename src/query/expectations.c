#include "query/expectations.h"

#include "query/field.h"
#include "study/study.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

enum relation { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL };
static const char *const relations[] = {"<", "<=", ">", ">=", "=", NULL};

struct expectation {
  const char *that, *of, *than, *tensor; /* than NULL: `number`; tensor NULL: all */
  double number, within;
  enum relation is;
  struct ss_node at;
};

static bool read_expectation(struct ss_node node, struct expectation *out, struct ss_error *error) {
  static const char *const keys[] = {"that", "of", "is", "than", "at", "tensor", "within", "notes", NULL};
  struct ss_node that, of, is, than, tensor = ss_node_get(node, "tensor"), within = ss_node_get(node, "within");
  size_t choice;
  *out = (struct expectation){.at = ss_node_get(node, "at"), .within = NAN};
  if (!ss_node_keys(node, keys, error) || !ss_node_need(node, "that", &that, error) ||
      !ss_node_need(node, "of", &of, error) || !ss_node_need(node, "is", &is, error) ||
      !ss_node_need(node, "than", &than, error) || !ss_node_text(that, &out->that, error) ||
      !ss_node_text(of, &out->of, error) || !ss_node_choice(is, relations, &choice, error))
    return false;
  out->is = (enum relation)choice;
  if (ss_node_present(tensor) && !ss_node_text(tensor, &out->tensor, error)) return false;
  if (ss_node_present(within) && !ss_node_nonnegative(within, SS_RATIO, &out->within, error)) return false;
  if (out->is == EQUAL && isnan(out->within))
    return ss_node_fail(node, error, "\"=\" needs \"within\" (a share, say 0.01)");
  if (ss_node_present(out->at) && !ss_node_is_object(out->at))
    return ss_node_fail(out->at, error, "expected an object, say {\"ranks\": 16}");
  return ss_node_is_number(than) ? ss_node_quantity(than, SS_NUMBER, &out->number, error)
                                 : ss_node_text(than, &out->than, error);
}

static bool holds(const struct expectation *e, double left, double right) {
  switch (e->is) {
  case LESS: return left < right;
  case LESS_EQUAL: return left <= right;
  case GREATER: return left > right;
  case GREATER_EQUAL: return left >= right;
  case EQUAL: return fabs(left - right) <= e->within * fabs(right);
  }
  return false;
}

static const char *text_of(const cJSON *record, const char *key) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(record, key);
  return cJSON_IsString(found) ? found->valuestring : "";
}

/* NaN: the record has none. */
static double number_of(const cJSON *record, const char *key) {
  const cJSON *found = record ? cJSON_GetObjectItemCaseSensitive(record, key) : NULL;
  return found && cJSON_IsNumber(found) ? found->valuedouble : NAN;
}

static bool several_tensors(const cJSON *records) {
  for (const cJSON *r = records->child; r; r = r->next)
    if (strcmp(text_of(r, "tensor"), "*") == 0) return true;
  return false;
}

static bool concerns(const struct expectation *e, const cJSON *record, bool several) {
  const char *tensor = e->tensor ? e->tensor : several ? "*" : NULL;
  return ss_record_is_of(record, e->of) && ss_record_lies_at(record, e->at) &&
         (!tensor || strcmp(text_of(record, "tensor"), tensor) == 0);
}

static bool check_record(const cJSON *records, const cJSON *record, const struct expectation *e, struct ss_node node,
                         struct ss_error *error) {
  const double left = number_of(record, e->that),
               right = e->than ? number_of(ss_record_beside(records, record, e->than), e->that) : e->number;
  if (holds(e, left, right)) return true;
  (void)ss_node_fail(node, error, "expected %s of %s %s %s at %.0f ranks, tensor %s; found %.9g against %.9g",
                     e->that, e->of, relations[e->is], e->than ? e->than : "the number", number_of(record, "ranks"),
                     text_of(record, "tensor"), left, right);
  error->status = SS_UNPROVEN;
  return false;
}

bool ss_expectation_holds(struct ss_node expectation, const cJSON *results, struct ss_error *error) {
  const cJSON *records = cJSON_GetObjectItemCaseSensitive(results, "points");
  const bool several = several_tensors(records);
  struct expectation e;
  size_t matched = 0;
  if (!read_expectation(expectation, &e, error)) return false;
  for (const cJSON *r = records->child; r; r = r->next) {
    if (!concerns(&e, r, several)) continue;
    matched++;
    if (!check_record(records, r, &e, expectation, error)) return false;
  }
  if (matched > 0) return true;
  (void)ss_node_fail(expectation, error, "no point is of \"%s\" at such a place: nothing was compared", e.of);
  error->status = SS_UNPROVEN;
  return false;
}

bool ss_expectations_hold(struct ss_node expect, const struct ss_results *results, struct ss_error *error) {
  if (!ss_node_present(expect)) return true;
  cJSON *tree = ss_results_json(results, "");
  bool ok = tree || ss_fail_memory(error, "comparing results");
  for (struct ss_node n = ss_node_first(expect); ok && ss_node_present(n); n = ss_node_next(n))
    ok = ss_expectation_holds(n, tree, error);
  cJSON_Delete(tree);
  return ok;
}

/* --- before there are results ------------------------------------------------------------------------------- */

static bool has_label(const struct ss_study *scenario, const char *label) {
  size_t count;
  const struct ss_job *jobs = ss_study_jobs(scenario, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(jobs[i].setting.label, label) == 0) return true;
  return false;
}

bool ss_expectations_check(const struct ss_study *scenario, struct ss_error *error) {
  static const struct ss_result blank;
  struct ss_node expect = ss_study_expect(scenario);
  if (ss_node_present(expect) && !ss_node_is_array(expect))
    return ss_node_fail(expect, error, "expected a list of expectations");
  for (struct ss_node n = ss_node_first(expect); ss_node_present(n); n = ss_node_next(n)) {
    struct expectation e;
    const char *near = NULL;
    double value;
    if (!read_expectation(n, &e, error)) return false;
    if (!ss_result_find(&blank, e.that, &value, &near))
      return ss_node_fail(n, error, "results have no number \"%s\"%s%s%s", e.that, near ? " (did you mean \"" : "",
                          near ? near : "", near ? "\"?)" : "");
    if (e.than && !has_label(scenario, e.than))
      return ss_node_fail(n, error, "no scheme of the scenario is called \"%s\"", e.than);
  }
  return true;
}
