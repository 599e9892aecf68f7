#include "base/data.h"
#include "base/file.h"
#include "base/json.h"
#include "base/suggest.h"
#include "claims/claims.h"
#include "cli/command.h"
#include "figures/figure.h"
#include "query/cache.h"
#include "query/own_form.h"
#include "report/table.h"
#include "schemes/registry.h"
#include "study/scenario_fields.h"

static const char *const things[] = {"schemes", "costs",   "clusters", "devices",   "libraries", "workloads",
                                     "systems", "figures", "claims",   "scenarios", "schemas",   NULL};

static void describe_option(const struct ss_option *o, char *text, size_t size) {
  const unsigned long long low = o->low, high = o->high;
  snprintf(text, size, "%s: ", o->name);
  if (o->kind == SS_OPTION_FLAG) ss_append(text, size, "%s", o->default_value > 0 ? "true|false" : "false|true");
  else if (o->kind == SS_OPTION_COUNT) ss_append(text, size, "%llu..%llu", low, high);
  else if (o->kind == SS_OPTION_REAL) ss_append(text, size, "above 0, at most %llu", high);
  else
    for (size_t i = 0; o->choices[i]; i++) ss_append(text, size, "%s%s", i ? "|" : "", o->choices[i]);
  ss_append(text, size, " (%s)", o->help);
}

static cJSON *entry(cJSON *list, const char *name, const char *summary) {
  cJSON *item = ss_json_object(SS_T("name", name), SS_T("summary", summary ? summary : ""));
  cJSON_AddItemToArray(list, item);
  return item;
}

/* What is offered, and of which settings. */
static cJSON *offered_json(const struct ss_offered *o) {
  cJSON *item = ss_offer_json(&o->offer, NULL), *settings = cJSON_AddObjectToObject(item, "options");
  if (o->option) cJSON_AddStringToObject(settings, o->option, o->choice);
  if (o->hierarchy != SS_FLAT) cJSON_AddStringToObject(settings, "hierarchy", ss_hierarchies[o->hierarchy]);
  return item;
}

static void list_schemes(cJSON *list) {
  char text[400];
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++) {
    cJSON *item = entry(list, (*s)->name, (*s)->summary);
    ss_json_add(item, SS_T("source", (*s)->source), SS_B("lossless", ss_scheme_lossless(*s)),
                SS_B("model_parallel", ss_scheme_model_parallel(*s)));
    cJSON *offered = cJSON_AddArrayToObject(item, "offered");
    for (const struct ss_offered *o = (*s)->offered; o && (o->option || o->offer.by[0]); o++)
      if (o->offer.by[0]) cJSON_AddItemToArray(offered, offered_json(o));
    cJSON *options = cJSON_AddArrayToObject(item, "options"), *tries = cJSON_AddObjectToObject(item, "tries");
    for (const struct ss_option *o = (*s)->options; o && o->name; o++) {
      describe_option(o, text, sizeof text);
      cJSON_AddItemToArray(options, cJSON_CreateString(text));
      if (o->tries) cJSON_AddStringToObject(tries, o->name, o->tries);
    }
  }
}

/* What a file says of itself: its summary; of a closed form the formula, or "LOW .. HIGH", the exact one before that
 * of the paper. */
static void summarise(struct ss_node root, bool cost, char *text, size_t size) {
  static const char *const forms[][2] = {
      {"exact"}, {"exact_low", "exact_high"}, {"paper"}, {"paper_low", "paper_high"}};
  const char *first = cost ? NULL : ss_json_word(root.at, "summary"), *second = NULL;
  for (size_t i = 0; cost && i < sizeof forms / sizeof *forms && !first; i++) {
    first = ss_json_word(root.at, forms[i][0]);
    second = forms[i][1] ? ss_json_word(root.at, forms[i][1]) : NULL;
  }
  snprintf(text, size, "%s%s%s", first ? first : "", second ? " .. " : "", second ? second : "");
}

/* How a system's tasks are played, beyond its schemes; what its file does not say it does not have. */
static const char *const played[] = {"schedule", "bucket",  "partition", "channels", "interference",
                                     "software", "staging", "kernels",   NULL};

static void copy_played(const cJSON *system, cJSON *item) {
  for (size_t i = 0; played[i]; i++) {
    const cJSON *said = ss_json_get(system, played[i]);
    if (said) ss_json_put(item, played[i], cJSON_Duplicate(said, true));
  }
}

/* "fifo, bucket 64MiB, channels 2, software" */
static void describe_played(const cJSON *item, char *text, size_t size) {
  text[0] = '\0';
  for (size_t i = 0; played[i]; i++) {
    const cJSON *said = ss_json_get(item, played[i]);
    if (!said) continue;
    ss_append(text, size, "%s%s", i > 0 ? ", " : "", i > 0 ? played[i] : "");
    if (cJSON_IsString(said)) ss_append(text, size, "%s%s", i > 0 ? " " : "", said->valuestring);
    if (cJSON_IsNumber(said)) ss_append(text, size, " %.3g", said->valuedouble);
    if (cJSON_IsArray(said)) ss_append(text, size, " %d", cJSON_GetArraySize(said));
  }
}

static bool list_models(cJSON *list, const char *kind, struct ss_error *error) {
  SS_AUTO_FREE char **names = NULL;
  const bool figures = strcmp(kind, "figures") == 0, systems = strcmp(kind, "systems") == 0;
  char text[1000];
  size_t count;
  if (!ss_data_list(kind, &names, &count, error)) return false;
  for (size_t i = 0; i < count; i++) {
    char path[PATH_MAX];
    SS_AUTO_DOC struct ss_doc *doc = NULL;
    if (!ss_data_find(kind, names[i], path, sizeof path, error) || !ss_doc_read(path, 1 << 20, &doc, error))
      return false;
    summarise(ss_doc_root(doc), strcmp(kind, "costs") == 0, text, sizeof text);
    const struct ss_node source = ss_node_get(ss_doc_root(doc), "source");
    cJSON *item = entry(list, names[i], text);
    if (figures) ss_json_add(item, SS_T("source", ss_node_is_text(source) ? source.at->valuestring : ""));
    const cJSON *offered = ss_node_get(ss_doc_root(doc), "offered").at;
    if (systems) copy_played(ss_doc_root(doc).at, item);
    if (systems) ss_json_put(item, "offered", offered ? cJSON_Duplicate(offered, true) : cJSON_CreateNull());
  }
  return true;
}

static bool list_claims(cJSON *list, struct ss_error *error) {
  SS_AUTO(ss_claims_free) struct ss_claims claims = {0};
  if (!ss_claims_open(NULL, 0, &claims, error)) return false;
  for (size_t i = 0; i < claims.count; i++) {
    const struct ss_claim *claim = &claims.claim[i];
    ss_json_add(entry(list, claim->id, claim->claim), SS_T("paper", claim->paper), SS_T("source", claim->source),
                SS_T("class", claim->kind), SS_T("verdict", ss_claim_verdicts[claim->pinned]));
  }
  return true;
}

/* The i-th schema: of files of claims, figures and forms, of requests, then of what scenarios and models say. */
static struct ss_schema schema_at(size_t i) {
  static const struct ss_schema first[] = {{"claims-file", &ss_claims_fields},
                                           {"figure", &ss_figure_fields},
                                           {"own-form", &ss_own_form_fields},
                                           {"request", &ss_request_fields}};
  const size_t count = sizeof first / sizeof *first;
  return i < count ? first[i] : ss_study_schemas[i - count];
}

static void list_schemas(cJSON *list) {
  for (size_t i = 0; schema_at(i).name; i++) entry(list, schema_at(i).name, schema_at(i).spec->title);
}

static bool print_schema(const void *context, FILE *stream, struct ss_error *error) {
  SS_AUTO_JSON cJSON *schema = ss_object_schema(context);
  return ss_json_print(schema, stream, error);
}

/* One document's, as JSON whatever the format. */
static bool write_schema(const char *name, const char *output, struct ss_error *error) {
  const char *names[64] = {NULL};
  size_t i = 0;
  for (struct ss_schema s; (s = schema_at(i)).name; i++) {
    if (strcmp(s.name, name) == 0) return ss_output_write(output, print_schema, s.spec, error);
    names[i] = s.name;
  }
  return ss_fail(error, SS_BAD_INPUT, "there is no schema of \"%s\"%s", name,
                 ss_suggest(name, names, "sparsync list schemas shows them").text);
}

static bool print_table(const char *kind, const cJSON *list, enum ss_format format, FILE *stream,
                        struct ss_error *error) {
  const bool figures = strcmp(kind, "figures") == 0, systems = strcmp(kind, "systems") == 0;
  struct ss_table *table = figures   ? ss_table_of("<name", "<source", "<summary")
                           : systems ? ss_table_of("<name", "<offered by", "<plays", "<summary")
                                     : ss_table_of("<name", "<summary");
  char text[200];
  for (const cJSON *item = list->child; item; item = item->next) {
    ss_table_cell(table, "%s", ss_json_get(item, "name")->valuestring);
    const cJSON *source = figures ? ss_json_get(item, "source") : NULL;
    if (source) ss_table_cell(table, "%s", source->valuestring);
    const char *by = ss_json_word(ss_json_get(item, "offered"), "by");
    if (systems) ss_table_cell(table, "%s", by ? by : "nobody");
    if (systems) describe_played(item, text, sizeof text);
    if (systems) ss_table_cell(table, "%s", text);
    ss_table_cell(table, "%s", ss_json_get(item, "summary")->valuestring);
    const cJSON *options = ss_json_get(item, "options");
    for (const cJSON *o = options && format != SS_CSV ? options->child : NULL; o; o = o->next) {
      ss_table_cell(table, "%s", "");
      ss_table_cell(table, "  %s", o->valuestring);
    }
  }
  ss_table_fold(table);
  return ss_table_print_free(table, format == SS_CSV, stream, error);
}

struct listing {
  const char *things;
  cJSON *root;
  enum ss_format format;
};

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  const struct listing *l = context;
  const cJSON *list = ss_json_get(l->root, l->things);
  return l->format == SS_JSON ? ss_json_print(l->root, stream, error)
                              : print_table(l->things, list, l->format, stream, error);
}

/* Leaves the one of that name alone. */
static bool keep_one(cJSON *items, const char *kind, const char *name, struct ss_error *error) {
  SS_AUTO_FREE const char **names = ss_alloc_zero((size_t)cJSON_GetArraySize(items) + 1, sizeof *names);
  cJSON *found = NULL;
  size_t n = 0;
  if (!names) return ss_fail_memory(error, "listing");
  for (cJSON *i = items->child; i; i = i->next) {
    names[n] = ss_json_word(i, "name");
    if (strcmp(names[n++], name) == 0) found = i;
  }
  if (!found)
    return ss_fail(error, SS_BAD_INPUT, "there is no \"%.100s\" among the %s%s", name, kind,
                   ss_suggest(name, names, "sparsync list shows them").text);
  while (items->child != found) cJSON_DeleteItemFromArray(items, 0);
  while (found->next) cJSON_DeleteItemFromArray(items, 1);
  return true;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const char *kind = call->operands == 1 || call->operands == 2 ? call->operand[0] : NULL;
  char all[200];
  bool known = false;
  const bool schema = call->operands == 2 && strcmp(call->operand[0], "schema") == 0;
  if (schema && call->format != SS_TABLE && call->format != SS_JSON)
    return ss_fail(error, SS_BAD_INPUT, "--format: a schema is JSON");
  if (schema) return write_schema(call->operand[1], call->output, error);
  for (size_t i = 0; kind && things[i]; i++) known = known || strcmp(things[i], kind) == 0;
  if (!known)
    return ss_fail(error, SS_BAD_INPUT, "say what to list: %s%s", ss_words_join(things, " or ", all, sizeof all),
                   ss_suggest(kind ? kind : "", things, NULL).text);
  SS_AUTO_JSON cJSON *root = cJSON_CreateObject();
  cJSON *items = cJSON_AddArrayToObject(root, kind);
  bool ok = true;
  if (strcmp(kind, "schemes") == 0) list_schemes(items);
  else if (strcmp(kind, "schemas") == 0) list_schemas(items);
  else if (strcmp(kind, "claims") == 0) ok = list_claims(items, error);
  else ok = list_models(items, kind, error);
  ok = ok && (call->operands == 1 || keep_one(items, kind, call->operand[1], error));
  return ok && ss_output_write(call->output, print, &(struct listing){kind, root, call->format}, error);
}

static const struct ss_option_spec options[] = {SS_OPTION_OPERANDS, SS_OPTIONS_OUTPUT, {.name = NULL}};

const struct ss_command ss_command_list = {
    .name = "list",
    .summary = "what there is: schemes, closed forms, model files, figures, claims, scenarios, schemas",
    .usage = "usage: sparsync list schemes|costs|clusters|devices|libraries|workloads|systems|figures|claims|\n"
             "                     scenarios|schemas [NAME] [OPTION...]\n"
             "       sparsync list schema NAME [-o FILE]\n\n"
             "What there is to choose from, or of that what is called NAME; \"list schemes\" shows their options "
             "too. \"list schema\" prints the "
             "JSON Schema of a document that the program reads or writes.\n",
    .examples = "  sparsync list schemes\n"
                "  sparsync list figures\n"
                "  sparsync list clusters --format json\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
