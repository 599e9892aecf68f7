/* Closed forms from the command line: the options that say what they are evaluated with, shared by the commands that
 * have no trace. */
#ifndef SS_CLI_FORMS_H
#define SS_CLI_FORMS_H

#include "cli/command.h"
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

/* What a call says about closed forms, after what every call says: the head of the arguments of such commands. */
struct ss_forms_arguments {
  struct ss_call call;
  struct ss_forms_call forms;
};
#define SS_FORMS_DEFAULTS                                                                                            \
  { .lookups = NAN, .row_width = 1, .value_bytes = 4, .index_bytes = 4 }

bool ss_forms_read_gamma(void *arguments, const char *value, struct ss_error *error) SS_MUST_CHECK;
bool ss_forms_read_index_bytes(void *arguments, const char *value, struct ss_error *error) SS_MUST_CHECK;
bool ss_forms_add_file(void *arguments, const char *value, struct ss_error *error) SS_MUST_CHECK;

#define SS_FORMS_COUNT(member, low, high) SS_COUNT(struct ss_forms_arguments, forms.member, low, high), .value = "N"
#define SS_FORMS_SHARE(member)                                                                                       \
  SS_QUANTITY(struct ss_forms_arguments, forms.member, SS_RATIO, SS_ABOVE_ZERO, INFINITY), .value = "SHARE"

/* Options of closed forms, and of them alone where tensors may also be simulated. */
#define SS_FORMS_OPTIONS(ranks_help)                                                                                 \
  {"--M", SS_QUANTITY(struct ss_forms_arguments, forms.bytes, SS_BYTES, SS_ABOVE_ZERO, INFINITY), .value = "SIZE",   \
   .help = "bytes of the dense tensor"},                                                                             \
      {"--density", SS_FORMS_SHARE(density), .help = "share of non-zero rows on a rank"},                            \
      {"--row-width", SS_FORMS_COUNT(row_width, 1, UINT32_MAX), .help = "elements a row (1)"},                       \
      {"--value-bytes", SS_FORMS_COUNT(value_bytes, 1, 16), .help = "bytes an element (4)"},                         \
      {"--index-bytes", SS_OTHER(ss_forms_read_index_bytes), .value = "N", .help = "bytes an index (4)"},            \
      {"--ranks", SS_TEXT(struct ss_call, request.ranks), .value = "4,8|4..64", .help = ranks_help},                 \
      {"--gamma", SS_OTHER(ss_forms_read_gamma), .value = "random|full|none|LIST",                                   \
       .help =                                                                                                       \
           "densification ratio: random (default, (1-(1-d)^k)/d), full, none, or a list gamma(1),gamma(2),... of "   \
           "which the last goes on"},                                                                                \
      SS_OPTION_CLUSTER(" (p3.16xlarge-25g)")
#define SS_FORMS_ONLY_OPTIONS                                                                                        \
  {"--lookups", SS_FORMS_SHARE(lookups), .help = "rows looked up / rows, duplicates counted (as the density)"},      \
      {"--servers", SS_FORMS_COUNT(servers, 1, 1u << 20), .help = "parameter servers (nodes)"},                      \
      {"--k", SS_FORMS_COUNT(k, 1, UINT32_MAX),                                                                      \
       .help = "entries that a rank selects (what the density makes of all elements)"},                              \
      {"--teams", SS_FORMS_COUNT(teams, 1, 1u << 20), .help = "SparDL's teams (1)"},                                 \
      {"--block", SS_FORMS_COUNT(block, 1, 1u << 20), .help = "elements of a block (256)"}, {                        \
    "--file", SS_OTHER(ss_forms_add_file), .value = "FILE", .help = "a form of your own (repeatable)"                \
  }

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
