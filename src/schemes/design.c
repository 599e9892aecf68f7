/* ZEN's design space (§2.2, Table 3): communication / aggregation / partition / balance / format, any point of it
 * that makes sense, as "design:p2p/incremental/parallel/balanced/coo".
 *
 *                       central                         parallel (push; then always a p2p pull of the union)
 * p2p                   direct all-gather               pairwise
 * ring one-shot         ring all-gather                 ring, tensors forwarded as they came
 * ring incremental      ring, sums forwarded            ring reduce-scatter
 * hierarchy one-shot    recursive doubling, unsummed    recursive halving, unsummed
 * hierarchy incremental recursive doubling of sums      recursive halving of sums
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"partition": "central",
 * "aggregation": "one-shot"}: 3*(1 + 0.320) = 3.96 us; three messages of 16 rows of 16 + 4 bytes. */
#include "schemes/run.h"
#include "schemes/scheme.h"

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
enum { NAME = 15 };
enum { COMMUNICATION, AGGREGATION, PARTITION, BALANCE, FORMAT, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [COMMUNICATION] = {"communication", SS_OPTION_CHOICE, communications, 0, 0, P2P, "who sends to whom"},
    [AGGREGATION] = {"aggregation", SS_OPTION_CHOICE, aggregations, 0, 0, INCREMENTAL,
                     "sums on the way, or once at the end"},
    [PARTITION] = {"partition", SS_OPTION_CHOICE, partitions, 0, 0, PARALLEL, "every rank sums all, or its part"},
    [BALANCE] = {"balance", SS_OPTION_CHOICE, balances, 0, 0, BALANCED, "parts by hashing, or even ranges"},
    [FORMAT] = {"format", SS_OPTION_CHOICE, formats, 0, 0, COO, "how sums travel (central: everything)"},
};

/* "C/A/P/B/F", or "C/A/central/F". */
static bool parse(const char *rest, struct ss_setting *setting, struct ss_error *error) {
  const char *at = rest;
  for (int i = 0; i < OPTIONS; i++) {
    const size_t length = strcspn(at, "/");
    size_t choice = 0;
    if (i == BALANCE && setting->value[PARTITION] == CENTRAL) continue; /* nothing to balance */
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
    if (i + 1 < OPTIONS && *at == '/') at++;
  }
  return !*at || ss_fail(error, SS_BAD_INPUT, "\"%.40s\" after the format: nothing more belongs there", at);
}

/* Every part has an owner. */
static bool run_parallel(struct ss_run *run, enum communication how, bool incremental, struct ss_error *error) {
  static const enum ss_pull_format pulls[] = {SS_PULL_COO, SS_PULL_BITMAP, SS_PULL_BLOCK, SS_PULL_HASH_BITMAP};
  const bool even = run->setting->value[BALANCE] == EVEN;
  struct ss_cut cut = {.balance = even ? SS_BALANCE_EVEN : SS_BALANCE_HASH,
                       .format = pulls[run->setting->value[FORMAT]],
                       .seed = 1,
                       .block = 256};
  if (!ss_run_cut(run, &cut, error)) return false;
  bool ok = ss_owners_open(run->play, &cut.owners, error);
  if (ok && how == P2P) ok = ss_owners_push(&cut.owners, error) && ss_owners_sum(&cut.owners, error);
  if (ok && how == RING) ok = ss_owners_push_ring(&cut.owners, incremental, error);
  if (ok && how == HIERARCHY) ok = ss_owners_push_halving(&cut.owners, incremental, error);
  ok = ok && ss_owners_pull(&cut.owners, error) && ss_run_pulled(run, &cut.owners, error);
  ss_owners_close(&cut.owners);
  return ok;
}

static struct ss_wire central_wire(const struct ss_run *run) {
  struct ss_wire wire = run->coo;
  wire.block = 256;
  if (run->setting->value[FORMAT] == BITMAP) wire.format = SS_WIRE_BITMAP;
  if (run->setting->value[FORMAT] == BLOCK) wire.format = SS_WIRE_BLOCK;
  return wire;
}

/* Every rank sums all. */
static bool run_central(struct ss_run *run, enum communication how, bool incremental, struct ss_error *error) {
  static ss_allgather *const gathers[] = {ss_allgather_direct, ss_allgather_ring, ss_allgather_doubling};
  const struct ss_wire wire = central_wire(run);
  if (incremental && how != P2P) return ss_run_running(run, &wire, how == RING, error);
  return ss_run_allgather(run, run->own, &wire, gathers[how], error);
}

static bool run_design(struct ss_run *run, struct ss_error *error) {
  const uint64_t *value = run->setting->value;
  const enum communication how = (enum communication)value[COMMUNICATION];
  const bool incremental = value[AGGREGATION] == INCREMENTAL;
  return value[PARTITION] == PARALLEL ? run_parallel(run, how, incremental, error)
                                      : run_central(run, how, incremental, error);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const bool central = setting->value[PARTITION] == CENTRAL;
  const bool even = setting->value[BALANCE] == EVEN;
  (void)layout;
  if (central && setting->given[BALANCE])
    return ss_fail(error, SS_BAD_INPUT, "a central point has no parts to balance: leave the balance out");
  if (setting->value[FORMAT] == HASH_BITMAP && (central || even))
    return ss_fail(error, SS_BAD_INPUT,
                   "a hash bitmap says which of a hashed part's rows come: it needs \"parallel\" and \"balanced\"");
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  if (setting->value[PARTITION] == PARALLEL && setting->value[BALANCE] == EVEN) traits->parts = layout.ranks;
  traits->sends = setting->value[PARTITION] == CENTRAL && setting->value[AGGREGATION] == INCREMENTAL &&
                  setting->value[COMMUNICATION] != P2P;
}

const struct ss_scheme ss_scheme_design = {
    .name = "design",
    .summary = "A point of ZEN's design space: design:COMMUNICATION/AGGREGATION/PARTITION/BALANCE/FORMAT",
    .source = "ZEN §2.2, Table 3",
    .options = options,
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .adapt = adapt,
    .parse = parse,
    .check = check,
    .run = run_design,
};
/* SPDX-License-Identifier: Apache-2.0 */
