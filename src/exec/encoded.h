/* What chunks look like on the wire, kept for an iteration. The maker of a chunk encodes it once, to however many it
 * goes; a rank that passes it on sends the bytes that came. */
#pragma once

#include "tensor/wire.h"

struct ss_encoded_entry;

/* A zeroed struct is empty. */
struct ss_encoded_store {
  struct ss_encoded_entry *entry; /* [capacity] by hash; those without bytes are free */
  size_t capacity, count;
};

/* The bytes of a chunk that is the same in all but to whom it goes; NULL: not known. */
const unsigned char *ss_encoded_find(const struct ss_encoded_store *store, const struct ss_wire *wire,
                                     const struct ss_chunk *chunk);
/* Keeps them; chunk's arrays and bytes must outlive the store, or its next reset. */
bool ss_encoded_keep(struct ss_encoded_store *store, const struct ss_wire *wire, const struct ss_chunk *chunk,
                     const unsigned char *bytes, struct ss_error *error) SS_MUST_CHECK;
void ss_encoded_reset(struct ss_encoded_store *store);
void ss_encoded_free(struct ss_encoded_store *store);
