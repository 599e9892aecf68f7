/* Work: many items, each computed by itself, on several threads. What comes out does not depend on how many there
 * are: the error is that of the first item, in order, that failed. */
#pragma once

#include "base/json.h"
#include "base/watcher.h"

struct ss_work {
  void *context;                    /* what all functions get */
  size_t count;                     /* items */
  unsigned jobs;                    /* threads; 0: one a core */
  const struct ss_watcher *watcher; /* asked before each item whether to go on; NULL: nobody */

  /* What one of so many threads keeps from item to item; NULL: memory is short. Both may be absent: nothing. */
  void *(*open_worker)(void *context, unsigned threads);
  void (*close_worker)(void *worker);
  /* Several at once. Where an item failed, those behind it need not be computed any more. */
  bool (*compute)(void *context, void *worker, size_t item, struct ss_error *error);
  /* The item was computed. One call at a time, in any order; none once an item has failed. NULL: nobody asks. */
  bool (*finished)(void *context, size_t item, struct ss_error *error);

  /* Where processes share the items (share/share.h): what was computed of one, as JSON, and here no longer; NULL:
   * memory is short. And the same taken in by the process that gathers all, whoever computed it. */
  struct cJSON *(*write)(void *context, size_t item);
  bool (*read)(void *context, size_t item, struct ss_node node, struct ss_error *error);
  /* All is being ended: adds to the error's text what is missing, the items that are not done[item]. */
  void (*missing)(void *context, const bool *done, struct ss_error *error);
  const char *what; /* items, for the user: "simulations" */
};

/* How many threads `jobs` are. */
unsigned ss_work_threads(unsigned jobs);
/* One item, on the thread whose worker that is: for those who hand them out. */
bool ss_work_compute(const struct ss_work *work, void *worker, size_t item, struct ss_error *error) SS_MUST_CHECK;
/* Computes all items in this process. */
bool ss_work_run(const struct ss_work *work, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
