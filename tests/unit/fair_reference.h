/* A second way to the times of the model "fair", for small cases: everything is known beforehand, stands in plain
 * arrays, and all rates are worked out anew at every event. It shares nothing with the engine but the structs. */
#pragma once

#include "machine/network.h"

struct reference_times {
  double time, bound;
  double done[128]; /* of the endpoints, at most 128 */
};

struct reference_flow {
  const uint32_t *path; /* [links] */
  uint32_t links;
  double cap, rate;
};
/* Progressive filling by the book, in plain arrays: the rates of all flows, on links of these capacities. */
void reference_share(const double *capacity, uint32_t links, struct reference_flow *flow, uint32_t flows);

void reference_play(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    const struct ss_network_round *rounds, uint32_t count, struct reference_times *out);
