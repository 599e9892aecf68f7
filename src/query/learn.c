/* Does training still learn? The object of a question becomes a task for the model of learn/. */
#include "base/file.h"
#include "base/memory.h"
#include "learn/text.h"
#include "query/internal.h"
#include "study/curves.h"
#include "trace/make/import.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_MAX = 64 };

struct learning {
  struct ss_import import;
  struct ss_learn_task task;
  struct ss_cluster cluster;
  struct ss_setting setting[SETTINGS_MAX];
  size_t settings;
  struct ss_node text, trace; /* one of them is there */
};

static const struct learning defaults = {
    .import = {.batch = 8, .seq = 32, .vocab = 2000, .tensor = "text"},
    .task = {.steps = 200,
             .shape = {.width = 16, .context = 4, .samples = 32, .seed = 1},
             .optimizer = {.kind = SS_ADAGRAD}},
    .cluster = {
        .name = "flat", .model = "alpha-beta", .inter = {1e-5, 1e-9}, .intra = {1e-5, 1e-9}, .gpus_per_node = 1}};

/* --- reading ------------------------------------------------------------------------------------------------ */

static bool add_setting(struct learning *l, struct ss_node node, struct ss_error *error) {
  const struct ss_setting usual = {.index_bytes = 4};
  if (l->settings == SETTINGS_MAX) return ss_node_fail(node, error, "more than %d schemes", SETTINGS_MAX);
  struct ss_setting *setting = &l->setting[l->settings];
  if (!ss_setting_read(node, &usual, setting, error)) return false;
  for (size_t i = 0; i < l->settings; i++)
    if (strcmp(l->setting[i].label, setting->label) == 0)
      return ss_node_fail(node, error, "two schemes are called \"%s\": give one a \"label\"", setting->label);
  l->settings++;
  return true;
}

static bool read_schemes(struct ss_node object, struct learning *l, struct ss_error *error) {
  struct ss_node schemes;
  if (!ss_node_need(object, "schemes", &schemes, error)) return false;
  for (struct ss_node n = ss_node_first(schemes); ss_node_present(n); n = ss_node_next(n))
    if (!add_setting(l, n, error)) return false;
  return l->settings > 0 || ss_node_fail(schemes, error, "expected a list of schemes");
}

/* Whole numbers, where each goes and how large it may be. */
static bool read_counts(struct ss_node object, struct learning *l, struct ss_error *error) {
  struct ss_model_shape *shape = &l->task.shape;
  const struct {
    const char *key;
    uint64_t low, high, *wide;
    uint32_t *narrow;
  } counts[] = {{"ranks", 1, SS_RANKS_MAX, NULL, &l->import.ranks},
                {"batch", 1, UINT32_MAX, &l->import.batch, NULL},
                {"seq", 2, UINT32_MAX, &l->import.seq, NULL},
                {"steps", 1, 10000000, &l->task.steps, NULL},
                {"vocab", 2, UINT32_MAX, &l->import.vocab, NULL},
                {"width", 1, 1 << 16, NULL, &shape->width},
                {"context", 1, 1 << 16, NULL, &shape->context},
                {"samples", 1, 1 << 20, NULL, &shape->samples},
                {"seed", 0, UINT64_C(1) << 53, &shape->seed, NULL},
                {"gpus_per_node", 1, SS_RANKS_MAX, NULL, &l->cluster.gpus_per_node}};
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

static bool read_task(struct ss_node object, struct learning *l, struct ss_error *error) {
  static const char *const layouts[] = {"stream", "sentence", NULL};
  const struct ss_node optimizer = ss_node_get(object, "optimizer"), rate = ss_node_get(object, "lr"),
                       split = ss_node_get(object, "split"), layout = ss_node_get(object, "layout");
  size_t kind = SS_ADAGRAD, cut = SS_STREAM;
  if ((ss_node_present(optimizer) && !ss_node_choice(optimizer, ss_optimizer_names, &kind, error)) ||
      (ss_node_present(layout) && !ss_node_choice(layout, layouts, &cut, error)) ||
      (ss_node_present(split) && !ss_node_flag(split, &l->task.split, error)) ||
      !read_select(ss_node_get(object, "select"), &l->task.select, error))
    return false;
  l->import.layout = (enum ss_text_layout)cut;
  l->task.optimizer.kind = (enum ss_optimizer_kind)kind;
  l->task.optimizer.rate = ss_optimizer_rate((enum ss_optimizer_kind)kind);
  return !ss_node_present(rate) || ss_node_positive(rate, SS_NUMBER, &l->task.optimizer.rate, error);
}

static bool read_object(struct ss_node object, struct learning *l, struct ss_error *error) {
  static const char *const keys[] = {"text",  "trace",  "schemes",       "ranks",     "layout", "batch",   "seq",
                                     "steps", "vocab",  "width",         "context",   "seed",   "samples", "lr",
                                     "split", "select", "gpus_per_node", "optimizer", NULL};
  if (!ss_node_keys(object, keys, error)) return false;
  l->text = ss_node_get(object, "text");
  l->trace = ss_node_get(object, "trace");
  if (ss_node_present(l->text) == ss_node_present(l->trace))
    return ss_node_fail(object, error, "say which \"text\" to read, or a \"trace\" of one");
  return read_schemes(object, l, error) && read_counts(object, l, error) && read_task(object, l, error);
}

/* --- learning ----------------------------------------------------------------------------------------------- */

/* The text as row ids, to be closed. */
static bool open_text(struct learning *l, struct ss_trace **out, struct ss_error *error) {
  const struct ss_text_options options = {l->import.ranks, l->import.batch, l->import.vocab};
  const char *name;
  char path[PATH_MAX];
  struct ss_mapping mapping;
  if (!ss_node_text(ss_node_present(l->trace) ? l->trace : l->text, &name, error) ||
      !ss_question_path(name, path, sizeof path, error))
    return false;
  l->import.source = name;
  if (ss_node_present(l->trace)) return ss_learn_trace(path, &options, out, error);
  if (!l->import.ranks) l->import.ranks = 8;
  l->import.row_width = l->task.shape.width;
  if (!ss_map_file(path, &mapping, error)) return false;
  const bool ok = ss_trace_import(name, (const char *)mapping.data, mapping.size, &l->import, out, error);
  ss_unmap_file(&mapping);
  return ok;
}

/* A curve for each scheme, several at once; each by itself does not know of the others. */
static bool learn_all(const struct learning *l, unsigned jobs, struct ss_curve *curve, struct ss_error *error) {
  size_t failed = SIZE_MAX;
#pragma omp parallel for schedule(dynamic, 1) num_threads(jobs ? (int)jobs : omp_get_num_procs()) if (l->settings > 1)
  for (size_t i = 0; i < l->settings; i++) {
    struct ss_error mine;
    if (ss_learn(&l->task, &l->setting[i], NULL, &curve[i], &mine)) continue;
    curve[i] = (struct ss_curve){0};
#pragma omp critical
    if (i < failed) {
      failed = i;
      if (error) *error = mine;
    }
  }
  return failed == SIZE_MAX;
}

static bool learn(struct learning *l, const struct ss_trace *text, unsigned jobs, cJSON **out,
                  struct ss_error *error) {
  const bool traced = ss_node_present(l->trace), sentences = l->import.layout == SS_SENTENCE;
  struct ss_curve curve[SETTINGS_MAX] = {{0}};
  l->task.text = text;
  l->task.batch = l->import.batch;
  l->task.shape.vocab = ss_trace_tensor(text, 0)->rows;
  l->task.cluster = &l->cluster;
  const struct ss_curves curves = {.task = &l->task,
                                   .text = l->import.source,
                                   .layout = traced      ? "trace"
                                             : sentences ? "sentence"
                                                         : "stream",
                                   .seq = traced || sentences ? 0 : l->import.seq,
                                   .curve = curve,
                                   .count = l->settings};
  const bool ok = learn_all(l, jobs, curve, error) && ss_curves_check(&curves, error);
  if (ok) *out = ss_curves_json(&curves);
  for (size_t i = 0; i < l->settings; i++) ss_curve_free(&curve[i]);
  return ok && (*out || ss_fail_memory(error, "training a model"));
}

bool ss_answer_learn(struct ss_node object, unsigned jobs, cJSON **out, struct ss_error *error) {
  SS_AUTO_FREE struct learning *l = ss_alloc(1, sizeof *l);
  struct ss_trace *text;
  if (!l) return ss_fail_memory(error, "training a model");
  *l = defaults;
  if (!read_object(object, l, error) || !open_text(l, &text, error)) return false;
  const bool ok = learn(l, text, jobs, out, error);
  ss_trace_close(text);
  return ok;
}
