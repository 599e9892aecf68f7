#include "train/durations.h"

#include "base/estimate.h"

/* What is sent by value, entry by entry: of larger tensors a part is simulated, entries of all ranks together about
 * so many. Of dense tensors, as many iterations as a synthetic gradient has. */
enum { SAMPLE_ENTRIES = 1 << 19, SAMPLE_LEAST = 1 << 14, SAMPLE_OF_TABLES = 1 << 18, ITERATIONS_OF_VALUES = 4 };

/* What decides what is sent, but for the rows themselves. */
static cJSON *carried_json(const struct ss_carried *c) {
  const struct ss_module *table = c->lookups ? c->lookups->module : NULL;
  cJSON *o = cJSON_CreateObject(), *select = cJSON_AddObjectToObject(o, "select");
  ss_json_add(o, SS_T("scheme", c->setting.scheme->name), SS_J("options", ss_setting_json(&c->setting)),
              SS_N("ranks", c->ranks), SS_N("bytes", (double)c->bytes), SS_N("share", c->share),
              SS_N("dtype", c->dtype), SS_N("call", c->setting.call), SS_B("staged", c->staged));
  ss_json_add(select, SS_B("selects", c->select.selects), SS_B("residual", c->select.residual),
              SS_N("density", c->select.density), SS_N("k", (double)c->select.k), SS_N("block", c->select.block),
              SS_N("momentum", c->select.momentum), SS_N("sample", c->select.sample));
  ss_json_add(o, SS_N("rows", table ? (double)table->rows : 0), SS_N("row_width", table ? table->row_width : 0),
              SS_N("iterations", table ? (double)c->lookups->iterations : 0));
  return o;
}

/* Do both find the same links on one cluster? */
static bool same_links(const struct ss_carried *a, const struct ss_carried *b) {
  return a->goodput == b->goodput && a->host == b->host;
}

/* Entries of a dense tensor that are simulated, of each rank. */
static uint64_t sampled_entries(const struct ss_carried *c) {
  const uint64_t n = c->bytes / ss_dtype_bytes(c->dtype), most = SAMPLE_ENTRIES / c->ranks;
  const uint64_t wanted = most < SAMPLE_LEAST ? SAMPLE_LEAST : most;
  return n < wanted ? n : wanted;
}

/* The synthetic gradients of all ranks, where a dense tensor is sent sparse. */
static bool fits(const struct ss_carried *c, struct ss_error *error) {
  if (c->lookups || ss_setting_sends_dense(&c->setting)) return true;
  const uint64_t values = ss_estimate_mul(ITERATIONS_OF_VALUES * sampled_entries(c), sizeof(int64_t));
  return ss_estimate_fits(ss_estimate_mul(c->ranks, values), "fewer ranks take less", error, "%s on %u ranks",
                          c->setting.label, c->ranks);
}

bool ss_durations_want(struct ss_durations *d, const struct ss_carried *carried, uint32_t *out,
                       struct ss_error *error) {
  cJSON *tree = carried_json(carried);
  const struct ss_identity says = ss_identity_of(tree);
  cJSON_Delete(tree);
  if (!tree) return ss_fail_memory(error, "listing simulations");
  for (*out = 0; *out < d->count; ++*out)
    if (d->duration[*out].carried.lookups == carried->lookups && same_links(&d->duration[*out].carried, carried) &&
        ss_identity_same(d->duration[*out].says, says))
      return true;
  if (!fits(carried, error)) return false;
  if (!ss_grow(d->duration, d->capacity, (size_t)d->count + 1)) return ss_fail_memory(error, "listing simulations");
  d->duration[d->count++] = (struct ss_duration){.carried = *carried, .says = says, .sampled = 1};
  return true;
}

struct ss_identity ss_durations_identity(const struct ss_durations *d) {
  struct ss_identity all = {.low = d->count};
  for (uint32_t i = 0; i < d->count; i++) all = ss_identity_join(all, d->duration[i].says);
  return all;
}

static void free_numbers(struct ss_duration *d) {
  free(d->seconds);
  free(d->sent);
  d->seconds = d->sent = NULL;
}

void ss_durations_free(struct ss_durations *d) {
  for (uint32_t i = 0; i < d->count; i++) free_numbers(&d->duration[i]);
  free(d->duration);
  *d = (struct ss_durations){0};
}

/* --- one simulation ------------------------------------------------------------------------------------- */

enum { NETWORKS_MAX = 32 };

/* Durations that send the same, each on a network of its own and with kernels of its own speed: they are simulated in
 * one go. */
struct group {
  const struct ss_durations *of[NETWORKS_MAX]; /* whose they are: cluster, device, verify */
  struct ss_duration *duration[NETWORKS_MAX];
  double pace[NETWORKS_MAX]; /* how many times as long as those of the first its kernels take */
  uint32_t count;
};

/* The synthetic gradient that was used last: large tensors all have the same. */
struct gradients {
  struct ss_arena arena;
  uint64_t elements;
  uint32_t ranks;                        /* 0: none yet */
  int64_t **value[ITERATIONS_OF_VALUES]; /* [ranks][elements] */
};

/* What one thread keeps. */
struct worker {
  struct gradients gradients;
  struct ss_arena arena;
  struct ss_state memory;
  struct ss_coalesce_scratch scratch;
  struct ss_selector selector;
  struct ss_rounds_of_duration *rounds; /* to be recorded, in place of times; NULL: times are asked */
};

/* How a group is simulated: with this setting, on one in `sampled` of its entries. */
struct sample {
  struct ss_setting setting;
  double sampled;
  bool verify;
};

static size_t times_of(const struct ss_duration *d) {
  return (1 + (size_t)d->draws) * d->period;
}

static bool reserve(struct ss_duration *d, uint64_t period, uint32_t draws, struct ss_error *error) {
  free_numbers(d);
  d->period = (uint32_t)period;
  d->draws = draws;
  d->own = d->besides = d->server = 0;
  d->seconds = ss_alloc_zero(times_of(d), sizeof *d->seconds);
  d->sent = ss_alloc_zero(period, sizeof *d->sent);
  return d->seconds && d->sent ? true : ss_fail_memory(error, "simulating tasks");
}

static bool reserve_all(const struct group *g, const struct sample *sample, uint64_t period, struct ss_error *error) {
  for (uint32_t i = 0; i < g->count; i++) {
    g->duration[i]->sampled = sample->sampled;
    if (!reserve(g->duration[i], period, g->of[i]->cluster.jitter.draws, error)) return false;
  }
  return true;
}

/* n/s entries at 1/s of the bandwidth take as long as n entries, up to the rounding of shares. */
static struct ss_cluster slowed(struct ss_cluster cluster, double sampled) {
  ss_cluster_scale(&cluster, &(struct ss_cluster_factors){.latency = 1, .byte_time = sampled, .intra_bandwidth = 1});
  return cluster;
}

/* The links as that is carried on them. */
static void carry(const struct ss_carried *c, struct ss_cluster *cluster) {
  cluster->staged = c->staged;
  if (c->host > 0) cluster->host.bandwidth = c->host;
  if (c->goodput <= 0 || c->goodput == 1) return;
  const double host = cluster->host.bandwidth;
  ss_cluster_scale(cluster,
                   &(struct ss_cluster_factors){.latency = 1, .byte_time = 1 / c->goodput, .intra_bandwidth = 1});
  cluster->host.bandwidth = host;
}

/* All networks that a group is simulated on: of each member the even links, then those of its draws, then, in the
 * first iteration, those of which one component costs more. */
struct networks {
  uint32_t count;
  struct ss_cluster *cluster;
  const struct ss_cluster **list;
  struct ss_variants *varied; /* [members] */
  double *pace;
  struct ss_tally *tally;
};

/* What differs about tasks that draw for each message, beside the iteration. */
static uint64_t draws_for(const struct ss_carried *c, uint32_t t) {
  return ss_mix(ss_mix(c->lookups ? c->lookups->module->rows : c->bytes, c->share), t);
}

/* Of the member, in that iteration. */
static struct ss_uncertainty uncertainty_of(const struct group *g, uint32_t member, uint32_t t) {
  const struct ss_durations *of = g->of[member];
  if (t > 0 || of->certain) return ss_certain;
  return ss_uncertainty_of_training(&of->cluster, &of->device, g->duration[member]->carried.ranks);
}

/* Adds the networks of which one component each costs more; returns how many there are now. */
static uint32_t vary(const struct group *g, uint32_t member, uint32_t t, const struct ss_cluster *even,
                     struct networks *out, uint32_t n) {
  const struct ss_uncertainty uncertainty = uncertainty_of(g, member, t);
  struct ss_variants *varied = &out->varied[member];
  ss_variants_make(varied, even, &uncertainty);
  for (uint32_t v = 0; v < varied->count; v++, n++) {
    out->list[n] = &varied->cluster[v];
    out->pace[n] = g->pace[member] * varied->pace[v];
  }
  return n;
}

static bool open_networks(const struct group *g, double sampled, uint32_t t, struct ss_arena *arena,
                          struct networks *out) {
  uint32_t n = 0;
  out->count = g->count;
  for (uint32_t i = 0; i < g->count; i++) {
    const struct ss_uncertainty uncertainty = uncertainty_of(g, i, t);
    out->count += g->of[i]->cluster.jitter.draws + ss_variants_count(&uncertainty);
  }
  if (!ss_take(arena, out->varied, g->count) || !ss_take(arena, out->cluster, out->count) ||
      !ss_take(arena, out->list, out->count) || !ss_take(arena, out->pace, out->count) ||
      !ss_take(arena, out->tally, out->count))
    return false;
  for (uint32_t i = 0; i < g->count; i++) {
    struct ss_cluster even = g->of[i]->cluster;
    carry(&g->duration[i]->carried, &even);
    even = slowed(even, sampled);
    for (uint32_t draw = 0; draw <= even.jitter.draws; draw++, n++) {
      out->cluster[n] = even;
      out->cluster[n].jitter.draw = draw;
      out->cluster[n].jitter.moment = draws_for(&g->duration[i]->carried, t);
      out->list[n] = &out->cluster[n];
      out->pace[n] = g->pace[i];
    }
    n = vary(g, i, t, &even, out, n);
  }
  return true;
}

static bool is_host(const struct ss_link_use *link, const struct ss_cluster *cluster) {
  if (link->kind == SS_HOST_OUT || link->kind == SS_HOST_IN) return true;
  return cluster->staged && !link->server && (link->kind == SS_EGRESS || link->kind == SS_INGRESS) &&
         link->bytes / cluster->host.bandwidth >= (1 - 1e-6) * link->busy;
}

static void tell_link(struct ss_duration *d, const struct ss_cluster *cluster, const struct ss_tally *tally) {
  d->link_share = tally->time > 0 ? tally->bound / tally->time : 0;
  d->link_startup = tally->time > 0 ? tally->bound_link.startup / tally->time : 0;
  d->host = tally->bound > 0 && is_host(&tally->bound_link, cluster);
  if (tally->bound > 0) ss_link_use_name(&tally->bound_link, ss_cluster_nics(cluster), d->link, sizeof d->link);
}

/* Reads what the networks of a member gave, from the n-th on; returns the next member's first. */
static uint32_t read_times(const struct networks *all, struct ss_duration *d, uint32_t member, uint32_t t,
                           uint32_t n) {
  const double even = all->tally[n].time;
  const uint32_t first = n;
  const struct ss_variants *varied = &all->varied[member];
  double on[SS_COMPONENTS];
  for (uint32_t draw = 0; draw <= d->draws; draw++, n++)
    d->seconds[draw * (size_t)d->period + t] = all->tally[n].time;
  for (uint32_t v = 0; v < varied->count; v++, n++) on[v] = all->tally[n].time;
  if (t > 0) return n;
  tell_link(d, &all->cluster[first], &all->tally[first]);
  d->share = ss_variants_split(varied, even, on);
  for (int i = 0; i < SS_COMPONENTS; i++) d->share.s[i] = even > 0 ? d->share.s[i] / even : 0;
  return n;
}

static bool record(struct worker *w, const struct group *g, const struct sample *sample, const struct ss_input *input,
                   uint32_t t, struct ss_error *error) {
  struct ss_rounds_of_duration *rounds = w->rounds;
  struct ss_device device = g->of[0]->device;
  struct ss_outcome outcome = {0};
  if (!rounds->iteration) rounds->iteration = ss_alloc_zero(g->duration[0]->period, sizeof *rounds->iteration);
  if (!rounds->iteration) return ss_fail_memory(error, "keeping rounds");
  rounds->period = g->duration[0]->period;
  rounds->sampled = sample->sampled;
  rounds->shape = (struct ss_input){
      .ranks = input->ranks, .rows = input->rows, .width = input->width, .value_bytes = input->value_bytes};
  ss_recording_open(&rounds->iteration[t]);
  ss_device_represent(&device, sample->sampled);
  const struct ss_world world = {
      .cluster = &g->of[0]->cluster, .device = &device, .state = &w->memory, .player = &rounds->iteration[t].player};
  return ss_simulate(&sample->setting, &world, input, &w->arena, &outcome, error) ||
         ss_fail_prefix(error, "%s, %u ranks, iteration %u", sample->setting.label, input->ranks, t);
}

static bool simulate(struct worker *w, const struct group *g, const struct sample *sample,
                     const struct ss_input *input, uint32_t t, struct ss_error *error) {
  const char *label = sample->setting.label;
  struct ss_device device = g->of[0]->device;
  struct networks all;
  uint32_t n = 0;
  if (w->rounds) return record(w, g, sample, input, t, error);
  ss_device_represent(&device, sample->sampled);
  if (!open_networks(g, sample->sampled, t, &w->arena, &all)) return ss_fail_memory(error, "simulating tasks");
  struct ss_outcome outcome = {.tallies = all.tally};
  const struct ss_world world = {.cluster = all.cluster,
                                 .clusters = all.list,
                                 .cluster_count = all.count,
                                 .paces = all.pace,
                                 .device = &device,
                                 .verify = sample->verify,
                                 .state = &w->memory};
  if (!ss_simulate(&sample->setting, &world, input, &w->arena, &outcome, error))
    return ss_fail_prefix(error, "%s, %u ranks, iteration %u", label, input->ranks, t);
  if (outcome.proven && !outcome.sound)
    return ss_fail(error, SS_UNPROVEN, "%s, %u ranks, iteration %u: not what it should be: %s", label, input->ranks,
                   t, outcome.mismatch);
  for (uint32_t i = 0; i < g->count; i++) {
    struct ss_duration *d = g->duration[i];
    d->sent[t] = (double)all.tally[n].bytes * sample->sampled;
    d->own = fmax(d->own, (double)outcome.own * sample->sampled);
    d->besides = fmax(d->besides, (double)outcome.besides * sample->sampled);
    d->server = fmax(d->server, (double)outcome.server_peak * sample->sampled);
    n = read_times(&all, d, i, t, n);
  }
  return true;
}

/* The bytes that travel do not depend on what is in them: no rows are listed, and nothing can be proven. */
static bool whole(struct worker *w, const struct group *g, struct ss_error *error) {
  const struct ss_carried *c = &g->duration[0]->carried;
  const struct sample sample = {.setting = c->setting, .sampled = 1};
  struct ss_input input = {.ranks = c->ranks, .width = 1, .row_width = 1, .value_bytes = ss_dtype_bytes(c->dtype)};
  input.rows = input.elements = c->bytes / input.value_bytes;
  uint64_t *none = ss_arena_zero(&w->arena, c->ranks, sizeof *none);
  const uint32_t **list = ss_arena_alloc(&w->arena, c->ranks, sizeof *list);
  if (!none || !list) return ss_fail_memory(error, "simulating tasks");
  for (uint32_t r = 0; r < c->ranks; r++) list[r] = (const uint32_t *)none;
  input.count = input.lookups = none;
  input.row = input.lookup = list;
  return reserve_all(g, &sample, 1, error) && simulate(w, g, &sample, &input, 0, error);
}

/* A number of entries to select, out of the n that are simulated; 0: a share of them. */
static uint64_t scaled(uint64_t k, double sampled, uint64_t n) {
  return k == 0 ? 0 : (uint64_t)fmin((double)n, fmax(1, floor((double)k / sampled + 0.5)));
}

static void scale_k(struct sample *sample, struct ss_selection *select, uint64_t n) {
  uint64_t *k = &sample->setting.value[SS_K];
  if (sample->setting.scheme->content == SS_SENDS_LARGEST) *k = scaled(*k, sample->sampled, n);
  select->k = scaled(select->k, sample->sampled, n);
}

/* How many columns of a table to simulate: rows of all ranks, but no more entries than so many. */
static uint32_t columns_of(const struct ss_lookups *l, uint32_t ranks) {
  const uint64_t rows = ss_lookups_most(l, ranks), width = l->module->row_width;
  const uint64_t most = rows ? SAMPLE_OF_TABLES / rows : width;
  if (most == 0) return 1;
  return (uint32_t)(most < width ? most : width);
}

static bool rows(struct worker *w, const struct group *g, struct ss_error *error) {
  const struct ss_carried *c = &g->duration[0]->carried;
  struct sample sample = {.setting = c->setting, .verify = g->of[0]->verify};
  struct ss_selection none = {0};
  struct ss_lookups_options options = {.input = ss_setting_input_options(&c->setting, c->ranks, true, true),
                                       .share = c->share,
                                       .columns = c->lookups->module->row_width};
  const bool made_up = options.input.values && !c->lookups->valued;
  if (made_up) options.columns = columns_of(c->lookups, c->ranks);
  sample.sampled = (double)c->lookups->module->row_width / options.columns;
  scale_k(&sample, &none, c->lookups->module->rows * options.columns);
  uint64_t period = c->lookups->iterations;
  if (made_up && !ss_scheme_estimates(c->setting.scheme) && period > ITERATIONS_OF_VALUES)
    period = ITERATIONS_OF_VALUES;
  if (!reserve_all(g, &sample, period, error)) return false;
  for (uint32_t t = 0; t < period; t++) {
    struct ss_input input;
    options.input.iteration = t;
    ss_arena_reset(&w->arena);
    if (!ss_lookups_input(c->lookups, &options, &w->arena, &input, error) ||
        !simulate(w, g, &sample, &input, t, error))
      return false;
  }
  return true;
}

/* The values of all iterations, which are the worker's. */
static bool make_gradients(struct gradients *g, const struct ss_gradient *gradient, uint32_t ranks) {
  if (g->ranks == ranks && g->elements == gradient->elements) return true;
  ss_arena_reset(&g->arena);
  g->ranks = 0;
  for (uint32_t t = 0; t < ITERATIONS_OF_VALUES; t++) {
    if (!ss_take(&g->arena, g->value[t], ranks)) return false;
    for (uint32_t r = 0; r < ranks; r++)
      if (!ss_take(&g->arena, g->value[t][r], gradient->elements)) return false;
    ss_gradient_make(gradient, t, ranks, g->value[t]);
  }
  g->ranks = ranks;
  g->elements = gradient->elements;
  return true;
}

/* A dense tensor that is sent sparse: entries of a synthetic gradient. */
static bool entries(struct worker *w, const struct group *g, struct ss_error *error) {
  const struct ss_carried *c = &g->duration[0]->carried;
  const uint32_t element = ss_dtype_bytes(c->dtype);
  const uint64_t all = c->bytes / element, n = sampled_entries(c);
  struct ss_gradient gradient;
  struct sample sample = {.setting = c->setting, .sampled = 1, .verify = g->of[0]->verify};
  ss_gradient_defaults(&gradient);
  if (all > n) sample.sampled = (double)all / (double)n;
  gradient.elements = n;
  if (gradient.layers > n) gradient.layers = (uint32_t)n;
  w->selector.selection = c->select;
  scale_k(&sample, &w->selector.selection, n);
  const struct ss_origin origin = {.gradient = &gradient, .merge = 1};
  struct ss_input_options options = {.ranks = c->ranks, .lists = true, .element = true, .before = true};
  if (!reserve_all(g, &sample, ITERATIONS_OF_VALUES, error)) return false;
  if (!make_gradients(&w->gradients, &gradient, c->ranks)) return ss_fail_memory(error, "simulating tasks");
  for (uint32_t t = 0; t < ITERATIONS_OF_VALUES; t++) {
    struct ss_input input;
    options.iteration = t;
    ss_arena_reset(&w->arena);
    if (!ss_input_make(&origin, &options, &w->arena, &w->scratch, &input, error)) return false;
    input.value = (const int64_t *const *)w->gradients.value[t];
    input.value_bytes = element;
    if (!ss_iteration_select(&c->setting, &w->selector, &input, &w->arena, error) ||
        !simulate(w, g, &sample, &input, t, error))
      return false;
  }
  return true;
}

static bool answer(struct worker *w, const struct group *g, struct ss_error *error) {
  const struct ss_carried *carried = &g->duration[0]->carried;
  ss_state_free(&w->memory);
  ss_selector_free(&w->selector);
  ss_arena_reset(&w->arena);
  if (carried->lookups) return rows(w, g, error);
  return ss_setting_sends_dense(&carried->setting) ? whole(w, g, error) : entries(w, g, error);
}

/* --- several networks at once --------------------------------------------------------------------------- */

/* Does every kernel of `b` take the same number of times as long as on `a`? To the last bit, so that a duration does
 * not depend on what it is simulated with. */
static bool same_kernels(const struct ss_device *a, const struct ss_device *b, double *pace) {
  const double start = a->line[0].piece[0].t0;
  int exponent;
  *pace = start > 0 ? b->line[0].piece[0].t0 / start : 1;
  if (a->counted != b->counted || frexp(*pace, &exponent) != 0.5) return false;
  bool same = a->moves == b->moves && b->page == a->page * *pace && b->page_from == a->page_from;
  for (int k = 0; k < SS_KERNELS; k++) {
    same = same && a->line[k].pieces == b->line[k].pieces;
    for (uint32_t i = 0; same && i < a->line[k].pieces; i++) {
      const struct ss_kernel_piece *x = &a->line[k].piece[i], *y = &b->line[k].piece[i];
      same = y->t0 == x->t0 * *pace && y->per_element == x->per_element * *pace &&
             y->per_byte == x->per_byte * *pace && y->up_to == x->up_to;
    }
  }
  return same;
}

/* Would both send the same? */
static bool joins(const struct group *g, const struct ss_durations *of, const struct ss_duration *d, double *pace) {
  const struct ss_layout a = ss_layout_of(&g->of[0]->cluster, 1), b = ss_layout_of(&of->cluster, 1);
  return g->of[0]->verify == of->verify && g->of[0]->certain == of->certain && a.per_node == b.per_node &&
         a.cards == b.cards && a.mpi == b.mpi && ss_identity_same(g->duration[0]->says, d->says) &&
         same_kernels(&g->of[0]->device, &of->device, pace) &&
         ss_lookups_same(g->duration[0]->carried.lookups, d->carried.lookups);
}

/* A duration that another has already, on the same network. */
struct copied {
  const struct ss_duration *from;
  struct ss_duration *to;
};

struct plan {
  const struct ss_watcher *watcher;
  struct group *group;
  struct copied *copied;
  size_t groups, copies;
};

static bool as_uncertain(const struct ss_cluster *a, const struct ss_cluster *b) {
  return a->source.latency == b->source.latency && a->source.bandwidth == b->source.bandwidth &&
         a->source.intra == b->source.intra && a->source.exchange == b->source.exchange &&
         ss_accuracy_same(&a->accuracy, &b->accuracy);
}

static void assign(struct plan *plan, const struct ss_durations *of, struct ss_duration *d) {
  for (size_t i = 0; i < plan->groups; i++) {
    struct group *g = &plan->group[i];
    double pace;
    if (!joins(g, of, d, &pace)) continue;
    for (uint32_t k = 0; k < g->count; k++)
      if (g->pace[k] == pace && same_links(&g->duration[k]->carried, &d->carried) &&
          ss_cluster_same(&g->of[k]->cluster, &of->cluster) &&
          (of->certain || as_uncertain(&g->of[k]->cluster, &of->cluster))) {
        plan->copied[plan->copies++] = (struct copied){g->duration[k], d};
        return;
      }
    if (g->count == NETWORKS_MAX) continue;
    g->of[g->count] = of;
    g->pace[g->count] = pace;
    g->duration[g->count++] = d;
    return;
  }
  plan->group[plan->groups++] = (struct group){.of = {of}, .duration = {d}, .pace = {1}, .count = 1};
}

static void free_plan(struct plan *plan) {
  free(plan->group);
  free(plan->copied);
}

static bool make_plan(struct ss_durations *const *all, size_t count, struct plan *plan, struct ss_error *error) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) n += all[i]->count;
  plan->group = ss_alloc(n, sizeof *plan->group);
  plan->copied = ss_alloc(n, sizeof *plan->copied);
  if (!plan->group || !plan->copied) return ss_fail_memory(error, "listing simulations");
  for (size_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < all[i]->count; k++) assign(plan, all[i], &all[i]->duration[k]);
  return true;
}

/* Elsewhere than in the process that gathers all there is nothing to copy. */
static bool copy_all(const struct plan *plan, struct ss_error *error) {
  for (size_t i = 0; i < plan->copies; i++) {
    const struct ss_duration *from = plan->copied[i].from;
    struct ss_duration *to = plan->copied[i].to;
    if (!from->seconds) continue;
    if (!reserve(to, from->period, from->draws, error)) return false;
    to->sampled = from->sampled;
    to->share = from->share;
    to->link_share = from->link_share;
    to->link_startup = from->link_startup;
    to->host = from->host;
    memcpy(to->link, from->link, sizeof to->link);
    to->own = from->own;
    to->besides = from->besides;
    to->server = from->server;
    memcpy(to->seconds, from->seconds, times_of(from) * sizeof *to->seconds);
    memcpy(to->sent, from->sent, from->period * sizeof *to->sent);
  }
  return true;
}

/* --- groups as items of work --------------------------------------------------------------------------- */

static void *open_worker(void *context, unsigned threads) {
  (void)context;
  (void)threads;
  return ss_alloc_zero(1, sizeof(struct worker));
}

static void close_worker(void *worker) {
  struct worker *w = worker;
  ss_arena_free(&w->arena);
  ss_arena_free(&w->gradients.arena);
  ss_state_free(&w->memory);
  ss_coalesce_free(&w->scratch);
  ss_selector_free(&w->selector);
  free(w);
}

static bool compute(void *context, void *worker, size_t item, struct ss_error *error) {
  const struct plan *plan = context;
  return answer(worker, &plan->group[item], error);
}

static bool finished(void *context, size_t item, struct ss_error *error) {
  const struct plan *plan = context;
  (void)item;
  (void)error;
  ss_watcher_advance(plan->watcher, 1, 1, (double)plan->groups);
  return true;
}

static cJSON *write_group(void *context, size_t item) {
  const struct group *g = &((const struct plan *)context)->group[item];
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < g->count; i++) {
    struct ss_duration *d = g->duration[i];
    cJSON *o = ss_json_object(SS_N("sampled", d->sampled), SS_T("link", d->link), SS_N("link_share", d->link_share),
                              SS_N("link_startup", d->link_startup), SS_B("host", d->host), SS_N("own", d->own),
                              SS_N("besides", d->besides), SS_N("server", d->server),
                              SS_J("share", cJSON_CreateDoubleArray(d->share.s, SS_COMPONENTS)),
                              SS_J("sent", cJSON_CreateDoubleArray(d->sent, (int)d->period)),
                              SS_J("seconds", cJSON_CreateDoubleArray(d->seconds, (int)times_of(d))));
    cJSON_AddItemToArray(list, o);
    free_numbers(d);
  }
  return list;
}

static bool read_link(struct ss_node node, struct ss_duration *d, struct ss_error *error) {
  const char *text;
  struct ss_node host, share, startup;
  if (!ss_node_text(ss_node_get(node, "link"), &text, error) || !ss_node_need(node, "host", &host, error) ||
      !ss_node_flag(host, &d->host, error) || !ss_node_need(node, "link_share", &share, error) ||
      !ss_node_nonnegative(share, SS_NUMBER, &d->link_share, error) ||
      !ss_node_need(node, "link_startup", &startup, error) ||
      !ss_node_nonnegative(startup, SS_NUMBER, &d->link_startup, error))
    return false;
  snprintf(d->link, sizeof d->link, "%s", text);
  return true;
}

static bool read_duration(struct ss_node node, uint32_t draws, struct ss_duration *d, struct ss_error *error) {
  struct ss_node sampled, own, besides, server, share, sent, seconds, link;
  return ss_node_need(node, "sampled", &sampled, error) && ss_node_need(node, "share", &share, error) &&
         ss_node_numbers(share, SS_COMPONENTS, d->share.s, error) && ss_node_need(node, "sent", &sent, error) &&
         ss_node_need(node, "link", &link, error) && read_link(node, d, error) &&
         ss_node_need(node, "seconds", &seconds, error) && ss_node_positive(sampled, SS_NUMBER, &d->sampled, error) &&
         ss_node_need(node, "own", &own, error) && ss_node_need(node, "besides", &besides, error) &&
         ss_node_need(node, "server", &server, error) && reserve(d, ss_node_size(sent), draws, error) &&
         ss_node_nonnegative(own, SS_BYTES, &d->own, error) &&
         ss_node_nonnegative(besides, SS_BYTES, &d->besides, error) &&
         ss_node_nonnegative(server, SS_BYTES, &d->server, error) &&
         ss_node_numbers(sent, d->period, d->sent, error) && ss_node_numbers(seconds, times_of(d), d->seconds, error);
}

static bool read_group(void *context, size_t item, struct ss_node list, struct ss_error *error) {
  const struct group *g = &((const struct plan *)context)->group[item];
  struct ss_node n = ss_node_first(list);
  if (ss_node_size(list) != g->count) return ss_node_fail(list, error, "expected a list of %u durations", g->count);
  for (uint32_t i = 0; i < g->count; i++, n = ss_node_next(n))
    if (!read_duration(n, g->of[i]->cluster.jitter.draws, g->duration[i], error)) return false;
  return true;
}

/* Points need many simulations each, and share them: none is finished before all are. */
static void missing(void *context, const bool *done, struct ss_error *error) {
  const struct plan *plan = context;
  size_t count = 0;
  for (size_t i = 0; i < plan->groups; i++) count += !done[i];
  (void)ss_fail(error, error->status, "%s; %zu of %zu simulations are missing, and with them all points", error->text,
                count, plan->groups);
}

/* --- rounds ------------------------------------------------------------------------------------------------ */

bool ss_durations_record(const struct ss_durations *durations, uint32_t duration, struct ss_rounds_of_duration *out,
                         struct ss_error *error) {
  struct ss_durations of = *durations;
  struct ss_duration copy = durations->duration[duration];
  struct worker *w = open_worker(NULL, 1);
  copy.seconds = copy.sent = NULL;
  of.verify = false;
  *out = (struct ss_rounds_of_duration){.sampled = 1};
  if (!w) return ss_fail_memory(error, "keeping rounds");
  const struct group alone = {.of = {&of}, .duration = {&copy}, .pace = {1}, .count = 1};
  w->rounds = out;
  const bool ok = answer(w, &alone, error);
  free_numbers(&copy);
  close_worker(w);
  return ok;
}

void ss_rounds_of_duration_free(struct ss_rounds_of_duration *rounds) {
  for (uint32_t t = 0; t < rounds->period; t++) ss_recording_free(&rounds->iteration[t]);
  free(rounds->iteration);
  *rounds = (struct ss_rounds_of_duration){0};
}

struct ss_cluster ss_duration_cluster(const struct ss_duration *duration, const struct ss_input *shape,
                                      const struct ss_cluster *cluster, uint32_t iteration, double *start) {
  struct ss_cluster c = *cluster;
  carry(&duration->carried, &c);
  c.jitter.moment = draws_for(&duration->carried, iteration);
  return ss_setting_cluster(&duration->carried.setting, &c, shape, start);
}

bool ss_durations_make(struct ss_durations *const *all, size_t count, const struct ss_durations_options *options,
                       struct ss_error *error) {
  SS_AUTO(free_plan) struct plan plan = {.watcher = options->watcher};
  if (!make_plan(all, count, &plan, error)) return false;
  const struct ss_work work = {.context = &plan,
                               .count = plan.groups,
                               .jobs = options->jobs,
                               .watcher = options->watcher,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .compute = compute,
                               .finished = finished,
                               .write = write_group,
                               .read = read_group,
                               .missing = missing,
                               .what = "simulations"};
  return (options->run ? options->run(options->context, &work, error) : ss_work_run(&work, error)) &&
         copy_all(&plan, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
