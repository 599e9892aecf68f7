#include "study/dense.h"

#include "schemes/registry.h"
#include "study/study.h"

#include <xxhash.h>

static struct ss_setting plain_setting(void) {
  struct ss_setting setting = {.scheme = ss_scheme_find("allreduce"), .index_bytes = 4};
  ss_setting_reset(&setting);
  return setting;
}

static double least_alpha(const struct ss_link *link, const struct ss_segments *segments) {
  double least = segments->count > 0 ? HUGE_VAL : link->alpha;
  for (uint32_t i = 0; i < segments->count; i++) least = fmin(least, segments->piece[i].link.alpha);
  return least;
}

/* No ring takes less: some rank sends all its parts, one after the other, to another node, or in the one that there
 * is. */
static double ring_least(const struct ss_cluster *c, uint32_t ranks, uint32_t rings, const struct ss_input *shape) {
  static const double rounding = 1e-9;
  const bool inside = ranks <= c->gpus_per_node && c->has_intra;
  const double alpha =
      inside ? least_alpha(&c->intra, &c->intra_segments) : least_alpha(&c->inter, &c->inter_segments);
  const double rate = inside ? ss_cluster_bus_rate(c) : ss_cluster_card_rate(c);
  const double part = floor((double)shape->rows / rings / ranks) * shape->width * shape->value_bytes;
  return 2 * (ranks - 1.0) * (alpha + part / rate) * (1 - rounding);
}

/* Networks on which a way is played at once: those that have as many rings. */
struct batch {
  const struct ss_cluster **cluster;
  const double *pace; /* of kernels; NULL: as the device has it */
  uint32_t *number;   /* of the network */
  struct ss_tally *tally;
  uint32_t count, rings;
};

/* Takes those of the networks that wait which have as many rings as the first of them. */
static void fill_batch(struct batch *batch, const struct ss_setting *setting,
                       const struct ss_cluster *const *clusters, uint32_t networks, uint32_t ranks, bool *waits) {
  batch->count = 0;
  for (uint32_t n = 0; n < networks; n++) {
    if (!waits[n]) continue;
    const uint32_t rings = ss_setting_rings(setting, ss_layout_of(clusters[n], ranks));
    if (batch->count > 0 && rings != batch->rings) continue;
    waits[n] = false;
    batch->rings = rings;
    batch->cluster[batch->count] = clusters[n];
    batch->number[batch->count++] = n;
  }
}

static bool play_batch(struct ss_dense_baseline *b, const struct ss_setting *setting, const struct ss_point *point,
                       const struct batch *batch, struct ss_error *error) {
  struct ss_state state = {0};
  const struct ss_world world = {.cluster = batch->cluster[0],
                                 .device = &point->device,
                                 .state = &state,
                                 .clusters = batch->cluster,
                                 .cluster_count = batch->count,
                                 .paces = batch->pace};
  struct ss_outcome outcome = {.tallies = batch->tally};
  const bool ok = ss_simulate(setting, &world, &b->input, &b->temporary, &outcome, error);
  ss_state_free(&state);
  return ok;
}

/* Network n, whose library chooses. */
static bool play_choice(struct ss_dense_baseline *b, const struct ss_point *point, const struct ss_cluster *cluster,
                        uint32_t n, struct ss_error *error) {
  struct ss_setting *setting = &b->setting[n];
  struct ss_tally tally;
  const struct batch batch = {&cluster, NULL, &n, &tally, 1, 1};
  *setting = plain_setting();
  ss_setting_tune(setting, cluster, point->ranks, b->input.rows * b->input.width * b->input.value_bytes);
  ss_arena_reset(&b->temporary);
  if (!play_batch(b, setting, point, &batch, error)) return false;
  b->time[n] = (struct ss_dense_time){.seconds = tally.time, .name = ss_dense_library_name(setting)};
  return true;
}

/* Plays the fastest on network n again where components cost more. */
static bool split(struct ss_dense_baseline *b, const struct ss_point *point, const struct ss_variants *varied,
                  uint32_t n, struct ss_error *error) {
  const struct ss_cluster *clusters[SS_COMPONENTS];
  struct ss_tally tally[SS_COMPONENTS];
  double times[SS_COMPONENTS];
  const struct batch batch = {clusters, varied->pace, NULL, tally, varied->count, 0};
  if (varied->count == 0 || !b->time[n].name) return true;
  ss_arena_reset(&b->temporary);
  for (uint32_t i = 0; i < varied->count; i++) clusters[i] = &varied->cluster[i];
  if (!play_batch(b, &b->setting[n], point, &batch, error)) return false;
  for (uint32_t i = 0; i < varied->count; i++) times[i] = tally[i].time;
  b->time[n].components = ss_variants_split(varied, b->time[n].seconds, times);
  return true;
}

static bool play(struct ss_dense_baseline *b, const struct ss_point *point, const struct ss_dense_way *way,
                 const struct ss_cluster *const *clusters, struct ss_error *error) {
  struct ss_setting setting = plain_setting();
  const bool flat_ring = way == &ss_dense_ways[SS_DENSE_RINGS];
  struct ss_arena *arena = &b->temporary;
  struct batch batch = {.pace = NULL};
  bool *waits;
  ss_arena_reset(arena);
  if (!ss_take(arena, batch.cluster, b->networks) || !ss_take(arena, batch.number, b->networks) ||
      !ss_take(arena, batch.tally, b->networks) || !ss_take(arena, waits, b->networks))
    return ss_fail_memory(error, "playing the dense baseline");
  for (uint32_t n = 0; n < b->networks; n++) {
    waits[n] = ss_dense_way_take(way, clusters[n], point->ranks, &setting);
    const uint32_t rings = ss_setting_rings(&setting, ss_layout_of(clusters[n], point->ranks));
    if (flat_ring && ring_least(clusters[n], point->ranks, rings, &b->input) > b->time[n].seconds) waits[n] = false;
  }
  for (;;) {
    fill_batch(&batch, &setting, clusters, b->networks, point->ranks, waits);
    if (batch.count == 0) return true;
    if (!play_batch(b, &setting, point, &batch, error)) return false;
    for (uint32_t i = 0; i < batch.count; i++) {
      const struct ss_dense_time time = {.seconds = batch.tally[i].time, .name = way->name};
      struct ss_dense_time *best = &b->time[batch.number[i]];
      if (flat_ring ? best->seconds < time.seconds : best->seconds <= time.seconds) continue;
      *best = time;
      b->setting[batch.number[i]] = setting;
    }
  }
}

/* Of all that decides it. */
static uint64_t key_of(const struct ss_point *point, const struct ss_input *shape,
                       const struct ss_cluster *const *clusters, uint32_t networks,
                       const struct ss_variants *varied) {
  const uint64_t sizes[] = {shape->rows, shape->width, shape->value_bytes, point->ranks, networks};
  uint64_t key = XXH3_64bits(sizes, sizeof sizes);
  key = XXH3_64bits_withSeed(&point->device, sizeof point->device, key);
  for (uint32_t n = 0; n < networks; n++) {
    key = XXH3_64bits_withSeed(clusters[n], sizeof *clusters[n], key);
    if (varied) key = XXH3_64bits_withSeed(varied[n].factor, varied[n].count * sizeof *varied[n].factor, key);
  }
  return key;
}

bool ss_dense_find(struct ss_dense_baseline *b, const struct ss_point *point,
                   const struct ss_cluster *const *clusters, uint32_t networks, const struct ss_variants *varied,
                   struct ss_error *error) {
  struct ss_input shape = {0};
  uint64_t *none; /* the tensor, of which all that is not there travels too */
  if (!ss_input_shape(&point->origin, false, &shape, error)) return false;
  const uint64_t key = key_of(point, &shape, clusters, networks, varied);
  if (b->time && b->key == key && b->networks == networks) return true;
  ss_arena_reset(&b->kept);
  b->time = NULL;
  if (!ss_take_zero(&b->kept, none, point->ranks) || !ss_take(&b->kept, b->setting, networks) ||
      !ss_take(&b->kept, b->time, networks))
    return ss_fail_memory(error, "playing the dense baseline");
  b->key = key;
  b->networks = networks;
  b->input = shape;
  b->input.ranks = point->ranks;
  b->input.count = b->input.lookups = none;
  for (uint32_t n = 0; n < networks; n++) b->time[n] = (struct ss_dense_time){.seconds = point->ranks > 1 ? NAN : 0};
  bool ok = true;
  const bool played = point->ranks > 1 && !point->origin.joint;
  for (uint32_t n = 0; ok && played && n < networks; n++)
    if (ss_layout_of(clusters[n], point->ranks).nccl) ok = play_choice(b, point, clusters[n], n, error);
  for (size_t i = 0; ok && played && i < SS_DENSE_WAYS; i++) ok = play(b, point, &ss_dense_ways[i], clusters, error);
  for (uint32_t n = 0; ok && varied && played && n < networks; n++) ok = split(b, point, &varied[n], n, error);
  if (!ok) b->time = NULL;
  return ok;
}

void ss_dense_free(struct ss_dense_baseline *b) {
  ss_arena_free(&b->kept);
  ss_arena_free(&b->temporary);
}
/* SPDX-License-Identifier: Apache-2.0 */
