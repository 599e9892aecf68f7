/* An input of the kernels in a device's memory, what they need beside it, and where they write. */
#pragma once

#include "kernels/cuda/blocks.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/sketch.h"
#include "kernels/cuda/topk.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "kernels/gpu.h"
#ifdef __cplusplus
}
#endif

#include <stdlib.h>
#include <string.h>

struct ss_kernel_run {
  struct grid grid;
  const struct ss_kernel_input *in; /* the host's */
  struct ss_arena host;             /* what was fetched */
  uint64_t entries;                 /* of all operands */
  uint64_t slots;                   /* of Algorithm 1's memory */

  /* The input. Values of lists are taken for what their bits are where nobody adds them. */
  uint32_t *rows[MERGE_OPERANDS];
  float *values[MERGE_OPERANDS], *dense[2];
  uint32_t *lookups, *domain, *guide, *hashed_rows, *hashed_values;
  uint32_t *bitmap, *hash_bitmap, *blocks;
  uint64_t *units, *sketch;

  uint32_t *rows_out, *values_out, *wire_out, *offsets;
  uint64_t *cells;
  double *decoded;
  uint32_t *found;  /* how many a selection found */
  uint32_t *status; /* what went wrong, by the kernel that ran last; 0: nothing */

  uint32_t *tiles, *words, *sorted, *heads, *block_starts; /* scratch of bitmaps, of coalescing, and of blocks */
  uint32_t *bounds, *starts, *places[MERGE_OPERANDS];      /* merge_sum */
  uint8_t *part_bytes;                                     /* hash_partition: [2][count] */
  uint16_t *part_shorts;
  uint32_t *begin, *parallel, *in_serial, *memory, *list[2], *listed; /* hierarchical hashing */
  uint64_t *keys;                                                     /* top_k */
  uint32_t *histogram;
  struct kth *kth;
  int32_t *bound;

  unsigned char *flushed;
  uint64_t flush;
};

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t wire_words(uint64_t bytes) {
  return bytes / 4 + 2; /* kernels read and write whole words, and one behind */
}

/* --- what can be had ---------------------------------------------------------------------------------------- */

static bool few(uint64_t count, const char *what, struct ss_error *error) {
  return count <= GRID_MOST || ss_fail(error, SS_BAD_INPUT, "%llu %s: a GPU's kernels take up to %llu",
                                       (unsigned long long)count, what, (unsigned long long)GRID_MOST);
}

/* Values of a part lie row by row. */
static bool check_part(const struct ss_kernel_input *in, const struct ss_chunk *part, struct ss_error *error) {
  const uint32_t width = in->part[0].width;
  if (width < 1 || part->width != width || part->stride != width)
    return ss_fail(error, SS_BAD_INPUT,
                   "rows of %u elements, %u apart, beside rows of %u: a GPU's kernels take rows of one width, one "
                   "after the other",
                   part->width, part->stride, width);
  return few(part->count, "entries", error) && few(part->count * width, "elements", error);
}

/* Sums and products here are of numbers that were found to be few. */
static bool check_sizes(const struct ss_kernel_input *in, struct ss_error *error) {
  const uint64_t width = in->part[0].width;
  uint64_t entries = 0, cells;
  if (!few(in->rows, "rows", error) || !few(in->lookup_count, "lookups", error) ||
      !few(in->parallel_slots, "slots", error) || !few(in->serial_slots, "slots", error) ||
      !few(in->parallel_slots + in->serial_slots, "slots", error))
    return false;
  for (uint32_t i = 0; i < in->operands; i++) {
    if (!check_part(in, &in->part[i], error)) return false;
    entries += in->part[i].count;
  }
  if (!ss_mul_u64(in->hashes, in->buckets, &cells)) cells = UINT64_MAX;
  return few(entries * width, "elements", error) && few(in->rows * width / in->block, "blocks", error) &&
         few(in->part[0].count * blocks_each(width, in->block), "blocks", error) && few(cells, "buckets", error) &&
         few(in->blocks.size / 4, "words", error) && few(in->bitmap.size / 4, "words", error);
}

static bool check_input(const struct ss_kernel_input *in, struct ss_error *error) {
  if (in->operands < 1 || in->operands > MERGE_OPERANDS)
    return ss_fail(error, SS_BAD_INPUT, "%u operands: a GPU's kernels take 1 to %d", in->operands, MERGE_OPERANDS);
  if (in->block < 1 || in->block > TILE_ELEMENTS)
    return ss_fail(error, SS_BAD_INPUT, "blocks of %u elements: a GPU's kernels take 1 to %d", in->block,
                   TILE_ELEMENTS);
  if (in->parts < 1 || in->parts > UINT32_C(1) << 16)
    return ss_fail(error, SS_BAD_INPUT, "%u parts: a GPU's kernels take 1 to 65536", in->parts);
  if (in->hashes < 1 || in->hashes > SS_SKETCH_HASHES || in->buckets < 1)
    return ss_fail(error, SS_BAD_INPUT, "a sketch of %u rows: a GPU's kernels take 1 to %d", in->hashes,
                   SS_SKETCH_HASHES);
  if (in->probes > 8) return ss_fail(error, SS_BAD_INPUT, "%u probes: a GPU's kernels take up to 8", in->probes);
  return check_sizes(in, error);
}

/* --- the input ---------------------------------------------------------------------------------------------- */

/* Takes memory for `count` items, of which the host has some. */
static void *take_copy(struct ss_kernel_run *r, const void *from, uint64_t count, size_t size,
                       struct ss_error *error) {
  void *at = grid_take(&r->grid, count, size, error);
  return at && grid_put(&r->grid, at, from, count * size, error) ? at : NULL;
}
#define TAKE_COPY(r, pointer, from, count, error)                                                                    \
  (((pointer) = (__typeof__(pointer))take_copy((r), (from), (count), sizeof *(pointer), (error))) != NULL)

static bool put_wire(struct ss_kernel_run *r, const struct ss_kernel_bytes *bytes, uint32_t **out,
                     struct ss_error *error) {
  return GRID_TAKE(&r->grid, *out, wire_words(bytes->size), error) &&
         grid_put(&r->grid, *out, bytes->at, bytes->size, error);
}

/* The hashed rows' positions are found by a guide, which is as unchanging as they are. */
static bool put_domain(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  const uint64_t stretches = in->rows / STRETCH + 2;
  if (!TAKE_COPY(r, r->domain, in->domain, in->domain_size, error) ||
      !GRID_TAKE(&r->grid, r->guide, stretches, error))
    return false;
  const struct guide guide = {.domain = r->domain, .count = (uint32_t)in->domain_size, .guide = r->guide};
  return GRID_RUN(&r->grid, guide_put, &guide, stretches, NULL, error);
}

static bool put_input(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  for (uint32_t i = 0; i < in->operands; i++)
    if (!TAKE_COPY(r, r->rows[i], in->part[i].rows, in->part[i].count, error) ||
        !TAKE_COPY(r, r->values[i], in->part[i].values, in->part[i].count * in->part[i].width, error))
      return false;
  for (int i = 0; i < 2; i++)
    if (!TAKE_COPY(r, r->dense[i], in->dense[i], in->rows, error)) return false;
  return TAKE_COPY(r, r->lookups, in->lookups, in->lookup_count, error) &&
         TAKE_COPY(r, r->units, in->units, in->part[0].count, error) &&
         TAKE_COPY(r, r->sketch, in->sketch, in->hashes * in->buckets, error) &&
         TAKE_COPY(r, r->hashed_rows, in->hashed.rows, in->hashed.count, error) &&
         TAKE_COPY(r, r->hashed_values, in->hashed.values, in->hashed.count * in->part[0].width, error) &&
         put_wire(r, &in->bitmap, &r->bitmap, error) && put_wire(r, &in->hash_bitmap, &r->hash_bitmap, error) &&
         put_wire(r, &in->blocks, &r->blocks, error) && put_domain(r, error);
}

/* --- everything else ------------------------------------------------------------------------------------------ */

static bool take_results(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  struct grid *g = &r->grid;
  const uint64_t lists = larger(r->entries, in->lookup_count), words = in->blocks.size / 4;
  const uint64_t most = larger(larger(lists, words), in->rows);
  const uint64_t values = larger(larger(r->entries * in->part[0].width, words), in->rows);
  const uint64_t maps = larger(in->bitmap.size, in->hash_bitmap.size);
  const uint64_t wire = larger(larger(maps, in->blocks.size), in->packed.size);
  return GRID_TAKE(g, r->rows_out, most, error) && GRID_TAKE(g, r->values_out, values, error) &&
         GRID_TAKE(g, r->wire_out, wire_words(wire), error) &&
         GRID_TAKE(g, r->offsets, (uint64_t)in->parts + 1, error) &&
         GRID_TAKE(g, r->cells, in->hashes * in->buckets, error) &&
         GRID_TAKE(g, r->decoded, in->part[0].count, error) && GRID_TAKE(g, r->found, 1, error) &&
         GRID_TAKE(g, r->status, 1, error);
}

static bool take_scratch(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  struct grid *g = &r->grid;
  const uint64_t count = in->part[0].count, tiles = merge_tiles(in->rows, 1) + 1;
  const uint64_t each = blocks_each(in->part[0].width, in->block);
  for (uint32_t i = 0; i < in->operands && in->part[0].width > 1; i++)
    if (!GRID_TAKE(g, r->places[i], in->part[i].count, error)) return false;
  return GRID_TAKE(g, r->tiles, bits_tiles(in->rows) + 1, error) && GRID_TAKE(g, r->starts, tiles, error) &&
         GRID_TAKE(g, r->bounds, in->operands * tiles, error) &&
         GRID_TAKE(g, r->words, bits_words(in->rows), error) && GRID_TAKE(g, r->sorted, in->lookup_count, error) &&
         GRID_TAKE(g, r->heads, count * each, error) &&
         GRID_TAKE(g, r->block_starts, in->blocks.size / 4 / (in->block + UINT64_C(1)) + 2, error) &&
         GRID_TAKE(g, r->part_bytes, 2 * count, error) && GRID_TAKE(g, r->part_shorts, 2 * count, error) &&
         GRID_TAKE(g, r->histogram, BINS, error) &&
         grid_fill(g, r->histogram, 0, BINS * sizeof *r->histogram, error) &&
         GRID_TAKE(g, r->keys, larger(in->rows, SS_TOPK_SAMPLE), error) && GRID_TAKE(g, r->kth, 1, error) &&
         GRID_TAKE(g, r->bound, 1, error);
}

/* Where each partition's memory begins, and how much of it is parallel. */
static bool take_memory(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  struct grid *g = &r->grid;
  uint32_t *begin = (uint32_t *)ss_arena_alloc(&r->host, (size_t)in->parts + 1, sizeof *begin);
  uint32_t *parallel = (uint32_t *)ss_arena_alloc(&r->host, in->parts, sizeof *parallel);
  if (!begin || !parallel) return ss_fail_memory(error, "hierarchical hashing");
  for (uint32_t p = 0; p <= in->parts; p++) {
    const uint64_t first = ss_share(in->parallel_slots, in->parts, p);
    begin[p] = (uint32_t)(first + ss_share(in->serial_slots, in->parts, p));
    if (p < in->parts) parallel[p] = (uint32_t)(ss_share(in->parallel_slots, in->parts, p + 1) - first);
  }
  r->slots = begin[in->parts];
  return TAKE_COPY(r, r->begin, begin, (uint64_t)in->parts + 1, error) &&
         TAKE_COPY(r, r->parallel, parallel, in->parts, error) && GRID_TAKE(g, r->in_serial, in->parts, error) &&
         GRID_TAKE(g, r->memory, r->slots, error) && GRID_TAKE(g, r->list[0], in->part[0].count, error) &&
         GRID_TAKE(g, r->list[1], in->part[0].count, error) &&
         GRID_TAKE(g, r->listed, (uint64_t)in->probes + 2, error);
}

static bool take_all(struct ss_kernel_run *r, uint64_t flushed, struct ss_error *error) {
  for (uint32_t i = 0; i < r->in->operands; i++) r->entries += r->in->part[i].count;
  r->flush = flushed;
  return put_input(r, error) && take_results(r, error) && take_scratch(r, error) && take_memory(r, error) &&
         GRID_TAKE(&r->grid, r->flushed, flushed, error);
}

static void close_run(struct ss_kernel_run *r) {
  if (!r) return;
  grid_close(&r->grid);
  ss_arena_free(&r->host);
  free(r);
}

static bool open_run(const struct ss_kernel_input *in, uint64_t flushed, struct ss_kernel_run **out,
                     struct ss_error *error) {
  if (!check_input(in, error)) return false;
  struct ss_kernel_run *r = (struct ss_kernel_run *)ss_alloc_zero(1, sizeof *r);
  if (!r) return ss_fail_memory(error, "running kernels");
  r->in = in;
  if (grid_open(&r->grid, error) && take_all(r, flushed, error)) {
    *out = r;
    return true;
  }
  close_run(r);
  return false;
}
/* SPDX-License-Identifier: Apache-2.0 */
