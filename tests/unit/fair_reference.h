/* A second way to the times of the model "fair", for small cases: all rounds of a play are known beforehand, stand in
 * plain arrays, and all rates are worked out anew at every event. It shares nothing with the engine but the structs.
 */
#pragma once

#include "machine/network.h"

enum { REFERENCE_ENDS = 128 }; /* at most */

struct reference_times {
  double time, bound;
  double done[REFERENCE_ENDS];
};

struct reference_flow {
  const uint32_t *path; /* [links] */
  uint32_t links;
  double cap, rate;
};
/* Progressive filling by the book, in plain arrays: the rates of all flows, on links of these capacities. */
void reference_share(const double *capacity, uint32_t links, struct reference_flow *flow, uint32_t flows);

/* One play, from time 0. */
void reference_play(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                    const struct ss_network_round *rounds, uint32_t count, struct reference_times *out);

/* The least that a link or port of the last play needs; 0: nothing went over such a one. */
double reference_least(const struct ss_link_use *use);
/* Bytes that the one link of a kind carried that carried most, and all of them together; of ports nothing is said. */
void reference_carried(enum ss_link_kind kind, double *most, double *all);

/* --- plays at once ------------------------------------------------------------------------------------------- */

struct reference_begun {
  const struct ss_cluster *cluster;
  uint32_t servers, rings;
  double stretch, pace;
  const struct ss_network_round *rounds; /* [count] */
  uint32_t count;
};

/* Nothing under way, at time 0, on links of the clusters; there is one such network. `joined`: where plays may meet,
 * ports and cards are links in any case. */
void reference_open(const struct ss_cluster *const *clusters, uint32_t count, uint32_t ranks, bool joined);
/* From now on kernels of ranks do not begin by themselves: they ask. */
void reference_share_kernels(void);
/* The number of a kernel of the play that asks at the rank, and since when; UINT32_MAX: none. */
uint32_t reference_asks(uint32_t play, uint32_t rank, double *since);
/* It begins now. */
void reference_compute(uint32_t kernel);
bool reference_is_over(uint32_t kernel);
/* A play whose first round is ready then, at now or later; its number. Go to now afterwards, at least. */
uint32_t reference_start(const struct reference_begun *play, double ready);
/* When something happens next; HUGE_VAL: never. */
double reference_next(void);
/* Lets time pass until then, at most to when something happens next; all that happens at that instant has happened.
 */
void reference_go(double to);
/* When its last endpoint was done; NaN: it is under way. */
double reference_end(uint32_t play);
/* SPDX-License-Identifier: Apache-2.0 */
