/* Exchanges, in which every message has a payload of its own: pairwise, server fan-in and fan-out, scatter. */
#include "sim/collectives/collectives.h"

/* Index of an endpoint among senders or receivers: its rank, or the number of its server. */
struct ends {
  uint32_t from, to;
};

static bool put(struct ss_play *play, const struct ss_exchange *x, uint32_t at, struct ends ends,
                struct ss_error *error) {
  struct ss_chunk *chunk = &play->given[at];
  if (x->uniform) {
    play->bytes[at] = x->each;
    return true;
  }
  if (!x->give(x->context, ends.from, ends.to, chunk, error)) return false;
  play->bytes[at] = ss_wire_bytes(x->wire, chunk);
  if (!play->payloads) return true;
  play->payload[at] = (struct ss_payload){.chunks = chunk, .count = 1};
  if (x->known && ss_play_resident(play, play->to[at]))
    play->payload[at].known = x->known(x->context, ends.from, ends.to);
  return true;
}

static bool take(struct ss_play *play, const struct ss_exchange *x, uint32_t at, struct ends ends,
                 struct ss_error *error) {
  if (!play->payloads || !ss_play_resident(play, play->to[at])) return true;
  const struct ss_chunk *got = ss_play_got(play, at);
  return !got ||
         ss_receipts_add(play, x->receipts, &(struct ss_arrival){ends.to, ends.from, &play->given[at], got}, error);
}

bool ss_pairwise(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  const uint32_t P = play->ranks;
  for (uint32_t s = 1; s < P; s++) {
    if (x->uniform) {
      const struct ss_messages ahead = {.count = P, .shift = s, .each = x->each};
      if (!ss_play_shift(play, &ahead, s == 1, true, error)) return false;
      continue;
    }
    for (uint32_t r = 0; r < P; r++) {
      play->from[r] = r;
      play->to[r] = (r + s) % P;
      if (!put(play, x, r, (struct ends){r, (r + s) % P}, error)) return false;
    }
    if (!ss_play_exchange(play, P, s == 1, x->wire, error)) return false;
    for (uint32_t r = 0; r < P; r++)
      if (!take(play, x, r, (struct ends){r, (r + s) % P}, error)) return false;
  }
  return true;
}

/* Of worker and server, who sends to whom. */
static struct ends fan_ends(bool out, uint32_t worker, uint32_t server) {
  return out ? (struct ends){server, worker} : (struct ends){worker, server};
}

static bool fan(struct ss_play *play, struct ss_exchange *x, bool out, struct ss_error *error) {
  uint32_t servers = play->servers, ranks = play->ranks;
  for (uint32_t t = 0; t < ranks; t++) {
    for (uint32_t s = 0; s < servers; s++) {
      uint32_t worker = (s + t) % ranks;
      play->from[s] = out ? ranks + s : worker;
      play->to[s] = out ? worker : ranks + s;
      if (!put(play, x, s, fan_ends(out, worker, s), error)) return false;
    }
    if (!ss_play_exchange(play, servers, t == 0, x->wire, error)) return false;
    for (uint32_t s = 0; s < servers; s++)
      if (!take(play, x, s, fan_ends(out, (s + t) % ranks, s), error)) return false;
  }
  return true;
}

bool ss_fan_in(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  return fan(play, x, false, error);
}

bool ss_fan_out(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  return fan(play, x, true, error);
}

bool ss_scatter(struct ss_play *play, uint32_t owner, struct ss_exchange *x, struct ss_error *error) {
  for (uint32_t s = 1; s < play->ranks; s++) {
    const struct ends ends = {owner, (owner + s) % play->ranks};
    play->from[0] = ends.from;
    play->to[0] = ends.to;
    if (!put(play, x, 0, ends, error)) return false;
    if (!ss_play_exchange(play, 1, s == 1, x->wire, error) || !take(play, x, 0, ends, error)) return false;
  }
  return true;
}
