#include "study/placing.h"

/* --- which exchange ------------------------------------------------------------------------------------------ */

/* By how bags are pooled: tables whole, and placed. */
static const struct pooled {
  const char *pooling, *schemes[2];
} ways[] = {{"", {"alltoall:partition=table", "alltoall:partition=placed"}},
            {"sum", {"alltoall:partition=table,pooling=sum", "alltoall:partition=placed,pooling=sum"}},
            {"padded", {"alltoall:partition=table,pooling=padded", "alltoall:partition=placed,pooling=padded"}}};

/* Of one scheme, which is alltoall with a pooling and no other option: that pooling; else NULL. */
static const char *pooling_of(const cJSON *schemes) {
  const cJSON *one = cJSON_GetArraySize(schemes) == 1 ? schemes->child : NULL;
  const char *name = ss_json_word(one, "name");
  const int known = 1 + cJSON_HasObjectItem(one, "pooling") + cJSON_HasObjectItem(one, "label");
  if (!name || strcmp(name, "alltoall") != 0 || cJSON_GetArraySize(one) != known) return NULL;
  return ss_json_word(one, "pooling");
}

/* Of the request's edits, "schemes" may say how bags are pooled. */
static bool choose_schemes(const struct ss_request *request, struct ss_placing *p, struct ss_error *error) {
  const cJSON *said = ss_json_get(request->edits, "schemes");
  SS_AUTO_JSON cJSON *words =
      cJSON_IsString(said) ? ss_study_schemes(said->valuestring, error) : cJSON_Duplicate(said, true);
  const char *pooling = said ? pooling_of(words) : "";
  if (said && !words) return false;
  for (size_t i = said != NULL; pooling && i < sizeof ways / sizeof *ways; i++) {
    if (strcmp(pooling, ways[i].pooling) != 0) continue;
    p->schemes = ways[i].schemes;
    p->pooled = i > 0;
    return true;
  }
  return ss_fail(error, SS_BAD_INPUT,
                 "--place compares placements of one scheme, alltoall: leave --scheme out, or where bags are pooled "
                 "say alltoall:pooling=sum (or padded)");
}

/* --- what tables weigh -------------------------------------------------------------------------------------- */

/* Bags of the rank that have a vector: of a table that lies whole, those that are not empty. */
static uint64_t vectors_of(const struct ss_input *input, uint32_t rank, bool padded) {
  const struct ss_bagged *b = &input->bagged[rank];
  uint64_t n = 0;
  for (uint64_t i = 0; i < input->lookups[rank]; i++) n += i == 0 || b->bag[i] != b->bag[i - 1];
  return padded ? b->count : n;
}

static bool weigh_iteration(const struct ss_point *point, uint64_t t, struct ss_table_load *table,
                            struct ss_coalesce_scratch *scratch, struct ss_error *error) {
  const double share = 1 / (double)(point->end - point->first);
  const bool padded = ss_setting_says(&point->setting, "pooling", "padded");
  const struct ss_input_options options = {
      .ranks = point->ranks, .iteration = t, .bags = !ss_setting_says(&point->setting, "pooling", "none")};
  struct ss_arena arena = {0};
  bool ok = true;
  for (uint32_t k = 0; ok && k < point->origin.joint->tables; k++) {
    struct ss_origin one = point->origin;
    struct ss_input input;
    one.joint = NULL;
    one.tensor = point->origin.joint->tensor[k];
    ss_arena_reset(&arena);
    ok = ss_input_make(&one, &options, &arena, scratch, &input, error);
    for (uint32_t r = 0; ok && r < point->ranks; r++) {
      table[k].lookups += share * (double)input.lookups[r];
      table[k].distinct += share * (double)input.count[r];
      if (options.bags) table[k].bags += share * (double)vectors_of(&input, r, padded);
    }
  }
  ss_arena_free(&arena);
  return ok;
}

/* Forward and back, of rows of so many bytes. */
static double moved(const struct ss_placing *p, const struct ss_table_load *t, double row) {
  return p->pooled ? 2 * t->bags * row : t->lookups * row + t->distinct * (row + p->index_bytes);
}

static bool weigh_tables(const struct ss_point *point, struct ss_placing *p, struct ss_error *error) {
  const struct ss_joint *joint = point->origin.joint;
  struct ss_coalesce_scratch scratch = {0};
  bool ok = true;
  p->tables = joint->tables;
  p->ranks = point->ranks;
  p->index_bytes = point->setting.index_bytes;
  if (!ss_take_zero(&p->arena, p->table, p->tables)) return ss_fail_memory(error, "weighing tables");
  for (uint64_t t = point->first; ok && t < point->end; t++)
    ok = weigh_iteration(point, t, p->table, &scratch, error);
  ss_coalesce_free(&scratch);
  for (uint32_t k = 0; k < p->tables; k++) {
    const struct ss_tensor *tensor = ss_trace_tensor(point->origin.trace, joint->tensor[k]);
    struct ss_table_load *t = &p->table[k];
    t->name = tensor->name;
    t->rows = tensor->rows;
    t->width = tensor->row_width;
    t->value_bytes = ss_dtype_bytes(tensor->dtype);
    const double row = (double)t->width * t->value_bytes;
    t->bytes = moved(p, t, row);
    t->held = (double)t->rows * row;
  }
  return ok;
}

/* --- largest first ------------------------------------------------------------------------------------------ */

/* Shares of all bytes that travel, and of all that are held. */
struct load {
  double bytes, held;
};

static double larger(struct load l) {
  return fmax(l.bytes, l.held);
}

struct item {
  uint32_t table;
  struct load load;
};

static int by_load(const void *a, const void *b) {
  const struct item *x = a, *y = b;
  const double dx = larger(x->load), dy = larger(y->load);
  if (dx != dy) return dx > dy ? -1 : 1;
  return x->table < y->table ? -1 : 1;
}

static struct item *sorted_items(struct ss_placing *p) {
  struct item *item = ss_arena_alloc(&p->arena, p->tables, sizeof *item);
  struct load all = {0};
  for (uint32_t k = 0; k < p->tables; k++) {
    all.bytes += p->table[k].bytes;
    all.held += p->table[k].held;
  }
  for (uint32_t k = 0; item && k < p->tables; k++)
    item[k] = (struct item){
        k, {all.bytes > 0 ? p->table[k].bytes / all.bytes : 0, all.held > 0 ? p->table[k].held / all.held : 0}};
  if (item) qsort(item, p->tables, sizeof *item, by_load);
  return item;
}

/* The rank that has least once the load is added, and none of `taken`. */
static uint32_t least(const struct load *rank, uint32_t ranks, struct load add, const uint8_t *taken) {
  uint32_t best = 0;
  double most = INFINITY, sum = INFINITY;
  for (uint32_t r = 0; r < ranks; r++) {
    const struct load l = {rank[r].bytes + add.bytes, rank[r].held + add.held};
    if (taken[r] || larger(l) > most || (larger(l) == most && l.bytes + l.held >= sum)) continue;
    most = larger(l);
    sum = l.bytes + l.held;
    best = r;
  }
  return best;
}

/* Ranks that a table is to be cut over so that none of its shards is more than a rank's even share. */
static struct ss_shards cut_of(const struct ss_placing *p, const struct item *item, bool mixed) {
  const struct ss_table_load *t = &p->table[item->table];
  const double wanted = ceil(larger(item->load) * p->ranks * (1 - 1e-12));
  const uint32_t n = wanted >= p->ranks ? p->ranks : (uint32_t)wanted;
  if (!mixed || n < 2) return (struct ss_shards){SS_BY_TABLE, 1, NULL};
  if (n <= t->width) return (struct ss_shards){SS_BY_COLUMN, n, NULL};
  if (n <= t->rows) return (struct ss_shards){SS_BY_ROW, n, NULL};
  return (struct ss_shards){SS_BY_TABLE, 1, NULL};
}

static bool place_greedily(struct ss_placing *p, bool mixed, struct ss_shards *shards) {
  const struct item *item = sorted_items(p);
  struct load *rank = ss_arena_zero(&p->arena, p->ranks, sizeof *rank);
  SS_AUTO_FREE uint8_t *taken = ss_alloc(p->ranks, 1);
  if (!item || !rank || !taken) return false;
  for (uint32_t k = 0; k < p->tables; k++) {
    struct ss_shards cut = cut_of(p, &item[k], mixed);
    const struct load each = {item[k].load.bytes / cut.count, item[k].load.held / cut.count};
    uint32_t *home = ss_arena_alloc(&p->arena, cut.count, sizeof *home);
    if (!home) return false;
    memset(taken, 0, p->ranks);
    for (uint32_t i = 0; i < cut.count; i++) {
      home[i] = least(rank, p->ranks, each, taken);
      taken[home[i]] = 1;
      rank[home[i]].bytes += each.bytes;
      rank[home[i]].held += each.held;
    }
    cut.rank = home;
    shards[item[k].table] = cut;
  }
  return true;
}

/* --- without a look at loads ---------------------------------------------------------------------------------- */

/* Every table over as many ranks as it has columns or rows for, each beginning where the one before it ended; or
 * whole, on ranks that are spread evenly. */
static bool place_alike(struct ss_placing *p, enum ss_sharding cut, struct ss_shards *shards) {
  uint32_t next = 0;
  for (uint32_t k = 0; k < p->tables; k++) {
    const uint64_t most = cut == SS_BY_ROW ? p->table[k].rows : p->table[k].width;
    const uint32_t n = cut == SS_BY_TABLE ? 1 : most < p->ranks ? (uint32_t)most : p->ranks;
    uint32_t *home = ss_arena_alloc(&p->arena, n, sizeof *home);
    if (!home) return false;
    if (cut == SS_BY_TABLE) home[0] = (uint32_t)ss_share(p->ranks, p->tables, k);
    for (uint32_t i = 0; cut != SS_BY_TABLE && i < n; i++) home[i] = n == p->ranks ? i : (next + i) % p->ranks;
    next = (next + n) % p->ranks;
    shards[k] = (struct ss_shards){cut, n, home};
  }
  return true;
}

/* --- candidates ----------------------------------------------------------------------------------------------- */

/* Bytes that one shard holds, or serves. */
static double weight_of(const struct ss_placing *p, uint32_t table, const struct ss_shards *s, uint32_t i,
                        bool held) {
  const struct ss_table_load *t = &p->table[table];
  const uint64_t rows =
      s->cut != SS_BY_ROW ? t->rows : ss_share(t->rows, s->count, i + 1) - ss_share(t->rows, s->count, i);
  const uint64_t columns =
      s->cut != SS_BY_COLUMN ? t->width : ss_share(t->width, s->count, i + 1) - ss_share(t->width, s->count, i);
  const double row = (double)columns * t->value_bytes;
  if (held) return (double)rows * row;
  if (s->cut == SS_BY_ROW) return NAN;
  return moved(p, t, row);
}

/* What the rank with most holds, or serves, over the mean. */
static double imbalance(const struct ss_placing *p, const struct ss_shards *shards, bool held) {
  SS_AUTO_FREE double *sum = ss_alloc_zero(p->ranks, sizeof *sum);
  double most = 0, all = 0;
  for (uint32_t k = 0; sum && k < p->tables; k++)
    for (uint32_t i = 0; i < shards[k].count; i++) {
      const double weight = weight_of(p, k, &shards[k], i, held);
      sum[shards[k].rank[i]] += weight;
      all += weight;
    }
  for (uint32_t r = 0; sum && r < p->ranks; r++) most = fmax(most, sum[r]);
  return sum ? most / (all / p->ranks) : NAN; /* 0 / 0 where nobody holds or serves anything */
}

static double bytes_imbalance(const struct ss_result *r) {
  double most = 0, all = 0;
  for (uint32_t i = 0; i < r->ranks; i++) {
    const double bytes = r->rank_sent[i] + r->rank_received[i];
    most = fmax(most, bytes);
    all += bytes;
  }
  return all > 0 ? most / (all / r->ranks) : NAN;
}

/* The rules, in words and as what they do. */
static const struct rule {
  const char *name;
  enum { ALIKE, GREEDY, MIXED } how;
  enum ss_sharding cut; /* of all tables alike */
} rules[SS_PLACINGS] = {{"columns", ALIKE, SS_BY_COLUMN},
                        {"rows", ALIKE, SS_BY_ROW},
                        {"tables", ALIKE, SS_BY_TABLE},
                        {"greedy", GREEDY, SS_BY_TABLE},
                        {"mixed", MIXED, SS_BY_TABLE}};

static bool make_candidates(struct ss_placing *p, struct ss_error *error) {
  const char **table = ss_arena_alloc(&p->arena, p->tables, sizeof *table);
  if (!table) return ss_fail_memory(error, "placing tables");
  for (uint32_t k = 0; k < p->tables; k++) table[k] = p->table[k].name;
  for (size_t c = 0; c < SS_PLACINGS; c++) {
    struct ss_placing_candidate *out = &p->candidate[c];
    struct ss_shards *shards = ss_arena_alloc(&p->arena, p->tables, sizeof *shards);
    const struct rule *rule = &rules[c];
    if (!shards ||
        !(rule->how == ALIKE ? place_alike(p, rule->cut, shards) : place_greedily(p, rule->how == MIXED, shards)))
      return ss_fail_memory(error, "placing tables");
    out->name = rule->name;
    out->placement = (struct ss_placement){.ranks = p->ranks, .tables = p->tables, .name = table, .shards = shards};
    out->held_imbalance = imbalance(p, shards, true);
    out->served_imbalance = imbalance(p, shards, false);
  }
  return true;
}

static int descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x > y ? -1 : x < y;
}

/* Of whole tables somebody has the largest; and of P + 1 tables somebody has two, at least the smallest two of the
 * largest. In means. */
static double whole_bound(const struct ss_placing *p, bool held) {
  SS_AUTO_FREE double *w = ss_alloc(p->tables, sizeof *w);
  double all = 0;
  if (!w) return NAN;
  for (uint32_t k = 0; k < p->tables; k++) {
    w[k] = held ? p->table[k].held : p->table[k].bytes;
    all += w[k];
  }
  qsort(w, p->tables, sizeof *w, descending);
  double bound = fmax(all / p->ranks, w[0]);
  if (p->tables > p->ranks) bound = fmax(bound, w[p->ranks - 1] + w[p->ranks]);
  return all > 0 ? bound / (all / p->ranks) : NAN;
}

/* --- playing them --------------------------------------------------------------------------------------------- */

/* Which of the two schemes is played, and of the placed one where tables live (taken over), stands in the request's
 * edits in place of what it says of both. */
static bool open_study(const struct ss_request *request, struct ss_placing *p, cJSON *placement, size_t at,
                       struct ss_error *error) {
  struct ss_request own = *request;
  SS_AUTO_JSON cJSON *edits = request->edits ? cJSON_Duplicate(request->edits, true) : cJSON_CreateObject();
  cJSON_DeleteItemFromObjectCaseSensitive(edits, "placement");
  if (placement) cJSON_AddItemToObject(edits, "placement", placement);
  own.edits = edits;
  own.model_parallel = true;
  own.listener = NULL;
  if (placement) own.like = p->study[SS_PLACINGS];
  if (placement) own.notice = NULL; /* all was said once */
  return ss_json_put(edits, "schemes", cJSON_CreateString(p->schemes[placement != NULL]))
             ? ss_study_open(&own, &p->study[at], error)
             : ss_fail_memory(error, "placing tables");
}

static bool play_candidates(const struct ss_request *request, struct ss_placing *p, struct ss_error *error) {
  struct ss_run_options all = request->run;
  all.per_rank = true;
  for (size_t c = 0; c < SS_PLACINGS; c++) {
    struct ss_placing_candidate *out = &p->candidate[c];
    cJSON *placement = ss_placement_json(&out->placement);
    if (!placement) return ss_fail_memory(error, "placing tables");
    if (!open_study(request, p, placement, c, error) || !ss_study_run(p->study[c], &all, &p->results[c], error))
      return false;
    out->result = &p->results[c].result[0];
    out->bytes_imbalance = bytes_imbalance(out->result);
    if (out->result->time < p->candidate[p->best].result->time) p->best = c;
  }
  return true;
}

bool ss_placing_make(const struct ss_request *request, struct ss_placing *out, struct ss_error *error) {
  size_t count;
  *out = (struct ss_placing){0};
  if (!choose_schemes(request, out, error) || !open_study(request, out, NULL, SS_PLACINGS, error)) return false;
  const struct ss_point *point = ss_study_points(out->study[SS_PLACINGS], &count);
  if (count != 1)
    return ss_fail(error, SS_BAD_INPUT, "--place is for one cluster and one number of ranks: here are %zu places",
                   count);
  if (!point->origin.joint)
    return ss_fail(error, SS_BAD_INPUT, "--place needs the tables of a trace, which %s has not", point->trace_name);
  ss_cluster_tell_one_node(&point->cluster, point->ranks, request->notice);
  if (!weigh_tables(point, out, error) || !make_candidates(out, error)) return false;
  out->whole_served_bound = whole_bound(out, false);
  out->whole_held_bound = whole_bound(out, true);
  if (!play_candidates(request, out, error)) return false;
  /* one scheme is played in all of them: its errors are the same, and what it sends differs */
  for (size_t c = 0; c < SS_PLACINGS; c++)
    out->drawn[c] =
        (struct ss_candidate){.of = ss_result_uncertain(out->candidate[c].result), .name = out->candidate[c].name};
  return ss_decide(out->drawn, SS_PLACINGS, NULL, &out->decision, error);
}

void ss_placing_close(struct ss_placing *p) {
  for (size_t c = 0; c < SS_PLACINGS; c++) ss_results_free(&p->results[c]);
  for (size_t c = 0; c <= SS_PLACINGS; c++) ss_study_close(p->study[c]);
  ss_arena_free(&p->arena);
  *p = (struct ss_placing){0};
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

struct cJSON *ss_placing_rows(const struct ss_placing *p) {
  cJSON *list = cJSON_CreateArray();
  for (size_t c = 0; list && c < SS_PLACINGS; c++) {
    const struct ss_placing_candidate *x = &p->candidate[c];
    const struct ss_result *r = x->result;
    cJSON *row = ss_json_object(
        SS_T("placement", x->name), SS_N("time_s", r->time), SS_N("bytes_total", r->bytes),
        SS_N("bytes_sent_max", r->sent_max), SS_N("bytes_received_max", r->received_max),
        SS_N("bytes_imbalance", x->bytes_imbalance), SS_N("held_imbalance", x->held_imbalance),
        SS_N("served_imbalance", x->served_imbalance), SS_N("whole_served_bound", p->whole_served_bound),
        SS_N("whole_held_bound", p->whole_held_bound), SS_N("bound_s", r->bound),
        SS_N("bound_startup_s", r->bound_startup), SS_T("bound_by", r->bound_by[0] ? r->bound_by : NULL));
    if (ss_result_ranged(r)) ss_json_add(row, SS_N("time_low_s", r->time_low), SS_N("time_high_s", r->time_high));
    if (!isnan(p->drawn[c].wins)) ss_json_add(row, SS_N("wins", p->drawn[c].wins));
    cJSON_AddItemToArray(list, row);
  }
  return list;
}

struct cJSON *ss_placing_json(const struct ss_placing *p, const char *scenario) {
  const struct ss_placing_candidate *best = &p->candidate[p->best];
  cJSON *root = ss_placement_json(&best->placement);
  ss_json_add(root, SS_T("sparsync", SS_VERSION), SS_T("scenario", scenario), SS_T("cluster", best->result->cluster),
              SS_T("chosen", best->name), SS_J("plan", ss_placing_rows(p)));
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
