#include "study/dense.h"

#include "schemes/registry.h"
#include "study/study.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

/* What libraries take: flat, and among nodes. */
static const struct way {
  const char *algorithm, *name;
  enum ss_hierarchy hierarchy;
} ways[] = {{"ring", "ring", SS_FLAT},
            {"tree", "tree", SS_FLAT},
            {"rabenseifner", "rabenseifner", SS_FLAT},
            {"ring", "ring, shard", SS_SHARD},
            {"ring", "ring, leader", SS_LEADER}};

const char *ss_dense_name(const char *text) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].name, text) == 0) return ways[i].name;
  return NULL;
}

static struct ss_setting setting_of(const struct way *way) {
  struct ss_setting setting = {.scheme = ss_scheme_find("allreduce"), .index_bytes = 4, .hierarchy = way->hierarchy};
  for (size_t i = 0; setting.scheme->options[i].name; i++)
    setting.value[i] = (uint64_t)setting.scheme->options[i].default_value;
  ss_setting_choose(&setting, "algorithm", way->algorithm);
  return setting;
}

/* Messages of flat rings side by side that are worth playing for a comparison: so many ranks take shards. */
static const double rings_most = 0x1p21;

/* Hierarchies are of several nodes of several ranks each. */
static bool is_there(const struct way *way, const struct ss_setting *setting, const struct ss_cluster *cluster,
                     uint32_t ranks) {
  struct ss_error ignored;
  const struct ss_layout layout = ss_layout_of(cluster, ranks);
  const double rings = ss_setting_rings(setting, layout);
  if (way->hierarchy && (cluster->gpus_per_node < 2 || ranks <= cluster->gpus_per_node)) return false;
  if (rings > 1 && rings * ranks * 2.0 * (ranks - 1.0) > rings_most) return false;
  return ss_setting_check(setting, layout, &ignored);
}

/* How many networks from number `first` on have as many rings as that one: they are played at once. */
static uint32_t alike(const struct ss_setting *setting, const struct ss_cluster *const *clusters, uint32_t first,
                      uint32_t networks, uint32_t ranks) {
  const uint32_t rings = ss_setting_rings(setting, ss_layout_of(clusters[first], ranks));
  uint32_t end = first + 1;
  while (end < networks && ss_setting_rings(setting, ss_layout_of(clusters[end], ranks)) == rings) end++;
  return end - first;
}

static bool play(struct ss_dense_baseline *b, const struct ss_point *point, const struct way *way,
                 const struct ss_cluster *const *clusters, struct ss_error *error) {
  const struct ss_setting setting = setting_of(way);
  struct ss_input input;
  struct ss_tally *tally = ss_arena_alloc(&b->temporary, b->networks, sizeof *tally);
  const uint64_t *none = ss_arena_zero(&b->temporary, point->ranks, sizeof *none);
  if (!tally || !none) return ss_fail_memory(error, "playing the dense baseline");
  if (!is_there(way, &setting, clusters[0], point->ranks)) return true;
  if (!ss_input_shape(&point->origin, false, &input, error)) return false;
  input.ranks = point->ranks;
  input.count = input.lookups = none; /* all that is not there travels too */
  bool ok = true;
  for (uint32_t n = 0, count; ok && n < b->networks; n += count) {
    count = alike(&setting, clusters, n, b->networks, point->ranks);
    struct ss_state state = {0};
    const struct ss_world world = {.cluster = clusters[n],
                                   .device = &point->device,
                                   .state = &state,
                                   .clusters = clusters + n,
                                   .cluster_count = count};
    struct ss_outcome outcome = {.tallies = tally + n};
    ok = ss_simulate(&setting, &world, &input, &b->temporary, &outcome, error);
    ss_state_free(&state);
  }
  for (uint32_t n = 0; ok && n < b->networks; n++)
    if (!(b->time[n].seconds <= tally[n].time)) b->time[n] = (struct ss_dense_time){tally[n].time, way->name};
  return ok;
}

/* Of all that decides it. */
static uint64_t key_of(const struct ss_point *point, const struct ss_input *shape,
                       const struct ss_cluster *const *clusters, uint32_t networks) {
  const uint64_t sizes[] = {shape->rows, shape->width, shape->value_bytes, point->ranks, networks};
  uint64_t key = XXH3_64bits(sizes, sizeof sizes);
  key = XXH3_64bits_withSeed(&point->device, sizeof point->device, key);
  for (uint32_t n = 0; n < networks; n++) key = XXH3_64bits_withSeed(clusters[n], sizeof *clusters[n], key);
  return key;
}

bool ss_dense_find(struct ss_dense_baseline *b, const struct ss_point *point,
                   const struct ss_cluster *const *clusters, uint32_t networks, struct ss_error *error) {
  struct ss_input shape = {0};
  if (!ss_input_shape(&point->origin, false, &shape, error)) return false;
  const uint64_t key = key_of(point, &shape, clusters, networks);
  if (b->time && b->key == key && b->networks == networks) return true;
  ss_arena_reset(&b->kept);
  b->time = ss_arena_alloc(&b->kept, networks, sizeof *b->time);
  if (!b->time) return ss_fail_memory(error, "playing the dense baseline");
  b->key = key;
  b->networks = networks;
  for (uint32_t n = 0; n < networks; n++) b->time[n] = (struct ss_dense_time){point->ranks > 1 ? NAN : 0, NULL};
  bool ok = true;
  const bool played = point->ranks > 1 && !point->origin.joint;
  for (size_t i = 0; ok && played && i < sizeof ways / sizeof *ways; i++) {
    ss_arena_reset(&b->temporary);
    ok = play(b, point, &ways[i], clusters, error);
  }
  if (!ok) b->time = NULL;
  return ok;
}

void ss_dense_free(struct ss_dense_baseline *b) {
  ss_arena_free(&b->kept);
  ss_arena_free(&b->temporary);
}
