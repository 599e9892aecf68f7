#include "schemes/cut.h"

#include "sim/collectives/running.h"

#include "tensor/hash.h"

#include <math.h>

static bool lasting(struct ss_run *run, uint64_t **array, uint32_t count, struct ss_error *error) {
  *array = ss_arena_alloc(&run->state->lasting, count, sizeof **array);
  return *array ? true : ss_fail_memory(error, "cutting a tensor into parts");
}

static bool cut_hashed(struct ss_run *run, struct ss_cut *cut, uint32_t count, struct ss_error *error) {
  struct ss_cut_state *kept = cut->state;
  if (!kept->size) {
    if (!lasting(run, &kept->size, count, error)) return false;
    if (!ss_hash_sizes(run->low, run->high, cut->seed, count, kept->size, error)) return false;
  }
  const struct ss_hashing hashing = {run->low, run->high, count, cut->seed, kept->size};
  const bool bytes = run->play->player->resident && cut->format == SS_PULL_HASH_BITMAP;
  if (bytes && !kept->row && !ss_parts_rows(&hashing, &run->state->lasting, &kept->row, error)) return false;
  if (!ss_parts_hash(&hashing, cut->own, run->ranks, run->play->arena, &cut->parts, error)) return false;
  cut->parts.domains.rows = kept->row;
  return true;
}

/* The place of the n-th bit that is set. */
static uint64_t nth_bit(uint64_t word, uint64_t n) {
  for (; n > 0; n--) word &= word - 1;
  return (uint64_t)__builtin_ctzll(word);
}

/* Boundaries that cut the union of this iteration evenly: part j begins with its row number floor(j * union / count).
 */
static bool find_boundaries(struct ss_run *run, uint32_t count, uint64_t *boundary, struct ss_error *error) {
  const uint64_t words = ss_run_words(run);
  SS_AUTO_FREE uint64_t *bits = ss_alloc_zero(words, sizeof *bits);
  if (!bits) return ss_fail_memory(error, "cutting a tensor into parts");
  if (!ss_run_add_rows(run, 0, run->ranks, bits, error)) return false;
  uint64_t all = 0, before = 0;
  uint32_t j = 1;
  for (uint64_t w = 0; w < words; w++) all += (uint64_t)__builtin_popcountll(bits[w]);
  for (uint64_t w = 0; w < words && all > 0; w++) {
    const uint64_t upto = before + (uint64_t)__builtin_popcountll(bits[w]);
    for (; j < count && ss_share(all, count, j) < upto; j++)
      boundary[j] = run->low + 64 * w + nth_bit(bits[w], ss_share(all, count, j) - before);
    before = upto;
  }
  for (; j < count; j++) boundary[j] = run->low + ss_share(run->high - run->low, count, j); /* nobody has anything */
  boundary[0] = run->low;
  boundary[count] = run->high;
  return true;
}

static bool cut_sorted(struct ss_run *run, struct ss_cut *cut, uint32_t count, struct ss_error *error) {
  struct ss_cut_state *kept = cut->state;
  const uint64_t now = run->state->iteration + 1;
  if (!kept->boundary && !lasting(run, &kept->boundary, count + 1, error)) return false;
  if (kept->found == 0 || now - kept->found >= cut->refresh) {
    if (!find_boundaries(run, count, kept->boundary, error)) return false;
    kept->found = now;
  }
  cut->parts = (struct ss_parts){.count = count, .low = run->low, .high = run->high, .boundary = kept->boundary};
  return true;
}

static struct ss_chunk range(const void *context, uint32_t part) {
  const struct ss_cut *cut = context;
  struct ss_chunk chunk = ss_parts_range(&cut->parts, part);
  chunk.width = chunk.stride = cut->run->input->width;
  return chunk;
}

static bool slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_cut *cut = context;
  (void)error;
  *out = ss_parts_slice(&cut->parts, &cut->own[rank], rank, part);
  return true;
}

static void choose_wires(struct ss_cut *cut) {
  const struct ss_run *run = cut->run;
  cut->push = cut->pull = run->coo;
  cut->push.block = cut->pull.block = cut->block;
  switch (cut->format) {
  case SS_PULL_HASH_BITMAP: cut->pull.format = SS_WIRE_HASH_BITMAP; break;
  case SS_PULL_COO: break;
  case SS_PULL_BITMAP: cut->pull.format = SS_WIRE_BITMAP; break;
  case SS_PULL_BLOCK: cut->push.format = cut->pull.format = SS_WIRE_BLOCK; break;
  case SS_PULL_SMALLER: cut->pull.format = SS_WIRE_SMALLER; break;
  }
  if (cut->balance == SS_BALANCE_HASH) cut->pull.domains = &cut->parts.domains;
}

bool ss_run_cut(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) {
  const uint32_t count = cut->servers ? cut->servers : run->ranks;
  cut->run = run;
  if (!cut->own) cut->own = run->own;
  bool ok = false;
  switch (cut->balance) {
  case SS_BALANCE_HASH: ok = cut_hashed(run, cut, count, error); break;
  case SS_BALANCE_EVEN: ok = ss_parts_even(run->low, run->high, count, run->play->arena, &cut->parts, error); break;
  case SS_BALANCE_SORTED: ok = cut_sorted(run, cut, count, error); break;
  }
  if (!ok) return false;
  choose_wires(cut);
  cut->owners = (struct ss_owners){.parts = count,
                                   .servers = cut->servers > 0,
                                   .counted = true,
                                   .push = &cut->push,
                                   .pull = &cut->pull,
                                   .context = cut,
                                   .range = range,
                                   .slice = slice};
  return true;
}

void ss_part_for_every_rank(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  (void)setting;
  traits->parts = layout.ranks;
}

static double larger(double known, double now) {
  return now > known || isnan(known) ? now : known;
}

void ss_run_imbalance(struct ss_run *run, const struct ss_owners *owners) {
  struct ss_verdict *verdict = run->verdict;
  verdict->push_imbalance = larger(verdict->push_imbalance, owners->push_imbalance);
  verdict->pull_imbalance = larger(verdict->pull_imbalance, owners->pull_imbalance);
}

bool ss_run_pulled(struct ss_run *run, struct ss_owners *owners, struct ss_error *error) {
  struct ss_chunk sum;
  ss_run_imbalance(run, owners);
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!ss_owners_whole(owners, r, run->low, run->high, &sum, error)) return false;
    ss_run_sparse(run, r, &sum, 0, NULL);
  }
  return true;
}

bool ss_run_owners(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) {
  if (!ss_run_cut(run, cut, error)) return false;
  struct ss_owners *owners = &cut->owners;
  bool ok = ss_owners_open(run->play, owners, error) && ss_owners_push(owners, error) &&
            ss_owners_sum(owners, error) &&
            (cut->bruck ? ss_owners_pull_bruck(owners, error) : ss_owners_pull(owners, error)) &&
            ss_run_pulled(run, owners, error);
  ss_owners_close(owners);
  return ok;
}

bool ss_run_running(struct ss_run *run, const struct ss_wire *wire, bool ring, struct ss_error *error) {
  struct ss_running sums;
  const bool ok = ss_running_open(run->play, wire, run->low, run->high, run->own, &sums, error) &&
                  (ring ? ss_running_ring(&sums, run->own, error) : ss_running_doubling(&sums, error));
  for (uint32_t r = 0; ok && ss_run_reports(run) && r < run->ranks; r++)
    if (ss_run_resident(run, r)) ss_run_sparse(run, r, &sums.held[r], 0, NULL);
  ss_running_close(&sums);
  return ok;
}
