#include "report/page_cells.h"

#include "base/json_text.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- axes --------------------------------------------------------------------------------------------------- */

static bool is_ranks(const struct ss_page_axis *axis) {
  return strcmp(axis->name, "ranks") == 0;
}

static const cJSON *value_at(const struct ss_page_axis *axis, const struct ss_result *p) {
  return p->at ? ss_json_get(p->at, axis->name) : NULL;
}

static bool same_value(const struct ss_page_axis *axis, const struct ss_result *a, const struct ss_result *b) {
  return is_ranks(axis) ? a->ranks == b->ranks : cJSON_Compare(value_at(axis, a), value_at(axis, b), true);
}

double ss_page_number(const struct ss_page_axis *axis, const struct ss_result *result) {
  if (is_ranks(axis)) return result->ranks;
  const cJSON *value = value_at(axis, result);
  return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

static void number_text(const struct ss_page_axis *axis, double value, char *text, size_t size) {
  if (strstr(axis->name, "bandwidth")) ss_units_format(text, size, SS_RATE, value);
  else if (strstr(axis->name, "latency")) ss_units_format(text, size, SS_TIME, value);
  else snprintf(text, size, "%.6g", value);
}

const char *ss_page_value(struct ss_page_cells *cells, const struct ss_page_axis *axis,
                          const struct ss_result *result) {
  const cJSON *value = is_ranks(axis) ? NULL : value_at(axis, result);
  const double number = ss_page_number(axis, result);
  char text[64];
  if (isfinite(number)) {
    number_text(axis, number, text, sizeof text);
    return ss_arena_text(&cells->arena, text);
  }
  if (strcmp(axis->name, "cluster") == 0) return result->cluster;
  if (value && cJSON_IsString(value)) return value->valuestring;
  SS_AUTO_FREE char *json = value ? cJSON_PrintUnformatted(value) : NULL;
  return ss_arena_text(&cells->arena, json ? json : "-");
}

/* "ranks 16, bandwidth 10 Gbit/s" */
static const char *where(struct ss_page_cells *cells, const struct ss_result *result) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return NULL;
  const char *between = "";
  for (size_t i = 0; i < cells->axes; i++) {
    const struct ss_page_axis *axis = &cells->axis[i];
    const char *value = ss_page_value(cells, axis, result);
    if (is_ranks(axis)) fprintf(stream, "%s%s ranks", between, value ? value : "");
    else if (strcmp(axis->name, "cluster") == 0) fprintf(stream, "%s%s", between, value ? value : "");
    else fprintf(stream, "%s%s %s", between, axis->word, value ? value : "");
    between = ", ";
  }
  const bool ok = fclose(stream) == 0;
  const char *kept = ok ? ss_arena_text(&cells->arena, text) : NULL;
  free(text);
  return kept;
}

static const char *last_word(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && dot[1] ? dot + 1 : path;
}

/* Values along the axis, as far as they are worth counting. */
static void measure_axis(const struct ss_page_cells *cells, struct ss_page_axis *axis) {
  enum { ENOUGH = 1000 };
  const struct ss_result *seen[ENOUGH];
  axis->numeric = true;
  for (size_t i = 0; i < cells->count; i++) {
    const struct ss_result *p = cells->cell[i].result;
    size_t k = 0;
    axis->numeric = axis->numeric && isfinite(ss_page_number(axis, p));
    while (k < axis->values && !same_value(axis, seen[k], p)) k++;
    if (k == axis->values && k < ENOUGH) seen[axis->values++] = p;
  }
}

static void add_axis(struct ss_page_cells *cells, const char *name) {
  struct ss_page_axis axis = {.name = name, .word = last_word(name)};
  if (cells->axes == SS_PAGE_AXES) return;
  measure_axis(cells, &axis);
  if (axis.values > 1) cells->axis[cells->axes++] = axis;
}

static void find_axes(struct ss_page_cells *cells) {
  if (cells->count == 0) return;
  add_axis(cells, "ranks");
  const cJSON *at = cells->cell->result->at;
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next) add_axis(cells, a->string);
}

/* --- cells ------------------------------------------------------------------------------------------------- */

/* Of the tables of one cell and rank count the last decides: "*", or the only tensor. */
static bool ends_cell(const struct ss_results *results, size_t end) {
  if (end == results->count) return true;
  const struct ss_result *p = &results->result[end - 1], *next = &results->result[end];
  return p->ranks != next->ranks || p->at != next->at;
}

static bool name_cells(struct ss_page_cells *cells) {
  for (size_t i = 0; i < cells->count; i++) {
    struct ss_page_cell *cell = &cells->cell[i];
    cell->text = where(cells, cell->result);
    if (!cell->text) return false;
  }
  return true;
}

bool ss_page_cells_make(const struct ss_results *results, struct ss_page_cells *out, struct ss_error *error) {
  *out = (struct ss_page_cells){.cell = ss_alloc_zero(results->count, sizeof *out->cell)};
  if (!out->cell) return ss_fail_memory(error, "listing places");
  for (size_t i = 0, n; i < results->count; i += n) {
    const struct ss_result *p = &results->result[i];
    struct ss_page_cell *cell = &out->cell[out->count++];
    n = ss_results_in_cell(p, results->count - i);
    *cell = (struct ss_page_cell){.result = p, .count = n, .decides = ends_cell(results, i + n)};
    ss_results_rank(p, n, &cell->best, &cell->next);
    cell->dense = ss_results_dense(p, n);
    out->deciding += cell->decides;
    out->several_tensors = out->several_tensors || strcmp(p->tensor, "*") == 0;
  }
  find_axes(out);
  if (name_cells(out)) return true;
  ss_page_cells_free(out);
  return ss_fail_memory(error, "listing places");
}

void ss_page_cells_free(struct ss_page_cells *cells) {
  ss_arena_free(&cells->arena);
  free(cells->cell);
  *cells = (struct ss_page_cells){0};
}
