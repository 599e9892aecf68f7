#include "study/identity.h"

#include "study/extrapolation.h"

#include <xxhash.h>

/* --- of a scenario ------------------------------------------------------------------------------------------ */

/* What a member of the scenario decides: nothing where each point says itself what it takes of it, or where it only
 * tells people something. A member that is not listed decides what iterations start from, and so everything. */
static const struct {
  const char *key;
  enum { NOTHING, POINT, PAYLOADS, INPUTS } decides;
} members[] = {{"name", NOTHING},    {"summary", NOTHING},     {"notes", NOTHING},       {"expect", NOTHING},
               {"sweep", NOTHING},   {"schemes", NOTHING},     {"ranks", NOTHING},       {"iterations", NOTHING},
               {"merge", NOTHING},   {"extrapolate", NOTHING}, {"tensors", NOTHING},     {"sizes", NOTHING},
               {"ragged", NOTHING},  {"hierarchy", NOTHING},   {"index_bytes", NOTHING}, {"granularity", NOTHING},
               {"offered", NOTHING}, {"cluster", POINT},       {"certain", POINT},       {"device", PAYLOADS},
               {"verify", PAYLOADS}, {"select", PAYLOADS}};

static unsigned decides(const char *key) {
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (strcmp(members[i].key, key) == 0) return members[i].decides;
  return INPUTS;
}

bool ss_cell_identify(struct ss_node document, struct ss_identities *out, struct ss_error *error) {
  cJSON *part[INPUTS + 1];
  bool good = true;
  for (int i = 0; i <= INPUTS; i++) good = (part[i] = cJSON_CreateObject()) && good;
  for (cJSON *m = document.at->child; good && m; m = m->next)
    good = cJSON_AddItemReferenceToObject(part[decides(m->string)], m->string, m);
  *out = (struct ss_identities){ss_identity_of(part[INPUTS]), ss_identity_of(part[PAYLOADS]),
                                ss_identity_of(part[POINT])};
  for (int i = 0; i <= INPUTS; i++) cJSON_Delete(part[i]);
  return good || ss_fail_memory(error, "listing points");
}

/* --- of a point ----------------------------------------------------------------------------------------------- */

/* Tables that travel together, and where each lives. */
static cJSON *tables_json(const struct ss_joint *joint) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t k = 0; k < joint->tables; k++) {
    const struct ss_shards *shards = joint->shards ? &joint->shards[k] : NULL;
    cJSON *table = cJSON_CreateObject(), *ranks = shards ? cJSON_AddArrayToObject(table, "ranks") : NULL;
    cJSON_AddNumberToObject(table, "tensor", (double)joint->tensor[k]);
    if (shards) cJSON_AddNumberToObject(table, "cut", shards->cut);
    for (uint32_t i = 0; shards && i < shards->count; i++)
      cJSON_AddItemToArray(ranks, cJSON_CreateNumber(shards->rank[i]));
    cJSON_AddItemToArray(list, table);
  }
  return list;
}

static cJSON *inputs_json(const struct ss_point *point) {
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)point->trace_hash);
  cJSON *o = ss_json_object(SS_T("trace", hash), SS_N("tensor", (double)point->origin.tensor),
                            SS_N("merge", point->origin.merge), SS_N("first", (double)point->first),
                            SS_N("end", (double)point->end), SS_N("ranks", point->ranks));
  if (point->extrapolation) ss_json_add(o, SS_N("extrapolated_from", point->extrapolation->from));
  if (point->origin.joint) cJSON_AddItemToObject(o, "tables", tables_json(point->origin.joint));
  return o;
}

static cJSON *payloads_json(const struct ss_point *point) {
  const uint32_t rings = ss_setting_rings(&point->setting, ss_layout_of(&point->cluster, point->ranks));
  cJSON *o =
      ss_json_object(SS_T("scheme", point->setting.scheme->name), SS_J("options", ss_setting_json(&point->setting)),
                     SS_N("gpus_per_node", point->cluster.gpus_per_node));
  if (rings > 1) cJSON_AddNumberToObject(o, "rings", rings);
  if (point->setting.call > 0) cJSON_AddNumberToObject(o, "call", point->setting.call);
  return o;
}

static cJSON *point_json(const struct ss_point *point) {
  const struct ss_library *library = &point->cluster.library;
  cJSON *o = cJSON_CreateObject();
  char hash[32];
  cJSON_AddStringToObject(o, "sparsync", SS_VERSION); /* another program may compute otherwise */
  cJSON_AddStringToObject(o, "label", point->setting.label);
  if (point->at) cJSON_AddItemReferenceToObject(o, "at", point->at);
  cJSON_AddNumberToObject(o, "draws", point->cluster.jitter.draws);
  if (!ss_spread_certain(&point->uncertainty.model)) cJSON_AddTrueToObject(o, "ranges");
  if (library->kind == SS_NCCL) { /* the cluster names it; this is what its file says */
    const uint64_t beliefs = XXH3_64bits(&library->beliefs, sizeof library->beliefs);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)beliefs);
    cJSON_AddStringToObject(o, "library", hash);
  }
  return o;
}

/* The tree is deleted; *good: there is one. */
static struct ss_identity taken(cJSON *tree, bool *good) {
  const struct ss_identity identity = ss_identity_of(tree);
  *good = *good && tree;
  cJSON_Delete(tree);
  return identity;
}

bool ss_point_identify(struct ss_point *point, struct ss_error *error) {
  struct ss_identities *is = &point->is;
  bool good = true;
  is->inputs = ss_identity_join(is->inputs, taken(inputs_json(point), &good));
  is->payloads = ss_identity_join(ss_identity_join(is->inputs, is->payloads), taken(payloads_json(point), &good));
  is->point = ss_identity_join(ss_identity_join(is->payloads, is->point), taken(point_json(point), &good));
  return good || ss_fail_memory(error, "listing points");
}

struct ss_identity ss_points_identity(const struct ss_point *const *points, size_t count) {
  struct ss_identity all = {.low = count};
  for (size_t i = 0; i < count; i++) all = ss_identity_join(all, points[i]->is.point);
  return all;
}

/* --- groups --------------------------------------------------------------------------------------------- */

enum { NETWORKS_MAX = 64 };

static int by_first(const void *a, const void *b) {
  const struct ss_point_group *x = a, *y = b;
  return x->point[0] < y->point[0] ? -1 : x->point[0] > y->point[0];
}

static size_t networks_at_once(const struct ss_point *point) {
  const size_t draws = 1 + (size_t)point->cluster.jitter.draws + ss_variants_count(&point->uncertainty);
  const size_t capacity = SS_ENDPOINTS_MAX / (((size_t)point->ranks + point->servers) * draws);
  return capacity < 1 ? 1 : capacity < NETWORKS_MAX ? capacity : NETWORKS_MAX;
}

static void cut(const struct ss_point *const *points, const struct ss_keyed *keyed, size_t n,
                struct ss_point_groups *out) {
  for (size_t i = 0; i < n;) {
    size_t most = NETWORKS_MAX;
    const size_t from = i;
    for (; i < n && ss_identity_same(keyed[i].key, keyed[from].key); i++) {
      const size_t own = networks_at_once(points[keyed[i].index]);
      if (own < most) most = own;
      if (i > from && i - from >= most) break;
      out->order[i] = keyed[i].index;
    }
    out->group[out->count++] = (struct ss_point_group){out->order + from, (uint32_t)(i - from)};
  }
}

bool ss_points_group(const struct ss_point *const *points, size_t count, const bool *wanted,
                     struct ss_point_groups *out, struct ss_error *error) {
  SS_AUTO_FREE struct ss_keyed *keyed = ss_alloc(count, sizeof *keyed);
  size_t n = 0;
  *out = (struct ss_point_groups){.group = ss_alloc(count, sizeof *out->group),
                                  .order = ss_alloc(count, sizeof *out->order)};
  if (!keyed || !out->group || !out->order) {
    ss_points_ungroup(out);
    return ss_fail_memory(error, "listing points");
  }
  for (size_t i = 0; i < count; i++)
    if (wanted[i]) keyed[n++] = (struct ss_keyed){points[i]->is.payloads, i};
  ss_keyed_sort(keyed, n);
  cut(points, keyed, n, out);
  qsort(out->group, out->count, sizeof *out->group, by_first);
  return true;
}

void ss_points_ungroup(struct ss_point_groups *groups) {
  free(groups->group);
  free(groups->order);
  *groups = (struct ss_point_groups){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
