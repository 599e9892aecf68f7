/* Which scheme suits the rows that four ranks of a program look up? As a DataLoader would give them: here, row i * i
 * of rank 0, and every rank reads the hot rows 0 to 99, too. */
#include <sparsync.h>
#include <stdio.h>

enum { RANKS = 4, LOOKUPS = 300, HOT = 100, ROWS = 100000 };

int main(void) {
  static int64_t ids[RANKS * LOOKUPS];
  uint64_t offsets[RANKS + 1] = {0};
  for (int r = 0; r < RANKS; r++) {
    for (int i = 0; i < LOOKUPS; i++) ids[r * LOOKUPS + i] = i < HOT ? i : (r + 1) * (int64_t)i * i % ROWS;
    offsets[r + 1] = offsets[r] + LOOKUPS;
  }
  const struct ss_tensor_ids table = {
      .name = "embedding", .rows = ROWS, .row_width = 64, .offsets = offsets, .ids = ids};
  struct ss_error error;
  struct ss_trace *trace = NULL;
  struct ss_answer *answer = NULL;
  struct ss_request *request = ss_request_new();
  const bool good = ss_trace_of_ids(1, RANKS, 1, &table, &trace, &error) &&
                    ss_request_lend_trace(request, "mine", trace, &error) &&
                    ss_request_set(request, "trace", "mine", &error) &&
                    ss_request_set(request, "cluster", "rtx3090-10gbe", &error) &&
                    ss_request_set(request, "schemes", "allreduce,allgather,sparcml-rd,zen", &error) &&
                    ss_request_run(request, &answer, &error);
  if (!good) fprintf(stderr, "%s\n", error.text);
  for (size_t i = 0; i < ss_answer_rows(answer); i++)
    printf("%-12s %10.6f s %10.0f bytes%s\n", ss_answer_text(answer, i, "label"),
           ss_answer_number(answer, i, "time_s"), ss_answer_number(answer, i, "bytes_total"),
           ss_answer_flag(answer, i, "lossless") ? "" : ", lossy");
  ss_answer_free(answer);
  ss_request_free(request);
  ss_trace_close(trace);
  return good ? 0 : error.status;
}
/* SPDX-License-Identifier: Apache-2.0 */
