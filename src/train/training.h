/* Training runs: every workload under every system at every rank count. */
#pragma once

#include "train/assumed.h"
#include "train/durations.h"
#include "train/iterate.h"

/* A workload with what feeds it. */
struct ss_fed_workload {
  struct ss_workload workload;
  struct ss_lookups *lookups;         /* [modules], of the embeddings */
  uint64_t cycle;                     /* iterations that differ: 1, or the longest feed */
  const struct ss_fed_workload *like; /* whose rows are borrowed where they are the same, or else those of its own
                                      `like`; they outlive it. NULL: none */
};

/* By how much what is told of an iteration grows, each component being dearer, in s for a component twice as dear;
 * `mean` adds up to the iteration at most. Where time goes in steps: what it takes in plays of which each draws all.
 */
enum { SS_STEP_PLAYS = 100 };
struct ss_training_parts {
  struct ss_components mean, busy, hidden; /* hidden: seconds, of those in which channels are busy */
  double played[SS_STEP_PLAYS];            /* [plays] s, rising */
  size_t plays;
};

/* What is told of an iteration with a range. */
enum ss_told {
  SS_TOLD_ITERATION,
  SS_TOLD_COMPUTE,
  SS_TOLD_STALL,
  SS_TOLD_SPLIT,
  SS_TOLD_COMMUNICATION,
  SS_TOLD_HIDDEN,
  SS_TOLD_TOKENS,
  SS_TOLD_SPEEDUP,
  SS_TOLD_SCALING,
  SS_TOLD
};

/* What an iteration would take if one thing were different. */
struct ss_help {
  const char *what; /* "without interference", "with a second channel", ... */
  double mean;      /* s */
  struct ss_training_parts parts;
  struct ss_likely range, speedup; /* of it, and of the iteration to it; as those of the point */
};
enum { SS_HELPS = 6 };

/* What most of the critical path goes to; of what is sent, whether the bytes of one link need most of that time, a
 * link of the cluster or one to the memory of a machine, or the start-ups of messages do. */
enum ss_bound {
  SS_BOUND_COMPUTE,
  SS_BOUND_SOFTWARE,
  SS_BOUND_LINK,
  SS_BOUND_HOST,
  SS_BOUND_STARTUPS,
  SS_BOUND_COMMUNICATION,
  SS_BOUNDS
};
/* "compute", "software", "link", "host path", "start-ups", "communication" */
const char *ss_bound_name(enum ss_bound bound);

struct ss_training_point {
  const struct ss_fed_workload *fed;
  const struct ss_system *system;
  uint32_t ranks;
  struct ss_assumed assumed; /* in place of what the models say */
  const double *gradient;    /* [gradient_period][modules] B that the optimizer goes through; NULL: nobody asked */
  uint32_t gradient_period;
  struct ss_timetable timetable;
  struct ss_timetable
      bare; /* the same, where nothing is copied through the memory of machines; zeroed: nobody asks */
  struct ss_iterate_options options;
  struct ss_iterated result; /* on even links */
  struct ss_fan fan;         /* s: mean iterations over draws of uneven links; NaN: none were drawn */
  struct ss_path_part *path;
  size_t paths;
  enum ss_bound bound, beside; /* beside: takes as much, to a tenth of the path; SS_BOUNDS: nothing does */
  double compute, software, communication; /* shares of the path */
  struct ss_help help[SS_HELPS]; /* [helps] of the fastest system of its workload and rank count; the best first */
  size_t helps;
  struct ss_uncertainty uncertainty; /* ss_certain: nobody asks */
  struct ss_training_parts parts;    /* of what is uncertain */
  double tokens;                     /* a second, all ranks; NaN: not known */
  double speedup;                    /* over the fastest baseline at these ranks; NaN: there is none */
  struct ss_likely likely[SS_TOLD];  /* over draws; NaN: nothing is uncertain. The caller's to set, as is the next */
  double wins;                       /* share of the draws in which no system is faster there */
  double server_peak;                /* B that a server holds at most, 0: there is none */
  double peak;                       /* B that a rank holds at most (docs/training.md, "Memory") */
  double scaling;                    /* share of linear scaling from the smallest rank count */
  bool all_dense; /* the tables too: all ranks are in one node, where the system's hierarchy sums densely */
  double sampled; /* how many times larger the largest sampled tensor is; 1: none is sampled */
};

/* How all-reduces are played that name no algorithm: as libraries take them, or by rings. */
enum ss_all_reduces { SS_ALL_REDUCES_FASTEST, SS_ALL_REDUCES_RING };

/* How many ranks of a machine shared its cores when passes were timed: where a node of the cluster has others, each
 * has another share of a core. */
struct ss_shared_cores {
  uint32_t ranks, cores; /* ranks 0: passes last as they are said */
  double busy;           /* share of them that is computing */
  uint32_t then, most;   /* ranks of a node when passes were timed, and those that fit into one of the cluster */
};

struct ss_training {
  struct ss_fed_workload *workload;
  size_t workloads;
  struct ss_system *system;
  size_t systems;
  const uint32_t *ranks; /* [rank_counts], the caller's */
  size_t rank_counts;
  bool replayed;                /* points will be played again with other software */
  bool helps;                   /* what would help the fastest is found: it takes more plays */
  bool skips;                   /* nobody named the systems: those that cannot run somewhere are left out there */
  size_t asked;                 /* but for the first so many */
  const struct ss_trace *trace; /* NULL: none */
  uint32_t merge;
  enum ss_all_reduces all_reduces;
  const struct ss_inferred *inferred; /* NULL: nothing is */
  struct ss_setting said;             /* of sizes and messages of unlike lengths, where systems say nothing */
  struct ss_iterate_options options;  /* iterations 0: two cycles; warmup and recorded are set here */
  struct ss_shared_cores cores;       /* of a capture */
  struct ss_durations durations;      /* cluster, device and verify are the caller's to set */
  struct ss_training_point *point;
  size_t points;
};

/* Reads the lookups of a workload that was read into fed->workload. */
bool ss_fed_workload_open(struct ss_fed_workload *fed, const struct ss_feeding *feeding,
                          struct ss_error *error) SS_MUST_CHECK;

/* Lists points and what has to be simulated for them: systems that cannot run at some rank count are errors. */
bool ss_training_prepare(struct ss_training *training, struct ss_error *error) SS_MUST_CHECK;
/* B of the call that the task is, in its first iteration, as its collective has them. */
uint64_t ss_task_call_bytes(const struct ss_training *training, const struct ss_training_point *p,
                            const struct ss_task *task);
/* How many times as long passes take where so many ranks share cores. */
double ss_training_crowded(const struct ss_training *training, uint32_t ranks);
/* May it be called the fastest: does it fit into the device's memory, or does none at its workload and rank count? */
bool ss_training_may_win(const struct ss_training *training, const struct ss_training_point *point);
/* Plays all points, after ss_durations_make. With another `compute` it may be called again. */
bool ss_training_play(struct ss_training *training, unsigned jobs, struct ss_error *error) SS_MUST_CHECK;
/* Gives the timetable the time that its software takes before forward passes; `p` keeps, as ss_training_play finds
 * it, what the optimizer goes through. */
bool ss_training_steps(const struct ss_training_point *p, struct ss_timetable *timetable, struct ss_arena *arena,
                       struct ss_error *error) SS_MUST_CHECK;
void ss_training_free(struct ss_training *training);
/* SPDX-License-Identifier: Apache-2.0 */
