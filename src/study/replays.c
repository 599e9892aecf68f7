#include "study/replays.h"

#include "base/data.h"
#include "base/json.h"
#include "base/work.h"

#include <unistd.h>

/* Goodputs and host bandwidths that are simulated, by 1/value, rising. */
enum { NODES = 6, VARIANTS = 1 + 2 * NODES, KEPT = 96, SCENARIO_BYTES = 1 << 26 };
static const double slow_nodes[NODES] = {1, 1.5, 2.5, 5, 12, 30};
static const double host_nodes[NODES] = {1 / 64e9, 1 / 24e9, 1 / 10e9, 1 / 5e9, 1 / 2e9, 1 / 0.5e9};

/* One training: what of the table it stands for. */
struct group {
  const char *key;
  const struct ss_training_time *time; /* the first that asks it */
  const char *scenario, *set, *workload, *cluster;
  uint32_t ranks;
};

/* What was played last at a point. */
struct played {
  struct ss_assumed assumed;
  struct ss_iterated result;
};

struct point {
  uint32_t group;
  const char *system; /* as the table says it */
  const struct ss_training_point *at[VARIANTS];
  struct played kept[KEPT];
  size_t count; /* that were played so far */
};

/* One of those that a number is the least or most of: the best of `tops` over the best of `bottoms`. */
struct alternative {
  size_t top, tops, bottom, bottoms; /* in refs */
};

struct ss_replays {
  struct ss_arena arena;
  struct ss_replays_request asked;
  struct group *group;
  size_t groups;
  struct point *point;
  size_t points;
  uint32_t *ref;
  size_t refs;
  struct alternative *alternative;
  size_t alternatives;
  size_t *first;                /* [times + 1] of each its alternatives */
  struct ss_train_study *study; /* [variants][groups] */
  size_t variants, plays;
};

/* --- what is asked ------------------------------------------------------------------------------------------------
 */

static bool add_group(struct ss_replays *r, const struct group *asked, uint32_t *out, struct ss_error *error) {
  char key[2048];
  if (snprintf(key, sizeof key, "%s\n%s\n%s\n%s\n%u", asked->scenario, asked->set, asked->workload, asked->cluster,
               asked->ranks) >= (int)sizeof key)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %llu: is too long", r->asked.times->file,
                   (unsigned long long)asked->time->line);
  for (*out = 0; *out < r->groups; ++*out)
    if (strcmp(r->group[*out].key, key) == 0) return true;
  if (!ss_grow_by_one(r->group, r->groups)) return ss_fail_memory(error, "listing trainings");
  r->group[r->groups] = *asked;
  r->group[r->groups].key = ss_arena_text(&r->arena, key);
  return r->group[r->groups++].key || ss_fail_memory(error, "listing trainings");
}

static bool add_ref(struct ss_replays *r, uint32_t group, const char *system, struct ss_error *error) {
  size_t p = 0;
  while (p < r->points && (r->point[p].group != group || strcmp(r->point[p].system, system) != 0)) p++;
  if (p == r->points) {
    if (!ss_grow_by_one(r->point, r->points)) return ss_fail_memory(error, "listing trainings");
    r->point[r->points++] = (struct point){.group = group, .system = system};
  }
  if (!ss_grow_by_one(r->ref, r->refs)) return ss_fail_memory(error, "listing trainings");
  r->ref[r->refs++] = (uint32_t)p;
  return true;
}

/* "a|b" as an array of texts in the arena, NULL behind the last; the empty text is one. */
static const char **words(struct ss_replays *r, const char *text) {
  size_t n = 1, at = 0;
  for (const char *c = text; *c; c++) n += *c == '|';
  const char **list = ss_arena_zero(&r->arena, n + 1, sizeof *list);
  char *copy = list ? (char *)ss_arena_alloc(&r->arena, strlen(text) + 1, 1) : NULL, *state = NULL;
  if (!copy) return NULL;
  memcpy(copy, text, strlen(text) + 1);
  for (char *one = strtok_r(copy, "|", &state); one; one = strtok_r(NULL, "|", &state)) list[at++] = one;
  if (at == 0) list[0] = "";
  return list;
}

static bool read_ranks(const struct ss_replays *r, const struct ss_training_time *t, const char *text, uint32_t *out,
                       struct ss_error *error) {
  uint64_t ranks;
  if (!ss_count_parse(text, "ranks", 1, SS_RANKS_MAX, &ranks, error))
    return ss_fail_prefix(error, "%s: line %llu", r->asked.times->file, (unsigned long long)t->line);
  *out = (uint32_t)ranks;
  return true;
}

/* The systems `text` in that training. */
static bool add_side(struct ss_replays *r, const struct group *asked, const char *text, size_t *first, size_t *count,
                     struct ss_error *error) {
  uint32_t group;
  const char **system = words(r, text);
  *first = r->refs;
  if (!system) return ss_fail_memory(error, "listing trainings");
  if (!add_group(r, asked, &group, error)) return false;
  for (; *system; system++)
    if (!add_ref(r, group, *system, error)) return false;
  *count = r->refs - *first;
  return true;
}

static const char *or_else(const char *text, const char *otherwise) {
  return text[0] ? text : otherwise;
}

/* What the ratio refers to: other systems, "@4" other ranks, "SYSTEM@4" both, or another quantity of the same. */
static bool add_bottom(struct ss_replays *r, const struct group *top, struct alternative *a, struct ss_error *error) {
  const struct ss_training_time *t = top->time;
  const char *of = t->text[SS_TIMES_OF], *at = strrchr(of, '@');
  struct group bottom = *top;
  bottom.scenario = or_else(t->text[SS_TIMES_OF_SCENARIO], top->scenario);
  bottom.set = or_else(t->text[SS_TIMES_OF_SET], t->text[SS_TIMES_OF_SCENARIO][0] ? "" : top->set);
  a->bottom = r->refs, a->bottoms = 0;
  if (!of[0]) return true;
  if (t->of_quantity != t->quantity || strcmp(of, ss_time_quantities[t->quantity]) == 0)
    return add_side(r, &bottom, t->text[SS_TIMES_SYSTEM], &a->bottom, &a->bottoms, error);
  if (!at) return add_side(r, &bottom, of, &a->bottom, &a->bottoms, error);
  char *system = ss_arena_zero(&r->arena, (size_t)(at - of) + 1, 1);
  if (!system) return ss_fail_memory(error, "listing trainings");
  memcpy(system, of, (size_t)(at - of));
  return read_ranks(r, t, at + 1, &bottom.ranks, error) &&
         add_side(r, &bottom, or_else(system, t->text[SS_TIMES_SYSTEM]), &a->bottom, &a->bottoms, error);
}

static bool add_alternatives(struct ss_replays *r, const struct ss_training_time *t, struct ss_error *error) {
  const char **workload = words(r, t->text[SS_TIMES_WORKLOAD]), **ranks = words(r, t->text[SS_TIMES_RANKS]);
  if (!workload || !ranks) return ss_fail_memory(error, "listing trainings");
  for (const char **w = workload; *w; w++)
    for (const char **n = ranks; *n; n++) {
      struct group asked = {.time = t,
                            .scenario = t->text[SS_TIMES_SCENARIO],
                            .set = t->text[SS_TIMES_SET],
                            .workload = *w,
                            .cluster = t->text[SS_TIMES_CLUSTER]};
      struct alternative a;
      if (!read_ranks(r, t, *n, &asked.ranks, error) ||
          !add_side(r, &asked, t->text[SS_TIMES_SYSTEM], &a.top, &a.tops, error) || !add_bottom(r, &asked, &a, error))
        return false;
      if (!ss_grow_by_one(r->alternative, r->alternatives)) return ss_fail_memory(error, "listing trainings");
      r->alternative[r->alternatives++] = a;
    }
  return true;
}

/* --- documents -----------------------------------------------------------------------------------------------------
 */

static bool is_capture(const struct group *g) {
  const char *end = strrchr(g->workload, '.');
  return end && strcmp(end, ".safetensors") == 0;
}

/* The item of a scenario's list that is an object of that name, else the name itself. */
static cJSON *model_of(const cJSON *list, const char *name) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *own = ss_json_word(item, "name");
    if (own && strcmp(own, name) == 0) return cJSON_Duplicate(item, true);
  }
  return cJSON_CreateString(name);
}

/* "set" as edits of a request. */
static bool add_edits(cJSON *edits, const char *set, struct ss_error *error) {
  char copy[1024], *state = NULL;
  if (snprintf(copy, sizeof copy, "%s", set) >= (int)sizeof copy)
    return ss_fail(error, SS_BAD_INPUT, "\"set\" is too long");
  for (char *one = strtok_r(copy, " ", &state); one; one = strtok_r(NULL, " ", &state)) {
    char *value = strchr(one, '=');
    if (!value) return ss_fail(error, SS_BAD_INPUT, "\"set\": \"%s\" is not PATH=VALUE", one);
    *value++ = '\0';
    cJSON *item = ss_json_value("set", one, value, false, error);
    if (!item) return false;
    cJSON_AddItemToObject(edits, one, item);
  }
  return true;
}

static cJSON *systems_of(const struct ss_replays *r, uint32_t group, const cJSON *list) {
  cJSON *out = cJSON_CreateArray();
  for (size_t p = 0; p < r->points; p++)
    if (r->point[p].group == group) cJSON_AddItemToArray(out, model_of(list, r->point[p].system));
  return out;
}

static bool restrict_to(const struct ss_replays *r, uint32_t group, struct ss_doc *doc, struct ss_error *error) {
  const struct group *g = &r->group[group];
  cJSON *root = ss_doc_root(doc).at, *all = ss_json_get(root, "workloads");
  cJSON *one = model_of(all ? all : ss_json_get(root, "workload"), g->workload), *list = cJSON_CreateArray();
  cJSON *systems = systems_of(r, group, ss_json_get(root, "systems"));
  static const char *const gone[] = {"workload", "workloads", "systems", "baselines", "expect"};
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) cJSON_DeleteItemFromObjectCaseSensitive(root, gone[i]);
  cJSON_AddItemToArray(list, one);
  if (is_capture(g)) {
    cJSON_Delete(list);
    list = NULL;
  }
  return (list ? ss_doc_set_item(doc, "workloads", list, error)
               : ss_doc_set_item(doc, "capture", cJSON_CreateString(g->workload), error)) &&
         ss_doc_set_item(doc, "systems", systems, error) &&
         (!g->cluster[0] || ss_doc_set_item(doc, "cluster", cJSON_CreateString(g->cluster), error)) &&
         ss_doc_set_item(doc, "ranks", cJSON_CreateNumber(g->ranks), error);
}

/* What is supposed in that variant; false: nothing. */
static bool variant_of(const struct ss_replays *r, size_t v, struct ss_inferred_number *out) {
  size_t node = v;
  *out = (struct ss_inferred_number){.what = SS_UNKNOWN_GOODPUT};
  if (v == 0) return false;
  if (r->asked.varied[SS_UNKNOWN_GOODPUT] && v < NODES) {
    out->value = 1 / slow_nodes[v];
    return true;
  }
  if (r->asked.varied[SS_UNKNOWN_GOODPUT]) node -= NODES - 1;
  out->what = SS_UNKNOWN_HOST_BANDWIDTH;
  out->value = 1 / host_nodes[node - 1];
  return true;
}

static bool make_document(const struct ss_replays *r, uint32_t group, size_t v, const char *name, const char *path,
                          struct ss_doc **doc, struct ss_error *error) {
  const struct group *g = &r->group[group];
  struct ss_inferred_number n;
  if (!(g->scenario[0] ? ss_doc_read(path, SCENARIO_BYTES, doc, error) : ss_doc_empty(name, doc, error)) ||
      !restrict_to(r, group, *doc, error))
    return false;
  if (!variant_of(r, v, &n)) return true;
  cJSON *list = cJSON_CreateArray(), *software = ss_json_object(SS_J("inferred", list));
  cJSON_AddItemToArray(list, ss_json_object(SS_T("what", ss_unknown_names[n.what]), SS_N("value", n.value)));
  return ss_doc_set_item(*doc, "software", software, error);
}

/* Beside the table, or as any scenario is found. */
static bool find_scenario(const struct ss_replays *r, const struct group *g, char *path, size_t size,
                          struct ss_error *error) {
  ss_data_locate(g->scenario, r->asked.times->file, path, size);
  return access(path, F_OK) == 0 || ss_data_scenario(g->scenario, path, size, error);
}

static bool open_study(struct ss_replays *r, uint32_t group, size_t v, struct ss_error *error) {
  const struct group *g = &r->group[group];
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  char name[512], path[4096] = "";
  const size_t at = v * r->groups + group;
  SS_AUTO_JSON cJSON *edits = cJSON_CreateObject();
  (void)snprintf(name, sizeof name, "%.400s: line %llu", r->asked.times->file, (unsigned long long)g->time->line);
  if (g->scenario[0] && !find_scenario(r, g, path, sizeof path, error)) return ss_fail_prefix(error, "%s", name);
  if (!make_document(r, group, v, name, path, &doc, error) || !add_edits(edits, g->set, error))
    return ss_fail_prefix(error, "%s", name);
  struct ss_request request = {.document = ss_doc_root(doc).at,
                               .name = name,
                               .edits = edits,
                               .base = path[0] ? path : r->asked.times->file,
                               .certain = true,
                               .notice = v == 0 ? r->asked.notice : NULL,
                               .run = r->asked.run};
  const bool ok = ss_train_study_open(&request, at > 0 ? &r->study[at - 1] : NULL, &r->study[at], error);
  r->study[at].name = "table";
  r->study[at].training.replayed = true;
  return ok;
}

/* --- opening
 * --------------------------------------------------------------------------------------------------------- */

/* Where the point is among those of its study, which has the capture's own system first. */
static const struct ss_training_point *find_point(const struct ss_replays *r, size_t p, size_t v) {
  const struct point *point = &r->point[p];
  const struct ss_train_study *s = &r->study[v * r->groups + point->group];
  const char *own = s->captured.doc ? s->training.system[0].name : NULL;
  size_t found = 0;
  if (!own || strcmp(point->system, own) != 0) {
    found = own ? 1 : 0;
    for (size_t k = 0; k < p; k++)
      if (r->point[k].group == point->group && !(own && strcmp(r->point[k].system, own) == 0)) found++;
  }
  for (size_t i = 0; i < s->training.points; i++)
    if (s->training.point[i].system == &s->training.system[found] &&
        s->training.point[i].ranks == r->group[point->group].ranks)
      return &s->training.point[i];
  return NULL;
}

static bool simulate(struct ss_replays *r, struct ss_error *error) {
  r->variants = 1;
  if (r->asked.varied[SS_UNKNOWN_GOODPUT]) r->variants += NODES - 1;
  if (r->asked.varied[SS_UNKNOWN_HOST_BANDWIDTH]) r->variants += NODES;
  r->study = ss_alloc_zero(r->variants * r->groups, sizeof *r->study);
  if (!r->study) return ss_fail_memory(error, "simulating trainings");
  for (size_t v = 0; v < r->variants; v++)
    for (uint32_t g = 0; g < r->groups; g++)
      if (!open_study(r, g, v, error)) return false;
  if (!ss_train_studies_run(r->study, r->variants * r->groups, &r->asked.run, false, error)) return false;
  for (size_t p = 0; p < r->points; p++)
    for (size_t v = 0; v < r->variants; v++) {
      r->point[p].at[v] = find_point(r, p, v);
      if (!r->point[p].at[v])
        return ss_fail(error, SS_BAD_INPUT, "%s: line %llu: %s cannot run there", r->asked.times->file,
                       (unsigned long long)r->group[r->point[p].group].time->line, r->point[p].system);
    }
  return true;
}

bool ss_replays_open(const struct ss_replays_request *request, struct ss_replays **out, struct ss_error *error) {
  struct ss_replays *r = *out = ss_alloc_zero(1, sizeof *r);
  const struct ss_training_times *times = request->times;
  if (!r) return ss_fail_memory(error, "simulating trainings");
  r->asked = *request;
  r->first = ss_alloc(times->count + 1, sizeof *r->first);
  if (!r->first) return ss_fail_memory(error, "simulating trainings");
  for (size_t i = 0; i < times->count; i++) {
    r->first[i] = r->alternatives;
    if (!add_alternatives(r, &times->time[i], error)) return false;
  }
  r->first[times->count] = r->alternatives;
  return simulate(r, error);
}

void ss_replays_close(struct ss_replays *r) {
  if (!r) return;
  for (size_t i = r->study ? r->variants * r->groups : 0; i-- > 0;) ss_train_study_close(&r->study[i]);
  free(r->study);
  free(r->group);
  free(r->point);
  free(r->ref);
  free(r->alternative);
  free(r->first);
  ss_arena_free(&r->arena);
  free(r);
}

/* --- playing
 * --------------------------------------------------------------------------------------------------------- */

/* Adds what lies between nodes from variant `first` on at 1/value = x; the nodes' own variants are in order. */
static size_t interpolate(const double *node, double x, const size_t variant[NODES], double weight[VARIANTS]) {
  size_t k = 0;
  while (k + 2 < NODES && x > node[k + 1]) k++;
  const double w = (x - node[k]) / (node[k + 1] - node[k]);
  weight[variant[k]] += 1 - w;
  weight[variant[k + 1]] += w;
  return k;
}

static size_t mix(const struct ss_replays *r, const struct point *p, const struct ss_assumed *assumed,
                  struct ss_mixed_point mixed[VARIANTS]) {
  double weight[VARIANTS] = {1};
  size_t variant[NODES], count = 0;
  const double goodput = assumed->value[SS_UNKNOWN_GOODPUT], host = assumed->value[SS_UNKNOWN_HOST_BANDWIDTH];
  const bool varied = r->asked.varied[SS_UNKNOWN_GOODPUT];
  if (varied && !isnan(goodput)) {
    for (size_t k = 0; k < NODES; k++) variant[k] = k;
    weight[0] -= 1;
    (void)interpolate(slow_nodes, 1 / goodput, variant, weight);
  }
  if (r->asked.varied[SS_UNKNOWN_HOST_BANDWIDTH] && !isnan(host)) {
    for (size_t k = 0; k < NODES; k++) variant[k] = k + (varied ? NODES : 1);
    weight[0] -= 1;
    (void)interpolate(host_nodes, 1 / host, variant, weight);
  }
  for (size_t v = 0; v < r->variants; v++)
    if (v == 0 || weight[v] != 0)
      mixed[count++] = (struct ss_mixed_point){&r->study[v * r->groups + p->group].training, p->at[v], weight[v]};
  return count;
}

static bool same(const struct ss_assumed *a, const struct ss_assumed *b) {
  for (int i = 0; i < SS_UNKNOWNS; i++)
    if (a->value[i] != b->value[i] && !(isnan(a->value[i]) && isnan(b->value[i]))) return false;
  return true;
}

/* A play that is wanted. */
struct wanted {
  size_t point;
  struct played played;
};
struct plays {
  const struct ss_replays *r;
  struct wanted *list;
  size_t count;
  struct ss_iterated *result; /* [sets][points] */
};

static bool play_one(void *context, void *worker, size_t item, struct ss_error *error) {
  const struct plays *plays = context;
  struct wanted *w = &plays->list[item];
  struct ss_mixed_point mixed[VARIANTS];
  (void)worker;
  const size_t count = mix(plays->r, &plays->r->point[w->point], &w->played.assumed, mixed);
  return ss_training_replay(mixed, count, &w->played.assumed, &w->played.result, error);
}

static const struct ss_iterated *known(const struct point *p, const struct ss_assumed *assumed) {
  const size_t kept = p->count < KEPT ? p->count : KEPT;
  for (size_t k = 0; k < kept; k++)
    if (same(&p->kept[k].assumed, assumed)) return &p->kept[k].result;
  return NULL;
}

static struct ss_assumed assumed_at(const struct ss_replays *r, const struct point *p,
                                    const struct ss_inferred *set) {
  return ss_inferred_of(set, p->at[0]->fed->workload.name, p->at[0]->system->name,
                        r->study[p->group].training.durations.cluster.name);
}

/* Takes what point p has kept, and lists what it has not: of the listed, each set refers to the one alike. */
static void list_plays(const struct ss_replays *r, size_t p, const struct ss_inferred *set, size_t sets,
                       struct plays *out, uint32_t *from) {
  const size_t first = out->count;
  for (size_t s = 0; s < sets; s++) {
    const struct ss_assumed assumed = assumed_at(r, &r->point[p], &set[s]);
    const struct ss_iterated *result = known(&r->point[p], &assumed);
    size_t k = first;
    from[s * r->points + p] = UINT32_MAX;
    if (result) {
      out->result[s * r->points + p] = *result;
      continue;
    }
    while (k < out->count && !same(&out->list[k].played.assumed, &assumed)) k++;
    if (k == out->count) out->list[out->count++] = (struct wanted){p, {.assumed = assumed}};
    from[s * r->points + p] = (uint32_t)k;
  }
}

/* Every point under every set, into result[sets][points]; points keep what was played last. */
static bool play_all(struct ss_replays *r, const struct ss_inferred *set, size_t sets, struct ss_iterated *result,
                     struct ss_error *error) {
  SS_AUTO_FREE struct wanted *list = ss_alloc(r->points * sets, sizeof *list);
  SS_AUTO_FREE uint32_t *from = ss_alloc(r->points * sets, sizeof *from);
  struct plays plays = {.r = r, .list = list, .result = result};
  if (!list || !from) return ss_fail_memory(error, "playing trainings");
  for (size_t p = 0; p < r->points; p++) list_plays(r, p, set, sets, &plays, from);
  const struct ss_work work = {
      .context = &plays, .count = plays.count, .jobs = r->asked.run.jobs, .compute = play_one};
  if (plays.count > 0 && !ss_work_run(&work, error)) return false;
  for (size_t i = 0; i < r->points * sets; i++)
    if (from[i] != UINT32_MAX) result[i] = list[from[i]].played.result;
  for (size_t i = 0; i < plays.count; i++) {
    struct point *p = &r->point[list[i].point];
    p->kept[p->count++ % KEPT] = list[i].played;
  }
  r->plays += plays.count;
  return ss_watcher_goes_on(r->asked.run.watcher, error);
}

/* --- numbers
 * --------------------------------------------------------------------------------------------------------- */

static double quantity_of(const struct ss_replays *r, const struct point *p, const struct ss_iterated *result,
                          enum ss_time_quantity quantity) {
  switch (quantity) {
  case SS_TIME_ITERATION: return result->mean;
  case SS_TIME_SPEED: return r->group[p->group].ranks / result->mean;
  case SS_TIME_COMPUTE: return result->own;
  case SS_TIME_STALL: return result->mean - result->own - result->step;
  case SS_TIME_COMMUNICATION: return result->busy;
  default: return result->hidden;
  }
}

/* Of the best of the systems: the largest speed or hidden share, the least of all else. `result`: [points]. */
static double best_of(const struct ss_replays *r, size_t first, size_t count, enum ss_time_quantity quantity,
                      const struct ss_iterated *result) {
  const bool largest = quantity == SS_TIME_SPEED || quantity == SS_TIME_HIDDEN;
  double best = NAN;
  for (size_t i = first; i < first + count; i++) {
    const uint32_t p = r->ref[i];
    const double value = quantity_of(r, &r->point[p], &result[p], quantity);
    best = isnan(best) ? value : largest ? fmax(best, value) : fmin(best, value);
  }
  return best;
}

static double number_of(const struct ss_replays *r, size_t i, const struct ss_iterated *result) {
  const struct ss_training_time *t = &r->asked.times->time[i];
  double out = NAN;
  for (size_t k = r->first[i]; k < r->first[i + 1]; k++) {
    const struct alternative *a = &r->alternative[k];
    double value = best_of(r, a->top, a->tops, t->quantity, result);
    if (a->bottoms > 0) value /= best_of(r, a->bottom, a->bottoms, t->of_quantity, result);
    out = isnan(out) ? value : t->reduce == SS_TIME_MOST ? fmax(out, value) : fmin(out, value);
  }
  return out;
}

bool ss_replays_predict(struct ss_replays *r, const struct ss_inferred *set, size_t sets, double *out,
                        struct ss_error *error) {
  const size_t times = r->asked.times->count;
  SS_AUTO_FREE struct ss_iterated *result = ss_alloc(r->points * sets, sizeof *result);
  if (!result) return ss_fail_memory(error, "playing trainings");
  if (!play_all(r, set, sets, result, error)) return false;
  for (size_t s = 0; s < sets; s++)
    for (size_t i = 0; i < times; i++) out[s * times + i] = number_of(r, i, result + s * r->points);
  return true;
}

/* --- names
 * ------------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct ss_replays *r, size_t p, int kind) {
  const struct ss_training_point *at = r->point[p].at[0];
  return kind == 0   ? at->fed->workload.name
         : kind == 1 ? at->system->name
                     : r->study[r->point[p].group].training.durations.cluster.name;
}

const char *ss_replays_name(const struct ss_replays *r, int kind, size_t i) {
  for (size_t p = 0; p < r->points; p++) {
    size_t k = 0;
    while (k < p && strcmp(name_of(r, k, kind), name_of(r, p, kind)) != 0) k++;
    if (k == p && i-- == 0) return name_of(r, p, kind);
  }
  return NULL;
}

static bool is_of(const struct ss_replays *r, size_t p, const struct ss_inferred_number *n) {
  const char *const said[] = {n->workload, n->system, n->cluster};
  for (int kind = 0; kind < 3; kind++)
    if (said[kind] && strcmp(said[kind], name_of(r, p, kind)) != 0) return false;
  return true;
}

bool ss_replays_touches(const struct ss_replays *r, size_t i, const struct ss_inferred_number *number) {
  for (size_t k = r->first[i]; k < r->first[i + 1]; k++) {
    const struct alternative *a = &r->alternative[k];
    for (size_t ref = a->top; ref < a->top + a->tops; ref++)
      if (is_of(r, r->ref[ref], number)) return true;
    for (size_t ref = a->bottom; ref < a->bottom + a->bottoms; ref++)
      if (is_of(r, r->ref[ref], number)) return true;
  }
  return false;
}

size_t ss_replays_plays(const struct ss_replays *r) {
  return r->plays;
}
/* SPDX-License-Identifier: Apache-2.0 */
