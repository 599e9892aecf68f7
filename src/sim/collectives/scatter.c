/* Sparse reduce-scatters: parts on their way to their owners, summed as they go or not. */
#include "sim/collectives/owners.h"

/* What a rank has of one part: its own, and what came; one chunk when summed as it goes. */
struct pile {
  struct ss_chunk *chunk;
  uint32_t count;
  uint64_t bytes; /* that it takes, without the rank's own part */
};

struct scatter {
  struct ss_owners *o;
  struct ss_play *play;
  uint32_t P;
  bool incremental;
  struct pile *pile; /* [P * P]: of rank r for part j at r * P + j */
};

static struct pile *pile_of(const struct scatter *x, uint32_t rank, uint32_t part) {
  return &x->pile[(size_t)rank * x->P + part];
}

static bool begin(struct ss_owners *o, bool incremental, struct scatter *x, struct ss_error *error) {
  const uint32_t P = o->play->ranks;
  *x = (struct scatter){.o = o, .play = o->play, .P = P, .incremental = incremental};
  x->pile = ss_arena_alloc(o->play->arena, (size_t)P * P, sizeof *x->pile);
  struct ss_chunk *own = ss_arena_alloc(o->play->arena, (size_t)P * P, sizeof *own);
  if (!x->pile || !own) return ss_fail_memory(error, "cutting tensors into parts");
  for (uint32_t r = 0; r < P; r++)
    for (uint32_t j = 0; j < P; j++) {
      struct ss_chunk *slice = &own[(size_t)r * P + j];
      if (!o->slice(o->context, r, j, slice, error)) return false;
      slice->origin = r;
      *pile_of(x, r, j) = (struct pile){slice, 1, 0};
    }
  return true;
}

/* Message `at` brings the piles of some parts from one rank to another. */
static bool put(struct scatter *x, uint32_t at, const struct ss_move *m, struct ss_error *error) {
  struct ss_play *play = x->play;
  const uint32_t from = m->from;
  uint32_t n = 0;
  for (uint32_t j = 0; j < m->count; j++) n += pile_of(x, from, m->first + j)->count;
  struct ss_chunk *chunk = ss_arena_alloc(play->arena, n, sizeof *chunk);
  if (!chunk) return ss_fail_memory(error, "sending parts");
  play->from[at] = from;
  play->to[at] = m->to;
  play->bytes[at] = 0;
  play->payload[at] = (struct ss_payload){.chunks = chunk, .count = n};
  for (uint32_t j = 0; j < m->count; j++) {
    const struct pile *pile = pile_of(x, from, m->first + j);
    for (uint32_t i = 0; i < pile->count; i++, chunk++) {
      *chunk = pile->chunk[i];
      if (x->incremental) chunk->origin = from;
      play->bytes[at] += ss_wire_bytes(x->o->push, chunk);
    }
  }
  return true;
}

/* The sum of a pile, over the part. */
static bool sum_pile(struct scatter *x, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  struct pile *pile = pile_of(x, rank, part);
  const struct ss_chunk range = x->o->range(x->o->context, part);
  const struct ss_operands of = {pile->chunk, pile->count, range.low, range.high};
  struct ss_chunk sum;
  if (!ss_chunk_sum(&of, x->play->arena, &x->play->scratch, &sum, error)) return false;
  sum.origin = rank;
  sum.part = part;
  sum.width = sum.stride = range.width;
  ss_play_note_sum(x->play, rank, x->o->push, &of, &sum);
  if (of.count > 1) ss_play_renew(x->play, rank, &pile->bytes, &sum);
  *out = sum; /* which may be an operand */
  return true;
}

/* Room for `more` chunks behind what a pile has. */
static bool grow(const struct scatter *x, struct pile *pile, uint32_t more, struct ss_error *error) {
  struct ss_chunk *both = ss_arena_alloc(x->play->arena, pile->count + more, sizeof *both);
  if (!both) return ss_fail_memory(error, "receiving parts");
  memcpy(both, pile->chunk, pile->count * sizeof *both);
  pile->chunk = both;
  return true;
}

/* In another process: only how many chunks there are, and whose. */
static bool take_elsewhere(struct scatter *x, uint32_t from, uint32_t to, uint32_t first, uint32_t count,
                           struct ss_error *error) {
  for (uint32_t j = first; !x->incremental && j < first + count; j++) {
    const struct pile *theirs = pile_of(x, from, j);
    struct pile *mine = pile_of(x, to, j);
    if (!grow(x, mine, theirs->count, error)) return false;
    for (uint32_t i = 0; i < theirs->count; i++)
      mine->chunk[mine->count++] = (struct ss_chunk){.origin = theirs->chunk[i].origin, .part = j};
  }
  return true;
}

/* The piles [first, first + count) that rank `to` has grow by what message `at` brought. */
static bool take(struct scatter *x, uint32_t at, uint32_t first, uint32_t count, struct ss_error *error) {
  struct ss_play *play = x->play;
  const struct ss_payload *payload = &play->payload[at];
  const uint32_t from = play->from[at], to = play->to[at];
  if (!play->payloads) return true;
  if (!ss_play_resident(play, to)) return take_elsewhere(x, from, to, first, count, error);
  uint32_t due = 0, used = 0;
  for (uint32_t j = 0; j < count; j++) due += pile_of(x, from, first + j)->count;
  if (payload->count != due)
    ss_play_mismatch(play, "endpoint %u received %u chunks of endpoint %u where %u were due", to, payload->count,
                     from, due);
  for (uint32_t j = 0; j < count; j++) {
    const uint32_t part = first + j, expected = pile_of(x, from, part)->count;
    struct pile *mine = pile_of(x, to, part);
    if (!grow(x, mine, expected, error)) return false;
    for (uint32_t i = 0; i < expected && used < payload->count; i++, used++) {
      const struct ss_chunk *got = &payload->chunks[used];
      const uint32_t origin = x->incremental ? from : pile_of(x, from, part)->chunk[i].origin;
      if (got->part != part || got->origin != origin)
        ss_play_mismatch(play, "endpoint %u received part %u of %u where part %u of %u was due", to, got->part,
                         got->origin, part, origin);
      mine->chunk[mine->count++] = *got;
      mine->bytes += ss_wire_bytes(x->o->push, got);
    }
    if (!x->incremental || mine->count == 1) continue;
    if (!sum_pile(x, to, part, &mine->chunk[0], error)) return false;
    mine->count = 1;
  }
  return true;
}

/* Owners add up what they have of their parts. */
static bool settle(struct scatter *x, uint32_t rank, uint32_t part, struct ss_error *error) {
  struct ss_chunk sum;
  if (!sum_pile(x, rank, part, &sum, error)) return false;
  *pile_of(x, rank, part)->chunk = sum;
  pile_of(x, rank, part)->count = 1;
  ss_owners_set(x->o, part, &sum);
  return true;
}

static bool settle_all(struct scatter *x, struct ss_error *error) {
  for (uint32_t r = 0; r < x->P; r++)
    if (!settle(x, r, r, error)) return false;
  ss_owners_watch(x->o);
  return true;
}

/* The parts that are sent: in a ring one each, the one before the block that an all-gather has there; of folded pairs
 * first all parts, and in the end the one's that had handed them over. */
static struct ss_move move_of(const struct ss_step *step, uint32_t i) {
  struct ss_move m = ss_step_move(step, i);
  if (step->phase == SS_RING) m.first = (m.first + step->size - 1) % step->size;
  if (step->phase == SS_FOLD_IN) m.first = 0, m.count = step->size;
  if (step->phase == SS_FOLD_OUT) m.first = m.to, m.count = 1;
  return m;
}

/* A folded pair's sum of the part of the one who handed over takes the place of what that one has of it. */
static bool settle_folded(struct scatter *x, const struct ss_move *m, struct ss_error *error) {
  if (!settle(x, m->from, m->first, error)) return false;
  if (x->play->payloads && ss_play_resident(x->play, m->to)) pile_of(x, m->to, m->first)->count = 0;
  return true;
}

/* What was sent is no longer needed. */
static void let_go(struct scatter *x, struct ss_move move) {
  for (uint32_t j = 0; j < move.count; j++) {
    struct pile *pile = pile_of(x, move.from, move.first + j);
    ss_play_drop(x->play, move.from, pile->bytes);
    pile->bytes = 0;
  }
}

static bool play_phase(struct scatter *x, enum ss_phase phase, struct ss_error *error) {
  struct ss_step step = ss_steps_of(phase, x->P);
  while (ss_step_next(&step)) {
    for (uint32_t i = 0; i < step.moves; i++) {
      const struct ss_move move = move_of(&step, i);
      if (phase == SS_FOLD_OUT && !settle_folded(x, &move, error)) return false;
      if (!put(x, i, &move, error)) return false;
    }
    if (!ss_play_sends(x->play, step.moves, x->o->push, error)) return false;
    ss_play_hold_messages(x->play, step.moves);
    for (uint32_t i = 0; i < step.moves; i++) {
      const struct ss_move move = move_of(&step, i);
      if (!take(x, i, move.first, move.count, error)) return false;
    }
    for (uint32_t i = 0; i < step.moves; i++) let_go(x, move_of(&step, i));
  }
  return true;
}

bool ss_owners_push_ring(struct ss_owners *o, bool incremental, struct ss_error *error) {
  struct scatter x;
  return begin(o, incremental, &x, error) && play_phase(&x, SS_RING, error) && settle_all(&x, error);
}

bool ss_owners_push_halving(struct ss_owners *o, bool incremental, struct ss_error *error) {
  struct scatter x;
  return begin(o, incremental, &x, error) && play_phase(&x, SS_FOLD_IN, error) && play_phase(&x, SS_HALVE, error) &&
         play_phase(&x, SS_FOLD_OUT, error) && settle_all(&x, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
