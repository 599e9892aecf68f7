/* SparDL (§3): Spar-Reduce-Scatter inside teams, Spar-All-Gather over them, all-gather inside teams; what is dropped
 * on the way stays with ranks as residuals.
 *
 * P ranks are D teams of q = P/D; a tensor has q blocks, of which block b keeps a quota of the k entries, everywhere.
 * Spar-Reduce-Scatter (§3.1, Algorithm 1): in round i the rank at position w selects in, and sends, the blocks from
 * w + 2^(l-i) on to that position, and adds what arrives to its own, which stay dense until sent.
 * Spar-All-Gather (§3.2): R-SAG exchanges, sums and selects over a power of two of teams; B-SAG (Algorithm 2) selects
 * h, which adapts, all-gathers by Bruck, sums and selects.
 * Residuals (§3.3): global, partial, local; docs/model.md says exactly what each keeps.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"k": 8}: (1 + 0.032) + (1
 * + 0.016) + (1 + 0.016) + (1 + 0.032) = 4.096 us; two blocks of 2 entries of 4 + 4 bytes, then one, and the same
 * back. */
#include "schemes/run.h"
#include "schemes/scheme.h"
#include "sim/groups.h"
#include "tensor/sets.h"
#include "tensor/topk.h"

enum sag { AUTO, RECURSIVE, BRUCK };
enum residuals { GLOBAL, PARTIAL, LOCAL };
enum timing { BEFORE_SEND, AFTER_SUM };
static const char *const sags[] = {"auto", "recursive", "bruck", NULL};
static const char *const modes[] = {"global", "partial", "local", NULL};
static const char *const timings[] = {"before-send", "after-sum", NULL};
enum { TEAMS = SS_K_OPTIONS, SAG, RESIDUALS, TIMING, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [SS_DENSITY] = SS_OPTION_DENSITY,
    [SS_K] = SS_OPTION_K,
    [TEAMS] = {"teams", SS_OPTION_COUNT, NULL, 1, 1u << 20, 1,
               "groups that reduce apart, then gather (divides the ranks)", "2.."},
    [SAG] = {"sag", SS_OPTION_CHOICE, sags, 0, 0, AUTO,
             "Spar-All-Gather: recursive for a power of two of teams, or bruck", NULL},
    [RESIDUALS] = {"residuals", SS_OPTION_CHOICE, modes, 0, 0, GLOBAL, "what ranks keep of what was not applied",
                   NULL},
    [TIMING] = {"timing", SS_OPTION_CHOICE, timings, 0, 0, BEFORE_SEND,
                "when blocks are selected in Spar-Reduce-Scatter", NULL},
};

/* What a rank dropped, in pieces. */
struct dropped {
  struct ss_chunk *piece;
  uint32_t count, capacity;
};

/* Algorithm 2's state, one for each position of a team: equal on all its ranks without a message. Both numbers are
 * exact, in 1/(100 P 2^HALVINGS): steps begin at a hundredth, and one is halved as long as it is 1 or more, which k
 * is not of more than 32 bits. */
enum { HALVINGS = 33 };
struct step {
  __int128 h, step;
  bool flag;
};

struct spardl {
  struct ss_run *run;
  uint32_t D, q; /* D teams of q ranks each */
  uint64_t k;
  bool after_sum;          /* blocks are selected after a sum, not before they are sent */
  struct ss_chunk *copy;   /* [ranks] gradient and old residual */
  struct ss_chunk *block;  /* [ranks * q] what each rank has of each block; in the end of its position's */
  uint64_t *bytes;         /* [ranks * q] of each block's list; 0: it is a part of the copy */
  struct dropped *dropped; /* [ranks] */
  struct ss_chunk *result; /* [ranks] what each ends with */
  struct step *steps;      /* [q], kept from iteration to iteration */
};

/* A rank, and who it is in the group that plays. */
struct seat {
  struct ss_play *play;
  uint32_t rank, position;
};

static struct ss_chunk *block_of(const struct spardl *s, uint32_t rank, uint32_t block) {
  return &s->block[(size_t)rank * s->q + block];
}
/* What the rank has of the block is listed anew. */
static void renew(struct spardl *s, const struct seat *seat, uint32_t block) {
  const size_t at = (size_t)seat->rank * s->q + block;
  ss_play_renew(seat->play, seat->position, &s->bytes[at], &s->block[at]);
}
/* How many entries of the block are kept. */
static uint64_t quota_of(const struct spardl *s, uint32_t block) {
  return ss_share(s->k, s->q, block + 1) - ss_share(s->k, s->q, block);
}

/* --- blocks ---------------------------------------------------------------------------------------------- */

static bool drop(struct spardl *s, const struct seat *seat, const struct ss_chunk *piece, struct ss_error *error) {
  struct dropped *d = &s->dropped[seat->rank];
  if (piece->count == 0) return true;
  if (d->count == d->capacity) {
    const uint32_t capacity = d->capacity ? 2 * d->capacity : 2 * s->q;
    struct ss_chunk *grown = ss_arena_alloc(s->run->play->arena, capacity, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "keeping residuals");
    if (d->count > 0) memcpy(grown, d->piece, d->count * sizeof *grown);
    d->piece = grown;
    d->capacity = capacity;
  }
  d->piece[d->count++] = *piece;
  ss_play_renew(seat->play, seat->position, NULL, piece);
  return true;
}

/* The `keep` largest entries of a chunk stay in it; the rest is left. */
static bool select_largest(const struct seat *seat, struct ss_chunk *chunk, uint64_t keep, struct ss_chunk *left,
                           struct ss_error *error) {
  struct ss_chunk kept;
  if (!ss_play_top_k(seat->play, seat->position, chunk, keep, &kept, error) ||
      !ss_play_rest(seat->play, seat->position, chunk, &kept, seat->play->arena, left, error))
    return false;
  *chunk = kept;
  return true;
}

/* A block of a rank keeps its largest entries, and the rank drops the rest. */
static bool select_own(struct spardl *s, const struct seat *seat, uint32_t block, uint64_t keep,
                       struct ss_error *error) {
  struct ss_chunk left;
  if (!select_largest(seat, block_of(s, seat->rank, block), keep, &left, error) || !drop(s, seat, &left, error))
    return false;
  renew(s, seat, block);
  return true;
}

/* Of a sum that `holders` ranks drop alike each keeps its floor of a share, the lowest of them the rest too. */
static bool drop_share(struct spardl *s, const struct seat *seat, const struct ss_chunk *left, uint32_t holders,
                       bool lowest, struct ss_error *error) {
  struct ss_chunk share = *left;
  SS_KERNEL_TIMED(SS_KERNEL_PACK);
  int64_t *kept = ss_arena_alloc(s->run->play->arena, left->count, sizeof *kept);
  if (!kept) return ss_fail_memory(error, "keeping residuals");
  for (uint64_t i = 0; i < left->count; i++) {
    const int64_t units = left->units[i], g = holders, each = (units - (((units % g) + g) % g)) / g;
    kept[i] = lowest ? units - (g - 1) * each : each;
  }
  share.units = kept;
  ss_kernel_ran(SS_KERNEL_PACK, left->count);
  ss_play_note_filter(seat->play, seat->position, left, &share);
  return drop(s, seat, &share, error);
}

/* --- Spar-Reduce-Scatter (Algorithm 1) -------------------------------------------------------------------- */

/* Round with offset o = 2^(l-i): position w sends `count` blocks from w + o on. */
struct srs {
  struct spardl *s;
  struct ss_play *play;
  uint32_t team, offset, count;
};

static bool put_blocks(const struct srs *x, uint32_t w, struct ss_error *error) {
  struct ss_play *play = x->play;
  struct spardl *s = x->s;
  struct ss_chunk *chunks = ss_arena_alloc(play->arena, x->count, sizeof *chunks);
  if (!chunks) return ss_fail_memory(error, "sending blocks");
  play->from[w] = w;
  play->to[w] = (w + x->offset) % s->q;
  play->bytes[w] = 0;
  play->payload[w] = (struct ss_payload){.chunks = chunks, .count = x->count};
  for (uint32_t j = 0; j < x->count; j++) {
    const struct seat seat = {play, x->team * s->q + w, w};
    const uint32_t b = (w + x->offset + j) % s->q;
    if (!s->after_sum && !select_own(s, &seat, b, quota_of(s, b), error)) return false;
    chunks[j] = *block_of(s, seat.rank, b);
    chunks[j].origin = w;
    play->bytes[w] += ss_wire_bytes(&s->run->coo, &chunks[j]);
  }
  return true;
}

static bool take_blocks(const struct srs *x, uint32_t from, struct ss_error *error) {
  struct spardl *s = x->s;
  const uint32_t w = x->play->to[from];
  const struct seat seat = {x->play, x->team * s->q + w, w};
  const struct ss_payload *payload = &x->play->payload[from];
  if (!ss_play_resident(x->play, w)) return true;
  if (payload->count != x->count)
    ss_play_mismatch(x->play, "position %u received %u blocks where %u were due", w, payload->count, x->count);
  for (uint32_t j = 0; j < payload->count && j < x->count; j++) {
    const uint32_t b = (w + j) % s->q;
    const struct ss_chunk *got = &payload->chunks[j];
    if (got->part != b || got->origin != from)
      ss_play_mismatch(x->play, "position %u received block %u of %u where block %u of %u was due", w, got->part,
                       got->origin, b, from);
    if (!ss_play_add(x->play, w, &s->run->coo, block_of(s, seat.rank, b), got, error)) return false;
    renew(s, &seat, b);
    if (s->after_sum && !select_own(s, &seat, b, quota_of(s, b), error)) return false;
  }
  return true;
}

/* What position w sent. */
static void let_go(const struct srs *x, uint32_t w) {
  for (uint32_t j = 0; j < x->count; j++) {
    uint64_t *bytes = &x->s->bytes[(size_t)(x->team * x->s->q + w) * x->s->q + (w + x->offset + j) % x->s->q];
    ss_play_drop(x->play, w, *bytes);
    *bytes = 0;
  }
}

static bool play_srs_round(const struct srs *x, struct ss_error *error) {
  for (uint32_t w = 0; w < x->s->q; w++)
    if (!put_blocks(x, w, error)) return false;
  if (!ss_play_sends(x->play, x->s->q, &x->s->run->coo, error)) return false;
  ss_play_hold_messages(x->play, x->s->q);
  for (uint32_t w = 0; w < x->s->q; w++)
    if (!take_blocks(x, w, error)) return false;
  ss_play_drop_messages(x->play, x->s->q);
  for (uint32_t w = 0; w < x->s->q; w++) let_go(x, w);
  return true;
}

/* after-sum: every block once before the first round. */
static bool select_all_blocks(struct spardl *s, struct ss_play *play, uint32_t team, struct ss_error *error) {
  for (uint32_t w = 0; w < s->q; w++)
    for (uint32_t b = 0; b < s->q; b++)
      if (!select_own(s, &(struct seat){play, team * s->q + w, w}, b, quota_of(s, b), error)) return false;
  return true;
}

static bool reduce_scatter(void *context, uint32_t team, struct ss_play *play, struct ss_error *error) {
  struct spardl *s = context;
  struct srs x = {.s = s, .play = play, .team = team};
  uint32_t l = 0;
  while (1u << l < s->q) l++;
  if (s->after_sum && !select_all_blocks(s, play, team, error)) return false;
  for (uint32_t i = 1; i <= l; i++) {
    x.offset = 1u << (l - i);
    x.count = i == 1 ? s->q - x.offset : x.offset;
    if (!play_srs_round(&x, error)) return false;
  }
  for (uint32_t w = 0; !s->after_sum && w < s->q; w++)
    if (!select_own(s, &(struct seat){play, team * s->q + w, w}, w, quota_of(s, w), error)) return false;
  return true;
}

/* --- Spar-All-Gather, and the all-gather inside teams ------------------------------------------------------ */

/* Bodies for ss_groups_play, over the ranks at position w of all teams. */
static bool recursive(void *context, uint32_t w, struct ss_play *play, struct ss_error *error) {
  struct spardl *s = context;
  for (uint32_t step = 1; step < s->D; step *= 2) {
    for (uint32_t t = 0; t < s->D; t++) {
      play->given[t] = *block_of(s, t * s->q + w, w);
      play->given[t].origin = t;
      ss_play_put(play, t, t, t ^ step, &s->run->coo, &play->given[t]);
    }
    if (!ss_play_sends(play, s->D, &s->run->coo, error)) return false;
    ss_play_hold_messages(play, s->D);
    for (uint32_t t = 0; t < s->D; t++) {
      const uint32_t to = t ^ step;
      const struct seat seat = {play, to * s->q + w, to};
      const struct ss_chunk *got = ss_play_due(play, t, t, w);
      struct ss_chunk left;
      if (!got) continue;
      if (!ss_play_add(play, to, &s->run->coo, block_of(s, seat.rank, w), got, error)) return false;
      renew(s, &seat, w);
      if (!select_largest(&seat, block_of(s, seat.rank, w), quota_of(s, w), &left, error) ||
          !drop_share(s, &seat, &left, 2 * step, to % (2 * step) == 0, error))
        return false;
      renew(s, &seat, w);
    }
    ss_play_drop_messages(play, s->D);
  }
  return true;
}

static __int128 one(const struct spardl *s) {
  return (__int128)100 * s->run->ranks << HALVINGS;
}

/* Algorithm 2, with its direction and its step mended (docs/reference.md, "spardl", errata): `found` distinct
 * indices where `wanted` are kept. */
static void adapt_h(const struct spardl *s, struct step *x, uint64_t found, uint64_t wanted) {
  const __int128 low = (__int128)s->k * 100 << HALVINGS, most = low * (s->D - 1), high = low * s->D;
  if ((found > wanted) != (x->step > 0)) {
    if (x->flag) x->step *= 2;
    x->flag = !x->flag;
  } else {
    x->step = (x->step < 0 ? -x->step : x->step) >= one(s) ? -x->step / 2 : -x->step;
    x->flag = false;
  }
  x->step = x->step > most ? most : x->step < -most ? -most : x->step;
  x->h += x->step;
  x->h = x->h > high ? high : x->h < low ? low : x->h;
}

static bool bruck(void *context, uint32_t w, struct ss_play *play, struct ss_error *error) {
  struct spardl *s = context;
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  struct ss_chunk sum, left, range = *block_of(s, w, w);
  const uint64_t h = (uint64_t)(s->steps[w].h / one(s));
  if (!ss_gather_open(&gather, s->D, &s->run->coo, range.low, range.high, error)) return false;
  bool adapted = false;
  for (uint32_t t = 0; t < s->D; t++) {
    if (!select_own(s, &(struct seat){play, t * s->q + w, t}, w, h, error)) return false;
    block_of(s, t * s->q + w, w)->origin = t;
    ss_gather_set(&gather, t, block_of(s, t * s->q + w, w));
  }
  if (!ss_gather_ragged(play, &gather, true, ss_allgather_bruck, error)) return false;
  const struct ss_operands blocks = {gather.block, s->D, range.low, range.high};
  for (uint32_t t = 0; t < s->D; t++) {
    const struct seat seat = {play, t * s->q + w, t};
    struct ss_chunk *mine = block_of(s, seat.rank, w);
    if (!ss_play_resident(play, t)) continue;
    if (!ss_gather_sum(play, &gather, t, &sum, error)) return false;
    ss_play_note_sum(play, t, &s->run->coo, &blocks, &sum);
    if (!adapted) adapt_h(s, &s->steps[w], sum.count, quota_of(s, w)); /* all teams have the same sum */
    adapted = true;
    *mine = sum;
    mine->part = w;
    mine->width = mine->stride = 1;
    renew(s, &seat, w);
    if (!select_largest(&seat, mine, quota_of(s, w), &left, error) ||
        !drop_share(s, &seat, &left, s->D, t == 0, error))
      return false;
    renew(s, &seat, w);
  }
  ss_gather_drop(play, &gather);
  return true;
}

static bool gather_blocks(void *context, uint32_t team, struct ss_play *play, struct ss_error *error) {
  struct spardl *s = context;
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  if (!ss_gather_open(&gather, s->q, &s->run->coo, s->run->low, s->run->high, error)) return false;
  for (uint32_t w = 0; w < s->q; w++) {
    struct ss_chunk block = *block_of(s, team * s->q + w, w);
    block.origin = w;
    ss_gather_set(&gather, w, &block);
  }
  if (!ss_gather_ragged(play, &gather, true, ss_allgather_bruck, error)) return false;
  const struct ss_operands blocks = {gather.block, s->q, s->run->low, s->run->high};
  for (uint32_t w = 0; w < s->q; w++) {
    struct ss_chunk *result = &s->result[team * s->q + w];
    if (!ss_play_resident(play, w)) continue;
    if (!ss_gather_sum(play, &gather, w, result, error)) return false;
    ss_play_note_sum(play, w, &s->run->coo, &blocks, result);
  }
  return true;
}

/* --- residuals ------------------------------------------------------------------------------------------- */

/* The sum of pieces of what the rank had, computed by itself. */
static bool sum_of_pieces(struct spardl *s, uint32_t r, const struct ss_chunk *piece, uint32_t count,
                          struct ss_chunk *sum, struct ss_error *error) {
  const struct ss_operands of = {piece, count, s->run->low, s->run->high};
  return ss_play_sum_held(s->run->play, r, &of, sum, error);
}

/* The copy where nothing was applied; where something was, what the rank dropped on the way. */
static bool keep_global(struct spardl *s, uint32_t r, struct ss_error *error) {
  struct ss_run *run = s->run;
  struct ss_chunk parts[2], sum;
  if (!sum_of_pieces(s, r, s->dropped[r].piece, s->dropped[r].count, &sum, error) ||
      !ss_play_rest(run->play, r, &s->copy[r], &s->result[r], run->play->arena, &parts[0], error))
    return false;
  if (sum.count == 0) return ss_run_keep(run, r, &parts[0], error);
  return ss_play_select(run->play, r, &sum, &s->result[r], &parts[1], error) &&
         sum_of_pieces(s, r, parts, 2, &sum, error) && ss_run_keep(run, r, &sum, error);
}

/* What the rank keeps as its residual (§3.3). */
static bool keep_residual(struct spardl *s, uint32_t r, enum residuals residuals, struct ss_error *error) {
  struct ss_chunk own;
  switch (residuals) {
  case GLOBAL: return keep_global(s, r, error);
  case PARTIAL: return ss_run_keep_without(s->run, r, &s->copy[r], &s->result[r], error);
  case LOCAL:
    if (!ss_topk_parts(&s->copy[r], s->k, s->q, s->run->play->arena, &own, error)) return false;
    ss_play_note_top_k(s->run->play, r, s->copy[r].count, own.count);
    return ss_run_keep_without(s->run, r, &s->copy[r], &own, error);
  }
  return false;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

/* Cuts every rank's gradient and old residual into blocks. */
static bool cut_blocks(struct spardl *s, struct ss_error *error) {
  for (uint32_t r = 0; r < s->run->ranks; r++) {
    if (!ss_run_copy(s->run, r, &s->copy[r], error)) return false;
    for (uint32_t b = 0; b < s->q; b++) {
      const struct ss_chunk range = ss_run_part(s->run, b, s->q);
      *block_of(s, r, b) = ss_chunk_slice(&s->copy[r], range.low, range.high);
      block_of(s, r, b)->part = b;
    }
  }
  return true;
}

static bool begin(struct spardl *s, struct ss_error *error) {
  struct ss_run *run = s->run;
  struct ss_arena *arena = run->play->arena;
  const uint32_t P = run->ranks;
  if (!ss_take(arena, s->copy, P) || !ss_take(arena, s->block, (size_t)P * s->q) ||
      !ss_take_zero(arena, s->bytes, (size_t)P * s->q) || !ss_take_zero(arena, s->dropped, P) ||
      !ss_take(arena, s->result, P))
    return ss_fail_memory(error, "selecting entries");
  for (uint32_t w = 0; run->state->iteration == 0 && w < s->q; w++)
    s->steps[w] = (struct step){(__int128)s->k * 100 << HALVINGS, (__int128)s->k * (s->D - 1) << HALVINGS, false};
  return cut_blocks(s, error);
}

/* Teams are runs of ranks; the ranks at one position of all teams are q apart. */
static bool play_groups(struct spardl *s, bool teams, ss_group_body *body, struct ss_error *error) {
  const uint32_t count = teams ? s->D : s->q, size = teams ? s->q : s->D;
  struct ss_arena *arena = s->run->play->arena;
  uint32_t *ranks = ss_arena_alloc(arena, s->run->ranks, sizeof *ranks);
  struct ss_group *groups = ss_arena_alloc(arena, count, sizeof *groups);
  if (!ranks || !groups) return ss_fail_memory(error, "forming teams");
  for (uint32_t g = 0; g < count; g++) {
    uint32_t *rank = ranks + (size_t)g * size;
    for (uint32_t i = 0; i < size; i++) rank[i] = teams ? g * s->q + i : i * s->q + g;
    groups[g] = (struct ss_group){.ranks = size, .rank = rank};
  }
  return ss_groups_play(s->run->play, count, groups, body, s, error);
}

static bool run_spardl(struct ss_run *run, struct ss_error *error) {
  const uint64_t *value = run->setting->value;
  const uint32_t teams = (uint32_t)value[TEAMS];
  const bool use_bruck = value[SAG] == BRUCK || (value[SAG] == AUTO && (teams & (teams - 1)) != 0);
  struct spardl s = {.run = run,
                     .D = teams,
                     .q = run->ranks / teams,
                     .k = ss_run_k(run),
                     .after_sum = value[TIMING] == AFTER_SUM,
                     .steps = run->state->each};
  if (!begin(&s, error) || !play_groups(&s, true, reduce_scatter, error) ||
      (teams > 1 && !play_groups(&s, false, use_bruck ? bruck : recursive, error)) ||
      !play_groups(&s, true, gather_blocks, error))
    return false;
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    ss_run_sparse(run, r, &s.result[r], 0, NULL);
    if (!keep_residual(&s, r, (enum residuals)value[RESIDUALS], error)) return false;
  }
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  (void)layout;
  traits->conserves = setting->value[RESIDUALS] == GLOBAL;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t teams = (uint32_t)setting->value[TEAMS];
  if (layout.ranks % teams != 0)
    return ss_fail(error, SS_BAD_INPUT, "%u teams do not divide %u ranks", teams, layout.ranks);
  if (setting->value[SAG] == RECURSIVE && (teams & (teams - 1)) != 0)
    return ss_fail(error, SS_BAD_INPUT, "sag \"recursive\" takes a power of two of teams, not %u (say \"bruck\")",
                   teams);
  return true;
}

const struct ss_scheme ss_scheme_spardl = {
    .name = "spardl",
    .summary = "Spar-Reduce-Scatter in teams, Spar-All-Gather over them; k entries everywhere, nothing lost",
    .source = "SparDL §3, Algorithms 1 and 2, Eqs. 3, 5, 7",
    .options = options,
    .content = SS_SENDS_LARGEST,
    .adapt = adapt,
    .rank_state_size = sizeof(struct step),
    .check = check,
    .run = run_spardl,
};
/* SPDX-License-Identifier: Apache-2.0 */
