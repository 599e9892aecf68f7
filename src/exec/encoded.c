#include "exec/encoded.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

struct ss_encoded_entry {
  struct ss_chunk chunk;
  enum ss_wire_format format;
  const unsigned char *bytes;
};

enum { FEW = 64 };

static size_t slot_of(const struct ss_encoded_store *store, enum ss_wire_format format, const struct ss_chunk *c) {
  const uint64_t arrays = (uint64_t)(uintptr_t)c->rows ^ ss_mix((uint64_t)(uintptr_t)c->values, c->part);
  return (size_t)ss_mix(arrays, ((uint64_t)c->origin << 8) | format) & (store->capacity - 1);
}

/* Where the chunk is, or would be; there is always a free slot. */
static size_t find(const struct ss_encoded_store *store, enum ss_wire_format format, const struct ss_chunk *c) {
  size_t at = slot_of(store, format, c);
  while (store->entry[at].bytes && !(store->entry[at].format == format && ss_chunk_same(&store->entry[at].chunk, c)))
    at = (at + 1) & (store->capacity - 1);
  return at;
}

const unsigned char *ss_encoded_find(const struct ss_encoded_store *store, const struct ss_wire *wire,
                                     const struct ss_chunk *chunk) {
  return store->count > 0 ? store->entry[find(store, wire->format, chunk)].bytes : NULL;
}

static bool grow(struct ss_encoded_store *store) {
  struct ss_encoded_store larger = {.capacity = store->capacity ? 2 * store->capacity : FEW, .count = store->count};
  larger.entry = ss_alloc_zero(larger.capacity, sizeof *larger.entry);
  if (!larger.entry) return false;
  for (size_t i = 0; i < store->capacity; i++) {
    const struct ss_encoded_entry *e = &store->entry[i];
    if (e->bytes) larger.entry[find(&larger, e->format, &e->chunk)] = *e;
  }
  free(store->entry);
  *store = larger;
  return true;
}

bool ss_encoded_keep(struct ss_encoded_store *store, const struct ss_wire *wire, const struct ss_chunk *chunk,
                     const unsigned char *bytes, struct ss_error *error) {
  if (2 * (store->count + 1) > store->capacity && !grow(store))
    return ss_fail_memory(error, "keeping what was encoded");
  struct ss_encoded_entry *e = &store->entry[find(store, wire->format, chunk)];
  store->count += !e->bytes;
  *e = (struct ss_encoded_entry){*chunk, wire->format, bytes};
  return true;
}

void ss_encoded_reset(struct ss_encoded_store *store) {
  if (store->capacity > 0) memset(store->entry, 0, store->capacity * sizeof *store->entry);
  store->count = 0;
}

void ss_encoded_free(struct ss_encoded_store *store) {
  free(store->entry);
  *store = (struct ss_encoded_store){0};
}
