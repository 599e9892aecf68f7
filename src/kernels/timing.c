#include "kernels/timing.h"

#include "tensor/hash.h"

#include <gsl/gsl_statistics_double.h>

enum { OPERANDS = 4, PARTS = 16, BLOCK = 256 };

/* --- inputs ----------------------------------------------------------------------------------------------- */

/* Each row with the probability of the density, on its own. */
static bool lists(const struct ss_timing *t, uint32_t p, uint64_t row) {
  return ss_unit(ss_mix(p + 1, row)) < t->density;
}

static bool make_part(const struct ss_timing *t, uint32_t p, const float *values, struct ss_arena *arena,
                      struct ss_chunk *out) {
  uint64_t count = 0;
#pragma omp parallel for reduction(+ : count)
  for (uint64_t i = 0; i < t->rows; i++) count += lists(t, p, i);
  uint32_t *rows = ss_arena_alloc(arena, count, sizeof *rows);
  if (!rows) return false;
  count = 0;
  for (uint64_t i = 0; i < t->rows; i++)
    if (lists(t, p, i)) rows[count++] = (uint32_t)i;
  *out = (struct ss_chunk){.rows = rows,
                           .values = values,
                           .count = count,
                           .high = t->rows,
                           .width = t->width,
                           .stride = t->width,
                           .distinct = true};
  return true;
}

static bool make_dense(const struct ss_timing *t, struct ss_arena *arena, struct ss_kernel_input *in) {
  uint64_t elements;
  if (!ss_mul_u64(t->rows, t->width, &elements)) return false;
  for (uint32_t which = 0; which < 2; which++) {
    float *values = ss_arena_alloc(arena, elements, sizeof *values);
    if (!values) return false;
#pragma omp parallel for
    for (uint64_t i = 0; i < elements; i++) values[i] = (float)ss_unit(ss_mix(102 + which, i));
    in->dense[which] = values;
  }
  return true;
}

static bool make_lookups(const struct ss_timing *t, struct ss_arena *arena, struct ss_kernel_input *in) {
  const uint64_t n = in->part[0].count;
  uint32_t *lookups = ss_arena_alloc(arena, n, sizeof *lookups);
  int64_t *units = ss_arena_alloc(arena, n, sizeof *units);
  if (!lookups || !units) return false;
#pragma omp parallel for
  for (uint64_t i = 0; i < n; i++) {
    lookups[i] = (uint32_t)ss_below(ss_mix(100, i), t->rows);
    units[i] = (int64_t)(ss_mix(101, i) >> 40);
  }
  in->lookups = lookups;
  in->units = units;
  in->lookup_count = n;
  return true;
}

/* Whatever the kernels, the derived parts of an input are small or made with it. */
static bool make(const struct ss_timing *t, uint32_t which, struct ss_arena *arena, struct ss_kernel_input *in,
                 struct ss_error *error) {
  const uint32_t sum = UINT32_C(1) << SS_KERNEL_MERGE_SUM;
  *in = (struct ss_kernel_input){.rows = t->rows,
                                 .operands = which & sum ? OPERANDS : 1,
                                 .parts = PARTS,
                                 .block = BLOCK,
                                 .hashes = 1,
                                 .sketch_seed = 1};
  bool ok = make_dense(t, arena, in);
  for (uint32_t p = 0; ok && p < in->operands; p++) ok = make_part(t, p, in->dense[0], arena, &in->part[p]);
  if (!ok || !make_lookups(t, arena, in)) return ss_fail_memory(error, "making inputs of kernels");
  const uint64_t n = in->part[0].count;
  const struct ss_hash_memory zen = ss_hash_memory_zen(PARTS, n);
  in->hash_seed = zen.seed;
  in->probes = zen.probes;
  in->parallel_slots = zen.parallel_slots;
  in->serial_slots = zen.serial_slots;
  in->keep = in->buckets = n > 0 ? n : 1;
  return ss_kernel_input_derive(in, arena, error);
}

/* --- clocks ----------------------------------------------------------------------------------------------- */

static bool time_kernel(const struct ss_timing *t, const struct ss_kernel_input *in, struct ss_kernel_run *run,
                        enum ss_kernel_kind kernel, struct ss_timed *out, struct ss_error *error) {
  double seconds[SS_TIMED_REPEATS_MAX];
  struct ss_kernel_output output;
  if (!t->device->run(run, kernel, error)) return false; /* warms up */
  for (uint32_t i = 0; i < t->repeats; i++)
    if (!t->device->seconds(run, kernel, &seconds[i], error)) return false;
  if (!t->device->fetch(run, kernel, &output, error)) return false;
  out->seconds = gsl_stats_median(seconds, 1, t->repeats);
  out->traffic = ss_kernel_traffic(kernel, in, &output);
  return true;
}

bool ss_time_kernels(const struct ss_timing *timing, uint32_t which, struct ss_timed out[SS_KERNELS],
                     struct ss_error *error) {
  struct ss_arena arena = {0};
  struct ss_kernel_input in;
  struct ss_kernel_run *run = NULL;
  bool ok = make(timing, which, &arena, &in, error) && timing->device->open(&in, 2 * timing->cache, &run, error);
  for (uint32_t k = 0; ok && k < SS_KERNELS; k++)
    if (which >> k & 1) ok = time_kernel(timing, &in, run, (enum ss_kernel_kind)k, &out[k], error);
  timing->device->close(run);
  ss_arena_free(&arena);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
