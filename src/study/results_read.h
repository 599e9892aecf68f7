/* Points read back from what was written of them. */
#ifndef SS_STUDY_RESULTS_READ_H
#define SS_STUDY_RESULTS_READ_H

#include "base/json.h"
#include "study/results.h"

/* The result file of a run, JSON or CSV, as a document whose "points" are objects as in JSON (of CSV, without options
 * and place of the sweep). The document is the caller's. */
bool ss_results_read(const char *path, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;

/* The point's hash, of a point that has one: "*" has none, nor has a file of an older program. */
bool ss_result_read_hash(struct ss_node node, uint64_t hash[2]);

/* Does the node say the same of all that needs no computing: label, ranks, tensor and the texts of its formulas? */
bool ss_result_alike(struct ss_node node, const struct ss_result *point);

/* Fills in the values; `arrays`: those too, where the node has them. What is amiss is an error that names file and
 * field, and the point is as it was. */
bool ss_result_read(struct ss_node node, bool per_rank, bool per_iteration, struct ss_result *point,
                    struct ss_error *error) SS_MUST_CHECK;

#endif
