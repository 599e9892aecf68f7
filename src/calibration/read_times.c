/* Tables of times: CSV with a head, such as published measurements come in. */
#include "base/memory.h"
#include "base/suggest.h"
#include "calibration/observations.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, LINE = 4096 };

/* What is read of a row, and by which heads. */
enum column { COLLECTIVE, ALGORITHM, LIBRARY, NODES, PER_NODE, BYTES, SECONDS, SYSTEM, USES };
static const char *const heads[USES][4] = {
    {"collective"},
    {"algorithm"},
    {"library"},
    {"nodes"},
    {"tasks_per_node", "gpus_per_node", "per_node"},
    {"bytes", "vector_bytes"},
    {"seconds", "median_s"},
    {"system", "cluster"},
};

struct table {
  const char *path;
  const struct ss_reading *reading;
  struct ss_observations *out;
  uint32_t line;
  size_t columns;
  size_t place[USES];         /* SIZE_MAX: the table has none */
  size_t *where;              /* [wheres] column of each condition */
  char head[LINE], row[LINE]; /* a line, cut into: */
  char *name[COLUMNS], *cell[COLUMNS];
  char system[64]; /* of the first row; "" none */
};

static bool wrong(const struct table *t, struct ss_error *error, const char *what, const char *text) {
  return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %s%s%s%s", t->path, t->line, what, text ? " \"" : "",
                 text ? text : "", text ? "\"" : "");
}

/* Cuts the line at commas; RFC 4180's quotes are taken off. SIZE_MAX: a quote is open, or there are too many cells.
 */
static size_t cut(char *line, char **cell) {
  char *read = line, *write = line;
  for (size_t count = 0; count < COLUMNS; write++) {
    const bool quoted = *read == '"';
    cell[count++] = write;
    for (read += quoted; *read && (quoted || *read != ','); *write++ = *read++)
      if (quoted && *read == '"' && *++read != '"') break;
    if (*read && *read != ',') return SIZE_MAX;
    if (quoted && read[-1] != '"') return SIZE_MAX;
    const bool last = *read == '\0';
    read += !last;
    *write = '\0';
    if (last) return count;
  }
  return SIZE_MAX;
}

static bool copy_line(struct table *t, char *into, const char *text, size_t length, struct ss_error *error) {
  if (length >= LINE) return wrong(t, error, "longer than 4095 bytes", NULL);
  if (memchr(text, '\0', length)) return wrong(t, error, "a NUL byte: this is no text", NULL);
  memcpy(into, text, length);
  into[length] = '\0';
  into[strcspn(into, "\r")] = '\0';
  return true;
}

/* --- heads ------------------------------------------------------------------------------------------------ */

static size_t find_column(const struct table *t, const char *name, size_t length) {
  for (size_t i = 0; i < t->columns; i++)
    if (strlen(t->name[i]) == length && strncmp(t->name[i], name, length) == 0) return i;
  return SIZE_MAX;
}

static bool find_conditions(struct table *t, struct ss_error *error) {
  for (size_t i = 0; i < t->reading->wheres; i++) {
    const char *condition = t->reading->where[i], *equals = strchr(condition, '=');
    if (!equals) return ss_fail(error, SS_BAD_INPUT, "--where: \"%s\" is not COLUMN=VALUE (say nodes=8)", condition);
    t->where[i] = find_column(t, condition, (size_t)(equals - condition));
    if (t->where[i] == SIZE_MAX) {
      char name[64];
      const char *known[COLUMNS + 1] = {NULL};
      (void)snprintf(name, sizeof name, "%.*s", (int)(equals - condition), condition);
      memcpy(known, t->name, t->columns * sizeof *known);
      return ss_fail(error, SS_BAD_INPUT, "--where: %s has no column \"%s\"%s", t->path, name,
                     ss_suggest(name, known, NULL).text);
    }
  }
  return true;
}

static bool read_heads(struct table *t, struct ss_error *error) {
  t->columns = cut(t->head, t->name);
  if (t->columns == SIZE_MAX) return wrong(t, error, "more than 64 columns, or a quote that does not end", NULL);
  for (int use = 0; use < USES; use++) {
    t->place[use] = SIZE_MAX;
    for (int i = 0; i < 4 && heads[use][i] && t->place[use] == SIZE_MAX; i++)
      t->place[use] = find_column(t, heads[use][i], strlen(heads[use][i]));
    const bool needed = use == COLLECTIVE || use == NODES || use == BYTES || use == SECONDS;
    if (needed && t->place[use] == SIZE_MAX)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: there is no column \"%s\"%s%s%s: a table of times has collective, "
                     "nodes, bytes and seconds, and may have algorithm, library, gpus_per_node and system",
                     t->path, heads[use][0], heads[use][1] ? " or \"" : "", heads[use][1] ? heads[use][1] : "",
                     heads[use][1] ? "\"" : "");
  }
  return find_conditions(t, error);
}

/* --- rows ------------------------------------------------------------------------------------------------- */

static const char *cell_of(const struct table *t, enum column use) {
  return t->place[use] == SIZE_MAX ? "" : t->cell[t->place[use]];
}

static bool wanted(const struct table *t) {
  for (size_t i = 0; i < t->reading->wheres; i++)
    if (strcmp(t->cell[t->where[i]], strchr(t->reading->where[i], '=') + 1) != 0) return false;
  return true;
}

static bool read_count(const struct table *t, enum column use, uint64_t most, uint64_t *out, struct ss_error *error) {
  struct ss_error reason;
  if (ss_count_parse(cell_of(t, use), t->name[t->place[use]], 1, most, out, &reason)) return true;
  return wrong(t, error, reason.text, NULL);
}

static bool read_seconds(const struct table *t, double *out, struct ss_error *error) {
  const char *text = cell_of(t, SECONDS);
  char *end;
  *out = strcmp(text, "N/A") == 0 ? NAN : strtod(text, &end);
  if (!isnan(*out) && (end == text || *end != '\0' || !(*out >= 0 && *out < 1e6)))
    return wrong(t, error, "expected seconds, from 0 to a million, not", text);
  return true;
}

static bool same_system(struct table *t, struct ss_error *error) {
  const char *system = cell_of(t, SYSTEM);
  if (t->system[0] == '\0') (void)snprintf(t->system, sizeof t->system, "%s", system);
  if (strncmp(t->system, system, sizeof t->system - 1) == 0) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %s, and above was %s: take one cluster (--where %s=%s)",
                 t->path, t->line, system, t->system, t->name[t->place[SYSTEM]], t->system);
}

static bool read_algorithm(const struct table *t, enum ss_collective collective, struct ss_observation *one,
                           struct ss_error *error) {
  const char *name = cell_of(t, ALGORITHM);
  one->supposed = name[0] == '\0' && collective < SS_SENDRECV;
  one->algorithm =
      name[0] ? ss_algorithm_of(collective, name) : ss_reading_supposes(t->reading, collective, one->mpi, error);
  if (one->algorithm) return true;
  return name[0] ? wrong(t, error, "no such algorithm can be played:", name) : false;
}

static bool read_row(struct table *t, struct ss_error *error) {
  uint64_t nodes, per_node = 1;
  struct ss_observation one = {.line = t->line, .mpi = t->place[LIBRARY] != SIZE_MAX};
  const size_t count = cut(t->row, t->cell);
  if (count == 1 && t->cell[0][0] == '\0') return true;
  if (count != t->columns)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %zu cells, where the head has %zu", t->path, t->line,
                   count == SIZE_MAX ? 0 : count, t->columns);
  if (!wanted(t)) return true;
  const enum ss_collective collective = ss_collective_of(cell_of(t, COLLECTIVE));
  if (collective == SS_COLLECTIVES) return wrong(t, error, "no collective that is known:", cell_of(t, COLLECTIVE));
  if (!same_system(t, error) || !read_algorithm(t, collective, &one, error) ||
      !read_count(t, NODES, 65536, &nodes, error) ||
      (t->place[PER_NODE] != SIZE_MAX && !read_count(t, PER_NODE, 1024, &per_node, error)) ||
      !read_count(t, BYTES, (uint64_t)1 << 50, &one.bytes, error) || !read_seconds(t, &one.seconds, error))
    return false;
  if (nodes * per_node < 2 || nodes * per_node > 65536)
    return wrong(t, error, "there must be 2 to 65536 ranks", NULL);
  one.nodes = (uint32_t)nodes;
  one.per_node = (uint32_t)per_node;
  return ss_observations_add(t->out, t->reading, (double)one.bytes, &one, error);
}

static bool read_lines(struct table *t, const struct ss_text *text, struct ss_error *error) {
  for (size_t at = 0; at < text->size;) {
    const char *end = memchr(text->bytes + at, '\n', text->size - at);
    const size_t length = end ? (size_t)(end - text->bytes) - at : text->size - at;
    t->line++;
    if (!copy_line(t, t->line == 1 ? t->head : t->row, text->bytes + at, length, error)) return false;
    if (t->line == 1 ? !read_heads(t, error) : !read_row(t, error)) return false;
    at += length + 1;
  }
  return true;
}

bool ss_table_of_times_read(const char *path, const struct ss_text *text, const struct ss_reading *reading,
                            struct ss_observations *out, struct ss_error *error) {
  SS_AUTO_FREE struct table *t = ss_alloc_zero(1, sizeof *t);
  SS_AUTO_FREE size_t *where = ss_alloc(reading->wheres, sizeof *where);
  if (!t || !where) return ss_fail_memory(error, "reading a table");
  t->path = path;
  t->reading = reading;
  t->out = out;
  t->where = where;
  return read_lines(t, text, error);
}
