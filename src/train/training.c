#include "train/training.h"

#include "train/point_costs.h"
#include "train/varied.h"

/* --- feeding -------------------------------------------------------------------------------------------- */

static bool borrow(struct ss_fed_workload *fed, uint32_t module, const struct ss_feeding *feeding) {
  const struct ss_workload *w = &fed->workload;
  for (const struct ss_fed_workload *l = fed->like; l; l = l->like)
    if (module < l->workload.modules &&
        ss_lookups_borrow(&l->lookups[module], w, &w->module[module], feeding, &fed->lookups[module]))
      return true;
  return false;
}

bool ss_fed_workload_open(struct ss_fed_workload *fed, const struct ss_feeding *feeding, struct ss_error *error) {
  const struct ss_workload *w = &fed->workload;
  fed->lookups = ss_alloc_zero(w->modules, sizeof *fed->lookups);
  fed->cycle = 1;
  if (!fed->lookups) return ss_fail_memory(error, "reading lookups");
  for (uint32_t i = 0; i < w->modules; i++) {
    if (!w->module[i].embedding) continue;
    if (!borrow(fed, i, feeding) && !ss_lookups_make(w, &w->module[i], feeding, &fed->lookups[i], error))
      return false;
    if (fed->lookups[i].iterations > fed->cycle) fed->cycle = fed->lookups[i].iterations;
  }
  return true;
}

static void free_fed(struct ss_fed_workload *fed) {
  for (uint32_t i = 0; fed->lookups && i < fed->workload.modules; i++) ss_lookups_free(&fed->lookups[i]);
  free(fed->lookups);
  ss_workload_free(&fed->workload);
}

/* --- what has to be simulated --------------------------------------------------------------------------- */

/* Of a dense all-reduce all ways that libraries have. */
static bool want_ways(struct ss_training *training, struct ss_training_point *p, struct ss_task *task,
                      const struct ss_carried *carried, struct ss_error *error) {
  uint32_t *ways = ss_arena_alloc(&p->timetable.arena, SS_DENSE_WAYS, sizeof *ways);
  if (!ways) return ss_fail_memory(error, "listing simulations");
  task->ways = ways;
  for (size_t i = 0; i < SS_DENSE_WAYS; i++) {
    struct ss_carried one = *carried;
    ways[i] = UINT32_MAX;
    if (ss_dense_way_take(&ss_dense_ways[i], &training->durations.cluster, p->ranks, &one.setting) &&
        !ss_durations_want(&training->durations, &one, &ways[i], error))
      return false;
  }
  return true;
}

static double given(double value, double otherwise) {
  return isnan(value) ? otherwise : value;
}

static bool want(struct ss_training *training, struct ss_training_point *p, struct ss_task *task, bool staged,
                 struct ss_error *error) {
  static const enum ss_share_of_rows shares[] = {SS_ROWS_ALL, SS_ROWS_ALL, SS_ROWS_PRIOR, SS_ROWS_DELAYED};
  const struct ss_system *s = p->system;
  const struct ss_workload *w = &p->fed->workload;
  const bool table = w->module[*task->member].embedding;
  struct ss_carried carried = {.setting = table ? s->sparse : s->dense,
                               .ranks = p->ranks,
                               .staged = staged &&
                                         (s->staging == SS_STAGED_ALL || (s->staging == SS_STAGED_TABLES && table)),
                               .goodput = given(p->assumed.value[SS_UNKNOWN_GOODPUT], 1),
                               .dtype = w->dtype};
  if (carried.staged) carried.host = given(p->assumed.value[SS_UNKNOWN_HOST_BANDWIDTH], 0);
  if (task->dense) {
    carried.bytes = task->bytes;
    if (!table) carried.select = s->select;
  } else {
    carried.lookups = &p->fed->lookups[*task->member];
    carried.share = shares[task->kind];
    if (task->kind == SS_TASK_LOOKUPS) carried.setting = s->lookups;
  }
  ss_setting_fill(&carried.setting, &training->said);
  ss_setting_settle(&carried.setting, &training->durations.cluster.library);
  if (training->all_reduces == SS_ALL_REDUCES_FASTEST && task->dense && p->ranks > 1 &&
      ss_dense_is_open(&carried.setting)) {
    if (!ss_layout_of(&training->durations.cluster, p->ranks).nccl)
      return want_ways(training, p, task, &carried, error);
    ss_setting_tune(&carried.setting, &training->durations.cluster, p->ranks, task->bytes);
    task->way = ss_dense_library_name(&carried.setting);
  }
  return ss_durations_want(&training->durations, &carried, &task->duration, error);
}

static bool can_run(const struct ss_training *training, const struct ss_training_point *p, struct ss_error *error) {
  const struct ss_concurrency *c = &p->system->concurrency;
  if (ss_concurrency_needs_network(c) && !ss_cluster_fair(&training->durations.cluster))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s has %s: the model \"%s\" plays one task at a time (\"fair\" plays several)", p->system->name,
                   c->channels > 1 ? "several channels" : "shared kernels", training->durations.cluster.model);
  const struct ss_layout layout = ss_layout_of(&training->durations.cluster, p->ranks);
  if (p->ranks == 1) return true;
  return (ss_setting_check(&p->system->sparse, layout, error) &&
          ss_setting_check(&p->system->dense, layout, error)) ||
         ss_fail_prefix(error, "%s at %u ranks", p->system->name, p->ranks);
}

static bool set_options(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
  const uint64_t cycle = p->fed->cycle > 4 ? p->fed->cycle : 4;
  p->options = training->options;
  p->options.warmup = p->options.recorded = cycle;
  if (p->options.iterations == 0) p->options.iterations = 2 * cycle;
  if (p->options.iterations > cycle) return true;
  return ss_fail(
      error, SS_BAD_INPUT,
      "%s: %llu iterations, of which the first %llu are warm-up (one round of the trace, at least 4): play "
      "more (--iterations %llu)",
      p->fed->workload.name, (unsigned long long)p->options.iterations, (unsigned long long)cycle,
      (unsigned long long)(2 * cycle));
}

static bool has_tables(const struct ss_fed_workload *fed) {
  for (uint32_t i = 0; i < fed->workload.modules; i++)
    if (fed->workload.module[i].embedding) return true;
  return false;
}

static bool list_tasks(struct ss_training *training, struct ss_training_point *p, bool staged,
                       struct ss_timetable *out, struct ss_error *error) {
  struct ss_policy policy = ss_system_policy(p->system);
  ss_assumed_apply(&p->assumed, &policy.concurrency);
  if (!ss_timetable_make(&p->fed->workload, &policy, p->ranks, out, error)) return false;
  for (uint32_t i = 0; i < out->tasks; i++)
    if (!want(training, p, &out->task[i], staged, error)) return false;
  return true;
}

static bool add_point(struct ss_training *training, const struct ss_fed_workload *fed, const struct ss_system *system,
                      uint32_t ranks, struct ss_error *error) {
  struct ss_training_point *p = &training->point[training->points];
  struct ss_error why;
  *p = (struct ss_training_point){.fed = fed, .system = system, .ranks = ranks, .sampled = 1};
  p->assumed = ss_inferred_of(training->inferred, fed->workload.name, system->name, training->durations.cluster.name);
  if (!can_run(training, p, &why)) {
    if (training->skips && system >= training->system + training->asked) return true;
    if (error) *error = why;
    return false;
  }
  p->all_dense =
      ss_setting_all_dense(&system->sparse, ss_layout_of(&training->durations.cluster, ranks)) && has_tables(fed);
  training->points++; /* from here on it is freed with the others */
  return set_options(training, p, error) && list_tasks(training, p, true, &p->timetable, error) &&
         (!training->helps || !system->staging || list_tasks(training, p, false, &p->bare, error));
}

bool ss_training_prepare(struct ss_training *t, struct ss_error *error) {
  t->point = ss_alloc_zero(t->workloads * t->systems * t->rank_counts, sizeof *t->point);
  if (!t->point) return ss_fail_memory(error, "listing training runs");
  for (size_t w = 0; w < t->workloads; w++)
    for (size_t r = 0; r < t->rank_counts; r++)
      for (size_t s = 0; s < t->systems; s++)
        if (!add_point(t, &t->workload[w], &t->system[s], t->ranks[r], error)) return false;
  if (t->points > 0) return true;
  return ss_fail(error, SS_BAD_INPUT, "no system can run at these rank counts (--system NAME tells why one cannot)");
}

void ss_training_free(struct ss_training *t) {
  for (size_t i = 0; i < t->points; i++) {
    ss_timetable_free(&t->point[i].timetable);
    ss_timetable_free(&t->point[i].bare);
    ss_iterated_free(&t->point[i].result);
    free(t->point[i].path);
  }
  free(t->point);
  for (size_t i = 0; i < t->workloads; i++) free_fed(&t->workload[i]);
  free(t->workload);
  for (size_t i = 0; i < t->systems; i++) ss_system_free(&t->system[i]);
  free(t->system);
  ss_durations_free(&t->durations);
  *t = (struct ss_training){0};
}

/* --- playing -------------------------------------------------------------------------------------------- */

static double tokens_of(const struct ss_training *training, const struct ss_training_point *p) {
  const struct ss_trace *trace = training->trace;
  uint64_t sum = 0;
  if (!isnan(p->fed->workload.tokens)) return p->fed->workload.tokens * p->ranks / p->result.mean;
  if (!trace) return NAN;
  for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
    for (uint32_t r = 0; r < p->ranks * training->merge; r++) sum += ss_trace_tokens(trace, t, r);
  return sum > 0 ? (double)sum / (double)ss_trace_iterations(trace) / p->result.mean : NAN;
}

/* All links of a draw are uneven in one way for all of a run. */
static bool play_draws(const struct ss_training *training, struct ss_training_point *p, struct ss_recorded *recorded,
                       struct ss_error *error) {
  double times[SS_DRAWS_MAX];
  const uint32_t draws = training->durations.cluster.jitter.draws;
  for (uint32_t d = 0; d < draws; d++) {
    struct ss_cluster drawn = training->durations.cluster;
    drawn.jitter.draw = d + 1;
    ss_point_set_tasks(training, &p->timetable, d + 1);
    p->options.network = ss_point_network(&p->timetable, recorded, &drawn, 1);
    if (!ss_iterate(&p->timetable, &p->options, &p->result, error)) return false;
    times[d] = p->result.mean;
    ss_iterated_free(&p->result);
  }
  p->fan = draws > 0 ? ss_fan_of(times, draws) : (struct ss_fan)SS_FAN_NONE;
  return true;
}

double ss_training_crowded(const struct ss_training *training, uint32_t ranks) {
  const struct ss_shared_cores *c = &training->cores;
  if (c->ranks == 0) return 1;
  const double here = (double)c->ranks * (ranks < c->most ? ranks : c->most) / c->then;
  return 1 - c->busy + c->busy * fmax(here, c->cores) / fmax(c->ranks, c->cores);
}

static bool play(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
  SS_AUTO(ss_recorded_close) struct ss_recorded recorded = {0};
  p->options.compute = training->options.compute * given(p->assumed.value[SS_UNKNOWN_COMPUTE], 1) *
                       ss_training_crowded(training, p->ranks);
  p->helps = 0;
  ss_iterated_free(&p->result);
  free(p->path);
  p->path = NULL;
  if (!ss_point_fill_split(training, p, error) || !ss_point_fill_steps(training, p, error) ||
      !ss_recorded_open(&recorded, &training->durations, &p->timetable, error) ||
      !play_draws(training, p, &recorded, error))
    return false;
  ss_point_set_tasks(training, &p->timetable, 0);
  p->uncertainty = ss_point_uncertainty(training, p);
  p->options.network = ss_point_network(&p->timetable, &recorded, &training->durations.cluster, 1);
  if (!ss_iterate(&p->timetable, &p->options, &p->result, error) ||
      !ss_path_find(&p->timetable, &p->result, &p->path, &p->paths, error) ||
      !ss_point_find_parts(training, p, &recorded, error))
    return false;
  ss_point_find_bound(training, p);
  p->peak = ss_point_memory(training, p);
  p->server_peak = ss_point_server_memory(training, p);
  p->tokens = tokens_of(training, p);
  for (uint32_t i = 0; i < p->timetable.tasks; i++)
    p->sampled = fmax(p->sampled, training->durations.duration[p->timetable.task[i].duration].sampled);
  return true;
}

/* Points of one workload and system follow each other by rank count, those of one rank count by system. */
static void compare(struct ss_training *t) {
  for (size_t i = 0; i < t->points; i++) {
    struct ss_training_point *p = &t->point[i];
    double best = INFINITY;
    const struct ss_training_point *least = p;
    for (size_t k = 0; k < t->points; k++) {
      const struct ss_training_point *q = &t->point[k];
      if (q->fed != p->fed) continue;
      if (q->ranks == p->ranks && q->system->baseline) best = fmin(best, q->result.mean);
      if (q->system == p->system && q->ranks < least->ranks) least = q;
    }
    p->speedup = isfinite(best) ? best / p->result.mean : NAN;
    p->scaling = least->result.mean / p->result.mean;
  }
}

static bool fits(const struct ss_training *t, const struct ss_training_point *p) {
  const double memory = t->durations.device.memory_size;
  return !(memory > 0) || p->peak <= memory;
}

bool ss_training_may_win(const struct ss_training *t, const struct ss_training_point *p) {
  bool any = false;
  for (size_t k = 0; k < t->points; k++)
    any = any || (t->point[k].fed == p->fed && t->point[k].ranks == p->ranks && fits(t, &t->point[k]));
  return fits(t, p) || !any;
}

static bool is_fastest(const struct ss_training *t, const struct ss_training_point *p) {
  if (!ss_training_may_win(t, p)) return false;
  for (size_t k = 0; k < t->points; k++) {
    const struct ss_training_point *q = &t->point[k];
    if (q->fed == p->fed && q->ranks == p->ranks && ss_training_may_win(t, q) &&
        (q->result.mean < p->result.mean || (q < p && q->result.mean <= p->result.mean)))
      return false;
  }
  return true;
}

static bool play_item(void *context, void *worker, size_t item, struct ss_error *error) {
  struct ss_training *t = context;
  (void)worker;
  return play(t, &t->point[item], error);
}

bool ss_training_play(struct ss_training *t, unsigned jobs, struct ss_error *error) {
  const struct ss_work work = {.context = t, .count = t->points, .jobs = jobs, .compute = play_item};
  if (!ss_work_run(&work, error)) return false;
  compare(t);
  for (size_t i = 0; t->helps && i < t->points; i++)
    if (is_fastest(t, &t->point[i]) && !ss_point_find_helps(t, &t->point[i], error)) return false;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
