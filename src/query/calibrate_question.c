#include "query/calibrate_question.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool read_counts(struct ss_node object, struct ss_calibrate_question *q, struct ss_error *error) {
  const struct {
    const char *key;
    uint64_t low, high;
    uint32_t *out;
  } counts[] = {{"ranks", 2, 65536, &q->reading.ranks},
                {"gpus_per_node", 1, 1024, &q->fit.gpus_per_node},
                {"nics", 1, 1024, &q->fit.nics}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    const struct ss_node node = ss_node_get(object, counts[i].key);
    uint64_t count;
    if (!ss_node_present(node)) continue;
    if (!ss_node_count(node, counts[i].low, counts[i].high, &count, error)) return false;
    *counts[i].out = (uint32_t)count;
  }
  q->reading.per_node = q->fit.gpus_per_node;
  return q->fit.nics == 0 || q->fit.gpus_per_node % q->fit.nics == 0 ||
         ss_node_fail(ss_node_get(object, "nics"), error, "%u cards do not divide %u GPUs", q->fit.nics,
                      q->fit.gpus_per_node);
}

/* A number, or "all". */
static bool read_window(struct ss_node node, uint32_t *out, struct ss_error *error) {
  uint64_t count = UINT32_MAX;
  const bool all = ss_node_is_text(node) && strcmp(node.at->valuestring, "all") == 0;
  if (!ss_node_present(node)) return true;
  if (!all && !ss_node_count(node, 1, 1u << 20, &count, error)) return false;
  *out = (uint32_t)count;
  return true;
}

static bool read_size(struct ss_node range, const char *text, double *out, struct ss_error *error) {
  struct ss_error why;
  if (!*text) return true;
  if (!ss_units_parse(text, SS_BYTES, out, &why)) return ss_node_fail(range, error, "%s", why.text);
  return *out >= 0 || ss_node_fail(range, error, "\"%s\" is below 0", text);
}

/* "A:B", either of which may be left out. */
static bool read_sizes(struct ss_node range, struct ss_reading *reading, struct ss_error *error) {
  const char *text;
  char before[64];
  if (!ss_node_present(range)) return true;
  if (!ss_node_text(range, &text, error)) return false;
  const size_t colon = strcspn(text, ":");
  if (!text[colon] || colon >= sizeof before)
    return ss_node_fail(range, error, "\"%s\" is not a range A:B (say 1MiB:)", text);
  (void)snprintf(before, sizeof before, "%.*s", (int)colon, text);
  return read_size(range, before, &reading->least, error) &&
         read_size(range, text + colon + 1, &reading->most, error);
}

static bool read_lists(struct ss_node object, struct ss_calibrate_question *q, struct ss_error *error) {
  struct ss_texts where, suppose;
  if (!ss_node_texts(ss_node_get(object, "logs"), &q->arena, &q->logs, error) ||
      !ss_node_texts(ss_node_get(object, "where"), &q->arena, &where, error) ||
      !ss_node_texts(ss_node_get(object, "suppose"), &q->arena, &suppose, error))
    return false;
  q->reading.where = where.text;
  q->reading.wheres = where.count;
  q->reading.suppose = suppose.text;
  q->reading.supposes = suppose.count;
  return true;
}

static bool read_rest(struct ss_node object, struct ss_calibrate_question *q, struct ss_error *error) {
  static const char *const left_out[] = {"collectives", "nodes", "nothing", NULL}; /* by enum ss_leave_out */
  const struct ss_node tool = ss_node_get(object, "tool"), name = ss_node_get(object, "name"),
                       latency = ss_node_get(object, "latency"), in_place = ss_node_get(object, "in_place"),
                       messages = ss_node_get(object, "messages"), leave_out = ss_node_get(object, "leave_out");
  size_t chosen = SS_LEAVE_COLLECTIVES;
  if ((ss_node_present(tool) && !ss_node_text(tool, &q->reading.tool, error)) ||
      (ss_node_present(name) && !ss_node_text(name, &q->name, error)) ||
      (ss_node_present(latency) && !ss_node_nonnegative(latency, SS_TIME, &q->fit.latency, error)) ||
      (ss_node_present(in_place) && !ss_node_flag(in_place, &q->reading.in_place, error)) ||
      (ss_node_present(messages) && !ss_node_nonnegative(messages, SS_BYTES, &q->least_message, error)) ||
      (ss_node_present(leave_out) && !ss_node_choice(leave_out, left_out, &chosen, error)))
    return false;
  q->left_out = (enum ss_leave_out)chosen;
  q->fit.unjudged = q->left_out == SS_LEAVE_NOTHING;
  return true;
}

bool ss_calibrate_question_read(struct ss_node object, struct ss_calibrate_question *out, struct ss_error *error) {
  static const char *const keys[] = {"logs",    "name",  "gpus_per_node", "nics",      "window",
                                     "latency", "ranks", "tool",          "in_place",  "where",
                                     "suppose", "sizes", "messages",      "leave_out", NULL};
  *out = (struct ss_calibrate_question){.fit = {.latency = NAN}, .reading = {.most = INFINITY}};
  return ss_node_keys(object, keys, error) && read_lists(object, out, error) && read_counts(object, out, error) &&
         read_window(ss_node_get(object, "window"), &out->fit.window, error) &&
         read_sizes(ss_node_get(object, "sizes"), &out->reading, error) && read_rest(object, out, error);
}

void ss_calibrate_question_close(struct ss_calibrate_question *question) {
  ss_arena_free(&question->arena);
}

/* Only those whose largest message is large enough. */
static void drop_small(double least, struct ss_observations *all) {
  size_t kept = 0;
  for (size_t i = 0; i < all->count; i++)
    if (least <= 0 || (double)ss_observation_message(&all->list[i]) >= least) all->list[kept++] = all->list[i];
  all->count = kept;
}

bool ss_calibrate_question_observe(const struct ss_calibrate_question *question, const struct ss_notice *notice,
                                   struct ss_observations *out, struct ss_error *error) {
  struct ss_reading reading = question->reading;
  reading.notice = notice;
  *out = (struct ss_observations){0};
  for (size_t i = 0; i < question->logs.count; i++)
    if (!ss_observations_read(question->logs.text[i], &reading, out, error)) return false;
  drop_small(question->least_message, out);
  return out->count > 0 ||
         ss_fail(error, SS_BAD_INPUT, "%s: no times are left of those asked for", question->logs.text[0]);
}
