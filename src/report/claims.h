/* What the papers print against what the model gives: a claim is one printed value, ours, and a verdict with its
 * reason. Printed as a table, JSON, CSV, or the page docs/claims.md. */
#ifndef SS_REPORT_CLAIMS_H
#define SS_REPORT_CLAIMS_H

#include "base/error.h"

#include <stddef.h>
#include <stdio.h>

enum ss_claim_verdict {
  SS_CLAIM_REPRODUCED,
  SS_CLAIM_SAME_ORDER,     /* ranking and direction hold, the size differs */
  SS_CLAIM_NOT_REPRODUCED, /* they do not */
  SS_CLAIM_INCONSISTENT,   /* the paper contradicts itself: the reason shows the arithmetic */
  SS_CLAIM_INPUT,          /* our input was fitted to it */
  SS_CLAIM_DEPENDS,        /* the ranking turns when an estimated input is halved or doubled */
};
extern const char *const ss_claim_verdicts[]; /* by verdict, NULL-terminated */

/* One number: low = high. */
struct ss_claim_range {
  double low, high;
};

struct ss_claim_estimate {
  const char *input;             /* in words */
  double value, halved, doubled; /* of the input */
  bool factor;                   /* these multiply what the scenario has */
  struct ss_claim_range ours_halved, ours_doubled;
};

/* Texts are somebody else's, `why` is the claim's own. */
struct ss_claim {
  const char *title; /* of its paper */
  const char *id, *paper, *source, *kind /* "A", "B" */, *claim /* in words */, *unit /* or NULL */;
  const char *printed_text; /* NULL: `printed` */
  struct ss_claim_range printed, ours;
  bool ends;             /* `printed` is the least and the most of several: ours are to match both */
  const char *tolerance; /* as the file says; NULL: none, only ranking and direction count */
  enum ss_claim_verdict verdict, pinned;
  char *why;
  struct ss_claim_estimate *estimate;
  size_t estimates;
};

struct ss_claims {
  struct ss_claim *claim;
  size_t count;
};

void ss_claims_free(struct ss_claims *claims);

bool ss_claims_table(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_claims_json(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_claims_csv(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_claims_markdown(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
