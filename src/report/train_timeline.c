/* Chrome's trace-event format (JSON object form): one complete event ("X") an operation or task, times in us. */

#include "report/tables.h"
#include "study/trainings.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* A JSON string with its quotes; false when memory is short. */
static bool print_text(const char *text, FILE *stream) {
  cJSON *item = cJSON_CreateString(text);
  char *quoted = cJSON_PrintUnformatted(item);
  cJSON_Delete(item);
  if (!quoted) return false;
  fputs(quoted, stream);
  free(quoted);
  return true;
}

static bool name_thread(size_t process, uint32_t thread, const char *kind, const char *name, FILE *stream) {
  fprintf(stream, "{\"ph\":\"M\",\"pid\":%zu,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":", process, thread, kind);
  if (!print_text(name, stream)) return false;
  fputs("}},\n", stream);
  return true;
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
  return name_thread(process, p->result.streams + 1, "thread_name", "communication", stream);
}

static bool print_task(const struct ss_training_point *p, const struct ss_span *s, FILE *stream) {
  const struct ss_task *task = &p->timetable.task[s->what];
  fprintf(stream,
          ",\"args\":{\"iteration\":%llu,\"kind\":\"%s\",\"bytes\":%.17g,\"priority\":%.17g,\"waited_us\":%.17g}",
          (unsigned long long)s->iteration, ss_task_kind_name(task->kind),
          task->sent && task->period ? task->sent[s->iteration % task->period] : 0.0, task->key,
          1e6 * (s->start - s->submitted));
  return true;
}

static bool print_span(const struct ss_training_point *p, size_t process, const struct ss_span *s, FILE *stream) {
  char name[200];
  const bool task = s->kind == SS_SPAN_TASK;
  const double start = fmax(s->start, p->result.window);
  ss_training_part_name(p, s->kind, s->what, name, sizeof name);
  fprintf(stream, "{\"ph\":\"X\",\"pid\":%zu,\"tid\":%u,\"ts\":%.17g,\"dur\":%.17g,\"cat\":\"%s\",\"name\":", process,
          task ? p->result.streams + 1 : s->stream + 1, 1e6 * (start - p->result.window), 1e6 * (s->end - start),
          task ? "communication" : "compute");
  if (!print_text(name, stream)) return false;
  if (task) print_task(p, s, stream);
  else fprintf(stream, ",\"args\":{\"iteration\":%llu}", (unsigned long long)s->iteration);
  fputs("},\n", stream);
  return true;
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
