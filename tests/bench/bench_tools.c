/* What the bench needs beside the program itself: a stopwatch for whole processes, a large trace, and the obvious
 * loops that its figures stand beside. Each verb prints one JSON object.
 *
 *   measure TIMES OUT COMMAND...    best wall time, its processor time, and the largest resident set; the last run's
 *                                   stdout goes to OUT
 *   elements FILE RANKS NNZ ROWS    writes a trace of one iteration: NNZ sorted element ids out of ROWS on each rank
 *   mark FILE ROWS                  reference for `trace stats`: sets a bit for each 32-bit word of FILE
 *   sum RANKS NNZ ROWS              reference for the proof: adds one number per rank and row into a dense array
 *   criteo FILE RECORDS             writes a table as Criteo's are: a label, 13 numbers, 26 categories; tabs
 *   bytes FILE                      reference for `trace import`: counts the line ends of FILE */
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/units.h"
#include "trace/make/zipf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static _Noreturn void die(const char *why) {
  fprintf(stderr, "bench_tools: %s\n", why);
  exit(2);
}

static uint64_t count(const char *text) {
  uint64_t value;
  struct ss_error error;
  if (!ss_count_parse(text, "argument", 1, UINT64_C(1) << 40, &value, &error)) die(error.text);
  return value;
}

static void *need(void *memory) {
  if (memory == NULL) die("out of memory");
  return memory;
}

/* --- measure ------------------------------------------------------------------------------------------------ */

static _Noreturn void become(char **command, const char *out) {
  const int descriptor = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0 || dup2(descriptor, STDOUT_FILENO) < 0) _exit(126);
  execvp(command[0], command);
  _exit(127);
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* A process of this size forks, not a Python interpreter: its own pages would count as the command's. */
static int measure(uint64_t times, const char *out, char **command) {
  double best = HUGE_VAL, processor = 0;
  long peak = 0;
  for (uint64_t i = 0; i < times; i++) {
    const double start = now();
    const pid_t child = fork();
    if (child < 0) die(strerror(errno));
    if (child == 0) become(command, out);
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child) die(strerror(errno));
    const double wall = now() - start;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) die("the measured command failed");
    if (wall < best) {
      best = wall;
      processor = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    }
    if (usage.ru_maxrss > peak) peak = usage.ru_maxrss;
  }
  printf("{\"wall_s\":%.9f,\"processor_s\":%.6f,\"peak_bytes\":%ld}\n", best, processor, peak * 1024);
  return 0;
}

/* --- elements ----------------------------------------------------------------------------------------------- */

static void put(FILE *stream, const void *data, size_t size) {
  if (fwrite(data, 1, size, stream) != size) die("cannot write the trace");
}

static void put_header(FILE *stream, uint64_t ranks, uint64_t nnz, uint64_t rows) {
  char header[1024];
  const uint64_t offset_bytes = (ranks + 1) * 8;
  int length = snprintf(
      header, sizeof header,
      "{\"__metadata__\":{\"sparsync.version\":\"1\",\"iterations\":\"1\",\"ranks\":\"%" PRIu64
      "\",\"tensors\":\"[{\\\"name\\\":\\\"elements\\\",\\\"rows\\\":%" PRIu64
      ",\\\"row_width\\\":1,\\\"dtype\\\":\\\"F32\\\"}]\",\"source\":\"tests/bench\"},"
      "\"elements.offsets\":{\"dtype\":\"I64\",\"shape\":[%" PRIu64 "],\"data_offsets\":[0,%" PRIu64
      "]},\"elements.rows\":{\"dtype\":\"I32\",\"shape\":[%" PRIu64 "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}}",
      ranks, rows, ranks + 1, offset_bytes, ranks * nnz, offset_bytes, offset_bytes + ranks * nnz * 4);
  while (length % 8 != 0) header[length++] = ' ';
  const uint64_t size = (uint64_t)length;
  put(stream, &size, sizeof size);
  put(stream, header, (size_t)size);
}

/* One id from each of NNZ equal strata: sorted, distinct, and any element may be hit. */
static void fill(uint32_t *ids, uint64_t rank, uint64_t nnz, uint64_t rows) {
  uint64_t low = 0;
  for (uint64_t i = 0; i < nnz; i++) {
    const uint64_t high = (i + 1) * rows / nnz;
    ids[i] = (uint32_t)(low + ss_below(ss_mix(rank, i), high - low));
    low = high;
  }
}

static int elements(const char *path, uint64_t ranks, uint64_t nnz, uint64_t rows) {
  if (nnz > rows || rows >= UINT64_C(1) << 31) die("NNZ <= ROWS < 2^31");
  FILE *stream = fopen(path, "wb");
  if (stream == NULL) die(strerror(errno));
  put_header(stream, ranks, nnz, rows);
  for (uint64_t rank = 0; rank <= ranks; rank++) put(stream, &(uint64_t){rank * nnz}, 8);
  uint32_t *ids = need(ss_alloc(nnz, sizeof *ids));
  for (uint64_t rank = 0; rank < ranks; rank++) {
    fill(ids, rank, nnz, rows);
    put(stream, ids, nnz * sizeof *ids);
  }
  free(ids);
  if (fclose(stream) != 0) die("cannot write the trace");
  printf("{\"bytes\":%" PRIu64 "}\n", ranks * nnz * 4);
  return 0;
}

/* --- references --------------------------------------------------------------------------------------------- */

static int mark(const char *path, uint64_t rows) {
  struct ss_mapping file;
  struct ss_error error;
  const double start = now();
  if (!ss_map_file(path, &file, &error)) die(error.text);
  uint64_t *bits = need(ss_alloc_zero(rows / 64 + 1, 8));
  uint64_t distinct = 0;
  for (size_t i = 0; i + 4 <= file.size; i += 4) {
    uint32_t id;
    memcpy(&id, file.data + i, sizeof id);
    if (id >= rows) continue;
    const uint64_t bit = UINT64_C(1) << (id % 64);
    distinct += (bits[id / 64] & bit) == 0;
    bits[id / 64] |= bit;
  }
  printf("{\"wall_s\":%.9f,\"distinct\":%" PRIu64 "}\n", now() - start, distinct);
  free(bits);
  ss_unmap_file(&file);
  return 0;
}

static int sum(uint64_t ranks, uint64_t nnz, uint64_t rows) {
  uint64_t *dense = need(ss_alloc_zero(rows, sizeof *dense));
  const double start = now();
  for (uint64_t rank = 0; rank < ranks; rank++)
    for (uint64_t i = 0; i < nnz; i++) {
      const uint64_t random = ss_mix(rank, i);
      dense[ss_below(random, rows)] += random;
    }
  const double wall = now() - start;
  uint64_t check = 0;
  for (uint64_t row = 0; row < rows; row++) check ^= dense[row];
  printf("{\"wall_s\":%.9f,\"check\":%" PRIu64 "}\n", wall, check);
  free(dense);
  return 0;
}

/* --- criteo, bytes ------------------------------------------------------------------------------------------- */

/* Distinct values of each category in Criteo's Kaggle data, as DLRM's scripts print them for 45.8 M records. */
static const uint32_t cardinality[26] = {1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
                                         93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
                                         2173,  4,    7046547,  18,      15,  286181, 105,     142572};

/* Values by Zipf's law with an exponent of 1.05, one in thirty missing. */
static int criteo(const char *path, uint64_t records) {
  struct ss_zipf zipf[26];
  struct ss_output out;
  struct ss_error error;
  if (!ss_output_open(path, &out, &error)) die(error.text);
  for (uint32_t c = 0; c < 26; c++) zipf[c] = ss_zipf_new(1.05, cardinality[c]);
  for (uint64_t i = 0; i < records; i++) {
    fprintf(out.stream, "%d", i % 4 == 0);
    for (uint64_t n = 0; n < 13; n++) fprintf(out.stream, "\t%" PRIu64, ss_mix(i, n) % 1000);
    for (uint32_t c = 0; c < 26; c++) {
      const uint64_t key = ss_mix(ss_mix(1, i), c);
      if (key % 30 == 0) fputc('\t', out.stream);
      else fprintf(out.stream, "\t%08x", (uint32_t)ss_mix(c, ss_zipf_draw(&zipf[c], key)));
    }
    fputc('\n', out.stream);
  }
  if (!ss_output_commit(&out, &error)) die(error.text);
  printf("{\"records\": %" PRIu64 "}\n", records);
  return 0;
}

static int bytes(const char *path) {
  enum { PIECE = 1 << 20 };
  char *piece = need(ss_alloc(PIECE, 1));
  const double begin = now();
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  uint64_t lines = 0, size = 0;
  for (ssize_t got; file >= 0 && (got = read(file, piece, PIECE)) > 0; size += (uint64_t)got)
    for (ssize_t i = 0; i < got; i++) lines += piece[i] == '\n';
  if (file < 0) die("cannot read the file");
  close(file);
  free(piece);
  printf("{\"wall_s\": %.6f, \"lines\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", now() - begin, lines, size);
  return 0;
}

int main(int argc, char **argv) {
  const char *verb = argc > 1 ? argv[1] : "";
  if (strcmp(verb, "measure") == 0 && argc > 4) return measure(count(argv[2]), argv[3], argv + 4);
  if (strcmp(verb, "elements") == 0 && argc == 6)
    return elements(argv[2], count(argv[3]), count(argv[4]), count(argv[5]));
  if (strcmp(verb, "mark") == 0 && argc == 4) return mark(argv[2], count(argv[3]));
  if (strcmp(verb, "sum") == 0 && argc == 5) return sum(count(argv[2]), count(argv[3]), count(argv[4]));
  if (strcmp(verb, "criteo") == 0 && argc == 4) return criteo(argv[2], count(argv[3]));
  if (strcmp(verb, "bytes") == 0 && argc == 3) return bytes(argv[2]);
  die("measure TIMES OUT COMMAND... | elements FILE RANKS NNZ ROWS | mark FILE ROWS | sum RANKS NNZ ROWS | criteo "
      "FILE "
      "RECORDS | bytes FILE");
}
/* SPDX-License-Identifier: Apache-2.0 */
