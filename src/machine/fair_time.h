/* The timeline of the model "fair": what is listed, what is under way, and what happens next. Its files, from the
 * top: fair.c lists rounds and tells what became of them; fair_fold.c plays nodes that all do the same as one;
 * fair_time.c lets time pass; fair_links.c knows which links there are; shares.c who gets how much of them;
 * fair_heap.c what comes first. docs/model.md says what they compute. */
#pragma once

#include "machine/fair_links.h"

/* Messages of a block; B of a line of memory. */
enum { SS_FAIR_BLOCK = 64, SS_FAIR_LINE = 64 };

/* A message that was listed and has not ended, or one before it at its ingress has not. */
struct ss_fair_message {
  double bytes;
  union {
    struct {
      uint32_t from, to;
    } need;     /* until it starts: operations that its ends must have completed, modulo 2^32 */
    double due; /* then s: the end of its latency, and when its bytes began to flow */
  };
  uint32_t from, to;
  uint32_t next_out; /* behind it at the sender's egress; once started: in its latency's queue */
  uint32_t next_in;  /* behind it at the receiver's ingress */
  uint32_t number;   /* of messages listed at that ingress, from 0 */
  uint16_t kind;
  bool exchange; /* it is of one, and has an exchange's window */
  bool ended;    /* and one listed before it at the ingress has not */
};

/* A computation that was listed and has not begun. */
struct ss_fair_work {
  double seconds;
  uint32_t need, receipts; /* operations that must be complete, and messages that must have been received */
  uint32_t next;
};

/* Messages that a port serves in order: from `next` on they have not started. */
struct ss_fair_port {
  uint32_t next, last, under_way;
};

/* What a port carried. */
struct ss_fair_use {
  double bytes, least, busy;
  double in_turn; /* of `least`: of messages that went alone */
  double startup; /* of `least`: before bytes flow */
};

/* What every message looks at lies in one line of memory, and what it only counts behind that. */
struct ss_fair_end {
  _Alignas(SS_FAIR_LINE) struct ss_fair_port out;
  struct ss_fair_port in;
  uint32_t oldest; /* the first message listed at the ingress that has not ended */
  uint32_t listed, completed, receipts;
  uint32_t barrier; /* `listed` at the nearest dependent round */
  uint32_t next_work, last_work;
  uint32_t open;  /* of its ports: those at which a message to come could start now */
  uint32_t ended; /* messages received that wait for the oldest */
  bool computing, stirred;
  struct ss_fair_use sent;
  double seconds; /* of computations */
  double asked;   /* s: when the one that asks for a stream could start */
  _Alignas(SS_FAIR_LINE) struct ss_fair_use received;
};

struct ss_fair_queue {
  uint32_t first, last;
};

/* A round that was alike at all nodes (fair_fold.c). */
struct ss_fair_past {
  struct ss_network_round round; /* its lists are of the first period alone, of each block; computations: */
  const double *seconds;         /* [blocks of them] as long everywhere */
};

/* Room for a round's lists. */
struct ss_fair_lists {
  uint32_t *from, *to;
  struct ss_computation *after;
};

/* What networks have in common whose messages are under way at once: links, and the clock. */
struct ss_fair_wire {
  struct ss_shares shares;
  double now;
  uint32_t *ended;                   /* room for ids of flows */
  uint64_t flows;                    /* of all members, the most at once */
  struct ss_network **member, *only; /* [members]; only: room for one */
  uint32_t members;
  uint32_t asking; /* ranks: endpoints below it do not compute, but ask for a stream until it has been lent */
  bool asked;      /* one began to, since somebody looked */
};

struct ss_network {
  struct ss_fair_map map;
  struct ss_fair_wire *wire;
  uint32_t number; /* it is the wire's member of that number */
  uint64_t flows;  /* of it alone, the most at once */
  double stretch;  /* bytes that go over the links for each of a message's */
  double pace;     /* s that kernels take for each that is said */
  struct ss_cluster cluster;
  uint32_t live; /* endpoints that are played: all, or those whose images the others are */
  struct ss_fair_past *past;
  size_t past_count, past_capacity;
  uint32_t past_messages, past_works; /* the most of a round */
  uint32_t window, window_of[2];      /* of chains, of exchanges; and the larger */
  struct ss_fair_end *end;            /* [map.endpoints] */
  double *done;                       /* [map.endpoints] */
  struct ss_fair_message *message;    /* in blocks, filled in turn: what is listed together lies together */
  struct ss_fair_blocks {
    uint32_t *left; /* [capacity] messages to come or kept; of a free block: the next free one */
    uint32_t free, free_count, used, capacity;
    uint32_t next; /* id of the next message; the first of a block: that is to be found */
  } blocks;
  uint32_t listed; /* messages that are kept */
  struct ss_fair_work *work;
  uint32_t works, free_work, work_capacity;
  struct ss_fair_queue *queue; /* [map.queues] */
  struct ss_uneven uneven;
  struct ss_fair_heap
      late; /* messages by the ends of their latencies, where these are uneven; else `queue` has them */
  struct ss_fair_heap computing;
  uint32_t asks;                    /* endpoints that do, or compute on such a stream */
  uint32_t *stirred, stirred_count; /* endpoints at which something may start */
  uint32_t *ended;                  /* room for ids of messages, or of endpoints */
  uint32_t *path;
  uint64_t open; /* ports at which a message to come could start now */
};

/* --- readiness ----------------------------------------------------------------------------------------------- */

/* Counts go around at 2^32, and are never that far apart. */
static inline bool ss_fair_reached(uint32_t count, uint32_t need) {
  return (int32_t)(count - need) >= 0;
}

static inline void ss_fair_stir(struct ss_network *n, uint32_t e) {
  if (n->end[e].stirred) return;
  n->end[e].stirred = true;
  n->stirred[n->stirred_count++] = e;
}

/* What is to be listed at a blocked endpoint waits for what is listed now. */
static inline void ss_fair_count_open(struct ss_network *n, uint32_t e) {
  struct ss_fair_end *end = &n->end[e];
  const bool out = end->out.next == SS_NONE && end->out.under_way < n->window;
  const bool in = end->in.next == SS_NONE && end->in.under_way < n->window;
  const uint32_t open = ss_fair_reached(end->completed, end->barrier) ? (uint32_t)out + (uint32_t)in : 0;
  n->open = n->open + open - end->open;
  end->open = open;
}

/* It is kept no more. */
static inline void ss_fair_forget(struct ss_network *n, uint32_t message) {
  struct ss_fair_blocks *blocks = &n->blocks;
  const uint32_t block = message / SS_FAIR_BLOCK;
  n->listed--;
  if (--blocks->left[block] > 0) return;
  blocks->left[block] = blocks->free;
  blocks->free = block;
  blocks->free_count++;
}

/* --- nodes that all do the same (fair_fold.c) ---------------------------------------------------------------- */

/* How many endpoints, from 0 on, may stand for all others while rounds are alike; all, where none can. */
uint32_t ss_fair_period(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers);
static inline bool ss_fair_folded(const struct ss_network *n) {
  return n->live < n->map.endpoints;
}
/* Whether every node does the same in the round, shifted by nodes, in blocks of a message a rank; all are as long. */
bool ss_fair_alike(const struct ss_network *network, const struct ss_network_round *round);
/* Keeps such a round; false when memory is short. */
bool ss_fair_remember(struct ss_network *network, const struct ss_network_round *round);
/* Past round i again, in lists of past_messages and past_works. */
struct ss_network_round ss_fair_recall(const struct ss_network *network, size_t i, const struct ss_fair_lists *room);
/* Gives endpoints and links that were not played what their images have: the end of a folded run. */
void ss_fair_spread(struct ss_network *network);

/* --- time ---------------------------------------------------------------------------------------------------- */

/* Starts what may start now at the endpoints that were stirred. */
void ss_fair_start_all(struct ss_network *network);
/* Lets time pass as long as nothing that is still to be listed could start; `to_the_end`: nothing is to be listed. */
void ss_fair_advance(struct ss_network *network, bool to_the_end);
/* What the endpoint asked for a stream for has been computed on it; s that it takes. */
void ss_fair_computed(struct ss_network *network, uint32_t endpoint);
double ss_fair_asks_for(const struct ss_network *network, uint32_t endpoint);
/* When something happens next; HUGE_VAL: nothing is under way. And all that happens at that instant. */
double ss_fair_next(const struct ss_fair_wire *wire);
void ss_fair_step(struct ss_fair_wire *wire, double instant);

/* --- networks that share a wire (plays.c) --------------------------------------------------------------------- */

/* A network without a wire, all of whose endpoints are played; NULL when memory is short. */
struct ss_network *ss_fair_open_joined(const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers,
                                       const struct ss_fair_join *join);
void ss_fair_close(struct ss_network *network);
/* Lists a round and starts what may start now; no time passes. False when memory is short. */
bool ss_fair_list(struct ss_network *network, const struct ss_network_round *round);
/* Frees what it has; its members, and it, are the caller's. */
void ss_fair_wire_close(struct ss_fair_wire *wire);
/* SPDX-License-Identifier: Apache-2.0 */
