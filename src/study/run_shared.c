#include "study/run_shared.h"

#include "base/json_text.h"
#include "share/share.h"
#include "study/processes.h"
#include "study/results_read.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *open_worker(void *context, unsigned threads) {
  struct ss_worker *worker = ss_alloc_zero(1, sizeof *worker);
  (void)context;
  if (worker) worker->inputs.budget = SS_INPUTS_ROOM / threads;
  return worker;
}

static void close_worker(void *worker) {
  ss_worker_free(worker);
  free(worker);
}

/* A group's points travel as a list in JSON, as they are written to the journal. */
static void *compute(void *context, void *worker, size_t item, size_t *size, struct ss_error *error) {
  const struct ss_points_share *s = context;
  const struct ss_job_group *group = &s->groups->group[item];
  if (!ss_group_compute(s->all, group, worker, error)) return NULL;
  cJSON *list = cJSON_CreateArray();
  bool good = list;
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_result *p = &s->all->results[group->job[i]];
    good = good && cJSON_AddItemToArray(list, ss_result_json(p));
    ss_result_free_arrays(p);
  }
  char *text = good ? ss_json_exact(list, false) : NULL;
  cJSON_Delete(list);
  if (text) *size = strlen(text);
  else (void)ss_fail_memory(error, "sharing results");
  return text;
}

static bool read_points(const struct ss_points_share *s, const struct ss_job_group *group, struct ss_node list,
                        struct ss_error *error) {
  const struct ss_run_options *options = s->all->options;
  struct ss_node n = ss_node_first(list);
  if (!ss_node_is_array(list) || ss_node_size(list) != group->count)
    return ss_node_fail(list, error, "expected a list of %u points", group->count);
  for (uint32_t i = 0; i < group->count; i++, n = ss_node_next(n)) {
    const struct ss_job *job = &s->all->jobs[group->job[i]];
    struct ss_result *p = &s->all->results[group->job[i]];
    ss_result_begin(p, job);
    ss_result_add_texts(p, job, s->all->costs);
    if (!ss_result_alike(n, p)) ss_result_begin(p, job); /* its form could not be computed, and stays unnamed */
    if (!ss_result_read(n, options->per_rank, options->per_iteration, p, error)) return false;
  }
  return true;
}

static bool finished(void *context, size_t item, const void *bytes, size_t size, struct ss_error *error) {
  const struct ss_points_share *s = context;
  struct ss_doc *doc;
  if (!ss_doc_parse("the result of a rank", bytes, size, &doc, error)) return false;
  const bool good = read_points(s, &s->groups->group[item], ss_doc_root(doc), error);
  ss_doc_free(doc);
  return good && s->finished(s->context, item, error);
}

static void name_point(const struct ss_job *job, char *text, size_t size) {
  char *at = job->at && job->at->child ? cJSON_PrintUnformatted(job->at) : NULL;
  snprintf(text, size, "%s on %u ranks%s%s", job->setting.label, job->ranks, at ? " at " : "", at ? at : "");
  free(at);
}

/* So many are named; the others are counted. */
enum { NAMED = 4 };

static void missing(void *context, const bool *done, struct ss_error *error) {
  const struct ss_points_share *s = context;
  char names[NAMED * 130] = "", name[128];
  size_t count = 0;
  for (size_t g = 0; g < s->groups->count; g++)
    for (uint32_t i = 0; !done[g] && i < s->groups->group[g].count; i++) {
      name_point(&s->all->jobs[s->groups->group[g].job[i]], name, sizeof name);
      if (count < NAMED)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", count ? ", " : "", name);
      count++;
    }
  (void)ss_fail(error, error->status, "%s; %zu of %zu points are missing: %s%s", error->text, count, s->all->count,
                names, count > NAMED ? ", ..." : "");
  if (s->listener && s->listener->stopped) s->listener->stopped(s->listener, error);
}

bool ss_points_same(const struct ss_points_share *s, struct ss_error *error) {
  const struct ss_identity all = ss_jobs_identity(s->all->jobs, s->all->count);
  const uint64_t numbers[] = {all.high, all.low, s->all->options->per_rank, s->all->options->per_iteration};
  return ss_processes_same(s->all->options->comm, numbers, sizeof numbers / sizeof *numbers, error);
}

bool ss_points_share(struct ss_points_share *s, struct ss_error *error) {
  const struct ss_shared_work work = {.context = s,
                                      .count = s->groups->count,
                                      .what = "groups of points",
                                      .jobs = s->all->options->jobs,
                                      .patience = s->all->options->patience,
                                      .open_worker = open_worker,
                                      .close_worker = close_worker,
                                      .compute = compute,
                                      .finished = finished,
                                      .missing = missing};
  return ss_communicator_share(s->all->options->comm, &work, error);
}
