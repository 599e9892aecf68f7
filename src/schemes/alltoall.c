/* AlltoAll with tables placed on ranks (EmbRace §4.1): looked-up parameters one way, gradients the other.
 *
 * By columns (default) rank j owns columns [floor(j*w/P), floor((j+1)*w/P)) of every row; by rows, EmbRace's
 * counter-example, an even range of rows. Recommenders place whole tables, or each table its own way: then all tables
 * travel in one exchange, and a rank may own pieces of several. Lookups: i -> j carries what j looked up of i's
 * pieces, without indices (ids are known to all). Gradients: i -> j carries i's gradient of j's pieces, with indices.
 * Tokens: as gradients, every lookup by itself, to the owners, and as lookups back: what a mixture of experts
 * dispatches and combines. Own pieces do not travel.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.064) + 3*(1 +
 * 0.128) = 6.576 us; three lookups of 16 columns of 4 bytes, three gradients with 4 bytes of index each. */
#include "schemes/run.h"
#include "schemes/scheme.h"

#include <assert.h>
#include <string.h>

enum exchange { BOTH, LOOKUPS, GRADIENTS, TOKENS };
enum partition { COLUMN, ROW, TABLE, PLACED };
static const char *const exchanges[] = {"both", "lookups", "gradients", "tokens", NULL};
static const char *const partitions[] = {"column", "row", "table", "placed", NULL};
enum { EXCHANGE, COALESCE, GATHER_IDS, PARTITION, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [EXCHANGE] = {"exchange", SS_OPTION_CHOICE, exchanges, 0, 0, BOTH,
                  "which of the two exchanges to play; tokens: to the rows' owners and back"},
    [COALESCE] = {"coalesce", SS_OPTION_FLAG, NULL, 0, 1, 1, "sum duplicate lookups before sending gradients"},
    [GATHER_IDS] = {"gather_ids", SS_OPTION_FLAG, NULL, 0, 1, 0,
                    "charge the ids first, 8 bytes a lookup: by columns or rows a ring all-gather"},
    [PARTITION] =
        {"partition", SS_OPTION_CHOICE, partitions, 0, 0, COLUMN,
         "cut the table by columns or by rows; all tables together, whole or as the scenario's \"placement\""},
};

/* What one rank owns of one table. */
struct piece {
  uint32_t owner, table;
  uint64_t low, high;    /* rows */
  uint32_t first, width; /* columns */
  bool by_column;        /* other pieces have the same rows */
};

struct alltoall {
  struct ss_run *run;
  enum partition partition;
  bool tokens;
  struct piece *piece; /* [pieces] those of rank 0 first */
  uint32_t pieces, tables;
  uint32_t *of;           /* [ranks + 1] rank j owns pieces of[j] to of[j + 1] - 1 */
  bool *owns;             /* [ranks] some part of some table */
  struct ss_chunk *known; /* [ranks] the rows each rank looked up; counts only where lists are not needed */
  struct ss_chunk *room;  /* [pieces] the chunks of a round */
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
                    shards->cut == SS_BY_COLUMN};
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
  uint32_t home = 0;
  for (uint32_t k = 0; k < a->tables; k++) {
    const struct ss_input_table table = table_of(a, k);
    const struct ss_shards shards = shards_of(a, &table, k, &home);
    for (uint32_t i = 0; i < shards.count; i++) {
      const struct piece p = piece_of(&table, &shards, k, i);
      a->owns[p.owner] = true;
      note(a, &p);
    }
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
  if (!ss_take(arena, a->piece, a->pieces) || !ss_take(arena, a->room, a->pieces))
    return ss_fail_memory(error, "placing tables");
  each_piece(a, put_piece);
  memmove(a->of + 1, a->of, P * sizeof *a->of); /* each had come to be where the next one's begin */
  a->of[0] = 0;
  return true;
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

/* The view of a chunk of whole rows on a piece. A slice without columns is an empty payload. */
static struct ss_chunk owned(const struct ss_chunk *chunk, const struct piece *p) {
  const bool all = p->low == chunk->low && p->high == chunk->high;
  struct ss_chunk rows = all ? *chunk : ss_chunk_slice(chunk, p->low, p->high);
  struct ss_chunk slice = ss_chunk_columns(&rows, p->first, p->width);
  if (slice.width == 0) slice.count = 0;
  return slice;
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
  for (uint32_t k = 0; known && k < count; k++) known[k] = owned(&a->known[to], &a->piece[a->of[from] + k]);
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

/* The ids of what `from` looks up of the pieces of `to`. */
static bool give_ids(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  (void)error;
  *out = (struct ss_chunk){.width = 1};
  for (uint32_t k = a->of[to]; k < a->of[to + 1]; k++) out->count += owned(&a->known[from], &a->piece[k]).count;
  return true;
}

static bool gather_all_ids(struct ss_run *run, const struct ss_wire *ids, struct ss_error *error) {
  struct ss_gather gather;
  if (!ss_gather_open(&gather, run->ranks, ids, 0, 0, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++)
    ss_gather_set(&gather, r, &(struct ss_chunk){.count = run->input->lookups[r], .width = 1});
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
  const struct ss_several several = {.count = count_lookups, .slot = slot_lookups, .room = a->room};
  struct ss_wire values = run->coo;
  struct ss_receipts receipts = {0};
  values.format = SS_WIRE_VALUES;
  struct ss_exchange x = {.context = a, .give = give_lookups, .known = known_lookups, .wire = &values};
  x.receipts = &receipts;
  x.several = one_each(a) ? NULL : &several;
  find_uniform(a, &x, error);
  if (!gather_ids(a, error)) return false;
  bool ok = ss_receipts_open(&receipts, run->ranks, a->pieces, error) && ss_pairwise(run->play, &x, error);
  for (uint32_t j = 0; ok && run->proof && j < run->ranks; j++)
    if (ss_run_resident(run, j) && !prove_lookups(a, &receipts, j)) break;
  ss_receipts_close(&receipts);
  return ok;
}

/* --- gradients ------------------------------------------------------------------------------------------ */

static bool give_gradients(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  (void)error;
  for (uint32_t k = 0; k < pieces_of(a, to); k++) {
    out[k] = owned(&a->run->own[from], &a->piece[a->of[to] + k]);
    out[k].origin = from;
    out[k].part = a->of[to] + k;
  }
  return true;
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
  struct ss_kernel_work *counts = a->tokens ? ss_kernel_pause() : NULL;
  const bool ok =
      ss_receipts_sum(run->play, &(struct ss_received){receipts, block, p->low, p->high, shared}, k, &sum, error);
  if (a->tokens) ss_kernel_resume(counts);
  if (!ok) return false;
  ss_run_sparse(run, p->owner, &sum, p->first, NULL);
  struct ss_chunk slice = sum;
  slice.width = p->width;
  if (!a->tokens)
    ss_play_note_sum(run->play, p->owner, &run->coo, &(struct ss_operands){block, P, p->low, p->high}, &slice);
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
  const struct ss_several several = {.count = count_gradients, .slot = slot_gradients, .room = a->room};
  struct ss_receipts receipts = {0};
  struct ss_exchange x = {.context = a, .give = give_gradients, .wire = &run->coo, .receipts = &receipts};
  x.several = one_each(a) ? NULL : &several;
  find_uniform(a, &x, error);
  if (!ss_announce_sizes(run->play, error)) return false;
  bool ok = (!run->play->payloads || ss_receipts_open(&receipts, a->pieces, run->ranks, error)) &&
            ss_pairwise(run->play, &x, error) && (!run->play->payloads || add_up(a, &receipts, error));
  ss_receipts_close(&receipts);
  return ok;
}

static bool run_alltoall(struct ss_run *run, struct ss_error *error) {
  const enum exchange exchange = (enum exchange)run->setting->value[EXCHANGE];
  struct alltoall a = {
      .run = run, .partition = (enum partition)run->setting->value[PARTITION], .tokens = exchange == TOKENS};
  const struct ss_input *input = run->input;
  if (!list_pieces(&a, error)) return false;
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
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->duplicates = !setting->value[COALESCE] || setting->value[EXCHANGE] == TOKENS;
  traits->fetches = setting->value[EXCHANGE] == LOOKUPS;
  traits->lookups = setting->value[EXCHANGE] != GRADIENTS || traits->duplicates;
  traits->parts = setting->value[PARTITION] == ROW ? layout.ranks : 1;
  traits->together = setting->value[PARTITION] >= TABLE;
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
