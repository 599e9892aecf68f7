#include "base/base.h"

void *ss_list_grow(void *list, size_t *capacity, size_t needed, size_t size) {
  enum { LEAST = 8 };
  size_t larger;
  if (__builtin_mul_overflow(*capacity, (size_t)2, &larger) || larger < needed) larger = needed;
  if (larger < LEAST) larger = LEAST;
  void *grown = ss_realloc(list, larger, size);
  if (grown) *capacity = larger;
  return grown;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *ss_sort_texts(const char **list, size_t count) {
  if (count > 0) qsort(list, count, sizeof *list, compare_texts);
  for (size_t i = 1; i < count; i++)
    if (strcmp(list[i - 1], list[i]) == 0) return list[i];
  return NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
