/* Which scheme for which tensor: all candidates are simulated, the cheapest is shown with its margin. */
#include "base/file.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/request.h"
#include "report/plan.h"

#include <string.h>

static const char help[] =
    "usage: sparsync plan [SCENARIO.json] [OPTION...]\n"
    "\n"
    "Simulates every candidate on the scenario's trace and cluster, and prints for each tensor the cheapest, with "
    "its\n"
    "margin to the next. Candidates are the scenario's schemes; without any, all that can run there, with each of\n"
    "their algorithms and formats, and on nodes of several GPUs also behind a hierarchy. Its \"expect\" is not "
    "read.\n"
    "\n"
    "  --lossy              admit schemes that do not end with the exact sum\n"
    "  --model-parallel     admit schemes that need the table cut over ranks\n"
    "\n"
    "  --set PATH=VALUE     change any field of the scenario (repeatable): --set cluster.bandwidth=100Gbps\n"
    "  --trace FILE         the trace             --cluster NAME     a file of models/clusters, or a path\n"
    "  --scheme A,B         the candidates        --ranks 4,8|4..64  rank counts (.. doubles)\n"
    "  --bandwidth RATE     of the cluster        --latency TIME     of the cluster\n"
    "  --iterations A:B     of the trace          --merge N          turn each N ranks into one\n"
    "  --device NAME        count kernels         --no-verify        skip the proof (faster, less memory)\n"
    "  --format table|json|csv, -o FILE           what and where to write (a file appears whole or not at all)\n"
    "  --jobs N             threads (all cores)   --quiet            no progress bar\n"
    "\n"
    "examples:\n"
    "  sparsync plan --trace traces/bible-kjv-16.safetensors --cluster p3.16xlarge-25g\n"
    "  sparsync plan scenarios/demo.json --model-parallel\n"
    "  sparsync plan --trace traces/wordnet-64.safetensors --cluster h100-8x8-400g --ranks 16,64 --iterations :5\n";

static bool print(const struct ss_call *call, const char *name, const struct ss_plan *plan, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(call->output, &output, error)) return false;
  bool ok = call->format == SS_JSON  ? ss_json_print_exact(ss_plan_json(plan, name), output.stream, error)
            : call->format == SS_CSV ? ss_plan_csv(plan, output.stream, error)
                                     : ss_plan_table(plan, name, output.stream, error);
  if (ok && call->format == SS_TABLE && !(call->request.lossy && call->request.model_parallel))
    fprintf(output.stream, "not considered:%s%s%s\n", call->request.lossy ? "" : " lossy schemes (--lossy)",
            call->request.lossy || call->request.model_parallel ? "" : ",",
            call->request.model_parallel ? "" : " schemes that need the table cut over ranks (--model-parallel)");
  if (ok) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool make_plan(const struct ss_call *call, struct ss_error *error) {
  struct ss_study *scenario;
  struct ss_results points = {0};
  struct ss_plan plan = {0};
  if (!ss_study_open(&call->request, &scenario, error)) return false;
  bool ok = ss_study_run(scenario, &call->options, NULL, &points, error) && ss_plan_make(&points, &plan, error) &&
            print(call, ss_study_name(scenario), &plan, error);
  ss_plan_free(&plan);
  ss_results_free(&points);
  ss_study_close(scenario);
  return ok;
}

static bool own(void *context, const char *name, const char *value, struct ss_error *error) {
  struct ss_study_source *request = context;
  (void)value;
  (void)error;
  if (strcmp(name, "lossy") == 0) request->lossy = true;
  else request->model_parallel = true;
  return true;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {{"lossy", false},     {"model-parallel", false},
                                                {"trace", true},      {"scheme", true},
                                                {"cluster", true},    {"ranks", true},
                                                {"bandwidth", true},  {"latency", true},
                                                {"iterations", true}, {"merge", true},
                                                {"device", true},     {"set", true},
                                                {"format", true},     {"o", true},
                                                {"jobs", true},       {"no-verify", false},
                                                {"quiet", false},     {"help", false},
                                                {.name = NULL}};
  struct ss_study_source admitted = {0};
  struct ss_call call;
  if (!ss_call_parse_scenario(argc, argv, specs, own, &admitted, &call, error)) return false;
  call.request.plan = true;
  call.request.lossy = admitted.lossy;
  call.request.model_parallel = admitted.model_parallel;
  const bool ok = call.help ? fputs(help, stdout) >= 0 : make_plan(&call, error);
  ss_call_free(&call);
  return ok;
}

const struct ss_command ss_command_plan = {
    .name = "plan", .summary = "the cheapest scheme of each tensor", .help = help, .run = run};
