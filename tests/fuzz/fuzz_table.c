/* Tables of categories: an input's first byte says how it is to be read, the rest is the file. Every field that is
 * read lies in the file, and a trace is written or refused in one line that says why. */
#include "base/csv.h"
#include "in_memory.h"
#include "trace/make/import.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct ss_error *error) {
  if (error->status != SS_BAD_INPUT || strlen(error->text) < 10 || strchr(error->text, '\n')) abort();
}

/* Fields, line ends and delimiters together are no more than the file. */
static void read_fields(const char *path, bool tabs, size_t size) {
  struct ss_csv fields;
  struct ss_error error = {0};
  bool more = true, good = true;
  uint64_t line = 0, total = 0;
  const int descriptor = ss_stream_open(path, &error);
  if (descriptor < 0 || !ss_csv_open(&fields, "fuzz", descriptor, tabs, &error)) abort();
  while ((good = ss_csv_next(&fields, &more, &error)) && more) {
    if (fields.line <= line || fields.count < 1 || fields.count != fields.width) abort();
    line = fields.line;
    for (size_t i = 0; i < fields.count; i++) {
      total += fields.field[i].size + 1;
      if (memchr(fields.field[i].text, 0, fields.field[i].size)) abort();
    }
  }
  if (!good) check_refusal(&error);
  if (total > size + 1) abort();
  ss_csv_close(&fields);
  close(descriptor);
}

static void import(const char *path, uint8_t how) {
  static const char *const columns[] = {"null",       "\"1\"", "\"a\"", "\"2-3,1\"",
                                        "\"1-99,x\"", "\",\"", "[1]",   "[\"1-\", 2]"};
  char wanted[400];
  snprintf(wanted, sizeof wanted,
           "{\"files\": \"%s\", \"from\": \"%s\", \"ranks\": 2, \"batch\": 1, \"source\": \"fuzz\", \"header\": "
           "%s%s%s%s%s, "
           "\"missing\": \"NA\"}",
           path, how & 1 ? "tsv" : "csv", how & 2 ? "true" : "false", how >> 5 ? ", \"columns\": " : "",
           how >> 5 ? columns[how >> 5] : "", how & 4 ? ", \"hash_rows\": \"7\"" : "",
           how & 8 ? ", \"vocab\": [\"a=3\", \"3\"]" : "");
  import_as(wanted, check_refusal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  if (size < 1) return 0;
  const int file = in_memory(data + 1, size - 1, path, sizeof path);
  read_fields(path, data[0] & 1, size - 1);
  import(path, data[0]);
  put_away(file, path);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
