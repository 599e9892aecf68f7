/* Files of times: tables, CSV with a head such as published measurements come in; anything else is a log (log.c). */
#include "base/csv.h"
#include "base/suggest.h"
#include "calibration/observations.h"

#include <ctype.h>
#include <strings.h>

static const size_t LARGEST = (size_t)64 << 20;

/* What is read of a row, and by which heads. */
enum column { COLLECTIVE, ALGORITHM, LIBRARY, NODES, PER_NODE, BYTES, SECONDS, SYSTEM, FIRST, THIRD, USES };
static const char *const heads[USES][4] = {
    {"collective"},
    {"algorithm"},
    {"library"},
    {"nodes"},
    {"tasks_per_node", "gpus_per_node", "per_node"},
    {"bytes", "vector_bytes"},
    {"seconds", "median_s"},
    {"system", "cluster"},
    {"p25_s"},
    {"p75_s"},
};

struct table {
  struct ss_csv csv;
  const struct ss_reading *reading;
  struct ss_observations *out;
  size_t column[USES]; /* SIZE_MAX: the table has none */
  size_t *where;       /* [wheres] column of each condition */
};

static bool wrong(const struct table *t, struct ss_error *error, const char *what, const char *text) {
  if (text) (void)ss_fail(error, SS_BAD_INPUT, "%s \"%s\"", what, text);
  else (void)ss_fail(error, SS_BAD_INPUT, "%s", what);
  return ss_csv_fail(&t->csv, error);
}

/* --- heads ------------------------------------------------------------------------------------------------ */

static bool find_conditions(struct table *t, struct ss_error *error) {
  for (size_t i = 0; i < t->reading->wheres; i++) {
    const char *condition = t->reading->where[i], *equals = strchr(condition, '=');
    if (!equals) return ss_fail(error, SS_BAD_INPUT, "--where: \"%s\" is not COLUMN=VALUE (say nodes=8)", condition);
    t->where[i] = ss_csv_column(&t->csv, condition, (size_t)(equals - condition));
    if (t->where[i] == SIZE_MAX) {
      char name[64];
      (void)snprintf(name, sizeof name, "%.*s", (int)(equals - condition), condition);
      return ss_fail(error, SS_BAD_INPUT, "--where: %s has no column \"%s\"%s", t->csv.name, name,
                     ss_suggest(name, t->csv.head, NULL).text);
    }
  }
  return true;
}

/* One column says it, by one of its names, or none. */
static bool find_column(struct table *t, int use, struct ss_error *error) {
  t->column[use] = SIZE_MAX;
  for (size_t c = 0; c < t->csv.width; c++)
    for (int i = 0; i < 4 && heads[use][i]; i++) {
      if (strcmp(t->csv.head[c], heads[use][i]) != 0) continue;
      if (t->column[use] != SIZE_MAX)
        return ss_fail(error, SS_BAD_INPUT, "%s: columns %zu \"%s\" and %zu \"%s\" say the same: leave one out",
                       t->csv.name, t->column[use] + 1, t->csv.head[t->column[use]], c + 1, t->csv.head[c]);
      t->column[use] = c;
    }
  return true;
}

static bool read_heads(struct table *t, struct ss_error *error) {
  bool more;
  if (!ss_csv_head(&t->csv, &more, error)) return false;
  for (int use = 0; use < USES; use++) {
    if (!find_column(t, use, error)) return false;
    const bool needed = use == COLLECTIVE || use == NODES || use == BYTES || use == SECONDS;
    if (needed && t->column[use] == SIZE_MAX)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: there is no column \"%s\"%s%s%s: a table of times has collective, "
                     "nodes, bytes and seconds, and may have algorithm, library, gpus_per_node and system",
                     t->csv.name, heads[use][0], heads[use][1] ? " or \"" : "", heads[use][1] ? heads[use][1] : "",
                     heads[use][1] ? "\"" : "");
  }
  return find_conditions(t, error);
}

/* --- rows ------------------------------------------------------------------------------------------------- */

static const char *cell_of(const struct table *t, enum column use) {
  return t->column[use] == SIZE_MAX ? "" : ss_csv_text(&t->csv, t->column[use]);
}

static bool wanted(const struct table *t) {
  for (size_t i = 0; i < t->reading->wheres; i++)
    if (strcmp(ss_csv_text(&t->csv, t->where[i]), strchr(t->reading->where[i], '=') + 1) != 0) return false;
  return true;
}

static bool read_count(const struct table *t, enum column use, uint64_t most, uint64_t *out, struct ss_error *error) {
  struct ss_error reason;
  if (ss_count_parse(cell_of(t, use), t->csv.head[t->column[use]], 1, most, out, &reason)) return true;
  return wrong(t, error, reason.text, NULL);
}

static bool read_seconds(const struct table *t, enum column use, double *out, struct ss_error *error) {
  const char *text = cell_of(t, use);
  char *end;
  *out = strtod(text, &end);
  if (strcmp(text, "N/A") == 0 || (use != SECONDS && !*text)) *out = NAN;
  else if (end == text || *end != '\0' || !(isnan(*out) || (*out >= 0 && *out < 1e6)))
    return wrong(t, error, "expected seconds, from 0 to a million, not", text);
  return true;
}

/* Some of a table's rows may be without. */
static bool read_quartiles(const struct table *t, double *out, struct ss_error *error) {
  double first, third;
  *out = 0;
  if (t->column[FIRST] == SIZE_MAX || t->column[THIRD] == SIZE_MAX) return true;
  if (!read_seconds(t, FIRST, &first, error) || !read_seconds(t, THIRD, &third, error)) return false;
  if (first > third) return wrong(t, error, "p25_s is above p75_s", NULL);
  if (first > 0 && isfinite(third / first)) *out = third / first;
  return true;
}

static bool same_system(struct table *t, struct ss_error *error) {
  const char *system = cell_of(t, SYSTEM);
  char *first = t->out->system;
  if (first[0] == '\0') (void)snprintf(first, sizeof t->out->system, "%s", system);
  if (strncmp(first, system, sizeof t->out->system - 1) == 0) return true;
  (void)ss_fail(error, SS_BAD_INPUT, "%s, and above was %s: take one cluster (--where %s=%s)", system, first,
                t->csv.head[t->column[SYSTEM]], first);
  return ss_csv_fail(&t->csv, error);
}

static bool read_algorithm(const struct table *t, enum ss_collective collective, struct ss_observation *one,
                           struct ss_error *error) {
  const char *name = cell_of(t, ALGORITHM);
  if (!name[0]) return ss_reading_suppose(t->reading, collective, one, error);
  one->algorithm = ss_algorithm_of(collective, name);
  return one->algorithm || wrong(t, error, "no such algorithm can be played:", name);
}

/* The row's library is that one, in whatever version: "gloo 2.15.0", not "gloomy". */
static bool names(const struct table *t, const char *library) {
  const char *said = cell_of(t, LIBRARY);
  const size_t size = strlen(library);
  return strncasecmp(said, library, size) == 0 && !isalpha((unsigned char)said[size]);
}

/* A table with a column for the library is of MPI, but for rows that name NCCL: MPICH's or Cray's, else Open MPI's,
 * as is what a benchmark plays itself (the one of models/measured took over Open MPI's code). */
static enum ss_library_kind library_of(const struct table *t) {
  if (t->column[LIBRARY] == SIZE_MAX || names(t, "nccl")) return SS_NCCL;
  return strcasestr(cell_of(t, LIBRARY), "mpich") ? SS_MPICH : SS_OPEN_MPI;
}

static bool read_row(struct table *t, struct ss_error *error) {
  uint64_t nodes, per_node = 1;
  struct ss_observation one = {.line = (uint32_t)t->csv.line, .library = library_of(t)};
  if (!wanted(t)) return true;
  const enum ss_collective collective = ss_collective_of(cell_of(t, COLLECTIVE));
  if (collective == SS_COLLECTIVES) return wrong(t, error, "no collective that is known:", cell_of(t, COLLECTIVE));
  if (!same_system(t, error) || !read_algorithm(t, collective, &one, error) ||
      !read_count(t, NODES, 65536, &nodes, error) ||
      (t->column[PER_NODE] != SIZE_MAX && !read_count(t, PER_NODE, 1024, &per_node, error)) ||
      !read_count(t, BYTES, (uint64_t)1 << 50, &one.bytes, error) || !read_seconds(t, SECONDS, &one.seconds, error) ||
      !read_quartiles(t, &one.quartiles, error))
    return false;
  if (nodes * per_node < 2 || nodes * per_node > 65536)
    return wrong(t, error, "there must be 2 to 65536 ranks", NULL);
  one.nodes = (uint32_t)nodes;
  one.per_node = (uint32_t)per_node;
  const size_t before = t->out->count;
  if (!ss_observations_add(t->out, t->reading, (double)one.bytes, &one, error)) return false;
  if (names(t, "gloo")) t->out->of_gloo += (uint32_t)(t->out->count - before);
  return true;
}

static bool read_rows(struct table *t, struct ss_error *error) {
  bool more = true;
  if (!read_heads(t, error)) return false;
  while (ss_csv_next(&t->csv, &more, error))
    if (!more || !read_row(t, error)) return !more;
  return false;
}

static bool read_table(const char *path, const struct ss_mapping *text, const struct ss_reading *reading,
                       struct ss_observations *out, struct ss_error *error) {
  SS_AUTO_FREE size_t *where = ss_alloc(reading->wheres, sizeof *where);
  struct table t = {.reading = reading, .out = out, .where = where};
  const bool ok = (where || ss_fail_memory(error, "reading a table")) &&
                  ss_csv_open_text(&t.csv, path, text->data, text->size, false, error) && read_rows(&t, error);
  ss_csv_close(&t.csv);
  return ok;
}

/* --- files ------------------------------------------------------------------------------------------------ */

/* A head of columns, not a log: the first line has a comma and the word "collective". */
static bool is_table(const struct ss_mapping *text) {
  const size_t length = text->size < 4096 ? text->size : 4096;
  const unsigned char *end = length ? memchr(text->data, '\n', length) : NULL;
  const size_t line = end ? (size_t)(end - text->data) : length;
  return line > 0 && memchr(text->data, ',', line) && text->data[0] != '#' &&
         memmem(text->data, line, "collective", 10);
}

static bool add_source(struct ss_observations *out, const char *path, struct ss_error *error) {
  char *copy = strdup(path);
  if (!copy || !ss_grow_by_one(out->source, out->sources)) {
    free(copy);
    return ss_fail_memory(error, "reading times");
  }
  out->source[out->sources++] = copy;
  return true;
}

bool ss_observations_read(const char *path, const struct ss_reading *reading, struct ss_observations *out,
                          struct ss_error *error) {
  struct ss_mapping text;
  if (!ss_map_file(path, &text, error)) return false;
  const bool ok = (text.size <= LARGEST || ss_fail(error, SS_BAD_INPUT, "%s: larger than 64 MiB", path)) &&
                  add_source(out, path, error) &&
                  (is_table(&text) ? read_table : ss_log_read)(path, &text, reading, out, error);
  ss_unmap_file(&text);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
