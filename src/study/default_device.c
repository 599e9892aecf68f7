/* The machine that a document runs on: its cluster, and its device, or the one that the cluster's runs are on. */
#include "base/data.h"
#include "base/json.h"
#include "study/study_internal.h"

/* The memory of a cluster's ranks as a device: what its reader makes a kernel's times of. */
static cJSON *memory_device(struct ss_node cluster, struct ss_node memory) {
  const char *source = ss_json_word(ss_node_get(cluster, "source").at, "memory"),
             *name = ss_json_word(cluster.at, "name");
  cJSON *device =
      ss_json_object(SS_T("name", name ? name : "inline"), SS_J("memory", cJSON_Duplicate(memory.at, true)));
  if (source) ss_json_add(device, SS_J("source", ss_json_object(SS_T("memory", source))));
  return device;
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

static bool no_cluster(const struct ss_doc *doc, struct ss_error *error) {
  struct ss_error list;
  char nowhere[PATH_MAX];
  if (!ss_data_find("clusters", "?", nowhere, sizeof nowhere, &list))
    return ss_fail(error, SS_BAD_INPUT, "%s: no cluster given: say --cluster NAME %s", ss_doc_name(doc),
                   strchr(list.text, '(') ? strchr(list.text, '(') : list.text);
  return ss_fail(error, SS_BAD_INPUT, "%s: no cluster given (--cluster NAME)", ss_doc_name(doc));
}

/* Core memory of the 1950s gave 0.2 MB/s, HBM4 gives 2 TB/s a stack. From `endless` on bytes are meant to cost
 * nothing, as of networks (machine/cluster.c). */
static const struct { double launch_most, rate_least, rate_most, endless; /* s, B/s */ } had = {1, 1e5, 1e16, 1e18};

/* Of kernels that are estimated. */
static void tell_device(const struct ss_device *device, const struct ss_notice *notice) {
  char text[sizeof device->name + 160];
  for (int k = 0; device->counted && k < SS_KERNELS; k++) {
    const struct ss_kernel_piece *piece = &device->line[k].piece[0];
    const double rate = 1 / piece->per_byte;
    const bool credible = rate >= had.rate_least && (rate <= had.rate_most || rate >= had.endless);
    if (device->line[k].known || (piece->t0 <= had.launch_most && credible)) continue;
    snprintf(text, sizeof text,
             "device %s: kernels start in %s and take %s a MB, which no device's do (in files numbers without a unit "
             "are in s and B/s)",
             device->name, ss_shown(SS_TIME, piece->t0), ss_shown(SS_TIME, 1e6 * piece->per_byte));
    ss_notice_tell(notice, text);
    return;
  }
}

bool ss_machine_read(struct ss_doc *doc, const struct ss_notice *notice, struct ss_cluster *cluster,
                     struct ss_device *device, struct ss_error *error) {
  const struct ss_node links = ss_node_get(ss_doc_root(doc), "cluster"),
                       own = ss_node_get(ss_doc_root(doc), "device");
  if (!ss_node_present(links)) return no_cluster(doc, error);
  if (!ss_cluster_read(links, cluster, error)) return false;
  ss_cluster_tell(cluster, notice);
  *device = ss_device_none();
  if (ss_node_present(own) && !ss_node_is_text(own) && !ss_device_read(own, device, error)) return false;
  tell_device(device, notice);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
