#include "trace/make/samples.h"

#include <sys/stat.h>

/* What names a table, the length of its name; NULL: nothing does. A name may hold an "=" itself. */
static const char *named(struct ss_node entry, bool by_name, size_t *length) {
  const char *text = by_name ? ss_node_key(entry) : "";
  if (!by_name && (!ss_node_is_text(entry) || !ss_node_text(entry, &text, NULL))) text = "";
  const char *equals = by_name ? text + strlen(text) : strrchr(text, '=');
  *length = equals ? (size_t)(equals - text) : 0;
  return equals ? text : NULL;
}

static struct ss_node first_of(struct ss_node numbers) {
  return ss_node_is_array(numbers) || ss_node_is_object(numbers) ? ss_node_first(numbers) : numbers;
}

static struct ss_node next_of(struct ss_node numbers, struct ss_node entry) {
  const struct ss_node none = {0};
  return entry.at == numbers.at ? none : ss_node_next(entry);
}

/* Which is the table called that the entry names? `tensors`: none is. */
static size_t table_of(const char *name, size_t length, const struct ss_tensor *tensor, size_t tensors) {
  size_t t = 0;
  while (t < tensors && !(strlen(tensor[t].name) == length && strncmp(name, tensor[t].name, length) == 0)) t++;
  return t;
}

bool ss_per_table_get(struct ss_node numbers, const char *table, uint64_t usual, uint64_t least, uint64_t *out,
                      struct ss_error *error) {
  const struct ss_tensor own = {.name = table};
  const char *found = NULL;
  bool is_own = false, is_all = false;
  char field[40];
  *out = usual;
  if (ss_node_is_object(numbers)) numbers = ss_node_get(numbers, table);
  if (ss_node_is_number(numbers)) return ss_node_count(numbers, least, UINT32_MAX, out, error);
  for (struct ss_node n = first_of(numbers); ss_node_present(n); n = next_of(numbers, n)) {
    const char *text;
    size_t length;
    if (!ss_node_text(n, &text, error)) return false;
    const bool names = named(n, false, &length) != NULL;
    if (names && table_of(text, length, &own, 1) == 1) continue;
    if (names ? is_own : is_all)
      return ss_node_fail(numbers, error, "%s is said twice", names ? table : "what holds for all tables");
    is_all = is_all || !names;
    if (!names && is_own) continue;
    found = names ? text + length + 1 : text;
    is_own = names;
  }
  return !found || ss_count_parse(found, ss_doc_field(numbers.doc, ss_node_key(numbers), field, sizeof field), least,
                                  UINT32_MAX, out, error);
}

bool ss_per_table_check(struct ss_node numbers, const struct ss_tensor *tensor, size_t tensors,
                        struct ss_error *error) {
  size_t tables = 0, others = 0;
  for (struct ss_node n = first_of(numbers); ss_node_present(n); n = next_of(numbers, n)) {
    size_t length;
    const char *name = named(n, ss_node_is_object(numbers), &length);
    *(name ? &tables : &others) += 1;
    if (name && table_of(name, length, tensor, tensors) == tensors)
      return ss_node_fail(numbers, error, "no table is called \"%.*s\" (the first is \"%s\")", (int)length, name,
                          tensor[0].name);
  }
  return !others || tables < tensors || /* a table that is named twice is an error where numbers are got */
         ss_node_fail(numbers, error, "what holds for all tables does nothing: each has its own");
}

bool ss_per_table_named(struct ss_node numbers, const char *table) {
  const struct ss_tensor own = {.name = table};
  for (struct ss_node n = first_of(numbers); ss_node_present(n); n = next_of(numbers, n)) {
    size_t length;
    const char *name = named(n, ss_node_is_object(numbers), &length);
    if (name && table_of(name, length, &own, 1) == 0) return true;
  }
  return false;
}

bool ss_per_table_get_one(struct ss_node numbers, const char *table, uint64_t usual, uint64_t least, uint64_t *out,
                          struct ss_error *error) {
  const struct ss_tensor tensor = {.name = table};
  return ss_per_table_check(numbers, &tensor, 1, error) && ss_per_table_get(numbers, table, usual, least, out, error);
}

const char *ss_import_name(const struct ss_any_import *import) {
  return strcmp(import->file.text[0], "-") == 0 ? "standard input" : import->file.text[0];
}

bool ss_samples_wanted(const struct ss_import *dealing, uint64_t *out, struct ss_error *error) {
  uint64_t each;
  if (dealing->ranks < 1 || dealing->ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "ranks must be 1 to %" PRIu32, SS_RANKS_MAX);
  if (dealing->batch < 1) return ss_fail(error, SS_BAD_INPUT, "batch must be at least 1");
  if (!ss_mul_u64(dealing->batch, dealing->ranks, &each))
    return ss_fail(error, SS_BAD_INPUT, "a batch of %" PRIu64 " is too large", dealing->batch);
  if (!dealing->iterations || !ss_mul_u64(each, dealing->iterations, out)) *out = UINT64_MAX;
  return true;
}

bool ss_samples_iterations(const struct ss_import *dealing, const char *name, const char *what, uint64_t samples,
                           uint64_t *out, struct ss_error *error) {
  const uint64_t each = dealing->batch * dealing->ranks; /* fits: ss_samples_wanted */
  *out = samples / each;
  if (dealing->iterations && dealing->iterations < *out) *out = dealing->iterations;
  return *out > 0 || ss_fail(error, SS_BAD_INPUT,
                             "%s: has %" PRIu64 " %s; one iteration of %" PRIu32 " ranks takes %" PRIu64
                             " (use fewer ranks or a smaller batch)",
                             name, samples, what, dealing->ranks, each);
}

static bool check_distinct(const char *name, const struct ss_tensor *tensor, size_t tensors, struct ss_error *error) {
  SS_AUTO_FREE const char **names = ss_alloc(tensors, sizeof *names);
  if (!names) return ss_fail_memory(error, "importing samples");
  for (size_t i = 0; i < tensors; i++) names[i] = tensor[i].name;
  const char *twice = ss_sort_texts(names, tensors);
  return !twice || ss_fail(error, SS_BAD_INPUT, "%s: two tables are called \"%s\"", name, twice);
}

bool ss_samples_tensors(const struct ss_any_import *import, const char *name, struct ss_tensor *tensor,
                        size_t tensors, struct ss_error *error) {
  if (!ss_per_table_check(import->row_width, tensor, tensors, error)) return false;
  for (size_t i = 0; i < tensors; i++) {
    uint64_t width;
    if (!ss_per_table_get(import->row_width, tensor[i].name, SS_ROW_WIDTH, 1, &width, error)) return false;
    tensor[i].row_width = (uint32_t)width;
    tensor[i].dtype = import->all.dtype;
  }
  return check_distinct(name, tensor, tensors, error);
}

/* --- how far it is ------------------------------------------------------------------------------------------ */

enum { MEGABYTE = 1000000 };

struct ss_reading_progress ss_reading_begin(const struct ss_watcher *watcher, int descriptor) {
  struct stat info;
  const bool known = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  const uint64_t size = known ? (uint64_t)info.st_size : 0;
  if (size) ss_watcher_begin(watcher, "MB", (size + MEGABYTE - 1) / MEGABYTE);
  return (struct ss_reading_progress){.watcher = watcher, .size = size};
}

bool ss_reading_goes_on(struct ss_reading_progress *p, uint64_t bytes, struct ss_error *error) {
  if (!ss_watcher_goes_on(p->watcher, error)) return false;
  if (p->size && bytes > p->done)
    ss_watcher_advance(p->watcher, bytes / MEGABYTE - p->done / MEGABYTE, (double)(bytes - p->done), (double)p->size);
  p->done = bytes;
  return true;
}

void ss_reading_end(const struct ss_reading_progress *p) {
  if (p->size) ss_watcher_end(p->watcher);
}

bool ss_samples_write(const struct ss_any_import *import, const struct ss_trace_content *content,
                      struct ss_error *error) {
  struct ss_row_source told = *content->row_source;
  struct ss_trace_content all = *content;
  told.watcher = import->watcher;
  all.row_source = &told;
  all.source = import->all.source;
  all.ranks = import->all.ranks;
  ss_watcher_begin(import->watcher, "tables", all.tensors);
  const bool good = ss_trace_write(import->output, &all, error);
  ss_watcher_end(import->watcher);
  return good;
}
/* SPDX-License-Identifier: Apache-2.0 */
