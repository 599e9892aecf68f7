/* What one synchronisation starts from: the rows that each rank has for one tensor in one iteration. */
#pragma once

#include "tensor/chunk.h"
#include "tensor/coalesce.h"
#include "tensor/kernel.h"
#include "tensor/pooling.h"
#include "trace/file/trace.h"
#include "trace/make/gradient.h"
#include "trace/make/uniform.h"
#include "trace/placement.h"

/* One of several tables that are synchronised together. Its row i is row low + i of the input. */
struct ss_input_table {
  const char *name;
  uint64_t low, rows;
  uint32_t width;
  const struct ss_shards *shards; /* where it lives; NULL: nobody said */
};

struct ss_input {
  uint64_t rows;
  uint32_t ranks;
  uint32_t width;        /* elements a row */
  uint64_t elements;     /* that are there: rows * width, without what pads a last block */
  uint32_t row_width;    /* elements a row had before it was turned into rows of one */
  uint32_t value_bytes;  /* of an element */
  bool even;             /* every rank and every even partition that divides holds the same: the counts say it all */
  const uint64_t *count; /* [ranks] distinct rows */
  const uint32_t *const *row;     /* [ranks][count] ascending; NULL: only the counts are known */
  const uint64_t *lookups;        /* [ranks] rows as looked up, duplicates counted */
  const uint32_t *const *lookup;  /* [ranks][lookups] ascending, duplicates kept; NULL unless asked for */
  const struct ss_bagged *bagged; /* [ranks]; NULL unless asked for */
  const int64_t *const *value;    /* [ranks][count * width] in units of 2^-20; NULL unless asked for */
  struct ss_kernel_work *before;  /* [ranks * SS_KERNELS] what each computed to have this; NULL unless asked for */
  const struct ss_input_table
      *table;       /* [tables] of which this is made; NULL: of one tensor, of which no more is known */
  uint32_t tables;  /* `rows` are those of all, one table after the other, `width` is the widest's */
  uint64_t beside;  /* B that each rank has besides: the gradient that this was selected from, and the residual */
  uint64_t dropped; /* lookups of all ranks that found no room (struct ss_origin, capacity) */
};

/* Tensors of a trace that are synchronised together, as tables of one input: all of one type. */
struct ss_joint {
  uint32_t tables;
  const size_t *tensor;           /* [tables] in the trace */
  const struct ss_shards *shards; /* [tables]; NULL: nobody said where they live */
};

/* Where inputs come from: a tensor of a trace (with each `merge` consecutive ranks as one), a synthetic gradient, or
 * a uniform tensor. */
struct ss_origin {
  const struct ss_trace *trace; /* NULL: */
  size_t tensor;
  const struct ss_joint *joint; /* several tensors of the trace instead; NULL: `tensor` alone */
  uint32_t merge;               /* at least 1 */
  double capacity; /* of a trace: a rank looks up a row at most ceil(capacity * lookups / rows) times, later lookups
                      of it are dropped (the capacity factor of a mixture of experts); 0: no limit */
  const struct ss_gradient *gradient; /* NULL: uniform */
  int exponent;                       /* of the power of two that the trace's values are multiplied by */
  struct ss_uniform uniform;
};

struct ss_input_options {
  uint32_t ranks;
  uint64_t iteration;
  bool lists;     /* rows are needed, not only counts (a trace gives them always) */
  bool lookups;   /* the looked-up rows too */
  bool bags;      /* which of them make a bag, too: of a trace that says so, without a capacity */
  bool element;   /* element granularity: rows * width rows of one element */
  bool before;    /* what was computed before, too: */
  bool coalesces; /* ranks coalesce what they looked up */
  bool values;    /* values too, by elements: of a trace that has them, a gradient, or (made up) a uniform tensor */
};

/* The exponent that puts the largest magnitude of the tensor's values in [2^9, 2^10); values that are not finite are
 * an error. 0 for other origins. */
bool ss_origin_exponent(const struct ss_origin *origin, int *out, struct ss_error *error) SS_MUST_CHECK;

/* Rows, widths and bytes of the tensor, by rows or by elements, without content. */
bool ss_input_shape(const struct ss_origin *origin, bool element, struct ss_input *out,
                    struct ss_error *error) SS_MUST_CHECK;
/* Arrays are `arena`'s; `scratch` is kept between calls. The caller has checked that the trace has the ranks. */
bool ss_input_make(const struct ss_origin *origin, const struct ss_input_options *options, struct ss_arena *arena,
                   struct ss_coalesce_scratch *scratch, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;
/* Nothing computed before, yet. False: memory is short. */
bool ss_input_begin_before(struct ss_input *input, uint32_t ranks, struct ss_arena *arena) SS_MUST_CHECK;
/* Notes that the rank made these distinct rows of so many lookups: it sorted their indices, and added up the elements
 * of those of one row. */
void ss_input_coalesced(struct ss_input *input, uint32_t rank, uint64_t lookups, uint64_t distinct);
/* SPDX-License-Identifier: Apache-2.0 */
