/* What a scheme is given while it runs, and what it reports. */
#pragma once

#include "schemes/proof.h"
#include "sim/collectives/cut.h"

/* What is known of the results so far. The shards of a hierarchy share one. */
struct ss_run_verdict {
  bool exact;                            /* every reported result was the exact sum */
  bool agreed;                           /* of values: all ranks ended with the same bits */
  double grain;                          /* of values: what a result's marks count (struct ss_final) */
  double push_imbalance, pull_imbalance; /* ZEN Def. 8, the largest of all shards; NaN where there are no parts */
};

struct ss_run {
  struct ss_play *play;
  const struct ss_setting *setting;
  const struct ss_input *input;
  uint32_t ranks, servers;
  const uint32_t *outside; /* [ranks] of a group, whose gradients they have: ranks of the whole; NULL: their own */
  uint32_t per_node;      /* ranks of a node: rank r lives on node r / per_node (ss_run_node); behind a hierarchy 1 */
  uint32_t rings;         /* of a scheme that plays several rings (struct ss_traits); 0 is 1 */
  uint64_t low, high;     /* the rows to be summed: all, or a shard of them */
  uint32_t shard, shards; /* which, of how many */
  struct ss_wire dense, coo;  /* how dense and sparse payloads travel */
  const struct ss_chunk *own; /* [ranks] what each rank contributes, coalesced unless the setting says otherwise */
  bool dense_lists;           /* dense payloads carry their non-zero rows inside, instead of proof units */
  struct ss_state *state;     /* what is kept from iteration to iteration; state->own and ->each are the scheme's */
  struct ss_proof *proof;     /* NULL: not verified */
  struct ss_chunk *result;    /* [ranks] for a caller who wants to know what each ends with; NULL: none does */
  struct ss_run_verdict *verdict;

  /* of schemes that aggregate values */
  struct ss_chunk final; /* what the first rank ended with */
  bool ended;            /* some rank did */
};

/* Where a rank lives, and how many nodes there are: the last may have fewer ranks. */
static inline uint32_t ss_run_node(const struct ss_run *run, uint32_t rank) {
  return rank / (run->per_node ? run->per_node : 1);
}
static inline uint32_t ss_run_nodes(const struct ss_run *run) {
  return run->ranks ? ss_run_node(run, run->ranks - 1) + 1 : 0;
}

/* Runs the scheme, with its state at hand. */
bool ss_run_scheme(struct ss_run *run, struct ss_error *error) SS_MUST_CHECK;

static inline bool ss_run_resident(const struct ss_run *run, uint32_t endpoint) {
  return ss_play_resident(run->play, endpoint);
}

/* --- parts of the tensor -------------------------------------------------------------------------------- */

/* Part `part` of `parts` even ranges of the rows to be summed, without content; and what the rank has of it. */
struct ss_chunk ss_run_part(const struct ss_run *run, uint32_t part, uint32_t parts);
struct ss_chunk ss_run_slice(const struct ss_run *run, uint32_t rank, uint32_t part, uint32_t parts);

/* Fills in what `rank` contributes to a dense part whose rows and units (part, count) are set: a proof integer a
 * unit, and in a real run its rows among zeros; or the list of its rows. */
bool ss_run_dense_part(struct ss_run *run, uint32_t rank, struct ss_arena *arena, struct ss_chunk *part,
                       struct ss_error *error) SS_MUST_CHECK;

/* Words of a bitmap of the run's rows. */
static inline uint64_t ss_run_words(const struct ss_run *run) {
  return (run->high - run->low + 63) / 64;
}

/* --- what ranks end with -------------------------------------------------------------------------------- */

/* Somebody wants to know. */
static inline bool ss_run_reports(const struct ss_run *run) {
  return run->proof || run->result || ss_scheme_valued(run->setting->scheme);
}
/* `rank` ends with `chunk` (columns from `column` on, and with `only` exactly those rows): with a sum, or with
 * values. */
void ss_run_sparse(struct ss_run *run, uint32_t rank, const struct ss_chunk *chunk, uint32_t column,
                   const struct ss_chunk *only);
/* Some rank ends with a summed part of a dense tensor of `units` proof units. */
void ss_run_dense(struct ss_run *run, const struct ss_chunk *chunk, uint32_t units);
void ss_run_inexact(struct ss_run *run, const char *format, ...) SS_PRINTF(2, 3);
/* --- all-gathers ---------------------------------------------------------------------------------------- */

/* All of it: every rank ends with the sum of all blocks. */
bool ss_run_allgather(struct ss_run *run, const struct ss_chunk *block, const struct ss_wire *wire, ss_allgather *how,
                      struct ss_error *error) SS_MUST_CHECK;

/* --- rings side by side ------------------------------------------------------------------------------------ */

/* One of the rings that are played at once, with its share of what travels. */
struct ss_ring {
  uint32_t number, rings;
  const uint32_t *rank; /* [ranks] who has which position in it: the ranks of its play are positions */
};

#define SS_OPTION_RINGS                                                                                              \
  {                                                                                                                  \
    "rings", SS_OPTION_COUNT, NULL, 1, 1024, 0,                                                                      \
        "rings side by side, each by a card of its own (as many as a node has cards; of MPI 1)", NULL                \
  }
/* How the messages of NCCL's calls travel (machine/library.h): choice 1 + enum ss_protocol; what the simulation plays
 * them on is then ss_setting_cluster. */
extern const char *const ss_protocol_choices[];
#define SS_OPTION_PROTOCOL                                                                                           \
  { "protocol", SS_OPTION_CHOICE, ss_protocol_choices, 1, 0, 0, "NCCL's, where it is the cluster's library", NULL }
/* How many there are: as said, or (0) as many as a node has cards, where there are several nodes and no MPI. */
uint32_t ss_rings_of(uint64_t said, struct ss_layout layout);
/* Refuses those that have no card; `ring`: the algorithm is a ring at all. */
bool ss_rings_check(uint64_t said, bool ring, struct ss_layout layout, struct ss_error *error) SS_MUST_CHECK;
static inline uint32_t ss_run_ring_count(const struct ss_run *run) {
  return run->rings > 0 ? run->rings : 1;
}
typedef bool ss_ring_body(void *context, struct ss_play *play, const struct ss_ring *ring, struct ss_error *error);
/* Plays all rings of the run at once: of several, ring i leaves a node by the last rank of card i (ss_ring_order);
 * not `ordered`, positions are the ranks'. */
bool ss_run_rings(struct ss_run *run, bool ordered, ss_ring_body *body, void *context,
                  struct ss_error *error) SS_MUST_CHECK;

/* --- parts and their owners ------------------------------------------------------------------------------- */

/* Cuts what the run's ranks have; or, where it is set, cut->own. The owners are to be opened. */
bool ss_run_cut(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Reports what every rank holds after the pull. */
bool ss_run_pulled(struct ss_run *run, struct ss_owners *owners, struct ss_error *error) SS_MUST_CHECK;
/* Notes that the rank joined the parts that it holds to `sum`: where somebody goes on with it (schemes of values,
 * hierarchies). Others need no order among parts, and join them to be proved alone. */
void ss_run_note_joined(struct ss_run *run, uint32_t rank, const struct ss_owners *owners,
                        const struct ss_chunk *sum);
/* All of it: cut, push, sum, pull, report. */
bool ss_run_owners(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) SS_MUST_CHECK;
/* Parts were pushed and pulled: how evenly. */
void ss_run_imbalance(struct ss_run *run, const struct ss_owners *owners);
/* On no power of two, SparDL §4.1: every rank beyond it hands own[rank] to the other of its pair, which adds it to
 * its own (ss_fold_of); the body sums core->own of the others, as ranks of a play of their own, into core->result;
 * and result[ranks] of the others goes back to who handed over. */
typedef bool ss_core_body(struct ss_run *core, void *context, struct ss_error *error);
bool ss_run_folded(struct ss_run *run, const struct ss_chunk *own, ss_core_body *body, void *context,
                   struct ss_chunk *result, struct ss_error *error) SS_MUST_CHECK;
#define SS_OPTION_FOLDS                                                                                              \
  {                                                                                                                  \
    "folds", SS_OPTION_FLAG, NULL, 0, 1, 0,                                                                          \
        "ranks beyond a power of two hand theirs to others, and get the result back (SparDL §4.1)", NULL             \
  }
/* The option is on, and P no power of two. */
static inline bool ss_run_folds(const struct ss_run *run, uint32_t option) {
  return run->setting->value[option] != 0 && (run->ranks & (run->ranks - 1)) != 0;
}
/* Running sums of what ranks have, passed round a ring or by recursive doubling in that format, and the report. */
bool ss_run_running(struct ss_run *run, const struct ss_wire *wire, bool ring, struct ss_error *error) SS_MUST_CHECK;

/* --- schemes that select the largest elements --------------------------------------------------------------- */

/* How many elements a rank selects ("k", or "density" of all; a shard has its even share); 0: the scheme selects
 * none. */
uint64_t ss_run_k(const struct ss_run *run);

/* *held becomes its sum with `more`, both what the rank holds itself; dense where one of the two lies so. */
bool ss_run_add_held(struct ss_run *run, uint32_t rank, struct ss_chunk *held, const struct ss_chunk *more,
                     struct ss_error *error) SS_MUST_CHECK;
/* What the rank has to give: its gradient and what it kept. */
bool ss_run_copy(struct ss_run *run, uint32_t rank, struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* The rank's copy and its `k` largest entries (ties to the lower index). */
bool ss_run_select(struct ss_run *run, uint32_t rank, uint64_t k, struct ss_chunk *copy, struct ss_chunk *selected,
                   struct ss_error *error) SS_MUST_CHECK;
/* What every rank selects, all of ss_run_k; each keeps the rest. selected[ranks] is the arena's. */
bool ss_run_select_all(struct ss_run *run, struct ss_chunk **selected, struct ss_error *error) SS_MUST_CHECK;

/* What the rank keeps until the next iteration; the arrays are copied. */
bool ss_run_keep(struct ss_run *run, uint32_t rank, const struct ss_chunk *residual,
                 struct ss_error *error) SS_MUST_CHECK;
/* The rank keeps what it had (`copy`) and did not send: copy without the rows of `sent`. */
bool ss_run_keep_without(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy, const struct ss_chunk *sent,
                         struct ss_error *error) SS_MUST_CHECK;
/* The rank keeps all of its copy but what it selected and what is in the result too. */
bool ss_run_keep_unapplied(struct ss_run *run, uint32_t rank, const struct ss_chunk *copy,
                           const struct ss_chunk *selected, const struct ss_chunk *result,
                           struct ss_error *error) SS_MUST_CHECK;

/* --- hierarchies: any scheme among nodes, with sums inside them (ZEN §4: dense ones) ------------------------- */

/* Groups in which the scheme runs at once: one of all ranks; one of the nodes' leaders; or, for shards, as many as a
 * node has ranks. */
uint32_t ss_hierarchy_groups(enum ss_hierarchy hierarchy, struct ss_layout layout);

/* shard: ring reduce-scatter inside every node; rank i of every node runs the scheme with those of the other nodes on
 * shard i; ring all-gather inside every node. leader: binomial reduce to the node's first rank, the scheme among
 * those, binomial broadcast. What moves inside a node takes dense bytes. sparse-shard: as shard, of lists of rows: a
 * pairwise push of what ranks have of each other's shards, who add it up, and a direct all-gather. */
bool ss_hierarchy_run(struct ss_run *run, uint32_t per_node, struct ss_error *error) SS_MUST_CHECK;

/* --- tables that are cut over ranks: model parallelism (run_pieces.c) -------------------------------------- */

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

/* --- pooled exchanges of such a table: one vector a bag travels instead of one a row (run_pooled.c) ---------
 *
 * Forward, the owner of a piece sends sums of the rows of each bag that it has; backward, ranks send the gradients of
 * their bags, and the owner adds them up row by row. What bags have where is tensor/pooling.h's. */

struct ss_pooled {
  struct ss_run *run;
  const struct ss_pieces *pieces;
  bool tokens; /* owners take vectors as they come, and did not know of them */
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
/* The same exchanges where ranks own even ranges of rows, by way of a rank of the other node: the vector of a bag
 * crosses to a node once, to the rank at its own rank's position there, and on to the owners; forward what owners
 * have of a bag is added up there, and crosses once. Nodes are full. Receipts, which are opened here and the caller's
 * to close, are as of the plain exchange (backward); forward all that ss_pooled_take does is done. */
bool ss_pooled_relay(const struct ss_pooled *bags, bool backward, struct ss_receipts *receipts,
                     struct ss_error *error) SS_MUST_CHECK;
/* Backward: *sum is what the owner of piece k has of the gradients of its rows. Receiver: piece; block: rank. */
bool ss_pooled_add_up(const struct ss_pooled *bags, const struct ss_receipts *receipts, uint32_t k,
                      struct ss_chunk *sum, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
