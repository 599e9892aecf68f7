/* Memory that a computation is about to take, held against what may be taken: before any of it is. */
#pragma once

#include "base/base.h"

/* a*b and a+b; UINT64_MAX where that does not fit: no machine has as much. */
uint64_t ss_estimate_mul(uint64_t a, uint64_t b);
uint64_t ss_estimate_add(uint64_t a, uint64_t b);

/* An error when `bytes`, what is needed at the least, are more than may be taken (base/memory.h). `less` says what
 * takes less: "fewer ranks take less"; `who` is printf's. */
bool ss_estimate_fits(uint64_t bytes, const char *less, struct ss_error *error, const char *who, ...)
    __attribute__((format(printf, 4, 5))) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
