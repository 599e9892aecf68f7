/* Closed forms: the formulas' symbols and functions against plain C, the files they stand in, which of them a setting
 * has, what is measured of an input against counting by hand, and the grids that `check` plays. */
#include "scheme_cases.h"

#include "cost/cost.h"
#include "cost/formula.h"
#include "cost/grid.h"
#include "cost/measure.h"

#include <unistd.h>

/* --- formulas -------------------------------------------------------------------------------------------- */

/* An odd densification ratio, so that a wrong argument shows. */
static double odd_gamma(const void *context, double k) {
  return *(const double *)context * sqrt(k) + k / 7;
}
static const double odd = 0.75;

static struct ss_symbols some_symbols(double P) {
  return (struct ss_symbols){.P = P,
                             .alpha = 3e-6,
                             .beta = 7e-10,
                             .M = 1e6,
                             .R = 1000,
                             .w = 96,
                             .v = 2,
                             .nnz = 125,
                             .lookups = 201,
                             .index_bytes = 8,
                             .S = 5,
                             .s_1 = 1.25,
                             .s_P = 3.5,
                             .gamma = odd_gamma,
                             .gamma_context = &odd};
}

static double value_of(const char *formula, const struct ss_symbols *symbols) {
  struct ss_error error;
  double value;
  if (!ss_formula_evaluate(formula, symbols, &value, &error)) fail_msg("%s", error.text);
  return value;
}

static void check_value(const char *formula, const struct ss_symbols *symbols, double wanted) {
  double got = value_of(formula, symbols);
  if (!close_to(got, wanted, 1e-14)) fail_msg("%s at P = %g is %.17g, not %.17g", formula, symbols->P, got, wanted);
}

static void symbols_mean_what_they_say(void **state) {
  struct ss_symbols s = some_symbols(11);
  const struct {
    const char *name;
    double value;
  } symbols[] = {
      {"P", 11},
      {"alpha", 3e-6},
      {"beta", 7e-10},
      {"M", 1e6},
      {"R", 1000},
      {"w", 96},
      {"v", 2},
      {"nnz", 125},
      {"lookups", 201},
      {"S", 5},
      {"index_bytes", 8},
      {"s_1", 1.25},
      {"s_P", 3.5},
      {"L", 3},
      {"Q", 8},
      {"q", 3},
      {"f", 1},
      {"y", 125 * 96 * 2},
      {"d", 0.125},
      {"x", 125 * 200},
      {"ceil(2.25)", 3},
      {"ceil(0-2.25)", -2},
      {"floor(2.75)", 2},
      {"floor(0-2.25)", -3},
      {"ceil(4)", 4},
      {"log2(8)", 3},
      {"min(3, 2)", 2},
      {"max(3, 2)", 3},
      {"sqrt(9)", 3},
      {"2^3^2", 512},
      {"-2+5", 3},
      {"P/S*(1+q)", 11 / 5.0 * 4},
      {"(P-1)*(alpha + x*beta)", 10 * (3e-6 + 25000 * 7e-10)},
  };
  (void)state;
  for (uint32_t i = 0; i < COUNT(symbols); i++) check_value(symbols[i].name, &s, symbols[i].value);
  check_value("gamma", &s, odd_gamma(&odd, 11));
  check_value("gamma(4)", &s, odd_gamma(&odd, 4));
  check_value("gamma(P) - gamma", &s, 0);
  s.R = 0;
  check_value("d", &s, 0);
}

static void powers_of_two_and_sums_are_those_of_any_number_of_ranks(void **state) {
  (void)state;
  for (uint32_t P = 1; P <= 70; P++) {
    struct ss_symbols s = some_symbols(P);
    uint32_t L = 0, q, fold = 0;
    double gammas = 0;
    while (2u << L <= P) L++;
    q = P - (1u << L);
    for (uint32_t i = 0; i < L; i++) fold += q < 1u << i ? q : 1u << i;
    for (uint32_t reach = 1; reach < P; reach *= 2) gammas += odd_gamma(&odd, reach);
    check_value("L", &s, L);
    check_value("Q", &s, 1u << L);
    check_value("q", &s, q);
    check_value("f", &s, q > 0);
    check_value("fold_sum(P)", &s, fold);
    check_value("gamma_sum(P)", &s, gammas);
  }
}

static void wrong_formulas_are_refused_and_quoted(void **state) {
  static const char *const wrong[] = {
      "",          "P+",         "(P",         "P)",      "P P",         "*P",
      "foo",       "P + bar(3)", "alpha beta", "1/0",     "0/0",         "P/(P-P)",
      "log2(0-1)", "sqrt(0-1)",  "1e308*10",   "gamma()", "gamma(1, 2)", "p",
      "\"text\"",  "fold_sum()", "ceil",       "2 $ 3",   "log2(0)",
  };
  struct ss_symbols s = some_symbols(4);
  (void)state;
  for (uint32_t i = 0; i < COUNT(wrong); i++) {
    struct ss_error error = {.status = SS_OK};
    double value = 42;
    if (ss_formula_evaluate(wrong[i], &s, &value, &error)) fail_msg("\"%s\" has the value %g", wrong[i], value);
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (!strstr(error.text, wrong[i])) fail_msg("\"%s\" does not quote \"%s\"", error.text, wrong[i]);
    assert_true(value > 41 && value < 43);
  }
  s.gamma = NULL;
  struct ss_error error;
  double value;
  assert_false(ss_formula_evaluate("gamma(2)", &s, &value, &error));
  assert_true(ss_formula_evaluate("alpha", &s, &value, &error)); /* gamma is not asked */
}

static void sums_over_huge_arguments_end(void **state) {
  struct ss_symbols s = some_symbols(6);
  struct ss_error error;
  double value;
  (void)state;
  alarm(20);
  (void)!ss_formula_evaluate("gamma_sum(1e300)", &s, &value, &error);
  (void)!ss_formula_evaluate("gamma_sum(1/0)", &s, &value, &error);
  (void)!ss_formula_evaluate("gamma_sum(0/0) + gamma_sum(0-1)", &s, &value, &error);
  check_value("fold_sum(1e300)", &s, 3); /* min(2, 1) + min(2, 2) */
  alarm(0);
}

/* --- files ----------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/sparsync-cost-XXXXXX", path[64];

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/form.json", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void write_form(const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static bool open_form(const char *text, struct ss_costs *costs, struct ss_error *error) {
  const char *const files[] = {path};
  write_form(text);
  return ss_costs_open(files, 1, costs, error);
}

static void wrong_files_are_refused(void **state) {
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"", "form.json"},
      {"[]", "form.json"},
      {"{}", "scheme"},
      {"{\"scheme\": 3}", "scheme"},
      {"{\"scheme\": \"allgathr\"}", "allgathr"},
      {"{\"scheme\": \"ps\", \"exact\": 3}", "exact"},
      {"{\"scheme\": \"ps\", \"paper\": [\"x\"]}", "paper"},
      {"{\"scheme\": \"ps\", \"paper_low\": true}", "paper_low"},
      {"{\"scheme\": \"ps\", \"paper_high\": {}}", "paper_high"},
      {"{\"scheme\": \"ps\", \"printed_in\": 1}", "printed_in"},
      {"{\"scheme\": \"ps\", \"assumes\": 1}", "assumes"},
      {"{\"scheme\": \"ps\", \"erratum\": 1}", "erratum"},
      {"{\"scheme\": \"ps\", \"exakt\": \"x\"}", "exact"},
      {"{\"scheme\": \"ps\", \"scheme\": \"ps\"}", "scheme"},
      {"{\"scheme\": \"ps\", \"when\": [\"pull\"]}", "when"},
      {"{\"scheme\": \"ps\", \"when\": {\"pul\": \"rows\"}}", "pul"},
      {"{\"scheme\": \"allgather\", \"when\": {\"pull\": \"rows\"}}", "pull"},
      {"{\"scheme\": \"allgather\", \"when\": {\"algorithm\": \"rings\"}}", "algorithm"},
      {"{\"scheme\": \"allgather\", \"when\": {\"separate\": 1}}", "separate"},
      {"{\"scheme\": \"ps\", \"when\": {\"servers\": \"x\"}}", "servers"},
      {"{\"scheme\": \"ps\", \"when\": {\"granularity\": \"rows\"}}", "granularity"},
      {"{\"scheme\": \"ps\", \"when\": {\"sizes\": 3}}", "sizes"},
  };
  const char *const absent[] = {"/nonexistent/form.json"}, *const misnamed[] = {"allgather-rng"};
  struct ss_costs costs;
  struct ss_error error;
  (void)state;
  for (uint32_t i = 0; i < COUNT(wrong); i++) {
    error = (struct ss_error){.status = SS_OK};
    if (open_form(wrong[i].text, &costs, &error)) fail_msg("%s is taken for a closed form", wrong[i].text);
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (!strstr(error.text, wrong[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, wrong[i].says);
    assert_true(costs.count == 0 && !costs.cost && !costs.doc);
  }
  assert_false(ss_costs_open(absent, 1, &costs, &error));
  assert_false(ss_costs_open(misnamed, 1, &costs, &error));
  assert_non_null(strstr(error.text, "allgather-ring"));
}

static void forms_evaluate_and_absent_ones_are_nan(void **state) {
  struct ss_symbols s = some_symbols(4);
  struct ss_cost_values v;
  struct ss_costs costs;
  struct ss_error error;
  (void)state;
  assert_true(open_form("{\"scheme\": \"ps\", \"exact\": \"P*alpha\", \"paper\": null, \"paper_low\": \"2\", "
                        "\"paper_high\": \"M\"}",
                        &costs, &error));
  assert_true(ss_cost_evaluate(&costs.cost[0], &s, &v, &error));
  assert_true(close_to(v.exact, 12e-6, 1e-15) && isnan(v.paper) && close_to(v.paper_low, 2, 0) &&
              close_to(v.paper_high, 1e6, 0));
  ss_costs_close(&costs);
  static const char *const forms[] = {"exact", "paper", "paper_low", "paper_high"};
  for (uint32_t i = 0; i < COUNT(forms); i++) {
    char text[100];
    snprintf(text, sizeof text, "{\"scheme\": \"ps\", \"%s\": \"P+\"}", forms[i]);
    assert_true(open_form(text, &costs, &error));
    assert_false(ss_cost_evaluate(&costs.cost[0], &s, &v, &error));
    assert_non_null(strstr(error.text, "form.json"));
    ss_costs_close(&costs);
  }
}

/* --- which form a setting has ----------------------------------------------------------------------------- */

static uint64_t is(const struct ss_setting *s, const char *option) {
  return ss_setting_value(s, option);
}

static const char *chosen(const struct ss_setting *s, const char *option) {
  for (uint32_t i = 0; s->scheme->options[i].name; i++)
    if (strcmp(s->scheme->options[i].name, option) == 0) return s->scheme->options[i].choices[s->value[i]];
  return "";
}

static bool has(const struct ss_setting *s, const char *option, const char *choice) {
  return strcmp(chosen(s, option), choice) == 0;
}

static void name_ps(const struct ss_setting *s, char *name, size_t size) {
  const char *colocated = is(s, "colocated") ? "-colocated" : "";
  if (is(s, "dense")) snprintf(name, size, "ps%s-dense", colocated);
  else if (has(s, "pull", "rows")) snprintf(name, size, "ps%s-rows", colocated);
  else if (has(s, "pull", "union")) snprintf(name, size, is(s, "colocated") ? "ps-colocated" : "ps-union");
}

static void name_alltoall(const struct ss_setting *s, char *name, size_t size) {
  const char *ids = is(s, "gather_ids") ? "-ids" : "", *element = s->element ? "-element" : "";
  if (has(s, "partition", "row")) {
    if (!is(s, "gather_ids") && !s->element && has(s, "exchange", "both")) snprintf(name, size, "alltoall-row");
  } else if (has(s, "exchange", "lookups")) {
    snprintf(name, size, "alltoall-lookups%s", ids);
  } else {
    snprintf(name, size, "alltoall-%s%s%s", chosen(s, "exchange"), ids, element);
  }
}

/* The name of the file whose form holds, from the model's table; "" for none. Forms hold for sizes that come free. */
static void name_form(const struct ss_setting *s, char *name, size_t size) {
  const char *scheme = s->scheme->name;
  *name = '\0';
  if (s->exchange_sizes) return;
  if (strcmp(scheme, "allreduce") == 0) snprintf(name, size, "allreduce-%s", chosen(s, "algorithm"));
  if (strcmp(scheme, "allgather") == 0)
    snprintf(name, size, "allgather-%s%s", chosen(s, "algorithm"), is(s, "separate") ? "-separate" : "");
  if (strcmp(scheme, "ps") == 0) name_ps(s, name, size);
  if (strcmp(scheme, "alltoall") == 0) name_alltoall(s, name, size);
}

static void a_setting_has_the_form_of_its_options(void **state) {
  struct ss_costs costs;
  struct ss_error error;
  uint32_t found = 0;
  (void)state;
  if (!ss_costs_open(NULL, 0, &costs, &error)) fail_msg("%s", error.text);
  for (size_t i = 0; ss_schemes()[i]; i++) {
    struct cases cases = {.scheme = ss_schemes()[i], .ranks = 4, .nodes = 4};
    struct ss_setting s;
    while (cases_next(&cases, &s))
      for (uint32_t way = 0; way < 4; way++) {
        char wanted[100], words[400];
        s.element = way % 2;
        s.exchange_sizes = way / 2;
        name_form(&s, wanted, sizeof wanted);
        const struct ss_cost *cost = ss_costs_find(&costs, &s);
        const char *file = cost ? strrchr(cost->file, '/') + 1 : ".json";
        size_t length = strlen(wanted);
        if (strncmp(file, wanted, length) != 0 || strcmp(file + length, ".json") != 0)
          fail_msg("%s: form \"%s\", not \"%s\"", setting_text(&s, words, sizeof words), file, wanted);
        found += cost != NULL;
      }
  }
  assert_true(found > 60);
  ss_costs_close(&costs);
}

static void the_first_form_that_is_met_counts(void **state) {
  struct ss_setting s = {.scheme = ss_scheme_find("ps"), .value = {2, 1, 0, 0}, .index_bytes = 4};
  static const struct {
    const char *when;
    bool element, exchanged, met;
  } forms[] = {
      {"{}", false, false, true},
      {"{}", true, false, true},
      {"{}", false, true, false},
      {"{\"sizes\": \"exchanged\"}", false, true, true},
      {"{\"sizes\": \"exchanged\"}", false, false, false},
      {"{\"sizes\": \"free\"}", false, false, true},
      {"{\"sizes\": \"free\"}", false, true, false},
      {"{\"granularity\": \"element\"}", true, false, true},
      {"{\"granularity\": \"element\"}", false, false, false},
      {"{\"granularity\": \"row\"}", false, false, true},
      {"{\"granularity\": \"row\"}", true, false, false},
      {"{\"servers\": 2}", false, false, true},
      {"{\"servers\": 3}", false, false, false},
      {"{\"pull\": \"rows\"}", false, false, true},
      {"{\"pull\": \"union\"}", false, false, false},
      {"{\"colocated\": false, \"servers\": 2}", false, false, true},
      {"{\"colocated\": true, \"servers\": 2}", false, false, false},
      {"{\"colocated\": false, \"dense\": true}", false, false, false},
  };
  (void)state;
  for (uint32_t i = 0; i < COUNT(forms); i++) {
    struct ss_costs costs;
    struct ss_error error;
    char text[200];
    snprintf(text, sizeof text, "{\"scheme\": \"ps\", \"when\": %s}", forms[i].when);
    if (!open_form(text, &costs, &error)) fail_msg("%s", error.text);
    s.element = forms[i].element;
    s.exchange_sizes = forms[i].exchanged;
    if ((ss_costs_find(&costs, &s) != NULL) != forms[i].met)
      fail_msg("%s is%s met", forms[i].when, forms[i].met ? " not" : "");
    ss_costs_close(&costs);
  }
}

/* --- measures --------------------------------------------------------------------------------------------- */

static uint64_t cut(uint64_t n, uint32_t p, uint32_t j) {
  return n * j / p;
}

/* Largest density of P even ranges over the density of all. */
static double skew(const bool *has, uint64_t rows, uint32_t P) {
  double most = 0, all = 0;
  for (uint64_t row = 0; row < rows; row++) all += has[row];
  for (uint32_t j = 0; j < P; j++) {
    double n = 0, size = (double)(cut(rows, P, j + 1) - cut(rows, P, j));
    for (uint64_t row = cut(rows, P, j); row < cut(rows, P, j + 1); row++) n += has[row];
    if (size > 0) most = fmax(most, n / size);
  }
  return most / (all / (double)rows);
}

static void measures_are_what_counting_gives(void **state) {
  struct ss_setting s = {.scheme = ss_scheme_find("allgather"), .value = {0, 0, 1}, .index_bytes = 4};
  struct ss_arena arena = {0};
  (void)state;
  for (uint32_t seed = 1; seed <= 200; seed++) {
    struct dice dice = {.seed = seed};
    uint32_t P = dice_between(&dice, 1, 12), rows = dice_between(&dice, 1, dice_one_in(&dice, 3) ? P : 300);
    struct ss_trace *trace = ragged_trace(&dice, (enum shape)(seed % SHAPES), P, rows, 3, SS_F32);
    struct ss_origin origin = {.trace = trace, .merge = 1};
    struct ss_input in = ragged_input(trace, 1, &s, false, &arena);
    bool *mine = calloc(rows, sizeof *mine), *any = calloc(rows, sizeof *any);
    double nnz = 0, lookups = 0, all = 0, s_1 = 0, ranks = 0;
    struct ss_measure m;
    struct ss_error error;
    assert_true(mine && any);
    assert_true(ss_measure_input(&in, &origin, &m, &error));
    for (uint32_t r = 0; r < P; r++) {
      uint64_t n = ss_trace_count(trace, 0, 0, r);
      uint32_t *ids = calloc(n + 1, sizeof *ids);
      assert_non_null(ids);
      ss_trace_rows(trace, 0, 0, r, ids);
      memset(mine, 0, rows * sizeof *mine);
      for (uint64_t i = 0; i < n; i++) mine[ids[i]] = any[ids[i]] = true;
      for (uint32_t row = 0; row < rows; row++) nnz += mine[row] / (double)P;
      lookups += (double)n / P;
      if (n > 0) s_1 += skew(mine, rows, P), ranks++;
      free(ids);
    }
    for (uint32_t row = 0; row < rows; row++) all += any[row];
    assert_true(close_to(m.nnz, nnz, 1e-12) && close_to(m.lookups, lookups, 1e-12));
    assert_true(close_to(m.density, nnz / rows, 1e-12));
    if (all > 0) {
      if (!close_to(m.gamma, all / nnz, 1e-12) || !close_to(m.s_P, skew(any, rows, P), 1e-12) ||
          !close_to(m.s_1, s_1 / ranks, 1e-12))
        fail_msg("seed %u: gamma %g, s_1 %g, s_P %g", seed, m.gamma, m.s_1, m.s_P);
    } else {
      assert_true(isnan(m.gamma) && isnan(m.s_1) && isnan(m.s_P));
    }
    free(mine);
    free(any);
    ss_trace_close(trace);
    ss_arena_reset(&arena);
  }
  ss_arena_free(&arena);
}

static void counts_alone_tell_what_uniform_inputs_are(void **state) {
  static const double wanted[] = {1, 4, NAN};
  const uint64_t counts[] = {32, 32, 32, 32};
  struct ss_input in = {
      .ranks = 4, .rows = 512, .width = 3, .value_bytes = 2, .even = true, .count = counts, .lookups = counts};
  (void)state;
  for (int overlap = SS_OVERLAP_FULL; overlap <= SS_OVERLAP_RANDOM; overlap++) {
    struct ss_origin origin = {.merge = 1, .uniform = {512, 32, 3, 2, (enum ss_overlap)overlap, 1}};
    struct ss_measure m;
    struct ss_symbols s = {.alpha = 5, .beta = 6, .S = 7};
    struct ss_error error;
    assert_true(ss_measure_input(&in, &origin, &m, &error));
    assert_true(close_to(m.nnz, 32, 0) && close_to(m.lookups, 32, 0) && close_to(m.density, 0.0625, 0));
    assert_true(close_to(m.s_1, 1, 0) && close_to(m.s_P, 1, 0));
    assert_true(isnan(wanted[overlap]) ? isnan(m.gamma) : close_to(m.gamma, wanted[overlap], 0));
    m.gamma = 2.5, m.s_1 = 1.5, m.s_P = 1.75, m.lookups = 40;
    ss_measure_symbols(&m, &in, 4, 8, &s);
    check_value("P + 10*alpha + 100*beta + 1000*S", &s, 4 + 50 + 600 + 7000);
    check_value("M", &s, 512 * 3 * 2);
    check_value("R + w/8 + v/16", &s, 512 + 3 / 8.0 + 2 / 16.0);
    check_value("x", &s, 32 * (6 + 8));
    check_value("nnz + lookups*1000", &s, 32 + 40000);
    check_value("s_1 + 10*s_P", &s, 19);
    check_value("gamma(1) + 10*gamma(4) + 100*gamma", &s, 1 + 25 + 250);
  }
}

/* --- grids ------------------------------------------------------------------------------------------------ */

#define GRID_OF(P, d, M, alpha, beta, rest)                                                                          \
  "{\"scheme\": \"allgather\", \"when\": {\"algorithm\": \"ring\"}, \"exact\": \"(P-1)*(alpha+x*beta)\", \"grid\": " \
  "{\"P\": " P ", \"d\": " d ", \"M\": " M ", \"alpha\": " alpha ", \"beta\": " beta ", " rest "}}"
#define GRID(P, d, M, rest) GRID_OF(P, d, M, "[\"1us\", \"50us\"]", "[1e-9]", rest)

static bool add_grid(const char *text, struct ss_grid *grid, struct ss_costs *costs, struct ss_error *error) {
  *grid = (struct ss_grid){0};
  if (!open_form(text, costs, error)) fail_msg("%s", error->text);
  return ss_grid_add(grid, &costs->cost[0], error);
}

static void grids_that_cannot_be_played_are_refused(void **state) {
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"{\"scheme\": \"allgather\", \"exact\": \"P\"}", "grid"},
      {"{\"scheme\": \"allgather\", \"exact\": \"P\", \"grid\": {}}", "P"},
      {"{\"scheme\": \"allgather\", \"exact\": \"P\", \"grid\": []}", "grid"},
      {GRID("[]", "[1]", "[\"1kB\"]", "\"row_width\": 4"), "P"},
      {GRID("4", "[1]", "[\"1kB\"]", "\"row_width\": 4"), "P"},
      {GRID("[1]", "[1]", "[\"1kB\"]", "\"row_width\": 4"), "2 to 65536"},
      {GRID("[2.5]", "[1]", "[\"1kB\"]", "\"row_width\": 4"), "2 to 65536"},
      {GRID("[65537]", "[1]", "[\"1kB\"]", "\"row_width\": 4"), "2 to 65536"},
      {GRID("[-2]", "[1]", "[\"1kB\"]", "\"row_width\": 4"), "P"},
      {GRID("[2]", "[0]", "[\"1kB\"]", "\"row_width\": 4"), "d"},
      {GRID("[2]", "[1.5]", "[\"1kB\"]", "\"row_width\": 4"), "density"},
      {GRID("[2]", "[0.123456789012345]", "[\"1kB\"]", "\"row_width\": 4"), "density"},
      {GRID("[2]", "[1]", "[\"1 parsec\"]", "\"row_width\": 4"), "M"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"row_width\": 0"), "row_width"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"overlap\": [\"full\"]"), "row_width"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"row_width\": 4, \"overlap\": [\"half\"]"), "overlap"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"row_width\": 4, \"overlap\": []"), "overlap"},
      {GRID("[4]", "[\"1/2\"]", "[\"1kB\"]", "\"row_width\": 4, \"overlap\": [\"none\"]"), "overlap"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"row_width\": 4, \"options\": [{\"algoritm\": \"ring\"}]"), "algorithm"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"row_width\": 4, \"options\": [{\"algorithm\": \"rings\"}]"), "ring"},
      {GRID("[2]", "[1]", "[\"1kB\"]", "\"row_width\": 4, \"depth\": 3"), "depth"},
      {GRID_OF("[2]", "[1]", "[\"1kB\"]", "[0]", "[1e-9]", "\"row_width\": 4"), "alpha"},
      {GRID_OF("[2]", "[1]", "[\"1kB\"]", "[\"1us\"]", "[-1]", "\"row_width\": 4"), "beta"},
      {"{\"scheme\": \"ps\", \"exact\": \"P\", \"grid\": {\"P\": [2], \"d\": [1], \"M\": [\"1kB\"], \"alpha\": [1], "
       "\"beta\": [1], \"row_width\": 4, \"options\": [{\"servers\": 3}]}}",
       "servers"},
  };
  (void)state;
  for (uint32_t i = 0; i < COUNT(wrong); i++) {
    struct ss_error error = {.status = SS_OK};
    struct ss_grid grid;
    struct ss_costs costs;
    if (add_grid(wrong[i].text, &grid, &costs, &error)) fail_msg("%s is a grid", wrong[i].text);
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (!strstr(error.text, wrong[i].says)) fail_msg("\"%s\" does not say \"%s\"", error.text, wrong[i].says);
    ss_grid_free(&grid);
    ss_costs_close(&costs);
  }
}

/* Plays all points; returns how many agree with the form. */
static uint32_t play_grid(const struct ss_grid *grid) {
  struct ss_arena arena = {0};
  struct ss_coalesce_scratch scratch = {0};
  uint32_t agree = 0;
  for (size_t i = 0; i < grid->count; i++) {
    struct ss_grid_result r;
    struct ss_error error;
    if (!ss_grid_play(&grid->point[i], &arena, &scratch, &r, &error)) fail_msg("%s", error.text);
    assert_true(r.simulated > 0 && close_to(r.relative, fabs(r.simulated - r.exact) / r.exact, 1e-12));
    agree += r.ok;
  }
  ss_arena_free(&arena);
  ss_coalesce_free(&scratch);
  return agree;
}

static void grids_have_all_their_points(void **state) {
  struct ss_error error;
  struct ss_grid grid;
  struct ss_costs costs;
  uint32_t verified = 0;
  (void)state;
  if (!add_grid(GRID("[2, 5]", "[\"1/8\", 1]", "[\"1kB\", \"3kB\", \"10kB\"]",
                     "\"row_width\": 4, \"options\": [{}, {\"index_bytes\": 0}, {\"separate\": false}]"),
                &grid, &costs, &error))
    fail_msg("%s", error.text);
  assert_int_equal(grid.count, 2 * 2 * 3 * 2 * 3);
  for (size_t i = 0; i < grid.count; i++) {
    const struct ss_grid_point *p = &grid.point[i];
    assert_true(p->uniform.rows % p->ranks == 0 && p->uniform.nnz % p->ranks == 0 && p->uniform.width == 4);
    assert_true(p->uniform.rows * 16 >= 1000);
    verified += p->verify;
  }
  assert_true(verified >= grid.count / 2);
  assert_int_equal(play_grid(&grid), grid.count);
  ss_grid_free(&grid);
  ss_costs_close(&costs);
}

/* A form that is off by 2 in a billion is off. */
static void a_wrong_form_does_not_agree(void **state) {
  static const char *const forms[] = {"(P-1)*(alpha+x*beta)*(1+2e-9)", "(P-1)*(alpha+x*beta)*(1-2e-9)",
                                      "P*(alpha+x*beta)", "(P-1)*(alpha+y*beta)", "(P-1)*alpha"};
  (void)state;
  for (uint32_t i = 0; i < COUNT(forms); i++) {
    struct ss_error error;
    struct ss_grid grid;
    struct ss_costs costs;
    char text[500];
    snprintf(
        text, sizeof text,
        "{\"scheme\": \"allgather\", \"exact\": \"%s\", \"grid\": {\"P\": [3], \"d\": [\"1/4\"], \"M\": [\"10kB\"], "
        "\"alpha\": [\"10us\"], \"beta\": [1e-9], \"row_width\": 4}}",
        forms[i]);
    if (!add_grid(text, &grid, &costs, &error)) fail_msg("%s", error.text);
    assert_int_equal(play_grid(&grid), 0);
    ss_grid_free(&grid);
    ss_costs_close(&costs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symbols_mean_what_they_say),
      cmocka_unit_test(powers_of_two_and_sums_are_those_of_any_number_of_ranks),
      cmocka_unit_test(wrong_formulas_are_refused_and_quoted),
      cmocka_unit_test(sums_over_huge_arguments_end),
      cmocka_unit_test(wrong_files_are_refused),
      cmocka_unit_test(forms_evaluate_and_absent_ones_are_nan),
      cmocka_unit_test(a_setting_has_the_form_of_its_options),
      cmocka_unit_test(the_first_form_that_is_met_counts),
      cmocka_unit_test(measures_are_what_counting_gives),
      cmocka_unit_test(counts_alone_tell_what_uniform_inputs_are),
      cmocka_unit_test(grids_that_cannot_be_played_are_refused),
      cmocka_unit_test(grids_have_all_their_points),
      cmocka_unit_test(a_wrong_form_does_not_agree),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
