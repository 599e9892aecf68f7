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
 *         and 1.008 change it for the next iteration, 1.03 for this one too. A re-evaluation starts both anew. */
#include "schemes/registry.h"

#include "tensor/topk.h"

#include <math.h>
#include <string.h>

enum thresholds { EXACT, REUSED };
static const char *const thresholds[] = {"exact", "reused", NULL};
static const struct ss_option options[] = {
    SS_OPTION_DENSITY,
    SS_OPTION_K,
    {"thresholds", SS_OPTION_CHOICE, thresholds, 0, 0, EXACT, "k exactly, or by thresholds of earlier iterations"},
    {.name = NULL}};

/* Iterations that thresholds and cuts last. */
enum { THRESHOLDS_LAST = 32, CUTS_LAST = 64 };

struct oktopk {
  struct ss_run *run;
  uint64_t k;
  bool reused, evaluate;            /* the latter: thresholds, in this iteration */
  uint64_t *cut;                    /* [ranks + 1] region j is [cut[j], cut[j + 1]); lasts, as do the thresholds: */
  double *local, *global;           /* [ranks], one for all */
  struct ss_chunk *copy, *selected; /* [ranks] */
  struct ss_wire number;            /* 8 bytes */
  struct ss_dense_sum cuts;         /* P - 1 numbers; unit j > 0 is cut j, unit 0 is empty */
  uint64_t *given;                  /* [ranks] the sum of what ranks gave for each unit */
  struct ss_owners regions, runs;   /* what ranks hold of the sum; and evened out */
  uint64_t *upto;                   /* [ranks + 1] entries kept by the ranks before this one */
};

static bool everyone_here(const struct ss_run *run) {
  for (uint32_t r = 0; r < run->ranks; r++)
    if (!ss_run_resident(run, r)) return false;
  return true;
}

/* --- what ranks select ---------------------------------------------------------------------------------- */

static double smallest(const struct ss_chunk *chunk) {
  uint64_t least = chunk->count > 0 ? UINT64_MAX : 0;
  for (uint64_t i = 0; i < chunk->count; i++)
    if (ss_magnitude(chunk->units[i]) < least) least = ss_magnitude(chunk->units[i]);
  return (double)least;
}

static bool reach(const struct oktopk *o, const struct ss_chunk *from, double threshold, struct ss_chunk *out,
                  struct ss_error *error) {
  return ss_at_least(from, (uint64_t)ceil(threshold), o->run->play.arena, out, error);
}

static bool select_local(struct oktopk *o, uint32_t r, struct ss_error *error) {
  struct ss_chunk *copy = &o->copy[r], *selected = &o->selected[r];
  double *threshold = &o->local[r];
  if (!o->reused || o->evaluate) {
    if (!ss_run_select(o->run, r, o->k, copy, selected, error)) return false;
    *threshold = smallest(selected);
    return true;
  }
  if (!ss_run_copy(o->run, r, copy, error) || !reach(o, copy, *threshold, selected, error)) return false;
  for (int i = 0; i < 5 && 3 * selected->count > 4 * o->k; i++) {
    *threshold *= 1.03;
    if (!reach(o, selected, *threshold, selected, error)) return false;
  }
  if (4 * selected->count > 5 * o->k) *threshold *= 1.012;
  else if (3 * selected->count < 2 * o->k) *threshold /= 1.012;
  return true;
}

/* --- numbers that all ranks learn ----------------------------------------------------------------------- */

/* All-gathers one number a rank, by ring or Bruck. */
static bool share(struct oktopk *o, const struct ss_chunk *part, bool ring, uint64_t *number,
                  struct ss_error *error) {
  struct ss_play *play = &o->run->play;
  const uint32_t P = o->run->ranks;
  struct ss_gather gather;
  if (!ss_gather_open(&gather, ss_everyone(P), &o->number, error)) return false;
  for (uint32_t j = 0; j < P; j++) ss_gather_set(&gather, 0, j, &part[j]);
  const bool ok = ss_gather_seal(play, &gather, error) &&
                  (ring ? ss_allgather_ring(play, &gather, error) : ss_allgather_bruck(play, &gather, error));
  for (uint32_t j = 0; ok && j < P; j++) {
    number[j] = gather.block[j].numbers ? gather.block[j].numbers[0] : 0;
    if (ss_run_resident(o->run, j) && !ss_receipts_regular(&gather.receipts, j))
      ss_play_mismatch(play, "rank %u was not told the numbers that the others sent", j);
  }
  ss_gather_close(&gather);
  return ok;
}

static bool give_cut(void *context, uint32_t r, uint32_t first, uint32_t count, struct ss_arena *arena,
                     struct ss_chunk *out, struct ss_error *error) {
  struct oktopk *o = context;
  const struct ss_run *run = o->run;
  const struct ss_chunk *selected = &o->selected[r];
  uint64_t *cut = ss_arena_alloc(arena, 1, sizeof *cut);
  if (!cut) return ss_fail_memory(error, "cutting regions");
  *cut = selected->count > 0 ? selected->rows[ss_share(selected->count, run->ranks, first)]
                             : run->low + ss_share(run->high - run->low, run->ranks, first);
  o->given[first] += *cut;
  *out = ss_dense_units(&o->cuts, first, count);
  out->origin = r;
  out->numbers = cut;
  out->kind = SS_CHUNK_NUMBERS;
  return true;
}

static bool cut_regions(struct oktopk *o, struct ss_error *error) {
  struct ss_run *run = o->run;
  const uint32_t P = run->ranks;
  const bool whole = everyone_here(run);
  struct ss_chunk *part = ss_arena_alloc(run->play.arena, P, sizeof *part);
  o->given = ss_arena_alloc(run->play.arena, P, sizeof *o->given);
  if (!part || !o->given) return ss_fail_memory(error, "cutting regions");
  for (uint32_t j = 0; j < P; j++) o->given[j] = 0;
  o->cuts =
      (struct ss_dense_sum){.groups = ss_everyone(P), .wire = &o->number, .high = P - 1, .width = 1, .units = P};
  o->cuts.context = o;
  o->cuts.give = give_cut;
  if (!ss_reduce_scatter_ring(&run->play, &o->cuts, part, error)) return false;
  for (uint32_t j = 0; j < P; j++) part[j].origin = j;
  if (!share(o, part, true, o->cut, error)) return false;
  o->cut[0] = run->low;
  o->cut[P] = run->high;
  for (uint32_t j = 1; j < P; j++) {
    if (whole && o->cut[j] != o->given[j]) ss_play_mismatch(&run->play, "cut %u is not what ranks gave for it", j);
    o->cut[j] /= P;
    /* of ranks that all live elsewhere nothing came */
    if (o->cut[j] < o->cut[j - 1]) o->cut[j] = o->cut[j - 1];
    if (o->cut[j] > run->high) o->cut[j] = run->high;
  }
  return true;
}

static bool share_sizes(struct oktopk *o, struct ss_error *error) {
  const uint32_t P = o->run->ranks;
  struct ss_chunk *part = ss_arena_alloc(o->run->play.arena, P, sizeof *part);
  o->upto = ss_arena_alloc(o->run->play.arena, P + 1, sizeof *o->upto);
  if (!part || !o->upto) return ss_fail_memory(error, "counting what is kept");
  for (uint32_t j = 0; j < P; j++) {
    part[j] = (struct ss_chunk){.count = 1, .high = 1, .width = 1, .origin = j, .part = j, .dense = true};
    if (!ss_run_resident(o->run, j)) continue;
    part[j].numbers = &o->regions.aggregate[j].count;
    part[j].kind = SS_CHUNK_NUMBERS;
  }
  if (!share(o, part, false, o->upto + 1, error)) return false;
  o->upto[0] = 0;
  for (uint32_t j = 0; j < P; j++) o->upto[j + 1] += o->upto[j];
  return true;
}

/* --- regions, and even runs ----------------------------------------------------------------------------- */

static struct ss_chunk region(const void *context, uint32_t part) {
  const struct oktopk *o = context;
  return (struct ss_chunk){.low = o->cut[part], .high = o->cut[part + 1], .width = 1, .stride = 1};
}

static bool slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct oktopk *o = context;
  (void)error;
  *out = ss_chunk_slice(&o->selected[rank], o->cut[part], o->cut[part + 1]);
  out->part = part;
  return true;
}

/* How many of the sums that live here begin with `prefix` (their upper bits, from bit shift + 8 on), by their next
 * byte. Zeros never count. */
static void count_bytes(const struct oktopk *o, uint64_t prefix, unsigned shift, uint64_t histogram[256]) {
  memset(histogram, 0, 256 * sizeof *histogram);
  for (uint32_t j = 0; j < o->run->ranks; j++) {
    const struct ss_chunk *sum = &o->regions.aggregate[j];
    if (!ss_run_resident(o->run, j)) continue;
    for (uint64_t i = 0; i < sum->count; i++) {
      const uint64_t magnitude = ss_magnitude(sum->units[i]);
      if (magnitude > 0 && (shift == 56 || magnitude >> (shift + 8) == prefix))
        histogram[(uint8_t)(magnitude >> shift)]++;
    }
  }
}

/* The magnitude of the k-th largest of all sums, wherever they live, byte by byte from the top; *ties becomes how
 * many of that magnitude are among the k. Both are 0 when there are fewer than k. */
static bool find_threshold(struct oktopk *o, uint64_t *threshold, uint64_t *ties, struct ss_error *error) {
  uint64_t histogram[256], left = o->k, prefix = 0;
  for (unsigned shift = 64; shift > 0;) {
    unsigned byte = 255;
    shift -= 8;
    count_bytes(o, prefix, shift, histogram);
    if (!ss_play_pool(&o->run->play, histogram, 256, SS_POOL_SUM, error)) return false;
    while (byte > 0 && histogram[byte] < left) left -= histogram[byte--];
    if (histogram[byte] < left) { /* in the first pass: there are fewer than k */
      *threshold = *ties = 0;
      return true;
    }
    prefix = prefix << 8 | byte;
  }
  *threshold = prefix;
  *ties = left;
  return true;
}

/* How many of the k largest sums each owner has: ties go to the lower index, so to the owners before. */
static bool share_out(struct oktopk *o, uint64_t *keep, struct ss_error *error) {
  struct ss_run *run = o->run;
  const uint32_t P = run->ranks;
  uint64_t threshold, left;
  SS_AUTO_FREE uint64_t *equal = ss_alloc_zero(P, sizeof *equal);
  if (!equal) return ss_fail_memory(error, "finding a threshold");
  if (!find_threshold(o, &threshold, &left, error)) return false;
  for (uint32_t j = 0; j < P; j++) {
    const struct ss_chunk *sum = &o->regions.aggregate[j];
    keep[j] = 0;
    for (uint64_t i = 0; ss_run_resident(run, j) && i < sum->count; i++) {
      keep[j] += ss_magnitude(sum->units[i]) > threshold;
      equal[j] += ss_magnitude(sum->units[i]) == threshold;
    }
  }
  if (!ss_play_pool(&run->play, equal, P, SS_POOL_SUM, error)) return false;
  for (uint32_t j = 0; j < P; j++) {
    const uint64_t take = equal[j] < left ? equal[j] : left;
    keep[j] += take;
    left -= take;
  }
  return true;
}

/* Owners keep what reaches the global threshold. */
static bool keep_above(struct oktopk *o, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_chunk *sum = o->regions.aggregate, kept;
  uint64_t *keep = ss_arena_alloc(run->play.arena, run->ranks, sizeof *keep);
  if (!keep) return ss_fail_memory(error, "finding a threshold");
  if (!o->reused && !share_out(o, keep, error)) return false;
  for (uint32_t j = 0; j < run->ranks; j++) {
    if (!ss_run_resident(run, j)) continue;
    if (!(o->reused ? reach(o, &sum[j], *o->global, &kept, error)
                    : ss_topk(&sum[j], keep[j], run->play.arena, &kept, error)))
      return false;
    ss_owners_set(&o->regions, j, &kept);
  }
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

/* --- an iteration --------------------------------------------------------------------------------------- */

/* The split, and what becomes of the sums until all ranks have them: in `regions`, or in `runs`. */
static bool reduce(struct oktopk *o, struct ss_owners **last, struct ss_error *error) {
  *last = &o->regions;
  if (!push(o->run, &o->regions, error)) return false;
  if (!o->evaluate) {
    if (!keep_above(o, error) || !share_sizes(o, error)) return false;
    const uint64_t kept = o->upto[o->run->ranks];
    if (3 * kept > 4 * o->k) *o->global *= 1.008;
    else if (3 * kept < 2 * o->k) *o->global /= 1.008;
    o->regions.counted = false; /* sizes are known now, whatever the play wants */
    if (uneven(o)) *last = &o->runs;
    if (uneven(o) && !push(o->run, &o->runs, error)) return false;
  }
  return ss_owners_pull_bruck(*last, error);
}

static bool finish(struct oktopk *o, struct ss_owners *last, struct ss_error *error) {
  struct ss_run *run = o->run;
  struct ss_chunk held = {0}, whole, result = {0};
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (!ss_owners_whole(last, r, run->low, run->high, &whole, error)) return false;
    if (!held.rows || !ss_chunk_same(&whole, &held)) {
      held = result = whole;
      if (o->evaluate && !ss_topk(&whole, o->k, run->play.arena, &result, error)) return false;
      if (o->evaluate) *o->global = smallest(&result);
    }
    ss_run_sparse(run, r, &result, 0, NULL);
    if (!ss_run_keep_unapplied(run, r, &o->copy[r], &o->selected[r], &result, error)) return false;
  }
  return true;
}

static bool run_oktopk(struct ss_run *run, struct ss_error *error) {
  const uint32_t P = run->ranks;
  struct oktopk o = {.run = run,
                     .k = ss_run_k(run),
                     .reused = ss_setting_value(run->setting, "thresholds") == REUSED,
                     .evaluate = run->memory->iteration % THRESHOLDS_LAST == 0,
                     .number = {.format = SS_WIRE_DENSE, .value_bytes = 8}};
  struct ss_owners *last;
  void *notes;
  if (!ss_memory_notes(run->memory, (2 * (size_t)P + 2) * 8, &notes, error)) return false;
  o.cut = notes;
  o.global = (double *)notes + P + 1;
  o.local = o.global + 1;
  o.copy = ss_arena_alloc(run->play.arena, P, sizeof *o.copy);
  o.selected = ss_arena_alloc(run->play.arena, P, sizeof *o.selected);
  if (!o.copy || !o.selected) return ss_fail_memory(error, "selecting entries");
  for (uint32_t r = 0; r < P; r++)
    if (!select_local(&o, r, error)) return false;
  if (run->memory->iteration % CUTS_LAST == 0 && !cut_regions(&o, error)) return false;
  o.regions = (struct ss_owners){.parts = P, .push = &run->coo, .pull = &run->coo, .context = &o};
  o.runs = o.regions;
  o.regions.counted = true;
  o.regions.range = region;
  o.regions.slice = slice;
  o.runs.range = anywhere;
  o.runs.slice = piece;
  const bool ok = ss_owners_open(&run->play, &o.regions, error) && ss_owners_open(&run->play, &o.runs, error) &&
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
    .valued = true,
    .by_elements = true,
    .conserves = ss_conserves_always,
    .check = ss_check_k,
    .run = run_oktopk,
};
