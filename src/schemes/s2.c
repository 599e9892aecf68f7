/* S2 Reducer (§2): every rank puts its gradient into a count-sketch and the rows that it has into a bitmap; both are
 * reduced; everyone decodes the rows of the union. An unbiased estimate: E[error_l2^2] = (n_union - 1) / c for one
 * hash.
 *
 * bitmap: bits      behind the buckets in one ring all-reduce, in which bits are OR-ed: as printed, though no library
 *                   adds floats and bits in one call
 *         bytes     a byte a row by a second ring all-reduce, of bytes and their maximum: what NCCL can do
 *         gathered  bits by a ring all-gather, OR-ed by everyone
 * residuals: sketch  error feedback as App. A.2 has it, e = g - U(g): what a rank's own sketch makes of its gradient
 *                    and old residual is taken from them, over all rows that were decoded, and the rest is kept. With
 *                    one hash nothing is lost: estimates of a sum are sums of estimates
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"buckets": 16}: 6*(1 +
 * 0.018) = 6.108 us; six steps, each of a quarter of 16 buckets of 4 bytes and 8 bytes of bitmap. */
#include "schemes/run.h"
#include "schemes/scheme.h"

#include "tensor/sets.h"
#include "tensor/sketch.h"

enum bitmap { BITS, BYTES, GATHERED };
static const char *const residuals[] = {"none", "sketch", NULL};
static const char *const bitmaps[] = {"bits", "bytes", "gathered", NULL};
enum { LAMBDA, HASHES, BUCKETS, SEED, BITMAP, RESIDUALS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [LAMBDA] = {"lambda", SS_OPTION_REAL, NULL, 0, 1000, 0.5,
                "buckets for each non-zero element of a rank (mean, an iteration ago)", NULL},
    [HASHES] = {"hashes", SS_OPTION_COUNT, NULL, 1, SS_SKETCH_HASHES, 1, "rows of the sketch", NULL},
    [BUCKETS] = {"buckets", SS_OPTION_COUNT, NULL, 1, UINT32_MAX, 0, "of each row (instead of lambda)", NULL},
    [SEED] = {"seed", SS_OPTION_COUNT, NULL, 0, UINT64_C(1) << 53, 1, "of the hashes, another one each iteration",
              NULL},
    [BITMAP] = {"bitmap", SS_OPTION_CHOICE, bitmaps, 1, 0, BITS,
                "how it travels: in the sketch's all-reduce, in one of its own as bytes, or in an all-gather", NULL},
    [RESIDUALS] = {"residuals", SS_OPTION_CHOICE, residuals, 1, 0, 0,
                   "none, or what a rank's own sketch makes wrong is added to its next gradient", NULL},
};

/* Bytes of a bucket as it travels, of an index, and of a value or bucket in memory. */
enum { BUCKET = 4, INDEX = 4, UNIT = 8 };

/* Buckets and bytes of the bitmap that travel in one call. */
struct lane {
  uint32_t ranks;
  uint64_t buckets, bytes; /* of all of it */
  const int64_t **packed;  /* [ranks] part after part: its buckets, then its bytes */
  struct ss_gather gather;
};

struct s2 {
  struct ss_run *run;
  enum bitmap way;
  bool feeds_back;      /* errors are kept, and */
  struct ss_chunk *own; /* [ranks] what each has includes what it kept */
  struct ss_sketch sketch;
  struct ss_wire wire;
  uint64_t buckets;         /* of all rows of the sketch */
  uint64_t first_row, rows; /* what the bitmap stands for */
  uint32_t width;           /* elements of such a row */
  struct lane lane[2];      /* of the sketch, and of the bitmap where that travels by itself */
  uint32_t lanes;
};

/* Bytes of a bitmap of bits. */
static uint64_t bits_of(const struct s2 *s) {
  return (s->rows + 7) / 8;
}

/* How many buckets, from the mean number of elements a rank had in the iteration before. */
static bool choose_size(struct s2 *s, struct ss_error *error) {
  struct ss_run *run = s->run;
  double *before = run->state->own; /* the mean of the iteration before, kept until then */
  const uint64_t given = run->setting->value[BUCKETS];
  uint64_t sum = 0;
  for (uint32_t r = 0; r < run->ranks; r++)
    if (ss_run_resident(run, r)) sum += s->own[r].count;
  if (!ss_play_pool(run->play, &sum, 1, SS_POOL_SUM, error)) return false;
  const double now = (double)sum / run->ranks, mean = run->state->iteration > 0 ? *before : now;
  const double wanted = ceil(run->setting->real[LAMBDA] * mean / s->sketch.hashes);
  *before = now;
  s->sketch.buckets = given ? given : wanted > 1 ? (uint64_t)wanted : 1;
  s->buckets = s->sketch.hashes * s->sketch.buckets;
  return true;
}

/* --- parts ---------------------------------------------------------------------------------------------- */

/* Buckets and bytes before part j. */
static uint64_t offset_of(const struct lane *lane, uint32_t j) {
  return ss_share(lane->buckets, lane->ranks, j) + ss_share(lane->bytes, lane->ranks, j);
}

static struct ss_chunk range(const void *context, uint32_t first, uint32_t count) {
  const struct lane *lane = context;
  return (struct ss_chunk){.dense = true,
                           .low = ss_share(lane->buckets, lane->ranks, first),
                           .high = ss_share(lane->buckets, lane->ranks, first + count),
                           .count = offset_of(lane, first + count) - offset_of(lane, first),
                           .width = 1,
                           .part = first};
}

static bool give(void *context, uint32_t rank, struct ss_arena *arena, struct ss_chunk *chunk,
                 struct ss_error *error) {
  const struct lane *lane = context;
  (void)arena;
  (void)error;
  chunk->origin = rank;
  chunk->sketch = lane->packed[rank] + offset_of(lane, chunk->part);
  chunk->kind = SS_CHUNK_SKETCH;
  return true;
}

/* Buckets add up, bytes of the bitmap are OR-ed. */
static bool add(const struct ss_chunk *a, const struct ss_chunk *b, struct ss_arena *arena, struct ss_chunk *out,
                struct ss_error *error) {
  const uint64_t buckets = a->high - a->low;
  SS_KERNEL_TIMED(SS_KERNEL_DENSE_ADD);
  int64_t *sketch = ss_arena_alloc(arena, a->count, sizeof *sketch);
  if (!sketch) return ss_fail_memory(error, "adding sketches");
  for (uint64_t i = 0; i < buckets; i++) sketch[i] = (int64_t)((uint64_t)a->sketch[i] + (uint64_t)b->sketch[i]);
  for (uint64_t i = buckets; i < a->count; i++) sketch[i] = a->sketch[i] | b->sketch[i];
  ss_kernel_ran(SS_KERNEL_DENSE_ADD, buckets + (a->count - buckets) / BUCKET);
  *out = *a;
  out->sketch = sketch;
  return true;
}

/* --- kernels -------------------------------------------------------------------------------------------- */

/* What it takes to sketch, or to read from the sketch, that many elements. */
static struct ss_kernel_work sketch_work(const struct s2 *s, uint64_t elements) {
  return (struct ss_kernel_work){1, elements * s->sketch.hashes, elements * (INDEX + UNIT) + s->buckets * UNIT};
}

/* What it takes to set, or to find, their bits. */
static struct ss_kernel_work bitmap_work(const struct s2 *s, uint64_t elements) {
  return (struct ss_kernel_work){1, elements, elements * INDEX + s->lane[s->lanes - 1].bytes};
}

/* --- sketches ------------------------------------------------------------------------------------------- */

/* Byte i of the bitmap as it travels, and back into one of bits that is zero at first. */
static int64_t byte_of(const struct s2 *s, const unsigned char *bitmap, uint64_t i) {
  return s->way == BYTES ? bitmap[i / 8] >> (i % 8) & 1 : bitmap[i];
}

static void set_byte(const struct s2 *s, uint64_t i, int64_t byte, unsigned char *bitmap) {
  if (s->way != BYTES) bitmap[i] |= (unsigned char)byte;
  else bitmap[i / 8] |= (unsigned char)((byte != 0) << (i % 8));
}

/* Buckets and bytes part by part, all of them 64-bit numbers, so that sums are exact. A real sketch lies as it is
 * sent: this is no part of the scheme, nor is taking it apart. */
static bool pack(const struct s2 *s, const struct lane *lane, uint32_t rank, const int64_t *buckets,
                 const unsigned char *bitmap, struct ss_error *error) {
  SS_ASIDE;
  const uint32_t P = lane->ranks;
  int64_t *to = ss_arena_alloc(s->run->play->arena, lane->buckets + lane->bytes, sizeof *to);
  if (!to) return ss_fail_memory(error, "making sketches");
  lane->packed[rank] = to;
  for (uint32_t j = 0; j < P; j++) {
    for (uint64_t i = ss_share(lane->buckets, P, j); i < ss_share(lane->buckets, P, j + 1); i++) *to++ = buckets[i];
    for (uint64_t i = ss_share(lane->bytes, P, j); i < ss_share(lane->bytes, P, j + 1); i++)
      *to++ = byte_of(s, bitmap, i);
  }
  return true;
}

static bool encode(struct s2 *s, uint32_t rank, int64_t *buckets, unsigned char *bitmap, struct ss_error *error) {
  const struct ss_chunk *own = &s->own[rank];
  const struct ss_sketch_rows elements = {own->rows, own->count, 1};
  SS_KERNEL_TIMED(SS_KERNEL_BITMAP_ENCODE); /* but for the sketch, which times itself */
  memset(buckets, 0, s->buckets * sizeof *buckets);
  memset(bitmap, 0, bits_of(s));
  ss_sketch_add(&s->sketch, &elements, own->units, buckets);
  for (uint64_t i = 0; i < own->count; i++) { /* no division where elements are rows */
    const uint64_t bit = (s->width == 1 ? own->rows[i] : own->rows[i] / s->width) - s->first_row;
    bitmap[bit / 8] |= (unsigned char)(1u << (bit % 8));
  }
  for (uint32_t k = 0; k < s->lanes; k++)
    if (!pack(s, &s->lane[k], rank, buckets, bitmap, error)) return false;
  ss_kernel_ran(SS_KERNEL_BITMAP_ENCODE, own->count);
  ss_play_note(s->run->play, rank, SS_KERNEL_SKETCH_ADD, sketch_work(s, own->count));
  ss_play_note(s->run->play, rank, SS_KERNEL_BITMAP_ENCODE, bitmap_work(s, own->count));
  return true;
}

/* Part j of the lane, if the rank holds it: `count` buckets and bytes. */
static const struct ss_chunk *held_part(const struct s2 *s, const struct lane *lane, uint32_t rank, uint32_t j,
                                        uint64_t count) {
  const struct ss_chunk *part = ss_receipts_held(&lane->gather.receipts, rank, j, &lane->gather.block[j]);
  if (part && part->sketch && part->count == count) return part;
  ss_play_mismatch(s->run->play, "endpoint %u never received part %u", rank, j);
  return NULL;
}

/* Takes apart the parts that the rank holds; those that never came are zero. */
static void unpack(const struct s2 *s, const struct lane *lane, uint32_t rank, int64_t *buckets,
                   unsigned char *bitmap) {
  SS_ASIDE;
  const uint32_t P = lane->ranks;
  for (uint32_t j = 0; j < P; j++) {
    const uint64_t first = ss_share(lane->buckets, P, j), n = ss_share(lane->buckets, P, j + 1) - first;
    const uint64_t first_byte = ss_share(lane->bytes, P, j), bytes = ss_share(lane->bytes, P, j + 1) - first_byte;
    const struct ss_chunk *part = held_part(s, lane, rank, j, n + bytes);
    for (uint64_t i = 0; i < n; i++) buckets[first + i] = part ? part->sketch[i] : 0;
    for (uint64_t i = 0; part && i < bytes; i++) set_byte(s, first_byte + i, part->sketch[n + i], bitmap);
  }
}

/* The bitmaps of all ranks, as dense adds of what takes as many bytes. */
static void join_bitmaps(const struct s2 *s, uint32_t rank, unsigned char *bitmap) {
  const struct lane *lane = &s->lane[1];
  SS_KERNEL_TIMED(SS_KERNEL_DENSE_ADD);
  for (uint32_t j = 0; j < lane->ranks; j++) {
    const struct ss_chunk *part = held_part(s, lane, rank, j, lane->bytes);
    for (uint64_t i = 0; part && i < lane->bytes; i++) bitmap[i] |= (unsigned char)part->sketch[i];
    if (j > 0) ss_kernel_ran(SS_KERNEL_DENSE_ADD, lane->bytes / BUCKET);
  }
}

static void take(const struct s2 *s, uint32_t rank, int64_t *buckets, unsigned char *bitmap) {
  memset(bitmap, 0, bits_of(s));
  unpack(s, &s->lane[0], rank, buckets, bitmap);
  if (s->way == BYTES) unpack(s, &s->lane[1], rank, buckets, bitmap);
  if (s->way == GATHERED) join_bitmaps(s, rank, bitmap);
}

/* The elements of the rows that the bitmap has, as far as there are such; returns how many. `element` has room for
 * all of the rows. */
static uint64_t list_elements(const struct s2 *s, const unsigned char *bitmap, uint32_t *element) {
  const struct ss_run *run = s->run;
  const uint64_t least = run->low, most = run->high < run->input->elements ? run->high : run->input->elements;
  uint64_t n = 0;
  for (uint64_t i = 0; i < bits_of(s); i++)
    for (unsigned bits = bitmap[i]; bits; bits &= bits - 1) {
      const uint64_t low = (s->first_row + 8 * i + (unsigned)__builtin_ctz(bits)) * s->width;
      for (uint64_t e = low; e < low + s->width; e++) {
        element[n] = (uint32_t)e;
        n += e >= least && e < most;
      }
    }
  return n;
}

/* Estimates of the elements of all rows in the bitmap. */
static bool decode(const struct s2 *s, const int64_t *buckets, const unsigned char *bitmap, struct ss_chunk *out,
                   struct ss_error *error) {
  struct ss_run *run = s->run;
  uint64_t rows = 0;
  SS_KERNEL_TIMED(SS_KERNEL_BITMAP_DECODE);
  for (uint64_t i = 0; i < bits_of(s); i++) rows += (uint64_t)__builtin_popcount(bitmap[i]);
  uint32_t *element = ss_arena_alloc(run->play->arena, rows * s->width, sizeof *element);
  int64_t *units = ss_arena_alloc(run->play->arena, rows * s->width, sizeof *units);
  double *estimate = ss_arena_alloc(run->play->arena, rows * s->width, sizeof *estimate);
  if (!element || !units || !estimate) return ss_fail_memory(error, "decoding sketches");
  const uint64_t n = list_elements(s, bitmap, element);
  const struct ss_sketch_rows elements = {element, n, 1};
  ss_kernel_ran(SS_KERNEL_BITMAP_DECODE, n);
  ss_sketch_decode(&s->sketch, &elements, buckets, estimate);
  SS_ASIDE; /* a real decoder's estimates stay what they are */
  for (uint64_t i = 0; i < n; i++) units[i] = llrint(estimate[i] / run->verdict->grain);
  *out = ss_chunk_of_values(element, units, n, run->low, run->high);
  return true;
}

static bool drop_zeros(const struct ss_chunk *from, struct ss_arena *arena, struct ss_chunk *out,
                       struct ss_error *error) {
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  *out = *from;
  ss_kernel_ran(SS_KERNEL_PACK, from->count);
  return ss_chunk_drop_zeros(out, arena, error);
}

/* What the rank's own sketch makes of its gradient over the decoded elements is applied; it keeps the rest of it. */
static bool keep_error(const struct s2 *s, uint32_t rank, const struct ss_chunk *result, int64_t *buckets,
                       struct ss_error *error) {
  struct ss_run *run = s->run;
  struct ss_arena *arena = run->play->arena;
  const uint64_t n = result->count;
  const struct ss_sketch_rows elements = {result->rows, n, 1}, had = {s->own[rank].rows, s->own[rank].count, 1};
  struct ss_chunk rest = s->own[rank], kept = *result;
  double *estimate = ss_arena_alloc(arena, n, sizeof *estimate);
  int64_t *units = ss_arena_alloc(arena, n, sizeof *units);
  if (!estimate || !units) return ss_fail_memory(error, "keeping a sketch's error");
  const struct ss_kernel_paused paused = ss_kernel_pause(); /* the rank has its sketch still */
  memset(buckets, 0, s->buckets * sizeof *buckets);
  ss_sketch_add(&s->sketch, &had, s->own[rank].units, buckets);
  ss_kernel_resume(paused);
  ss_sketch_decode(&s->sketch, &elements, buckets, estimate);
  for (uint64_t i = 0; i < n; i++) units[i] = -llrint(estimate[i]);
  kept.units = units;
  ss_play_note(run->play, rank, SS_KERNEL_SKETCH_DECODE, sketch_work(s, n));
  if (!ss_run_add_held(run, rank, &rest, &kept, error)) return false;
  if (ss_chunk_is_full(&rest)) return ss_run_keep(run, rank, &rest, error);
  if (!drop_zeros(&rest, arena, &kept, error)) return false;
  ss_play_note_filter(run->play, rank, &rest, &kept);
  return ss_run_keep(run, rank, &kept, error);
}

/* The rank holds all that was sent, as it was sent. */
static bool regular(const struct s2 *s, uint32_t rank) {
  return ss_receipts_regular(&s->lane[0].gather.receipts, rank) &&
         (s->lanes == 1 || ss_receipts_regular(&s->lane[1].gather.receipts, rank));
}

static bool report(struct s2 *s, int64_t *buckets, unsigned char *bitmap, struct ss_error *error) {
  struct ss_run *run = s->run;
  struct ss_chunk shared = {0};
  const uint64_t others = run->ranks - 1, bytes = s->way == GATHERED ? s->lane[1].bytes : 0;
  for (uint32_t r = 0; r < run->ranks; r++) {
    struct ss_chunk result = shared;
    const bool same = regular(s, r);
    if (!ss_run_resident(run, r)) continue;
    if (!same || !shared.rows) {
      take(s, r, buckets, bitmap);
      if (!decode(s, buckets, bitmap, &result, error)) return false;
      if (same) shared = result;
    }
    ss_play_note(run->play, r, SS_KERNEL_DENSE_ADD,
                 (struct ss_kernel_work){others, others * (bytes / BUCKET), 3 * others * bytes});
    ss_play_note(run->play, r, SS_KERNEL_BITMAP_DECODE, bitmap_work(s, result.count));
    ss_play_note(run->play, r, SS_KERNEL_SKETCH_DECODE, sketch_work(s, result.count));
    ss_run_sparse(run, r, &result, 0, NULL);
    if (s->feeds_back && !keep_error(s, r, &result, buckets, error)) return false;
  }
  return true;
}

/* --- calls ------------------------------------------------------------------------------------------------ */

static bool reduce(struct s2 *s, struct lane *lane, struct ss_error *error) {
  const struct ss_dense_sum sum = {
      .wire = &s->wire, .units = lane->ranks, .context = lane, .range = range, .add = add, .give = give};
  if (!ss_allreduce_ring(s->run->play, &sum, &lane->gather, error)) return false;
  ss_play_drop_buffers(s->run->play);
  return true;
}

static bool gather(struct s2 *s, struct lane *lane, struct ss_error *error) {
  struct ss_play *play = s->run->play;
  if (!ss_gather_open(&lane->gather, lane->ranks, &s->wire, 0, 0, error)) return false;
  for (uint32_t r = 0; r < lane->ranks; r++) {
    const struct ss_chunk block = {.dense = true,
                                   .count = lane->bytes,
                                   .width = 1,
                                   .part = r,
                                   .origin = r,
                                   .sketch = lane->packed[r],
                                   .kind = lane->packed[r] ? SS_CHUNK_SKETCH : SS_CHUNK_BARE};
    ss_gather_set(&lane->gather, r, &block);
    ss_play_hold(play, r, (lane->ranks - 1) * lane->bytes);
  }
  return ss_gather_play(play, &lane->gather, ss_allgather_ring, error);
}

static bool open_lanes(struct s2 *s, struct ss_error *error) {
  const uint32_t P = s->run->ranks;
  const uint64_t bytes = s->way == BYTES ? s->rows : bits_of(s);
  s->lanes = s->way == BITS ? 1 : 2;
  s->lane[0] = (struct lane){.ranks = P, .buckets = s->buckets, .bytes = s->way == BITS ? bytes : 0};
  s->lane[1] = (struct lane){.ranks = P, .bytes = bytes};
  for (uint32_t k = 0; k < s->lanes; k++)
    if (!ss_take_zero(s->run->play->arena, s->lane[k].packed, P)) return ss_fail_memory(error, "making sketches");
  for (uint32_t r = 0; r < P; r++) ss_play_hold(s->run->play, r, s->buckets * BUCKET + bytes);
  return true;
}

static void close_lanes(struct s2 *s) {
  for (uint32_t k = 0; k < s->lanes; k++) ss_gather_close(&s->lane[k].gather);
}

static bool play_lanes(struct s2 *s, struct ss_error *error) {
  struct ss_run *run = s->run;
  SS_AUTO_FREE int64_t *buckets = ss_alloc(s->buckets, sizeof *buckets);
  SS_AUTO_FREE unsigned char *bitmap = ss_alloc(bits_of(s), 1);
  if (!buckets || !bitmap) return ss_fail_memory(error, "making sketches");
  for (uint32_t r = 0; r < run->ranks; r++)
    if (ss_run_resident(run, r) && !encode(s, r, buckets, bitmap, error)) return false;
  if (!reduce(s, &s->lane[0], error)) return false;
  if (s->way == BYTES && !reduce(s, &s->lane[1], error)) return false;
  if (s->way == GATHERED && !gather(s, &s->lane[1], error)) return false;
  return report(s, buckets, bitmap, error);
}

/* What ranks have: their gradients, and what they kept. */
static bool copy_own(struct s2 *s, struct ss_error *error) {
  struct ss_run *run = s->run;
  if (!ss_take(run->play->arena, s->own, run->ranks)) return ss_fail_memory(error, "making sketches");
  for (uint32_t r = 0; r < run->ranks; r++) {
    s->own[r] = run->own[r];
    if (s->feeds_back && ss_run_resident(run, r) && !ss_run_copy(run, r, &s->own[r], error)) return false;
  }
  return true;
}

static bool run_s2(struct ss_run *run, struct ss_error *error) {
  SS_AUTO(close_lanes) struct s2 s = {.run = run, .wire = run->dense};
  s.way = (enum bitmap)run->setting->value[BITMAP];
  s.sketch.hashes = (uint32_t)run->setting->value[HASHES];
  s.sketch.seed = run->setting->value[SEED] + 2 * s.sketch.hashes * run->state->iteration;
  s.feeds_back = run->setting->value[RESIDUALS];
  if (!copy_own(&s, error) || !choose_size(&s, error)) return false;
  s.wire.format = SS_WIRE_SKETCH;
  s.width = run->setting->element ? 1 : run->input->row_width;
  s.first_row = run->low / s.width;
  s.rows = run->high > run->low ? (run->high - 1) / s.width - s.first_row + 1 : 0;
  run->verdict->grain = s.sketch.hashes % 2 ? 1 : 0.5;
  return open_lanes(&s, error) && play_lanes(&s, error);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  (void)layout;
  if (setting->given[LAMBDA] && setting->given[BUCKETS])
    return ss_fail(error, SS_BAD_INPUT, "\"lambda\" and \"buckets\" both say how large the sketch is: give one");
  return true;
}

/* Medians of estimates of parts do not add up to those of the sum. */
static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  (void)layout;
  traits->conserves = setting->value[RESIDUALS] && setting->value[HASHES] == 1;
}

const struct ss_scheme ss_scheme_s2 = {
    .name = "s2",
    .summary = "Count-sketches and bitmaps through a dense ring all-reduce; an unbiased estimate",
    .source = "S2 Reducer §2",
    .options = options,
    .content = SS_SENDS_ESTIMATES,
    .state_size = sizeof(double),
    .adapt = adapt,
    .check = check,
    .run = run_s2,
};
/* SPDX-License-Identifier: Apache-2.0 */
