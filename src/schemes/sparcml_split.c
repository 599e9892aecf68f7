/* SparCML's split all-gather (Renggli et al. 2019): part j of every rank goes to rank j, which sums; then an
 * all-gather of the sums by Bruck.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.080) + (1 +
 * 0.320) + (1 + 0.640) = 6.2 us; 4 rows of 16 + 4 bytes to each owner, then sums of 16 rows: one, then two. */
#include "schemes/run.h"
#include "schemes/scheme.h"

static bool run_split(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_COO, .bruck = true};
  return ss_run_owners(run, &cut, error);
}

const struct ss_scheme ss_scheme_sparcml_split = {
    .name = "sparcml-split",
    .summary = "Parts to their owners pairwise, sums by Bruck's all-gather (COO)",
    .source = "Renggli et al. 2019 (SparCML); SparDL Table 1 (TopkDSA's low end)",
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .adapt = ss_part_for_every_rank,
    .run = run_split,
};
/* SPDX-License-Identifier: Apache-2.0 */
