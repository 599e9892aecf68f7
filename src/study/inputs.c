#include "base/estimate.h"
#include "schemes/registry.h"
#include "study/compute.h"

/* Bytes of the lists and values of one iteration, all ranks; saturates. */
static uint64_t bytes_of(const struct ss_point *point, const struct ss_input_options *options) {
  const struct ss_origin *o = &point->origin;
  uint64_t entries = 0, width = 1;
  if (o->joint) {
    for (uint32_t k = 0; k < o->joint->tables; k++)
      for (uint32_t r = 0; r < point->ranks * o->merge; r++)
        entries += 2 * ss_trace_count(o->trace, o->joint->tensor[k], options->iteration, r); /* apart and together */
  } else if (o->trace) {
    width = ss_trace_tensor(o->trace, o->tensor)->row_width;
    for (uint32_t r = 0; r < point->ranks * o->merge; r++)
      entries += ss_trace_count(o->trace, o->tensor, options->iteration, r);
  } else if (o->gradient) { /* all ranks have one list */
    const uint64_t values = options->values ? ss_estimate_mul(point->ranks, sizeof(int64_t)) : 0;
    return ss_estimate_mul(o->gradient->elements, sizeof(uint32_t) + values);
  } else {
    entries = ss_estimate_mul(point->ranks, o->uniform.nnz);
    width = o->uniform.width;
  }
  const uint64_t values = options->values ? width * sizeof(int64_t) : 0;
  const uint64_t lists =
      ((options->lookups ? 2 : 1) * (options->element ? width : 1) + (options->bags ? 2 : 0)) * sizeof(uint32_t);
  return ss_estimate_mul(entries, values + lists);
}

static void begin(struct ss_inputs *inputs, const struct ss_point *point, const struct ss_input_options *options) {
  const struct ss_identity made = {.low = (uint64_t)(options->lists | options->lookups << 1 | options->bags << 2 |
                                                     options->element << 3 | options->values << 4 |
                                                     options->before << 5 | options->coalesces << 6)};
  const struct ss_identity key = ss_identity_join(point->is.inputs, made);
  if (ss_identity_same(key, inputs->key)) return;
  ss_arena_reset(&inputs->arena);
  inputs->key = key;
  inputs->count = inputs->bytes = 0;
}

/* A gradient lists each of its elements once: what schemes want to know besides is the same for all of them. */
static struct ss_input_options common(const struct ss_point *point, const struct ss_input_options *asked) {
  struct ss_input_options options = *asked;
  if (!point->origin.gradient) return options;
  options.lists = options.lookups = options.element = true;
  options.coalesces = false;
  return options;
}

bool ss_inputs_get(struct ss_inputs *inputs, const struct ss_point *point, const struct ss_input_options *asked,
                   struct ss_arena *temporary, struct ss_input *out, struct ss_error *error) {
  const struct ss_input_options all = common(point, asked), *options = &all;
  const uint64_t index = options->iteration - point->first, bytes = bytes_of(point, options);
  begin(inputs, point, options);
  if (index < inputs->count) {
    *out = inputs->input[index];
    return true;
  }
  const bool keep = index == inputs->count && bytes <= inputs->budget - inputs->bytes &&
                    ss_grow(inputs->input, inputs->capacity, inputs->count + 1);
  if (!ss_input_make(&point->origin, options, keep ? &inputs->arena : temporary, &inputs->scratch, out, error))
    return false;
  if (!keep) return true;
  inputs->bytes += bytes;
  inputs->input[inputs->count++] = *out;
  return true;
}

/* Entries that a rank sends of n; UINT64_MAX: it keeps nothing of the others. */
static uint64_t sent_of(const struct ss_point *point, uint64_t n) {
  const struct ss_setting *s = &point->setting;
  if (point->selection.selects)
    return point->selection.residual && point->selection.block == 0 ? ss_selection_k(&point->selection, n)
                                                                    : UINT64_MAX;
  if (s->scheme->content != SS_SENDS_LARGEST) return UINT64_MAX;
  return s->value[SS_K] > 0 ? s->value[SS_K] : (uint64_t)ceil(s->real[SS_DENSITY] * (double)n);
}

/* What ranks keep of a gradient for the next iteration: entries with their indices, from the second on those of two
 * iterations, and the sum of gradient and residual. */
static uint64_t kept_bytes(const struct ss_point *point) {
  enum { ENTRY = 4 + 8 };
  const uint64_t n = point->origin.gradient ? point->origin.gradient->elements : 0, sent = sent_of(point, n);
  if (sent >= n) return 0;
  return ss_estimate_mul(ss_estimate_mul(point->ranks, n - sent), (point->end - point->first > 1 ? 3 : 1) * ENTRY);
}

uint64_t ss_point_least_bytes(const struct ss_point *point, bool verify) {
  enum { REFERENCE = 9 }; /* B a row: a sum, and whether there is one */
  struct ss_input_options options =
      ss_iteration_options(&point->setting, &point->selection, point->ranks, verify, point->device.counted);
  struct ss_input shape;
  uint64_t bytes = 0;
  options.iteration = point->first;
  if (options.lists || point->origin.trace) bytes = ss_estimate_add(bytes_of(point, &options), kept_bytes(point));
  if (!ss_iteration_shape(&point->setting, &point->selection, &point->origin, &shape, NULL)) return bytes;
  if (!verify || !ss_scheme_lossless(point->setting.scheme)) return bytes;
  return ss_estimate_add(bytes, ss_estimate_mul(shape.rows, REFERENCE));
}

bool ss_point_fits(const struct ss_point *point, bool verify, struct ss_error *error) {
  const char *less = verify && ss_scheme_lossless(point->setting.scheme)
                         ? "fewer ranks, rows or non-zeros take less, and so does --no-verify"
                         : "fewer ranks, rows or non-zeros take less";
  return ss_estimate_fits(ss_point_least_bytes(point, verify), less, error, "%s on %u ranks", point->setting.label,
                          point->ranks);
}

void ss_inputs_free(struct ss_inputs *inputs) {
  ss_arena_free(&inputs->arena);
  free(inputs->input);
  ss_coalesce_free(&inputs->scratch);
  *inputs = (struct ss_inputs){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
