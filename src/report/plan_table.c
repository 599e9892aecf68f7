#include "base/json.h"
#include "base/json_text.h"
#include "query/field.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/results_table.h"
#include "report/tables.h"
#include "schemes/registry.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static void print_dense(const cJSON *row, FILE *stream) {
  const double dense = ss_json_number(row, "dense_s"), time = ss_json_number(row, "time_s");
  const char *scheme = ss_json_word(row, "scheme");
  const char *name = ss_json_word(row, "dense");
  if (!isfinite(ss_vs_dense(dense, time)) || (scheme && strcmp(scheme, "allreduce") == 0)) return;
  const double low = ss_json_number(row, "dense_ratio_low"), high = ss_json_number(row, "dense_ratio_high");
  if (isfinite(low)) fprintf(stream, "; %.2f to %.2f", low, high);
  else fprintf(stream, "; %.2f", dense / time);
  fputs(" times as fast as a library's dense all-reduce", stream);
  if (name) fprintf(stream, " (%s)", name);
}

static void print_loss(const cJSON *row, FILE *stream) {
  const double energy = ss_json_number(row, "energy");
  const char *scheme = ss_json_word(row, "scheme");
  const bool lossless = cJSON_IsTrue(ss_json_get(row, "lossless"));
  fprintf(stream, lossless ? ". Lossless" : ". LOSSY");
  if (isfinite(energy) && (!lossless || energy != 1))
    fprintf(stream, ": %.1f%% of the gradients' energy is applied%s", 100 * energy,
            lossless ? " (the scenario selects)" : "");
  if (scheme && !lossless && !isfinite(energy)) fprintf(stream, " (by how much, only a proven run knows)");
  if (scheme && ss_scheme_model_parallel(ss_scheme_find(scheme)))
    fprintf(stream, "; needs the table cut over ranks (model parallelism)");
  fputc('.', stream);
}

static void print_unfit(const cJSON *row, FILE *stream) {
  const cJSON *unfit = ss_json_get(row, "unfit");
  for (const cJSON *p = unfit ? unfit->child : NULL; p; p = p->next)
    ss_unfit_print(ss_json_word(p, "label"), ss_json_number(p, "peak_bytes"),
                   ss_json_number(row, "device_memory_bytes"), p == unfit->child, stream);
  if (cJSON_GetArraySize(unfit) > 0) fputc('.', stream);
}

static bool is_sum(const cJSON *row) {
  return strcmp(ss_json_word(row, "tensor"), "*") == 0;
}

/* What the next takes, "3.8% longer", or "11 us" where the best takes no time; NULL: as long. */
static const char *longer_text(const cJSON *row, char text[32]) {
  const double time = ss_json_number(row, "time_s"), next = ss_json_number(row, "next_time_s");
  if (!(next > time)) return NULL;
  if (time == 0) return ss_units_format(text, 32, SS_TIME, next);
  snprintf(text, 32, "%.1f%% longer", 100 * ss_json_number(row, "margin"));
  return text;
}

const char *ss_plan_name(const cJSON *row, const char *field) {
  const char *label = ss_json_word(row, field);
  return label ? label : is_sum(row) ? "each with its own" : "-";
}

static void print_sum_words(const cJSON *row, const char *time, FILE *stream) {
  char text[32];
  const char *next = ss_plan_name(row, "next"), *longer = longer_text(row, text);
  const char *for_all = ss_json_word(row, "next") ? " for all" : "";
  fprintf(stream, "all tensors%s, %s: %s", ss_json_word(row, "label") ? " together" : "", ss_plan_name(row, "label"),
          time);
  if (isnan(ss_json_number(row, "next_time_s"))) fputs(", the only candidate", stream);
  else if (longer) fprintf(stream, "; %s%s would take %s", next, for_all, longer);
  else fprintf(stream, "; %s%s does as well", next, for_all);
}

/* What draws say; false: nothing was drawn. */
static bool print_drawn(const cJSON *row, FILE *stream) {
  const struct ss_decision d = {.best = ss_plan_name(row, "label"),
                                .next = isnan(ss_json_number(row, "next_time_s")) ? NULL : ss_plan_name(row, "next"),
                                .rival = ss_json_word(row, "rival"),
                                .measure = ss_json_word(row, "measure"),
                                .time = ss_json_number(row, "time_s"),
                                .low = ss_json_number(row, "time_low_s"),
                                .high = ss_json_number(row, "time_high_s"),
                                .ratio_low = ss_json_number(row, "next_ratio_low"),
                                .ratio_high = ss_json_number(row, "next_ratio_high"),
                                .wins = ss_json_number(row, "wins"),
                                .rival_wins = ss_json_number(row, "rival_wins"),
                                .rival_low = ss_json_number(row, "rival_ratio_low"),
                                .rival_high = ss_json_number(row, "rival_ratio_high")};
  if (isnan(d.wins) || d.time == 0) return false;
  if (is_sum(row)) fprintf(stream, "all tensors%s: ", ss_json_word(row, "label") ? " together" : "");
  else fprintf(stream, "%s: ", ss_json_word(row, "tensor"));
  ss_decision_print(&d, stream);
  if (d.next) fprintf(stream, " (of %.0f candidates)", ss_json_number(row, "candidates"));
  return true;
}

/* By points alone, where nothing is drawn. */
static void print_points(const cJSON *row, FILE *stream) {
  char time[32], text[32];
  const char *next = ss_json_word(row, "next"), *longer = longer_text(row, text);
  ss_units_format(time, sizeof time, SS_TIME, ss_json_number(row, "time_s"));
  if (is_sum(row)) {
    print_sum_words(row, time, stream);
    return;
  }
  fprintf(stream, "%s: %s, %s", ss_json_word(row, "tensor"), ss_json_word(row, "label"), time);
  if (!next) fprintf(stream, ", the only candidate");
  else if (longer)
    fprintf(stream, "; the next of %.0f, %s, takes %s", ss_json_number(row, "candidates"), next, longer);
  else fprintf(stream, ", and so does %s", next);
}

void ss_plan_words(const cJSON *row, FILE *stream) {
  if (!print_drawn(row, stream)) print_points(row, stream);
  print_dense(row, stream);
  print_loss(row, stream);
  print_unfit(row, stream);
  fputc('\n', stream);
}

void ss_plan_add_words(cJSON *row) {
  char times[SS_RATIO_TEXT_SIZE], ratio[SS_RATIO_TEXT_SIZE];
  const char *label = ss_json_word(row, "label");
  const double dense = ss_json_number(row, "dense_s"), time = ss_json_number(row, "time_s");
  ss_json_add(row, SS_T("chosen", label ? label : "as above"),
              SS_T("second", isfinite(ss_json_number(row, "next_time_s")) ? ss_plan_name(row, "next") : NULL),
              SS_T("times", ss_ratio_text(ss_json_number(row, "margin") + 1, ss_json_number(row, "next_ratio_low"),
                                          ss_json_number(row, "next_ratio_high"), times)),
              SS_N("vs_dense", ss_vs_dense(dense, time)),
              SS_T("vs_dense_text", ss_ratio_text(ss_vs_dense(dense, time), ss_json_number(row, "dense_ratio_low"),
                                                  ss_json_number(row, "dense_ratio_high"), ratio)));
  ss_range_add(row, "range", ss_json_number(row, "time_low_s"), ss_json_number(row, "time_high_s"));
}

static bool same_cell(const cJSON *a, const cJSON *b) {
  return b && ss_json_number(a, "ranks") == ss_json_number(b, "ranks") &&
         cJSON_Compare(ss_field_at(a, "at"), ss_field_at(b, "at"), true);
}

static void print_heading(const cJSON *row, FILE *stream) {
  ss_cell_print(ss_json_number(row, "ranks"), ss_json_word(row, "cluster"), ss_json_get(row, "at"), NULL, stream);
  fputc('\n', stream);
}

static bool print_cell(cJSON *rows, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<tensor", "tensor", NULL},    {"<scheme", "chosen", NULL},   {"time", "time_s", "s"},
      {"?low..high", "range", NULL},  {"<next", "second", NULL},     {"its time", "next_time_s", "s"},
      {"takes", "times", NULL},       {"allreduce", "dense_s", "s"}, {"vs dense", "vs_dense_text", NULL},
      {"lossless", "lossless", NULL}, {"energy", "energy", "%.1f%%"}};
  if (rows) print_heading(rows->child, stream);
  for (cJSON *r = rows ? rows->child : NULL; r; r = r->next) {
    ss_plan_words(r, stream);
    ss_plan_add_words(r);
  }
  fputc('\n', stream);
  const bool ok = ss_records_print(columns, rows, false, stream, error);
  fputc('\n', stream);
  return ok;
}

/* Rows of one tensor and place, but for the hierarchy of the sweep. */
static bool is_rival(const cJSON *a, const cJSON *b) {
  const cJSON *here = ss_json_get(a, "at"), *there = ss_json_get(b, "at");
  bool same = a != b && ss_json_get(here, "hierarchy") && cJSON_GetArraySize(here) == cJSON_GetArraySize(there) &&
              ss_json_number(a, "ranks") == ss_json_number(b, "ranks") &&
              strcmp(ss_json_word(a, "tensor"), ss_json_word(b, "tensor")) == 0;
  for (const cJSON *m = same ? here->child : NULL; m; m = m->next)
    same = same && (strcmp(m->string, "hierarchy") == 0 || cJSON_Compare(m, ss_json_get(there, m->string), true));
  return same;
}

/* The cheapest of the row and its rivals; NULL: it has none, or one before it, which told. */
static const cJSON *best_of_hierarchies(const cJSON *rows, const cJSON *row) {
  const cJSON *best = row;
  bool passed = false, rivals = false;
  for (const cJSON *o = rows->child; o; o = o->next) {
    passed = passed || o == row;
    if (!is_rival(row, o)) continue;
    if (!passed) return NULL;
    rivals = true;
    if (ss_json_number(o, "time_s") < ss_json_number(best, "time_s")) best = o;
  }
  return rivals ? best : NULL;
}

bool ss_plan_hierarchies(const cJSON *rows, FILE *stream) {
  char time[32];
  bool any = false;
  for (const cJSON *r = rows->child; r; r = r->next) {
    const cJSON *best = best_of_hierarchies(rows, r);
    if (!best) continue;
    fprintf(stream, "Of all hierarchies %s is the cheapest for %s, %s, on ", ss_plan_name(best, "label"),
            is_sum(best) ? "all tensors" : ss_json_word(best, "tensor"),
            ss_units_format(time, sizeof time, SS_TIME, ss_json_number(best, "time_s")));
    print_heading(best, stream);
    any = true;
  }
  return any;
}

static void print_notes(const cJSON *rows, struct ss_iterations_played iterations, bool estimated, FILE *stream) {
  struct ss_counted counted = {.estimated = estimated};
  bool extrapolated = false;
  for (const cJSON *r = rows->child; r; r = r->next) {
    ss_counted_add(&counted, ss_json_word(r, "device"));
    extrapolated = extrapolated || isfinite(ss_json_number(r, "time_low_s"));
  }
  fputs("time      ", stream);
  ss_print_time_note(iterations, counted, stream);
  fputs("\ntakes     how many times as long as the scheme the next takes\n"
        "vs dense  how many times faster than the dense all-reduce that a library would take there\n",
        stream);
  if (extrapolated) fprintf(stream, "low..high %s\n", ss_range_note);
}

bool ss_plan_table(const cJSON *plan, struct ss_iterations_played iterations, bool estimated, FILE *stream,
                   struct ss_error *error) {
  const cJSON *rows = ss_field_at(plan, "plan");
  if (cJSON_GetArraySize(rows) == 0) return true;
  SS_AUTO_JSON cJSON *left = cJSON_Duplicate(rows, true);
  if (!left) return ss_fail_memory(error, "writing a plan");
  fprintf(stream, "%s: %s\n\n", ss_json_word(plan, "scenario"), ss_json_word(rows->child, "trace"));
  while (left->child) {
    size_t n = 1;
    for (const cJSON *r = left->child; same_cell(r, r->next); r = r->next) n++;
    if (!print_cell(ss_records_take(left, n), stream, error)) return false;
  }
  if (ss_plan_hierarchies(rows, stream)) fputc('\n', stream);
  print_notes(rows, iterations, estimated, stream);
  return true;
}
