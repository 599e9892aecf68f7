#include "base/json.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/results_table.h"
#include "report/tables.h"
#include "schemes/simulate.h"
#include "study/trainings.h"

bool ss_training_json(const void *study, FILE *stream, struct ss_error *error) {
  return ss_json_print_free(ss_train_study_json(study), stream, error);
}

bool ss_training_csv(const void *study, FILE *stream, struct ss_error *error) {
  return ss_flat_csv_free(ss_train_study_points(study), stream, error);
}

/* --- the table ------------------------------------------------------------------------------------------ */

/* The link that the most important task on the path waits for. */
static void print_link(const struct ss_training *t, const struct ss_training_point *p, FILE *stream) {
  size_t i = 0;
  while (i < p->paths && p->path[i].kind != SS_SPAN_TASK) i++;
  if (i == p->paths) return;
  const struct ss_task *task = &p->timetable.task[p->path[i].what];
  const struct ss_duration *d = &t->durations.duration[task->duration];
  char name[200];
  if (!d->link[0] || !(p->path[i].seconds > 0)) return;
  ss_task_name(&p->timetable, task, name, sizeof name);
  fprintf(stream, "  Of the time of %s, bytes on %s alone take %.0f%%", name, d->link,
          100 * (d->link_share - d->link_startup));
  if (d->link_startup >= 0.005) fprintf(stream, ", start-ups of messages there %.0f%%", 100 * d->link_startup);
  fputs(" (numbers as given).\n", stream);
}

/* "  An iteration would be 1.10 times (1.04 to 1.19) as fast with links that take no time, ..." */
static void print_helps(const struct ss_training_point *p, FILE *stream) {
  for (const struct ss_help *h = p->help; h < p->help + p->helps; h++) {
    fprintf(stream, h == p->help ? "  An iteration would be %.2f times" : ", %.2f times", p->result.mean / h->mean);
    if (isfinite(p->wins)) fprintf(stream, " (%.2f to %.2f)", h->speedup.low, h->speedup.high);
    fprintf(stream, h == p->help ? " as fast %s" : " %s", h->what);
  }
  if (p->helps > 0) fputs(".\n", stream);
}

static const char *article_of(enum ss_bound bound) {
  return bound == SS_BOUND_LINK ? "a " : bound == SS_BOUND_HOST ? "the " : "";
}

/* What the iteration waits for: the largest part of the critical path. */
static void print_path(const struct ss_training *t, const struct ss_training_point *p, FILE *stream) {
  char name[200];
  double all = 0;
  for (size_t i = 0; i < p->paths; i++) all += p->path[i].seconds;
  if (p->paths == 0 || all <= 0) return;
  ss_training_part_name(p, p->path[0].kind, p->path[0].what, name, sizeof name);
  fprintf(stream, p->beside < SS_BOUNDS ? "  Bound by no one thing: %s%s" : "  Bound by %s%s", article_of(p->bound),
          ss_bound_name(p->bound));
  if (p->beside < SS_BOUNDS)
    fprintf(stream, " and %s%s take nearly as much each", article_of(p->beside), ss_bound_name(p->beside));
  fputs(". Critical path, as numbers are given: ", stream);
  if (p->software > 0) fprintf(stream, "%.0f%% software, ", 100 * p->software);
  if (p->compute > 0) fprintf(stream, "%.0f%% compute, ", 100 * p->compute);
  fprintf(stream, "%.0f%% communication; most of all %s, %.0f%%.\n", 100 * p->communication, name,
          100 * p->path[0].seconds / all);
  print_link(t, p, stream);
  print_helps(p, stream);
}

/* The systems of these points that need more memory than the device has. */
static void print_unfit(const struct ss_training_point *p, size_t n, double memory, FILE *stream) {
  bool any = false;
  for (size_t i = 0; memory > 0 && i < n; i++) {
    if (p[i].peak <= memory) continue;
    if (!any) fputc(' ', stream);
    ss_unfit_print(p[i].system->name, p[i].peak, memory, !any, stream);
    any = true;
  }
  if (any) fputs(".\n", stream);
}

static const char *needs_of(const struct ss_system *s) {
  return ss_needs_words(ss_system_lossy(s), ss_scheme_model_parallel(s->sparse.scheme));
}

/* ". spardl is lossy; of the lossless systems zen is the fastest, 195 ms (146 ms to 276 ms)" */
static void print_lossless(const char *lossy, const struct ss_training_point *p, const struct ss_candidate *list,
                           size_t n, FILE *stream) {
  const struct ss_candidate *best = NULL;
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (ss_system_lossy(p[i].system) || list[i].left_out || (best && list[i].of.time >= best->of.time)) continue;
    best = &list[i];
    at = i;
  }
  fprintf(stream, ". %s is lossy: it leaves out or estimates a part of the gradient", lossy);
  if (!best) return;
  fprintf(stream, "; the fastest lossless system is %s%s, %s", p[at].system->name,
          ss_needs_words(false, best->model_parallel), ss_shown(SS_TIME, best->of.time));
  if (best->range.low < best->range.high)
    fprintf(stream, " (%s to %s)", ss_shown(SS_TIME, best->range.low), ss_shown(SS_TIME, best->range.high));
}

/* Who offers the fastest, of equals what somebody offers. */
static void print_offer(const struct ss_library *library, const struct ss_decision *d, FILE *stream) {
  const struct ss_candidate *told = d->best;
  for (const struct ss_candidate *c = d->list; c < d->list + d->n && !told->offer; c++)
    if (c->offer && !c->left_out && ss_uncertain_same(&d->best->of, &c->of)) told = c;
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  cJSON *record = ss_json_object(SS_T("label", told->of.label), SS_J("offered", ss_offer_json(told->offer, library)));
  ss_decision_add_times(record, d);
  cJSON_AddItemToArray(list, record);
  ss_offers_print(list, stream);
}

/* "4 ranks: embrace is fastest in 97 of 100 draws, ...; of an iteration 1 ms stall." */
static bool print_words(const struct ss_training *t, size_t first, size_t n, FILE *stream, struct ss_error *error) {
  const struct ss_training_point *p = &t->point[first];
  SS_AUTO_FREE struct ss_candidate *list = ss_alloc(n, sizeof *list);
  struct ss_decision d;
  if (!list) return ss_fail_memory(error, "comparing systems");
  if (!ss_training_decide(t, first, n, list, &d, error)) return false;
  const struct ss_training_point *best = &p[d.best - list];
  const struct ss_likely *stalled = &best->likely[SS_TOLD_STALL];
  fprintf(stream, "%u rank%s: ", p->ranks, p->ranks == 1 ? "" : "s");
  ss_decision_tell(&d, stream);
  if (ss_system_lossy(best->system)) print_lossless(best->system->name, p, list, n, stream);
  fprintf(stream, ". Of an iteration %s", ss_shown(SS_TIME, best->result.stall));
  if (stalled->low < stalled->high)
    fprintf(stream, " (%s to %s)", ss_shown(SS_TIME, stalled->low), ss_shown(SS_TIME, stalled->high));
  fputs(" stall.\n  ", stream);
  print_offer(&t->durations.cluster.library, &d, stream);
  print_path(t, best, stream);
  print_unfit(p, n, t->durations.device.memory_size, stream);
  return true;
}

/* Adds what the table shows besides the points' JSON. */
static void add_words(cJSON *record, const struct ss_training *t, const struct ss_training_point *p) {
  const struct ss_iterated *r = &p->result;
  const struct {
    const char *name;
    double seconds;
    enum ss_told told;
  } times[] = {{"iteration", r->mean, SS_TOLD_ITERATION},
               {"stalls", r->stall, SS_TOLD_STALL},
               {"computes", r->own, SS_TOLD_COMPUTE},
               {"splits", r->split, SS_TOLD_SPLIT},
               {"busy", r->busy, SS_TOLD_COMMUNICATION}};
  const struct ss_likely *l = p->likely;
  char name[300];
  snprintf(name, sizeof name, "%s%s", p->system->name, p->system->baseline ? " *" : "");
  ss_json_add_text(record, "name", name);
  ss_range_add(record, "fan", p->fan.p5, p->fan.p95);
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    ss_time_add(record, times[i].name, times[i].seconds, l[times[i].told].low, l[times[i].told].high);
  ss_count_add(record, "under", "%", 100 * r->hidden, 100 * l[SS_TOLD_HIDDEN].low, 100 * l[SS_TOLD_HIDDEN].high);
  ss_count_add(record, "tokens", "", p->tokens, l[SS_TOLD_TOKENS].low, l[SS_TOLD_TOKENS].high);
  if (t->systems > 1) {
    snprintf(name, sizeof name, "%d%%", ss_of_100(p->wins));
    ss_json_add_text(record, "fastest", isfinite(p->wins) ? name : NULL);
    ss_ratio_add(record, "vs_best", p->speedup, l[SS_TOLD_SPEEDUP].low, l[SS_TOLD_SPEEDUP].high);
  }
  if (t->rank_counts > 1)
    ss_count_add(record, "scales", "%", 100 * p->scaling, 100 * l[SS_TOLD_SCALING].low,
                 100 * l[SS_TOLD_SCALING].high);
  ss_json_add_number(record, "sent", r->sent / p->ranks);
}

/* A system that sends tables densely, never wins, and takes FOLDED times as long as the fastest: one name in a line.
 */
static const double FOLDED = 2;

static bool lags(const struct ss_training_point *p, const struct ss_training_point *best) {
  const struct ss_workload *w = &p->fed->workload;
  bool tables = false;
  for (uint32_t i = 0; i < w->modules; i++) tables = tables || w->module[i].embedding;
  return tables && (p->all_dense || p->timetable.policy.dense_tables) && !p->system->baseline &&
         !(p->wins >= 0.005) && p->result.mean >= FOLDED * best->result.mean;
}

/* Takes those that lag out of the records, and says in a line which they are. */
static void fold_lagging(const struct ss_training *t, const struct ss_training_point *p, cJSON *records,
                         FILE *stream) {
  const struct ss_training_point *best = ss_training_fastest(t, (size_t)(p - t->point), false);
  double least = INFINITY, most = 0;
  for (cJSON *r = records->child, *next; r; r = next, p++) {
    next = r->next;
    if (!lags(p, best)) continue;
    fprintf(stream, most > 0 ? ", %s" : "Not in the table (--wide): %s", p->system->name);
    least = fmin(least, p->result.mean / best->result.mean);
    most = fmax(most, p->result.mean / best->result.mean);
    cJSON_Delete(cJSON_DetachItemViaPointer(records, r));
  }
  if (most == 0) return;
  fprintf(stream, ": tables sent densely take %.3g ", least);
  if (least < most) fprintf(stream, "to %.3g ", most);
  fprintf(stream, "times as long as %s.\n", best->system->name);
}

static bool print_group(const struct ss_train_study *s, size_t first, cJSON *records, FILE *stream,
                        struct ss_error *error) {
  enum { WIDE = 6 }; /* the last columns: with --wide alone */
  const struct ss_training *t = &s->training;
  const struct ss_training_point *p = &t->point[first];
  const struct ss_column columns[] = {{"<system", "name", NULL},
                                      {SS_RANGED(records, "iteration", "iteration_low_s"), "iteration", NULL},
                                      {"?fastest in", "fastest", NULL},
                                      {"?5%..95%", "fan", NULL},
                                      {"?median", "iteration_p50_s", "s"},
                                      {SS_RANGED(records, "stall", "iteration_low_s"), "stalls", NULL},
                                      {SS_RANGED(records, "hidden", "hidden_low"), "under", NULL},
                                      {SS_RANGED(records, "?vs best *", "speedup_low"), "vs_best", NULL},
                                      {SS_RANGED(records, "?scaling", "iteration_low_s"), "scales", NULL},
                                      {SS_RANGED(records, "?tokens/s", "iteration_low_s"), "tokens", NULL},
                                      {"<schedule", "schedule", NULL},
                                      {SS_RANGED(records, "compute", "iteration_low_s"), "computes", NULL},
                                      {SS_RANGED(records, "of it split", "iteration_low_s"), "splits", NULL},
                                      {SS_RANGED(records, "comm.", "iteration_low_s"), "busy", NULL},
                                      {"sent/rank", "sent", "B"}};
  const size_t count = sizeof columns / sizeof *columns - (s->wide ? 0 : WIDE);
  for (cJSON *r = records ? records->child : NULL; r; r = r->next) add_words(r, t, p++);
  if (records && !s->wide) fold_lagging(t, &t->point[first], records, stream);
  fputc('\n', stream);
  struct ss_table *table = ss_table_of_records(columns, count, records);
  ss_table_fold(table);
  const bool ok = ss_table_print_free(table, false, stream, error);
  cJSON_Delete(records);
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

/* "software inferred from 16 numbers (mine), within a factor of 1.2 for 90% of them" */
static void print_software(const struct ss_train_study *s, FILE *stream) {
  const struct ss_inferred_file *f = &s->software;
  if (f->inferred.count == 0) return;
  fputs("software inferred", stream);
  if (f->numbers > 0) fprintf(stream, " from %u numbers", f->numbers);
  if (f->name) fprintf(stream, " (%s)", f->name);
  if (f->inferred.within.most > 1)
    fprintf(stream, ", within a factor of %.2g for 90%% of them, each left out", f->inferred.within.most);
  fputc('\n', stream);
}

static void print_ranking(const struct ss_train_study *s, FILE *stream) {
  const struct ss_training *t = &s->training;
  for (size_t i = 0; i < t->points; i++) {
    const struct ss_training_point *p = &t->point[i];
    if (i > 0 && t->point[i - 1].fed == p->fed && t->point[i - 1].ranks == p->ranks) continue;
    fprintf(stream, "%s, %u rank%s: fastest, as numbers are given:", p->fed->workload.name, p->ranks,
            p->ranks == 1 ? "" : "s");
    for (size_t k = 0; k < SS_TRAIN_FACTORS; k++)
      fprintf(stream, "%s %s%s at %g times the compute times", k ? "," : "", s->best[i][k]->name,
              needs_of(s->best[i][k]), s->factor[k]);
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

/* What the columns of the table say. */
static void print_columns(const struct ss_train_study *s, FILE *stream) {
  const struct ss_training *t = &s->training;
  if (isfinite(t->point->wins))
    fputs("(90%)      where it lies in 90 of 100 draws of what is not certain: numbers of the machine, times of "
          "passes, the\n           model (--certain leaves them out)\n",
          stream);
  if (isfinite(t->point->fan.p50))
    fputs("5%..95%    on the links of the cluster's \"jitter\": where 90% of its draws end, and their median; all "
          "else is of\n           even links\n",
          stream);
  fputs("stall      iteration less own forward and backward passes, mean over ranks\n"
        "hidden     of the time in which the channel is busy, the share under forward or backward passes\n",
        stream);
  if (t->systems > 1 && isfinite(t->point->wins)) fputs("fastest in: share of the draws\n", stream);
  if (t->systems > 1) fputs("vs best *  how many times faster than the fastest baseline (*)\n", stream);
  if (t->rank_counts > 1) fputs("scaling    share of linear scaling from the smallest rank count\n", stream);
  fputs("tokens/s   of all ranks, as many as the workload or the trace says\n"
        "schedule   in which order gradients are sent (docs/training.md)\n"
        "compute    own forward and backward passes, mean over ranks; of it split: Algorithm 1\n"
        "comm.      time in which the channel is busy\n"
        "sent/rank  in an iteration, mean over ranks\n",
        stream);
  fputs("shares of the critical path and of links are of the iteration as it is told\n", stream);
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
  if (s->wide) print_columns(s, stream);
  else
    fputs(
        "--wide: what the columns say; tokens a second, schedules, compute, what of it splits, communication, bytes "
        "sent\n",
        stream);
  if (w->compute != 1) fprintf(stream, "passes     the workload's times, multiplied by %g\n", w->compute);
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
  SS_AUTO_JSON cJSON *all = ss_train_study_points(s), *capture = ss_train_study_capture(s);
  for (size_t i = 0, n; i < t->points; i += n) {
    const struct ss_training_point *p = &t->point[i];
    n = ss_training_group(t, i);
    if (i == 0 || t->point[i - 1].fed != p->fed)
      fprintf(stream, "%s on %s%s%s\n\n", p->fed->workload.name, s->cluster, s->source ? ", fed by " : "",
              s->source ? s->source->name : "");
    if (i == 0 && capture) ss_capture_words(capture, stream);
    if (!print_words(t, i, n, stream, error)) return false;
    ss_capture_switch(capture, p->ranks, stream);
    if (!print_group(s, i, ss_records_take(all, n), stream, error)) return false;
    print_all_dense(p, n, stream);
  }
  if (s->best) print_ranking(s, stream);
  print_notes(s, stream);
  print_software(s, stream);
  print_estimates(t, stream);
  ss_capture_unknown(capture, stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
