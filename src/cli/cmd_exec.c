/* Schemes run for real, by the processes of mpirun. */
#include "cli/command.h"

#ifdef SS_HAVE_MPI

#include "base/estimate.h"
#include "exec/gpu_buffers.h"
#include "exec/launch.h"
#include "report/exec_table.h"
#include "schemes/simulate.h"
#include "share/share.h"
#include "study/compute.h"
#include "study/ranges.h"

#include <gsl/gsl_sort_double.h>
#include <unistd.h>

#endif

struct arguments {
  struct ss_call call;
  uint32_t repeats;
  bool gpu_buffers;
};

#ifdef SS_HAVE_MPI

enum { DEFAULT_ITERATIONS = 5 };

struct session {
  struct ss_communicator *comm;
  struct ss_call *call;
  struct ss_study *scenario;
  struct ss_exec_point *points; /* [count] */
  size_t count;
  struct ss_arena lasting, iteration;
  struct ss_coalesce_scratch scratch;
  struct ss_exec_memory memory; /* of the point being executed, as this: */
  struct ss_selector selector;
  struct ss_gpu_buffers gpu; /* where messages lie under --gpu-buffers */
  uint32_t repeats;
  bool gpu_buffers;
};

/* --- what to do ----------------------------------------------------------------------------------------- */

/* Every process makes what all ranks have, and proves what comes of it. What --memory says is for each of them, what
 * the machine has for all that are here. */
static bool fits(const struct session *s, const struct ss_point *point, struct ss_error *error) {
  const uint32_t sharing = s->call->memory > 0 ? 1 : ss_launch_read().here;
  return ss_estimate_fits(ss_estimate_mul(ss_point_least_bytes(point, true), sharing),
                          "fewer processes, rows or non-zeros take less", error,
                          "%s on %" PRIu32 " ranks, of which %" PRIu32 " share this memory,", point->setting.label,
                          point->ranks, sharing);
}

static bool make_point(struct session *s, const struct ss_point *point, struct ss_exec_point *p,
                       struct ss_error *error) {
  if (ss_setting_says(&point->setting, "algorithm", "switch"))
    return ss_fail(error, SS_BAD_INPUT, "%s cannot be executed: MPI has no switch that adds", point->setting.label);
  const struct ss_request *request = &s->call->request;
  struct ss_input shape;
  uint32_t n = point->ranks + point->servers;
  if (point->ranks != s->comm->size)
    return ss_fail(error, SS_BAD_INPUT, "mpirun says how many ranks there are, %" PRIu32 ": leave \"ranks\" out",
                   s->comm->size);
  if (!ss_iteration_shape(&point->setting, &point->selection, &point->origin, &shape, error)) return false;
  if (!ss_execute_check(&point->setting, &shape, error) || !fits(s, point, error)) return false;
  *p = (struct ss_exec_point){.point = point,
                              .count = point->end - point->first,
                              .endpoints = n,
                              .exact = true,
                              .equal = true,
                              .kernels_equal = true};
  if (!request->file && !cJSON_HasObjectItem(request->edits, "iterations") && p->count > DEFAULT_ITERATIONS)
    p->count = DEFAULT_ITERATIONS;
  return (ss_take(&s->lasting, p->measured, p->count) && ss_take(&s->lasting, p->announced, p->count) &&
          ss_take_zero(&s->lasting, p->executed, n) && ss_take_zero(&s->lasting, p->simulated, n)) ||
         ss_fail_memory(error, "planning runs");
}

static bool open_session(struct session *s, struct ss_error *error) {
  char ranks[16];
  if (ss_json_get(s->call->edits, "ranks"))
    return ss_fail(error, SS_BAD_INPUT,
                   "--set ranks: mpirun says how many there are (mpirun -n 4 sparsync exec ...)");
  (void)snprintf(ranks, sizeof ranks, "%" PRIu32, s->comm->size);
  if (!ss_call_edit(s->call, "ranks", cJSON_CreateString(ranks), error) ||
      !ss_study_open(&s->call->request, &s->scenario, error))
    return false;
  const struct ss_point *points = ss_study_points(s->scenario, &s->count);
  if (!ss_take(&s->lasting, s->points, s->count)) return ss_fail_memory(error, "planning runs");
  ss_points_tell_even(points, s->count, s->call->request.notice);
  for (size_t i = 0; i < s->count; i++)
    if (!make_point(s, &points[i], &s->points[i], error)) return false;
  return true;
}

/* All ranks are to play the same points, of the same trace. What differs is said by the first rank that has another.
 */
static bool same_points(struct session *s, struct ss_error *error) {
  uint64_t *number = ss_arena_alloc(&s->lasting, s->count, sizeof *number), at;
  if (!ss_communicator_agree(s->comm, number || ss_fail_memory(error, "comparing ranks"), error)) return false;
  for (size_t i = 0; number && i < s->count; i++) {
    const struct ss_identity identity = s->points[i].point->is.point;
    number[i] = (identity.high ^ identity.low) + s->repeats;
  }
  bool same = ss_communicator_same(s->comm, number, s->count, &at);
  if (!same)
    (void)ss_fail(error, SS_BAD_INPUT,
                  "this rank was given another scenario, other options or another trace than rank 0 (point %" PRIu64
                  ", here %s): start all ranks with the same",
                  at + 1, at < s->count ? s->points[at].point->setting.label : "none");
  return ss_communicator_agree(s->comm, same, error);
}

static void close_session(struct session *s) {
  if (s->scenario) ss_study_close(s->scenario);
  ss_coalesce_free(&s->scratch);
  ss_exec_memory_free(&s->memory);
  ss_selector_free(&s->selector);
  ss_gpu_buffers_close(&s->gpu);
  ss_arena_free(&s->lasting);
  ss_arena_free(&s->iteration);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* Adds one iteration's bytes; `most` grows by the largest of the ranks'. */
static void add_traffic(const struct ss_traffic *traffic, uint32_t ranks, uint32_t endpoints, struct ss_traffic *sum,
                        struct ss_traffic *most) {
  struct ss_traffic largest = {0};
  for (uint32_t e = 0; e < endpoints; e++) {
    sum[e].sent += traffic[e].sent;
    sum[e].received += traffic[e].received;
    if (e < ranks && traffic[e].sent > largest.sent) largest.sent = traffic[e].sent;
    if (e < ranks && traffic[e].received > largest.received) largest.received = traffic[e].received;
  }
  most->sent += largest.sent;
  most->received += largest.received;
}

/* Every process makes what all ranks have, and what they select of it. */
static bool make_input(struct session *s, const struct ss_point *point, uint64_t iteration, struct ss_input *out,
                       struct ss_error *error) {
  struct ss_input_options options =
      ss_iteration_options(&point->setting, &point->selection, point->ranks, true, false);
  options.iteration = iteration;
  ss_arena_reset(&s->iteration);
  return ss_input_make(&point->origin, &options, &s->iteration, &s->scratch, out, error) &&
         ss_iteration_select(&point->setting, &s->selector, out, &s->iteration, error);
}

static bool play_iteration(struct session *s, struct ss_exec_point *p, uint64_t i, struct ss_error *error) {
  const struct ss_point *point = p->point;
  struct ss_input input;
  struct ss_executed x;
  const struct ss_execution what = {&point->setting,     &point->cluster, &point->device,
                                    &point->uncertainty, &input,          s->gpu_buffers ? &s->gpu : NULL,
                                    s->repeats};
  const bool ok = make_input(s, point, point->first + i, &input, error);
  if (!ss_communicator_agree(s->comm, ok, error)) return false;
  if (!ss_execute(s->comm, &what, &s->memory, &s->iteration, &x, error)) return false;
  p->measured[i] = x.measured;
  p->announced[i] = x.announced;
  p->deviation = ss_mean_square_add(p->deviation, p->predicted * (double)p->count, i, x.predicted);
  p->predicted += x.predicted / (double)p->count;
  for (int k = 0; k < SS_COMPONENTS; k++) p->components.s[k] += x.components.s[k] / (double)p->count;
  p->network += x.network / (double)p->count;
  p->headers += x.headers;
  p->copies += x.copies;
  add_traffic(x.executed, point->ranks, p->endpoints, p->executed, &p->executed_max);
  add_traffic(x.simulated, point->ranks, p->endpoints, p->simulated, &p->simulated_max);
  p->equal = p->equal && x.equal;
  if (p->exact && p->kernels_equal && !x.kernels_equal) memcpy(p->mismatch, x.mismatch, sizeof p->mismatch);
  p->kernels_equal = p->kernels_equal && x.kernels_equal;
  for (int k = 0; k < SS_KERNELS; k++) {
    p->kernels[k].calls += x.kernels[k].calls;
    p->kernels[k].elements += x.kernels[k].elements;
    p->kernels[k].on_gpu += x.kernels[k].on_gpu;
    p->kernels[k].measured += x.kernels[k].measured;
    p->kernels[k].predicted += x.kernels[k].predicted;
  }
  if (p->exact && !x.exact) memcpy(p->mismatch, x.mismatch, sizeof p->mismatch);
  p->exact = p->exact && x.exact;
  return true;
}

static bool play_point(struct session *s, struct ss_exec_point *p, double whole, struct ss_error *error) {
  const struct ss_watcher *watcher = s->comm->rank == 0 ? s->call->request.run.watcher : NULL;
  s->selector = (struct ss_selector){.selection = p->point->selection};
  for (uint64_t i = 0; i < p->count; i++) {
    if (!play_iteration(s, p, i, error)) return false;
    ss_watcher_advance(watcher, 1, 1, whole);
  }
  ss_exec_memory_free(&s->memory);
  ss_selector_free(&s->selector);
  gsl_sort(p->measured, 1, p->count);
  gsl_sort(p->announced, 1, p->count);
  p->deviation = p->count > 1 ? sqrt(p->deviation / (double)(p->count - 1)) : 0;
  return true;
}

static bool play_points(struct session *s, struct ss_error *error) {
  const struct ss_watcher *watcher = s->comm->rank == 0 ? s->call->request.run.watcher : NULL;
  size_t whole = 0;
  bool ok = true;
  for (size_t at = 0; at < s->count; at++) whole += s->points[at].count;
  ss_watcher_begin(watcher, "iterations", whole);
  for (size_t at = 0; ok && at < s->count; at++) ok = play_point(s, &s->points[at], (double)whole, error);
  ss_watcher_end(watcher);
  return ok;
}

static bool write_answer(const struct session *s, struct ss_error *error) {
  const struct ss_exec_answer answer = {.points = s->points,
                                        .count = s->count,
                                        .scenario = ss_study_name(s->scenario),
                                        .ranks = s->comm->size,
                                        .repeats = s->repeats,
                                        .gpu_buffers = s->gpu_buffers};
  return ss_call_write(s->call, &answer, ss_exec_table, ss_exec_json, ss_exec_csv, error);
}

static bool verdict(const struct session *s, struct ss_error *error) {
  for (size_t i = 0; i < s->count; i++) {
    const struct ss_exec_point *p = &s->points[i];
    if (!p->exact) return ss_fail(error, SS_UNPROVEN, "%s is not exact: %s", p->point->setting.label, p->mismatch);
    if (!p->equal)
      return ss_fail(error, SS_UNPROVEN, "%s sent other bytes than its simulation", p->point->setting.label);
    if (!p->kernels_equal)
      return ss_fail(error, SS_UNPROVEN, "%s ran other kernels than its simulation: %s", p->point->setting.label,
                     p->mismatch);
  }
  return true;
}

static bool run_session(struct session *s, struct ss_error *error) {
  if (!ss_communicator_agree(s->comm, open_session(s, error), error) || !same_points(s, error) ||
      (s->gpu_buffers && !ss_gpu_buffers_open(s->comm, &s->gpu, error)) || !play_points(s, error))
    return false;
  const bool printed = s->comm->rank != 0 || write_answer(s, error);
  return ss_communicator_agree(s->comm, printed, error) && verdict(s, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct session s = {
      .comm = call->request.run.comm, .call = call, .repeats = a->repeats, .gpu_buffers = a->gpu_buffers};
  SS_AUTO_JSON cJSON *usual = cJSON_Parse("{\"cluster\": \"p3.16xlarge-25g\"}");
  if (!call->request.file) call->request.document = usual;
  if (s.comm->size == 1)
    ss_notice_tell(call->request.notice, geteuid() == 0
                                             ? "one process has nobody to send to (mpirun -n 4 sparsync exec ...; to "
                                               "root Open MPI's says no without --allow-run-as-root)"
                                             : "one process has nobody to send to (mpirun -n 4 sparsync exec ...)");
  const bool good = run_session(&s, error);
  close_session(&s);
  return good;
}

enum { COMPANY = SS_ALWAYS_OVER_MPI };

#else

enum { COMPANY = SS_ALONE, SS_EXEC_REPEATS_MAX = 1 };

static bool run(struct ss_call *call, struct ss_error *error) {
  (void)call;
  return ss_fail(
      error, SS_MACHINE,
      "this sparsync was built without MPI; install it (Debian: libopenmpi-dev openmpi-bin) and build again");
}

#endif

static const struct ss_option_spec options[] = {
    SS_OPTION_TENSOR,
    SS_OPTIONS_SCENARIO(SS_ITERATIONS_OF_TRACE " (the scenario's, or else the first 5)",
                        " (the scenario's, or else p3.16xlarge-25g), whose times are predicted; its number of nodes "
                        "is also the default number of servers of `ps`"),
    SS_OPTION_SCHEME,
    {"--repeats", SS_COUNT32(struct arguments, repeats, 1, SS_EXEC_REPEATS_MAX), .value = "N",
     .help = "timed runs of each iteration, whose median counts (1)"},
    {"--gpu-buffers", SS_FLAG(struct arguments, gpu_buffers),
     .help = "messages in memory of GPUs, for an MPI built with CUDA, and sums by their kernels; ranks of a machine "
             "take its GPUs in turn"},
    SS_OPTION_CERTAIN,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_MEMORY,
    {"--ranks", SS_REFUSED, .help = "mpirun says how many ranks there are (mpirun -n 4 sparsync exec ...)"},
    {"--jobs", SS_REFUSED, .help = "each rank is a process of mpirun (mpirun -n 4 sparsync exec ...)"},
    {"--no-verify", SS_REFUSED, .help = "exec is there to compare results"},
    {"--per-rank", SS_REFUSED, .help = "--format json has the bytes of each rank and server"},
    {.name = NULL}};

const struct ss_command ss_command_exec = {
    .name = "exec",
    .summary = "run schemes for real, over MPI",
    .usage = "usage: mpirun -n RANKS sparsync exec [SCENARIO] [--trace FILE] [--scheme NAME,...] [OPTION...]\n\n"
             "Runs schemes for real, one rank a process: the same source that `run` simulates sends single-precision "
             "values over MPI. What every rank ends with is compared, bit by bit, with MPI_Allreduce of the dense "
             "tensor, and the bytes that each rank and server sent and received with those of the simulation. Where "
             "a scheme keeps part of the gradients for later, what was applied and what is kept must be, bit by bit, "
             "what ranks had. SCENARIO is as for `run`, its ranks replaced by those of mpirun; a trace is used for "
             "its first RANKS ranks.\n\n"
             "The measured time is that of processes on this machine, or wherever mpirun puts them: it says nothing "
             "of the cluster. Servers live in the ranks' processes. Exit status 1 when a result is not exact or "
             "bytes differ. To root, as in a container, Open MPI's mpirun says no without \"--allow-run-as-root\".\n",
    .examples =
        "  mpirun -n 4 sparsync exec --trace traces/bible-kjv-16.safetensors --scheme "
        "allreduce,allgather,ps,alltoall\n"
        "  mpirun -n 2 sparsync exec --trace t.safetensors --set 'schemes=[{\"name\": \"ps\", \"servers\": 2}]'\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.repeats = 1},
    .company = (enum ss_company)COMPANY,
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
