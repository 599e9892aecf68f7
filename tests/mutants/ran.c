/* Notes what runs: byte k of the file that has the program's name, in the folder $SPARSYNC_RAN, is 1 once the call
   that ends k bytes behind the program's first has been made. gcc's -fsanitize-coverage=trace-pc puts such a call
   before each basic block. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 24 };
extern const char __ehdr_start
    __attribute__((visibility("hidden"))); /* the linker's: a program's has another than a library's */
static unsigned char nowhere[SIZE];
static unsigned char *ran = nowhere;

__attribute__((constructor(101))) static void begin(void) {
  const char *folder = getenv("SPARSYNC_RAN");
  Dl_info info;
  char name[4096];
  if (!folder || !dladdr(&__ehdr_start, &info) || !info.dli_fname) return;
  const char *slash = strrchr(info.dli_fname, '/');
  if (snprintf(name, sizeof name, "%s/%s", folder, slash ? slash + 1 : info.dli_fname) >= (int)sizeof name) return;
  int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (ftruncate(file, SIZE) == 0) {
    void *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) ran = map;
  }
  close(file);
}

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
  uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__ehdr_start;
  if (at < SIZE && !ran[at]) ran[at] = 1; /* written once: processes and threads share the page */
}
/* SPDX-License-Identifier: Apache-2.0 */
