/* When flows come or go only some bundles are given new rates: those that got or lost a flow, and those whose
 * bottleneck was eased. They share what the others leave, by progressive filling. Then others lose their bottleneck
 * by it, or are faster on a link that became somebody's: they are taken in, and the filling is done again, until
 * all have a bottleneck. */
#include "machine/shares.h"

/* Rates that differ by less than this share are one, and a link with less than it to spare is full. */
static const double ALIKE = 1e-12;
/* What a rate may be off by without being worth a new end. */
static const double SAME = 5e-16;

/* Changes until a link's load is added up anew, and until what a bundle was served is. */
enum { SUMS = 64, SERVED = 16 };

/* --- room --------------------------------------------------------------------------------------------------- */

/* A link's share, in the order in which they are given out. */
struct ss_shares_offer {
  double share;
  uint32_t link;
};

bool ss_shares_open(struct ss_shares *shares, uint32_t links, uint32_t path) {
  *shares = (struct ss_shares){.free = SS_NONE, .free_bundle = SS_NONE, .links = links};
  while (1u << shares->shift < path) shares->shift++;
  shares->link = ss_alloc_zero(links, sizeof *shares->link);
  shares->eased = ss_alloc(links, sizeof *shares->eased);
  shares->touched = ss_alloc(links, sizeof *shares->touched);
  shares->order = ss_alloc(links, sizeof *shares->order);
  if (!shares->link || !shares->eased || !shares->touched || !shares->order) {
    ss_shares_close(shares);
    return false;
  }
  for (uint32_t i = 0; i < links; i++) shares->link[i].first = SS_NONE;
  return true;
}

void ss_shares_close(struct ss_shares *shares) {
  free(shares->link);
  free(shares->flow);
  free(shares->bundle);
  free(shares->slot);
  free(shares->fresh);
  free(shares->eased);
  free(shares->vars);
  free(shares->room);
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
  if (!grow(&shares->flow, flows, sizeof *shares->flow) || !grow(&shares->bundle, flows, sizeof *shares->bundle) ||
      !grow(&shares->slot, (size_t)flows << shares->shift, sizeof *shares->slot) ||
      !grow(&shares->fresh, flows, sizeof *shares->fresh) || !grow(&shares->vars, flows, sizeof *shares->vars) ||
      !grow(&shares->room, flows, sizeof *shares->room) || !ss_fair_heap_reserve(&shares->ends, flows))
    return false;
  shares->capacity = flows;
  return true;
}

static inline struct ss_shares_slot *slots_of(const struct ss_shares *r, uint32_t bundle) {
  return &r->slot[(size_t)bundle << r->shift];
}

static inline uint32_t bundle_of(const struct ss_shares *r, uint32_t slot) {
  return slot >> r->shift;
}

/* --- flows of a bundle -------------------------------------------------------------------------------------- */

static uint32_t meld(struct ss_shares *r, uint32_t a, uint32_t b) {
  if (a == SS_NONE || b == SS_NONE) return a == SS_NONE ? b : a;
  const bool swap = r->flow[b].left < r->flow[a].left;
  const uint32_t first = swap ? b : a, other = swap ? a : b;
  r->flow[other].sibling = r->flow[first].child;
  r->flow[first].child = other;
  return first;
}

/* The bundle's heap without its root. */
static uint32_t without_first(struct ss_shares *r, uint32_t first) {
  uint32_t pairs = SS_NONE, rest = SS_NONE;
  for (uint32_t a = r->flow[first].child, next; a != SS_NONE; a = next) {
    const uint32_t b = r->flow[a].sibling;
    next = b == SS_NONE ? SS_NONE : r->flow[b].sibling;
    const uint32_t pair = meld(r, a, b);
    r->flow[pair].sibling = pairs;
    pairs = pair;
  }
  for (uint32_t pair = pairs, next; pair != SS_NONE; pair = next) {
    next = r->flow[pair].sibling;
    rest = meld(r, rest, pair);
  }
  return rest;
}

/* What was served is taken off what was left of each, so that it never grows far beyond it and sums stay exact. */
static void settle_served(struct ss_shares *r, struct ss_shares_bundle *bundle) {
  uint32_t count = 0, *at = r->room;
  at[count++] = bundle->first;
  while (count > 0) {
    struct ss_shares_flow *flow = &r->flow[at[--count]];
    flow->left -= bundle->served;
    if (flow->child != SS_NONE) at[count++] = flow->child;
    if (flow != &r->flow[bundle->first] && flow->sibling != SS_NONE) at[count++] = flow->sibling;
  }
  bundle->served = 0;
  bundle->changes = 0;
}

static void serve(struct ss_shares *r, struct ss_shares_bundle *bundle, double now) {
  bundle->served += bundle->rate * (now - bundle->since);
  bundle->since = now;
  if (++bundle->changes >= SERVED && bundle->changes >= bundle->count) settle_served(r, bundle);
}

static double end_of(const struct ss_shares *r, const struct ss_shares_bundle *bundle) {
  return bundle->since + ss_later(r->flow[bundle->first].left - bundle->served, 0) / bundle->rate;
}

/* --- coming and going --------------------------------------------------------------------------------------- */

static bool is_path(const struct ss_shares *r, uint32_t bundle, const uint32_t *path, uint32_t links) {
  const struct ss_shares_slot *slot = slots_of(r, bundle);
  if (r->bundle[bundle].links != links) return false;
  for (uint32_t i = 0; i < links; i++)
    if (slot[i].link != path[i]) return false;
  return true;
}

/* Looks at those that began last on the first link: two bundles where one would do are no mistake. */
static uint32_t find_bundle(const struct ss_shares *r, const uint32_t *path, uint32_t links, double cap) {
  enum { LOOKS = 16 };
  uint32_t slot = links > 0 ? r->link[path[0]].first : SS_NONE;
  for (uint32_t i = 0; i < LOOKS && slot != SS_NONE; i++, slot = r->slot[slot].next) {
    const uint32_t id = bundle_of(r, slot);
    if (!(r->bundle[id].cap < cap) && !(r->bundle[id].cap > cap) && is_path(r, id, path, links)) return id;
  }
  return SS_NONE;
}

static uint32_t add_bundle(struct ss_shares *r, double now, const uint32_t *path, uint32_t links, double cap) {
  const uint32_t id = r->free_bundle != SS_NONE ? r->free_bundle : r->used_bundles++;
  struct ss_shares_bundle *bundle = &r->bundle[id];
  if (r->free_bundle != SS_NONE) r->free_bundle = bundle->count;
  *bundle = (struct ss_shares_bundle){.since = now, .cap = cap, .first = SS_NONE, .neck = SS_NONE, .links = links};
  for (uint32_t i = 0; i < links; i++) {
    const uint32_t slot = (id << r->shift) + i;
    struct ss_shares_link *link = &r->link[path[i]];
    r->slot[slot] = (struct ss_shares_slot){.link = path[i], .next = link->first, .prev = SS_NONE};
    if (link->first != SS_NONE) r->slot[link->first].prev = slot;
    link->first = slot;
  }
  return id;
}

static void free_bundle(struct ss_shares *r, uint32_t id) {
  r->bundle[id].count = r->free_bundle;
  r->free_bundle = id;
}

static void remove_bundle(struct ss_shares *r, uint32_t id) {
  struct ss_shares_bundle *bundle = &r->bundle[id];
  for (uint32_t i = 0; i < bundle->links; i++) {
    const struct ss_shares_slot *s = &slots_of(r, id)[i];
    if (s->next != SS_NONE) r->slot[s->next].prev = s->prev;
    if (s->prev != SS_NONE) r->slot[s->prev].next = s->next;
    else r->link[s->link].first = s->next;
  }
  if (bundle->neck != SS_NONE) r->link[bundle->neck].necks--;
  if (!bundle->fresh) free_bundle(r, id);
}

double ss_shares_begin(struct ss_shares *shares, double now, const uint32_t *path, uint32_t links,
                       struct ss_shares_begun begun) {
  const uint32_t id = shares->free != SS_NONE ? shares->free : shares->used++;
  const uint32_t known = find_bundle(shares, path, links, begun.cap);
  const uint32_t at = known != SS_NONE ? known : add_bundle(shares, now, path, links, begun.cap);
  struct ss_shares_bundle *bundle = &shares->bundle[at];
  double alone = begun.cap;
  if (shares->free != SS_NONE) shares->free = shares->flow[id].id;
  if (bundle->count > 0) serve(shares, bundle, now);
  shares->flow[id] =
      (struct ss_shares_flow){begun.bytes + bundle->served, at, SS_NONE, SS_NONE, begun.id, begun.owner};
  bundle->first = meld(shares, bundle->first, id);
  bundle->count++;
  for (uint32_t i = 0; i < links; i++) {
    struct ss_shares_link *link = &shares->link[path[i]];
    ss_shares_link_begins(link, now, begun.bytes);
    link->load += bundle->rate;
    link->inexact++;
    alone = ss_sooner(alone, link->capacity);
  }
  if (!bundle->fresh) shares->fresh[shares->fresh_count++] = at;
  bundle->fresh = true;
  return alone;
}

static void leave(struct ss_shares *r, double now, uint32_t at, double rate) {
  struct ss_shares_link *link = &r->link[at];
  ss_shares_link_ends(link, now);
  link->load = link->count > 0 ? link->load - rate : 0;
  link->inexact++;
  if (link->necks == 0 || link->eased) return;
  link->eased = true;
  r->eased[r->eased_count++] = at;
}

void ss_shares_end(struct ss_shares *shares, double now, uint32_t id) {
  struct ss_shares_flow *flow = &shares->flow[id];
  const uint32_t at = flow->bundle;
  struct ss_shares_bundle *bundle = &shares->bundle[at];
  const uint32_t links = bundle->links;
  const struct ss_shares_slot *slot = slots_of(shares, at);
  const double rate = bundle->rate;
  if (--bundle->count == 0) remove_bundle(shares, at);
  for (uint32_t i = 0; i < links; i++) leave(shares, now, slot[i].link, rate);
  flow->id = shares->free;
  shares->free = id;
}

/* --- filling ------------------------------------------------------------------------------------------------ */

static void touch(struct ss_shares *r, uint32_t at) {
  struct ss_shares_link *link = &r->link[at];
  link->mark = r->mark;
  link->vars = 0;
  link->first_var = SS_NONE;
  link->still = link->necks;
  link->base = link->capacity - link->load;
  link->least_cap = HUGE_VAL;
  r->touched[r->touched_count++] = at;
}

static void add_var(struct ss_shares *r, uint32_t id) {
  struct ss_shares_bundle *bundle = &r->bundle[id];
  struct ss_shares_slot *slot = slots_of(r, id);
  if (bundle->mark == r->mark) return;
  bundle->mark = r->mark;
  r->vars[r->var_count++] = id;
  for (uint32_t i = 0; i < bundle->links; i++, slot++) {
    struct ss_shares_link *link = &r->link[slot->link];
    if (link->mark != r->mark) touch(r, slot->link);
    link->base += bundle->count * bundle->rate;
    link->least_cap = ss_sooner(link->least_cap, bundle->cap);
    link->vars += bundle->count;
    if (bundle->neck == slot->link) link->still--;
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

/* Shares that links would give now. */
static uint32_t line_up(struct ss_shares *r) {
  const uint32_t count = r->touched_count;
  for (uint32_t i = 0; i < count; i++) {
    struct ss_shares_link *link = &r->link[r->touched[i]];
    link->left = link->vars == link->count ? link->capacity : ss_later(link->base, 0);
    link->open = link->vars;
    link->full = false;
    link->fastest = 0;
    r->order[i] = (struct ss_shares_offer){link->left / link->open, r->touched[i]};
  }
  for (uint32_t i = 0; i < r->var_count; i++) r->bundle[r->vars[i]].frozen = false;
  for (uint32_t at = count / 2; at-- > 0;) sift(r->order, count, at, r->order[at]);
  return count;
}

static void freeze(struct ss_shares *r, uint32_t id, double rate, uint32_t neck) {
  struct ss_shares_bundle *bundle = &r->bundle[id];
  const struct ss_shares_slot *slot = slots_of(r, id);
  const double all = bundle->count * rate;
  bundle->frozen = true;
  bundle->trial = rate;
  bundle->trial_neck = neck;
  for (uint32_t i = 0; i < bundle->links; i++) {
    struct ss_shares_link *link = &r->link[slot[i].link];
    link->left = ss_later(link->left - all, 0);
    link->fastest = ss_later(link->fastest, rate);
    link->open -= bundle->count;
  }
}

/* Those on the link whose caps are below its share; what they leave is more than a share for each of the others. */
static bool freeze_capped(struct ss_shares *r, uint32_t at, double share) {
  bool any = false;
  if (r->link[at].least_cap >= share) return false;
  for (uint32_t slot = r->link[at].first_var; slot != SS_NONE; slot = r->slot[slot].next_var) {
    const uint32_t id = bundle_of(r, slot);
    if (r->bundle[id].frozen || r->bundle[id].cap >= share) continue;
    freeze(r, id, r->bundle[id].cap, SS_NONE);
    any = true;
  }
  return any;
}

static void freeze_link(struct ss_shares *r, uint32_t at) {
  struct ss_shares_link *link = &r->link[at];
  const double share = link->left / link->open;
  for (uint32_t slot = link->first_var; slot != SS_NONE; slot = r->slot[slot].next_var)
    if (!r->bundle[bundle_of(r, slot)].frozen) freeze(r, bundle_of(r, slot), share, at);
  link->share = share;
  link->full = true;
}

/* Shares only grow while others freeze, so a link whose share has grown goes back into the line. A flow's own cap
 * counts when a link would give it more: until then nobody else's share rests on it. */
static void fill(struct ss_shares *r) {
  struct ss_shares_offer *order = r->order;
  uint32_t count = line_up(r);
  while (count > 0) {
    struct ss_shares_offer first = order[0];
    const struct ss_shares_link *link = &r->link[first.link];
    if (link->open > 0 &&
        (link->left > first.share * link->open * (1 + ALIKE) || freeze_capped(r, first.link, first.share))) {
      first.share = link->open > 0 ? link->left / link->open : first.share;
      sift(order, count, 0, first);
      continue;
    }
    if (link->open > 0) freeze_link(r, first.link);
    if (--count > 0) sift(order, count, 0, order[count]);
  }
}

/* --- bottlenecks -------------------------------------------------------------------------------------------- */

/* Takes in bundles on a link that is their bottleneck no more, or that are faster than those whose bottleneck it
 * became. */
static void check_link(struct ss_shares *r, uint32_t at) {
  const struct ss_shares_link *link = &r->link[at];
  if (link->vars == link->count || (!link->full && link->still == 0)) return;
  const bool full = link->full || link->left <= ALIKE * link->capacity, neck = link->full;
  const double fastest = link->fastest, share = link->share;
  for (uint32_t slot = link->first; slot != SS_NONE; slot = r->slot[slot].next) {
    const struct ss_shares_bundle *bundle = &r->bundle[bundle_of(r, slot)];
    if (bundle->mark == r->mark) continue;
    if ((neck && bundle->rate > share * (1 + ALIKE)) ||
        (bundle->neck == at && (!full || fastest > bundle->rate * (1 + ALIKE))))
      add_var(r, bundle_of(r, slot));
  }
}

static bool spread(struct ss_shares *r) {
  const uint32_t vars = r->var_count, touched = r->touched_count;
  for (uint32_t i = 0; i < touched; i++) check_link(r, r->touched[i]);
  return r->var_count > vars;
}

/* --- new rates ---------------------------------------------------------------------------------------------- */

static void add_up(struct ss_shares *r, struct ss_shares_link *link) {
  double load = 0;
  link->inexact = 0;
  for (uint32_t slot = link->first; slot != SS_NONE; slot = r->slot[slot].next) {
    const struct ss_shares_bundle *bundle = &r->bundle[bundle_of(r, slot)];
    load += bundle->count * bundle->rate;
  }
  link->load = load;
}

static void set_rate(struct ss_shares *r, double now, uint32_t id) {
  struct ss_shares_bundle *bundle = &r->bundle[id];
  const struct ss_shares_slot *slot = slots_of(r, id);
  const double more = bundle->trial - bundle->rate;
  if (bundle->neck != bundle->trial_neck) {
    if (bundle->neck != SS_NONE) r->link[bundle->neck].necks--;
    bundle->neck = bundle->trial_neck;
    if (bundle->neck != SS_NONE) r->link[bundle->neck].necks++;
  }
  if (fabs(more) <= SAME * bundle->rate) return;
  serve(r, bundle, now);
  bundle->rate = bundle->trial;
  for (uint32_t i = 0; i < bundle->links; i++) {
    struct ss_shares_link *link = &r->link[slot[i].link];
    link->load += bundle->count * more;
    if (++link->inexact >= SUMS && link->inexact >= link->count) add_up(r, link);
  }
}

static void set_rates(struct ss_shares *r, double now) {
  enum { MANY = 4 };
  const bool many = r->var_count > r->ends.count / MANY;
  for (uint32_t i = 0; i < r->var_count; i++) {
    const uint32_t id = r->vars[i];
    set_rate(r, now, id);
    if (many) ss_fair_heap_put(&r->ends, id, end_of(r, &r->bundle[id]));
    else ss_fair_heap_set(&r->ends, id, end_of(r, &r->bundle[id]));
  }
  if (many) ss_fair_heap_order(&r->ends);
}

/* A bundle that shares nothing with any other needs no comparison. */
static bool alone(struct ss_shares *r, double now, uint32_t id) {
  struct ss_shares_bundle *bundle = &r->bundle[id];
  const struct ss_shares_slot *slot = slots_of(r, id);
  bundle->trial = bundle->cap;
  bundle->trial_neck = SS_NONE;
  for (uint32_t i = 0; i < bundle->links; i++) {
    const struct ss_shares_link *link = &r->link[slot[i].link];
    const double share = link->capacity / bundle->count;
    if (link->count > bundle->count) return false;
    if (share >= bundle->trial) continue;
    bundle->trial = share;
    bundle->trial_neck = slot[i].link;
  }
  set_rate(r, now, id);
  ss_fair_heap_set(&r->ends, id, end_of(r, bundle));
  return true;
}

#ifdef SS_INVARIANTS
/* No link carries more than its capacity, and every flow on it has a bottleneck. */
static void check_invariants(const struct ss_shares *r) {
  static const double EXACT = 1e-9;
  for (uint32_t at = 0; at < r->links; at++) {
    double load = 0, fastest = 0;
    for (uint32_t slot = r->link[at].first; slot != SS_NONE; slot = r->slot[slot].next) {
      load += r->bundle[bundle_of(r, slot)].count * r->bundle[bundle_of(r, slot)].rate;
      fastest = ss_later(fastest, r->bundle[bundle_of(r, slot)].rate);
    }
    assert(load <= r->link[at].capacity * (1 + EXACT));
    for (uint32_t slot = r->link[at].first; slot != SS_NONE; slot = r->slot[slot].next) {
      const struct ss_shares_bundle *bundle = &r->bundle[bundle_of(r, slot)];
      assert(bundle->rate <= bundle->cap * (1 + EXACT));
      assert(bundle->neck != SS_NONE || bundle->rate >= bundle->cap * (1 - EXACT));
      if (bundle->neck != at) continue;
      assert(load >= r->link[at].capacity * (1 - EXACT));
      assert(bundle->rate >= fastest * (1 - EXACT));
    }
  }
}
#else
static void check_invariants(const struct ss_shares *r) {
  (void)r;
}
#endif

static void find_vars(struct ss_shares *r, double now) {
  for (uint32_t i = 0; i < r->eased_count; i++) r->link[r->eased[i]].eased = false;
  for (uint32_t i = 0; i < r->eased_count; i++) {
    const uint32_t at = r->eased[i];
    for (uint32_t slot = r->link[at].first; slot != SS_NONE; slot = r->slot[slot].next)
      if (r->bundle[bundle_of(r, slot)].neck == at) add_var(r, bundle_of(r, slot));
  }
  for (uint32_t i = 0; i < r->fresh_count; i++) {
    const uint32_t id = r->fresh[i];
    r->bundle[id].fresh = false;
    if (r->bundle[id].count == 0) free_bundle(r, id);
    else if (!alone(r, now, id)) add_var(r, id);
  }
  r->fresh_count = r->eased_count = 0;
}

void ss_shares_update(struct ss_shares *shares, double now) {
  if (shares->fresh_count + shares->eased_count == 0) return;
  shares->mark++;
  shares->var_count = shares->touched_count = 0;
  find_vars(shares, now);
  if (shares->var_count > 0) {
    do fill(shares);
    while (spread(shares));
    set_rates(shares, now);
  }
  check_invariants(shares);
}

/* --- ends --------------------------------------------------------------------------------------------------- */

uint32_t ss_shares_take(struct ss_shares *shares, double limit, uint32_t *flows) {
  const uint32_t bundles = ss_fair_heap_take(&shares->ends, limit, shares->room);
  uint32_t count = 0;
  for (uint32_t i = 0; i < bundles; i++) {
    struct ss_shares_bundle *bundle = &shares->bundle[shares->room[i]];
    double end = limit;
    while (end <= limit) {
      flows[count++] = bundle->first;
      bundle->first = without_first(shares, bundle->first);
      end = bundle->first == SS_NONE ? HUGE_VAL : end_of(shares, bundle);
    }
    if (bundle->first != SS_NONE) ss_fair_heap_set(&shares->ends, shares->room[i], end);
  }
  return count;
}
/* SPDX-License-Identifier: Apache-2.0 */
