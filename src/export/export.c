#include "export/format.h"

#include "base/file.h"
#include "schemes/simulate.h"
#include "study/compute.h"
#include "study/study.h"

#include <sys/stat.h>

/* --- which format ------------------------------------------------------------------------------------------- */

const struct ss_export_format *ss_export_format_find(const char *name, struct ss_error *error) {
  if (strcmp(name, ss_format_goal.name) == 0) return &ss_format_goal;
  if (strcmp(name, "chakra") != 0) {
    (void)ss_fail(error, SS_BAD_INPUT, "no format of schedules is called \"%s\": say goal or chakra", name);
    return NULL;
  }
  if (!ss_format_chakra)
    (void)ss_fail(error, SS_MACHINE,
                  "this sparsync was built without protobuf-c; install it (Debian: libprotobuf-c-dev "
                  "protobuf-c-compiler) and build again");
  return ss_format_chakra;
}

bool ss_export_path_check(const struct ss_export_format *format, const char *path, struct ss_error *error) {
  struct stat info;
  const size_t length = strlen(path);
  if (format->files == 0) return ss_output_check(path, error);
  if (length == 0 || path[length - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
    return ss_fail(error, SS_BAD_INPUT, "\"%s\" is a folder: add what the files' names begin with", path);
  return true;
}

/* --- which point ---------------------------------------------------------------------------------------------- */

enum { TEXT_SIZE = 400 };

static void add_count(char text[static TEXT_SIZE], size_t count, const char *what) {
  if (count > 1) ss_append(text, TEXT_SIZE, "%s%zu %s", text[0] ? ", " : "", count, what);
}

/* "sweep" and what it changes. */
static void name_cells(const struct ss_point *point, char text[static TEXT_SIZE]) {
  (void)snprintf(text, TEXT_SIZE, "places of \"sweep\":");
  for (const cJSON *axis = point->at ? point->at->child : NULL; axis; axis = axis->next)
    ss_append(text, TEXT_SIZE, " %s", axis->string);
}

bool ss_export_point(const struct ss_study *study, const struct ss_point **point, struct ss_error *error) {
  size_t count, cells = 1, ranks = 1, schemes = 1;
  char text[TEXT_SIZE] = "", sweep[TEXT_SIZE];
  const struct ss_point *points = ss_study_points(study, &count);
  *point = points;
  if (count == 1) return true;
  /* Places, in each of them ranks, schemes, tensors; the first of each has as many as any. */
  for (size_t i = points->siblings; i < count; i += points[i].siblings) {
    const bool first = points[i].cluster_name == points->cluster_name;
    cells += points[i].cluster_name != points[i - 1].cluster_name;
    ranks += first && points[i].ranks != points[i - 1].ranks;
    schemes += first && points[i].ranks == points->ranks;
  }
  name_cells(points, sweep);
  add_count(text, cells, sweep);
  add_count(text, ranks, "rank counts (--ranks)");
  add_count(text, schemes, "schemes (--scheme)");
  add_count(text, points->siblings, "tensors (--tensor)");
  return ss_fail(error, SS_BAD_INPUT, "%s: one schedule is exported at a time: choose one of %s",
                 ss_study_name(study), text);
}

/* --- playing it --------------------------------------------------------------------------------------------- */

/* Operations as the format has them, a stream an endpoint. */
struct writer {
  struct ss_operation_taker taker; /* first: a taker is the writer it stands in */
  const struct ss_export_format *format;
  struct ss_spool spool;
  double *owed; /* [endpoints] ticks that calculations took and that were not whole ones */
};

/* Rounded so that the sum of all that an endpoint calculates is never off by more than half a tick. */
static uint64_t ticks_of(struct writer *w, const struct ss_operation *operation) {
  double *owed = &w->owed[operation->endpoint];
  *owed += operation->seconds * w->format->ticks;
  const double whole = fmin(fmax(rint(*owed), 0), 0x1p62);
  *owed -= whole;
  return (uint64_t)whole;
}

static bool take(struct ss_operation_taker *self, const struct ss_operation *operation, struct ss_error *error) {
  struct writer *w = (struct writer *)self;
  char bytes[SS_OPERATION_ROOM];
  const size_t size = w->format->write(operation, ticks_of(w, operation), bytes);
  return ss_spool_add(&w->spool, operation->endpoint, bytes, size, error);
}

/* What iterations keep for the next. */
struct session {
  struct ss_operations played;
  struct writer writer;
  struct ss_arena arena;
  struct ss_coalesce_scratch scratch;
  struct ss_selector selector;
  struct ss_state state;
};

static bool play_iteration(struct session *s, const struct ss_point *point, uint64_t iteration,
                           struct ss_error *error) {
  const struct ss_world world = {
      .cluster = &point->cluster, .device = &point->device, .state = &s->state, .player = &s->played.player};
  struct ss_input_options options =
      ss_iteration_options(&point->setting, &point->selection, point->ranks, false, point->device.counted);
  struct ss_input input;
  struct ss_outcome outcome = {0};
  options.iteration = iteration;
  ss_arena_reset(&s->arena);
  ss_operations_settle(&s->played);
  return (ss_input_make(&point->origin, &options, &s->arena, &s->scratch, &input, error) &&
          ss_iteration_select(&point->setting, &s->selector, &input, &s->arena, error) &&
          ss_simulate(&point->setting, &world, &input, &s->arena, &outcome, error)) ||
         ss_fail_prefix(error, "%s, %u ranks, iteration %llu", point->setting.label, point->ranks,
                        (unsigned long long)iteration);
}

static bool play(struct session *s, const struct ss_point *point, const struct ss_watcher *watcher,
                 struct ss_error *error) {
  const double all = (double)(point->end - point->first);
  bool ok = true;
  ss_watcher_begin(watcher, "iterations", point->end - point->first);
  for (uint64_t t = point->first; ok && t < point->end; t++) {
    ok = ss_watcher_goes_on(watcher, error) && play_iteration(s, point, t, error);
    if (ok) ss_watcher_advance(watcher, 1, 1, all);
  }
  ss_watcher_end(watcher);
  return ok;
}

static bool open_session(struct session *s, const struct ss_point *point, const struct ss_export_format *format,
                         const char *path, struct ss_error *error) {
  const uint32_t endpoints = point->ranks + point->servers;
  double start; /* of a library's call, which is no message */
  struct ss_cluster cluster =
      ss_setting_cluster(&point->setting, &point->cluster, &(struct ss_input){.ranks = point->ranks}, &start);
  ss_cluster_widen(&cluster, ss_setting_rings(&point->setting, ss_layout_of(&cluster, point->ranks)));
  *s = (struct session){.selector.selection = point->selection};
  s->writer = (struct writer){.taker.take = take, .format = format};
  s->writer.owed = ss_alloc_zero(endpoints, sizeof *s->writer.owed);
  if (!s->writer.owed) return ss_fail_memory(error, "making room for the endpoints");
  return ss_operations_open(&s->played, endpoints, ss_cluster_window(&cluster), &s->writer.taker, error) &&
         ss_spool_open(&s->writer.spool, path, endpoints, error);
}

static void close_session(struct session *s) {
  ss_operations_close(&s->played);
  ss_spool_close(&s->writer.spool);
  free(s->writer.owed);
  ss_arena_free(&s->arena);
  ss_coalesce_free(&s->scratch);
  ss_selector_free(&s->selector);
  ss_state_free(&s->state);
}

/* Folders and readers have their limits. */
static bool few_enough(const struct ss_point *point, const struct ss_export_format *format, struct ss_error *error) {
  const uint32_t endpoints = point->ranks + point->servers;
  return format->files == 0 || endpoints <= format->files ||
         ss_fail(error, SS_BAD_INPUT, "%u ranks and servers would be as many files, and %u are the most (--ranks)",
                 endpoints, format->files);
}

bool ss_export(const struct ss_point *point, const struct ss_export_format *format, const char *path,
               const struct ss_watcher *watcher, struct ss_error *error) {
  struct session s;
  if (!few_enough(point, format, error) || !ss_point_fits(point, false, error)) return false;
  const bool ok = open_session(&s, point, format, path, error) && play(&s, point, watcher, error) &&
                  format->finish(&(struct ss_exported){point, &s.played, &s.writer.spool}, path, error);
  close_session(&s);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
