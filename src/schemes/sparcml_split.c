/* SparCML's split all-gather (Renggli et al. 2019): part j of every rank goes to rank j, which sums; then an
 * all-gather of the sums by Bruck. split sends the sums as COO; dsar sends an owner's part dense where that is
 * smaller. */
#include "schemes/registry.h"

static bool run_split(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_COO, .bruck = true};
  return ss_run_owners(run, &cut, error);
}

static bool run_dsar(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_SMALLER, .bruck = true};
  return ss_run_owners(run, &cut, error);
}

static uint64_t parts(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  (void)setting;
  (void)nodes;
  return ranks;
}

const struct ss_scheme ss_scheme_sparcml_split = {
    .name = "sparcml-split",
    .summary = "Parts to their owners pairwise, sums by Bruck's all-gather (COO)",
    .source = "Renggli et al. 2019 (SparCML); SparDL Table 1 (TopkDSA's low end)",
    .lossless = true,
    .parts = parts,
    .counts_suffice = ss_counts_never_suffice,
    .run = run_split,
};

const struct ss_scheme ss_scheme_sparcml_dsar = {
    .name = "sparcml-dsar",
    .summary = "As sparcml-split, each owner sending its sum dense where that is smaller",
    .source = "Renggli et al. 2019 (SparCML, dynamic sparse all-reduce); SparDL Table 1 (TopkDSA)",
    .lossless = true,
    .parts = parts,
    .counts_suffice = ss_counts_never_suffice,
    .run = run_dsar,
};
