/* OmniReduce (Fei et al. 2021, as ZEN §2.4 describes it): even ranges; every rank pushes its non-zero blocks to the
 * aggregators, which sum and push the union's blocks to all. The aggregators are the ranks themselves, pairwise; or
 * `aggregators` endpoints of their own, with fan-in and fan-out. */
#include "schemes/registry.h"

static const struct ss_option options[] = {
    {"block", SS_OPTION_COUNT, NULL, 1, 1u << 20, 256, "elements of a block"},
    {"aggregators", SS_OPTION_COUNT, NULL, 1, 1u << 20, 0, "endpoints that aggregate (default: the ranks)"},
    {.name = NULL}};

static bool run_omnireduce(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN,
                       .format = SS_PULL_BLOCK,
                       .block = (uint32_t)ss_setting_value(run->setting, "block"),
                       .servers = run->servers};
  return ss_run_owners(run, &cut, error);
}

static uint32_t servers_of(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  (void)ranks;
  (void)nodes;
  return (uint32_t)ss_setting_value(setting, "aggregators");
}

static uint64_t parts(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  uint32_t servers = servers_of(setting, ranks, nodes);
  return servers ? servers : ranks;
}

static bool check(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  uint32_t servers = servers_of(setting, ranks, nodes);
  if (servers <= ranks) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: %u aggregators for %u ranks: at most as many as ranks", setting->label,
                 servers, ranks);
}

const struct ss_scheme ss_scheme_omnireduce = {
    .name = "omnireduce",
    .summary = "Non-zero blocks to aggregators of even ranges, the union's blocks back",
    .source = "Fei et al. 2021 (OmniReduce); ZEN §2.4",
    .options = options,
    .lossless = true,
    .check = check,
    .servers = servers_of,
    .parts = parts,
    .counts_suffice = ss_counts_never_suffice,
    .run = run_omnireduce,
};
