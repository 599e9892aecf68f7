/* Does training still learn? The object of a question becomes a task for the model of learn/. */
#include "base/memory.h"
#include "query/query_internal.h"
#include "study/learning.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <string.h>

enum { SETTINGS_MAX = 64 };

struct question {
  struct ss_learning_source source;
  struct ss_setting setting[SETTINGS_MAX];
  struct ss_node text, trace; /* one of them is there */
};

/* --- reading ------------------------------------------------------------------------------------------------ */

static bool add_setting(struct question *q, struct ss_node node, struct ss_error *error) {
  const struct ss_setting usual = {.index_bytes = 4};
  if (q->source.settings == SETTINGS_MAX) return ss_node_fail(node, error, "more than %d schemes", SETTINGS_MAX);
  struct ss_setting *setting = &q->setting[q->source.settings];
  if (!ss_setting_read(node, &usual, setting, error)) return false;
  for (size_t i = 0; i < q->source.settings; i++)
    if (strcmp(q->setting[i].label, setting->label) == 0)
      return ss_node_fail(node, error, "two schemes are called \"%s\": give one a \"label\"", setting->label);
  q->source.settings++;
  return true;
}

static bool read_schemes(struct ss_node object, struct question *q, struct ss_error *error) {
  struct ss_node schemes;
  if (!ss_node_need(object, "schemes", &schemes, error)) return false;
  for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n))
    if (!add_setting(q, n, error)) return false;
  return q->source.settings > 0 || ss_node_fail(schemes, error, "expected a list of schemes");
}

/* Whole numbers, where each goes and how large it may be. */
static bool read_counts(struct ss_node object, struct question *q, struct ss_error *error) {
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

static bool read_task(struct ss_node object, struct question *q, struct ss_error *error) {
  static const char *const layouts[] = {"stream", "sentence", NULL};
  const struct ss_node optimizer = ss_node_get(object, "optimizer"), rate = ss_node_get(object, "lr"),
                       split = ss_node_get(object, "split"), layout = ss_node_get(object, "layout");
  size_t kind = SS_ADAGRAD, cut = SS_STREAM;
  if ((ss_node_present(optimizer) && !ss_node_choice(optimizer, ss_optimizer_names, &kind, error)) ||
      (ss_node_present(layout) && !ss_node_choice(layout, layouts, &cut, error)) ||
      (ss_node_present(split) && !ss_node_flag(split, &q->source.task.split, error)) ||
      !read_select(ss_node_get(object, "select"), &q->source.task.select, error))
    return false;
  q->source.import.layout = (enum ss_text_layout)cut;
  q->source.task.optimizer.kind = (enum ss_optimizer_kind)kind;
  q->source.task.optimizer.rate = ss_optimizer_rate((enum ss_optimizer_kind)kind);
  return !ss_node_present(rate) || ss_node_positive(rate, SS_NUMBER, &q->source.task.optimizer.rate, error);
}

static bool read_object(struct ss_node object, struct question *q, struct ss_error *error) {
  static const char *const keys[] = {"text",  "trace",  "schemes",       "ranks",     "layout", "batch",   "seq",
                                     "steps", "vocab",  "width",         "context",   "seed",   "samples", "lr",
                                     "split", "select", "gpus_per_node", "optimizer", NULL};
  if (!ss_node_keys(object, keys, error)) return false;
  q->text = ss_node_get(object, "text");
  q->trace = ss_node_get(object, "trace");
  if (ss_node_present(q->text) == ss_node_present(q->trace))
    return ss_node_fail(object, error, "say which \"text\" to read, or a \"trace\" of one");
  return read_schemes(object, q, error) && read_counts(object, q, error) && read_task(object, q, error);
}

/* --- learning ----------------------------------------------------------------------------------------------- */

/* Paths are as the question means them, but results and messages name the text as the question does. */
static bool learn(struct question *q, struct ss_asked *asked, struct ss_error *error) {
  struct ss_learning_source *source = &q->source;
  char path[PATH_MAX];
  struct ss_learning l;
  const bool traced = ss_node_present(q->trace);
  if (!ss_node_text(traced ? q->trace : q->text, &source->import.source, error) ||
      !ss_question_path(source->import.source, path, sizeof path, error))
    return false;
  if (!traced && strcmp(path, "-") == 0)
    return ss_node_fail(q->text, error, "a question cannot read standard input: name a file");
  *(traced ? &source->trace : &source->text) = path;
  const bool good = ss_learning_open(source, &l, error) && ss_learning_run(&l, 0, asked->watcher, error) &&
                    ss_curves_check(&l.curves, error);
  if (good) asked->tree = ss_curves_json(&l.curves);
  ss_learning_close(&l);
  return good && (asked->tree || ss_fail_memory(error, "training a model"));
}

bool ss_answer_learn(struct ss_node object, struct ss_asked *asked, struct ss_error *error) {
  SS_AUTO_FREE struct question *q = ss_alloc(1, sizeof *q);
  if (!q) return ss_fail_memory(error, "training a model");
  *q = (struct question){.source = SS_LEARNING_DEFAULTS};
  q->source.setting = q->setting;
  return read_object(object, q, error) && learn(q, asked, error);
}
