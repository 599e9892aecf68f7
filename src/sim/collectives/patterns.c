#include "sim/collectives/patterns.h"

#include "sim/collectives/steps.h"
#include "sim/engine.h"

/* A call while it is played. */
struct ss_pattern_stage {
  const struct ss_pattern_call *call;
  bool mpi;
  struct ss_player *player;
  struct ss_arena arena; /* of its arrays */
  uint32_t ranks, rings;
  uint32_t gpus_per_node;
  uint32_t chunks;
  uint32_t *from, *to; /* [4 * ranks * rings] of one round */
  uint64_t *bytes;     /* [ranks] of messages that are not alike */
  uint32_t *order;     /* [ranks] scratch of rings */
  bool laid;           /* rings stand in `from` and `to`, which all their steps have */
  struct ss_tree_place
      *tree;      /* [2 * ranks * rings] of each ring in turn in its one tree, then in the other; or in its chain */
  uint32_t trees; /* that stand there */
  struct ss_computation *kernel; /* [ranks] */
};

/* --- rounds ----------------------------------------------------------------------------------------------- */

/* Every rank's share of `bytes`; the last may have less, which nobody waits for. */
static uint64_t share(uint64_t bytes, uint64_t parts) {
  return bytes / parts + (bytes % parts != 0);
}

static bool play(struct ss_pattern_stage *s, struct ss_round *round, struct ss_error *error) {
  return s->player->play(s->player, round, error);
}

/* Everyone's to the endpoint `by` further on; of an exchange, or of a chain. */
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

/* All ranks work as long, once they have all that came. */
static bool work(struct ss_pattern_stage *s, double seconds, struct ss_error *error) {
  if (!(seconds > 0)) return true;
  for (uint32_t i = 0; i < s->ranks; i++) s->kernel[i] = (struct ss_computation){i, seconds};
  struct ss_round round = {.dependent = true, .after = s->kernel, .after_count = s->ranks};
  return play(s, &round, error);
}

static bool add(struct ss_pattern_stage *s, uint64_t bytes, struct ss_error *error) {
  return work(s, s->call->memory.sum * (double)bytes, error);
}

static bool copy(struct ss_pattern_stage *s, uint64_t bytes, struct ss_error *error) {
  return !s->mpi || work(s, s->call->memory.sum * (double)bytes * 2 / 3, error);
}

/* What an MPI does within memory: allocates and fills buffers of all bytes, and copies all bytes. */
static bool move_within(struct ss_pattern_stage *s, struct ss_host_moves moves, struct ss_error *error) {
  const uint64_t bytes = s->call->bytes;
  const double filled = ss_host_filled(moves, s->ranks);
  return (!s->mpi || work(s, ss_host_pages(&s->call->memory, bytes, filled), error)) &&
         copy(s, moves.copies * bytes, error);
}

/* --- phases ------------------------------------------------------------------------------------------------ */

/* What each message of a phase carries: all bytes, half of them, one of P blocks, as many blocks as the step moves,
 * or of as many parts as there are core positions that hold other parts than its sender then, one; CORE: the same,
 * and the step is one of core positions. */
enum amount { NOTHING, WHOLE, HALF, BLOCK, BLOCKS, HALVES, CORE };

/* What is done with it: what comes is kept where it is, or added; or what goes and what comes is copied. */
enum then { KEEP, ADD, PACK };

struct ss_pattern_phase {
  enum amount amount; /* NOTHING: no more phases */
  enum ss_phase phase;
  enum then then;
};

static uint64_t bytes_of(const struct ss_pattern_stage *s, enum amount amount, const struct ss_step *step) {
  const uint64_t block = share(share(s->call->bytes, s->ranks), s->rings);
  switch (amount) {
  case NOTHING: return 0;
  case WHOLE: break;
  case HALF: return share(s->call->bytes, 2);
  case BLOCK: return block;
  case BLOCKS: return block * ss_step_move(step, 0).count;
  case HALVES: return share(s->call->bytes, step->fold.Q / step->by);
  case CORE: return share(s->call->bytes, step->size / step->by);
  }
  return s->call->bytes;
}

/* A step of all rings: everyone's to the next in its ring. */
static bool play_rings(struct ss_pattern_stage *s, uint64_t bytes, struct ss_error *error) {
  for (uint32_t i = 0; i < s->rings && !s->laid; i++) {
    ss_ring_order(s->ranks, s->gpus_per_node, i, s->rings, s->order);
    for (uint32_t k = 0; k < s->ranks; k++) {
      const uint32_t next = k + 1 < s->ranks ? k + 1 : 0;
      s->from[i * s->ranks + k] = s->order[k];
      s->to[i * s->ranks + k] = s->order[next];
    }
  }
  s->laid = true;
  return listed(s, s->ranks * s->rings, bytes, error);
}

/* Of a phase whose messages carry so much; `bytes` the first one, which none is larger than. */
static bool play_step(struct ss_pattern_stage *s, const struct ss_step *step, enum amount amount, uint64_t bytes,
                      struct ss_error *error) {
  const bool core = amount == CORE, unlike = amount == BLOCKS && step->phase == SS_SCATTER;
  struct ss_fold fold = ss_fold_of(s->ranks);
  struct ss_round round = {.messages = {.count = step->moves, .from = s->from, .to = s->to, .each = bytes},
                           .dependent = true};
  fold.even = true;
  fold.near = true;
  if (s->rings > 1) return play_rings(s, bytes, error);
  if (ss_step_shift(step) > 0) return shift(s, ss_step_shift(step), bytes, true, false, error);
  for (uint32_t i = 0; i < step->moves; i++) {
    const struct ss_move move = ss_step_move(step, i);
    s->from[i] = core ? ss_fold_member(fold, move.from) : move.from;
    s->to[i] = core ? ss_fold_member(fold, move.to) : move.to;
    s->bytes[i] = bytes / ss_step_move(step, 0).count * move.count;
  }
  if (unlike) round.messages.bytes = s->bytes;
  return play(s, &round, error);
}

/* `near`: the largest halves are exchanged with neighbours. */
static bool play_list(struct ss_pattern_stage *s, const struct ss_pattern_phase *phase, bool near,
                      struct ss_error *error) {
  for (; phase->amount != NOTHING; phase++) {
    const uint32_t core = ss_fold_of(s->ranks).Q;
    struct ss_step step = ss_steps_of(phase->phase, phase->amount == CORE ? core : s->ranks);
    step.fold.even = true;
    step.fold.near = near;
    while (ss_step_next(&step)) {
      const uint64_t bytes = bytes_of(s, phase->amount, &step);
      if (!play_step(s, &step, phase->amount, bytes, error) ||
          (phase->then == ADD && !add(s, bytes * s->rings, error)) ||
          (phase->then == PACK && !copy(s, 2 * bytes, error)))
        return false;
    }
  }
  return true;
}

static bool play_phases(struct ss_pattern_stage *s, const struct ss_pattern_phase *phase, struct ss_error *error) {
  return play_list(s, phase, false, error);
}

/* Sums by halving and doubling. Ranks beyond a power of two: Rabenseifner's pairs, and Open MPI's, each sum one half,
 * and who leaves sends its own; MPICH's hand over all that they have. */
static bool play_halves(struct ss_pattern_stage *s, const struct ss_pattern_phase *core, struct ss_error *error) {
  static const struct ss_pattern_phase halves[] = {
      {HALF, SS_FOLD_SWAP, ADD}, {HALF, SS_FOLD_IN, KEEP}, {NOTHING, SS_RING, KEEP}};
  static const struct ss_pattern_phase all[] = {{WHOLE, SS_FOLD_IN, ADD}, {NOTHING, SS_RING, KEEP}};
  return play_list(s, ss_library_mpich(s->call->library) ? all : halves, true, error) &&
         play_list(s, core, true, error);
}

static bool allreduce_rabenseifner(struct ss_pattern_stage *s, struct ss_error *error) {
  static const struct ss_pattern_phase core[] = {
      {HALVES, SS_HALVE, ADD}, {HALVES, SS_DOUBLE, KEEP}, {WHOLE, SS_FOLD_OUT, KEEP}, {NOTHING, SS_RING, KEEP}};
  return play_halves(s, core, error);
}

static bool reduce_rabenseifner(struct ss_pattern_stage *s, struct ss_error *error) {
  static const struct ss_pattern_phase core[] = {
      {HALVES, SS_HALVE, ADD}, {CORE, SS_GATHER, KEEP}, {NOTHING, SS_RING, KEEP}};
  return play_halves(s, core, error);
}

static const struct ss_pattern_phase gather_ring[] = {{BLOCK, SS_RING, KEEP}, {NOTHING, SS_RING, KEEP}};

/* Of an odd number of ranks there are no pairs of neighbours: they play the ring. */
static bool allgather_neighbours(struct ss_pattern_stage *s, struct ss_error *error) {
  static const struct ss_pattern_phase neighbours[] = {{BLOCKS, SS_NEIGHBOURS, KEEP}, {NOTHING, SS_RING, KEEP}};
  return play_phases(s, s->ranks % 2 == 0 ? neighbours : gather_ring, error);
}

/* --- exchanges -------------------------------------------------------------------------------------------- */

/* NCCL's order (p2pSendOrder in its init.cc): to every node in turn, its own first; there to the rank at one's
 * own index, then to the next one, so that all ranks of a node are inside it, or at the cards, at the same time. */
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

/* Sends and receives posted one after the other, as many under way as the cluster's window allows; Open MPI's all
 * (coll_base_alltoall.c; of linear_sync as many as coll_tuned_alltoall_max_requests says, by default all). */
static bool exchange_posted(struct ss_pattern_stage *s, struct ss_error *error) {
  if (!s->mpi && s->gpus_per_node > 1 && s->ranks % s->gpus_per_node == 0) return exchange_by_node(s, error);
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

/* Fills in all trees, of which both of a ring enter a node by the first rank of its card; returns the greatest
 * height.
 */
static uint32_t plant(struct ss_pattern_stage *s) {
  uint32_t height = 0;
  assert(s->ranks > 0);
  s->trees = 2 * s->rings;
  for (uint32_t i = 0; i < s->rings; i++) {
    const uint32_t head = ss_tree_head(s->gpus_per_node, i, s->rings);
    const uint32_t own = ss_trees_plant(s->ranks, s->gpus_per_node, head, s->tree + (size_t)2 * s->ranks * i);
    height = own > height ? own : height;
  }
  return height;
}

/* Adds a step's messages of one direction to the `count` that are listed; returns how many are. */
static uint32_t list_trees(struct ss_pattern_stage *s, const struct ss_tree_pipeline *pipeline, bool down,
                           uint32_t count) {
  uint32_t chunk;
  for (uint32_t i = 0; i < s->ranks * s->trees; i++) {
    if (!ss_tree_sends(pipeline, &s->tree[i], down, &chunk)) continue;
    s->from[count] = down ? s->tree[i].up : i % s->ranks;
    s->to[count++] = down ? i % s->ranks : s->tree[i].up;
  }
  return count;
}

/* Each tree carries half of its ring's share, its chunks one behind the other, up and down at once. */
static bool allreduce_trees(struct ss_pattern_stage *s, struct ss_error *error) {
  struct ss_tree_pipeline p = {plant(s), s->chunks, 0};
  const uint64_t each = share(share(share(s->call->bytes, s->rings), 2), s->chunks);
  for (; p.step + 1 < 2 * p.height + p.chunks; p.step++) {
    const uint32_t up = list_trees(s, &p, false, 0), all = list_trees(s, &p, true, up);
    if ((all > 0 && !listed(s, all, each, error)) || (up > 0 && !add(s, each, error))) return false;
  }
  return true;
}

/* --- chains ------------------------------------------------------------------------------------------------- */

/* A tree of one branch along every ring: `down` from rank 0 on, or up to it. */
static void lay_chains(struct ss_pattern_stage *s, bool down) {
  const uint32_t P = s->ranks;
  s->trees = s->rings;
  for (uint32_t i = 0; i < s->rings; i++) {
    struct ss_tree_place *place = s->tree + (size_t)i * P;
    uint32_t root = 0;
    if (s->rings > 1) ss_ring_order(P, s->gpus_per_node, i, s->rings, s->order);
    for (uint32_t r = 0; s->rings == 1 && r < P; r++) s->order[r] = r;
    while (s->order[root] != 0) root++;
    place[0] = (struct ss_tree_place){UINT32_MAX, 0};
    for (uint32_t k = 1; k < P; k++) {
      const uint32_t at = down ? root + k : root + P - k, above = down ? at - 1 : at + 1;
      place[s->order[at % P]] = (struct ss_tree_place){s->order[above % P], k};
    }
  }
}

/* NCCL's, as MPI's pipelines: each ring's share goes along it, its chunks one behind the other. */
static bool play_chains(struct ss_pattern_stage *s, bool down, struct ss_error *error) {
  struct ss_tree_pipeline p = {down ? 0 : s->ranks - 1, s->chunks, 0};
  const uint64_t each = share(share(s->call->bytes, s->rings), s->chunks);
  lay_chains(s, down);
  for (; p.step + 2 < s->ranks + s->chunks; p.step++) {
    const uint32_t count = list_trees(s, &p, down, 0);
    if (!listed(s, count, each, error) || (!down && !add(s, each * s->rings, error))) return false;
  }
  return true;
}

static bool broadcast_chains(struct ss_pattern_stage *s, struct ss_error *error) {
  return play_chains(s, true, error);
}

static bool reduce_chains(struct ss_pattern_stage *s, struct ss_error *error) {
  return play_chains(s, false, error);
}

/* --- broadcast ---------------------------------------------------------------------------------------------- */

/* Open MPI's (ompi_coll_base_topo_build_bmtree; bcast_intra_generic): above rank r is r without its highest bit, and
 * a rank that has the vector posts it to all that are below it at once. MPICH's sends to one after the other, those
 * above the most ranks first, and above r is r without its lowest bit. */
static bool broadcast_binomial(struct ss_pattern_stage *s, struct ss_error *error) {
  static const struct ss_pattern_phase in_turn[] = {{WHOLE, SS_SCATTER, KEEP}, {NOTHING, SS_RING, KEEP}};
  if (s->call->library != SS_OPEN_MPI) return play_phases(s, in_turn, error);
  for (uint32_t depth = 1, count = 1; count > 0; depth++) {
    count = 0;
    for (uint32_t r = 1; r < s->ranks; r++) {
      if (__builtin_popcount(r) != (int)depth) continue;
      s->from[count] = r - (1U << (31 - __builtin_clz(r)));
      s->to[count++] = r;
    }
    if (count > 0 && !listed(s, count, s->call->bytes, error)) return false;
  }
  return true;
}

/* --- the table --------------------------------------------------------------------------------------------- */

enum { PHASES_MOST = 4 };
/* What is left of the array ends the list. */
#define PHASES(...)                                                                                                  \
  .phases = (const struct ss_pattern_phase[PHASES_MOST + 1]) {                                                       \
    __VA_ARGS__                                                                                                      \
  }

/* NCCL's step of a buffer: one of 8 in 4 MiB (NCCL_STEPS, NCCL_BUFFSIZE), which a message of its broadcasts and
 * reductions has (BROADCAST_CHUNKSTEPS, REDUCE_CHUNKSTEPS of src/include/collectives.h). */
static const uint64_t nccl_step = (uint64_t)1 << 19;

static const struct ss_algorithm algorithms[] = {
    {SS_ALLREDUCE, "ring", "", true, 0, .before = {.copies = 1},
     PHASES({BLOCK, SS_RING, ADD}, {BLOCK, SS_RING, KEEP})},
    {SS_ALLREDUCE, "recursive_doubling", "", false, 0, .before = {.buffers = 1, .copies = 1}, .after = {.copies = 1},
     .mpich = {.buffers = 1, .copies = 1},
     PHASES({WHOLE, SS_FOLD_IN, ADD}, {WHOLE, SS_DOUBLE, ADD}, {WHOLE, SS_FOLD_OUT, KEEP})},
    {SS_ALLREDUCE, "rabenseifner", " redscat_allgather ", false, 0, .before = {.copies = 1, .halved = 1},
     .mpich = {.copies = 1, .halving = 1}, .play = allreduce_rabenseifner},
    {SS_ALLREDUCE, "trees", " tree double_binary_tree ", true, SS_ONE_CHUNK, .play = allreduce_trees},
    {SS_ALLGATHER, "ring", "", true, 0, .phases = gather_ring},
    {SS_ALLGATHER, "recursive_doubling", "", false, 0,
     PHASES({BLOCK, SS_FOLD_IN, KEEP}, {HALVES, SS_DOUBLE, KEEP}, {WHOLE, SS_FOLD_OUT, KEEP})},
    {SS_ALLGATHER, "bruck", " k_bruck ", false, 0, PHASES({BLOCKS, SS_BRUCK, KEEP}),
     .after = {.buffers = 1, .copies = 2}, .mpich = {.buffers = 1, .copies = 1}},
    {SS_ALLGATHER, "neighbor_exchange", " neighbor ", false, 0, .play = allgather_neighbours},
    {SS_ALLGATHER, "linear", " direct ", false, 0, .play = exchange_posted},
    {SS_REDUCE_SCATTER, "ring", "", true, 0, .before = {.buffers = 1, .copies = 1}, PHASES({BLOCK, SS_RING, ADD})},
    {SS_REDUCE_SCATTER, "recursive_halving", " halving ", false, 0,
     .before = {.buffers = 1, .copies = 1, .halving = 1},
     PHASES({WHOLE, SS_FOLD_IN, ADD}, {HALVES, SS_HALVE, ADD}, {BLOCK, SS_FOLD_OUT, KEEP})},
    {SS_ALLTOALL, "pairwise", "", false, 0, PHASES({BLOCK, SS_DIRECT, KEEP})},
    {SS_ALLTOALL, "linear", " linear_sync posted grouped ", false, 0, .play = exchange_posted},
    {SS_ALLTOALL, "bruck", " modified_bruck ", false, 0, .before = {.buffers = 2, .copies = 1},
     PHASES({BLOCKS, SS_TURN, PACK}), .after = {.copies = 1}},
    {SS_BROADCAST, "ring", " chain pipeline ", true, nccl_step, .play = broadcast_chains},
    {SS_BROADCAST, "binomial", "", false, 0, .play = broadcast_binomial},
    {SS_BROADCAST, "scatter_allgather", " scatter_allgather_ring ", false, 0,
     PHASES({BLOCKS, SS_SCATTER, KEEP}, {BLOCK, SS_RING, KEEP})},
    {SS_REDUCE, "ring", " chain pipeline ", true, nccl_step, .play = reduce_chains},
    {SS_REDUCE, "binomial", "", false, 0, PHASES({WHOLE, SS_GATHER, ADD})},
    {SS_REDUCE, "rabenseifner", " reduce_scatter_gather ", false, 0,
     .before = {.buffers = 1, .copies = 1, .halved = 1}, .mpich = {.buffers = 1, .copies = 1, .halving = 1},
     .play = reduce_rabenseifner},
    {SS_SENDRECV, "shift", "", false, 0, .play = sendrecv},
    {SS_PING_PONG, "message", "", false, 0, .play = ping_pong},
};

static bool play_call(struct ss_pattern_stage *s, struct ss_error *error) {
  const struct ss_algorithm *a = s->call->algorithm;
  const struct ss_host_moves none = {0};
  const bool mpich = ss_library_mpich(s->call->library) && memcmp(&a->mpich, &none, sizeof none) != 0;
  return move_within(s, mpich ? a->mpich : a->before, error) &&
         (a->play ? a->play(s, error) : play_phases(s, a->phases, error)) &&
         move_within(s, mpich ? none : a->after, error);
}

enum ss_library_kind ss_pattern_library(const struct ss_cluster *cluster) {
  const enum ss_library_kind kind = cluster->library.kind;
  return ss_library_mpi(kind) ? kind : cluster->memory.pieces > 0 ? SS_OPEN_MPI : SS_NO_LIBRARY;
}

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
  static const char *const squeezed[] = {"allreduce", "allgather", "reducescatter", "alltoall",
                                         "broadcast", "reduce",    "sendrecv",      "pingpong"};
  enum ss_collective at = 0;
  if (strcmp(plain, "bcast") == 0) return SS_BROADCAST;
  while (at < SS_COLLECTIVES && strcmp(plain, squeezed[at]) != 0) at++;
  return at;
}

/* --- playing ----------------------------------------------------------------------------------------------- */

static uint32_t rings_of(const struct ss_pattern_call *call) {
  return call->algorithm->rings && call->rings > 1 ? call->rings : 1;
}

uint32_t ss_pattern_chunks(const struct ss_pattern_call *call) {
  const uint64_t chunk = call->algorithm->chunk;
  if (call->chunks > 0 || chunk == 0) return call->chunks > 1 ? call->chunks : 1;
  const uint64_t each = share(call->bytes, rings_of(call)), chunks = each > chunk ? share(each, chunk) : 1;
  return chunks < SS_CHUNKS_MOST ? (uint32_t)chunks : SS_CHUNKS_MOST;
}

static bool open_stage(struct ss_pattern_stage *s, const struct ss_pattern_call *call, uint32_t gpus_per_node,
                       struct ss_error *error) {
  const uint32_t rings = rings_of(call);
  *s = (struct ss_pattern_stage){.call = call,
                                 .mpi = ss_library_mpi(call->library),
                                 .ranks = call->ranks,
                                 .rings = rings,
                                 .gpus_per_node = gpus_per_node,
                                 .chunks = ss_pattern_chunks(call)};
  const size_t most = (size_t)4 * s->ranks * rings;
  if (ss_take(&s->arena, s->from, most) && ss_take(&s->arena, s->to, most) &&
      ss_take(&s->arena, s->bytes, s->ranks) && ss_take(&s->arena, s->order, s->ranks) &&
      ss_take(&s->arena, s->tree, (size_t)s->ranks * 2 * rings) && ss_take(&s->arena, s->kernel, s->ranks))
    return true;
  ss_arena_free(&s->arena);
  return ss_fail_memory(error, "playing a collective");
}

bool ss_pattern_play(const struct ss_pattern_call *call, uint32_t gpus_per_node, struct ss_player *player,
                     struct ss_error *error) {
  struct ss_pattern_stage s;
  if (!open_stage(&s, call, gpus_per_node, error)) return false;
  s.player = player;
  const bool ok = play_call(&s, error);
  ss_arena_free(&s.arena);
  return ok;
}

static bool times(const struct ss_cluster *const *clusters, uint32_t count, const struct ss_pattern_call *call,
                  double *seconds, struct ss_error *error) {
  struct ss_engine engine;
  if (!ss_engine_open_each(&engine, clusters, count, (struct ss_engine_size){call->ranks, 0, rings_of(call), 1},
                           error))
    return false;
  const bool ok = ss_pattern_play(call, clusters[0]->gpus_per_node, &engine.player, error);
  for (uint32_t i = 0; ok && i < count; i++) seconds[i] = ss_engine_tally(&engine, i).time;
  ss_engine_close(&engine);
  return ok;
}

bool ss_pattern_times(const struct ss_cluster *const *clusters, uint32_t count, const struct ss_pattern_call *call,
                      double *seconds, struct ss_error *error) {
  const bool posts = call->algorithm->play == broadcast_binomial || call->algorithm->play == exchange_posted;
  if (call->library != SS_OPEN_MPI || !posts) return times(clusters, count, call, seconds, error);
  for (uint32_t i = 0; i < count; i++) { /* what is posted at once is under way at once */
    struct ss_cluster posted = *clusters[i];
    const struct ss_cluster *const one = &posted;
    posted.window = posted.chain_window = UINT32_MAX;
    if (!times(&one, 1, call, &seconds[i], error)) return false;
  }
  return true;
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
  struct noting n = {.player = {.play = note_round}, .per_node = gpus_per_node, .sizes = sizes};
  return ss_pattern_play(call, gpus_per_node, &n.player, NULL) ? n.count : 0;
}

enum ss_message_kind ss_pattern_kind(const struct ss_pattern_call *call, uint32_t gpus_per_node) {
  struct ss_pattern_size sizes[SS_PATTERN_SIZES];
  const uint32_t count = ss_pattern_sizes(call, gpus_per_node, sizes);
  enum ss_message_kind kind = SS_INSIDE;
  for (uint32_t i = 0; i < count && kind != SS_EXCHANGE; i++)
    if (!sizes[i].intra) kind = sizes[i].exchange ? SS_EXCHANGE : SS_CHAIN;
  return kind;
}

/* --- how much it is ----------------------------------------------------------------------------------------- */

struct counting {
  struct ss_player player; /* first: a player is what it stands in */
  uint32_t ranks, rings, per_node;
  double messages;
};

static bool count_round(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct counting *c = (struct counting *)player;
  const struct ss_messages *m = &round->messages;
  const bool alike = (!m->from || c->rings > 1) && c->ranks % c->per_node == 0 && c->per_node < c->ranks;
  (void)error;
  c->messages += alike ? m->count / c->ranks * c->per_node : m->count;
  return true;
}

double ss_pattern_messages(const struct ss_pattern_call *call, uint32_t gpus_per_node) {
  struct counting c = {.player = {.play = count_round},
                       .ranks = call->ranks,
                       .rings = call->algorithm->phases ? rings_of(call) : 1,
                       .per_node = gpus_per_node};
  return ss_pattern_play(call, gpus_per_node, &c.player, NULL) ? c.messages : 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
