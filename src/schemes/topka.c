/* TopkA, a plain top-k baseline of SparDL's Table 1: every rank selects the k largest entries of its gradient and old
 * residual, and keeps the rest; the selections are all-gathered by recursive doubling (SparDL §1).
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"k": 8}: (1 + 0.064) + (1
 * + 0.128) = 2.192 us; 8 entries of 4 + 4 bytes, then those of two ranks. */
#include "schemes/run.h"
#include "schemes/scheme.h"

static const struct ss_option options[SS_K_OPTIONS + 1] = {[SS_DENSITY] = SS_OPTION_DENSITY, [SS_K] = SS_OPTION_K};

static bool run_topka(struct ss_run *run, struct ss_error *error) {
  struct ss_chunk *selected;
  return ss_run_select_all(run, &selected, error) &&
         ss_run_allgather(run, selected, &run->coo, ss_allgather_doubling, error);
}

static const struct ss_offered offered[] = {
    {.offer = {"GRACE", "grace_dl.dist: compressor topk, memory residual, communicator allgather",
               "https://github.com/sands-lab/grace", SS_NO_LIBRARY}},
    {.option = NULL}};

const struct ss_scheme ss_scheme_topka = {
    .name = "topka",
    .summary = "Local top-k, all-gathered by recursive doubling; the rest waits",
    .source = "SparDL §1, Table 1 (TopkA)",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_LARGEST,
    .traits = {.conserves = true},
    .run = run_topka,
};
/* SPDX-License-Identifier: Apache-2.0 */
