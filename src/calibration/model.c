#include "calibration/model.h"

#include "sim/collectives/tuner.h"

const char *const ss_cost_kind_names[SS_COST_KINDS] = {
    "between nodes",   "exchanges",      "inside nodes",    "memory",         "stream",
    "calls in LL",     "calls in LL128", "calls in Simple", "rings in LL",    "rings in LL128",
    "rings in Simple", "trees in LL",    "trees in LL128",  "trees in Simple"};
const char *const ss_cost_kind_keys[SS_COST_KINDS] = {
    "ring_simple",  "exchange", "intra",      "memory", "stream",  "start_ll",   "start_ll128",
    "start_simple", "ring_ll",  "ring_ll128", "",       "tree_ll", "tree_ll128", "tree_simple"};

enum ss_cost_kind ss_cost_kind_of_way(enum ss_way way, enum ss_protocol protocol) {
  return way == SS_WAY_RING && protocol == SS_SIMPLE
             ? SS_COST_INTER
             : (enum ss_cost_kind)((int)SS_COST_WAY + (int)way * SS_PROTOCOLS + (int)protocol);
}

/* By how much a cost is raised to see what a time makes of it. */
static const double STEP = 1e-3;

const struct ss_cost_piece *ss_cost_piece_of(const struct ss_measured_cluster *m, enum ss_cost_kind kind,
                                             uint64_t bytes) {
  if (m->pieces[kind] == 0 && kind != SS_COST_STREAM) kind = SS_COST_INTER;
  const struct ss_cost_piece *piece = m->piece[kind];
  while (piece->up_to < bytes) piece++;
  return piece;
}

/* --- clusters ---------------------------------------------------------------------------------------------- */

/* A fit may find that bytes are free. Links of infinite bandwidth cannot be shared, so they then cost next to
 * nothing. */
static struct ss_link link_of(const struct ss_fitted_cost cost[2]) {
  static const double FREE = 1e-30;
  return (struct ss_link){cost[0].value, fmax(cost[1].value, FREE)};
}

static void set_class(const struct ss_measured_cluster *m, enum ss_cost_kind kind, struct ss_link *link,
                      struct ss_segments *segments) {
  segments->count = m->pieces[kind] > 1 ? m->pieces[kind] : 0;
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    const struct ss_cost_piece *piece = &m->piece[kind][i];
    *link = link_of(piece->cost);
    segments->piece[i] = (struct ss_segment){piece->up_to, *link};
  }
}

/* Runs that use some of a node's GPUs have as many of its cards; at least one. */
static uint32_t cards_of(const struct ss_measured_cluster *m, uint32_t per_node) {
  const uint64_t cards = ((uint64_t)per_node * m->nics + m->gpus_per_node - 1) / m->gpus_per_node;
  return cards < per_node ? (uint32_t)cards : per_node;
}

static void find_channels(const struct ss_measured_cluster *m, struct ss_cluster cluster, struct ss_library *out) {
  if (out->channels > 0 || out->channel_rate > 0) return;
  cluster.library = m->library;
  cluster.inter.beta = 1 / m->card_rate;
  cluster.inter_segments.count = 0;
  cluster.has_exchange = false;
  const struct ss_channels found = ss_library_channels(&cluster, 2);
  out->channels = found.count;
  out->channel_rate = found.rate;
}

/* Ways without costs follow from rings in Simple as the library believes. */
static void set_ways(const struct ss_measured_cluster *m, struct ss_cluster *c) {
  c->library = m->library;
  find_channels(m, *c, &c->library);
  c->chain_window = 1;
  for (int p = 0; p < SS_PROTOCOLS; p++) {
    const enum ss_cost_kind start = (enum ss_cost_kind)((int)SS_COST_START + p);
    if (m->pieces[start] > 0) c->library.start[p] = m->piece[start][0].cost[0].value;
    for (int w = 0; w < SS_WAYS; w++) {
      const enum ss_cost_kind kind = ss_cost_kind_of_way((enum ss_way)w, (enum ss_protocol)p);
      if (m->pieces[kind] > 0) c->library.cost[w][p] = link_of(m->piece[kind][0].cost);
    }
  }
}

/* For runs that use `per_node` GPUs of each node; 0: all of them. */
static struct ss_cluster as_cluster(const struct ss_measured_cluster *m, uint32_t per_node) {
  struct ss_cluster c = {.model = "fair", .nic_per_node = true};
  c.gpus_per_node = per_node > 0 ? per_node : m->gpus_per_node;
  c.nics = cards_of(m, c.gpus_per_node);
  c.window = m->window;
  set_class(m, SS_COST_INTER, &c.inter, &c.inter_segments);
  c.has_intra = m->pieces[SS_COST_INTRA] > 0;
  set_class(m, c.has_intra ? SS_COST_INTRA : SS_COST_INTER, &c.intra, &c.intra_segments);
  c.has_exchange = m->pieces[SS_COST_EXCHANGE] > 0;
  set_class(m, c.has_exchange ? SS_COST_EXCHANGE : SS_COST_INTER, &c.exchange, &c.exchange_segments);
  if (m->library.kind == SS_NCCL) set_ways(m, &c);
  return c;
}

void ss_measured_library(const struct ss_measured_cluster *m, uint32_t per_node, struct ss_library *out) {
  *out = as_cluster(m, per_node).library;
}

/* --- playing ----------------------------------------------------------------------------------------------- */

bool ss_observation_exchanges(const struct ss_observation *o) {
  const struct ss_pattern_call call = {.algorithm = o->algorithm, .ranks = o->nodes * o->per_node, .bytes = o->bytes};
  return ss_pattern_kind(&call, o->per_node) == SS_EXCHANGE;
}

/* A call as it is played: as NCCL chooses, or by an algorithm that is named or supposed. */
struct played {
  struct ss_pattern_call call;
  bool chosen;
  struct ss_choice choice;
};

static struct played play_of(const struct ss_measured_cluster *m, const struct ss_observation *o,
                             const struct ss_cluster *cluster) {
  const struct ss_cost_piece *memory = ss_cost_piece_of(m, SS_COST_MEMORY, o->bytes);
  const bool has_memory = m->pieces[SS_COST_MEMORY] > 0;
  const uint32_t ranks = o->nodes * o->per_node;
  const enum ss_collective collective = o->algorithm->collective;
  struct played p = {.call = {.algorithm = o->algorithm,
                              .ranks = ranks,
                              .bytes = o->bytes,
                              .rings = !ss_library_mpi(o->library) && o->nodes > 1 ? cards_of(m, o->per_node) : 1,
                              .memory.sum = has_memory ? memory->cost[0].value : 0,
                              .memory.page = has_memory ? memory->cost[1].value : 0,
                              .library = o->library}};
  p.chosen = o->open && !ss_library_mpi(o->library) && o->nodes > 1 && ss_tuner_chooses(cluster, collective);
  if (!p.chosen) return p;
  p.choice = ss_tuner_choose(cluster, collective, ranks, o->bytes);
  p.call = ss_choice_call(cluster, p.choice, collective, ranks, o->bytes);
  return p;
}

static struct ss_cluster seen_by(const struct played *p, const struct ss_cluster *cluster) {
  return p->chosen ? ss_choice_cluster(cluster, p->choice, &p->call) : *cluster;
}

static double start_of(const struct played *p, const struct ss_cluster *cluster) {
  return p->chosen ? ss_library_start(cluster, p->choice.protocol) : 0;
}

static double stream_time(const struct ss_measured_cluster *m, const struct ss_observation *o) {
  const double gap = m->pieces[SS_COST_STREAM] > 0 ? m->piece[SS_COST_STREAM][0].cost[0].value : 0;
  return gap + (double)o->bytes * ss_cost_piece_of(m, SS_COST_INTER, o->bytes)->cost[1].value;
}

bool ss_observation_predict(const struct ss_measured_cluster *m, const struct ss_observation *o, double *seconds,
                            struct ss_error *error) {
  const struct ss_cluster cluster = as_cluster(m, o->per_node);
  const struct played p = play_of(m, o, &cluster);
  const struct ss_cluster seen = seen_by(&p, &cluster), *const one = &seen;
  if (o->stream) {
    *seconds = stream_time(m, o);
    return true;
  }
  if (!ss_pattern_times(&one, 1, &p.call, seconds, error)) return false;
  *seconds += start_of(&p, &cluster);
  return true;
}

bool ss_observation_same_call(const struct ss_observation *a, const struct ss_observation *b) {
  return a->algorithm == b->algorithm && a->nodes == b->nodes && a->per_node == b->per_node && a->bytes == b->bytes &&
         a->stream == b->stream && a->library == b->library && a->open == b->open;
}

uint64_t ss_observation_message(const struct ss_observation *o) {
  struct ss_pattern_size sizes[SS_PATTERN_SIZES];
  const struct ss_pattern_call call = {.algorithm = o->algorithm, .ranks = o->nodes * o->per_node, .bytes = o->bytes};
  const uint32_t count = ss_pattern_sizes(&call, o->per_node, sizes);
  uint64_t most = 0;
  for (uint32_t i = 0; i < count; i++) most = sizes[i].bytes > most ? sizes[i].bytes : most;
  return most;
}

/* --- how times change ---------------------------------------------------------------------------------------- */

/* What a message is charged as: one of a kind without costs of its own, and with it a card that it shares, changes
 * with those between nodes. */
static enum ss_cost_kind kind_of(const struct ss_measured_cluster *m, const struct played *p,
                                 const struct ss_pattern_size *size) {
  const enum ss_cost_kind kind = size->intra ? SS_COST_INTRA : size->exchange ? SS_COST_EXCHANGE : SS_COST_INTER;
  const enum ss_cost_kind way = ss_cost_kind_of_way(p->choice.way, p->choice.protocol);
  if (p->chosen && !size->intra && m->pieces[way] > 0) return way;
  return m->pieces[kind] > 0 ? kind : SS_COST_INTER;
}

/* Every kind of link that has costs has segments, so that each may be changed alone. */
static void spell_out(struct ss_cluster *c) {
  struct ss_segments *const all[] = {&c->inter_segments, &c->exchange_segments, &c->intra_segments};
  const struct ss_link *const links[] = {&c->inter, &c->exchange, &c->intra};
  const bool has[] = {true, c->has_exchange, c->has_intra};
  for (int i = 0; i < 3; i++) {
    if (all[i]->count > 0 || !has[i]) continue;
    all[i]->count = 1;
    all[i]->piece[0] = (struct ss_segment){UINT64_MAX, *links[i]};
  }
}

static struct ss_segments *segments_of(struct ss_cluster *c, enum ss_cost_kind kind) {
  return kind == SS_COST_INTRA      ? &c->intra_segments
         : kind == SS_COST_EXCHANGE ? &c->exchange_segments
                                    : &c->inter_segments;
}

/* What a way costs; NULL: another kind. */
static struct ss_link *way_link(struct ss_cluster *c, enum ss_cost_kind kind) {
  const int i = (int)kind - (int)SS_COST_WAY;
  if (kind == SS_COST_INTER && c->library.kind == SS_NCCL) return &c->library.cost[SS_WAY_RING][SS_SIMPLE];
  return i < 0 ? NULL : &c->library.cost[i / SS_PROTOCOLS][i % SS_PROTOCOLS];
}

/* Start-ups of messages of just this size take `by` longer. */
static void raise_latency(struct ss_cluster *c, enum ss_cost_kind kind, uint64_t size, double by) {
  struct ss_link *way = way_link(c, kind);
  struct ss_segments *s = segments_of(c, kind);
  uint32_t at = 0;
  if (way) way->alpha += by;
  if (kind >= SS_COST_WAY) return;
  while (s->piece[at].up_to < size) at++;
  const struct ss_segment whole = s->piece[at];
  const uint32_t more = (size > 0 ? 1U : 0U) + (whole.up_to > size ? 1U : 0U);
  memmove(&s->piece[at + more], &s->piece[at], (s->count - at) * sizeof *s->piece);
  if (size > 0) s->piece[at++] = (struct ss_segment){size - 1, whole.link};
  s->piece[at] = (struct ss_segment){size, {whole.link.alpha + by, whole.link.beta}};
  s->count += more;
}

static void raise_byte_time(struct ss_cluster *c, enum ss_cost_kind kind) {
  struct ss_link *way = way_link(c, kind);
  if (way) way->beta *= 1 + STEP;
  if (kind >= SS_COST_WAY) return;
  struct ss_segments *s = segments_of(c, kind);
  struct ss_link *link = kind == SS_COST_INTRA ? &c->intra : kind == SS_COST_EXCHANGE ? &c->exchange : &c->inter;
  for (uint32_t i = 0; i < s->count; i++) s->piece[i].link.beta *= 1 + STEP;
  link->beta *= 1 + STEP;
}

static double alone(struct ss_cluster *c, enum ss_cost_kind kind, uint64_t size, double *beta) {
  const struct ss_link *way = way_link(c, kind);
  if (way) {
    *beta = way->beta;
    return way->alpha + (double)size * *beta;
  }
  const struct ss_segments *s = segments_of(c, kind);
  uint32_t at = 0;
  while (s->piece[at].up_to < size) at++;
  *beta = s->piece[at].link.beta;
  return s->piece[at].link.alpha + (double)size * *beta;
}

enum { LINK_KINDS = SS_COST_INTRA + 2, CLUSTERS = 1 + SS_PATTERN_SIZES + LINK_KINDS };

struct terms {
  struct ss_cost_term *list;
  uint32_t *count;
};

static void add(const struct terms *t, enum ss_cost_kind kind, int which, uint64_t size, double weight) {
  if (weight > 0 && *t->count < SS_COST_TERMS)
    t->list[(*t->count)++] = (struct ss_cost_term){size, kind, which, weight};
}

/* Times a byte of a kind change together, since cards carry what the fastest do; what that makes is given to its
 * sizes by the bytes that lie on the way of each, or, of a kind that only bounds the cards, to its largest. */
static void share_byte_time(const struct terms *t, enum ss_cost_kind kind, double grows, struct ss_cluster *base,
                            const struct ss_cost_term *startup, uint32_t startups) {
  double whole = 0, beta;
  for (uint32_t i = 0; i < startups; i++) {
    (void)alone(base, kind, startup[i].size, &beta);
    if (startup[i].kind == kind) whole += startup[i].weight * (double)startup[i].size * beta;
  }
  for (uint32_t i = 0; whole > 0 && i < startups; i++)
    if (startup[i].kind == kind)
      add(t, kind, 1, startup[i].size, grows / whole * startup[i].weight * (double)startup[i].size);
  if (whole > 0) return;
  (void)alone(base, kind, UINT64_MAX, &beta);
  add(t, kind, 1, UINT64_MAX, grows / beta);
}

/* Which of the call's sizes have a start-up of their own: a way has one for all sizes. */
static uint32_t startups_of(const struct ss_measured_cluster *m, const struct played *p, uint32_t per_node,
                            struct ss_pattern_size sizes[SS_PATTERN_SIZES]) {
  const uint32_t count = ss_pattern_sizes(&p->call, per_node, sizes);
  uint32_t kept = 0;
  bool way = false;
  for (uint32_t i = 0; i < count; i++) {
    const bool of_way = p->chosen && kind_of(m, p, &sizes[i]) != SS_COST_INTRA;
    if (!(of_way && way)) sizes[kept++] = sizes[i];
    way = way || of_way;
  }
  return kept;
}

/* The clusters with each start-up, and each kind's time a byte, a little higher, as the call sees them. */
static uint32_t raise_all(const struct ss_measured_cluster *m, const struct played *p,
                          const struct ss_pattern_size *sizes, uint32_t count, const struct ss_cluster *base,
                          struct ss_cluster *cluster, enum ss_cost_kind kinds[LINK_KINDS], double *by) {
  uint32_t links = 0;
  double beta;
  cluster[0] = seen_by(p, base);
  for (uint32_t i = 0; i < count; i++) {
    struct ss_cluster raised = *base;
    const enum ss_cost_kind kind = kind_of(m, p, &sizes[i]);
    by[i] = STEP * alone(&raised, kind, sizes[i].bytes, &beta);
    raise_latency(&raised, kind, sizes[i].bytes, by[i]);
    cluster[1 + i] = seen_by(p, &raised);
  }
  const enum ss_cost_kind way = p->chosen ? ss_cost_kind_of_way(p->choice.way, p->choice.protocol) : SS_COST_INTER;
  const enum ss_cost_kind tried[LINK_KINDS] = {SS_COST_INTER, SS_COST_EXCHANGE, SS_COST_INTRA, way};
  for (int i = 0; i < LINK_KINDS; i++) {
    if (m->pieces[tried[i]] == 0 || (i > 0 && tried[i] == SS_COST_INTER)) continue;
    struct ss_cluster raised = *base;
    raise_byte_time(&raised, tried[i]);
    cluster[1 + count + links] = seen_by(p, &raised);
    kinds[links++] = tried[i];
  }
  return links;
}

static bool link_terms(const struct ss_measured_cluster *m, const struct ss_observation *o, const struct terms *t,
                       double *seconds, struct ss_error *error) {
  struct ss_pattern_size sizes[SS_PATTERN_SIZES];
  struct ss_cluster cluster[CLUSTERS], base = as_cluster(m, o->per_node);
  const struct ss_cluster *list[CLUSTERS];
  enum ss_cost_kind kinds[LINK_KINDS];
  double time[CLUSTERS], by[SS_PATTERN_SIZES];
  const struct played p = play_of(m, o, &base);
  const uint32_t count = startups_of(m, &p, o->per_node, sizes);
  spell_out(&base);
  const uint32_t links = raise_all(m, &p, sizes, count, &base, cluster, kinds, by), clusters = 1 + count + links;
  for (uint32_t i = 0; i < clusters; i++) list[i] = &cluster[i];
  if (!ss_pattern_times(list, clusters, &p.call, time, error)) return false;
  *seconds = time[0];
  for (uint32_t i = 0; i < count; i++)
    add(t, kind_of(m, &p, &sizes[i]), 0, sizes[i].bytes, (time[1 + i] - time[0]) / by[i]);
  const uint32_t startups = *t->count;
  for (uint32_t i = 0; i < links; i++)
    share_byte_time(t, kinds[i], (time[1 + count + i] - time[0]) / STEP, &base, t->list, startups);
  if (p.chosen) add(t, (enum ss_cost_kind)((int)SS_COST_START + (int)p.choice.protocol), 0, o->bytes, 1);
  return true;
}

/* Of sums, or of pages: `beta` points to the call's cost of them. */
static bool memory_term(const struct ss_measured_cluster *m, const struct ss_observation *o, int which,
                        const struct terms *t, double seconds, struct ss_error *error) {
  const struct ss_cluster cluster = as_cluster(m, o->per_node), *const one = &cluster;
  struct ss_pattern_call call = play_of(m, o, &cluster).call;
  double *beta = which == 0 ? &call.memory.sum : &call.memory.page, after;
  const double by = STEP * seconds / (double)(o->bytes > 0 ? o->bytes : 1);
  if (m->pieces[SS_COST_MEMORY] == 0 || (which == 1 && !ss_library_mpi(o->library)) || o->bytes == 0) return true;
  *beta += by;
  if (!ss_pattern_times(&one, 1, &call, &after, error)) return false;
  if (after - seconds > 1e-3 * STEP * seconds) add(t, SS_COST_MEMORY, which, o->bytes, (after - seconds) / by);
  return true;
}

bool ss_observation_terms(const struct ss_measured_cluster *m, const struct ss_observation *o,
                          struct ss_cost_term terms[SS_COST_TERMS], uint32_t *count, struct ss_error *error) {
  const struct terms t = {terms, count};
  double seconds;
  *count = 0;
  if (o->stream) {
    add(&t, SS_COST_STREAM, 0, o->bytes, 1);
    add(&t, SS_COST_INTER, 1, o->bytes, (double)o->bytes);
    return true;
  }
  return link_terms(m, o, &t, &seconds, error) && memory_term(m, o, 0, &t, seconds, error) &&
         memory_term(m, o, 1, &t, seconds, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
