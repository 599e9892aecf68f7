/* Links that are uneven: what factors on latency and bandwidth messages between nodes find. Every factor follows from
 * the seed and from who it concerns alone, never from the order in which messages are played. */
#pragma once

#include "base/fields.h"

enum { SS_QUANTILES_MAX = 16, SS_DRAWS_MAX = 1000 };

/* A distribution by points of its inverse: below `share` of all is at most `factor`; straight lines between them. */
struct ss_quantiles {
  uint32_t count; /* 0: a factor of 1 for all; else the first share is 0, the last 1, neither they nor factors fall */
  struct ss_quantile {
    double share, factor;
  } point[SS_QUANTILES_MAX];
};

struct ss_jitter {
  uint32_t draws; /* how often a run is played on uneven links; 0: never */
  bool per_pair;  /* a factor for each pair of nodes, the same all the while; else one for each message */
  uint64_t seed;
  struct ss_quantiles latency, bandwidth;
  /* Which draw a network plays, 1 to `draws`; 0, as it is read: links are even. */
  uint32_t draw;
  uint64_t moment; /* messages of another moment (an iteration) draw anew */
};

extern const struct ss_object_spec ss_jitter_fields;
/* Reads a cluster's "jitter"; absent: none. */
bool ss_jitter_read(struct ss_node node, struct ss_jitter *out, struct ss_error *error) SS_MUST_CHECK;
bool ss_jitter_same(const struct ss_jitter *a, const struct ss_jitter *b);

/* What times of several draws spread over: quantiles, between two times along a straight line. */
struct ss_fan {
  double p5, p50, p95;
};
#define SS_FAN_NONE                                                                                                  \
  { NAN, NAN, NAN }
/* Puts the times, one or more, in order. */
struct ss_fan ss_fan_of(double *times, uint32_t count);

/* --- what one network draws --------------------------------------------------------------------------------- */

struct ss_uneven {
  const struct ss_quantiles *latency, *bandwidth; /* NULL: that is even */
  bool per_pair;
  uint64_t latency_key, bandwidth_key;
};

/* Of the jitter's draw, whose quantiles are not copied. */
struct ss_uneven ss_uneven_of(const struct ss_jitter *jitter);

/* A message between two nodes. */
struct ss_passage {
  uint32_t from, to; /* nodes */
  uint32_t receiver; /* endpoint */
  uint32_t number;   /* of messages that were listed for it, from 0 */
};
double ss_uneven_latency(const struct ss_uneven *u, const struct ss_passage *c);
double ss_uneven_bandwidth(const struct ss_uneven *u, const struct ss_passage *c);

/* The factor below which that share of all factors lies, 0 <= share < 1. */
double ss_quantiles_at(const struct ss_quantiles *quantiles, double share);
/* SPDX-License-Identifier: Apache-2.0 */
