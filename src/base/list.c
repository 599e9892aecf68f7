#include "base/list.h"

#include "base/memory.h"

void *ss_list_grow(void *list, size_t *capacity, size_t needed, size_t size) {
  enum { LEAST = 8 };
  size_t larger;
  if (__builtin_mul_overflow(*capacity, (size_t)2, &larger) || larger < needed) larger = needed;
  if (larger < LEAST) larger = LEAST;
  void *grown = ss_realloc(list, larger, size);
  if (grown) *capacity = larger;
  return grown;
}
