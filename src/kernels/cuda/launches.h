/* The table's kernels on a device: what each of them starts, and what it made. */
#pragma once

#include "kernels/cuda/device_memory.h"

/* --- what each starts ----------------------------------------------------------------------------------------- */

static bool run_merge_sum(struct ss_kernel_run *r, struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  const uint32_t words = merge_words(r->entries, in->rows);
  struct merge merge = {.operands = in->operands,
                        .words = words,
                        .width = in->part[0].width,
                        .tiles = (uint32_t)merge_tiles(in->rows, words),
                        .bounds = r->bounds,
                        .starts = r->starts,
                        .rows_out = r->rows_out,
                        .sums = (float *)(void *)r->values_out,
                        .capacity = r->entries};
  for (uint32_t i = 0; i < in->operands; i++) {
    merge.rows[i] = r->rows[i];
    merge.values[i] = r->values[i];
    merge.count[i] = (uint32_t)in->part[i].count;
    merge.places[i] = r->places[i];
  }
  return merge_run(&r->grid, &merge, error) &&
         grid_copy(&r->grid, r->found, r->starts + merge.tiles, sizeof *r->found, error);
}

static bool run_dense_add(struct ss_kernel_run *r, struct ss_error *error) {
  const struct dense dense = {
      .a = r->dense[0], .b = r->dense[1], .sum = (float *)(void *)r->values_out, .n = r->in->rows};
  return dense_run(&r->grid, &dense, error);
}

static bool run_coalesce(struct ss_kernel_run *r, struct ss_error *error) {
  const struct coalescing coalescing = {.rows = r->lookups,
                                        .count = r->in->lookup_count,
                                        .range = r->in->rows,
                                        .words = r->words,
                                        .tiles = r->tiles,
                                        .sorted = r->sorted,
                                        .out = r->rows_out,
                                        .found = r->found};
  return coalesce_run(&r->grid, &coalescing, error);
}

static bool run_top_k(struct ss_kernel_run *r, struct ss_error *error) {
  const struct digit digit = {.keys = r->keys, .histogram = r->histogram, .state = r->kth};
  const struct topk topk = {.values = r->dense[0],
                            .n = r->in->rows,
                            .k = r->in->keep,
                            .digit = digit,
                            .keys = r->keys,
                            .bound = r->bound,
                            .found = r->found,
                            .lost = r->status,
                            .out = r->rows_out};
  return topk_run(&r->grid, &topk, error);
}

static bool run_hash_partition(struct ss_kernel_run *r, struct ss_error *error) {
  const uint64_t count = r->in->part[0].count;
  const struct partition partition = {.rows = r->rows[0],
                                      .count = count,
                                      .seed = r->in->hash_seed,
                                      .parts = r->in->parts,
                                      .bytes = r->part_bytes,
                                      .bytes_sorted = r->part_bytes + count,
                                      .shorts = r->part_shorts,
                                      .shorts_sorted = r->part_shorts + count,
                                      .out = r->rows_out,
                                      .offsets = r->offsets};
  return partition_run(&r->grid, &partition, error);
}

static bool run_hierarchical_hashing(struct ss_kernel_run *r, struct ss_error *error) {
  const struct hierarchy hierarchy = {.rows = r->rows[0],
                                      .count = r->in->part[0].count,
                                      .seed = r->in->hash_seed,
                                      .parts = r->in->parts,
                                      .probes = r->in->probes,
                                      .begin = r->begin,
                                      .parallel = r->parallel,
                                      .memory = r->memory,
                                      .in_serial = r->in_serial,
                                      .list = {r->list[0], r->list[1]},
                                      .listed = r->listed,
                                      .overflown = r->status,
                                      .out = r->rows_out,
                                      .found = r->found,
                                      .offsets = r->offsets};
  return hierarchy_run(&r->grid, &hierarchy, r->slots, error);
}

static struct bitmap bitmap_of(const struct ss_kernel_run *r, uint32_t *wire) {
  struct bitmap bitmap = {.rows = r->rows[0],
                          .values = (const uint32_t *)(const void *)r->values[0],
                          .count = (uint32_t)r->in->part[0].count,
                          .width = r->in->part[0].width,
                          .size = r->in->rows};
  bitmap.wire = wire;
  return bitmap;
}

static struct bitmap hash_bitmap_of(const struct ss_kernel_run *r, uint32_t *wire) {
  struct bitmap bitmap = {.rows = r->hashed_rows,
                          .values = r->hashed_values,
                          .count = (uint32_t)r->in->hashed.count,
                          .width = r->in->part[0].width,
                          .size = r->in->domain_size,
                          .domain = r->domain,
                          .guide = r->guide};
  bitmap.wire = wire;
  return bitmap;
}

static bool run_bitmap_encode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct bitmap bitmap = bitmap_of(r, r->wire_out);
  return bitmap_encode(&r->grid, &bitmap, error);
}

static bool run_hash_bitmap_encode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct bitmap bitmap = hash_bitmap_of(r, r->wire_out);
  return bitmap_encode(&r->grid, &bitmap, error);
}

static bool decode_bitmap(struct ss_kernel_run *r, const struct bitmap *bitmap, struct ss_error *error) {
  return bitmap_decode(&r->grid, bitmap, r->tiles, r->rows_out, r->values_out, error) &&
         grid_copy(&r->grid, r->found, r->tiles + bits_tiles(bitmap->size), sizeof *r->found, error);
}

static bool run_bitmap_decode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct bitmap bitmap = bitmap_of(r, r->bitmap);
  return decode_bitmap(r, &bitmap, error);
}

static bool run_hash_bitmap_decode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct bitmap bitmap = hash_bitmap_of(r, r->hash_bitmap);
  return decode_bitmap(r, &bitmap, error);
}

static bool run_block_encode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct blocks blocks = {.rows = r->rows[0],
                                .values = (const uint32_t *)(const void *)r->values[0],
                                .count = r->in->part[0].count,
                                .all = r->in->rows * r->in->part[0].width,
                                .width = r->in->part[0].width,
                                .block = r->in->block,
                                .each = (uint32_t)blocks_each(r->in->part[0].width, r->in->block),
                                .heads = r->heads,
                                .found = r->found,
                                .wire = r->wire_out};
  return blocks_run(&r->grid, &blocks, error);
}

static bool run_block_decode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct unblock unblock = {.wire = r->blocks,
                                  .words = r->in->blocks.size / 4,
                                  .all = r->in->rows * r->in->part[0].width,
                                  .width = r->in->part[0].width,
                                  .block = r->in->block,
                                  .starts = r->block_starts,
                                  .rows = r->rows_out,
                                  .values = r->values_out,
                                  .wrong = r->status};
  return unblock_run(&r->grid, &unblock, error) &&
         grid_copy(&r->grid, r->found, r->block_starts + unblock_blocks(&unblock), sizeof *r->found, error);
}

static struct sketch sketch_of(const struct ss_kernel_run *r, uint64_t *cells) {
  struct sketch sketch = {.rows = r->rows[0],
                          .count = r->in->part[0].count,
                          .buckets = r->in->buckets,
                          .seed = r->in->sketch_seed,
                          .hashes = r->in->hashes,
                          .units = r->units,
                          .decoded = r->decoded};
  sketch.cells = cells;
  return sketch;
}

static bool run_sketch_add(struct ss_kernel_run *r, struct ss_error *error) {
  const struct sketch sketch = sketch_of(r, r->cells);
  return sketch_add(&r->grid, &sketch, error);
}

static bool run_sketch_decode(struct ss_kernel_run *r, struct ss_error *error) {
  const struct sketch sketch = sketch_of(r, r->sketch);
  return sketch_decode(&r->grid, &sketch, error);
}

/* Rows, then values. */
static bool run_pack(struct ss_kernel_run *r, struct ss_error *error) {
  const uint64_t count = r->in->part[0].count, width = r->in->part[0].width;
  return grid_copy(&r->grid, r->wire_out, r->rows[0], count * sizeof *r->rows[0], error) &&
         grid_copy(&r->grid, r->wire_out + count, r->values[0], count * width * sizeof *r->values[0], error);
}

/* In the order of enum ss_kernel_kind (C++ has no designated elements). */
static bool (*const device_kernels[])(struct ss_kernel_run *r, struct ss_error *error) = {run_merge_sum,
                                                                                          run_dense_add,
                                                                                          run_coalesce,
                                                                                          run_top_k,
                                                                                          run_hash_partition,
                                                                                          run_hierarchical_hashing,
                                                                                          run_bitmap_encode,
                                                                                          run_bitmap_decode,
                                                                                          run_hash_bitmap_encode,
                                                                                          run_hash_bitmap_decode,
                                                                                          run_block_encode,
                                                                                          run_block_decode,
                                                                                          run_sketch_add,
                                                                                          run_sketch_decode,
                                                                                          run_pack};

static bool run_kernel(struct ss_kernel_run *r, enum ss_kernel_kind kernel, struct ss_error *error) {
  return device_kernels[kernel](r, error);
}

/* --- what each made ------------------------------------------------------------------------------------------- */

/* The first `count` of `from`, in memory of the run. */
static const void *fetched(struct ss_kernel_run *r, const void *from, uint64_t count, size_t size,
                           struct ss_error *error) {
  void *to = ss_arena_alloc(&r->host, count, size);
  if (!to) {
    (void)ss_fail_memory(error, "fetching what a kernel made");
    return NULL;
  }
  return grid_get(&r->grid, to, from, count * size, error) ? to : NULL;
}
#define FETCH(r, pointer, from, count, error)                                                                        \
  (((pointer) = (__typeof__(pointer))fetched((r), (from), (count), sizeof *(pointer), (error))) != NULL)

static bool read_number(struct ss_kernel_run *r, const uint32_t *from, uint32_t *out, struct ss_error *error) {
  return grid_get(&r->grid, out, from, sizeof *out, error);
}

/* Rows, as many as the kernel found, and values. */
static bool fetch_found(struct ss_kernel_run *r, bool values, struct ss_kernel_output *out, struct ss_error *error) {
  uint32_t found;
  if (!read_number(r, r->found, &found, error)) return false;
  out->count = found;
  return FETCH(r, out->rows, r->rows_out, found, error) &&
         (!values || FETCH(r, out->values, (const float *)(const void *)r->values_out,
                           (uint64_t)found * r->in->part[0].width, error));
}

static bool fetch_decoded(struct ss_kernel_run *r, uint64_t due, struct ss_kernel_output *out,
                          struct ss_error *error) {
  uint32_t found;
  if (!read_number(r, r->found, &found, error)) return false;
  if (found != due)
    return ss_fail(error, SS_UNPROVEN, "received a bitmap of %u rows where %llu were due", found,
                   (unsigned long long)due);
  return fetch_found(r, true, out, error);
}

static bool fetch_top_k(struct ss_kernel_run *r, struct ss_kernel_output *out, struct ss_error *error) {
  uint32_t lost;
  if (!read_number(r, r->status, &lost, error)) return false;
  if (lost) return ss_fail(error, SS_BAD_INPUT, "element %u is not a number: there is no top-k with it", ~lost);
  return fetch_found(r, false, out, error);
}

static bool fetch_parts(struct ss_kernel_run *r, uint64_t count, struct ss_kernel_output *out,
                        struct ss_error *error) {
  const uint32_t *offsets;
  uint64_t *wide = (uint64_t *)ss_arena_alloc(&r->host, (size_t)r->in->parts + 1, sizeof *wide);
  if (!wide) return ss_fail_memory(error, "fetching what a kernel made");
  if (!FETCH(r, offsets, r->offsets, (uint64_t)r->in->parts + 1, error)) return false;
  for (uint32_t p = 0; p <= r->in->parts; p++) wide[p] = offsets[p];
  out->offsets = wide;
  out->count = count;
  return FETCH(r, out->rows, r->rows_out, count, error);
}

static bool fetch_hierarchy(struct ss_kernel_run *r, struct ss_kernel_output *out, struct ss_error *error) {
  const uint64_t count = r->in->part[0].count;
  uint32_t found, overflown;
  if (!read_number(r, r->found, &found, error) || !read_number(r, r->status, &overflown, error)) return false;
  if (overflown)
    return ss_fail(error, SS_BAD_INPUT,
                   "hierarchical hashing: the rows of partition %u overflow its serial memory (%llu slots for all, "
                   "behind %llu parallel slots and %u probes)",
                   overflown - 1, (unsigned long long)r->in->serial_slots, (unsigned long long)r->in->parallel_slots,
                   r->in->probes);
  if (found != count)
    return ss_fail(error, SS_UNPROVEN, "hierarchical hashing kept %u of %llu rows", found, (unsigned long long)count);
  return fetch_parts(r, count, out, error);
}

static bool fetch_bytes(struct ss_kernel_run *r, uint64_t size, struct ss_kernel_output *out,
                        struct ss_error *error) {
  out->wire.size = size;
  return FETCH(r, out->wire.at, (const unsigned char *)r->wire_out, size, error);
}

/* The last block ends with the tensor. */
static bool fetch_blocks(struct ss_kernel_run *r, struct ss_kernel_output *out, struct ss_error *error) {
  const struct ss_chunk *from = &r->in->part[0];
  const uint64_t block = r->in->block, all = r->in->rows * from->width;
  uint32_t found;
  if (!read_number(r, r->found, &found, error)) return false;
  uint64_t words = found * (block + 1);
  if (found > 0) {
    const uint64_t last = (from->rows[from->count - 1] + UINT64_C(1)) * from->width - 1;
    const uint64_t end = (last / block + 1) * block;
    if (end > all) words -= end - all;
  }
  return fetch_bytes(r, 4 * words, out, error);
}

static bool fetch_unblocked(struct ss_kernel_run *r, struct ss_kernel_output *out, struct ss_error *error) {
  uint32_t wrong;
  if (!read_number(r, r->status, &wrong, error)) return false;
  if (wrong || r->in->blocks.size % 4)
    return ss_fail(error, SS_UNPROVEN, "received a block that is cut short, out of range or out of order");
  return fetch_found(r, true, out, error);
}

static bool fetch(struct ss_kernel_run *r, enum ss_kernel_kind kernel, struct ss_kernel_output *out,
                  struct ss_error *error) {
  const struct ss_kernel_input *in = r->in;
  memset(out, 0, sizeof *out);
  ss_arena_reset(&r->host);
  switch (kernel) {
  case SS_KERNEL_MERGE_SUM: return fetch_found(r, true, out, error);
  case SS_KERNEL_DENSE_ADD:
    out->count = in->rows;
    return FETCH(r, out->values, (const float *)(const void *)r->values_out, in->rows, error);
  case SS_KERNEL_COALESCE: return fetch_found(r, false, out, error);
  case SS_KERNEL_TOP_K: return fetch_top_k(r, out, error);
  case SS_KERNEL_HASH_PARTITION: return fetch_parts(r, in->part[0].count, out, error);
  case SS_KERNEL_HIERARCHICAL_HASHING: return fetch_hierarchy(r, out, error);
  case SS_KERNEL_BITMAP_ENCODE: return fetch_bytes(r, in->bitmap.size, out, error);
  case SS_KERNEL_BITMAP_DECODE: return fetch_decoded(r, in->part[0].count, out, error);
  case SS_KERNEL_HASH_BITMAP_ENCODE: return fetch_bytes(r, in->hash_bitmap.size, out, error);
  case SS_KERNEL_HASH_BITMAP_DECODE: return fetch_decoded(r, in->hashed.count, out, error);
  case SS_KERNEL_BLOCK_ENCODE: return fetch_blocks(r, out, error);
  case SS_KERNEL_BLOCK_DECODE: return fetch_unblocked(r, out, error);
  case SS_KERNEL_SKETCH_ADD: return FETCH(r, out->buckets, r->cells, in->hashes * in->buckets, error);
  case SS_KERNEL_PACK: return fetch_bytes(r, in->packed.size, out, error);
  case SS_KERNEL_SKETCH_DECODE:
    out->count = in->part[0].count;
    return FETCH(r, out->decoded, r->decoded, out->count, error);
  default: return true;
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
