/* Does training still learn? A small model on a real text, its gradients added up by the schemes' own code. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "exec/launch.h"
#include "learn/capture.h"
#include "learn/text.h"
#include "report/curves.h"
#include "trace/make/import.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_MAX = 64, STEPS_MAX = 10000000, RANKS = 8, SEQ = 32 /* unless said */ };

static const char *const layouts[] = {"stream", "sentence", NULL};
enum { LAYOUTS = sizeof layouts / sizeof *layouts - 1 };

struct arguments {
  struct ss_call call;
  struct ss_import import;
  struct ss_course course;
  struct ss_cluster cluster;
  struct ss_setting setting[SETTINGS_MAX];
  size_t settings;
  const char *text, *trace, *capture, *plot_data;
  unsigned layout; /* enum ss_text_layout, or LAYOUTS: not said */
  double select;   /* share of each table that ranks send; NaN: all that is not zero */
  uint64_t every;
  bool older_spelling;
};

/* --- schemes -------------------------------------------------------------------------------------------- */

static bool add_setting(struct arguments *a, struct ss_node node, struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = 4};
  if (a->settings == SETTINGS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "--scheme: more than %d schemes", SETTINGS_MAX);
  struct ss_setting *setting = &a->setting[a->settings];
  if (!ss_setting_read(node, &defaults, setting, error)) return false;
  for (size_t i = 0; i < a->settings; i++)
    if (strcmp(a->setting[i].label, setting->label) == 0)
      return ss_fail(error, SS_BAD_INPUT, "--scheme: two schemes are called \"%s\": give one a \"label\"",
                     setting->label);
  a->settings++;
  return true;
}

static bool add_json(struct arguments *a, const char *text, struct ss_error *error) {
  struct ss_doc *doc;
  if (!ss_doc_parse("--scheme", text, strlen(text), &doc, error)) return false;
  const struct ss_node root = ss_doc_root(doc);
  bool good = true;
  if (ss_node_is_array(root)) {
    if (ss_node_size(root) == 0) good = ss_node_fail(root, error, "the list names no scheme");
    for (struct ss_node n = ss_node_first(root); good && ss_node_present(n); n = ss_node_next(n))
      good = add_setting(a, n, error);
  } else {
    good = add_setting(a, root, error);
  }
  ss_doc_free(doc);
  return good;
}

/* A name as JSON, which says what is wrong with it. */
static bool add_name(struct arguments *a, const char *name, struct ss_error *error) {
  struct ss_doc *doc;
  if (!ss_doc_empty("--scheme", &doc, error)) return false;
  const bool good =
      ss_doc_set(doc, "scheme", name, error) && add_setting(a, ss_node_get(ss_doc_root(doc), "scheme"), error);
  ss_doc_free(doc);
  return good;
}

static bool add_lossless(struct arguments *a, struct ss_error *error) {
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    if ((*s)->lossless && !add_name(a, (*s)->name, error)) return false;
  return true;
}

static bool add_schemes(struct arguments *a, const char *text, struct ss_error *error) {
  if (text[0] == '{' || text[0] == '[') return add_json(a, text, error);
  SS_AUTO_FREE char *copy = strdup(text);
  if (!copy) return ss_fail_memory(error, "reading options");
  for (char *rest = copy, *name; (name = strsep(&rest, ","));)
    if (!(strcmp(name, "lossless") == 0 ? add_lossless(a, error) : add_name(a, name, error))) return false;
  return true;
}

/* --- options -------------------------------------------------------------------------------------------- */

static bool read_schemes(void *arguments, const char *value, struct ss_error *error) {
  return add_schemes(arguments, value, error);
}

static bool refuse_operand(void *arguments, const char *value, struct ss_error *error) {
  (void)arguments;
  return ss_fail(error, SS_BAD_INPUT, "a text is to be named with its option, not \"%s\" (say --text %s?)", value,
                 value);
}

static bool check(const struct arguments *a, struct ss_error *error) {
  if (!a->text == !a->trace)
    return ss_fail(error, SS_BAD_INPUT,
                   "say which text to read, with --text FILE (or - for standard input) or as --trace FILE%s",
                   a->text ? ", not both" : "");
  if (a->trace && (a->import.seq || a->layout != LAYOUTS))
    return ss_fail(error, SS_BAD_INPUT, "--layout and --seq say how a text is cut: that of --trace is already");
  if (a->import.seq && a->layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  if (a->capture && a->settings > 1)
    return ss_fail(error, SS_BAD_INPUT, "--capture writes the gradients of one training: name one scheme, not %zu",
                   a->settings);
  return true;
}

/* What the options leave open. */
static bool complete(struct arguments *a, struct ss_error *error) {
  if (a->settings == 0 && !add_name(a, "allreduce", error)) return false;
  if (!a->import.ranks && !a->trace) a->import.ranks = RANKS;
  if (!a->import.seq) a->import.seq = SEQ;
  a->import.layout = a->layout == LAYOUTS ? SS_STREAM : (enum ss_text_layout)a->layout;
  if (!isnan(a->select))
    a->course.select = (struct ss_selection){.selects = true, .residual = true, .density = a->select};
  struct ss_optimizer_options *optimizer = &a->course.optimizer;
  if (!(optimizer->rate > 0)) optimizer->rate = ss_optimizer_rate(optimizer->kind);
  return true;
}

/* --- training ------------------------------------------------------------------------------------------- */

struct training {
  struct ss_curve curve;
  struct ss_error error;
  bool good;
};

/* All schemes, several at once; each by itself does not know of the others. */
static bool learn_all(const struct arguments *a, const struct ss_course *course, struct ss_capture *capture,
                      struct training *training, struct ss_error *error) {
  const struct ss_learn_watch watch = ss_capture_watch(capture);
  struct ss_progress progress = ss_progress_begin("schemes", a->settings, a->call.options.quiet);
  if (a->call.options.jobs) omp_set_num_threads((int)a->call.options.jobs);
#pragma omp parallel for schedule(dynamic, 1) if (a->settings > 1)
  for (size_t i = 0; i < a->settings; i++) {
    struct training *l = &training[i];
    l->good = ss_learn(course, &a->setting[i], a->capture ? &watch : NULL, &l->curve, &l->error);
#pragma omp critical
    ss_progress_step(&progress);
  }
  ss_progress_end(&progress);
  for (size_t i = 0; i < a->settings; i++)
    if (!training[i].good) {
      *error = training[i].error;
      return false;
    }
  return true;
}

struct answer {
  const struct ss_curves *curves;
  enum ss_format format;
};

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  static bool (*const printers[])(const struct ss_curves *, FILE *, struct ss_error *) = {
      [SS_TABLE] = ss_curves_table, [SS_JSON] = ss_curves_json, [SS_CSV] = ss_curves_csv};
  const struct answer *a = context;
  return printers[a->format](a->curves, stream, error);
}

static bool print_plot_data(const void *context, FILE *stream, struct ss_error *error) {
  (void)error;
  ss_curves_plot_data(context, stream);
  return true;
}

static bool write_capture(const struct arguments *a, const struct ss_capture *capture, struct ss_error *error) {
  char source[256];
  if (!a->capture) return true;
  (void)snprintf(source, sizeof source, "gradients of sparsync train --learn on %s, scheme %s, %s", a->import.source,
                 a->setting[0].label, ss_optimizer_names[a->course.optimizer.kind]);
  return ss_capture_write(capture, a->capture, source, error);
}

static bool report(const struct arguments *a, const struct ss_course *course, const struct training *training,
                   const struct ss_capture *capture, struct ss_error *error) {
  SS_AUTO_FREE struct ss_curve *curve = ss_alloc(a->settings, sizeof *curve);
  if (!curve) return ss_fail_memory(error, "printing curves");
  for (size_t i = 0; i < a->settings; i++) curve[i] = training[i].curve;
  const struct ss_curves curves = {.course = course,
                                   .text = a->import.source,
                                   .layout = a->trace ? "trace" : layouts[a->import.layout == SS_SENTENCE],
                                   .seq = a->trace || a->import.layout == SS_SENTENCE ? 0 : a->import.seq,
                                   .curve = curve,
                                   .count = a->settings,
                                   .every = a->every};
  return write_capture(a, capture, error) &&
         (!a->plot_data || ss_output_write(a->plot_data, print_plot_data, &curves, error)) &&
         ss_output_write(a->call.output, print, &(struct answer){&curves, a->call.format}, error) &&
         ss_curves_check(&curves, error);
}

static bool learn(const struct arguments *a, const struct ss_trace *text, struct ss_error *error) {
  struct ss_course course = a->course;
  struct ss_capture capture;
  SS_AUTO_FREE struct training *training = ss_alloc_zero(a->settings, sizeof *training);
  if (!training) return ss_fail_memory(error, "training a model");
  course.text = text;
  course.batch = a->import.batch;
  course.shape.vocab = ss_trace_tensor(text, 0)->rows;
  course.cluster = &a->cluster;
  ss_capture_begin(&capture, &course);
  const bool good = learn_all(a, &course, &capture, training, error) && report(a, &course, training, &capture, error);
  ss_capture_free(&capture);
  for (size_t i = 0; i < a->settings; i++)
    if (training[i].good) ss_curve_free(&training[i].curve);
  return good;
}

static bool learn_text(struct arguments *a, const char *text, size_t size, struct ss_error *error) {
  struct ss_trace *trace;
  const char *name = strcmp(a->text, "-") == 0 ? "standard input" : a->text;
  if (!a->import.source) a->import.source = name;
  a->import.row_width = a->course.shape.width;
  if (!ss_trace_import(name, text, size, &a->import, &trace, error)) return false;
  const bool good = learn(a, trace, error);
  ss_trace_close(trace);
  return good;
}

static bool learn_trace(struct arguments *a, struct ss_error *error) {
  struct ss_trace *trace;
  const struct ss_text_options options = {a->import.ranks, a->import.batch, a->import.vocab};
  if (!a->import.source) a->import.source = a->trace;
  if (!ss_learn_trace(a->trace, &options, &trace, error)) return false;
  const bool good = learn(a, trace, error);
  ss_trace_close(trace);
  return good;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  struct ss_text text;
  if (ss_launch_read().rank != 0) return true; /* started by mpirun: one process does it */
  if (!check(a, error) || !complete(a, error)) return false;
  if (a->trace) return learn_trace(a, error);
  if (!ss_text_open(a->text, &text, error)) return false;
  const bool good = learn_text(a, text.bytes, text.size, error);
  ss_text_close(&text);
  return good;
}

#define COUNT32(member, high) SS_COUNT32(struct arguments, member, 1, high), .value = "N"
#define COUNT(member, low, high) SS_COUNT(struct arguments, member, low, high), .value = "N"
#define FILE_NAME(member) SS_TEXT(struct arguments, member), .value = "FILE"
static const struct ss_option_spec options[] = {
    {"", SS_OTHER(refuse_operand)},
    {"--learn", SS_FLAG(struct arguments, older_spelling)},
    {"--text", FILE_NAME(text), .help = "what to read (- for standard input); words as in `sparsync trace import`"},
    {"--trace", FILE_NAME(trace),
     .help = "what to read, as trace import has written it; say its --batch. --ranks: its first ones (all)"},
    {"--scheme", SS_OTHER(read_schemes), .value = "A,B",
     .help = "schemes by name, or a JSON object or list of them (repeatable; default allreduce); \"lossless\" stands "
             "for all lossless ones"},
    {"--ranks", COUNT32(import.ranks, SS_RANKS_MAX), .help = "workers (8)"},
    {"--layout", SS_CHOICE(struct arguments, layout, layouts),
     .help = "the text is one stream, batch x seq words of a rank in a step (default); or a line is a sentence, and "
             "batches are padded to their longest"},
    {"--batch", COUNT(import.batch, 1, UINT32_MAX), .help = "sequences or sentences (8)"},
    {"--seq", COUNT(import.seq, 2, UINT32_MAX), .help = "words of a sequence (32)"},
    {"--steps", COUNT(course.steps, 1, STEPS_MAX), .help = "(200; the text is read again when it ends)"},
    {"--vocab", COUNT(import.vocab, 2, UINT32_MAX), .help = "rows of each table, rarer words become unknown (2000)"},
    {"--width", COUNT32(course.shape.width, 1 << 16), .help = "elements a row (16)"},
    {"--context", COUNT32(course.shape.context, 1 << 16), .help = "words that predict the next (4)"},
    {"--samples", COUNT32(course.shape.samples, 1 << 20), .help = "of the sampled softmax, a rank and step (32)"},
    {"--optimizer", SS_CHOICE(struct arguments, course.optimizer.kind, ss_optimizer_names),
     .help = "adagrad by default; adam is EmbRace's sparse Adam"},
    {"--lr", SS_QUANTITY(struct arguments, course.optimizer.rate, SS_NUMBER, SS_ABOVE_ZERO, INFINITY),
     .value = "RATE", .help = "learning rate (sgd 1, adagrad 0.1, adam 0.001)"},
    {"--select", SS_QUANTITY(struct arguments, select, SS_RATIO, SS_ABOVE_ZERO, 1), .value = "SHARE",
     .help =
         "what ranks send of each table: its largest entries; the rest is added to the next step's gradient (Deep "
         "Gradient Compression); for lossless schemes and s2"},
    {"--split", SS_FLAG(struct arguments, course.split),
     .help = "update in two parts, what the next step needs first (EmbRace's vertical scheduling)"},
    {"--seed", COUNT(course.shape.seed, 0, 0x1p53), .help = "of first values and samples (1)"},
    {"--gpus-per-node", COUNT32(cluster.gpus_per_node, SS_RANKS_MAX), .help = "for schemes with a hierarchy (1)"},
    {"--capture", FILE_NAME(capture), .help = "write the gradients as a trace with values; needs a single scheme"},
    {"--source", SS_TEXT(struct arguments, import.source), .value = "TEXT",
     .help = "what to call the text in results and captures (the file's name)"},
    {"--plot-data", FILE_NAME(plot_data),
     .help = "write the curves for gnuplot: gnuplot -e \"data='FILE'\" plots/learn.gp >curves.svg"},
    {"--every", COUNT(every, 1, STEPS_MAX), .help = "steps between lines of the table (a twentieth of all)"},
    SS_OPTIONS_OUTPUT,
    SS_OPTION_JOBS,
    {.name = NULL}};

const struct ss_command ss_command_learn = {
    .name = "learn",
    .summary = "whether training still learns under each scheme",
    .usage =
        "usage: sparsync learn --text FILE|--trace FILE [OPTION...]\n"
        "\n"
        "Trains a bag-of-words language model with sampled softmax on a text, once for each scheme: simulated "
        "workers "
        "each\n"
        "read their share, and the scheme's own code adds up their gradients, values and all. Prints the loss of "
        "every "
        "step.\n"
        "Gradients are rounded to whole units, so that sums are exact: all lossless schemes must give the identical "
        "curve,\n"
        "else the exit status is 1. (`sparsync train --learn` is the older spelling of this command.)\n",
    .examples =
        "examples:\n"
        "  sparsync learn --text book.txt --scheme lossless\n"
        "  sparsync learn --text book.txt --scheme allreduce,topka,oktopk,gtopk,spardl\n"
        "  sparsync learn --text book.txt --scheme allgather --scheme '{\"name\": \"s2\", \"lambda\": 0.25}'\n"
        "  sparsync learn --text book.txt --optimizer adam --split --scheme lossless\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.import = {.batch = 8, .vocab = 2000, .tensor = "text"},
                                          .course = {.steps = 200,
                                                     .shape = {.width = 16, .context = 4, .samples = 32, .seed = 1},
                                                     .optimizer = {.kind = SS_ADAGRAD}},
                                          .cluster = {.name = "flat",
                                                      .model = "alpha-beta",
                                                      .inter = {1e-5, 1e-9},
                                                      .intra = {1e-5, 1e-9},
                                                      .gpus_per_node = 1},
                                          .layout = LAYOUTS,
                                          .select = NAN},
    .run = run};
