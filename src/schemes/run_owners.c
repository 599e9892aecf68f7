#include "schemes/run.h"

#include "sim/collectives/running.h"
#include "sim/groups.h"
#include "tensor/sets.h"

bool ss_run_cut(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) {
  if (!ss_state_settle(run->state, sizeof *cut->domains, error)) return false;
  cut->domains = run->state->settled;
  cut->lasting = &run->state->lasting;
  cut->iteration = run->state->iteration;
  if (!cut->own) cut->own = run->own;
  cut->low = run->low;
  cut->high = run->high;
  cut->width = run->input->width;
  cut->coo = run->coo;
  return ss_cut_make(run->play, cut, error);
}

static double larger(double known, double now) {
  return now > known || isnan(known) ? now : known;
}

void ss_run_imbalance(struct ss_run *run, const struct ss_owners *owners) {
  struct ss_run_verdict *verdict = run->verdict;
  verdict->push_imbalance = larger(verdict->push_imbalance, owners->push_imbalance);
  verdict->pull_imbalance = larger(verdict->pull_imbalance, owners->pull_imbalance);
}

/* Somebody goes on with the sum; for a proof alone its parts need no order. */
static bool goes_on(const struct ss_run *run) {
  return ss_scheme_valued(run->setting->scheme) || run->result;
}

void ss_run_note_joined(struct ss_run *run, uint32_t rank, const struct ss_owners *owners,
                        const struct ss_chunk *sum) {
  struct ss_kernel_work work = {.calls = 1, .bytes = ss_wire_bytes(owners->pull, sum)};
  if (!goes_on(run) || owners->parts < 2 || !ss_play_notes(run->play)) return;
  for (uint32_t j = 0; j < owners->parts; j++) {
    const struct ss_chunk *part = &owners->aggregate[j];
    work.elements += ss_owners_endpoint(owners, j) == rank ? part->count : ss_wire_entries(owners->pull, part);
    work.bytes += ss_wire_bytes(owners->pull, part);
  }
  ss_play_note(run->play, rank, SS_KERNEL_MERGE_SUM, work);
}

static bool whole(struct ss_run *run, struct ss_owners *owners, uint32_t rank, struct ss_chunk *sum,
                  struct ss_error *error) {
  if (goes_on(run)) return ss_owners_whole(owners, rank, run->low, run->high, sum, error);
  SS_ASIDE;
  return ss_owners_whole(owners, rank, run->low, run->high, sum, error);
}

bool ss_run_pulled(struct ss_run *run, struct ss_owners *owners, struct ss_error *error) {
  struct ss_chunk sum;
  ss_run_imbalance(run, owners);
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!whole(run, owners, r, &sum, error)) return false;
    ss_run_note_joined(run, r, owners, &sum);
    ss_run_sparse(run, r, &sum, 0, NULL);
  }
  return true;
}

bool ss_run_owners(struct ss_run *run, struct ss_cut *cut, struct ss_error *error) {
  if (!ss_run_cut(run, cut, error)) return false;
  struct ss_owners *owners = &cut->owners;
  const bool ok =
      ss_owners_open(run->play, owners, error) && ss_cut_exchange(cut, error) && ss_run_pulled(run, owners, error);
  ss_owners_close(owners);
  return ok;
}

bool ss_run_running(struct ss_run *run, const struct ss_wire *wire, bool ring, struct ss_error *error) {
  const struct ss_operands own = {run->own, run->ranks, run->low, run->high};
  SS_AUTO(ss_running_close) struct ss_running sums = {0};
  if (!ss_running_open(run->play, wire, &own, &sums, error) ||
      !(ring ? ss_running_ring(&sums, run->own, error) : ss_running_doubling(&sums, error)))
    return false;
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++)
    if (ss_run_resident(run, r)) ss_run_sparse(run, r, &sums.held[r], 0, NULL);
  return true;
}

/* --- folds ------------------------------------------------------------------------------------------------- */

struct core {
  struct ss_run run;
  ss_core_body *body;
  void *context;
};

static bool run_core(void *context, uint32_t group, struct ss_play *play, struct ss_error *error) {
  struct core *core = context;
  (void)group;
  core->run.play = play;
  return core->body(&core->run, core->context, error);
}

bool ss_run_folded(struct ss_run *run, const struct ss_chunk *own, ss_core_body *body, void *context,
                   struct ss_chunk *result, struct ss_error *error) {
  const struct ss_fold fold = ss_fold_of(run->ranks);
  const struct ss_operands all = {own, run->ranks, run->low, run->high};
  struct core core = {*run, body, context};
  struct ss_chunk *given;
  uint32_t *rank;
  SS_AUTO(ss_running_close) struct ss_running sums = {0};
  if (!ss_running_open(run->play, &run->coo, &all, &sums, error) || !ss_running_fold_in(&sums, error)) return false;
  if (!ss_take(run->play->arena, rank, fold.Q) || !ss_take(run->play->arena, given, fold.Q) ||
      !ss_take_zero(run->play->arena, core.run.result, fold.Q))
    return ss_fail_memory(error, "folding ranks");
  for (uint32_t p = 0; p < fold.Q; p++) {
    rank[p] = ss_fold_member(fold, p);
    given[p] = sums.held[rank[p]];
    given[p].origin = p;
    given[p].part = 0;
  }
  core.run.ranks = fold.Q;
  core.run.per_node = 1;
  core.run.own = given;
  core.run.proof = NULL; /* the caller reports what all end with */
  const struct ss_group group = {.ranks = fold.Q, .rank = rank};
  if (!ss_groups_play(run->play, 1, &group, run_core, &core, error)) return false;
  for (uint32_t p = 0; p < fold.Q; p++) {
    sums.held[rank[p]] = core.run.result[p];
    SS_ASIDE; /* who decodes what is dense lists them so */
    if (!ss_chunk_drop_zeros(&sums.held[rank[p]], run->play->arena, error)) return false;
  }
  if (!ss_running_fold_out(&sums, error)) return false;
  memcpy(result, sums.held, run->ranks * sizeof *result);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
