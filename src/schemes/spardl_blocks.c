#include "schemes/spardl.h"

#include "tensor/sets.h"
#include "tensor/topk.h"

#include <string.h>

bool ss_spardl_cut(struct ss_spardl *s, struct ss_error *error) {
  for (uint32_t r = 0; r < s->run->ranks; r++) {
    if (!ss_run_copy(s->run, r, &s->copy[r], error)) return false;
    for (uint32_t b = 0; b < s->q; b++) {
      const struct ss_chunk range = ss_run_part(s->run, b, s->q);
      *ss_spardl_block(s, r, b) = ss_chunk_slice(&s->copy[r], range.low, range.high);
      ss_spardl_block(s, r, b)->part = b;
    }
  }
  return true;
}

static bool drop(struct ss_spardl *s, uint32_t rank, const struct ss_chunk *piece, struct ss_error *error) {
  struct ss_spardl_dropped *d = &s->dropped[rank];
  if (piece->count == 0) return true;
  if (d->count == d->capacity) {
    const uint32_t capacity = d->capacity ? 2 * d->capacity : 2 * s->q;
    struct ss_chunk *grown = ss_arena_alloc(s->run->play->arena, capacity, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "keeping residuals");
    if (d->count > 0) memcpy(grown, d->piece, d->count * sizeof *grown);
    d->piece = grown;
    d->capacity = capacity;
  }
  d->piece[d->count++] = *piece;
  return true;
}

bool ss_spardl_select(struct ss_spardl *s, struct ss_chunk *chunk, uint64_t keep, struct ss_chunk *left,
                      struct ss_error *error) {
  struct ss_chunk kept;
  if (!ss_topk(chunk, keep, s->run->play->arena, &kept, error) ||
      !ss_chunk_without(chunk, &kept, s->run->play->arena, left, error))
    return false;
  *chunk = kept;
  return true;
}

bool ss_spardl_select_own(struct ss_spardl *s, uint32_t rank, uint32_t block, uint64_t keep, struct ss_error *error) {
  struct ss_chunk left;
  return ss_spardl_select(s, ss_spardl_block(s, rank, block), keep, &left, error) && drop(s, rank, &left, error);
}

bool ss_spardl_drop_share(struct ss_spardl *s, uint32_t rank, const struct ss_chunk *left, uint32_t holders,
                          bool lowest, struct ss_error *error) {
  struct ss_chunk share = *left;
  uint64_t *marks = ss_arena_alloc(s->run->play->arena, left->count, sizeof *marks);
  if (!marks) return ss_fail_memory(error, "keeping residuals");
  for (uint64_t i = 0; i < left->count; i++) {
    const int64_t units = (int64_t)left->marks[i], g = holders, each = (units - (((units % g) + g) % g)) / g;
    marks[i] = (uint64_t)(lowest ? units - (g - 1) * each : each);
  }
  share.marks = marks;
  return drop(s, rank, &share, error);
}

bool ss_spardl_add(struct ss_spardl *s, struct ss_play *play, uint32_t at, struct ss_chunk *to,
                   const struct ss_chunk *what, struct ss_error *error) {
  const struct ss_chunk both[2] = {*to, *what}, was = *to;
  if (!ss_chunk_sum(both, 2, was.low, was.high, play->arena, &s->run->play->scratch, to, error)) return false;
  to->origin = was.origin;
  to->part = was.part;
  to->width = to->stride = 1;
  ss_play_note_sum(play, at, &s->run->coo, both, 2, to);
  return true;
}

/* --- residuals ------------------------------------------------------------------------------------------ */

/* The copy where nothing was applied; where something was, what the rank dropped on the way. */
static bool keep_global(struct ss_spardl *s, uint32_t r, struct ss_error *error) {
  struct ss_run *run = s->run;
  struct ss_chunk parts[2], sum;
  if (!ss_chunk_sum(s->dropped[r].piece, s->dropped[r].count, run->low, run->high, run->play->arena,
                    &run->play->scratch, &sum, error) ||
      !ss_chunk_without(&s->copy[r], &s->result[r], run->play->arena, &parts[0], error))
    return false;
  if (sum.count == 0) return ss_run_keep(run, r, &parts[0], error);
  if (!ss_chunk_select(&sum, &s->result[r], run->play->arena, &parts[1], error) ||
      !ss_chunk_sum(parts, 2, run->low, run->high, run->play->arena, &run->play->scratch, &sum, error))
    return false;
  return ss_run_keep(run, r, &sum, error);
}

bool ss_spardl_keep(struct ss_spardl *s, uint32_t r, enum ss_spardl_residuals residuals, struct ss_error *error) {
  struct ss_chunk own;
  switch (residuals) {
  case SS_SPARDL_GLOBAL: return keep_global(s, r, error);
  case SS_SPARDL_PARTIAL: return ss_run_keep_without(s->run, r, &s->copy[r], &s->result[r], error);
  case SS_SPARDL_LOCAL:
    return ss_topk_parts(&s->copy[r], s->k, s->q, s->run->play->arena, &own, error) &&
           ss_run_keep_without(s->run, r, &s->copy[r], &own, error);
  }
  return false;
}
