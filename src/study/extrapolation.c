#include "study/extrapolation.h"

/* --- views -------------------------------------------------------------------------------------------------- */

uint64_t ss_extrapolation_most(const struct ss_trace *trace, uint32_t from, uint64_t iterations) {
  return from * (ss_trace_iterations(trace) / iterations);
}

bool ss_extrapolation_refuse(const struct ss_extrapolation *asked, struct ss_node root,
                             const struct ss_source *source, struct ss_error *error) {
  char merged[64] = "", more[160] = "", expect[512] = "";
  const struct ss_node ranks = ss_node_get(root, "ranks");
  const uint64_t wanted = (uint64_t)asked->ranks * asked->merge,
                 most = ss_extrapolation_most(asked->captured, asked->from, 1);
  if (asked->merge > 1) snprintf(merged, sizeof merged, ", merged %u at a time", asked->merge);
  if (most > asked->from)
    snprintf(more, sizeof more, "--extrapolate plays later iterations as further ranks, up to %llu; ",
             (unsigned long long)most);
  if (source->hash) /* a file */
    snprintf(expect, sizeof expect, "`sparsync trace fit %.400s --ranks %llu` estimates what to expect there; ",
             source->name, (unsigned long long)wanted);
  return ss_node_fail(ss_node_present(ranks) ? ranks : root, error,
                      "%u ranks, but %s has %u%s (%s%scapture more ranks, or make a wider trace with `sparsync trace "
                      "synth --ranks %llu -o FILE`)",
                      asked->ranks, source->name, asked->from, merged, more, expect, (unsigned long long)wanted);
}

void ss_extrapolation_tell_idle(const struct ss_extrapolations *all, struct ss_node root,
                                const struct ss_notice *notice) {
  char shown[80], text[160];
  const struct ss_node asked = ss_node_get(root, "extrapolate");
  if (all->count > 0 || !cJSON_IsTrue(asked.at)) return;
  (void)snprintf(text, sizeof text, "%s does nothing: no rank count is beyond those of a trace",
                 ss_doc_field(root.doc, "extrapolate", shown, sizeof shown));
  ss_notice_tell(notice, text);
}

static bool make(struct ss_extrapolation *e, struct ss_error *error) {
  const uint32_t all = e->from * e->merge, half = e->from / 2 * e->merge;
  if (!ss_trace_widen(e->captured, all, e->ranks * e->merge, &e->wide, error)) return false;
  return half == 0 || ss_trace_widened(e->captured, half, all) == 0 ||
         ss_trace_widen(e->captured, half, all, &e->half, error);
}

static void release(struct ss_extrapolation *e) {
  ss_trace_close(e->wide);
  ss_trace_close(e->half);
  free(e);
}

bool ss_extrapolation_find(struct ss_extrapolations *all, const struct ss_extrapolation *asked,
                           const struct ss_extrapolation **out, struct ss_error *error) {
  for (size_t i = 0; i < all->count; i++) {
    const struct ss_extrapolation *e = *out = all->list[i];
    if (e->captured == asked->captured && e->ranks == asked->ranks && e->from == asked->from &&
        e->merge == asked->merge)
      return true;
  }
  struct ss_extrapolation *fresh = ss_alloc_zero(1, sizeof *fresh);
  if (!fresh || !ss_grow_by_one(all->list, all->count)) {
    free(fresh);
    return ss_fail_memory(error, "extrapolating ranks");
  }
  *fresh = *asked;
  *out = all->list[all->count++] = fresh;
  return make(fresh, error);
}

void ss_extrapolations_free(struct ss_extrapolations *all) {
  for (size_t i = 0; i < all->count; i++) release(all->list[i]);
  free(all->list);
  *all = (struct ss_extrapolations){0};
}

/* --- how far off ---------------------------------------------------------------------------------------------- */

/* Means over iterations of the networks of the points that are judged together. */
struct load {
  double time, sent, received;
};

struct judge {
  const struct ss_computing *all;
  const struct ss_extrapolation *of;
  const size_t *index; /* [count] points of `all` */
  uint32_t count;
  const struct ss_point **point; /* [count] those of `own` */
  struct ss_point *own;          /* [count] */
  struct ss_result *result;      /* [count] */
  size_t *order;                 /* [count] 0, 1, ... */
  struct load *captured, *by_half;
};

/* The point among the captured ranks: of the same scheme, on the same links. */
static struct ss_point among_captured(const struct ss_point *point) {
  const struct ss_extrapolation *e = point->extrapolation;
  struct ss_point own = *point;
  own.ranks = e->from;
  if (point->untuned) {
    const struct ss_tensor *t = ss_trace_tensor(e->captured, point->origin.tensor);
    own.setting = *point->untuned;
    ss_setting_tune(&own.setting, &own.cluster, own.ranks, t->rows * t->row_width * ss_dtype_bytes(t->dtype));
  }
  own.servers = ss_setting_servers(&own.setting, ss_layout_of(&own.cluster, e->from));
  own.cluster.jitter.draws = 0;
  own.extrapolation = NULL;
  own.verify = false;
  own.uncertainty = ss_certain;
  return own;
}

/* Plays iterations from `first` on of the trace, and adds 1/parts of the means to sum[count]. */
static bool play(const struct judge *j, const struct ss_trace *trace, const uint64_t window[2], uint32_t parts,
                 struct load *sum, struct ss_worker *worker, struct ss_error *error) {
  const struct ss_run_options options = {.watcher = j->all->options->watcher};
  const struct ss_computing all = {j->point, j->count, j->all->costs, &options, j->result};
  const struct ss_identity part = {.high = trace == j->of->half, .low = window[0] + 1};
  for (uint32_t i = 0; i < j->count; i++) {
    struct ss_point *own = &j->own[i];
    *own = among_captured(j->all->points[j->index[i]]);
    own->origin.trace = trace;
    own->first = window[0];
    own->end = window[1];
    own->is.inputs = ss_identity_join(own->is.inputs, part);
  }
  if (!ss_group_play(&all, &(struct ss_point_group){j->order, j->count}, worker, error)) return false;
  for (uint32_t i = 0; i < j->count; i++) {
    sum[i].time += j->result[i].time / parts;
    sum[i].sent += j->result[i].sent_max / parts;
    sum[i].received += j->result[i].received_max / parts;
  }
  return true;
}

/* As many captured iterations as the extrapolation plays, if there are: blocks of the view by half of the ranks, and
 * all ranks in the iterations that these are taken from. */
static bool play_both(const struct judge *j, struct ss_worker *worker, struct ss_error *error) {
  const struct ss_extrapolation *e = j->of;
  const struct ss_point *point = j->all->points[j->index[0]];
  const uint32_t half = e->from / 2, blocks = (e->from + half - 1) / half, wide = (e->ranks + e->from - 1) / e->from;
  const uint64_t there = ss_trace_iterations(e->half),
                 wanted = ((point->end - point->first) * wide + blocks - 1) / blocks,
                 count = wanted < there ? wanted : there,
                 first = point->first < there - count ? point->first : there - count;
  uint64_t window[2] = {first, first + count};
  if (!play(j, e->half, window, 1, j->by_half, worker, error)) return false;
  for (uint32_t b = 0; b < blocks; b++, window[0] += there, window[1] += there)
    if (!play(j, e->captured, window, blocks, j->captured, worker, error)) return false;
  return true;
}

/* By which factor, at least 1, one is off the other. */
static double off(double a, double b) {
  return a == b ? 1 : fmax(a / b, b / a);
}

static void conclude(struct ss_result *r, const struct load *captured, const struct load *by_half) {
  r->captured = captured->time;
  r->by_half = by_half->time;
  r->off = fmax(off(by_half->time, captured->time),
                fmax(off(by_half->sent, captured->sent), off(by_half->received, captured->received)));
  if (!isfinite(r->off)) r->off = NAN;
}

static bool judge(struct judge *j, struct ss_worker *worker, struct ss_error *error) {
  struct ss_arena arena = {0};
  bool ok = (ss_take(&arena, j->point, j->count) && ss_take(&arena, j->own, j->count) &&
             ss_take_zero(&arena, j->result, j->count) && ss_take(&arena, j->order, j->count) &&
             ss_take_zero(&arena, j->captured, j->count) && ss_take_zero(&arena, j->by_half, j->count)) ||
            ss_fail_memory(error, "judging an extrapolation");
  for (uint32_t i = 0; ok && i < j->count; i++) {
    j->point[i] = &j->own[i];
    j->order[i] = i;
  }
  ok = ok && play_both(j, worker, error);
  for (uint32_t i = 0; ok && i < j->count; i++)
    conclude(&j->all->results[j->index[i]], &j->captured[i], &j->by_half[i]);
  ss_arena_free(&arena);
  return ok;
}

bool ss_extrapolation_judge(const struct ss_computing *all, const struct ss_point_group *group,
                            struct ss_worker *worker, struct ss_error *error) {
  const struct ss_point *point = all->points[group->point[0]];
  const struct ss_extrapolation *e = point->extrapolation;
  const struct ss_setting *setting = point->untuned ? point->untuned : &point->setting;
  struct ss_error ignored;
  if (!e || !e->half || (point->origin.joint && point->origin.joint->shards) ||
      !ss_setting_check(setting, ss_layout_of(&point->cluster, e->from), &ignored))
    return true;
  /* libraries that choose the same for all of the group may choose otherwise for fewer ranks */
  const uint32_t each = point->untuned ? 1 : group->count;
  for (uint32_t i = 0; i < group->count; i += each) {
    struct judge j = {.all = all, .of = e, .index = group->point + i, .count = each};
    if (!judge(&j, worker, error)) return false;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
