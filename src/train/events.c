#include "train/events.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* --- the agenda ----------------------------------------------------------------------------------------- */

static bool earlier(const struct ss_event *a, const struct ss_event *b) {
  return a->at < b->at || (a->at == b->at && a->order < b->order);
}

bool ss_agenda_add(struct ss_agenda *agenda, double at, uint32_t what, uint32_t who) {
  if (agenda->count == agenda->capacity) {
    struct ss_event *grown = ss_realloc(agenda->heap, 2 * agenda->capacity + 64, sizeof *grown);
    if (!grown) return false;
    agenda->heap = grown;
    agenda->capacity = 2 * agenda->capacity + 64;
  }
  const struct ss_event event = {at, agenda->inserted++, what, who};
  size_t i = agenda->count++;
  for (; i > 0 && earlier(&event, &agenda->heap[(i - 1) / 2]); i = (i - 1) / 2)
    agenda->heap[i] = agenda->heap[(i - 1) / 2];
  agenda->heap[i] = event;
  return true;
}

bool ss_agenda_take(struct ss_agenda *agenda, double until, struct ss_event *out) {
  if (agenda->count == 0 || agenda->heap[0].at > until) return false;
  *out = agenda->heap[0];
  const struct ss_event last = agenda->heap[--agenda->count];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < agenda->count; i = child) {
    if (child + 1 < agenda->count && earlier(&agenda->heap[child + 1], &agenda->heap[child])) child++;
    if (!earlier(&agenda->heap[child], &last)) break;
    agenda->heap[i] = agenda->heap[child];
  }
  agenda->heap[i] = last;
  return true;
}

void ss_agenda_free(struct ss_agenda *agenda) {
  free(agenda->heap);
  *agenda = (struct ss_agenda){0};
}

/* --- tasks that wait ------------------------------------------------------------------------------------ */

static bool before(const struct ss_waiting *a, const struct ss_waiting *b) {
  return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void rise(struct ss_events *e, size_t i, struct ss_waiting task) {
  for (; i > 0 && before(&task, &e->waiting[(i - 1) / 2]); i = (i - 1) / 2) e->waiting[i] = e->waiting[(i - 1) / 2];
  e->waiting[i] = task;
}

static void sink(struct ss_events *e, size_t i, struct ss_waiting task) {
  for (size_t child; (child = 2 * i + 1) < e->waits; i = child) {
    if (child + 1 < e->waits && before(&e->waiting[child + 1], &e->waiting[child])) child++;
    if (!before(&e->waiting[child], &task)) break;
    e->waiting[i] = e->waiting[child];
  }
  e->waiting[i] = task;
}

bool ss_events_submit(struct ss_events *e, uint32_t task, double key, double seconds, struct ss_error *error) {
  if (e->waits == e->capacity) {
    struct ss_waiting *grown = ss_realloc(e->waiting, 2 * e->capacity + 64, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "queueing tasks");
    e->waiting = grown;
    e->capacity = 2 * e->capacity + 64;
  }
  e->waits++;
  rise(e, e->waits - 1, (struct ss_waiting){key, e->submitted++, task, seconds});
  return true;
}

bool ss_events_rekey(struct ss_events *e, uint32_t task, double key) {
  for (size_t i = 0; i < e->waits; i++) {
    if (e->waiting[i].task != task) continue;
    struct ss_waiting moved = e->waiting[i];
    const bool up = key < moved.key;
    moved.key = key;
    if (up) rise(e, i, moved);
    else sink(e, i, moved);
    return true;
  }
  return false;
}

/* --- the play ------------------------------------------------------------------------------------------- */

enum { OPERATION, TASK };

bool ss_events_open(struct ss_events *e, uint32_t streams, struct ss_stage_client client, struct ss_error *error) {
  *e = (struct ss_events){.client = client, .streams = streams};
  e->working = ss_alloc_zero(streams, sizeof *e->working);
  return e->working ? true : ss_fail_memory(error, "playing a timeline");
}

void ss_events_close(struct ss_events *e) {
  ss_agenda_free(&e->agenda);
  free(e->waiting);
  free(e->working);
  *e = (struct ss_events){0};
}

static bool start(struct ss_events *e, uint32_t stream, struct ss_error *error) {
  double seconds;
  if (e->working[stream] || !e->client.next(e->client.context, stream, e->now, &seconds)) return true;
  e->working[stream] = true;
  return ss_agenda_add(&e->agenda, e->now + seconds, OPERATION, stream) ? true
                                                                        : ss_fail_memory(error, "playing a timeline");
}

static bool start_all(struct ss_events *e, struct ss_error *error) {
  for (uint32_t s = 0; s < e->streams; s++)
    if (!start(e, s, error)) return false;
  return true;
}

static bool play(struct ss_events *e, const struct ss_event *event, struct ss_error *error) {
  void *context = e->client.context;
  if (event->what == OPERATION) {
    e->working[event->who] = false;
    return e->client.ended(context, event->who, e->now, error) && start(e, event->who, error);
  }
  e->busy = false;
  return e->client.task_ended(context, event->who, e->now, error) && start_all(e, error);
}

static bool choose(struct ss_events *e, struct ss_error *error) {
  if (e->busy || e->waits == 0) return true;
  const struct ss_waiting chosen = e->waiting[0];
  const struct ss_waiting last = e->waiting[--e->waits];
  if (e->waits > 0) sink(e, 0, last);
  e->busy = true;
  e->task = chosen.task;
  if (e->client.task_started) e->client.task_started(e->client.context, chosen.task, e->now);
  return ss_agenda_add(&e->agenda, e->now + chosen.seconds, TASK, chosen.task)
             ? true
             : ss_fail_memory(error, "playing a timeline");
}

bool ss_events_run(struct ss_events *e, struct ss_error *error) {
  struct ss_event event;
  if (!start_all(e, error)) return false;
  for (;;) {
    while (ss_agenda_take(&e->agenda, e->now, &event))
      if (!play(e, &event, error)) return false;
    if (!choose(e, error)) return false;
    if (e->agenda.count == 0) return true;
    const double next = e->agenda.heap[0].at;
    if (next > e->now && e->client.passed) e->client.passed(e->client.context, e->now, next);
    e->now = next;
  }
}
