/* What `exec` writes. */
#ifndef SS_CLI_EXEC_PRINT_H
#define SS_CLI_EXEC_PRINT_H

#include "cli/request.h"
#include "exec/exec.h"
#include "study/study.h"

/* What one job came to, over its iterations. */
struct ss_exec_point {
  const struct ss_job *job;
  uint64_t count;    /* iterations */
  double *measured;  /* [count] s, ascending in the end, as is: */
  double *announced; /* [count] s, of the runs in which ranks learn sizes */
  double predicted;  /* s, mean */
  uint32_t endpoints;
  struct ss_traffic *executed, *simulated;       /* [endpoints] B, over all iterations */
  struct ss_traffic executed_max, simulated_max; /* B, largest of the ranks' each iteration, over all iterations */
  uint64_t headers;
  bool exact, equal;
  char mismatch[160];
};

struct ss_exec_answer {
  const struct ss_exec_point *points; /* [count] */
  size_t count;
  const char *scenario;
  uint32_t ranks, repeats;
};

/* A table, or JSON (docs/schemas/exec.schema.json), to a file or standard output. */
bool ss_exec_print(const struct ss_exec_answer *answer, enum ss_format format, const char *output,
                   struct ss_error *error) SS_MUST_CHECK;

#endif
