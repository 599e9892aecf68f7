/* Figures: the papers' own, and any result file as lines, bars, a heat map, a map of winners, traffic by rank, or how
 * busy links are. */
#include "base/data.h"
#include "base/file.h"
#include "base/options.h"
#include "cli/command.h"
#include "figures/figure.h"
#include "figures/rounds_drawing.h"
#include "study/rounds.h"
#include "study/store.h"

#include <unistd.h>

struct arguments {
  struct ss_call call;
  const char *what, *data, *title;
  struct ss_plot_options results; /* its kind and file are put in when they are known */
  const char **style;             /* [styles] "LABEL=STYLE" */
  size_t styles;
  unsigned kind, width; /* indices of the choices; those that end them: not said */
};

enum { ROUNDS = 6 };
static const char *const kinds[] = {"lines", "bars", "heat", "map", "traffic", "links", [ROUNDS] = "rounds", NULL};
static const char *const widths[] = {"column", "wide", NULL};
enum { KINDS = sizeof kinds / sizeof *kinds - 1, WIDTHS = sizeof widths / sizeof *widths - 1 };

/* --- drawing ------------------------------------------------------------------------------------------------- */

static bool picture_of(const char *path, enum ss_picture *out, struct ss_error *error) {
  *out = SS_PICTURE_SVG;
  if (!path || strcmp(path, "-") == 0) return true;
  return ss_picture_of(path, out, error) || ss_fail_prefix(error, "-o");
}

struct data {
  const struct ss_plot *plot;
  bool tabs;
};

static bool print_data(const void *context, FILE *stream, struct ss_error *error) {
  const struct data *data = context;
  (void)error; /* ss_output_write finds what went wrong */
  ss_plot_data(data->plot, data->tabs, stream);
  return true;
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
  enum ss_picture kind;
  struct ss_picture_bytes picture;
  if (!picture_of(a->call.output, &kind, error) || (a->data && !write_data(a->data, plot, error))) return false;
  if (a->data && !a->call.output) return true;
  if (!ss_plot_draw(plot, kind, &picture, error)) return save_data(a, plot, error);
  return ss_picture_write(&picture, a->call.output, error);
}

/* "LABEL=STYLE", of which the label may have such signs. */
static bool add_style(const char *text, struct ss_plot *plot, struct ss_error *error) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text)
    return ss_fail(error, SS_BAD_INPUT, "%s: expected LABEL=STYLE (say ours=#cc3311,dashed)", text);
  SS_AUTO_FREE char *label = strndup(text, (size_t)(equals - text));
  return label ? ss_plot_set_style(plot, label, equals + 1, error) : ss_fail_memory(error, "reading options");
}

static bool adorn(const struct arguments *a, struct ss_plot *plot, struct ss_error *error) {
  if (a->width < WIDTHS) plot->wide = a->width == 1;
  if (a->title) plot->title = ss_plot_text(plot, a->title);
  for (size_t i = 0; i < a->styles; i++)
    if (!add_style(a->style[i], plot, error)) return ss_fail_prefix(error, "--style");
  return !a->title || plot->title ? true : ss_fail_memory(error, "drawing");
}

/* What only a picture has of options. */
static const char *of_pictures(const struct arguments *a) {
  return a->width < WIDTHS ? "--width"
         : a->title        ? "--title"
         : a->styles > 0   ? "--style"
         : a->results.log  ? "--log"
         : a->results.log2 ? "--log2"
                           : NULL;
}

/* What only result files have of options. */
static const char *of_results(const struct arguments *a) {
  const struct ss_plot_options *r = &a->results;
  const char *const given[] = {r->x, r->y, r->z, r->series, r->each, r->relative, r->log, r->log2};
  static const char *const names[] = {"--x", "--y", "--z", "--series", "--each", "--relative", "--log", "--log2"};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (given[i]) return names[i];
  return r->wheres > 0 ? "--where" : NULL;
}

static bool figure_options(const struct arguments *a, struct ss_error *error) {
  const char *given = a->kind < KINDS ? "--kind" : of_results(a);
  return !given || ss_fail(error, SS_BAD_INPUT, "%s is a figure: %s is for result files", a->what, given);
}

static bool make_plot(struct arguments *a, struct ss_error *error) {
  char path[PATH_MAX];
  enum ss_picture picture;
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  SS_AUTO(ss_plot_free) struct ss_plot plot = {0};
  /* a wrong ending is better known before minutes of computing */
  if (!picture_of(a->call.output, &picture, error) || !ss_data_find("figures", a->what, path, sizeof path, error))
    return false;
  const char *ending = strrchr(path, '.');
  if (ending && strcmp(ending, ".csv") == 0 && access(path, R_OK) == 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: pictures are drawn of what --format json writes, not of CSV", path);
  if (!ss_doc_read(path, SS_RESULTS_BYTES, &doc, error)) return false;
  a->results.file = path;
  return (ss_is_figure(doc)
              ? figure_options(a, error) &&
                    ss_figure_plot(doc, a->call.request.notice, a->call.request.run.watcher, &plot, error)
              : ss_figure_plot_results(&a->results, ss_doc_root(doc).at, a->call.request.notice, &plot, error)) &&
         adorn(a, &plot, error) && draw(a, &plot, error);
}

/* Which scheme, on how many ranks: of a scenario alone. */
static bool scenario_options(const struct arguments *a, struct ss_error *error) {
  const struct ss_call *call = &a->call;
  const char *given = call->fields > 0 ? call->said[0].option->name : call->sets > 0 ? "--set" : NULL;
  return !given || ss_fail(error, SS_BAD_INPUT, "%s is for the scenario that --kind rounds plays", given);
}

/* A scenario, of whose runs nothing but the messages is drawn. */
static bool plot_rounds(struct arguments *a, struct ss_error *error) {
  enum ss_picture picture;
  SS_AUTO_STUDY struct ss_study *study = NULL;
  SS_AUTO(ss_plot_free) struct ss_plot plot = {0};
  SS_AUTO_JSON cJSON *tree = NULL;
  const char *given = of_results(a);
  if (given) return ss_fail(error, SS_BAD_INPUT, "%s is for result files, not for --kind rounds", given);
  if (!picture_of(a->call.output, &picture, error) ||
      !ss_data_scenario(a->what, a->call.path, sizeof a->call.path, error))
    return false;
  a->call.request.file = a->call.path;
  return ss_study_open(&a->call.request, &study, error) && ss_study_rounds(study, &tree, error) &&
         ss_rounds_plot(&plot, tree, error) && adorn(a, &plot, error) && draw(a, &plot, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  if (!ss_output_has_folder(a->data, error)) return false;
  if (a->data && !call->output && of_pictures(a))
    return ss_fail(error, SS_BAD_INPUT, "%s does nothing without -o FILE: --data alone writes the table",
                   of_pictures(a));
  if (!a->what)
    return ss_fail(error, SS_BAD_INPUT, "name a figure (sparsync list figures shows them) or a result file");
  if (a->kind == ROUNDS) return plot_rounds(a, error);
  if (!scenario_options(a, error)) return false;
  a->results.kind = kinds[a->kind];
  return make_plot(a, error);
}

#define TEXT(member) SS_TEXT(struct arguments, member)
static const struct ss_option_spec options[] = {
    {"", TEXT(what), .value = "figure"},
    {"-o", SS_TEXT(struct ss_call, output), .writes = true, .value = "FILE",
     .help =
         "the ending says how: .svg, .pdf, .png, or .tex (PGF, for papers); without it SVG goes to standard output"},
    {"--data", TEXT(data), .writes = true, .value = "FILE",
     .help = "write the table that is drawn, in base units: with tabs if the name ends in .tsv, else CSV; to "
             "standard output if it is -. Without -o, only the table"},
    {"--width", SS_CHOICE(struct arguments, width, widths),
     .help = "3.3 inches, panels one below the other; or 7, panels side by side"},
    {"--style", SS_TEXTS(struct arguments, style, styles), .value = "LABEL=STYLE",
     .help = "how the series of that name is drawn: a colour, a dash, or both (ours=#cc3311,dashed); repeatable"},
    {"--title", TEXT(title), .value = "TEXT", .help = "above the figure"},
    {"", SS_HEADING, .help = "of RESULTS:"},
    {"--kind", SS_CHOICE(struct arguments, kind, kinds),
     .help =
         "lines, or bars where x is a name; heat: --z as colour; map: who has the least --z at --x and --y; traffic: "
         "bytes of each rank, if run was asked for them; links: how busy the links of each kind are, the busiest and "
         "the mean, for each label, or --x; rounds: of a SCENARIO, who sends what to whom, round by round"},
    {"--x", TEXT(results.x), .value = "FIELD",
     .help = "a field of a result: ranks, time_s, bytes_sent_max, at.cluster.bandwidth, options.teams...; of a swept "
             "path the last word will do: bandwidth"},
    {"--y", TEXT(results.y), .value = "FIELD", .help = "likewise"},
    {"--z", TEXT(results.z), .value = "FIELD", .help = "likewise"},
    {"--series", TEXT(results.series), .value = "FIELD", .help = "what a line or bar stands for (label)"},
    {"--each", TEXT(results.each), .value = "FIELD",
     .help = "a point for each member of an array: index and value are its fields (iteration_s)"},
    {"--where", SS_TEXTS(struct arguments, results.where, results.wheres), .value = "FIELD=VALUE",
     .help = "only results that have it (repeatable; the same field again admits either)"},
    {"--relative", TEXT(results.relative), .value = "SERIES", .help = "y over that of SERIES at the same x"},
    {"--log", TEXT(results.log), .value = "x|y|xy|none",
     .help =
         "logarithmic axes; unless told, those along which values above zero spread over more than a factor of 10"},
    {"--log2", TEXT(results.log2), .value = "x|y",
     .help = "the same in powers of 2; along x tics stand where the data are (so do ranks)"},
    {"", SS_HEADING, .help = "of SCENARIO (--kind rounds):"},
    SS_OPTION_SCHEME,
    SS_OPTION_RANKS,
    SS_OPTION_TENSOR,
    SS_OPTION_SET("change any field of the scenario (repeatable)"),
    {"", SS_HEADING, .help = "of all:"},
    {"--format", SS_REFUSED,
     .help = "the ending of -o FILE says it: .svg, .pdf, .png or .tex (--data FILE writes the table)"},
    SS_OPTION_QUIET,
    SS_OPTION_MEMORY,
    {.name = NULL}};

const struct ss_command ss_command_plot = {
    .name = "plot",
    .summary = "the papers' figures, and pictures of results",
    .usage = "usage: sparsync plot FIGURE|RESULTS.json [-o FILE.svg|pdf|png|tex] [OPTION...]\n"
             "       sparsync plot SCENARIO --kind rounds [-o FILE.svg|pdf|png|tex] [OPTION...]\n\n"
             "Draws with gnuplot. FIGURE is a name that `sparsync list figures` shows, or a file like those of "
             "scenarios/figures: what it needs is computed now. RESULTS is the JSON that run, cost, plan or trace "
             "stats print. Of a SCENARIO with few ranks, --kind rounds draws a panel for each run: lanes of ranks, "
             "an arrow for each message of the first iteration.\n",
    .examples = "  sparsync plot zen-fig8 -o zen-fig8.pdf\n"
                "  sparsync plot embrace-fig4 -o fig4.svg --data fig4.csv --width column\n"
                "  sparsync plot demo.json --kind bars --x cluster --y time_s -o demo.png\n"
                "  sparsync plot sweep.json --kind map --x ranks --y bandwidth --z time_s -o winners.svg\n"
                "  sparsync plot by-rank.json --kind traffic -o traffic.svg\n"
                "  sparsync plot demo.json --kind links --where cluster=rtx3090-100g-ib -o links.svg\n"
                "  sparsync plot demo --kind rounds --ranks 8 --scheme allreduce,zen -o rounds.svg\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.kind = KINDS, .width = WIDTHS},
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
