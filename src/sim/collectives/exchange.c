/* Exchanges, in which every message has a payload of its own: pairwise, server fan-in and fan-out, scatter. */
#include "sim/collectives/collectives.h"

/* Index of an endpoint among senders or receivers: its position, or the number of its server. */
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

bool ss_pairwise(struct ss_play *play, const struct ss_groups *groups, struct ss_exchange *x,
                 struct ss_error *error) {
  uint32_t size = groups->size;
  for (uint32_t s = 1; s < size; s++) {
    if (x->uniform && groups->count == 1 && !groups->rank) {
      const struct ss_messages ahead = {.count = size, .shift = s, .each = x->each};
      if (!ss_play_shift(play, &ahead, s == 1, true, error)) return false;
      continue;
    }
    for (uint32_t p = 0; p < size; p++) {
      struct ends ends = {p, (p + s) % size};
      play->from[p] = ss_member(groups, 0, ends.from);
      play->to[p] = ss_member(groups, 0, ends.to);
      if (!put(play, x, p, ends, error)) return false;
    }
    if (!ss_play_exchange(play, size, s == 1, x->wire, error)) return false;
    for (uint32_t p = 0; p < size; p++)
      if (!take(play, x, p, (struct ends){p, (p + s) % size}, error)) return false;
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

bool ss_scatter(struct ss_play *play, const struct ss_groups *groups, uint32_t owner, struct ss_exchange *x,
                struct ss_error *error) {
  for (uint32_t s = 1; s < groups->size; s++) {
    struct ends ends = {owner, (owner + s) % groups->size};
    play->from[0] = ss_member(groups, 0, ends.from);
    play->to[0] = ss_member(groups, 0, ends.to);
    if (!put(play, x, 0, ends, error)) return false;
    if (!ss_play_exchange(play, 1, s == 1, x->wire, error) || !take(play, x, 0, ends, error)) return false;
  }
  return true;
}
