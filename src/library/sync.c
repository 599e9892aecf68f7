/* A program's own training: its gradients added up as `learn` adds up those of its model. */
#include "base/estimate.h"
#include "library/request.h"
#include "query/learn_request.h"

enum { WIDTH_MOST = 1 << 16 };

struct ss_sync {
  struct ss_setting setting;
  struct ss_cluster cluster;
  struct ss_summation summation;
  struct ss_learn_scale scale;
  struct ss_arena arena; /* of one step */
  bool broken;           /* a step failed midway */
};

/* --- opening -------------------------------------------------------------------------------------------------- */

static bool fits(const struct ss_sync_tensor *t, struct ss_error *error) {
  if (t->ranks < 1 || t->ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "ranks: expected from 1 to %d, found %" PRIu32, SS_RANKS_MAX, t->ranks);
  if (t->gpus_per_node > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "gpus_per_node: expected at most %d, found %" PRIu32, SS_RANKS_MAX,
                   t->gpus_per_node);
  if (t->rows < 1) return ss_fail(error, SS_BAD_INPUT, "rows: a tensor has at least one");
  if (t->row_width < 1 || t->row_width > WIDTH_MOST)
    return ss_fail(error, SS_BAD_INPUT, "row_width: expected from 1 to %d, found %" PRIu32, WIDTH_MOST, t->row_width);
  if (!(t->select >= 0 && t->select <= 1))
    return ss_fail(error, SS_BAD_INPUT, "select: expected a share of the elements, from 0 to 1, found %g", t->select);
  /* what the result of a step is collected in */
  return ss_estimate_fits(ss_estimate_mul(ss_estimate_mul(t->rows, t->row_width), sizeof(int64_t) + 1),
                          "a smaller tensor takes less", error,
                          "a tensor of %" PRIu64 " rows of %" PRIu32 " elements", t->rows, t->row_width);
}

static bool open(struct ss_sync *s, const struct ss_sync_tensor *t, struct ss_error *error) {
  const struct ss_learning_source usual = SS_LEARNING_DEFAULTS;
  const struct ss_selection select = {.selects = t->select > 0, .residual = true, .density = t->select};
  struct ss_settings before;
  s->cluster = usual.cluster;
  if (t->gpus_per_node > 0) s->cluster.gpus_per_node = t->gpus_per_node;
  s->summation = (struct ss_summation){.setting = &s->setting,
                                       .cluster = &s->cluster,
                                       .rows = t->rows,
                                       .width = t->row_width,
                                       .ranks = t->ranks,
                                       .selector = {.selection = select}};
  if (!ss_settings_enter(1, &before, error)) return false;
  const bool good = ss_learn_scheme_read(t->scheme, &s->setting, error) && ss_summation_open(&s->summation, error);
  ss_settings_leave(&before);
  return good;
}

bool ss_sync_open(const struct ss_sync_tensor *tensor, struct ss_sync **out, struct ss_error *error) {
  if (out) *out = NULL;
  if (!ss_argument_given(out, "place for the handle", error) || !ss_argument_given(tensor, "tensor", error) ||
      !ss_argument_given(tensor->scheme, "scheme", error) || !fits(tensor, error))
    return false;
  struct ss_sync *sync = ss_alloc_zero(1, sizeof *sync);
  if (!sync) return ss_fail_memory(error, "training a model");
  if (open(sync, tensor, error)) {
    *out = sync;
    return true;
  }
  ss_sync_close(sync);
  return false;
}

void ss_sync_close(struct ss_sync *sync) {
  if (!sync) return;
  ss_summation_close(&sync->summation);
  ss_arena_free(&sync->arena);
  free(sync);
}

/* --- a step --------------------------------------------------------------------------------------------------- */

/* All rows of the tensor, without those of zeros. */
static uint64_t pick_rows(const struct ss_sync *s, const double *values, uint32_t *row, double *picked) {
  const uint32_t width = s->summation.width;
  uint64_t n = 0;
  for (uint64_t i = 0; i < s->summation.rows; i++) {
    const double *of_row = values + i * width;
    uint32_t zeros = 0;
    while (zeros < width && of_row[zeros] == 0) zeros++;
    if (zeros == width) continue;
    memcpy(picked + n * width, of_row, width * sizeof *picked);
    row[n++] = (uint32_t)i;
  }
  return n;
}

static bool copy_rows(const struct ss_sync *s, uint32_t rank, const struct ss_rank_gradient *g, uint32_t *row,
                      struct ss_error *error) {
  for (uint64_t i = 0; i < g->count; i++) {
    const int64_t id = g->rows[i];
    if (id < 0 || (uint64_t)id >= s->summation.rows || (i > 0 && id <= g->rows[i - 1]))
      return ss_fail(error, SS_BAD_INPUT,
                     "rank %" PRIu32 ": row %" PRId64 " at place %" PRIu64 " is not from 0 to %" PRIu64
                     ", ascending, each once",
                     rank, id, i, s->summation.rows - 1);
    row[i] = (uint32_t)id;
  }
  return true;
}

/* What the rank has, as a summation takes it; nothing is read before its size is known. */
static bool take(struct ss_sync *s, uint32_t rank, const struct ss_rank_gradient *g, struct ss_learn_rows *own,
                 const double **value, struct ss_error *error) {
  const uint64_t rows = s->summation.rows;
  uint32_t *row;
  double *picked;
  if (g->rows ? g->count > rows : g->count != rows && g->count > 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "rank %" PRIu32 ": %" PRIu64 " rows of a tensor of %" PRIu64 " (without row ids all, or none)",
                   rank, g->count, rows);
  if (g->count > 0 && !g->values) return ss_fail(error, SS_BAD_INPUT, "rank %" PRIu32 " has no values (NULL)", rank);
  if (!ss_take(&s->arena, row, g->count)) return ss_fail_memory(error, "training a model");
  *value = g->values;
  own->row = own->lookup = row;
  own->count = g->count;
  if (g->rows && !copy_rows(s, rank, g, row, error)) return false;
  if (!g->rows && g->count > 0) {
    if (!ss_take(&s->arena, picked, rows * s->summation.width)) return ss_fail_memory(error, "training a model");
    *value = picked;
    own->count = pick_rows(s, g->values, row, picked);
  }
  own->lookups = own->count;
  return ss_take(&s->arena, own->unit, own->count * s->summation.width) || ss_fail_memory(error, "training a model");
}

static bool add_up(struct ss_sync *s, const struct ss_learn_rows *own, struct ss_synced *out,
                   struct ss_error *error) {
  struct ss_added added;
  s->broken = true;
  if (!ss_summation_run(&s->summation, own, &added, error)) return false;
  if (!added.sound)
    return ss_fail(error, SS_UNPROVEN, "%s: %s", s->setting.label,
                   added.mismatch[0] ? added.mismatch : "ranks end with different sums");
  s->broken = false;
  ss_learn_rescale(&s->scale, &added);
  *out = (struct ss_synced){added.count,  added.element,     added.unit,    added.sent_max,
                            added.energy, added.energy_lost, added.error_l2};
  return true;
}

bool ss_sync_step(struct ss_sync *s, const struct ss_rank_gradient *gradient, struct ss_synced *out,
                  struct ss_error *error) {
  struct ss_learn_rows *own;
  const double **value;
  if (!ss_argument_given(s, "handle", error) || !ss_argument_given(gradient, "gradient", error) ||
      !ss_argument_given(out, "place for the result", error))
    return false;
  if (s->broken) return ss_fail(error, SS_BAD_INPUT, "a step failed before: the handle can only be closed");
  ss_arena_reset(&s->arena);
  if (!ss_take(&s->arena, own, s->summation.ranks) || !ss_take(&s->arena, value, s->summation.ranks))
    return ss_fail_memory(error, "training a model");
  for (uint32_t r = 0; r < s->summation.ranks; r++)
    if (!take(s, r, &gradient[r], &own[r], &value[r], error)) return false;
  if (!ss_learn_round(&s->scale, &s->summation, value, own))
    return ss_fail(
        error, SS_BAD_INPUT,
        "gradients are not finite, or 2^23/ranks times as large as the first ones were: there are no exact "
        "sums of them");
  return add_up(s, own, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
