#include "schemes/run.h"

bool ss_run_scheme(struct ss_run *run, struct ss_error *error) {
  const struct ss_scheme *scheme = run->setting->scheme;
  const size_t own = scheme->state_size, each = scheme->rank_state_size;
  return (own + each == 0 || ss_state_take(run->state, own, each, error)) && scheme->run(run, error);
}

/* --- parts of the tensor -------------------------------------------------------------------------------- */

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

/* --- what ranks end with -------------------------------------------------------------------------------- */

void ss_run_inexact(struct ss_run *run, const char *format, ...) {
  if (run->verdict->exact && !run->play->mismatch[0]) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->play->mismatch, sizeof run->play->mismatch, format, arguments);
    va_end(arguments);
  }
  run->verdict->exact = false;
}

/* All ranks are to end with the same values. */
static void end_with(struct ss_run *run, const struct ss_chunk *chunk) {
  if (!run->ended) run->final = *chunk;
  else if (!ss_chunk_same(&run->final, chunk) && !ss_chunk_equal(&run->final, chunk)) run->verdict->agreed = false;
  run->ended = true;
}

void ss_run_sparse(struct ss_run *run, uint32_t rank, const struct ss_chunk *chunk, uint32_t column,
                   const struct ss_chunk *only) {
  if (run->result) run->result[rank] = *chunk;
  if (ss_scheme_valued(run->setting->scheme)) end_with(run, chunk);
  if (run->proof && !run->proof->sparse(run->proof, chunk, column, only))
    ss_run_inexact(run, "rows [%llu, %llu) are not the exact sum", (unsigned long long)chunk->low,
                   (unsigned long long)chunk->high);
}

void ss_run_dense(struct ss_run *run, const struct ss_chunk *chunk, uint32_t units) {
  if (run->proof && !run->proof->dense(run->proof, chunk, units))
    ss_run_inexact(run, "rows [%llu, %llu) are not the exact dense sum", (unsigned long long)chunk->low,
                   (unsigned long long)chunk->high);
}

/* --- all-gathers ---------------------------------------------------------------------------------------- */

/* Every rank adds up the blocks that it holds, and ends with the sum, which is charged. */
static bool join(struct ss_run *run, struct ss_gather *gather, struct ss_error *error) {
  struct ss_chunk sum = {0};
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!ss_gather_sum(run->play, gather, r, &sum, error)) return false;
    ss_run_sparse(run, r, &sum, 0, NULL);
  }
  ss_play_note_sums(run->play, &run->coo, &(struct ss_operands){gather->block, run->ranks, run->low, run->high},
                    &sum);
  return true;
}

bool ss_run_allgather(struct ss_run *run, const struct ss_chunk *block, const struct ss_wire *wire, ss_allgather *how,
                      struct ss_error *error) {
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  return ss_gather_open(&gather, run->ranks, wire, run->low, run->high, error) &&
         ss_gather_announced(run->play, &gather, block, how, error) &&
         (!run->play->payloads || join(run, &gather, error));
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

/* The rows among zeros: a trainer has its dense gradient so. */
static bool fill_dense(const struct ss_chunk *rows, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) {
  SS_ASIDE;
  float *values = ss_arena_zero(arena, (part->high - part->low) * part->width, sizeof *values);
  for (uint64_t i = 0; values && i < rows->count; i++)
    memcpy(values + (rows->rows[i] - part->low) * part->width, rows->values + i * rows->stride,
           part->width * sizeof *values);
  part->values = values;
  return values || ss_fail_memory(error, "making a dense tensor");
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
  return fill_dense(&rows, arena, part, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
