/* Spar-All-Gather over teams (SparDL §3.2): R-SAG, by recursive doubling, and B-SAG, by Bruck's all-gather with a
 * number of entries that adapts (Algorithm 2). And the all-gather inside teams that ends both. */
#include "schemes/spardl.h"

#include <math.h>

static bool recursive(struct ss_spardl *s, uint32_t w, struct ss_play *play, struct ss_error *error) {
  const struct ss_groups everyone = ss_everyone(s->D);
  for (uint32_t step = 1; step < s->D; step *= 2) {
    if (!ss_announce_sizes(play, &everyone, error)) return false;
    for (uint32_t t = 0; t < s->D; t++) {
      play->given[t] = *ss_spardl_block(s, t * s->q + w, w);
      play->given[t].origin = t;
      play->from[t] = t;
      play->to[t] = t ^ step;
      play->bytes[t] = ss_wire_bytes(&s->run->coo, &play->given[t]);
      play->payload[t] = (struct ss_payload){.chunks = &play->given[t], .count = 1};
    }
    if (!ss_play_messages(play, s->D, true, &s->run->coo, error)) return false;
    for (uint32_t t = 0; t < s->D; t++) {
      const uint32_t to = t ^ step, rank = to * s->q + w;
      if (!ss_play_resident(play, to)) continue;
      const struct ss_chunk *got = ss_play_got(play, t);
      struct ss_chunk left;
      if (!got) continue;
      if (got->part != w || got->origin != t)
        ss_play_mismatch(play, "team %u received block %u of %u where block %u of %u was due", to, got->part,
                         got->origin, w, t);
      if (!ss_spardl_add(s, play, to, ss_spardl_block(s, rank, w), got, error) ||
          !ss_spardl_select(s, ss_spardl_block(s, rank, w), ss_spardl_quota(s, w), &left, error) ||
          !ss_spardl_drop_share(s, rank, &left, 2 * step, to % (2 * step) == 0, error))
        return false;
    }
    if (!ss_play_charge_sums(play, error)) return false;
  }
  return true;
}

/* Algorithm 2, with its direction and its step mended (docs/model.md, "Where the papers are wrong"): `found` distinct
 * indices where `wanted` are kept. */
static void adapt(const struct ss_spardl *s, struct ss_spardl_step *x, uint64_t found, uint64_t wanted) {
  const double low = (double)s->k / s->run->ranks, most = low * (s->D - 1);
  if ((found > wanted) != (x->step > 0)) {
    if (x->flag) x->step *= 2;
    x->flag = !x->flag;
  } else {
    x->step = fabs(x->step) >= 1 ? -x->step / 2 : -x->step;
    x->flag = false;
  }
  x->step = fmax(fmin(x->step, most), -most);
  x->h = fmax(fmin(x->h + x->step, low * s->D), low);
}

static bool bruck(struct ss_spardl *s, uint32_t w, struct ss_play *play, struct ss_error *error) {
  const struct ss_groups everyone = ss_everyone(s->D);
  struct ss_gather gather;
  struct ss_chunk shared = {0}, sum, left;
  const uint64_t h = (uint64_t)floor(s->steps[w].h);
  if (!ss_gather_open(&gather, everyone, &s->run->coo, error)) return false;
  bool ok = true, adapted = false;
  for (uint32_t t = 0; ok && t < s->D; t++) {
    ok = ss_spardl_select_own(s, t * s->q + w, w, h, error);
    ss_spardl_block(s, t * s->q + w, w)->origin = t;
    ss_gather_set(&gather, 0, t, ss_spardl_block(s, t * s->q + w, w));
  }
  ok = ok && ss_announce_sizes(play, &everyone, error) && ss_gather_seal(play, &gather, error) &&
       ss_allgather_bruck(play, &gather, error);
  for (uint32_t t = 0; ok && t < s->D; t++) {
    struct ss_chunk *mine = ss_spardl_block(s, t * s->q + w, w);
    const struct ss_chunk was = *mine;
    if (!ss_play_resident(play, t)) continue;
    ok = ss_receipts_sum(play, &gather.receipts, t, gather.block, was.low, was.high, &shared, &sum, error);
    if (ok) ss_play_note_sum(play, t, &s->run->coo, gather.block, s->D, &sum);
    if (ok && !adapted) adapt(s, &s->steps[w], sum.count, ss_spardl_quota(s, w)); /* all teams have the same sum */
    adapted = true;
    *mine = sum;
    mine->part = w;
    mine->width = mine->stride = 1;
    ok = ok && ss_spardl_select(s, mine, ss_spardl_quota(s, w), &left, error) &&
         ss_spardl_drop_share(s, t * s->q + w, &left, s->D, t == 0, error);
  }
  ok = ok && ss_play_charge_sums(play, error);
  ss_gather_close(&gather);
  return ok;
}

bool ss_spardl_gather_teams(void *context, uint32_t position, struct ss_play *play, struct ss_error *error) {
  struct ss_spardl *s = context;
  return s->bruck ? bruck(s, position, play, error) : recursive(s, position, play, error);
}

bool ss_spardl_gather_blocks(void *context, uint32_t team, struct ss_play *play, struct ss_error *error) {
  struct ss_spardl *s = context;
  const struct ss_groups everyone = ss_everyone(s->q);
  struct ss_gather gather;
  struct ss_chunk shared = {0};
  if (!ss_gather_open(&gather, everyone, &s->run->coo, error)) return false;
  for (uint32_t w = 0; w < s->q; w++) {
    struct ss_chunk block = *ss_spardl_block(s, team * s->q + w, w);
    block.origin = w;
    ss_gather_set(&gather, 0, w, &block);
  }
  bool ok = ss_announce_sizes(play, &everyone, error) && ss_gather_seal(play, &gather, error) &&
            ss_allgather_bruck(play, &gather, error);
  for (uint32_t w = 0; ok && w < s->q; w++)
    ok = !ss_play_resident(play, w) || ss_receipts_sum(play, &gather.receipts, w, gather.block, s->run->low,
                                                       s->run->high, &shared, &s->result[team * s->q + w], error);
  ss_gather_close(&gather);
  return ok;
}
