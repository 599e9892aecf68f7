/* Bags of ids, as FBGEMM takes them: arrays that are read in place. */
#include "trace/make/npy.h"
#include "trace/make/samples.h"

#define ID_MOST (UINT32_MAX - 1) /* a table has at most 2^32 - 1 rows */

/* One batch of all tables. */
struct pair {
  struct ss_npy indices, offsets;
  uint64_t samples;
  uint64_t first; /* sample of the whole import that is its first */
};

struct bags {
  const struct ss_any_import *import;
  struct pair *pair; /* [pairs] */
  size_t pairs;
  size_t tables;
  uint64_t samples;
  uint64_t *before; /* [tables][pairs] lookups of the table in earlier pairs */
};

static uint64_t offset_of(const struct pair *pair, size_t table, uint64_t sample) {
  return (uint64_t)ss_npy_get(&pair->offsets, table * pair->samples + sample);
}

static bool check_offsets(struct pair *pair, uint64_t tables, struct ss_error *error) {
  const struct ss_npy *o = &pair->offsets;
  if (o->columns || pair->indices.columns)
    return ss_fail(error, SS_BAD_INPUT, "%s: has two dimensions; indices and offsets have one",
                   o->columns ? o->name : pair->indices.name);
  if (o->count < 1 || (o->count - 1) % tables != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: has %" PRIu64 " offsets; %" PRIu64 " tables need a multiple of that and one more", o->name,
                   o->count, tables);
  pair->samples = (o->count - 1) / tables;
  int64_t last = 0;
  for (uint64_t i = 0; i < o->count; i++) {
    const int64_t offset = ss_npy_get(o, i);
    if (offset < last || (i == 0 && offset != 0) || (uint64_t)offset > pair->indices.count)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: [%" PRIu64 "] is %" PRId64 ": not between the one before (%" PRId64 ") and the %" PRIu64
                     " indices",
                     o->name, i, offset, last, i == 0 ? 0 : pair->indices.count);
    last = offset;
  }
  return (uint64_t)last == pair->indices.count ||
         ss_fail(error, SS_BAD_INPUT, "%s: ends with %" PRId64 ", but %s has %" PRIu64 " indices", o->name, last,
                 pair->indices.name, pair->indices.count);
}

/* The largest index of a table in a pair, if all are ids. */
static bool largest(const struct pair *pair, size_t table, uint64_t *most, struct ss_error *error) {
  for (uint64_t i = offset_of(pair, table, 0), end = offset_of(pair, table, pair->samples); i < end; i++) {
    const int64_t id = ss_npy_get(&pair->indices, i);
    if (id < 0 || id > ID_MOST)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: [%" PRIu64 "] (table %zu) is %" PRId64 ", not a row from 0 to %" PRIu32, pair->indices.name,
                     i, table, id, ID_MOST);
    *most = (uint64_t)id > *most ? (uint64_t)id : *most;
  }
  return true;
}

static bool open_pairs(struct bags *b, struct ss_error *error) {
  const char *const *paths = b->import->file.text;
  for (size_t i = 0; i < b->pairs; i++) {
    struct pair *pair = &b->pair[i];
    pair->first = b->samples;
    if (!ss_npy_open(paths[2 * i], &pair->indices, error) || !ss_npy_open(paths[2 * i + 1], &pair->offsets, error) ||
        !check_offsets(pair, b->tables, error))
      return false;
    b->samples += pair->samples; /* of offsets that lie in memory: their number is small */
    for (size_t t = 0; t < b->tables && i + 1 < b->pairs; t++)
      b->before[t * b->pairs + i + 1] =
          b->before[t * b->pairs + i] + offset_of(pair, t, pair->samples) - offset_of(pair, t, 0);
  }
  return true;
}

/* --- the trace ---------------------------------------------------------------------------------------------- */

/* Lookups of a table before a sample. */
static uint64_t lookups_before(const struct bags *b, size_t table, uint64_t sample) {
  size_t p = 0, end = b->pairs;
  while (end - p > 1) {
    const size_t middle = p + (end - p) / 2;
    if (b->pair[middle].first > sample) end = middle;
    else p = middle;
  }
  const struct pair *pair = &b->pair[p];
  return b->before[table * b->pairs + p] + offset_of(pair, table, sample - pair->first) - offset_of(pair, table, 0);
}

static bool read_rows(void *context, size_t tensor, uint64_t first, uint64_t count, uint32_t *out,
                      struct ss_error *error) {
  const struct bags *b = context;
  (void)error;
  for (size_t p = 0; p < b->pairs && count > 0; p++) {
    const struct pair *pair = &b->pair[p];
    const uint64_t begin = offset_of(pair, tensor, 0), size = offset_of(pair, tensor, pair->samples) - begin;
    const uint64_t before = b->before[tensor * b->pairs + p];
    if (first >= before + size) continue;
    const uint64_t left = before + size - first, part = count < left ? count : left;
    ss_npy_ids(&pair->indices, begin + (first - before), part, out);
    first += part;
    count -= part;
    out += part;
  }
  return true;
}

static bool read_bags(void *context, size_t tensor, uint64_t first, uint64_t count, uint64_t *out,
                      struct ss_error *error) {
  (void)error;
  for (uint64_t i = 0; i < count; i++) out[i] = lookups_before(context, tensor, first + i);
  return true;
}

static bool choose_rows(const struct bags *b, size_t table, struct ss_tensor *tensor, struct ss_error *error) {
  uint64_t most = 0, rows;
  for (size_t p = 0; p < b->pairs; p++)
    if (!largest(&b->pair[p], table, &most, error)) return false;
  if (!ss_per_table_get(b->import->vocab, tensor->name, most + 1, 1, &rows, error)) return false;
  tensor->rows = rows;
  return most < rows ||
         ss_fail(error, SS_BAD_INPUT, "%s: table %s has an index of %" PRIu64 ", beyond its %" PRIu64 " rows",
                 b->pair[0].indices.name, tensor->name, most, rows);
}

static bool name_tensors(struct bags *b, struct ss_arena *arena, struct ss_tensor *tensor, struct ss_error *error) {
  char name[32];
  for (size_t t = 0; t < b->tables; t++) {
    (void)snprintf(name, sizeof name, "t%zu", t);
    tensor[t] = (struct ss_tensor){.name = ss_arena_text(arena, name)};
    if (!tensor[t].name) return ss_fail_memory(error, "importing bags");
  }
  return ss_per_table_check(b->import->vocab, tensor, b->tables, error) &&
         ss_samples_tensors(b->import, b->pair[0].indices.name, tensor, b->tables, error);
}

static bool write_trace(struct bags *b, struct ss_arena *arena, struct ss_error *error) {
  const struct ss_import *dealing = &b->import->all;
  const char *name = b->pair[0].offsets.name;
  uint64_t iterations, **offsets, *first;
  struct ss_tensor *tensor;
  struct ss_bags *bags;
  if (!ss_samples_iterations(dealing, name, "samples", b->samples, &iterations, error)) return false;
  const uint64_t segments = iterations * dealing->ranks;
  if (!ss_take(arena, tensor, b->tables) || !ss_take(arena, offsets, b->tables) ||
      !ss_take_zero(arena, bags, b->tables) || !ss_take(arena, first, segments + 1))
    return ss_fail_memory(error, "importing bags");
  for (uint64_t i = 0; i <= segments; i++) first[i] = i * dealing->batch;
  if (!name_tensors(b, arena, tensor, error)) return false;
  for (size_t t = 0; t < b->tables; t++) {
    if (!ss_take(arena, offsets[t], segments + 1)) return ss_fail_memory(error, "importing bags");
    for (uint64_t i = 0; i <= segments; i++) offsets[t][i] = lookups_before(b, t, i * dealing->batch);
    if (!choose_rows(b, t, &tensor[t], error)) return false;
    bags[t].first = first; /* every sample has one bag of every table */
  }
  const struct ss_row_source source = {.read = read_rows, .context = b, .bags = read_bags};
  struct ss_trace_content content = {.iterations = iterations,
                                     .tensors = b->tables,
                                     .tensor = tensor,
                                     .offsets = (const uint64_t *const *)offsets,
                                     .row_source = &source,
                                     .pad_id = -1,
                                     .bags = bags};
  return ss_samples_write(b->import, &content, error);
}

static void bags_free(struct bags *b) {
  for (size_t i = 0; b->pair && i < b->pairs; i++) {
    ss_npy_close(&b->pair[i].indices);
    ss_npy_close(&b->pair[i].offsets);
  }
}

bool ss_import_bags(const struct ss_any_import *import, struct ss_error *error) {
  enum { TABLES_MAX = 1 << 20 };
  SS_AUTO(ss_arena_free) struct ss_arena arena = {0};
  SS_AUTO(bags_free) struct bags b = {.import = import, .pairs = import->file.count / 2, .tables = import->tables};
  uint64_t wanted;
  if (b.tables > TABLES_MAX)
    return ss_fail(error, SS_BAD_INPUT, "tables: %" PRIu64 " is not from 1 to %d", import->tables, TABLES_MAX);
  if (!ss_samples_wanted(&import->all, &wanted, error)) return false;
  if (!ss_take_zero(&arena, b.pair, b.pairs) || !ss_take_zero(&arena, b.before, b.pairs * b.tables))
    return ss_fail_memory(error, "importing bags");
  return open_pairs(&b, error) && write_trace(&b, &arena, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
