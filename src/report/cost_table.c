/* Closed forms side by side. */

#include "base/json_text.h"
#include "library/request.h"
#include "report/columns.h"
#include "report/tables.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* "1.2 ms" of the field NAME_s of a form, or "1 ms..2 ms" of its bounds NAME_low_s and NAME_high_s; in `out`. */
static const char *time_text(const cJSON *form, const char *name, char *out, size_t size) {
  static const char *const ends[] = {"_s", "_low_s", "_high_s"};
  char text[3][32] = {"-", "-", "-"}, field[32];
  for (int i = 0; i < 3; i++) {
    snprintf(field, sizeof field, "%s%s", name, ends[i]);
    const double seconds = ss_json_number(form, field);
    if (!isnan(seconds)) ss_units_format(text[i], sizeof text[i], SS_TIME, seconds);
  }
  if (text[0][0] != '-' || text[1][0] == '-') snprintf(out, size, "%s", text[0]);
  else snprintf(out, size, "%s..%s", text[1], text[2]);
  return out;
}

/* Adds what the table shows besides the forms' JSON; `placed`: the time on the cluster's nodes and cards. */
static void add_words(cJSON *form) {
  char text[2000], placed_text[64];
  const char *formula = ss_json_word(form, "formula"), *low = ss_json_word(form, "formula_low"),
             *placed = ss_json_word(form, "placed");
  ss_json_add_text(form, "flat", time_text(form, "formula", text, sizeof text));
  ss_json_add_text(form, "printed", time_text(form, "paper", text, sizeof text));
  snprintf(text, sizeof text, "%s%s", placed && strcmp(placed, "exact") != 0 ? ">= " : "",
           time_text(form, "placed", placed_text, sizeof placed_text));
  ss_json_add_text(form, "on_nodes", text);
  if (low && !formula) snprintf(text, sizeof text, "%s .. %s", low, ss_json_word(form, "formula_high"));
  else snprintf(text, sizeof text, "%s", formula ? formula : "");
  ss_json_add_text(form, "shown", text);
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
  static const struct ss_column columns[] = {{"<form", "form", NULL},         {"ranks", "ranks", "%.0f"},
                                             {"flat", "flat", NULL},          {"on nodes", "on_nodes", NULL},
                                             {"as printed", "printed", NULL}, {"<formula", "shown", NULL}};
  cJSON *forms = cJSON_Duplicate(ss_answer_list(answer), true);
  for (cJSON *f = forms ? forms->child : NULL; f; f = f->next) add_words(f);
  const bool ok = ss_records_print(columns, forms, false, stream, error);
  print_notes(answer, stream);
  return ok;
}
