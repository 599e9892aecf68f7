#include "query/calibrate_request.h"

#include "base/file.h"
#include "calibration/calibrated.h"
#include "query/cache.h"
#include "query/query_internal.h"
#include "study/scenario_fields.h"

/* A number, or "all". */
static bool read_window(struct ss_node node, void *out, struct ss_error *error) {
  uint64_t count = UINT32_MAX;
  const bool all = ss_node_is_text(node) && strcmp(node.at->valuestring, "all") == 0;
  if (!all && !ss_node_count(node, 1, 1u << 20, &count, error)) return false;
  *(uint32_t *)out = (uint32_t)count;
  return true;
}

static bool read_size(struct ss_node range, const char *text, double *out, struct ss_error *error) {
  struct ss_error why;
  if (!*text) return true;
  if (!ss_units_parse(text, SS_BYTES, out, &why)) return ss_node_fail(range, error, "%s", why.text);
  return *out >= 0 || ss_node_fail(range, error, "\"%s\" is below 0", text);
}

/* "A:B", either of which may be left out. */
static bool read_sizes(struct ss_node range, void *out, struct ss_error *error) {
  struct ss_reading *reading = out;
  const char *text;
  char before[64];
  if (!ss_node_text(range, &text, error)) return false;
  const size_t colon = strcspn(text, ":");
  if (!text[colon] || colon >= sizeof before)
    return ss_node_fail(range, error, "\"%s\" is not a range A:B (say 1MiB:)", text);
  (void)snprintf(before, sizeof before, "%.*s", (int)colon, text);
  return read_size(range, before, &reading->least, error) &&
         read_size(range, text + colon + 1, &reading->most, error);
}

static bool read_lists(struct ss_node object, struct ss_calibrate_request *q, struct ss_error *error) {
  struct ss_texts where, suppose, tool;
  if (!ss_node_texts(ss_node_get(object, "logs"), &q->arena, &q->logs, error) ||
      !ss_node_texts(ss_node_get(object, "where"), &q->arena, &where, error) ||
      !ss_node_texts(ss_node_get(object, "suppose"), &q->arena, &suppose, error) ||
      !ss_node_texts(ss_node_get(object, "tool"), &q->arena, &tool, error) ||
      !ss_node_texts(q->fit_on_node, &q->arena, &q->fit_on, error))
    return false;
  q->reading.where = where.text;
  q->reading.wheres = where.count;
  q->reading.suppose = suppose.text;
  q->reading.supposes = suppose.count;
  q->reading.tool = tool.text;
  q->reading.tools = tool.count;
  return true;
}

/* "nccl=2.21,gpu=hopper": an object's members as text. */
static bool library_of_text(struct ss_node node, const char *text, struct ss_doc **out, struct ss_error *error) {
  char copy[128], *state = NULL;
  cJSON *root = cJSON_CreateObject();
  (void)snprintf(copy, sizeof copy, "%s", text);
  bool first = true, ok = root != NULL;
  for (char *one = strtok_r(copy, ",", &state); one && ok; one = strtok_r(NULL, ",", &state), first = false) {
    char *value = strchr(one, '=');
    if (value) *value++ = '\0';
    const bool no = value && strcmp(value, "false") == 0, flag = no || (value && strcmp(value, "true") == 0);
    ok = value && (!first || cJSON_AddStringToObject(root, "name", one)) &&
         (flag ? cJSON_AddBoolToObject(root, one, !no)
               : cJSON_AddStringToObject(root, first ? "version" : one, value));
  }
  if (ok && !first) return ss_doc_adopt("library", root, out, error);
  cJSON_Delete(root);
  return ss_node_fail(node, error, "\"%s\" is not NAME=VERSION (say nccl=2.21, or nccl=2.21,gpu=hopper)", text);
}

static bool read_library(struct ss_node node, void *out, struct ss_error *error) {
  struct ss_calibrate_request *request = out;
  struct ss_library *library = &request->fit.library;
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  const char *text;
  struct ss_node object = node;
  if (ss_node_is_text(node)) {
    if (!ss_node_text(node, &text, error) || !library_of_text(node, text, &doc, error)) return false;
    object = ss_doc_root(doc);
  }
  if (!ss_library_read(object, library, request->warning, error)) return false;
  return library->kind == SS_NCCL ||
         ss_node_fail(node, error, "of %s nothing is known that a fit could use", ss_library_names[library->kind]);
}

#define PART(member) SS_STORED(struct ss_calibrate_request, member)
static const char *const left_out[] = {"collectives", "nodes",   "sizes",
                                       "rows",        "nothing", NULL}; /* by enum ss_leave_out */
static const struct ss_field_spec window_forms[] = {
    {NULL, NULL, SS_IS_COUNT(1, 1 << 20)}, {NULL, NULL, SS_IS_TEXT, .pattern = "^all$"}, {.name = NULL}};
static const struct ss_field_spec library_forms[] = {
    {NULL, NULL, SS_IS_TEXT}, {NULL, NULL, SS_IS_OBJECT(&ss_library_fields)}, {.name = NULL}};
static const struct ss_field_spec fields[] = {
    {"logs", "times that were measured: files", SS_IS_EITHER(ss_texts_forms)},
    {"name", "of the cluster (what was measured)", SS_IS_TEXT, PART(name)},
    {"gpus_per_node", "(as many as a run used)", SS_IS_COUNT(1, 1024), PART(fit.gpus_per_node)},
    {"nics", "(found)", SS_IS_COUNT(1, 1024), PART(fit.nics)},
    {"window", "messages of an exchange at once (found)", SS_IS_EITHER(window_forms), .read = read_window,
     PART(fit.window)},
    {"latency", "between nodes (fitted)", SS_IS_TIME, PART(fit.latency)},
    {"ranks", "where a log does not say", SS_IS_COUNT(2, 65536), PART(reading.ranks)},
    {"tool", "where logs do not say, or FILE=TOOL of one log", SS_IS_EITHER(ss_texts_forms)},
    {"library", "whose tuner says what was played: nccl=2.21, or as a cluster has it (as logs say)",
     SS_IS_EITHER(library_forms), .read = read_library},
    {"in_place", "of nccl-tests those columns", SS_IS_FLAG, PART(reading.in_place)},
    {"where", "COLUMN=VALUE: only such rows", SS_IS_EITHER(ss_texts_forms)},
    {"suppose", "COLLECTIVE=ALGORITHM, where a log hides it", SS_IS_EITHER(ss_texts_forms)},
    {"sizes", "A:B, only rows of these", SS_IS_TEXT, .read = read_sizes, PART(reading)},
    {"messages", "only rows whose largest message has as many bytes", SS_IS_BYTES, PART(least_message)},
    {"leave_out", "what the fit is judged by", SS_IS_CHOICE(left_out), .usual = "collectives", PART(left_out)},
    {"validate", "no cluster, but how well what is left out is predicted", SS_IS_FLAG, PART(validate)},
    {"ranges", "of a validation, the range of each time too, by what is left out of what it is fitted to", SS_IS_FLAG,
     .with = "validate", PART(fit.ranges)},
    {"fit_on", "of a validation, in place of what is left out: collective=NAME, nodes=N",
     SS_IS_EITHER(ss_texts_forms), .with = "validate", PART(fit_on_node)},
    {.name = NULL}};
const struct ss_object_spec ss_calibrate_fields = {
    .name = "calibrate", .says = "fits a cluster to times that were measured", .field = fields};

/* What only a validation has. */
static bool check(struct ss_node object, const struct ss_calibrate_request *q, struct ss_error *error) {
  char validate[32];
  (void)ss_doc_field(object.doc, "validate", validate, sizeof validate);
  if (q->validate) return true;
  return q->left_out == SS_LEAVE_COLLECTIVES || q->left_out == SS_LEAVE_NOTHING ||
         ss_node_fail(ss_node_get(object, "leave_out"), error,
                      "%s is for %s (of a cluster, each is left out in turn)", left_out[q->left_out], validate);
}

bool ss_calibrate_request_read(struct ss_node object, struct ss_calibrate_request *out, struct ss_error *error) {
  *out = (struct ss_calibrate_request){.fit = {.latency = NAN}, .reading = {.most = INFINITY}};
  if (!ss_object_read(&ss_calibrate_fields, object, out, error) || !read_lists(object, out, error)) return false;
  out->reading.per_node = out->fit.gpus_per_node;
  out->fit.unjudged = out->left_out == SS_LEAVE_NOTHING && !out->validate;
  if (out->fit.nics > 0 && out->fit.gpus_per_node % out->fit.nics != 0)
    return ss_node_fail(ss_node_get(object, "nics"), error, "%u cards do not divide %u GPUs", out->fit.nics,
                        out->fit.gpus_per_node);
  return check(object, out, error);
}

void ss_calibrate_request_close(struct ss_calibrate_request *request) {
  ss_arena_free(&request->arena);
}

/* Only those whose largest message is large enough. */
static void drop_small(double least, struct ss_observations *all) {
  size_t kept = 0;
  for (size_t i = 0; i < all->count; i++)
    if (least <= 0 || (double)ss_observation_message(&all->list[i]) >= least) all->list[kept++] = all->list[i];
  all->count = kept;
}

/* What is said of one log must be said of one that is read. */
static bool check_tools(const struct ss_calibrate_request *q, struct ss_error *error) {
  for (size_t i = 0; i < q->reading.tools; i++) {
    bool of_one = strchr(q->reading.tool[i], '=') == NULL;
    for (size_t k = 0; k < q->logs.count; k++) of_one = of_one || ss_tool_is_of(q->reading.tool[i], q->logs.text[k]);
    if (!of_one) return ss_fail(error, SS_BAD_INPUT, "--tool: \"%s\" is of none of the logs", q->reading.tool[i]);
    if (!ss_tool_name(q->reading.tool[i], error)) return false;
  }
  return true;
}

/* What is said where files say it themselves would count for nothing. */
static bool judge_shape(const struct ss_calibrate_request *q, const struct ss_observations *all,
                        struct ss_error *error) {
  if (all->logs == 0 && q->reading.ranks > 0)
    return ss_fail(error, SS_BAD_INPUT, "--ranks: is for logs that do not say them; tables do");
  if (all->logs == 0 && q->reading.in_place)
    return ss_fail(error, SS_BAD_INPUT, "--in-place: is for logs of nccl-tests, not for tables");
  if (all->logs == all->sources && q->reading.wheres > 0)
    return ss_fail(error, SS_BAD_INPUT, "--where: is for rows of tables; logs have no columns");
  uint32_t most = q->fit.gpus_per_node;
  for (size_t i = 0; i < all->count; i++) {
    const uint32_t here = all->list[i].per_node;
    if (q->fit.gpus_per_node && here > q->fit.gpus_per_node)
      return ss_fail(error, SS_BAD_INPUT, "--gpus-per-node: %" PRIu32 ", but times are of %" PRIu32 " a node",
                     q->fit.gpus_per_node, here);
    most = here > most ? here : most;
  }
  return q->fit.nics <= most ||
         ss_fail(error, SS_BAD_INPUT,
                 "--nics: %" PRIu32 " cards, but a node has %" PRIu32 " GPUs: there are at most as many cards",
                 q->fit.nics, most);
}

/* What is supposed of times that are not there, or whose files say it, would count for nothing. */
static bool judge_supposed(const struct ss_reading *reading, struct ss_error *error) {
  for (size_t i = 0; i < reading->supposes; i++)
    if (!reading->supposed[i])
      return ss_fail(error, SS_BAD_INPUT, "--suppose: no time is left open that \"%s\" could be said of",
                     reading->suppose[i]);
  return true;
}

/* What contradicts every log that it is said of is wrong, as is what none could use. */
static bool judge_tools(const struct ss_reading *reading, struct ss_error *error) {
  for (size_t i = 0; i < reading->tools; i++) {
    const char *name = ss_tool_name(reading->tool[i], error), *found = reading->found[i];
    if (!name) return false;
    if (found && strcmp(found, name) != 0)
      return ss_fail(error, SS_BAD_INPUT, "--tool: \"%s\", but the log says that it is of %s", reading->tool[i],
                     found);
    if (!found) return ss_fail(error, SS_BAD_INPUT, "--tool: is for logs, of which here are none");
  }
  return true;
}

/* Times that count twice would seem surer than they are. */
static bool is_another(const char *before, const char *path, struct ss_error *error) {
  SS_AUTO(ss_unmap_file) struct ss_mapping a = {0};
  SS_AUTO(ss_unmap_file) struct ss_mapping b = {0};
  if (ss_same_file(before, path)) return ss_fail(error, SS_BAD_INPUT, "%s: is named twice", path);
  if (!ss_map_file(before, &a, error) || !ss_map_file(path, &b, error)) return false;
  return a.size != b.size || memcmp(a.data, b.data, a.size) != 0 ||
         ss_fail(error, SS_BAD_INPUT, "%s: holds the same times as %s, byte by byte: name one of them", path, before);
}

bool ss_calibrate_request_observe(const struct ss_calibrate_request *request, const struct ss_notice *notice,
                                  struct ss_observations *out, struct ss_error *error) {
  struct ss_reading reading = request->reading;
  SS_AUTO_FREE const char **found = ss_alloc_zero(reading.tools, sizeof *found);
  SS_AUTO_FREE bool *supposed = ss_alloc_zero(reading.supposes, sizeof *supposed);
  reading.found = found;
  reading.supposed = supposed;
  reading.notice = notice;
  *out = (struct ss_observations){0};
  if (!found || !supposed) return ss_fail_memory(error, "reading times");
  for (size_t i = 1; i < request->logs.count; i++)
    for (size_t k = 0; k < i; k++)
      if (!is_another(request->logs.text[k], request->logs.text[i], error)) return false;
  if (!check_tools(request, error)) return false;
  if (request->warning[0]) ss_notice_tell(notice, request->warning);
  for (size_t i = 0; i < request->logs.count; i++)
    if (!ss_observations_read(request->logs.text[i], &reading, out, error)) return false;
  if (!judge_tools(&reading, error) || !judge_supposed(&reading, error) || !judge_shape(request, out, error))
    return false;
  drop_small(request->least_message, out);
  return out->count > 0 ||
         ss_fail(error, SS_BAD_INPUT, "%s: no times are left of those asked for", request->logs.text[0]);
}

/* --- judging -------------------------------------------------------------------------------------------------- */

/* Whether "collective=allreduce,nodes=8" is true of an observation. */
static bool is_true(const struct ss_calibrate_request *q, size_t k, const struct ss_observation *o, bool *out,
                    struct ss_error *error) {
  char text[256], *state = NULL;
  (void)snprintf(text, sizeof text, "%s", q->fit_on.text[k]);
  *out = true;
  for (char *one = strtok_r(text, ",", &state); one; one = strtok_r(NULL, ",", &state)) {
    char *value = strchr(one, '='), number[32];
    if (value) *value++ = '\0';
    const bool of_nodes = strcmp(one, "nodes") == 0, of_gpus = strcmp(one, "gpus_per_node") == 0;
    (void)snprintf(number, sizeof number, "%" PRIu32, of_nodes ? o->nodes : o->per_node);
    if (value && (of_nodes || of_gpus)) *out = *out && strcmp(value, number) == 0;
    else if (value && strcmp(one, "collective") == 0)
      *out = *out && ss_collective_of(value) == o->algorithm->collective;
    else if (value && strcmp(one, "algorithm") == 0) *out = *out && strcmp(value, o->algorithm->name) == 0;
    else
      return ss_node_fail(q->fit_on_node, error,
                          "\"%s\" is none of collective=, algorithm=, nodes=, gpus_per_node= with a value", one);
  }
  return true;
}

/* Those of which one of "fit_on" is true. */
static bool choose_fitted(const struct ss_calibrate_request *q, const struct ss_observations *all, bool *fitted,
                          struct ss_error *error) {
  for (size_t i = 0; i < all->count; i++) {
    fitted[i] = false;
    for (size_t k = 0; k < q->fit_on.count && !fitted[i]; k++)
      if (!is_true(q, k, &all->list[i], &fitted[i], error)) return false;
  }
  return true;
}

bool ss_calibrate_request_validate(const struct ss_calibrate_request *q, const struct ss_observations *all,
                                   struct cJSON **out, struct ss_error *error) {
  const enum ss_leave_out what = q->fit_on.count > 0 ? SS_LEAVE_OTHERS : q->left_out;
  char name[128];
  SS_AUTO_FREE bool *fitted = ss_alloc(all->count, sizeof *fitted);
  SS_AUTO(ss_validation_free) struct ss_validation v = {.parts = 0};
  ss_calibration_name(q->name, all, name, sizeof name);
  if (!fitted) return ss_fail_memory(error, "judging a calibration");
  return choose_fitted(q, all, fitted, error) && ss_validate(all, &q->fit, what, fitted, &v, error) &&
         ss_validation_tree(&v, name, out, error);
}

/* --- the answer ----------------------------------------------------------------------------------------------- */

static bool check_logs(const struct ss_calibrate_request *q, struct ss_node object, struct ss_error *error) {
  const struct ss_node logs = ss_node_get(object, "logs");
  if (q->logs.count == 0) return ss_node_fail(ss_node_present(logs) ? logs : object, error, "names no log");
  for (size_t i = 0; i < q->logs.count; i++)
    if (strcmp(q->logs.text[i], "-") == 0)
      return ss_node_fail(logs, error, "a request cannot read standard input: name files");
  return true;
}

static bool fit(const struct ss_calibrate_request *q, const struct ss_observations *all, struct cJSON **out,
                struct ss_error *error) {
  SS_AUTO(ss_calibrated_free) struct ss_calibrated calibrated = {.name = ""};
  if (!ss_calibrate(all, &q->fit, q->name, &calibrated, error)) return false;
  *out = ss_calibrated_cluster(&calibrated);
  return true;
}

const struct ss_field_spec ss_calibrate_forms[] = {{NULL, NULL, SS_IS_OBJECT(&ss_calibrate_fields)},
                                                   {NULL, NULL, SS_IS_OBJECT(&ss_calibrate_training_fields)},
                                                   {.name = NULL}};

/* What names "times" has those of trainings. */
bool ss_answer_calibrate(struct ss_node object, struct ss_request *request, struct ss_error *error) {
  if (ss_node_present(ss_node_get(object, "times"))) return ss_answer_calibrate_training(object, request, error);
  SS_AUTO(ss_calibrate_request_close) struct ss_calibrate_request q = {.name = NULL};
  SS_AUTO(ss_observations_free) struct ss_observations all = {0};
  return ss_calibrate_request_read(object, &q, error) && check_logs(&q, object, error) &&
         ss_calibrate_request_observe(&q, request->notice, &all, error) &&
         ss_watcher_goes_on(request->run.watcher, error) &&
         (q.validate ? ss_calibrate_request_validate(&q, &all, &request->answer, error)
                     : fit(&q, &all, &request->answer, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
