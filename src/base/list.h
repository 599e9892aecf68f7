/* Lists: arrays that grow, sorted lists of ids, heaps. */
#pragma once

#include "base/both.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Makes room for at least `needed` items in an array of *capacity items of `size` bytes, by doubling it. Returns the
 * array, which may have moved, and sets *capacity; NULL when memory is short: the array then stands as it was. */
void *ss_list_grow(void *list, size_t *capacity, size_t needed, size_t size);

/* The same on the two variables of a list (`list` a pointer, `capacity` an integer); false when memory is short. */
#define ss_grow(list, capacity, needed)                                                                              \
  ({                                                                                                                 \
    bool ss_grow_fits = (list) != NULL && (size_t)(capacity) >= (size_t)(needed);                                    \
    if (!ss_grow_fits) {                                                                                             \
      size_t ss_grow_capacity = (size_t)(capacity);                                                                  \
      void *ss_grow_list = ss_list_grow((list), &ss_grow_capacity, (size_t)(needed), sizeof *(list));                \
      ss_grow_fits = ss_grow_list != NULL;                                                                           \
      if (ss_grow_fits) (list) = ss_grow_list, (capacity) = (__typeof__(capacity))ss_grow_capacity;                  \
    }                                                                                                                \
    ss_grow_fits;                                                                                                    \
  })

/* For a list that keeps no capacity: room for one more item behind the `count` there are, in an array that only this
 * has grown. False when memory is short. */
#define ss_grow_by_one(list, count)                                                                                  \
  ({                                                                                                                 \
    size_t ss_grow_before = ss_list_capacity((size_t)(count));                                                       \
    ss_grow(list, ss_grow_before, (size_t)(count) + 1);                                                              \
  })
/* The capacity of a list of `count` items that was grown one by one. */
static inline size_t ss_list_capacity(size_t count) {
  size_t capacity = count > 0 ? 8 : 0;
  while (capacity < count) capacity *= 2;
  return capacity;
}

/* How many of the ascending list[count] are below `bound`. */
SS_DEVICE static inline uint64_t ss_lower_bound(const uint32_t *list, uint64_t count, uint64_t bound) {
  uint64_t first = 0;
  while (count > 0) {
    const uint64_t half = count / 2;
    if (list[first + half] < bound) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

/* Puts texts in order. Returns one that is there twice; NULL: none is. */
const char *ss_sort_texts(const char **list, size_t count);

/* --- heaps: an array of items of which the first comes before all others ---------------------------------------- */

/* Does item a come before item b? */
typedef bool ss_heap_before(const void *a, const void *b);

/* Puts `item` at index `at`, where nothing is, or above it: where items that come after it give way. To
 * add an item: at the end. `item` is not in the heap. */
__attribute__((always_inline)) static inline void ss_heap_rise(void *heap, size_t at, const void *item, size_t size,
                                                               ss_heap_before *before) {
  char *base = (char *)heap;
  for (; at > 0 && before(item, base + (at - 1) / 2 * size); at = (at - 1) / 2)
    memcpy(base + at * size, base + (at - 1) / 2 * size, size);
  memcpy(base + at * size, item, size);
}

/* The same towards the end of heap[count]. To take the first item off: sink the last one from index 0, with `count`
 * one less. */
__attribute__((always_inline)) static inline void ss_heap_sink(void *heap, size_t count, size_t at, const void *item,
                                                               size_t size, ss_heap_before *before) {
  char *base = (char *)heap;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && before(base + (child + 1) * size, base + child * size)) child++;
    if (!before(base + child * size, item)) break;
    memcpy(base + at * size, base + child * size, size);
  }
  memcpy(base + at * size, item, size);
}
/* SPDX-License-Identifier: Apache-2.0 */
