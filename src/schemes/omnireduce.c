/* OmniReduce (Fei et al. 2021, as ZEN §2.4 describes it): even ranges; every rank pushes its non-zero blocks to the
 * aggregators, which sum and push the union's blocks to all. The aggregators are the ranks themselves, pairwise; or
 * `aggregators` endpoints of their own, with fan-in and fan-out, which may be streamed piece by piece.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"block": 4}: 3*(1 +
 * 0.080) + 3*(1 + 0.320) = 7.2 us; blocks are rows, of 16 + 4 bytes: 4 to each owner, the 16 of each sum back. */
#include "schemes/run.h"
#include "schemes/scheme.h"

enum { BLOCK, AGGREGATORS, STREAM, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [BLOCK] = {"block", SS_OPTION_COUNT, NULL, 1, 1u << 20, 256, "elements of a block", NULL},
    [AGGREGATORS] = {"aggregators", SS_OPTION_COUNT, NULL, 1, 1u << 20, 0,
                     "endpoints that aggregate (default: the ranks)", NULL},
    [STREAM] = {"stream", SS_OPTION_COUNT, NULL, 2, 1024, 0,
                "pieces of each range: one is pulled while the next is pushed (aggregators of their own)", NULL},
};

/* --- streamed ---------------------------------------------------------------------------------------------- */

/* Piece k of every aggregator's range, as a tensor of its own. */
struct piece {
  const struct ss_cut *cut; /* in all pieces of all ranges, range after range */
  uint32_t number, pieces;
  struct ss_owners owners;
};

static struct ss_chunk range(const void *context, uint32_t part) {
  const struct piece *p = context;
  return p->cut->owners.range(p->cut, part * p->pieces + p->number);
}

static bool slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct piece *p = context;
  return p->cut->owners.slice(p->cut->owners.context, rank, part * p->pieces + p->number, out, error);
}

/* The sum of a piece is under way back while the next is pushed. */
static bool play_stream(struct piece *piece, struct ss_error *error) {
  const uint32_t last = piece->pieces - 1;
  for (uint32_t k = 0; k <= last; k++) {
    if (!ss_owners_push(&piece[k].owners, error)) return false;
    piece[k].owners.follows = k < last;
    if (k > 0 && !ss_owners_pull(&piece[k - 1].owners, error)) return false;
    if (!ss_owners_sum(&piece[k].owners, error)) return false;
  }
  return ss_owners_pull(&piece[last].owners, error);
}

/* Every rank has all pieces. */
static bool join_pieces(struct ss_run *run, struct piece *piece, struct ss_error *error) {
  const uint32_t pieces = piece->pieces;
  struct ss_chunk *part = ss_arena_alloc(run->play->arena, pieces, sizeof *part), sum;
  if (!part) return ss_fail_memory(error, "joining pieces");
  SS_ASIDE; /* each went to its place */
  for (uint32_t k = 0; k < pieces; k++) ss_run_imbalance(run, &piece[k].owners);
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    for (uint32_t k = 0; k < pieces; k++)
      if (!ss_owners_whole(&piece[k].owners, r, run->low, run->high, &part[k], error)) return false;
    if (!ss_chunk_sum(&(struct ss_operands){part, pieces, run->low, run->high}, run->play->arena, &run->play->scratch,
                      &sum, error))
      return false;
    ss_run_sparse(run, r, &sum, 0, NULL);
  }
  return true;
}

static bool stream(struct ss_run *run, struct ss_cut *cut, uint32_t pieces, struct ss_error *error) {
  struct piece *piece = ss_arena_zero(run->play->arena, pieces, sizeof *piece);
  bool ok = piece || ss_fail_memory(error, "cutting ranges into pieces");
  cut->servers *= pieces; /* parts; the play has as many servers as before */
  ok = ok && ss_run_cut(run, cut, error);
  for (uint32_t k = 0; ok && k < pieces; k++) {
    piece[k] = (struct piece){.cut = cut, .number = k, .pieces = pieces, .owners = cut->owners};
    struct ss_owners *owners = &piece[k].owners;
    owners->parts = run->servers;
    owners->context = &piece[k];
    owners->range = range;
    owners->slice = slice;
    ok = ss_owners_open(run->play, owners, error);
  }
  ok = ok && play_stream(piece, error) && join_pieces(run, piece, error);
  for (uint32_t k = 0; piece && k < pieces; k++) ss_owners_close(&piece[k].owners);
  return ok;
}

static bool run_omnireduce(struct ss_run *run, struct ss_error *error) {
  struct ss_cut cut = {.balance = SS_BALANCE_EVEN,
                       .format = SS_PULL_BLOCK,
                       .block = (uint32_t)run->setting->value[BLOCK],
                       .servers = run->servers};
  if (run->setting->value[STREAM] > 0) return stream(run, &cut, (uint32_t)run->setting->value[STREAM], error);
  return ss_run_owners(run, &cut, error);
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->servers = (uint32_t)setting->value[AGGREGATORS];
  traits->parts = traits->servers ? traits->servers : layout.ranks;
  if (setting->value[STREAM] > 0) traits->parts *= setting->value[STREAM];
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t servers = (uint32_t)setting->value[AGGREGATORS];
  if (setting->value[STREAM] > 0 && servers == 0)
    return ss_fail(
        error, SS_BAD_INPUT,
        "\"stream\" takes aggregators of their own (\"aggregators\"): ranks that aggregate send and receive "
        "all the time as it is");
  if (servers <= layout.ranks) return true;
  return ss_fail(error, SS_BAD_INPUT, "%u aggregators for %u ranks: at most as many as ranks", servers, layout.ranks);
}

static const struct ss_offered offered[] = {
    {.offer = {"OmniReduce", "gloo of PyTorch 1.7.1 built with its patch; one GPU a machine",
               "https://github.com/sands-lab/omnireduce/tree/master/omnireduce-RDMA/frameworks_integration/"
               "pytorch_patch",
               SS_GLOO}},
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
