#include "schemes/run.h"

#include "tensor/topk.h"

uint64_t ss_run_k(const struct ss_run *run) {
  const uint64_t n = run->input->rows;
  if (run->setting->scheme->content != SS_SENDS_LARGEST) return 0;
  uint64_t k = run->setting->value[SS_K];
  if (k == 0) k = (uint64_t)floor(run->setting->real[SS_DENSITY] * (double)n + 0.5);
  if (k < 1) k = 1;
  k = ss_share(k, run->shards, run->shard + 1) - ss_share(k, run->shards, run->shard);
  return k > 0 ? k : 1;
}

bool ss_run_add_held(struct ss_run *run, uint32_t rank, struct ss_chunk *held, const struct ss_chunk *more,
                     struct ss_error *error) {
  const struct ss_chunk both[2] = {*held, *more};
  if (!ss_play_sum_held(run->play, rank, &(struct ss_operands){both, 2, held->low, held->high}, held, error))
    return false;
  held->origin = both[0].origin;
  held->part = both[0].part;
  return true;
}

bool ss_run_copy(struct ss_run *run, uint32_t rank, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_chunk *residual = &run->state->residual[rank];
  *out = run->own[rank];
  if (residual->count > 0 && !ss_run_add_held(run, rank, out, residual, error)) return false;
  ss_play_renew(run->play, rank, NULL, out);
  return true;
}

bool ss_run_select(struct ss_run *run, uint32_t rank, uint64_t k, struct ss_chunk *copy, struct ss_chunk *selected,
                   struct ss_error *error) {
  if (!ss_run_copy(run, rank, copy, error) || !ss_play_top_k(run->play, rank, copy, k, selected, error)) return false;
  ss_play_renew(run->play, rank, NULL, selected);
  return true;
}

bool ss_run_select_all(struct ss_run *run, struct ss_chunk **out, struct ss_error *error) {
  const uint64_t k = ss_run_k(run);
  struct ss_chunk *selected = ss_arena_alloc(run->play->arena, run->ranks, sizeof *selected), copy;
  if (!selected) return ss_fail_memory(error, "selecting entries");
  for (uint32_t r = 0; r < run->ranks; r++)
    if (!ss_run_select(run, r, k, &copy, &selected[r], error) ||
        !ss_run_keep_without(run, r, &copy, &selected[r], error))
      return false;
  *out = selected;
  return true;
}

bool ss_run_keep(struct ss_run *run, uint32_t rank, const struct ss_chunk *residual, struct ss_error *error) {
  SS_ASIDE; /* a rank would have made it where it stays */
  struct ss_arena *arena = &run->state->arena[run->state->iteration % 2];
  uint32_t *rows = ss_arena_alloc(arena, residual->count, sizeof *rows);
  int64_t *units = ss_arena_alloc(arena, residual->count, sizeof *units);
  if (!rows || !units) return ss_fail_memory(error, "keeping a residual");
  if (residual->count > 0) {
    memcpy(rows, residual->rows, residual->count * sizeof *rows);
    memcpy(units, residual->units, residual->count * sizeof *units);
  }
  run->state->kept[rank] = *residual;
  run->state->kept[rank].rows = rows;
  run->state->kept[rank].units = units;
  return true;
}

bool ss_run_keep_without(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy, const struct ss_chunk *sent,
                         struct ss_error *error) {
  struct ss_state *state = run->state;
  return ss_play_rest(run->play, rank, copy, sent, &state->arena[state->iteration % 2], &state->kept[rank], error);
}

bool ss_run_keep_unapplied(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy,
                           const struct ss_chunk *selected, const struct ss_chunk *result, struct ss_error *error) {
  struct ss_chunk applied;
  return ss_play_select(run->play, rank, selected, result, &applied, error) &&
         ss_run_keep_without(run, rank, copy, &applied, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
