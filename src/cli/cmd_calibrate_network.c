/* A cluster file out of a benchmark's log, or out of messages between the processes of mpirun. */
#include "cli/command.h"
#include "cost/link_log.h"
#include "report/calibration.h"
#include "share/share.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef SS_HAVE_MPI
#include "exec/ping.h"
#endif

struct arguments {
  struct ss_call call;
  const char *log, *name;
  struct ss_link_log_options options;
  double latency; /* s; NAN: fitted */
  uint32_t repeats;
};

/* --- what was asked --------------------------------------------------------------------------------------- */

static bool parse_size(const char *text, double *out, struct ss_error *error) {
  if (!ss_units_parse(text, SS_BYTES, out, error)) return ss_fail_prefix(error, "--sizes");
  return *out >= 0 || ss_fail(error, SS_BAD_INPUT, "--sizes: \"%s\" is below 0", text);
}

static bool read_sizes(void *arguments, const char *value, struct ss_error *error) {
  struct ss_link_log_options *options = &((struct arguments *)arguments)->options;
  const char *colon = strchr(value, ':');
  char before[64];
  if (!colon || (size_t)(colon - value) >= sizeof before)
    return ss_fail(error, SS_BAD_INPUT, "--sizes: \"%s\" is not a range A:B (say 1MiB:)", value);
  (void)snprintf(before, sizeof before, "%.*s", (int)(colon - value), value);
  return (!before[0] || parse_size(before, &options->least, error)) &&
         (!colon[1] || parse_size(colon + 1, &options->most, error));
}

/* --- what comes out --------------------------------------------------------------------------------------- */

static const char *source_of(const struct arguments *a) {
  const char *slash = a->log ? strrchr(a->log, '/') : NULL;
  return !a->log ? "mpirun" : slash ? slash + 1 : a->log;
}

static bool add_piece(cJSON *list, const struct ss_link_piece *piece) {
  cJSON *item = cJSON_CreateObject();
  return cJSON_AddItemToArray(list, item) && cJSON_AddNumberToObject(item, "latency", piece->alpha) &&
         cJSON_AddNumberToObject(item, "latency_error", piece->alpha_error) &&
         cJSON_AddNumberToObject(item, "seconds_per_byte", piece->beta) &&
         cJSON_AddNumberToObject(item, "seconds_per_byte_error", piece->beta_error) &&
         ss_fit_quality_json(item, piece);
}

static bool add_source(cJSON *root, const struct arguments *a, const char *measured) {
  cJSON *source = cJSON_AddObjectToObject(root, "source");
  return source && cJSON_AddStringToObject(source, "bandwidth", measured) &&
         cJSON_AddStringToObject(source, "latency", isnan(a->latency) ? measured : "given: --latency");
}

static bool add_fit(cJSON *notes, const char *name, const struct ss_link_fit *fit) {
  cJSON *list = cJSON_AddArrayToObject(notes, name);
  for (size_t i = 0; list && i < fit->pieces; i++)
    if (!add_piece(list, &fit->piece[i])) return false;
  return list != NULL;
}

static bool add_notes(cJSON *root, const struct ss_link_log *log, const struct ss_link_fit *fit) {
  cJSON *notes = cJSON_AddObjectToObject(root, "notes");
  if (!notes || !cJSON_AddStringToObject(notes, "assumes", log->assumes) ||
      !cJSON_AddStringToObject(notes, "links",
                               log->nodes == 1 ? "measured inside one node: between nodes it is only supposed"
                                               : "one class of links, as a rank sees it when all take part"))
    return false;
  return add_fit(notes, "fit", fit) &&
         (!isfinite(fit->evidence) || cJSON_AddNumberToObject(notes, "bic_for_two", fit->evidence));
}

static bool fill(cJSON *root, const struct arguments *a, const struct ss_link_log *log,
                 const struct ss_link_fit *fit) {
  const struct ss_link_piece *piece = &fit->piece[fit->pieces - 1];
  char date[16], summary[128], measured[512], name[128];
  const char *base = source_of(a), *dot = strrchr(base, '.');
  (void)snprintf(name, sizeof name, "%.*s", dot && dot > base ? (int)(dot - base) : 120, base);
  (void)snprintf(summary, sizeof summary, "measured: %s, %" PRIu32 " ranks on %" PRIu32 " node%s", log->tool,
                 log->ranks, log->nodes, log->nodes == 1 ? "" : "s");
  (void)snprintf(measured, sizeof measured, "fitted to %s (%.300s) on %s; residuals %.2g%% median, %.2g%% at most",
                 log->tool, base, ss_date_text(date, sizeof date), 100 * piece->typical, 100 * piece->worst);
  const uint32_t per_node = log->ranks / log->nodes;
  return cJSON_AddStringToObject(root, "name", a->name ? a->name : name) &&
         cJSON_AddStringToObject(root, "summary", summary) && cJSON_AddStringToObject(root, "model", "alpha-beta") &&
         cJSON_AddNumberToObject(root, "latency", isnan(a->latency) ? piece->alpha : a->latency) &&
         cJSON_AddNumberToObject(root, "bandwidth", 1 / piece->beta) &&
         cJSON_AddNumberToObject(root, "gpus_per_node", per_node) && add_source(root, a, measured) &&
         add_notes(root, log, fit);
}

static void tell(const struct arguments *a, const struct ss_link_log *log, const struct ss_link_fit *fit) {
  char text[4][32];
  if (a->call.quiet) return;
  (void)fprintf(stderr, "%s: %s, %" PRIu32 " ranks on %" PRIu32 " node%s; supposed: %s\n", source_of(a), log->tool,
                log->ranks, log->nodes, log->nodes == 1 ? "" : "s", log->assumes);
  for (size_t i = 0; i < fit->pieces; i++) {
    const struct ss_link_piece *p = &fit->piece[i];
    (void)fprintf(stderr, "messages of %s to %s: %s %s, bandwidth %s; residuals %.2g%% median, %.2g%% at most; ",
                  ss_units_format(text[0], sizeof text[0], SS_BYTES, p->low),
                  ss_units_format(text[1], sizeof text[1], SS_BYTES, p->high), log->stream ? "gap" : "latency",
                  ss_units_format(text[2], sizeof text[2], SS_TIME, p->alpha),
                  ss_units_format(text[3], sizeof text[3], SS_RATE, 1 / p->beta), 100 * p->typical, 100 * p->worst);
    (void)fprintf(stderr, "%zu of %zu outliers%s\n", p->outliers, p->samples,
                  p->no_alpha ? "; the latency came out below 0 and is held at 0" : "");
  }
  if (fit->pieces == 2) (void)fputs("the cluster is that of the larger messages\n", stderr);
}

/* `ping_pong`: of messages that are alone; NULL: none were timed. */
static bool write_cluster(const struct arguments *a, const struct ss_link_log *log, const struct ss_link_fit *fit,
                          const struct ss_link_fit *ping_pong, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject();
  const bool built =
      fill(root, a, log, fit) && (!ping_pong || add_fit(cJSON_GetObjectItem(root, "notes"), "ping_pong", ping_pong));
  if (!ss_model_write(a->call.output, root, built, error)) return false;
  tell(a, log, fit);
  return true;
}

static bool calibrate(const struct arguments *a, struct ss_link_log *log, struct ss_error *error) {
  struct ss_link_fit fit;
  if (log->stream && isnan(a->latency))
    return ss_fail(
        error, SS_BAD_INPUT,
        "%s: messages of osu_bw overlap and say nothing of latency: give it (--latency 2us), or take a log "
        "of osu_latency",
        a->log);
  if (!ss_link_fit(log->samples, log->count, &fit, error)) return ss_fail_prefix(error, "%s", a->log);
  return write_cluster(a, log, &fit, NULL, error);
}

static bool fail_alone(struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT,
                 "calibrate network: one process has nobody to send to: name a log, or start several (mpirun -n 2 "
                 "sparsync calibrate network)");
}

/* --- without a log ---------------------------------------------------------------------------------------- */

#ifdef SS_HAVE_MPI

enum { SIZES_MAX = 31 };
static const double LARGEST = 0x1p30;

static bool check_processes(const struct ss_communicator *comm, const struct arguments *a, struct ss_error *error) {
  if (comm->size < 2) return fail_alone(error);
  if (a->options.ranks || a->options.tool || a->options.in_place)
    return ss_fail(error, SS_BAD_INPUT,
                   "--ranks, --tool and --in-place are for logs: mpirun says how many there are");
  if (a->options.most > LARGEST)
    return ss_fail(error, SS_BAD_INPUT, "--sizes: messages of more than 1 GiB are not timed");
  return true;
}

/* Rank 0's part. */
static bool write_measured(const struct arguments *a, struct ss_link_log *log, struct ss_link_sample *ping,
                           struct ss_error *error) {
  struct ss_link_fit fit, alone;
  if (!ss_link_fit(log->samples, log->count, &fit, error) || !ss_link_fit(ping, log->count, &alone, error))
    return ss_fail_prefix(error, "calibrate network");
  return write_cluster(a, log, &fit, &alone, error);
}

static bool measure(const struct ss_communicator *comm, const struct arguments *a, struct ss_error *error) {
  struct ss_link_sample pairwise[SIZES_MAX], ping[SIZES_MAX];
  struct ss_link_log log = {.tool = "pairwise exchange over MPI",
                            .assumes = "pairwise exchange: (P-1)(alpha + M*beta)",
                            .ranks = comm->size,
                            .samples = pairwise};
  const double steps = comm->size - 1;
  if (!ss_ping_nodes(comm, &log.nodes, error)) ss_communicator_abort(comm, error);
  uint64_t bytes = (uint64_t)fmax(a->options.least, 1);
  for (; (double)bytes <= a->options.most && log.count < SIZES_MAX; bytes *= 2) {
    const double size = (double)bytes;
    struct ss_ping took;
    if (!ss_ping_measure(comm, bytes, a->repeats, &took, error)) return false;
    pairwise[log.count] = (struct ss_link_sample){steps, steps * size, size, took.pairwise};
    ping[log.count++] = (struct ss_link_sample){1, size, size, took.one_way};
  }
  return ss_communicator_agree(comm, comm->rank != 0 || write_measured(a, &log, ping, error), error);
}

static bool time_messages(struct arguments *a, struct ss_error *error) {
  const struct ss_communicator *comm = a->call.options.comm;
  if (isinf(a->options.most)) a->options.most = fmax(0x1p22, 64 * a->options.least);
  return ss_communicator_agree(comm, check_processes(comm, a, error), error) && measure(comm, a, error);
}

#else

static bool time_messages(const struct arguments *a, struct ss_error *error) {
  (void)a;
  return fail_alone(error);
}

#endif

static bool fit_log(struct arguments *a, struct ss_error *error) {
  struct ss_link_log log;
  if (!ss_link_log_read(a->log, &a->options, &log, error)) return false;
  const bool ok = calibrate(a, &log, error);
  ss_link_log_free(&log);
  return ok;
}

/* A log is fitted once, by rank 0. */
static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  if (a->log) return !ss_processes_first(call->options.comm) || fit_log(a, error);
  return call->options.comm ? time_messages(a, error) : fail_alone(error);
}

static const struct ss_option_spec options[] = {
    {"", SS_TEXT(struct arguments, log), .value = "log"},
    {"--ranks", SS_COUNT32(struct arguments, options.ranks, 2, 65536), .value = "P",
     .help = "how many there were: OSU's collectives do not say"},
    {"--tool", SS_TEXT(struct arguments, options.tool), .value = "NAME",
     .help = "which program it was, where the log does not say"},
    {"--in-place", SS_FLAG(struct arguments, options.in_place),
     .help = "of nccl-tests, the columns for in place (default: out of place)"},
    {"--sizes", SS_OTHER(read_sizes), .value = "A:B",
     .help = "only rows of these sizes, such as 1MiB: (default all); under mpirun the sizes that are timed, doubling "
             "(default 1:4MiB)"},
    {"--repeats", SS_COUNT32(struct arguments, repeats, 1, 1001), .value = "N",
     .help = "under mpirun, times that each median is of (default 21; fewer when they take long)"},
    {"--latency", SS_QUANTITY(struct arguments, latency, SS_TIME, 0, INFINITY), .value = "TIME",
     .help = "not fitted but given; needed for osu_bw, whose messages overlap"},
    {"--name", SS_TEXT(struct arguments, name), .value = "NAME",
     .help = "of the cluster (default: of the log, without its ending)"},
    SS_OPTIONS_OUTPUT_MODEL,
    {.name = NULL}};

const struct ss_command ss_command_calibrate_network = {
    .name = "network",
    .summary = "a cluster: alpha and beta of its links, from a benchmark's log",
    .usage =
        "usage: sparsync calibrate network LOG [OPTION...]\n"
        "       mpirun -n P sparsync calibrate network [OPTION...]\n"
        "\n"
        "Fits alpha and beta to a benchmark's log, by robust regression on relative residuals, and writes a cluster "
        "file.\n"
        "Of nccl-tests: all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf; of OSU:\n"
        "osu_latency, osu_bw, osu_allreduce, osu_alltoall. The closed form that is supposed, the sizes of messages "
        "for\n"
        "which the fit holds, residuals and outliers go with it, and are told on standard error. Where small "
        "messages\n"
        "are sent otherwise than large ones, two segments are told; the cluster is that of the larger messages.\n"
        "\n"
        "Without a log, messages between mpirun's processes are timed: a ping-pong of the first and the last, and a\n"
        "pairwise exchange of all, whose fit is the cluster. Medians, after a warm-up.\n",
    .examples =
        "examples:\n"
        "  sparsync calibrate network all_reduce.log -o mine.json && sparsync run scenarios/demo.json --cluster "
        "mine.json\n"
        "  sparsync calibrate network osu_alltoall.log --ranks 16 --sizes 4KiB:\n"
        "  mpirun -n 4 sparsync calibrate network -o here.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.latency = NAN, .options = {.most = INFINITY}, .repeats = 21},
    .company = SS_TOGETHER_UNDER_MPIRUN,
    .run = run};
