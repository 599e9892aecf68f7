/* CI regression: simulation against the exact closed forms, and scenarios against their own expectations. */
#include "cli/command.h"
#include "query/expectations.h"
#include "report/flat.h"
#include "report/table.h"
#include "study/check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* --- output --------------------------------------------------------------------------------------------- */

static bool print_json(const void *checks, FILE *stream, struct ss_error *error) {
  cJSON *root = ss_checks_json(checks);
  SS_AUTO_FREE char *text = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return text ? fprintf(stream, "%s\n", text) > 0 : ss_fail_memory(error, "printing checks");
}

static bool print_csv(const void *checks, FILE *stream, struct ss_error *error) {
  cJSON *root = ss_checks_json(checks);
  const bool ok = ss_flat_csv_free(cJSON_DetachItemFromObjectCaseSensitive(root, "checks"), stream, error);
  cJSON_Delete(root);
  return ok;
}

struct summary {
  size_t points, wrong;
  double worst, paper_low, paper_high; /* printed over exact */
};

static struct summary summarise(const struct ss_checks *c, size_t from, size_t *to) {
  const struct ss_cost *cost = c->grid.point[from].cost;
  struct summary s = {.paper_low = INFINITY, .paper_high = -INFINITY};
  size_t i = from;
  for (; i < c->grid.count && c->grid.point[i].cost == cost; i++) {
    const struct ss_grid_result *r = &c->result[i];
    s.points++;
    s.wrong += !r->ok;
    if (!(r->relative <= s.worst)) s.worst = r->relative;
    if (!isfinite(r->paper) || !isfinite(r->exact)) continue;
    s.paper_low = fmin(s.paper_low, r->paper / r->exact);
    s.paper_high = fmax(s.paper_high, r->paper / r->exact);
  }
  *to = i;
  return s;
}

static void summary_cells(struct ss_table *table, const struct ss_cost *cost, const struct summary *s) {
  char form[128];
  ss_cost_form_name(cost, form, sizeof form);
  ss_table_cell(table, "%s", form);
  ss_table_cell(table, "%zu", s->points);
  ss_table_cell(table, "%.1e", s->worst);
  ss_table_cell(table, "%s", s->wrong ? "NO" : "yes");
  if (!(s->paper_low <= s->paper_high)) ss_table_cell(table, "%s", "-");
  else if (fabs(s->paper_low - 1) < 1e-9 && fabs(s->paper_high - 1) < 1e-9) ss_table_cell(table, "same");
  else ss_table_cell(table, "%.3f..%.3f", s->paper_low, s->paper_high);
  if (cost->exact) ss_table_cell(table, "%s", cost->exact);
  else ss_table_cell(table, "%s .. %s", cost->exact_low, cost->exact_high);
}

static bool print_table(const void *checks, FILE *stream, struct ss_error *error) {
  const struct ss_checks *c = checks;
  struct ss_table *table = ss_table_of("<form", "points", "worst", "ok", "paper/exact", "<exact form");
  for (size_t i = 0, next; i < c->grid.count; i = next) {
    struct summary s = summarise(c, i, &next);
    summary_cells(table, c->grid.point[i].cost, &s);
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  for (size_t i = 0, next; i < c->grid.count; i = next) {
    const struct ss_cost *cost = c->grid.point[i].cost;
    char form[128];
    ss_cost_form_name(cost, form, sizeof form);
    (void)summarise(c, i, &next);
    if (cost->erratum && cost->printed_in)
      fprintf(stream, "\n%s, as printed in %s: %s", form, cost->printed_in, cost->erratum);
    else if (cost->erratum) fprintf(stream, "\n%s: %s", form, cost->erratum);
  }
  fputc('\n', stream);
  return ok;
}

/* Whoever asks for quiet and for no file wants to know whether all is well: the exit status says so. */
static bool answer(const struct ss_call *call, const struct ss_checks *checks, struct ss_error *error) {
  if (call->quiet && call->format == SS_TABLE && !call->output) return true;
  return ss_call_write(call, checks, print_table, print_json, print_csv, error);
}

/* What the point was held against, in words. */
static void promise(const struct ss_grid_point *p, const struct ss_grid_result *r, char *out, size_t size) {
  const struct ss_cost *cost = p->cost;
  const char *touches = ss_grid_touch_name(p);
  if (cost->exact) snprintf(out, size, "formula \"%s\" gives %.12g s", cost->exact, r->exact);
  else if (touches)
    snprintf(out, size, "%s bound \"%s\", to be reached, is %.12g s", touches,
             p->touches == SS_TOUCH_LOW ? cost->exact_low : cost->exact_high,
             p->touches == SS_TOUCH_LOW ? r->low : r->high);
  else
    snprintf(out, size, "bounds \"%s\" and \"%s\" are %.12g s and %.12g s", cost->exact_low, cost->exact_high, r->low,
             r->high);
}

static bool verdict(const struct ss_checks *c, struct ss_error *error) {
  for (size_t i = 0; i < c->grid.count; i++) {
    const struct ss_grid_point *p = &c->grid.point[i];
    const struct ss_grid_result *r = &c->result[i];
    char promised[600];
    if (r->ok) continue;
    promise(p, r, promised, sizeof promised);
    return ss_fail(
        error, SS_UNPROVEN,
        "%s: at P = %u, %llu rows of %u, %llu non-zero, overlap %s, index_bytes %u, alpha %g s, beta %g s/B: "
        "simulated %.12g s, %s%s%s",
        p->cost->file, p->ranks, (unsigned long long)p->uniform.rows, p->uniform.width,
        (unsigned long long)p->uniform.nnz, ss_grid_input_name(p), p->setting.index_bytes, p->alpha, p->beta,
        r->simulated, promised, p->iterations > 1 ? " (of several iterations, the last)" : "",
        r->proven ? "" : " (the result is not what it should be)");
  }
  return true;
}

/* --- what to check -------------------------------------------------------------------------------------- */

static bool check_scenario(const struct ss_call *call, const char *file, const struct ss_costs *costs,
                           struct ss_error *error) {
  struct ss_study_source request = {.file = file, .costs = costs, .notice = call->request.notice};
  struct ss_study *scenario;
  struct ss_results points = {0};
  if (!ss_study_open(&request, &scenario, error)) return false;
  struct ss_node expect = ss_study_expect(scenario);
  bool ok = ss_expectations_check(scenario, error) && ss_study_run(scenario, &call->options, NULL, &points, error) &&
            ss_expectations_hold(expect, &points, error);
  if (ok && !call->quiet)
    fprintf(stderr, "%s: %zu points, %zu expectations hold\n", file, points.count, ss_node_size(expect));
  ss_results_free(&points);
  ss_study_close(scenario);
  return ok;
}

/* A JSON file that has "schemes" or "trace" is a scenario. */
static bool is_scenario(const char *file) {
  struct ss_doc *doc;
  size_t length = strlen(file);
  if (length < 6 || strcmp(file + length - 5, ".json") != 0 || !ss_doc_read(file, 16 << 20, &doc, NULL)) return false;
  struct ss_node root = ss_doc_root(doc);
  bool yes = ss_node_present(ss_node_get(root, "schemes")) || ss_node_present(ss_node_get(root, "trace"));
  ss_doc_free(doc);
  return yes;
}

static bool check_forms(const struct ss_call *call, const struct ss_costs *costs, struct ss_error *error) {
  struct ss_checks c;
  const bool ok = ss_checks_run(costs, &call->options, &c, error) && answer(call, &c, error) && verdict(&c, error);
  ss_checks_free(&c);
  return ok;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  SS_AUTO_FREE const char **forms = ss_alloc(call->operands, sizeof *forms);
  size_t count = 0;
  struct ss_costs costs;
  bool ok = true;
  if (!forms) return ss_fail_memory(error, "checking");
  for (size_t i = 0; i < call->operands; i++)
    if (!is_scenario(call->operand[i])) forms[count++] = call->operand[i];
  if (count < call->operands) { /* scenarios show closed forms of all schemes */
    if (!ss_costs_open(NULL, 0, &costs, error)) return false;
    for (size_t i = 0; ok && i < call->operands; i++)
      if (is_scenario(call->operand[i])) ok = check_scenario(call, call->operand[i], &costs, error);
    ss_costs_close(&costs);
  }
  if (!ok || (call->operands && count == 0)) return ok;
  if (!ss_costs_open(forms, count, &costs, error)) return false;
  ok = check_forms(call, &costs, error);
  ss_costs_close(&costs);
  return ok;
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--format", SS_CHOICE(struct ss_call, format, ss_formats), .help = "how to write (table)"},
    SS_OPTION_OUTPUT,
    {"--quiet", SS_FLAG(struct ss_call, quiet),
     .help = "no progress bar, and no table on standard output: only what parts, and the exit status"},
    SS_OPTION_JOBS,
    {"--scheme", SS_REFUSED, .help = "name the closed forms to check (sparsync list costs)"},
    {"--ranks", SS_REFUSED, .help = "the grid of the closed form has its rank counts"},
    {.name = NULL}};

const struct ss_command ss_command_check = {
    .name = "check",
    .summary = "hold the simulation against the exact closed forms",
    .usage =
        "usage: sparsync check [FILE...] [OPTION...]\n"
        "\n"
        "Plays every scheme that has an exact closed form, or bounds, over the form's grid of inputs and compares to "
        "1e-9;\n"
        "inputs built to reach a bound must reach it. Shows by how much the paper's printed form differs. Without "
        "FILE: all\n"
        "of models/costs. A FILE may be a closed form (a path, or a name in models/costs) or a scenario with an "
        "\"expect\"\n"
        "list. Status 1 when a point parts.\n",
    .examples = "examples:\n"
                "  sparsync check\n"
                "  sparsync check allgather-ring my-form.json\n"
                "  sparsync check scenarios/demo.json\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
