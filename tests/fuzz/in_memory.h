/* Inputs of fuzz targets as files that lie nowhere. */
#pragma once

#include "base/file.h"
#include "trace/make/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Imports what a request's object says; `refused` judges its error. */
static inline void import_as(const char *object, void (*refused)(const struct ss_error *error)) {
  struct ss_doc *doc;
  struct ss_error error = {0};
  if (!ss_doc_parse("fuzz", object, strlen(object), &doc, &error)) abort();
  if (!ss_import(ss_doc_root(doc), "/dev/null", NULL, &error)) refused(&error);
  ss_doc_free(doc);
}
/* SPDX-License-Identifier: Apache-2.0 */
