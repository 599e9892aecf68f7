#include "report/plan_table.h"

#include "base/json_text.h"
#include "report/columns.h"
#include "report/results_table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static void print_dense(const struct ss_plan_row *row, FILE *stream) {
  const double dense = row->dense.seconds;
  if (!isfinite(dense) || !(row->time > 0) ||
      (row->best && strcmp(row->best->setting.scheme->name, "allreduce") == 0))
    return;
  fprintf(stream, "; %.2f times as fast as the fastest dense all-reduce", dense / row->time);
  if (row->dense.name) fprintf(stream, " (%s)", row->dense.name);
}

static void print_loss(const struct ss_plan_row *row, FILE *stream) {
  const double energy = row->best ? row->best->energy : NAN;
  fprintf(stream, row->lossless ? ". Lossless" : ". LOSSY");
  if (isfinite(energy) && (!row->lossless || energy != 1))
    fprintf(stream, ": %.1f%% of the gradients' energy is applied%s", 100 * energy,
            row->lossless ? " (the scenario selects)" : "");
  if (row->best && !row->lossless && !isfinite(energy)) fprintf(stream, " (by how much, only a proven run knows)");
  if (row->best && ss_scheme_model_parallel(row->best->setting.scheme))
    fprintf(stream, "; needs the table cut over ranks (model parallelism)");
  fprintf(stream, ".\n");
}

static bool is_sum(const struct ss_plan_row *row) {
  return strcmp(row->place->tensor, "*") == 0;
}

/* Of all tensors, NULL is each with its own. */
static const char *name_of(const struct ss_plan_row *row, const struct ss_result *point) {
  return point ? point->setting.label : is_sum(row) ? "each with its own" : "-";
}

static void print_sum_words(const struct ss_plan_row *row, const char *time, FILE *stream) {
  const double margin = ss_plan_margin(row);
  const char *next = name_of(row, row->next), *for_all = row->next ? " for all" : "";
  fprintf(stream, "all tensors%s, %s: %s", row->best ? " together" : "", name_of(row, row->best), time);
  if (isnan(row->next_time)) fputs(", the only candidate", stream);
  else if (margin > 0) fprintf(stream, "; %s%s would take %.1f%% longer", next, for_all, 100 * margin);
  else fprintf(stream, "; %s%s does as well", next, for_all);
}

static void print_words(const struct ss_plan_row *row, FILE *stream) {
  char time[32];
  const double margin = ss_plan_margin(row);
  ss_units_format(time, sizeof time, SS_TIME, row->time);
  if (is_sum(row)) {
    print_sum_words(row, time, stream);
  } else {
    fprintf(stream, "%s: %s, %s", row->place->tensor, row->best->setting.label, time);
    if (!row->next) fprintf(stream, ", the only candidate");
    else if (margin > 0)
      fprintf(stream, "; the next of %zu, %s, takes %.1f%% longer", row->candidates, row->next->setting.label,
              100 * margin);
    else fprintf(stream, ", and so does %s", row->next->setting.label);
  }
  print_dense(row, stream);
  print_loss(row, stream);
}

/* Adds what the table shows besides the rows' JSON. */
static void add_words(cJSON *record, const struct ss_plan_row *row) {
  ss_json_add_text(record, "chosen", row->best ? row->best->setting.label : "as above");
  ss_json_add_text(record, "second", isfinite(row->next_time) ? name_of(row, row->next) : NULL);
  ss_json_add_number(record, "vs_dense", row->time > 0 ? row->dense.seconds / row->time : NAN);
}

static bool same_place(const struct ss_result *a, const struct ss_result *b) {
  return a->ranks == b->ranks && a->at == b->at;
}

static bool print_place(const struct ss_plan_row *rows, cJSON *records, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<tensor", "tensor", NULL},      {"<scheme", "chosen", NULL},
                                             {"time", "time_s", "s"},          {"<next", "second", NULL},
                                             {"its time", "next_time_s", "s"}, {"margin", "margin", "%+.1f%%"},
                                             {"allreduce", "dense_s", "s"},    {"vs dense", "vs_dense", "%.2fx"},
                                             {"lossless", "lossless", NULL},   {"energy", "energy", "%.1f%%"}};
  ss_result_print_place(rows->place, stream);
  fputc('\n', stream);
  for (cJSON *r = records ? records->child : NULL; r; r = r->next, rows++) {
    print_words(rows, stream);
    add_words(r, rows);
  }
  fputc('\n', stream);
  const bool ok = ss_records_print(columns, records, false, stream, error);
  fputc('\n', stream);
  return ok;
}

static void print_notes(const struct ss_plan *plan, FILE *stream) {
  bool counted = false;
  for (size_t i = 0; i < plan->count; i++) counted = counted || strcmp(plan->row[i].place->device, "none") != 0;
  fputs("time      ", stream);
  ss_print_time_note(plan->row->place->iterations, counted, stream);
  fputs("\nmargin    how much longer the next takes; below the model's own error it is no reason to choose\n"
        "vs dense  how many times faster than the fastest dense all-reduce: rings, tree, Rabenseifner, shards, "
        "leaders\n",
        stream);
}

bool ss_plan_table(const struct ss_plan *plan, const char *scenario, FILE *stream, struct ss_error *error) {
  if (plan->count == 0) return true;
  cJSON *all = ss_plan_rows(plan);
  bool ok = true;
  fprintf(stream, "%s: %s\n\n", scenario, plan->row->place->trace);
  for (size_t i = 0, n; ok && i < plan->count; i += n) {
    for (n = 1; i + n < plan->count && same_place(plan->row[i].place, plan->row[i + n].place);) n++;
    ok = print_place(plan->row + i, ss_records_take(all, n), stream, error);
  }
  cJSON_Delete(all);
  if (ok) print_notes(plan, stream);
  return ok;
}
