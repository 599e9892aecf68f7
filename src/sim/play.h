/* What a scheme plays on: rounds, and the players that take them.
 *
 * A scheme is written once, as rounds: "rank r sends this chunk to rank q". It hands each round to a *player*. The
 * engine (sim/engine.h) plays a round on a network model, all ranks in one process; the MPI executor (exec/) really
 * sends it, one rank a process. The scheme cannot tell the difference, except that a process holds only the payloads
 * of the ranks that live in it: it asks ss_play_resident before it touches one.
 *
 * Only one round is alive at a time; its arrays belong to `struct ss_play` and are reused. */
#pragma once

#include "machine/device.h"
#include "machine/network.h"
#include "tensor/wire.h"

/* A message that is not as long as its chunks: a piece of what they take, or more than that. */
struct ss_portion {
  const void *stream;    /* all its pieces have this in common; NULL: it brings all chunks, and zeros behind them */
  uint64_t first, whole; /* of a piece: the bytes that went before, and those of all */
};

/* What one message carries: `count` chunks, one after the other. */
struct ss_payload {
  const struct ss_wire *wire; /* how it travels, in a round that does not say it for all; NULL there: only bytes do */
  const struct ss_chunk *chunks;
  const struct ss_chunk *known; /* for SS_WIRE_VALUES: chunks whose rows the receiver already holds, one for each */
  const struct ss_portion *portion; /* NULL: it takes what its chunks take; else as many bytes as the round says */
  uint32_t count;
  uint32_t mine; /* 1 + the only chunk that the sender may have made itself; 0: all whose origin it is */
};
enum { SS_PASSED_ON = UINT32_MAX }; /* `mine` where there is none */

extern const struct ss_portion ss_padded; /* which is no piece */
/* A piece that others follow: nothing is got yet. */
static inline bool ss_payload_unfinished(const struct ss_payload *payload, uint64_t bytes) {
  const struct ss_portion *p = payload->portion;
  return p && p->stream && p->first + bytes < p->whole;
}

/* Messages of unlike lengths, of a gather or exchange: each as long as it is; of gathers a group of broadcasts, one a
 * rank; or each as long as the longest. */
enum ss_ragged { SS_RAGGED_V, SS_RAGGED_BROADCASTS, SS_RAGGED_PADDED };

struct ss_round {
  struct ss_messages messages;
  /* A dependent round's messages are ready at an endpoint once all that endpoint did in earlier rounds is complete;
   * an independent round's when those of the nearest dependent round before it were. */
  bool dependent;
  bool exchange;           /* a round of an exchange (pairwise, direct, server fan-in or fan-out), not of a chain */
  const uint32_t *settled; /* [settled_count] a dependent round of these endpoints alone; NULL: of all */
  uint32_t settled_count;
  struct ss_payload *payloads;        /* [messages.count]; NULL: only sizes are played */
  const struct ss_wire *wire;         /* how the payloads travel; NULL: as each says, or there are none */
  const struct ss_computation *after; /* kernels that run when an endpoint has what this round sends it */
  uint32_t after_count;
};

/* How message i travels; NULL: as bytes without meaning. */
static inline const struct ss_wire *ss_round_wire(const struct ss_round *round, uint32_t i) {
  if (!round->payloads) return NULL;
  return round->wire ? round->wire : round->payloads[i].wire;
}

/* How processes put together what each knows. */
enum ss_pool { SS_POOL_SUM, SS_POOL_OR };

struct ss_player {
  /* Plays the round. On return payloads[i] is what the receiver of message i got; messages between endpoints that do
   * not live here may be left as they are. */
  bool (*play)(struct ss_player *player, struct ss_round *round, struct ss_error *error);
  /* NULL: every endpoint lives in this process. */
  bool (*resident)(const struct ss_player *player, uint32_t endpoint);
  /* What the model takes as known to all without a message: numbers that every process filled in for the endpoints
   * that live in it become the sum, or the union of bits, of all. All processes call it equally often and in the same
   * order, whoever lives in them. NULL: nothing to do, all endpoints live here. */
  bool (*pool)(struct ss_player *player, uint64_t *numbers, uint64_t count, enum ss_pool how, struct ss_error *error);
};

/* What an endpoint computes. A kernel is noted where it runs, in the very code that runs it; all that was noted for
 * an endpoint runs on its compute stream before its next dependent round, one after the other. */
struct ss_kernel_stream {
  struct ss_kernel_total work[SS_KERNELS]; /* since the play began */
  double due;                              /* s noted and not yet played */
  struct ss_chunk packed;                  /* what it encoded last, and how: it need not do so again */
  const struct ss_wire *packed_as;
  uint32_t launched; /* encoders and decoders that messages of the phase were batched in, a bit each */
  uint64_t phase;
};

/* B of what an endpoint holds (docs/model.md, "Memory"). */
struct ss_holding {
  uint64_t now, peak, own; /* own: from the beginning to the end */
};

struct ss_play {
  struct ss_player *player;
  uint32_t ranks, servers;
  bool payloads;       /* chunks carry rows and marks or values; false: counts and bytes only */
  bool exchange_sizes; /* "sizes": "exchanged" */
  enum ss_ragged ragged;
  double call;   /* s that a host waits once sizes came */
  bool watchful; /* what comes must be what was sent: for results that no sum can be held against */
  const struct ss_device *device;
  bool counts;                /* kernels are noted, also where the device counts none */
  struct ss_arena *arena;     /* lives as long as the iteration */
  struct ss_wire listed;      /* how sums and selections lie in memory */
  struct ss_holding *holding; /* [ranks + servers], of the outermost play; NULL: nobody asks what is held */
  uint64_t *buffer;           /* [ranks + servers] B of what is added in place */
  const uint32_t *outside;    /* [ranks + servers] who its endpoints are there; NULL: it is that play */
  struct ss_sum_scratch scratch;

  struct ss_arena own; /* of the following: arrays for one round of at most `capacity` messages */
  uint32_t capacity;
  uint32_t *from, *to;
  uint64_t *bytes;
  struct ss_payload *payload, *sent; /* sent: of a watchful play, to compare with */
  struct ss_chunk *given;            /* [capacity] chunks made for one round */
  struct ss_computation *kernel;     /* [ranks + servers] */
  struct ss_computation *after;      /* [capacity] of one round */
  struct ss_kernel_stream *stream;   /* [ranks + servers] of those that live here */
  uint64_t phase;                    /* dependent rounds so far */
  bool due;                          /* of some endpoint something is */

  uint64_t mismatches; /* messages whose sender or part was not the one due, or that came twice */
  char mismatch[160];  /* the first, in words */
};

/* Room for rounds of up to max(ranks, servers) messages. */
bool ss_play_open(struct ss_play *play, struct ss_player *player, uint32_t ranks, uint32_t servers,
                  struct ss_error *error) SS_MUST_CHECK;
void ss_play_close(struct ss_play *play);

static inline bool ss_play_resident(const struct ss_play *play, uint32_t endpoint) {
  return !play->player->resident || play->player->resident(play->player, endpoint);
}
static inline bool ss_play_pool(struct ss_play *play, uint64_t *numbers, uint64_t count, enum ss_pool how,
                                struct ss_error *error) {
  return !play->player->pool || play->player->pool(play->player, numbers, count, how, error);
}
/* Plays a round, and watches. */
bool ss_play_round(struct ss_play *play, struct ss_round *round, struct ss_error *error) SS_MUST_CHECK;
/* Plays `count` messages from play->from/to/bytes with play->payload (when play->payloads): a round of a chain, or of
 * an exchange, of which the first round alone is dependent. */
bool ss_play_messages(struct ss_play *play, uint32_t count, bool dependent, const struct ss_wire *wire,
                      struct ss_error *error) SS_MUST_CHECK;
bool ss_play_exchange(struct ss_play *play, uint32_t count, bool first, const struct ss_wire *wire,
                      struct ss_error *error) SS_MUST_CHECK;
/* A dependent round of a chain of which receivers need sizes: where the play exchanges them, a round of 8 bytes over
 * each of its pairs goes first, and hosts wait. */
bool ss_play_sends(struct ss_play *play, uint32_t count, const struct ss_wire *wire,
                   struct ss_error *error) SS_MUST_CHECK;
/* Message `at` of the next such round brings one chunk, which stays the caller's, between endpoints. */
void ss_play_put(struct ss_play *play, uint32_t at, uint32_t from, uint32_t to, const struct ss_wire *wire,
                 const struct ss_chunk *chunk);
/* A round of messages in shift form, sizes only. */
bool ss_play_shift(struct ss_play *play, const struct ss_messages *messages, bool dependent, bool exchange,
                   struct ss_error *error) SS_MUST_CHECK;

/* --- memory ----------------------------------------------------------------------------------------------- */

static inline struct ss_holding *ss_play_holding(const struct ss_play *play, uint32_t endpoint) {
  return &play->holding[play->outside ? play->outside[endpoint] : endpoint];
}
/* The endpoint holds so many bytes more; and lets go of them. */
static inline void ss_play_hold(struct ss_play *play, uint32_t endpoint, uint64_t bytes) {
  if (!play->holding) return;
  struct ss_holding *h = ss_play_holding(play, endpoint);
  h->now += bytes;
  if (h->now > h->peak) h->peak = h->now;
}
static inline void ss_play_drop(struct ss_play *play, uint32_t endpoint, uint64_t bytes) {
  if (play->holding) ss_play_holding(play, endpoint)->now -= bytes;
}
/* It makes a list, while it still has the one of *bytes; that goes, and *bytes are of the new one. NULL: it stays
 * until the end. */
void ss_play_renew(struct ss_play *play, uint32_t endpoint, uint64_t *bytes, const struct ss_chunk *list);
/* The receiver of message i has a buffer that is as long as the longest of such messages, until buffers go. */
void ss_play_buffer(struct ss_play *play, const struct ss_messages *messages, uint32_t i);
void ss_play_drop_buffers(struct ss_play *play);
/* Receivers of the first `count` of play->to hold the message that comes; and let go of it. */
void ss_play_hold_messages(struct ss_play *play, uint32_t count);
void ss_play_drop_messages(struct ss_play *play, uint32_t count);

/* --- kernels ---------------------------------------------------------------------------------------------- */

/* Are kernels noted at all? */
static inline bool ss_play_notes(const struct ss_play *play) {
  return play->counts || (play->device && play->device->counted);
}
/* Counts calls of a kernel by `endpoint`, if it lives here, and returns the seconds that they take; those that have
 * no element to go through are none. For who puts them into a round (its `after`). */
double ss_play_count(struct ss_play *play, uint32_t endpoint, enum ss_kernel_kind kernel, struct ss_kernel_work work);
/* Notes them: they are counted, and due. */
void ss_play_note(struct ss_play *play, uint32_t endpoint, enum ss_kernel_kind kernel, struct ss_kernel_work work);
/* Notes what a library moves within the memory of `endpoint`, whose vector has so many rows and bytes: copies, as
 * calls of `pack`, and pages of buffers. Nothing unless the device is a host's memory. */
void ss_play_note_moves(struct ss_play *play, uint32_t endpoint, struct ss_host_moves moves, uint64_t rows,
                        uint64_t bytes);
/* Notes that every rank's host waits for what came: `call` s each. */
void ss_play_wait(struct ss_play *play);
/* Plays what is due, in a round without messages. Dependent rounds do so before they are played; whoever ends a play
 * does it then. */
bool ss_play_kernels(struct ss_play *play, struct ss_error *error) SS_MUST_CHECK;

/* How entries lie in memory: as lists, or dense where that is smaller. */
extern const struct ss_wire ss_memory_wire;

/* The following run a kernel for `rank` and note it. Results are the play's arena's.
 *
 * *held becomes its sum with `got` over its own range, all else about it stays. */
bool ss_play_add(struct ss_play *play, uint32_t rank, const struct ss_wire *wire, struct ss_chunk *held,
                 const struct ss_chunk *got, struct ss_error *error) SS_MUST_CHECK;
/* The sum of values that lie in the rank's memory, as a list or dense (tensor/sets.h). */
bool ss_play_sum_held(struct ss_play *play, uint32_t rank, const struct ss_operands *of, struct ss_chunk *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* What `from`, which the rank holds, has of the rows of `other`; and what is left of it without them, `arena`'s. */
bool ss_play_select(struct ss_play *play, uint32_t rank, const struct ss_chunk *from, const struct ss_chunk *other,
                    struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
bool ss_play_rest(struct ss_play *play, uint32_t rank, const struct ss_chunk *from, const struct ss_chunk *other,
                  struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) SS_MUST_CHECK;
/* What a sum of what is held takes, and of which kernel. */
struct ss_kernel_work ss_sum_held_work(const struct ss_operands *of, const struct ss_chunk *sum,
                                       enum ss_kernel_kind *kernel);
/* The `k` largest entries of `from` (tensor/topk.h). */
bool ss_play_top_k(struct ss_play *play, uint32_t rank, const struct ss_chunk *from, uint64_t k, struct ss_chunk *out,
                   struct ss_error *error) SS_MUST_CHECK;
/* What it takes to select `kept` of `from` entries: the values are read, indices written. */
struct ss_kernel_work ss_top_k_work(uint64_t from, uint64_t kept);
/* Notes that. */
void ss_play_note_top_k(struct ss_play *play, uint32_t rank, uint64_t from, uint64_t kept);
/* Notes a sum of sparse operands, as `wire` carries them, that came out as `sum`. */
void ss_play_note_sum(struct ss_play *play, uint32_t rank, const struct ss_wire *wire, const struct ss_operands *of,
                      const struct ss_chunk *sum);
/* Notes that every rank made it. */
void ss_play_note_sums(struct ss_play *play, const struct ss_wire *wire, const struct ss_operands *of,
                       const struct ss_chunk *sum);
/* Notes that entries of `from` were copied one by one, those that came out as `out`. */
void ss_play_note_filter(struct ss_play *play, uint32_t rank, const struct ss_chunk *from,
                         const struct ss_chunk *out);

/* The one chunk that the receiver of message `at` got; NULL when it got none, or several: a mismatch then. */
const struct ss_chunk *ss_play_got(struct ss_play *play, uint32_t at);
/* The same where the receiver lives here, else NULL; checked: it is to be part `part` of endpoint `origin`. */
const struct ss_chunk *ss_play_due(struct ss_play *play, uint32_t at, uint32_t origin, uint32_t part);
/* Likewise the `count` chunks that were due. */
const struct ss_chunk *ss_play_got_several(struct ss_play *play, uint32_t at, uint32_t count);
/* Records a mismatch: the run is not exact. */
void ss_play_mismatch(struct ss_play *play, const char *format, ...) SS_PRINTF(2, 3);
/* SPDX-License-Identifier: Apache-2.0 */
