#include "study/learning.h"

#include "base/estimate.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/work.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_RANKS = 8, TEXT_SEQ = 32 }; /* unless others are asked for */

static bool open_text(struct ss_learning *l, struct ss_error *error) {
  struct ss_learning_source *s = &l->source;
  struct ss_mapping text;
  if (!s->import.source)
    s->import.source = s->trace ? s->trace : strcmp(s->text, "-") == 0 ? "standard input" : s->text;
  s->import.row_width = s->task.shape.width;
  if (!s->trace && s->import.ranks == 0) s->import.ranks = TEXT_RANKS;
  if (s->import.seq == 0) s->import.seq = TEXT_SEQ;
  if (s->trace) {
    const struct ss_text_options options = {s->import.ranks, s->import.batch, s->import.vocab};
    return ss_learn_trace(s->trace, &options, &l->trace, error);
  }
  if (!ss_map_file(s->text, &text, error)) return false;
  const bool ok = ss_trace_import(s->import.source, (const char *)text.data, text.size, &s->import, &l->trace, error);
  ss_unmap_file(&text);
  return ok;
}

bool ss_learning_open(const struct ss_learning_source *source, struct ss_learning *l, struct ss_error *error) {
  *l = (struct ss_learning){.source = *source, .task = source->task};
  if (!open_text(l, error)) return false;
  l->task.text = l->trace;
  if (!(source->task.optimizer.rate > 0)) l->task.optimizer.rate = ss_optimizer_rate(source->task.optimizer.kind);
  l->task.batch = source->import.batch;
  l->task.shape.vocab = ss_trace_tensor(l->trace, 0)->rows;
  l->task.cluster = &l->source.cluster;
  ss_capture_begin(&l->capture, &l->task);
  l->curve = ss_alloc_zero(source->settings, sizeof *l->curve);
  return l->curve || ss_fail_memory(error, "training a model");
}

/* Who sees every step. */
struct seeing {
  struct ss_learning *learning;
  const struct ss_watcher *watcher;
  struct ss_learn_watch capture;
  bool captures;
  double steps; /* of all schemes */
  omp_lock_t lock;
};

static bool see(void *context, uint64_t step, const struct ss_gradients *gradients, struct ss_error *error) {
  struct seeing *s = context;
  omp_set_lock(&s->lock);
  ss_watcher_advance(s->watcher, 1, 1, s->steps);
  omp_unset_lock(&s->lock);
  return ss_watcher_goes_on(s->watcher, error) &&
         (!s->captures || s->capture.seen(s->capture.context, step, gradients, error));
}

/* Steps that a training which diverged left out are done too. */
static bool learn_one(void *context, void *worker, size_t item, struct ss_error *error) {
  struct seeing *s = context;
  struct ss_learning *l = s->learning;
  const struct ss_learn_watch watch = {s, see};
  (void)worker;
  if (!ss_learn(&l->task, &l->source.setting[item], &watch, &l->curve[item], error)) return false;
  const uint64_t left = l->task.steps - l->curve[item].steps;
  omp_set_lock(&s->lock);
  if (left > 0) ss_watcher_advance(s->watcher, left, (double)left, s->steps);
  omp_unset_lock(&s->lock);
  return true;
}

/* The tables of a scheme's training, and what its optimiser keeps of each element. */
static bool fits(const struct ss_learning *l, struct ss_error *error) {
  const struct ss_model_shape *shape = &l->task.shape;
  const uint64_t kept = l->task.optimizer.kind == SS_ADAM ? 2 : l->task.optimizer.kind == SS_ADAGRAD ? 1 : 0;
  const uint64_t elements = ss_estimate_mul(ss_estimate_mul(shape->vocab, shape->width), SS_TABLES);
  return ss_estimate_fits(
      ss_estimate_mul(elements, (1 + kept) * sizeof(double)), "a smaller --vocab or --width takes less", error,
      "a training of two tables of %llu rows of %u elements", (unsigned long long)shape->vocab, shape->width);
}

bool ss_learning_run(struct ss_learning *l, unsigned jobs, const struct ss_watcher *watcher, struct ss_error *error) {
  const struct ss_learning_source *s = &l->source;
  struct seeing seeing = {.learning = l,
                          .watcher = watcher,
                          .capture = ss_capture_watch(&l->capture),
                          .captures = s->captures,
                          .steps = (double)s->settings * (double)l->task.steps};
  const bool is_stream = !s->trace && s->import.layout == SS_STREAM;
  const int threads = omp_get_max_threads(); /* the caller's, which it gets back */
  if (!fits(l, error)) return false;
  omp_init_lock(&seeing.lock);
  ss_watcher_begin(watcher, "steps", s->settings * l->task.steps);
  if (jobs) omp_set_num_threads((int)jobs);
  const struct ss_work work = {
      .context = &seeing, .count = s->settings, .jobs = (unsigned)omp_get_max_threads(), .compute = learn_one};
  const bool ok = ss_work_run(&work, error);
  omp_set_num_threads(threads);
  omp_destroy_lock(&seeing.lock);
  ss_watcher_end(watcher);
  l->curves = (struct ss_curves){.task = &l->task,
                                 .text = s->import.source,
                                 .layout = s->trace    ? "trace"
                                           : is_stream ? "stream"
                                                       : "sentence",
                                 .seq = is_stream ? s->import.seq : 0,
                                 .curve = l->curve,
                                 .count = s->settings};
  return ok;
}

void ss_learning_close(struct ss_learning *l) {
  for (size_t i = 0; l->curve && i < l->source.settings; i++) ss_curve_free(&l->curve[i]);
  free(l->curve);
  if (l->trace) ss_capture_free(&l->capture);
  ss_trace_close(l->trace);
  *l = (struct ss_learning){0};
}
