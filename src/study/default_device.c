/* The device that a cluster's runs are on where the document names none. */
#include "study/study_internal.h"

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

/* What the cluster names, or what its memory makes; absent: neither is there. */
static bool device_of(struct ss_node cluster, cJSON **device, struct ss_error *error) {
  const struct ss_node named = ss_node_get(cluster, "device"), memory = ss_node_get(cluster, "memory");
  struct ss_host_memory ignored;
  *device = NULL;
  if (!ss_node_present(named) && !ss_node_present(memory)) return true;
  if (!ss_node_present(named) && !ss_host_memory_read(memory, &ignored, error)) return false;
  *device = ss_node_present(named) ? cJSON_Duplicate(named.at, true) : memory_device(cluster, memory);
  return *device || ss_fail_memory(error, "reading a model");
}

bool ss_device_by_default(struct ss_doc *doc, const char *base, bool *set, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(doc);
  cJSON *device = NULL;
  *set = false;
  if (ss_node_present(ss_node_get(root, "device"))) return true;
  if (!device_of(ss_node_get(root, "cluster"), &device, error)) return false;
  *set = device != NULL;
  return !device || (ss_doc_set_item(doc, "device", device, error) && ss_device_resolve(doc, base, error));
}
