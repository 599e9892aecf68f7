/* All-gathers: ring, direct, Bruck, recursive doubling. */
#include "sim/collectives/collectives.h"

#include <stdlib.h>

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

bool ss_gather_play(struct ss_play *play, struct ss_gather *g, ss_allgather *how, struct ss_error *error) {
  if (play->payloads && !ss_receipts_open(&g->receipts, g->size, g->size, error)) return false;
  g->uniform = true;
  for (uint32_t b = 0; b < 2 * g->size; b++) {
    g->bytes[b] = ss_wire_bytes(g->wire, &g->block[b]);
    g->upto[b + 1] = g->upto[b] + g->bytes[b];
    g->uniform = g->uniform && g->bytes[b] == g->bytes[0];
  }
  for (uint32_t p = 0; play->payloads && p < g->size; p++) ss_receipts_add_run(play, &g->receipts, p, p, 1);
  return how(play, g, error);
}

bool ss_gather_sum(struct ss_play *play, struct ss_gather *g, uint32_t position, struct ss_chunk *out,
                   struct ss_error *error) {
  const struct ss_received received = {&g->receipts, g->block, g->low, g->high, &g->shared};
  return ss_receipts_sum(play, &received, position, out, error);
}

static uint32_t rank_of(const struct ss_gather *g, uint32_t position) {
  return g->rank ? g->rank[position] : position;
}

/* A message of the run of blocks [first, first + count) mod size from one position to another. */
struct run {
  uint32_t from, to, first, count;
};

/* A member that holds a block as it should not have come passes it on as it came. */
static bool put(struct ss_play *play, struct ss_gather *g, uint32_t at, const struct run *m, struct ss_error *error) {
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

static bool take(struct ss_play *play, struct ss_gather *g, uint32_t at, const struct run *m,
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

/* Who sends what in one round, by position p and a step. */
enum pattern_kind {
  AHEAD,      /* its own block to p + step */
  PASS_ON,    /* the block that it got step - 1 rounds ago to p + 1 */
  BEHIND,     /* the blocks that it has, its own first, to p - step */
  TO_PARTNER, /* of the core: all that it stands for to p xor step */
  FOLD_IN,    /* its own block to the odd one of its pair */
  FOLD_OUT    /* the odd one all others to the even one */
};
struct pattern {
  enum pattern_kind kind;
  uint32_t senders; /* positions 0..senders-1, of the core or of pairs, send */
  uint32_t size, step;
  struct ss_fold fold;
};

/* Core position p stands for blocks [begin(p), begin(p + 1)). */
static uint32_t begin(const struct ss_fold fold, uint32_t p) {
  return p < fold.q ? 2 * p : p + fold.q;
}

static struct run run_of(const struct pattern *x, uint32_t p) {
  const uint32_t size = x->size, step = x->step, left = size - step;
  uint32_t first, low;
  switch (x->kind) {
  case AHEAD: return (struct run){p, (p + step) % size, p, 1};
  case PASS_ON: return (struct run){p, p + 1 == size ? 0 : p + 1, (p + 1 + left) % size, 1};
  case BEHIND: return (struct run){p, (p + left) % size, p, step < left ? step : left};
  case TO_PARTNER:
    low = p & ~(step - 1);
    first = begin(x->fold, low);
    return (struct run){ss_fold_member(x->fold, p), ss_fold_member(x->fold, p ^ step), first,
                        begin(x->fold, low + step) - first};
  case FOLD_IN: return (struct run){2 * p, 2 * p + 1, 2 * p, 1};
  case FOLD_OUT: break;
  }
  return (struct run){2 * p + 1, 2 * p, 2 * p + 1, size - 1};
}

static bool play_pattern(struct ss_play *play, struct ss_gather *g, const struct pattern *pattern, bool dependent,
                         struct ss_error *error) {
  for (uint32_t p = 0; p < pattern->senders; p++) {
    const struct run run = run_of(pattern, p);
    if (!put(play, g, p, &run, error)) return false;
  }
  if (!(pattern->kind == AHEAD ? ss_play_exchange(play, pattern->senders, dependent, g->wire, error)
                               : ss_play_messages(play, pattern->senders, dependent, g->wire, error)))
    return false;
  for (uint32_t p = 0; p < pattern->senders; p++) {
    const struct run run = run_of(pattern, p);
    if (!take(play, g, p, &run, error)) return false;
  }
  return true;
}

/* Without payloads, and when all ranks take part, a round in which everyone sends ahead needs no lists. */
static bool shifts(const struct ss_play *play, const struct ss_gather *g) {
  return !play->payloads && !g->rank;
}

bool ss_allgather_direct(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  struct pattern x = {.kind = AHEAD, .senders = g->size, .size = g->size};
  for (x.step = 1; x.step < x.size; x.step++) {
    const struct ss_messages ahead = {
        .count = x.size, .shift = x.step, .bytes = g->uniform ? NULL : g->bytes, .each = g->bytes[0]};
    bool played = shifts(play, g) ? ss_play_shift(play, &ahead, x.step == 1, true, error)
                                  : play_pattern(play, g, &x, x.step == 1, error);
    if (!played) return false;
  }
  return true;
}

bool ss_allgather_ring(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  struct pattern x = {.kind = PASS_ON, .senders = g->size, .size = g->size};
  for (x.step = 1; x.step < x.size; x.step++) {
    const struct ss_messages ahead = {.count = x.size,
                                      .shift = 1,
                                      .bytes = g->uniform ? NULL : g->bytes + x.size + 1 - x.step,
                                      .each = g->bytes[0]};
    bool played =
        shifts(play, g) ? ss_play_shift(play, &ahead, true, false, error) : play_pattern(play, g, &x, true, error);
    if (!played) return false;
  }
  return true;
}

bool ss_allgather_bruck(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  struct pattern x = {.kind = BEHIND, .senders = g->size, .size = g->size};
  for (x.step = 1; x.step < x.size; x.step *= 2)
    if (!play_pattern(play, g, &x, true, error)) return false;
  return true;
}

bool ss_allgather_doubling(struct ss_play *play, struct ss_gather *g, struct ss_error *error) {
  struct ss_fold fold = ss_fold_of(g->size);
  struct pattern in = {.kind = FOLD_IN, .senders = fold.q, .size = g->size};
  struct pattern core = {.kind = TO_PARTNER, .senders = fold.Q, .size = g->size, .fold = fold};
  struct pattern out = {.kind = FOLD_OUT, .senders = fold.q, .size = g->size};
  if (fold.q > 0 && !play_pattern(play, g, &in, true, error)) return false;
  for (core.step = 1; core.step < fold.Q; core.step *= 2)
    if (!play_pattern(play, g, &core, true, error)) return false;
  return fold.q == 0 || play_pattern(play, g, &out, true, error);
}

const struct ss_wire ss_number_wire = {.format = SS_WIRE_DENSE, .value_bytes = 8};

bool ss_allgather_numbers(struct ss_play *play, const struct ss_chunk *part, ss_allgather *how, uint64_t *number,
                          struct ss_error *error) {
  const uint32_t ranks = play->ranks;
  struct ss_gather gather;
  if (!ss_gather_open(&gather, ranks, &ss_number_wire, 0, ranks, error)) return false;
  for (uint32_t j = 0; j < ranks; j++) ss_gather_set(&gather, j, &part[j]);
  const bool ok = ss_gather_play(play, &gather, how, error);
  for (uint32_t j = 0; ok && j < ranks; j++) {
    number[j] = gather.block[j].numbers ? gather.block[j].numbers[0] : 0;
    if (ss_play_resident(play, j) && !ss_receipts_regular(&gather.receipts, j))
      ss_play_mismatch(play, "rank %u was not told the numbers that the others sent", j);
  }
  ss_gather_close(&gather);
  return ok;
}

bool ss_announce_sizes(struct ss_play *play, struct ss_error *error) {
  const uint32_t P = play->ranks;
  if (!play->exchange_sizes) return true;
  for (uint32_t step = 1; step < P; step *= 2) {
    for (uint32_t r = 0; r < P; r++) {
      play->from[r] = r;
      play->to[r] = (r + P - step) % P;
      play->bytes[r] = UINT64_C(8) * (step < P - step ? step : P - step);
    }
    if (!ss_play_messages(play, P, true, NULL, error)) return false;
  }
  return true;
}
