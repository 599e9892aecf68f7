/* Factors on what somebody estimated, to see what follows from it: a scenario's "scale" (docs/training.md). */
#pragma once

#include "machine/cluster.h"
#include "machine/device.h"
#include "train/system.h"
#include "train/workloads.h"

enum ss_scaled {
  SS_SCALED_COMPUTE,         /* forward and backward times */
  SS_SCALED_LATENCY,         /* of all links */
  SS_SCALED_INTRA_BANDWIDTH, /* inside a node */
  SS_SCALED_KERNELS,         /* the device's speed */
  SS_SCALED_LOOKUPS,         /* rows that embeddings look up, coalesced and prior ones too, where no trace has them */
  SS_SCALED_PRIOR,           /* prior rows alone */
  SS_SCALED_SKEW, /* of rows that are drawn: exponents of Zipf's law, and (inversely) how many rows a hot set has */
  SS_SCALED_BUCKETS, /* of systems whose source says that their bucket is estimated */
  SS_SCALED
};
extern const char *const ss_scaled_names[]; /* by the above, NULL-terminated */

struct ss_scale {
  double factor[SS_SCALED]; /* above 0 */
};

extern const struct ss_object_spec ss_scale_fields;
/* An object of factors by name. */
bool ss_scale_read(struct ss_node node, struct ss_scale *out, struct ss_error *error) SS_MUST_CHECK;

void ss_scale_cluster(const struct ss_scale *scale, struct ss_cluster *cluster);
void ss_scale_device(const struct ss_scale *scale, struct ss_device *device);
/* All but the compute times, which ss_iterate_options scales. */
void ss_scale_workload(const struct ss_scale *scale, struct ss_workload *workload);
void ss_scale_system(const struct ss_scale *scale, struct ss_system *system);
/* SPDX-License-Identifier: Apache-2.0 */
