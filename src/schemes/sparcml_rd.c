/* SparCML's recursive doubling of a running sparse sum = ZEN's Hierarchical Centralization (Renggli et al. 2019; ZEN
 * §2.4, Eq. 2). In round t ranks whose numbers differ in bit t exchange their sums so far. */
#include "schemes/cut.h"
#include "schemes/registry.h"

static bool run_sparcml_rd(struct ss_run *run, struct ss_error *error) {
  return ss_run_doubling(run, &run->coo, error);
}

const struct ss_scheme ss_scheme_sparcml_rd = {
    .name = "sparcml-rd",
    .summary = "Recursive doubling of the running sparse sum (Hierarchical Centralization)",
    .source = "Renggli et al. 2019 (SparCML); ZEN §2.4, Eq. 2",
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .run = run_sparcml_rd,
};
