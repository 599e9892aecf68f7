#include "sim/state.h"

#include <string.h>

bool ss_state_begin(struct ss_state *s, uint32_t ranks, struct ss_error *error) {
  if (s->ranks == 0) {
    if (!ss_take_zero(&s->lasting, s->residual, ranks) || !ss_take(&s->lasting, s->kept, ranks))
      return ss_fail_memory(error, "keeping residuals");
    s->ranks = ranks;
  }
  memset(s->kept, 0, s->ranks * sizeof *s->kept);
  ss_arena_reset(&s->arena[s->iteration % 2]);
  return true;
}

void ss_state_end(struct ss_state *s) {
  if (s->ranks > 0) memcpy(s->residual, s->kept, s->ranks * sizeof *s->kept);
  for (uint32_t i = 0; i < s->shards; i++) ss_state_end(&s->shard[i]);
  s->iteration++;
}

void ss_state_free(struct ss_state *s) {
  for (uint32_t i = 0; i < s->shards; i++) ss_state_free(&s->shard[i]);
  ss_arena_free(&s->arena[0]);
  ss_arena_free(&s->arena[1]);
  ss_arena_free(&s->lasting);
  *s = (struct ss_state){0};
}

static bool take(struct ss_state *s, size_t own, size_t each, struct ss_error *error) {
  if (s->own) return true;
  s->each = ss_arena_zero(&s->lasting, each, 1);
  s->own = s->each ? ss_arena_zero(&s->lasting, own, 1) : NULL;
  s->own_size = own;
  s->each_size = each;
  return s->own ? true : ss_fail_memory(error, "keeping a scheme's state");
}

bool ss_state_take(struct ss_state *s, size_t own, size_t each, struct ss_error *error) {
  return take(s, own, s->ranks * each, error);
}

bool ss_state_settle(struct ss_state *s, size_t size, struct ss_error *error) {
  if (!s->settled) s->settled = ss_arena_zero(&s->lasting, size, 1);
  return s->settled || ss_fail_memory(error, "keeping a scheme's state");
}

bool ss_state_save(const struct ss_state *s, struct ss_state *saved, struct ss_error *error) {
  if (s->own) {
    if (!take(saved, s->own_size, s->each_size, error)) return false;
    memcpy(saved->own, s->own, s->own_size);
    memcpy(saved->each, s->each, s->each_size);
  }
  if (s->shards > 0 && !ss_state_split(saved, s->shards, error)) return false;
  for (uint32_t i = 0; i < s->shards; i++)
    if (!ss_state_save(&s->shard[i], &saved->shard[i], error)) return false;
  return true;
}

void ss_state_rewind(struct ss_state *s, const struct ss_state *saved) {
  static const struct ss_state empty;
  if (!saved->own) s->own = s->each = NULL; /* nothing had been kept */
  if (s->own) memcpy(s->own, saved->own, saved->own_size);
  if (s->own) memcpy(s->each, saved->each, saved->each_size);
  for (uint32_t i = 0; i < s->shards; i++)
    ss_state_rewind(&s->shard[i], i < saved->shards ? &saved->shard[i] : &empty);
}

bool ss_state_split(struct ss_state *s, uint32_t shards, struct ss_error *error) {
  if (s->shards == 0) {
    if (!ss_take_zero(&s->lasting, s->shard, shards)) return ss_fail_memory(error, "keeping residuals");
    s->shards = shards;
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
