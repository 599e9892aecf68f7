#include "train/training.h"

#include "base/gsl.h"
#include "train/recorded.h"

#include <gsl/gsl_multifit.h>
#include <gsl/gsl_qrng.h>
#include <gsl/gsl_sort.h>

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

/* --- the split ------------------------------------------------------------------------------------------ */

/* Algorithm 1 for all tables, as one kernel; the slowest rank's. */
static double split_time(const struct ss_training *training, const struct ss_training_point *p, uint64_t t,
                         struct ss_split_work *work) {
  const struct ss_workload *w = &p->fed->workload;
  const struct ss_device *device = &training->durations.device;
  double most = 0;
  memset(work, 0, p->ranks * sizeof *work);
  for (uint32_t i = 0; i < w->modules; i++) {
    const struct ss_lookups *l = &p->fed->lookups[i];
    if (!w->module[i].embedding) continue;
    const uint64_t next = ss_lookups_gathered(l, t + 1, p->ranks);
    for (uint32_t r = 0; r < p->ranks; r++) ss_lookups_split_work(l, t, r, next, &work[r]);
  }
  for (uint32_t r = 0; r < p->ranks; r++) {
    work[r].coalesce.calls = 1;
    most = fmax(most, ss_device_time(device, SS_KERNEL_COALESCE, work[r].coalesce) +
                          ss_device_time(device, SS_KERNEL_PACK, work[r].pack));
  }
  return most;
}

/* Iterations after which what depends on rows is as before; all, where feeds have lengths that do not divide each
 * other. */
static uint64_t period_of(const struct ss_training_point *p) {
  const struct ss_fed_workload *fed = p->fed;
  for (uint32_t i = 0; i < fed->workload.modules; i++)
    if (fed->workload.module[i].embedding && fed->cycle % fed->lookups[i].iterations != 0)
      return p->options.iterations;
  return fed->cycle;
}

static bool fill_split(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
  const uint64_t period = period_of(p);
  if (!p->timetable.splits || p->timetable.split) return true;
  double *split = ss_arena_alloc(&p->timetable.arena, period, sizeof *split);
  SS_AUTO_FREE struct ss_split_work *work = ss_alloc(p->ranks, sizeof *work);
  if (!split || !work) return ss_fail_memory(error, "timing Algorithm 1");
  for (uint64_t t = 0; t < period; t++) split[t] = split_time(training, p, t, work);
  p->timetable.split = split;
  p->timetable.split_period = (uint32_t)period;
  return true;
}

/* --- software -------------------------------------------------------------------------------------------- */

/* B of the module's gradient that the optimizer goes through: of rows those that somebody looked up. */
static bool gradient_bytes(const struct ss_training_point *p, uint32_t module, uint64_t t, double *bytes,
                           struct ss_error *error) {
  const struct ss_workload *w = &p->fed->workload;
  const struct ss_module *m = &w->module[module];
  uint64_t rows;
  *bytes = (double)m->bytes;
  if (!m->embedding || p->timetable.policy.dense_tables) return true;
  if (!ss_lookups_touched(&p->fed->lookups[module], t, p->ranks, &rows))
    return ss_fail_memory(error, "counting rows");
  *bytes = (double)rows * m->row_width * ss_dtype_bytes(w->dtype);
  return true;
}

static bool fill_gradient(struct ss_training_point *p, struct ss_error *error) {
  const uint32_t n = p->fed->workload.modules;
  const uint64_t period = period_of(p);
  if (p->gradient) return true;
  double *bytes = ss_arena_alloc(&p->timetable.arena, period * n, sizeof *bytes);
  if (!bytes) return ss_fail_memory(error, "timing software");
  for (uint64_t t = 0; t < period; t++)
    for (uint32_t i = 0; i < n; i++)
      if (!gradient_bytes(p, i, t, &bytes[t * n + i], error)) return false;
  p->gradient = bytes;
  p->gradient_period = (uint32_t)period;
  return true;
}

bool ss_training_steps(const struct ss_training_point *p, struct ss_timetable *timetable, struct ss_arena *arena,
                       struct ss_error *error) {
  const struct ss_software *software = &timetable->policy.concurrency.software;
  const uint32_t n = p->fed->workload.modules, period = software->step_per_byte > 0 ? p->gradient_period : 1;
  timetable->step = NULL;
  if (software->step <= 0 && software->step_per_byte <= 0) return true;
  double *step = ss_arena_alloc(arena, (size_t)period * n, sizeof *step);
  if (!step) return ss_fail_memory(error, "timing software");
  for (uint32_t i = 0; i < period * n; i++)
    step[i] = software->step / n + (software->step_per_byte > 0 ? software->step_per_byte * p->gradient[i] : 0);
  timetable->step = step;
  timetable->step_period = period;
  return true;
}

static bool fill_steps(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
  const bool asked = training->replayed || p->timetable.policy.concurrency.software.step_per_byte > 0;
  return (!asked || fill_gradient(p, error)) &&
         (p->timetable.step || ss_training_steps(p, &p->timetable, &p->timetable.arena, error));
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

/* The fastest way on even links; of equal ones the last, which is the ring. */
static void choose_way(const struct ss_durations *durations, struct ss_task *task) {
  double least = INFINITY;
  for (size_t i = 0; task->ways && i < SS_DENSE_WAYS; i++) {
    if (task->ways[i] == UINT32_MAX) continue;
    const double seconds = durations->duration[task->ways[i]].seconds[0];
    if (i == SS_DENSE_RINGS ? seconds > least : seconds >= least) continue;
    least = seconds;
    task->duration = task->ways[i];
    task->way = ss_dense_ways[i].name;
  }
}

/* How long tasks last on the links of a draw; 0: on even ones. */
static void set_tasks(const struct ss_training *training, struct ss_timetable *timetable, uint32_t draw) {
  for (uint32_t i = 0; i < timetable->tasks; i++) {
    struct ss_task *task = &timetable->task[i];
    choose_way(&training->durations, task);
    const struct ss_duration *d = &training->durations.duration[task->duration];
    task->seconds = d->seconds + draw * (size_t)d->period;
    task->sent = d->sent;
    task->period = d->period;
  }
}

/* Where tasks share links; NULL: they never do. */
static const struct ss_task_network *network_of(const struct ss_timetable *t, struct ss_recorded *recorded,
                                                const struct ss_cluster *cluster, double pace) {
  return ss_concurrency_needs_network(&t->policy.concurrency) ? ss_recorded_on(recorded, cluster, pace) : NULL;
}

/* All links of a draw are uneven in one way for all of a run. */
static bool play_draws(const struct ss_training *training, struct ss_training_point *p, struct ss_recorded *recorded,
                       struct ss_error *error) {
  double times[SS_DRAWS_MAX];
  const uint32_t draws = training->durations.cluster.jitter.draws;
  for (uint32_t d = 0; d < draws; d++) {
    struct ss_cluster drawn = training->durations.cluster;
    drawn.jitter.draw = d + 1;
    set_tasks(training, &p->timetable, d + 1);
    p->options.network = network_of(&p->timetable, recorded, &drawn, 1);
    if (!ss_iterate(&p->timetable, &p->options, &p->result, error)) return false;
    times[d] = p->result.mean;
    ss_iterated_free(&p->result);
  }
  p->fan = draws > 0 ? ss_fan_of(times, draws) : (struct ss_fan)SS_FAN_NONE;
  return true;
}

/* --- what is uncertain -------------------------------------------------------------------------------------- */

/* Of forward and backward passes: of some workloads they were estimated. */
static const struct ss_spread measured_passes = {1.1, 1.3}, estimated_passes = {1.33, 2};

static bool passes_are_estimated(const struct ss_workload *w) {
  for (size_t i = 0; i < w->estimates; i++)
    if (strcmp(w->estimate[i].field, "forward_s") == 0 || strcmp(w->estimate[i].field, "backward_s") == 0)
      return true;
  return false;
}

static struct ss_uncertainty uncertainty_of(const struct ss_training *training, const struct ss_training_point *p) {
  const struct ss_durations *d = &training->durations;
  if (d->certain) return ss_certain;
  struct ss_uncertainty u = ss_uncertainty_of_training(&d->cluster, &d->device, p->ranks);
  u.of[SS_PASSES] = passes_are_estimated(&p->fed->workload) ? estimated_passes : measured_passes;
  if (!isnan(p->assumed.value[SS_UNKNOWN_COMPUTE])) u.of[SS_PASSES] = ss_certain.of[SS_PASSES]; /* the inference's */
  return u;
}

/* An array `factor` times as large, in the arena. */
static const double *scaled(const double *values, size_t n, double factor, struct ss_arena *arena) {
  double *out = ss_arena_alloc(arena, n, sizeof *out);
  for (size_t i = 0; out && i < n; i++) out[i] = values[i] * factor;
  return out;
}

/* A cycle behind the warm-up tells as much as many, and plays at once take their time. */
static void shorten(struct ss_iterate_options *options) {
  if (options->iterations > 2 * options->warmup) options->iterations = 2 * options->warmup;
}

/* How many times as long the point's mean is as that of the iterations that are left then. */
static double longer(const struct ss_training_point *p) {
  const uint64_t w = p->options.warmup;
  if (p->options.iterations <= 2 * w) return 1;
  const double mean = (p->result.end[2 * w - 1] - p->result.end[w - 1]) / (double)w;
  return mean > 0 ? p->result.mean / mean : 1;
}

/* Does time go in steps, as channels choose at multiples of a cycle? */
static bool steps(const struct ss_training_point *p) {
  return p->timetable.policy.concurrency.software.cycle > 0;
}

/* A component is looked at where it costs so many times as much. */
static const double DEARER = 1.2;

/* What may be different. */
enum help { NO_INTERFERENCE, KERNELS_APART, NO_SOFTWARE, NO_HOST, SECOND_CHANNEL, NO_COMMUNICATION, UNHELPED };

static void apply_help(struct ss_timetable *t, enum help help) {
  struct ss_concurrency *c = &t->policy.concurrency;
  if (help == NO_INTERFERENCE) c->interference = 0;
  if (help == NO_SOFTWARE) c->software = (struct ss_software){0}, t->step = NULL;
  if (help == SECOND_CHANNEL) c->channels = 2;
  if (help == NO_COMMUNICATION) c->channels = 1, c->shared_kernels = false;
  if (help == KERNELS_APART) c->shared_kernels = false;
  for (uint32_t i = 0; i < t->tasks; i++) {
    struct ss_task *task = &t->task[i];
    if (help == SECOND_CHANNEL) task->channel = task->dense ? 0 : 1;
    if (help == NO_COMMUNICATION) task->channel = task->period = 0, task->sent = NULL;
  }
}

/* How many times as much each component costs. */
typedef double factors[SS_COMPONENTS];

static bool apply_factors(const struct ss_training *training, struct ss_timetable *t, const factors factor,
                          struct ss_arena *arena, struct ss_error *error) {
  bool ok = true;
  for (uint32_t i = 0; i < t->tasks; i++) {
    struct ss_task *task = &t->task[i];
    double times = 1;
    for (int k = 0; k < SS_PASSES; k++)
      times += training->durations.duration[task->duration].share.s[k] * (factor[k] - 1);
    if (task->period > 0) task->seconds = scaled(task->seconds, task->period, fmax(times, 0), arena);
    ok = ok && task->seconds;
  }
  if (factor[SS_COMPUTING] != 1 && t->split) {
    t->split = scaled(t->split, t->split_period, factor[SS_COMPUTING], arena);
    ok = ok && t->split;
  }
  return ok || ss_fail_memory(error, "playing iterations");
}

/* The point, helped, with components that cost so much; NULL: as they are. *out has its mean, and what channels do.
 */
static bool play_varied(const struct ss_training *training, struct ss_training_point *p, struct ss_recorded *recorded,
                        enum help help, const double *factor, struct ss_iterated *out, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_cluster cluster = training->durations.cluster;
  struct ss_iterate_options options = p->options;
  struct ss_timetable t = *recorded->timetable;
  if (!ss_take(&arena, t.task, t.tasks)) return ss_fail_memory(error, "playing iterations");
  memcpy(t.task, recorded->timetable->task, t.tasks * sizeof *t.task);
  apply_help(&t, help);
  if (factor && !apply_factors(training, &t, factor, &arena, error)) return false;
  for (enum ss_component i = 0; factor && i < SS_COMPUTING; i++)
    if (factor[i] != 1) cluster = ss_cluster_dearer(&cluster, &p->uncertainty, i, factor[i]);
  if (factor) options.compute *= factor[SS_PASSES];
  options.network = network_of(&t, recorded, &cluster, factor ? factor[SS_COMPUTING] : 1);
  options.recorded = 1;
  if (options.network || help != UNHELPED) shorten(&options);
  if (!ss_iterate(&t, &options, out, error)) return false;
  const struct ss_iterated played = *out;
  ss_iterated_free(out);
  out->mean = played.mean;
  out->busy = played.busy;
  out->hidden = played.hidden;
  return true;
}

/* What of an iteration, `played` so, each component makes, and by how much it grows the time in which channels are
 * busy, and that of it under passes. */
static bool find_components(const struct ss_training *training, struct ss_training_point *p,
                            struct ss_recorded *recorded, enum help help, const struct ss_iterated *played,
                            struct ss_training_parts *out, struct ss_error *error) {
  struct ss_variants varied = {.count = 0};
  double on[SS_COMPONENTS];
  const double all =
      help == UNHELPED && !ss_concurrency_needs_network(&p->timetable.policy.concurrency) ? 1 : longer(p);
  *out = (struct ss_training_parts){0};
  for (enum ss_component i = 0; i < SS_COMPONENTS; i++) {
    struct ss_iterated dearer;
    if (!ss_component_uncertain(&p->uncertainty, i)) continue;
    factors factor = {1, 1, 1, 1, 1, 1, 1, 1};
    factor[i] = DEARER;
    if (!play_varied(training, p, recorded, help, factor, &dearer, error)) return false;
    on[varied.count] = dearer.mean * all;
    varied.factor[varied.count] = DEARER;
    varied.of[varied.count++] = i;
    out->busy.s[i] = (dearer.busy - played->busy) / (DEARER - 1);
    if (played->busy > 0)
      out->hidden.s[i] = (dearer.hidden * dearer.busy - played->hidden * played->busy) / (DEARER - 1);
  }
  out->mean = ss_variants_split(&varied, played->mean * (help == UNHELPED ? 1 : all), on);
  return true;
}

/* --- where time goes in steps -------------------------------------------------------------------------------- */

enum { DIMENSIONS = SS_COMPONENTS + 2 };

static double factor_of(const struct ss_spread *spread, double u) {
  return ss_spread_certain(spread) ? 1 : ss_spread_factor(log(spread->half), log(spread->most), u);
}

/* A factor of each component: what all share, and what is the system's own, of messages and of kernels. */
static void draw_factors(const struct ss_uncertainty *u, const gsl_qrng *points, factors out) {
  double at[DIMENSIONS];
  gsl_qrng_get(points, at);
  for (int i = 0; i < SS_COMPONENTS; i++)
    out[i] = factor_of(&u->of[i], at[i]) * factor_of(&u->own[i], at[SS_COMPONENTS + (i == SS_COMPUTING)]);
}

/* What of each play's time is drawn, and how many times as much it cost, less one. */
struct step_plays {
  double drawn[SS_STEP_PLAYS][SS_COMPONENTS], time[SS_STEP_PLAYS];
};

/* The least squares of these components, beside a constant. False: memory is short. */
static bool fit_columns(const struct step_plays *plays, const size_t *column, size_t columns,
                        struct ss_components *out) {
  enum { MOST = SS_COMPONENTS + 1 };
  double x[SS_STEP_PLAYS * MOST], c[MOST], covariance[MOST * MOST], chisq;
  const size_t n = columns + 1;
  gsl_matrix_view of_x = gsl_matrix_view_array(x, SS_STEP_PLAYS, n);
  gsl_matrix_view of_covariance = gsl_matrix_view_array(covariance, n, n);
  gsl_vector_view of_c = gsl_vector_view_array(c, n);
  const gsl_vector_const_view times = gsl_vector_const_view_array(plays->time, SS_STEP_PLAYS);
  gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc(SS_STEP_PLAYS, n);
  for (size_t k = 0; k < SS_STEP_PLAYS; k++) {
    x[k * n] = 1;
    for (size_t i = 0; i < columns; i++) x[k * n + i + 1] = plays->drawn[k][column[i]];
  }
  const bool ok = work && gsl_multifit_linear(&of_x.matrix, &times.vector, &of_c.vector, &of_covariance.matrix,
                                              &chisq, work) == GSL_SUCCESS;
  gsl_multifit_linear_free(work);
  *out = (struct ss_components){{0}};
  for (size_t i = 0; ok && i < columns; i++) out->s[column[i]] = c[i + 1];
  return ok;
}

/* Components that fit the plays best; those that come out below 0 are left out, and the others fitted again. */
static bool fit_steps(const struct ss_uncertainty *u, const struct step_plays *plays, struct ss_components *out) {
  size_t column[SS_COMPONENTS], columns = 0, before;
  for (enum ss_component i = 0; i < SS_COMPONENTS; i++)
    if (ss_component_uncertain(u, i)) column[columns++] = i;
  do {
    if (!fit_columns(plays, column, columns, out)) return false;
    before = columns;
    columns = 0;
    for (size_t i = 0; i < before; i++)
      if (out->s[column[i]] >= 0) column[columns++] = column[i];
  } while (columns < before);
  return true;
}

/* Steps may hide a component from one play, or make it too large: it is found from many, which draw them all. */
static bool find_steps(const struct ss_training *training, struct ss_training_point *p, struct ss_recorded *recorded,
                       struct ss_error *error) {
  struct ss_training_parts *parts = &p->parts;
  struct step_plays plays;
  const struct ss_iterate_options options = p->options;
  const double all_iterations = longer(p);
  gsl_qrng *points = gsl_qrng_alloc(gsl_qrng_sobol, DIMENSIONS);
  bool ok = points || ss_fail_memory(error, "drawing what is not certain");
  shorten(&p->options);
  for (size_t k = 0; ok && k < SS_STEP_PLAYS; k++) {
    struct ss_iterated played;
    factors factor;
    draw_factors(&p->uncertainty, points, factor);
    ok = play_varied(training, p, recorded, UNHELPED, factor, &played, error);
    if (!ok) break;
    plays.time[k] = played.mean * all_iterations;
    for (size_t i = 0; i < SS_COMPONENTS; i++) plays.drawn[k][i] = factor[i] - 1;
  }
  p->options = options;
  gsl_qrng_free(points);
  if (!ok) return false;
  if (!fit_steps(&p->uncertainty, &plays, &parts->mean)) return ss_fail_memory(error, "drawing what is not certain");
  gsl_sort(plays.time, 1, SS_STEP_PLAYS);
  memcpy(parts->played, plays.time, sizeof plays.time);
  parts->plays = SS_STEP_PLAYS;
  return true;
}

/* --- memory -------------------------------------------------------------------------------------------------- */

/* What was not applied waits until the next iteration, beside the gradient. */
static bool keeps_residual(const struct ss_carried *c) {
  return (c->select.selects && c->select.residual) || c->setting.scheme->content == SS_SENDS_LARGEST;
}

/* Adds what tasks of the channel hold to the end; returns what the largest holds besides while it is under way. */
static double channel_memory(const struct ss_training *training, const struct ss_training_point *p, uint32_t channel,
                             double *lasting) {
  double most = 0;
  for (uint32_t i = 0; i < p->timetable.tasks; i++) {
    const struct ss_task *task = &p->timetable.task[i];
    const struct ss_duration *d = &training->durations.duration[task->duration];
    const double gradient = task->dense ? (double)task->bytes : d->own;
    const double residual = keeps_residual(&d->carried) ? gradient : 0;
    if (task->channel != channel) continue;
    *lasting += residual + (task->dense ? 0 : gradient);
    most = fmax(most, d->own + d->besides - gradient - residual);
  }
  return most;
}

/* On each channel the task of which a server holds most. */
static double server_memory(const struct ss_training *training, const struct ss_training_point *p) {
  double most[SS_CHANNELS_MAX] = {0}, sum = 0;
  for (uint32_t i = 0; i < p->timetable.tasks; i++) {
    const struct ss_task *task = &p->timetable.task[i];
    most[task->channel] = fmax(most[task->channel], training->durations.duration[task->duration].server);
  }
  for (uint32_t c = 0; c < SS_CHANNELS_MAX; c++) sum += most[c];
  return sum;
}

/* Parameters, the optimizer's states, gradients and residuals, and on each channel the largest task. */
static double memory_of(const struct ss_training *training, const struct ss_training_point *p) {
  const struct ss_workload *w = &p->fed->workload;
  const bool cut = ss_scheme_model_parallel(p->system->sparse.scheme) && p->ranks > 1;
  double sum = 0;
  for (uint32_t i = 0; i < w->modules; i++) {
    const struct ss_module *m = &w->module[i];
    const double bytes = (double)m->bytes / (m->embedding && cut ? p->ranks : 1);
    sum += bytes * (1 + w->states);
    if (!m->embedding || p->timetable.policy.dense_tables) sum += (double)m->bytes;
  }
  double lasting = 0, under_way = 0;
  for (uint32_t c = 0; c == 0 || c < p->timetable.policy.concurrency.channels; c++)
    under_way += channel_memory(training, p, c, &lasting);
  return sum + lasting + under_way;
}

/* --- what bounds it ------------------------------------------------------------------------------------------ */

const char *ss_bound_name(enum ss_bound bound) {
  static const char *const names[] = {"compute", "software", "link", "host path", "communication"};
  return names[bound];
}

/* Passes, software, and all else; of that, what single links need at the very least. */
static void find_bound(const struct ss_training *training, struct ss_training_point *p) {
  double compute = 0, software = 0, communication = 0, links = 0, host = 0;
  for (size_t i = 0; i < p->paths; i++) {
    const struct ss_path_part *part = &p->path[i];
    const double rest = part->seconds - part->software - part->waited;
    software += part->software;
    communication += part->waited;
    *(part->kind == SS_SPAN_TASK ? &communication : &compute) += rest;
    if (part->kind != SS_SPAN_TASK) continue;
    const struct ss_duration *d = &training->durations.duration[p->timetable.task[part->what].duration];
    links += rest * d->link_share;
    if (d->host) host += rest * d->link_share;
  }
  const double all = compute + software + communication;
  p->compute = all > 0 ? compute / all : 0;
  p->software = all > 0 ? software / all : 0;
  p->communication = all > 0 ? communication / all : 0;
  p->bound = host > links / 2 ? SS_BOUND_HOST : SS_BOUND_LINK;
  if (links < communication / 2) p->bound = SS_BOUND_COMMUNICATION;
  if (software >= communication) p->bound = SS_BOUND_SOFTWARE;
  if (compute >= fmax(software, communication)) p->bound = SS_BOUND_COMPUTE;
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
  if (!fill_split(training, p, error) || !fill_steps(training, p, error) ||
      !ss_recorded_open(&recorded, &training->durations, &p->timetable, error) ||
      !play_draws(training, p, &recorded, error))
    return false;
  p->uncertainty = uncertainty_of(training, p);
  set_tasks(training, &p->timetable, 0);
  p->options.network = network_of(&p->timetable, &recorded, &training->durations.cluster, 1);
  if (!ss_iterate(&p->timetable, &p->options, &p->result, error) ||
      !ss_path_find(&p->timetable, &p->result, &p->path, &p->paths, error) ||
      !find_components(training, p, &recorded, UNHELPED, &p->result, &p->parts, error))
    return false;
  if (steps(p) && !training->durations.certain) {
    ss_gsl_errors_off(); /* memory that is short is told, not an abort */
    const bool found = find_steps(training, p, &recorded, error);
    ss_gsl_errors_back();
    if (!found) return false;
  }
  find_bound(training, p);
  p->peak = memory_of(training, p);
  p->server_peak = server_memory(training, p);
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

/* --- what would help ---------------------------------------------------------------------------------------- */

/* Does it make a difference to this system? */
static bool applies(const struct ss_training *training, const struct ss_training_point *p, enum help help) {
  const struct ss_concurrency *c = &p->system->concurrency;
  bool dense = false, rows = false;
  for (uint32_t i = 0; i < p->timetable.tasks; i++) *(p->timetable.task[i].dense ? &dense : &rows) = true;
  switch (help) {
  case NO_INTERFERENCE: return c->interference > 0;
  case KERNELS_APART: return c->shared_kernels;
  case NO_SOFTWARE: return c->software.call > 0 || c->software.copy > 0 || c->software.cycle > 0 || p->timetable.step;
  case NO_HOST: return p->bare.tasks > 0;
  case SECOND_CHANNEL: return c->channels <= 1 && dense && rows && ss_cluster_fair(&training->durations.cluster);
  default: return dense || rows;
  }
}

/* Keeps the best first; what is found of it in front of the others. */
static void add_help(struct ss_training_point *p, const struct ss_help *help) {
  size_t at = p->helps++;
  for (; at > 0 && p->help[at - 1].mean > help->mean; at--) p->help[at] = p->help[at - 1];
  p->help[at] = *help;
}

static bool find_helps(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
  static const char *const what[SS_HELPS] = {
      [NO_INTERFERENCE] = "without interference",
      [KERNELS_APART] = "with kernels on a stream of their own",
      [NO_SOFTWARE] = "without software",
      [NO_HOST] = "without the copies through host memory",
      [SECOND_CHANNEL] = "with a second channel, for rows",
      [NO_COMMUNICATION] = "with links that take no time",
  };
  SS_AUTO(ss_recorded_close) struct ss_recorded recorded = {0}, bare = {0};
  p->helps = 0;
  set_tasks(training, &p->bare, 0);
  p->bare.split = p->timetable.split, p->bare.split_period = p->timetable.split_period;
  p->bare.step = p->timetable.step, p->bare.step_period = p->timetable.step_period;
  if (!ss_recorded_open(&recorded, &training->durations, &p->timetable, error) ||
      !ss_recorded_open(&bare, &training->durations, &p->bare, error))
    return false;
  for (enum help h = NO_INTERFERENCE; h < UNHELPED; h++) {
    struct ss_help help = {.what = what[h]};
    struct ss_iterated helped;
    struct ss_recorded *on = h == NO_HOST ? &bare : &recorded;
    if (!applies(training, p, h)) continue;
    if (!play_varied(training, p, on, h, NULL, &helped, error)) return false;
    help.mean = helped.mean * longer(p);
    if (!(help.mean < 0.995 * p->result.mean)) continue;
    if (!find_components(training, p, on, h, &helped, &help.parts, error)) return false;
    add_help(p, &help);
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
    if (is_fastest(t, &t->point[i]) && !find_helps(t, &t->point[i], error)) return false;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
