/* The parts of Ok-Topk, of which oktopk.c is the whole. */
#ifndef SS_SCHEMES_OKTOPK_H
#define SS_SCHEMES_OKTOPK_H

#include "schemes/run.h"
#include "sim/collectives/owners.h"

/* Kept from iteration to iteration: of every rank, and of all. */
struct ss_oktopk_rank {
  double threshold; /* the least magnitude that it selects, in units */
  uint64_t begin;   /* the first row of its region */
};
struct ss_oktopk_all {
  double threshold; /* the least magnitude of a sum that owners keep, in units */
};

struct ss_oktopk {
  struct ss_run *run;
  struct ss_oktopk_rank *each; /* [ranks] */
  struct ss_oktopk_all *all;
  uint64_t k;
  bool reused;                      /* thresholds: those of earlier iterations, not exact ones */
  bool evaluate;                    /* in this iteration thresholds are evaluated anew */
  struct ss_chunk *copy, *selected; /* [ranks] */
  struct ss_owners regions, runs;   /* what ranks hold of the sum; and evened out */
  uint64_t *upto;                   /* [ranks + 1] entries kept by the ranks before this one */
};

/* Cuts regions in which ranks selected about equally much: the averages of where every rank would cut. */
bool ss_oktopk_cut_regions(struct ss_oktopk *o, struct ss_error *error) SS_MUST_CHECK;
/* All ranks learn how much each owner keeps: upto[]. */
bool ss_oktopk_share_sizes(struct ss_oktopk *o, struct ss_error *error) SS_MUST_CHECK;

/* The least magnitude of the chunk's entries; 0: there are none. */
double ss_oktopk_smallest(const struct ss_chunk *chunk);
/* The entries that reach the threshold. */
bool ss_oktopk_reach(const struct ss_oktopk *o, const struct ss_chunk *from, double threshold, struct ss_chunk *out,
                     struct ss_error *error) SS_MUST_CHECK;
/* Owners keep of their sums what reaches the global threshold. */
bool ss_oktopk_keep_above(struct ss_oktopk *o, struct ss_error *error) SS_MUST_CHECK;

/* Every rank lives in this process. */
static inline bool ss_oktopk_everyone_here(const struct ss_run *run) {
  for (uint32_t r = 0; r < run->ranks; r++)
    if (!ss_run_resident(run, r)) return false;
  return true;
}

#endif
