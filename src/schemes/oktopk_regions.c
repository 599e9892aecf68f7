#include "schemes/oktopk.h"

/* A number of 8 bytes. */
static const struct ss_wire number_wire = {.format = SS_WIRE_DENSE, .value_bytes = 8};

/* All-gathers one number a rank, by ring or Bruck. */
static bool share(struct ss_oktopk *o, const struct ss_chunk *part, bool ring, uint64_t *number,
                  struct ss_error *error) {
  struct ss_play *play = o->run->play;
  const uint32_t P = o->run->ranks;
  struct ss_gather gather;
  if (!ss_gather_open(&gather, ss_everyone(P), &number_wire, error)) return false;
  for (uint32_t j = 0; j < P; j++) ss_gather_set(&gather, 0, j, &part[j]);
  const bool ok = ss_gather_seal(play, &gather, error) &&
                  (ring ? ss_allgather_ring(play, &gather, error) : ss_allgather_bruck(play, &gather, error));
  for (uint32_t j = 0; ok && j < P; j++) {
    number[j] = gather.block[j].numbers ? gather.block[j].numbers[0] : 0;
    if (ss_run_resident(o->run, j) && !ss_receipts_regular(&gather.receipts, j))
      ss_play_mismatch(play, "rank %u was not told the numbers that the others sent", j);
  }
  ss_gather_close(&gather);
  return ok;
}

/* P - 1 numbers that ranks sum: unit j > 0 is where region j begins, unit 0 is empty. */
struct cuts {
  struct ss_oktopk *o;
  struct ss_dense_sum sum;
  uint64_t *given; /* [ranks] the sum of what ranks gave for each unit */
};

static bool give_cut(void *context, uint32_t r, struct ss_arena *arena, struct ss_chunk *chunk,
                     struct ss_error *error) {
  struct cuts *c = context;
  const struct ss_run *run = c->o->run;
  const struct ss_chunk *selected = &c->o->selected[r];
  uint64_t *cut = ss_arena_alloc(arena, 1, sizeof *cut);
  if (!cut) return ss_fail_memory(error, "cutting regions");
  *cut = selected->count > 0 ? selected->rows[ss_share(selected->count, run->ranks, chunk->part)]
                             : run->low + ss_share(run->high - run->low, run->ranks, chunk->part);
  c->given[chunk->part] += *cut;
  chunk->origin = r;
  chunk->numbers = cut;
  chunk->kind = SS_CHUNK_NUMBERS;
  return true;
}

/* Where the regions begin, from the sums of what ranks gave. */
static void set_regions(const struct cuts *c, const uint64_t *sum) {
  struct ss_oktopk *o = c->o;
  const struct ss_run *run = o->run;
  const bool whole = ss_oktopk_everyone_here(run);
  o->each[0].begin = run->low;
  for (uint32_t j = 1; j < run->ranks; j++) {
    uint64_t cut = sum[j];
    if (whole && cut != c->given[j]) ss_play_mismatch(run->play, "cut %u is not what ranks gave for it", j);
    cut /= run->ranks;
    /* of ranks that all live elsewhere nothing came */
    if (cut < o->each[j - 1].begin) cut = o->each[j - 1].begin;
    if (cut > run->high) cut = run->high;
    o->each[j].begin = cut;
  }
}

bool ss_oktopk_cut_regions(struct ss_oktopk *o, struct ss_error *error) {
  struct ss_run *run = o->run;
  const uint32_t P = run->ranks;
  struct cuts c = {
      .o = o,
      .sum = {
          .groups = ss_everyone(P), .wire = &number_wire, .high = P - 1, .width = 1, .units = P, .give = give_cut}};
  struct ss_chunk *part = ss_arena_alloc(run->play->arena, P, sizeof *part);
  uint64_t *sum = ss_arena_alloc(run->play->arena, P, sizeof *sum);
  c.sum.context = &c;
  c.given = ss_arena_alloc(run->play->arena, P, sizeof *c.given);
  if (!part || !sum || !c.given) return ss_fail_memory(error, "cutting regions");
  for (uint32_t j = 0; j < P; j++) c.given[j] = 0;
  if (!ss_reduce_scatter_ring(run->play, &c.sum, part, error)) return false;
  for (uint32_t j = 0; j < P; j++) part[j].origin = j;
  if (!share(o, part, true, sum, error)) return false;
  set_regions(&c, sum);
  return true;
}

bool ss_oktopk_share_sizes(struct ss_oktopk *o, struct ss_error *error) {
  const uint32_t P = o->run->ranks;
  struct ss_chunk *part = ss_arena_alloc(o->run->play->arena, P, sizeof *part);
  o->upto = ss_arena_alloc(o->run->play->arena, P + 1, sizeof *o->upto);
  if (!part || !o->upto) return ss_fail_memory(error, "counting what is kept");
  for (uint32_t j = 0; j < P; j++) {
    part[j] = (struct ss_chunk){.count = 1, .high = 1, .width = 1, .origin = j, .part = j, .dense = true};
    if (!ss_run_resident(o->run, j)) continue;
    part[j].numbers = &o->regions.aggregate[j].count;
    part[j].kind = SS_CHUNK_NUMBERS;
  }
  if (!share(o, part, false, o->upto + 1, error)) return false;
  o->upto[0] = 0;
  for (uint32_t j = 0; j < P; j++) o->upto[j + 1] += o->upto[j];
  return true;
}
