#include "schemes/registry.h"
#include "schemes/simulate.h"
#include "sim/collectives/tuner.h"

const struct ss_dense_way ss_dense_ways[SS_DENSE_WAYS] = {{"tree", "tree", SS_FLAT},
                                                          {"rabenseifner", "rabenseifner", SS_FLAT},
                                                          {"ring", "ring, shard", SS_SHARD},
                                                          {"ring", "ring, leader", SS_LEADER},
                                                          {"ring", "ring", SS_FLAT}};

static const char *const library_names[SS_WAYS][SS_PROTOCOLS] = {
    {"nccl ring ll", "nccl ring ll128", "nccl ring simple"},
    {"nccl trees ll", "nccl trees ll128", "nccl trees simple"}};

const char *ss_dense_library_name(const struct ss_setting *setting) {
  const uint64_t *protocol = ss_setting_find(setting, "protocol");
  return library_names[ss_setting_says(setting, "algorithm", "trees") ? SS_WAY_TREE : SS_WAY_RING][*protocol - 1];
}

const char *ss_dense_way_name(const char *text) {
  for (size_t i = 0; i < SS_DENSE_WAYS; i++)
    if (strcmp(ss_dense_ways[i].name, text) == 0) return ss_dense_ways[i].name;
  for (size_t i = 0; i < SS_WAYS * SS_PROTOCOLS; i++) {
    const char *name = library_names[i / SS_PROTOCOLS][i % SS_PROTOCOLS];
    if (strcmp(name, text) == 0) return name;
  }
  return NULL;
}

bool ss_dense_is_open(const struct ss_setting *setting) {
  bool said = setting->hierarchy != SS_FLAT;
  for (size_t i = 0; setting->scheme->options[i].name; i++) said = said || setting->given[i];
  return setting->scheme == ss_scheme_find("allreduce") && !said;
}

bool ss_dense_way_take(const struct ss_dense_way *way, const struct ss_cluster *cluster, uint32_t ranks,
                       struct ss_setting *setting) {
  static const double messages_most = 0x1p24; /* of rings side by side: some seconds where parts are uneven */
  const struct ss_layout layout = ss_layout_of(cluster, ranks);
  struct ss_error ignored;
  ss_setting_choose(setting, "algorithm", way->algorithm);
  setting->hierarchy = way->hierarchy;
  const double rings = ss_setting_rings(setting, layout);
  if (layout.nccl) return false;
  if (way->hierarchy && (cluster->gpus_per_node < 2 || ranks <= cluster->gpus_per_node)) return false;
  if (rings > 1 && rings * ranks * 2 * (ranks - 1.0) > messages_most) return false;
  return ss_setting_check(setting, layout, &ignored);
}
/* SPDX-License-Identifier: Apache-2.0 */
