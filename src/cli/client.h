/* Commands that are clients of the library, as any program is: an option is a field of a request ("--row-width" is
 * "row_width"), which the library reads and judges; its answer is printed. */
#ifndef SS_CLI_CLIENT_H
#define SS_CLI_CLIENT_H

#include "base/json.h"
#include "cli/command.h"
#include "library/sparsync.h"

/* The head of such a command's arguments. */
struct ss_client_arguments {
  struct ss_call call;
  struct ss_said *said;
  size_t fields;
};

/* An option that is a field: {"--row-width", SS_FIELD, .value = "N", .help = ...}. Without a value it is true. One
 * that collects texts and names its field is a list: {"--file", SS_TEXTS(...), .field = "files"}. */
#define SS_FIELD SS_SAID(struct ss_client_arguments, said, fields)

/* The document of a request: the options that are fields, and `more`, fields that no option is, which goes into it,
 * or is freed; NULL: memory is short. */
bool ss_client_document(const struct ss_option_spec *options, const struct ss_client_arguments *arguments,
                        struct cJSON *more, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;
/* An error of a field becomes one of its option. */
void ss_client_name_options(const struct ss_option_spec *options, struct ss_error *error);

/* What is done with the request once it has all fields. */
typedef bool ss_client_asking(struct ss_request *request, void *context, struct ss_error *error);

/* Asks with the options that are fields, and `more`: fields that no option is, which are freed; NULL: memory is
 * short. Messages name the options instead of fields. */
bool ss_client_ask(const struct ss_option_spec *options, const struct ss_client_arguments *arguments,
                   struct cJSON *more, ss_client_asking *asking, void *context, struct ss_error *error) SS_MUST_CHECK;

/* A command whose answer is printed. */
struct ss_client {
  const struct ss_option_spec *options;
  bool (*ask)(struct ss_request *request, struct ss_answer **out, struct ss_error *error);
  ss_printer *table, *csv; /* of a struct ss_answer */
};

/* Asks as above, and writes the answer to where the call says. */
bool ss_client_run(const struct ss_client *client, const struct ss_client_arguments *arguments, struct cJSON *more,
                   struct ss_error *error) SS_MUST_CHECK;

/* --- options of several clients, to stand in their tables ----------------------------------------------------- */

/* Options of closed forms, and of them alone where tensors may also be simulated. */
#define SS_FORMS_OPTIONS(ranks_help)                                                                                 \
  {"--M", SS_FIELD, .value = "SIZE", .help = "bytes of the dense tensor"},                                           \
      {"--density", SS_FIELD, .value = "SHARE", .help = "share of non-zero rows on a rank"},                         \
      {"--row-width", SS_FIELD, .value = "N", .help = "elements a row (1)"},                                         \
      {"--value-bytes", SS_FIELD, .value = "N", .help = "bytes an element (4)"},                                     \
      {"--index-bytes", SS_FIELD, .value = "N", .help = "bytes an index (4)"},                                       \
      {"--ranks", SS_FIELD, .value = "4,8|4..64", .help = (ranks_help)},                                             \
      {"--gamma", SS_FIELD, .value = "random|full|none|LIST",                                                        \
       .help =                                                                                                       \
           "densification ratio: random (default, (1-(1-d)^k)/d), full, none, or a list gamma(1),gamma(2),... of "   \
           "which the last goes on"},                                                                                \
      {"--cluster", SS_FIELD, .value = "NAME", .help = "a file of models/clusters, or a path (p3.16xlarge-25g)"},    \
      {"--bandwidth", SS_FIELD, .value = "RATE", .help = "of the cluster"}, {                                        \
    "--latency", SS_FIELD, .value = "TIME", .help = "of the cluster"                                                 \
  }
#define SS_FORMS_ONLY_OPTIONS                                                                                        \
  {"--lookups", SS_FIELD, .value = "SHARE", .help = "rows looked up / rows, duplicates counted (as the density)"},   \
      {"--servers", SS_FIELD, .value = "N", .help = "parameter servers (nodes)"},                                    \
      {"--k", SS_FIELD, .value = "N",                                                                                \
       .help = "entries that a rank selects (what the density makes of all elements)"},                              \
      {"--teams", SS_FIELD, .value = "N", .help = "SparDL's teams (1)"},                                             \
      {"--file", SS_TEXTS(struct ss_forms_arguments, file, files), .value = "FILE", .field = "files",                \
       .help = "a form of your own (repeatable)"},                                                                   \
  {                                                                                                                  \
    "--block", SS_FIELD, .value = "N", .help = "elements of a block (256)"                                           \
  }

struct ss_forms_arguments {
  struct ss_client_arguments head;
  const char **file;
  size_t files;
};

#endif
