/* Scenarios: what to run, from a JSON file, command-line options, or both (docs/scenarios.md).
 *
 * Options are edits of the document; a sweep edits it once for each place of its grid. What comes out is a flat list
 * of jobs, each complete in itself, in a fixed order. */
#ifndef SS_STUDY_SCENARIO_H
#define SS_STUDY_SCENARIO_H

#include "base/json.h"
#include "machine/device.h"
#include "schemes/select.h"
#include "schemes/simulate.h"

struct cJSON;

/* One point to be computed. */
struct ss_job {
  struct ss_setting setting;
  struct ss_cluster cluster;
  const char *cluster_name, *device_name; /* shared by all jobs of one place */
  struct ss_device device;
  struct ss_origin origin;
  struct ss_selection selection;
  const char *trace_name, *trace_key, *tensor_name; /* key: the JSON that names the trace */
  uint64_t trace_hash;
  uint32_t ranks, servers;
  uint64_t first, end, seed; /* iterations [first, end) */
  struct cJSON *at;          /* shared by all jobs of one place; NULL without a sweep */
  uint32_t siblings;         /* tensors of the trace: jobs of one scheme and place follow each other */
  bool verify;
};

/* What the command line says; strings are the caller's. */
struct ss_request {
  const char *file; /* NULL: none */
  const char *trace, *cluster, *schemes, *ranks, *bandwidth, *latency, *iterations, *merge, *device;
  bool no_verify;
  bool plan; /* schemes that nobody named are ss_candidates; of all only lossless, data-parallel ones */
  bool lossy, model_parallel; /* are played, and these */
  const char **set;           /* "PATH=VALUE" */
  size_t sets;
};

struct ss_scenario;

bool ss_scenario_open(const struct ss_request *request, struct ss_scenario **out,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_scenario_close(struct ss_scenario *scenario);
const char *ss_scenario_name(const struct ss_scenario *scenario);
const struct ss_job *ss_scenario_jobs(const struct ss_scenario *scenario, size_t *count);
struct ss_node ss_scenario_expect(const struct ss_scenario *scenario);
/* The scenario after the command line's edits, names of models replaced by what their files hold; the sweep stands in
 * it. The same points come of it without options. */
const struct cJSON *ss_scenario_resolved(const struct ss_scenario *scenario);
/* [{"kind": "cluster" or "device", "model": {...}}] of all places, each with its "source"; models that differ in
 * numbers only stand once. */
const struct cJSON *ss_scenario_models(const struct ss_scenario *scenario);

/* The document alone: the file's, with the command line's edits, "cluster" and "device" replaced by what their names
 * stand for. For commands whose scenarios say other things beside; to be freed. */
bool ss_scenario_document(const struct ss_request *request, struct ss_doc **out,
                          struct ss_error *error) SS_MUST_CHECK;

/* "4,8,16", "4..64" (doubling) or both mixed, into out[room]. */
bool ss_ranks_parse(const char *text, uint32_t *out, size_t capacity, size_t *count,
                    struct ss_error *error) SS_MUST_CHECK;
/* A scenario's "ranks": such a text, a number, or a list; absent: `available`, an error where that is 0. */
bool ss_ranks_read(struct ss_node node, uint32_t available, uint32_t *out, size_t capacity, size_t *count,
                   struct ss_error *error) SS_MUST_CHECK;

#endif
