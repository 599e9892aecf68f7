/* Up to which density does sending rows alone pay? By closed forms, on links of 25 Gbit/s and of 100. */
#include <sparsync.h>
#include <stdio.h>

static const char question[] = "{\"a\": \"allgather\", \"b\": \"allreduce\", \"over\": \"density\", \"M\": \"856MB\","
                               " \"row_width\": 64, \"ranks\": 16, \"gamma\": \"random\"}";

static bool tell(struct ss_request *request, const char *bandwidth, struct ss_error *error) {
  struct ss_answer *answer = NULL;
  if (!ss_request_set(request, "bandwidth", bandwidth, error) || !ss_request_crossover(request, &answer, error))
    return false;
  for (size_t i = 0; i < ss_answer_rows(answer); i++)
    printf("%s: from %.4g%% to %.4g%%: %s\n", bandwidth, 100 * ss_answer_number(answer, i, "from"),
           100 * ss_answer_number(answer, i, "to"), ss_answer_text(answer, i, "winner"));
  ss_answer_free(answer);
  return true;
}

int main(void) {
  struct ss_error error;
  struct ss_request *request = ss_request_new();
  const bool good = ss_request_parse(request, question, &error) && tell(request, "25Gbps", &error) &&
                    tell(request, "100Gbps", &error);
  if (!good) fprintf(stderr, "%s\n", error.text);
  ss_request_free(request);
  return good ? 0 : error.status;
}
/* SPDX-License-Identifier: Apache-2.0 */
