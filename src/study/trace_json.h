/* What a trace holds and what was measured on it, as the trees that `trace info` and `trace stats` print. */
#pragma once

#include "study/captured.h"
#include "trace/measure/stats.h"

/* The trees are the caller's, NULL when memory is short. `captured`: without `doc` the trace is no capture. */
struct cJSON *ss_trace_info_json(const struct ss_trace *trace, const struct ss_captured *captured);
struct cJSON *ss_trace_stats_json(const struct ss_trace *trace, const struct ss_stats *stats);

/* "xxh64:0123456789abcdef" */
const char *ss_trace_hash_text(const struct ss_trace *trace, char *buffer, size_t size);
/* SPDX-License-Identifier: Apache-2.0 */
