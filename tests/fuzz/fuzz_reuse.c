/* Histograms of reuse: what is read is a histogram, and what is drawn by it are rows of the table. */
#include "trace/make/reuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const struct ss_reuse *reuse, uint64_t rows) {
  struct ss_reuse_law law;
  struct ss_error error = {0};
  if (!ss_reuse_fit(reuse, 1000, rows, &law, &error)) {
    if (error.status != SS_BAD_INPUT) abort();
    return;
  }
  for (uint64_t key = 0; key < 20; key++)
    if (ss_reuse_draw(&law, key) >= rows) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct ss_reuse reuse;
  struct ss_error error = {0};
  double sum = 0;
  if (!ss_reuse_parse("fuzz", (const char *)data, size, &reuse, &error)) {
    if (error.status != SS_BAD_INPUT || strchr(error.text, '\n')) abort();
    return 0;
  }
  for (size_t i = 0; i < reuse.bins; i++) sum += reuse.bin[i].share;
  if (reuse.bins < 1 || reuse.bins > SS_REUSE_BINS_MAX || fabs(sum - 1) > 1e-9) abort();
  draw(&reuse, 1 + size % 3000);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
