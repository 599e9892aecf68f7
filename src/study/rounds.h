/* Who sends what to whom: the messages of one synchronisation, as they were played. */
#pragma once

#include "study/study.h"

/* So many ranks and runs can be read in a picture. */
enum { SS_ROUNDS_RANKS = 16, SS_ROUNDS_RUNS = 6 };

/* Plays the first iteration of each point of the study, which are few and small; else an error says what to do. Of
 * points that send the same over other links the first stands for all. The tree, {"scenario", "runs": [{label,
 * scheme, ranks, servers, tensor, cluster, at, rounds, messages}]}, of which a message is {round, phase, from, to,
 * bytes}, is the caller's. Rounds count from 1, and so do phases, of which a message waits for those before its own.
 */
bool ss_study_rounds(const struct ss_study *study, struct cJSON **out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
