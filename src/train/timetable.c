#include "train/timetable.h"

const char *ss_task_kind_name(enum ss_task_kind kind) {
  static const char *const names[] = {"gradient", "lookups", "prior", "delayed"};
  return names[kind];
}

struct ss_policy ss_system_policy(const struct ss_system *system) {
  const bool dense = ss_setting_sends_dense(&system->sparse);
  return (struct ss_policy){.schedule = system->schedule,
                            .bucket = system->bucket,
                            .first_bucket = system->first_bucket ? system->first_bucket : system->bucket,
                            .listed = system->listed.lists > 0 ? &system->listed : NULL,
                            .partition = system->partition,
                            .exchanges = system->exchanges,
                            .dense_tables = dense,
                            .fuse_tables = dense && ss_setting_same(&system->sparse, &system->dense),
                            .concurrency = system->concurrency};
}

void ss_timetable_free(struct ss_timetable *timetable) {
  free(timetable->task);
  ss_arena_free(&timetable->arena);
  *timetable = (struct ss_timetable){0};
}

/* --- tasks ---------------------------------------------------------------------------------------------- */

enum { PARTS_MAX = 1 << 20, TASKS_MAX = 1 << 22 };

struct making {
  struct ss_timetable *t;
  uint32_t capacity;
  uint32_t *position;  /* [modules] in forward order */
  uint32_t *first_use; /* [modules] position of the first module that an embedding's lookups go to; n: of none */
  bool *listed;        /* [modules] it goes as a list of the system's says */
};

static bool add(struct making *m, struct ss_task task, struct ss_error *error) {
  struct ss_timetable *t = m->t;
  if (!ss_grow(t->task, m->capacity, (size_t)t->tasks + 1)) return ss_fail_memory(error, "listing tasks");
  if (t->tasks == TASKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: more than %d tasks an iteration: make \"partition\" larger",
                   t->workload->name, TASKS_MAX);
  task.channel = t->policy.concurrency.channel[task.dense ? SS_CARGO_DENSE : (enum ss_cargo)task.kind];
  task.maker = task.member[task.members - 1];
  t->task[t->tasks++] = task;
  return true;
}

static bool is_dense(const struct making *m, uint32_t module) {
  return !m->t->workload->module[module].embedding || m->t->policy.dense_tables;
}

/* A task of one module, whole. A gradient is queued just behind the lookup exchange that its own module waits for. */
static bool begin(struct making *m, enum ss_task_kind kind, uint32_t module, struct ss_task *out,
                  struct ss_error *error) {
  const bool lookups = kind == SS_TASK_LOOKUPS;
  const double position = lookups ? m->first_use[module] : m->position[module];
  uint32_t *member = ss_arena_alloc(&m->t->arena, 1, sizeof *member);
  if (!member) return ss_fail_memory(error, "listing tasks");
  *member = module;
  *out = (struct ss_task){.kind = kind, .member = member, .members = 1, .parts = 1};
  switch (m->t->policy.schedule) {
  case SS_FIFO: break;
  case SS_PRIORITY: out->key = position; break;
  default: out->key = 2 * position + (lookups ? 0 : 1);
  }
  return true;
}

/* Bytes [part of parts] of whole elements. */
static uint64_t part_bytes(uint64_t bytes, uint32_t element, uint64_t part, uint64_t parts) {
  const uint64_t n = bytes / element;
  return (ss_share(n, parts, part + 1) - ss_share(n, parts, part)) * element;
}

/* A dense tensor of its own, cut where the policy says so. */
static bool add_tensor(struct making *m, uint32_t module, struct ss_error *error) {
  const struct ss_module *what = &m->t->workload->module[module];
  const uint64_t size = m->t->policy.partition;
  const uint32_t element = ss_dtype_bytes(m->t->workload->dtype);
  struct ss_task task;
  if (!begin(m, SS_TASK_GRADIENT, module, &task, error)) return false;
  uint64_t parts = size ? (what->bytes - 1) / size + 1 : 1;
  if (parts > what->bytes / element) parts = what->bytes / element;
  if (parts > PARTS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: %s of %llu bytes in parts of %llu are more than %d tasks",
                   m->t->workload->name, what->name, (unsigned long long)what->bytes, (unsigned long long)size,
                   PARTS_MAX);
  task.dense = true;
  task.parts = (uint32_t)parts;
  for (; task.part < task.parts; task.part++) {
    task.bytes = part_bytes(what->bytes, element, task.part, parts);
    if (!add(m, task, error)) return false;
  }
  return true;
}

/* Dense tensors in backward order: a bucket closes once it holds enough, or when there are no more. */
static bool add_buckets(struct making *m, bool tables, bool modules, struct ss_error *error) {
  const struct ss_workload *w = m->t->workload;
  uint32_t *member = ss_arena_alloc(&m->t->arena, w->modules, sizeof *member);
  struct ss_task task = {.kind = SS_TASK_GRADIENT, .parts = 1, .dense = true, .member = member};
  uint64_t full = m->t->policy.first_bucket;
  if (!member) return ss_fail_memory(error, "fusing tensors");
  for (uint32_t i = w->modules; i-- > 0;) {
    if (!(w->module[i].embedding ? tables : modules) || w->module[i].bytes == 0) continue;
    member[task.members++] = i;
    task.bytes += w->module[i].bytes;
    if (task.bytes < full) continue;
    if (!add(m, task, error)) return false;
    full = m->t->policy.bucket;
    member += task.members;
    task.member = member;
    task.members = 0;
    task.bytes = 0;
  }
  return task.members == 0 || add(m, task, error);
}

/* The module of name i of list k, which must be one, and be able to go with those of the list before it. */
static bool take_listed(struct making *m, uint32_t k, uint32_t i, uint32_t *module, struct ss_error *error) {
  const struct ss_workload *w = m->t->workload;
  const struct ss_policy *p = &m->t->policy;
  const struct ss_buckets *b = p->listed;
  const uint32_t begin = k > 0 ? b->end[k - 1] : 0;
  const char *name = b->name[begin + i], *why = NULL;
  const struct ss_module *to = w->module;
  while (to < w->module + w->modules && strcmp(to->name, name) != 0) to++;
  const uint32_t at = *module = (uint32_t)(to - w->module);
  if (at == w->modules) why = "is no module of";
  else if (m->listed[at]) why = "is in two lists (or twice in one) of";
  else if (to->bytes == 0) why = "has no gradient in";
  else if (b->end[k] - begin > 1 && !is_dense(m, at)) why = "is a table whose rows go alone, in";
  else if (i > 0 && w->module[module[-1]].embedding != to->embedding && !p->fuse_tables)
    why = "goes by another scheme than what is before it in the list, in";
  if (why) return ss_fail(error, SS_BAD_INPUT, "%s[%u][%u]: \"%s\" %s %s", b->where, k, i, name, why, w->name);
  m->listed[at] = true;
  return true;
}

static int later_first(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x < y) - (x > y);
}

/* What lists say goes together; each when it and all before it are there, as a library keeps to their order. */
static bool add_lists(struct making *m, struct ss_error *error) {
  const struct ss_workload *w = m->t->workload;
  const struct ss_buckets *b = m->t->policy.listed;
  uint32_t last = w->modules, begin = 0;
  for (uint32_t k = 0; k < b->lists; begin = b->end[k++]) {
    const uint32_t n = b->end[k] - begin;
    uint32_t *member = ss_arena_alloc(&m->t->arena, n, sizeof *member);
    struct ss_task task = {.kind = SS_TASK_GRADIENT, .parts = 1, .member = member, .members = n};
    if (!member) return ss_fail_memory(error, "fusing tensors");
    for (uint32_t i = 0; i < n; i++) {
      if (!take_listed(m, k, i, &member[i], error)) return false;
      task.bytes += w->module[member[i]].bytes;
      if (member[i] < last) last = member[i];
    }
    qsort(member, n, sizeof *member, later_first);
    task.dense = is_dense(m, *member);
    if (!task.dense) task.bytes = 0;
    if (!add(m, task, error)) return false;
    m->t->task[m->t->tasks - 1].maker = last;
  }
  return true;
}

static bool add_rows(struct making *m, uint32_t module, struct ss_error *error) {
  struct ss_task task;
  if (!begin(m, SS_TASK_GRADIENT, module, &task, error)) return false;
  if (!m->t->splits) return add(m, task, error);
  task.kind = SS_TASK_PRIOR;
  task.delayed = m->t->tasks + 1;
  if (!add(m, task, error)) return false;
  task.kind = SS_TASK_DELAYED;
  task.late_key = task.key - 0.5; /* just before the prior rows of the next iteration */
  task.key = 4.0 * m->t->workload->modules + m->position[module];
  return add(m, task, error);
}

static bool add_tasks(struct making *m, struct ss_error *error) {
  const struct ss_workload *w = m->t->workload;
  const struct ss_policy *p = &m->t->policy;
  const bool fuses = p->bucket > 0;
  if (p->listed && !add_lists(m, error)) return false;
  if (fuses && !add_buckets(m, p->fuse_tables, true, error)) return false;
  if (fuses && p->dense_tables && !p->fuse_tables && !add_buckets(m, true, false, error)) return false;
  for (uint32_t i = w->modules; i-- > 0;) {
    if (w->module[i].bytes == 0 || m->listed[i] || (fuses && is_dense(m, i))) continue;
    if (!(is_dense(m, i) ? add_tensor(m, i, error) : add_rows(m, i, error))) return false;
  }
  m->t->gradients = m->t->tasks;
  for (uint32_t i = 0; p->exchanges && i < w->modules; i++) {
    struct ss_task lookups;
    if (!w->module[i].embedding) continue;
    if (!begin(m, SS_TASK_LOOKUPS, i, &lookups, error) || !add(m, lookups, error)) return false;
  }
  return true;
}

/* --- what makes them, what waits for them ---------------------------------------------------------------- */

/* Lists of tasks by module, out of pairs: `each` gives the i-th module of a task, UINT32_MAX for one to be left out,
 * false when there are no more. */
static bool make_lists(struct making *m, struct ss_task_lists *out,
                       bool (*each)(const struct making *m, uint32_t task, uint32_t i, uint32_t *module),
                       struct ss_error *error) {
  const struct ss_timetable *t = m->t;
  const uint32_t n = t->workload->modules;
  uint32_t *first = ss_arena_zero(&m->t->arena, (size_t)n + 2, sizeof *first), module;
  if (!first) return ss_fail_memory(error, "listing tasks");
  for (uint32_t k = 0; k < t->tasks; k++)
    for (uint32_t i = 0; each(m, k, i, &module); i++)
      if (module < n) first[module + 2]++;
  for (uint32_t i = 2; i <= n + 1; i++) first[i] += first[i - 1];
  uint32_t *task = ss_arena_alloc(&m->t->arena, first[n + 1], sizeof *task);
  if (!task) return ss_fail_memory(error, "listing tasks");
  for (uint32_t k = 0; k < t->tasks; k++)
    for (uint32_t i = 0; each(m, k, i, &module); i++)
      if (module < n) task[first[module + 1]++] = k;
  *out = (struct ss_task_lists){first, task};
  return true;
}

/* A gradient is there when its maker is done; split rows come from the split. */
static bool each_maker(const struct making *m, uint32_t task, uint32_t i, uint32_t *module) {
  const struct ss_task *t = &m->t->task[task];
  if (i > 0 || t->kind != SS_TASK_GRADIENT) return false;
  *module = t->maker;
  return true;
}

static bool each_lookup(const struct making *m, uint32_t task, uint32_t i, uint32_t *module) {
  const struct ss_task *t = &m->t->task[task];
  if (i > 0 || t->kind != SS_TASK_LOOKUPS) return false;
  *module = *t->member;
  return true;
}

static bool uses(const struct ss_module *module, uint32_t embedding) {
  for (uint32_t i = 0; i < module->afters; i++)
    if (module->after[i] == embedding) return true;
  return false;
}

/* The modules whose forward pass a task gates: those whose gradient it carries, those that its lookups go to. */
static bool each_gated(const struct making *m, uint32_t task, uint32_t i, uint32_t *module) {
  const struct ss_task *t = &m->t->task[task];
  const struct ss_workload *w = m->t->workload;
  *module = UINT32_MAX;
  if (t->kind == SS_TASK_DELAYED) return false;
  if (t->kind == SS_TASK_LOOKUPS) {
    if (i < w->modules && uses(&w->module[i], *t->member)) *module = i;
    return i < w->modules;
  }
  if (i < t->members) *module = t->member[i];
  return i < t->members;
}

static bool find_befores(struct making *m, struct ss_error *error) {
  struct ss_timetable *t = m->t;
  uint32_t *before = ss_arena_alloc(&t->arena, t->tasks - t->gradients, sizeof *before);
  if (!before) return ss_fail_memory(error, "listing tasks");
  t->before_backward = before;
  for (uint32_t k = t->gradients; k < t->tasks; k++)
    if (m->first_use[*t->task[k].member] == t->workload->modules) before[t->befores++] = k;
  return true;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static bool order_modules(struct making *m, struct ss_error *error) {
  struct ss_timetable *t = m->t;
  const struct ss_workload *w = t->workload;
  const bool tables_first = t->policy.schedule == SS_HORIZONTAL || t->policy.schedule == SS_2D;
  uint32_t *forward = ss_arena_alloc(&t->arena, w->modules, sizeof *forward);
  m->position = ss_arena_alloc(&t->arena, w->modules, sizeof *m->position);
  m->first_use = ss_arena_alloc(&t->arena, w->modules, sizeof *m->first_use);
  m->listed = ss_arena_zero(&t->arena, w->modules, sizeof *m->listed);
  if (!forward || !m->position || !m->first_use || !m->listed) return ss_fail_memory(error, "ordering modules");
  if (!ss_workload_order(w, tables_first, forward, error)) return false;
  t->forward = forward;
  for (uint32_t i = 0; i < w->modules; i++) {
    m->position[forward[i]] = i;
    m->first_use[i] = w->modules;
  }
  for (uint32_t i = w->modules; i-- > 0;)
    for (uint32_t k = 0; k < w->module[forward[i]].afters; k++) m->first_use[w->module[forward[i]].after[k]] = i;
  return true;
}

bool ss_timetable_make(const struct ss_workload *workload, const struct ss_policy *policy, uint32_t ranks,
                       struct ss_timetable *out, struct ss_error *error) {
  struct making m = {.t = out};
  *out = (struct ss_timetable){.workload = workload, .policy = *policy, .ranks = ranks};
  if (!order_modules(&m, error)) return false;
  for (uint32_t i = 0; i < workload->modules; i++)
    out->splits = out->splits || (ranks > 1 && policy->schedule == SS_2D && workload->module[i].embedding);
  return (ranks == 1 || add_tasks(&m, error)) && make_lists(&m, &out->by_backward, each_maker, error) &&
         make_lists(&m, &out->by_forward, each_lookup, error) && make_lists(&m, &out->gates, each_gated, error) &&
         find_befores(&m, error);
}

void ss_task_name(const struct ss_timetable *t, const struct ss_task *task, char *out, size_t size) {
  const char *module = t->workload->module[task->member[0]].name;
  const char *last = t->workload->module[task->member[task->members - 1]].name;
  if (task->members > 1) snprintf(out, size, "%s of %.60s to %.60s", ss_task_kind_name(task->kind), module, last);
  else if (task->parts > 1)
    snprintf(out, size, "%s of %.60s, %u of %u", ss_task_kind_name(task->kind), module, task->part + 1, task->parts);
  else snprintf(out, size, "%s of %.60s", ss_task_kind_name(task->kind), module);
}
/* SPDX-License-Identifier: Apache-2.0 */
