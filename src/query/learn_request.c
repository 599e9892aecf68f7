#include "query/learn_request.h"

#include "base/units.h"
#include "schemes/registry.h"
#include "study/study.h"
#include "trace/make/import.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* --- schemes ------------------------------------------------------------------------------------------------- */

static bool add_setting(struct ss_learn_request *q, struct ss_node node, struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = 4};
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

/* What a text of JSON says, or the list of schemes that words name. */
static bool read_words(struct ss_node node, struct ss_doc **out, struct ss_error *error) {
  const char *text;
  char name[80];
  if (!ss_node_text(node, &text, error)) return false;
  (void)ss_doc_position(node.doc, "schemes", name, sizeof name);
  if (text[0] == '{' || text[0] == '[') return ss_doc_parse(name, text, strlen(text), out, error);
  cJSON *list = ss_study_schemes(text, error);
  return list ? ss_doc_adopt(name, list, out, error) : false;
}

/* "lossless" stands for all schemes that are. */
static bool add_lossless(struct ss_learn_request *q, struct ss_node node, struct ss_error *error) {
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++) {
    SS_AUTO_DOC struct ss_doc *doc = NULL;
    if (!ss_scheme_lossless(*s)) continue;
    if (!ss_doc_adopt(ss_doc_name(node.doc), cJSON_CreateString((*s)->name), &doc, error) ||
        !add_setting(q, ss_doc_root(doc), error))
      return false;
  }
  return true;
}

static bool add_item(struct ss_learn_request *q, struct ss_node node, struct ss_error *error) {
  const bool all = ss_node_is_text(node) && strcmp(node.at->valuestring, "lossless") == 0;
  return all ? add_lossless(q, node, error) : add_setting(q, node, error);
}

static bool add_text(struct ss_learn_request *q, struct ss_node text, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (!read_words(text, &doc, error)) return false;
  const struct ss_node root = ss_doc_root(doc);
  if (!ss_node_is_array(root)) return add_item(q, root, error);
  if (ss_node_size(root) == 0) return ss_node_fail(root, error, "the list names no scheme");
  for (struct ss_node n = ss_node_first(root); ss_node_present(n); n = ss_node_next(n))
    if (!add_item(q, n, error)) return false;
  return true;
}

/* A text, or a list of texts and objects; without them allreduce. */
static bool read_schemes(struct ss_node schemes, struct ss_learn_request *q, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *usual = NULL;
  if (ss_node_is_text(schemes)) return add_text(q, schemes, error);
  if (!ss_node_present(schemes))
    return ss_doc_adopt("schemes", cJSON_CreateString("allreduce"), &usual, error) &&
           add_setting(q, ss_doc_root(usual), error);
  if (!ss_node_is_array(schemes) || ss_node_size(schemes) == 0)
    return ss_node_fail(schemes, error, "expected a list of schemes");
  for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n))
    if (!(ss_node_is_text(n) ? add_text(q, n, error) : add_item(q, n, error))) return false;
  return true;
}

/* --- the rest ------------------------------------------------------------------------------------------------ */

/* Whole numbers, where each goes and how large it may be. */
static bool read_counts(struct ss_node object, struct ss_learn_request *q, struct ss_error *error) {
  struct ss_model_shape *shape = &q->source.task.shape;
  const struct {
    const char *key;
    uint64_t low, high, *wide;
    uint32_t *narrow;
  } counts[] = {{"ranks", 1, SS_RANKS_MAX, NULL, &q->source.import.ranks},
                {"batch", 1, UINT32_MAX, &q->source.import.batch, NULL},
                {"seq", 2, UINT32_MAX, &q->source.import.seq, NULL},
                {"steps", 1, 10000000, &q->source.task.steps, NULL},
                {"vocab", 2, UINT32_MAX, &q->source.import.vocab, NULL},
                {"width", 1, 1 << 16, NULL, &shape->width},
                {"context", 1, 1 << 16, NULL, &shape->context},
                {"samples", 1, 1 << 20, NULL, &shape->samples},
                {"seed", 0, UINT64_C(1) << 53, &shape->seed, NULL},
                {"gpus_per_node", 1, SS_RANKS_MAX, NULL, &q->source.cluster.gpus_per_node}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const struct ss_node node = ss_node_get(object, counts[i].key);
    uint64_t count;
    if (!ss_node_present(node)) continue;
    if (!ss_node_count(node, counts[i].low, counts[i].high, &count, error)) return false;
    if (counts[i].wide) *counts[i].wide = count;
    if (counts[i].narrow) *counts[i].narrow = (uint32_t)count;
  }
  return true;
}

static bool read_select(struct ss_node node, struct ss_selection *select, struct ss_error *error) {
  if (!ss_node_present(node)) return true;
  *select = (struct ss_selection){.selects = true, .residual = true};
  if (!ss_node_positive(node, SS_RATIO, &select->density, error)) return false;
  return select->density <= 1 || ss_node_fail(node, error, "%g is above 1", select->density);
}

/* The text, or the trace of one, and how a text is cut. */
static bool read_text(struct ss_node object, struct ss_learn_request *q, struct ss_error *error) {
  struct ss_import *import = &q->source.import;
  const struct ss_node source = ss_node_get(object, "source"), layout = ss_node_get(object, "layout"),
                       seq = ss_node_get(object, "seq");
  size_t cut = SS_STREAM;
  char text[32], trace[32];
  q->text = ss_node_get(object, "text");
  q->trace = ss_node_get(object, "trace");
  if (ss_node_present(q->text) == ss_node_present(q->trace))
    return ss_node_fail(object, error, "to have something to read, say %s (a file) or %s (of one)%s",
                        ss_doc_field(object.doc, "text", text, sizeof text),
                        ss_doc_field(object.doc, "trace", trace, sizeof trace),
                        ss_node_present(q->text) ? ", not both" : "");
  if ((ss_node_present(source) && !ss_node_text(source, &import->source, error)) ||
      (ss_node_present(layout) && !ss_node_choice(layout, ss_text_layout_names, &cut, error)))
    return false;
  import->layout = (enum ss_text_layout)cut;
  if (ss_node_present(q->trace) && (ss_node_present(seq) || ss_node_present(layout)))
    return ss_node_fail(ss_node_present(seq) ? seq : layout, error, "says how a text is cut: a trace's is already");
  if (ss_node_present(seq) && cut == SS_SENTENCE)
    return ss_node_fail(seq, error, "goes with the layout \"stream\": sentences are as long as they are");
  return ss_node_present(q->text) ? ss_node_text(q->text, &q->source.text, error)
                                  : ss_node_text(q->trace, &q->source.trace, error);
}

static bool read_task(struct ss_node object, struct ss_learn_request *q, struct ss_error *error) {
  const struct ss_node optimizer = ss_node_get(object, "optimizer"), rate = ss_node_get(object, "lr"),
                       split = ss_node_get(object, "split");
  size_t kind = SS_ADAGRAD;
  if ((ss_node_present(optimizer) && !ss_node_choice(optimizer, ss_optimizer_names, &kind, error)) ||
      (ss_node_present(split) && !ss_node_flag(split, &q->source.task.split, error)) ||
      !read_select(ss_node_get(object, "select"), &q->source.task.select, error))
    return false;
  q->source.task.optimizer.kind = (enum ss_optimizer_kind)kind;
  q->source.task.optimizer.rate = ss_optimizer_rate((enum ss_optimizer_kind)kind);
  return !ss_node_present(rate) || ss_node_positive(rate, SS_NUMBER, &q->source.task.optimizer.rate, error);
}

bool ss_learn_request_read(struct ss_node object, struct ss_learn_request *out, struct ss_error *error) {
  static const char *const keys[] = {"text",  "trace",  "schemes",       "ranks",     "layout", "batch",   "seq",
                                     "steps", "vocab",  "width",         "context",   "seed",   "samples", "lr",
                                     "split", "select", "gpus_per_node", "optimizer", "source", NULL};
  *out = (struct ss_learn_request){.source = SS_LEARNING_DEFAULTS};
  out->source.setting = out->setting;
  return ss_node_keys(object, keys, error) && read_text(object, out, error) &&
         read_schemes(ss_node_get(object, "schemes"), out, error) && read_counts(object, out, error) &&
         read_task(object, out, error);
}
