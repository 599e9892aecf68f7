/* Does training still learn? A small model on a real text, its gradients added up by the schemes' own code. */
#include "base/file.h"
#include "cli/command.h"
#include "exec/launch.h"
#include "query/answers.h"
#include "query/learn_request.h"
#include "report/tables.h"
#include "study/learning.h"
#include "trace/make/import.h"

enum { STEPS_MAX = 10000000 };

struct arguments {
  struct ss_call call;
  const char *capture, *plot_data;
  uint64_t every;
  bool older_spelling;
};

/* --- what comes of it ------------------------------------------------------------------------------------- */

static bool print_json(const void *curves, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(ss_curves_json(curves), stream, error);
}

static bool write_capture(const struct arguments *a, const struct ss_learning *l, struct ss_error *error) {
  char source[256];
  if (!a->capture) return true;
  (void)snprintf(source, sizeof source, "gradients of sparsync train --learn on %s, scheme %s, %s", l->text,
                 l->source.setting[0].label, ss_optimizer_names[l->task.optimizer.kind]);
  return ss_capture_write(&l->capture, a->capture, source, error);
}

static bool refuse_operand(void *arguments, const char *value, struct ss_error *error) {
  (void)arguments;
  return ss_fail(error, SS_BAD_INPUT, "a text is to be named with its option, not \"%s\" (say --text %s?)", value,
                 value);
}

static const struct ss_option_spec options[] = {
    {"", SS_OTHER(refuse_operand)},
    {"--learn", SS_FLAG(struct arguments, older_spelling)},
    SS_ASKS("--text", "FILE", "what to read (- for standard input); words as in `sparsync trace import`"),
    SS_ASKS("--trace", "FILE",
            "what to read, as trace import has written it; say its --batch. --ranks: its first ones (all)"),
    {"--scheme", SS_FIELDS("schemes"), .value = "A,B",
     .help = "schemes, with options (zen:format=coo), or a JSON object or list of them (repeatable; default "
             "allreduce); \"lossless\" stands for all lossless ones"},
    SS_ASKS("--ranks", "N", "workers (8)"),
    {"--layout", SS_FIELD, .choices = ss_text_layout_names,
     .help = "the text is one stream, batch x seq words of a rank in a step (default); or a line is a sentence, and "
             "batches are padded to their longest"},
    SS_ASKS("--batch", "N", "sequences or sentences (8)"),
    SS_ASKS("--seq", "N", "words of a sequence (32)"),
    SS_ASKS("--steps", "N", "(200; the text is read again when it ends)"),
    SS_ASKS("--vocab", "N", "rows of each table, rarer words become unknown (2000)"),
    SS_ASKS("--width", "N", "elements a row (16)"),
    {"--model", SS_FIELD, .choices = ss_model_names,
     .help = "what predicts a word: the mean of those before it (default), or an LSTM that reads them all"},
    SS_ASKS("--context", "N", "words that predict the next, of a bag (4)"),
    SS_ASKS("--samples", "N", "of the sampled softmax, a rank and step (32)"),
    {"--optimizer", SS_FIELD, .choices = ss_optimizer_names,
     .help = "adagrad by default; adam is EmbRace's sparse Adam"},
    SS_ASKS("--lr", "RATE", "learning rate (sgd 1, adagrad 0.1, adam 0.001)"),
    SS_ASKS("--select", "SHARE",
            "what ranks send of each table: its largest entries; the rest is added to the next step's gradient; for "
            "lossless schemes and s2. Or a scenario's \"select\" as JSON: {\"blocks\": \"1/32\", \"block\": 32}, "
            "{\"topk\": \"5%\", \"momentum\": 0.9, \"sample\": \"1%\"} (Deep Gradient Compression)"),
    SS_ASKS("--target", "LOSS", "say in which step the mean of the last ten losses comes down to it"),
    {"--split", SS_FIELD,
     .help = "update in two parts, what the next step needs first (EmbRace's vertical scheduling)"},
    SS_ASKS("--seed", "N", "of first values and samples (1)"),
    SS_ASKS("--gpus-per-node", "N", "for schemes with a hierarchy (1)"),
    {"--capture", SS_TEXT(struct arguments, capture), .writes = true, .value = "FILE",
     .help = "write the gradients as a trace with values; needs a single scheme"},
    SS_ASKS("--source", "TEXT", "what to call the text in results and captures (the file's name)"),
    {"--plot-data", SS_TEXT(struct arguments, plot_data), .writes = true, .value = "FILE",
     .help = "write the curves for gnuplot: gnuplot -e \"data='FILE'\" plots/learn.gp >curves.svg"},
    {"--every", SS_COUNT(struct arguments, every, 1, STEPS_MAX), .value = "N",
     .help = "steps between lines of the table (a twentieth of all)"},
    SS_OPTIONS_OUTPUT,
    SS_OPTION_JOBS,
    {.name = NULL}};

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  if (ss_launch_read().rank != 0) return true; /* started by mpirun: one process does it */
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  SS_AUTO_FREE struct ss_learn_request *wanted = ss_alloc(1, sizeof *wanted);
  SS_AUTO(ss_learning_close) struct ss_learning l = {.trace = NULL};
  if (!wanted) return ss_fail_memory(error, "reading options");
  if (a->every > 0 && (call->format == SS_JSON || call->format == SS_CSV))
    return ss_fail(error, SS_BAD_INPUT, "--every is for tables: JSON and CSV have all steps");
  if (!ss_request_object(&call->request, "learn", &doc, error) ||
      !ss_learn_request_read(ss_doc_root(doc), wanted, error))
    return false;
  if (a->capture && wanted->source.settings != 1)
    return ss_fail(error, SS_BAD_INPUT, "--capture writes the gradients of one training: name one scheme, not %zu",
                   wanted->source.settings);
  wanted->source.captures = a->capture != NULL;
  if (!ss_output_has_folder(a->capture, error) || !ss_output_has_folder(a->plot_data, error) ||
      !ss_learning_open(&wanted->source, &l, error) ||
      !ss_learning_run(&l, call->request.run.jobs, call->request.run.watcher, error))
    return false;
  l.every = a->every;
  ss_learning_tell(&l, call->request.notice);
  return write_capture(a, &l, error) &&
         (!a->plot_data || ss_output_write(a->plot_data, ss_curves_plot_data, &l, error)) &&
         ss_call_write(call, &l, ss_curves_table, print_json, ss_curves_csv, error) && ss_curves_check(&l, error);
}

const struct ss_command ss_command_learn = {
    .name = "learn",
    .summary = "whether training still learns under each scheme",
    .usage = "usage: sparsync learn --text FILE|--trace FILE [OPTION...]\n\n"
             "Trains a bag-of-words language model with sampled softmax on a text, once for each scheme: simulated "
             "workers each read their share, and the scheme's own code adds up their gradients, values and all. "
             "Prints the loss of every step. Gradients are rounded to whole units, so that sums are exact: all "
             "lossless schemes must give the identical curve, else the exit status is 1. (`sparsync train --learn` "
             "is the older spelling of this command.)\n",
    .examples =
        "  sparsync learn --text book.txt --scheme lossless\n"
        "  sparsync learn --text book.txt --scheme allreduce,topka,oktopk,gtopk,spardl\n"
        "  sparsync learn --text book.txt --scheme allgather --scheme '{\"name\": \"s2\", \"lambda\": 0.25}'\n"
        "  sparsync learn --text book.txt --optimizer adam --split --scheme lossless\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
