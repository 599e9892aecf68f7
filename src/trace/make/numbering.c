#include "trace/make/numbering.h"

#include <xxhash.h>

/* One slot of an open-addressing table, a quarter of a cache line: all that a lookup touches. */
struct ss_known_value {
  uint64_t hash;
  uint32_t number; /* by first occurrence, from 1; 0: an empty slot */
  uint32_t count;  /* stays at its greatest */
};

enum { SLOTS_FIRST = 64 };

void ss_numbering_init(struct ss_numbering *numbering, uint64_t hash_rows) {
  *numbering = (struct ss_numbering){.hash_rows = hash_rows, .rows = hash_rows};
}

void ss_numbering_free(struct ss_numbering *numbering) {
  free(numbering->slot);
  free(numbering->row);
  *numbering = (struct ss_numbering){0};
}

static struct ss_known_value *find(struct ss_known_value *slot, uint64_t slots, uint64_t hash) {
  uint64_t at = hash & (slots - 1);
  while (slot[at].number && slot[at].hash != hash) at = (at + 1) & (slots - 1);
  return &slot[at];
}

/* Four fifths full at most: a lookup of a new value then probes 13 slots on average, of a known one 3. */
static bool reserve(struct ss_numbering *n) {
  if ((n->known + 1) * 5 <= n->slots * 4) return true;
  const uint64_t slots = n->slots ? n->slots * 2 : SLOTS_FIRST;
  struct ss_known_value *grown = ss_alloc_zero(slots, sizeof *grown);
  if (!grown) return false;
  for (uint64_t i = 0; i < n->slots; i++)
    if (n->slot[i].number) *find(grown, slots, n->slot[i].hash) = n->slot[i];
  free(n->slot);
  n->slot = grown;
  n->slots = slots;
  return true;
}

bool ss_numbering_see(struct ss_numbering *n, const char *value, size_t size, uint32_t *out) {
  const uint64_t hash = XXH64(value, size, 0);
  if (n->hash_rows) {
    *out = (uint32_t)(1 + hash % (n->hash_rows - 1));
    return true;
  }
  if (!reserve(n)) return false;
  struct ss_known_value *known = find(n->slot, n->slots, hash);
  if (!known->number) {
    if (n->known >= UINT32_MAX - 1) return false; /* ids are 32-bit; such a table fills 80 GB first */
    *known = (struct ss_known_value){hash, (uint32_t)++n->known, 0};
  }
  known->count += known->count < UINT32_MAX;
  *out = known->number;
  return true;
}

static int compare(const void *a, const void *b) {
  const struct ss_known_value *x = a, *y = b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  return x->number < y->number ? -1 : 1;
}

bool ss_numbering_rank(struct ss_numbering *n, uint64_t most) {
  if (n->hash_rows) return true;
  n->row = ss_alloc_zero(n->known + 1, sizeof *n->row); /* 0, missing, stays 0 */
  if (!n->row) return false;
  uint64_t listed = 0;
  for (uint64_t i = 0; i < n->slots; i++)
    if (n->slot[i].number) n->slot[listed++] = n->slot[i];
  if (listed) qsort(n->slot, listed, sizeof *n->slot, compare);
  n->rows = most && most < listed + 1 ? most : listed + 1;
  for (uint64_t at = 1; at < n->rows; at++) n->row[n->slot[at - 1].number] = (uint32_t)at;
  free(n->slot);
  n->slot = NULL;
  n->slots = 0;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
