#include "report/crossover.h"

#include "report/exact.h"
#include "report/flat.h"
#include "report/nullable.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *winner_label(const struct ss_crossover_answer *t, int winner) {
  return winner == 0 ? NULL : t->duel->side[winner > 0].label;
}
static const char *loser_label(const struct ss_crossover_answer *t, int winner) {
  return t->duel->side[winner < 0].label;
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

static cJSON *crossings_json(const struct ss_crossover_answer *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->found->crossings; i++) {
    const struct ss_crossing *c = &t->found->crossing[i];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "at", c->at);
    cJSON_AddNumberToObject(o, "before", c->before);
    ss_json_add_text(o, "winner_below", winner_label(t, c->below));
    ss_json_add_text(o, "winner_above", winner_label(t, c->above));
    cJSON_AddNumberToObject(o, "a_s", c->cost[0]);
    cJSON_AddNumberToObject(o, "b_s", c->cost[1]);
    cJSON_AddBoolToObject(o, "jump", c->jump);
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *ranges_json(const struct ss_crossover_answer *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->found->parts; i++) {
    const struct ss_crossover_part *p = &t->found->part[i];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "from", p->from);
    cJSON_AddNumberToObject(o, "to", p->to);
    ss_json_add_text(o, "winner", winner_label(t, p->winner));
    cJSON_AddNumberToObject(o, "ratio_min", p->ratio_min);
    cJSON_AddNumberToObject(o, "ratio_max", p->ratio_max);
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *skipped_json(const struct ss_crossover_answer *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->found->gaps; i++) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "at", t->found->gap[i].at);
    cJSON_AddStringToObject(o, "why", t->found->gap[i].why);
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *rounded_json(const struct ss_duel *duel) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < duel->roundings; i++) {
    const struct ss_rounding *r = &duel->rounding[i];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "at", r->at);
    cJSON_AddNumberToObject(o, "rows", r->rows);
    cJSON_AddNumberToObject(o, "rows_wanted", r->rows_wanted);
    cJSON_AddNumberToObject(o, "density", r->density);
    cJSON_AddNumberToObject(o, "density_wanted", r->density_wanted);
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *side_json(const struct ss_crossover_answer *t, const struct ss_duel_side *side) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddItemToObject(o, "scheme", cJSON_Duplicate(ss_doc_root(side->doc).at, 1));
  if (t->simulated) return o;
  const char *const forms[] = {side->first->exact, side->first->paper, side->first->exact_low,
                               side->first->exact_high};
  const char *formula = forms[t->duel->form];
  ss_json_add_text(o, "formula", formula ? formula : side->first->exact);
  ss_json_add_text(o, "assumes", side->first->assumes);
  ss_json_add_text(o, "erratum", side->first->erratum);
  cJSON_AddBoolToObject(o, "several_forms", side->several);
  return o;
}

static void add_ratio(cJSON *root, const struct ss_crossover *found) {
  cJSON *o = cJSON_AddObjectToObject(root, "ratio");
  cJSON_AddNumberToObject(o, "min", found->ratio_min);
  cJSON_AddNumberToObject(o, "min_at", found->ratio_min_at);
  cJSON_AddNumberToObject(o, "max", found->ratio_max);
  cJSON_AddNumberToObject(o, "max_at", found->ratio_max_at);
}

static cJSON *root_json(const struct ss_crossover_answer *t) {
  static const char *const forms[] = {"exact", "paper", "low", "high"};
  const struct ss_crossover *found = t->found;
  cJSON *root = cJSON_CreateObject(), *range;
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "a", t->duel->side[0].label);
  cJSON_AddStringToObject(root, "b", t->duel->side[1].label);
  cJSON_AddStringToObject(root, "over", t->over);
  cJSON_AddStringToObject(root, "method", t->simulated ? "simulation" : "closed form");
  ss_json_add_text(root, "form", t->simulated ? NULL : forms[t->duel->form]);
  cJSON_AddStringToObject(root, "cluster", t->duel->cluster.name);
  range = cJSON_AddObjectToObject(root, "range");
  cJSON_AddNumberToObject(range, "low", t->low);
  cJSON_AddNumberToObject(range, "high", t->high);
  cJSON_AddItemToObject(root, "crossings", crossings_json(t));
  ss_json_add_text(root, "winner_below", winner_label(t, found->part[0].winner));
  ss_json_add_text(root, "winner_above", winner_label(t, found->part[found->parts - 1].winner));
  cJSON_AddItemToObject(root, "ranges", ranges_json(t));
  add_ratio(root, found);
  cJSON_AddNumberToObject(root, "probes", (double)found->probes);
  cJSON_AddItemToObject(root, "skipped", skipped_json(t));
  cJSON_AddItemToObject(root, "rounded", rounded_json(t->duel));
  cJSON_AddItemToObject(root, "forms_of_a", side_json(t, &t->duel->side[0]));
  cJSON_AddItemToObject(root, "forms_of_b", side_json(t, &t->duel->side[1]));
  return root;
}

bool ss_crossover_json(const struct ss_crossover_answer *t, FILE *stream, struct ss_error *error) {
  cJSON *root = root_json(t);
  const bool ok = ss_json_print(root, stream, error);
  cJSON_Delete(root);
  return ok;
}

bool ss_crossover_csv(const struct ss_crossover_answer *t, FILE *stream, struct ss_error *error) {
  cJSON *list = ranges_json(t);
  const bool ok = list ? ss_flat_csv(list, stream, error) : ss_fail_memory(error, "printing a crossover");
  cJSON_Delete(list);
  return ok;
}

/* --- words and the table ---------------------------------------------------------------------------------- */

static const char *place(const struct ss_crossover_answer *t, double x, char *buffer, size_t size) {
  if (t->dimension == SS_NUMBER) snprintf(buffer, size, "%.0f", x);
  else if (t->dimension == SS_RATIO) snprintf(buffer, size, "%.4g%%", 100 * x);
  else ss_units_format(buffer, size, t->dimension, x);
  return buffer;
}

/* "1.24 times as long", "1.24 to 7.5 times as long" */
static void print_ratio(const struct ss_crossover_part *p, FILE *stream) {
  if (p->ratio_max - p->ratio_min < 5e-4 * p->ratio_max) fprintf(stream, "%.4g times as long", p->ratio_max);
  else fprintf(stream, "%.4g to %.4g times as long", p->ratio_min, p->ratio_max);
}

static void print_crossing(const struct ss_crossover_answer *t, const struct ss_crossing *c, FILE *stream) {
  char at[40], before[40], time[32];
  const char *below = winner_label(t, c->below), *above = winner_label(t, c->above);
  place(t, c->at, at, sizeof at);
  ss_units_format(time, sizeof time, SS_TIME, c->cost[0]);
  if (!above) {
    fprintf(stream, "%s %s on both cost the same; %s is cheaper before.\n", t->over, at, below);
  } else if (t->dimension == SS_NUMBER) {
    fprintf(stream, "%s is cheaper from %s %s on%s%s%s%s%s.\n", above, at, t->over, below ? "; " : "",
            below ? below : "", below ? " up to " : "", below ? place(t, c->before, before, sizeof before) : "",
            below ? "" : " (before, both cost the same)");
  } else if (!below) {
    fprintf(stream, "%s is cheaper above %s %s; below, both cost the same.\n", above, t->over, at);
  } else if (c->jump) {
    fprintf(stream, "%s is cheaper below %s %s, %s above: there one of the costs jumps.\n", below, t->over, at,
            above);
  } else {
    fprintf(stream, "%s is cheaper below %s %s, %s above; there both take %s.\n", below, t->over, at, above, time);
  }
}

static void print_words(const struct ss_crossover_answer *t, FILE *stream) {
  const struct ss_crossover *found = t->found;
  for (size_t i = 0; i < found->crossings; i++) print_crossing(t, &found->crossing[i], stream);
  if (found->crossings > 0) return;
  const struct ss_crossover_part *all = &found->part[0];
  if (all->winner == 0) {
    fputs("Both cost the same everywhere in the range.\n", stream);
    return;
  }
  fprintf(stream, "%s is cheaper everywhere in the range: %s takes ", winner_label(t, all->winner),
          loser_label(t, all->winner));
  print_ratio(all, stream);
  fputs(".\n", stream);
}

static bool print_ranges(const struct ss_crossover_answer *t, FILE *stream, struct ss_error *error) {
  static const char *const heads[] = {"from", "to", "<cheaper", "the other takes"};
  struct ss_table *table = ss_table_new(4, heads);
  if (!table) return ss_fail_memory(error, "printing a crossover");
  for (size_t i = 0; i < t->found->parts; i++) {
    const struct ss_crossover_part *p = &t->found->part[i];
    char from[40], to[40];
    ss_table_cell(table, "%s", place(t, p->from, from, sizeof from));
    ss_table_cell(table, "%s", place(t, p->to, to, sizeof to));
    ss_table_cell(table, "%s", p->winner ? winner_label(t, p->winner) : "neither");
    if (p->winner == 0) ss_table_cell(table, "as long");
    else ss_table_cell(table, "%.4g to %.4g times as long", p->ratio_min, p->ratio_max);
  }
  const bool ok = ss_table_print(table, stream, error);
  ss_table_free(table);
  return ok;
}

static void print_notes(const struct ss_crossover_answer *t, FILE *stream) {
  const struct ss_crossover *found = t->found;
  char at[40];
  if (t->simulated)
    fprintf(stream, "\nSimulated on %s at %zu places, on uniform tensors; kernels not counted.\n",
            t->duel->cluster.name, found->probes);
  else
    fputs("\nClosed forms on one flat link class; no kernels, no imbalance (--simulate plays the schedules).\n",
          stream);
  if (t->duel->roundings > 0) {
    const struct ss_rounding *r = &t->duel->rounding[0];
    fprintf(
        stream,
        "Sizes that do not divide were rounded at %zu places: at %s %s, %.6g rows at density %.4g%% became %.0f at "
        "%.4g%%.\n",
        t->duel->roundings, t->over, place(t, r->at, at, sizeof at), r->rows_wanted, 100 * r->density_wanted, r->rows,
        100 * r->density);
  }
  if (found->gaps > 0)
    fprintf(stream, "Left out: %zu places, such as %s %s: %s.\n", found->gaps, t->over,
            place(t, found->gap[0].at, at, sizeof at), found->gap[0].why);
}

bool ss_crossover_table(const struct ss_crossover_answer *t, FILE *stream, struct ss_error *error) {
  char low[40], high[40], size[32];
  const struct ss_duel *duel = t->duel;
  fprintf(stream, "%s against %s over %s %s to %s:", duel->side[0].label, duel->side[1].label, t->over,
          place(t, t->low, low, sizeof low), place(t, t->high, high, sizeof high));
  if (duel->over != SS_OVER_RANKS) fprintf(stream, " %u ranks,", duel->ranks);
  if (duel->over != SS_OVER_M) fprintf(stream, " %s dense,", ss_units_format(size, sizeof size, SS_BYTES, t->bytes));
  if (duel->over != SS_OVER_DENSITY) fprintf(stream, " density %.4g%%,", 100 * t->density);
  fprintf(stream, " links of %s\n\n", duel->cluster.name);
  print_words(t, stream);
  fputc('\n', stream);
  if (!print_ranges(t, stream, error)) return false;
  print_notes(t, stream);
  return true;
}
