/* What the papers print against what the model gives, printed as a table, JSON, CSV, or the page docs/claims.md. */
#ifndef SS_REPORT_CLAIMS_H
#define SS_REPORT_CLAIMS_H

#include "claims/claims.h"

#include <stdio.h>

bool ss_claims_table(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_claims_json(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_claims_csv(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
bool ss_claims_markdown(const struct ss_claims *claims, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
