#include "cli/points.h"

#include "cli/identity.h"
#include "cli/inputs.h"
#include "cli/progress.h"
#include "cost/measure.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a point that are means over iterations. */
enum { MEANS = 15 };

/* What one thread keeps from point to point. */
struct worker {
  struct ss_arena arena;
  struct ss_coalesce_scratch scratch;
  struct ss_inputs inputs;
  struct ss_memory memory;
  struct ss_selector selector;
  struct ss_measures measures;
  uint64_t *sent, *received;          /* [ranks] of one iteration */
  const struct ss_cluster **clusters; /* [jobs of the group] */
  struct ss_tally *tallies;
  uint64_t counted[MEANS]; /* iterations that have a value, for each field */
};

static bool point_arrays(struct ss_point *p, const struct ss_points_wish *wish, struct ss_error *error) {
  if (wish->per_iteration) p->iteration_s = ss_alloc_zero(p->iterations, sizeof *p->iteration_s);
  if (wish->per_iteration && !p->iteration_s) return ss_fail_memory(error, "recording iterations");
  if (!wish->per_rank) return true;
  p->rank_sent = ss_alloc_zero(p->ranks, sizeof *p->rank_sent);
  p->rank_received = ss_alloc_zero(p->ranks, sizeof *p->rank_received);
  return (p->rank_sent && p->rank_received) || ss_fail_memory(error, "recording ranks");
}

static bool grow(void *array, size_t count, size_t size) {
  void *old, *grown;
  memcpy(&old, array, sizeof old);
  grown = ss_realloc(old, count, size);
  if (grown) memcpy(array, &grown, sizeof grown);
  return grown;
}

static bool worker_arrays(struct worker *w, uint32_t ranks, uint32_t networks, struct ss_error *error) {
  return (grow(&w->sent, ranks, sizeof *w->sent) && grow(&w->received, ranks, sizeof *w->received) &&
          grow(&w->clusters, networks, sizeof *w->clusters) && grow(&w->tallies, networks, sizeof *w->tallies)) ||
         ss_fail_memory(error, "recording ranks");
}

/* The fields that are means over iterations: summed first, divided once, so that equal iterations give their own
 * value.
 */
static void mean_fields(struct ss_point *p, double *fields[MEANS]) {
  double *const all[MEANS] = {&p->time,     &p->kernel,       &p->messages,   &p->rounds,         &p->bytes,
                              &p->sent_max, &p->received_max, &p->server_max, &p->push_imbalance, &p->pull_imbalance,
                              &p->error_l2, &p->error_mean,   &p->energy,     &p->energy_lost,    &p->k};
  memcpy(fields, all, sizeof all);
}

static void values_of(const struct ss_outcome *o, const struct ss_tally *t, double out[MEANS]) {
  const double values[MEANS] = {t->time,
                                t->kernel,
                                (double)t->messages,
                                (double)t->rounds,
                                (double)t->bytes,
                                (double)t->sent_max,
                                (double)t->received_max,
                                (double)t->server_max,
                                o->push_imbalance,
                                o->pull_imbalance,
                                o->error_l2,
                                o->error_mean,
                                o->energy,
                                o->energy_lost,
                                o->k ? (double)o->k : NAN};
  memcpy(out, values, sizeof values);
}

/* Adds an iteration. What it does not have (the balance of parts when nobody has rows) is not in the mean. */
static void accumulate(struct ss_point *p, const struct ss_outcome *o, const struct ss_tally *t,
                       const struct worker *w, uint64_t i) {
  double values[MEANS];
  values_of(o, t, values);
  double *fields[MEANS];
  mean_fields(p, fields);
  for (size_t k = 0; k < MEANS; k++)
    if (!isnan(values[k])) *fields[k] += values[k];
  if (i == 0 || t->time < p->time_min) p->time_min = t->time;
  if (i == 0 || t->time > p->time_max) p->time_max = t->time;
  if (o->proven && p->lossless) p->exact = p->exact == SS_NO || !o->exact ? SS_NO : SS_YES;
  if (p->iteration_s) p->iteration_s[i] = t->time;
  for (uint32_t r = 0; p->rank_sent && r < p->ranks; r++) {
    p->rank_sent[r] += (double)w->sent[r];
    p->rank_received[r] += (double)w->received[r];
  }
}

static void count_values(struct worker *w, const struct ss_outcome *o) {
  double values[MEANS];
  values_of(o, &w->tallies[0], values);
  for (size_t k = 0; k < MEANS; k++) w->counted[k] += isnan(values[k]) ? 0 : 1;
}

static void divide(struct ss_point *p, const struct worker *w) {
  double n = (double)p->iterations, *fields[MEANS];
  mean_fields(p, fields);
  for (size_t k = 0; k < MEANS; k++) *fields[k] = w->counted[k] ? *fields[k] / (double)w->counted[k] : NAN;
  p->time = fmin(fmax(p->time, p->time_min), p->time_max);
  for (uint32_t r = 0; p->rank_sent && r < p->ranks; r++) {
    p->rank_sent[r] /= n;
    p->rank_received[r] /= n;
  }
}

static void add_texts(struct ss_point *p, const struct ss_cost *cost) {
  p->formula = cost->exact;
  p->formula_low = cost->exact_low;
  p->formula_high = cost->exact_high;
  p->paper = cost->paper;
  p->erratum = cost->erratum;
}

/* The closed form with what was measured. A form that is not finite here (a single rank, say) is left out. */
static void add_forms(struct ss_point *p, const struct ss_job *job, const struct ss_cost *cost,
                      const struct ss_measure *measure) {
  /* one flat link class: the links inside the node when all ranks live in one */
  const struct ss_link *link = job->ranks <= job->cluster.gpus_per_node ? &job->cluster.intra : &job->cluster.inter;
  struct ss_symbols symbols = {.alpha = link->alpha, .beta = link->beta};
  struct ss_cost_values values;
  struct ss_input shape;
  struct ss_error ignored;
  const struct ss_scheme *scheme = job->setting.scheme;
  const bool element = scheme->by_elements || (job->setting.element && !scheme->keeps_rows);
  p->formula_s = p->formula_low_s = p->formula_high_s = NAN;
  p->paper_s = p->paper_low_s = p->paper_high_s = NAN;
  if (!cost || job->ranks == 1) return;
  if (!ss_input_shape(&job->origin, element || job->selection.selects, &shape, &ignored)) return;
  ss_selection_shape(&job->selection, element, &shape);
  symbols.S = job->servers;
  ss_measure_symbols(measure, &shape, &job->setting, &symbols);
  if (!ss_cost_evaluate(cost, &symbols, &values, &ignored)) return;
  add_texts(p, cost);
  p->formula_s = values.exact;
  p->formula_low_s = values.exact_low;
  p->formula_high_s = values.exact_high;
  p->paper_s = values.paper;
  p->paper_low_s = values.paper_low;
  p->paper_high_s = values.paper_high;
}

static void begin_point(struct ss_point *p, const struct ss_job *job) {
  const struct ss_identity identity = ss_job_identity(job);
  *p = (struct ss_point){.setting = job->setting,
                         .ranks = job->ranks,
                         .tensor = job->tensor_name,
                         .at = job->at,
                         .cluster = job->cluster_name,
                         .device = job->device_name,
                         .trace = job->trace_name,
                         .trace_hash = job->trace_hash,
                         .seed = job->seed,
                         .iterations = job->end - job->first,
                         .lossless = job->setting.scheme->lossless,
                         .exact = SS_UNKNOWN,
                         .hash = {identity.high, identity.low}};
}

/* What the scenario selects of a gradient, before the scheme sees it. */
static bool select_entries(const struct ss_job *job, bool element, struct worker *w, struct ss_input *input,
                           struct ss_error *error) {
  return !job->selection.selects || ss_selector_apply(&w->selector, element, input, &w->arena, error);
}

/* What the exact sum applies is all there is, or all that was selected of it. */
static void weigh(const struct ss_job *job, const struct worker *w, struct ss_outcome *o) {
  const bool lossless = job->setting.scheme->lossless;
  if (lossless && o->proven) {
    o->error_l2 = o->error_mean = o->energy_lost = 0;
    o->energy = 1;
  }
  if (job->selection.selects && o->proven) o->energy = lossless ? w->selector.energy : o->energy * w->selector.energy;
  if (job->selection.selects)
    o->k = ss_selection_k(&job->selection, job->selection.block ? w->selector.blocks : w->selector.elements);
}

/* One iteration, on all networks. */
static bool run_iteration(const struct ss_job *job, uint32_t networks, const struct ss_points_wish *wish, uint64_t t,
                          struct worker *w, struct ss_outcome *out, struct ss_error *error) {
  const struct ss_world world = {
      .cluster = w->clusters[0], .device = &job->device, .verify = job->verify, .memory = &w->memory};
  struct ss_input_wish input_wish = ss_setting_wish(&job->setting, job->ranks, job->verify, job->device.counted);
  const bool element = input_wish.element;
  struct ss_input input;
  *out = (struct ss_outcome){.rank_sent = wish->per_rank ? w->sent : NULL, .rank_received = w->received};
  if (job->selection.selects) input_wish.element = input_wish.values = input_wish.lists = true;
  input_wish.iteration = t;
  ss_arena_reset(&w->arena);
  if (!ss_inputs_get(&w->inputs, job, &input_wish, &w->arena, &w->scratch, &input, error) ||
      !select_entries(job, element, w, &input, error) || !ss_measure_add(&w->measures, &input, &job->origin, error) ||
      !ss_simulate_all(&job->setting, &world, w->clusters, networks, &input, &w->arena, out, w->tallies, error))
    return ss_fail_prefix(error, "%s, %u ranks, iteration %llu", job->setting.label, job->ranks,
                          (unsigned long long)t);
  if (out->proven && !out->sound)
    return ss_fail(error, SS_UNPROVEN, "%s, %u ranks, iteration %llu: %s: %s", job->setting.label, job->ranks,
                   (unsigned long long)t,
                   job->setting.scheme->lossless ? "not the exact sum" : "not what it should be", out->mismatch);
  weigh(job, w, out);
  return true;
}

static const struct ss_cost *cost_of(const struct ss_job *job, const struct ss_costs *costs) {
  return ss_costs_find(costs, &job->setting, job->ranks, job->servers);
}

static bool begin_group(const struct ss_job *jobs, const struct ss_job_group *group, const struct ss_costs *costs,
                        const struct ss_points_wish *wish, struct worker *w, struct ss_point *points,
                        struct ss_error *error) {
  const struct ss_job *job = &jobs[group->job[0]];
  const struct ss_cost *cost = cost_of(job, costs);
  const uint32_t block = cost ? ss_cost_block(cost, &job->setting) : 0;
  ss_memory_free(&w->memory); /* each group begins with nothing kept */
  ss_selector_free(&w->selector);
  w->selector = (struct ss_selector){.selection = job->selection};
  memset(w->counted, 0, sizeof w->counted);
  if (!worker_arrays(w, job->ranks, group->count, error)) return false;
  for (uint32_t i = 0; i < group->count; i++) {
    w->clusters[i] = &jobs[group->job[i]].cluster;
    if (!point_arrays(&points[group->job[i]], wish, error)) return false;
  }
  return ss_measure_begin(&w->measures, job->ranks, block, error);
}

/* Jobs that send the same, each on its own network. */
static bool run_group(const struct ss_job *jobs, const struct ss_job_group *group, const struct ss_costs *costs,
                      const struct ss_points_wish *wish, struct worker *w, struct ss_point *points,
                      struct ss_error *error) {
  const struct ss_job *job = &jobs[group->job[0]];
  if (!begin_group(jobs, group, costs, wish, w, points, error)) return false;
  for (uint64_t t = job->first; t < job->end; t++) {
    struct ss_outcome outcome;
    if (!run_iteration(job, group->count, wish, t, w, &outcome, error)) return false;
    count_values(w, &outcome);
    for (uint32_t i = 0; i < group->count; i++)
      accumulate(&points[group->job[i]], &outcome, &w->tallies[i], w, t - job->first);
  }
  const struct ss_measure *mean = ss_measure_mean(&w->measures);
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_point *p = &points[group->job[i]];
    divide(p, w);
    p->density = mean->density;
    p->gamma = mean->gamma;
    add_forms(p, &jobs[group->job[i]], cost_of(job, costs), mean);
  }
  return true;
}

static void free_worker(struct worker *w) {
  ss_arena_free(&w->arena);
  ss_coalesce_free(&w->scratch);
  ss_inputs_free(&w->inputs);
  ss_memory_free(&w->memory);
  ss_selector_free(&w->selector);
  ss_measure_free(&w->measures);
  free(w->sent);
  free(w->received);
  free(w->clusters);
  free(w->tallies);
}

/* --- all tensors together ------------------------------------------------------------------------------- */

static void add_tensor(struct ss_point *all, const struct ss_point *p) {
  all->time += p->time;
  all->time_min += p->time_min;
  all->time_max += p->time_max;
  all->kernel += p->kernel;
  all->messages += p->messages;
  all->rounds += p->rounds;
  all->bytes += p->bytes;
  all->sent_max += p->sent_max;
  all->received_max += p->received_max;
  all->server_max += p->server_max;
  all->k += p->k;
  all->formula_s += p->formula_s;
  all->formula_low_s += p->formula_low_s;
  all->formula_high_s += p->formula_high_s;
  all->paper_s += p->paper_s;
  if (all->exact != SS_NO) all->exact = p->exact == SS_YES ? all->exact : p->exact;
}

static struct ss_point together(const struct ss_point *parts, uint32_t n) {
  struct ss_point all = parts[0];
  all.tensor = "*";
  all.iteration_s = all.rank_sent = all.rank_received = NULL;
  all.density = all.gamma = all.push_imbalance = all.pull_imbalance = NAN;
  all.error_l2 = all.error_mean = all.energy = all.energy_lost = NAN;
  all.formula = all.formula_low = all.formula_high = all.paper = NULL;
  all.hash[0] = all.hash[1] = 0;
  all.paper_low_s = all.paper_high_s = NAN;
  for (uint32_t i = 1; i < n; i++) add_tensor(&all, &parts[i]);
  return all;
}

/* --- the printed order ---------------------------------------------------------------------------------- */

/* Jobs of one place and rank count: they follow each other, and so do their points, tensor by tensor, schemes
 * together, "*" last. */
struct block {
  size_t first, end; /* jobs */
  size_t missing;
};

struct run {
  const struct ss_job *jobs;
  size_t count;
  const struct ss_costs *costs;
  const struct ss_points_wish *wish;
  struct ss_points_listener *listener;
  struct ss_point *points; /* [count] in the jobs' order */
  bool *wanted;            /* [count] to be computed */
  struct block *blocks;
  size_t *block_of; /* [count] */
  size_t block_count, next;
  struct ss_points *out;
  struct ss_job_groups groups;
  size_t failed; /* the first group that failed, in order; SIZE_MAX: none */
  struct ss_error error;
  struct ss_progress progress;
  double work;
};

static size_t arrange(const struct run *run, const struct block *block, struct ss_point *out) {
  const uint32_t tensors = run->jobs[block->first].siblings;
  size_t n = 0;
  for (uint32_t k = 0; k < tensors; k++)
    for (size_t j = block->first; j < block->end; j += tensors) out[n++] = run->points[j + k];
  for (size_t j = block->first; tensors > 1 && j < block->end; j += tensors)
    out[n++] = together(run->points + j, tensors);
  return n;
}

static size_t arranged(const struct run *run, const struct block *block) {
  const size_t jobs = block->end - block->first;
  const uint32_t tensors = run->jobs[block->first].siblings;
  return jobs + (tensors > 1 ? jobs / tensors : 0);
}

/* Hands out every block that is complete, up to the first that is not. */
static bool hand_out(struct run *run, struct ss_error *error) {
  struct ss_points_listener *l = run->listener;
  for (; run->next < run->block_count && run->blocks[run->next].missing == 0; run->next++) {
    struct ss_point *from = run->out->point + run->out->count;
    const size_t n = arrange(run, &run->blocks[run->next], from);
    run->out->count += n;
    if (l && l->ready && !l->ready(l, from, n, error)) return false;
  }
  return true;
}

static bool open_blocks(struct run *run, struct ss_error *error) {
  const struct ss_job *jobs = run->jobs;
  size_t all = 0;
  for (size_t i = 0, end; i < run->count; i = end) {
    struct block *b = &run->blocks[run->block_count];
    for (end = i; end < run->count && jobs[end].at == jobs[i].at && jobs[end].ranks == jobs[i].ranks; end++)
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
  struct ss_points_listener *l = run->listener;
  struct ss_points blank = {.point = run->out->point};
  if (!l || !l->begin) return true;
  for (size_t i = 0; i < run->block_count; i++)
    blank.count += arrange(run, &run->blocks[i], blank.point + blank.count);
  return l->begin(l, &blank, error);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* What is known of earlier is not computed again, unless its closed form has changed since. */
static bool recall(const struct run *run, size_t i, bool *known, struct ss_error *error) {
  struct ss_points_listener *l = run->listener;
  const struct ss_job *job = &run->jobs[i];
  const struct ss_cost *cost = job->ranks > 1 ? cost_of(job, run->costs) : NULL;
  struct ss_point *p = &run->points[i];
  *known = false;
  if (!l || !l->recall) return true;
  if (cost) add_texts(p, cost);
  if (!l->recall(l, p, known, error)) return false;
  if (!*known) begin_point(p, job);
  return true;
}

static double work_of(const struct ss_job *job) {
  return (double)job->ranks * (double)(job->end - job->first);
}

static bool open_run(struct run *run, struct ss_error *error) {
  size_t known = 0;
  run->points = ss_alloc_zero(run->count, sizeof *run->points);
  run->wanted = ss_alloc_zero(run->count, sizeof *run->wanted);
  run->blocks = ss_alloc_zero(run->count, sizeof *run->blocks);
  run->block_of = ss_alloc_zero(run->count, sizeof *run->block_of);
  if (!run->points || !run->wanted || !run->blocks || !run->block_of) return ss_fail_memory(error, "listing results");
  for (size_t i = 0; i < run->count; i++) begin_point(&run->points[i], &run->jobs[i]);
  if (!open_blocks(run, error) || !announce(run, error)) return false;
  for (size_t i = 0; i < run->count; i++) {
    bool found;
    if (!recall(run, i, &found, error)) return false;
    run->wanted[i] = !found;
    run->blocks[run->block_of[i]].missing += !found;
    known += found;
  }
  if (!ss_jobs_group(run->jobs, run->count, run->wanted, &run->groups, error)) return false;
  for (size_t g = 0; g < run->groups.count; g++) run->work += work_of(&run->jobs[run->groups.group[g].job[0]]);
  run->progress = ss_progress_begin("points", run->count - known, run->wish->quiet);
  return hand_out(run, error);
}

/* A group is through. One thread at a time. */
static bool finish_group(struct run *run, const struct ss_job_group *group, struct ss_error *error) {
  struct ss_points_listener *l = run->listener;
  ss_progress_advance(&run->progress, group->count, work_of(&run->jobs[group->job[0]]), run->work);
  for (uint32_t i = 0; i < group->count; i++) {
    run->blocks[run->block_of[group->job[i]]].missing--;
    if (l && l->computed && !l->computed(l, &run->points[group->job[i]], error)) return false;
  }
  return hand_out(run, error);
}

static void compute(struct run *run, size_t g, struct worker *worker) {
  const struct ss_job_group *group = &run->groups.group[g];
  struct ss_error mine;
  size_t failed;
#pragma omp atomic read
  failed = run->failed;
  if (failed != SIZE_MAX) return;
  bool ok = run_group(run->jobs, group, run->costs, run->wish, worker, run->points, &mine);
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

/* B of inputs that all threads together keep: little beside what schemes need. */
enum { INPUTS_ROOM = 1 << 29 };

static bool compute_all(struct run *run, struct ss_error *error) {
  const int threads = thread_count(run->wish->jobs, run->groups.count);
#pragma omp parallel num_threads(threads)
  {
    struct worker worker = {.inputs.room = INPUTS_ROOM / (size_t)threads};
#pragma omp for schedule(dynamic, 1)
    for (size_t g = 0; g < run->groups.count; g++) compute(run, g, &worker);
    free_worker(&worker);
  }
  ss_progress_end(&run->progress);
  if (run->failed == SIZE_MAX) return true;
  if (error) *error = run->error;
  return false;
}

static void free_arrays(struct ss_point *p) {
  free(p->iteration_s);
  free(p->rank_sent);
  free(p->rank_received);
}

bool ss_points_run(const struct ss_scenario *scenario, const struct ss_costs *costs,
                   const struct ss_points_wish *wish, struct ss_points_listener *listener, struct ss_points *out,
                   struct ss_error *error) {
  struct run run = {.costs = costs, .wish = wish, .listener = listener, .out = out, .failed = SIZE_MAX};
  run.jobs = ss_scenario_jobs(scenario, &run.count);
  *out = (struct ss_points){0};
  const bool ok = open_run(&run, error) && compute_all(&run, error);
  for (size_t i = 0; !ok && run.points && i < run.count; i++) free_arrays(&run.points[i]);
  if (!ok) {
    free(out->point);
    *out = (struct ss_points){0};
  }
  ss_jobs_ungroup(&run.groups);
  free(run.points);
  free(run.wanted);
  free(run.blocks);
  free(run.block_of);
  return ok;
}

void ss_points_free(struct ss_points *points) {
  for (size_t i = 0; i < points->count; i++) free_arrays(&points->point[i]);
  free(points->point);
  *points = (struct ss_points){0};
}
