#include "report/validation_table.h"

#include "base/json_text.h"
#include "report/columns.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINES_MAX = 256, SIZES = 4 };

/* What a line of the table is of; those of it that are not set count all. */
struct of {
  char name[64];
  int collective; /* -1: any */
  const struct ss_algorithm *algorithm;
  uint32_t nodes, per_node;
  uint64_t low, high; /* B: vectors in [low, high) */
};

struct lines {
  struct of line[LINES_MAX];
  size_t count;
};

static bool is_in(const struct ss_observation *o, uint64_t message, const void *context) {
  const struct of *of = context;
  (void)message;
  return (of->collective < 0 || (int)o->algorithm->collective == of->collective) &&
         (!of->algorithm || o->algorithm == of->algorithm) && (of->nodes == 0 || o->nodes == of->nodes) &&
         (of->per_node == 0 || o->per_node == of->per_node) && o->bytes >= of->low && o->bytes < of->high;
}

static void add_line(struct lines *l, struct of of) {
  for (size_t i = 0; i < l->count; i++)
    if (strcmp(l->line[i].name, of.name) == 0) return;
  if (l->count < LINES_MAX) l->line[l->count++] = of;
}

static void add_of(struct lines *l, const struct ss_observation *o, int what) {
  struct of of = {.collective = -1, .high = UINT64_MAX};
  const char *collective = ss_collective_names[o->algorithm->collective];
  if (what == 0) {
    of.collective = (int)o->algorithm->collective;
    (void)snprintf(of.name, sizeof of.name, "%s", collective);
  } else if (what == 1) {
    of.algorithm = o->algorithm;
    (void)snprintf(of.name, sizeof of.name, "%s %s", collective, o->algorithm->name);
  } else {
    of.nodes = o->nodes;
    of.per_node = o->per_node;
    (void)snprintf(of.name, sizeof of.name, "%" PRIu32 " node%s of %" PRIu32, o->nodes, o->nodes > 1 ? "s" : "",
                   o->per_node);
  }
  add_line(l, of);
}

/* All, then by collective, algorithm, nodes, and size of the vector. */
static void list_lines(const struct ss_validation_report *r, struct lines *l) {
  static const struct of sizes[SIZES] = {{"vectors up to 64 KiB", -1, NULL, 0, 0, 0, 65537},
                                         {"64 KiB to 1 MiB", -1, NULL, 0, 0, 65537, 1048577},
                                         {"1 MiB to 64 MiB", -1, NULL, 0, 0, 1048577, 67108865},
                                         {"above 64 MiB", -1, NULL, 0, 0, 67108865, UINT64_MAX}};
  add_line(l, (struct of){.name = "all", .collective = -1, .high = UINT64_MAX});
  for (int what = 0; what < 3; what++)
    for (size_t i = 0; i < r->observations->count; i++) add_of(l, &r->observations->list[i], what);
  for (int i = 0; i < SIZES; i++) add_line(l, sizes[i]);
}

static void print_heads(const struct ss_validation_report *r, FILE *stream) {
  static const char *const how[] = {"each collective predicted from the others alone",
                                    "each number of nodes predicted from the others alone", "fitted to all of them",
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

static bool has_times(const struct ss_validation_report *r, const struct of *of) {
  for (size_t i = 0; i < r->validation->count; i++)
    if ((r->left_out != SS_LEAVE_OTHERS || isfinite(r->validation->predicted[i])) &&
        is_in(&r->observations->list[i], 0, of))
      return true;
  return false;
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

static cJSON *time_json(const struct ss_validation_report *r, size_t i) {
  const struct ss_observation *o = &r->observations->list[i];
  cJSON *item = cJSON_CreateObject();
  ss_json_add_text(item, "source", r->observations->source[o->source]);
  ss_json_add_number(item, "line", o->line);
  ss_json_add_text(item, "collective", ss_collective_names[o->algorithm->collective]);
  ss_json_add_text(item, "algorithm", o->algorithm->name);
  ss_json_add_number(item, "nodes", o->nodes);
  ss_json_add_number(item, "gpus_per_node", o->per_node);
  ss_json_add_number(item, "bytes", (double)o->bytes);
  ss_json_add_number(item, "message_bytes", (double)r->validation->message[i]);
  ss_json_add_number(item, "measured_s", o->seconds);
  ss_json_add_number(item, "predicted_s", r->validation->predicted[i]);
  return item;
}

static cJSON *list_times(const struct ss_validation_report *r) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < r->validation->count; i++) cJSON_AddItemToArray(list, time_json(r, i));
  return list;
}

static cJSON *list_errors(const struct ss_validation_report *r) {
  struct lines l = {.count = 0};
  cJSON *list = cJSON_CreateArray();
  list_lines(r, &l);
  for (size_t i = 0; i < l.count; i++) {
    const struct ss_error_spread j = ss_validation_judge(r->validation, r->observations->list, is_in, &l.line[i]);
    if (!has_times(r, &l.line[i])) continue;
    cJSON *item = cJSON_CreateObject();
    ss_json_add_text(item, "of", l.line[i].name);
    ss_json_add_number(item, "count", (double)j.count);
    ss_json_add_number(item, "median_error", j.median);
    ss_json_add_number(item, "p90_error", j.p90);
    ss_json_add_number(item, "worst_error", j.worst);
    cJSON_AddItemToArray(list, item);
  }
  return list;
}

static cJSON *as_json(const struct ss_validation_report *r, const struct ss_ranked_pairs *pairs) {
  static const char *const left[] = {"collectives", "nodes", "nothing", "others"};
  cJSON *root = cJSON_CreateObject();
  cJSON_AddItemToObject(root, "errors", list_errors(r));
  ss_json_add_text(root, "left_out", left[r->left_out]);
  ss_json_add_number(root, "not_predicted", r->validation->unfit);
  ss_json_add_number(root, "pairs", (double)pairs->pairs);
  ss_json_add_number(root, "pairs_right", (double)pairs->right);
  cJSON_AddItemToObject(root, "times", list_times(r));
  return root;
}

bool ss_validation_table(const void *report, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<of", "of", NULL},
                                             {"times", "count", "%.0f"},
                                             {"median error", "median_error", "%.1f%%"},
                                             {"90% within", "p90_error", "%.0f%%"},
                                             {"worst", "worst_error", "%.0f%%"}};
  const struct ss_validation_report *r = report;
  print_heads(r, stream);
  return ss_records_print(columns, list_errors(r), false, stream, error) && print_pairs(r, stream, error);
}

bool ss_validation_markdown(const void *report, FILE *stream, struct ss_error *error) {
  ss_table_style_set(SS_TABLE_MARKDOWN);
  return ss_validation_table(report, stream, error);
}

bool ss_validation_json(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_validation_report *r = report;
  struct ss_ranked_pairs pairs;
  return ss_validation_rank(r->validation, r->observations->list, &pairs, error) &&
         ss_json_print_free(as_json(r, &pairs), stream, error);
}

bool ss_validation_csv(const void *report, FILE *stream, struct ss_error *error) {
  return ss_flat_csv_free(list_times(report), stream, error);
}

/* --- a picture ----------------------------------------------------------------------------------------------- */

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

static bool script(const void *context, enum ss_picture picture, const char *folder, struct ss_error *error) {
  static const char *const colors[SS_COLLECTIVES] = {"#1f77b4", "#d62728", "#2ca02c",
                                                     "#9467bd", "#ff7f0e", "#7f7f7f"};
  const struct ss_validation_report *r = context;
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/figure.gp", folder);
  FILE *s = fopen(path, "w");
  if (!s) return ss_fail(error, SS_MACHINE, "%s cannot be written", path);
  (void)fputs("$times << EOD\n", s);
  print_points(r, s);
  (void)fputs("EOD\n", s);
  ss_plot_terminal(picture, 560, 460, s);
  (void)fputs("set output 'picture'\nset logscale xy\nset title ", s);
  ss_plot_quote(r->title, false, s);
  (void)fputs("\nset xlabel 'measured'\nset ylabel 'predicted'\nset format xy '%.0s %cs'\n"
              "set key top left reverse Left\nset grid\nset size ratio 1\n"
              "plot x with lines lc '#444444' title 'equal', 1.25*x with lines dt 2 lc '#999999' title '25% off', "
              "x/1.25 with lines dt 2 lc '#999999' notitle",
              s);
  for (int c = 0; c < SS_COLLECTIVES; c++) {
    const struct of of = {.collective = c, .high = UINT64_MAX};
    if (!has_times(r, &of)) continue;
    (void)fprintf(s, ", $times index %d using 1:2 with points pt 7 ps 0.5 lc '%s' title ", c, colors[c]);
    ss_plot_quote(ss_collective_names[c], false, s);
  }
  (void)fputc('\n', s);
  return fclose(s) == 0 || ss_fail(error, SS_MACHINE, "%s cannot be written", path);
}

bool ss_validation_draw(const struct ss_validation_report *r, enum ss_picture picture, struct ss_picture_bytes *out,
                        struct ss_error *error) {
  return ss_plot_draw_script(script, r, picture, out, error);
}
