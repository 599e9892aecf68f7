#include "query/check.h"

#include "base/work.h"

/* About what a point takes that is played on so many networks: entries that ranks list, and messages of all with all
 * on each of them. */
static double work_of(const struct ss_grid_point *p) {
  const double ranks = p->ranks,
               entries = p->gradient.elements > 0 ? (double)p->gradient.elements : (double)p->uniform.nnz;
  return (double)p->iterations * (ranks * entries + ranks * ranks * p->networks);
}

struct playing {
  struct ss_checks *checks;
  const struct ss_watcher *watcher;
  size_t *first; /* [items] a point that is played with those behind it */
  double whole;
};

static void *open_worker(void *context, unsigned threads) {
  (void)context;
  (void)threads;
  return ss_alloc_zero(1, sizeof(struct ss_grid_scratch));
}

static void close_worker(void *worker) {
  ss_grid_scratch_free(worker);
  free(worker);
}

static bool play(void *context, void *worker, size_t item, struct ss_error *error) {
  const struct playing *p = context;
  const struct ss_grid_point *point = &p->checks->grid.point[p->first[item]];
  return ss_grid_play(point, point->networks, worker, &p->checks->result[p->first[item]], error);
}

static bool played(void *context, size_t item, struct ss_error *error) {
  const struct playing *p = context;
  const struct ss_grid_point *point = &p->checks->grid.point[p->first[item]];
  (void)error;
  ss_watcher_advance(p->watcher, point->networks, work_of(point), p->whole);
  return true;
}

static bool play_all(struct ss_checks *c, const struct ss_run_options *options, struct ss_error *error) {
  SS_AUTO_FREE size_t *first = ss_alloc(c->grid.count, sizeof *first);
  struct playing playing = {.checks = c, .watcher = options->watcher, .first = first};
  struct ss_work work = {.context = &playing,
                         .jobs = options->jobs,
                         .open_worker = open_worker,
                         .close_worker = close_worker,
                         .compute = play,
                         .finished = played};
  c->result = ss_alloc_zero(c->grid.count, sizeof *c->result);
  if (!first || !c->result) return ss_fail_memory(error, "checking");
  for (size_t i = 0; i < c->grid.count; i++) {
    if (c->grid.point[i].networks == 0) continue;
    first[work.count++] = i;
    playing.whole += work_of(&c->grid.point[i]);
  }
  ss_watcher_begin(options->watcher, "points", c->grid.count);
  const bool ok = ss_work_run(&work, error);
  ss_watcher_end(options->watcher);
  return ok;
}

/* The bound that it is to reach, or the nearer one. */
static double promised(const struct ss_grid_point *p, const struct ss_grid_result *r) {
  if (p->cost->exact) return r->exact;
  const bool low = p->touches ? p->touches == SS_TOUCH_LOW : r->simulated < r->low;
  return low ? r->low : r->high;
}

/* A verdict a form. */
static bool judge(struct ss_checks *c, struct ss_error *error) {
  struct ss_verdict *verdict = NULL;
  char form[128];
  for (size_t i = 0; i < c->grid.count; i++) {
    const struct ss_grid_point *p = &c->grid.point[i];
    const struct ss_grid_result *r = &c->result[i];
    if (i == 0 || p->cost->file != p[-1].cost->file) {
      ss_cost_form_name(p->cost, form, sizeof form);
      verdict = ss_verdicts_add(&c->forms);
      if (!verdict || !(verdict->text = strdup(form))) return ss_fail_memory(error, "checking");
    }
    verdict->points++;
    if (r->ok) continue;
    c->forms.failed += verdict->misses == 0;
    const struct ss_miss miss = {NULL, i, "time_s", r->simulated, promised(p, r)};
    if (!ss_verdict_add_miss(verdict, miss)) return ss_fail_memory(error, "checking");
  }
  return true;
}

/* The form, and then what it is where sizes are told, in each way. */
static bool add_ways(struct ss_grid *grid, const struct ss_cost *cost, struct ss_error *error) {
  for (int i = 0; i < SS_COST_WAYS; i++) {
    const struct ss_cost *way = i == 0 || i % 2 ? ss_cost_way(cost, i % 2, (enum ss_ragged)(i / 2)) : NULL;
    if (way && (way->exact || way->exact_low) && !ss_grid_add(grid, way, error)) return false;
  }
  return true;
}

bool ss_checks_run(const struct ss_costs *costs, const struct ss_run_options *options, struct ss_checks *c,
                   struct ss_error *error) {
  *c = (struct ss_checks){0};
  for (size_t i = 0; i < costs->count; i++)
    if (!add_ways(&c->grid, &costs->cost[i], error)) return false;
  return play_all(c, options, error) && judge(c, error);
}

void ss_checks_free(struct ss_checks *c) {
  ss_grid_free(&c->grid);
  ss_verdicts_free(&c->forms);
  free(c->result);
  *c = (struct ss_checks){0};
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

const char *ss_grid_input_name(const struct ss_grid_point *p) {
  static const char *const overlaps[] = {
      [SS_OVERLAP_FULL] = "full", [SS_OVERLAP_NONE] = "none", [SS_OVERLAP_RANDOM] = "random"};
  return p->gradient.elements > 0 ? "gradient" : overlaps[p->uniform.overlap];
}

const char *ss_grid_touch_name(const struct ss_grid_point *p) {
  static const char *const touches[] = {[SS_TOUCH_NONE] = NULL, [SS_TOUCH_LOW] = "low", [SS_TOUCH_HIGH] = "high"};
  return touches[p->touches];
}

static cJSON *inputs_json(const struct ss_grid_point *p) {
  char form[128];
  ss_cost_form_name(p->cost, form, sizeof form);
  cJSON *at =
      ss_json_object(SS_T("form", form), SS_N("P", p->ranks), SS_N("rows", (double)p->uniform.rows),
                     SS_N("row_width", p->uniform.width), SS_N("d", (double)p->uniform.nnz / (double)p->uniform.rows),
                     SS_T("overlap", ss_grid_input_name(p)));
  if (p->gradient.elements > 0) cJSON_AddNumberToObject(at, "rho", p->gradient.rho);
  ss_json_add(at, SS_N("iterations", (double)p->iterations), SS_N("index_bytes", p->setting.index_bytes),
              SS_T("sizes", ss_size_ways[p->setting.exchange_sizes]),
              SS_T("ragged", ss_ragged_ways[p->setting.ragged]), SS_N("alpha", p->alpha), SS_N("beta", p->beta),
              SS_B("verify", p->verify));
  return at;
}

static cJSON *point_json(const struct ss_grid_point *p, const struct ss_grid_result *r) {
  const char *touches = ss_grid_touch_name(p);
  return ss_json_object(SS_T("scheme", p->setting.scheme->name), SS_J("point", inputs_json(p)),
                        SS_N("simulated_s", r->simulated), SS_N("exact_s", r->exact), SS_N("low_s", r->low),
                        SS_N("high_s", r->high),
                        SS_J("touches", touches ? cJSON_CreateString(touches) : cJSON_CreateNull()),
                        SS_N("paper_s", r->paper), SS_N("relative", r->relative), SS_B("ok", r->ok));
}

cJSON *ss_checks_json(const struct ss_checks *c) {
  cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "checks");
  for (size_t i = 0; i < c->grid.count; i++) cJSON_AddItemToArray(list, point_json(&c->grid.point[i], &c->result[i]));
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
