/* AllGather of every rank's sparse gradient, summed by each (EmbRace §2.2, Table 2; ZEN's AGsparse). By default as
 * many rings at once as a node has cards, each with an even run of everyone's entries.
 *
 * `separate`: a whole all-gather of indices, then a whole one of values, as PyTorch does. `coalesce: false`: lookups
 * travel with their duplicates, as Horovod sends them.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.320) = 3.96 us;
 * three steps, each of a block of 16 rows of 16 + 4 bytes. */
#include "schemes/run.h"
#include "schemes/scheme.h"

static const char *const algorithms[] = {"ring", "recursive-doubling", "bruck", "direct", NULL};
enum { ALGORITHM, SEPARATE, COALESCE, RINGS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [ALGORITHM] = {"algorithm", SS_OPTION_CHOICE, algorithms, 0, 0, 0, "how the blocks are gathered", "all"},
    [SEPARATE] = {"separate", SS_OPTION_FLAG, NULL, 0, 1, 0, "indices first, then values, each a whole all-gather",
                  NULL},
    [COALESCE] = {"coalesce", SS_OPTION_FLAG, NULL, 0, 1, 1, "sum duplicate lookups before sending", NULL},
    [RINGS] = SS_OPTION_RINGS,
};

enum { RING };
static ss_allgather *const plays[] = {ss_allgather_ring, ss_allgather_doubling, ss_allgather_bruck,
                                      ss_allgather_direct};

/* All rings, and what came through them. */
struct gathering {
  struct ss_run *run;
  ss_allgather *how;
  struct ss_gather *gather, *indices; /* [rings] indices: gathered before their values */
  uint32_t *position;                 /* [rings * ranks] of each rank in each ring */
};

/* With separate gathers a rank can only use the blocks whose indices came as they were sent. */
static void compare_halves(struct gathering *x, const struct ss_ring *ring) {
  const struct ss_gather *indices = &x->indices[ring->number];
  for (uint32_t i = 0; i < indices->size; i++) {
    if (!ss_run_resident(x->run, ring->rank[i]) || ss_receipts_regular(&indices->receipts, i)) continue;
    for (uint32_t b = 0; b < indices->size; b++) {
      const struct ss_chunk *held = ss_receipts_held(&indices->receipts, i, b, &indices->block[b]);
      const struct ss_chunk *sent = &indices->block[b];
      if (!held || held->count != sent->count ||
          (held->rows != sent->rows && memcmp(held->rows, sent->rows, sent->count * sizeof *sent->rows) != 0))
        ss_run_inexact(x->run, "rank %u did not receive the indices of rank %u", ring->rank[i], ring->rank[b]);
    }
  }
}
static bool open_gather(struct ss_run *run, const struct ss_wire *wire, struct ss_gather *gather,
                        struct ss_error *error) {
  return ss_gather_open(gather, run->ranks, wire, run->low, run->high, error);
}

/* A whole all-gather of indices, then one of values. */
static bool gather_halves(struct gathering *x, struct ss_play *play, const struct ss_ring *ring,
                          const struct ss_chunk *block, struct ss_error *error) {
  struct ss_gather *indices = &x->indices[ring->number], *values = &x->gather[ring->number];
  struct ss_wire *wire = ss_arena_alloc(play->arena, 2, sizeof *wire);
  if (!wire) return ss_fail_memory(error, "gathering blocks");
  wire[0] = wire[1] = x->run->coo;
  wire[0].format = SS_WIRE_INDICES;
  wire[1].format = SS_WIRE_VALUES;
  if (!open_gather(x->run, &wire[0], indices, error) || !open_gather(x->run, &wire[1], values, error) ||
      !ss_gather_announced(play, indices, block, x->how, error))
    return false;
  values->known = indices->block;
  if (!ss_gather_announced(play, values, block, x->how, error)) return false;
  if (play->payloads) compare_halves(x, ring);
  return true;
}

/* Carries an even run of the entries of every rank. */
static bool gather_ring(void *context, struct ss_play *play, const struct ss_ring *ring, struct ss_error *error) {
  struct gathering *x = context;
  struct ss_run *run = x->run;
  struct ss_chunk *block = ss_arena_alloc(play->arena, run->ranks, sizeof *block);
  if (!block) return ss_fail_memory(error, "gathering blocks");
  if (ring->number > 0) play->call = 0; /* a host waits once, for the sizes of all rings */
  for (uint32_t i = 0; i < run->ranks; i++) {
    const struct ss_chunk *own = &run->own[ring->rank[i]];
    const uint64_t first = ss_share(own->count, ring->rings, ring->number);
    block[i] = ss_chunk_entries(own, first, ss_share(own->count, ring->rings, ring->number + 1) - first);
    block[i].origin = i;
    x->position[(size_t)ring->number * run->ranks + ring->rank[i]] = i;
  }
  if (run->setting->value[SEPARATE]) return gather_halves(x, play, ring, block, error);
  return open_gather(run, &run->coo, &x->gather[ring->number], error) &&
         ss_gather_announced(play, &x->gather[ring->number], block, x->how, error);
}

/* The rank holds all that was sent, as it was sent. */
static bool regular(const struct gathering *x, uint32_t rank) {
  const uint32_t rings = ss_run_ring_count(x->run);
  uint32_t k = 0;
  while (k < rings && ss_receipts_regular(&x->gather[k].receipts, x->position[(size_t)k * x->run->ranks + rank])) k++;
  return k == rings;
}

/* Every run of entries that the rank holds, rank after rank. */
static struct ss_operands held_by(const struct gathering *x, uint32_t rank, struct ss_chunk *held) {
  struct ss_run *run = x->run;
  const uint32_t P = run->ranks, rings = ss_run_ring_count(run);
  struct ss_operands all = {held, 0, run->low, run->high};
  for (uint32_t from = 0; from < P; from++)
    for (uint32_t k = 0; k < rings; k++) {
      const struct ss_gather *g = &x->gather[k];
      const uint32_t *at = x->position + (size_t)k * P, b = at[from];
      const struct ss_chunk *chunk = ss_receipts_held(&g->receipts, at[rank], b, &g->block[b]);
      if (chunk) held[all.count++] = *chunk;
      else ss_play_mismatch(run->play, "rank %u never received all of rank %u", rank, from);
    }
  return all;
}

/* Every rank adds up what it holds; those that hold the same do so once. */
static bool join(const struct gathering *x, struct ss_error *error) {
  struct ss_run *run = x->run;
  struct ss_play *play = run->play;
  struct ss_chunk sum = {0}, shared = {0};
  struct ss_operands all = {0};
  struct ss_chunk *held = ss_arena_alloc(play->arena, (uint64_t)run->ranks * ss_run_ring_count(run), sizeof *held);
  bool have = false;
  if (!held) return ss_fail_memory(error, "summing what a rank received");
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    const bool same = regular(x, r);
    if (!(same && have)) {
      all = held_by(x, r, held);
      if (!ss_chunk_sum(&all, play->arena, &play->scratch, &sum, error)) return false;
    }
    if (same && !have) shared = sum;
    have = have || same;
    if (same) sum = shared;
    ss_run_sparse(run, r, &sum, 0, NULL);
  }
  ss_play_note_sums(play, &run->coo, &all, &sum);
  return true;
}

static bool run_allgather(struct ss_run *run, struct ss_error *error) {
  struct ss_arena *arena = run->play->arena;
  const uint32_t rings = ss_run_ring_count(run);
  struct gathering x = {.run = run, .how = plays[run->setting->value[ALGORITHM]]};
  if (!ss_take_zero(arena, x.gather, rings) || !ss_take_zero(arena, x.indices, rings) ||
      !ss_take(arena, x.position, (size_t)rings * run->ranks))
    return ss_fail_memory(error, "gathering blocks");
  const bool ok = ss_run_rings(run, true, gather_ring, &x, error) && (!run->play->payloads || join(&x, error));
  for (uint32_t k = 0; k < rings; k++) {
    ss_gather_close(&x.gather[k]);
    ss_gather_close(&x.indices[k]);
  }
  return ok;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->lookups = traits->duplicates = !setting->value[COALESCE];
  if (setting->value[ALGORITHM] == RING) traits->rings = ss_rings_of(setting->value[RINGS], layout);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  return ss_rings_check(setting->value[RINGS], setting->value[ALGORITHM] == RING, layout, error);
}

/* Gloo's all-gather of unlike lengths is a ring. Horovod sends gradients as autograd has them, with duplicates. */
static const struct ss_offered offered[] = {
    {"coalesce",
     "false",
     SS_FLAT,
     {"Horovod", "hvd.DistributedOptimizer(sparse_as_dense=False) with Embedding(sparse=True)",
      "https://github.com/horovod/horovod/pull/2580", SS_NO_LIBRARY}},
    {"algorithm",
     "ring",
     SS_FLAT,
     {"DDP", "Embedding(sparse=True) on gloo (NCCL refuses it; Horovod has the nearest there)",
      "https://github.com/pytorch/pytorch/issues/22400", SS_GLOO}},
    {.option = NULL}};

const struct ss_scheme ss_scheme_allgather = {
    .name = "allgather",
    .summary = "AllGather of every rank's sparse gradient (COO), summed by each",
    .source = "EmbRace §2.2, Table 2; ZEN §2.4 (AGsparse)",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_ROWS,
    .adapt = adapt,
    .check = check,
    .run = run_allgather,
};
/* SPDX-License-Identifier: Apache-2.0 */
