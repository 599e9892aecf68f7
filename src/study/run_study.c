#include "study/study_internal.h"

#include "base/json.h"
#include "schemes/registry.h"
#include "share/share.h"
#include "study/compute.h"
#include "study/plan.h"

/* --- the printed order ---------------------------------------------------------------------------------- */

/* Points of one cell and rank count: they follow each other, and so do their results, tensor by tensor, schemes
 * together, "*" last. A cell has a name of its cluster that is its own. */
struct block {
  struct ss_results *out; /* of its study */
  size_t first, end;      /* points */
  size_t missing;
};

struct run {
  const struct ss_study *const *study;
  struct ss_results *out; /* [studies] */
  size_t studies;
  struct ss_computing all; /* the points of all studies, one after the other */
  struct ss_results_listener *listener;
  bool *wanted; /* [count] to be computed */
  struct block *blocks;
  size_t *block_of; /* [count] */
  size_t block_count, next;
  struct ss_point_groups groups;
  const struct ss_notice *notice;
  double work;
};

/* Tensors of the block's trace; schemes that have them travel together have one point for all. */
static uint32_t tensors_of(const struct run *run, const struct block *block) {
  uint32_t most = 1;
  for (size_t j = block->first; j < block->end; j++)
    if (run->all.points[j]->siblings > most) most = run->all.points[j]->siblings;
  return most;
}

static size_t arrange(const struct run *run, const struct block *block, struct ss_result *out) {
  const struct ss_point *const *points = run->all.points;
  const uint32_t tensors = tensors_of(run, block);
  size_t n = 0;
  for (uint32_t k = 0; k < tensors; k++)
    for (size_t j = block->first; j < block->end; j += points[j]->siblings)
      if (points[j]->siblings == tensors) out[n++] = run->all.results[j + k];
  for (size_t j = block->first; tensors > 1 && j < block->end; j += points[j]->siblings)
    out[n++] = points[j]->siblings == tensors ? ss_result_of_all(run->all.results + j, tensors) : run->all.results[j];
  return n;
}

/* Hands out every block that is complete, up to the first that is not. */
static bool hand_out(struct run *run, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  for (; run->next < run->block_count && run->blocks[run->next].missing == 0; run->next++) {
    struct ss_results *out = run->blocks[run->next].out;
    struct ss_result *from = out->result + out->count;
    const size_t n = arrange(run, &run->blocks[run->next], from);
    out->count += n;
    for (size_t i = 0, k; i < n; i += k) {
      k = ss_results_in_cell(from + i, n - i);
      if (!ss_results_decide(from + i, k, error)) return false;
    }
    if (l && l->ready && !l->ready(l, from, n, error)) return false;
  }
  return true;
}

/* The blocks of a study, whose first point is number `first`, and room for its results. */
static bool add_blocks(struct run *run, size_t study, size_t first, struct ss_error *error) {
  const struct ss_point *const *points = run->all.points;
  struct block *b = NULL;
  size_t count, stars = 0;
  (void)ss_study_points(run->study[study], &count);
  for (size_t i = first; i < first + count; i++) {
    if (!b || points[i]->cluster_name != points[b->first]->cluster_name ||
        points[i]->ranks != points[b->first]->ranks) {
      b = &run->blocks[run->block_count++];
      *b = (struct block){.out = &run->out[study], .first = i};
    }
    b->end = i + 1;
    run->block_of[i] = run->block_count - 1;
    stars += points[i]->siblings > 1;
  }
  run->out[study].result = ss_alloc_zero(count + stars / 2, sizeof *run->out[study].result);
  return run->out[study].result || ss_fail_memory(error, "listing results");
}

static bool open_blocks(struct run *run, struct ss_error *error) {
  for (size_t k = 0; k < run->studies; k++)
    if (!add_blocks(run, k, run->block_count ? run->blocks[run->block_count - 1].end : 0, error)) return false;
  return true;
}

/* For those who must know all names first. */
static bool announce(const struct run *run, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  return !l || !l->begin || l->begin(l, &(struct ss_results){run->all.results, run->all.count}, error);
}

/* --- work that hardly ends ------------------------------------------------------------------------------ */

/* What one core plays in a second, roughly; and what is worth a word before it begins. */
static const double messages_a_second = 3e6, many_seconds = 60;

static bool is_uniform(const struct ss_point *point) {
  return !point->origin.trace && !point->origin.gradient;
}

static double one(const void *context, double k) {
  (void)context, (void)k;
  return 1;
}

/* By its closed form with sizes known, whose start-ups are one rank's messages; 0 where it has none. Even rounds of
 * rings are played as one message each where ranks share nothing; on nodes of several a message takes a `share` of
 * what others do. */
static double messages_of(const struct ss_point *point, const struct ss_costs *costs, double *share) {
  struct ss_setting plain = point->setting;
  plain.exchange_sizes = false;
  plain.ragged = SS_RAGGED_V;
  const struct ss_cost *cost = ss_costs_find(costs, &plain, point->ranks, point->servers);
  struct ss_symbols symbols = {
      .P = point->ranks, .S = point->servers, .alpha = 1, .gamma = one, .blocks = one, .R = 1, .w = 1};
  double startups;
  ss_setting_symbols(&point->setting, &symbols);
  if (!cost || !cost->exact || !ss_formula_evaluate(cost->exact, &symbols, &startups, NULL)) return 0;
  const bool even = is_uniform(point) && cost->pattern == SS_PATTERN_RING;
  const bool shared = point->cluster.gpus_per_node > 1;
  *share = even && shared ? 0.04 : 1;
  return startups * (even && !shared ? 1 : point->ranks) * (double)(point->end - point->first);
}

/* Says how long it may take, of the longest. */
static void tell_work(const struct run *run, const struct ss_notice *notice) {
  double all = 0, most = 0, seconds = 0;
  const struct ss_point *longest = NULL;
  for (size_t g = 0; g < run->groups.count; g++) {
    const struct ss_point *point = run->all.points[run->groups.group[g].point[0]];
    double share = 1;
    const double messages = messages_of(point, run->all.costs, &share);
    all += messages;
    seconds += messages * share / messages_a_second;
    if (messages > most) most = messages, longest = point;
  }
  if (!longest || seconds < many_seconds) return;
  char text[300];
  snprintf(text, sizeof text,
           "about %.2g messages are to be played, most of them of %s on %u ranks: some %s on a core%s", all,
           longest->setting.label, longest->ranks, ss_shown(SS_TIME, seconds),
           !is_uniform(longest) ? "" : " (sparsync cost tells the closed forms of a uniform tensor at once)");
  ss_notice_tell(notice, text);
}

/* Says of each cell whose ranks are all in one node that no network is used. */
static void tell_one_node(const struct run *run) {
  uint32_t most = 0;
  for (size_t i = 0; i < run->all.count; i++) {
    const struct ss_point *point = run->all.points[i];
    most = point->ranks > most ? point->ranks : most;
    if (i + 1 < run->all.count && run->all.points[i + 1]->at == point->at) continue;
    ss_cluster_tell_one_node(&point->cluster, most, run->notice);
    most = 0;
  }
}

/* Says of each cell which calls are larger than any of their collective that its links were fitted on. */
static void tell_beyond(const struct run *run) {
  struct ss_largest_calls largest = {{0}};
  for (size_t i = 0; i < run->all.count; i++) {
    const struct ss_point *point = run->all.points[i];
    const struct ss_result *r = &run->all.results[i];
    if (!ss_spread_certain(&point->uncertainty.model))
      ss_largest_calls_add(&largest, &point->cluster, ss_scheme_collective(r->setting.scheme),
                           ss_scheme_call_bytes(&r->setting, r->ranks, r->bytes));
    if (i + 1 < run->all.count && run->all.points[i + 1]->at == point->at) continue;
    ss_cluster_tell_calls(&point->cluster, &largest, run->notice);
    largest = (struct ss_largest_calls){{0}};
  }
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* What is known of earlier is not computed again, unless its closed form has changed since. */
static bool recall(const struct run *run, size_t i, bool *known, struct ss_error *error) {
  struct ss_results_listener *l = run->listener;
  const struct ss_point *point = run->all.points[i];
  struct ss_result *p = &run->all.results[i];
  *known = false;
  if (!l || !l->recall) return true;
  ss_result_add_texts(p, point, run->all.costs);
  if (!l->recall(l, p, known, error)) return false;
  if (!*known) ss_result_begin(p, point);
  return true;
}

static double work_of(const struct ss_point *point) {
  return (double)point->ranks * (double)(point->end - point->first);
}

static bool allocate(struct run *run, struct ss_error *error) {
  run->all.results = ss_alloc_zero(run->all.count, sizeof *run->all.results);
  run->wanted = ss_alloc_zero(run->all.count, sizeof *run->wanted);
  run->blocks = ss_alloc_zero(run->all.count, sizeof *run->blocks);
  run->block_of = ss_alloc_zero(run->all.count, sizeof *run->block_of);
  if (!run->all.results || !run->wanted || !run->blocks || !run->block_of)
    return ss_fail_memory(error, "listing results");
  for (size_t i = 0; i < run->all.count; i++) ss_result_begin(&run->all.results[i], run->all.points[i]);
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

/* What cannot be held is known before anything of it is made, and before hours of what can. */
static bool fits(const struct run *run, struct ss_error *error) {
  for (size_t g = 0; g < run->groups.count; g++) {
    const struct ss_point *point = run->all.points[run->groups.group[g].point[0]];
    char at[192];
    ss_at_words(point->at, true, at, sizeof at);
    if (!ss_point_fits(point, point->verify, error)) return *at ? ss_fail_prefix(error, "%s", at + 1) : false;
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
  if (!ss_communicator_agree(comm, ss_points_group(run->all.points, run->all.count, run->wanted, &run->groups, error),
                             error) ||
      !ss_communicator_agree(comm, fits(run, error), error))
    return false;
  if (first) tell_work(run, run->notice);
  for (size_t g = 0; g < run->groups.count; g++) run->work += work_of(run->all.points[run->groups.group[g].point[0]]);
  if (first) ss_watcher_begin(run->all.options->watcher, "points", run->all.count - known);
  return ss_communicator_follow(comm, hand_out(run, error), error); /* others have no blocks */
}

/* --- groups as items of work --------------------------------------------------------------------------- */

static void *open_worker(void *context, unsigned threads) {
  const struct run *run = context;
  struct ss_worker *worker = ss_alloc_zero(1, sizeof *worker);
  if (worker) worker->inputs.budget = SS_INPUTS_ROOM / threads;
  if (worker) worker->threads = ss_work_threads(run->all.options->jobs) / threads;
  return worker;
}

static void close_worker(void *worker) {
  ss_worker_free(worker);
  free(worker);
}

static bool compute(void *context, void *worker, size_t item, struct ss_error *error) {
  const struct run *run = context;
  return ss_group_compute(&run->all, &run->groups.group[item], worker, error);
}

static bool finished(void *context, size_t item, struct ss_error *error) {
  struct run *run = context;
  struct ss_results_listener *l = run->listener;
  const struct ss_point_group *group = &run->groups.group[item];
  ss_watcher_advance(run->all.options->watcher, group->count, work_of(run->all.points[group->point[0]]), run->work);
  for (uint32_t i = 0; i < group->count; i++) {
    run->blocks[run->block_of[group->point[i]]].missing--;
    if (l && l->computed && !l->computed(l, &run->all.results[group->point[i]], error)) return false;
  }
  return hand_out(run, error);
}

/* Points travel as they are written to the store. */
static cJSON *write_points(void *context, size_t item) {
  const struct run *run = context;
  const struct ss_point_group *group = &run->groups.group[item];
  cJSON *list = cJSON_CreateArray();
  bool good = list;
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_result *p = &run->all.results[group->point[i]];
    good = good && cJSON_AddItemToArray(list, ss_result_json(p));
    ss_result_free_arrays(p);
  }
  if (good) return list;
  cJSON_Delete(list);
  return NULL;
}

static bool read_points(void *context, size_t item, struct ss_node list, struct ss_error *error) {
  const struct run *run = context;
  const struct ss_point_group *group = &run->groups.group[item];
  struct ss_node n = ss_node_first(list);
  if (!ss_node_is_array(list) || ss_node_size(list) != group->count)
    return ss_node_fail(list, error, "expected a list of %u points", group->count);
  for (uint32_t i = 0; i < group->count; i++, n = ss_node_next(n)) {
    const struct ss_point *point = run->all.points[group->point[i]];
    struct ss_result *p = &run->all.results[group->point[i]];
    ss_result_begin(p, point);
    ss_result_add_texts(p, point, run->all.costs);
    if (!ss_result_read(n, p, error)) return false;
  }
  return true;
}

/* So many are named; the others are counted. */
enum { NAMED = 4, NAME_SIZE = 128 };

static void name_point(const struct ss_point *point, char *text) {
  char at[NAME_SIZE];
  snprintf(text, NAME_SIZE, "%s on %u ranks%s", point->setting.label, point->ranks,
           ss_at_words(point->at, true, at, sizeof at));
}

static void missing(void *context, const bool *done, struct ss_error *error) {
  const struct run *run = context;
  char names[NAMED * (NAME_SIZE + 2)] = "", name[NAME_SIZE];
  size_t count = 0;
  for (size_t g = 0; g < run->groups.count; g++)
    for (uint32_t i = 0; !done[g] && i < run->groups.group[g].count; i++) {
      name_point(run->all.points[run->groups.group[g].point[i]], name);
      if (count < NAMED)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", count ? ", " : "", name);
      count++;
    }
  (void)ss_fail(error, error->status, "%s; %zu of %zu points are missing: %s%s", error->text, count, run->all.count,
                names, count > NAMED ? ", ..." : "");
  if (run->listener && run->listener->stopped) run->listener->stopped(run->listener, error);
}

static bool agree(const struct run *run, struct ss_error *error) {
  const struct ss_run_options *options = run->all.options;
  if (!options->comm) return true;
  const struct ss_identity all = ss_points_identity(run->all.points, run->all.count);
  const uint64_t numbers[] = {all.high, all.low, options->per_rank, options->per_iteration};
  return ss_processes_same(options->comm, numbers, sizeof numbers / sizeof *numbers, error);
}

static bool compute_all(struct run *run, struct ss_error *error) {
  const struct ss_run_options *options = run->all.options;
  if (!agree(run, error) || !open_run(run, error)) return false;
  const struct ss_work work = {.context = run,
                               .count = run->groups.count,
                               .jobs = options->jobs,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .compute = compute,
                               .finished = finished,
                               .write = write_points,
                               .read = read_points,
                               .missing = missing,
                               .what = "groups of points"};
  const bool ok = ss_work_share(options->comm, &work, options->patience, error);
  if (ss_processes_first(options->comm)) ss_watcher_end(options->watcher);
  if (ok && ss_processes_first(options->comm)) tell_one_node(run), tell_beyond(run);
  return ok;
}

static bool list_points(struct run *run, struct ss_error *error) {
  size_t count;
  for (size_t k = 0; k < run->studies; k++) {
    (void)ss_study_points(run->study[k], &count);
    run->all.count += count;
  }
  const struct ss_point **points = ss_alloc(run->all.count, sizeof *points);
  run->all.points = points;
  for (size_t k = 0, n = 0; points && k < run->studies; k++) {
    const struct ss_point *own = ss_study_points(run->study[k], &count);
    for (size_t i = 0; i < count; i++) points[n++] = &own[i];
  }
  return points || ss_fail_memory(error, "listing points");
}

static bool run_all(struct run *run, struct ss_error *error) {
  run->all.costs = ss_study_costs(run->study[0]);
  for (size_t k = 0; k < run->studies; k++) run->out[k] = (struct ss_results){0};
  const bool ok = list_points(run, error) && compute_all(run, error);
  const bool kept = ok && ss_processes_first(run->all.options->comm);
  for (size_t i = 0; !kept && run->all.results && i < run->all.count; i++)
    ss_result_free_arrays(&run->all.results[i]);
  for (size_t k = 0; !ok && k < run->studies; k++) {
    free(run->out[k].result);
    run->out[k] = (struct ss_results){0};
  }
  ss_points_ungroup(&run->groups);
  free((void *)run->all.points);
  free(run->all.results);
  free(run->wanted);
  free(run->blocks);
  free(run->block_of);
  return ok;
}

bool ss_studies_run(const struct ss_study *const *studies, size_t count, const struct ss_run_options *options,
                    struct ss_results *out, struct ss_error *error) {
  struct run run = {.study = studies,
                    .studies = count,
                    .out = out,
                    .all.options = options,
                    .listener = studies[0]->request.listener,
                    .notice = studies[0]->request.notice};
  return run_all(&run, error);
}

bool ss_study_run(const struct ss_study *study, const struct ss_run_options *options, struct ss_results *out,
                  struct ss_error *error) {
  return ss_studies_run(&study, 1, options, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
