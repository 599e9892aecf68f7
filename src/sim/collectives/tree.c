/* From one and to one: broadcasts, and the binomial reduction of a dense sum. */
#include "sim/collectives/collectives.h"

/* The receiver of message `at` now holds what came; `held` described what was due. */
static void take_whole(struct ss_play *play, uint32_t at, struct ss_chunk *held) {
  const struct ss_chunk *got = ss_play_due(play, at, held->origin, held->part);
  if (!got) return;
  if (held->dense && got->count != held->count)
    ss_play_mismatch(play, "endpoint %u received other units than were due", play->to[at]);
  *held = *got;
}

bool ss_broadcast_binomial(struct ss_play *play, uint32_t root, const struct ss_wire *wire, struct ss_chunk *held,
                           struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_SCATTER, play->ranks);
  while (ss_step_next(&step)) {
    const uint32_t size = step.size, n = step.moves, up = (size - root + 2 * step.by - 1) / (2 * step.by);
    for (uint32_t i = 0; i < n; i++) { /* positions are relative to the root; senders ascend */
      const struct ss_move move = ss_step_move(&step, up < n ? (i + up) % n : i);
      const uint32_t from = (move.from + root) % size;
      ss_play_put(play, i, from, (move.to + root) % size, wire, &held[from]);
    }
    if (ss_wire_ragged(wire)) ss_play_hold_messages(play, n);
    if (!ss_play_messages(play, n, true, wire, error)) return false;
    for (uint32_t i = 0; i < n; i++) take_whole(play, i, &held[play->to[i]]);
  }
  return true;
}

/* A broadcast of a chunk in pieces, one for each rank. */
struct pieces {
  struct ss_play *play;
  uint32_t root;
  const struct ss_wire *wire;
  struct ss_chunk whole; /* the root's */
  struct ss_chunk *piece;
  struct ss_receipts scattered;
  struct ss_gather gather;
};

static bool give_piece(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct pieces *x = context;
  (void)from;
  (void)error;
  *out = x->piece[to];
  return true;
}

static bool open_pieces(struct pieces *x, struct ss_error *error) {
  const uint32_t P = x->play->ranks;
  if (!ss_take(x->play->arena, x->piece, P)) return ss_fail_memory(error, "scattering");
  return ss_gather_open(&x->gather, P, x->wire, x->whole.low, x->whole.high, error) &&
         (!x->play->payloads || ss_receipts_open(&x->scattered, P, P, error));
}

/* The root's entries in even shares, each to its rank; then everyone has a block for the ring. */
static bool scatter_pieces(struct pieces *x, struct ss_error *error) {
  struct ss_play *play = x->play;
  struct ss_exchange exchange = {.context = x, .give = give_piece, .wire = x->wire, .receipts = &x->scattered};
  const uint32_t P = play->ranks;
  uint64_t *came;
  if (!ss_take_zero(play->arena, came, P)) return ss_fail_memory(error, "scattering");
  if (ss_wire_ragged(x->wire)) exchange.held = came;
  for (uint32_t p = 0; p < P; p++) {
    uint64_t first = ss_share(x->whole.count, P, p);
    x->piece[p] = ss_chunk_entries(&x->whole, first, ss_share(x->whole.count, P, p + 1) - first);
    x->piece[p].part = p;
  }
  if (!ss_scatter(play, x->root, &exchange, error)) return false;
  for (uint32_t p = 0; p < P; p++) {
    const struct ss_chunk *held = NULL;
    if (play->payloads && p != x->root && ss_play_resident(play, p))
      held = ss_receipts_held(&x->scattered, p, x->root, &x->piece[p]);
    ss_gather_set(&x->gather, p, held ? held : &x->piece[p]);
  }
  return true;
}

/* What rank p makes of the pieces it holds. */
static bool join_pieces(struct pieces *x, uint32_t p, struct ss_chunk *held, struct ss_error *error) {
  const struct ss_chunk *whole = &x->whole;
  struct ss_chunk sum;
  if (!ss_gather_sum(x->play, &x->gather, p, &sum, error)) return false;
  ss_play_note_sum(x->play, p, x->wire,
                   &(struct ss_operands){x->gather.block, x->gather.size, whole->low, whole->high}, &sum);
  const bool as_sent = ss_play_resident(x->play, whole->origin) && ss_chunk_equal(&sum, whole);
  if (p == x->root && ss_chunk_marked(whole) && !as_sent)
    ss_play_mismatch(x->play, "position %u got back other pieces than it scattered", p);
  if (p == x->root) return true;
  sum.origin = whole->origin;
  sum.part = whole->part;
  *held = as_sent ? *whole : sum;
  return true;
}

bool ss_broadcast_scatter(struct ss_play *play, uint32_t root, const struct ss_wire *wire, struct ss_chunk *held,
                          struct ss_error *error) {
  struct pieces x = {.play = play, .root = root, .wire = wire, .whole = held[root]};
  bool ok = open_pieces(&x, error) && scatter_pieces(&x, error) &&
            ss_gather_play(play, &x.gather, ss_allgather_ring, error);
  for (uint32_t p = 0; ok && play->payloads && p < play->ranks; p++)
    if (ss_play_resident(play, p)) ok = join_pieces(&x, p, &held[p], error);
  ss_gather_close(&x.gather);
  ss_receipts_close(&x.scattered);
  return ok;
}

bool ss_reduce_binomial(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                        struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_GATHER, play->ranks);
  while (ss_step_next(&step)) {
    for (uint32_t i = 0; i < step.moves; i++) {
      const struct ss_move move = ss_step_move(&step, i);
      ss_play_put(play, i, move.from, move.to, sum->wire, &whole[move.from]);
    }
    if (!ss_dense_round(play, sum, step.moves, error)) return false;
    for (uint32_t i = 0; i < step.moves; i++)
      if (!ss_dense_take(play, sum, i, &whole[play->from[i]], &whole[play->to[i]], error)) return false;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
