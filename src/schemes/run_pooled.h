/* Pooled exchanges of a table that is cut over ranks (schemes/run_pieces.h): one vector a bag travels instead of one
 * a row.
 *
 * Forward, the owner of a piece sends sums of the rows of each bag that it has; backward, ranks send the gradients of
 * their bags, and the owner adds them up row by row. What bags have where is tensor/pooling.h's. */
#ifndef SS_SCHEMES_RUN_POOLED_H
#define SS_SCHEMES_RUN_POOLED_H

#include "schemes/run.h"
#include "schemes/run_pieces.h"

struct ss_pooled {
  struct ss_run *run;
  const struct ss_pieces *pieces;
  struct ss_pooling pool;
  uint32_t *table_at; /* [tables + 1] and the pieces of each table: */
  uint32_t *of_table; /* [pieces] */
};

/* `padded`: all bags are there in each piece, those without a row in it as zeros. */
bool ss_pooled_open(struct ss_run *run, const struct ss_pieces *pieces, bool padded, struct ss_pooled *bags,
                    struct ss_error *error) SS_MUST_CHECK;
/* The rank's bags that piece k has something of, without content. */
struct ss_chunk ss_pooled_of(const struct ss_pooled *bags, uint32_t rank, uint32_t k);
/* What the owner of piece k makes of the bags of rank `of` (looking up and pooling are no part of the exchange); and
 * the gradients of its bags that rank `of` has for that owner. */
bool ss_pooled_sums(const struct ss_pooled *bags, uint32_t k, uint32_t of, struct ss_chunk *out,
                    struct ss_error *error) SS_MUST_CHECK;
bool ss_pooled_gradients(const struct ss_pooled *bags, uint32_t k, uint32_t of, struct ss_chunk *out,
                         struct ss_error *error) SS_MUST_CHECK;
/* How many numbers tell the owner of piece k what a rank looks up of it: ids, and where each bag ends among them. */
uint64_t ss_pooled_ids(const struct ss_pooled *bags, uint32_t rank, uint32_t k);
/* Forward: every rank ends with its bags of all tables, adding up those of pieces that are cut by rows. Receiver:
 * rank; block: piece. */
bool ss_pooled_take(const struct ss_pooled *bags, const struct ss_receipts *receipts,
                    struct ss_error *error) SS_MUST_CHECK;
/* Backward: *sum is what the owner of piece k has of the gradients of its rows. Receiver: piece; block: rank. */
bool ss_pooled_add_up(const struct ss_pooled *bags, const struct ss_receipts *receipts, uint32_t k,
                      struct ss_chunk *sum, struct ss_error *error) SS_MUST_CHECK;

#endif
