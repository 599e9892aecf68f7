#include "sim/collectives/receipts.h"

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

bool ss_receipts_add(struct ss_play *play, struct ss_receipts *r, const struct ss_arrival *a,
                     struct ss_error *error) {
  const struct ss_chunk *due = a->due, *got = a->got;
  mark(play, r, a->receiver, a->block);
  if (ss_chunk_same(due, got)) return true;
  if (due->origin != got->origin || due->part != got->part || (due->dense && due->count != got->count))
    ss_play_mismatch(play, "endpoint %u received part %u of %u where part %u of %u was due", a->receiver, got->part,
                     got->origin, due->part, due->origin);
  if (!ss_grow(r->other, r->capacity, r->others + 1)) return ss_fail_memory(error, "recording receipts");
  r->other[r->others++] = (struct ss_receipt){a->receiver, a->block, *got};
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

static bool sum_held(struct ss_play *play, const struct ss_received *x, uint32_t receiver, struct ss_chunk *out,
                     struct ss_error *error) {
  struct ss_chunk *held = ss_arena_alloc(play->arena, x->receipts->blocks, sizeof *held);
  uint32_t n = 0;
  if (!held) return ss_fail_memory(error, "summing what a rank received");
  for (uint32_t b = 0; b < x->receipts->blocks; b++) {
    const struct ss_chunk *block = ss_receipts_held(x->receipts, receiver, b, &x->block[b]);
    if (block) held[n++] = *block;
    else ss_play_mismatch(play, "endpoint %u never received block %u", receiver, b);
  }
  return ss_chunk_sum(&(struct ss_operands){held, n, x->low, x->high}, play->arena, &play->scratch, out, error);
}

bool ss_receipts_sum(struct ss_play *play, const struct ss_received *x, uint32_t receiver, struct ss_chunk *out,
                     struct ss_error *error) {
  const struct ss_operands sent = {x->block, x->receipts->blocks, x->low, x->high};
  if (!ss_receipts_regular(x->receipts, receiver)) return sum_held(play, x, receiver, out, error);
  if (!x->shared->rows && !ss_chunk_sum(&sent, play->arena, &play->scratch, x->shared, error)) return false;
  *out = *x->shared;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
