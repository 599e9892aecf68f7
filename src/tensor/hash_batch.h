/* Hashing many keys at once: with vectors of eight where the processor multiplies them (AVX-512), which takes a
 * quarter of the time, and else one by one. Both give the same bits. */
#ifndef SS_TENSOR_HASH_BATCH_H
#define SS_TENSOR_HASH_BATCH_H

#include <stdint.h>

/* places[i] = ss_below(ss_hash_row(keys[i], seed), n), n > 0; `places` may be `keys`. */
void ss_hash_places(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *places);
/* cells[i] = 2 ss_below(ss_hash_row(keys[i], seed), n) + the lowest bit of ss_hash_row(keys[i], seed + 1), for
 * 0 < n < 2^63: a bucket of a count-sketch and a sign. */
void ss_hash_cells(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells);

/* The same without vectors, which tests hold against them. */
void ss_hash_places_plain(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *places);
void ss_hash_cells_plain(const uint64_t *keys, uint64_t count, uint64_t seed, uint64_t n, uint64_t *cells);

#endif
