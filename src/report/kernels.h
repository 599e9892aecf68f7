/* What ranks compute beside what they send, by kernel. */
#ifndef SS_REPORT_KERNELS_H
#define SS_REPORT_KERNELS_H

#include "study/results.h"

struct ss_table;

/* A row for each scheme and kernel, of the rank or server that computes longest; the caller's. NULL when memory is
 * short. */
struct ss_table *ss_kernels_rows(const struct ss_result *points, size_t n);

#endif
