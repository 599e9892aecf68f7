/* Things that take time and wait for each other: compute streams, channels, and an agenda that keeps the order.
 *
 * A stream works through operations one after the other; its client says which is next, and whether it may start. A
 * channel carries one task at a time, to its end; of those that wait, the one with the lowest key starts, among equal
 * keys the one that was submitted first. A task is software, a *play*, and software again. A play lasts as long as it
 * takes alone, unless another is under way as well: then a network says when each ends. Events are played by time,
 * those of one instant in the order in which they were put on the agenda, and channels choose, the first one first,
 * only when nothing else is left to happen at that instant: so the same client always gives the same timeline.
 * Where kernels are shared, a stream is lent to a play's kernel as well: a network says when each play ends, also of
 * one that is alone, and streams start what is next only when channels have chosen. */
#pragma once

#include "train/system.h"

/* --- the agenda ----------------------------------------------------------------------------------------- */

struct ss_event {
  double at;      /* s; of a task that waits: its key */
  uint64_t order; /* of insertion */
  uint32_t what, who;
  double alone, copy; /* of a task that waits: s that its play takes alone, that it is filled, and emptied */
};

/* Events by (at, order). A zeroed struct is empty. */
struct ss_agenda {
  struct ss_event *heap;
  size_t count, capacity;
  uint64_t inserted;
};

/* Puts the event on the agenda, behind those of its instant; its `order` is set here. */
bool ss_agenda_add(struct ss_agenda *agenda, struct ss_event event) SS_MUST_CHECK;
/* The first event that is not later than `until`, taken off; false when there is none. */
bool ss_agenda_take(struct ss_agenda *agenda, double until, struct ss_event *out);
void ss_agenda_free(struct ss_agenda *agenda);

/* --- streams and channels ------------------------------------------------------------------------------- */

struct ss_stage_client {
  void *context;
  /* May the stream's next operation start now? Then how long it takes. Asked after its last operation ended, and
   * after each task's end. */
  bool (*next)(void *context, uint32_t stream, double now, double *seconds);
  /* The stream's operation has ended. Here, and in task_ended, tasks are submitted. */
  bool (*ended)(void *context, uint32_t stream, double now, struct ss_error *error);
  void (*task_started)(void *context, uint32_t task, double now);
  bool (*task_ended)(void *context, uint32_t task, double now, struct ss_error *error);
  /* Time passes from `from` to `to`, and nothing changes between them. NULL: nobody wants to know. */
  void (*passed)(void *context, double from, double to);
};

/* Plays that are under way together. Instants are those of the events. */
struct ss_stage_network {
  void *context;
  bool (*start)(void *context, uint32_t task, double at, struct ss_error *error);
  /* Lets time pass until a play ends, which *task then says and *at when; or until a kernel asks for its stream
   * (*at), or until `until` (*at stays as it is), *task UINT32_MAX. */
  bool (*advance)(void *context, double until, uint32_t *task, double *at, struct ss_error *error);
  /* Does a kernel of the task's play ask for the stream of that number? Since when, and for how long. */
  bool (*asks)(void *context, uint32_t task, uint32_t stream, double *since, double *seconds);
  void (*computed)(void *context, uint32_t task, uint32_t stream, double at);
  /* None is under way any more. */
  void (*rest)(void *context);
};

struct ss_channel {
  struct ss_agenda waiting;  /* tasks by key */
  struct ss_event task;      /* on it */
  double began;              /* s: its play */
  bool busy, playing, waits; /* waits: for its turn */
};

struct ss_events {
  struct ss_stage_client client;
  struct ss_stage_network network; /* the caller's to set before the run, where there are several channels, or kernels
                                      are shared */
  struct ss_concurrency concurrency;
  struct ss_agenda agenda;
  struct ss_channel channel[SS_CHANNELS_MAX];
  uint32_t streams;
  bool *working;    /* [streams] */
  uint32_t *kernel; /* [streams] the task whose kernel it computes */
  uint32_t busy;    /* channels */
  uint32_t plays;   /* under way */
  bool together;    /* they are on the network */
  double now;
};

bool ss_events_open(struct ss_events *events, uint32_t streams, const struct ss_concurrency *concurrency,
                    struct ss_stage_client client, struct ss_error *error) SS_MUST_CHECK;
/* Plays from time 0 until nothing can happen any more. What the client still had to do then waits for ever. */
bool ss_events_run(struct ss_events *events, struct ss_error *error) SS_MUST_CHECK;
/* A task for the channel, whose play takes `alone` s when nothing else is sent, and which is filled and emptied in
 * `copy` s each; `task` is the client's number for it. */
bool ss_events_submit(struct ss_events *events, uint32_t channel, struct ss_event task,
                      struct ss_error *error) SS_MUST_CHECK;
/* Gives a task that still waits another key; false when it does not wait. */
bool ss_events_rekey(struct ss_events *events, uint32_t channel, uint32_t task, double key);
void ss_events_close(struct ss_events *events);
/* SPDX-License-Identifier: Apache-2.0 */
