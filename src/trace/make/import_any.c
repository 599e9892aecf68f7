#include "trace/make/import_any.h"

#include "base/file.h"
#include "trace/make/samples.h"

#include <string.h>

const char *const ss_data_names[] = {"auto", "words", "csv", "tsv", "criteo", "tokens", "bags", NULL};
const char *const ss_text_layout_names[] = {"stream", "sentence", NULL};

enum { TABLES = 1 << SS_DATA_CSV | 1 << SS_DATA_TSV | 1 << SS_DATA_CRITEO };
#define ANY (~0u)
enum { SEQ = 64, BATCH = 32, BATCH_OF_TABLES = 2048, ROW_WIDTH_OF_WORDS = 512 };

/* --- is it all said, and nothing too much? ------------------------------------------------------------------ */

static bool ends_in(const char *name, const char *end) {
  const size_t length = strlen(name), wanted = strlen(end);
  return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

static enum ss_data kind_of(const struct ss_any_import *a) {
  const char *name = a->files ? a->file[0] : "";
  if (a->from != SS_DATA_BY_NAME) return a->from;
  if (ends_in(name, ".csv")) return SS_DATA_CSV;
  if (ends_in(name, ".tsv")) return SS_DATA_TSV;
  return ends_in(name, ".npy") ? SS_DATA_TOKENS : SS_DATA_WORDS;
}

/* Options that say something of some files only. */
static bool check_options(const struct ss_any_import *a, enum ss_data kind, struct ss_error *error) {
  const struct {
    const char *option;
    bool given;
    unsigned kinds;
  } rules[] = {
      {"--layout", a->layout != SS_STREAM, 1 << SS_DATA_WORDS},
      {"--seq", a->seq > 0, 1 << SS_DATA_WORDS | 1 << SS_DATA_TOKENS},
      {"--vocab", a->vocab.count > 0, ANY},
      {"--tensor", a->tensor != NULL, 1 << SS_DATA_WORDS | 1 << SS_DATA_TOKENS},
      {"--columns", a->columns != NULL, TABLES},
      {"--no-header", a->no_header, 1 << SS_DATA_CSV | 1 << SS_DATA_TSV},
      {"--missing", a->missing_count > 0, TABLES},
      {"--hash-rows", a->hash_rows.count > 0, TABLES},
      {"--tables", a->tables > 0, 1 << SS_DATA_BAGS},
      {"--pad", a->pad >= 0, 1 << SS_DATA_TOKENS},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].given && !(rules[i].kinds & 1u << kind))
      return ss_fail(error, SS_BAD_INPUT, "%s says nothing of --from %s%s", rules[i].option, ss_data_names[kind],
                     a->from == SS_DATA_BY_NAME ? ", which the file's name tells" : "");
  if (a->seq && a->layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  return true;
}

static bool check(const struct ss_any_import *a, enum ss_data kind, struct ss_error *error) {
  if (!a->files) return ss_fail(error, SS_BAD_INPUT, "name a file (or - for standard input): a text, a table, ids");
  if (kind != SS_DATA_BAGS && a->files > 1)
    return ss_fail(error, SS_BAD_INPUT, "\"%s\" is left over: one file makes a trace (cat FILE... | ... import -)",
                   a->file[1]);
  if (kind == SS_DATA_BAGS && a->files % 2 != 0)
    return ss_fail(error, SS_BAD_INPUT, "bags are pairs of files: INDICES OFFSETS [INDICES OFFSETS]...");
  if (kind == SS_DATA_BAGS && !a->tables)
    return ss_fail(error, SS_BAD_INPUT, "say of how many tables the bags are: --tables T");
  if (!a->dealing.ranks) return ss_fail(error, SS_BAD_INPUT, "say how many ranks with --ranks P");
  if (!a->output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  return check_options(a, kind, error);
}

/* --- each kind ---------------------------------------------------------------------------------------------- */

static const char *tensor_of(const struct ss_any_import *a) {
  return a->tensor ? a->tensor : "embedding";
}

static const char *name_of(const struct ss_any_import *a) {
  return strcmp(a->file[0], "-") == 0 ? "standard input" : a->file[0];
}

static const char *source_of(const struct ss_any_import *a) {
  return a->source ? a->source : name_of(a);
}

static struct ss_samples samples_of(const struct ss_any_import *a, uint64_t usual_batch) {
  struct ss_samples samples = {.dealing = a->dealing,
                               .row_width = a->row_width,
                               .dtype = a->dtype,
                               .source = source_of(a),
                               .output = a->output,
                               .watcher = a->watcher};
  if (!samples.dealing.batch) samples.dealing.batch = usual_batch;
  return samples;
}

static bool import_text(const struct ss_any_import *a, const struct ss_text *text, struct ss_error *error) {
  struct ss_import import = {.layout = a->layout,
                             .ranks = a->dealing.ranks,
                             .batch = a->dealing.batch ? a->dealing.batch : BATCH,
                             .seq = a->seq ? a->seq : SEQ,
                             .iterations = a->dealing.iterations,
                             .tensor = tensor_of(a),
                             .dtype = a->dtype,
                             .source = source_of(a)};
  const struct ss_tensor named = {.name = import.tensor};
  uint64_t width;
  if (!ss_per_table_check(&a->vocab, &named, 1, error) || !ss_per_table_check(&a->row_width, &named, 1, error) ||
      !ss_per_table_get(&a->vocab, import.tensor, 0, 2, &import.vocab, error) ||
      !ss_per_table_get(&a->row_width, import.tensor, ROW_WIDTH_OF_WORDS, 1, &width, error))
    return false;
  import.row_width = (uint32_t)width;
  struct ss_trace *trace;
  if (!ss_trace_import(name_of(a), text->bytes, text->size, &import, &trace, error)) return false;
  const bool good = ss_trace_save(a->output, trace, error);
  ss_trace_close(trace);
  return good;
}

static bool import_words(const struct ss_any_import *a, struct ss_error *error) {
  struct ss_text text;
  if (!ss_text_open(a->file[0], &text, error)) return false;
  const bool good = ss_watcher_goes_on(a->watcher, error) && import_text(a, &text, error);
  ss_text_close(&text);
  return good;
}

static bool import_table(const struct ss_any_import *a, enum ss_data kind, struct ss_error *error) {
  const bool criteo = kind == SS_DATA_CRITEO;
  const struct ss_table_import import = {.samples = samples_of(a, BATCH_OF_TABLES),
                                         .tabs = kind != SS_DATA_CSV,
                                         .header = !criteo && !a->no_header,
                                         .columns = criteo && !a->columns ? "15-40" : a->columns,
                                         .prefix = criteo && !a->columns ? "C" : NULL,
                                         .missing = a->missing,
                                         .missing_count = a->missing_count,
                                         .hash_rows = a->hash_rows,
                                         .vocab = a->vocab};
  return ss_import_table(a->file[0], &import, error);
}

static bool import_tokens(const struct ss_any_import *a, struct ss_error *error) {
  struct ss_tokens_import import = {
      .samples = samples_of(a, BATCH), .tensor = tensor_of(a), .seq = a->seq, .pad = a->pad};
  const struct ss_tensor named = {.name = import.tensor};
  return ss_per_table_check(&a->vocab, &named, 1, error) &&
         ss_per_table_get(&a->vocab, import.tensor, 0, 1, &import.vocab, error) &&
         ss_import_tokens(a->file[0], &import, error);
}

static bool import_bags(const struct ss_any_import *a, struct ss_error *error) {
  const struct ss_bags_import import = {
      .samples = samples_of(a, BATCH_OF_TABLES), .tables = a->tables, .vocab = a->vocab};
  return ss_import_bags(a->file, a->files / 2, &import, error);
}

bool ss_import_any(const struct ss_any_import *import, struct ss_error *error) {
  const enum ss_data kind = kind_of(import);
  if (!check(import, kind, error)) return false;
  switch (kind) {
  case SS_DATA_CSV:
  case SS_DATA_TSV:
  case SS_DATA_CRITEO: return import_table(import, kind, error);
  case SS_DATA_TOKENS: return import_tokens(import, error);
  case SS_DATA_BAGS: return import_bags(import, error);
  default: return import_words(import, error);
  }
}
