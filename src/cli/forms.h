/* Closed forms from the command line: the options that say what they are evaluated with, shared by the commands that
 * have no trace. */
#ifndef SS_CLI_FORMS_H
#define SS_CLI_FORMS_H

#include "cli/request.h"
#include "cost/forms.h"

enum ss_gamma_kind { SS_GAMMA_RANDOM, SS_GAMMA_FULL, SS_GAMMA_NONE, SS_GAMMA_LIST };
enum { SS_GAMMAS_MAX = 4096, SS_FORM_FILES_MAX = 64 };

struct ss_forms_call {
  double bytes, density, lookups;                                         /* lookups NaN: as density */
  uint64_t row_width, value_bytes, index_bytes, servers, k, teams, block; /* the last four 0: not said */
  bool index_bytes_said;
  enum ss_gamma_kind kind;
  double gamma[SS_GAMMAS_MAX];
  size_t gammas;
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
/* The densification ratio that the call supposes. */
double ss_forms_gamma(const struct ss_forms_call *c, double k);

/* What one form is evaluated with; not to be moved, as the symbols point into it. */
struct ss_forms_place {
  const struct ss_forms_call *call;
  struct ss_symbols symbols;
};
void ss_forms_place(const struct ss_forms_call *c, const struct ss_setting *setting, const struct ss_cluster *cluster,
                    uint32_t ranks, struct ss_forms_place *out);

#endif
