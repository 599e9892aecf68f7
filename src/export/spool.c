#include "export/spool.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A stream is a chain of blocks. The file has full ones alone: each begins with the place of the stream's next block,
 * which is given away when the block is written. */
struct ss_spool_stream {
  uint64_t first, next; /* places of its first block, and of the one in memory */
  uint64_t full;        /* blocks in the file */
  size_t used;          /* B of the block in memory */
};

enum { LINK = sizeof(uint64_t), ALL_BLOCKS = 1 << 26, LEAST = 512, MOST = 1 << 16 /* B */ };

/* No name stays, whatever ends the process. */
static int open_nameless(const char *folder, struct ss_error *error) {
  char path[PATH_MAX];
  int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  if (snprintf(path, sizeof path, "%s/.sparsync-XXXXXX", folder) < (int)sizeof path) file = mkostemp(path, O_CLOEXEC);
  if (file >= 0) (void)unlink(path);
  else (void)ss_fail(error, SS_MACHINE, "%s: cannot write: %s", folder, strerror(errno));
  return file;
}

/* Of the output, or the usual one for standard output. */
static void folder_of(const char *path, char folder[static PATH_MAX]) {
  const char *slash = strrchr(path, '/'), *usual = getenv("TMPDIR");
  if (strcmp(path, "-") == 0) (void)snprintf(folder, PATH_MAX, "%s", usual && *usual ? usual : "/tmp");
  else if (!slash) (void)snprintf(folder, PATH_MAX, ".");
  else (void)snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

bool ss_spool_open(struct ss_spool *s, const char *beside, uint32_t streams, struct ss_error *error) {
  char folder[PATH_MAX];
  const size_t fair = ALL_BLOCKS / (streams > 0 ? streams : 1), room = fair < LEAST  ? LEAST
                                                                       : fair > MOST ? MOST
                                                                                     : fair;
  folder_of(beside, folder);
  *s = (struct ss_spool){.file = open_nameless(folder, error), .streams = streams, .room = room, .blocks = streams};
  if (s->file < 0) return false;
  s->stream = ss_alloc_zero(streams, sizeof *s->stream);
  s->block = ss_alloc(streams, room);
  if (!s->stream || !s->block) {
    ss_spool_close(s);
    return ss_fail_memory(error, "making room for what endpoints do");
  }
  for (uint32_t i = 0; i < streams; i++) s->stream[i].first = s->stream[i].next = i;
  return true;
}

void ss_spool_close(struct ss_spool *s) {
  if (s->stream || s->block || s->room) (void)close(s->file);
  free(s->stream);
  free(s->block);
  *s = (struct ss_spool){0};
}

static bool put(int file, const void *bytes, size_t size, off_t at, struct ss_error *error) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pwrite(file, (const char *)bytes + done, size - done, at + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ss_fail(error, SS_MACHINE, "what endpoints do: cannot write: %s", strerror(errno));
    done += (size_t)n;
  }
  return true;
}

static bool get(int file, void *bytes, size_t size, off_t at, struct ss_error *error) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pread(file, (char *)bytes + done, size - done, at + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ss_fail(error, SS_MACHINE, "what endpoints do: cannot read it back: %s", strerror(errno));
    done += (size_t)n;
  }
  return true;
}

static off_t place_of(const struct ss_spool *s, uint64_t block) {
  return (off_t)(block * (s->room + LINK));
}

static bool flush(struct ss_spool *s, uint32_t stream, struct ss_error *error) {
  struct ss_spool_stream *at = &s->stream[stream];
  const off_t place = place_of(s, at->next);
  const uint64_t next = s->blocks++;
  if (!put(s->file, &next, LINK, place, error) ||
      !put(s->file, s->block + (size_t)stream * s->room, s->room, place + LINK, error))
    return false;
  at->next = next;
  at->full++;
  at->used = 0;
  return true;
}

bool ss_spool_add(struct ss_spool *s, uint32_t stream, const void *bytes, size_t size, struct ss_error *error) {
  struct ss_spool_stream *at = &s->stream[stream];
  unsigned char *block = s->block + (size_t)stream * s->room;
  for (const unsigned char *from = bytes; size > 0;) {
    const size_t left = s->room - at->used, part = size < left ? size : left;
    memcpy(block + at->used, from, part);
    at->used += part;
    from += part;
    size -= part;
    if (at->used == s->room && !flush(s, stream, error)) return false;
  }
  return true;
}

bool ss_spool_copy(struct ss_spool *s, uint32_t stream, FILE *to, struct ss_error *error) {
  const struct ss_spool_stream *at = &s->stream[stream];
  SS_AUTO_FREE unsigned char *block = ss_alloc(1, s->room);
  uint64_t place = at->first;
  if (!block) return ss_fail_memory(error, "reading back what endpoints do");
  for (uint64_t i = 0; i < at->full; i++) {
    const off_t from = place_of(s, place);
    if (!get(s->file, &place, LINK, from, error) || !get(s->file, block, s->room, from + LINK, error)) return false;
    (void)fwrite(block, 1, s->room, to);
  }
  (void)fwrite(s->block + (size_t)stream * s->room, 1, at->used, to);
  return true;
}
