/* Ids as tokenizers give them: an array in place, or a text whose numbers go to a stream. */
#include "base/file.h"
#include "base/spool.h"
#include "trace/make/npy.h"
#include "trace/make/samples.h"

#include <unistd.h>

enum { BUFFER = 1 << 16 };
#define ID_MOST (UINT32_MAX - 1) /* a table has at most 2^32 - 1 rows */

struct tokens {
  const struct ss_any_import *import;
  const char *name;
  uint64_t seq, vocab, ids, most; /* most: the largest id; vocab 0: that and one */
  struct ss_npy npy;              /* either this */
  struct ss_spool spool;          /* or that, a stream: */
  struct ss_spool_cursor cursor;
  bool is_npy;
};

/* --- text --------------------------------------------------------------------------------------------------- */

/* A number that is being read, perhaps across two buffers. */
struct scanner {
  uint64_t value, line, wanted;
  bool within;
};

static bool fail_byte(const struct tokens *t, const struct scanner *s, unsigned char byte, struct ss_error *error) {
  if (byte == 0x93 && t->ids == 0 && !s->within)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: begins as a .npy array does, which a pipe cannot be: name the file, or < it", t->name);
  if (byte == '-') return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu64 ": a negative id", t->name, s->line);
  return ss_fail(error, SS_BAD_INPUT,
                 "%s: line %" PRIu64 ": byte 0x%02x is of no whole number (ids are parted by white space or commas)",
                 t->name, s->line, byte);
}

static bool add_id(struct tokens *t, const struct scanner *s, struct ss_error *error) {
  if (s->value > ID_MOST)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu64 ": an id beyond %" PRIu32, t->name, s->line, ID_MOST);
  const uint32_t id = (uint32_t)s->value;
  t->ids++;
  return ss_spool_add(&t->spool, 0, &id, sizeof id, error);
}

static bool scan(struct tokens *t, struct scanner *s, const unsigned char *text, size_t size,
                 struct ss_error *error) {
  for (size_t i = 0; i < size && t->ids < s->wanted; i++) {
    const unsigned char c = text[i];
    if (c >= '0' && c <= '9') {
      if (!s->within) s->value = 0;
      s->within = true;
      if (s->value <= ID_MOST) s->value = s->value * 10 + c - '0'; /* else it is too large already */
      continue;
    }
    if (!c || !strchr(" \t\r\n,[]", c)) return fail_byte(t, s, c, error);
    if (s->within && !add_id(t, s, error)) return false;
    s->within = false;
    s->line += c == '\n';
  }
  return true;
}

static bool read_text(struct tokens *t, int descriptor, uint64_t wanted, struct ss_error *error) {
  SS_AUTO(ss_reading_end) struct ss_reading_progress progress = ss_reading_begin(t->import->watcher, descriptor);
  struct scanner s = {.line = 1, .wanted = wanted};
  uint64_t taken = 0;
  SS_AUTO_FREE unsigned char *buffer = ss_alloc(BUFFER, 1);
  if (!buffer) return ss_fail_memory(error, "reading ids");
  if (!ss_spool_open(&t->spool, t->import->output, 1, error)) return false;
  while (t->ids < wanted) {
    const ssize_t got = read(descriptor, buffer, BUFFER);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ss_fail(error, SS_BAD_INPUT, "%s: cannot read: %s", t->name, strerror(errno));
    if (got == 0) return !s.within || add_id(t, &s, error);
    taken += (uint64_t)got;
    if (!scan(t, &s, buffer, (size_t)got, error) || !ss_reading_goes_on(&progress, taken, error)) return false;
  }
  return true;
}

/* --- both --------------------------------------------------------------------------------------------------- */

static bool read_rows(void *context, size_t tensor, uint64_t first, uint64_t count, uint32_t *out,
                      struct ss_error *error) {
  struct tokens *t = context;
  (void)tensor;
  if (first == 0) t->cursor = (struct ss_spool_cursor){0};
  if (!t->is_npy) return ss_spool_read(&t->spool, 0, &t->cursor, out, count * sizeof *out, error);
  ss_npy_ids(&t->npy, first, count, out);
  return true;
}

/* The numbers of an array are not ids yet. */
static bool check_array(const struct tokens *t, uint64_t ids, struct ss_error *error) {
  for (uint64_t i = 0; i < ids; i++) {
    const int64_t id = ss_npy_get(&t->npy, i);
    if (id >= 0 && id <= ID_MOST) continue;
    char index[64];
    if (t->npy.columns)
      (void)snprintf(index, sizeof index, "%" PRIu64 ", %" PRIu64, i / t->npy.columns, i % t->npy.columns);
    else (void)snprintf(index, sizeof index, "%" PRIu64, i);
    return ss_fail(error, SS_BAD_INPUT, "%s: [%s] is %" PRId64 ", not an id from 0 to %" PRIu32, t->name, index, id,
                   ID_MOST);
  }
  return true;
}

/* Finds the largest id, and how many of each segment are not padding: tokens[segments]. */
static bool survey(struct tokens *t, uint64_t segments, uint64_t each, uint64_t *tokens, struct ss_error *error) {
  enum { PIECE = 4096 };
  uint32_t piece[PIECE];
  for (uint64_t segment = 0; segment < segments; segment++) {
    tokens[segment] = 0;
    for (uint64_t first = 0, count; first < each; first += count) {
      count = each - first < PIECE ? each - first : PIECE;
      if (!read_rows(t, 0, segment * each + first, count, piece, error)) return false;
      for (uint64_t i = 0; i < count; i++) {
        t->most = piece[i] > t->most ? piece[i] : t->most;
        tokens[segment] += t->import->pad < 0 || piece[i] != (uint64_t)t->import->pad;
      }
    }
  }
  return true;
}

static bool choose_rows(const struct tokens *t, struct ss_tensor *tensor, struct ss_error *error) {
  const int64_t pad = t->import->pad;
  tensor->rows = t->vocab ? t->vocab : t->most + 1;
  if (t->most >= tensor->rows)
    return ss_fail(error, SS_BAD_INPUT, "%s: has the id %" PRIu64 ", beyond a vocabulary of %" PRIu64, t->name,
                   t->most, tensor->rows);
  if (pad >= 0 && (uint64_t)pad >= tensor->rows)
    return ss_fail(error, SS_BAD_INPUT, "--pad %" PRId64 ": is beyond the table's %" PRIu64 " rows (say --vocab N)",
                   pad, tensor->rows);
  return true;
}

static bool write_trace(struct tokens *t, struct ss_error *error) {
  const struct ss_any_import *import = t->import;
  uint64_t iterations, each;
  if (!ss_samples_iterations(&import->all, t->name, "sequences", t->ids / t->seq, &iterations, error)) return false;
  if (!ss_mul_u64(import->all.batch, t->seq, &each)) return ss_fail_memory(error, "importing ids");
  const uint64_t segments = iterations * import->all.ranks;
  if (t->is_npy && !check_array(t, segments * each, error)) return false;
  SS_AUTO_FREE uint64_t *offsets = ss_alloc(segments + 1, sizeof *offsets);
  SS_AUTO_FREE uint64_t *tokens = ss_alloc(segments, sizeof *tokens);
  if (!offsets || !tokens) return ss_fail_memory(error, "importing ids");
  for (uint64_t i = 0; i <= segments; i++) offsets[i] = i * each;
  struct ss_tensor tensor = {.name = import->all.tensor};
  if (!survey(t, segments, each, tokens, error) || !choose_rows(t, &tensor, error) ||
      !ss_samples_tensors(import, t->name, &tensor, 1, error))
    return false;
  const struct ss_row_source source = {.read = read_rows, .context = t};
  struct ss_trace_content content = {.iterations = iterations,
                                     .tensors = 1,
                                     .tensor = &tensor,
                                     .offsets = (const uint64_t *const[]){offsets},
                                     .row_source = &source,
                                     .tokens = tokens,
                                     .pad_id = import->pad};
  return ss_samples_write(import, &content, error);
}

/* Is it an array? Of what cannot be mapped, such as a pipe, nobody knows: it is a text. */
static bool looks_like_npy(int descriptor) {
  char magic[6];
  return pread(descriptor, magic, sizeof magic, 0) == sizeof magic && memcmp(magic, "\x93NUMPY", sizeof magic) == 0;
}

static bool import_array(struct tokens *t, const char *path, struct ss_error *error) {
  t->is_npy = true;
  if (!ss_npy_open(path, &t->npy, error)) return false;
  t->ids = t->npy.count;
  if (t->npy.columns && t->import->all.seq)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: has rows of %" PRIu64 " ids, which are its samples: --seq says nothing here", t->name,
                   t->npy.columns);
  if (t->npy.columns) t->seq = t->npy.columns;
  return write_trace(t, error);
}

static bool import_text(struct tokens *t, int descriptor, uint64_t samples, struct ss_error *error) {
  uint64_t wanted;
  if (!ss_mul_u64(samples, t->seq, &wanted)) wanted = UINT64_MAX;
  return read_text(t, descriptor, wanted, error) && write_trace(t, error);
}

static void tokens_free(struct tokens *t) {
  ss_npy_close(&t->npy);
  ss_spool_close(&t->spool);
}

bool ss_import_tokens(const struct ss_any_import *import, struct ss_error *error) {
  SS_AUTO(tokens_free)
  struct tokens t = {
      .import = import, .name = ss_import_name(import), .seq = import->all.seq ? import->all.seq : SS_SEQ};
  uint64_t samples;
  if (!ss_per_table_get_one(import->vocab, import->all.tensor, 0, 1, &t.vocab, error) ||
      !ss_samples_wanted(&import->all, &samples, error))
    return false;
  SS_AUTO(ss_cleanup_close) const int descriptor = ss_stream_open(import->file.text[0], error);
  if (descriptor < 0 || !ss_output_check(import->output, error)) return false;
  return looks_like_npy(descriptor) ? import_array(&t, import->file.text[0], error)
                                    : import_text(&t, descriptor, samples, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
