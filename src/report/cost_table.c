/* Closed forms side by side. */
#include "report/answers.h"

#include "library/sparsync.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* The time of the row's field `name` + "_s"; or of its bounds, `name` + "_low_s" and "_high_s". */
static void time_cell(struct ss_table *table, const struct ss_answer *a, size_t row, const char *name) {
  static const char *const ends[] = {"_s", "_low_s", "_high_s"};
  char text[3][64] = {"-", "-", "-"}, field[32];
  for (int i = 0; i < 3; i++) {
    snprintf(field, sizeof field, "%s%s", name, ends[i]);
    const double seconds = ss_answer_number(a, row, field);
    if (!isnan(seconds)) ss_units_format(text[i], sizeof text[i], SS_TIME, seconds);
  }
  if (strcmp(text[0], "-") != 0 || strcmp(text[1], "-") == 0) ss_table_cell(table, "%s", text[0]);
  else ss_table_cell(table, "%s..%s", text[1], text[2]);
}

/* The time on the cluster's nodes and cards. */
static void placed_cell(struct ss_table *table, const struct ss_answer *a, size_t row) {
  const double seconds = ss_answer_number(a, row, "placed_s");
  char text[64];
  if (isnan(seconds)) ss_table_cell(table, "-");
  else
    ss_table_cell(table, "%s%s", strcmp(ss_answer_text(a, row, "placed"), "exact") == 0 ? "" : ">= ",
                  ss_units_format(text, sizeof text, SS_TIME, seconds));
}

static void formula_cell(struct ss_table *table, const struct ss_answer *a, size_t row) {
  const char *formula = ss_answer_text(a, row, "formula"), *low = ss_answer_text(a, row, "formula_low");
  if (low && !formula) ss_table_cell(table, "%s .. %s", low, ss_answer_text(a, row, "formula_high"));
  else ss_table_cell(table, "%s", formula ? formula : "");
}

/* "25 us, 25 Gbit/s" */
static void print_link(const struct ss_answer *a, const char *latency, const char *bandwidth, FILE *stream) {
  char text[2][32];
  fprintf(stream, "%s, %s", ss_units_format(text[0], sizeof text[0], SS_TIME, ss_answer_number(a, SS_WHOLE, latency)),
          ss_units_format(text[1], sizeof text[1], SS_RATE, ss_answer_number(a, SS_WHOLE, bandwidth)));
}

static void print_notes(const struct ss_answer *a, FILE *stream) {
  const double gpus = ss_answer_number(a, 0, "gpus_per_node"), nics = ss_answer_number(a, 0, "nics");
  fputs("\nflat      every message on a link of its own of the class between nodes (", stream);
  print_link(a, "links.latency", "links.bandwidth", stream);
  fprintf(stream, ")\non nodes  %s with %.0f GPU%s and %.0f card%s a node", ss_answer_text(a, 0, "cluster"), gpus,
          gpus == 1 ? "" : "s", nics, nics == 1 ? "" : "s");
  if (gpus > 1) {
    fputs("; inside a node ", stream);
    print_link(a, "links.intra_latency", "links.intra_bandwidth", stream);
  }
  fprintf(stream,
          "; >=: no time is below it; -: not known\n"
          "Closed forms: no kernels, no imbalance; rows are supposed to meet as --gamma says: %s. --format json adds "
          "sources and errata.\n",
          ss_answer_text(a, SS_WHOLE, "overlap"));
}

bool ss_cost_table(const void *answer, FILE *stream, struct ss_error *error) {
  const struct ss_answer *a = answer;
  struct ss_table *table = ss_table_of("<form", "ranks", "flat", "on nodes", "as printed", "<formula");
  for (size_t i = 0; i < ss_answer_rows(a); i++) {
    ss_table_cell(table, "%s", ss_answer_text(a, i, "form"));
    ss_table_cell(table, "%.0f", ss_answer_number(a, i, "ranks"));
    time_cell(table, a, i, "formula");
    placed_cell(table, a, i);
    time_cell(table, a, i, "paper");
    formula_cell(table, a, i);
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  print_notes(a, stream);
  return ok;
}
