/* The object of an import, read: options as the command has them. */
#include "library/request.h"

#include "base/fields.h"
#include "base/memory.h"
#include "trace/make/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct reading {
  struct ss_any_import import;
  struct ss_arena arena; /* owns lists and texts that are made of others */
};

/* --- lists ------------------------------------------------------------------------------------------------------ */

/* A text of the document, or a number written to `number`. */
static bool read_column(struct ss_node node, char number[static 24], const char **text, struct ss_error *error) {
  uint64_t count;
  if (!ss_node_is_number(node)) return ss_node_text(node, text, error);
  *text = number;
  return ss_node_count(node, 1, UINT32_MAX, &count, error) && snprintf(number, 24, "%" PRIu64, count) > 0;
}

/* "carrier,15-40", or a list of such and of numbers. */
static bool read_columns(struct ss_node node, void *out, struct ss_error *error) {
  struct reading *r = out;
  char number[24], *joined = NULL;
  size_t size = 1, used = 0;
  if (!ss_node_is_array(node)) return ss_node_text(node, &r->import.columns, error);
  for (int writes = 0; writes < 2; writes++) {
    joined = writes ? ss_arena_zero(&r->arena, size, 1) : NULL;
    if (writes && !joined) return ss_fail_memory(error, "reading an import");
    for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n)) {
      const char *text;
      if (!read_column(n, number, &text, error)) return false;
      if (writes) used += (size_t)snprintf(joined + used, size - used, "%s%s", used ? "," : "", text);
      else size += strlen(text) + 1;
    }
  }
  r->import.columns = joined;
  return true;
}

/* --- numbers ---------------------------------------------------------------------------------------------------- */

/* "TABLE=N", or "N". */
static const char *per_table_text(struct reading *r, const char *table, uint64_t number) {
  const size_t size = (table ? strlen(table) : 0) + 24;
  char *text = ss_arena_alloc(&r->arena, size, 1);
  if (text) (void)snprintf(text, size, "%s%s%" PRIu64, table ? table : "", table ? "=" : "", number);
  return text;
}

/* A number for all tables, an object of one each, or texts: "N", "TABLE=N". */
static bool read_per_table(struct reading *r, struct ss_node node, const char *option, struct ss_per_table *out,
                           struct ss_error *error) {
  const bool each = ss_node_is_object(node);
  uint64_t number;
  if (ss_node_is_text(node) || ss_node_is_array(node)) {
    struct ss_texts texts;
    const bool read = ss_node_texts(node, &r->arena, &texts, error);
    *out = (struct ss_per_table){option, texts.text, texts.count};
    return read;
  }
  const char **text = ss_arena_alloc(&r->arena, each ? ss_node_size(node) : 1, sizeof *text);
  if (!text) return ss_fail_memory(error, "reading an import");
  *out = (struct ss_per_table){.option = option, .text = text};
  if (!ss_node_present(node)) return true;
  for (struct ss_node n = each ? ss_node_first(node) : node; ss_node_present(n); n = ss_node_next(n)) {
    if (!ss_node_count(n, 1, UINT32_MAX, &number, error)) return false;
    text[out->count] = per_table_text(r, each ? ss_node_key(n) : NULL, number);
    if (!text[out->count++]) return ss_fail_memory(error, "reading an import");
    if (!each) return true;
  }
  return true;
}

/* --- the object ---------------------------------------------------------------------------------------------- */

static bool read_header(struct ss_node node, void *out, struct ss_error *error) {
  bool header;
  if (!ss_node_flag(node, &header, error)) return false;
  ((struct reading *)out)->import.no_header = !header;
  return true;
}

#define STORED(member) SS_STORED(struct reading, import.member)
static const struct ss_field_spec fields[] = {
    {"files", NULL, .kind = SS_SPEC_ANY, .required = true},
    {"from", NULL, SS_IS_CHOICE(ss_data_names), STORED(from)},
    {"layout", NULL, SS_IS_CHOICE(ss_text_layout_names), STORED(layout)},
    {"dtype", NULL, SS_IS_CHOICE(ss_dtypes), STORED(dtype)},
    {"header", NULL, .read = read_header},
    {"ranks", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), STORED(dealing.ranks)},
    {"batch", NULL, SS_IS_COUNT(1, UINT32_MAX), STORED(dealing.batch)},
    {"iterations", NULL, SS_IS_COUNT(1, UINT64_C(1) << 53), STORED(dealing.iterations)},
    {"seq", NULL, SS_IS_COUNT(1, UINT32_MAX), STORED(seq)},
    {"tables", NULL, SS_IS_COUNT(1, UINT32_MAX), STORED(tables)},
    {"pad", NULL, SS_IS_COUNT(0, UINT32_MAX - 1), STORED(pad)},
    {"columns", NULL, .read = read_columns},
    {"missing", NULL, .kind = SS_SPEC_ANY},
    {"tensor", NULL, SS_IS_TEXT, STORED(tensor)},
    {"source", NULL, SS_IS_TEXT, STORED(source)},
    {"row_width", NULL, .kind = SS_SPEC_ANY},
    {"vocab", NULL, .kind = SS_SPEC_ANY},
    {"hash_rows", NULL, .kind = SS_SPEC_ANY},
    {.name = NULL}};
static const struct ss_object_spec spec = {.field = fields};

static bool read_object(struct reading *r, struct ss_node object, struct ss_error *error) {
  struct ss_any_import *a = &r->import;
  struct ss_texts files, missing;
  if (!ss_object_read(&spec, object, r, error) ||
      !ss_node_texts(ss_node_get(object, "files"), &r->arena, &files, error) ||
      !ss_node_texts(ss_node_get(object, "missing"), &r->arena, &missing, error))
    return false;
  a->file = files.text;
  a->files = files.count;
  a->missing = missing.text;
  a->missing_count = missing.count;
  return read_per_table(r, ss_node_get(object, "row_width"), "--row-width", &a->row_width, error) &&
         read_per_table(r, ss_node_get(object, "vocab"), "--vocab", &a->vocab, error) &&
         read_per_table(r, ss_node_get(object, "hash_rows"), "--hash-rows", &a->hash_rows, error);
}

bool ss_import_object(struct ss_node object, const char *path, const struct ss_watcher *watcher,
                      struct ss_error *error) {
  struct reading r = {.import = {.output = path, .watcher = watcher, .from = SS_DATA_BY_NAME, .pad = -1}};
  const bool ok = read_object(&r, object, error) && ss_import_any(&r.import, error);
  ss_arena_free(&r.arena);
  return ok;
}
