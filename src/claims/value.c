/* Values of a claim: picked from a command's JSON, and expressions over them. */
#include "claims/claims.h"

#include "base/list.h"
#include "base/memory.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 160, NAME_SIZE = 64 };

/* --- values by name ----------------------------------------------------------------------------------------- */

void ss_claim_values_free(struct ss_claim_values *values) {
  free(values->value);
  *values = (struct ss_claim_values){0};
}

bool ss_claim_values_add(struct ss_claim_values *values, const char *name, double value, struct ss_error *error) {
  if (!ss_grow(values->value, values->capacity, values->count + 1)) return ss_fail_memory(error, "judging claims");
  values->value[values->count++] = (struct ss_variable){name, value};
  return true;
}

static bool evaluate(struct ss_node node, const struct ss_variable *value, size_t count, double *out,
                     struct ss_error *error) {
  const char *text;
  struct ss_error problem = {0};
  if (ss_node_is_number(node)) return ss_node_quantity(node, SS_NUMBER, out, error);
  if (!ss_node_text(node, &text, error)) return false;
  if (ss_expression_evaluate(text, value, count, out, &problem)) return true;
  (void)ss_node_fail(node, error, "%s", problem.text);
  if (error) error->status = problem.status;
  return false;
}

bool ss_claim_expression(struct ss_node node, const struct ss_claim_values *values, double *out,
                         struct ss_error *error) {
  return evaluate(node, values->value, values->count, out, error);
}

/* --- which points ------------------------------------------------------------------------------------------- */

static bool text_is(struct ss_node node, const char *text) {
  return ss_node_is_text(node) && strcmp(node.at->valuestring, text) == 0;
}

/* Results and curves name a scheme by its label, closed forms by their file, trainings the system. */
static bool is_of(struct ss_node point, const char *name) {
  static const char *const keys[] = {"label", "form", "system", NULL};
  for (size_t i = 0; keys[i]; i++)
    if (text_is(ss_node_get(point, keys[i]), name)) return true;
  return false;
}

static bool same_value(struct ss_node have, struct ss_node wanted) {
  if (ss_node_is_number(have) && ss_node_is_number(wanted))
    return fabs(have.at->valuedouble - wanted.at->valuedouble) <= 1e-9 * fabs(wanted.at->valuedouble);
  return ss_node_is_text(wanted) && text_is(have, wanted.at->valuestring);
}

/* Where a sweep put it; what no sweep changes (a training's "workload") is a field of the point itself. */
static bool lies_at(struct ss_node point, struct ss_node at) {
  struct ss_node place = ss_node_get(point, "at");
  for (struct ss_node n = ss_node_first(at); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_node have = ss_node_get(place, ss_node_key(n));
    if (!same_value(ss_node_present(have) ? have : ss_node_get(point, ss_node_key(n)), n)) return false;
  }
  return true;
}

/* The number that a point is about, if nothing else is asked for. */
static bool time_of(struct ss_node point, double *out) {
  static const char *const keys[] = {"time_s", "iteration_s", "loss_end", NULL};
  for (size_t i = 0; keys[i]; i++) {
    const struct ss_node time = ss_node_get(point, keys[i]);
    if (!ss_node_is_number(time)) continue;
    *out = time.at->valuedouble;
    return true;
  }
  return false;
}

/* The list of points of a command: results, trainings, or curves of losses. */
static struct ss_node points_of(struct ss_node root) {
  static const char *const keys[] = {"points", "training", "curves", NULL};
  struct ss_node points = {0};
  for (size_t i = 0; keys[i] && !ss_node_is_array(points); i++) points = ss_node_get(root, keys[i]);
  return points;
}

static bool same_place(struct ss_node a, struct ss_node b) {
  static const char *const keys[] = {"ranks", "workload", "tensor", "at", NULL};
  for (size_t i = 0; keys[i]; i++) {
    struct ss_node left = ss_node_get(a, keys[i]), right = ss_node_get(b, keys[i]);
    if (ss_node_present(left) && !cJSON_Compare(left.at, right.at, true)) return false;
  }
  return true;
}

struct options {
  struct ss_node pick, points, ranks, at, value, where, beside, array;
  const char *of; /* NULL: any */
  const struct ss_claim_values *values;
};

static bool wanted(const struct options *w, struct ss_node point) {
  if (w->of && !is_of(point, w->of)) return false;
  if (ss_node_present(w->ranks) && !same_value(ss_node_get(point, "ranks"), w->ranks)) return false;
  return lies_at(point, w->at);
}

/* --- what a point gives --------------------------------------------------------------------------------------- */

struct fields {
  struct ss_variable value[FIELDS_MAX];
  char name[FIELDS_MAX][NAME_SIZE];
  size_t count;
};

/* "cluster.bandwidth" is cluster_bandwidth in an expression. */
static void add_field(struct fields *f, const char *prefix, const char *name, double value) {
  if (f->count == FIELDS_MAX) return;
  snprintf(f->name[f->count], NAME_SIZE, "%s%s", prefix, name);
  for (char *c = f->name[f->count]; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  f->value[f->count] = (struct ss_variable){f->name[f->count], value};
  f->count++;
}

static void add_members(struct fields *f, const char *prefix, struct ss_node node) {
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (ss_node_is_number(n)) add_field(f, prefix, ss_node_key(n), n.at->valuedouble);
    else if (ss_node_is_flag(n)) add_field(f, prefix, ss_node_key(n), cJSON_IsTrue(n.at));
}

/* The times of other schemes at the point's place, under the names that "beside" gives them. */
static bool add_beside(struct fields *f, const struct options *w, struct ss_node point, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(w->beside); ss_node_present(n); n = ss_node_next(n)) {
    const char *label;
    struct ss_node found = {0};
    if (!ss_node_text(n, &label, error)) return false;
    for (struct ss_node p = ss_node_first(w->points); ss_node_present(p) && !ss_node_present(found);
         p = ss_node_next(p))
      if (is_of(p, label) && same_place(p, point)) found = p;
    if (!ss_node_present(found)) return ss_node_fail(n, error, "no point of \"%s\" stands there", label);
    double time;
    if (!time_of(found, &time)) return ss_node_fail(n, error, "the point of \"%s\" has no \"time_s\"", label);
    add_field(f, "", ss_node_key(n), time);
  }
  return true;
}

static bool collect(struct fields *f, const struct options *w, struct ss_node point, struct ss_error *error) {
  f->count = 0;
  add_members(f, "", point);
  add_members(f, "", ss_node_get(point, "at"));
  add_members(f, "option_", ss_node_get(point, "options"));
  if (!add_beside(f, w, point, error)) return false;
  for (size_t i = 0; i < w->values->count; i++) add_field(f, "", w->values->value[i].name, w->values->value[i].value);
  return true;
}

/* --- many to one ---------------------------------------------------------------------------------------------- */

enum reduce { ONLY, LEAST, MOST, MEAN, SUM, COUNT, DEVIATION, FIRST };
static const char *const reduces[] = {"only", "min", "max", "mean", "sum", "count", "deviation", "first", NULL};

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

/* The numbers of the point's array, "range" [from, to) of them. */
static bool add_array(struct tally *t, const struct options *w, struct ss_node point, struct ss_error *error) {
  const char *name;
  struct ss_node range = ss_node_get(w->pick, "range");
  uint64_t from = 0, to = UINT64_MAX, at = 0;
  if (!ss_node_text(w->array, &name, error)) return false;
  if (ss_node_present(range) &&
      (ss_node_size(range) != 2 || !ss_node_count(ss_node_first(range), 0, 1 << 30, &from, error) ||
       !ss_node_count(ss_node_next(ss_node_first(range)), 0, 1 << 30, &to, error)))
    return ss_node_fail(range, error, "expected [from, to)");
  for (struct ss_node n = ss_node_first(ss_node_get(point, name)); ss_node_present(n); n = ss_node_next(n), at++)
    if (at >= from && at < to && ss_node_is_number(n)) add(t, n.at->valuedouble);
  return true;
}

static bool add_point(struct tally *t, const struct options *w, struct ss_node point, struct fields *f,
                      struct ss_error *error) {
  double value = NAN, holds = 1;
  if (ss_node_present(w->array)) return add_array(t, w, point, error);
  if (!collect(f, w, point, error)) return false;
  if (ss_node_present(w->where) && !evaluate(w->where, f->value, f->count, &holds, error)) return false;
  if (holds == 0) return true;
  if (!ss_node_present(w->value)) {
    if (!time_of(point, &value)) return ss_node_fail(w->pick, error, "the point has no \"time_s\": say \"value\"");
  } else if (!evaluate(w->value, f->value, f->count, &value, error)) {
    return false;
  }
  add(t, value);
  return true;
}

static bool pick_points(struct options *w, double *out, struct ss_error *error) {
  struct ss_node of = ss_node_get(w->pick, "of"), reduce = ss_node_get(w->pick, "reduce");
  struct tally t = {0};
  size_t choice = ONLY;
  if (ss_node_present(of) && !ss_node_text(of, &w->of, error)) return false;
  if (ss_node_present(reduce) && !ss_node_choice(reduce, reduces, &choice, error)) return false;
  struct fields *f = ss_alloc(1, sizeof *f);
  bool ok = f || ss_fail_memory(error, "judging claims");
  for (struct ss_node p = ss_node_first(w->points); ok && ss_node_present(p); p = ss_node_next(p))
    ok = !wanted(w, p) || add_point(&t, w, p, f, error);
  free(f);
  return ok && conclude(&t, (enum reduce)choice, w->pick, out, error);
}

/* --- by path -------------------------------------------------------------------------------------------------- */

/* "tensors.0.skewness.8": names, and places in arrays. */
static bool pick_path(struct ss_node path, struct ss_node root, double *out, struct ss_error *error) {
  const char *text;
  if (!ss_node_text(path, &text, error)) return false;
  SS_AUTO_FREE char *copy = strdup(text);
  char *rest = copy;
  if (!copy) return ss_fail_memory(error, "judging claims");
  struct ss_node at = root;
  for (char *step; ss_node_present(at) && (step = strsep(&rest, "."));) {
    uint64_t place = 0;
    if (!ss_node_is_array(at)) {
      at = ss_node_get(at, step);
      continue;
    }
    if (!ss_count_parse(step, "place", 0, 1 << 30, &place, NULL))
      return ss_node_fail(path, error, "\"%s\" is no place of a list", step);
    at = ss_node_first(at);
    for (; place > 0 && ss_node_present(at); place--) at = ss_node_next(at);
  }
  if (!ss_node_is_number(at))
    return ss_node_fail(path, error, "nothing numeric stands at \"%s\" of what the input gave", text);
  *out = at.at->valuedouble;
  return true;
}

bool ss_claim_pick(struct ss_node pick, struct ss_node root, const struct ss_claim_values *values, double *out,
                   struct ss_error *error) {
  static const char *const by_path[] = {"from", "path", "notes", NULL};
  static const char *const by_point[] = {"from",  "of",    "ranks",  "at",     "value", "where",
                                         "array", "range", "beside", "reduce", "notes", NULL};
  struct ss_node path = ss_node_get(pick, "path");
  if (!ss_node_keys(pick, ss_node_present(path) ? by_path : by_point, error)) return false;
  if (ss_node_present(path)) return pick_path(path, root, out, error);
  struct options w = {.pick = pick,
                      .points = points_of(root),
                      .ranks = ss_node_get(pick, "ranks"),
                      .at = ss_node_get(pick, "at"),
                      .value = ss_node_get(pick, "value"),
                      .where = ss_node_get(pick, "where"),
                      .beside = ss_node_get(pick, "beside"),
                      .array = ss_node_get(pick, "array"),
                      .values = values};
  if (!ss_node_is_array(w.points)) return ss_node_fail(pick, error, "the input has no points: say \"path\"");
  return pick_points(&w, out, error);
}
