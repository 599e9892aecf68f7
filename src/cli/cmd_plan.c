/* Which scheme for which tensor: all candidates are simulated, the cheapest is shown with its margin. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "library/request.h"
#include "report/tables.h"
#include "study/placing.h"

struct arguments {
  struct ss_call call;
  bool place;
};

/* What is printed; as a listener it hears over how many iterations times are means, and if kernels are estimated. */
struct answer {
  struct ss_results_listener listener;
  const struct ss_call *call;
  struct ss_answer *answer;
  struct ss_iterations_played iterations;
  bool estimated;
};

static bool begin(struct ss_results_listener *self, const struct ss_results *blank, struct ss_error *error) {
  (void)error;
  ((struct answer *)self)->iterations = ss_results_iterations(blank);
  return true;
}

static bool ready(struct ss_results_listener *self, const struct ss_result *results, size_t count,
                  struct ss_error *error) {
  struct answer *a = (struct answer *)self;
  (void)error;
  a->estimated = a->estimated || ss_results_counted(results, count).estimated;
  return true;
}

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  const struct answer *a = context;
  const struct ss_request *request = &a->call->request;
  if (!ss_plan_table(ss_answer_tree(a->answer), a->iterations, a->estimated, stream, error)) return false;
  if (!(request->lossy && request->model_parallel))
    fprintf(stream, "not considered:%s%s%s\n", request->lossy ? "" : " lossy schemes (--lossy)",
            request->lossy || request->model_parallel ? "" : ",",
            request->model_parallel ? "" : " schemes that need the table cut over ranks (--model-parallel)");
  return true;
}

struct placing_answer {
  const struct ss_call *call;
  const char *scenario;
  const struct ss_placing *placing;
};

static bool print_placing(const void *context, FILE *stream, struct ss_error *error) {
  const struct placing_answer *a = context;
  if (a->call->format == SS_JSON) return ss_json_print_exact(ss_placing_json(a->placing, a->scenario), stream, error);
  if (a->call->format == SS_CSV) return ss_flat_csv_free(ss_placing_rows(a->placing), stream, error);
  return ss_placing_table(a->placing, stream, error);
}

/* Where tables might live, instead of which scheme moves them. */
static bool place(struct ss_call *call, struct ss_error *error) {
  SS_AUTO(ss_placing_close) struct ss_placing placing = {0};
  if (!ss_placing_make(&call->request, &placing, error)) return false;
  const struct placing_answer answer = {call, ss_study_name(placing.study[SS_PLACINGS]), &placing};
  return ss_output_write(call->output, print_placing, &answer, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct answer a = {.listener = {.begin = begin, .ready = ready}, .call = call};
  if (((struct arguments *)call)->place) return place(call, error);
  call->request.turns = true;
  call->request.listener = &a.listener;
  if (!ss_call_ask(call, "plan", &a.answer, error)) return false;
  const bool table = call->format == SS_TABLE || call->format == SS_MARKDOWN;
  const bool ok = table ? ss_output_write(call->output, print, &a, error)
                        : ss_call_write(call, a.answer, NULL, ss_answer_print_json, ss_answer_print_csv, error);
  ss_answer_free(a.answer);
  return ok;
}

static const struct ss_option_spec options[] = {
    SS_OPTIONS_ADMITTED,
    {"--place", SS_FLAG(struct arguments, place), .against = "--placement --lossy --model-parallel --offered",
     .help = "compare where the trace's tables might live, for alltoall:partition=placed; --format json writes the "
             "best as a placement; --scheme alltoall:pooling=sum (or padded): of pooled bags"},
    SS_OPTIONS_SCENARIO(SS_ITERATIONS_OF_TRACE, ", or several: A,B"),
    SS_OPTION_CERTAIN,
    SS_OPTION_OFFERED("schemes"),
    SS_OPTION_TENSOR,
    SS_OPTION_SCHEME,
    SS_OPTION_RANKS,
    SS_OPTION_NO_VERIFY,
    SS_OPTIONS_OUTPUT,
    SS_OPTION_JOBS,
    {.name = NULL}};

const struct ss_command ss_command_plan = {
    .name = "plan",
    .summary = "the cheapest scheme of each tensor",
    .usage =
        "usage: sparsync plan [SCENARIO.json] [OPTION...]\n\n"
        "Simulates every candidate on the scenario's trace and cluster, and prints for each tensor the cheapest, "
        "with its margin to the next. Candidates are the scenario's schemes; without any, all that can run there, "
        "with each of their algorithms and formats (and teams, powers of two), and on nodes of several GPUs also "
        "behind a hierarchy. Its \"expect\" is not read. Where the cluster's window is given, all are simulated "
        "twice, "
        "with it and with another (all, of more than 32 ranks 4; or 1): where another would then be the cheapest, "
        "a warning says so.\n",
    .examples = "  sparsync plan --trace traces/bible-kjv-16.safetensors --cluster p3.16xlarge-25g\n"
                "  sparsync plan scenarios/demo.json --model-parallel\n"
                "  sparsync plan --place --trace traces/lstm-bible-4.safetensors --cluster p3.16xlarge-25g --format "
                "json -o place.json\n"
                "  sparsync plan --trace traces/wordnet-64.safetensors --cluster h100-8x8-400g --ranks 16,64 "
                "--iterations :5\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
