/* Tables that groups of ranks hold whole among them: AlltoAll inside each group, sums over the groups' replicas
 * (TorchRec's two-dimensional sparse parallelism, Zhang et al. 2025).
 *
 * P ranks are P/G groups of G. Lookups and gradients are exchanged inside a group as alltoall.c has it, so a rank has
 * G - 1 partners whatever P is. Then rank i of every group has the sum of its group's gradients of piece i. These are
 * replicas, which add up among them: the dense piece in a ring all-reduce (TorchRec's, of weights, which are as
 * long), or its rows in a ring all-gather.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"group": 2}: (1 + 0.128) +
 * (1 + 0.192) + 2*(1 + 0.256) = 4.832 us; 16 lookups of two columns, 16 gradients of them with 4 bytes of index each,
 * then a ring of two replicas that add up 64 rows of two columns. */
#include "schemes/registry.h"
#include "schemes/run.h"
#include "sim/groups.h"

enum exchange { BOTH, LOOKUPS, GRADIENTS };
enum { DENSE, ROWS };
enum { GROUP, EXCHANGE, PARTITION, POOLING, SUMS, NEIGHBOURS, OPTIONS };
static const char *const exchanges[] = {"both", "lookups", "gradients", NULL};
static const char *const partitions[] = {"column", "row", NULL}; /* as enum ss_partition */
static const char *const poolings[] = {"none", "sum", "padded", NULL};
static const char *const sums[] = {"dense", "rows", NULL};
static const char *const neighbours[] = {"group", "replicas", NULL};
static const struct ss_option options[OPTIONS + 1] = {
    [GROUP] = {"group", SS_OPTION_COUNT, NULL, 1, UINT32_MAX, 0,
               "ranks that hold the tables whole among them (a node's)", "2.."},
    [EXCHANGE] = {"exchange", SS_OPTION_CHOICE, exchanges, 0, 0, BOTH, "which of the two exchanges to play", NULL},
    [PARTITION] = {"partition", SS_OPTION_CHOICE, partitions, 0, 0, SS_BY_COLUMNS,
                   "cut the table over a group by columns or by rows", NULL},
    [POOLING] = {"pooling", SS_OPTION_CHOICE, poolings, 0, 0, 0,
                 "send vectors of bags, not of rows: where they have a row; padded: of all, zeros too", NULL},
    [SUMS] = {"sums", SS_OPTION_CHOICE, sums, 0, 0, DENSE,
              "what replicas add up: dense pieces by a ring all-reduce, or rows by an all-gather", "rows"},
    [NEIGHBOURS] = {"neighbours", SS_OPTION_CHOICE, neighbours, 0, 0, 0,
                    "whose ranks follow each other: those of a group, or the replicas of a piece", "replicas"},
};

/* As said; or those of a node, as many as divide all. */
static uint32_t group_size(uint64_t said, uint32_t ranks, uint32_t per_node) {
  uint32_t size = ranks, rest = per_node > 0 ? per_node : 1;
  if (said > 0) return said < ranks ? (uint32_t)said : ranks;
  while (rest > 0) {
    const uint32_t next = size % rest;
    size = rest;
    rest = next;
  }
  return size;
}

/* What a group ends with is proved later. */
struct group_proof {
  struct ss_proof proof; /* first: a proof is the one it stands in */
  struct ss_proof *of_all;
  const uint32_t *rank; /* [size] of the group, in the whole */
};

struct replicas {
  struct ss_run *run;
  uint32_t size, groups;         /* ranks of a group; groups, which are the replicas of each piece */
  struct ss_group *group, *team; /* [groups], [size]: rank i of every group */
  struct ss_setting inside, among;
  struct ss_pieces pieces;   /* of a group's ranks, one each */
  struct ss_input input;     /* one group's ranks after the other's, */
  struct ss_chunk *own;      /* [ranks] likewise, and */
  struct ss_chunk *sum;      /* [ranks] what each then has of its piece */
  struct group_proof *proof; /* [groups] */
};

/* --- inside a group --------------------------------------------------------------------------------------- */

/* What a group adds up is proved when the replicas have added it up. */
static bool later(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column,
                  const struct ss_chunk *only) {
  (void)proof;
  (void)chunk;
  (void)column;
  (void)only;
  return true;
}

static bool parameters(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column) {
  struct ss_proof *of_all = ((struct group_proof *)proof)->of_all;
  return of_all->parameters(of_all, chunk, column);
}

static bool pooled(struct ss_proof *proof, uint32_t rank, uint32_t table, const struct ss_chunk *chunk,
                   uint32_t column) {
  const struct group_proof *p = (struct group_proof *)proof;
  return p->of_all->pooled(p->of_all, p->rank[rank], table, chunk, column);
}

static bool run_group(void *context, uint32_t k, struct ss_play *play, struct ss_error *error) {
  struct replicas *x = context;
  const uint32_t first = k * x->size;
  struct ss_input input = x->input;
  input.ranks = x->size;
  input.count += first;
  input.lookups += first;
  if (input.row) input.row += first;
  if (input.lookup) input.lookup += first;
  if (input.bagged) input.bagged += first;
  struct ss_run run = *x->run;
  run.play = play;
  run.setting = &x->inside;
  run.input = &input;
  run.ranks = x->size;
  run.per_node = 1;
  run.own = x->own + first;
  run.outside = x->group[k].rank;
  run.proof = x->run->proof ? &x->proof[k].proof : NULL;
  run.result = x->sum + first;
  if (x->size > 1 || input.bagged) return ss_run_scheme(&run, error);
  x->sum[first] = x->own[first];
  return true;
}

/* --- among replicas --------------------------------------------------------------------------------------- */

static bool run_team(void *context, uint32_t i, struct ss_play *play, struct ss_error *error) {
  struct replicas *x = context;
  const struct ss_piece *p = &x->pieces.piece[i];
  struct ss_chunk *own = ss_arena_zero(play->arena, x->groups, sizeof *own);
  struct ss_chunk *result = ss_arena_zero(play->arena, x->groups, sizeof *result);
  if (!own || !result) return ss_fail_memory(error, "adding up replicas");
  if (p->width == 0) return true;
  for (uint32_t k = 0; k < x->groups; k++) {
    own[k] = x->sum[k * x->size + i];
    own[k].origin = k;
    own[k].part = 0;
    own[k].low = p->low;
    own[k].high = p->high;
    own[k].width = p->width;
  }
  struct ss_input input = *x->run->input;
  input.ranks = x->groups;
  input.width = p->width;
  struct ss_run run = *x->run;
  run.play = play;
  run.setting = &x->among;
  run.input = &input;
  run.ranks = x->groups;
  run.per_node = 1;
  run.low = p->low;
  run.high = p->high;
  run.own = own;
  run.dense_lists = true;
  run.proof = NULL;
  run.result = result;
  if (x->groups > 1 && !ss_run_scheme(&run, error)) return false;
  for (uint32_t k = 0; play->payloads && k < x->groups; k++) {
    struct ss_chunk *end = x->groups > 1 ? &result[k] : &own[k];
    if (!ss_play_resident(play, k)) continue;
    end->low = p->low; /* all of the piece is promised, whatever came */
    end->high = p->high;
    ss_run_sparse(x->run, x->team[i].rank[k], end, p->first, NULL);
  }
  return true;
}

/* --- both ------------------------------------------------------------------------------------------------- */

static void set_up(struct replicas *x) {
  const uint64_t *value = x->run->setting->value;
  x->inside = x->among = *x->run->setting;
  x->inside.scheme = &ss_scheme_alltoall;
  x->among.scheme = value[SUMS] == DENSE ? &ss_scheme_allreduce : &ss_scheme_allgather;
  ss_setting_reset(&x->inside);
  ss_setting_reset(&x->among);
  ss_setting_choose(&x->inside, "exchange", exchanges[value[EXCHANGE]]);
  ss_setting_choose(&x->inside, "partition", partitions[value[PARTITION]]);
  ss_setting_choose(&x->inside, "pooling", poolings[value[POOLING]]);
}

/* Who is with whom, and what they have in that order. */
static bool lay_out(struct replicas *x, struct ss_error *error) {
  struct ss_run *run = x->run;
  struct ss_arena *arena = run->play->arena;
  const struct ss_input *from = run->input;
  const uint32_t P = run->ranks, G = x->size;
  const bool near = run->setting->value[NEIGHBOURS] != 0;
  uint32_t *rank, *across;
  uint64_t *count, *lookups;
  const uint32_t **row, **lookup;
  struct ss_bagged *bagged;
  if (!ss_take(arena, rank, P) || !ss_take(arena, across, P) || !ss_take(arena, count, P) ||
      !ss_take(arena, lookups, P) || !ss_take(arena, bagged, P) || !ss_take(arena, x->proof, x->groups) ||
      !ss_take(arena, row, P) || !ss_take(arena, lookup, P) || !ss_take(arena, x->own, P) ||
      !ss_take_zero(arena, x->sum, P) || !ss_take(arena, x->group, x->groups) || !ss_take(arena, x->team, G))
    return ss_fail_memory(error, "laying out groups of replicas");
  for (uint32_t at = 0; at < P; at++) {
    const uint32_t k = at / G, i = at % G, r = near ? i * x->groups + k : at;
    rank[at] = across[i * x->groups + k] = r;
    count[at] = from->count[r];
    lookups[at] = from->lookups[r];
    row[at] = from->row ? from->row[r] : NULL;
    lookup[at] = from->lookup ? from->lookup[r] : NULL;
    if (from->bagged) bagged[at] = from->bagged[r];
    x->own[at] = run->own[r];
    x->own[at].origin = i;
  }
  x->input = *from;
  x->input.count = count;
  x->input.lookups = lookups;
  x->input.row = from->row ? row : NULL;
  x->input.lookup = from->lookup ? lookup : NULL;
  x->input.bagged = from->bagged ? bagged : NULL;
  for (uint32_t k = 0; k < x->groups; k++) {
    x->group[k] = (struct ss_group){.ranks = G, .rank = rank + (size_t)k * G};
    x->proof[k] = (struct group_proof){.proof = {.sparse = later, .parameters = parameters, .pooled = pooled},
                                       .of_all = run->proof,
                                       .rank = x->group[k].rank};
  }
  for (uint32_t i = 0; i < G; i++)
    x->team[i] = (struct ss_group){.ranks = x->groups, .rank = across + (size_t)i * x->groups};
  return true;
}

static bool run_replicas(struct ss_run *run, struct ss_error *error) {
  const uint64_t *value = run->setting->value;
  const uint32_t size = group_size(value[GROUP], run->ranks, run->per_node);
  struct replicas x = {.run = run, .size = size, .groups = run->ranks / size};
  set_up(&x);
  if (!lay_out(&x, error) ||
      !ss_pieces_make(run->input, size, (enum ss_partition)value[PARTITION], run->play->arena, &x.pieces, error))
    return false;
  if (!ss_groups_play(run->play, x.groups, x.group, run_group, &x, error)) return false;
  return value[EXCHANGE] == LOOKUPS || ss_groups_play(run->play, size, x.team, run_team, &x, error);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t size = group_size(setting->value[GROUP], layout.ranks, layout.per_node);
  if (setting->hierarchy)
    return ss_fail(error, SS_BAD_INPUT,
                   "a table cut over ranks has no hierarchy: leave \"hierarchy\" out for this scheme");
  if (setting->value[GROUP] > layout.ranks || layout.ranks % size != 0)
    return ss_fail(error, SS_BAD_INPUT, "%u ranks are no whole number of groups of %llu: say another \"group\"",
                   layout.ranks, (unsigned long long)setting->value[GROUP]);
  if (setting->value[EXCHANGE] == LOOKUPS && setting->value[SUMS] != DENSE)
    return ss_fail(error, SS_BAD_INPUT, "\"sums\" are of gradients, which \"lookups\" leaves out");
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->owners = group_size(setting->value[GROUP], layout.ranks, layout.per_node);
  traits->fetches = setting->value[EXCHANGE] == LOOKUPS;
  traits->pools = setting->value[POOLING] != 0;
  traits->lookups = !traits->pools && setting->value[EXCHANGE] != GRADIENTS;
  traits->lists = traits->pools || setting->value[SUMS] == ROWS;
  traits->parts = layout.ranks;
}

static const struct ss_offered offered[] = {
    {.option = "sums", .choice = "rows"},
    {"neighbours",
     "replicas",
     SS_FLAT,
     {"TorchRec", "DMPCollection(sharding_group_size=...), sync() in each step", "https://docs.pytorch.org/torchrec/",
      SS_NO_LIBRARY}},
    {.offer = {"TorchRec",
               "DMPCollection(sharding_group_size=..., use_inter_host_allreduce=True), sync() in each step",
               "https://docs.pytorch.org/torchrec/", SS_NO_LIBRARY}},
    {.option = NULL}};

const struct ss_scheme ss_scheme_replicas = {
    .name = "replicas",
    .summary = "AlltoAll inside groups that hold the tables whole, sums over the groups' replicas (TorchRec 2D)",
    .source = "Zhang et al. 2025 (arXiv 2508.03854); TorchRec",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_TABLE,
    .adapt = adapt,
    .check = check,
    .run = run_replicas,
};
/* SPDX-License-Identifier: Apache-2.0 */
