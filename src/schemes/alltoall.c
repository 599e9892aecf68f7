/* AlltoAll with tables placed on ranks (EmbRace §4.1): looked-up parameters one way, gradients the other.
 *
 * By columns (default) rank j owns columns [floor(j*w/P), floor((j+1)*w/P)) of every row; by rows, EmbRace's
 * counter-example, an even range of rows. Recommenders place whole tables, or each table its own way: then all tables
 * travel in one exchange, and a rank may own pieces of several. Lookups: i -> j carries what j looked up of i's
 * pieces, without indices (ids are known to all). Gradients: i -> j carries i's gradient of j's pieces, with indices.
 * Tokens: as gradients, every lookup by itself, to the owners, and as lookups back: what a mixture of experts
 * dispatches and combines. Own pieces do not travel. Pooled: both ways one vector a bag instead of one a row, without
 * indices: where a table is cut by rows, of each bag that has a row in the piece.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.064) + 3*(1 +
 * 0.128) = 6.576 us; three lookups of 16 columns of 4 bytes, three gradients with 4 bytes of index each. */
#include "schemes/run.h"
#include "schemes/scheme.h"
#include "tensor/pooling.h"

#include <assert.h>
#include <string.h>

enum exchange { BOTH, LOOKUPS, GRADIENTS, TOKENS };
enum partition { COLUMN, ROW, TABLE, PLACED };
enum pooling { NONE, SUM, PADDED };
static const char *const exchanges[] = {"both", "lookups", "gradients", "tokens", NULL};
static const char *const partitions[] = {"column", "row", "table", "placed", NULL};
static const char *const poolings[] = {"none", "sum", "padded", NULL};
enum { EXCHANGE, COALESCE, GATHER_IDS, PARTITION, POOLING, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [EXCHANGE] = {"exchange", SS_OPTION_CHOICE, exchanges, 0, 0, BOTH,
                  "which of the two exchanges to play; tokens: to the rows' owners and back"},
    [COALESCE] = {"coalesce", SS_OPTION_FLAG, NULL, 0, 1, 1, "sum duplicate lookups before sending gradients"},
    [GATHER_IDS] = {"gather_ids", SS_OPTION_FLAG, NULL, 0, 1, 0,
                    "charge the ids first, 8 bytes a lookup: by columns or rows a ring all-gather"},
    [PARTITION] =
        {"partition", SS_OPTION_CHOICE, partitions, 0, 0, COLUMN,
         "cut the table by columns or by rows; all tables together, whole or as the scenario's \"placement\""},
    [POOLING] = {"pooling", SS_OPTION_CHOICE, poolings, 0, 0, NONE,
                 "send vectors of bags, not of rows: where they have a row; padded: of all, zeros too"},
};

/* What one rank owns of one table. */
struct piece {
  uint32_t owner, table;
  uint64_t low, high;    /* rows */
  uint32_t first, width; /* columns */
  bool by_column;        /* other pieces have the same rows */
  uint32_t range;        /* those rows, as pooling numbers them */
};

struct alltoall {
  struct ss_run *run;
  enum partition partition;
  bool tokens, pooled;
  struct piece *piece; /* [pieces] those of rank 0 first */
  uint32_t pieces, tables;
  uint32_t *of;             /* [ranks + 1] rank j owns pieces of[j] to of[j + 1] - 1 */
  bool *owns;               /* [ranks] some part of some table */
  struct ss_chunk *known;   /* [ranks] the rows each rank looked up; counts only where lists are not needed */
  struct ss_chunk *scratch; /* [pieces] the chunks of a round */
  struct ss_pooling pool;   /* pooled: what bags have where, */
  uint32_t *table_at;       /* [tables + 1] and the pieces of each table: */
  uint32_t *of_table;       /* [pieces] */
};

/* --- who owns what ---------------------------------------------------------------------------------------- */

/* Whole tables live on evenly spread ranks, in their order, as DLRM has them. */
static struct ss_shards shards_of(const struct alltoall *a, const struct ss_input_table *table, uint32_t k,
                                  uint32_t *home) {
  const uint32_t P = a->run->ranks;
  if (a->partition == PLACED && table->shards) return *table->shards;
  *home = (uint32_t)ss_share(P, a->tables, k);
  if (a->partition == TABLE) return (struct ss_shards){SS_BY_TABLE, 1, home};
  return (struct ss_shards){a->partition == ROW ? SS_BY_ROW : SS_BY_COLUMN, P, NULL};
}

static struct ss_input_table table_of(const struct alltoall *a, uint32_t k) {
  const struct ss_input *input = a->run->input;
  return input->table ? input->table[k] : (struct ss_input_table){.rows = input->rows, .width = input->width};
}

static struct piece piece_of(const struct ss_input_table *table, const struct ss_shards *shards, uint32_t k,
                             uint32_t i) {
  struct piece p = {shards->rank ? shards->rank[i] : i, k, table->low, table->low + table->rows, 0, table->width,
                    shards->cut == SS_BY_COLUMN,        0};
  if (shards->cut == SS_BY_ROW) {
    p.low = table->low + ss_share(table->rows, shards->count, i);
    p.high = table->low + ss_share(table->rows, shards->count, i + 1);
  }
  if (shards->cut == SS_BY_COLUMN) {
    p.first = (uint32_t)ss_share(table->width, shards->count, i);
    p.width = (uint32_t)ss_share(table->width, shards->count, i + 1) - p.first;
  }
  return p;
}

/* Calls `note` with every piece, table by table, and then for ranks that own nothing with an empty one: so that every
 * message brings a chunk, and shows when it is lost. */
static void each_piece(struct alltoall *a, void (*note)(struct alltoall *, const struct piece *)) {
  const struct ss_input *input = a->run->input;
  uint32_t home = 0, range = 0;
  for (uint32_t k = 0; k < a->tables; k++) {
    const struct ss_input_table table = table_of(a, k);
    const struct ss_shards shards = shards_of(a, &table, k, &home);
    for (uint32_t i = 0; i < shards.count; i++) {
      struct piece p = piece_of(&table, &shards, k, i);
      p.range = range + (shards.cut == SS_BY_ROW ? i : 0);
      a->owns[p.owner] = true;
      note(a, &p);
    }
    range += shards.cut == SS_BY_ROW ? shards.count : 1;
  }
  for (uint32_t j = 0; j < a->run->ranks; j++)
    if (!a->owns[j]) note(a, &(struct piece){.owner = j, .high = input->rows, .by_column = true});
}

static void count_piece(struct alltoall *a, const struct piece *p) {
  a->of[p->owner + 1]++;
}

static void put_piece(struct alltoall *a, const struct piece *p) {
  a->piece[a->of[p->owner]++] = *p;
}

/* Lists the pieces by owner, those of one owner by table. */
static bool list_pieces(struct alltoall *a, struct ss_error *error) {
  struct ss_arena *arena = a->run->play->arena;
  const uint32_t P = a->run->ranks;
  a->tables = a->run->input->table ? a->run->input->tables : 1;
  if (!ss_take_zero(arena, a->of, (size_t)P + 1) || !ss_take_zero(arena, a->owns, P))
    return ss_fail_memory(error, "placing tables");
  each_piece(a, count_piece);
  for (uint32_t j = 0; j < P; j++) a->of[j + 1] += a->of[j];
  a->pieces = a->of[P];
  if (!ss_take(arena, a->piece, a->pieces) || !ss_take(arena, a->scratch, a->pieces))
    return ss_fail_memory(error, "placing tables");
  each_piece(a, put_piece);
  memmove(a->of + 1, a->of, P * sizeof *a->of); /* each had come to be where the next one's begin */
  a->of[0] = 0;
  return true;
}

/* For pooling: rows that pieces share, and the pieces of each table. */
static bool list_ranges(struct alltoall *a, struct ss_error *error) {
  struct ss_arena *arena = a->run->play->arena;
  struct ss_pool_range *range;
  uint32_t ranges = 0;
  for (uint32_t k = 0; k < a->pieces; k++)
    if (a->piece[k].range >= ranges) ranges = a->piece[k].range + 1;
  if (!ss_take(arena, range, ranges) || !ss_take_zero(arena, a->table_at, (size_t)a->tables + 1) ||
      !ss_take(arena, a->of_table, a->pieces))
    return ss_fail_memory(error, "listing bags");
  for (uint32_t k = 0; k < a->pieces; k++) {
    const struct piece *p = &a->piece[k];
    a->table_at[p->table + 1]++;
    if (p->width > 0) range[p->range] = (struct ss_pool_range){p->table, p->low, p->high};
  }
  for (uint32_t t = 0; t < a->tables; t++) a->table_at[t + 1] += a->table_at[t];
  for (uint32_t k = 0; k < a->pieces; k++) a->of_table[a->table_at[a->piece[k].table]++] = k;
  memmove(a->table_at + 1, a->table_at, a->tables * sizeof *a->table_at);
  a->table_at[0] = 0;
  a->pool = (struct ss_pooling){.ranks = a->run->ranks,
                                .bagged = a->run->input->bagged,
                                .lookups = a->run->input->lookups,
                                .range = range,
                                .ranges = ranges};
  const struct ss_aside aside = ss_aside_begin(); /* owners have the ids of their parts, bag by bag */
  const bool ok = ss_pooling_open(&a->pool, a->run->setting->value[POOLING] == PADDED, arena, error);
  ss_aside_end(&aside);
  return ok;
}

/* Every rank has one piece: then messages have one chunk, and blocks are ranks. */
static bool one_each(const struct alltoall *a) {
  bool each = a->pieces == a->run->ranks;
  for (uint32_t j = 0; each && j < a->run->ranks; j++) each = a->of[j] == j;
  return each;
}

static uint32_t pieces_of(const struct alltoall *a, uint32_t owner) {
  return a->of[owner + 1] - a->of[owner];
}

/* Bags of the rank in the table, empty ones too. */
static uint64_t bags_in(const struct alltoall *a, uint32_t rank, uint32_t table) {
  const uint64_t *first = a->run->input->bagged[rank].first + table;
  return first[1] - first[0];
}

/* The view of a chunk of whole rows on a piece. A slice without columns is an empty payload. */
static struct ss_chunk owned(const struct ss_chunk *chunk, const struct piece *p) {
  const bool all = p->low == chunk->low && p->high == chunk->high;
  struct ss_chunk rows = all ? *chunk : ss_chunk_slice(chunk, p->low, p->high);
  struct ss_chunk slice = ss_chunk_columns(&rows, p->first, p->width);
  if (slice.width == 0) slice.count = 0;
  return slice;
}

/* --- bags ----------------------------------------------------------------------------------------------- */

/* The rank's bags that the piece has something of, without content. */
static struct ss_chunk bags_of(const struct alltoall *a, uint32_t rank, const struct piece *p) {
  struct ss_chunk bags = ss_pooling_bags(&a->pool, rank, p->range);
  bags.width = bags.stride = p->width;
  if (bags.width == 0) bags.count = 0;
  return bags;
}

/* Floats in a real run, where `here` lives in this process; else what a proof needs. */
static struct ss_pool_content content_of(const struct alltoall *a, uint32_t here, const struct piece *p) {
  const bool values = a->run->own[here].values != NULL;
  return (struct ss_pool_content){
      .marks = a->run->proof && !values, .values = values, .column = p->first, .arena = a->run->play->arena};
}

/* What the owner of piece k makes of the bags of rank `of`. To look up and pool is no part of the exchange. */
static bool pool_bags(const struct alltoall *a, uint32_t k, uint32_t of, struct ss_chunk *out,
                      struct ss_error *error) {
  const struct piece *p = &a->piece[k];
  const struct ss_pool_content content = content_of(a, p->owner, p);
  const struct ss_aside aside = ss_aside_begin();
  *out = bags_of(a, of, p);
  out->origin = p->owner;
  out->part = of;
  const bool ok = ss_pooling_parameters(&a->pool, of, p->range, &content, out, error);
  ss_aside_end(&aside);
  return ok;
}

/* The gradients of its bags that rank `of` has for the owner of piece k. */
static bool bag_gradients(const struct alltoall *a, uint32_t k, uint32_t of, struct ss_chunk *out,
                          struct ss_error *error) {
  const struct piece *p = &a->piece[k];
  const struct ss_pool_content content = content_of(a, of, p);
  const struct ss_aside aside = ss_aside_begin();
  *out = bags_of(a, of, p);
  out->origin = of;
  out->part = k;
  const bool ok = ss_pooling_gradients(of, &content, out, error);
  ss_aside_end(&aside);
  return ok;
}

/* These very bags came, each once, with what was sent of them where that can be told: no sum has what is of empty
 * bags.
 */
static bool all_came(const struct ss_chunk *got, const struct ss_chunk *due) {
  const struct ss_aside aside = ss_aside_begin();
  bool same = got->count == due->count;
  if (got->kind != SS_CHUNK_BARE && due->kind != SS_CHUNK_BARE) same = ss_chunk_equal(got, due);
  else if (same && due->count > 0)
    same = got->rows && memcmp(got->rows, due->rows, due->count * sizeof *due->rows) == 0;
  ss_aside_end(&aside);
  return same;
}

/* --- lookups -------------------------------------------------------------------------------------------- */

/* Parameters of the listed rows, in a real run. */
static bool fill_parameters(const struct alltoall *a, const struct piece *p, struct ss_chunk *chunk,
                            struct ss_error *error) {
  float *values = ss_arena_alloc(a->run->play->arena, chunk->count * chunk->width, sizeof *values);
  if (!values) return ss_fail_memory(error, "looking up parameters");
  const struct ss_aside aside = ss_aside_begin();
  for (uint64_t i = 0; i < chunk->count; i++) {
    uint64_t parameter = ss_contribution(SS_PARAMETERS, chunk->rows[i], 0);
    for (uint32_t c = 0; c < chunk->width; c++)
      values[i * chunk->width + c] = ss_contribution_value(parameter, p->first + c);
  }
  ss_aside_end(&aside);
  chunk->values = values;
  chunk->stride = chunk->width;
  return true;
}

static bool give_lookups(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  struct alltoall *a = context;
  const struct piece *p = a->piece + a->of[from];
  for (uint32_t k = 0; k < pieces_of(a, from); k++) {
    if (a->pooled) {
      if (!pool_bags(a, a->of[from] + k, to, &out[k], error)) return false;
      continue;
    }
    out[k] = owned(&a->known[to], &p[k]);
    out[k].origin = from;
    out[k].part = to;
    if (a->run->own[from].values && !fill_parameters(a, &p[k], &out[k], error)) return false;
  }
  return true;
}

static const struct ss_chunk *known_lookups(void *context, uint32_t from, uint32_t to) {
  struct alltoall *a = context;
  const uint32_t count = pieces_of(a, from);
  struct ss_chunk *known = ss_arena_alloc(a->run->play->arena, count, sizeof *known);
  for (uint32_t k = 0; known && k < count; k++) {
    const struct piece *p = &a->piece[a->of[from] + k];
    known[k] = a->pooled ? bags_of(a, to, p) : owned(&a->known[to], p);
  }
  return known;
}

static uint32_t count_lookups(const void *context, uint32_t from, uint32_t to) {
  (void)to;
  return pieces_of(context, from);
}

/* Rank `to` receives every piece once. */
static struct ss_slot slot_lookups(const void *context, uint32_t from, uint32_t to, uint32_t k) {
  const struct alltoall *a = context;
  return (struct ss_slot){to, a->of[from] + k};
}

/* The ids of what `from` looks up of the pieces of `to`; with where each of its bags ends among them, if pooled. */
static bool give_ids(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  (void)error;
  *out = (struct ss_chunk){.width = 1};
  for (uint32_t k = a->of[to]; k < a->of[to + 1]; k++) {
    const struct piece *p = &a->piece[k];
    if (!a->pooled) out->count += owned(&a->known[from], p).count;
    else if (p->width > 0) out->count += ss_pooling_lookups(&a->pool, from, p->range) + bags_in(a, from, p->table);
  }
  return true;
}

static bool gather_all_ids(struct ss_run *run, const struct ss_wire *ids, struct ss_error *error) {
  const struct ss_bagged *bagged = run->input->bagged;
  struct ss_gather gather;
  if (!ss_gather_open(&gather, run->ranks, ids, 0, 0, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++)
    ss_gather_set(&gather, r,
                  &(struct ss_chunk){.count = run->input->lookups[r] + (bagged ? bagged[r].count : 0), .width = 1});
  const bool ok = ss_gather_play(run->play, &gather, ss_allgather_ring, error);
  ss_gather_close(&gather);
  return ok;
}

/* All ranks get all ids; where owners have whole tables, or pieces of some, each gets those of its own. */
static bool gather_ids(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct ss_wire ids = {.format = SS_WIRE_VALUES, .value_bytes = 8};
  struct ss_exchange x = {.context = a, .give = give_ids, .wire = &ids};
  const bool payloads = run->play->payloads;
  if (!run->setting->value[GATHER_IDS]) return true;
  run->play->payloads = false; /* charged, not part of the proof */
  const bool ok = a->partition <= ROW ? gather_all_ids(run, &ids, error) : ss_pairwise(run->play, &x, error);
  run->play->payloads = payloads;
  return ok;
}

/* Rank j must hold every owner's part of the rows it looked up. */
static bool prove_lookups(struct alltoall *a, const struct ss_receipts *receipts, uint32_t j) {
  struct ss_run *run = a->run;
  for (uint32_t k = 0; k < a->pieces; k++) {
    const struct piece *p = &a->piece[k];
    struct ss_chunk due = owned(&a->known[j], p);
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

/* What rank j holds of all its bags in the table: partial sums of pieces that are cut by rows it adds up. */
static bool add_partial(struct alltoall *a, uint32_t j, uint32_t table, struct ss_chunk *held, uint32_t count,
                        struct ss_error *error) {
  struct ss_run *run = a->run;
  const uint64_t *first = run->input->bagged[j].first + table;
  const struct ss_operands operands = {held, count, first[0], first[1]};
  struct ss_chunk sum;
  if (!ss_chunk_sum(&operands, run->play->arena, &run->play->scratch, &sum, error)) return false;
  ss_play_note_sum(run->play, j, &run->coo, &operands, &sum);
  if (run->proof && !run->proof->pooled(run->proof, j, table, &sum, 0))
    ss_run_inexact(run, "rank %u does not end with the sums of its bags", j);
  return true;
}

static bool take_table(struct alltoall *a, struct ss_receipts *receipts, uint32_t j, uint32_t table,
                       struct ss_error *error) {
  struct ss_run *run = a->run;
  uint32_t n = 0;
  struct ss_chunk *held = ss_arena_alloc(run->play->arena, a->table_at[table + 1] - a->table_at[table], sizeof *held);
  if (!held) return ss_fail_memory(error, "adding up bags");
  for (uint32_t i = a->table_at[table]; i < a->table_at[table + 1]; i++) {
    const uint32_t k = a->of_table[i];
    const struct piece *p = &a->piece[k];
    const struct ss_chunk *got = &held[n];
    if (p->width == 0) continue;
    if (!pool_bags(a, k, j, &held[n], error)) return false;
    if (p->owner != j) got = ss_receipts_held(receipts, j, k, &held[n]);
    if (!got || (run->proof && !all_came(got, &held[n])))
      ss_run_inexact(run, "rank %u does not hold the bags of rank %u's part as they are", j, p->owner);
    if (!got) continue;
    held[n] = *got;
    if (!p->by_column) n++;
    else if (run->proof && !run->proof->pooled(run->proof, j, table, &held[n], p->first))
      ss_run_inexact(run, "rank %u holds wrong sums of its bags from rank %u's part", j, p->owner);
  }
  return n == 0 || add_partial(a, j, table, held, n, error);
}

/* Every rank ends with its bags of all tables. */
static bool take_bags(struct alltoall *a, struct ss_receipts *receipts, struct ss_error *error) {
  for (uint32_t j = 0; j < a->run->ranks; j++)
    for (uint32_t t = 0; ss_run_resident(a->run, j) && t < a->tables; t++)
      if (!take_table(a, receipts, j, t, error)) return false;
  return true;
}

/* Every pair sends the same bytes when counts are the same and columns divide: then one size stands for all. */
static void find_uniform(const struct alltoall *a, struct ss_exchange *x, struct ss_error *error) {
  const struct ss_input *input = a->run->input;
  const bool divides = a->partition == ROW ? !input->row && input->count[0] % a->run->ranks == 0
                                           : a->partition == COLUMN && input->width % a->run->ranks == 0;
  struct ss_chunk chunk;
  assert(a->run->ranks > 0);
  x->uniform = !a->run->play->payloads && input->even && divides;
  if (x->uniform && x->give(x->context, 0, 1, &chunk, error)) x->each = ss_wire_bytes(x->wire, &chunk);
}

static bool exchange_lookups(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct ss_several several = {.count = count_lookups, .slot = slot_lookups, .scratch = a->scratch};
  struct ss_wire values = run->coo;
  struct ss_receipts receipts = {0};
  values.format = SS_WIRE_VALUES;
  struct ss_exchange x = {.context = a, .give = give_lookups, .known = known_lookups, .wire = &values};
  x.receipts = &receipts;
  x.several = one_each(a) ? NULL : &several;
  find_uniform(a, &x, error);
  if (!gather_ids(a, error)) return false;
  bool ok = ss_receipts_open(&receipts, run->ranks, a->pieces, error) && ss_pairwise(run->play, &x, error);
  if (ok && a->pooled && run->play->payloads) ok = take_bags(a, &receipts, error);
  for (uint32_t j = 0; ok && !a->pooled && run->proof && j < run->ranks; j++)
    if (ss_run_resident(run, j) && !prove_lookups(a, &receipts, j)) break;
  ss_receipts_close(&receipts);
  return ok;
}

/* --- gradients ------------------------------------------------------------------------------------------ */

static bool give_gradients(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  for (uint32_t k = 0; k < pieces_of(a, to); k++) {
    if (a->pooled) {
      if (!bag_gradients(a, a->of[to] + k, from, &out[k], error)) return false;
      continue;
    }
    out[k] = owned(&a->run->own[from], &a->piece[a->of[to] + k]);
    out[k].origin = from;
    out[k].part = a->of[to] + k;
  }
  return true;
}

/* Of bags the owner knows which come: it has their ids. */
static const struct ss_chunk *known_gradients(void *context, uint32_t from, uint32_t to) {
  struct alltoall *a = context;
  struct ss_chunk *known = ss_arena_alloc(a->run->play->arena, pieces_of(a, to), sizeof *known);
  for (uint32_t k = 0; known && k < pieces_of(a, to); k++) known[k] = bags_of(a, from, &a->piece[a->of[to] + k]);
  return known;
}

static uint32_t count_gradients(const void *context, uint32_t from, uint32_t to) {
  (void)from;
  return pieces_of(context, to);
}

/* Every piece receives a block of every rank. */
static struct ss_slot slot_gradients(const void *context, uint32_t from, uint32_t to, uint32_t k) {
  const struct alltoall *a = context;
  return (struct ss_slot){a->of[to] + k, from};
}

/* The owner of piece k sums what it got of it. Pieces of the same rows share one sum. */
static bool add_piece(struct alltoall *a, struct ss_receipts *receipts, uint32_t k, struct ss_chunk *shared,
                      struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct piece *p = &a->piece[k];
  const uint32_t P = run->ranks;
  struct ss_chunk *block = ss_arena_alloc(run->play->arena, P, sizeof *block), sum;
  if (!block) return ss_fail_memory(error, "summing gradients");
  if (!p->by_column) *shared = (struct ss_chunk){0};
  for (uint32_t i = 0; i < P; i++) block[i] = owned(&run->own[i], p);
  /* Experts take tokens one by one and add nothing up: of these the sum is made for the proof alone. */
  const struct ss_aside aside = a->tokens ? ss_aside_begin() : (struct ss_aside){0};
  const bool ok =
      ss_receipts_sum(run->play, &(struct ss_received){receipts, block, p->low, p->high, shared}, k, &sum, error);
  if (a->tokens) ss_aside_end(&aside);
  if (!ok) return false;
  ss_run_sparse(run, p->owner, &sum, p->first, NULL);
  struct ss_chunk slice = sum;
  slice.width = p->width;
  if (!a->tokens)
    ss_play_note_sum(run->play, p->owner, &run->coo, &(struct ss_operands){block, P, p->low, p->high}, &slice);
  return true;
}

/* An owner sorts lookups and adds up what is of one row, as ranks do elsewhere before they send. */
static void note_coalesced(struct ss_run *run, const struct piece *p, uint64_t lookups, uint64_t distinct) {
  enum { INDEX = 4 };
  const uint64_t row = (uint64_t)p->width * run->input->value_bytes;
  ss_kernel_ran(SS_KERNEL_COALESCE, lookups);
  ss_kernel_ran(SS_KERNEL_PACK, lookups);
  if (lookups == 0) return;
  ss_play_note(run->play, p->owner, SS_KERNEL_COALESCE,
               (struct ss_kernel_work){1, lookups, (lookups + distinct) * INDEX});
  ss_play_note(run->play, p->owner, SS_KERNEL_PACK, (struct ss_kernel_work){1, lookups, (lookups + distinct) * row});
}

/* The gradients of all ranks' bags that the owner of piece k has, as gradients of its rows, added up. */
static bool spread_bags(struct alltoall *a, const struct ss_receipts *receipts, uint32_t k, struct ss_chunk *sum,
                        struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct piece *p = &a->piece[k];
  struct ss_chunk *rows = ss_arena_alloc(run->play->arena, run->ranks, sizeof *rows);
  uint64_t lookups = 0;
  SS_KERNEL_TIMED(SS_KERNEL_COALESCE);
  if (!rows) return ss_fail_memory(error, "summing gradients");
  for (uint32_t i = 0; i < run->ranks; i++) {
    struct ss_chunk due;
    if (!bag_gradients(a, k, i, &due, error)) return false;
    const struct ss_chunk *held = ss_receipts_held(receipts, k, i, &due), nothing = {.width = due.width};
    if (!held || (run->proof && !all_came(held, &due)))
      ss_run_inexact(run, "rank %u does not hold the gradients of rank %u's bags as they are", p->owner, i);
    if (!held) held = &nothing;
    if (!ss_pooling_spread(&a->pool, i, p->range, held, run->play->arena, &rows[i]))
      return ss_fail_memory(error, "summing gradients");
    lookups += rows[i].count;
  }
  const struct ss_kernel_paused kernels = ss_kernel_pause();
  const bool ok = ss_chunk_sum(&(struct ss_operands){rows, run->ranks, p->low, p->high}, run->play->arena,
                               &run->play->scratch, sum, error);
  ss_kernel_resume(kernels);
  if (ok) note_coalesced(run, p, lookups, sum->count);
  return ok;
}

static bool add_up_bags(struct alltoall *a, struct ss_receipts *receipts, struct ss_error *error) {
  for (uint32_t k = 0; k < a->pieces; k++) {
    const struct piece *p = &a->piece[k];
    struct ss_chunk sum;
    if (!ss_run_resident(a->run, p->owner)) continue;
    ss_receipts_add_run(a->run->play, receipts, k, p->owner, 1);
    if (p->width == 0) continue;
    if (!spread_bags(a, receipts, k, &sum, error)) return false;
    ss_run_sparse(a->run, p->owner, &sum, p->first, NULL);
  }
  return true;
}

static bool add_up(struct alltoall *a, struct ss_receipts *receipts, struct ss_error *error) {
  struct ss_run *run = a->run;
  struct ss_chunk *shared = ss_arena_zero(run->play->arena, a->tables, sizeof *shared);
  if (!shared) return ss_fail_memory(error, "summing gradients");
  for (uint32_t k = 0; k < a->pieces; k++) {
    const struct piece *p = &a->piece[k];
    if (!ss_run_resident(run, p->owner)) continue;
    ss_receipts_add_run(run->play, receipts, k, p->owner, 1);
    if (p->width > 0 && !add_piece(a, receipts, k, &shared[p->table], error)) return false;
  }
  return true;
}

static bool exchange_gradients(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  const struct ss_several several = {.count = count_gradients, .slot = slot_gradients, .scratch = a->scratch};
  struct ss_receipts receipts = {0};
  struct ss_wire wire = run->coo;
  struct ss_exchange x = {.context = a, .give = give_gradients, .wire = &wire, .receipts = &receipts};
  if (a->pooled) {
    wire.format = SS_WIRE_VALUES;
    x.known = known_gradients;
  }
  x.several = one_each(a) ? NULL : &several;
  find_uniform(a, &x, error);
  if (!a->pooled && !ss_announce_sizes(run->play, error)) return false;
  bool ok = (!run->play->payloads || ss_receipts_open(&receipts, a->pieces, run->ranks, error)) &&
            ss_pairwise(run->play, &x, error) &&
            (!run->play->payloads || (a->pooled ? add_up_bags : add_up)(a, &receipts, error));
  ss_receipts_close(&receipts);
  return ok;
}

static bool run_alltoall(struct ss_run *run, struct ss_error *error) {
  const enum exchange exchange = (enum exchange)run->setting->value[EXCHANGE];
  struct alltoall a = {
      .run = run, .partition = (enum partition)run->setting->value[PARTITION], .tokens = exchange == TOKENS};
  const struct ss_input *input = run->input;
  a.pooled = run->setting->value[POOLING] != NONE;
  if (!list_pieces(&a, error) || (a.pooled && !list_ranges(&a, error))) return false;
  if (!ss_take(run->play->arena, a.known, run->ranks)) return ss_fail_memory(error, "listing lookups");
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

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  (void)layout;
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
  if (setting->value[POOLING] != NONE && (setting->value[EXCHANGE] == TOKENS || !setting->value[COALESCE]))
    return ss_fail(error, SS_BAD_INPUT,
                   "bags are pooled into one vector each: leave \"coalesce\" and exchange \"tokens\", which send "
                   "one a lookup, out");
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->duplicates = !setting->value[COALESCE] || setting->value[EXCHANGE] == TOKENS;
  traits->fetches = setting->value[EXCHANGE] == LOOKUPS;
  traits->pools = traits->lists = setting->value[POOLING] != NONE;
  traits->lookups = !traits->pools && (setting->value[EXCHANGE] != GRADIENTS || traits->duplicates);
  traits->parts = setting->value[PARTITION] == ROW ? layout.ranks : 1;
  traits->joint = setting->value[PARTITION] >= TABLE;
  traits->placed = setting->value[PARTITION] == PLACED;
}

const struct ss_scheme ss_scheme_alltoall = {
    .name = "alltoall",
    .summary = "AlltoAll of looked-up parameters and of gradients; tables are placed on ranks (EmbRace)",
    .source = "EmbRace §4.1, Table 2",
    .options = options,
    .content = SS_SENDS_TABLE,
    .adapt = adapt,
    .check = check,
    .run = run_alltoall,
};
