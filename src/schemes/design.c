/* ZEN's design space (§2.2, Table 3): communication / aggregation / partition / balance / format, any point of it
 * that makes sense, as "design:p2p/incremental/parallel/balanced/coo".
 *
 *                       central                         parallel (push; then always a p2p pull of the union)
 * p2p                   direct all-gather               pairwise
 * ring one-shot         ring all-gather                 ring, tensors forwarded as they came
 * ring incremental      ring, sums forwarded            ring reduce-scatter
 * hierarchy one-shot    recursive doubling, unsummed    recursive halving, unsummed
 * hierarchy incremental recursive doubling of sums      recursive halving of sums */
#include "schemes/registry.h"

#include <string.h>

enum communication { P2P, RING, HIERARCHY };
enum aggregation { ONE_SHOT, INCREMENTAL };
enum partition { CENTRAL, PARALLEL };
enum balance { BALANCED, EVEN };
enum format { COO, BITMAP, BLOCK, HASH_BITMAP };
static const char *const communications[] = {"p2p", "ring", "hierarchy", NULL};
static const char *const aggregations[] = {"one-shot", "incremental", NULL};
static const char *const partitions[] = {"central", "parallel", NULL};
static const char *const balances[] = {"balanced", "even", NULL};
static const char *const formats[] = {"coo", "bitmap", "block", "hash-bitmap", NULL};
enum { POINTS = 5, NAME = 15 };
static const struct ss_option options[] = {
    {"communication", SS_OPTION_CHOICE, communications, 0, 0, P2P, "who sends to whom"},
    {"aggregation", SS_OPTION_CHOICE, aggregations, 0, 0, INCREMENTAL, "sums on the way, or once at the end"},
    {"partition", SS_OPTION_CHOICE, partitions, 0, 0, PARALLEL, "every rank sums all, or its part"},
    {"balance", SS_OPTION_CHOICE, balances, 0, 0, BALANCED, "parts by hashing, or even ranges"},
    {"format", SS_OPTION_CHOICE, formats, 0, 0, COO, "how sums travel (central: everything)"},
    {.name = NULL}};

/* "C/A/P/B/F", or "C/A/central/F". */
static bool parse(const char *rest, struct ss_setting *setting, struct ss_error *error) {
  const char *at = rest;
  for (int i = 0; i < POINTS; i++) {
    const size_t length = strcspn(at, "/");
    size_t choice = 0;
    if (i == 3 && setting->value[2] == CENTRAL) continue; /* nothing to balance */
    while (options[i].choices[choice] &&
           (strlen(options[i].choices[choice]) != length || strncmp(options[i].choices[choice], at, length) != 0))
      choice++;
    if (!options[i].choices[choice])
      return ss_fail(error, SS_BAD_INPUT,
                     "\"%.*s\" is no %s of the design space (say design:p2p/incremental/parallel/balanced/coo; "
                     "communication p2p, ring, hierarchy; aggregation one-shot, incremental; partition central, "
                     "parallel; balance, left out when central, balanced, even; format coo, bitmap, block, "
                     "hash-bitmap)",
                     (int)(length < NAME ? length : NAME), at, options[i].name);
    setting->value[i] = choice;
    setting->given[i] = true;
    at += length;
    if (i + 1 < POINTS && *at == '/') at++;
  }
  return !*at || ss_fail(error, SS_BAD_INPUT, "\"%.40s\" after the format: nothing more belongs there", at);
}

static struct ss_wire central_wire(const struct ss_run *run) {
  struct ss_wire wire = run->coo;
  wire.block = 256;
  if (ss_setting_value(run->setting, "format") == BITMAP) wire.format = SS_WIRE_BITMAP;
  if (ss_setting_value(run->setting, "format") == BLOCK) wire.format = SS_WIRE_BLOCK;
  return wire;
}

/* --- central: everybody sums all ------------------------------------------------------------------------- */

static bool gather_all(struct ss_run *run, enum communication how, const struct ss_wire *wire,
                       struct ss_error *error) {
  struct ss_gather gather;
  const struct ss_groups everyone = ss_everyone(run->ranks);
  if (!ss_gather_open(&gather, everyone, wire, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++) ss_gather_set(&gather, 0, r, &run->own[r]);
  bool ok = ss_announce_sizes(&run->play, &everyone, error) && ss_gather_seal(&run->play, &gather, error);
  if (ok && how == P2P) ok = ss_allgather_direct(&run->play, &gather, error);
  if (ok && how == RING) ok = ss_allgather_ring(&run->play, &gather, error);
  if (ok && how == HIERARCHY) ok = ss_allgather_doubling(&run->play, &gather, error);
  ok = ok && ss_run_gathered(run, &gather, error);
  ss_gather_close(&gather);
  return ok;
}

static bool pass_round(struct ss_run *run, const struct ss_wire *wire, struct ss_error *error) {
  struct ss_running sums;
  bool ok = ss_running_open(&run->play, wire, &(struct ss_operands){run->own, run->ranks, run->low, run->high}, &sums,
                            error) &&
            ss_running_ring(&sums, run->own, error);
  if (ok) ss_run_summed(run, &sums);
  ss_running_close(&sums);
  return ok;
}

/* --- parallel: an owner for every part -------------------------------------------------------------------- */

static bool run_parallel(struct ss_run *run, enum communication how, bool incremental, struct ss_error *error) {
  static const enum ss_pull_format pulls[] = {SS_PULL_COO, SS_PULL_BITMAP, SS_PULL_BLOCK, SS_PULL_HASH_BITMAP};
  const bool even = ss_setting_value(run->setting, "balance") == EVEN;
  struct ss_cut cut = {.balance = even ? SS_BALANCE_EVEN : SS_BALANCE_HASH,
                       .format = pulls[ss_setting_value(run->setting, "format")],
                       .seed = 1,
                       .block = 256};
  if (!ss_run_cut(run, &cut, error)) return false;
  bool ok = ss_owners_open(&run->play, &cut.owners, error);
  if (ok && how == P2P) ok = ss_owners_push(&cut.owners, error) && ss_owners_sum(&cut.owners, error);
  if (ok && how == RING) ok = ss_owners_push_ring(&cut.owners, incremental, error);
  if (ok && how == HIERARCHY) ok = ss_owners_push_halving(&cut.owners, incremental, error);
  ok = ok && ss_owners_pull(&cut.owners, error) && ss_run_pulled(run, &cut.owners, error);
  ss_owners_close(&cut.owners);
  return ok;
}

static bool run_design(struct ss_run *run, struct ss_error *error) {
  const enum communication how = (enum communication)ss_setting_value(run->setting, "communication");
  const bool incremental = ss_setting_value(run->setting, "aggregation") == INCREMENTAL;
  const struct ss_wire wire = central_wire(run);
  if (ss_setting_value(run->setting, "partition") == PARALLEL) return run_parallel(run, how, incremental, error);
  if (incremental && how == RING) return pass_round(run, &wire, error);
  if (incremental && how == HIERARCHY) return ss_run_doubling(run, &wire, error);
  return gather_all(run, how, &wire, error);
}

static bool check(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  const bool central = ss_setting_value(setting, "partition") == CENTRAL;
  const bool even = ss_setting_value(setting, "balance") == EVEN;
  (void)ranks;
  (void)nodes;
  if (central && ss_setting_given(setting, "balance"))
    return ss_fail(error, SS_BAD_INPUT, "%s: a central point has no parts to balance: leave the balance out",
                   setting->label);
  if (ss_setting_value(setting, "format") == HASH_BITMAP && (central || even))
    return ss_fail(
        error, SS_BAD_INPUT,
        "%s: a hash bitmap says which of a hashed part's rows come: it needs \"parallel\" and \"balanced\"",
        setting->label);
  return true;
}

static uint64_t parts(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  (void)nodes;
  return ss_setting_value(setting, "partition") == PARALLEL && ss_setting_value(setting, "balance") == EVEN ? ranks
                                                                                                            : 1;
}

const struct ss_scheme ss_scheme_design = {
    .name = "design",
    .summary = "A point of ZEN's design space: design:COMMUNICATION/AGGREGATION/PARTITION/BALANCE/FORMAT",
    .source = "ZEN §2.2, Table 3",
    .options = options,
    .lossless = true,
    .parse = parse,
    .check = check,
    .parts = parts,
    .counts_suffice = ss_counts_never_suffice,
    .run = run_design,
};
