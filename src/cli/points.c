#include "cli/points.h"

#include "cli/progress.h"
#include "cost/measure.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* What one thread keeps from point to point. */
struct worker {
  struct ss_arena arena;
  struct ss_coalesce_scratch scratch;
  struct ss_memory memory;
  struct ss_selector selector;
  struct ss_measures measures;
  uint64_t *sent, *received; /* [ranks] of one iteration */
};

static bool point_arrays(struct ss_point *p, const struct ss_points_wish *wish, struct worker *w,
                         struct ss_error *error) {
  if (wish->per_iteration) p->iteration_s = ss_alloc_zero(p->iterations, sizeof *p->iteration_s);
  if (wish->per_iteration && !p->iteration_s) return ss_fail_memory(error, "recording iterations");
  if (!wish->per_rank) return true;
  p->rank_sent = ss_alloc_zero(p->ranks, sizeof *p->rank_sent);
  p->rank_received = ss_alloc_zero(p->ranks, sizeof *p->rank_received);
  w->sent = ss_realloc(w->sent, p->ranks, sizeof *w->sent);
  w->received = ss_realloc(w->received, p->ranks, sizeof *w->received);
  if (p->rank_sent && p->rank_received && w->sent && w->received) return true;
  return ss_fail_memory(error, "recording ranks");
}

/* The fields that are means over iterations: summed first, divided once, so that equal iterations give their own
 * value.
 */
enum { MEANS = 15 };
static void mean_fields(struct ss_point *p, double *fields[MEANS]) {
  double *const all[MEANS] = {&p->time,     &p->kernel,       &p->messages,   &p->rounds,         &p->bytes,
                              &p->sent_max, &p->received_max, &p->server_max, &p->push_imbalance, &p->pull_imbalance,
                              &p->error_l2, &p->error_mean,   &p->energy,     &p->energy_lost,    &p->k};
  memcpy(fields, all, sizeof all);
}

static void accumulate(struct ss_point *p, const struct ss_outcome *o, const struct worker *w, uint64_t i) {
  const struct ss_tally *t = &o->tally;
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
  double *fields[MEANS];
  mean_fields(p, fields);
  for (size_t k = 0; k < MEANS; k++) *fields[k] += values[k];
  if (i == 0 || t->time < p->time_min) p->time_min = t->time;
  if (i == 0 || t->time > p->time_max) p->time_max = t->time;
  if (o->proven && p->lossless) p->exact = p->exact == SS_NO || !o->exact ? SS_NO : SS_YES;
  if (p->iteration_s) p->iteration_s[i] = t->time;
  for (uint32_t r = 0; p->rank_sent && r < p->ranks; r++) {
    p->rank_sent[r] += (double)w->sent[r];
    p->rank_received[r] += (double)w->received[r];
  }
}

static void divide(struct ss_point *p) {
  double n = (double)p->iterations, *fields[MEANS];
  mean_fields(p, fields);
  for (size_t k = 0; k < MEANS; k++) *fields[k] /= n;
  p->time = fmin(fmax(p->time, p->time_min), p->time_max);
  for (uint32_t r = 0; p->rank_sent && r < p->ranks; r++) {
    p->rank_sent[r] /= n;
    p->rank_received[r] /= n;
  }
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
  p->formula_s = p->paper_s = p->paper_low_s = p->paper_high_s = NAN;
  if (!cost || job->ranks == 1) return;
  if (!ss_input_shape(&job->origin, element || job->selection.selects, &shape, &ignored)) return;
  ss_selection_shape(&job->selection, element, &shape);
  symbols.S = job->servers;
  ss_measure_symbols(measure, &shape, &job->setting, &symbols);
  if (!ss_cost_evaluate(cost, &symbols, &values, &ignored)) return;
  p->formula = cost->exact;
  p->paper = cost->paper;
  p->erratum = cost->erratum;
  p->formula_s = values.exact;
  p->paper_s = values.paper;
  p->paper_low_s = values.paper_low;
  p->paper_high_s = values.paper_high;
}

static void begin_point(struct ss_point *p, const struct ss_job *job) {
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
                         .exact = SS_UNKNOWN};
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

static bool run_job(const struct ss_job *job, const struct ss_costs *costs, const struct ss_points_wish *wish,
                    struct worker *w, struct ss_point *p, struct ss_error *error) {
  struct ss_world world = {
      .cluster = &job->cluster, .device = &job->device, .verify = job->verify, .memory = &w->memory};
  struct ss_input_wish input_wish = ss_setting_wish(&job->setting, job->ranks, job->verify, job->device.counted);
  const struct ss_input_wish wish_of_scheme = input_wish;
  const struct ss_cost *cost = ss_costs_find(costs, &job->setting, job->ranks, job->servers);
  const uint32_t block = cost ? ss_cost_block(cost, &job->setting) : 0;
  ss_memory_free(&w->memory); /* each point begins with nothing kept */
  ss_selector_free(&w->selector);
  w->selector = (struct ss_selector){.selection = job->selection};
  if (job->selection.selects) input_wish.element = input_wish.values = input_wish.lists = true;
  begin_point(p, job);
  if (!point_arrays(p, wish, w, error) || !ss_measure_begin(&w->measures, job->ranks, block, error)) return false;
  for (uint64_t t = job->first; t < job->end; t++) {
    struct ss_outcome outcome = {.rank_sent = wish->per_rank ? w->sent : NULL, .rank_received = w->received};
    struct ss_input input;
    input_wish.iteration = t;
    ss_arena_reset(&w->arena);
    if (!ss_input_make(&job->origin, &input_wish, &w->arena, &w->scratch, &input, error) ||
        !select_entries(job, wish_of_scheme.element, w, &input, error) ||
        !ss_measure_add(&w->measures, &input, &job->origin, error) ||
        !ss_simulate(&job->setting, &world, &input, &w->arena, &outcome, error))
      return ss_fail_prefix(error, "%s, %u ranks, iteration %llu", job->setting.label, job->ranks,
                            (unsigned long long)t);
    if (outcome.proven && !outcome.sound)
      return ss_fail(error, SS_UNPROVEN, "%s, %u ranks, iteration %llu: %s: %s", job->setting.label, job->ranks,
                     (unsigned long long)t, p->lossless ? "not the exact sum" : "not what it should be",
                     outcome.mismatch);
    weigh(job, w, &outcome);
    accumulate(p, &outcome, w, t - job->first);
  }
  divide(p);
  const struct ss_measure *mean = ss_measure_mean(&w->measures);
  p->density = mean->density;
  p->gamma = mean->gamma;
  add_forms(p, job, cost, mean);
  return true;
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
  all->paper_s += p->paper_s;
  if (all->exact != SS_NO) all->exact = p->exact == SS_YES ? all->exact : p->exact;
}

static struct ss_point together(const struct ss_point *parts, uint32_t n) {
  struct ss_point all = parts[0];
  all.tensor = "*";
  all.iteration_s = all.rank_sent = all.rank_received = NULL;
  all.density = all.gamma = all.push_imbalance = all.pull_imbalance = NAN;
  all.error_l2 = all.error_mean = all.energy = all.energy_lost = NAN;
  all.formula = all.paper = NULL;
  all.paper_low_s = all.paper_high_s = NAN;
  for (uint32_t i = 1; i < n; i++) add_tensor(&all, &parts[i]);
  return all;
}

/* From an entry a job, in the jobs' order, to the printed order: tensor by tensor, schemes together, "*" last. */
static bool arrange(const struct ss_job *jobs, const struct ss_point *points, size_t count, struct ss_points *out,
                    struct ss_error *error) {
  size_t sums = 0, n = 0;
  for (size_t i = 0; i < count; i += jobs[i].siblings) sums += jobs[i].siblings > 1;
  out->point = ss_alloc_zero(count + sums, sizeof *out->point);
  if (!out->point) return ss_fail_memory(error, "listing results");
  for (size_t i = 0, end; i < count; i = end) {
    uint32_t tensors = jobs[i].siblings;
    for (end = i; end < count && jobs[end].at == jobs[i].at && jobs[end].ranks == jobs[i].ranks; end += tensors)
      continue;
    for (uint32_t k = 0; k < tensors; k++)
      for (size_t j = i; j < end; j += tensors) out->point[n++] = points[j + k];
    for (size_t j = i; tensors > 1 && j < end; j += tensors) out->point[n++] = together(points + j, tensors);
  }
  out->count = n;
  return true;
}

static int thread_count(unsigned jobs, size_t points) {
  size_t wanted = jobs ? jobs : (size_t)omp_get_num_procs();
  return (int)(wanted < points ? wanted : points);
}

bool ss_points_run(const struct ss_scenario *scenario, const struct ss_costs *costs,
                   const struct ss_points_wish *wish, struct ss_points *out, struct ss_error *error) {
  size_t count, failed = SIZE_MAX;
  const struct ss_job *jobs = ss_scenario_jobs(scenario, &count);
  SS_AUTO_FREE struct ss_point *points = ss_alloc_zero(count, sizeof *points);
  struct ss_progress progress = ss_progress_begin("points", count, wish->quiet);
  *out = (struct ss_points){0};
  if (!points) return ss_fail_memory(error, "listing results");
#pragma omp parallel num_threads(thread_count(wish->jobs, count))
  {
    struct worker worker = {0};
#pragma omp for schedule(dynamic, 1)
    for (size_t i = 0; i < count; i++) {
      struct ss_error mine;
      size_t skip;
      bool ok;
#pragma omp atomic read
      skip = failed;
      ok = skip != SIZE_MAX || run_job(&jobs[i], costs, wish, &worker, &points[i], &mine);
#pragma omp critical
      {
        if (!ok && i < failed) {
          failed = i; /* the first in order, whatever the threads did */
          if (error) *error = mine;
        }
        ss_progress_step(&progress);
      }
    }
    ss_arena_free(&worker.arena);
    ss_coalesce_free(&worker.scratch);
    ss_memory_free(&worker.memory);
    ss_selector_free(&worker.selector);
    ss_measure_free(&worker.measures);
    free(worker.sent);
    free(worker.received);
  }
  ss_progress_end(&progress);
  if (failed == SIZE_MAX && arrange(jobs, points, count, out, error)) return true;
  for (size_t i = 0; i < count; i++) {
    free(points[i].iteration_s);
    free(points[i].rank_sent);
    free(points[i].rank_received);
  }
  return false;
}

void ss_points_free(struct ss_points *points) {
  for (size_t i = 0; i < points->count; i++) {
    free(points->point[i].iteration_s);
    free(points->point[i].rank_sent);
    free(points->point[i].rank_received);
  }
  free(points->point);
  *points = (struct ss_points){0};
}
