#include "base/json.h"
#include "report/columns.h"
#include "report/flat.h"
#include "report/tables.h"

static void print_heads(const cJSON *v, FILE *stream) {
  static const char *const how[][2] = {{"collectives", "each collective predicted from the others alone"},
                                       {"nodes", "each number of nodes predicted from the others alone"},
                                       {"sizes", "each band of sizes predicted from the others alone"},
                                       {"rows", "each fifth of them predicted from the others alone"},
                                       {"nothing", "fitted to all of them"},
                                       {"each",
                                        "each of them, then each system, rank count and workload predicted from "
                                        "the others alone; \"unfitted\": where nothing was inferred"},
                                       {"others", "of which those that were not fitted to are predicted"}};
  for (size_t i = 0; i < sizeof how / sizeof *how; i++)
    if (strcmp(ss_json_word(v, "left_out"), how[i][0]) == 0)
      (void)fprintf(stream, "%d times, %s\n", cJSON_GetArraySize(ss_json_get(v, "times")), how[i][1]);
  if (ss_json_number(v, "not_predicted") > 0)
    (void)fprintf(stream, "%.0f could not be predicted: without it, %s\n", ss_json_number(v, "not_predicted"),
                  ss_json_word(v, "reason"));
}

bool ss_validation_table(const void *validation, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<of", "of", NULL},
                                             {"times", "count", "%.0f"},
                                             {"median error", "median_error", "%.1f%%"},
                                             {"90% within", "p90_error", "%.0f%%"},
                                             {"worst", "worst_error", "%.0f%%"},
                                             {"?unfitted median", "unfitted_median_error", "%.1f%%"},
                                             {"?unfitted 90%", "unfitted_p90_error", "%.0f%%"},
                                             {"?in 50% ranges", "within_half", "%.0f%%"},
                                             {"?in 90% ranges", "within_most", "%.0f%%"}};
  const cJSON *v = validation;
  const double pairs = ss_json_number(v, "pairs");
  print_heads(v, stream);
  if (!ss_records_print(columns, cJSON_Duplicate(ss_json_get(v, "errors"), true), false, stream, error)) return false;
  if (pairs > 0)
    (void)fprintf(stream, "%.0f of %.0f pairs of algorithms that differ by more than 1.5 times are ranked right\n",
                  ss_json_number(v, "pairs_right"), pairs);
  return true;
}

bool ss_validation_markdown(const void *validation, FILE *stream, struct ss_error *error) {
  ss_table_style_set(SS_TABLE_MARKDOWN);
  return ss_validation_table(validation, stream, error);
}

bool ss_validation_json(const void *validation, FILE *stream, struct ss_error *error) {
  return ss_json_print(validation, stream, error);
}

bool ss_validation_csv(const void *validation, FILE *stream, struct ss_error *error) {
  return ss_flat_csv_free(cJSON_Duplicate(ss_json_get(validation, "times"), true), stream, error);
}

/* --- a picture ----------------------------------------------------------------------------------------------- */

/* A block of points a collective, which are counted. */
static void print_points(const cJSON *v, FILE *s, size_t count[SS_COLLECTIVES]) {
  const cJSON *time;
  for (int c = 0; c < SS_COLLECTIVES; c++) {
    count[c] = 0;
    (void)fputs("NaN NaN\n", s);
    cJSON_ArrayForEach(time, ss_json_get(v, "times")) {
      const double predicted = ss_json_number(time, "predicted_s");
      if (!isfinite(predicted) || strcmp(ss_json_word(time, "collective"), ss_collective_names[c]) != 0) continue;
      (void)fprintf(s, "%.17g %.17g\n", ss_json_number(time, "measured_s"), predicted);
      count[c]++;
    }
    (void)fputs("\n\n", s);
  }
}

static bool script(const void *context, enum ss_picture picture, FILE *s, struct ss_error *error) {
  static const char *const colors[SS_COLLECTIVES] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                                     "#8c564b", "#17becf", "#ff7f0e", "#7f7f7f"};
  size_t count[SS_COLLECTIVES];
  (void)error;
  (void)fputs("$times << EOD\n", s);
  print_points(context, s, count);
  (void)fputs("EOD\n", s);
  ss_plot_terminal(picture, 560, 460, s);
  (void)fputs("set logscale xy\nset title ", s);
  ss_plot_quote(ss_json_word(context, "name"), ss_quote_for(picture), s);
  (void)fprintf(s,
                "\nset xlabel 'measured'\nset ylabel 'predicted'\nset format xy '%%.0s %%cs'\n"
                "set key top left reverse Left\nset grid\nset size ratio 1\n"
                "plot x with lines lc '#444444' title 'equal', 1.25*x with lines dt 2 lc '#999999' title '25%s off', "
                "x/1.25 with lines dt 2 lc '#999999' notitle",
                picture == SS_PICTURE_TEX ? "\\%" : "%");
  for (int c = 0; c < SS_COLLECTIVES; c++) {
    if (count[c] == 0) continue;
    (void)fprintf(s, ", $times index %d using 1:2 with points pt 7 ps 0.5 lc '%s' title ", c, colors[c]);
    ss_plot_quote(ss_collective_names[c], ss_quote_for(picture), s);
  }
  (void)fputc('\n', s);
  return true;
}

bool ss_validation_draw(const cJSON *v, enum ss_picture picture, struct ss_picture_bytes *out,
                        struct ss_error *error) {
  return ss_plot_draw_script(script, v, picture, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
