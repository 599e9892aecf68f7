#include "sim/collectives/receipts.h"

#include <stdlib.h>

bool ss_receipts_open(struct ss_receipts *r, uint32_t receivers, uint32_t blocks, struct ss_error *error) {
  *r = (struct ss_receipts){.receivers = receivers, .blocks = blocks, .words = (blocks + 63) / 64};
  r->bits = ss_alloc_zero(receivers * r->words, sizeof *r->bits);
  return r->bits ? true : ss_fail_memory(error, "recording receipts");
}

void ss_receipts_close(struct ss_receipts *r) {
  free(r->bits);
  free(r->other);
  *r = (struct ss_receipts){0};
}

bool ss_receipts_has(const struct ss_receipts *r, uint32_t receiver, uint32_t block) {
  return r->bits[receiver * r->words + block / 64] >> (block % 64) & 1;
}

static void mark(struct ss_play *play, struct ss_receipts *r, uint32_t receiver, uint32_t block) {
  uint64_t *word = &r->bits[receiver * r->words + block / 64], bit = UINT64_C(1) << (block % 64);
  if (*word & bit) ss_play_mismatch(play, "endpoint %u received block %u twice", receiver, block);
  *word |= bit;
}

void ss_receipts_add_run(struct ss_play *play, struct ss_receipts *r, uint32_t receiver, uint32_t first,
                         uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t block = first + i;
    mark(play, r, receiver, block < r->blocks ? block : block - r->blocks);
  }
}

bool ss_receipts_add(struct ss_play *play, struct ss_receipts *r, uint32_t receiver, uint32_t block,
                     const struct ss_chunk *due, const struct ss_chunk *got, struct ss_error *error) {
  mark(play, r, receiver, block);
  if (ss_chunk_same(due, got)) return true;
  if (due->origin != got->origin || due->part != got->part || (due->dense && due->count != got->count))
    ss_play_mismatch(play, "endpoint %u received part %u of %u where part %u of %u was due", receiver, got->part,
                     got->origin, due->part, due->origin);
  if (r->others == r->capacity) {
    uint64_t capacity = r->capacity ? 2 * r->capacity : 64;
    struct ss_receipt *other = ss_realloc(r->other, capacity, sizeof *other);
    if (!other) return ss_fail_memory(error, "recording receipts");
    r->other = other;
    r->capacity = capacity;
  }
  r->other[r->others++] = (struct ss_receipt){receiver, block, *got};
  return true;
}

bool ss_receipts_regular(const struct ss_receipts *r, uint32_t receiver) {
  for (uint64_t i = 0; i < r->others; i++)
    if (r->other[i].receiver == receiver) return false;
  uint32_t held = 0;
  for (uint64_t w = 0; w < r->words; w++) held += (uint32_t)__builtin_popcountll(r->bits[receiver * r->words + w]);
  return held == r->blocks;
}

const struct ss_chunk *ss_receipts_held(const struct ss_receipts *r, uint32_t receiver, uint32_t block,
                                        const struct ss_chunk *sent) {
  if (!ss_receipts_has(r, receiver, block)) return NULL;
  for (uint64_t i = 0; i < r->others; i++)
    if (r->other[i].receiver == receiver && r->other[i].block == block) return &r->other[i].chunk;
  return sent;
}

static bool sum_held(struct ss_play *play, const struct ss_receipts *receipts, uint32_t receiver,
                     const struct ss_chunk *blocks, uint64_t low, uint64_t high, struct ss_chunk *out,
                     struct ss_error *error) {
  struct ss_chunk *held = ss_arena_alloc(play->arena, receipts->blocks, sizeof *held);
  uint32_t n = 0;
  if (!held) return ss_fail_memory(error, "summing what a rank received");
  for (uint32_t b = 0; b < receipts->blocks; b++) {
    const struct ss_chunk *block = ss_receipts_held(receipts, receiver, b, &blocks[b]);
    if (block) held[n++] = *block;
    else ss_play_mismatch(play, "endpoint %u never received block %u", receiver, b);
  }
  return ss_chunk_sum(&(struct ss_operands){held, n, low, high}, play->arena, &play->scratch, out, error);
}

bool ss_receipts_sum(struct ss_play *play, const struct ss_receipts *receipts, uint32_t receiver,
                     const struct ss_chunk *blocks, uint64_t low, uint64_t high, struct ss_chunk *shared,
                     struct ss_chunk *out, struct ss_error *error) {
  if (!ss_receipts_regular(receipts, receiver))
    return sum_held(play, receipts, receiver, blocks, low, high, out, error);
  if (!shared->rows && !ss_chunk_sum(&(struct ss_operands){blocks, receipts->blocks, low, high}, play->arena,
                                     &play->scratch, shared, error))
    return false;
  *out = *shared;
  return true;
}
