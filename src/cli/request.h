/* The options that all scenario commands share, and how each command adds its own. */
#ifndef SS_CLI_REQUEST_H
#define SS_CLI_REQUEST_H

#include "base/options.h"
#include "study/study.h"

enum ss_format { SS_TABLE, SS_JSON, SS_CSV };

struct ss_call {
  struct ss_study_source request;
  struct ss_run_options options;
  enum ss_format format;
  const char *output; /* NULL: standard output */
  const char **operand;
  size_t operands;
  bool help, quiet;
};

/* Specs to put into a command's table, behind its own. */
#define SS_COMMON_OPTIONS                                                                                            \
  {"trace", true}, {"scheme", true}, {"cluster", true}, {"ranks", true}, {"bandwidth", true}, {"latency", true},     \
      {"iterations", true}, {"merge", true}, {"device", true}, {"set", true}, {"no-verify", false},                  \
      {"format", true}, {"o", true}, {"jobs", true}, {"quiet", false}, {"per-rank", false},                          \
      {"per-iteration", false}, {"help", false}, {                                                                   \
    .name = NULL                                                                                                     \
  }

/* What the help of several commands says: of the scenario; of that and of the output. */
extern const char ss_scenario_help[], ss_output_help[];

/* Parses `argv` against `specs`; options that are not common go to `own` (may be NULL). `call` is to be freed, and
 * empty after a failure. */
bool ss_call_parse(int argc, char **argv, const struct ss_option_spec *specs,
                   bool (*own)(void *context, const char *name, const char *value, struct ss_error *error),
                   void *context, struct ss_call *call, struct ss_error *error) SS_MUST_CHECK;
/* The same, of a command whose one operand, if there is one, is the scenario. */
bool ss_call_parse_scenario(int argc, char **argv, const struct ss_option_spec *specs,
                            bool (*own)(void *context, const char *name, const char *value, struct ss_error *error),
                            void *context, struct ss_call *call, struct ss_error *error) SS_MUST_CHECK;
void ss_call_free(struct ss_call *call);
/* Prints texts, of which NULL is the last, to standard output. */
bool ss_help_print(const char *const *texts, struct ss_error *error) SS_MUST_CHECK;

bool ss_format_parse(const char *text, enum ss_format *out, struct ss_error *error) SS_MUST_CHECK;

#endif
