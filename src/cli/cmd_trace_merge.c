#include "base/memory.h"
#include "base/options.h"
#include "cli/cmd_trace.h"
#include "trace/make/merge.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync trace merge PART... -o FILE [--tensor NAME]... [--source TEXT]\n"
    "\n"
    "Joins traces, such as one file of each process, into one: its ranks are those of the parts in the order given.\n"
    "Tensors, iterations and metadata must agree.\n"
    "\n"
    "  --tensor NAME        keep this tensor (repeatable; default: all); one PART will do, to take tensors out of "
    "it\n"
    "  --source TEXT        what to record as the trace's origin; the parts' may then differ\n"
    "  -o FILE              the trace (required; - for standard output)\n"
    "\n"
    "examples:\n"
    "  sparsync trace merge rank0.safetensors rank1.safetensors -o all.safetensors\n"
    "  sparsync trace merge traces/lstm-bible-4.safetensors --tensor lstm.weight_hh_l0.grad -o "
    "gradients.safetensors\n";

struct arguments {
  const char **part, **tensor; /* [argc] */
  size_t parts, tensors;
  const char *source, *out;
};

static const struct ss_option_spec specs[] = {
    {"source", true}, {"tensor", true}, {"o", true}, {"help", false}, {NULL, false}};

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct arguments *a = context;
  (void)error;
  if (!name) a->part[a->parts++] = value;
  else if (strcmp(name, "source") == 0) a->source = value;
  else if (strcmp(name, "tensor") == 0) a->tensor[a->tensors++] = value;
  else if (strcmp(name, "o") == 0) a->out = value;
  return true;
}

static bool merge(const struct arguments *a, const struct ss_trace **traces, struct ss_error *error) {
  struct ss_trace *merged;
  const struct ss_merge_options options = {.source = a->source, .tensor = a->tensor, .tensors = a->tensors};
  if (!ss_trace_merge(traces, a->parts, &options, &merged, error)) return false;
  const bool good = ss_trace_save(a->out, merged, error);
  ss_trace_close(merged);
  return good;
}

static bool open_and_merge(const struct arguments *a, struct ss_error *error) {
  SS_AUTO_FREE struct ss_trace **traces = ss_alloc_zero(a->parts, sizeof *traces);
  if (!traces) return ss_fail_memory(error, "merging traces");
  size_t opened = 0;
  while (opened < a->parts && ss_trace_open(a->part[opened], &traces[opened], error)) opened++;
  const bool good = opened == a->parts && merge(a, (const struct ss_trace **)traces, error);
  while (opened > 0) ss_trace_close(traces[--opened]);
  return good;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  SS_AUTO_FREE const char **part = ss_alloc((size_t)argc, sizeof *part);
  SS_AUTO_FREE const char **tensor = ss_alloc((size_t)argc, sizeof *tensor);
  struct arguments a = {.part = part, .tensor = tensor};
  if (!part || !tensor) return ss_fail_memory(error, "merging traces");
  if (!ss_options_parse(argc, argv, specs, seen, &a, error)) return false;
  if (a.parts == 0) return ss_fail(error, SS_BAD_INPUT, "trace merge: name the traces to join");
  if (!a.out) return ss_fail(error, SS_BAD_INPUT, "trace merge: say where to write the trace with -o FILE");
  return open_and_merge(&a, error);
}

const struct ss_command trace_merge = {
    .name = "merge", .summary = "join traces that each hold some of the ranks", .help = help, .run = run};
