/* OmniReduce (Fei et al. 2021, as ZEN §2.4 describes it): even ranges; every rank pushes its non-zero blocks to the
 * aggregators, which sum and push the union's blocks to all. The aggregators are the ranks themselves, pairwise; or
 * `aggregators` endpoints of their own, with fan-in and fan-out.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"block": 4}: 3*(1 +
 * 0.080) + 3*(1 + 0.320) = 7.2 us; blocks are rows, of 16 + 4 bytes: 4 to each owner, the 16 of each sum back. */
#include "schemes/run.h"
#include "schemes/scheme.h"

enum { BLOCK, AGGREGATORS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [BLOCK] = {"block", SS_OPTION_COUNT, NULL, 1, 1u << 20, 256, "elements of a block"},
    [AGGREGATORS] = {"aggregators", SS_OPTION_COUNT, NULL, 1, 1u << 20, 0,
                     "endpoints that aggregate (default: the ranks)"},
};

static bool run_omnireduce(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN,
                       .format = SS_PULL_BLOCK,
                       .block = (uint32_t)run->setting->value[BLOCK],
                       .servers = run->servers};
  return ss_run_owners(run, &cut, error);
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->servers = (uint32_t)setting->value[AGGREGATORS];
  traits->parts = traits->servers ? traits->servers : layout.ranks;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t servers = (uint32_t)setting->value[AGGREGATORS];
  if (servers <= layout.ranks) return true;
  return ss_fail(error, SS_BAD_INPUT, "%u aggregators for %u ranks: at most as many as ranks", servers, layout.ranks);
}

static const struct ss_offered offered[] = {
    {.offer = {"OmniReduce", "gloo of PyTorch 1.7.1 built with its patch; one GPU a machine",
               "https://github.com/sands-lab/omnireduce/tree/master/omnireduce-RDMA/frameworks_integration/"
               "pytorch_patch"}},
    {.option = NULL}};

const struct ss_scheme ss_scheme_omnireduce = {
    .name = "omnireduce",
    .summary = "Non-zero blocks to aggregators of even ranges, the union's blocks back",
    .source = "Fei et al. 2021 (OmniReduce); ZEN §2.4",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .adapt = adapt,
    .check = check,
    .run = run_omnireduce,
};
/* SPDX-License-Identifier: Apache-2.0 */
