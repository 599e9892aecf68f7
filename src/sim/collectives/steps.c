#include "sim/collectives/steps.h"

#include <assert.h>

bool ss_step_next(struct ss_step *s) {
  const bool first = s->by == 0;
  uint32_t end = s->size;
  s->moves = s->size;
  switch (s->phase) {
  case SS_RING:
  case SS_DIRECT: s->by++; break;
  case SS_BRUCK:
  case SS_TURN: s->by = first ? 1 : 2 * s->by; break;
  case SS_NEIGHBOURS:
    s->by++;
    end = s->size / 2 + 1;
    break;
  case SS_GATHER:
    s->by = first ? 1 : 2 * s->by;
    s->moves = (s->size + s->by - 1) / (2 * s->by);
    break;
  case SS_SCATTER:
    s->by = !first ? s->by / 2 : s->fold.q > 0 ? s->fold.Q : s->fold.Q / 2;
    s->moves = s->by > 0 ? (s->size + s->by - 1) / (2 * s->by) : 0;
    return s->by > 0;
  case SS_FOLD_SWAP:
  case SS_FOLD_IN:
  case SS_FOLD_OUT:
    s->by++;
    s->moves = s->phase == SS_FOLD_SWAP ? 2 * s->fold.q : s->fold.q;
    end = s->fold.q > 0 ? 2 : 0;
    break;
  case SS_HALVE:
    s->by = first ? s->fold.Q / 2 : s->by / 2;
    s->moves = s->fold.Q;
    return s->by > 0;
  case SS_DOUBLE:
    s->by = first ? 1 : 2 * s->by;
    s->moves = end = s->fold.Q;
    break;
  }
  return s->by < end;
}

/* Core position p and p xor `by`: of the blocks that the two stand for together, each one's half. */
static struct ss_move exchange_halves(const struct ss_step *s, uint32_t p) {
  const uint32_t mine = p & ~(s->by - 1), low = s->phase == SS_HALVE ? mine ^ s->by : mine;
  const uint32_t first = ss_fold_begin(s->fold, low);
  return (struct ss_move){ss_fold_member(s->fold, p), ss_fold_member(s->fold, p ^ s->by), first,
                          ss_fold_begin(s->fold, low + s->by) - first};
}

/* Member r, an odd multiple of `by`, and the one below it. */
static struct ss_move pass_up(const struct ss_step *s, uint32_t i) {
  const uint32_t r = (2 * i + 1) * s->by, left = s->size - r;
  return (struct ss_move){r, r - s->by, r, s->by < left ? s->by : left};
}

/* The two blocks that r got last; in the second step those of its pair, in the first its own. */
static struct ss_move exchange_with_neighbour(const struct ss_step *s, uint32_t r) {
  const uint32_t size = s->size, step = s->by - 1, pair = r / 2 * 2;
  const uint32_t there = (r + step) % 2 == 0 ? (r + 1) % size : (r + size - 1) % size;
  if (step == 0) return (struct ss_move){r, there, r, 1};
  const uint32_t on = step % 2 == 1 ? step - 1 : size - step; /* even ranks' pairs; those of odd ones go back */
  return (struct ss_move){r, there, r % 2 == 0 ? (pair + on) % size : (pair + size - on) % size, 2};
}

struct ss_move ss_step_move(const struct ss_step *s, uint32_t i) {
  const uint32_t size = s->size, by = s->by, left = size - by, even = s->fold.even;
  switch (s->phase) {
  case SS_RING: return (struct ss_move){i, i + 1 == size ? 0 : i + 1, (i + 1 + left) % size, 1};
  case SS_DIRECT: return (struct ss_move){i, (i + by) % size, i, 1};
  case SS_BRUCK: return (struct ss_move){i, (i + left) % size, i, by < left ? by : left};
  case SS_TURN: {
    const uint32_t rest = size % (2 * by), blocks = size / (2 * by) * by + (rest > by ? rest - by : 0);
    return (struct ss_move){i, (i + by) % size, (i + by) % size, blocks};
  }
  case SS_NEIGHBOURS: return exchange_with_neighbour(s, i);
  case SS_GATHER: return pass_up(s, i);
  case SS_SCATTER: {
    const struct ss_move up = pass_up(s, i);
    return (struct ss_move){up.to, up.from, up.first, up.count};
  }
  case SS_FOLD_SWAP: return (struct ss_move){i, i ^ 1U, i ^ 1U, 1};
  case SS_FOLD_IN: return (struct ss_move){2 * i + even, 2 * i + !even, 2 * i + even, 1};
  case SS_FOLD_OUT: return (struct ss_move){2 * i + !even, 2 * i + even, (2 * i + even + 1) % size, size - 1};
  case SS_HALVE:
  case SS_DOUBLE: break;
  }
  return exchange_halves(s, i);
}

uint32_t ss_step_shift(const struct ss_step *s) {
  switch (s->phase) {
  case SS_RING: return 1;
  case SS_DIRECT:
  case SS_TURN: return s->by;
  case SS_BRUCK: return s->size - s->by;
  default: return 0;
  }
}

void ss_ring_order(uint32_t ranks, uint32_t per_node, uint32_t ring, uint32_t rings, uint32_t *order) {
  const uint32_t last = ((ring + 1) * per_node + rings - 1) / rings + per_node - 1;
  for (uint32_t r = 0; r < ranks; r++) {
    const uint32_t node = r / per_node * per_node, here = ranks - node < per_node ? ranks - node : per_node;
    order[r] = node + (r - node + last + 1) % here;
  }
}

/* Above node n of `nodes` in the tree of in-order numbers from 1, whose root has the largest power of two: the node
 * with the lowest bit of n cleared and the next one set, or where that is too large, only cleared; 0 above the root.
 */
static uint32_t parent_in_order(uint32_t n, uint32_t nodes) {
  const uint32_t low = n & (0U - n), up = (n ^ low) | (low << 1);
  return up <= nodes ? up : n ^ low;
}

static uint32_t head_of(uint32_t ranks, uint32_t per_node, uint32_t head, uint32_t node) {
  const uint32_t first = node * per_node, here = ranks - first < per_node ? ranks - first : per_node;
  return first + head % here;
}

uint32_t ss_tree_parent(uint32_t ranks, uint32_t per_node, uint32_t head, uint32_t r, bool second) {
  const uint32_t nodes = (ranks + per_node - 1) / per_node, node = r / per_node, first = node * per_node;
  if (r != head_of(ranks, per_node, head, node))
    return r > first ? r - 1 : (ranks - first < per_node ? ranks : first + per_node) - 1;
  const uint32_t up = parent_in_order(second ? nodes - node : node + 1, nodes);
  return up == 0 ? UINT32_MAX : head_of(ranks, per_node, head, second ? nodes - up : up - 1);
}

uint32_t ss_trees_plant(uint32_t ranks, uint32_t per_node, uint32_t head, struct ss_tree_place *place) {
  uint32_t height = 0;
  assert(ranks > 0);
  for (uint32_t i = 0; i < 2 * ranks; i++) {
    const bool second = i >= ranks;
    place[i] = (struct ss_tree_place){.up = ss_tree_parent(ranks, per_node, head, i % ranks, second)};
    for (uint32_t at = place[i].up; at != UINT32_MAX; at = ss_tree_parent(ranks, per_node, head, at, second))
      place[i].depth++;
    height = place[i].depth > height ? place[i].depth : height;
  }
  return height;
}

bool ss_tree_sends(const struct ss_tree_pipeline *pipeline, const struct ss_tree_place *place, bool down,
                   uint32_t *chunk) {
  const uint32_t height = pipeline->height, begins = down ? height + place->depth - 1 : height - place->depth;
  if (place->up == UINT32_MAX || pipeline->step < begins || pipeline->step - begins >= pipeline->chunks) return false;
  *chunk = pipeline->step - begins;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
