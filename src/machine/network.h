/* Network models: when does each message of a list end?
 *
 * A model is one file and one constant table; `ss_network_open` finds it by the cluster's "model". The caller (the
 * engine in sim/) hands over lists of messages in the global order (round, place in list), with the time from which
 * each endpoint may take part, and asks now and then when endpoints are through. Between two calls of `settle` a
 * model may play the messages in any order that its rules allow, so models that need events (LogGP, shared links) fit
 * behind the same four calls. */
#ifndef SS_MACHINE_NETWORK_H
#define SS_MACHINE_NETWORK_H

#include "machine/cluster.h"

#include <stddef.h>
#include <stdint.h>

/* Endpoints are ranks 0..ranks-1, then servers. A list of messages as flat arrays; arrays may be NULL where a rule
 * says it shorter: without `from` and `to`, message i goes from endpoint i to endpoint (i + shift) mod count. */
struct ss_messages {
  uint32_t count;
  uint32_t shift; /* 1 .. count-1, used when `from` is NULL */
  const uint32_t *from, *to;
  const uint64_t *bytes; /* NULL: every message carries `each` bytes */
  uint64_t each;
};

static inline uint32_t ss_message_from(const struct ss_messages *m, uint32_t i) {
  return m->from ? m->from[i] : i;
}
static inline uint32_t ss_message_to(const struct ss_messages *m, uint32_t i) {
  if (m->to) return m->to[i];
  uint32_t capacity = m->count - m->shift;
  return i < capacity ? i + m->shift : i - capacity;
}
static inline uint64_t ss_message_bytes(const struct ss_messages *m, uint32_t i) {
  return m->bytes ? m->bytes[i] : m->each;
}

struct ss_network;

struct ss_network_model {
  const char *name;
  /* State for `ranks` + `servers` endpoints, all ports free at time 0; NULL when memory is short. */
  struct ss_network *(*open)(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers);
  void (*close)(struct ss_network *network);
  /* Takes a list of messages; ready[e] is the time from which endpoint e may take part in them. */
  void (*play)(struct ss_network *network, const struct ss_messages *messages, const double *ready);
  /* Raises done[e] to the end of endpoint e's last message. */
  void (*settle)(struct ss_network *network, double *done);
  /* When endpoint e has received everything sent to it so far. */
  double (*received)(struct ss_network *network, uint32_t endpoint);
};

extern const struct ss_network_model ss_network_alpha_beta;

/* NULL-terminated. */
const char *const *ss_network_model_names(void);
/* The model of that name; a cluster that was read names an existing one. */
const struct ss_network_model *ss_network_model_of(const struct ss_cluster *cluster);

#endif
