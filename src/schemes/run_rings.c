/* Rings side by side: as many as a node has cards, each with its share, as NCCL plays them. */
#include "schemes/run.h"
#include "sim/groups.h"

uint32_t ss_rings_of(uint64_t said, struct ss_layout layout) {
  if (said > 0) return (uint32_t)said;
  return layout.nodes > 1 && layout.cards > 1 && !layout.mpi ? layout.cards : 1;
}

bool ss_rings_check(uint64_t said, bool ring, struct ss_layout layout, struct ss_error *error) {
  if (said == 0) return true;
  if (!ring) return ss_fail(error, SS_BAD_INPUT, "\"rings\" are of the ring: leave them, or \"algorithm\", out");
  if (said == 1 || said <= layout.cards) return true;
  if (layout.cards == 0)
    return ss_fail(
        error, SS_BAD_INPUT,
        "%llu rings: one ring alone goes through a cluster of the model \"alpha-beta\", and through the nodes "
        "of a hierarchy",
        (unsigned long long)said);
  return ss_fail(error, SS_BAD_INPUT, "%llu rings: each has a card of its own, and a node has %u (cluster.nics)",
                 (unsigned long long)said, layout.cards);
}

struct rings {
  struct ss_run *run;
  struct ss_ring *ring; /* [run->rings] */
  ss_ring_body *body;
  void *context;
};

static bool play_ring(void *context, uint32_t number, struct ss_play *play, struct ss_error *error) {
  const struct rings *all = context;
  return all->body(all->context, play, &all->ring[number], error);
}

const char *const ss_protocol_choices[] = {"none", "ll", "ll128", "simple", NULL};

bool ss_run_rings(struct ss_run *run, bool ordered, ss_ring_body *body, void *context, struct ss_error *error) {
  const uint32_t P = run->ranks, rings = ss_run_ring_count(run);
  struct rings all = {.run = run, .body = body, .context = context};
  struct ss_group *group;
  uint32_t *order;
  if (!ss_take(run->play->arena, all.ring, rings) || !ss_take_zero(run->play->arena, group, rings) ||
      !ss_take(run->play->arena, order, (size_t)P * rings))
    return ss_fail_memory(error, "laying out rings");
  for (uint32_t k = 0; k < rings; k++) {
    uint32_t *rank = order + (size_t)k * P;
    if (rings > 1 && ordered) ss_ring_order(P, run->per_node, k, rings, rank);
    for (uint32_t r = 0; (rings == 1 || !ordered) && r < P; r++) rank[r] = r;
    all.ring[k] = (struct ss_ring){k, rings, rank};
    group[k] = (struct ss_group){.ranks = P, .rank = rank};
  }
  if (rings == 1) return body(context, run->play, all.ring, error);
  return ss_groups_play(run->play, rings, group, play_ring, &all, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
