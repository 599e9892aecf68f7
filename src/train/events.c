#include "train/events.h"

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

/* Puts the event where the i-th is. */
static void replace(struct ss_agenda *agenda, size_t count, size_t i, struct ss_event event) {
  if (earlier(&event, &agenda->heap[i])) ss_heap_rise(agenda->heap, i, &event, sizeof event, earlier);
  else ss_heap_sink(agenda->heap, count, i, &event, sizeof event, earlier);
}

static void drop(struct ss_agenda *agenda, size_t i) {
  const struct ss_event last = agenda->heap[--agenda->count];
  if (i < agenda->count) replace(agenda, agenda->count, i, last);
}

void ss_agenda_free(struct ss_agenda *agenda) {
  free(agenda->heap);
  *agenda = (struct ss_agenda){0};
}

/* --- streams -------------------------------------------------------------------------------------------- */

enum { OPERATION, KERNEL, TURN, FILLED, PLAYED, EMPTIED };

static bool at(struct ss_events *e, uint32_t what, uint32_t who, double when, struct ss_error *error) {
  return ss_agenda_add(&e->agenda, (struct ss_event){.at = when, .what = what, .who = who}) ||
         ss_fail_memory(error, "playing a timeline");
}

static double slowness(const struct ss_events *e) {
  return e->plays > 0 ? 1 + e->concurrency.interference : 1;
}

/* The kernel that asked first has the stream, among equals that of the first channel; false: none asks. */
static bool lend(struct ss_events *e, uint32_t stream, double *seconds) {
  double first = INFINITY, since, takes;
  if (!e->concurrency.shared_kernels || !e->together) return false;
  for (uint32_t c = 0; c < e->concurrency.channels; c++) {
    const uint32_t task = e->channel[c].task.who;
    if (!e->channel[c].playing || !e->network.asks(e->network.context, task, stream, &since, &takes)) continue;
    if (since >= first) continue;
    first = since;
    *seconds = takes;
    e->kernel[stream] = task;
  }
  return first < INFINITY;
}

static bool start(struct ss_events *e, uint32_t stream, struct ss_error *error) {
  double seconds = 0;
  if (e->working[stream]) return true;
  const bool kernel = lend(e, stream, &seconds);
  if (!kernel && !e->client.next(e->client.context, stream, e->now, &seconds)) return true;
  e->working[stream] = true;
  if (kernel) return at(e, KERNEL, stream, e->now + seconds, error);
  return at(e, OPERATION, stream, e->now + seconds * slowness(e), error);
}

static bool start_all(struct ss_events *e, struct ss_error *error) {
  for (uint32_t s = 0; s < e->streams; s++)
    if (!start(e, s, error)) return false;
  return true;
}

/* What operations still have to do takes so many times as long from now on. */
static void pace(struct ss_events *e, double factor) {
  struct ss_agenda *a = &e->agenda;
  if (e->concurrency.interference <= 0) return;
  for (size_t i = 0; i < a->count; i++) {
    struct ss_event event = a->heap[i];
    if (event.what == OPERATION) event.at = e->now + (event.at - e->now) * factor;
    ss_heap_rise(a->heap, i, &event, sizeof event, earlier);
  }
}

/* --- plays ---------------------------------------------------------------------------------------------- */

static uint32_t channel_of(const struct ss_events *e, uint32_t task) {
  uint32_t c = 0;
  while (!e->channel[c].playing || e->channel[c].task.who != task) c++;
  return c;
}

/* The play that was alone until now goes on with others: the network plays it from its beginning. */
static bool join(struct ss_events *e, struct ss_error *error) {
  uint32_t c, ended_task;
  double ended;
  size_t i = 0;
  while (e->agenda.heap[i].what != PLAYED) i++;
  c = e->agenda.heap[i].who;
  drop(&e->agenda, i);
  e->together = true;
  if (!e->network.start(e->network.context, e->channel[c].task.who, e->channel[c].began, error) ||
      !e->network.advance(e->network.context, e->now, &ended_task, &ended, error))
    return false;
  /* by another sum it may end now */
  return ended_task == UINT32_MAX || at(e, PLAYED, c, e->now, error);
}

static bool begin_play(struct ss_events *e, uint32_t c, struct ss_error *error) {
  struct ss_channel *channel = &e->channel[c];
  if (e->concurrency.shared_kernels) e->together = true;
  if (e->plays > 0 && !e->together && !join(e, error)) return false;
  channel->playing = true;
  channel->began = e->now;
  if (e->plays++ == 0) pace(e, 1 + e->concurrency.interference);
  if (e->together) return e->network.start(e->network.context, channel->task.who, e->now, error);
  return at(e, PLAYED, c, e->now + channel->task.alone, error);
}

static bool end_task(struct ss_events *e, uint32_t c, struct ss_error *error) {
  e->channel[c].busy = false;
  e->busy--;
  return e->client.task_ended(e->client.context, e->channel[c].task.who, e->now, error) &&
         (e->concurrency.shared_kernels || start_all(e, error));
}

static bool end_play(struct ss_events *e, uint32_t c, struct ss_error *error) {
  struct ss_channel *channel = &e->channel[c];
  channel->playing = false;
  if (--e->plays == 0) {
    pace(e, 1 / (1 + e->concurrency.interference));
    if (e->together) e->network.rest(e->network.context);
    e->together = false;
  }
  return channel->task.copy > 0 ? at(e, EMPTIED, c, e->now + channel->task.copy, error) : end_task(e, c, error);
}

/* --- channels ------------------------------------------------------------------------------------------- */

bool ss_events_submit(struct ss_events *e, uint32_t channel, struct ss_event task, struct ss_error *error) {
  return ss_agenda_add(&e->channel[channel].waiting, task) || ss_fail_memory(error, "queueing tasks");
}

bool ss_events_rekey(struct ss_events *e, uint32_t channel, uint32_t task, double key) {
  struct ss_agenda *w = &e->channel[channel].waiting;
  for (size_t i = 0; i < w->count; i++) {
    if (w->heap[i].who != task) continue;
    struct ss_event moved = w->heap[i];
    moved.at = key;
    replace(w, w->count, i, moved);
    return true;
  }
  return false;
}

/* When channels may choose next: now, or at the next multiple of the cycle. */
static double turn(const struct ss_events *e) {
  const double cycle = e->concurrency.software.cycle;
  if (cycle <= 0) return e->now;
  const double cycles = ceil(e->now / cycle);
  if (!(cycles < INFINITY)) return e->now;
  return (cycles - 1) * cycle >= e->now ? (cycles - 1) * cycle : cycles * cycle;
}

static bool choose(struct ss_events *e, uint32_t c, struct ss_error *error) {
  struct ss_channel *channel = &e->channel[c];
  if (channel->busy || channel->waits || channel->waiting.count == 0) return true;
  const double when = turn(e);
  channel->waits = when > e->now;
  if (channel->waits) return at(e, TURN, c, when, error);
  (void)ss_agenda_take(&channel->waiting, INFINITY, &channel->task);
  channel->busy = true;
  e->busy++;
  e->client.task_started(e->client.context, channel->task.who, e->now);
  const double before = e->concurrency.software.call + channel->task.copy;
  return before > 0 ? at(e, FILLED, c, e->now + before, error) : begin_play(e, c, error);
}

/* --- the whole ------------------------------------------------------------------------------------------ */

bool ss_events_open(struct ss_events *e, uint32_t streams, const struct ss_concurrency *concurrency,
                    struct ss_stage_client client, struct ss_error *error) {
  *e = (struct ss_events){.client = client, .streams = streams, .concurrency = *concurrency};
  if (e->concurrency.channels == 0) e->concurrency.channels = 1;
  e->working = ss_alloc_zero(streams, sizeof *e->working);
  e->kernel = ss_alloc_zero(streams, sizeof *e->kernel);
  return e->working && e->kernel ? true : ss_fail_memory(error, "playing a timeline");
}

void ss_events_close(struct ss_events *e) {
  ss_agenda_free(&e->agenda);
  for (uint32_t c = 0; c < SS_CHANNELS_MAX; c++) ss_agenda_free(&e->channel[c].waiting);
  free(e->working);
  free(e->kernel);
  *e = (struct ss_events){0};
}

static bool play(struct ss_events *e, const struct ss_event *event, struct ss_error *error) {
  switch (event->what) {
  case TURN: e->channel[event->who].waits = false; return true;
  case FILLED: return begin_play(e, event->who, error);
  case PLAYED: return end_play(e, event->who, error);
  case EMPTIED: return end_task(e, event->who, error);
  case KERNEL:
    e->working[event->who] = false;
    e->network.computed(e->network.context, e->kernel[event->who], event->who, e->now);
    return true;
  default:
    e->working[event->who] = false;
    return e->client.ended(e->client.context, event->who, e->now, error) &&
           (e->concurrency.shared_kernels || start(e, event->who, error));
  }
}

/* Lets time pass, until `until` at the latest; true also where nothing happened. */
static bool pass(struct ss_events *e, double until, bool *any, struct ss_error *error) {
  uint32_t task = UINT32_MAX;
  double ended = until;
  if (e->together && !e->network.advance(e->network.context, until, &task, &ended, error)) return false;
  *any = task != UINT32_MAX;
  if (!(ended < INFINITY)) return ss_seconds_check(ended, error);
  if (ended > e->now && e->client.passed) e->client.passed(e->client.context, e->now, ended);
  if (ended > e->now) e->now = ended;
  return !*any || end_play(e, channel_of(e, task), error);
}

/* All that happens now. */
static bool settle(struct ss_events *e, struct ss_error *error) {
  struct ss_event event;
  for (bool any = true; any;) {
    while (ss_agenda_take(&e->agenda, e->now, &event))
      if (!play(e, &event, error)) return false;
    any = false;
    if (e->together && !pass(e, e->now, &any, error)) return false;
  }
  return true;
}

/* Streams start what is next, where kernels are shared; plays that began now may ask for them now. `again`: something
 * ended. */
static bool start_shared(struct ss_events *e, bool *again, struct ss_error *error) {
  *again = false;
  if (e->together && !pass(e, e->now, again, error)) return false;
  return *again || start_all(e, error);
}

bool ss_events_run(struct ss_events *e, struct ss_error *error) {
  bool any, again = false;
  if (!e->concurrency.shared_kernels && !start_all(e, error)) return false;
  for (;;) {
    if (!settle(e, error)) return false;
    for (uint32_t c = 0; c < e->concurrency.channels; c++)
      if (!choose(e, c, error)) return false;
    if (e->concurrency.shared_kernels && !start_shared(e, &again, error)) return false;
    if (again) continue;
    if (e->agenda.count == 0 && !e->together) return true;
    if (!pass(e, e->agenda.count > 0 ? e->agenda.heap[0].at : INFINITY, &any, error)) return false;
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
