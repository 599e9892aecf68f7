/* The object of an import, read: options as the command has them. */
#include "library/request.h"

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
static bool read_columns(struct reading *r, struct ss_node node, struct ss_error *error) {
  char number[24], *joined = NULL;
  size_t size = 1, used = 0;
  if (!ss_node_present(node)) return true;
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

static bool read_counts(struct ss_node object, struct ss_any_import *a, struct ss_error *error) {
  uint64_t ranks = 0, pad = 0;
  const struct {
    const char *key;
    uint64_t low, high, *out;
  } counts[] = {{"ranks", 1, SS_RANKS_MAX, &ranks},
                {"batch", 1, UINT32_MAX, &a->dealing.batch},
                {"iterations", 1, UINT64_C(1) << 53, &a->dealing.iterations},
                {"seq", 1, UINT32_MAX, &a->seq},
                {"tables", 1, UINT32_MAX, &a->tables},
                {"pad", 0, UINT32_MAX - 1, &pad}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const struct ss_node node = ss_node_get(object, counts[i].key);
    if (ss_node_present(node) && !ss_node_count(node, counts[i].low, counts[i].high, counts[i].out, error))
      return false;
  }
  a->dealing.ranks = (uint32_t)ranks;
  a->pad = ss_node_present(ss_node_get(object, "pad")) ? (int64_t)pad : -1;
  return true;
}

/* --- the object ---------------------------------------------------------------------------------------------- */

static bool read_choices(struct ss_node object, struct ss_any_import *a, struct ss_error *error) {
  const struct ss_node from = ss_node_get(object, "from"), layout = ss_node_get(object, "layout"),
                       dtype = ss_node_get(object, "dtype"), header = ss_node_get(object, "header");
  size_t kind = SS_DATA_BY_NAME, cut = SS_STREAM, type = 0;
  bool has_header = true;
  if ((ss_node_present(from) && !ss_node_choice(from, ss_data_names, &kind, error)) ||
      (ss_node_present(layout) && !ss_node_choice(layout, ss_text_layout_names, &cut, error)) ||
      (ss_node_present(dtype) && !ss_node_choice(dtype, ss_dtypes, &type, error)) ||
      (ss_node_present(header) && !ss_node_flag(header, &has_header, error)))
    return false;
  a->from = (enum ss_data)kind;
  a->layout = (enum ss_text_layout)cut;
  a->dtype = (enum ss_dtype)type;
  a->no_header = !has_header;
  return true;
}

static bool read_object(struct reading *r, struct ss_node object, struct ss_error *error) {
  static const char *const keys[] = {"files",   "from",      "ranks",  "batch",     "iterations", "vocab",  "dtype",
                                     "layout",  "seq",       "pad",    "row_width", "tensor",     "header", "columns",
                                     "missing", "hash_rows", "tables", "source",    NULL};
  struct ss_any_import *a = &r->import;
  const struct ss_node tensor = ss_node_get(object, "tensor"), source = ss_node_get(object, "source");
  struct ss_texts file, missing;
  struct ss_node files;
  if (!ss_node_keys(object, keys, error) || !ss_node_need(object, "files", &files, error) ||
      !ss_node_texts(files, &r->arena, &file, error) || !read_choices(object, a, error) ||
      !read_counts(object, a, error) || !read_columns(r, ss_node_get(object, "columns"), error) ||
      !ss_node_texts(ss_node_get(object, "missing"), &r->arena, &missing, error))
    return false;
  a->file = file.text;
  a->files = file.count;
  a->missing = missing.text;
  a->missing_count = missing.count;
  return (!ss_node_present(tensor) || ss_node_text(tensor, &a->tensor, error)) &&
         (!ss_node_present(source) || ss_node_text(source, &a->source, error)) &&
         read_per_table(r, ss_node_get(object, "row_width"), "--row-width", &a->row_width, error) &&
         read_per_table(r, ss_node_get(object, "vocab"), "--vocab", &a->vocab, error) &&
         read_per_table(r, ss_node_get(object, "hash_rows"), "--hash-rows", &a->hash_rows, error);
}

bool ss_import_object(struct ss_node object, const char *path, const struct ss_watcher *watcher,
                      struct ss_error *error) {
  struct reading r = {.import = {.output = path, .watcher = watcher}};
  const bool ok = read_object(&r, object, error) && ss_import_any(&r.import, error);
  ss_arena_free(&r.arena);
  return ok;
}
