/* Does the fastest scheme depend on how many messages a port has under way (a cluster's "window")?
 *
 * Few know their library's window: sendrecv has one message under way, receives posted ahead have all. Who wins under
 * both does not depend on it; an answer that turns needs the window to be known. */
#pragma once

#include "study/study.h"

/* The fastest of one cell and tensor, here and with the other window. */
struct ss_turn {
  const struct ss_result *faster, *slower; /* with the cluster's own window, as are the times in them */
  double faster_other, slower_other;       /* s with the other window: the second is less */
  uint32_t window, other;                  /* UINT32_MAX: all */
};

struct ss_turns {
  struct ss_turn *turn; /* in the order of the results */
  size_t count;
};

/* Where another of `results` (of this study, with "*" as it has them) is the fastest with the other window
 * (ss_other_window), unless draws have it already. Times that differ by less than 1e-9 of themselves are equal, and
 * no turn. Under the model "alpha-beta", and with one rank, there is no window.
 *
 * Simulates every other point once more, without proofs; told to options->watcher. What turns point to is the
 * results', which must outlive them. */
bool ss_study_turns(const struct ss_study *study, const struct ss_results *results,
                    const struct ss_run_options *options, struct ss_turns *out, struct ss_error *error) SS_MUST_CHECK;
void ss_turns_free(struct ss_turns *turns);

/* "with window 1 a takes 1.2 ms and b 1.5 ms, with window all a 3 ms and b 2 ms"; returns `buffer`. */
enum { SS_TURN_TEXT_SIZE = 420 };
const char *ss_turn_text(const struct ss_turn *turn, char *buffer, size_t size);
/* "all", "4"; returns one of them or `text`. */
const char *ss_window_text(uint32_t window, char text[16]);
/* SPDX-License-Identifier: Apache-2.0 */
