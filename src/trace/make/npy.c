#include "trace/make/npy.h"

#include "base/fields.h"

enum { PREFIX = 8 /* magic and version */, HEADER_MOST = 10000 /* B, as NumPy itself reads */ };

static bool fail(const struct ss_npy *npy, const char *what, struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "%s: %s", npy->name, what);
}

/* "<i8", "|u1": byte order, kind, bytes. */
static bool read_descr(struct ss_node node, struct ss_npy *npy, struct ss_error *error) {
  const char *descr = "";
  if (!ss_node_is_text(node) || !ss_node_text(node, &descr, error) || strlen(descr) != 3 || !strchr("ui", descr[1]) ||
      !strchr("1248", descr[2]))
    return fail(npy, "is no array of whole numbers: its \"descr\" is none of u1 to u8 and i1 to i8", error);
  if (descr[0] == '>') return fail(npy, "is big-endian: save it with .astype('<i8')", error);
  if (!strchr("<|=", descr[0])) return fail(npy, "has no \"descr\" like '<i8'", error);
  npy->is_signed = descr[1] == 'i';
  npy->bytes = (uint32_t)(descr[2] - '0');
  return true;
}

static bool read_shape(struct ss_node node, struct ss_npy *npy, struct ss_error *error) {
  const size_t dimensions = ss_node_is_array(node) ? ss_node_size(node) : 0;
  const struct ss_node rows = ss_node_first(node), columns = ss_node_next(rows);
  npy->columns = 0;
  if (dimensions < 1 || dimensions > 2 || !ss_node_count(rows, 0, UINT64_MAX, &npy->rows, NULL) ||
      (dimensions == 2 && !ss_node_count(columns, 0, UINT64_MAX, &npy->columns, NULL)))
    return fail(npy, "has no shape of one or two dimensions like (8, 64)", error);
  return dimensions == 1 || npy->columns > 0 || fail(npy, "has rows without columns", error);
}

/* A dictionary as Python prints it, as JSON; how long it is. */
static size_t to_json(const char *from, size_t size, char *out) {
  static const char python[] = "'()FT", json[] = "\"[]ft";
  size_t length = 0;
  for (size_t i = 0, next; i < size; i++) {
    for (next = i + 1; next < size && (from[next] == ' ' || from[next] == '\n');) next++;
    if (from[i] == ',' && next < size && (from[next] == '}' || from[next] == ')')) continue;
    const char *as = from[i] ? strchr(python, from[i]) : NULL;
    out[length++] = as ? json[as - python] : from[i];
  }
  return length;
}

struct dictionary {
  struct ss_node descr, shape;
  bool fortran;
};
static const struct ss_field_spec fields[] = {
    {"descr", NULL, SS_IS_ANY, .required = true, SS_STORED(struct dictionary, descr)},
    {"fortran_order", NULL, SS_IS_FLAG, .required = true, SS_STORED(struct dictionary, fortran)},
    {"shape", NULL, SS_IS_ANY, .required = true, SS_STORED(struct dictionary, shape)},
    {.name = NULL}};
static const struct ss_object_spec spec = {.field = fields};

static bool read_dictionary(const char *text, size_t size, struct ss_npy *npy, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  char json[HEADER_MOST];
  struct dictionary d;
  if (size > sizeof json) return fail(npy, "has a header of more than 10000 bytes", error);
  if (!ss_doc_parse(npy->name, json, to_json(text, size, json), &doc, NULL) || !ss_node_is_object(ss_doc_root(doc)))
    return fail(npy, "has a header that is no dictionary", error);
  if (!ss_object_read(&spec, ss_doc_root(doc), &d, error)) return false;
  if (d.fortran) return fail(npy, "is in Fortran's order: save it with numpy.ascontiguousarray", error);
  return read_descr(d.descr, npy, error) && read_shape(d.shape, npy, error);
}

/* Where the header's text lies; the data follow it. */
static bool find_header(const struct ss_npy *npy, const unsigned char *bytes, size_t size, const char **out,
                        size_t *out_size, struct ss_error *error) {
  if (size < PREFIX + 2 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return fail(npy, "is no .npy file, which begins with \\x93NUMPY", error);
  if (bytes[6] < 1 || bytes[6] > 3) return fail(npy, "is a .npy file of a version other than 1 to 3", error);
  const size_t wide = bytes[6] == 1 ? 2 : 4;
  uint32_t length = 0;
  if (size < PREFIX + wide) return fail(npy, "is cut off in its header", error);
  for (size_t i = 0; i < wide; i++) length |= (uint32_t)bytes[PREFIX + i] << 8 * i;
  if (length > size - PREFIX - wide) return fail(npy, "is cut off in its header", error);
  *out = (const char *)bytes + PREFIX + wide;
  *out_size = length;
  return true;
}

bool ss_npy_read(const char *name, const unsigned char *bytes, size_t size, struct ss_npy *out,
                 struct ss_error *error) {
  struct ss_npy npy = {.name = name};
  const char *header;
  size_t length;
  uint64_t wanted;
  if (!find_header(&npy, bytes, size, &header, &length, error)) return false;
  npy.data = (const unsigned char *)header + length;
  const size_t left = (size_t)(bytes + size - npy.data);
  if (!read_dictionary(header, length, &npy, error)) return false;
  if (!ss_mul_u64(npy.rows, npy.columns ? npy.columns : 1, &npy.count) ||
      !ss_mul_u64(npy.count, npy.bytes, &wanted) || wanted != left)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: says that it holds %" PRIu64 " x %" PRIu64 " numbers of %" PRIu32
                   " bytes, but has %zu bytes of "
                   "them",
                   name, npy.rows, npy.columns ? npy.columns : 1, npy.bytes, left);
  *out = npy;
  return true;
}

bool ss_npy_open(const char *path, struct ss_npy *out, struct ss_error *error) {
  struct ss_mapping mapping;
  if (!ss_map_file(path, &mapping, error)) return false;
  if (ss_npy_read(path, mapping.data, mapping.size, out, error)) {
    out->mapping = mapping;
    return true;
  }
  ss_unmap_file(&mapping);
  return false;
}

void ss_npy_close(struct ss_npy *npy) {
  ss_unmap_file(&npy->mapping);
  *npy = (struct ss_npy){0};
}

int64_t ss_npy_get(const struct ss_npy *npy, uint64_t i) {
  const unsigned char *at = npy->data + i * npy->bytes;
  uint64_t bits = 0;
  memcpy(&bits, at, npy->bytes); /* this machine is little-endian: trace/file/trace_internal.h */
  if (npy->is_signed) {
    const unsigned unused = 64 - 8 * npy->bytes;
    return (int64_t)(bits << unused) >> unused;
  }
  return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}

void ss_npy_ids(const struct ss_npy *npy, uint64_t first, uint64_t count, uint32_t *out) {
  for (uint64_t i = 0; i < count; i++) out[i] = (uint32_t)ss_npy_get(npy, first + i);
  ss_release_mapped(&npy->mapping, npy->data + first * npy->bytes, count * npy->bytes);
}
/* SPDX-License-Identifier: Apache-2.0 */
