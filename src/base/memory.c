#include "base/base.h"

#include <sys/resource.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 64 << 10, LARGEST_DOUBLING = 64 << 20 };

/* Its own size is a whole alignment, so that what follows it is aligned as it is. */
struct ss_arena_block {
  _Alignas(ALIGNMENT) struct ss_arena_block *next;
  size_t size;
};

static bool byte_count(size_t count, size_t size, size_t *out) {
  if (__builtin_mul_overflow(count, size, out)) return false;
  if (*out == 0) *out = 1; /* NULL is to mean failure, and nothing else */
  return *out <= PTRDIFF_MAX;
}

uint64_t ss_memory_allowed(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

void *ss_alloc(size_t count, size_t size) {
  size_t bytes;
  return byte_count(count, size, &bytes) ? malloc(bytes) : NULL;
}

void *ss_alloc_zero(size_t count, size_t size) {
  size_t bytes;
  return byte_count(count, size, &bytes) ? calloc(1, bytes) : NULL;
}

void *ss_realloc(void *old, size_t count, size_t size) {
  size_t bytes;
  return byte_count(count, size, &bytes) ? realloc(old, bytes) : NULL;
}

static size_t next_block_size(const struct ss_arena *arena, size_t bytes) {
  size_t size = FIRST_BLOCK;
  if (arena->current != NULL && arena->current->size >= FIRST_BLOCK) size = 2 * arena->current->size;
  if (size > LARGEST_DOUBLING) size = LARGEST_DOUBLING;
  return size > bytes ? size : bytes;
}

/* Takes a block of at least `bytes` out of those that a reset left behind the current one. */
static struct ss_arena_block *take_kept(struct ss_arena *arena, size_t bytes) {
  if (arena->current == NULL) return NULL;
  for (struct ss_arena_block **link = &arena->current->next; *link != NULL; link = &(*link)->next) {
    struct ss_arena_block *block = *link;
    if (block->size < bytes) continue;
    *link = block->next;
    return block;
  }
  return NULL;
}

static struct ss_arena_block *new_block(const struct ss_arena *arena, size_t bytes) {
  const size_t size = next_block_size(arena, bytes);
  struct ss_arena_block *block = aligned_alloc(ALIGNMENT, sizeof *block + size);
  if (block != NULL) block->size = size;
  return block;
}

/* Puts `block` behind the current one and makes it current. */
static void enter_block(struct ss_arena *arena, struct ss_arena_block *block) {
  struct ss_arena_block **link = arena->current == NULL ? &arena->first : &arena->current->next;
  block->next = *link;
  *link = block;
  arena->current = block;
  arena->used = 0;
}

void *ss_arena_alloc(struct ss_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (!byte_count(count, size, &bytes) || bytes > PTRDIFF_MAX - (size_t)2 * ALIGNMENT) return NULL;
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

  if (arena->current == NULL || arena->current->size - arena->used < bytes) {
    struct ss_arena_block *block = take_kept(arena, bytes);
    if (block == NULL) block = new_block(arena, bytes);
    if (block == NULL) return NULL;
    enter_block(arena, block);
  }
  char *memory = (char *)(arena->current + 1) + arena->used;
  arena->used += bytes;
  return memory;
}

void *ss_arena_zero(struct ss_arena *arena, size_t count, size_t size) {
  void *memory = ss_arena_alloc(arena, count, size);
  return memory ? memset(memory, 0, count * size) : NULL;
}

const char *ss_arena_text(struct ss_arena *arena, const char *text) {
  const size_t size = strlen(text) + 1;
  char *copy = ss_arena_alloc(arena, size, 1);
  return copy ? memcpy(copy, text, size) : NULL;
}

void ss_arena_reset(struct ss_arena *arena) {
  arena->current = arena->first;
  arena->used = 0;
}

void ss_arena_free(struct ss_arena *arena) {
  struct ss_arena_block *block = arena->first;
  while (block != NULL) {
    struct ss_arena_block *next = block->next;
    free(block);
    block = next;
  }
  *arena = (struct ss_arena){0};
}

void ss_cleanup_free(void *pointer_to_pointer) {
  void *pointer; /* by memcpy: the variable need not be a `void *`, and aliasing it as one is undefined */
  memcpy(&pointer, pointer_to_pointer, sizeof pointer);
  free(pointer);
}
/* SPDX-License-Identifier: Apache-2.0 */
