/* Quantities and counts: whatever is taken is finite, and reads back from how it is shown. */
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const enum ss_dimension dimension = (enum ss_dimension)(data[0] % 5);
  char *text = malloc(size);
  if (text == NULL) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = '\0';

  struct ss_error error;
  double value, back;
  uint64_t count;
  if (ss_units_parse(text, dimension, &value, &error)) {
    char shown[40];
    if (!isfinite(value)) abort();
    ss_units_format(shown, sizeof shown, dimension, value);
    /* near the ends of the doubles' range the digits left out may decide between finite and not */
    const bool ordinary = fabs(value) < 1e300 && fabs(value) > 1e-290;
    if (ordinary && !ss_units_parse(shown, dimension, &back, &error)) abort();
    if (ordinary && fabs(back - value) > 0.00502 * fabs(value)) abort();
  }
  if (ss_count_parse(text, "count", 3, 1000, &count, &error) && (count < 3 || count > 1000)) abort();
  free(text);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
