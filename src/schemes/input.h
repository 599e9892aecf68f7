/* What one synchronisation starts from: the rows that each rank has for one tensor in one iteration. */
#ifndef SS_SCHEMES_INPUT_H
#define SS_SCHEMES_INPUT_H

#include "base/memory.h"
#include "tensor/chunk.h"
#include "tensor/coalesce.h"
#include "trace/file/trace.h"
#include "trace/make/gradient.h"

struct ss_input {
  uint64_t rows;
  uint32_t ranks;
  uint32_t width;        /* elements a row */
  uint64_t elements;     /* that are there: rows * width, without what pads a last block */
  uint32_t row_width;    /* elements a row had before it was turned into rows of one */
  uint32_t value_bytes;  /* of an element */
  bool even;             /* every rank and every even partition that divides holds the same: the counts say it all */
  const uint64_t *count; /* [ranks] distinct rows */
  const uint32_t *const *row;    /* [ranks][count] ascending; NULL: only the counts are known */
  const uint64_t *lookups;       /* [ranks] rows as looked up, duplicates counted */
  const uint32_t *const *lookup; /* [ranks][lookups] ascending, duplicates kept; NULL unless asked for */
  const int64_t *const *value;   /* [ranks][count * width] in units of 2^-20; NULL unless asked for */
};

/* The idealised tensor of the closed forms: every rank and every even partition into parts that divide `nnz` and
 * `rows` holds the same number of rows. */
enum ss_overlap { SS_OVERLAP_FULL, SS_OVERLAP_NONE, SS_OVERLAP_RANDOM };
struct ss_uniform {
  uint64_t rows, nnz;
  uint32_t width, value_bytes;
  enum ss_overlap overlap;
  uint64_t seed;
};

/* Checks that `nnz` = density * rows is whole and that `parts` divides rows and nnz; the error names the next number
 * of rows that does. */
bool ss_uniform_make(uint64_t rows, double density, uint32_t width, uint32_t value_bytes, enum ss_overlap overlap,
                     uint64_t seed, struct ss_uniform *out, struct ss_error *error) SS_MUST_CHECK;
/* The least number of rows, from `rows` on, of which `density` is a whole number that `parts` divides, together with
 * the rows themselves; 0 when none is near. */
uint64_t ss_uniform_rows(uint64_t rows, double density, uint64_t parts);
bool ss_uniform_divides(const struct ss_uniform *uniform, uint64_t parts, uint32_t ranks,
                        struct ss_error *error) SS_MUST_CHECK;

/* Where inputs come from: a tensor of a trace (with each `merge` consecutive ranks as one), a synthetic gradient, or
 * a uniform tensor. */
struct ss_origin {
  const struct ss_trace *trace; /* NULL: */
  size_t tensor;
  uint32_t merge;                     /* at least 1 */
  const struct ss_gradient *gradient; /* NULL: uniform */
  int exponent;                       /* of the power of two that the trace's values are multiplied by */
  struct ss_uniform uniform;
};

struct ss_input_options {
  uint32_t ranks;
  uint64_t iteration;
  bool lists;   /* rows are needed, not only counts (a trace gives them always) */
  bool lookups; /* the looked-up rows too */
  bool element; /* element granularity: rows * width rows of one element */
  bool values;  /* values too, by elements: of a trace that has them, a gradient, or (made up) a uniform tensor */
};

/* The exponent that puts the largest magnitude of the tensor's values in [2^9, 2^10); values that are not finite are
 * an error. 0 for other origins. */
bool ss_origin_exponent(const struct ss_origin *origin, int *out, struct ss_error *error) SS_MUST_CHECK;
static inline bool ss_origin_has_values(const struct ss_origin *origin) {
  return origin->trace ? ss_trace_has_values(origin->trace, origin->tensor) : true;
}

/* Rows, widths and bytes of the tensor, by rows or by elements, without content. */
bool ss_input_shape(const struct ss_origin *origin, bool element, struct ss_input *out,
                    struct ss_error *error) SS_MUST_CHECK;
/* Arrays are `arena`'s; `scratch` is kept between calls. The caller has checked that the trace has the ranks. */
bool ss_input_make(const struct ss_origin *origin, const struct ss_input_options *options, struct ss_arena *arena,
                   struct ss_coalesce_scratch *scratch, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;

#endif
