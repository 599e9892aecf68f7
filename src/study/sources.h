/* The scenario's "trace": a file, {"uniform": ...} or {"synth": ...}; opened once, however often a sweep names it. */
#pragma once

#include "base/fields.h"
#include "schemes/input.h"

struct ss_source {
  char *key;              /* the JSON text that names it */
  char *name;             /* the path, "uniform", "synth" or "gradient" */
  struct ss_trace *trace; /* NULL: a gradient, or uniform */
  bool is_gradient;
  struct ss_gradient gradient;
  struct ss_uniform uniform;
  uint64_t hash, seed;
  struct ss_drawn *drawn; /* synthetic lookups that are known; NULL: none */
  bool borrowed;          /* the trace is somebody else's */
};

/* The ways to say a trace: a file, or what to make; and one that has lookups. */
extern const struct ss_field_spec ss_trace_forms[], ss_lookups_forms[];

/* A growing list of opened sources, closed together. */
struct ss_sources {
  struct ss_source **source;
  size_t count;
  const struct ss_sources *like; /* what these have is not opened again: found from the same `base`, and closed later.
                                    NULL: none */
  struct ss_drawn *drawn;        /* synthetic lookups that are known; NULL: none */
};

/* `base` is the scenario's path (NULL: none): a trace that is not found from here is looked for beside it and one
 * folder up. */
bool ss_sources_find(struct ss_sources *sources, struct ss_node node, const char *base, const struct ss_source **out,
                     struct ss_error *error) SS_MUST_CHECK;
/* A trace that a caller has, under a name that documents then know it by; it outlives the sources. A name that is
 * known already is an error. */
bool ss_sources_lend(struct ss_sources *sources, const char *name, struct ss_trace *trace,
                     struct ss_error *error) SS_MUST_CHECK;
void ss_sources_close(struct ss_sources *sources);

/* --- which part of a trace a document means ---------------------------------------------------------------- */

/* Iterations [*first, *end) of `most`: a count (the first so many) or the text "A:B", either of which may be left
 * out. An absent node: from 0 to where *end is already. */
bool ss_iterations_read(struct ss_node node, uint64_t most, uint64_t *first, uint64_t *end,
                        struct ss_error *error) SS_MUST_CHECK;

/* Into tensor[*count], which has room for all of the trace: those that a name or a list of names means; of an absent
 * node all. */
bool ss_tensors_read(struct ss_node node, const struct ss_trace *trace, size_t *tensor, size_t *count,
                     struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
