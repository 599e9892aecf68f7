#include "schemes/run.h"

#include "sim/groups.h"
#include "tensor/sets.h"

/* Lists the pieces by table. */
static void list_by_table(struct ss_pooled *b) {
  const struct ss_pieces *pieces = b->pieces;
  for (uint32_t k = 0; k < pieces->count; k++) b->table_at[pieces->piece[k].table + 1]++;
  for (uint32_t t = 0; t < pieces->tables; t++) b->table_at[t + 1] += b->table_at[t];
  for (uint32_t k = 0; k < pieces->count; k++) b->of_table[b->table_at[pieces->piece[k].table]++] = k;
  memmove(b->table_at + 1, b->table_at, pieces->tables * sizeof *b->table_at);
  b->table_at[0] = 0;
}

bool ss_pooled_open(struct ss_run *run, const struct ss_pieces *pieces, bool padded, struct ss_pooled *b,
                    struct ss_error *error) {
  struct ss_arena *arena = run->play->arena;
  struct ss_pool_range *range;
  *b = (struct ss_pooled){.run = run, .pieces = pieces};
  if (!ss_take(arena, range, pieces->ranges) || !ss_take_zero(arena, b->table_at, (size_t)pieces->tables + 1) ||
      !ss_take(arena, b->of_table, pieces->count))
    return ss_fail_memory(error, "listing bags");
  list_by_table(b);
  for (uint32_t k = 0; k < pieces->count; k++) {
    const struct ss_piece *p = &pieces->piece[k];
    if (p->width > 0) range[p->range] = (struct ss_pool_range){p->table, p->low, p->high};
  }
  b->pool = (struct ss_pooling){.ranks = run->ranks,
                                .bagged = run->input->bagged,
                                .lookups = run->input->lookups,
                                .range = range,
                                .ranges = pieces->ranges};
  SS_ASIDE; /* owners have the ids of their parts, bag by bag */
  return ss_pooling_open(&b->pool, padded, arena, error);
}

struct ss_chunk ss_pooled_of(const struct ss_pooled *b, uint32_t rank, uint32_t k) {
  const struct ss_piece *p = &b->pieces->piece[k];
  struct ss_chunk bags = ss_pooling_bags(&b->pool, rank, p->range);
  bags.width = bags.stride = p->width;
  if (bags.width == 0) bags.count = 0;
  return bags;
}

uint64_t ss_pooled_ids(const struct ss_pooled *b, uint32_t rank, uint32_t k) {
  const struct ss_piece *p = &b->pieces->piece[k];
  const uint64_t *first = b->run->input->bagged[rank].first + p->table;
  return p->width > 0 ? ss_pooling_lookups(&b->pool, rank, p->range) + first[1] - first[0] : 0;
}

/* Floats in a real run, where `here` lives in this process; else what a proof needs. */
static struct ss_pool_content content_of(const struct ss_pooled *b, uint32_t here, const struct ss_piece *p) {
  const bool values = b->run->own[here].values != NULL;
  return (struct ss_pool_content){
      .marks = b->run->proof && !values, .values = values, .column = p->first, .arena = b->run->play->arena};
}

bool ss_pooled_sums(const struct ss_pooled *b, uint32_t k, uint32_t of, struct ss_chunk *out,
                    struct ss_error *error) {
  const struct ss_piece *p = &b->pieces->piece[k];
  const struct ss_pool_content content = content_of(b, p->owner, p);
  SS_ASIDE;
  *out = ss_pooled_of(b, of, k);
  out->origin = p->owner;
  out->part = of;
  return ss_pooling_parameters(&b->pool, of, p->range, &content, out, error);
}

bool ss_pooled_gradients(const struct ss_pooled *b, uint32_t k, uint32_t of, struct ss_chunk *out,
                         struct ss_error *error) {
  const struct ss_pool_content content = content_of(b, of, &b->pieces->piece[k]);
  SS_ASIDE;
  *out = ss_pooled_of(b, of, k);
  out->origin = of;
  out->part = k;
  return ss_pooling_gradients(b->run->outside ? b->run->outside[of] : of, &content, out, error);
}

/* Whether exactly the bags that were due came, each once, with the content that was sent where both sides know it. A
 * sum does not show whether empty bags came. */
static bool all_came(const struct ss_chunk *got, const struct ss_chunk *due) {
  SS_ASIDE;
  if (got->kind != SS_CHUNK_BARE && due->kind != SS_CHUNK_BARE) return ss_chunk_equal(got, due);
  if (got->count != due->count || due->count == 0) return got->count == due->count;
  return got->rows && memcmp(got->rows, due->rows, due->count * sizeof *due->rows) == 0;
}

/* --- forward ---------------------------------------------------------------------------------------------- */

/* What rank j holds of all its bags in the table: partial sums of pieces that are cut by rows it adds up. */
static bool add_partial(const struct ss_pooled *b, uint32_t j, uint32_t table, struct ss_chunk *held, uint32_t count,
                        struct ss_error *error) {
  struct ss_run *run = b->run;
  const uint64_t *first = run->input->bagged[j].first + table;
  const struct ss_operands operands = {held, count, first[0], first[1]};
  struct ss_chunk sum;
  if (!ss_chunk_sum(&operands, run->play->arena, &run->play->scratch, &sum, error)) return false;
  ss_play_note_sum(run->play, j, &run->coo, &operands, &sum);
  if (run->proof && !run->proof->pooled(run->proof, j, table, &sum, 0))
    ss_run_inexact(run, "rank %u does not end with the sums of its bags", j);
  return true;
}

static bool take_table(const struct ss_pooled *b, const struct ss_receipts *receipts, uint32_t j, uint32_t table,
                       struct ss_error *error) {
  struct ss_run *run = b->run;
  uint32_t n = 0;
  struct ss_chunk *held = ss_arena_alloc(run->play->arena, b->table_at[table + 1] - b->table_at[table], sizeof *held);
  if (!held) return ss_fail_memory(error, "adding up bags");
  for (uint32_t i = b->table_at[table]; i < b->table_at[table + 1]; i++) {
    const uint32_t k = b->of_table[i];
    const struct ss_piece *p = &b->pieces->piece[k];
    const struct ss_chunk *got = &held[n];
    if (p->width == 0) continue;
    if (!ss_pooled_sums(b, k, j, &held[n], error)) return false;
    if (p->owner != j) got = ss_receipts_held(receipts, j, k, &held[n]);
    if (!got || (run->proof && !all_came(got, &held[n])))
      ss_run_inexact(run, "rank %u does not hold the bags of rank %u's part as they are", j, p->owner);
    if (!got) continue;
    held[n] = *got;
    if (!p->by_column) n++;
    else if (run->proof && !run->proof->pooled(run->proof, j, table, &held[n], p->first))
      ss_run_inexact(run, "rank %u holds wrong sums of its bags from rank %u's part", j, p->owner);
  }
  return n == 0 || add_partial(b, j, table, held, n, error);
}

bool ss_pooled_take(const struct ss_pooled *b, const struct ss_receipts *receipts, struct ss_error *error) {
  for (uint32_t j = 0; j < b->run->ranks; j++)
    for (uint32_t t = 0; ss_run_resident(b->run, j) && t < b->pieces->tables; t++)
      if (!take_table(b, receipts, j, t, error)) return false;
  return true;
}

/* --- backward --------------------------------------------------------------------------------------------- */

/* An owner sorts lookups and adds up what is of one row, as ranks do elsewhere before they send. */
static void note_coalesced(struct ss_run *run, const struct ss_piece *p, uint64_t lookups, uint64_t distinct) {
  enum { INDEX = 4 };
  const uint64_t row = (uint64_t)p->width * run->input->value_bytes;
  ss_kernel_ran(SS_KERNEL_COALESCE, lookups);
  ss_kernel_ran(SS_KERNEL_PACK, lookups);
  if (lookups == 0) return;
  ss_play_note(run->play, p->owner, SS_KERNEL_COALESCE,
               (struct ss_kernel_work){1, lookups, (lookups + distinct) * INDEX});
  ss_play_note(run->play, p->owner, SS_KERNEL_PACK, (struct ss_kernel_work){1, lookups, (lookups + distinct) * row});
}

bool ss_pooled_add_up(const struct ss_pooled *b, const struct ss_receipts *receipts, uint32_t k, struct ss_chunk *sum,
                      struct ss_error *error) {
  struct ss_run *run = b->run;
  const struct ss_piece *p = &b->pieces->piece[k];
  struct ss_chunk *rows = ss_arena_alloc(run->play->arena, run->ranks, sizeof *rows);
  uint64_t lookups = 0;
  SS_KERNEL_TIMED(SS_KERNEL_COALESCE);
  if (!rows) return ss_fail_memory(error, "summing gradients");
  for (uint32_t i = 0; i < run->ranks; i++) {
    struct ss_chunk due;
    if (!ss_pooled_gradients(b, k, i, &due, error)) return false;
    const struct ss_chunk *held = ss_receipts_held(receipts, k, i, &due), nothing = {.width = due.width};
    if (!held || (run->proof && !all_came(held, &due)))
      ss_run_inexact(run, "rank %u does not hold the gradients of rank %u's bags as they are", p->owner, i);
    if (!held) held = &nothing;
    if (!ss_pooling_spread(&b->pool, i, p->range, held, run->play->arena, &rows[i]))
      return ss_fail_memory(error, "summing gradients");
    lookups += rows[i].count;
  }
  const struct ss_kernel_paused kernels = ss_kernel_pause();
  const bool ok = ss_chunk_sum(&(struct ss_operands){rows, run->ranks, p->low, p->high}, run->play->arena,
                               &run->play->scratch, sum, error);
  ss_kernel_resume(kernels);
  if (ok && !b->tokens) note_coalesced(run, p, lookups, sum->count);
  return ok;
}

/* --- by way of a rank of the other node ------------------------------------------------------------------- */

/* Two hops: between the ranks at one position of all nodes, then (backward; forward before) between those of a node.
 * Position q of a node relays what ranks at position q of all nodes have to do with it. */
struct relay {
  const struct ss_pooled *bags;
  struct ss_pooled node; /* the same of nodes, which own what their ranks do together */
  struct ss_pieces pieces;
  uint32_t nodes, each; /* ranks of a node */
  bool backward;
  struct ss_receipts cross;     /* receiver: rank; block: node, which it comes from */
  struct ss_receipts *inside;   /* backward: receiver: piece; block: rank. Forward: receiver: rank; block: piece */
  struct ss_chunk *sum;         /* [ranks * nodes] what a node has of a rank's bags, where its relay lives here */
  uint64_t *held;               /* [ranks] B that came */
  struct ss_group *lane, *team; /* [each] of one position; [nodes] of one node */
};

/* One group of either, as the context of its exchange. */
struct hop {
  struct relay *r;
  uint32_t number;
  struct ss_play *play;
};

static uint32_t at_position(const struct hop *hop, uint32_t node) {
  return node * hop->r->each + hop->number;
}

static uint32_t in_node(const struct hop *hop, uint32_t position) {
  return hop->number * hop->r->each + position;
}

static struct ss_chunk *sum_of(const struct relay *r, uint32_t rank, uint32_t node) {
  return &r->sum[(size_t)rank * r->nodes + node];
}

static struct ss_chunk across_rows(const struct hop *hop, uint32_t from, uint32_t to) {
  const bool backward = hop->r->backward;
  return ss_pooled_of(&hop->r->node, at_position(hop, backward ? from : to), backward ? to : from);
}

static bool give_across(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct hop *hop = context;
  const struct relay *r = hop->r;
  *out = across_rows(hop, from, to);
  if (r->backward && !ss_pooled_gradients(&r->node, to, at_position(hop, from), out, error)) return false;
  if (!r->backward && ss_play_resident(hop->play, from)) *out = *sum_of(r, at_position(hop, to), from);
  out->origin = from;
  out->part = to;
  return true;
}

static const struct ss_chunk *rows_across(void *context, uint32_t from, uint32_t to) {
  const struct hop *hop = context;
  struct ss_chunk *known = ss_arena_alloc(hop->play->arena, 1, sizeof *known);
  if (known) *known = across_rows(hop, from, to);
  return known;
}

static uint32_t one(const void *context, uint32_t from, uint32_t to) {
  (void)context;
  (void)from;
  (void)to;
  return 1;
}

static struct ss_slot slot_across(const void *context, uint32_t from, uint32_t to, uint32_t k) {
  (void)k;
  return (struct ss_slot){at_position(context, to), from};
}

/* What the rank at position `relay` of this node has for the piece of what came of the rank at its position of
 * `node`.
 */
static bool relayed(const struct hop *hop, uint32_t relay, uint32_t node, uint32_t piece, struct ss_chunk *out,
                    struct ss_error *error) {
  const struct relay *r = hop->r;
  const uint32_t of = node * r->each + relay;
  struct ss_chunk due, had;
  *out = ss_pooled_of(r->bags, of, piece);
  if (node == hop->number) return ss_pooled_gradients(r->bags, piece, of, out, error);
  if (!ss_run_resident(r->bags->run, in_node(hop, relay))) return true;
  if (!ss_pooled_gradients(&r->node, hop->number, of, &due, error)) return false;
  const struct ss_chunk *held = ss_receipts_held(&r->cross, in_node(hop, relay), node, &due);
  if (!held) return true;
  SS_ASIDE;
  if (!ss_chunk_select(held, out, hop->play->arena, &had, error)) return false;
  had.low = out->low;
  had.high = out->high;
  *out = had;
  return true;
}

static bool give_inside(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct hop *hop = context;
  const struct relay *r = hop->r;
  for (uint32_t node = 0; node < r->nodes; node++, out++) {
    const uint32_t of = node * r->each + (r->backward ? from : to);
    if (!(r->backward ? relayed(hop, from, node, in_node(hop, to), out, error)
                      : ss_pooled_sums(r->bags, in_node(hop, from), of, out, error)))
      return false;
    out->origin = from;
    out->part = of;
  }
  return true;
}

static const struct ss_chunk *rows_inside(void *context, uint32_t from, uint32_t to) {
  const struct hop *hop = context;
  const struct relay *r = hop->r;
  struct ss_chunk *known = ss_arena_alloc(hop->play->arena, r->nodes, sizeof *known);
  for (uint32_t node = 0; known && node < r->nodes; node++)
    known[node] =
        ss_pooled_of(r->bags, node * r->each + (r->backward ? from : to), in_node(hop, r->backward ? to : from));
  return known;
}

static uint32_t one_a_node(const void *context, uint32_t from, uint32_t to) {
  (void)from;
  (void)to;
  return ((const struct hop *)context)->r->nodes;
}

static struct ss_slot slot_inside(const void *context, uint32_t from, uint32_t to, uint32_t node) {
  const struct hop *hop = context;
  const uint32_t each = hop->r->each;
  return hop->r->backward ? (struct ss_slot){in_node(hop, to), node * each + from}
                          : (struct ss_slot){node * each + to, in_node(hop, from)};
}

static bool play_hop(struct hop *hop, bool across, struct ss_error *error) {
  struct ss_play *play = hop->play;
  struct relay *r = hop->r;
  const struct ss_wire wire = {.format = SS_WIRE_VALUES, .value_bytes = r->bags->run->coo.value_bytes};
  struct ss_several several = {.count = across ? one : one_a_node, .slot = across ? slot_across : slot_inside};
  struct ss_exchange x = {.context = hop,
                          .give = across ? give_across : give_inside,
                          .known = across ? rows_across : rows_inside,
                          .wire = &wire,
                          .counted = r->backward && r->bags->tokens,
                          .several = &several,
                          .receipts = across ? &r->cross : r->inside};
  if (!ss_take(play->arena, several.scratch, (size_t)play->ranks * r->nodes) ||
      !ss_take_zero(play->arena, x.held, play->ranks))
    return ss_fail_memory(error, "relaying bags");
  if (!ss_pairwise(play, &x, error)) return false;
  for (uint32_t p = 0; p < play->ranks; p++) r->held[across ? at_position(hop, p) : in_node(hop, p)] += x.held[p];
  return true;
}

static bool hop_across(void *context, uint32_t number, struct ss_play *play, struct ss_error *error) {
  return play_hop(&(struct hop){context, number, play}, true, error);
}

static bool hop_inside(void *context, uint32_t number, struct ss_play *play, struct ss_error *error) {
  return play_hop(&(struct hop){context, number, play}, false, error);
}

static void judge(const struct relay *r, uint32_t rank, const struct ss_chunk *got, const struct ss_chunk *due) {
  struct ss_run *run = r->bags->run;
  if (!got || (run->proof && !all_came(got, due)))
    ss_run_inexact(run, "rank %u, which relays bags, does not hold them as they are", rank);
}

/* Backward: what relays got is what was due, and what is of their own pieces stays. */
static bool keep_own(struct relay *r, struct ss_error *error) {
  struct ss_run *run = r->bags->run;
  for (uint32_t rank = 0; rank < run->ranks; rank++) {
    const struct hop hop = {r, rank / r->each, run->play};
    for (uint32_t node = 0; ss_run_resident(run, rank) && node < r->nodes; node++) {
      const uint32_t of = node * r->each + rank % r->each;
      struct ss_chunk due, got;
      if (node == hop.number) continue;
      if (!ss_pooled_gradients(&r->node, hop.number, of, &due, error) ||
          !relayed(&hop, rank % r->each, node, rank, &got, error))
        return false;
      judge(r, rank, ss_receipts_held(&r->cross, rank, node, &due), &due);
      due = ss_pooled_of(r->bags, of, rank);
      due.origin = got.origin;
      due.part = got.part;
      if (!ss_receipts_add(run->play, r->inside, &(struct ss_arrival){rank, of, &due, &got}, error)) return false;
    }
  }
  return true;
}

/* Forward: the relay adds up what the ranks of its node have of each bag. */
static bool add_node(struct relay *r, uint32_t relay, uint32_t of, struct ss_error *error) {
  struct ss_run *run = r->bags->run;
  const uint32_t node = relay / r->each;
  const uint64_t *first = run->input->bagged[of].first;
  struct ss_chunk *part = ss_arena_alloc(run->play->arena, r->each, sizeof *part), *sum = sum_of(r, of, node);
  if (!part) return ss_fail_memory(error, "adding up bags");
  for (uint32_t j = 0; j < r->each; j++) {
    const uint32_t piece = node * r->each + j;
    if (!ss_pooled_sums(r->bags, piece, of, &part[j], error)) return false;
    const struct ss_chunk *got = piece == relay ? &part[j] : ss_receipts_held(r->inside, of, piece, &part[j]);
    judge(r, relay, got, &part[j]);
    if (got) part[j] = *got;
  }
  const struct ss_operands operands = {part, r->each, first[0], first[1]};
  if (!ss_chunk_sum(&operands, run->play->arena, &run->play->scratch, sum, error)) return false;
  ss_play_note_sum(run->play, relay, &run->coo, &operands, sum);
  sum->width = sum->stride = run->input->width;
  return true;
}

/* Every rank ends with the sums of what nodes have of its bags. */
static bool take_nodes(const struct relay *r, uint32_t rank, struct ss_error *error) {
  struct ss_chunk *held = ss_arena_alloc(r->bags->run->play->arena, r->nodes, sizeof *held);
  if (!held) return ss_fail_memory(error, "adding up bags");
  for (uint32_t node = 0; node < r->nodes; node++) {
    if (!ss_pooled_sums(&r->node, node, rank, &held[node], error)) return false;
    const struct ss_chunk *got =
        node == rank / r->each ? sum_of(r, rank, node) : ss_receipts_held(&r->cross, rank, node, &held[node]);
    judge(r, rank, got, &held[node]);
    if (got) held[node] = *got;
  }
  return add_partial(r->bags, rank, 0, held, r->nodes, error);
}

static bool relay_backward(struct relay *r, struct ss_error *error) {
  struct ss_play *play = r->bags->run->play;
  return ss_groups_play(play, r->each, r->lane, hop_across, r, error) &&
         ss_groups_play(play, r->nodes, r->team, hop_inside, r, error) && keep_own(r, error);
}

static bool relay_forward(struct relay *r, struct ss_error *error) {
  struct ss_run *run = r->bags->run;
  if (!ss_groups_play(run->play, r->nodes, r->team, hop_inside, r, error)) return false;
  for (uint32_t rank = 0; rank < run->ranks; rank++)
    for (uint32_t node = 0; ss_run_resident(run, rank) && node < r->nodes; node++)
      if (!add_node(r, rank, node * r->each + rank % r->each, error)) return false;
  if (!ss_groups_play(run->play, r->each, r->lane, hop_across, r, error)) return false;
  for (uint32_t rank = 0; rank < run->ranks; rank++)
    if (ss_run_resident(run, rank) && !take_nodes(r, rank, error)) return false;
  return true;
}

static bool group_ranks(struct relay *r, struct ss_error *error) {
  struct ss_run *run = r->bags->run;
  struct ss_arena *arena = run->play->arena;
  uint32_t *rank, *across;
  if (!ss_take(arena, rank, run->ranks) || !ss_take(arena, across, run->ranks) || !ss_take(arena, r->lane, r->each) ||
      !ss_take(arena, r->team, r->nodes) || !ss_take_zero(arena, r->held, run->ranks) ||
      !ss_take_zero(arena, r->sum, (size_t)run->ranks * r->nodes))
    return ss_fail_memory(error, "relaying bags");
  for (uint32_t i = 0; i < run->ranks; i++) {
    rank[i] = i;
    across[i % r->each * r->nodes + i / r->each] = i;
  }
  for (uint32_t p = 0; p < r->each; p++)
    r->lane[p] = (struct ss_group){.ranks = r->nodes, .rank = across + (size_t)p * r->nodes};
  for (uint32_t n = 0; n < r->nodes; n++)
    r->team[n] = (struct ss_group){.ranks = r->each, .rank = rank + (size_t)n * r->each};
  return true;
}

static bool open_relay(struct relay *r, struct ss_error *error) {
  struct ss_run *run = r->bags->run;
  return group_ranks(r, error) &&
         ss_pieces_make(run->input, r->nodes, SS_BY_ROWS, run->play->arena, &r->pieces, error) &&
         ss_pooled_open(run, &r->pieces, false, &r->node, error) &&
         ss_receipts_open(&r->cross, run->ranks, r->nodes, error) &&
         ss_receipts_open(r->inside, run->ranks, run->ranks, error);
}

bool ss_pooled_relay(const struct ss_pooled *bags, bool backward, struct ss_receipts *receipts,
                     struct ss_error *error) {
  struct ss_run *run = bags->run;
  struct relay r = {.bags = bags, .backward = backward, .nodes = ss_run_nodes(run), .inside = receipts};
  r.each = run->ranks < run->per_node ? run->ranks : run->per_node; /* nodes are full */
  const bool ok = open_relay(&r, error) && (backward ? relay_backward : relay_forward)(&r, error);
  for (uint32_t i = 0; ok && i < run->ranks; i++) ss_play_drop(run->play, i, r.held[i]);
  ss_receipts_close(&r.cross);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
