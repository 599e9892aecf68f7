/* Plays under way at once: what several runs of schemes send while others do, on links that all of them share under
 * the model "fair" (docs/model.md, "Time").
 *
 * Each play has ports in an order of its own, and a window; a port is a link of its class's bandwidth besides, shared
 * as all links are. Time goes on only as far as the caller lets it. */
#pragma once

#include "machine/network.h"

/* Where a play's rounds come from, in order. */
struct ss_rounds {
  void *context;
  /* The next round, whose arrays stand until the next call; NULL: there is none. */
  const struct ss_network_round *(*next)(void *context);
};

struct ss_play_begun {
  const struct ss_cluster *cluster; /* as its messages find it; one of those that the plays were opened with */
  uint32_t servers, rings;          /* endpoints beside the ranks; rings side by side, 0 is 1 */
  double stretch;                   /* bytes that go over links for each that a message has: 1, or of a sample more */
  double pace;                      /* how many times as long as is said kernels take */
  struct ss_rounds rounds;
  uint32_t id; /* the caller's */
};

struct ss_plays_size {
  uint32_t ranks, servers; /* servers: the most that a play has */
  bool shared; /* kernels of ranks wait for the caller to lend them the rank's compute stream (ss_plays_asks) */
};

struct ss_plays;

/* All links idle at time 0. They have the largest capacity that one of the clusters gives them; the clusters have the
 * same nodes, and their model is "fair". NULL: memory is short. */
struct ss_plays *ss_plays_open(const struct ss_cluster *const *clusters, uint32_t count, struct ss_plays_size size);
void ss_plays_close(struct ss_plays *plays);
/* Begins a play at `at` s, to which time must have been let pass; its first round is ready `delay` s later. False:
 * memory is short. */
bool ss_plays_start(struct ss_plays *plays, const struct ss_play_begun *play, double at, double delay) SS_MUST_CHECK;

enum ss_plays_state { SS_PLAYS_ENDED, SS_PLAYS_ASKED, SS_PLAYS_GO_ON, SS_PLAYS_SHORT /* of memory */ };
/* Lets time pass until a play ends, or a kernel asks for its stream, or until `until` at the latest: what happens at
 * that instant happens. Of a play that ended says which it was, and when its last endpoint was done (*at); of a
 * kernel, when it asked. */
enum ss_plays_state ss_plays_advance(struct ss_plays *plays, double until, uint32_t *id, double *at);

/* Of plays whose kernels are shared: does one at the rank ask for its stream? Since when, and for how long. While the
 * caller lends the stream, it still does. */
bool ss_plays_asks(const struct ss_plays *plays, uint32_t id, uint32_t rank, double *since, double *seconds);
/* It has been computed at `at`, to which time must have been let pass. */
void ss_plays_computed(struct ss_plays *plays, uint32_t id, uint32_t rank, double at);
/* SPDX-License-Identifier: Apache-2.0 */
