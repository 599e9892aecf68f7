/* Chunks against brute force: sums, views, selections; wire formats there and back, and hostile bytes. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "tensor/chunk.h"
#include "tensor/sets.h"
#include "tensor/wire.h"

enum { MOST_OPERANDS = 9, MOST_WIDTH = 5 };
enum content { ROWS_ONLY, MARKS = 1, VALUES = 2, BOTH = 3 };

/* A chunk of `like`'s count, range and width; its rows are random: ascending, distinct unless `duplicates`. */
static struct ss_chunk random_chunk(struct dice *d, struct ss_arena *arena, const struct ss_chunk *like,
                                    bool duplicates, uint32_t content) {
  const uint64_t low = like->low, high = like->high, range = high - low, count = like->count;
  uint32_t *rows = ss_arena_alloc(arena, count, sizeof *rows), stride = like->width + dice_below(d, 3);
  uint64_t n = 0;
  assert_true(duplicates || count <= range);
  if (duplicates) {
    uint64_t row = low;
    for (; n < count && range > 0; n++) {
      if (!dice_one_in(d, 3)) row += ss_below(dice_next(d), 2 * range / count + 1);
      if (row >= high) break;
      rows[n] = (uint32_t)row;
    }
  } else {
    for (uint64_t row = low; row < high && n < count; row++) /* selection sampling: each count-subset alike */
      if (ss_below(dice_next(d), high - row) < count - n) rows[n++] = (uint32_t)row;
  }
  struct ss_chunk chunk = {
      .rows = rows, .count = n, .low = low, .high = high, .width = like->width, .stride = stride};
  uint64_t *marks = ss_arena_alloc(arena, n, sizeof *marks);
  float *values = ss_arena_alloc(arena, n * stride, sizeof *values);
  for (uint64_t i = 0; i < n; i++) marks[i] = dice_next(d);
  for (uint64_t i = 0; i < n * stride; i++) values[i] = (float)dice_below(d, 100) - 50;
  if (content & MARKS) chunk.proofs = marks, chunk.kind = SS_CHUNK_PROOFS;
  if (content & VALUES) chunk.values = values;
  return chunk;
}

/* --- sums ------------------------------------------------------------------------------------------------ */

/* A sum as a table with a place for every row of the range. */
struct table {
  uint64_t low, rows;
  bool *present;
  uint64_t *marks;
  float (*values)[MOST_WIDTH];
};

static struct table table_of(const struct ss_chunk *operands, uint32_t n, uint64_t low, uint64_t high) {
  struct table t = {.low = low, .rows = high - low};
  t.present = calloc(t.rows + 1, sizeof *t.present);
  t.marks = calloc(t.rows + 1, sizeof *t.marks);
  t.values = calloc(t.rows + 1, sizeof *t.values);
  for (uint32_t i = 0; i < n; i++)
    for (uint64_t e = 0; e < operands[i].count; e++) {
      uint64_t at = operands[i].rows[e] - low;
      t.present[at] = true;
      if (operands[i].marks) t.marks[at] += operands[i].marks[e];
      for (uint32_t c = 0; operands[i].values && c < operands[i].width; c++)
        t.values[at][c] += operands[i].values[e * operands[i].stride + c];
    }
  return t;
}

static void table_free(struct table *t) {
  free(t->present);
  free(t->marks);
  free(t->values);
}

static void check_sum(const struct ss_chunk *sum, const struct table *t, uint32_t content, uint64_t seed) {
  uint64_t n = 0;
  for (uint64_t at = 0; at < t->rows; at++) {
    if (!t->present[at]) continue;
    if (n >= sum->count || sum->rows[n] != t->low + at)
      fail_msg("seed %llu: row %llu is missing", (unsigned long long)seed, (unsigned long long)(t->low + at));
    if (content & MARKS && sum->marks[n] != t->marks[at])
      fail_msg("seed %llu: wrong mark of row %llu", (unsigned long long)seed, (unsigned long long)(t->low + at));
    for (uint32_t c = 0; content & VALUES && c < sum->width; c++)
      if (sum->values[n * sum->stride + c] != t->values[at][c])
        fail_msg("seed %llu: wrong value of row %llu", (unsigned long long)seed, (unsigned long long)(t->low + at));
    n++;
  }
  if (n != sum->count)
    fail_msg("seed %llu: %llu rows too many", (unsigned long long)seed, (unsigned long long)(sum->count - n));
}

static uint64_t random_range(struct dice *d) {
  static const uint64_t special[] = {1, 2, 63, 64, 65, 65535, 65536, 65537, 131072, 131073, 300000};
  if (dice_one_in(d, 3)) return special[dice_below(d, COUNT(special))];
  return 1 + (dice_next(d) >> 32) % (dice_one_in(d, 4) ? 300000 : 2000);
}

static void sum_once(uint64_t seed, struct ss_arena *arena, struct ss_sum_scratch *scratch) {
  struct dice d = {.seed = seed};
  struct ss_error error;
  struct ss_chunk operands[MOST_OPERANDS], sum;
  uint64_t range = random_range(&d), low = dice_one_in(&d, 2) ? 0 : dice_next(&d) >> 33;
  uint32_t n = dice_below(&d, MOST_OPERANDS + 1), width = dice_between(&d, 1, MOST_WIDTH);
  uint32_t content = dice_below(&d, 4);
  if (dice_one_in(&d, 5)) low = (UINT64_C(1) << 32) - range; /* up to the last row there can be */
  for (uint32_t i = 0; i < n; i++) {
    uint64_t count = dice_one_in(&d, 4) ? 0 : ss_below(dice_next(&d), range + 1);
    if (!dice_one_in(&d, 3)) count /= 50; /* blocks between that nobody touches */
    const struct ss_chunk like = {.count = count, .low = low, .high = low + range, .width = width};
    operands[i] = random_chunk(&d, arena, &like, dice_one_in(&d, 3), content);
    if (operands[i].count == 0 && dice_one_in(&d, 2)) operands[i].kind = SS_CHUNK_BARE, operands[i].values = NULL;
  }
  uint64_t entries = 0;
  for (uint32_t i = 0; i < n; i++) entries += operands[i].count;
  struct table t = table_of(operands, n, low, low + range);
  assert_true(ss_chunk_sum(&(struct ss_operands){operands, n, low, low + range}, arena, scratch, &sum, &error));
  check_sum(&sum, &t, content, seed);
  assert_int_equal(sum.low, low);
  assert_int_equal(sum.high, low + range);
  assert_false(sum.dense);
  if (n > 0) assert_int_equal(sum.width, width);
  if (entries > 0) {
    assert_int_equal(sum.marks != NULL, (content & MARKS) != 0);
    assert_int_equal(sum.values != NULL, (content & VALUES) != 0);
  }
  table_free(&t);
}

TEST(sums_equal_the_table_of_all_rows) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  AUTO(ss_sum_scratch_free) struct ss_sum_scratch scratch = {0};
  for (uint64_t seed = 1; seed <= 600; seed++) {
    sum_once(seed, &arena, &scratch);
    ss_arena_reset(&arena);
  }
}

TEST(sums_of_nothing_are_empty) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  AUTO(ss_sum_scratch_free) struct ss_sum_scratch scratch = {0};
  struct ss_error error;
  struct ss_chunk sum, empty[2] = {{.low = 5, .high = 9, .width = 2}, {.low = 5, .high = 9, .width = 2}};
  assert_true(ss_chunk_sum(&(struct ss_operands){NULL, 0, 7, 7}, &arena, &scratch, &sum, &error));
  assert_int_equal(sum.count, 0);
  assert_int_equal(sum.low, 7);
  assert_int_equal(sum.high, 7);
  assert_true(ss_chunk_sum(&(struct ss_operands){empty, 2, 5, 9}, &arena, &scratch, &sum, &error));
  assert_int_equal(sum.count, 0);
  assert_true(ss_chunk_equal(&sum, &empty[0]));
}

/* One operand without marks, or without values: the sum has none. */
TEST(sums_have_what_every_operand_has) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  AUTO(ss_sum_scratch_free) struct ss_sum_scratch scratch = {0};
  struct ss_error error;
  struct dice d = {.seed = 11};
  const struct ss_chunk like = {.count = 20, .high = 100, .width = 2};
  struct ss_chunk sum, operands[3];
  for (uint32_t i = 0; i < 3; i++) operands[i] = random_chunk(&d, &arena, &like, false, i == 1 ? VALUES : BOTH);
  assert_true(ss_chunk_sum(&(struct ss_operands){operands, 3, 0, 100}, &arena, &scratch, &sum, &error));
  assert_null(sum.marks);
  assert_non_null(sum.values);
  for (uint32_t i = 0; i < 3; i++) operands[i] = random_chunk(&d, &arena, &like, false, i == 2 ? MARKS : BOTH);
  assert_true(ss_chunk_sum(&(struct ss_operands){operands, 3, 0, 100}, &arena, &scratch, &sum, &error));
  assert_non_null(sum.marks);
  assert_null(sum.values);
}

/* Contributions need no memory, and add up as proofs do; values are added to values alone. */
TEST(sums_are_of_one_kind) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  AUTO(ss_sum_scratch_free) struct ss_sum_scratch scratch = {0};
  struct ss_error error;
  const uint32_t rows[2][2] = {{3, 5}, {5, 8}};
  const uint64_t proofs[] = {10, 20};
  const int64_t units[] = {-7, 9};
  const struct ss_chunk of_rank = {
      .rows = rows[0], .count = 2, .high = 9, .kind = SS_CHUNK_CONTRIBUTIONS, .author = 4};
  const struct ss_chunk proven = {.rows = rows[1], .proofs = proofs, .count = 2, .high = 9, .kind = SS_CHUNK_PROOFS};
  const struct ss_chunk values = {.rows = rows[1], .units = units, .count = 2, .high = 9, .kind = SS_CHUNK_VALUES};
  for (uint32_t n = 2; n <= 3; n++) { /* two are merged, more are added up block by block */
    const struct ss_chunk empty = {.high = 9}, alike[] = {of_rank, proven, empty}, two[] = {values, values, empty};
    const struct ss_chunk mixed[] = {of_rank, values, empty};
    struct ss_chunk sum;
    assert_true(ss_chunk_sum(&(struct ss_operands){alike, n, 0, 9}, &arena, &scratch, &sum, &error));
    assert_true(sum.kind == SS_CHUNK_PROOFS && sum.count == 3);
    assert_true(sum.proofs[0] == ss_contribution(4, 3, 0) && sum.proofs[1] == ss_contribution(4, 5, 0) + 10);
    assert_true(ss_sum_values(&(struct ss_operands){two, n, 0, 9}, &arena, &scratch, &sum, &error));
    assert_true(sum.kind == SS_CHUNK_VALUES && sum.count == 2 && sum.units[0] == -14 && sum.units[1] == 18);
    assert_true(ss_chunk_sum(&(struct ss_operands){mixed, n, 0, 9}, &arena, &scratch, &sum, &error));
    assert_true(sum.kind == SS_CHUNK_BARE && sum.count == 3 && !sum.marks);
    assert_true(ss_sum_rows(&(struct ss_operands){alike, n, 0, 9}, &arena, &scratch, &sum, &error));
    assert_true(sum.kind == SS_CHUNK_BARE && sum.count == 3 && sum.rows[1] == 5 && !sum.marks);
  }
}

TEST(dense_sums_add_all) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  struct ss_chunk sum;
  const uint64_t marks[2][2] = {{1, UINT64_MAX}, {10, 2}};
  const float values[2][6] = {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}};
  struct ss_chunk a = {.proofs = marks[0],
                       .kind = SS_CHUNK_PROOFS,
                       .values = values[0],
                       .count = 2,
                       .low = 4,
                       .high = 7,
                       .width = 2,
                       .stride = 2,
                       .origin = 8,
                       .part = 3,
                       .dense = true},
                  b = a;
  b.proofs = marks[1], b.values = values[1], b.origin = 9;
  assert_true(ss_chunk_add_dense(&a, &b, &arena, &sum, &error));
  assert_true(sum.dense && sum.count == 2 && sum.low == 4 && sum.high == 7 && sum.part == 3);
  assert_true(sum.marks[0] == 11 && sum.marks[1] == 1);
  for (uint32_t i = 0; i < 6; i++) assert_true(sum.values[i] == 11.0f * (float)(i + 1));
  assert_true(marks[0][0] == 1 && values[0][0] == 1); /* operands are shared: not touched */
  b.kind = SS_CHUNK_VALUES;                           /* of another kind */
  assert_true(ss_chunk_add_dense(&a, &b, &arena, &sum, &error));
  assert_true(!sum.marks && sum.values);
  a.values = NULL;
  assert_true(ss_chunk_add_dense(&a, &b, &arena, &a, &error)); /* in place */
  assert_true(!a.marks && !a.values && a.count == 2);
}

/* --- views ----------------------------------------------------------------------------------------------- */

TEST(slices_are_the_rows_of_a_range) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct dice d = {.seed = seed};
    uint64_t low = dice_below(&d, 50), high = low + 1 + dice_below(&d, 200);
    const struct ss_chunk like = {
        .count = dice_below(&d, (uint32_t)(high - low) + 1), .low = low, .high = high, .width = 3};
    struct ss_chunk c = random_chunk(&d, &arena, &like, seed % 2, BOTH);
    uint64_t from = low + dice_below(&d, (uint32_t)(high - low) + 1);
    uint64_t to = from + dice_below(&d, (uint32_t)(high - from) + 1), first = 0, count = 0, found;
    c.origin = 3, c.part = 4;
    for (uint64_t i = 0; i < c.count; i++) first += c.rows[i] < from, count += c.rows[i] >= from && c.rows[i] < to;
    struct ss_chunk slice = ss_chunk_slice(&c, from, to), entries = ss_chunk_entries(&c, first, count);
    if (slice.count != count || ss_chunk_find(&c, from, to, &found) != count || found != first)
      fail_msg("seed %llu: a slice of %llu rows has %llu", (unsigned long long)seed, (unsigned long long)count,
               (unsigned long long)slice.count);
    assert_true(slice.rows == c.rows + first && slice.marks == c.marks + first);
    assert_true(slice.values == c.values + first * c.stride && slice.stride == c.stride && slice.width == 3);
    assert_true(slice.low == from && slice.high == to && slice.origin == 3 && slice.part == 4);
    assert_true(entries.rows == slice.rows && entries.marks == slice.marks && entries.values == slice.values);
    assert_true(entries.count == count && entries.low == low && entries.high == high);
    ss_arena_reset(&arena);
  }
}

TEST(counts_are_spread_evenly_over_slices) {
  for (uint64_t count = 0; count < 40; count++)
    for (uint64_t range = 1; range < 30; range++) {
      struct ss_chunk c = {.count = count, .low = 100, .high = 100 + range, .width = 1};
      uint64_t total = 0;
      for (uint64_t row = 0; row < range; row++) {
        uint64_t some = ss_chunk_slice(&c, 100 + row, 101 + row).count;
        assert_true(some == count / range || some == count / range + 1);
        total += some;
      }
      assert_int_equal(total, count);
      assert_int_equal(ss_chunk_slice(&c, 100, 100 + range).count, count);
    }
  struct ss_chunk nothing = {.low = 5, .high = 5};
  assert_int_equal(ss_chunk_slice(&nothing, 5, 5).count, 0);
}

TEST(columns_are_the_same_rows_elsewhere) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct dice d = {.seed = 1};
  const struct ss_chunk like = {.count = 10, .high = 50, .width = 5};
  struct ss_chunk c = random_chunk(&d, &arena, &like, false, BOTH), view = ss_chunk_columns(&c, 2, 3);
  assert_true(view.rows == c.rows && view.marks == c.marks && view.count == 10 && view.width == 3);
  for (uint64_t i = 0; i < 10; i++) assert_true(&view.values[i * view.stride] == &c.values[i * c.stride + 2]);
}

TEST(shares_are_even_and_complete) {
  for (uint64_t n = 0; n < 70; n++)
    for (uint64_t p = 1; p < 20; p++)
      for (uint64_t j = 0; j <= p; j++) assert_int_equal(ss_share(n, p, j), j * n / p);
  assert_true(ss_share(UINT64_MAX, 3, 2) == UINT64_MAX / 3 * 2); /* j*n does not fit in 64 bits */
  assert_true(ss_share(UINT64_MAX, 4, 2) == UINT64_MAX / 2);     /* rounded down there too */
}

TEST(chunks_are_equal_by_rows_and_marks) {
  const uint32_t rows[] = {1, 2, 3}, other_rows[] = {1, 2, 4};
  const uint64_t marks[] = {5, 6, 7}, other_marks[] = {5, 6, 8};
  struct ss_chunk a = {.rows = rows, .proofs = marks, .kind = SS_CHUNK_PROOFS, .count = 3, .high = 9}, b = a;
  assert_true(ss_chunk_equal(&a, &b) && ss_chunk_same(&a, &b));
  b.rows = other_rows;
  assert_false(ss_chunk_equal(&a, &b) || ss_chunk_same(&a, &b));
  b = a, b.marks = other_marks;
  assert_false(ss_chunk_equal(&a, &b) || ss_chunk_same(&a, &b));
  b.count = 2;
  assert_false(ss_chunk_equal(&a, &b));
  b = a, b.count = 2;
  assert_false(ss_chunk_equal(&a, &b) || ss_chunk_same(&a, &b));
  b = a, b.kind = SS_CHUNK_BARE;
  assert_false(ss_chunk_equal(&a, &b)); /* unproven */
  b = a, b.dense = true;
  assert_false(ss_chunk_equal(&a, &b));
  b = a, b.part = 1;
  assert_false(ss_chunk_same(&a, &b));
  b = a, b.origin = 1;
  assert_false(ss_chunk_same(&a, &b));
  a.dense = b.dense = true, a.rows = b.rows = NULL;
  assert_true(ss_chunk_equal(&a, &b));
  b.marks = other_marks;
  assert_false(ss_chunk_equal(&a, &b));
}

TEST(selections_are_intersections) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct dice d = {.seed = seed};
    uint32_t range = 1 + dice_below(&d, 300), content = dice_below(&d, 4);
    struct ss_chunk like = {.count = dice_below(&d, range + 1), .high = range, .width = 2}, got;
    struct ss_chunk from = random_chunk(&d, &arena, &like, false, content);
    like.count = dice_below(&d, range + 1);
    const struct ss_chunk wanted = random_chunk(&d, &arena, &like, false, ROWS_ONLY);
    uint64_t n = 0;
    from.origin = 5, from.part = 6;
    assert_true(ss_chunk_select(&from, &wanted, &arena, &got, &error));
    for (uint64_t i = 0; i < from.count; i++) {
      bool is_wanted = false;
      for (uint64_t j = 0; j < wanted.count; j++) is_wanted = is_wanted || wanted.rows[j] == from.rows[i];
      if (!is_wanted) continue;
      if (n >= got.count || got.rows[n] != from.rows[i]) fail_msg("seed %llu", (unsigned long long)seed);
      if (content & MARKS) assert_true(got.marks[n] == from.marks[i]);
      for (uint32_t c = 0; content & VALUES && c < 2; c++)
        assert_true(got.values[n * got.stride + c] == from.values[i * from.stride + c]);
      n++;
    }
    assert_int_equal(got.count, n);
    assert_true((got.marks != NULL) == ((content & MARKS) != 0) && (got.values != NULL) == ((content & VALUES) != 0));
    assert_true(got.low == 0 && got.high == range && got.width == 2 && got.origin == 5 && got.part == 6);
    ss_arena_reset(&arena);
  }
}

/* --- wire ------------------------------------------------------------------------------------------------ */

TEST(wire_bytes_are_the_papers) {
  struct ss_chunk c = {.count = 10, .low = 100, .high = 150, .width = 3};
  struct ss_wire wire = {.format = SS_WIRE_DENSE, .value_bytes = 4, .index_bytes = 8};
  assert_int_equal(ss_wire_bytes(&wire, &c), 50 * 3 * 4);
  wire.format = SS_WIRE_COO;
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * (3 * 4 + 8));
  wire.index_bytes = 0; /* EmbRace's Table 2 */
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * 3 * 4);
  wire.index_bytes = 4, wire.value_bytes = 2;
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * (3 * 2 + 4));
  wire.index_per_element = true;
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * (3 * 2 + 3 * 4));
  wire.format = SS_WIRE_INDICES;
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * 3 * 4);
  wire.index_per_element = false;
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * 4);
  wire.format = SS_WIRE_VALUES;
  assert_int_equal(ss_wire_bytes(&wire, &c), 10 * 3 * 2);
}

/* A chunk for the format: dense ones have a value for every row of the range. */
static struct ss_chunk chunk_for(struct dice *d, struct ss_arena *arena, enum ss_wire_format format) {
  uint64_t low = dice_one_in(d, 3) ? (UINT64_C(1) << 32) - 200 : dice_below(d, 1000), range = dice_below(d, 200);
  uint64_t count = format == SS_WIRE_DENSE ? range : dice_below(d, (uint32_t)range + 1);
  const struct ss_chunk like = {
      .count = count, .low = low, .high = low + range, .width = dice_between(d, 1, MOST_WIDTH)};
  struct ss_chunk c = random_chunk(d, arena, &like, format != SS_WIRE_DENSE && dice_one_in(d, 3), BOTH);
  c.origin = 17, c.part = 23;
  if (format == SS_WIRE_DENSE) c.dense = true, c.rows = NULL;
  return c;
}

/* What a receiver knows beforehand. */
static struct ss_chunk known_of(const struct ss_chunk *c, enum ss_wire_format format) {
  struct ss_chunk known = *c;
  known.marks = NULL;
  known.kind = SS_CHUNK_BARE;
  known.values = NULL;
  known.stride = 0;
  if (format != SS_WIRE_VALUES) known.rows = NULL;
  return known;
}

static void check_decoded(const struct ss_chunk *got, const struct ss_chunk *sent, enum ss_wire_format format) {
  assert_true(got->count == sent->count && got->low == sent->low && got->high == sent->high);
  assert_true(got->width == sent->width && got->origin == 17 && got->part == 23 && got->dense == sent->dense);
  assert_null(got->marks);
  for (uint64_t i = 0; format != SS_WIRE_DENSE && i < sent->count; i++) assert_true(got->rows[i] == sent->rows[i]);
  if (format == SS_WIRE_INDICES) {
    assert_null(got->values);
    return;
  }
  for (uint64_t i = 0; i < sent->count; i++)
    for (uint32_t c = 0; c < sent->width; c++)
      assert_true(got->values[i * got->stride + c] == sent->values[i * sent->stride + c]);
}

TEST(wire_goes_there_and_back) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error;
  for (uint64_t seed = 1; seed <= 2000; seed++) {
    struct dice d = {.seed = seed};
    struct ss_wire wire = {.format = seed % 4, .value_bytes = 4, .index_bytes = dice_one_in(&d, 2) ? 4 : 8};
    struct ss_chunk sent = chunk_for(&d, &arena, wire.format), known = known_of(&sent, wire.format), got;
    uint64_t size = ss_wire_bytes(&wire, &sent);
    assert_int_equal(ss_wire_bytes(&wire, &known), size);
    unsigned char *bytes = malloc(size + 9);
    memset(bytes, 0xa5, size + 9);
    ss_wire_encode(&wire, &sent, bytes + 1); /* nothing on the wire is aligned */
    for (uint32_t i = 0; i < 8; i++) assert_int_equal(bytes[1 + size + i], 0xa5);
    assert_int_equal(bytes[0], 0xa5);
    assert_true(ss_wire_decode(&wire, &known, (struct ss_encoded){bytes + 1, size, false}, &arena, &got, &error));
    check_decoded(&got, &sent, wire.format);
    assert_false(
        ss_wire_decode(&wire, &known, (struct ss_encoded){bytes + 1, size + 1, false}, &arena, &got, &error));
    if (size > 0)
      assert_false(
          ss_wire_decode(&wire, &known, (struct ss_encoded){bytes + 1, size - 1, false}, &arena, &got, &error));
    assert_int_equal(error.status, SS_UNPROVEN);
    free(bytes);
    ss_arena_reset(&arena);
  }
}

static bool decodes(const uint64_t *rows, uint64_t count, uint32_t index_bytes, uint64_t low, uint64_t high) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  struct ss_error error = {0};
  struct ss_wire wire = {.format = SS_WIRE_INDICES, .value_bytes = 4, .index_bytes = index_bytes};
  struct ss_chunk known = {.count = count, .low = low, .high = high, .width = 2}, got;
  unsigned char bytes[64];
  for (uint64_t i = 0; i < count; i++) memcpy(bytes + i * index_bytes, &rows[i], index_bytes);
  bool good =
      ss_wire_decode(&wire, &known, (struct ss_encoded){bytes, count * index_bytes, false}, &arena, &got, &error);
  if (!good) assert_non_null(strstr(error.text, "received row"));
  return good;
}

TEST(hostile_rows_are_refused) {
  for (uint32_t index = 4; index <= 8; index += 4) {
    assert_true(decodes((uint64_t[]){10, 11, 19}, 3, index, 10, 20));
    assert_true(decodes((uint64_t[]){10, 10, 19}, 3, index, 10, 20)); /* lookups that were not coalesced */
    assert_false(decodes((uint64_t[]){9, 11, 19}, 3, index, 10, 20));
    assert_false(decodes((uint64_t[]){10, 11, 20}, 3, index, 10, 20));
    assert_false(decodes((uint64_t[]){10, 12, 11}, 3, index, 10, 20));
    assert_false(decodes((uint64_t[]){UINT32_MAX}, 1, index, 10, 20));
  }
  assert_false(decodes((uint64_t[]){10, 11 + (UINT64_C(1) << 32)}, 2, 8, 10, 20)); /* 11 when cut to 32 bits */
  assert_false(decodes((uint64_t[]){UINT64_MAX}, 1, 8, 10, 20));
}
/* SPDX-License-Identifier: Apache-2.0 */
