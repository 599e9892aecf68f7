/* What messages take between the processes of mpirun: ping-pong of the first and the last rank, and pairwise
 * exchange of all. All functions are collective. */
#pragma once

#include "exec/communicator.h"

enum { SS_PING_REPEATS_MAX = 1001 };

struct ss_ping {
  double one_way;  /* s of one message: half a ping-pong */
  double pairwise; /* s of P-1 rounds, in which rank r sends to r + s: the slowest rank's */
};

/* Medians of up to `repeats` times, of fewer when they take more than a second, after one that does not count. Rank 0
 * has the result. `bytes` at most 2^30. A process that fails ends them all. */
bool ss_ping_measure(const struct ss_communicator *comm, size_t bytes, uint32_t repeats, struct ss_ping *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* Machines that the processes run on, if equally many on each; else as if each had its own. */
bool ss_ping_nodes(const struct ss_communicator *comm, uint32_t *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
