/* Making traces: import from text, synthesis, merging. */
#include "listed.h"

#include "base/memory.h"
#include "base/random.h"
#include "trace/make/drawn.h"
#include "trace/make/import.h"
#include "trace/make/merge_traces.h"
#include "trace/make/synth.h"
#include "trace/make/zipf.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The segment must be these ids. */
static void expect_rows(const struct ss_trace *trace, uint64_t t, uint32_t r, uint64_t count,
                        const uint32_t *wanted) {
  assert_int_equal(ss_trace_count(trace, 0, t, r), count);
  uint32_t *rows = ss_alloc(count, sizeof *rows);
  assert_non_null(rows);
  ss_trace_rows(trace, 0, t, r, rows);
  if (count) assert_memory_equal(rows, wanted, count * sizeof *rows);
  free(rows);
}
#define ROWS(...)                                                                                                    \
  sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]) {                                               \
    __VA_ARGS__                                                                                                      \
  }

/* --- import ----------------------------------------------------------------------------------------------- */

static struct ss_import import_of(enum ss_text_layout layout, uint32_t ranks, uint64_t batch, uint64_t seq) {
  return (struct ss_import){.layout = layout,
                            .ranks = ranks,
                            .batch = batch,
                            .seq = seq,
                            .tensor = "emb",
                            .row_width = 4,
                            .source = "test"};
}

static struct ss_trace *imported(const char *text, struct ss_import import) {
  struct ss_trace *trace = NULL;
  struct ss_error error = {0};
  if (!ss_trace_import("text", text, strlen(text), &import, &trace, &error)) fail_msg("%s", error.text);
  return trace;
}

/* b 4 times, a 3, c 2 and d 2 (c first), e once: b 2, a 3, c 4, d 5, e 6. */
static const char letters[] = "a b\nB c d a,\n\n  b e -- 7\nB d; c A";

TEST(test_stream) {
  struct ss_trace *trace = imported(letters, import_of(SS_STREAM, 2, 1, 3));
  assert_int_equal(ss_trace_iterations(trace), 2); /* 12 words: 6 a rank */
  assert_int_equal(ss_trace_tensor(trace, 0)->rows, 7);
  expect_rows(trace, 0, 0, ROWS(3, 2, 2));
  expect_rows(trace, 1, 0, ROWS(4, 5, 3));
  expect_rows(trace, 0, 1, ROWS(2, 6, 2));
  expect_rows(trace, 1, 1, ROWS(5, 4, 3));
  assert_int_equal(ss_trace_tokens(trace, 0, 1), 3);
  assert_int_equal(ss_trace_pad_id(trace), 0);
  ss_trace_close(trace);

  struct ss_import import = import_of(SS_STREAM, 5, 2, 1); /* shares 2, 2, 3, 2, 3 of 12 */
  import.vocab = 5;
  trace = imported(letters, import);
  assert_int_equal(ss_trace_iterations(trace), 1);
  assert_int_equal(ss_trace_tensor(trace, 0)->rows, 5);
  expect_rows(trace, 0, 0, ROWS(3, 2));
  expect_rows(trace, 0, 2, ROWS(1, 3)); /* d is unknown */
  expect_rows(trace, 0, 4, ROWS(1, 4));
  ss_trace_close(trace);
}

TEST(test_sentence) {
  struct ss_trace *trace = imported(letters, import_of(SS_SENTENCE, 2, 2, 0));
  assert_int_equal(ss_trace_iterations(trace), 1); /* 4 lines have words */
  expect_rows(trace, 0, 0, ROWS(3, 2, 0, 0, 2, 4, 5, 3));
  expect_rows(trace, 0, 1, ROWS(2, 6, 0, 0, 2, 5, 4, 3));
  assert_int_equal(ss_trace_tokens(trace, 0, 0), 6);
  ss_trace_close(trace);

  struct ss_import import = import_of(SS_SENTENCE, 1, 1, 0);
  import.iterations = 3;
  trace = imported(letters, import);
  assert_int_equal(ss_trace_iterations(trace), 3);
  expect_rows(trace, 1, 0, ROWS(2, 4, 5, 3));
  ss_trace_close(trace);
}

/* UTF-8 letters are part of words; nothing but ASCII is folded. */
TEST(test_words) {
  struct ss_trace *trace = imported("\xc3\x89t\xc3\xa9 \xc3\xa9T\xc3\xa9 don't DON T", import_of(SS_STREAM, 1, 1, 6));
  expect_rows(trace, 0, 0, ROWS(4, 5, 2, 3, 2, 3));
  ss_trace_close(trace);
}

TEST(test_short_text) {
  static const struct {
    const char *text;
    enum ss_text_layout layout;
    const char *message;
  } cases[] = {
      {"", SS_STREAM, "has 0 words; one iteration of 2 ranks takes 12"},
      {letters, SS_STREAM, "has 12 words"},
      {letters, SS_SENTENCE, "has 4 lines with words; one iteration of 2 ranks takes 6"},
      {"\n\n 7 \n", SS_SENTENCE, "has 0 lines with words"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ss_import import =
        import_of(cases[i].layout, 2, 3, cases[i].layout == SS_STREAM && *cases[i].text ? 3 : 2);
    struct ss_trace *trace;
    struct ss_error error;
    assert_false(ss_trace_import("text", cases[i].text, strlen(cases[i].text), &import, &trace, &error));
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (!strstr(error.text, cases[i].message)) fail_msg("said \"%s\", not \"%s\"", error.text, cases[i].message);
  }
}

/* Enough words that the table of known ones grows several times. */
TEST(test_many_words) {
  enum { WORDS = 50000, LENGTH = 6 };
  char *text = ss_alloc(WORDS * 2 + 1, LENGTH);
  assert_non_null(text);
  char *at = text;
  for (int round = 0; round < 2; round++)
    for (int word = 0; word < WORDS; word++) {
      for (int digit = 0, rest = word; digit < LENGTH - 1; digit++, rest /= 26) *at++ = (char)('a' + rest % 26);
      *at++ = ' ';
    }
  *at = '\0';
  struct ss_trace *trace = imported(text, import_of(SS_STREAM, 2, 1, WORDS));
  assert_int_equal(ss_trace_tensor(trace, 0)->rows, WORDS + 2);
  const uint32_t *a = ss_trace_rows_mapped(trace, 0, 0, 0), *b = ss_trace_rows_mapped(trace, 0, 0, 1);
  for (uint32_t i = 0; i < WORDS; i++) {
    assert_int_equal(a[i], i + 2);
    assert_int_equal(b[i], i + 2);
  }
  ss_trace_close(trace);
  free(text);
}

/* --- synthesis -------------------------------------------------------------------------------------------- */

/* Chi-square over the first `bins` values and the tail; fixed seeds, so the result is always the same. */
static void check_zipf(double s, uint64_t n, uint64_t bins) {
  enum { DRAWS = 200000, BINS_MOST = 101 };
  const struct ss_zipf zipf = ss_zipf_new(s, n);
  struct ss_zipf longer = zipf; /* the shortcut is one, and leads to the same place */
  longer.shortcut = -INFINITY;
  assert_true(zipf.shortcut > 0 && zipf.shortcut <= 0.5);
  double total = 0, chance[BINS_MOST] = {0}, chi = 0;
  uint64_t seen[BINS_MOST] = {0};
  for (uint64_t k = n; k >= 1; k--) total += pow((double)k, -s); /* small terms first */
  for (uint64_t k = 1; k <= n; k++) chance[k <= bins ? k - 1 : bins] += pow((double)k, -s) / total;
  for (uint64_t i = 0; i < DRAWS; i++) {
    const uint64_t k = ss_zipf_draw(&zipf, ss_mix(99, i));
    assert_true(k < n);
    if (i < 2000) assert_int_equal(k, ss_zipf_draw(&longer, ss_mix(99, i)));
    seen[k < bins ? k : bins]++;
  }
  double degrees = -1, rest_chance = 0, rest_seen = 0;
  for (uint64_t k = 0; k <= bins; k++) {
    rest_chance += chance[k];
    rest_seen += (double)seen[k];
    if (rest_chance * DRAWS < 10 && k < bins) continue; /* bins too rare for the test are joined */
    if (rest_chance * DRAWS < 1) continue;
    const double wanted = rest_chance * DRAWS;
    chi += (rest_seen - wanted) * (rest_seen - wanted) / wanted;
    degrees++;
    rest_chance = rest_seen = 0;
  }
  if (degrees < 1) return;
  const double p = gsl_cdf_chisq_Q(chi, degrees);
  if (!(p > 1e-3))
    fail_msg("s = %g, n = %lu: chi-square %g of %g degrees, p = %g", s, (unsigned long)n, chi, degrees, p);
}

TEST(test_zipf) {
  static const double exponents[] = {0, 0.3, 0.9, 0.99999999, 1, 1.00000001, 1.1, 2, 4, 20};
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    check_zipf(exponents[i], 1, 1);
    check_zipf(exponents[i], 2, 2);
    check_zipf(exponents[i], 50, 50);
    check_zipf(exponents[i], 100000, 100);
  }
}

static struct ss_trace *synthetic(const struct ss_synth *synth) {
  struct ss_trace *trace = NULL;
  struct ss_error error = {0};
  if (!ss_trace_synth(synth, &trace, &error)) fail_msg("%s", error.text);
  return trace;
}

/* Lookups depend on their place only: a wider, longer trace begins like a smaller one. */
TEST(test_synth_by_counter) {
  struct ss_synth synth;
  ss_synth_defaults(&synth);
  synth.lookups = 100;
  struct ss_trace *large = synthetic(&synth);
  synth.ranks = 3;
  synth.iterations = 2;
  synth.lookups = 50;
  struct ss_trace *small = synthetic(&synth);
  for (uint64_t t = 0; t < 2; t++)
    for (uint32_t r = 0; r < 3; r++)
      assert_memory_equal(ss_trace_rows_mapped(large, 0, t, r), ss_trace_rows_mapped(small, 0, t, r), 200);
  synth.seed = 2;
  struct ss_trace *other = synthetic(&synth);
  assert_memory_not_equal(ss_trace_rows_mapped(other, 0, 0, 0), ss_trace_rows_mapped(small, 0, 0, 0), 200);
  ss_trace_close(large);
  ss_trace_close(small);
  ss_trace_close(other);
}

/* A trace that holds nothing is read like one that holds all, and so is a view of it. */
static void read_alike(uint64_t rows) {
  struct ss_synth synth;
  struct ss_error error;
  SS_AUTO_TRACE struct ss_trace *held = NULL, *made = NULL, *wide = NULL, *wide_made = NULL;
  ss_synth_defaults(&synth);
  synth.rows = rows;
  synth.ranks = 3;
  synth.iterations = 6;
  synth.lookups = 100;
  synth.shared = 0.2;
  synth.distinct = 2;
  assert_true(ss_trace_synth(&synth, &held, &error));
  synth.held = 1;
  assert_true(ss_trace_synth(&synth, &made, &error));
  assert_null(ss_trace_rows_mapped(made, 0, 0, 0));
  assert_true(ss_trace_widen(held, 3, 9, &wide, &error));
  assert_true(ss_trace_widen(made, 3, 9, &wide_made, &error));
  for (uint64_t t = 0; t < 6; t++)
    for (uint32_t r = 0; r < 9; r++) {
      uint32_t a[100], b[100];
      const bool narrow = r < 3;
      if (!narrow && t >= ss_trace_iterations(wide)) continue;
      ss_trace_rows(narrow ? held : wide, 0, t, r, a);
      ss_trace_rows(narrow ? made : wide_made, 0, t, r, b);
      assert_memory_equal(a, b, sizeof a);
    }
}

TEST(test_synth_made_on_the_way) {
  read_alike(500);
  read_alike(50); /* so few that each has its place in a table */
}

/* A bag holds `distinct` rows, the last of a rank what is left: none is empty. */
TEST(bags_are_full_but_for_the_last) {
  static const struct {
    uint64_t lookups, distinct, bags;
  } cases[] = {{100, 2, 50}, {100, 3, 34}, {99, 3, 33}, {3, 3, 1}, {4, 3, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ss_synth synth;
    struct ss_error error;
    SS_AUTO_TRACE struct ss_trace *trace = NULL;
    ss_synth_defaults(&synth);
    synth.rows = 50;
    synth.ranks = 2;
    synth.iterations = 2;
    synth.lookups = cases[i].lookups;
    synth.distinct = cases[i].distinct;
    if (!ss_trace_synth(&synth, &trace, &error)) fail_msg("%s", error.text);
    for (uint32_t r = 0; r < 2; r++) assert_int_equal(ss_trace_bags(trace, 0, 1, r), cases[i].bags);
  }
}

/* Shuffling is a permutation, on ranges just above and below powers of two and of four: uniform draws reach every
 * row, and counts of rows equal those by popularity. */
TEST(test_shuffle) {
  static const uint64_t sizes[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 129};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct ss_synth synth;
    ss_synth_defaults(&synth);
    synth.rows = sizes[i];
    synth.ranks = 1;
    synth.iterations = 1;
    synth.lookups = 4000;
    struct ss_trace *shuffled = synthetic(&synth);
    synth.ids = SS_IDS_POPULARITY;
    struct ss_trace *plain = synthetic(&synth);
    const uint32_t *a = ss_trace_rows_mapped(shuffled, 0, 0, 0), *b = ss_trace_rows_mapped(plain, 0, 0, 0);
    int64_t to[129], from[129];
    memset(to, -1, sizeof to);
    memset(from, -1, sizeof from);
    for (uint64_t draw = 0; draw < synth.lookups; draw++) {
      if (to[b[draw]] < 0) to[b[draw]] = a[draw];
      if (from[a[draw]] < 0) from[a[draw]] = b[draw];
      assert_int_equal(to[b[draw]], a[draw]);
      assert_int_equal(from[a[draw]], b[draw]);
    }
    ss_trace_close(shuffled);
    ss_trace_close(plain);
  }
}

/* Scattering changes the places of the share of the rows that it says, among themselves; the others stay. */
TEST(test_scatter) {
  struct ss_synth synth;
  ss_synth_defaults(&synth);
  synth.rows = 1000;
  synth.zipf = 0;
  synth.ranks = 1;
  synth.iterations = 1;
  synth.lookups = 20000;
  synth.ids = SS_IDS_POPULARITY;
  struct ss_trace *plain = synthetic(&synth);
  synth.scatter = 0.3;
  struct ss_trace *trace = synthetic(&synth);
  const uint32_t *a = ss_trace_rows_mapped(trace, 0, 0, 0), *b = ss_trace_rows_mapped(plain, 0, 0, 0);
  uint32_t from[1000];
  uint64_t moved = 0;
  memset(from, 0xff, sizeof from);
  for (uint64_t i = 0; i < synth.lookups; i++) {
    if (from[a[i]] == UINT32_MAX) {
      from[a[i]] = b[i];
      moved += a[i] != b[i];
    }
    assert_int_equal(from[a[i]], b[i]);
  }
  assert_true(moved > 300 - 72 && moved < 300 + 72); /* five sigma */
  assert_non_null(strstr(ss_trace_source(trace), "by popularity but for 0.29999999999999999 of the rows"));
  ss_trace_close(trace);
  ss_trace_close(plain);
}

/* A shared draw is the same on all ranks of an iteration, and another in the next; a hot set has a law of its own. */
TEST(test_shared_and_hot_law) {
  struct ss_synth synth;
  ss_synth_defaults(&synth);
  synth.zipf = 0;
  synth.hot = 0.5;
  synth.hot_rows = 20;
  synth.hot_zipf = 20; /* nearly all of its lookups are of its first row */
  synth.shared = 0.4;
  synth.iterations = 2;
  synth.ranks = 3;
  synth.ids = SS_IDS_POPULARITY;
  struct ss_trace *trace = synthetic(&synth);
  uint64_t same = 0, again = 0, first = 0;
  for (uint64_t i = 0; i < synth.lookups; i++) {
    const uint32_t row = ss_trace_rows_mapped(trace, 0, 0, 0)[i];
    first += row == 0;
    if (row == 0) continue;
    const bool shared = ss_trace_rows_mapped(trace, 0, 0, 1)[i] == row;
    assert_int_equal(ss_trace_rows_mapped(trace, 0, 0, 2)[i] == row, shared);
    same += shared;
    again += ss_trace_rows_mapped(trace, 0, 1, 0)[i] == row;
  }
  assert_true(first > 2048 - 160 && first < 2048 + 160); /* five sigma, as all here */
  assert_true(same > 819 - 130 && same < 819 + 130);
  assert_true(again < 10);
  ss_trace_close(trace);
}

/* The id of the most popular row depends on the seed. */
TEST(test_seeds_shuffle_otherwise) {
  uint32_t first[8], different = 0;
  for (uint64_t seed = 0; seed < 8; seed++) {
    struct ss_synth synth;
    ss_synth_defaults(&synth);
    synth.zipf = 20; /* nearly all lookups are of one row */
    synth.rows = 1000;
    synth.ranks = 1;
    synth.iterations = 1;
    synth.lookups = 1;
    synth.seed = seed + 1;
    struct ss_trace *trace = synthetic(&synth);
    first[seed] = ss_trace_rows_mapped(trace, 0, 0, 0)[0];
    different += first[seed] != first[0];
    ss_trace_close(trace);
  }
  assert_true(different >= 6);
}

TEST(test_hot_set) {
  struct ss_synth synth;
  ss_synth_defaults(&synth);
  synth.hot = 1; /* every lookup, and every row of the set is drawn */
  synth.hot_rows = 3;
  synth.ids = SS_IDS_POPULARITY;
  struct ss_trace *all_hot = synthetic(&synth);
  uint64_t drawn[3] = {0};
  for (uint64_t i = 0; i < synth.lookups; i++) {
    const uint32_t row = ss_trace_rows_mapped(all_hot, 0, 0, 0)[i];
    assert_true(row < 3);
    drawn[row]++;
  }
  for (int row = 0; row < 3; row++) assert_true(drawn[row] > synth.lookups / 6);
  ss_trace_close(all_hot);
  ss_synth_defaults(&synth);
  synth.zipf = 0;
  synth.rows = 1000000;
  synth.hot = 0.25;
  synth.hot_rows = 10;
  synth.ids = SS_IDS_POPULARITY;
  synth.ranks = 4;
  synth.iterations = 1;
  synth.lookups = 10000;
  struct ss_trace *trace = synthetic(&synth);
  uint64_t hot = 0;
  for (uint32_t r = 0; r < 4; r++)
    for (uint64_t i = 0; i < synth.lookups; i++) hot += ss_trace_rows_mapped(trace, 0, 0, r)[i] < 10;
  assert_true(hot > 10000 - 450 && hot < 10000 + 450); /* five sigma */
  assert_non_null(strstr(ss_trace_source(trace), "by popularity"));
  assert_non_null(strstr(ss_trace_source(trace), "0.25 of the lookups in a common hot set of 10 rows"));
  ss_trace_close(trace);
}

static void expect_no_synth(const struct ss_synth *synth, const char *field) {
  struct ss_trace *trace;
  struct ss_error error;
  assert_false(ss_trace_synth(synth, &trace, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  assert_memory_equal(error.text, field, strlen(field));
}

TEST(test_bad_synth) {
  struct ss_synth synth;
#define REFUSED(field, value)                                                                                        \
  ss_synth_defaults(&synth);                                                                                         \
  synth.field = value;                                                                                               \
  expect_no_synth(&synth, #field)
  REFUSED(zipf, -0.1);
  REFUSED(zipf, NAN);
  REFUSED(zipf, 21);
  REFUSED(hot, 1.5);
  REFUSED(hot_zipf, 1);
  REFUSED(hot_zipf, 21);
  REFUSED(shared, 1.1);
  REFUSED(scatter, -0.1);
  REFUSED(scatter, 0.1);
  REFUSED(rows, 0);
  REFUSED(rows, UINT64_C(1) << 32);
  REFUSED(ranks, 0);
  REFUSED(iterations, 0);
  REFUSED(lookups, 0);
  REFUSED(lookups, UINT64_C(1) << 62);
  ss_synth_defaults(&synth);
  REFUSED(distinct, 0);
  REFUSED(distinct, 257);
  ss_synth_defaults(&synth);
  synth.rows = 3;
  synth.distinct = 4;
  expect_no_synth(&synth, "distinct");
  ss_synth_defaults(&synth);
  synth.hot = 0.5;
  expect_no_synth(&synth, "hot_rows");
}

/* The experts of a token differ, however steep their popularity; and whoever asks for one gets what there always was.
 */
TEST(neighbours_differ_where_asked) {
  static const double exponents[] = {0, 1, 20};
  struct ss_error error;
  for (uint32_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    struct ss_synth synth;
    struct ss_trace *trace;
    uint32_t rows[25];
    ss_synth_defaults(&synth);
    synth.rows = 6;
    synth.ranks = 3;
    synth.iterations = 2;
    synth.lookups = sizeof rows / sizeof *rows;
    synth.zipf = exponents[i];
    synth.distinct = 4;
    assert_true(ss_trace_synth(&synth, &trace, &error));
    for (uint32_t s = 0; s < 6; s++) {
      ss_trace_rows(trace, 0, s / 3, s % 3, rows);
      for (uint32_t k = 0; k < synth.lookups; k++)
        for (uint32_t before = k / 4 * 4; before < k; before++) assert_int_not_equal(rows[before], rows[k]);
    }
    ss_trace_close(trace);
  }
}

/* --- what was drawn already ------------------------------------------------------------------------------- */

/* The same with what was drawn before as without; returns how many lookups were not drawn. */
static uint64_t drawn_as_without(struct ss_synth synth, struct ss_drawn *drawn) {
  const uint64_t before = ss_drawn_spared(drawn);
  struct ss_trace *without = synthetic(&synth);
  synth.drawn = drawn;
  struct ss_trace *with = synthetic(&synth);
  for (uint64_t t = 0; t < synth.iterations; t++)
    for (uint32_t r = 0; r < synth.ranks; r++)
      assert_memory_equal(ss_trace_rows_mapped(with, 0, t, r), ss_trace_rows_mapped(without, 0, t, r),
                          synth.lookups * sizeof(uint32_t));
  ss_trace_close(with);
  ss_trace_close(without);
  return ss_drawn_spared(drawn) - before;
}

static struct ss_synth small_synth(void) {
  struct ss_synth synth;
  ss_synth_defaults(&synth);
  synth.rows = 1000;
  synth.iterations = 2;
  synth.ranks = 3;
  synth.lookups = 60;
  synth.hot = 0.5;
  synth.hot_rows = 20;
  return synth;
}

/* Whatever is asked for, in whatever order: shorter, longer, wider; each lookup is drawn once. */
TEST(what_was_drawn_is_not_drawn_again) {
  struct ss_drawn *drawn = ss_drawn_new(1 << 20);
  struct ss_synth synth = small_synth();
  assert_int_equal(drawn_as_without(synth, drawn), 0);
  assert_int_equal(drawn_as_without(synth, drawn), 2 * 3 * 60);
  synth.lookups = 25;
  assert_int_equal(drawn_as_without(synth, drawn), 2 * 3 * 25);
  synth.lookups = 100;
  assert_int_equal(drawn_as_without(synth, drawn), 2 * 3 * 60);
  synth.ranks = 5;
  assert_int_equal(drawn_as_without(synth, drawn), 2 * 3 * 100);
  synth.iterations = 4;
  synth.lookups = 10;
  assert_int_equal(drawn_as_without(synth, drawn), 2 * 5 * 10);
  ss_drawn_free(drawn);
}

/* Every field on which a lookup depends makes another law; the others do not. */
TEST(laws_are_told_apart) {
  const struct ss_synth first = small_synth();
  struct ss_synth other[] = {first, first, first, first, first, first, first}, alike = first;
  struct ss_drawn *drawn = ss_drawn_new(1 << 20);
  assert_int_equal(drawn_as_without(first, drawn), 0);
  other[0].rows++;
  other[1].zipf = 1.5;
  other[2].hot = 0.25;
  other[3].hot_rows++;
  other[4].ids = SS_IDS_POPULARITY;
  other[5].seed++;
  other[6].distinct = 2;
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) assert_int_equal(drawn_as_without(other[i], drawn), 0);
  alike.tensor = "other";
  alike.row_width = 1;
  alike.dtype = SS_F16;
  assert_int_equal(drawn_as_without(alike, drawn), 2 * 3 * 60);
  ss_drawn_free(drawn);
}

/* Four laws of the largest size that one may have, and no fifth; nor a larger one. */
TEST(what_is_kept_is_bounded) {
  enum { BYTES = 2 * 3 * 60 * 4 };
  struct ss_drawn *drawn = ss_drawn_new(4 * BYTES);
  struct ss_synth synth = small_synth();
  synth.lookups++;
  for (int i = 0; i < 2; i++) assert_int_equal(drawn_as_without(synth, drawn), 0);
  synth.lookups--;
  for (synth.seed = 1; synth.seed <= 5; synth.seed++) assert_int_equal(drawn_as_without(synth, drawn), 0);
  for (synth.seed = 1; synth.seed <= 5; synth.seed++)
    assert_int_equal(drawn_as_without(synth, drawn), synth.seed <= 4 ? 2 * 3 * 60 : 0);
  ss_drawn_free(drawn);
}

/* --- merging ---------------------------------------------------------------------------------------------- */

/* A part of `ranks` ranks and 2 iterations: rank r of iteration t looks up base + t*ranks + r, that many times. */
static struct ss_trace_content part_of(uint32_t ranks, uint32_t base, uint64_t *offsets, uint32_t *rows,
                                       uint64_t *tokens, float *values) {
  static const struct ss_tensor tensor = {"T", 1000, 2, SS_F32};
  uint64_t n = 0;
  for (uint32_t s = 0; s < 2 * ranks; s++) {
    offsets[s] = n;
    tokens[s] = base + s;
    for (uint32_t i = 0; i < base + s; i++, n++) {
      rows[n] = base + s;
      values[2 * n] = (float)rows[n];
      values[2 * n + 1] = (float)i;
    }
  }
  offsets[(size_t)2 * ranks] = n;
  return (struct ss_trace_content){.source = "part",
                                   .iterations = 2,
                                   .ranks = ranks,
                                   .tensors = 1,
                                   .tensor = &tensor,
                                   .tokens = tokens,
                                   .pad_id = 0};
}

struct parts {
  uint64_t offsets[2][7], tokens[2][6];
  uint32_t rows[2][100];
  float values[2][200];
  struct ss_trace_content content[2];
};

/* Parts of 3 ranks and of 1. */
static void parts_init(struct parts *parts) {
  for (int i = 0; i < 2; i++)
    parts->content[i] = part_of(i == 0 ? 3 : 1, i == 0 ? 0 : 20, parts->offsets[i], parts->rows[i], parts->tokens[i],
                                parts->values[i]);
}

static struct ss_trace *merged(struct parts *parts, const char *source, struct ss_error *error) {
  struct ss_trace *trace[2], *out = NULL;
  for (int i = 0; i < 2; i++) {
    struct ss_trace_content content = parts->content[i];
    const struct ss_values values = {parts->values[i], SS_F32};
    content.offsets = (const uint64_t *const[]){parts->offsets[i]};
    content.rows = (const uint32_t *const[]){parts->rows[i]};
    content.values = &values;
    if (!ss_trace_build(i ? "second" : "first", &content, &trace[i], error)) fail_msg("%s", error->text);
  }
  if (!ss_trace_merge((const struct ss_trace *const *)trace, 2, &(struct ss_merge_options){.source = source}, &out,
                      error))
    out = NULL;
  for (int i = 0; i < 2; i++) ss_trace_close(trace[i]);
  return out;
}

TEST(test_merge) {
  struct parts parts;
  struct ss_error error;
  parts_init(&parts);
  struct ss_trace *trace = merged(&parts, NULL, &error);
  assert_non_null(trace);
  assert_int_equal(ss_trace_ranks(trace), 4);
  assert_int_equal(ss_trace_iterations(trace), 2);
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t r = 0; r < 4; r++) {
      const uint32_t row = r < 3 ? t * 3 + r : 20 + t;
      enum ss_dtype dtype;
      assert_int_equal(ss_trace_count(trace, 0, t, r), row);
      assert_int_equal(ss_trace_tokens(trace, t, r), row);
      const float *values = ss_trace_values(trace, 0, t, r, &dtype);
      for (size_t i = 0; i < row; i++) {
        assert_int_equal(ss_trace_rows_mapped(trace, 0, t, r)[i], row);
        assert_true(values[2 * i] == (float)row && values[2 * i + 1] == (float)i);
      }
    }
  ss_trace_close(trace);
}

TEST(test_merge_disagreement) {
  struct parts parts;
  struct ss_error error;
  struct ss_tensor tensor = {"T", 999, 2, SS_F32};
#define DIFFERS(change, message)                                                                                     \
  parts_init(&parts);                                                                                                \
  change;                                                                                                            \
  assert_null(merged(&parts, NULL, &error));                                                                         \
  assert_int_equal(error.status, SS_BAD_INPUT);                                                                      \
  if (!strstr(error.text, message)) fail_msg("said \"%s\", not \"%s\"", error.text, message)
  DIFFERS(parts.content[1].iterations = 1, "iterations is 1; in first it is 2");
  DIFFERS(parts.content[1].pad_id = -1, "pad_id");
  DIFFERS(parts.content[1].tokens = NULL, "tokens");
  DIFFERS(parts.content[1].gpus_per_node = 8, "gpus_per_node");
  DIFFERS(parts.content[1].source = "else", "source");
  DIFFERS(parts.content[1].tensor = &tensor, "tensor 0.rows is 999; in first it is 1000");
  tensor.name = "U";
  DIFFERS(parts.content[1].tensor = &tensor, "tensor 0.name is \"U\"");
  static const struct ss_dense dense = {"w", 8};
  DIFFERS((parts.content[1].dense = &dense, parts.content[1].dense_count = 1), "dense");

  parts_init(&parts);
  parts.content[1].source = "else";
  struct ss_trace *trace = merged(&parts, "both", &error);
  assert_non_null(trace);
  assert_string_equal(ss_trace_source(trace), "both");
  ss_trace_close(trace);
}
/* SPDX-License-Identifier: Apache-2.0 */
