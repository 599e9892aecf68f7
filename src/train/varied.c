#include "train/varied.h"

#include "base/gsl.h"
#include "schemes/registry.h"

#include <gsl/gsl_multifit.h>
#include <gsl/gsl_qrng.h>
#include <gsl/gsl_sort.h>

/* --- how long tasks last ---------------------------------------------------------------------------------------- */

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
void ss_point_set_tasks(const struct ss_training *training, struct ss_timetable *timetable, uint32_t draw) {
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
const struct ss_task_network *ss_point_network(const struct ss_timetable *t, struct ss_recorded *recorded,
                                               const struct ss_cluster *cluster, double pace) {
  return ss_concurrency_needs_network(&t->policy.concurrency) ? ss_recorded_on(recorded, cluster, pace) : NULL;
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

/* Tasks larger, or smaller, than what was measured of their collective: of one system's messages all are off alike,
 * by the mean of what tasks are, each as long as it lasts. */
static struct ss_spread beyond(const struct ss_training *training, const struct ss_training_point *p) {
  double all = 0, half = 0, most = 0;
  for (const struct ss_task *task = p->timetable.task; task < p->timetable.task + p->timetable.tasks; task++) {
    const struct ss_scheme *scheme = training->durations.duration[task->duration].carried.setting.scheme;
    const uint64_t bytes = ss_task_call_bytes(training, p, task);
    const struct ss_spread one =
        ss_accuracy_beyond(&training->durations.cluster.accuracy, ss_scheme_collective(scheme), bytes);
    const double seconds = task->period > 0 ? task->seconds[0] : 0;
    all += seconds;
    half += seconds * log(one.half);
    most += seconds * log(one.most);
  }
  return all > 0 ? (struct ss_spread){exp(half / all), exp(most / all)} : (struct ss_spread){1, 1};
}

uint64_t ss_task_call_bytes(const struct ss_training *training, const struct ss_training_point *p,
                            const struct ss_task *task) {
  const struct ss_duration *d = &training->durations.duration[task->duration];
  return d->sent ? ss_scheme_call_bytes(&d->carried.setting, p->ranks, d->sent[0]) : 0;
}

struct ss_uncertainty ss_point_uncertainty(const struct ss_training *training, const struct ss_training_point *p) {
  const struct ss_durations *d = &training->durations;
  if (d->certain) return ss_certain;
  struct ss_uncertainty u = ss_uncertainty_of_training(&d->cluster, &d->device, p->ranks);
  ss_uncertainty_beyond(&u, beyond(training, p));
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
    struct ss_components share = training->durations.duration[task->duration].share;
    share.s[SS_PASSES] = 0;
    if (task->period > 0)
      task->seconds = scaled(task->seconds, task->period, ss_components_time(&share, 1, factor), arena);
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
  for (enum ss_component i = 0; factor && i < SS_COMPONENTS; i++)
    if (factor[i] != 1 && ss_component_of_links(i))
      cluster = ss_cluster_dearer(&cluster, &p->uncertainty, i, factor[i]);
  if (factor) options.compute *= factor[SS_PASSES];
  options.network = ss_point_network(&t, recorded, &cluster, factor ? factor[SS_COMPUTING] : 1);
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
    const double dearer_by = i == SS_WINDOW ? 2 : DEARER;
    factors factor = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    factor[i] = dearer_by;
    if (!play_varied(training, p, recorded, help, factor, &dearer, error)) return false;
    on[varied.count] = dearer.mean * all;
    varied.factor[varied.count] = dearer_by;
    varied.of[varied.count++] = i;
    out->busy.s[i] = (dearer.busy - played->busy) / (dearer_by - 1);
    if (played->busy > 0)
      out->hidden.s[i] = (dearer.hidden * dearer.busy - played->hidden * played->busy) / (dearer_by - 1);
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
  for (int i = 0; i < SS_WINDOW; i++)
    out[i] = factor_of(&u->of[i], at[i]) * factor_of(&u->own[i], at[SS_COMPONENTS + (i == SS_COMPUTING)]);
  out[SS_WINDOW] = !ss_spread_certain(&u->of[SS_WINDOW]) && at[SS_WINDOW] < 0.5 ? 2 : 1;
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
      if (out->s[column[i]] >= 0 || column[i] == SS_WINDOW) column[columns++] = column[i];
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

bool ss_point_find_parts(const struct ss_training *training, struct ss_training_point *p,
                         struct ss_recorded *recorded, struct ss_error *error) {
  if (!find_components(training, p, recorded, UNHELPED, &p->result, &p->parts, error)) return false;
  if (!steps(p) || training->durations.certain) return true;
  ss_gsl_errors_off(); /* memory that is short is told, not an abort */
  const bool found = find_steps(training, p, recorded, error);
  ss_gsl_errors_back();
  return found;
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

bool ss_point_find_helps(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
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
  ss_point_set_tasks(training, &p->bare, 0);
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
/* SPDX-License-Identifier: Apache-2.0 */
