/* The promises of report/table.h and cli/options.h. */
#include "base/memory.h"
#include "base/options.h"
#include "report/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void columns_are_aligned_under_a_rule(void **state) {
  (void)state;
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

static void characters_count_not_bytes(void **state) {
  (void)state;
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

static void cells_cannot_steer_the_terminal(void **state) {
  (void)state;
  const char *const heads[] = {"<a", "<b"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  ss_table_cell(table, "%s", "\x1b[2J\n\xff");
  ss_table_cell(table, "b");
  assert_shown(table, false, "a       b\n------  -\n?[2J??  b\n");
  ss_table_free(table);
}

static void csv_quotes_where_needed(void **state) {
  (void)state;
  const char *const heads[] = {"<a,b", "c\"d"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  ss_table_cell(table, "SparDL, 2 teams");
  ss_table_cell(table, "line\nbreak");
  ss_table_cell(table, "plain text");
  ss_table_cell(table, "\"");
  assert_shown(table, true, "\"a,b\",\"c\"\"d\"\n\"SparDL, 2 teams\",\"line\nbreak\"\nplain text,\"\"\"\"\n");
  ss_table_free(table);
}

static void tables_grow(void **state) {
  (void)state;
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

static void empty_tables_have_a_head(void **state) {
  (void)state;
  const char *const heads[] = {"<a", "bb"};
  struct ss_table *table = ss_table_new(COUNT(heads), heads);
  assert_shown(table, false, "a  bb\n-  --\n");
  assert_shown(table, true, "a,bb\n");
  ss_table_free(table);
}

static void failures_to_show_are_told(void **state) {
  (void)state;
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

static const struct ss_option_spec specs[] = {{"bandwidth", true}, {"ranks", true}, {"quiet", false}, {"help", false},
                                              {"o", true},         {"v", false},    {NULL, false}};

/* Writes what is seen as "name=value;" or "name;" or "(operand);". */
static bool record(void *context, const char *name, const char *value, struct ss_error *error) {
  char *text = context;
  if (name == NULL) sprintf(text + strlen(text), "(%s);", value);
  else if (value == NULL) sprintf(text + strlen(text), "%s;", name);
  else sprintf(text + strlen(text), "%s=%s;", name, value);
  if (value != NULL && strcmp(value, "stop") == 0) return ss_fail(error, SS_UNPROVEN, "stopped");
  return true;
}

#define LONGEST_ARGUMENTS 12

/* Parses "sparsync ARGUMENTS", cut at spaces ("~" stands for an empty one). */
static bool parse(const char *arguments, char seen[1000], struct ss_error *error) {
  SS_AUTO_FREE char *copy = strdup(arguments);
  char *argv[LONGEST_ARGUMENTS + 2] = {(char[]){"sparsync"}};
  int argc = 1;
  char *rest = copy;
  for (char *word = strsep(&rest, " "); word != NULL && *word != '\0'; word = strsep(&rest, " ")) {
    assert_true(argc <= LONGEST_ARGUMENTS);
    argv[argc++] = strcmp(word, "~") == 0 ? word + 1 : word;
  }
  *seen = '\0';
  return ss_options_parse(argc, argv, specs, record, seen, error);
}

static void options_and_operands_are_seen_in_order(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", ""},
      {"a --quiet b", "(a);quiet;(b);"},
      {"--ranks 4,8 --ranks=16", "ranks=4,8;ranks=16;"},
      {"--bandwidth=a=b", "bandwidth=a=b;"},
      {"-o out -v", "o=out;v;"},
      {"-o - -", "o=-;(-);"},
      {"--ranks=", "ranks=;"},
      {"--ranks -5", "ranks=-5;"},
      {"--ranks=--quiet", "ranks=--quiet;"},
      {"--quiet -- --ranks -v --", "quiet;(--ranks);(-v);(--);"},
      {"~ x", "();(x);"},
      {"--ranks ~", "ranks=;"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char seen[1000];
    struct ss_error error = {0};
    if (!parse(cases[i][0], seen, &error)) fail_msg("\"%s\": %s", cases[i][0], error.text);
    assert_string_equal(seen, cases[i][1]);
  }
  char seen[1000] = "";
  struct ss_error error = {0};
  assert_true(ss_options_parse(0, NULL, specs, record, seen, &error));
}

static void wrong_usage_is_explained(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {"--bandwith 5", "", "unknown option \"--bandwith\" (did you mean --bandwidth?)"},
      {"--bandwith=5", "", "unknown option \"--bandwith\" (did you mean --bandwidth?)"},
      {"-quiet", "", "unknown option \"-quiet\" (did you mean --quiet?)"},
      {"-oout", "", "unknown option \"-oout\" (--help lists them)"},
      {"--xyzzy", "", "unknown option \"--xyzzy\" (--help lists them)"},
      {"-5", "", "unknown option \"-5\" (--help lists them)"},
      {"--=3", "", "unknown option \"--\" (--help lists them)"},
      {"---quiet", "", "unknown option \"---quiet\" (did you mean --quiet?)"},
      {"a --ranks", "(a);", "--ranks needs a value (say --ranks VALUE)"},
      {"--ranks --quiet", "", "--ranks needs a value (say --ranks VALUE)"},
      {"--ranks -v", "", "--ranks needs a value (say --ranks VALUE)"},
      {"-o", "", "-o needs a value (say -o VALUE)"},
      {"--quiet=yes", "", "--quiet takes no value, but got \"yes\""},
      {"--ranks 4 stop --quiet", "ranks=4;(stop);", "stopped"},
      {"--ranks stop --quiet", "ranks=stop;", "stopped"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    char seen[1000];
    struct ss_error error = {0};
    if (parse(cases[i][0], seen, &error)) fail_msg("\"%s\" was taken", cases[i][0]);
    assert_string_equal(error.text, cases[i][2]);
    assert_string_equal(seen, cases[i][1]);
    assert_int_equal(error.status, strstr(cases[i][0], "stop") != NULL ? SS_UNPROVEN : SS_BAD_INPUT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_are_aligned_under_a_rule),
      cmocka_unit_test(characters_count_not_bytes),
      cmocka_unit_test(cells_cannot_steer_the_terminal),
      cmocka_unit_test(csv_quotes_where_needed),
      cmocka_unit_test(tables_grow),
      cmocka_unit_test(empty_tables_have_a_head),
      cmocka_unit_test(failures_to_show_are_told),
      cmocka_unit_test(options_and_operands_are_seen_in_order),
      cmocka_unit_test(wrong_usage_is_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
