/* The two plain top-k baselines of SparDL's Table 1: every rank selects the k largest entries of its gradient and old
 * residual, and keeps the rest.
 *
 * topka     all-gather of the selections by recursive doubling (SparDL §1, TopkA)
 * topkdsa   the selections through SparCML's dynamic sparse all-reduce (SparDL §1, TopkDSA; Renggli et al. 2019) */
#include "schemes/registry.h"

static const struct ss_option options[] = {SS_OPTION_DENSITY, SS_OPTION_K, {.name = NULL}};

/* What every rank selects; it keeps the rest. */
static bool select_all(struct ss_run *run, struct ss_chunk **out, struct ss_error *error) {
  const uint64_t k = ss_run_k(run);
  struct ss_chunk *selected = ss_arena_alloc(run->play.arena, run->ranks, sizeof *selected), copy;
  if (!selected) return ss_fail_memory(error, "selecting entries");
  for (uint32_t r = 0; r < run->ranks; r++)
    if (!ss_run_select(run, r, k, &copy, &selected[r], error) ||
        !ss_run_keep_without(run, r, &copy, &selected[r], error))
      return false;
  *out = selected;
  return true;
}

static bool run_topka(struct ss_run *run, struct ss_error *error) {
  const struct ss_groups everyone = ss_everyone(run->ranks);
  struct ss_chunk *selected;
  struct ss_gather gather;
  if (!select_all(run, &selected, error) || !ss_gather_open(&gather, everyone, &run->coo, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++) ss_gather_set(&gather, 0, r, &selected[r]);
  bool ok = ss_announce_sizes(&run->play, &everyone, error) && ss_gather_seal(&run->play, &gather, error) &&
            ss_allgather_doubling(&run->play, &gather, error);
  ok = ok && ss_run_gathered(run, &gather, error);
  ss_gather_close(&gather);
  return ok;
}

static bool run_topkdsa(struct ss_run *run, struct ss_error *error) {
  struct ss_chunk *selected;
  if (!select_all(run, &selected, error)) return false;
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN, .format = SS_PULL_SMALLER, .own = selected, .bruck = true};
  return ss_run_owners(run, &cut, error);
}

const struct ss_scheme ss_scheme_topka = {
    .name = "topka",
    .summary = "Local top-k, all-gathered by recursive doubling; the rest waits",
    .source = "SparDL §1, Table 1 (TopkA)",
    .options = options,
    .valued = true,
    .by_elements = true,
    .conserves = ss_conserves_always,
    .check = ss_check_k,
    .run = run_topka,
};

const struct ss_scheme ss_scheme_topkdsa = {
    .name = "topkdsa",
    .summary = "Local top-k through SparCML's dynamic sparse all-reduce; the rest waits",
    .source = "SparDL §1, Table 1 (TopkDSA); Renggli et al. 2019",
    .options = options,
    .valued = true,
    .by_elements = true,
    .conserves = ss_conserves_always,
    .check = ss_check_k,
    .run = run_topkdsa,
};
