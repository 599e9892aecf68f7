#include "schemes/select.h"

#include "base/random.h"
#include "sim/play.h"
#include "tensor/sets.h"
#include "tensor/topk.h"

uint64_t ss_selection_k(const struct ss_selection *s, uint64_t entries) {
  uint64_t k = s->k ? s->k : (uint64_t)floor(s->density * (double)entries + 0.5);
  return k > 0 ? k : 1;
}

/* While DGC warms up, the density falls exponentially: d^(1/(w+1)), d^(2/(w+1)), ..., d. */
static uint64_t k_of(const struct ss_selection *s, uint64_t iteration, uint64_t entries) {
  struct ss_selection now = *s;
  if (iteration < s->warm_up) now.density = pow(s->density, (double)(iteration + 1) / (double)(s->warm_up + 1));
  return ss_selection_k(&now, entries);
}

void ss_selection_shape(const struct ss_selection *s, bool element, struct ss_input *shape) {
  if (!s->selects) return;
  if (s->block == 0) {
    shape->row_width = 1; /* rows of one element each, of which none belongs to another */
    return;
  }
  shape->rows = (shape->rows + s->block - 1) / s->block;
  shape->width = shape->row_width = s->block;
  if (!element) return;
  shape->rows *= s->block;
  shape->width = 1;
}

static const struct ss_field_spec fields[] = {
    {"topk", "share of the entries that is kept", SS_IS_SHARE, .most = 1, SS_STORED(struct ss_selection, density)},
    {"k", "entries that are kept", SS_IS_COUNT(1, UINT32_MAX), SS_STORED(struct ss_selection, k)},
    {"blocks", "share of the blocks that is kept", SS_IS_SHARE, .most = 1, SS_STORED(struct ss_selection, density)},
    {"block", "elements of a block (256)", SS_IS_COUNT(1, 1 << 20), SS_STORED(struct ss_selection, block)},
    {"residual", "what was not selected is added next time", SS_IS_FLAG, .usual = "true",
     SS_STORED(struct ss_selection, residual)},
    {"momentum", "DGC's correction: velocities are added up in place of gradients", SS_IS_SHARE, .most = 0.999999,
     SS_STORED(struct ss_selection, momentum)},
    {"sample", "share of the elements that a threshold is found from (all)", SS_IS_SHARE, .most = 1,
     SS_STORED(struct ss_selection, sample)},
    {"warm_up", "iterations in which the share falls to what is said", SS_IS_COUNT(1, UINT32_MAX),
     SS_STORED(struct ss_selection, warm_up)},
    {.name = NULL}};
const struct ss_object_spec ss_selection_fields = {
    .name = "select",
    .says = "sparsifies every rank's gradient before a scheme sees it; needs values",
    .field = fields,
    .rules =
        "{'oneOf': [{'required': ['topk']}, {'required': ['k']}, {'required': ['blocks']}], 'dependentRequired': "
        "{'block': ['blocks']}}"};

/* What DGC does, it does with single entries, and momentum with what it keeps. */
static bool check_dgc(struct ss_node node, const struct ss_selection *s, struct ss_error *error) {
  static const char *const names[] = {"momentum", "sample", "warm_up"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct ss_node at = ss_node_get(node, names[i]);
    if (!ss_node_present(at)) continue;
    if (ss_node_present(ss_node_get(node, "blocks")) || (s->warm_up && s->k))
      return ss_node_fail(at, error,
                          s->k ? "belongs to \"topk\", the share that it comes down to"
                               : "belongs to single entries: say \"topk\" or \"k\"");
    if (i == 0 && !s->residual)
      return ss_node_fail(at, error, "corrects what is kept for later: leave \"residual\": false out");
  }
  return true;
}

bool ss_selection_read(struct ss_node node, struct ss_selection *out, struct ss_error *error) {
  const struct ss_node blocks = ss_node_get(node, "blocks"), block = ss_node_get(node, "block");
  *out = (struct ss_selection){.selects = true, .residual = true};
  if (ss_node_is_object(node) && !ss_object_check_keys(&ss_selection_fields, node, error)) return false;
  if (!ss_node_is_object(node) || ss_node_present(ss_node_get(node, "topk")) +
                                          ss_node_present(ss_node_get(node, "k")) + ss_node_present(blocks) !=
                                      1)
    return ss_node_fail(
        node, error, "expected one of {\"topk\": \"5%%\"}, {\"k\": 1000} and {\"blocks\": \"1/32\", \"block\": 256}");
  if (ss_node_present(block) && !ss_node_present(blocks))
    return ss_node_fail(block, error, "belongs to \"blocks\", the share of them that is kept");
  if (!ss_object_read(&ss_selection_fields, node, out, error) || !check_dgc(node, out, error)) return false;
  if (ss_node_present(blocks) && !ss_node_present(block)) out->block = 256;
  return true;
}

/* One iteration. */
struct selecting {
  struct ss_selector *selector;
  struct ss_input *input;
  struct ss_arena *arena;
  struct ss_chunk *copy, *selected; /* [ranks] what each has, old residual included; and what it selects of it */
};

static struct ss_chunk own_of(const struct ss_input *in, uint32_t r) {
  struct ss_chunk own = ss_chunk_of_values(in->row[r], in->value[r], in->count[r], 0, in->rows);
  own.origin = r;
  return own;
}

/* The elements of the largest blocks. */
static bool select_blocks(const struct ss_selector *selector, uint64_t elements, const struct ss_chunk *copy,
                          struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  SS_AUTO_FREE int64_t *dense = ss_alloc_zero(elements, sizeof *dense);
  const struct ss_selection *s = &selector->selection;
  struct ss_row_list picked;
  uint64_t n = 0;
  if (!dense) return ss_fail_memory(error, "selecting blocks");
  for (uint64_t i = 0; i < copy->count; i++) dense[copy->rows[i]] = copy->units[i];
  if (!ss_top_blocks(dense, elements, (struct ss_block_choice){s->block, selector->k}, arena, &picked, error))
    return false;
  uint32_t *rows = ss_arena_alloc(arena, picked.count * s->block, sizeof *rows);
  int64_t *units = ss_arena_alloc(arena, picked.count * s->block, sizeof *units);
  if (!rows || !units) return ss_fail_memory(error, "selecting blocks");
  for (uint64_t b = 0; b < picked.count; b++)
    for (uint64_t e = (uint64_t)picked.rows[b] * s->block;
         e < elements && e < ((uint64_t)picked.rows[b] + 1) * s->block; e++) {
      rows[n] = (uint32_t)e;
      units[n++] = dense[e];
    }
  *out = *copy;
  out->rows = rows;
  out->units = units;
  out->count = n;
  return true;
}

/* What ranks computed before may be that of other inputs, too. */
static bool own_work(const struct selecting *x) {
  const uint64_t n = (uint64_t)x->input->ranks * SS_KERNELS;
  struct ss_kernel_work *work;
  if (!x->input->before) return true;
  if (!ss_take(x->arena, work, n)) return false;
  memcpy(work, x->input->before, n * sizeof *work);
  x->input->before = work;
  return true;
}

static void count_work(const struct selecting *x, uint32_t r, enum ss_kernel_kind kernel,
                       struct ss_kernel_work more) {
  if (!x->input->before || more.elements == 0) return;
  struct ss_kernel_work *work = &x->input->before[(size_t)r * SS_KERNELS + kernel];
  work->calls += more.calls;
  work->elements += more.elements;
  work->bytes += more.bytes;
}

/* The old residual is added, the largest entries are found, and the others kept. */
static void count_selection(const struct selecting *x, uint32_t r, const struct ss_operands *of) {
  const struct ss_chunk *copy = &x->copy[r];
  const uint64_t bytes = ss_wire_bytes(&ss_memory_wire, copy);
  enum ss_kernel_kind kernel;
  const struct ss_kernel_work sum = ss_sum_held_work(of, copy, &kernel);
  if (of->chunk[1].count + of->chunk[2].count > 0) count_work(x, r, kernel, sum);
  if (!(x->selector->selection.sample > 0))
    count_work(x, r, SS_KERNEL_TOP_K, ss_top_k_work(copy->count, x->selected[r].count));
  const uint64_t kept = x->selector->selection.momentum > 0 ? 2 : 1; /* what stays is nearly all */
  if (x->selector->selection.residual)
    count_work(x, r, SS_KERNEL_PACK, (struct ss_kernel_work){kept, kept * copy->count, 2 * kept * bytes});
}

/* --- Deep Gradient Compression --------------------------------------------------------------------------------- */

/* u = momentum * u + g, in place of the gradient g; velocities are whole units, too. */
static bool correct(const struct selecting *x, uint32_t r, struct ss_chunk *own, struct ss_error *error) {
  struct ss_selector *s = x->selector;
  struct ss_chunk parts[2] = {*own, s->velocity.residual[r]};
  const uint64_t n = parts[1].count;
  if (n == 0) return true;
  int64_t *units = ss_arena_alloc(x->arena, n, sizeof *units);
  if (!units) return ss_fail_memory(error, "correcting momentum");
  for (uint64_t i = 0; i < n; i++) units[i] = llrint(s->selection.momentum * (double)parts[1].units[i]);
  parts[1].units = units;
  const struct ss_operands both = {parts, 2, 0, x->input->rows};
  enum ss_kernel_kind kernel;
  if (!ss_sum_held(&both, x->arena, &s->scratch, own, error)) return false;
  const struct ss_kernel_work work = ss_sum_held_work(&both, own, &kernel);
  count_work(x, r, kernel, work);
  return true;
}

/* Every so many-th element, from one that changes. */
static bool take_sample(const struct selecting *x, uint32_t r, uint64_t stride, struct ss_chunk *out,
                        struct ss_error *error) {
  const struct ss_chunk *from = &x->copy[r];
  const uint64_t start = ss_mix(ss_mix(1, r), x->selector->state.iteration) % stride;
  uint32_t *rows = ss_arena_alloc(x->arena, from->count, sizeof *rows);
  int64_t *units = ss_arena_alloc(x->arena, from->count, sizeof *units);
  if (!rows || !units) return ss_fail_memory(error, "sampling a gradient");
  *out = *from;
  out->rows = rows;
  out->units = units;
  out->count = 0;
  for (uint64_t i = 0; i < from->count; i++) {
    if (from->rows[i] % stride != start) continue;
    rows[out->count] = from->rows[i];
    units[out->count++] = from->units[i];
  }
  return true;
}

/* A threshold from a sample, all that is above it, and of those the k largest where they are more. */
static bool select_sampled(const struct selecting *x, uint32_t r, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_selector *s = x->selector;
  const double all = (double)x->input->rows;
  const uint64_t stride = (uint64_t)fmax(1, fmin(floor(1 / s->selection.sample + 0.5), all));
  const double share = (double)s->k / all;
  const uint64_t sampled = x->input->rows / stride, wanted = (uint64_t)fmax(1, ceil(share * (double)sampled));
  struct ss_chunk sample, top, above;
  if (!take_sample(x, r, stride, &sample, error) || !ss_topk(&sample, wanted, x->arena, &top, error)) return false;
  const uint64_t threshold = top.count < wanted ? 1 : ss_smallest(&top); /* too few that are not zero: all such */
  if (!ss_at_least(&x->copy[r], threshold, x->arena, &above, error)) return false;
  *out = above;
  const uint64_t bytes = ss_wire_bytes(&ss_memory_wire, &x->copy[r]) + ss_wire_bytes(&ss_memory_wire, &above);
  count_work(x, r, SS_KERNEL_TOP_K, ss_top_k_work(sample.count, top.count));
  count_work(x, r, SS_KERNEL_PACK, (struct ss_kernel_work){1, x->copy[r].count, bytes});
  if (above.count <= s->k) return true;
  count_work(x, r, SS_KERNEL_TOP_K, ss_top_k_work(above.count, s->k));
  return ss_topk(&above, s->k, x->arena, out, error);
}

/* --- ranks ------------------------------------------------------------------------------------------------------ */

static bool pick(const struct selecting *x, uint32_t r, struct ss_error *error) {
  const struct ss_selector *s = x->selector;
  const struct ss_chunk *copy = &x->copy[r];
  struct ss_chunk *selected = &x->selected[r];
  if (s->selection.block) return select_blocks(s, x->input->rows, copy, x->arena, selected, error);
  if (s->selection.sample > 0) return select_sampled(x, r, selected, error);
  return ss_topk(copy, s->k, x->arena, selected, error);
}

/* What rank r has, what it selects of it, and what it keeps: of velocities, too, those that were not sent. */
static bool select_of(const struct selecting *x, uint32_t r, struct ss_error *error) {
  struct ss_selector *s = x->selector;
  const struct ss_input *in = x->input;
  const bool began = s->scheme && s->scheme->ranks > 0;
  struct ss_chunk own = own_of(in, r);
  if (s->selection.momentum > 0 && !correct(x, r, &own, error)) return false;
  const struct ss_chunk parts[3] = {own, s->state.residual[r], began ? s->scheme->residual[r] : (struct ss_chunk){0}};
  const struct ss_operands all = {parts, 3, 0, in->rows};
  struct ss_chunk *copy = &x->copy[r], *selected = &x->selected[r];
  *copy = parts[0];
  if (parts[1].count + parts[2].count > 0 && !ss_sum_held(&all, x->arena, &s->scratch, copy, error)) return false;
  if (began) s->scheme->residual[r].count = 0;
  if (!pick(x, r, error)) return false;
  count_selection(x, r, &all);
  if (!s->selection.residual) return true;
  if (s->selection.momentum > 0 &&
      !ss_chunk_rest(&own, selected, &s->velocity.arena[s->state.iteration % 2], &s->velocity.kept[r], error))
    return false;
  return ss_chunk_rest(copy, selected, &s->state.arena[s->state.iteration % 2], &s->state.kept[r], error);
}

static bool weigh(const struct selecting *x, struct ss_error *error) {
  struct ss_selector *s = x->selector;
  const uint32_t ranks = x->input->ranks;
  const uint64_t rows = x->input->rows;
  struct ss_chunk all, some;
  if (!ss_sum_values(&(struct ss_operands){x->copy, ranks, 0, rows}, x->arena, &s->scratch, &all, error) ||
      !ss_sum_values(&(struct ss_operands){x->selected, ranks, 0, rows}, x->arena, &s->scratch, &some, error))
    return false;
  const double had = ss_chunk_energy(&all);
  s->energy = had > 0 ? ss_chunk_energy(&some) / had : 1;
  return true;
}

/* A rank's rows with their values. */
struct rows {
  uint64_t count;
  const uint32_t *row;
  const int64_t *value;
};

/* The blocks of the elements: their numbers, and all their values, padded with zeros. */
static bool to_blocks(const struct ss_chunk *c, uint32_t block, struct ss_arena *arena, struct rows *out,
                      struct ss_error *error) {
  uint32_t *number = ss_arena_alloc(arena, c->count, sizeof *number);
  uint64_t n = 0;
  if (!number) return ss_fail_memory(error, "selecting blocks");
  for (uint64_t i = 0; i < c->count; i++)
    if (n == 0 || number[n - 1] != c->rows[i] / block) number[n++] = c->rows[i] / block;
  int64_t *value = ss_arena_zero(arena, n * block, sizeof *value);
  if (!value) return ss_fail_memory(error, "selecting blocks");
  for (uint64_t i = 0, b = 0; i < c->count; i++) {
    while (number[b] != c->rows[i] / block) b++;
    value[b * block + c->rows[i] % block] = c->units[i];
  }
  *out = (struct rows){n, number, value};
  return true;
}

/* The input becomes what was selected. */
static bool replace(const struct selecting *x, bool element, struct ss_error *error) {
  struct ss_input *in = x->input;
  uint64_t *count = ss_arena_alloc(x->arena, in->ranks, sizeof *count);
  const uint32_t **row = ss_arena_alloc(x->arena, in->ranks, sizeof *row);
  const int64_t **value = ss_arena_alloc(x->arena, in->ranks, sizeof *value);
  const uint32_t block = x->selector->selection.block;
  if (!count || !row || !value) return ss_fail_memory(error, "selecting");
  for (uint32_t r = 0; r < in->ranks; r++) {
    const struct ss_chunk *c = &x->selected[r];
    struct rows rows = {c->count, c->rows, c->units};
    if (block && !to_blocks(c, block, x->arena, &rows, error)) return false;
    if (block && element && !ss_rows_to_elements(&rows.row, &rows.count, block, x->arena))
      return ss_fail_memory(error, "selecting blocks");
    count[r] = rows.count;
    row[r] = rows.row;
    value[r] = rows.value;
  }
  in->count = in->lookups = count;
  in->row = in->lookup = row;
  in->value = value;
  in->even = false;
  return true;
}

bool ss_selector_apply(struct ss_selector *s, bool element, struct ss_input *in, struct ss_arena *arena,
                       struct ss_error *error) {
  struct selecting x = {.selector = s, .input = in, .arena = arena};
  if (!ss_take(arena, x.copy, in->ranks) || !ss_take(arena, x.selected, in->ranks))
    return ss_fail_memory(error, "selecting");
  if (!own_work(&x)) return ss_fail_memory(error, "selecting");
  if (!ss_state_begin(&s->state, in->ranks, error) || !ss_state_begin(&s->velocity, in->ranks, error)) return false;
  s->elements = in->rows;
  s->blocks = s->selection.block ? (in->rows + s->selection.block - 1) / s->selection.block : 0;
  s->k = k_of(&s->selection, s->state.iteration, s->blocks ? s->blocks : s->elements);
  for (uint32_t r = 0; r < in->ranks; r++)
    if (!select_of(&x, r, error)) return false;
  if (!weigh(&x, error) || !replace(&x, element, error)) return false;
  in->beside = (1u + s->selection.residual + (s->selection.momentum > 0)) * s->elements * in->value_bytes;
  ss_selection_shape(&s->selection, element, in);
  ss_state_end(&s->state);
  ss_state_end(&s->velocity);
  return true;
}

void ss_selector_free(struct ss_selector *s) {
  ss_state_free(&s->state);
  ss_state_free(&s->velocity);
  ss_sum_scratch_free(&s->scratch);
  *s = (struct ss_selector){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
