/* What bounds a run, and how busy its links are, in words and as a table. */
#pragma once

#include "study/results.h"

/* "NIC of node 3, out 94%": what bounds the run, and the share of its time that it needs at the very least; "-" when
 * nothing was sent. Returns `text`. */
enum { SS_BOUND_TEXT_SIZE = SS_LINK_NAME_SIZE + 24 };
const char *ss_bound_text(const struct ss_result *result, char text[SS_BOUND_TEXT_SIZE]);
/* Adds to the "links" of a result's JSON, kind by kind, "kind", as it is shown, and "busy": "94% / 61%" of the
 * busiest and of the mean. */
void ss_links_add_words(struct cJSON *links);
/* SPDX-License-Identifier: Apache-2.0 */
