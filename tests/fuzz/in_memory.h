/* Inputs of fuzz targets as files that lie nowhere. */
#pragma once

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The descriptor, to be closed; its path goes to `path`. */
static inline int in_memory(const void *text, size_t size, char *path, size_t capacity) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  if (file < 0 || write(file, text, size) != (ssize_t)size) abort();
  snprintf(path, capacity, "/proc/self/fd/%d", file);
  return file;
}

/* Closes it, and forgets that it was read: millions come by. */
static inline void put_away(int file, const char *path) {
  ss_input_release(path);
  close(file);
}
