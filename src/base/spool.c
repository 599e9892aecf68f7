#include "base/spool.h"

#include "base/file.h"

#include <unistd.h>

/* A stream is a chain of blocks. The file has full ones alone: each begins with the number of the stream's next
 * block, which is given away when the block is written. */
struct ss_spool_stream {
  uint64_t first, next; /* numbers of its first block, and of the one in memory */
  uint64_t full;        /* blocks in the file */
  size_t used;          /* B of the block in memory */
};

enum { LINK = sizeof(uint64_t), ALL_BLOCKS = 1 << 26, LEAST = 512, MOST = 1 << 16 /* B */ };

bool ss_spool_open(struct ss_spool *s, const char *beside, uint32_t streams, struct ss_error *error) {
  const size_t fair = ALL_BLOCKS / (streams > 0 ? streams : 1), block_bytes = fair < LEAST  ? LEAST
                                                                              : fair > MOST ? MOST
                                                                                            : fair;
  *s = (struct ss_spool){
      .beside = beside, .file = -1, .streams = streams, .block_bytes = block_bytes, .blocks = streams};
  s->stream = ss_alloc_zero(streams, sizeof *s->stream);
  s->block = ss_alloc(streams, block_bytes);
  if (!s->stream || !s->block) {
    ss_spool_close(s);
    return ss_fail_memory(error, "making room for what endpoints do");
  }
  for (uint32_t i = 0; i < streams; i++) s->stream[i].first = s->stream[i].next = i;
  return true;
}

void ss_spool_close(struct ss_spool *s) {
  if (s->block_bytes && s->file >= 0) (void)close(s->file);
  free(s->stream);
  free(s->block);
  *s = (struct ss_spool){0};
}

static uint64_t offset_of(const struct ss_spool *s, uint64_t block) {
  return block * (s->block_bytes + LINK);
}

static bool flush(struct ss_spool *s, uint32_t stream, struct ss_error *error) {
  struct ss_spool_stream *at = &s->stream[stream];
  const uint64_t offset = offset_of(s, at->next);
  const uint64_t next = s->blocks++;
  if (s->file < 0) s->file = ss_scratch_open(s->beside, error);
  if (s->file < 0) return false;
  if (!ss_scratch_write(s->file, &next, LINK, offset, error) ||
      !ss_scratch_write(s->file, s->block + (size_t)stream * s->block_bytes, s->block_bytes, offset + LINK, error))
    return false;
  at->next = next;
  at->full++;
  at->used = 0;
  return true;
}

bool ss_spool_add(struct ss_spool *s, uint32_t stream, const void *bytes, size_t size, struct ss_error *error) {
  struct ss_spool_stream *at = &s->stream[stream];
  unsigned char *block = s->block + (size_t)stream * s->block_bytes;
  for (const unsigned char *from = bytes; size > 0;) {
    const size_t left = s->block_bytes - at->used, part = size < left ? size : left;
    memcpy(block + at->used, from, part);
    at->used += part;
    from += part;
    size -= part;
    if (at->used == s->block_bytes && !flush(s, stream, error)) return false;
  }
  return true;
}

bool ss_spool_read(const struct ss_spool *s, uint32_t stream, struct ss_spool_cursor *cursor, void *bytes,
                   size_t size, struct ss_error *error) {
  const struct ss_spool_stream *at = &s->stream[stream];
  for (char *to = bytes; size > 0;) {
    const uint64_t within = cursor->at % s->block_bytes, left = s->block_bytes - within;
    const size_t part = size < left ? size : (size_t)left;
    if (cursor->at == 0) cursor->block = at->first;
    else if (within == 0 && !ss_scratch_read(s->file, &cursor->block, LINK, offset_of(s, cursor->block), error))
      return false;
    if (cursor->at / s->block_bytes == at->full)
      memcpy(to, s->block + (size_t)stream * s->block_bytes + within, part);
    else if (!ss_scratch_read(s->file, to, part, offset_of(s, cursor->block) + LINK + within, error)) return false;
    cursor->at += part;
    to += part;
    size -= part;
  }
  return true;
}

bool ss_spool_copy(const struct ss_spool *s, uint32_t stream, FILE *to, struct ss_error *error) {
  const struct ss_spool_stream *at = &s->stream[stream];
  struct ss_spool_cursor cursor = {0};
  SS_AUTO_FREE unsigned char *block = ss_alloc(1, s->block_bytes);
  if (!block) return ss_fail_memory(error, "reading back what endpoints do");
  for (uint64_t i = 0; i <= at->full; i++) {
    const size_t size = i < at->full ? s->block_bytes : at->used;
    if (!ss_spool_read(s, stream, &cursor, block, size, error)) return false;
    (void)fwrite(block, 1, size, to);
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
