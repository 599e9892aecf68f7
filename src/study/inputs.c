#include "base/list.h"
#include "base/units.h"
#include "schemes/registry.h"
#include "study/compute.h"

#include <stdlib.h>

/* Bytes of the lists and values of one iteration, all ranks; saturates. */
static uint64_t bytes_of(const struct ss_job *job, const struct ss_input_options *options) {
  const struct ss_origin *o = &job->origin;
  uint64_t entries = 0, width = 1, bytes;
  if (o->joint) {
    for (uint32_t k = 0; k < o->joint->tables; k++)
      for (uint32_t r = 0; r < job->ranks * o->merge; r++)
        entries += 2 * ss_trace_count(o->trace, o->joint->tensor[k], options->iteration, r); /* apart and together */
  } else if (o->trace) {
    width = ss_trace_tensor(o->trace, o->tensor)->row_width;
    for (uint32_t r = 0; r < job->ranks * o->merge; r++)
      entries += ss_trace_count(o->trace, o->tensor, options->iteration, r);
  } else if (!ss_mul_u64(job->ranks, o->gradient ? o->gradient->elements : o->uniform.nnz, &entries)) {
    return UINT64_MAX;
  } else if (!o->gradient) {
    width = o->uniform.width;
  }
  const uint64_t values = options->values ? width * sizeof(int64_t) : 0;
  const uint64_t lists = (options->lookups ? 2 : 1) * (options->element ? width : 1) * sizeof(uint32_t);
  return ss_mul_u64(entries, values + lists, &bytes) ? bytes : UINT64_MAX;
}

static void begin(struct ss_inputs *inputs, const struct ss_job *job, const struct ss_input_options *options) {
  const struct ss_identity key = ss_job_inputs(job, options);
  if (ss_identity_same(key, inputs->key)) return;
  ss_arena_reset(&inputs->arena);
  inputs->key = key;
  inputs->count = inputs->bytes = 0;
}

bool ss_inputs_get(struct ss_inputs *inputs, const struct ss_job *job, const struct ss_input_options *options,
                   struct ss_arena *passing, struct ss_input *out, struct ss_error *error) {
  const uint64_t place = options->iteration - job->first, bytes = bytes_of(job, options);
  begin(inputs, job, options);
  if (place < inputs->count) {
    *out = inputs->input[place];
    return true;
  }
  const bool keep = place == inputs->count && bytes <= inputs->budget - inputs->bytes &&
                    ss_grow(inputs->input, inputs->capacity, inputs->count + 1);
  if (!ss_input_make(&job->origin, options, keep ? &inputs->arena : passing, &inputs->scratch, out, error))
    return false;
  if (!keep) return true;
  inputs->bytes += bytes;
  inputs->input[inputs->count++] = *out;
  return true;
}

/* Saturates. */
static uint64_t least_bytes(const struct ss_job *job) {
  enum { REFERENCE = 9 }; /* B a row: a sum, and whether there is one */
  struct ss_input_options options =
      ss_iteration_options(&job->setting, &job->selection, job->ranks, job->verify, job->device.counted);
  struct ss_input shape;
  uint64_t bytes = 0, reference = 0;
  options.iteration = job->first;
  if (options.lists || job->origin.trace) bytes = bytes_of(job, &options);
  if (!ss_iteration_shape(&job->setting, &job->selection, &job->origin, &shape, NULL)) return bytes;
  if (job->verify && ss_scheme_lossless(job->setting.scheme) && !ss_mul_u64(shape.rows, REFERENCE, &reference))
    return UINT64_MAX;
  return ss_add_u64(bytes, reference, &bytes) ? bytes : UINT64_MAX;
}

bool ss_job_fits(const struct ss_job *job, struct ss_error *error) {
  const uint64_t needed = least_bytes(job), allowed = ss_memory_allowed();
  char need[32], have[32];
  if (needed <= allowed) return true;
  return ss_fail(
      error, SS_MACHINE,
      "%s on %u ranks takes at least %s of memory, %s may be taken: fewer ranks, rows or non-zeros take less%s; "
      "--memory says otherwise",
      job->setting.label, job->ranks, ss_units_format(need, sizeof need, SS_BYTES, (double)needed),
      ss_units_format(have, sizeof have, SS_BYTES, (double)allowed), job->verify ? ", and so does --no-verify" : "");
}

void ss_inputs_free(struct ss_inputs *inputs) {
  ss_arena_free(&inputs->arena);
  free(inputs->input);
  ss_coalesce_free(&inputs->scratch);
  *inputs = (struct ss_inputs){0};
}
