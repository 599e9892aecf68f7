#include "base/estimate.h"

#include "base/units.h"

uint64_t ss_estimate_mul(uint64_t a, uint64_t b) {
  uint64_t product;
  return ss_mul_u64(a, b, &product) ? product : UINT64_MAX;
}

uint64_t ss_estimate_add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return ss_add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

bool ss_estimate_fits(uint64_t bytes, const char *less, struct ss_error *error, const char *who, ...) {
  const uint64_t allowed = ss_memory_allowed();
  char name[200];
  va_list arguments;
  if (bytes <= allowed) return true;
  va_start(arguments, who);
  (void)vsnprintf(name, sizeof name, who, arguments);
  va_end(arguments);
  return ss_fail(error, SS_MACHINE, "%s takes at least %s of memory, %s may be taken: %s; --memory says otherwise",
                 name, ss_shown(SS_BYTES, (double)bytes), ss_shown(SS_BYTES, (double)allowed), less);
}
/* SPDX-License-Identifier: Apache-2.0 */
