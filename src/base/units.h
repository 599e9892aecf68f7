/* Quantities: SI base units inside (B, s, B/s), strings with units outside.
 *
 *   "25Gbps", "3.125GB/s"   rates       k M G T are 1000-based, Ki Mi Gi Ti 1024-based; "bps" is bits
 *   "10us", "1.5ms"         times       ns us ms s min h
 *   "128MiB", "856MB"       sizes       B kB KB MB GB TB KiB MiB GiB TiB
 *   "1.13%", "1/32", "0.5"  ratios      the result must be finite
 *   "12"                    counts      whole numbers of at least 0
 *
 * Spaces may stand between number and unit. */
#pragma once

#include "base/base.h"

enum ss_dimension { SS_NUMBER, SS_RATIO, SS_TIME, SS_BYTES, SS_RATE };

/* What a good value of the dimension looks like: `a rate (say "25Gbps" or "3.1GB/s")`. */
const char *ss_dimension_wanted(enum ss_dimension dimension);

/* Parses the whole of `text`. The sign may be negative: ranges are the caller's to check. On failure the error
 * reads `"25 Gb/z" is not a rate (say ...)`. NaN, infinities, hex and empty text are refused. A plain number
 * without a unit is in base units. */
bool ss_units_parse(const char *text, enum ss_dimension dimension, double *out, struct ss_error *error) SS_MUST_CHECK;

/* The same of what a person says: a time, size or rate that is a plain number, of which nobody can tell the
 * unit, is an error too, unless it is 0. */
bool ss_units_said(const char *text, enum ss_dimension dimension, double *out, struct ss_error *error) SS_MUST_CHECK;

/* Parses a whole number in [low, high]; no sign, no spaces, no unit. `what` names it in the error. */
bool ss_count_parse(const char *text, const char *what, uint64_t low, uint64_t high, uint64_t *out,
                    struct ss_error *error) SS_MUST_CHECK;

/* A time that was computed. One that is not a number, below 0 or above SS_SECONDS_MOST is an error: some size, rate
 * or latency is absurd, and sums and ratios of such times would be infinite, and equal. */
#define SS_SECONDS_MOST 1e30
bool ss_seconds_check(double seconds, struct ss_error *error) SS_MUST_CHECK;

/* A share for "%.6g%%": per cent, rounded to tenths. */
double ss_percent(double share);

/* For tables: three significant digits and the unit that fits, "12.3 ms", "81.2 kB", "25 Gbit/s"; writes at most
 * `size` bytes and returns `buffer`. */
const char *ss_units_format(char *buffer, size_t size, enum ss_dimension dimension, double value);
/* The same in a buffer that lasts as long as the block around it: for an argument of printf. */
#define ss_shown(dimension, value) ss_units_format((char[32]){""}, 32, (dimension), (value))
/* SPDX-License-Identifier: Apache-2.0 */
