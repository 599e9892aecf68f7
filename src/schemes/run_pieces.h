/* What each rank owns of tables that are cut over ranks: model parallelism. */
#ifndef SS_SCHEMES_RUN_PIECES_H
#define SS_SCHEMES_RUN_PIECES_H

#include "schemes/input.h"

/* One table by columns, rank j columns [floor(j*w/P), floor((j+1)*w/P)) of every row, or by even ranges of rows; or
 * all tables together, whole ones on ranks that are evenly spread, in their order, as DLRM has them, or as the input
 * says of each. */
enum ss_partition { SS_BY_COLUMNS, SS_BY_ROWS, SS_BY_TABLES, SS_AS_PLACED };

/* What one rank owns of one table. */
struct ss_piece {
  uint32_t owner, table;
  uint64_t low, high;    /* rows */
  uint32_t first, width; /* columns */
  bool by_column;        /* other pieces have the same rows */
  uint32_t range;        /* those rows: ranges are numbered on over all tables */
};

struct ss_pieces {
  enum ss_partition partition;
  uint32_t ranks, tables, count, ranges;
  struct ss_piece *piece; /* [count] those of rank 0 first, those of one owner by table. Who owns nothing has an empty
                             one: so every message brings a chunk, and it shows when it is lost */
  uint32_t *of;           /* [ranks + 1] rank j owns pieces of[j] to of[j + 1] - 1 */
};

/* `ranks` ranks own the input's tables. What is made is the arena's. */
bool ss_pieces_make(const struct ss_input *input, uint32_t ranks, enum ss_partition partition, struct ss_arena *arena,
                    struct ss_pieces *pieces, struct ss_error *error) SS_MUST_CHECK;
static inline uint32_t ss_pieces_of(const struct ss_pieces *pieces, uint32_t owner) {
  return pieces->of[owner + 1] - pieces->of[owner];
}
/* The view of a chunk of whole rows on a piece. A slice without columns is an empty payload. */
struct ss_chunk ss_piece_slice(const struct ss_piece *piece, const struct ss_chunk *chunk);

#endif
