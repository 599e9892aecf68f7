#include "sim/play.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ss_play_open(struct ss_play *play, struct ss_player *player, uint32_t ranks, uint32_t servers,
                  struct ss_error *error) {
  uint32_t capacity = ranks > servers ? ranks : servers;
  *play = (struct ss_play){.player = player, .ranks = ranks, .servers = servers, .capacity = capacity};
  play->from = ss_alloc(capacity, sizeof *play->from);
  play->to = ss_alloc(capacity, sizeof *play->to);
  play->bytes = ss_alloc(capacity, sizeof *play->bytes);
  play->payload = ss_alloc(capacity, sizeof *play->payload);
  play->sent = ss_alloc(capacity, sizeof *play->sent);
  play->given = ss_alloc(capacity, sizeof *play->given);
  play->kernel = ss_alloc(capacity, sizeof *play->kernel);
  play->summing = ss_alloc_zero(ranks, sizeof *play->summing);
  if (play->from && play->to && play->bytes && play->payload && play->sent && play->given && play->kernel &&
      play->summing)
    return true;
  ss_play_close(play);
  return ss_fail_memory(error, "making room for a round");
}

void ss_play_close(struct ss_play *play) {
  free(play->from);
  free(play->to);
  free(play->bytes);
  free(play->payload);
  free(play->sent);
  free(play->given);
  free(play->kernel);
  free(play->summing);
  ss_sum_scratch_free(&play->scratch);
}

bool ss_play_round(struct ss_play *play, struct ss_round *round, struct ss_error *error) {
  const bool watch = play->watchful && round->payloads;
  const uint32_t count = round->messages.count;
  if (watch && count > 0) memcpy(play->sent, round->payloads, count * sizeof *play->sent);
  if (!play->player->play(play->player, round, error)) return false;
  for (uint32_t i = 0; watch && i < count; i++) {
    const uint32_t from = ss_message_from(&round->messages, i), to = ss_message_to(&round->messages, i);
    const bool same =
        round->payloads[i].chunks == play->sent[i].chunks && round->payloads[i].count == play->sent[i].count;
    if (!same && ss_play_resident(play, from) && ss_play_resident(play, to))
      ss_play_mismatch(play, "endpoint %u received other than %u sent", to, from);
  }
  return true;
}

void ss_play_put(struct ss_play *play, uint32_t at, uint32_t from, uint32_t to, const struct ss_wire *wire,
                 const struct ss_chunk *chunk) {
  play->from[at] = from;
  play->to[at] = to;
  play->bytes[at] = ss_wire_bytes(wire, chunk);
  play->payload[at] = (struct ss_payload){.chunks = chunk, .count = 1};
}

static bool play_listed(struct ss_play *play, uint32_t count, bool dependent, bool exchange,
                        const struct ss_wire *wire, struct ss_error *error) {
  struct ss_round round = {
      .messages = {.count = count, .from = play->from, .to = play->to, .bytes = play->bytes},
      .dependent = dependent,
      .exchange = exchange,
      .payloads = play->payloads && wire ? play->payload : NULL,
      .wire = play->payloads ? wire : NULL,
  };
  return ss_play_round(play, &round, error);
}

bool ss_play_messages(struct ss_play *play, uint32_t count, bool dependent, const struct ss_wire *wire,
                      struct ss_error *error) {
  return play_listed(play, count, dependent, false, wire, error);
}

bool ss_play_exchange(struct ss_play *play, uint32_t count, bool first, const struct ss_wire *wire,
                      struct ss_error *error) {
  return play_listed(play, count, first, true, wire, error);
}

bool ss_play_shift(struct ss_play *play, const struct ss_messages *messages, bool dependent, bool exchange,
                   struct ss_error *error) {
  struct ss_round round = {.messages = *messages, .dependent = dependent, .exchange = exchange};
  return play->player->play(play->player, &round, error);
}

bool ss_play_kernels(struct ss_play *play, enum ss_charge kernel, uint32_t first, uint32_t count,
                     const uint64_t *bytes, struct ss_error *error) {
  if (!play->device || !play->device->counted) return true;
  for (uint32_t i = 0; i < count; i++)
    play->kernel[i] = (struct ss_computation){first + i, ss_device_time(play->device, kernel, bytes[i])};
  struct ss_round round = {.dependent = true, .after = play->kernel, .after_count = count};
  return play->player->play(play->player, &round, error);
}

bool ss_play_add(struct ss_play *play, uint32_t rank, const struct ss_wire *wire, struct ss_chunk *held,
                 const struct ss_chunk *got, struct ss_error *error) {
  const struct ss_chunk both[2] = {*held, *got}, was = *held;
  if (!ss_chunk_sum(&(struct ss_operands){both, 2, was.low, was.high}, play->arena, &play->scratch, held, error))
    return false;
  held->origin = was.origin;
  held->part = was.part;
  held->width = held->stride = was.width;
  if (wire) ss_play_note_sum(play, rank, wire, both, 2, held);
  return true;
}

void ss_play_note_sum(struct ss_play *play, uint32_t rank, const struct ss_wire *wire,
                      const struct ss_chunk *operands, uint32_t count, const struct ss_chunk *sum) {
  struct ss_summing *s = &play->summing[rank];
  if (!play->device || !play->device->counted) return;
  s->any = true;
  s->moved += ss_wire_bytes(wire, sum);
  for (uint32_t i = 0; i < count; i++) s->moved += ss_wire_bytes(wire, &operands[i]);
}

bool ss_play_charge_sums(struct ss_play *play, struct ss_error *error) {
  struct ss_round round = {.dependent = true, .after = play->kernel};
  if (!play->device || !play->device->counted) return true;
  for (uint32_t r = 0; r < play->ranks; r++)
    if (play->summing[r].any)
      play->kernel[round.after_count++] =
          (struct ss_computation){r, ss_device_time(play->device, SS_MERGE_SUM, play->summing[r].moved)};
  memset(play->summing, 0, play->ranks * sizeof *play->summing);
  return play->player->play(play->player, &round, error);
}

const struct ss_chunk *ss_play_got(struct ss_play *play, uint32_t at) {
  const struct ss_payload *payload = &play->payload[at];
  if (payload->count == 1) return payload->chunks;
  ss_play_mismatch(play, "endpoint %u received %u chunks of endpoint %u where one was due", play->to[at],
                   payload->count, play->from[at]);
  return NULL;
}

void ss_play_mismatch(struct ss_play *play, const char *format, ...) {
  if (play->mismatches++ > 0) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(play->mismatch, sizeof play->mismatch, format, arguments);
  va_end(arguments);
}
