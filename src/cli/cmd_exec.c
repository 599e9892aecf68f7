#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#ifdef SS_HAVE_MPI

#include "base/file.h"
#include "cli/identity.h"
#include "cli/request.h"
#include "exec/exec.h"
#include "exec/launch.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

#endif

static const char help[] =
    "usage: mpirun -n RANKS sparsync exec [SCENARIO] [--trace FILE] [--scheme NAME,...] [option...]\n"
    "\n"
    "Runs schemes for real, one rank a process: the same source that `run` simulates sends single-precision\n"
    "values over MPI. What every rank ends with is compared, bit by bit, with MPI_Allreduce of the dense tensor,\n"
    "and the bytes that each rank and server sent and received with those of the simulation. Of schemes that do not\n"
    "apply all at once, what ranks had is compared with what was applied and what they keep, likewise.\n"
    "\n"
    "  SCENARIO             as for `run`; its ranks are replaced by those of mpirun\n"
    "  --trace FILE         whose rows to synchronise; the first RANKS ranks of it\n"
    "  --scheme NAME,...    which schemes (default: the scenario's, or else all)\n"
    "  --iterations A:B     from A up to, not including, B (default: the scenario's, or else the first 5)\n"
    "  --cluster NAME       what to predict the time for (default: the scenario's, or else p3.16xlarge-25g); its\n"
    "                       number of nodes is also the default number of servers of `ps`\n"
    "  --bandwidth RATE, --latency TIME     change the cluster\n"
    "  --merge N            take each N consecutive ranks of the trace as one\n"
    "  --set PATH=VALUE     change a field of the scenario; repeatable\n"
    "  --format FORMAT      table (default) or json\n"
    "  -o FILE              write there instead of to standard output\n"
    "\n"
    "The measured time is that of processes on this machine, or wherever mpirun puts them: it says nothing of the\n"
    "cluster. Servers live in the ranks' processes. Exit status 1 when a result is not exact or bytes differ.\n"
    "\n"
    "examples:\n"
    "  mpirun -n 4 sparsync exec --trace traces/bible-kjv-16.safetensors --scheme allreduce,allgather,ps,alltoall\n"
    "  mpirun -n 2 sparsync exec --trace t.safetensors --set 'schemes=[{\"name\": \"ps\", \"servers\": 2}]'\n";

#ifdef SS_HAVE_MPI

enum { DEFAULT_ITERATIONS = 5 };

/* What one job came to, over its iterations. */
struct point {
  const struct ss_job *job;
  uint64_t count;    /* iterations */
  double *measured;  /* [count] s, ascending in the end, as is: */
  double *announced; /* [count] s, of the runs in which ranks learn sizes */
  double predicted;  /* s, mean */
  uint32_t endpoints;
  struct ss_traffic *executed, *simulated;       /* [endpoints] B, over all iterations */
  struct ss_traffic executed_max, simulated_max; /* B, largest of the ranks' each iteration, over all iterations */
  uint64_t headers;
  bool exact, equal;
  char mismatch[160];
};

struct session {
  struct ss_crew crew;
  struct ss_call call;
  struct ss_scenario *scenario;
  struct point *points; /* [count] */
  size_t count;
  struct ss_arena lasting, iteration;
  struct ss_coalesce_scratch scratch;
  struct ss_exec_memory memory; /* of the point being executed, as this: */
  struct ss_selector selector;
};

/* --- what to do ----------------------------------------------------------------------------------------- */

static bool parse(struct session *s, int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {{"trace", true},   {"scheme", true},    {"iterations", true},
                                                {"cluster", true}, {"bandwidth", true}, {"latency", true},
                                                {"merge", true},   {"set", true},       {"format", true},
                                                {"o", true},       {"help", false},     {NULL, false}};
  struct ss_call *call = &s->call;
  if (!ss_call_parse_scenario(argc, argv, specs, NULL, NULL, call, error)) return false;
  if (call->format == SS_CSV) return ss_fail(error, SS_BAD_INPUT, "--format: \"csv\" is not table or json");
  if (!call->request.file && !call->request.cluster) call->request.cluster = "p3.16xlarge-25g";
  return true;
}

static bool make_point(struct session *s, const struct ss_job *job, struct point *p, struct ss_error *error) {
  const struct ss_request *request = &s->call.request;
  struct ss_input shape;
  uint32_t n = job->ranks + job->servers;
  if (job->ranks != s->crew.size)
    return ss_fail(error, SS_BAD_INPUT, "mpirun says how many ranks there are, %" PRIu32 ": leave \"ranks\" out",
                   s->crew.size);
  const bool element = ss_setting_wish(&job->setting, job->ranks, true, false).element;
  if (!ss_input_shape(&job->origin, element || job->selection.selects, &shape, error)) return false;
  ss_selection_shape(&job->selection, element, &shape);
  if (!ss_execute_check(&job->setting, &shape, error)) return false;
  *p = (struct point){.job = job, .count = job->end - job->first, .endpoints = n, .exact = true, .equal = true};
  if (!request->file && !request->iterations && p->count > DEFAULT_ITERATIONS) p->count = DEFAULT_ITERATIONS;
  p->measured = ss_arena_alloc(&s->lasting, p->count, sizeof *p->measured);
  p->announced = ss_arena_alloc(&s->lasting, p->count, sizeof *p->announced);
  p->executed = ss_arena_alloc(&s->lasting, n, sizeof *p->executed);
  p->simulated = ss_arena_alloc(&s->lasting, n, sizeof *p->simulated);
  if (!p->measured || !p->announced || !p->executed || !p->simulated) return ss_fail_memory(error, "planning runs");
  memset(p->executed, 0, n * sizeof *p->executed);
  memset(p->simulated, 0, n * sizeof *p->simulated);
  return true;
}

static bool open_session(struct session *s, struct ss_error *error) {
  struct ss_request request = s->call.request;
  char ranks[16];
  (void)snprintf(ranks, sizeof ranks, "%" PRIu32, s->crew.size);
  request.ranks = ranks;
  if (!ss_scenario_open(&request, &s->scenario, error)) return false;
  const struct ss_job *jobs = ss_scenario_jobs(s->scenario, &s->count);
  s->points = ss_arena_alloc(&s->lasting, s->count, sizeof *s->points);
  if (!s->points) return ss_fail_memory(error, "planning runs");
  for (size_t i = 0; i < s->count; i++)
    if (!make_point(s, &jobs[i], &s->points[i], error)) return false;
  return true;
}

/* All ranks are to play the same points, of the same trace. What differs is said by the first rank that has another.
 */
static bool same_points(struct session *s, struct ss_error *error) {
  uint64_t *number = ss_arena_alloc(&s->lasting, s->count, sizeof *number), at;
  if (!ss_crew_agree(&s->crew, number || ss_fail_memory(error, "comparing ranks"), error)) return false;
  for (size_t i = 0; number && i < s->count; i++) {
    const struct ss_identity identity = ss_job_identity(s->points[i].job);
    number[i] = identity.high ^ identity.low;
  }
  bool same = ss_crew_has_those_of_first(&s->crew, number, s->count, &at);
  if (!same)
    (void)ss_fail(error, SS_BAD_INPUT,
                  "this rank was given another scenario, other options or another trace than rank 0 (point %" PRIu64
                  ", here %s): start all ranks with the same",
                  at + 1, at < s->count ? s->points[at].job->setting.label : "none");
  return ss_crew_agree(&s->crew, same, error);
}

static void close_session(struct session *s) {
  if (s->scenario) ss_scenario_close(s->scenario);
  ss_call_free(&s->call);
  ss_coalesce_free(&s->scratch);
  ss_exec_memory_free(&s->memory);
  ss_selector_free(&s->selector);
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
static bool make_input(struct session *s, const struct ss_job *job, uint64_t iteration, struct ss_input *out,
                       struct ss_error *error) {
  struct ss_input_wish wish = ss_setting_wish(&job->setting, job->ranks, true, false);
  const bool element = wish.element;
  if (job->selection.selects) wish.element = wish.values = wish.lists = true;
  wish.iteration = iteration;
  ss_arena_reset(&s->iteration);
  return ss_input_make(&job->origin, &wish, &s->iteration, &s->scratch, out, error) &&
         (!job->selection.selects || ss_selector_apply(&s->selector, element, out, &s->iteration, error));
}

static bool play_iteration(struct session *s, struct point *p, uint64_t i, struct ss_error *error) {
  const struct ss_job *job = p->job;
  struct ss_input input;
  struct ss_executed x;
  const bool made = make_input(s, job, job->first + i, &input, error);
  if (!ss_crew_agree(&s->crew, made, error)) return false;
  if (!ss_execute(&s->crew, &job->setting, &job->cluster, &input, &s->memory, &s->iteration, &x, error)) return false;
  p->measured[i] = x.measured;
  p->announced[i] = x.announced;
  p->predicted += x.predicted / (double)p->count;
  p->headers += x.headers;
  add_traffic(x.executed, job->ranks, p->endpoints, p->executed, &p->executed_max);
  add_traffic(x.simulated, job->ranks, p->endpoints, p->simulated, &p->simulated_max);
  p->equal = p->equal && x.equal;
  if (p->exact && !x.exact) memcpy(p->mismatch, x.mismatch, sizeof p->mismatch);
  p->exact = p->exact && x.exact;
  return true;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool play_points(struct session *s, struct ss_error *error) {
  for (size_t at = 0; at < s->count; at++) {
    struct point *p = &s->points[at];
    s->selector = (struct ss_selector){.selection = p->job->selection};
    for (uint64_t i = 0; i < p->count; i++)
      if (!play_iteration(s, p, i, error)) return false;
    ss_exec_memory_free(&s->memory);
    ss_selector_free(&s->selector);
    s->selector = (struct ss_selector){0};
    qsort(p->measured, p->count, sizeof *p->measured, ascending);
    qsort(p->announced, p->count, sizeof *p->announced, ascending);
  }
  return true;
}

static double median(const double *ascending_times, uint64_t count) {
  return (ascending_times[(count - 1) / 2] + ascending_times[count / 2]) / 2;
}

/* --- results -------------------------------------------------------------------------------------------- */

static void fill_row(struct ss_table *table, const struct point *p, bool tensors) {
  char text[32];
  ss_table_cell(table, "%s", p->job->setting.label);
  if (tensors) ss_table_cell(table, "%s", p->job->tensor_name);
  ss_table_cell(table, "%s", p->job->cluster_name);
  ss_table_cell(table, "%s", ss_units_format(text, sizeof text, SS_TIME, median(p->measured, p->count)));
  ss_table_cell(table, "%s", ss_units_format(text, sizeof text, SS_TIME, p->predicted));
  ss_table_cell(table, "%.0f", (double)p->executed_max.sent / (double)p->count);
  ss_table_cell(table, "%.0f", (double)p->simulated_max.sent / (double)p->count);
  ss_table_cell(table, "%s", p->equal ? "yes" : "NO");
  ss_table_cell(table, "%s", p->exact ? "yes" : "NO");
}

static struct ss_table *list_points(const struct session *s) {
  static const char *const several[] = {"<scheme", "<tensor",      "<cluster",    "measured here", "predicted",
                                        "sent, B", "simulated, B", "bytes equal", "exact"};
  static const char *const one[] = {"<scheme", "<cluster",     "measured here", "predicted",
                                    "sent, B", "simulated, B", "bytes equal",   "exact"};
  bool tensors = s->count > 0 && s->points[0].job->siblings > 1;
  struct ss_table *table = tensors ? ss_table_new(9, several) : ss_table_new(8, one);
  for (size_t i = 0; table && i < s->count; i++) fill_row(table, &s->points[i], tensors);
  return table;
}

/* The answer first, then what the numbers mean. */
static void explain(const struct session *s, FILE *stream) {
  const struct point *p = &s->points[0];
  size_t exact = 0, equal = 0;
  for (size_t i = 0; i < s->count; i++) {
    exact += s->points[i].exact;
    equal += s->points[i].equal;
  }
  (void)fprintf(stream,
                "%zu of %zu exact on every rank; in %zu of %zu every endpoint moved the bytes of the simulation\n",
                exact, s->count, equal, s->count);
  (void)fprintf(stream, "%" PRIu32 " ranks, one a process, over MPI; iterations %" PRIu64 ":%" PRIu64 " of %s\n",
                s->crew.size, p->job->first, p->job->first + p->count, p->job->trace_name);
  (void)fprintf(
      stream,
      "measured: median of each iteration's second run, the first warms up and tells all ranks the sizes; with the\n"
      "processes where mpirun put them (usually all on one machine)\n"
      "predicted: mean, as if on the cluster; kernels not counted\n"
      "sent: by the rank that sends most in an iteration, mean\n");
  if (s->crew.size == 1) (void)fprintf(stream, "one rank sends nothing: start more, mpirun -n 4 sparsync exec ...\n");
  (void)fprintf(stream, "\n");
}

static bool print_table(const struct session *s, FILE *stream, struct ss_error *error) {
  struct ss_table *table = list_points(s);
  if (!table) return ss_fail_memory(error, "writing a table");
  if (s->count > 0) explain(s, stream);
  bool good = ss_table_print(table, stream, error);
  ss_table_free(table);
  return good;
}

static bool add_number(cJSON *to, const char *key, double value) {
  return cJSON_AddNumberToObject(to, key, value) != NULL;
}

static bool add_text(cJSON *to, const char *key, const char *value) {
  return (value ? cJSON_AddStringToObject(to, key, value) : cJSON_AddNullToObject(to, key)) != NULL;
}

/* Bytes of one endpoint, over all iterations. */
static bool add_endpoint(cJSON *list, const struct point *p, uint32_t e) {
  uint32_t ranks = p->job->ranks;
  cJSON *item = cJSON_CreateObject();
  return cJSON_AddItemToArray(list, item) &&
         add_number(item, e < ranks ? "rank" : "server", e < ranks ? e : e - ranks) &&
         add_number(item, "bytes_sent", (double)p->executed[e].sent) &&
         add_number(item, "bytes_received", (double)p->executed[e].received) &&
         add_number(item, "simulated_bytes_sent", (double)p->simulated[e].sent) &&
         add_number(item, "simulated_bytes_received", (double)p->simulated[e].received);
}

static bool add_measures(cJSON *item, const struct point *p) {
  double n = (double)p->count;
  return add_number(item, "iterations", n) && add_number(item, "measured_s", median(p->measured, p->count)) &&
         add_number(item, "announced_s", median(p->announced, p->count)) &&
         add_number(item, "measured_min_s", p->measured[0]) &&
         add_number(item, "measured_max_s", p->measured[p->count - 1]) && add_number(item, "time_s", p->predicted) &&
         add_number(item, "bytes_sent_max", (double)p->executed_max.sent / n) &&
         add_number(item, "bytes_received_max", (double)p->executed_max.received / n) &&
         add_number(item, "simulated_bytes_sent_max", (double)p->simulated_max.sent / n) &&
         add_number(item, "simulated_bytes_received_max", (double)p->simulated_max.received / n) &&
         add_number(item, "header_bytes", (double)p->headers / n) && cJSON_AddBoolToObject(item, "equal", p->equal) &&
         cJSON_AddBoolToObject(item, "exact", p->exact) && add_text(item, "mismatch", p->exact ? NULL : p->mismatch);
}

static bool add_point(cJSON *list, const struct point *p) {
  const struct ss_job *job = p->job;
  cJSON *item = cJSON_CreateObject(), *at = job->at ? cJSON_Duplicate(job->at, true) : cJSON_CreateObject();
  if (!cJSON_AddItemToArray(list, item) || !cJSON_AddItemToObject(item, "at", at)) return false;
  bool good = add_text(item, "scheme", job->setting.scheme->name) && add_text(item, "label", job->setting.label) &&
              add_number(item, "ranks", job->ranks) && add_text(item, "tensor", job->tensor_name) &&
              add_text(item, "cluster", job->cluster_name) && add_text(item, "trace", job->trace_name) &&
              add_measures(item, p);
  cJSON *endpoints = good ? cJSON_AddArrayToObject(item, "endpoints") : NULL;
  for (uint32_t e = 0; endpoints && e < p->endpoints; e++)
    if (!add_endpoint(endpoints, p, e)) return false;
  return endpoints != NULL;
}

static bool print_json(const struct session *s, FILE *stream, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject();
  bool good = add_text(root, "sparsync", SS_VERSION) && add_text(root, "scenario", ss_scenario_name(s->scenario));
  cJSON *list = good ? cJSON_AddArrayToObject(root, "points") : NULL;
  good = list != NULL;
  for (size_t i = 0; good && i < s->count; i++) good = add_point(list, &s->points[i]);
  char *text = good ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  if (!text) return ss_fail_memory(error, "writing JSON");
  (void)fprintf(stream, "%s\n", text); /* ss_output_commit finds what goes wrong here */
  cJSON_free(text);
  return true;
}

static bool print(const struct session *s, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(s->call.output, &output, error)) return false;
  if (s->call.format == SS_JSON ? print_json(s, output.stream, error) : print_table(s, output.stream, error))
    return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool verdict(const struct session *s, struct ss_error *error) {
  for (size_t i = 0; i < s->count; i++) {
    const struct point *p = &s->points[i];
    if (!p->exact) return ss_fail(error, SS_UNPROVEN, "%s is not exact: %s", p->job->setting.label, p->mismatch);
    if (!p->equal)
      return ss_fail(error, SS_UNPROVEN, "%s sent other bytes than its simulation", p->job->setting.label);
  }
  return true;
}

static void last_words(const struct ss_crew *crew, const struct ss_error *error) {
  (void)fprintf(stderr, "sparsync exec: rank %" PRIu32 " of %" PRIu32 ": %s\n", crew->rank, crew->size, error->text);
}

static bool run_parsed(struct session *s, bool parsed, struct ss_error *error) {
  if (!ss_crew_join(&s->crew, error)) return ss_launch_read().rank != 0;
  s->crew.last_words = last_words;
  bool good = ss_crew_agree(&s->crew, parsed, error) && ss_crew_agree(&s->crew, open_session(s, error), error) &&
              same_points(s, error) && play_points(s, error) &&
              ss_crew_agree(&s->crew, s->crew.rank != 0 || print(s, error), error) && verdict(s, error);
  ss_crew_leave(&s->crew);
  /* Rank 0 says it for all. Were the others to fail too, mpirun might end it before it has. */
  return good || s->crew.rank != 0;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct session s = {0};
  bool parsed = parse(&s, argc, argv, error);
  bool good = parsed && s.call.help ? fputs(help, stdout) >= 0 : run_parsed(&s, parsed, error);
  close_session(&s);
  return good;
}

#else

static bool run(int argc, char **argv, struct ss_error *error) {
  if (argc > 1 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) >= 0;
  return ss_fail(
      error, SS_MACHINE,
      "this sparsync was built without MPI; install it (Debian: libopenmpi-dev openmpi-bin) and build again");
}

#endif

const struct ss_command ss_command_exec = {
    .name = "exec", .summary = "run schemes for real, over MPI", .help = help, .run = run};
