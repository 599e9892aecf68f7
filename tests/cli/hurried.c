/* The program in a world in which half a second passes between any two looks at the clock: all that it does takes
 * long enough for a progress bar. */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int sparsync_main(int argc, char **argv);
#define main sparsync_main
#include "cli/main.c"
#undef main

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now) {
  static atomic_long looks;
  const int status = (int)syscall(SYS_clock_gettime, clock, now);
  if (status == 0 && clock == CLOCK_MONOTONIC) now->tv_sec += atomic_fetch_add(&looks, 1) / 2;
  return status;
}

int main(int argc, char **argv) {
  return sparsync_main(argc, argv);
}
/* SPDX-License-Identifier: Apache-2.0 */
