#include "figures/figure.h"
#include "query/field.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

struct known {
  const char *field, *label, *unit;
  double factor;
};

/* Fields whose unit is known; all others are shown by their name. */
static const struct known knowns[] = {{"time_s", "time", "s", 1},
                                      {"iteration_s", "time", "s", 1},
                                      {"formula_s", "closed form", "s", 1},
                                      {"paper_s", "as printed", "s", 1},
                                      {"kernel_s", "kernel time", "s", 1},
                                      {"bytes_sent_max", "sent by the busiest rank", "B", 1},
                                      {"bytes_received_max", "received by the busiest rank", "B", 1},
                                      {"bytes_total", "sent by all", "B", 1},
                                      {"server_bytes_max", "busiest server", "B", 1},
                                      {"rank_bytes_sent", "sent", "B", 1},
                                      {"rank_bytes_received", "received", "B", 1},
                                      {"bandwidth", "bandwidth", "bit/s", 8},
                                      {"latency", "latency", "s", 1},
                                      {"density", "density", "%", 1},
                                      {"ranks", "ranks", "", 1},
                                      {"gamma", "densification ratio", "", 1},
                                      {"energy", "energy", "%", 1},
                                      {"busy_max", "busy", "%", 1},
                                      {"busy_mean", "busy", "%", 1},
                                      {NULL, NULL, NULL, 1}};

static const struct known *known_field(const char *field) {
  const char *dot = strrchr(field, '.'), *word = dot ? dot + 1 : field;
  const struct known *k = knowns;
  while (k->field && strcmp(k->field, word) != 0) k++;
  return k->field ? k : NULL;
}

static void add_axis(cJSON *panel, const char *name, const char *field, const char *labelled) {
  const struct known *k = known_field(labelled);
  cJSON *axis = cJSON_AddObjectToObject(panel, name);
  cJSON_AddStringToObject(axis, "field", field);
  cJSON_AddStringToObject(axis, "label", k ? k->label : labelled);
  if (!k) return;
  if (k->unit[0]) cJSON_AddStringToObject(axis, "unit", k->unit);
  if (k->factor != 1) cJSON_AddNumberToObject(axis, "factor", k->factor);
}

static bool varies(const cJSON *list, const char *field) {
  const cJSON *first = ss_field_find(list->child, field);
  for (const cJSON *item = list->child; item; item = item->next) {
    const cJSON *other = ss_field_find(item, field);
    if (first && other && !cJSON_Compare(first, other, true)) return true;
  }
  return false;
}

/* The first of the fields that all results could have; NULL: none. */
static const char *first_of(const cJSON *list, const char *const *fields) {
  for (size_t i = 0; fields[i]; i++)
    for (const cJSON *item = list->child; item; item = item->next) {
      const cJSON *found = ss_field_find(item, fields[i]);
      if (found && !cJSON_IsNull(found)) return fields[i];
    }
  return NULL;
}

/* What nobody named: x is what was varied, first of all the sweep. */
static const char *default_x(const cJSON *list) {
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(list->child, "at");
  for (const cJSON *item = at ? at->child : NULL; item; item = item->next)
    if (varies(list, item->string)) return item->string;
  return varies(list, "ranks") ? "ranks" : "label";
}

static bool add_wheres(cJSON *panel, const struct ss_plot_options *a, struct ss_error *error) {
  cJSON *where = cJSON_AddObjectToObject(panel, "where");
  char key[256];
  for (size_t i = 0; i < a->wheres; i++) {
    const char *equal = strchr(a->where[i], '=');
    if (!equal || equal == a->where[i] || (size_t)(equal - a->where[i]) >= sizeof key)
      return ss_fail(error, SS_BAD_INPUT, "--where: \"%s\" is not FIELD=VALUE (say ranks=16)", a->where[i]);
    snprintf(key, sizeof key, "%.*s", (int)(equal - a->where[i]), a->where[i]);
    cJSON *list = cJSON_GetObjectItemCaseSensitive(where, key), *value = cJSON_ParseWithOpts(equal + 1, NULL, true);
    if (!list) list = cJSON_AddArrayToObject(where, key);
    cJSON_AddItemToArray(list, value ? value : cJSON_CreateString(equal + 1));
  }
  return true;
}

static cJSON *add_panel(cJSON *root, const char *kind, const char *title, const char *each,
                        const struct ss_plot_options *a) {
  cJSON *panels = cJSON_GetObjectItemCaseSensitive(root, "panels"), *panel = cJSON_CreateObject();
  if (!panels) panels = cJSON_AddArrayToObject(root, "panels");
  cJSON_AddItemToArray(panels, panel);
  cJSON_AddStringToObject(panel, "kind", kind);
  if (title) cJSON_AddStringToObject(panel, "title", title);
  cJSON *entry = cJSON_CreateObject();
  if (each) cJSON_AddStringToObject(entry, "each", each);
  cJSON_AddItemToArray(cJSON_AddArrayToObject(panel, "data"), entry);
  cJSON_AddStringToObject(entry, "file", a->file);
  return panel;
}

static void set_scale(cJSON *panel, const char *axis, const char *scale) {
  cJSON *object = cJSON_GetObjectItemCaseSensitive(panel, axis);
  if (cJSON_IsObject(object)) cJSON_AddStringToObject(object, "scale", scale);
}

static void set_scales(cJSON *panel, const struct ss_plot_options *a, const char *x) {
  if (a->log && strchr(a->log, 'x')) set_scale(panel, "x", "log");
  else if ((a->log2 && strchr(a->log2, 'x')) || (!a->log2 && strcmp(x, "ranks") == 0)) set_scale(panel, "x", "log2");
  if (a->log && strchr(a->log, 'y')) set_scale(panel, "y", "log");
  else if (a->log2 && strchr(a->log2, 'y')) set_scale(panel, "y", "log2");
}

static bool traffic_panels(cJSON *root, const struct ss_plot_options *a, const char *series, struct ss_error *error) {
  static const char *const ways[] = {"rank_bytes_sent", "rank_bytes_received"};
  for (size_t i = 0; i < 2; i++) {
    cJSON *panel = add_panel(root, "lines", i ? "received" : "sent", ways[i], a);
    add_axis(panel, "x", "index", "rank");
    add_axis(panel, "y", "value", ways[i]);
    cJSON_AddStringToObject(panel, "series", series);
    if (!add_wheres(panel, a, error)) return false;
  }
  return true;
}

/* How busy links are, kind by kind: the busiest of a kind, and what is usual for it. */
static bool links_panels(cJSON *root, const struct ss_plot_options *a, const char *series, struct ss_error *error) {
  static const char *const fields[] = {"busy_max", "busy_mean"}, *const titles[] = {"the busiest link of its kind",
                                                                                    "mean of all links of the kind"};
  static const char *const names[][2] = {{"nic-out", "NIC, out"}, {"nic-in", "NIC, in"}};
  cJSON_AddTrueToObject(root, "wide");
  for (size_t i = 0; i < 2; i++) {
    cJSON *panel = add_panel(root, "heat", titles[i], "links", a);
    const char *x = a->x ? a->x : "label";
    add_axis(panel, "x", x, x);
    cJSON_ReplaceItemInObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(panel, "x"), "label",
                                           cJSON_CreateString(strcmp(x, "label") == 0 ? "" : x));
    add_axis(panel, "y", "key", "");
    add_axis(panel, "z", fields[i], fields[i]);
    cJSON_AddNumberToObject(cJSON_GetObjectItemCaseSensitive(panel, "z"), "to", 1);
    cJSON_AddStringToObject(panel, "series", series);
    cJSON *renamed = cJSON_AddObjectToObject(panel, "names");
    for (size_t k = 0; k < 2; k++) cJSON_AddStringToObject(renamed, names[k][0], names[k][1]);
    if (!add_wheres(panel, a, error)) return false;
  }
  return true;
}

static void set_relative(cJSON *panel, const char *series) {
  cJSON *relative = cJSON_AddObjectToObject(panel, "relative"), *axis = cJSON_GetObjectItemCaseSensitive(panel, "y");
  char label[300];
  cJSON_AddStringToObject(relative, "to", series);
  cJSON_AddStringToObject(relative, "as", "ratio");
  snprintf(label, sizeof label, "%.120s / %.120s's", cJSON_GetObjectItemCaseSensitive(axis, "label")->valuestring,
           series);
  cJSON_ReplaceItemInObjectCaseSensitive(axis, "label", cJSON_CreateString(label));
  cJSON_DeleteItemFromObjectCaseSensitive(axis, "unit");
}

/* One panel of the fields asked for, or guessed. */
static bool one_panel(cJSON *root, const struct ss_plot_options *a, const char *kind, const cJSON *list,
                      const char *series, struct ss_error *error) {
  static const char *const times[] = {"time_s", "formula_s", "formula_high_s", "density", NULL};
  const char *time = first_of(list, times);
  const bool cells = strcmp(kind, "heat") == 0 || strcmp(kind, "map") == 0;
  const char *x = a->x ? a->x : a->each ? "index" : cells ? "ranks" : default_x(list);
  const char *y = a->y ? a->y : a->each ? "value" : cells ? default_x(list) : time;
  const char *z = a->z ? a->z : time;
  if (!y || (cells && !z)) return ss_fail(error, SS_BAD_INPUT, "%s: say what to draw with --y", a->file);
  if (!a->kind && cJSON_IsString(ss_field_find(list->child, x))) kind = "bars";
  cJSON *panel = add_panel(root, kind, NULL, a->each, a);
  add_axis(panel, "x", x, x);
  add_axis(panel, "y", y, a->each && !a->y ? a->each : y);
  if (cells) add_axis(panel, "z", z, z);
  cJSON_AddStringToObject(panel, "series", series);
  if (a->relative) set_relative(panel, a->relative);
  if (!cells && strcmp(kind, "bars") != 0) set_scales(panel, a, x);
  return add_wheres(panel, a, error);
}

bool ss_figure_of_results(const struct ss_plot_options *a, const cJSON *result, struct ss_doc **out,
                          struct ss_error *error) {
  static const char *const names[] = {"label", "form", "scheme", "name", "tensor", NULL};
  const cJSON *list = ss_records(result);
  if (!list || !list->child) return ss_figure_fail_empty(a->file, error);
  const char *kind = a->kind ? a->kind : "lines", *series = a->series ? a->series : first_of(list, names);
  cJSON *root = cJSON_CreateObject();
  if (!series) series = "tensor";
  bool ok = strcmp(kind, "traffic") == 0 ? traffic_panels(root, a, series, error)
            : strcmp(kind, "links") == 0 ? links_panels(root, a, series, error)
                                         : one_panel(root, a, kind, list, series, error);
  char *text = ok ? cJSON_PrintUnformatted(root) : NULL;
  cJSON_Delete(root);
  if (ok) ok = text ? ss_doc_parse("plot", text, strlen(text), out, error) : ss_fail_memory(error, "drawing");
  free(text);
  return ok;
}
