/* A closed form of a collective that no scheme here plays, held against schedules from files and against measured
 * times: a file of `check` (docs/scenarios.md, "A form of your own"). */
#pragma once

#include "query/verdict.h"

extern const struct ss_object_spec ss_own_form_fields; /* of the file */

/* Has the document a "formula"? */
bool ss_own_form_is(struct ss_doc *doc);
/* Plays each schedule, and reads each measured time, and holds it against the formula: two verdicts at most. *points:
 * how many; the verdicts' results are a list of them. Files are looked for beside the document's, whose name is its
 * path. The verdicts are to be freed, also after a failure. */
bool ss_own_form_judge(struct ss_doc *doc, size_t *points, struct ss_verdicts *out,
                       struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
