/* AlltoAll with the table cut over ranks (EmbRace §4.1): looked-up parameters one way, gradients the other.
 *
 * By columns (default) rank j owns columns [floor(j*w/P), floor((j+1)*w/P)) of every row; by rows, EmbRace's
 * counter-example, an even range of rows. Lookups: i -> j carries what j looked up of i's part, without indices (ids
 * are known to all). Gradients: i -> j carries i's gradient of j's part, with indices. Own parts do not travel.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.064) + 3*(1 +
 * 0.128) = 6.576 us; three lookups of 16 columns of 4 bytes, three gradients with 4 bytes of index each. */
#include "schemes/run.h"
#include "schemes/scheme.h"

#include <assert.h>
#include <string.h>

enum exchange { BOTH, LOOKUPS, GRADIENTS };
enum partition { COLUMN, ROW };
static const char *const exchanges[] = {"both", "lookups", "gradients", NULL};
static const char *const partitions[] = {"column", "row", NULL};
enum { EXCHANGE, COALESCE, GATHER_IDS, PARTITION, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [EXCHANGE] = {"exchange", SS_OPTION_CHOICE, exchanges, 0, 0, BOTH, "which of the two exchanges to play"},
    [COALESCE] = {"coalesce", SS_OPTION_FLAG, NULL, 0, 1, 1, "sum duplicate lookups before sending gradients"},
    [GATHER_IDS] = {"gather_ids", SS_OPTION_FLAG, NULL, 0, 1, 0,
                    "charge a ring all-gather of 8 bytes a lookup first"},
    [PARTITION] = {"partition", SS_OPTION_CHOICE, partitions, 0, 0, COLUMN, "cut the table by columns or by rows"},
};

struct alltoall {
  struct ss_run *run;
  bool by_row;
  struct ss_chunk *known; /* [ranks] the rows each rank looked up; counts only where lists are not needed */
};

static uint32_t column_of(const struct alltoall *a, uint32_t rank) {
  return (uint32_t)ss_share(a->run->input->width, a->run->ranks, rank);
}

/* The view of a chunk of whole rows on what `owner` owns. A slice without columns is an empty payload. */
static struct ss_chunk owned(const struct alltoall *a, const struct ss_chunk *chunk, uint32_t owner) {
  uint64_t rows = a->run->input->rows;
  uint32_t P = a->run->ranks, first = column_of(a, owner);
  if (a->by_row) return ss_chunk_slice(chunk, ss_share(rows, P, owner), ss_share(rows, P, owner + 1));
  struct ss_chunk slice = ss_chunk_columns(chunk, first, column_of(a, owner + 1) - first);
  if (slice.width == 0) slice.count = 0;
  return slice;
}

/* --- lookups -------------------------------------------------------------------------------------------- */

/* Parameters of the listed rows, in a real run. */
static bool fill_parameters(const struct alltoall *a, uint32_t owner, struct ss_chunk *chunk,
                            struct ss_error *error) {
  uint32_t first = a->by_row ? 0 : column_of(a, owner);
  float *values = ss_arena_alloc(a->run->play->arena, chunk->count * chunk->width, sizeof *values);
  if (!values) return ss_fail_memory(error, "looking up parameters");
  for (uint64_t i = 0; i < chunk->count; i++) {
    uint64_t parameter = ss_contribution(SS_PARAMETERS, chunk->rows[i], 0);
    for (uint32_t c = 0; c < chunk->width; c++)
      values[i * chunk->width + c] = ss_contribution_value(parameter, first + c);
  }
  chunk->values = values;
  chunk->stride = chunk->width;
  return true;
}

static bool give_lookups(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  struct alltoall *a = context;
  *out = owned(a, &a->known[to], from);
  out->origin = from;
  out->part = to;
  return !a->run->own[from].values || fill_parameters(a, from, out, error);
}

static const struct ss_chunk *known_lookups(void *context, uint32_t from, uint32_t to) {
  struct alltoall *a = context;
  struct ss_chunk *known = ss_arena_alloc(a->run->play->arena, 1, sizeof *known);
  if (known) *known = owned(a, &a->known[to], from);
  return known;
}

static bool gather_ids(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  struct ss_wire ids = {.format = SS_WIRE_VALUES, .value_bytes = 8};
  struct ss_gather gather;
  bool payloads = run->play->payloads, ok;
  if (!run->setting->value[GATHER_IDS]) return true;
  if (!ss_gather_open(&gather, run->ranks, &ids, 0, 0, error)) return false;
  for (uint32_t r = 0; r < run->ranks; r++)
    ss_gather_set(&gather, r, &(struct ss_chunk){.count = run->input->lookups[r], .width = 1});
  run->play->payloads = false; /* charged, not part of the proof */
  ok = ss_gather_play(run->play, &gather, ss_allgather_ring, error);
  run->play->payloads = payloads;
  ss_gather_close(&gather);
  return ok;
}

/* Rank j must hold every owner's part of the rows it looked up. */
static bool prove_lookups(struct alltoall *a, const struct ss_receipts *receipts, uint32_t j) {
  struct ss_run *run = a->run;
  for (uint32_t i = 0; i < run->ranks; i++) {
    struct ss_chunk due = owned(a, &a->known[j], i);
    if (i == j) continue;
    const struct ss_chunk *held = ss_receipts_held(receipts, j, i, &due);
    if (!held || held->count != due.count ||
        (due.count && held->rows != due.rows && memcmp(held->rows, due.rows, due.count * sizeof *due.rows) != 0)) {
      ss_run_inexact(run, "rank %u does not hold the rows it looked up of rank %u's part", j, i);
      return false;
    }
    if (held->values && !run->proof->parameters(run->proof, held, a->by_row ? 0 : column_of(a, i))) {
      ss_run_inexact(run, "rank %u holds wrong parameters of rank %u's part", j, i);
      return false;
    }
  }
  return true;
}

/* Every pair sends the same bytes when counts are the same and columns divide: then one size stands for all. */
static void find_uniform(const struct alltoall *a, struct ss_exchange *x, struct ss_error *error) {
  const struct ss_input *input = a->run->input;
  struct ss_chunk chunk;
  assert(a->run->ranks > 0);
  x->uniform = !a->run->play->payloads && input->even &&
               (a->by_row ? !input->row && input->count[0] % a->run->ranks == 0 : input->width % a->run->ranks == 0);
  if (x->uniform && x->give(x->context, 0, 1, &chunk, error)) x->each = ss_wire_bytes(x->wire, &chunk);
}

static bool exchange_lookups(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  struct ss_wire values = run->coo;
  struct ss_receipts receipts = {0};
  values.format = SS_WIRE_VALUES;
  struct ss_exchange x = {.context = a, .give = give_lookups, .known = known_lookups, .wire = &values};
  x.receipts = &receipts;
  find_uniform(a, &x, error);
  if (!gather_ids(a, error)) return false;
  bool ok = ss_receipts_open(&receipts, run->ranks, run->ranks, error) && ss_pairwise(run->play, &x, error);
  for (uint32_t j = 0; ok && run->proof && j < run->ranks; j++)
    if (ss_run_resident(run, j) && !prove_lookups(a, &receipts, j)) break;
  ss_receipts_close(&receipts);
  return ok;
}

/* --- gradients ------------------------------------------------------------------------------------------ */

static bool give_gradients(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct alltoall *a = context;
  (void)error;
  *out = owned(a, &a->run->own[from], to);
  out->origin = from;
  out->part = to;
  return true;
}

/* Every rank sums what it got of its part. By columns all sum the same rows, so they share one sum. */
static bool add_up(struct alltoall *a, struct ss_receipts *receipts, struct ss_error *error) {
  struct ss_run *run = a->run;
  uint32_t P = run->ranks;
  uint64_t rows = run->input->rows;
  struct ss_chunk *block = ss_arena_alloc(run->play->arena, P, sizeof *block), shared = {0}, sum;
  if (!block) return ss_fail_memory(error, "summing gradients");
  for (uint32_t j = 0; j < P; j++) {
    if (!ss_run_resident(run, j)) continue;
    ss_receipts_add_run(run->play, receipts, j, j, 1);
    if (!a->by_row && column_of(a, j) == column_of(a, j + 1)) continue; /* owns nothing */
    bool afresh = a->by_row || !shared.rows || run->own[j].values;
    for (uint32_t i = 0; afresh && i < P; i++) block[i] = owned(a, &run->own[i], j);
    if (a->by_row) shared = (struct ss_chunk){0};
    uint64_t low = a->by_row ? ss_share(rows, P, j) : 0, high = a->by_row ? ss_share(rows, P, j + 1) : rows;
    if (!ss_receipts_sum(run->play, &(struct ss_received){receipts, block, low, high, &shared}, j, &sum, error))
      return false;
    ss_run_sparse(run, j, &sum, a->by_row ? 0 : column_of(a, j), NULL);
    struct ss_chunk slice = sum;
    slice.width = a->by_row ? run->input->width : column_of(a, j + 1) - column_of(a, j);
    if (!afresh) /* the blocks are those of another's columns */
      for (uint32_t i = 0; i < P; i++) block[i] = owned(a, &run->own[i], j);
    ss_play_note_sum(run->play, j, &run->coo, &(struct ss_operands){block, P, low, high}, &slice);
  }
  return true;
}

static bool exchange_gradients(struct alltoall *a, struct ss_error *error) {
  struct ss_run *run = a->run;
  struct ss_receipts receipts = {0};
  struct ss_exchange x = {.context = a, .give = give_gradients, .wire = &run->coo, .receipts = &receipts};
  find_uniform(a, &x, error);
  if (!ss_announce_sizes(run->play, error)) return false;
  bool ok = (!run->play->payloads || ss_receipts_open(&receipts, run->ranks, run->ranks, error)) &&
            ss_pairwise(run->play, &x, error) && (!run->play->payloads || add_up(a, &receipts, error));
  ss_receipts_close(&receipts);
  return ok;
}

static bool run_alltoall(struct ss_run *run, struct ss_error *error) {
  struct alltoall a = {.run = run};
  const struct ss_input *input = run->input;
  enum exchange exchange = (enum exchange)run->setting->value[EXCHANGE];
  a.by_row = run->setting->value[PARTITION] == ROW;
  if (!ss_take(run->play->arena, a.known, run->ranks)) return ss_fail_memory(error, "listing lookups");
  for (uint32_t r = 0; r < run->ranks; r++)
    a.known[r] = (struct ss_chunk){.rows = input->lookup ? input->lookup[r] : NULL,
                                   .count = input->lookups[r],
                                   .high = input->rows,
                                   .width = input->width,
                                   .stride = input->width};
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
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->duplicates = !setting->value[COALESCE];
  traits->lookups = setting->value[EXCHANGE] != GRADIENTS || traits->duplicates;
  traits->parts = setting->value[PARTITION] == ROW ? layout.ranks : 1;
}

const struct ss_scheme ss_scheme_alltoall = {
    .name = "alltoall",
    .summary = "AlltoAll of looked-up parameters and of gradients; the table is cut over ranks (EmbRace)",
    .source = "EmbRace §4.1, Table 2",
    .options = options,
    .content = SS_SENDS_TABLE,
    .adapt = adapt,
    .check = check,
    .run = run_alltoall,
};
