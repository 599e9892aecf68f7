/* The one list of schemes, in the order of `list schemes`: who adds a scheme adds a line. X(allreduce) stands for the
 * constant ss_scheme_allreduce of some file here. */
#pragma once

#include "schemes/scheme.h"

#define SS_SCHEMES(X)                                                                                                \
  X(allreduce)                                                                                                       \
  X(allgather)                                                                                                       \
  X(ps)                                                                                                              \
  X(alltoall)                                                                                                        \
  X(replicas)                                                                                                        \
  X(sparcml_rd)                                                                                                      \
  X(sparcml_split)                                                                                                   \
  X(sparcml_dsar)                                                                                                    \
  X(omnireduce)                                                                                                      \
  X(zen)                                                                                                             \
  X(topka)                                                                                                           \
  X(topkdsa)                                                                                                         \
  X(gtopk)                                                                                                           \
  X(oktopk)                                                                                                          \
  X(s2)                                                                                                              \
  X(spardl)                                                                                                          \
  X(design)

#define SS_DECLARE_SCHEME(name) extern const struct ss_scheme ss_scheme_##name;
SS_SCHEMES(SS_DECLARE_SCHEME)
#undef SS_DECLARE_SCHEME

/* All schemes; NULL-terminated. */
const struct ss_scheme *const *ss_schemes(void);
/* By name; what follows a ':' is the scheme's to read. NULL: there is none. */
const struct ss_scheme *ss_scheme_find(const char *name);
/* Which collective of libraries (of enum ss_collective) it is, which those may have measured; SS_COLLECTIVES: none.
 */
uint32_t ss_scheme_collective(const struct ss_scheme *scheme);
/* B of such a call in which all ranks together send so many: what each ends with. */
uint64_t ss_scheme_call_bytes(const struct ss_setting *setting, uint32_t ranks, double sent);
/* SPDX-License-Identifier: Apache-2.0 */
