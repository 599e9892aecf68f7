#include "schemes/run.h"

#include "sim/groups.h"
#include "tensor/sets.h"

uint32_t ss_hierarchy_groups(enum ss_hierarchy hierarchy, struct ss_layout layout) {
  if (hierarchy == SS_FLAT || hierarchy == SS_LEADER) return 1;
  return layout.ranks < layout.per_node ? layout.ranks : layout.per_node;
}

struct hierarchy {
  struct ss_run *run;
  bool shard, sparse;
  uint32_t nodes, per_node, shards; /* shards: 1 with leaders */
  uint32_t *rank;                   /* 0, 1, ...: node k's are rank[k * per_node ...] */
  uint32_t *across;                 /* [shards * nodes] rank i of every node */
  uint32_t *server;                 /* [servers] */
  struct ss_group *node, *team;     /* [nodes], [shards] */
  struct ss_chunk *inside;          /* [ranks] sums of nodes: leader k's, or what rank has of its shard */
  struct ss_chunk *outside;         /* [ranks] sums of all, likewise */
};

static uint32_t size_of(const struct hierarchy *h, uint32_t node) {
  return h->node[node].ranks;
}

static bool lay_out(struct hierarchy *h, struct ss_error *error) {
  struct ss_run *run = h->run;
  struct ss_arena *arena = run->play->arena;
  const uint32_t P = run->ranks, g = h->per_node, servers = run->servers / h->shards;
  if (!ss_take(arena, h->rank, P) || !ss_take(arena, h->across, (size_t)h->shards * h->nodes) ||
      !ss_take(arena, h->server, run->servers) || !ss_take(arena, h->node, h->nodes) ||
      !ss_take(arena, h->team, h->shards) || !ss_take_zero(arena, h->inside, P) ||
      !ss_take_zero(arena, h->outside, P))
    return ss_fail_memory(error, "laying out a hierarchy");
  for (uint32_t r = 0; r < P; r++) h->rank[r] = r;
  for (uint32_t s = 0; s < run->servers; s++) h->server[s] = P + s;
  for (uint32_t k = 0; k < h->nodes; k++)
    h->node[k] = (struct ss_group){.ranks = P - k * g < g ? P - k * g : g, .rank = h->rank + (size_t)k * g};
  for (uint32_t i = 0; i < h->shards; i++) {
    uint32_t *ranks = h->across + (size_t)i * h->nodes;
    for (uint32_t k = 0; k < h->nodes; k++) ranks[k] = k * g + i;
    h->team[i] = (struct ss_group){
        .ranks = h->nodes, .servers = servers, .rank = ranks, .server = h->server + (size_t)i * servers};
  }
  return true;
}

/* --- inside a node -------------------------------------------------------------------------------------- */

struct node {
  const struct hierarchy *h;
  uint32_t number;
  struct ss_dense_sum sum;
};

static struct node node_of(struct hierarchy *h, uint32_t number) {
  return (struct node){.h = h,
                       .number = number,
                       .sum = {.wire = &h->run->dense,
                               .low = h->run->low,
                               .high = h->run->high,
                               .width = h->run->input->width,
                               .units = h->shards,
                               .lists = true}};
}

static bool give(void *context, uint32_t position, struct ss_arena *arena, struct ss_chunk *chunk,
                 struct ss_error *error) {
  const struct node *n = context;
  const uint32_t part = chunk->part;
  (void)arena;
  (void)error;
  *chunk = ss_chunk_slice(&n->h->run->own[n->number * n->h->per_node + position], chunk->low, chunk->high);
  chunk->origin = position;
  chunk->part = part;
  return true;
}

static struct ss_chunk shard_of(const void *context, uint32_t shard) {
  const struct node *n = context;
  return ss_dense_units(&n->sum, shard, 1);
}

static bool give_shard(void *context, uint32_t position, uint32_t shard, struct ss_chunk *out,
                       struct ss_error *error) {
  *out = shard_of(context, shard);
  return give(context, position, NULL, out, error);
}

/* Each rank of the node gets what the others have of its shard, and adds the lists up: inside[]. */
static bool sum_lists(struct node *n, struct ss_play *play, struct ss_chunk *inside, struct ss_error *error) {
  const struct ss_wire *coo = &n->h->run->coo;
  struct ss_owners owners = {.parts = play->ranks,
                             .counted = true,
                             .push = coo,
                             .pull = coo,
                             .context = n,
                             .range = shard_of,
                             .slice = give_shard};
  const bool ok =
      ss_owners_open(play, &owners, error) && ss_owners_push(&owners, error) && ss_owners_sum(&owners, error);
  for (uint32_t p = 0; ok && p < owners.parts; p++) inside[p] = owners.aggregate[p];
  ss_owners_close(&owners);
  return ok;
}

/* The node's ranks end with a shard each, or its first with all. */
static bool reduce(void *context, uint32_t number, struct ss_play *play, struct ss_error *error) {
  struct hierarchy *h = context;
  struct ss_chunk *inside = h->inside + (size_t)number * h->per_node;
  struct node n = node_of(h, number);
  n.sum.context = &n;
  n.sum.give = give;
  const struct ss_chunk all = ss_dense_units(&n.sum, 0, 1);
  *inside = all;
  if (size_of(h, number) == 1) return give(&n, 0, play->arena, inside, error);
  if (h->sparse) return sum_lists(&n, play, inside, error);
  if (h->shard) return ss_reduce_scatter_ring(play, &n.sum, inside, error);
  for (uint32_t p = 0; p < size_of(h, number); p++) {
    inside[p] = all;
    inside[p].origin = p;
    if (play->payloads && ss_play_resident(play, p) && !give(&n, p, play->arena, &inside[p], error)) return false;
  }
  return ss_reduce_binomial(play, &n.sum, inside, error);
}

/* The shards of the node's ranks go round; each rank joins what it holds. */
static bool gather_shards(struct hierarchy *h, const struct node *n, struct ss_play *play, struct ss_error *error) {
  const uint32_t size = size_of(h, n->number);
  const struct ss_chunk *outside = h->outside + (size_t)n->number * h->per_node;
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  const struct ss_wire *wire = h->sparse ? &h->run->coo : &h->run->dense;
  if (!ss_gather_open(&gather, size, wire, h->run->low, h->run->high, error)) return false;
  for (uint32_t p = 0; p < size; p++) {
    struct ss_chunk part = outside[p], range = ss_dense_units(&n->sum, p, 1);
    part.origin = p;
    part.part = h->shards + p; /* a message of its own, also where the scheme sent the same */
    part.low = range.low;
    part.high = range.high;
    part.width = range.width;
    ss_gather_set(&gather, p, &part);
  }
  if (!(h->sparse ? ss_gather_ragged(play, &gather, true, ss_allgather_direct, error)
                  : ss_gather_play(play, &gather, ss_allgather_ring, error)))
    return false;
  SS_ASIDE; /* shards lie side by side */
  for (uint32_t p = 0; p < size; p++)
    if (ss_play_resident(play, p) && !ss_gather_sum(play, &gather, p, &h->inside[n->number * h->per_node + p], error))
      return false;
  return true;
}

/* Every rank of the node ends with the whole sum, in inside[]. */
static bool spread(void *context, uint32_t number, struct ss_play *play, struct ss_error *error) {
  struct hierarchy *h = context;
  struct node n = node_of(h, number);
  struct ss_chunk *inside = h->inside + (size_t)number * h->per_node;
  const struct ss_chunk root = h->outside[(size_t)number * h->per_node];
  if (h->shard && size_of(h, number) > 1) return gather_shards(h, &n, play, error);
  for (uint32_t p = 0; p < size_of(h, number); p++) {
    inside[p] = ss_dense_units(&n.sum, 0, 1);
    if (p > 0) continue;
    inside[p] = root;
    inside[p].origin = inside[p].part = 0;
    inside[p].low = h->run->low;
    inside[p].high = h->run->high;
    inside[p].width = h->run->input->width;
  }
  return ss_broadcast_binomial(play, 0, n.sum.wire, inside, error);
}

/* --- among nodes ---------------------------------------------------------------------------------------- */

/* What the nodes have of the shard, one after the other as the scheme's ranks. */
static bool gather_own(const struct hierarchy *h, const struct ss_run *team, struct ss_chunk *own,
                       struct ss_error *error) {
  for (uint32_t k = 0; k < h->nodes; k++) {
    own[k] = h->inside[k * h->per_node + team->shard];
    own[k].origin = k;
    own[k].part = 0;
    own[k].low = team->low;
    own[k].high = team->high;
    own[k].width = own[k].stride = team->input->width;
    if (ss_scheme_valued(team->setting->scheme) && size_of(h, k) > 1 &&
        !ss_chunk_drop_zeros(&own[k], team->play->arena, error))
      return false;
  }
  return true;
}

static bool run_team(void *context, uint32_t shard, struct ss_play *play, struct ss_error *error) {
  const struct hierarchy *h = context;
  const struct ss_run *run = h->run;
  const uint64_t rows = run->high - run->low;
  struct ss_chunk *own = ss_arena_alloc(play->arena, h->nodes, sizeof *own);
  struct ss_chunk *result = ss_arena_zero(play->arena, h->nodes, sizeof *result);
  if (!own || !result) return ss_fail_memory(error, "running a scheme among nodes");
  struct ss_run team = {.play = play,
                        .setting = run->setting,
                        .input = run->input,
                        .ranks = h->nodes,
                        .servers = h->team[shard].servers,
                        .per_node = 1,
                        .low = run->low + ss_share(rows, h->shards, shard),
                        .high = run->low + ss_share(rows, h->shards, shard + 1),
                        .shard = shard,
                        .shards = h->shards,
                        .dense = run->dense,
                        .coo = run->coo,
                        .own = own,
                        .dense_lists = true,
                        .state = &run->state->shard[shard],
                        .result = result,
                        .verdict = run->verdict};
  if (!gather_own(h, &team, own, error) || !ss_state_begin(team.state, h->nodes, error)) return false;
  const bool sends = h->nodes > 1 || ss_scheme_valued(run->setting->scheme);
  const bool listed = !h->sparse && sends && !ss_setting_sends_dense(run->setting); /* else the owner has its sum */
  for (uint32_t k = 0; listed && k < h->nodes; k++) ss_play_renew(play, k, NULL, &own[k]);
  if (sends && !ss_run_scheme(&team, error)) return false;
  for (uint32_t k = 0; k < h->nodes; k++) {
    struct ss_chunk *outside = &h->outside[k * h->per_node + shard];
    *outside = sends ? result[k] : own[k];
    SS_ASIDE; /* who decodes blocks, or what is dense, lists them so */
    const bool shows = outside->values || outside->kind == SS_CHUNK_VALUES;
    if (h->sparse && shows && !ss_chunk_drop_zeros(outside, play->arena, error)) return false;
  }
  return true;
}

bool ss_hierarchy_run(struct ss_run *run, uint32_t per_node, struct ss_error *error) {
  struct hierarchy h = {.run = run, .per_node = per_node};
  h.sparse = run->setting->hierarchy == SS_SPARSE_SHARD;
  h.shard = h.sparse || run->setting->hierarchy == SS_SHARD;
  h.nodes = (run->ranks + per_node - 1) / per_node;
  h.shards = ss_hierarchy_groups(run->setting->hierarchy,
                                 (struct ss_layout){.ranks = run->ranks, .nodes = h.nodes, .per_node = per_node});
  if (!lay_out(&h, error) || !ss_state_split(run->state, h.shards, error)) return false;
  if (!ss_groups_play(run->play, h.nodes, h.node, reduce, &h, error) ||
      !ss_groups_play(run->play, h.shards, h.team, run_team, &h, error) ||
      !ss_groups_play(run->play, h.nodes, h.node, spread, &h, error))
    return false;
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    h.inside[r].low = run->low; /* what it covers is known, whatever came */
    h.inside[r].high = run->high;
    ss_run_sparse(run, r, &h.inside[r], 0, NULL);
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
