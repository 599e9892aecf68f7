#include "learn/trainer.h"

/* Of one rank, in odd or even steps. */
struct ss_learn_memory {
  struct ss_arena arena; /* what outlives the pass */
  struct ss_arena temporary;
  struct ss_coalesce_scratch scratch;
  double loss;
  bool failed;
};

enum { WORTH_THREADS = 1 << 18 }; /* multiplications a pass, below which waking threads takes longer */

/* --- opening -------------------------------------------------------------------------------------------- */

static bool fits(const struct ss_learn_task *task, const struct ss_setting *setting, struct ss_error *error) {
  if (task->split && !ss_scheme_lossless(setting->scheme))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: updates in two parts need exact sums: what this scheme keeps for later would be kept by part "
                   "(leave --split out, or name lossless schemes)",
                   setting->label);
  if (!task->select.selects) return true;
  if (task->split)
    return ss_fail(error, SS_BAD_INPUT,
                   "--select and --split: what is not selected would be kept by part (leave one of them out)");
  for (int table = 0; table < ss_model_tables(&task->shape); table++) {
    const uint64_t elements = ss_model_rows(&task->shape, table) * task->shape.width;
    if (task->select.block && elements % task->select.block != 0)
      return ss_fail(error, SS_BAD_INPUT, "--select: blocks of %u do not divide the %llu elements of a table",
                     task->select.block, (unsigned long long)elements);
  }
  return true;
}

static bool open_table(struct ss_learner *l, int table, struct ss_error *error) {
  const struct ss_model_shape *shape = &l->task->shape;
  const uint32_t summations = l->task->split ? 2 : 1;
  for (uint32_t i = 0; i < summations; i++) {
    l->summation[table][i] = (struct ss_summation){.setting = l->setting,
                                                   .cluster = l->task->cluster,
                                                   .rows = ss_model_rows(shape, table),
                                                   .width = shape->width,
                                                   .ranks = l->ranks,
                                                   .selector = {.selection = l->task->select}};
    if (!ss_summation_open(&l->summation[table][i], error)) return false;
  }
  return ss_optimizer_open(&l->task->optimizer, ss_model_rows(shape, table) * shape->width, &l->optimizer[table],
                           error);
}

bool ss_learner_open(const struct ss_learn_task *task, const struct ss_setting *setting, struct ss_learner *out,
                     struct ss_error *error) {
  *out = (struct ss_learner){.task = task, .setting = setting, .ranks = task->ranks};
  out->curve = (struct ss_curve){.setting = setting, .sound = true};
  if (!fits(task, setting, error)) return false;
  out->memory = ss_alloc_zero(2 * (size_t)out->ranks, sizeof *out->memory);
  if (!out->memory) return ss_fail_memory(error, "training a model");
  for (int table = 0; table < ss_model_tables(&task->shape); table++)
    if (!open_table(out, table, error)) return false;
  return ss_model_open(&task->shape, &out->model, error);
}

void ss_learner_close(struct ss_learner *l) {
  for (int table = 0; table < SS_TABLES; table++) {
    ss_optimizer_close(&l->optimizer[table]);
    for (int i = 0; i < 2; i++) ss_summation_close(&l->summation[table][i]);
  }
  for (uint32_t i = 0; l->memory && i < 2 * l->ranks; i++) {
    ss_arena_free(&l->memory[i].arena);
    ss_arena_free(&l->memory[i].temporary);
    ss_coalesce_free(&l->memory[i].scratch);
  }
  free(l->memory);
  ss_arena_free(&l->arena[0]);
  ss_arena_free(&l->arena[1]);
  ss_model_close(&l->model);
  *l = (struct ss_learner){0};
}

/* --- forward and backward ------------------------------------------------------------------------------- */

static struct ss_learn_memory *memory_of(const struct ss_learner *l, uint64_t step, uint32_t rank) {
  return &l->memory[step % 2 * l->ranks + rank];
}

bool ss_learn_read(const struct ss_learn_task *task, uint64_t step, uint32_t rank, struct ss_arena *arena,
                   struct ss_batch *out) {
  enum { UNKNOWN = 1 };
  const uint64_t iteration = step % ss_trace_iterations(task->text),
                 count = ss_trace_count(task->text, 0, iteration, rank);
  uint32_t *token = ss_arena_alloc(arena, count, sizeof *token);
  if (!token) return false;
  ss_trace_rows(task->text, 0, iteration, rank, token);
  for (uint64_t i = 0; i < count; i++)
    if (token[i] >= task->shape.vocab) token[i] = UNKNOWN;
  *out = (struct ss_batch){.token = token, .count = count, .length = count / task->batch, .step = step, .rank = rank};
  return true;
}

/* The rank's rows of a table. */
static bool list_rows(const struct ss_learner *l, const struct ss_batch *batch, int table,
                      struct ss_learn_memory *memory, struct ss_learn_rows *out, struct ss_error *error) {
  const struct ss_model_shape *shape = &l->task->shape;
  struct ss_row_list reads;
  if (!ss_batch_lookups(shape, batch, table, &memory->temporary, &reads, error)) return false;
  const uint64_t n = reads.count, rows = ss_model_rows(shape, table);
  uint32_t *distinct = ss_arena_alloc(&memory->arena, n, sizeof *distinct),
           *sorted = ss_arena_alloc(&memory->arena, n, sizeof *sorted);
  uint32_t *spare = ss_arena_alloc(&memory->temporary, n, sizeof *spare);
  if (!distinct || !sorted || !spare || !ss_coalesce_reserve(&memory->scratch, n, rows))
    return ss_fail_memory(error, "training a model");
  ss_sort_rows(reads.rows, n, rows, sorted, spare);
  *out = (struct ss_learn_rows){.row = distinct,
                                .count = ss_coalesce(reads.rows, n, rows, distinct, &memory->scratch),
                                .lookup = sorted,
                                .lookups = n};
  return true;
}

/* One rank's pass; `weight` is one over the examples of all ranks. */
static bool pass(const struct ss_learner *l, uint64_t step, uint32_t rank, double weight, struct ss_gradients *out,
                 struct ss_error *error) {
  struct ss_learn_memory *memory = memory_of(l, step, rank);
  struct ss_model_pass pass = {.weight = weight};
  struct ss_batch batch;
  ss_arena_reset(&memory->arena);
  ss_arena_reset(&memory->temporary);
  if (!ss_learn_read(l->task, step, rank, &memory->temporary, &batch)) return ss_fail_memory(error, "reading a text");
  for (int table = 0; table < ss_model_tables(&l->task->shape); table++) {
    struct ss_learn_rows *own = &out->own[table][rank];
    if (!list_rows(l, &batch, table, memory, own, error)) return false;
    const size_t size = own->count * l->task->shape.width;
    double *value = ss_arena_zero(&memory->arena, size, sizeof *value);
    if (!value) return ss_fail_memory(error, "training a model");
    pass.gradient[table] = (struct ss_model_gradient){own->row, own->count, value};
    out->value[table][rank] = value;
  }
  if (!ss_model_learn(&l->model, &batch, &pass, &memory->temporary, error)) return false;
  memory->loss = pass.loss;
  return true;
}

/* Words that all ranks predict in the step. */
static bool count_examples(const struct ss_learner *l, uint64_t step, uint64_t *out, struct ss_error *error) {
  *out = 0;
  for (uint32_t r = 0; r < l->ranks; r++) {
    struct ss_learn_memory *memory = memory_of(l, step, r);
    struct ss_batch batch;
    ss_arena_reset(&memory->temporary);
    if (!ss_learn_read(l->task, step, r, &memory->temporary, &batch)) return ss_fail_memory(error, "reading a text");
    *out += ss_batch_examples(&l->task->shape, &batch);
  }
  return true;
}

static bool round_table(struct ss_learner *l, uint64_t step, int table, struct ss_gradients *g,
                        struct ss_error *error) {
  struct ss_learn_rows *own = g->own[table];
  for (uint32_t r = 0; r < l->ranks; r++) {
    if (!ss_take(&memory_of(l, step, r)->arena, own[r].unit, own[r].count * l->task->shape.width))
      return ss_fail_memory(error, "training a model");
  }
  g->finite = ss_learn_round(&l->scale[table], &l->summation[table][0], g->value[table], own);
  return true;
}

static bool make_lists(struct ss_learner *l, uint64_t step, struct ss_gradients *out, struct ss_error *error) {
  *out = (struct ss_gradients){.finite = true};
  for (int table = 0; table < SS_TABLES; table++) {
    if (!ss_take(&l->arena[step % 2], out->own[table], l->ranks) ||
        !ss_take(&l->arena[step % 2], out->value[table], l->ranks))
      return ss_fail_memory(error, "training a model");
  }
  return true;
}

bool ss_learner_gradients(struct ss_learner *l, uint64_t step, struct ss_gradients *out, struct ss_error *error) {
  uint64_t examples;
  bool failed = false;
  ss_arena_reset(&l->arena[step % 2]);
  if (!make_lists(l, step, out, error) || !count_examples(l, step, &examples, error)) return false;
  const double weight = examples ? 1 / (double)examples : 0;
  const bool worth = (double)examples * l->task->shape.samples * l->task->shape.width > WORTH_THREADS;
#pragma omp parallel for schedule(dynamic, 1) reduction(|| : failed) if (worth)
  for (uint32_t r = 0; r < l->ranks; r++) failed = !pass(l, step, r, weight, out, NULL) || failed;
  if (failed) return ss_fail_memory(error, "training a model");
  for (uint32_t r = 0; r < l->ranks; r++) out->loss += weight * memory_of(l, step, r)->loss;
  out->finite = isfinite(out->loss);
  for (int table = 0; out->finite && table < ss_model_tables(&l->task->shape); table++)
    if (!round_table(l, step, table, out, error)) return false;
  return true;
}

/* --- the split ------------------------------------------------------------------------------------------ */

/* next[row]: some rank looks it up in the step. */
static bool mark_lookups(const struct ss_learner *l, uint64_t step, int table, uint8_t *next,
                         struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena temporary = {0};
  for (uint32_t r = 0; r < l->ranks; r++) {
    struct ss_batch batch;
    struct ss_row_list reads;
    ss_arena_reset(&temporary);
    if (!ss_learn_read(l->task, step, r, &temporary, &batch)) return ss_fail_memory(error, "reading a text");
    if (!ss_batch_lookups(&l->task->shape, &batch, table, &temporary, &reads, error)) return false;
    for (uint64_t i = 0; i < reads.count; i++) next[reads.rows[i]] = 1;
  }
  return true;
}

/* Which rows the next step looks up, and which of them to pick. */
struct picking {
  const uint8_t *next; /* [rows] 1: some rank looks the row up in the next step */
  uint8_t wanted;
  uint32_t width;
};

static bool pick(const struct picking *p, const struct ss_learn_rows *own, struct ss_arena *arena,
                 struct ss_learn_rows *out, struct ss_error *error) {
  const uint32_t width = p->width;
  uint32_t *row = ss_arena_alloc(arena, own->count, sizeof *row);
  int64_t *unit = ss_arena_alloc(arena, own->count * width, sizeof *unit);
  uint64_t n = 0;
  if (!row || !unit) return ss_fail_memory(error, "splitting a gradient");
  for (uint64_t i = 0; i < own->count; i++) {
    if (p->next[own->row[i]] != p->wanted) continue;
    memcpy(unit + n * width, own->unit + i * width, width * sizeof *unit);
    row[n++] = own->row[i];
  }
  *out = (struct ss_learn_rows){.row = row, .count = n, .unit = unit, .lookup = row};
  return true;
}

bool ss_learner_split(struct ss_learner *l, uint64_t step, const struct ss_gradients *whole,
                      struct ss_gradients *prior, struct ss_gradients *delayed, struct ss_error *error) {
  const struct ss_model_shape *shape = &l->task->shape;
  const uint64_t most = shape->kind == SS_LSTM ? shape->vocab + ss_model_rows(shape, SS_TABLE_CELL) : shape->vocab;
  SS_AUTO_FREE uint8_t *next = ss_alloc(most, 1);
  if (!next) return ss_fail_memory(error, "splitting a gradient");
  if (!make_lists(l, step, prior, error) || !make_lists(l, step, delayed, error)) return false;
  for (int table = 0; table < ss_model_tables(&l->task->shape); table++) {
    prior->value[table] = delayed->value[table] = NULL;
    memset(next, 0, most);
    if (!mark_lookups(l, step + 1, table, next, error)) return false;
    for (uint32_t r = 0; r < l->ranks; r++) {
      const struct ss_learn_rows *own = &whole->own[table][r];
      struct ss_arena *arena = &memory_of(l, step, r)->arena;
      if (!pick(&(struct picking){next, 1, shape->width}, own, arena, &prior->own[table][r], error) ||
          !pick(&(struct picking){next, 0, shape->width}, own, arena, &delayed->own[table][r], error))
        return false;
      prior->own[table][r].lookup = own->lookup; /* parameters are looked up once */
      prior->own[table][r].lookups = own->lookups;
    }
  }
  return true;
}

/* --- updates -------------------------------------------------------------------------------------------- */

static void note(struct ss_learner *l, const struct ss_added *added) {
  struct ss_curve *curve = &l->curve;
  l->sums++;
  curve->sent += (double)added->sent_max;
  curve->energy += added->energy;
  curve->energy_lost += added->energy_lost;
  curve->error_l2 += added->error_l2;
  if (curve->sound && !added->sound) memcpy(curve->mismatch, added->mismatch, sizeof curve->mismatch);
  curve->sound = curve->sound && added->sound;
}

bool ss_learner_update(struct ss_learner *l, const struct ss_gradients *gradients, enum ss_part part,
                       struct ss_error *error) {
  for (int table = 0; table < ss_model_tables(&l->task->shape); table++) {
    struct ss_added added;
    if (!ss_summation_run(&l->summation[table][part == SS_PART_DELAYED], gradients->own[table], &added, error))
      return false;
    note(l, &added);
    ss_learn_rescale(&l->scale[table], &added);
    const struct ss_update update = {added.element, added.unit, added.count};
    ss_optimizer_apply(&l->optimizer[table], l->model.table[table], &update, part);
  }
  return true;
}

/* --- curves --------------------------------------------------------------------------------------------- */

/* What the step before left to be applied. */
struct pending {
  struct ss_gradients delayed;
  bool any;
};

static bool finish(struct ss_learner *l, struct pending *pending, struct ss_error *error) {
  if (!pending->any) return true;
  pending->any = false;
  return ss_learner_update(l, &pending->delayed, SS_PART_DELAYED, error);
}

static bool update(struct ss_learner *l, uint64_t step, const struct ss_gradients *whole, struct pending *pending,
                   struct ss_error *error) {
  struct ss_gradients prior;
  if (!l->task->split) return ss_learner_update(l, whole, SS_PART_WHOLE, error);
  if (!finish(l, pending, error)) return false;
  pending->any = true;
  return ss_learner_split(l, step, whole, &prior, &pending->delayed, error) &&
         ss_learner_update(l, &prior, SS_PART_PRIOR, error);
}

static bool run_steps(struct ss_learner *l, const struct ss_learn_watch *watch, struct ss_error *error) {
  struct ss_curve *out = &l->curve;
  struct pending pending = {.any = false};
  for (uint64_t step = 0; step < l->task->steps; step++) {
    struct ss_gradients gradients;
    if (!ss_learner_gradients(l, step, &gradients, error)) return false;
    if (!gradients.finite) {
      out->diverged = true;
      break;
    }
    out->loss[out->steps++] = gradients.loss;
    if (watch && !watch->seen(watch->context, step, &gradients, error)) return false;
    if (!update(l, step, &gradients, &pending, error)) return false;
  }
  return finish(l, &pending, error);
}

bool ss_learn(const struct ss_learn_task *task, const struct ss_setting *setting, const struct ss_learn_watch *watch,
              struct ss_curve *out, struct ss_error *error) {
  struct ss_learner learner;
  struct ss_curve *curve = &learner.curve;
  double *loss = ss_alloc(task->steps, sizeof *loss);
  *out = (struct ss_curve){0};
  if (!loss) return ss_fail_memory(error, "keeping a curve");
  bool good = ss_learner_open(task, setting, &learner, error);
  curve->loss = loss;
  good = good && run_steps(&learner, watch, error);
  const double sums = learner.sums > 0 ? (double)learner.sums : 1;
  curve->sent = curve->steps > 0 ? curve->sent / (double)curve->steps : 0;
  curve->energy /= sums;
  curve->energy_lost /= sums;
  curve->error_l2 /= sums;
  *out = *curve;
  ss_learner_close(&learner);
  if (!good) ss_curve_free(out);
  return good;
}

void ss_curve_free(struct ss_curve *curve) {
  free(curve->loss);
  *curve = (struct ss_curve){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
