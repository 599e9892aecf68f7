#include "query/calibrate_training_request.h"

#include "base/json.h"
#include "calibration/validation.h"
#include "query/query_internal.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

enum { JUDGED_MOST = 64 }; /* systems, rank counts, workloads that are left out */

#define PART(member) SS_STORED(struct ss_calibrate_training_request, member)
static const struct ss_field_spec fields[] = {
    {"times", "a table (CSV) of times of trainings, and ratios of them", SS_IS_NAME, .required = true, PART(times)},
    {"where", "COLUMN=VALUE: only such lines", SS_IS_EITHER(ss_texts_forms)},
    {"fit", "what is inferred: compute, software.step, goodput@system, ...", SS_IS_EITHER(ss_texts_forms),
     .required = true},
    {"name", "(the table's)", SS_IS_TEXT, PART(name)},
    {"validate", "nothing inferred, but how well what is left out is predicted", SS_IS_FLAG, PART(validate)},
    {.name = NULL}};
const struct ss_object_spec ss_calibrate_training_fields = {
    .name = "calibrate_training", .says = "infers what lies between the wire and the clock", .field = fields};

bool ss_calibrate_training_read(struct ss_node object, struct ss_calibrate_training_request *out,
                                struct ss_error *error) {
  *out = (struct ss_calibrate_training_request){.times = NULL};
  return ss_object_read(&ss_calibrate_training_fields, object, out, error) &&
         ss_node_texts(ss_node_get(object, "where"), &out->arena, &out->where, error) &&
         ss_node_texts(ss_node_get(object, "fit"), &out->arena, &out->fit, error);
}

void ss_calibrate_training_close(struct ss_calibrate_training_request *request) {
  ss_arena_free(&request->arena);
}

/* --- how far off
 * ----------------------------------------------------------------------------------------------------- */

/* By which factor, less one: 0.2 is 20% too much, or so little that it would take 20% more. */
static double error_of(double ratio, double measured) {
  return exp(fabs(log(ratio / measured))) - 1;
}

/* Sorts them. */
static void add_errors(cJSON *o, const char *median, const char *most, const char *worst, double *errors,
                       size_t count) {
  gsl_sort(errors, 1, count);
  ss_json_add(o, SS_N(median, count > 0 ? gsl_stats_median_from_sorted_data(errors, 1, count) : NAN),
              SS_N(most, count > 0 ? gsl_stats_quantile_from_sorted_data(errors, 1, count, 0.9) : NAN));
  if (worst) ss_json_add_number(o, worst, count > 0 ? errors[count - 1] : NAN);
}

/* --- what was inferred ---------------------------------------------------------------------------------------------
 */

static cJSON *number_json(const struct ss_inferred_number *n) {
  const char *unit = ss_unknown_unit(n->what);
  cJSON *o = ss_json_object(SS_T("what", ss_unknown_names[n->what]));
  if (n->workload) ss_json_add_text(o, "workload", n->workload);
  if (n->system) ss_json_add_text(o, "system", n->system);
  if (n->cluster) ss_json_add_text(o, "cluster", n->cluster);
  ss_json_add_number(o, "value", n->value);
  if (isfinite(n->low)) ss_json_add_number(o, "low", n->low);
  if (isfinite(n->high)) ss_json_add_number(o, "high", n->high);
  if (unit[0]) ss_json_add_text(o, "unit", unit);
  return o;
}

static cJSON *numbers_json(const struct ss_training_fit *f) {
  SS_AUTO_FREE struct ss_inferred_number *n = ss_alloc(ss_training_fit_unknowns(f), sizeof *n);
  cJSON *list = n ? cJSON_CreateArray() : NULL;
  if (!list) return NULL;
  ss_training_fit_numbers(f, ss_training_fit_all(f), n);
  for (size_t k = 0; k < ss_training_fit_unknowns(f); k++) cJSON_AddItemToArray(list, number_json(&n[k]));
  return list;
}

static cJSON *time_json(const struct ss_training_times *t, size_t i, const struct ss_training_prediction *p) {
  const struct ss_training_time *time = &t->time[i];
  char text[64], of[64];
  return ss_json_object(SS_N("line", (double)time->line), SS_T("workload", time->text[SS_TIMES_WORKLOAD]),
                        SS_T("system", time->text[SS_TIMES_SYSTEM]), SS_T("ranks", time->text[SS_TIMES_RANKS]),
                        SS_T("quantity", time->text[SS_TIMES_QUANTITY]), SS_T("of", time->text[SS_TIMES_OF]),
                        SS_T("measured", ss_training_time_text(time, time->measured, text, sizeof text)),
                        SS_T("predicted", ss_training_time_text(time, p->ratio, of, sizeof of)),
                        SS_N("factor", p->ratio / time->measured),
                        SS_N("unfitted_factor", p->unfitted / time->measured));
}

static cJSON *fit_json(struct ss_training_fit *f, const struct ss_calibrate_training_request *q,
                       const struct ss_training_prediction *p) {
  const struct ss_training_times *t = ss_training_fit_times(f);
  const struct ss_inference *all = ss_training_fit_all(f);
  const char *file = strrchr(q->times, '/') ? strrchr(q->times, '/') + 1 : q->times;
  char summary[300];
  SS_AUTO_FREE double *errors = ss_alloc(t->count, 2 * sizeof *errors);
  if (!errors) return NULL;
  (void)snprintf(summary, sizeof summary, "inferred from %zu numbers of %.100s", t->count, file);
  cJSON *times = cJSON_CreateArray(), *fit = cJSON_CreateObject();
  for (size_t i = 0; i < t->count; i++) {
    cJSON_AddItemToArray(times, time_json(t, i, &p[i]));
    errors[i] = error_of(p[i].ratio, t->time[i].measured);
    errors[t->count + i] = error_of(p[i].unfitted, t->time[i].measured);
  }
  add_errors(fit, "median_error", "p90_error", "worst_error", errors, t->count);
  add_errors(fit, "unfitted_median_error", "unfitted_p90_error", "unfitted_worst_error", errors + t->count, t->count);
  ss_json_add(fit, SS_T("ranges", "the wider of the jackknife's and of what prior and residuals leave open, 90%"),
              SS_N("plays", (double)ss_training_fit_plays(f)));
  cJSON *accuracy =
      ss_json_object(SS_N("numbers", (double)t->count), SS_N("unknowns", (double)ss_training_fit_unknowns(f)),
                     SS_N("half", all->half), SS_N("most", all->most));
  return ss_json_object(SS_T("name", q->name ? q->name : file), SS_T("summary", summary),
                        SS_J("inferred", numbers_json(f)), SS_J("accuracy", accuracy),
                        SS_J("source", ss_json_object(SS_T("inferred", summary))),
                        SS_J("notes", ss_json_object(SS_J("fit", fit), SS_J("times", times))));
}

/* --- what was left out
 * ----------------------------------------------------------------------------------------------- */

/* The groups that are left out in turn: each number, each system, each rank count, each workload. */
enum leave { EACH_NUMBER, EACH_SYSTEM, EACH_RANKS, EACH_WORKLOAD, LEAVES };

struct judging {
  struct ss_training_fit *fit;
  const struct ss_training_times *times;
  enum leave leave;
  const char *name[JUDGED_MOST]; /* [names] of groups */
  size_t names;
  struct ss_training_prediction *prediction; /* [times] */
  double *fitted, *unfitted;                 /* errors of all groups so far [count], room for [2 * times] */
  size_t count, room;
  cJSON *lines, *groups, *each; /* what is said: of all, of each group of a kind, of each number */
  size_t unpredicted;
};

static enum ss_time_column column_of(enum leave leave) {
  return leave == EACH_SYSTEM ? SS_TIMES_SYSTEM : leave == EACH_RANKS ? SS_TIMES_RANKS : SS_TIMES_WORKLOAD;
}

/* Is the word one of "a|b@4", or of what a ratio refers to? */
static bool names(const char *list, const char *word, size_t length) {
  for (const char *at = list; *at;) {
    const size_t n = strcspn(at, "|@");
    if (n == length && strncmp(at, word, n) == 0) return true;
    at += n;
    at += *at != '\0';
  }
  return false;
}

static bool takes(void *context, size_t group, size_t i) {
  const struct judging *j = context;
  const char *name = j->name[group];
  if (j->leave == EACH_NUMBER) return group == i;
  const struct ss_training_time *t = &j->times->time[i];
  return names(t->text[column_of(j->leave)], name, strlen(name)) ||
         (j->leave != EACH_WORKLOAD && names(t->text[SS_TIMES_OF], name, strlen(name)));
}

static void add_name(struct judging *j, const char *text, size_t length) {
  for (size_t k = 0; k < j->names; k++)
    if (strlen(j->name[k]) == length && strncmp(j->name[k], text, length) == 0) return;
  char *copy = length > 0 && j->names < JUDGED_MOST ? strndup(text, length) : NULL;
  if (copy) j->name[j->names++] = copy;
}

static void list_names(struct judging *j) {
  for (size_t i = 0; i < j->times->count; i++)
    for (const char *at = j->times->time[i].text[column_of(j->leave)]; *at;) {
      const size_t n = strcspn(at, "|");
      add_name(j, at, n);
      at += n;
      at += *at == '|';
    }
}

static void free_names(struct judging *j) {
  for (size_t k = 0; k < j->names; k++) free((char *)j->name[k]);
  j->names = 0;
}

/* Of the errors from `first` on. */
static void add_line(const struct judging *j, cJSON *lines, const char *of, size_t first) {
  cJSON *o = ss_json_object(SS_T("of", of), SS_N("count", (double)(j->count - first)));
  add_errors(o, "median_error", "p90_error", "worst_error", j->fitted + first, j->count - first);
  add_errors(o, "unfitted_median_error", "unfitted_p90_error", NULL, j->unfitted + first, j->count - first);
  cJSON_AddItemToArray(lines, o);
}

static bool predict(void *context, size_t group, const bool *left_out, struct ss_error *error) {
  struct judging *j = context;
  const size_t first = j->count;
  size_t left = 0;
  char of[200];
  for (size_t i = 0; i < j->times->count; i++) left += !left_out[i];
  if (left < ss_training_fit_unknowns(j->fit)) {
    j->unpredicted++;
    return true;
  }
  if (!ss_training_fit_predict(j->fit, left_out, j->prediction, NULL, error)) return false;
  for (size_t i = 0; i < j->times->count; i++) {
    if (!left_out[i] || j->count == j->room) continue;
    j->fitted[j->count] = error_of(j->prediction[i].ratio, j->prediction[i].measured);
    j->unfitted[j->count++] = error_of(j->prediction[i].unfitted, j->prediction[i].measured);
    if (j->leave == EACH_NUMBER) cJSON_AddItemToArray(j->each, time_json(j->times, i, &j->prediction[i]));
  }
  if (j->leave == EACH_NUMBER) return true;
  (void)snprintf(of, sizeof of, "%.150s%s", j->name[group], j->leave == EACH_RANKS ? " ranks" : "");
  add_line(j, j->groups, of, first);
  return true;
}

/* One line of all of them in front of those of its groups. */
static bool leave_each(struct judging *j, const struct ss_watcher *watcher, struct ss_error *error) {
  static const char *const titles[] = {"each number", "systems", "rank counts", "workloads"};
  SS_AUTO_JSON cJSON *groups = j->groups = cJSON_CreateArray();
  cJSON *line;
  if (j->leave != EACH_NUMBER) list_names(j);
  const struct ss_leaving leaving = {.context = j,
                                     .groups = j->leave == EACH_NUMBER ? j->times->count : j->names,
                                     .count = j->times->count,
                                     .takes = takes,
                                     .predict = predict,
                                     .watcher = watcher};
  j->count = 0;
  if (j->leave != EACH_NUMBER && j->names < 2) return true;
  if (!ss_leave_each(&leaving, error)) return false;
  add_line(j, j->lines, titles[j->leave], 0);
  while ((line = cJSON_DetachItemFromArray(groups, 0))) cJSON_AddItemToArray(j->lines, line);
  return true;
}

static bool judge(struct ss_training_fit *f, const struct ss_calibrate_training_request *q,
                  const struct ss_watcher *watcher, cJSON **out, struct ss_error *error) {
  const struct ss_training_times *times = ss_training_fit_times(f);
  struct judging j = {.fit = f, .times = times, .room = times->count * JUDGED_MOST};
  SS_AUTO_FREE struct ss_training_prediction *prediction = j.prediction = ss_alloc(times->count, sizeof *prediction);
  SS_AUTO_FREE double *errors = j.fitted = ss_alloc(j.room, 2 * sizeof *errors);
  bool ok = (prediction && errors) || ss_fail_memory(error, "judging a calibration");
  j.unfitted = ok ? errors + j.room : NULL;
  *out = ss_json_object(SS_T("name", q->name ? q->name : q->times), SS_T("left_out", "each"),
                        SS_J("errors", j.lines = cJSON_CreateArray()), SS_J("inferred", numbers_json(f)),
                        SS_J("times", j.each = cJSON_CreateArray()));
  for (j.leave = EACH_NUMBER; ok && j.leave < LEAVES; j.leave++) {
    ok = leave_each(&j, watcher, error);
    free_names(&j);
  }
  ss_json_add(*out, SS_N("not_predicted", (double)j.unpredicted),
              SS_T("reason", j.unpredicted > 0 ? "fewer numbers than unknowns are left" : NULL),
              SS_N("plays", (double)ss_training_fit_plays(f)));
  return ok;
}

/* What stands on a bound of the search is not what the times would have. */
static void tell_bounds(const struct ss_training_fit *f, const struct ss_notice *notice) {
  char text[200];
  for (size_t k = 0; k < ss_training_fit_unknowns(f); k++) {
    const struct ss_inferred_number *n = ss_training_fit_unknown(f, k);
    const char *of = n->workload ? n->workload : n->system ? n->system : n->cluster;
    if (!ss_training_fit_bound(f, k)) continue;
    (void)snprintf(text, sizeof text, "%s%s%s ends on a bound of its search: these times want more than it can give",
                   ss_unknown_names[n->what], of ? " of " : "", of ? of : "");
    ss_notice_tell(notice, text);
  }
}

bool ss_calibrate_training_answer(const struct ss_calibrate_training_request *q, const struct ss_request *asked,
                                  struct cJSON **out, struct ss_error *error) {
  SS_AUTO_TRAINING_FIT struct ss_training_fit *f = NULL;
  const struct ss_training_fit_request request = {.file = q->times,
                                                  .where = q->where.text,
                                                  .wheres = q->where.count,
                                                  .unknown = q->fit.text,
                                                  .unknowns = q->fit.count,
                                                  .notice = asked->notice,
                                                  .run = asked->run};
  if (!ss_training_fit_open(&request, &f, error)) return false;
  tell_bounds(f, asked->notice);
  if (q->validate) return judge(f, q, asked->run.watcher, out, error);
  SS_AUTO_FREE struct ss_training_prediction *p = ss_alloc(ss_training_fit_times(f)->count, sizeof *p);
  if (!p) return ss_fail_memory(error, "fitting trainings");
  if (!ss_training_fit_predict(f, NULL, p, NULL, error)) return false;
  *out = fit_json(f, q, p);
  return *out || ss_fail_memory(error, "fitting trainings");
}

bool ss_answer_calibrate_training(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  SS_AUTO(ss_calibrate_training_close) struct ss_calibrate_training_request q = {.times = NULL};
  return ss_calibrate_training_read(object, &q, error) &&
         ss_calibrate_training_answer(&q, request, &request->answer, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
