#include "train/system.h"

#include "train/workloads.h"

#include <stdio.h>
#include <string.h>

static const char *const schedules[] = {"fifo", "priority", "horizontal", "2d", NULL};

const char *ss_schedule_name(enum ss_schedule schedule) {
  return schedules[schedule];
}

bool ss_setting_sends_dense(const struct ss_setting *setting) {
  const uint64_t *dense = ss_setting_find(setting, "dense");
  return setting->scheme->content == SS_SENDS_DENSE || (dense && *dense);
}

bool ss_setting_same(const struct ss_setting *a, const struct ss_setting *b) {
  bool same = a->scheme == b->scheme && a->index_bytes == b->index_bytes && a->element == b->element &&
              a->exchange_sizes == b->exchange_sizes && a->hierarchy == b->hierarchy;
  for (size_t i = 0; i < SS_OPTIONS_MAX; i++)
    same = same && a->value[i] == b->value[i] && a->real[i] == b->real[i] && a->given[i] == b->given[i];
  return same;
}

/* Sizes that another schedule would ignore are errors. */
static bool read_sizes(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  struct ss_node bucket = ss_node_get(node, "bucket"), partition = ss_node_get(node, "partition");
  if ((ss_node_present(bucket) && !ss_bytes_read(bucket, &s->bucket, error)) ||
      (ss_node_present(partition) && !ss_bytes_read(partition, &s->partition, error)))
    return false;
  const struct ss_node how = ss_node_get(ss_node_get(node, "source"), "bucket");
  const char *text;
  s->bucket_estimated = ss_node_is_text(how) && ss_node_text(how, &text, NULL) && strstr(text, "estimated");
  if (s->bucket && s->schedule != SS_FIFO)
    return ss_node_fail(bucket, error, "only the schedule \"fifo\" fuses tensors, not \"%s\"",
                        ss_schedule_name(s->schedule));
  if (s->partition && s->schedule != SS_PRIORITY)
    return ss_node_fail(partition, error, "only the schedule \"priority\" cuts tensors, not \"%s\"",
                        ss_schedule_name(s->schedule));
  return true;
}

/* --- the two exchanges of a table that is cut over ranks -------------------------------------------------- */

static bool split_exchanges(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  static const char *const ours[] = {"exchange", "gather_ids", "pooling"};
  s->exchanges = ss_setting_find(&s->sparse, "exchange") != NULL;
  if (!s->exchanges) return true;
  static const char *const why[] = {"both exchanges are played, each as a task of its own",
                                    "ids are prefetched while the iteration before is computed",
                                    "training knows rows, not which of them make a bag"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (ss_setting_given(&s->sparse, ours[i]))
      return ss_node_fail(ss_node_get(node, ours[i]), error, "%s: leave it out", why[i]);
  s->lookups = s->sparse;
  ss_setting_choose(&s->sparse, "exchange", "gradients");
  ss_setting_choose(&s->lookups, "exchange", "lookups");
  ss_setting_choose(&s->lookups, "coalesce", NULL);
  return true;
}

/* --- what goes together --------------------------------------------------------------------------------- */

static bool check_schemes(struct ss_node sparse, struct ss_node dense, const struct ss_system *s,
                          struct ss_error *error) {
  const struct ss_setting *a = &s->sparse, *b = &s->dense;
  if (s->schedule == SS_2D && (ss_setting_sends_dense(a) || !ss_scheme_lossless(a->scheme)))
    return ss_node_fail(sparse, error, "\"2d\" sends prior and delayed rows apart: %s %s", a->label,
                        ss_scheme_lossless(a->scheme) ? "sends every row" : "is lossy");
  if (s->schedule == SS_2D && !ss_setting_coalesces(a))
    return ss_node_fail(sparse, error, "\"2d\" begins by coalescing (Algorithm 1): leave \"coalesce\" out");
  if (ss_scheme_model_parallel(b->scheme) || !ss_setting_coalesces(b))
    return ss_node_fail(dense, error, "%s is for looked-up rows; a dense module has none (say \"allreduce\")",
                        b->label);
  return true;
}

static bool read_select(struct ss_node node, struct ss_system *s, struct ss_error *error) {
  if (!ss_node_present(node)) return true;
  if (!ss_selection_read(node, &s->select, error)) return false;
  if (ss_setting_sends_dense(&s->dense))
    return ss_node_fail(node, error, "%s sends every element: nothing is gained by selecting some", s->dense.label);
  if (ss_scheme_valued(s->dense.scheme) && !ss_scheme_estimates(s->dense.scheme))
    return ss_node_fail(node, error, "%s selects by itself: leave \"select\" out", s->dense.label);
  return true;
}

bool ss_system_read(struct ss_node node, struct ss_system *out, struct ss_error *error) {
  static const char *const known[] = {"name",      "summary", "sparse",   "dense",  "schedule", "bucket",
                                      "partition", "select",  "baseline", "source", "notes",    NULL};
  const struct ss_setting defaults = {.index_bytes = 4};
  struct ss_node name, sparse, dense, schedule, baseline = ss_node_get(node, "baseline");
  const char *text;
  size_t choice;
  *out = (struct ss_system){0};
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "a system is an object with \"sparse\" and \"dense\"");
  if (!ss_node_keys(node, known, error) || !ss_node_need(node, "name", &name, error) ||
      !ss_node_need(node, "sparse", &sparse, error) || !ss_node_need(node, "dense", &dense, error) ||
      !ss_node_need(node, "schedule", &schedule, error) || !ss_node_text(name, &text, error) ||
      !ss_node_choice(schedule, schedules, &choice, error))
    return false;
  if (!*text || strlen(text) >= sizeof out->name)
    return ss_node_fail(name, error, "a name has 1 to %zu bytes", sizeof out->name - 1);
  snprintf(out->name, sizeof out->name, "%s", text);
  out->schedule = (enum ss_schedule)choice;
  return ss_setting_read(sparse, &defaults, &out->sparse, error) &&
         ss_setting_read(dense, &defaults, &out->dense, error) && read_sizes(node, out, error) &&
         check_schemes(sparse, dense, out, error) && split_exchanges(sparse, out, error) &&
         read_select(ss_node_get(node, "select"), out, error) &&
         (!ss_node_present(baseline) || ss_node_flag(baseline, &out->baseline, error));
}
