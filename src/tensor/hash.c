#include "tensor/hash.h"

#include "tensor/kernel.h"

#include "tensor/chunk.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Chunks are fixed by the input, so that what is counted and where it goes does not depend on the threads. */
enum { CHUNKS = 64, LEAST_CHUNK = 1 << 14, SPAN = 1 << 16 };
/* Rows that are hashed together. */
enum { HASHED = 256 };

/* --- partition ----------------------------------------------------------------------------------------------- */

struct partition {
  const struct ss_hash_input *in;
  uint64_t seed;
  uint32_t parts, chunks;
  uint16_t *part_of; /* [count] h0 of each row: kept, as hashing it twice takes longer */
  uint64_t *next;    /* [chunks][parts] entries, then where the chunk's next one goes */
};

/* The loops take what they need into variables of their own: a store of the same type as one of the struct's fields
 * would make the compiler read the field again for every row. */
static void count_parts(const struct partition *p, uint32_t chunk) {
  const uint64_t begin = ss_share(p->in->count, p->chunks, chunk), end = ss_share(p->in->count, p->chunks, chunk + 1);
  const uint64_t seed = p->seed;
  const uint32_t *rows = p->in->rows, parts = p->parts;
  uint16_t *restrict part_of = p->part_of;
  uint64_t *restrict counts = p->next + (uint64_t)chunk * parts;
  memset(counts, 0, parts * sizeof *counts);
  for (uint64_t at = begin; at < end; at += HASHED) {
    uint64_t part[HASHED];
    const uint64_t n = end - at < HASHED ? end - at : HASHED;
    for (uint64_t i = 0; i < n; i++) part[i] = rows[at + i];
    ss_hash_indices(part, n, seed, parts, part);
    for (uint64_t i = 0; i < n; i++) part_of[at + i] = (uint16_t)part[i];
    for (uint64_t i = 0; i < n; i++) counts[part[i]]++;
  }
}

/* Part by part, and in a part chunk by chunk: that keeps the order of the input. */
static void find_offsets(const struct partition *p, uint64_t *offsets) {
  uint64_t sum = 0;
  for (uint32_t part = 0; part < p->parts; part++) {
    offsets[part] = sum;
    for (uint32_t chunk = 0; chunk < p->chunks; chunk++) {
      uint64_t *next = &p->next[(uint64_t)chunk * p->parts + part];
      const uint64_t here = *next;
      *next = sum;
      sum += here;
    }
  }
  offsets[p->parts] = sum;
}

/* What goes with rows is known where this is called: a loop of each kind looks at nothing else. */
static inline __attribute__((always_inline)) void move_rows(const struct partition *p, uint32_t chunk,
                                                            const struct ss_hash_output *out, bool marks,
                                                            bool values) {
  const uint64_t begin = ss_share(p->in->count, p->chunks, chunk), end = ss_share(p->in->count, p->chunks, chunk + 1);
  const uint64_t width = p->in->width, stride = p->in->stride;
  const uint32_t *restrict rows = p->in->rows;
  const uint64_t *restrict marks_in = p->in->marks;
  const float *restrict values_in = p->in->values;
  uint32_t *restrict rows_out = out->rows;
  uint64_t *restrict marks_out = out->marks;
  float *restrict values_out = out->values;
  const uint16_t *restrict part_of = p->part_of;
  uint64_t *restrict next = p->next + (uint64_t)chunk * p->parts;
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t to = next[part_of[i]]++;
    rows_out[to] = rows[i];
    if (marks) marks_out[to] = marks_in[i];
    if (values && width == 1) values_out[to] = values_in[i * stride];
    else if (values) memcpy(values_out + to * width, values_in + i * stride, width * sizeof *values_in);
  }
}

static void scatter(const struct partition *p, uint32_t chunk, const struct ss_hash_output *out) {
  if (p->in->values) move_rows(p, chunk, out, p->in->marks != NULL, true);
  else if (p->in->marks) move_rows(p, chunk, out, true, false);
  else move_rows(p, chunk, out, false, false);
}

static bool few_enough(uint32_t parts, struct ss_error *error) {
  if (parts <= SS_HASH_PARTS) return true;
  return ss_fail(error, SS_BAD_INPUT, "hashing: %u parts, at most %u can be had", parts, (unsigned)SS_HASH_PARTS);
}

bool ss_hash_partition(const struct ss_hash_input *in, uint64_t seed, uint32_t parts,
                       const struct ss_hash_output *out, struct ss_error *error) {
  /* a chunk must pay for its table of counts */
  const uint64_t least = parts > LEAST_CHUNK / 4 ? (uint64_t)parts * 4 : LEAST_CHUNK, most = in->count / least + 1;
  struct partition p = {.in = in, .seed = seed, .parts = parts, .chunks = most < CHUNKS ? (uint32_t)most : CHUNKS};
  if (!few_enough(parts, error)) return false;
  SS_KERNEL_TIMED(SS_KERNEL_HASH_PARTITION);
  ss_kernel_ran(SS_KERNEL_HASH_PARTITION, in->count);
  SS_AUTO_FREE uint16_t *part_of = ss_alloc(in->count, sizeof *part_of);
  SS_AUTO_FREE uint64_t *next = ss_alloc((size_t)p.chunks * parts, sizeof *next);
  if (!part_of || !next) return ss_fail_memory(error, "partitioning rows by hash");
  p.part_of = part_of;
  p.next = next;
  if (p.chunks == 1) { /* a parallel region, even of one thread, calls the kernel */
    count_parts(&p, 0);
    find_offsets(&p, out->offsets);
    scatter(&p, 0, out);
    return true;
  }
#pragma omp parallel
  {
    /* static: a thread's chunks are neighbours, and so are the indices it writes to */
#pragma omp for schedule(static)
    for (uint32_t chunk = 0; chunk < p.chunks; chunk++) count_parts(&p, chunk);
#pragma omp single
    find_offsets(&p, out->offsets);
#pragma omp for schedule(static)
    for (uint32_t chunk = 0; chunk < p.chunks; chunk++) scatter(&p, chunk, out);
  }
  return true;
}

/* Of the rows [begin, end), how many each part has more. */
static void count_range(uint64_t begin, uint64_t end, uint64_t seed, uint32_t parts, uint64_t *counts) {
  for (uint64_t at = begin; at < end; at += HASHED) {
    uint64_t part[HASHED];
    const uint64_t n = end - at < HASHED ? end - at : HASHED;
    for (uint64_t i = 0; i < n; i++) part[i] = at + i;
    ss_hash_indices(part, n, seed, parts, part);
    for (uint64_t i = 0; i < n; i++) counts[part[i]]++;
  }
}

bool ss_hash_sizes(uint64_t low, uint64_t high, uint64_t seed, uint32_t parts, uint64_t *sizes,
                   struct ss_error *error) {
  bool good = true;
  memset(sizes, 0, parts * sizeof *sizes);
#pragma omp parallel reduction(&& : good) if (high - low > SPAN)
  {
    SS_AUTO_FREE uint64_t *mine = ss_alloc_zero(parts, sizeof *mine);
    good = mine != NULL;
#pragma omp for schedule(dynamic)
    for (uint64_t begin = low; begin < high; begin += SPAN) {
      const uint64_t end = high - begin < SPAN ? high : begin + SPAN;
      if (mine) count_range(begin, end, seed, parts, mine);
    }
#pragma omp critical
    for (uint32_t part = 0; mine && part < parts; part++) sizes[part] += mine[part];
  }
  if (!good) return ss_fail_memory(error, "counting rows by hash");
  return true;
}

/* --- ZEN's Algorithm 1 --------------------------------------------------------------------------------------- */

/* Rows whose slots are fetched together: enough to hide the way to memory. */
enum { BATCH = 64, FEW = 32 };

enum outcome { COMPLETE, OVERFLOWN, LOSSY };

/* One partition's memory and what went into it. */
struct hierarchy {
  uint32_t *parallel, *serial; /* ids; 0 is empty */
  uint64_t parallel_slots, serial_slots, in_serial, seed;
  uint64_t placed[SS_HASH_PROBES];
  uint32_t probes;
  enum outcome outcome;
};

struct ss_hash_memory ss_hash_memory_zen(uint32_t parts, uint64_t count) {
  return (struct ss_hash_memory){
      .seed = 1, .parts = parts, .probes = 3, .parallel_slots = 2 * count, .serial_slots = 2 * count / 10};
}

uint64_t ss_hash_hierarchical_bytes(const struct ss_hash_memory *m, uint64_t count) {
  return 2 * sizeof(uint32_t) * (count + m->parallel_slots + m->serial_slots);
}

/* h_i into a partition's slots. */
static uint64_t slot_of(const struct hierarchy *h, uint32_t row, uint32_t probe) {
  return ss_below(ss_hash_row(row, h->seed + probe), h->parallel_slots);
}

/* Writes where there is room, and reads it again: on a GPU another thread may have written in between (ZEN's
 * technique 4), and then this row goes on to its next probe. Here one thread has the partition to itself. */
static bool write_checked(volatile uint32_t *slot, uint32_t id) {
  if (*slot != 0) return false;
  *slot = id;
  return *slot == id;
}

/* All probes from `probe` on, and then the serial memory. */
static bool place_later(struct hierarchy *h, uint32_t row, uint32_t probe) {
  for (; probe <= h->probes && h->parallel_slots > 0; probe++) {
    if (!write_checked(&h->parallel[slot_of(h, row, probe)], row + 1)) continue;
    h->placed[probe - 1]++;
    return true;
  }
  if (h->in_serial == h->serial_slots) return false;
  h->serial[h->in_serial++] = row + 1;
  return true;
}

/* Of two probes, the first that is free is chosen by arithmetic: whether a slot is taken can be guessed badly. */
static bool place_row(struct hierarchy *h, uint32_t row, uint64_t first, uint64_t second) {
  const bool taken = h->parallel[first] != 0;
  const uint64_t slot = first ^ ((first ^ second) & -(uint64_t)taken);
  if (!write_checked(&h->parallel[slot], row + 1)) return place_later(h, row, 3);
  h->placed[taken]++;
  return true;
}

/* Some rows on their way to their slots. What is fetched for them decides nothing: rows are placed one after the
 * other, each through all its probes, as Algorithm 1 does when one thread runs it. */
struct batch {
  const uint32_t *rows;
  uint32_t count, met;   /* met: rows whose first slot was taken when the second was fetched; */
  uint32_t which[BATCH]; /* [met] which they are */
  uint64_t first[BATCH], second[BATCH];
};

static void fetch_first(const struct hierarchy *h, const uint32_t *rows, uint64_t count, struct batch *b) {
  uint64_t keys[BATCH] = {0};
  b->rows = rows;
  b->count = count < BATCH ? (uint32_t)count : BATCH;
  for (uint32_t i = 0; i < b->count; i++) keys[i] = rows[i];
  ss_hash_indices(keys, b->count, h->seed + 1, h->parallel_slots, b->first);
  for (uint32_t i = 0; i < b->count; i++) __builtin_prefetch(&h->parallel[b->first[i]], 1);
  ss_hash_indices(keys, b->count, h->seed + 2, h->parallel_slots, b->second);
}

static void fetch_second(const struct hierarchy *h, struct batch *b) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < b->count; i++) {
    b->which[n] = i;
    n += h->parallel[b->first[i]] != 0;
  }
  b->met = n;
  for (uint32_t k = 0; k < n; k++) __builtin_prefetch(&h->parallel[b->second[b->which[k]]], 1);
}

static void fetch_third(const struct hierarchy *h, struct batch *b) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < b->met; k++) {
    b->which[n] = b->which[k];
    n += h->parallel[b->second[b->which[k]]] != 0;
  }
  for (uint32_t k = 0; k < n; k++) __builtin_prefetch(&h->parallel[slot_of(h, b->rows[b->which[k]], 3)], 1);
}

static bool place_batch(struct hierarchy *h, const struct batch *b) {
  for (uint32_t i = 0; i < b->count; i++)
    if (!place_row(h, b->rows[i], b->first[i], b->second[i])) return false;
  return true;
}

/* The same where rows are so few that nothing need be fetched, or there are not even two probes, or no slots. */
static bool place_one_by_one(struct hierarchy *h, const uint32_t *rows, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (!place_later(h, rows[i], 1)) return false;
  return true;
}

/* Three batches are under way: while one is placed, the next waits for its second slots, and the one after for its
 * first. */
static bool place_rows(struct hierarchy *h, const uint32_t *rows, uint64_t count) {
  if (count < FEW || h->probes < 2 || h->parallel_slots == 0) return place_one_by_one(h, rows, count);
  struct batch batches[3];
  for (uint32_t i = 0; i < 3; i++) batches[i].count = batches[i].met = 0;
  for (uint64_t b = 0; b < (count + BATCH - 1) / BATCH + 2; b++) {
    struct batch *latest = &batches[b % 3], *before = &batches[(b + 2) % 3], *oldest = &batches[(b + 1) % 3];
    const uint64_t begin = b * BATCH < count ? b * BATCH : count;
    fetch_first(h, rows + begin, count - begin, latest);
    fetch_second(h, before);
    fetch_third(h, oldest);
    if (!place_batch(h, oldest)) return false;
  }
  return true;
}

/* The rows of the non-empty slots, in the order of the memory, at most `most`; returns how many they are. */
static uint64_t extract_plain(const uint32_t *slots, uint64_t count, uint32_t *out, uint64_t most) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < count && n < most; i++) {
    out[n] = slots[i] - 1;
    n += slots[i] != 0;
  }
  return n;
}

#ifdef __x86_64__
/* Sixteen slots at a time, while there is room for as many. */
__attribute__((target("avx512f,popcnt"))) static uint64_t extract_wide(const uint32_t *slots, uint64_t count,
                                                                       uint32_t *out, uint64_t most) {
  uint64_t n = 0, i = 0;
  for (; i + 16 <= count && n + 16 <= most; i += 16) {
    const __m512i ids = _mm512_loadu_si512(slots + i);
    const __mmask16 full = _mm512_test_epi32_mask(ids, ids);
    const __m512i rows = _mm512_sub_epi32(_mm512_maskz_compress_epi32(full, ids), _mm512_set1_epi32(1));
    _mm512_storeu_si512(out + n, rows);
    n += (uint64_t)__builtin_popcount(full);
  }
  return n + extract_plain(slots + i, count - i, out + n, most - n);
}

static uint64_t extract(const uint32_t *slots, uint64_t count, uint32_t *out, uint64_t most) {
  if (__builtin_cpu_supports("avx512f")) return extract_wide(slots, count, out, most);
  return extract_plain(slots, count, out, most);
}
#else
static uint64_t extract(const uint32_t *slots, uint64_t count, uint32_t *out, uint64_t most) {
  return extract_plain(slots, count, out, most);
}
#endif

/* Out of rows[count] into the memory, which is empty, and from there back, in its order. What was read is emptied for
 * the next partition while it is in cache. */
static enum outcome hash_rows(struct hierarchy *h, uint32_t *rows, uint64_t count) {
  enum { BLOCK = 1 << 12 };
  uint64_t found = 0;
  const bool placed = place_rows(h, rows, count);
  for (uint64_t begin = 0; begin < h->parallel_slots; begin += BLOCK) {
    const uint64_t slots = h->parallel_slots - begin < BLOCK ? h->parallel_slots - begin : BLOCK;
    if (placed) found += extract(h->parallel + begin, slots, rows + found, count - found);
    memset(h->parallel + begin, 0, slots * sizeof *h->parallel);
  }
  if (!placed) return OVERFLOWN;
  found += extract(h->serial, h->in_serial, rows + found, count - found);
  return found == count ? COMPLETE : LOSSY;
}

static uint64_t share_of(uint64_t slots, uint32_t parts, uint32_t part) {
  return ss_share(slots, parts, part + 1) - ss_share(slots, parts, part);
}

/* Partitions first, and then each by one thread, in the order of the rows: where many threads probe one memory, as on
 * a GPU, who comes first changes from run to run, and with it the probes that are counted and the order of what is
 * extracted. Partitions share nothing, so as many threads are busy as there are partitions. */
static bool hash_parts(const struct ss_hash_memory *m, uint32_t *rows, const uint64_t *offsets,
                       struct hierarchy *hierarchies) {
  bool good = true;
#pragma omp parallel reduction(&& : good) if (offsets[m->parts] > LEAST_CHUNK)
  {
    SS_AUTO_FREE uint32_t *parallel = ss_alloc_zero(m->parallel_slots / m->parts + 1, sizeof *parallel);
    SS_AUTO_FREE uint32_t *serial = ss_alloc(m->serial_slots / m->parts + 1, sizeof *serial);
    good = parallel && serial;
#pragma omp for schedule(dynamic)
    for (uint32_t p = 0; p < m->parts; p++) {
      if (!parallel || !serial) continue;
      hierarchies[p] = (struct hierarchy){.parallel = parallel,
                                          .serial = serial,
                                          .parallel_slots = share_of(m->parallel_slots, m->parts, p),
                                          .serial_slots = share_of(m->serial_slots, m->parts, p),
                                          .seed = m->seed,
                                          .probes = m->probes};
      hierarchies[p].outcome = hash_rows(&hierarchies[p], rows + offsets[p], offsets[p + 1] - offsets[p]);
    }
  }
  return good;
}

/* Adds up what the partitions tallied; an error for the first that failed. */
static bool tally_parts(const struct ss_hash_memory *m, const uint64_t *offsets, const struct hierarchy *hierarchies,
                        struct ss_hash_tally *tally, struct ss_error *error) {
  *tally = (struct ss_hash_tally){0};
  for (uint32_t p = 0; p < m->parts; p++) {
    const struct hierarchy *h = &hierarchies[p];
    const unsigned long long count = offsets[p + 1] - offsets[p];
    if (h->outcome == OVERFLOWN)
      return ss_fail(error, SS_BAD_INPUT,
                     "hierarchical hashing: the %llu rows of partition %u overflow its %llu slots of serial memory "
                     "(behind %llu parallel slots and %u probes)",
                     count, p, (unsigned long long)h->serial_slots, (unsigned long long)h->parallel_slots, h->probes);
    if (h->outcome == LOSSY)
      return ss_fail(error, SS_UNPROVEN, "hierarchical hashing lost some of the %llu rows of partition %u", count, p);
    for (uint32_t i = 0; i < m->probes; i++) tally->placed[i] += h->placed[i];
    tally->serial += h->in_serial;
    if (h->in_serial > tally->serial_fullest) tally->serial_fullest = h->in_serial;
  }
  return true;
}

bool ss_hash_hierarchical(const struct ss_hash_memory *memory, const struct ss_hash_input *in,
                          const struct ss_hash_output *out, struct ss_hash_tally *tally, struct ss_error *error) {
  const struct ss_hash_input rows = {.rows = in->rows, .count = in->count};
  if (memory->probes > SS_HASH_PROBES)
    return ss_fail(error, SS_BAD_INPUT, "hierarchical hashing: %u probes, at most %u can be had", memory->probes,
                   (unsigned)SS_HASH_PROBES);
  SS_AUTO_FREE struct hierarchy *hierarchies = ss_alloc(memory->parts, sizeof *hierarchies);
  if (!hierarchies) return ss_fail_memory(error, "hierarchical hashing");
  SS_KERNEL_TIMED(SS_KERNEL_HIERARCHICAL_HASHING);
  ss_kernel_ran(SS_KERNEL_HIERARCHICAL_HASHING, in->count);
  const struct ss_kernel_paused paused = ss_kernel_pause(); /* h0 is a part of it */
  const bool cut = ss_hash_partition(&rows, memory->seed, memory->parts, out, error);
  ss_kernel_resume(paused);
  if (!cut) return false;
  if (!hash_parts(memory, out->rows, out->offsets, hierarchies)) return ss_fail_memory(error, "hierarchical hashing");
  return tally_parts(memory, out->offsets, hierarchies, tally, error);
}

/* --- ZEN's Algorithm 3 --------------------------------------------------------------------------------------- */

bool ss_hash_lossy(const struct ss_hash_memory *memory, const struct ss_hash_input *in,
                   const struct ss_hash_output *out, struct ss_error *error) {
  const uint64_t slots = memory->parallel_slots;
  uint64_t total;
  if (!few_enough(memory->parts, error)) return false;
  if (!ss_mul_u64(memory->parts, slots, &total)) return ss_fail_memory(error, "hashing with loss");
  SS_AUTO_FREE uint32_t *slot = ss_alloc_zero(total, sizeof *slot);
  if (!slot) return ss_fail_memory(error, "hashing with loss");
  for (uint64_t i = 0; i < in->count && total > 0; i++)
    slot[ss_below(ss_hash_row(in->rows[i], memory->seed), total)] = in->rows[i] + 1;
  uint64_t *offsets = out->offsets;
  offsets[0] = 0;
  for (uint32_t p = 0; p < memory->parts; p++)
    offsets[p + 1] = offsets[p] + extract(slot + p * slots, slots, out->rows + offsets[p], in->count - offsets[p]);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
