/* Max-min fair shares: flows cross links that have capacities, each flow has a cap of its own besides, and every flow
 * gets its max-min fair rate. Knows nothing of networks and clusters.
 *
 *   ss_shares_open; link[i].capacity = ...; ss_shares_reserve;
 *   ss_shares_begin, ss_shares_end as flows come and go; then ss_shares_update: all rates and ends stand.
 *
 * Flows that cross the same links under the same cap have one rate at every instant: they are a *bundle*, and rates
 * are worked out for bundles. A bundle's *bottleneck* (`neck`) is what keeps it from being faster: its own cap, or a
 * full link on which no flow is faster. Rates are max-min fair exactly when every bundle has one; where SS_INVARIANTS
 * is defined (all builds that are not released ones) ss_shares_update asserts that, and that no link carries more
 * than its capacity.
 *
 * Check: links of 2 and 1 B/s; a flow over both gets 0.5 beside another over the second, and a third over the first,
 * capped at 9, gets 1.5. */
#pragma once

#include "machine/fair_heap.h"

/* No message, flow, link or slot. */
#define SS_NONE UINT32_MAX

static inline double ss_later(double a, double b) {
  return a > b ? a : b;
}
static inline double ss_sooner(double a, double b) {
  return a < b ? a : b;
}

struct ss_shares_link {
  double capacity;  /* B/s; the caller sets it before the first flow */
  double load;      /* B/s of the flows on it */
  uint32_t first;   /* slot of a bundle on it */
  uint32_t count;   /* flows on it */
  uint32_t necks;   /* bundles whose bottleneck this link is */
  uint32_t inexact; /* changes of `load` since it was last added up */
  double bytes, busy, since;
  bool eased; /* a flow left it since rates were last worked out, and others may be faster for it */
  /* while rates are worked out: */
  bool full;
  uint64_t mark;             /* equal to the shares' own: some flow on it varies */
  double base, left, share;  /* B/s for flows that vary; of them not given away yet; what each of the last got */
  double least_cap, fastest; /* B/s: of those that vary, the smallest cap, the largest rate */
  uint32_t vars, open;       /* flows that vary, and of them those without a rate yet */
  uint32_t first_var, still; /* slot of a bundle that varies; bundles that do not, and whose bottleneck it is */
};

/* A bundle on one link: a member of the list of all bundles on it. */
struct ss_shares_slot {
  uint32_t link, next, prev, next_var;
};

struct ss_shares_bundle {
  double rate, since;   /* B/s of each flow, since then, s */
  double served;        /* B that each flow got up to `since`, from when this was 0 */
  double cap;           /* B/s that each has at most, whatever its links have */
  double trial;         /* the rate that is tried */
  uint32_t count;       /* flows; of a free bundle: the next free one */
  uint32_t first;       /* the flow that ends first */
  uint32_t links, neck; /* neck: its bottleneck, a link, or SS_NONE: its own cap */
  uint32_t trial_neck;
  uint32_t changes; /* of `served`, since it was 0 */
  uint64_t mark;    /* equal to the shares' own: it varies */
  bool frozen;
  bool fresh; /* a flow joined it since rates were last worked out */
};

/* A member of its bundle's heap, a pairing heap by `left`. */
struct ss_shares_flow {
  double left; /* B that were left when the bundle's `served` was 0 */
  uint32_t bundle, child, sibling;
  uint32_t id;    /* the caller's; of a free flow: the next free one */
  uint32_t owner; /* the caller's too: whose `id` is */
};

struct ss_shares_offer;

struct ss_shares {
  struct ss_shares_link *link;
  struct ss_shares_flow *flow;
  struct ss_shares_bundle *bundle;
  struct ss_shares_slot *slot; /* [capacity << shift]: of bundle b from b << shift */
  uint32_t shift;
  uint32_t capacity, used, free;      /* of flows */
  uint32_t used_bundles, free_bundle; /* there are no more of them than flows */
  struct ss_fair_heap ends;           /* of bundles, by the end of the flow that ends first */
  uint32_t *fresh, *vars;             /* bundles */
  uint32_t *eased, *touched;          /* links */
  uint32_t *room;                     /* for numbers of flows or bundles */
  uint32_t fresh_count, eased_count, var_count, touched_count, links;
  struct ss_shares_offer *order;
  uint64_t mark;
};

/* A flow that begins. */
struct ss_shares_begun {
  double bytes, cap;  /* B; B/s that it has at most */
  uint32_t id, owner; /* the caller's: shares->flow[] has them */
};

/* So many links without capacity, of which a flow crosses at most `path`. False: memory is short. */
bool ss_shares_open(struct ss_shares *shares, uint32_t links, uint32_t path);
void ss_shares_close(struct ss_shares *shares);
/* Makes room for so many flows at once. False: memory is short. */
bool ss_shares_reserve(struct ss_shares *shares, uint32_t flows);
/* A flow begins over the links of `path`. Its rate stands after the next ss_shares_update. Returns the B/s that it
 * would have alone. */
double ss_shares_begin(struct ss_shares *shares, double now, const uint32_t *path, uint32_t links,
                       struct ss_shares_begun begun);
/* What a link counts of a flow that begins or ends on it. */
static inline void ss_shares_link_begins(struct ss_shares_link *link, double now, double bytes) {
  if (link->count++ == 0) link->since = now;
  link->bytes += bytes;
}
static inline void ss_shares_link_ends(struct ss_shares_link *link, double now) {
  if (--link->count == 0) link->busy += now - link->since;
}
/* When the first flow ends, after ss_shares_update; HUGE_VAL: there is none. */
static inline double ss_shares_next(const struct ss_shares *shares) {
  return shares->ends.count > 0 ? shares->ends.item[0].time : HUGE_VAL;
}
/* Writes the numbers of the flows that end up to `limit`, and returns how many: each must be ended next. */
uint32_t ss_shares_take(struct ss_shares *shares, double limit, uint32_t *flows);
void ss_shares_end(struct ss_shares *shares, double now, uint32_t id);
/* Gives every flow its max-min fair rate. */
void ss_shares_update(struct ss_shares *shares, double now);
/* B/s of a flow, after ss_shares_update. */
static inline double ss_shares_rate(const struct ss_shares *shares, uint32_t flow) {
  return shares->bundle[shares->flow[flow].bundle].rate;
}
/* SPDX-License-Identifier: Apache-2.0 */
