#include "sim/collectives/running.h"

bool ss_running_open(struct ss_play *play, const struct ss_wire *wire, const struct ss_operands *own,
                     struct ss_running *x, struct ss_error *error) {
  const uint32_t n = play->ranks;
  *x = (struct ss_running){.play = play, .wire = wire, .low = own->low, .high = own->high};
  if (!ss_take(play->arena, x->held, n) || !ss_take_zero(play->arena, x->bytes, n) ||
      !ss_take_zero(play->arena, x->came, n) || !ss_take_zero(play->arena, x->arena, 2 * (size_t)n))
    return ss_fail_memory(error, "summing sparse gradients");
  memcpy(x->held, own->chunk, n * sizeof *own->chunk);
  return true;
}

void ss_running_close(struct ss_running *running) {
  for (uint32_t i = 0; running->arena && i < 2 * running->play->ranks; i++) ss_arena_free(&running->arena[i]);
}

/* Rank `from` sends what it holds to `to`, as message `at` of a round. */
static void put(struct ss_running *x, uint32_t at, uint32_t from, uint32_t to) {
  struct ss_play *play = x->play;
  struct ss_chunk *chunk = &play->given[at];
  *chunk = x->held[from];
  chunk->origin = from;
  chunk->part = x->round; /* the arrays may be those of an earlier sum */
  ss_play_put(play, at, from, to, x->wire, chunk);
}

/* What came, for the sums to be made. */
static void take(struct ss_running *x, uint32_t messages) {
  struct ss_play *play = x->play;
  memset(x->came, 0, play->ranks * sizeof *x->came);
  x->as_sent = true;
  for (uint32_t i = 0; play->payloads && i < messages; i++) {
    if (!ss_play_resident(play, play->to[i])) continue;
    const struct ss_chunk *got = ss_play_due(play, i, play->from[i], x->round);
    if (got != &play->given[i]) x->as_sent = false;
    if (!got) continue;
    x->came[play->to[i]] = *got;
    x->came[play->to[i]].part = 1;
  }
  x->round++;
}

/* Do ranks a and b add the same two operands, in whatever order? */
static bool alike(const struct ss_running *x, const struct ss_chunk *before, uint32_t a, uint32_t b) {
  return (ss_chunk_same_entries(&before[a], &before[b]) && ss_chunk_same_entries(&x->came[a], &x->came[b])) ||
         (ss_chunk_same_entries(&before[a], &x->came[b]) && ss_chunk_same_entries(&x->came[a], &before[b]));
}

/* Where rank r's next sum goes: the last ones outlive the running. */
static struct ss_arena *arena_of(struct ss_running *x, uint32_t r) {
  return x->last ? x->play->arena : &x->arena[x->turn * x->play->ranks + r];
}

/* held[r] becomes the sum of two operands, as wide as the first, in memory of that arena; `known`, if it is known. */
static bool add(struct ss_running *x, uint32_t r, const struct ss_chunk both[2], const struct ss_chunk *known,
                struct ss_arena *arena, struct ss_error *error) {
  const struct ss_operands of = {both, 2, x->low, x->high};
  if (known) x->held[r] = *known;
  else if (!ss_chunk_sum(&of, arena, &x->play->scratch, &x->held[r], error)) return false;
  x->held[r].width = x->held[r].stride = both->width;
  ss_play_note_sum(x->play, r, x->wire, &of, &x->held[r]);
  ss_play_renew(x->play, r, &x->bytes[r], &x->held[r]);
  return true;
}

/* held[r] becomes before + what came, for the `count` ranks listed, of which those alike share one sum. */
static bool add_family(struct ss_running *x, const uint32_t *rank, uint32_t count, struct ss_chunk *before,
                       struct ss_error *error) {
  const uint32_t n = x->play->ranks;
  for (uint32_t i = 0; i < count; i++) before[rank[i]] = x->held[rank[i]];
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t r = rank[i];
    if (x->came[r].part == 0) {
      /* nothing came: what it has is copied, as results outlive the running sums */
      if (x->last && x->play->payloads && ss_play_resident(x->play, r) &&
          !ss_chunk_sum(&(struct ss_operands){&before[r], 1, x->low, x->high}, x->play->arena, &x->play->scratch,
                        &x->held[r], error))
        return false;
      continue;
    }
    const struct ss_chunk both[2] = {before[r], x->came[r]};
    const bool shared = i > 0 && x->came[rank[0]].part == 1 && alike(x, before, rank[0], r);
    if (!add(x, r, both, shared ? &x->held[rank[0]] : NULL, arena_of(x, r), error)) return false;
  }
  for (uint32_t i = 0; x->as_sent && i < count; i++) /* nobody else has their sums of before */
    ss_arena_free(&x->arena[(1 - x->turn) * n + rank[i]]);
  return true;
}

/* --- recursive doubling --------------------------------------------------------------------------------- */

static bool play_step(struct ss_running *x, const struct ss_step *step, struct ss_error *error) {
  for (uint32_t i = 0; i < step->moves; i++) {
    const struct ss_move move = ss_step_move(step, i);
    put(x, i, move.from, move.to);
  }
  if (!ss_play_sends(x->play, step->moves, x->wire, error)) return false;
  ss_play_hold_messages(x->play, step->moves);
  take(x, step->moves);
  return true;
}

/* Ranks that are to hold the same sum are a family: an odd one of a folded pair alone, in the core 2, then 4, ... */
static bool add_families(struct ss_running *x, const struct ss_step *step, struct ss_chunk *before,
                         struct ss_error *error) {
  const uint32_t of = step->phase == SS_DOUBLE ? 2 * step->by : 1;
  SS_AUTO_FREE uint32_t *family = ss_alloc(of, sizeof *family);
  if (!family) return ss_fail_memory(error, "summing sparse gradients");
  for (uint32_t first = 0; first < step->moves; first += of) {
    for (uint32_t i = 0; i < of; i++) family[i] = ss_fold_member(step->fold, first + i);
    if (!add_family(x, family, of, before, error)) return false;
  }
  x->turn = 1 - x->turn;
  return true;
}

bool ss_running_fold_out(struct ss_running *x, struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_FOLD_OUT, x->play->ranks);
  if (!ss_step_next(&step)) return true;
  if (!play_step(x, &step, error)) return false;
  for (uint32_t i = 0; x->play->payloads && i < step.moves; i++) {
    const uint32_t to = x->play->to[i];
    if (!ss_play_resident(x->play, to)) continue;
    x->held[to] = x->came[to];
    x->held[to].low = x->low; /* what it covers is known, whatever came */
    x->held[to].high = x->high;
  }
  return true;
}

/* `last`: this phase ends with the result. */
static bool add_phase(struct ss_running *x, enum ss_phase phase, bool last, struct ss_error *error) {
  SS_AUTO_FREE struct ss_chunk *before = ss_alloc(x->play->ranks, sizeof *before);
  if (!before) return ss_fail_memory(error, "summing sparse gradients");
  struct ss_step step = ss_steps_of(phase, x->play->ranks);
  while (ss_step_next(&step)) {
    x->last = last && (phase == SS_FOLD_IN || 2 * step.by == step.fold.Q);
    if (!play_step(x, &step, error) || !add_families(x, &step, before, error)) return false;
    ss_play_drop_messages(x->play, step.moves);
  }
  return true;
}

bool ss_running_fold_in(struct ss_running *x, struct ss_error *error) {
  return add_phase(x, SS_FOLD_IN, true, error);
}

bool ss_running_doubling(struct ss_running *x, struct ss_error *error) {
  return add_phase(x, SS_FOLD_IN, false, error) && add_phase(x, SS_DOUBLE, true, error) &&
         ss_running_fold_out(x, error);
}

/* --- ring ----------------------------------------------------------------------------------------------- */

bool ss_running_ring(struct ss_running *x, const struct ss_chunk *own, struct ss_error *error) {
  const uint32_t P = x->play->ranks;
  struct ss_step step = ss_steps_of(SS_RING, P);
  while (ss_step_next(&step)) {
    x->last = step.by + 1 == P;
    if (!play_step(x, &step, error)) return false;
    for (uint32_t r = 0; r < P; r++) x->held[r] = own[r];
    for (uint32_t r = 0; r < P; r++) { /* the sums of before are needed until all have added */
      if (x->came[r].part != 1) continue;
      const struct ss_chunk both[2] = {own[r], x->came[r]};
      struct ss_arena *arena = arena_of(x, r);
      if (!x->last) ss_arena_reset(arena);
      if (!add(x, r, both, NULL, arena, error)) return false;
    }
    ss_play_drop_messages(x->play, step.moves);
    x->turn = 1 - x->turn;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
