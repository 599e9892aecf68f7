/* The engine against a second player, and against some times worked out by hand.
 *
 * The second player is written from docs/model.md, "Time", and shares nothing with the engine. It keeps every message
 * and kernel of every round. A port (an endpoint's egress, ingress or compute stream, a node's NIC egress or ingress)
 * holds the list of what it will serve, in the order (round, place). An event is the end of something; at each event
 * everything starts that is next on all its ports and ready at both its ends. A few times by hand are for those who
 * read it first. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "sim/engine.h"

/* --- a schedule ------------------------------------------------------------------------------------------ */

enum { MOST_ROUNDS = 12, MOST_RANKS = 40, MOST_SERVERS = 8, MOST_ENDPOINTS = MOST_RANKS + MOST_SERVERS };

struct schedule {
  struct ss_cluster cluster;
  uint32_t ranks, servers, rounds;
  struct ss_round round[MOST_ROUNDS];
};

static uint32_t endpoints_of(const struct schedule *s) {
  return s->ranks + s->servers;
}

/* --- the second player ----------------------------------------------------------------------------------- */

enum state { WAITING, RUNNING, OVER };

/* A message, or a kernel (from == to). */
struct job {
  bool kernel;
  uint32_t round, from, to;
  uint64_t bytes;
  double seconds, end;
  uint32_t port[4], ports;
  enum state state;
};

/* What a port serves, in order; job[next] is the one under way or the next one. */
struct port {
  uint32_t *job;
  uint32_t count, capacity, next;
};

struct slow {
  const struct schedule *s;
  struct job *job;
  uint32_t jobs, capacity;
  struct port *port;
  uint32_t ports;
  uint32_t left[MOST_ROUNDS][MOST_ENDPOINTS];    /* jobs of the round at the endpoint that are not over */
  uint32_t to_come[MOST_ROUNDS][MOST_ENDPOINTS]; /* messages of the round to the endpoint that are not over */
  uint32_t nearest[MOST_ROUNDS];                 /* the nearest dependent round not after this one, or 0 */
  uint32_t *event;                               /* jobs under way */
  uint32_t events;
};

static uint32_t slow_node(const struct schedule *s, uint32_t endpoint) {
  uint32_t per_node = s->cluster.gpus_per_node, nodes = (s->ranks - 1) / per_node + 1;
  return endpoint < s->ranks ? endpoint / per_node : (endpoint - s->ranks) % nodes;
}

static void *grown(void *old, uint32_t *capacity, size_t size) {
  *capacity = *capacity ? 2 * *capacity : 16;
  void *now = realloc(old, *capacity * size);
  assert_non_null(now);
  return now;
}

static void slow_add(struct slow *p, struct job job) {
  if (p->jobs == p->capacity) p->job = grown(p->job, &p->capacity, sizeof *p->job);
  for (uint32_t i = 0; i < job.ports; i++) {
    struct port *port = &p->port[job.port[i]];
    if (port->count == port->capacity) port->job = grown(port->job, &port->capacity, sizeof *port->job);
    port->job[port->count++] = p->jobs;
  }
  p->left[job.round][job.from]++;
  if (!job.kernel) p->left[job.round][job.to]++, p->to_come[job.round][job.to]++;
  p->job[p->jobs++] = job;
}

static void slow_add_message(struct slow *p, uint32_t round, uint32_t from, uint32_t to, uint64_t bytes) {
  const struct ss_cluster *c = &p->s->cluster;
  uint32_t n = endpoints_of(p->s), here = slow_node(p->s, from), there = slow_node(p->s, to);
  struct job job = {.round = round, .from = from, .to = to, .bytes = bytes, .ports = 2};
  double alpha = c->inter.alpha, beta = c->inter.beta;
  job.port[0] = from;
  job.port[1] = n + to;
  if (here == there && c->has_intra) alpha = c->intra.alpha, beta = c->intra.beta;
  if (here != there && c->nic_per_node) {
    job.port[job.ports++] = 3 * n + 2 * here;
    job.port[job.ports++] = 3 * n + 2 * there + 1;
  }
  job.seconds = alpha + (double)bytes * beta;
  slow_add(p, job);
}

static void slow_add_round(struct slow *p, uint32_t r) {
  const struct ss_round *round = &p->s->round[r];
  const struct ss_messages *m = &round->messages;
  p->nearest[r] = round->dependent ? r : r > 0 ? p->nearest[r - 1] : 0;
  for (uint32_t i = 0; i < m->count; i++)
    slow_add_message(p, r, m->from ? m->from[i] : i, m->to ? m->to[i] : (i + m->shift) % m->count,
                     m->bytes ? m->bytes[i] : m->each);
  for (uint32_t i = 0; i < round->after_count; i++) {
    uint32_t at = round->after[i].endpoint;
    slow_add(p, (struct job){.kernel = true,
                             .round = r,
                             .from = at,
                             .to = at,
                             .seconds = round->after[i].seconds,
                             .port = {2 * endpoints_of(p->s) + at},
                             .ports = 1});
  }
}

static bool slow_ready_at(const struct slow *p, uint32_t round, uint32_t endpoint) {
  for (uint32_t r = 0; r < p->nearest[round]; r++)
    if (p->left[r][endpoint] > 0) return false;
  return true;
}

static bool slow_has_received(const struct slow *p, uint32_t round, uint32_t endpoint) {
  for (uint32_t r = 0; r <= round; r++)
    if (p->to_come[r][endpoint] > 0) return false;
  return true;
}

static bool slow_may_start(const struct slow *p, uint32_t id) {
  const struct job *job = &p->job[id];
  if (job->state != WAITING) return false;
  for (uint32_t i = 0; i < job->ports; i++) {
    const struct port *port = &p->port[job->port[i]];
    if (port->job[port->next] != id) return false;
  }
  if (!slow_ready_at(p, job->round, job->from) || !slow_ready_at(p, job->round, job->to)) return false;
  return !job->kernel || slow_has_received(p, job->round, job->to);
}

static void slow_start_what_may(struct slow *p, double now) {
  for (uint32_t i = 0; i < p->ports; i++) {
    const struct port *port = &p->port[i];
    if (port->next == port->count || !slow_may_start(p, port->job[port->next])) continue;
    struct job *job = &p->job[port->job[port->next]];
    job->state = RUNNING;
    job->end = now + job->seconds;
    p->event[p->events++] = port->job[port->next];
  }
}

static struct job *slow_next_event(struct slow *p) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < p->events; i++)
    if (p->job[p->event[i]].end < p->job[p->event[first]].end) first = i;
  struct job *job = &p->job[p->event[first]];
  p->event[first] = p->event[--p->events];
  return job;
}

static void slow_end(struct slow *p, struct job *job) {
  job->state = OVER;
  for (uint32_t i = 0; i < job->ports; i++) p->port[job->port[i]].next++;
  p->left[job->round][job->from]--;
  if (!job->kernel) p->left[job->round][job->to]--, p->to_come[job->round][job->to]--;
}

static struct slow *slow_play(const struct schedule *s) {
  struct slow *p = calloc(1, sizeof *p);
  assert_non_null(p);
  p->s = s;
  p->ports = 3 * endpoints_of(s) + 2 * s->ranks; /* never more nodes than ranks */
  p->port = calloc(p->ports + 1, sizeof *p->port);
  assert_non_null(p->port);
  for (uint32_t r = 0; r < s->rounds; r++) slow_add_round(p, r);
  p->event = calloc(p->jobs + 1, sizeof *p->event);
  assert_non_null(p->event);

  slow_start_what_may(p, 0);
  while (p->events > 0) {
    struct job *job = slow_next_event(p);
    slow_end(p, job);
    slow_start_what_may(p, job->end);
  }
  for (uint32_t i = 0; i < p->jobs; i++) assert_int_equal(p->job[i].state, OVER);
  return p;
}

static void slow_free(struct slow *p) {
  for (uint32_t i = 0; i < p->ports; i++) free(p->port[i].job);
  free(p->port);
  free(p->job);
  free(p->event);
  free(p);
}

/* --- comparison ------------------------------------------------------------------------------------------ */

static void compare_times(const struct slow *p, struct ss_engine *e, uint32_t rounds, uint64_t seed) {
  double done[MOST_ENDPOINTS] = {0}, busy[MOST_ENDPOINTS] = {0}, all = 0, kernel = 0;
  struct ss_network_result result;
  for (uint32_t i = 0; i < p->jobs; i++) {
    const struct job *job = &p->job[i];
    if (job->round >= rounds) continue;
    done[job->from] = fmax(done[job->from], job->end);
    done[job->to] = fmax(done[job->to], job->end);
    if (job->kernel) busy[job->from] += job->seconds;
  }
  struct ss_tally tally = ss_engine_tally(e, 0);
  e->on->model->finish(e->on->network, NULL, &result);
  for (uint32_t i = 0; i < endpoints_of(p->s); i++) {
    all = fmax(all, done[i]);
    kernel = fmax(kernel, busy[i]);
    if (!close_to(result.done[i], done[i], 1e-12))
      fail_msg("seed %llu, %u rounds: endpoint %u of %u+%u is done at %.17g, not %.17g", (unsigned long long)seed,
               rounds, i, p->s->ranks, p->s->servers, result.done[i], done[i]);
  }
  if (!close_to(tally.time, all, 1e-12))
    fail_msg("seed %llu, %u rounds: %.17g s, not %.17g", (unsigned long long)seed, rounds, tally.time, all);
  if (!close_to(tally.kernel, kernel, 1e-12))
    fail_msg("seed %llu, %u rounds: kernels of %.17g s, not %.17g", (unsigned long long)seed, rounds, tally.kernel,
             kernel);
}

static void expect(uint64_t got, uint64_t wanted, const char *what, uint64_t seed) {
  if (got != wanted)
    fail_msg("seed %llu: %s %llu, not %llu", (unsigned long long)seed, what, (unsigned long long)got,
             (unsigned long long)wanted);
}

static uint64_t most(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void compare_counts(const struct slow *p, struct ss_engine *e, uint64_t seed) {
  uint64_t sent[MOST_ENDPOINTS] = {0}, received[MOST_ENDPOINTS] = {0}, messages = 0, bytes = 0, rounds = 0;
  uint64_t sent_max = 0, received_max = 0, server_max = 0;
  for (uint32_t i = 0; i < p->jobs; i++) {
    if (p->job[i].kernel) continue;
    messages++;
    bytes += p->job[i].bytes;
    sent[p->job[i].from] += p->job[i].bytes;
    received[p->job[i].to] += p->job[i].bytes;
  }
  for (uint32_t r = 0; r < p->s->rounds; r++) rounds += p->s->round[r].messages.count > 0;
  for (uint32_t i = 0; i < endpoints_of(p->s); i++) {
    expect(ss_engine_sent(e, i), sent[i], "bytes sent by an endpoint:", seed);
    expect(ss_engine_received(e, i), received[i], "bytes received by an endpoint:", seed);
    if (i >= p->s->ranks) server_max = most(server_max, most(sent[i], received[i]));
    else sent_max = most(sent_max, sent[i]), received_max = most(received_max, received[i]);
  }
  struct ss_tally tally = ss_engine_tally(e, 0);
  expect(tally.messages, messages, "messages:", seed);
  expect(tally.bytes, bytes, "bytes:", seed);
  expect(tally.rounds, rounds, "rounds with messages:", seed);
  expect(tally.sent_max, sent_max, "most bytes sent by a rank:", seed);
  expect(tally.received_max, received_max, "most bytes received by a rank:", seed);
  expect(tally.server_max, server_max, "most bytes of a server:", seed);
}

/* --- random schedules ------------------------------------------------------------------------------------ */

static double random_scale(struct dice *d) {
  return ldexp(1 + dice_unit(d), -(int)dice_below(d, 30));
}

static uint64_t random_bytes(struct dice *d) {
  if (dice_one_in(d, 3)) return 0;
  return dice_next(d) >> (24 + dice_below(d, 40));
}

static struct ss_cluster random_cluster(struct dice *d) {
  struct ss_cluster c = flat_cluster(dice_one_in(d, 8) ? 0 : random_scale(d), random_scale(d) * 1e-3);
  c.gpus_per_node = dice_between(d, 1, 8);
  c.nic_per_node = dice_one_in(d, 2);
  c.has_intra = dice_one_in(d, 2);
  if (c.has_intra) c.intra = (struct ss_link){dice_one_in(d, 8) ? 0 : random_scale(d), random_scale(d) * 1e-3};
  return c;
}

static uint32_t other_than(struct dice *d, uint32_t n, uint32_t not_this) {
  return (not_this + dice_between(d, 1, n - 1)) % n;
}

enum kind { ANY, BY_SENDER, SHIFT, HUB_IN, HUB_OUT, FAN_IN, FAN_OUT, EMPTY, KINDS };

static struct ss_messages random_messages(struct dice *d, const struct schedule *s, struct ss_arena *arena) {
  uint32_t n = endpoints_of(s), hub = dice_below(d, n), t = dice_below(d, s->ranks), count = n;
  enum kind kind = dice_below(d, KINDS);
  struct ss_messages m = {.each = random_bytes(d)};
  if (n < 2 || kind == EMPTY) return m;
  if (kind == ANY) count = dice_below(d, 2 * n + 1);
  if (kind == SHIFT) count = dice_one_in(d, 2) && s->ranks > 1 ? s->ranks : dice_between(d, 2, n);
  if (kind == FAN_IN || kind == FAN_OUT) count = s->servers;
  if (kind == HUB_IN || kind == HUB_OUT) count = dice_between(d, 1, n);
  m.count = count;
  if (kind == SHIFT) m.shift = dice_between(d, 1, count - 1);

  uint32_t *from = ss_arena_alloc(arena, count, sizeof *from), *to = ss_arena_alloc(arena, count, sizeof *to);
  uint64_t *bytes = ss_arena_alloc(arena, count, sizeof *bytes);
  for (uint32_t i = 0; i < count; i++) {
    from[i] = kind == BY_SENDER ? i : dice_below(d, n);
    to[i] = other_than(d, n, from[i]);
    if (kind == HUB_IN) to[i] = hub, from[i] = other_than(d, n, hub);
    if (kind == HUB_OUT) from[i] = hub, to[i] = other_than(d, n, hub);
    if (kind == FAN_IN) from[i] = (i + t) % s->ranks, to[i] = s->ranks + i;
    if (kind == FAN_OUT) from[i] = s->ranks + i, to[i] = (i + t) % s->ranks;
    bytes[i] = random_bytes(d);
  }
  if (kind != SHIFT) m.from = from, m.to = to;
  if (!dice_one_in(d, 3)) m.bytes = bytes;
  return m;
}

static struct schedule random_schedule(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct schedule s = {.cluster = random_cluster(&d)};
  s.ranks = dice_between(&d, 1, dice_one_in(&d, 2) ? MOST_RANKS : 8);
  s.servers = dice_one_in(&d, 2) ? 0 : dice_between(&d, 0, MOST_SERVERS);
  s.rounds = dice_between(&d, 1, MOST_ROUNDS);
  uint32_t independent_of_three = dice_below(&d, 4); /* from never to always */
  for (uint32_t r = 0; r < s.rounds; r++) {
    struct ss_round *round = &s.round[r];
    round->dependent = dice_below(&d, 3) >= independent_of_three;
    round->messages = random_messages(&d, &s, arena);
    if (!dice_one_in(&d, 3)) continue;
    round->after_count = dice_between(&d, 1, 2 * endpoints_of(&s));
    struct ss_computation *after = ss_arena_alloc(arena, round->after_count, sizeof *after);
    for (uint32_t i = 0; i < round->after_count; i++)
      after[i] = (struct ss_computation){dice_below(&d, endpoints_of(&s)), dice_one_in(&d, 5) ? 0 : random_scale(&d)};
    round->after = after;
  }
  return s;
}

/* Plays on the engine, and stops now and then to look at the times so far: looking must change nothing. */
static void compare(const struct schedule *s, uint64_t seed) {
  struct ss_error error = {0};
  struct ss_engine e;
  struct slow *p = slow_play(s);
  struct dice d = {.seed = ~seed};
  assert_true(ss_engine_open(&e, &s->cluster, s->ranks, s->servers, &error));
  for (uint32_t r = 0; r < s->rounds; r++) {
    struct ss_round round = s->round[r];
    assert_true(e.player.play(&e.player, &round, &error));
    if (dice_one_in(&d, 4)) compare_times(p, &e, r + 1, seed);
  }
  compare_times(p, &e, s->rounds, seed);
  compare_counts(p, &e, seed);
  ss_engine_close(&e);
  slow_free(p);
}

TEST(engine_agrees_with_the_second_player) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(10000); seed++) {
    struct schedule s = random_schedule(seed, &arena);
    compare(&s, seed);
    ss_arena_reset(&arena);
  }
}

/* The rounds that schemes emit most: all in shift form, long runs of independent ones, per-node NICs. */
TEST(engine_agrees_on_exchanges) {
  uint64_t bytes[MOST_RANKS] = {0};
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct dice d = {.seed = seed};
    struct schedule s = {.cluster = random_cluster(&d), .ranks = dice_between(&d, 2, MOST_RANKS)};
    bool ring = dice_one_in(&d, 2), ragged = dice_one_in(&d, 2);
    for (uint32_t i = 0; i < s.ranks; i++) bytes[i] = random_bytes(&d);
    for (s.rounds = 0; s.rounds < MOST_ROUNDS && s.rounds + 1 < s.ranks; s.rounds++)
      s.round[s.rounds] = (struct ss_round){
          .messages = {.count = s.ranks, .shift = ring ? 1 : s.rounds + 1, .each = bytes[0]},
          .dependent = ring || s.rounds == 0,
      };
    for (uint32_t r = 0; ragged && r < s.rounds; r++) s.round[r].messages.bytes = bytes;
    compare(&s, seed);
  }
}

/* --- times worked out by hand ---------------------------------------------------------------------------- */

/* A message of 8n bytes takes 1 + n seconds: all times are sums of powers of two, so equalities are exact. */
static const double ALPHA = 1, BETA = 0.125;

struct line {
  uint32_t from, to;
  uint64_t bytes;
};

static void play_list(struct ss_engine *e, bool dependent, const struct line *line, uint32_t count,
                      const struct ss_computation *after, uint32_t after_count) {
  struct ss_error error = {0};
  uint32_t from[16], to[16];
  uint64_t bytes[16];
  for (uint32_t i = 0; i < count; i++) from[i] = line[i].from, to[i] = line[i].to, bytes[i] = line[i].bytes;
  struct ss_round round = {.messages = {.count = count, .from = from, .to = to, .bytes = bytes},
                           .dependent = dependent,
                           .after = after,
                           .after_count = after_count};
  assert_true(e->player.play(&e->player, &round, &error));
}
#define PLAY(e, dependent, ...)                                                                                      \
  play_list(e, dependent, (struct line[]){__VA_ARGS__}, COUNT(((struct line[]){__VA_ARGS__})), NULL, 0)

static void check_done(struct ss_engine *e, const double *wanted, uint32_t count, int line) {
  struct ss_network_result result;
  e->on->model->finish(e->on->network, NULL, &result);
  assert_int_equal(count, e->endpoints);
  for (uint32_t i = 0; i < count; i++)
    if (result.done[i] != wanted[i])
      fail_msg("line %d: endpoint %u is done at %g, not %g", line, i, result.done[i], wanted[i]);
}
/* When each endpoint is done; the engine is closed. */
#define DONE(e, ...)                                                                                                 \
  do {                                                                                                               \
    check_done(e, (double[]){__VA_ARGS__}, COUNT(((double[]){__VA_ARGS__})), __LINE__);                              \
    ss_engine_close(e);                                                                                              \
  } while (0)

static void open_flat(struct ss_engine *e, uint32_t ranks) {
  struct ss_error error = {0};
  struct ss_cluster cluster = flat_cluster(ALPHA, BETA);
  assert_true(ss_engine_open(e, &cluster, ranks, 0, &error));
}

/* Two ranks a node. */
static void open_nodes(struct ss_engine *e, uint32_t ranks, bool nic_per_node) {
  struct ss_error error = {0};
  struct ss_cluster cluster = flat_cluster(ALPHA, BETA);
  cluster.gpus_per_node = 2;
  cluster.nic_per_node = nic_per_node;
  assert_true(ss_engine_open(e, &cluster, ranks, 0, &error));
}

TEST(a_port_keeps_the_global_order) {
  struct ss_engine e;
  open_flat(&e, 4);
  /* 0->1 0..4; 2->1 waits for rank 1's ingress, 4..6; 2->3 is behind it on rank 2's egress, 6..8 */
  PLAY(&e, true, {0, 1, 24}, {2, 1, 8}, {2, 3, 8});
  DONE(&e, 4, 6, 8, 8);
  open_flat(&e, 4);
  /* Listed the other way round nothing waits but 2->1 (for 2->3's end at 2, and 0->1's at 4). */
  PLAY(&e, true, {2, 3, 8}, {0, 1, 24}, {2, 1, 8});
  DONE(&e, 4, 6, 6, 2);
}

TEST(a_dependent_round_waits_at_both_ends) {
  struct ss_engine e;
  open_flat(&e, 4);
  PLAY(&e, true, {0, 1, 40}); /* 0..6 */
  PLAY(&e, true, {2, 0, 8});  /* rendezvous: rank 0 is ready when it has sent, 6..8 */
  PLAY(&e, true, {3, 1, 8});  /* rank 1 when it has received, 6..8 */
  DONE(&e, 8, 8, 8, 8);
  open_flat(&e, 4);
  PLAY(&e, true, {0, 1, 40});
  PLAY(&e, true, {2, 3, 8}); /* neither end did anything before: no barrier, 0..2 */
  DONE(&e, 6, 6, 2, 2);
}

TEST(an_independent_round_waits_for_ports_only) {
  struct ss_engine e;
  open_flat(&e, 4);
  PLAY(&e, true, {0, 1, 40});  /* 0..6 */
  PLAY(&e, false, {1, 2, 8});  /* does not wait for what rank 1 receives: 0..2 */
  PLAY(&e, false, {3, 0, 16}); /* nor for what rank 0 sends: 0..3 */
  DONE(&e, 6, 6, 2, 3);
  open_flat(&e, 4);
  PLAY(&e, true, {0, 1, 40});
  PLAY(&e, false, {0, 2, 8}); /* rank 0's egress is busy until 6 */
  PLAY(&e, false, {3, 1, 8}); /* and so is rank 1's ingress */
  DONE(&e, 8, 8, 8, 8);
}

TEST(a_node_has_one_nic_each_way) {
  struct ss_engine e;
  open_nodes(&e, 6, true);              /* nodes {0,1} {2,3} {4,5} */
  PLAY(&e, true, {0, 2, 8}, {1, 4, 8}); /* out of node 0 one after the other: 0..2, 2..4 */
  DONE(&e, 2, 4, 2, 0, 4, 0);
  open_nodes(&e, 6, true);
  PLAY(&e, true, {0, 4, 8}, {2, 5, 8}); /* into node 2 one after the other */
  DONE(&e, 2, 0, 4, 0, 2, 4);
  open_nodes(&e, 4, true);
  PLAY(&e, true, {0, 2, 8}, {3, 1, 8}); /* full duplex: both 0..2 */
  DONE(&e, 2, 2, 2, 2);
  open_nodes(&e, 4, true);
  PLAY(&e, true, {0, 2, 8}, {1, 0, 24}, {3, 2, 8}); /* inside a node no NIC: 0..4; 3->2 for 2's ingress only, 2..4 */
  DONE(&e, 4, 4, 4, 4);
  open_nodes(&e, 6, false);
  PLAY(&e, true, {0, 2, 8}, {1, 4, 8}, {3, 5, 8}); /* per-rank: all at once */
  DONE(&e, 2, 2, 2, 2, 2, 2);
}

/* Of each port and each node's card: who is asked for says so, and carries its own bytes. */
TEST(cards_are_links_of_their_own) {
  static const uint32_t from[] = {0, 1, 4}, to[] = {2, 4, 5};
  static const uint64_t bytes[] = {8, 24, 40}; /* the last one inside node 2 */
  static const double carried[2][3] = {{32, 0, 0}, {0, 8, 24}};
  const struct ss_network_model *model = &ss_network_alpha_beta;
  const struct ss_network_round round = {.messages = {.count = 3, .from = from, .to = to, .bytes = bytes}};
  struct ss_cluster cluster = flat_cluster(ALPHA, BETA);
  struct ss_network_result result;
  struct ss_link_use use;
  cluster.gpus_per_node = 2;
  cluster.nic_per_node = true;
  struct ss_network *network = model->open(&cluster, 6, 0);
  assert_true(network && model->round(network, &round));
  model->finish(network, NULL, &result);
  assert_true(result.usage[SS_NIC_OUT].links == 3 && result.usage[SS_NIC_IN].links == 3);
  uint32_t links = 0;
  for (; model->link(network, links, &use); links++) {
    const bool in = use.kind == SS_NIC_IN;
    if (in || use.kind == SS_NIC_OUT) assert_true(close_to(use.bytes, carried[in][use.index], 1e-12));
    else assert_true(use.kind == SS_EGRESS || use.kind == SS_INGRESS);
  }
  assert_int_equal(links, 2 * 6 + 2 * 3);
  model->close(network);
}

TEST(kernels_wait_and_are_waited_for) {
  struct ss_engine e;
  const struct ss_computation after[] = {{1, 3}, {0, 1}, {1, 0.5}};
  open_flat(&e, 3);
  play_list(&e, true, &(struct line){0, 1, 40}, 1, after, 3);
  /* 0->1 0..6. Rank 1 computes when it has received, 6..9 and 9..9.5; rank 0 has nothing to wait for, 0..1. */
  assert_true(ss_engine_tally(&e, 0).kernel == 3.5);
  PLAY(&e, false, {1, 2, 8}); /* independent: does not wait for kernels, 0..2 */
  PLAY(&e, true, {2, 1, 8});  /* dependent: 9.5..11.5 */
  DONE(&e, 6, 11.5, 11.5);

  open_flat(&e, 2);
  PLAY(&e, true, {0, 1, 8});                   /* 0..2 */
  play_list(&e, true, NULL, 0, &after[1], 1);  /* a round of kernels alone; rank 0 has sent: 2..3 */
  play_list(&e, false, NULL, 0, &after[1], 1); /* the stream is free at 3: 3..4 */
  PLAY(&e, true, {1, 0, 8});                   /* 4..6 */
  DONE(&e, 6, 6);
}
/* SPDX-License-Identifier: Apache-2.0 */
