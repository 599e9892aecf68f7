#include "cli/command.h"
#include "trace/make/merge_traces.h"

struct arguments {
  struct ss_call call; /* its operands are the parts */
  const char **tensor;
  size_t tensors;
  const char *source;
};

static bool merge(const struct arguments *a, const struct ss_trace **traces, struct ss_error *error) {
  SS_AUTO_TRACE struct ss_trace *merged = NULL;
  const struct ss_merge_options options = {.source = a->source, .tensor = a->tensor, .tensors = a->tensors};
  return ss_trace_merge(traces, a->call.operands, &options, &merged, error) &&
         ss_trace_save(a->call.output, merged, error);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  size_t opened = 0;
  if (call->operands == 0) return ss_fail(error, SS_BAD_INPUT, "name the traces to join");
  if (!call->output) return ss_fail(error, SS_BAD_INPUT, "say where to write the trace with -o FILE");
  SS_AUTO_FREE struct ss_trace **traces = ss_alloc_zero(call->operands, sizeof *traces);
  if (!traces) return ss_fail_memory(error, "merging traces");
  while (opened < call->operands && ss_trace_open(call->operand[opened], &traces[opened], error)) opened++;
  const bool good =
      opened == call->operands && merge((const struct arguments *)call, (const struct ss_trace **)traces, error);
  while (opened > 0) ss_trace_close(traces[--opened]);
  return good;
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--tensor", SS_TEXTS(struct arguments, tensor, tensors), .value = "NAME",
     .help = "keep this tensor (repeatable; default: all); one PART will do, to take tensors out of it"},
    {"--source", SS_TEXT(struct arguments, source), .value = "TEXT",
     .help = "what to record as the trace's origin; the parts' may then differ"},
    SS_OPTIONS_OUTPUT_TRACE,
    {.name = NULL}};

const struct ss_command ss_command_trace_merge = {
    .name = "merge",
    .summary = "join traces that each hold some of the ranks",
    .usage = "usage: sparsync trace merge PART... -o FILE [OPTION...]\n\n"
             "Joins traces, such as one file of each process, into one: its ranks are those of the parts in the "
             "order given. Tensors, iterations and metadata must agree.\n",
    .examples = "  sparsync trace merge rank0.safetensors rank1.safetensors -o all.safetensors\n"
                "  sparsync trace merge traces/lstm-bible-4.safetensors --tensor lstm.weight_hh_l0.grad -o "
                "gradients.safetensors\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
