/* Cost models: the closed forms of models/costs, and which of them a setting has. */
#pragma once

#include "base/json.h"
#include "base/notice.h"
#include "cost/formula.h"
#include "schemes/scheme.h"

/* Who sends to whom, for what nodes and cards make of a form. */
enum ss_pattern { SS_PATTERN_RING, SS_PATTERN_EXCHANGE, SS_PATTERN_DOUBLING, SS_PATTERN_SERVERS, SS_PATTERN_NONE };

struct ss_cost {
  const char *file;
  const struct ss_scheme *scheme;
  const char *where;                          /* must not be zero where the form holds; NULL: everywhere */
  const char *exact;                          /* what the schedule gives under `assumes`; NULL: none */
  const char *exact_low, *exact_high;         /* between which it lies; both or neither */
  const char *paper, *paper_low, *paper_high; /* as printed; NULL: none */
  const char *printed_in, *assumes, *erratum; /* NULL: none */
  enum ss_pattern pattern;
  const char *broadcasts; /* in place of `exact` where gathers go as groups of broadcasts; NULL: not known */
  struct ss_node when, grid, steps;
  bool exchanged; /* `exact` and its bounds hold where sizes go first, and lengths travel so */
  enum ss_ragged ragged;
  const struct ss_cost *told_of; /* the same with sizes known, where they are exchanged */
  const struct ss_cost *way;     /* [SS_COST_WAYS] the form in all of them; NULL: none but the first is known */
};
enum { SS_COST_WAYS = 6 };

extern const struct ss_object_spec ss_cost_fields; /* of a file of models/costs */

/* All of models/costs that this program can read, or the given files (paths or names), each of which it must. Strings
 * live as long as the set. */
struct ss_costs {
  struct ss_cost *cost;
  size_t count;
  struct ss_doc **doc;
  struct ss_arena arena;    /* of the ways */
  struct ss_error left_out; /* why the first file of the folder that this program cannot read is not among them; text
                               "": all are */
};
bool ss_costs_open(const char *const *files, size_t count, struct ss_costs *out,
                   struct ss_error *error) SS_MUST_CHECK;
/* Tells which file was left out, if one was. */
void ss_costs_tell(const struct ss_costs *costs, const struct ss_notice *notice);
void ss_costs_close(struct ss_costs *costs);

/* "zen-coo" of ".../zen-coo.json" */
void ss_cost_form_name(const struct ss_cost *cost, char *out, size_t size);
/* The first cost whose `when` (options, "granularity", "sizes"; of a list, any) the setting meets, and whose `where`
 * holds for so many ranks and servers, as lengths travel there; NULL: the scheme has no closed form for it. */
const struct ss_cost *ss_costs_find(const struct ss_costs *costs, const struct ss_setting *setting, uint32_t ranks,
                                    uint32_t servers);
/* The names of building blocks in `steps`; NULL ends them. */
extern const char *const ss_cost_steps[];
/* Derives the form of every way from `steps` and `broadcasts`. */
bool ss_cost_add_ways(struct ss_cost *cost, struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* The form of one way; NULL: it is not known. */
const struct ss_cost *ss_cost_way(const struct ss_cost *cost, bool exchanged, enum ss_ragged ragged);
/* `where` of the cost, which may use P, L, Q, q, f, S and what the setting says. */
bool ss_cost_holds(const struct ss_cost *cost, const struct ss_setting *setting, uint32_t ranks, uint32_t servers,
                   bool *out, struct ss_error *error) SS_MUST_CHECK;
/* The elements of the blocks that the cost's forms count; 0: they count none. */
uint32_t ss_cost_block(const struct ss_cost *cost, const struct ss_setting *setting);

/* The cost's scheme with the options of its `when`, and over them those of `options` (absent: none). */
bool ss_cost_setting(const struct ss_cost *cost, struct ss_node options, struct ss_setting *out,
                     struct ss_error *error) SS_MUST_CHECK;

/* The symbols that follow from the setting: index_bytes, k, D, b, c and r. R, w and nnz are known. */
void ss_setting_symbols(const struct ss_setting *setting, struct ss_symbols *symbols);

/* Values of a cost's forms, NaN where it has none. A low bound above the high one is an error. */
struct ss_cost_values {
  double exact, exact_low, exact_high, paper, paper_low, paper_high;
};
bool ss_cost_evaluate(const struct ss_cost *cost, const struct ss_symbols *symbols, struct ss_cost_values *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
