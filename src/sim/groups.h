/* Groups of endpoints that play at once: teams, shards, nodes.
 *
 * Each group runs the same code on a play of its own, in which its endpoints are numbered from 0; it need not know of
 * the others. Round by round their messages are put into one list, group after group, and played together. A group
 * that is through takes no more part. */
#pragma once

#include "sim/play.h"

/* Endpoints of one group, by their numbers in the play around it. */
struct ss_group {
  uint32_t ranks, servers;
  const uint32_t *rank;   /* [ranks] */
  const uint32_t *server; /* [servers] */
};

typedef bool ss_group_body(void *context, uint32_t group, struct ss_play *play, struct ss_error *error);

/* Runs body(context, k, play of group k) for all groups. The first error in the order of groups is returned. */
bool ss_groups_play(struct ss_play *play, uint32_t count, const struct ss_group *groups, ss_group_body *body,
                    void *context, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
