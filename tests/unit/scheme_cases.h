/* What the tests of schemes share: every setting of every scheme, enumerated from the option tables alone, and ragged
 * inputs. A scheme that registry.c comes to list is covered without a word here. */
#pragma once

#include "support.h"

#include "schemes/simulate.h"

/* --- settings ------------------------------------------------------------------------------------------- */

/* All combinations of one scheme's options, as an odometer. */
struct cases {
  const struct ss_scheme *scheme;
  struct ss_layout layout;
  enum ss_hierarchy hierarchy;
  bool brief; /* numbers have at most two values: the default and another */
  uint32_t place[SS_OPTIONS_MAX];
  bool begun, over;
  uint32_t refused; /* combinations that ss_setting_check turned down, each with a message */
};

static inline struct ss_layout flat_layout(uint32_t ranks) {
  return (struct ss_layout){.ranks = ranks, .nodes = ranks, .per_node = 1};
}

/* Value number `place` that the tests give an option; false when there is none. */
static inline bool case_value(const struct cases *c, const struct ss_option *option, uint32_t place, uint64_t *out,
                              double *real) {
  uint64_t counts[4] = {(uint64_t)option->default_value, 2, option->low, c->layout.ranks}, value;
  double reals[3] = {option->default_value, option->default_value / 2, (double)option->high};
  uint32_t n = 0;
  *out = 0;
  *real = option->default_value;
  switch (option->kind) {
  case SS_OPTION_CHOICE: *out = place; return option->choices[place] != NULL;
  case SS_OPTION_FLAG: *out = place; return place < 2;
  case SS_OPTION_REAL:
    if (place >= (c->brief ? 2 : COUNT(reals))) return false;
    *real = reals[place];
    return true;
  case SS_OPTION_COUNT:
    for (uint32_t i = 0; i < COUNT(counts); i++) {
      bool seen = false;
      value = counts[i];
      for (uint32_t k = 0; k < i; k++) seen = seen || counts[k] == value;
      if (seen || (i > 0 && (value < option->low || value > option->high))) continue;
      *out = value;
      if (n++ == place) return !c->brief || place < 2;
    }
    return false;
  }
  return false;
}

static inline bool cases_turn(struct cases *c) {
  for (uint32_t i = 0; c->scheme->options && c->scheme->options[i].name; i++) {
    uint64_t value;
    double real;
    assert_true(i < SS_OPTIONS_MAX);
    c->place[i]++;
    if (case_value(c, &c->scheme->options[i], c->place[i], &value, &real)) return true;
    c->place[i] = 0;
  }
  return false;
}

/* All schemes are, unless the variable SPARSYNC_TEST_SCHEME names one. */
static inline bool case_wanted(const struct ss_scheme *scheme) {
  const char *only = getenv("SPARSYNC_TEST_SCHEME");
  return !only || strcmp(only, scheme->name) == 0;
}

/* The next combination that the scheme accepts, with 4 bytes an index, by rows, sizes free. Options that are not at
 * their default count as given. */
static inline bool cases_next(struct cases *c, struct ss_setting *out) {
  while (!c->over && case_wanted(c->scheme)) {
    struct ss_error error = {.status = SS_OK};
    if (c->begun && !cases_turn(c)) break;
    c->begun = true;
    *out = (struct ss_setting){.scheme = c->scheme, .index_bytes = 4, .hierarchy = c->hierarchy};
    snprintf(out->label, sizeof out->label, "%s", c->scheme->name);
    for (uint32_t i = 0; c->scheme->options && c->scheme->options[i].name; i++) {
      const struct ss_option *o = &c->scheme->options[i];
      assert_true(case_value(c, o, c->place[i], &out->value[i], &out->real[i]));
      out->given[i] = o->kind == SS_OPTION_REAL ? out->real[i] < o->default_value || out->real[i] > o->default_value
                                                : out->value[i] != (uint64_t)o->default_value;
    }
    if (ss_setting_check(out, c->layout, &error)) return true;
    assert_int_equal(error.status, SS_BAD_INPUT);
    assert_non_null(strstr(error.text, out->label));
    assert_true(strlen(error.text) > strlen(out->label) + 10);
    c->refused++;
  }
  c->over = true;
  return false;
}

/* The setting in JSON's terms, as a scenario would have it. */
static inline void setting_of(const char *json, struct ss_setting *out) {
  struct ss_setting defaults = {.index_bytes = 4};
  struct ss_error error;
  struct ss_doc *doc;
  assert_true(ss_doc_parse("test", json, strlen(json), &doc, &error));
  if (!ss_setting_read(ss_doc_root(doc), &defaults, out, &error)) fail_msg("%s: %s", json, error.text);
  ss_doc_free(doc);
}

/* The setting in words, for failures. */
static inline const char *setting_text(const struct ss_setting *s, char *buffer, size_t size) {
  static const char *const ragged[] = {"", " broadcasts", " padded"};
  static const char *const hierarchies[] = {"", " shards", " leaders", " sparse shards"};
  int n = snprintf(buffer, size, "%s index_bytes %u%s%s%s%s", s->scheme->name, s->index_bytes,
                   s->element ? " by elements" : "", s->exchange_sizes ? " sizes exchanged" : "", ragged[s->ragged],
                   hierarchies[s->hierarchy]);
  for (uint32_t i = 0; s->scheme->options && s->scheme->options[i].name && n > 0 && (size_t)n < size; i++) {
    const struct ss_option *o = &s->scheme->options[i];
    if (o->kind == SS_OPTION_CHOICE)
      n += snprintf(buffer + n, size - (size_t)n, " %s %s", o->name, o->choices[s->value[i]]);
    else if (o->kind == SS_OPTION_REAL) n += snprintf(buffer + n, size - (size_t)n, " %s %g", o->name, s->real[i]);
    else n += snprintf(buffer + n, size - (size_t)n, " %s %llu", o->name, (unsigned long long)s->value[i]);
  }
  return buffer;
}

/* --- inputs --------------------------------------------------------------------------------------------- */

enum shape { SCATTERED, HOT, SOME_EMPTY, ONE_HAS_ALL, ALL_EMPTY, ALIKE, SHAPES };

static inline uint32_t shape_count(struct dice *dice, enum shape shape, uint32_t rank, uint32_t giver,
                                   uint32_t rows) {
  switch (shape) {
  case ONE_HAS_ALL: return rank == giver ? rows + dice_below(dice, rows) : 0;
  case ALL_EMPTY: return 0;
  case SOME_EMPTY: return dice_one_in(dice, 2) ? 0 : dice_below(dice, rows + 2);
  case ALIKE: return rows;
  default: return dice_below(dice, 2 * rows + 1);
  }
}

/* Looked-up row number i of a rank. */
static inline uint32_t shape_row(struct dice *dice, enum shape shape, uint32_t i, uint32_t rows) {
  switch (shape) {
  case HOT: return dice_below(dice, 1 + dice_below(dice, rows));
  case ONE_HAS_ALL: return i < rows ? rows - 1 - i : dice_below(dice, rows);
  case ALIKE: return i / 2 * 2 % rows;
  default: return dice_below(dice, rows);
  }
}

/* Bags of up to three lookups of each segment, as far as these go. Some have none: anywhere, at a segment's ends, or
 * all that a rank without lookups has. `out` is to be freed. */
static inline void cut_into_bags(struct dice dice, const uint64_t *offsets, uint32_t segments, struct ss_bags *out) {
  enum { EMPTY = 3 }; /* at most, one after the other */
  const uint64_t most = (EMPTY + 1) * (offsets[segments] + segments);
  uint64_t *first = calloc(segments + 1ull, sizeof *first), *bags = calloc(most + 1, sizeof *bags), n = 0;
  assert_non_null(first);
  assert_non_null(bags);
  for (uint32_t s = 0; s < segments; s++) {
    uint64_t at = offsets[s];
    for (bool over = false; !over; over = at == offsets[s + 1] && dice_one_in(&dice, 2)) {
      for (uint32_t empty = dice_one_in(&dice, 3) ? dice_below(&dice, EMPTY + 1) : 0; empty > 0; empty--)
        bags[++n] = at;
      if (at == offsets[s + 1]) break;
      const uint64_t end = at + dice_between(&dice, 1, 3);
      at = bags[++n] = end < offsets[s + 1] ? end : offsets[s + 1];
    }
    first[s + 1] = n;
  }
  assert_true(n <= most);
  *out = (struct ss_bags){first, bags};
}

/* A trace of that tensor, in which ranks look up rows in no order, some of them twice; some make bags. */
static inline struct ss_trace *ragged_iterations(struct dice *dice, enum shape shape, uint32_t iterations,
                                                 uint32_t ranks, struct ss_tensor tensor) {
  const uint32_t segments = iterations * ranks, rows = (uint32_t)tensor.rows;
  uint64_t *offsets = calloc(segments + 1, sizeof *offsets);
  uint32_t *ids = calloc(segments * 2ull * rows + 1, sizeof *ids), giver = dice_below(dice, ranks);
  struct ss_trace_content content = {
      .source = "test", .iterations = iterations, .ranks = ranks, .tensors = 1, .pad_id = -1};
  struct ss_trace *trace;
  struct ss_error error;
  struct ss_bags bags;
  assert_non_null(offsets);
  assert_non_null(ids);
  for (uint32_t s = 0; s < segments; s++) {
    uint32_t n = shape_count(dice, shape, s % ranks, giver, rows);
    offsets[s + 1] = offsets[s] + n;
    for (uint32_t i = 0; i < n; i++) ids[offsets[s] + i] = shape_row(dice, shape, i, rows);
  }
  tensor.name = "t";
  content.tensor = &tensor;
  content.offsets = (const uint64_t *const[]){offsets};
  content.rows = (const uint32_t *const[]){ids};
  cut_into_bags((struct dice){.seed = dice->seed + 1}, offsets, segments, &bags);
  content.bags = &bags;
  if (!ss_trace_build("ragged", &content, &trace, &error)) fail_msg("%s", error.text);
  free((void *)bags.first);
  free((void *)bags.offsets);
  free(offsets);
  free(ids);
  return trace;
}

static inline struct ss_trace *ragged_trace(struct dice *dice, enum shape shape, uint32_t ranks, uint32_t rows,
                                            uint32_t width, enum ss_dtype dtype) {
  return ragged_iterations(dice, shape, 1, ranks,
                           (struct ss_tensor){.rows = rows, .row_width = width, .dtype = dtype});
}

/* What a setting wants of an iteration of a trace. */
static inline struct ss_input iteration_input(const struct ss_trace *trace, uint64_t iteration, uint32_t merge,
                                              const struct ss_setting *setting, bool verify, struct ss_arena *arena) {
  struct ss_origin origin = {.trace = trace, .merge = merge};
  struct ss_input_options options = ss_setting_input_options(setting, ss_trace_ranks(trace) / merge, verify, false);
  struct ss_coalesce_scratch scratch = {0};
  struct ss_input input;
  struct ss_error error;
  options.iteration = iteration;
  if (!ss_input_make(&origin, &options, arena, &scratch, &input, &error)) fail_msg("%s", error.text);
  ss_coalesce_free(&scratch);
  return input;
}

static inline struct ss_input ragged_input(const struct ss_trace *trace, uint32_t merge,
                                           const struct ss_setting *setting, bool verify, struct ss_arena *arena) {
  return iteration_input(trace, 0, merge, setting, verify, arena);
}
/* SPDX-License-Identifier: Apache-2.0 */
