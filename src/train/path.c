#include "train/path.h"

#include <stdlib.h>

static int by_seconds(const void *a, const void *b) {
  const struct ss_path_part *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  return (x->what > y->what) - (x->what < y->what);
}

bool ss_path_find(const struct ss_timetable *t, const struct ss_iterated *iterated, struct ss_path_part **out,
                  size_t *count, struct ss_error *error) {
  const uint32_t n = t->workload->modules;
  const size_t places = 3 * (size_t)n + t->tasks;
  struct ss_path_part *part = ss_alloc_zero(places, sizeof *part);
  if (!part) return ss_fail_memory(error, "finding the critical path");
  for (int64_t at = iterated->last; at >= 0; at = iterated->span[at].before) {
    const struct ss_span *s = &iterated->span[at];
    if (s->end <= iterated->window && s->start < iterated->window) break;
    struct ss_path_part *p = &part[(size_t)s->kind * n + s->what];
    p->kind = s->kind;
    p->what = s->what;
    p->seconds += s->end - fmax(s->start, iterated->window);
    if (s->start < iterated->window) break;
  }
  qsort(part, places, sizeof *part, by_seconds);
  for (*count = 0; *count < places && part[*count].seconds > 0;) ++*count;
  *out = part;
  return true;
}
