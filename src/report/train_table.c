#include "report/results_table.h"
#include "report/table.h"
#include "report/train.h"

struct group {
  const struct ss_training_point *point;
  size_t count;
};

bool ss_training_json(const void *study, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(ss_train_study_json(study), stream, error);
}

bool ss_training_csv(const void *study, FILE *stream, struct ss_error *error) {
  return ss_flat_csv_free(ss_train_study_points(study), stream, error);
}

/* --- the table ------------------------------------------------------------------------------------------ */

static const struct ss_training_point *fastest(struct group g, const struct ss_training_point *but) {
  const struct ss_training_point *best = NULL;
  for (size_t i = 0; i < g.count; i++)
    if (&g.point[i] != but && (!best || g.point[i].result.mean < best->result.mean)) best = &g.point[i];
  return best;
}

/* What the iteration waits for: the largest part of the critical path. */
static void print_path(const struct ss_training_point *p, FILE *stream) {
  char name[200];
  double of_tasks = 0, all = 0;
  for (size_t i = 0; i < p->paths; i++) {
    all += p->path[i].seconds;
    if (p->path[i].kind == SS_SPAN_TASK) of_tasks += p->path[i].seconds;
  }
  if (p->paths == 0 || all <= 0) return;
  ss_training_part_name(p, p->path[0].kind, p->path[0].what, name, sizeof name);
  fprintf(stream, "  Critical path: %.0f%% communication; most of all %s, %.0f%%.\n", 100 * of_tasks / all, name,
          100 * p->path[0].seconds / all);
}

static void print_words(struct group g, FILE *stream) {
  const struct ss_training_point *best = fastest(g, NULL), *second = fastest(g, best);
  char time[32], stall[32];
  ss_units_format(time, sizeof time, SS_TIME, best->result.mean);
  ss_units_format(stall, sizeof stall, SS_TIME, best->result.stall);
  fprintf(stream, "%u ranks: %s, %s an iteration, of which %s stall", best->ranks, best->system->name, time, stall);
  if (second && second->result.mean > 1.0005 * best->result.mean)
    fprintf(stream, "; the next, %s, takes %.1f%% longer", second->system->name,
            100 * (second->result.mean / best->result.mean - 1));
  else if (second) fprintf(stream, ", and so does %s", second->system->name);
  fprintf(stream, ".\n");
  print_path(best, stream);
}

static void add_row(struct ss_table *table, const struct ss_training_point *p, bool drawn) {
  const struct ss_iterated *r = &p->result;
  ss_table_cell(table, "%s%s", p->system->name, p->system->baseline ? " *" : "");
  ss_table_cell(table, "%s", ss_schedule_name(p->system->schedule));
  ss_table_quantity(table, SS_TIME, r->mean);
  if (drawn) ss_fan_cells(table, &p->fan);
  ss_table_number(table, "%.0f", p->tokens);
  const double times[] = {r->own, r->stall, r->split, r->busy};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) ss_table_quantity(table, SS_TIME, times[i]);
  ss_table_number(table, "%.1f%%", 100 * r->hidden);
  ss_table_quantity(table, SS_BYTES, r->sent / p->ranks);
  ss_table_number(table, "%.2fx", p->speedup);
  ss_table_number(table, "%.1f%%", 100 * p->scaling);
}

static bool print_group(struct group g, FILE *stream, struct ss_error *error) {
  static const char *const all[] = {"<system",  "<schedule", "iteration", "5%..95%",     "median",
                                    "tokens/s", "compute",   "stall",     "of it split", "comm.",
                                    "hidden",   "sent/rank", "vs best *", "scaling"};
  enum { ALL = sizeof all / sizeof *all };
  const char *heads[ALL];
  const bool drawn = isfinite(g.point->fan.p50);
  size_t columns = 0;
  for (size_t i = 0; i < ALL; i++)
    if (drawn || (i != 3 && i != 4)) heads[columns++] = all[i];
  struct ss_table *table = ss_table_new(columns, heads);
  print_words(g, stream);
  fputc('\n', stream);
  for (size_t i = 0; i < g.count; i++) add_row(table, &g.point[i], drawn);
  const bool ok = ss_table_print_free(table, false, stream, error);
  fputc('\n', stream);
  return ok;
}

static void print_estimates(const struct ss_training *t, FILE *stream) {
  for (size_t i = 0; i < t->places; i++) {
    const struct ss_workload *w = &t->place[i].workload;
    for (size_t k = 0; k < w->estimates; k++)
      fprintf(stream, "%s: %s%s%s: %s\n", w->name, w->estimate[k].module ? w->estimate[k].module : "",
              w->estimate[k].module ? "." : "", w->estimate[k].field, w->estimate[k].how);
  }
}

static void print_ranking(const struct ss_train_study *s, FILE *stream) {
  const struct ss_training *t = &s->training;
  for (size_t i = 0; i < t->points; i++) {
    const struct ss_training_point *p = &t->point[i];
    if (i > 0 && t->point[i - 1].place == p->place && t->point[i - 1].ranks == p->ranks) continue;
    fprintf(stream, "%s, %u ranks: fastest", p->place->workload.name, p->ranks);
    for (size_t k = 0; k < 3; k++)
      fprintf(stream, "%s %s at %g times the compute times", k ? "," : "", s->best[i][k], s->factor[k]);
    fprintf(stream, "\n");
  }
  fputc('\n', stream);
}

/* Systems that are alike only because their ranks are in one node. */
static void print_all_dense(const struct ss_training_point *point, size_t n, FILE *stream) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (!point[i].all_dense) continue;
    if (count++ == 0) fprintf(stream, "All %u ranks are in one node, where ", point->ranks);
    else fputs(", ", stream);
    fputs(point[i].system->name, stream);
  }
  if (count > 0)
    fprintf(stream, " send%s tables densely, as an all-reduce does: only between nodes %s sparse.\n\n",
            count == 1 ? "s" : "", count == 1 ? "is it" : "are they");
}

static void print_notes(const struct ss_train_study *s, FILE *stream) {
  const struct ss_training *t = &s->training;
  const struct ss_iterate_options *w = &t->point->options;
  bool sampled = false;
  for (size_t i = 0; i < t->points; i++) sampled = sampled || t->point[i].sampled > 1;
  fprintf(stream, "iteration  mean over iterations %llu to %llu%s; kernels and Algorithm 1 %s\n",
          (unsigned long long)w->warmup, (unsigned long long)w->iterations - 1, w->sigma > 0 ? " (with jitter)" : "",
          t->durations.device.counted ? "counted" : "not counted (--device quick counts them)");
  if (isfinite(t->point->fan.p50))
    fputs("5%..95%    on the links of the cluster's \"jitter\": where 90% of its draws end, and their median; all "
          "else is "
          "of\n           even links\n",
          stream);
  if (w->compute != 1) fprintf(stream, "compute    the workload's times, multiplied by %g\n", w->compute);
  fputs("stall      iteration less own forward and backward passes, mean over ranks\n"
        "comm.      time in which the channel is busy; hidden: share of it under forward or backward passes\n"
        "vs best *  how many times faster than the fastest baseline (*)\n"
        "scaling    share of linear scaling from the smallest rank count\n",
        stream);
  if (sampled)
    fputs("sampled    of large dense tensors that are sent sparse, a part was simulated at a part of the bandwidth\n",
          stream);
  for (size_t i = 0; i < SS_SCALED; i++)
    if (i != SS_SCALED_COMPUTE && s->scale.factor[i] != 1)
      fprintf(stream, "scaled     %s, by %g\n", ss_scaled_names[i], s->scale.factor[i]);
}

bool ss_training_table(const void *study, FILE *stream, struct ss_error *error) {
  const struct ss_train_study *s = study;
  const struct ss_training *t = &s->training;
  for (size_t i = 0, n; i < t->points; i += n) {
    const struct ss_training_point *p = &t->point[i];
    for (n = 1; i + n < t->points && p[n].place == p->place && p[n].ranks == p->ranks;) n++;
    if (i == 0 || t->point[i - 1].place != p->place)
      fprintf(stream, "%s on %s%s%s\n\n", p->place->workload.name, s->cluster, s->trace ? ", fed by " : "",
              s->trace ? s->trace : "");
    if (!print_group((struct group){p, n}, stream, error)) return false;
    print_all_dense(p, n, stream);
  }
  if (s->best) print_ranking(s, stream);
  print_notes(s, stream);
  print_estimates(t, stream);
  return true;
}
