/* Figures: the papers' own, and any result file as lines, bars, a heat map, a map of winners, or traffic by rank. */
#include "base/data.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "cli/command.h"
#include "figures/figure.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
  struct ss_call call;
  const char *what, *data, *title;
  const char *x, *y, *z, *series, *each, *relative, *log, *log2;
  unsigned kind, width; /* indices of the choices; those that end them: not said */
  const char **where;   /* [wheres] "FIELD=VALUE" */
  size_t wheres;
};

static const char *const kinds[] = {"lines", "bars", "heat", "map", "traffic", NULL};
static const char *const widths[] = {"column", "wide", NULL};
enum { KINDS = sizeof kinds / sizeof *kinds - 1, WIDTHS = sizeof widths / sizeof *widths - 1 };

/* --- what to draw of a result file --------------------------------------------------------------------------- */

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
  const cJSON *first = ss_record_find(list->child, field);
  for (const cJSON *item = list->child; item; item = item->next) {
    const cJSON *other = ss_record_find(item, field);
    if (first && other && !cJSON_Compare(first, other, true)) return true;
  }
  return false;
}

/* The first of the fields that all results could have; NULL: none. */
static const char *first_of(const cJSON *list, const char *const *fields) {
  for (size_t i = 0; fields[i]; i++)
    for (const cJSON *item = list->child; item; item = item->next) {
      const cJSON *found = ss_record_find(item, fields[i]);
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

static bool add_wheres(cJSON *panel, const struct arguments *a, struct ss_error *error) {
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
                        const struct arguments *a) {
  cJSON *panels = cJSON_GetObjectItemCaseSensitive(root, "panels"), *panel = cJSON_CreateObject();
  if (!panels) panels = cJSON_AddArrayToObject(root, "panels");
  cJSON_AddItemToArray(panels, panel);
  cJSON_AddStringToObject(panel, "kind", kind);
  if (title) cJSON_AddStringToObject(panel, "title", title);
  cJSON *entry = cJSON_CreateObject();
  if (each) cJSON_AddStringToObject(entry, "each", each);
  cJSON_AddItemToArray(cJSON_AddArrayToObject(panel, "data"), entry);
  cJSON_AddStringToObject(entry, "file", a->what);
  return panel;
}

static void set_scale(cJSON *panel, const char *axis, const char *scale) {
  cJSON *object = cJSON_GetObjectItemCaseSensitive(panel, axis);
  if (cJSON_IsObject(object)) cJSON_AddStringToObject(object, "scale", scale);
}

static void set_scales(cJSON *panel, const struct arguments *a, const char *x) {
  if (a->log && strchr(a->log, 'x')) set_scale(panel, "x", "log");
  else if ((a->log2 && strchr(a->log2, 'x')) || (!a->log2 && strcmp(x, "ranks") == 0)) set_scale(panel, "x", "log2");
  if (a->log && strchr(a->log, 'y')) set_scale(panel, "y", "log");
  else if (a->log2 && strchr(a->log2, 'y')) set_scale(panel, "y", "log2");
}

static bool traffic_panels(cJSON *root, const struct arguments *a, const char *series, struct ss_error *error) {
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
static bool one_panel(cJSON *root, const struct arguments *a, const char *kind, const cJSON *list, const char *series,
                      struct ss_error *error) {
  static const char *const times[] = {"time_s", "formula_s", "formula_high_s", "density", NULL};
  const char *time = first_of(list, times);
  const bool cells = strcmp(kind, "heat") == 0 || strcmp(kind, "map") == 0;
  const char *x = a->x ? a->x : a->each ? "index" : cells ? "ranks" : default_x(list);
  const char *y = a->y ? a->y : a->each ? "value" : cells ? default_x(list) : time;
  const char *z = a->z ? a->z : time;
  if (!y || (cells && !z)) return ss_fail(error, SS_BAD_INPUT, "%s: say what to draw with --y", a->what);
  if (a->kind == KINDS && cJSON_IsString(ss_record_find(list->child, x))) kind = "bars";
  cJSON *panel = add_panel(root, kind, NULL, a->each, a);
  add_axis(panel, "x", x, x);
  add_axis(panel, "y", y, a->each && !a->y ? a->each : y);
  if (cells) add_axis(panel, "z", z, z);
  cJSON_AddStringToObject(panel, "series", series);
  if (a->relative) set_relative(panel, a->relative);
  if (!cells && strcmp(kind, "bars") != 0) set_scales(panel, a, x);
  return add_wheres(panel, a, error);
}

/* A figure's document that draws the results as the options say. */
static bool figure_of(const struct arguments *a, const struct ss_records *records, struct ss_doc **out,
                      struct ss_error *error) {
  static const char *const names[] = {"label", "form", "scheme", "name", "tensor", NULL};
  const char *kind = a->kind < KINDS ? kinds[a->kind] : "lines",
             *series = a->series ? a->series : first_of(records->list, names);
  cJSON *root = cJSON_CreateObject();
  if (!series) series = "tensor";
  bool ok = strcmp(kind, "traffic") == 0 ? traffic_panels(root, a, series, error)
                                         : one_panel(root, a, kind, records->list, series, error);
  char *text = ok ? cJSON_PrintUnformatted(root) : NULL;
  cJSON_Delete(root);
  if (ok) ok = text ? ss_doc_parse("plot", text, strlen(text), out, error) : ss_fail_memory(error, "drawing");
  free(text);
  return ok;
}

/* --- drawing ------------------------------------------------------------------------------------------------- */

static bool picture_of(const char *path, enum ss_picture *out, struct ss_error *error) {
  static const char *const endings[] = {".svg", ".pdf", ".png"};
  const char *dot = path ? strrchr(path, '.') : NULL;
  *out = SS_PICTURE_SVG;
  if (!path || strcmp(path, "-") == 0) return true;
  for (int i = 0; dot && i < 3; i++)
    if (strcmp(dot, endings[i]) == 0) {
      *out = (enum ss_picture)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "-o %s: does not end in .svg, .pdf or .png", path);
}

struct picture {
  const char *bytes;
  size_t size;
};

static bool print_picture(const void *context, FILE *stream, struct ss_error *error) {
  const struct picture *picture = context;
  (void)error;
  fwrite(picture->bytes, 1, picture->size, stream); /* ss_output_write finds what went wrong */
  return true;
}

struct data {
  const struct ss_plot *plot;
  bool tabs;
};

static bool print_data(const void *context, FILE *stream, struct ss_error *error) {
  const struct data *data = context;
  return ss_plot_data(data->plot, data->tabs, stream, error);
}

static bool write_data(const char *path, const struct ss_plot *plot, struct ss_error *error) {
  const size_t n = strlen(path);
  const bool tabs = n > 4 && strcmp(path + n - 4, ".tsv") == 0;
  return ss_output_write(path, print_data, &(struct data){plot, tabs}, error);
}

/* What gnuplot would have drawn is not lost with it: FILE.csv beside the picture. */
static bool save_data(const struct arguments *a, const struct ss_plot *plot, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_error ignored;
  if (a->data || !a->call.output || strcmp(a->call.output, "-") == 0) return false;
  const size_t stem = strlen(a->call.output) - 4;
  if (stem + 5 > sizeof path) return false;
  snprintf(path, sizeof path, "%.*s.csv", (int)stem, a->call.output);
  if (write_data(path, plot, &ignored)) ss_fail(error, error->status, "%s; the data are in %s", error->text, path);
  return false;
}

static bool draw(const struct arguments *a, struct ss_plot *plot, struct ss_error *error) {
  enum ss_picture picture;
  char *bytes;
  size_t size;
  if (!picture_of(a->call.output, &picture, error) || (a->data && !write_data(a->data, plot, error))) return false;
  if (a->data && !a->call.output) return true;
  if (!ss_plot_draw(plot, picture, &bytes, &size, error)) return save_data(a, plot, error);
  const bool ok = ss_output_write(a->call.output, print_picture, &(struct picture){bytes, size}, error);
  free(bytes);
  return ok;
}

static bool adorn(const struct arguments *a, struct ss_plot *plot, struct ss_error *error) {
  if (a->width < WIDTHS) plot->wide = a->width == 1;
  if (a->title) plot->title = ss_plot_text(plot, a->title);
  return !a->title || plot->title ? true : ss_fail_memory(error, "drawing");
}

static bool figure_options(const struct arguments *a, struct ss_error *error) {
  const char *const mine[] = {
      a->kind < KINDS ? kinds[a->kind] : NULL, a->x, a->y, a->z, a->series, a->each, a->relative, a->log, a->log2};
  for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
    if (mine[i]) return ss_fail(error, SS_BAD_INPUT, "%s is a figure: \"%s\" is for result files", a->what, mine[i]);
  return a->wheres == 0 || ss_fail(error, SS_BAD_INPUT, "%s is a figure: --where is for result files", a->what);
}

static bool plot_results(const struct arguments *asked, const char *path, struct ss_plot *plot,
                         struct ss_error *error) {
  struct ss_doc *entry, *figure;
  struct ss_records records;
  struct arguments a = *asked;
  a.what = path;
  if (!ss_doc_empty("plot", &entry, error)) return false;
  bool ok = ss_doc_set_item(entry, "file", cJSON_CreateString(path), error) &&
            ss_records_get(ss_doc_root(entry), &records, error);
  if (ok) {
    ok = figure_of(&a, &records, &figure, error);
    ss_records_free(&records);
    if (ok) {
      ok = ss_figure_plot(figure, plot, error);
      ss_doc_free(figure);
    }
  }
  ss_doc_free(entry);
  return ok;
}

static bool make_plot(const struct arguments *a, struct ss_error *error) {
  char path[PATH_MAX];
  enum ss_picture picture;
  struct ss_doc *doc;
  struct ss_plot plot = {0};
  /* a wrong ending is better known before minutes of computing */
  if (!picture_of(a->call.output, &picture, error) || !ss_data_find("figures", a->what, path, sizeof path, error) ||
      !ss_doc_read(path, 1 << 30, &doc, error))
    return false;
  bool ok = ss_is_figure(doc) ? figure_options(a, error) && ss_figure_plot(doc, &plot, error)
                              : plot_results(a, path, &plot, error);
  ok = ok && adorn(a, &plot, error) && draw(a, &plot, error);
  ss_plot_free(&plot);
  ss_doc_free(doc);
  return ok;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  if (!a->what)
    return ss_fail(error, SS_BAD_INPUT, "name a figure (sparsync list figures shows them) or a result file");
  return make_plot(a, error);
}

#define TEXT(member) SS_TEXT(struct arguments, member)
static const struct ss_option_spec options[] = {
    {"", TEXT(what), .value = "figure"},
    {"-o", SS_TEXT(struct ss_call, output), .value = "FILE",
     .help = "the ending says how: .svg, .pdf or .png; without it SVG goes to standard output"},
    {"--data", TEXT(data), .value = "FILE",
     .help =
         "write the table that is drawn, in base units: with tabs if the name ends in .tsv, else CSV; to standard "
         "output if it is -. Without -o, only the table"},
    {"--width", SS_CHOICE(struct arguments, width, widths),
     .help = "3.3 inches, panels one below the other; or 7, panels side by side"},
    {"--title", TEXT(title), .value = "TEXT", .help = "above the figure"},
    {"", SS_HEADING, .help = "of RESULTS:"},
    {"--kind", SS_CHOICE(struct arguments, kind, kinds),
     .help = "lines, or bars where x is a name; heat: --z as colour; map: who has the least --z at --x and --y; "
             "traffic: bytes of each rank, if run was asked for them"},
    {"--x", TEXT(x), .value = "FIELD",
     .help = "a field of a result: ranks, time_s, bytes_sent_max, at.cluster.bandwidth, options.teams...; of a swept "
             "path the last word will do: bandwidth"},
    {"--y", TEXT(y), .value = "FIELD", .help = "likewise"},
    {"--z", TEXT(z), .value = "FIELD", .help = "likewise"},
    {"--series", TEXT(series), .value = "FIELD", .help = "what a line or bar stands for (label)"},
    {"--each", TEXT(each), .value = "FIELD",
     .help = "a point for each member of an array: index and value are its fields (iteration_s)"},
    {"--where", SS_TEXTS(struct arguments, where, wheres), .value = "FIELD=VALUE",
     .help = "only results that have it (repeatable; the same field again admits either)"},
    {"--relative", TEXT(relative), .value = "SERIES", .help = "y over that of SERIES at the same x"},
    {"--log", TEXT(log), .value = "x|y|xy", .help = "logarithmic axes"},
    {"--log2", TEXT(log2), .value = "x|y",
     .help = "the same in powers of 2; along x tics stand where the data are (so do ranks)"},
    {"--format", SS_REFUSED,
     .help = "the ending of -o FILE says it: .svg, .pdf or .png (--data FILE writes the table)"},
    {"--quiet", SS_FLAG(struct ss_call, quiet)},
    {.name = NULL}};

const struct ss_command ss_command_plot = {
    .name = "plot",
    .summary = "the papers' figures, and pictures of results",
    .usage =
        "usage: sparsync plot FIGURE|RESULTS.json [-o FILE.svg|pdf|png] [OPTION...]\n"
        "\n"
        "Draws with gnuplot. FIGURE is a name that `sparsync list figures` shows, or a file like those of\n"
        "scenarios/figures: what it needs is computed now. RESULTS is the JSON that run, cost, plan or trace stats "
        "print.\n",
    .examples = "examples:\n"
                "  sparsync plot zen-fig8 -o zen-fig8.pdf\n"
                "  sparsync plot embrace-fig4 -o fig4.svg --data fig4.csv --width column\n"
                "  sparsync plot demo.json --kind bars --x cluster --y time_s -o demo.png\n"
                "  sparsync plot sweep.json --kind map --x ranks --y bandwidth --z time_s -o winners.svg\n"
                "  sparsync plot by-rank.json --kind traffic -o traffic.svg\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.kind = KINDS, .width = WIDTHS},
    .run = run};
