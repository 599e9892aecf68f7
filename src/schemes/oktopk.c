/* Ok-Topk (Li & Hoefler 2022; SparDL §1, Table 1): local top-k, cut into regions that hold about equally much; region
 * j of every rank goes to rank j, which sums and keeps what reaches a global threshold; what was kept is evened out
 * over ranks when it must be, and all-gathered. A rank forgets what it selected and the result has too.
 *
 * Thresholds last: every 32nd iteration a Bruck all-gather of all sums, cancelled ones too, ends the iteration and
 * gives the global one. What the others do about them:
 *
 * exact   exactly k everywhere, ties to the lower index, as if thresholds (and how many ties to take) were known: no
 *         message brings them (ss_play_pool does, where ranks live in several processes).
 * reused  a threshold is the smallest magnitude kept at the last re-evaluation (0: none was), as a real number; 1.012
 *         and 1.008 change it for the next iteration, 1.03 for this one too. A re-evaluation starts both anew.
 *
 * Check: 64 rows of 4 floats, 16 on each of 2 ranks, none shared, 1 us and 1 ns a byte, {"k": 64}: 2*(1 + 0.008) +
 * (1 + 0.256) + (1 + 0.528) = 4.8 us; the cut is an average of 128 and 132: a number each way, then 32 of the
 * other rank's entries of 4 + 4 bytes, then the 66 sums of the larger region. */
#include "schemes/oktopk.h"
#include "schemes/scheme.h"

#include "tensor/topk.h"

enum thresholds { EXACT, REUSED };
static const char *const thresholds[] = {"exact", "reused", NULL};
enum { THRESHOLDS = SS_K_OPTIONS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [SS_DENSITY] = SS_OPTION_DENSITY,
    [SS_K] = SS_OPTION_K,
    [THRESHOLDS] = {"thresholds", SS_OPTION_CHOICE, thresholds, 0, 0, EXACT,
                    "k exactly, or by thresholds of earlier iterations"},
};

/* Iterations that thresholds and cuts last. */
enum { THRESHOLDS_LAST = 32, CUTS_LAST = 64 };

/* --- what ranks select ---------------------------------------------------------------------------------- */

static bool select_local(struct ss_oktopk *o, uint32_t r, struct ss_error *error) {
  struct ss_chunk *copy = &o->copy[r], *selected = &o->selected[r];
  double *threshold = &o->each[r].threshold;
  if (!o->reused || o->evaluate) {
    if (!ss_run_select(o->run, r, o->k, copy, selected, error)) return false;
    *threshold = ss_oktopk_smallest(selected);
    return true;
  }
  if (!ss_run_copy(o->run, r, copy, error) || !ss_oktopk_reach(o, copy, *threshold, selected, error)) return false;
  for (int i = 0; i < 5 && 3 * selected->count > 4 * o->k; i++) {
    *threshold *= 1.03;
    if (!ss_oktopk_reach(o, selected, *threshold, selected, error)) return false;
  }
  if (4 * selected->count > 5 * o->k) *threshold *= 1.012;
  else if (3 * selected->count < 2 * o->k) *threshold /= 1.012;
  return true;
}

/* --- regions, and even runs ----------------------------------------------------------------------------- */

static struct ss_chunk region(const void *context, uint32_t part) {
  const struct ss_oktopk *o = context;
  const uint64_t end = part + 1 < o->run->ranks ? o->each[part + 1].begin : o->run->high;
  return (struct ss_chunk){.low = o->each[part].begin, .high = end, .width = 1, .stride = 1};
}

static bool slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_oktopk *o = context;
  const struct ss_chunk range = region(o, part);
  (void)error;
  *out = ss_chunk_slice(&o->selected[rank], range.low, range.high);
  out->part = part;
  return true;
}

static struct ss_chunk anywhere(const void *context, uint32_t part) {
  const struct ss_oktopk *o = context;
  (void)part;
  return (struct ss_chunk){.low = o->run->low, .high = o->run->high, .width = 1, .stride = 1};
}

/* What `from` kept of run `to` of all that was kept, the ranks' one after the other. */
static bool piece(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_oktopk *o = context;
  const uint32_t P = o->run->ranks;
  const uint64_t first = o->upto[from], last = o->upto[from + 1];
  uint64_t low = ss_share(o->upto[P], P, to), high = ss_share(o->upto[P], P, to + 1);
  (void)error;
  if (low < first) low = first;
  if (high > last) high = last;
  *out = o->regions.aggregate[from];
  if (ss_run_resident(o->run, from))
    *out = low < high ? ss_chunk_entries(out, low - first, high - low) : ss_chunk_entries(out, 0, 0);
  out->part = to;
  return true;
}

static bool uneven(const struct ss_oktopk *o) {
  const uint32_t P = o->run->ranks;
  uint64_t most = 0;
  for (uint32_t j = 0; j < P; j++)
    if (o->upto[j + 1] - o->upto[j] > most) most = o->upto[j + 1] - o->upto[j];
  return most * P > 4 * o->upto[P];
}

/* Ranks to owners, who sum. Where both ends are here, what came other than it was sent is a mismatch: all ranks get
 * the same sums of it, so that nothing later shows it. */
static bool push(const struct ss_run *run, struct ss_owners *owners, struct ss_error *error) {
  if (!ss_owners_push(owners, error)) return false;
  if (owners->pushed.others > 0 && ss_oktopk_everyone_here(run))
    ss_play_mismatch(owners->play, "rank %u received other entries than were sent", owners->pushed.other->receiver);
  return ss_owners_sum(owners, error);
}

/* --- an iteration --------------------------------------------------------------------------------------- */

/* The split, and what becomes of the sums until all ranks have them: in `regions`, or in `runs`. */
static bool reduce(struct ss_oktopk *o, struct ss_owners **last, struct ss_error *error) {
  *last = &o->regions;
  if (!push(o->run, &o->regions, error)) return false;
  if (!o->evaluate) {
    if (!ss_oktopk_keep_above(o, error) || !ss_oktopk_share_sizes(o, error)) return false;
    const uint64_t kept = o->upto[o->run->ranks];
    if (3 * kept > 4 * o->k) o->all->threshold *= 1.008;
    else if (3 * kept < 2 * o->k) o->all->threshold /= 1.008;
    o->regions.counted = false; /* sizes are known now, whatever the play wants */
    if (uneven(o)) *last = &o->runs;
    if (uneven(o) && !push(o->run, &o->runs, error)) return false;
  }
  return ss_owners_pull_bruck(*last, error);
}

static bool finish(struct ss_oktopk *o, struct ss_owners *last, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_chunk held = {0}, whole, result = {0};
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!ss_owners_whole(last, r, run->low, run->high, &whole, error)) return false;
    if (!held.rows || !ss_chunk_same(&whole, &held)) {
      held = result = whole;
      if (o->evaluate && !ss_topk(&whole, o->k, run->play->arena, &result, error)) return false;
      if (o->evaluate) o->all->threshold = ss_oktopk_smallest(&result);
    }
    ss_run_sparse(run, r, &result, 0, NULL);
    if (!ss_run_keep_unapplied(run, r, &o->copy[r], &o->selected[r], &result, error)) return false;
  }
  return true;
}

static bool run_oktopk(struct ss_run *run, struct ss_error *error) {
  const uint32_t P = run->ranks;
  const struct ss_owners owners = {.parts = P, .push = &run->coo, .pull = &run->coo};
  struct ss_oktopk o = {.run = run,
                        .each = run->state->each,
                        .all = run->state->own,
                        .k = ss_run_k(run),
                        .reused = run->setting->value[THRESHOLDS] == REUSED,
                        .evaluate = run->state->iteration % THRESHOLDS_LAST == 0,
                        .regions = owners,
                        .runs = owners};
  struct ss_owners *last;
  o.copy = ss_arena_alloc(run->play->arena, P, sizeof *o.copy);
  o.selected = ss_arena_alloc(run->play->arena, P, sizeof *o.selected);
  if (!o.copy || !o.selected) return ss_fail_memory(error, "selecting entries");
  for (uint32_t r = 0; r < P; r++)
    if (!select_local(&o, r, error)) return false;
  if (run->state->iteration % CUTS_LAST == 0 && !ss_oktopk_cut_regions(&o, error)) return false;
  o.regions.counted = true;
  o.regions.range = region;
  o.regions.slice = slice;
  o.runs.range = anywhere;
  o.runs.slice = piece;
  o.regions.context = o.runs.context = &o;
  const bool ok = ss_owners_open(run->play, &o.regions, error) && ss_owners_open(run->play, &o.runs, error) &&
                  reduce(&o, &last, error) && finish(&o, last, error);
  ss_owners_close(&o.regions);
  ss_owners_close(&o.runs);
  return ok;
}

const struct ss_scheme ss_scheme_oktopk = {
    .name = "oktopk",
    .summary = "Local top-k; regions of even load are summed and cut by a global threshold",
    .source = "Li & Hoefler 2022 (Ok-Topk); SparDL §1, Table 1",
    .options = options,
    .content = SS_SENDS_LARGEST,
    .traits = {.conserves = true},
    .state_size = sizeof(struct ss_oktopk_all),
    .rank_state_size = sizeof(struct ss_oktopk_rank),
    .run = run_oktopk,
};
