/* Lookups that follow a histogram of reuse: which share of a batch's lookups goes to rows that the batch looks up
 * once, twice, 3 to 4 times, ... So Meta publishes the reuse of its production-like tables
 * (facebookresearch/dlrm_datasets, README.md, "Reuse pattern", and locality_stats.txt: "Ratio of index distribution
 * at different column sizes").
 *
 * Draws are independent of one another, so that a row is looked up a Poisson number of times, and the rows' means are
 * what is sought: a mixture of Poisson laws whose expected shares are those of the histogram, found by expectation
 * maximisation over means that lie a factor of sqrt(2) apart. The least mean is what makes the table's rows. */
#pragma once

#include "base/base.h"

enum { SS_REUSE_BINS_MAX = 40, SS_REUSE_CLASSES_MAX = 160 };

struct ss_reuse {
  size_t bins;
  struct {
    uint64_t above, most; /* lookups of a row: (above, most] */
    double share;         /* of all lookups; all together 1 */
  } bin[SS_REUSE_BINS_MAX];
};

/* Reads lines "(A, B]: SHARE" that follow one another, the last perhaps "(A+: SHARE", which is read as (A, 2A]. The
 * first histogram of the file counts, of locality_stats.txt the first of lookups; lines of other words are skipped.
 */
bool ss_reuse_read(const char *path, struct ss_reuse *out, struct ss_error *error) SS_MUST_CHECK;
/* The same of a text in memory; `name` stands for the path. */
bool ss_reuse_parse(const char *name, const char *text, size_t size, struct ss_reuse *out,
                    struct ss_error *error) SS_MUST_CHECK;

/* Rows that are equally popular, the most popular first. */
struct ss_reuse_law {
  size_t classes;
  struct {
    double until; /* share of the lookups of this class and those before it */
    uint64_t first, rows;
  } class[SS_REUSE_CLASSES_MAX];
  double off; /* how far an expected share is from the histogram's at most */
};

/* For `lookups` in a batch of a table of `rows`. Too few rows are an error that says how many it takes. */
bool ss_reuse_fit(const struct ss_reuse *reuse, uint64_t lookups, uint64_t rows, struct ss_reuse_law *out,
                  struct ss_error *error) SS_MUST_CHECK;
/* A row, 0 the most popular, from the stream of random numbers that `key` names. */
uint64_t ss_reuse_draw(const struct ss_reuse_law *law, uint64_t key);
/* SPDX-License-Identifier: Apache-2.0 */
