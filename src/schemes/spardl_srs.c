/* Spar-Reduce-Scatter (SparDL §3.1, Algorithm 1). */
#include "schemes/spardl.h"

/* Round with offset o = 2^(l-i): position w sends `count` blocks from w + o on. */
struct srs {
  struct ss_spardl *s;
  struct ss_play *play;
  uint32_t team, offset, count;
};

static bool put_blocks(const struct srs *x, uint32_t w, struct ss_error *error) {
  struct ss_play *play = x->play;
  struct ss_spardl *s = x->s;
  struct ss_chunk *chunks = ss_arena_alloc(play->arena, x->count, sizeof *chunks);
  if (!chunks) return ss_fail_memory(error, "sending blocks");
  play->from[w] = w;
  play->to[w] = (w + x->offset) % s->q;
  play->bytes[w] = 0;
  play->payload[w] = (struct ss_payload){.chunks = chunks, .count = x->count};
  for (uint32_t j = 0; j < x->count; j++) {
    const uint32_t rank = x->team * s->q + w, b = (w + x->offset + j) % s->q;
    if (!s->after_sum && !ss_spardl_select_own(s, rank, b, ss_spardl_quota(s, b), error)) return false;
    chunks[j] = *ss_spardl_block(s, rank, b);
    chunks[j].origin = w;
    play->bytes[w] += ss_wire_bytes(&s->run->coo, &chunks[j]);
  }
  return true;
}

static bool take_blocks(const struct srs *x, uint32_t from, struct ss_error *error) {
  struct ss_spardl *s = x->s;
  const uint32_t w = x->play->to[from], rank = x->team * s->q + w;
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
    if (!ss_spardl_add(s, x->play, w, ss_spardl_block(s, rank, b), got, error)) return false;
    if (s->after_sum && !ss_spardl_select_own(s, rank, b, ss_spardl_quota(s, b), error)) return false;
  }
  return true;
}

static bool play_srs_round(const struct srs *x, struct ss_error *error) {
  const struct ss_groups everyone = ss_everyone(x->s->q);
  if (!ss_announce_sizes(x->play, &everyone, error)) return false;
  for (uint32_t w = 0; w < x->s->q; w++)
    if (!put_blocks(x, w, error)) return false;
  if (!ss_play_messages(x->play, x->s->q, true, &x->s->run->coo, error)) return false;
  for (uint32_t w = 0; w < x->s->q; w++)
    if (!take_blocks(x, w, error)) return false;
  return ss_play_charge_sums(x->play, error);
}

/* after-sum: every block once before the first round. */
static bool select_all_blocks(struct ss_spardl *s, uint32_t team, struct ss_error *error) {
  for (uint32_t w = 0; w < s->q; w++)
    for (uint32_t b = 0; b < s->q; b++)
      if (!ss_spardl_select_own(s, team * s->q + w, b, ss_spardl_quota(s, b), error)) return false;
  return true;
}

bool ss_spardl_reduce_scatter(void *context, uint32_t team, struct ss_play *play, struct ss_error *error) {
  struct ss_spardl *s = context;
  struct srs x = {.s = s, .play = play, .team = team};
  uint32_t l = 0;
  while (1u << l < s->q) l++;
  if (s->after_sum && !select_all_blocks(s, team, error)) return false;
  for (uint32_t i = 1; i <= l; i++) {
    x.offset = 1u << (l - i);
    x.count = i == 1 ? s->q - x.offset : x.offset;
    if (!play_srs_round(&x, error)) return false;
  }
  for (uint32_t w = 0; !s->after_sum && w < s->q; w++)
    if (!ss_spardl_select_own(s, team * s->q + w, w, ss_spardl_quota(s, w), error)) return false;
  return true;
}
