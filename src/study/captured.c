#include "study/captured.h"

#include "machine/jitter.h"
#include "study/study.h"
#include "train/system.h"
#include "train/workloads.h"

/* --- what it says ------------------------------------------------------------------------------------------- */

enum { STEPS_MAX = 1 << 20 };

static const struct ss_field_spec any_value = {NULL, NULL, .kind = SS_SPEC_ANY}, a_time = {NULL, NULL, SS_IS_ABOVE_0},
                                  a_length = {NULL, NULL, SS_IS_FROM_0}, a_text = {NULL, NULL, SS_IS_NAME};
static bool read_sums(struct ss_node node, void *capture, struct ss_error *error) {
  struct ss_captured *c = capture;
  double sum = 0, one;
  c->buckets = 0;
  for (struct ss_node t = ss_node_first(node); ss_node_present(t); t = ss_node_next(t), c->buckets++) {
    if (!ss_node_quantity(t, SS_TIME, &one, error)) return false;
    sum += one;
  }
  c->sums = c->buckets > 0 ? sum : NAN;
  return true;
}

static const struct ss_field_spec measured_fields[] = {
    {"iteration_s", "of each timed iteration, the mean over ranks", SS_IS_LIST(&a_time, 1, STEPS_MAX),
     .required = true},
    {"steps", "how many these are", SS_IS_COUNT(1, STEPS_MAX), SS_STORED(struct ss_captured, steps)},
    {"warmup", "iterations before those", SS_IS_COUNT(0, UINT64_C(1) << 53), SS_STORED(struct ss_captured, warmup)},
    {"quiet_iteration_s", "an iteration without communication, the median", SS_IS_FROM_0,
     SS_STORED(struct ss_captured, quiet)},
    {"bucket_s", "what the sum of each bucket took by itself", SS_IS_LIST(&a_length, 0, STEPS_MAX),
     .read = read_sums},
    {.name = NULL}};
static const struct ss_object_spec measured_spec = {.field = measured_fields, .others = &any_value};
static const struct ss_object_spec versions_spec = {.others = &a_text};

static bool read_measured(struct ss_node node, void *capture, struct ss_error *error) {
  struct ss_captured *c = capture;
  struct ss_node list;
  if (!ss_object_read_known(&measured_spec, node, c, error) || !ss_node_need(node, "iteration_s", &list, error))
    return false;
  const size_t n = ss_node_is_array(list) ? ss_node_size(list) : 0;
  if (n < 1 || n > STEPS_MAX) return ss_node_fail(list, error, "expected a list of 1 to %d times", STEPS_MAX);
  SS_AUTO_FREE double *time = ss_alloc(n, sizeof *time);
  if (!time) return ss_fail_memory(error, "reading a capture");
  size_t read = 0;
  for (struct ss_node t = ss_node_first(list); ss_node_present(t); t = ss_node_next(t))
    if (!ss_node_positive(t, SS_TIME, &time[read++], error)) return false;
  if (c->steps > 0 && c->steps != n)
    return ss_node_fail(ss_node_get(node, "steps"), error, "%" PRIu64 ", but iteration_s has %zu times", c->steps, n);
  c->steps = n;
  const struct ss_fan fan = ss_fan_of(time, (uint32_t)n);
  c->time = fan.p50;
  c->low = fan.p5;
  c->high = fan.p95;
  return true;
}

static const struct ss_field_spec cores_fields[] = {
    {"ranks", "of a machine", SS_IS_COUNT(1, SS_RANKS_MAX), .required = true,
     SS_STORED(struct ss_captured, cores.ranks)},
    {"cores", "that it has", SS_IS_COUNT(1, SS_RANKS_MAX), .required = true,
     SS_STORED(struct ss_captured, cores.cores)},
    {"busy", "share of an iteration without communication in which they compute", SS_IS_SHARE, .most = 1,
     .required = true, SS_STORED(struct ss_captured, cores.busy)},
    {.name = NULL}};
static const struct ss_object_spec cores_spec = {.field = cores_fields};

static bool read_cores(struct ss_node node, void *capture, struct ss_error *error) {
  return ss_object_read(&cores_spec, node, capture, error);
}

static const struct ss_field_spec fields[] = {
    {"run", "32 hexadecimal digits, the same on all ranks", SS_IS_NAME, .required = true,
     SS_STORED(struct ss_captured, run)},
    {"world", "ranks that ran", SS_IS_COUNT(1, SS_RANKS_MAX), .required = true, SS_STORED(struct ss_captured, world)},
    {"gpus_per_node", "of them on a machine", SS_IS_COUNT(1, SS_RANKS_MAX),
     SS_STORED(struct ss_captured, gpus_per_node)},
    {"accumulation", "backward passes a step, of one of which the times of modules are", SS_IS_COUNT(1, 1 << 16),
     .usual = "1", SS_STORED(struct ss_captured, accumulation)},
    {"shared_cores", "where ranks of one thread share cores: times of modules are as all compute at once",
     SS_IS_OBJECT(&cores_spec), .read = read_cores},
    {"backend", "of the process group", SS_IS_TEXT, SS_STORED(struct ss_captured, backend)},
    {"device", NULL, SS_IS_TEXT, SS_STORED(struct ss_captured, device)},
    {"versions", "of libraries", SS_IS_OBJECT(&versions_spec)},
    {"workload", "what was trained", SS_IS_OBJECT(&ss_workload_fields), .required = true},
    {"system", "how its gradients were synchronised", SS_IS_OBJECT(&ss_system_fields), .required = true},
    {"measured", "what judges a prediction", SS_IS_OBJECT(&measured_spec), .required = true, .read = read_measured},
    {"unknown", "what could not be known, a sentence each", SS_IS_LIST(&a_text, 0, 0),
     SS_STORED(struct ss_captured, unknown)},
    {.name = NULL}};
const struct ss_object_spec ss_captured_fields = {
    .title = "What a captured trace says of its training: the text of __metadata__.training",
    .says = "docs/traces.md, \"Captures\"",
    .field = fields,
    .others = &any_value};

static bool is_run(const char *text) {
  return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

/* Under the key by which users know it. */
static bool parse(const char *name, const char *text, struct ss_doc **out, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *inner = NULL;
  if (!ss_doc_parse(name, text, strlen(text), &inner, error)) return ss_fail_prefix(error, "\"training\"");
  cJSON *copy = cJSON_Duplicate(ss_doc_root(inner).at, true);
  if (!copy) return ss_fail_memory(error, "reading a capture");
  if (ss_doc_empty(name, out, error)) return ss_doc_set_item(*out, "training", copy, error);
  cJSON_Delete(copy);
  return false;
}

static bool check_models(const struct ss_captured *c, struct ss_error *error) {
  SS_AUTO(ss_workload_free) struct ss_workload workload = {0};
  SS_AUTO(ss_system_free) struct ss_system system = {0};
  return ss_workload_read(c->workload, &workload, error) && ss_system_read(c->system, &system, error);
}

bool ss_captured_read(const char *name, const char *text, struct ss_captured *out, struct ss_error *error) {
  *out = (struct ss_captured){.accumulation = 1, .quiet = NAN, .sums = NAN};
  if (!parse(name, text, &out->doc, error)) return false;
  const struct ss_node node = ss_node_get(ss_doc_root(out->doc), "training");
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "expected an object");
  if (!ss_object_read_known(&ss_captured_fields, node, out, error)) return false;
  if (!is_run(out->run)) return ss_node_fail(ss_node_get(node, "run"), error, "expected 32 hexadecimal digits");
  const struct ss_node cores = ss_node_get(node, "shared_cores");
  if (out->cores.ranks > out->world || (ss_node_present(cores) && out->cores.ranks < out->gpus_per_node))
    return ss_node_fail(ss_node_get(cores, "ranks"), error,
                        "%" PRIu32 " shared a machine, but %" PRIu32 " ran, %" PRIu32 " on each node",
                        out->cores.ranks, out->world, out->gpus_per_node);
  out->workload = ss_node_get(node, "workload");
  out->system = ss_node_get(node, "system");
  return check_models(out, error);
}

bool ss_captured_find(struct ss_sources *sources, struct ss_node node, const char *base, struct ss_captured *out,
                      struct ss_error *error) {
  const struct ss_source *source;
  *out = (struct ss_captured){.quiet = NAN};
  if (!ss_sources_find(sources, node, base, &source, error)) return false;
  const char *text = source->trace ? ss_trace_training(source->trace) : NULL;
  if (!text)
    return ss_node_fail(node, error,
                        "%s is a trace, but no capture: it has no \"training\" (sparsync.torch's Recorder writes "
                        "one; --trace takes the rows alone)",
                        source->name);
  if (!ss_captured_read(source->name, text, out, error)) return false;
  const uint32_t ranks = ss_trace_ranks(source->trace);
  out->source = source;
  return ranks == out->world || ss_fail(error, SS_BAD_INPUT,
                                        "%s: has %" PRIu32 " of the %" PRIu32
                                        " ranks that ran: join all of them first (sparsync trace merge "
                                        "PREFIX-rank*.safetensors -o FILE)",
                                        source->name, ranks, out->world);
}

void ss_captured_close(struct ss_captured *capture) {
  ss_doc_free(capture->doc);
  *capture = (struct ss_captured){.quiet = NAN};
}

/* --- documents that name one ---------------------------------------------------------------------------------- */

bool ss_captured_name_trace(struct ss_doc *doc, struct ss_error *error) {
  const struct ss_node root = ss_doc_root(doc), capture = ss_node_get(root, "capture"),
                       trace = ss_node_get(root, "trace");
  const char *name;
  if (!ss_node_present(capture)) return true;
  if (!ss_node_text(capture, &name, error)) return false;
  if (ss_node_present(trace)) return ss_node_fail(trace, error, "a capture is a trace: leave this one out");
  if (!ss_node_present(ss_node_get(root, "cluster")) &&
      !ss_node_present(ss_node_get(ss_node_get(root, "sweep"), "cluster")))
    return ss_node_fail(
        capture, error,
        "say on which cluster (--cluster): your own is what sparsync.torch.measure_collectives "
        "measures and `sparsync calibrate network` makes of it; `sparsync list clusters` shows others");
  return ss_doc_set_item(doc, "trace", cJSON_CreateString(name), error);
}

bool ss_captured_elsewhere(const struct ss_captured *c, double per_node) {
  return c->gpus_per_node > 0 && per_node != c->gpus_per_node && (c->world > per_node || c->world > c->gpus_per_node);
}

void ss_captured_tell_nodes(const struct ss_captured *capture, struct ss_node cluster,
                            const struct ss_notice *notice) {
  const struct ss_node said = ss_node_get(cluster, "gpus_per_node");
  const double per_node = ss_node_is_number(said) ? said.at->valuedouble : 1;
  char text[400];
  if (!ss_captured_elsewhere(capture, per_node)) return;
  snprintf(text, sizeof text,
           "%.120s ran on machines of %" PRIu32
           " rank%s, the cluster's have %g: another layout, against which nothing "
           "that was measured is held (--set cluster.gpus_per_node=%" PRIu32 " where it ran)",
           capture->source->name, capture->gpus_per_node, capture->gpus_per_node == 1 ? "" : "s", per_node,
           capture->gpus_per_node);
  ss_notice_tell(notice, text);
}
/* SPDX-License-Identifier: Apache-2.0 */
