#include "query/baselines.h"

#include "query/verdict.h"

/* --- inputs ----------------------------------------------------------------------------------------------- */

/* What decides nothing. */
static void drop_words(cJSON *object) {
  static const char *const words[] = {"name", "summary", "notes", "source", "expect"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) cJSON_DeleteItemFromObjectCaseSensitive(object, words[i]);
}

static bool add_model(cJSON *root, cJSON *scenario, const cJSON *entry) {
  const char *kind = ss_json_word(entry, "kind");
  cJSON *model = cJSON_Duplicate(ss_json_get(entry, "model"), true);
  char key[32];
  snprintf(key, sizeof key, "%ss", kind);
  cJSON *all = ss_json_get(root, key);
  if (!all) all = cJSON_AddObjectToObject(root, key);
  const char *name = ss_json_word(model, "name");
  if (!name) name = "inline";
  cJSON_DeleteItemFromObjectCaseSensitive(scenario, kind); /* it stands among the models */
  if (!ss_json_put(all, name, model)) return false;
  drop_words(model); /* its name, too */
  return true;
}

cJSON *ss_study_inputs(const struct ss_study *study) {
  SS_AUTO_JSON cJSON *root = ss_json_object(SS_J("scenario", cJSON_Duplicate(ss_study_resolved(study), true)));
  cJSON *scenario = ss_json_get(root, "scenario"), *out = root;
  if (!scenario) return NULL;
  drop_words(scenario);
  for (const cJSON *m = ss_study_models(study)->child; m; m = m->next)
    if (!add_model(root, scenario, m)) return NULL;
  root = NULL;
  return out;
}

/* NULL: none are stored. */
static cJSON *changed_inputs(struct ss_doc *stored, const cJSON *now) {
  const struct ss_node was = ss_node_get(ss_doc_root(stored), "inputs");
  cJSON *list = ss_node_is_object(was) ? cJSON_CreateArray() : NULL;
  if (list) ss_json_differences(list, "", was.at, now);
  return list;
}

/* --- which point is which --------------------------------------------------------------------------------- */

static const char *const names[] = {"label", "ranks", "tensor", "at"};
enum { NAMES = sizeof names / sizeof *names };

/* What tells the point from others of its file. */
static struct ss_identity key_of(const cJSON *point) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < NAMES; i++) {
    cJSON *value = ss_json_get(point, names[i]);
    if (value) cJSON_AddItemReferenceToArray(list, value);
    else cJSON_AddItemToArray(list, cJSON_CreateNull());
  }
  const struct ss_identity key = ss_identity_of(list);
  cJSON_Delete(list);
  return key;
}

/* A point of a file has only fields that points have: a misspelt one would be held against nothing. */
static bool check_fields(struct ss_node point, struct ss_error *error) {
  static const char *const words[] = {"scheme",
                                      "label",
                                      "options",
                                      "offered",
                                      "ranks",
                                      "tensor",
                                      "at",
                                      "cluster",
                                      "device",
                                      "trace",
                                      "extrapolated_from",
                                      "trace_hash",
                                      "seed",
                                      "iterations",
                                      "point_hash",
                                      "result_hash",
                                      "dense",
                                      "bound_by",
                                      "links",
                                      "kernels",
                                      "lossless",
                                      "exact",
                                      "placed",
                                      "formula",
                                      "formula_low",
                                      "formula_high",
                                      "paper",
                                      "erratum",
                                      "iteration_s",
                                      "draw_s",
                                      "rank_bytes_sent",
                                      "rank_bytes_received"};
  enum { WORDS = sizeof words / sizeof *words };
  const char *known[WORDS + SS_RESULT_FIELDS + 1] = {NULL};
  memcpy(known, words, sizeof words);
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) known[WORDS + i] = ss_result_fields[i].name;
  return ss_node_keys(point, known, error);
}

/* Also that it has values: a point without them, or with misspelt ones, would agree with any. Other fields may be
 * younger than it. */
static bool check_stored(struct ss_node point, struct ss_error *error) {
  static const char *const values[] = {"time_s", "messages", "bytes_total"};
  struct ss_node label, ranks, tensor, at, field;
  const char *text;
  uint64_t count;
  double value;
  if (!ss_node_need(point, "label", &label, error) || !ss_node_text(label, &text, error) ||
      !ss_node_need(point, "ranks", &ranks, error) || !ss_node_count(ranks, 1, UINT32_MAX, &count, error) ||
      !ss_node_need(point, "tensor", &tensor, error) || !ss_node_text(tensor, &text, error) ||
      !ss_node_need(point, "at", &at, error))
    return false;
  if (!ss_node_is_object(at)) return ss_node_fail(at, error, "expected an object: a place in the sweep");
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (!ss_node_need(point, values[i], &field, error)) return false;
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++)
    if (!ss_result_read_number(point, i, &value, error)) return false;
  return check_fields(point, error);
}

/* What one comparison works with. */
struct comparing {
  struct ss_keyed *key; /* [count] of the stored points, sorted */
  const cJSON **stored; /* [count] in their order */
  bool *met;            /* [count] by a new one */
  size_t count;
  double tolerance;
  struct ss_diff *diff;
  cJSON *changes, *origins; /* as ss_diff's tree has them; inputs that points say themselves */
};

static bool list_stored(struct ss_node points, struct comparing *c, struct ss_error *error) {
  const size_t all = ss_node_size(points);
  if (all == 0) return ss_node_fail(points, error, "no points: nothing to compare with");
  c->key = ss_alloc(all, sizeof *c->key);
  c->stored = ss_alloc(all, sizeof *c->stored);
  c->met = ss_alloc_zero(all, sizeof *c->met);
  if (!c->key || !c->stored || !c->met) return ss_fail_memory(error, "comparing results");
  for (struct ss_node n = ss_node_first(points); ss_node_present(n); n = ss_node_next(n)) {
    if (!check_stored(n, error)) return false;
    c->key[c->count] = (struct ss_keyed){key_of(n.at), c->count};
    c->stored[c->count++] = n.at;
  }
  ss_keyed_sort(c->key, c->count);
  return true;
}

/* --- what moved ------------------------------------------------------------------------------------------- */

/* Holds the new point against the stored one. "exact" is a miss without numbers. */
static bool compare(const cJSON *stored, const cJSON *now, double tolerance, struct ss_verdict *out) {
  *out = (struct ss_verdict){.promise = stored, .record = now, .points = 1};
  bool good = true;
  for (size_t i = 0; good && i < SS_RESULT_FIELDS; i++) {
    const struct ss_result_field *field = &ss_result_fields[i];
    const cJSON *was = ss_json_get(stored, field->name);
    struct ss_miss miss = {.record = now, .field = field->name, .against = ss_json_number(stored, field->name)};
    miss.found = ss_json_number(now, field->name);
    if (was && !(field->is & SS_FIELD_BESIDE) &&
        ss_number_moved(miss.against, miss.found, field->is & SS_FIELD_COUNTS ? 0 : tolerance))
      good = ss_verdict_add_miss(out, miss);
  }
  const cJSON *was = ss_json_get(stored, "exact"), *is = ss_json_get(now, "exact");
  const bool same = !was || (cJSON_IsBool(was) && cJSON_IsBool(is) ? cJSON_IsTrue(was) == cJSON_IsTrue(is)
                                                                   : !cJSON_IsBool(was) && !cJSON_IsBool(is));
  return good && (same || ss_verdict_add_miss(out, (struct ss_miss){now, 0, "exact", NAN, NAN}));
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

/* What else is not what it was: why the numbers may have moved. */
static void add_differing(cJSON *list, const cJSON *was, const cJSON *now) {
  static const char *const inputs[] = {"scheme", "options",    "cluster", "device", "trace",
                                       "seed",   "trace_hash", "paper",   "formula"};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    const cJSON *a = ss_json_get(was, inputs[i]);
    const cJSON *b = ss_json_get(now, inputs[i]);
    if (a && b && !cJSON_Compare(a, b, 1)) cJSON_AddItemToArray(list, cJSON_CreateString(inputs[i]));
  }
}

static cJSON *moved_json(const struct ss_miss *miss) {
  return ss_json_object(SS_T("field", miss->field), SS_N("was", miss->against), SS_N("now", miss->found),
                        SS_N("relative", miss->against != 0 ? miss->found / miss->against - 1 : NAN));
}

/* Of a time that moved: is it within the range that was stored? An older file has none: the range is today's. */
static void add_range(cJSON *object, const struct ss_verdict *v) {
  const cJSON *said = isfinite(ss_json_number(v->promise, "time_low_s")) ? v->promise : v->record;
  const double low = ss_json_number(said, "time_low_s"), high = ss_json_number(said, "time_high_s");
  for (size_t i = 0; i < v->misses; i++) {
    if (strcmp(v->miss[i].field, "time_s") != 0 || !isfinite(low)) continue;
    const double time = said == v->promise ? v->miss[i].found : v->miss[i].against;
    ss_json_add(object, SS_B("within_range", time >= low && time <= high));
  }
}

static cJSON *change_json(const struct ss_verdict *v) {
  const cJSON *from = v->record ? v->record : v->promise;
  cJSON *o = ss_json_object(SS_T("change", !v->promise ? "new" : v->record ? "moved" : "missing"));
  for (size_t i = 0; i < NAMES; i++)
    cJSON_AddItemToObject(o, names[i], cJSON_Duplicate(ss_json_get(from, names[i]), 1));
  cJSON *fields = cJSON_AddArrayToObject(o, "fields"), *differs = cJSON_AddArrayToObject(o, "differs");
  for (size_t i = 0; i < v->misses; i++)
    if (strcmp(v->miss[i].field, "exact") == 0) cJSON_AddItemToArray(differs, cJSON_CreateString("exact"));
    else cJSON_AddItemToArray(fields, moved_json(&v->miss[i]));
  if (v->promise && v->record) {
    add_differing(differs, v->promise, v->record);
    add_range(o, v);
  }
  return o;
}

/* What a point comes of whose numbers are the same and do not tell it: once for all points. */
static void add_origins(struct comparing *c, const cJSON *was, const cJSON *now) {
  static const char *const origins[] = {"trace_hash", "seed", "iterations"};
  char path[32];
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    const cJSON *a = ss_json_get(was, origins[i]), *b = ss_json_get(now, origins[i]);
    bool known = !a || !b || cJSON_Compare(a, b, true);
    (void)snprintf(path, sizeof path, "points.%s", origins[i]);
    for (const cJSON *o = c->origins->child; o && !known; o = o->next)
      known = strcmp(ss_json_word(o, "input"), path) == 0;
    if (!known)
      cJSON_AddItemToArray(c->origins, ss_json_object(SS_T("input", path), SS_J("was", cJSON_Duplicate(a, true)),
                                                      SS_J("now", cJSON_Duplicate(b, true))));
  }
}

static bool hold_against(struct comparing *c, const cJSON *now) {
  struct ss_verdict verdict = {.record = now};
  const struct ss_keyed *found = ss_keyed_find(c->key, c->count, key_of(now));
  bool good = !found || compare(c->stored[found->index], now, c->tolerance, &verdict);
  if (found) c->met[found->index] = true;
  if (good && found && ss_verdict_holds(&verdict)) {
    c->diff->same++;
    add_origins(c, c->stored[found->index], now);
  } else if (good) {
    *(found ? &c->diff->moved : &c->diff->fresh) += 1;
    cJSON_AddItemToArray(c->changes, change_json(&verdict));
  }
  free(verdict.miss);
  return good;
}

static void add_missing(struct comparing *c) {
  for (size_t i = 0; i < c->count; i++) {
    if (c->met[i]) continue;
    c->diff->missing++;
    cJSON_AddItemToArray(c->changes, change_json(&(struct ss_verdict){.promise = c->stored[i]}));
  }
}

static void finish(struct comparing *c, struct ss_doc *stored, const cJSON *inputs) {
  struct ss_diff *diff = c->diff;
  cJSON *changed = changed_inputs(stored, inputs);
  if (c->origins->child && !(changed && changed->child)) { /* the scenario's fields do not tell it */
    cJSON_Delete(changed);
    changed = cJSON_Duplicate(c->origins, true);
  }
  ss_json_add(diff->tree, SS_T("baseline", ss_doc_name(stored)), SS_N("tolerance", c->tolerance),
              SS_N("same", (double)diff->same), SS_N("moved", (double)diff->moved), SS_N("new", (double)diff->fresh),
              SS_N("missing", (double)diff->missing), SS_J("inputs", changed ? changed : cJSON_CreateNull()),
              SS_J("changes", c->changes));
}

bool ss_diff_make(struct ss_doc *stored, const cJSON *inputs, const struct ss_results *results, const char *scenario,
                  double tolerance, struct ss_diff *out, struct ss_error *error) {
  *out = (struct ss_diff){.tree = cJSON_CreateObject()};
  struct comparing c = {
      .tolerance = tolerance, .diff = out, .changes = cJSON_CreateArray(), .origins = cJSON_CreateArray()};
  cJSON *root = ss_results_json(results, scenario);
  bool good = (root && out->tree && c.changes && c.origins) || ss_fail_memory(error, "comparing results");
  good = good && list_stored(ss_node_get(ss_doc_root(stored), "points"), &c, error);
  const cJSON *points = good ? ss_json_get(root, "points") : NULL;
  for (const cJSON *p = points ? points->child : NULL; good && p; p = p->next)
    good = hold_against(&c, p) || ss_fail_memory(error, "comparing results");
  if (good) {
    add_missing(&c);
    ss_json_add(out->tree, SS_T("sparsync", SS_VERSION), SS_T("scenario", scenario));
    finish(&c, stored, inputs);
  } else {
    cJSON_Delete(c.changes);
    ss_diff_free(out);
  }
  free(c.key);
  free((void *)c.stored);
  free(c.met);
  cJSON_Delete(c.origins);
  cJSON_Delete(root);
  return good;
}

void ss_diff_free(struct ss_diff *diff) {
  cJSON_Delete(diff->tree);
  *diff = (struct ss_diff){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
