/* Hashing rows to parts, and ZEN's Algorithm 1.
 *
 * Algorithm 1 lets every thread write where its hash says, and reads again what it wrote (ZEN's technique 4): another
 * may have written in between. "In between" has an end where a launch ends, so a round of probing is a launch, and
 * the reading comes with the next one. Nothing is overwritten that an earlier round left: a round writes only to
 * slots that it finds empty, and every slot that somebody reads again is not.
 *
 *     round 1        every row writes to its first slot
 *     round r        a row that is not in its slot of round r - 1 goes on to the next list, and writes to its slot r
 *                    if that is empty
 *     at the end     a row that is not in its last slot takes a place in serial memory, by an atomic counter
 *
 * A partition's memory is its parallel slots and then its serial ones; partitions follow each other, so that what is
 * extracted in the order of the memory is partitioned. */
#pragma once

#include "kernels/cuda/coalesce.h"

/* --- XXH64 of a row as 8 little-endian bytes: tensor/hash.h's ss_hash_row ----------------------------------- */

#define XXH_P1 UINT64_C(0x9e3779b185ebca87)
#define XXH_P2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define XXH_P3 UINT64_C(0x165667b19e3779f9)
#define XXH_P4 UINT64_C(0x85ebca77c2b2ae63)
#define XXH_P5 UINT64_C(0x27d4eb2f165667c5)

GRID_DEVICE static inline uint64_t rotate(uint64_t x, unsigned bits) {
  return x << bits | x >> (64 - bits);
}

/* What all seeds have in common. */
GRID_DEVICE static inline uint64_t hash_lane(uint64_t row) {
  return rotate(row * XXH_P2, 31) * XXH_P1;
}

GRID_DEVICE static inline uint64_t hash_end(uint64_t lane, uint64_t seed) {
  uint64_t h = rotate((seed + XXH_P5 + 8) ^ lane, 27) * XXH_P1 + XXH_P4;
  h = (h ^ h >> 33) * XXH_P2;
  h = (h ^ h >> 29) * XXH_P3;
  return h ^ h >> 32;
}

GRID_DEVICE static inline uint32_t hash_below(uint64_t lane, uint64_t seed, uint64_t n) {
  return (uint32_t)ss_below(hash_end(lane, seed), n);
}

/* --- partition -------------------------------------------------------------------------------------------- */

struct partition {
  const uint32_t *rows; /* [count] */
  uint64_t count, seed;
  uint32_t parts;
  uint8_t *bytes, *bytes_sorted; /* the part of each row, where a byte holds it, else: */
  uint16_t *shorts, *shorts_sorted;
  uint32_t *out;     /* [count] */
  uint32_t *offsets; /* [parts + 1] */
};

GRID_DEVICE static inline void partition_byte(const struct partition *a, uint32_t i) {
  a->bytes[i] = (uint8_t)hash_below(hash_lane(a->rows[i]), a->seed, a->parts);
}
GRID_KERNEL(partition_byte, struct partition)

GRID_DEVICE static inline void partition_short(const struct partition *a, uint32_t i) {
  a->shorts[i] = (uint16_t)hash_below(hash_lane(a->rows[i]), a->seed, a->parts);
}
GRID_KERNEL(partition_short, struct partition)

/* Where part i begins among rows that come part by part. */
GRID_DEVICE static inline void partition_bound(const struct partition *a, uint32_t i) {
  uint32_t first = 0, count = (uint32_t)a->count;
  while (count > 0) {
    const uint32_t half = count / 2;
    if (hash_below(hash_lane(a->out[first + half]), a->seed, a->parts) < i) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  a->offsets[i] = first;
}
GRID_KERNEL(partition_bound, struct partition)

enum { BYTE_PARTS = 256 };

static bool partition_run(struct grid *g, const struct partition *a, struct ss_error *error) {
  const bool bytes = a->parts <= BYTE_PARTS;
  struct grid_pairs by_part = {.key_bytes = bytes ? 1 : 2,
                               .bits = bits_of(a->parts - 1),
                               .values = a->rows,
                               .values_to = a->out,
                               .n = a->count};
  by_part.keys = bytes ? (const void *)a->bytes : a->shorts;
  by_part.keys_to = bytes ? (void *)a->bytes_sorted : a->shorts_sorted;
  return (bytes ? GRID_RUN(g, partition_byte, a, a->count, NULL, error)
                : GRID_RUN(g, partition_short, a, a->count, NULL, error)) &&
         grid_sort_pairs(g, &by_part, error) && GRID_RUN(g, partition_bound, a, (uint64_t)a->parts + 1, NULL, error);
}

/* --- Algorithm 1 ------------------------------------------------------------------------------------------ */

/* Marks an empty slot: no row is this. */
#define NO_ROW GRID_NONE(uint32_t)

struct hierarchy {
  const uint32_t *rows; /* [count] */
  uint64_t count, seed;
  uint32_t parts, probes;
  const uint32_t *begin;    /* [parts + 1] where each partition's memory begins */
  const uint32_t *parallel; /* [parts] how many of its slots are parallel */
  uint32_t *memory;         /* [begin[parts]] */
  uint32_t *in_serial;      /* [parts] */
  uint32_t *list[2];        /* [count] rows that go on to the next round, in turns */
  uint32_t *listed;         /* [probes + 2] how many came to each round; the last: to serial memory */
  uint32_t *overflown;      /* a partition + 1 whose serial memory was too small */
  uint32_t *out, *found;    /* [count]; how many */
  uint32_t *offsets;        /* [parts + 1] */

  /* of one round */
  uint32_t round;
  const uint32_t *come; /* the rows that come to it */
  uint32_t *go;         /* those that go on */
};

GRID_DEVICE static inline uint32_t hierarchy_slot(const struct hierarchy *a, uint64_t lane, uint32_t part,
                                                  uint32_t round) {
  return a->begin[part] + hash_below(lane, a->seed + round, a->parallel[part]);
}

/* It is where the round before wrote it. */
GRID_DEVICE static inline bool hierarchy_placed(const struct hierarchy *a, uint64_t lane, uint32_t part,
                                                uint32_t row) {
  return a->round > 1 && a->parallel[part] > 0 &&
         grid_look(&a->memory[hierarchy_slot(a, lane, part, a->round - 1)]) == row;
}

/* A row goes to its slot, unless another is seen there; the last that is written stays, and the others go on. */
GRID_DEVICE static inline void hierarchy_place(const struct hierarchy *a, uint32_t i) {
  const uint32_t row = a->come[i];
  const uint64_t lane = hash_lane(row);
  const uint32_t part = hash_below(lane, a->seed, a->parts);
  if (a->round > 1) {
    if (hierarchy_placed(a, lane, part, row)) return;
    a->go[grid_next(&a->listed[a->round])] = row;
  }
  if (a->parallel[part] == 0) return;
  uint32_t *slot = &a->memory[hierarchy_slot(a, lane, part, a->round)];
  if (a->round == 1 || grid_look(slot) == NO_ROW) grid_set(slot, row);
}
GRID_KERNEL(hierarchy_place, struct hierarchy)

GRID_DEVICE static inline void hierarchy_serial(const struct hierarchy *a, uint32_t i) {
  const uint32_t row = a->come[i];
  const uint64_t lane = hash_lane(row);
  const uint32_t part = hash_below(lane, a->seed, a->parts);
  if (hierarchy_placed(a, lane, part, row)) return;
  (void)grid_next(&a->listed[a->round]);
  const uint32_t first = a->begin[part] + a->parallel[part], index = grid_add(&a->in_serial[part], 1);
  if (index < a->begin[part + 1] - first) a->memory[first + index] = row;
  else grid_set(a->overflown, part + 1);
}
GRID_KERNEL(hierarchy_serial, struct hierarchy)

GRID_DEVICE static inline uint32_t hierarchy_row(const struct hierarchy *a, uint32_t i) {
  return a->memory[i];
}
GRID_SELECT(hierarchy_row, struct hierarchy, uint32_t)

/* `slots` is begin[parts]. */
static bool hierarchy_clear(struct grid *g, const struct hierarchy *a, uint64_t slots, struct ss_error *error) {
  return grid_fill(g, a->memory, 0xff, slots * sizeof *a->memory, error) &&
         grid_fill(g, a->in_serial, 0, a->parts * sizeof *a->in_serial, error) &&
         grid_fill(g, a->listed, 0, (a->probes + 2) * sizeof *a->listed, error) &&
         grid_fill(g, a->overflown, 0, sizeof *a->overflown, error);
}

/* From the third round on, fewer come, and the device knows how many. */
static struct hierarchy hierarchy_round(const struct hierarchy *a, uint32_t round, const uint32_t **limit) {
  struct hierarchy now = *a;
  now.round = round;
  now.come = round <= 2 ? a->rows : a->list[round % 2];
  now.go = a->list[(round + 1) % 2];
  *limit = round <= 2 ? NULL : &a->listed[round - 1];
  return now;
}

static bool hierarchy_run(struct grid *g, const struct hierarchy *a, uint64_t slots, struct ss_error *error) {
  const struct partition bounds = {
      .count = a->count, .seed = a->seed, .parts = a->parts, .out = a->out, .offsets = a->offsets};
  const uint32_t *limit;
  struct hierarchy now;
  if (!hierarchy_clear(g, a, slots, error)) return false;
  for (uint32_t round = 1; round <= a->probes; round++) {
    now = hierarchy_round(a, round, &limit);
    if (!GRID_RUN(g, hierarchy_place, &now, a->count, limit, error)) return false;
  }
  now = hierarchy_round(a, a->probes + 1, &limit);
  return GRID_RUN(g, hierarchy_serial, &now, a->count, limit, error) &&
         GRID_RUN_SELECT(g, hierarchy_row, a, slots, a->out, a->found, error) &&
         GRID_RUN(g, partition_bound, &bounds, (uint64_t)a->parts + 1, NULL, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
