/* gTopk (SparDL §1, Table 1; Shi et al. 2019): local top-k; up a binomial tree, in which every receiver adds and
 * selects k again; the root's k go back by broadcast. What is dropped on the way is lost: a rank forgets only what it
 * selected and the result has too.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"k": 8}: 4*(1 + 0.064) =
 * 4.256 us; 8 entries of 4 + 4 bytes twice up and twice down. */
#include "schemes/run.h"
#include "schemes/scheme.h"

static const struct ss_option options[SS_K_OPTIONS + 1] = {
    [SS_DENSITY] = SS_OPTION_DENSITY,
    [SS_K] = SS_OPTION_K,
};

struct gtopk {
  struct ss_run *run;
  uint64_t k;
  struct ss_chunk *copy, *selected; /* [ranks] */
  uint64_t *bytes;                  /* [ranks] of what each has selected on the way */
  struct ss_chunk *held;            /* [ranks] what each has added up; then the result */
};

/* Receiver of message `at` adds what came, and selects. */
static bool merge(struct gtopk *g, uint32_t at, struct ss_error *error) {
  struct ss_play *play = g->run->play;
  const uint32_t to = play->to[at];
  const struct ss_chunk *got = ss_play_due(play, at, play->from[at], 0);
  if (!got) return true;
  struct ss_chunk sum = g->held[to];
  if (!ss_play_add(play, to, &g->run->coo, &sum, got, error)) return false;
  const uint64_t summed = ss_wire_bytes(&play->listed, &sum);
  ss_play_hold(play, to, summed);
  if (!ss_play_top_k(play, to, &sum, g->k, &g->held[to], error)) return false;
  ss_play_renew(play, to, &g->bytes[to], &g->held[to]);
  ss_play_drop(play, to, summed);
  return true;
}

static bool reduce(struct gtopk *g, struct ss_error *error) {
  struct ss_play *play = g->run->play;
  for (uint32_t step = 1; step < g->run->ranks; step *= 2) {
    uint32_t n = 0;
    for (uint32_t p = step; p < g->run->ranks; p += 2 * step, n++) {
      play->given[n] = g->held[p];
      ss_play_put(play, n, p, p - step, &g->run->coo, &play->given[n]);
    }
    if (!ss_play_sends(play, n, &g->run->coo, error)) return false;
    ss_play_hold_messages(play, n);
    for (uint32_t i = 0; i < n; i++)
      if (!merge(g, i, error)) return false;
    ss_play_drop_messages(play, n);
  }
  return true;
}

static bool run_gtopk(struct ss_run *run, struct ss_error *error) {
  struct gtopk g = {.run = run, .k = ss_run_k(run)};
  if (!ss_take(run->play->arena, g.copy, run->ranks) || !ss_take(run->play->arena, g.selected, run->ranks) ||
      !ss_take(run->play->arena, g.held, run->ranks) || !ss_take_zero(run->play->arena, g.bytes, run->ranks))
    return ss_fail_memory(error, "selecting entries");
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_select(run, r, g.k, &g.copy[r], &g.selected[r], error)) return false;
    g.held[r] = g.selected[r];
    g.held[r].origin = r;
  }
  if (!reduce(&g, error)) return false;
  for (uint32_t r = 1; r < run->ranks; r++) {
    g.held[r].origin = 0;
    g.held[r].count = 0; /* the content is the root's */
  }
  if (!ss_announce_sizes(run->play, error) || !ss_broadcast_binomial(run->play, 0, &run->coo, g.held, error))
    return false;
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    ss_run_sparse(run, r, &g.held[r], 0, NULL);
    if (!ss_run_keep_unapplied(run, r, &g.copy[r], &g.selected[r], &g.held[r], error)) return false;
  }
  return true;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t ranks = layout.ranks;
  (void)setting;
  if ((ranks & (ranks - 1)) != 0)
    return ss_fail(error, SS_BAD_INPUT, "gTopk's tree takes a power of two, not %u ranks (say %u or %u)", ranks,
                   ss_fold_of(ranks).Q, 2 * ss_fold_of(ranks).Q);
  return true;
}

const struct ss_scheme ss_scheme_gtopk = {
    .name = "gtopk",
    .summary = "Local top-k up a binomial tree, selected again at every step, and broadcast",
    .source = "Shi et al. 2019 (gTopk); SparDL Table 1",
    .options = options,
    .content = SS_SENDS_LARGEST,
    .traits = {.sends = true},
    .check = check,
    .run = run_gtopk,
};
/* SPDX-License-Identifier: Apache-2.0 */
