#include "schemes/run.h"

static struct ss_shards shards_of(const struct ss_pieces *x, const struct ss_input_table *table, uint32_t k,
                                  uint32_t *home) {
  if (x->partition == SS_AS_PLACED && table->shards) return *table->shards;
  *home = (uint32_t)ss_share(x->ranks, x->tables, k);
  if (x->partition == SS_BY_TABLES) return (struct ss_shards){SS_BY_TABLE, 1, home};
  return (struct ss_shards){x->partition == SS_BY_ROWS ? SS_BY_ROW : SS_BY_COLUMN, x->ranks, NULL};
}

static struct ss_piece piece_of(const struct ss_input_table *table, const struct ss_shards *shards, uint32_t k,
                                uint32_t i) {
  struct ss_piece p = {.owner = shards->rank ? shards->rank[i] : i,
                       .table = k,
                       .low = table->low,
                       .high = table->low + table->rows,
                       .width = table->width,
                       .by_column = shards->cut == SS_BY_COLUMN};
  if (shards->cut == SS_BY_ROW) {
    p.low = table->low + ss_share(table->rows, shards->count, i);
    p.high = table->low + ss_share(table->rows, shards->count, i + 1);
  }
  if (shards->cut == SS_BY_COLUMN) {
    p.first = (uint32_t)ss_share(table->width, shards->count, i);
    p.width = (uint32_t)ss_share(table->width, shards->count, i + 1) - p.first;
  }
  return p;
}

/* Calls `note` with every piece, table by table, and then for ranks that own nothing with an empty one. */
static void each_piece(struct ss_pieces *x, const struct ss_input *input, bool *owns,
                       void (*note)(struct ss_pieces *, const struct ss_piece *)) {
  const struct ss_input_table one = {.rows = input->rows, .width = input->width};
  uint32_t home = 0;
  x->ranges = 0;
  for (uint32_t k = 0; k < x->tables; k++) {
    const struct ss_input_table *table = input->table ? &input->table[k] : &one;
    const struct ss_shards shards = shards_of(x, table, k, &home);
    const bool by_row = shards.cut == SS_BY_ROW;
    for (uint32_t i = 0; i < shards.count; i++) {
      struct ss_piece p = piece_of(table, &shards, k, i);
      p.range = x->ranges + (by_row ? i : 0);
      owns[p.owner] = true;
      note(x, &p);
    }
    x->ranges += by_row ? shards.count : 1;
  }
  for (uint32_t j = 0; j < x->ranks; j++)
    if (!owns[j]) note(x, &(struct ss_piece){.owner = j, .high = input->rows, .by_column = true});
}

static void count_piece(struct ss_pieces *x, const struct ss_piece *p) {
  x->of[p->owner + 1]++;
}

static void put_piece(struct ss_pieces *x, const struct ss_piece *p) {
  x->piece[x->of[p->owner]++] = *p;
}

bool ss_pieces_make(const struct ss_input *input, uint32_t ranks, enum ss_partition partition, struct ss_arena *arena,
                    struct ss_pieces *x, struct ss_error *error) {
  bool *owns;
  *x = (struct ss_pieces){.partition = partition, .ranks = ranks, .tables = input->table ? input->tables : 1};
  if (!ss_take_zero(arena, x->of, (size_t)ranks + 1) || !ss_take_zero(arena, owns, ranks))
    return ss_fail_memory(error, "placing tables");
  each_piece(x, input, owns, count_piece);
  for (uint32_t j = 0; j < ranks; j++) x->of[j + 1] += x->of[j];
  x->count = x->of[ranks];
  if (!ss_take(arena, x->piece, x->count)) return ss_fail_memory(error, "placing tables");
  each_piece(x, input, owns, put_piece);
  memmove(x->of + 1, x->of, ranks * sizeof *x->of); /* each had come to be where the next one's begin */
  x->of[0] = 0;
  return true;
}

struct ss_chunk ss_piece_slice(const struct ss_piece *p, const struct ss_chunk *chunk) {
  const bool all = p->low == chunk->low && p->high == chunk->high;
  const struct ss_chunk rows = all ? *chunk : ss_chunk_slice(chunk, p->low, p->high);
  struct ss_chunk slice = ss_chunk_columns(&rows, p->first, p->width);
  if (slice.width == 0) slice.count = 0;
  return slice;
}
/* SPDX-License-Identifier: Apache-2.0 */
