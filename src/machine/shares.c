/* When flows come or go only some are given new rates: those that came, and those whose bottleneck was eased. They
 * share what the others leave, by progressive filling. Then others lose their bottleneck by it, or are faster on a
 * link that became somebody's: they are taken in, and the filling is done again, until all have a bottleneck. */
#include "machine/shares.h"

/* Rates that differ by less than this share are one, and a link with less than it to spare is full. */
static const double ALIKE = 1e-12;
/* What a rate may be off by without being worth a new end. */
static const double SAME = 5e-16;

enum { SUMS = 64 };

/* --- room --------------------------------------------------------------------------------------------------- */

/* A link's share, or a flow's own cap, in the order in which they are given out. */
struct ss_shares_offer {
  double share;
  uint32_t of;
  bool own;
};

bool ss_shares_open(struct ss_shares *shares, uint32_t links, uint32_t path) {
  *shares = (struct ss_shares){.free = SS_NONE, .links = links};
  while (1u << shares->shift < path) shares->shift++;
  shares->link = ss_alloc_zero(links, sizeof *shares->link);
  shares->eased = ss_alloc(links, sizeof *shares->eased);
  shares->touched = ss_alloc(links, sizeof *shares->touched);
  if (!shares->link || !shares->eased || !shares->touched) {
    ss_shares_close(shares);
    return false;
  }
  for (uint32_t i = 0; i < links; i++) shares->link[i].first = SS_NONE;
  return true;
}

void ss_shares_close(struct ss_shares *shares) {
  free(shares->link);
  free(shares->flow);
  free(shares->slot);
  free(shares->fresh);
  free(shares->eased);
  free(shares->vars);
  free(shares->touched);
  free(shares->order);
  ss_fair_heap_close(&shares->ends);
  *shares = (struct ss_shares){0};
}

static bool grow(void *array, size_t count, size_t size) {
  void *old, *grown;
  memcpy(&old, array, sizeof old);
  grown = ss_realloc(old, count, size);
  if (grown) memcpy(array, &grown, sizeof grown);
  return grown != NULL;
}

bool ss_shares_reserve(struct ss_shares *shares, uint32_t flows) {
  if (flows <= shares->capacity) return true;
  if (!grow(&shares->flow, flows, sizeof *shares->flow) ||
      !grow(&shares->slot, (size_t)flows << shares->shift, sizeof *shares->slot) ||
      !grow(&shares->fresh, flows, sizeof *shares->fresh) || !grow(&shares->vars, flows, sizeof *shares->vars) ||
      !grow(&shares->order, (size_t)flows + shares->links, sizeof *shares->order) ||
      !ss_fair_heap_reserve(&shares->ends, flows))
    return false;
  shares->capacity = flows;
  return true;
}

static inline struct ss_shares_slot *slots_of(const struct ss_shares *r, uint32_t flow) {
  return &r->slot[(size_t)flow << r->shift];
}

static inline uint32_t flow_of(const struct ss_shares *r, uint32_t slot) {
  return slot >> r->shift;
}

/* --- coming and going ---------------------------------------------------------------------------------------- */

static void enter(struct ss_shares *r, double now, uint32_t slot, uint32_t at, double bytes) {
  struct ss_shares_link *link = &r->link[at];
  r->slot[slot] = (struct ss_shares_slot){.link = at, .next = link->first, .prev = SS_NONE};
  if (link->first != SS_NONE) r->slot[link->first].prev = slot;
  else link->since = now;
  link->first = slot;
  link->count++;
  link->bytes += bytes;
}

static void leave(struct ss_shares *r, double now, uint32_t slot, double rate) {
  const struct ss_shares_slot *s = &r->slot[slot];
  struct ss_shares_link *link = &r->link[s->link];
  if (s->next != SS_NONE) r->slot[s->next].prev = s->prev;
  if (s->prev != SS_NONE) r->slot[s->prev].next = s->next;
  else link->first = s->next;
  link->count--;
  link->load = link->count > 0 ? link->load - rate : 0;
  link->inexact++;
  if (link->count == 0) link->busy += now - link->since;
}

double ss_shares_begin(struct ss_shares *shares, double now, const uint32_t *path, uint32_t links,
                       struct ss_shares_flow flow) {
  const uint32_t id = shares->free != SS_NONE ? shares->free : shares->used++;
  double alone = flow.cap;
  if (shares->free != SS_NONE) shares->free = shares->flow[id].id;
  flow.since = now;
  flow.rate = 0;
  flow.neck = SS_NONE;
  flow.links = links;
  flow.mark = 0;
  shares->flow[id] = flow;
  for (uint32_t i = 0; i < links; i++) {
    enter(shares, now, (id << shares->shift) + i, path[i], flow.left);
    alone = ss_sooner(alone, shares->link[path[i]].capacity);
  }
  shares->fresh[shares->fresh_count++] = id;
  return alone;
}

void ss_shares_end(struct ss_shares *shares, double now, uint32_t id) {
  struct ss_shares_flow *flow = &shares->flow[id];
  if (flow->neck != SS_NONE) shares->link[flow->neck].necks--;
  for (uint32_t i = 0; i < flow->links; i++) {
    const uint32_t slot = (id << shares->shift) + i, at = shares->slot[slot].link;
    leave(shares, now, slot, flow->rate);
    if (shares->link[at].necks == 0 || shares->link[at].eased) continue;
    shares->link[at].eased = true;
    shares->eased[shares->eased_count++] = at;
  }
  flow->id = shares->free;
  shares->free = id;
}

/* --- filling ------------------------------------------------------------------------------------------------- */

static void touch(struct ss_shares *r, uint32_t at) {
  struct ss_shares_link *link = &r->link[at];
  link->mark = r->mark;
  link->vars = 0;
  link->first_var = SS_NONE;
  link->still = link->necks;
  link->base = link->capacity - link->load;
  r->touched[r->touched_count++] = at;
}

static void add_var(struct ss_shares *r, uint32_t id) {
  struct ss_shares_flow *flow = &r->flow[id];
  struct ss_shares_slot *slot = slots_of(r, id);
  if (flow->mark == r->mark) return;
  flow->mark = r->mark;
  r->vars[r->var_count++] = id;
  for (uint32_t i = 0; i < flow->links; i++, slot++) {
    struct ss_shares_link *link = &r->link[slot->link];
    if (link->mark != r->mark) touch(r, slot->link);
    link->base += flow->rate;
    link->vars++;
    if (flow->neck == slot->link) link->still--;
    slot->next_var = link->first_var;
    link->first_var = (uint32_t)(slot - r->slot);
  }
}

static void sift(struct ss_shares_offer *order, uint32_t count, uint32_t at, struct ss_shares_offer item) {
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && order[child + 1].share < order[child].share) child++;
    if (order[child].share >= item.share) break;
    order[at] = order[child];
    at = child;
  }
  order[at] = item;
}

/* Shares that links would give now, and caps that may come before them. */
static uint32_t line_up(struct ss_shares *r) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < r->touched_count; i++) {
    struct ss_shares_link *link = &r->link[r->touched[i]];
    link->left = link->vars == link->count ? link->capacity : ss_later(link->base, 0);
    link->open = link->vars;
    link->full = false;
    r->order[count++] = (struct ss_shares_offer){link->left / link->open, r->touched[i], false};
  }
  for (uint32_t i = 0; i < r->var_count; i++) {
    struct ss_shares_flow *flow = &r->flow[r->vars[i]];
    const struct ss_shares_slot *slot = slots_of(r, r->vars[i]);
    double most = HUGE_VAL;
    flow->frozen = false;
    for (uint32_t k = 0; k < flow->links; k++) most = ss_sooner(most, r->link[slot[k].link].left);
    if (flow->cap <= most) r->order[count++] = (struct ss_shares_offer){flow->cap, r->vars[i], true};
  }
  for (uint32_t at = count / 2; at-- > 0;) sift(r->order, count, at, r->order[at]);
  return count;
}

static void freeze(struct ss_shares *r, uint32_t id, double rate, uint32_t neck) {
  struct ss_shares_flow *flow = &r->flow[id];
  const struct ss_shares_slot *slot = slots_of(r, id);
  if (flow->frozen) return;
  flow->frozen = true;
  flow->trial = rate;
  flow->trial_neck = neck;
  for (uint32_t i = 0; i < flow->links; i++) {
    struct ss_shares_link *link = &r->link[slot[i].link];
    link->left = ss_later(link->left - rate, 0);
    link->open--;
  }
}

static void freeze_link(struct ss_shares *r, uint32_t at) {
  struct ss_shares_link *link = &r->link[at];
  const double share = link->left / link->open;
  for (uint32_t slot = link->first_var; slot != SS_NONE; slot = r->slot[slot].next_var)
    freeze(r, flow_of(r, slot), share, at);
  link->share = share;
  link->full = true;
}

/* Shares only grow while others freeze, so a link whose share has grown goes back into the line. */
static void fill(struct ss_shares *r) {
  struct ss_shares_offer *order = r->order;
  uint32_t count = line_up(r);
  while (count > 0) {
    struct ss_shares_offer first = order[0];
    const struct ss_shares_link *link = &r->link[first.of];
    if (!first.own && link->open > 0 && link->left > first.share * link->open * (1 + ALIKE)) {
      first.share = link->left / link->open;
      sift(order, count, 0, first);
      continue;
    }
    if (first.own) freeze(r, first.of, first.share, SS_NONE);
    else if (link->open > 0) freeze_link(r, first.of);
    if (--count > 0) sift(order, count, 0, order[count]);
  }
}

/* --- bottlenecks ---------------------------------------------------------------------------------------------------
 */

static double fastest_var(const struct ss_shares *r, const struct ss_shares_link *link) {
  double fastest = 0;
  for (uint32_t slot = link->first_var; slot != SS_NONE; slot = r->slot[slot].next_var)
    fastest = ss_later(fastest, r->flow[flow_of(r, slot)].trial);
  return fastest;
}

/* Takes in flows on a link that is their bottleneck no more, or that are faster than those whose bottleneck it
 * became.
 */
static void check_link(struct ss_shares *r, uint32_t at) {
  const struct ss_shares_link *link = &r->link[at];
  if (link->vars == link->count || (!link->full && link->still == 0)) return;
  const bool full = link->full || link->left <= ALIKE * link->capacity, neck = link->full;
  const double fastest = full && link->still > 0 ? fastest_var(r, link) : 0, share = link->share;
  for (uint32_t slot = link->first; slot != SS_NONE; slot = r->slot[slot].next) {
    const struct ss_shares_flow *flow = &r->flow[flow_of(r, slot)];
    if (flow->mark == r->mark) continue;
    if ((neck && flow->rate > share * (1 + ALIKE)) ||
        (flow->neck == at && (!full || fastest > flow->rate * (1 + ALIKE))))
      add_var(r, flow_of(r, slot));
  }
}

static bool spread(struct ss_shares *r) {
  const uint32_t vars = r->var_count, touched = r->touched_count;
  for (uint32_t i = 0; i < touched; i++) check_link(r, r->touched[i]);
  return r->var_count > vars;
}

/* --- new rates ----------------------------------------------------------------------------------------------- */

static void add_up(struct ss_shares *r, struct ss_shares_link *link) {
  double load = 0;
  link->inexact = 0;
  for (uint32_t slot = link->first; slot != SS_NONE; slot = r->slot[slot].next)
    load += r->flow[flow_of(r, slot)].rate;
  link->load = load;
}

static bool set_rate(struct ss_shares *r, double now, uint32_t id) {
  struct ss_shares_flow *flow = &r->flow[id];
  const struct ss_shares_slot *slot = slots_of(r, id);
  const double more = flow->trial - flow->rate;
  if (flow->neck != flow->trial_neck) {
    if (flow->neck != SS_NONE) r->link[flow->neck].necks--;
    flow->neck = flow->trial_neck;
    if (flow->neck != SS_NONE) r->link[flow->neck].necks++;
  }
  if (fabs(more) <= SAME * flow->rate) return false;
  flow->left = ss_later(flow->left - flow->rate * (now - flow->since), 0);
  flow->since = now;
  flow->rate = flow->trial;
  for (uint32_t i = 0; i < flow->links; i++) {
    struct ss_shares_link *link = &r->link[slot[i].link];
    link->load += more;
    if (++link->inexact >= SUMS && link->inexact >= link->count) add_up(r, link);
  }
  return true;
}

static void set_rates(struct ss_shares *r, double now) {
  enum { MANY = 4 };
  const bool many = r->var_count > r->ends.count / MANY;
  for (uint32_t i = 0; i < r->var_count; i++) {
    const uint32_t id = r->vars[i];
    if (!set_rate(r, now, id)) continue;
    const double end = now + r->flow[id].left / r->flow[id].rate;
    if (many) ss_fair_heap_put(&r->ends, id, end);
    else ss_fair_heap_set(&r->ends, id, end);
  }
  if (many) ss_fair_heap_order(&r->ends);
}

/* A flow that shares nothing with any other needs no comparison. */
static bool alone(struct ss_shares *r, double now, uint32_t id) {
  struct ss_shares_flow *flow = &r->flow[id];
  const struct ss_shares_slot *slot = slots_of(r, id);
  flow->trial = flow->cap;
  flow->trial_neck = SS_NONE;
  for (uint32_t i = 0; i < flow->links; i++) {
    const struct ss_shares_link *link = &r->link[slot[i].link];
    if (link->count > 1) return false;
    if (link->capacity >= flow->trial) continue;
    flow->trial = link->capacity;
    flow->trial_neck = slot[i].link;
  }
  set_rate(r, now, id);
  ss_fair_heap_set(&r->ends, id, now + flow->left / flow->rate);
  return true;
}

#ifdef SS_INVARIANTS
/* No link carries more than its capacity, and every flow on it has a bottleneck. */
static void check_invariants(const struct ss_shares *r) {
  static const double EXACT = 1e-9;
  for (uint32_t at = 0; at < r->links; at++) {
    double load = 0, fastest = 0;
    for (uint32_t slot = r->link[at].first; slot != SS_NONE; slot = r->slot[slot].next) {
      load += r->flow[flow_of(r, slot)].rate;
      fastest = ss_later(fastest, r->flow[flow_of(r, slot)].rate);
    }
    assert(load <= r->link[at].capacity * (1 + EXACT));
    for (uint32_t slot = r->link[at].first; slot != SS_NONE; slot = r->slot[slot].next) {
      const struct ss_shares_flow *flow = &r->flow[flow_of(r, slot)];
      assert(flow->rate <= flow->cap * (1 + EXACT));
      assert(flow->neck != SS_NONE || flow->rate >= flow->cap * (1 - EXACT));
      if (flow->neck != at) continue;
      assert(load >= r->link[at].capacity * (1 - EXACT));
      assert(flow->rate >= fastest * (1 - EXACT));
    }
  }
}
#else
static void check_invariants(const struct ss_shares *r) {
  (void)r;
}
#endif

void ss_shares_update(struct ss_shares *shares, double now) {
  if (shares->fresh_count + shares->eased_count == 0) return;
  shares->mark++;
  shares->var_count = shares->touched_count = 0;
  for (uint32_t i = 0; i < shares->eased_count; i++) shares->link[shares->eased[i]].eased = false;
  for (uint32_t i = 0; i < shares->eased_count; i++) {
    const uint32_t at = shares->eased[i];
    for (uint32_t slot = shares->link[at].first; slot != SS_NONE; slot = shares->slot[slot].next)
      if (shares->flow[flow_of(shares, slot)].neck == at) add_var(shares, flow_of(shares, slot));
  }
  for (uint32_t i = 0; i < shares->fresh_count; i++)
    if (!alone(shares, now, shares->fresh[i])) add_var(shares, shares->fresh[i]);
  shares->fresh_count = shares->eased_count = 0;
  if (shares->var_count > 0) {
    do fill(shares);
    while (spread(shares));
    set_rates(shares, now);
  }
  check_invariants(shares);
}
/* SPDX-License-Identifier: Apache-2.0 */
