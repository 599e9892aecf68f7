/* How answers are shown: who is fastest, tables, units and texts of figures, plans in words. */
#include "support.h"

#include "figures/plot_drawing.h"
#include "figures/rounds_drawing.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/results_table.h"
#include "report/table.h"
#include "report/tables.h"
#include "study/plan.h"

#include <cjson/cJSON.h>

/* What is written to a stream. */
struct shown {
  char *text;
  size_t size;
  FILE *stream;
};
static void begin(struct shown *s) {
  *s = (struct shown){0};
  s->stream = open_memstream(&s->text, &s->size);
  assert_non_null(s->stream);
}
static void expect(struct shown *s, const char *wanted) {
  assert_int_equal(fclose(s->stream), 0);
  assert_string_equal(s->text, wanted);
  free(s->text);
}

TEST(the_fastest_and_the_next) {
  const struct ss_result points[] = {{.time = 3}, {.time = 1}, {.time = 2}, {.time = 1}};
  const struct ss_result *best, *next;
  ss_results_rank(points, COUNT(points), &best, &next);
  assert_ptr_equal(best, &points[1]); /* of equals the first */
  assert_ptr_equal(next, &points[3]);
  ss_results_rank(points, 1, &best, &next);
  assert_ptr_equal(best, points);
  assert_null(next);
}

TEST(numbers_stand_right) {
  struct ss_table *table = ss_table_new(3, (const char *const[]){"<name", "time", "<why"});
  struct shown s;
  struct ss_error error;
  ss_table_texts(table, "a", "7", "one");
  ss_table_texts(table, "longer", "12345", "");
  begin(&s);
  assert_true(ss_table_print_free(table, false, s.stream, &error));
  expect(&s, "name     time  why\n"
             "------  -----  ---\n"
             "a           7  one\n"
             "longer  12345\n");
}

/* A column nobody has a value for is left out where it may be; shares are per cent; flags are words; members of
 * members are found; what is absent is "-", in CSV with all digits nothing. */
TEST(columns_show_records) {
  static const char json[] =
      "[{\"label\": \"a\", \"time_s\": 0.0015, \"share\": 0.25, \"links\": {\"nic-out\": {\"busy\": 0.5}}},"
      " {\"label\": \"b\", \"time_s\": null, \"share\": null, \"exact\": false}]";
  static const struct ss_column columns[] = {{"<scheme", "label", NULL}, {"?median", "fan", "s"},
                                             {"time", "time_s", "s"},    {"share", "share", "%.1f%%"},
                                             {"?exact", "exact", NULL},  {"?NIC out", "links.nic-out.busy", "%.2f"}},
                                exact[] = {{"scheme", "label", NULL}, {"share", "share", SS_EXACT}},
                                links[] = {
                                    {"<scheme", "label", NULL}, {"<kind", "key", NULL}, {"busy", "busy", "%.2f"}};
  struct ss_error error;
  struct shown s;
  cJSON *records = cJSON_Parse(json);
  begin(&s);
  assert_true(ss_table_print_free(ss_records_table(columns, records), false, s.stream, &error));
  expect(&s, "scheme    time  share  exact  NIC out\n"
             "------  ------  -----  -----  -------\n"
             "a       1.5 ms  25.0%      -     0.50\n"
             "b            -      -     NO        -\n");
  begin(&s);
  assert_true(ss_records_print(links, ss_record_members(records, "links"), false, s.stream, &error));
  expect(&s, "scheme  kind     busy\n"
             "------  -------  ----\n"
             "a       nic-out  0.50\n");
  begin(&s);
  assert_true(ss_records_print(exact, ss_records_take(records, 2), true, s.stream, &error));
  expect(&s, "scheme,share\na,0.25\nb,\n");
  assert_null(records->child);
  cJSON_Delete(records);
}

/* gnuplot takes the labels of tics for formats, in which a percent sign stands doubled; and ends strings at quotes.
 */
TEST(texts_are_quoted) {
  struct shown s;
  begin(&s);
  ss_plot_quote("5% of 'x'", true, s.stream);
  expect(&s, "'5%% of \342\200\231x\342\200\231'");
  begin(&s);
  ss_plot_quote("5%", false, s.stream);
  expect(&s, "'5%'");
}

/* The unit in which the largest value is at least 1, or would be shown as 1. */
TEST(axes_have_units_that_fit) {
  static const struct {
    double most;
    const char *unit;
    double factor;
  } cases[] = {{0.99e-3, "\302\265s", 1e6}, {0.99995e-3, "ms", 1e3}, {1e-3, "ms", 1e3}, {1, "s", 1}, {3000, "s", 1}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct ss_plot_row rows[] = {{.series = "a", .x = 1, .y = 0, .low = NAN, .high = NAN, .z = NAN},
                                 {.series = "a", .x = 2, .y = cases[i].most, .low = NAN, .high = NAN, .z = NAN}};
    const struct ss_plot plot = {.panels = 1,
                                 .panel = {{.title = "t",
                                            .x = {"ranks", "", SS_SCALE_LINEAR, NAN, NAN},
                                            .y = {"time", "s", SS_SCALE_LINEAR, NAN, NAN},
                                            .z = {"", "", SS_SCALE_LINEAR, NAN, NAN},
                                            .row = rows,
                                            .rows = 2}}};
    static const char *const series[] = {"a"};
    struct ss_drawing drawing;
    struct ss_error error;
    assert_true(ss_drawing_open(&plot, 0, series, 1, &drawing, &error));
    assert_string_equal(drawing.y.unit, cases[i].unit);
    assert_true(close_to(drawing.y.factor, cases[i].factor, 1e-12));
    ss_drawing_close(&drawing);
  }
}

/* --- words of answers ---------------------------------------------------------------------------------------- */

/* Rows of 25 floats travel with an index of 4 or of 8 bytes, 104 or 108 B a row, and nothing else takes time: the
 * second takes 3.846% longer. */
static void with_answers(void (*use)(const struct ss_study *study, const struct ss_results *results)) {
  static const char json[] =
      "{\"trace\": {\"uniform\": {\"rows\": 1000, \"row_width\": 25, \"density\": 0.1, \"overlap\": \"full\"}}, "
      "\"ranks\": 2, \"cluster\": {\"latency\": 0, \"bandwidth\": \"1GB/s\"}, \"schemes\": ["
      "{\"name\": \"allgather\", \"label\": \"small\"}, "
      "{\"name\": \"allgather\", \"label\": \"large\", \"index_bytes\": 8}]}";
  const struct ss_run_options options = {.jobs = 1};
  struct ss_study *study;
  struct ss_results results;
  struct ss_error error = {0};
  struct ss_doc *doc;
  assert_true(ss_doc_parse("test", json, sizeof json - 1, &doc, &error));
  const struct ss_request request = {.document = ss_doc_root(doc).at, .certain = true};
  if (!ss_study_open(&request, &study, &error) || !ss_study_run(study, &options, &results, &error))
    fail_msg("%s", error.text);
  use(study, &results);
  ss_results_free(&results);
  ss_study_close(study);
  ss_doc_free(doc);
}

static void expect_within(struct shown *s, const char *wanted) {
  assert_int_equal(fclose(s->stream), 0);
  if (!strstr(s->text, wanted)) fail_msg("%s\nis without %s", s->text, wanted);
  free(s->text);
}

static void plan(const struct ss_study *study, const struct ss_results *results) {
  cJSON *tree;
  struct shown s;
  struct ss_error error = {0};
  begin(&s);
  assert_true(ss_study_plan(study, results, &tree, &error));
  if (!ss_plan_table(tree, (struct ss_iterations_played){1, 1}, false, s.stream, &error)) fail_msg("%s", error.text);
  cJSON_Delete(tree);
  expect_within(&s, "small is fastest, 10.4 us; large takes 1.04 times as long (of 2 candidates)");
}
TEST(plans_say_how_much_longer) {
  with_answers(plan);
}

/* Who is named first takes least by the numbers as given; what another one has to do with it is said: equals are
 * named together, who wins more of the draws is said to, and what a rival leaves out or needs stands behind its name.
 */
TEST(sentences_say_who_wins_and_what_it_needs) {
#define TIES "\"ties\": [{\"label\": \"b\"}"
#define TIMES "\"label\": \"a\", \"time_s\": 1, \"next\": \"b\", "
  static const char *const cases[][2] = {
      {"{" TIMES "\"next_time_s\": 2, \"next_lossless\": false, \"next_model_parallel\": false}",
       "a is fastest, 1 s; b (lossy) takes 2.00 times as long"},
      {"{" TIMES "\"next_time_s\": 1, " TIES "]}", "a and b alike are fastest, 1 s"},
      {"{" TIMES "\"next_time_s\": 1, \"lossless\": false, " TIES ", {\"label\": \"c\", \"model_parallel\": true}]}",
       "a (lossy), b and c (needs model parallelism) alike are fastest, 1 s"},
      {"{" TIMES "\"next_time_s\": 1, " TIES ", {\"label\": \"c\"}, {\"label\": \"d\"}]}",
       "a, b, c and 1 other alike are fastest, 1 s"},
      {"{" TIMES "\"next_time_s\": 2, \"model_parallel\": true, \"other_window\": \"4\", \"other_best\": \"d\","
       " \"other_best_lossless\": false, \"other_best_s\": 3, \"other_time_s\": 4}",
       "under the cluster's window a (needs model parallelism) is fastest, 1 s; b takes 2.00 times as long; under "
       "window 4 d (lossy) is, 3 s, and a takes 4 s (as numbers are given)"},
      {"{" TIMES "\"next_time_s\": 1, \"wins\": 1, \"next_ratio_low\": 1, \"next_ratio_high\": 1, " TIES "]}",
       "a and b alike are fastest in 100 of 100 draws, 1 s"},
      {"{\"label\": \"a\", \"time_s\": 0, \"next\": \"b\", \"next_time_s\": 3, \"next_ratio_low\": 1,"
       " \"next_ratio_high\": 1}",
       "a is fastest, 0 s; b takes 3 s"},
      {"{" TIMES
       "\"next_time_s\": 2, \"wins\": 0.7, \"rival\": \"c\", \"rival_wins\": 0.25, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"rival_lossless\": false, \"rival_model_parallel\": true}",
       "a is likely fastest, in 70 of 100 draws, 1 s; c (lossy; needs model parallelism), 0.50 to 2.00 times as "
       "long, "
       "is in 25; only a run of both would tell, no number of the machine"},
      {"{" TIMES "\"next_time_s\": 2, \"wins\": 0.5, \"rival\": \"c\", \"rival_wins\": 0.5, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"rival_lossless\": true, \"measure\": \"x\"}",
       "a, 1 s, and c, 0.50 to 2.00 times as long, cannot be told apart: they are fastest in 50 and 50 of 100 draws; "
       "measuring x would tell most"},
      {"{" TIMES "\"next_time_s\": 2, \"wins\": 0.3, \"rival\": \"c\", \"rival_wins\": 0.4, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"measure\": \"x\"}",
       "a takes least by numbers as given, 1 s; but c, 0.50 to 2.00 times as long, is fastest in 40 of 100 draws, "
       "more "
       "than the 30 of a; measuring x would tell most"},
      {"{" TIMES "\"next_time_s\": 2, \"wins\": 0.2, \"rival\": \"c\", \"rival_wins\": 0.8, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 1.1, \"measure\": \"x\"}",
       "a takes least by numbers as given, 1 s; but c, 0.50 to 1.10 times as long, is likely fastest in 80 of 100 "
       "draws, more than the 20 of a; measuring x would tell most"},
      {"{" TIMES
       "\"next_time_s\": 2, \"wins\": 0.26, \"rival\": \"c\", \"rival_wins\": 0.25, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"measure\": \"x\", \"others\": [{\"label\": \"d\", \"lossless\": false, \"wins\": "
       "0.2}, "
       "{\"label\": "
       "\"e\", "
       "\"wins\": 0.17}, {\"label\": \"f\", \"wins\": 0.07}, {\"label\": \"g\", \"wins\": 0.05}]}",
       "a, 1 s, and c, 0.50 to 2.00 times as long, cannot be told apart: they are fastest in 26 and 25 of 100 draws; "
       "of the other 49 d (lossy) takes 20, e takes 17, 2 others 12; measuring x would tell most"},
      {"{" TIMES
       "\"next_time_s\": 2, \"wins\": 0.5, \"rival\": \"c\", \"rival_wins\": 0.43, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"measure\": \"x\", \"others\": [{\"label\": \"d\", \"wins\": 0.03}, {\"label\": "
       "\"e\", "
       "\"wins\": 0.009}, {\"label\": \"f\", \"wins\": 0.009}]}",
       "a, 1 s, and c, 0.50 to 2.00 times as long, cannot be told apart: they are fastest in 50 and 43 of 100 draws; "
       "of the other 7 d takes 3, 2 others 4; measuring x would tell most"},
      {"{" TIMES
       "\"next_time_s\": 2, \"wins\": 0.5, \"rival\": \"c\", \"rival_wins\": 0.45, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"measure\": \"x\", \"others\": [{\"label\": \"d\", \"wins\": 0.05}]}",
       "a, 1 s, and c, 0.50 to 2.00 times as long, cannot be told apart: they are fastest in 50 and 45 of 100 draws; "
       "of the other 5 d takes 5; measuring x would tell most"},
      {"{" TIMES
       "\"next_time_s\": 2, \"wins\": 0.5, \"rival\": \"c\", \"rival_wins\": 0.46, \"rival_ratio_low\": 0.5,"
       " \"rival_ratio_high\": 2, \"measure\": \"x\", \"others\": [{\"label\": \"d\", \"wins\": 0.04}]}",
       "a, 1 s, and c, 0.50 to 2.00 times as long, cannot be told apart: they are fastest in 50 and 46 of 100 draws; "
       "measuring x would tell most"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    SS_AUTO_JSON cJSON *record = cJSON_Parse(cases[i][0]);
    struct shown s;
    assert_non_null(record);
    begin(&s);
    ss_decision_print(record, s.stream);
    expect(&s, cases[i][1]);
  }
}

/* What a lossless scheme leaves was left by the scenario; more energy than there was is noise, not a share. */
TEST(losses_are_told_from_what_a_scenario_selects) {
  static const struct {
    bool lossless;
    double energy;
    const char *says;
  } cases[] = {{true, 1, ""},
               {true, 0.166, " for what the scenario selects, 16.6% of the energy of what ranks had"},
               {false, 0.166, ": it applies 16.6% of the energy of what ranks had"},
               {false, 0.9999, ": it applies more than 99.9% of the energy of what ranks had"},
               {false, 4.27, ": what it applies has 4.27 times the energy of what ranks had, the rest is noise"},
               {false, NAN, ""}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct shown s;
    begin(&s);
    ss_energy_print(cases[i].lossless, cases[i].energy, s.stream);
    expect(&s, cases[i].says);
  }
}

/* A page of 7 inches, 672 units, has room for labels of 72 and rounds of 22 units: 12 rounds take half of it, 6 less
 * than a third. A figure that needs more than all of it stands alone; nothing stands in more columns than there are
 * panels. */
TEST(figures_of_rounds_stand_beside_each_other_where_they_fit) {
  static const struct {
    size_t panels, rounds, across;
  } cases[] = {{3, 6, 3}, {3, 7, 2}, {3, 12, 2}, {3, 13, 1}, {3, 27, 1}, {3, 28, 1}, {2, 6, 2}, {1, 6, 1}, {6, 1, 3}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct ss_plot_row row = {.x = (double)cases[i].rounds};
    struct ss_plot plot = {.panels = cases[i].panels};
    plot.panel[plot.panels - 1] = (struct ss_plot_panel){.row = &row, .rows = 1}; /* the longest decides */
    assert_int_equal(ss_rounds_across(&plot), cases[i].across);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
