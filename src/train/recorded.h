/* The plays of a point's tasks on a network that they share: recorded when the first of them is needed, and kept as
 * long as memory allows. */
#pragma once

#include "train/durations.h"
#include "train/timetable.h"
#include "train/under_way.h"

struct ss_recorded_duration;

struct ss_recorded {
  const struct ss_durations *durations;
  const struct ss_timetable *timetable;
  struct ss_recorded_duration *of; /* [durations->count] */
  size_t bytes;                    /* of all that is kept */
  uint64_t turn;
  struct ss_cluster cluster; /* on which they are played: the caller's to set, with `pace` */
  double pace;
  struct ss_cluster *wide; /* as messages find the cluster, each kind once */
  size_t capacity, capacity_of_list;
  const struct ss_cluster **list;
  struct ss_task_network network;
};

/* `durations` and `timetable` must outlive it; which duration is a task's may change. Close it in any case. */
bool ss_recorded_open(struct ss_recorded *recorded, const struct ss_durations *durations,
                      const struct ss_timetable *timetable, struct ss_error *error) SS_MUST_CHECK;
void ss_recorded_close(struct ss_recorded *recorded);
/* The tasks' network on this cluster, whose kernels take `pace` times as long; the recording's own, which stays where
 * it is. NULL: memory is short. */
const struct ss_task_network *ss_recorded_on(struct ss_recorded *recorded, const struct ss_cluster *cluster,
                                             double pace);
/* SPDX-License-Identifier: Apache-2.0 */
