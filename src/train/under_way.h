/* Tasks whose plays are under way at once: the network of a timeline's events (docs/training.md, "Several channels").
 */
#pragma once

#include "sim/recording.h"
#include "train/events.h"

/* What the play of a task puts on the network. */
struct ss_task_play {
  const struct ss_recording *recording; /* stands as long as the play is under way */
  struct ss_cluster cluster;            /* as its messages find it */
  uint32_t servers, rings;
  double start;         /* s before its first round: what the call takes besides */
  double stretch, pace; /* bytes that go over links for each that was recorded; s of kernels likewise */
};

struct ss_task_network {
  const struct ss_cluster *const *clusters; /* [count] all those that plays are on */
  uint32_t count;
  struct ss_plays_size size;
  void *context;
  bool (*play)(void *context, uint32_t task, uint64_t iteration, struct ss_task_play *out, struct ss_error *error);
  /* The play of the task is over: its recording is not needed any more. */
  void (*ended)(void *context, uint32_t task);
};

/* Events know a task by its slot: twice its number, and one more in odd iterations. */
struct ss_under_way {
  const struct ss_task_network *network;
  uint64_t (*iteration)(void *context, uint32_t slot);
  void *context;
  bool shared;                  /* kernels ask for the ranks' compute streams */
  struct ss_plays *plays;       /* NULL: none are under way */
  struct ss_task_replay **task; /* [tasks] */
  size_t tasks, capacity;
};

struct ss_stage_network ss_under_way_network(struct ss_under_way *under_way);
void ss_under_way_close(struct ss_under_way *under_way);
/* SPDX-License-Identifier: Apache-2.0 */
