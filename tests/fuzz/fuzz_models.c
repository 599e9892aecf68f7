/* Model files: an input is a document, read as a workload, a system, a cluster and a device. What is taken must keep
 * what its header promises. */
#include "base/json.h"
#include "machine/cluster.h"
#include "machine/device.h"
#include "train/system.h"
#include "train/workloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct ss_error *error) {
  if (error->status != SS_BAD_INPUT || strlen(error->text) < 10 || strchr(error->text, '\n')) abort();
}

/* Every module once, and none before one that it waits for. */
static void check_order(const struct ss_workload *w, bool embeddings_first) {
  uint32_t *order = calloc(w->modules, sizeof *order), *place = calloc(w->modules, sizeof *place);
  if (!order || !place || !ss_workload_order(w, embeddings_first, order, NULL)) abort();
  for (uint32_t i = 0; i < w->modules; i++) {
    if (order[i] >= w->modules || place[order[i]]) abort();
    place[order[i]] = i + 1;
  }
  for (uint32_t i = 0; i < w->modules; i++)
    for (uint32_t j = 0; j < w->module[i].afters; j++)
      if (w->module[i].after[j] >= w->modules || place[w->module[i].after[j]] >= place[i]) abort();
  free(order);
  free(place);
}

static bool is_time(double t) {
  return isfinite(t) && t >= 0;
}

static void check_workload(struct ss_node root) {
  struct ss_workload w = {0};
  struct ss_error error = {0};
  if (!ss_workload_read(root, &w, &error)) {
    check_refusal(&error);
  } else {
    if (w.modules < 1 || w.modules > SS_MODULES_MAX || !w.name) abort();
    for (uint32_t i = 0; i < w.modules; i++) {
      const struct ss_module *m = &w.module[i];
      if (!is_time(m->forward) || !is_time(m->backward)) abort();
      if (m->embedding && (m->rows == 0 || m->row_width == 0)) abort();
      if (m->feed.kind == SS_FEED_COUNTS && m->embedding &&
          (m->feed.prior > m->feed.coalesced || m->feed.coalesced > m->rows))
        abort();
    }
    check_order(&w, false);
    if (!(w.tokens > 0 || isnan(w.tokens))) abort();
  }
  ss_workload_free(&w);
}

static void check_others(struct ss_node root) {
  struct ss_error error = {0};
  struct ss_system system;
  if (!ss_system_read(root, &system, &error)) check_refusal(&error);
  else if (!ss_schedule_name(system.schedule) || !system.dense.scheme || !system.sparse.scheme) abort();
  struct ss_cluster cluster;
  if (!ss_cluster_read(root, &cluster, &error)) check_refusal(&error);
  else if (!is_time(cluster.inter.alpha) || !(cluster.inter.beta > 0) || cluster.gpus_per_node < 1) abort();
  struct ss_device device;
  if (!ss_device_read(root, &device, &error)) check_refusal(&error);
  else if (!is_time(ss_device_time(&device, SS_MERGE_SUM, 1)) || !is_time(ss_device_time(&device, SS_DENSE_ADD, 0)))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct ss_doc *doc;
  if (!ss_doc_parse("input", (const char *)data, size, &doc, NULL)) return -1;
  check_workload(ss_doc_root(doc));
  check_others(ss_doc_root(doc));
  ss_doc_free(doc);
  return 0;
}
