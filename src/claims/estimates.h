/* Estimated inputs of a claim: those that its file lists, and those that are open wherever a model has them.
 *
 * Open are learning rates, numbers of hashes, and laws of rows and entries (exponents, hot sets, how alike ranks
 * are): no paper prints them for what is run here. Each is tried at half and at double in every class of claim,
 * unless the file lists it itself, or says in "given" why it is none: {INPUT: {PATH: reason}}. */
#pragma once

#include "claims/claims.h"
#include "query/cache.h"

enum { SS_CLAIM_CHANGES = 64, SS_CLAIM_PATH = 64 };

struct ss_tried_estimate {
  struct ss_claim_estimate of;
  const char *path;     /* where it stands; a "*" is any index of a list */
  struct ss_node names; /* in these inputs; absent: it is a value of "let", or `open` */
  bool open;            /* in every input that has `of.value` there */
  double value;         /* what it is taken to be */
};

struct ss_estimates {
  struct ss_tried_estimate estimate[SS_CLAIM_ESTIMATES];
  size_t count;
};

/* The estimates of the claim at `node`, each at its value; `open`: with those that are open in what it asks. */
bool ss_estimates_read(const struct ss_claims_file *file, struct ss_node node, bool open, struct ss_estimates *out,
                       struct ss_error *error) SS_MUST_CHECK;
/* Is all that the file's "given" names open in the input that it names? */
bool ss_estimates_check_given(const struct ss_claims_file *file, struct ss_error *error) SS_MUST_CHECK;

/* Numbers to be put into an input, and the paths that they name. */
struct ss_estimates_changes {
  struct ss_query_change change[SS_CLAIM_CHANGES];
  char path[SS_CLAIM_CHANGES][SS_CLAIM_PATH]; /* of those that no file spells out */
  size_t count;
};
/* What the estimates make of an input. */
void ss_estimates_change(const struct ss_estimates *estimates, struct ss_node input,
                         struct ss_estimates_changes *out);
/* What they make of a value of "let"; NULL: nothing. */
const double *ss_estimates_value(const struct ss_estimates *estimates, const char *name);

/* Does ours, or the ranking, hang on this value of the claim's "let"? What only the reason quotes is not tried. */
bool ss_estimates_touch(struct ss_node claim, struct ss_node value);
/* SPDX-License-Identifier: Apache-2.0 */
