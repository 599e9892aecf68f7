/* TopkDSA, a plain top-k baseline of SparDL's Table 1: every rank selects the k largest entries of its gradient and
 * old residual, and keeps the rest; the selections go through SparCML's dynamic sparse all-reduce (SparDL §1; Renggli
 * et al. 2019).
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"k": 64}: 3*(1 + 0.128) +
 * (1 + 0.256) + (1 + 0.512) = 6.152 us; 16 entries of 4 + 4 bytes to each owner, then dense sums of 64 entries of
 * 4 bytes: one, then two. */
#include "schemes/run.h"
#include "schemes/scheme.h"

enum { FOLDS = SS_K_OPTIONS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [SS_DENSITY] = SS_OPTION_DENSITY, [SS_K] = SS_OPTION_K, [FOLDS] = SS_OPTION_FOLDS};

static bool sum(struct ss_run *run, const struct ss_chunk *own, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_SMALLER, .own = own, .bruck = true};
  return ss_run_owners(run, &cut, error);
}

static bool sum_core(struct ss_run *core, void *context, struct ss_error *error) {
  (void)context;
  return sum(core, core->own, error);
}

static bool run_topkdsa(struct ss_run *run, struct ss_error *error) {
  struct ss_chunk *selected, *result;
  if (!ss_run_select_all(run, &selected, error)) return false;
  if (!ss_run_folds(run, FOLDS)) return sum(run, selected, error);
  if (!ss_take_zero(run->play->arena, result, run->ranks)) return ss_fail_memory(error, "folding ranks");
  if (!ss_run_folded(run, selected, sum_core, NULL, result, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++)
    if (ss_run_resident(run, r)) ss_run_sparse(run, r, &result[r], 0, NULL);
  return true;
}

const struct ss_scheme ss_scheme_topkdsa = {
    .name = "topkdsa",
    .summary = "Local top-k through SparCML's dynamic sparse all-reduce; the rest waits",
    .source = "SparDL §1, Table 1 (TopkDSA); Renggli et al. 2019",
    .options = options,
    .content = SS_SENDS_LARGEST,
    .traits = {.conserves = true},
    .run = run_topkdsa,
};
/* SPDX-License-Identifier: Apache-2.0 */
