/* Ranks beyond those captured: later iterations play as further ranks (ss_trace_widen), and the captured ranks,
 * played by half of them, say how far off that is (docs/ranges.md, "Ranks beyond those captured"). */
#pragma once

#include "study/compute.h"
#include "study/sources.h"

/* One rank count beyond those of a trace. */
struct ss_extrapolation {
  const struct ss_trace *captured;
  uint32_t ranks, from, merge; /* played, and captured; both of so many ranks of the trace each */
  struct ss_trace *wide;       /* the captured ranks as `ranks` of them */
  struct ss_trace *half;       /* the first half of the captured ranks as `from` of them; NULL: there is none */
};

/* Those of a study: each is made once. A zeroed struct has none. */
struct ss_extrapolations {
  struct ss_extrapolation **list;
  size_t count;
};
/* Finds or makes it. The caller has checked that the trace has iterations enough. */
bool ss_extrapolation_find(struct ss_extrapolations *all, const struct ss_extrapolation *asked,
                           const struct ss_extrapolation **out, struct ss_error *error) SS_MUST_CHECK;
void ss_extrapolations_free(struct ss_extrapolations *all);

/* The most ranks that so many iterations can be had of. */
uint64_t ss_extrapolation_most(const struct ss_trace *trace, uint32_t from, uint64_t iterations);

/* The error that these ranks are more than the source has; the document's `root` says how many. */
bool ss_extrapolation_refuse(const struct ss_extrapolation *asked, struct ss_node root,
                             const struct ss_source *source, struct ss_error *error);

/* Tells that the document's `root` asks for further ranks, if it does, where none are played. */
void ss_extrapolation_tell_idle(const struct ss_extrapolations *all, struct ss_node root,
                                const struct ss_notice *notice);

/* Plays the captured ranks of the group's points, and the same as half of them say: fills in what results have of it.
 * Nothing of points whose ranks were all captured, or where half of them cannot play. */
bool ss_extrapolation_judge(const struct ss_computing *all, const struct ss_point_group *group,
                            struct ss_worker *worker, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
