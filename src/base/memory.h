/* Memory: overflow-checked sizes, and arenas.
 *
 * An arena hands out memory that all goes back at once: one owner, no free of single objects. `ss_arena_reset`
 * keeps the blocks for the next use, so a loop of iterations allocates only in its first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a*b or a+b into *out; false when the result does not fit. */
static inline bool ss_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool ss_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

/* B that this process may take, as it or its caller was limited; UINT64_MAX: nobody says. */
uint64_t ss_memory_allowed(void);

/* malloc of count items of `size` bytes; NULL when the product overflows or memory is short. Never NULL for a
 * zero count. */
void *ss_alloc(size_t count, size_t size);
/* The same, zeroed. */
void *ss_alloc_zero(size_t count, size_t size);
/* realloc with a checked product; on failure NULL, and the old block stands. */
void *ss_realloc(void *old, size_t count, size_t size);

struct ss_arena_block;
struct ss_arena {
  struct ss_arena_block *first, *current;
  size_t used;
};

/* 64-byte aligned, uninitialised; NULL when memory is short or the product overflows. A zeroed struct is an
 * empty arena. */
void *ss_arena_alloc(struct ss_arena *arena, size_t count, size_t size);
/* The same, zeroed. */
void *ss_arena_zero(struct ss_arena *arena, size_t count, size_t size);
/* Makes a pointer point to `count` such items as it points to; false when memory is short. */
#define ss_take(arena, pointer, count) (((pointer) = ss_arena_alloc((arena), (count), sizeof *(pointer))) != NULL)
#define ss_take_zero(arena, pointer, count) (((pointer) = ss_arena_zero((arena), (count), sizeof *(pointer))) != NULL)
/* A copy of the text. */
const char *ss_arena_text(struct ss_arena *arena, const char *text);
/* Everything handed out so far is void; blocks are kept. */
void ss_arena_reset(struct ss_arena *arena);
/* Gives all blocks back; the arena is empty and usable. */
void ss_arena_free(struct ss_arena *arena);

/* Where the variable's scope ends, `free_` gets its address: SS_AUTO(ss_arena_free) struct ss_arena arena = {0}; */
#define SS_AUTO(free_) __attribute__((cleanup(free_)))
/* The same of a pointer, which is freed. */
void ss_cleanup_free(void *pointer_to_pointer);
#define SS_AUTO_FREE SS_AUTO(ss_cleanup_free)
/* SPDX-License-Identifier: Apache-2.0 */
