/* All-gathers: ring, direct, Bruck, recursive doubling. */
#include "sim/collectives/collectives.h"

bool ss_gather_open(struct ss_gather *g, uint32_t size, const struct ss_wire *wire, uint64_t low, uint64_t high,
                    struct ss_error *error) {
  *g = (struct ss_gather){.size = size, .wire = wire, .low = low, .high = high};
  g->block = ss_alloc_zero(2 * (size_t)size, sizeof *g->block);
  g->bytes = ss_alloc_zero(2 * (size_t)size, sizeof *g->bytes);
  g->upto = ss_alloc_zero(2 * (size_t)size + 1, sizeof *g->upto);
  if (g->block && g->bytes && g->upto) return true;
  ss_gather_close(g);
  return ss_fail_memory(error, "gathering blocks");
}

void ss_gather_close(struct ss_gather *g) {
  free(g->block);
  free(g->bytes);
  free(g->upto);
  ss_receipts_close(&g->receipts);
  *g = (struct ss_gather){0};
}

void ss_gather_set(struct ss_gather *g, uint32_t position, const struct ss_chunk *block) {
  g->block[position] = g->block[position + g->size] = *block;
}

static uint32_t rank_of(const struct ss_gather *g, uint32_t position) {
  return g->rank ? g->rank[position] : position;
}

/* What position p gets of others. */
static uint64_t bytes_for(const struct ss_gather *g, uint32_t p) {
  return g->upto[g->size] - g->bytes[p];
}

void ss_gather_drop(struct ss_play *play, const struct ss_gather *g) {
  for (uint32_t p = 0; p < g->size; p++) ss_play_drop(play, rank_of(g, p), bytes_for(g, p));
}

/* Blocks of bytes[size] each. */
static bool play_sized(struct ss_play *play, struct ss_gather *g, ss_allgather *how, struct ss_error *error) {
  if (play->payloads && !ss_receipts_open(&g->receipts, g->size, g->size, error)) return false;
  g->uniform = true;
  for (uint32_t b = 0; b < 2 * g->size; b++) {
    g->bytes[b] = g->bytes[b % g->size];
    g->upto[b + 1] = g->upto[b] + g->bytes[b];
    g->uniform = g->uniform && g->bytes[b] == g->bytes[0];
  }
  for (uint32_t p = 0; play->payloads && p < g->size; p++) ss_receipts_add_run(play, &g->receipts, p, p, 1);
  for (uint32_t p = 0; ss_wire_ragged(g->wire) && p < g->size; p++)
    ss_play_hold(play, rank_of(g, p), bytes_for(g, p));
  return how(play, g, error);
}

bool ss_gather_play(struct ss_play *play, struct ss_gather *g, ss_allgather *how, struct ss_error *error) {
  for (uint32_t b = 0; b < g->size; b++) g->bytes[b] = ss_wire_bytes(g->wire, &g->block[b]);
  return play_sized(play, g, how, error);
}

bool ss_gather_ragged(struct ss_play *play, struct ss_gather *g, bool counted, ss_allgather *how,
                      struct ss_error *error) {
  uint64_t longest = 0;
  for (uint32_t b = 0; b < g->size; b++) g->bytes[b] = ss_wire_bytes(g->wire, &g->block[b]);
  if (!ss_tell_sizes(play, counted, g->bytes, error)) return false;
  for (uint32_t b = 0; b < g->size; b++) longest = g->bytes[b] > longest ? g->bytes[b] : longest;
  g->padded = play->ragged == SS_RAGGED_PADDED;
  for (uint32_t b = 0; g->padded && b < g->size; b++) g->bytes[b] = longest;
  if (play->ragged == SS_RAGGED_BROADCASTS && how != ss_allgather_direct) how = ss_allgather_broadcasts;
  return play_sized(play, g, how, error);
}

bool ss_gather_sum(struct ss_play *play, struct ss_gather *g, uint32_t position, struct ss_chunk *out,
                   struct ss_error *error) {
  const struct ss_received received = {&g->receipts, g->block, g->low, g->high, &g->shared};
  return ss_receipts_sum(play, &received, position, out, error);
}

/* A block that reached a member other than it was sent is passed on as it came. */
static bool put(struct ss_play *play, struct ss_gather *g, uint32_t at, const struct ss_move *m,
                struct ss_error *error) {
  play->from[at] = rank_of(g, m->from);
  play->to[at] = rank_of(g, m->to);
  play->bytes[at] = g->upto[m->first + m->count] - g->upto[m->first];
  if (!play->payloads) return true;

  struct ss_chunk *blocks = g->block + m->first;
  if (g->receipts.others > 0) {
    struct ss_chunk *own = ss_arena_alloc(play->arena, m->count, sizeof *own);
    if (!own) return ss_fail_memory(error, "gathering blocks");
    for (uint32_t i = 0; i < m->count; i++) {
      const struct ss_chunk *held = ss_receipts_held(&g->receipts, m->from, (m->first + i) % g->size, &blocks[i]);
      own[i] = held ? *held : blocks[i];
    }
    blocks = own;
  }
  const uint32_t own = m->from < m->first ? m->from + g->size - m->first : m->from - m->first;
  play->payload[at] =
      (struct ss_payload){.chunks = blocks, .count = m->count, .mine = own < m->count ? own + 1 : SS_PASSED_ON};
  if (g->known) play->payload[at].known = g->known + m->first;
  if (g->padded) play->payload[at].portion = &ss_padded;
  return true;
}

/* Block `b` came. A process that did not have the block yet keeps it. */
static bool keep(struct ss_play *play, struct ss_gather *g, uint32_t to, uint32_t b, const struct ss_chunk *got,
                 struct ss_error *error) {
  const struct ss_chunk *due = &g->block[b];
  if (!ss_play_resident(play, rank_of(g, b)) && due->origin == got->origin && due->part == got->part)
    ss_gather_set(g, b, got);
  return ss_receipts_add(play, &g->receipts, &(struct ss_arrival){to, b, due, got}, error);
}

static bool take(struct ss_play *play, struct ss_gather *g, uint32_t at, const struct ss_move *m,
                 struct ss_error *error) {
  if (!play->payloads || !ss_play_resident(play, play->to[at])) return true;
  const struct ss_payload *payload = &play->payload[at];
  if (payload->chunks == g->block + m->first) {
    ss_receipts_add_run(play, &g->receipts, m->to, m->first, payload->count);
    return true;
  }
  for (uint32_t i = 0; i < payload->count; i++)
    if (!keep(play, g, m->to, (m->first + i) % g->size, &payload->chunks[i], error)) return false;
  return true;
}

static bool play_moves(struct ss_play *play, struct ss_gather *g, const struct ss_step *step, bool dependent,
                       struct ss_error *error) {
  for (uint32_t i = 0; i < step->moves; i++) {
    const struct ss_move move = ss_step_move(step, i);
    if (!put(play, g, i, &move, error)) return false;
  }
  if (!(step->phase == SS_DIRECT ? ss_play_exchange : ss_play_messages)(play, step->moves, dependent, g->wire, error))
    return false;
  for (uint32_t i = 0; i < step->moves; i++) {
    const struct ss_move move = ss_step_move(step, i);
    if (!take(play, g, i, &move, error)) return false;
  }
  return true;
}

/* Without payloads, and when all ranks take part, a step in which everyone sends one block ahead needs no lists. */
static bool play_phase(struct ss_play *play, struct ss_gather *g, enum ss_phase phase, struct ss_error *error) {
  struct ss_step step = ss_steps_of(phase, g->size);
  const bool direct = phase == SS_DIRECT, shifts = !play->payloads && !g->rank && (direct || phase == SS_RING);
  while (ss_step_next(&step)) {
    const bool dependent = !direct || step.by == 1;
    const struct ss_messages ahead = {.count = step.size,
                                      .shift = ss_step_shift(&step),
                                      .bytes = g->uniform ? NULL : g->bytes + ss_step_move(&step, 0).first,
                                      .each = g->bytes[0]};
    if (!(shifts ? ss_play_shift(play, &ahead, dependent, direct, error)
                 : play_moves(play, g, &step, dependent, error)))
      return false;
  }
  return true;
}

struct broadcasts {
  struct ss_play *play;
  struct ss_gather *g;
  struct ss_move *move; /* [size] of a round */
  const char *stream;   /* [size] nothing but addresses */
  uint32_t hop;         /* the first of the step */
};

/* Message `at` brings the piece of its block that begins with byte `first`. */
static bool put_piece(struct broadcasts *x, uint32_t at, uint64_t first, struct ss_error *error) {
  struct ss_play *play = x->play;
  const uint32_t b = x->move[at].first;
  const uint64_t whole = x->g->bytes[b], rest = whole - first;
  if (!put(play, x->g, at, &x->move[at], error)) return false;
  play->bytes[at] = rest < SS_BROADCAST_PIECE ? rest : SS_BROADCAST_PIECE;
  if (!play->payloads || whole <= SS_BROADCAST_PIECE) return true;
  struct ss_portion *portion = ss_arena_alloc(play->arena, 1, sizeof *portion);
  if (!portion) return ss_fail_memory(error, "gathering blocks");
  *portion = (struct ss_portion){&x->stream[b], first, whole};
  play->payload[at].portion = portion;
  return true;
}

/* The pieces of a step that go hop number `hop`: of block b from position b + hop - 1 to the next one. */
static bool play_hop(struct broadcasts *x, uint64_t piece, uint32_t hop, struct ss_error *error) {
  struct ss_play *play = x->play;
  const uint32_t size = x->g->size;
  uint32_t n = 0;
  for (uint32_t p = 0; p < size; p++) {
    const uint32_t b = (p + size - (hop - 1)) % size;
    if (piece > 0 && x->g->bytes[b] <= piece * SS_BROADCAST_PIECE) continue;
    x->move[n] = (struct ss_move){p, (p + 1) % size, b, 1};
    if (!put_piece(x, n++, piece * SS_BROADCAST_PIECE, error)) return false;
  }
  if (!ss_play_messages(play, n, hop == x->hop, x->g->wire, error)) return false;
  for (uint32_t i = 0; play->payloads && i < n; i++)
    if (!ss_payload_unfinished(&play->payload[i], play->bytes[i]) && !take(play, x->g, i, &x->move[i], error))
      return false;
  return true;
}

/* Piece k of a block goes its hop number s, 1 .. P-1, in step k + s. */
bool ss_allgather_broadcasts(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  struct broadcasts x = {.play = play, .g = g};
  uint64_t longest = 1;
  for (uint32_t b = 0; b < g->size; b++) longest = g->bytes[b] > longest ? g->bytes[b] : longest;
  const uint64_t pieces = (longest - 1) / SS_BROADCAST_PIECE + 1;
  char *stream;
  if (!ss_take(play->arena, x.move, g->size) || !ss_take(play->arena, stream, g->size))
    return ss_fail_memory(error, "gathering blocks");
  x.stream = stream;
  for (uint64_t step = 1; step < pieces + g->size - 1; step++) {
    x.hop = step < pieces ? 1 : (uint32_t)(step - pieces + 1);
    for (uint32_t hop = x.hop; hop <= step && hop < g->size; hop++)
      if (!play_hop(&x, step - hop, hop, error)) return false;
  }
  return true;
}

bool ss_allgather_direct(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  return play_phase(play, g, SS_DIRECT, error);
}

bool ss_allgather_ring(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  return play_phase(play, g, SS_RING, error);
}

bool ss_allgather_bruck(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  return play_phase(play, g, SS_BRUCK, error);
}

bool ss_allgather_doubling(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  return play_phase(play, g, SS_FOLD_IN, error) && play_phase(play, g, SS_DOUBLE, error) &&
         play_phase(play, g, SS_FOLD_OUT, error);
}

const struct ss_wire ss_number_wire = {.format = SS_WIRE_DENSE, .value_bytes = 8};

bool ss_allgather_numbers(struct ss_play *play, const struct ss_chunk *part, ss_allgather *how, uint64_t *number,
                          struct ss_error *error) {
  const uint32_t ranks = play->ranks;
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  if (!ss_gather_open(&gather, ranks, &ss_number_wire, 0, ranks, error)) return false;
  for (uint32_t j = 0; j < ranks; j++) ss_gather_set(&gather, j, &part[j]);
  if (!ss_gather_play(play, &gather, how, error)) return false;
  for (uint32_t j = 0; j < ranks; j++) {
    number[j] = gather.block[j].numbers ? gather.block[j].numbers[0] : 0;
    if (ss_play_resident(play, j) && !ss_receipts_regular(&gather.receipts, j))
      ss_play_mismatch(play, "rank %u was not told the numbers that the others sent", j);
  }
  return true;
}

/* Without what they say. */
static bool announce_unsaid(struct ss_play *play, struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_BRUCK, play->ranks);
  while (ss_step_next(&step)) {
    for (uint32_t r = 0; r < step.moves; r++) {
      const struct ss_move move = ss_step_move(&step, r);
      play->from[r] = move.from;
      play->to[r] = move.to;
      play->bytes[r] = UINT64_C(8) * move.count;
    }
    if (!ss_play_messages(play, step.moves, true, NULL, error)) return false;
  }
  return true;
}

static bool announce(struct ss_play *play, uint64_t *size, struct ss_error *error) {
  struct ss_chunk *part = ss_arena_alloc(play->arena, play->ranks, sizeof *part);
  uint64_t *own = ss_arena_alloc(play->arena, play->ranks, sizeof *own);
  if (!part || !own) return ss_fail_memory(error, "announcing sizes");
  memcpy(own, size, play->ranks * sizeof *own);
  for (uint32_t r = 0; r < play->ranks; r++) {
    part[r] = (struct ss_chunk){.count = 1, .high = 1, .width = 1, .origin = r, .part = r, .dense = true};
    if (!ss_play_resident(play, r)) continue;
    part[r].numbers = &own[r];
    part[r].kind = SS_CHUNK_NUMBERS;
  }
  return ss_allgather_numbers(play, part, ss_allgather_bruck, size, error);
}

bool ss_announce_sizes(struct ss_play *play, struct ss_error *error) {
  if (!play->exchange_sizes) return true;
  if (!announce_unsaid(play, error)) return false;
  ss_play_wait(play);
  return true;
}

bool ss_tell_sizes(struct ss_play *play, bool counted, uint64_t *size, struct ss_error *error) {
  const bool announced = counted && play->exchange_sizes, said = announced && play->payloads;
  if (announced && !said && !ss_announce_sizes(play, error)) return false;
  if (!said && play->ragged == SS_RAGGED_V) return true;
  for (uint32_t r = 0; r < play->ranks; r++)
    if (!ss_play_resident(play, r)) size[r] = 0;
  if (!said) return ss_play_pool(play, size, play->ranks, SS_POOL_SUM, error);
  if (!announce(play, size, error)) return false;
  ss_play_wait(play);
  return true;
}

bool ss_gather_announced(struct ss_play *play, struct ss_gather *g, const struct ss_chunk *block, ss_allgather *how,
                         struct ss_error *error) {
  for (uint32_t p = 0; p < g->size; p++) ss_gather_set(g, p, &block[p]);
  return ss_gather_ragged(play, g, true, how, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
