#include "trace/make/npy.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The header's text, which is a dictionary as Python prints it. */
struct header {
  const char *at, *end;
};

enum { PREFIX = 8 /* magic and version */ };

static bool fail(const struct ss_npy *npy, const char *what, struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "%s: %s", npy->name, what);
}

static void skip(struct header *h) {
  while (h->at < h->end && strchr(" \n\t", *h->at) && *h->at) h->at++;
}

static bool take(struct header *h, char c) {
  skip(h);
  if (h->at == h->end || *h->at != c) return false;
  h->at++;
  return true;
}

/* A string in single or double quotes that fits. */
static bool take_string(struct header *h, char *out, size_t size) {
  skip(h);
  if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) return false;
  const char quote = *h->at++;
  const char *close = memchr(h->at, quote, (size_t)(h->end - h->at));
  if (!close || (size_t)(close - h->at) >= size) return false;
  memcpy(out, h->at, (size_t)(close - h->at));
  out[close - h->at] = '\0';
  h->at = close + 1;
  return true;
}

static bool take_word(struct header *h, const char *word) {
  const size_t size = strlen(word);
  skip(h);
  if ((size_t)(h->end - h->at) < size || memcmp(h->at, word, size) != 0) return false;
  h->at += size;
  return true;
}

static bool take_number(struct header *h, uint64_t *out) {
  skip(h);
  const char *begin = h->at;
  for (*out = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
    if (!ss_mul_u64(*out, 10, out) || !ss_add_u64(*out, (uint64_t)(*h->at - '0'), out)) return false;
  return h->at > begin;
}

/* "<i8", "|u1": byte order, kind, bytes. */
static bool read_descr(struct header *h, struct ss_npy *npy, struct ss_error *error) {
  char descr[16];
  if (!take_string(h, descr, sizeof descr) || strlen(descr) != 3 || !strchr("ui", descr[1]) ||
      !strchr("1248", descr[2]))
    return fail(npy, "is no array of whole numbers: its \"descr\" is none of u1 to u8 and i1 to i8", error);
  if (descr[0] == '>') return fail(npy, "is big-endian: save it with .astype('<i8')", error);
  if (!strchr("<|=", descr[0])) return fail(npy, "has no \"descr\" like '<i8'", error);
  npy->is_signed = descr[1] == 'i';
  npy->bytes = (uint32_t)(descr[2] - '0');
  return true;
}

static bool read_shape(struct header *h, struct ss_npy *npy, struct ss_error *error) {
  uint64_t *const dimension[] = {&npy->rows, &npy->columns};
  size_t dimensions = 0;
  bool good = take(h, '(');
  while (good && dimensions < 2 && !take(h, ')')) {
    good = take_number(h, dimension[dimensions]);
    dimensions += good;
    if (good && !take(h, ',')) {
      good = take(h, ')');
      break;
    }
    if (good && dimensions == 2) good = take(h, ')');
  }
  if (!good || dimensions == 0) return fail(npy, "has no shape of one or two dimensions like (8, 64)", error);
  if (dimensions == 2 && npy->columns == 0) return fail(npy, "has rows without columns", error);
  return true;
}

static bool read_entry(struct header *h, struct ss_npy *npy, unsigned *seen, struct ss_error *error) {
  char key[20];
  if (!take_string(h, key, sizeof key) || !take(h, ':'))
    return fail(npy, "has a header that is no dictionary", error);
  if (strcmp(key, "descr") == 0) {
    *seen |= 1;
    return read_descr(h, npy, error);
  }
  if (strcmp(key, "shape") == 0) {
    *seen |= 2;
    return read_shape(h, npy, error);
  }
  if (strcmp(key, "fortran_order") != 0) return fail(npy, "has a header with an unknown key", error);
  *seen |= 4;
  if (take_word(h, "False")) return true;
  return fail(npy, "is in Fortran's order: save it with numpy.ascontiguousarray", error);
}

static bool read_dictionary(struct header *h, struct ss_npy *npy, struct ss_error *error) {
  unsigned seen = 0;
  npy->rows = npy->columns = 0;
  if (!take(h, '{')) return fail(npy, "has a header that is no dictionary", error);
  while (!take(h, '}')) {
    if (!read_entry(h, npy, &seen, error)) return false;
    if (!take(h, ',') && (skip(h), h->at == h->end || *h->at != '}'))
      return fail(npy, "has a header that is no dictionary", error);
  }
  return seen == 7 || fail(npy, "lacks \"descr\", \"fortran_order\" or \"shape\" in its header", error);
}

/* Where the header's text lies; the data follow it. */
static bool find_header(const struct ss_npy *npy, const unsigned char *bytes, size_t size, struct header *out,
                        struct ss_error *error) {
  if (size < PREFIX + 2 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return fail(npy, "is no .npy file, which begins with \\x93NUMPY", error);
  if (bytes[6] < 1 || bytes[6] > 3) return fail(npy, "is a .npy file of a version other than 1 to 3", error);
  const size_t wide = bytes[6] == 1 ? 2 : 4;
  uint32_t length = 0;
  if (size < PREFIX + wide) return fail(npy, "is cut off in its header", error);
  for (size_t i = 0; i < wide; i++) length |= (uint32_t)bytes[PREFIX + i] << 8 * i;
  if (length > size - PREFIX - wide) return fail(npy, "is cut off in its header", error);
  out->at = (const char *)bytes + PREFIX + wide;
  out->end = out->at + length;
  return true;
}

bool ss_npy_read(const char *name, const unsigned char *bytes, size_t size, struct ss_npy *out,
                 struct ss_error *error) {
  struct ss_npy npy = {.name = name};
  struct header header;
  uint64_t wanted;
  if (!find_header(&npy, bytes, size, &header, error)) return false;
  npy.data = (const unsigned char *)header.end;
  const size_t left = (size_t)(bytes + size - npy.data);
  if (!read_dictionary(&header, &npy, error)) return false;
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
