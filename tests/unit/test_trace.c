/* The trace reader and writer: what is written is read back; what is damaged is refused, or at least consistent. */
#include "listed.h"

#include "base/memory.h"
#include "trace/file/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a small trace, as bytes ------------------------------------------------------------------------------ */

/* One tensor of 5 rows, one iteration, two ranks: {0} and {4, 2}. */
static const char good_header[] =
    "{\"__metadata__\":{\"sparsync.version\":\"1\",\"iterations\":\"1\",\"ranks\":\"2\",\"source\":\"s\","
    "\"tensors\":\"[{\\\"name\\\":\\\"T\\\",\\\"rows\\\":5,\\\"row_width\\\":3,\\\"dtype\\\":\\\"F32\\\"}]\"},"
    "\"T.offsets\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[0,24]},"
    "\"T.rows\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[24,36]}}";
static const int64_t good_offsets[3] = {0, 1, 3};
static const int32_t good_rows[3] = {0, 4, 2};

struct bytes {
  unsigned char *data;
  size_t size;
};

/* Exactly as large as it must be, so that sanitizers see a read beyond the end. */
static struct bytes make_file(const char *header, const void *data, size_t size) {
  const uint64_t length = strlen(header);
  struct bytes file = {malloc(8 + length + size), 8 + length + size};
  assert_non_null(file.data);
  memcpy(file.data, &length, 8);
  memcpy(file.data + 8, header, length);
  if (size) memcpy(file.data + 8 + length, data, size);
  return file;
}

static struct bytes make_small(const char *header, const int64_t *offsets, const int32_t *rows) {
  unsigned char data[36];
  memcpy(data, offsets, 24);
  memcpy(data + 24, rows, 12);
  return make_file(header, data, sizeof data);
}

/* `text` with the first `from` replaced; the result is the caller's. */
static char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  char *out = malloc(strlen(text) + strlen(to) + 1);
  assert_non_null(out);
  sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return out;
}

/* Everything a reader may be asked, so that sanitizers see what is out of bounds. */
static void walk(const struct ss_trace *trace) {
  uint64_t total = 0;
  for (size_t i = 0; i < ss_trace_tensors(trace); i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    uint64_t seen = 0;
    for (uint64_t t = 0; t < ss_trace_iterations(trace); t++)
      for (uint32_t r = 0; r < ss_trace_ranks(trace); r++) {
        const uint64_t count = ss_trace_count(trace, i, t, r);
        uint32_t *rows = ss_alloc(count, sizeof *rows);
        assert_non_null(rows);
        ss_trace_rows(trace, i, t, r, rows);
        for (uint64_t j = 0; j < count; j++) assert_true(rows[j] < tensor->rows);
        const uint32_t *mapped = ss_trace_rows_mapped(trace, i, t, r);
        if (mapped && count) assert_memory_equal(mapped, rows, count * sizeof *rows);
        seen += count;
        total += ss_trace_tokens(trace, t, r);
        free(rows);
      }
    assert_int_equal(seen, ss_trace_total(trace, i));
    assert_true(*tensor->name);
  }
  for (size_t i = 0; i < ss_trace_dense_count(trace); i++) total += ss_trace_dense(trace, i)->bytes;
  (void)total;
  (void)ss_trace_hash(trace);
}

/* Opens the bytes; either they are a consistent trace or they are refused with a message. */
static bool open_bytes(struct bytes file, struct ss_error *error) {
  struct ss_trace *trace = NULL;
  *error = (struct ss_error){0};
  if (ss_trace_open_memory("small", file.data, file.size, &trace, error)) {
    walk(trace);
    ss_trace_close(trace);
    return true;
  }
  assert_int_equal(error->status, SS_BAD_INPUT);
  assert_true(strlen(error->text) > 10);
  assert_memory_equal(error->text, "small", 5);
  return false;
}

static void expect_refusal(struct bytes file, const char *message) {
  struct ss_error error;
  if (open_bytes(file, &error)) fail_msg("opened, but should say: %s", message);
  if (!strstr(error.text, message)) fail_msg("said \"%s\", not \"%s\"", error.text, message);
  free(file.data);
}

/* --- good files ------------------------------------------------------------------------------------------- */

TEST(test_small) {
  struct bytes file = make_small(good_header, good_offsets, good_rows);
  struct ss_trace *trace;
  struct ss_error error;
  assert_true(ss_trace_open_memory("small", file.data, file.size, &trace, &error));
  assert_int_equal(ss_trace_iterations(trace), 1);
  assert_int_equal(ss_trace_ranks(trace), 2);
  assert_int_equal(ss_trace_tensors(trace), 1);
  assert_string_equal(ss_trace_source(trace), "s");
  assert_int_equal(ss_trace_pad_id(trace), -1);
  assert_int_equal(ss_trace_count(trace, 0, 0, 0), 1);
  assert_int_equal(ss_trace_count(trace, 0, 0, 1), 2);
  uint32_t rows[2];
  ss_trace_rows(trace, 0, 0, 1, rows);
  assert_int_equal(rows[0], 4);
  assert_int_equal(rows[1], 2);
  walk(trace);
  ss_trace_close(trace);
  free(file.data);
}

/* Whatever the header's length makes of the data's alignment, the ids are the same. */
TEST(test_unaligned) {
  char header[sizeof good_header + 9];
  for (int spaces = 0; spaces < 9; spaces++) {
    snprintf(header, sizeof header, "%s%*s", good_header, spaces, "");
    struct bytes file = make_small(header, good_offsets, good_rows);
    struct ss_trace *trace;
    struct ss_error error;
    assert_true(ss_trace_open_memory("small", file.data, file.size, &trace, &error));
    const uint32_t *rows = ss_trace_rows_mapped(trace, 0, 0, 1);
    assert_non_null(rows);
    assert_int_equal((uintptr_t)rows % 4, 0);
    assert_int_equal(rows[0], 4);
    walk(trace);
    ss_trace_close(trace);
    free(file.data);
  }
}

TEST(test_64_bit_ids) {
  char *wide = replaced(good_header, "\"I32\"", "\"I64\"");
  char *header = replaced(wide, "[24,36]", "[24,48]");
  int64_t data[6] = {0, 1, 3, 0, 4, 2};
  struct bytes file = make_file(header, data, sizeof data);
  struct ss_trace *trace;
  struct ss_error error;
  assert_true(ss_trace_open_memory("small", file.data, file.size, &trace, &error));
  assert_null(ss_trace_rows_mapped(trace, 0, 0, 1));
  walk(trace);
  char path[] = "/tmp/test_trace.XXXXXX"; /* they are written as 32 bits */
  struct ss_trace *again = NULL;
  uint32_t rows[2];
  assert_int_equal(close(mkstemp(path)), 0);
  assert_true(ss_trace_save(path, trace, &error) && ss_trace_open(path, &again, &error));
  assert_non_null(ss_trace_rows_mapped(again, 0, 0, 1));
  assert_int_equal(ss_trace_count(again, 0, 0, 1), 2);
  ss_trace_rows(again, 0, 0, 1, rows);
  assert_true(rows[0] == 4 && rows[1] == 2);
  ss_trace_close(again);
  unlink(path);
  ss_trace_close(trace);
  free(file.data);
  data[4] = 5;
  expect_refusal(make_file(header, data, sizeof data),
                 "rows[1] (iteration 0, rank 1) is 5, not a row id from 0 to 4");
  data[4] = -1;
  expect_refusal(make_file(header, data, sizeof data), "is -1, not a row id");
  data[4] = INT64_C(1) << 32;
  expect_refusal(make_file(header, data, sizeof data), "is 4294967296, not a row id");
  free(wide);
  free(header);
}

/* --- bad headers ------------------------------------------------------------------------------------------ */

static const struct bad_header {
  const char *from, *to, *message;
} bad_headers[] = {
    {"\"sparsync.version\":\"1\",", "", "not a sparsity trace"},
    {"\"sparsync.version\":\"1\"", "\"sparsync.version\":\"2\"", "sparsync.version"},
    {"\"iterations\":\"1\"", "\"iterations\":\"0\"", "iterations"},
    {"\"iterations\":\"1\"", "\"iterations\":\"-1\"", "iterations"},
    {"\"iterations\":\"1\"", "\"iterations\":\"9223372036854775808\"", "iterations"},
    {"\"iterations\":\"1\"", "\"iterations\":\"18446744073709551617\"", "iterations"},
    {"\"iterations\":\"1\"", "\"iterations\":\"many\"", "iterations"},
    {"\"iterations\":\"1\"", "\"iterations\":\"\"", "iterations"},
    {"\"iterations\":\"1\"", "\"iterations\":1", "not a string"},
    {"\"iterations\":\"1\"", "\"iterations\":\"9007199254740992\"", "too many"},
    {"\"iterations\":\"1\"", "\"iterations\":\"2\"", "T.offsets"},
    {"\"iterations\":\"1\",", "", "iterations"},
    {"\"ranks\":\"2\"", "\"ranks\":\"0\"", "ranks"},
    {"\"ranks\":\"2\"", "\"ranks\":\"9223372036854775808\"", "ranks"},
    {"\"ranks\":\"2\"", "\"ranks\":\"1048577\"", "ranks"},
    {"\"ranks\":\"2\"", "\"ranks\":\"two\"", "ranks"},
    {"\"ranks\":\"2\"", "\"ranks\":\"1\"", "T.offsets"},
    {"\"ranks\":\"2\"", "\"ranks\":\"2\",\"ranks\":\"2\"", "ranks"},
    {"\"source\":\"s\"", "\"pad_id\":\"x\"", "pad_id"},
    {"\"source\":\"s\"", "\"gpus_per_node\":\"0\"", "gpus_per_node"},
    {"\"source\":\"s\"", "\"tokens\":\"[1]\"", "tokens"},
    {"\"source\":\"s\"", "\"tokens\":\"[1,-2]\"", "tokens"},
    {"\"source\":\"s\"", "\"tokens\":\"12\"", "tokens"},
    {"\"source\":\"s\"", "\"tokens\":\"[1,2\"", "tokens"},
    {"\"source\":\"s\"", "\"dense\":\"[{}]\"", "dense"},
    {"\"source\":\"s\"", "\"dense\":\"{}\"", "dense"},
    {"\"rows\\\":5", "\"rows\\\":0", "rows"},
    {"\"rows\\\":5", "\"rows\\\":4294967296", "rows"},
    {"\"rows\\\":5", "\"rows\\\":1.5", "rows"},
    {"\"rows\\\":5", "\"rows\\\":4", "not a row id from 0 to 3"},
    {"\"row_width\\\":3", "\"row_width\\\":0", "row_width"},
    {"\"row_width\\\":3", "\"row_width\\\":4294967296", "row_width"},
    {"\"rows\\\":5,\\\"row_width\\\":3", "\"rows\\\":4294967295,\\\"row_width\\\":4294967295",
     "more than 2^53 bytes"},
    {"\\\"F32\\\"", "\\\"F64\\\"", "F64"},
    {"{\\\"name\\\":\\\"T\\\"", "{\\\"nome\\\":\\\"T\\\"", "nome"},
    {"\\\"name\\\":\\\"T\\\"", "\\\"name\\\":\\\"\\\"", "no name"},
    {"\\\"name\\\":\\\"T\\\"", "\\\"name\\\":\\\"U\\\"", "U.offsets"},
    {"\"[{\\\"name", "\"[ 7, {\\\"name", "tensors"},
    {"[{\\\"name\\\":\\\"T\\\",\\\"rows\\\":5,\\\"row_width\\\":3,\\\"dtype\\\":\\\"F32\\\"}]", "[]", "no tensor"},
    {"\\\"F32\\\"}]",
     "\\\"F32\\\"},{\\\"name\\\":\\\"T\\\",\\\"rows\\\":5,\\\"row_width\\\":3,\\\"dtype\\\":\\\"F32\\\"}]",
     "two tensors are called"},
    {"\"__metadata__\"", "\"__metadata\"", "__metadata"},
    {"\"I32\"", "\"I16\"", "I16"},
    {"\"I32\"", "\"F32\"", "row ids are I64, I32 or U32"},
    {"\"I64\"", "\"I32\"", "does not fill"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[4],\"data_offsets\":[24,36]", "does not fill"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[3,1],\"data_offsets\":[24,36]", "one dimension"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[],\"data_offsets\":[24,36]", "one dimension"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":3,\"data_offsets\":[24,36]", "one dimension"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":{\"a\":3},\"data_offsets\":[24,36]", "one dimension"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[-3],\"data_offsets\":[24,36]", "shape"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[4611686018427387907],\"data_offsets\":[24,36]", "shape"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[1e300],\"data_offsets\":[24,36]", "shape"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[9007199254740992],\"data_offsets\":[24,36]",
     "does not fill"},
    {"[24,36]", "[36,24]", "after its end"},
    {"[24,36]", "[24,37]", "ends at byte 37 of 36"},
    {"[24,36]", "[24,9007199254740992]", "ends at byte"},
    {"[24,36]", "[24,18446744073709551616]", "data_offsets"},
    {"[24,36]", "[-1,36]", "data_offsets"},
    {"[24,36]", "[24]", "range"},
    {"[24,36]", "[20,32]", "overlaps"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[2],\"data_offsets\":[28,36]", "hole"},
    {"\"shape\":[3],\"data_offsets\":[24,36]", "\"shape\":[2],\"data_offsets\":[24,32]", "the entries end at 32"},
    {"\"T.rows\":{", "\"T.offsets\":{", "T.offsets"},
    {"\"T.rows\":{", "\"T.raws\":{", "no entry \"T.rows\""},
    {"\"T.rows\":{", "\"T.values\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"T.rows\":{",
     "3 rows of 3"},
    {"\"T.rows\":{", "\"V.rows\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"T.rows\":{", "no tensor"},
    {"\"T.rows\":{", "\"T.rows\":{\"color\":1,", "color"},
    {"\"T.rows\":{", "\"T.bags\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[0,0]},\"T.rows\":{", "beside it"},
    {"36]}}", "36]}} x", "small"},
    {"36]}}", "36]}", "small"},
};

TEST(test_bad_headers) {
  for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
    char *header = replaced(good_header, bad_headers[i].from, bad_headers[i].to);
    expect_refusal(make_small(header, good_offsets, good_rows), bad_headers[i].message);
    free(header);
  }
}

/* Keys of tools that capture traces are theirs to add. */
TEST(test_foreign_metadata) {
  char *header = replaced(good_header, "\"source\":\"s\"",
                          "\"torch\":\"2.1\",\"dense\":\"[{\\\"name\\\":\\\"w\\\",\\\"bytes\\\":7}]\","
                          "\"tokens\":\"[3, 4]\",\"pad_id\":\"0\",\"gpus_per_node\":\"8\"");
  struct bytes file = make_small(header, good_offsets, good_rows);
  struct ss_trace *trace;
  struct ss_error error;
  assert_true(ss_trace_open_memory("small", file.data, file.size, &trace, &error));
  assert_string_equal(ss_trace_source(trace), "");
  assert_int_equal(ss_trace_tokens(trace, 0, 1), 4);
  assert_int_equal(ss_trace_pad_id(trace), 0);
  assert_int_equal(ss_trace_gpus_per_node(trace), 8);
  assert_int_equal(ss_trace_dense_count(trace), 1);
  assert_string_equal(ss_trace_dense(trace, 0)->name, "w");
  assert_int_equal(ss_trace_dense(trace, 0)->bytes, 7);
  ss_trace_close(trace);
  free(file.data);
  free(header);
}

/* --- bad data --------------------------------------------------------------------------------------------- */

TEST(test_bad_data) {
  static const struct {
    int64_t offsets[3];
    int32_t rows[3];
    const char *message;
  } cases[] = {
      {{1, 1, 3}, {0, 4, 2}, "T.offsets begins with 1"},
      {{-1, 1, 3}, {0, 4, 2}, "T.offsets begins with -1"},
      {{0, 3, 1}, {0, 4, 2}, "T.offsets[2] is 1"},
      {{0, 4, 3}, {0, 4, 2}, "T.offsets[1] is 4"},
      {{0, -1, 3}, {0, 4, 2}, "T.offsets[1] is -1"},
      {{0, INT64_MAX, 3}, {0, 4, 2}, "T.offsets[1] is"},
      {{0, 1, 2}, {0, 4, 2}, "T.offsets ends with 2"},
      {{0, 1, INT64_MIN}, {0, 4, 2}, "T.offsets[2] is"},
      {{0, 1, 3}, {0, 4, 5}, "T.rows[2] (iteration 0, rank 1) is 5"},
      {{0, 1, 3}, {-1, 4, 2}, "T.rows[0] (iteration 0, rank 0) is -1"},
      {{0, 1, 3}, {0, INT32_MIN, 2}, "is -2147483648"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refusal(make_small(good_header, cases[i].offsets, cases[i].rows), cases[i].message);

  /* As unsigned ids of a larger table these are good; as signed ones they are negative. */
  const int32_t high[3] = {0, INT32_MIN, 2};
  struct ss_error error;
  char *large = replaced(good_header, "\"rows\\\":5", "\"rows\\\":4294967295");
  expect_refusal(make_small(large, good_offsets, high), "is -2147483648");
  char *header = replaced(large, "\"I32\"", "\"U32\"");
  struct bytes file = make_small(header, good_offsets, high);
  assert_true(open_bytes(file, &error));
  free(file.data);
  free(header);
  free(large);
}

TEST(test_truncated) {
  struct bytes whole = make_small(good_header, good_offsets, good_rows);
  struct ss_error error;
  assert_true(open_bytes(whole, &error));
  for (size_t size = 0; size < whole.size; size++) {
    struct bytes part = {malloc(size ? size : 1), size};
    assert_non_null(part.data);
    memcpy(part.data, whole.data, size);
    assert_false(open_bytes(part, &error));
    free(part.data);
  }
  free(whole.data);
}

/* A flipped bit may make another good trace (a letter of the source), never a crash or an id out of range. */
TEST(test_flipped) {
  struct bytes file = make_small(good_header, good_offsets, good_rows);
  size_t opened = 0, refused = 0;
  for (size_t bit = 0; bit < file.size * 8; bit++) {
    struct ss_error error;
    file.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    if (open_bytes(file, &error)) opened++;
    else refused++;
    file.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  assert_true(refused > 8 * opened);
  free(file.data);
}

TEST(test_header_length) {
  static const uint64_t lengths[] = {0, 1, (4u << 20) + 1, UINT32_MAX, UINT64_MAX, UINT64_MAX - 7, INT64_MAX};
  struct ss_error error;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    struct bytes file = make_small(good_header, good_offsets, good_rows);
    memcpy(file.data, &lengths[i], 8);
    assert_false(open_bytes(file, &error));
    free(file.data);
  }
  struct bytes file = make_small(good_header, good_offsets, good_rows);
  const uint64_t beyond = file.size - 8 + 1;
  memcpy(file.data, &beyond, 8);
  expect_refusal(file, "cut off");
  expect_refusal(make_small("[1]", good_offsets, good_rows), "the header is not a JSON object");
  expect_refusal(make_file("{\"__metadata__\":7}", good_rows, 0), "not an object of strings");
}

TEST(test_no_file) {
  char folder[] = "/tmp/test_trace.XXXXXX", path[64];
  struct ss_trace *trace;
  struct ss_error error;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/none", folder);
  assert_false(ss_trace_open(path, &trace, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  assert_non_null(strstr(error.text, path));
  assert_false(ss_trace_open(folder, &trace, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  FILE *empty = fopen(path, "w");
  assert_non_null(empty);
  fclose(empty);
  assert_false(ss_trace_open(path, &trace, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  unlink(path);
  rmdir(folder);
}

/* --- writing ---------------------------------------------------------------------------------------------- */

static const struct ss_tensor two_tensors[2] = {{"a \"b\"", 100, 2, SS_BF16}, {"emb.1", UINT32_MAX, 512, SS_F32}};
static const struct ss_dense dense[1] = {{"attention", UINT64_C(1) << 40}};
static const uint64_t offsets_a[7] = {0, 2, 2, 5, 5, 5, 5}, offsets_b[7] = {0, 0, 0, 0, 0, 1, 1};
static const uint32_t rows_a[5] = {99, 0, 7, 7, 3}, rows_b[1] = {UINT32_MAX - 1};
static const uint64_t tokens[6] = {2, 0, 3, 1, 4, 1};
static const uint16_t values_a[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* 3 iterations of 2 ranks; the second tensor needs unsigned ids, the first has values. */
static struct ss_trace_content two(void) {
  static const uint64_t *const offsets[2] = {offsets_a, offsets_b};
  static const uint32_t *const rows[2] = {rows_a, rows_b};
  static const struct ss_values values[2] = {{values_a, SS_BF16}, {NULL, SS_F32}};
  return (struct ss_trace_content){.source = "by hand",
                                   .iterations = 3,
                                   .ranks = 2,
                                   .tensors = 2,
                                   .tensor = two_tensors,
                                   .offsets = offsets,
                                   .rows = rows,
                                   .dense_count = 1,
                                   .dense = dense,
                                   .tokens = tokens,
                                   .pad_id = 7,
                                   .gpus_per_node = 2,
                                   .values = values};
}

static void check_two(const struct ss_trace *trace) {
  static const uint64_t *const offsets[2] = {offsets_a, offsets_b};
  static const uint32_t *const rows[2] = {rows_a, rows_b};
  uint32_t out[5];
  enum ss_dtype dtype;
  walk(trace);
  assert_string_equal(ss_trace_source(trace), "by hand");
  assert_int_equal(ss_trace_iterations(trace), 3);
  assert_int_equal(ss_trace_ranks(trace), 2);
  assert_int_equal(ss_trace_gpus_per_node(trace), 2);
  assert_int_equal(ss_trace_pad_id(trace), 7);
  assert_int_equal(ss_trace_dense_count(trace), 1);
  assert_string_equal(ss_trace_dense(trace, 0)->name, "attention");
  assert_int_equal(ss_trace_dense(trace, 0)->bytes, UINT64_C(1) << 40);
  for (size_t i = 0; i < 2; i++) {
    const struct ss_tensor *tensor = ss_trace_tensor(trace, i);
    assert_string_equal(tensor->name, two_tensors[i].name);
    assert_int_equal(tensor->rows, two_tensors[i].rows);
    assert_int_equal(tensor->row_width, two_tensors[i].row_width);
    assert_int_equal(tensor->dtype, two_tensors[i].dtype);
    for (uint32_t segment = 0; segment < 6; segment++) {
      const uint64_t count = offsets[i][segment + 1] - offsets[i][segment];
      assert_int_equal(ss_trace_count(trace, i, segment / 2, segment % 2), count);
      ss_trace_rows(trace, i, segment / 2, segment % 2, out);
      assert_memory_equal(out, rows[i] + offsets[i][segment], count * sizeof *out);
    }
  }
  for (uint32_t segment = 0; segment < 6; segment++)
    assert_int_equal(ss_trace_tokens(trace, segment / 2, segment % 2), tokens[segment]);
  assert_true(ss_trace_has_values(trace, 0));
  assert_false(ss_trace_has_values(trace, 1));
  assert_memory_equal(ss_trace_values(trace, 0, 1, 0, &dtype), values_a + 4, 12);
  assert_int_equal(dtype, SS_BF16);
  assert_null(ss_trace_values(trace, 1, 1, 0, &dtype));
}

TEST(test_write_and_build) {
  char folder[] = "/tmp/test_trace.XXXXXX", path[64], again[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a", folder);
  snprintf(again, sizeof again, "%s/b", folder);
  const struct ss_trace_content content = two();
  struct ss_trace *written, *built, *resaved;
  struct ss_error error;
  assert_true(ss_trace_write(path, &content, &error));
  assert_true(ss_trace_open(path, &written, &error));
  check_two(written);
  assert_true(ss_trace_build("built", &content, &built, &error));
  check_two(built);
  assert_true(ss_trace_save(again, built, &error));
  assert_true(ss_trace_open(again, &resaved, &error));
  assert_int_equal(ss_trace_hash(resaved), ss_trace_hash(written));
  ss_trace_close(resaved);
  ss_trace_close(built);
  ss_trace_close(written);
  unlink(path);
  unlink(again);
  rmdir(folder);
}

/* Three iterations of two ranks. */
TEST(test_window) {
  static const struct {
    uint64_t first, end;
    uint32_t ranks;
    const char *says;
  } wrong[] = {{3, 0, 0, "iterations 3:3 are not within its 0:3"},
               {2, 2, 0, "2:2"},
               {2, 1, 0, "2:1"},
               {0, 4, 0, "0:4"},
               {0, 3, 3, "has 2 ranks, not 3"}};
  const struct ss_trace_content content = two();
  struct ss_trace *trace;
  struct ss_error error;
  assert_true(ss_trace_build("built", &content, &trace, &error));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    uint64_t end = wrong[i].end;
    uint32_t ranks = wrong[i].ranks;
    assert_false(ss_trace_window(trace, wrong[i].first, &end, &ranks, &error));
    if (!strstr(error.text, wrong[i].says)) fail_msg("said \"%s\", not \"%s\"", error.text, wrong[i].says);
  }
  uint64_t end = 0;
  uint32_t ranks = 0;
  assert_true(ss_trace_window(trace, 2, &end, &ranks, &error));
  assert_int_equal(end, 3);
  assert_int_equal(ranks, 2);
  size_t found;
  const char *const twice[] = {two_tensors[1].name, two_tensors[0].name, two_tensors[1].name};
  assert_false(ss_trace_keep(trace, twice, 3, &error));
  assert_non_null(strstr(error.text, "is named twice"));
  assert_true(ss_trace_find(trace, two_tensors[1].name, &found, &error));
  assert_int_equal(found, 1);
  assert_false(ss_trace_save(NULL, trace, &error));
  assert_false(ss_trace_open(NULL, &trace, &error));
  ss_trace_close(trace);
}

static void expect_unbuilt(const struct ss_trace_content *content, const char *message) {
  struct ss_trace *trace;
  struct ss_error error;
  assert_false(ss_trace_build("built", content, &trace, &error));
  assert_int_equal(error.status, SS_BAD_INPUT);
  if (!strstr(error.text, message)) fail_msg("said \"%s\", not \"%s\"", error.text, message);
}

TEST(test_bad_content) {
  struct ss_trace_content content = two();
  content.iterations = 0;
  expect_unbuilt(&content, "no iterations");
  content.iterations = UINT64_MAX;
  expect_unbuilt(&content, "too many");
  content = two();
  content.ranks = 0;
  expect_unbuilt(&content, "ranks");
  content = two();
  content.tensors = 0;
  expect_unbuilt(&content, "no tensor");
  static const uint64_t many_tokens[6] = {0, 0, UINT64_MAX};
  content = two();
  content.tokens = many_tokens;
  expect_unbuilt(&content, "token count");
  static const struct ss_dense vast = {"w", UINT64_MAX};
  content = two();
  content.dense = &vast;
  expect_unbuilt(&content, "dense tensor w");
  struct ss_tensor tensors[2] = {two_tensors[0], two_tensors[1]};
  content = two();
  content.tensor = tensors;
  tensors[0].rows = 99;
  expect_unbuilt(&content, "not a row id from 0 to 98");
  tensors[0].rows = 0;
  expect_unbuilt(&content, "has 0 rows");
  tensors[0] = two_tensors[0];
  tensors[0].row_width = 0;
  expect_unbuilt(&content, "a row_width of 0");
  tensors[0] = two_tensors[0];
  content.pad_id = -2;
  expect_unbuilt(&content, "pad_id -2 is not a row id");
  content.pad_id = UINT32_MAX + INT64_C(1);
  expect_unbuilt(&content, "is not a row id");
  content.pad_id = 7;
  tensors[0].name = tensors[1].name;
  expect_unbuilt(&content, "two tensors");
}

/* A refused content and a full disk leave the old file as it was. */
TEST(test_whole_or_not_at_all) {
  char folder[] = "/tmp/test_trace.XXXXXX", path[64], text[16] = "";
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a", folder);
  FILE *old = fopen(path, "w");
  assert_non_null(old);
  fputs("old", old);
  fclose(old);
  struct ss_trace_content content = two();
  struct ss_error error;
  content.iterations = 0;
  assert_false(ss_trace_write(path, &content, &error));
  content = two();
  assert_false(ss_trace_write("/dev/full", &content, &error));
  assert_int_equal(error.status, SS_MACHINE);
  old = fopen(path, "r");
  assert_non_null(old);
  assert_non_null(fgets(text, sizeof text, old));
  fclose(old);
  assert_string_equal(text, "old");
  unlink(path);
  assert_int_equal(rmdir(folder), 0); /* nothing was left beside it */
}
/* SPDX-License-Identifier: Apache-2.0 */
