/* AllReduce of the dense tensor: what frameworks do that ignore sparsity.
 *
 * ring          reduce-scatter, then all-gather, of P parts (EmbRace §4.1.2, Table 2; Patarasuk & Yuan 2009); with
 *               `chunks` each part in several messages, as NCCL has it; by default as many rings at once as a node
 *               has cards, each with its share of the rows
 * rabenseifner  recursive halving, then doubling (SparDL, Table 1's "Dense")
 * tree          binomial reduce to rank 0, binomial broadcast
 * trees         two trees over nodes, as NCCL has them (Sanders, Speck and Traeff 2009), of each card a pair, through
 *               which `chunks` pass one behind the other
 * switch        the switch adds what passes (SwitchML, Sapio et al. 2021; SHARP): what each rank sends, it gets the
 *               sum of at the same time
 *
 * Where a cluster's library is NCCL and nothing of this is said, it is what that chooses, in its protocol.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 6*(1 + 0.256) = 7.536 us;
 * six steps, each of a quarter of the 64 rows of 16 bytes. */
#include "schemes/run.h"
#include "schemes/scheme.h"
#include "sim/collectives/patterns.h"
#include "sim/collectives/tuner.h"

enum algorithm { RING, RABENSEIFNER, TREE, TREES, SWITCH };
static const char *const algorithms[] = {"ring", "rabenseifner", "tree", "trees", "switch", NULL};
enum { ALGORITHM, CHUNKS, RINGS, PROTOCOL, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [ALGORITHM] = {"algorithm", SS_OPTION_CHOICE, algorithms, 0, 0, RING, "how the dense tensor is reduced", "all"},
    [CHUNKS] =
        {"chunks", SS_OPTION_COUNT, NULL, 1, 1024, 1,
         "messages that each part of the ring travels in, or a tree's share: one is added while the next is on "
         "its way",
         NULL},
    [RINGS] = SS_OPTION_RINGS,
    [PROTOCOL] = SS_OPTION_PROTOCOL,
};

/* --- rings ------------------------------------------------------------------------------------------------- */

/* A ring while it is played. */
struct part {
  struct ss_run *run;
  const struct ss_ring *ring;
};

static bool give(void *context, uint32_t position, struct ss_arena *arena, struct ss_chunk *chunk,
                 struct ss_error *error) {
  const struct part *p = context;
  if (!ss_run_dense_part(p->run, p->ring->rank[position], arena, chunk, error)) return false;
  chunk->origin = position;
  return true;
}

/* Every rank holds every part, as its owner summed it. */
static void prove_parts(const struct part *x, const struct ss_gather *gather, uint32_t units) {
  struct ss_run *run = x->run;
  const uint32_t P = run->ranks;
  for (uint32_t p = 0; p < P; p++) ss_run_dense(run, &gather->block[p], units);
  for (uint32_t i = 0; i < P; i++) {
    if (!ss_run_resident(run, x->ring->rank[i]) || ss_receipts_regular(&gather->receipts, i)) continue;
    for (uint32_t p = 0; p < P; p++) {
      const struct ss_chunk *held = ss_receipts_held(&gather->receipts, i, p, &gather->block[p]);
      if (held) ss_run_dense(run, held, units);
      else ss_run_inexact(run, "rank %u never received part %u", x->ring->rank[i], gather->block[p].part);
    }
  }
}

/* Every rank ends with the sum of the rows that went round. */
static bool join_parts(const struct part *x, struct ss_play *play, struct ss_gather *gather, struct ss_error *error) {
  struct ss_chunk joined;
  for (uint32_t i = 0; i < x->run->ranks; i++) {
    if (!ss_play_resident(play, i)) continue;
    if (!ss_gather_sum(play, gather, i, &joined, error)) return false;
    ss_run_sparse(x->run, x->ring->rank[i], &joined, 0, NULL);
  }
  return true;
}

static struct ss_dense_sum sum_of(struct ss_run *run, uint32_t units) {
  return (struct ss_dense_sum){.wire = &run->dense,
                               .low = run->low,
                               .high = run->high,
                               .lists = run->dense_lists,
                               .fused = run->setting->value[PROTOCOL] > 0,
                               .width = run->input->width,
                               .units = units};
}

static bool ring(void *context, struct ss_play *play, const struct ss_ring *ring, struct ss_error *error) {
  struct part x = {context, ring};
  const uint32_t chunks = (uint32_t)x.run->setting->value[CHUNKS], own = x.run->ranks * chunks;
  struct ss_dense_sum sum = sum_of(x.run, own * ring->rings);
  struct ss_gather *gather = ss_arena_zero(play->arena, chunks, sizeof *gather);
  if (!gather) return ss_fail_memory(error, "gathering parts");
  sum.first = own * ring->number;
  sum.chunks = chunks;
  sum.context = &x;
  sum.give = give;
  bool ok = ss_allreduce_ring(play, &sum, gather, error);
  for (uint32_t k = 0; ok && k < chunks; k++) {
    const struct ss_aside aside = ss_aside_begin(); /* dense parts lie side by side */
    if (x.run->dense_lists) ok = join_parts(&x, play, &gather[k], error);
    else if (x.run->proof) prove_parts(&x, &gather[k], sum.units);
    ss_aside_end(&aside);
  }
  for (uint32_t k = 0; k < chunks; k++) ss_gather_close(&gather[k]);
  return ok;
}

/* --- two trees ----------------------------------------------------------------------------------------------- */

/* What ranks contribute to each of the units that the ring's trees carry; NULL: sizes alone travel. */
static bool hold_units(const struct part *x, struct ss_play *play, const struct ss_dense_sum *sum, uint32_t units,
                       struct ss_chunk **held, struct ss_error *error) {
  const uint32_t P = x->run->ranks;
  *held = NULL;
  if (!play->payloads) return true;
  if (!ss_take(play->arena, *held, (size_t)units * P)) return ss_fail_memory(error, "holding a dense tensor");
  for (uint32_t i = 0; i < units * P; i++) {
    const uint32_t r = i % P;
    (*held)[i] = ss_dense_units(sum, i / P, 1);
    (*held)[i].origin = r;
    if (ss_run_resident(x->run, r) && !ss_run_dense_part(x->run, r, play->arena, &(*held)[i], error)) return false;
  }
  return true;
}

static bool trees(void *context, struct ss_play *play, const struct ss_ring *ring, struct ss_error *error) {
  struct part x = {context, ring};
  const uint32_t P = x.run->ranks, g = x.run->per_node, chunks = (uint32_t)x.run->setting->value[CHUNKS];
  struct ss_dense_sum sum = sum_of(x.run, 2 * chunks * ring->rings);
  struct ss_tree_place *place;
  struct ss_chunk *held;
  sum.first = 2 * chunks * ring->number;
  sum.chunks = chunks;
  if (!ss_take(play->arena, place, (size_t)2 * P)) return ss_fail_memory(error, "planting trees");
  const uint32_t height = ss_trees_plant(P, g, ss_tree_head(g, ring->number, ring->rings), place);
  if (!hold_units(&x, play, &sum, 2 * chunks, &held, error) ||
      !ss_allreduce_trees(play, &sum, place, height, held, error))
    return false;
  for (uint32_t i = 0; held && ss_run_reports(x.run) && i < 2 * chunks * P; i++) {
    if (!ss_run_resident(x.run, i % P)) continue;
    if (x.run->dense_lists) ss_run_sparse(x.run, i % P, &held[i], 0, NULL);
    else ss_run_dense(x.run, &held[i], sum.units);
  }
  return true;
}

/* --- the whole tensor at once ------------------------------------------------------------------------------- */

static bool whole_tensor(struct ss_run *run, const struct ss_dense_sum *sum, bool tree, struct ss_error *error) {
  uint32_t P = run->ranks;
  struct ss_chunk *whole = ss_arena_alloc(run->play->arena, P, sizeof *whole);
  if (!whole) return ss_fail_memory(error, "holding a dense tensor");
  for (uint32_t r = 0; r < P; r++) {
    whole[r] = ss_dense_units(sum, 0, sum->units);
    whole[r].origin = r;
    if (run->play->payloads && ss_run_resident(run, r) &&
        !ss_run_dense_part(run, r, run->play->arena, &whole[r], error))
      return false;
  }
  if (tree) {
    if (!ss_reduce_binomial(run->play, sum, whole, error)) return false;
    for (uint32_t r = 1; r < P; r++) whole[r] = ss_dense_units(sum, 0, 1); /* origin 0, the root */
    if (!ss_broadcast_binomial(run->play, 0, &run->dense, whole, error)) return false;
  } else if (!ss_allreduce_rabenseifner(run->play, sum, whole, error)) {
    return false;
  }
  for (uint32_t r = 0; ss_run_reports(run) && r < P; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (run->dense_lists) ss_run_sparse(run, r, &whole[r], 0, NULL);
    else ss_run_dense(run, &whole[r], sum->units);
  }
  return true;
}

/* --- sums in a switch ---------------------------------------------------------------------------------------- */

/* What came of all that ranks sent. The switch hands each the sum, which takes no time of theirs. */
static bool add_up(struct ss_run *run, struct ss_chunk *sum, struct ss_error *error) {
  struct ss_play *play = run->play;
  struct ss_chunk *came = ss_arena_alloc(play->arena, run->ranks, sizeof *came);
  if (!came) return ss_fail_memory(error, "adding in a switch");
  SS_ASIDE;
  for (uint32_t r = 0; r < run->ranks; r++) {
    const struct ss_chunk *got = ss_play_due(play, r, r, 0);
    came[r] = got ? *got : (struct ss_chunk){.low = run->low, .high = run->high, .width = run->input->width};
  }
  if (run->dense_lists)
    return ss_chunk_sum(&(struct ss_operands){came, run->ranks, run->low, run->high}, play->arena, &play->scratch,
                        sum, error);
  *sum = came[0];
  for (uint32_t r = 1; r < run->ranks; r++)
    if (!ss_chunk_add_dense(sum, &came[r], play->arena, sum, error)) return false;
  return true;
}

/* Each rank's port sends the tensor once and gets as much at the same time, as if each sent it to the next. */
static bool by_switch(struct ss_run *run, struct ss_error *error) {
  struct ss_play *play = run->play;
  const struct ss_dense_sum units = sum_of(run, 1);
  struct ss_chunk *whole = ss_arena_alloc(play->arena, run->ranks, sizeof *whole), sum;
  if (!whole) return ss_fail_memory(error, "holding a dense tensor");
  for (uint32_t r = 0; r < run->ranks; r++) {
    whole[r] = ss_dense_units(&units, 0, 1);
    whole[r].origin = r;
    if (play->payloads && !ss_run_dense_part(run, r, play->arena, &whole[r], error)) return false;
    ss_play_put(play, r, r, (r + 1) % run->ranks, &run->dense, &whole[r]);
  }
  if (!ss_play_messages(play, run->ranks, true, &run->dense, error)) return false;
  if (!play->payloads) return true;
  if (!add_up(run, &sum, error)) return false;
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++) {
    if (run->dense_lists) ss_run_sparse(run, r, &sum, 0, NULL);
    else ss_run_dense(run, &sum, 1);
  }
  return true;
}

/* What an MPI library moves within memory before it begins. */
static bool move_within(struct ss_run *run, enum algorithm algorithm, struct ss_error *error) {
  const struct ss_algorithm *pattern = ss_algorithm_of(SS_ALLREDUCE, algorithms[algorithm]);
  const struct ss_dense_sum sum = sum_of(run, 1);
  const struct ss_chunk whole = ss_dense_units(&sum, 0, 1);
  for (uint32_t r = 0; r < run->ranks; r++)
    ss_play_note_moves(run->play, r, pattern->before, run->high - run->low, ss_wire_bytes(&run->dense, &whole));
  return ss_play_kernels(run->play, error);
}

static bool run_allreduce(struct ss_run *run, struct ss_error *error) {
  const enum algorithm algorithm = (enum algorithm)run->setting->value[ALGORITHM];
  if (algorithm == SWITCH) return by_switch(run, error);
  if (!move_within(run, algorithm, error)) return false;
  if (algorithm == RING) return ss_run_rings(run, true, ring, run, error);
  if (algorithm == TREES) return ss_run_rings(run, false, trees, run, error);
  const struct ss_dense_sum sum = sum_of(run, algorithm == RABENSEIFNER ? ss_fold_of(run->ranks).Q : 1);
  return whole_tensor(run, &sum, algorithm == TREE, error);
}

static bool by_cards(const struct ss_setting *setting) {
  return setting->value[ALGORITHM] == RING || setting->value[ALGORITHM] == TREES;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  if (by_cards(setting)) traits->rings = ss_rings_of(setting->value[RINGS], layout);
}

static bool check_library(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  if (setting->value[ALGORITHM] == SWITCH && !layout.switch_sums)
    return ss_fail(error, SS_BAD_INPUT,
                   "no switch of this cluster adds: say cluster.switch_sums, or another algorithm");
  if (setting->value[ALGORITHM] == SWITCH && layout.per_node > 1 && layout.ranks > 1)
    return ss_fail(
        error, SS_BAD_INPUT,
        "switches add what nodes send: with several GPUs a node say hierarchy \"shard\" or \"leader\", too");
  if (setting->hierarchy && setting->value[ALGORITHM] == TREES)
    return ss_fail(error, SS_BAD_INPUT, "\"trees\" know of nodes: leave \"hierarchy\" out, or say \"tree\"");
  if (setting->value[PROTOCOL] == 0) return true;
  if (!layout.nccl || setting->hierarchy || !by_cards(setting))
    return ss_fail(
        error, SS_BAD_INPUT,
        "\"protocol\" is of rings and trees, without \"hierarchy\", on a cluster whose \"library\" is nccl");
  return true;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint64_t chunks = setting->value[CHUNKS], rings = ss_rings_of(setting->value[RINGS], layout);
  if (!ss_rings_check(setting->value[RINGS], by_cards(setting), layout, error) ||
      !check_library(setting, layout, error))
    return false;
  if (chunks == 1) return true;
  if (!by_cards(setting))
    return ss_fail(error, SS_BAD_INPUT, "\"chunks\" are of the ring and of trees: leave them, or \"algorithm\", out");
  if (setting->hierarchy)
    return ss_fail(error, SS_BAD_INPUT, "among the nodes of a hierarchy parts travel whole: leave \"chunks\" out");
  return chunks * rings * layout.ranks <= UINT32_MAX ||
         ss_fail(error, SS_BAD_INPUT, "%u ranks have at most %llu chunks", layout.ranks,
                 (unsigned long long)(UINT32_MAX / (rings * layout.ranks)));
}

/* Of the tensor's bytes, whoever holds how much of it. */
static void tune(struct ss_setting *setting, const struct ss_cluster *cluster, uint32_t ranks, uint64_t bytes) {
  for (int i = 0; i < OPTIONS; i++)
    if (setting->given[i]) return;
  const struct ss_choice choice = ss_tuner_choose(cluster, SS_ALLREDUCE, ranks, bytes);
  const struct ss_pattern_call call = ss_choice_call(cluster, choice, SS_ALLREDUCE, ranks, bytes);
  setting->value[ALGORITHM] = choice.way == SS_WAY_TREE ? TREES : RING;
  setting->value[CHUNKS] = call.chunks > 1 ? call.chunks : 1;
  setting->given[CHUNKS] = call.chunks > 1; /* results say so, and nobody takes them for others */
  setting->value[PROTOCOL] = 1 + choice.protocol;
}

static const struct ss_offered offered[] = {
    {.option = "algorithm", .choice = "switch"},
    {.offer = {"DDP", "DistributedDataParallel of dense gradients; its backend picks the algorithm",
               "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html",
               SS_NO_LIBRARY}},
    {.hierarchy = SS_SHARD,
     .offer = {"Horovod", "HOROVOD_HIERARCHICAL_ALLREDUCE=1", "https://horovod.readthedocs.io/en/stable/",
               SS_NO_LIBRARY}},
    {.option = NULL}};

const struct ss_scheme ss_scheme_allreduce = {
    .name = "allreduce",
    .summary = "AllReduce of the dense tensor: every zero travels too",
    .source = "EmbRace §4.1.2, Table 2; ZEN §2; SparDL Table 1",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_DENSE,
    .adapt = adapt,
    .check = check,
    .tune = tune,
    .run = run_allreduce,
};
/* SPDX-License-Identifier: Apache-2.0 */
