#include "report/exec_table.h"

#include "report/table.h"

#include <cjson/cJSON.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>

static void fill_row(struct ss_table *table, const struct ss_exec_point *p, bool tensors) {
  ss_table_cell(table, "%s", p->job->setting.label);
  if (tensors) ss_table_cell(table, "%s", p->job->tensor_name);
  ss_table_cell(table, "%s", p->job->cluster_name);
  ss_table_quantity(table, SS_TIME, gsl_stats_median_from_sorted_data(p->measured, 1, p->count));
  ss_table_quantity(table, SS_TIME, p->predicted);
  ss_table_cell(table, "%.0f", (double)p->executed_max.sent / (double)p->count);
  ss_table_cell(table, "%.0f", (double)p->simulated_max.sent / (double)p->count);
  ss_table_texts(table, p->equal ? "yes" : "NO", p->exact ? "yes" : "NO");
}

static struct ss_table *list_points(const struct ss_exec_answer *a) {
  static const char *const several[] = {"<scheme", "<tensor",      "<cluster",    "measured here", "predicted",
                                        "sent, B", "simulated, B", "bytes equal", "exact"};
  static const char *const one[] = {"<scheme", "<cluster",     "measured here", "predicted",
                                    "sent, B", "simulated, B", "bytes equal",   "exact"};
  bool tensors = false;
  for (size_t i = 0; i < a->count; i++) tensors = tensors || a->points[i].job->siblings > 1;
  struct ss_table *table = tensors ? ss_table_new(9, several) : ss_table_new(8, one);
  for (size_t i = 0; table && i < a->count; i++) fill_row(table, &a->points[i], tensors);
  return table;
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
  (void)fprintf(stream, "%" PRIu32 " ranks, one a process, over MPI; iterations %" PRIu64 ":%" PRIu64 " of %s\n",
                a->ranks, p->job->first, p->job->first + p->count, p->job->trace_name);
  (void)fprintf(stream,
                "measured: median over iterations, each timed %" PRIu32
                " time%s after a run that warms up and tells all ranks the sizes;\n"
                "with the processes where mpirun put them (usually all on one machine)\n"
                "predicted: mean, as if on the cluster; kernels %s%s\n"
                "sent: by the rank that sends most in an iteration, mean\n",
                a->repeats, a->repeats == 1 ? "" : "s", p->job->device.counted ? "as on " : "not counted",
                p->job->device.counted ? p->job->device_name : "");
  if (a->ranks == 1) (void)fprintf(stream, "one rank sends nothing: start more, mpirun -n 4 sparsync exec ...\n");
  (void)fprintf(stream, "\n");
}

/* Of points whose prediction counts kernels. */
static struct ss_table *list_kernels(const struct ss_exec_answer *a) {
  struct ss_table *table = ss_table_of("<scheme", "<kernel", "calls", "elements", "measured here", "predicted");
  for (size_t i = 0; i < a->count; i++) {
    const struct ss_exec_point *p = &a->points[i];
    const double n = (double)p->count;
    for (int k = 0; p->job->device.counted && k < SS_KERNELS; k++) {
      const struct ss_executed_kernel *kernel = &p->kernels[k];
      if (kernel->elements == 0) continue;
      ss_table_texts(table, p->job->setting.label, ss_kernel_name((enum ss_kernel_kind)k));
      ss_table_cell(table, "%.0f", (double)kernel->calls / n);
      ss_table_cell(table, "%.0f", (double)kernel->elements / n);
      ss_table_quantity(table, SS_TIME, kernel->measured / n);
      ss_table_quantity(table, SS_TIME, kernel->predicted / n);
    }
  }
  return table;
}

bool ss_exec_table(const void *answer, FILE *stream, struct ss_error *error) {
  const struct ss_exec_answer *a = answer;
  bool counted = false;
  if (a->count > 0) explain(a, stream);
  for (size_t i = 0; i < a->count; i++) counted = counted || a->points[i].job->device.counted;
  if (!ss_table_print_free(list_points(a), false, stream, error)) return false;
  if (!counted) return true;
  (void)fputs(
      "\nkernels: calls and elements of all ranks, times of the rank where they take longest, a mean iteration\n",
      stream);
  return ss_table_print_free(list_kernels(a), false, stream, error);
}

static bool add_number(cJSON *to, const char *key, double value) {
  return cJSON_AddNumberToObject(to, key, value) != NULL;
}

static bool add_text(cJSON *to, const char *key, const char *value) {
  return (value ? cJSON_AddStringToObject(to, key, value) : cJSON_AddNullToObject(to, key)) != NULL;
}

/* Bytes of one endpoint, over all iterations. */
static bool add_endpoint(cJSON *list, const struct ss_exec_point *p, uint32_t e) {
  uint32_t ranks = p->job->ranks;
  cJSON *item = cJSON_CreateObject();
  return cJSON_AddItemToArray(list, item) &&
         add_number(item, e < ranks ? "rank" : "server", e < ranks ? e : e - ranks) &&
         add_number(item, "bytes_sent", (double)p->executed[e].sent) &&
         add_number(item, "bytes_received", (double)p->executed[e].received) &&
         add_number(item, "simulated_bytes_sent", (double)p->simulated[e].sent) &&
         add_number(item, "simulated_bytes_received", (double)p->simulated[e].received);
}

static bool add_measures(cJSON *item, const struct ss_exec_point *p) {
  double n = (double)p->count;
  return add_number(item, "iterations", n) &&
         add_number(item, "measured_s", gsl_stats_median_from_sorted_data(p->measured, 1, p->count)) &&
         add_number(item, "announced_s", gsl_stats_median_from_sorted_data(p->announced, 1, p->count)) &&
         add_number(item, "measured_min_s", p->measured[0]) &&
         add_number(item, "measured_max_s", p->measured[p->count - 1]) && add_number(item, "time_s", p->predicted) &&
         add_number(item, "network_s", p->network) &&
         add_number(item, "bytes_sent_max", (double)p->executed_max.sent / n) &&
         add_number(item, "bytes_received_max", (double)p->executed_max.received / n) &&
         add_number(item, "simulated_bytes_sent_max", (double)p->simulated_max.sent / n) &&
         add_number(item, "simulated_bytes_received_max", (double)p->simulated_max.received / n) &&
         add_number(item, "header_bytes", (double)p->headers / n) && cJSON_AddBoolToObject(item, "equal", p->equal) &&
         cJSON_AddBoolToObject(item, "kernels_equal", p->kernels_equal) &&
         cJSON_AddBoolToObject(item, "exact", p->exact) &&
         add_text(item, "mismatch", p->exact && p->kernels_equal ? NULL : p->mismatch);
}

/* The kernels that ran, means over iterations. */
static bool add_kernels(cJSON *item, const struct ss_exec_point *p) {
  const double n = (double)p->count;
  cJSON *kernels = cJSON_AddObjectToObject(item, "kernels");
  for (int k = 0; kernels && k < SS_KERNELS; k++) {
    if (p->kernels[k].elements == 0) continue;
    cJSON *kernel = cJSON_AddObjectToObject(kernels, ss_kernel_name((enum ss_kernel_kind)k));
    if (!kernel || !add_number(kernel, "calls", (double)p->kernels[k].calls / n) ||
        !add_number(kernel, "elements", (double)p->kernels[k].elements / n) ||
        !add_number(kernel, "measured_s", p->kernels[k].measured / n) ||
        !add_number(kernel, "predicted_s", p->kernels[k].predicted / n))
      return false;
  }
  return kernels != NULL;
}

static bool add_point(cJSON *list, const struct ss_exec_point *p, uint32_t repeats) {
  const struct ss_job *job = p->job;
  cJSON *item = cJSON_CreateObject(), *at = job->at ? cJSON_Duplicate(job->at, true) : cJSON_CreateObject();
  if (!cJSON_AddItemToArray(list, item) || !cJSON_AddItemToObject(item, "at", at)) return false;
  bool good = add_text(item, "scheme", job->setting.scheme->name) && add_text(item, "label", job->setting.label) &&
              add_number(item, "ranks", job->ranks) && add_text(item, "tensor", job->tensor_name) &&
              add_text(item, "cluster", job->cluster_name) && add_text(item, "device", job->device_name) &&
              add_text(item, "trace", job->trace_name) && add_number(item, "repeats", repeats) &&
              add_measures(item, p) && add_kernels(item, p);
  cJSON *endpoints = good ? cJSON_AddArrayToObject(item, "endpoints") : NULL;
  for (uint32_t e = 0; endpoints && e < p->endpoints; e++)
    if (!add_endpoint(endpoints, p, e)) return false;
  return endpoints != NULL;
}

/* NULL: memory is short. */
static cJSON *answer_json(const struct ss_exec_answer *a) {
  cJSON *root = cJSON_CreateObject();
  bool good = add_text(root, "sparsync", SS_VERSION) && add_text(root, "scenario", a->scenario);
  cJSON *list = good ? cJSON_AddArrayToObject(root, "points") : NULL;
  good = list != NULL;
  for (size_t i = 0; good && i < a->count; i++) good = add_point(list, &a->points[i], a->repeats);
  if (good) return root;
  cJSON_Delete(root);
  return NULL;
}

bool ss_exec_json(const void *answer, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(answer_json(answer), stream, error);
}

bool ss_exec_csv(const void *answer, FILE *stream, struct ss_error *error) {
  cJSON *root = answer_json(answer);
  const bool good = ss_flat_csv_free(cJSON_DetachItemFromObjectCaseSensitive(root, "points"), stream, error);
  cJSON_Delete(root);
  return good;
}
