/* ZEN's Balanced Parallelism (§2.3, §3): every row has one owner, chosen so that all own alike; ranks push their rows
 * to the owners (COO, pairwise), which sum; then all pull all sums, in the format chosen.
 *
 * balance: hash     h0(row), the same on every rank (§3.1)
 *          (hashing: Algorithm 1 or a stable partition finds the same parts, in its own time)
 *          even     ranges, as Sparse PS has them: what skew does to them is §2.3's point
 *          sorted   ranges that cut the union of one iteration evenly (§3.1's strawman), refreshed now and then
 * format: smallest  decided part by part, from counts that both ends know.
 * plan: auto        Eq. 1 against Eq. 2 on the first iterations, with sums as long as the format makes them; then
 * this or Hierarchical Centralization.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"balance": "even",
 * "format": "bitmap"}: 3*(1 + 0.080) + 3*(1 + 0.258) = 7.014 us; 4 rows of 16 + 4 bytes to each owner; 2 bytes of
 * bitmap and 16 rows of 16 bytes back. */
#include "schemes/run.h"
#include "schemes/scheme.h"

static const char *const formats[] = {"hash-bitmap", "coo", "bitmap", "block", "smallest", NULL};
static const char *const balances[] = {"hash", "even", "sorted", NULL};
enum { HIERARCHICAL = 1 };
static const char *const hashings[] = {"partition", "hierarchical", NULL};
enum plan { BALANCED, AUTO };
static const char *const plans[] = {"zen", "auto", NULL};
enum { FORMAT, BALANCE, REFRESH, SEED, PLAN, HASHING, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [FORMAT] = {"format", SS_OPTION_CHOICE, formats, 0, 0, SS_PULL_HASH_BITMAP, "how the sums travel", "all"},
    [BALANCE] = {"balance", SS_OPTION_CHOICE, balances, 0, 0, SS_BALANCE_HASH, "who owns a row", NULL},
    [REFRESH] = {"refresh", SS_OPTION_COUNT, NULL, 1, 1u << 30, 1000, "iterations that sorted boundaries last", NULL},
    [SEED] = {"seed", SS_OPTION_COUNT, NULL, 0, UINT64_C(1) << 53, 1, "of the hash", NULL},
    [PLAN] = {"plan", SS_OPTION_CHOICE, plans, 0, 0, BALANCED,
              "zen, or the cheaper of it and sparcml-rd after 5 iterations", NULL},
    [HASHING] = {"hashing", SS_OPTION_CHOICE, hashings, 2, 0, HIERARCHICAL,
                 "what sorts rows by their owner: ZEN's Algorithm 1, or a stable partition", NULL},
};

/* Iterations in which `plan: auto` watches. */
enum { WATCHED = 5 };

/* Kept from iteration to iteration. */
struct kept {
  double balanced, centralised; /* B that Eq. 1 and Eq. 2 move, added up over the watched iterations */
  struct ss_cut_state cut;
};

/* With the bytes of all sums as they were pulled. */
static bool run_balanced(struct ss_run *run, struct kept *kept, uint64_t *pulled, struct ss_error *error) {
  struct ss_cut cut = {.balance = (enum ss_balance)run->setting->value[BALANCE],
                       .format = (enum ss_pull_format)run->setting->value[FORMAT],
                       .seed = run->setting->value[SEED],
                       .hierarchical = run->setting->value[HASHING] == HIERARCHICAL,
                       .refresh = run->setting->value[REFRESH],
                       .block = 256,
                       .state = &kept->cut};
  if (!ss_run_owners(run, &cut, error)) return false;
  *pulled = 0;
  for (uint32_t j = 0; j < cut.owners.parts; j++) *pulled += ss_wire_bytes(&cut.pull, &cut.owners.aggregate[j]);
  return true;
}

/* --- plan: auto ----------------------------------------------------------------------------------------- */

/* Eq. 1: (n-1)/n (nnz + gamma(n) nnz), its second term as the sums were pulled. Eq. 2: the sum over i = 1..log2 n of
 * gamma(2^(i-1)) nnz, as lists. gamma(k) nnz is the union of the first k ranks. */
static bool watch(struct ss_run *run, struct kept *kept, uint64_t pulled, struct ss_error *error) {
  const double n = run->ranks;
  const struct ss_chunk row = {.count = 1, .width = run->input->width};
  const double entry = (double)ss_wire_bytes(&run->coo, &row);
  const uint64_t words = ss_run_words(run);
  SS_AUTO_FREE uint64_t *bits = ss_alloc_zero(words, sizeof *bits), *count = ss_alloc_zero(run->ranks, sizeof *count);
  if (!bits || !count) return ss_fail_memory(error, "counting what ranks share");
  for (uint32_t r = 0; r < run->ranks; r++)
    if (ss_run_resident(run, r)) count[r] = run->own[r].count;
  if (!ss_play_pool(run->play, count, run->ranks, SS_POOL_SUM, error)) return false;
  double nnz = 0;
  for (uint32_t r = 0; r < run->ranks; r++) nnz += (double)count[r] / n;
  kept->balanced += (n - 1) / n * (nnz * entry + (double)pulled);
  kept->centralised += nnz * entry; /* gamma(1) = 1, whichever rank comes first */
  for (uint32_t before = 0, k = 2; k < run->ranks; before = k, k *= 2) {
    const struct ss_operands own = {run->own, k, run->low, run->high};
    if (!ss_cut_add_rows(run->play, &own, before, bits, error)) return false;
    uint64_t all = 0;
    for (uint64_t w = 0; w < words; w++) all += (uint64_t)__builtin_popcountll(bits[w]);
    kept->centralised += (double)all * entry;
  }
  return true;
}

static bool run_zen(struct ss_run *run, struct ss_error *error) {
  struct kept *kept = run->state->own;
  const bool decides = run->setting->value[PLAN] == AUTO, watches = run->state->iteration < WATCHED;
  uint64_t pulled;
  if (decides && !watches && kept->centralised < kept->balanced) return ss_run_running(run, &run->coo, false, error);
  return run_balanced(run, kept, &pulled, error) && (!decides || !watches || watch(run, kept, pulled, error));
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  (void)layout;
  if (setting->given[REFRESH] && setting->value[BALANCE] != SS_BALANCE_SORTED)
    return ss_fail(error, SS_BAD_INPUT, "\"refresh\" belongs to balance \"sorted\"");
  if (setting->given[HASHING] && setting->value[BALANCE] != SS_BALANCE_HASH)
    return ss_fail(error, SS_BAD_INPUT, "\"hashing\" belongs to balance \"hash\"");
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  if (setting->value[BALANCE] == SS_BALANCE_EVEN) traits->parts = layout.ranks;
}

const struct ss_scheme ss_scheme_zen = {
    .name = "zen",
    .summary = "Balanced Parallelism: rows hashed to owners, sums pulled with a hash bitmap",
    .source = "ZEN §2.3, §3, Eq. 1, Algorithms 1 and 2",
    .options = options,
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .adapt = adapt,
    .state_size = sizeof(struct kept),
    .check = check,
    .run = run_zen,
};
/* SPDX-License-Identifier: Apache-2.0 */
