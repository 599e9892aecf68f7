#include "base/file.h"
#include "cli/command.h"
#include "cli/request.h"

static const char help[] =
    "usage: sparsync run [SCENARIO.json] [OPTION...]\n"
    "\n"
    "Simulates every scheme of the scenario at every point of its grid, proves each result against the brute-force\n"
    "sum, and prints the times beside the closed forms.\n"
    "\n";
static const char examples[] =
    "\n"
    "examples:\n"
    "  sparsync run scenarios/demo.json\n"
    "  sparsync run --trace traces/bible-kjv-16.safetensors --cluster p3.16xlarge-25g --ranks 4..16\n"
    "  sparsync run scenarios/demo.json --set 'sweep={\"cluster.bandwidth\": [\"10Gbps\", \"100Gbps\"]}' --format "
    "csv\n"
    "  sparsync run --trace traces/wordnet-64.safetensors --scheme allgather,ps --cluster h100-8x8-400g --ranks 64\n";

static const struct ss_points_form *form_of(const struct ss_call *call) {
  return call->format == SS_JSON ? &ss_points_json : call->format == SS_CSV ? &ss_points_csv : &ss_points_table;
}

static bool print(const struct ss_call *call, const struct ss_scenario *scenario, const struct ss_points *points,
                  struct ss_error *error) {
  struct ss_output output;
  const char *name = ss_scenario_name(scenario);
  if (!ss_output_open(call->output, &output, error)) return false;
  if (ss_points_print(form_of(call), points, name, output.stream, error)) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool run_scenario(const struct ss_call *call, struct ss_error *error) {
  struct ss_scenario *scenario;
  struct ss_costs costs;
  struct ss_points points = {0};
  if (!ss_scenario_open(&call->request, &scenario, error)) return false;
  if (!ss_costs_open(NULL, 0, &costs, error)) {
    ss_scenario_close(scenario);
    return false;
  }
  bool ok = ss_expect_check(scenario, error) && ss_points_run(scenario, &costs, &call->wish, NULL, &points, error) &&
            print(call, scenario, &points, error) && ss_points_expect(&points, ss_scenario_expect(scenario), error);
  ss_points_free(&points);
  ss_costs_close(&costs);
  ss_scenario_close(scenario);
  return ok;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {SS_COMMON_OPTIONS};
  struct ss_call call;
  if (!ss_call_parse(argc, argv, specs, NULL, NULL, &call, error)) return false;
  bool ok;
  if (call.help) {
    ok = printf("%s%s%s", help, ss_common_help, examples) > 0;
  } else if (call.operands > 1) {
    ok = ss_fail(error, SS_BAD_INPUT, "one scenario is enough: \"%s\" is left over", call.operand[1]);
  } else {
    call.request.file = call.operands ? call.operand[0] : NULL;
    ok = run_scenario(&call, error);
  }
  ss_call_free(&call);
  return ok;
}

const struct ss_command ss_command_run = {
    .name = "run", .summary = "simulate the schemes of a scenario", .help = help, .run = run};
