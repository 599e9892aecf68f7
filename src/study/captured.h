/* Captures: traces that say of which training they are (docs/traces.md, "Captures"), so that `train` can predict what
 * was measured before it predicts anything else. */
#pragma once

#include "base/fields.h"
#include "base/notice.h"
#include "study/sources.h"
#include "train/training.h"

struct ss_captured {
  struct ss_doc *doc; /* {"training": ...}, under the file's name: errors in it say where; NULL: no capture */
  const struct ss_source *source;
  const char *run, *backend, *device; /* 32 hex digits; the others NULL: not said */
  uint32_t world, gpus_per_node;      /* ranks that ran, all of them in the trace; gpus_per_node 0: not said */
  uint32_t accumulation;              /* micro-batches an iteration */
  struct ss_shared_cores cores;       /* ranks 0: not said */
  struct ss_node workload, system;    /* as `train` reads them: both are good ones */
  struct ss_node unknown;             /* texts */
  uint64_t steps, warmup;             /* iterations that were timed, and others before them */
  double time, low, high;             /* s: their median, and between which two 90% of them lie */
  double quiet;                       /* s: an iteration without communication; NaN: not measured */
  double sums;                        /* s: what the sums of all buckets took, each by itself; NaN: not measured */
  size_t buckets;
};

extern const struct ss_object_spec ss_captured_fields;

/* Reads the text of a trace's "training"; `name` stands for the file in messages. What `out` holds is its own, to be
 * closed also after a failure. */
bool ss_captured_read(const char *name, const char *text, struct ss_captured *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* The capture that the node names, all ranks of which must be in it. */
bool ss_captured_find(struct ss_sources *sources, struct ss_node node, const char *base, struct ss_captured *out,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_captured_close(struct ss_captured *capture);

/* A document with a "capture" has its trace, and no other; and it needs a cluster. */
bool ss_captured_name_trace(struct ss_doc *doc, struct ss_error *error) SS_MUST_CHECK;
/* Has a cluster with so many ranks on a node another layout than what ran? What was measured is then no judge. */
bool ss_captured_elsewhere(const struct ss_captured *capture, double per_node);
/* Says so where the cluster, an object, has other nodes than those that ran. */
void ss_captured_tell_nodes(const struct ss_captured *capture, struct ss_node cluster,
                            const struct ss_notice *notice);
/* SPDX-License-Identifier: Apache-2.0 */
