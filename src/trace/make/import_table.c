/* A table of categories: one pass over the file, in which each chosen field becomes a number that goes to the spill,
 * and one over the spill, in which numbers become rows and the columns are written one after the other. */
#include "base/csv.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/units.h"
#include "trace/make/numbering.h"
#include "trace/make/samples.h"
#include "trace/make/spill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
  const struct ss_any_import *import;
  const char *columns, *prefix; /* those chosen; of their names, where there is no header */
  bool header;
  const char *name; /* of the file, for messages */
  struct ss_csv csv;
  struct ss_arena arena; /* owns names */
  size_t tables, capacity;
  size_t *column;              /* [tables] index among the fields */
  struct ss_tensor *tensor;    /* [tables] */
  struct ss_numbering *number; /* [tables] */
  bool hashed;                 /* all are: the file needs no reading beyond what is wanted */
  struct ss_spill spill;
};

enum { TOLD = 4096 /* records, between two words on how far it is */ };

/* --- columns ------------------------------------------------------------------------------------------------ */

static bool printable(const char *text, size_t size) {
  for (size_t at = 0, step; at < size; at += step)
    if ((step = ss_utf8_printable(text + at, size - at)) == 0) return false;
  return true;
}

/* The name of a column (from 0), `nth` of the chosen. */
static bool name_column(struct table *t, size_t column, size_t nth, const char **out, struct ss_error *error) {
  const char *name = t->header ? t->csv.head[column] : "";
  char number[64];
  if (!*name) {
    const bool prefixed = t->prefix != NULL;
    (void)snprintf(number, sizeof number, "%.40s%zu", prefixed ? t->prefix : "c", prefixed ? nth + 1 : column + 1);
    *out = ss_arena_text(&t->arena, number);
    return *out || ss_fail_memory(error, "reading a table");
  }
  *out = name;
  if (strlen(name) <= 200 && printable(name, strlen(name))) return true;
  return ss_fail(error, SS_BAD_INPUT,
                 "%s: line %" PRIu64 ": column %zu has no name that is a text of at most 200 bytes (say --no-header "
                 "where the first line is not one of names)",
                 t->name, t->csv.line, column + 1);
}

static bool choose(struct table *t, size_t column, struct ss_error *error) {
  for (size_t i = 0; i < t->tables; i++)
    if (t->column[i] == column)
      return ss_fail(error, SS_BAD_INPUT, "--columns %s: column %zu is chosen twice", t->columns, column + 1);
  size_t capacity = t->capacity;
  if (!ss_grow(t->column, capacity, t->tables + 1)) return ss_fail_memory(error, "reading a table");
  capacity = t->capacity;
  if (!ss_grow(t->tensor, capacity, t->tables + 1)) return ss_fail_memory(error, "reading a table");
  if (!ss_grow(t->number, t->capacity, t->tables + 1)) return ss_fail_memory(error, "reading a table");
  const size_t i = t->tables;
  t->column[i] = column;
  t->tensor[i] = (struct ss_tensor){0};
  ss_numbering_init(&t->number[i], 0);
  t->tables++;
  return name_column(t, column, i, &t->tensor[i].name, error);
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
                   "--columns %s: \"%.*s\" is %s a number or range from 1 to %zu, the columns of %s", t->columns,
                   (int)(size < 200 ? size : 200), text, t->header ? "neither a name in the first line nor" : "not",
                   t->csv.count, t->name);
  for (column = first; column <= last; column++)
    if (!choose(t, column - 1, error)) return false;
  return true;
}

/* Once the first record has been read. */
static bool choose_columns(struct table *t, struct ss_error *error) {
  const char *at = t->columns;
  for (size_t i = 0; !at && i < t->csv.count; i++)
    if (!choose(t, i, error)) return false;
  while (at) {
    const size_t size = strcspn(at, ",");
    if (!choose_item(t, at, size, error)) return false;
    at = at[size] ? at + size + 1 : NULL;
  }
  return true;
}

static bool prepare_numbers(struct table *t, struct ss_error *error) {
  const struct ss_any_import *import = t->import;
  if (!ss_samples_tensors(import, t->name, t->tensor, t->tables, error) ||
      !ss_per_table_check(&import->hash_rows, t->tensor, t->tables, error) ||
      !ss_per_table_check(&import->vocab, t->tensor, t->tables, error))
    return false;
  t->hashed = true;
  for (size_t i = 0; i < t->tables; i++) {
    uint64_t rows;
    if (!ss_per_table_get(&import->hash_rows, t->tensor[i].name, 0, 2, &rows, error)) return false;
    ss_numbering_init(&t->number[i], rows);
    t->hashed &= rows > 0;
  }
  return true;
}

/* --- the pass over the file --------------------------------------------------------------------------------- */

static bool is_missing(const struct ss_any_import *import, const struct ss_csv_field *field) {
  for (size_t i = 0; i < import->missing_count; i++)
    if (strlen(import->missing[i]) == field->size && memcmp(import->missing[i], field->text, field->size) == 0)
      return true;
  return field->size == 0;
}

/* Numbers the record's values, and keeps them when they are wanted. */
static bool add_record(struct table *t, bool wanted, struct ss_error *error) {
  uint32_t *out = wanted ? ss_spill_next(&t->spill, error) : NULL;
  if (wanted && !out) return false;
  for (size_t i = 0; i < t->tables; i++) {
    const struct ss_csv_field *field = &t->csv.field[t->column[i]];
    uint32_t number = 0;
    if (!is_missing(t->import, field) && !ss_numbering_see(&t->number[i], field->text, field->size, &number))
      return ss_fail_memory(error, "numbering the values of a table (--hash-rows N takes none)");
    if (wanted) out[i * t->spill.block] = number;
  }
  if (wanted) ss_spill_added(&t->spill);
  return true;
}

static bool read_file(struct table *t, struct ss_error *error) {
  SS_AUTO(ss_reading_end)
  struct ss_reading_progress reading = ss_reading_begin(t->import->watcher, t->csv.descriptor);
  uint64_t wanted;
  bool more = true;
  if (!ss_samples_wanted(&t->import->dealing, &wanted, error)) return false;
  if (!t->header && !add_record(t, true, error)) return false;
  for (uint64_t records = 1; !(t->hashed && t->spill.rows >= wanted); records++) {
    if (!ss_csv_next(&t->csv, &more, error)) return false;
    if (!more) return true;
    if (!add_record(t, t->spill.rows < wanted, error) ||
        (records % TOLD == 0 && !ss_reading_goes_on(&reading, t->csv.taken, error)))
      return false;
  }
  return true;
}

/* --- the trace ---------------------------------------------------------------------------------------------- */

static bool read_rows(void *context, size_t tensor, uint64_t first, uint64_t count, uint32_t *out,
                      struct ss_error *error) {
  const struct table *t = context;
  if (!ss_spill_read(&t->spill, tensor, first, count, out, error)) return false;
  for (uint64_t i = 0; i < count; i++) out[i] = ss_numbering_row(&t->number[tensor], out[i]);
  return true;
}

/* One lookup a sample in every table: they share their offsets. */
static bool write_trace(struct table *t, struct ss_error *error) {
  const struct ss_dealing *dealing = &t->import->dealing;
  uint64_t iterations;
  if (!ss_samples_iterations(dealing, t->name, "records", t->spill.rows, &iterations, error)) return false;
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
    if (!ss_per_table_get(&t->import->vocab, t->tensor[i].name, 0, 2, &most, error)) return false;
    if (!ss_numbering_rank(&t->number[i], most)) return ss_fail_memory(error, "ranking the values of a table");
    t->tensor[i].rows = t->number[i].rows;
  }
  return true;
}

static void table_free(struct table *t) {
  ss_csv_close(&t->csv);
  ss_spill_close(&t->spill);
  for (size_t i = 0; i < t->tables; i++) ss_numbering_free(&t->number[i]);
  free(t->column);
  free(t->tensor);
  free(t->number);
  ss_arena_free(&t->arena);
}

bool ss_import_table(const struct ss_any_import *import, struct ss_error *error) {
  const bool criteo = import->from == SS_DATA_CRITEO, chosen = import->columns != NULL;
  SS_AUTO(ss_cleanup_close) const int descriptor = ss_stream_open(import->file[0], error);
  SS_AUTO(table_free)
  struct table t = {.import = import,
                    .name = ss_import_name(import),
                    .header = !criteo && !import->no_header,
                    .columns = criteo && !chosen ? "15-40" : import->columns,
                    .prefix = criteo && !chosen ? "C" : NULL,
                    .spill.file = -1};
  bool more = false;
  if (descriptor < 0 || !ss_csv_open(&t.csv, t.name, descriptor, import->from != SS_DATA_CSV, error) ||
      !ss_output_check(import->output, error) || !(t.header ? ss_csv_head : ss_csv_next)(&t.csv, &more, error))
    return false;
  if (!more) return ss_fail(error, SS_BAD_INPUT, "%s: has no line that is not empty", t.name);
  return choose_columns(&t, error) && prepare_numbers(&t, error) &&
         ss_spill_open(&t.spill, t.tables, import->output, error) && read_file(&t, error) && rank(&t, error) &&
         write_trace(&t, error);
}
