#include "query/pick.h"

#include "query/field.h"

enum { FIELDS_MAX = 160, NAME_SIZE = 64 };

/* --- values by name ----------------------------------------------------------------------------------------- */

void ss_picked_free(struct ss_picked *values) {
  free(values->value);
  *values = (struct ss_picked){0};
}

bool ss_picked_add(struct ss_picked *values, const char *name, double value, struct ss_error *error) {
  if (!ss_grow_by_one(values->value, values->count)) return ss_fail_memory(error, "collecting values");
  values->value[values->count++] = (struct ss_variable){name, value};
  return true;
}

bool ss_picked_evaluate(struct ss_node node, const struct ss_picked *values, double *out, struct ss_error *error) {
  const char *text;
  struct ss_error problem = {0};
  if (ss_node_is_number(node)) return ss_node_quantity(node, SS_NUMBER, out, error);
  if (!ss_node_text(node, &text, error)) return false;
  if (ss_expression_evaluate(text, values->value, values->count, out, &problem)) return true;
  (void)ss_node_fail(node, error, "%s", problem.text);
  if (error) error->status = problem.status;
  return false;
}

/* --- which records ------------------------------------------------------------------------------------------ */

enum reduce { ONLY, LEAST, MOST, MEAN, SUM, COUNT, DEVIATION, FIRST };
static const char *const reduces[] = {"only", "min", "max", "mean", "sum", "count", "deviation", "first", NULL};

/* What a pick asks for. */
struct wanted {
  struct ss_node pick, ranks, at, value, where, beside, array, range;
  const char *of; /* NULL: any */
  enum reduce reduce;
  const cJSON *records;
  const struct ss_picked *values;
};

#define PART(member) SS_STORED(struct wanted, member)
static const struct ss_field_spec anything = {NULL, NULL, SS_IS_ANY}, a_label = {NULL, NULL, SS_IS_NAME},
                                  an_index = {NULL, NULL, SS_IS_COUNT(0, 1 << 30)};
static const struct ss_object_spec by_name = {.others = &anything}, labels = {.others = &a_label};
const struct ss_field_spec ss_expression_forms[] = {
    {NULL, NULL, SS_IS_NUMBER}, {NULL, NULL, SS_IS_NAME}, {.name = NULL}};
static const struct ss_field_spec pick_fields[] = {
    {"from", "an input", SS_IS_NAME, .required = true},
    {"path", "names and indices, dots between (tensors.0.gamma.15), instead of all that follows", SS_IS_NAME},
    {"of", "a label; of trainings the system, of closed forms the form's file", SS_IS_TEXT, PART(of)},
    {"ranks", NULL, SS_IS_ANY, PART(ranks)},
    {"at", "values of the sweep, and of fields of the point that no sweep changes (workload)", SS_IS_OBJECT(&by_name),
     PART(at)},
    {"value", "over the point's fields (time_s)", SS_IS_EITHER(ss_expression_forms), PART(value)},
    {"where", "points for which it is not 0", SS_IS_EITHER(ss_expression_forms), PART(where)},
    {"beside", "name: label, whose time_s stands beside the point's", SS_IS_OBJECT(&labels), PART(beside)},
    {"array", "an array of the point, such as iteration_s", SS_IS_ANY, PART(array)},
    {"range", "of the array, [from, to)", SS_IS_LIST(&an_index, 2, 2), PART(range)},
    {"reduce", NULL, SS_IS_CHOICE(reduces), .usual = "only", PART(reduce)},
    SS_SPEC_NOTES,
    {.name = NULL}};
static const struct ss_object_spec pick_spec = {.name = "pick", .field = pick_fields};
static const struct ss_field_spec picked_forms[] = {{NULL, "a formula over those before", SS_IS_NAME},
                                                    {NULL, NULL, SS_IS_NUMBER},
                                                    {NULL, NULL, SS_IS_OBJECT(&pick_spec)},
                                                    {.name = NULL}};
static const struct ss_field_spec picked = {NULL, NULL, SS_IS_EITHER(picked_forms)};
const struct ss_object_spec ss_picks_fields = {.says = "numbers by name", .others = &picked};

static bool fits(const struct wanted *w, const cJSON *record) {
  if (w->of && !ss_record_is_of(record, w->of)) return false;
  if (w->ranks.at && !ss_field_is(ss_json_get(record, "ranks"), w->ranks.at)) return false;
  return ss_record_lies_at(record, w->at);
}

/* The number that a record is about, if nothing else is asked for. */
static bool time_of(const cJSON *record, double *out) {
  static const char *const keys[] = {"time_s", "iteration_s", "loss_end", NULL};
  for (size_t i = 0; keys[i]; i++) {
    const cJSON *time = ss_json_get(record, keys[i]);
    if (!cJSON_IsNumber(time)) continue;
    *out = time->valuedouble;
    return true;
  }
  return false;
}

/* --- what a record gives ------------------------------------------------------------------------------------ */

struct fields {
  struct ss_variable value[FIELDS_MAX];
  char name[FIELDS_MAX][NAME_SIZE];
  size_t count;
};

/* "cluster.bandwidth" is cluster_bandwidth in an expression; what does not fit has no name there. */
static void add_field(struct fields *f, const char *prefix, const char *name, double value) {
  if (f->count == FIELDS_MAX || snprintf(f->name[f->count], NAME_SIZE, "%s%s", prefix, name) >= NAME_SIZE) return;
  for (char *c = f->name[f->count]; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  f->value[f->count] = (struct ss_variable){f->name[f->count], value};
  f->count++;
}

static void add_members(struct fields *f, const char *prefix, const cJSON *object) {
  for (const cJSON *item = object ? object->child : NULL; item; item = item->next)
    if (cJSON_IsNumber(item)) add_field(f, prefix, item->string, item->valuedouble);
    else if (cJSON_IsBool(item)) add_field(f, prefix, item->string, cJSON_IsTrue(item));
}

/* The times of other schemes in the record's cell, under the names that "beside" gives them. */
static bool add_beside(struct fields *f, const struct wanted *w, const cJSON *record, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(w->beside); ss_node_present(n); n = ss_node_next(n)) {
    const char *label;
    if (!ss_node_text(n, &label, error)) return false;
    const cJSON *found = ss_record_beside(w->records, record, label);
    if (!found) return ss_node_fail(n, error, "no point of \"%s\" stands there", label);
    double time;
    if (!time_of(found, &time)) return ss_node_fail(n, error, "the point of \"%s\" has no \"time_s\"", label);
    add_field(f, "", ss_node_key(n), time);
  }
  return true;
}

static bool collect(struct fields *f, const struct wanted *w, const cJSON *record, struct ss_error *error) {
  f->count = 0;
  add_members(f, "", record);
  add_members(f, "", ss_json_get(record, "at"));
  add_members(f, "option_", ss_json_get(record, "options"));
  if (!add_beside(f, w, record, error)) return false;
  for (size_t i = 0; i < w->values->count; i++) add_field(f, "", w->values->value[i].name, w->values->value[i].value);
  return true;
}

/* --- many to one -------------------------------------------------------------------------------------------- */

struct tally {
  double least, most, sum, squares, first;
  size_t count;
};

static void add(struct tally *t, double value) {
  if (t->count == 0) t->least = t->most = t->first = value;
  t->least = fmin(t->least, value);
  t->most = fmax(t->most, value);
  t->sum += value;
  t->squares += (value - t->first) * (value - t->first);
  t->count++;
}

static bool conclude(const struct tally *t, enum reduce reduce, struct ss_node pick, double *out,
                     struct ss_error *error) {
  const double n = (double)t->count, mean = t->sum / n;
  if (t->count == 0 && reduce != COUNT) return ss_node_fail(pick, error, "no point fits");
  switch (reduce) {
  case ONLY: *out = t->sum; break;
  case LEAST: *out = t->least; break;
  case MOST: *out = t->most; break;
  case MEAN: *out = mean; break;
  case SUM: *out = t->sum; break;
  case COUNT: *out = n; break;
  case FIRST: *out = t->first; break;
  case DEVIATION:
    *out = t->count > 1 ? sqrt(fmax(0, t->squares - n * (mean - t->first) * (mean - t->first)) / (n - 1)) : 0;
    break;
  }
  return reduce != ONLY || t->count == 1 ||
         ss_node_fail(pick, error, "%zu points fit, not one: narrow it down, or say \"reduce\"", t->count);
}

/* The numbers of the record's array, "range" [from, to) of them. */
static bool add_array(struct tally *t, const struct wanted *w, const cJSON *record, struct ss_error *error) {
  const char *name;
  const struct ss_node range = w->range;
  uint64_t from = 0, to = UINT64_MAX, at = 0;
  if (!ss_node_text(w->array, &name, error)) return false;
  if (ss_node_present(range) &&
      (ss_node_size(range) != 2 || !ss_node_count(ss_node_first(range), 0, 1 << 30, &from, error) ||
       !ss_node_count(ss_node_next(ss_node_first(range)), 0, 1 << 30, &to, error)))
    return ss_node_fail(range, error, "expected [from, to)");
  const cJSON *array = ss_json_get(record, name);
  for (const cJSON *n = array ? array->child : NULL; n; n = n->next, at++)
    if (at >= from && at < to && cJSON_IsNumber(n)) add(t, n->valuedouble);
  return true;
}

static bool add_record(struct tally *t, const struct wanted *w, const cJSON *record, struct fields *f,
                       struct ss_error *error) {
  double value = NAN, holds = 1;
  if (ss_node_present(w->array)) return add_array(t, w, record, error);
  if (!collect(f, w, record, error)) return false;
  const struct ss_picked values = {f->value, f->count};
  if (ss_node_present(w->where) && !ss_picked_evaluate(w->where, &values, &holds, error)) return false;
  if (holds == 0) return true;
  if (!ss_node_present(w->value)) {
    if (!time_of(record, &value)) return ss_node_fail(w->pick, error, "the point has no \"time_s\": say \"value\"");
  } else if (!ss_picked_evaluate(w->value, &values, &value, error)) {
    return false;
  }
  add(t, value);
  return true;
}

static bool pick_records(struct wanted *w, double *out, struct ss_error *error) {
  struct tally t = {0};
  SS_AUTO_FREE struct fields *f = ss_alloc(1, sizeof *f);
  bool ok = f || ss_fail_memory(error, "picking a value");
  for (const cJSON *p = w->records->child; ok && p; p = p->next) ok = !fits(w, p) || add_record(&t, w, p, f, error);
  return ok && conclude(&t, w->reduce, w->pick, out, error);
}

static bool pick_path(struct ss_node path, const cJSON *result, double *out, struct ss_error *error) {
  const char *text;
  if (!ss_node_text(path, &text, error)) return false;
  const cJSON *at = ss_field_find(result, text);
  if (!cJSON_IsNumber(at))
    return ss_node_fail(path, error, "nothing numeric stands at \"%s\" of what the input gave", text);
  *out = at->valuedouble;
  return true;
}

bool ss_pick(struct ss_node pick, const cJSON *result, const struct ss_picked *values, double *out,
             struct ss_error *error) {
  static const char *const by_path[] = {"from", "path", "notes", NULL};
  struct ss_node path = ss_node_get(pick, "path");
  if (ss_node_present(path)) return ss_node_keys(pick, by_path, error) && pick_path(path, result, out, error);
  struct wanted w = {.pick = pick, .records = ss_records(result), .values = values, .reduce = ONLY};
  if (!ss_object_read(&pick_spec, pick, &w, error)) return false;
  if (!w.records) return ss_node_fail(pick, error, "the input has no points: say \"path\"");
  return pick_records(&w, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
