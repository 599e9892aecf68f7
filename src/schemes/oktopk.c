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
#include "schemes/run.h"
#include "schemes/scheme.h"
#include "tensor/topk.h"

enum thresholds { EXACT, REUSED };
static const char *const thresholds[] = {"exact", "reused", NULL};
enum { THRESHOLDS = SS_K_OPTIONS, FOLDS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [SS_DENSITY] = SS_OPTION_DENSITY,
    [SS_K] = SS_OPTION_K,
    [THRESHOLDS] = {"thresholds", SS_OPTION_CHOICE, thresholds, 0, 0, EXACT,
                    "k exactly, or by thresholds of earlier iterations", NULL},
    [FOLDS] = SS_OPTION_FOLDS,
};

/* Iterations that thresholds and cuts last. */
enum { THRESHOLDS_LAST = 32, CUTS_LAST = 64 };

/* Of every rank, kept from iteration to iteration. */
struct rank_state {
  double threshold; /* the least magnitude that it selects, in units */
  uint64_t begin;   /* the first row of its region */
};

struct oktopk {
  struct ss_run *run;
  struct rank_state *each; /* [ranks] */
  double *threshold;       /* the least magnitude of a sum that owners keep, in units; kept likewise */
  uint64_t k;
  bool reused;                      /* thresholds: those of earlier iterations, not exact ones */
  bool evaluate;                    /* in this iteration thresholds are evaluated anew */
  struct ss_chunk *copy, *selected; /* [ranks of all] what each has, and selects of it */
  const struct ss_chunk *given;     /* [ranks] what is summed: the selections, of folded pairs their sum */
  struct ss_chunk *result;          /* [ranks] */
  struct ss_owners regions, runs;   /* what ranks hold of the sum; and evened out */
  uint64_t *upto;                   /* [ranks + 1] entries kept by the ranks before this one */
  uint64_t *cuts;                   /* [ranks] the sum of where ranks would have each region begin */
};

/* Every rank lives in this process. */
static bool everyone_here(const struct ss_run *run) {
  for (uint32_t r = 0; r < run->ranks; r++)
    if (!ss_run_resident(run, r)) return false;
  return true;
}

/* --- what ranks select ---------------------------------------------------------------------------------- */

/* The entries that reach the threshold. */
static bool reach(const struct oktopk *o, uint32_t rank, const struct ss_chunk *from, double threshold,
                  struct ss_chunk *out, struct ss_error *error) {
  const struct ss_chunk all = *from;
  if (!ss_at_least(from, (uint64_t)ceil(threshold), o->run->play->arena, out, error)) return false;
  ss_play_note_filter(o->run->play, rank, &all, out);
  return true;
}

static bool select_local(struct oktopk *o, uint32_t r, struct ss_error *error) {
  struct ss_chunk *copy = &o->copy[r], *selected = &o->selected[r];
  double *threshold = &o->each[r].threshold;
  if (!o->reused || o->evaluate) {
    if (!ss_run_select(o->run, r, o->k, copy, selected, error)) return false;
    *threshold = (double)ss_smallest(selected);
    return true;
  }
  if (!ss_run_copy(o->run, r, copy, error) || !reach(o, r, copy, *threshold, selected, error)) return false;
  for (int i = 0; i < 5 && 3 * selected->count > 4 * o->k; i++) {
    *threshold *= 1.03;
    if (!reach(o, r, selected, *threshold, selected, error)) return false;
  }
  ss_play_renew(o->run->play, r, NULL, selected);
  if (4 * selected->count > 5 * o->k) *threshold *= 1.012;
  else if (3 * selected->count < 2 * o->k) *threshold /= 1.012;
  return true;
}

/* --- where regions begin -------------------------------------------------------------------------------- */

/* P - 1 numbers that ranks sum: unit j > 0 is where region j begins, unit 0 is empty. */
static bool give_cut(void *context, uint32_t r, struct ss_arena *arena, struct ss_chunk *chunk,
                     struct ss_error *error) {
  const struct oktopk *o = context;
  const struct ss_run *run = o->run;
  const struct ss_chunk *selected = &o->given[r];
  uint64_t *cut = ss_arena_alloc(arena, 1, sizeof *cut);
  if (!cut) return ss_fail_memory(error, "cutting regions");
  *cut = selected->count > 0 ? selected->rows[ss_share(selected->count, run->ranks, chunk->part)]
                             : run->low + ss_share(run->high - run->low, run->ranks, chunk->part);
  o->cuts[chunk->part] += *cut;
  chunk->origin = r;
  chunk->numbers = cut;
  chunk->kind = SS_CHUNK_NUMBERS;
  return true;
}

/* From the sums of what ranks gave. */
static void set_regions(const struct oktopk *o, const uint64_t *sum) {
  const struct ss_run *run = o->run;
  const bool whole = everyone_here(run);
  o->each[0].begin = run->low;
  for (uint32_t j = 1; j < run->ranks; j++) {
    uint64_t cut = sum[j];
    if (whole && cut != o->cuts[j]) ss_play_mismatch(run->play, "cut %u is not what ranks gave for it", j);
    cut /= run->ranks;
    /* of ranks that all live elsewhere nothing came */
    if (cut < o->each[j - 1].begin) cut = o->each[j - 1].begin;
    if (cut > run->high) cut = run->high;
    o->each[j].begin = cut;
  }
}

/* Regions in which ranks selected about equally much: the averages of where every rank would cut. */
static bool cut_regions(struct oktopk *o, struct ss_error *error) {
  struct ss_play *play = o->run->play;
  const uint32_t P = o->run->ranks;
  const struct ss_dense_sum cuts = {
      .wire = &ss_number_wire, .high = P - 1, .width = 1, .units = P, .context = o, .give = give_cut};
  struct ss_chunk *part = ss_arena_alloc(play->arena, P, sizeof *part);
  uint64_t *sum = ss_arena_alloc(play->arena, P, sizeof *sum);
  o->cuts = ss_arena_zero(play->arena, P, sizeof *o->cuts);
  if (!part || !sum || !o->cuts) return ss_fail_memory(error, "cutting regions");
  if (!ss_reduce_scatter_ring(play, &cuts, part, error)) return false;
  for (uint32_t j = 0; j < P; j++) part[j].origin = j;
  if (!ss_allgather_numbers(play, part, ss_allgather_ring, sum, error)) return false;
  set_regions(o, sum);
  return true;
}

/* --- regions, and even runs ----------------------------------------------------------------------------- */

static struct ss_chunk region(const void *context, uint32_t part) {
  const struct oktopk *o = context;
  const uint64_t end = part + 1 < o->run->ranks ? o->each[part + 1].begin : o->run->high;
  return (struct ss_chunk){.low = o->each[part].begin, .high = end, .width = 1, .stride = 1};
}

static bool slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct oktopk *o = context;
  const struct ss_chunk range = region(o, part);
  (void)error;
  *out = ss_chunk_slice(&o->given[rank], range.low, range.high);
  out->part = part;
  return true;
}

static struct ss_chunk anywhere(const void *context, uint32_t part) {
  const struct oktopk *o = context;
  (void)part;
  return (struct ss_chunk){.low = o->run->low, .high = o->run->high, .width = 1, .stride = 1};
}

/* What `from` kept of run `to` of all that was kept, the ranks' one after the other. */
static bool piece(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct oktopk *o = context;
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

static bool uneven(const struct oktopk *o) {
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
  if (owners->pushed.others > 0 && everyone_here(run))
    ss_play_mismatch(owners->play, "rank %u received other entries than were sent", owners->pushed.other->receiver);
  return ss_owners_sum(owners, error);
}

/* --- what owners keep ----------------------------------------------------------------------------------- */

/* How many of the k largest sums each owner has. Ties go to the lower index: as owners do, the sums lie in its order.
 */
static bool share_out(const struct oktopk *o, uint64_t *keep, struct ss_error *error) {
  struct ss_play *play = o->run->play;
  const struct ss_chunk *sum = o->regions.aggregate;
  const uint32_t P = o->run->ranks;
  uint64_t n = 0, end = 0;
  for (uint32_t j = 0; j < P; j++) keep[j] = ss_play_resident(play, j) ? sum[j].count : 0;
  if (!ss_play_pool(play, keep, P, SS_POOL_SUM, error)) return false;
  for (uint32_t j = 0; j < P; j++) n += keep[j];
  SS_AUTO_FREE uint32_t *index = ss_alloc(n, sizeof *index);
  SS_AUTO_FREE uint64_t *units = ss_alloc_zero(n, sizeof *units);
  const struct ss_chunk all = ss_chunk_of_values(index, (const int64_t *)units, n, 0, n);
  struct ss_chunk kept;
  if (!index || !units) return ss_fail_memory(error, "finding a threshold");
  for (uint64_t i = 0; i < n; i++) index[i] = (uint32_t)i;
  for (uint32_t j = 0; j < P; end += keep[j++])
    if (ss_play_resident(play, j) && keep[j] > 0) memcpy(units + end, sum[j].units, keep[j] * sizeof *units);
  if (!ss_play_pool(play, units, n, SS_POOL_SUM, error)) return false;
  SS_ASIDE; /* thresholds are taken as known */
  if (!ss_topk(&all, o->k, play->arena, &kept, error)) return false;
  end = 0;
  for (uint32_t j = 0; j < P; j++) {
    const uint64_t begin = end;
    uint64_t first;
    end += keep[j];
    keep[j] = ss_chunk_find(&kept, begin, end, &first);
  }
  return true;
}

/* Owners keep of their sums what reaches the global threshold. */
static bool keep_above(struct oktopk *o, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_chunk *sum = o->regions.aggregate, kept;
  uint64_t *keep = ss_arena_alloc(run->play->arena, run->ranks, sizeof *keep);
  if (!keep) return ss_fail_memory(error, "finding a threshold");
  if (!o->reused && !share_out(o, keep, error)) return false;
  for (uint32_t j = 0; j < run->ranks; j++) {
    if (!ss_run_resident(run, j)) continue;
    if (!(o->reused ? reach(o, j, &sum[j], *o->threshold, &kept, error)
                    : ss_play_top_k(run->play, j, &sum[j], keep[j], &kept, error)))
      return false;
    ss_owners_set(&o->regions, j, &kept);
    ss_play_renew(run->play, j, NULL, &kept);
  }
  return true;
}

/* All ranks learn how much each owner keeps: upto[]. */
static bool share_sizes(struct oktopk *o, struct ss_error *error) {
  const uint32_t P = o->run->ranks;
  struct ss_chunk *part = ss_arena_alloc(o->run->play->arena, P, sizeof *part);
  o->upto = ss_arena_alloc(o->run->play->arena, P + 1, sizeof *o->upto);
  if (!part || !o->upto) return ss_fail_memory(error, "counting what is kept");
  for (uint32_t j = 0; j < P; j++) {
    part[j] = (struct ss_chunk){.count = 1, .high = 1, .width = 1, .origin = j, .part = j, .dense = true};
    if (!ss_run_resident(o->run, j)) continue;
    part[j].numbers = &o->regions.aggregate[j].count;
    part[j].kind = SS_CHUNK_NUMBERS;
  }
  if (!ss_allgather_numbers(o->run->play, part, ss_allgather_bruck, o->upto + 1, error)) return false;
  o->upto[0] = 0;
  for (uint32_t j = 0; j < P; j++) o->upto[j + 1] += o->upto[j];
  return true;
}

/* --- an iteration --------------------------------------------------------------------------------------- */

/* The split, and what becomes of the sums until all ranks have them: in `regions`, or in `runs`. */
static bool reduce(struct oktopk *o, struct ss_owners **last, struct ss_error *error) {
  *last = &o->regions;
  if (!push(o->run, &o->regions, error)) return false;
  if (!o->evaluate) {
    if (!keep_above(o, error) || !share_sizes(o, error)) return false;
    const uint64_t kept = o->upto[o->run->ranks];
    if (3 * kept > 4 * o->k) *o->threshold *= 1.008;
    else if (3 * kept < 2 * o->k) *o->threshold /= 1.008;
    o->regions.counted = false; /* sizes are known now, whatever the play wants */
    if (uneven(o)) *last = &o->runs;
    if (uneven(o) && !push(o->run, &o->runs, error)) return false;
  }
  return ss_owners_pull_bruck(*last, error);
}

/* What ranks end with: o->result. */
static bool finish(struct oktopk *o, struct ss_owners *last, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_chunk held = {0}, whole, result = {0};
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!ss_owners_whole(last, r, run->low, run->high, &whole, error)) return false;
    ss_run_note_joined(run, r, last, &whole);
    if (!held.rows || !ss_chunk_same(&whole, &held)) {
      held = result = whole;
      if (o->evaluate && !ss_topk(&whole, o->k, run->play->arena, &result, error)) return false;
      if (o->evaluate) *o->threshold = (double)ss_smallest(&result);
    }
    if (o->evaluate) ss_play_note_top_k(run->play, r, whole.count, result.count);
    o->result[r] = result;
  }
  return true;
}

static bool sum_given(struct oktopk *o, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_owners *last;
  if (run->state->iteration % CUTS_LAST == 0 && !cut_regions(o, error)) return false;
  o->regions = o->runs = (struct ss_owners){.parts = run->ranks, .push = &run->coo, .pull = &run->coo};
  o->regions.counted = true;
  o->regions.range = region;
  o->regions.slice = slice;
  o->runs.range = anywhere;
  o->runs.slice = piece;
  o->regions.context = o->runs.context = o;
  const bool ok = ss_owners_open(run->play, &o->regions, error) && ss_owners_open(run->play, &o->runs, error) &&
                  reduce(o, &last, error) && finish(o, last, error);
  ss_owners_close(&o->regions);
  ss_owners_close(&o->runs);
  return ok;
}

static bool sum_core(struct ss_run *core, void *context, struct ss_error *error) {
  struct oktopk o = *(const struct oktopk *)context;
  o.run = core;
  o.given = core->own;
  o.result = core->result;
  return sum_given(&o, error);
}

static bool run_oktopk(struct ss_run *run, struct ss_error *error) {
  const uint32_t P = run->ranks;
  struct oktopk o = {.run = run,
                     .each = run->state->each,
                     .threshold = run->state->own,
                     .k = ss_run_k(run),
                     .reused = run->setting->value[THRESHOLDS] == REUSED,
                     .evaluate = run->state->iteration % THRESHOLDS_LAST == 0};
  if (!ss_take(run->play->arena, o.copy, P) || !ss_take(run->play->arena, o.selected, P) ||
      !ss_take_zero(run->play->arena, o.result, P))
    return ss_fail_memory(error, "selecting entries");
  for (uint32_t r = 0; r < P; r++)
    if (!select_local(&o, r, error)) return false;
  o.given = o.selected;
  if (!(ss_run_folds(run, FOLDS) ? ss_run_folded(run, o.selected, sum_core, &o, o.result, error)
                                 : sum_given(&o, error)))
    return false;
  for (uint32_t r = 0; r < P; r++) {
    if (!ss_run_resident(run, r)) continue;
    ss_run_sparse(run, r, &o.result[r], 0, NULL);
    if (!ss_run_keep_unapplied(run, r, &o.copy[r], &o.selected[r], &o.result[r], error)) return false;
  }
  return true;
}

const struct ss_scheme ss_scheme_oktopk = {
    .name = "oktopk",
    .summary = "Local top-k; regions of even load are summed and cut by a global threshold",
    .source = "Li & Hoefler 2022 (Ok-Topk); SparDL §1, Table 1",
    .options = options,
    .content = SS_SENDS_LARGEST,
    .traits = {.conserves = true},
    .state_size = sizeof(double),
    .rank_state_size = sizeof(struct rank_state),
    .run = run_oktopk,
};
/* SPDX-License-Identifier: Apache-2.0 */
