/* How long the tensor kernels take on this CPU, all threads together: for device files (net/device.h).
 *
 * Inputs are made up: `rows` rows of one element, of which each operand lists a share. Before each call twice the
 * cache is written over, so that a kernel finds nothing of its input there. */
#ifndef SS_EXEC_TIME_KERNELS_H
#define SS_EXEC_TIME_KERNELS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SS_TIMED_KERNELS = 10, SS_TIMED_REPEATS_MAX = 101 };

/* The least a kernel has to read and write: what `merge_sum` and `dense_add` are charged for, and alike. */
struct ss_timed {
  double bytes;
  double seconds; /* median */
};

struct ss_timing {
  uint64_t rows;
  double density; /* (0, 1] */
  uint32_t repeats;
  uint64_t cache; /* B */
};

const char *ss_timed_name(size_t kernel);
/* All kernels on one input, after one call each that does not count. */
bool ss_time_kernels(const struct ss_timing *timing, struct ss_timed out[SS_TIMED_KERNELS],
                     struct ss_error *error) SS_MUST_CHECK;

#endif
