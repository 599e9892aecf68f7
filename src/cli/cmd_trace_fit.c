#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "report/columns.h"
#include "study/trace_json.h"
#include "trace/measure/extrapolate.h"

enum { TARGETS_MAX = 256 };

struct arguments {
  struct ss_call call;
  const char *file, **tensor;
  size_t tensors;
  struct ss_fit_options options;
  uint32_t target[TARGETS_MAX];
};

/* A trace and what was fitted to it. */
struct result {
  const struct ss_trace *trace;
  const struct ss_fit *fit;
};

static bool read_ranks(void *arguments, const char *value, struct ss_error *error) {
  struct arguments *a = arguments;
  a->options.target = a->target;
  return ss_ranks_parse(value, a->target, TARGETS_MAX, &a->options.targets, error);
}

static bool read_iterations(void *arguments, const char *value, struct ss_error *error) {
  struct ss_fit_options *options = &((struct arguments *)arguments)->options;
  return ss_span_parse(value, &options->first, &options->end, error);
}

/* --- what is told of a rank count ------------------------------------------------------------------------- */

/* The quantities of a point, in the order of the CSV. */
enum { GAMMA, NNZ, DENSITY, BYTES, UNION_ROWS, UNION_DENSITY, UNION_BYTES, QUANTITIES };
static const char *const quantity[QUANTITIES] = {"gamma",      "nnz",           "density",    "bytes",
                                                 "union_rows", "union_density", "union_bytes"};

static struct ss_interval scaled(struct ss_interval e, double factor) {
  return (struct ss_interval){e.value * factor, e.low * factor, e.high * factor};
}

static struct ss_interval value_of(const struct ss_tensor *t, const struct ss_fit_point *p, int what) {
  const double row_bytes = (double)t->row_width * ss_dtype_bytes(t->dtype), share = 1 / (double)t->rows;
  const struct ss_interval rows = what < UNION_ROWS ? p->nnz : p->rows;
  if (what == GAMMA) return p->gamma;
  return scaled(rows, what == NNZ || what == UNION_ROWS          ? 1
                      : what == DENSITY || what == UNION_DENSITY ? share
                                                                 : row_bytes);
}

static cJSON *point_json(const struct ss_tensor *tensor, const struct ss_fit_point *p) {
  cJSON *values = cJSON_CreateObject();
  for (int i = 0; i < QUANTITIES; i++) {
    const struct ss_interval e = value_of(tensor, p, i);
    ss_json_add(values, p->measured ? SS_N(quantity[i], e.value)
                                    : SS_J(quantity[i], ss_json_object(SS_N("value", e.value), SS_N("low", e.low),
                                                                       SS_N("high", e.high))));
  }
  return ss_json_object(SS_N("ranks", p->ranks), SS_J("measured", p->measured ? values : cJSON_CreateNull()),
                        SS_J("extrapolated", p->measured ? cJSON_CreateNull() : values));
}

/* Backtests are relative errors: what the part made of all ranks, over what was measured, less 1. */
static cJSON *tensor_json(const struct ss_tensor_fit *t) {
  cJSON *points = cJSON_CreateArray(), *backtests = cJSON_CreateArray();
  cJSON *model = t->fitted ? ss_json_object(SS_N("a", t->a), SS_N("b", t->b), SS_N("phi", t->phi),
                                            SS_N("misfit", expm1(t->misfit)))
                           : cJSON_CreateNull();
  for (size_t i = 0; i < t->points; i++) cJSON_AddItemToArray(points, point_json(&t->tensor, &t->point[i]));
  for (size_t i = 0; i < t->backtests; i++)
    cJSON_AddItemToArray(backtests,
                         ss_json_object(SS_N("first_rank", t->backtest[i].first), SS_N("ranks", t->held_out),
                                        SS_N("gamma", expm1(t->backtest[i].gamma))));
  return ss_json_object(SS_T("name", t->tensor.name), SS_N("rows", (double)t->tensor.rows),
                        SS_N("row_width", t->tensor.row_width), SS_T("dtype", ss_dtype_name(t->tensor.dtype)),
                        SS_J("model", model), SS_J("points", points), SS_J("backtests", backtests));
}

static bool print_json(const void *found, FILE *stream, struct ss_error *error) {
  const struct result *result = found;
  const struct ss_fit *fit = result->fit;
  char hash[32];
  cJSON *tensors = cJSON_CreateArray();
  for (size_t i = 0; i < fit->tensors; i++) cJSON_AddItemToArray(tensors, tensor_json(&fit->tensor[i]));
  return ss_json_print_free(ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("trace", ss_trace_name(result->trace)),
                                           SS_T("trace_hash", ss_trace_hash_text(result->trace, hash, sizeof hash)),
                                           SS_N("first_iteration", (double)fit->first),
                                           SS_N("iterations", (double)(fit->end - fit->first)),
                                           SS_N("from_ranks", fit->ranks), SS_J("tensors", tensors)),
                            stream, error);
}

/* "gamma" holds what was measured; "gamma.low", "gamma.extrapolated" and "gamma.high" what was not. */
static bool print_csv(const void *found, FILE *stream, struct ss_error *error) {
#define COLUMNS(name)                                                                                                \
  {name, "measured." name, SS_EXACT}, {name ".low", "extrapolated." name ".low", SS_EXACT},                          \
      {name ".extrapolated", "extrapolated." name ".value", SS_EXACT}, {                                             \
    name ".high", "extrapolated." name ".high", SS_EXACT                                                             \
  }
  static const struct ss_column columns[] = {{"tensor", "tensor", NULL}, {"ranks", "ranks", SS_EXACT},
                                             COLUMNS("gamma"),           COLUMNS("nnz"),
                                             COLUMNS("density"),         COLUMNS("bytes"),
                                             COLUMNS("union_rows"),      COLUMNS("union_density"),
                                             COLUMNS("union_bytes")};
  const struct ss_fit *fit = ((const struct result *)found)->fit;
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < fit->tensors; i++)
    for (size_t k = 0; k < fit->tensor[i].points; k++) {
      cJSON *point = point_json(&fit->tensor[i].tensor, &fit->tensor[i].point[k]);
      ss_json_add(point, SS_T("tensor", fit->tensor[i].tensor.name));
      cJSON_AddItemToArray(list, point);
    }
  return ss_records_print(columns, list, true, stream, error);
}

/* --- table ------------------------------------------------------------------------------------------------ */

static void bar_cells(struct ss_table *table, bool measured, enum ss_dimension dimension, struct ss_interval e) {
  char text[3][32];
  const double values[] = {e.low, e.value, e.high};
  if (isnan(e.value)) {
    ss_table_texts(table, "-", "");
    return;
  }
  for (int i = 0; i < 3; i++) {
    if (dimension == SS_BYTES) (void)ss_units_format(text[i], sizeof text[i], SS_BYTES, values[i]);
    else if (dimension == SS_RATIO) (void)snprintf(text[i], sizeof text[i], "%.3g%%", 100 * values[i]);
    else (void)snprintf(text[i], sizeof text[i], "%.4g", values[i]);
  }
  ss_table_cell(table, "%s%s", measured ? "" : "~", text[1]);
  if (measured) ss_table_cell(table, "%s", "");
  else ss_table_cell(table, "%s..%s", text[0], text[2]);
}

static bool print_tensor(const struct ss_tensor_fit *t, FILE *stream, struct ss_error *error) {
  struct ss_table *table = ss_table_of("ranks", "gamma", "<low..high", "density of a rank", "<low..high",
                                       "of the union", "<low..high", "bytes of the union", "<low..high");
  for (size_t i = 0; i < t->points; i++) {
    const struct ss_fit_point *p = &t->point[i];
    ss_table_cell(table, "%s%" PRIu32, p->measured ? "" : "~", p->ranks);
    bar_cells(table, p->measured, SS_NUMBER, value_of(&t->tensor, p, GAMMA));
    bar_cells(table, p->measured, SS_RATIO, value_of(&t->tensor, p, DENSITY));
    bar_cells(table, p->measured, SS_RATIO, value_of(&t->tensor, p, UNION_DENSITY));
    bar_cells(table, p->measured, SS_BYTES, value_of(&t->tensor, p, UNION_BYTES));
  }
  return ss_table_print_free(table, false, stream, error);
}

static void print_fit(const struct ss_tensor_fit *t, uint32_t ranks, FILE *stream) {
  double worst = 0;
  if (!t->fitted) {
    (void)fputs("nobody looks anything up: there is nothing to extrapolate\n", stream);
    return;
  }
  for (size_t i = 0; i < t->backtests; i++)
    if (fabs(t->backtest[i].gamma) > fabs(worst)) worst = t->backtest[i].gamma;
  (void)fprintf(stream, "fit: a %.3g, b %.3g, phi ", t->a, t->b);
  if (isinf(t->phi)) (void)fputs("not told by one iteration", stream);
  else (void)fprintf(stream, "%.3g", t->phi);
  (void)fprintf(stream, "; fitted on %" PRIu32 " ranks only, gamma(%" PRIu32 ") was at worst %+.1f%% off\n",
                t->held_out, ranks, 100 * expm1(worst));
}

static bool print_table(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_fit *fit = ((const struct result *)found)->fit;
  (void)fprintf(stream,
                "iterations %" PRIu64 " to %" PRIu64 ", fitted on %" PRIu32 " ranks; ~ marks what is extrapolated\n",
                fit->first, fit->end - 1, fit->ranks);
  for (size_t i = 0; i < fit->tensors; i++) {
    (void)fprintf(stream, "\n%s, %" PRIu64 " x %" PRIu32 " %s\n", fit->tensor[i].tensor.name,
                  fit->tensor[i].tensor.rows, fit->tensor[i].tensor.row_width,
                  ss_dtype_name(fit->tensor[i].tensor.dtype));
    if (!print_tensor(&fit->tensor[i], stream, error)) return false;
    print_fit(&fit->tensor[i], fit->ranks, stream);
  }
  (void)fputs("\ngamma: unique rows of all ranks together, in units of one rank's\n"
              "low..high: where 95% of the truths should lie, if the ranks to come are like those that are here\n",
              stream);
  return true;
}

/* --- command ---------------------------------------------------------------------------------------------- */

/* The ranks of the fit, and 2, 4 and 8 times as many. */
static void default_targets(struct arguments *a, uint32_t ranks) {
  if (a->options.targets > 0) return;
  a->options.target = a->target;
  for (uint32_t times = 1; times <= 8; times *= 2) a->target[a->options.targets++] = times * ranks;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  struct ss_fit *fit;
  if (!a->file) return ss_fail(error, SS_BAD_INPUT, "name a trace");
  if (!ss_trace_open(a->file, &trace, error) || !ss_trace_keep(trace, a->tensor, a->tensors, error)) return false;
  default_targets(a, a->options.ranks ? a->options.ranks : ss_trace_ranks(trace));
  a->options.watcher = call->request.run.watcher;
  if (!ss_trace_fit(trace, &a->options, &fit, error)) return false;
  const bool good = ss_call_write(call, &(struct result){trace, fit}, print_table, print_json, print_csv, error);
  ss_fit_free(fit);
  return good;
}

static const struct ss_option_spec options[] = {
    {"", SS_TEXT(struct arguments, file), .value = "file"},
    {"--ranks", SS_OTHER(read_ranks), .value = "LIST",
     .help = "rank counts to tell of, 8,16 or 8..512 (.. doubles; default: those of the fit, and 2, 4 and 8 times as "
             "many)"},
    {"--from", SS_COUNT32(struct arguments, options.ranks, 1, SS_RANKS_MAX), .value = "N",
     .help = "fit on the first N ranks only (default all; at least 4, at most 1024)"},
    {"--iterations", SS_OTHER(read_iterations), .value = "A:B", .help = "only iterations A to B-1 (default all)"},
    SS_OPTION_TENSOR_OF(SS_TEXTS(struct arguments, tensor, tensors)),
    SS_OPTIONS_OUTPUT,
    SS_OPTION_MEMORY,
    {.name = NULL}};

const struct ss_command ss_command_trace_fit = {
    .name = "fit",
    .summary = "gamma, density and bytes beyond the captured ranks, with an error bar",
    .usage = "usage: sparsync trace fit FILE [OPTION...]\n\n"
             "What more ranks would bring: gamma(k), density and bytes beyond the ranks that a trace has. How "
             "popular rows are over ranks is fitted to how many ranks have each row, in one iteration and in any of "
             "them; rows that nobody has seen yet are part of the fit. The bar (low, high) is where 95% of the "
             "truths should lie, judged by what the same method makes of quarters of the ranks; estimates are marked "
             "~ in the table and stand apart in the JSON. It supposes that the ranks to come are like those that are "
             "here: docs/ranges.md has the formulas and how far off it was where the truth is known. In CSV each "
             "tensor and rank count has a line.\n",
    .examples = "  sparsync trace fit traces/bible-kjv-16.safetensors --ranks 16..256\n"
                "  sparsync trace fit traces/wordnet-64.safetensors --from 16 --ranks 64 --format json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
