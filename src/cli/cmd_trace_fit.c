#include "base/json_text.h"
#include "base/units.h"
#include "cli/command.h"
#include "report/table.h"
#include "study/trace_json.h"
#include "trace/measure/extrapolate.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>

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
enum { QUANTITIES = 7 };
static const char *const quantity[QUANTITIES] = {"gamma",      "nnz",           "density",    "bytes",
                                                 "union_rows", "union_density", "union_bytes"};

static struct ss_interval scaled(struct ss_interval e, double factor) {
  return (struct ss_interval){e.value * factor, e.low * factor, e.high * factor};
}

static void list_quantities(const struct ss_tensor *t, const struct ss_fit_point *p, struct ss_interval *out) {
  const double row_bytes = (double)t->row_width * ss_dtype_bytes(t->dtype), share = 1 / (double)t->rows;
  out[0] = p->gamma;
  out[1] = p->nnz;
  out[2] = scaled(p->nnz, share);
  out[3] = scaled(p->nnz, row_bytes);
  out[4] = p->rows;
  out[5] = scaled(p->rows, share);
  out[6] = scaled(p->rows, row_bytes);
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

static void add_measured(cJSON *object, const struct ss_interval *values) {
  for (size_t i = 0; i < QUANTITIES; i++) ss_json_add_number(object, quantity[i], values[i].value);
}

static void add_extrapolated(cJSON *object, const struct ss_interval *values) {
  for (size_t i = 0; i < QUANTITIES; i++) {
    cJSON *bar = cJSON_AddObjectToObject(object, quantity[i]);
    ss_json_add(bar, SS_N("value", values[i].value), SS_N("low", values[i].low), SS_N("high", values[i].high));
  }
}

static cJSON *add_item(cJSON *list) {
  cJSON *item = cJSON_CreateObject();
  cJSON_AddItemToArray(list, item);
  return item;
}

static void add_point(cJSON *list, const struct ss_tensor *tensor, const struct ss_fit_point *p) {
  struct ss_interval values[QUANTITIES];
  cJSON *item = add_item(list);
  cJSON_AddNumberToObject(item, "ranks", p->ranks);
  list_quantities(tensor, p, values);
  if (p->measured) add_measured(cJSON_AddObjectToObject(item, "measured"), values);
  else cJSON_AddNullToObject(item, "measured");
  if (p->measured) cJSON_AddNullToObject(item, "extrapolated");
  else add_extrapolated(cJSON_AddObjectToObject(item, "extrapolated"), values);
}

static void add_model(cJSON *item, const struct ss_tensor_fit *t) {
  cJSON *model = t->fitted ? cJSON_AddObjectToObject(item, "model") : cJSON_AddNullToObject(item, "model");
  if (!t->fitted) return;
  ss_json_add(model, SS_N("a", t->a), SS_N("b", t->b), SS_N("phi", t->phi), SS_N("misfit", expm1(t->misfit)));
}

/* Backtests are relative errors: what the part made of all ranks, over what was measured, less 1. */
static void add_tensor(cJSON *item, const struct ss_tensor_fit *t) {
  ss_json_add(item, SS_T("name", t->tensor.name), SS_N("rows", (double)t->tensor.rows),
              SS_N("row_width", t->tensor.row_width), SS_T("dtype", ss_dtype_name(t->tensor.dtype)));
  add_model(item, t);
  cJSON *points = cJSON_AddArrayToObject(item, "points"), *backtests = cJSON_AddArrayToObject(item, "backtests");
  for (size_t i = 0; i < t->points; i++) add_point(points, &t->tensor, &t->point[i]);
  for (size_t i = 0; i < t->backtests; i++) {
    cJSON *backtest = add_item(backtests);
    ss_json_add(backtest, SS_N("first_rank", t->backtest[i].first), SS_N("ranks", t->held_out),
                SS_N("gamma", expm1(t->backtest[i].gamma)));
  }
}

static bool print_json(const void *found, FILE *stream, struct ss_error *error) {
  const struct result *result = found;
  const struct ss_fit *fit = result->fit;
  char hash[32];
  cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("trace", ss_trace_name(result->trace)),
                               SS_T("trace_hash", ss_trace_hash_text(result->trace, hash, sizeof hash)),
                               SS_N("first_iteration", (double)fit->first),
                               SS_N("iterations", (double)(fit->end - fit->first)), SS_N("from_ranks", fit->ranks));
  cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
  for (size_t i = 0; i < fit->tensors; i++) add_tensor(add_item(tensors), &fit->tensor[i]);
  return ss_json_print_free(root, stream, error);
}

/* --- CSV -------------------------------------------------------------------------------------------------- */

/* "gamma" holds what was measured; "gamma.low", "gamma.extrapolated" and "gamma.high" what was not. */
static struct ss_table *csv_table(void) {
  static const char *const ends[] = {"", ".low", ".extrapolated", ".high"};
  char names[4 * QUANTITIES][32];
  const char *heads[2 + 4 * QUANTITIES] = {"tensor", "ranks"};
  for (size_t i = 0; i < 4 * (size_t)QUANTITIES; i++) {
    (void)snprintf(names[i], sizeof names[i], "%s%s", quantity[i / 4], ends[i % 4]);
    heads[2 + i] = names[i];
  }
  return ss_table_new(sizeof heads / sizeof *heads, heads);
}

static void csv_row(struct ss_table *table, const struct ss_tensor_fit *t, const struct ss_fit_point *p) {
  struct ss_interval values[QUANTITIES];
  list_quantities(&t->tensor, p, values);
  ss_table_cell(table, "%s", t->tensor.name);
  ss_table_cell(table, "%" PRIu32, p->ranks);
  for (size_t i = 0; i < QUANTITIES; i++) {
    ss_table_exact(table, p->measured ? values[i].value : NAN);
    ss_table_exact(table, p->measured ? NAN : values[i].low);
    ss_table_exact(table, p->measured ? NAN : values[i].value);
    ss_table_exact(table, p->measured ? NAN : values[i].high);
  }
}

static bool print_csv(const void *found, FILE *stream, struct ss_error *error) {
  const struct ss_fit *fit = ((const struct result *)found)->fit;
  struct ss_table *table = csv_table();
  for (size_t i = 0; i < fit->tensors; i++)
    for (size_t k = 0; k < fit->tensor[i].points; k++) csv_row(table, &fit->tensor[i], &fit->tensor[i].point[k]);
  return ss_table_print_free(table, true, stream, error);
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
    struct ss_interval values[QUANTITIES];
    list_quantities(&t->tensor, p, values);
    ss_table_cell(table, "%s%" PRIu32, p->measured ? "" : "~", p->ranks);
    bar_cells(table, p->measured, SS_NUMBER, values[0]);
    bar_cells(table, p->measured, SS_RATIO, values[2]);
    bar_cells(table, p->measured, SS_RATIO, values[5]);
    bar_cells(table, p->measured, SS_BYTES, values[6]);
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

static bool fit_trace(struct arguments *a, const struct ss_trace *trace, struct ss_error *error) {
  struct ss_fit *fit;
  default_targets(a, a->options.ranks ? a->options.ranks : ss_trace_ranks(trace));
  a->options.watcher = a->call.request.run.watcher;
  if (!ss_trace_fit(trace, &a->options, &fit, error)) return false;
  const struct result result = {trace, fit};
  const bool good = ss_call_write(&a->call, &result, print_table, print_json, print_csv, error);
  ss_fit_free(fit);
  return good;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  struct ss_trace *trace;
  if (!a->file) return ss_fail(error, SS_BAD_INPUT, "name a trace");
  if (!ss_trace_open(a->file, &trace, error)) return false;
  const bool good = ss_trace_keep(trace, a->tensor, a->tensors, error) && fit_trace(a, trace, error);
  ss_trace_close(trace);
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
             "here: docs/model.md has the formulas and how far off it was where the truth is known. In CSV each "
             "tensor and rank count has a line.\n",
    .examples = "  sparsync trace fit traces/bible-kjv-16.safetensors --ranks 16..256\n"
                "  sparsync trace fit traces/wordnet-64.safetensors --from 16 --ranks 64 --format json\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
