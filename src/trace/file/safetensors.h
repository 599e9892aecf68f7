/* The .safetensors container: 8 bytes of header length (little-endian), a JSON header that gives each entry's dtype,
 * shape and offsets, then the data. Knows nothing of what a trace is. */
#pragma once

#include "base/json.h"

/* Header lengths beyond this are refused before anything is parsed. */
#define SS_SAFETENSORS_HEADER_MAX (UINT64_C(4) << 20)

/* Those of values are last, in the order of enum ss_dtype. */
enum ss_safetensors_kind { SS_KIND_I64, SS_KIND_I32, SS_KIND_U32, SS_KIND_F32, SS_KIND_F16, SS_KIND_BF16, SS_KINDS };
/* "I64", ..., NULL-terminated, in the enum's order. */
extern const char *const ss_safetensors_kinds[SS_KINDS + 1];
uint32_t ss_safetensors_kind_bytes(enum ss_safetensors_kind kind);

struct ss_safetensors_entry {
  const char *name;
  struct ss_node node; /* for messages */
  enum ss_safetensors_kind kind;
  uint64_t count;      /* elements, in one dimension */
  uint64_t begin, end; /* bytes within the data */
  bool claimed;        /* the reader's mark: belongs to a tensor */
};

struct ss_safetensors {
  struct ss_doc *doc;
  struct ss_node metadata; /* absent when the header has none */
  const unsigned char *data;
  uint64_t size;
  struct ss_safetensors_entry *entry; /* sorted by name */
  size_t entries;
};

/* Parses the header of a whole file held in memory and checks that the entries are well-formed and cover the data
 * once, without overlaps or holes. `bytes` must outlive the result, which ss_safetensors_free empties. */
bool ss_safetensors_parse(const char *name, const unsigned char *bytes, size_t size, struct ss_safetensors *out,
                          struct ss_error *error) SS_MUST_CHECK;
void ss_safetensors_free(struct ss_safetensors *file);
/* NULL when there is none. */
struct ss_safetensors_entry *ss_safetensors_find(const struct ss_safetensors *file, const char *name);
/* SPDX-License-Identifier: Apache-2.0 */
