/* Who sends which blocks to whom, step by step: rings, Bruck's, halving, doubling and the others stand here, once.
 *
 * A member has a position, 0 to size - 1, and blocks are numbered as members are. What travels is the business of
 * others: payloads of gather.c, scatter.c, dense.c and running.c, or sizes alone of patterns.c. */
#pragma once

#include "base/base.h"

/* Powers of two on any P (docs/model.md, "Building blocks"): the first 2q members pair up, and one of each
 * pair goes on with the unpaired ones, as core positions 0 to Q - 1. `even`: Open MPI's convention, in which the even
 * member of a pair goes on; else the odd one does. `near`: core positions are counted with their bits in reverse, so
 * that the largest halves are exchanged with neighbours, as in Rabenseifner's sums. */
struct ss_fold {
  uint32_t Q, q;
  bool even, near;
};
static inline struct ss_fold ss_fold_of(uint32_t size) {
  const uint32_t Q = 1u << (31 - (uint32_t)__builtin_clz(size));
  return (struct ss_fold){.Q = Q, .q = size - Q};
}
/* The member that plays core position `p`. */
static inline uint32_t ss_fold_member(struct ss_fold fold, uint32_t p) {
  uint32_t at = p;
  for (uint32_t low = 1, high = fold.Q / 2; fold.near && high > low; low *= 2, high /= 2)
    at = (at & ~(low | high)) | (at & low ? high : 0) | (at & high ? low : 0);
  return at < fold.q ? 2 * at + !fold.even : at + fold.q;
}
/* Core position `p` stands for blocks [ss_fold_begin(p), ss_fold_begin(p + 1)). */
static inline uint32_t ss_fold_begin(struct ss_fold fold, uint32_t p) {
  return p < fold.q ? 2 * p : p + fold.q;
}

enum ss_phase {
  SS_RING,       /* step s = 1..P-1: r sends block (r - s + 1) mod P to r + 1 */
  SS_DIRECT,     /* step s = 1..P-1: r sends its own block to (r + s) mod P */
  SS_BRUCK,      /* step 2^t < P: r sends its first min(2^t, P - 2^t) blocks, r's own first, to r - 2^t */
  SS_TURN,       /* step 2^t < P: r sends a block for each distance that has bit t to r + 2^t */
  SS_NEIGHBOURS, /* Chen, Sun and Sun (2005), P even: one block with one neighbour, then two with either in turn */
  SS_GATHER,     /* binomial: step 2^t < P: r = 2^t mod 2^(t+1) sends r - 2^t blocks r to min(r + 2^t, P) - 1, its own
                    first */
  SS_SCATTER,    /* binomial: the same the other way, the last step first: r - 2^t sends r those blocks */
  SS_FOLD_SWAP,  /* both of a pair send each other a half; no step where q = 0, nor in the next two */
  SS_FOLD_IN,    /* who does not go on sends its block to the other of its pair, */
  SS_FOLD_OUT,   /* who gives it all blocks but that one in the end */
  SS_HALVE,      /* core positions p and p xor Q/2, Q/4, ..., 1: each sends what it holds of the other's half */
  SS_DOUBLE      /* core positions p and p xor 1, 2, ..., Q/2: each sends all that it holds */
};

/* One step of a phase. */
struct ss_step {
  enum ss_phase phase;
  uint32_t size;
  struct ss_fold fold;
  uint32_t by;    /* s or 2^t; 0 before the first step */
  uint32_t moves; /* messages */
};
static inline struct ss_step ss_steps_of(enum ss_phase phase, uint32_t size) {
  return (struct ss_step){.phase = phase, .size = size, .fold = ss_fold_of(size)};
}
/* Goes on to the next step, at first to the first; false: the phase is over. */
bool ss_step_next(struct ss_step *step);

/* A message of a step: blocks [first, first + count) modulo size from one position to another. */
struct ss_move {
  uint32_t from, to, first, count;
};
struct ss_move ss_step_move(const struct ss_step *step, uint32_t i);
/* Where every member r sends as many blocks to (r + shift) mod size, that shift; else 0. */
uint32_t ss_step_shift(const struct ss_step *step);

/* The order of ring number `ring` of `rings` that go through nodes of `per_node` ranks side by side: it leaves a node
 * by the last rank of those that use card number `ring` of `rings`. order[ranks]. */
void ss_ring_order(uint32_t ranks, uint32_t per_node, uint32_t ring, uint32_t rings, uint32_t *order);

/* Trees: where a rank is in one, and the pipeline of chunks through it. */
struct ss_tree_place {
  uint32_t up, depth; /* UINT32_MAX, 0: the root */
};

/* Above rank r in one of two trees that carry half of a sum each, after Sanders, Speck and Traeff, "Two-Tree
 * Algorithms for Full Bandwidth Broadcast, Reduction and Scan" (2009): chains inside nodes, whose heads, at index
 * `head` of their node (of the last, modulo its ranks), are in a tree of nodes, or with `second` in its mirror image.
 * UINT32_MAX: r is the root. */
uint32_t ss_tree_parent(uint32_t ranks, uint32_t per_node, uint32_t head, uint32_t r, bool second);
/* The head by which both trees of pair number `pair` of `pairs` enter nodes: the first rank of its card. */
static inline uint32_t ss_tree_head(uint32_t per_node, uint32_t pair, uint32_t pairs) {
  return (pair * per_node + pairs - 1) / pairs;
}
/* place[2 * ranks] in the one tree, then in the other; returns the height of the higher one. */
uint32_t ss_trees_plant(uint32_t ranks, uint32_t per_node, uint32_t head, struct ss_tree_place *place);
/* In step t of the pipeline a rank of depth d sends chunk t - (height - d) up and gets chunk t - height - d + 1 back,
 * of those there are: whether it does the one (or `down`, the other), and which chunk. There are 2 * height + chunks
 * - 1 steps. */
struct ss_tree_pipeline {
  uint32_t height, chunks, step;
};
bool ss_tree_sends(const struct ss_tree_pipeline *pipeline, const struct ss_tree_place *place, bool down,
                   uint32_t *chunk);
/* SPDX-License-Identifier: Apache-2.0 */
