/* What a scheme keeps from one iteration to the next: residuals, and notes of its own (steps, cuts, thresholds).
 *
 * One memory belongs to one point of a scenario: a scheme on a tensor at a number of ranks. Shards of a hierarchy
 * have one each inside. */
#ifndef SS_SIM_STATE_H
#define SS_SIM_STATE_H

#include "tensor/chunk.h"

struct ss_memory {
  uint64_t iteration;        /* iterations before this one */
  uint32_t ranks;            /* 0: not begun */
  struct ss_chunk *residual; /* [ranks] what each kept; SS_CHUNK_VALUES */
  struct ss_chunk *kept;     /* [ranks] what each keeps now, for the next iteration */
  struct ss_arena arena[2];  /* of the residuals of odd and even iterations */
  struct ss_arena lasting;   /* of notes */
  void *notes;               /* the scheme's own */
  size_t notes_size;         /* B */
  double number[4];          /* and what it counts, zero at first */
  uint32_t shards;
  struct ss_memory *shard; /* [shards] */
};

/* A zeroed struct is empty. Begins an iteration of `ranks` ranks. */
bool ss_memory_begin(struct ss_memory *memory, uint32_t ranks, struct ss_error *error) SS_MUST_CHECK;
/* Ends it: what was kept becomes the residual. */
void ss_memory_end(struct ss_memory *memory);
void ss_memory_free(struct ss_memory *memory);
/* For an iteration that is played twice: what it changes before it ends. `saved` is empty, and to be freed. Rewound,
 * the memory has to be begun again. */
bool ss_memory_save(const struct ss_memory *memory, struct ss_memory *saved, struct ss_error *error) SS_MUST_CHECK;
void ss_memory_rewind(struct ss_memory *memory, const struct ss_memory *saved);
/* The scheme's notes: `size` bytes, zero at first. */
bool ss_memory_notes(struct ss_memory *memory, size_t size, void **out, struct ss_error *error) SS_MUST_CHECK;
/* Memories of `shards` shards. */
bool ss_memory_split(struct ss_memory *memory, uint32_t shards, struct ss_error *error) SS_MUST_CHECK;

#endif
