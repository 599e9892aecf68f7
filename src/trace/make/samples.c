#include "trace/make/samples.h"

#include "base/list.h"
#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <sys/stat.h>

/* "NAME=64": the length of the name; "64": 0. A name may hold an "=" itself. */
static size_t name_length(const char *text) {
  const char *equals = strrchr(text, '=');
  return equals ? (size_t)(equals - text) : 0;
}

static bool names(const char *text, const char *table) {
  const size_t length = name_length(text);
  return length == strlen(table) && strncmp(text, table, length) == 0;
}

bool ss_per_table_get(const struct ss_per_table *numbers, const char *table, uint64_t usual, uint64_t least,
                      uint64_t *out, struct ss_error *error) {
  const char *found = NULL;
  *out = usual;
  for (size_t i = 0; i < numbers->count; i++)
    if (!strchr(numbers->text[i], '=')) found = numbers->text[i];
  for (size_t i = 0; i < numbers->count; i++)
    if (strchr(numbers->text[i], '=') && names(numbers->text[i], table))
      found = numbers->text[i] + name_length(numbers->text[i]) + 1;
  return !found || ss_count_parse(found, numbers->option, least, UINT32_MAX, out, error);
}

bool ss_per_table_check(const struct ss_per_table *numbers, const struct ss_tensor *tensor, size_t tensors,
                        struct ss_error *error) {
  for (size_t i = 0; i < numbers->count; i++) {
    size_t t = 0;
    if (!strchr(numbers->text[i], '=')) continue;
    while (t < tensors && !names(numbers->text[i], tensor[t].name)) t++;
    if (t == tensors)
      return ss_fail(error, SS_BAD_INPUT, "%s %s: no table is called \"%.*s\" (the first is \"%s\")", numbers->option,
                     numbers->text[i], (int)name_length(numbers->text[i]), numbers->text[i], tensor[0].name);
  }
  return true;
}

bool ss_per_table_get_one(const struct ss_per_table *numbers, const char *table, uint64_t usual, uint64_t least,
                          uint64_t *out, struct ss_error *error) {
  const struct ss_tensor named = {.name = table};
  return ss_per_table_check(numbers, &named, 1, error) && ss_per_table_get(numbers, table, usual, least, out, error);
}

const char *ss_import_name(const struct ss_any_import *import) {
  return strcmp(import->file[0], "-") == 0 ? "standard input" : import->file[0];
}

bool ss_samples_wanted(const struct ss_dealing *dealing, uint64_t *out, struct ss_error *error) {
  uint64_t each;
  if (dealing->ranks < 1 || dealing->ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "ranks must be 1 to %" PRIu32, SS_RANKS_MAX);
  if (dealing->batch < 1) return ss_fail(error, SS_BAD_INPUT, "batch must be at least 1");
  if (!ss_mul_u64(dealing->batch, dealing->ranks, &each))
    return ss_fail(error, SS_BAD_INPUT, "a batch of %" PRIu64 " is too large", dealing->batch);
  if (!dealing->iterations || !ss_mul_u64(each, dealing->iterations, out)) *out = UINT64_MAX;
  return true;
}

bool ss_samples_iterations(const struct ss_dealing *dealing, const char *name, const char *what, uint64_t samples,
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
  if (!ss_per_table_check(&import->row_width, tensor, tensors, error)) return false;
  for (size_t i = 0; i < tensors; i++) {
    uint64_t width;
    if (!ss_per_table_get(&import->row_width, tensor[i].name, SS_ROW_WIDTH, 1, &width, error)) return false;
    tensor[i].row_width = (uint32_t)width;
    tensor[i].dtype = import->dtype;
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
  all.source = import->source;
  all.ranks = import->dealing.ranks;
  ss_watcher_begin(import->watcher, "tables", all.tensors);
  const bool good = ss_trace_write(import->output, &all, error);
  ss_watcher_end(import->watcher);
  return good;
}
