#include "study/learning.h"

#include "base/estimate.h"
#include "base/file.h"
#include "base/work.h"
#include "learn/recurrent.h"

#include <omp.h>

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
    if (!ss_trace_open(s->trace, &l->trace, error)) return false;
    if (s->import.ranks == 0) s->import.ranks = ss_trace_ranks(l->trace);
    return ss_learn_check(l->trace, s->import.ranks, s->import.batch, error);
  }
  if (!ss_map_file(s->text, &text, error)) return false;
  const bool ok = ss_trace_import(s->import.source, (const char *)text.data, text.size, &s->import, &l->trace, error);
  ss_unmap_file(&text);
  return ok;
}

bool ss_learning_open(const struct ss_learning_source *source, struct ss_learning *l, struct ss_error *error) {
  *l = (struct ss_learning){.source = *source, .task = source->task};
  if (!open_text(l, error)) return false;
  const uint64_t words = ss_trace_tensor(l->trace, 0)->rows;
  l->task.text = l->trace;
  l->task.ranks = l->source.import.ranks;
  if (!(source->task.optimizer.rate > 0)) l->task.optimizer.rate = ss_optimizer_rate(source->task.optimizer.kind);
  l->task.batch = source->import.batch;
  l->task.shape.vocab = words < source->import.vocab ? words : source->import.vocab;
  l->task.cluster = &l->source.cluster;
  ss_capture_begin(&l->capture, &l->task);
  const bool stream = !source->trace && source->import.layout == SS_STREAM;
  l->text = l->source.import.source;
  l->layout = source->trace ? "trace" : stream ? "stream" : "sentence";
  l->seq = stream ? l->source.import.seq : 0;
  l->count = source->settings;
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

/* The tables of a scheme's training, and what its optimiser keeps of each element; of an LSTM, what each rank keeps
 * of a sequence of a stream to go back through it. */
static bool fits(const struct ss_learning *l, struct ss_error *error) {
  const struct ss_model_shape *shape = &l->task.shape;
  const uint64_t kept = l->task.optimizer.kind == SS_ADAM ? 2 : l->task.optimizer.kind == SS_ADAGRAD ? 1 : 0;
  const bool lstm = shape->kind == SS_LSTM;
  const uint64_t rows = 2 * shape->vocab + (lstm ? ss_model_rows(shape, SS_TABLE_CELL) : 0);
  const uint64_t passed = lstm ? ss_estimate_mul(ss_sequence_doubles(shape->width, l->seq), l->task.ranks) : 0;
  const uint64_t elements = ss_estimate_mul(ss_estimate_mul(rows, shape->width), 1 + kept);
  return ss_estimate_fits(
      ss_estimate_mul(ss_estimate_add(elements, passed), sizeof(double)),
      lstm ? "a smaller --seq, --vocab or --width takes less" : "a smaller --vocab or --width takes less", error,
      "a training of two tables of %llu rows of %u elements", (unsigned long long)shape->vocab, shape->width);
}

bool ss_learning_run(struct ss_learning *l, unsigned jobs, const struct ss_watcher *watcher, struct ss_error *error) {
  const struct ss_learning_source *s = &l->source;
  struct seeing seeing = {.learning = l,
                          .watcher = watcher,
                          .capture = ss_capture_watch(&l->capture),
                          .captures = s->captures,
                          .steps = (double)s->settings * (double)l->task.steps};
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
  return ok;
}

void ss_learning_close(struct ss_learning *l) {
  for (size_t i = 0; l->curve && i < l->source.settings; i++) ss_curve_free(&l->curve[i]);
  free(l->curve);
  if (l->trace) ss_capture_free(&l->capture);
  ss_trace_close(l->trace);
  *l = (struct ss_learning){0};
}

/* --- what curves say ------------------------------------------------------------------------------------ */

bool ss_curve_same(const struct ss_curve *a, const struct ss_curve *b) {
  return a->steps == b->steps && a->diverged == b->diverged &&
         memcmp(a->loss, b->loss, a->steps * sizeof *a->loss) == 0;
}

size_t ss_curves_same(const struct ss_learning *l, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (ss_curve_same(&l->curve[k], &l->curve[i])) return k;
  return i;
}

double ss_curve_mean(const struct ss_curve *curve, uint64_t first, uint64_t end) {
  double sum = 0;
  for (uint64_t t = first; t < end; t++) sum += curve->loss[t];
  return sum / (double)(end - first);
}

double ss_curve_end(const struct ss_curve *curve) {
  if (curve->diverged || curve->steps == 0) return NAN;
  return ss_curve_mean(curve, curve->steps - (curve->steps + 9) / 10, curve->steps);
}

const struct ss_curve *ss_curves_exact(const struct ss_learning *l) {
  for (size_t i = 0; i < l->count; i++)
    if (ss_scheme_lossless(l->curve[i].setting->scheme)) return &l->curve[i];
  return NULL;
}

bool ss_curves_check(const struct ss_learning *l, struct ss_error *error) {
  const struct ss_curve *exact = ss_curves_exact(l);
  for (size_t i = 0; i < l->count; i++) {
    const struct ss_curve *c = &l->curve[i];
    if (!c->sound)
      return ss_fail(error, SS_UNPROVEN, "%s: %s", c->setting->label,
                     c->mismatch[0] ? c->mismatch : "ranks end with different sums");
    if (ss_scheme_lossless(c->setting->scheme) && !ss_curve_same(c, exact))
      return ss_fail(error, SS_UNPROVEN, "%s and %s are lossless, but their curves differ", c->setting->label,
                     exact->setting->label);
  }
  return true;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

double ss_curve_reached(const struct ss_curve *c, double target) {
  enum { LAST = 10 };
  double sum = 0;
  for (uint64_t t = 0; t < c->steps; t++) {
    sum += c->loss[t] - (t >= LAST ? c->loss[t - LAST] : 0);
    if (t + 1 >= LAST && sum / LAST <= target) return (double)t + 1;
  }
  return NAN;
}

void ss_learning_tell(const struct ss_learning *l, const struct ss_notice *notice) {
  const struct ss_learning_source *source = &l->source;
  bool reached = false, nodes = false;
  char text[160];
  for (size_t i = 0; i < l->count; i++) {
    reached = reached || !isnan(ss_curve_reached(&l->curve[i], l->task.target));
    nodes = nodes || l->curve[i].setting->hierarchy != SS_FLAT;
  }
  (void)snprintf(text, sizeof text,
                 "no mean of ten losses came down to the target, %g, in %llu steps: more steps may", l->task.target,
                 (unsigned long long)l->task.steps);
  if (l->task.target > 0 && !reached) ss_notice_tell(notice, text);
  if (source->cluster.gpus_per_node > 1 && !nodes)
    ss_notice_tell(notice, "GPUs of a node do nothing here: no scheme has a hierarchy");
}

static cJSON *selection_json(const struct ss_selection *s) {
  if (!s->selects) return cJSON_CreateNull();
  return ss_json_object(SS_N("k", s->k ? (double)s->k : NAN), SS_N("block", s->block ? (double)s->block : NAN),
                        SS_B("residual", s->residual), SS_N("momentum", s->momentum),
                        SS_N("sample", s->sample > 0 ? s->sample : 1), SS_N("warm_up", (double)s->warm_up));
}

static cJSON *curve_json(const struct ss_learning *l, size_t i) {
  const struct ss_curve *c = &l->curve[i];
  const size_t first = ss_curves_same(l, i);
  return ss_json_object(SS_T("scheme", c->setting->scheme->name), SS_T("label", c->setting->label),
                        SS_J("options", ss_setting_own_json(c->setting, false)),
                        SS_B("lossless", ss_scheme_lossless(c->setting->scheme)), SS_B("sound", c->sound),
                        SS_T("same_as", first < i ? l->curve[first].setting->label : NULL),
                        SS_B("diverged", c->diverged), SS_N("steps", (double)c->steps),
                        SS_N("loss_first", c->steps > 0 ? c->loss[0] : NAN), SS_N("loss_end", ss_curve_end(c)),
                        SS_N("steps_to_target", ss_curve_reached(c, l->task.target)), SS_N("bytes_sent_max", c->sent),
                        SS_N("energy", c->energy), SS_N("energy_lost", c->energy_lost), SS_N("error_l2", c->error_l2),
                        SS_J("loss", cJSON_CreateDoubleArray(c->loss, (int)c->steps)));
}

cJSON *ss_curves_json(const struct ss_learning *l) {
  const struct ss_learn_task *task = &l->task;
  cJSON *root = ss_json_object(
      SS_T("sparsync", SS_VERSION), SS_T("text", l->text), SS_T("layout", l->layout), SS_N("ranks", task->ranks),
      SS_N("iterations", (double)ss_trace_iterations(task->text)), SS_N("steps", (double)task->steps),
      SS_N("batch", (double)task->batch), SS_N("seq", l->seq ? (double)l->seq : NAN),
      SS_N("vocab", (double)task->shape.vocab), SS_N("width", task->shape.width),
      SS_T("model", ss_model_names[task->shape.kind]),
      SS_N("context", task->shape.kind == SS_BAG ? (double)task->shape.context : NAN),
      SS_N("samples", task->shape.samples), SS_N("seed", (double)task->shape.seed),
      SS_T("optimizer", ss_optimizer_names[task->optimizer.kind]), SS_N("lr", task->optimizer.rate),
      SS_B("split", task->split),
      SS_N("select", task->select.selects && !task->select.k ? task->select.density : NAN),
      SS_J("selection", selection_json(&task->select)), SS_N("target", task->target > 0 ? task->target : NAN));
  cJSON *list = cJSON_AddArrayToObject(root, "curves");
  for (size_t i = 0; i < l->count; i++) cJSON_AddItemToArray(list, curve_json(l, i));
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
