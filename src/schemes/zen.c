/* ZEN's Balanced Parallelism (§2.3, §3): every row has one owner, chosen so that all own alike; ranks push their rows
 * to the owners (COO, pairwise), which sum; then all pull all sums, in the format chosen.
 *
 * balance: hash     h0(row), the same on every rank (§3.1)
 *          even     ranges, as Sparse PS has them: what skew does to them is §2.3's point
 *          sorted   ranges that cut the union of one iteration evenly (§3.1's strawman), refreshed now and then
 * plan: auto        Eq. 1 against Eq. 2 on the first iterations, then this or Hierarchical Centralization. */
#include "schemes/registry.h"

#include <math.h>

static const char *const formats[] = {"hash-bitmap", "coo", "bitmap", "block", NULL};
static const char *const balances[] = {"hash", "even", "sorted", NULL};
static const char *const plans[] = {"zen", "auto", NULL};
static const struct ss_option options[] = {
    {"format", SS_OPTION_CHOICE, formats, 0, 0, SS_PULL_HASH_BITMAP, "how the sums travel"},
    {"balance", SS_OPTION_CHOICE, balances, 0, 0, SS_BALANCE_HASH, "who owns a row"},
    {"refresh", SS_OPTION_COUNT, NULL, 1, 1u << 30, 1000, "iterations that sorted boundaries last"},
    {"seed", SS_OPTION_COUNT, NULL, 0, UINT64_C(1) << 53, 1, "of the hash"},
    {"plan", SS_OPTION_CHOICE, plans, 0, 0, 0, "zen, or the cheaper of it and sparcml-rd after 5 iterations"},
    {.name = NULL}};

/* Iterations in which `plan: auto` watches. */
enum { WATCHED = 5 };

static bool run_balanced(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = (enum ss_balance)ss_setting_value(run->setting, "balance"),
                       .format = (enum ss_pull_format)ss_setting_value(run->setting, "format"),
                       .seed = ss_setting_value(run->setting, "seed"),
                       .refresh = ss_setting_value(run->setting, "refresh"),
                       .block = 256};
  return ss_run_owners(run, &cut, error);
}

/* --- plan: auto ----------------------------------------------------------------------------------------- */

/* Rows that Eq. 1 and Eq. 2 move, added up over the watched iterations: places in the memory's numbers. */
enum { BALANCED, CENTRALISED };

/* Eq. 1: (n-1)/n (1 + gamma(n)) nnz. Eq. 2: the sum over i = 1..log2 n of gamma(2^(i-1)) nnz. gamma(k) nnz is the
 * union of the first k ranks. */
static bool watch(struct ss_run *run, double *moved, struct ss_error *error) {
  const double n = run->ranks;
  const uint64_t words = ss_run_words(run);
  SS_AUTO_FREE uint64_t *bits = ss_alloc_zero(words, sizeof *bits), *count = ss_alloc_zero(run->ranks, sizeof *count);
  if (!bits || !count) return ss_fail_memory(error, "counting what ranks share");
  for (uint32_t r = 0; r < run->ranks; r++)
    if (ss_run_resident(run, r)) count[r] = run->own[r].count;
  if (!ss_play_pool(&run->play, count, run->ranks, SS_POOL_SUM, error)) return false;
  double nnz = 0;
  for (uint32_t r = 0; r < run->ranks; r++) nnz += (double)count[r] / n;
  moved[CENTRALISED] += nnz; /* gamma(1) = 1, whichever rank comes first */
  for (uint32_t before = 0, k = 2; before < run->ranks; before = k, k *= 2) {
    const uint32_t upto = k < run->ranks ? k : run->ranks;
    if (!ss_run_add_rows(run, before, upto, bits, error)) return false;
    uint64_t all = 0;
    for (uint64_t w = 0; w < words; w++) all += (uint64_t)__builtin_popcountll(bits[w]);
    if (upto < run->ranks) moved[CENTRALISED] += (double)all;
    else moved[BALANCED] += (n - 1) / n * (nnz + (double)all);
  }
  return true;
}

static bool run_zen(struct ss_run *run, struct ss_error *error) {
  if (ss_setting_value(run->setting, "plan") == 0) return run_balanced(run, error);
  double *moved = run->memory->number;
  if (run->memory->iteration < WATCHED) return watch(run, moved, error) && run_balanced(run, error);
  return moved[CENTRALISED] < moved[BALANCED] ? ss_run_doubling(run, &run->coo, error) : run_balanced(run, error);
}

static bool check(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  (void)ranks;
  (void)nodes;
  if (ss_setting_given(setting, "refresh") && ss_setting_value(setting, "balance") != SS_BALANCE_SORTED)
    return ss_fail(error, SS_BAD_INPUT, "%s: \"refresh\" belongs to balance \"sorted\"", setting->label);
  return true;
}

static uint64_t parts(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  (void)nodes;
  return ss_setting_value(setting, "balance") == SS_BALANCE_EVEN ? ranks : 1;
}

const struct ss_scheme ss_scheme_zen = {
    .name = "zen",
    .summary = "Balanced Parallelism: rows hashed to owners, sums pulled with a hash bitmap",
    .source = "ZEN §2.3, §3, Eq. 1, Algorithms 1 and 2",
    .options = options,
    .lossless = true,
    .check = check,
    .parts = parts,
    .counts_suffice = ss_counts_never_suffice,
    .run = run_zen,
};
