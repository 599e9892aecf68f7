/* The promises of report/table.h and base/options.h. */
#include "listed.h"

#include "base/memory.h"
#include "base/options.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- table ----------------------------------------------------------------------------------------------- */

static void assert_shown(const struct ss_table *table, bool csv, const char *wanted) {
  SS_AUTO_FREE char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  struct ss_error error = {0};
  const bool shown = csv ? ss_table_csv(table, stream, &error) : ss_table_print(table, stream, &error);
  fclose(stream);
  assert_true(shown);
  assert_string_equal(text, wanted);
}

TEST(columns_are_aligned_under_a_rule) {
  const char *const heads[] = {"<scheme", "time", "<note"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  assert_non_null(table);
  ss_table_cell(table, "%s", "zen");
  ss_table_cell(table, "%.1f ms", 12.3);
  ss_table_cell(table, "lossless");
  ss_table_cell(table, "allgather");
  ss_table_cell(table, "%d", 7);
  ss_table_cell(table, "%s", "");
  ss_table_cell(table, "x");
  assert_shown(table, false,
               "scheme        time  note\n"
               "---------  -------  --------\n"
               "zen        12.3 ms  lossless\n"
               "allgather        7\n"
               "x\n");
  assert_shown(table, true, "scheme,time,note\nzen,12.3 ms,lossless\nallgather,7,\nx,,\n");
  ss_table_free(table);
}

TEST(characters_count_not_bytes) {
  const char *const heads[] = {"γ", "β"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  ss_table_cell(table, "µs€");
  ss_table_cell(table, "1");
  ss_table_cell(table, "x");
  ss_table_cell(table, "22");
  assert_shown(table, false,
               "  γ   β\n"
               "---  --\n"
               "µs€   1\n"
               "  x  22\n");
  ss_table_free(table);
}

TEST(cells_cannot_steer_the_terminal) {
  const char *const heads[] = {"<a", "<b"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  ss_table_cell(table, "%s", "\x1b[2J\n\xff");
  ss_table_cell(table, "b");
  assert_shown(table, false, "a       b\n------  -\n?[2J??  b\n");
  ss_table_free(table);
}

TEST(csv_quotes_where_needed) {
  const char *const heads[] = {"<a,b", "c\"d"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  ss_table_cell(table, "SparDL, 2 teams");
  ss_table_cell(table, "line\nbreak");
  ss_table_cell(table, "plain text");
  ss_table_cell(table, "\"");
  ss_table_cell(table, "carriage\rreturn"); /* ends a line, to some who read CSV */
  ss_table_cell(table, "x");
  assert_shown(
      table, true,
      "\"a,b\",\"c\"\"d\"\n\"SparDL, 2 teams\",\"line\nbreak\"\nplain text,\"\"\"\"\n\"carriage\rreturn\",x\n");
  ss_table_free(table);
}

TEST(tables_grow) {
  const char *const heads[] = {"i", "square"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  for (int i = 0; i < 5000; i++) {
    ss_table_cell(table, "%d", i);
    ss_table_cell(table, "%d", i * i);
  }
  SS_AUTO_FREE char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  struct ss_error error = {0};
  assert_true(ss_table_csv(table, stream, &error));
  fclose(stream);
  int line = -1;
  for (char *at = text; at < text + size; at = strchr(at, '\n') + 1, line++) {
    if (line < 0) continue;
    char *end = NULL;
    assert_int_equal(strtol(at, &end, 10), line);
    assert_int_equal(*end, ',');
    assert_int_equal(strtol(end + 1, &end, 10), line * line);
    assert_int_equal(*end, '\n');
  }
  assert_int_equal(line, 5000);
  ss_table_free(table);
}

TEST(empty_tables_have_a_head) {
  const char *const heads[] = {"<a", "bb"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  assert_shown(table, false, "a  bb\n-  --\n");
  assert_shown(table, true, "a,bb\n");
  ss_table_free(table);
}

TEST(failures_to_show_are_told) {
  struct ss_error error = {0};
  ss_table_cell(NULL, "nothing happens");
  assert_false(ss_table_print(NULL, stdout, &error));
  assert_int_equal(error.status, SS_MACHINE);
  assert_false(ss_table_csv(NULL, stdout, &error));
  ss_table_free(NULL);

  FILE *full = fopen("/dev/full", "w");
  if (full == NULL) return; /* not on this machine: cmocka 1.1.5 counts a skip as a failure in TAP */
  setvbuf(full, NULL, _IONBF, 0);
  const char *const heads[] = {"a"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  assert_false(ss_table_print(table, full, &error));
  assert_int_equal(error.status, SS_MACHINE);
  assert_string_equal(error.text, "cannot write a table: No space left on device");
  assert_false(ss_table_csv(table, full, &error));
  ss_table_free(table);
  fclose(full);
}

/* --- options --------------------------------------------------------------------------------------------- */

/* Every kind of option, and a record of what came in which order. */
struct arguments {
  const char *bandwidth, **ranks, **operand;
  size_t ranks_count, operands;
  bool quiet;
  uint64_t seed;
  uint32_t jobs;
  double share, time;
  unsigned format;
  char seen[200];
};

static bool record(void *arguments, const char *value, struct ss_error *error) {
  struct arguments *a = arguments;
  sprintf(a->seen + strlen(a->seen), "(%s);", value);
  return strcmp(value, "stop") != 0 || ss_fail(error, SS_UNPROVEN, "stopped");
}

static const char *const formats[] = {"table", "json", "csv", NULL};
static const struct ss_option_spec specs[] = {
    {"", SS_TEXTS(struct arguments, operand, operands)},
    {"--bandwidth", SS_TEXT(struct arguments, bandwidth), .value = "RATE", .help = "of the cluster"},
    {"--ranks", SS_TEXTS(struct arguments, ranks, ranks_count), .value = "LIST", .help = "of ranks"},
    {"--quiet", SS_FLAG(struct arguments, quiet), .help = "no progress bar"},
    {"", SS_HEADING, .help = "of numbers:"},
    {"--seed", SS_COUNT(struct arguments, seed, 0, 0x1p53), .value = "N", .help = "of what is drawn"},
    {"--jobs", SS_COUNT32(struct arguments, jobs, 1, 1024), .value = "N", .help = "threads"},
    {"--share", SS_QUANTITY(struct arguments, share, SS_RATIO, SS_ABOVE_ZERO, 1)},
    {"--time", SS_QUANTITY(struct arguments, time, SS_TIME, 1, INFINITY)},
    {"--zipf", SS_QUANTITY(struct arguments, time, SS_NUMBER, 0, 20)},
    {"--format", SS_CHOICE(struct arguments, format, formats),
     .help = "how to write what has been found, in a text that is so long that a line of a terminal, which should be "
             "thought of as having some 118 columns, does not hold it"},
    {"-o", SS_OTHER(record), .value = "FILE", .help = "where to write"},
    {"--old", SS_REFUSED, .help = "say --share instead"},
    {.name = NULL}};

#define LONGEST_ARGUMENTS 12

/* Parses "sparsync ARGUMENTS", cut at spaces ("~" stands for an empty one); `copy` is what the texts point into. */
static bool parse(const char *arguments, char copy[200], struct arguments *out, struct ss_error *error) {
  char *argv[LONGEST_ARGUMENTS + 2] = {(char[]){"sparsync"}};
  int argc = 1;
  char *rest = copy;
  snprintf(copy, 200, "%s", arguments);
  for (char *word = strsep(&rest, " "); word != NULL && *word != '\0'; word = strsep(&rest, " ")) {
    assert_true(argc <= LONGEST_ARGUMENTS);
    argv[argc++] = strcmp(word, "~") == 0 ? word + 1 : word;
  }
  *out = (struct arguments){0};
  return ss_options_parse(specs, argc, argv, out, error);
}

static void join(const char *name, const char *const *texts, size_t count, char *out) {
  for (size_t i = 0; i < count; i++) sprintf(out + strlen(out), "%s=%s;", name, texts[i]);
}

TEST(texts_and_flags_are_stored) {
  static const char *const cases[][2] = {
      {"", ""},
      {"a --quiet b", "operand=a;operand=b;quiet;"},
      {"--ranks 4,8 --ranks=16", "ranks=4,8;ranks=16;"},
      {"--bandwidth=a=b", "bandwidth=a=b;"},
      {"-o - -", "operand=-;(-);"},
      {"--o=x", "(x);"},
      {"-o y", "(y);"},
      {"--ranks=", "ranks=;"},
      {"--ranks -5", "ranks=-5;"},
      {"--ranks=--quiet", "ranks=--quiet;"},
      {"--quiet -- --ranks -v --", "operand=--ranks;operand=-v;operand=--;quiet;"},
      {"~ x", "operand=;operand=x;"},
      {"--ranks ~", "ranks=;"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char copy[200], seen[1000] = "";
    struct arguments a;
    struct ss_error error = {0};
    if (!parse(cases[i][0], copy, &a, &error)) fail_msg("\"%s\": %s", cases[i][0], error.text);
    join("operand", a.operand, a.operands, seen);
    join("ranks", a.ranks, a.ranks_count, seen);
    join("bandwidth", &a.bandwidth, a.bandwidth != NULL, seen);
    sprintf(seen + strlen(seen), "%s%s", a.quiet ? "quiet;" : "", a.seen);
    assert_string_equal(seen, cases[i][1]);
    ss_options_free(specs, &a);
    assert_null(a.operand);
  }
  struct arguments a = {0};
  struct ss_error error = {0};
  assert_true(ss_options_parse(specs, 0, NULL, &a, &error));
}

TEST(numbers_and_choices_are_stored) {
  char copy[200];
  struct arguments a;
  struct ss_error error = {0};
  assert_true(parse("--seed 9007199254740992 --jobs=1024 --share 25% --time 2min --format csv", copy, &a, &error));
  assert_true(a.seed == UINT64_C(1) << 53);
  assert_int_equal(a.jobs, 1024);
  assert_true(a.share == 0.25 && a.time == 120.0);
  assert_int_equal(a.format, 2);
}

TEST(wrong_usage_is_explained) {
  static const char *const cases[][2] = {
      {"--bandwith 5", "unknown option \"--bandwith\" (did you mean --bandwidth?)"},
      {"--bandwith=5", "unknown option \"--bandwith\" (did you mean --bandwidth?)"},
      {"-quiet", "unknown option \"-quiet\" (did you mean --quiet?)"},
      {"--halp", "unknown option \"--halp\" (did you mean --help?)"},
      {"-oout", "unknown option \"-oout\" (--help lists them)"},
      {"--xyzzy", "unknown option \"--xyzzy\" (--help lists them)"},
      {"-5", "unknown option \"-5\" (--help lists them)"},
      {"--=3", "unknown option \"--\" (--help lists them)"},
      {"---quiet", "unknown option \"---quiet\" (did you mean --quiet?)"},
      {"a --ranks", "--ranks needs a value (say --ranks VALUE)"},
      {"--ranks --quiet", "--ranks needs a value (say --ranks VALUE)"},
      {"--ranks -o", "--ranks needs a value (say --ranks VALUE)"},
      {"-o", "-o needs a value (say -o VALUE)"},
      {"--quiet=yes", "--quiet takes no value, but got \"yes\""},
      {"-o stop --quiet", "stopped"},
      {"--jobs 0", "--jobs: \"0\" is not a whole number from 1 to 1024"},
      {"--jobs x", "--jobs: \"x\" is not a whole number from 1 to 1024"},
      {"--share 0", "--share: \"0\" is not above zero and at most 100%"},
      {"--share 101%", "--share: \"101%\" is not above zero and at most 100%"},
      {"--share x", "--share: \"x\" is not a ratio (say \"1.13%\", \"1/32\" or 0.5)"},
      {"--time 10ms", "--time: \"10ms\" is less than 1 s"},
      {"--zipf 21", "--zipf: \"21\" is not from 0 to 20"},
      {"--format jsn", "--format: \"jsn\" is not table, json or csv"},
      {"--old 5", "no --old here: say --share instead"},
      {"--old", "no --old here: say --share instead"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char copy[200];
    struct arguments a;
    struct ss_error error = {0};
    if (parse(cases[i][0], copy, &a, &error)) fail_msg("\"%s\" was taken", cases[i][0]);
    assert_string_equal(error.text, cases[i][1]);
    assert_false(a.quiet);
    assert_int_equal(error.status, strstr(cases[i][0], "stop") != NULL ? SS_UNPROVEN : SS_BAD_INPUT);
    ss_options_free(specs, &a);
  }
}

TEST(operands_may_be_one_or_none) {
  static const struct ss_option_spec one[] = {{"", SS_TEXT(struct arguments, bandwidth), .value = "file"},
                                              {.name = NULL}};
  static const struct ss_option_spec none[] = {{"--quiet", SS_FLAG(struct arguments, quiet)}, {.name = NULL}};
  char *argv[] = {(char[]){"x"}, (char[]){"a"}, (char[]){"b"}};
  struct arguments a = {0};
  struct ss_error error = {0};
  assert_true(ss_options_parse(one, 2, argv, &a, &error));
  assert_string_equal(a.bandwidth, "a");
  assert_false(ss_options_parse(one, 3, argv, &(struct arguments){0}, &error));
  assert_string_equal(error.text, "one file is enough: \"b\" is left over");
  assert_false(ss_options_parse(none, 2, argv, &a, &error));
  assert_string_equal(error.text, "\"a\" is left over");
}

TEST(help_is_in_columns) {
  SS_AUTO_FREE char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  ss_options_help(specs, stream);
  fclose(stream);
  assert_string_equal(text, "  --bandwidth RATE     of the cluster\n"
                            "  --ranks LIST         of ranks\n"
                            "  --quiet              no progress bar\n"
                            "\n"
                            "of numbers:\n"
                            "  --seed N             of what is drawn\n"
                            "  --jobs N             threads\n"
                            "  --format table|json|csv\n"
                            "                       how to write what has been found, in a text that is so long that "
                            "a line of a terminal, which\n"
                            "                       should be thought of as having some 118 columns, does not hold "
                            "it\n"
                            "  -o FILE              where to write\n");
}
/* SPDX-License-Identifier: Apache-2.0 */
