/* What a trace is: which rows of each sparse tensor each rank looked up, iteration by iteration.
 *
 * A trace is immutable once made, whether mapped from a `.safetensors` file (docs/traces.md) or built
 * in memory. Segment (t, r) of a tensor lists the row ids that rank r looked up in iteration t, in lookup order,
 * duplicates kept. Every id of an opened trace is below the tensor's `rows`: readers need not check again. A tensor
 * may say which lookups of a segment make a bag, whose rows are pooled into one vector. */
#pragma once

#include "base/watcher.h"

enum ss_dtype { SS_F32, SS_F16, SS_BF16 };
/* Bytes of one element: 4, 2, 2. */
uint32_t ss_dtype_bytes(enum ss_dtype dtype);
/* "F32", "F16", "BF16"; of all of them NULL-terminated. */
extern const char *const ss_dtypes[];
const char *ss_dtype_name(enum ss_dtype dtype);
/* Element i of an array of that type. */
double ss_dtype_value(enum ss_dtype dtype, const void *values, uint64_t i);

struct ss_tensor {
  const char *name;
  uint64_t rows;      /* 1 .. 2^32-1 */
  uint32_t row_width; /* elements a row, at least 1 */
  enum ss_dtype dtype;
};

/* A tensor without sparsity that the same training step synchronises. */
struct ss_dense {
  const char *name;
  uint64_t bytes;
};

struct ss_trace;

/* The most a trace may say: counts beyond these are refused, so that products of them fit in 64 bits. */
#define SS_RANKS_MAX (UINT32_C(1) << 20)
#define SS_TENSOR_BYTES_MAX (UINT64_C(1) << 53) /* rows * row_width * bytes of an element */

// NOLINTBEGIN(readability-redundant-declaration): what SS_PUBLIC marks stands in library/sparsync.h too, which is
// installed alone
/* Maps and checks the file: header, shapes, offsets and every row id. Hostile files are refused with SS_BAD_INPUT
 * and never read out of bounds. The trace is the caller's, to be closed. */
SS_PUBLIC bool ss_trace_open(const char *path, struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;
/* The same for the bytes of such a file in memory, which stay the caller's and must outlive the trace; `name` stands
 * for the path in messages. */
bool ss_trace_open_memory(const char *name, const void *bytes, size_t size, struct ss_trace **out,
                          struct ss_error *error) SS_MUST_CHECK;
/* NULL is allowed. */
SS_PUBLIC void ss_trace_close(struct ss_trace *trace);
static inline void ss_cleanup_trace(struct ss_trace **trace) {
  ss_trace_close(*trace);
}
#define SS_AUTO_TRACE __attribute__((cleanup(ss_cleanup_trace)))

const char *ss_trace_name(const struct ss_trace *trace); /* the path, or what made it */
const char *ss_trace_source(const struct ss_trace *trace);
SS_PUBLIC uint64_t ss_trace_iterations(const struct ss_trace *trace); /* at least 1 */
SS_PUBLIC uint32_t ss_trace_ranks(const struct ss_trace *trace);      /* at least 1 */
uint32_t ss_trace_gpus_per_node(const struct ss_trace *trace);        /* 0: not recorded */
SS_PUBLIC size_t ss_trace_tensors(const struct ss_trace *trace);
const struct ss_tensor *ss_trace_tensor(const struct ss_trace *trace, size_t tensor);
/* The index of the tensor of that name; an error suggests one. */
bool ss_trace_find(const struct ss_trace *trace, const char *name, size_t *out, struct ss_error *error) SS_MUST_CHECK;
/* Leaves these tensors only, in the order of their names here; of no names, all. */
bool ss_trace_keep(struct ss_trace *trace, const char *const *names, size_t count,
                   struct ss_error *error) SS_MUST_CHECK;
/* A part of the trace: iterations from `first` to *end, and the first *ranks ranks. Zeros become all there are; one
 * that is not within the trace is an error. */
bool ss_trace_window(const struct ss_trace *trace, uint64_t first, uint64_t *end, uint32_t *ranks,
                     struct ss_error *error) SS_MUST_CHECK;
/* A view of the trace with more ranks than were captured: `ranks` of them out of its first `from`, of which there are
 * B = ceil(ranks / from) blocks. Rank r of iteration t looks up what rank r mod from did in iteration
 * t + floor(r / from) * N, where N = floor(iterations / B) is how many iterations the view has: each block has
 * iterations of its own, in their order, and nothing is played twice. ss_trace_widened is N; 0: too many ranks. */
uint64_t ss_trace_widened(const struct ss_trace *trace, uint32_t from, uint32_t ranks);
/* The caller has checked that N is not 0. The lookups stay the trace's, which must outlive the view, and is none
 * itself. A view is read like any trace, but not written. */
bool ss_trace_widen(const struct ss_trace *trace, uint32_t from, uint32_t ranks, struct ss_trace **out,
                    struct ss_error *error) SS_MUST_CHECK;
size_t ss_trace_dense_count(const struct ss_trace *trace);
const struct ss_dense *ss_trace_dense(const struct ss_trace *trace, size_t i);
/* Tokens that rank r processed in iteration t (non-padding words), 0 when the trace does not say. */
uint64_t ss_trace_tokens(const struct ss_trace *trace, uint64_t iteration, uint32_t rank);
/* The JSON text of the training that it was captured from (study/captured.h), unread; NULL: none. */
const char *ss_trace_training(const struct ss_trace *trace);
/* Row id of padding, or -1 when the trace names none. */
int64_t ss_trace_pad_id(const struct ss_trace *trace);

/* Number of lookups in segment (t, r) of a tensor. */
uint64_t ss_trace_count(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank);
/* Copies the segment into out[ss_trace_count(...)]. */
void ss_trace_rows(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank, uint32_t *out);
/* The segment in place when the file holds aligned 32-bit ids, else NULL. */
const uint32_t *ss_trace_rows_mapped(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank);
/* A long list has been read: its pages of the file need not stay in memory. Harmless for traces in memory. */
void ss_trace_release(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank);
/* Lookups of a tensor over all segments. */
uint64_t ss_trace_total(const struct ss_trace *trace, size_t tensor);
bool ss_trace_has_values(const struct ss_trace *trace, size_t tensor);
/* The segment's values, [count * row_width] of *dtype in the order of its rows, aligned; NULL when the tensor has
 * none. Their bits are unchecked: they may be infinite or NaN (ss_trace_values_most). */
const void *ss_trace_values(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank,
                            enum ss_dtype *dtype);

bool ss_trace_has_bags(const struct ss_trace *trace, size_t tensor);
/* Bags of segment (t, r), empty ones too; 0 where the tensor has none. */
uint64_t ss_trace_bags(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank);
/* Where they begin, counted from the segment's first lookup on: bag b has lookups [at[b] - at[0], at[b + 1] - at[0])
 * of the segment; at[ss_trace_bags(...) + 1] in all. NULL when the tensor has none. */
const uint64_t *ss_trace_bag_offsets(const struct ss_trace *trace, size_t tensor, uint64_t iteration, uint32_t rank);
/* Bags of a tensor over all segments. */
uint64_t ss_trace_all_bags(const struct ss_trace *trace, size_t tensor);

/* The largest magnitude of the tensor's values, 0 where it has none; of a view, that of what was captured. One that
 * is infinite or NaN is an error that says where. One pass over the values each time. */
bool ss_trace_values_most(const struct ss_trace *trace, size_t tensor, double *out,
                          struct ss_error *error) SS_MUST_CHECK;

/* xxh64 of the whole file, or of the offsets and rows of a trace built in memory. One pass over the data each time.
 */
uint64_t ss_trace_hash(const struct ss_trace *trace);

/* --- building ------------------------------------------------------------------------------------------- */

/* Values of a tensor's lookups, [total * row_width]; `data` NULL: the tensor has none. */
struct ss_values {
  const void *data;
  enum ss_dtype dtype;
};

/* Bags of a tensor. Those of segment (t, r) are first[t*ranks+r] up to first[t*ranks+r+1]; bag b has the lookups from
 * offsets[b] up to offsets[b+1], counted over all segments: the two say where a segment begins alike. `first` NULL:
 * the tensor has none; `offsets` NULL: the row_source has them. */
struct ss_bags {
  const uint64_t *first;   /* [iterations * ranks + 1] */
  const uint64_t *offsets; /* [first[iterations * ranks] + 1] */
};

/* Row ids that lie elsewhere, read as they are written. */
struct ss_row_source {
  /* Lookups [first, first + count) of a tensor, segment after segment, into out[count]; asked for in order. */
  bool (*read)(void *context, size_t tensor, uint64_t first, uint64_t count, uint32_t *out, struct ss_error *error);
  void *context;
  /* Entries [first, first + count) of a tensor's bag offsets (struct ss_bags); NULL: no tensor has bags. */
  bool (*bags)(void *context, size_t tensor, uint64_t first, uint64_t count, uint64_t *out, struct ss_error *error);
  const struct ss_watcher *watcher; /* told of each tensor, and of rows within it; NULL: nobody */
};

/* Lookups of a trace of one tensor that are made each time they are read, by any thread, and held nowhere. */
struct ss_rows_made {
  void (*rows)(const void *law, uint64_t iteration, uint32_t rank, uint32_t *out);
  const void *law;
};

/* What ss_trace_build and the writer take; the strings and arrays stay the caller's until the call returns.
 * For tensor i, segment (t, r) is rows[i][offsets[i][t*ranks+r] .. offsets[i][t*ranks+r+1]). */
struct ss_trace_content {
  const char *source;
  uint64_t iterations;
  uint32_t ranks;
  size_t tensors;
  const struct ss_tensor *tensor;
  const uint64_t *const *offsets;
  const uint32_t *const *rows;
  const struct ss_row_source *row_source; /* for ss_trace_write, instead of rows; NULL: none */
  const struct ss_rows_made *made; /* for ss_trace_adopt, instead of rows; NULL: none. Such a trace is not written */
  size_t dense_count;
  const struct ss_dense *dense;
  const uint64_t *tokens;         /* [iterations*ranks] or NULL */
  int64_t pad_id;                 /* -1: none */
  uint32_t gpus_per_node;         /* 0: not recorded */
  const char *training;           /* NULL: none */
  const struct ss_values *values; /* one per tensor, or NULL: none has any */
  const struct ss_bags *bags;     /* likewise */
};

/* A trace in memory holding a copy of `content`; the same checks as for a file. */
bool ss_trace_build(const char *name, const struct ss_trace_content *content, struct ss_trace **out,
                    struct ss_error *error) SS_MUST_CHECK;
/* Writes a .safetensors file (whole or not at all), ids as I32 where they fit, else U32, entries aligned to their own
 * elements. With a row_source, memory does not grow with the lookups. */
bool ss_trace_write(const char *path, const struct ss_trace_content *content, struct ss_error *error) SS_MUST_CHECK;
/* The same for a trace; opened from a file with 64-bit ids, it is written with 32-bit ones. */
SS_PUBLIC bool ss_trace_save(const char *path, const struct ss_trace *trace, struct ss_error *error) SS_MUST_CHECK;
// NOLINTEND(readability-redundant-declaration)
/* SPDX-License-Identifier: Apache-2.0 */
