#include "schemes/select.h"

#include "sim/play.h"
#include "tensor/sets.h"
#include "tensor/topk.h"

uint64_t ss_selection_k(const struct ss_selection *s, uint64_t entries) {
  uint64_t k = s->k ? s->k : (uint64_t)floor(s->density * (double)entries + 0.5);
  return k > 0 ? k : 1;
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
    {.name = NULL}};
const struct ss_object_spec ss_selection_fields = {
    .name = "select",
    .says = "sparsifies every rank's gradient before a scheme sees it; needs values",
    .field = fields,
    .rules =
        "{'oneOf': [{'required': ['topk']}, {'required': ['k']}, {'required': ['blocks']}], 'dependentRequired': "
        "{'block': ['blocks']}}"};

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
  if (!ss_object_read(&ss_selection_fields, node, out, error)) return false;
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
static bool select_blocks(const struct ss_selection *s, uint64_t elements, const struct ss_chunk *copy,
                          struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  SS_AUTO_FREE int64_t *dense = ss_alloc_zero(elements, sizeof *dense);
  const uint64_t blocks = (elements + s->block - 1) / s->block;
  struct ss_row_list picked;
  uint64_t n = 0;
  if (!dense) return ss_fail_memory(error, "selecting blocks");
  for (uint64_t i = 0; i < copy->count; i++) dense[copy->rows[i]] = copy->units[i];
  if (!ss_top_blocks(dense, elements, (struct ss_block_choice){s->block, ss_selection_k(s, blocks)}, arena, &picked,
                     error))
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
  struct ss_kernel_work sum = {.calls = 1, .bytes = bytes};
  for (uint32_t i = 0; i < of->count; i++) {
    sum.elements += of->chunk[i].count;
    sum.bytes += ss_wire_bytes(&ss_memory_wire, &of->chunk[i]);
  }
  if (sum.elements > of->chunk[0].count) count_work(x, r, SS_KERNEL_MERGE_SUM, sum);
  count_work(x, r, SS_KERNEL_TOP_K, ss_top_k_work(copy->count, x->selected[r].count));
  if (x->selector->selection.residual) /* what stays is nearly all */
    count_work(x, r, SS_KERNEL_PACK, (struct ss_kernel_work){1, copy->count, 2 * bytes});
}

/* What rank r has, what it selects of it, and what it keeps. */
static bool select_of(const struct selecting *x, uint32_t r, struct ss_error *error) {
  struct ss_selector *s = x->selector;
  const struct ss_input *in = x->input;
  const bool began = s->scheme && s->scheme->ranks > 0;
  const struct ss_chunk parts[3] = {own_of(in, r), s->state.residual[r],
                                    began ? s->scheme->residual[r] : (struct ss_chunk){0}};
  const struct ss_operands all = {parts, 3, 0, in->rows};
  struct ss_chunk *copy = &x->copy[r], *selected = &x->selected[r];
  *copy = parts[0];
  if (parts[1].count + parts[2].count > 0 && !ss_sum_values(&all, x->arena, &s->scratch, copy, error)) return false;
  if (began) s->scheme->residual[r].count = 0;
  const bool picked = s->selection.block
                          ? select_blocks(&s->selection, in->rows, copy, x->arena, selected, error)
                          : ss_topk(copy, ss_selection_k(&s->selection, in->rows), x->arena, selected, error);
  if (picked) count_selection(x, r, &all);
  if (!picked || !s->selection.residual) return picked;
  return ss_chunk_without(copy, selected, &s->state.arena[s->state.iteration % 2], &s->state.kept[r], error);
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
  if (!ss_state_begin(&s->state, in->ranks, error)) return false;
  s->elements = in->rows;
  s->blocks = s->selection.block ? (in->rows + s->selection.block - 1) / s->selection.block : 0;
  for (uint32_t r = 0; r < in->ranks; r++)
    if (!select_of(&x, r, error)) return false;
  if (!weigh(&x, error) || !replace(&x, element, error)) return false;
  in->beside = (s->selection.residual ? 2 : 1) * s->elements * in->value_bytes;
  ss_selection_shape(&s->selection, element, in);
  ss_state_end(&s->state);
  return true;
}

void ss_selector_free(struct ss_selector *s) {
  ss_state_free(&s->state);
  ss_sum_scratch_free(&s->scratch);
  *s = (struct ss_selector){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
