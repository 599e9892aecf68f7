/* Does training still learn? A small model on a real text, its gradients added up by the schemes' own code. */
#include "base/file.h"
#include "cli/command.h"
#include "exec/launch.h"
#include "report/curves_table.h"
#include "schemes/registry.h"
#include "study/learning.h"

#include <cjson/cJSON.h>
#include <string.h>

enum { SETTINGS_MAX = 64, STEPS_MAX = 10000000 };

static const char *const layouts[] = {"stream", "sentence", NULL};
enum { LAYOUTS = sizeof layouts / sizeof *layouts - 1 };

struct arguments {
  struct ss_call call;
  struct ss_learning_source source;
  struct ss_setting setting[SETTINGS_MAX];
  const char *capture, *plot_data;
  unsigned layout; /* enum ss_text_layout, or LAYOUTS: not said */
  double select;   /* share of each table that ranks send; NaN: all that is not zero */
  uint64_t every;
  bool older_spelling;
};

/* --- schemes -------------------------------------------------------------------------------------------- */

static bool add_setting(struct arguments *a, struct ss_node node, struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = 4};
  if (a->source.settings == SETTINGS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "--scheme: more than %d schemes", SETTINGS_MAX);
  struct ss_setting *setting = &a->setting[a->source.settings];
  if (!ss_setting_read(node, &defaults, setting, error)) return false;
  for (size_t i = 0; i < a->source.settings; i++)
    if (strcmp(a->setting[i].label, setting->label) == 0)
      return ss_fail(error, SS_BAD_INPUT, "--scheme: two schemes are called \"%s\": give one a \"label\"",
                     setting->label);
  a->source.settings++;
  return true;
}

static bool add_words(struct arguments *a, const char *text, struct ss_error *error);

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

/* "lossless" stands for all schemes that are. */
static bool add_lossless(struct arguments *a, struct ss_error *error) {
  for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
    if (ss_scheme_lossless(*s) && !add_words(a, (*s)->name, error)) return false;
  return true;
}

static bool add_each(struct arguments *a, struct ss_node list, struct ss_error *error) {
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    const bool all = ss_node_is_text(n) && strcmp(n.at->valuestring, "lossless") == 0;
    if (!(all ? add_lossless(a, error) : add_setting(a, n, error))) return false;
  }
  return true;
}

static bool add_words(struct arguments *a, const char *text, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  cJSON *list = ss_study_schemes(text, error);
  return list && ss_doc_adopt("--scheme", list, &doc, error) && add_each(a, ss_doc_root(doc), error);
}

static bool read_schemes(void *arguments, const char *value, struct ss_error *error) {
  return value[0] == '{' || value[0] == '[' ? add_json(arguments, value, error) : add_words(arguments, value, error);
}

/* --- options -------------------------------------------------------------------------------------------- */

static bool refuse_operand(void *arguments, const char *value, struct ss_error *error) {
  (void)arguments;
  return ss_fail(error, SS_BAD_INPUT, "a text is to be named with its option, not \"%s\" (say --text %s?)", value,
                 value);
}

static bool check(const struct arguments *a, struct ss_error *error) {
  if (!a->source.text == !a->source.trace)
    return ss_fail(error, SS_BAD_INPUT,
                   "say which text to read, with --text FILE (or - for standard input) or as --trace FILE%s",
                   a->source.text ? ", not both" : "");
  if (a->source.trace && (a->source.import.seq || a->layout != LAYOUTS))
    return ss_fail(error, SS_BAD_INPUT, "--layout and --seq say how a text is cut: that of --trace is already");
  if (a->source.import.seq && a->layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  if (a->capture && a->source.settings > 1)
    return ss_fail(error, SS_BAD_INPUT, "--capture writes the gradients of one training: name one scheme, not %zu",
                   a->source.settings);
  return true;
}

/* What the options leave open. */
static bool complete(struct arguments *a, struct ss_error *error) {
  if (a->source.settings == 0 && !add_words(a, "allreduce", error)) return false;
  a->source.import.layout = a->layout == LAYOUTS ? SS_STREAM : (enum ss_text_layout)a->layout;
  if (!isnan(a->select))
    a->source.task.select = (struct ss_selection){.selects = true, .residual = true, .density = a->select};
  a->source.setting = a->setting;
  a->source.captures = a->capture != NULL;
  return true;
}

/* --- what comes of it ------------------------------------------------------------------------------------- */

static bool print_json(const void *curves, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(ss_curves_json(curves), stream, error);
}

static bool write_capture(const struct arguments *a, const struct ss_learning *l, struct ss_error *error) {
  char source[256];
  if (!a->capture) return true;
  (void)snprintf(source, sizeof source, "gradients of sparsync train --learn on %s, scheme %s, %s", l->curves.text,
                 a->setting[0].label, ss_optimizer_names[l->task.optimizer.kind]);
  return ss_capture_write(&l->capture, a->capture, source, error);
}

static bool learn(const struct arguments *a, struct ss_error *error) {
  struct ss_learning l;
  bool good = ss_learning_open(&a->source, &l, error) &&
              ss_learning_run(&l, a->call.options.jobs, a->call.options.watcher, error);
  l.curves.every = a->every;
  good = good && write_capture(a, &l, error) &&
         (!a->plot_data || ss_output_write(a->plot_data, ss_curves_plot_data, &l.curves, error)) &&
         ss_call_write(&a->call, &l.curves, ss_curves_table, print_json, ss_curves_csv, error) &&
         ss_curves_check(&l.curves, error);
  ss_learning_close(&l);
  return good;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  struct arguments *a = (struct arguments *)call;
  if (ss_launch_read().rank != 0) return true; /* started by mpirun: one process does it */
  return check(a, error) && ss_output_place(a->capture, error) && ss_output_place(a->plot_data, error) &&
         complete(a, error) && learn(a, error);
}

#define COUNT32(member, high) SS_COUNT32(struct arguments, member, 1, high), .value = "N"
#define COUNT(member, low, high) SS_COUNT(struct arguments, member, low, high), .value = "N"
#define FILE_NAME(member) SS_TEXT(struct arguments, member), .value = "FILE"
static const struct ss_option_spec options[] = {
    {"", SS_OTHER(refuse_operand)},
    {"--learn", SS_FLAG(struct arguments, older_spelling)},
    {"--text", FILE_NAME(source.text),
     .help = "what to read (- for standard input); words as in `sparsync trace import`"},
    {"--trace", FILE_NAME(source.trace),
     .help = "what to read, as trace import has written it; say its --batch. --ranks: its first ones (all)"},
    {"--scheme", SS_OTHER(read_schemes), .value = "A,B",
     .help = "schemes, with options (zen:format=coo), or a JSON object or list of them (repeatable; default "
             "allreduce); \"lossless\" stands "
             "for all lossless ones"},
    {"--ranks", COUNT32(source.import.ranks, SS_RANKS_MAX), .help = "workers (8)"},
    {"--layout", SS_CHOICE(struct arguments, layout, layouts),
     .help = "the text is one stream, batch x seq words of a rank in a step (default); or a line is a sentence, and "
             "batches are padded to their longest"},
    {"--batch", COUNT(source.import.batch, 1, UINT32_MAX), .help = "sequences or sentences (8)"},
    {"--seq", COUNT(source.import.seq, 2, UINT32_MAX), .help = "words of a sequence (32)"},
    {"--steps", COUNT(source.task.steps, 1, STEPS_MAX), .help = "(200; the text is read again when it ends)"},
    {"--vocab", COUNT(source.import.vocab, 2, UINT32_MAX),
     .help = "rows of each table, rarer words become unknown (2000)"},
    {"--width", COUNT32(source.task.shape.width, 1 << 16), .help = "elements a row (16)"},
    {"--context", COUNT32(source.task.shape.context, 1 << 16), .help = "words that predict the next (4)"},
    {"--samples", COUNT32(source.task.shape.samples, 1 << 20),
     .help = "of the sampled softmax, a rank and step (32)"},
    {"--optimizer", SS_CHOICE(struct arguments, source.task.optimizer.kind, ss_optimizer_names),
     .help = "adagrad by default; adam is EmbRace's sparse Adam"},
    {"--lr", SS_QUANTITY(struct arguments, source.task.optimizer.rate, SS_NUMBER, SS_ABOVE_ZERO, INFINITY),
     .value = "RATE", .help = "learning rate (sgd 1, adagrad 0.1, adam 0.001)"},
    {"--select", SS_QUANTITY(struct arguments, select, SS_RATIO, SS_ABOVE_ZERO, 1), .value = "SHARE",
     .help =
         "what ranks send of each table: its largest entries; the rest is added to the next step's gradient (Deep "
         "Gradient Compression); for lossless schemes and s2"},
    {"--split", SS_FLAG(struct arguments, source.task.split),
     .help = "update in two parts, what the next step needs first (EmbRace's vertical scheduling)"},
    {"--seed", COUNT(source.task.shape.seed, 0, 0x1p53), .help = "of first values and samples (1)"},
    {"--gpus-per-node", COUNT32(source.cluster.gpus_per_node, SS_RANKS_MAX),
     .help = "for schemes with a hierarchy (1)"},
    {"--capture", FILE_NAME(capture), .help = "write the gradients as a trace with values; needs a single scheme"},
    {"--source", SS_TEXT(struct arguments, source.import.source), .value = "TEXT",
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
    .defaults = &(const struct arguments){.source = SS_LEARNING_DEFAULTS, .layout = LAYOUTS, .select = NAN},
    .run = run};
