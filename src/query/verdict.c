#include "query/verdict.h"

struct ss_bounds ss_bounds_of(enum ss_relation is, double against, double within) {
  const bool open = is == SS_LESS || is == SS_GREATER;
  switch (is) {
  case SS_LESS:
  case SS_LESS_EQUAL: return (struct ss_bounds){-INFINITY, against, open};
  case SS_GREATER:
  case SS_GREATER_EQUAL: return (struct ss_bounds){against, INFINITY, open};
  case SS_EQUAL: break;
  }
  const double slack = within * fabs(against);
  return (struct ss_bounds){against - slack, against + slack, false};
}

bool ss_bounds_hold(const struct ss_bounds *b, double value) {
  return b->open ? value > b->low && value < b->high : value >= b->low && value <= b->high;
}

bool ss_number_moved(double was, double now, double tolerance) {
  if (isnan(was) || isnan(now)) return isnan(was) != isnan(now);
  return fabs(now - was) > tolerance * fmax(fabs(was), fabs(now));
}

bool ss_verdict_add_miss(struct ss_verdict *verdict, struct ss_miss miss) {
  if (!ss_grow_by_one(verdict->miss, verdict->misses)) return false;
  verdict->miss[verdict->misses++] = miss;
  return true;
}

struct ss_verdict *ss_verdicts_add(struct ss_verdicts *verdicts) {
  if (!ss_grow_by_one(verdicts->verdict, verdicts->count)) return NULL;
  verdicts->verdict[verdicts->count] = (struct ss_verdict){0};
  return &verdicts->verdict[verdicts->count++];
}

void ss_verdicts_free(struct ss_verdicts *verdicts) {
  for (size_t i = 0; i < verdicts->count; i++) {
    free(verdicts->verdict[i].text);
    free(verdicts->verdict[i].miss);
  }
  free(verdicts->verdict);
  cJSON_Delete(verdicts->results);
  *verdicts = (struct ss_verdicts){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
