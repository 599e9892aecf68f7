#include "report/exec_table.h"

#include "report/columns.h"
#include "report/results_table.h"
#include "study/ranges.h"

#include <gsl/gsl_statistics_double.h>

/* What was where, and what was left out of times. */
static void explain_gpus(const struct ss_exec_answer *a, FILE *stream) {
  uint64_t sums = 0, on_gpu = 0;
  double copies = 0;
  for (size_t i = 0; i < a->count; i++) {
    const struct ss_exec_point *p = &a->points[i];
    sums += p->kernels[SS_KERNEL_MERGE_SUM].calls + p->kernels[SS_KERNEL_DENSE_ADD].calls;
    for (int k = 0; k < SS_KERNELS; k++) on_gpu += p->kernels[k].on_gpu;
    copies = fmax(copies, p->copies / (double)p->count);
  }
  (void)fprintf(stream,
                "messages lay in memory of GPUs, which made %" PRIu64 " of %" PRIu64 " sums; all else ran on CPUs. "
                "Copies between\nhost and GPU, up to %s an iteration, are left out, but not what others waited for "
                "them\n",
                on_gpu, sums, ss_shown(SS_TIME, copies));
}

/* The answer first, then what the numbers mean. */
static void explain(const struct ss_exec_answer *a, FILE *stream) {
  const struct ss_exec_point *p = &a->points[0];
  size_t exact = 0, equal = 0;
  for (size_t i = 0; i < a->count; i++) {
    exact += a->points[i].exact;
    equal += a->points[i].equal;
  }
  (void)fprintf(stream,
                "%zu of %zu exact on every rank; in %zu of %zu every endpoint moved the bytes of the simulation\n",
                exact, a->count, equal, a->count);
  (void)fprintf(stream, "%" PRIu32 " rank%s, one a process, over MPI; iterations %" PRIu64 ":%" PRIu64 " of %s\n",
                a->ranks, a->ranks == 1 ? "" : "s", p->point->first, p->point->first + p->count,
                p->point->trace_name);
  (void)fprintf(stream,
                "measured: median over iterations, each timed %" PRIu32
                " time%s after a run that warms up and tells all ranks the sizes;\n"
                "with the processes where mpirun put them (usually all on one machine)\n"
                "predicted: mean, as if on the cluster; kernels %s%s\n"
                "sent: by the rank that sends most in an iteration, mean\n",
                a->repeats, a->repeats == 1 ? "" : "s", p->point->device.counted ? "as on " : "not counted",
                p->point->device.counted ? p->point->device_name : "");
  if (!ss_spread_certain(&p->point->uncertainty.model))
    (void)fprintf(stream, "(90%%): where the prediction lies in 90 of 100 draws of what is not certain; within: and "
                          "so does what was measured\n");
  if (a->gpu_buffers) explain_gpus(a, stream);
  if (a->ranks == 1) (void)fprintf(stream, "one rank sends nothing: start more, mpirun -n 4 sparsync exec ...\n");
  (void)fprintf(stream, "\n");
}

/* Bytes of one endpoint, over all iterations. */
static cJSON *endpoint_json(const struct ss_exec_point *p, uint32_t e) {
  const uint32_t ranks = p->point->ranks;
  return ss_json_object(SS_N(e < ranks ? "rank" : "server", e < ranks ? e : e - ranks),
                        SS_N("bytes_sent", (double)p->executed[e].sent),
                        SS_N("bytes_received", (double)p->executed[e].received),
                        SS_N("simulated_bytes_sent", (double)p->simulated[e].sent),
                        SS_N("simulated_bytes_received", (double)p->simulated[e].received));
}

static void add_measures(cJSON *item, const struct ss_exec_point *p, bool gpu_buffers) {
  const double n = (double)p->count;
  ss_json_add(
      item, SS_N("iterations", n), SS_N("measured_s", gsl_stats_median_from_sorted_data(p->measured, 1, p->count)),
      SS_N("announced_s", gsl_stats_median_from_sorted_data(p->announced, 1, p->count)),
      SS_N("measured_min_s", p->measured[0]), SS_N("measured_max_s", p->measured[p->count - 1]),
      SS_N("time_s", p->predicted), SS_N("network_s", p->network),
      SS_N("bytes_sent_max", (double)p->executed_max.sent / n),
      SS_N("bytes_received_max", (double)p->executed_max.received / n),
      SS_N("simulated_bytes_sent_max", (double)p->simulated_max.sent / n),
      SS_N("simulated_bytes_received_max", (double)p->simulated_max.received / n),
      SS_N("header_bytes", (double)p->headers / n), SS_B("equal", p->equal), SS_B("kernels_equal", p->kernels_equal),
      SS_B("exact", p->exact), SS_T("mismatch", p->exact && p->kernels_equal ? NULL : p->mismatch));
  if (gpu_buffers) ss_json_add(item, SS_N("copies_s", p->copies / n));
}

/* Where the prediction lies, and whether what was measured does, too. */
static void add_range(cJSON *item, const struct ss_exec_point *p) {
  const struct ss_uncertain u = {.time = p->predicted,
                                 .components = &p->components,
                                 .uncertainty = &p->point->uncertainty,
                                 .label = p->point->setting.label,
                                 .own = ss_mean_spread(p->predicted, p->deviation, p->count)};
  double draws[SS_RANGE_DRAWS];
  if (ss_spread_certain(&u.uncertainty->model)) return;
  ss_draws_of(&u, draws);
  const struct ss_likely range = ss_likely_of(draws);
  const double measured = ss_json_number(item, "measured_s");
  ss_json_add(item, SS_N("time_low_s", range.low), SS_N("time_high_s", range.high),
              SS_B("within_range", range.low <= measured && measured <= range.high));
}

/* The kernels that ran, means over iterations. */
static void add_kernels(cJSON *item, const struct ss_exec_point *p, bool gpu_buffers) {
  const double n = (double)p->count;
  cJSON *kernels = cJSON_AddObjectToObject(item, "kernels");
  for (int k = 0; k < SS_KERNELS; k++) {
    if (p->kernels[k].elements == 0) continue;
    cJSON *kernel = cJSON_AddObjectToObject(kernels, ss_kernel_name((enum ss_kernel_kind)k));
    ss_json_add(kernel, SS_N("calls", (double)p->kernels[k].calls / n),
                SS_N("elements", (double)p->kernels[k].elements / n), SS_N("measured_s", p->kernels[k].measured / n),
                SS_N("predicted_s", p->kernels[k].predicted / n));
    if (gpu_buffers) ss_json_add(kernel, SS_N("on_gpu", (double)p->kernels[k].on_gpu / n));
  }
}

static cJSON *point_json(const struct ss_exec_point *p, const struct ss_exec_answer *a) {
  const struct ss_point *point = p->point;
  cJSON *item = ss_json_object(SS_J("at", point->at ? cJSON_Duplicate(point->at, true) : cJSON_CreateObject()),
                               SS_T("scheme", point->setting.scheme->name), SS_T("label", point->setting.label),
                               SS_N("ranks", point->ranks), SS_T("tensor", point->tensor_name),
                               SS_T("cluster", point->cluster_name), SS_T("device", point->device_name),
                               SS_T("trace", point->trace_name), SS_N("repeats", a->repeats));
  add_measures(item, p, a->gpu_buffers);
  add_range(item, p);
  add_kernels(item, p, a->gpu_buffers);
  cJSON *endpoints = cJSON_AddArrayToObject(item, "endpoints");
  for (uint32_t e = 0; e < p->endpoints; e++) cJSON_AddItemToArray(endpoints, endpoint_json(p, e));
  return item;
}

/* NULL: memory is short. */
static cJSON *answer_json(const struct ss_exec_answer *a) {
  cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", a->scenario));
  cJSON *list = cJSON_AddArrayToObject(root, "points");
  for (size_t i = 0; i < a->count; i++) cJSON_AddItemToArray(list, point_json(&a->points[i], a));
  return root;
}

bool ss_exec_json(const void *answer, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(answer_json(answer), stream, error);
}

bool ss_exec_csv(const void *answer, FILE *stream, struct ss_error *error) {
  SS_AUTO_JSON cJSON *root = answer_json(answer);
  return ss_flat_csv_free(cJSON_DetachItemFromObjectCaseSensitive(root, "points"), stream, error);
}

/* --- the table ------------------------------------------------------------------------------------------ */

static bool print_points(const cJSON *points, FILE *stream, struct ss_error *error) {
  const struct ss_column columns[] = {{"<scheme", "label", NULL},
                                      {"?<tensor", "several", NULL},
                                      {"<cluster", "cluster", NULL},
                                      {"measured here", "measured_s", "s"},
                                      {SS_RANGED(points, "predicted", "time_low_s"), "time", NULL},
                                      {"?within", "within_range", NULL},
                                      {"sent, B", "bytes_sent_max", "%.0f"},
                                      {"simulated, B", "simulated_bytes_sent_max", "%.0f"},
                                      {"bytes equal", "equal", NULL},
                                      {"exact", "exact", NULL}};
  return ss_table_print_free(ss_records_table(columns, points), false, stream, error);
}

/* Of points whose prediction counts kernels. */
static bool print_kernels(const cJSON *points, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<scheme", "label", NULL},           {"<kernel", "key", NULL},
                                             {"calls", "calls", "%.0f"},           {"elements", "elements", "%.0f"},
                                             {"measured here", "measured_s", "s"}, {"predicted", "predicted_s", "s"}};
  (void)fputs(
      "\nkernels: calls and elements of all ranks, times of the rank where they take longest, a mean iteration\n",
      stream);
  return ss_records_print(columns, ss_record_members(points, "kernels"), false, stream, error);
}

bool ss_exec_table(const void *answer, FILE *stream, struct ss_error *error) {
  const struct ss_exec_answer *a = answer;
  SS_AUTO_JSON cJSON *root = answer_json(a);
  const cJSON *points = ss_json_get(root, "points");
  bool counted = false, tensors = false;
  if (a->count > 0) explain(a, stream);
  for (size_t i = 0; i < a->count; i++) {
    counted = counted || a->points[i].point->device.counted;
    tensors = tensors || a->points[i].point->siblings > 1;
  }
  cJSON *point = points ? points->child : NULL;
  for (cJSON *p = point; p; p = p->next)
    ss_time_add(p, "time", ss_json_number(p, "time_s"), ss_json_number(p, "time_low_s"),
                ss_json_number(p, "time_high_s"));
  for (size_t i = 0; point && i < a->count; i++, point = point->next) {
    if (tensors) ss_json_add_text(point, "several", a->points[i].point->tensor_name);
    if (!a->points[i].point->device.counted) cJSON_DeleteItemFromObjectCaseSensitive(point, "kernels");
  }
  return print_points(points, stream, error) && (!counted || print_kernels(points, stream, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
