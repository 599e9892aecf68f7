#include "learn/summation.h"

#include "tensor/topk.h"

/* --- what schemes are fit ------------------------------------------------------------------------------- */

static bool by_elements(const struct ss_summation *a) {
  return a->selector.selection.selects || ss_setting_by_elements(a->setting);
}

static bool carries(const struct ss_summation *a, struct ss_error *error) {
  const struct ss_setting *setting = a->setting;
  if (a->selector.selection.selects && ss_scheme_valued(setting->scheme) && !ss_scheme_estimates(setting->scheme))
    return ss_fail(error, SS_BAD_INPUT, "%s selects by itself: leave --select out", setting->label);
  if (ss_setting_says(setting, "exchange", "lookups"))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: exchange \"lookups\" carries no gradients: say \"both\" or \"gradients\"", setting->label);
  if (!ss_setting_coalesces(setting))
    return ss_fail(error, SS_BAD_INPUT, "%s: training hands over coalesced gradients: leave \"coalesce\": false out",
                   setting->label);
  if (ss_setting_traits(setting, (struct ss_layout){.ranks = 1, .nodes = 1, .per_node = 1}).pools)
    return ss_fail(error, SS_BAD_INPUT, "%s: training hands over gradients of rows: leave \"pooling\" out",
                   setting->label);
  return true;
}

static bool k_fits(const struct ss_setting *setting, uint64_t elements, struct ss_error *error) {
  const uint64_t *k = ss_setting_find(setting, "k");
  if (!k || *k <= elements) return true;
  return ss_fail(error, SS_BAD_INPUT, "%s: k %" PRIu64 " is more than the %" PRIu64 " elements of a table",
                 setting->label, *k, elements);
}

bool ss_summation_open(struct ss_summation *a, struct ss_error *error) {
  uint64_t elements;
  a->plays = by_elements(a) ? 1 : a->width;
  if (!ss_mul_u64(a->rows, a->width, &elements) || elements > UINT32_MAX)
    return ss_fail(
        error, SS_BAD_INPUT,
        "a table of %" PRIu64 " rows of %" PRIu32
        " elements has more than the 2^32 - 1 elements that can be told apart (use a smaller vocab or width)",
        a->rows, a->width);
  if (!ss_setting_check(a->setting, ss_layout_of(a->cluster, a->ranks), error) || !carries(a, error) ||
      !k_fits(a->setting, elements, error))
    return false;
  a->memory = ss_alloc_zero(a->plays, sizeof *a->memory);
  return a->memory ? true : ss_fail_memory(error, "training a model");
}

void ss_summation_close(struct ss_summation *summation) {
  for (uint32_t i = 0; summation->memory && i < summation->plays; i++) ss_state_free(&summation->memory[i]);
  free(summation->memory);
  ss_selector_free(&summation->selector);
  ss_arena_free(&summation->arena);
  *summation = (struct ss_summation){0};
}

/* --- units ---------------------------------------------------------------------------------------------- */

enum {
  EXPONENT_MOST = 900, /* so that 2^(900 + 20) and its inverse are doubles: smaller gradients round to nothing */
  VALUE_SUM_BITS = 33  /* sums below 2^33 are exact in doubles on the grid of 2^-20 */
};

/* The largest magnitude; NaN when a value is no number. */
static double largest(const struct ss_summation *a, const double *const *value, const struct ss_learn_rows *own) {
  double most = 0;
  for (uint32_t r = 0; r < a->ranks; r++)
    for (uint64_t i = 0; i < own[r].count * a->width; i++) {
      const double magnitude = fabs(value[r][i]);
      if (!(magnitude <= most)) most = magnitude;
      if (isnan(most)) return most;
    }
  return most;
}

/* What ranks kept of a sketch's errors, which may grow from step to step, is within that range, too. */
static bool kept_fits(const struct ss_summation *a) {
  const struct ss_state *state = &a->memory[0];
  const uint64_t most = (UINT64_C(1) << (VALUE_SUM_BITS + SS_VALUE_BITS)) / a->ranks;
  for (uint32_t r = 0; r < state->ranks && ss_scheme_estimates(a->setting->scheme); r++)
    for (uint64_t i = 0; i < state->residual[r].count; i++)
      if (ss_magnitude(state->residual[r].units[i]) > most) return false;
  return true;
}

bool ss_learn_round(struct ss_learn_scale *scale, const struct ss_summation *a, const double *const *value,
                    struct ss_learn_rows *own) {
  const double most = largest(a, value, own);
  if (!isfinite(most)) return false;
  if (!scale->chosen && most > 0) {
    const int exponent = SS_VALUE_MAGNITUDE - 1 - ilogb(most);
    scale->exponent = exponent < EXPONENT_MOST ? exponent : EXPONENT_MOST;
    scale->chosen = true;
  }
  if (ldexp(most, scale->exponent) * a->ranks > ldexp(1, VALUE_SUM_BITS) || !kept_fits(a)) return false;
  const double units = ldexp(1, scale->exponent + SS_VALUE_BITS);
  for (uint32_t r = 0; r < a->ranks; r++)
    for (uint64_t i = 0; i < own[r].count * a->width; i++) own[r].unit[i] = llrint(value[r][i] * units);
  return true;
}

void ss_learn_rescale(const struct ss_learn_scale *scale, struct ss_added *added) {
  const double unit = ldexp(1, -SS_VALUE_BITS - scale->exponent);
  for (uint64_t i = 0; i < added->count; i++) added->unit[i] *= unit;
}

/* --- what ranks end with -------------------------------------------------------------------------------- */

/* A proof that knows no sum to compare with: it notes what ranks report, and that all report the same. A range of
 * rows that is reported again must hold the same again. */
struct collector {
  struct ss_proof proof; /* first: a proof is the collector it stands in */
  uint32_t width, only;  /* the table's width, and the column that this play is for */
  uint32_t column;       /* the first column of the rank that answers for it */
  int64_t *unit;         /* [elements] */
  uint8_t *there;        /* [elements] */
  struct ss_chunk last;  /* the last chunk that was noted: ranks share sums */
  struct ss_chunk *range;
  uint64_t ranges, capacity;
};

static bool known_range(const struct collector *c, const struct ss_chunk *chunk) {
  for (uint64_t i = 0; i < c->ranges; i++)
    if (c->range[i].low == chunk->low && c->range[i].high == chunk->high) return true;
  return false;
}

static bool add_range(struct collector *c, const struct ss_chunk *chunk) {
  if (!ss_grow(c->range, c->capacity, c->ranges + 1)) return false;
  c->range[c->ranges++] = (struct ss_chunk){.low = chunk->low, .high = chunk->high};
  return true;
}

static size_t element_of(const struct collector *c, uint64_t row) {
  return (size_t)row * c->width + c->only;
}

static uint64_t count_there(const struct collector *c, uint64_t low, uint64_t high) {
  uint64_t n = 0;
  for (uint64_t row = low; row < high; row++) n += c->there[element_of(c, row)];
  return n;
}

/* Notes new rows where there may be some; false when a row is new though it may not, or says something else. */
static bool note(struct collector *c, const struct ss_chunk *chunk, bool may_be_new) {
  for (uint64_t i = 0; i < chunk->count; i++) {
    const size_t e = element_of(c, chunk->rows[i]);
    if (!c->there[e] && !may_be_new) return false;
    if (c->there[e] && c->unit[e] != chunk->units[i]) return false;
    c->there[e] = 1;
    c->unit[e] = chunk->units[i];
  }
  return true;
}

static bool collect(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t column,
                    const struct ss_chunk *only) {
  struct collector *c = (struct collector *)proof;
  if (column != c->column) return true; /* another column's owner */
  if (chunk->count > 0 && (!chunk->rows || chunk->kind != SS_CHUNK_VALUES)) return false;
  if (only) return chunk->count == only->count && note(c, chunk, true);
  const bool again = known_range(c, chunk);
  if (again && ss_chunk_same_entries(&c->last, chunk)) return true;
  if (!again && !add_range(c, chunk)) return proof->starved = true;
  if (!note(c, chunk, !again)) return false;
  c->last = *chunk;
  return !again || chunk->count == count_there(c, chunk->low, chunk->high);
}

/* Dense payloads carry lists here. */
static bool no_units(struct ss_proof *proof, const struct ss_chunk *chunk, uint32_t units) {
  (void)proof;
  (void)chunk;
  (void)units;
  return false;
}

static bool collector_open(struct collector *c, struct ss_summation *a, bool elements, struct ss_error *error) {
  const uint64_t all = a->rows * a->width;
  *c = (struct collector){.proof = {.sparse = collect, .dense = no_units},
                          .width = elements ? 1 : a->width,
                          .unit = ss_arena_alloc(&a->arena, all, sizeof *c->unit),
                          .there = ss_arena_zero(&a->arena, all, 1)};
  if (!c->unit || !c->there) return ss_fail_memory(error, "training a model");
  return true;
}

/* --- inputs --------------------------------------------------------------------------------------------- */

/* Which rank answers for a column of a table that is cut by columns: the first column of its part. */
static uint32_t first_column(const struct ss_summation *a, uint32_t column) {
  if (!ss_setting_says(a->setting, "partition", "column")) return 0;
  const uint32_t said = ss_setting_traits(a->setting, ss_layout_of(a->cluster, a->ranks)).owners;
  const uint32_t owners = said > 0 ? said : a->ranks;
  uint32_t first = 0;
  for (uint32_t r = 0; r < owners; r++) {
    const uint32_t begin = (uint32_t)ss_share(a->width, owners, r);
    if (begin <= column) first = begin;
  }
  return first;
}

static bool list_input(struct ss_summation *a, const struct ss_learn_rows *own, bool elements, struct ss_input *out,
                       struct ss_error *error) {
  const uint32_t factor = elements ? a->width : 1;
  uint64_t *count = ss_arena_alloc(&a->arena, a->ranks, sizeof *count);
  uint64_t *lookups = ss_arena_alloc(&a->arena, a->ranks, sizeof *lookups);
  const uint32_t **row = ss_arena_alloc(&a->arena, a->ranks, sizeof *row);
  const uint32_t **lookup = ss_arena_alloc(&a->arena, a->ranks, sizeof *lookup);
  const int64_t **value = ss_arena_alloc(&a->arena, a->ranks, sizeof *value);
  if (!count || !lookups || !row || !lookup || !value) return ss_fail_memory(error, "training a model");
  for (uint32_t r = 0; r < a->ranks; r++) {
    count[r] = own[r].count;
    lookups[r] = own[r].lookups;
    row[r] = own[r].row;
    lookup[r] = own[r].lookup;
    value[r] = own[r].unit;
    if (!ss_rows_to_elements(&row[r], &count[r], factor, &a->arena) ||
        !ss_rows_to_elements(&lookup[r], &lookups[r], factor, &a->arena))
      return ss_fail_memory(error, "training a model");
  }
  *out = (struct ss_input){.rows = a->rows * factor,
                           .ranks = a->ranks,
                           .width = a->width / factor,
                           .elements = a->rows * a->width,
                           .row_width = a->width,
                           .value_bytes = 4,
                           .count = count,
                           .row = row,
                           .lookups = lookups,
                           .lookup = lookup,
                           .value = elements ? value : NULL};
  return true;
}

/* What ranks contribute: all that they have, or what they select of it. */
static bool make_input(struct ss_summation *a, const struct ss_learn_rows *own, bool elements, struct ss_input *out,
                       struct ss_error *error) {
  if (!list_input(a, own, elements, out, error)) return false;
  a->selector.scheme = &a->memory[0];
  return !a->selector.selection.selects || ss_selector_apply(&a->selector, true, out, &a->arena, error);
}

/* Chunks with column `column` of the values; by elements, with all of them. */
static bool make_own(struct ss_summation *a, const struct ss_input *input, const struct ss_learn_rows *own,
                     uint32_t column, const struct ss_chunk **out, struct ss_error *error) {
  struct ss_chunk *chunk = ss_arena_alloc(&a->arena, a->ranks, sizeof *chunk);
  if (!chunk) return ss_fail_memory(error, "training a model");
  for (uint32_t r = 0; r < a->ranks; r++) {
    const uint64_t count = input->count[r];
    int64_t *units = NULL;
    if (!input->value) {
      if (!ss_take(&a->arena, units, count)) return ss_fail_memory(error, "training a model");
      for (uint64_t i = 0; i < count; i++) units[i] = own[r].unit[i * a->width + column];
    }
    chunk[r] = ss_chunk_of_values(input->row[r], units ? units : input->value[r], count, 0, input->rows);
    chunk[r].width = chunk[r].stride = input->width;
    chunk[r].origin = r;
  }
  *out = chunk;
  return true;
}

/* --- plays ---------------------------------------------------------------------------------------------- */

/* Delivers what is sent, and takes no time: all plays of a step have the messages of the first. */
static bool deliver(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  (void)player;
  (void)round;
  (void)error;
  return true;
}

static bool play(struct ss_summation *a, const struct ss_stage *input, uint32_t number, struct ss_final *final,
                 struct ss_added *out, struct ss_error *error) {
  const struct ss_layout layout = ss_layout_of(a->cluster, a->ranks);
  struct ss_player silent = {.play = deliver};
  struct ss_stage stage = *input;
  struct ss_outcome outcome = {0};
  struct ss_engine engine;
  stage.setting = a->setting;
  stage.servers = ss_setting_servers(a->setting, layout);
  stage.per_node = layout.per_node;
  stage.rings = ss_setting_rings(a->setting, layout);
  stage.payloads = stage.lists = true;
  stage.state = &a->memory[number];
  stage.arena = &a->arena;
  stage.player = a->player ? a->player : &silent;
  const bool counted = number == 0 && !a->player;
  const struct ss_engine_size size = {a->ranks, stage.servers, stage.rings, 1};
  if (counted && !ss_engine_open_each(&engine, &a->cluster, 1, size, error)) return false;
  if (counted) stage.player = &engine.player;
  const bool good = ss_stage_run(&stage, final, &outcome, error);
  if (counted) {
    out->sent_max = good ? ss_engine_tally(&engine, 0).sent_max : 0;
    ss_engine_close(&engine);
  }
  if (out->sound && !outcome.sound) memcpy(out->mismatch, outcome.mismatch, sizeof out->mismatch);
  out->sound = out->sound && outcome.sound;
  return good;
}

/* The elements that a table lists. */
static bool take_table(struct ss_summation *a, const struct collector *c, struct ss_added *out,
                       struct ss_error *error) {
  const uint64_t all = a->rows * a->width;
  uint64_t n = 0;
  for (uint64_t e = 0; e < all; e++) n += c->there[e];
  if (!ss_take(&a->arena, out->element, n) || !ss_take(&a->arena, out->unit, n))
    return ss_fail_memory(error, "training a model");
  out->count = 0;
  for (uint64_t e = 0; e < all; e++) {
    if (!c->there[e]) continue;
    out->element[out->count] = (uint32_t)e;
    out->unit[out->count++] = (double)c->unit[e];
  }
  return true;
}

/* A rank alone has the sum. */
static void alone(struct collector *c, const struct ss_input *input, const struct ss_learn_rows *own) {
  const int64_t *unit = input->value ? input->value[0] : own->unit;
  for (uint64_t i = 0; i < input->count[0]; i++)
    for (uint32_t column = 0; column < input->width; column++) {
      const size_t e = (size_t)input->row[0][i] * input->width + column;
      c->there[e] = 1;
      c->unit[e] = unit[i * input->width + column];
    }
}

static bool run_lossless(struct ss_summation *a, const struct ss_learn_rows *own, struct ss_added *out,
                         struct ss_error *error) {
  const bool elements = by_elements(a);
  struct collector collector;
  struct ss_input input;
  if (!collector_open(&collector, a, elements, error) || !make_input(a, own, elements, &input, error)) return false;
  if (a->ranks == 1) alone(&collector, &input, own);
  bool good = true;
  for (uint32_t i = 0; good && a->ranks > 1 && i < a->plays; i++) {
    struct ss_stage stage = {.input = &input, .proof = &collector.proof};
    struct ss_final final;
    collector.only = elements ? 0 : i;
    collector.column = elements ? 0 : first_column(a, i);
    collector.last = (struct ss_chunk){0};
    collector.ranges = 0;
    good = ss_state_begin(&a->memory[i], a->ranks, error) && make_own(a, &input, own, i, &stage.own, error) &&
           play(a, &stage, i, &final, out, error);
    if (good) ss_state_end(&a->memory[i]);
  }
  free(collector.range);
  if (a->selector.selection.selects) out->energy = a->selector.energy;
  return good && take_table(a, &collector, out, error);
}

static bool take_final(struct ss_summation *a, const struct ss_final *final, struct ss_added *out,
                       struct ss_error *error) {
  const uint64_t n = final->chunk.count;
  if (!ss_take(&a->arena, out->element, n) || !ss_take(&a->arena, out->unit, n))
    return ss_fail_memory(error, "training a model");
  out->count = n;
  for (uint64_t i = 0; i < n; i++) {
    out->element[i] = final->chunk.rows[i];
    out->unit[i] = (double) final->chunk.units[i] * final->grain;
  }
  return true;
}

static bool run_values(struct ss_summation *a, const struct ss_learn_rows *own, struct ss_added *out,
                       struct ss_error *error) {
  struct ss_input input;
  struct ss_stage stage = {.input = &input};
  SS_AUTO(ss_mass_close) struct ss_mass mass = {0};
  struct ss_final final = {.grain = 1};
  if (!make_input(a, own, true, &input, error) || !make_own(a, &input, own, 0, &stage.own, error) ||
      !ss_state_begin(&a->memory[0], a->ranks, error) ||
      !ss_mass_open(&mass, input.rows, stage.own, &a->memory[0], error) || !play(a, &stage, 0, &final, out, error) ||
      !take_final(a, &final, out, error))
    return false;
  struct ss_outcome judged = {.sound = true, .energy_lost = NAN, .error_l2 = NAN};
  ss_mass_judge(&mass, a->setting, &final, &a->memory[0], &judged);
  if (out->sound && !judged.sound) memcpy(out->mismatch, judged.mismatch, sizeof out->mismatch);
  out->sound = out->sound && judged.sound;
  out->energy = a->selector.selection.selects ? judged.energy * a->selector.energy : judged.energy;
  out->energy_lost = judged.energy_lost;
  out->error_l2 = judged.error_l2;
  ss_state_end(&a->memory[0]);
  return true;
}

bool ss_summation_run(struct ss_summation *a, const struct ss_learn_rows *own, struct ss_added *out,
                      struct ss_error *error) {
  *out = (struct ss_added){.sound = true, .energy = 1};
  ss_arena_reset(&a->arena);
  return ss_scheme_valued(a->setting->scheme) ? run_values(a, own, out, error) : run_lossless(a, own, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
