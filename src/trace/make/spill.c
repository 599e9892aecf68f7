#include "trace/make/spill.h"

#include "base/file.h"
#include "base/memory.h"

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

static bool flush(struct ss_spill *spill, struct ss_error *error) {
  if (spill->file < 0) spill->file = ss_scratch_open(spill->beside, error);
  if (spill->file < 0) return false;
  const size_t row = spill->columns * sizeof *spill->ids;
  if (!ss_scratch_write(spill->file, spill->ids, row * spill->block, spill->written * row, error)) return false;
  spill->written = spill->rows;
  return true;
}

uint32_t *ss_spill_next(struct ss_spill *spill, struct ss_error *error) {
  if (spill->rows - spill->written == spill->block && !flush(spill, error)) return NULL;
  return spill->ids + (spill->rows - spill->written);
}

bool ss_spill_read(const struct ss_spill *spill, size_t column, uint64_t first, uint64_t count, uint32_t *out,
                   struct ss_error *error) {
  for (uint64_t part; count > 0; first += part, count -= part, out += part) {
    const uint64_t within = first % spill->block, left = spill->block - within,
                   offset = column * spill->block + within;
    part = count < left ? count : left;
    if (first >= spill->written) memcpy(out, spill->ids + offset, part * sizeof *out);
    else if (!ss_scratch_read(spill->file, out, part * sizeof *out,
                              ((first - within) * spill->columns + offset) * sizeof *out, error))
      return false;
  }
  return true;
}
