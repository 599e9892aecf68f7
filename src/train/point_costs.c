#include "train/point_costs.h"

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

bool ss_point_fill_split(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
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

bool ss_point_fill_steps(const struct ss_training *training, struct ss_training_point *p, struct ss_error *error) {
  const bool asked = training->replayed || p->timetable.policy.concurrency.software.step_per_byte > 0;
  return (!asked || fill_gradient(p, error)) &&
         (p->timetable.step || ss_training_steps(p, &p->timetable, &p->timetable.arena, error));
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
double ss_point_server_memory(const struct ss_training *training, const struct ss_training_point *p) {
  double most[SS_CHANNELS_MAX] = {0}, sum = 0;
  for (uint32_t i = 0; i < p->timetable.tasks; i++) {
    const struct ss_task *task = &p->timetable.task[i];
    most[task->channel] = fmax(most[task->channel], training->durations.duration[task->duration].server);
  }
  for (uint32_t c = 0; c < SS_CHANNELS_MAX; c++) sum += most[c];
  return sum;
}

/* Parameters, the optimizer's states, gradients and residuals, and on each channel the largest task. */
double ss_point_memory(const struct ss_training *training, const struct ss_training_point *p) {
  const struct ss_workload *w = &p->fed->workload;
  const struct ss_setting *sparse = &p->system->sparse;
  const uint32_t said = ss_setting_traits(sparse, ss_layout_of(&training->durations.cluster, p->ranks)).owners;
  const uint32_t owners = !ss_scheme_model_parallel(sparse->scheme) ? 1 : said > 0 ? said : p->ranks;
  double sum = 0;
  for (uint32_t i = 0; i < w->modules; i++) {
    const struct ss_module *m = &w->module[i];
    const double bytes = (double)m->bytes / (m->embedding ? owners : 1);
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
  static const char *const names[] = {"compute", "software", "link", "host path", "start-ups", "communication"};
  return names[bound];
}

/* Which of three the path is bound by, and which takes as much. Where shares are nearer than a tenth of the path none
 * is the bound. */
static void rank_shares(struct ss_training_point *p, enum ss_bound sending) {
  const double share[] = {p->compute, p->software, p->communication};
  const enum ss_bound of[] = {SS_BOUND_COMPUTE, SS_BOUND_SOFTWARE, sending};
  int first = 0;
  for (int i = 1; i < 3; i++)
    if (share[i] > share[first]) first = i;
  p->bound = of[first];
  p->beside = SS_BOUNDS;
  double most = share[first] - 0.1;
  for (int i = 0; i < 3; i++)
    if (i != first && share[i] > fmax(most, 0)) most = share[i], p->beside = of[i];
}

/* Passes, software, and all else; of that, what bytes on single links need at the very least, and start-ups there. */
void ss_point_find_bound(const struct ss_training *training, struct ss_training_point *p) {
  double compute = 0, software = 0, communication = 0, links = 0, host = 0, startups = 0;
  for (size_t i = 0; i < p->paths; i++) {
    const struct ss_path_part *part = &p->path[i];
    const double rest = part->seconds - part->software - part->waited;
    software += part->software;
    communication += part->waited;
    *(part->kind == SS_SPAN_TASK ? &communication : &compute) += rest;
    if (part->kind != SS_SPAN_TASK) continue;
    const struct ss_duration *d = &training->durations.duration[p->timetable.task[part->what].duration];
    links += rest * (d->link_share - d->link_startup);
    startups += rest * d->link_startup;
    if (d->host) host += rest * (d->link_share - d->link_startup);
  }
  const double all = compute + software + communication;
  p->compute = all > 0 ? compute / all : 0;
  p->software = all > 0 ? software / all : 0;
  p->communication = all > 0 ? communication / all : 0;
  enum ss_bound sending = SS_BOUND_COMMUNICATION;
  if (startups >= communication / 2) sending = SS_BOUND_STARTUPS;
  if (links >= communication / 2) sending = host > links / 2 ? SS_BOUND_HOST : SS_BOUND_LINK;
  rank_shares(p, sending);
}
/* SPDX-License-Identifier: Apache-2.0 */
