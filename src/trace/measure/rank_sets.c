#include "trace/measure/rank_sets.h"

#include "base/memory.h"
#include "tensor/coalesce.h"

#include <stdlib.h>

/* One iteration being loaded. */
struct load {
  struct ss_rank_sets *sets;
  const struct ss_trace *trace;
  size_t tensor;
  uint64_t iteration;
};

bool ss_rank_sets_init(struct ss_rank_sets *sets, uint32_t ranks) {
  *sets = (struct ss_rank_sets){.ranks = ranks};
  sets->list = ss_alloc(ranks, sizeof *sets->list);
  sets->size = ss_alloc(ranks, sizeof *sets->size);
  sets->place = ss_alloc(ranks, sizeof *sets->place);
  if (sets->list && sets->size && sets->place) return true;
  ss_rank_sets_free(sets);
  return false;
}

void ss_rank_sets_free(struct ss_rank_sets *sets) {
  free(sets->list);
  free(sets->size);
  free(sets->place);
  free(sets->copies);
  *sets = (struct ss_rank_sets){0};
}

/* Takes the lists that are sets already; the others' stay NULL. */
static void find_sorted(const struct load *load) {
  struct ss_rank_sets *sets = load->sets;
#pragma omp parallel for schedule(dynamic)
  for (uint32_t r = 0; r < sets->ranks; r++) {
    const uint64_t count = ss_trace_count(load->trace, load->tensor, load->iteration, r);
    const uint32_t *rows = ss_trace_rows_mapped(load->trace, load->tensor, load->iteration, r);
    sets->list[r] = rows && ss_increasing(rows, count) ? rows : NULL;
    sets->size[r] = count;
  }
}

/* Gives each remaining list a place for as many ids as it has lookups; *longest is the longest of them. */
static bool allocate(struct ss_rank_sets *sets, uint64_t *longest) {
  uint64_t capacity = 0;
  *longest = 0;
  for (uint32_t r = 0; r < sets->ranks; r++) {
    sets->place[r] = capacity;
    if (sets->list[r]) continue;
    capacity += sets->size[r];
    *longest = sets->size[r] > *longest ? sets->size[r] : *longest;
  }
  if (capacity <= sets->capacity && sets->copies) return true;
  free(sets->copies);
  sets->copies = ss_alloc(capacity, sizeof *sets->copies);
  sets->capacity = sets->copies ? capacity : 0;
  return sets->copies != NULL;
}

static void coalesce_one(const struct load *load, uint32_t r, uint32_t *unpacked,
                         struct ss_coalesce_scratch *scratch) {
  struct ss_rank_sets *sets = load->sets;
  const uint64_t range = ss_trace_tensor(load->trace, load->tensor)->rows;
  const uint32_t *rows = ss_trace_rows_mapped(load->trace, load->tensor, load->iteration, r);
  if (!rows) {
    ss_trace_rows(load->trace, load->tensor, load->iteration, r, unpacked);
    rows = unpacked;
  }
  uint32_t *out = sets->copies + sets->place[r];
  sets->size[r] = ss_coalesce(rows, sets->size[r], range, out, scratch);
  sets->list[r] = out;
}

static bool coalesce_rest(const struct load *load, uint64_t longest) {
  struct ss_rank_sets *sets = load->sets;
  const uint64_t range = ss_trace_tensor(load->trace, load->tensor)->rows;
  bool good = true;
#pragma omp parallel reduction(&& : good)
  {
    struct ss_coalesce_scratch scratch = {0};
    uint32_t *unpacked = ss_alloc(longest, sizeof *unpacked);
    good = unpacked && ss_coalesce_reserve(&scratch, longest, range);
#pragma omp for schedule(dynamic)
    for (uint32_t r = 0; r < sets->ranks; r++)
      if (good && !sets->list[r]) coalesce_one(load, r, unpacked, &scratch);
    free(unpacked);
    ss_coalesce_free(&scratch);
  }
  return good;
}

bool ss_rank_sets_load(struct ss_rank_sets *sets, const struct ss_trace *trace, size_t tensor, uint64_t iteration) {
  const struct load load = {sets, trace, tensor, iteration};
  uint64_t longest;
  find_sorted(&load);
  sets->lookups = sets->coalesced = 0;
  for (uint32_t r = 0; r < sets->ranks; r++) sets->lookups += sets->size[r];
  if (!allocate(sets, &longest)) return false;
  if (longest > 0 && !coalesce_rest(&load, longest)) return false;
  for (uint32_t r = 0; r < sets->ranks; r++) {
    if (!sets->list[r]) sets->list[r] = sets->copies; /* an empty list of 64-bit ids: any place will do */
    sets->coalesced += sets->size[r];
  }
  return true;
}
