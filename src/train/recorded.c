#include "train/recorded.h"

/* B of rounds that are kept before those that nobody plays are let go, the longest unused first. */
static const size_t KEPT = (size_t)1 << 30;

struct ss_recorded_duration {
  struct ss_rounds_of_duration rounds;
  size_t bytes; /* 0: it is not kept */
  uint64_t used;
  uint32_t plays; /* under way */
};

bool ss_recorded_open(struct ss_recorded *r, const struct ss_durations *durations,
                      const struct ss_timetable *timetable, struct ss_error *error) {
  *r = (struct ss_recorded){.durations = durations, .timetable = timetable, .pace = 1};
  r->of = ss_alloc_zero(durations->count, sizeof *r->of);
  return r->of || ss_fail_memory(error, "keeping rounds");
}

static void let_go(struct ss_recorded *r, uint32_t duration) {
  struct ss_recorded_duration *d = &r->of[duration];
  r->bytes -= d->bytes;
  d->bytes = 0;
  ss_rounds_of_duration_free(&d->rounds);
}

void ss_recorded_close(struct ss_recorded *r) {
  for (uint32_t i = 0; r->of && i < r->durations->count; i++) let_go(r, i);
  free(r->of);
  free(r->wide);
  free(r->list);
}

static void make_room(struct ss_recorded *r) {
  while (r->bytes > KEPT) {
    uint32_t oldest = r->durations->count;
    for (uint32_t i = 0; i < r->durations->count; i++)
      if (r->of[i].bytes > 0 && r->of[i].plays == 0 &&
          (oldest == r->durations->count || r->of[i].used < r->of[oldest].used))
        oldest = i;
    if (oldest == r->durations->count) return;
    let_go(r, oldest);
  }
}

static bool make(struct ss_recorded *r, uint32_t duration, struct ss_error *error) {
  struct ss_recorded_duration *d = &r->of[duration];
  make_room(r);
  if (!ss_durations_record(r->durations, duration, &d->rounds, error)) {
    ss_rounds_of_duration_free(&d->rounds);
    return false;
  }
  d->bytes = sizeof *d;
  for (uint32_t t = 0; t < d->rounds.period; t++) d->bytes += ss_recording_size(&d->rounds.iteration[t]);
  r->bytes += d->bytes;
  return true;
}

static struct ss_layout layout_of(const struct ss_recorded *r) {
  return ss_layout_of(&r->durations->cluster, r->timetable->ranks);
}

static bool play(void *context, uint32_t task, uint64_t iteration, struct ss_task_play *out, struct ss_error *error) {
  struct ss_recorded *r = context;
  const uint32_t number = r->timetable->task[task].duration;
  const struct ss_setting *setting = &r->durations->duration[number].carried.setting;
  struct ss_recorded_duration *d = &r->of[number];
  if (d->bytes == 0 && !make(r, number, error)) return false;
  const uint32_t t = (uint32_t)(iteration % d->rounds.period);
  d->used = ++r->turn;
  d->plays++;
  *out = (struct ss_task_play){.recording = &d->rounds.iteration[t],
                               .servers = ss_setting_servers(setting, layout_of(r)),
                               .rings = ss_setting_rings(setting, layout_of(r)),
                               .stretch = d->rounds.sampled,
                               .pace = r->pace};
  out->cluster = ss_duration_cluster(&r->durations->duration[number], &d->rounds.shape, &r->cluster, t, &out->start);
  return true;
}

static void ended(void *context, uint32_t task) {
  struct ss_recorded *r = context;
  r->of[r->timetable->task[task].duration].plays--;
}

/* Adds the cluster, unless it is there. */
static bool add_cluster(struct ss_recorded *r, const struct ss_cluster *cluster) {
  struct ss_task_network *n = &r->network;
  for (uint32_t i = 0; i < n->count; i++)
    if (ss_cluster_same(&r->wide[i], cluster)) return true;
  if (!ss_grow(r->wide, r->capacity, n->count + 1) || !ss_grow(r->list, r->capacity_of_list, n->count + 1))
    return false;
  r->wide[n->count++] = *cluster;
  return true;
}

const struct ss_task_network *ss_recorded_on(struct ss_recorded *r, const struct ss_cluster *cluster, double pace) {
  r->cluster = *cluster;
  r->pace = pace;
  r->network =
      (struct ss_task_network){.size = {.ranks = r->timetable->ranks}, .context = r, .play = play, .ended = ended};
  struct ss_cluster bare = *cluster;
  for (uint32_t i = 0; i < r->timetable->tasks; i++) /* it is all tasks', or none's */
    bare.staged = r->durations->duration[r->timetable->task[i].duration].carried.staged;
  bool ok = add_cluster(r, &bare);
  for (uint32_t i = 0; ok && i < r->timetable->tasks; i++) {
    const struct ss_duration *d = &r->durations->duration[r->timetable->task[i].duration];
    const struct ss_setting *setting = &d->carried.setting;
    const uint32_t element = ss_dtype_bytes(d->carried.dtype), servers = ss_setting_servers(setting, layout_of(r));
    const struct ss_input shape = {
        .ranks = r->timetable->ranks, .rows = d->carried.bytes / element, .width = 1, .value_bytes = element};
    double start;
    struct ss_cluster found = ss_duration_cluster(d, &shape, cluster, 0, &start);
    ss_cluster_widen(&found, ss_setting_rings(setting, layout_of(r)));
    found.jitter = cluster->jitter;
    ok = add_cluster(r, &found);
    if (servers > r->network.size.servers) r->network.size.servers = servers;
  }
  for (uint32_t i = 0; i < r->network.count; i++) r->list[i] = &r->wide[i];
  r->network.clusters = r->list;
  return ok ? &r->network : NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
