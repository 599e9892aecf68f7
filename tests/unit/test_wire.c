/* Wire formats that say by position which rows come, and those that choose: as many bytes as counted, there and back,
 * and bytes that were cut short or changed on the way are refused, or give rows in order and in range. Every buffer
 * ends where its bytes do, so that a sanitizer sees a step too far. */
#include "support.h"

#include "base/memory.h"
#include "tensor/wire.h"

#include <math.h>

enum { ROWS = 400 };

/* A chunk of some rows of `domain`, its values none of them zero unless `zeros`. */
struct scene {
  struct dice dice;
  struct ss_arena arena;
  struct ss_wire wire;
  struct ss_chunk sent, known;
  struct ss_domains domains;
  uint64_t domain_size;
  const uint32_t *domain_rows;
  bool listed[ROWS]; /* by row - low */
};

static const enum ss_wire_format formats[] = {SS_WIRE_BITMAP,   SS_WIRE_HASH_BITMAP, SS_WIRE_BLOCK, SS_WIRE_SMALLER,
                                              SS_WIRE_SMALLEST, SS_WIRE_DENSE,       SS_WIRE_COO};

static uint64_t pick_domain(struct scene *x, uint64_t low, uint64_t high, uint32_t *rows) {
  uint64_t n = 0;
  const bool maps = x->wire.format == SS_WIRE_HASH_BITMAP || x->wire.format == SS_WIRE_SMALLEST;
  bool hashed = maps && dice_one_in(&x->dice, 2);
  uint32_t one_in = hashed ? dice_between(&x->dice, 2, 6) : 1;
  for (uint64_t row = low; row < high; row++)
    if (dice_one_in(&x->dice, one_in)) rows[n++] = (uint32_t)row;
  if (!hashed) return n;
  x->domain_size = n;
  x->domain_rows = rows;
  x->domains = (struct ss_domains){.parts = 1, .size = &x->domain_size, .rows = &x->domain_rows};
  x->wire.domains = &x->domains;
  return n;
}

static void make_scene(struct scene *x, uint64_t seed, enum ss_wire_format format, bool zeros) {
  x->dice = (struct dice){.seed = seed};
  ss_arena_reset(&x->arena);
  x->wire = (struct ss_wire){.format = format, .value_bytes = 4, .index_bytes = dice_one_in(&x->dice, 2) ? 4 : 8};
  uint64_t low = dice_one_in(&x->dice, 2) ? 0 : dice_below(&x->dice, 1000);
  uint64_t range = dice_one_in(&x->dice, 8) ? 0 : dice_between(&x->dice, 1, ROWS);
  uint32_t width = dice_between(&x->dice, 1, 9), stride = width + dice_below(&x->dice, 2), n = 0;
  uint32_t *domain = ss_arena_alloc(&x->arena, range, sizeof *domain);
  uint32_t *rows = ss_arena_alloc(&x->arena, range, sizeof *rows);
  float *values = ss_arena_alloc(&x->arena, range * stride, sizeof *values);
  uint64_t size = pick_domain(x, low, low + range, domain);
  uint32_t one_in = dice_one_in(&x->dice, 3) ? 1 : dice_between(&x->dice, 1, 40);
  x->wire.block = dice_between(&x->dice, 1, dice_one_in(&x->dice, 2) ? 2 * width : 300);
  memset(x->listed, 0, sizeof x->listed);
  for (uint64_t i = 0; i < size; i++)
    if (dice_one_in(&x->dice, one_in)) rows[n++] = domain[i];
  for (uint32_t i = 0; i < n; i++) {
    x->listed[rows[i] - low] = true;
    bool zero = zeros && dice_one_in(&x->dice, 3);
    for (uint32_t c = 0; c < stride; c++) values[i * stride + c] = zero ? 0 : (float)dice_between(&x->dice, 1, 99);
  }
  x->sent = (struct ss_chunk){.rows = rows,
                              .values = values,
                              .count = n,
                              .low = low,
                              .high = low + range,
                              .width = width,
                              .stride = stride,
                              .origin = 5,
                              .distinct = true};
  x->known = x->sent;
  x->known.rows = NULL;
  x->known.values = NULL;
}

/* The bytes, in a buffer of just that size; the two bytes around them must stay as they are. */
static unsigned char *encoded(const struct scene *x, uint64_t *size) {
  *size = ss_wire_bytes(&x->wire, &x->sent);
  for (unsigned fill = 0; fill < 256; fill += 0xa5) {
    unsigned char *capacity = malloc(*size + 2), *out = malloc(*size ? *size : 1);
    memset(capacity, (int)fill, *size + 2);
    ss_wire_encode(&x->wire, &x->sent, capacity + 1);
    if (capacity[0] != fill || capacity[*size + 1] != fill)
      fail_msg("wrote beyond the %llu bytes", (unsigned long long)*size);
    memcpy(out, capacity + 1, *size);
    free(capacity);
    if (fill > 0) return out;
    capacity = malloc(*size + 2);
    memset(capacity, 0xff, *size + 2);
    ss_wire_encode(&x->wire, &x->sent, capacity + 1);
    if (memcmp(capacity + 1, out, *size) != 0) fail_msg("not every byte is written");
    free(capacity);
    free(out);
  }
  return NULL;
}

/* --- what must come out ---------------------------------------------------------------------------------- */

static const float *values_of(const struct ss_chunk *c, uint64_t row) {
  for (uint64_t i = 0; i < c->count; i++)
    if (c->rows[i] == row) return c->values + i * c->stride;
  return NULL;
}

static bool all_zero(const float *values, uint32_t width) {
  for (uint32_t c = 0; values && c < width; c++)
    if (values[c] < 0 || values[c] > 0) return false;
  return true;
}

/* Every element of the row lies in a block that holds an element of a listed row. */
static bool covered(const struct scene *x, uint64_t row) {
  const uint64_t w = x->sent.width;
  for (uint64_t e = row * w; e < (row + 1) * w; e++) {
    uint64_t first = e / x->wire.block * x->wire.block;
    bool found = false;
    for (uint64_t other = first; other < first + x->wire.block && other < (x->sent.high - x->sent.low) * w; other++)
      found = found || x->listed[other / w];
    if (!found) return false;
  }
  return true;
}

/* Bytes by the definitions of the model's page. */
static uint64_t bytes_as(const struct scene *x, enum ss_wire_format format) {
  const struct ss_chunk *c = &x->sent;
  const uint64_t range = c->high - c->low, elements = range * c->width, values = c->count * c->width * 4;
  uint64_t bytes = 0;
  switch (format) {
  case SS_WIRE_BITMAP: return (range + 7) / 8 + values;
  case SS_WIRE_HASH_BITMAP: return ((x->wire.domains ? x->domain_size : range) + 7) / 8 + values;
  case SS_WIRE_DENSE: return elements * 4;
  case SS_WIRE_BLOCK:
    for (uint64_t first = 0; first < elements; first += x->wire.block) {
      uint64_t end = first + x->wire.block < elements ? first + x->wire.block : elements;
      bool found = false;
      for (uint64_t e = first; e < end; e++) found = found || x->listed[e / c->width];
      if (found) bytes += (end - first) * 4 + 4;
    }
    return bytes;
  default: return values + c->count * x->wire.index_bytes;
  }
}

/* Which format it is in the end: the least, of equals the first. */
static enum ss_wire_format format_due(const struct scene *x) {
  static const enum ss_wire_format others[] = {SS_WIRE_DENSE, SS_WIRE_BITMAP, SS_WIRE_HASH_BITMAP};
  const uint32_t count = x->wire.format == SS_WIRE_SMALLEST ? 3 : 1;
  enum ss_wire_format due = SS_WIRE_COO;
  if (x->wire.format != SS_WIRE_SMALLER && x->wire.format != SS_WIRE_SMALLEST) return x->wire.format;
  for (uint32_t i = 0; i < count; i++)
    if (bytes_as(x, others[i]) < bytes_as(x, due)) due = others[i];
  return due;
}

static uint64_t bytes_due(const struct scene *x) {
  return bytes_as(x, format_due(x));
}

static bool expected(const struct scene *x, uint64_t row) {
  switch (format_due(x)) {
  case SS_WIRE_BLOCK: return covered(x, row);
  case SS_WIRE_DENSE: return x->listed[row] && !all_zero(values_of(&x->sent, x->sent.low + row), x->sent.width);
  default: return x->listed[row];
  }
}

static void check(const struct scene *x, const struct ss_chunk *got, const char *words) {
  uint64_t n = 0;
  static const float zeros[16];
  assert_true(got->low == x->sent.low && got->high == x->sent.high && got->width == x->sent.width);
  assert_true(got->origin == 5 && !got->marks && got->kind == SS_CHUNK_BARE && !got->dense);
  for (uint64_t row = 0; row < x->sent.high - x->sent.low; row++) {
    if (!expected(x, row)) continue;
    if (n >= got->count || got->rows[n] != x->sent.low + row)
      fail_msg("%s: row %llu of [%llu, %llu) is missing", words, (unsigned long long)(x->sent.low + row),
               (unsigned long long)x->sent.low, (unsigned long long)x->sent.high);
    const float *wanted = values_of(&x->sent, x->sent.low + row);
    if (memcmp(got->values + n * got->stride, wanted ? wanted : zeros, got->width * sizeof(float)) != 0)
      fail_msg("%s: wrong values of row %llu", words, (unsigned long long)(x->sent.low + row));
    n++;
  }
  if (n != got->count) fail_msg("%s: %llu rows too many", words, (unsigned long long)(got->count - n));
}

TEST(formats_go_there_and_back) {
  static struct scene x;
  uint32_t dense = 0, cut = 0, chosen[SS_WIRE_SMALLEST] = {0};
  for (uint32_t f = 0; f < COUNT(formats); f++)
    for (uint64_t seed = 1; seed <= 600; seed++) {
      struct ss_error error;
      struct ss_chunk got;
      uint64_t size;
      char words[100];
      make_scene(&x, seed, formats[f], seed % 3 == 0);
      snprintf(words, sizeof words, "format %d, seed %llu", (int)formats[f], (unsigned long long)seed);
      unsigned char *bytes = encoded(&x, &size);
      if (size != bytes_due(&x))
        fail_msg("%s: %llu bytes, not %llu", words, (unsigned long long)size, (unsigned long long)bytes_due(&x));
      if (formats[f] != SS_WIRE_BLOCK) assert_int_equal(ss_wire_bytes(&x.wire, &x.known), size);
      const struct ss_encoded came = {bytes, size, seed % 2 == 0};
      if (!ss_wire_decode(&x.wire, &x.known, came, &x.arena, &got, &error)) fail_msg("%s: %s", words, error.text);
      check(&x, &got, words);
      dense += formats[f] == SS_WIRE_SMALLER && format_due(&x) == SS_WIRE_DENSE;
      if (formats[f] == SS_WIRE_SMALLEST) chosen[format_due(&x)]++;
      cut += formats[f] == SS_WIRE_BLOCK && x.wire.block % x.sent.width != 0 && got.count > 0;
      free(bytes);
    }
  assert_true(dense > 50 && dense < 550 && cut > 100);
  assert_true(chosen[SS_WIRE_COO] > 20 && chosen[SS_WIRE_DENSE] > 20);
  assert_true(chosen[SS_WIRE_BITMAP] > 20 && chosen[SS_WIRE_HASH_BITMAP] > 20);
  ss_arena_free(&x.arena);
}

/* Of bytes that stay, indices and values are used where they are, unless no float can lie there. */
TEST(what_stays_is_not_copied) {
  const uint32_t rows[] = {3, 7};
  const float values[] = {1, 2, 3, 4};
  const struct ss_wire wire = {.format = SS_WIRE_COO, .value_bytes = 4, .index_bytes = 4};
  const struct ss_chunk c = {.rows = rows, .values = values, .count = 2, .high = 9, .width = 2, .stride = 2};
  struct ss_chunk got;
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  _Alignas(uint32_t) unsigned char bytes[25];
  for (size_t shift = 0; shift < 2; shift++) {
    const struct ss_encoded came = {bytes + shift, ss_wire_bytes(&wire, &c), true};
    assert_int_equal(came.size, 24);
    ss_wire_encode(&wire, &c, bytes + shift);
    assert_true(ss_wire_decode(&wire, &c, came, &arena, &got, &error));
    assert_int_equal((const unsigned char *)got.rows == came.at, shift == 0);
    assert_int_equal((const unsigned char *)got.values == came.at + 8, shift == 0);
    assert_memory_equal(got.rows, rows, sizeof rows);
    assert_memory_equal(got.values, values, sizeof values);
  }
}

/* Dense floats side by side need no bytes to be made; floats with gaps, lists and whole numbers do. */
TEST(dense_floats_travel_as_they_lie) {
  const float values[] = {1, 2, 3, 4};
  struct ss_wire wire = {.format = SS_WIRE_DENSE, .value_bytes = 4};
  struct ss_chunk c = {.values = values, .high = 2, .width = 2, .stride = 2, .dense = true};
  assert_ptr_equal(ss_wire_as_it_lies(&wire, &c), values);
  wire.units = true;
  assert_null(ss_wire_as_it_lies(&wire, &c));
  wire.units = false;
  c.dense = false;
  assert_null(ss_wire_as_it_lies(&wire, &c));
  c.dense = true;
  c.width = 1;
  assert_null(ss_wire_as_it_lies(&wire, &c));
}

/* The bytes are those of these floats. */
static bool are_floats(const unsigned char *bytes, const float *values, size_t count) {
  bool same = true;
  for (size_t i = 0; i < count; i++) {
    float value;
    memcpy(&value, bytes + i * sizeof value, sizeof value);
    same = same && value == values[i];
  }
  return same;
}

/* Ten rows from 3 on, rows 3, 4 and 12: bits 0, 1 and 9; of the domain {4, 6, 12}, bits 0 and 2 for 4 and 12. */
TEST(bits_stand_for_rows_in_order) {
  const uint32_t rows[] = {3, 4, 12}, domain[] = {4, 6, 12}, *const domain_rows[] = {domain};
  const uint64_t size = 3;
  const float values[] = {1, 2, 3};
  const struct ss_domains domains = {.parts = 1, .size = &size, .rows = domain_rows};
  struct ss_wire wire = {.format = SS_WIRE_BITMAP, .value_bytes = 4};
  struct ss_chunk c = {.rows = rows, .values = values, .count = 3, .low = 3, .high = 13, .width = 1, .stride = 1};
  unsigned char out[64];
  assert_int_equal(ss_wire_bytes(&wire, &c), 2 + 12);
  ss_wire_encode(&wire, &c, out);
  assert_true(out[0] == 3 && out[1] == 2 && are_floats(out + 2, values, COUNT(values)));
  wire.format = SS_WIRE_HASH_BITMAP;
  wire.domains = &domains;
  c.rows++, c.values++, c.count--;
  assert_int_equal(ss_wire_bytes(&wire, &c), 1 + 8);
  ss_wire_encode(&wire, &c, out);
  assert_true(out[0] == 5 && are_floats(out + 1, values + 1, 2));
  /* 10 elements in blocks of 4: rows 4 and 12 are elements 1 and 9, of block 0 and of the short block 2 */
  wire.format = SS_WIRE_BLOCK;
  wire.block = 4;
  const struct ss_blocks blocks = ss_wire_blocks(&wire, &c);
  assert_true(blocks.count == 2 && blocks.elements == 6);
  assert_int_equal(ss_wire_bytes(&wire, &c), 2 * 4 + 6 * 4);
  ss_wire_encode(&wire, &c, out);
  const float image[] = {0, 2, 0, 0}, tail[] = {0, 3};
  assert_true(memcmp(out, "\0\0\0\0", 4) == 0 && are_floats(out + 4, image, 4));
  assert_true(memcmp(out + 20, "\2\0\0\0", 4) == 0 && are_floats(out + 24, tail, 2));
}

/* Rows of whole blocks are counted without looking at them where none comes twice: as one by one. */
TEST(whole_rows_are_whole_blocks) {
  static const uint32_t rows[] = {3, 4, 7, 12}, widths[] = {4, 8, 6};
  const struct ss_wire wire = {.format = SS_WIRE_BLOCK, .value_bytes = 4, .block = 4};
  for (size_t i = 0; i < COUNT(widths); i++) {
    struct ss_chunk c = {.rows = rows, .count = 4, .low = 3, .high = 13, .width = widths[i], .stride = widths[i]};
    const struct ss_blocks one_by_one = ss_wire_blocks(&wire, &c);
    c.distinct = true;
    const struct ss_blocks blocks = ss_wire_blocks(&wire, &c);
    assert_true(blocks.count == one_by_one.count && blocks.elements == one_by_one.elements);
    if (widths[i] % wire.block == 0) assert_int_equal(blocks.elements, 4 * widths[i]);
  }
}

/* --- whole numbers ---------------------------------------------------------------------------------------- */

/* Values of 2^24 and less, zeros too where the format keeps them: marks there, floats on the way, marks back. */
TEST(units_go_there_and_back) {
  static struct scene x;
  static const int64_t some[] = {1 << 24, -(1 << 24), 1, -1, 0, 4097, -3, 16777215};
  uint64_t zeros = 0, values = 0;
  for (uint32_t f = 0; f < COUNT(formats); f++)
    for (uint64_t seed = 1; seed <= 200; seed++) {
      struct ss_error error;
      struct ss_chunk got;
      uint64_t size, n = 0;
      make_scene(&x, seed, formats[f], false);
      if (formats[f] == SS_WIRE_BLOCK || x.sent.width > 1) continue; /* schemes of values send neither */
      uint64_t *marks = ss_arena_alloc(&x.arena, x.sent.count, sizeof *marks);
      for (uint64_t i = 0; i < x.sent.count; i++) marks[i] = (uint64_t)some[dice_below(&x.dice, COUNT(some))];
      x.wire.units = true;
      x.sent.values = NULL;
      x.sent.marks = marks;
      x.sent.kind = SS_CHUNK_VALUES;
      assert_true(ss_wire_exact(&x.wire, &x.sent));
      unsigned char *bytes = encoded(&x, &size);
      assert_int_equal(size, bytes_due(&x));
      assert_true(ss_wire_decode(&x.wire, &x.known, (struct ss_encoded){bytes, size, false}, &x.arena, &got, &error));
      assert_true(!got.values && got.kind == SS_CHUNK_VALUES);
      assert_non_null(got.marks);
      const bool dense = format_due(&x) == SS_WIRE_DENSE;
      for (uint64_t i = 0; got.marks && i < x.sent.count; i++) {
        zeros += marks[i] == 0;
        if (dense && marks[i] == 0) continue; /* an image has no list */
        assert_true(n < got.count && got.rows[n] == x.sent.rows[i] && got.marks[n] == marks[i]);
        n++, values++;
      }
      assert_int_equal(n, got.count);
      free(bytes);
    }
  assert_true(zeros > 100 && values > 1000);
  ss_arena_free(&x.arena);
}

TEST(what_floats_cannot_hold_is_noticed) {
  static const float wrong[] = {0.5F, 16777218.0F, -16777218.0F, NAN, INFINITY};
  const uint64_t marks[] = {1, (1 << 24) + 1}, negative[] = {1, 0 - (uint64_t)(1 << 24) - 1};
  const uint32_t rows[] = {2, 3};
  const struct ss_wire wire = {.format = SS_WIRE_COO, .value_bytes = 4, .index_bytes = 4, .units = true};
  struct ss_chunk
      c = {.rows = rows, .marks = marks, .kind = SS_CHUNK_VALUES, .count = 2, .high = 9, .width = 1, .stride = 1},
      got;
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  unsigned char bytes[16] = {2, 0, 0, 0, 3};
  assert_false(ss_wire_exact(&wire, &c));
  c.marks = negative;
  assert_false(ss_wire_exact(&wire, &c));
  c.count = 1;
  assert_true(ss_wire_exact(&wire, &c));
  c.count = 2;
  assert_true(ss_wire_decode(&wire, &c, (struct ss_encoded){bytes, sizeof bytes, false}, &arena, &got, &error));
  for (uint32_t i = 0; i < COUNT(wrong); i++) {
    memcpy(bytes + 12, &wrong[i], sizeof wrong[i]);
    assert_false(ss_wire_decode(&wire, &c, (struct ss_encoded){bytes, sizeof bytes, false}, &arena, &got, &error));
    assert_int_equal(error.status, SS_UNPROVEN);
  }
}

/* Numbers of 8 bytes; an empty range has none, though it counts one (Ok-Topk's cut 0). */
TEST(numbers_go_there_and_back) {
  const uint64_t number[] = {UINT64_MAX, 7};
  const struct ss_wire wire = {.format = SS_WIRE_DENSE, .value_bytes = 8};
  struct ss_chunk c = {.numbers = number,
                       .kind = SS_CHUNK_NUMBERS,
                       .count = 2,
                       .high = 2,
                       .width = 1,
                       .stride = 1,
                       .dense = true},
                  got;
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  unsigned char bytes[16];
  assert_int_equal(ss_wire_bytes(&wire, &c), 16);
  ss_wire_encode(&wire, &c, bytes);
  assert_memory_equal(bytes, number, 16);
  assert_true(ss_wire_decode(&wire, &c, (struct ss_encoded){bytes, 16, false}, &arena, &got, &error));
  assert_true(got.kind == SS_CHUNK_NUMBERS && got.numbers[0] == UINT64_MAX && got.numbers[1] == 7);
  c.count = 1;
  c.high = 0;
  assert_int_equal(ss_wire_bytes(&wire, &c), 0);
  ss_wire_encode(&wire, &c, bytes);
  assert_true(ss_wire_decode(&wire, &c, (struct ss_encoded){bytes, 0, false}, &arena, &got, &error));
  assert_true(got.count == 1 && got.numbers[0] == 0);
}

/* --- hostile bytes ---------------------------------------------------------------------------------------- */

static void check_sane(const struct scene *x, const struct ss_chunk *got) {
  volatile float sum = 0; /* every value is to be read */
  for (uint64_t i = 0; i < got->count; i++) {
    bool in_domain = format_due(x) != SS_WIRE_HASH_BITMAP || !x->wire.domains;
    assert_true(got->rows[i] >= x->sent.low && got->rows[i] < x->sent.high);
    /* index lists may repeat a row: lookups that were not coalesced do */
    assert_true(i == 0 || got->rows[i - 1] < got->rows[i] || (got->rows[i - 1] == got->rows[i] && !got->distinct) ||
                format_due(x) == SS_WIRE_COO);
    for (uint64_t d = 0; !in_domain && d < x->domain_size; d++)
      in_domain = in_domain || x->domain_rows[d] == got->rows[i];
    assert_true(in_domain);
    for (uint32_t c = 0; c < got->width; c++) sum += got->values[i * got->stride + c];
  }
  (void)sum;
}

/* The first `size` of the bytes, in a buffer of just that size. */
static bool decodes(struct scene *x, const unsigned char *bytes, uint64_t size, struct ss_chunk *got) {
  unsigned char *just = malloc(size ? size : 1);
  struct ss_error error = {.status = SS_OK};
  memcpy(just, bytes, size);
  bool ok = ss_wire_decode(&x->wire, &x->known, (struct ss_encoded){just, size, false}, &x->arena, got, &error);
  free(just);
  if (!ok) assert_true(error.status == SS_UNPROVEN && strncmp(error.text, "received", 8) == 0);
  return ok;
}

/* Lengths at which a list of blocks ends. */
static bool block_ends(const struct scene *x, const unsigned char *bytes, uint64_t length) {
  const uint64_t elements = (x->sent.high - x->sent.low) * x->sent.width;
  uint64_t at = 0;
  while (at < length) {
    uint32_t number;
    memcpy(&number, bytes + at, 4);
    uint64_t rest = elements - (uint64_t)number * x->wire.block;
    at += 4 + 4 * (rest < x->wire.block ? rest : x->wire.block);
  }
  return at == length;
}

TEST(bytes_cut_short_are_refused) {
  static struct scene x;
  for (uint32_t f = 0; f < COUNT(formats); f++)
    for (uint64_t seed = 1; seed <= 60; seed++) {
      struct ss_chunk got;
      uint64_t size;
      make_scene(&x, seed, formats[f], false);
      unsigned char *bytes = encoded(&x, &size), *more = calloc(size + 1, 1);
      memcpy(more, bytes, size);
      for (uint64_t length = 0; length < size; length += 1 + length / 40) {
        bool ok = decodes(&x, bytes, length, &got),
             whole = formats[f] == SS_WIRE_BLOCK && block_ends(&x, bytes, length);
        if (ok != whole)
          fail_msg("format %d, seed %llu: %llu of %llu bytes %s", (int)formats[f], (unsigned long long)seed,
                   (unsigned long long)length, (unsigned long long)size, ok ? "pass" : "are refused");
        if (ok) check_sane(&x, &got);
      }
      assert_false(decodes(&x, more, size + 1, &got));
      free(bytes);
      free(more);
    }
  ss_arena_free(&x.arena);
}

TEST(changed_bytes_are_refused_or_in_range) {
  static struct scene x;
  uint32_t refused = 0, passed = 0;
  for (uint32_t f = 0; f < COUNT(formats); f++)
    for (uint64_t seed = 1; seed <= 2000; seed++) {
      struct ss_chunk got;
      uint64_t size;
      make_scene(&x, seed, formats[f], false);
      unsigned char *bytes = encoded(&x, &size);
      /* most often at the head, where indices, bits and the first block's number are */
      for (uint32_t i = dice_between(&x.dice, 1, 3); i > 0 && size > 0; i--)
        bytes[dice_one_in(&x.dice, 2) ? ss_below(dice_next(&x.dice), size) : dice_below(&x.dice, 4) % size] ^=
            (unsigned char)dice_between(&x.dice, 1, 255);
      if (decodes(&x, bytes, size, &got)) {
        check_sane(&x, &got);
        passed++;
      } else {
        refused++;
      }
      free(bytes);
    }
  assert_true(passed > 1000 && refused > 1000);
  ss_arena_free(&x.arena);
}

TEST(wrong_blocks_are_refused) {
  static struct scene x;
  struct ss_chunk got;
  uint32_t bytes[] = {0, 1, 2, 1, 3, 4}; /* block 0: elements 1, 2; block 1: elements 3, 4 */
  make_scene(&x, 1, SS_WIRE_BLOCK, false);
  x.wire.block = 2;
  x.sent.low = x.known.low = 0;
  x.sent.high = x.known.high = 5; /* blocks 0, 1 and a short 2 */
  x.sent.width = x.known.width = 1;
  assert_true(decodes(&x, (unsigned char *)bytes, 24, &got) && got.count == 4);
  bytes[3] = 0; /* twice */
  assert_false(decodes(&x, (unsigned char *)bytes, 24, &got));
  bytes[0] = 1; /* falling */
  assert_false(decodes(&x, (unsigned char *)bytes, 24, &got));
  bytes[0] = 0, bytes[3] = 2; /* the last is short */
  assert_false(decodes(&x, (unsigned char *)bytes, 24, &got));
  assert_true(decodes(&x, (unsigned char *)bytes, 20, &got) && got.count == 3 && got.rows[2] == 4);
  bytes[3] = 3;
  assert_false(decodes(&x, (unsigned char *)bytes, 20, &got));
  bytes[3] = UINT32_MAX;
  assert_false(decodes(&x, (unsigned char *)bytes, 20, &got));
  ss_arena_free(&x.arena);
}
/* SPDX-License-Identifier: Apache-2.0 */
