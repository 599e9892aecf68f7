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

static const char help[] =
    "usage: sparsync plot FIGURE|RESULTS.json [-o FILE.svg|pdf|png] [OPTION...]\n"
    "\n"
    "Draws with gnuplot. FIGURE is a name that `sparsync list figures` shows, or a file like those of\n"
    "scenarios/figures: what it needs is computed now. RESULTS is the JSON that run, cost, plan or trace stats "
    "print.\n"
    "\n"
    "  -o FILE              the ending says how: .svg, .pdf or .png; without it SVG goes to standard output\n"
    "  --data FILE          write the table that is drawn, in base units: with tabs if the name ends in .tsv, else\n"
    "                       CSV; to standard output if it is -. Without -o, only the table\n"
    "  --width column|wide  3.3 inches, panels one below the other; or 7, panels side by side\n"
    "  --title TEXT         above the figure\n"
    "\n"
    "of RESULTS:\n"
    "  --kind lines|bars|heat|map|traffic\n"
    "                       lines, or bars where x is a name; heat: --z as colour; map: who has the least --z at\n"
    "                       --x and --y; traffic: bytes of each rank, if run was asked for them\n"
    "  --x, --y, --z FIELD  fields of a result: ranks, time_s, bytes_sent_max, at.cluster.bandwidth, "
    "options.teams...;\n"
    "                       of a swept path the last word will do: bandwidth\n"
    "  --series FIELD       what a line or bar stands for (label)\n"
    "  --each FIELD         a point for each member of an array: index and value are its fields (iteration_s)\n"
    "  --where FIELD=VALUE  only results that have it (repeatable; the same field again admits either)\n"
    "  --relative SERIES    y over that of SERIES at the same x\n"
    "  --log x|y|xy         logarithmic axes\n"
    "  --log2 x|y           the same in powers of 2; along x tics stand where the data are (so do ranks)\n"
    "\n"
    "examples:\n"
    "  sparsync plot zen-fig8 -o zen-fig8.pdf\n"
    "  sparsync plot embrace-fig4 -o fig4.svg --data fig4.csv --width column\n"
    "  sparsync plot demo.json --kind bars --x cluster --y time_s -o demo.png\n"
    "  sparsync plot sweep.json --kind map --x ranks --y bandwidth --z time_s -o winners.svg\n"
    "  sparsync plot by-rank.json --kind traffic -o traffic.svg\n";

enum { WHERES_MAX = 32 };

struct arguments {
  const char *what, *output, *data, *width, *title;
  struct ss_plot_options results;
  const char *where[WHERES_MAX];
  bool help;
};

static const struct ss_option_spec specs[] = {{"o", true},      {"data", true}, {"width", true}, {"title", true},
                                              {"kind", true},   {"x", true},    {"y", true},     {"z", true},
                                              {"series", true}, {"each", true}, {"where", true}, {"relative", true},
                                              {"log", true},    {"log2", true}, {"help", false}, {.name = NULL}};

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  const struct {
    const char *name, **place;
  } texts[] = {{"o", &a->output},
               {"data", &a->data},
               {"width", &a->width},
               {"title", &a->title},
               {"kind", &a->results.kind},
               {"x", &a->results.x},
               {"y", &a->results.y},
               {"z", &a->results.z},
               {"series", &a->results.series},
               {"each", &a->results.each},
               {"relative", &a->results.relative},
               {"log", &a->results.log},
               {"log2", &a->results.log2}};
  if (!name) {
    if (a->what) return ss_fail(error, SS_BAD_INPUT, "one figure is enough: \"%s\" is left over", value);
    a->what = value;
    return true;
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(texts[i].name, name) == 0) *texts[i].place = value;
  if (strcmp(name, "help") == 0) a->help = true;
  if (strcmp(name, "where") != 0) return true;
  if (a->results.wheres == WHERES_MAX) return ss_fail(error, SS_BAD_INPUT, "--where: more than %d", WHERES_MAX);
  a->where[a->results.wheres++] = value;
  return true;
}

/* --- drawing ------------------------------------------------------------------------------------------------- */

static bool picture_of(const char *path, enum ss_picture *out, struct ss_error *error) {
  *out = SS_PICTURE_SVG;
  if (!path || strcmp(path, "-") == 0) return true;
  return ss_picture_of(path, out, error) || ss_fail_prefix(error, "-o");
}

static bool write_bytes(const char *path, const char *bytes, size_t size, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(path, &output, error)) return false;
  fwrite(bytes, 1, size, output.stream); /* ss_output_commit finds what went wrong */
  return ss_output_commit(&output, error);
}

static bool write_data(const char *path, const struct ss_plot *plot, struct ss_error *error) {
  struct ss_output output;
  const size_t n = strlen(path);
  if (!ss_output_open(path, &output, error)) return false;
  /* ss_output_commit finds what went wrong */
  ss_plot_data(plot, n > 4 && strcmp(path + n - 4, ".tsv") == 0, output.stream);
  return ss_output_commit(&output, error);
}

/* What gnuplot would have drawn is not lost with it: FILE.csv beside the picture. */
static bool save_data(const struct arguments *a, const struct ss_plot *plot, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_error ignored;
  if (a->data || !a->output || strcmp(a->output, "-") == 0) return false;
  const size_t stem = strlen(a->output) - 4;
  if (stem + 5 > sizeof path) return false;
  snprintf(path, sizeof path, "%.*s.csv", (int)stem, a->output);
  if (write_data(path, plot, &ignored)) ss_fail(error, error->status, "%s; the data are in %s", error->text, path);
  return false;
}

static bool draw(const struct arguments *a, struct ss_plot *plot, struct ss_error *error) {
  enum ss_picture picture;
  char *bytes;
  size_t size;
  if (!picture_of(a->output, &picture, error) || (a->data && !write_data(a->data, plot, error))) return false;
  if (a->data && !a->output) return true;
  if (!ss_plot_draw(plot, picture, &bytes, &size, error)) return save_data(a, plot, error);
  const bool ok = write_bytes(a->output, bytes, size, error);
  free(bytes);
  return ok;
}

static bool adorn(const struct arguments *a, struct ss_plot *plot, struct ss_error *error) {
  if (a->width && strcmp(a->width, "column") != 0 && strcmp(a->width, "wide") != 0)
    return ss_fail(error, SS_BAD_INPUT, "--width: \"%s\" is not column or wide", a->width);
  if (a->width) plot->wide = strcmp(a->width, "wide") == 0;
  if (a->title) plot->title = ss_plot_text(plot, a->title);
  return !a->title || plot->title ? true : ss_fail_memory(error, "drawing");
}

static bool figure_options(const struct arguments *a, struct ss_error *error) {
  const struct ss_plot_options *r = &a->results;
  const char *const mine[] = {r->kind, r->x, r->y, r->z, r->series, r->each, r->relative, r->log, r->log2};
  for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
    if (mine[i]) return ss_fail(error, SS_BAD_INPUT, "%s is a figure: \"%s\" is for result files", a->what, mine[i]);
  return r->wheres == 0 || ss_fail(error, SS_BAD_INPUT, "%s is a figure: --where is for result files", a->what);
}

static bool plot_results(const struct arguments *a, const char *path, struct ss_doc *results, struct ss_plot *plot,
                         struct ss_error *error) {
  struct ss_doc *figure;
  struct ss_plot_options options = a->results;
  options.file = path;
  options.where = a->where;
  if (!ss_figure_of_results(&options, ss_doc_root(results).at, &figure, error)) return false;
  const bool ok = ss_figure_plot(figure, plot, error);
  ss_doc_free(figure);
  return ok;
}

static bool make_plot(const struct arguments *a, struct ss_error *error) {
  char path[PATH_MAX];
  enum ss_picture picture;
  struct ss_doc *doc;
  struct ss_plot plot = {0};
  /* a wrong ending is better known before minutes of computing */
  if (!picture_of(a->output, &picture, error) || !ss_data_find("figures", a->what, path, sizeof path, error) ||
      !ss_doc_read(path, 1 << 30, &doc, error))
    return false;
  bool ok = ss_is_figure(doc) ? figure_options(a, error) && ss_figure_plot(doc, &plot, error)
                              : plot_results(a, path, doc, &plot, error);
  ok = ok && adorn(a, &plot, error) && draw(a, &plot, error);
  ss_plot_free(&plot);
  ss_doc_free(doc);
  return ok;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct arguments a = {0};
  if (!ss_options_parse(argc, argv, specs, seen, &a, error)) return false;
  if (a.help) return fputs(help, stdout) >= 0;
  if (!a.what)
    return ss_fail(error, SS_BAD_INPUT, "name a figure (sparsync list figures shows them) or a result file");
  return make_plot(&a, error);
}

const struct ss_command ss_command_plot = {
    .name = "plot", .summary = "the papers' figures, and pictures of results", .help = help, .run = run};
