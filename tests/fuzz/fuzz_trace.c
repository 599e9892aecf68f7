/* The trace reader on hostile bytes. An input whose first byte is odd is a patch to a good small trace (to one with
 * bags if it is 5 mod 8), as (place, byte) pairs: plain bytes would hardly ever get past the JSON. */
#include "base/memory.h"
#include "trace/file/trace.h"
#include "trace/measure/stats.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char header[] =
    "{\"__metadata__\":{\"sparsync.version\":\"1\",\"iterations\":\"2\",\"ranks\":\"2\",\"source\":\"s\",\"pad_id\":"
    "\"0\","
    "\"tokens\":\"[1,2,3,4]\",\"gpus_per_node\":\"2\",\"dense\":\"[{\\\"name\\\":\\\"d\\\",\\\"bytes\\\":7}]\","
    "\"tensors\":\"[{\\\"name\\\":\\\"T\\\",\\\"rows\\\":50,\\\"row_width\\\":1,\\\"dtype\\\":\\\"F32\\\"}]\"},"
    "\"T.offsets\":{\"dtype\":\"I64\",\"shape\":[5],\"data_offsets\":[0,40]},"
    "\"T.rows\":{\"dtype\":\"I32\",\"shape\":[6],\"data_offsets\":[40,64]},"
    "\"T.values\":{\"dtype\":\"F16\",\"shape\":[6],\"data_offsets\":[64,76]}}";

/* The same with bags: 0, 2, 1 and 1 of them. */
static const char bagged[] =
    "{\"__metadata__\":{\"sparsync.version\":\"1\",\"iterations\":\"2\",\"ranks\":\"2\","
    "\"tensors\":\"[{\\\"name\\\":\\\"T\\\",\\\"rows\\\":50,\\\"row_width\\\":1,\\\"dtype\\\":\\\"F32\\\"}]\"},"
    "\"T.offsets\":{\"dtype\":\"I64\",\"shape\":[5],\"data_offsets\":[0,40]},"
    "\"T.rows\":{\"dtype\":\"I32\",\"shape\":[6],\"data_offsets\":[40,64]},"
    "\"T.bags\":{\"dtype\":\"I64\",\"shape\":[5],\"data_offsets\":[64,104]},"
    "\"T.bag_offsets\":{\"dtype\":\"I64\",\"shape\":[5],\"data_offsets\":[104,144]}}";

/* Every lookup of a segment is in one of its bags. */
static void use_bags(const struct ss_trace *trace, size_t i, uint64_t t, uint32_t r) {
  const uint64_t bags = ss_trace_bags(trace, i, t, r), *at = ss_trace_bag_offsets(trace, i, t, r);
  if (!at) return;
  for (uint64_t b = 0; b < bags; b++)
    if (at[b] > at[b + 1]) abort();
  if (at[bags] - at[0] != ss_trace_count(trace, i, t, r)) abort();
}

/* A walk over everything, and statistics where they are small. */
static void use(const struct ss_trace *trace) {
  for (size_t i = 0; i < ss_trace_tensors(trace); i++)
    for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
      for (uint32_t r = 0; r < ss_trace_ranks(trace); r++) {
        const uint64_t count = ss_trace_count(trace, i, t, r);
        uint32_t *rows = ss_alloc(count, sizeof *rows);
        if (!rows) abort();
        ss_trace_rows(trace, i, t, r, rows);
        for (uint64_t j = 0; j < count; j++)
          if (rows[j] >= ss_trace_tensor(trace, i)->rows) abort();
        free(rows);
        use_bags(trace, i, t, r);
        (void)ss_trace_tokens(trace, t, r);
      }
  struct ss_stats *stats = NULL;
  if (ss_trace_iterations(trace) * ss_trace_ranks(trace) > 64) return;
  if (ss_trace_stats(trace, (struct ss_stats_window){0}, &stats, NULL)) ss_stats_free(stats);
}

static void open_and_use(const uint8_t *data, size_t size) {
  struct ss_trace *trace;
  struct ss_error error;
  if (!ss_trace_open_memory("fuzz", data, size, &trace, &error)) return;
  use(trace);
  ss_trace_close(trace);
}

static void open_patched(const uint8_t *data, size_t size, bool bags) {
  static const int64_t offsets[5] = {0, 0, 3, 4, 6}, first[5] = {0, 0, 2, 3, 4}, bag_offsets[5] = {0, 3, 3, 4, 6};
  static const int32_t rows[6] = {3, 49, 3, 3, 0, 7};
  const uint64_t length = (bags ? sizeof bagged : sizeof header) - 1;
  const size_t whole = 8 + length + (bags ? 144 : 76);
  uint8_t *file = calloc(1, whole); /* of its exact size, for the sanitizer */
  if (!file) abort();
  memcpy(file, &length, 8);
  memcpy(file + 8, bags ? bagged : header, length);
  memcpy(file + 8 + length, offsets, sizeof offsets);
  memcpy(file + 8 + length + sizeof offsets, rows, sizeof rows);
  if (bags) memcpy(file + 8 + length + 64, first, sizeof first);
  if (bags) memcpy(file + 8 + length + 104, bag_offsets, sizeof bag_offsets);
  for (size_t i = 0; i + 2 < size; i += 3) file[(data[i] | (size_t)data[i + 1] << 8) % whole] = data[i + 2];
  open_and_use(file, whole);
  free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 0 && data[0] % 2 == 1) open_patched(data + 1, size - 1, data[0] % 8 == 5);
  else open_and_use(data, size);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
