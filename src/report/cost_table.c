/* Closed forms side by side. */

#include "base/json.h"
#include "library/request.h"
#include "report/columns.h"
#include "report/results_table.h"
#include "report/tables.h"

/* Adds "1.2 ms 0.80..1.8" of the field NAME_s of a form and its range, or "1 ms..2 ms 0.8..2.4" of its bounds
 * NAME_low_s and NAME_high_s; `least`: what to write before it. */
static void add_time(cJSON *form, const char *head, const char *name, const char *range, const char *least) {
  static const char *const ends[] = {"_s", "_low_s", "_high_s"};
  double at[3], likely[2];
  char field[48], text[160], high[32] = "";
  for (int i = 0; i < 3; i++) {
    snprintf(field, sizeof field, "%s%s", name, ends[i]);
    at[i] = ss_json_number(form, field);
    snprintf(field, sizeof field, "%s%s", range, ends[i]);
    if (i > 0) likely[i - 1] = ss_json_number(form, field);
  }
  const bool bounds = isnan(at[0]) && !isnan(at[1]);
  ss_time_add(form, "shown_time", bounds ? at[1] : at[0], likely[0], likely[1]);
  const char *shown = ss_json_word(form, "shown_time");
  if (!shown) return;
  const size_t own = strcspn(shown, " ") + 1, unit = own + strcspn(shown + own, " ");
  if (bounds) {
    high[0] = high[1] = '.';
    ss_units_format(high + 2, sizeof high - 2, SS_TIME, at[2]);
  }
  snprintf(text, sizeof text, "%s%.*s%s%s", least, (int)unit, shown, high, shown + unit);
  ss_json_add_text(form, head, text);
  cJSON_DeleteItemFromObjectCaseSensitive(form, "shown_time");
}

/* Adds what the table shows besides the forms' JSON; `placed`: the time on the cluster's nodes and cards. */
static void add_words(cJSON *form) {
  char text[2000];
  const char *formula = ss_json_word(form, "formula"), *low = ss_json_word(form, "formula_low"),
             *placed = ss_json_word(form, "placed");
  add_time(form, "flat", "formula", "flat", "");
  add_time(form, "printed", "paper", "printed", "");
  add_time(form, "on_nodes", "placed", "placed", placed && strcmp(placed, "exact") != 0 ? ">= " : "");
  if (low && !formula) snprintf(text, sizeof text, "%s .. %s", low, ss_json_word(form, "formula_high"));
  else snprintf(text, sizeof text, "%s", formula ? formula : "");
  ss_json_add_text(form, "shown", text);
}

/* "25 us, 25 Gbit/s" */
static void print_link(const struct ss_answer *a, const char *latency, const char *bandwidth, FILE *stream) {
  fprintf(stream, "%s, %s", ss_shown(SS_TIME, ss_answer_number(a, SS_WHOLE, latency)),
          ss_shown(SS_RATE, ss_answer_number(a, SS_WHOLE, bandwidth)));
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
          "Closed forms: no kernels, no imbalance; rows are supposed to meet as --gamma says: %s.\n"
          "--format json adds sources and errata.\n",
          ss_answer_text(a, SS_WHOLE, "overlap"));
}

bool ss_cost_table(const void *answer, FILE *stream, struct ss_error *error) {
  cJSON *forms = cJSON_Duplicate(ss_answer_list(answer), true);
  const struct ss_column columns[] = {{"<form", "form", NULL},
                                      {"<ranks", "ranks", "%.0f"},
                                      {SS_RANGED(forms, "flat", "flat_low_s"), "flat", NULL},
                                      {SS_RANGED(forms, "on nodes", "placed_low_s"), "on_nodes", NULL},
                                      {SS_RANGED(forms, "as printed", "printed_low_s"), "printed", NULL},
                                      {"<formula", "shown", NULL}};
  const bool ranged = ss_records_have(forms, "flat_low_s");
  for (cJSON *f = forms ? forms->child : NULL; f; f = f->next) add_words(f);
  struct ss_table *table = ss_records_table(columns, forms);
  if (table) ss_table_fold(table);
  cJSON_Delete(forms);
  const bool ok = ss_table_print_free(table, false, stream, error);
  print_notes(answer, stream);
  if (ranged)
    fputs("(90%): where it lies in 90 of 100 draws of links and the model that are not certain (--certain leaves "
          "them out)\n",
          stream);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
