/* Inputs of fuzz targets as lists of choices, and the odd numbers and words that they choose from. */
#pragma once

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The choices that are left; behind the end all are the first. */
struct choices {
  const uint8_t *at, *end;
};

static inline uint32_t choose(struct choices *c, uint32_t of) {
  return c->at < c->end ? *c->at++ % of : 0;
}

/* Mostly the good text, sometimes one of the others. */
static inline const char *perhaps(struct choices *c, const char *good, const char *const *others, uint32_t count) {
  return choose(c, 6) < 5 ? good : others[choose(c, count)];
}

/* A text that grows. */
struct written {
  char *text; /* [room] */
  size_t room, size;
};

__attribute__((format(printf, 2, 3))) static inline void put(struct written *w, const char *format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(w->text + w->size, w->room - w->size, format, list);
  va_end(list);
  if (n < 0 || (size_t)n >= w->room - w->size) abort();
  w->size += (size_t)n;
}
/* SPDX-License-Identifier: Apache-2.0 */
