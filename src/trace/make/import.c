/* The object of an import, read: and what goes with which data. */
#include "trace/make/import.h"

#include "base/fields.h"
#include "base/file.h"
#include "trace/make/samples.h"

const char *const ss_data_names[] = {"auto", "words", "csv", "tsv", "criteo", "tokens", "bags", NULL};

enum { BATCH = 32, BATCH_OF_TABLES = 2048, ROW_WIDTH_OF_WORDS = 512 };
enum {
  WORDS = 1 << SS_DATA_WORDS,
  TOKENS = 1 << SS_DATA_TOKENS,
  BAGS = 1 << SS_DATA_BAGS,
  RECORDS = 1 << SS_DATA_CSV | 1 << SS_DATA_TSV,
  TABLES = RECORDS | 1 << SS_DATA_CRITEO
};

/* --- the object ---------------------------------------------------------------------------------------------- */

#define OF_ALL(member) SS_STORED(struct ss_any_import, all.member)
#define PART(member) SS_STORED(struct ss_any_import, member)
static const struct ss_field_spec fields[] = {
    {"files", NULL, SS_IS_ANY, .required = true},
    {"from", NULL, SS_IS_CHOICE(ss_data_names), PART(from)},
    {"layout", NULL, SS_IS_CHOICE(ss_text_layout_names), OF_ALL(layout)},
    {"dtype", NULL, SS_IS_CHOICE(ss_dtypes), OF_ALL(dtype)},
    {"header", NULL, SS_IS_FLAG, .usual = "true", PART(header)},
    {"ranks", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), .required = true, OF_ALL(ranks)},
    {"batch", NULL, SS_IS_COUNT(1, UINT32_MAX), OF_ALL(batch)},
    {"iterations", NULL, SS_IS_COUNT(1, UINT64_C(1) << 53), OF_ALL(iterations)},
    {"seq", NULL, SS_IS_COUNT(1, UINT32_MAX), OF_ALL(seq)},
    {"tables", NULL, SS_IS_COUNT(1, UINT32_MAX), PART(tables)},
    {"pad", NULL, SS_IS_COUNT(0, UINT32_MAX - 1), PART(pad)},
    {"columns", NULL, SS_IS_ANY, PART(columns)},
    {"missing", NULL, SS_IS_ANY},
    {"tensor", NULL, SS_IS_TEXT, OF_ALL(tensor)},
    {"source", NULL, SS_IS_TEXT, OF_ALL(source)},
    {"row_width", NULL, SS_IS_ANY, PART(row_width)},
    {"vocab", NULL, SS_IS_ANY, PART(vocab)},
    {"hash_rows", NULL, SS_IS_ANY, PART(hash_rows)},
    {.name = NULL}};
static const struct ss_object_spec spec = {.field = fields};

static bool ends_in(const char *name, const char *end) {
  const size_t length = strlen(name), wanted = strlen(end);
  return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

static enum ss_data kind_of(const char *name) {
  if (ends_in(name, ".csv")) return SS_DATA_CSV;
  if (ends_in(name, ".tsv")) return SS_DATA_TSV;
  return ends_in(name, ".npy") ? SS_DATA_TOKENS : SS_DATA_WORDS;
}

/* Fields that say something of some data only. */
static bool check_fields(const struct ss_any_import *a, struct ss_node object, bool by_name, struct ss_error *error) {
  static const struct {
    const char *field;
    unsigned kinds;
  } rules[] = {{"layout", WORDS},     {"seq", WORDS | TOKENS}, {"tensor", WORDS | TOKENS},
               {"columns", TABLES},   {"header", RECORDS},     {"missing", TABLES},
               {"hash_rows", TABLES}, {"tables", BAGS},        {"pad", TOKENS}};
  char from[32];
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const struct ss_node node = ss_node_get(object, rules[i].field);
    if (ss_node_present(node) && !(rules[i].kinds & 1u << a->from))
      return ss_node_fail(node, error, "says nothing of %s %s%s", ss_doc_field(object.doc, "from", from, sizeof from),
                          ss_data_names[a->from], by_name ? ", which the file's name tells" : "");
  }
  return !a->all.seq || a->all.layout != SS_SENTENCE ||
         ss_node_fail(ss_node_get(object, "seq"), error,
                      "goes with the layout \"stream\": sentences are as long as they are");
}

static bool check_files(const struct ss_any_import *a, struct ss_node object, struct ss_error *error) {
  struct ss_node tables;
  if (a->from != SS_DATA_BAGS && a->file.count > 1)
    return ss_fail(error, SS_BAD_INPUT, "\"%s\" is left over: one file makes a trace (cat FILE... | ... import -)",
                   a->file.text[1]);
  if (a->from != SS_DATA_BAGS) return true;
  if (a->file.count % 2 != 0)
    return ss_fail(error, SS_BAD_INPUT, "bags are pairs of files: INDICES OFFSETS [INDICES OFFSETS]...");
  return ss_node_need(object, "tables", &tables, error);
}

/* --- texts ----------------------------------------------------------------------------------------------------- */

static bool import_words(const struct ss_any_import *a, struct ss_error *error) {
  SS_AUTO(ss_unmap_file) struct ss_mapping text = {0};
  SS_AUTO_TRACE struct ss_trace *trace = NULL;
  struct ss_import words = a->all;
  uint64_t width;
  if (!words.seq) words.seq = SS_SEQ;
  if (!ss_map_file(a->file.text[0], &text, error) || !ss_watcher_goes_on(a->watcher, error) ||
      !ss_per_table_get_one(a->vocab, words.tensor, 0, 2, &words.vocab, error) ||
      !ss_per_table_get_one(a->row_width, words.tensor, ROW_WIDTH_OF_WORDS, 1, &width, error))
    return false;
  words.row_width = (uint32_t)width;
  return ss_trace_import(ss_import_name(a), (const char *)text.data, text.size, &words, &trace, error) &&
         ss_trace_save(a->output, trace, error);
}

/* --- any ------------------------------------------------------------------------------------------------------- */

static bool import(struct ss_any_import *a, struct ss_node object, struct ss_error *error) {
  static bool (*const imports[])(const struct ss_any_import *a, struct ss_error *error) = {
      [SS_DATA_WORDS] = import_words,     [SS_DATA_CSV] = ss_import_table,     [SS_DATA_TSV] = ss_import_table,
      [SS_DATA_CRITEO] = ss_import_table, [SS_DATA_TOKENS] = ss_import_tokens, [SS_DATA_BAGS] = ss_import_bags};
  if (!a->file.count)
    return ss_fail(error, SS_BAD_INPUT, "name a file (or - for standard input): a text, a table, ids");
  const bool by_name = a->from == SS_DATA_BY_NAME;
  if (by_name) a->from = kind_of(a->file.text[0]);
  if (!a->all.batch) a->all.batch = 1u << a->from & (WORDS | TOKENS) ? BATCH : BATCH_OF_TABLES;
  if (!a->all.tensor) a->all.tensor = "embedding";
  if (!a->all.source) a->all.source = ss_import_name(a);
  return check_files(a, object, error) && check_fields(a, object, by_name, error) && imports[a->from](a, error);
}

static bool check_missing(const struct ss_texts *missing, struct ss_node node, struct ss_error *error) {
  for (size_t i = 0; i < missing->count; i++) {
    if (!*missing->text[i]) return ss_node_fail(node, error, "does nothing: an empty field is no value anyway");
    for (size_t k = 0; k < i; k++)
      if (strcmp(missing->text[k], missing->text[i]) == 0)
        return ss_node_fail(node, error, "\"%s\" is there twice", missing->text[i]);
  }
  return true;
}

bool ss_import(struct ss_node object, const char *output, const struct ss_watcher *watcher, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena lists = {0};
  struct ss_any_import a = {.output = output, .watcher = watcher, .pad = -1};
  return ss_object_read(&spec, object, &a, error) &&
         ss_node_texts(ss_node_get(object, "files"), &lists, &a.file, error) &&
         ss_node_texts(ss_node_get(object, "missing"), &lists, &a.missing, error) &&
         check_missing(&a.missing, ss_node_get(object, "missing"), error) && import(&a, object, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
