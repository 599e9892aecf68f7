/* What several lossless schemes share: ZEN's ways to cut a tensor over its owners, and running sums. */
#include "schemes/scheme.h"

#include "tensor/hash.h"

#include <string.h>

/* What is kept between iterations: the sizes of hashed parts, or boundaries and when they were found. */
struct notes {
  uint64_t *size, *boundary;
  const uint32_t *const *row; /* of hashed parts, where bytes are to be made */
  uint64_t found;             /* iteration + 1; 0: never */
};

static bool lasting(struct ss_run *run, uint64_t **array, uint32_t count, struct ss_error *error) {
  *array = ss_arena_alloc(&run->memory->lasting, count, sizeof **array);
  return *array ? true : ss_fail_memory(error, "cutting a tensor into parts");
}

static bool cut_hashed(struct ss_run *run, struct ss_cut *cut, struct notes *notes, uint32_t count,
                       struct ss_error *error) {
  if (!notes->size) {
    if (!lasting(run, &notes->size, count, error)) return false;
    if (!ss_hash_sizes(run->low, run->high, cut->seed, count, notes->size, error)) return false;
  }
  const bool bytes = run->play.player->resident && cut->format == SS_PULL_HASH_BITMAP;
  const struct ss_hashing hashing = {
      .low = run->low, .high = run->high, .seed = cut->seed, .count = count, .sizes = notes->size};
  if (bytes && !notes->row && !ss_parts_rows(&hashing, &run->memory->lasting, &notes->row, error)) return false;
  if (!ss_parts_hash(&hashing, cut->own, run->ranks, run->play.arena, &cut->parts, error)) return false;
  cut->parts.domains.rows = notes->row;
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

static bool cut_sorted(struct ss_run *run, struct ss_cut *cut, struct notes *notes, uint32_t count,
                       struct ss_error *error) {
  const uint64_t now = run->memory->iteration + 1;
  if (!notes->boundary && !lasting(run, &notes->boundary, count + 1, error)) return false;
  if (notes->found == 0 || now - notes->found >= cut->refresh) {
    if (!find_boundaries(run, count, notes->boundary, error)) return false;
    notes->found = now;
  }
  cut->parts = (struct ss_parts){.count = count, .low = run->low, .high = run->high, .boundary = notes->boundary};
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
  void *memory;
  cut->run = run;
  if (!cut->own) cut->own = run->own;
  if (!ss_memory_notes(run->memory, sizeof(struct notes), &memory, error)) return false;
  struct notes *notes = memory;
  bool ok = false;
  switch (cut->balance) {
  case SS_BALANCE_HASH: ok = cut_hashed(run, cut, notes, count, error); break;
  case SS_BALANCE_EVEN: ok = ss_parts_even(run->low, run->high, count, run->play.arena, &cut->parts, error); break;
  case SS_BALANCE_SORTED: ok = cut_sorted(run, cut, notes, count, error); break;
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
  bool ok = ss_owners_open(&run->play, owners, error) && ss_owners_push(owners, error) &&
            ss_owners_sum(owners, error) &&
            (cut->bruck ? ss_owners_pull_bruck(owners, error) : ss_owners_pull(owners, error)) &&
            ss_run_pulled(run, owners, error);
  ss_owners_close(owners);
  return ok;
}

void ss_run_summed(struct ss_run *run, const struct ss_running *sums) {
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++)
    if (ss_run_resident(run, r)) ss_run_sparse(run, r, &sums->held[r], 0, NULL);
}

bool ss_run_doubling(struct ss_run *run, const struct ss_wire *wire, struct ss_error *error) {
  struct ss_running sums;
  bool ok = ss_running_open(&run->play, wire, &(struct ss_operands){run->own, run->ranks, run->low, run->high}, &sums,
                            error) &&
            ss_running_doubling(&sums, error);
  if (ok) ss_run_summed(run, &sums);
  ss_running_close(&sums);
  return ok;
}

bool ss_run_gathered(struct ss_run *run, const struct ss_gather *gather, struct ss_error *error) {
  struct ss_chunk shared = {0}, sum = {0};
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!ss_receipts_sum(&run->play,
                         &(struct ss_received){&gather->receipts, gather->block, run->low, run->high, &shared}, r,
                         &sum, error))
      return false;
    ss_run_sparse(run, r, &sum, 0, NULL);
  }
  uint64_t moved = ss_wire_bytes(&run->coo, &sum);
  for (uint32_t r = 0; r < run->ranks; r++) moved += ss_wire_bytes(&run->coo, &gather->block[r]);
  for (uint32_t r = 0; r < run->ranks; r++) run->play.bytes[r] = moved;
  return ss_play_kernels(&run->play, SS_MERGE_SUM, 0, run->ranks, run->play.bytes, error);
}
