#include "query/own_form.h"

#include "base/csv.h"
#include "base/data.h"
#include "base/file.h"
#include "base/suggest.h"
#include "cost/foreign.h"

enum { SYMBOLS_MAX = 32, SCHEDULES_MAX = 1024 };

/* Rounding alone. */
static const double EXACT = 1e-9;

struct play {
  const char *file;
  double bytes; /* NaN: the form's */
};
struct form {
  const char *file, *formula;
  double latency, bandwidth, bytes; /* NaN: not said */
  struct ss_node symbols, schedules, where;
  const char *times; /* a CSV; NULL: none */
  double within;
  struct ss_variable variable[4 + SYMBOLS_MAX]; /* P, M, alpha, beta, and those of "symbols" */
  size_t variables;
  size_t points;
  struct ss_verdicts *out;
};

static bool keep(struct ss_node node, void *out, struct ss_error *error) {
  (void)error;
  *(struct ss_node *)out = node;
  return true;
}

#define PLAY(member) SS_STORED(struct play, member)
static const struct ss_field_spec play_fields[] = {
    {"file", NULL, SS_IS_NAME, .required = true, PLAY(file)}, {"M", NULL, SS_IS_BYTES, PLAY(bytes)}, {.name = NULL}};
static const struct ss_object_spec play_spec = {.field = play_fields};
static const struct ss_field_spec play_forms[] = {
    {NULL, "GOAL, or JSON of rounds", SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&play_spec)}, {.name = NULL}};
static const struct ss_field_spec a_play = {NULL, NULL, SS_IS_EITHER(play_forms)};

#define FORM(member) SS_STORED(struct form, member)
static const struct ss_field_spec any_text = {NULL, NULL, SS_IS_TEXT}, any_number = {NULL, NULL, SS_IS_NUMBER};
static const struct ss_object_spec where_spec = {.others = &any_text}, symbols_spec = {.others = &any_number};
static const struct ss_field_spec measured_fields[] = {
    {"file", "a CSV with the columns ranks, bytes (M) and seconds", SS_IS_NAME, .required = true, FORM(times)},
    {"within", "how far from the formula a time may be", SS_IS_SHARE, .required = true, FORM(within)},
    {"where", "rows that count: columns and what they say", SS_IS_OBJECT(&where_spec), .read = keep, FORM(where)},
    {.name = NULL}};
static const struct ss_object_spec measured_spec = {.field = measured_fields};

static bool read_measured(struct ss_node node, void *form, struct ss_error *error) {
  return ss_object_read(&measured_spec, node, form, error);
}

static const struct ss_field_spec fields[] = {
    {"name", NULL, SS_IS_NAME},
    SS_SPEC_SUMMARY,
    {"formula", "seconds, of P, M, alpha, beta and \"symbols\"", SS_IS_NAME, .required = true, FORM(formula)},
    {"latency", "alpha", SS_IS_TIME, .required = true, FORM(latency)},
    {"bandwidth", "1 / beta", SS_IS_RATE, .required = true, FORM(bandwidth)},
    {"M", "bytes, where a schedule does not say its own", SS_IS_BYTES, FORM(bytes)},
    {"symbols", NULL, SS_IS_OBJECT(&symbols_spec), .read = keep, FORM(symbols)},
    {"schedules", "that take what the formula says, to 1e-9", SS_IS_LIST(&a_play, 1, SCHEDULES_MAX), .read = keep,
     FORM(schedules)},
    {"measured", NULL, SS_IS_OBJECT(&measured_spec), .read = read_measured},
    SS_SPEC_SOURCE,
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_own_form_fields = {
    .name = "own-form",
    .title = "A closed form of one's own",
    .says = "A formula that `sparsync check` holds against schedules from files, and measured times",
    .field = fields};

/* --- points ----------------------------------------------------------------------------------------------------- */

/* Where nobody says M, no formula finds it. */
static void set_bytes(struct form *f, double bytes) {
  f->variable[1] = (struct ss_variable){isnan(bytes) ? "M_is_not_said" : "M", bytes};
}

static bool add_symbols(struct form *f, struct ss_error *error) {
  f->variable[0] = (struct ss_variable){"P", NAN};
  set_bytes(f, f->bytes);
  f->variable[2] = (struct ss_variable){"alpha", f->latency};
  f->variable[3] = (struct ss_variable){"beta", 1 / f->bandwidth};
  f->variables = 4;
  if (!ss_node_present(f->symbols)) return true;
  if (ss_node_size(f->symbols) > SYMBOLS_MAX)
    return ss_node_fail(f->symbols, error, "more than %d symbols", SYMBOLS_MAX);
  for (struct ss_node n = ss_node_first(f->symbols); ss_node_present(n); n = ss_node_next(n)) {
    for (size_t i = 0; i < f->variables; i++)
      if (strcmp(f->variable[i].name, ss_node_key(n)) == 0) return ss_node_fail(n, error, "is a symbol already");
    f->variable[f->variables++] = (struct ss_variable){ss_node_key(n), n.at->valuedouble};
  }
  return true;
}

/* The formula cannot be evaluated: where, and what it may name. */
static bool fail_symbols(const struct form *f, struct ss_error *error) {
  const char *names[5 + SYMBOLS_MAX] = {NULL};
  char all[400];
  size_t n = 0;
  for (size_t i = 0; i < f->variables; i++)
    if (i != 1 || !isnan(f->variable[i].value)) names[n++] = f->variable[i].name;
  ss_fail_prefix(error, "%s", f->file);
  return ss_fail(error, SS_BAD_INPUT, "%s; it may name %s%s", error ? error->text : "",
                 ss_words_join(names, " and ", all, sizeof all),
                 isnan(f->variable[1].value) ? " (\"M\" is not said)" : "");
}

/* Holds the time against the formula, as the variables stand. */
static bool judge(struct form *f, size_t verdict, const char *source, double seconds, double within,
                  struct ss_error *error) {
  double promised;
  if (!ss_expression_evaluate(f->formula, f->variable, f->variables, &promised, error)) return fail_symbols(f, error);
  struct ss_verdict *v = &f->out->verdict[verdict];
  const size_t index = f->points++;
  v->points++;
  cJSON *record = ss_json_object(SS_N("ranks", f->variable[0].value), SS_T("cluster", source), SS_T("tensor", ""),
                                 SS_J("at", ss_json_object(SS_N("M", f->variable[1].value))), SS_N("time_s", seconds),
                                 SS_N("formula_s", promised));
  if (!cJSON_AddItemToArray(f->out->results, record)) return ss_fail_memory(error, "checking");
  if (fabs(seconds - promised) <= within * fabs(promised)) return true;
  f->out->failed += v->misses == 0;
  return ss_verdict_add_miss(v, (struct ss_miss){record, index, "seconds", seconds, promised}) ||
         ss_fail_memory(error, "checking");
}

static bool add_verdict(struct form *f, const char *text, struct ss_error *error) {
  struct ss_verdict *v = ss_verdicts_add(f->out);
  if (!v || !(v->text = strdup(text))) return ss_fail_memory(error, "checking");
  v->share = NAN;
  return true;
}

static bool play_one(struct form *f, struct ss_node node, struct ss_error *error) {
  struct play play = {NULL, NAN};
  char path[PATH_MAX];
  struct ss_foreign *schedule;
  double seconds;
  if (ss_node_is_text(node) ? !ss_node_text(node, &play.file, error)
                            : !ss_object_read(&play_spec, node, &play, error))
    return false;
  ss_data_locate(play.file, f->file, path, sizeof path);
  set_bytes(f, isnan(play.bytes) ? f->bytes : play.bytes);
  if (!ss_foreign_open(path, f->variable, f->variables, &schedule, error)) return false;
  const bool ok = ss_foreign_play(schedule, f->latency, 1 / f->bandwidth, &seconds, error);
  ss_foreign_close(schedule);
  return ok && judge(f, f->out->count - 1, play.file, seconds, EXACT, error);
}

static bool play_all(struct form *f, struct ss_error *error) {
  char text[400];
  if (!ss_node_present(f->schedules)) return true;
  if (!ss_node_is_array(f->schedules) || ss_node_size(f->schedules) == 0 ||
      ss_node_size(f->schedules) > SCHEDULES_MAX)
    return ss_node_fail(f->schedules, error, "expected a list of 1 to %d schedules", SCHEDULES_MAX);
  snprintf(text, sizeof text, "schedules to take %.300s", f->formula);
  if (!add_verdict(f, text, error)) return false;
  for (struct ss_node n = ss_node_first(f->schedules); ss_node_present(n); n = ss_node_next(n))
    if (!play_one(f, n, error)) return false;
  return true;
}

/* --- measured --------------------------------------------------------------------------------------------------- */

static bool column(const struct ss_csv *csv, const char *name, size_t *out, struct ss_error *error) {
  *out = ss_csv_column(csv, name, strlen(name));
  return *out != SIZE_MAX || ss_fail(error, SS_BAD_INPUT, "%s: there is no column \"%.100s\"", csv->name, name);
}

/* Does the row say what is asked for? */
static bool counts(const struct form *f, const struct ss_csv *csv, bool *out, struct ss_error *error) {
  *out = true;
  for (struct ss_node n = ss_node_first(f->where); *out && ss_node_present(n); n = ss_node_next(n)) {
    size_t at;
    const char *wanted;
    if (!column(csv, ss_node_key(n), &at, error) || !ss_node_text(n, &wanted, error)) return false;
    *out = csv->field[at].size == strlen(wanted) && memcmp(csv->field[at].text, wanted, csv->field[at].size) == 0;
  }
  return true;
}

static bool judge_row(struct form *f, const struct ss_csv *csv, const size_t at[3], struct ss_error *error) {
  static const enum ss_dimension dimensions[] = {SS_NUMBER, SS_BYTES, SS_TIME};
  double value[3];
  for (int i = 0; i < 3; i++)
    if (!ss_units_parse(ss_csv_text(csv, at[i]), dimensions[i], &value[i], error)) return ss_csv_fail(csv, error);
  f->variable[0].value = value[0];
  set_bytes(f, value[1]);
  return judge(f, f->out->count - 1, f->times, value[2], f->within, error);
}

static bool judge_rows(struct form *f, struct ss_csv *csv, struct ss_error *error) {
  bool more, counted;
  size_t at[3];
  if (!ss_csv_head(csv, &more, error) || !column(csv, "ranks", &at[0], error) ||
      !column(csv, "bytes", &at[1], error) || !column(csv, "seconds", &at[2], error))
    return false;
  for (;;) {
    if (!ss_csv_next(csv, &more, error)) return false;
    if (!more) return true;
    if (!counts(f, csv, &counted, error) || (counted && !judge_row(f, csv, at, error))) return false;
  }
}

static bool read_times(struct form *f, struct ss_error *error) {
  char text[400], path[PATH_MAX];
  struct ss_csv csv;
  if (!f->times) return true;
  snprintf(text, sizeof text, "measured times within %g%% of %.300s", 100 * f->within, f->formula);
  if (!add_verdict(f, text, error)) return false;
  ss_data_locate(f->times, f->file, path, sizeof path);
  SS_AUTO(ss_cleanup_close) const int descriptor = ss_input_open(path, error);
  if (descriptor < 0 || !ss_csv_open(&csv, path, descriptor, false, error)) return false;
  const bool ok = judge_rows(f, &csv, error);
  ss_csv_close(&csv);
  f->out->failed += ok && f->out->verdict[f->out->count - 1].points == 0;
  return ok;
}

bool ss_own_form_is(struct ss_doc *doc) {
  static const char *const own[] = {"formula", "schedules", "measured"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (ss_node_present(ss_node_get(ss_doc_root(doc), own[i]))) return true;
  return false;
}

bool ss_own_form_judge(struct ss_doc *doc, size_t *points, struct ss_verdicts *out, struct ss_error *error) {
  const char *file = ss_doc_name(doc);
  struct form f = {.file = file, .latency = NAN, .bandwidth = NAN, .bytes = NAN, .out = out};
  *out = (struct ss_verdicts){.results = cJSON_CreateArray()};
  if (!ss_object_read(&ss_own_form_fields, ss_doc_root(doc), &f, error) || !add_symbols(&f, error)) return false;
  if (!ss_node_present(f.schedules) && !f.times)
    return ss_fail(error, SS_BAD_INPUT, "%s: nothing to hold the formula against: say \"schedules\" or \"measured\"",
                   file);
  const bool ok = play_all(&f, error) && read_times(&f, error);
  *points = f.points;
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
