/* Does training still learn? A small model on a real text, its gradients added up by the schemes' own code. */
#include "cli/learn.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/options.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "report/curves.h"
#include "study/learning.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync train --learn --text FILE|--trace FILE [OPTION...]\n"
    "\n"
    "Trains a bag-of-words language model with sampled softmax on a text, once for each scheme: simulated workers "
    "each\n"
    "read their share, and the scheme's own code adds up their gradients, values and all. Prints the loss of every "
    "step.\n"
    "Gradients are rounded to whole units, so that sums are exact: all lossless schemes must give the identical "
    "curve,\n"
    "else the exit status is 1.\n"
    "\n"
    "  --text FILE          what to read (- for standard input); words as in `sparsync trace import`\n"
    "  --trace FILE         what to read, as trace import has written it; say its --batch. --ranks: its first ones "
    "(all)\n"
    "  --scheme A,B         schemes by name, or a JSON object or list of them (repeatable; default allreduce);\n"
    "                       \"lossless\" stands for all lossless ones\n"
    "  --ranks P            workers (8)\n"
    "  --layout stream      the text is one stream, batch x seq words of a rank in a step (default)\n"
    "  --layout sentence    a line is a sentence; batches are padded to their longest\n"
    "  --batch B            sequences or sentences (8)    --seq S        words of a sequence (32)\n"
    "  --steps N            (200; the text is read again when it ends)\n"
    "  --vocab N            rows of each table, rarer words become unknown (2000)\n"
    "  --width W            elements a row (16)           --context C    words that predict the next (4)\n"
    "  --samples K          of the sampled softmax, a rank and step (32)\n"
    "  --optimizer NAME     sgd, adagrad (default), or adam: EmbRace's sparse Adam\n"
    "  --lr RATE            learning rate (sgd 1, adagrad 0.1, adam 0.001)\n"
    "  --select SHARE       what ranks send of each table: its largest entries; the rest is added to the next "
    "step's\n"
    "                       gradient (Deep Gradient Compression); for lossless schemes and s2\n"
    "  --split              update in two parts, what the next step needs first (EmbRace's vertical scheduling)\n"
    "  --seed N             of first values and samples (1)\n"
    "  --gpus-per-node G    for schemes with a hierarchy (1)\n"
    "  --capture FILE       write the gradients as a trace with values; needs a single scheme\n"
    "  --source TEXT        what to call the text in results and captures (the file's name)\n"
    "  --plot-data FILE     write the curves for gnuplot: gnuplot -e \"data='FILE'\" plots/learn.gp >curves.svg\n"
    "  --every N            steps between lines of the table (a twentieth of all)\n"
    "  --format table|json|csv, -o FILE           what and where to write (a file appears whole or not at all)\n"
    "  --jobs N             threads (all cores)   --quiet            no progress bar\n"
    "\n"
    "examples:\n"
    "  sparsync train --learn --text book.txt --scheme lossless\n"
    "  sparsync train --learn --text book.txt --scheme allreduce,topka,oktopk,gtopk,spardl\n"
    "  sparsync train --learn --text book.txt --scheme allgather --scheme '{\"name\": \"s2\", \"lambda\": 0.25}'\n"
    "  sparsync train --learn --text book.txt --optimizer adam --split --scheme lossless\n";

enum { SETTINGS_MAX = 64, INPUT_MAX = 1 << 30 };

struct arguments {
  struct ss_learning_source source;
  struct ss_setting setting[SETTINGS_MAX];
  const char *output, *capture, *plot_data;
  enum ss_format format;
  uint64_t every;
  unsigned jobs;
  bool has_seq, has_layout, quiet, help;
};

static const struct ss_option_spec specs[] = {
    {"learn", false}, {"text", true},      {"trace", true},   {"scheme", true},        {"ranks", true},
    {"layout", true}, {"batch", true},     {"seq", true},     {"steps", true},         {"vocab", true},
    {"width", true},  {"context", true},   {"samples", true}, {"optimizer", true},     {"lr", true},
    {"select", true}, {"split", false},    {"seed", true},    {"gpus-per-node", true}, {"capture", true},
    {"source", true}, {"plot-data", true}, {"every", true},   {"format", true},        {"o", true},
    {"jobs", true},   {"quiet", false},    {"help", false},   {.name = NULL}};

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
    if (ss_scheme_lossless(*s) && !add_name(a, (*s)->name, error)) return false;
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

static bool parse_choice(const char *option, const char *value, const char *const *choices, int *out,
                         struct ss_error *error) {
  char all[64] = "";
  for (int i = 0; choices[i]; i++) {
    if (strcmp(choices[i], value) == 0) {
      *out = i;
      return true;
    }
    (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", choices[i]);
  }
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not one of %s", option, value, all);
}

static const char *const layouts[] = {"stream", "sentence", NULL};

static bool choice_option(struct arguments *a, const char *name, const char *value, struct ss_error *error) {
  int choice;
  if (strcmp(name, "layout") == 0) {
    if (!parse_choice("--layout", value, layouts, &choice, error)) return false;
    a->source.import.layout = choice == 0 ? SS_STREAM : SS_SENTENCE;
    a->has_layout = true;
    return true;
  }
  if (strcmp(name, "format") == 0) return ss_format_parse(value, &a->format, error);
  if (!parse_choice("--optimizer", value, ss_optimizer_names, &choice, error)) return false;
  a->source.course.optimizer.kind = (enum ss_optimizer_kind)choice;
  return true;
}

static bool parse_rate(struct arguments *a, const char *value, struct ss_error *error) {
  if (!ss_units_parse(value, SS_NUMBER, &a->source.course.optimizer.rate, error))
    return ss_fail_prefix(error, "--lr");
  if (!(a->source.course.optimizer.rate > 0))
    return ss_fail(error, SS_BAD_INPUT, "--lr: a learning rate is above 0, not %s", value);
  return true;
}

static bool parse_select(struct arguments *a, const char *value, struct ss_error *error) {
  struct ss_selection *select = &a->source.course.select;
  *select = (struct ss_selection){.selects = true, .residual = true};
  if (!ss_units_parse(value, SS_RATIO, &select->density, error)) return ss_fail_prefix(error, "--select");
  if (select->density > 0 && select->density <= 1) return true;
  return ss_fail(error, SS_BAD_INPUT, "--select: a share above 0 and at most 1, not %s (say 5%%)", value);
}

/* Whole numbers, where each goes and how large it may be. */
static bool count_option(struct arguments *a, const char *name, const char *value, struct ss_error *error) {
  struct ss_model_shape *shape = &a->source.course.shape;
  const struct {
    const char *name;
    uint64_t low, high, *wide;
    uint32_t *narrow;
  } counts[] = {{"--ranks", 1, SS_RANKS_MAX, NULL, &a->source.import.ranks},
                {"--batch", 1, UINT32_MAX, &a->source.import.batch, NULL},
                {"--seq", 2, UINT32_MAX, &a->source.import.seq, NULL},
                {"--steps", 1, 10000000, &a->source.course.steps, NULL},
                {"--vocab", 2, UINT32_MAX, &a->source.import.vocab, NULL},
                {"--width", 1, 1 << 16, NULL, &shape->width},
                {"--context", 1, 1 << 16, NULL, &shape->context},
                {"--samples", 1, 1 << 20, NULL, &shape->samples},
                {"--seed", 0, UINT64_C(1) << 53, &shape->seed, NULL},
                {"--gpus-per-node", 1, SS_RANKS_MAX, NULL, &a->source.cluster.gpus_per_node},
                {"--every", 1, 10000000, &a->every, NULL},
                {"--jobs", 1, 1024, NULL, &a->jobs}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    uint64_t count;
    if (strcmp(counts[i].name + 2, name) != 0) continue;
    if (!ss_count_parse(value, counts[i].name, counts[i].low, counts[i].high, &count, error)) return false;
    if (counts[i].wide) *counts[i].wide = count;
    if (counts[i].narrow) *counts[i].narrow = (uint32_t)count;
  }
  a->has_seq = a->has_seq || strcmp(name, "seq") == 0;
  return true;
}

static const char **file_option(struct arguments *a, const char *name) {
  if (strcmp(name, "text") == 0) return &a->source.text;
  if (strcmp(name, "trace") == 0) return &a->source.trace;
  if (strcmp(name, "source") == 0) return &a->source.import.source;
  if (strcmp(name, "capture") == 0) return &a->capture;
  if (strcmp(name, "plot-data") == 0) return &a->plot_data;
  return strcmp(name, "o") == 0 ? &a->output : NULL;
}

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  assert(a);
  if (!name)
    return ss_fail(error, SS_BAD_INPUT, "train --learn reads a text, not \"%s\" (say --text %s?)", value, value);
  if (!value) { /* flags */
    a->source.course.split = a->source.course.split || strcmp(name, "split") == 0;
    a->quiet = a->quiet || strcmp(name, "quiet") == 0;
    a->help = a->help || strcmp(name, "help") == 0;
    return true;
  }
  const char **file = file_option(a, name);
  if (file) {
    *file = value;
    return true;
  }
  if (strcmp(name, "scheme") == 0) return add_schemes(a, value, error);
  if (strcmp(name, "lr") == 0) return parse_rate(a, value, error);
  if (strcmp(name, "select") == 0) return parse_select(a, value, error);
  if (strcmp(name, "layout") == 0 || strcmp(name, "format") == 0 || strcmp(name, "optimizer") == 0)
    return choice_option(a, name, value, error);
  return count_option(a, name, value, error);
}

static bool check(struct arguments *a, struct ss_error *error) {
  if (!a->source.text == !a->source.trace)
    return ss_fail(error, SS_BAD_INPUT,
                   "train --learn: say which text to read, with --text FILE (or - for standard input) or as --trace "
                   "FILE%s",
                   a->source.text ? ", not both" : "");
  if (a->source.trace && (a->has_seq || a->has_layout))
    return ss_fail(error, SS_BAD_INPUT, "--layout and --seq say how a text is cut: that of --trace is already");
  if (a->has_seq && a->source.import.layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  if (a->source.settings == 0 && !add_name(a, "allreduce", error)) return false;
  if (a->capture && a->source.settings > 1)
    return ss_fail(error, SS_BAD_INPUT, "--capture writes the gradients of one training: name one scheme, not %zu",
                   a->source.settings);
  return true;
}

/* --- what comes of it ------------------------------------------------------------------------------------- */

static bool print_json(const struct ss_curves *curves, FILE *stream, struct ss_error *error) {
  cJSON *root = ss_curves_json(curves);
  const bool good = ss_json_print(root, stream, error);
  cJSON_Delete(root);
  return good;
}

static bool print(const struct arguments *a, const struct ss_curves *curves, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(a->output, &output, error)) return false;
  const bool good = a->format == SS_JSON  ? print_json(curves, output.stream, error)
                    : a->format == SS_CSV ? ss_curves_csv(curves, output.stream, error)
                                          : ss_curves_table(curves, output.stream, error);
  if (good) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool write_plot_data(const struct arguments *a, const struct ss_curves *curves, struct ss_error *error) {
  struct ss_output output;
  if (!a->plot_data) return true;
  if (!ss_output_open(a->plot_data, &output, error)) return false;
  ss_curves_plot_data(curves, output.stream);
  return ss_output_commit(&output, error);
}

static bool write_capture(const struct arguments *a, const struct ss_learning *l, struct ss_error *error) {
  char source[256];
  if (!a->capture) return true;
  (void)snprintf(source, sizeof source, "gradients of sparsync train --learn on %s, scheme %s, %s", l->curves.text,
                 a->setting[0].label, ss_optimizer_names[l->course.optimizer.kind]);
  return ss_capture_write(&l->capture, a->capture, source, error);
}

static bool learn(const struct arguments *a, struct ss_error *error) {
  struct ss_learning l;
  bool good = ss_learning_open(&a->source, &l, error) &&
              ss_learning_run(&l, a->jobs, a->quiet ? NULL : &ss_progress_watcher, error);
  l.curves.every = a->every;
  good = good && write_capture(a, &l, error) && write_plot_data(a, &l.curves, error) && print(a, &l.curves, error) &&
         ss_curves_check(&l.curves, error);
  ss_learning_close(&l);
  return good;
}

/* All of standard input; *out is the caller's. */
static bool read_stdin(char **out, size_t *size, struct ss_error *error) {
  size_t capacity = 1 << 16;
  char *text = ss_alloc(capacity, 1);
  *size = 0;
  *out = text;
  for (size_t got; text && (got = fread(text + *size, 1, capacity - *size, stdin)) > 0;) {
    *size += got;
    if (*size < capacity) continue;
    text = capacity < INPUT_MAX ? ss_realloc(text, capacity *= 2, 1) : NULL;
    if (text) *out = text;
  }
  if (!text) return ss_fail_memory(error, "reading standard input");
  return !ferror(stdin) || ss_fail(error, SS_BAD_INPUT, "standard input: cannot be read");
}

bool ss_learn_run(int argc, char **argv, struct ss_error *error) {
  SS_AUTO_FREE struct arguments *a = ss_alloc_zero(1, sizeof *a);
  SS_AUTO_FREE char *text = NULL;
  if (!a) return ss_fail_memory(error, "reading options");
  ss_learning_defaults(&a->source);
  a->source.setting = a->setting;
  if (!ss_options_parse(argc, argv, specs, seen, a, error)) return false;
  if (a->help) return fputs(help, stdout) >= 0;
  if (!check(a, error)) return false;
  a->source.captures = a->capture != NULL;
  if (a->source.text && strcmp(a->source.text, "-") == 0) {
    if (!read_stdin(&text, &a->source.size, error)) return false;
    a->source.bytes = text;
    a->source.text = "standard input";
  }
  return learn(a, error);
}
