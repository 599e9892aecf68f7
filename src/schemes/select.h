/* Sparsifying gradients before a scheme sees them ("select"): the largest entries of every rank, as Deep Gradient
 * Compression takes them, or its largest blocks, as S2 does (§2.2), with error feedback.
 *
 * A selector belongs to one point of a scenario and remembers every rank's residual from iteration to iteration. */
#pragma once

#include "base/fields.h"
#include "schemes/input.h"
#include "sim/state.h"

struct ss_selection {
  bool selects;   /* false: all of the gradient */
  bool residual;  /* what was not selected is added next time */
  double density; /* share of entries (or blocks) that are kept, when k is 0 */
  uint64_t k;     /* entries that are kept */
  uint32_t block; /* elements of a block; 0: single entries */
  double momentum,
      sample;       /* DGC's momentum correction, 0: none; share of the elements a threshold is found from, 0: all */
  uint64_t warm_up; /* iterations until `density` holds */
};

/* {"topk": share}, {"k": entries} or {"blocks": share, "block": elements}, each with "residual" (true). Of entries
 * also "momentum", "sample" and "warm_up", as Deep Gradient Compression has them (Lin et al. 2018, sections 3 and 4).
 */
extern const struct ss_object_spec ss_selection_fields;
bool ss_selection_read(struct ss_node node, struct ss_selection *out, struct ss_error *error) SS_MUST_CHECK;

struct ss_selector {
  struct ss_selection selection;
  struct ss_state state;    /* of what was not selected */
  struct ss_state *scheme;  /* whose residuals are selected from, too, and taken away; NULL: it adds them by itself */
  struct ss_state velocity; /* and with momentum, the velocities of it */
  uint64_t k;               /* entries of the last iteration, or blocks */
  struct ss_sum_scratch scratch;
  uint64_t elements, blocks; /* of the tensor */
  double energy; /* of the last iteration: of the sum of what was selected, against that of all there was */
};

/* The tensor as a scheme sees it, of `shape` by elements: unchanged; or rows of the block's length, the last one
 * padded, and with `element` their elements. */
void ss_selection_shape(const struct ss_selection *selection, bool element, struct ss_input *shape);
uint64_t ss_selection_k(const struct ss_selection *selection, uint64_t entries);

/* A zeroed struct with `selection` set is ready. Replaces what the ranks of `input` have (by elements, with values)
 * by what they select (blocks: as rows, or with `element` as elements); arrays are `arena`'s. */
bool ss_selector_apply(struct ss_selector *selector, bool element, struct ss_input *input, struct ss_arena *arena,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_selector_free(struct ss_selector *selector);
/* SPDX-License-Identifier: Apache-2.0 */
