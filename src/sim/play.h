/* What a scheme plays on: rounds, and the players that take them.
 *
 * A scheme is written once, as rounds: "rank r sends this chunk to rank q". It hands each round to a *player*. The
 * engine (sim/engine.h) plays a round on a network model, all ranks in one process; the MPI executor (exec/) really
 * sends it, one rank a process. The scheme cannot tell the difference, except that a process holds only the payloads
 * of the ranks that live in it: it asks ss_play_resident before it touches one.
 *
 * Only one round is alive at a time; its arrays belong to `struct ss_play` and are reused. */
#ifndef SS_SIM_PLAY_H
#define SS_SIM_PLAY_H

#include "machine/device.h"
#include "machine/network.h"
#include "tensor/wire.h"

/* What one message carries: `count` chunks, one after the other. */
struct ss_payload {
  const struct ss_wire *wire; /* how it travels, in a round that does not say it for all; NULL there: only bytes do */
  const struct ss_chunk *chunks;
  const struct ss_chunk *known; /* for SS_WIRE_VALUES: chunks whose rows the receiver already holds, one for each */
  uint32_t count;
};

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

/* What an endpoint added up: bytes of memory traffic, operands and sum as they travel. */
struct ss_summing {
  uint64_t moved;
  bool any;
};

struct ss_play {
  struct ss_player *player;
  uint32_t ranks, servers;
  bool payloads;       /* chunks carry rows and marks or values; false: counts and bytes only */
  bool exchange_sizes; /* "sizes": "exchanged" */
  bool watchful;       /* what comes must be what was sent: for results that no sum can be held against */
  const struct ss_device *device;
  struct ss_arena *arena; /* lives as long as the iteration */
  struct ss_sum_scratch scratch;

  /* arrays for one round of at most `capacity` messages */
  uint32_t capacity;
  uint32_t *from, *to;
  uint64_t *bytes;
  struct ss_payload *payload, *sent; /* sent: of a watchful play, to compare with */
  struct ss_chunk *given;            /* [capacity] chunks made for one round */
  struct ss_computation *kernel;
  struct ss_summing *summing; /* [ranks] sums made since the last ss_play_charge_sums */

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
/* Message `at` of the next such round brings one chunk, which stays the caller's, between endpoints. */
void ss_play_put(struct ss_play *play, uint32_t at, uint32_t from, uint32_t to, const struct ss_wire *wire,
                 const struct ss_chunk *chunk);
/* A round of messages in shift form, sizes only. */
bool ss_play_shift(struct ss_play *play, const struct ss_messages *messages, bool dependent, bool exchange,
                   struct ss_error *error) SS_MUST_CHECK;
/* A round without messages in which endpoint e computes on bytes[e] bytes of memory traffic, once all that it did
 * is complete; `bytes` holds endpoints first .. first+count-1. Nothing when the device counts no kernels. */
bool ss_play_kernels(struct ss_play *play, enum ss_charge kernel, uint32_t first, uint32_t count,
                     const uint64_t *bytes, struct ss_error *error) SS_MUST_CHECK;
/* *held becomes its sum with `got` over its own range, all else about it stays; a sum of `rank` that is noted, where
 * `wire` says how they travel. */
bool ss_play_add(struct ss_play *play, uint32_t rank, const struct ss_wire *wire, struct ss_chunk *held,
                 const struct ss_chunk *got, struct ss_error *error) SS_MUST_CHECK;
/* Notes that `rank` made a sum: its operands, and what came out. */
void ss_play_note_sum(struct ss_play *play, uint32_t rank, const struct ss_wire *wire,
                      const struct ss_chunk *operands, uint32_t count, const struct ss_chunk *sum);
/* A round without messages in which every rank that made sums computes them, all in one kernel. */
bool ss_play_charge_sums(struct ss_play *play, struct ss_error *error) SS_MUST_CHECK;
/* The one chunk that the receiver of message `at` got; NULL when it got none, or several: a mismatch then. */
const struct ss_chunk *ss_play_got(struct ss_play *play, uint32_t at);
/* Records a mismatch: the run is not exact. */
void ss_play_mismatch(struct ss_play *play, const char *format, ...) SS_PRINTF(2, 3);

#endif
