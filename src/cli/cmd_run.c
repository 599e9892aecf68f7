#include "base/file.h"
#include "cli/command.h"
#include "query/answers.h"
#include "query/baselines.h"
#include "report/results_table.h"
#include "report/tables.h"
#include "report/verdicts.h"
#include "share/share.h"
#include "study/store.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
  struct ss_call call;
  const char *save, *baseline;
  double tolerance; /* NaN: not said */
  bool resume, no_partial, links, wide;
};

/* One run: it hears of points, keeps them and prints them. */
struct session {
  struct ss_results_listener listener; /* first: a listener is the session it stands in */
  const struct ss_call *call;
  const struct arguments *arguments;
  const struct ss_results_form *form;
  struct ss_judged_study judged;
  struct ss_store *store;  /* NULL: none */
  struct ss_doc *stored;   /* the baseline; NULL: none */
  struct ss_output output; /* standard output, while points are computed */
  struct ss_results_writer writer;
  struct ss_watcher watcher; /* who is told how far it is, and Ctrl-C */
  size_t recalled;
};

/* --- when somebody presses Ctrl-C ------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal) {
  interrupted = signal;
}

static bool is_interrupted(void *context) {
  (void)context;
  return interrupted != 0;
}

/* The run ends before its next iteration; pressed again, at once. Under nohup nobody listens. */
static void listen_for_interrupts(void) {
  const struct sigaction ours = {.sa_handler = interrupt, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
  struct sigaction before;
  if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN) (void)sigaction(SIGINT, &ours, NULL);
}

/* --- while points are computed ---------------------------------------------------------------------------- */

static bool recall(struct ss_results_listener *self, struct ss_result *point, bool *known, struct ss_error *error) {
  struct session *s = (struct session *)self;
  if (!ss_store_recall(s->store, &s->call->request.run, point, known, error)) return false;
  s->recalled += *known;
  return true;
}

static bool computed(struct ss_results_listener *self, const struct ss_result *point, struct ss_error *error) {
  return ss_store_add(((struct session *)self)->store, point, error);
}

static bool begin(struct ss_results_listener *self, const struct ss_results *blank, struct ss_error *error) {
  struct session *s = (struct session *)self;
  s->writer = (struct ss_results_writer){.stream = s->output.stream,
                                         .scenario = ss_study_name(s->judged.study),
                                         .links = s->arguments->links,
                                         .chosen = ss_study_chose_schemes(s->judged.study)};
  return !s->form->begin || s->form->begin(&s->writer, blank, error);
}

static bool ready(struct ss_results_listener *self, const struct ss_result *points, size_t count,
                  struct ss_error *error) {
  struct session *s = (struct session *)self;
  if (!s->form->more(&s->writer, points, count, error)) return false;
  return fflush(s->output.stream) == 0 || ss_fail(error, SS_MACHINE, "cannot write to standard output");
}

/* What the store keeps, and how to go on with it. */
static void add_hint(const struct ss_store *store, struct ss_error *error) {
  if (store && store->points > 0)
    (void)ss_fail(error, error->status, "%s (%zu finished points are kept in %s: --resume goes on from there)",
                  error->text, store->points, store->path);
}

static void stopped(struct ss_results_listener *self, struct ss_error *error) {
  const struct session *s = (struct session *)self;
  add_hint(s->store, error);
  if (!s->store)
    (void)ss_fail(error, error->status, "%s (with --format json or csv and -o FILE, finished points are kept)",
                  error->text);
}

/* --- where results go ------------------------------------------------------------------------------------- */

static bool to_stdout(const struct ss_call *call) {
  return !call->output || strcmp(call->output, "-") == 0;
}

/* A file that can be renamed over, so that something can stand beside it. */
static bool goes_to_file(const struct ss_call *call) {
  struct stat info;
  return !to_stdout(call) && *call->output && (stat(call->output, &info) != 0 || S_ISREG(info.st_mode));
}

static bool check_options(const struct arguments *a, struct ss_error *error) {
  const struct ss_call *call = &a->call;
  if (!ss_output_has_folder(a->save, error)) return false;
  const bool table = call->format == SS_TABLE || call->format == SS_MARKDOWN;
  if (a->links && (!table || a->baseline))
    return ss_fail(error, SS_BAD_INPUT, "--links adds to the table of results (JSON has \"links\" in every point)");
  if (a->wide && (!table || a->baseline))
    return ss_fail(error, SS_BAD_INPUT, "--wide is another form of the table of results (JSON and CSV have it all)");
  if ((call->request.run.per_rank || call->request.run.per_iteration) && (call->format != SS_JSON || a->baseline))
    return ss_fail(error, SS_BAD_INPUT, "%s adds arrays, which only JSON has room for (--format json)",
                   call->request.run.per_rank ? "--per-rank" : "--per-iteration");
  if (!a->resume) return true;
  if (!goes_to_file(call))
    return ss_fail(error, SS_BAD_INPUT, "--resume needs the -o FILE of the run that it is to go on with");
  if (table) return ss_fail(error, SS_BAD_INPUT, "--resume needs --format json or csv: a table cannot be read back");
  return true;
}

static bool keeps_points(const struct session *s) {
  return (s->call->format == SS_JSON || s->call->format == SS_CSV) && !s->arguments->baseline &&
         !s->arguments->no_partial && goes_to_file(s->call);
}

static bool open_store(struct session *s, struct ss_error *error) {
  size_t dropped;
  if (!keeps_points(s)) return true;
  listen_for_interrupts();
  if (!ss_store_open(s->call->output, s->arguments->resume, s->call->format == SS_JSON, &s->store, &dropped, error))
    return false;
  if (dropped > 0)
    fprintf(stderr, "sparsync run: beginning anew: %s held %zu finished points (--resume would have kept them)\n",
            s->store->path, dropped);
  s->listener.recall = s->arguments->resume ? recall : NULL;
  s->listener.computed = computed;
  return true;
}

/* Standard output gets points as they come; a file appears whole. */
static bool open_stream(struct session *s, struct ss_error *error) {
  if (s->arguments->baseline || !to_stdout(s->call)) return true;
  if (!ss_output_open(NULL, &s->output, error)) return false;
  s->listener.begin = begin;
  s->listener.ready = ready;
  return true;
}

static bool read_baseline(struct session *s, struct ss_error *error) {
  if (!s->arguments->baseline) return true;
  if (!ss_results_read(s->arguments->baseline, &s->stored, error)) return ss_fail_prefix(error, "--baseline");
  if (s->arguments->save && strcmp(s->arguments->save, s->arguments->baseline) == 0)
    ss_input_release(s->arguments->save);
  return ss_node_present(ss_node_get(ss_doc_root(s->stored), "sparsync")) ||
         ss_fail(error, SS_BAD_INPUT,
                 "--baseline: %s: is no baseline (--save-baseline FILE writes one; CSV does not say enough)",
                 s->arguments->baseline);
}

/* What could not be written when all is done is better known at once. */
static bool opened(struct ss_results_listener *self, const struct ss_study *study, struct ss_error *error) {
  struct session *s = (struct session *)self;
  (void)study;
  return ss_output_check(s->call->output, error) && ss_output_check(s->arguments->save, error) &&
         open_store(s, error) && open_stream(s, error);
}

/* A result that was found wrong says that the program is: its other points are worth as little. */
static void close_store(struct ss_store *store, bool ok, struct ss_error *error) {
  const bool keep = !ok && error->status != SS_UNPROVEN;
  const size_t points = store->points;
  if (keep && error->status != SS_CANCELLED) add_hint(store, error);
  if (keep && error->status == SS_CANCELLED && points == 0)
    fprintf(stderr, "\nsparsync run: interrupted: no point is finished\n");
  else if (keep && error->status == SS_CANCELLED)
    fprintf(stderr,
            "\nsparsync run: interrupted: %zu finished point%s kept in %s: the same command with --resume goes on "
            "from there\n",
            points, points == 1 ? " is" : "s are", store->path);
  ss_store_close(store, keep);
  if (interrupted) (void)raise(interrupted);
}

static void close_session(struct session *s, bool ok, struct ss_error *error) {
  if (s->store) close_store(s->store, ok, error);
  if (s->stored) ss_doc_free(s->stored);
  ss_results_writer_free(&s->writer);
  ss_judged_study_close(&s->judged);
}

/* --- results ---------------------------------------------------------------------------------------------- */

/* `inputs`: what the results come of, or NULL. */
static bool write_results(const struct session *s, const struct ss_results_form *form, const char *path,
                          const cJSON *inputs, struct ss_error *error) {
  const struct ss_results_report report = {form, &s->judged.results, ss_study_name(s->judged.study), inputs,
                                           s->arguments->links};
  return ss_output_write(path, ss_results_print, &report, error);
}

static bool write_all(struct session *s, struct ss_error *error) {
  if (s->arguments->baseline) return true;
  if (!s->listener.ready) return write_results(s, s->form, s->call->output, NULL, error);
  return (!s->form->end || s->form->end(&s->writer, &s->judged.results, error)) &&
         ss_output_commit(&s->output, error);
}

static bool compare(const struct session *s, const cJSON *inputs, struct ss_error *error) {
  const struct arguments *a = s->arguments;
  const double tolerance = isnan(a->tolerance) ? 1e-9 : a->tolerance;
  struct ss_diff diff;
  if (!ss_diff_make(s->stored, inputs, &s->judged.results, ss_study_name(s->judged.study), tolerance, &diff, error))
    return false;
  bool ok = ss_call_write(s->call, &diff, ss_diff_table, ss_diff_json, ss_diff_csv, error);
  if (ok && diff.moved + diff.missing > 0)
    ok = ss_fail(error, SS_UNPROVEN,
                 "%s: %zu points moved, %zu are missing (if that is right, --save-baseline %s stores what is now)",
                 a->baseline, diff.moved, diff.missing, a->baseline);
  ss_diff_free(&diff);
  return ok;
}

/* Stored with what they come of, so that a later diff can say what changed. */
static bool use_baselines(const struct session *s, struct ss_error *error) {
  const struct arguments *a = s->arguments;
  if (!a->save && !a->baseline) return true;
  cJSON *inputs = ss_study_inputs(s->judged.study);
  const bool ok = (inputs || ss_fail_memory(error, "comparing results")) &&
                  (!a->save || write_results(s, &ss_results_as_json, a->save, inputs, error)) &&
                  (!a->baseline || compare(s, inputs, error));
  cJSON_Delete(inputs);
  return ok;
}

/* In all processes; but what is read and written besides the scenario is rank 0's. */
static bool run_session(struct session *s, struct ss_request *request, struct ss_error *error) {
  const struct ss_call *call = s->call;
  const struct ss_judged_study *j = &s->judged;
  const bool first = ss_processes_first(request->run.comm);
  request->listener = &s->listener;
  if (request->run.watcher) s->watcher = *request->run.watcher;
  s->watcher.stops = is_interrupted;
  request->run.watcher = &s->watcher;
  if (!ss_communicator_follow(request->run.comm,
                              !first || (check_options(s->arguments, error) && read_baseline(s, error)), error) ||
      !ss_judged_study_make(request, &s->judged, error))
    return false;
  if (!first) return true;
  if (s->arguments->resume && !call->quiet)
    fprintf(stderr, "sparsync run: %zu points were known, the others are computed\n", s->recalled);
  return write_all(s, error) && use_baselines(s, error) &&
         ss_expectations_conclude(&j->expectations, ss_doc_name(ss_study_expect(j->study).doc), error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct session session = {.listener = {.opened = opened, .stopped = stopped},
                            .call = call,
                            .arguments = a,
                            .form = call->format == SS_JSON  ? &ss_results_as_json
                                    : call->format == SS_CSV ? &ss_results_as_csv
                                    : a->links || a->wide    ? &ss_results_as_table
                                                             : &ss_results_in_brief};
  struct ss_error own = {.status = SS_OK};
  const bool ok = run_session(&session, &call->request, &own);
  close_session(&session, ok, &own);
  if (!ok && error) *error = own;
  return ok;
}

static const struct ss_option_spec options[] = {
    {"--resume", SS_FLAG(struct arguments, resume), .with = "-o", .against = "--no-partial --baseline",
     .help = "go on where a run with the same -o FILE was stopped: it kept its finished points in FILE.partial; what "
             "FILE itself holds is not computed again either (json and csv)"},
    {"--no-partial", SS_FLAG(struct arguments, no_partial), .with = "-o", .help = "keep no FILE.partial"},
    {"--save-baseline", SS_TEXT(struct arguments, save), .writes = true, .value = "FILE",
     .help = "store the results, as JSON, to compare with later"},
    {"--baseline", SS_TEXT(struct arguments, baseline), .value = "FILE",
     .help = "print what moved since then instead; status 1 when a point moved or is missing"},
    {"--tolerance", SS_QUANTITY(struct arguments, tolerance, SS_RATIO, 0, 0.5), .with = "--baseline",
     .value = "SHARE", .help = "how far times may move (1e-9, at most 50%); bytes and messages may not"},
    {"--links", SS_FLAG(struct arguments, links),
     .help = "as --wide, and below each table one more: how busy the links of each kind are, and what they carry "
             "(JSON has it always)"},
    {"--wide", SS_FLAG(struct arguments, wide),
     .help =
         "a table below each sentence, with closed forms beside the times, imbalance, and what every column means"},
    SS_OPTION_PATIENCE,
    SS_OPTIONS_SCENARIO(SS_ITERATIONS_OF_TRACE, ", or several: A,B"),
    SS_OPTION_CERTAIN,
    SS_OPTION_OFFERED("schemes"),
    SS_OPTION_TENSOR,
    SS_OPTION_SCHEME,
    SS_OPTION_RANKS,
    SS_OPTION_NO_VERIFY,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_PER_RANK,
    SS_OPTION_PER_ITERATION,
    SS_OPTION_JOBS,
    {.name = NULL}};

const struct ss_command ss_command_run = {
    .name = "run",
    .summary = "simulate the schemes of a scenario",
    .usage = "usage: sparsync run [SCENARIO.json] [OPTION...]\n"
             "       mpirun -n N sparsync run ...          N processes share the points, rank 0 writes\n\n"
             "Simulates every scheme of the scenario at every point of its grid, and proves each result against the "
             "brute-force sum. Prints a sentence for each cell, rank count and tensor as it is known (what is "
             "fastest, by how much, what bounds it), then one table of what decides; closed forms with --wide.\n",
    .examples = "  sparsync run scenarios/demo.json\n"
                "  sparsync run demo --wide\n"
                "  sparsync run --trace traces/bible-kjv-16.safetensors --cluster p3.16xlarge-25g --ranks 4..16\n"
                "  sparsync run scenarios/demo.json --set 'sweep={\"cluster.bandwidth\": [\"10Gbps\", \"100Gbps\"]}' "
                "--format csv\n"
                "  sparsync run --trace traces/wordnet-64.safetensors --scheme allgather,ps --cluster h100-8x8-400g "
                "--ranks 64\n"
                "  sparsync run scenarios/llm-8x8.json --format csv -o llm.csv --resume\n"
                "  sparsync run scenarios/demo.json --save-baseline demo-baseline.json\n"
                "  sparsync run scenarios/demo.json --baseline demo-baseline.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.call.request.run.patience = SS_PATIENCE, .tolerance = NAN},
    .company = SS_TOGETHER_UNDER_MPIRUN,
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
