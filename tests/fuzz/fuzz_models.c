/* Model files: an input is a document, read as a workload, a system, a cluster and a device. What is taken must keep
 * what its header promises. */
#include "base/json.h"
#include "machine/cluster.h"
#include "machine/device.h"
#include "model_checks.h"
#include "train/system.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_workload(struct ss_node root) {
  struct ss_workload w = {0};
  struct ss_error error = {0};
  if (!ss_workload_read(root, &w, &error)) {
    check_refusal(&error);
  } else {
    check_modules(&w);
  }
  ss_workload_free(&w);
}

static void check_others(struct ss_node root) {
  struct ss_error error = {0};
  SS_AUTO(ss_system_free) struct ss_system system = {0};
  if (!ss_system_read(root, &system, &error)) check_refusal(&error);
  else if (!ss_schedule_name(system.schedule) || !system.dense.scheme || !system.sparse.scheme) abort();
  struct ss_cluster cluster;
  if (!ss_cluster_read(root, &cluster, &error)) check_refusal(&error);
  else if (!is_time(cluster.inter.alpha) || !(cluster.inter.beta > 0) || cluster.gpus_per_node < 1) abort();
  struct ss_device device;
  if (!ss_device_read(root, &device, &error)) {
    check_refusal(&error);
    return;
  }
  for (int k = 0; device.counted && k < SS_KERNELS; k++)
    if (!is_time(ss_device_time(&device, (enum ss_kernel_kind)k, (struct ss_kernel_work){1, 1, 1}))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct ss_doc *doc;
  if (!ss_doc_parse("input", (const char *)data, size, &doc, NULL)) return -1;
  check_workload(ss_doc_root(doc));
  check_others(ss_doc_root(doc));
  ss_doc_free(doc);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
