/* What benchmarks measured: times of collectives, read from nccl-tests' and OSU's logs and from tables, any mix of
 * them, of one cluster. */
#pragma once

#include "base/file.h"
#include "base/notice.h"
#include "sim/collectives/patterns.h"

/* RANKS: an exchange among more is more messages than can be played again and again. */
enum { SS_OBSERVATIONS_MAX = 4096, SS_OBSERVATION_RANKS = 4096 };

struct ss_observation {
  const struct ss_algorithm *algorithm;
  bool supposed;                /* the benchmark does not say the algorithm, */
  bool open;                    /* nor does the user: small ones may have been played by another */
  bool stream;                  /* osu_bw: messages overlap, so that the start-up is none of the link's */
  enum ss_library_kind library; /* whose code it is; of a benchmark's own over MPI's sends Open MPI's */
  uint32_t source;              /* which file, and where in it: */
  uint32_t line;
  uint32_t nodes, per_node; /* ranks on each */
  uint64_t bytes;           /* as enum ss_collective has them */
  double seconds;
  double quartiles; /* the third of the calls, over the first; 0: not said */
};

struct ss_observations {
  struct ss_observation *list;
  size_t count;
  char **source;            /* names of the files, as they were given */
  uint32_t sources, logs;   /* logs: so many of them are no tables */
  char system[64];          /* of the first table that says it: "polaris"; "" none does */
  char hardware[64];        /* of the first log that says it: "NVIDIA H100 80GB HBM3" */
  uint32_t hardware_source; /* which log that was */
  uint32_t skipped;         /* rows without a time, in all */
  uint32_t of_gloo;         /* of the list, what tables say to be gloo's */
};

/* How logs are to be read where they leave something open, and what of them. */
struct ss_reading {
  const char **tool;  /* [tools] "alltoall_perf", where logs do not say, or "FILE=alltoall_perf" of one log */
  const char **found; /* [tools] out: this program where a log took or says it, else one that a log says, or NULL */
  size_t tools;
  uint32_t ranks;     /* where the log does not say; 0 */
  uint32_t per_node;  /* where the log does not say; 0 */
  bool in_place;      /* of nccl-tests: those columns, instead of out of place */
  double least, most; /* B: only rows of these sizes, as the log has them */
  const char **where; /* COLUMN=VALUE: only such rows of tables */
  size_t wheres;
  const char **suppose; /* COLLECTIVE=ALGORITHM: where the log hides it */
  size_t supposes;
  bool *supposed;                 /* [supposes] out: this was supposed of a time */
  const struct ss_notice *notice; /* what was left out; may be NULL */
};

/* Appends what the file says. A table (CSV) begins with names of columns, a log with anything else. At most 64 MiB,
 * and lines of at most 4095 bytes in logs. What cannot be so is SS_BAD_INPUT by file and line; rows without a time
 * are left out, and told. */
bool ss_observations_read(const char *path, const struct ss_reading *reading, struct ss_observations *out,
                          struct ss_error *error) SS_MUST_CHECK;
void ss_observations_free(struct ss_observations *all);

/* --- for the readers ----------------------------------------------------------------------------------------- */

/* Gives an observation, whose `library` is set, the algorithm that "alltoall=linear" among what is supposed says,
 * else what is usual, in MPI or in NCCL; fails where there is no such. */
bool ss_reading_suppose(const struct ss_reading *reading, enum ss_collective collective, struct ss_observation *one,
                        struct ss_error *error) SS_MUST_CHECK;
/* Appends one, of the last source; or not, as its size and time have it. */
bool ss_observations_add(struct ss_observations *all, const struct ss_reading *reading, double size,
                         const struct ss_observation *one, struct ss_error *error) SS_MUST_CHECK;

/* The program in "alltoall_perf" or "FILE=alltoall_perf"; NULL: no such logs can be read. */
const char *ss_tool_name(const char *text, struct ss_error *error) SS_MUST_CHECK;
/* Whether "FILE=alltoall_perf" is said of this file, by its path or its name. */
bool ss_tool_is_of(const char *text, const char *path);
bool ss_log_read(const char *path, const struct ss_mapping *text, const struct ss_reading *reading,
                 struct ss_observations *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
