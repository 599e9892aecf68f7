#include "kernels/kernel_table.h"

#include "tensor/hash.h"
#include "tensor/parts.h"
#include "tensor/sketch.h"

/* --- what follows from an input --------------------------------------------------------------------------- */

/* The rows of hashed part 0, and what part[0] has of them. */
static bool derive_hashed(struct ss_kernel_input *in, struct ss_arena *arena, struct ss_error *error) {
  const struct ss_chunk *from = &in->part[0];
  SS_AUTO_FREE uint64_t *sizes = ss_alloc(in->parts, sizeof *sizes);
  if (!sizes) return ss_fail_memory(error, "hashing rows");
  if (!ss_hash_sizes(0, in->rows, in->hash_seed, in->parts, sizes, error)) return false;
  uint32_t *domain = ss_arena_alloc(arena, sizes[0], sizeof *domain);
  uint32_t *rows = ss_arena_alloc(arena, from->count, sizeof *rows);
  uint64_t elements;
  float *values =
      ss_mul_u64(from->count, from->width, &elements) ? ss_arena_alloc(arena, elements, sizeof *values) : NULL;
  if (!domain || !rows || !values) return ss_fail_memory(error, "hashing rows");
  uint64_t n = 0;
  for (uint64_t row = 0; row < in->rows; row++)
    if (ss_hash_part(row, in->hash_seed, in->parts) == 0) domain[n++] = (uint32_t)row;
  in->domain = domain;
  in->domain_size = n;
  in->hashed = *from;
  in->hashed.rows = rows;
  in->hashed.values = values;
  in->hashed.count = 0;
  for (uint64_t i = 0; i < from->count; i++) {
    if (ss_hash_part(from->rows[i], in->hash_seed, in->parts) != 0) continue;
    rows[in->hashed.count] = from->rows[i];
    memcpy(values + in->hashed.count++ * from->width, from->values + i * from->stride, from->width * sizeof *values);
  }
  return true;
}

static bool encode(const struct ss_wire *wire, const struct ss_chunk *chunk, struct ss_arena *arena,
                   struct ss_kernel_bytes *out, struct ss_error *error) {
  const uint64_t size = ss_wire_bytes(wire, chunk);
  unsigned char *bytes = ss_arena_alloc(arena, size, 1);
  if (!bytes) return ss_fail_memory(error, "encoding");
  ss_wire_encode(wire, chunk, bytes);
  *out = (struct ss_kernel_bytes){bytes, size};
  return true;
}

static bool derive_sketch(struct ss_kernel_input *in, struct ss_arena *arena, struct ss_error *error) {
  const struct ss_sketch shape = {in->hashes, in->buckets, in->sketch_seed};
  const struct ss_sketch_rows rows = {in->part[0].rows, in->part[0].count, 1};
  uint64_t cells;
  int64_t *sketch = ss_mul_u64(in->hashes, in->buckets, &cells) ? ss_arena_alloc(arena, cells, sizeof *sketch) : NULL;
  if (!sketch) return ss_fail_memory(error, "making a sketch");
  for (uint64_t i = 0; i < cells; i++) sketch[i] = 0;
  ss_sketch_add(&shape, &rows, in->units, sketch);
  in->sketch = sketch;
  return true;
}

bool ss_kernel_input_derive(struct ss_kernel_input *in, struct ss_arena *arena, struct ss_error *error) {
  const struct ss_wire bitmap = {.format = SS_WIRE_BITMAP, .value_bytes = 4, .index_bytes = 4};
  const struct ss_wire blocks = {.format = SS_WIRE_BLOCK, .value_bytes = 4, .index_bytes = 4, .block = in->block};
  const struct ss_wire packed = {.format = SS_WIRE_COO, .value_bytes = 4, .index_bytes = 4};
  if (!derive_hashed(in, arena, error)) return false;
  const struct ss_domains domains = {1, &in->domain_size, &in->domain};
  const struct ss_wire hashed = {
      .format = SS_WIRE_HASH_BITMAP, .value_bytes = 4, .index_bytes = 4, .domains = &domains};
  return encode(&bitmap, &in->part[0], arena, &in->bitmap, error) &&
         encode(&hashed, &in->hashed, arena, &in->hash_bitmap, error) &&
         encode(&blocks, &in->part[0], arena, &in->blocks, error) &&
         encode(&packed, &in->part[0], arena, &in->packed, error) && derive_sketch(in, arena, error);
}

/* --- traffic ---------------------------------------------------------------------------------------------- */

enum { ID = 4, VALUE = 4, NUMBER = 8, SECTOR = 32 };

static double moved(enum ss_kernel_kind kernel, const struct ss_kernel_input *in,
                    const struct ss_kernel_output *out) {
  const double n = (double)in->part[0].count, hashed = (double)in->hashed.count, rows = (double)in->rows;
  const double entry = ID + VALUE * (double)in->part[0].width;
  double bytes;
  switch (kernel) {
  case SS_KERNEL_MERGE_SUM:
    bytes = entry * (double)out->count;
    for (uint32_t i = 0; i < in->operands; i++) bytes += entry * (double)in->part[i].count;
    return bytes;
  case SS_KERNEL_DENSE_ADD: return 3 * VALUE * rows;
  case SS_KERNEL_COALESCE: return ID * (double)(in->lookup_count + out->count);
  case SS_KERNEL_TOP_K: return VALUE * rows + ID * (double)out->count;
  case SS_KERNEL_HASH_PARTITION: return 2 * ID * n;
  case SS_KERNEL_HIERARCHICAL_HASHING: return 2 * ID * (n + (double)(in->parallel_slots + in->serial_slots));
  case SS_KERNEL_BITMAP_ENCODE:
  case SS_KERNEL_BITMAP_DECODE: return entry * n + (double)in->bitmap.size;
  case SS_KERNEL_HASH_BITMAP_ENCODE: return entry * hashed + (double)in->hash_bitmap.size;
  case SS_KERNEL_HASH_BITMAP_DECODE: return (ID + entry) * hashed + (double)in->hash_bitmap.size;
  case SS_KERNEL_BLOCK_ENCODE: return entry * n + (double)in->blocks.size;
  case SS_KERNEL_BLOCK_DECODE: return entry * (double)out->count + (double)in->blocks.size;
  case SS_KERNEL_PACK: return 2 * entry * n;
  case SS_KERNEL_SKETCH_ADD:
  case SS_KERNEL_SKETCH_DECODE: return (ID + NUMBER) * n + NUMBER * (double)in->hashes * (double)in->buckets;
  default: return 0;
  }
}

/* Elements of the blocks that part[0] is sent in. */
static double blocked(const struct ss_kernel_input *in) {
  const struct ss_wire blocks = {.format = SS_WIRE_BLOCK, .value_bytes = 4, .index_bytes = 4, .block = in->block};
  return (double)ss_wire_entries(&blocks, &in->part[0]);
}

static double elements(enum ss_kernel_kind kernel, const struct ss_kernel_input *in,
                       const struct ss_kernel_output *out) {
  const double n = (double)in->part[0].count;
  double sum = 0;
  switch (kernel) {
  case SS_KERNEL_MERGE_SUM:
    for (uint32_t i = 0; i < in->operands; i++) sum += (double)in->part[i].count;
    return sum;
  case SS_KERNEL_DENSE_ADD: return (double)in->rows;
  case SS_KERNEL_TOP_K: return (double)out->count;
  case SS_KERNEL_COALESCE: return (double)in->lookup_count;
  case SS_KERNEL_HASH_BITMAP_ENCODE:
  case SS_KERNEL_HASH_BITMAP_DECODE: return (double)in->hashed.count;
  case SS_KERNEL_BLOCK_ENCODE: return blocked(in);
  case SS_KERNEL_BLOCK_DECODE: return (double)out->count;
  case SS_KERNEL_SKETCH_ADD:
  case SS_KERNEL_SKETCH_DECODE: return n * in->hashes;
  default: return n;
  }
}

struct ss_kernel_traffic ss_kernel_traffic(enum ss_kernel_kind kernel, const struct ss_kernel_input *in,
                                           const struct ss_kernel_output *out) {
  const double n = (double)in->part[0].count, cells = SECTOR * n * in->hashes;
  struct ss_kernel_traffic traffic = {.elements = elements(kernel, in, out), .moved = moved(kernel, in, out)};
  traffic.floor = traffic.moved;
  if (kernel == SS_KERNEL_HIERARCHICAL_HASHING) traffic.floor = traffic.moved + SECTOR * n;
  if (kernel == SS_KERNEL_SKETCH_ADD || kernel == SS_KERNEL_SKETCH_DECODE) traffic.floor = (ID + NUMBER) * n + cells;
  return traffic;
}
/* SPDX-License-Identifier: Apache-2.0 */
