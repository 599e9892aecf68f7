#include "schemes/dense_ways.h"

#include "schemes/registry.h"
#include "schemes/simulate.h"

#include <string.h>

const struct ss_dense_way ss_dense_ways[SS_DENSE_WAYS] = {{"tree", "tree", SS_FLAT},
                                                          {"rabenseifner", "rabenseifner", SS_FLAT},
                                                          {"ring", "ring, shard", SS_SHARD},
                                                          {"ring", "ring, leader", SS_LEADER},
                                                          {"ring", "ring", SS_FLAT}};

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
  if (way->hierarchy && (cluster->gpus_per_node < 2 || ranks <= cluster->gpus_per_node)) return false;
  if (rings > 1 && rings * ranks * 2 * (ranks - 1.0) > messages_most) return false;
  return ss_setting_check(setting, layout, &ignored);
}
