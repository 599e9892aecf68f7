/* Rounds kept: what a scheme hands over once, to be played as often as somebody needs it. */
#pragma once

#include "machine/plays.h"
#include "sim/play.h"

/* A round without its payloads: its lists lie in the recording's arrays, from these numbers on. */
struct ss_recorded_round {
  uint32_t count, shift, after_count, settled_count;
  size_t list, bytes, after; /* list: `from` and `to`, then `settled` */
  uint64_t each;
  bool listed, sized; /* it has `from` and `to`; bytes of its own for each message */
  bool dependent, exchange, settles;
};

struct ss_recording {
  struct ss_player player; /* first: a player is the recording it stands in */
  struct ss_recorded_round *round;
  uint32_t *list;
  uint64_t *bytes;
  struct ss_computation *after;
  size_t rounds, lists, sizes, afters; /* how much of them is used */
  size_t round_capacity, list_capacity, size_capacity, after_capacity;
};

/* Empty, ready to be a player. Free it in any case. */
void ss_recording_open(struct ss_recording *recording);
void ss_recording_free(struct ss_recording *recording);
/* Empty again, with room for as much. */
void ss_recording_clear(struct ss_recording *recording);
/* Keeps a round as a player does; false: memory is short. */
bool ss_recording_add(struct ss_recording *recording, const struct ss_round *round);
/* B that it takes. */
size_t ss_recording_size(const struct ss_recording *recording);

/* Rounds of a recording from the first on. */
struct ss_replay {
  const struct ss_recording *recording;
  size_t next;
  struct ss_network_round round;
};
/* The replay, which outlives it, as a source of rounds. */
struct ss_rounds ss_replay_rounds(struct ss_replay *replay);
/* SPDX-License-Identifier: Apache-2.0 */
