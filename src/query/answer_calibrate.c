/* A cluster out of benchmarks' logs: the object of a question names them and says what they leave open. */
#include "base/memory.h"
#include "calibration/calibrated.h"
#include "query/query_internal.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

enum { TEXTS_MAX = 256 };

struct texts {
  const char *text[TEXTS_MAX];
  size_t count;
};

struct question {
  struct texts logs, where, suppose;
  struct ss_reading reading;
  struct ss_cluster_fit_options fit;
  const char *name;
};

static bool read_texts(struct ss_node list, struct texts *out, struct ss_error *error) {
  if (!ss_node_present(list)) return true;
  if (!ss_node_is_array(list)) return ss_node_fail(list, error, "expected a list of texts");
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    if (out->count == TEXTS_MAX) return ss_node_fail(n, error, "is one too many: %d may be", TEXTS_MAX);
    if (!ss_node_text(n, &out->text[out->count++], error)) return false;
  }
  return true;
}

static bool read_count(struct ss_node object, const char *key, uint32_t *out, struct ss_error *error) {
  const struct ss_node node = ss_node_get(object, key);
  uint64_t count;
  if (!ss_node_present(node)) return true;
  if (!ss_node_count(node, 1, 1u << 20, &count, error)) return false;
  *out = (uint32_t)count;
  return true;
}

/* A number, or "all". */
static bool read_window(struct ss_node object, uint32_t *out, struct ss_error *error) {
  static const char *const all[] = {"all", NULL};
  const struct ss_node node = ss_node_get(object, "window");
  size_t chosen;
  if (!ss_node_is_text(node)) return read_count(object, "window", out, error);
  *out = UINT32_MAX;
  return ss_node_choice(node, all, &chosen, error);
}

static bool read_open_ends(struct ss_node object, struct question *q, struct ss_error *error) {
  const struct ss_node tool = ss_node_get(object, "tool"), name = ss_node_get(object, "name"),
                       latency = ss_node_get(object, "latency"), in_place = ss_node_get(object, "in_place");
  return (!ss_node_present(tool) || ss_node_text(tool, &q->reading.tool, error)) &&
         (!ss_node_present(name) || ss_node_text(name, &q->name, error)) &&
         (!ss_node_present(latency) || ss_node_nonnegative(latency, SS_TIME, &q->fit.latency, error)) &&
         (!ss_node_present(in_place) || ss_node_flag(in_place, &q->reading.in_place, error)) &&
         read_count(object, "ranks", &q->reading.ranks, error) &&
         read_count(object, "gpus_per_node", &q->fit.gpus_per_node, error) &&
         read_count(object, "nics", &q->fit.nics, error) && read_window(object, &q->fit.window, error);
}

static bool read_object(struct ss_node object, struct question *q, struct ss_error *error) {
  static const char *const keys[] = {"logs",  "name", "gpus_per_node", "nics",  "window",  "latency",
                                     "ranks", "tool", "in_place",      "where", "suppose", NULL};
  struct ss_node logs;
  if (!ss_node_keys(object, keys, error) || !ss_node_need(object, "logs", &logs, error) ||
      !read_texts(logs, &q->logs, error) || !read_texts(ss_node_get(object, "where"), &q->where, error) ||
      !read_texts(ss_node_get(object, "suppose"), &q->suppose, error) || !read_open_ends(object, q, error))
    return false;
  if (q->logs.count == 0) return ss_node_fail(logs, error, "names no log");
  for (size_t i = 0; i < q->logs.count; i++)
    if (strcmp(q->logs.text[i], "-") == 0)
      return ss_node_fail(logs, error, "a question cannot read standard input: name files");
  if (q->fit.nics > 0 && q->fit.gpus_per_node > 0 && q->fit.gpus_per_node % q->fit.nics != 0)
    return ss_node_fail(ss_node_get(object, "nics"), error, "%u cards do not divide %u GPUs", q->fit.nics,
                        q->fit.gpus_per_node);
  q->reading.per_node = q->fit.gpus_per_node;
  q->reading.where = q->where.text;
  q->reading.wheres = q->where.count;
  q->reading.suppose = q->suppose.text;
  q->reading.supposes = q->suppose.count;
  return true;
}

static bool fit(struct question *q, struct ss_asked *asked, struct ss_error *error) {
  struct ss_observations all = {0};
  struct ss_calibration calibration;
  bool ok = true;
  q->reading.notice = asked->notice;
  for (size_t i = 0; ok && i < q->logs.count; i++)
    ok = ss_observations_read(q->logs.text[i], &q->reading, &all, error);
  if (ok && all.count == 0)
    ok = ss_fail(error, SS_BAD_INPUT, "%s: no times are left of those asked for", q->logs.text[0]);
  ok = ok && ss_watcher_goes_on(asked->watcher, error) && ss_calibrate(&all, &q->fit, q->name, &calibration, error);
  if (ok) {
    asked->tree = ss_calibrated_cluster(&calibration.is);
    ss_calibration_free(&calibration);
  }
  ss_observations_free(&all);
  return ok;
}

bool ss_answer_calibrate(struct ss_node object, struct ss_asked *asked, struct ss_error *error) {
  SS_AUTO_FREE struct question *q = ss_alloc_zero(1, sizeof *q);
  if (!q) return ss_fail_memory(error, "calibrating");
  q->fit.latency = NAN;
  q->reading.most = INFINITY;
  return read_object(object, q, error) && fit(q, asked, error);
}
