/* A table of categories: one pass over the file, in which each chosen field becomes a number that goes to its
 * column's stream, and one over the streams, in which numbers become rows and the columns are written one after the
 * other. */
#include "base/csv.h"
#include "base/file.h"
#include "base/spool.h"
#include "base/units.h"
#include "trace/make/numbering.h"
#include "trace/make/samples.h"

#include <unistd.h>

struct table {
  const struct ss_any_import *import;
  const char *name; /* of the file, for messages */
  struct ss_csv csv;
  struct ss_arena arena;          /* owns names and lists */
  size_t tables;                  /* columns that were chosen */
  bool *chosen;                   /* [fields of a record] */
  size_t *column;                 /* [tables] index among the fields */
  struct ss_tensor *tensor;       /* [tables] */
  struct ss_numbering *number;    /* [tables] */
  bool criteo, hashed;            /* hashed: all are, and the file needs no reading beyond what is wanted */
  struct ss_spool spool;          /* a stream of numbers a table */
  struct ss_spool_cursor *cursor; /* [tables] */
  uint64_t rows;                  /* that are kept */
};

enum { TOLD = 4096 /* records, between two words on how far it is */ };

/* --- columns ------------------------------------------------------------------------------------------------ */

static bool printable(const char *text, size_t size) {
  for (size_t at = 0, step; at < size; at += step)
    if ((step = ss_utf8_printable(text + at, size - at)) == 0) return false;
  return true;
}

/* The name of a column (from 0). */
static bool name_column(struct table *t, size_t column, const char **out, struct ss_error *error) {
  const char *name = t->csv.head ? t->csv.head[column] : "";
  char number[32];
  *out = name;
  if (!*name) {
    (void)snprintf(number, sizeof number, "%c%zu", t->criteo ? 'C' : 'c', t->criteo ? t->tables : column + 1);
    *out = ss_arena_text(&t->arena, number);
    return *out || ss_fail_memory(error, "reading a table");
  }
  if (strlen(name) <= 200 && printable(name, strlen(name))) return true;
  return ss_fail(error, SS_BAD_INPUT,
                 "%s: line %" PRIu64 ": column %zu has no name that is a text of at most 200 bytes (say --no-header "
                 "where the first line is not one of names)",
                 t->name, t->csv.line, column + 1);
}

static bool choose(struct table *t, size_t column, struct ss_error *error) {
  if (t->chosen[column]) return ss_node_fail(t->import->columns, error, "column %zu is chosen twice", column + 1);
  t->chosen[column] = true;
  t->column[t->tables++] = column;
  return name_column(t, column, &t->tensor[t->tables - 1].name, error);
}

/* "15" or "15-40", from 1. */
static bool read_range(const struct table *t, const char *text, size_t size, size_t *first, size_t *last) {
  size_t *number = first;
  *first = *last = 0;
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '-' && number == first && i > 0) {
      number = last;
      continue;
    }
    if (text[i] < '0' || text[i] > '9' || *number > t->csv.count) return false;
    *number = *number * 10 + (size_t)(text[i] - '0');
  }
  if (number == first) *last = *first;
  return *first >= 1 && *first <= *last && *last <= t->csv.count;
}

static bool choose_item(struct table *t, const char *text, size_t size, struct ss_error *error) {
  size_t first, last, column = ss_csv_column(&t->csv, text, size);
  if (column != SIZE_MAX) return choose(t, column, error);
  if (!read_range(t, text, size, &first, &last))
    return ss_fail(error, SS_BAD_INPUT,
                   "--columns: \"%.*s\" is %s a number or range from 1 to %zu, the columns of %s",
                   (int)(size < 200 ? size : 200), text, t->csv.head ? "neither a name in the first line nor" : "not",
                   t->csv.count, t->name);
  for (column = first; column <= last; column++)
    if (!choose(t, column - 1, error)) return false;
  return true;
}

/* "carrier,15-40" */
static bool choose_items(struct table *t, const char *text, struct ss_error *error) {
  for (const char *at = text; at;) {
    const size_t size = strcspn(at, ",");
    if (!choose_item(t, at, size, error)) return false;
    at = at[size] ? at + size + 1 : NULL;
  }
  return true;
}

static bool choose_node(struct table *t, struct ss_node node, struct ss_error *error) {
  const char *text;
  uint64_t number;
  if (ss_node_is_number(node))
    return ss_node_count(node, 1, t->csv.count, &number, error) && choose(t, (size_t)number - 1, error);
  return ss_node_text(node, &text, error) && choose_items(t, text, error);
}

/* Once the first record has been read. */
static bool choose_columns(struct table *t, struct ss_error *error) {
  const struct ss_node columns = t->import->columns;
  if (!ss_take_zero(&t->arena, t->chosen, t->csv.count) || !ss_take(&t->arena, t->column, t->csv.count) ||
      !ss_take_zero(&t->arena, t->tensor, t->csv.count) || !ss_take_zero(&t->arena, t->number, t->csv.count) ||
      !ss_take_zero(&t->arena, t->cursor, t->csv.count))
    return ss_fail_memory(error, "reading a table");
  if (t->criteo) return choose_items(t, "15-40", error);
  for (size_t i = 0; !ss_node_present(columns) && i < t->csv.count; i++)
    if (!choose(t, i, error)) return false;
  if (!ss_node_is_array(columns)) return !ss_node_present(columns) || choose_node(t, columns, error);
  for (struct ss_node n = ss_node_first(columns); ss_node_present(n); n = ss_node_next(n))
    if (!choose_node(t, n, error)) return false;
  return true;
}

static bool prepare_numbers(struct table *t, struct ss_error *error) {
  const struct ss_any_import *import = t->import;
  if (!ss_samples_tensors(import, t->name, t->tensor, t->tables, error) ||
      !ss_per_table_check(import->hash_rows, t->tensor, t->tables, error) ||
      !ss_per_table_check(import->vocab, t->tensor, t->tables, error))
    return false;
  t->hashed = true;
  for (size_t i = 0; i < t->tables; i++) {
    uint64_t rows;
    if (!ss_per_table_get(import->hash_rows, t->tensor[i].name, 0, 2, &rows, error)) return false;
    ss_numbering_init(&t->number[i], rows);
    t->hashed &= rows > 0;
    if (rows > 0 && ss_per_table_named(import->vocab, t->tensor[i].name))
      return ss_node_fail(import->vocab, error, "does nothing for %s: its rows are hashed", t->tensor[i].name);
  }
  return !t->hashed || !ss_node_present(import->vocab) ||
         ss_node_fail(import->vocab, error, "does nothing: all tables have hashed rows");
}

/* --- the pass over the file --------------------------------------------------------------------------------- */

static bool is_missing(const struct ss_any_import *import, const struct ss_csv_field *field) {
  for (size_t i = 0; i < import->missing.count; i++) {
    const char *text = import->missing.text[i];
    if (strlen(text) == field->size && memcmp(text, field->text, field->size) == 0) return true;
  }
  return field->size == 0;
}

/* Numbers the record's values, and keeps them when they are wanted. */
static bool add_record(struct table *t, bool wanted, struct ss_error *error) {
  for (size_t i = 0; i < t->tables; i++) {
    const struct ss_csv_field *field = &t->csv.field[t->column[i]];
    uint32_t number = 0;
    if (!is_missing(t->import, field) && !ss_numbering_see(&t->number[i], field->text, field->size, &number))
      return ss_fail_memory(error, "numbering the values of a table (--hash-rows N takes none)");
    if (wanted && !ss_spool_add(&t->spool, (uint32_t)i, &number, sizeof number, error)) return false;
  }
  t->rows += wanted;
  return true;
}

static bool read_file(struct table *t, struct ss_error *error) {
  SS_AUTO(ss_reading_end)
  struct ss_reading_progress reading = ss_reading_begin(t->import->watcher, t->csv.descriptor);
  uint64_t wanted;
  bool more = true;
  if (!ss_samples_wanted(&t->import->all, &wanted, error)) return false;
  if (!t->csv.head && !add_record(t, true, error)) return false;
  for (uint64_t records = 1; !(t->hashed && t->rows >= wanted); records++) {
    if (!ss_csv_next(&t->csv, &more, error)) return false;
    if (!more) return true;
    if (!add_record(t, t->rows < wanted, error) ||
        (records % TOLD == 0 && !ss_reading_goes_on(&reading, t->csv.taken, error)))
      return false;
  }
  return true;
}

/* --- the trace ---------------------------------------------------------------------------------------------- */

/* Each table's from the first on, in order. */
static bool read_rows(void *context, size_t tensor, uint64_t first, uint64_t count, uint32_t *out,
                      struct ss_error *error) {
  struct table *t = context;
  (void)first;
  if (!ss_spool_read(&t->spool, (uint32_t)tensor, &t->cursor[tensor], out, count * sizeof *out, error)) return false;
  for (uint64_t i = 0; i < count; i++) out[i] = ss_numbering_row(&t->number[tensor], out[i]);
  return true;
}

/* One lookup a sample in every table: they share their offsets. */
static bool write_trace(struct table *t, struct ss_error *error) {
  const struct ss_import *dealing = &t->import->all;
  uint64_t iterations;
  if (!ss_samples_iterations(dealing, t->name, "records", t->rows, &iterations, error)) return false;
  const uint64_t segments = iterations * dealing->ranks;
  SS_AUTO_FREE uint64_t *offsets = ss_alloc(segments + 1, sizeof *offsets);
  SS_AUTO_FREE const uint64_t **shared = ss_alloc(t->tables, sizeof *shared);
  if (!offsets || !shared) return ss_fail_memory(error, "importing a table");
  for (uint64_t i = 0; i <= segments; i++) offsets[i] = i * dealing->batch;
  for (size_t i = 0; i < t->tables; i++) shared[i] = offsets;
  const struct ss_row_source source = {.read = read_rows, .context = t};
  struct ss_trace_content content = {.iterations = iterations,
                                     .tensors = t->tables,
                                     .tensor = t->tensor,
                                     .offsets = shared,
                                     .row_source = &source,
                                     .pad_id = -1};
  return ss_samples_write(t->import, &content, error);
}

static bool rank(struct table *t, struct ss_error *error) {
  for (size_t i = 0; i < t->tables; i++) {
    uint64_t most;
    if (!ss_per_table_get(t->import->vocab, t->tensor[i].name, 0, 2, &most, error)) return false;
    if (!ss_numbering_rank(&t->number[i], most)) return ss_fail_memory(error, "ranking the values of a table");
    t->tensor[i].rows = t->number[i].rows;
  }
  return true;
}

static void table_free(struct table *t) {
  ss_csv_close(&t->csv);
  ss_spool_close(&t->spool);
  for (size_t i = 0; i < t->tables; i++) ss_numbering_free(&t->number[i]);
  ss_arena_free(&t->arena);
}

bool ss_import_table(const struct ss_any_import *import, struct ss_error *error) {
  const bool criteo = import->from == SS_DATA_CRITEO, header = import->header && !criteo;
  SS_AUTO(ss_cleanup_close) const int descriptor = ss_stream_open(import->file.text[0], error);
  SS_AUTO(table_free)
  struct table t = {
      .import = import, .name = ss_import_name(import), .criteo = criteo && !ss_node_present(import->columns)};
  bool more = false;
  if (descriptor < 0 || !ss_csv_open(&t.csv, t.name, descriptor, import->from != SS_DATA_CSV, error) ||
      !ss_output_check(import->output, error) || !(header ? ss_csv_head : ss_csv_next)(&t.csv, &more, error))
    return false;
  if (!more) return ss_fail(error, SS_BAD_INPUT, "%s: has no line that is not empty", t.name);
  return choose_columns(&t, error) && prepare_numbers(&t, error) &&
         ss_spool_open(&t.spool, import->output, (uint32_t)t.tables, error) && read_file(&t, error) &&
         rank(&t, error) && write_trace(&t, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
