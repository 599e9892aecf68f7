/* What the papers print against what the model gives, printed as a table, JSON, CSV, or the page docs/claims.md. */
#ifndef SS_REPORT_CLAIMS_TABLE_H
#define SS_REPORT_CLAIMS_TABLE_H

#include "claims/claims.h"
#include "report/flat.h"

/* Of a struct ss_claims. */
ss_printer ss_claims_table, ss_claims_json, ss_claims_csv, ss_claims_markdown;

#endif
