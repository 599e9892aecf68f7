/* Ids in .npy arrays and in texts, and bags of them. The first byte says how: the rest is a file, or indices and
 * offsets behind good headers, or a good array that (place, byte) pairs are patched into. */
#include "in_memory.h"
#include "trace/make/import.h"
#include "trace/make/npy.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct ss_error *error) {
  if (error->status != SS_BAD_INPUT || strlen(error->text) < 10 || strchr(error->text, '\n')) abort();
}

/* Of a copy of its exact size, for the sanitizer. */
static void read_array(const uint8_t *data, size_t size) {
  struct ss_npy npy;
  struct ss_error error = {0};
  unsigned char *exact = malloc(size ? size : 1);
  int64_t sum = 0;
  if (!exact) abort();
  memcpy(exact, data, size);
  if (!ss_npy_read("fuzz", exact, size, &npy, &error)) {
    check_refusal(&error);
  } else {
    for (uint64_t i = 0; i < npy.count; i++) sum ^= ss_npy_get(&npy, i);
    if (npy.count * npy.bytes > size || (sum < 0 && !npy.is_signed)) abort();
  }
  free(exact);
}

static void import_tokens(const uint8_t *data, size_t size, uint8_t how) {
  char path[64], wanted[300];
  const int file = in_memory(data, size, path, sizeof path);
  snprintf(wanted, sizeof wanted, "{\"files\": \"%s\", \"from\": \"tokens\", \"ranks\": 2, \"batch\": 2%s%s%s}", path,
           how & 4 ? ", \"seq\": 3" : "", how & 8 ? ", \"vocab\": 1000" : "", how & 16 ? ", \"pad\": 5" : "");
  import_as(wanted, check_refusal);
  put_away(file, path);
}

/* An array of one-byte numbers. */
static int array_of(const uint8_t *numbers, size_t count, bool is_signed, char *path, size_t room) {
  uint8_t file[512];
  const int length =
      snprintf((char *)file + 10, 200, "{'descr': '|%c1', 'fortran_order': False, 'shape': (%zu,), }\n",
               is_signed ? 'i' : 'u', count);
  memcpy(file, "\x93NUMPY\1", 8);
  file[8] = (uint8_t)length;
  file[9] = 0;
  memcpy(file + 10 + length, numbers, count);
  return in_memory(file, 10 + (size_t)length + count, path, room);
}

static void import_bags(const uint8_t *data, size_t size, uint8_t how) {
  const size_t most = size < 250 ? size : 250, first = most / 2;
  char path[2][64], wanted[300];
  const int indices = array_of(data, first, how & 4, path[0], sizeof *path);
  const int offsets = array_of(data + first, most - first, false, path[1], sizeof *path);
  snprintf(wanted, sizeof wanted,
           "{\"files\": [\"%s\", \"%s\"], \"from\": \"bags\", \"ranks\": 2, \"batch\": 2, \"tables\": %d}", path[0],
           path[1], 1 + (how >> 3) % 4);
  import_as(wanted, check_refusal);
  put_away(indices, path[0]);
  put_away(offsets, path[1]);
}

static void import_patched(const uint8_t *data, size_t size, uint8_t how) {
  static const char header[] = "\x93NUMPY\1\0\x40\0{'descr': '<i4', 'fortran_order': False, 'shape': (4, 3), }   \n";
  uint8_t file[sizeof header - 1 + 48] = {0};
  memcpy(file, header, sizeof header - 1);
  file[8] = (uint8_t)(sizeof header - 1 - 10);
  for (size_t i = 0; i + 1 < size; i += 2) file[data[i] % sizeof file] = data[i + 1];
  read_array(file, sizeof file);
  import_tokens(file, sizeof file, how);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  const uint8_t how = data[0];
  if (how % 4 == 3) import_patched(data + 1, size - 1, how);
  else if (how % 4 == 2) import_bags(data + 1, size - 1, how);
  else import_tokens(data + 1, size - 1, how);
  if (how % 4 == 0) read_array(data + 1, size - 1);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
