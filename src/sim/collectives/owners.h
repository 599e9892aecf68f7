/* Push parts to their owners, sum there, pull the sums: what parameter servers, SparCML's split, OmniReduce and
 * Balanced Parallelism have in common.
 *
 * A tensor is cut into parts, in whatever way; part j is owned by rank j, or by server j. Every rank pushes what it
 * has of each part to its owner, who adds it up; then every rank gets every sum. */
#pragma once

#include "sim/collectives/collectives.h"

struct ss_owners {
  uint32_t parts;
  bool servers;               /* part j is owned by endpoint ranks + j; false: by rank j, and parts = ranks */
  bool counted;               /* receivers need sizes: they are announced when the play wants it */
  bool follows;               /* the pull from servers is under way with what was played last (struct ss_exchange) */
  bool applied;               /* the owners apply their sums to what they have: these take no memory */
  const struct ss_wire *push; /* how a rank's share travels, and how the sum does */
  const struct ss_wire *pull;
  void *context;
  /* Part `part` without content: range, width, and for dense parts `dense` and count. */
  struct ss_chunk (*range)(const void *context, uint32_t part);
  /* What `rank` has of the part. In another process only origin and part matter. */
  bool (*slice)(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error);

  /* filled in by the functions below */
  struct ss_play *play;
  struct ss_receipts pushed;  /* receiver: part; block: rank */
  struct ss_receipts pulled;  /* receiver: rank; block: part */
  struct ss_chunk *aggregate; /* [parts] the sums, as far as they are known here */
  struct ss_chunk *slices;    /* [ranks] for one part */
  uint64_t *unsummed;         /* [ranks + servers] B that were pushed to each, and are not summed yet */
  uint64_t *got;              /* [ranks + servers] B that were pulled */
  struct ss_chunk shared;     /* the sum of all parts, once for all ranks that hold them as sent */
  double push_imbalance;      /* ZEN Def. 8; NaN until watched */
  double pull_imbalance;
};

/* The caller has set the fields above; close also after a failed open. */
bool ss_owners_open(struct ss_play *play, struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
void ss_owners_close(struct ss_owners *owners);

/* The endpoint that owns the part. */
uint32_t ss_owners_endpoint(const struct ss_owners *owners, uint32_t part);

/* Ranks to owners: pairwise, or fan-in to servers. */
bool ss_owners_push(struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
/* Every owner adds up what it got: aggregate[]. Watches the imbalances. */
bool ss_owners_sum(struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
/* Other ways to the owners, for parts = ranks; both end with the sums in aggregate[]. `incremental`: ranks add up
 * what they pass on; else owners add up everything. Ring: step s, r sends part (r - s) mod P to r + 1. Halving:
 * partners exchange what they have of each other's half; where P is no power of two, the odd rank of a folded pair
 * stands for the parts of both, and sends the even one its sum in the end. Parts are encoded one by one. */
bool ss_owners_push_ring(struct ss_owners *owners, bool incremental, struct ss_error *error) SS_MUST_CHECK;
bool ss_owners_push_halving(struct ss_owners *owners, bool incremental, struct ss_error *error) SS_MUST_CHECK;
/* Its owner holds the sum of a part, and lets go of what was pushed. A dense sum is made in the owner's own part, or
 * of servers in the first that came. */
void ss_owners_hold(struct ss_owners *owners, uint32_t part);
/* The owner of the part has added it up to `sum`; and how even the sums are. */
void ss_owners_set(struct ss_owners *owners, uint32_t part, const struct ss_chunk *sum);
void ss_owners_watch(struct ss_owners *owners);
/* Every sum to every rank: direct (pairwise), or fan-out from servers; or by Bruck's all-gather (parts = ranks). */
bool ss_owners_pull(struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
bool ss_owners_pull_bruck(struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
/* Rank r got part j, as `got`. A process that did not have the part keeps it. */
bool ss_owners_got(struct ss_owners *owners, uint32_t rank, uint32_t part, const struct ss_chunk *got,
                   struct ss_error *error) SS_MUST_CHECK;
/* The sum of all parts that the rank holds, over rows [low, high). */
bool ss_owners_whole(struct ss_owners *owners, uint32_t rank, uint64_t low, uint64_t high, struct ss_chunk *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
