/* Who sends whom how many bytes under a setting, as docs/model.md says it: written out again from sets of rows alone.
 */
#ifndef SS_TESTS_SCHEME_TRAFFIC_H
#define SS_TESTS_SCHEME_TRAFFIC_H

#include "support.h"

#include "schemes/simulate.h"

enum { MOST_RANKS = 64, MOST_ENDS = 3 * MOST_RANKS };

/* --- what ranks look up, obviously ----------------------------------------------------------------------- */

/* n[rank * rows + row]: how often the rank looked the row up. */
struct truth {
  uint32_t ranks, rows, width, value_bytes;
  uint32_t first; /* the number that row 0 has in the whole tensor */
  uint32_t *n;
  const struct ss_trace *trace; /* what it is of; it outlives this: */
  uint64_t iteration;
  uint32_t merge;
};
struct truth truth_of(const struct ss_trace *trace, uint64_t iteration, uint32_t merge, bool element);

/* Rows of [low, high) that the rank has: distinct ones, or all lookups. */
uint64_t rows_in(const struct truth *t, uint32_t rank, uint64_t low, uint64_t high, bool lookups);
/* Bags of the rank with a lookup of [low, high); all of them, if padded. */
uint64_t bags_in(const struct truth *t, uint32_t rank, uint64_t low, uint64_t high, bool padded);
uint64_t union_in(const struct truth *t, uint64_t low, uint64_t high);
/* floor(n * j / p) */
uint64_t cut(uint64_t n, uint32_t p, uint32_t j);

/* --- definitions ----------------------------------------------------------------------------------------- */

/* Endpoints are ranks, then servers. */
struct traffic {
  uint32_t ranks;
  uint64_t messages, sent[MOST_ENDS], received[MOST_ENDS];
};

/* The choice has that value. */
bool chosen(const struct ss_setting *setting, const char *option, const char *value);
/* False for a scheme that has no definition here. Without a hierarchy; `nodes` have ranks. */
bool define_flat(struct traffic *traffic, const struct truth *truth, const struct ss_setting *setting,
                 uint32_t nodes);
/* With or without. */
bool define(struct traffic *traffic, const struct truth *truth, const struct ss_setting *setting,
            struct ss_layout layout);

/* ZEN in an iteration whose sorted boundaries were found on `found`. */
void define_zen(struct traffic *t, const struct truth *a, const struct truth *found, const struct ss_setting *s);

/* The outcome, with bytes by rank, has just those bytes. */
void check_traffic(const struct traffic *traffic, const struct ss_outcome *outcome, const char *words);

#endif
