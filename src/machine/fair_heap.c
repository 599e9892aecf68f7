#include "machine/fair_heap.h"

enum { CHILDREN = 4 };

bool ss_fair_heap_reserve(struct ss_fair_heap *heap, uint32_t capacity) {
  struct ss_fair_item *item = ss_realloc(heap->item, capacity, sizeof *item);
  if (item) heap->item = item;
  uint32_t *index = ss_realloc(heap->index, capacity, sizeof *index);
  if (index) heap->index = index;
  if (!item || !index) return false;
  memset(index + heap->capacity, 0xff, (capacity - heap->capacity) * sizeof *index);
  heap->capacity = capacity;
  return true;
}

void ss_fair_heap_close(struct ss_fair_heap *heap) {
  free(heap->item);
  free(heap->index);
}

static void settle_at(struct ss_fair_heap *heap, uint32_t at, struct ss_fair_item item) {
  heap->item[at] = item;
  heap->index[item.id] = at;
}

static void rise(struct ss_fair_heap *heap, uint32_t at, struct ss_fair_item item) {
  while (at > 0) {
    const uint32_t above = (at - 1) / CHILDREN;
    if (heap->item[above].time <= item.time) break;
    settle_at(heap, at, heap->item[above]);
    at = above;
  }
  settle_at(heap, at, item);
}

/* The first of those that are least, of `count` items. */
static uint32_t least_of(const struct ss_fair_item *item, uint32_t count) {
  uint32_t least = 0;
  if (count == CHILDREN) { /* two pairs, without a jump that nobody foresees */
    const uint32_t a = item[1].time < item[0].time, b = 2 + (item[3].time < item[2].time);
    return item[b].time < item[a].time ? b : a;
  }
  for (uint32_t i = 1; i < count; i++)
    if (item[i].time < item[least].time) least = i;
  return least;
}

static void sink(struct ss_fair_heap *heap, uint32_t at, struct ss_fair_item item) {
  for (;;) {
    const uint32_t first = CHILDREN * at + 1;
    if (first >= heap->count) break;
    const uint32_t rest = heap->count - first;
    const uint32_t least = first + least_of(&heap->item[first], rest < CHILDREN ? rest : CHILDREN);
    if (heap->item[least].time >= item.time) break;
    settle_at(heap, at, heap->item[least]);
    at = least;
  }
  settle_at(heap, at, item);
}

void ss_fair_heap_set(struct ss_fair_heap *heap, uint32_t id, double time) {
  const struct ss_fair_item item = {time, id};
  uint32_t at = heap->index[id];
  if (at == UINT32_MAX) rise(heap, heap->count++, item);
  else if (time < heap->item[at].time) rise(heap, at, item);
  else sink(heap, at, item);
}

void ss_fair_heap_put(struct ss_fair_heap *heap, uint32_t id, double time) {
  const uint32_t at = heap->index[id];
  settle_at(heap, at == UINT32_MAX ? heap->count++ : at, (struct ss_fair_item){time, id});
}

void ss_fair_heap_order(struct ss_fair_heap *heap) {
  if (heap->count < 2) return;
  for (uint32_t at = (heap->count - 2) / CHILDREN + 1; at-- > 0;) sink(heap, at, heap->item[at]);
}

/* Many at once are sifted out, and the rest ordered anew. */
static uint32_t take_many(struct ss_fair_heap *heap, double limit, uint32_t *ids) {
  uint32_t taken = 0, kept = 0;
  for (uint32_t i = 0; i < heap->count; i++) {
    const struct ss_fair_item item = heap->item[i];
    if (item.time > limit) {
      settle_at(heap, kept++, item);
      continue;
    }
    heap->index[item.id] = UINT32_MAX;
    ids[taken++] = item.id;
  }
  heap->count = kept;
  ss_fair_heap_order(heap);
  return taken;
}

uint32_t ss_fair_heap_take_some(struct ss_fair_heap *heap, double limit, uint32_t *ids) {
  enum { MANY = 8 };
  uint32_t taken = 0;
  while (heap->count > 0 && heap->item[0].time <= limit) {
    if (taken >= MANY && taken >= heap->count / MANY) return taken + take_many(heap, limit, ids + taken);
    const struct ss_fair_item last = heap->item[heap->count - 1];
    ids[taken++] = heap->item[0].id;
    heap->index[heap->item[0].id] = UINT32_MAX;
    if (--heap->count > 0) sink(heap, 0, last);
  }
  return taken;
}
/* SPDX-License-Identifier: Apache-2.0 */
