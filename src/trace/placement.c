#include "trace/placement.h"

const char *const ss_sharding_names[] = {"column", "row", "table", NULL};

/* --- reading -------------------------------------------------------------------------------------------- */

struct reader {
  uint32_t ranks;
  struct ss_arena *arena;
  uint32_t *all;  /* [ranks] every rank, of tables that say none */
  uint8_t *taken; /* [ranks] has a shard of this table; zero between tables */
};

static const struct ss_field_spec a_rank = {NULL, NULL, SS_IS_COUNT(0, 0)};
static const struct ss_field_spec table_fields[] = {
    {"partition", NULL, SS_IS_CHOICE(ss_sharding_names), .required = true, SS_STORED(struct ss_shards, cut)},
    {"ranks", "that of each even share, none twice; all by default, one of a whole table", SS_IS_LIST(&a_rank, 1, 0)},
    {.name = NULL}};
static const struct ss_object_spec table_spec = {.field = table_fields};
static const struct ss_field_spec a_table = {NULL, NULL, SS_IS_OBJECT(&table_spec)};
static const struct ss_object_spec tables_spec = {.others = &a_table, .rules = "{'minProperties': 1}"};
static const struct ss_field_spec fields[] = {
    {"ranks", NULL, SS_IS_COUNT(1, SS_RANKS_MAX), .required = true, SS_STORED(struct reader, ranks)},
    {"tables", NULL, SS_IS_OBJECT(&tables_spec), .required = true},
    {"name", NULL, SS_IS_TEXT},
    {"sparsync", "the version of the program that wrote it", SS_IS_TEXT},
    {"scenario", NULL, SS_IS_TEXT},
    {"cluster", NULL, SS_IS_TEXT},
    {"chosen", "columns, rows, tables, greedy or mixed", SS_IS_TEXT},
    {"plan", "what each placement takes, as plan --place writes it", SS_IS_ANY},
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_placement_fields = {
    .name = "placement",
    .title = "A placement: where each table of a trace lives",
    .says = "What alltoall with partition placed takes, and what plan --place writes.",
    .field = fields};

static bool read_rank(const struct reader *r, struct ss_node node, uint32_t *out, struct ss_error *error) {
  uint64_t rank;
  if (!ss_node_count(node, 0, UINT32_MAX, &rank, error)) return false;
  if (rank >= r->ranks)
    return ss_node_fail(node, error, "there is no rank %llu among %u: they are numbered 0 to %u",
                        (unsigned long long)rank, r->ranks, r->ranks - 1);
  if (r->taken[rank])
    return ss_node_fail(node, error, "rank %llu has a shard of this table already", (unsigned long long)rank);
  r->taken[rank] = 1;
  *out = (uint32_t)rank;
  return true;
}

static bool read_ranks(const struct reader *r, struct ss_node node, struct ss_shards *out, struct ss_error *error) {
  uint32_t n = 0;
  if (!ss_node_is_array(node) || ss_node_size(node) == 0 || ss_node_size(node) > r->ranks)
    return ss_node_fail(node, error, "expected a list of 1 to %u ranks that hold a shard (say [0])", r->ranks);
  uint32_t *rank = ss_arena_alloc(r->arena, ss_node_size(node), sizeof *rank);
  if (!rank) return ss_fail_memory(error, "reading a placement");
  for (struct ss_node i = ss_node_first(node); ss_node_present(i); i = ss_node_next(i))
    if (!read_rank(r, i, &rank[n++], error)) return false;
  for (uint32_t k = 0; k < n; k++) r->taken[rank[k]] = 0;
  out->rank = rank;
  out->count = n;
  return true;
}

static bool read_table(const struct reader *r, struct ss_node node, struct ss_shards *out, struct ss_error *error) {
  const struct ss_node ranks = ss_node_get(node, "ranks");
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "expected an object (say {\"partition\": \"table\", \"ranks\": [0]})");
  *out = (struct ss_shards){.count = r->ranks, .rank = r->all};
  if (!ss_object_read(&table_spec, node, out, error)) return false;
  if (ss_node_present(ranks) && !read_ranks(r, ranks, out, error)) return false;
  if (out->cut == SS_BY_TABLE && (!ss_node_present(ranks) || out->count != 1))
    return ss_node_fail(node, error, "a whole table lives on one rank: say it alone in \"ranks\" (say [0])");
  return true;
}

static bool read_tables(const struct reader *r, struct ss_node tables, struct ss_placement *out,
                        struct ss_error *error) {
  const size_t n = ss_node_size(tables);
  if (!ss_node_is_object(tables) || n == 0 || n > UINT32_MAX)
    return ss_node_fail(tables, error, "expected an object with every table by its name");
  const char **name = ss_arena_alloc(r->arena, n, sizeof *name);
  struct ss_shards *shards = ss_arena_alloc(r->arena, n, sizeof *shards);
  if (!name || !shards) return ss_fail_memory(error, "reading a placement");
  *out = (struct ss_placement){.ranks = r->ranks, .name = name, .shards = shards};
  for (struct ss_node t = ss_node_first(tables); ss_node_present(t); t = ss_node_next(t), out->tables++) {
    if (!read_table(r, t, &shards[out->tables], error)) return false;
    name[out->tables] = ss_arena_text(r->arena, ss_node_key(t));
    if (!name[out->tables]) return ss_fail_memory(error, "reading a placement");
  }
  return true;
}

bool ss_placement_read(struct ss_node node, struct ss_arena *arena, struct ss_placement *out,
                       struct ss_error *error) {
  struct reader r = {.arena = arena};
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "a placement is an object with \"ranks\" and \"tables\"");
  if (!ss_object_read(&ss_placement_fields, node, &r, error)) return false;
  if (!ss_take(arena, r.all, r.ranks) || !ss_take_zero(arena, r.taken, r.ranks))
    return ss_fail_memory(error, "reading a placement");
  for (uint32_t i = 0; i < r.ranks; i++) r.all[i] = i;
  if (!read_tables(&r, ss_node_get(node, "tables"), out, error)) return false;
  out->node = node;
  return true;
}

/* --- matching ------------------------------------------------------------------------------------------- */

static bool fits(const struct ss_shards *shards, const struct ss_tensor *t, struct ss_node node,
                 struct ss_error *error) {
  const uint64_t most = shards->cut == SS_BY_ROW ? t->rows : t->row_width;
  if (shards->cut == SS_BY_TABLE || shards->count <= most) return true;
  return ss_node_fail(node, error, "%u shards of table \"%s\", which has %llu %s", shards->count, t->name,
                      (unsigned long long)most, shards->cut == SS_BY_ROW ? "rows" : "columns");
}

/* No table is named that the trace does not have, or that is not played. */
static bool all_known(const struct ss_placement *p, struct ss_node tables, const struct ss_tensor *const *tensor,
                      uint32_t count, struct ss_error *error) {
  SS_AUTO_FREE const char **names = ss_alloc_zero((size_t)count + 1, sizeof *names);
  if (!names) return ss_fail_memory(error, "matching a placement");
  for (uint32_t t = 0; t < count; t++) names[t] = tensor[t]->name;
  for (uint32_t k = 0; k < p->tables; k++) {
    bool found = false;
    for (uint32_t t = 0; t < count && !found; t++) found = strcmp(names[t], p->name[k]) == 0;
    if (!found)
      return ss_node_fail(tables, error, "no table is called \"%s\"%s", p->name[k],
                          ss_suggest(p->name[k], names, NULL).text);
  }
  return true;
}

bool ss_placement_match(const struct ss_placement *p, const struct ss_tensor *const *tensor, uint32_t count,
                        uint32_t ranks, struct ss_shards *shards, struct ss_error *error) {
  const struct ss_node tables = ss_node_get(p->node, "tables");
  if (p->ranks != ranks)
    return ss_node_fail(p->node, error, "the placement is one for %u ranks, and %u are asked for", p->ranks, ranks);
  if (!all_known(p, tables, tensor, count, error)) return false;
  for (uint32_t t = 0; t < count; t++) {
    const char *name = tensor[t]->name;
    uint32_t k = 0;
    while (k < p->tables && strcmp(p->name[k], name) != 0) k++;
    if (k == p->tables) return ss_node_fail(tables, error, "table \"%s\" of the trace has no place", name);
    if (!fits(&p->shards[k], tensor[t], ss_node_get(tables, name), error)) return false;
    shards[t] = p->shards[k];
  }
  return true;
}

/* --- writing -------------------------------------------------------------------------------------------- */

struct cJSON *ss_placement_json(const struct ss_placement *p) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddNumberToObject(root, "ranks", p->ranks);
  cJSON *tables = cJSON_AddObjectToObject(root, "tables");
  for (uint32_t t = 0; tables && t < p->tables; t++) {
    const struct ss_shards *shards = &p->shards[t];
    cJSON *table = cJSON_AddObjectToObject(tables, p->name[t]);
    cJSON_AddStringToObject(table, "partition", ss_sharding_names[shards->cut]);
    cJSON *ranks = cJSON_AddArrayToObject(table, "ranks");
    for (uint32_t k = 0; k < shards->count; k++) cJSON_AddItemToArray(ranks, cJSON_CreateNumber(shards->rank[k]));
  }
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
