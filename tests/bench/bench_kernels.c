/* How fast the numeric kernels are, beside the memory traffic that no kernel can do without.
 *
 *   bench_kernels    prints one JSON object a line and kernel:
 *     items, seconds       what one call works on, and the best of several calls
 *     items_per_second
 *     floor_seconds        reading the bytes that the kernel must read, and writing those that it must write, once
 *                          and in order, with all threads, measured in the same run; nothing is read again for it
 *     ratio                seconds over floor_seconds
 *     result               a figure of what came out, so that no compiler can leave it out
 */
#include "tensor/coalesce.h"
#include "tensor/hash.h"
#include "tensor/sets.h"
#include "tensor/sketch.h"
#include "tensor/topk.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 7 };
enum { INDICES = 11000000, PARTS = 16, RANGE = 112000000, FLOATS = 15000000, ELEMENTS = 10000000, FEW = 1000000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void need(bool good, const struct ss_error *error) {
  if (good) return;
  fprintf(stderr, "bench_kernels: %s\n", error ? error->text : "out of memory");
  exit(3);
}

/* What the kernels work on, and where they write. */
struct data {
  uint32_t *rows, *other_rows, *rows_out; /* [FLOATS] ascending; [other_count]; [FLOATS] */
  uint64_t *marks, *marks_out;            /* [FLOATS] */
  float *floats;                          /* [FLOATS] */
  int64_t *buckets;                       /* [ELEMENTS / 2] */
  double *decoded;                        /* [ELEMENTS] */
  uint64_t other_count;
  uint32_t *lookups; /* [INDICES] of RANGE rows, in any order */
  struct ss_coalesce_scratch scratch;
  struct ss_arena arena;
};

static struct data make_data(void) {
  struct data d = {.rows = ss_alloc(FLOATS, sizeof *d.rows),
                   .other_rows = ss_alloc(FLOATS, sizeof *d.other_rows),
                   .rows_out = ss_alloc_zero(FLOATS, sizeof *d.rows_out),
                   .marks = ss_alloc(FLOATS, sizeof *d.marks),
                   .marks_out = ss_alloc_zero(FLOATS, sizeof *d.marks_out),
                   .floats = ss_alloc(FLOATS, sizeof *d.floats),
                   .buckets = ss_alloc_zero(ELEMENTS / 2, sizeof *d.buckets),
                   .decoded = ss_alloc_zero(ELEMENTS, sizeof *d.decoded),
                   .lookups = ss_alloc(INDICES, sizeof *d.lookups)};
  need(d.rows && d.other_rows && d.rows_out && d.marks && d.marks_out && d.floats && d.buckets && d.decoded, NULL);
  need(d.lookups && ss_coalesce_reserve(&d.scratch, INDICES, RANGE) && ss_coalesce_reserve(&d.scratch, FEW, RANGE),
       NULL);
  for (uint64_t i = 0; i < INDICES; i++) d.lookups[i] = (uint32_t)ss_below(ss_mix(5, i), RANGE);
  for (uint64_t i = 0; i < FLOATS; i++) {
    /* gaps of 1 to 13, 7 on the average: distinct, and not in step with anything */
    d.rows[i] = (uint32_t)(i * 7 + ss_below(ss_mix(1, i), 7));
    if (ss_mix(2, i) & 1) d.other_rows[d.other_count++] = (uint32_t)(i * 7 + ss_below(ss_mix(1, i), 7));
    /* Laplace, in layers of unlike scale */
    const double sign = ss_mix(3, i) & 1 ? 1 : -1;
    const double value = -log(1 - ss_unit(ss_mix(4, i))) * sign * exp2((double)(i * 8 / FLOATS) / 4);
    d.floats[i] = (float)value;
    d.marks[i] = (uint64_t)(int64_t)(value * 0x1p20);
  }
  return d;
}

/* --- kernels: each returns a figure of what came out --------------------------------------------------------- */

static uint64_t topk_floats(struct data *d) {
  struct ss_error error;
  struct ss_row_list list = {.rows = d->rows_out};
  need(ss_topk_floats(d->floats, FLOATS, FLOATS / 100, &d->arena, &list, &error), &error);
  return list.rows[list.count - 1];
}

static struct ss_chunk values_of(const struct data *d, uint64_t count) {
  return (struct ss_chunk){.rows = d->rows,
                           .marks = d->marks,
                           .kind = SS_CHUNK_VALUES,
                           .count = count,
                           .high = 7 * count,
                           .width = 1,
                           .stride = 1};
}

static uint64_t topk(struct data *d) {
  struct ss_error error;
  struct ss_chunk from = values_of(d, FLOATS), out;
  ss_arena_reset(&d->arena);
  need(ss_topk(&from, FLOATS / 100, &d->arena, &out, &error), &error);
  return out.rows[out.count - 1];
}

static uint64_t topk_parts(struct data *d) {
  struct ss_error error;
  struct ss_chunk from = values_of(d, FLOATS), out;
  ss_arena_reset(&d->arena);
  need(ss_topk_parts(&from, FLOATS / 100, 1024, &d->arena, &out, &error), &error);
  return out.rows[out.count - 1];
}

static uint64_t top_blocks(struct data *d) {
  struct ss_error error;
  const struct ss_block_choice choice = {256, FLOATS / 256 / 32};
  struct ss_row_list list;
  ss_arena_reset(&d->arena);
  need(ss_top_blocks((const int64_t *)d->marks, FLOATS, choice, &d->arena, &list, &error), &error);
  return list.rows[list.count - 1];
}

static uint64_t coalesce(struct data *d) {
  return ss_coalesce(d->lookups, INDICES, RANGE, d->rows_out, &d->scratch);
}

/* So few that they are sorted. */
static uint64_t coalesce_few(struct data *d) {
  return ss_coalesce(d->lookups, FEW, RANGE, d->rows_out, &d->scratch);
}

static uint64_t partition(struct data *d) {
  struct ss_error error;
  uint64_t offsets[PARTS + 1];
  need(ss_hash_partition(&(struct ss_hash_input){.rows = d->rows, .count = INDICES}, 1, PARTS,
                         &(struct ss_hash_output){.rows = d->rows_out, .offsets = offsets}, &error),
       &error);
  return d->rows_out[offsets[1]];
}

static uint64_t partition_marks(struct data *d) {
  struct ss_error error;
  uint64_t offsets[PARTS + 1];
  need(ss_hash_partition(&(struct ss_hash_input){.rows = d->rows, .marks = d->marks, .count = INDICES}, 1, PARTS,
                         &(struct ss_hash_output){.rows = d->rows_out, .marks = d->marks_out, .offsets = offsets},
                         &error),
       &error);
  return d->marks_out[offsets[1]];
}

static uint64_t sizes(struct data *d) {
  struct ss_error error;
  uint64_t found[PARTS];
  (void)d;
  need(ss_hash_sizes(0, RANGE, 1, PARTS, found, &error), &error);
  return found[0];
}

static uint64_t hierarchical(struct data *d) {
  struct ss_error error;
  struct ss_hash_tally tally;
  const struct ss_hash_memory memory = ss_hash_memory_zen(PARTS, INDICES);
  uint64_t offsets[PARTS + 1];
  need(ss_hash_hierarchical(&memory, &(struct ss_hash_input){.rows = d->rows, .count = INDICES},
                            &(struct ss_hash_output){.rows = d->rows_out, .offsets = offsets}, &tally, &error),
       &error);
  return tally.serial;
}

static const struct ss_sketch shape = {.hashes = 1, .buckets = ELEMENTS / 2, .seed = 1};

static uint64_t sketch_add(struct data *d) {
  const struct ss_sketch_rows rows = {d->rows, ELEMENTS, 1};
  ss_sketch_add(&shape, &rows, (const int64_t *)d->marks, d->buckets);
  return (uint64_t)d->buckets[0];
}

static uint64_t sketch_add_wide(struct data *d) {
  const struct ss_sketch_rows rows = {d->rows, ELEMENTS / 500, 500};
  ss_sketch_add(&shape, &rows, (const int64_t *)d->marks, d->buckets);
  return (uint64_t)d->buckets[0];
}

static uint64_t sketch_decode(struct data *d) {
  const struct ss_sketch_rows rows = {d->rows, ELEMENTS, 1};
  ss_sketch_decode(&shape, &rows, d->buckets, d->decoded);
  return (uint64_t)fabs(d->decoded[0]);
}

static uint64_t rows_common(struct data *d) {
  return ss_rows_common(d->rows, FLOATS, d->other_rows, d->other_count);
}

/* --- the floor ----------------------------------------------------------------------------------------------- */

/* Reads so many bytes and writes so many, in order, with all threads. */
static uint64_t stream(const unsigned char *from, uint64_t reads, unsigned char *to, uint64_t writes) {
  enum { PIECE = 1 << 16 };
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (uint64_t begin = 0; begin < reads; begin += PIECE)
    for (uint64_t i = begin; i < begin + PIECE && i + 8 <= reads; i += 8) {
      uint64_t word;
      memcpy(&word, from + i, sizeof word);
      sum += word;
    }
#pragma omp parallel for schedule(static)
  for (uint64_t begin = 0; begin < writes; begin += PIECE)
    memset(to + begin, (int)(begin >> 16 & 0xff), writes - begin < PIECE ? writes - begin : PIECE);
  return sum;
}

static double floor_of(uint64_t reads, uint64_t writes, uint64_t *sum) {
  unsigned char *from = ss_alloc(reads, 1), *to = ss_alloc(writes, 1);
  double best = HUGE_VAL;
  need(from && to, NULL);
  memset(from, 1, reads);
  memset(to, 1, writes);
  for (uint32_t i = 0; i < TIMES; i++) {
    const double begin = now();
    *sum += stream(from, reads, to, writes);
    best = fmin(best, now() - begin);
  }
  *sum += to[writes / 2];
  free(from);
  free(to);
  return best;
}

struct kernel {
  const char *name;
  uint64_t (*call)(struct data *data);
  uint64_t items, reads, writes; /* bytes: inputs once, outputs once */
};

static void measure(const struct kernel *kernel, struct data *data) {
  double best = HUGE_VAL;
  uint64_t result = 0;
  for (uint32_t i = 0; i < TIMES; i++) {
    const double begin = now();
    result = kernel->call(data);
    best = fmin(best, now() - begin);
  }
  uint64_t sum = 0;
  const double least = floor_of(kernel->reads, kernel->writes + 1, &sum);
  printf("{\"item\": \"%s\", \"items\": %" PRIu64 ", \"seconds\": %.6f, \"items_per_second\": %.4g, "
         "\"floor_seconds\": %.6f, \"ratio\": %.2f, \"result\": %" PRIu64 ", \"floor_result\": %" PRIu64 "}\n",
         kernel->name, kernel->items, best, (double)kernel->items / best, least, best / least, result, sum);
  fflush(stdout);
}

int main(int count, char **arguments) {
  (void)arguments;
  if (count != 1) {
    fprintf(stderr, "usage: bench_kernels\n");
    return 2;
  }
  struct data data = make_data();
  const uint64_t kept = FLOATS / 100, n = INDICES, e = ELEMENTS, f = FLOATS, other = data.other_count;
  const struct kernel kernels[] = {
      {"topk of floats, 1%", topk_floats, f, f * 4, kept * 4},
      {"topk of a chunk, 1% (one thread)", topk, f, f * 12, kept * 12},
      {"topk by 1,024 parts, 1% (one thread)", topk_parts, f, f * 12, kept * 12},
      {"blocks of 256, 1/32", top_blocks, f, f * 8, f / 256 / 32 * 4},
      {"coalesce (one thread)", coalesce, n, n * 4, n * 4},
      {"coalesce, sorted (one thread)", coalesce_few, FEW, FEW * 4, FEW * 4},
      {"hash partition, 16 parts", partition, n, n * 4, n * 4},
      {"hash partition with marks, 16 parts", partition_marks, n, n * 12, n * 12},
      /* reads nothing: beside it, the range as a list of rows */
      {"hash sizes, 16 parts", sizes, RANGE, (uint64_t)RANGE * 4, PARTS * 8},
      {"hierarchical hashing, 16 parts", hierarchical, n, n * 4, n * 4},
      {"sketch, one hash, rows of 1", sketch_add, e, e * 12, e / 2 * 8},
      {"sketch, one hash, rows of 500", sketch_add_wide, e, e * 8, e / 2 * 8},
      {"sketch decoded, one hash", sketch_decode, e, e * 4 + e / 2 * 8, e * 8},
      {"common rows (one thread)", rows_common, f + other, (f + other) * 4, 8},
  };
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) measure(&kernels[k], &data);
  void *const arrays[] = {data.rows,   data.other_rows, data.rows_out, data.marks,  data.marks_out,
                          data.floats, data.buckets,    data.decoded,  data.lookups};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
  ss_coalesce_free(&data.scratch);
  ss_arena_free(&data.arena);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
