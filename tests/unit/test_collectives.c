/* What every building block does: rounds, messages and bytes in all, what its members hold in the end, which faults
 * it sees. (tests/cli/second_model.py has every message of docs/model.md, "Building blocks", and `sparsync check` the
 * closed forms of their time.) */
#include "support.h"

#include "base/memory.h"
#include "sim/collectives/collectives.h"
#include "sim/engine.h"

enum { MOST = 40, ALL_SIZES = MOST };

/* --- a player that counts, and hands on to the engine ---------------------------------------------------- */

struct recorder {
  struct ss_player player;
  struct ss_engine engine;
  uint32_t rounds, messages;
  uint64_t bytes;
  void (*meddle)(struct ss_round *round, uint32_t number);
};

static bool record(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct recorder *r = (struct recorder *)player;
  r->messages += round->messages.count;
  for (uint32_t i = 0; i < round->messages.count; i++) {
    r->bytes += ss_message_bytes(&round->messages, i);
    if (!round->payloads || r->meddle) continue;
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < round->payloads[i].count; c++)
      bytes += ss_wire_bytes(ss_round_wire(round, i), &round->payloads[i].chunks[c]);
    const struct ss_portion *portion = round->payloads[i].portion;
    const uint64_t sent = ss_message_bytes(&round->messages, i);
    if (!portion) assert_int_equal(bytes, sent);
    else if (!portion->stream) assert_true(bytes <= sent);
    else assert_true(bytes == portion->whole && portion->first + sent <= bytes);
  }
  if (r->meddle) r->meddle(round, r->rounds);
  r->rounds++;
  return r->engine.player.play(&r->engine.player, round, error);
}

static void check_totals(const struct recorder *r, uint32_t rounds, uint32_t messages, uint64_t bytes) {
  assert_int_equal(r->rounds, rounds);
  assert_int_equal(r->messages, messages);
  assert_int_equal(r->bytes, bytes);
}

/* --- a world: ranks, all of them or some that gather, a play ------------------------------------------- */

enum layout { NATURAL, SOME_RANKS, LAYOUTS };

struct world {
  struct recorder recorder;
  struct ss_play play;
  struct ss_arena arena;
  uint32_t size, rank[MOST]; /* of those that take part, in the play */
  enum layout layout;
  struct ss_error error;
};

static struct ss_cluster bumpy_cluster(void) {
  struct ss_cluster c = flat_cluster(25e-6, 3.2e-7);
  c.gpus_per_node = 3;
  c.nic_per_node = c.has_intra = true;
  c.intra = (struct ss_link){3e-6, 1e-8};
  return c;
}

static void open_world(struct world *w, uint32_t size, enum layout layout, uint32_t servers, bool payloads,
                       struct ss_cluster cluster) {
  uint32_t ranks = layout == SOME_RANKS ? 2 * size + 1 : size;
  *w = (struct world){.size = size, .layout = layout};
  for (uint32_t p = 0; p < size; p++) w->rank[p] = layout == SOME_RANKS ? 2 * p + 1 : p;
  w->recorder.player.play = record;
  assert_true(ss_engine_open(&w->recorder.engine, &cluster, ranks, servers, &w->error));
  assert_true(ss_play_open(&w->play, &w->recorder.player, ranks, servers, &w->error));
  w->play.payloads = payloads;
  w->play.arena = &w->arena;
}

/* The time that the engine gave. */
static double close_world(struct world *w) {
  double time = ss_engine_tally(&w->recorder.engine, 0).time;
  ss_engine_close(&w->recorder.engine);
  ss_play_close(&w->play);
  ss_arena_free(&w->arena);
  return time;
}

/* --- sizes ----------------------------------------------------------------------------------------------- */

static const struct ss_wire coo = {.format = SS_WIRE_COO, .value_bytes = 4, .index_bytes = 4};
static const struct ss_wire values_only = {.format = SS_WIRE_VALUES, .value_bytes = 4, .index_bytes = 4};
static const struct ss_wire dense_wire = {.format = SS_WIRE_DENSE, .value_bytes = 4};
enum { WIDTH = 3, ROWS = 16 };
static const uint32_t some_rows[ROWS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint64_t some_marks[ROWS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* Rows of what `from` has for `to`: ragged, a quarter of them empty. */
static uint32_t ragged(uint32_t from, uint32_t to) {
  uint64_t mixed = ss_mix(from + 1, to);
  return mixed % 4 == 0 ? 0 : (uint32_t)(mixed >> 32) % ROWS;
}
static uint64_t coo_bytes(uint64_t rows) {
  return rows * (WIDTH * 4 + 4);
}

static struct ss_chunk some_chunk(bool payloads, uint32_t rows, uint32_t origin, uint32_t part) {
  struct ss_chunk chunk = {.count = rows, .high = ROWS, .width = WIDTH, .origin = origin, .part = part};
  if (payloads) chunk.rows = some_rows, chunk.proofs = some_marks, chunk.kind = SS_CHUNK_PROOFS;
  return chunk;
}

static uint32_t ceil_log2(uint32_t n) {
  uint32_t log = 0;
  while ((1u << log) < n) log++;
  return log;
}

/* --- all-gathers ----------------------------------------------------------------------------------------- */

enum gather { RING, DIRECT, BRUCK, DOUBLING, GATHERS };
static bool (*const gather_block[])(struct ss_play *, struct ss_gather *, struct ss_error *) = {
    ss_allgather_ring, ss_allgather_direct, ss_allgather_bruck, ss_allgather_doubling};

/* Uniform sizes with every third size of a group, ragged otherwise. */
static uint32_t block_rows(const struct world *w, uint32_t position) {
  return w->size % 3 == 0 ? 5 : ragged(0, position);
}
/* The largest power of two of at most P: who goes on after a fold. */
static uint32_t core_of(uint32_t P) {
  uint32_t Q = 1;
  while (2 * Q <= P) Q *= 2;
  return Q;
}

/* Everyone gets every other's block once. */
static void check_gather_totals(const struct world *w, enum gather which) {
  uint32_t P = w->size, Q = core_of(P), L = ceil_log2(Q), q = P - Q, f = q > 0, rounds = P - 1,
           messages = P * (P - 1);
  if (which == BRUCK) rounds = ceil_log2(P), messages = P * rounds;
  if (which == DOUBLING) rounds = L + 2 * f, messages = L * Q + 2 * q;
  uint64_t bytes = 0;
  for (uint32_t p = 0; p < P; p++) bytes += (P - 1) * coo_bytes(block_rows(w, p));
  check_totals(&w->recorder, rounds, messages, bytes);
}

static void open_gather(struct world *w, struct ss_gather *gather, const struct ss_wire *wire) {
  assert_true(ss_gather_open(gather, w->size, wire, 0, ROWS, &w->error));
  if (w->layout == SOME_RANKS) gather->rank = w->rank;
  for (uint32_t p = 0; p < w->size; p++) {
    struct ss_chunk block = some_chunk(w->play.payloads, block_rows(w, p), w->rank[p], 7 + 2 * p);
    ss_gather_set(gather, p, &block);
  }
}

static void check_everyone_holds_everything(struct world *w, const struct ss_gather *gather) {
  uint32_t P = w->size;
  assert_int_equal(w->play.mismatches, 0);
  for (uint32_t r = 0; r < P; r++) {
    assert_true(ss_receipts_regular(&gather->receipts, r));
    for (uint32_t b = 0; b < P; b++) {
      const struct ss_chunk *sent = &gather->block[b];
      assert_ptr_equal(ss_receipts_held(&gather->receipts, r, b, sent), sent);
    }
  }
}

static double play_gather(enum gather which, uint32_t size, enum layout layout, bool payloads) {
  static struct world w;
  struct ss_gather gather;
  open_world(&w, size, layout, 0, payloads, bumpy_cluster());
  open_gather(&w, &gather, &coo);
  assert_true(ss_gather_play(&w.play, &gather, gather_block[which], &w.error));
  check_gather_totals(&w, which);
  if (payloads) check_everyone_holds_everything(&w, &gather);
  ss_gather_close(&gather);
  return close_world(&w);
}

TEST(gathers_follow_their_definitions) {
  for (enum gather which = 0; which < GATHERS; which++)
    for (uint32_t size = 1; size <= ALL_SIZES; size++)
      for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        double with = play_gather(which, size, layout, true), without = play_gather(which, size, layout, false);
        assert_true(with == without);
        assert_true((with > 0) == (size > 1));
      }
}

/* Payloads off the wire are copies: the same arrays in other structs must do, or others with the same content must
 * be passed on as they came. */
static struct ss_chunk copies[MOST * MOST];
static uint32_t copied;
static void copy_payloads(struct ss_round *round, uint32_t number) {
  copied = 0;
  (void)number;
  for (uint32_t i = 0; i < round->messages.count; i++) {
    struct ss_payload *payload = &round->payloads[i];
    assert_true(copied + payload->count <= COUNT(copies));
    memcpy(&copies[copied], payload->chunks, payload->count * sizeof *copies);
    payload->chunks = &copies[copied];
    copied += payload->count;
  }
}

TEST(gathers_take_copies) {
  static struct world w;
  for (enum gather which = 0; which < GATHERS; which++)
    for (uint32_t size = 1; size <= 17; size++) {
      struct ss_gather gather;
      open_world(&w, size, NATURAL, 0, true, bumpy_cluster());
      w.recorder.meddle = copy_payloads;
      open_gather(&w, &gather, &coo);
      assert_true(ss_gather_play(&w.play, &gather, gather_block[which], &w.error));
      check_everyone_holds_everything(&w, &gather);
      ss_gather_close(&gather);
      close_world(&w);
    }
}

static const uint64_t other_marks[ROWS] = {9};
static void alter_the_first_message(struct ss_round *round, uint32_t number) {
  if (number > 0) return;
  copies[0] = round->payloads[0].chunks[0];
  copies[0].marks = other_marks;
  round->payloads[0].chunks = copies;
}

TEST(what_comes_altered_is_passed_on_altered) {
  static struct world w;
  struct ss_gather gather;
  open_world(&w, 6, NATURAL, 0, true, bumpy_cluster()); /* a ring: 0 -> 1 is the only way block 0 takes */
  w.recorder.meddle = alter_the_first_message;
  open_gather(&w, &gather, &coo);
  assert_true(ss_gather_play(&w.play, &gather, ss_allgather_ring, &w.error));
  for (uint32_t r = 0; r < 6; r++) {
    const struct ss_chunk *held = ss_receipts_held(&gather.receipts, r, 0, &gather.block[0]);
    assert_ptr_equal(held->marks, r == 0 ? some_marks : other_marks);
    assert_int_equal(ss_receipts_regular(&gather.receipts, r), r == 0);
    for (uint32_t b = 1; b < 6; b++)
      assert_ptr_equal(ss_receipts_held(&gather.receipts, r, b, &gather.block[b]), &gather.block[b]);
  }
  ss_gather_close(&gather);
  close_world(&w);
}

static void swap_two_messages(struct ss_round *round, uint32_t number) {
  if (number > 0 || round->messages.count < 2) return;
  struct ss_payload first = round->payloads[0];
  round->payloads[0] = round->payloads[1];
  round->payloads[1] = first;
}

TEST(gathers_see_swapped_blocks) {
  static struct world w;
  for (enum gather which = 0; which < GATHERS; which++)
    for (uint32_t size = 2; size <= 9; size++) {
      struct ss_gather gather;
      if (which == DOUBLING && (size == 3 || size == 5 || size == 9)) continue; /* the first round is one message */
      open_world(&w, size, NATURAL, 0, true, bumpy_cluster());
      w.recorder.meddle = swap_two_messages;
      open_gather(&w, &gather, &coo);
      assert_true(ss_gather_play(&w.play, &gather, gather_block[which], &w.error));
      assert_true(w.play.mismatches > 0);
      ss_gather_close(&gather);
      close_world(&w);
    }
}

static const struct ss_payload *known_seen;
static void see_known(struct ss_round *round, uint32_t number) {
  if (number == 0) known_seen = round->payloads;
  for (uint32_t i = 0; i < round->messages.count; i++) {
    assert_non_null(round->payloads[i].known);
    for (uint32_t c = 0; c < round->payloads[i].count; c++) {
      assert_int_equal(round->payloads[i].known[c].origin, round->payloads[i].chunks[c].origin);
      assert_int_equal(round->payloads[i].known[c].part, 99);
    }
  }
}

/* A second all-gather, of values alone: the receivers know the rows from a first one. */
TEST(gathers_say_what_receivers_know) {
  static struct world w;
  for (enum gather which = 0; which < GATHERS; which++)
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
      struct ss_gather gather;
      struct ss_chunk known[2 * 7];
      open_world(&w, 7, layout, 0, true, bumpy_cluster());
      w.recorder.meddle = see_known;
      open_gather(&w, &gather, &values_only);
      for (uint32_t i = 0; i < 2 * 7; i++) {
        known[i] = gather.block[i];
        known[i].part = 99;
      }
      gather.known = known;
      assert_true(ss_gather_play(&w.play, &gather, gather_block[which], &w.error));
      check_everyone_holds_everything(&w, &gather);
      ss_gather_close(&gather);
      close_world(&w);
    }
}

TEST(sizes_are_announced_by_bruck) {
  static struct world w;
  for (uint32_t size = 1; size <= ALL_SIZES; size++)
    for (int payloads = 0; payloads < 2; payloads++) {
      open_world(&w, size, NATURAL, 0, payloads, bumpy_cluster());
      assert_true(ss_announce_sizes(&w.play, &w.error));
      assert_int_equal(w.recorder.rounds, 0); /* "sizes": "free" */
      w.play.exchange_sizes = true;
      assert_true(ss_announce_sizes(&w.play, &w.error));
      check_totals(&w.recorder, ceil_log2(size), size * ceil_log2(size), UINT64_C(8) * size * (size - 1));
      close_world(&w);
    }
}

/* --- unlike lengths -------------------------------------------------------------------------------------- */

/* Entries of a block: none, few, or several pieces' worth. */
static uint64_t some_entries(struct dice *dice) {
  if (dice_one_in(dice, 4)) return 0;
  return dice_below(dice, dice_one_in(dice, 3) ? 120000 : 40);
}

/* What every position has, as a caller would have it. */
static void draw_blocks(struct dice *dice, struct world *w, struct ss_chunk *block, bool even) {
  const uint64_t all = some_entries(dice);
  for (uint32_t p = 0; p < w->size; p++) {
    block[p] = some_chunk(w->play.payloads, 0, p, 7 + 2 * p);
    block[p].count = even ? all : some_entries(dice);
  }
}

/* One hop of one piece. */
struct hop {
  uint64_t step, bytes;
  uint32_t number, from, to; /* of the hop, from 1; and its ends */
};

static int by_step(const void *a, const void *b) {
  const struct hop *x = a, *y = b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return (x->from > y->from) - (x->from < y->from);
}

/* Every hop of every piece of every block: piece k of block b makes its hop s in step k + s. */
static uint32_t list_hops(const struct ss_chunk *block, uint32_t P, struct hop *out) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < P; b++) {
    const uint64_t whole = coo_bytes(block[b].count);
    uint64_t first = 0, k = 0;
    do {
      const uint64_t bytes = whole - first < 524288 ? whole - first : 524288;
      for (uint32_t s = 1; s < P; s++) out[n++] = (struct hop){k + s, bytes, s, (b + s - 1) % P, (b + s) % P};
      first += bytes, k++;
    } while (first < whole);
  }
  qsort(out, n, sizeof *out, by_step);
  return n;
}

/* By single ports of 1 us and 1 ns/B: a step's pieces wait at each end for all that it did in steps before. */
static double slow_time(const struct hop *hop, uint32_t n) {
  double out[MOST] = {0}, in[MOST] = {0}, ready[MOST] = {0}, last = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct hop *h = &hop[i];
    if (i == 0 || h->step != hop[i - 1].step)
      for (uint32_t r = 0; r < MOST; r++) ready[r] = fmax(out[r], in[r]);
    const double start = fmax(fmax(ready[h->from], ready[h->to]), fmax(out[h->from], in[h->to]));
    out[h->from] = in[h->to] = start + 1e-6 + 1e-9 * (double)h->bytes;
    last = fmax(last, out[h->from]);
  }
  return last;
}

TEST(broadcasts_go_in_pieces) {
  static struct world w;
  static struct hop hop[4 * MOST * MOST];
  for (uint32_t size = 1; size <= 33; size++)
    for (uint64_t seed = 0; seed < 6; seed++) {
      struct dice dice = {.seed = 100 * size + seed};
      struct ss_chunk block[MOST];
      struct ss_gather gather;
      open_world(&w, size, NATURAL, 0, seed % 2, flat_cluster(1e-6, 1e-9));
      draw_blocks(&dice, &w, block, seed >= 4);
      w.play.ragged = SS_RAGGED_BROADCASTS;
      assert_true(ss_gather_open(&gather, size, &coo, 0, ROWS, &w.error));
      assert_true(ss_gather_announced(&w.play, &gather, block, ss_allgather_bruck, &w.error));
      const uint32_t hops = list_hops(block, size, hop);
      assert_int_equal(w.recorder.messages, hops);
      uint64_t bytes = 0;
      for (uint32_t i = 0; i < hops; i++) bytes += hop[i].bytes;
      assert_int_equal(w.recorder.bytes, bytes);
      if (w.play.payloads) check_everyone_holds_everything(&w, &gather);
      ss_gather_close(&gather);
      const double slow = slow_time(hop, hops), time = close_world(&w);
      if (fabs(time - slow) > 1e-12 * slow)
        fail_msg("%u ranks, seed %d: %.17g, not %.17g", size, (int)seed, time, slow);
    }
}

TEST(padded_gathers_are_as_long_as_the_longest) {
  static struct world w;
  for (enum gather which = 0; which < GATHERS; which++)
    for (uint32_t size = 1; size <= 33; size++)
      for (int way = 0; way < 4; way++) {
        struct dice dice = {.seed = 1000 + size};
        struct ss_chunk block[MOST];
        struct ss_gather gather;
        uint64_t longest = 0;
        open_world(&w, size, NATURAL, 0, way % 2, bumpy_cluster());
        draw_blocks(&dice, &w, block, false);
        for (uint32_t p = 0; p < size; p++) longest = block[p].count > longest ? block[p].count : longest;
        w.play.ragged = SS_RAGGED_PADDED;
        w.play.exchange_sizes = way / 2;
        assert_true(ss_gather_open(&gather, size, &coo, 0, ROWS, &w.error));
        assert_true(ss_gather_announced(&w.play, &gather, block, gather_block[which], &w.error));
        const uint64_t told = way / 2 ? UINT64_C(8) * size * (size - 1) : 0;
        assert_int_equal(w.recorder.bytes, (uint64_t)size * (size - 1) * coo_bytes(longest) + told);
        if (way % 2) check_everyone_holds_everything(&w, &gather);
        ss_gather_close(&gather);
        close_world(&w);
      }
}

/* --- exchanges ------------------------------------------------------------------------------------------- */

struct giver {
  struct world *w;
  bool uniform;
  uint32_t fails_for; /* receiver for whom it cannot make a chunk, 0: none */
};

static bool give_chunk(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct giver *giver = context;
  if (giver->fails_for && to == giver->fails_for) return ss_fail(error, SS_MACHINE, "nothing to give");
  *out = some_chunk(giver->w->play.payloads, giver->uniform ? 5 : ragged(from, to), from, 100 + to);
  return true;
}

enum exchange { PAIRWISE, FAN_IN, FAN_OUT, SCATTER, EXCHANGES };

/* Everyone's chunk for everyone, once. */
static void check_exchange_totals(const struct world *w, enum exchange which, uint32_t owner, bool uniform) {
  uint32_t P = w->size, messages = 0;
  bool served = which == FAN_IN || which == FAN_OUT;
  uint64_t bytes = 0;
  for (uint32_t from = 0; from < (which == FAN_OUT ? w->play.servers : P); from++)
    for (uint32_t to = 0; to < (which == FAN_IN ? w->play.servers : P); to++)
      if (served || (from != to && (which == PAIRWISE || from == owner)))
        messages++, bytes += coo_bytes(uniform ? 5 : ragged(from, to));
  check_totals(&w->recorder, served ? P : P - 1, messages, bytes);
}

static void play_block(struct world *w, enum exchange which, uint32_t owner, struct ss_exchange *x) {
  if (which == PAIRWISE) assert_true(ss_pairwise(&w->play, x, &w->error));
  if (which == FAN_IN) assert_true(ss_fan_in(&w->play, x, &w->error));
  if (which == FAN_OUT) assert_true(ss_fan_out(&w->play, x, &w->error));
  if (which == SCATTER) assert_true(ss_scatter(&w->play, owner, x, &w->error));
}

/* Every receiver has what each of its senders has for it, and nothing else. */
static void check_exchanged(const struct world *w, enum exchange which, uint32_t owner,
                            const struct ss_receipts *receipts) {
  assert_int_equal(w->play.mismatches, 0);
  assert_int_equal(receipts->others, 0);
  for (uint32_t to = 0; to < receipts->receivers; to++)
    for (uint32_t from = 0; from < receipts->blocks; from++) {
      bool due = which == PAIRWISE ? from != to : which == SCATTER ? from == owner && to != owner : true;
      assert_int_equal(ss_receipts_has(receipts, to, from), due);
    }
}

enum mode { PAYLOADS, COUNTS, UNIFORM };

static double play_exchange(enum exchange which, uint32_t size, uint32_t servers, enum mode mode, bool even) {
  static struct world w;
  uint32_t owner = size / 3;
  bool served = which == FAN_IN || which == FAN_OUT;
  struct ss_receipts receipts;
  open_world(&w, size, NATURAL, served ? servers : 0, mode == PAYLOADS, bumpy_cluster());
  assert_true(
      ss_receipts_open(&receipts, which == FAN_IN ? servers : size, which == FAN_OUT ? servers : size, &w.error));
  struct giver giver = {.w = &w, .uniform = even};
  struct ss_exchange x = {.context = &giver, .give = give_chunk, .wire = &coo};
  if (mode == PAYLOADS) x.receipts = &receipts;
  if (mode == UNIFORM) x.give = NULL, x.uniform = true, x.each = coo_bytes(5);
  play_block(&w, which, owner, &x);
  check_exchange_totals(&w, which, owner, even);
  if (mode == PAYLOADS) check_exchanged(&w, which, owner, &receipts);
  ss_receipts_close(&receipts);
  return close_world(&w);
}

TEST(exchanges_follow_their_definitions) {
  for (enum exchange which = 0; which < EXCHANGES; which++)
    for (uint32_t size = 1; size <= ALL_SIZES; size++)
      for (uint32_t variant = 0; variant < (which == FAN_IN || which == FAN_OUT ? 3 : 1); variant++) {
        uint32_t servers = variant == 0 ? 1 : variant == 1 ? size : size / 2 + 1;
        double with = play_exchange(which, size, servers, PAYLOADS, false);
        assert_true(with == play_exchange(which, size, servers, COUNTS, false));
        with = play_exchange(which, size, servers, PAYLOADS, true);
        assert_true(with == play_exchange(which, size, servers, COUNTS, true));
      }
}

/* What counts and messages take from `from_end` to `to_end` ends: padded messages are as long as the longest of all.
 */
static uint64_t told_and_sent(uint32_t from_end, uint32_t to_end, bool served, bool padded) {
  uint64_t bytes = 0, most = 0, pairs = 0;
  for (uint32_t from = 0; from < from_end; from++)
    for (uint32_t to = 0; to < to_end; to++) {
      if (!served && from == to) continue;
      const uint64_t own = coo_bytes(ragged(from, to));
      pairs++, bytes += own;
      most = own > most ? own : most;
    }
  return padded ? 8 * (uint64_t)from_end * (from_end - 1) + pairs * most : 8 * pairs + bytes;
}

static void tell_sizes_and_pad(enum exchange which, uint32_t size, bool payloads, bool pads) {
  static struct world w;
  const bool served = which != PAIRWISE;
  const uint32_t servers = served ? size / 2 + 1 : 0, to_end = which == FAN_IN ? servers : size,
                 from_end = which == FAN_OUT ? servers : size;
  struct ss_receipts receipts;
  struct giver giver = {.w = &w};
  open_world(&w, size, NATURAL, servers, payloads, bumpy_cluster());
  w.play.exchange_sizes = true;
  w.play.ragged = pads ? SS_RAGGED_PADDED : SS_RAGGED_V;
  assert_true(ss_receipts_open(&receipts, to_end, from_end, &w.error));
  struct ss_exchange x = {
      .context = &giver, .give = give_chunk, .wire = &coo, .counted = true, .receipts = payloads ? &receipts : NULL};
  play_block(&w, which, 0, &x);
  assert_int_equal(w.recorder.bytes, told_and_sent(from_end, to_end, served, pads && !served));
  if (payloads) check_exchanged(&w, which, 0, &receipts);
  ss_receipts_close(&receipts);
  close_world(&w);
}

/* Counts first go the way of what they count. */
TEST(exchanges_tell_sizes_and_pad) {
  for (enum exchange which = 0; which < SCATTER; which++)
    for (uint32_t size = 1; size <= 33; size++)
      for (int way = 0; way < 4; way++) tell_sizes_and_pad(which, size, way % 2, way / 2);
}

/* Hosts wait once for what was told. */
TEST(hosts_wait_for_sizes) {
  static struct world w;
  for (uint32_t size = 2; size <= 9; size++) {
    double time[2];
    for (int waits = 0; waits < 2; waits++) {
      struct ss_chunk block[MOST];
      struct ss_gather gather;
      struct dice dice = {.seed = size};
      open_world(&w, size, NATURAL, 0, true, flat_cluster(1e-6, 1e-9));
      draw_blocks(&dice, &w, block, true);
      w.play.exchange_sizes = true;
      w.play.call = waits ? 0.5 : 0;
      assert_true(ss_gather_open(&gather, size, &coo, 0, ROWS, &w.error));
      assert_true(ss_gather_announced(&w.play, &gather, block, ss_allgather_ring, &w.error));
      ss_gather_close(&gather);
      time[waits] = close_world(&w);
    }
    assert_true(fabs(time[1] - time[0] - 0.5) < 1e-12);
  }
}

/* "`give` is not asked": there is none. */
TEST(uniform_exchanges_ask_for_no_chunks) {
  for (enum exchange which = 0; which < EXCHANGES; which++)
    for (uint32_t size = 1; size <= ALL_SIZES; size += 3)
      assert_true(play_exchange(which, size, size / 2 + 1, UNIFORM, true) ==
                  play_exchange(which, size, size / 2 + 1, PAYLOADS, true));
}

static struct ss_chunk known_rows;
static const struct ss_chunk *what_is_known(void *context, uint32_t from, uint32_t to) {
  (void)context;
  known_rows.origin = from, known_rows.part = to;
  return &known_rows;
}
static void see_known_rows(struct ss_round *round, uint32_t number) {
  (void)number;
  for (uint32_t i = 0; i < round->messages.count; i++) assert_ptr_equal(round->payloads[i].known, &known_rows);
}

TEST(exchanges_say_what_receivers_know) {
  static struct world w;
  for (enum exchange which = 0; which < EXCHANGES; which++) {
    struct ss_receipts receipts;
    open_world(&w, 5, NATURAL, 3, true, bumpy_cluster());
    w.recorder.meddle = see_known_rows;
    assert_true(ss_receipts_open(&receipts, 5, 5, &w.error));
    struct giver giver = {.w = &w};
    struct ss_exchange x = {
        .context = &giver, .give = give_chunk, .known = what_is_known, .wire = &values_only, .receipts = &receipts};
    play_block(&w, which, 2, &x);
    assert_int_equal(w.play.mismatches, 0);
    ss_receipts_close(&receipts);
    close_world(&w);
  }
}

TEST(exchanges_end_when_a_chunk_cannot_be_made) {
  static struct world w;
  struct giver giver = {.w = &w, .fails_for = 2};
  struct ss_exchange x = {.context = &giver, .give = give_chunk, .wire = &coo};
  open_world(&w, 5, NATURAL, 3, false, bumpy_cluster());
  assert_false(ss_pairwise(&w.play, &x, &w.error));
  assert_string_equal(w.error.text, "nothing to give");
  assert_false(ss_fan_in(&w.play, &x, &w.error));
  assert_false(ss_fan_out(&w.play, &x, &w.error));
  assert_false(ss_scatter(&w.play, 0, &x, &w.error));
  assert_int_equal(w.error.status, SS_MACHINE);
  close_world(&w);
}

TEST(exchanges_see_swapped_payloads) {
  static struct world w;
  for (enum exchange which = 0; which < SCATTER; which++) {
    struct ss_receipts receipts;
    open_world(&w, 5, NATURAL, 3, true, bumpy_cluster());
    w.recorder.meddle = swap_two_messages;
    assert_true(ss_receipts_open(&receipts, 5, 5, &w.error));
    struct giver giver = {.w = &w};
    struct ss_exchange x = {.context = &giver, .give = give_chunk, .wire = &coo, .receipts = &receipts};
    play_block(&w, which, 2, &x);
    assert_true(w.play.mismatches > 0);
    ss_receipts_close(&receipts);
    close_world(&w);
  }
}

/* --- broadcast ------------------------------------------------------------------------------------------- */

static double play_broadcast(uint32_t size, uint32_t root, bool payloads) {
  static struct world w;
  struct ss_chunk held[MOST];
  uint32_t rows = ragged(size, root);
  open_world(&w, size, NATURAL, 0, payloads, bumpy_cluster());
  for (uint32_t p = 0; p < size; p++) held[p] = some_chunk(payloads && p == root, rows, root, 6);
  assert_true(ss_broadcast_binomial(&w.play, root, &coo, held, &w.error));
  check_totals(&w.recorder, ceil_log2(size), size - 1, (size - 1) * coo_bytes(rows));
  assert_int_equal(w.play.mismatches, 0);
  for (uint32_t p = 0; p < size; p++) assert_true(ss_chunk_same(&held[p], &held[root]));
  return close_world(&w);
}

TEST(broadcasts_follow_their_definition) {
  for (uint32_t size = 1; size <= ALL_SIZES; size++)
    for (uint32_t root = 0; root < size; root += 1 + size / 7)
      assert_true(play_broadcast(size, root, true) == play_broadcast(size, root, false));
}

/* --- dense sums ------------------------------------------------------------------------------------------ */

enum dense { RING_REDUCE_SCATTER, RABENSEIFNER, TREE, DENSES };
static const char *const dense_name[] = {"ring reduce-scatter", "Rabenseifner", "binomial reduce"};
enum content { MARKS = 1, VALUES = 2 };

/* Tensors begin at this row, as shards do. */
enum { LOW = 7 };

struct dense_world {
  struct world *w;
  struct ss_dense_sum sum;
  uint32_t content;
};

static float value_at(uint32_t rank, uint64_t row, uint32_t column) {
  return ss_contribution_value(ss_contribution(rank, row, 0), column);
}

static bool give_units(void *context, uint32_t rank, struct ss_arena *arena, struct ss_chunk *out,
                       struct ss_error *error) {
  const struct dense_world *d = context;
  struct ss_chunk chunk = *out;
  const uint32_t first = chunk.part, count = (uint32_t)chunk.count;
  (void)error;
  chunk.origin = rank;
  if (d->content & MARKS) {
    uint64_t *marks = ss_arena_alloc(arena, count, sizeof *marks);
    for (uint32_t u = 0; u < count; u++) marks[u] = ss_contribution(rank, first + u, 0);
    chunk.proofs = marks;
    chunk.kind = SS_CHUNK_PROOFS;
  }
  if (d->content & VALUES) {
    float *values = ss_arena_alloc(arena, (chunk.high - chunk.low) * WIDTH, sizeof *values);
    for (uint64_t row = chunk.low; row < chunk.high; row++)
      for (uint32_t c = 0; c < WIDTH; c++) values[(row - chunk.low) * WIDTH + c] = value_at(rank, row, c);
    chunk.values = values;
  }
  *out = chunk;
  return true;
}

/* The plain sum over all members, unit by unit and row by row. */
static void check_sum(const struct dense_world *d, const struct ss_chunk *got, uint32_t first, uint32_t count) {
  uint32_t P = d->w->size;
  struct ss_chunk due = ss_dense_units(&d->sum, first, count);
  assert_int_equal(got->part, first);
  assert_int_equal(got->count, count);
  assert_int_equal(got->low, due.low);
  assert_int_equal(got->high, due.high);
  assert_true(got->dense);
  assert_int_equal(got->marks != NULL, (d->content & MARKS) != 0);
  assert_int_equal(got->values != NULL, (d->content & VALUES) != 0);
  for (uint32_t u = 0; got->marks && u < count; u++) {
    uint64_t sum = 0;
    for (uint32_t p = 0; p < P; p++) sum += ss_contribution(p, first + u, 0);
    assert_true(got->marks[u] == sum);
  }
  for (uint64_t row = due.low; got->values && row < due.high; row++)
    for (uint32_t c = 0; c < WIDTH; c++) {
      float sum = 0;
      for (uint32_t p = 0; p < P; p++) sum += value_at(p, row, c);
      assert_true(got->values[(row - due.low) * WIDTH + c] == sum);
    }
}

static void check_dense_totals(const struct dense_world *d, enum dense which) {
  uint32_t P = d->w->size, Q = core_of(P), L = ceil_log2(Q), q = P - Q, f = q > 0, rounds = P - 1,
           messages = P * (P - 1);
  uint64_t rows = d->sum.high - d->sum.low, whole = rows * WIDTH * 4, low = rows / 2 * WIDTH * 4,
           bytes = (P - 1) * whole;
  if (which == RABENSEIFNER)
    rounds = 2 * L + 3 * f, messages = 2 * Q * L + 4 * q, bytes = 2 * (Q - 1 + q) * whole + q * low;
  if (which == TREE) rounds = ceil_log2(P), messages = P - 1;
  check_totals(&d->w->recorder, rounds, messages, bytes);
}

static struct dense_world dense_in(struct world *w, enum dense which, uint64_t rows, uint32_t content) {
  uint32_t P = w->size;
  struct dense_world d = {.w = w, .content = content};
  d.sum = (struct ss_dense_sum){.wire = &dense_wire,
                                .low = LOW,
                                .high = LOW + rows,
                                .width = WIDTH,
                                .units = which == TREE           ? 1
                                         : which == RABENSEIFNER ? core_of(P)
                                                                 : P,
                                .give = give_units};
  return d;
}

/* Plays the block; held[p] is what position p has in the end. */
static void play_dense_block(struct dense_world *d, enum dense which, struct ss_chunk *held) {
  struct world *w = d->w;
  d->sum.context = d;
  for (uint32_t p = 0; p < w->size; p++) {
    held[p] = ss_dense_units(&d->sum, 0, d->sum.units);
    if (w->play.payloads) give_units(d, p, &w->arena, &held[p], &w->error);
  }
  if (which == RING_REDUCE_SCATTER) assert_true(ss_reduce_scatter_ring(&w->play, &d->sum, held, &w->error));
  if (which == RABENSEIFNER) assert_true(ss_allreduce_rabenseifner(&w->play, &d->sum, held, &w->error));
  if (which == TREE) assert_true(ss_reduce_binomial(&w->play, &d->sum, held, &w->error));
}

static double play_dense(enum dense which, uint32_t size, uint64_t rows, bool payloads, uint32_t content) {
  static struct world w;
  struct ss_chunk held[MOST];
  open_world(&w, size, NATURAL, 0, payloads, bumpy_cluster());
  struct dense_world d = dense_in(&w, which, rows, content);
  play_dense_block(&d, which, held);
  check_dense_totals(&d, which);
  assert_int_equal(w.play.mismatches, 0);
  for (uint32_t p = 0; payloads && p < size; p++) {
    if (which == RING_REDUCE_SCATTER) check_sum(&d, &held[p], p, 1);
    else if (which == RABENSEIFNER || p == 0) check_sum(&d, &held[p], 0, d.sum.units);
  }
  return close_world(&w);
}

TEST(dense_sums_follow_their_definitions) {
  for (enum dense which = 0; which < DENSES; which++)
    for (uint32_t size = 1; size <= ALL_SIZES; size++) {
      const uint64_t rows[] = {UINT64_C(128) * size, 101, size / 2}; /* even shares, ragged ones, empty parts */
      for (uint32_t i = 0; i < COUNT(rows); i++) {
        double with = play_dense(which, size, rows[i], true, MARKS);
        assert_true(with == play_dense(which, size, rows[i], false, 0));
      }
      play_dense(which, size, 101, true, VALUES);
      play_dense(which, size, 101, true, MARKS | VALUES);
    }
}

/* In every round in turn two ranks get each other's payload: seen, whether or not the sum comes out right. */
static uint32_t swap_in_round, swapped;
static void swap_in_one_round(struct ss_round *round, uint32_t number) {
  if (number != swap_in_round || round->messages.count < 2) return;
  if (round->payloads[0].chunks == round->payloads[1].chunks) return; /* a gather's same blocks to two ranks */
  swap_two_messages(round, 0);
  swapped++;
}

TEST(dense_sums_see_swapped_payloads) {
  static struct world w;
  struct ss_chunk held[MOST];
  for (enum dense which = 0; which < DENSES; which++)
    for (uint32_t size = 2; size <= 13; size++)
      for (swap_in_round = 0; swap_in_round < size; swap_in_round++) {
        swapped = 0;
        open_world(&w, size, NATURAL, 0, true, bumpy_cluster());
        w.recorder.meddle = swap_in_one_round;
        struct dense_world d = dense_in(&w, which, 50, MARKS);
        play_dense_block(&d, which, held);
        if ((w.play.mismatches > 0) != (swapped > 0))
          fail_msg("%s of %u, payloads swapped in round %u: %u swapped, %u mismatches", dense_name[which], size,
                   swap_in_round, swapped, (uint32_t)w.play.mismatches);
        if (which == RING_REDUCE_SCATTER) assert_int_equal(swapped, swap_in_round < size - 1);
        close_world(&w);
      }
}

/* Everyone's share of the kernels: a receiver adds what came, three times the message's bytes of memory traffic. */
TEST(dense_sums_take_their_kernels_time) {
  static struct world w;
  struct ss_chunk held[MOST];
  const double alpha = 1e-5, beta = 1e-9;
  const struct ss_device device = ss_device_of("test", 7e-6, 1e-11);
  for (uint32_t size = 2; size <= MOST; size++)
    for (uint32_t payloads = 0; payloads < 2; payloads++) {
      open_world(&w, size, NATURAL, 0, payloads, flat_cluster(alpha, beta));
      w.play.device = &device;
      struct dense_world d = dense_in(&w, RING_REDUCE_SCATTER, 10 * (uint64_t)size, MARKS);
      play_dense_block(&d, RING_REDUCE_SCATTER, held);
      assert_true(ss_play_kernels(&w.play, &w.error));
      double kernels = ss_engine_tally(&w.recorder.engine, 0).kernel, each = 7e-6 + 3 * 120 * 1e-11;
      assert_true(close_to(kernels, (size - 1) * each, 1e-9));
      assert_true(close_to(close_world(&w), (size - 1) * (alpha + 120 * beta + each), 1e-9));
    }
}

/* The second of two rings through nodes of four: part p is the sum of all, and comes to everyone. */
TEST(rings_go_in_any_order) {
  for (uint32_t size = 2; size <= ALL_SIZES; size++) {
    static struct world w;
    uint32_t order[MOST];
    struct ss_gather gather;
    ss_ring_order(size, 4, 1, 2, order);
    open_world(&w, size, NATURAL, 0, true, flat_cluster(1e-5, 1e-9));
    struct dense_world d = dense_in(&w, RING_REDUCE_SCATTER, 101, MARKS | VALUES);
    d.sum.context = &d;
    d.sum.rank = order;
    assert_true(ss_allreduce_ring(&w.play, &d.sum, &gather, &w.error));
    for (uint32_t p = 0; p < size; p++) {
      check_sum(&d, &gather.block[p], p, 1);
      assert_int_equal(gather.block[p].origin, order[p]);
      assert_true(ss_receipts_regular(&gather.receipts, p));
    }
    assert_int_equal(w.play.mismatches, 0);
    ss_gather_close(&gather);
    close_world(&w);
  }
}

/* --- steps ----------------------------------------------------------------------------------------------- */

enum { STEPS_MOST = 40 };

/* Plays the phases with a bit a block: nobody sends what it does not hold. */
static void gather_by_steps(const enum ss_phase *phase, uint32_t phases, uint32_t size, bool even) {
  uint64_t held[STEPS_MOST], came[STEPS_MOST];
  for (uint32_t r = 0; r < size; r++) held[r] = UINT64_C(1) << r;
  for (uint32_t k = 0; k < phases; k++) {
    struct ss_step step = ss_steps_of(phase[k], size);
    step.fold.even = even;
    while (ss_step_next(&step)) {
      memcpy(came, held, sizeof came);
      for (uint32_t i = 0; i < step.moves; i++) {
        const struct ss_move m = ss_step_move(&step, i);
        uint64_t blocks = 0;
        for (uint32_t b = 0; b < m.count; b++) blocks |= UINT64_C(1) << (m.first + b) % size;
        if ((held[m.from] & blocks) != blocks)
          fail_msg("phase %d, %u members, step %u: %u has not what it sends", (int)phase[k], size, step.by, m.from);
        if (ss_step_shift(&step) > 0) assert_int_equal(m.to, (m.from + ss_step_shift(&step)) % size);
        came[m.to] |= blocks;
      }
      memcpy(held, came, sizeof held);
    }
  }
  for (uint32_t r = 0; r < size; r++) assert_int_equal(held[r], (UINT64_C(1) << size) - 1);
}

TEST(steps_bring_every_block_to_everyone) {
  static const enum ss_phase ring = SS_RING, direct = SS_DIRECT, bruck = SS_BRUCK, neighbours = SS_NEIGHBOURS;
  static const enum ss_phase doubling[] = {SS_FOLD_IN, SS_DOUBLE, SS_FOLD_OUT};
  for (uint32_t size = 1; size < STEPS_MOST; size++) {
    gather_by_steps(&ring, 1, size, false);
    gather_by_steps(&direct, 1, size, false);
    gather_by_steps(&bruck, 1, size, false);
    if (size % 2 == 0) gather_by_steps(&neighbours, 1, size, false);
    gather_by_steps(doubling, 3, size, false);
    gather_by_steps(doubling, 3, size, true);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
