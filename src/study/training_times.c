#include "study/training_times.h"

#include "base/file.h"
#include "base/suggest.h"
#include "base/units.h"

enum { LARGEST = 64 << 20, TIMES_MAX = 4096, TRAININGS_MAX = 256 };

const char *const ss_time_quantities[] = {"iteration", "speed", "compute", "stall", "communication", "hidden", NULL};

static const char *const heads[] = {"workload", "system", "cluster", "ranks",    "quantity", "value",
                                    "unit",     "of",     "reduce",  "scenario", "set",      "of_scenario",
                                    "of_set",   "claim",  "source",  NULL};
/* What people read, and nobody computes with. */
static const char *const remarks[] = {"paper", "where", "testbed", "read", "notes", NULL};

struct table {
  struct ss_csv csv;
  size_t column[SS_TIMES_COLUMNS];
  const char *const *where;
  size_t wheres;
  struct ss_training_times *out;
};

/* --- heads ---------------------------------------------------------------------------------------------------- */

static bool among(const char *word, const char *const *list) {
  while (*list && strcmp(*list, word) != 0) list++;
  return *list != NULL;
}

static bool read_heads(struct table *t, struct ss_error *error) {
  bool more;
  if (!ss_csv_head(&t->csv, &more, error)) return false;
  if (!more) return ss_fail(error, SS_BAD_INPUT, "%s: is empty", t->csv.name);
  if (ss_csv_column(&t->csv, "collective", strlen("collective")) != SIZE_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: has times of collectives: `sparsync calibrate network` takes them",
                   t->csv.name);
  for (size_t c = 0; c < t->csv.width; c++)
    if (!among(t->csv.head[c], heads) && !among(t->csv.head[c], remarks))
      return ss_fail(error, SS_BAD_INPUT, "%s: no column is called \"%s\"%s", t->csv.name, t->csv.head[c],
                     ss_suggest(t->csv.head[c], heads, "what is a remark goes into a column \"notes\"").text);
  for (int c = 0; c < SS_TIMES_COLUMNS; c++) {
    const bool needed = c <= SS_TIMES_SYSTEM || (c >= SS_TIMES_RANKS && c <= SS_TIMES_VALUE);
    t->column[c] = ss_csv_column(&t->csv, heads[c], strlen(heads[c]));
    if (needed && t->column[c] == SIZE_MAX)
      return ss_fail(error, SS_BAD_INPUT,
                     "%s: has no column \"%s\" (workload, system, cluster, ranks, quantity, value)", t->csv.name,
                     heads[c]);
  }
  if (t->column[SS_TIMES_CLUSTER] == SIZE_MAX && t->column[SS_TIMES_SCENARIO] == SIZE_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: has neither a column \"cluster\" nor \"scenario\"", t->csv.name);
  return true;
}

/* Is it asked for? */
static bool holds(const struct table *t, bool *out, struct ss_error *error) {
  *out = true;
  for (size_t i = 0; i < t->wheres; i++) {
    const char *equals = strchr(t->where[i], '=');
    const size_t column = equals ? ss_csv_column(&t->csv, t->where[i], (size_t)(equals - t->where[i])) : SIZE_MAX;
    if (column == SIZE_MAX)
      return ss_fail(error, SS_BAD_INPUT, "--where: \"%s\" is not COLUMN=VALUE of a column of %s", t->where[i],
                     t->csv.name);
    *out = *out && strcmp(ss_csv_text(&t->csv, column), equals + 1) == 0;
  }
  return true;
}

/* --- one number ------------------------------------------------------------------------------------------------ */

static bool wrong(const struct table *t, struct ss_error *error, const char *what, const char *text) {
  (void)ss_fail(error, SS_BAD_INPUT, "%s: \"%s\"", what, text);
  return ss_csv_fail(&t->csv, error);
}

static bool fail(const struct table *t, struct ss_error *error, const char *what) {
  (void)ss_fail(error, SS_BAD_INPUT, "%s", what);
  return ss_csv_fail(&t->csv, error);
}

static bool read_quantity(const struct table *t, const char *text, enum ss_time_quantity *out,
                          struct ss_error *error) {
  for (int q = 0; q < SS_TIME_QUANTITIES; q++)
    if (strcmp(text, ss_time_quantities[q]) == 0) {
      *out = (enum ss_time_quantity)q;
      return true;
    }
  return wrong(t, error, "the quantity is none of iteration, speed, compute, stall, communication, hidden", text);
}

/* "iteration" or the like is another quantity of the same system, else systems are named. */
static void read_of(struct ss_training_time *out) {
  const char *of = out->text[SS_TIMES_OF];
  out->of_quantity = out->quantity;
  for (int q = 0; q < SS_TIME_QUANTITIES; q++)
    if (strcmp(of, ss_time_quantities[q]) == 0) out->of_quantity = (enum ss_time_quantity)q;
}

double ss_time_ratio(enum ss_time_form form, double printed) {
  switch (form) {
  case SS_TIME_MORE: return 1 + printed / 100;
  case SS_TIME_LESS: return 1 - printed / 100;
  case SS_TIME_PERCENT: return printed / 100;
  default: return printed;
  }
}

/* A number with its unit behind it, or in a column of its own. */
static bool read_ratio(const struct table *t, struct ss_training_time *out, struct ss_error *error) {
  static const char *const units[] = {"", "times", "% more", "% less", "%"};
  char number[64], unit[32] = "";
  const char *text = out->text[SS_TIMES_VALUE];
  const size_t length = strspn(text, "+-.0123456789eE");
  if (length >= sizeof number) return wrong(t, error, "too long a number", text);
  (void)snprintf(number, sizeof number, "%.*s", (int)length, text);
  (void)snprintf(unit, sizeof unit, "%s", text + length + strspn(text + length, " "));
  if (!unit[0]) (void)snprintf(unit, sizeof unit, "%s", out->text[SS_TIMES_UNIT]);
  else if (out->text[SS_TIMES_UNIT][0]) return fail(t, error, "the value has a unit, and so has the column \"unit\"");
  double value;
  if (!ss_units_parse(number, SS_NUMBER, &value, error)) return ss_csv_fail(&t->csv, error);
  if (!unit[0]) return fail(t, error, "a ratio needs a unit: \"times\", \"% more\", \"% less\" or \"%\"");
  for (int f = SS_TIME_TIMES; f <= SS_TIME_PERCENT; f++)
    if (strcmp(unit, units[f]) == 0) {
      out->form = (enum ss_time_form)f;
      out->measured = ss_time_ratio(out->form, value);
      return true;
    }
  return wrong(t, error, "the unit of a ratio is none of times, % more, % less, %", unit);
}

static bool read_plain(const struct table *t, struct ss_training_time *out, struct ss_error *error) {
  char text[96];
  const char *unit = out->text[SS_TIMES_UNIT], *value = out->text[SS_TIMES_VALUE];
  out->form = SS_TIME_PLAIN;
  if ((size_t)snprintf(text, sizeof text, "%s%s", value, unit) >= sizeof text)
    return wrong(t, error, "too long a number", value);
  if (out->quantity == SS_TIME_SPEED)
    return fail(t, error, "a speed is a ratio of speeds: say of which system in the column \"of\"");
  if (out->quantity == SS_TIME_HIDDEN)
    return ss_units_parse(text, SS_RATIO, &out->measured, error) || ss_csv_fail(&t->csv, error);
  return ss_units_said(text, SS_TIME, &out->measured, error) || ss_csv_fail(&t->csv, error);
}

static bool read_reduce(const struct table *t, struct ss_training_time *out, struct ss_error *error) {
  const char *text = out->text[SS_TIMES_REDUCE];
  const bool several = strchr(out->text[SS_TIMES_WORKLOAD], '|') || strchr(out->text[SS_TIMES_RANKS], '|');
  out->reduce = strcmp(text, "least") == 0 ? SS_TIME_LEAST : strcmp(text, "most") == 0 ? SS_TIME_MOST : SS_TIME_ALONE;
  if (text[0] && out->reduce == SS_TIME_ALONE) return wrong(t, error, "\"reduce\" is least or most", text);
  if (several && out->reduce == SS_TIME_ALONE)
    return fail(t, error, "of several workloads or rank counts \"reduce\" says which the number is: least or most");
  return several || out->reduce == SS_TIME_ALONE ||
         fail(t, error, "\"reduce\" is for several workloads or rank counts");
}

/* All trainings that a number is the least or most of, or a ratio of. */
static bool check_alternatives(const struct table *t, const struct ss_training_time *one, struct ss_error *error) {
  static const enum ss_time_column listed[] = {SS_TIMES_WORKLOAD, SS_TIMES_SYSTEM, SS_TIMES_RANKS, SS_TIMES_OF};
  size_t all = 1;
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
    size_t words = 1;
    for (const char *at = one->text[listed[i]]; *at; at++) words += *at == '|';
    all *= words; /* of what was below the limit, and 64 MiB */
    if (all > TRAININGS_MAX)
      return fail(t, error, "stands for more than 256 trainings: workloads, systems, ranks and those of a ratio");
  }
  return true;
}

/* A number that stands there twice would count as two. */
static bool check_again(const struct table *t, const struct ss_training_time *one, struct ss_error *error) {
  for (size_t i = 0; i < t->out->count; i++) {
    bool same = true;
    for (int c = 0; c < SS_TIMES_CLAIM && same; c++)
      same = c == SS_TIMES_VALUE || c == SS_TIMES_UNIT || strcmp(t->out->time[i].text[c], one->text[c]) == 0;
    if (!same) continue;
    (void)ss_fail(error, SS_BAD_INPUT, "says again what line %" PRIu64 " says: of several times give the mean",
                  t->out->time[i].line);
    return ss_csv_fail(&t->csv, error);
  }
  return true;
}

static bool read_time(struct table *t, struct ss_error *error) {
  struct ss_training_times *all = t->out;
  struct ss_training_time one = {.line = t->csv.line};
  for (int c = 0; c < SS_TIMES_COLUMNS; c++) {
    one.text[c] = t->column[c] == SIZE_MAX ? "" : ss_arena_text(&all->arena, ss_csv_text(&t->csv, t->column[c]));
    if (!one.text[c]) return ss_fail_memory(error, "reading times");
  }
  if (!one.text[SS_TIMES_WORKLOAD][0]) {
    all->others++;
    return true;
  }
  if (!one.text[SS_TIMES_CLUSTER][0] && !one.text[SS_TIMES_SCENARIO][0]) return fail(t, error, "says no cluster");
  if (!read_quantity(t, one.text[SS_TIMES_QUANTITY], &one.quantity, error)) return false;
  read_of(&one);
  if (!read_reduce(t, &one, error) ||
      !(one.text[SS_TIMES_OF][0] ? read_ratio(t, &one, error) : read_plain(t, &one, error)))
    return false;
  if (!(one.measured > 0)) return wrong(t, error, "a time or ratio must be above 0", one.text[SS_TIMES_VALUE]);
  if (!check_alternatives(t, &one, error) || !check_again(t, &one, error)) return false;
  if (all->count == TIMES_MAX) return fail(t, error, "more than 4096 numbers");
  if (!ss_grow_by_one(all->time, all->count)) return ss_fail_memory(error, "reading times");
  all->time[all->count++] = one;
  return true;
}

static bool read_rows(struct table *t, struct ss_error *error) {
  bool more = true, asked;
  if (!read_heads(t, error)) return false;
  while (ss_csv_next(&t->csv, &more, error)) {
    if (!more) return true;
    if (!holds(t, &asked, error) || (asked && !read_time(t, error))) return false;
  }
  return false;
}

bool ss_training_times_read(const char *file, const char *const *where, size_t wheres, struct ss_training_times *out,
                            struct ss_error *error) {
  struct ss_mapping text;
  struct table t = {.where = where, .wheres = wheres, .out = out};
  *out = (struct ss_training_times){.file = file};
  if (!ss_map_file(file, &text, error)) return false;
  const bool ok = (text.size <= LARGEST || ss_fail(error, SS_BAD_INPUT, "%s: larger than 64 MiB", file)) &&
                  ss_csv_open_text(&t.csv, file, text.data, text.size, false, error) && read_rows(&t, error);
  ss_csv_close(&t.csv);
  ss_unmap_file(&text);
  if (!ok || out->count > 0) return ok;
  return ss_fail(error, SS_BAD_INPUT, wheres ? "%s: has no times of those asked for" : "%s: has no times", file);
}

void ss_training_times_free(struct ss_training_times *times) {
  ss_arena_free(&times->arena);
  free(times->time);
  *times = (struct ss_training_times){0};
}

/* --- as they are printed -----------------------------------------------------------------------------------------
 */

double ss_time_printed(enum ss_time_form form, double measured) {
  switch (form) {
  case SS_TIME_MORE: return 100 * (measured - 1);
  case SS_TIME_LESS: return 100 * (1 - measured);
  case SS_TIME_PERCENT: return 100 * measured;
  default: return measured;
  }
}

const char *ss_training_time_text(const struct ss_training_time *t, double measured, char *buffer, size_t size) {
  static const char *const units[] = {"", " times", "% more", "% less", "%"};
  if (t->form == SS_TIME_PLAIN && t->quantity != SS_TIME_HIDDEN)
    return ss_units_format(buffer, size, SS_TIME, measured);
  (void)snprintf(buffer, size, "%.3g%s", ss_time_printed(t->form, measured), units[t->form]);
  return buffer;
}
/* SPDX-License-Identifier: Apache-2.0 */
