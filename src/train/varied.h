/* A point of a training played again with something different: components that cost more, or what would help. */
#pragma once

#include "train/recorded.h"
#include "train/training.h"

/* How long tasks last on the links of a draw; 0: on even ones. Of dense all-reduces that are open the fastest. */
void ss_point_set_tasks(const struct ss_training *training, struct ss_timetable *timetable, uint32_t draw);
/* Where tasks share links, `pace` times as long for computing; NULL: they never do. It lives in `recorded`. */
const struct ss_task_network *ss_point_network(const struct ss_timetable *t, struct ss_recorded *recorded,
                                               const struct ss_cluster *cluster, double pace);
/* How uncertain the components of its time are; ss_certain: nobody asks. */
struct ss_uncertainty ss_point_uncertainty(const struct ss_training *training, const struct ss_training_point *p);
/* Sets p->parts from p->result, p->uncertainty and further plays. */
bool ss_point_find_parts(const struct ss_training *training, struct ss_training_point *p,
                         struct ss_recorded *recorded, struct ss_error *error) SS_MUST_CHECK;
/* Sets p->help, p->helps: what makes an iteration at least 0.5% faster, the best first. */
bool ss_point_find_helps(const struct ss_training *training, struct ss_training_point *p,
                         struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
