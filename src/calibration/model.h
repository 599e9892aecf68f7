/* A cluster as measurements know it: costs of messages and of memory, by size. Every observation is predicted by
 * playing its algorithm on that cluster (sim/collectives/patterns.h); what a fit needs to know of it is how its time
 * changes with each cost, which comes from playing it again with that cost a little higher. */
#pragma once

#include "calibration/observations.h"

/* What has costs of its own. Each has two: start-up and time a byte of messages; of memory, time a byte that is added
 * and a byte of pages that come anew, by the size of the whole vector, which fits caches or not. */
enum ss_cost_kind {
  SS_COST_INTER,    /* messages between nodes */
  SS_COST_EXCHANGE, /* those of exchanges, where they are not as the others */
  SS_COST_INTRA,    /* messages inside a node */
  SS_COST_MEMORY,
  SS_COST_STREAM, /* the time between messages that overlap (osu_bw): no latency of any link */
  SS_COST_START,  /* of NCCL, a call in LL, LL128 and Simple */
  SS_COST_WAY = SS_COST_START + SS_PROTOCOLS,          /* of NCCL, messages between nodes of a way and protocol, */
  SS_COST_KINDS = SS_COST_WAY + SS_WAYS * SS_PROTOCOLS /* but for rings in Simple: those are SS_COST_INTER */
};
extern const char *const ss_cost_kind_names[];
/* "ring_simple", "exchange", "tree_ll", ..., as files call them. */
extern const char *const ss_cost_kind_keys[];

enum { SS_COST_PIECES = 4 };

struct ss_fitted_cost {
  double value, error; /* s, or s a byte; the error is a standard one */
  bool known;          /* measurements depend on it, by more than twice its error */
};

struct ss_cost_piece {
  uint64_t up_to; /* B; UINT64_MAX in the last */
  struct ss_fitted_cost cost[2];
};

struct ss_measured_cluster {
  uint32_t pieces[SS_COST_KINDS]; /* 0: nothing was seen of it, or (exchanges) nothing that differs */
  struct ss_cost_piece piece[SS_COST_KINDS][SS_COST_PIECES];
  uint32_t gpus_per_node, nics; /* of a whole node; runs may have used some of its GPUs */
  uint32_t window;              /* UINT32_MAX: no limit */
  struct ss_library library;    /* of NCCL: open calls are played as its tuner takes them; else none */
  double card_rate;             /* B/s that cards are sold as: what NCCL finds its channels by */
};

/* The library for runs on so many GPUs of a node (0: all), with the channels that it finds. */
void ss_measured_library(const struct ss_measured_cluster *m, uint32_t per_node, struct ss_library *out);
/* Of messages between nodes in NCCL's calls. */
enum ss_cost_kind ss_cost_kind_of_way(enum ss_way way, enum ss_protocol protocol);
/* The piece that covers a message, or a vector, of so many bytes; of exchanges without pieces, that between nodes. */
const struct ss_cost_piece *ss_cost_piece_of(const struct ss_measured_cluster *m, enum ss_cost_kind kind,
                                             uint64_t bytes);

/* s; a failure is SS_MACHINE. */
bool ss_observation_predict(const struct ss_measured_cluster *m, const struct ss_observation *o, double *seconds,
                            struct ss_error *error) SS_MUST_CHECK;
/* Whether its messages are those of an exchange. */
bool ss_observation_exchanges(const struct ss_observation *o);
/* Whether both are the same call, which takes the same time on any cluster. */
bool ss_observation_same_call(const struct ss_observation *a, const struct ss_observation *b);
/* The largest message of the observation, B. */
uint64_t ss_observation_message(const struct ss_observation *o);

/* How much an observation's time grows with a cost: d seconds = weight * d cost, at a size. */
struct ss_cost_term {
  uint64_t size; /* of messages, or of the vector, B */
  enum ss_cost_kind kind;
  int which; /* of the kind's two costs */
  double weight;
};
enum { SS_COST_TERMS = 3 * SS_PATTERN_SIZES };

/* The terms of an observation on the cluster `m`, whose sum over terms of weight * cost is about its time there. */
bool ss_observation_terms(const struct ss_measured_cluster *m, const struct ss_observation *o,
                          struct ss_cost_term terms[SS_COST_TERMS], uint32_t *count,
                          struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
