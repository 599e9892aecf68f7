/* Printed numbers that are foretold from others of the same testbed: a file's "fits" say what is inferred from which
 * table (query/calibrate_training_request.h), and the table's column `claim` which numbers a claim states. */
#pragma once

#include "claims/claims.h"

struct ss_claim_fits;

/* Each fit is made when it is first asked for, on `jobs` threads; warnings of clusters are
 * for who asks the same trainings. NULL: memory is short. */
struct ss_claim_fits *ss_claim_fits_new(unsigned jobs);
void ss_claim_fits_free(struct ss_claim_fits *fits);

/* What the claim's "predicted" asks: {"fit": NAME, "without": [ids]}: its numbers, and all that those claims and it
 * state, are left out of the fit, which then foretells them. Without "predicted", and of a claim whose printed
 * numbers are not all in the table, out->ends is 0. */
bool ss_claim_fits_predict(struct ss_claim_fits *fits, const struct ss_claim *claim, struct ss_claim_prediction *out,
                           struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
