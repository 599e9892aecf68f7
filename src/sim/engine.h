/* The engine: the player that says how long rounds take on a network model, or on several. */
#pragma once

#include "sim/recording.h"

#include <pthread.h>
#include <stdatomic.h>

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
 * nodes. On one thread rounds are not kept: each is played on one network after the other. On several they are kept
 * until there are many, and the scheme goes on while other threads play them, each network on one thread at a time:
 * a network gets the same rounds in the same order, so results do not depend on the number of threads. */
struct ss_engine {
  struct ss_player player; /* first: a player is the engine it stands in */
  struct ss_engine_network {
    const struct ss_network_model *model;
    struct ss_network *network;
    double pace;                  /* how many times as long as is said kernels take; 1 unless the caller changes it */
    struct ss_computation *paced; /* [paced_capacity] a round's kernels at that pace */
    size_t paced_capacity;
    struct ss_network_result result; /* once it is over */
    bool failed;                     /* memory was short */
  } * on;                            /* [count] */
  uint32_t count, ranks, endpoints;
  uint64_t *sent, *received; /* [endpoints] B, except what went to everyone alike: */
  uint64_t everyone;         /* B that each rank both sent and received in shift rounds */
  uint64_t messages, rounds;
  bool over;                           /* every network has played to its end, or does */
  bool several;                        /* rounds were handed over before */
  uint32_t threads;                    /* 1: all that follows is empty */
  struct ss_recording filled, playing; /* rounds that are kept, and those that other threads play */
  pthread_t *helper;                   /* [helpers] */
  uint32_t helpers;
  atomic_uint next; /* network that no thread has begun to play them on */
};

bool ss_engine_open(struct ss_engine *engine, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    struct ss_error *error) SS_MUST_CHECK;
/* On each of the clusters, with so many rings side by side (ss_cluster_widen), on so many threads. */
struct ss_engine_size {
  uint32_t ranks, servers, rings, threads; /* rings, threads: 0 is 1 */
};
bool ss_engine_open_each(struct ss_engine *engine, const struct ss_cluster *const *clusters, uint32_t count,
                         struct ss_engine_size size, struct ss_error *error) SS_MUST_CHECK;
void ss_engine_close(struct ss_engine *engine);
/* Plays everything to its end; on several threads it must come before ss_engine_tally. */
bool ss_engine_end(struct ss_engine *engine, struct ss_error *error) SS_MUST_CHECK;
/* What network i, that of cluster i, made of the rounds. Plays everything to its end; the engine may be asked again,
 * but takes no more rounds. */
struct ss_tally ss_engine_tally(struct ss_engine *engine, uint32_t network);
/* Bytes that endpoint e sent and received, kernels excluded; for --per-rank. */
uint64_t ss_engine_sent(const struct ss_engine *engine, uint32_t endpoint);
uint64_t ss_engine_received(const struct ss_engine *engine, uint32_t endpoint);
/* SPDX-License-Identifier: Apache-2.0 */
