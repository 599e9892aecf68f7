/* Chrome's trace-event format (JSON object form): one complete event ("X") an operation or task, times in us. */

#include "base/json.h"
#include "report/tables.h"
#include "study/trainings.h"

/* A line of the list; false when memory is short. */
static bool print_event(cJSON *event, FILE *stream) {
  SS_AUTO_FREE char *text = event ? ss_json_exact(event, false) : NULL;
  cJSON_Delete(event);
  if (text) fprintf(stream, "%s,\n", text);
  return text != NULL;
}

static bool name_thread(size_t process, uint32_t thread, const char *kind, const char *name, FILE *stream) {
  return print_event(ss_json_object(SS_T("ph", "M"), SS_N("pid", (double)process), SS_N("tid", thread),
                                    SS_T("name", kind), SS_J("args", ss_json_object(SS_T("name", name)))),
                     stream);
}

static bool name_process(const struct ss_training_point *p, size_t process, FILE *stream) {
  char text[300];
  snprintf(text, sizeof text, "%.120s, %s, %u ranks", p->fed->workload.name, p->system->name, p->ranks);
  if (!name_thread(process, 0, "process_name", text, stream)) return false;
  for (uint32_t s = 0; s < p->result.streams; s++) {
    if (p->result.streams == 1) snprintf(text, sizeof text, "compute (all ranks alike)");
    else snprintf(text, sizeof text, "compute of rank %u", s);
    if (!name_thread(process, s + 1, "thread_name", text, stream)) return false;
  }
  bool ok = true;
  for (uint32_t c = 0; ok && c < p->system->concurrency.channels; c++) {
    snprintf(text, sizeof text, "communication, channel %u", c);
    ok = name_thread(process, p->result.streams + 1 + c, "thread_name",
                     p->system->concurrency.channels > 1 ? text : "communication", stream);
  }
  return ok;
}

static void add_task(cJSON *args, const struct ss_training_point *p, const struct ss_span *s) {
  const struct ss_task *task = &p->timetable.task[s->what];
  ss_json_add(args, SS_T("kind", ss_task_kind_name(task->kind)),
              SS_N("bytes", task->sent && task->period ? task->sent[s->iteration % task->period] : 0),
              SS_N("priority", task->key), SS_N("waited_us", 1e6 * (s->start - s->submitted)),
              SS_N("slowed_us", 1e6 * ss_training_slowed(p, s)));
}

static bool print_span(const struct ss_training_point *p, size_t process, const struct ss_span *s, FILE *stream) {
  char name[200];
  const bool task = s->kind == SS_SPAN_TASK;
  const double start = fmax(s->start, p->result.window);
  cJSON *args = ss_json_object(SS_N("iteration", (double)s->iteration));
  if (task) add_task(args, p, s);
  ss_training_part_name(p, s->kind, s->what, name, sizeof name);
  return print_event(ss_json_object(SS_T("ph", "X"), SS_N("pid", (double)process),
                                    SS_N("tid", s->stream + 1 + (task ? p->result.streams : 0)),
                                    SS_N("ts", 1e6 * (start - p->result.window)), SS_N("dur", 1e6 * (s->end - start)),
                                    SS_T("cat", task ? "communication" : "compute"), SS_T("name", name),
                                    SS_J("args", args)),
                     stream);
}

bool ss_training_timeline(const void *training, FILE *stream, struct ss_error *error) {
  const struct ss_training *t = training;
  bool ok = true;
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", stream);
  for (size_t i = 0; ok && i < t->points; i++) {
    const struct ss_training_point *p = &t->point[i];
    ok = name_process(p, i + 1, stream);
    for (size_t k = 0; ok && k < p->result.spans; k++)
      if (p->result.span[k].end >= p->result.window) ok = print_span(p, i + 1, &p->result.span[k], stream);
  }
  fprintf(
      stream,
      "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"sparsync %s\"}}\n]}\n",
      SS_VERSION);
  return ok ? true : ss_fail_memory(error, "writing a timeline");
}
/* SPDX-License-Identifier: Apache-2.0 */
