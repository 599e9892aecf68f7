#include "machine/cluster.h"

#include "machine/network.h"

#include <stdio.h>

static bool read_link(struct ss_node node, struct ss_link *out, struct ss_error *error) {
  struct ss_node latency, bandwidth;
  double rate;
  if (!ss_node_need(node, "latency", &latency, error) || !ss_node_need(node, "bandwidth", &bandwidth, error))
    return false;
  if (!ss_node_nonnegative(latency, SS_TIME, &out->alpha, error)) return false;
  if (!ss_node_positive(bandwidth, SS_RATE, &rate, error)) return false;
  out->beta = 1.0 / rate;
  if (!(out->beta > 0 && out->beta <= 1e300)) return ss_node_fail(bandwidth, error, "%g B/s is out of range", rate);
  return true;
}

static bool read_nic(struct ss_node node, bool *per_node, struct ss_error *error) {
  static const char *const choices[] = {"per-rank", "per-node", NULL};
  size_t choice = 0;
  if (ss_node_present(node) && !ss_node_choice(node, choices, &choice, error)) return false;
  *per_node = choice == 1;
  return true;
}

bool ss_cluster_read(struct ss_node node, struct ss_cluster *out, struct ss_error *error) {
  static const char *const known[] = {"name", "summary", "model",  "latency", "bandwidth", "gpus_per_node",
                                      "nic",  "intra",   "source", "notes",   NULL};
  static const char *const link_keys[] = {"latency", "bandwidth", NULL};
  *out = (struct ss_cluster){.name = "inline", .model = "alpha-beta", .gpus_per_node = 1};
  if (!ss_node_keys(node, known, error)) return false;

  struct ss_node name = ss_node_get(node, "name"), model = ss_node_get(node, "model");
  const char *text;
  if (ss_node_present(name)) {
    if (!ss_node_text(name, &text, error)) return false;
    snprintf(out->name, sizeof out->name, "%s", text);
  }
  if (ss_node_present(model)) {
    size_t choice;
    if (!ss_node_choice(model, ss_network_model_names(), &choice, error)) return false;
    snprintf(out->model, sizeof out->model, "%s", ss_network_model_names()[choice]);
  }
  if (!read_link(node, &out->inter, error)) return false;

  struct ss_node gpus = ss_node_get(node, "gpus_per_node"), intra = ss_node_get(node, "intra");
  uint64_t count = 1;
  if (ss_node_present(gpus) && !ss_node_count(gpus, 1, 1u << 20, &count, error)) return false;
  out->gpus_per_node = (uint32_t)count;
  if (!read_nic(ss_node_get(node, "nic"), &out->nic_per_node, error)) return false;
  out->intra = out->inter;
  out->has_intra = ss_node_present(intra);
  if (!out->has_intra) return true;
  return ss_node_keys(intra, link_keys, error) && read_link(intra, &out->intra, error);
}

uint32_t ss_cluster_nodes(const struct ss_cluster *cluster, uint32_t ranks) {
  return (ranks + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
}
