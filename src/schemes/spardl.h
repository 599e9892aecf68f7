/* The steps of SparDL (§3), of which spardl.c is the whole: blocks and what is dropped of them (spardl_blocks.c),
 * Spar-Reduce-Scatter (spardl_srs.c), Spar-All-Gather (spardl_sag.c). */
#ifndef SS_SCHEMES_SPARDL_H
#define SS_SCHEMES_SPARDL_H

#include "schemes/run.h"

/* What a rank dropped, in pieces. */
struct ss_spardl_dropped {
  struct ss_chunk *piece;
  uint32_t count, capacity;
};

/* Algorithm 2's state, one for each position of a team: equal on all its ranks without a message. */
struct ss_spardl_step {
  double h, step;
  bool flag;
};

enum ss_spardl_residuals { SS_SPARDL_GLOBAL, SS_SPARDL_PARTIAL, SS_SPARDL_LOCAL };

struct ss_spardl {
  struct ss_run *run;
  uint32_t D, q; /* D teams of q ranks each */
  uint64_t k;
  bool after_sum;                    /* blocks are selected after a sum, not before they are sent */
  bool bruck;                        /* B-SAG, not R-SAG */
  struct ss_chunk *copy;             /* [ranks] gradient and old residual */
  struct ss_chunk *block;            /* [ranks * q] what each rank has of each block; in the end of its position's */
  struct ss_spardl_dropped *dropped; /* [ranks] */
  struct ss_chunk *result;           /* [ranks] what each ends with */
  struct ss_spardl_step *steps;      /* [q], kept from iteration to iteration */
};

static inline struct ss_chunk *ss_spardl_block(const struct ss_spardl *s, uint32_t rank, uint32_t block) {
  return &s->block[(size_t)rank * s->q + block];
}
/* How many entries of the block are kept. */
static inline uint64_t ss_spardl_quota(const struct ss_spardl *s, uint32_t block) {
  return ss_share(s->k, s->q, block + 1) - ss_share(s->k, s->q, block);
}

/* Cuts every rank's gradient and old residual into blocks. */
bool ss_spardl_cut(struct ss_spardl *s, struct ss_error *error) SS_MUST_CHECK;
/* The `keep` largest entries of a chunk stay in it; the rest is left. */
bool ss_spardl_select(struct ss_spardl *s, struct ss_chunk *chunk, uint64_t keep, struct ss_chunk *left,
                      struct ss_error *error) SS_MUST_CHECK;
/* The same in a block of a rank, which drops the rest. */
bool ss_spardl_select_own(struct ss_spardl *s, uint32_t rank, uint32_t block, uint64_t keep,
                          struct ss_error *error) SS_MUST_CHECK;
/* Of a sum that `holders` ranks drop alike each keeps its floor of a share, the lowest of them the rest too. */
bool ss_spardl_drop_share(struct ss_spardl *s, uint32_t rank, const struct ss_chunk *left, uint32_t holders,
                          bool lowest, struct ss_error *error) SS_MUST_CHECK;
/* Endpoint `at` of the play adds `what` to a block. */
bool ss_spardl_add(struct ss_spardl *s, struct ss_play *play, uint32_t at, struct ss_chunk *to,
                   const struct ss_chunk *what, struct ss_error *error) SS_MUST_CHECK;
/* What the rank keeps as its residual (§3.3). */
bool ss_spardl_keep(struct ss_spardl *s, uint32_t rank, enum ss_spardl_residuals residuals,
                    struct ss_error *error) SS_MUST_CHECK;

/* Bodies for ss_groups_play; the context is a struct ss_spardl. Spar-Reduce-Scatter inside a team: */
bool ss_spardl_reduce_scatter(void *context, uint32_t team, struct ss_play *play,
                              struct ss_error *error) SS_MUST_CHECK;
/* Spar-All-Gather over the teams' ranks at one position: */
bool ss_spardl_gather_teams(void *context, uint32_t position, struct ss_play *play,
                            struct ss_error *error) SS_MUST_CHECK;
/* All-gather inside a team: */
bool ss_spardl_gather_blocks(void *context, uint32_t team, struct ss_play *play,
                             struct ss_error *error) SS_MUST_CHECK;

#endif
