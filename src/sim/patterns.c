#include "sim/patterns.h"

#include "base/memory.h"
#include "sim/engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ss_collective_names[] = {"allreduce", "allgather", "reduce_scatter", "alltoall", "sendrecv",
                                           "ping_pong", NULL};

static const uint64_t KEPT_BY_MALLOC = (uint64_t)32 << 20;

struct tree_place {
  uint32_t up, depth; /* UINT32_MAX, 0: the root */
};

/* A call while it is played. Endpoint of rank r in ring i of several: r * rings + i. */
struct ss_pattern_stage {
  const struct ss_pattern_call *call;
  struct ss_player *player;
  uint32_t ranks, rings;
  uint32_t gpus_per_node;
  uint32_t chunks;
  uint32_t *from, *to;           /* [4 * endpoints] of one round */
  uint32_t *order;               /* [ranks] scratch of rings */
  struct tree_place *tree;       /* [2 * ranks] in the one tree, then in the other */
  struct ss_computation *kernel; /* [endpoints] */
};

/* --- rounds ----------------------------------------------------------------------------------------------- */

static uint32_t endpoints_of(const struct ss_pattern_stage *s) {
  return s->ranks * s->rings;
}

/* Every rank's share of `bytes`; the last may have less, which nobody waits for. */
static uint64_t share(uint64_t bytes, uint64_t parts) {
  return bytes / parts + (bytes % parts != 0);
}

static bool play(struct ss_pattern_stage *s, struct ss_round *round, struct ss_error *error) {
  return s->player->play(s->player, round, error);
}

/* Everyone's to the endpoint `shift` further on. */
static bool shift(struct ss_pattern_stage *s, uint32_t by, uint64_t bytes, bool dependent, bool exchange,
                  struct ss_error *error) {
  struct ss_round round = {
      .messages = {.count = s->ranks, .shift = by, .each = bytes}, .dependent = dependent, .exchange = exchange};
  return play(s, &round, error);
}

/* The first `count` of s->from and s->to. */
static bool listed(struct ss_pattern_stage *s, uint32_t count, uint64_t bytes, struct ss_error *error) {
  struct ss_round round = {.messages = {.count = count, .from = s->from, .to = s->to, .each = bytes},
                           .dependent = true};
  return play(s, &round, error);
}

/* Endpoints first .. first+count-1 work on as many bytes each, once they have all that came. */
static bool work(struct ss_pattern_stage *s, uint32_t first, uint32_t count, double seconds, struct ss_error *error) {
  if (!(seconds > 0)) return true;
  for (uint32_t i = 0; i < count; i++) s->kernel[i] = (struct ss_computation){first + i, seconds};
  struct ss_round round = {.dependent = true, .after = s->kernel, .after_count = count};
  return play(s, &round, error);
}

static bool add(struct ss_pattern_stage *s, uint64_t bytes, struct ss_error *error) {
  return work(s, 0, endpoints_of(s), s->call->sum_beta * (double)bytes, error);
}

static bool copy(struct ss_pattern_stage *s, uint64_t bytes, struct ss_error *error) {
  return !s->call->mpi || work(s, 0, endpoints_of(s), s->call->sum_beta * (double)bytes * 2 / 3, error);
}

/* Buffers of so many bytes each, which a call allocates and fills. */
static bool allocate(struct ss_pattern_stage *s, uint32_t buffers, uint64_t bytes, struct ss_error *error) {
  if (!s->call->mpi || bytes <= KEPT_BY_MALLOC) return true;
  return work(s, 0, endpoints_of(s), s->call->page_beta * (double)bytes * buffers, error);
}

/* --- rings ------------------------------------------------------------------------------------------------ */

/* Ring i goes through a node's ranks so that the last is the last of those that use card i of `rings`. */
static void order_ring(struct ss_pattern_stage *s, uint32_t ring) {
  const uint32_t g = s->gpus_per_node, last = (ring + 1) * g / s->rings + g - 1;
  for (uint32_t r = 0; r < s->ranks; r++) {
    const uint32_t node = r / g * g, here = s->ranks - node < g ? s->ranks - node : g;
    s->order[r] = node + (r - node + last + 1) % here;
  }
}

/* A step of all rings: everyone's to the next in its ring. */
static void list_rings(struct ss_pattern_stage *s) {
  for (uint32_t i = 0; i < s->rings; i++) {
    order_ring(s, i);
    for (uint32_t k = 0; k < s->ranks; k++) {
      const uint32_t next = k + 1 < s->ranks ? k + 1 : 0;
      s->from[i * s->ranks + k] = s->order[k] * s->rings + i;
      s->to[i * s->ranks + k] = s->order[next] * s->rings + i;
    }
  }
}

/* P - 1 steps, in each of which everyone hands a share on, and adds what comes or not. */
static bool ring(struct ss_pattern_stage *s, uint64_t bytes, bool adds, struct ss_error *error) {
  const uint64_t each = share(share(bytes, s->ranks), s->rings);
  if (s->rings > 1) list_rings(s);
  for (uint32_t step = 1; step < s->ranks; step++) {
    const bool ok = s->rings > 1 ? listed(s, endpoints_of(s), each, error) : shift(s, 1, each, true, false, error);
    if (!ok || (adds && !add(s, each, error))) return false;
  }
  return true;
}

static bool allreduce_ring(struct ss_pattern_stage *s, struct ss_error *error) {
  return copy(s, s->call->bytes, error) && ring(s, s->call->bytes, true, error) &&
         ring(s, s->call->bytes, false, error);
}

static bool allgather_ring(struct ss_pattern_stage *s, struct ss_error *error) {
  return ring(s, s->call->bytes, false, error);
}

/* Open MPI adds in a copy of the whole vector. */
static bool reduce_scatter_ring(struct ss_pattern_stage *s, struct ss_error *error) {
  return allocate(s, 1, s->call->bytes, error) && copy(s, s->call->bytes, error) &&
         ring(s, s->call->bytes, true, error);
}

/* --- doubling and halving ---------------------------------------------------------------------------------- */

/* The power of two not above P. */
static uint32_t core_of(const struct ss_pattern_stage *s) {
  uint32_t q = 1;
  while (q <= s->ranks / 2) q *= 2;
  return q;
}

/* Ranks that are left over each lean on one of the core: 2i + 1 on 2i, i < P - Q; who is in the core: */
static uint32_t core_rank(const struct ss_pattern_stage *s, uint32_t q, uint32_t i) {
  const uint32_t folded = s->ranks - q;
  return i < folded ? 2 * i : i + folded;
}

/* Who leans on another hands `bytes` over, or gets them back. */
static bool fold(struct ss_pattern_stage *s, uint64_t bytes, bool back, bool adds, struct ss_error *error) {
  const uint32_t folded = s->ranks - core_of(s);
  for (uint32_t i = 0; i < folded; i++) {
    s->from[i] = 2 * i + !back;
    s->to[i] = 2 * i + back;
  }
  return folded == 0 || (listed(s, folded, bytes, error) && (!adds || add(s, bytes, error)));
}

/* Ranks of the core that are `distance` apart exchange. */
static bool swap(struct ss_pattern_stage *s, uint32_t distance, uint64_t bytes, bool adds, struct ss_error *error) {
  const uint32_t q = core_of(s);
  for (uint32_t i = 0; i < q; i++) {
    s->from[i] = core_rank(s, q, i);
    s->to[i] = core_rank(s, q, i ^ distance);
  }
  return listed(s, q, bytes, error) && (!adds || add(s, bytes, error));
}

static bool halve(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t q = core_of(s);
  for (uint32_t parts = 2; parts <= q; parts *= 2)
    if (!swap(s, q / parts, share(s->call->bytes, parts), true, error)) return false;
  return true;
}

static bool double_shares(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t q = core_of(s);
  for (uint32_t parts = q; parts >= 2; parts /= 2)
    if (!swap(s, q / parts, share(s->call->bytes, parts), false, error)) return false;
  return true;
}

static bool allreduce_doubling(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint64_t bytes = s->call->bytes;
  if (!allocate(s, 1, bytes, error) || !copy(s, bytes, error) || !fold(s, bytes, false, true, error)) return false;
  for (uint32_t distance = 1; distance < core_of(s); distance *= 2)
    if (!swap(s, distance, bytes, true, error)) return false;
  return fold(s, bytes, true, false, error);
}

static bool allreduce_rabenseifner(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint64_t bytes = s->call->bytes;
  return allocate(s, 1, bytes, error) && copy(s, bytes, error) && fold(s, bytes, false, true, error) &&
         halve(s, error) && double_shares(s, error) && fold(s, bytes, true, false, error);
}

static bool allgather_doubling(struct ss_pattern_stage *s, struct ss_error *error) {
  return fold(s, share(s->call->bytes, s->ranks), false, false, error) && double_shares(s, error) &&
         fold(s, s->call->bytes, true, false, error);
}

static bool reduce_scatter_halving(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint64_t bytes = s->call->bytes;
  return allocate(s, 2, bytes, error) && copy(s, bytes, error) && fold(s, bytes, false, true, error) &&
         halve(s, error) && fold(s, share(s->call->bytes, s->ranks), true, false, error);
}

/* --- Bruck and neighbours ----------------------------------------------------------------------------------- */

/* Round t: the first min(2^t, P - 2^t) blocks to r - 2^t; in the end blocks are turned to their places. */
static bool allgather_bruck(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t P = s->ranks;
  const uint64_t block = share(s->call->bytes, P);
  for (uint32_t t = 1; t < P; t *= 2)
    if (!shift(s, P - t, block * (t < P - t ? t : P - t), true, false, error)) return false;
  return allocate(s, 1, s->call->bytes, error) && copy(s, 2 * s->call->bytes, error);
}

/* Chen, Sun and Sun, "Performance evaluation of allgather algorithms" (2005): of an even number of ranks, everyone
 * exchanges a block with one neighbour, then two blocks with either in turn; odd ones play the ring. */
static bool allgather_neighbors(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t P = s->ranks;
  const uint64_t block = share(s->call->bytes, P);
  if (P % 2 != 0) return allgather_ring(s, error);
  for (uint32_t step = 0; step < P / 2; step++) {
    for (uint32_t r = 0; r < P; r++) {
      s->from[r] = r;
      s->to[r] = (r + step) % 2 == 0 ? (r + 1) % P : (r + P - 1) % P;
    }
    if (!listed(s, P, step == 0 ? block : 2 * block, error)) return false;
  }
  return true;
}

/* Round t: all blocks whose distance has bit t, packed and unpacked; about it blocks are turned. */
static bool alltoall_bruck(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t P = s->ranks;
  const uint64_t block = share(s->call->bytes, P);
  if (!allocate(s, 2, s->call->bytes, error) || !copy(s, s->call->bytes, error)) return false;
  for (uint32_t t = 1; t < P; t *= 2) {
    uint64_t blocks = 0;
    for (uint32_t d = 1; d < P; d++) blocks += (d & t) != 0;
    if (!shift(s, t, blocks * block, true, false, error) || !copy(s, 2 * blocks * block, error)) return false;
  }
  return copy(s, s->call->bytes, error);
}

/* --- exchanges -------------------------------------------------------------------------------------------- */

/* A share to everyone. MPI's: a sendrecv each round, as rings have them, the next once it is through. */
static bool alltoall_pairwise(struct ss_pattern_stage *s, struct ss_error *error) {
  for (uint32_t by = 1; by < s->ranks; by++)
    if (!shift(s, by, share(s->call->bytes, s->ranks), true, false, error)) return false;
  return true;
}

/* NCCL's order (p2pSendOrder in its init.cc): to every node in turn, its own first; there to the rank of one's own
 * place, then to the next one, so that all ranks of a node are inside it, or at the cards, at the same time. */
static bool exchange_by_node(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t g = s->gpus_per_node, P = s->ranks;
  struct ss_round round = {.messages = {.count = P, .from = s->from, .to = s->to, .each = share(s->call->bytes, P)},
                           .dependent = true,
                           .exchange = true};
  for (uint32_t by = 1; by < P; by++) {
    for (uint32_t r = 0; r < P; r++) {
      s->from[r] = r;
      s->to[r] = (r / g + by / g) * g % P + (r + by) % g;
    }
    if (!play(s, &round, error)) return false;
    round.dependent = false;
  }
  return true;
}

/* Sends and receives posted one after the other, as many under way as the cluster's window allows. */
static bool exchange_posted(struct ss_pattern_stage *s, struct ss_error *error) {
  if (!s->call->mpi && s->gpus_per_node > 1 && s->ranks % s->gpus_per_node == 0) return exchange_by_node(s, error);
  for (uint32_t by = 1; by < s->ranks; by++)
    if (!shift(s, by, share(s->call->bytes, s->ranks), by == 1, true, error)) return false;
  return true;
}

/* NCCL's, by the same code as its exchanges. */
static bool sendrecv(struct ss_pattern_stage *s, struct ss_error *error) {
  return shift(s, 1, s->call->bytes, true, true, error);
}

static bool ping_pong(struct ss_pattern_stage *s, struct ss_error *error) {
  s->from[0] = 0;
  s->to[0] = s->ranks - 1;
  return listed(s, 1, s->call->bytes, error);
}

/* --- two trees -------------------------------------------------------------------------------------------- */

/* Above node n of `nodes` in the tree of in-order numbers from 1, whose root has the largest power of two: the node
 * with the lowest bit of n cleared and the next one set, or where that is too large, only cleared; 0 above the root.
 */
static uint32_t parent_in_tree(uint32_t n, uint32_t nodes) {
  const uint32_t low = n & (0U - n), up = (n ^ low) | (low << 1);
  return up <= nodes ? up : n ^ low;
}

/* Of rank r in the first tree, or with `second` in its mirror image: chains inside nodes, whose first ranks are in
 * the tree of nodes. UINT32_MAX: it is the root. */
static uint32_t parent_of(const struct ss_pattern_stage *s, uint32_t r, bool second) {
  const uint32_t g = s->gpus_per_node, nodes = (s->ranks + g - 1) / g, node = r / g;
  if (r % g != 0) return r - 1;
  const uint32_t n = second ? nodes - node : node + 1, up = parent_in_tree(n, nodes);
  if (up == 0) return UINT32_MAX;
  return (second ? nodes - up : up - 1) * g;
}

/* Fills in both trees; returns the height of the higher one. */
static uint32_t plant(struct ss_pattern_stage *s) {
  uint32_t height = 0;
  assert(s->ranks > 0);
  for (uint32_t i = 0; i < 2 * s->ranks; i++) {
    struct tree_place *place = &s->tree[i];
    *place = (struct tree_place){.up = parent_of(s, i % s->ranks, i >= s->ranks)};
    for (uint32_t at = place->up; at != UINT32_MAX; at = parent_of(s, at, i >= s->ranks)) place->depth++;
    height = place->depth > height ? place->depth : height;
  }
  return height;
}

/* Step t of the pipeline: a rank of depth d sends chunk t - (height - d) up, and gets chunk t - height - d + 1 back.
 * Adds the messages of one direction to the `count` that are listed; returns how many are. */
static uint32_t list_trees(struct ss_pattern_stage *s, uint32_t height, uint32_t step, bool down, uint32_t count) {
  for (uint32_t i = 0; i < 2 * s->ranks; i++) {
    const struct tree_place *place = &s->tree[i];
    const uint32_t begins = down ? height + place->depth - 1 : height - place->depth;
    if (place->up == UINT32_MAX || step < begins || step - begins >= s->chunks) continue;
    s->from[count] = down ? place->up : i % s->ranks;
    s->to[count++] = down ? i % s->ranks : place->up;
  }
  return count;
}

/* Each tree carries half of the vector, its chunks one behind the other, up and down at once. */
static bool allreduce_trees(struct ss_pattern_stage *s, struct ss_error *error) {
  const uint32_t height = plant(s);
  const uint64_t each = share(share(s->call->bytes, 2), s->chunks);
  for (uint32_t step = 0; step + 1 < 2 * height + s->chunks; step++) {
    const uint32_t up = list_trees(s, height, step, false, 0), all = list_trees(s, height, step, true, up);
    if ((all > 0 && !listed(s, all, each, error)) || (up > 0 && !add(s, each, error))) return false;
  }
  return true;
}

/* --- the table --------------------------------------------------------------------------------------------- */

static const struct ss_algorithm algorithms[] = {
    {SS_ALLREDUCE, "ring", "", true, allreduce_ring},
    {SS_ALLREDUCE, "recursive_doubling", "", false, allreduce_doubling},
    {SS_ALLREDUCE, "rabenseifner", " redscat_allgather ", false, allreduce_rabenseifner},
    {SS_ALLREDUCE, "trees", " tree double_binary_tree ", false, allreduce_trees},
    {SS_ALLGATHER, "ring", "", true, allgather_ring},
    {SS_ALLGATHER, "recursive_doubling", "", false, allgather_doubling},
    {SS_ALLGATHER, "bruck", " k_bruck ", false, allgather_bruck},
    {SS_ALLGATHER, "neighbor_exchange", " neighbor ", false, allgather_neighbors},
    {SS_ALLGATHER, "linear", " direct ", false, exchange_posted},
    {SS_REDUCE_SCATTER, "ring", "", true, reduce_scatter_ring},
    {SS_REDUCE_SCATTER, "recursive_halving", " halving ", false, reduce_scatter_halving},
    {SS_ALLTOALL, "pairwise", "", false, alltoall_pairwise},
    {SS_ALLTOALL, "linear", " linear_sync posted grouped ", false, exchange_posted},
    {SS_ALLTOALL, "bruck", " modified_bruck ", false, alltoall_bruck},
    {SS_SENDRECV, "shift", "", false, sendrecv},
    {SS_PING_PONG, "message", "", false, ping_pong},
};

const struct ss_algorithm *ss_algorithms(size_t *count) {
  *count = sizeof algorithms / sizeof *algorithms;
  return algorithms;
}

static bool has_alias(const struct ss_algorithm *algorithm, const char *name) {
  char padded[64];
  const int length = snprintf(padded, sizeof padded, " %s ", name);
  return length > 0 && (size_t)length < sizeof padded && !strchr(name, ' ') && strstr(algorithm->aliases, padded);
}

const struct ss_algorithm *ss_algorithm_of(enum ss_collective collective, const char *name) {
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    const struct ss_algorithm *p = &algorithms[i];
    if (p->collective != collective) continue;
    if (!name || strcmp(p->name, name) == 0 || has_alias(p, name)) return p;
  }
  return NULL;
}

enum ss_collective ss_collective_of(const char *name) {
  char plain[32];
  size_t length = 0;
  for (; *name; name++)
    if (*name != '_' && *name != '-' && length + 1 < sizeof plain) plain[length++] = *name;
  plain[length] = '\0';
  static const char *const squeezed[] = {"allreduce", "allgather", "reducescatter",
                                         "alltoall",  "sendrecv",  "pingpong"};
  enum ss_collective at = 0;
  while (at < SS_COLLECTIVES && strcmp(plain, squeezed[at]) != 0) at++;
  return at;
}

/* --- playing ----------------------------------------------------------------------------------------------- */

static void close_stage(struct ss_pattern_stage *s) {
  free(s->from);
  free(s->to);
  free(s->order);
  free(s->tree);
  free(s->kernel);
}

static bool open_stage(struct ss_pattern_stage *s, const struct ss_pattern_call *call, uint32_t gpus_per_node,
                       struct ss_error *error) {
  const uint32_t rings = call->algorithm->rings && call->rings > 1 ? call->rings : 1;
  *s = (struct ss_pattern_stage){.call = call,
                                 .ranks = call->ranks,
                                 .rings = rings,
                                 .gpus_per_node = gpus_per_node,
                                 .chunks = call->chunks > 0 ? call->chunks : 1};
  s->from = ss_alloc((size_t)endpoints_of(s) * 4, sizeof *s->from);
  s->to = ss_alloc((size_t)endpoints_of(s) * 4, sizeof *s->to);
  s->order = ss_alloc(s->ranks, sizeof *s->order);
  s->tree = ss_alloc((size_t)s->ranks * 2, sizeof *s->tree);
  s->kernel = ss_alloc(endpoints_of(s), sizeof *s->kernel);
  if (s->from && s->to && s->order && s->tree && s->kernel) return true;
  close_stage(s);
  return ss_fail_memory(error, "playing a collective");
}

/* Several rings: an endpoint for each rank's part in each, which share what is between the ranks of a node. */
static void widen(struct ss_cluster *cluster, uint32_t rings) {
  if (rings == 1) return;
  const struct ss_cluster_factors factors = {1, 1, 1.0 / rings};
  if (ss_cluster_fair(cluster)) cluster->nics = ss_cluster_nics(cluster);
  cluster->nic_per_node = true;
  if (!cluster->has_intra) {
    cluster->intra = cluster->inter;
    cluster->intra_segments = cluster->inter_segments;
    cluster->has_intra = true;
  }
  ss_cluster_scale(cluster, &factors);
  cluster->gpus_per_node *= rings;
}

static bool play_on(struct ss_pattern_stage *s, const struct ss_cluster *const *clusters, uint32_t count,
                    double *seconds, struct ss_error *error) {
  struct ss_engine engine;
  if (!ss_engine_open_each(&engine, clusters, count, endpoints_of(s), 0, error)) return false;
  s->player = &engine.player;
  const bool ok = s->call->algorithm->play(s, error);
  for (uint32_t i = 0; ok && i < count; i++) seconds[i] = ss_engine_tally(&engine, i).time;
  ss_engine_close(&engine);
  return ok;
}

bool ss_pattern_times(const struct ss_cluster *const *clusters, uint32_t count, const struct ss_pattern_call *call,
                      double *seconds, struct ss_error *error) {
  struct ss_pattern_stage s;
  SS_AUTO_FREE struct ss_cluster *wide = ss_alloc(count, sizeof *wide);
  SS_AUTO_FREE const struct ss_cluster **list = ss_alloc(count, sizeof *list);
  if (!wide || !list) return ss_fail_memory(error, "playing a collective");
  if (!open_stage(&s, call, clusters[0]->gpus_per_node, error)) return false;
  for (uint32_t i = 0; i < count; i++) {
    wide[i] = *clusters[i];
    widen(&wide[i], s.rings);
    list[i] = &wide[i];
  }
  const bool ok = play_on(&s, list, count, seconds, error);
  close_stage(&s);
  return ok;
}

/* --- sizes ------------------------------------------------------------------------------------------------- */

struct noting {
  struct ss_player player; /* first: a player is what it stands in */
  uint32_t count, per_node;
  struct ss_pattern_size *sizes;
};

static void note(struct noting *n, struct ss_pattern_size size) {
  for (uint32_t i = 0; i < n->count; i++) {
    const struct ss_pattern_size *known = &n->sizes[i];
    if (known->bytes == size.bytes && known->intra == size.intra && known->exchange == size.exchange) return;
  }
  if (n->count < SS_PATTERN_SIZES) n->sizes[n->count++] = size;
}

static bool note_round(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct noting *n = (struct noting *)player;
  const struct ss_messages *m = &round->messages;
  (void)error;
  if (!m->bytes && n->per_node == 1 && m->count > 0) {
    note(n, (struct ss_pattern_size){m->each, false, round->exchange});
    return true;
  }
  for (uint32_t i = 0; i < m->count; i++) {
    const bool intra = ss_message_from(m, i) / n->per_node == ss_message_to(m, i) / n->per_node;
    note(n, (struct ss_pattern_size){ss_message_bytes(m, i), intra, round->exchange && !intra});
  }
  return true;
}

uint32_t ss_pattern_sizes(const struct ss_pattern_call *call, uint32_t gpus_per_node,
                          struct ss_pattern_size sizes[SS_PATTERN_SIZES]) {
  struct ss_pattern_stage s;
  struct noting n = {.player = {.play = note_round}, .sizes = sizes};
  if (!open_stage(&s, call, gpus_per_node, NULL)) return 0;
  n.per_node = gpus_per_node * s.rings;
  s.player = &n.player;
  const bool ok = call->algorithm->play(&s, NULL);
  close_stage(&s);
  return ok ? n.count : 0;
}

/* --- how much it is ----------------------------------------------------------------------------------------- */

struct counting {
  struct ss_player player; /* first: a player is what it stands in */
  uint32_t per_node;
  double messages;
};

static bool count_round(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct counting *c = (struct counting *)player;
  const struct ss_messages *m = &round->messages;
  const bool alike = !m->from && m->count % c->per_node == 0;
  (void)error;
  c->messages += alike && c->per_node < m->count ? c->per_node : m->count;
  return true;
}

double ss_pattern_messages(const struct ss_pattern_call *call, uint32_t gpus_per_node) {
  struct ss_pattern_stage s;
  struct counting c = {.player = {.play = count_round}, .per_node = gpus_per_node};
  if (!open_stage(&s, call, gpus_per_node, NULL)) return 0;
  s.player = &c.player;
  const bool ok = call->algorithm->play(&s, NULL);
  close_stage(&s);
  return ok ? c.messages : 0;
}
