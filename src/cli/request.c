#include "cli/request.h"

#include "base/list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char ss_scenario_help[] =
    "  --set PATH=VALUE     change any field of the scenario (repeatable): --set cluster.bandwidth=100Gbps\n"
    "  --trace FILE         the trace             --cluster NAME     a file of models/clusters, or a path\n"
    "  --scheme A,B         the schemes           --ranks 4,8|4..64  rank counts (.. doubles)\n"
    "  --bandwidth RATE     of the cluster        --latency TIME     of the cluster\n"
    "  --iterations A:B     of the trace          --merge N          turn each N ranks into one\n"
    "  --device NAME        count kernels         --no-verify        skip the proof (faster, less memory)\n";
const char ss_output_help[] =
    "  --format table|json|csv, -o FILE           what and where to write (a file appears whole or not at all)\n"
    "  --per-rank, --per-iteration                add arrays to the JSON\n"
    "  --jobs N             threads (all cores)   --quiet            no progress bar\n";

struct parsing {
  struct ss_call *call;
  bool (*own)(void *, const char *, const char *, struct ss_error *);
  void *context;
};

bool ss_format_parse(const char *text, enum ss_format *out, struct ss_error *error) {
  static const char *const names[] = {"table", "json", "csv"};
  for (size_t i = 0; i < 3; i++)
    if (strcmp(text, names[i]) == 0) {
      *out = (enum ss_format)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--format: \"%s\" is not table, json or csv", text);
}

static bool add_text(const char ***list, size_t *count, const char *text, struct ss_error *error) {
  if (!ss_grow_by_one(*list, *count)) return ss_fail_memory(error, "reading options");
  (*list)[(*count)++] = text;
  return true;
}

/* Options that only fill in a text. */
static const char **text_option(struct ss_call *call, const char *name) {
  struct ss_request *r = &call->request;
  const struct {
    const char *name, **place;
  } texts[] = {
      {"trace", &r->trace},         {"scheme", &r->schemes},  {"cluster", &r->cluster},       {"ranks", &r->ranks},
      {"bandwidth", &r->bandwidth}, {"latency", &r->latency}, {"iterations", &r->iterations}, {"merge", &r->merge},
      {"device", &r->device},       {"o", &call->output}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(texts[i].name, name) == 0) return texts[i].place;
  return NULL;
}

static bool *flag_option(struct ss_call *call, const char *name) {
  if (strcmp(name, "no-verify") == 0) return &call->request.no_verify;
  if (strcmp(name, "quiet") == 0) return &call->options.quiet;
  if (strcmp(name, "per-rank") == 0) return &call->options.per_rank;
  if (strcmp(name, "per-iteration") == 0) return &call->options.per_iteration;
  return strcmp(name, "help") == 0 ? &call->help : NULL;
}

enum { PATIENCE = 30 }; /* s, unless told otherwise */

static bool parse_patience(const char *value, double *out, struct ss_error *error) {
  if (!ss_units_parse(value, SS_TIME, out, error)) return ss_fail_prefix(error, "--patience");
  return *out >= 1 || ss_fail(error, SS_BAD_INPUT, "--patience: %s is less than a second", value);
}

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct parsing *p = context;
  struct ss_call *call = p->call;
  assert(call);
  if (!name) return add_text(&call->operand, &call->operands, value, error);
  const char **text = text_option(call, name);
  bool *flag = flag_option(call, name);
  uint64_t jobs;
  if (text) {
    *text = value;
    return true;
  }
  if (flag) {
    *flag = true;
    return true;
  }
  if (strcmp(name, "set") == 0) return add_text(&call->request.set, &call->request.sets, value, error);
  if (strcmp(name, "format") == 0) return ss_format_parse(value, &call->format, error);
  if (strcmp(name, "patience") == 0) return parse_patience(value, &call->options.patience, error);
  if (strcmp(name, "jobs") == 0) {
    if (!ss_count_parse(value, "--jobs", 1, 1024, &jobs, error)) return false;
    call->options.jobs = (unsigned)jobs;
    return true;
  }
  return !p->own || p->own(p->context, name, value, error);
}

bool ss_call_parse(int argc, char **argv, const struct ss_option_spec *specs,
                   bool (*own)(void *context, const char *name, const char *value, struct ss_error *error),
                   void *context, struct ss_call *call, struct ss_error *error) {
  struct parsing parsing = {call, own, context};
  *call = (struct ss_call){.options.patience = PATIENCE};
  if (ss_options_parse(argc, argv, specs, seen, &parsing, error)) return true;
  ss_call_free(call);
  return false;
}

bool ss_call_parse_scenario(int argc, char **argv, const struct ss_option_spec *specs,
                            bool (*own)(void *context, const char *name, const char *value, struct ss_error *error),
                            void *context, struct ss_call *call, struct ss_error *error) {
  if (!ss_call_parse(argc, argv, specs, own, context, call, error)) return false;
  if (call->operands > 1 && !call->help) {
    (void)ss_fail(error, SS_BAD_INPUT, "one scenario is enough: \"%s\" is left over", call->operand[1]);
    ss_call_free(call);
    return false;
  }
  call->request.file = call->operands ? call->operand[0] : NULL;
  return true;
}

void ss_call_free(struct ss_call *call) {
  free(call->request.set);
  free(call->operand);
  *call = (struct ss_call){0};
}

bool ss_help_print(const char *const *texts, struct ss_error *error) {
  for (; *texts; texts++)
    if (fputs(*texts, stdout) < 0) break;
  if (!*texts && fflush(stdout) == 0) return true;
  return ss_fail(error, SS_MACHINE, "standard output: cannot write");
}
