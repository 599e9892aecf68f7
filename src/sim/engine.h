/* The engine: the player that says how long rounds take on a network model, or on several. */
#pragma once

#include "sim/play.h"

/* What a run amounted to. Endpoints are ranks, then servers. */
struct ss_tally {
  double time;   /* s: when the last endpoint was done */
  double kernel; /* s: kernel time of the endpoint that computed longest */
  uint64_t messages, rounds, bytes;
  uint64_t sent_max, received_max;           /* B: over ranks */
  uint64_t server_max;                       /* B: over servers, sent or received, the larger */
  double bound;                              /* s: what the busiest link or port needs at the very least */
  struct ss_link_use bound_link;             /* which that is */
  struct ss_link_usage usage[SS_LINK_KINDS]; /* what went over the links of each kind */
};

/* What a scheme sends does not depend on how long it takes, so one run of it serves every cluster that has the same
 * nodes. Rounds are not kept: each is played on one network after the other. */
struct ss_engine {
  struct ss_player player; /* first: a player is the engine it stands in */
  struct ss_engine_network {
    const struct ss_network_model *model;
    struct ss_network *network;
    double pace; /* how many times as long as is said kernels take; 1 unless the caller changes it */
  } * on;        /* [count] */
  uint32_t count, ranks, endpoints;
  uint64_t *sent, *received; /* [endpoints] B, except what went to everyone alike: */
  uint64_t everyone;         /* B that each rank both sent and received in shift rounds */
  uint64_t messages, rounds;
  struct ss_computation *paced; /* [paced_capacity] a round's kernels at a network's pace */
  size_t paced_capacity;
};

bool ss_engine_open(struct ss_engine *engine, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    struct ss_error *error) SS_MUST_CHECK;
/* On each of the clusters, with so many rings side by side (ss_cluster_widen). */
struct ss_engine_size {
  uint32_t ranks, servers, rings; /* rings: 0 is 1 */
};
bool ss_engine_open_each(struct ss_engine *engine, const struct ss_cluster *const *clusters, uint32_t count,
                         struct ss_engine_size size, struct ss_error *error) SS_MUST_CHECK;
void ss_engine_close(struct ss_engine *engine);
/* What network i, that of cluster i, made of the rounds. Plays everything to its end; the engine may be asked again,
 * but takes no more rounds. */
struct ss_tally ss_engine_tally(struct ss_engine *engine, uint32_t network);
/* Bytes that endpoint e sent and received, kernels excluded; for --per-rank. */
uint64_t ss_engine_sent(const struct ss_engine *engine, uint32_t endpoint);
uint64_t ss_engine_received(const struct ss_engine *engine, uint32_t endpoint);
/* SPDX-License-Identifier: Apache-2.0 */
