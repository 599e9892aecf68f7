#include "base/list.h"

#include "base/memory.h"

void *ss_list_grow(void *list, size_t *capacity, size_t needed, size_t size) {
  enum { LEAST = 8 };
  size_t room;
  if (__builtin_mul_overflow(*capacity, (size_t)2, &room) || room < needed) room = needed;
  if (room < LEAST) room = LEAST;
  void *grown = ss_realloc(list, room, size);
  if (grown) *capacity = room;
  return grown;
}
