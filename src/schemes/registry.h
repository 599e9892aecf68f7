/* One line a scheme; registry.c lists them. */
#ifndef SS_SCHEMES_REGISTRY_H
#define SS_SCHEMES_REGISTRY_H

#include "schemes/scheme.h"

extern const struct ss_scheme ss_scheme_allreduce;
extern const struct ss_scheme ss_scheme_allgather;
extern const struct ss_scheme ss_scheme_ps;
extern const struct ss_scheme ss_scheme_alltoall;
extern const struct ss_scheme ss_scheme_sparcml_rd;
extern const struct ss_scheme ss_scheme_sparcml_split;
extern const struct ss_scheme ss_scheme_sparcml_dsar;
extern const struct ss_scheme ss_scheme_omnireduce;
extern const struct ss_scheme ss_scheme_zen;
extern const struct ss_scheme ss_scheme_topka;
extern const struct ss_scheme ss_scheme_topkdsa;
extern const struct ss_scheme ss_scheme_gtopk;
extern const struct ss_scheme ss_scheme_oktopk;
extern const struct ss_scheme ss_scheme_s2;
extern const struct ss_scheme ss_scheme_spardl;
extern const struct ss_scheme ss_scheme_design;

#endif
