#include "report/page_parts.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* A number, or a text: a cluster's name, anything else as JSON. */
static cJSON *value_of(const cJSON *value, const struct ss_result *p) {
  if (strcmp(value->string, "cluster") == 0) return cJSON_CreateString(p->cluster);
  if (cJSON_IsNumber(value) || cJSON_IsString(value)) return cJSON_Duplicate(value, true);
  SS_AUTO_FREE char *json = cJSON_PrintUnformatted(value);
  return json ? cJSON_CreateString(json) : NULL;
}

static cJSON *position_of(const struct ss_result *p) {
  cJSON *o = ss_json_object(SS_N("ranks", p->ranks));
  for (const cJSON *a = p->at ? p->at->child : NULL; a; a = a->next)
    if (strcmp(a->string, "ranks") != 0) cJSON_AddItemToObject(o, a->string, value_of(a, p));
  return o;
}

/* Values along the axis, as far as they are worth counting. */
static void measure_axis(const struct ss_page_cells *cells, struct ss_page_axis *axis) {
  enum { ENOUGH = 1000 };
  const cJSON *seen[ENOUGH];
  axis->numeric = true;
  for (size_t i = 0; i < cells->plan.count; i++) {
    const cJSON *value = ss_json_get(ss_json_get(cells->row[i].json, "axes"), axis->name);
    size_t k = 0;
    axis->numeric = axis->numeric && cJSON_IsNumber(value);
    while (k < axis->values && !cJSON_Compare(seen[k], value, true)) k++;
    if (k == axis->values && k < ENOUGH) seen[axis->values++] = value;
  }
}

static void find_axes(struct ss_page_cells *cells) {
  const cJSON *first = cells->plan.count ? ss_json_get(cells->row->json, "axes") : NULL;
  for (const cJSON *a = first ? first->child : NULL; a && cells->axes < SS_PAGE_AXES; a = a->next) {
    const char *dot = strrchr(a->string, '.');
    struct ss_page_axis axis = {.name = a->string, .word = dot && dot[1] ? dot + 1 : a->string};
    measure_axis(cells, &axis);
    if (axis.values > 1) cells->axis[cells->axes++] = axis;
  }
}

/* What a row's place is named from. */
struct naming {
  const struct ss_page_cells *cells;
  const cJSON *axes;
};

static void write_place(const void *context, FILE *stream) {
  const struct naming *n = context;
  char text[SS_AT_TEXT_SIZE];
  for (size_t i = 0; i < n->cells->axes; i++) {
    const struct ss_page_axis *axis = &n->cells->axis[i];
    const char *value = ss_at_text(ss_json_get(n->axes, axis->name), text);
    fputs(i ? ", " : "", stream);
    if (strcmp(axis->name, "ranks") == 0) fprintf(stream, "%s ranks", value);
    else
      fprintf(stream, "%s%s%s", strcmp(axis->name, "cluster") == 0 ? "" : axis->word,
              strcmp(axis->name, "cluster") == 0 ? "" : " ", value);
  }
}

static bool name_rows(struct ss_page_cells *cells) {
  bool ok = true;
  for (size_t i = 0; ok && i < cells->plan.count; i++) {
    struct ss_page_row *row = &cells->row[i];
    SS_AUTO_FREE char *place = ss_written(write_place, &(struct naming){cells, ss_json_get(row->json, "axes")});
    if (place) ss_json_add_text(row->json, "place", place);
    row->place = ss_json_word(row->json, "place");
    ok = row->place != NULL;
  }
  return ok;
}

/* Of the tables of one cell and rank count the last decides: "*", or the only tensor. */
static bool decides(const struct ss_plan *plan, size_t i) {
  const struct ss_result *p = plan->row[i].cell, *next = i + 1 < plan->count ? plan->row[i + 1].cell : NULL;
  return !next || p->ranks != next->ranks || p->at != next->at;
}

/* Where one scheme for all tensors does as well as each with its own, it is named. */
static void prefer_one(struct ss_plan_row *row) {
  if (row->best || !row->next || row->next_time > row->time) return;
  row->best = row->next;
  row->next = NULL;
  row->lossless = row->best->lossless;
}

bool ss_page_cells_make(const struct ss_results *results, struct ss_page_cells *out, struct ss_error *error) {
  *out = (struct ss_page_cells){0};
  if (!ss_plan_make(results, &out->plan, error)) return false;
  for (size_t i = 0; i < out->plan.count; i++) prefer_one(&out->plan.row[i]);
  cJSON *tree = ss_plan_json(&out->plan, "");
  out->json = cJSON_DetachItemFromObjectCaseSensitive(tree, "plan");
  cJSON_Delete(tree);
  out->row = ss_alloc_zero(out->plan.count, sizeof *out->row);
  if (!out->row || (size_t)cJSON_GetArraySize(out->json) != out->plan.count)
    return ss_fail_memory(error, "listing places");
  cJSON *json = out->json->child;
  for (size_t i = 0; i < out->plan.count; i++, json = json->next) {
    const struct ss_plan_row *plan = &out->plan.row[i];
    out->row[i] = (struct ss_page_row){.plan = plan, .json = json, .decides = decides(&out->plan, i)};
    ss_json_add(json, SS_J("axes", position_of(plan->cell)));
    out->deciding += out->row[i].decides;
    out->several_tensors = out->several_tensors || strcmp(plan->cell->tensor, "*") == 0;
  }
  find_axes(out);
  return name_rows(out) || ss_fail_memory(error, "listing places");
}

void ss_page_cells_free(struct ss_page_cells *cells) {
  ss_plan_free(&cells->plan);
  cJSON_Delete(cells->json);
  free(cells->row);
  *cells = (struct ss_page_cells){0};
}
