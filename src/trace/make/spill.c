#include "trace/make/spill.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_IDS = 1 << 21 /* 8 MB */, BLOCK_ROWS_LEAST = 256 };

bool ss_spill_open(struct ss_spill *spill, size_t columns, const char *beside, struct ss_error *error) {
  *spill = (struct ss_spill){.beside = beside, .columns = columns, .block = BLOCK_ROWS_LEAST, .file = -1};
  while (spill->block * 2 * columns <= BLOCK_IDS) spill->block *= 2;
  spill->ids = ss_alloc(columns, spill->block * sizeof *spill->ids);
  return spill->ids || ss_fail_memory(error, "importing samples");
}

void ss_spill_close(struct ss_spill *spill) {
  free(spill->ids);
  if (spill->file >= 0) close(spill->file);
  *spill = (struct ss_spill){.file = -1};
}

static bool fail_file(const char *verb, struct ss_error *error) {
  return ss_fail(error, SS_MACHINE, "cannot %s a temporary file: %s", verb, strerror(errno));
}

static bool flush(struct ss_spill *spill, struct ss_error *error) {
  if (spill->file < 0) spill->file = ss_scratch_open(spill->beside, error);
  if (spill->file < 0) return false;
  const char *at = (const char *)spill->ids;
  size_t left = spill->columns * spill->block * sizeof *spill->ids;
  while (left > 0) {
    const ssize_t put = write(spill->file, at, left);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail_file("write", error);
    at += put;
    left -= (size_t)put;
  }
  spill->written = spill->rows;
  return true;
}

uint32_t *ss_spill_next(struct ss_spill *spill, struct ss_error *error) {
  if (spill->rows - spill->written == spill->block && !flush(spill, error)) return NULL;
  return spill->ids + (spill->rows - spill->written);
}

static bool read_all(int file, void *out, size_t size, uint64_t place, struct ss_error *error) {
  for (char *at = out; size > 0;) {
    const ssize_t got = pread(file, at, size, (off_t)place);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO; /* somebody cut it */
    if (got <= 0) return fail_file("read", error);
    at += got;
    place += (uint64_t)got;
    size -= (size_t)got;
  }
  return true;
}

bool ss_spill_read(const struct ss_spill *spill, size_t column, uint64_t first, uint64_t count, uint32_t *out,
                   struct ss_error *error) {
  for (uint64_t part; count > 0; first += part, count -= part, out += part) {
    const uint64_t within = first % spill->block, left = spill->block - within,
                   place = column * spill->block + within;
    part = count < left ? count : left;
    if (first >= spill->written) memcpy(out, spill->ids + place, part * sizeof *out);
    else if (!read_all(spill->file, out, part * sizeof *out,
                       ((first - within) * spill->columns + place) * sizeof *out, error))
      return false;
  }
  return true;
}
