#include "machine/network.h"

static const struct ss_network_model *const models[] = {&ss_network_fair, &ss_network_alpha_beta};
static const char *const names[] = {"fair", "alpha-beta", NULL};

const char *const ss_link_kind_names[] = {"egress",   "ingress", "nic-out",  "nic-in",  "uplink",
                                          "downlink", "bus",     "host-out", "host-in", NULL};

const char *const *ss_network_model_names(void) {
  return names;
}

const struct ss_network_model *ss_network_model_of(const struct ss_cluster *cluster) {
  if (ss_cluster_unshared(cluster)) return &ss_network_alpha_beta;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (strcmp(models[i]->name, cluster->model) == 0) return models[i];
  return NULL;
}

const char *ss_link_use_name(const struct ss_link_use *use, uint32_t nics, char *buffer, size_t size) {
  static const char *const ways[] = {"out", "in"}, *const ports[] = {"egress", "ingress"};
  static const char *const trunks[] = {"uplink", "downlink"};
  switch (use->kind) {
  case SS_EGRESS:
  case SS_INGRESS:
    snprintf(buffer, size, "%s of %s %u", ports[use->kind - SS_EGRESS], use->server ? "server" : "rank", use->index);
    break;
  case SS_NIC_OUT:
  case SS_NIC_IN:
    if (nics > 1)
      snprintf(buffer, size, "NIC %u of node %u, %s", use->number, use->index, ways[use->kind - SS_NIC_OUT]);
    else snprintf(buffer, size, "NIC of node %u, %s", use->index, ways[use->kind - SS_NIC_OUT]);
    break;
  case SS_UPLINK:
  case SS_DOWNLINK:
    snprintf(buffer, size, "%s of group %u, level %u", trunks[use->kind - SS_UPLINK], use->index, use->number);
    break;
  case SS_BUS: snprintf(buffer, size, "bus of node %u", use->index); break;
  case SS_HOST_OUT:
  case SS_HOST_IN:
    snprintf(buffer, size, "host path %u of node %u, %s", use->number, use->index, ways[use->kind - SS_HOST_OUT]);
    break;
  case SS_LINK_KINDS: buffer[0] = '\0';
  }
  return buffer;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

void ss_usage_add(struct ss_network_result *result, const struct ss_link_use *use) {
  struct ss_link_usage *usage = &result->usage[use->kind];
  usage->links++;
  usage->bytes_max = larger(usage->bytes_max, use->bytes);
  usage->bytes_mean += use->bytes;
  usage->busy_max = larger(usage->busy_max, use->busy);
  usage->busy_mean += use->busy;
  /* Where a port and something that is shared take as long, the latter tells more. */
  const bool prefer = use->kind > SS_INGRESS && result->bound_link.kind <= SS_INGRESS;
  if (use->least > result->bound || (prefer && use->least > 0 && use->least >= result->bound)) {
    result->bound = use->least;
    result->bound_link = *use;
  }
}

void ss_usage_close(struct ss_network_result *result) {
  for (int i = 0; i < SS_LINK_KINDS; i++) {
    struct ss_link_usage *usage = &result->usage[i];
    if (usage->links == 0) continue;
    usage->bytes_mean /= usage->links;
    usage->busy_mean /= usage->links;
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
