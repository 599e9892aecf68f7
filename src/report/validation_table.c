#include "base/json_text.h"
#include "calibration/validation.h"
#include "report/columns.h"
#include "report/tables.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void print_heads(const struct ss_validation_report *r, FILE *stream) {
  static const char *const how[] = {"each collective predicted from the others alone",
                                    "each number of nodes predicted from the others alone",
                                    "each band of sizes predicted from the others alone",
                                    "each fifth of them predicted from the others alone",
                                    "fitted to all of them",
                                    "of which those that were not fitted to are predicted"};
  (void)fprintf(stream, "%zu times, %s\n", r->validation->count, how[r->left_out]);
  if (r->validation->unfit > 0)
    (void)fprintf(stream, "%" PRIu32 " could not be predicted: without it, %s\n", r->validation->unfit,
                  r->validation->reason);
}

static bool print_pairs(const struct ss_validation_report *r, FILE *stream, struct ss_error *error) {
  struct ss_ranked_pairs pairs;
  if (!ss_validation_rank(r->validation, r->observations->list, &pairs, error)) return false;
  if (pairs.pairs > 0)
    (void)fprintf(stream, "%zu of %zu pairs of algorithms that differ by more than 1.5 times are ranked right\n",
                  pairs.right, pairs.pairs);
  return true;
}

bool ss_validation_table(const void *report, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<of", "of", NULL},
                                             {"times", "count", "%.0f"},
                                             {"median error", "median_error", "%.1f%%"},
                                             {"90% within", "p90_error", "%.0f%%"},
                                             {"worst", "worst_error", "%.0f%%"},
                                             {"?in 50% ranges", "within_half", "%.0f%%"},
                                             {"?in 90% ranges", "within_most", "%.0f%%"}};
  const struct ss_validation_report *r = report;
  print_heads(r, stream);
  return ss_records_print(columns, ss_validation_errors(r), false, stream, error) && print_pairs(r, stream, error);
}

bool ss_validation_markdown(const void *report, FILE *stream, struct ss_error *error) {
  ss_table_style_set(SS_TABLE_MARKDOWN);
  return ss_validation_table(report, stream, error);
}

bool ss_validation_json(const void *report, FILE *stream, struct ss_error *error) {
  cJSON *tree;
  return ss_validation_tree(report, &tree, error) && ss_json_print_free(tree, stream, error);
}

bool ss_validation_csv(const void *report, FILE *stream, struct ss_error *error) {
  return ss_flat_csv_free(ss_validation_times(report), stream, error);
}

/* --- a picture ----------------------------------------------------------------------------------------------- */

static bool has_collective(const struct ss_validation_report *r, enum ss_collective collective) {
  for (size_t i = 0; i < r->validation->count; i++)
    if ((r->left_out != SS_LEAVE_OTHERS || isfinite(r->validation->predicted[i])) &&
        r->observations->list[i].algorithm->collective == collective)
      return true;
  return false;
}

static void print_points(const struct ss_validation_report *r, FILE *s) {
  for (int c = 0; c < SS_COLLECTIVES; c++) {
    (void)fputs("NaN NaN\n", s);
    for (size_t i = 0; i < r->validation->count; i++) {
      const struct ss_observation *o = &r->observations->list[i];
      if ((int)o->algorithm->collective == c && isfinite(r->validation->predicted[i]))
        (void)fprintf(s, "%.17g %.17g\n", o->seconds, r->validation->predicted[i]);
    }
    (void)fputs("\n\n", s);
  }
}

static bool script(const void *context, enum ss_picture picture, FILE *s, struct ss_error *error) {
  static const char *const colors[SS_COLLECTIVES] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                                     "#8c564b", "#17becf", "#ff7f0e", "#7f7f7f"};
  const struct ss_validation_report *r = context;
  (void)error;
  (void)fputs("$times << EOD\n", s);
  print_points(r, s);
  (void)fputs("EOD\n", s);
  ss_plot_terminal(picture, 560, 460, s);
  (void)fputs("set logscale xy\nset title ", s);
  ss_plot_quote(r->title, false, s);
  (void)fputs("\nset xlabel 'measured'\nset ylabel 'predicted'\nset format xy '%.0s %cs'\n"
              "set key top left reverse Left\nset grid\nset size ratio 1\n"
              "plot x with lines lc '#444444' title 'equal', 1.25*x with lines dt 2 lc '#999999' title '25% off', "
              "x/1.25 with lines dt 2 lc '#999999' notitle",
              s);
  for (int c = 0; c < SS_COLLECTIVES; c++) {
    if (!has_collective(r, (enum ss_collective)c)) continue;
    (void)fprintf(s, ", $times index %d using 1:2 with points pt 7 ps 0.5 lc '%s' title ", c, colors[c]);
    ss_plot_quote(ss_collective_names[c], false, s);
  }
  (void)fputc('\n', s);
  return true;
}

bool ss_validation_draw(const struct ss_validation_report *r, enum ss_picture picture, struct ss_picture_bytes *out,
                        struct ss_error *error) {
  return ss_plot_draw_script(script, r, picture, out, error);
}
