#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/units.h"
#include "cli/cmd_trace.h"
#include "trace/make/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync trace import TEXT --ranks P -o FILE [options]\n"
    "\n"
    "Makes a trace from a text (a file, or - for standard input): every word is a row of an embedding table. A word\n"
    "is a run of ASCII letters, folded to lower case, and bytes of 0x80 and above; rows are numbered by frequency,\n"
    "the most frequent first, ties by first occurrence; row 0 is padding, row 1 the unknown word. Each rank reads "
    "its\n"
    "contiguous share of the text.\n"
    "\n"
    "  --ranks P            number of ranks (required)\n"
    "  --layout stream      the text is one stream of words, batch x seq of them an iteration (default)\n"
    "  --layout sentence    a line is a sentence; batches are padded to their longest\n"
    "  --batch B            sequences or sentences of a rank in an iteration (default 32)\n"
    "  --seq S              words of a sequence, for stream (default 64)\n"
    "  --iterations N       at most N (default: as many as all ranks have in full)\n"
    "  --vocab N            a table of N rows, padding and unknown included; rarer words become unknown\n"
    "  --row-width W        elements a row (default 512)\n"
    "  --dtype F32|F16|BF16 of an element (default F32)\n"
    "  --tensor NAME        (default embedding)\n"
    "  --source TEXT        what to record as the trace's origin (default: the file's name)\n"
    "  -o FILE              the trace (required; - for standard output)\n"
    "\n"
    "examples:\n"
    "  sparsync trace import book.txt --ranks 8 -o book.safetensors\n"
    "  zcat pairs.gz | cut -f1 | sparsync trace import - --layout sentence --ranks 16 --batch 128 -o "
    "en.safetensors\n";

struct arguments {
  struct ss_import import;
  const char *text, *out;
  bool has_seq;
};

static const struct ss_option_spec specs[] = {
    {"ranks", true}, {"layout", true},    {"batch", true}, {"seq", true},    {"iterations", true},
    {"vocab", true}, {"row-width", true}, {"dtype", true}, {"tensor", true}, {"source", true},
    {"o", true},     {"help", false},     {NULL, false}};

static bool parse_layout(const char *value, enum ss_text_layout *out, struct ss_error *error) {
  if (strcmp(value, "stream") == 0) *out = SS_STREAM;
  else if (strcmp(value, "sentence") == 0) *out = SS_SENTENCE;
  else return ss_fail(error, SS_BAD_INPUT, "--layout: \"%s\" is not stream or sentence", value);
  return true;
}

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  struct ss_import *import = &a->import;
  if (!name) return trace_one_operand(&a->text, value, error);
  if (strcmp(name, "ranks") == 0) return trace_parse_u32(value, "--ranks", 1, SS_RANKS_MAX, &import->ranks, error);
  if (strcmp(name, "layout") == 0) return parse_layout(value, &import->layout, error);
  if (strcmp(name, "batch") == 0) return ss_count_parse(value, "--batch", 1, UINT32_MAX, &import->batch, error);
  if (strcmp(name, "iterations") == 0)
    return ss_count_parse(value, "--iterations", 1, UINT64_C(1) << 53, &import->iterations, error);
  if (strcmp(name, "vocab") == 0) return ss_count_parse(value, "--vocab", 2, UINT32_MAX, &import->vocab, error);
  if (strcmp(name, "row-width") == 0)
    return trace_parse_u32(value, "--row-width", 1, UINT32_MAX, &import->row_width, error);
  if (strcmp(name, "dtype") == 0) return trace_parse_dtype(value, &import->dtype, error);
  if (strcmp(name, "seq") == 0) {
    a->has_seq = true;
    return ss_count_parse(value, "--seq", 1, UINT32_MAX, &import->seq, error);
  }
  if (strcmp(name, "tensor") == 0) import->tensor = value;
  if (strcmp(name, "source") == 0) import->source = value;
  if (strcmp(name, "o") == 0) a->out = value;
  return true;
}

static bool check(const struct arguments *a, struct ss_error *error) {
  if (!a->text) return ss_fail(error, SS_BAD_INPUT, "trace import: name a text file (or - for standard input)");
  if (!a->import.ranks) return ss_fail(error, SS_BAD_INPUT, "trace import: say how many ranks with --ranks P");
  if (!a->out) return ss_fail(error, SS_BAD_INPUT, "trace import: say where to write the trace with -o FILE");
  if (a->has_seq && a->import.layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  return true;
}

/* All of standard input; *out is the caller's. */
static bool read_stdin(char **out, size_t *size, struct ss_error *error) {
  size_t capacity = 1 << 20, used = 0;
  char *text = ss_alloc(capacity, 1);
  while (text) {
    used += fread(text + used, 1, capacity - used, stdin);
    if (used < capacity) break;
    char *grown = ss_realloc(text, capacity *= 2, 1);
    if (!grown) free(text);
    text = grown;
  }
  if (!text) return ss_fail_memory(error, "reading standard input");
  if (ferror(stdin)) {
    free(text);
    return ss_fail(error, SS_BAD_INPUT, "standard input: cannot read: %s", strerror(errno));
  }
  *out = text;
  *size = used;
  return true;
}

static bool import_text(const struct arguments *a, const char *text, size_t size, struct ss_error *error) {
  struct ss_trace *trace;
  const char *name = strcmp(a->text, "-") == 0 ? "standard input" : a->text;
  struct ss_import import = a->import;
  if (!import.source) import.source = name;
  if (!ss_trace_import(name, text, size, &import, &trace, error)) return false;
  const bool good = ss_trace_save(a->out, trace, error);
  ss_trace_close(trace);
  return good;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  struct arguments a = {.import = {.batch = 32, .seq = 64, .tensor = "embedding", .row_width = 512}};
  if (!ss_options_parse(argc, argv, specs, seen, &a, error) || !check(&a, error)) return false;
  if (strcmp(a.text, "-") == 0) {
    SS_AUTO_FREE char *text = NULL;
    size_t size = 0;
    return read_stdin(&text, &size, error) && import_text(&a, text, size, error);
  }
  struct ss_mapping mapping;
  if (!ss_map_file(a.text, &mapping, error)) return false;
  const bool good = import_text(&a, (const char *)mapping.data, mapping.size, error);
  ss_unmap_file(&mapping);
  return good;
}

const struct ss_command trace_import = {
    .name = "import", .summary = "make a trace from text: one row a word", .help = help, .run = run};
