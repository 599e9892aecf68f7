/* SparCML's recursive doubling of a running sparse sum = ZEN's Hierarchical Centralization (Renggli et al. 2019; ZEN
 * §2.4, Eq. 2). In round t ranks whose numbers differ in bit t exchange their sums so far. */
#include "schemes/registry.h"

static bool run_sparcml_rd(struct ss_run *run, struct ss_error *error) {
  struct ss_running sums;
  bool ok = ss_running_open(&run->play, &run->coo, run->low, run->high, run->own, &sums, error) &&
            ss_running_doubling(&sums, error);
  for (uint32_t r = 0; ok && ss_run_reports(run) && r < run->ranks; r++)
    if (ss_run_resident(run, r)) ss_run_sparse(run, r, &sums.held[r], 0, NULL);
  ss_running_close(&sums);
  return ok;
}

static bool never(const struct ss_setting *setting, const struct ss_input *input) {
  (void)setting;
  (void)input;
  return false;
}

const struct ss_scheme ss_scheme_sparcml_rd = {
    .name = "sparcml-rd",
    .summary = "Recursive doubling of the running sparse sum (Hierarchical Centralization)",
    .source = "Renggli et al. 2019 (SparCML); ZEN §2.4, Eq. 2",
    .lossless = true,
    .counts_suffice = never,
    .run = run_sparcml_rd,
};
