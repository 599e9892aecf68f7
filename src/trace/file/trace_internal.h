/* What the files of this room share about a trace; others see trace.h. */
#pragma once

#include "base/file.h"
#include "base/json.h"
#include "trace/file/trace.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are mapped as they lie in the file, little-endian; this machine needs a reader that swaps bytes"
#endif

/* Numbers in the JSON header are exact up to here. */
#define SS_TRACE_COUNT_MAX (UINT64_C(1) << 53)

struct ss_tensor_data {
  struct ss_tensor tensor;
  const uint64_t *offsets; /* [iterations * ranks + 1] */
  uint64_t total;
  const uint32_t *rows32; /* one of the two */
  const int64_t *rows64;
  bool rows_signed; /* rows32 was I32: ids of 2^31 and more are negative ones */
  const void *values;
  enum ss_dtype values_dtype;
  struct ss_bags bags;
  uint64_t bag_total;
};

struct ss_trace {
  const struct ss_trace *captured; /* whose lookups these are (ss_trace_widen); NULL: its own */
  uint32_t from;                   /* ranks of it that play */
  struct ss_arena arena, data;     /* own whatever below is not in the mapping */
  struct ss_mapping mapping;
  const unsigned char *bytes; /* the whole file; NULL for a trace built in memory */
  size_t size;
  const char *name, *source;
  const char *training;          /* NULL: none */
  uint64_t iterations, segments; /* segments = iterations * ranks */
  uint32_t ranks, gpus_per_node;
  size_t tensors, dense_count;
  struct ss_tensor_data *tensor;
  struct ss_dense *dense;
  uint64_t *tokens; /* [segments of what is captured] or NULL */
  int64_t pad_id;
  const struct ss_rows_made *made;        /* NULL: the tensors have rows */
  const struct ss_row_source *row_source; /* of a trace that is only written: its tensors have no rows here */
};

/* An empty trace called `name`; ss_trace_close frees it. NULL when memory is short. */
struct ss_trace *ss_trace_new(const char *name);

/* ss_trace_build without its copy: offsets, rows and values lie in `data`, which on success passes to the trace and
 * is left empty. */
bool ss_trace_adopt(const char *name, const struct ss_trace_content *content, struct ss_arena *data,
                    struct ss_trace **out, struct ss_error *error) SS_MUST_CHECK;

/* What a file holds of a tensor NAME: entries "NAME.offsets" and so on. */
enum ss_trace_part { SS_PART_OFFSETS, SS_PART_ROWS, SS_PART_VALUES, SS_PART_BAGS, SS_PART_BAG_OFFSETS, SS_PARTS };
extern const char *const ss_trace_parts[SS_PARTS];

/* Fills everything but the tensors' data from the file's `__metadata__`. */
bool ss_trace_read_metadata(struct ss_trace *trace, struct ss_node metadata, struct ss_error *error) SS_MUST_CHECK;

/* Checks, alike for files and for what is built in memory: the counts and names first, then, once the data stand,
 * offsets and every row id. */
bool ss_trace_check_counts(const struct ss_trace *trace, struct ss_error *error) SS_MUST_CHECK;
bool ss_trace_check_tensor(const struct ss_trace *trace, size_t tensor, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
