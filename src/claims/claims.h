/* Claims as files (scenarios/claims/PAPER.json; docs/schemas/claims-file.schema.json says what may stand there), and
 * their verdicts: requests are answered (query/cache.h), numbers picked from the answers, expressions evaluated. */
#pragma once

#include "base/fields.h"

struct ss_notice;
struct ss_watcher;

enum { SS_CLAIM_ESTIMATES = 24 };

/* A file, and what it says of an estimated input, and of a prediction. */
extern const struct ss_object_spec ss_claims_fields, ss_estimate_fields, ss_prediction_fields;

/* --- files ------------------------------------------------------------------------------------------------- */

struct ss_claims_file {
  struct ss_doc *doc;
  const char *paper, *title; /* in doc */
  struct ss_node inputs, estimates, given, fits, claims;
};

/* --- claims ------------------------------------------------------------------------------------------------- */

enum ss_claim_verdict {
  SS_CLAIM_REPRODUCED, /* by a model, whatever the estimated inputs */
  SS_CLAIM_FRAGILE,    /* reproduced, but not with every estimated input halved or doubled */
  SS_CLAIM_PREDICTED,  /* they do not, but what was inferred from other printed numbers of the testbed foretells it */
  SS_CLAIM_DIRECTION,  /* ranking and direction hold, the size differs */
  SS_CLAIM_NOT_REPRODUCED, /* they do not */
  SS_CLAIM_DEPENDS,        /* ranking or direction turns when an estimated input is halved or doubled */
  SS_CLAIM_INCONSISTENT,   /* the paper contradicts itself: the reason shows the arithmetic */
  SS_CLAIM_ARITHMETIC,     /* it holds, and no model was asked: printed numbers against printed numbers */
  SS_CLAIM_INPUT,          /* our input was fitted to it */
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

/* A number that others of the testbed foretell, and its range: 90% of such numbers lie within. */
struct ss_claim_foretold {
  double value, low, high;
};

/* What a fit to so many other printed numbers, by so many unknowns, foretells of a claim's one or two. */
struct ss_claim_prediction {
  struct ss_claim_foretold end[2];
  size_t ends; /* 0: nothing was foretold */
  size_t numbers, unknowns;
};

/* One printed value, ours, and a verdict with its reason. Texts are the file's, `why` and `estimate` its own. */
struct ss_claim {
  const struct ss_claims_file *file;
  struct ss_node node; /* where it stands there */
  const char *title;   /* of its paper */
  const char *id, *paper, *source, *kind /* "A", "B" */, *claim /* in words */, *unit /* or NULL */;
  const char *printed_text; /* NULL: `printed` */
  struct ss_claim_range printed, ours;
  bool ends;             /* `printed` is the least and the most of several: ours are to match both */
  const char *tolerance; /* as the file says; NULL: none, only ranking and direction count */
  const char *loose;     /* why nearly anything would pass; NULL: it would not */
  enum ss_claim_verdict verdict, pinned;
  double factor; /* by which ours misses what is printed, 1 or more; NaN: it does not, or there is no ratio */
  double margin; /* by which ours passes a bound that is printed on one side only, 1 or more; NaN: likewise */
  char *why;
  struct ss_claim_estimate *estimate;
  size_t estimates;
  struct ss_claim_prediction predicted;
  struct ss_claim_range over; /* ours over all that was tried of the estimates */
  const char **run;           /* [runs] names of the file's inputs that ours and the reason come from */
  size_t runs;
};

struct ss_claims {
  struct ss_claims_file *file; /* [files] what claims are read from */
  size_t files;
  struct ss_claim *claim;
  size_t count;
};
void ss_claims_free(struct ss_claims *claims);

/* All claims that the words name, in the order of the files: papers, claims, or files (a word with a '/' or at the
 * end
 * ".json", or "-"), which are read beside scenarios/claims, or, where all words are such, alone. Without words all of
 * scenarios/claims, which may be none. All is checked but what only a computation can tell. Two claims of one name
 * are an error, and so is a word that names none. Their `ours`, `why`, `verdict`, `factor`, `margin`, `run` and
 * `estimate` are still to come. To be freed, also after a failure. */
bool ss_claims_open(const char *const *words, size_t count, struct ss_claims *out,
                    struct ss_error *error) SS_MUST_CHECK;

/* --- verdicts ----------------------------------------------------------------------------------------------- */

/* Estimates whose path begins so are factors on what the scenario has. */
#define SS_CLAIM_FACTOR "scale."

/* Computes `ours`, `verdict`, `estimate`, `why` and the like of every claim, on `jobs` threads (0: one a core); what
 * claims share is computed once. `notice` is told the warnings of clusters, `watcher` how far it is (NULL: nobody).
 */
bool ss_claims_judge(struct ss_claims *claims, unsigned jobs, const struct ss_notice *notice,
                     const struct ss_watcher *watcher, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
