#include "sim/recording.h"

static bool add_list(struct ss_recording *r, const uint32_t *list, uint32_t count) {
  if (!ss_grow(r->list, r->list_capacity, r->lists + count)) return false;
  if (count > 0) memcpy(r->list + r->lists, list, count * sizeof *list);
  r->lists += count;
  return true;
}

static bool add_lists(struct ss_recording *r, const struct ss_round *round) {
  const struct ss_messages *m = &round->messages;
  if (m->from && !(add_list(r, m->from, m->count) && add_list(r, m->to, m->count))) return false;
  return !round->settled || add_list(r, round->settled, round->settled_count);
}

static bool add_sizes(struct ss_recording *r, const struct ss_messages *m) {
  if (!m->bytes) return true;
  if (!ss_grow(r->bytes, r->size_capacity, r->sizes + m->count)) return false;
  if (m->count > 0) memcpy(r->bytes + r->sizes, m->bytes, m->count * sizeof *m->bytes);
  r->sizes += m->count;
  return true;
}

static bool add_kernels(struct ss_recording *r, const struct ss_round *round) {
  if (!ss_grow(r->after, r->after_capacity, r->afters + round->after_count)) return false;
  if (round->after_count > 0) memcpy(r->after + r->afters, round->after, round->after_count * sizeof *round->after);
  r->afters += round->after_count;
  return true;
}

bool ss_recording_add(struct ss_recording *r, const struct ss_round *round) {
  const struct ss_messages *m = &round->messages;
  const struct ss_recorded_round recorded = {.count = m->count,
                                             .shift = m->shift,
                                             .after_count = round->after_count,
                                             .settled_count = round->settled_count,
                                             .list = r->lists,
                                             .bytes = r->sizes,
                                             .after = r->afters,
                                             .each = m->each,
                                             .listed = m->from != NULL,
                                             .sized = m->bytes != NULL,
                                             .dependent = round->dependent,
                                             .exchange = round->exchange,
                                             .settles = round->settled != NULL};
  if (!ss_grow(r->round, r->round_capacity, r->rounds + 1) || !add_lists(r, round) || !add_sizes(r, m) ||
      !add_kernels(r, round))
    return false;
  r->round[r->rounds++] = recorded;
  return true;
}

static bool record(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  return ss_recording_add((struct ss_recording *)player, round) ||
         ss_fail_memory(error, "keeping the rounds of a scheme");
}

void ss_recording_open(struct ss_recording *recording) {
  *recording = (struct ss_recording){.player = {.play = record}};
}

void ss_recording_free(struct ss_recording *r) {
  free(r->round);
  free(r->list);
  free(r->bytes);
  free(r->after);
  *r = (struct ss_recording){0};
}

void ss_recording_clear(struct ss_recording *r) {
  r->rounds = r->lists = r->sizes = r->afters = 0;
}

size_t ss_recording_size(const struct ss_recording *r) {
  return r->round_capacity * sizeof *r->round + r->list_capacity * sizeof *r->list +
         r->size_capacity * sizeof *r->bytes + r->after_capacity * sizeof *r->after;
}

static const struct ss_network_round *next_round(void *context) {
  struct ss_replay *replay = context;
  const struct ss_recording *r = replay->recording;
  if (replay->next == r->rounds) return NULL;
  const struct ss_recorded_round *x = &r->round[replay->next++];
  const uint32_t *list = r->list + x->list;
  replay->round =
      (struct ss_network_round){.messages = {.count = x->count,
                                             .shift = x->shift,
                                             .from = x->listed ? list : NULL,
                                             .to = x->listed ? list + x->count : NULL,
                                             .bytes = x->sized ? r->bytes + x->bytes : NULL,
                                             .each = x->each},
                                .settled = x->settles ? list + (x->listed ? 2 * (size_t)x->count : 0) : NULL,
                                .settled_count = x->settled_count,
                                .after = r->after + x->after,
                                .after_count = x->after_count,
                                .dependent = x->dependent,
                                .exchange = x->exchange};
  return &replay->round;
}

struct ss_rounds ss_replay_rounds(struct ss_replay *replay) {
  return (struct ss_rounds){replay, next_round};
}
/* SPDX-License-Identifier: Apache-2.0 */
