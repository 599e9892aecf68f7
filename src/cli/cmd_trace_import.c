#include "base/file.h"
#include "cli/command.h"
#include "trace/make/import.h"

#include <string.h>

struct arguments {
  struct ss_call call;
  struct ss_import import; /* a seq of 0: not said */
  const char *text;
};

enum { SEQ = 64 /* unless said */ };

static bool check(const struct arguments *a, struct ss_error *error) {
  if (!a->text) return ss_fail(error, SS_BAD_INPUT, "name a text file (or - for standard input)");
  if (!a->import.ranks) return ss_fail(error, SS_BAD_INPUT, "say how many ranks with --ranks P");
  if (!a->call.output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  if (a->import.seq && a->import.layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  return true;
}

static bool import_text(const struct arguments *a, const struct ss_text *text, struct ss_error *error) {
  struct ss_trace *trace;
  const char *name = strcmp(a->text, "-") == 0 ? "standard input" : a->text;
  struct ss_import import = a->import;
  if (!import.source) import.source = name;
  if (!import.seq) import.seq = SEQ;
  if (!ss_trace_import(name, text->bytes, text->size, &import, &trace, error)) return false;
  const bool good = ss_trace_save(a->call.output, trace, error);
  ss_trace_close(trace);
  return good;
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_text text;
  if (!check(a, error) || !ss_text_open(a->text, &text, error)) return false;
  const bool good = import_text(a, &text, error);
  ss_text_close(&text);
  return good;
}

static const char *const layouts[] = {"stream", "sentence", NULL}; /* by enum ss_text_layout */

#define COUNT(member, low, high) SS_COUNT(struct arguments, import.member, low, high)
static const struct ss_option_spec options[] = {
    {"", SS_TEXT(struct arguments, text), .value = "file"},
    {"--ranks", SS_COUNT32(struct arguments, import.ranks, 1, SS_RANKS_MAX), .value = "P",
     .help = "number of ranks (required)"},
    {"--layout", SS_CHOICE(struct arguments, import.layout, layouts),
     .help = "the text is one stream of words, batch x seq of them an iteration (default); or a line is a sentence, "
             "and batches are padded to their longest"},
    {"--batch", COUNT(batch, 1, UINT32_MAX), .value = "B",
     .help = "sequences or sentences of a rank in an iteration (default 32)"},
    {"--seq", COUNT(seq, 1, UINT32_MAX), .value = "S", .help = "words of a sequence, for stream (default 64)"},
    {"--iterations", COUNT(iterations, 1, 0x1p53), .value = "N",
     .help = "at most N (default: as many as all ranks have in full)"},
    {"--vocab", COUNT(vocab, 2, UINT32_MAX), .value = "N",
     .help = "a table of N rows, padding and unknown included; rarer words become unknown"},
    {"--row-width", SS_COUNT32(struct arguments, import.row_width, 1, UINT32_MAX), .value = "W",
     .help = "elements a row (default 512)"},
    {"--dtype", SS_CHOICE(struct arguments, import.dtype, ss_dtypes), .help = "of an element (default F32)"},
    {"--tensor", SS_TEXT(struct arguments, import.tensor), .value = "NAME", .help = "(default embedding)"},
    {"--source", SS_TEXT(struct arguments, import.source), .value = "TEXT",
     .help = "what to record as the trace's origin (default: the file's name)"},
    SS_OPTIONS_OUTPUT_TRACE,
    {.name = NULL}};

const struct ss_command ss_command_trace_import = {
    .name = "import",
    .summary = "make a trace from text: one row a word",
    .usage =
        "usage: sparsync trace import TEXT --ranks P -o FILE [OPTION...]\n"
        "\n"
        "Makes a trace from a text (a file, or - for standard input): every word is a row of an embedding table. A "
        "word\n"
        "is a run of ASCII letters, folded to lower case, and bytes of 0x80 and above; rows are numbered by "
        "frequency,\n"
        "the most frequent first, ties by first occurrence; row 0 is padding, row 1 the unknown word. Each rank "
        "reads "
        "its\n"
        "contiguous share of the text.\n",
    .examples = "examples:\n"
                "  sparsync trace import book.txt --ranks 8 -o book.safetensors\n"
                "  zcat pairs.gz | cut -f1 | sparsync trace import - --layout sentence --ranks 16 --batch 128 -o "
                "en.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.import = {.batch = 32, .tensor = "embedding", .row_width = 512}},
    .run = run};
