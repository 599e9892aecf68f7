#include "train/durations.h"

#include "schemes/iteration.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* What is sent by value, entry by entry: of larger tensors a part is simulated, entries of all ranks together about
 * so many. Of dense tensors, as many iterations as a synthetic gradient has. */
enum { SAMPLE_ENTRIES = 1 << 19, SAMPLE_LEAST = 1 << 14, SAMPLE_OF_TABLES = 1 << 18, ITERATIONS_OF_VALUES = 4 };

static bool same_selection(const struct ss_selection *a, const struct ss_selection *b) {
  return a->selects == b->selects && a->residual == b->residual && a->density == b->density && a->k == b->k &&
         a->block == b->block;
}

static bool same(const struct ss_carried *a, const struct ss_carried *b) {
  return a->ranks == b->ranks && a->lookups == b->lookups && a->bytes == b->bytes && a->share == b->share &&
         a->dtype == b->dtype && ss_setting_same(&a->setting, &b->setting) && same_selection(&a->select, &b->select);
}

bool ss_durations_want(struct ss_durations *d, const struct ss_carried *carried, uint32_t *out,
                       struct ss_error *error) {
  for (*out = 0; *out < d->count; ++*out)
    if (same(&d->duration[*out].carried, carried)) return true;
  if (d->count == d->capacity) {
    struct ss_duration *grown = ss_realloc(d->duration, 2 * (size_t)d->capacity + 64, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "listing simulations");
    d->duration = grown;
    d->capacity = 2 * d->capacity + 64;
  }
  d->duration[d->count++] = (struct ss_duration){.carried = *carried, .sampled = 1};
  return true;
}

void ss_durations_free(struct ss_durations *d) {
  for (uint32_t i = 0; i < d->count; i++) {
    free(d->duration[i].seconds);
    free(d->duration[i].sent);
  }
  free(d->duration);
  *d = (struct ss_durations){0};
}

/* --- one simulation ------------------------------------------------------------------------------------- */

/* What one thread keeps. */
struct ss_durations_worker {
  const struct ss_durations *all;
  struct ss_arena arena;
  struct ss_state memory;
  struct ss_coalesce_scratch scratch;
  struct ss_selector selector;
};

static bool reserve(struct ss_duration *d, uint64_t period, struct ss_error *error) {
  free(d->seconds);
  free(d->sent);
  d->period = (uint32_t)period;
  d->seconds = ss_alloc_zero(period, sizeof *d->seconds);
  d->sent = ss_alloc_zero(period, sizeof *d->sent);
  return d->seconds && d->sent ? true : ss_fail_memory(error, "simulating tasks");
}

/* Where iterations of a task are simulated, and by what. */
struct place {
  const struct ss_setting *setting;
  struct ss_world world;
};

static bool simulate(struct ss_durations_worker *w, struct ss_duration *d, const struct place *place,
                     const struct ss_input *input, uint32_t t, struct ss_error *error) {
  const struct ss_setting *setting = place->setting;
  struct ss_outcome outcome = {0};
  if (!ss_simulate(setting, &place->world, input, &w->arena, &outcome, error))
    return ss_fail_prefix(error, "%s, %u ranks, iteration %u", setting->label, d->carried.ranks, t);
  if (outcome.proven && !outcome.sound)
    return ss_fail(error, SS_UNPROVEN, "%s, %u ranks, iteration %u: not what it should be: %s", setting->label,
                   d->carried.ranks, t, outcome.mismatch);
  d->seconds[t] = outcome.tally.time;
  d->sent[t] = (double)outcome.tally.bytes * d->sampled;
  return true;
}

/* The bytes that travel do not depend on what is in them: no rows are listed, and nothing can be proven. */
static bool whole(struct ss_durations_worker *w, struct ss_duration *d, struct ss_error *error) {
  const struct ss_carried *c = &d->carried;
  const struct place place = {&c->setting,
                              {.cluster = &w->all->cluster, .device = &w->all->device, .state = &w->memory}};
  struct ss_input input = {.ranks = c->ranks, .width = 1, .row_width = 1, .value_bytes = ss_dtype_bytes(c->dtype)};
  input.rows = input.elements = c->bytes / input.value_bytes;
  uint64_t *none = ss_arena_alloc(&w->arena, c->ranks, sizeof *none);
  const uint32_t **list = ss_arena_alloc(&w->arena, c->ranks, sizeof *list);
  if (!none || !list) return ss_fail_memory(error, "simulating tasks");
  memset(none, 0, c->ranks * sizeof *none);
  for (uint32_t r = 0; r < c->ranks; r++) list[r] = (const uint32_t *)none;
  input.count = input.lookups = none;
  input.row = input.lookup = list;
  return reserve(d, 1, error) && simulate(w, d, &place, &input, 0, error);
}

/* n/s entries at 1/s of the bandwidth take as long as n entries, up to the rounding of shares. */
static struct ss_cluster slowed(struct ss_cluster cluster, double sampled) {
  cluster.inter.beta *= sampled;
  cluster.intra.beta *= sampled;
  return cluster;
}

/* A number of entries to select, out of the n that are simulated; 0: a share of them. */
static uint64_t scaled(uint64_t k, double sampled, uint64_t n) {
  return k == 0 ? 0 : (uint64_t)fmin((double)n, fmax(1, floor((double)k / sampled + 0.5)));
}

static void scale_k(struct ss_setting *setting, struct ss_selection *select, double sampled, uint64_t n) {
  const struct ss_option *o = setting->scheme->options;
  for (size_t i = 0; o && o[i].name; i++)
    if (strcmp(o[i].name, "k") == 0) setting->value[i] = scaled(setting->value[i], sampled, n);
  select->k = scaled(select->k, sampled, n);
}

/* How many columns of a table to simulate: rows of all ranks, but no more entries than so many. */
static uint32_t columns_of(const struct ss_lookups *l, uint32_t ranks) {
  const uint64_t rows = ss_lookups_most(l, ranks), width = l->module->row_width;
  const uint64_t most = rows ? SAMPLE_OF_TABLES / rows : width;
  if (most == 0) return 1;
  return (uint32_t)(most < width ? most : width);
}

static bool rows(struct ss_durations_worker *w, struct ss_duration *d, struct ss_error *error) {
  const struct ss_carried *c = &d->carried;
  const struct ss_input_options needs = ss_setting_input_options(&c->setting, c->ranks, true, true);
  struct ss_setting setting = c->setting;
  struct ss_selection none = {0};
  struct ss_lookups_options options = {.ranks = c->ranks,
                                       .share = c->share,
                                       .columns = c->lookups->module->row_width,
                                       .element = needs.element,
                                       .lookups = needs.lookups,
                                       .values = needs.values};
  if (needs.values && !c->lookups->valued) options.columns = columns_of(c->lookups, c->ranks);
  d->sampled = (double)c->lookups->module->row_width / options.columns;
  scale_k(&setting, &none, d->sampled, c->lookups->module->rows * options.columns);
  const struct ss_cluster cluster = slowed(w->all->cluster, d->sampled);
  struct ss_device device = w->all->device;
  ss_device_scale(&device, d->sampled);
  const struct place place = {
      &setting, {.cluster = &cluster, .device = &device, .verify = w->all->verify, .state = &w->memory}};
  uint64_t period = c->lookups->iterations;
  if (needs.values && !c->lookups->valued && !ss_scheme_estimates(setting.scheme) && period > ITERATIONS_OF_VALUES)
    period = ITERATIONS_OF_VALUES;
  if (!reserve(d, period, error)) return false;
  for (uint32_t t = 0; t < d->period; t++) {
    struct ss_input input;
    options.iteration = t;
    ss_arena_reset(&w->arena);
    if (!ss_lookups_input(c->lookups, &options, &w->arena, &input, error) ||
        !simulate(w, d, &place, &input, t, error))
      return false;
  }
  return true;
}

/* A dense tensor that is sent sparse: entries of a synthetic gradient. */
static bool entries(struct ss_durations_worker *w, struct ss_duration *d, struct ss_error *error) {
  const struct ss_carried *c = &d->carried;
  const uint32_t element = ss_dtype_bytes(c->dtype);
  uint64_t n = c->bytes / element, most = SAMPLE_ENTRIES / c->ranks;
  struct ss_gradient gradient;
  struct ss_setting setting = c->setting;
  ss_gradient_defaults(&gradient);
  if (most < SAMPLE_LEAST) most = SAMPLE_LEAST;
  if (n > most) {
    d->sampled = (double)n / (double)most;
    n = most;
  }
  gradient.elements = n;
  if (gradient.layers > n) gradient.layers = (uint32_t)n;
  w->selector.selection = c->select;
  scale_k(&setting, &w->selector.selection, d->sampled, n);
  const struct ss_cluster cluster = slowed(w->all->cluster, d->sampled);
  struct ss_device device = w->all->device;
  ss_device_scale(&device, d->sampled);
  const struct place place = {
      &setting, {.cluster = &cluster, .device = &device, .verify = w->all->verify, .state = &w->memory}};
  const struct ss_origin origin = {.gradient = &gradient, .merge = 1};
  struct ss_input_options options = {.ranks = c->ranks, .lists = true, .element = true, .values = true};
  if (!reserve(d, ITERATIONS_OF_VALUES, error)) return false;
  for (uint32_t t = 0; t < d->period; t++) {
    struct ss_input input;
    options.iteration = t;
    ss_arena_reset(&w->arena);
    if (!ss_input_make(&origin, &options, &w->arena, &w->scratch, &input, error)) return false;
    input.value_bytes = element;
    if (!ss_iteration_select(&setting, &w->selector, &input, &w->arena, error) ||
        !simulate(w, d, &place, &input, t, error))
      return false;
  }
  return true;
}

bool ss_duration_answer(struct ss_durations_worker *w, struct ss_duration *d, struct ss_error *error) {
  ss_state_free(&w->memory);
  ss_selector_free(&w->selector);
  ss_arena_reset(&w->arena);
  if (d->carried.lookups) return rows(w, d, error);
  return ss_setting_sends_dense(&d->carried.setting) ? whole(w, d, error) : entries(w, d, error);
}

static void close_worker(struct ss_durations_worker *w) {
  ss_arena_free(&w->arena);
  ss_state_free(&w->memory);
  ss_coalesce_free(&w->scratch);
  ss_selector_free(&w->selector);
}

bool ss_durations_make(struct ss_durations *durations, unsigned jobs, const struct ss_watcher *watcher,
                       struct ss_error *error) {
  uint32_t failed = UINT32_MAX;
#pragma omp parallel num_threads(jobs ? (int)jobs : omp_get_num_procs())
  {
    struct ss_durations_worker worker = {.all = durations};
#pragma omp for schedule(dynamic, 1)
    for (uint32_t i = 0; i < durations->count; i++) {
      struct ss_error mine;
      uint32_t skip;
#pragma omp atomic read
      skip = failed;
      const bool ok = skip != UINT32_MAX || ss_duration_answer(&worker, &durations->duration[i], &mine);
#pragma omp critical
      {
        if (!ok && i < failed) {
          failed = i; /* the first in order, whatever the threads did */
          if (error) *error = mine;
        }
        ss_watcher_advance(watcher, 1, 1, durations->count);
      }
    }
    close_worker(&worker);
  }
  return failed == UINT32_MAX;
}

/* --- one by one ----------------------------------------------------------------------------------------- */

struct ss_durations_worker *ss_durations_worker_new(const struct ss_durations *durations) {
  struct ss_durations_worker *w = ss_alloc_zero(1, sizeof *w);
  if (w) w->all = durations;
  return w;
}

void ss_durations_worker_free(struct ss_durations_worker *w) {
  if (w) close_worker(w);
  free(w);
}

/* `sampled`, then seconds and bytes of each iteration. */
void *ss_duration_pack(const struct ss_duration *d, size_t *size) {
  const size_t n = d->period;
  double *numbers = ss_alloc(1 + 2 * n, sizeof *numbers);
  if (!numbers) return NULL;
  numbers[0] = d->sampled;
  memcpy(numbers + 1, d->seconds, n * sizeof *numbers);
  memcpy(numbers + 1 + n, d->sent, n * sizeof *numbers);
  *size = (1 + 2 * n) * sizeof *numbers;
  return numbers;
}

bool ss_duration_unpack(struct ss_duration *d, const void *bytes, size_t size, struct ss_error *error) {
  const double *numbers = bytes;
  const size_t n = size / sizeof *numbers / 2;
  if (size != (1 + 2 * n) * sizeof *numbers || n == 0)
    return ss_fail(error, SS_MACHINE, "%s: a rank sent what is no result", d->carried.setting.label);
  if (!reserve(d, n, error)) return false;
  d->sampled = numbers[0];
  memcpy(d->seconds, numbers + 1, n * sizeof *numbers);
  memcpy(d->sent, numbers + 1 + n, n * sizeof *numbers);
  return true;
}
