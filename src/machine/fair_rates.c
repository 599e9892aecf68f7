/* Max-min fair rates.
 *
 * An allocation is the max-min fair one exactly when every flow has a *neck*: its own cap, or a full link on which no
 * flow is faster. So when flows come or go only some are given new rates: those that came, and those whose neck was
 * eased. They share what the others leave, by progressive filling; then others whose neck that took away, or who are
 * faster on a link that became somebody's neck, are taken in and the filling is done again, until all have a neck. */
#include "machine/fair.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rates that differ by less than this share are one, and a link with less than it to spare is full. */
static const double ALIKE = 1e-12;
/* What a rate may be off by without being worth a new end. */
static const double SAME = 5e-16;

enum { SUMS = 64 };

/* --- room --------------------------------------------------------------------------------------------------- */

bool ss_fair_rates_open(struct ss_fair_rates *r, const struct ss_fair_map *map, const struct ss_cluster *cluster) {
  *r = (struct ss_fair_rates){.free = SS_NONE, .links = map->links};
  while (1u << r->shift < map->path) r->shift++;
  r->link = ss_alloc_zero(map->links, sizeof *r->link);
  r->eased = ss_alloc(map->links, sizeof *r->eased);
  r->touched = ss_alloc(map->links, sizeof *r->touched);
  if (!r->link || !r->eased || !r->touched) {
    ss_fair_rates_close(r);
    return false;
  }
  ss_fair_capacities(map, cluster, r->link);
  return true;
}

void ss_fair_rates_close(struct ss_fair_rates *r) {
  free(r->link);
  free(r->flow);
  free(r->slot);
  free(r->fresh);
  free(r->eased);
  free(r->vars);
  free(r->touched);
  free(r->order);
  ss_fair_heap_close(&r->ends);
  *r = (struct ss_fair_rates){0};
}

static bool grow(void *array, size_t count, size_t size) {
  void *old, *grown;
  memcpy(&old, array, sizeof old);
  grown = ss_realloc(old, count, size);
  if (grown) memcpy(array, &grown, sizeof grown);
  return grown != NULL;
}

bool ss_fair_rates_reserve(struct ss_fair_rates *r, uint32_t flows) {
  if (flows <= r->capacity) return true;
  if (!grow(&r->flow, flows, sizeof *r->flow) || !grow(&r->slot, (size_t)flows << r->shift, sizeof *r->slot) ||
      !grow(&r->fresh, flows, sizeof *r->fresh) || !grow(&r->vars, flows, sizeof *r->vars) ||
      !grow(&r->order, (size_t)flows + r->links, sizeof *r->order) || !ss_fair_heap_reserve(&r->ends, flows))
    return false;
  r->capacity = flows;
  return true;
}

static inline struct ss_fair_slot *slots_of(const struct ss_fair_rates *r, uint32_t flow) {
  return &r->slot[(size_t)flow << r->shift];
}

static inline uint32_t flow_of(const struct ss_fair_rates *r, uint32_t slot) {
  return slot >> r->shift;
}

/* --- coming and going ---------------------------------------------------------------------------------------- */

static void enter(struct ss_fair_rates *r, double now, uint32_t slot, uint32_t at, double bytes) {
  struct ss_fair_link *link = &r->link[at];
  r->slot[slot] = (struct ss_fair_slot){.link = at, .next = link->first, .prev = SS_NONE};
  if (link->first != SS_NONE) r->slot[link->first].prev = slot;
  else link->since = now;
  link->first = slot;
  link->count++;
  link->bytes += bytes;
}

static void leave(struct ss_fair_rates *r, double now, uint32_t slot, double rate) {
  const struct ss_fair_slot *s = &r->slot[slot];
  struct ss_fair_link *link = &r->link[s->link];
  if (s->next != SS_NONE) r->slot[s->next].prev = s->prev;
  if (s->prev != SS_NONE) r->slot[s->prev].next = s->next;
  else link->first = s->next;
  link->count--;
  link->load = link->count > 0 ? link->load - rate : 0;
  link->inexact++;
  if (link->count == 0) link->busy += now - link->since;
}

double ss_fair_flow_begin(struct ss_fair_rates *r, double now, const uint32_t *path, uint32_t links,
                          struct ss_fair_flow flow) {
  const uint32_t id = r->free != SS_NONE ? r->free : r->used++;
  double alone = flow.cap;
  if (r->free != SS_NONE) r->free = r->flow[id].message;
  flow.since = now;
  flow.rate = 0;
  flow.neck = SS_NONE;
  flow.links = links;
  flow.mark = 0;
  r->flow[id] = flow;
  for (uint32_t i = 0; i < links; i++) {
    enter(r, now, (id << r->shift) + i, path[i], flow.left);
    alone = ss_sooner(alone, r->link[path[i]].capacity);
  }
  r->fresh[r->fresh_count++] = id;
  return alone;
}

void ss_fair_flow_end(struct ss_fair_rates *r, double now, uint32_t id) {
  struct ss_fair_flow *flow = &r->flow[id];
  if (flow->neck != SS_NONE) r->link[flow->neck].necks--;
  for (uint32_t i = 0; i < flow->links; i++) {
    const uint32_t slot = (id << r->shift) + i, at = r->slot[slot].link;
    leave(r, now, slot, flow->rate);
    if (r->link[at].necks == 0 || r->link[at].eased) continue;
    r->link[at].eased = true;
    r->eased[r->eased_count++] = at;
  }
  flow->message = r->free;
  r->free = id;
}

/* --- filling ------------------------------------------------------------------------------------------------- */

static void touch(struct ss_fair_rates *r, uint32_t at) {
  struct ss_fair_link *link = &r->link[at];
  link->mark = r->mark;
  link->vars = 0;
  link->first_var = SS_NONE;
  link->still = link->necks;
  link->base = link->capacity - link->load;
  r->touched[r->touched_count++] = at;
}

static void add_var(struct ss_fair_rates *r, uint32_t id) {
  struct ss_fair_flow *flow = &r->flow[id];
  struct ss_fair_slot *slot = slots_of(r, id);
  if (flow->mark == r->mark) return;
  flow->mark = r->mark;
  r->vars[r->var_count++] = id;
  for (uint32_t i = 0; i < flow->links; i++, slot++) {
    struct ss_fair_link *link = &r->link[slot->link];
    if (link->mark != r->mark) touch(r, slot->link);
    link->base += flow->rate;
    link->vars++;
    if (flow->neck == slot->link) link->still--;
    slot->next_var = link->first_var;
    link->first_var = (uint32_t)(slot - r->slot);
  }
}

static void sift(struct ss_fair_share *order, uint32_t count, uint32_t at, struct ss_fair_share item) {
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
static uint32_t line_up(struct ss_fair_rates *r) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < r->touched_count; i++) {
    struct ss_fair_link *link = &r->link[r->touched[i]];
    link->left = link->vars == link->count ? link->capacity : ss_later(link->base, 0);
    link->open = link->vars;
    link->full = false;
    r->order[count++] = (struct ss_fair_share){link->left / link->open, r->touched[i], false};
  }
  for (uint32_t i = 0; i < r->var_count; i++) {
    struct ss_fair_flow *flow = &r->flow[r->vars[i]];
    const struct ss_fair_slot *slot = slots_of(r, r->vars[i]);
    double most = HUGE_VAL;
    flow->frozen = false;
    for (uint32_t k = 0; k < flow->links; k++) most = ss_sooner(most, r->link[slot[k].link].left);
    if (flow->cap <= most) r->order[count++] = (struct ss_fair_share){flow->cap, r->vars[i], true};
  }
  for (uint32_t at = count / 2; at-- > 0;) sift(r->order, count, at, r->order[at]);
  return count;
}

static void freeze(struct ss_fair_rates *r, uint32_t id, double rate, uint32_t neck) {
  struct ss_fair_flow *flow = &r->flow[id];
  const struct ss_fair_slot *slot = slots_of(r, id);
  if (flow->frozen) return;
  flow->frozen = true;
  flow->trial = rate;
  flow->trial_neck = neck;
  for (uint32_t i = 0; i < flow->links; i++) {
    struct ss_fair_link *link = &r->link[slot[i].link];
    link->left = ss_later(link->left - rate, 0);
    link->open--;
  }
}

static void freeze_link(struct ss_fair_rates *r, uint32_t at) {
  struct ss_fair_link *link = &r->link[at];
  const double share = link->left / link->open;
  for (uint32_t slot = link->first_var; slot != SS_NONE; slot = r->slot[slot].next_var)
    freeze(r, flow_of(r, slot), share, at);
  link->share = share;
  link->full = true;
}

/* Shares only grow while others freeze, so a link whose share has grown goes back into the line. */
static void fill(struct ss_fair_rates *r) {
  struct ss_fair_share *order = r->order;
  uint32_t count = line_up(r);
  while (count > 0) {
    struct ss_fair_share first = order[0];
    const struct ss_fair_link *link = &r->link[first.of];
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

/* --- necks --------------------------------------------------------------------------------------------------- */

static double fastest_var(const struct ss_fair_rates *r, const struct ss_fair_link *link) {
  double fastest = 0;
  for (uint32_t slot = link->first_var; slot != SS_NONE; slot = r->slot[slot].next_var)
    fastest = ss_later(fastest, r->flow[flow_of(r, slot)].trial);
  return fastest;
}

/* Takes in flows on a link whose neck it no longer is, or that are faster than those whose neck it became. */
static void check_link(struct ss_fair_rates *r, uint32_t at) {
  const struct ss_fair_link *link = &r->link[at];
  if (link->vars == link->count || (!link->full && link->still == 0)) return;
  const bool full = link->full || link->left <= ALIKE * link->capacity, neck = link->full;
  const double fastest = full && link->still > 0 ? fastest_var(r, link) : 0, share = link->share;
  for (uint32_t slot = link->first; slot != SS_NONE; slot = r->slot[slot].next) {
    const struct ss_fair_flow *flow = &r->flow[flow_of(r, slot)];
    if (flow->mark == r->mark) continue;
    if ((neck && flow->rate > share * (1 + ALIKE)) ||
        (flow->neck == at && (!full || fastest > flow->rate * (1 + ALIKE))))
      add_var(r, flow_of(r, slot));
  }
}

static bool spread(struct ss_fair_rates *r) {
  const uint32_t vars = r->var_count, touched = r->touched_count;
  for (uint32_t i = 0; i < touched; i++) check_link(r, r->touched[i]);
  return r->var_count > vars;
}

/* --- new rates ----------------------------------------------------------------------------------------------- */

static void add_up(struct ss_fair_rates *r, struct ss_fair_link *link) {
  double load = 0;
  link->inexact = 0;
  for (uint32_t slot = link->first; slot != SS_NONE; slot = r->slot[slot].next)
    load += r->flow[flow_of(r, slot)].rate;
  link->load = load;
}

static bool set_rate(struct ss_fair_rates *r, double now, uint32_t id) {
  struct ss_fair_flow *flow = &r->flow[id];
  const struct ss_fair_slot *slot = slots_of(r, id);
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
    struct ss_fair_link *link = &r->link[slot[i].link];
    link->load += more;
    if (++link->inexact >= SUMS && link->inexact >= link->count) add_up(r, link);
  }
  return true;
}

static void set_rates(struct ss_fair_rates *r, double now) {
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
static bool alone(struct ss_fair_rates *r, double now, uint32_t id) {
  struct ss_fair_flow *flow = &r->flow[id];
  const struct ss_fair_slot *slot = slots_of(r, id);
  flow->trial = flow->cap;
  flow->trial_neck = SS_NONE;
  for (uint32_t i = 0; i < flow->links; i++) {
    const struct ss_fair_link *link = &r->link[slot[i].link];
    if (link->count > 1) return false;
    if (link->capacity >= flow->trial) continue;
    flow->trial = link->capacity;
    flow->trial_neck = slot[i].link;
  }
  set_rate(r, now, id);
  ss_fair_heap_set(&r->ends, id, now + flow->left / flow->rate);
  return true;
}

void ss_fair_share(struct ss_fair_rates *r, double now) {
  if (r->fresh_count + r->eased_count == 0) return;
  r->mark++;
  r->var_count = r->touched_count = 0;
  for (uint32_t i = 0; i < r->eased_count; i++) r->link[r->eased[i]].eased = false;
  for (uint32_t i = 0; i < r->eased_count; i++) {
    const uint32_t at = r->eased[i];
    for (uint32_t slot = r->link[at].first; slot != SS_NONE; slot = r->slot[slot].next)
      if (r->flow[flow_of(r, slot)].neck == at) add_var(r, flow_of(r, slot));
  }
  for (uint32_t i = 0; i < r->fresh_count; i++)
    if (!alone(r, now, r->fresh[i])) add_var(r, r->fresh[i]);
  r->fresh_count = r->eased_count = 0;
  if (r->var_count == 0) return;
  do fill(r);
  while (spread(r));
  set_rates(r, now);
}
