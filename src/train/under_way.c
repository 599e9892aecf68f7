#include "train/under_way.h"

struct ss_task_replay {
  uint32_t slot;
  struct ss_task_play play;
  struct ss_replay replay;
};

static void end(struct ss_under_way *u, size_t i) {
  u->network->ended(u->network->context, u->task[i]->slot / 2);
  free(u->task[i]);
  u->task[i] = u->task[--u->tasks];
}

static void rest(void *context) {
  struct ss_under_way *u = context;
  ss_plays_close(u->plays);
  u->plays = NULL;
  while (u->tasks > 0) end(u, u->tasks - 1);
}

static bool begin(struct ss_under_way *u, struct ss_task_replay *t, double at, struct ss_error *error) {
  const struct ss_task_network *n = u->network;
  t->replay = (struct ss_replay){.recording = t->play.recording};
  const struct ss_play_begun begun = {.cluster = &t->play.cluster,
                                      .servers = t->play.servers,
                                      .rings = t->play.rings,
                                      .stretch = t->play.stretch,
                                      .pace = t->play.pace,
                                      .rounds = ss_replay_rounds(&t->replay),
                                      .id = t->slot};
  struct ss_plays_size size = n->size;
  size.shared = u->shared;
  if (!u->plays) u->plays = ss_plays_open(n->clusters, n->count, size);
  return (u->plays && ss_plays_start(u->plays, &begun, at, t->play.start)) ||
         ss_fail_memory(error, "playing tasks at once");
}

static bool start(void *context, uint32_t slot, double at, struct ss_error *error) {
  struct ss_under_way *u = context;
  const struct ss_task_network *n = u->network;
  struct ss_task_replay *t = ss_alloc_zero(1, sizeof *t);
  if (!t || !ss_grow(u->task, u->capacity, u->tasks + 1)) {
    free(t);
    return ss_fail_memory(error, "playing tasks at once");
  }
  t->slot = slot;
  if (!n->play(n->context, slot / 2, u->iteration(u->context, slot), &t->play, error)) {
    free(t);
    return false;
  }
  u->task[u->tasks++] = t;
  return begin(u, t, at, error);
}

static void forget(struct ss_under_way *u, uint32_t slot) {
  size_t i = 0;
  while (u->task[i]->slot != slot) i++;
  end(u, i);
}

static bool advance(void *context, double until, uint32_t *slot, double *ended, struct ss_error *error) {
  struct ss_under_way *u = context;
  *slot = UINT32_MAX;
  switch (ss_plays_advance(u->plays, until, slot, ended)) {
  case SS_PLAYS_ENDED: forget(u, *slot); return true;
  case SS_PLAYS_ASKED:
  case SS_PLAYS_GO_ON: return true;
  default: return ss_fail_memory(error, "playing tasks at once");
  }
}

static bool asks(void *context, uint32_t slot, uint32_t stream, double *since, double *seconds) {
  return ss_plays_asks(((const struct ss_under_way *)context)->plays, slot, stream, since, seconds);
}

static void computed(void *context, uint32_t slot, uint32_t stream, double at) {
  ss_plays_computed(((const struct ss_under_way *)context)->plays, slot, stream, at);
}

struct ss_stage_network ss_under_way_network(struct ss_under_way *under_way) {
  return (struct ss_stage_network){under_way, start, advance, asks, computed, rest};
}

void ss_under_way_close(struct ss_under_way *u) {
  rest(u);
  free(u->task);
}
/* SPDX-License-Identifier: Apache-2.0 */
