/* What schemes share: reports to the proof, and sums of what was received. */
#include "schemes/scheme.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ss_run_inexact(struct ss_run *run, const char *format, ...) {
  if (run->exact && !run->play.mismatch[0]) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->play.mismatch, sizeof run->play.mismatch, format, arguments);
    va_end(arguments);
  }
  run->exact = false;
}

void ss_run_sparse(struct ss_run *run, const struct ss_chunk *chunk, uint32_t column, const struct ss_chunk *only) {
  if (run->proof && !run->proof->sparse(run->proof, chunk, column, only))
    ss_run_inexact(run, "rows [%llu, %llu) are not the exact sum", (unsigned long long)chunk->low,
                   (unsigned long long)chunk->high);
}

void ss_run_dense(struct ss_run *run, const struct ss_chunk *chunk, uint32_t units) {
  if (run->proof && !run->proof->dense(run->proof, chunk, units))
    ss_run_inexact(run, "rows [%llu, %llu) are not the exact dense sum", (unsigned long long)chunk->low,
                   (unsigned long long)chunk->high);
}

bool ss_run_dense_part(struct ss_run *run, uint32_t rank, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) {
  const struct ss_chunk *own = &run->own[rank];
  part->origin = rank;
  if (own->marks) {
    uint64_t *marks = ss_arena_alloc(arena, part->count, sizeof *marks);
    if (!marks) return ss_fail_memory(error, "proving a dense tensor");
    for (uint32_t u = 0; u < part->count; u++) marks[u] = ss_contribution(rank, part->part + u, 0);
    part->marks = marks;
  }
  if (!own->values) return true;
  uint64_t n = (part->high - part->low) * part->width;
  float *values = ss_arena_alloc(arena, n, sizeof *values);
  if (!values) return ss_fail_memory(error, "making a dense tensor");
  memset(values, 0, n * sizeof *values);
  struct ss_chunk rows = ss_chunk_slice(own, part->low, part->high);
  for (uint64_t i = 0; i < rows.count; i++)
    memcpy(values + (rows.rows[i] - part->low) * part->width, rows.values + i * rows.stride,
           part->width * sizeof *values);
  part->values = values;
  return true;
}
