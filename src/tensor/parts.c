#include "tensor/parts.h"

#include "tensor/hash.h"

bool ss_parts_even(uint64_t low, uint64_t high, uint32_t count, struct ss_arena *arena, struct ss_parts *out,
                   struct ss_error *error) {
  uint64_t *boundary = ss_arena_alloc(arena, (size_t)count + 1, sizeof *boundary);
  if (!boundary) return ss_fail_memory(error, "cutting a tensor into parts");
  for (uint32_t j = 0; j <= count; j++) boundary[j] = low + ss_share(high - low, count, j);
  *out = (struct ss_parts){.count = count, .low = low, .high = high, .boundary = boundary};
  return true;
}

/* `begins`: room for where the parts do. */
static bool cut_one(struct ss_parts *p, const struct ss_chunk *own, uint32_t owner, uint64_t *begins,
                    struct ss_arena *arena, struct ss_error *error) {
  struct ss_chunk *cut = &p->cut[owner];
  *cut = *own;
  memset(begins, 0, ((size_t)p->count + 1) * sizeof *begins);
  if (!own->rows || own->count == 0) return true;
  uint32_t *rows = ss_arena_alloc(arena, own->count, sizeof *rows);
  uint64_t *marks = own->marks ? ss_arena_alloc(arena, own->count, sizeof *marks) : NULL;
  float *values = own->values ? ss_arena_alloc(arena, own->count * own->width, sizeof *values) : NULL;
  if (!rows || (own->marks && !marks) || (own->values && !values))
    return ss_fail_memory(error, "cutting a tensor into parts");
  cut->rows = rows;
  cut->marks = marks;
  cut->values = values;
  if (values) cut->stride = own->width;
  return ss_hash_partition(
      &(struct ss_hash_input){own->rows, own->marks, own->count, own->values, own->width, own->stride}, p->seed,
      p->count, &(struct ss_hash_output){rows, marks, begins, values}, error);
}

bool ss_parts_hash(const struct ss_hashing *h, const struct ss_chunk *own, uint32_t owners, struct ss_arena *arena,
                   struct ss_parts *out, struct ss_error *error) {
  *out = (struct ss_parts){.count = h->count, .low = h->low, .high = h->high, .seed = h->seed, .owners = owners};
  out->domains = (struct ss_domains){.parts = h->count, .size = h->sizes};
  const size_t ends = (size_t)h->count + 1;
  SS_AUTO_FREE uint64_t *begins = ss_alloc(ends, sizeof *begins);
  if (!begins || !ss_take(arena, out->cut, owners) || !ss_take(arena, out->offset, owners * ends))
    return ss_fail_memory(error, "cutting a tensor into parts");
  for (uint32_t r = 0; r < owners; r++) {
    assert(own[r].count <= UINT32_MAX); /* rows are 32-bit numbers */
    if (!cut_one(out, &own[r], r, begins, arena, error)) return false;
    for (size_t j = 0; j < ends; j++) out->offset[r * ends + j] = (uint32_t)begins[j];
  }
  return true;
}

bool ss_parts_rows(const struct ss_hashing *h, struct ss_arena *arena, const uint32_t *const **part,
                   struct ss_error *error) {
  uint32_t *row = ss_arena_alloc(arena, h->high - h->low, sizeof *row);
  const uint32_t **begin = ss_arena_alloc(arena, h->count, sizeof *begin);
  SS_AUTO_FREE uint64_t *at = ss_alloc(h->count, sizeof *at);
  if (!row || !begin || !at) return ss_fail_memory(error, "listing the rows of parts");
  for (uint64_t j = 0, before = 0; j < h->count; before += h->sizes[j++]) {
    at[j] = before;
    begin[j] = row + before;
  }
  for (uint64_t i = h->low; i < h->high; i++) row[at[ss_hash_part(i, h->seed, h->count)]++] = (uint32_t)i;
  *part = begin;
  return true;
}

struct ss_chunk ss_parts_range(const struct ss_parts *p, uint32_t part) {
  return (struct ss_chunk){.low = p->boundary ? p->boundary[part] : p->low,
                           .high = p->boundary ? p->boundary[part + 1] : p->high,
                           .part = part};
}

struct ss_chunk ss_parts_slice(const struct ss_parts *p, const struct ss_chunk *own, uint32_t owner, uint32_t part) {
  struct ss_chunk slice;
  if (p->boundary) {
    slice = ss_chunk_slice(own, p->boundary[part], p->boundary[part + 1]);
  } else {
    const uint32_t *offset = p->offset + (size_t)owner * (p->count + 1);
    slice = ss_chunk_entries(&p->cut[owner], offset[part], offset[part + 1] - offset[part]);
  }
  slice.part = part;
  return slice;
}
/* SPDX-License-Identifier: Apache-2.0 */
