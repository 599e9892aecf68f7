#include "library/request.h"
#include "report/tables.h"

bool ss_answer_print_json(const void *answer, FILE *stream, struct ss_error *error) {
  struct ss_answer *a = (struct ss_answer *)answer; /* which keeps the text */
  const char *text = ss_answer_json(a);
  if (!text) return ss_fail_memory(error, "writing JSON");
  (void)fprintf(stream, "%s\n", text);
  return true;
}

bool ss_answer_print_csv(const void *answer, FILE *stream, struct ss_error *error) {
  return ss_flat_csv(ss_answer_list(answer), stream, error);
}
