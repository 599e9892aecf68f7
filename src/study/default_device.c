/* The device that a cluster's runs are on where the document names none. */
#include "study/study.h"

#include <cjson/cJSON.h>

/* The memory of a cluster's ranks as a device: what its reader makes a kernel's times of. */
static cJSON *memory_device(struct ss_node cluster, struct ss_node memory) {
  const struct ss_node source = ss_node_get(ss_node_get(cluster, "source"), "memory");
  const char *name = cJSON_GetStringValue(ss_node_get(cluster, "name").at);
  cJSON *device = cJSON_CreateObject(), *copy = cJSON_Duplicate(memory.at, true), *sources;
  if (cJSON_AddStringToObject(device, "name", name ? name : "inline") &&
      cJSON_AddItemToObject(device, "memory", copy)) {
    if (!ss_node_is_text(source)) return device;
    sources = cJSON_AddObjectToObject(device, "source");
    if (cJSON_AddStringToObject(sources, "memory", source.at->valuestring)) return device;
    copy = NULL;
  }
  cJSON_Delete(copy);
  cJSON_Delete(device);
  return NULL;
}

bool ss_device_by_default(struct ss_doc *doc, bool *set, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(doc), cluster = ss_node_get(root, "cluster"),
                       memory = ss_node_get(cluster, "memory");
  struct ss_host_memory ignored;
  *set = false;
  if (ss_node_present(ss_node_get(root, "device")) || !ss_node_present(memory)) return true;
  if (!ss_host_memory_read(memory, &ignored, error)) return false;
  cJSON *device = memory_device(cluster, memory);
  *set = device != NULL;
  return device ? ss_doc_set_item(doc, "device", device, error) : ss_fail_memory(error, "reading a model");
}
