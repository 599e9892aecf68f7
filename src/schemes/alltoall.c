/* AlltoAll with tables placed on ranks (EmbRace §4.1): looked-up parameters one way, gradients the other.
 *
 * Ranks own pieces (run_pieces.c): by columns (default), or by rows, EmbRace's counter-example, one each; of
 * all tables together, as recommenders place them, each whole ones or pieces of several. Lookups: i -> j carries what
 * j looked up of i's pieces, without indices (ids are known to all). Gradients: i -> j carries i's gradient of j's
 * pieces, with indices. Tokens: as gradients, every lookup by itself, to the owners, and as lookups back: what a
 * mixture of experts dispatches and combines. Own pieces do not travel. Pooled (run_pooled.c): both ways one
 * vector a bag instead of one a row, without indices: where a table is cut by rows, of each bag that has a row in the
 * piece.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.064) + 3*(1 +
 * 0.128) = 6.576 us; three lookups of 16 columns of 4 bytes, three gradients with 4 bytes of index each. */
#include "schemes/run.h"
#include "schemes/scheme.h"

enum exchange { BOTH, LOOKUPS, GRADIENTS, TOKENS };
enum pooling { NONE, SUM, PADDED };
static const char *const exchanges[] = {"both", "lookups", "gradients", "tokens", NULL};
static const char *const partitions[] = {"column", "row", "table", "placed", NULL};
static const char *const poolings[] = {"none", "sum", "padded", NULL};
static const char *const routes[] = {"direct", "node", NULL};
enum { EXCHANGE, COALESCE, GATHER_IDS, PARTITION, POOLING, ROUTE, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [EXCHANGE] = {"exchange", SS_OPTION_CHOICE, exchanges, 0, 0, BOTH,
                  "which of the two exchanges to play; tokens: to the rows' owners and back", NULL},
    [COALESCE] = {"coalesce", SS_OPTION_FLAG, NULL, 0, 1, 1, "sum duplicate lookups before sending gradients", NULL},
    [GATHER_IDS] = {"gather_ids", SS_OPTION_FLAG, NULL, 0, 1, 0,
                    "charge the ids first, 8 bytes a lookup: by columns or rows a ring all-gather", NULL},
    [PARTITION] =
        {"partition", SS_OPTION_CHOICE, partitions, 0, 0, SS_BY_COLUMNS,
         "cut the table by columns or by rows; all tables together, whole or as the scenario's \"placement\"",
         "table"},
    [POOLING] = {"pooling", SS_OPTION_CHOICE, poolings, 0, 0, NONE,
                 "send vectors of bags, not of rows: where they have a row; padded: of all, zeros too", NULL},
    [ROUTE] = {"route", SS_OPTION_CHOICE, routes, 0, 0, 0,
               "node: the vector of a bag crosses to each node once, and spreads inside (pooling sum, by rows)",
               NULL},
};

struct alltoall {
  struct ss_run *run;
  struct ss_pieces pieces;
  bool tokens, pooled, relayed;
  uint64_t *held;            /* [ranks] B of the exchange that is played, */
  bool backward;             /* of the exchange that is played: gradients, to owners; else lookups, from them */
  struct ss_pooled bags;     /* pooled */
  struct ss_chunk *known;    /* [ranks] the rows each rank looked up; counts only where lists are not needed */
  struct ss_chunk *scratch;  /* [pieces] the chunks of a round */
  struct ss_chunk *expected; /* [pieces] of which the receivers know these */
};

static const struct ss_piece *piece(const struct alltoall *a, uint32_t k) {
  return &a->pieces.piece[k];
}

/* --- messages, both ways ---------------------------------------------------------------------------------- */

/* Every rank has one piece: then messages have one chunk, and blocks are ranks. */
static bool one_each(const struct alltoall *a) {
  bool each = a->pieces.count == a->run->ranks;
  for (uint32_t j = 0; each && j < a->run->ranks; j++) each = a->pieces.of[j] == j;
  return each;
}

/* Between an owner and another rank, whatever the way. */
struct pair {
  uint32_t owner, other;
};

static struct pair pair_of(const struct alltoall *a, uint32_t from, uint32_t to) {
  return a->backward ? (struct pair){to, from} : (struct pair){from, to};
}

static uint32_t count_chunks(const void *context, uint32_t from, uint32_t to) {
  const struct alltoall *a = context;
  return ss_pieces_of(&a->pieces, pair_of(a, from, to).owner);
}

/* Rank `to` receives every piece once; or every piece a block of every rank. */
static struct ss_slot slot_of(const void *context, uint32_t from, uint32_t to, uint32_t i) {
  const struct alltoall *a = context;
  const uint32_t k = a->pieces.of[pair_of(a, from, to).owner] + i;
  return a->backward ? (struct ss_slot){k, from} : (struct ss_slot){to, k};
}

/* Parameters of the listed rows, in a real run. */
static bool fill_parameters(const struct alltoall *a, const struct ss_piece *p, struct ss_chunk *chunk,
                            struct ss_error *error) {
  float *values = ss_arena_alloc(a->run->play->arena, chunk->count * chunk->width, sizeof *values);
  if (!values) return ss_fail_memory(error, "looking up parameters");
  SS_ASIDE;
  for (uint64_t i = 0; i < chunk->count; i++) {
    uint64_t parameter = ss_contribution(SS_PARAMETERS, chunk->rows[i], 0);
    for (uint32_t c = 0; c < chunk->width; c++)
      values[i * chunk->width + c] = ss_contribution_value(parameter, p->first + c);
  }
  chunk->values = values;
  chunk->stride = chunk->width;
  return true;
}

/* What travels of piece k between its owner and another rank: gradients of that one's, or what it looked up. */
static bool give_piece(const struct alltoall *a, uint32_t k, uint32_t other, struct ss_chunk *out,
                       struct ss_error *error) {
  const struct ss_piece *p = piece(a, k);
  if (a->pooled) return (a->backward ? ss_pooled_gradients : ss_pooled_sums)(&a->bags, k, other, out, error);
  *out = ss_piece_slice(p, a->backward ? &a->run->own[other] : &a->known[other]);
  out->origin = a->backward ? other : p->owner;
  out->part = a->backward ? k : other;
  return a->backward || !a->run->own[p->owner].values || fill_parameters(a, p, out, error);
}

static bool give(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  const struct pair pair = pair_of(a, from, to);
  for (uint32_t k = a->pieces.of[pair.owner]; k < a->pieces.of[pair.owner + 1]; k++)
    if (!give_piece(a, k, pair.other, out++, error)) return false;
  return true;
}

/* Who looked rows up knows which come; of bags the owner does too: it has their ids. */
static const struct ss_chunk *known_rows(void *context, uint32_t from, uint32_t to) {
  const struct alltoall *a = context;
  const struct pair pair = pair_of(a, from, to);
  const uint32_t first = a->pieces.of[pair.owner], count = ss_pieces_of(&a->pieces, pair.owner);
  struct ss_chunk *known = &a->expected[first]; /* a round has one message of each owner */
  for (uint32_t i = 0; i < count; i++)
    known[i] = a->pooled ? ss_pooled_of(&a->bags, pair.other, first + i)
                         : ss_piece_slice(piece(a, first + i), &a->known[pair.other]);
  return known;
}

/* Every pair sends the same bytes when counts are the same and columns divide: then one size stands for all. */
static void find_uniform(const struct alltoall *a, struct ss_exchange *x, struct ss_error *error) {
  const struct ss_input *input = a->run->input;
  const enum ss_partition partition = a->pieces.partition;
  const bool divides = partition == SS_BY_ROWS ? !input->row && input->count[0] % a->run->ranks == 0
                                               : partition == SS_BY_COLUMNS && input->width % a->run->ranks == 0;
  struct ss_chunk chunk;
  assert(a->run->ranks > 0);
  x->uniform = !a->run->play->payloads && input->even && divides;
  if (x->uniform && x->give(x->context, 0, 1, &chunk, error)) x->each = ss_wire_bytes(x->wire, &chunk);
}

/* Plays one way; the receipts, of those who got what, are the caller's to close. */
static bool play_exchange(struct alltoall *a, struct ss_receipts *receipts, struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct ss_several several = {.count = count_chunks, .slot = slot_of, .scratch = a->scratch};
  const uint32_t pieces = a->pieces.count;
  const bool indices = a->backward && !a->pooled;
  struct ss_wire wire = run->coo;
  if (!indices) wire.format = SS_WIRE_VALUES;
  struct ss_exchange x = {.context = a,
                          .give = give,
                          .wire = &wire,
                          .counted = indices || (a->backward && a->tokens),
                          .receipts = receipts,
                          .held = a->held};
  if (!indices) x.known = known_rows;
  x.several = one_each(a) ? NULL : &several;
  find_uniform(a, &x, error);
  memset(a->held, 0, run->ranks * sizeof *a->held);
  if ((run->play->payloads &&
       !ss_receipts_open(receipts, a->backward ? pieces : run->ranks, a->backward ? run->ranks : pieces, error)) ||
      !ss_pairwise(run->play, &x, error))
    return false;
  for (uint32_t r = 0; r < run->ranks; r++) ss_play_drop(run->play, r, a->held[r]); /* used, or added to the table */
  return true;
}

/* --- lookups -------------------------------------------------------------------------------------------- */

/* The ids of what `from` looks up of the pieces of `to`. */
static bool give_ids(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  (void)error;
  *out = (struct ss_chunk){.width = 1};
  for (uint32_t k = a->pieces.of[to]; k < a->pieces.of[to + 1]; k++)
    out->count += a->pooled ? ss_pooled_ids(&a->bags, from, k) : ss_piece_slice(piece(a, k), &a->known[from]).count;
  return true;
}

static bool gather_all_ids(struct ss_run *run, const struct ss_wire *ids, struct ss_error *error) {
  const struct ss_bagged *bagged = run->input->bagged;
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  if (!ss_gather_open(&gather, run->ranks, ids, 0, 0, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++)
    ss_gather_set(&gather, r,
                  &(struct ss_chunk){.count = run->input->lookups[r] + (bagged ? bagged[r].count : 0), .width = 1});
  return ss_gather_ragged(run->play, &gather, false, ss_allgather_ring, error);
}

/* All ranks get all ids; where owners have whole tables, or pieces of some, each gets those of its own. */
static bool gather_ids(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct ss_wire ids = {.format = SS_WIRE_VALUES, .value_bytes = 8};
  struct ss_exchange x = {.context = a, .give = give_ids, .wire = &ids};
  const bool payloads = run->play->payloads;
  struct ss_holding *const holding = run->play->holding;
  if (!run->setting->value[GATHER_IDS]) return true;
  run->play->payloads = false; /* charged, not part of the proof */
  run->play->holding = NULL;
  const bool ok =
      a->pieces.partition <= SS_BY_ROWS ? gather_all_ids(run, &ids, error) : ss_pairwise(run->play, &x, error);
  run->play->payloads = payloads;
  run->play->holding = holding;
  return ok;
}

/* Rank j must hold every owner's part of the rows it looked up. */
static bool prove_lookups(struct alltoall *a, const struct ss_receipts *receipts, uint32_t j) {
  struct ss_run *run = a->run;
  for (uint32_t k = 0; k < a->pieces.count; k++) {
    const struct ss_piece *p = piece(a, k);
    const struct ss_chunk due = ss_piece_slice(p, &a->known[j]);
    if (p->owner == j) continue;
    const struct ss_chunk *held = ss_receipts_held(receipts, j, k, &due);
    if (!held || held->count != due.count ||
        (due.count && held->rows != due.rows && memcmp(held->rows, due.rows, due.count * sizeof *due.rows) != 0)) {
      ss_run_inexact(run, "rank %u does not hold the rows it looked up of rank %u's part", j, p->owner);
      return false;
    }
    if (held->values && !run->proof->parameters(run->proof, held, p->first)) {
      ss_run_inexact(run, "rank %u holds wrong parameters of rank %u's part", j, p->owner);
      return false;
    }
  }
  return true;
}

static bool exchange_lookups(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  SS_AUTO(ss_receipts_close) struct ss_receipts receipts = {0};
  a->backward = false;
  if (!gather_ids(a, error)) return false;
  if (a->relayed) return ss_pooled_relay(&a->bags, false, &receipts, error);
  if (!play_exchange(a, &receipts, error)) return false;
  if (a->pooled) return !run->play->payloads || ss_pooled_take(&a->bags, &receipts, error);
  for (uint32_t j = 0; run->proof && j < run->ranks; j++)
    if (ss_run_resident(run, j) && !prove_lookups(a, &receipts, j)) break;
  return true;
}

/* --- gradients ------------------------------------------------------------------------------------------ */

/* The owner of piece k sums what it got of it, in block[ranks]. Pieces of the same rows share one sum. */
static bool add_piece(struct alltoall *a, struct ss_receipts *receipts, uint32_t k, struct ss_chunk *block,
                      struct ss_chunk *shared, struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct ss_piece *p = piece(a, k);
  const uint32_t P = run->ranks;
  struct ss_chunk sum;
  if (!p->by_column) *shared = (struct ss_chunk){0};
  for (uint32_t i = 0; i < P; i++) block[i] = ss_piece_slice(p, &run->own[i]);
  /* Experts take tokens one by one and add nothing up: of these the sum is made for the proof alone. */
  const struct ss_aside aside = a->tokens ? ss_aside_begin() : (struct ss_aside){0};
  const bool ok =
      ss_receipts_sum(run->play, &(struct ss_received){receipts, block, p->low, p->high, shared}, k, &sum, error);
  if (a->tokens) ss_aside_end(&aside);
  if (!ok) return false;
  ss_run_sparse(run, p->owner, &sum, p->first, NULL);
  sum.width = p->width;
  if (!a->tokens)
    ss_play_note_sum(run->play, p->owner, &run->coo, &(struct ss_operands){block, P, p->low, p->high}, &sum);
  return true;
}

static bool add_up(struct alltoall *a, struct ss_receipts *receipts, struct ss_error *error) {
  struct ss_run *run = a->run;
  struct ss_chunk *shared = ss_arena_zero(run->play->arena, a->pieces.tables, sizeof *shared), sum;
  struct ss_chunk *block = ss_arena_alloc(run->play->arena, run->ranks, sizeof *block);
  if (!shared || !block) return ss_fail_memory(error, "summing gradients");
  for (uint32_t k = 0; k < a->pieces.count; k++) {
    const struct ss_piece *p = piece(a, k);
    if (!ss_run_resident(run, p->owner)) continue;
    ss_receipts_add_run(run->play, receipts, k, p->owner, 1);
    if (p->width == 0) continue;
    if (!a->pooled && !add_piece(a, receipts, k, block, &shared[p->table], error)) return false;
    if (!a->pooled) continue;
    const struct ss_aside aside = a->tokens ? ss_aside_begin() : (struct ss_aside){0};
    const bool ok = ss_pooled_add_up(&a->bags, receipts, k, &sum, error);
    if (a->tokens) ss_aside_end(&aside);
    if (!ok) return false;
    ss_run_sparse(run, p->owner, &sum, p->first, NULL);
  }
  return true;
}

static bool exchange_gradients(struct alltoall *a, struct ss_error *error) {
  SS_AUTO(ss_receipts_close) struct ss_receipts receipts = {0};
  a->backward = true;
  return (a->relayed ? ss_pooled_relay(&a->bags, true, &receipts, error) : play_exchange(a, &receipts, error)) &&
         (!a->run->play->payloads || add_up(a, &receipts, error));
}

static bool run_alltoall(struct ss_run *run, struct ss_error *error) {
  const uint64_t *value = run->setting->value;
  const enum exchange exchange = (enum exchange)value[EXCHANGE];
  const struct ss_input *input = run->input;
  struct ss_arena *arena = run->play->arena;
  struct alltoall a = {
      .run = run, .tokens = exchange == TOKENS, .pooled = value[POOLING] != NONE, .relayed = value[ROUTE] != 0};
  if (!ss_pieces_make(input, run->ranks, (enum ss_partition)value[PARTITION], arena, &a.pieces, error)) return false;
  if (a.pooled && !ss_pooled_open(run, &a.pieces, value[POOLING] == PADDED, &a.bags, error)) return false;
  a.bags.tokens = a.tokens;
  if (!ss_take(arena, a.known, run->ranks) || !ss_take(arena, a.scratch, a.pieces.count) ||
      !ss_take(arena, a.expected, a.pieces.count) || !ss_take(arena, a.held, run->ranks))
    return ss_fail_memory(error, "listing lookups");
  for (uint32_t r = 0; r < run->ranks; r++)
    a.known[r] = (struct ss_chunk){.rows = input->lookup ? input->lookup[r] : NULL,
                                   .count = input->lookups[r],
                                   .high = input->rows,
                                   .width = input->width,
                                   .stride = input->width};
  if (exchange == TOKENS) return exchange_gradients(&a, error) && exchange_lookups(&a, error);
  if (exchange != GRADIENTS && !exchange_lookups(&a, error)) return false;
  return exchange == LOOKUPS || exchange_gradients(&a, error);
}

/* --- options -------------------------------------------------------------------------------------------- */

static bool check_route(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  if (setting->value[ROUTE] == 0) return true;
  if (setting->value[POOLING] != SUM || setting->value[PARTITION] != SS_BY_ROWS)
    return ss_fail(error, SS_BAD_INPUT,
                   "route \"node\" sends a bag to several owners at once: say \"pooling\": \"sum\" and "
                   "\"partition\": \"row\", too");
  if (layout.per_node > 1 && (layout.nodes == 1 || layout.ranks % layout.per_node == 0)) return true;
  return ss_fail(error, SS_BAD_INPUT, "route \"node\" needs full nodes of several GPUs: %u ranks, %u a node",
                 layout.ranks, layout.per_node);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  if (setting->hierarchy)
    return ss_fail(error, SS_BAD_INPUT,
                   "a table cut over ranks has no hierarchy: leave \"hierarchy\" out for this scheme");
  if (setting->value[EXCHANGE] == GRADIENTS && setting->value[GATHER_IDS])
    return ss_fail(error, SS_BAD_INPUT,
                   "\"gather_ids\" belongs to the lookup exchange, which \"gradients\" leaves out");
  if (setting->value[EXCHANGE] == LOOKUPS && !setting->value[COALESCE])
    return ss_fail(error, SS_BAD_INPUT,
                   "\"coalesce\" belongs to the gradient exchange, which \"lookups\" leaves out");
  if (setting->value[EXCHANGE] == TOKENS && (setting->value[GATHER_IDS] || !setting->value[COALESCE]))
    return ss_fail(error, SS_BAD_INPUT,
                   "tokens bring their ids, and none is summed before it is sent: leave \"gather_ids\" and "
                   "\"coalesce\" out");
  if (setting->value[POOLING] != NONE && !setting->value[COALESCE])
    return ss_fail(error, SS_BAD_INPUT,
                   "bags are pooled into one vector each: leave \"coalesce\", which sends one a lookup, out");
  return check_route(setting, layout, error);
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->pools = traits->lists = setting->value[POOLING] != NONE;
  traits->duplicates = !setting->value[COALESCE] || (setting->value[EXCHANGE] == TOKENS && !traits->pools);
  traits->fetches = setting->value[EXCHANGE] == LOOKUPS;
  traits->lookups = !traits->pools && (setting->value[EXCHANGE] != GRADIENTS || traits->duplicates);
  traits->parts = setting->value[PARTITION] == SS_BY_ROWS ? layout.ranks : 1;
  traits->joint = setting->value[PARTITION] >= SS_BY_TABLES;
  traits->placed = setting->value[PARTITION] == SS_AS_PLACED;
}

/* TorchRec sends bags of no rows too, and rows once where its sharder removes duplicates. */
#define TORCHREC_OF(how)                                                                                             \
  { "TorchRec", how, "https://docs.pytorch.org/torchrec/", SS_NO_LIBRARY }
#define TORCHREC(sharding)                                                                                           \
  TORCHREC_OF("EmbeddingCollectionSharder(use_index_dedup=True), ShardingType." sharding " (bags: pooling=padded)")
static const struct ss_offered offered[] = {
    {.option = "exchange", .choice = "tokens"},
    {.option = "pooling", .choice = "sum"},
    {"pooling", "padded", SS_FLAT, TORCHREC_OF("EmbeddingBagCollection under DistributedModelParallel")},
    {"partition", "column", SS_FLAT, TORCHREC("COLUMN_WISE")},
    {"partition", "row", SS_FLAT, TORCHREC("ROW_WISE")},
    {"partition", "table", SS_FLAT, TORCHREC("TABLE_WISE")},
    {"partition", "placed", SS_FLAT, TORCHREC_OF("DistributedModelParallel(plan=...) of that placement")},
    {.option = NULL}};

const struct ss_scheme ss_scheme_alltoall = {
    .name = "alltoall",
    .summary = "AlltoAll of looked-up parameters and of gradients; tables are placed on ranks (EmbRace)",
    .source = "EmbRace §4.1, Table 2",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_TABLE,
    .adapt = adapt,
    .check = check,
    .run = run_alltoall,
};
/* SPDX-License-Identifier: Apache-2.0 */
