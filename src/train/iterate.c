#include "train/iterate.h"

#include "train/trail.h"

#include <gsl/gsl_cdf.h>

struct stream {
  uint64_t iteration;
  uint32_t index; /* of the operation in the iteration: backward passes, split, forward passes */
  double factor;  /* jitter of this iteration */
  int64_t last;   /* span of the operation before, or of the one that runs */
  double ended;   /* s: the operation before */
  uint32_t gate;  /* of the next operation's gates, the first that may be closed */
};

/* An instance of a task; of one task at most two are under way, of successive iterations. */
struct instance {
  uint64_t iteration;
  double submitted, ended; /* s */
  int64_t cause, span;     /* spans: of the operation that submitted it; its own */
  bool held;               /* it was made, and waits for another task before it is submitted */
};

/* Sums over the measured iterations. */
struct sums {
  double busy, hidden, own, split, step;
};

struct player {
  const struct ss_timetable *t;
  const struct ss_iterate_options *options;
  struct ss_iterated *out;
  struct ss_events events;
  struct ss_under_way under_way;
  uint32_t operations; /* an iteration */
  struct stream *stream;
  uint32_t *ready;           /* [tasks] ranks that are ready for the instance that is due */
  uint64_t *done;            /* [tasks] iteration of the last instance that ended, plus 1 */
  struct instance *instance; /* [2 * tasks] by task and parity of the iteration */
  uint64_t gradients_done;   /* of `fifo`: since time 0 */
  uint32_t last_gradient;    /* instance that ended last of those */
  uint64_t *finished;        /* [iterations] ranks that are through */
  uint32_t computing;        /* ranks that are in a forward or backward pass */
  bool in_window;            /* between the end of the warm-up and the last iteration's */
  struct sums sum;
  int64_t channel[SS_CHANNELS_MAX]; /* span of the last task on each */
  size_t capacity;
  uint64_t record_from;
  bool short_of_memory;
  struct ss_arena arena; /* of the arrays */
  /* where iterations that repeat are left out: */
  uint64_t cycle; /* iterations after which tasks last as long again; 0: none is left out */
  double shift;   /* s that were left out: what is told is so much later than events have it */
  double ended;   /* s: the last iteration, as events have it */
  struct ss_trail trail;
  struct sums before; /* a cycle ago */
};

double ss_jitter(uint64_t seed, double sigma, uint64_t iteration, uint32_t rank) {
  if (sigma == 0) return 1;
  const uint64_t draw = ss_mix(ss_mix(seed, iteration), rank) >> 11;
  return exp(sigma * gsl_cdf_ugaussian_Pinv(((double)draw + 0.5) * 0x1p-53) - sigma * sigma / 2);
}

/* --- operations ----------------------------------------------------------------------------------------- */

struct operation {
  enum ss_span_kind kind;
  uint32_t module;
  uint64_t iteration;
  bool alone; /* of a further micro-batch: it waits for no task, and makes none */
};

static struct operation operation_of(const struct player *p, const struct stream *s) {
  const uint32_t n = p->t->workload->modules, splits = p->t->splits;
  if (s->index < n) return (struct operation){SS_SPAN_BACKWARD, n - 1 - s->index, s->iteration, false};
  if (splits && s->index == n) return (struct operation){SS_SPAN_SPLIT, 0, s->iteration, false};
  const uint32_t behind = s->index - n - splits, at = behind % n;
  const bool backward = behind / n % 2 == 1;
  return (struct operation){backward ? SS_SPAN_BACKWARD : SS_SPAN_FORWARD, backward ? n - 1 - at : p->t->forward[at],
                            s->iteration + 1, behind >= n};
}

static double seconds_of(const struct player *p, const struct stream *s, struct operation o) {
  const struct ss_module *m = &p->t->workload->module[o.module];
  if (o.kind == SS_SPAN_SPLIT) return p->t->split_period ? p->t->split[o.iteration % p->t->split_period] : 0;
  return s->factor * (p->options->compute * (o.kind == SS_SPAN_FORWARD ? m->forward : m->backward));
}

/* What goes before it: what software does, and the optimizer. */
static double step_of(const struct player *p, struct operation o, double *software) {
  const struct ss_timetable *t = p->t;
  *software = 0;
  if (o.kind != SS_SPAN_FORWARD || o.alone) return 0;
  const double optimizer = p->options->compute * t->workload->module[o.module].optimizer;
  if (t->step) *software = t->step[(o.iteration - 1) % t->step_period * t->workload->modules + o.module];
  return optimizer + *software;
}

/* The iteration whose instance of the task gates the operation. */
static uint64_t gating(const struct ss_task *task, struct operation o) {
  return task->kind == SS_TASK_LOOKUPS ? o.iteration : o.iteration - 1;
}

/* Tasks that the operation waits for, besides the operation before it. */
struct gates {
  const uint32_t *task;
  uint32_t count;
};

static struct gates gates_of(const struct player *p, const struct stream *s, struct operation o) {
  const struct ss_timetable *t = p->t;
  const uint32_t *first = t->gates.first + o.module;
  if (o.alone) return (struct gates){NULL, 0};
  if (o.kind == SS_SPAN_FORWARD) return (struct gates){t->gates.task + first[0], first[1] - first[0]};
  if (o.kind == SS_SPAN_SPLIT || s->index > 0 || o.iteration == 0) return (struct gates){NULL, 0};
  return (struct gates){t->before_backward, t->befores};
}

/* What is done stays done, so that a stream goes on where it found the gate that held it. */
static bool may_start(const struct player *p, struct stream *s, struct operation o) {
  const struct ss_timetable *t = p->t;
  const struct gates gates = gates_of(p, s, o);
  if (o.kind == SS_SPAN_FORWARD && !o.alone && t->policy.schedule == SS_FIFO &&
      p->gradients_done < o.iteration * t->gradients)
    return false;
  for (; s->gate < gates.count; s->gate++)
    if (p->done[gates.task[s->gate]] <= gating(&t->task[gates.task[s->gate]], o)) return false;
  s->gate = 0;
  return true;
}

/* --- spans ---------------------------------------------------------------------------------------------- */

static int64_t record(struct player *p, struct ss_span span) {
  struct ss_iterated *out = p->out;
  if (!ss_grow(out->span, p->capacity, out->spans + 1)) {
    p->short_of_memory = true;
    return -1;
  }
  out->span[out->spans] = span;
  return (int64_t)out->spans++;
}

/* Of what an operation waited for, what ended last; the operation before it wins ties. */
static int64_t predecessor(const struct player *p, const struct stream *s, struct operation o) {
  const struct ss_timetable *t = p->t;
  const struct gates gates = gates_of(p, s, o);
  int64_t best = s->last;
  double ended = s->ended;
  for (uint32_t i = 0; i < gates.count; i++) {
    const uint32_t task = gates.task[i];
    const struct instance *x = &p->instance[2 * task + gating(&t->task[task], o) % 2];
    if (x->ended <= ended) continue;
    best = x->span;
    ended = x->ended;
  }
  if (t->policy.schedule == SS_FIFO && o.kind == SS_SPAN_FORWARD && !o.alone && t->gradients > 0) {
    const struct instance *x = &p->instance[p->last_gradient];
    if (x->ended > ended) best = x->span;
  }
  return best;
}

/* --- iterations that repeat are left out ---------------------------------------------------------------- */

static uint64_t least_common(uint64_t a, uint64_t b) {
  uint64_t x = a, y = b;
  while (y > 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x > 0 && b / x <= UINT32_MAX / a ? a * (b / x) : UINT32_MAX;
}

/* Where plays share links an iteration takes long to play, and most are like those of a cycle before. */
static uint64_t cycle_of(const struct player *p) {
  const struct ss_timetable *t = p->t;
  uint64_t cycle = p->options->warmup;
  if (!p->options->network || p->options->sigma > 0) return 0;
  if (t->split_period) cycle = least_common(cycle, t->split_period);
  if (t->step_period) cycle = least_common(cycle, t->step_period);
  for (uint32_t i = 0; i < t->tasks; i++)
    if (t->task[i].period) cycle = least_common(cycle, t->task[i].period);
  return cycle < p->options->iterations ? cycle : 0;
}

static void note(struct player *p, double now) {
  if (p->cycle) ss_trail_note(&p->trail, now - p->ended);
}

static void add_sums(struct sums *sum, const struct sums *now, const struct sums *before, double times) {
  sum->busy += times * (now->busy - before->busy);
  sum->hidden += times * (now->hidden - before->hidden);
  sum->own += times * (now->own - before->own);
  sum->split += times * (now->split - before->split);
  sum->step += times * (now->step - before->step);
}

/* `left_out` iterations, whole cycles, follow iteration t as those of a cycle before did. Tasks keep their slots:
 * their number is even. */
static void leave_out(struct player *p, uint64_t t, uint64_t left_out) {
  double *end = p->out->end;
  const double length = end[t] - end[t - p->cycle];
  const struct sums now = p->sum;
  for (uint64_t i = t + 1; i <= t + left_out; i++) {
    end[i] = end[i - p->cycle] + length;
    p->finished[i] = p->events.streams;
  }
  p->shift = end[t + left_out] - p->ended;
  const uint64_t cycles = left_out / p->cycle;
  add_sums(&p->sum, &now, &p->before, (double)cycles);
  for (uint32_t s = 0; s < p->events.streams; s++) p->stream[s].iteration += left_out;
  for (uint32_t i = 0; i < 2 * p->t->tasks; i++) p->instance[i].iteration += left_out;
  for (uint32_t i = 0; i < p->t->tasks; i++)
    if (p->done[i] > 0) p->done[i] += left_out;
  p->gradients_done += left_out * p->t->gradients;
}

/* At the end of iteration t, where a cycle ends. */
static void look_for_repeats(struct player *p, uint64_t t) {
  const uint64_t cycles = p->record_from > t + 1 ? (p->record_from - t - 1) / p->cycle : 0;
  const uint64_t left_out = (p->cycle % 2 ? cycles - cycles % 2 : cycles) * p->cycle;
  if (left_out > 0 && ss_trail_repeats(&p->trail, p->cycle)) {
    leave_out(p, t, left_out);
    p->cycle = 0;
  }
  p->before = p->sum;
}

/* --- what the events call ------------------------------------------------------------------------------- */

static bool next(void *context, uint32_t stream, double now, double *seconds) {
  struct player *p = context;
  struct stream *s = &p->stream[stream];
  if (s->iteration == p->options->iterations) return false;
  const struct operation o = operation_of(p, s);
  if (!may_start(p, s, o)) return false;
  if (s->index == 0) s->factor = ss_jitter(p->options->seed, p->options->sigma, s->iteration, stream);
  *seconds = seconds_of(p, s, o);
  p->computing += o.kind != SS_SPAN_SPLIT;
  if (s->iteration >= p->options->warmup) *(o.kind == SS_SPAN_SPLIT ? &p->sum.split : &p->sum.own) += *seconds;
  note(p, now);
  double software;
  const double step = step_of(p, o, &software);
  if (s->iteration >= p->options->warmup) p->sum.step += step;
  *seconds += step;
  if (s->iteration >= p->record_from)
    s->last = record(p, (struct ss_span){o.kind, stream, o.module, o.iteration, now + p->shift, now + p->shift,
                                         now + p->shift + *seconds, predecessor(p, s, o),
                                         *seconds > 0 ? software / *seconds : 0});
  return true;
}

/* s that filling what the task sends takes, and emptying it. */
static double copy_of(const struct player *p, const struct ss_task *task) {
  const double copy = p->t->policy.concurrency.software.copy;
  return copy > 0 && task->dense ? (double)task->bytes / copy : 0;
}

static bool submit(struct player *p, uint32_t slot, struct ss_error *error) {
  const struct ss_task *what = &p->t->task[slot / 2];
  const double alone = what->period ? what->seconds[p->instance[slot].iteration % what->period] : 0;
  return ss_events_submit(&p->events, what->channel,
                          (struct ss_event){.at = what->key, .who = slot, .alone = alone, .copy = copy_of(p, what)},
                          error);
}

/* Do delayed rows of the iteration before still have to come, on another channel than their table's prior rows? On
 * the same one their turn is before. */
static bool is_held(struct player *p, const struct ss_task *prior, uint64_t iteration) {
  const struct ss_task *delayed = &p->t->task[prior->delayed];
  ss_events_rekey(&p->events, delayed->channel, 2 * prior->delayed + (iteration + 1) % 2, delayed->late_key);
  return delayed->channel != prior->channel && p->done[prior->delayed] < iteration;
}

static bool make(struct player *p, uint32_t task, uint64_t iteration, const struct stream *last, double now,
                 struct ss_error *error) {
  const struct ss_task *what = &p->t->task[task];
  const uint32_t slot = 2 * task + iteration % 2;
  if (++p->ready[task] < p->events.streams) return true;
  p->ready[task] = 0;
  p->instance[slot] = (struct instance){iteration, now, now, last->last, -1, false};
  p->instance[slot].held = what->kind == SS_TASK_PRIOR && is_held(p, what, iteration);
  return p->instance[slot].held || submit(p, slot, error);
}

/* The delayed rows have come: prior rows that were held for them. */
static bool release(struct player *p, uint32_t delayed, double now, struct ss_error *error) {
  const uint64_t iteration = p->done[delayed];
  for (uint32_t i = 0; i < p->t->gradients; i++) {
    const uint32_t slot = 2 * i + iteration % 2;
    struct instance *x = &p->instance[slot];
    if (p->t->task[i].kind != SS_TASK_PRIOR || p->t->task[i].delayed != delayed || !x->held) continue;
    x->held = false;
    x->submitted = now;
    x->cause = p->instance[2 * delayed + (iteration + 1) % 2].span;
    return submit(p, slot, error);
  }
  return true;
}

static bool make_tasks(struct player *p, struct operation o, const struct stream *s, double now,
                       struct ss_error *error) {
  const struct ss_timetable *t = p->t;
  const struct ss_task_lists *lists = o.kind == SS_SPAN_BACKWARD ? &t->by_backward : &t->by_forward;
  if (o.alone) return true;
  if (o.kind == SS_SPAN_SPLIT) {
    for (uint32_t k = 0; k < t->gradients; k++)
      if (t->task[k].kind != SS_TASK_GRADIENT && !make(p, k, o.iteration, s, now, error)) return false;
    return true;
  }
  for (uint32_t i = lists->first[o.module]; i < lists->first[o.module + 1]; i++)
    if (!make(p, lists->task[i], o.iteration, s, now, error)) return false;
  return true;
}

static void end_iteration(struct player *p, struct stream *s, double now) {
  const uint64_t t = s->iteration++;
  s->index = 0;
  if (++p->finished[t] < p->events.streams) return;
  p->out->end[t] = now + p->shift;
  p->out->last = s->last;
  p->ended = now;
  if (t + 1 == p->options->warmup) p->in_window = true;
  if (t + 1 == p->options->iterations) p->in_window = false;
  if (!p->cycle) return;
  ss_trail_end_iteration(&p->trail);
  if ((t + 1) % p->cycle == 0) look_for_repeats(p, t);
}

static bool ended(void *context, uint32_t stream, double now, struct ss_error *error) {
  struct player *p = context;
  struct stream *s = &p->stream[stream];
  const struct operation o = operation_of(p, s);
  p->computing -= o.kind != SS_SPAN_SPLIT;
  s->ended = now;
  note(p, now);
  if (s->last >= 0) p->out->span[s->last].end = now + p->shift;
  if (!make_tasks(p, o, s, now, error)) return false;
  if (++s->index == p->operations) end_iteration(p, s, now);
  return true;
}

static void task_started(void *context, uint32_t slot, double now) {
  struct player *p = context;
  struct instance *x = &p->instance[slot];
  const uint32_t task = slot / 2, channel = p->t->task[task].channel;
  note(p, now);
  /* lookups(t+1) are played in iteration t */
  if (x->iteration < p->record_from + (p->t->task[task].kind == SS_TASK_LOOKUPS)) {
    p->channel[channel] = -1;
    return;
  }
  /* it began when the channel was free, or else when it was submitted; channels may wait for a multiple of the cycle
   */
  const int64_t last = p->channel[channel];
  const bool was_free = last >= 0 ? p->out->span[last].end <= x->submitted + p->shift : now <= x->submitted;
  const int64_t before = was_free ? x->cause : last;
  x->span = record(p, (struct ss_span){SS_SPAN_TASK, channel, task, x->iteration, x->submitted + p->shift,
                                       now + p->shift, NAN, before, 0});
  p->channel[channel] = x->span;
}

static bool task_ended(void *context, uint32_t slot, double now, struct ss_error *error) {
  struct player *p = context;
  struct instance *x = &p->instance[slot];
  p->done[slot / 2] = x->iteration + 1;
  x->ended = now;
  note(p, now);
  if (x->span >= 0) {
    struct ss_span *span = &p->out->span[x->span];
    const double software = p->t->policy.concurrency.software.call + 2 * copy_of(p, &p->t->task[slot / 2]);
    span->end = now + p->shift;
    span->software = span->end > span->start ? fmin(software / (span->end - span->start), 1) : 0;
  }
  if (slot / 2 < p->t->gradients) {
    p->gradients_done++;
    p->last_gradient = slot;
  }
  return p->t->task[slot / 2].kind != SS_TASK_DELAYED || release(p, slot / 2, now, error);
}

static void passed(void *context, double from, double to) {
  struct player *p = context;
  if (!p->in_window || p->events.busy == 0) return;
  p->sum.busy += to - from;
  p->sum.hidden += (to - from) * p->computing / p->events.streams;
}

static uint64_t iteration_of(void *context, uint32_t slot) {
  return ((const struct player *)context)->instance[slot].iteration;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static void summarise(struct player *p) {
  const struct ss_iterate_options *w = p->options;
  struct ss_iterated *out = p->out;
  const double n = (double)(w->iterations - w->warmup), streams = p->events.streams;
  out->mean = (out->end[w->iterations - 1] - out->end[w->warmup - 1]) / n;
  out->min = INFINITY;
  out->max = 0;
  for (uint64_t t = w->warmup; t < w->iterations; t++) {
    out->min = fmin(out->min, out->end[t] - out->end[t - 1]);
    out->max = fmax(out->max, out->end[t] - out->end[t - 1]);
  }
  out->own = p->sum.own / streams / n;
  out->split = p->sum.split / streams / n;
  out->step = p->sum.step / streams / n;
  out->stall = out->mean - out->own;
  if (fabs(out->stall) < 1e-12 * out->mean) out->stall = 0; /* two sums, in another order */
  out->busy = p->sum.busy / n;
  out->hidden = p->sum.busy > 0 ? p->sum.hidden / p->sum.busy : NAN;
  for (uint32_t k = 0; k < p->t->tasks; k++) out->sent += ss_task_sent(&p->t->task[k], w);
  out->window = w->recorded < w->iterations ? out->end[w->iterations - w->recorded - 1] : 0;
}

/* The mean of each[period] over the measured iterations; NULL: 0. */
static double mean_of(const struct ss_task *task, const double *each, const struct ss_iterate_options *w) {
  double sum = 0;
  const uint64_t later = task->kind == SS_TASK_LOOKUPS;
  for (uint64_t t = w->warmup; each && t < w->iterations; t++) sum += each[(t + later) % task->period];
  return sum / (double)(w->iterations - w->warmup);
}

double ss_task_sent(const struct ss_task *task, const struct ss_iterate_options *options) {
  return mean_of(task, task->sent, options);
}

double ss_task_seconds(const struct ss_task *task, const struct ss_iterate_options *options) {
  return mean_of(task, task->period ? task->seconds : NULL, options);
}

static bool open_player(struct player *p, struct ss_error *error) {
  const uint32_t tasks = p->t->tasks, streams = p->out->streams;
  const struct ss_concurrency *policy = &p->t->policy.concurrency;
  const struct ss_stage_client client = {p, next, ended, task_started, task_ended, passed};
  p->operations = 2 * p->t->workload->modules * (p->options->accumulation > 1 ? p->options->accumulation : 1);
  p->operations += p->t->splits;
  p->out->end = ss_alloc_zero(p->options->iterations, sizeof *p->out->end);
  if (!p->out->end || !ss_take_zero(&p->arena, p->stream, streams) || !ss_take_zero(&p->arena, p->ready, tasks) ||
      !ss_take_zero(&p->arena, p->done, tasks) || !ss_take_zero(&p->arena, p->instance, 2 * (size_t)tasks) ||
      !ss_take_zero(&p->arena, p->finished, p->options->iterations))
    return ss_fail_memory(error, "playing iterations");
  for (uint32_t i = 0; i < streams; i++) p->stream[i].last = -1;
  for (uint32_t i = 0; i < 2 * tasks; i++) p->instance[i].span = -1;
  for (uint32_t c = 0; c < SS_CHANNELS_MAX; c++) p->channel[c] = -1;
  p->out->last = -1;
  if (ss_concurrency_needs_network(policy) && !p->options->network)
    return ss_fail_memory(error, "playing tasks at once");
  p->cycle = cycle_of(p);
  p->under_way = (struct ss_under_way){
      .network = p->options->network, .iteration = iteration_of, .context = p, .shared = policy->shared_kernels};
  if (!ss_events_open(&p->events, streams, policy, client, error)) return false;
  p->events.network = ss_under_way_network(&p->under_way);
  return true;
}

bool ss_iterate(const struct ss_timetable *timetable, const struct ss_iterate_options *options,
                struct ss_iterated *out, struct ss_error *error) {
  struct player p = {.t = timetable, .options = options, .out = out};
  const bool alike = !(options->sigma > 0) && !timetable->policy.concurrency.shared_kernels;
  *out = (struct ss_iterated){.streams = alike ? 1 : timetable->ranks};
  /* one more, of which delayed rows may still be under way */
  if (options->recorded + 1 < options->iterations) p.record_from = options->iterations - options->recorded - 1;
  bool ok = open_player(&p, error) && ss_events_run(&p.events, error);
  if (ok && p.short_of_memory) ok = ss_fail_memory(error, "recording a timeline");
  if (ok && p.finished[options->iterations - 1] < out->streams)
    ok = ss_fail(error, SS_MACHINE, "%s: the timeline stands still after %.9g s", timetable->workload->name,
                 p.events.now);
  if (ok) summarise(&p);
  ok = ok && ((ss_seconds_check(out->mean, error) && ss_seconds_check(out->max, error) &&
               ss_seconds_check(out->end[options->iterations - 1], error)) ||
              ss_fail_prefix(error, "%s: an iteration", timetable->workload->name));
  ss_arena_free(&p.arena);
  ss_events_close(&p.events);
  ss_under_way_close(&p.under_way);
  ss_trail_free(&p.trail);
  if (!ok) ss_iterated_free(out);
  return ok;
}

void ss_iterated_free(struct ss_iterated *iterated) {
  free(iterated->end);
  free(iterated->span);
  *iterated = (struct ss_iterated){0};
}

/* --- the critical path ----------------------------------------------------------------------------------- */

static int by_seconds(const void *a, const void *b) {
  const struct ss_path_part *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return (x->what > y->what) - (x->what < y->what);
}

bool ss_path_find(const struct ss_timetable *t, const struct ss_iterated *iterated, struct ss_path_part **out,
                  size_t *count, struct ss_error *error) {
  const uint32_t n = t->workload->modules;
  const size_t parts = 3 * (size_t)n + t->tasks;
  struct ss_path_part *part = ss_alloc_zero(parts, sizeof *part);
  if (!part) return ss_fail_memory(error, "finding the critical path");
  for (int64_t at = iterated->last; at >= 0; at = iterated->span[at].before) {
    const struct ss_span *s = &iterated->span[at];
    if (s->end <= iterated->window && s->start < iterated->window) break;
    struct ss_path_part *p = &part[(size_t)s->kind * n + s->what];
    const double since = s->before >= 0 ? fmin(s->start, iterated->span[s->before].end) : s->start; /* its turn */
    p->kind = s->kind;
    p->what = s->what;
    const double from = fmax(since, iterated->window), start = fmax(s->start, iterated->window);
    p->seconds += s->end - from;
    p->software += s->software * (s->end - start);
    *(s->kind == SS_SPAN_TASK ? &p->software : &p->waited) += start - from;
    if (since < iterated->window) break;
  }
  qsort(part, parts, sizeof *part, by_seconds);
  for (*count = 0; *count < parts && part[*count].seconds > 0;) ++*count;
  *out = part;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
