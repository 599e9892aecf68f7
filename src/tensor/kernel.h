/* The tensor kernels by name: what devices measure (kernels/kernel_table.h), what devices' files have times of
 * (machine/device.h), what schemes charge (sim/play.h), and what exec counts when it really runs them.
 *
 * The work of a call is how many elements it goes through and how many bytes it reads and writes at the least; a
 * device's time is t0 + per_element * elements + per_byte * bytes. Elements are entries or rows, not multiplied by
 * their width; bytes are. (docs/model.md, "Kernels") */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum ss_kernel_kind {
  SS_KERNEL_MERGE_SUM,            /* the sum of sparse operands; elements: of all operands */
  SS_KERNEL_DENSE_ADD,            /* of two dense tensors, or sketches; elements: of the sum */
  SS_KERNEL_COALESCE,             /* lookups, sorted and distinct; elements: lookups */
  SS_KERNEL_TOP_K,                /* the k largest entries; elements: what is kept, as ss_top_k_elements has it */
  SS_KERNEL_HASH_PARTITION,       /* of rows, stably; elements: rows */
  SS_KERNEL_HIERARCHICAL_HASHING, /* ZEN's Algorithm 1; elements: rows */
  SS_KERNEL_BITMAP_ENCODE,        /* elements: entries, of these and the following formats */
  SS_KERNEL_BITMAP_DECODE,
  SS_KERNEL_HASH_BITMAP_ENCODE, /* ZEN's Algorithm 2 */
  SS_KERNEL_HASH_BITMAP_DECODE,
  SS_KERNEL_BLOCK_ENCODE,
  SS_KERNEL_BLOCK_DECODE,
  SS_KERNEL_SKETCH_ADD, /* elements: entries times hashes */
  SS_KERNEL_SKETCH_DECODE,
  SS_KERNEL_PACK, /* copies that put together entries: a message's, what a filter lets pass; elements: entries read */
  SS_KERNELS
};
const char *ss_kernel_name(enum ss_kernel_kind kernel);

/* What calls of a kernel amount to. */
struct ss_kernel_work {
  uint64_t calls, elements, bytes;
};

/* Each entry that is kept is given an index, while the others are passed over: those are bytes. Who keeps nothing has
 * looked. */
static inline uint64_t ss_top_k_elements(uint64_t from, uint64_t kept) {
  return kept == 0 && from > 0 ? 1 : kept;
}

/* The same of all calls that an endpoint was charged, each by its own size, and the seconds that they came to. */
struct ss_kernel_total {
  uint64_t calls, elements, bytes;
  double seconds;
};

static inline void ss_kernel_total_add(struct ss_kernel_total *sum, const struct ss_kernel_total *more) {
  sum->calls += more->calls;
  sum->elements += more->elements;
  sum->bytes += more->bytes;
  sum->seconds += more->seconds;
}

#ifndef __cplusplus
/* Where calls of this thread are counted, [SS_KERNELS]; NULL, as at first: nowhere. Bytes are not. */
extern _Thread_local struct ss_kernel_work *ss_kernel_counts;
/* Where seconds of this thread's kernels are added up, [SS_KERNELS]; NULL, as at first: nowhere. */
extern _Thread_local double *ss_kernel_seconds;

/* What follows stands for something else than it is: it is neither counted nor timed by itself until that is resumed.
 */
struct ss_kernel_paused {
  struct ss_kernel_work *counts;
  double *seconds;
};
static inline struct ss_kernel_paused ss_kernel_pause(void) {
  const struct ss_kernel_paused paused = {ss_kernel_counts, ss_kernel_seconds};
  ss_kernel_counts = 0;
  ss_kernel_seconds = 0;
  return paused;
}
static inline void ss_kernel_resume(struct ss_kernel_paused paused) {
  ss_kernel_counts = paused.counts;
  ss_kernel_seconds = paused.seconds;
}

/* Where seconds of this thread are added up that are no part of a scheme; NULL, as at first: nowhere. */
extern _Thread_local double *ss_seconds_aside;

/* What follows is no part of a scheme (a proof, a gradient that is made up, what lies side by side anyway): until it
 * ends it is neither counted nor timed. Such parts may lie in each other. */
struct ss_aside {
  struct ss_kernel_paused kernels;
  double *seconds, since;
};
struct ss_aside ss_aside_begin(void);
void ss_aside_end(const struct ss_aside *aside);
/* From here to the end of the block. */
#define SS_ASIDE const struct ss_aside ss_aside_here __attribute__((unused, cleanup(ss_aside_end))) = ss_aside_begin()

/* A kernel of this room ran; one that had nothing to do is not counted. */
static inline void ss_kernel_ran(enum ss_kernel_kind kernel, uint64_t elements) {
  if (!ss_kernel_counts || elements == 0) return;
  ss_kernel_counts[kernel].calls++;
  ss_kernel_counts[kernel].elements += elements;
}

/* The time of a kernel, from here to the end of the block: SS_KERNEL_TIMED(SS_KERNEL_TOP_K); What other kernels take
 * within it, and what is set aside, is not its own. */
struct ss_kernel_span {
  double *seconds; /* NULL: nobody asks */
  double since, aside, within;
};
struct ss_kernel_span ss_kernel_span_begin(enum ss_kernel_kind kernel);
void ss_kernel_span_end(const struct ss_kernel_span *span);

static inline void ss_kernel_span_cleanup(const struct ss_kernel_span *span) {
  if (span->seconds) ss_kernel_span_end(span);
}
#define SS_KERNEL_TIMED_IF(condition, kernel)                                                                        \
  const struct ss_kernel_span ss_kernel_span_here __attribute__((unused, cleanup(ss_kernel_span_cleanup))) =         \
      ss_kernel_seconds && (condition) ? ss_kernel_span_begin(kernel) : (struct ss_kernel_span) {                    \
    0                                                                                                                \
  }
#define SS_KERNEL_TIMED(kernel) SS_KERNEL_TIMED_IF(true, kernel)
#endif
/* SPDX-License-Identifier: Apache-2.0 */
