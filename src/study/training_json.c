#include "base/json.h"
#include "study/trainings.h"

void ss_training_part_name(const struct ss_training_point *p, enum ss_span_kind kind, uint32_t what, char *out,
                           size_t size) {
  const struct ss_workload *w = p->timetable.workload;
  switch (kind) {
  case SS_SPAN_BACKWARD: snprintf(out, size, "backward of %.80s", w->module[what].name); return;
  case SS_SPAN_FORWARD: snprintf(out, size, "forward of %.80s", w->module[what].name); return;
  case SS_SPAN_SPLIT: snprintf(out, size, "Algorithm 1"); return;
  case SS_SPAN_TASK: ss_task_name(&p->timetable, &p->timetable.task[what], out, size); return;
  }
}

const char *const ss_shade_names[SS_SHADES] = {"backward",        "forward",    "Algorithm 1",    "dense gradients",
                                               "table gradients", "prior rows", "looked-up rows", "delayed rows"};

static enum ss_shade shade_of(const struct ss_training_point *p, const struct ss_span *s) {
  if (s->kind == SS_SPAN_BACKWARD) return SS_SHADE_BACKWARD;
  if (s->kind == SS_SPAN_FORWARD) return SS_SHADE_FORWARD;
  if (s->kind == SS_SPAN_SPLIT) return SS_SHADE_SPLIT;
  const struct ss_task *task = &p->timetable.task[s->what];
  switch (task->kind) {
  case SS_TASK_LOOKUPS: return SS_SHADE_LOOKUPS;
  case SS_TASK_PRIOR: return SS_SHADE_PRIOR;
  case SS_TASK_DELAYED: return SS_SHADE_DELAYED;
  case SS_TASK_GRADIENT: break;
  }
  return task->dense ? SS_SHADE_DENSE : SS_SHADE_ROWS;
}

static const char *name_of(const struct ss_training_point *p, const struct ss_span *s) {
  if (s->kind == SS_SPAN_SPLIT) return "";
  return p->timetable.workload->module[s->kind == SS_SPAN_TASK ? *p->timetable.task[s->what].member : s->what].name;
}

bool ss_training_show(const struct ss_training_point *p, const struct ss_span *s, struct ss_training_shown *out) {
  if (s->kind != SS_SPAN_TASK && s->stream > 0) return false;
  const uint64_t last = p->options.iterations - 1;
  const double begin = p->result.end[last - 1], end = p->result.end[last];
  *out = (struct ss_training_shown){.shade = shade_of(p, s),
                                    .name = name_of(p, s),
                                    .start = fmax(s->start, begin) - begin,
                                    .end = fmin(isfinite(s->end) ? s->end : end, end) - begin,
                                    .task = s->kind == SS_SPAN_TASK,
                                    .channel = s->kind == SS_SPAN_TASK ? s->stream : 0,
                                    .slowed = s->kind == SS_SPAN_TASK ? ss_training_slowed(p, s) : 0};
  return out->end > out->start;
}

double ss_training_slowed(const struct ss_training_point *p, const struct ss_span *s) {
  const struct ss_task *task = &p->timetable.task[s->what];
  const struct ss_software *software = &p->system->concurrency.software;
  const double copies = software->copy > 0 && task->dense ? 2 * (double)task->bytes / software->copy : 0;
  const double takes = s->end - s->start, alone = task->seconds[s->iteration % task->period];
  const double slowed = takes - alone - software->call - copies;
  return isfinite(takes) && slowed > 1e-9 * takes ? slowed : 0; /* else what rounding leaves */
}

static const struct ss_setting *setting_of(const struct ss_training_point *p, const struct ss_task *task) {
  if (task->kind == SS_TASK_LOOKUPS) return &p->system->lookups;
  return p->timetable.workload->module[*task->member].embedding ? &p->system->sparse : &p->system->dense;
}

static cJSON *task_json(const struct ss_training_point *p, const struct ss_task *task, bool arrays) {
  cJSON *o = cJSON_CreateObject(), *modules = cJSON_AddArrayToObject(o, "modules");
  cJSON_AddStringToObject(o, "kind", ss_task_kind_name(task->kind));
  for (uint32_t i = 0; i < task->members; i++)
    cJSON_AddItemToArray(modules, cJSON_CreateString(p->timetable.workload->module[task->member[i]].name));
  ss_json_add(o, SS_N("part", task->part), SS_N("parts", task->parts), SS_T("scheme", setting_of(p, task)->label),
              SS_B("dense", task->dense), SS_N("channel", task->channel),
              SS_N("time_s", ss_task_seconds(task, &p->options)),
              SS_N("bytes_total", ss_task_sent(task, &p->options)));
  if (task->way) cJSON_AddStringToObject(o, "algorithm", task->way);
  if (arrays) cJSON_AddItemToObject(o, "times_s", cJSON_CreateDoubleArray(task->seconds, (int)task->period));
  return o;
}

static const char *const span_kinds[] = {"backward", "split", "forward", "task"};

static cJSON *path_json(const struct ss_training_point *p) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < p->paths; i++) {
    char name[200];
    ss_training_part_name(p, p->path[i].kind, p->path[i].what, name, sizeof name);
    cJSON_AddItemToArray(list, ss_json_object(SS_T("what", name), SS_T("kind", span_kinds[p->path[i].kind]),
                                              SS_N("time_s", p->path[i].seconds / (double)p->options.recorded)));
  }
  return list;
}

static cJSON *helps_json(const struct ss_training_point *p) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < p->helps; i++) {
    const struct ss_help *h = &p->help[i];
    cJSON *o = ss_json_object(SS_T("what", h->what), SS_N("iteration_s", h->mean),
                              SS_N("speedup", p->result.mean / h->mean));
    if (isfinite(p->wins))
      ss_json_add(o, SS_N("iteration_low_s", h->range.low), SS_N("iteration_high_s", h->range.high),
                  SS_N("speedup_low", h->speedup.low), SS_N("speedup_high", h->speedup.high));
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *spans_json(const struct ss_training_point *p) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < p->result.spans; i++) {
    struct ss_training_shown shown;
    if (!ss_training_show(p, &p->result.span[i], &shown)) continue;
    cJSON_AddItemToArray(
        list, ss_json_object(SS_T("lane", shown.task ? "channel" : "compute"), SS_N("channel", shown.channel),
                             SS_T("kind", ss_shade_names[shown.shade]), SS_T("name", shown.name),
                             SS_N("start_s", shown.start), SS_N("end_s", shown.end), SS_N("slowed_s", shown.slowed)));
  }
  return list;
}

static void add_arrays(cJSON *o, const struct ss_training_point *p) {
  const uint64_t n = p->options.iterations;
  cJSON *ends = cJSON_CreateDoubleArray(p->result.end, (int)n);
  ss_json_add(o, SS_J("ends_s", ends),
              SS_J("splits_s", cJSON_CreateDoubleArray(p->timetable.split ? p->timetable.split : &(double){0},
                                                       (int)p->timetable.split_period)),
              SS_J("spans", spans_json(p)));
}

/* "iteration_low_s", "iteration_high_s", ... */
static void add_ranges(cJSON *o, const struct ss_training_point *p) {
  static const char *const names[SS_TOLD][2] = {
      [SS_TOLD_ITERATION] = {"iteration", "_s"}, [SS_TOLD_COMPUTE] = {"compute", "_s"},
      [SS_TOLD_STALL] = {"stall", "_s"},         [SS_TOLD_SPLIT] = {"split", "_s"},
      [SS_TOLD_HIDDEN] = {"hidden", ""},         [SS_TOLD_COMMUNICATION] = {"communication", "_s"},
      [SS_TOLD_TOKENS] = {"tokens_per_s", ""},   [SS_TOLD_SPEEDUP] = {"speedup", ""},
      [SS_TOLD_SCALING] = {"scaling", ""}};
  char name[48];
  for (int i = 0; i < SS_TOLD && isfinite(p->wins); i++) {
    snprintf(name, sizeof name, "%s_low%s", names[i][0], names[i][1]);
    ss_json_add_number(o, name, p->likely[i].low);
    snprintf(name, sizeof name, "%s_high%s", names[i][0], names[i][1]);
    ss_json_add_number(o, name, p->likely[i].high);
  }
  if (isfinite(p->wins)) ss_json_add_number(o, "wins", p->wins);
}

static void add_numbers(cJSON *o, const struct ss_training_point *p) {
  const struct ss_iterated *r = &p->result;
  ss_json_add(o, SS_N("iteration_s", r->mean), SS_N("iteration_min_s", r->min), SS_N("iteration_max_s", r->max),
              SS_N("iteration_p5_s", p->fan.p5), SS_N("iteration_p50_s", p->fan.p50),
              SS_N("iteration_p95_s", p->fan.p95));
  add_ranges(o, p);
  ss_json_add(o, SS_N("compute_s", r->own), SS_N("stall_s", r->stall), SS_N("split_s", r->split),
              SS_N("step_s", r->step), SS_N("communication_s", r->busy), SS_N("hidden", r->hidden),
              SS_N("tokens_per_s", p->tokens), SS_N("speedup", p->speedup), SS_N("scaling", p->scaling),
              SS_N("bytes_total", r->sent), SS_N("sampled", p->sampled), SS_B("all_dense", p->all_dense));
}

static cJSON *point_json(const struct ss_train_study *s, size_t at) {
  const struct ss_training_point *p = &s->training.point[at];
  const struct ss_library *library = &s->training.durations.cluster.library;
  cJSON *o = ss_json_object(
      SS_T("workload", p->fed->workload.name), SS_T("system", p->system->name),
      SS_T("schedule", ss_schedule_name(p->system->schedule)), SS_T("sparse", p->system->sparse.label),
      SS_T("dense", p->system->dense.label), SS_B("baseline", p->system->baseline),
      SS_J("offered", ss_offer_json(ss_offer_over(&p->system->offer, library), library)), SS_N("ranks", p->ranks),
      SS_T("cluster", s->cluster), SS_T("device", s->device), SS_T("trace", s->source ? s->source->name : NULL),
      SS_N("iterations", (double)p->options.iterations), SS_N("warmup", (double)p->options.warmup),
      SS_N("compute", p->options.compute), SS_N("jitter", p->options.sigma));
  add_numbers(o, p);
  ss_json_add(o, SS_N("peak_bytes", p->peak), SS_N("server_peak_bytes", p->server_peak),
              SS_N("device_memory_bytes",
                   s->training.durations.device.memory_size > 0 ? s->training.durations.device.memory_size : NAN));
  cJSON *tasks = cJSON_AddArrayToObject(o, "tasks");
  for (uint32_t i = 0; i < p->timetable.tasks; i++)
    cJSON_AddItemToArray(tasks, task_json(p, &p->timetable.task[i], s->per_iteration));
  cJSON_AddItemToObject(o, "critical_path", path_json(p));
  ss_json_add(o, SS_T("bound", ss_bound_name(p->bound)),
              SS_T("bound_beside", p->beside < SS_BOUNDS ? ss_bound_name(p->beside) : NULL),
              SS_N("path_compute", p->compute), SS_N("path_software", p->software),
              SS_N("path_communication", p->communication));
  if (p->helps > 0) cJSON_AddItemToObject(o, "would_help", helps_json(p));
  if (s->per_iteration) add_arrays(o, p);
  if (s->best) {
    cJSON *ranking = cJSON_AddArrayToObject(o, "fastest");
    for (size_t k = 0; k < 3; k++) {
      cJSON_AddItemToArray(ranking,
                           ss_json_object(SS_N("compute", s->factor[k]), SS_T("system", s->best[at][k]->name)));
    }
  }
  return o;
}

cJSON *ss_train_study_points(const struct ss_train_study *s) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; list && i < s->training.points; i++) cJSON_AddItemToArray(list, point_json(s, i));
  return list;
}

/* Numbers that somebody estimated, so that nobody takes them for measured. */
static cJSON *estimates_json(const struct ss_training *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->workloads; i++) {
    const struct ss_workload *w = &t->workload[i].workload;
    for (size_t k = 0; k < w->estimates; k++) {
      cJSON_AddItemToArray(
          list, ss_json_object(SS_T("workload", w->name),
                               SS_J("module", w->estimate[k].module ? cJSON_CreateString(w->estimate[k].module)
                                                                    : cJSON_CreateNull()),
                               SS_T("field", w->estimate[k].field), SS_T("how", w->estimate[k].how)));
    }
  }
  return list;
}

static void add_scale(cJSON *root, const struct ss_scale *scale) {
  cJSON *o = NULL;
  for (size_t i = 0; scale && i < SS_SCALED; i++) {
    if (scale->factor[i] == 1) continue;
    if (!o) o = cJSON_AddObjectToObject(root, "scale");
    cJSON_AddNumberToObject(o, ss_scaled_names[i], scale->factor[i]);
  }
}

/* --- captures ----------------------------------------------------------------------------------------------- */

/* The point of what was run. */
static const struct ss_training_point *captured_point(const struct ss_train_study *s) {
  const struct ss_training_point *p = s->training.point;
  while (p->system != s->training.system || p->ranks != s->captured.world) p++;
  return p;
}

/* Where the prediction is off most, if both are known: in what is computed, or in what communication adds. */
static const char *off_most(double measured, double quiet, double predicted, double computed) {
  if (isnan(quiet)) return NULL;
  return fabs(computed - quiet) > fabs((predicted - computed) - (measured - quiet)) ? "computing" : "communication";
}

/* What is predicted for its sums, each by itself; NaN: these are not as many as were measured. */
static double sums_of(const struct ss_captured *c, const struct ss_training_point *p) {
  const struct ss_timetable *t = &p->timetable;
  double sum = 0;
  for (uint32_t i = 0; i < t->tasks; i++)
    for (uint32_t k = 0; k < t->task[i].period; k++) sum += t->task[i].seconds[k] / t->task[i].period;
  return t->tasks == c->buckets ? sum : NAN;
}

static void add_judgement(cJSON *o, const struct ss_captured *c, const struct ss_training_point *p, bool elsewhere) {
  const double computed = p->result.own + p->result.step, predicted = p->result.mean;
  const struct ss_likely *range = &p->likely[SS_TOLD_ITERATION];
  const bool holds = range->low <= c->time && c->time <= range->high;
  double largest = 0, all = 0;
  char name[200] = "";
  for (size_t i = 0; i < p->paths; i++) all += p->path[i].seconds;
  if (p->paths > 0) {
    ss_training_part_name(p, p->path[0].kind, p->path[0].what, name, sizeof name);
    largest = p->path[0].seconds;
  }
  ss_json_add(o, SS_N("measured_s", c->time), SS_N("measured_low_s", c->low), SS_N("measured_high_s", c->high),
              SS_N("steps", (double)c->steps), SS_N("predicted_s", predicted), SS_N("predicted_low_s", range->low),
              SS_N("predicted_high_s", range->high), SS_B("elsewhere", elsewhere),
              SS_N("off", elsewhere ? NAN : predicted / c->time - 1),
              SS_J("holds", isfinite(range->low) && !elsewhere ? cJSON_CreateBool(holds) : cJSON_CreateNull()),
              SS_N("quiet_s", c->quiet), SS_N("predicted_quiet_s", computed), SS_N("sums_s", c->sums),
              SS_N("predicted_sums_s", sums_of(c, p)),
              SS_T("off_most", off_most(c->time, c->quiet, predicted, computed)),
              SS_T("largest", p->paths > 0 ? name : NULL), SS_N("largest_share", all > 0 ? largest / all : NAN));
}

/* What it would make of what was measured is as many times as fast, where the prediction of that is good enough. */
static cJSON *switch_json(const struct ss_captured *c, const struct ss_training_point *p, bool holds) {
  const double time = p->ranks == c->world && holds ? c->time : NAN;
  const struct ss_likely *ratio = &p->likely[SS_TOLD_SPEEDUP];
  return ss_json_object(
      SS_T("system", p->system->name), SS_N("ranks", p->ranks), SS_B("lossy", ss_system_lossy(p->system)),
      SS_B("model_parallel", ss_scheme_model_parallel(p->system->sparse.scheme)), SS_N("speedup", p->speedup),
      SS_N("speedup_low", ratio->low), SS_N("speedup_high", ratio->high), SS_N("time_s", time / p->speedup),
      SS_N("time_low_s", time / ratio->high), SS_N("time_high_s", time / ratio->low));
}

cJSON *ss_train_study_capture(const struct ss_train_study *s) {
  const struct ss_captured *c = &s->captured;
  const struct ss_training *t = &s->training;
  if (!c->doc) return NULL;
  cJSON *o = ss_json_object(SS_T("trace", c->source->name), SS_T("run", c->run), SS_T("system", t->system->name),
                            SS_N("ranks", c->world));
  const bool elsewhere = ss_captured_elsewhere(c, s->training.durations.cluster.gpus_per_node);
  add_judgement(o, c, captured_point(s), elsewhere);
  const bool holds = !elsewhere && !cJSON_IsFalse(ss_json_get(o, "holds"));
  cJSON *list = cJSON_AddArrayToObject(o, "fastest");
  for (size_t i = 0, n; i < t->points; i += n) {
    n = ss_training_group(t, i);
    const struct ss_training_point *best = ss_training_fastest(t, i, false), *exact = ss_training_fastest(t, i, true);
    cJSON_AddItemToArray(list, switch_json(c, best, holds));
    if (exact && exact != best) cJSON_AddItemToArray(list, switch_json(c, exact, holds));
  }
  cJSON_AddItemToObject(o, "unknown", c->unknown.at ? cJSON_Duplicate(c->unknown.at, true) : cJSON_CreateArray());
  return o;
}

static void add_software(cJSON *root, const struct ss_inferred_file *f) {
  if (f->inferred.count == 0) return;
  const struct ss_spread *within = &f->inferred.within;
  cJSON *o = ss_json_object(SS_T("name", f->name), SS_N("numbers", f->numbers > 0 ? (double)f->numbers : (double)NAN),
                            SS_N("half", within->half > 0 ? within->half : NAN),
                            SS_N("most", within->most > 0 ? within->most : NAN));
  cJSON_AddItemToObject(root, "software", o);
}

cJSON *ss_train_study_json(const struct ss_train_study *s) {
  cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", s->name));
  add_scale(root, &s->scale);
  add_software(root, &s->software);
  if (s->captured.doc) cJSON_AddItemToObject(root, "capture", ss_train_study_capture(s));
  ss_json_add(root, SS_J("training", ss_train_study_points(s)), SS_J("estimates", estimates_json(&s->training)));
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
