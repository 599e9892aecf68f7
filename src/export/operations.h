/* Schedules: what each endpoint does, and what it waits for.
 *
 * A schedule is a player (sim/play.h) that asks no network how long rounds take: it turns them into operations. Each
 * message is a send of one endpoint and a receive of the other, each kernel a calculation, and what the model
 * says of when they may begin becomes what they require. With one message under way at a port ("window" 1) nothing is
 * lost: who starts every operation once all that it requires is done, and every message once both its ends are,
 * gets the times of the model. With more, the order in which a port's messages start is left to the reader.
 *
 * Operations are handed on as they come, endpoints mixed; what is kept does not grow with their number. */
#pragma once

#include "sim/play.h"

enum ss_operation_kind { SS_OPERATION_SEND, SS_OPERATION_RECEIVE, SS_OPERATION_CALCULATE };

/* What an endpoint does once all is done that the operation requires. */
struct ss_operation {
  enum ss_operation_kind kind;
  uint32_t endpoint;        /* ranks, then servers */
  uint32_t peer;            /* whom it sends to, or receives from */
  uint32_t tag;             /* of the message, at both its ends: no two of 2^31 messages have the same */
  uint64_t number;          /* of the endpoint's operations, from 0 in the order in which they come */
  uint64_t bytes;           /* of the message */
  double seconds;           /* of the calculation; 0: it only waits */
  const uint64_t *required; /* [requirements] numbers of the same endpoint's operations, all of them lower */
  uint32_t requirements;
};

/* Who takes operations. */
struct ss_operation_taker {
  bool (*take)(struct ss_operation_taker *self, const struct ss_operation *operation, struct ss_error *error);
};

struct ss_operations_endpoint;

struct ss_operations {
  struct ss_player player; /* first: a player is the schedule it stands in */
  struct ss_operation_taker *taker;
  struct ss_operations_endpoint *endpoint; /* [endpoints] */
  uint32_t endpoints;
  bool serial;    /* a port has one message under way */
  uint64_t phase; /* dependent rounds of all endpoints so far */
  uint64_t messages, empty, rounds, bytes;
};

bool ss_operations_open(struct ss_operations *operations, uint32_t endpoints, uint32_t window,
                        struct ss_operation_taker *taker, struct ss_error *error) SS_MUST_CHECK;
void ss_operations_close(struct ss_operations *operations);
/* What follows, follows at each endpoint all that it did. */
void ss_operations_settle(struct ss_operations *operations);
/* SPDX-License-Identifier: Apache-2.0 */
