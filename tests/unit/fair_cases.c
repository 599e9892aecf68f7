#include "fair_cases.h"

static double some(struct dice *d, double zero_in, double scale) {
  if (dice_unit(d) < zero_in) return 0;
  return scale * (dice_one_in(d, 2) ? 1 + dice_below(d, 3) : 0.1 + dice_unit(d));
}

double random_seconds(struct dice *d) {
  return some(d, 0.2, 2);
}

static struct ss_link random_link(struct dice *d) {
  return (struct ss_link){some(d, 0.2, 1), 1 / some(d, 0, 8)};
}

static struct ss_segments random_segments(struct dice *d) {
  struct ss_segments s = {.count = dice_one_in(d, 3) ? dice_between(d, 1, 4) : 0};
  uint64_t up_to = 0;
  for (uint32_t i = 0; i < s.count; i++) {
    up_to += dice_between(d, 1, 40);
    s.piece[i] = (struct ss_segment){i + 1 == s.count ? UINT64_MAX : up_to, random_link(d)};
  }
  return s;
}

static void random_fabric(struct dice *d, struct ss_cluster *c) {
  uint32_t nodes = 1;
  c->fabric_levels = dice_one_in(d, 2) ? dice_between(d, 1, 3) : 0;
  for (uint32_t l = 0; l < c->fabric_levels; l++) {
    nodes *= dice_between(d, l > 0 ? 2 : 1, 3);
    c->fabric[l] = (struct ss_fabric_level){.nodes = nodes, .latency = some(d, 0.5, 1)};
    if (dice_one_in(d, 2)) c->fabric[l].oversubscription = 1 + some(d, 0.2, 2);
    else c->fabric[l].bandwidth = some(d, 0, 8);
  }
}

static struct ss_quantiles random_quantiles(struct dice *d) {
  struct ss_quantiles q = {.count = dice_one_in(d, 3) ? 0 : dice_between(d, 2, 5)};
  double factor = 0.2;
  for (uint32_t i = 0; i < q.count; i++) {
    q.point[i] = (struct ss_quantile){(double)i / (q.count - 1), factor};
    factor += 0.5 * dice_below(d, 3);
  }
  return q;
}

struct ss_jitter random_jitter(struct dice *d) {
  if (dice_one_in(d, 2)) return (struct ss_jitter){0};
  return (struct ss_jitter){.draws = 9,
                            .draw = dice_below(d, 9),
                            .per_pair = dice_one_in(d, 2),
                            .seed = dice_below(d, 100),
                            .moment = dice_below(d, 5),
                            .latency = random_quantiles(d),
                            .bandwidth = random_quantiles(d)};
}

struct ss_cluster random_fair(struct dice *d) {
  static const uint32_t windows[] = {0, 1, 1, 2, 3, UINT32_MAX};
  struct ss_cluster c = {.name = "random", .model = "fair", .gpus_per_node = dice_between(d, 1, 5)};
  c.nic_per_node = dice_one_in(d, 2);
  if (dice_one_in(d, 2)) c.nics = dice_between(d, 1, c.gpus_per_node);
  c.inter = random_link(d);
  c.inter_segments = random_segments(d);
  if (c.inter_segments.count) c.inter = c.inter_segments.piece[c.inter_segments.count - 1].link;
  c.has_intra = dice_one_in(d, 2);
  c.intra = c.has_intra ? random_link(d) : c.inter;
  c.intra_segments = c.has_intra ? random_segments(d) : c.inter_segments;
  c.has_exchange = dice_one_in(d, 3);
  c.exchange = c.has_exchange ? random_link(d) : c.inter;
  if (c.has_exchange) c.exchange_segments = random_segments(d);
  c.intra_shared = dice_one_in(d, 3);
  c.window = windows[dice_below(d, COUNT(windows))];
  c.chain_window = windows[dice_below(d, COUNT(windows))];
  c.staged = dice_one_in(d, 4);
  if (c.staged) c.host = (struct ss_host_path){some(d, 0.5, 1), some(d, 0, 8), dice_below(d, 4)};
  for (uint32_t i = 0; i < 2 && dice_one_in(d, 3); i++) c.weight[i] = 0.5 + dice_unit(d);
  random_fabric(d, &c);
  c.jitter = random_jitter(d);
  return c;
}

uint64_t random_size(struct dice *d, bool alike) {
  if (alike) return 24;
  return dice_one_in(d, 5) ? 0 : 1 + dice_below(d, dice_one_in(d, 3) ? 200 : 30);
}

static struct ss_messages random_list(struct dice *d, uint32_t ranks, uint32_t endpoints, uint32_t round,
                                      struct ss_arena *arena) {
  const bool alike = dice_one_in(d, 3);
  struct ss_messages m = {.each = random_size(d, alike)};
  if (endpoints < 2 || dice_one_in(d, 12)) return m;
  m.count = dice_one_in(d, 2) && ranks > 1 ? ranks : dice_between(d, 1, endpoints);
  uint32_t *from = ss_arena_alloc(arena, m.count, sizeof *from), *to = ss_arena_alloc(arena, m.count, sizeof *to);
  uint64_t *bytes = ss_arena_alloc(arena, m.count, sizeof *bytes);
  const bool free_choice = dice_one_in(d, 3) || m.count != ranks || ranks < 2;
  for (uint32_t i = 0; i < m.count; i++) {
    from[i] = free_choice ? dice_below(d, endpoints) : i;
    to[i] = (from[i] + (free_choice ? dice_between(d, 1, endpoints - 1) : 1 + round % (ranks - 1))) %
            (free_choice ? endpoints : ranks);
    bytes[i] = random_size(d, alike);
  }
  m.from = from, m.to = to;
  if (!free_choice && dice_one_in(d, 2)) m.from = m.to = NULL, m.shift = 1 + round % (ranks - 1);
  if (!dice_one_in(d, 4)) m.bytes = bytes;
  return m;
}

struct ss_network_round random_round(struct dice *d, uint32_t ranks, uint32_t endpoints, uint32_t number,
                                     struct ss_arena *arena) {
  struct ss_network_round round = {.messages = random_list(d, ranks, endpoints, number, arena)};
  round.dependent = dice_one_in(d, 2);
  round.exchange = dice_one_in(d, 2);
  if (round.dependent && dice_one_in(d, 3)) {
    uint32_t *settled = ss_arena_alloc(arena, endpoints, sizeof *settled);
    for (uint32_t e = 0; e < endpoints; e++)
      if (dice_one_in(d, 2)) settled[round.settled_count++] = e;
    round.settled = settled;
  }
  if (!dice_one_in(d, 3)) return round;
  struct ss_computation *after = ss_arena_alloc(arena, endpoints, sizeof *after);
  round.after_count = dice_between(d, 1, endpoints);
  for (uint32_t i = 0; i < round.after_count; i++)
    after[i] = (struct ss_computation){dice_below(d, endpoints), random_seconds(d)};
  round.after = after;
  return round;
}
/* SPDX-License-Identifier: Apache-2.0 */
