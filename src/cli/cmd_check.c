/* CI regression: simulation against the exact closed forms, and scenarios against their own expectations. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cost/grid.h"
#include "report/flat.h"
#include "report/nullable.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct checks {
  const struct ss_call *call;
  struct ss_grid grid;
  struct ss_grid_result *result;
};

static bool play_all(struct checks *c, const struct ss_run_options *options, struct ss_error *error) {
  size_t failed = SIZE_MAX;
  struct ss_progress progress = ss_progress_begin("points", c->grid.count, options->quiet);
  c->result = ss_alloc_zero(c->grid.count, sizeof *c->result);
  if (!c->result) return ss_fail_memory(error, "checking");
#pragma omp parallel num_threads(options->jobs ? (int)options->jobs : omp_get_num_procs())
  {
    struct ss_arena arena = {0};
    struct ss_coalesce_scratch scratch = {0};
#pragma omp for schedule(dynamic, 4)
    for (size_t i = 0; i < c->grid.count; i++) {
      struct ss_error mine;
      bool ok = ss_grid_play(&c->grid.point[i], &arena, &scratch, &c->result[i], &mine);
#pragma omp critical
      {
        if (!ok && i < failed) {
          failed = i;
          if (error) *error = mine;
        }
        ss_progress_step(&progress);
      }
    }
    ss_arena_free(&arena);
    ss_coalesce_free(&scratch);
  }
  ss_progress_end(&progress);
  return failed == SIZE_MAX;
}

/* --- output --------------------------------------------------------------------------------------------- */

static void form_name(const struct ss_cost *cost, char *out, size_t size) {
  const char *slash = strrchr(cost->file, '/');
  snprintf(out, size, "%s", slash ? slash + 1 : cost->file);
  char *dot = strrchr(out, '.');
  if (dot) *dot = '\0';
}

static const char *input_name(const struct ss_grid_point *p) {
  static const char *const overlaps[] = {
      [SS_OVERLAP_FULL] = "full", [SS_OVERLAP_NONE] = "none", [SS_OVERLAP_RANDOM] = "random"};
  return p->gradient.elements > 0 ? "gradient" : overlaps[p->uniform.overlap];
}

static const char *touch_name(const struct ss_grid_point *p) {
  static const char *const touches[] = {[SS_TOUCH_NONE] = NULL, [SS_TOUCH_LOW] = "low", [SS_TOUCH_HIGH] = "high"};
  return touches[p->touches];
}

static cJSON *place_json(const struct ss_grid_point *p) {
  cJSON *at = cJSON_CreateObject();
  char form[128];
  form_name(p->cost, form, sizeof form);
  cJSON_AddStringToObject(at, "form", form);
  cJSON_AddNumberToObject(at, "P", p->ranks);
  cJSON_AddNumberToObject(at, "rows", (double)p->uniform.rows);
  cJSON_AddNumberToObject(at, "row_width", p->uniform.width);
  cJSON_AddNumberToObject(at, "d", (double)p->uniform.nnz / (double)p->uniform.rows);
  cJSON_AddStringToObject(at, "overlap", input_name(p));
  if (p->gradient.elements > 0) cJSON_AddNumberToObject(at, "rho", p->gradient.rho);
  cJSON_AddNumberToObject(at, "iterations", (double)p->iterations);
  cJSON_AddNumberToObject(at, "index_bytes", p->setting.index_bytes);
  cJSON_AddNumberToObject(at, "alpha", p->alpha);
  cJSON_AddNumberToObject(at, "beta", p->beta);
  cJSON_AddBoolToObject(at, "verify", p->verify);
  return at;
}

static cJSON *point_json(const struct ss_grid_point *p, const struct ss_grid_result *r) {
  cJSON *o = cJSON_CreateObject();
  const char *touches = touch_name(p);
  cJSON_AddStringToObject(o, "scheme", p->setting.scheme->name);
  cJSON_AddItemToObject(o, "point", place_json(p));
  cJSON_AddNumberToObject(o, "simulated_s", r->simulated);
  ss_json_add_number(o, "exact_s", r->exact);
  ss_json_add_number(o, "low_s", r->low);
  ss_json_add_number(o, "high_s", r->high);
  cJSON_AddItemToObject(o, "touches", touches ? cJSON_CreateString(touches) : cJSON_CreateNull());
  ss_json_add_number(o, "paper_s", r->paper);
  ss_json_add_number(o, "relative", r->relative);
  cJSON_AddBoolToObject(o, "ok", r->ok);
  return o;
}

static bool print_list(const struct checks *c, enum ss_format format, FILE *stream, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "checks");
  bool ok = true;
  for (size_t i = 0; i < c->grid.count; i++) cJSON_AddItemToArray(list, point_json(&c->grid.point[i], &c->result[i]));
  if (format == SS_CSV) {
    ok = ss_flat_csv(list, stream, error);
  } else {
    char *text = cJSON_PrintUnformatted(root);
    ok = text ? fprintf(stream, "%s\n", text) > 0 : ss_fail_memory(error, "printing checks");
    free(text);
  }
  cJSON_Delete(root);
  return ok;
}

struct summary {
  size_t points, wrong;
  double worst, paper_low, paper_high; /* printed over exact */
};

static struct summary summarise(const struct checks *c, size_t from, size_t *to) {
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
  form_name(cost, form, sizeof form);
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

static bool print_rows(const struct checks *c, FILE *stream, struct ss_error *error) {
  static const char *const heads[] = {"<form", "points", "worst", "ok", "paper/exact", "<exact form"};
  struct ss_table *table = ss_table_new(6, heads);
  if (!table) return ss_fail_memory(error, "printing checks");
  for (size_t i = 0, next; i < c->grid.count; i = next) {
    struct summary s = summarise(c, i, &next);
    summary_cells(table, c->grid.point[i].cost, &s);
  }
  bool ok = ss_table_print(table, stream, error);
  ss_table_free(table);
  for (size_t i = 0, next; i < c->grid.count; i = next) {
    const struct ss_cost *cost = c->grid.point[i].cost;
    char form[128];
    form_name(cost, form, sizeof form);
    (void)summarise(c, i, &next);
    if (cost->erratum && cost->printed_in)
      fprintf(stream, "\n%s, as printed in %s: %s", form, cost->printed_in, cost->erratum);
    else if (cost->erratum) fprintf(stream, "\n%s: %s", form, cost->erratum);
  }
  fputc('\n', stream);
  return ok;
}

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  const struct checks *c = context;
  return c->call->format == SS_TABLE ? print_rows(c, stream, error) : print_list(c, c->call->format, stream, error);
}

/* Whoever asks for quiet and for no file wants to know whether all is well: the exit status says so. */
static bool answer(const struct checks *c, struct ss_error *error) {
  const struct ss_call *call = c->call;
  if (call->options.quiet && call->format == SS_TABLE && !call->output) return true;
  return ss_output_write(call->output, print, c, error);
}

/* What the point was held against, in words. */
static void promise(const struct ss_grid_point *p, const struct ss_grid_result *r, char *out, size_t size) {
  const struct ss_cost *cost = p->cost;
  const char *touches = touch_name(p);
  if (cost->exact) snprintf(out, size, "formula \"%s\" gives %.12g s", cost->exact, r->exact);
  else if (touches)
    snprintf(out, size, "%s bound \"%s\", to be reached, is %.12g s", touches,
             p->touches == SS_TOUCH_LOW ? cost->exact_low : cost->exact_high,
             p->touches == SS_TOUCH_LOW ? r->low : r->high);
  else
    snprintf(out, size, "bounds \"%s\" and \"%s\" are %.12g s and %.12g s", cost->exact_low, cost->exact_high, r->low,
             r->high);
}

static bool verdict(const struct checks *c, struct ss_error *error) {
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
        (unsigned long long)p->uniform.nnz, input_name(p), p->setting.index_bytes, p->alpha, p->beta, r->simulated,
        promised, p->iterations > 1 ? " (of several iterations, the last)" : "",
        r->proven ? "" : " (the result is not what it should be)");
  }
  return true;
}

/* --- what to check -------------------------------------------------------------------------------------- */

static bool check_scenario(const struct ss_call *call, const char *file, const struct ss_costs *costs,
                           struct ss_error *error) {
  struct ss_request request = {.file = file};
  struct ss_scenario *scenario;
  struct ss_points points = {0};
  if (!ss_scenario_open(&request, &scenario, error)) return false;
  struct ss_node expect = ss_scenario_expect(scenario);
  bool ok = ss_expect_check(scenario, error) &&
            ss_points_run(scenario, costs, &call->options, NULL, &points, error) &&
            ss_points_expect(&points, expect, error);
  if (ok && !call->options.quiet)
    fprintf(stderr, "%s: %zu points, %zu expectations hold\n", file, points.count, ss_node_size(expect));
  ss_points_free(&points);
  ss_scenario_close(scenario);
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
  struct checks c = {.call = call};
  bool ok = true;
  for (size_t i = 0; ok && i < costs->count; i++)
    if (costs->cost[i].exact || costs->cost[i].exact_low) ok = ss_grid_add(&c.grid, &costs->cost[i], error);
  ok = ok && play_all(&c, &call->options, error) && answer(&c, error) && verdict(&c, error);
  ss_grid_free(&c.grid);
  free(c.result);
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
    {"--quiet", SS_FLAG(struct ss_call, options.quiet),
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
