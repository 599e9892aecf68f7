/* Exchanges, in which every message has a payload of its own: pairwise, server fan-in and fan-out, scatter. */
#include "sim/collectives/collectives.h"

/* Index of an endpoint among senders or receivers: its rank, or the number of its server. */
struct ends {
  uint32_t from, to;
};

static uint32_t chunks_of(const struct ss_exchange *x, struct ends ends) {
  return x->several ? x->several->count(x->context, ends.from, ends.to) : 1;
}

/* Message `at` of a round; its chunks are the next of *scratch. */
static bool put(struct ss_play *play, const struct ss_exchange *x, uint32_t at, struct ends ends,
                struct ss_chunk **scratch, struct ss_error *error) {
  struct ss_chunk *chunk = *scratch;
  if (x->uniform) {
    play->bytes[at] = x->each;
    return true;
  }
  const uint32_t count = chunks_of(x, ends);
  if (!x->give(x->context, ends.from, ends.to, chunk, error)) return false;
  *scratch += count;
  play->bytes[at] = 0;
  for (uint32_t k = 0; k < count; k++) play->bytes[at] += ss_wire_bytes(x->wire, &chunk[k]);
  if (!play->payloads) return true;
  play->payload[at] = (struct ss_payload){.chunks = chunk, .count = count};
  if (x->known && ss_play_resident(play, play->to[at]))
    play->payload[at].known = x->known(x->context, ends.from, ends.to);
  return true;
}

/* What came of the next of *scratch. */
static bool take(struct ss_play *play, const struct ss_exchange *x, uint32_t at, struct ends ends,
                 const struct ss_chunk **scratch, struct ss_error *error) {
  const struct ss_chunk *due = *scratch, *got;
  if (!play->payloads) return true;
  const uint32_t count = chunks_of(x, ends);
  *scratch += count;
  if (!ss_play_resident(play, play->to[at]) || !(got = ss_play_got_several(play, at, count))) return true;
  for (uint32_t k = 0; k < count; k++) {
    struct ss_slot slot = {ends.to, ends.from};
    if (x->several) slot = x->several->slot(x->context, ends.from, ends.to, k);
    const struct ss_arrival arrival = {slot.receiver, slot.block, &due[k], &got[k]};
    if (!ss_receipts_add(play, x->receipts, &arrival, error)) return false;
  }
  return true;
}

/* Where the chunks of a round are. */
static struct ss_chunk *scratch_of(struct ss_play *play, const struct ss_exchange *x) {
  return x->several ? x->several->scratch : play->given;
}

bool ss_pairwise(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  const uint32_t P = play->ranks;
  for (uint32_t s = 1; s < P; s++) {
    if (x->uniform) {
      const struct ss_messages ahead = {.count = P, .shift = s, .each = x->each};
      if (!ss_play_shift(play, &ahead, s == 1, true, error)) return false;
      continue;
    }
    struct ss_chunk *scratch = scratch_of(play, x);
    const struct ss_chunk *due = scratch;
    for (uint32_t r = 0; r < P; r++) {
      play->from[r] = r;
      play->to[r] = (r + s) % P;
      if (!put(play, x, r, (struct ends){r, (r + s) % P}, &scratch, error)) return false;
    }
    if (!ss_play_exchange(play, P, s == 1, x->wire, error)) return false;
    for (uint32_t r = 0; r < P; r++)
      if (!take(play, x, r, (struct ends){r, (r + s) % P}, &due, error)) return false;
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
    struct ss_chunk *scratch = scratch_of(play, x);
    const struct ss_chunk *due = scratch;
    for (uint32_t s = 0; s < servers; s++) {
      uint32_t worker = (s + t) % ranks;
      play->from[s] = out ? ranks + s : worker;
      play->to[s] = out ? worker : ranks + s;
      if (!put(play, x, s, fan_ends(out, worker, s), &scratch, error)) return false;
    }
    if (!ss_play_exchange(play, servers, t == 0, x->wire, error)) return false;
    for (uint32_t s = 0; s < servers; s++)
      if (!take(play, x, s, fan_ends(out, (s + t) % ranks, s), &due, error)) return false;
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
    struct ss_chunk *scratch = scratch_of(play, x);
    const struct ss_chunk *due = scratch;
    if (!put(play, x, 0, ends, &scratch, error)) return false;
    if (!ss_play_exchange(play, 1, s == 1, x->wire, error) || !take(play, x, 0, ends, &due, error)) return false;
  }
  return true;
}
