#include "train/events.h"

#include "base/list.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* --- the agenda ----------------------------------------------------------------------------------------- */

static bool earlier(const void *one, const void *other) {
  const struct ss_event *a = one, *b = other;
  return a->at < b->at || (a->at == b->at && a->order < b->order);
}

bool ss_agenda_add(struct ss_agenda *agenda, struct ss_event event) {
  if (!ss_grow(agenda->heap, agenda->capacity, agenda->count + 1)) return false;
  event.order = agenda->inserted++;
  ss_heap_rise(agenda->heap, agenda->count++, &event, sizeof event, earlier);
  return true;
}

bool ss_agenda_take(struct ss_agenda *agenda, double until, struct ss_event *out) {
  if (agenda->count == 0 || agenda->heap[0].at > until) return false;
  *out = agenda->heap[0];
  const struct ss_event last = agenda->heap[--agenda->count];
  ss_heap_sink(agenda->heap, agenda->count, 0, &last, sizeof last, earlier);
  return true;
}

void ss_agenda_free(struct ss_agenda *agenda) {
  free(agenda->heap);
  *agenda = (struct ss_agenda){0};
}

/* --- the play ------------------------------------------------------------------------------------------- */

enum { OPERATION, TASK };

bool ss_events_submit(struct ss_events *e, uint32_t task, double key, double seconds, struct ss_error *error) {
  return ss_agenda_add(&e->waiting, (struct ss_event){.at = key, .what = TASK, .who = task, .seconds = seconds}) ||
         ss_fail_memory(error, "queueing tasks");
}

bool ss_events_rekey(struct ss_events *e, uint32_t task, double key) {
  struct ss_agenda *w = &e->waiting;
  for (size_t i = 0; i < w->count; i++) {
    if (w->heap[i].who != task) continue;
    struct ss_event moved = w->heap[i];
    const bool up = key < moved.at;
    moved.at = key;
    if (up) ss_heap_rise(w->heap, i, &moved, sizeof moved, earlier);
    else ss_heap_sink(w->heap, w->count, i, &moved, sizeof moved, earlier);
    return true;
  }
  return false;
}

bool ss_events_open(struct ss_events *e, uint32_t streams, struct ss_stage_client client, struct ss_error *error) {
  *e = (struct ss_events){.client = client, .streams = streams};
  e->working = ss_alloc_zero(streams, sizeof *e->working);
  return e->working ? true : ss_fail_memory(error, "playing a timeline");
}

void ss_events_close(struct ss_events *e) {
  ss_agenda_free(&e->agenda);
  ss_agenda_free(&e->waiting);
  free(e->working);
  *e = (struct ss_events){0};
}

static bool start(struct ss_events *e, uint32_t stream, struct ss_error *error) {
  double seconds;
  if (e->working[stream] || !e->client.next(e->client.context, stream, e->now, &seconds)) return true;
  e->working[stream] = true;
  return ss_agenda_add(&e->agenda, (struct ss_event){.at = e->now + seconds, .what = OPERATION, .who = stream}) ||
         ss_fail_memory(error, "playing a timeline");
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
  struct ss_event chosen;
  if (e->busy || !ss_agenda_take(&e->waiting, INFINITY, &chosen)) return true;
  e->busy = true;
  e->task = chosen.who;
  if (e->client.task_started) e->client.task_started(e->client.context, chosen.who, e->now);
  chosen.at = e->now + chosen.seconds;
  return ss_agenda_add(&e->agenda, chosen) || ss_fail_memory(error, "playing a timeline");
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
