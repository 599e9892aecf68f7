/* What benchmarks print, with odd words in it: an input is a list of choices, of which the first says whether the
 * file is a log of nccl-tests, one of OSU's, or a table of times. What is read is fitted to a line. */
#include "calibration/observations.h"
#include "calibration/robust.h"
#include "choices.h"
#include "in_memory.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS = 3, HOSTS = 8, ROWS = 12, COLUMNS = 8 };
#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

static const char *const odd[] = {"0",
                                  "-1",
                                  "1e308",
                                  "1e400",
                                  "nan",
                                  "inf",
                                  "N/A",
                                  "",
                                  "0x10",
                                  "1e-320",
                                  "1.5x",
                                  "\"",
                                  "\"\"",
                                  "\"1\"",
                                  "1,2",
                                  "\t",
                                  "#",
                                  "65536",
                                  "4294967296",
                                  "1e15",
                                  "1e18",
                                  "##",
                                  "999999999999999",
                                  "18446744073709551616",
                                  "Fail"};

static const char *word(struct choices *c, const char *good) {
  return perhaps(c, good, odd, COUNT(odd));
}

/* A number near what the row before had, in `text`. */
static const char *number(struct choices *c, double good, char *text, size_t room) {
  (void)snprintf(text, room, "%.6g", good * (1 + 0.01 * choose(c, 8)));
  return word(c, text);
}

static void write_ranks(struct choices *c, struct written *w) {
  static const char *const hosts[] = {"node0", "node1", "node2", ""};
  static const char *const cards[] = {"NVIDIA H100", "NVIDIA A100", "", "[["};
  const uint32_t ranks = choose(c, HOSTS + 1);
  for (uint32_t i = 0; i < ranks; i++) {
    char own[16];
    (void)snprintf(own, sizeof own, "%u", i);
    put(w, "#  Rank %s Group  0 Pid  %u on %s device  %u [0x0f] %s\n", word(c, own), 100 + i,
        choose(c, 4) < 3 ? hosts[i / 4] : hosts[choose(c, 4)], i % 4,
        choose(c, 8) < 7 ? cards[0] : cards[choose(c, 4)]);
  }
}

static void write_nccl(struct choices *c, struct written *w) {
  static const char *const tools[] = {"all_reduce_perf", "all_gather_perf", "alltoall_perf",
                                      "sendrecv_perf",   "osu_bw",          ""};
  char text[64];
  const uint32_t blocks = 1 + choose(c, 3);
  put(w, "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5\n# %s\n", tools[choose(c, 6)]);
  write_ranks(c, w);
  put(w, "# size count type redop root");
  for (uint32_t b = 0; b < blocks; b++) put(w, " time algbw busbw #wrong");
  put(w, "\n");
  for (uint32_t i = 0, rows = choose(c, ROWS); i < rows; i++) {
    const double bytes = 1024.0 * (1 << i);
    put(w, "%s ", number(c, bytes, text, sizeof text));
    put(w, "%s float sum -1", word(c, "256"));
    for (uint32_t b = 0; b < blocks; b++) {
      put(w, " %s", number(c, 10 + bytes * 1e-4, text, sizeof text));
      put(w, " %s", number(c, 4, text, sizeof text));
      put(w, " %s %s", word(c, "7"), word(c, "0"));
    }
    put(w, "\n");
  }
}

static void write_osu(struct choices *c, struct written *w) {
  static const char *const titles[] = {"Latency Test",           "Bandwidth Test",
                                       "Allreduce Latency Test", "All-to-All Personalized Exchange Latency Test",
                                       "Allgather Latency Test", "Nothing"};
  char text[64];
  if (choose(c, 4) == 0) put(w, "mpirun -n 4 ./osu_%s\n", choose(c, 2) ? "allreduce" : "latency");
  put(w, "# OSU MPI %s v7.%u\n# Size          Latency (us)\n", titles[choose(c, 6)], choose(c, 6));
  for (uint32_t i = 0, rows = choose(c, ROWS); i < rows; i++) {
    const double bytes = 1024.0 * (1 << i);
    put(w, "%s%s   ", choose(c, 8) == 7 ? "[1,0]<stdout>:" : "", number(c, bytes, text, sizeof text));
    put(w, "%s%s\n", number(c, 10 + bytes * 1e-4, text, sizeof text), choose(c, 12) == 11 ? " Fail" : "");
  }
}

static void write_table(struct choices *c, struct written *w) {
  static const char *const heads[] = {"collective",    "nodes",     "bytes",  "seconds",
                                      "gpus_per_node", "algorithm", "system", "library"};
  static const char *const cells[][COLUMNS] = {{"allreduce", "2", "1024", "1e-5", "4", "ring", "one", "NCCL"},
                                               {"alltoall", "4", "65536", "3e-5", "1", "", "one", "MPI"},
                                               {"sendrecv", "2", "1048576", "1e-3", "8", "tree", "two", ""}};
  const uint32_t columns = choose(c, 8) < 7 ? COLUMNS : 4;
  for (uint32_t i = 0; i < columns; i++)
    put(w, "%s%s", i ? "," : "", choose(c, 24) < 23 ? heads[i] : odd[choose(c, COUNT(odd))]);
  put(w, "%s\n", choose(c, 4) == 3 ? "\r" : "");
  for (uint32_t i = 0, rows = choose(c, ROWS); i < rows; i++) {
    const char *const *row = cells[choose(c, 3)];
    for (uint32_t k = 0; k < columns; k++) put(w, "%s%s", k ? "," : "", word(c, row[k]));
    put(w, "\n");
  }
}

/* What was read can be; its times by sizes have a line, or an error that says why not. */
static void use(const struct ss_observations *all) {
  struct ss_line_sample sample[RUNS * ROWS];
  struct ss_line line;
  struct ss_error error = {0};
  for (size_t i = 0; i < all->count; i++) {
    const struct ss_observation *o = &all->list[i];
    if (!(o->seconds > 0) || !isfinite(o->seconds) || o->nodes < 1 || o->per_node < 1 || !o->algorithm) abort();
    if ((uint64_t)o->nodes * o->per_node > SS_OBSERVATION_RANKS) abort();
    if (o->source >= all->sources || o->line < 1 || i >= RUNS * ROWS) abort();
    sample[i] = (struct ss_line_sample){0, (double)o->bytes, o->seconds};
  }
  if (!ss_line_fit(sample, all->count, &line, &error)) {
    if (error.status != SS_BAD_INPUT || strlen(error.text) < 10) abort();
    return;
  }
  if (!(line.per_byte > 0) || !isfinite(line.per_byte) || !(line.t0 >= 0) || !(line.per_byte_error >= 0)) abort();
  if (line.residuals.samples != all->count || line.residuals.outliers >= line.residuals.samples ||
      !(line.residuals.typical <= line.residuals.worst))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char text[1 << 16];
  char path[64];
  struct choices c = {data, data + size};
  struct written w = {text, sizeof text, 0};
  struct ss_observations all = {0};
  struct ss_error error = {0};
  const struct ss_reading reading = {
      .ranks = choose(&c, 4) * 2, .per_node = choose(&c, 3), .in_place = choose(&c, 4) == 3, .most = INFINITY};
  const uint32_t kind = choose(&c, 3);
  for (uint32_t i = 0, runs = kind == 2 ? 1 : 1 + choose(&c, RUNS); i < runs; i++)
    kind == 0 ? write_nccl(&c, &w) : kind == 1 ? write_osu(&c, &w) : write_table(&c, &w);
  const int file = in_memory(w.text, w.size, path, sizeof path);
  if (ss_observations_read(path, &reading, &all, &error)) use(&all);
  else if (error.status != SS_BAD_INPUT || strlen(error.text) < 10 || strchr(error.text, '\n')) abort();
  ss_observations_free(&all);
  put_away(file, path);
  return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
