/* What several schemes share: parts are pushed to the ranks (or servers) that own them, summed, and pulled, in ZEN's
 * ways to cut a tensor and its formats (§2.2, §3); and sums that are passed on. */
#ifndef SS_SCHEMES_CUT_H
#define SS_SCHEMES_CUT_H

#include "schemes/run.h"
#include "sim/collectives/owners.h"
#include "tensor/parts.h"

enum ss_balance { SS_BALANCE_HASH, SS_BALANCE_EVEN, SS_BALANCE_SORTED };
enum ss_pull_format { SS_PULL_HASH_BITMAP, SS_PULL_COO, SS_PULL_BITMAP, SS_PULL_BLOCK, SS_PULL_SMALLER };

/* Kept from iteration to iteration, of hashed and sorted parts; all zero at first. */
struct ss_cut_state {
  uint64_t *size;             /* [parts] rows that a hashed part may hold */
  const uint32_t *const *row; /* [parts] these rows, where bytes are to be made */
  uint64_t *boundary;         /* [parts + 1] of sorted parts */
  uint64_t found;             /* 1 + the iteration that the boundaries are of; 0: none */
};

struct ss_cut {
  enum ss_balance balance;
  enum ss_pull_format format; /* of the pull; blocks are pushed as blocks, everything else as COO */
  uint64_t seed;              /* of the hash */
  uint64_t refresh;           /* iterations that sorted boundaries last */
  uint32_t block;             /* elements of a block */
  uint32_t servers;           /* owners of their own; 0: the ranks */
  bool bruck;                 /* the pull is Bruck's all-gather instead of pairwise */
  const struct ss_chunk *own; /* [ranks] what is cut; NULL: what the run's ranks have */
  struct ss_cut_state *state; /* NULL with even parts, which need none */

  /* made by ss_run_cut */
  struct ss_run *run;
  struct ss_parts parts;
  struct ss_wire push, pull;
  struct ss_owners owners; /* ready to be opened; its context is this struct, which must stay where it is */
};
bool ss_run_cut(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Reports what every rank holds after the pull. */
bool ss_run_pulled(struct ss_run *run, struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
/* All of it: cut, push, sum, pull, report. */
bool ss_run_owners(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Parts were pushed and pulled: how evenly. */
void ss_run_imbalance(struct ss_run *run, const struct ss_owners *owners);
/* To `adapt` the traits of a scheme: a uniform tensor must divide into an even part for every rank. */
void ss_part_for_every_rank(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits);

/* Running sums of what ranks have, passed round a ring or by recursive doubling in that format, and the report. */
bool ss_run_running(struct ss_run *run, const struct ss_wire *wire, bool ring, struct ss_error *error) SS_MUST_CHECK;

#endif
