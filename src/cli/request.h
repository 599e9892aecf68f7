/* The options that all scenario commands share, and how each command adds its own. */
#ifndef SS_CLI_REQUEST_H
#define SS_CLI_REQUEST_H

#include "cli/options.h"
#include "cli/points.h"

enum ss_format { SS_TABLE, SS_JSON, SS_CSV };

struct ss_call {
  struct ss_request request;
  struct ss_points_wish wish;
  enum ss_format format;
  const char *output; /* NULL: standard output */
  const char **operand;
  size_t operands;
  bool help;
};

/* Specs to put into a command's table, behind its own. */
#define SS_COMMON_OPTIONS                                                                                            \
  {"trace", true}, {"scheme", true}, {"cluster", true}, {"ranks", true}, {"bandwidth", true}, {"latency", true},     \
      {"iterations", true}, {"merge", true}, {"device", true}, {"set", true}, {"no-verify", false},                  \
      {"format", true}, {"o", true}, {"jobs", true}, {"quiet", false}, {"per-rank", false},                          \
      {"per-iteration", false}, {"help", false}, {                                                                   \
    .name = NULL                                                                                                     \
  }

extern const char ss_common_help[];

/* Parses `argv` against `specs`; options that are not common go to `own` (may be NULL). `call` is to be freed. */
bool ss_call_parse(int argc, char **argv, const struct ss_option_spec *specs,
                   bool (*own)(void *context, const char *name, const char *value, struct ss_error *error),
                   void *context, struct ss_call *call, struct ss_error *error) SS_MUST_CHECK;
void ss_call_free(struct ss_call *call);

bool ss_format_parse(const char *text, enum ss_format *out, struct ss_error *error) SS_MUST_CHECK;

#endif
