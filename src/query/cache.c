#include "base/data.h"
#include "base/json.h"
#include "base/notice.h"
#include "base/work.h"
#include "query/field.h"
#include "query/query_internal.h"
#include "trace/make/drawn.h"

#include <omp.h>

/* B of synthetic lookups that are kept, and the part of what may be taken at all that they may be. */
enum { DRAWN_BYTES = 192 << 20, DRAWN_PART = 16 };

struct entry {
  struct ss_request request;
  size_t kind;
  cJSON *subject, *set; /* the document or the path of a file; {PATH: VALUE}, changes included */
  char path[PATH_MAX];  /* of the file, or of what relative paths are looked for beside */
  char *family, *key;   /* JSON of the request without what is set, and of all of it */
  struct ss_node node;
};

struct ss_query {
  unsigned jobs;
  const struct ss_notice *notice;
  const struct ss_watcher *watcher; /* NULL: nobody */
  struct ss_drawn *drawn;           /* NULL: memory was short */
  struct entry **entry;
  size_t count, requests; /* that are known; that there will be */
};

struct ss_query *ss_query_new(unsigned jobs, const struct ss_notice *notice) {
  struct ss_query *query = ss_alloc_zero(1, sizeof *query);
  if (!query) return NULL;
  const uint64_t part = ss_memory_allowed() / DRAWN_PART;
  *query = (struct ss_query){
      .jobs = jobs, .notice = notice, .drawn = ss_drawn_new(part < DRAWN_BYTES ? part : DRAWN_BYTES)};
  if (jobs) omp_set_num_threads((int)jobs);
  return query;
}

void ss_query_watch(struct ss_query *query, const struct ss_watcher *watcher, size_t requests) {
  query->watcher = watcher;
  query->requests = requests;
}

static void free_entry(struct entry *e) {
  if (!e) return;
  cJSON_Delete(e->request.answer);
  cJSON_Delete(e->subject);
  cJSON_Delete(e->set);
  free(e->family);
  free(e->key);
  free(e);
}

void ss_query_free(struct ss_query *query) {
  if (!query) return;
  for (size_t i = 0; i < query->count; i++) free_entry(query->entry[i]);
  free(query->entry);
  ss_drawn_free(query->drawn);
  free(query);
}

/* --- fields ------------------------------------------------------------------------------------------------- */

static const struct ss_field_spec anything = {NULL, NULL, SS_IS_ANY};
const struct ss_object_spec ss_by_path = {.others = &anything};
const struct ss_field_spec ss_asked_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&ss_by_path)}, {.name = NULL}};
#define OR(name) ",{'required': ['" #name "']}"
static const struct ss_field_spec fields[] = {SS_REQUEST_FIELDS, {.name = NULL}};
const struct ss_object_spec ss_request_fields = {
    .name = "request",
    .title = "A request (of claims, of the panels of figures, and of programs that use the library)",
    .says =
        "What is to be computed. run, plan, rounds, place, check and train take a scenario or the path of one. Paths "
        "are looked for from here, then in the data folder.",
    .field = fields,
    .rules = "{'oneOf': [{'required': ['run']}" OR(plan) OR(rounds) OR(place) OR(check) OR(train) OR(learn) OR(cost)
        OR(crossover) OR(calibrate) OR(stats) OR(measure) OR(hash) OR(file) "]}"};

static const struct ss_field_spec a_request = {NULL, NULL, SS_IS_OBJECT(&ss_request_fields)};
const struct ss_object_spec ss_inputs_fields = {.says = "requests by name", .others = &a_request};

/* --- reading ------------------------------------------------------------------------------------------------ */

bool ss_request_asks(struct ss_node node) {
  bool asks = false;
  for (size_t i = 0; ss_request_kinds[i].name; i++)
    asks = asks || ss_node_present(ss_node_get(node, ss_request_kinds[i].name));
  return asks;
}

bool ss_request_named(struct ss_node inputs, struct ss_node name, struct ss_node *out, struct ss_error *error) {
  const char *text, *names[256] = {NULL};
  if (!ss_node_text(name, &text, error)) return false;
  *out = ss_node_get(inputs, text);
  if (ss_node_present(*out)) return ss_object_check_keys(&ss_request_fields, *out, error);
  size_t known = 0;
  for (struct ss_node n = ss_node_first(inputs); ss_node_present(n) && known < 255; n = ss_node_next(n))
    names[known++] = ss_node_key(n);
  return ss_node_fail(name, error, "no input is called \"%s\"%s", text, ss_suggest(text, names, NULL).text);
}

static bool read_kind(struct ss_node node, struct entry *e, struct ss_error *error) {
  size_t found = 0;
  char names[200] = "";
  for (size_t i = 0; ss_request_kinds[i].name; i++) {
    const char *name = ss_request_kinds[i].name;
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s\"%s\"", used ? ", " : "", name);
    if (!ss_node_present(ss_node_get(node, name))) continue;
    e->kind = i;
    found++;
  }
  if (found == 1) return true;
  return ss_node_fail(node, error, "asks %s: say one of %s", found ? "several things" : "nothing", names);
}

/* Does the request say so already? Then it is shared with others that do not mention it. A sweep may put another
 * value there. */
static bool says(const struct entry *e, const struct ss_query_change *change) {
  const cJSON *own = ss_json_get(e->set, change->path);
  if (!own && !ss_json_get(e->subject, "sweep")) own = ss_field_find(e->subject, change->path);
  return own && cJSON_IsNumber(own) && own->valuedouble == change->value;
}

static bool add_change(struct entry *e, const struct ss_query_change *change) {
  if (says(e, change)) return true;
  return ss_json_put(e->set, change->path, cJSON_CreateNumber(change->value));
}

/* The texts stay the entry's, so that a list of them can be printed without copies. */
static char *key_of(const struct entry *e, const cJSON *set) {
  cJSON *list = cJSON_CreateArray();
  bool ok = cJSON_AddItemToArray(list, cJSON_CreateNumber((double)e->kind)) &&
            cJSON_AddItemReferenceToArray(list, e->subject) &&
            (!set || cJSON_AddItemReferenceToArray(list, (cJSON *)set)) &&
            cJSON_AddItemToArray(list, cJSON_CreateBool(e->request.run.per_rank)) &&
            cJSON_AddItemToArray(list, cJSON_CreateBool(e->request.run.per_iteration));
  char *text = ok ? cJSON_PrintUnformatted(list) : NULL;
  cJSON_Delete(list);
  return text;
}

static bool read_flag(struct ss_node node, const char *key, bool *out, struct ss_error *error) {
  const struct ss_node flag = ss_node_get(node, key);
  return !ss_node_present(flag) || ss_node_flag(flag, out, error);
}

/* Paths are looked for from here, then in the data folder. */
static bool fill_request(struct entry *e, struct ss_error *error) {
  struct ss_request *r = &e->request;
  const char *kind = ss_request_kinds[e->kind].name;
  r->edits = e->set;
  if (cJSON_IsString(e->subject)) {
    r->file = e->path;
    return ss_request_path(e->subject->valuestring, e->path, sizeof e->path, error);
  }
  if (!cJSON_IsObject(e->subject))
    return ss_node_fail(ss_node_get(e->node, kind), error, "expected a scenario or an object, or the path of one");
  r->name = kind;
  r->document = e->subject;
  r->base = e->path;
  return ss_data_path("scenarios", e->path, sizeof e->path, error);
}

static bool read(const struct ss_query_request *request, struct entry *e, struct ss_error *error) {
  const struct ss_node node = request->node, set = ss_node_get(node, "set");
  e->node = node;
  if (!read_kind(node, e, error) || !read_flag(node, "per_rank", &e->request.run.per_rank, error) ||
      !read_flag(node, "per_iteration", &e->request.run.per_iteration, error))
    return false;
  if (ss_node_present(set) && !ss_node_is_object(set))
    return ss_node_fail(set, error, "expected an object of values by path, say {\"ranks\": 16}");
  e->subject = cJSON_Duplicate(ss_node_get(node, ss_request_kinds[e->kind].name).at, true);
  e->set = ss_node_present(set) ? cJSON_Duplicate(set.at, true) : cJSON_CreateObject();
  bool ok = e->subject && e->set && (e->family = key_of(e, NULL));
  for (size_t i = 0; ok && i < request->changes; i++) ok = add_change(e, &request->change[i]);
  ok = ok && (e->key = key_of(e, e->set));
  return ok ? fill_request(e, error) : ss_fail_memory(error, "reading a request");
}

/* --- the cache ---------------------------------------------------------------------------------------------- */

/* The entry of the request, which is added if there is none. */
static bool find(struct ss_query *query, const struct ss_query_request *request, struct entry **out,
                 struct ss_error *error) {
  struct entry *e = ss_alloc_zero(1, sizeof *e);
  if (!e) return ss_fail_memory(error, "reading a request");
  if (!read(request, e, error)) {
    free_entry(e);
    return false;
  }
  for (size_t i = 0; i < query->count; i++) {
    *out = query->entry[i];
    if (strcmp((*out)->key, e->key) != 0) continue;
    free_entry(e);
    return true;
  }
  if (!ss_grow_by_one(query->entry, query->count)) {
    free_entry(e);
    return ss_fail_memory(error, "reading a request");
  }
  e->request.notice = query->notice;
  e->request.drawn = query->drawn;
  e->request.certain = true;
  e->request.run.jobs = query->jobs;
  query->entry[query->count++] = *out = e;
  return true;
}

/* Requests that are one computation. */
static bool compute(const struct ss_query *query, size_t kind, struct ss_request *const *request, size_t count,
                    struct ss_error *error) {
  const size_t all = query->requests > query->count ? query->requests : query->count;
  struct ss_watched_step step = {query->watcher, (double)count, (double)all, 0};
  const struct ss_watcher watcher = ss_watched_step_watcher(&step);
  request[0]->run.watcher = &watcher;
  const bool ok = ss_requests_answer(&ss_request_kinds[kind], request, count, error);
  request[0]->run.watcher = NULL;
  ss_watched_step_end(&step);
  return ok;
}

static bool compute_all(const struct ss_query *query, size_t kind, struct ss_request *const *request, size_t count,
                        struct ss_error *error) {
  if (ss_request_kinds[kind].all) return compute(query, kind, request, count, error);
  for (size_t i = 0; i < count; i++)
    if (!compute(query, kind, &request[i], 1, error)) return false;
  return true;
}

/* The request, and all expected ones that differ from it only in what is set. */
static bool answer(struct ss_query *query, struct entry *e, struct ss_error *error) {
  SS_AUTO_FREE struct ss_request **request = ss_alloc(query->count, sizeof *request);
  size_t count = 0;
  if (!request) return ss_fail_memory(error, "answering a request");
  for (size_t i = 0; i < query->count; i++) {
    struct entry *other = query->entry[i];
    if (strcmp(other->family, e->family) == 0 && !other->request.answer) request[count++] = &other->request;
  }
  if (compute_all(query, e->kind, request, count, error)) return true;
  char path[256];
  return ss_fail_prefix(error, "%s: %s", ss_doc_name(e->node.doc), ss_node_path(e->node, path, sizeof path));
}

/* --- families side by side ---------------------------------------------------------------------------------- */

/* What a family was told is passed on when all are through: one after the other, in the order of requests. */
static void keep(void *texts, const char *text) {
  cJSON_AddItemToArray(texts, cJSON_CreateString(text));
}

static void pass_on(const struct ss_query *query, cJSON *texts) {
  for (const cJSON *t = texts ? texts->child : NULL; t; t = t->next) ss_notice_tell(query->notice, t->valuestring);
  cJSON_Delete(texts);
}

static void notify(const struct ss_query *query, const struct entry *head, const struct ss_notice *notice) {
  for (size_t i = 0; i < query->count; i++)
    if (strcmp(query->entry[i]->family, head->family) == 0) query->entry[i]->request.notice = notice;
}

/* The first of each family; returns their number. */
static size_t list_heads(const struct ss_query *query, struct entry **head) {
  size_t count = 0;
  for (size_t i = 0; i < query->count; i++) {
    struct entry *e = query->entry[i];
    bool known = e->request.answer;
    for (size_t k = 0; k < count && !known; k++) known = strcmp(head[k]->family, e->family) == 0;
    if (!known) head[count++] = e;
  }
  return count;
}

/* A family answered on one thread waits for nobody, and draws nothing twice; few of them would leave threads idle. */
static bool worthwhile(size_t families, unsigned threads) {
  enum { EACH = 4 };
  return threads > 1 && families >= (size_t)EACH * threads;
}

/* Families that are answered side by side. */
struct families {
  struct ss_query *query;
  struct entry **head; /* [count] */
  cJSON **texts;       /* [count] texts */
  size_t count, done;
  void (*answered)(void *context, size_t done, size_t all);
  void *context;
};

static bool answer_family(void *context, void *worker, size_t item, struct ss_error *error) {
  const struct families *f = context;
  const struct ss_notice mine = {keep, f->texts[item]};
  (void)worker;
  notify(f->query, f->head[item], &mine);
  const bool ok = answer(f->query, f->head[item], error);
  notify(f->query, f->head[item], f->query->notice);
  return ok;
}

static bool family_answered(void *context, size_t item, struct ss_error *error) {
  struct families *f = context;
  (void)item;
  (void)error;
  f->done++;
  if (f->answered) f->answered(f->context, f->done, f->count);
  return true;
}

/* What fails is asked again, and fails again, by who asks the request. */
void ss_query_answer_expected(struct ss_query *query, void (*answered)(void *context, size_t done, size_t all),
                              void *context) {
  const unsigned threads = query->jobs ? query->jobs : (unsigned)omp_get_num_procs();
  SS_AUTO_FREE struct entry **head = ss_alloc(query->count, sizeof *head);
  SS_AUTO_FREE cJSON **texts = ss_alloc(query->count, sizeof *texts);
  struct families families = {.query = query,
                              .head = head,
                              .texts = texts,
                              .count = head && texts ? list_heads(query, head) : 0,
                              .answered = answered,
                              .context = context};
  const struct ss_work work = {.context = &families,
                               .count = families.count,
                               .jobs = threads,
                               .compute = answer_family,
                               .finished = family_answered};
  struct ss_error ignored;
  if (!head || !texts || !worthwhile(families.count, threads)) return;
  for (size_t i = 0; i < families.count; i++) texts[i] = cJSON_CreateArray();
  (void)!ss_work_run(&work, &ignored);
  for (size_t i = 0; i < families.count; i++) pass_on(query, texts[i]);
}

/* ------------------------------------------------------------------------------------------------------------ */

bool ss_query_expect(struct ss_query *query, const struct ss_query_request *request, struct ss_error *error) {
  struct entry *e;
  return find(query, request, &e, error);
}

bool ss_query_ask(struct ss_query *query, const struct ss_query_request *request, const cJSON **out,
                  struct ss_error *error) {
  struct entry *e;
  if (!find(query, request, &e, error) || (!e->request.answer && !answer(query, e, error))) return false;
  *out = e->request.answer;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
