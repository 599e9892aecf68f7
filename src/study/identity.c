#include "study/identity.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* --- hashes --------------------------------------------------------------------------------------------- */

static void begin(XXH3_state_t *state) {
  XXH3_INITSTATE(state);
  (void)XXH3_128bits_reset(state);
}

/* Fields are fed one by one: a struct's padding is not part of what it says. */
static void feed_count(XXH3_state_t *state, uint64_t value) {
  (void)XXH3_128bits_update(state, &value, sizeof value);
}

static void feed_number(XXH3_state_t *state, double value) {
  (void)XXH3_128bits_update(state, &value, sizeof value);
}

/* With its length, so that two texts never run into each other. */
static void feed_text(XXH3_state_t *state, const char *text) {
  const size_t length = text ? strlen(text) : 0;
  feed_count(state, length);
  if (text) (void)XXH3_128bits_update(state, text, length);
}

static void feed_setting(XXH3_state_t *state, const struct ss_setting *s) {
  feed_text(state, s->scheme->name);
  for (size_t i = 0; i < SS_OPTIONS_MAX; i++) {
    feed_count(state, s->value[i]);
    feed_number(state, s->real[i]);
    feed_count(state, s->given[i]);
  }
  feed_count(state, s->index_bytes);
  feed_count(state, s->element);
  feed_count(state, s->exchange_sizes);
  feed_count(state, s->hierarchy);
}

static void feed_uniform(XXH3_state_t *state, const struct ss_uniform *u) {
  feed_count(state, u->rows);
  feed_count(state, u->nnz);
  feed_count(state, u->width);
  feed_count(state, u->value_bytes);
  feed_count(state, u->overlap);
}

static void feed_joint(XXH3_state_t *state, const struct ss_joint *joint) {
  feed_count(state, joint->tables);
  for (uint32_t k = 0; k < joint->tables; k++) {
    const struct ss_shards *shards = joint->shards ? &joint->shards[k] : NULL;
    feed_count(state, joint->tensor[k]);
    feed_count(state, shards ? 1 + (uint64_t)shards->cut : 0);
    feed_count(state, shards ? shards->count : 0);
    for (uint32_t i = 0; shards && i < shards->count; i++) feed_count(state, shards->rank[i]);
  }
}

static void feed_input(XXH3_state_t *state, const struct ss_job *job) {
  feed_text(state, job->trace_key);
  if (!job->trace_key) feed_uniform(state, &job->origin.uniform);
  feed_count(state, job->trace_hash);
  feed_text(state, job->tensor_name);
  feed_count(state, job->origin.tensor);
  feed_count(state, job->origin.merge);
  feed_count(state, job->seed);
  feed_count(state, job->first);
  feed_count(state, job->end);
  feed_count(state, job->ranks);
  if (job->origin.capacity > 0) feed_number(state, job->origin.capacity);
  if (job->origin.joint) feed_joint(state, job->origin.joint);
}

static void feed_selection(XXH3_state_t *state, const struct ss_selection *s) {
  feed_count(state, s->selects);
  feed_count(state, s->residual);
  feed_count(state, s->k);
  feed_number(state, s->density);
  feed_count(state, s->block);
}

static void feed_device(XXH3_state_t *state, const struct ss_device *d) {
  feed_text(state, d->name);
  feed_count(state, d->counted);
  for (int i = 0; i < SS_KERNELS; i++) {
    const struct ss_kernel_line *line = &d->line[i];
    for (uint32_t k = 0; k == 0 || k < line->pieces; k++) {
      if (line->pieces > 1) feed_number(state, line->piece[k].up_to);
      feed_number(state, line->piece[k].t0);
      feed_number(state, line->piece[k].per_element);
      feed_number(state, line->piece[k].per_byte);
    }
    feed_count(state, line->known);
  }
}

static void feed_payloads(XXH3_state_t *state, const struct ss_job *job) {
  feed_setting(state, &job->setting);
  feed_input(state, job);
  feed_selection(state, &job->selection);
  feed_count(state, job->servers);
  feed_count(state, job->verify);
  feed_device(state, &job->device);
  feed_count(state, job->cluster.gpus_per_node);
}

static void feed_link(XXH3_state_t *state, const struct ss_link *link) {
  feed_number(state, link->alpha);
  feed_number(state, link->beta);
}

static void feed_segments(XXH3_state_t *state, const struct ss_segments *segments) {
  feed_count(state, segments->count);
  for (uint32_t i = 0; i < segments->count; i++) {
    feed_count(state, segments->piece[i].up_to);
    feed_link(state, &segments->piece[i].link);
  }
}

/* What the model "fair" alone knows. */
static void feed_shared(XXH3_state_t *state, const struct ss_cluster *c) {
  feed_segments(state, &c->inter_segments);
  feed_segments(state, &c->intra_segments);
  feed_segments(state, &c->exchange_segments);
  feed_link(state, &c->exchange);
  feed_count(state, c->has_exchange);
  feed_count(state, c->intra_shared);
  feed_count(state, ss_cluster_nics(c));
  feed_count(state, ss_cluster_window(c));
  feed_count(state, c->fabric_levels);
  for (uint32_t i = 0; i < c->fabric_levels; i++) {
    feed_count(state, c->fabric[i].nodes);
    feed_number(state, c->fabric[i].oversubscription);
    feed_number(state, c->fabric[i].bandwidth);
    feed_number(state, c->fabric[i].latency);
  }
}

static void feed_quantiles(XXH3_state_t *state, const struct ss_quantiles *q) {
  feed_count(state, q->count);
  for (uint32_t i = 0; i < q->count; i++) {
    feed_number(state, q->point[i].share);
    feed_number(state, q->point[i].factor);
  }
}

static void feed_jitter(XXH3_state_t *state, const struct ss_jitter *j) {
  if (j->draws == 0) return;
  feed_count(state, j->draws);
  feed_count(state, j->per_pair);
  feed_count(state, j->seed);
  feed_quantiles(state, &j->latency);
  feed_quantiles(state, &j->bandwidth);
}

static void feed_cluster(XXH3_state_t *state, const struct ss_cluster *c) {
  feed_text(state, c->name);
  feed_text(state, c->model);
  feed_link(state, &c->inter);
  feed_link(state, &c->intra);
  feed_count(state, c->has_intra);
  feed_count(state, c->nic_per_node);
  if (ss_cluster_fair(c)) feed_shared(state, c);
  feed_jitter(state, &c->jitter);
}

static struct ss_identity digest(const XXH3_state_t *state) {
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  return (struct ss_identity){hash.high64, hash.low64};
}

struct ss_identity ss_job_inputs(const struct ss_job *job, const struct ss_input_options *options) {
  XXH3_state_t state;
  begin(&state);
  feed_input(&state, job);
  feed_count(&state, (uint64_t)(uint32_t)job->origin.exponent);
  feed_count(&state, options->lists);
  feed_count(&state, options->lookups);
  feed_count(&state, options->bags);
  feed_count(&state, options->element);
  feed_count(&state, options->values);
  feed_count(&state, options->before);
  feed_count(&state, options->coalesces);
  return digest(&state);
}

struct ss_identity ss_job_payloads(const struct ss_job *job) {
  XXH3_state_t state;
  begin(&state);
  feed_payloads(&state, job);
  return digest(&state);
}

struct ss_identity ss_job_identity(const struct ss_job *job) {
  XXH3_state_t state;
  char *at = job->at ? cJSON_PrintUnformatted(job->at) : NULL;
  begin(&state);
  feed_text(&state, SS_VERSION); /* another program may compute otherwise */
  feed_payloads(&state, job);
  feed_cluster(&state, &job->cluster);
  feed_text(&state, job->setting.label);
  feed_text(&state, job->trace_name);
  feed_text(&state, at);
  free(at);
  return digest(&state);
}

struct ss_identity ss_jobs_identity(const struct ss_job *jobs, size_t count) {
  XXH3_state_t state;
  begin(&state);
  feed_count(&state, count);
  for (size_t i = 0; i < count; i++) {
    const struct ss_identity one = ss_job_identity(&jobs[i]);
    feed_count(&state, one.high);
    feed_count(&state, one.low);
  }
  return digest(&state);
}

static void feed_array(XXH3_state_t *state, const double *values, uint64_t count) {
  feed_count(state, values ? count : 0);
  for (uint64_t i = 0; values && i < count; i++) feed_number(state, values[i]);
}

/* What is not a number is written as null, and read back as whatever NaN the machine has. */
static void feed_value(XXH3_state_t *state, double value) {
  feed_number(state, isfinite(value) ? value : 0);
  feed_count(state, isfinite(value) ? 1 : 0);
}

struct ss_identity ss_result_digest(const struct ss_result *r) {
  XXH3_state_t state;
  begin(&state);
  feed_count(&state, r->identity.high);
  feed_count(&state, r->identity.low);
  for (size_t i = 0; i < SS_RESULT_FIELDS; i++) feed_value(&state, ss_result_value(r, i));
  feed_count(&state, r->exact);
  feed_count(&state, r->placed_exact);
  feed_text(&state, r->bound_by);
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    const struct ss_link_usage *u = &r->usage[k];
    const double values[] = {u->links, u->bytes_max, u->bytes_mean, u->busy_max, u->busy_mean};
    feed_array(&state, u->links ? values : NULL, sizeof values / sizeof *values);
  }
  for (int k = 0; k < SS_KERNELS; k++) {
    const struct ss_kernel_use *use = &r->kernels[k];
    const double values[] = {use->s, use->calls, use->elements, use->bytes, use->estimated};
    feed_array(&state, use->elements > 0 ? values : NULL, sizeof values / sizeof *values);
  }
  feed_array(&state, r->iteration_s, r->iterations);
  feed_array(&state, r->rank_sent, r->ranks);
  feed_array(&state, r->rank_received, r->ranks);
  feed_array(&state, r->draw_s, r->draws);
  return digest(&state);
}

struct ss_identity ss_text_identity(const char *text) {
  const XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
  return (struct ss_identity){hash.high64, hash.low64};
}

static void feed_carried(XXH3_state_t *state, const struct ss_carried *c) {
  feed_setting(state, &c->setting);
  feed_count(state, c->ranks);
  feed_count(state, c->bytes);
  feed_count(state, c->share);
  feed_count(state, c->dtype);
  feed_selection(state, &c->select);
  if (!c->lookups) return;
  feed_text(state, c->lookups->module->name);
  feed_count(state, c->lookups->module->rows);
  feed_count(state, c->lookups->module->row_width);
  feed_count(state, c->lookups->iterations);
}

struct ss_identity ss_durations_identity(const struct ss_durations *d) {
  XXH3_state_t state;
  begin(&state);
  feed_text(&state, SS_VERSION);
  feed_cluster(&state, &d->cluster);
  feed_device(&state, &d->device);
  feed_count(&state, d->verify);
  feed_count(&state, d->count);
  for (uint32_t i = 0; i < d->count; i++) feed_carried(&state, &d->duration[i].carried);
  return digest(&state);
}

/* --- lists ---------------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
  const struct ss_keyed *x = a, *y = b;
  if (x->key.high != y->key.high) return x->key.high < y->key.high ? -1 : 1;
  return x->key.low < y->key.low ? -1 : x->key.low > y->key.low;
}

static int by_key_and_place(const void *a, const void *b) {
  const struct ss_keyed *x = a, *y = b;
  const int order = compare_keys(a, b);
  return order != 0 ? order : x->place < y->place ? -1 : x->place > y->place;
}

void ss_keyed_sort(struct ss_keyed *list, size_t count) {
  if (count > 0) qsort(list, count, sizeof *list, by_key_and_place);
}

const struct ss_keyed *ss_keyed_find(const struct ss_keyed *list, size_t count, struct ss_identity key) {
  const struct ss_keyed wanted = {.key = key};
  const struct ss_keyed *found = count > 0 ? bsearch(&wanted, list, count, sizeof wanted, compare_keys) : NULL;
  while (found && found > list && compare_keys(found - 1, found) == 0) found--;
  return found;
}

/* --- groups --------------------------------------------------------------------------------------------- */

enum { NETWORKS_MAX = 64 };

static int by_first(const void *a, const void *b) {
  const struct ss_job_group *x = a, *y = b;
  return x->job[0] < y->job[0] ? -1 : x->job[0] > y->job[0];
}

static size_t networks_at_once(const struct ss_job *job) {
  const size_t draws = 1 + (size_t)job->cluster.jitter.draws;
  const size_t capacity = SS_ENDPOINTS_MAX / (((size_t)job->ranks + job->servers) * draws);
  return capacity < 1 ? 1 : capacity < NETWORKS_MAX ? capacity : NETWORKS_MAX;
}

static void cut(const struct ss_job *jobs, const struct ss_keyed *keyed, size_t n, struct ss_job_groups *out) {
  for (size_t i = 0; i < n;) {
    const size_t most = networks_at_once(&jobs[keyed[i].place]), from = i;
    for (; i < n && i - from < most && ss_identity_same(keyed[i].key, keyed[from].key); i++)
      out->place[i] = keyed[i].place;
    out->group[out->count++] = (struct ss_job_group){out->place + from, (uint32_t)(i - from)};
  }
}

bool ss_jobs_group(const struct ss_job *jobs, size_t count, const bool *wanted, struct ss_job_groups *out,
                   struct ss_error *error) {
  SS_AUTO_FREE struct ss_keyed *keyed = ss_alloc(count, sizeof *keyed);
  size_t n = 0;
  *out = (struct ss_job_groups){.group = ss_alloc(count, sizeof *out->group),
                                .place = ss_alloc(count, sizeof *out->place)};
  if (!keyed || !out->group || !out->place) {
    ss_jobs_ungroup(out);
    return ss_fail_memory(error, "listing points");
  }
  for (size_t i = 0; i < count; i++)
    if (wanted[i]) keyed[n++] = (struct ss_keyed){ss_job_payloads(&jobs[i]), i};
  ss_keyed_sort(keyed, n);
  cut(jobs, keyed, n, out);
  qsort(out->group, out->count, sizeof *out->group, by_first);
  return true;
}

void ss_jobs_ungroup(struct ss_job_groups *groups) {
  free(groups->group);
  free(groups->place);
  *groups = (struct ss_job_groups){0};
}
