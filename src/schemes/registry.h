/* One line a scheme; registry.c lists them. */
#ifndef SS_SCHEMES_REGISTRY_H
#define SS_SCHEMES_REGISTRY_H

#include "schemes/scheme.h"

extern const struct ss_scheme ss_scheme_allreduce;
extern const struct ss_scheme ss_scheme_allgather;
extern const struct ss_scheme ss_scheme_ps;
extern const struct ss_scheme ss_scheme_alltoall;

#endif
