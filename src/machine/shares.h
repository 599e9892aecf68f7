/* Max-min fair shares: flows cross links that have capacities, each flow has a cap of its own besides, and every flow
 * gets its max-min fair rate. Knows nothing of networks and clusters.
 *
 *   ss_shares_open; link[i].capacity = ...; ss_shares_reserve;
 *   ss_shares_begin, ss_shares_end as flows come and go; then ss_shares_update: all rates and ends stand.
 *
 * A flow's *bottleneck* (`neck`) is what keeps it from being faster: its own cap, or a full link on which no flow is
 * faster. Rates are max-min fair exactly when every flow has one; where SS_INVARIANTS is defined (all builds that are
 * not released ones) ss_shares_update asserts that, and that no link carries more than its capacity.
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
  uint32_t first;   /* slot of a flow on it */
  uint32_t count;   /* flows on it */
  uint32_t necks;   /* flows whose bottleneck this link is */
  uint32_t inexact; /* changes of `load` since it was last added up */
  double bytes, busy, since;
  bool eased; /* a flow left it since rates were last worked out, and others may be faster for it */
  /* while rates are worked out: */
  bool full;
  uint64_t mark;             /* equal to the shares' own: some flow on it varies */
  double base, left, share;  /* B/s for flows that vary; of them not given away yet; what each of the last got */
  uint32_t vars, open;       /* flows that vary, and of them those without a rate yet */
  uint32_t first_var, still; /* slot of one that varies; flows that do not, and whose bottleneck it is */
};

/* A flow on one link: a member of the list of all flows on it. */
struct ss_shares_slot {
  uint32_t link, next, prev, next_var;
};

struct ss_shares_flow {
  double rate, left, since; /* B/s; B that were left at `since` */
  double cap;               /* B/s that it has at most, whatever its links have */
  double trial;             /* the rate that is tried */
  uint32_t id;              /* the caller's; of a free flow: the next free one */
  uint32_t neck;            /* its bottleneck: a link, or SS_NONE: its own cap */
  uint32_t trial_neck;
  uint32_t owner; /* the caller's too: whose `id` is */
  uint64_t mark;  /* equal to the shares' own: it varies */
  uint32_t links;
  bool frozen;
};

struct ss_shares_offer;

struct ss_shares {
  struct ss_shares_link *link;
  struct ss_shares_flow *flow;
  struct ss_shares_slot *slot; /* [capacity << shift]: of flow f from f << shift */
  uint32_t shift;
  uint32_t capacity, used, free;
  struct ss_fair_heap ends; /* of flows, by time */
  uint32_t *fresh, *eased, *vars, *touched;
  uint32_t fresh_count, eased_count, var_count, touched_count, links;
  struct ss_shares_offer *order;
  uint64_t mark;
};

/* So many links without capacity, of which a flow crosses at most `path`. False: memory is short. */
bool ss_shares_open(struct ss_shares *shares, uint32_t links, uint32_t path);
void ss_shares_close(struct ss_shares *shares);
/* Makes room for so many flows at once. False: memory is short. */
bool ss_shares_reserve(struct ss_shares *shares, uint32_t flows);
/* flow.left bytes begin to flow over the links of `path`, at most at flow.cap; shares->flow[] has the flow, flow.id
 * with it. Its rate stands after the next ss_shares_update. Returns the B/s that it would have alone. */
double ss_shares_begin(struct ss_shares *shares, double now, const uint32_t *path, uint32_t links,
                       struct ss_shares_flow flow);
/* Ends flow number `id`, which ss_fair_heap_take took out of shares->ends. */
void ss_shares_end(struct ss_shares *shares, double now, uint32_t id);
/* Gives every flow its max-min fair rate, and an end in shares->ends. */
void ss_shares_update(struct ss_shares *shares, double now);
/* SPDX-License-Identifier: Apache-2.0 */
