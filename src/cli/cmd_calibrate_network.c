/* A cluster file out of benchmarks' logs, or out of messages between the processes of mpirun; and how good it is. */
#include "base/file.h"
#include "base/identity.h"
#include "base/json.h"
#include "cli/command.h"
#include "query/answers.h"
#include "query/calibrate_request.h"
#include "report/calibration.h"
#include "report/tables.h"
#include "share/share.h"

#ifdef SS_HAVE_MPI
#include "exec/ping.h"
#endif

struct arguments {
  struct ss_call call;
  const char *device, *figure;
  uint32_t repeats;
  unsigned printed;                   /* of `formats` */
  struct ss_calibrate_request wanted; /* what the fields say */
};

static const char *const leave_out[] = {"collectives", "nodes", "sizes", "rows", "nothing", NULL};
static const char *const formats[] = {"table", "markdown", "json", "csv", NULL};

/* --- what comes out --------------------------------------------------------------------------------------- */

static bool write_device(const struct arguments *a, const struct ss_calibrated *c, struct ss_error *error) {
  if (!a->device) return true;
  if (!ss_calibrated_sums(&c->fit))
    return ss_fail(error, SS_BAD_INPUT, "--device-output: these times do not tell how long sums take");
  cJSON *root = ss_calibrated_device(c);
  return ss_model_write(a->device, root, error);
}

static bool calibrate(const struct arguments *a, const struct ss_observations *all, struct ss_error *error) {
  SS_AUTO(ss_calibrated_free) struct ss_calibrated c = {.name = ""};
  if (!ss_calibrate(all, &a->wanted.fit, a->wanted.name, &c, error) || !write_device(a, &c, error)) return false;
  cJSON *root = ss_calibrated_cluster(&c);
  if (!ss_model_write(a->call.output, root, error)) return false;
  if (!a->call.quiet) ss_calibrated_tell(&c, stderr);
  return true;
}

static bool draw(const struct arguments *a, const cJSON *validation, struct ss_error *error) {
  struct ss_picture_bytes bytes;
  enum ss_picture picture;
  return !a->figure ||
         (ss_picture_of(a->figure, &picture, error) && ss_validation_draw(validation, picture, &bytes, error) &&
          ss_picture_write(&bytes, a->figure, error));
}

static bool validate(const struct arguments *a, const struct ss_observations *all, struct ss_error *error) {
  static ss_printer *const printers[] = {ss_validation_table, ss_validation_markdown, ss_validation_json,
                                         ss_validation_csv};
  cJSON *v = NULL;
  const bool ok = ss_calibrate_request_validate(&a->wanted, all, &v, error) &&
                  ss_output_write(a->call.output, printers[a->printed], v, error) && draw(a, v, error);
  cJSON_Delete(v);
  return ok;
}

static bool fail_alone(struct ss_error *error) {
  return ss_fail(
      error, SS_BAD_INPUT,
      "one process has nobody to send to: name a log, or start several (mpirun -n 2 sparsync calibrate network)");
}

/* --- without a log ---------------------------------------------------------------------------------------- */

#ifdef SS_HAVE_MPI

enum { SIZES_MAX = 31, REPEATS = 21 };
static const double LARGEST = 0x1p30;

static bool check_processes(const struct ss_communicator *comm, const struct arguments *a, struct ss_error *error) {
  if (comm->size < 2) return fail_alone(error);
  const struct ss_calibrate_request *w = &a->wanted;
  const struct {
    const char *option;
    bool given;
  } of_logs[] = {{"--ranks", w->reading.ranks > 0},
                 {"--tool", w->reading.tools > 0},
                 {"--in-place", w->reading.in_place},
                 {"--where", w->reading.wheres > 0},
                 {"--suppose", w->reading.supposes > 0},
                 {"--messages", w->least_message > 0},
                 {"--library", w->fit.library.kind != SS_NO_LIBRARY},
                 {"--validate", w->validate},
                 {"--device-output", a->device != NULL}};
  for (size_t i = 0; i < sizeof of_logs / sizeof *of_logs; i++)
    if (of_logs[i].given)
      return ss_fail(error, SS_BAD_INPUT, "%s is for logs: here messages are timed that mpirun's processes send",
                     of_logs[i].option);
  if (a->wanted.reading.most > LARGEST)
    return ss_fail(error, SS_BAD_INPUT, "--sizes: messages of more than 1 GiB are not timed");
  return true;
}

/* Rank 0's part: a cluster of the exchange, since that is what schemes do; the ping-pong goes with it. */
static bool write_measured(const struct arguments *a, struct ss_observations *exchange, struct ss_observations *ping,
                           struct ss_error *error) {
  SS_AUTO(ss_calibrated_free)
  struct ss_calibrated c = {
      .measured = "pairwise exchange over MPI (mpirun)", .observations = exchange, .latency = a->wanted.fit.latency};
  SS_AUTO(ss_cluster_fit_free) struct ss_cluster_fit alone = {.count = 0};
  (void)snprintf(c.name, sizeof c.name, "%s", a->wanted.name ? a->wanted.name : "mpirun");
  const struct ss_fitted_part pairwise = {exchange->list, exchange->count, &a->wanted.fit, NULL, NULL, NULL, 0},
                              one_way = {ping->list, ping->count, &a->wanted.fit, NULL, NULL, NULL, 0};
  if (!ss_cluster_fit(&pairwise, &c.fit, error) || !ss_cluster_fit(&one_way, &alone, error))
    return ss_fail_prefix(error, "calibrate network");
  cJSON *root = ss_calibrated_cluster(&c);
  ss_json_add(ss_json_get(root, "notes"), SS_J("ping_pong", ss_calibrated_pieces(&alone, SS_COST_INTER)));
  if (!ss_model_write(a->call.output, root, error)) return false;
  if (!a->call.quiet) ss_calibrated_tell(&c, stderr);
  return true;
}

static bool measure(const struct ss_communicator *comm, const struct arguments *a, struct ss_error *error) {
  struct ss_observation timed[2][SIZES_MAX];
  char source[] = "mpirun", *sources[] = {source};
  struct ss_observations exchange = {.list = timed[0], .source = sources, .sources = 1}, ping = exchange;
  uint32_t nodes;
  if (!ss_ping_nodes(comm, &nodes, error)) ss_communicator_abort(comm, error);
  ping.list = timed[1];
  uint64_t bytes = (uint64_t)fmax(a->wanted.reading.least, 1);
  const size_t sizes = (size_t)fmin(fmax(0, floor(log2(a->wanted.reading.most / (double)bytes)) + 1), SIZES_MAX);
  const struct ss_watcher *watcher = comm->rank == 0 ? a->call.request.run.watcher : NULL;
  ss_watcher_begin(watcher, "sizes", sizes);
  for (; exchange.count < sizes; bytes *= 2) {
    struct ss_ping took;
    if (!ss_ping_measure(comm, bytes, a->repeats ? a->repeats : REPEATS, &took, error)) return false;
    exchange.list[exchange.count++] = (struct ss_observation){.algorithm = ss_algorithm_of(SS_ALLTOALL, "pairwise"),
                                                              .nodes = nodes,
                                                              .per_node = comm->size / nodes,
                                                              .bytes = bytes * comm->size,
                                                              .seconds = took.pairwise};
    ping.list[ping.count++] = (struct ss_observation){.algorithm = ss_algorithm_of(SS_PING_PONG, NULL),
                                                      .nodes = 2,
                                                      .per_node = 1,
                                                      .bytes = bytes,
                                                      .seconds = took.one_way};
    ss_watcher_advance(watcher, 1, 1, (double)sizes);
  }
  ss_watcher_end(watcher);
  return ss_communicator_agree(comm, comm->rank != 0 || write_measured(a, &exchange, &ping, error), error);
}

static bool time_messages(struct arguments *a, struct ss_error *error) {
  const struct ss_communicator *comm = a->call.request.run.comm;
  if (isinf(a->wanted.reading.most)) a->wanted.reading.most = fmax(0x1p22, 64 * a->wanted.reading.least);
  return ss_communicator_agree(comm, check_processes(comm, a, error), error) && measure(comm, a, error);
}

#else

static bool time_messages(const struct arguments *a, struct ss_error *error) {
  (void)a;
  return fail_alone(error);
}

#endif

static const struct ss_option_spec options[] = {
    {"", SS_FIELDS("logs")},
    {"--validate", SS_FIELD, .help = "no cluster, but how far off predictions are of what was left out of the fit"},
    {"--leave-out", SS_FIELD, .choices = leave_out,
     .help = "what is left out, one after the other (collectives); nothing without --validate: the cluster comes "
             "sooner, unjudged"},
    {"--fit-on", SS_FIELDS("fit_on"), .value = "WHAT",
     .help = "with --validate, fit to these alone and predict all others (repeatable): --fit-on "
             "collective=allreduce,nodes=8"},
    {"--ranges", SS_FIELD,
     .help = "with --validate, say how far off each prediction may be, by what is left out of its own fit, and how "
             "many times are within (some ten times as long)"},
    {"--figure", SS_TEXT(struct arguments, figure), .writes = true, .with = "--validate", .value = "FILE",
     .help = "with --validate, predicted against measured times: .svg, .pdf or .png"},
    {"--format", SS_CHOICE(struct arguments, printed, formats), .with = "--validate",
     .help = "with --validate, how to write (table)"},
    {"--where", SS_FIELDS("where"), .value = "COLUMN=VALUE",
     .help = "of tables, only such rows (repeatable): --where system=polaris"},
    {"--suppose", SS_FIELDS("suppose"), .value = "COLLECTIVE=ALGORITHM",
     .help = "which algorithm it was, where the log hides it (repeatable): --suppose allreduce=trees"},
    SS_ASKS("--ranks", "P", "how many there were: OSU's collectives do not say"),
    SS_ASKS("--gpus-per-node", "G", "ranks on a node where logs do not say; GPUs of a node where runs used fewer"),
    SS_ASKS("--nics", "N", "cards of a node (found where runs used different numbers of its GPUs, else 1 for all)"),
    SS_ASKS("--window", "N|all",
            "messages that a port has under way (found where exchanges were posted at once, else 1)"),
    {"--tool", SS_FIELDS("tool"),
     .value = "all_reduce_perf|all_gather_perf|reduce_scatter_perf|alltoall_perf|sendrecv_perf|osu_latency|osu_bw|"
              "osu_allreduce|osu_allgather|osu_reduce_scatter|osu_alltoall",
     .help = "which program it was, where logs do not say; a.log=alltoall_perf says it of one log (repeatable)"},
    SS_ASKS("--library", "nccl=VERSION[,gpu=GPU][,cpu=CPU]",
            "whose tuner says what was played, of NCCL (as logs say): nccl=2.21,gpu=hopper,cpu=amd"),
    {"--in-place", SS_FIELD, .help = "of nccl-tests, the columns for in place (default: out of place)"},
    SS_ASKS("--sizes", "A:B",
            "only rows of these sizes, such as 1MiB: (default all); under mpirun the sizes that are timed, doubling "
            "(default 1:4MiB)"),
    SS_ASKS("--messages", "SIZE", "only rows whose largest message has at least so many bytes"),
    {"--repeats", SS_COUNT32(struct arguments, repeats, 1, 1001), .value = "N",
     .help = "under mpirun, times that each median is of (default 21; fewer when they take long)"},
    {"--latency", SS_FIELD, .field = "latency", .value = "TIME",
     .help = "not fitted but given; needed for osu_bw, whose messages overlap"},
    SS_ASKS("--name", "NAME",
            "of the cluster (default: the table's system, else nodes, GPUs and hardware of the log)"),
    {"--device-output", SS_TEXT(struct arguments, device), .writes = true, .against = "--validate", .value = "FILE",
     .help = "also write a device with the rate of sums, where reductions tell it"},
    SS_OPTION_OUTPUT,
    {"--quiet", SS_FLAG(struct ss_call, quiet), .help = "tell nothing on standard error"},
    {.name = NULL}};

static bool fit_logs(struct arguments *a, struct ss_error *error) {
  const struct ss_notice *notice = a->call.quiet ? NULL : a->call.request.notice;
  SS_AUTO(ss_observations_free) struct ss_observations all = {0};
  if (a->repeats)
    return ss_fail(error, SS_BAD_INPUT, "--repeats is for messages that are timed under mpirun, not for logs");
  return ss_output_has_folder(a->figure, error) && ss_output_has_folder(a->device, error) &&
         ss_calibrate_request_observe(&a->wanted, notice, &all, error) &&
         (a->wanted.validate ? validate(a, &all, error) : calibrate(a, &all, error));
}

/* Logs are fitted once, by rank 0. */
static bool fit(struct arguments *a, struct ss_error *error) {
  const struct ss_call *call = &a->call;
  a->wanted.fit.watcher = call->request.run.watcher;
  if (cJSON_HasObjectItem(call->edits, "logs"))
    return !ss_processes_first(call->request.run.comm) || fit_logs(a, error);
  return call->request.run.comm ? time_messages(a, error) : fail_alone(error);
}

/* Ranks that were told different things would wait for each other for ever. */
static bool told_alike(const struct arguments *a, bool understood, struct ss_error *error) {
  const struct ss_communicator *comm = a->call.request.run.comm;
  const struct ss_identity is = ss_identity_of(a->call.edits);
  const uint64_t numbers[] = {is.high, is.low, a->repeats};
  return ss_communicator_agree(comm, understood, error) && (!comm || ss_processes_same(comm, numbers, 3, error));
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  const bool read = ss_request_object(&call->request, "calibrate", &doc, error) &&
                    ss_calibrate_request_read(ss_doc_root(doc), &a->wanted, error);
  const bool ok = told_alike(a, read, error) && fit(a, error);
  ss_calibrate_request_close(&a->wanted);
  return ok;
}

const struct ss_command ss_command_calibrate_network = {
    .name = "network",
    .summary = "a cluster from benchmarks' logs, and how well it predicts what it has not seen",
    .usage = "usage: sparsync calibrate network LOG... [OPTION...]\n"
             "       sparsync calibrate network LOG... --validate [--leave-out nodes] [--figure FILE]\n"
             "       mpirun -n P sparsync calibrate network [OPTION...]\n\n"
             "Fits a cluster to all logs together, each time predicted by playing its algorithm, and writes a "
             "cluster file. Logs are those of nccl-tests (all_reduce_perf, all_gather_perf, reduce_scatter_perf, "
             "alltoall_perf, sendrecv_perf) and OSU (osu_latency, osu_bw, osu_allreduce, osu_allgather, "
             "osu_reduce_scatter, osu_alltoall), several runs in a file or not, and tables (CSV) with columns "
             "collective, nodes, bytes and seconds, and, if there are, algorithm, library, gpus_per_node and system. "
             "What is supposed, found and doubted is told on standard error.\n\n"
             "With --validate, each collective, or number of nodes, is left out in turn and predicted from the "
             "others: errors are printed by collective, algorithm, nodes and size, and how many pairs of algorithms "
             "are ranked right.\n\n"
             "Without a log, messages between mpirun's processes are timed: a ping-pong of the first and the last, "
             "and a pairwise exchange of all, whose fit is the cluster. Medians, after a warm-up.\n",
    .examples = "  sparsync calibrate network all_reduce.log alltoall.log -o mine.json\n"
                "  sparsync calibrate network *.log --validate --figure accuracy.svg\n"
                "  sparsync calibrate network osu_alltoall.log --ranks 16 --sizes 4KiB:\n"
                "  mpirun -n 4 sparsync calibrate network -o here.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .company = SS_TOGETHER_UNDER_MPIRUN,
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
