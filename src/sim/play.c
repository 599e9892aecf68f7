#include "sim/play.h"

#include "tensor/sets.h"
#include "tensor/topk.h"

const struct ss_portion ss_padded = {NULL, 0, 0};

bool ss_play_open(struct ss_play *play, struct ss_player *player, uint32_t ranks, uint32_t servers,
                  struct ss_error *error) {
  uint32_t capacity = ranks > servers ? ranks : servers;
  *play = (struct ss_play){.player = player, .ranks = ranks, .servers = servers, .capacity = capacity};
  const size_t endpoints = (size_t)ranks + servers;
  if (ss_take(&play->own, play->from, capacity) && ss_take(&play->own, play->to, capacity) &&
      ss_take(&play->own, play->bytes, capacity) && ss_take(&play->own, play->payload, capacity) &&
      ss_take(&play->own, play->sent, capacity) && ss_take(&play->own, play->given, capacity) &&
      ss_take(&play->own, play->kernel, endpoints) && ss_take(&play->own, play->after, capacity) &&
      ss_take_zero(&play->own, play->buffer, endpoints) && ss_take_zero(&play->own, play->stream, endpoints))
    return true;
  ss_play_close(play);
  return ss_fail_memory(error, "making room for a round");
}

void ss_play_close(struct ss_play *play) {
  ss_arena_free(&play->own);
  ss_sum_scratch_free(&play->scratch);
}

/* --- memory ----------------------------------------------------------------------------------------------- */

void ss_play_renew(struct ss_play *play, uint32_t endpoint, uint64_t *bytes, const struct ss_chunk *list) {
  if (!play->holding) return;
  const uint64_t now = ss_wire_bytes(&play->listed, list);
  ss_play_hold(play, endpoint, now);
  if (!bytes) return;
  ss_play_drop(play, endpoint, *bytes);
  *bytes = now;
}

void ss_play_buffer(struct ss_play *play, const struct ss_messages *messages, uint32_t i) {
  const uint32_t to = ss_message_to(messages, i);
  const uint64_t bytes = ss_message_bytes(messages, i);
  if (bytes <= play->buffer[to]) return;
  ss_play_hold(play, to, bytes - play->buffer[to]);
  play->buffer[to] = bytes;
}

void ss_play_drop_buffers(struct ss_play *play) {
  for (uint32_t e = 0; e < play->ranks + play->servers; e++) {
    ss_play_drop(play, e, play->buffer[e]);
    play->buffer[e] = 0;
  }
}

void ss_play_hold_messages(struct ss_play *play, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) ss_play_hold(play, play->to[i], play->bytes[i]);
}

void ss_play_drop_messages(struct ss_play *play, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) ss_play_drop(play, play->to[i], play->bytes[i]);
}

/* --- kernels ---------------------------------------------------------------------------------------------- */

double ss_play_count(struct ss_play *play, uint32_t endpoint, enum ss_kernel_kind kernel,
                     struct ss_kernel_work work) {
  struct ss_kernel_stream *c = &play->stream[endpoint];
  if (!ss_play_notes(play) || work.elements == 0 || !ss_play_resident(play, endpoint)) return 0;
  const double seconds = play->device ? ss_device_time(play->device, kernel, work) : 0;
  ss_kernel_total_add(&c->work[kernel], &(struct ss_kernel_total){work.calls, work.elements, work.bytes, seconds});
  return seconds;
}

void ss_play_note(struct ss_play *play, uint32_t endpoint, enum ss_kernel_kind kernel, struct ss_kernel_work work) {
  const double seconds = ss_play_count(play, endpoint, kernel, work);
  if (!(seconds > 0)) return;
  play->stream[endpoint].due += seconds;
  play->due = true;
}

void ss_play_note_moves(struct ss_play *play, uint32_t endpoint, struct ss_host_moves moves, uint64_t rows,
                        uint64_t bytes) {
  if (!play->device || !play->device->moves || !ss_play_resident(play, endpoint)) return;
  const struct ss_kernel_work copies = {moves.copies, moves.copies * rows, 2 * moves.copies * bytes};
  ss_play_note(play, endpoint, SS_KERNEL_PACK, copies);
  play->stream[endpoint].due += ss_device_pages(play->device, (double)bytes, ss_host_filled(moves, play->ranks));
  play->due = play->due || play->stream[endpoint].due > 0;
}

void ss_play_wait(struct ss_play *play) {
  for (uint32_t r = 0; play->call > 0 && r < play->ranks; r++)
    if (ss_play_resident(play, r)) play->stream[r].due += play->call, play->due = true;
}

bool ss_play_kernels(struct ss_play *play, struct ss_error *error) {
  struct ss_round round = {.dependent = true, .after = play->kernel};
  if (!play->due) return true;
  for (uint32_t e = 0; e < play->ranks + play->servers; e++) {
    struct ss_kernel_stream *c = &play->stream[e];
    if (c->due > 0) play->kernel[round.after_count++] = (struct ss_computation){e, c->due};
    c->due = 0;
  }
  play->due = false;
  return play->player->play(play->player, &round, error);
}

/* Bytes of entries as they lie in memory: an index and the elements of each. */
static uint64_t memory_bytes(const struct ss_wire *wire, const struct ss_chunk *chunk, uint64_t entries) {
  enum { INDEX = 4 };
  return entries * (INDEX + (uint64_t)chunk->width * wire->value_bytes);
}

/* All messages from one dependent round to the next are encoded in one launch, and decoded in one. */
static void note_batched(struct ss_play *play, uint32_t endpoint, enum ss_kernel_kind kernel, uint64_t elements,
                         uint64_t bytes) {
  struct ss_kernel_stream *c = &play->stream[endpoint];
  if (c->phase != play->phase) c->launched = 0;
  c->phase = play->phase;
  const struct ss_kernel_work work = {c->launched >> kernel & 1 ? 0 : 1, elements, bytes};
  if (elements > 0) c->launched |= UINT32_C(1) << kernel;
  ss_play_note(play, endpoint, kernel, work);
}

/* Who made a chunk encodes it once, to whomever it goes; who passes it on has its bytes. */
static void note_encoding(struct ss_play *play, uint32_t from, const struct ss_wire *wire,
                          const struct ss_chunk *chunk) {
  struct ss_kernel_stream *c = &play->stream[from];
  enum ss_kernel_kind kernel;
  if (chunk->origin != from || !ss_wire_encoder(wire, chunk, &kernel)) return;
  if (c->packed_as == wire && ss_chunk_same(&c->packed, chunk)) return;
  c->packed = *chunk;
  c->packed_as = wire;
  const uint64_t bytes = memory_bytes(wire, chunk, chunk->count) + ss_wire_bytes(wire, chunk);
  note_batched(play, from, kernel, ss_wire_entries(wire, chunk), bytes);
}

static void note_decoding(struct ss_play *play, uint32_t to, const struct ss_wire *wire,
                          const struct ss_chunk *chunk) {
  enum ss_kernel_kind kernel;
  if (!ss_wire_decoder(wire, chunk, &kernel)) return;
  const uint64_t entries = ss_wire_entries(wire, chunk);
  const uint64_t bytes = memory_bytes(wire, chunk, entries) + ss_wire_bytes(wire, chunk);
  note_batched(play, to, kernel, entries, bytes);
}

/* What is noted at an endpoint can come from memory while others are noted. */
static void expect(const struct ss_play *play, const struct ss_messages *m, uint32_t i, bool encoding) {
  if (i >= m->count) return;
  const struct ss_kernel_stream *c = &play->stream[encoding ? ss_message_from(m, i) : ss_message_to(m, i)];
  __builtin_prefetch(&c->due);
  __builtin_prefetch(&c->packed_as);
  __builtin_prefetch(&c->phase);
}

static void note_payloads(struct ss_play *play, const struct ss_round *round, bool encoding) {
  enum { AHEAD = 8 };
  for (uint32_t i = 0; round->payloads && i < round->messages.count; i++) {
    expect(play, &round->messages, i + AHEAD, encoding);
    const struct ss_payload *payload = &round->payloads[i];
    const struct ss_wire *wire = ss_round_wire(round, i);
    const uint32_t from = ss_message_from(&round->messages, i), to = ss_message_to(&round->messages, i);
    if (!wire || !ss_play_resident(play, encoding ? from : to)) continue;
    if (ss_payload_unfinished(payload, ss_message_bytes(&round->messages, i))) continue;
    for (uint32_t j = 0; j < payload->count; j++) {
      if (encoding && payload->mine && payload->mine != j + 1) continue;
      if (encoding) note_encoding(play, from, wire, &payload->chunks[j]);
      else note_decoding(play, to, wire, &payload->chunks[j]);
    }
  }
}

static struct ss_kernel_work sum_work(const struct ss_wire *wire, const struct ss_operands *of,
                                      const struct ss_chunk *sum) {
  struct ss_kernel_work work = {.calls = 1, .bytes = ss_wire_bytes(wire, sum)};
  for (uint32_t i = 0; i < of->count; i++) {
    work.elements += of->chunk[i].count;
    work.bytes += ss_wire_bytes(wire, &of->chunk[i]);
  }
  return work;
}

void ss_play_note_sum(struct ss_play *play, uint32_t rank, const struct ss_wire *wire, const struct ss_operands *of,
                      const struct ss_chunk *sum) {
  if (ss_play_notes(play) && of->count > 1) ss_play_note(play, rank, SS_KERNEL_MERGE_SUM, sum_work(wire, of, sum));
}

void ss_play_note_sums(struct ss_play *play, const struct ss_wire *wire, const struct ss_operands *of,
                       const struct ss_chunk *sum) {
  if (!ss_play_notes(play) || of->count < 2) return;
  const struct ss_kernel_work work = sum_work(wire, of, sum);
  for (uint32_t r = 0; r < play->ranks; r++) ss_play_note(play, r, SS_KERNEL_MERGE_SUM, work);
}

const struct ss_wire ss_memory_wire = {.format = SS_WIRE_SMALLER, .value_bytes = 4, .index_bytes = 4};

void ss_play_note_filter(struct ss_play *play, uint32_t rank, const struct ss_chunk *from,
                         const struct ss_chunk *out) {
  const uint64_t bytes = ss_wire_bytes(&ss_memory_wire, from) + ss_wire_bytes(&ss_memory_wire, out);
  ss_play_note(play, rank, SS_KERNEL_PACK, (struct ss_kernel_work){1, from->count, bytes});
}

bool ss_play_select(struct ss_play *play, uint32_t rank, const struct ss_chunk *from, const struct ss_chunk *other,
                    struct ss_chunk *out, struct ss_error *error) {
  if (!ss_chunk_is_full(from)) {
    if (!ss_chunk_select(from, other, play->arena, out, error)) return false;
    ss_play_note_filter(play, rank, from, out);
    return true;
  }
  if (!ss_chunk_gather(from, other, play->arena, out, error)) return false;
  const uint64_t bytes = 2 * ss_wire_bytes(&ss_memory_wire, out);
  ss_play_note(play, rank, SS_KERNEL_PACK, (struct ss_kernel_work){1, out->count, bytes});
  return true;
}

bool ss_play_rest(struct ss_play *play, uint32_t rank, const struct ss_chunk *from, const struct ss_chunk *other,
                  struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  if (!ss_chunk_rest(from, other, arena, out, error)) return false;
  ss_play_note_filter(play, rank, from, out);
  return true;
}

struct ss_kernel_work ss_top_k_work(uint64_t from, uint64_t kept) {
  enum { INDEX = 4, VALUE = 4 };
  return (struct ss_kernel_work){1, ss_top_k_elements(from, kept), from * VALUE + kept * INDEX};
}

void ss_play_note_top_k(struct ss_play *play, uint32_t rank, uint64_t from, uint64_t kept) {
  ss_play_note(play, rank, SS_KERNEL_TOP_K, ss_top_k_work(from, kept));
}

bool ss_play_top_k(struct ss_play *play, uint32_t rank, const struct ss_chunk *from, uint64_t k, struct ss_chunk *out,
                   struct ss_error *error) {
  const uint64_t count = from->count;
  if (!ss_topk(from, k, play->arena, out, error)) return false;
  ss_play_note_top_k(play, rank, count, out->count);
  return true;
}

bool ss_play_add(struct ss_play *play, uint32_t rank, const struct ss_wire *wire, struct ss_chunk *held,
                 const struct ss_chunk *got, struct ss_error *error) {
  const struct ss_chunk both[2] = {*held, *got}, was = *held;
  const struct ss_operands of = {both, 2, was.low, was.high};
  if (!ss_chunk_sum(&of, play->arena, &play->scratch, held, error)) return false;
  held->origin = was.origin;
  held->part = was.part;
  held->width = held->stride = was.width;
  if (wire) ss_play_note_sum(play, rank, wire, &of, held);
  return true;
}

struct ss_kernel_work ss_sum_held_work(const struct ss_operands *of, const struct ss_chunk *sum,
                                       enum ss_kernel_kind *kernel) {
  struct ss_kernel_work work = sum_work(&ss_memory_wire, of, sum);
  *kernel = SS_KERNEL_MERGE_SUM;
  if (!ss_operands_lie_dense(of)) return work;
  *kernel = SS_KERNEL_DENSE_ADD;
  work.elements = of->high - of->low;
  return work;
}

bool ss_play_sum_held(struct ss_play *play, uint32_t rank, const struct ss_operands *of, struct ss_chunk *out,
                      struct ss_error *error) {
  enum ss_kernel_kind kernel;
  if (!ss_sum_held(of, play->arena, &play->scratch, out, error)) return false;
  out->width = out->stride = 1; /* also of none */
  if (!ss_play_notes(play) || of->count < 2) return true;
  const struct ss_kernel_work work = ss_sum_held_work(of, out, &kernel);
  ss_play_note(play, rank, kernel, work);
  return true;
}

/* --- rounds ----------------------------------------------------------------------------------------------- */

static bool play_watched(struct ss_play *play, struct ss_round *round, struct ss_error *error) {
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

bool ss_play_round(struct ss_play *play, struct ss_round *round, struct ss_error *error) {
  const bool notes = ss_play_notes(play);
  if (round->dependent) play->phase++;
  if (notes) note_payloads(play, round, true);
  if (round->dependent && !ss_play_kernels(play, error)) return false;
  if (!play_watched(play, round, error)) return false;
  if (notes) note_payloads(play, round, false);
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

bool ss_play_sends(struct ss_play *play, uint32_t count, const struct ss_wire *wire, struct ss_error *error) {
  struct ss_round sizes = {.messages = {.count = count, .from = play->from, .to = play->to, .each = 8},
                           .dependent = true};
  if (play->exchange_sizes) {
    if (!ss_play_round(play, &sizes, error)) return false;
    ss_play_wait(play);
  }
  return ss_play_messages(play, count, true, wire, error);
}

bool ss_play_exchange(struct ss_play *play, uint32_t count, bool first, const struct ss_wire *wire,
                      struct ss_error *error) {
  return play_listed(play, count, first, true, wire, error);
}

bool ss_play_shift(struct ss_play *play, const struct ss_messages *messages, bool dependent, bool exchange,
                   struct ss_error *error) {
  struct ss_round round = {.messages = *messages, .dependent = dependent, .exchange = exchange};
  if (dependent && !ss_play_kernels(play, error)) return false;
  return play->player->play(play->player, &round, error);
}

const struct ss_chunk *ss_play_got_several(struct ss_play *play, uint32_t at, uint32_t count) {
  const struct ss_payload *payload = &play->payload[at];
  if (payload->count == count) return payload->chunks;
  ss_play_mismatch(play, "endpoint %u received %u chunks of endpoint %u where %u were due", play->to[at],
                   payload->count, play->from[at], count);
  return NULL;
}

const struct ss_chunk *ss_play_got(struct ss_play *play, uint32_t at) {
  return ss_play_got_several(play, at, 1);
}

const struct ss_chunk *ss_play_due(struct ss_play *play, uint32_t at, uint32_t origin, uint32_t part) {
  if (!play->payloads || !ss_play_resident(play, play->to[at])) return NULL;
  const struct ss_chunk *got = ss_play_got(play, at);
  if (got && (got->origin != origin || got->part != part))
    ss_play_mismatch(play, "endpoint %u received part %u of %u where part %u of %u was due", play->to[at], got->part,
                     got->origin, part, origin);
  return got;
}

void ss_play_mismatch(struct ss_play *play, const char *format, ...) {
  if (play->mismatches++ > 0) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(play->mismatch, sizeof play->mismatch, format, arguments);
  va_end(arguments);
}
/* SPDX-License-Identifier: Apache-2.0 */
