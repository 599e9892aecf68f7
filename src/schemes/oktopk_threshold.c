#include "schemes/oktopk.h"

#include "tensor/topk.h"

#include <math.h>
#include <string.h>

double ss_oktopk_smallest(const struct ss_chunk *chunk) {
  uint64_t least = chunk->count > 0 ? UINT64_MAX : 0;
  for (uint64_t i = 0; i < chunk->count; i++)
    if (ss_magnitude(chunk->marks[i]) < least) least = ss_magnitude(chunk->marks[i]);
  return (double)least;
}

bool ss_oktopk_reach(const struct ss_oktopk *o, const struct ss_chunk *from, double threshold, struct ss_chunk *out,
                     struct ss_error *error) {
  return ss_at_least(from, (uint64_t)ceil(threshold), o->run->play->arena, out, error);
}

/* How many of the sums that live here begin with `prefix` (their upper bits, from bit shift + 8 on), by their next
 * byte. Zeros never count. */
static void count_bytes(const struct ss_oktopk *o, uint64_t prefix, unsigned shift, uint64_t histogram[256]) {
  memset(histogram, 0, 256 * sizeof *histogram);
  for (uint32_t j = 0; j < o->run->ranks; j++) {
    const struct ss_chunk *sum = &o->regions.aggregate[j];
    if (!ss_run_resident(o->run, j)) continue;
    for (uint64_t i = 0; i < sum->count; i++) {
      const uint64_t magnitude = ss_magnitude(sum->marks[i]);
      if (magnitude > 0 && (shift == 56 || magnitude >> (shift + 8) == prefix))
        histogram[(uint8_t)(magnitude >> shift)]++;
    }
  }
}

/* The magnitude of the k-th largest of all sums, wherever they live, byte by byte from the top; *ties becomes how
 * many of that magnitude are among the k. Both are 0 when there are fewer than k. */
static bool find_threshold(struct ss_oktopk *o, uint64_t *threshold, uint64_t *ties, struct ss_error *error) {
  uint64_t histogram[256], left = o->k, prefix = 0;
  for (unsigned shift = 64; shift > 0;) {
    unsigned byte = 255;
    shift -= 8;
    count_bytes(o, prefix, shift, histogram);
    if (!ss_play_pool(o->run->play, histogram, 256, SS_POOL_SUM, error)) return false;
    while (byte > 0 && histogram[byte] < left) left -= histogram[byte--];
    if (histogram[byte] < left) { /* in the first pass: there are fewer than k */
      *threshold = *ties = 0;
      return true;
    }
    prefix = prefix << 8 | byte;
  }
  *threshold = prefix;
  *ties = left;
  return true;
}

/* How many of the k largest sums each owner has: ties go to the lower index, so to the owners before. */
static bool share_out(struct ss_oktopk *o, uint64_t *keep, struct ss_error *error) {
  struct ss_run *run = o->run;
  const uint32_t P = run->ranks;
  uint64_t threshold, left;
  SS_AUTO_FREE uint64_t *equal = ss_alloc_zero(P, sizeof *equal);
  if (!equal) return ss_fail_memory(error, "finding a threshold");
  if (!find_threshold(o, &threshold, &left, error)) return false;
  for (uint32_t j = 0; j < P; j++) {
    const struct ss_chunk *sum = &o->regions.aggregate[j];
    keep[j] = 0;
    for (uint64_t i = 0; ss_run_resident(run, j) && i < sum->count; i++) {
      keep[j] += ss_magnitude(sum->marks[i]) > threshold;
      equal[j] += ss_magnitude(sum->marks[i]) == threshold;
    }
  }
  if (!ss_play_pool(run->play, equal, P, SS_POOL_SUM, error)) return false;
  for (uint32_t j = 0; j < P; j++) {
    const uint64_t take = equal[j] < left ? equal[j] : left;
    keep[j] += take;
    left -= take;
  }
  return true;
}

bool ss_oktopk_keep_above(struct ss_oktopk *o, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_chunk *sum = o->regions.aggregate, kept;
  uint64_t *keep = ss_arena_alloc(run->play->arena, run->ranks, sizeof *keep);
  if (!keep) return ss_fail_memory(error, "finding a threshold");
  if (!o->reused && !share_out(o, keep, error)) return false;
  for (uint32_t j = 0; j < run->ranks; j++) {
    if (!ss_run_resident(run, j)) continue;
    if (!(o->reused ? ss_oktopk_reach(o, &sum[j], o->all->threshold, &kept, error)
                    : ss_topk(&sum[j], keep[j], run->play->arena, &kept, error)))
      return false;
    ss_owners_set(&o->regions, j, &kept);
  }
  return true;
}
