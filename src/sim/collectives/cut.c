#include "sim/collectives/cut.h"

#include "tensor/hash.h"

static bool lasting(const struct ss_cut *cut, uint64_t **array, uint32_t count, struct ss_error *error) {
  *array = ss_arena_alloc(cut->lasting, count, sizeof **array);
  return *array ? true : ss_fail_memory(error, "cutting a tensor into parts");
}

/* Algorithm 1 in ZEN's setting, run where ranks are real; its parts are those of `cut`, in the order of its memory,
 * and what goes on wants their rows ascending. Serial memory has room for all: few rows may collide by chance. */
static bool run_algorithm_1(struct ss_cut *cut, uint32_t rank, struct ss_error *error) {
  const struct ss_chunk *own = &cut->own[rank];
  struct ss_hash_memory memory = ss_hash_memory_zen(cut->parts.count, own->count);
  struct ss_hash_tally tally;
  SS_AUTO_FREE uint32_t *rows = ss_alloc(own->count, sizeof *rows);
  SS_AUTO_FREE uint64_t *offsets = ss_alloc_zero((size_t)memory.parts + 1, sizeof *offsets);
  if (!rows || !offsets) return ss_fail_memory(error, "hashing rows");
  if (!own->rows) return true;
  memory.seed = cut->seed;
  memory.serial_slots = own->count * memory.parts;
  if (!ss_hash_hierarchical(&memory, &(struct ss_hash_input){.rows = own->rows, .count = own->count},
                            &(struct ss_hash_output){.rows = rows, .offsets = offsets}, &tally, error))
    return false;
  const uint32_t *expected = cut->parts.offset + (size_t)rank * ((size_t)memory.parts + 1);
  bool same = true;
  for (size_t j = 0; j <= memory.parts; j++) same = same && offsets[j] == expected[j];
  if (!same) ss_play_mismatch(cut->play, "Algorithm 1 of rank %u cuts other parts", rank);
  return true;
}

/* Indices are read and written; values move when they are packed. */
static struct ss_kernel_work hashing_work(const struct ss_cut *cut, uint64_t rows) {
  const struct ss_hash_memory memory = ss_hash_memory_zen(cut->parts.count, rows);
  return (struct ss_kernel_work){
      1, rows, cut->hierarchical ? ss_hash_hierarchical_bytes(&memory, rows) : 2 * rows * sizeof(uint32_t)};
}

/* Counted and timed as what the ranks do. */
static bool cut_rows(struct ss_cut *cut, const struct ss_hashing *hashing, struct ss_error *error) {
  if (!cut->hierarchical)
    return ss_parts_hash(hashing, cut->own, cut->play->ranks, cut->play->arena, &cut->parts, error);
  SS_ASIDE;
  return ss_parts_hash(hashing, cut->own, cut->play->ranks, cut->play->arena, &cut->parts, error);
}

static bool cut_hashed(struct ss_cut *cut, uint32_t count, struct ss_error *error) {
  struct ss_cut_domains *kept = cut->domains;
  if (!kept->size) {
    if (!lasting(cut, &kept->size, count, error)) return false;
    if (!ss_hash_sizes(cut->low, cut->high, cut->seed, count, kept->size, error)) return false;
  }
  const struct ss_hashing hashing = {
      .low = cut->low, .high = cut->high, .seed = cut->seed, .count = count, .sizes = kept->size};
  const bool maps = cut->format == SS_PULL_HASH_BITMAP || cut->format == SS_PULL_SMALLEST;
  const bool bytes = cut->play->player->resident && maps;
  if (bytes && !kept->row && !ss_parts_rows(&hashing, cut->lasting, &kept->row, error)) return false;
  if (!cut_rows(cut, &hashing, error)) return false;
  cut->parts.domains.rows = kept->row;
  const enum ss_kernel_kind kernel = cut->hierarchical ? SS_KERNEL_HIERARCHICAL_HASHING : SS_KERNEL_HASH_PARTITION;
  for (uint32_t r = 0; r < cut->play->ranks; r++) {
    const bool runs = cut->hierarchical && cut->play->player->resident && ss_play_resident(cut->play, r);
    if (runs && !run_algorithm_1(cut, r, error)) return false;
    ss_play_note(cut->play, r, kernel, hashing_work(cut, cut->own[r].count));
  }
  return true;
}

bool ss_cut_add_rows(struct ss_play *play, const struct ss_operands *own, uint32_t first, uint64_t *bits,
                     struct ss_error *error) {
  for (uint32_t r = first; r < own->count; r++) {
    if (!ss_play_resident(play, r)) continue;
    for (uint64_t i = 0; i < own->chunk[r].count; i++) {
      const uint64_t at = own->chunk[r].rows[i] - own->low;
      bits[at / 64] |= UINT64_C(1) << (at % 64);
    }
  }
  return ss_play_pool(play, bits, (own->high - own->low + 63) / 64, SS_POOL_OR, error);
}

/* The index of the n-th bit that is set. */
static uint64_t nth_bit(uint64_t word, uint64_t n) {
  for (; n > 0; n--) word &= word - 1;
  return (uint64_t)__builtin_ctzll(word);
}

/* Boundaries that cut the union of this iteration evenly: part j begins with its row number floor(j * union / count).
 */
static bool find_boundaries(const struct ss_cut *cut, uint32_t count, uint64_t *boundary, struct ss_error *error) {
  const uint64_t words = (cut->high - cut->low + 63) / 64;
  SS_AUTO_FREE uint64_t *bits = ss_alloc_zero(words, sizeof *bits);
  const struct ss_operands all_rows = {cut->own, cut->play->ranks, cut->low, cut->high};
  if (!bits) return ss_fail_memory(error, "cutting a tensor into parts");
  if (!ss_cut_add_rows(cut->play, &all_rows, 0, bits, error)) return false;
  uint64_t all = 0, before = 0;
  uint32_t j = 1;
  for (uint64_t w = 0; w < words; w++) all += (uint64_t)__builtin_popcountll(bits[w]);
  for (uint64_t w = 0; w < words && all > 0; w++) {
    const uint64_t upto = before + (uint64_t)__builtin_popcountll(bits[w]);
    for (; j < count && ss_share(all, count, j) < upto; j++)
      boundary[j] = cut->low + 64 * w + nth_bit(bits[w], ss_share(all, count, j) - before);
    before = upto;
  }
  for (; j < count; j++) boundary[j] = cut->low + ss_share(cut->high - cut->low, count, j); /* nobody has anything */
  boundary[0] = cut->low;
  boundary[count] = cut->high;
  return true;
}

static bool cut_sorted(struct ss_cut *cut, uint32_t count, struct ss_error *error) {
  struct ss_cut_state *kept = cut->state;
  const uint64_t now = cut->iteration + 1;
  if (!kept->boundary && !lasting(cut, &kept->boundary, count + 1, error)) return false;
  if (kept->found == 0 || now - kept->found >= cut->refresh) {
    if (!find_boundaries(cut, count, kept->boundary, error)) return false;
    kept->found = now;
  }
  cut->parts = (struct ss_parts){.count = count, .low = cut->low, .high = cut->high, .boundary = kept->boundary};
  return true;
}

static struct ss_chunk range(const void *context, uint32_t part) {
  const struct ss_cut *cut = context;
  struct ss_chunk chunk = ss_parts_range(&cut->parts, part);
  chunk.width = chunk.stride = cut->width;
  return chunk;
}

static bool slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_cut *cut = context;
  (void)error;
  *out = ss_parts_slice(&cut->parts, &cut->own[rank], rank, part);
  return true;
}

static void choose_wires(struct ss_cut *cut) {
  cut->push = cut->pull = cut->coo;
  cut->push.block = cut->pull.block = cut->block;
  switch (cut->format) {
  case SS_PULL_HASH_BITMAP: cut->pull.format = SS_WIRE_HASH_BITMAP; break;
  case SS_PULL_COO: break;
  case SS_PULL_BITMAP: cut->pull.format = SS_WIRE_BITMAP; break;
  case SS_PULL_BLOCK: cut->push.format = cut->pull.format = SS_WIRE_BLOCK; break;
  case SS_PULL_SMALLEST: cut->pull.format = SS_WIRE_SMALLEST; break;
  case SS_PULL_SMALLER: cut->pull.format = SS_WIRE_SMALLER; break;
  }
  if (cut->balance == SS_BALANCE_HASH) cut->pull.domains = &cut->parts.domains;
}

bool ss_cut_make(struct ss_play *play, struct ss_cut *cut, struct ss_error *error) {
  const uint32_t count = cut->servers ? cut->servers : play->ranks;
  cut->play = play;
  bool ok = false;
  switch (cut->balance) {
  case SS_BALANCE_HASH: ok = cut_hashed(cut, count, error); break;
  case SS_BALANCE_EVEN: ok = ss_parts_even(cut->low, cut->high, count, play->arena, &cut->parts, error); break;
  case SS_BALANCE_SORTED: ok = cut_sorted(cut, count, error); break;
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

bool ss_cut_exchange(struct ss_cut *cut, struct ss_error *error) {
  struct ss_owners *owners = &cut->owners;
  return ss_owners_push(owners, error) && ss_owners_sum(owners, error) &&
         (cut->bruck ? ss_owners_pull_bruck(owners, error) : ss_owners_pull(owners, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
