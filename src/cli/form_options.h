/* Closed forms from the command line: the options that say what they are evaluated with, shared by the commands that
 * have no trace. */
#ifndef SS_CLI_FORM_OPTIONS_H
#define SS_CLI_FORM_OPTIONS_H

#include "cli/command.h"
#include "cost/suppose.h"

enum { SS_FORM_FILES_MAX = 64 };

struct ss_forms_call {
  struct ss_supposition with;
  const char *file[SS_FORM_FILES_MAX];
  size_t files;
};

/* What a call says about closed forms, after what every call says: the head of the arguments of such commands. */
struct ss_forms_arguments {
  struct ss_call call;
  struct ss_forms_call forms;
};
#define SS_FORMS_DEFAULTS                                                                                            \
  { .with = SS_SUPPOSITION_DEFAULTS }

bool ss_forms_read_gamma(void *arguments, const char *value, struct ss_error *error) SS_MUST_CHECK;
bool ss_forms_add_file(void *arguments, const char *value, struct ss_error *error) SS_MUST_CHECK;

#define SS_FORMS_COUNT(member, low, high)                                                                            \
  SS_COUNT(struct ss_forms_arguments, forms.with.member, low, high), .value = "N"
#define SS_FORMS_SHARE(member)                                                                                       \
  SS_QUANTITY(struct ss_forms_arguments, forms.with.member, SS_RATIO, SS_ABOVE_ZERO, INFINITY), .value = "SHARE"

/* Options of closed forms, and of them alone where tensors may also be simulated. */
#define SS_FORMS_OPTIONS(ranks_help)                                                                                 \
  {"--M", SS_QUANTITY(struct ss_forms_arguments, forms.with.bytes, SS_BYTES, SS_ABOVE_ZERO, INFINITY),               \
   .value = "SIZE", .help = "bytes of the dense tensor"},                                                            \
      {"--density", SS_FORMS_SHARE(density), .help = "share of non-zero rows on a rank"},                            \
      {"--row-width", SS_FORMS_COUNT(row_width, 1, UINT32_MAX), .help = "elements a row (1)"},                       \
      {"--value-bytes", SS_FORMS_COUNT(value_bytes, 1, 16), .help = "bytes an element (4)"},                         \
      {"--index-bytes", SS_FORMS_COUNT(index_bytes, 0, 16), .help = "bytes an index (4)"},                           \
      {"--ranks", SS_TEXT(struct ss_call, request.ranks), .value = "4,8|4..64", .help = (ranks_help)},               \
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

#endif
