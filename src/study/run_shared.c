#include "study/run_shared.h"

#include "share/share.h"
#include "study/processes.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a point, as bytes ------------------------------------------------------------------------------------ */

/* All processes run the same program, on machines of one kind. Names and texts are known everywhere. */

static size_t numbers_of(const struct ss_result *p, const struct ss_run_options *options) {
  return 2 + SS_RESULT_FIELDS + (options->per_iteration ? p->iterations : 0) +
         (options->per_rank ? 2 * (size_t)p->ranks : 0);
}

static double *put_array(double *to, const double *from, size_t count) {
  memcpy(to, from, count * sizeof *to);
  return to + count;
}

static double *put_point(double *to, const struct ss_result *p, const struct ss_run_options *options) {
  *to++ = p->exact;
  *to++ = p->formula || p->formula_low || p->formula_high || p->paper || p->erratum;
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) *to++ = ss_result_value(p, i);
  if (options->per_iteration) to = put_array(to, p->iteration_s, p->iterations);
  if (!options->per_rank) return to;
  to = put_array(to, p->rank_sent, p->ranks);
  return put_array(to, p->rank_received, p->ranks);
}

static const double *get_array(const double *from, size_t count, double **out) {
  *out = ss_alloc(count, sizeof **out);
  if (*out) memcpy(*out, from, count * sizeof *from);
  return from + count;
}

static bool get_point(const double **from, const struct ss_job *job, const struct ss_points_share *s,
                      struct ss_result *p, struct ss_error *error) {
  const struct ss_cost *cost = ss_job_cost(job, s->all->costs);
  const double *at = *from;
  ss_result_free_arrays(p);
  ss_result_begin(p, job);
  p->exact = (enum ss_verdict)(int)*at++;
  if (*at++ != 0 && cost) ss_result_add_texts(p, cost);
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) ss_result_set_value(p, i, *at++);
  if (s->all->options->per_iteration) at = get_array(at, p->iterations, &p->iteration_s);
  if (s->all->options->per_rank) at = get_array(at, p->ranks, &p->rank_sent);
  if (s->all->options->per_rank) at = get_array(at, p->ranks, &p->rank_received);
  *from = at;
  return ((!s->all->options->per_iteration || p->iteration_s) &&
          (!s->all->options->per_rank || (p->rank_sent && p->rank_received))) ||
         ss_fail_memory(error, "receiving results");
}

/* --- sharing ---------------------------------------------------------------------------------------------- */

struct sharing {
  const struct ss_points_share *share;
  struct ss_worker *worker; /* [threads] */
};

static size_t group_numbers(const struct ss_points_share *s, const struct ss_job_group *group) {
  size_t n = 0;
  for (uint32_t i = 0; i < group->count; i++) n += numbers_of(&s->all->results[group->job[i]], s->all->options);
  return n;
}

static bool compute(void *context, unsigned thread, size_t item, struct ss_error *error) {
  const struct sharing *x = context;
  const struct ss_points_share *s = x->share;
  return ss_group_compute(s->all, &s->groups->group[item], &x->worker[thread], error);
}

static void *pack(void *context, size_t item, size_t *size) {
  const struct ss_points_share *s = ((struct sharing *)context)->share;
  const struct ss_job_group *group = &s->groups->group[item];
  double *const numbers = ss_alloc(group_numbers(s, group), sizeof *numbers), *at = numbers;
  if (!numbers) return NULL;
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_result *p = &s->all->results[group->job[i]];
    at = put_point(at, p, s->all->options);
    ss_result_free_arrays(p);
  }
  *size = (size_t)(at - numbers) * sizeof *numbers;
  return numbers;
}

static bool unpack(void *context, size_t item, const void *bytes, size_t size, struct ss_error *error) {
  const struct ss_points_share *s = ((struct sharing *)context)->share;
  const struct ss_job_group *group = &s->groups->group[item];
  const double *at = bytes;
  if (size != group_numbers(s, group) * sizeof *at)
    return ss_fail(error, SS_MACHINE, "%s: a rank sent what is no result", s->all->jobs[group->job[0]].setting.label);
  for (uint32_t i = 0; i < group->count; i++) {
    const size_t job = group->job[i];
    if (!get_point(&at, &s->all->jobs[job], s, &s->all->results[job], error)) return false;
  }
  return true;
}

static bool finished(void *context, size_t item, struct ss_error *error) {
  const struct ss_points_share *s = ((struct sharing *)context)->share;
  return s->finished(s->context, item, error);
}

static void lost(void *context, uint32_t rank, size_t items) {
  const struct ss_points_share *s = ((struct sharing *)context)->share;
  ss_processes_lost(s->all->options->comm, rank, s->all->options->patience, items, "groups of points");
}

static void name_point(const struct ss_job *job, char *text, size_t size) {
  char *at = job->at && job->at->child ? cJSON_PrintUnformatted(job->at) : NULL;
  snprintf(text, size, "%s on %u ranks%s%s", job->setting.label, job->ranks, at ? " at " : "", at ? at : "");
  free(at);
}

/* So many are named; the others are counted. */
enum { NAMED = 4 };

static void missing(void *context, const bool *done, struct ss_error *error) {
  const struct ss_points_share *s = ((struct sharing *)context)->share;
  char names[NAMED * 130] = "", name[128];
  size_t count = 0;
  for (size_t g = 0; g < s->groups->count; g++)
    for (uint32_t i = 0; !done[g] && i < s->groups->group[g].count; i++) {
      name_point(&s->all->jobs[s->groups->group[g].job[i]], name, sizeof name);
      if (count < NAMED)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", count ? ", " : "", name);
      count++;
    }
  (void)ss_fail(error, error->status, "%s; %zu of %zu points are missing: %s%s", error->text, count, s->all->count,
                names, count > NAMED ? ", ..." : "");
  if (s->listener && s->listener->stopped) s->listener->stopped(s->listener, error);
}

bool ss_points_same(const struct ss_points_share *s, struct ss_error *error) {
  const struct ss_identity all = ss_jobs_identity(s->all->jobs, s->all->count);
  const uint64_t numbers[] = {all.high, all.low, s->all->options->per_rank, s->all->options->per_iteration};
  return ss_processes_same(s->all->options->comm, numbers, sizeof numbers / sizeof *numbers, error);
}

bool ss_points_share(const struct ss_points_share *s, struct ss_error *error) {
  struct sharing x = {.share = s};
  struct ss_shared_work work = {.context = &x,
                                .count = s->groups->count,
                                .patience = s->all->options->patience,
                                .compute = compute,
                                .pack = pack,
                                .unpack = unpack,
                                .finished = finished,
                                .lost = lost,
                                .missing = missing};
  bool good = ss_communicator_threads(s->all->options->comm, s->all->options->jobs, &work.threads, error);
  x.worker = good ? ss_alloc_zero(work.threads, sizeof *x.worker) : NULL;
  if (good && !x.worker) good = ss_fail_memory(error, "sharing points");
  for (unsigned i = 0; x.worker && i < work.threads; i++) x.worker[i].inputs.budget = SS_INPUTS_ROOM / work.threads;
  good = ss_communicator_agree(s->all->options->comm, good, error) &&
         ss_communicator_share(s->all->options->comm, &work, error);
  for (unsigned i = 0; x.worker && i < work.threads; i++) ss_worker_free(&x.worker[i]);
  free(x.worker);
  return good;
}
