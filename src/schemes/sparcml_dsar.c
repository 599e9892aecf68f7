/* SparCML's dynamic sparse all-reduce (Renggli et al. 2019): sparcml-split, in which an owner sends its sum dense
 * where that is smaller.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.080) + (1 +
 * 0.256) + (1 + 0.512) = 6.008 us; 4 rows of 16 + 4 bytes to each owner, then dense sums of 16 rows of 16 bytes:
 * one, then two. */
#include "schemes/run.h"
#include "schemes/scheme.h"

static bool run_dsar(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_SMALLER, .bruck = true};
  return ss_run_owners(run, &cut, error);
}

const struct ss_scheme ss_scheme_sparcml_dsar = {
    .name = "sparcml-dsar",
    .summary = "As sparcml-split, each owner sending its sum dense where that is smaller",
    .source = "Renggli et al. 2019 (SparCML, dynamic sparse all-reduce); SparDL Table 1 (TopkDSA)",
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .adapt = ss_part_for_every_rank,
    .run = run_dsar,
};
/* SPDX-License-Identifier: Apache-2.0 */
