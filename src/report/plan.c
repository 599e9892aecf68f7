#include "report/plan.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "report/flat.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- choosing ------------------------------------------------------------------------------------------- */

static bool same_place(const struct ss_result *a, const struct ss_result *b) {
  return a->ranks == b->ranks && a->at == b->at;
}

static bool is_sum(const struct ss_result *p) {
  return strcmp(p->tensor, "*") == 0;
}

/* The least time, the first of equals; `but` is left out. */
static const struct ss_result *cheapest(const struct ss_result *points, size_t n, const struct ss_result *but) {
  const struct ss_result *best = NULL;
  for (size_t i = 0; i < n; i++)
    if (&points[i] != but && (!best || points[i].time < best->time)) best = &points[i];
  return best;
}

static struct ss_plan_row choose(const struct ss_result *points, size_t n) {
  struct ss_plan_row row = {.place = points, .dense = NAN, .candidates = n, .lossless = true};
  for (size_t i = 0; i < n && isnan(row.dense); i++)
    if (strcmp(points[i].setting.scheme->name, "allreduce") == 0) row.dense = points[i].time;
  if (is_sum(points)) {
    row.next = cheapest(points, n, NULL);
    return row;
  }
  row.best = cheapest(points, n, NULL);
  row.next = cheapest(points, n, row.best);
  row.time = row.best->time;
  row.lossless = row.best->lossless;
  return row;
}

bool ss_plan_make(const struct ss_results *points, struct ss_plan *out, struct ss_error *error) {
  *out = (struct ss_plan){.row = ss_alloc_zero(points->count, sizeof *out->row)};
  if (!out->row) return ss_fail_memory(error, "planning");
  for (size_t i = 0, n; i < points->count; i += n) {
    const struct ss_result *p = &points->point[i];
    for (n = 1; i + n < points->count && same_place(p, p + n) && strcmp(p->tensor, p[n].tensor) == 0;) n++;
    struct ss_plan_row row = choose(p, n);
    for (size_t k = out->count; is_sum(p) && k-- > 0 && same_place(p, out->row[k].place);) {
      row.time += out->row[k].time;
      row.lossless = row.lossless && out->row[k].lossless;
    }
    out->row[out->count++] = row;
  }
  return true;
}

void ss_plan_free(struct ss_plan *plan) {
  free(plan->row);
  *plan = (struct ss_plan){0};
}

double ss_plan_margin(const struct ss_plan_row *row) {
  return row->next && row->time > 0 ? row->next->time / row->time - 1 : NAN;
}

/* --- JSON and CSV --------------------------------------------------------------------------------------- */

static void add_number(cJSON *o, const char *name, double value) {
  cJSON_AddItemToObject(o, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

static void add_text(cJSON *o, const char *name, const char *text) {
  cJSON_AddItemToObject(o, name, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static cJSON *row_json(const struct ss_plan_row *row) {
  const struct ss_result *best = row->best, *place = row->place;
  cJSON *o = cJSON_CreateObject(), *point = best ? ss_result_json(best) : NULL,
        *options = cJSON_DetachItemFromObjectCaseSensitive(point, "options");
  cJSON_Delete(point);
  add_text(o, "tensor", place->tensor);
  add_text(o, "scheme", best ? best->setting.scheme->name : NULL);
  add_text(o, "label", best ? best->setting.label : NULL);
  cJSON_AddItemToObject(o, "options", options ? options : cJSON_CreateObject());
  cJSON_AddNumberToObject(o, "ranks", place->ranks);
  cJSON_AddItemToObject(o, "at", place->at ? cJSON_Duplicate(place->at, 1) : cJSON_CreateObject());
  add_text(o, "cluster", place->cluster);
  add_text(o, "device", place->device);
  add_text(o, "trace", place->trace);
  add_number(o, "time_s", row->time);
  add_text(o, "next", row->next ? row->next->setting.label : NULL);
  add_number(o, "next_time_s", row->next ? row->next->time : NAN);
  add_number(o, "margin", ss_plan_margin(row));
  add_number(o, "dense_s", row->dense);
  cJSON_AddBoolToObject(o, "lossless", row->lossless);
  add_number(o, "energy", best ? best->energy : NAN);
  cJSON_AddNumberToObject(o, "candidates", (double)row->candidates);
  return o;
}

static cJSON *rows_json(const struct ss_plan *plan) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; list && i < plan->count; i++) cJSON_AddItemToArray(list, row_json(&plan->row[i]));
  return list;
}

bool ss_plan_json(const struct ss_plan *plan, const char *scenario, FILE *stream, struct ss_error *error) {
  cJSON *root = cJSON_CreateObject();
  if (!root) return ss_fail_memory(error, "writing a plan");
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "scenario", scenario);
  cJSON_AddItemToObject(root, "plan", rows_json(plan));
  char *text = root ? ss_json_exact(root, true) : NULL;
  cJSON_Delete(root);
  if (!text) return ss_fail_memory(error, "writing a plan");
  fprintf(stream, "%s\n", text);
  free(text);
  return true;
}

bool ss_plan_csv(const struct ss_plan *plan, FILE *stream, struct ss_error *error) {
  cJSON *list = rows_json(plan);
  if (!list) return ss_fail_memory(error, "writing a plan");
  bool ok = ss_flat_csv(list, stream, error);
  cJSON_Delete(list);
  return ok;
}

/* --- the table ------------------------------------------------------------------------------------------ */

static void print_dense(const struct ss_plan_row *row, FILE *stream) {
  if (isfinite(row->dense) && row->time > 0 &&
      (!row->best || strcmp(row->best->setting.scheme->name, "allreduce") != 0))
    fprintf(stream, "; %.2f times as fast as the dense all-reduce", row->dense / row->time);
}

static void print_loss(const struct ss_plan_row *row, FILE *stream) {
  const double energy = row->best ? row->best->energy : NAN;
  fprintf(stream, row->lossless ? ". Lossless" : ". LOSSY");
  if (isfinite(energy) && (!row->lossless || energy != 1))
    fprintf(stream, ": %.1f%% of the gradients' energy is applied%s", 100 * energy,
            row->lossless ? " (the scenario selects)" : "");
  if (row->best && !row->lossless && !isfinite(energy)) fprintf(stream, " (by how much, only a proven run knows)");
  if (row->best && row->best->setting.scheme->model_parallel)
    fprintf(stream, "; needs the table cut over ranks (model parallelism)");
  fprintf(stream, ".\n");
}

static void print_sum_words(const struct ss_plan_row *row, const char *time, FILE *stream) {
  const double margin = ss_plan_margin(row);
  fprintf(stream, "all tensors, each with its own: %s; ", time);
  if (margin > 0) fprintf(stream, "%s for all would take %.1f%% longer", row->next->setting.label, 100 * margin);
  else fprintf(stream, "%s for all does as well", row->next->setting.label);
}

static void print_words(const struct ss_plan_row *row, FILE *stream) {
  char time[32];
  const double margin = ss_plan_margin(row);
  ss_units_format(time, sizeof time, SS_TIME, row->time);
  if (!row->best) {
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

static void time_cell(struct ss_table *table, double value) {
  char text[32];
  ss_table_cell(table, "%s", isfinite(value) ? ss_units_format(text, sizeof text, SS_TIME, value) : "-");
}

static void add_row(struct ss_table *table, const struct ss_plan_row *row) {
  const double margin = ss_plan_margin(row), energy = row->best ? row->best->energy : NAN;
  ss_table_cell(table, "%s", row->place->tensor);
  ss_table_cell(table, "%s", row->best ? row->best->setting.label : "as above");
  time_cell(table, row->time);
  ss_table_cell(table, "%s", row->next ? row->next->setting.label : "-");
  time_cell(table, row->next ? row->next->time : NAN);
  if (isfinite(margin)) ss_table_cell(table, "%+.1f%%", 100 * margin);
  else ss_table_cell(table, "-");
  time_cell(table, row->dense);
  if (isfinite(row->dense) && row->time > 0) ss_table_cell(table, "%.2fx", row->dense / row->time);
  else ss_table_cell(table, "-");
  ss_table_cell(table, "%s", row->lossless ? "yes" : "NO");
  if (isfinite(energy)) ss_table_cell(table, "%.1f%%", 100 * energy);
  else ss_table_cell(table, "-");
}

static bool print_place(const struct ss_plan_row *rows, size_t n, FILE *stream, struct ss_error *error) {
  static const char *const heads[] = {"<tensor", "<scheme",   "time",     "<next",    "its time",
                                      "margin",  "allreduce", "vs dense", "lossless", "energy"};
  struct ss_table *table = ss_table_new(sizeof heads / sizeof *heads, heads);
  if (!table) return ss_fail_memory(error, "printing a plan");
  ss_result_print_place(rows->place, stream);
  fputc('\n', stream);
  for (size_t i = 0; i < n; i++) print_words(&rows[i], stream);
  fputc('\n', stream);
  for (size_t i = 0; i < n; i++) add_row(table, &rows[i]);
  bool ok = ss_table_print(table, stream, error);
  ss_table_free(table);
  fputc('\n', stream);
  return ok;
}

static void print_notes(const struct ss_plan *plan, FILE *stream) {
  const struct ss_result *p = plan->row->place;
  bool counted = false;
  for (size_t i = 0; i < plan->count; i++) counted = counted || strcmp(plan->row[i].place->device, "none") != 0;
  fprintf(stream, "time      one synchronisation of the tensor, mean over %llu iteration%s; %s\n",
          (unsigned long long)p->iterations, p->iterations == 1 ? "" : "s",
          counted ? "kernels included where a device is given" : "kernels not counted (--device quick counts them)");
  fputs("margin    how much longer the next takes; below the model's own error it is no reason to choose\n"
        "vs dense  how many times faster than the all-reduce of the dense tensor (the first among the candidates)\n",
        stream);
}

bool ss_plan_table(const struct ss_plan *plan, const char *scenario, FILE *stream, struct ss_error *error) {
  if (plan->count == 0) return true;
  fprintf(stream, "%s: %s\n\n", scenario, plan->row->place->trace);
  for (size_t i = 0, n; i < plan->count; i += n) {
    for (n = 1; i + n < plan->count && same_place(plan->row[i].place, plan->row[i + n].place);) n++;
    if (!print_place(plan->row + i, n, stream, error)) return false;
  }
  print_notes(plan, stream);
  return true;
}
