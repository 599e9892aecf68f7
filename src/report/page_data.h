/* What a page's script reads: the times of its tables, as numbers, in one block of JSON. */
#pragma once

#include "report/page.h"

/* Writes {"factors", "labels": [{name, style}], "cells": [{name, tensor, places, latency_s, bandwidth, rows}]} for
 * the first `cells` tables of the page, between <script type="application/json" id="data"> and </script>; style 0:
 * not in the figure, whose series are `drawn`, an array of labels. A row is {label, times, low, high, fits}:
 * times[l][b] in s where latencies are factors[l] and bandwidths factors[b] times as large; one number where nothing
 * else was played; low and high are its range, if it has one. Of all tensors together one is "own" where the plan
 * gives each its own: no scheme, and none of the table's rows. What HTML could take for its own is escaped. */
bool ss_page_data_print(const struct ss_page *page, size_t cells, const struct cJSON *drawn, FILE *stream,
                        struct ss_error *error) SS_MUST_CHECK;

/* Is the plan's row one of all tensors, each with its own? */
bool ss_page_own(const struct cJSON *row);
/* SPDX-License-Identifier: Apache-2.0 */
