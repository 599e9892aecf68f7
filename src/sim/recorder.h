/* A player that writes down who sends what to whom; how long it takes nobody asks, and all endpoints live here. */
#pragma once

#include "sim/play.h"

struct ss_recorded_message {
  uint32_t from, to; /* endpoints: ranks, then servers */
  uint32_t round;    /* from 1: of the rounds that have messages */
  uint32_t phase;    /* from 1: messages of a phase do not wait for each other, but for those of the phases before */
  uint64_t bytes;
};

struct ss_recorder {
  struct ss_player player; /* first: a player is the recorder it stands in */
  struct ss_recorded_message *message;
  size_t count, capacity;
  uint32_t rounds, phases;
  bool waits; /* a dependent round came after the last message */
};

/* Empty; to be closed. */
void ss_recorder_open(struct ss_recorder *recorder);
void ss_recorder_close(struct ss_recorder *recorder);
