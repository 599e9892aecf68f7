#include "query/expectations.h"

#include "base/file.h"
#include "query/field.h"
#include "study/ranges.h"
#include "study/study.h"

struct expectation {
  struct ss_expectation said;
  const char *than; /* NULL: `number` */
  double number;    /* of a text too: what it says as a quantity; NaN: nothing */
};

/* Results, and the records that tell of them. */
struct judging {
  const struct ss_results *results;
  const cJSON *records;
};

static bool ends_in(const char *text, const char *end) {
  const size_t length = strlen(text), n = strlen(end);
  return length > n && strcmp(text + length - n, end) == 0;
}

/* Of a numeric field of results. */
static enum ss_dimension dimension_of(const char *field) {
  return ends_in(field, "_s") ? SS_TIME : strstr(field, "bytes_") ? SS_BYTES : SS_RATIO;
}

static bool read_expectation(struct ss_node node, struct expectation *out, struct ss_error *error) {
  struct ss_expectation *said = &out->said;
  *out = (struct expectation){.said = {.within = NAN, .draws = NAN}};
  if (!ss_object_read(&ss_expectation_fields, node, said, error)) return false;
  if (said->is == SS_EQUAL && isnan(said->within))
    return ss_node_fail(node, error, "\"=\" needs \"within\" (a share, say 0.01)");
  if (!isnan(said->draws) && strcmp(said->that, "time_s") != 0)
    return ss_node_fail(ss_node_get(node, "draws"), error, "draws are of \"time_s\", not of \"%s\"", said->that);
  if (ss_node_is_number(said->than)) return ss_node_quantity(said->than, SS_NUMBER, &out->number, error);
  if (!ss_node_text(said->than, &out->than, error)) return false;
  if (!ss_units_parse(out->than, dimension_of(said->that), &out->number, NULL)) out->number = NAN;
  return true;
}

static bool is_of_tensor(const cJSON *record, const char *tensor) {
  const char *own = ss_json_word(record, "tensor");
  return own && strcmp(own, tensor) == 0;
}

static bool several_tensors(const cJSON *records) {
  for (const cJSON *r = records->child; r; r = r->next)
    if (is_of_tensor(r, "*")) return true;
  return false;
}

static bool concerns(const struct expectation *e, const cJSON *record, bool several) {
  const char *tensor = e->said.tensor ? e->said.tensor : several ? "*" : NULL;
  return ss_record_is_of(record, e->said.of) && ss_record_lies_at(record, e->said.at) &&
         (!tensor || is_of_tensor(record, tensor));
}

static bool has_record_of(const cJSON *records, const char *label) {
  for (const cJSON *r = records->child; r; r = r->next)
    if (ss_record_is_of(r, label)) return true;
  return false;
}

/* The result that one of the records, which are in its order, tells of; NULL: none of them. */
static const struct ss_result *result_of(const struct judging *j, const cJSON *record) {
  size_t i = 0;
  for (const cJSON *r = j->records->child; r; r = r->next, i++)
    if (r == record) return &j->results->result[i];
  return NULL;
}

/* The times in each draw; false: nobody knows how far off they are. */
static bool draw(const struct ss_result *result, double out[SS_RANGE_DRAWS]) {
  const struct ss_uncertain u = ss_result_uncertain(result);
  if (ss_result_ranged(result) && isnan(result->time_low)) return false;
  ss_draws_of(&u, out);
  return true;
}

/* The share of the draws in which it holds; 0 where there is nothing to compare. */
static double share_of(const struct judging *j, const cJSON *record, const struct expectation *e) {
  double mine[SS_RANGE_DRAWS], against[SS_RANGE_DRAWS];
  const struct ss_result *result = result_of(j, record),
                         *than = e->than ? result_of(j, ss_record_beside(j->records, record, e->than)) : result;
  if (!result || !than || !draw(result, mine) || !draw(than, against)) return 0;
  const struct ss_uncertain a = ss_result_uncertain(result), b = ss_result_uncertain(than);
  size_t held = 0;
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++) {
    const double other = !e->than ? e->number : ss_uncertain_same(&a, &b) ? mine[d] : against[d];
    const struct ss_bounds allowed = ss_bounds_of(e->said.is, other, e->said.within);
    held += ss_bounds_hold(&allowed, mine[d]);
  }
  return (double)held / SS_RANGE_DRAWS;
}

/* Of draws, what is found is the share of them in which it holds, and is held against the share wanted. */
static bool judge_record(const struct judging *j, const cJSON *record, const struct expectation *e,
                         struct ss_verdict *verdict) {
  struct ss_miss miss = {
      .record = record, .field = e->said.that, .found = ss_json_number(record, e->said.that), .against = e->number};
  if (e->than) miss.against = ss_json_number(ss_record_beside(j->records, record, e->than), e->said.that);
  struct ss_bounds allowed = ss_bounds_of(e->said.is, miss.against, e->said.within);
  if (!isnan(e->said.draws)) {
    miss.found = share_of(j, record, e);
    miss.against = e->said.draws;
    allowed = ss_bounds_of(SS_GREATER_EQUAL, miss.against, NAN);
    verdict->share = fmin(verdict->share, miss.found);
  }
  verdict->points++;
  return ss_bounds_hold(&allowed, miss.found) || ss_verdict_add_miss(verdict, miss);
}

static void write_value(const cJSON *value, FILE *stream) {
  SS_AUTO_FREE char *json = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
  fputs(json ? json : cJSON_IsString(value) ? value->valuestring : "?", stream);
}

/* "time_s of zen < allreduce at ranks = 16" */
static void write_expectation(const void *context, FILE *stream) {
  const cJSON *e = context;
  static const char *const words[][2] = {
      {"that", ""},           {"of", " of "},         {"is", " "},
      {"than", " "},          {"within", " within "}, {"draws", " in a share of draws of "},
      {"tensor", ", tensor "}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const cJSON *value = ss_json_get(e, words[i][0]);
    if (!value) continue;
    fputs(words[i][1], stream);
    write_value(value, stream);
  }
  const cJSON *at = ss_json_get(e, "at");
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next) {
    fprintf(stream, "%s%s = ", a == at->child ? " at " : ", ", a->string);
    write_value(a, stream);
  }
}

static bool judge(struct ss_node node, const struct judging *j, struct ss_verdict *out, struct ss_error *error) {
  const cJSON *records = j->records;
  const bool several = several_tensors(records);
  struct expectation e;
  if (!read_expectation(node, &e, error)) return false;
  if (e.than && !isnan(e.number) && !has_record_of(records, e.than)) e.than = NULL;
  out->text = ss_written(write_expectation, node.at);
  out->share = NAN;
  bool ok = out->text;
  if (ok) ss_make_printable(out->text);
  for (const cJSON *r = records->child; ok && r; r = r->next)
    ok = !concerns(&e, r, several) || judge_record(j, r, &e, out);
  return ok || ss_fail_memory(error, "judging expectations");
}

bool ss_expectations_judge(const struct ss_study *study, const struct ss_results *results, struct ss_verdicts *out,
                           struct ss_error *error) {
  const struct ss_node expect = ss_study_expect(study);
  *out = (struct ss_verdicts){0};
  if (ss_node_size(expect) == 0) return true;
  out->results = ss_results_json(results, "");
  const struct judging judging = {results, ss_json_get(out->results, "points")};
  for (struct ss_node n = ss_node_first(expect); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_verdict *verdict = judging.records ? ss_verdicts_add(out) : NULL;
    if (!verdict) return ss_fail_memory(error, "judging expectations");
    if (!judge(n, &judging, verdict, error)) return false;
    out->failed += !ss_verdict_holds(verdict);
  }
  return true;
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static cJSON *miss_json(const struct ss_miss *miss) {
  static const char *const names[] = {"ranks", "tensor", "cluster", "at"};
  cJSON *o = cJSON_CreateObject();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    cJSON_AddItemToObject(o, names[i], cJSON_Duplicate(ss_json_get(miss->record, names[i]), 1));
  ss_json_add(o, SS_N("found", miss->found), SS_N("against", miss->against));
  return o;
}

cJSON *ss_expectation_json(const char *file, const struct ss_verdict *verdict) {
  cJSON *o = ss_json_object(SS_T("file", file), SS_T("expectation", verdict->text),
                            SS_B("ok", ss_verdict_holds(verdict)), SS_N("points", (double)verdict->points));
  if (!isnan(verdict->share)) ss_json_add(o, SS_N("draws", verdict->share));
  cJSON *list = cJSON_AddArrayToObject(o, "misses");
  for (size_t i = 0; i < verdict->misses; i++) cJSON_AddItemToArray(list, miss_json(&verdict->miss[i]));
  return o;
}

cJSON *ss_expectations_json(const char *scenario, const struct ss_verdicts *verdicts) {
  cJSON *root =
      ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", scenario), SS_B("ok", verdicts->failed == 0));
  cJSON *list = cJSON_AddArrayToObject(root, "expectations");
  for (size_t i = 0; list && i < verdicts->count; i++)
    cJSON_AddItemToArray(list, ss_expectation_json(scenario, &verdicts->verdict[i]));
  return root;
}

/* --- before there are results ------------------------------------------------------------------------------- */

/* `other`: what else the text may say; NULL: nothing. */
static bool check_label(const struct ss_study *study, struct ss_node node, const char *label, const char *other,
                        struct ss_error *error) {
  size_t count;
  const struct ss_point *jobs = ss_study_points(study, &count);
  SS_AUTO_FREE const char **labels = ss_alloc_zero(count + 1, sizeof *labels);
  if (!labels) return ss_fail_memory(error, "reading expectations");
  for (size_t i = 0; i < count; i++) {
    labels[i] = jobs[i].setting.label;
    if (strcmp(labels[i], label) == 0) return true;
  }
  return ss_node_fail(node, error, "no scheme of the scenario is called \"%s\"%s%s%s", label,
                      other ? ", nor is that " : "", other ? other : "", ss_suggest(label, labels, NULL).text);
}

static bool check(const struct ss_study *study, struct ss_node node, struct ss_error *error) {
  static const struct ss_result blank;
  struct expectation e;
  double value;
  if (!read_expectation(node, &e, error)) return false;
  if (!ss_result_find(&blank, e.said.that, &value))
    return ss_node_fail(node, error, "results have no number \"%s\"%s", e.said.that,
                        ss_result_suggest(e.said.that).text);
  if (!check_label(study, ss_node_get(node, "of"), e.said.of, NULL, error)) return false;
  return !e.than || !isnan(e.number) ||
         check_label(study, ss_node_get(node, "than"), e.than, ss_dimension_wanted(dimension_of(e.said.that)), error);
}

bool ss_expectations_check(const struct ss_study *study, struct ss_error *error) {
  struct ss_node expect = ss_study_expect(study);
  if (ss_node_present(expect) && !ss_node_is_array(expect))
    return ss_node_fail(expect, error, "expected a list of expectations");
  for (struct ss_node n = ss_node_first(expect); ss_node_present(n); n = ss_node_next(n))
    if (!check(study, n, error)) return false;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
