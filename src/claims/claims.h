/* Claims as files (scenarios/claims/PAPER.json; docs/schemas/claims-file.schema.json says what may stand there), and
 * what it takes to judge one: the JSON of commands, values picked from it, expressions over those. */
#ifndef SS_CLAIMS_CLAIMS_H
#define SS_CLAIMS_CLAIMS_H

#include "base/json.h"
#include "cost/formula.h"
#include "report/claims.h"

/* --- files ------------------------------------------------------------------------------------------------- */

struct ss_claims_file {
  struct ss_doc *doc;
  const char *paper, *title; /* in doc */
  struct ss_node inputs, estimates, claims;
};

/* Reads and checks all but what only a computation can tell. */
bool ss_claims_read(const char *path, struct ss_claims_file *out, struct ss_error *error) SS_MUST_CHECK;
void ss_claims_close(struct ss_claims_file *file);

struct ss_claims_library {
  struct ss_claims_file *file;
  size_t count;
};
bool ss_claims_library_add(struct ss_claims_library *library, const char *path, struct ss_error *error) SS_MUST_CHECK;
/* Adds all of scenarios/claims, by name. */
bool ss_claims_library_shipped(struct ss_claims_library *library, struct ss_error *error) SS_MUST_CHECK;
void ss_claims_library_close(struct ss_claims_library *library);

/* What stands in the file of one claim; `ours`, `why` and `verdict` are still to come. */
bool ss_claim_read(const struct ss_claims_file *file, struct ss_node node, struct ss_claim *out,
                   struct ss_error *error) SS_MUST_CHECK;

/* --- inputs ------------------------------------------------------------------------------------------------- */

/* Estimates whose path begins so are factors on what the scenario has. */
#define SS_CLAIM_FACTOR "scale."

/* An estimate's place in an input, and what to put there. */
struct ss_claim_change {
  struct ss_node names; /* of the inputs that have it; absent: it is a value of "let" */
  const char *path;
  double value;
};

/* Documents by command: a command that several claims share runs once. */
struct ss_claims_cache {
  struct ss_claims_made {
    char *key;
    struct ss_doc *doc;
  } * made;
  size_t count;
  unsigned jobs; /* of the commands; 0: theirs to choose */
};
void ss_claims_cache_free(struct ss_claims_cache *cache);

/* What the input of that name gives with the changes made. The document stays the cache's. */
bool ss_claims_input(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node from,
                     const struct ss_claim_change *changes, size_t count, struct ss_doc **out,
                     struct ss_error *error) SS_MUST_CHECK;

/* --- values and verdicts ------------------------------------------------------------------------------------ */

struct ss_claim_values {
  struct ss_variable *value;
  size_t count, capacity;
};
void ss_claim_values_free(struct ss_claim_values *values);
bool ss_claim_values_add(struct ss_claim_values *values, const char *name, double value,
                         struct ss_error *error) SS_MUST_CHECK;
/* A number, or a text that is an expression over the values; the error names the place. */
bool ss_claim_expression(struct ss_node node, const struct ss_claim_values *values, double *out,
                         struct ss_error *error) SS_MUST_CHECK;
/* One object of "let": from a document's points by scheme, ranks and place, or by path. */
bool ss_claim_pick(struct ss_node pick, struct ss_node root, const struct ss_claim_values *values, double *out,
                   struct ss_error *error) SS_MUST_CHECK;

/* Computes `ours`, `verdict`, `estimate` and `why` of a claim that was read. */
bool ss_claim_judge(struct ss_claims_cache *cache, const struct ss_claims_file *file, struct ss_node node,
                    struct ss_claim *claim, struct ss_error *error) SS_MUST_CHECK;

#endif
