#include "calibration/problem.h"

/* ROUNDS: times costs are fitted and observations played again; MORE of those of ways. */
enum { ROUNDS = 4, MORE = 8 };
static const double DECISIVE = 10, EXACT = 1e-6, MARGIN = 1e-6;

/* --- playing ------------------------------------------------------------------------------------------------ */

/* The time that terms tell. */
static double told(const struct ss_measured_cluster *m, const struct ss_known_terms *known) {
  double sum = 0;
  for (uint32_t i = 0; i < known->count; i++) {
    const struct ss_cost_term *t = &known->term[i];
    if (ss_fit_charged_as(m, t->kind) == SS_COST_KINDS) continue;
    sum += t->weight * ss_cost_piece_of(m, t->kind, t->size)->cost[t->which].value;
  }
  return sum;
}

/* Sets *tell to whether an observation's terms still tell its time, now that costs are others. */
static bool still_tell(const struct ss_measured_cluster *m, const struct ss_observation *o,
                       const struct ss_known_terms *known, bool *tell, struct ss_error *error) {
  double seconds = NAN;
  if (known->count > 0 && !ss_observation_predict(m, o, &seconds, error)) return false;
  *tell = fabs(told(m, known) - seconds) <= EXACT * seconds;
  return true;
}

static bool play_one(const struct ss_measured_cluster *m, const struct ss_observation *o,
                     struct ss_known_terms *known, struct ss_error *error) {
  struct ss_cost_term term[SS_COST_TERMS];
  uint32_t count;
  if (!ss_observation_terms(m, o, term, &count, error)) return false;
  struct ss_cost_term *kept = ss_realloc(known->term, count, sizeof *kept);
  if (!kept) return ss_fail_memory(error, "fitting times");
  memcpy(kept, term, count * sizeof *kept);
  *known = (struct ss_known_terms){kept, count};
  return true;
}

/* Brings all terms up to date with the cluster; `*changed` counts those that had to be. */
static bool play_all(struct ss_fit_problem *p, const struct ss_measured_cluster *m, size_t *changed,
                     struct ss_error *error) {
  bool ok = true;
  size_t count = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : count)
  for (size_t i = 0; i < p->count; i++) {
    struct ss_error mine;
    const struct ss_observation *o = &p->list[p->at[i]];
    struct ss_known_terms *known = ss_fit_terms(p, i);
    bool tell = false;
    if (p->first[i] < i) continue;
    const bool asked = still_tell(m, o, known, &tell, &mine);
    if (tell) continue;
    count++;
    if (asked && play_one(m, o, known, &mine)) continue;
#pragma omp critical
    {
      if (ok) *error = mine;
      ok = false;
    }
  }
  *changed = count;
  return ok;
}

/* --- costs ------------------------------------------------------------------------------------------------- */

/* A rate that is not known is the fastest that is: cards carry what the fastest messages do. */
static void complete(struct ss_measured_cluster *m, enum ss_cost_kind kind) {
  double least = INFINITY;
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    const struct ss_fitted_cost *beta = &m->piece[kind][i].cost[1];
    if (beta->known && beta->value < least) least = beta->value;
  }
  for (uint32_t i = 0; i < m->pieces[kind]; i++) {
    struct ss_fitted_cost *beta = &m->piece[kind][i].cost[1];
    if (isfinite(least) && !beta->known && beta->value < least) beta->value = least;
    if (!(beta->value > 0)) beta->value = m->piece[SS_COST_INTER][0].cost[1].value;
  }
}

/* A message takes no longer than one of a byte more, to MARGIN beyond what files round: what completing a rate and a
 * penalty have left of that is taken off the shorter one's time a byte, or where it is too much for that off its
 * start-up. */
static void join(struct ss_measured_cluster *m, enum ss_cost_kind kind) {
  for (uint32_t i = m->pieces[kind]; i-- > 1;) {
    struct ss_fitted_cost *ends = m->piece[kind][i - 1].cost, *begins = m->piece[kind][i].cost;
    const double bytes = (double)m->piece[kind][i - 1].up_to;
    const double most = (begins[0].value + bytes * begins[1].value) * (1 - MARGIN);
    if (ends[0].value + bytes * ends[1].value <= most) continue;
    if (most - ends[0].value > bytes * ends[1].value / 2) ends[1].value = (most - ends[0].value) / bytes;
    else {
      ends[1].value = fmin(ends[1].value, most / bytes);
      ends[0].value = most - bytes * ends[1].value;
    }
  }
}

/* Where no run stayed inside a node, and so none tells what messages cost there: four times as fast as all cards
 * together, and twice as fast to start as between nodes, or as NCCL believes. */
static void suppose_inside(struct ss_measured_cluster *m) {
  double least = INFINITY;
  for (uint32_t i = 0; i < m->pieces[SS_COST_INTER]; i++)
    least = fmin(least, m->piece[SS_COST_INTER][i].cost[1].value);
  struct ss_fitted_cost *cost = m->piece[SS_COST_INTRA][0].cost;
  const struct ss_by_way *steps = m->library.pci ? &m->library.beliefs.pci : &m->library.beliefs.nvlink;
  const double start = m->library.kind == SS_NCCL ? steps->of[SS_WAY_RING].of[SS_SIMPLE]
                                                  : m->piece[SS_COST_INTER][0].cost[0].value / 2;
  cost[0] = (struct ss_fitted_cost){.value = start};
  cost[1] = (struct ss_fitted_cost){.value = least / 4 / m->nics};
}

/* Start-ups that were given are not fitted. */
static void hold_latency(const struct ss_fit_problem *p, struct ss_measured_cluster *m) {
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++)
    for (uint32_t i = 0; i < m->pieces[kind] && ss_fit_latency_given(p, kind); i++)
      m->piece[kind][i].cost[0] = (struct ss_fitted_cost){.value = p->latency, .known = true};
}

/* No way carries more than rings in Simple do of its wire: half of what LL sends is flags, of LL128 8 B of 128. Calls
 * whose bytes are hidden tell no rate at all. */
static void bound_ways(struct ss_measured_cluster *m) {
  static const double wire[SS_PROTOCOLS] = {2, 128.0 / 120, 1};
  const double simple = m->piece[SS_COST_INTER][0].cost[1].value;
  for (int i = 0; i < SS_WAYS * SS_PROTOCOLS; i++) {
    const enum ss_cost_kind kind =
        ss_cost_kind_of_way((enum ss_way)(i / SS_PROTOCOLS), (enum ss_protocol)(i % SS_PROTOCOLS));
    if (kind == SS_COST_INTER || m->pieces[kind] == 0) continue;
    double *beta = &m->piece[kind][0].cost[1].value;
    *beta = fmax(*beta, wire[i % SS_PROTOCOLS] * simple);
  }
}

static bool fit_costs(struct ss_fit_problem *p, struct ss_measured_cluster *m, double *weight,
                      struct ss_error *error) {
  struct ss_robust_cost cost[SS_FIT_COSTS];
  const struct ss_times t = ss_fit_design(p, m);
  if (!ss_robust_fit(&t, cost, weight, error)) return false;
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++)
    for (uint32_t i = 0; i < m->pieces[kind]; i++)
      for (size_t which = 0; which < 2; which++) {
        const struct ss_robust_cost *c = &cost[ss_fit_index(m, kind, i) + which];
        const bool known = !c->absent && !c->held && c->error <= c->value / 2;
        m->piece[kind][i].cost[which] = (struct ss_fitted_cost){c->value, c->error, known};
      }
  for (enum ss_cost_kind kind = 0; kind < SS_COST_MEMORY; kind++) complete(m, kind);
  hold_latency(p, m);
  for (enum ss_cost_kind kind = 0; kind < SS_COST_MEMORY; kind++) join(m, kind);
  for (uint32_t i = 0; p->suppose_sum && i < m->pieces[SS_COST_MEMORY]; i++)
    m->piece[SS_COST_MEMORY][i].cost[0] = (struct ss_fitted_cost){.value = SS_SUPPOSED_SUM};
  if (m->library.kind == SS_NCCL) bound_ways(m);
  if (m->pieces[SS_COST_INTRA] > 0 && !p->inside) suppose_inside(m);
  return true;
}

/* What a ring's bytes hide of its starts, a fit does not see: costs would go to and fro, so they go half the way. */
static void go_half(const struct ss_measured_cluster *from, struct ss_measured_cluster *m) {
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++)
    for (size_t which = 0; which < 2 && from->pieces[kind] == 1 && m->pieces[kind] == 1; which++) {
      struct ss_fitted_cost *cost = &m->piece[kind][0].cost[which];
      cost->value = (cost->value + from->piece[kind][0].cost[which].value) / 2;
    }
}

/* Plays and fits until nothing is new. */
static bool settle(struct ss_fit_problem *p, struct ss_measured_cluster *m, bool find, double *weight,
                   struct ss_error *error) {
  const bool ways = m->library.kind == SS_NCCL;
  size_t changed = 1;
  for (int round = 0; round < (ways ? MORE : ROUNDS) && (round == 0 || changed > 0); round++) {
    if (!play_all(p, m, &changed, error)) return false;
    if (round > 0 && changed == 0) return true;
    if (find && round < 2) ss_fit_find_pieces(p, m);
    const struct ss_measured_cluster before = *m;
    if (!fit_costs(p, m, weight, error)) return false;
    if (ways && round > 0) go_half(&before, m);
  }
  return true;
}

/* --- beginning --------------------------------------------------------------------------------------------- */

/* The most bytes of a call over its time: a first idea of a rate. */
static double fastest(const struct ss_fit_problem *p) {
  double rate = 1;
  for (size_t i = 0; i < p->count; i++)
    rate = fmax(rate, (double)p->list[p->at[i]].bytes / p->list[p->at[i]].seconds);
  return rate;
}

static void begin_piece(struct ss_measured_cluster *m, enum ss_cost_kind kind, double a, double b) {
  m->pieces[kind] = 1;
  m->piece[kind][0] = (struct ss_cost_piece){UINT64_MAX, {{.value = a}, {.value = b}}};
}

/* A first guess, in which every cost makes a difference where it can. */
static struct ss_measured_cluster begin(const struct ss_fit_problem *p,
                                        const struct ss_cluster_fit_options *options) {
  struct ss_measured_cluster m = {.window = options->window > 0 ? options->window : 1,
                                  .gpus_per_node = options->gpus_per_node,
                                  .nics = options->nics > 0 ? options->nics : 1};
  const double beta = 1 / fastest(p);
  bool intra = false, inter = false, stream = false, mpi = false;
  uint32_t sharing = 0; /* ranks to a card, where exchanges were measured */
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_observation *o = &p->list[p->at[i]];
    if (o->per_node > m.gpus_per_node) m.gpus_per_node = o->per_node;
    intra = intra || o->per_node > 1;
    inter = inter || o->nodes > 1;
    stream = stream || o->stream;
    mpi = mpi || ss_library_mpi(o->library);
    if (o->nodes > 1 && ss_observation_exchanges(o) && o->per_node > sharing) sharing = o->per_node;
  }
  begin_piece(&m, SS_COST_INTER, 5e-6, beta);
  /* Not faster than a share of the card, or exchanges that are slower would make no difference. */
  if (sharing > 0) begin_piece(&m, SS_COST_EXCHANGE, 5e-6, 1.01 * beta * fmax(1, (double)sharing / m.nics));
  if (intra) begin_piece(&m, SS_COST_INTRA, 3e-6, beta / (inter ? 4 * m.nics : 1));
  if (mpi) begin_piece(&m, SS_COST_MEMORY, SS_SUPPOSED_SUM, SS_SUPPOSED_SUM);
  if (stream) begin_piece(&m, SS_COST_STREAM, 1e-6, 0);
  if (m.nics > m.gpus_per_node) m.nics = m.gpus_per_node;
  return m;
}

/* What a card is sold as that carries so much (B/s). */
static double nominal(double rate) {
  static const double sold[] = {10, 25, 40, 50, 100, 200, 400, 800, 1600};
  for (size_t i = 0; i < sizeof sold / sizeof *sold; i++)
    if (rate <= sold[i] * 1e9 / 8) return sold[i] * 1e9 / 8;
  return rate;
}

/* Every way and protocol that the library may take has costs, seen or not: priors tell what times do not. */
static void begin_ways(struct ss_measured_cluster *m, const struct ss_library *library, double card) {
  const struct ss_link simple = {m->piece[SS_COST_INTER][0].cost[0].value, m->piece[SS_COST_INTER][0].cost[1].value};
  m->library = *library;
  m->card_rate = nominal(card);
  for (int p = 0; p < SS_PROTOCOLS; p++) {
    if (p == SS_LL128 && !library->ll128) continue;
    begin_piece(m, (enum ss_cost_kind)((int)SS_COST_START + p), library->start[p], 0);
    for (int w = 0; w < SS_WAYS; w++) {
      const enum ss_cost_kind kind = ss_cost_kind_of_way((enum ss_way)w, (enum ss_protocol)p);
      if (kind != SS_COST_INTER) begin_piece(m, kind, simple.alpha, simple.beta);
    }
  }
}

/* Kinds on which no time depends are taken away. */
static void drop_unseen(const struct ss_fit_problem *p, struct ss_measured_cluster *m) {
  bool seen[SS_COST_KINDS] = {false};
  for (size_t i = 0; i < p->count; i++)
    for (uint32_t k = 0; k < ss_fit_terms(p, i)->count; k++) seen[ss_fit_terms(p, i)->term[k].kind] = true;
  for (enum ss_cost_kind kind = SS_COST_MEMORY; kind < SS_COST_KINDS; kind++)
    if (!seen[kind]) m->pieces[kind] = 0;
}

/* --- cards and windows -------------------------------------------------------------------------------------- */

/* What is tried and has no fit is not chosen; but where memory was short nobody knows, and nothing is fitted. */
static bool tried(struct ss_fit_problem *p, bool ok, const struct ss_error *error) {
  if (!ok && error->status == SS_MACHINE) p->starved = true;
  return ok;
}

/* How far what is played is from what terms tell of it: they may follow a cluster that fits have left. */
static double drift(struct ss_fit_problem *p, const struct ss_measured_cluster *m, size_t i, struct ss_error *error) {
  double seconds;
  if (!tried(p, ss_observation_predict(m, &p->list[p->at[i]], &seconds, error), error)) return 1;
  return fabs(log(told(m, ss_fit_terms(p, i)) / seconds));
}

static double criterion(struct ss_fit_problem *p, struct ss_measured_cluster m, struct ss_error *error) {
  SS_AUTO_FREE double *weight = ss_alloc(p->count, sizeof *weight);
  const bool ok = weight || ss_fail_memory(error, "fitting times");
  p->cap = 1;
  if (!tried(p, ok && settle(p, &m, false, weight, error), error)) return INFINITY;
  double off = 0;
  for (size_t i = 0; i < p->count; i++) off += fmin(drift(p, &m, i, error), 1);
  return 2 * (double)p->count * log(ss_fit_score(p, &m) + off / (double)p->count);
}

/* Whether runs could tell: they used different numbers of a node's GPUs between nodes. */
static bool tells_cards(const struct ss_fit_problem *p) {
  uint32_t seen = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_observation *o = &p->list[p->at[i]];
    if (o->nodes < 2) continue;
    if (seen != 0 && seen != o->per_node) return true;
    seen = o->per_node;
  }
  return false;
}

static bool tells_window(const struct ss_fit_problem *p) {
  for (size_t i = 0; i < p->count; i++)
    if (strcmp(p->list[p->at[i]].algorithm->name, "linear") == 0) return true;
  return false;
}

/* Tries values of one of m's numbers; keeps another than the first only when it is much more likely. Its criterion.
 */
static double choose(struct ss_fit_problem *p, struct ss_measured_cluster *m, uint32_t *number,
                     const uint32_t *values, size_t count, struct ss_error *error) {
  double best = INFINITY;
  uint32_t chosen = *number;
  for (size_t i = 0; i < count; i++) {
    *number = values[i];
    const double mine = criterion(p, *m, error) + (i > 0 ? DECISIVE : 0);
    if (mine < best) {
      best = mine;
      chosen = values[i];
    }
  }
  *number = chosen;
  return best;
}

static void choose_cards(struct ss_fit_problem *p, struct ss_measured_cluster *m, struct ss_error *error) {
  uint32_t values[32];
  size_t count = 0;
  for (uint32_t n = 1; n <= m->gpus_per_node && count < 32; n++)
    if (m->gpus_per_node % n == 0) values[count++] = n;
  (void)choose(p, m, &m->nics, values, count, error);
}

/* How much those that are not seen are off on a cluster, once it is fitted, with pieces, and played again: into score
 * [count], each at most 1. */
static bool hold_out(struct ss_fit_problem *p, struct ss_measured_cluster m, double *score, struct ss_error *error) {
  SS_AUTO_FREE double *weight = ss_alloc(p->count, sizeof *weight);
  const bool ok = weight || ss_fail_memory(error, "fitting times");
  if (!tried(p, ok && settle(p, &m, true, weight, error), error)) return false;
  p->cap = 1;
  if (!ss_fit_cross_validate(p, &m, score)) return false;
  for (size_t i = 0; i < p->count; i++) score[i] = fmin(score[i] + drift(p, &m, i, error), 1);
  return true;
}

/* Terms are of kinds that have costs: they are found anew where a kind gets or loses its own. */
static void forget(const struct ss_fit_problem *p) {
  for (size_t i = 0; i < p->count; i++) ss_fit_terms(p, i)->count = 0;
}

/* Whether runs of several nodes that are not seen are told better on `a` than on `b`, beyond noise. */
static bool tells_more(struct ss_fit_problem *p, const struct ss_measured_cluster *a,
                       const struct ss_measured_cluster *b, struct ss_error *error) {
  SS_AUTO_FREE double *mine = ss_alloc(p->count, sizeof *mine), *other = ss_alloc(p->count, sizeof *other);
  bool ok = mine && other;
  p->starved = p->starved || !ok;
  ok = ok && hold_out(p, *a, mine, error);
  forget(p);
  ok = ok && hold_out(p, *b, other, error);
  forget(p);
  size_t kept = 0;
  for (size_t i = 0; ok && i < p->count; i++) {
    if (p->list[p->at[i]].nodes < 2) continue;
    mine[kept] = mine[i];
    other[kept++] = other[i];
  }
  return ok && ss_fit_better(mine, other, kept, SS_FIT_ONE);
}

static void choose_window(struct ss_fit_problem *p, struct ss_measured_cluster *m, bool given,
                          struct ss_error *error) {
  static const uint32_t values[] = {1, 2, 4, UINT32_MAX};
  if (!given && tells_window(p)) (void)choose(p, m, &m->window, values, 4, error);
}

/* Exchanges have costs of their own only where these tell what was not seen better than those between nodes do, each
 * played with the window that suits it: a window, or a shared card, may be all that makes them slow. */
static void choose_exchange(struct ss_fit_problem *p, struct ss_measured_cluster *m, bool window_given,
                            struct ss_cluster_fit *out, struct ss_error *error) {
  struct ss_measured_cluster tied = *m;
  tied.pieces[SS_COST_EXCHANGE] = 0;
  forget(p);
  choose_window(p, &tied, window_given, error);
  out->exchange_tied = m->pieces[SS_COST_EXCHANGE] > 0;
  if (out->exchange_tied) {
    forget(p);
    choose_window(p, m, window_given, error);
    out->exchange_tied = !tells_more(p, m, &tied, error);
  }
  if (out->exchange_tied || m->pieces[SS_COST_EXCHANGE] == 0) *m = tied;
}

/* --- all of it ----------------------------------------------------------------------------------------------- */

static void use(struct ss_fit_problem *p, size_t at) {
  size_t *first = &p->first[p->count];
  p->at[p->count++] = at;
  p->inside = p->inside || p->list[at].nodes == 1;
  p->between = p->between || p->list[at].nodes > 1;
  p->mpi = p->mpi || ss_library_mpi(p->list[at].library);
  *first = 0;
  while (!ss_observation_same_call(&p->list[p->at[*first]], &p->list[at])) ++*first;
}

static bool open_problem(struct ss_fit_problem *p, const struct ss_observation *list, size_t count,
                         struct ss_known_terms *known) {
  *p = (struct ss_fit_problem){.list = list, .known = known, .cap = 1};
  struct ss_arena *arena = &p->arena;
  return ss_take(arena, p->at, count) && ss_take(arena, p->first, count) && ss_take(arena, p->seconds, count) &&
         ss_take(arena, p->taken, count) && ss_take(arena, p->order, (size_t)SS_FIT_ORDERS * SS_FIT_COSTS) &&
         ss_take(arena, p->per, count * SS_FIT_COSTS) && ss_take(arena, p->sizes, count * SS_COST_TERMS) &&
         ss_take(arena, p->score[0], count) && ss_take(arena, p->score[1], count);
}

static bool predict_all(const struct ss_fit_problem *p, struct ss_cluster_fit *out, struct ss_error *error) {
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_observation *o = &p->list[p->at[i]];
    if (p->first[i] < i) out->predicted[i] = out->predicted[p->first[i]];
    else if (!ss_observation_predict(&out->cluster, o, &out->predicted[i], error)) return false;
    p->score[0][i] = fabs(o->seconds / out->predicted[i] - 1);
  }
  return ss_residuals_of(p->score[0], out->weight, p->count, &out->residuals) ||
         ss_fail_memory(error, "fitting times");
}

/* The largest size of the kind in an observation; false: it has none. */
static bool largest_of(const struct ss_fit_problem *p, const struct ss_measured_cluster *m, size_t i,
                       enum ss_cost_kind kind, uint64_t *out) {
  const struct ss_known_terms *known = ss_fit_terms(p, i);
  bool has = false;
  *out = 0;
  for (uint32_t k = 0; k < known->count; k++) {
    if (!ss_fit_is_of(m, &known->term[k], kind)) continue;
    has = true;
    *out = known->term[k].size > *out ? known->term[k].size : *out;
  }
  return has;
}

/* Of the observations whose largest message of the kind, or whose vector, the piece covers. */
static bool judge_piece(struct ss_fit_problem *p, struct ss_cluster_fit *out, enum ss_cost_kind kind,
                        uint32_t piece) {
  const struct ss_measured_cluster *m = &out->cluster;
  struct ss_piece_quality *q = &out->quality[kind][piece];
  size_t count = 0;
  uint64_t most;
  *q = (struct ss_piece_quality){INFINITY, 0, {0}};
  for (size_t i = 0; i < p->count; i++) {
    if (!largest_of(p, m, i, kind, &most) || ss_cost_piece_of(m, kind, most) != &m->piece[kind][piece]) continue;
    q->low = fmin(q->low, (double)most);
    q->high = fmax(q->high, (double)most);
    p->score[0][count] = fabs(p->list[p->at[i]].seconds / out->predicted[i] - 1);
    p->score[1][count++] = out->weight[i];
  }
  return ss_residuals_of(p->score[0], p->score[1], count, &q->residuals);
}

static bool judge_pieces(struct ss_fit_problem *p, struct ss_cluster_fit *out, struct ss_error *error) {
  for (enum ss_cost_kind kind = 0; kind < SS_COST_KINDS; kind++)
    for (uint32_t k = 0; k < out->cluster.pieces[kind]; k++)
      if (!judge_piece(p, out, kind, k)) return ss_fail_memory(error, "fitting times");
  return true;
}

/* Of runs of several nodes, if there are any; else of those inside one. */
static bool enough(const struct ss_fit_problem *p, struct ss_error *error) {
  size_t times = 0, sizes = 0;
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_observation *o = &p->list[p->at[i]];
    size_t before = 0;
    if (p->between && o->nodes < 2) continue;
    while (p->list[p->at[before]].bytes != o->bytes || (p->between && p->list[p->at[before]].nodes < 2)) before++;
    sizes += before == i;
    times++;
  }
  return (times >= 4 && sizes >= 3) ||
         ss_fail(error, SS_BAD_INPUT,
                 "%zu times of %zu sizes%s are too few to fit (at least 4 of 3): latency and bandwidth are not "
                 "determined",
                 times, sizes, p->between && times < p->count ? " between nodes" : "");
}

static const struct ss_fitted_cost *largest_rate(const struct ss_measured_cluster *m, enum ss_cost_kind kind) {
  return m->pieces[kind] > 0 ? &m->piece[kind][m->pieces[kind] - 1].cost[1] : NULL;
}

/* The rate of what is largest must be known, between nodes where runs were of several (there it may be exchanges that
 * tell it), or the cluster is worth nothing. */
static bool grows(const struct ss_fit_problem *p, const struct ss_measured_cluster *m, struct ss_error *error) {
  uint64_t low = UINT64_MAX, high = 0;
  const struct ss_fitted_cost *beta = largest_rate(m, p->between ? SS_COST_INTER : SS_COST_INTRA);
  const struct ss_fitted_cost *exchange = p->between ? largest_rate(m, SS_COST_EXCHANGE) : NULL;
  assert(beta); /* what is fitted has a piece of some kind */
  if (beta->value > 0 && (beta->known || (exchange && exchange->known))) return true;
  for (size_t i = 0; i < p->count; i++) {
    const uint64_t bytes = p->list[p->at[i]].bytes;
    low = bytes < low ? bytes : low;
    high = bytes > high ? bytes : high;
  }
  if (!(beta->error > 0))
    return ss_fail(error, SS_BAD_INPUT, "times do not grow with sizes from %llu to %llu B: measure larger ones",
                   (unsigned long long)low, (unsigned long long)high);
  return ss_fail(error, SS_BAD_INPUT,
                 "with sizes from %llu to %llu B the time a byte takes is lost in noise (%.2g +- %.2g s): measure "
                 "larger ones",
                 (unsigned long long)low, (unsigned long long)high, beta->value, beta->error);
}

/* Sums are told from messages by collectives that do more or less of them. Of one alone, what an algorithm takes
 * longer than it is known to looks like sums: a fifth of doubling's time, against a ring's, is as much as they are.
 */
static bool tells_sums(const struct ss_fit_problem *p) {
  for (size_t i = 1; i < p->count; i++)
    if (p->list[p->at[i]].algorithm->collective != p->list[p->at[0]].algorithm->collective) return true;
  return false;
}

/* Sums are supposed, unless what is not seen is told better when they are fitted. */
static bool weigh_sums(struct ss_fit_problem *p, struct ss_measured_cluster *m, struct ss_cluster_fit *out,
                       struct ss_error *error) {
  struct ss_measured_cluster fitted = *m;
  SS_AUTO_FREE double *supposed = ss_alloc(p->count, sizeof *supposed),
                      *free_ones = ss_alloc(p->count, sizeof *free_ones);
  if (!supposed || !free_ones) return ss_fail_memory(error, "fitting times");
  p->suppose_sum = false;
  const bool ok = tells_sums(p) && tried(p, settle(p, &fitted, true, out->weight, error), error) &&
                  ss_fit_cross_validate(p, &fitted, free_ones) && grows(p, &fitted, NULL);
  p->suppose_sum = true;
  if (!settle(p, m, true, out->weight, error)) return false;
  out->sum_supposed =
      !(ok && ss_fit_cross_validate(p, m, supposed) && ss_fit_better(free_ones, supposed, p->count, SS_FIT_MANY));
  if (out->sum_supposed) return true;
  p->suppose_sum = false;
  *m = fitted;
  return settle(p, m, false, out->weight, error);
}

static bool solve(struct ss_fit_problem *p, const struct ss_cluster_fit_options *options, struct ss_cluster_fit *out,
                  struct ss_error *error) {
  struct ss_measured_cluster *m = &out->cluster;
  size_t changed;
  *m = begin(p, options);
  p->latency = options->latency;
  hold_latency(p, m);
  if (!play_all(p, m, &changed, error)) return false;
  drop_unseen(p, m);
  if (options->nics == 0 && tells_cards(p)) choose_cards(p, m, error);
  p->suppose_sum = m->pieces[SS_COST_MEMORY] > 0;
  choose_exchange(p, m, options->window > 0, out, error);
  if (m->pieces[SS_COST_MEMORY] > 0 ? !weigh_sums(p, m, out, error) : !settle(p, m, true, out->weight, error))
    return false;
  if (p->starved) return ss_fail_memory(error, "fitting times");
  return predict_all(p, out, error) && grows(p, m, error) && judge_pieces(p, out, error);
}

/* What priors say is where the search for costs begins. */
static void begin_at_priors(const struct ss_fit_problem *p, struct ss_measured_cluster *m, double card) {
  double latency = m->piece[SS_COST_INTER][0].cost[0].value;
  for (size_t i = 0; i < p->way_priors; i++)
    if (p->way_prior[i].kind == SS_COST_INTER) latency = p->way_prior[i].latency;
  for (size_t i = 0; i < p->way_priors; i++) {
    const struct ss_way_prior *prior = &p->way_prior[i];
    struct ss_fitted_cost *cost = m->piece[prior->kind][0].cost;
    if (m->pieces[prior->kind] == 0) continue;
    cost[0].value = prior->absolute ? prior->latency : prior->latency * latency;
    if (!prior->absolute) cost[1].value = prior->byte_time / card;
    if (prior->kind == SS_COST_INTER) cost[1].value = 1 / card;
  }
}

static bool chooses(const struct ss_fit_problem *p, const struct ss_library *library) {
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_observation *o = &p->list[p->at[i]];
    if (library->kind == SS_NCCL && o->open && !ss_library_mpi(o->library) && o->nodes > 1) return true;
  }
  return false;
}

/* The same observations once more, open calls as the library's tuner takes them. `out` has what rings alone make. */
static bool solve_ways(struct ss_fit_problem *p, const struct ss_cluster_fit_options *options,
                       struct ss_cluster_fit *out, struct ss_error *error) {
  struct ss_measured_cluster m = begin(p, options);
  const double card = 1 / largest_rate(&out->cluster, SS_COST_INTER)->value;
  m.nics = out->cluster.nics;
  if (m.pieces[SS_COST_EXCHANGE] == 0)
    begin_piece(&m, SS_COST_EXCHANGE, 5e-6,
                1.01 * m.gpus_per_node / m.nics * m.piece[SS_COST_INTER][0].cost[1].value);
  begin_ways(&m, &options->library, card);
  if (!ss_way_priors_read(card, p->way_prior, &p->way_priors, error)) return false;
  begin_at_priors(p, &m, card);
  forget(p);
  hold_latency(p, &m);
  choose_window(p, &m, options->window > 0, error);
  out->cluster = m;
  out->exchange_tied = false;
  /* pieces are sought where costs already fit: what is hidden follows from them */
  return settle(p, &out->cluster, false, out->weight, error) && settle(p, &out->cluster, true, out->weight, error) &&
         predict_all(p, out, error) && grows(p, &out->cluster, error) && judge_pieces(p, out, error);
}

bool ss_cluster_fit(const struct ss_fitted_part *of, struct ss_cluster_fit *out, struct ss_error *error) {
  struct ss_fit_problem p;
  struct ss_known_terms *own = of->known ? NULL : ss_alloc_zero(of->count, sizeof *own);
  *out = (struct ss_cluster_fit){0};
  bool ok = open_problem(&p, of->list, of->count, of->known ? of->known : own) && (of->known || own);
  for (size_t i = 0; ok && i < of->count; i++)
    if (!of->use || of->use[i]) use(&p, i);
  out->count = p.count;
  out->predicted = ss_alloc(p.count, sizeof *out->predicted);
  out->weight = ss_alloc(p.count, sizeof *out->weight);
  ok = (ok && out->predicted && out->weight) || ss_fail_memory(error, "fitting times");
  ok = ok && enough(&p, error) && solve(&p, of->options, out, error);
  if (ok && chooses(&p, &of->options->library)) ok = solve_ways(&p, of->options, out, error);
  ss_arena_free(&p.arena);
  ss_known_terms_free(own, of->count);
  return ok;
}

void ss_known_terms_free(struct ss_known_terms *known, size_t count) {
  for (size_t i = 0; known && i < count; i++) free(known[i].term);
  free(known);
}

void ss_cluster_fit_free(struct ss_cluster_fit *fit) {
  free(fit->predicted);
  free(fit->weight);
  *fit = (struct ss_cluster_fit){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
