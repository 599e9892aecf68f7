/* A trace out of data: what the library's import has as fields are the options. */
#include "base/file.h"
#include "cli/command.h"
#include "columns_script.h"
#include "library/request.h"
#include "trace/make/import.h"

#include <fcntl.h>
#include <spawn.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Parquet and Arrow: Python's pyarrow makes CSV of them, which is read as it comes -----------------------------
 */

static bool is_columnar(const char *name) {
  static const char *const ends[] = {".parquet", ".arrow", ".feather", NULL};
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && ends[i]; i++)
    if (strcasecmp(dot, ends[i]) == 0) return true;
  return false;
}

/* Python, which writes to `out` and complains to `complaints`. */
static bool start_reader(const char *file, const char *columns, int out, int complaints, pid_t *child,
                         struct ss_error *error) {
  const char *named = getenv("SPARSYNC_PYTHON"), *python = named && *named ? named : "python3";
  char *const arguments[] = {(char *)python, "-c", SS_COLUMNS_SCRIPT, (char *)file, (char *)columns, NULL};
  posix_spawn_file_actions_t actions;
  int number = posix_spawn_file_actions_init(&actions);
  if (number == 0) number = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (number == 0) number = posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
  if (number == 0) number = posix_spawnp(child, python, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return number == 0 || ss_fail(error, SS_MACHINE,
                                "%s: cannot start %s, which reads Parquet and Arrow with pyarrow (%s): name a Python "
                                "in SPARSYNC_PYTHON",
                                file, python, strerror(number));
}

/* What it said, in one line, if it failed. */
static bool end_reader(const char *file, pid_t child, int complaints, struct ss_error *error) {
  char text[600] = "";
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  const ssize_t size = pread(complaints, text, sizeof text - 1, 0);
  if (size > 0) text[size] = '\0';
  text[strcspn(text, "\n")] = '\0';
  return ss_fail(error, SS_BAD_INPUT, "%s: %s", file, *text ? text : "Python could not read it, and did not say why");
}

/* The file's columns as CSV, which becomes our standard input: whole, so that none is imported in part. */
static bool read_columns(const char *file, const char *columns, const char *beside, struct ss_error *error) {
  const int out = ss_scratch_open(beside, error), complaints = out < 0 ? -1 : ss_scratch_open(NULL, error);
  pid_t child;
  bool good = complaints >= 0 && start_reader(file, columns, out, complaints, &child, error) &&
              end_reader(file, child, complaints, error);
  if (good && (lseek(out, 0, SEEK_SET) != 0 || dup2(out, STDIN_FILENO) != STDIN_FILENO))
    good = ss_fail(error, SS_MACHINE, "%s: %s", file, strerror(errno));
  if (out >= 0) close(out);
  if (complaints >= 0) close(complaints);
  return good;
}

static bool import_columns(struct ss_call *call, const char *file, struct ss_error *error) {
  SS_AUTO_FREE char *name = strdup(file);
  SS_AUTO_JSON cJSON *columns = cJSON_DetachItemFromObjectCaseSensitive(call->edits, "columns");
  if (!name) return ss_fail_memory(error, "reading columns");
  if (ss_json_get(call->edits, "header"))
    return ss_fail(error, SS_BAD_INPUT, "%s: names its columns itself: --no-header is for texts", name);
  cJSON *files = cJSON_CreateStringArray((const char *const[]){"-"}, 1);
  return ss_call_edit(call, "files", files, error) && ss_call_edit(call, "from", cJSON_CreateString("csv"), error) &&
         (ss_json_get(call->edits, "source") || ss_call_edit(call, "source", cJSON_CreateString(name), error)) &&
         read_columns(name, columns ? columns->valuestring : "", call->output, error) &&
         ss_ask_import(&call->request, call->output, NULL, error);
}

static const struct ss_option_spec options[] = {
    {"", SS_FIELDS("files")},
    {"--from", SS_FIELD, .choices = ss_data_names,
     .help = "what the file holds (auto: csv, tsv or, of .npy, tokens by the name's ending, else words; .parquet, "
             ".arrow and .feather are read by Python's pyarrow, as csv)"},
    SS_ASKS("--ranks", "P", "number of ranks (required)"),
    SS_ASKS("--batch", "B",
            "samples of a rank in an iteration: sequences or sentences (default 32), records or bags (2048)"),
    SS_ASKS("--iterations", "N", "at most N (default: as many as all ranks have in full)"),
    {"--vocab", SS_FIELDS("vocab"), .value = "N|TABLE=N",
     .help = "rows of a table (repeatable). Of words and categories those most frequent get one: of words padding "
             "and unknown are two of them, of categories row 0 is missing or rarer. Of ids, which are rows already, "
             "default the largest and one"},
    {"--row-width", SS_FIELDS("row_width"), .value = "W|TABLE=W",
     .help = "elements a row (repeatable; default 512 of words, else 128)"},
    {"--dtype", SS_FIELD, .choices = ss_dtypes, .help = "of an element (default F32)"},
    {"", SS_HEADING, .help = "words and tokens:"},
    {"--layout", SS_FIELD, .choices = ss_text_layout_names,
     .help = "the text is one stream of words, batch x seq of them an iteration (default); or a line is a sentence, "
             "and batches are padded to their longest"},
    SS_ASKS("--seq", "S", "words or ids of a sequence (default 64; of an array of two dimensions a row)"),
    SS_ASKS("--pad", "ID", "the id of padding, which is no token"),
    {"--tensor", SS_FIELD, .field = "tensor", .value = "NAME", .help = "(default embedding)"},
    {"", SS_HEADING, .help = "tables (csv, tsv, criteo) and bags:"},
    SS_ASKS("--columns", "A,15-40",
            "those that become tables: names of the first line, or numbers from 1 (default all; of criteo 15-40)"),
    {"--no-header", SS_FIELD, .field = "header", .json = "false",
     .help = "the first line has values, and columns are called c1, c2, ..."},
    {"--missing", SS_FIELDS("missing"), .value = "TEXT",
     .help = "stands for no value, as an empty field does (repeatable)"},
    {"--hash-rows", SS_FIELDS("hash_rows"), .value = "N|TABLE=N",
     .help = "number values by hashing them into N rows, in one pass that takes no memory (repeatable; default by "
             "frequency)"},
    SS_ASKS("--tables", "T", "how many tables the bags are of (required for bags)"),
    {"", SS_HEADING, .help = "all:"},
    SS_ASKS("--source", "TEXT", "what to record as the trace's origin (default: the file's name)"),
    SS_OPTIONS_OUTPUT_TRACE,
    {.name = NULL}};

static bool run(struct ss_call *call, struct ss_error *error) {
  const bool named = cJSON_HasObjectItem(call->edits, "files");
  if (named && !call->output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  const cJSON *file = named ? ss_json_get(call->edits, "files")->child : NULL;
  if (file && !file->next && cJSON_IsString(file) && is_columnar(file->valuestring) &&
      !ss_json_get(call->edits, "from"))
    return import_columns(call, file->valuestring, error);
  return (named || ss_call_edit(call, "files", cJSON_CreateArray(), error)) &&
         ss_ask_import(&call->request, call->output, NULL, error);
}

const struct ss_command ss_command_trace_import = {
    .name = "import",
    .summary = "make a trace from text, tables of categories, token ids or bags of ids",
    .usage =
        "usage: sparsync trace import FILE --ranks P -o FILE [OPTION...]\n"
        "       sparsync trace import --from bags INDICES OFFSETS [INDICES OFFSETS]... --tables T --ranks P -o "
        "FILE\n\n"
        "Makes a trace from a file (- is standard input) of\n"
        "  words     a text: every word is a row of an embedding table. A word is a run of ASCII letters, folded to\n"
        "            lower case, and bytes of 0x80 and above; rows are numbered by frequency, the most frequent "
        "first,\n"
        "            ties by first occurrence; row 0 is padding, row 1 the unknown word. Each rank reads its\n"
        "            contiguous share of the text.\n"
        "  csv, tsv  records whose columns are categories, a table each: row 0 is the missing value, others by\n"
        "            frequency or, with --hash-rows, 1 + XXH64(value) mod (N - 1)\n"
        "  .parquet, .arrow, .feather: likewise, through python3 with pyarrow (or the Python in SPARSYNC_PYTHON)\n"
        "  criteo    Criteo's files as published: tabs, no header, label, 13 numbers, then 26 categories, C1 to C26\n"
        "  tokens    ids of a tokenizer: a .npy array, or a text of whole numbers\n"
        "  bags      pairs of .npy arrays, indices[n] and offsets[T*samples+1], as FBGEMM's table-batched "
        "embeddings\n"
        "            take them; tables are called t0, t1, ...\n"
        "All but words are dealt out in turns: sample s (a record, a sequence of ids, one bag of each table) goes to "
        "iteration s / (B*P), rank (s / B) mod P; what is behind the last whole iteration is left out. Files of any "
        "length will do: what is read is not held in memory.\n",
    .examples = "  sparsync trace import book.txt --ranks 8 -o book.safetensors\n"
                "  zcat pairs.gz | cut -f1 | sparsync trace import - --layout sentence --ranks 16 --batch 128 -o "
                "en.safetensors\n"
                "  sparsync trace import flights.csv --columns carrier,tailnum,dest --missing NA --ranks 16 --batch "
                "128 -o f.safetensors\n"
                "  zcat day_0.gz | sparsync trace import - --from criteo --hash-rows 10000000 --ranks 16 "
                "--iterations 50 -o day_0.safetensors\n"
                "  sparsync trace import ids.npy --vocab 50257 --ranks 16 --batch 1 --seq 2048 -o ids.safetensors\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
