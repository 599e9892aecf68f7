/* A heap of numbered items by time, in which each can be found again. */
#pragma once

#include "base/base.h"

struct ss_fair_item {
  double time;
  uint32_t id;
};

struct ss_fair_heap {
  struct ss_fair_item *item;
  uint32_t *index; /* [ids] of the item; UINT32_MAX: it is not in the heap */
  uint32_t count, capacity;
};

/* Ids below `capacity` from now on; what is in the heap stays. */
bool ss_fair_heap_reserve(struct ss_fair_heap *heap, uint32_t capacity);
void ss_fair_heap_close(struct ss_fair_heap *heap);
/* Puts an item, or moves it. */
void ss_fair_heap_set(struct ss_fair_heap *heap, uint32_t id, double time);
/* The same without order, for many at once: ss_fair_heap_order must follow before anything else. */
void ss_fair_heap_put(struct ss_fair_heap *heap, uint32_t id, double time);
void ss_fair_heap_order(struct ss_fair_heap *heap);
/* Takes all items up to `limit` out, writes their ids, and returns how many there were. */
uint32_t ss_fair_heap_take_some(struct ss_fair_heap *heap, double limit, uint32_t *ids);
static inline uint32_t ss_fair_heap_take(struct ss_fair_heap *heap, double limit, uint32_t *ids) {
  return heap->count > 0 && heap->item[0].time <= limit ? ss_fair_heap_take_some(heap, limit, ids) : 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
