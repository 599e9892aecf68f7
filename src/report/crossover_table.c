/* Where two schemes cost the same: in words first, then range by range. */

#include "base/json.h"
#include "cost/duel.h"
#include "library/request.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/tables.h"
#include "schemes/registry.h"
#include "study/ranges.h"

/* What is printed: the answer, and what varies. */
struct found {
  const cJSON *tree;
  const struct ss_axis *axis;
};

static double number(const struct found *f, const char *name) {
  return ss_json_number(f->tree, name);
}

static const char *text(const struct found *f, const char *name) {
  return ss_json_word(f->tree, name);
}

static const cJSON *list(const struct found *f, const char *name) {
  return ss_json_get(f->tree, name);
}

static const char *position(const struct found *f, double x, char *buffer, size_t size) {
  if (f->axis->dimension == SS_NUMBER) snprintf(buffer, size, "%.0f", x);
  else if (f->axis->dimension == SS_RATIO) snprintf(buffer, size, "%.4g%%", 100 * x);
  else ss_units_format(buffer, size, f->axis->dimension, x);
  return buffer;
}

/* A side as sentences name it: by its label, and what who takes it has to know. Returns `out`. */
enum { NAME_SIZE = 160 };
static const char *named(const struct found *f, const char *label, char out[NAME_SIZE]) {
  const bool a = strcmp(label, text(f, "a")) == 0;
  const char *name = ss_json_word(ss_json_get(list(f, a ? "forms_of_a" : "forms_of_b"), "scheme"), "name");
  const struct ss_scheme *scheme = name ? ss_scheme_find(name) : NULL;
  snprintf(out, NAME_SIZE, "%s%s", label,
           scheme ? ss_needs_words(!ss_scheme_lossless(scheme), ss_scheme_model_parallel(scheme)) : "");
  return out;
}

/* --- in words --------------------------------------------------------------------------------------------- */

/* "1.24 times as long", "1.24 to 7.5 times as long"; what rounds to 1.000 is said in words. */
static const char *ratio_text(double low, double high, char *out, size_t size) {
  if (high < 1.0005) snprintf(out, size, "as long, to 0.05%%");
  else if (high - low < 5e-4 * high) snprintf(out, size, "%.4g times as long", high);
  else snprintf(out, size, "%.4g to %.4g times as long", low, high);
  return out;
}

static void print_ratio(double low, double high, FILE *stream) {
  char text[64];
  fputs(ratio_text(low, high, text, sizeof text), stream);
}

static void print_crossing(const struct found *f, const cJSON *crossing, FILE *stream) {
  char at[40], before[40];
  char names[2][NAME_SIZE];
  const char *below = ss_json_word(crossing, "winner_below"), *above = ss_json_word(crossing, "winner_above");
  if (below) below = named(f, below, names[0]);
  if (above) above = named(f, above, names[1]);
  const char *over = f->axis->name;
  position(f, ss_json_number(crossing, "at"), at, sizeof at);
  position(f, ss_json_number(crossing, "before"), before, sizeof before);
  if (!above) {
    fprintf(stream, "%s %s on both cost the same; %s is cheaper before.\n", over, at, below);
  } else if (f->axis->dimension == SS_NUMBER) {
    fprintf(stream, "%s is cheaper from %s %s on%s%s%s%s%s.\n", above, at, over, below ? "; " : "",
            below ? below : "", below ? " up to " : "", below ? before : "",
            below ? "" : " (before, both cost the same)");
  } else if (!below) {
    fprintf(stream, "%s is cheaper above %s %s; below, both cost the same.\n", above, over, at);
  } else if (cJSON_IsTrue(ss_json_get(crossing, "jump"))) {
    fprintf(stream, "%s is cheaper below %s %s, %s above: there one of the costs jumps.\n", below, over, at, above);
  } else {
    fprintf(stream, "%s is cheaper below %s %s, %s above; there both take %s, as links are given.\n", below, over, at,
            above, ss_shown(SS_TIME, ss_json_number(crossing, "a_s")));
  }
}

static void print_likely(const struct found *f, const cJSON *crossing, FILE *stream) {
  const double low = ss_json_number(crossing, "at_low"), high = ss_json_number(crossing, "at_high");
  const cJSON *range = list(f, "range");
  char from[40], to[40];
  if (!isfinite(low)) return;
  fprintf(stream, "  In 90 of 100 draws of what is not certain it lies from %s%s to %s%s.\n",
          position(f, low, from, sizeof from), low > ss_json_number(range, "low") ? "" : " (or below)",
          position(f, high, to, sizeof to), high < ss_json_number(range, "high") ? "" : " (or above)");
}

static void print_words(const struct found *f, FILE *stream) {
  const cJSON *crossings = list(f, "crossings"), *first = cJSON_GetArrayItem(list(f, "ranges"), 0);
  for (const cJSON *c = crossings ? crossings->child : NULL; c; c = c->next) {
    print_crossing(f, c, stream);
    print_likely(f, c, stream);
  }
  if (cJSON_GetArraySize(crossings) > 0) return;
  const char *where = cJSON_GetArraySize(list(f, "skipped")) > 0 ? "wherever in the range they can be compared"
                                                                 : "everywhere in the range";
  const char *winner = ss_json_word(first, "winner");
  char names[2][NAME_SIZE];
  if (!winner) {
    fprintf(stream, "Both cost the same %s.\n", where);
    return;
  }
  const double wins = number(f, "wins");
  fprintf(stream, "%s is cheaper %s%s: %s takes ", named(f, winner, names[0]), where,
          isnan(wins) ? "" : ", as links are given",
          named(f, text(f, strcmp(winner, text(f, "a")) == 0 ? "b" : "a"), names[1]));
  print_ratio(ss_json_number(first, "ratio_min"), ss_json_number(first, "ratio_max"), stream);
  if (isnan(wins)) fputs(".\n", stream);
  else if (wins < SS_LIKELY)
    fprintf(stream, "; but in %d of 100 draws alone: they cannot be told apart.\n", ss_of_100(wins));
  else fprintf(stream, "; so it is in %d of 100 draws.\n", ss_of_100(wins));
}

static bool print_ranges(const struct found *f, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {{"from", "low", NULL},
                                             {"to", "high", NULL},
                                             {"<cheaper", "cheaper", NULL},
                                             {"the other takes", "takes", NULL},
                                             {"?in 90 of 100 draws", "apart", NULL}};
  cJSON *ranges = cJSON_Duplicate(list(f, "ranges"), true);
  for (cJSON *r = ranges ? ranges->child : NULL; r; r = r->next) {
    const char *winner = ss_json_word(r, "winner");
    char low[64], high[64], ratio[64];
    (void)ratio_text(ss_json_number(r, "ratio_min"), ss_json_number(r, "ratio_max"), ratio, sizeof ratio);
    ss_json_add(r, SS_T("low", position(f, ss_json_number(r, "from"), low, sizeof low)),
                SS_T("high", position(f, ss_json_number(r, "to"), high, sizeof high)),
                SS_T("cheaper", winner ? winner : "neither"), SS_T("takes", winner ? ratio : "as long"));
    if (isfinite(ss_json_number(r, "ratio_low")))
      ss_json_add_text(
          r, "apart",
          ratio_text(ss_json_number(r, "ratio_low"), ss_json_number(r, "ratio_high"), ratio, sizeof ratio));
  }
  return ss_records_print(columns, ranges, false, stream, error);
}

/* --- what it holds for ------------------------------------------------------------------------------------ */

static void print_head(const struct found *f, FILE *stream) {
  char low[40], high[40], names[2][NAME_SIZE];
  const cJSON *links = list(f, "links");
  const double ranks = number(f, "ranks"), bytes = number(f, "M"), density = number(f, "density"),
               latency = ss_json_number(links, "latency"), bandwidth = ss_json_number(links, "bandwidth");
  fprintf(stream, "%s against %s over %s %s to %s:", named(f, text(f, "a"), names[0]),
          named(f, text(f, "b"), names[1]), f->axis->name,
          position(f, ss_json_number(list(f, "range"), "low"), low, sizeof low),
          position(f, ss_json_number(list(f, "range"), "high"), high, sizeof high));
  if (!isnan(ranks)) fprintf(stream, " %.0f ranks,", ranks);
  if (!isnan(bytes)) fprintf(stream, " %s dense,", ss_shown(SS_BYTES, bytes));
  if (!isnan(density)) fprintf(stream, " density %.4g%%,", 100 * density);
  fprintf(stream, " overlap %s, links of %s", text(f, "overlap"), text(f, "cluster"));
  if (!isnan(latency)) fprintf(stream, ", %s", ss_shown(SS_TIME, latency));
  if (!isnan(bandwidth)) fprintf(stream, ", %s", ss_shown(SS_RATE, bandwidth));
  fputs("\n\n", stream);
}

/* Uniform tensors, which no trace is. */
static void print_supposed(const struct found *f, FILE *stream) {
  static const char *const meetings[][2] = {{"random", "drawn at random, each rank for itself"},
                                            {"full", "the same on all ranks"},
                                            {"none", "different on all ranks"},
                                            {"list", "shared as --gamma lists"}};
  size_t i = 0;
  while (strcmp(meetings[i][0], text(f, "overlap")) != 0) i++;
  fprintf(stream,
          "Rows are %s, as many in each part of the table. A trace shares more or less and is uneven, and\nmay "
          "answer otherwise, as may another cluster: sparsync run --trace FILE --cluster %s plays one.\n",
          meetings[i][1], text(f, "cluster"));
}

static void print_notes(const struct found *f, FILE *stream) {
  const char *form = text(f, "form");
  const int rounded = cJSON_GetArraySize(list(f, "rounded")), skipped = cJSON_GetArraySize(list(f, "skipped"));
  const cJSON *round = cJSON_GetArrayItem(list(f, "rounded"), 0), *skip = cJSON_GetArrayItem(list(f, "skipped"), 0);
  char at[40];
  if (!form)
    fprintf(stream, "\nSimulated on %s at %.0f places, on uniform tensors; kernels not counted.\n",
            text(f, "cluster"), number(f, "probes"));
  else
    fprintf(stream, "\nClosed forms on %s; no kernels, no imbalance (--simulate plays the schedules).\n",
            strcmp(form, "nodes") == 0 ? "the cluster's nodes and cards" : "one flat link class");
  print_supposed(f, stream);
  if (rounded > 0)
    fprintf(stream,
            "Sizes that do not divide were rounded at %d places: at %s %s, %.6g rows at density %.4g%% became %.0f "
            "at %.4g%%.\n",
            rounded, f->axis->name, position(f, ss_json_number(round, "at"), at, sizeof at),
            ss_json_number(round, "rows_wanted"), 100 * ss_json_number(round, "density_wanted"),
            ss_json_number(round, "rows"), 100 * ss_json_number(round, "density"));
  if (skipped > 0)
    fprintf(stream, "Left out: %d places, such as %s %s: %s.\n", skipped, f->axis->name,
            position(f, ss_json_number(skip, "at"), at, sizeof at), ss_json_word(skip, "why"));
}

bool ss_crossover_table(const void *answer, FILE *stream, struct ss_error *error) {
  struct found found = {ss_answer_tree(answer), ss_axes};
  while (strcmp(found.axis->name, text(&found, "over")) != 0) found.axis++;
  print_head(&found, stream);
  print_words(&found, stream);
  fputc('\n', stream);
  if (!print_ranges(&found, stream, error)) return false;
  print_notes(&found, stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
