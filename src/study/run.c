#include "study/study.h"

#include "study/compute.h"
#include "study/identity.h"
#include "study/processes.h"
#include "study/run_shared.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- the printed order ---------------------------------------------------------------------------------- */

/* Jobs of one place and rank count: they follow each other, and so do their points, tensor by tensor, schemes
 * together, "*" last. */
struct block {
  size_t first, end; /* jobs */
  size_t missing;
};

struct run {
  struct ss_computing all;
  struct ss_results_listener *listener;
  bool *wanted; /* [count] to be computed */
  struct block *blocks;
  size_t *block_of; /* [count] */
  size_t block_count, next;
  struct ss_results *out;
  struct ss_job_groups groups;
  size_t failed; /* the first group that failed, in order; SIZE_MAX: none */
  struct ss_error error;
  double work;
};

static size_t arrange(const struct run *run, const struct block *block, struct ss_result *out) {
  const uint32_t tensors = run->all.jobs[block->first].siblings;
  size_t n = 0;
  for (uint32_t k = 0; k < tensors; k++)
    for (size_t j = block->first; j < block->end; j += tensors) out[n++] = run->all.results[j + k];
  for (size_t j = block->first; tensors > 1 && j < block->end; j += tensors)
    out[n++] = ss_result_of_all(run->all.results + j, tensors);
  return n;
}

static size_t arranged(const struct run *run, const struct block *block) {
  const size_t jobs = block->end - block->first;
  const uint32_t tensors = run->all.jobs[block->first].siblings;
  return jobs + (tensors > 1 ? jobs / tensors : 0);
}

/* Hands out every block that is complete, up to the first that is not. */
static bool hand_out(struct run *run, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  for (; run->next < run->block_count && run->blocks[run->next].missing == 0; run->next++) {
    struct ss_result *from = run->out->point + run->out->count;
    const size_t n = arrange(run, &run->blocks[run->next], from);
    run->out->count += n;
    if (l && l->ready && !l->ready(l, from, n, error)) return false;
  }
  return true;
}

static bool open_blocks(struct run *run, struct ss_error *error) {
  const struct ss_job *jobs = run->all.jobs;
  size_t all = 0;
  for (size_t i = 0, end; i < run->all.count; i = end) {
    struct block *b = &run->blocks[run->block_count];
    for (end = i; end < run->all.count && jobs[end].at == jobs[i].at && jobs[end].ranks == jobs[i].ranks; end++)
      run->block_of[end] = run->block_count;
    *b = (struct block){.first = i, .end = end};
    run->block_count++;
    all += arranged(run, b);
  }
  run->out->point = ss_alloc_zero(all, sizeof *run->out->point);
  return run->out->point || ss_fail_memory(error, "listing results");
}

/* The points without values, for those who must know all names first. */
static bool announce(struct run *run, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  struct ss_results blank = {.point = run->out->point};
  if (!l || !l->begin) return true;
  for (size_t i = 0; i < run->block_count; i++)
    blank.count += arrange(run, &run->blocks[i], blank.point + blank.count);
  return l->begin(l, &blank, error);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* What is known of earlier is not computed again, unless its closed form has changed since. */
static bool recall(const struct run *run, size_t i, bool *known, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  const struct ss_job *job = &run->all.jobs[i];
  struct ss_result *p = &run->all.results[i];
  *known = false;
  if (!l || !l->recall) return true;
  ss_result_add_texts(p, job, run->all.costs);
  if (!l->recall(l, p, known, error)) return false;
  if (!*known) ss_result_begin(p, job);
  return true;
}

static double work_of(const struct ss_job *job) {
  return (double)job->ranks * (double)(job->end - job->first);
}

static bool allocate(struct run *run, struct ss_error *error) {
  run->all.results = ss_alloc_zero(run->all.count, sizeof *run->all.results);
  run->wanted = ss_alloc_zero(run->all.count, sizeof *run->wanted);
  run->blocks = ss_alloc_zero(run->all.count, sizeof *run->blocks);
  run->block_of = ss_alloc_zero(run->all.count, sizeof *run->block_of);
  if (!run->all.results || !run->wanted || !run->blocks || !run->block_of)
    return ss_fail_memory(error, "listing results");
  for (size_t i = 0; i < run->all.count; i++) ss_result_begin(&run->all.results[i], &run->all.jobs[i]);
  return true;
}

/* What is printed, and what is known of it. */
static bool open_results(struct run *run, size_t *known, struct ss_error *error) {
  *known = 0;
  if (!open_blocks(run, error) || !announce(run, error)) return false;
  for (size_t i = 0; i < run->all.count; i++) {
    bool found;
    if (!recall(run, i, &found, error)) return false;
    run->wanted[i] = !found;
    run->blocks[run->block_of[i]].missing += !found;
    *known += found;
  }
  return true;
}

/* Of several processes only rank 0 has results, and knows what is wanted. */
static bool open_run(struct run *run, struct ss_error *error) {
  const struct ss_communicator *comm = run->all.options->comm;
  const bool first = ss_processes_first(comm);
  size_t known = 0;
  if (!ss_communicator_agree(comm, allocate(run, error), error) ||
      !ss_communicator_follow(comm, !first || open_results(run, &known, error), error))
    return false;
  ss_communicator_broadcast(comm, run->wanted, run->all.count * sizeof *run->wanted);
  if (!ss_communicator_agree(comm, ss_jobs_group(run->all.jobs, run->all.count, run->wanted, &run->groups, error),
                             error))
    return false;
  for (size_t g = 0; g < run->groups.count; g++) run->work += work_of(&run->all.jobs[run->groups.group[g].job[0]]);
  if (first) ss_watcher_begin(run->all.options->watcher, "points", run->all.count - known);
  return ss_communicator_follow(comm, !first || hand_out(run, error), error);
}

/* A group is through. One thread at a time. */
static bool finish_group(struct run *run, const struct ss_job_group *group, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  ss_watcher_advance(run->all.options->watcher, group->count, work_of(&run->all.jobs[group->job[0]]), run->work);
  for (uint32_t i = 0; i < group->count; i++) {
    run->blocks[run->block_of[group->job[i]]].missing--;
    if (l && l->computed && !l->computed(l, &run->all.results[group->job[i]], error)) return false;
  }
  return hand_out(run, error);
}

static void compute(struct run *run, size_t g, struct ss_worker *worker) {
  const struct ss_job_group *group = &run->groups.group[g];
  struct ss_error mine;
  size_t failed;
#pragma omp atomic read
  failed = run->failed;
  if (failed != SIZE_MAX) return;
  bool ok = ss_group_compute(&run->all, group, worker, &mine);
#pragma omp critical
  {
    if (ok && run->failed == SIZE_MAX) ok = finish_group(run, group, &mine);
    if (!ok && g < run->failed) {
      run->error = mine; /* of the first in order, whatever the threads did */
#pragma omp atomic write
      run->failed = g;
    }
  }
}

static int thread_count(unsigned jobs, size_t groups) {
  size_t wanted = jobs ? jobs : (size_t)omp_get_num_procs();
  return (int)(wanted < groups ? wanted : groups < 1 ? 1 : groups);
}

static bool compute_all(struct run *run, struct ss_error *error) {
  const int threads = thread_count(run->all.options->jobs, run->groups.count);
#pragma omp parallel num_threads(threads)
  {
    struct ss_worker worker = {.inputs.budget = SS_INPUTS_ROOM / (size_t)threads};
#pragma omp for schedule(dynamic, 1)
    for (size_t g = 0; g < run->groups.count; g++) compute(run, g, &worker);
    ss_worker_free(&worker);
  }
  ss_watcher_end(run->all.options->watcher);
  if (run->failed == SIZE_MAX) return true;
  if (error) *error = run->error;
  return false;
}

static bool finished(void *context, size_t group, struct ss_error *error) {
  struct run *run = context;
  return finish_group(run, &run->groups.group[group], error);
}

/* All processes take part. */
static bool share(struct run *run, struct ss_error *error) {
  struct ss_points_share share = {
      .all = &run->all, .groups = &run->groups, .listener = run->listener, .finished = finished, .context = run};
  if (!ss_points_same(&share, error) || !open_run(run, error)) return false;
  const bool ok = ss_points_share(&share, error);
  if (ss_processes_first(run->all.options->comm)) ss_watcher_end(run->all.options->watcher);
  return ok;
}

bool ss_study_run(const struct ss_study *study, const struct ss_run_options *options,
                  struct ss_results_listener *listener, struct ss_results *out, struct ss_error *error) {
  struct run run = {.all = {.costs = ss_study_costs(study), .options = options},
                    .listener = listener,
                    .out = out,
                    .failed = SIZE_MAX};
  run.all.jobs = ss_study_jobs(study, &run.all.count);
  *out = (struct ss_results){0};
  const bool ok = options->comm ? share(&run, error) : open_run(&run, error) && compute_all(&run, error);
  const bool kept = ok && ss_processes_first(options->comm);
  for (size_t i = 0; !kept && run.all.results && i < run.all.count; i++) ss_result_free_arrays(&run.all.results[i]);
  if (!ok) {
    free(out->point);
    *out = (struct ss_results){0};
  }
  ss_jobs_ungroup(&run.groups);
  free(run.all.results);
  free(run.wanted);
  free(run.blocks);
  free(run.block_of);
  return ok;
}
