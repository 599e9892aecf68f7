#include "report/crossover_table.h"

#include "report/table.h"

bool ss_crossover_json(const void *study, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(ss_crossover_study_json(study), stream, error);
}

bool ss_crossover_csv(const void *study, FILE *stream, struct ss_error *error) {
  return ss_flat_csv_free(ss_crossover_ranges(study), stream, error);
}

/* --- words and the table ---------------------------------------------------------------------------------- */

static const char *place(const struct ss_crossover_study *t, double x, char *buffer, size_t size) {
  if (ss_axes[t->duel.over].dimension == SS_NUMBER) snprintf(buffer, size, "%.0f", x);
  else if (ss_axes[t->duel.over].dimension == SS_RATIO) snprintf(buffer, size, "%.4g%%", 100 * x);
  else ss_units_format(buffer, size, ss_axes[t->duel.over].dimension, x);
  return buffer;
}

/* "1.24 times as long", "1.24 to 7.5 times as long" */
static void print_ratio(const struct ss_crossover_part *p, FILE *stream) {
  if (p->ratio_max - p->ratio_min < 5e-4 * p->ratio_max) fprintf(stream, "%.4g times as long", p->ratio_max);
  else fprintf(stream, "%.4g to %.4g times as long", p->ratio_min, p->ratio_max);
}

static void print_crossing(const struct ss_crossover_study *t, const struct ss_crossing *c, FILE *stream) {
  char at[40], before[40], time[32];
  const char *below = ss_crossover_winner(t, c->below), *above = ss_crossover_winner(t, c->above);
  place(t, c->at, at, sizeof at);
  ss_units_format(time, sizeof time, SS_TIME, c->cost[0]);
  if (!above) {
    fprintf(stream, "%s %s on both cost the same; %s is cheaper before.\n", ss_axes[t->duel.over].name, at, below);
  } else if (ss_axes[t->duel.over].dimension == SS_NUMBER) {
    fprintf(stream, "%s is cheaper from %s %s on%s%s%s%s%s.\n", above, at, ss_axes[t->duel.over].name,
            below ? "; " : "", below ? below : "", below ? " up to " : "",
            below ? place(t, c->before, before, sizeof before) : "", below ? "" : " (before, both cost the same)");
  } else if (!below) {
    fprintf(stream, "%s is cheaper above %s %s; below, both cost the same.\n", above, ss_axes[t->duel.over].name, at);
  } else if (c->jump) {
    fprintf(stream, "%s is cheaper below %s %s, %s above: there one of the costs jumps.\n", below,
            ss_axes[t->duel.over].name, at, above);
  } else {
    fprintf(stream, "%s is cheaper below %s %s, %s above; there both take %s.\n", below, ss_axes[t->duel.over].name,
            at, above, time);
  }
}

static void print_words(const struct ss_crossover_study *t, FILE *stream) {
  const struct ss_crossover *found = &t->found;
  for (size_t i = 0; i < found->crossings; i++) print_crossing(t, &found->crossing[i], stream);
  if (found->crossings > 0) return;
  const struct ss_crossover_part *all = &found->part[0];
  const char *where = found->gaps > 0 ? "wherever in the range they can be compared" : "everywhere in the range";
  if (all->winner == 0) {
    fprintf(stream, "Both cost the same %s.\n", where);
    return;
  }
  fprintf(stream, "%s is cheaper %s: %s takes ", ss_crossover_winner(t, all->winner), where,
          ss_crossover_loser(t, all->winner));
  print_ratio(all, stream);
  fputs(".\n", stream);
}

static bool print_ranges(const struct ss_crossover_study *t, FILE *stream, struct ss_error *error) {
  struct ss_table *table = ss_table_of("from", "to", "<cheaper", "the other takes");
  for (size_t i = 0; i < t->found.parts; i++) {
    const struct ss_crossover_part *p = &t->found.part[i];
    char from[40], to[40];
    ss_table_texts(table, place(t, p->from, from, sizeof from), place(t, p->to, to, sizeof to),
                   p->winner ? ss_crossover_winner(t, p->winner) : "neither");
    if (p->winner == 0) ss_table_cell(table, "as long");
    else ss_table_cell(table, "%.4g to %.4g times as long", p->ratio_min, p->ratio_max);
  }
  return ss_table_print_free(table, false, stream, error);
}

/* What the answer holds for beside its cluster: uniform tensors, which no trace is. */
static void print_supposed(const struct ss_crossover_study *t, FILE *stream) {
  static const char *const overlaps[] = {[SS_GAMMA_RANDOM] = "drawn at random, each rank for itself",
                                         [SS_GAMMA_FULL] = "the same on all ranks",
                                         [SS_GAMMA_NONE] = "different on all ranks",
                                         [SS_GAMMA_LIST] = "shared as --gamma lists"};
  fprintf(
      stream,
      "Rows are %s, as many in each part of the table. A trace shares more or less and is uneven, and\nmay answer "
      "otherwise, as may another cluster: sparsync run --trace FILE --cluster %s plays one.\n",
      overlaps[t->duel.with->kind], t->duel.cluster.name);
}

static void print_notes(const struct ss_crossover_study *t, FILE *stream) {
  const struct ss_crossover *found = &t->found;
  char at[40];
  if (t->simulated)
    fprintf(stream, "\nSimulated on %s at %zu places, on uniform tensors; kernels not counted.\n",
            t->duel.cluster.name, found->probes);
  else
    fprintf(stream, "\nClosed forms on %s; no kernels, no imbalance (--simulate plays the schedules).\n",
            t->duel.form == SS_FORM_NODES ? "the cluster's nodes and cards" : "one flat link class");
  print_supposed(t, stream);
  if (t->roundings > 0) {
    const struct ss_rounding *r = &t->rounding[0];
    fprintf(
        stream,
        "Sizes that do not divide were rounded at %zu places: at %s %s, %.6g rows at density %.4g%% became %.0f at "
        "%.4g%%.\n",
        t->roundings, ss_axes[t->duel.over].name, place(t, r->at, at, sizeof at), r->rows_wanted,
        100 * r->density_wanted, r->rows, 100 * r->density);
  }
  if (found->gaps > 0)
    fprintf(stream, "Left out: %zu places, such as %s %s: %s.\n", found->gaps, ss_axes[t->duel.over].name,
            place(t, found->gap[0].at, at, sizeof at), found->gap[0].why);
}

bool ss_crossover_table(const void *study, FILE *stream, struct ss_error *error) {
  const struct ss_crossover_study *t = study;
  char low[40], high[40], size[32];
  const struct ss_duel *duel = &t->duel;
  fprintf(stream, "%s against %s over %s %s to %s:", duel->side[0].label, duel->side[1].label,
          ss_axes[t->duel.over].name, place(t, t->low, low, sizeof low), place(t, t->high, high, sizeof high));
  if (duel->over != SS_OVER_RANKS) fprintf(stream, " %u ranks,", duel->ranks);
  if (duel->over != SS_OVER_M)
    fprintf(stream, " %s dense,", ss_units_format(size, sizeof size, SS_BYTES, t->duel.with->bytes));
  if (duel->over != SS_OVER_DENSITY) fprintf(stream, " density %.4g%%,", 100 * t->duel.with->density);
  fprintf(stream, " overlap %s, links of %s", ss_gamma_names[duel->with->kind], duel->cluster.name);
  if (duel->over != SS_OVER_LATENCY)
    fprintf(stream, ", %s", ss_units_format(size, sizeof size, SS_TIME, duel->cluster.inter.alpha));
  if (duel->over != SS_OVER_BANDWIDTH)
    fprintf(stream, ", %s", ss_units_format(size, sizeof size, SS_RATE, 1 / duel->cluster.inter.beta));
  fputs("\n\n", stream);
  print_words(t, stream);
  fputc('\n', stream);
  if (!print_ranges(t, stream, error)) return false;
  print_notes(t, stream);
  return true;
}
