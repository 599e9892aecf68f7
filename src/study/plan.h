/* The cheapest scheme of each tensor in each cell, out of results that were computed. */
#pragma once

#include "study/ranges.h"
#include "study/study.h"

/* The tree that `plan --format json` prints, the caller's: a row a tensor and cell. Of all tensors together ("*")
 * there is one candidate more, each tensor with its own cheapest scheme: then "label" is null. Where the request asks
 * for turns and another scheme would be the cheapest with another window, its notice hears so. */
bool ss_study_plan(const struct ss_study *study, const struct ss_results *results, struct cJSON **out,
                   struct ss_error *error) SS_MUST_CHECK;

enum { SS_AT_TEXT_SIZE = 64 };
/* "10 Gbit/s": the value of a path that is swept, in `text` where it is no text itself. */
const char *ss_at_text(const struct cJSON *value, char text[SS_AT_TEXT_SIZE]);
/* " at cluster.bandwidth = 10 Gbit/s, index_bytes = 4" of a cell in a sweep, "" of none; without its `cluster` where
 * that is named besides. Returns `text`, which is cut to fit. */
const char *ss_at_words(const struct cJSON *at, bool cluster, char *text, size_t size);
/* SPDX-License-Identifier: Apache-2.0 */
