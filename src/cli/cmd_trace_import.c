#include "base/file.h"
#include "cli/command.h"
#include "trace/make/import.h"
#include "trace/make/samples.h"

#include <string.h>

/* What the file holds, by the choices of --from. */
enum kind { BY_NAME, WORDS, CSV, TSV, CRITEO, TOKENS, BAGS };
static const char *const kinds[] = {"auto", "words", "csv", "tsv", "criteo", "tokens", "bags", NULL};
enum { TABLES = 1 << CSV | 1 << TSV | 1 << CRITEO };
#define ANY (~0u)

struct texts {
  const char **text;
  size_t count;
};

struct arguments {
  struct ss_call call; /* its operands are the files */
  enum kind from;
  enum ss_text_layout layout;
  enum ss_dtype dtype;
  struct ss_dealing dealing; /* a batch of 0: not said */
  uint64_t seq, tables;      /* 0: not said */
  uint64_t pad;
  struct texts row_width, vocab, hash_rows, missing;
  const char *tensor, *source, *columns;
  bool no_header;
};

enum { SEQ = 64, BATCH = 32, BATCH_OF_TABLES = 2048, ROW_WIDTH_OF_WORDS = 512 };
#define NO_PAD UINT64_MAX

static bool ends_in(const char *name, const char *end) {
  const size_t length = strlen(name), wanted = strlen(end);
  return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

static enum kind kind_of(const struct arguments *a) {
  const char *name = a->call.operands ? a->call.operand[0] : "";
  if (a->from != BY_NAME) return a->from;
  if (ends_in(name, ".csv")) return CSV;
  if (ends_in(name, ".tsv")) return TSV;
  return ends_in(name, ".npy") ? TOKENS : WORDS;
}

/* Options that say something of some files only. */
static bool check_options(const struct arguments *a, enum kind kind, struct ss_error *error) {
  const struct {
    const char *option;
    bool given;
    unsigned kinds;
  } rules[] = {
      {"--layout", a->layout != SS_STREAM, 1 << WORDS},
      {"--seq", a->seq > 0, 1 << WORDS | 1 << TOKENS},
      {"--vocab", a->vocab.count > 0, ANY},
      {"--tensor", a->tensor != NULL, 1 << WORDS | 1 << TOKENS},
      {"--columns", a->columns != NULL, TABLES},
      {"--no-header", a->no_header, 1 << CSV | 1 << TSV},
      {"--missing", a->missing.count > 0, TABLES},
      {"--hash-rows", a->hash_rows.count > 0, TABLES},
      {"--tables", a->tables > 0, 1 << BAGS},
      {"--pad", a->pad != NO_PAD, 1 << TOKENS},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].given && !(rules[i].kinds & 1u << kind))
      return ss_fail(error, SS_BAD_INPUT, "%s says nothing of --from %s%s", rules[i].option, kinds[kind],
                     a->from == BY_NAME ? ", which the file's name tells" : "");
  if (a->seq && a->layout == SS_SENTENCE)
    return ss_fail(error, SS_BAD_INPUT, "--seq goes with --layout stream: sentences are as long as they are");
  return true;
}

static bool check(const struct arguments *a, enum kind kind, struct ss_error *error) {
  if (!a->call.operands)
    return ss_fail(error, SS_BAD_INPUT, "name a file (or - for standard input): a text, a table, ids");
  if (kind != BAGS && a->call.operands > 1)
    return ss_fail(error, SS_BAD_INPUT, "\"%s\" is left over: one file makes a trace (cat FILE... | ... import -)",
                   a->call.operand[1]);
  if (kind == BAGS && a->call.operands % 2 != 0)
    return ss_fail(error, SS_BAD_INPUT, "bags are pairs of files: INDICES OFFSETS [INDICES OFFSETS]...");
  if (kind == BAGS && !a->tables)
    return ss_fail(error, SS_BAD_INPUT, "say of how many tables the bags are: --tables T");
  if (!a->dealing.ranks) return ss_fail(error, SS_BAD_INPUT, "say how many ranks with --ranks P");
  if (!a->call.output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  return check_options(a, kind, error);
}

static struct ss_per_table per_table(const char *option, struct texts texts) {
  return (struct ss_per_table){option, texts.text, texts.count};
}

static const char *tensor_of(const struct arguments *a) {
  return a->tensor ? a->tensor : "embedding";
}

static const char *name_of(const struct arguments *a) {
  return strcmp(a->call.operand[0], "-") == 0 ? "standard input" : a->call.operand[0];
}

static const char *source_of(const struct arguments *a) {
  return a->source ? a->source : name_of(a);
}

static struct ss_samples samples_of(const struct arguments *a, uint64_t usual_batch) {
  struct ss_samples samples = {.dealing = a->dealing,
                               .row_width = per_table("--row-width", a->row_width),
                               .dtype = a->dtype,
                               .source = source_of(a),
                               .output = a->call.output};
  if (!samples.dealing.batch) samples.dealing.batch = usual_batch;
  return samples;
}

/* --- each kind ---------------------------------------------------------------------------------------------- */

static bool import_text(const struct arguments *a, const struct ss_text *text, struct ss_error *error) {
  const struct ss_per_table vocab = per_table("--vocab", a->vocab),
                            row_width = per_table("--row-width", a->row_width);
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
  if (!ss_per_table_check(&vocab, &named, 1, error) || !ss_per_table_check(&row_width, &named, 1, error) ||
      !ss_per_table_get(&vocab, import.tensor, 0, 2, &import.vocab, error) ||
      !ss_per_table_get(&row_width, import.tensor, ROW_WIDTH_OF_WORDS, 1, &width, error))
    return false;
  import.row_width = (uint32_t)width;
  struct ss_trace *trace;
  if (!ss_trace_import(name_of(a), text->bytes, text->size, &import, &trace, error)) return false;
  const bool good = ss_trace_save(a->call.output, trace, error);
  ss_trace_close(trace);
  return good;
}

static bool import_words(const struct arguments *a, struct ss_error *error) {
  struct ss_text text;
  if (!ss_text_open(a->call.operand[0], &text, error)) return false;
  const bool good = import_text(a, &text, error);
  ss_text_close(&text);
  return good;
}

static bool import_table(const struct arguments *a, enum kind kind, struct ss_error *error) {
  const bool criteo = kind == CRITEO;
  const struct ss_table_import import = {.samples = samples_of(a, BATCH_OF_TABLES),
                                         .tabs = kind != CSV,
                                         .header = !criteo && !a->no_header,
                                         .columns = criteo && !a->columns ? "15-40" : a->columns,
                                         .prefix = criteo && !a->columns ? "C" : NULL,
                                         .missing = a->missing.text,
                                         .missing_count = a->missing.count,
                                         .hash_rows = per_table("--hash-rows", a->hash_rows),
                                         .vocab = per_table("--vocab", a->vocab)};
  return ss_import_table(a->call.operand[0], &import, error);
}

static bool import_tokens(const struct arguments *a, struct ss_error *error) {
  struct ss_tokens_import import = {.samples = samples_of(a, BATCH),
                                    .tensor = tensor_of(a),
                                    .seq = a->seq,
                                    .pad = a->pad == NO_PAD ? -1 : (int64_t)a->pad};
  const struct ss_per_table vocab = per_table("--vocab", a->vocab);
  const struct ss_tensor named = {.name = import.tensor};
  return ss_per_table_check(&vocab, &named, 1, error) &&
         ss_per_table_get(&vocab, import.tensor, 0, 1, &import.vocab, error) &&
         ss_import_tokens(a->call.operand[0], &import, error);
}

static bool import_bags(const struct arguments *a, struct ss_error *error) {
  const struct ss_bags_import import = {
      .samples = samples_of(a, BATCH_OF_TABLES), .tables = a->tables, .vocab = per_table("--vocab", a->vocab)};
  return ss_import_bags(a->call.operand, a->call.operands / 2, &import, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  const enum kind kind = kind_of(a);
  if (!check(a, kind, error)) return false;
  switch (kind) {
  case CSV:
  case TSV:
  case CRITEO: return import_table(a, kind, error);
  case TOKENS: return import_tokens(a, error);
  case BAGS: return import_bags(a, error);
  default: return import_words(a, error);
  }
}

static const char *const layouts[] = {"stream", "sentence", NULL}; /* by enum ss_text_layout */

#define COUNT(member, low, high) SS_COUNT(struct arguments, member, low, high)
#define TEXTS(member) SS_TEXTS(struct arguments, member.text, member.count)
static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--from", SS_CHOICE(struct arguments, from, kinds),
     .help = "what the file holds (auto: csv, tsv or, of .npy, tokens by the name's ending, else words)"},
    {"--ranks", SS_COUNT32(struct arguments, dealing.ranks, 1, SS_RANKS_MAX), .value = "P",
     .help = "number of ranks (required)"},
    {"--batch", COUNT(dealing.batch, 1, UINT32_MAX), .value = "B",
     .help = "samples of a rank in an iteration: sequences or sentences (default 32), records or bags (2048)"},
    {"--iterations", COUNT(dealing.iterations, 1, 0x1p53), .value = "N",
     .help = "at most N (default: as many as all ranks have in full)"},
    {"--vocab", TEXTS(vocab), .value = "N|TABLE=N",
     .help =
         "rows of a table (repeatable). Of words and categories those most frequent get one: of words padding and "
         "unknown are two of them, of categories row 0 is missing or rarer. Of ids, which are rows already, "
         "default the largest and one"},
    {"--row-width", TEXTS(row_width), .value = "W|TABLE=W",
     .help = "elements a row (repeatable; default 512 of words, else 128)"},
    {"--dtype", SS_CHOICE(struct arguments, dtype, ss_dtypes), .help = "of an element (default F32)"},
    {"", SS_HEADING, .help = "words and tokens:"},
    {"--layout", SS_CHOICE(struct arguments, layout, layouts),
     .help = "the text is one stream of words, batch x seq of them an iteration (default); or a line is a sentence, "
             "and batches are padded to their longest"},
    {"--seq", COUNT(seq, 1, UINT32_MAX), .value = "S",
     .help = "words or ids of a sequence (default 64; of an array of two dimensions a row)"},
    {"--pad", COUNT(pad, 0, UINT32_MAX - 1), .value = "ID", .help = "the id of padding, which is no token"},
    {"--tensor", SS_TEXT(struct arguments, tensor), .value = "NAME", .help = "(default embedding)"},
    {"", SS_HEADING, .help = "tables (csv, tsv, criteo) and bags:"},
    {"--columns", SS_TEXT(struct arguments, columns), .value = "A,15-40",
     .help = "those that become tables: names of the first line, or numbers from 1 (default all; of criteo 15-40)"},
    {"--no-header", SS_FLAG(struct arguments, no_header),
     .help = "the first line has values, and columns are called c1, c2, ..."},
    {"--missing", TEXTS(missing), .value = "TEXT",
     .help = "stands for no value, as an empty field does (repeatable)"},
    {"--hash-rows", TEXTS(hash_rows), .value = "N|TABLE=N",
     .help = "number values by hashing them into N rows, in one pass that takes no memory (repeatable; default by "
             "frequency)"},
    {"--tables", COUNT(tables, 1, UINT32_MAX), .value = "T",
     .help = "of how many tables bags are (required for them)"},
    {"", SS_HEADING, .help = "all:"},
    {"--source", SS_TEXT(struct arguments, source), .value = "TEXT",
     .help = "what to record as the trace's origin (default: the file's name)"},
    SS_OPTIONS_OUTPUT_TRACE,
    {"--memory", SS_QUANTITY(struct ss_call, memory, SS_BYTES, 1, INFINITY), .value = "SIZE",
     .help = "what may be taken at most (all that the machine has): beyond, it ends with status 3"},
    {.name = NULL}};

const struct ss_command ss_command_trace_import = {
    .name = "import",
    .summary = "make a trace from text, tables of categories, token ids or bags of ids",
    .usage =
        "usage: sparsync trace import FILE --ranks P -o FILE [OPTION...]\n"
        "       sparsync trace import --from bags INDICES OFFSETS [INDICES OFFSETS]... --tables T --ranks P -o FILE\n"
        "\n"
        "Makes a trace from a file (- is standard input) of\n"
        "  words     a text: every word is a row of an embedding table. A word is a run of ASCII letters, folded to\n"
        "            lower case, and bytes of 0x80 and above; rows are numbered by frequency, the most frequent "
        "first,\n"
        "            ties by first occurrence; row 0 is padding, row 1 the unknown word. Each rank reads its\n"
        "            contiguous share of the text.\n"
        "  csv, tsv  records whose columns are categories, a table each: row 0 is the missing value, others by\n"
        "            frequency or, with --hash-rows, 1 + XXH64(value) mod (N - 1)\n"
        "  criteo    Criteo's files as published: tabs, no header, label, 13 numbers, then 26 categories, C1 to C26\n"
        "  tokens    ids of a tokenizer: a .npy array, or a text of whole numbers\n"
        "  bags      pairs of .npy arrays, indices[n] and offsets[T*samples+1], as FBGEMM's table-batched "
        "embeddings\n"
        "            take them; tables are called t0, t1, ...\n"
        "All but words are dealt out in turns: sample s (a record, a sequence of ids, one bag of each table) goes "
        "to\n"
        "iteration s / (B*P), rank (s / B) mod P; what is behind the last whole iteration is left out. Files of any\n"
        "length will do: what is read is not held in memory.\n",
    .examples =
        "examples:\n"
        "  sparsync trace import book.txt --ranks 8 -o book.safetensors\n"
        "  zcat pairs.gz | cut -f1 | sparsync trace import - --layout sentence --ranks 16 --batch 128 -o "
        "en.safetensors\n"
        "  sparsync trace import flights.csv --columns carrier,tailnum,dest --missing NA --ranks 16 --batch 128 "
        "-o f.safetensors\n"
        "  zcat day_0.gz | sparsync trace import - --from criteo --hash-rows 10000000 --ranks 16 --iterations "
        "50 -o day_0.safetensors\n"
        "  sparsync trace import ids.npy --vocab 50257 --ranks 16 --batch 1 --seq 2048 -o ids.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .defaults = &(const struct arguments){.pad = NO_PAD},
    .run = run};
