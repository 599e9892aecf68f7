/* Collectives as benchmarks time them, against their closed forms: Thakur, Rabenseifner and Gropp (2005), section 4.
 */
#include "support.h"

#include "sim/collectives/patterns.h"

#include <math.h>
#include <string.h>

enum { RANKS_MAX = 40, DRAWS = 300 };
static const double ALPHA = 3e-6, BETA = 1e-9, SUM = 2e-10, PAGE = 5e-10;

struct made {
  const char *algorithm;
  enum ss_collective collective;
  uint32_t ranks, per_node, nics, window, rings, chunks;
  uint64_t bytes;
  enum ss_library_kind library;
};

static double time_of(const struct made *m) {
  struct ss_cluster c = {.model = "fair", .gpus_per_node = m->per_node, .nics = m->nics, .window = m->window};
  c.inter = c.exchange = (struct ss_link){ALPHA, BETA};
  c.nic_per_node = true;
  c.has_intra = m->per_node > 1;
  c.intra = c.has_intra ? (struct ss_link){ALPHA / 10, BETA / 100} : c.inter;
  const struct ss_cluster *one = &c;
  const struct ss_pattern_call call = {.algorithm = ss_algorithm_of(m->collective, m->algorithm),
                                       .ranks = m->ranks,
                                       .bytes = m->bytes,
                                       .rings = m->rings,
                                       .chunks = m->chunks,
                                       .memory.sum = SUM,
                                       .memory.page = PAGE,
                                       .library = m->library};
  double seconds = 0;
  struct ss_error error;
  assert_non_null(call.algorithm);
  if (!ss_pattern_times(&one, 1, &call, &seconds, &error)) fail_msg("%s", error.text);
  return seconds;
}

static double flat(enum ss_collective collective, const char *algorithm, uint32_t ranks, uint64_t bytes) {
  return time_of(&(struct made){algorithm, collective, ranks, 1, 1, 1, 0, 0, bytes, SS_NO_LIBRARY});
}

static void near(double got, double wanted, const char *what, uint32_t ranks, uint64_t bytes) {
  if (fabs(got / wanted - 1) > 1e-9)
    fail_msg("%s of %u ranks, %llu B: %.12g, not %.12g", what, ranks, (unsigned long long)bytes, got, wanted);
}

/* --- closed forms ------------------------------------------------------------------------------------------ */

static double share(uint64_t bytes, uint32_t parts) {
  return ceil((double)bytes / parts);
}

static double log_up(uint32_t ranks) {
  double rounds = 0;
  for (uint32_t p = 1; p < ranks; p *= 2) rounds++;
  return rounds;
}

/* The sum of the shares that halving sends: M/2, M/4, ... down to M/Q, each rounded up. */
static double halves(uint64_t bytes, uint32_t core) {
  double sum = 0;
  for (uint32_t parts = 2; parts <= core; parts *= 2) sum += share(bytes, parts);
  return sum;
}

/* A pair exchanges halves, sums them, and one of it gets the other's. */
static double folded(uint64_t bytes) {
  return 2 * ALPHA + share(bytes, 2) * (2 * BETA + SUM);
}

TEST(rings_and_exchanges) {
  struct dice dice = {.seed = 1};
  for (int i = 0; i < DRAWS; i++) {
    const uint32_t P = 2 + dice_below(&dice, RANKS_MAX - 2);
    const uint64_t M = 1 + dice_below(&dice, 1 << 20);
    const double each = share(M, P), hop = ALPHA + each * BETA;
    near(flat(SS_ALLGATHER, "ring", P, M), (P - 1) * hop, "allgather ring", P, M);
    near(flat(SS_REDUCE_SCATTER, "ring", P, M), (P - 1) * (hop + each * SUM), "reduce-scatter ring", P, M);
    near(flat(SS_ALLREDUCE, "ring", P, M), 2 * (P - 1) * hop + (P - 1) * each * SUM, "allreduce ring", P, M);
    near(flat(SS_ALLTOALL, "pairwise", P, M), (P - 1) * hop, "alltoall pairwise", P, M);
    near(flat(SS_ALLTOALL, "linear", P, M), (P - 1) * hop, "alltoall linear, window 1", P, M);
    near(flat(SS_SENDRECV, NULL, P, M), ALPHA + (double)M * BETA, "sendrecv", P, M);
    near(flat(SS_PING_PONG, NULL, P, M), ALPHA + (double)M * BETA, "ping-pong", P, M);
  }
}

/* From one and to one. A chain's chunks: the first passes P - 1 hops, and one more comes with every further step. */
TEST(broadcasts_and_reductions) {
  struct dice dice = {.seed = 9};
  for (int i = 0; i < DRAWS; i++) {
    const uint32_t P = 2 + dice_below(&dice, RANKS_MAX - 2), K = 1 + dice_below(&dice, 20);
    const uint64_t M = 1 + dice_below(&dice, 1 << 20);
    const struct made chain = {"ring", SS_BROADCAST, P, 1, 1, 1, 0, K, M, SS_NO_LIBRARY},
                      back = {"ring", SS_REDUCE, P, 1, 1, 1, 0, K, M, SS_NO_LIBRARY};
    uint32_t Q = 1;
    while (2 * Q <= P) Q *= 2;
    const bool folds = Q < P;
    const double whole = ALPHA + (double)M * BETA, sum = SUM * (double)M, each = share(M, K), halved = halves(M, Q);
    near(time_of(&chain), (P - 2 + K) * (ALPHA + each * BETA), "broadcast ring", P, M);
    near(time_of(&back), (P - 2 + K) * (ALPHA + each * (BETA + SUM)), "reduce ring", P, M);
    near(flat(SS_BROADCAST, "binomial", P, M), log_up(P) * whole, "broadcast binomial", P, M);
    near(flat(SS_REDUCE, "binomial", P, M), log_up(P) * (whole + sum), "reduce binomial", P, M);
    near(flat(SS_BROADCAST, "scatter_allgather", P, M),
         (log_up(P) + P - 1) * ALPHA + 2 * (P - 1) * share(M, P) * BETA, "broadcast scattered", P, M);
    near(flat(SS_REDUCE, "rabenseifner", P, M), folds * folded(M) + 2 * log_up(Q) * ALPHA + halved * (2 * BETA + SUM),
         "reduce rabenseifner", P, M);
  }
  const uint64_t step = 1 << 19; /* pieces of NCCL's, where nobody says chunks, 256 at most */
  for (uint64_t chunks = 1; chunks < 300; chunks += 13) {
    const double K = (double)(chunks < 256 ? chunks : 256), each = share(chunks * step, (uint32_t)K);
    near(flat(SS_BROADCAST, NULL, 5, chunks * step), (3 + K) * (ALPHA + each * BETA), "pieces", 5, chunks);
  }
}

TEST(doublings) {
  struct dice dice = {.seed = 2};
  for (int i = 0; i < DRAWS; i++) {
    const uint32_t P = 2 + dice_below(&dice, RANKS_MAX - 2);
    const uint64_t M = 1 + dice_below(&dice, 1 << 20);
    uint32_t Q = 1;
    while (2 * Q <= P) Q *= 2;
    const bool folds = Q < P;
    const double rounds = log_up(Q), sum = SUM * (double)M, whole = ALPHA + (double)M * BETA, halved = halves(M, Q);
    near(flat(SS_ALLREDUCE, "recursive_doubling", P, M), (rounds + 2 * folds) * whole + (rounds + folds) * sum,
         "allreduce doubling", P, M);
    near(flat(SS_ALLREDUCE, "rabenseifner", P, M),
         2 * rounds * ALPHA + 2 * halved * BETA + halved * SUM + folds * (whole + folded(M)), "rabenseifner", P, M);
    near(flat(SS_REDUCE_SCATTER, "recursive_halving", P, M),
         rounds * ALPHA + halved * (BETA + SUM) + folds * (whole + sum + ALPHA + share(M, P) * BETA), "halving", P,
         M);
    if (!folds)
      near(flat(SS_ALLGATHER, "recursive_doubling", P, M), rounds * ALPHA + halved * BETA, "doubling", P, M);
    near(flat(SS_ALLGATHER, "bruck", P, M), log_up(P) * ALPHA + (P - 1) * share(M, P) * BETA, "bruck", P, M);
    if (P % 2 == 0)
      near(flat(SS_ALLGATHER, "neighbor_exchange", P, M), 0.5 * P * ALPHA + (P - 1) * share(M, P) * BETA, "neighbors",
           P, M);
  }
}

/* Round t carries every block whose distance has bit t. */
TEST(alltoall_by_bruck) {
  for (uint32_t P = 2; P < RANKS_MAX; P++) {
    double blocks = 0;
    for (uint32_t d = 1; d < P; d++) blocks += __builtin_popcount(d);
    near(flat(SS_ALLTOALL, "bruck", P, 100 * P), log_up(P) * ALPHA + blocks * 100 * BETA, "alltoall bruck", P,
         100 * P);
  }
}

/* All posted: one start-up, and all bytes through a port. */
TEST(posted_at_once) {
  for (uint32_t P = 2; P < RANKS_MAX; P += 5) {
    const struct made m = {"linear", SS_ALLTOALL, P, 1, 1, UINT32_MAX, 0, 0, 1000 * P, SS_NO_LIBRARY};
    near(time_of(&m), ALPHA + (P - 1) * 1000 * BETA, "posted at once", P, m.bytes);
    const struct made own = {"linear", SS_ALLTOALL, P, 1, 1, 1, 0, 0, 1000 * P, SS_OPEN_MPI};
    near(time_of(&own), ALPHA + (P - 1) * 1000 * BETA, "Open MPI's, whatever the window", P, m.bytes);
  }
}

/* Of MPI: a copy takes 2/3 of a sum, doubling copies twice, and buffers of 32 MiB come anew. */
TEST(memory_of_mpi) {
  const uint64_t small = 1 << 20, large = (uint64_t)32 << 20;
  for (int i = 0; i < 2; i++) {
    const uint64_t M = i ? large : small;
    const double b = (double)M, pages = i ? PAGE * b : 0;
    struct made m = {"recursive_doubling", SS_ALLREDUCE, 4, 1, 1, 1, 0, 0, M, SS_OPEN_MPI};
    near(time_of(&m), 2 * (ALPHA + b * BETA) + 2 * SUM * b + 4.0 / 3 * SUM * b + pages, "doubling with copies", 4, M);
    m.algorithm = "ring";
    near(time_of(&m), 6 * (ALPHA + b / 4 * BETA) + 0.75 * SUM * b + 2.0 / 3 * SUM * b, "ring with copies", 4, M);
    m.collective = SS_REDUCE_SCATTER;
    near(time_of(&m), 3 * (ALPHA + b / 4 * BETA) + 0.75 * SUM * b + 2.0 / 3 * SUM * b + pages, "scatter", 4, M);
  }
}

/* Addresses of the buffer that halves are received in, counted: every rank takes part of a whole range in turn, and
 * the rank that writes most of them is waited for. Ranks beyond a power of two send it all to a neighbour first. */
static double written_by_halving(uint32_t P) {
  enum { UNITS = 4096 };
  uint32_t core = 1, most = 0;
  while (2 * core <= P) core *= 2;
  for (uint32_t rank = 0; rank < core; rank++) {
    bool written[UNITS] = {false};
    uint32_t from = 0, to = UNITS, count = 0;
    for (uint32_t i = 0; rank < P - core && i < UNITS; i++) written[i] = true;
    for (uint32_t mask = core / 2; mask > 0; mask /= 2) {
      if (rank & mask) from += (to - from) / 2;
      else to -= (to - from) / 2;
      for (uint32_t i = from; i < to; i++) written[i] = true;
    }
    for (uint32_t i = 0; i < UNITS; i++) count += written[i];
    most = count > most ? count : most;
  }
  return (double)most / UNITS;
}

/* Addresses of the buffer that Rabenseifner's halves are received in: low ranks keep low halves, neighbours first.
 * Who takes in half of another rank gets the low one. */
static double written_by_neighbours(uint32_t P) {
  enum { UNITS = 4096 };
  uint32_t core = 1, most = 0;
  while (2 * core <= P) core *= 2;
  for (uint32_t rank = 0; rank < core; rank++) {
    bool written[UNITS] = {false};
    uint32_t from = 0, to = UNITS, count = 0;
    for (uint32_t i = 0; rank < P - core && i < UNITS / 2; i++) written[i] = true;
    for (uint32_t mask = 1; mask < core; mask *= 2) {
      if (rank & mask) from += (to - from) / 2;
      else to -= (to - from) / 2;
      for (uint32_t i = from; i < to; i++) written[i] = true;
    }
    for (uint32_t i = 0; i < UNITS; i++) count += written[i];
    most = count > most ? count : most;
  }
  return (double)most / UNITS;
}

/* Open MPI's pairs exchange halves, MPICH's hand over all, and receive it in the buffer. */
TEST(rabenseifner_of_two_libraries) {
  const uint64_t M = (uint64_t)64 << 20;
  const double b = (double)M, whole = ALPHA + b * BETA;
  for (uint32_t P = 2; P < RANKS_MAX; P++) {
    uint32_t core = 1;
    while (2 * core <= P) core *= 2;
    const bool folds = core < P;
    struct made m = {"rabenseifner", SS_ALLREDUCE, P, 1, 1, 1, 0, 0, M, SS_OPEN_MPI};
    const double moved = 2.0 / 3 * SUM * b + 2 * log_up(core) * ALPHA + halves(M, core) * (2 * BETA + SUM);
    near(time_of(&m), moved + PAGE * b * written_by_neighbours(P) + folds * (folded(M) + whole), "Open MPI", P, M);
    m.library = SS_MPICH;
    near(time_of(&m), moved + PAGE * b * (folds ? 1 : 0.5) + folds * (2 * whole + SUM * b), "MPICH", P, M);
  }
}

/* Open MPI's: rank r hears of r without its highest bit, once that has sent all that it sends, through one port. */
static double posted_below(uint32_t r, uint32_t P, double each) {
  uint32_t below = 0;
  double last = 0;
  for (uint32_t bit = 1; bit < P; bit *= 2) below += bit > r && r + bit < P;
  for (uint32_t bit = 1; bit < P; bit *= 2)
    if (bit > r && r + bit < P) last = fmax(last, posted_below(r + bit, P, each));
  return below > 0 ? ALPHA + below * each + last : 0;
}

TEST(broadcasts_of_two_libraries) {
  for (uint32_t P = 2; P < RANKS_MAX; P++) {
    struct made m = {"binomial", SS_BROADCAST, P, 1, 1, 1, 0, 0, 1 << 20, SS_OPEN_MPI};
    const double each = (1 << 20) * BETA;
    near(time_of(&m), posted_below(0, P, each), "Open MPI's broadcast", P, m.bytes);
    m.library = SS_MPICH;
    near(time_of(&m), log_up(P) * (ALPHA + each), "MPICH's broadcast", P, m.bytes);
  }
}

/* What MPICH copies: doubling once, and a Bruck all-gather once, out of a buffer of all bytes. */
TEST(memory_of_mpich) {
  const uint64_t M = (uint64_t)32 << 20;
  const double b = (double)M;
  struct made m = {"recursive_doubling", SS_ALLREDUCE, 4, 1, 1, 1, 0, 0, M, SS_MPICH};
  near(time_of(&m), 2 * (ALPHA + b * BETA) + 2 * SUM * b + 2.0 / 3 * SUM * b + PAGE * b, "doubling", 4, M);
  m = (struct made){"bruck", SS_ALLGATHER, 4, 1, 1, 1, 0, 0, M, SS_MPICH};
  near(time_of(&m), 2 * ALPHA + 0.75 * b * BETA + 2.0 / 3 * SUM * b + PAGE * b, "Bruck", 4, M);
  for (uint32_t P = 2; P <= 16; P *= 2) { /* a reduction copies once, halves in a buffer, and gathers at the root */
    m = (struct made){"rabenseifner", SS_REDUCE, P, 1, 1, 1, 0, 0, M, SS_MPICH};
    const double moved = 2 * log_up(P) * ALPHA + halves(M, P) * (2 * BETA + SUM);
    near(time_of(&m), moved + 2.0 / 3 * SUM * b + PAGE * b * (1 + written_by_halving(P)), "Rabenseifner", P, M);
  }
}

TEST(halves_fill_half_a_buffer) {
  const uint64_t M = (uint64_t)64 << 20;
  for (uint32_t P = 2; P < RANKS_MAX; P++) {
    uint32_t core = 1;
    while (2 * core <= P) core *= 2;
    const struct made m = {"recursive_halving", SS_REDUCE_SCATTER, P, 1, 1, 1, 0, 0, M, SS_OPEN_MPI};
    const double b = (double)M, fold = core < P ? 2 * ALPHA + b * (BETA + SUM) + share(M, P) * BETA : 0;
    const double halving = log_up(core) * ALPHA + halves(M, core) * (BETA + SUM);
    const double pages = PAGE * b * (1 + written_by_halving(P));
    near(time_of(&m), 2.0 / 3 * SUM * b + pages + fold + halving, "halving", P, M);
  }
}

/* --- nodes ------------------------------------------------------------------------------------------------- */

/* A ring leaves each node by one card; several, each by its own, are as many times as fast. */
TEST(rings_use_cards) {
  for (uint32_t cards = 1; cards <= 4; cards *= 2) {
    const struct made m = {"ring", SS_ALLGATHER, 16, 4, cards, 1, cards, 0, 16 << 20, SS_NO_LIBRARY};
    near(time_of(&m), 15 * (ALPHA + (double)(1 << 20) / cards * BETA), "rings", 16, m.bytes);
  }
}

/* A chain between nodes: the first chunk passes all hops, each further one the slowest. Rings each have a card, and
 * all ranks of each but its last send all its chunks. */
TEST(chains_use_cards) {
  struct dice dice = {.seed = 11};
  const double inside = ALPHA / 10, fast = BETA / 100;
  for (int i = 0; i < CASES(60); i++) {
    const uint32_t g = dice_between(&dice, 2, 6), nodes = dice_between(&dice, 2, 6), P = g * nodes;
    const uint32_t K = dice_between(&dice, 1, 9);
    const uint64_t each = dice_between(&dice, 1, 1 << 20);
    const struct made one = {"ring", SS_BROADCAST, P, g, g, 1, 0, K, K * each, SS_NO_LIBRARY};
    const double far = ALPHA + (double)each * BETA, near_by = inside + (double)each * fast;
    near(time_of(&one), (nodes - 2 + K) * far + (P - nodes) * near_by, "a chain of nodes", P, each);
    for (int reduces = 0; reduces < 2; reduces++) {
      struct made all = one;
      all.rings = g;
      all.chunks = 64;
      all.bytes = (uint64_t)g * 64 << 20;
      all.collective = reduces ? SS_REDUCE : SS_BROADCAST;
      struct ss_pattern_call call = {
          ss_algorithm_of(all.collective, "ring"), P, all.bytes, g, 64, .library = SS_NCCL};
      assert_true(ss_pattern_messages(&call, g) == 64.0 * g * (P - 1));
      const double cards = time_of(&all);
      all.nics = 1;
      const double sums = reduces ? g * SUM : 0; /* of what all rings bring in a step */
      assert_true(time_of(&all) > 0.9 * cards * (g * BETA + sums) / (BETA + sums));
    }
  }
}

/* NCCL's ranks visit one node after the other, all at the same time: whatever is inside, then whatever is not. In
 * MPI's order some are inside while others are not, who then wait for one another. */
TEST(exchanges_go_by_node) {
  static const uint32_t nodes[] = {2, 5}, per_node[] = {2, 4};
  for (int i = 0; i < 4; i++) {
    const uint32_t n = nodes[i % 2], g = per_node[i / 2], P = n * g;
    struct made m = {"linear", SS_ALLTOALL, P, g, g, 1, 0, 0, 100000 * P, SS_NO_LIBRARY};
    const double inter = ALPHA + 100000 * BETA, intra = ALPHA / 10 + 100000 * BETA / 100;
    near(time_of(&m), (g - 1) * intra + (P - g) * inter, "alltoall by nodes", P, m.bytes);
    m.library = SS_MPICH;
    assert_true(time_of(&m) > (P - g + 0.9) * inter);
  }
}

/* Four ranks share a card: what leaves the node goes through it. */
TEST(exchanges_share_cards) {
  const struct made m = {"linear", SS_ALLTOALL, 8, 4, 1, UINT32_MAX, 0, 0, 8 << 20, SS_NO_LIBRARY};
  near(time_of(&m), ALPHA + 16 * (double)(1 << 20) * BETA, "shared card", 8, m.bytes);
}

/* --- trees ------------------------------------------------------------------------------------------------- */

/* Two ranks: each is the root of one tree, which carry a half there and back at once. Three: 1 and 3 below 2, and the
 * mirror image of that, which is the same: the root takes both halves of two children one after the other, and sends
 * them back likewise. */
TEST(small_trees) {
  const double half = 500 * BETA;
  near(flat(SS_ALLREDUCE, "trees", 2, 1000), 2 * (ALPHA + half) + 500 * SUM, "two trees", 2, 1000);
  near(flat(SS_ALLREDUCE, "trees", 3, 1000), 8 * (ALPHA + half) + 500 * SUM, "two trees", 3, 1000);
}

/* Depth is logarithmic, and chunks pass behind one another: neither bytes nor start-ups grow with ranks as a ring's.
 */
TEST(large_trees) {
  const struct made small = {"trees", SS_ALLREDUCE, 256, 1, 1, 1, 0, 1, 8, SS_NO_LIBRARY};
  assert_true(time_of(&small) < flat(SS_ALLREDUCE, "ring", 256, 8) / 10);
  assert_true(time_of(&small) >= 2 * 8 * ALPHA); /* up and down the 8 levels that 256 nodes have at least */
  const struct made large = {"trees", SS_ALLREDUCE, 64, 1, 1, 1, 0, 64, (uint64_t)1 << 30, SS_NO_LIBRARY};
  assert_true(time_of(&large) > 2 * (double)large.bytes * BETA * 63 / 64); /* no all-reduce sends less */
  assert_true(time_of(&large) < 3 * flat(SS_ALLREDUCE, "ring", 64, (uint64_t)1 << 30));
}

/* Pairs of trees that enter nodes by other cards each are one pair of a share, on one card, turned round. */
TEST(trees_use_cards) {
  struct dice dice = {.seed = 7};
  for (int i = 0; i < CASES(60); i++) {
    const uint32_t g = dice_between(&dice, 1, 6), nodes = dice_between(&dice, 2, 9);
    const uint32_t chunks = dice_between(&dice, 1, 9);
    const uint64_t bytes = (uint64_t)g * chunks * dice_between(&dice, 1, 1 << 20) * 2;
    struct ss_cluster many = {
        .model = "fair", .gpus_per_node = g, .nics = g, .window = UINT32_MAX, .has_intra = true};
    many.inter = many.exchange = (struct ss_link){ALPHA, BETA};
    many.intra = (struct ss_link){ALPHA / 10, BETA / 1e12};
    struct ss_pattern_call call = {
        ss_algorithm_of(SS_ALLREDUCE, "trees"), g * nodes, bytes, g, chunks, .library = SS_NCCL};
    const struct ss_cluster *all = &many;
    struct ss_error error;
    double of_many, of_one;
    if (!ss_pattern_times(&all, 1, &call, &of_many, &error)) fail_msg("%s", error.text);
    call.rings = 1;
    call.bytes = bytes / g;
    if (!ss_pattern_times(&all, 1, &call, &of_one, &error)) fail_msg("%s", error.text);
    near(of_many, of_one, "trees by cards", g * nodes, bytes);
  }
}

TEST(names) {
  assert_int_equal(ss_collective_of("all_reduce"), SS_ALLREDUCE);
  assert_int_equal(ss_collective_of("reducescatter"), SS_REDUCE_SCATTER);
  assert_int_equal(ss_collective_of("bcast"), SS_BROADCAST);
  assert_int_equal(ss_collective_of("gather"), SS_COLLECTIVES);
  assert_int_equal(ss_collective_of(""), SS_COLLECTIVES);
  assert_ptr_equal(ss_algorithm_of(SS_ALLTOALL, "modified_bruck"), ss_algorithm_of(SS_ALLTOALL, "bruck"));
  assert_null(ss_algorithm_of(SS_ALLTOALL, "ring"));
  assert_null(ss_algorithm_of(SS_ALLTOALL, ""));
  size_t count;
  const struct ss_algorithm *all = ss_algorithms(&count);
  for (size_t i = 0; i < count; i++) assert_ptr_equal(ss_algorithm_of(all[i].collective, all[i].name), &all[i]);
}

TEST(sizes_are_told) {
  struct ss_pattern_size sizes[SS_PATTERN_SIZES];
  struct ss_pattern_call call = {
      .algorithm = ss_algorithm_of(SS_ALLREDUCE, "rabenseifner"), .ranks = 8, .bytes = 800};
  assert_int_equal(ss_pattern_sizes(&call, 1, sizes), 3);
  for (uint32_t i = 0; i < 3; i++) assert_int_equal(sizes[i].bytes, 400 >> i);
  assert_int_equal(ss_pattern_sizes(&call, 2, sizes), 3); /* neighbours exchange the largest inside nodes */
  assert_true(sizes[0].intra && !sizes[1].intra && !sizes[2].intra);
}

/* All sizes of a call's messages, kept as they come. */
struct heard {
  struct ss_player player; /* first: a player is what it stands in */
  uint32_t per_node, count;
  struct ss_pattern_size size[1 << 16];
};

static bool hear(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct heard *h = (struct heard *)player;
  const struct ss_messages *m = &round->messages;
  (void)error;
  for (uint32_t i = 0; i < m->count; i++) {
    const bool intra = ss_message_from(m, i) / h->per_node == ss_message_to(m, i) / h->per_node;
    assert_true(h->count < COUNT(h->size));
    h->size[h->count++] = (struct ss_pattern_size){ss_message_bytes(m, i), intra, round->exchange && !intra};
  }
  return true;
}

static bool is_among(const struct ss_pattern_size *size, const struct ss_pattern_size *list, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (size->bytes == list[i].bytes && size->intra == list[i].intra && size->exchange == list[i].exchange)
      return true;
  return false;
}

/* Of every algorithm each kind of message at each size, and no other, once; where there is room for all. */
TEST(sizes_are_those_of_messages) {
  static struct heard h = {.player = {.play = hear}};
  struct ss_pattern_size sizes[SS_PATTERN_SIZES];
  struct dice dice = {.seed = 1};
  struct ss_error error;
  size_t algorithms;
  const struct ss_algorithm *all = ss_algorithms(&algorithms);
  for (uint32_t i = 0; i < 60 * algorithms; i++) {
    const struct ss_pattern_call call = {.algorithm = &all[i % algorithms],
                                         .ranks = dice_between(&dice, 2, 20),
                                         .bytes = dice_between(&dice, 1, 4) * 5040,
                                         .library = dice_one_in(&dice, 2) ? SS_OPEN_MPI : SS_MPICH};
    h.per_node = dice_between(&dice, 1, 4), h.count = 0;
    if (!ss_pattern_play(&call, h.per_node, &h.player, &error)) fail_msg("%s", error.text);
    const uint32_t count = ss_pattern_sizes(&call, h.per_node, sizes);
    for (uint32_t k = 0; k < count; k++) {
      assert_true(is_among(&sizes[k], h.size, h.count));
      assert_false(is_among(&sizes[k], sizes, k));
    }
    for (uint32_t k = 0; count < SS_PATTERN_SIZES && k < h.count; k++)
      if (!is_among(&h.size[k], sizes, count))
        fail_msg("%s: no message of %llu bytes", call.algorithm->name, (unsigned long long)h.size[k].bytes);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
