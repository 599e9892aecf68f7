/* The promises of base/{error,memory,units,json,file}.h. */
#include "listed.h"

#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/identity.h"
#include "base/json.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/spool.h"
#include "base/temporary.h"
#include "base/units.h"
#include "base/work.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_same(double got, double wanted) {
  if (!(got == wanted && signbit(got) == signbit(wanted))) fail_msg("%.17g instead of %.17g", got, wanted);
}

static void assert_contains(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* --- error ----------------------------------------------------------------------------------------------- */

TEST(error_is_set_and_false_returned) {
  struct ss_error error = {0};
  assert_false(ss_fail(&error, SS_UNPROVEN, "%s is %d", "x", 3));
  assert_int_equal(error.status, SS_UNPROVEN);
  assert_string_equal(error.text, "x is 3");
  assert_false(ss_fail(NULL, SS_MACHINE, "nobody asks"));
  assert_false(ss_fail_prefix(NULL, "nobody"));
  assert_false(ss_fail_memory(&error, "counting"));
  assert_int_equal(error.status, SS_MACHINE);
  assert_string_equal(error.text, "out of memory while counting");
}

TEST(error_prefix_keeps_the_status) {
  struct ss_error error = {0};
  ss_fail(&error, SS_UNPROVEN, "not equal");
  assert_false(ss_fail_prefix(&error, "point %d", 7));
  assert_string_equal(error.text, "point 7: not equal");
  assert_int_equal(error.status, SS_UNPROVEN);
  ss_fail(&error, SS_BAD_INPUT, "<%s>", error.text); /* an argument may be the error's own text */
  assert_string_equal(error.text, "<point 7: not equal>");
}

TEST(error_shows_hostile_bytes_as_question_marks) {
  struct ss_error error = {0};
  ss_fail(&error, SS_BAD_INPUT, "a\x1b[31m\nb\x7f\xc2\x9b\xffγ€😀");
  assert_string_equal(error.text, "a?[31m?b????γ€😀");
}

TEST(error_text_is_cut_at_a_character) {
  for (size_t before = 0; before < 8; before++) {
    char text[3000] = "";
    memset(text, 'x', before);
    for (size_t i = 0; i < 900; i++) memcpy(text + before + 3 * i, "€", 3);
    text[before + 2700] = '\0';
    struct ss_error error = {0};
    ss_fail(&error, SS_BAD_INPUT, "%s", text);
    const size_t length = strlen(error.text);
    assert_in_range(length, sizeof error.text - 4, sizeof error.text - 1);
    assert_string_equal(error.text + length - 3, "...");
    assert_null(strchr(error.text, '?'));
    for (size_t i = 0; i < length; i += ss_utf8_size(error.text + i, 4))
      assert_int_not_equal(ss_utf8_size(error.text + i, 4), 0);
  }
}

/* Every code point, encoded the obvious way, is one character; surrogates and what is beyond are none. */
TEST(utf8_agrees_with_the_definition) {
  for (uint32_t c = 1; c < 0x120000; c++) {
    char text[5] = {0};
    size_t size = 1;
    if (c < 0x80) {
      text[0] = (char)c;
    } else if (c < 0x800) {
      size = 2;
      text[0] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
      size = 3;
      text[0] = (char)(0xe0 | c >> 12);
    } else {
      size = 4;
      text[0] = (char)(0xf0 | c >> 18);
    }
    for (size_t i = 1; i < size; i++) text[i] = (char)(0x80 | (c >> 6 * (size - 1 - i) & 0x3f));
    const bool good = !(c >= 0xd800 && c < 0xe000) && c < 0x110000;
    assert_int_equal(ss_utf8_size(text, 4), good ? size : 0);
    if (size > 1) assert_int_equal(ss_utf8_size(text, size - 1), 0);
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    assert_int_equal(ss_utf8_printable(text, 4), good && !control ? size : 0);
  }
  assert_int_equal(ss_utf8_size("\xc0\x80", 4), 0);
  assert_int_equal(ss_utf8_size("\xe0\x80\x80", 4), 0);
  assert_int_equal(ss_utf8_size("\xf0\x80\x80\x80", 4), 0);
  assert_int_equal(ss_utf8_size("\xe2\x82", 4), 0);
  assert_int_equal(ss_utf8_size("\x80", 4), 0);
  assert_int_equal(ss_utf8_size("", 0), 0);
}

/* --- memory ---------------------------------------------------------------------------------------------- */

TEST(products_and_sums_are_checked) {
  uint64_t out = 0;
  assert_true(ss_mul_u64(UINT32_MAX, UINT32_MAX, &out));
  assert_true(out == (uint64_t)UINT32_MAX * UINT32_MAX);
  assert_false(ss_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
  assert_true(ss_add_u64(UINT64_MAX, 0, &out));
  assert_false(ss_add_u64(UINT64_MAX, 1, &out));
}

TEST(allocations_refuse_what_overflows) {
  assert_null(ss_alloc(SIZE_MAX / 2 + 2, 2));
  assert_null(ss_alloc_zero(SIZE_MAX, SIZE_MAX));
  assert_null(ss_alloc(SIZE_MAX, 1));
  void *nothing = ss_alloc(0, 8);
  assert_non_null(nothing);
  free(nothing);
  uint64_t *zeros = ss_alloc_zero(3, sizeof *zeros);
  assert_non_null(zeros);
  assert_true(zeros[0] == 0 && zeros[2] == 0);
  zeros[1] = 42;
  assert_null(ss_realloc(zeros, SIZE_MAX / 4, 8));
  uint64_t *more = ss_realloc(zeros, 1000, sizeof *more);
  assert_non_null(more);
  assert_int_equal(more[1], 42);
  SS_AUTO_FREE uint64_t *owned = more;
  assert_int_equal(owned[0], 0);
}

/* Random requests: aligned, apart from each other, and their contents stand until the reset. */
TEST(arena_hands_out_disjoint_aligned_memory) {
  enum { PIECES = 500 };
  struct ss_arena arena = {0};
  for (uint64_t round = 0; round < 4; round++) {
    unsigned char *pieces[PIECES];
    size_t sizes[PIECES];
    for (uint64_t i = 0; i < PIECES; i++) {
      sizes[i] = (size_t)ss_below(ss_mix(round, i), i % 50 == 0 ? 1000000 : 3000);
      pieces[i] = ss_arena_alloc(&arena, sizes[i], 1);
      assert_non_null(pieces[i]);
      assert_int_equal((uintptr_t)pieces[i] % 64, 0);
      memset(pieces[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < PIECES; i++)
      for (size_t j = 0; j < sizes[i]; j++)
        if (pieces[i][j] != (i & 0xff)) fail_msg("piece %zu was overwritten", i);
    ss_arena_reset(&arena);
  }
  ss_arena_free(&arena);
  assert_null(arena.first);
  assert_non_null(ss_arena_alloc(&arena, 1, 1));
  ss_arena_free(&arena);
}

TEST(arena_repeats_itself_after_a_reset) {
  struct ss_arena arena = {0};
  const void *first[64];
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < COUNT(first); i++) {
      const void *piece = ss_arena_alloc(&arena, i * 1000 + 1, 7);
      if (round == 0) first[i] = piece;
      else assert_ptr_equal(piece, first[i]);
    }
    ss_arena_reset(&arena);
  }
  ss_arena_free(&arena);
}

/* A later, larger wish takes a kept block that is large enough instead of a new one. */
TEST(arena_reuses_kept_blocks_in_any_order) {
  struct ss_arena arena = {0};
  ss_arena_alloc(&arena, 1, 1);
  const void *large = ss_arena_alloc(&arena, 10 << 20, 1);
  ss_arena_alloc(&arena, 20 << 20, 1);
  ss_arena_reset(&arena);
  ss_arena_alloc(&arena, 60 << 10, 1);
  assert_ptr_equal(ss_arena_alloc(&arena, 8 << 20, 1), large);
  ss_arena_free(&arena);
}

TEST(arena_refuses_what_overflows) {
  struct ss_arena arena = {0};
  assert_null(ss_arena_alloc(&arena, SIZE_MAX / 2, 4));
  assert_null(ss_arena_alloc(&arena, SIZE_MAX, 1));
  assert_null(ss_arena_alloc(&arena, PTRDIFF_MAX, 1));
  const char *a = ss_arena_alloc(&arena, 0, 8), *b = ss_arena_alloc(&arena, 8, 0);
  assert_true(a != NULL && b != NULL && a != b);
  ss_arena_free(&arena);
}

/* --- units ----------------------------------------------------------------------------------------------- */

static const struct quantity {
  const char *text;
  enum ss_dimension dimension;
  double value;
} quantities[] = {
    {"25Gbps", SS_RATE, 25e9 / 8},
    {"25 Gbit/s", SS_RATE, 25e9 / 8},
    {"100 Gb/s", SS_RATE, 100e9 / 8},
    {"3.125GB/s", SS_RATE, 3.125e9},
    {"1GiB/s", SS_RATE, 0x1p30},
    {"7B/s", SS_RATE, 7},
    {"8bps", SS_RATE, 1},
    {"3.35TB/s", SS_RATE, 3.35e12},
    {"12", SS_RATE, 12},
    {"10us", SS_TIME, 1e-5},
    {"10\u00b5s", SS_TIME, 1e-5},
    {"10 \u03bcs", SS_TIME, 1e-5},
    {"1.5ms", SS_TIME, 1.5e-3},
    {"4 us", SS_TIME, 4e-6},
    {"25us", SS_TIME, 25e-6},
    {"2min", SS_TIME, 120},
    {"3h", SS_TIME, 10800},
    {"7ns", SS_TIME, 7e-9},
    {"0.25s", SS_TIME, 0.25},
    {"1e-3", SS_TIME, 1e-3},
    {"128MiB", SS_BYTES, 0x1p27},
    {"856MB", SS_BYTES, 856e6},
    {"1kB", SS_BYTES, 1000},
    {"1KB", SS_BYTES, 1000},
    {"1KiB", SS_BYTES, 1024},
    {"2TiB", SS_BYTES, 0x1p41},
    {"5 B", SS_BYTES, 5},
    {"1e3 kB", SS_BYTES, 1e6},
    {"1.13%", SS_RATIO, 0.0113},
    {"2.8%", SS_RATIO, 0.028},
    {"2.8e1 %", SS_RATIO, 0.28},
    {"-2.8E-3%", SS_RATIO, -2.8e-5},
    {"1/32", SS_RATIO, 1.0 / 32},
    {"1 / 3", SS_RATIO, 1.0 / 3},
    {"0.5", SS_RATIO, 0.5},
    {"100 %", SS_RATIO, 1},
    {"-3", SS_NUMBER, -3},
    {"+.5", SS_NUMBER, 0.5},
    {"5.", SS_NUMBER, 5},
    {"1E+2", SS_NUMBER, 100},
    {"-0", SS_NUMBER, -0.0},
    {"1e-400", SS_NUMBER, 0},
    {"-2us", SS_TIME, -2e-6},
};

TEST(quantities_are_read_exactly) {
  for (size_t i = 0; i < COUNT(quantities); i++) {
    double value = NAN;
    struct ss_error error = {0};
    if (!ss_units_parse(quantities[i].text, quantities[i].dimension, &value, &error)) fail_msg("%s", error.text);
    assert_same(value, quantities[i].value);
  }
}

/* A unit that is a power of ten moves the decimal point, and nothing else: the nearest double is the same. */
TEST(decimal_units_move_the_point) {
  static const struct {
    const char *unit;
    enum ss_dimension dimension;
    int tens;
  } units[] = {
      {"%", SS_RATIO, -2}, {"ns", SS_TIME, -9}, {"us", SS_TIME, -6}, {"ms", SS_TIME, -3}, {"TB", SS_BYTES, 12}};
  for (unsigned i = 1; i < 20000; i++) {
    char text[40], moved[40];
    double value;
    snprintf(text, sizeof text, "%u.%03u%s", i / 1000, i % 1000, units[i % COUNT(units)].unit);
    snprintf(moved, sizeof moved, "%ue%d", i, units[i % COUNT(units)].tens - 3);
    if (!ss_units_parse(text, units[i % COUNT(units)].dimension, &value, NULL)) fail_msg("%s is refused", text);
    const double due = strtod(moved, NULL);
    if (value < due || value > due) fail_msg("%s reads as %.17g", text, value);
  }
}

TEST(quantities_that_are_none_are_refused) {
  static const struct {
    const char *text;
    enum ss_dimension dimension;
  } cases[] = {
      {"", SS_NUMBER},     {" ", SS_NUMBER},     {" 1", SS_NUMBER},     {"1 ", SS_NUMBER},     {"0x10", SS_NUMBER},
      {"inf", SS_NUMBER},  {"nan", SS_NUMBER},   {"NaN", SS_RATIO},     {"infinity", SS_TIME}, {"1e999", SS_NUMBER},
      {"-", SS_NUMBER},    {".", SS_NUMBER},     {"--1", SS_NUMBER},    {"1e", SS_NUMBER},     {"1,5", SS_NUMBER},
      {"5k", SS_NUMBER},   {"10 Gb/z", SS_RATE}, {"25MBps", SS_RATE},   {"25Gbp", SS_RATE},    {"25 G", SS_RATE},
      {"mB/s", SS_RATE},   {"5 mB/s", SS_RATE},  {"10us", SS_RATE},     {"10MB", SS_RATE},     {"10kus", SS_TIME},
      {"10 m", SS_TIME},   {"us", SS_TIME},      {"1 usx", SS_TIME},    {"5MBB", SS_BYTES},    {"5M", SS_BYTES},
      {"5 b", SS_BYTES},   {"5mib", SS_BYTES},   {"1e308TB", SS_BYTES}, {"1/0", SS_RATIO},     {"0/0", SS_RATIO},
      {"1/", SS_RATIO},    {"/2", SS_RATIO},     {"1/2/3", SS_RATIO},   {"1/2%", SS_RATIO},    {"1%%", SS_RATIO},
      {"1/0x2", SS_RATIO}, {"1/2", SS_NUMBER},   {"1\n", SS_NUMBER},    {"1\tus", SS_TIME},    {"k%", SS_RATIO},
      {"1k%", SS_RATIO},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    double value = 42;
    struct ss_error error = {0};
    if (ss_units_parse(cases[i].text, cases[i].dimension, &value, &error))
      fail_msg("\"%s\" was taken for %g", cases[i].text, value);
    assert_int_equal(error.status, SS_BAD_INPUT);
    assert_contains(error.text, ss_dimension_wanted(cases[i].dimension));
    assert_same(value, 42);
  }
}

TEST(quantity_errors_say_what_would_do) {
  struct ss_error error = {0};
  double value;
  assert_false(ss_units_parse("25 Gb/z", SS_RATE, &value, &error));
  assert_string_equal(error.text, "\"25 Gb/z\" is not a rate (say \"25Gbps\" or \"3.1GB/s\")");
  char longest[5000];
  memset(longest, '7', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_false(ss_units_parse(longest, SS_TIME, &value, &error));
  assert_contains(error.text, "777...\" is not a time");
  assert_false(ss_units_parse("x", SS_TIME, &value, NULL));
  assert_false(ss_units_parse("1e-4294967292us", SS_TIME, &value, NULL)); /* nobody's exponent */
  assert_same(ss_percent(0.99951), 100);
}

TEST(people_say_units) {
  static const struct {
    const char *text;
    enum ss_dimension dimension;
    bool good;
  } cases[] = {{"100", SS_RATE, false},   {"100 bps", SS_RATE, true}, {"0", SS_RATE, true},
               {"1e-5", SS_TIME, false},  {"10us", SS_TIME, true},    {"0.0", SS_TIME, true},
               {"4096", SS_BYTES, false}, {"4096 B", SS_BYTES, true}, {"0", SS_BYTES, true},
               {"0.5", SS_RATIO, true},   {"12", SS_NUMBER, true}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct ss_error error = {0};
    double value;
    assert_int_equal(ss_units_said(cases[i].text, cases[i].dimension, &value, &error), cases[i].good);
    if (!cases[i].good) assert_contains(error.text, "has no unit: want a ");
  }
}

/* What has no room is told to be cut, between characters. */
TEST(appended_texts_are_cut_between_characters) {
  char text[12] = "1234567";
  ss_append(text, sizeof text, "%s", "89");
  assert_string_equal(text, "123456789");
  ss_append(text, sizeof text, "%s", "abc");
  assert_string_equal(text, "12345678...");
  ss_append(text, sizeof text, "%s", "d");
  assert_string_equal(text, "12345678...");
  memcpy(text, "1234567", 8);
  ss_append(text, sizeof text, "%s", "\u20ac and more");
  assert_string_equal(text, "1234567...");
}

TEST(quantities_ignore_the_locale) {
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
    return; /* not on this machine: cmocka 1.1.5 counts a skip as a failure in TAP */
  double value = 0;
  const bool parsed = ss_units_parse("1.5ms", SS_TIME, &value, NULL);
  setlocale(LC_ALL, "C");
  assert_true(parsed);
  assert_same(value, 1.5e-3);
}

TEST(counts_are_whole_and_in_range) {
  uint64_t value = 7;
  struct ss_error error = {0};
  assert_true(ss_count_parse("0", "--x", 0, 5, &value, &error));
  assert_int_equal(value, 0);
  assert_true(ss_count_parse("18446744073709551615", "--x", 0, UINT64_MAX, &value, &error));
  assert_true(value == UINT64_MAX);
  static const char *const bad[] = {
      "",   "-1", "+1", "1.0", " 1", "1 ", "1e2", "0x1", "18446744073709551616", "99999999999999999999999",
      "65", "0",  "4x"};
  for (size_t i = 0; i < COUNT(bad); i++) {
    value = 7;
    if (ss_count_parse(bad[i], "--jobs", 1, 64, &value, &error)) fail_msg("\"%s\" was taken", bad[i]);
    assert_int_equal(value, 7);
    assert_int_equal(error.status, SS_BAD_INPUT);
  }
  assert_false(ss_count_parse("", "--x", 0, 5, &value, &error));
  assert_false(ss_count_parse("4x", "--jobs", 1, 64, &value, &error));
  assert_string_equal(error.text, "--jobs: \"4x\" is not a whole number from 1 to 64");
  assert_false(ss_count_parse("0", "--ranks", 1, UINT64_MAX, &value, &error));
  assert_string_equal(error.text, "--ranks: \"0\" is not a whole number of at least 1");
}

TEST(quantities_are_shown_in_three_digits) {
  static const struct {
    enum ss_dimension dimension;
    double value;
    const char *text;
  } cases[] = {
      {SS_TIME, 0.0123, "12.3 ms"},  {SS_BYTES, 81234, "81.2 kB"},  {SS_RATE, 25e9 / 8, "25 Gbit/s"},
      {SS_TIME, 0, "0 s"},           {SS_TIME, -0.0, "0 s"},        {SS_BYTES, 0, "0 B"},
      {SS_RATE, 0, "0 bit/s"},       {SS_NUMBER, 0, "0"},           {SS_RATIO, -0.0, "0%"},
      {SS_TIME, -2.5e-6, "-2.5 us"}, {SS_BYTES, 999.4, "999 B"},    {SS_BYTES, 999.6, "1 kB"},
      {SS_BYTES, 999.6e3, "1 MB"},   {SS_TIME, 1, "1 s"},           {SS_TIME, 59, "59 s"},
      {SS_TIME, 90, "1.5 min"},      {SS_TIME, 7200, "2 h"},        {SS_TIME, 3.6e7, "10000 h"},
      {SS_RATIO, 0.0113, "1.13%"},   {SS_RATIO, 12, "1200%"},       {SS_NUMBER, 1234567, "1230000"},
      {SS_NUMBER, 0.98765, "0.988"}, {SS_TIME, NAN, "nan"},         {SS_BYTES, INFINITY, "inf"},
      {SS_RATE, -INFINITY, "-inf"},  {SS_RATE, 1.0 / 8, "1 bit/s"}, {SS_NUMBER, 1e12, "1e+12"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char buffer[40];
    assert_string_equal(ss_units_format(buffer, sizeof buffer, cases[i].dimension, cases[i].value), cases[i].text);
  }
  char little[5];
  assert_string_equal(ss_units_format(little, sizeof little, SS_TIME, 0.0123), "12.3");
}

/* What is shown reads back as the same value but for the digits left out. */
TEST(shown_quantities_read_back) {
  static const enum ss_dimension dimensions[] = {SS_NUMBER, SS_RATIO, SS_TIME, SS_BYTES, SS_RATE};
  for (uint64_t i = 0; i < 50000; i++) {
    const double value = pow(10, 24 * ss_unit(ss_mix(1, i)) - 9) * (i % 3 == 0 ? -1 : 1);
    const enum ss_dimension dimension = dimensions[i % COUNT(dimensions)];
    char buffer[40];
    double back = 0;
    struct ss_error error = {0};
    if (!ss_units_parse(ss_units_format(buffer, sizeof buffer, dimension, value), dimension, &back, &error))
      fail_msg("%s", error.text);
    if (fabs(back - value) > 0.00502 * fabs(value)) fail_msg("%.17g is shown as %s", value, buffer);
    /* three digits: between the end of the scale's units there are no exponents */
    if (dimension == SS_BYTES && fabs(value) >= 1 && fabs(value) < 1e15) assert_null(strchr(buffer, 'e'));
  }
}

/* --- json: syntax ---------------------------------------------------------------------------------------- */

static struct ss_doc *parse(const char *text) {
  struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  if (!ss_doc_parse("scenario.json", text, strlen(text), &doc, &error)) fail_msg("%s", error.text);
  return doc;
}

TEST(good_json_is_read) {
  static const char *const good[] = {"{}",
                                     "[]",
                                     " [ ] ",
                                     "1",
                                     "-0",
                                     "0.5e-3",
                                     "1E5",
                                     "\"\"",
                                     "true",
                                     "null",
                                     "[[],{}]",
                                     "\r\n\t {\"a\" : [1 , 2]}\n",
                                     "\"\\u00e9\\ud83d\\ude00 γ \\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                     "{\"\":1}",
                                     "\xef\xbb\xbf{}",
                                     "\xef\xbb\xbf\x31",
                                     "{\"a\":1,\"A\":2}",
                                     "[{\"a\":1},{\"a\":1}]",
                                     "\"\x7f\""};
  for (size_t i = 0; i < COUNT(good); i++) ss_doc_free(parse(good[i]));
}

static const struct bad_json {
  const char *text;
  int byte, line;
} bad_json[] = {
    {"", 0, 1},
    {"  ", 2, 1},
    {"{", 1, 1},
    {"[1,]", 3, 1},
    {"[1 2]", 3, 1},
    {"{\"a\"}", 4, 1},
    {"{\"a\":}", 5, 1},
    {"{\"a\":1,}", 7, 1},
    {"{a:1}", 1, 1},
    {"{} x", 3, 1},
    {"{}{}", 2, 1},
    {"01", 1, 1},
    {"+1", 0, 1},
    {"1.", 2, 1},
    {"-", 1, 1},
    {".5", 0, 1},
    {"1e", 2, 1},
    {"0x1", 1, 1},
    {"nan", 0, 1},
    {"Infinity", 0, 1},
    {"tru", 0, 1},
    {"truex", 4, 1},
    {"True", 0, 1},
    {"'a'", 0, 1},
    {"\"a", 2, 1},
    {"\"\n\"", 1, 1},
    {"\"\\x\"", 1, 1},
    {"\"\\u12\"", 1, 1},
    {"\"\\u0000\"", 1, 1},
    {"\"\\ud800\"", 1, 1},
    {"\"\\udc00\"", 1, 1},
    {"\"\\udc00\\udc00\"", 1, 1},
    {"\"\\ud800\\u0041\"", 1, 1},
    {"\"\\", 1, 1},
    {"\"\xff\"", 1, 1},
    {"\"\xc0\x80\"", 1, 1},
    {"[\n\n1e999]", 3, 3},
    {"{\n\"a\": [1,\n2,,]}", 13, 3},
    {"]", 0, 1},
    {"[}", 1, 1},
    {"{\"a\":1]", 6, 1},
    {"// c\n1", 0, 1},
    {"[1]\v", 3, 1},
    {"\xef\xbb\xbf", 3, 1},
    {"-a", 1, 1},
    {"1.e5", 2, 1},
};

TEST(bad_json_is_refused_where_it_is_bad) {
  for (size_t i = 0; i < COUNT(bad_json); i++) {
    struct ss_doc *doc = NULL;
    struct ss_error error = {0};
    if (ss_doc_parse("x.json", bad_json[i].text, strlen(bad_json[i].text), &doc, &error))
      fail_msg("\"%s\" was taken", bad_json[i].text);
    assert_null(doc);
    assert_int_equal(error.status, SS_BAD_INPUT);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "x.json: byte %d (line %d): not JSON: ", bad_json[i].byte, bad_json[i].line);
    if (strncmp(error.text, wanted, strlen(wanted)) != 0) fail_msg("\"%s\": %s", bad_json[i].text, error.text);
  }
}

/* Whatever stands where a key should. */
TEST(keys_are_in_quotes) {
  for (int c = '!'; c <= '~'; c++) {
    const char text[] = {'{', (char)c, 'a', '"', ':', '1', '}'};
    struct ss_doc *doc = NULL;
    struct ss_error error = {0};
    assert_true(ss_doc_parse("x.json", text, sizeof text, &doc, &error) == (c == '"'));
    if (c != '"' && c != '}') assert_contains(error.text, "a key in quotes");
    ss_doc_free(doc);
  }
}

TEST(nul_bytes_and_unterminated_buffers_are_handled) {
  static const struct {
    const char *text;
    size_t length;
  } bad[] = {{"{}\0", 3}, {"\0", 1}, {"\"a\0b\"", 5}, {"1\0", 2}, {"[\0]", 3}, {"\"\\\0\"", 4}};
  struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  for (size_t i = 0; i < COUNT(bad); i++) assert_false(ss_doc_parse("x", bad[i].text, bad[i].length, &doc, &error));

  /* exactly as long as the text, so that valgrind and ASan see one byte too many */
  static const char *const texts[] = {"12",  "true", "\"a\"",   "[1,2.5]", "{\"a\":null}",
                                      "tru", "\"a",  "\"\\u12", "-",       "\"\xe2\x82"};
  for (size_t i = 0; i < COUNT(texts); i++) {
    const size_t length = strlen(texts[i]);
    SS_AUTO_FREE char *exact = ss_alloc(length, 1);
    for (size_t j = 0; j < length; j++) exact[j] = texts[i][j];
    SS_AUTO_DOC struct ss_doc *parsed = NULL;
    assert_int_equal(ss_doc_parse("x", exact, length, &parsed, &error), i < 5);
  }
}

TEST(long_numbers_are_refused_not_cut) {
  char text[70];
  struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  memset(text, '1', sizeof text);
  assert_true(ss_doc_parse("x", text, 63, &doc, &error));
  ss_doc_free(doc);
  assert_false(ss_doc_parse("x", text, 64, &doc, &error));
  assert_contains(error.text, "63 characters");
}

TEST(deep_nesting_is_refused_without_recursion) {
  enum { DEEP = 100000 };
  struct ss_error error = {0};
  for (size_t kind = 0; kind < 2; kind++) {
    const char *open = kind == 0 ? "[" : "{\"a\":";
    const size_t width = strlen(open);
    SS_AUTO_FREE char *text = ss_alloc(DEEP, width);
    for (size_t i = 0; i < DEEP * width; i++) text[i] = open[i % width];
    struct ss_doc *doc = NULL;
    assert_false(ss_doc_parse("deep.json", text, DEEP * width, &doc, &error));
    assert_contains(error.text, "nested more than 1000 deep");
  }
  char text[2002];
  memset(text, '[', 1001);
  memset(text + 1001, ']', 1001);
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  assert_false(ss_doc_parse("x", text, 2002, &doc, &error));
  assert_true(ss_doc_parse("x", text + 1, 2000, &doc, &error));
}

TEST(duplicate_keys_are_refused) {
  struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  const char *text = "{\"x\": [1, {\"b\": 1, \"a\": 2, \"\\u0062\": 3}]}";
  assert_false(ss_doc_parse("s.json", text, strlen(text), &doc, &error));
  assert_string_equal(error.text, "s.json: x[1]: the key \"b\" stands here twice");
  text = "{\"a\":1,\"a\":1}";
  assert_false(ss_doc_parse("s.json", text, strlen(text), &doc, &error));
  assert_string_equal(error.text, "s.json: the key \"a\" stands here twice");
}

TEST(many_keys_take_no_quadratic_time) {
  enum { KEYS = 300000 };
  SS_AUTO_FREE char *text = ss_alloc(KEYS, 16);
  size_t used = 0;
  for (int i = 0; i < KEYS; i++) used += (size_t)sprintf(text + used, "%c\"k%d\":0", i == 0 ? '{' : ',', i);
  text[used++] = '}';
  struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  assert_true(ss_doc_parse("x", text, used, &doc, &error));
  assert_int_equal(ss_node_size(ss_doc_root(doc)), KEYS);
  ss_doc_free(doc);
}

/* --- json: places and readers ---------------------------------------------------------------------------- */

static const char example[] = "{\"name\": \"nmt\", \"cluster\": {\"bandwith\": \"25 Gb/z\", \"latency\": -1},"
                              " \"schemes\": [\"zen\", {\"name\": \"spardl\", \"teams\": 2.5}, null],"
                              " \"sweep\": {\"a.b\": [true, 9007199254740994]}, \"n\": 16, \"s\": \"12\"}";

static struct ss_node find(struct ss_doc *doc, const char *outer, size_t skip, const char *inner) {
  struct ss_node node = ss_node_get(ss_doc_root(doc), outer);
  if (ss_node_is_array(node)) {
    node = ss_node_first(node);
    while (skip-- > 0) node = ss_node_next(node);
  }
  return inner != NULL ? ss_node_get(node, inner) : node;
}

TEST(places_are_found_and_named) {
  SS_AUTO_DOC struct ss_doc *doc = parse(example);
  char path[100];
  assert_string_equal(ss_doc_name(doc), "scenario.json");
  assert_string_equal(ss_node_path(ss_doc_root(doc), path, sizeof path), "");
  assert_string_equal(ss_node_path(find(doc, "schemes", 1, "teams"), path, sizeof path), "schemes[1].teams");
  const struct ss_node sweep = find(doc, "sweep", 0, "a.b");
  assert_string_equal(ss_node_path(ss_node_first(sweep), path, sizeof path), "sweep[\"a.b\"][0]");
  assert_string_equal(ss_node_path(find(doc, "schemes", 1, "teams"), path, 8), "schemes");
  assert_string_equal(ss_node_key(find(doc, "schemes", 1, "teams")), "teams");
  assert_null(ss_node_key(find(doc, "schemes", 1, NULL)));
  assert_null(ss_node_key(ss_doc_root(doc)));

  assert_int_equal(ss_node_size(ss_doc_root(doc)), 6);
  assert_int_equal(ss_node_size(find(doc, "schemes", 0, NULL)), 0);
  assert_int_equal(ss_node_size(ss_node_get(ss_doc_root(doc), "schemes")), 3);
  assert_false(ss_node_present(ss_node_get(ss_doc_root(doc), "Name")));
  assert_false(ss_node_present(ss_node_get(find(doc, "name", 0, NULL), "x")));
  assert_false(ss_node_present(ss_node_get((struct ss_node){doc, NULL}, "x")));
  assert_false(ss_node_present(ss_node_next(ss_doc_root(doc))));
  assert_true(ss_node_is_null(find(doc, "schemes", 2, NULL)));
  assert_true(ss_node_is_flag(ss_node_first(sweep)));
  assert_true(ss_node_is_text(find(doc, "name", 0, NULL)));
  assert_true(ss_node_is_number(find(doc, "n", 0, NULL)));
  assert_true(ss_node_is_object(ss_doc_root(doc)));
  assert_false(ss_node_is_object((struct ss_node){doc, NULL}));
  assert_false(ss_node_is_array(ss_doc_root(doc)));
}

TEST(readers_take_what_is_right) {
  SS_AUTO_DOC struct ss_doc *doc =
      parse("{\"t\": \"x\", \"q\": \"25Gbps\", \"m\": 3, \"z\": 0, \"f\": false, \"c\": \"zen\", \"d\": "
            "\"18446744073709551615\", \"e\": 9007199254740992}");
  const struct ss_node root = ss_doc_root(doc);
  struct ss_error error = {0};
  const char *text = NULL;
  double value = 0;
  uint64_t count = 0;
  bool flag = true;
  size_t choice = 9;
  struct ss_node node;
  static const char *const choices[] = {"allreduce", "zen", NULL};
  static const char *const keys[] = {"t", "q", "m", "z", "f", "c", "d", "e", NULL};
  assert_true(ss_node_keys(root, keys, &error));
  assert_true(ss_node_need(root, "t", &node, &error));
  assert_true(ss_node_text(node, &text, &error));
  assert_string_equal(text, "x");
  assert_true(ss_node_quantity(ss_node_get(root, "q"), SS_RATE, &value, &error));
  assert_same(value, 25e9 / 8);
  assert_true(ss_node_positive(ss_node_get(root, "m"), SS_TIME, &value, &error));
  assert_same(value, 3);
  assert_true(ss_node_nonnegative(ss_node_get(root, "z"), SS_TIME, &value, &error));
  assert_true(ss_node_count(ss_node_get(root, "m"), 3, 3, &count, &error));
  assert_int_equal(count, 3);
  assert_true(ss_node_count(ss_node_get(root, "d"), 0, UINT64_MAX, &count, &error));
  assert_true(count == UINT64_MAX);
  assert_true(ss_node_count(ss_node_get(root, "e"), 0, UINT64_MAX, &count, &error));
  assert_true(count == UINT64_C(1) << 53);
  assert_true(ss_node_flag(ss_node_get(root, "f"), &flag, &error));
  assert_false(flag);
  assert_true(ss_node_choice(ss_node_get(root, "c"), choices, &choice, &error));
  assert_int_equal(choice, 1);
}

static void assert_refused(bool taken, const struct ss_error *error, const char *message) {
  assert_false(taken);
  assert_int_equal(error->status, SS_BAD_INPUT);
  assert_string_equal(error->text, message);
}

TEST(errors_of_keys_name_file_path_and_finding) {
  SS_AUTO_DOC struct ss_doc *doc = parse(example);
  const struct ss_node root = ss_doc_root(doc), cluster = ss_node_get(root, "cluster");
  static const char *const keys[] = {"bandwidth", "latency", NULL};
  static const char *const others[] = {"rows", "density", NULL};
  struct ss_error error = {0};
  struct ss_node node;
  assert_refused(ss_node_keys(cluster, keys, &error), &error,
                 "scenario.json: cluster.bandwith: unknown key (did you mean \"bandwidth\"?)");
  assert_refused(ss_node_keys(cluster, others, &error), &error,
                 "scenario.json: cluster.bandwith: unknown key (known: rows, density)");
  assert_refused(ss_node_keys(find(doc, "schemes", 0, NULL), keys, &error), &error,
                 "scenario.json: schemes[0]: \"zen\" is not an object");
  assert_refused(ss_node_need(cluster, "model", &node, &error), &error,
                 "scenario.json: cluster: the key \"model\" is missing");
  assert_refused(ss_node_need(root, "model", &node, &error), &error, "scenario.json: the key \"model\" is missing");
  assert_refused(ss_node_need(find(doc, "n", 0, NULL), "x", &node, &error), &error,
                 "scenario.json: n: 16 is not an object with the key \"x\"");
}

TEST(errors_of_numbers_name_file_path_and_finding) {
  SS_AUTO_DOC struct ss_doc *doc = parse(example);
  const struct ss_node cluster = ss_node_get(ss_doc_root(doc), "cluster"), latency = ss_node_get(cluster, "latency");
  struct ss_error error = {0};
  double value = 42;
  uint64_t count = 42;
  assert_refused(ss_node_quantity(ss_node_get(cluster, "bandwith"), SS_RATE, &value, &error), &error,
                 "scenario.json: cluster.bandwith: \"25 Gb/z\" is not a rate (say \"25Gbps\" or \"3.1GB/s\")");
  assert_refused(ss_node_quantity(cluster, SS_NUMBER, &value, &error), &error,
                 "scenario.json: cluster: an object is not a number (say 12 or 0.5)");
  assert_refused(ss_node_positive(latency, SS_TIME, &value, &error), &error,
                 "scenario.json: cluster.latency: -1 is not above zero");
  assert_refused(ss_node_nonnegative(latency, SS_TIME, &value, &error), &error,
                 "scenario.json: cluster.latency: -1 is below zero");
  assert_refused(ss_node_count(find(doc, "schemes", 1, "teams"), 1, 64, &count, &error), &error,
                 "scenario.json: schemes[1].teams: 2.5 is not a whole number from 1 to 64");
  assert_refused(ss_node_count(latency, 0, UINT64_MAX, &count, &error), &error,
                 "scenario.json: cluster.latency: -1 is not a whole number of at least 0");
  assert_refused(ss_node_count(find(doc, "s", 0, NULL), 13, 20, &count, &error), &error,
                 "scenario.json: s: \"12\" is not a whole number from 13 to 20");
  const struct ss_node large = ss_node_next(ss_node_first(find(doc, "sweep", 0, "a.b")));
  assert_false(ss_node_count(large, 0, UINT64_MAX, &count, &error));
  assert_contains(error.text, "beyond 2^53");
  assert_same(value, 42);
  assert_int_equal(count, 42);
}

TEST(errors_of_words_name_file_path_and_finding) {
  SS_AUTO_DOC struct ss_doc *doc = parse(example);
  const struct ss_node n = find(doc, "n", 0, NULL);
  static const char *const schemes[] = {"zen2", "spardl", NULL};
  struct ss_error error = {0};
  bool flag;
  size_t choice;
  const char *text;
  assert_refused(ss_node_flag(n, &flag, &error), &error, "scenario.json: n: 16 is not true or false");
  assert_refused(ss_node_text(find(doc, "schemes", 2, NULL), &text, &error), &error,
                 "scenario.json: schemes[2]: null is not a string");
  assert_refused(ss_node_choice(find(doc, "schemes", 0, NULL), schemes, &choice, &error), &error,
                 "scenario.json: schemes[0]: \"zen\" is not one of zen2, spardl (did you mean \"zen2\"?)");
  assert_refused(ss_node_choice(n, schemes, &choice, &error), &error,
                 "scenario.json: n: 16 is not one of zen2, spardl");
  assert_refused(ss_node_fail(ss_doc_root(doc), &error, "%d", 5), &error, "scenario.json: 5");
}

TEST(nearest_is_near) {
  static const char *const known[] = {"bandwidth", "latency", "zen", "ranks", "o", "format", NULL};
  assert_string_equal(ss_nearest("bandwith", known), "bandwidth");
  assert_string_equal(ss_nearest("fromat", known), "format"); /* a swap is one edit */
  assert_string_equal(ss_nearest("Ranks", known), "ranks");
  assert_string_equal(ss_nearest("zne", known), "zen");
  assert_string_equal(ss_nearest("latencyy", known), "latency");
  assert_string_equal(ss_nearest("band", known), "bandwidth"); /* it goes on where the word ends */
  assert_null(ss_nearest("ba", known));
  assert_null(ss_nearest("x", known));
  assert_null(ss_nearest("", known));
  assert_null(ss_nearest("density", known));
  char longest[200];
  memset(longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  const char *const long_known[] = {longest, NULL};
  assert_null(ss_nearest(longest, long_known));
  assert_null(ss_nearest("aaa", long_known));
  longest[64] = '\0';
  char other[65];
  memcpy(other, longest, sizeof other);
  other[10] = 'b';
  assert_string_equal(ss_nearest(other, long_known), longest);
}

/* --- json: editing --------------------------------------------------------------------------------------- */

static void assert_document(struct ss_doc *doc, const char *wanted) {
  char *printed = cJSON_PrintUnformatted(ss_doc_root(doc).at);
  assert_string_equal(printed, wanted);
  cJSON_free(printed);
}

TEST(fields_are_set_by_path) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  assert_true(ss_doc_empty("--set", &doc, &error));
  static const char *const edits[][2] = {
      {"cluster.bandwidth", "100Gbps"},
      {"a", "1"},
      {"schemes", "[\"zen\",{\"teams\":1},3]"},
      {"schemes.1.teams", "2"},
      {"schemes[2]", "x"},
      {"cluster.bandwidth", "\"1\""},
      {"cluster.intra.latency", "5us"},
      {"a", "null"},
      {"schemes[1].label", "SparDL, 2 teams"},
      {"sweep[\"cluster.latency\"]", "[1]"},
      {"sweep[\"cluster.latency\"][0]", "{\"b\":[]}"},
  };
  for (size_t i = 0; i < COUNT(edits); i++)
    if (!ss_doc_set(doc, edits[i][0], edits[i][1], &error)) fail_msg("%s", error.text);
  assert_document(doc, "{\"cluster\":{\"bandwidth\":\"1\",\"intra\":{\"latency\":\"5us\"}},\"a\":null,"
                       "\"schemes\":[\"zen\",{\"teams\":2,\"label\":\"SparDL, 2 teams\"},\"x\"],"
                       "\"sweep\":{\"cluster.latency\":[{\"b\":[]}]}}");
  char path[50];
  const struct ss_node replaced = ss_node_next(ss_node_next(ss_node_first(ss_node_get(ss_doc_root(doc), "schemes"))));
  assert_string_equal(ss_node_path(replaced, path, sizeof path), "schemes[2]");
}

TEST(keys_may_say_units) {
  static const struct {
    const char *key, *value;
    enum ss_dimension dimension;
    bool good;
  } cases[] = {{"forward_s", "1e-5", SS_TIME, true}, {"forward", "1e-5", SS_TIME, false},
               {"index_bytes", "4", SS_BYTES, true}, {"bytes", "4", SS_BYTES, true},
               {"index_s", "4", SS_BYTES, false},    {"bus_bytes_per_s", "4", SS_RATE, true},
               {"bus_s", "4", SS_RATE, false},       {"forward_s", "[1e-5]", SS_TIME, true},
               {"forward", "[1e-5]", SS_TIME, false}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    SS_AUTO_DOC struct ss_doc *doc = NULL;
    struct ss_error error = {0};
    double value = 0;
    assert_true(ss_doc_empty("--set", &doc, &error) && ss_doc_set(doc, cases[i].key, cases[i].value, &error));
    struct ss_node node = ss_node_first(ss_doc_root(doc));
    if (ss_node_is_array(node)) node = ss_node_first(node);
    assert_int_equal(ss_node_quantity(node, cases[i].dimension, &value, &error), cases[i].good);
    if (cases[i].good) assert_same(value, cases[i].dimension == SS_TIME ? 1e-5 : 4);
    else assert_contains(error.text, "has no unit");
  }
}

TEST(impossible_paths_change_nothing) {
  SS_AUTO_DOC struct ss_doc *doc = parse("{\"a\":{\"b\":\"x\"},\"l\":[1,2]}");
  static const char *const bad[] = {
      "",      ".",   "a.",  ".a", "a..b",  "a.b.c", "l.2",    "l.x",    "l[2]",    "l[-1]",
      "l[",    "l[]", "l[0", "[",  "l[0]x", "l.0.z", "[\"a\"", "[\"\"]", "a.b.c.d", "l.18446744073709551616",
      "a[\"b]"};
  struct ss_error error = {0};
  for (size_t i = 0; i < COUNT(bad); i++) {
    if (ss_doc_set(doc, bad[i], "1", &error)) fail_msg("path \"%s\" was taken", bad[i]);
    assert_int_equal(error.status, SS_BAD_INPUT);
    assert_contains(error.text, "scenario.json: ");
    assert_document(doc, "{\"a\":{\"b\":\"x\"},\"l\":[1,2]}");
  }
  assert_false(ss_doc_set(doc, "l.7", "1", &error));
  assert_string_equal(error.text, "scenario.json: l: \"7\" is not the index of one of the 2 members");
  assert_false(ss_doc_set(doc, "a.b.c", "1", &error));
  assert_string_equal(error.text, "scenario.json: a.b: has no field \"c\" to be set: it is neither object nor array");
  static const char *const hostile[] = {"\xff", "b\xff", "\xc3\xa9\xff", "b\xe2\x82"};
  for (size_t i = 0; i < COUNT(hostile); i++) {
    assert_false(ss_doc_set(doc, "a", hostile[i], &error));
    assert_contains(error.text, "is not UTF-8");
  }
  char deep[160] = "a";
  for (size_t i = 1; i < sizeof deep - 1; i++) deep[i] = i % 2 == 0 ? 'a' : '.';
  assert_false(ss_doc_set(doc, deep, "1", &error));
  assert_false(ss_doc_set_item(doc, "a.b.c", cJSON_CreateNumber(1), &error)); /* the item is freed all the same */
  assert_false(ss_doc_set_item(doc, "a", NULL, &error));
  assert_int_equal(error.status, SS_MACHINE);
  assert_true(ss_doc_set_item(doc, "a", cJSON_CreateNumber(1), &error));
  assert_document(doc, "{\"a\":1,\"l\":[1,2]}");
}

/* --- file ------------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/sparsync-test-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const names[] = {"out", "target", "link",  "pipe",      "empty",      "in.json",
                                      "in",  "other",  "first", "away/next", "away/target"};
  for (size_t i = 0; i < COUNT(names); i++) unlink(in_folder(names[i]));
  (void)rmdir(in_folder("away"));
  return rmdir(folder); /* fails when something was left beside */
}

static void write_text(const char *path, const char *text) {
  FILE *stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  fclose(stream);
}

static void assert_file(const char *path, const char *wanted) {
  struct ss_mapping mapping;
  struct ss_error error = {0};
  if (!ss_map_file(path, &mapping, &error)) fail_msg("%s", error.text);
  assert_int_equal(mapping.size, strlen(wanted));
  if (mapping.size > 0) assert_memory_equal(mapping.data, wanted, mapping.size);
  ss_unmap_file(&mapping);
  assert_null(mapping.data);
  ss_input_release(path); /* looking at it makes it no input */
}

static void assert_nothing_beside(void) {
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing))
    if (strstr(entry->d_name, ".part") != NULL) fail_msg("%s was left", entry->d_name);
  closedir(listing);
}

TEST(only_regular_files_are_mapped) {
  struct ss_mapping mapping = {0};
  struct ss_error error = {0};
  assert_false(ss_map_file("/nowhere/trace.safetensors", &mapping, &error));
  assert_string_equal(error.text, "/nowhere/trace.safetensors: cannot open: No such file or directory");
  assert_int_equal(error.status, SS_BAD_INPUT);
  assert_false(ss_map_file(folder, &mapping, &error));
  assert_contains(error.text, "is a directory");
  assert_false(ss_map_file("/dev/zero", &mapping, &error));
  assert_contains(error.text, "not a regular file");
  assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
  assert_false(ss_map_file(in_folder("pipe"), &mapping, &error)); /* and does not wait for a writer */
  write_text(in_folder("empty"), "");
  assert_true(ss_map_file(in_folder("empty"), &mapping, &error));
  assert_null(mapping.data);
  assert_int_equal(mapping.size, 0);
  ss_unmap_file(&mapping);
}

/* What was cut, and what is none, end in an error and not in waiting for more. */
TEST(scratch_files_are_read_or_refused) {
  struct ss_error error = {0};
  char bytes[4] = "";
  const int file = ss_scratch_open(in_folder("out"), &error);
  assert_true(file >= 0 && ss_scratch_write(file, "abcdef", 6, 0, &error));
  assert_true(ss_scratch_read(file, bytes, 4, 2, &error));
  assert_memory_equal(bytes, "cdef", 4);
  assert_false(ss_scratch_read(file, bytes, 4, 3, &error));
  assert_int_equal(error.status, SS_MACHINE);
  assert_contains(error.text, "cannot read a temporary file: ");
  assert_int_equal(close(file), 0);
  assert_false(ss_scratch_read(-1, bytes, 4, 0, &error));
  assert_contains(error.text, strerror(EBADF));
}

TEST(an_output_is_no_input) {
  struct ss_doc *doc;
  struct ss_output out;
  struct ss_error error = {0};
  struct ss_mapping mapping;
  write_text(in_folder("in"), "{}");
  assert_int_equal(symlink("in", in_folder("other")), 0);
  for (int mapped = 0; mapped < 2; mapped++) {
    if (mapped) assert_true(ss_map_file(in_folder("in"), &mapping, &error));
    else assert_true(ss_doc_read(in_folder("in"), 100, &doc, &error));
    assert_false(ss_output_open(in_folder("in"), &out, &error));
    assert_false(ss_output_open(in_folder("other"), &out, &error));
    assert_non_null(strstr(error.text, "other: was read in this run"));
    assert_int_equal(error.status, SS_BAD_INPUT);
    ss_input_release(in_folder("other"));
    assert_true(ss_output_check(in_folder("in"), &error));
    if (mapped) ss_unmap_file(&mapping);
    else ss_doc_free(doc);
  }
  assert_file(in_folder("in"), "{}");
}

/* A link to nothing yet leads to where the file appears. */
TEST(outputs_follow_links) {
  struct ss_output out;
  struct ss_error error = {0};
  char target[PATH_MAX];
  assert_int_equal(mkdir(in_folder("away"), 0777), 0);
  assert_int_equal(symlink("away/next", in_folder("first")), 0);
  assert_int_equal(symlink("target", in_folder("away/next")), 0);
  for (int again = 0; again < 2; again++) {
    assert_true(ss_output_open(in_folder("first"), &out, &error));
    fputs(again ? "second" : "once", out.stream);
    assert_true(ss_output_commit(&out, &error));
    assert_file(in_folder("away/target"), again ? "second" : "once");
  }
  assert_true(readlink(in_folder("first"), target, sizeof target) == 9);
  assert_true(readlink(in_folder("away/next"), target, sizeof target) == 6);
}

TEST(outputs_appear_whole_or_not_at_all) {
  struct ss_output out;
  struct ss_error error = {0};
  const mode_t mask = umask(027);
  assert_true(ss_output_open(in_folder("out"), &out, &error));
  fputs("first", out.stream);
  assert_int_equal(access(in_folder("out"), F_OK), -1);
  assert_true(ss_output_commit(&out, &error));
  umask(mask);
  ss_output_discard(&out);
  assert_file(in_folder("out"), "first");
  struct stat info;
  assert_int_equal(stat(in_folder("out"), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0640);

  assert_int_equal(chmod(in_folder("out"), 0604), 0);
  assert_true(ss_output_open(in_folder("out"), &out, &error));
  fputs("second", out.stream);
  fflush(out.stream);
  assert_file(in_folder("out"), "first");
  ss_output_discard(&out);
  ss_output_discard(&out);
  assert_nothing_beside();
  assert_file(in_folder("out"), "first");

  assert_true(ss_output_open(in_folder("out"), &out, &error));
  fputs("third", out.stream);
  assert_true(ss_output_commit(&out, &error));
  assert_file(in_folder("out"), "third");
  assert_int_equal(stat(in_folder("out"), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0604);
}

/* Whatever ends a process that can be heard: what it has not finished goes with it. */
TEST(signals_leave_nothing_beside) {
  static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ};
  for (size_t i = 0; i < COUNT(signals); i++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      struct ss_output out;
      struct ss_error error;
      (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0});
      (void)signal(signals[i], SIG_DFL);
      ss_temporaries_go_on_signals();
      if (ss_output_open(in_folder("out"), &out, &error)) (void)raise(signals[i]);
      _exit(1);
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
    assert_nothing_beside();
  }
}

struct writer {
  char path[200];
  int failures;
};

static void *write_often(void *context) {
  struct writer *w = context;
  for (int i = 0; i < 100; i++) {
    struct ss_output out;
    struct ss_error error;
    const bool open = ss_output_open(w->path, &out, &error);
    if (open) fputs("whole", out.stream);
    w->failures += !open || !ss_output_commit(&out, &error);
  }
  return NULL;
}

/* What one is about to rename is not what a killed process left to another. */
TEST(threads_write_the_same_file) {
  static struct writer writer[4]; /* not the frame's, which a failed assertion leaves while threads write */
  pthread_t thread[COUNT(writer)];
  for (size_t i = 0; i < COUNT(writer); i++) {
    snprintf(writer[i].path, sizeof writer->path, "%s", in_folder("out"));
    assert_int_equal(pthread_create(&thread[i], NULL, write_often, &writer[i]), 0);
  }
  for (size_t i = 0; i < COUNT(writer); i++) {
    assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(writer[i].failures, 0);
  }
  assert_file(in_folder("out"), "whole");
  assert_nothing_beside();
}

TEST(outputs_go_through_symbolic_links) {
  struct ss_output out;
  struct ss_error error = {0};
  struct stat info;
  write_text(in_folder("target"), "old");
  assert_int_equal(symlink("target", in_folder("link")), 0);
  assert_true(ss_output_open(in_folder("link"), &out, &error));
  fputs("new", out.stream);
  assert_true(ss_output_commit(&out, &error));
  assert_int_equal(lstat(in_folder("link"), &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_file(in_folder("target"), "new");
}

TEST(outputs_that_cannot_be_are_refused) {
  struct ss_output out = {0};
  struct ss_error error = {0};
  static const char *const bad[] = {"/nowhere/out", "", "/"};
  for (size_t i = 0; i < COUNT(bad); i++) {
    assert_false(ss_output_open(bad[i], &out, &error));
    assert_int_equal(error.status, i == 0 ? SS_MACHINE : SS_BAD_INPUT); /* no such folder: the system refuses */
    assert_null(out.stream);
  }
  assert_false(ss_output_open(folder, &out, &error));
  assert_contains(error.text, "is a directory");
}

/* A pipe comes first: code that renamed over what is no regular file must not get as far as /dev/full. */
TEST(devices_are_written_in_place) {
  struct ss_output out;
  struct ss_error error = {0};
  struct stat info;
  char got[10] = "";
  unlink(in_folder("pipe"));
  assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
  const int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
  assert_true(ss_output_open(in_folder("pipe"), &out, &error));
  fputs("x", out.stream);
  assert_true(ss_output_commit(&out, &error));
  assert_int_equal(stat(in_folder("pipe"), &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  assert_int_equal(read(reader, got, sizeof got), 1);
  close(reader);

  if (access("/dev/full", W_OK) != 0) return; /* not on this machine */
  assert_true(ss_output_open("/dev/full", &out, &error));
  fputs("x", out.stream);
  assert_false(ss_output_commit(&out, &error));
  assert_int_equal(error.status, SS_MACHINE);
  assert_string_equal(error.text, "/dev/full: cannot write: No space left on device");
}

/* The limit on file sizes stands for a full disk, on a file system of any kind. `behind` are bytes that still fit
 * after the write that fails, so that the last flush succeeds. */
static void write_too_much(size_t behind) {
  struct ss_output out;
  struct ss_error error = {0};
  write_text(in_folder("out"), "old");
  struct rlimit old, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 65536;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_true(ss_output_open(in_folder("out"), &out, &error));
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (size_t i = 0; i < 100000; i++) fputc('x', out.stream);
  if (behind > 0) {
    fflush(out.stream);
    setrlimit(RLIMIT_FSIZE, &old);
    for (size_t i = 0; i < behind; i++) fputc('y', out.stream);
  }
  const bool committed = ss_output_commit(&out, &error);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  assert_false(committed);
  assert_int_equal(error.status, SS_MACHINE);
  assert_contains(error.text, "/out: cannot write: ");
  assert_file(in_folder("out"), "old");
  assert_nothing_beside();
}

TEST(a_full_disk_leaves_the_old_file) {
  write_too_much(0);
  write_too_much(10);
}

TEST(standard_output_stays_open) {
  struct ss_output out;
  struct ss_error error = {0};
  assert_true(ss_output_open(NULL, &out, &error));
  assert_ptr_equal(out.stream, stdout);
  assert_true(ss_output_commit(&out, &error));
  assert_true(ss_output_open("-", &out, &error));
  ss_output_discard(&out);
  assert_int_equal(fflush(stdout), 0);
}

TEST(documents_are_read_from_files) {
  struct ss_doc *doc = NULL;
  struct ss_error error = {0};
  write_text(in_folder("in.json"), "{\"a\": [1]}");
  assert_true(ss_doc_read(in_folder("in.json"), 10, &doc, &error));
  assert_document(doc, "{\"a\":[1]}");
  assert_string_equal(ss_doc_name(doc), in_folder("in.json"));
  ss_doc_free(doc);
  assert_false(ss_doc_read(in_folder("in.json"), 9, &doc, &error));
  assert_contains(error.text, "is larger than 9 bytes");
  assert_false(ss_doc_read("/nowhere.json", 10, &doc, &error));
  assert_string_equal(error.text, "/nowhere.json: cannot open: No such file or directory");
  assert_false(ss_doc_read(folder, 10, &doc, &error));
  assert_contains(error.text, "cannot read: Is a directory");
  assert_false(ss_doc_read("/dev/zero", 100000, &doc, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
}

/* --- lists ------------------------------------------------------------------------------------------------ */

TEST(lists_grow_and_keep_their_items) {
  uint32_t *list = NULL, *single = NULL;
  uint16_t capacity = 0; /* of any integer type */
  for (uint32_t i = 0; i < 1000; i++) {
    assert_true(ss_grow(list, capacity, i + 1) && capacity > i);
    assert_true(ss_grow_by_one(single, i));
    if (!list || !single) return; /* never: the analyzer does not know that assertions end a test */
    list[i] = single[i] = 3 * i;
  }
  for (uint32_t i = 0; i < 1000; i++) assert_true(list[i] == 3 * i && single[i] == 3 * i);
  assert_true(ss_grow(list, capacity, 5000) && capacity >= 5000 && list[999] == 2997);
  size_t most = 8;
  assert_null(ss_list_grow(list, &most, SIZE_MAX / 2, sizeof *list)); /* and the list stands */
  assert_true(most == 8 && list[999] == 2997);
  free(list);
  free(single);
}

TEST(lower_bounds_are_those_of_a_plain_loop) {
  const uint32_t list[] = {2, 2, 3, 7, 11};
  for (uint64_t count = 0; count <= 5; count++)
    for (uint32_t bound = 0; bound < 13; bound++) {
      uint64_t below = 0;
      while (below < count && list[below] < bound) below++;
      assert_int_equal(ss_lower_bound(list, count, bound), below);
    }
}

static bool less(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  return *x < *y;
}

TEST(heaps_give_the_least_first) {
  uint32_t heap[200], last = 0;
  for (size_t n = 0; n < 200; n++)
    ss_heap_rise(heap, n, &(uint32_t){(uint32_t)ss_below(ss_mix(5, n), 60)}, sizeof *heap, less);
  for (size_t n = 200; n > 0; n--) {
    assert_true(heap[0] >= last);
    last = heap[0];
    const uint32_t end = heap[n - 1];
    if (n > 1) ss_heap_sink(heap, n - 1, 0, &end, sizeof end, less);
  }
}

/* Seventeen digits where fewer are another number, and no more than are needed. */
TEST(numbers_are_written_exactly) {
  static const double numbers[] = {0.1, 0.1 + 0.2, 1.0 / 3, 5e-324, 1.7976931348623157e308, 9007199254740991};
  static const char *const texts[] = {"0.1",
                                      "0.30000000000000004",
                                      "0.3333333333333333",
                                      "4.94065645841247e-324",
                                      "1.7976931348623157e+308",
                                      "9007199254740991"};
  for (size_t i = 0; i < COUNT(numbers); i++) {
    cJSON *list = cJSON_CreateDoubleArray(&numbers[i], 1);
    char *text = ss_json_exact(list, false), wanted[64];
    snprintf(wanted, sizeof wanted, "[%s]", texts[i]);
    assert_string_equal(text, wanted);
    free(text);
    cJSON_Delete(list);
  }
}

/* --- fields ---------------------------------------------------------------------------------------------- */

struct sample {
  const char *name;
  char kind[4];
  bool shared, second;
  uint32_t count, choice;
  uint64_t seed;
  double time;
};

static const char *const words[] = {"first", "second", NULL};
static const struct ss_field_spec sample_fields[] = {
    {"name", NULL, SS_IS_NAME, .required = true, SS_STORED(struct sample, name)},
    {"kind", NULL, SS_IS_TEXT, .usual = "any", SS_STORED(struct sample, kind)},
    {"shared", NULL, SS_IS_FLAG, .usual = "true", SS_STORED(struct sample, shared)},
    {"second", NULL, SS_IS_CHOICE(words), SS_STORED(struct sample, second)},
    {"count", NULL, SS_IS_COUNT(1, 9), .usual = "3", .alias = "number", SS_STORED(struct sample, count)},
    {"choice", NULL, SS_IS_CHOICE(words), .usual = "second", SS_STORED(struct sample, choice)},
    {"seed", NULL, SS_IS_SEED, .nullable = true, SS_STORED(struct sample, seed)},
    {"time", NULL, SS_IS_TIME, .usual = "5us", SS_STORED(struct sample, time)},
    SS_SPEC_NOTES,
    {.name = NULL}};
static const struct ss_object_spec sample_spec = {.title = "A sample", .field = sample_fields};

static bool read_sample(const char *text, struct ss_doc **doc, struct sample *out, struct ss_error *error) {
  *out = (struct sample){.seed = 7};
  return ss_doc_parse("s.json", text, strlen(text), doc, error) &&
         ss_object_read(&sample_spec, ss_doc_root(*doc), out, error);
}

TEST(fields_are_stored_where_the_table_says) {
  SS_AUTO_DOC struct ss_doc *doc = NULL, *other = NULL;
  struct sample s;
  assert_true(read_sample("{\"name\": \"x\", \"notes\": 1, \"seed\": null}", &doc, &s, NULL));
  assert_string_equal(s.name, "x");
  assert_string_equal(s.kind, "any");
  assert_true(s.shared && !s.second && s.count == 3 && s.choice == 1 && s.seed == 7);
  assert_same(s.time, 5e-6);
  assert_true(read_sample("{\"name\": \"y\", \"kind\": \"longer\", \"shared\": false, \"second\": \"second\", "
                          "\"number\": \"9\", \"choice\": \"first\", \"seed\": 8, \"time\": \"1ms\"}",
                          &other, &s, NULL));
  assert_string_equal(s.kind, "lon");
  assert_true(!s.shared && s.second && s.count == 9 && s.choice == 0 && s.seed == 8);
  assert_same(s.time, 1e-3);
}

static const struct ss_field_spec company_fields[] = {{"a", NULL, SS_IS_FLAG, .with = "c"},
                                                      {"b", NULL, SS_IS_FLAG, .against = "a c"},
                                                      {"c", NULL, SS_IS_COUNT(1, 9), .alias = "k"},
                                                      {"d", NULL, SS_IS_COUNT(1, 9), .with = "b", .against = "c"},
                                                      {.name = NULL}};
static const struct ss_object_spec company_spec = {.title = "Company", .field = company_fields};

/* As much of JSON Schema as company takes. */
static bool schema_takes(const cJSON *schema, const cJSON *object) {
  const cJSON *rule, *name, *way;
  if (cJSON_IsFalse(schema)) return false;
  cJSON_ArrayForEach(name, cJSON_GetObjectItem(schema, "required")) if (!cJSON_GetObjectItem(
                                                                            object, name->valuestring)) return false;
  cJSON_ArrayForEach(rule, cJSON_GetObjectItem(schema, "properties")) {
    const cJSON *member = cJSON_GetObjectItem(object, rule->string), *is = cJSON_GetObjectItem(rule, "const");
    if (member && (cJSON_IsFalse(rule) || (is && is->type != member->type))) return false;
  }
  cJSON_ArrayForEach(rule,
                     cJSON_GetObjectItem(schema, "dependentSchemas")) if (cJSON_GetObjectItem(object, rule->string) &&
                                                                          !schema_takes(rule, object)) return false;
  const cJSON *any = cJSON_GetObjectItem(schema, "anyOf");
  cJSON_ArrayForEach(way, any) if (schema_takes(way, object)) return true;
  return !any;
}

/* Flags are absent (0), false (1) or true (2), counts absent or there; c is under its other name where it is 2. */
static cJSON *company_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  cJSON *out = cJSON_CreateObject();
  if (a) cJSON_AddBoolToObject(out, "a", a == 2);
  if (b) cJSON_AddBoolToObject(out, "b", b == 2);
  if (c) cJSON_AddNumberToObject(out, c == 2 ? "k" : "c", 3);
  if (d) cJSON_AddNumberToObject(out, "d", 3);
  return out;
}

static bool company_takes(const cJSON *object) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  char *text = cJSON_PrintUnformatted(object);
  assert_true(ss_doc_parse("c.json", text, strlen(text), &doc, NULL));
  free(text);
  return ss_object_check_keys(&company_spec, ss_doc_root(doc), NULL);
}

/* Every choice of fields: reader and schema against what the table says. */
TEST(fields_stand_in_the_company_that_the_table_says) {
  SS_AUTO_JSON cJSON *schema = ss_object_schema(&company_spec);
  for (uint32_t i = 0; i < 3 * 3 * 3 * 2; i++) {
    const uint32_t a = i % 3, b = i / 3 % 3, c = i / 9 % 3, d = i / 27;
    SS_AUTO_JSON cJSON *object = company_of(a, b, c, d);
    const bool ok = !(a == 2 && !c) && !(b == 2 && (a == 2 || c)) && !(d && (b != 2 || c));
    if (company_takes(object) != ok) fail_msg("reader: %u %u %u %u", a, b, c, d);
    if (c != 2 && schema_takes(schema, object) != ok) fail_msg("schema: %u %u %u %u", a, b, c, d);
  }
}

TEST(fields_that_do_not_fit_are_named) {
  static const char *const cases[][2] = {
      {"{\"kind\": \"a\"}", "s.json: the key \"name\" is missing"},
      {"{\"name\": \"x\", \"cuont\": 1}", "s.json: cuont: unknown key (did you mean \"count\"?)"},
      {"{\"name\": \"x\", \"count\": 0}", "s.json: count: 0 is not a whole number from 1 to 9"},
      {"{\"name\": \"x\", \"count\": 1, \"number\": 2}", "s.json: number: is another name of \"count\""},
      {"{\"name\": \"x\", \"time\": -1}", "s.json: time: -1 is below zero"},
      {"{\"name\": null}", "s.json: name: null is not a string"},
      {"[]", "an array is not an object"}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    SS_AUTO_DOC struct ss_doc *doc = NULL;
    struct ss_error error;
    struct sample s;
    assert_false(read_sample(cases[i][0], &doc, &s, &error));
    assert_contains(error.text, cases[i][1]);
  }
}

TEST(an_edit_by_one_name_forgets_the_other) {
  static const struct ss_field_spec a_sample = {NULL, NULL, SS_IS_OBJECT(&sample_spec)};
  static const struct ss_field_spec forms[] = {
      {NULL, NULL, SS_IS_TEXT}, {NULL, NULL, SS_IS_OBJECT(&sample_spec)}, {.name = NULL}};
  static const struct ss_object_spec free_names = {.others = &a_sample};
  static const struct ss_field_spec fields[] = {{"list", NULL, SS_IS_LIST(&a_sample, 0, 0)},
                                                {"either", NULL, SS_IS_EITHER(forms)},
                                                {"free", NULL, SS_IS_OBJECT(&free_names)},
                                                {.name = NULL}};
  static const struct ss_object_spec spec = {.field = fields};
  static const char text[] =
      "{\"list\": [{}, {\"count\": 1, \"number\": 2}], \"either\": {\"count\": 1, \"number\": 2}, "
      "\"free\": {\"x\": {\"count\": 1, \"number\": 2}}}";
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  assert_true(ss_doc_parse("s.json", text, strlen(text), &doc, NULL));
  const struct ss_node root = ss_doc_root(doc);
  const char *const paths[] = {"list.1.number", "either.count", "free.x.count", "list",
                               "list.7.count",  "none.count",   "either.kind"};
  for (size_t i = 0; i < COUNT(paths); i++) ss_object_forget_other_name(&spec, root.at, paths[i]);
  SS_AUTO_FREE char *left = cJSON_PrintUnformatted(root.at);
  assert_string_equal(
      left, "{\"list\":[{},{\"number\":2}],\"either\":{\"count\":1},\"free\":{\"x\":{\"count\":1,\"number\":2}}}");
}

/* --- work ------------------------------------------------------------------------------------------------- */

enum { ITEMS = 500 };

struct toil {
  size_t first; /* item that fails, as do those behind it */
  bool patient;
  volatile bool begun[ITEMS + 2];
  int open;    /* workers */
  size_t told; /* of items that are finished */
  bool busy;
};

static void *open_toiler(void *context, unsigned threads) {
  struct toil *toil = context;
  assert_int_equal(threads, 4);
#pragma omp atomic
  toil->open++;
  return &toil->open;
}

static void close_toiler(void *worker) {
#pragma omp atomic
  --*(int *)worker;
}

/* The first two that fail are under way together, if there are threads for both; one of them fails later. */
static bool toil_on(void *context, void *worker, size_t item, struct ss_error *error) {
  struct toil *toil = context;
  const bool first = item == toil->first, second = item == toil->first + 1;
  toil->begun[item] = worker == &toil->open;
  for (int i = 0; (first || second) && i < 50 && !toil->begun[first ? item + 1 : item - 1]; i++) usleep(1000);
  if ((first && toil->patient) || (second && !toil->patient)) usleep(5000);
  return item < toil->first || ss_fail(error, SS_BAD_INPUT, "%zu", item);
}

static bool toiled(void *context, size_t item, struct ss_error *error) {
  struct toil *toil = context;
  (void)error;
  assert_true(toil->begun[item] && !toil->busy);
  toil->busy = true;
  toil->told++;
  toil->busy = false;
  return true;
}

/* Whatever threads do: every item once, told one at a time, and the error of the first that failed. */
TEST(work_fails_as_one_thread_would) {
  for (size_t first = 0; first <= ITEMS; first += 50) {
    static struct toil toil;
    const struct ss_work work = {.context = &toil,
                                 .count = ITEMS,
                                 .jobs = 4,
                                 .open_worker = open_toiler,
                                 .close_worker = close_toiler,
                                 .compute = toil_on,
                                 .finished = toiled};
    struct ss_error error = {.text = ""};
    toil = (struct toil){.first = first, .patient = first % 100 == 0};
    assert_int_equal(ss_work_run(&work, &error), first == ITEMS);
    assert_int_equal(toil.open, 0);
    assert_true(toil.told <= first && (first < ITEMS || toil.told == ITEMS));
    if (first < ITEMS) assert_int_equal(strtoull(error.text, NULL, 10), first);
  }
}

/* Two streams side by side, by parts of any size, in blocks of no round one; most of them go to the file. */
static void fill_spool(void) {
  enum { STREAMS = 3001, PARTS = 900 };
  SS_AUTO(ss_spool_close) struct ss_spool spool = {.file = -1};
  struct ss_spool_cursor cursor[2] = {{0}, {0}};
  struct ss_error error;
  unsigned char part[PARTS], wanted[PARTS];
  assert_true(ss_spool_open(&spool, "-", STREAMS, &error));
  for (uint64_t i = 0, at = 0, size = 0; i < 2 * PARTS; i++, at = i == PARTS ? 0 : at + size) {
    size = i < PARTS ? i : 2 * PARTS - 1 - i;
    for (uint32_t stream = 0; stream < 2; stream++) {
      for (uint64_t k = 0; k < size; k++) wanted[k] = (unsigned char)((at + k) * (at + k) >> (5 + stream));
      if (i < PARTS) assert_true(ss_spool_add(&spool, 2000 * stream, wanted, size, &error));
      else assert_true(ss_spool_read(&spool, 2000 * stream, &cursor[stream], part, size, &error));
      if (i >= PARTS) assert_memory_equal(part, wanted, size);
    }
  }
}

TEST(a_spool_gives_back_what_it_took) {
  fill_spool();
  const int input = dup(STDIN_FILENO); /* nor is the file lost that is descriptor 0 */
  (void)close(STDIN_FILENO);
  fill_spool();
  if (input >= 0) {
    (void)dup2(input, STDIN_FILENO);
    (void)close(input);
  }
}

/* --- identities ------------------------------------------------------------------------------------------- */

static struct ss_identity identity_of(const char *text) {
  cJSON *tree = cJSON_Parse(text);
  assert_non_null(tree);
  const struct ss_identity identity = ss_identity_of(tree);
  cJSON_Delete(tree);
  return identity;
}

/* Texts in a row say the same; those of other rows do not. */
TEST(an_identity_is_of_what_is_said) {
  static const char *const rows[][3] = {
      {"{\"a\": 1, \"b\": [2]}", "{\"b\":[2.0],\"a\":1}", "{\"b\": [\"2\"], \"a\": \"1\"}"},
      {"1.25e9", "\"10Gbps\"", "\"1.25GB/s\""},
      {"0", "-0.0", "\"0\""},
      {"{\"a\": 2, \"b\": [1]}"},
      {"{\"a\": 1, \"b\": 2}"},
      {"{\"a\": {\"b\": [2]}}"},
      {"[1, 2]"},
      {"[2, 1]"},
      {"[[1], 2]"},
      {"[]"},
      {"{}"},
      {"null"},
      {"\"\""},
      {"\"a\""},
      {"true"},
      {"false"}};
  for (size_t i = 0; i < COUNT(rows); i++)
    for (size_t k = 0; k < COUNT(rows); k++)
      for (size_t m = 0; m < 3 && rows[k][m]; m++)
        assert_int_equal(ss_identity_same(identity_of(rows[i][0]), identity_of(rows[k][m])), i == k);
}

int main(int argc, char **argv) {
  ss_files_of_a_command();
  return run_listed(argc, argv, make_folder, remove_folder);
}
/* SPDX-License-Identifier: Apache-2.0 */
