#include "schemes/run.h"

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
  return ss_pooling_gradients(of, &content, out, error);
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
  if (ok) note_coalesced(run, p, lookups, sum->count);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
