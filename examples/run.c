/* The demo's points as a table: cc run.c $(pkg-config --cflags --libs sparsync) -o run && ./run [SCENARIO] */
#include <sparsync.h>
#include <stdio.h>

int main(int argc, char **argv) {
  struct ss_error error;
  struct ss_answer *answer = NULL;
  struct ss_request *request = ss_request_new();
  const bool good =
      ss_request_open(request, argc > 1 ? argv[1] : "demo", &error) && ss_request_run(request, &answer, &error);
  if (!good) fprintf(stderr, "%s\n", error.text);
  for (size_t i = 0; i < ss_answer_rows(answer); i++)
    printf("%-20s %-10s %6.0f %12.3f ms\n", ss_answer_text(answer, i, "cluster"), ss_answer_text(answer, i, "label"),
           ss_answer_number(answer, i, "ranks"), 1e3 * ss_answer_number(answer, i, "time_s"));
  ss_answer_free(answer);
  ss_request_free(request);
  return good ? 0 : error.status;
}
/* SPDX-License-Identifier: Apache-2.0 */
