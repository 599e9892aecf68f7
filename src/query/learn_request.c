#include "query/learn_request.h"

#include "query/query_internal.h"
#include "schemes/registry.h"
#include "study/scenario_fields.h"
#include "study/study.h"

/* --- schemes ------------------------------------------------------------------------------------------------- */

static const struct ss_setting defaults = {.index_bytes = 4};

static bool add_setting(struct ss_learn_request *q, struct ss_node node, struct ss_error *error) {
  if (q->source.settings == SS_LEARN_SETTINGS_MAX)
    return ss_node_fail(node, error, "more than %d schemes", SS_LEARN_SETTINGS_MAX);
  struct ss_setting *setting = &q->setting[q->source.settings];
  if (!ss_setting_read(node, &defaults, setting, error)) return false;
  for (size_t i = 0; i < q->source.settings; i++)
    if (strcmp(q->setting[i].label, setting->label) == 0)
      return ss_node_fail(node, error, "two schemes are called \"%s\": give one a \"label\"", setting->label);
  q->source.settings++;
  return true;
}

/* What a text of JSON says, or the schemes that its words name, of which "lossless" stands for all that are. */
static bool add_text(cJSON *list, struct ss_node node, const char *text, struct ss_error *error);

/* Adds what the node lists: schemes, texts of them, or lists of both. */
static bool add_node(cJSON *list, struct ss_node node, struct ss_error *error) {
  if (ss_node_is_text(node)) return add_text(list, node, node.at->valuestring, error);
  if (!ss_node_is_array(node))
    return cJSON_AddItemToArray(list, cJSON_Duplicate(node.at, true)) || ss_fail_memory(error, "reading schemes");
  if (ss_node_size(node) == 0) return ss_node_fail(node, error, "expected a list of schemes: it names no scheme");
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!add_node(list, n, error)) return false;
  return true;
}

static bool add_text(cJSON *list, struct ss_node node, const char *text, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *parsed = NULL;
  char name[80];
  (void)ss_doc_position(node.doc, "schemes", name, sizeof name);
  if (text[0] == '{' || text[0] == '[')
    return ss_doc_parse(name, text, strlen(text), &parsed, error) && add_node(list, ss_doc_root(parsed), error);
  SS_AUTO_JSON cJSON *words = ss_study_schemes(text, error);
  while (words && words->child) {
    SS_AUTO_JSON cJSON *word = cJSON_DetachItemFromArray(words, 0);
    const bool all = cJSON_IsString(word) && strcmp(word->valuestring, "lossless") == 0;
    for (const struct ss_scheme *const *s = ss_schemes(); all && *s; s++)
      if (ss_scheme_lossless(*s)) cJSON_AddItemToArray(list, cJSON_CreateString((*s)->name));
    if (!all && cJSON_AddItemToArray(list, word)) word = NULL;
  }
  return words;
}

/* Without them allreduce. */
static bool read_schemes(struct ss_node schemes, struct ss_learn_request *q, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  char name[80];
  (void)ss_doc_position(schemes.doc, "schemes", name, sizeof name);
  if (!ss_doc_adopt(name, cJSON_CreateArray(), &doc, error)) return false;
  const struct ss_node list = ss_doc_root(doc);
  if (!(ss_node_present(schemes) ? add_node(list.at, schemes, error)
                                 : add_text(list.at, schemes, "allreduce", error)))
    return false;
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n))
    if (!add_setting(q, n, error)) return false;
  return true;
}

bool ss_learn_scheme_read(const char *text, struct ss_setting *out, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (!ss_doc_adopt("scheme", cJSON_CreateArray(), &doc, error)) return false;
  const struct ss_node list = ss_doc_root(doc);
  if (!add_text(list.at, list, text, error)) return false;
  if (ss_node_size(list) != 1)
    return ss_fail(error, SS_BAD_INPUT, "scheme: expected one, and \"%s\" names %zu", text, ss_node_size(list));
  return ss_setting_read(ss_node_first(list), &defaults, out, error);
}

/* --- the rest ------------------------------------------------------------------------------------------------ */

/* A share of single entries, or all that a scenario may say of it, which a command line has as text. */
static bool read_select(struct ss_node node, void *out, struct ss_error *error) {
  struct ss_selection *select = out;
  const char *text = ss_node_is_text(node) ? node.at->valuestring : "";
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (ss_node_is_object(node)) return ss_selection_read(node, select, error);
  if (text[0] == '{')
    return ss_doc_parse("select", text, strlen(text), &doc, error) &&
           ss_selection_read(ss_doc_root(doc), select, error);
  *select = (struct ss_selection){.selects = true, .residual = true};
  if (!ss_node_positive(node, SS_RATIO, &select->density, error)) return false;
  return select->density <= 1 || ss_node_fail(node, error, "%g is above 1", select->density);
}

#define PART(member) SS_STORED(struct ss_learn_request, source.member)
static const struct ss_field_spec select_forms[] = {
    {NULL, NULL, SS_IS_SHARE, .most = 1}, {NULL, NULL, SS_IS_OBJECT(&ss_selection_fields)}, {.name = NULL}};
static const struct ss_field_spec schemes_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_LIST(&ss_scheme_field, 1, SS_LEARN_SETTINGS_MAX)}, {.name = NULL}};
static const struct ss_field_spec fields[] = {
    {"text", "a file", SS_IS_TEXT, PART(text)},
    {"trace", "of a text, in its place", SS_IS_TEXT, PART(trace)},
    {"source", "what the text is called", SS_IS_TEXT, PART(import.source)},
    {"layout", NULL, SS_IS_CHOICE(ss_text_layout_names), .usual = "stream", PART(import.layout)},
    {"seq", "words a sequence", SS_IS_COUNT(2, UINT32_MAX), PART(import.seq)},
    {"schemes", "(allreduce)", SS_IS_EITHER(schemes_forms)},
    {"ranks", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), PART(import.ranks)},
    {"batch", "sequences of a rank in a step", SS_IS_COUNT(1, UINT32_MAX), PART(import.batch)},
    {"steps", NULL, SS_IS_COUNT(1, 10000000), PART(task.steps)},
    {"vocab", "words that are told apart", SS_IS_COUNT(2, UINT32_MAX), PART(import.vocab)},
    {"width", "of an embedding", SS_IS_COUNT(1, 1 << 16), PART(task.shape.width)},
    {"model", NULL, SS_IS_CHOICE(ss_model_names), .usual = "bag", PART(task.shape.kind)},
    {"context", "words before the one that is guessed, of a bag", SS_IS_COUNT(1, 1 << 16), PART(task.shape.context)},
    {"samples", "other words that one is told from", SS_IS_COUNT(1, 1 << 20), PART(task.shape.samples)},
    {"optimizer", NULL, SS_IS_CHOICE(ss_optimizer_names), .usual = "adagrad", PART(task.optimizer.kind)},
    {"lr", "learning rate (the optimizer's)", SS_IS_ABOVE_0, PART(task.optimizer.rate)},
    {"select", "the share of each gradient that is sent, or how it is selected", SS_IS_EITHER(select_forms),
     .read = read_select, PART(task.select)},
    {"target", "a loss: in which step the mean of the last ten comes down to it", SS_IS_ABOVE_0, PART(task.target)},
    {"split", "updates in two parts", SS_IS_FLAG, PART(task.split)},
    {"seed", NULL, SS_IS_SEED, PART(task.shape.seed)},
    {"gpus_per_node", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), PART(cluster.gpus_per_node)},
    {.name = NULL}};
const struct ss_object_spec ss_learn_fields = {
    .name = "learn", .says = "a small training under several schemes", .field = fields};

/* The text, or the trace of one, and how a text is cut. */
static bool check_text(struct ss_node object, const struct ss_learn_request *q, struct ss_error *error) {
  const struct ss_node layout = ss_node_get(object, "layout"), seq = ss_node_get(object, "seq");
  char text[32], trace[32];
  if (ss_node_present(q->text) == ss_node_present(q->trace))
    return ss_node_fail(object, error, "to have something to read, say %s (a file) or %s (of one)%s",
                        ss_doc_field(object.doc, "text", text, sizeof text),
                        ss_doc_field(object.doc, "trace", trace, sizeof trace),
                        ss_node_present(q->text) ? ", not both" : "");
  if (ss_node_present(q->trace) && (ss_node_present(seq) || ss_node_present(layout)))
    return ss_node_fail(ss_node_present(seq) ? seq : layout, error, "says how a text is cut: a trace's is already");
  return !ss_node_present(seq) || q->source.import.layout != SS_SENTENCE ||
         ss_node_fail(seq, error, "goes with the layout \"stream\": sentences are as long as they are");
}

bool ss_learn_request_read(struct ss_node object, struct ss_learn_request *out, struct ss_error *error) {
  *out = (struct ss_learn_request){
      .source = SS_LEARNING_DEFAULTS, .text = ss_node_get(object, "text"), .trace = ss_node_get(object, "trace")};
  out->source.setting = out->setting;
  if (!ss_object_read(&ss_learn_fields, object, out, error) || !check_text(object, out, error) ||
      !read_schemes(ss_node_get(object, "schemes"), out, error))
    return false;
  struct ss_model_shape *shape = &out->source.task.shape;
  const struct ss_node context = ss_node_get(object, "context");
  if (shape->kind == SS_LSTM && ss_node_present(context))
    return ss_node_fail(context, error, "an LSTM reads all words before one in its sequence: leave it out");
  if (shape->kind == SS_LSTM) shape->context = UINT32_MAX;
  struct ss_optimizer_options *optimizer = &out->source.task.optimizer;
  if (!ss_node_present(ss_node_get(object, "lr"))) optimizer->rate = ss_optimizer_rate(optimizer->kind);
  return true;
}

/* --- the answer ----------------------------------------------------------------------------------------------- */

/* Paths are as the request means them, but results and messages name the text as the request does. */
bool ss_answer_learn(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  SS_AUTO_FREE struct ss_learn_request *q = ss_alloc(1, sizeof *q);
  SS_AUTO(ss_learning_close) struct ss_learning l = {.trace = NULL};
  char path[PATH_MAX];
  if (!q) return ss_fail_memory(error, "training a model");
  if (!ss_learn_request_read(object, q, error)) return false;
  struct ss_learning_source *source = &q->source;
  const char **named = source->trace ? &source->trace : &source->text;
  if (source->text && strcmp(source->text, "-") == 0)
    return ss_node_fail(q->text, error, "a request cannot read standard input: name a file");
  if (!source->import.source) source->import.source = *named;
  if (!ss_request_path(*named, path, sizeof path, error)) return false;
  *named = path;
  if (!ss_learning_open(source, &l, error) || !ss_learning_run(&l, 0, request->run.watcher, error) ||
      !ss_curves_check(&l, error))
    return false;
  ss_learning_tell(&l, request->notice);
  request->answer = ss_curves_json(&l);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
