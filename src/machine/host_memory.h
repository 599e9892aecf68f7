/* What collectives cost within a rank's memory where CPUs sum: a cluster's "memory", as `calibrate network` fits it
 * (docs/model.md, "Memory of hosts"). */
#pragma once

#include "base/fields.h"

enum { SS_HOST_PIECES = 4 };
/* B: glibc's malloc gives such buffers, and larger ones, back to the system: with its header such a one is beyond
 * DEFAULT_MMAP_THRESHOLD_MAX. */
#define SS_GIVEN_BACK (UINT64_C(32) << 20)

/* Of vectors up to `up_to` bytes that no earlier piece covers. */
struct ss_host_piece {
  uint64_t up_to; /* B of the whole vector, which fits caches or not; UINT64_MAX in the last */
  double sum;     /* s a byte that comes in and is added: two are read and one is written; a copy takes 2/3 of it */
  double page;    /* s a byte of a buffer of SS_GIVEN_BACK or more, which is given back after each call, so that
                     every page of it comes anew */
};

struct ss_host_memory {
  uint32_t pieces; /* 0: nothing is said */
  struct ss_host_piece piece[SS_HOST_PIECES];
};

/* Buffers of all bytes that a library allocates for a call and fills, how often it copies all bytes, and buffers in
 * which nothing but what is received by halving is written: pages that nobody writes never come. `halved`: the same
 * where ranks that leave send half of what they have, and not all. */
struct ss_host_moves {
  uint32_t buffers, copies, halving, halved;
};

extern const struct ss_object_spec ss_host_memory_fields;
/* An absent node says nothing. */
bool ss_host_memory_read(struct ss_node node, struct ss_host_memory *out, struct ss_error *error) SS_MUST_CHECK;
/* The costs at a vector of so many bytes; all 0 where nothing is said. */
struct ss_host_piece ss_host_at(const struct ss_host_memory *memory, uint64_t bytes);
/* Buffers that are filled, of the rank that fills most: of `halving` ones half where ranks are a power of two, for
 * later messages lie within the first one's half; else all, by ranks that take in another one first. Of `halved` ones
 * half also where one rank is left over, since who takes its half in goes on with the same one. */
double ss_host_filled(struct ss_host_moves moves, uint32_t ranks);
/* s that the pages of so many filled buffers of `bytes` take. */
double ss_host_pages(const struct ss_host_piece *piece, uint64_t bytes, double filled);
/* SPDX-License-Identifier: Apache-2.0 */
