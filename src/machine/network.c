#include "machine/network.h"

#include <string.h>

static const struct ss_network_model *const models[] = {&ss_network_alpha_beta};
static const char *const names[] = {"alpha-beta", NULL};

const char *const *ss_network_model_names(void) {
  return names;
}

const struct ss_network_model *ss_network_model_of(const struct ss_cluster *cluster) {
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (strcmp(models[i]->name, cluster->model) == 0) return models[i];
  return NULL;
}
