/* What lies between the wire and the clock, out of iteration times; and how good it is. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "query/answers.h"
#include "query/calibrate_training_request.h"
#include "report/tables.h"

struct arguments {
  struct ss_call call;
  unsigned printed; /* of `formats` */
};
static const char *const formats[] = {"table", "markdown", "json", "csv", NULL};

static bool write_answer(const struct arguments *a, bool validated, cJSON *answer, struct ss_error *error) {
  static ss_printer *const printers[] = {ss_validation_table, ss_validation_markdown, ss_validation_json,
                                         ss_validation_csv};
  return ss_output_write(a->call.output, validated ? printers[a->printed] : ss_validation_json, answer, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  SS_AUTO(ss_calibrate_training_close) struct ss_calibrate_training_request q = {.times = NULL};
  SS_AUTO_JSON cJSON *answer = NULL;
  if (!ss_request_object(&call->request, "calibrate", &doc, error) ||
      !ss_calibrate_training_read(ss_doc_root(doc), &q, error))
    return false;
  if (!q.validate && a->printed > 0)
    return ss_fail(error, SS_BAD_INPUT, "--format is for --validate: what is inferred is JSON");
  return ss_calibrate_training_answer(&q, &call->request, &answer, error) &&
         write_answer(a, q.validate, answer, error);
}

static const struct ss_option_spec options[] = {
    {"", SS_FIELD, .field = "times"},
    {"--fit", SS_FIELDS("fit"), .value = "UNKNOWN[@workload|@system|@cluster[=NAME]],...",
     .help = "what is inferred (repeatable): compute, software.step, software.step_per_byte, software.call, "
             "software.copy, interference, host.bandwidth, goodput; one number for all trainings, or one for each "
             "workload, system or cluster"},
    {"--where", SS_FIELDS("where"), .value = "COLUMN=VALUE",
     .help = "only such lines of the table (repeatable): --where testbed=spardl"},
    {"--validate", SS_FIELD,
     .help = "nothing inferred, but how far off predictions are of what was left out of the fit: each number, each "
             "system, each rank count, each workload"},
    {"--format", SS_CHOICE(struct arguments, printed, formats), .help = "with --validate, how to write (table)"},
    SS_ASKS("--name", "NAME", "of what is inferred (default: the table's)"),
    SS_OPTION_OUTPUT,
    SS_OPTION_QUIET,
    SS_OPTION_JOBS,
    {.name = NULL}};

const struct ss_command ss_command_calibrate_training = {
    .name = "training",
    .summary = "what trainings take beside the wire, inferred from their times",
    .usage =
        "usage: sparsync calibrate training TIMES.csv --fit UNKNOWN,... [OPTION...]\n"
        "       sparsync calibrate training TIMES.csv --fit UNKNOWN,... --validate\n\n"
        "Fits what nobody measured (software, computing, goodput of links) to iteration times that somebody did, and "
        "to ratios of them, and writes what train takes as \"--software\", with ranges and accuracy. The table has "
        "columns workload, system, cluster (names or files; a capture is a workload), ranks, quantity (iteration, "
        "speed, compute, stall, communication, hidden) and value with its unit; of a ratio what it is `of`. There "
        "may be no more unknowns than a third of the numbers (docs/calibration.md, \"Trainings\").\n",
    .examples =
        "  sparsync calibrate training times.csv --fit compute,software.step -o software.json\n"
        "  sparsync calibrate training models/measured/papers.csv --where testbed=spardl \\\n"
        "    --fit software.step@workload,software.step_per_byte --validate\n"
        "  sparsync train --workload spardl-vgg-16 --cluster rtx2080ti-1gbe --ranks 6 --software software.json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
