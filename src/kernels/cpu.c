/* The kernels on this CPU, with all threads. */
#include "kernels/kernel_table.h"
#include "tensor/coalesce.h"
#include "tensor/hash.h"
#include "tensor/sketch.h"
#include "tensor/topk.h"
#include "tensor/wire.h"

#include <omp.h>
#include <time.h>
#include <unistd.h>

/* What a kernel of a wire format writes or reads. */
struct coded {
  struct ss_wire wire;
  const struct ss_chunk *chunk;
  const struct ss_kernel_bytes *bytes;
};

struct ss_kernel_run {
  const struct ss_kernel_input *in;
  struct ss_arena data, work; /* kept; void with each call */
  struct ss_sum_scratch sums;
  struct ss_coalesce_scratch coalesce;
  uint32_t *rows;
  uint64_t *offsets, size;
  int64_t *buckets;
  double *decoded;
  unsigned char *bytes, *flushed;
  uint64_t flush;
  unsigned char flushes; /* what the next flush writes */
  struct ss_domains domains;
  struct coded coded[SS_KERNELS];
  enum ss_kernel_kind kernel; /* the last one called */
  struct ss_chunk chunk;      /* what it made */
};

static struct ss_chunk listed(const uint32_t *rows, uint64_t count) {
  return (struct ss_chunk){.rows = rows, .count = count};
}

/* --- kernels ---------------------------------------------------------------------------------------------- */

static bool merge_sum(struct ss_kernel_run *r, struct ss_error *error) {
  return ss_sum_rows(&(struct ss_operands){r->in->part, r->in->operands, 0, r->in->rows}, &r->work, &r->sums,
                     &r->chunk, error);
}

static bool dense_add(struct ss_kernel_run *r, struct ss_error *error) {
  struct ss_chunk dense[2];
  for (int i = 0; i < 2; i++)
    dense[i] = (struct ss_chunk){
        .values = r->in->dense[i], .count = r->in->rows, .high = r->in->rows, .width = 1, .stride = 1, .dense = true};
  return ss_chunk_add_dense(&dense[0], &dense[1], &r->work, &r->chunk, error);
}

static bool coalesce(struct ss_kernel_run *r, struct ss_error *error) {
  (void)error;
  r->chunk = listed(r->rows, ss_coalesce(r->in->lookups, r->in->lookup_count, r->in->rows, r->rows, &r->coalesce));
  return true;
}

static bool top_k(struct ss_kernel_run *r, struct ss_error *error) {
  struct ss_row_list list = {.rows = r->rows};
  if (!ss_topk_floats(r->in->dense[0], r->in->rows, r->in->keep, &r->work, &list, error)) return false;
  r->chunk = listed(list.rows, list.count);
  return true;
}

static bool hash_partition(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_chunk *from = &r->in->part[0];
  r->chunk = listed(r->rows, from->count);
  return ss_hash_partition(&(struct ss_hash_input){.rows = from->rows, .count = from->count}, r->in->hash_seed,
                           r->in->parts, &(struct ss_hash_output){.rows = r->rows, .offsets = r->offsets}, error);
}

static bool hierarchical_hashing(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_chunk *from = &r->in->part[0];
  const struct ss_hash_memory memory = {r->in->hash_seed, r->in->parts, r->in->probes, r->in->parallel_slots,
                                        r->in->serial_slots};
  struct ss_hash_tally tally;
  r->chunk = listed(r->rows, from->count);
  return ss_hash_hierarchical(&memory, &(struct ss_hash_input){.rows = from->rows, .count = from->count},
                              &(struct ss_hash_output){.rows = r->rows, .offsets = r->offsets}, &tally, error);
}

static bool encode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct coded *coded = &r->coded[r->kernel];
  (void)error;
  ss_wire_encode(&coded->wire, coded->chunk, r->bytes);
  return true;
}

static bool decode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct coded *coded = &r->coded[r->kernel];
  struct ss_chunk known = *coded->chunk;
  known.rows = NULL;
  known.values = NULL;
  return ss_wire_decode(&coded->wire, &known, (struct ss_encoded){coded->bytes->at, coded->bytes->size, false},
                        &r->work, &r->chunk, error);
}

static struct ss_sketch shape_of(const struct ss_kernel_run *r) {
  return (struct ss_sketch){r->in->hashes, r->in->buckets, r->in->sketch_seed};
}

static bool sketch_add(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_sketch shape = shape_of(r);
  const struct ss_sketch_rows rows = {r->in->part[0].rows, r->in->part[0].count, 1};
  (void)error;
  memset(r->buckets, 0, shape.hashes * shape.buckets * sizeof *r->buckets);
  ss_sketch_add(&shape, &rows, r->in->units, r->buckets);
  return true;
}

static bool sketch_decode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_sketch shape = shape_of(r);
  const struct ss_sketch_rows rows = {r->in->part[0].rows, r->in->part[0].count, 1};
  (void)error;
  ss_sketch_decode(&shape, &rows, r->in->sketch, r->decoded);
  return true;
}

static bool (*const kernels[])(struct ss_kernel_run *r, struct ss_error *error) = {
    [SS_KERNEL_MERGE_SUM] = merge_sum,
    [SS_KERNEL_DENSE_ADD] = dense_add,
    [SS_KERNEL_COALESCE] = coalesce,
    [SS_KERNEL_TOP_K] = top_k,
    [SS_KERNEL_HASH_PARTITION] = hash_partition,
    [SS_KERNEL_HIERARCHICAL_HASHING] = hierarchical_hashing,
    [SS_KERNEL_BITMAP_ENCODE] = encode,
    [SS_KERNEL_BITMAP_DECODE] = decode,
    [SS_KERNEL_HASH_BITMAP_ENCODE] = encode,
    [SS_KERNEL_HASH_BITMAP_DECODE] = decode,
    [SS_KERNEL_BLOCK_ENCODE] = encode,
    [SS_KERNEL_BLOCK_DECODE] = decode,
    [SS_KERNEL_SKETCH_ADD] = sketch_add,
    [SS_KERNEL_SKETCH_DECODE] = sketch_decode,
    [SS_KERNEL_PACK] = encode,
};
_Static_assert(sizeof kernels / sizeof *kernels == SS_KERNELS, "every kernel is there");

/* --- runs ------------------------------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void close_run(struct ss_kernel_run *r) {
  if (!r) return;
  ss_arena_free(&r->data);
  ss_arena_free(&r->work);
  ss_sum_scratch_free(&r->sums);
  ss_coalesce_free(&r->coalesce);
  free(r);
}

static bool reserve(struct ss_kernel_run *r, uint64_t flushed) {
  const struct ss_kernel_input *in = r->in;
  const uint64_t listed_most = larger(larger(in->part[0].count, in->lookup_count), in->keep);
  const uint64_t maps = larger(in->bitmap.size, in->hash_bitmap.size);
  const uint64_t bytes = larger(larger(maps, in->blocks.size), in->packed.size);
  r->flush = flushed;
  return ss_take(&r->data, r->rows, listed_most) && ss_take(&r->data, r->offsets, (size_t)in->parts + 1) &&
         ss_take(&r->data, r->buckets, in->hashes * in->buckets) &&
         ss_take(&r->data, r->decoded, in->part[0].count) && ss_take(&r->data, r->bytes, bytes) &&
         ss_take(&r->data, r->flushed, flushed) && ss_coalesce_reserve(&r->coalesce, in->lookup_count, in->rows);
}

static void say_formats(struct ss_kernel_run *r) {
  const struct ss_kernel_input *in = r->in;
  const struct ss_wire bitmap = {.format = SS_WIRE_BITMAP, .value_bytes = 4, .index_bytes = 4};
  struct ss_wire hashed = bitmap, blocks = bitmap, packed = bitmap;
  packed.format = SS_WIRE_COO;
  hashed.format = SS_WIRE_HASH_BITMAP;
  hashed.domains = &r->domains;
  blocks.format = SS_WIRE_BLOCK;
  blocks.block = in->block;
  r->domains = (struct ss_domains){1, &in->domain_size, &in->domain};
  r->coded[SS_KERNEL_BITMAP_ENCODE] = (struct coded){bitmap, &in->part[0], &in->bitmap};
  r->coded[SS_KERNEL_HASH_BITMAP_ENCODE] = (struct coded){hashed, &in->hashed, &in->hash_bitmap};
  r->coded[SS_KERNEL_BLOCK_ENCODE] = (struct coded){blocks, &in->part[0], &in->blocks};
  r->coded[SS_KERNEL_PACK] = (struct coded){packed, &in->part[0], &in->packed};
  for (int k = 0; k < SS_KERNELS; k++)
    if (kernels[k] == decode) r->coded[k] = r->coded[k - 1]; /* its encoder stands before it */
}

static bool open_run(const struct ss_kernel_input *in, uint64_t flushed, struct ss_kernel_run **out,
                     struct ss_error *error) {
  struct ss_kernel_run *r = ss_alloc_zero(1, sizeof *r);
  if (!r) return ss_fail_memory(error, "running kernels");
  r->in = in;
  if (!reserve(r, flushed)) {
    close_run(r);
    return ss_fail_memory(error, "running kernels");
  }
  say_formats(r);
  *out = r;
  return true;
}

static bool run_kernel(struct ss_kernel_run *r, enum ss_kernel_kind kernel, struct ss_error *error) {
  ss_arena_reset(&r->work);
  r->kernel = kernel;
  return kernels[kernel](r, error);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool time_kernel(struct ss_kernel_run *r, enum ss_kernel_kind kernel, double *seconds,
                        struct ss_error *error) {
  ss_arena_reset(&r->work);
  memset(r->flushed, ++r->flushes, r->flush);
  r->kernel = kernel;
  const double start = now();
  if (!kernels[kernel](r, error)) return false;
  *seconds = now() - start;
  return true;
}

/* --- what comes out --------------------------------------------------------------------------------------- */

static bool fetch(struct ss_kernel_run *r, enum ss_kernel_kind kernel, struct ss_kernel_output *out,
                  struct ss_error *error) {
  (void)error;
  *out = (struct ss_kernel_output){0};
  if (kernels[kernel] == encode) {
    out->wire = (struct ss_kernel_bytes){r->bytes, r->coded[kernel].bytes->size};
    return true;
  }
  if (kernel == SS_KERNEL_SKETCH_ADD) {
    out->buckets = r->buckets;
    return true;
  }
  if (kernel == SS_KERNEL_SKETCH_DECODE) {
    out->decoded = r->decoded;
    out->count = r->in->part[0].count;
    return true;
  }
  out->rows = r->chunk.rows;
  out->values = r->chunk.values;
  out->count = r->chunk.count;
  if (kernel == SS_KERNEL_HASH_PARTITION || kernel == SS_KERNEL_HIERARCHICAL_HASHING) out->offsets = r->offsets;
  return true;
}

/* --- the device ------------------------------------------------------------------------------------------- */

static bool describe(char *text, size_t size, uint64_t *cache, struct ss_error *error) {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  (void)error;
  *cache = bytes > 0 && bytes < 1L << 32 ? (uint64_t)bytes : UINT64_C(1) << 26;
  (void)snprintf(text, size, "a CPU with %d threads", omp_get_max_threads());
  return true;
}

static void copy_once(const unsigned char *from, unsigned char *to, uint64_t size) {
  enum { PIECE = 1 << 20 };
#pragma omp parallel for schedule(static)
  for (uint64_t begin = 0; begin < size; begin += PIECE)
    memcpy(to + begin, from + begin, size - begin < PIECE ? size - begin : PIECE);
}

static bool copy_rate(uint64_t size, double *rate, struct ss_error *error) {
  enum { TIMES = 5 };
  SS_AUTO_FREE unsigned char *from = ss_alloc(size, 1);
  SS_AUTO_FREE unsigned char *to = ss_alloc(size, 1);
  double least = INFINITY;
  if (!from || !to) return ss_fail_memory(error, "copying memory");
  memset(from, 1, size);
  for (int i = 0; i <= TIMES; i++) {
    const double start = now();
    copy_once(from, to, size);
    if (i > 0) least = fmin(least, now() - start); /* the first finds pages that were never touched */
  }
  *rate = 2 * (double)size / least;
  return true;
}

const struct ss_kernel_device ss_kernels_cpu = {.name = "cpu",
                                                .describe = describe,
                                                .open = open_run,
                                                .run = run_kernel,
                                                .seconds = time_kernel,
                                                .fetch = fetch,
                                                .copy_rate = copy_rate,
                                                .close = close_run};
/* SPDX-License-Identifier: Apache-2.0 */
