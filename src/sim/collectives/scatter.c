/* Sparse reduce-scatters: parts on their way to their owners, summed as they go or not. */
#include "sim/collectives/owners.h"

#include <string.h>

/* What a rank has of one part: its own, and what came; one chunk when summed as it goes. */
struct pile {
  struct ss_chunk *chunk;
  uint32_t count;
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
      *pile_of(x, r, j) = (struct pile){slice, 1};
    }
  return true;
}

static bool announce(struct scatter *x, bool first, struct ss_error *error) {
  return !(x->incremental || first) || !x->o->counted || ss_announce_sizes(x->play, error);
}

/* Parts [first, first + count). */
struct run {
  uint32_t first, count;
};

/* Message `at` brings the piles of a run from one rank to another. */
static bool put(struct scatter *x, uint32_t at, uint32_t from, uint32_t to, struct run run, struct ss_error *error) {
  struct ss_play *play = x->play;
  uint32_t n = 0;
  for (uint32_t j = 0; j < run.count; j++) n += pile_of(x, from, run.first + j)->count;
  struct ss_chunk *chunk = ss_arena_alloc(play->arena, n, sizeof *chunk);
  if (!chunk) return ss_fail_memory(error, "sending parts");
  play->from[at] = from;
  play->to[at] = to;
  play->bytes[at] = 0;
  play->payload[at] = (struct ss_payload){.chunks = chunk, .count = n};
  for (uint32_t j = 0; j < run.count; j++) {
    const struct pile *pile = pile_of(x, from, run.first + j);
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
  const struct pile *pile = pile_of(x, rank, part);
  const struct ss_chunk range = x->o->range(x->o->context, part);
  const struct ss_operands of = {pile->chunk, pile->count, range.low, range.high};
  struct ss_chunk sum;
  if (!ss_chunk_sum(&of, x->play->arena, &x->play->scratch, &sum, error)) return false;
  sum.origin = rank;
  sum.part = part;
  sum.width = sum.stride = range.width;
  ss_play_note_sum(x->play, rank, x->o->push, &of, &sum);
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

bool ss_owners_push_ring(struct ss_owners *o, bool incremental, struct ss_error *error) {
  struct scatter x;
  if (!begin(o, incremental, &x, error)) return false;
  const uint32_t P = x.P;
  for (uint32_t s = 1; s < P; s++) {
    if (!announce(&x, s == 1, error)) return false;
    for (uint32_t r = 0; r < P; r++)
      if (!put(&x, r, r, (r + 1) % P, (struct run){(r + P - s) % P, 1}, error)) return false;
    if (!ss_play_messages(x.play, P, true, o->push, error)) return false;
    for (uint32_t r = 0; r < P; r++)
      if (!take(&x, r, (r + P - s) % P, 1, error)) return false;
  }
  return settle_all(&x, error);
}

/* --- halving -------------------------------------------------------------------------------------------- */

/* The parts that core position p stands for begin here. */
static uint32_t begin_of(struct ss_fold fold, uint32_t p) {
  return p < fold.q ? 2 * p : p + fold.q;
}

static bool fold_in(struct scatter *x, struct ss_fold fold, struct ss_error *error) {
  if (fold.q == 0) return true;
  if (!announce(x, true, error)) return false;
  for (uint32_t i = 0; i < fold.q; i++)
    if (!put(x, i, 2 * i, 2 * i + 1, (struct run){0, x->P}, error)) return false;
  if (!ss_play_messages(x->play, fold.q, true, x->o->push, error)) return false;
  for (uint32_t i = 0; i < fold.q; i++)
    if (!take(x, i, 0, x->P, error)) return false;
  return true;
}

static bool halve(struct scatter *x, struct ss_fold fold, uint32_t step, struct ss_error *error) {
  if (!announce(x, fold.q == 0 && step == fold.Q / 2, error)) return false;
  for (uint32_t p = 0; p < fold.Q; p++) {
    const uint32_t theirs = (p & ~(step - 1)) ^ step, first = begin_of(fold, theirs);
    const struct run run = {first, begin_of(fold, theirs + step) - first};
    if (!put(x, p, ss_fold_member(fold, p), ss_fold_member(fold, p ^ step), run, error)) return false;
  }
  if (!ss_play_messages(x->play, fold.Q, true, x->o->push, error)) return false;
  for (uint32_t p = 0; p < fold.Q; p++) {
    const uint32_t theirs = (p & ~(step - 1)) ^ step, first = begin_of(fold, theirs);
    if (!take(x, p, first, begin_of(fold, theirs + step) - first, error)) return false;
  }
  return true;
}

/* Odd ranks of folded pairs sum the even ones' parts, and send them. */
static bool fold_out(struct scatter *x, struct ss_fold fold, struct ss_error *error) {
  struct ss_play *play = x->play;
  if (fold.q == 0) return true;
  if (!announce(x, x->incremental, error))
    return false; /* before the round is put together: it uses the same arrays */
  for (uint32_t i = 0; i < fold.q; i++)
    if (!settle(x, 2 * i + 1, 2 * i, error)) return false;
  for (uint32_t i = 0; i < fold.q; i++)
    if (!put(x, i, 2 * i + 1, 2 * i, (struct run){2 * i, 1}, error)) return false;
  if (!ss_play_messages(play, fold.q, true, x->o->push, error)) return false;
  for (uint32_t i = 0; i < fold.q; i++) {
    struct pile *mine = pile_of(x, 2 * i, 2 * i);
    if (!play->payloads || !ss_play_resident(play, 2 * i)) continue;
    mine->count = 0; /* what it had is in the sum */
    const struct ss_chunk *got = ss_play_got(play, i);
    if (got && (got->part != 2 * i || got->origin != 2 * i + 1))
      ss_play_mismatch(play, "endpoint %u received another part than its own", 2 * i);
    if (!got) continue;
    *mine = (struct pile){ss_arena_alloc(play->arena, 1, sizeof *got), 1};
    if (!mine->chunk) return ss_fail_memory(error, "receiving parts");
    *mine->chunk = *got;
  }
  return true;
}

bool ss_owners_push_halving(struct ss_owners *o, bool incremental, struct ss_error *error) {
  struct scatter x;
  if (!begin(o, incremental, &x, error)) return false;
  const struct ss_fold fold = ss_fold_of(x.P);
  if (!fold_in(&x, fold, error)) return false;
  for (uint32_t step = fold.Q / 2; step > 0; step /= 2)
    if (!halve(&x, fold, step, error)) return false;
  return fold_out(&x, fold, error) && settle_all(&x, error);
}
