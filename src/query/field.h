/* Finding things in results: the records of a result, a record's fields by path, and whether a value is the one that
 * was asked for. Claims, figures and plots all name fields this way (docs/figures.md). */
#pragma once

#include "base/json.h"

/* The list of objects that a result is about: its "points", "training", "curves", "tensors", ...: the first of its
 * members that is one, or the result itself. NULL: it has none. */
const struct cJSON *ss_records(const struct cJSON *result);

/* The value at a path like "at.cluster.bandwidth" or "tensors.0.gamma.15": keys, which may hold dots themselves, and
 * indices in lists. NULL: there is none. */
const struct cJSON *ss_field_at(const struct cJSON *record, const char *path);
/* The same, and what stands in a record's "at" and "options" is found without saying so; a last word alone
 * ("bandwidth") finds what a sweep set. */
const struct cJSON *ss_field_find(const struct cJSON *record, const char *path);

/* Texts and flags are the same or not; numbers may differ by 1e-9, relative, and be asked for with a unit ("10Gbps").
 * Of a list, any of its values will do. */
bool ss_field_is(const struct cJSON *found, const struct cJSON *wanted);

/* Has the record that name? Results and curves name a scheme by its label, closed forms by their file, trainings the
 * system. */
bool ss_record_is_of(const struct cJSON *record, const char *name);
/* Are the fields at all paths of the object `at` what it says? Absent, it fits everywhere. */
bool ss_record_lies_at(const struct cJSON *record, struct ss_node at);
/* The nearest record of that name with the ranks, workload, tensor and cell of `record`, which is one of `records`;
 * NULL: there is none. */
const struct cJSON *ss_record_beside(const struct cJSON *records, const struct cJSON *record, const char *name);
/* SPDX-License-Identifier: Apache-2.0 */
