/* Closed forms where there is no trace: what is supposed of the tensor, and the symbols that follow from it. */
#pragma once

#include "cost/forms.h"
#include "machine/cluster.h"

enum ss_gamma_kind { SS_GAMMA_RANDOM, SS_GAMMA_FULL, SS_GAMMA_NONE, SS_GAMMA_LIST };
extern const char *const ss_gamma_names[]; /* by enum ss_gamma_kind: "random", ...; NULL-terminated */
enum { SS_GAMMAS_MAX = 4096 };

struct ss_supposition {
  double bytes;                                 /* of the dense tensor */
  double density, lookups;                      /* shares of its rows; lookups NaN: as density */
  uint64_t row_width, value_bytes, index_bytes; /* elements; B */
  uint64_t servers, k, teams, block;            /* 0: not said */
  enum ss_gamma_kind kind;                      /* how rows of several ranks meet: */
  double gamma[SS_GAMMAS_MAX];                  /* [gammas] the densification ratio of so many ranks */
  size_t gammas;
};

/* Rows of one element of 4 B, indices of 4 B; size and density are left to say. */
#define SS_SUPPOSITION_DEFAULTS                                                                                      \
  { .lookups = NAN, .row_width = 1, .value_bytes = 4, .index_bytes = 4 }

/* What one form is evaluated with; not to be moved, as the symbols point into it. */
struct ss_supposed {
  const struct ss_supposition *of;
  struct ss_symbols symbols;
};
/* Lookups below the density, or a gamma of k ranks that is not from 1 to k, are errors: no tensor has them. */
bool ss_suppose(const struct ss_supposition *supposition, const struct ss_setting *setting,
                const struct ss_cluster *cluster, uint32_t ranks, struct ss_supposed *out,
                struct ss_error *error) SS_MUST_CHECK;

/* Which closed forms, and where. */
struct ss_costs_request {
  const struct ss_supposition *with;
  const struct ss_cluster *cluster;
  const uint32_t *ranks; /* [rank_counts] */
  size_t rank_counts;
  const char *const *scheme; /* [schemes] their names, or as ss_duel_side_read takes them; none: all but the many
                                points of the design space */
  size_t schemes;
  bool design; /* these too */
};
/* Latencies in s and bandwidths in B/s of the cluster's links: "latency", "bandwidth" and, of nodes of several GPUs,
 * "intra_latency", "intra_bandwidth" (else null). NULL: memory is short. */
struct cJSON *ss_supposed_links_json(const struct ss_cluster *cluster);
/* {"overlap", "links", "points": [...]}: the tree that `cost --format json` prints, the caller's; NULL: an error,
 * also where no form holds. */
struct cJSON *ss_costs_json(const struct ss_costs *costs, const struct ss_costs_request *wanted,
                            struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
