/* Closed forms from the command line: the options that say what they are evaluated with, shared by the commands that
 * have no trace. */
#ifndef SS_CLI_FORMS_H
#define SS_CLI_FORMS_H

#include "cli/request.h"
#include "cost/suppose.h"

enum { SS_FORM_FILES_MAX = 64 };

struct ss_forms_call {
  struct ss_supposition with;
  const char *file[SS_FORM_FILES_MAX];
  size_t files;
};

/* Specs to put into a command's table, behind its own. */
#define SS_FORMS_OPTIONS                                                                                             \
  {"M", true}, {"density", true}, {"row-width", true}, {"value-bytes", true}, {"lookups", true},                     \
      {"index-bytes", true}, {"servers", true}, {"gamma", true}, {"file", true}, {"ranks", true}, {"k", true},       \
      {"teams", true}, {"block", true}, {"cluster", true}, {"latency", true}, {"bandwidth", true}, {"format", true}, \
      {"o", true}, {"help", false}, {                                                                                \
    .name = NULL                                                                                                     \
  }

/* NULL: memory is short. To be freed with free(). */
struct ss_forms_call *ss_forms_new(void);
/* One of the options above that are not common to all commands. */
bool ss_forms_option(struct ss_forms_call *c, const char *name, const char *value,
                     struct ss_error *error) SS_MUST_CHECK;
/* The cluster that the call names (p3.16xlarge-25g), with its --latency and --bandwidth. */
bool ss_forms_cluster(const struct ss_call *call, struct ss_cluster *cluster, struct ss_error *error) SS_MUST_CHECK;

#endif
