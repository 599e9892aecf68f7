/* Workloads: what one training step computes, and which gradients it has to synchronise (docs/training.md).
 *
 * A workload is a list of modules, read from models/workloads/. An embedding's gradient has the rows that were looked
 * up; where the lookups come from is its feed. */
#pragma once

#include "base/json.h"
#include "schemes/input.h"
#include "trace/make/synth.h"

enum { SS_MODULES_MAX = 4096 };

enum ss_feed_kind {
  SS_FEED_TENSOR, /* tensors of the scenario's trace */
  SS_FEED_SYNTH,  /* Zipf-distributed lookups of its own */
  SS_FEED_COUNTS  /* numbers of rows, as papers print them */
};

struct ss_feed {
  enum ss_feed_kind kind;
  const char *const *tensor; /* [tensors] names; several: both sides of a shared table */
  size_t tensors;
  struct ss_synth synth; /* without iterations and ranks */
  bool fitted;           /* its law was solved for statistics */
  uint64_t lookups, coalesced, prior;
  enum ss_overlap overlap;
};

struct ss_module {
  const char *name;
  bool embedding;
  uint64_t bytes;           /* of its gradient, dense; 0: it has none */
  double forward, backward; /* s, of a micro-batch */
  double optimizer;         /* s an iteration, before the forward pass */
  const uint32_t *after;    /* [afters] indices of modules */
  uint32_t afters;
  uint64_t rows; /* of embeddings */
  uint32_t row_width;
  struct ss_feed feed;
};

/* A number that somebody estimated, and how. */
struct ss_workload_estimate {
  const char *module; /* NULL: of all modules that do not say otherwise */
  const char *field, *how;
};

struct ss_workload {
  struct ss_arena arena; /* of all that follows */
  const char *name, *summary;
  enum ss_dtype dtype; /* of all gradients */
  double states;       /* of the optimizer, times as many bytes as the parameters have */
  double tokens;       /* a rank and iteration; NaN: the trace knows */
  uint64_t iterations; /* of synthetic lookups; 0: not given */
  struct ss_module *module;
  uint32_t modules;
  const struct ss_workload_estimate *estimate;
  size_t estimates;
};

/* A whole number of bytes up to 2^53: below what products of them can hold. */
bool ss_bytes_read(struct ss_node node, uint64_t *out, struct ss_error *error) SS_MUST_CHECK;

extern const struct ss_object_spec ss_workload_fields;
/* Reads a workload object; unknown keys, modules that nobody defines, cycles and negative times are errors. What
 * `out` holds is its own, to be freed also after a failure. */
bool ss_workload_read(struct ss_node node, struct ss_workload *out, struct ss_error *error) SS_MUST_CHECK;
void ss_workload_free(struct ss_workload *workload);

/* The order of forward passes into order[modules]: topological, ties by list order; or the embeddings first, in list
 * order, then the rest so (EmbRace §4.2.1). A workload that was read has one. */
bool ss_workload_order(const struct ss_workload *workload, bool embeddings_first, uint32_t *order,
                       struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
