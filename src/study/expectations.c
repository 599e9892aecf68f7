/* A scenario's own expectations: {"that": field, "of": label, "is": "<", "than": label or number, "at": {...}}. */
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

/* A number, or a string with any unit; NaN for other text. */
static double number_of(struct ss_node node) {
  double value;
  for (int d = SS_NUMBER; d <= SS_RATE; d++)
    if (ss_node_quantity(node, (enum ss_dimension)d, &value, NULL)) return value;
  return NAN;
}

/* Does the point lie where `at` says? Values with units compare as numbers. */
static bool lies_at(const struct ss_result *p, struct ss_node at) {
  for (struct ss_node n = ss_node_first(at); ss_node_present(n); n = ss_node_next(n)) {
    const char *key = ss_node_key(n), *text = NULL;
    const cJSON *have = p->at ? cJSON_GetObjectItemCaseSensitive(p->at, key) : NULL;
    double wanted = number_of(n), value = have && cJSON_IsNumber(have) ? have->valuedouble : NAN;
    if (strcmp(key, "ranks") == 0) value = p->ranks;
    if (isfinite(value)) {
      if (!(fabs(value - wanted) <= 1e-12 * fabs(value))) return false;
      continue;
    }
    const char *own = have && cJSON_IsString(have)  ? have->valuestring
                      : strcmp(key, "cluster") == 0 ? p->cluster
                                                    : NULL;
    if (!ss_node_is_text(n) || !ss_node_text(n, &text, NULL) || !own || strcmp(own, text) != 0) return false;
  }
  return true;
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

static bool several_tensors(const struct ss_results *points) {
  for (size_t i = 0; i < points->count; i++)
    if (strcmp(points->point[i].tensor, "*") == 0) return true;
  return false;
}

static bool concerns(const struct expectation *e, const struct ss_result *p, const char *label, bool several) {
  if (strcmp(p->setting.label, label) != 0 || !lies_at(p, e->at)) return false;
  if (e->tensor) return strcmp(p->tensor, e->tensor) == 0;
  return !several || strcmp(p->tensor, "*") == 0;
}

static const struct ss_result *partner(const struct ss_results *points, const struct ss_result *p,
                                       const char *label) {
  for (size_t i = 0; i < points->count; i++) {
    const struct ss_result *q = &points->point[i];
    if (q->at == p->at && q->ranks == p->ranks && strcmp(q->tensor, p->tensor) == 0 &&
        strcmp(q->setting.label, label) == 0)
      return q;
  }
  return NULL;
}

static bool check_point(const struct ss_results *points, const struct ss_result *p, const struct expectation *e,
                        struct ss_node node, struct ss_error *error) {
  const char *near;
  double left = NAN, right = e->number;
  ss_result_find(p, e->that, &left, &near);
  if (e->than) {
    const struct ss_result *q = partner(points, p, e->than);
    right = NAN;
    if (q) ss_result_find(q, e->that, &right, &near);
  }
  if (holds(e, left, right)) return true;
  (void)ss_node_fail(node, error, "expected %s of %s %s %s at %u ranks, tensor %s; found %.9g against %.9g", e->that,
                     e->of, relations[e->is], e->than ? e->than : "the number", p->ranks, p->tensor, left, right);
  error->status = SS_UNPROVEN;
  return false;
}

static bool has_label(const struct ss_study *scenario, const char *label) {
  size_t count;
  const struct ss_job *jobs = ss_study_jobs(scenario, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(jobs[i].setting.label, label) == 0) return true;
  return false;
}

bool ss_study_check_expect(const struct ss_study *scenario, struct ss_error *error) {
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

bool ss_results_expect_one(const struct ss_results *points, struct ss_node node, struct ss_error *error) {
  const bool several = several_tensors(points);
  struct expectation e;
  size_t matched = 0;
  if (!read_expectation(node, &e, error)) return false;
  for (size_t i = 0; i < points->count; i++) {
    if (!concerns(&e, &points->point[i], e.of, several)) continue;
    matched++;
    if (!check_point(points, &points->point[i], &e, node, error)) return false;
  }
  if (matched > 0) return true;
  (void)ss_node_fail(node, error, "no point is of \"%s\" at such a place: nothing was compared", e.of);
  error->status = SS_UNPROVEN;
  return false;
}

bool ss_results_expect(const struct ss_results *points, struct ss_node expect, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(expect); ss_node_present(n); n = ss_node_next(n))
    if (!ss_results_expect_one(points, n, error)) return false;
  return true;
}
