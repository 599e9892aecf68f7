/* How sure a machine's costs are: the components of a time, by which factor each may be off, and the machines of
 * which one component costs more (docs/ranges.md, "Ranges"). */
#pragma once

#include "machine/cluster.h"

struct ss_device;

/* What a time is made of. Each component costs the more, the more one number of the machine, or one class of numbers,
 * is off; all together are the whole time, as long as no message overtakes another. */
enum ss_component {
  SS_LATENCY,  /* of messages between nodes; of chains alone, where exchanges have a class of their own */
  SS_TRANSFER, /* of their bytes */
  SS_EXCHANGE_LATENCY,
  SS_EXCHANGE_TRANSFER,
  SS_INTRA_LATENCY, /* inside nodes */
  SS_INTRA_TRANSFER,
  SS_COMPUTING, /* kernels */
  SS_PASSES,    /* forward and backward passes of a training; no number of the machine */
  SS_WINDOW,    /* what the other window adds, less than 0 where it is faster: of a machine has one or the other */
  SS_COMPONENTS
};
/* What a user measures to know it better: "the latency between nodes". */
const char *ss_component_words(enum ss_component component);

/* By which factors, each at least 1, the components of a machine may be off: `of` by the machine's numbers, the same
 * for all schemes; `own` by what a scheme makes of that kind of messages or kernels, for each scheme apart. */
struct ss_uncertainty {
  struct ss_spread of[SS_COMPONENTS], own[SS_COMPONENTS];
  bool doubtful;          /* the machine's fit is: nobody should trust its numbers */
  uint32_t other_window;  /* that half of the draws have, where SS_WINDOW is uncertain */
  struct ss_spread model; /* of the model itself, where every number is known: of each scheme apart */
};
/* Is it of messages, and not of what ranks compute? */
bool ss_component_of_links(enum ss_component component);
/* Is the component uncertain, either way? */
bool ss_component_uncertain(const struct ss_uncertainty *uncertainty, enum ss_component component);
/* Nothing is uncertain. */
extern const struct ss_uncertainty ss_certain;

/* Of a run of so many ranks. A fitted cluster says it by class of what was measured (machine/accuracy.h); of others
 * the "source" of a number does: what nobody gives a source is taken as it is. `collective`: of enum ss_collective
 * what is run, which may have been measured itself; SS_COLLECTIVES: a scheme of another kind. */
struct ss_uncertainty ss_uncertainty_of(const struct ss_cluster *cluster, const struct ss_device *device,
                                        uint32_t ranks, uint32_t collective);
/* Messages of that scheme are off by so much more, as they are larger, or smaller, than those that were measured
 * (ss_accuracy_beyond). */
void ss_uncertainty_beyond(struct ss_uncertainty *uncertainty, struct ss_spread by);
/* Of a call of a collective that libraries have, on a fitted cluster: its class is that of the whole time, which is
 * all taken as SS_TRANSFER. False: the cluster has no accuracy, or its numbers were replaced. */
bool ss_uncertainty_of_call(const struct ss_cluster *cluster, const struct ss_accuracy_question *asked,
                            struct ss_uncertainty *out);

/* Of a training: the model is off in what it predicts, messages and kernels, and not in passes, which are given. */
struct ss_uncertainty ss_uncertainty_of_training(const struct ss_cluster *cluster, const struct ss_device *device,
                                                 uint32_t ranks);

/* Where a number lies, most likely: 5% and 95% of the draws; NaN: nobody knows, or nothing is uncertain. */
struct ss_likely {
  double low, high;
};

static inline bool ss_spread_certain(const struct ss_spread *spread) {
  return !(spread->most > 1);
}
/* A factor of the spread whose logarithms are `half` and `most`, for u from 0 to 1: half of all lie within the one,
 * 90% within the other, up and down alike; straight lines between the logarithms, and on to the end. */
double ss_spread_factor(double half, double most, double u);
/* Both at once, independent of each other. */
struct ss_spread ss_spread_join(struct ss_spread a, struct ss_spread b);

/* --- components of a time --------------------------------------------------------------------------------- */

/* s of each component. */
struct ss_components {
  double s[SS_COMPONENTS];
};
/* The time in a draw in which components cost so many times as much: at least 0. */
double ss_components_time(const struct ss_components *components, double time, const double factor[SS_COMPONENTS]);

/* The component costs `factor` times as much. */
void ss_cluster_scale_component(struct ss_cluster *cluster, enum ss_component component, double factor);
/* The cluster on which it does; exchanges are told from chains where they are uncertain apart. SS_WINDOW: the cluster
 * that has the other window. */
struct ss_cluster ss_cluster_dearer(const struct ss_cluster *cluster, const struct ss_uncertainty *uncertainty,
                                    enum ss_component component, double factor);

/* The machines of which one uncertain component each costs `factor` times as much. */
struct ss_variants {
  uint32_t count;
  enum ss_component of[SS_COMPONENTS];
  double factor[SS_COMPONENTS];
  double pace[SS_COMPONENTS]; /* how many times as long kernels take */
  struct ss_cluster cluster[SS_COMPONENTS];
};
/* How many there are. */
uint32_t ss_variants_count(const struct ss_uncertainty *uncertainty);
void ss_variants_make(struct ss_variants *out, const struct ss_cluster *cluster,
                      const struct ss_uncertainty *uncertainty);
/* The components of `time`, given the time on each variant: what grows with a component is its own. */
struct ss_components ss_variants_split(const struct ss_variants *variants, double time, const double *on);
/* SPDX-License-Identifier: Apache-2.0 */
