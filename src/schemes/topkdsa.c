/* TopkDSA, a plain top-k baseline of SparDL's Table 1: every rank selects the k largest entries of its gradient and
 * old residual, and keeps the rest; the selections go through SparCML's dynamic sparse all-reduce (SparDL §1; Renggli
 * et al. 2019). */
#include "schemes/cut.h"
#include "schemes/registry.h"
#include "schemes/residual.h"

static const struct ss_option options[SS_K_OPTIONS + 1] = {[SS_DENSITY] = SS_OPTION_DENSITY, [SS_K] = SS_OPTION_K};

static bool run_topkdsa(struct ss_run *run, struct ss_error *error) {
  struct ss_chunk *selected;
  if (!ss_run_select_all(run, &selected, error)) return false;
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_SMALLER, .own = selected, .bruck = true};
  return ss_run_owners(run, &cut, error);
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
