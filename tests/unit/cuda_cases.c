#include "cuda_cases.h"

#include "support.h"

#include "base/memory.h"
#include "tensor/topk_key.h"

/* --- inputs ---------------------------------------------------------------------------------------------- */

enum density { NONE, FEW, SOME, HALF, NEARLY_ALL, ALL, CLUSTERS, DENSITIES };

static bool lists(struct dice *d, enum density density, uint64_t row) {
  switch (density) {
  case NONE: return false;
  case FEW: return dice_one_in(d, 500);
  case SOME: return dice_one_in(d, 20);
  case HALF: return dice_one_in(d, 2);
  case NEARLY_ALL: return !dice_one_in(d, 50);
  case ALL: return true;
  default: return row / 700 % 5 == 0 && !dice_one_in(d, 9);
  }
}

/* Of small numbers, so that there are ties, zeros of both signs among them; or of any size. */
static float any_float(struct dice *d) {
  static const float special[] = {0.0F, -0.0F, 1e-42F, -3e38F, INFINITY};
  if (dice_one_in(d, 20)) return special[dice_below(d, COUNT(special))];
  if (dice_one_in(d, 3)) return (float)dice_below(d, 5) - 2;
  return (float)(dice_unit(d) - 0.5);
}

static float *floats(struct dice *d, struct ss_arena *arena, uint64_t n, bool infinite) {
  float *values = ss_arena_alloc(arena, n, sizeof *values);
  for (uint64_t i = 0; i < n; i++) {
    values[i] = any_float(d);
    if (!infinite && isinf(values[i])) values[i] = 7;
  }
  return values;
}

/* Where top-k takes a sample, that of a large tensor, numbers that make it guess too high. */
static void raise_sample(float *values, uint64_t n) {
  for (uint64_t i = 0; i < SS_TOPK_SAMPLE; i++) values[ss_topk_sampled(n, SS_TOPK_SAMPLE, i)] = 9 + (float)(i % 100);
}

static struct ss_chunk any_part(struct dice *d, struct ss_arena *arena, uint64_t rows, uint32_t width) {
  const enum density density = dice_below(d, DENSITIES);
  uint32_t *list = ss_arena_alloc(arena, rows, sizeof *list);
  uint64_t count = 0;
  for (uint64_t row = 0; row < rows; row++)
    if (lists(d, density, row)) list[count++] = (uint32_t)row;
  return (struct ss_chunk){.rows = list,
                           .values = floats(d, arena, count * width, false),
                           .count = count,
                           .high = rows,
                           .width = width,
                           .stride = width,
                           .distinct = true};
}

static void any_lookups(struct dice *d, struct ss_arena *arena, struct ss_kernel_input *in) {
  const uint64_t count = dice_one_in(d, 6) ? 0 : dice_below(d, dice_one_in(d, 2) ? 300 : 60000);
  uint32_t range = (uint32_t)in->rows;
  if (dice_one_in(d, 3)) range = range / 100 + 1; /* ids come often, or all the time */
  else if (dice_one_in(d, 3)) range = range > 1 ? 2 : 1;
  uint32_t *lookups = ss_arena_alloc(arena, count, sizeof *lookups);
  for (uint64_t i = 0; i < count; i++) lookups[i] = dice_below(d, range);
  in->lookups = lookups;
  in->lookup_count = count;
}

static uint64_t any_rows(struct dice *d) {
  static const uint64_t special[] = {1, 31, 32, 33, 255, 256, 257, 32767, 32768, 32769, 65536};
  if (dice_one_in(d, 3)) return special[dice_below(d, COUNT(special))];
  if (dice_one_in(d, 6)) return 262145 + dice_below(d, 100000); /* enough for top-k to take a sample */
  return 1 + dice_below(d, dice_one_in(d, 2) ? 2000 : 100000);
}

/* Of one element; of a few; of more than a block of threads, or of elements, has. Wide rows are fewer. */
static uint32_t any_width(struct dice *d, struct ss_kernel_input *in) {
  static const uint32_t special[] = {2, 31, 32, 33, 255, 256, 257, 1000, 2047, 2048, 2049, 5000};
  if (dice_one_in(d, 3)) return 1;
  const uint32_t width =
      dice_one_in(d, 3) ? special[dice_below(d, COUNT(special))] : dice_between(d, 1, dice_one_in(d, 2) ? 9 : 700);
  const uint64_t most = UINT64_C(100000) / width + 1;
  if (in->rows > most) in->rows = dice_between(d, 1, (uint32_t)most);
  return width;
}

static void any_hashing(struct dice *d, struct ss_kernel_input *in) {
  const uint64_t count = in->part[0].count;
  in->parts = dice_between(d, 1, dice_one_in(d, 4) ? 700 : 20);
  in->hash_seed = dice_next(d);
  in->probes = dice_below(d, 9);
  in->parallel_slots = dice_one_in(d, 6) ? dice_below(d, 20) : dice_below(d, 3 * (uint32_t)count + 1);
  in->serial_slots = (count + 1) * in->parts; /* room for any partition */
  if (in->serial_slots > 4000000) in->parts = 1, in->serial_slots = count;
}

static struct ss_kernel_input any_input(struct dice *d, struct ss_arena *arena) {
  static const uint32_t blocks[] = {1, 2, 7, 256, 1000, 2048};
  struct ss_kernel_input in = {.rows = any_rows(d), .operands = dice_between(d, 1, SS_KERNEL_OPERANDS)};
  struct ss_error error;
  const uint32_t width = any_width(d, &in);
  for (uint32_t i = 0; i < in.operands; i++) in.part[i] = any_part(d, arena, in.rows, width);
  float *selected = floats(d, arena, in.rows, true);
  if (in.rows > 4 * SS_TOPK_SAMPLE && dice_one_in(d, 2)) raise_sample(selected, in.rows);
  in.dense[0] = selected;
  in.dense[1] = floats(d, arena, in.rows, false);
  in.keep = dice_one_in(d, 9) ? 0 : dice_below(d, (uint32_t)in.rows / (dice_one_in(d, 2) ? 1 : 100) + 1);
  any_lookups(d, arena, &in);
  any_hashing(d, &in);
  in.block = blocks[dice_below(d, COUNT(blocks))];
  in.hashes = dice_between(d, 1, dice_one_in(d, 9) ? 32 : 5);
  in.buckets = 1 + dice_below(d, 3000);
  in.sketch_seed = dice_next(d);
  int64_t *units = ss_arena_alloc(arena, in.part[0].count, sizeof *units);
  for (uint64_t i = 0; i < in.part[0].count; i++) units[i] = (int64_t)dice_next(d);
  in.units = units;
  assert_true(ss_kernel_input_derive(&in, arena, &error));
  return in;
}

/* --- comparisons ------------------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The rows of each part, put in order. */
static uint32_t *parts_in_order(const struct ss_kernel_output *out, uint32_t parts) {
  uint32_t *rows = malloc((out->count + 1) * sizeof *rows);
  memcpy(rows, out->rows, out->count * sizeof *rows);
  for (uint32_t p = 0; p < parts; p++)
    qsort(rows + out->offsets[p], out->offsets[p + 1] - out->offsets[p], sizeof *rows, by_row);
  return rows;
}

static void same(const void *got, const void *wanted, uint64_t bytes, const char *what, enum ss_kernel_kind kernel,
                 uint64_t seed) {
  if (bytes == 0) return;
  if (!got != !wanted) fail_msg("seed %llu: %s: %s", (unsigned long long)seed, ss_kernel_name(kernel), what);
  if (got && wanted && memcmp(got, wanted, bytes) != 0)
    fail_msg("seed %llu: %s: other %s", (unsigned long long)seed, ss_kernel_name(kernel), what);
}

static void same_output(const struct ss_kernel_input *in, enum ss_kernel_kind kernel,
                        const struct ss_kernel_output *got, const struct ss_kernel_output *wanted, uint64_t seed) {
  if (got->count != wanted->count || got->wire.size != wanted->wire.size)
    fail_msg("seed %llu: %s: %llu, not %llu", (unsigned long long)seed, ss_kernel_name(kernel),
             (unsigned long long)got->count, (unsigned long long)wanted->count);
  const uint64_t n = got->count, width = kernel == SS_KERNEL_DENSE_ADD ? 1 : in->part[0].width;
  same(got->offsets, wanted->offsets, (in->parts + UINT64_C(1)) * sizeof *got->offsets, "offsets", kernel, seed);
  if (kernel == SS_KERNEL_HIERARCHICAL_HASHING) {
    uint32_t *a = parts_in_order(got, in->parts), *b = parts_in_order(wanted, in->parts);
    same(a, b, n * sizeof *a, "sets", kernel, seed);
    free(a), free(b);
  } else {
    same(got->rows, wanted->rows, n * sizeof *got->rows, "rows", kernel, seed);
  }
  same(got->values, wanted->values, n * width * sizeof *got->values, "values", kernel, seed);
  same(got->wire.at, wanted->wire.at, got->wire.size, "bytes", kernel, seed);
  same(got->buckets, wanted->buckets, in->hashes * in->buckets * sizeof *got->buckets, "buckets", kernel, seed);
  same(got->decoded, wanted->decoded, n * sizeof *got->decoded, "numbers", kernel, seed);
}

static void run(const struct ss_kernel_device *device, struct ss_kernel_run *r, enum ss_kernel_kind kernel,
                struct ss_kernel_output *out, uint64_t seed) {
  struct ss_error error;
  if (!device->run(r, kernel, &error) || !device->fetch(r, kernel, out, &error))
    fail_msg("seed %llu: %s on %s: %s", (unsigned long long)seed, ss_kernel_name(kernel), device->name, error.text);
}

/* Every kernel twice: what the first call leaves in scratch memory must not disturb the second. */
static void compare_once(const struct ss_kernel_device *device, uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  const struct ss_kernel_input in = any_input(&d, arena);
  struct ss_kernel_run *wanted, *got;
  struct ss_kernel_output out[2] = {0};
  struct ss_error error;
  assert_true(ss_kernels_cpu.open(&in, 0, &wanted, &error));
  if (!device->open(&in, 0, &got, &error)) fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
  for (int round = 0; round < 2; round++)
    for (uint32_t k = 0; k < SS_KERNELS; k++) {
      run(&ss_kernels_cpu, wanted, (enum ss_kernel_kind)k, &out[0], seed);
      run(device, got, (enum ss_kernel_kind)k, &out[1], seed);
      same_output(&in, (enum ss_kernel_kind)k, &out[1], &out[0], seed);
    }
  ss_kernels_cpu.close(wanted);
  device->close(got);
}

void compare_with_cpu(const struct ss_kernel_device *device, uint64_t seeds, void (*begin)(uint64_t seed)) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    if (begin) begin(seed);
    compare_once(device, seed, &arena);
    ss_arena_reset(&arena);
  }
}

/* --- what cannot be had ------------------------------------------------------------------------------------- */

static struct ss_kernel_input small_input(struct ss_arena *arena) {
  struct dice d = {.seed = 1};
  struct ss_kernel_input in = any_input(&d, arena);
  while (in.part[0].count < 100) {
    in = any_input(&d, arena);
  }
  return in;
}

/* Runs a kernel that must fail, and leaves no doubt why. */
static void refused(const struct ss_kernel_device *device, const struct ss_kernel_input *in,
                    enum ss_kernel_kind kernel, enum ss_status status, const char *says) {
  struct ss_kernel_run *r = NULL;
  struct ss_kernel_output out;
  struct ss_error error = {0};
  const bool good =
      device->open(in, 0, &r, &error) && device->run(r, kernel, &error) && device->fetch(r, kernel, &out, &error);
  assert_false(good);
  assert_int_equal(error.status, status);
  if (!strstr(error.text, says)) fail_msg("%s: not \"%s\"", error.text, says);
  device->close(r);
}

static void refuse_sizes(const struct ss_kernel_device *device, struct ss_kernel_input in) {
  struct ss_kernel_input other = in;
  other.rows = UINT64_C(1) << 31;
  refused(device, &other, 0, SS_BAD_INPUT, "rows");
  other = in, other.block = 4096;
  refused(device, &other, 0, SS_BAD_INPUT, "blocks of 4096");
  other = in, other.operands = 2, other.part[1] = in.part[0], other.part[1].width = other.part[1].stride = 5000;
  refused(device, &other, 0, SS_BAD_INPUT, "rows of 5000 elements, 5000 apart");
  other = in, other.part[0].stride++;
  refused(device, &other, 0, SS_BAD_INPUT, "apart");
  other = in, other.part[0].count = UINT64_C(1) << 20, other.part[0].width = other.part[0].stride = 1 << 11;
  refused(device, &other, 0, SS_BAD_INPUT, "2147483648 elements");
  other = in, other.parts = 70000;
  refused(device, &other, 0, SS_BAD_INPUT, "70000 parts");
  other = in, other.buckets = UINT64_C(1) << 62, other.hashes = 4;
  refused(device, &other, 0, SS_BAD_INPUT, "buckets");
  other = in, other.parallel_slots = other.serial_slots = UINT64_C(1) << 30;
  refused(device, &other, 0, SS_BAD_INPUT, "slots");
}

/* A block twice, one out of range, and one cut short. */
static void refuse_blocks(const struct ss_kernel_device *device, const struct ss_kernel_input *in,
                          struct ss_arena *arena) {
  const uint64_t each = 4 * (in->block + UINT64_C(1));
  unsigned char *bytes = ss_arena_alloc(arena, 2 * each + in->blocks.size, 1);
  struct ss_kernel_input other = *in;
  other.blocks.at = bytes;
  memcpy(bytes, in->blocks.at, each);
  memcpy(bytes + each, in->blocks.at, in->blocks.size);
  other.blocks.size = each + in->blocks.size;
  refused(device, &other, SS_KERNEL_BLOCK_DECODE, SS_UNPROVEN, "block");
  other.blocks.size = in->blocks.size;
  memcpy(bytes, in->blocks.at, in->blocks.size);
  memset(bytes, 0xff, 4);
  refused(device, &other, SS_KERNEL_BLOCK_DECODE, SS_UNPROVEN, "block");
  memcpy(bytes, in->blocks.at, 4);
  other.blocks.size -= 4;
  refused(device, &other, SS_KERNEL_BLOCK_DECODE, SS_UNPROVEN, "block");
}

static void refuse_contents(const struct ss_kernel_device *device, struct ss_kernel_input in,
                            struct ss_arena *arena) {
  struct ss_kernel_input other = in;
  other.probes = 0, other.serial_slots = in.part[0].count / 2;
  refused(device, &other, SS_KERNEL_HIERARCHICAL_HASHING, SS_BAD_INPUT, "overflow");

  float *lost = ss_arena_alloc(arena, in.rows, sizeof *lost);
  for (uint64_t i = 0; i < in.rows; i++) lost[i] = i % 7 == 3 ? -NAN : 1;
  other = in, other.dense[0] = lost, other.keep = 2;
  refused(device, &other, SS_KERNEL_TOP_K, SS_BAD_INPUT, "element 3 is not a number");

  unsigned char *bytes = ss_arena_alloc(arena, in.bitmap.size, 1);
  memcpy(bytes, in.bitmap.at, in.bitmap.size);
  bytes[0] ^= 1;
  other = in, other.bitmap.at = bytes;
  refused(device, &other, SS_KERNEL_BITMAP_DECODE, SS_UNPROVEN, "were due");
}

void refuse_what_cannot_be(const struct ss_kernel_device *device) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  const struct ss_kernel_input in = small_input(&arena);
  refuse_sizes(device, in);
  refuse_blocks(device, &in, &arena);
  refuse_contents(device, in, &arena);
}
/* SPDX-License-Identifier: Apache-2.0 */
