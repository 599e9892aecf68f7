/* The .safetensors container: 8 bytes of header length (little-endian), a JSON header that gives each entry's dtype,
 * shape and place, then the data. Knows nothing of what a trace is. */
#ifndef SS_TRACE_FILE_SAFETENSORS_H
#define SS_TRACE_FILE_SAFETENSORS_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Header lengths beyond this are refused before anything is parsed. */
#define SAFETENSORS_HEADER_MAX (UINT64_C(4) << 20)

enum safetensors_kind { KIND_I64, KIND_I32, KIND_U32, KIND_F32, KIND_F16, KIND_BF16, KINDS };
/* "I64", ..., NULL-terminated, in the enum's order. */
extern const char *const safetensors_kinds[KINDS + 1];
uint32_t safetensors_kind_bytes(enum safetensors_kind kind);

struct safetensors_entry {
  const char *name;
  struct ss_node node; /* for messages */
  enum safetensors_kind kind;
  uint64_t count;      /* elements, in one dimension */
  uint64_t begin, end; /* bytes within the data */
  bool claimed;        /* the reader's mark: belongs to a tensor */
};

struct safetensors {
  struct ss_doc *doc;
  struct ss_node metadata; /* absent when the header has none */
  const unsigned char *data;
  uint64_t size;
  struct safetensors_entry *entry; /* sorted by name */
  size_t entries;
};

/* Parses the header of a whole file held in memory and checks that the entries are well-formed and cover the data
 * once, without overlaps or holes. `bytes` must outlive the result, which safetensors_free empties. */
bool safetensors_parse(const char *name, const unsigned char *bytes, size_t size, struct safetensors *out,
                       struct ss_error *error) SS_MUST_CHECK;
void safetensors_free(struct safetensors *file);
/* NULL when there is none. */
struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name);

#endif
