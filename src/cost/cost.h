/* Cost models: the closed forms of models/costs, and which of them a setting has. */
#ifndef SS_COST_COST_H
#define SS_COST_COST_H

#include "base/json.h"
#include "cost/formula.h"
#include "schemes/scheme.h"

struct ss_cost {
  const char *file;
  const struct ss_scheme *scheme;
  const char *exact;                          /* what the schedule gives under `assumes`; NULL: none */
  const char *paper, *paper_low, *paper_high; /* as printed; NULL: none */
  const char *printed_in, *assumes, *erratum; /* NULL: none */
  struct ss_node when, grid;
};

/* All of models/costs, or the given files (paths or names). Strings live as long as the set. */
struct ss_costs {
  struct ss_cost *cost;
  size_t count;
  struct ss_doc **doc;
};
bool ss_costs_open(const char *const *files, size_t count, struct ss_costs *out,
                   struct ss_error *error) SS_MUST_CHECK;
void ss_costs_close(struct ss_costs *costs);

/* The first cost whose `when` (options, "granularity", "sizes") the setting meets; NULL: the scheme has no closed
 * form for it. */
const struct ss_cost *ss_costs_find(const struct ss_costs *costs, const struct ss_setting *setting);

/* The cost's scheme with the options of its `when`, and over them those of `options` (absent: none). */
bool ss_cost_setting(const struct ss_cost *cost, struct ss_node options, struct ss_setting *out,
                     struct ss_error *error) SS_MUST_CHECK;

/* Values of a cost's forms, NaN where it has none. */
struct ss_cost_values {
  double exact, paper, paper_low, paper_high;
};
bool ss_cost_evaluate(const struct ss_cost *cost, const struct ss_symbols *symbols, struct ss_cost_values *out,
                      struct ss_error *error) SS_MUST_CHECK;

#endif
