#include "cost/forms.h"

#include "base/data.h"
#include "cost/form_grid.h"
#include "schemes/registry.h"

static const char *const patterns[] = {"ring", "exchange", "doubling", "servers", NULL};
static const struct ss_field_spec values[] = {{NULL, NULL, SS_IS_TEXT},
                                              {NULL, NULL, SS_IS_NUMBER},
                                              {NULL, NULL, SS_IS_FLAG},
                                              {.name = NULL}},
                                  a_value = {NULL, NULL, SS_IS_EITHER(values)},
                                  some_values[] = {{NULL, NULL, SS_IS_EITHER(values)},
                                                   {NULL, NULL, SS_IS_LIST(&a_value, 1, 0)},
                                                   {.name = NULL}},
                                  option_values = {NULL, NULL, SS_IS_EITHER(some_values)};
static const struct ss_object_spec when_spec = {.others = &option_values};
static const struct ss_field_spec a_step = {NULL, NULL, SS_IS_CHOICE(ss_cost_steps)};
static const struct ss_field_spec an_entry = {NULL, NULL, SS_IS_OBJECT(&ss_grid_entry_fields)};
static const struct ss_field_spec grids[] = {
    {NULL, NULL, SS_IS_OBJECT(&ss_grid_entry_fields)}, {NULL, NULL, SS_IS_LIST(&an_entry, 1, 0)}, {.name = NULL}};
#define FORM(member) SS_IS_TEXT, .nullable = true, SS_STORED(struct ss_cost, member)
static const struct ss_field_spec fields[] = {
    {"scheme", "one of `sparsync list schemes`", SS_IS_NAME, .required = true},
    SS_SPEC_SUMMARY,
    {"when", "the options for which the form holds; a list: any of these values", SS_IS_OBJECT(&when_spec)},
    {"where",
     "a formula of P, L, Q, q, f, S and what the setting says (D, k, b, c, r): the form holds where it is not zero",
     FORM(where)},
    {"exact", "what the schedule gives, in seconds; a formula of muParser", FORM(exact)},
    {"exact_low", "what the time is never below", FORM(exact_low), .with = "exact_high"},
    {"exact_high", "what it is never above", FORM(exact_high), .with = "exact_low"},
    {"steps",
     "its building blocks whose messages may be unlike, in order: what sizes that go first add follows from them",
     SS_IS_LIST(&a_step, 0, 16)},
    {"broadcasts", "the exact form where gathers go as groups of broadcasts", FORM(broadcasts)},
    {"paper", "as printed", FORM(paper)},
    {"paper_low", NULL, FORM(paper_low)},
    {"paper_high", NULL, FORM(paper_high)},
    {"printed_in", NULL, FORM(printed_in)},
    {"assumes", NULL, FORM(assumes)},
    {"erratum", "where the printed form is wrong, loose or silent", FORM(erratum)},
    {"grid", "where sparsync check plays it: one entry, or several", SS_IS_EITHER(grids)},
    SS_SPEC_NOTES,
    {"pattern", "who sends to whom: what nodes and shared cards make of the form follows from it",
     SS_IS_CHOICE(patterns), SS_STORED(struct ss_cost, pattern)},
    {.name = NULL}};
const struct ss_object_spec ss_cost_fields = {
    .title = "A cost model: models/costs/*.json",
    .says = "Symbols and functions of formulas: docs/model.md, \"Closed forms\"",
    .field = fields,
    .rules =
        "{'allOf': [{'if': {'properties': {'exact': {'type': 'string'}}, 'required': ['exact']}, 'then': "
        "{'required': "
        "['grid']}}, {'if': {'properties': {'exact_low': {'type': 'string'}}, 'required': ['exact_low']}, 'then': "
        "{'required': ['exact_high', 'grid']}}, {'if': {'properties': {'exact_high': {'type': 'string'}}, "
        "'required': "
        "['exact_high']}, 'then': {'required': ['exact_low']}}]}"};

static const struct ss_option *option_of(const struct ss_scheme *scheme, const char *name) {
  for (const struct ss_option *o = scheme->options; o && o->name; o++)
    if (strcmp(o->name, name) == 0) return o;
  return NULL;
}

/* Every key of `when` must be an option of the scheme, or a common one; its value may be a list of such. */
static bool check_when(struct ss_cost *cost, struct ss_error *error) {
  if (!ss_node_present(cost->when)) return true;
  if (!ss_node_is_object(cost->when)) return ss_node_fail(cost->when, error, "expected an object of options");
  for (struct ss_node n = ss_node_first(cost->when); ss_node_present(n); n = ss_node_next(n)) {
    const char *key = ss_node_key(n);
    if (strcmp(key, "granularity") == 0 || strcmp(key, "sizes") == 0) continue;
    if (!option_of(cost->scheme, key))
      return ss_node_fail(n, error, "scheme \"%s\" has no option \"%s\"", cost->scheme->name, key);
    if (ss_node_is_array(n) && ss_node_size(n) == 0)
      return ss_node_fail(n, error, "expected a value or a list of some");
  }
  return true;
}

/* Sets option `key`; of a list, the value at `index` or the last. */
static void put_option(cJSON *object, struct ss_node value, size_t index) {
  const char *key = ss_node_key(value);
  struct ss_node chosen = value;
  if (ss_node_is_array(value)) {
    chosen = ss_node_first(value);
    for (size_t i = 0; i < index && i + 1 < ss_node_size(value); i++) chosen = ss_node_next(chosen);
  }
  cJSON_DeleteItemFromObjectCaseSensitive(object, key);
  cJSON_AddItemToObject(object, key, cJSON_Duplicate(chosen.at, 1));
}

/* `index` says which of the values that `when` lists. */
static bool make_setting(const struct ss_cost *cost, struct ss_node options, size_t index, struct ss_setting *out,
                         struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = 4};
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  cJSON *object = ss_json_object(SS_T("name", cost->scheme->name));
  for (struct ss_node n = ss_node_first(cost->when); ss_node_present(n); n = ss_node_next(n))
    put_option(object, n, index);
  for (struct ss_node n = ss_node_first(options); ss_node_present(n); n = ss_node_next(n)) put_option(object, n, 0);
  if (!ss_doc_adopt(cost->file, object, &doc, error) || !ss_setting_read(ss_doc_root(doc), &defaults, out, error))
    return false;
  out->exchange_sizes = out->exchange_sizes || cost->exchanged;
  if (cost->ragged) out->ragged = cost->ragged;
  return true;
}

bool ss_cost_setting(const struct ss_cost *cost, struct ss_node options, struct ss_setting *out,
                     struct ss_error *error) {
  return make_setting(cost, options, 0, out, error);
}

/* Reads every value that `when` lists as an option of the scheme. */
static bool try_settings(const struct ss_cost *cost, struct ss_error *error) {
  size_t most = 1;
  struct ss_setting setting;
  for (struct ss_node n = ss_node_first(cost->when); ss_node_present(n); n = ss_node_next(n))
    if (ss_node_is_array(n) && ss_node_size(n) > most) most = ss_node_size(n);
  for (size_t index = 0; index < most; index++)
    if (!make_setting(cost, (struct ss_node){0}, index, &setting, error)) return false;
  return true;
}

static bool read_cost(struct ss_doc *doc, struct ss_cost *out, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(doc), scheme = ss_node_get(root, "scheme");
  const char *name;
  *out = (struct ss_cost){.file = ss_doc_name(doc),
                          .pattern = SS_PATTERN_NONE,
                          .when = ss_node_get(root, "when"),
                          .grid = ss_node_get(root, "grid"),
                          .steps = ss_node_get(root, "steps")};
  if (!ss_object_read(&ss_cost_fields, root, out, error) || !ss_node_text(scheme, &name, error)) return false;
  out->scheme = ss_scheme_find(name);
  if (!out->scheme) return ss_node_fail(scheme, error, "no scheme is called \"%s\"", name);
  const char *const formulas[] = {out->where, out->exact,     out->exact_low,  out->exact_high,
                                  out->paper, out->paper_low, out->paper_high, out->broadcasts};
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
    if (formulas[i] && !ss_formula_check(formulas[i], out->scheme->options, error))
      return ss_fail_prefix(error, "%s", out->file);
  return check_when(out, error) && try_settings(out, error);
}

static bool read_file(const char *file, struct ss_doc **doc, struct ss_cost *out, struct ss_arena *arena,
                      struct ss_error *error) {
  char path[PATH_MAX];
  return ss_data_find("costs", file, path, sizeof path, error) && ss_doc_read(path, 1 << 20, doc, error) &&
         read_cost(*doc, out, error) && ss_cost_add_ways(out, arena, error);
}

bool ss_costs_open(const char *const *files, size_t count, struct ss_costs *out, struct ss_error *error) {
  SS_AUTO_FREE char **names = NULL;
  bool ok = true;
  *out = (struct ss_costs){0};
  if (count == 0) {
    if (!ss_data_list("costs", &names, &count, error)) return false;
    files = (const char *const *)names;
  }
  out->cost = ss_alloc_zero(count, sizeof *out->cost);
  out->doc = ss_alloc_zero(count, sizeof *out->doc);
  if (!out->cost || !out->doc) ok = ss_fail_memory(error, "reading closed forms");
  for (size_t i = 0; ok && i < count; i++) {
    const size_t at = out->count++;
    struct ss_error why = {0};
    ok = read_file(files[i], &out->doc[at], &out->cost[at], &out->arena, &why);
    if (ok) continue;
    /* one that this program cannot read, as a newer one's, stops no other where none was named */
    if (names && why.status == SS_BAD_INPUT) {
      if (!out->left_out.text[0]) out->left_out = why;
      ss_doc_free(out->doc[at]);
      out->doc[--out->count] = NULL;
      ok = true;
    } else if (error) *error = why;
  }
  if (!ok) ss_costs_close(out);
  return ok;
}

void ss_costs_tell(const struct ss_costs *costs, const struct ss_notice *notice) {
  char text[sizeof costs->left_out.text + 80];
  if (!costs->left_out.text[0]) return;
  snprintf(text, sizeof text, "a closed form that this program cannot read is left out: %s", costs->left_out.text);
  ss_notice_tell(notice, text);
}

void ss_costs_close(struct ss_costs *costs) {
  for (size_t i = 0; costs->doc && i < costs->count; i++) ss_doc_free(costs->doc[i]);
  free(costs->doc);
  free(costs->cost);
  ss_arena_free(&costs->arena);
  *costs = (struct ss_costs){0};
}

/* --- which form a setting has --------------------------------------------------------------------------- */

static bool met_value(struct ss_node wanted, const char *key, const struct ss_setting *setting) {
  const char *text = NULL;
  bool flag = false;
  uint64_t count = 0;
  if (ss_node_is_text(wanted) && !ss_node_text(wanted, &text, NULL)) return false;
  if (strcmp(key, "granularity") == 0) return text && setting->element == (strcmp(text, "element") == 0);
  if (strcmp(key, "sizes") == 0) return text && setting->exchange_sizes == (strcmp(text, "exchanged") == 0);
  const struct ss_option *option = option_of(setting->scheme, key);
  uint64_t value = setting->value[option - setting->scheme->options];
  switch (option->kind) {
  case SS_OPTION_CHOICE: return text && strcmp(option->choices[value], text) == 0;
  case SS_OPTION_FLAG: return ss_node_flag(wanted, &flag, NULL) && flag == (value != 0);
  case SS_OPTION_COUNT: return ss_node_count(wanted, 0, UINT64_MAX, &count, NULL) && count == value;
  case SS_OPTION_REAL: return false;
  }
  return false;
}

static bool met(struct ss_node wanted, const struct ss_setting *setting) {
  const char *key = ss_node_key(wanted);
  if (!ss_node_is_array(wanted)) return met_value(wanted, key, setting);
  for (struct ss_node n = ss_node_first(wanted); ss_node_present(n); n = ss_node_next(n))
    if (met_value(n, key, setting)) return true;
  return false;
}

static const struct ss_option *has_value(const struct ss_setting *setting, const char *option, double *out) {
  const struct ss_option *o = option_of(setting->scheme, option);
  if (!o) return NULL;
  const size_t index = (size_t)(o - setting->scheme->options);
  *out = o->kind == SS_OPTION_REAL ? setting->real[index] : (double)setting->value[index];
  return o;
}

/* Elements of a block where no option says so. */
enum { BLOCK = 256 };

void ss_setting_symbols(const struct ss_setting *setting, struct ss_symbols *s) {
  double density, lambda;
  static_assert(sizeof s->option / sizeof *s->option == SS_OPTIONS_MAX, "a symbol an option");
  s->options = setting->scheme->options;
  for (size_t i = 0; s->options && s->options[i].name; i++)
    s->option[i] = s->options[i].kind == SS_OPTION_REAL ? setting->real[i] : (double)setting->value[i];
  s->index_bytes = setting->index_bytes;
  s->call = setting->exchange_sizes ? setting->call : 0;
  s->k = s->nnz * s->w;
  s->b = BLOCK;
  s->D = s->r = s->chunks = 1;
  s->c = 0;
  (void)!has_value(setting, "teams", &s->D);
  (void)!has_value(setting, "chunks", &s->chunks);
  (void)!has_value(setting, "block", &s->b);
  (void)!has_value(setting, "hashes", &s->r);
  (void)!has_value(setting, "buckets", &s->c);
  if (s->c <= 0 && has_value(setting, "lambda", &lambda)) s->c = fmax(1, ceil(lambda * (s->nnz * s->w) / s->r));
  if (has_value(setting, "k", &s->k) && s->k <= 0 && has_value(setting, "density", &density))
    s->k = fmax(1, floor(density * s->R * s->w + 0.5));
}

bool ss_cost_holds(const struct ss_cost *cost, const struct ss_setting *setting, uint32_t ranks, uint32_t servers,
                   bool *out, struct ss_error *error) {
  struct ss_symbols symbols = {.P = ranks, .S = servers};
  double value = 1;
  ss_setting_symbols(setting, &symbols);
  *out = false;
  if (cost->where && !ss_formula_evaluate(cost->where, &symbols, &value, error))
    return ss_fail_prefix(error, "%s: where", cost->file);
  *out = value != 0;
  return true;
}

void ss_cost_form_name(const struct ss_cost *cost, char *out, size_t size) {
  const char *slash = strrchr(cost->file, '/');
  snprintf(out, size, "%s", slash ? slash + 1 : cost->file);
  char *dot = strrchr(out, '.');
  if (dot) *dot = '\0';
}

const struct ss_cost *ss_costs_find(const struct ss_costs *costs, const struct ss_setting *setting, uint32_t ranks,
                                    uint32_t servers) {
  if (setting->hierarchy) return NULL; /* forms are of flat runs */
  for (size_t i = 0; i < costs->count; i++) {
    const struct ss_cost *cost = &costs->cost[i];
    bool all = cost->scheme == setting->scheme, holds;
    for (struct ss_node n = ss_node_first(cost->when); all && ss_node_present(n); n = ss_node_next(n))
      all = met(n, setting);
    if (!all || !ss_cost_holds(cost, setting, ranks, servers, &holds, NULL) || !holds) continue;
    const bool said = ss_node_present(ss_node_get(cost->when, "sizes"));
    const struct ss_cost *way = ss_cost_way(cost, setting->exchange_sizes && !said, setting->ragged);
    if (way) return way;
  }
  return NULL;
}

uint32_t ss_cost_block(const struct ss_cost *cost, const struct ss_setting *setting) {
  const char *const forms[] = {cost->exact, cost->exact_low, cost->exact_high,
                               cost->paper, cost->paper_low, cost->paper_high};
  struct ss_symbols symbols = {0};
  ss_setting_symbols(setting, &symbols);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (forms[i] && (strstr(forms[i], "B_") || strstr(forms[i], "blocks"))) return (uint32_t)symbols.b;
  return 0;
}

/* --- values --------------------------------------------------------------------------------------------- */

static bool evaluate(const struct ss_cost *cost, const char *formula, const struct ss_symbols *symbols, double *out,
                     struct ss_error *error) {
  *out = NAN;
  if (!formula || (ss_formula_evaluate(formula, symbols, out, error) && ss_seconds_check(*out, error))) return true;
  return ss_fail_prefix(error, "%s", cost->file);
}

bool ss_cost_evaluate(const struct ss_cost *cost, const struct ss_symbols *symbols, struct ss_cost_values *out,
                      struct ss_error *error) {
  if (!evaluate(cost, cost->exact, symbols, &out->exact, error) ||
      !evaluate(cost, cost->exact_low, symbols, &out->exact_low, error) ||
      !evaluate(cost, cost->exact_high, symbols, &out->exact_high, error) ||
      !evaluate(cost, cost->paper, symbols, &out->paper, error) ||
      !evaluate(cost, cost->paper_low, symbols, &out->paper_low, error) ||
      !evaluate(cost, cost->paper_high, symbols, &out->paper_high, error))
    return false;
  if (cost->exact_low && out->exact_low > out->exact_high * (1 + 1e-12))
    return ss_fail(error, SS_BAD_INPUT, "%s: at P = %g \"exact_low\" is %.12g s, above \"exact_high\", %.12g s",
                   cost->file, symbols->P, out->exact_low, out->exact_high);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
