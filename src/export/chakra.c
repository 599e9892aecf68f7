#include "base/file.h"
#include "chakra.pb-c.h" /* written by protoc-c */
#include "export/format.h"
#include "study/study.h"

#include <unistd.h>

/* Readers take any text; this is what Chakra's own converter writes. */
static char version[] = "0.0.4";

enum { ATTRIBUTES = 5 };

/* Attributes of a node, or of a file. */
struct attributes {
  ChakraProtoMsg__AttributeProto one[ATTRIBUTES], *list[ATTRIBUTES];
  size_t count;
};

static ChakraProtoMsg__AttributeProto *add(struct attributes *a, const char *name) {
  ChakraProtoMsg__AttributeProto *one = &a->one[a->count];
  chakra_proto_msg__attribute_proto__init(one);
  one->name = (char *)(uintptr_t)name; /* packing only reads it */
  a->list[a->count++] = one;
  return one;
}

static void add_int32(struct attributes *a, const char *name, uint32_t value) {
  ChakraProtoMsg__AttributeProto *one = add(a, name);
  one->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT32_VAL;
  one->int32_val = (int32_t)value;
}

static void add_int64(struct attributes *a, const char *name, uint64_t value) {
  ChakraProtoMsg__AttributeProto *one = add(a, name);
  one->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_INT64_VAL;
  one->int64_val = (int64_t)value;
}

static void add_bool(struct attributes *a, const char *name, bool value) {
  ChakraProtoMsg__AttributeProto *one = add(a, name);
  one->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_BOOL_VAL;
  one->bool_val = value;
}

static void add_text(struct attributes *a, const char *name, const char *value) {
  ChakraProtoMsg__AttributeProto *one = add(a, name);
  one->value_case = CHAKRA_PROTO_MSG__ATTRIBUTE_PROTO__VALUE_STRING_VAL;
  one->string_val = (char *)(uintptr_t)value;
}

static size_t add_length(size_t length, uint8_t *out) {
  size_t count = 0;
  for (; length >= 0x80; length >>= 7) out[count++] = (uint8_t)(length | 0x80);
  out[count++] = (uint8_t)length;
  return count;
}

/* --- nodes -------------------------------------------------------------------------------------------------- */

static void describe(const struct ss_operation *o, ChakraProtoMsg__Node *node, struct attributes *a) {
  static char send[] = "send", receive[] = "receive", kernel[] = "kernel", wait[] = "wait";
  add_bool(a, "is_cpu_op", false);
  if (o->kind == SS_OPERATION_CALCULATE) {
    node->name = o->seconds > 0 ? kernel : wait;
    node->type = CHAKRA_PROTO_MSG__NODE_TYPE__COMP_NODE;
    return;
  }
  const bool sends = o->kind == SS_OPERATION_SEND;
  node->name = sends ? send : receive;
  node->type = sends ? CHAKRA_PROTO_MSG__NODE_TYPE__COMM_SEND_NODE : CHAKRA_PROTO_MSG__NODE_TYPE__COMM_RECV_NODE;
  add_int64(a, "comm_size", ss_operation_bytes(o));
  add_int32(a, "comm_src", sends ? o->endpoint : o->peer);
  add_int32(a, "comm_dst", sends ? o->peer : o->endpoint);
  add_int32(a, "comm_tag", o->tag);
}

static size_t write_node(const struct ss_operation *o, uint64_t ticks, char out[static SS_OPERATION_ROOM]) {
  ChakraProtoMsg__Node node = CHAKRA_PROTO_MSG__NODE__INIT;
  struct attributes attributes = {.count = 0};
  describe(o, &node, &attributes);
  node.id = o->number;
  node.n_data_deps = o->requirements;
  node.data_deps = (uint64_t *)(uintptr_t)o->required;
  node.duration_micros = ticks;
  node.n_attr = attributes.count;
  node.attr = attributes.list;
  const size_t length = add_length(chakra_proto_msg__node__get_packed_size(&node), (uint8_t *)out);
  return length + chakra_proto_msg__node__pack(&node, (uint8_t *)out + length);
}

/* --- files -------------------------------------------------------------------------------------------------- */

/* What it is of. */
static bool write_head(const struct ss_exported *e, uint32_t endpoint, FILE *stream, struct ss_error *error) {
  ChakraProtoMsg__GlobalMetadata head = CHAKRA_PROTO_MSG__GLOBAL_METADATA__INIT;
  struct attributes attributes = {.count = 0};
  uint8_t length[10] = {0};
  add_text(&attributes, "sparsync", SS_VERSION);
  add_text(&attributes, "scheme", e->point->setting.label);
  add_text(&attributes, "tensor", e->point->tensor_name);
  add_int64(&attributes, "ranks", e->point->ranks);
  add_bool(&attributes, "server", endpoint >= e->point->ranks);
  head.version = version;
  head.n_attr = attributes.count;
  head.attr = attributes.list;
  const size_t size = chakra_proto_msg__global_metadata__get_packed_size(&head);
  SS_AUTO_FREE uint8_t *packed = ss_alloc(size, 1);
  if (!packed) return ss_fail_memory(error, "writing a trace");
  const size_t before = add_length(size, length);
  (void)fwrite(length, 1, before, stream);
  (void)fwrite(packed, 1, chakra_proto_msg__global_metadata__pack(&head, packed), stream);
  return true;
}

static bool write_file(const struct ss_exported *e, uint32_t endpoint, const char *path, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(path, &output, error)) return false;
  if (write_head(e, endpoint, output.stream, error) && ss_spool_copy(e->spool, endpoint, output.stream, error))
    return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

/* All files or none: what was written before one that could not be is taken away. */
static bool finish(const struct ss_exported *e, const char *path, struct ss_error *error) {
  SS_AUTO_FREE char *file = ss_alloc(strlen(path) + sizeof ".4294967295.et", 1);
  if (!file) return ss_fail_memory(error, "naming a trace");
  uint32_t written = 0;
  for (bool ok = true; ok && written < e->played->endpoints; written += ok) {
    (void)sprintf(file, "%s.%" PRIu32 ".et", path, written);
    ok = write_file(e, written, file, error);
  }
  if (written == e->played->endpoints) return true;
  while (written-- > 0) {
    (void)sprintf(file, "%s.%" PRIu32 ".et", path, written);
    (void)unlink(file);
  }
  return false;
}

static const struct ss_export_format chakra = {
    .name = "chakra", .ticks = 1e6, .files = 1 << 16, .write = write_node, .finish = finish};
const struct ss_export_format *const ss_format_chakra = &chakra;
/* SPDX-License-Identifier: Apache-2.0 */
