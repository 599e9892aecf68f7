#include "trace/make/drawn.h"

#include <pthread.h>

enum { SHARES = 4 }; /* so that the longest trace does not push out all others */

struct beginning {
  uint32_t *row;
  uint64_t count;
};

struct ss_drawn_law {
  struct ss_drawn *of;
  struct ss_synth synth; /* iterations, ranks and lookups: the most that were asked for */
  uint64_t bytes;        /* that it may take */
  pthread_mutex_t lock;
  struct beginning *beginning; /* [iterations * ranks] */
};

struct ss_drawn {
  uint64_t most, bytes, spared;
  pthread_mutex_t lock; /* of the list and the counts */
  struct ss_drawn_law **law;
  size_t count;
};

/* --- life --------------------------------------------------------------------------------------------------- */

struct ss_drawn *ss_drawn_new(uint64_t bytes) {
  struct ss_drawn *drawn = ss_alloc_zero(1, sizeof *drawn);
  if (!drawn) return NULL;
  drawn->most = bytes;
  (void)pthread_mutex_init(&drawn->lock, NULL);
  return drawn;
}

static void free_law(struct ss_drawn_law *law) {
  for (uint64_t i = 0; law->beginning && i < law->synth.iterations * law->synth.ranks; i++)
    free(law->beginning[i].row);
  free(law->beginning);
  (void)pthread_mutex_destroy(&law->lock);
  free(law);
}

void ss_drawn_free(struct ss_drawn *drawn) {
  if (!drawn) return;
  for (size_t i = 0; i < drawn->count; i++) free_law(drawn->law[i]);
  free(drawn->law);
  (void)pthread_mutex_destroy(&drawn->lock);
  free(drawn);
}

uint64_t ss_drawn_spared(const struct ss_drawn *drawn) {
  return drawn->spared;
}

/* --- laws --------------------------------------------------------------------------------------------------- */

/* The list is locked. */
static struct ss_drawn_law *find(struct ss_drawn *drawn, const struct ss_synth *synth) {
  for (size_t i = 0; i < drawn->count; i++)
    if (ss_synth_same_law(&drawn->law[i]->synth, synth)) return drawn->law[i];
  if (!ss_grow_by_one(drawn->law, drawn->count)) return NULL;
  struct ss_drawn_law *law = ss_alloc_zero(1, sizeof *law);
  if (!law) return NULL;
  law->of = drawn;
  law->synth = *synth;
  law->synth.tensor = NULL;
  law->synth.iterations = law->synth.lookups = law->synth.ranks = 0;
  (void)pthread_mutex_init(&law->lock, NULL);
  return drawn->law[drawn->count++] = law;
}

/* Room for what is wanted beside what is there; false: it would be too much. */
static bool widen(struct ss_drawn_law *law, const struct ss_synth *synth) {
  const struct ss_synth old = law->synth;
  struct ss_synth wide = old;
  if (synth->iterations > wide.iterations) wide.iterations = synth->iterations;
  if (synth->ranks > wide.ranks) wide.ranks = synth->ranks;
  if (synth->lookups > wide.lookups) wide.lookups = synth->lookups;
  uint64_t segments, lookups, bytes, all = 0;
  if (!ss_mul_u64(wide.iterations, wide.ranks, &segments) || !ss_mul_u64(segments, wide.lookups, &lookups) ||
      !ss_mul_u64(lookups, sizeof(uint32_t), &bytes) || bytes > law->of->most / SHARES ||
      !ss_add_u64(law->of->bytes - law->bytes, bytes, &all) || all > law->of->most)
    return false;
  struct beginning *beginning = ss_alloc_zero(segments, sizeof *beginning);
  if (!beginning) return false;
  for (uint64_t t = 0; t < old.iterations; t++)
    if (old.ranks > 0)
      memcpy(beginning + t * wide.ranks, law->beginning + t * old.ranks, old.ranks * sizeof *beginning);
  free(law->beginning);
  law->beginning = beginning;
  law->synth = wide;
  law->bytes = bytes;
  law->of->bytes = all;
  return true;
}

struct ss_drawn_law *ss_drawn_open(struct ss_drawn *drawn, const struct ss_synth *synth) {
  if (!drawn || synth->reuse) return NULL;
  (void)pthread_mutex_lock(&drawn->lock);
  struct ss_drawn_law *law = find(drawn, synth);
  (void)pthread_mutex_unlock(&drawn->lock);
  if (!law) return NULL;
  (void)pthread_mutex_lock(&law->lock); /* whoever draws the same now has it drawn then */
  (void)pthread_mutex_lock(&drawn->lock);
  const bool room = widen(law, synth);
  (void)pthread_mutex_unlock(&drawn->lock);
  if (room) return law;
  (void)pthread_mutex_unlock(&law->lock);
  return NULL;
}

void ss_drawn_close(struct ss_drawn_law *law, uint64_t spared) {
  if (!law) return;
  (void)pthread_mutex_lock(&law->of->lock);
  law->of->spared += spared;
  (void)pthread_mutex_unlock(&law->of->lock);
  (void)pthread_mutex_unlock(&law->lock);
}

/* --- lookups ------------------------------------------------------------------------------------------------ */

uint64_t ss_drawn_take(struct ss_drawn_law *law, uint64_t iteration, uint32_t rank, uint32_t *rows, uint64_t count) {
  if (!law) return 0;
  const struct beginning *b = &law->beginning[iteration * law->synth.ranks + rank];
  const uint64_t known = b->count < count ? b->count : count;
  if (known > 0) memcpy(rows, b->row, known * sizeof *rows);
  return known;
}

void ss_drawn_put(struct ss_drawn_law *law, uint64_t iteration, uint32_t rank, const uint32_t *rows, uint64_t count) {
  if (!law) return;
  struct beginning *b = &law->beginning[iteration * law->synth.ranks + rank];
  if (count <= b->count) return;
  uint32_t *row = ss_realloc(b->row, count, sizeof *row);
  if (!row) return; /* then it is drawn again */
  memcpy(row + b->count, rows + b->count, (count - b->count) * sizeof *row);
  *b = (struct beginning){row, count};
}
/* SPDX-License-Identifier: Apache-2.0 */
