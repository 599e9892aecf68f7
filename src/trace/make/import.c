#include "trace/make/import.h"

#include "base/file.h"
#include "base/memory.h"
#include "trace/make/samples.h"

#include <string.h>

const char *const ss_data_names[] = {"auto", "words", "csv", "tsv", "criteo", "tokens", "bags", NULL};

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

static bool import_words(const struct ss_any_import *a, struct ss_error *error) {
  SS_AUTO(ss_unmap_file) struct ss_mapping text = {0};
  struct ss_import import = {.layout = a->layout,
                             .ranks = a->dealing.ranks,
                             .batch = a->dealing.batch,
                             .seq = a->seq ? a->seq : SEQ,
                             .iterations = a->dealing.iterations,
                             .tensor = a->tensor,
                             .dtype = a->dtype,
                             .source = a->source};
  uint64_t width;
  if (!ss_map_file(a->file[0], &text, error) || !ss_watcher_goes_on(a->watcher, error) ||
      !ss_per_table_get_one(&a->vocab, a->tensor, 0, 2, &import.vocab, error) ||
      !ss_per_table_get_one(&a->row_width, a->tensor, ROW_WIDTH_OF_WORDS, 1, &width, error))
    return false;
  import.row_width = (uint32_t)width;
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  return ss_trace_import(ss_import_name(a), (const char *)text.data, text.size, &import, &trace, error) &&
         ss_trace_save(a->output, trace, error);
}

bool ss_import_any(const struct ss_any_import *import, struct ss_error *error) {
  static bool (*const imports[])(const struct ss_any_import *a, struct ss_error *error) = {
      [SS_DATA_WORDS] = import_words,     [SS_DATA_CSV] = ss_import_table,     [SS_DATA_TSV] = ss_import_table,
      [SS_DATA_CRITEO] = ss_import_table, [SS_DATA_TOKENS] = ss_import_tokens, [SS_DATA_BAGS] = ss_import_bags};
  struct ss_any_import a = *import;
  a.from = kind_of(import);
  if (!check(import, a.from, error)) return false;
  const bool ids = a.from == SS_DATA_WORDS || a.from == SS_DATA_TOKENS;
  if (!a.dealing.batch) a.dealing.batch = ids ? BATCH : BATCH_OF_TABLES;
  if (!a.tensor) a.tensor = "embedding";
  if (!a.source) a.source = ss_import_name(&a);
  return imports[a.from](&a, error);
}
