#include "export/operations.h"

/* The last operations of a port or of the compute stream: who requires them requires all before them as well. */
enum { ENDS = 8 };
struct ends {
  uint64_t number[ENDS];
  uint32_t count;
};

/* So many operations are waited for one by one; more by one that waits for them all. */
enum { FEW = 3, ALL = 3 * ENDS };

struct ss_operations_endpoint {
  uint64_t next;                          /* number of the next operation */
  uint64_t phase;                         /* in which it was settled last */
  bool unsettled;                         /* a dependent round of some endpoints came, and this was one of them */
  struct ends ready;                      /* FEW at most: what its phase waits for */
  struct ends sent, received, calculated; /* in its phase */
};

/* Gives the operation its number. */
static bool hand_on(struct ss_operations *s, struct ss_operation *operation, struct ss_error *error) {
  operation->number = s->endpoint[operation->endpoint].next++;
  return s->taker->take(s->taker, operation, error);
}

/* One operation in place of those. */
static bool join(struct ss_operations *s, uint32_t endpoint, uint64_t *number, uint32_t *count,
                 struct ss_error *error) {
  struct ss_operation operation = {
      .kind = SS_OPERATION_CALCULATE, .endpoint = endpoint, .required = number, .requirements = *count};
  if (!hand_on(s, &operation, error)) return false;
  number[0] = operation.number;
  *count = 1;
  return true;
}

static bool add_end(struct ss_operations *s, const struct ss_operation *of, struct ends *ends,
                    struct ss_error *error) {
  if (ends->count == ENDS && !join(s, of->endpoint, ends->number, &ends->count, error)) return false;
  ends->number[ends->count++] = of->number;
  return true;
}

static uint32_t add_all(uint64_t *all, uint32_t count, const struct ends *ends) {
  memcpy(all + count, ends->number, ends->count * sizeof *all);
  return count + ends->count;
}

/* Nothing happens at an endpoint between a dependent round and its next operation, so it is time enough then. */
static bool settle(struct ss_operations *s, uint32_t endpoint, struct ss_error *error) {
  struct ss_operations_endpoint *at = &s->endpoint[endpoint];
  uint64_t all[ALL];
  if (!at->unsettled && at->phase == s->phase) return true;
  at->unsettled = false;
  at->phase = s->phase;
  uint32_t count = add_all(all, 0, &at->sent);
  count = add_all(all, count, &at->received);
  count = add_all(all, count, &at->calculated);
  if (count == 0) return true; /* it still waits for what it waited for */
  if (count > FEW && !join(s, endpoint, all, &count, error)) return false;
  memcpy(at->ready.number, all, count * sizeof *all);
  at->ready.count = count;
  at->sent.count = at->received.count = at->calculated.count = 0;
  return true;
}

/* A port that has one message under way begins the next when the last is through. */
static bool use_port(struct ss_operations *s, struct ss_operation *operation, struct ends *port,
                     struct ss_error *error) {
  const struct ends *ready = &s->endpoint[operation->endpoint].ready;
  const struct ends *before = s->serial && port->count > 0 ? port : ready;
  operation->required = before->number;
  operation->requirements = before->count;
  if (!hand_on(s, operation, error)) return false;
  if (s->serial) port->count = 0;
  return add_end(s, operation, port, error);
}

static bool take_message(struct ss_operations *s, const struct ss_messages *m, uint32_t i, struct ss_error *error) {
  const uint32_t from = ss_message_from(m, i), to = ss_message_to(m, i);
  struct ss_operation operation = {.kind = SS_OPERATION_SEND,
                                   .endpoint = from,
                                   .peer = to,
                                   .tag = (uint32_t)(s->messages & INT32_MAX),
                                   .bytes = ss_message_bytes(m, i)};
  s->messages++;
  s->empty += operation.bytes == 0;
  s->bytes += operation.bytes;
  if (!settle(s, from, error) || !settle(s, to, error) || !use_port(s, &operation, &s->endpoint[from].sent, error))
    return false;
  operation.kind = SS_OPERATION_RECEIVE;
  operation.endpoint = to;
  operation.peer = from;
  return use_port(s, &operation, &s->endpoint[to].received, error);
}

/* It waits for the calculation before it, and for all that was received in its phase. */
static bool take_kernel(struct ss_operations *s, const struct ss_computation *kernel, struct ss_error *error) {
  struct ss_operations_endpoint *at = &s->endpoint[kernel->endpoint];
  uint64_t before[2 * ENDS];
  if (kernel->seconds <= 0) return true;
  if (!settle(s, kernel->endpoint, error)) return false;
  uint32_t count = add_all(before, 0, &at->received);
  count = add_all(before, count, &at->calculated);
  if (count == 0) count = add_all(before, 0, &at->ready);
  struct ss_operation operation = {.kind = SS_OPERATION_CALCULATE,
                                   .endpoint = kernel->endpoint,
                                   .seconds = kernel->seconds,
                                   .required = before,
                                   .requirements = count};
  if (!hand_on(s, &operation, error)) return false;
  if (!s->serial) at->received.count = 0; /* nobody else asks for these */
  at->calculated.count = 0;
  return add_end(s, &operation, &at->calculated, error);
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_operations *s = (struct ss_operations *)player;
  if (round->dependent && !round->settled) s->phase++;
  for (uint32_t i = 0; round->dependent && round->settled && i < round->settled_count; i++)
    s->endpoint[round->settled[i]].unsettled = true;
  s->rounds += round->messages.count > 0;
  for (uint32_t i = 0; i < round->messages.count; i++)
    if (!take_message(s, &round->messages, i, error)) return false;
  for (uint32_t i = 0; i < round->after_count; i++)
    if (!take_kernel(s, &round->after[i], error)) return false;
  return true;
}

bool ss_operations_open(struct ss_operations *s, uint32_t endpoints, uint32_t window,
                        struct ss_operation_taker *taker, struct ss_error *error) {
  *s =
      (struct ss_operations){.player = {.play = play}, .taker = taker, .endpoints = endpoints, .serial = window == 1};
  s->endpoint = ss_alloc_zero(endpoints, sizeof *s->endpoint);
  return s->endpoint || ss_fail_memory(error, "making room for the endpoints");
}

void ss_operations_close(struct ss_operations *s) {
  free(s->endpoint);
  *s = (struct ss_operations){0};
}

void ss_operations_settle(struct ss_operations *s) {
  s->phase++;
}
/* SPDX-License-Identifier: Apache-2.0 */
