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
/* SPDX-License-Identifier: Apache-2.0 */
