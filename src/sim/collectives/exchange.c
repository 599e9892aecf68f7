/* Exchanges, in which every message has a payload of its own: pairwise, server fan-in and fan-out, scatter. */
#include "sim/collectives/collectives.h"

/* The ends of message `at` as exchanges number them: ranks, and servers from 0 on. */
struct ends {
  uint32_t from, to;
};

static struct ends ends_of(const struct ss_play *play, uint32_t at) {
  const uint32_t from = play->from[at], to = play->to[at], ranks = play->ranks;
  return (struct ends){from < ranks ? from : from - ranks, to < ranks ? to : to - ranks};
}

static uint32_t chunks_of(const struct ss_exchange *x, struct ends ends) {
  return x->several ? x->several->count(x->context, ends.from, ends.to) : 1;
}

static uint64_t bytes_of(const struct ss_exchange *x, const struct ss_chunk *chunk, uint32_t count) {
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < count; k++) bytes += ss_wire_bytes(x->wire, &chunk[k]);
  return bytes;
}

/* The chunks of message `at` are the next of *scratch. */
static bool put(struct ss_play *play, const struct ss_exchange *x, uint32_t at, struct ss_chunk **scratch,
                struct ss_error *error) {
  if (x->uniform) {
    play->bytes[at] = x->each;
    return true;
  }
  const struct ends ends = ends_of(play, at);
  const uint32_t count = chunks_of(x, ends);
  struct ss_chunk *chunk = *scratch;
  if (!x->give(x->context, ends.from, ends.to, chunk, error)) return false;
  *scratch += count;
  play->bytes[at] = x->padded ? x->each : bytes_of(x, chunk, count);
  if (!play->payloads) return true;
  play->payload[at] = (struct ss_payload){.chunks = chunk, .count = count, .portion = x->padded ? &ss_padded : NULL};
  if (x->known && ss_play_resident(play, play->to[at]))
    play->payload[at].known = x->known(x->context, ends.from, ends.to);
  return true;
}

/* What came of the next of *scratch. */
static bool take(struct ss_play *play, const struct ss_exchange *x, uint32_t at, const struct ss_chunk **scratch,
                 struct ss_error *error) {
  const struct ss_chunk *due = *scratch, *got;
  if (!play->payloads || x->uniform) return true;
  const struct ends ends = ends_of(play, at);
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

/* Plays a round between the first `count` of play->from and play->to. */
static bool play_round(struct ss_play *play, const struct ss_exchange *x, uint32_t count, bool first,
                       struct ss_error *error) {
  struct ss_chunk *scratch = x->several ? x->several->scratch : play->given;
  const struct ss_chunk *due = scratch;
  for (uint32_t at = 0; at < count; at++)
    if (!put(play, x, at, &scratch, error)) return false;
  for (uint32_t at = 0; x->held && at < count; at++) x->held[play->to[at]] += play->bytes[at];
  if (x->held) ss_play_hold_messages(play, count);
  if (!ss_play_exchange(play, count, first, x->wire, error)) return false;
  for (uint32_t at = 0; at < count; at++)
    if (!take(play, x, at, &due, error)) return false;
  return true;
}

/* --- sizes before ------------------------------------------------------------------------------------------- */

/* The longest message of every rank that lives here. Nothing counts that is made to be measured. */
static bool find_longest(struct ss_play *play, const struct ss_exchange *x, uint64_t *longest,
                         struct ss_error *error) {
  struct ss_chunk *scratch = x->several ? x->several->scratch : play->given;
  const struct ss_device *device = play->device;
  const bool counts = play->counts;
  SS_ASIDE;
  bool ok = true;
  play->device = NULL;
  play->counts = false;
  for (uint32_t r = 0; ok && r < play->ranks; r++)
    for (uint32_t s = 1; ok && s < play->ranks && ss_play_resident(play, r); s++) {
      const struct ends ends = {r, (r + s) % play->ranks};
      ok = x->give(x->context, ends.from, ends.to, scratch, error);
      const uint64_t bytes = ok ? bytes_of(x, scratch, chunks_of(x, ends)) : 0;
      longest[r] = bytes > longest[r] ? bytes : longest[r];
    }
  play->device = device;
  play->counts = counts;
  return ok;
}

static bool pad(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  uint64_t *longest;
  if (!ss_take_zero(play->arena, longest, play->ranks)) return ss_fail_memory(error, "padding messages");
  if (!x->uniform && !find_longest(play, x, longest, error)) return false;
  if (!ss_tell_sizes(play, x->counted, longest, error)) return false;
  if (x->uniform) return true;
  x->padded = true;
  for (uint32_t r = 0; r < play->ranks; r++) x->each = longest[r] > x->each ? longest[r] : x->each;
  return true;
}

typedef bool exchange(struct ss_play *play, const struct ss_exchange *x, struct ss_error *error);

/* A count of 8 bytes between each pair that the exchange has. */
static bool count_first(struct ss_play *play, const struct ss_exchange *x, exchange *how, struct ss_error *error) {
  const struct ss_exchange counts = {.uniform = true, .each = 8, .follows = x->follows};
  if (!x->counted || !play->exchange_sizes) return true;
  if (!how(play, &counts, error)) return false;
  ss_play_wait(play);
  return true;
}

/* --- exchanges ---------------------------------------------------------------------------------------------- */

static bool pairwise(struct ss_play *play, const struct ss_exchange *x, struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_DIRECT, play->ranks);
  while (ss_step_next(&step)) {
    const struct ss_messages ahead = {.count = step.moves, .shift = ss_step_shift(&step), .each = x->each};
    for (uint32_t r = 0; !x->uniform && r < step.moves; r++) {
      play->from[r] = r;
      play->to[r] = ss_step_move(&step, r).to;
    }
    if (!(x->uniform ? ss_play_shift(play, &ahead, step.by == 1, true, error)
                     : play_round(play, x, step.moves, step.by == 1, error)))
      return false;
  }
  for (uint32_t r = 0; x->uniform && x->held && r < play->ranks; r++) {
    x->held[r] = (play->ranks - 1) * x->each;
    ss_play_hold(play, r, x->held[r]);
  }
  return true;
}

bool ss_pairwise(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  const bool pads = play->ragged == SS_RAGGED_PADDED && ss_wire_ragged(x->wire);
  return (pads ? pad(play, x, error) : count_first(play, x, pairwise, error)) && pairwise(play, x, error);
}

static bool fan(struct ss_play *play, const struct ss_exchange *x, bool out, struct ss_error *error) {
  const uint32_t servers = play->servers, ranks = play->ranks;
  for (uint32_t t = 0; t < ranks; t++) {
    for (uint32_t s = 0; s < servers; s++) {
      const uint32_t worker = (s + t) % ranks;
      play->from[s] = out ? ranks + s : worker;
      play->to[s] = out ? worker : ranks + s;
    }
    if (!play_round(play, x, servers, t == 0 && !x->follows, error)) return false;
  }
  return true;
}

static bool fan_in(struct ss_play *play, const struct ss_exchange *x, struct ss_error *error) {
  return fan(play, x, false, error);
}

static bool fan_out(struct ss_play *play, const struct ss_exchange *x, struct ss_error *error) {
  return fan(play, x, true, error);
}

bool ss_fan_in(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  return count_first(play, x, fan_in, error) && fan_in(play, x, error);
}

bool ss_fan_out(struct ss_play *play, struct ss_exchange *x, struct ss_error *error) {
  return count_first(play, x, fan_out, error) && fan_out(play, x, error);
}

bool ss_scatter(struct ss_play *play, uint32_t owner, struct ss_exchange *x, struct ss_error *error) {
  for (uint32_t s = 1; s < play->ranks; s++) {
    play->from[0] = owner;
    play->to[0] = (owner + s) % play->ranks;
    if (!play_round(play, x, 1, s == 1, error)) return false;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
