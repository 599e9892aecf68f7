/* What schemes share: their parts of a tensor, reports of what ranks end with, and what they keep. */
#include "schemes/scheme.h"

#include "tensor/sets.h"
#include "tensor/topk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct ss_chunk ss_run_part(const struct ss_run *run, uint32_t part, uint32_t parts) {
  const uint64_t rows = run->high - run->low;
  return (struct ss_chunk){.low = run->low + ss_share(rows, parts, part),
                           .high = run->low + ss_share(rows, parts, part + 1),
                           .width = run->input->width,
                           .stride = run->input->width,
                           .part = part};
}

struct ss_chunk ss_run_slice(const struct ss_run *run, uint32_t rank, uint32_t part, uint32_t parts) {
  const struct ss_chunk range = ss_run_part(run, part, parts);
  struct ss_chunk slice = ss_chunk_slice(&run->own[rank], range.low, range.high);
  slice.part = part;
  return slice;
}

bool ss_run_add_rows(struct ss_run *run, uint32_t first, uint32_t last, uint64_t *bits, struct ss_error *error) {
  for (uint32_t r = first; r < last; r++) {
    const struct ss_chunk *own = &run->own[r];
    if (!ss_run_resident(run, r)) continue;
    for (uint64_t i = 0; i < own->count; i++) {
      const uint64_t at = own->rows[i] - run->low;
      bits[at / 64] |= UINT64_C(1) << (at % 64);
    }
  }
  return ss_play_pool(&run->play, bits, ss_run_words(run), SS_POOL_OR, error);
}

bool ss_counts_never_suffice(const struct ss_setting *setting, const struct ss_input *input) {
  (void)setting;
  (void)input;
  return false;
}

bool ss_conserves_always(const struct ss_setting *setting) {
  (void)setting;
  return true;
}

/* --- what ranks end with -------------------------------------------------------------------------------- */

void ss_run_inexact(struct ss_run *run, const char *format, ...) {
  if (run->exact && !run->play.mismatch[0]) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->play.mismatch, sizeof run->play.mismatch, format, arguments);
    va_end(arguments);
  }
  run->exact = false;
}

/* All ranks are to end with the same values. */
static void end_with(struct ss_run *run, const struct ss_chunk *chunk) {
  if (!run->ended) run->final = *chunk;
  else if (!ss_chunk_same(&run->final, chunk) && !ss_chunk_equal(&run->final, chunk)) run->agreed = false;
  run->ended = true;
}

void ss_run_sparse(struct ss_run *run, uint32_t rank, const struct ss_chunk *chunk, uint32_t column,
                   const struct ss_chunk *only) {
  if (run->result) run->result[rank] = *chunk;
  if (run->setting->scheme->valued) end_with(run, chunk);
  if (run->proof && !run->proof->sparse(run->proof, chunk, column, only))
    ss_run_inexact(run, "rows [%llu, %llu) are not the exact sum", (unsigned long long)chunk->low,
                   (unsigned long long)chunk->high);
}

void ss_run_dense(struct ss_run *run, const struct ss_chunk *chunk, uint32_t units) {
  if (run->proof && !run->proof->dense(run->proof, chunk, units))
    ss_run_inexact(run, "rows [%llu, %llu) are not the exact dense sum", (unsigned long long)chunk->low,
                   (unsigned long long)chunk->high);
}

void ss_run_imbalance(struct ss_run *run, const struct ss_owners *owners) {
  run->push_imbalance = owners->push_imbalance;
  run->pull_imbalance = owners->pull_imbalance;
}

/* --- dense parts ---------------------------------------------------------------------------------------- */

static bool prove_part(const struct ss_chunk *own, uint32_t rank, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) {
  if (own->kind == SS_CHUNK_BARE) return true;
  uint64_t *proofs = ss_arena_alloc(arena, part->count, sizeof *proofs);
  if (!proofs) return ss_fail_memory(error, "proving a dense tensor");
  for (uint32_t u = 0; u < part->count; u++) proofs[u] = ss_contribution(rank, part->part + u, 0);
  part->proofs = proofs;
  part->kind = SS_CHUNK_PROOFS;
  return true;
}

bool ss_run_dense_part(struct ss_run *run, uint32_t rank, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) {
  const struct ss_chunk *own = &run->own[rank];
  struct ss_chunk rows = ss_chunk_slice(own, part->low, part->high);
  if (run->dense_lists) {
    rows.origin = rank;
    rows.part = part->part;
    *part = rows;
    return true;
  }
  part->origin = rank;
  if (!prove_part(own, rank, arena, part, error)) return false;
  if (!own->values) return true;
  uint64_t n = (part->high - part->low) * part->width;
  float *values = ss_arena_alloc(arena, n, sizeof *values);
  if (!values) return ss_fail_memory(error, "making a dense tensor");
  memset(values, 0, n * sizeof *values);
  for (uint64_t i = 0; i < rows.count; i++)
    memcpy(values + (rows.rows[i] - part->low) * part->width, rows.values + i * rows.stride,
           part->width * sizeof *values);
  part->values = values;
  return true;
}

/* --- values that wait ----------------------------------------------------------------------------------- */

bool ss_run_copy(struct ss_run *run, uint32_t rank, struct ss_chunk *out, struct ss_error *error) {
  struct ss_chunk both[2] = {run->own[rank], run->memory->residual[rank]};
  *out = both[0];
  if (both[1].count == 0) return true;
  if (!ss_sum_values(&(struct ss_operands){both, 2, run->low, run->high}, run->play.arena, &run->play.scratch, out,
                     error))
    return false;
  out->origin = rank;
  out->width = out->stride = 1;
  return true;
}

bool ss_run_keep(struct ss_run *run, uint32_t rank, const struct ss_chunk *residual, struct ss_error *error) {
  struct ss_arena *arena = &run->memory->arena[run->memory->iteration % 2];
  uint32_t *rows = ss_arena_alloc(arena, residual->count, sizeof *rows);
  int64_t *units = ss_arena_alloc(arena, residual->count, sizeof *units);
  if (!rows || !units) return ss_fail_memory(error, "keeping a residual");
  if (residual->count > 0) {
    memcpy(rows, residual->rows, residual->count * sizeof *rows);
    memcpy(units, residual->units, residual->count * sizeof *units);
  }
  run->memory->kept[rank] = *residual;
  run->memory->kept[rank].rows = rows;
  run->memory->kept[rank].units = units;
  return true;
}

bool ss_run_keep_without(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy, const struct ss_chunk *sent,
                         struct ss_error *error) {
  struct ss_arena *arena = &run->memory->arena[run->memory->iteration % 2];
  return ss_chunk_without(copy, sent, arena, &run->memory->kept[rank], error);
}

uint64_t ss_run_k(const struct ss_run *run) {
  const uint64_t n = run->input->rows;
  if (!ss_setting_has(run->setting, "k")) return 0;
  uint64_t k = ss_setting_value(run->setting, "k");
  if (k == 0) k = (uint64_t)floor(ss_setting_real(run->setting, "density") * (double)n + 0.5);
  if (k < 1) k = 1;
  k = ss_share(k, run->shards, run->shard + 1) - ss_share(k, run->shards, run->shard);
  return k > 0 ? k : 1;
}

bool ss_check_k(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  (void)ranks;
  (void)nodes;
  if (!ss_setting_given(setting, "k") || !ss_setting_given(setting, "density")) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: \"k\" and \"density\" both say how many to select: give one",
                 setting->label);
}

bool ss_run_select(struct ss_run *run, uint32_t rank, uint64_t k, struct ss_chunk *copy, struct ss_chunk *selected,
                   struct ss_error *error) {
  return ss_run_copy(run, rank, copy, error) && ss_topk(copy, k, run->play.arena, selected, error);
}

bool ss_run_keep_unapplied(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy,
                           const struct ss_chunk *selected, const struct ss_chunk *result, struct ss_error *error) {
  struct ss_chunk applied;
  return ss_chunk_select(selected, result, run->play.arena, &applied, error) &&
         ss_run_keep_without(run, rank, copy, &applied, error);
}
