/* Formulas: whatever text comes, the answer is a finite number or a message that names it, and the same one twice. */
#include "cost/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double gamma_of(const void *context, double k) {
  (void)context;
  return sqrt(k);
}

static const struct ss_symbols symbols = {.P = 6,
                                          .alpha = 1e-5,
                                          .beta = 1e-9,
                                          .M = 4096,
                                          .R = 64,
                                          .w = 16,
                                          .v = 4,
                                          .nnz = 8,
                                          .lookups = 12,
                                          .index_bytes = 4,
                                          .S = 2,
                                          .s_1 = 1.5,
                                          .s_P = 2,
                                          .gamma = gamma_of};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct ss_symbols before = symbols;
  struct ss_error error = {0};
  double first = NAN, second = NAN;
  if (size > 500) return -1; /* longer ones add time, not grammar */
  char *text = strndup((const char *)data, size);
  if (text == NULL) abort();
  const bool ok = ss_formula_evaluate(text, &symbols, &first, &error);
  if (ok && !isfinite(first)) abort();
  if (!ok && (error.status != SS_BAD_INPUT || strstr(error.text, "formula") == NULL)) abort();
  if (ss_formula_evaluate(text, &symbols, &second, NULL) != ok || (ok && memcmp(&first, &second, sizeof first) != 0))
    abort();
  if (memcmp(&before, &symbols, sizeof before) != 0) abort();
  free(text);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
