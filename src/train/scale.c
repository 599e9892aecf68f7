#include "train/scale.h"

const char *const ss_scaled_names[] = {"compute", "latency", "intra_bandwidth", "kernels", "lookups",
                                       "prior",   "skew",    "buckets",         NULL};

static const char *scaled_name(size_t number) {
  return ss_scaled_names[number];
}
static const struct ss_field_spec a_factor = {NULL, NULL, SS_IS_SHARE, .most = 1e6};
const struct ss_object_spec ss_scale_fields = {.others = &a_factor, .choice = scaled_name};

bool ss_scale_read(struct ss_node node, struct ss_scale *out, struct ss_error *error) {
  for (size_t i = 0; i < SS_SCALED; i++) out->factor[i] = 1;
  if (!ss_node_present(node)) return true;
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "expected factors by name, say {\"latency\": 2}");
  if (!ss_node_keys(node, ss_scaled_names, error)) return false;
  for (size_t i = 0; i < SS_SCALED; i++) {
    const struct ss_node factor = ss_node_get(node, ss_scaled_names[i]);
    if (!ss_node_present(factor)) continue;
    if (!ss_node_positive(factor, SS_RATIO, &out->factor[i], error)) return false;
    if (out->factor[i] > 1e6 || out->factor[i] < 1e-6)
      return ss_node_fail(factor, error, "%g: factors from 1e-6 to 1e6 make sense", out->factor[i]);
  }
  return true;
}

void ss_scale_cluster(const struct ss_scale *scale, struct ss_cluster *cluster) {
  const struct ss_cluster_factors factors = {.latency = scale->factor[SS_SCALED_LATENCY],
                                             .byte_time = 1,
                                             .intra_bandwidth = scale->factor[SS_SCALED_INTRA_BANDWIDTH]};
  ss_cluster_scale(cluster, &factors);
}

void ss_scale_device(const struct ss_scale *scale, struct ss_device *device) {
  const double factor = 1 / scale->factor[SS_SCALED_KERNELS];
  ss_device_scale(device, factor);
}

/* At least one row, at most `most`. */
static uint64_t scaled(uint64_t rows, double factor, uint64_t most) {
  const double value = fmin(fmax(round((double)rows * factor), 1), 0x1p53);
  return (uint64_t)value < most ? (uint64_t)value : most;
}

static void scale_counts(const struct ss_scale *scale, struct ss_module *m) {
  const double rows = scale->factor[SS_SCALED_LOOKUPS], prior = scale->factor[SS_SCALED_PRIOR];
  struct ss_feed *feed = &m->feed;
  const bool none = feed->prior == 0;
  if (rows != 1) {
    feed->lookups = scaled(feed->lookups, rows, UINT64_MAX);
    feed->coalesced = scaled(feed->coalesced, rows, m->rows < feed->lookups ? m->rows : feed->lookups);
  }
  if (rows * prior != 1 || feed->prior > feed->coalesced)
    feed->prior = none ? 0 : scaled(feed->prior, rows * prior, feed->coalesced);
}

/* At most 20, as an exponent may be. */
static void scale_law(double skew, struct ss_synth *synth) {
  synth->zipf = fmin(synth->zipf * skew, 20);
  if (synth->hot_rows) synth->hot_rows = scaled(synth->hot_rows, 1 / skew, synth->rows);
}

void ss_scale_workload(const struct ss_scale *scale, struct ss_workload *workload) {
  const double rows = scale->factor[SS_SCALED_LOOKUPS], skew = scale->factor[SS_SCALED_SKEW];
  for (uint32_t i = 0; i < workload->modules; i++) {
    struct ss_module *m = &workload->module[i];
    if (!m->embedding) continue;
    if (m->feed.kind == SS_FEED_COUNTS) scale_counts(scale, m);
    if (m->feed.kind == SS_FEED_SYNTH && rows != 1)
      m->feed.synth.lookups = scaled(m->feed.synth.lookups, rows, UINT64_MAX);
    if (m->feed.kind == SS_FEED_SYNTH && !m->feed.fitted && skew != 1) scale_law(skew, &m->feed.synth);
  }
}

void ss_scale_system(const struct ss_scale *scale, struct ss_system *system) {
  const double factor = scale->factor[SS_SCALED_BUCKETS];
  if (system->bucket_estimated && system->bucket && factor != 1)
    system->bucket = scaled(system->bucket, factor, SS_TENSOR_BYTES_MAX);
}
/* SPDX-License-Identifier: Apache-2.0 */
