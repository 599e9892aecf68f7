#include "together_reference.h"

#include "support.h"

enum { MOST_TASKS = 200, MOST_MODULES = 64, MOST_STREAMS = 16, MOST_WAITING = 400 };

/* An operation of a compute stream, and what comes after it. */
struct stream {
  uint64_t iteration;
  uint32_t place; /* in the iteration's program */
  bool running;
  uint32_t kernel; /* that it computes; UINT32_MAX: none */
  double end;      /* if nothing changes */
};

enum phase { FREE, BEFORE, PLAYING, AFTER };

struct lane {
  enum phase phase;
  uint32_t task, play;
  uint64_t iteration;
  double until;
};

struct entry {
  uint32_t task;
  uint64_t iteration, number;
  bool moved;
};

struct plan {
  const struct reference_training *in;
  const struct ss_timetable *t;
  const struct ss_workload *w;
  uint32_t place[MOST_MODULES], order[MOST_MODULES]; /* of forward passes */
  uint32_t streams, program;                         /* program: operations of an iteration */
  struct stream stream[MOST_STREAMS];
  struct lane lane[SS_CHANNELS_MAX];
  uint32_t lanes;
  struct entry waiting[MOST_WAITING];
  uint32_t waits;
  uint64_t made;
  uint32_t makers[MOST_TASKS][REFERENCE_ITERATIONS + 1]; /* streams that made it */
  bool done[MOST_TASKS][REFERENCE_ITERATIONS + 1];
  uint32_t through[REFERENCE_ITERATIONS];
  double now, speed, tick;
  uint64_t ticks;
  uint32_t plays; /* under way */
  struct reference_trained *out;
};

/* --- what waits for what --------------------------------------------------------------------------------------- */

enum what { BACKWARD, SPLIT, FORWARD };

static enum what what_of(const struct plan *p, const struct stream *s, uint32_t *module) {
  const uint32_t n = p->w->modules;
  *module = 0;
  if (p->t->splits && s->place == n) return SPLIT;
  const uint32_t pass = s->place > n ? s->place - p->t->splits : s->place, at = pass % (2 * n);
  *module = at < n ? n - 1 - at : p->order[at - n];
  return at < n ? BACKWARD : FORWARD;
}

/* Of a further micro-batch: waits for no task, and makes none. */
static bool is_further(const struct plan *p, const struct stream *s) {
  return s->place >= 2 * p->w->modules + p->t->splits;
}

static bool needs(const struct plan *p, uint32_t module, uint32_t other) {
  const struct ss_module *m = &p->w->module[module];
  for (uint32_t i = 0; i < m->afters; i++)
    if (m->after[i] == other) return true;
  return false;
}

/* Topological, ties by list place; or the embeddings first. */
static void find_order(struct plan *p) {
  const uint32_t n = p->w->modules;
  const enum ss_schedule schedule = p->t->policy.schedule;
  bool placed[MOST_MODULES] = {false};
  uint32_t count = 0;
  for (uint32_t m = 0; m < n && schedule >= SS_HORIZONTAL; m++)
    if (p->w->module[m].embedding) p->order[count++] = m, placed[m] = true;
  while (count < n)
    for (uint32_t m = 0; m < n; m++) {
      bool ready = !placed[m];
      for (uint32_t k = 0; k < n; k++) ready = ready && (placed[k] || !needs(p, m, k));
      if (!ready) continue;
      p->order[count++] = m, placed[m] = true;
      break;
    }
  for (uint32_t i = 0; i < n; i++) p->place[p->order[i]] = i;
}

/* The place of the first module that needs what the embedding looked up; behind all, where none does. */
static uint32_t first_consumer(const struct plan *p, uint32_t module) {
  uint32_t first = p->w->modules;
  for (uint32_t m = 0; m < p->w->modules; m++)
    if (needs(p, m, module) && p->place[m] < first) first = p->place[m];
  return first;
}

static bool carries(const struct ss_task *task, uint32_t module) {
  for (uint32_t i = 0; i < task->members; i++)
    if (task->member[i] == module) return true;
  return false;
}

static bool may_start(const struct plan *p, const struct stream *s) {
  uint32_t module;
  const enum what what = what_of(p, s, &module);
  const uint64_t t = s->iteration;
  for (uint32_t i = 0; i < p->t->tasks && !is_further(p, s); i++) {
    const struct ss_task *task = &p->t->task[i];
    const bool looks_up = task->kind == SS_TASK_LOOKUPS;
    const uint32_t consumer = looks_up ? first_consumer(p, *task->member) : 0;
    bool needed = false;
    if (what == BACKWARD) needed = s->place == 0 && t > 0 && looks_up && consumer == p->w->modules && !p->done[i][t];
    if (what == FORWARD && looks_up) needed = needs(p, module, *task->member) && !p->done[i][t + 1];
    if (what == FORWARD && !looks_up && task->kind != SS_TASK_DELAYED)
      needed = (p->t->policy.schedule == SS_FIFO || carries(task, module)) && !p->done[i][t];
    if (needed) return false;
  }
  return true;
}

static double lasts(const struct plan *p, uint32_t stream, bool measured) {
  const struct ss_iterate_options *o = p->in->options;
  const struct stream *s = &p->stream[stream];
  uint32_t module;
  const enum what what = what_of(p, s, &module);
  const double all = (double)(o->iterations - o->warmup) * p->streams;
  double step = 0;
  if (what == SPLIT) {
    const double split = p->t->split[s->iteration % p->t->split_period];
    if (measured) p->out->split += split / all;
    return split;
  }
  const double pass = what == BACKWARD ? p->w->module[module].backward : p->w->module[module].forward;
  const double own = ss_jitter(o->seed, o->sigma, s->iteration, stream) * (o->compute * pass);
  if (what == FORWARD && !is_further(p, s)) step = o->compute * p->w->module[module].optimizer;
  if (what == FORWARD && !is_further(p, s) && p->t->step)
    step += p->t->step[s->iteration % p->t->step_period * p->w->modules + module];
  if (measured) p->out->own += own / all, p->out->step += step / all;
  return own + step;
}

/* --- the queue ------------------------------------------------------------------------------------------------- */

static uint32_t lane_of(const struct plan *p, const struct ss_task *task) {
  static const enum ss_cargo cargo[] = {[SS_TASK_GRADIENT] = SS_CARGO_GRADIENT,
                                        [SS_TASK_LOOKUPS] = SS_CARGO_LOOKUPS,
                                        [SS_TASK_PRIOR] = SS_CARGO_PRIOR,
                                        [SS_TASK_DELAYED] = SS_CARGO_DELAYED};
  return p->in->concurrency->channel[task->dense ? SS_CARGO_DENSE : cargo[task->kind]];
}

struct turn {
  double part[4];
};

/* Where it stands, as the table of schedules says it. */
static struct turn turn_of(const struct plan *p, const struct entry *e) {
  const struct ss_task *task = &p->t->task[e->task];
  const bool looks_up = task->kind == SS_TASK_LOOKUPS, delayed = task->kind == SS_TASK_DELAYED;
  const double at = looks_up ? first_consumer(p, *task->member) : p->place[*task->member];
  const double number = (double)e->number;
  switch (p->t->policy.schedule) {
  case SS_FIFO: return (struct turn){{number}};
  case SS_PRIORITY: return (struct turn){{at, number}};
  case SS_HORIZONTAL:
  case SS_2D: break;
  }
  return (struct turn){{delayed && !e->moved, at, looks_up ? 0 : delayed ? 0.5 : 1, number}};
}

static bool before(struct turn a, struct turn b) {
  uint32_t i = 0;
  while (i < 3 && a.part[i] == b.part[i]) i++;
  return a.part[i] < b.part[i];
}

static void make(struct plan *p, uint32_t task, uint64_t iteration) {
  assert_true(iteration <= REFERENCE_ITERATIONS && p->waits < MOST_WAITING);
  if (++p->makers[task][iteration] < p->streams) return;
  p->waiting[p->waits++] = (struct entry){task, iteration, p->made++, false};
  for (uint32_t i = 0; i < p->waits && p->t->task[task].kind == SS_TASK_PRIOR; i++) {
    struct entry *e = &p->waiting[i];
    const struct ss_task *other = &p->t->task[e->task];
    if (other->kind == SS_TASK_DELAYED && *other->member == *p->t->task[task].member && e->iteration + 1 == iteration)
      e->moved = true;
  }
}

/* Prior rows wait for delayed ones of the iteration before. */
static bool is_held(const struct plan *p, const struct entry *e) {
  const struct ss_task *task = &p->t->task[e->task];
  for (uint32_t i = 0; i < p->t->tasks && task->kind == SS_TASK_PRIOR && e->iteration > 0; i++)
    if (p->t->task[i].kind == SS_TASK_DELAYED && *p->t->task[i].member == *task->member)
      return !p->done[i][e->iteration - 1];
  return false;
}

static bool choose(struct plan *p, uint32_t lane) {
  uint32_t best = UINT32_MAX;
  if (p->lane[lane].phase != FREE) return false;
  for (uint32_t i = 0; i < p->waits; i++) {
    if (lane_of(p, &p->t->task[p->waiting[i].task]) != lane || is_held(p, &p->waiting[i])) continue;
    if (best == UINT32_MAX || before(turn_of(p, &p->waiting[i]), turn_of(p, &p->waiting[best]))) best = i;
  }
  if (best == UINT32_MAX) return false;
  const struct ss_software *software = &p->in->concurrency->software;
  const struct entry e = p->waiting[best];
  const struct ss_task *task = &p->t->task[e.task];
  const double copy = task->dense && software->copy > 0 ? (double)task->bytes / software->copy : 0;
  memmove(&p->waiting[best], &p->waiting[best + 1], (--p->waits - best) * sizeof e);
  p->lane[lane] = (struct lane){
      .phase = BEFORE, .task = e.task, .iteration = e.iteration, .until = p->now + software->call + copy};
  return true;
}

/* --- what happens ---------------------------------------------------------------------------------------------- */

static void end_operation(struct plan *p, struct stream *s) {
  const uint64_t t = s->iteration;
  uint32_t module;
  const enum what what = what_of(p, s, &module);
  for (uint32_t i = 0; i < p->t->tasks && !is_further(p, s); i++) {
    const struct ss_task *task = &p->t->task[i];
    const uint32_t last = task->member[task->members - 1];
    if (what == BACKWARD && task->kind == SS_TASK_GRADIENT && last == module) make(p, i, t);
    if (what == SPLIT && (task->kind == SS_TASK_PRIOR || task->kind == SS_TASK_DELAYED)) make(p, i, t);
    if (what == FORWARD && task->kind == SS_TASK_LOOKUPS && last == module) make(p, i, t + 1);
  }
  s->running = false;
  if (++s->place < p->program) return;
  if (++p->through[t] == p->streams) p->out->end[t] = p->now;
  s->place = 0;
  s->iteration++;
}

static bool end_some(struct plan *p, struct stream *s) {
  if (s->kernel != UINT32_MAX) {
    if (!reference_is_over(s->kernel)) return false;
    s->kernel = UINT32_MAX;
    return true;
  }
  if (!s->running || s->end > p->now) return false;
  end_operation(p, s);
  return true;
}

/* The stream computes the kernel that asked first, the first lane's among equals. */
static bool start_kernel(struct plan *p, uint32_t i) {
  uint32_t first = UINT32_MAX, kernel;
  double least = HUGE_VAL, since;
  for (uint32_t l = 0; l < p->lanes && p->in->concurrency->shared_kernels; l++) {
    if (p->lane[l].phase != PLAYING || (kernel = reference_asks(p->lane[l].play, i, &since)) == UINT32_MAX) continue;
    if (since < least) least = since, first = kernel;
  }
  p->stream[i].kernel = first;
  if (first != UINT32_MAX) reference_compute(first);
  return first != UINT32_MAX;
}

static bool start_some(struct plan *p, uint32_t i) {
  struct stream *s = &p->stream[i];
  if (s->running || s->kernel != UINT32_MAX) return false;
  if (start_kernel(p, i)) return true;
  if (s->iteration == p->in->options->iterations || !may_start(p, s)) return false;
  s->running = true;
  s->end = p->now + lasts(p, i, s->iteration >= p->in->options->warmup) / p->speed;
  return true;
}

static void start_play(struct plan *p, struct lane *lane) {
  const struct reference_call call = p->in->call(p->in->context, lane->task, lane->iteration);
  if (p->plays++ == 0) reference_open(p->in->clusters, p->in->count, p->in->ranks, true);
  if (p->in->concurrency->shared_kernels) reference_share_kernels();
  lane->play = reference_start(&call.play, p->now + call.start);
  lane->phase = PLAYING;
  reference_go(p->now);
}

static bool communicate(struct plan *p, struct lane *lane) {
  const struct ss_task *task = &p->t->task[lane->task];
  const double copy = p->in->concurrency->software.copy;
  if (lane->phase == BEFORE && lane->until <= p->now) {
    start_play(p, lane);
  } else if (lane->phase == PLAYING && reference_end(lane->play) <= p->now) {
    lane->phase = AFTER;
    lane->until = p->now + (task->dense && copy > 0 ? (double)task->bytes / copy : 0);
    p->plays--;
  } else if (lane->phase == AFTER && lane->until <= p->now) {
    lane->phase = FREE;
    p->done[lane->task][lane->iteration] = true;
  } else {
    return false;
  }
  return true;
}

/* Operations that run go on at the speed that plays leave them. */
static void set_speed(struct plan *p) {
  const double speed = p->plays > 0 ? 1 / (1 + p->in->concurrency->interference) : 1;
  for (uint32_t i = 0; i < p->streams && speed != p->speed; i++)
    p->stream[i].end = p->now + (p->stream[i].end - p->now) * (p->speed / speed);
  p->speed = speed;
}

static bool choose_some(struct plan *p) {
  const double cycle = p->in->concurrency->software.cycle;
  bool any = false;
  if (cycle > 0 && p->tick != p->now) return false;
  for (uint32_t i = 0; i < p->lanes && !any; i++) any = choose(p, i);
  return any;
}

/* All that happens at this instant without a turn of a channel or a shared kernel that starts. */
static void let_happen(struct plan *p) {
  const bool shared = p->in->concurrency->shared_kernels;
  for (bool any = true; any;) {
    any = false;
    for (uint32_t i = 0; i < p->lanes; i++) any = communicate(p, &p->lane[i]) || any;
    set_speed(p);
    for (uint32_t i = 0; i < p->streams; i++) any = end_some(p, &p->stream[i]) || any;
    for (uint32_t i = 0; i < p->streams && !shared; i++) any = start_some(p, i) || any;
    if (shared && p->plays > 0 && reference_next() <= p->now) reference_go(p->now), any = true;
  }
}

/* All that happens at this instant. */
static void settle(struct plan *p) {
  const double cycle = p->in->concurrency->software.cycle;
  while (cycle > 0 && p->tick < p->now) p->tick = (double)++p->ticks * cycle;
  bool started;
  do {
    do let_happen(p);
    while (choose_some(p));
    started = false;
    for (uint32_t i = 0; i < p->streams && p->in->concurrency->shared_kernels; i++)
      started = start_some(p, i) || started;
  } while (started);
}

static double next_instant(const struct plan *p) {
  double next = p->plays > 0 ? reference_next() : HUGE_VAL;
  for (uint32_t i = 0; i < p->streams; i++)
    if (p->stream[i].running) next = fmin(next, p->stream[i].end);
  for (uint32_t i = 0; i < p->lanes; i++)
    if (p->lane[i].phase == BEFORE || p->lane[i].phase == AFTER) next = fmin(next, p->lane[i].until);
  if (p->in->concurrency->software.cycle > 0 && p->waits > 0)
    next = fmin(next, p->tick > p->now ? p->tick : (double)(p->ticks + 1) * p->in->concurrency->software.cycle);
  return next;
}

/* Nothing changes until then. */
static void pass(struct plan *p, double next) {
  bool busy = false;
  uint32_t module;
  for (uint32_t i = 0; i < p->lanes; i++) busy = busy || p->lane[i].phase != FREE;
  if (busy && p->through[p->in->options->warmup - 1] == p->streams) {
    p->out->busy += next - p->now;
    for (uint32_t i = 0; i < p->streams; i++)
      if (p->stream[i].running && what_of(p, &p->stream[i], &module) != SPLIT)
        p->out->hidden += (next - p->now) / p->streams;
  }
  if (p->plays > 0) reference_go(next);
  p->now = next;
}

static bool all_done(const struct plan *p) {
  return p->through[p->in->options->iterations - 1] == p->streams;
}

void reference_train(const struct reference_training *in, struct reference_trained *out) {
  static struct plan plan;
  struct plan *p = &plan;
  const struct ss_iterate_options *o = in->options;
  const double n = (double)(o->iterations - o->warmup);
  *out = (struct reference_trained){0};
  *p = (struct plan){.in = in, .t = in->timetable, .w = in->timetable->workload, .speed = 1, .out = out};
  assert_true(p->w->modules <= MOST_MODULES && p->t->tasks <= MOST_TASKS && o->iterations < REFERENCE_ITERATIONS);
  p->streams = o->sigma > 0 || in->concurrency->shared_kernels ? p->t->ranks : 1;
  for (uint32_t i = 0; i < p->streams; i++) p->stream[i].kernel = UINT32_MAX;
  p->program = 2 * p->w->modules * (o->accumulation > 0 ? o->accumulation : 1) + p->t->splits;
  p->lanes = in->concurrency->channels;
  find_order(p);
  for (;;) {
    settle(p);
    if (all_done(p)) break;
    const double next = next_instant(p);
    if (!(next < HUGE_VAL)) fail_msg("the timeline stands still at %.17g", p->now);
    pass(p, next);
  }
  out->stall = (out->end[o->iterations - 1] - out->end[o->warmup - 1]) / n - out->own;
  out->hidden = out->busy > 0 ? out->hidden / out->busy : NAN;
  out->busy /= n;
}
/* SPDX-License-Identifier: Apache-2.0 */
