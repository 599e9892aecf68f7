#include "base/json.h"
#include "base/json_text.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/results_table.h"
#include "report/tables.h"
#include "schemes/simulate.h"
#include "study/trainings.h"

#include <cjson/cJSON.h>
#include <math.h>

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

/* Who wins most of the draws that the best does not. */
static const struct ss_training_point *rival_of(struct group g, const struct ss_training_point *best) {
  const struct ss_training_point *rival = NULL;
  for (size_t i = 0; i < g.count; i++)
    if (&g.point[i] != best && (!rival || g.point[i].wins > rival->wins)) rival = &g.point[i];
  return rival && rival->wins > 0 ? rival : NULL;
}

/* By draws: "4 ranks: embrace is fastest in 97 of 100 draws, ...; 1 ms of it stall." */
static void print_drawn(struct group g, FILE *stream) {
  const struct ss_training_point *best = fastest(g, NULL), *second = fastest(g, best), *rival = rival_of(g, best);
  const struct ss_uncertain mine = ss_training_uncertain(best);
  struct ss_decision d = {.best = best->system->name,
                          .time = best->result.mean,
                          .low = best->low,
                          .high = best->high,
                          .wins = best->wins};
  char stall[32];
  if (second) {
    const struct ss_uncertain other = ss_training_uncertain(second);
    const struct ss_likely ratio = ss_compare(&mine, &other).ratio;
    d.next = second->system->name;
    d.ratio_low = ratio.low;
    d.ratio_high = ratio.high;
  }
  if (rival && best->wins < 0.95) {
    const struct ss_uncertain other = ss_training_uncertain(rival);
    const struct ss_comparison against = ss_compare(&mine, &other);
    d.rival = rival->system->name;
    d.measure = ss_comparison_measure(&against);
    d.rival_wins = rival->wins;
    d.rival_low = against.ratio.low;
    d.rival_high = against.ratio.high;
  }
  fprintf(stream, "%u rank%s: ", best->ranks, best->ranks == 1 ? "" : "s");
  ss_decision_print(&d, stream);
  fprintf(stream, ". Of an iteration %s stall.\n", ss_units_format(stall, sizeof stall, SS_TIME, best->result.stall));
}

static void print_words(struct group g, FILE *stream) {
  const struct ss_training_point *best = fastest(g, NULL), *second = fastest(g, best);
  char time[32], stall[32];
  if (isfinite(best->low)) {
    print_drawn(g, stream);
    print_path(best, stream);
    return;
  }
  ss_units_format(time, sizeof time, SS_TIME, best->result.mean);
  ss_units_format(stall, sizeof stall, SS_TIME, best->result.stall);
  fprintf(stream, "%u rank%s: %s, %s an iteration, of which %s stall", best->ranks, best->ranks == 1 ? "" : "s",
          best->system->name, time, stall);
  if (second && second->result.mean > 1.0005 * best->result.mean)
    fprintf(stream, "; the next, %s, takes %.1f%% longer", second->system->name,
            100 * (second->result.mean / best->result.mean - 1));
  else if (second) fprintf(stream, ", and so does %s", second->system->name);
  fprintf(stream, ".\n");
  print_path(best, stream);
}

/* Adds what the table shows besides the points' JSON. */
static void add_words(cJSON *record, const struct ss_training_point *p) {
  char name[300];
  snprintf(name, sizeof name, "%s%s", p->system->name, p->system->baseline ? " *" : "");
  ss_json_add_text(record, "name", name);
  ss_range_add(record, "fan", p->fan.p5, p->fan.p95);
  ss_range_add(record, "range", p->low, p->high);
  ss_json_add_number(record, "sent", p->result.sent / p->ranks);
}

static bool print_group(struct group g, cJSON *records, FILE *stream, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<system", "name", NULL},           {"<schedule", "schedule", NULL},      {"iteration", "iteration_s", "s"},
      {"?low..high", "range", NULL},       {"?fastest in", "wins", "%.0f%%"},    {"?5%..95%", "fan", NULL},
      {"?median", "iteration_p50_s", "s"}, {"tokens/s", "tokens_per_s", "%.0f"}, {"compute", "compute_s", "s"},
      {"stall", "stall_s", "s"},           {"of it split", "split_s", "s"},      {"comm.", "communication_s", "s"},
      {"hidden", "hidden", "%.1f%%"},      {"sent/rank", "sent", "B"},           {"vs best *", "speedup", "%.2fx"},
      {"scaling", "scaling", "%.1f%%"}};
  print_words(g, stream);
  fputc('\n', stream);
  for (cJSON *r = records ? records->child : NULL; r; r = r->next) add_words(r, g.point++);
  const bool ok = ss_records_print(columns, records, false, stream, error);
  fputc('\n', stream);
  return ok;
}

static void print_estimates(const struct ss_training *t, FILE *stream) {
  for (size_t i = 0; i < t->workloads; i++) {
    const struct ss_workload *w = &t->workload[i].workload;
    for (size_t k = 0; k < w->estimates; k++)
      fprintf(stream, "%s: %s%s%s: %s\n", w->name, w->estimate[k].module ? w->estimate[k].module : "",
              w->estimate[k].module ? "." : "", w->estimate[k].field, w->estimate[k].how);
  }
}

static void print_ranking(const struct ss_train_study *s, FILE *stream) {
  const struct ss_training *t = &s->training;
  for (size_t i = 0; i < t->points; i++) {
    const struct ss_training_point *p = &t->point[i];
    if (i > 0 && t->point[i - 1].fed == p->fed && t->point[i - 1].ranks == p->ranks) continue;
    fprintf(stream, "%s, %u rank%s: fastest", p->fed->workload.name, p->ranks, p->ranks == 1 ? "" : "s");
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

/* "all-reduce ...": the ways that some task takes. */
static void print_ways(const struct ss_training *t, FILE *stream) {
  const char *said[SS_DENSE_WAYS];
  size_t n = 0;
  for (size_t i = 0; i < t->points; i++)
    for (uint32_t k = 0; k < t->point[i].timetable.tasks; k++) {
      const char *way = t->point[i].timetable.task[k].way;
      bool again = !way;
      for (size_t j = 0; j < n && !again; j++) again = said[j] == way;
      if (again) continue;
      fprintf(stream, "%s\"%s\"", n == 0 ? "all-reduce as a library would take it: " : " or ", way);
      said[n++] = way;
    }
  if (n > 0) fputc('\n', stream);
}

static void print_notes(const struct ss_train_study *s, FILE *stream) {
  const struct ss_training *t = &s->training;
  const struct ss_iterate_options *w = &t->point->options;
  const struct ss_device *device = &t->durations.device;
  struct ss_counted counted = {.device = device->counted ? s->device : NULL};
  bool sampled = false;
  for (int k = 0; k < SS_KERNELS; k++) counted.estimated = counted.estimated || !device->line[k].known;
  for (size_t i = 0; i < t->points; i++) sampled = sampled || t->point[i].sampled > 1;
  fprintf(stream, "iteration  mean over iterations %llu to %llu%s; kernels and Algorithm 1 ",
          (unsigned long long)w->warmup, (unsigned long long)w->iterations - 1, w->sigma > 0 ? " (with jitter)" : "");
  ss_print_counted(counted, stream);
  fputc('\n', stream);
  if (isfinite(t->point->low))
    fputs("low..high  where an iteration lies in 90 of 100 draws of what is not certain: numbers of the machine, "
          "times of\n"
          "           passes, the model (--certain leaves them out); fastest in: share of the draws\n",
          stream);
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
  print_ways(t, stream);
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
  SS_AUTO_JSON cJSON *all = ss_train_study_points(s);
  for (size_t i = 0, n; i < t->points; i += n) {
    const struct ss_training_point *p = &t->point[i];
    for (n = 1; i + n < t->points && p[n].fed == p->fed && p[n].ranks == p->ranks;) n++;
    if (i == 0 || t->point[i - 1].fed != p->fed)
      fprintf(stream, "%s on %s%s%s\n\n", p->fed->workload.name, s->cluster, s->source ? ", fed by " : "",
              s->source ? s->source->name : "");
    if (!print_group((struct group){p, n}, ss_records_take(all, n), stream, error)) return false;
    print_all_dense(p, n, stream);
  }
  if (s->best) print_ranking(s, stream);
  print_notes(s, stream);
  print_estimates(t, stream);
  return true;
}
