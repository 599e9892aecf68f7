#include "sim/state.h"

#include <stdlib.h>
#include <string.h>

bool ss_memory_begin(struct ss_memory *m, uint32_t ranks, struct ss_error *error) {
  if (m->ranks == 0) {
    m->residual = ss_alloc_zero(ranks, sizeof *m->residual);
    m->kept = ss_alloc_zero(ranks, sizeof *m->kept);
    if (!m->residual || !m->kept) return ss_fail_memory(error, "keeping residuals");
    m->ranks = ranks;
  }
  memset(m->kept, 0, m->ranks * sizeof *m->kept);
  ss_arena_reset(&m->arena[m->iteration % 2]);
  return true;
}

void ss_memory_end(struct ss_memory *m) {
  if (m->ranks > 0) memcpy(m->residual, m->kept, m->ranks * sizeof *m->kept);
  for (uint32_t i = 0; i < m->shards; i++) ss_memory_end(&m->shard[i]);
  m->iteration++;
}

void ss_memory_free(struct ss_memory *m) {
  for (uint32_t i = 0; i < m->shards; i++) ss_memory_free(&m->shard[i]);
  free(m->shard);
  free(m->residual);
  free(m->kept);
  ss_arena_free(&m->arena[0]);
  ss_arena_free(&m->arena[1]);
  ss_arena_free(&m->lasting);
  *m = (struct ss_memory){0};
}

bool ss_memory_save(const struct ss_memory *m, struct ss_memory *saved, struct ss_error *error) {
  void *notes;
  memcpy(saved->number, m->number, sizeof saved->number);
  if (m->notes) {
    if (!ss_memory_notes(saved, m->notes_size, &notes, error)) return false;
    memcpy(notes, m->notes, m->notes_size);
  }
  if (m->shards > 0 && !ss_memory_split(saved, m->shards, error)) return false;
  for (uint32_t i = 0; i < m->shards; i++)
    if (!ss_memory_save(&m->shard[i], &saved->shard[i], error)) return false;
  return true;
}

void ss_memory_rewind(struct ss_memory *m, const struct ss_memory *saved) {
  static const struct ss_memory empty;
  memcpy(m->number, saved->number, sizeof m->number);
  if (saved->notes) memcpy(m->notes, saved->notes, m->notes_size);
  else m->notes = NULL; /* none had been taken */
  for (uint32_t i = 0; i < m->shards; i++)
    ss_memory_rewind(&m->shard[i], i < saved->shards ? &saved->shard[i] : &empty);
}

bool ss_memory_notes(struct ss_memory *m, size_t size, void **out, struct ss_error *error) {
  if (!m->notes) {
    m->notes = ss_arena_alloc(&m->lasting, size, 1);
    if (!m->notes) return ss_fail_memory(error, "keeping notes");
    memset(m->notes, 0, size);
    m->notes_size = size;
  }
  *out = m->notes;
  return true;
}

bool ss_memory_split(struct ss_memory *m, uint32_t shards, struct ss_error *error) {
  if (m->shards == 0) {
    m->shard = ss_alloc_zero(shards, sizeof *m->shard);
    if (!m->shard) return ss_fail_memory(error, "keeping residuals");
    m->shards = shards;
  }
  return true;
}
