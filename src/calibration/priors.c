#include "base/data.h"
#include "base/fields.h"
#include "calibration/fit.h"

static const struct ss_field_spec prior_fields[] = {
    {"latency", NULL, SS_IS_FROM_0, SS_STORED(struct ss_way_prior, latency)},
    {"latency_spread", NULL, SS_IS_FROM_0, SS_STORED(struct ss_way_prior, latency_spread)},
    {"byte_time", NULL, SS_IS_FROM_0, SS_STORED(struct ss_way_prior, byte_time)},
    {"byte_time_spread", NULL, SS_IS_FROM_0, SS_STORED(struct ss_way_prior, byte_time_spread)},
    {.name = NULL}};
static const struct ss_object_spec prior_spec = {.field = prior_fields};

bool ss_way_priors_read(double card_rate, struct ss_way_prior out[SS_COST_KINDS], size_t *count,
                        struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  double fast;
  struct ss_node from;
  if (!ss_data_open("measured", "priors", NULL, &doc, error)) return false;
  const struct ss_node root = ss_doc_root(doc);
  if (!ss_node_need(root, "fast_from", &from, error) || !ss_node_positive(from, SS_RATE, &fast, error)) return false;
  const struct ss_node list = ss_node_get(root, card_rate >= fast ? "fast" : "slow");
  *count = 0;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++) {
    const struct ss_node node = ss_node_get(list, ss_cost_kind_keys[kind]);
    if (!ss_node_present(node)) continue;
    struct ss_way_prior *p = &out[(*count)++];
    *p = (struct ss_way_prior){.kind = kind};
    if (!ss_object_read(&prior_spec, node, p, error)) return false;
    p->absolute = kind == SS_COST_INTER || (kind >= SS_COST_START && kind < SS_COST_WAY);
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
