/* Whether a launcher such as mpirun started this process among others: read from the environment, so that nobody has
 * to start MPI to know. */
#pragma once

#include "base/base.h"

struct ss_launch {
  bool launched; /* by one of them */
  bool several;  /* there are others, or there may be: */
  uint32_t size; /* 0: the launcher does not say */
  uint32_t rank; /* 0 also when the launcher does not say */
  uint32_t here; /* of them on this machine, this one included; 1 also when the launcher does not say */
};

struct ss_launch ss_launch_read(void);
/* SPDX-License-Identifier: Apache-2.0 */
