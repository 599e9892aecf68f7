#include "trace/make/import.h"

#include "trace/file/trace_internal.h"
#include "trace/make/words.h"

#include <inttypes.h>

enum { PAD = 0 };

/* One import at work. `units` are what the layout deals out: words, or sentences. */
struct job {
  const struct ss_import *import;
  const struct ss_words *words;
  const uint32_t *ids;        /* [distinct] */
  uint64_t units, units_each; /* in the text; of one rank in one iteration */
  uint64_t iterations;
};

static uint64_t first_unit(const struct job *job, uint64_t iteration, uint64_t rank) {
  const unsigned __int128 share = (unsigned __int128)rank * job->units / job->import->ranks;
  return (uint64_t)share + iteration * job->units_each;
}

static uint64_t sentence_length(const struct ss_words *words, uint64_t sentence) {
  return words->line[sentence + 1] - words->line[sentence];
}

static uint64_t longest_sentence(const struct job *job, uint64_t first) {
  uint64_t longest = 0;
  for (uint64_t i = first; i < first + job->units_each; i++) {
    const uint64_t length = sentence_length(job->words, i);
    longest = length > longest ? length : longest;
  }
  return longest;
}

static uint64_t segment_length(const struct job *job, uint64_t first) {
  if (job->import->layout == SS_STREAM) return job->units_each;
  return longest_sentence(job, first) * job->units_each;
}

static uint64_t segment_tokens(const struct job *job, uint64_t first) {
  if (job->import->layout == SS_STREAM) return job->units_each;
  return job->words->line[first + job->units_each] - job->words->line[first];
}

static void fill_stream(const struct job *job, uint64_t first, uint32_t *out) {
  for (uint64_t i = 0; i < job->units_each; i++) out[i] = job->ids[job->words->token[first + i]];
}

static void fill_sentences(const struct job *job, uint64_t first, uint32_t *out) {
  const uint64_t longest = longest_sentence(job, first);
  for (uint64_t i = 0; i < job->units_each; i++) {
    const uint32_t *token = job->words->token + job->words->line[first + i];
    const uint64_t length = sentence_length(job->words, first + i);
    for (uint64_t j = 0; j < longest; j++) *out++ = j < length ? job->ids[token[j]] : PAD;
  }
}

/* Fills offsets and token counts; false when the padded batches would not fit in 64 bits. */
static bool measure(const struct job *job, uint64_t *offsets, uint64_t *tokens) {
  const uint64_t ranks = job->import->ranks;
  offsets[0] = 0;
  for (uint64_t segment = 0; segment < job->iterations * ranks; segment++) {
    const uint64_t first = first_unit(job, segment / ranks, segment % ranks);
    tokens[segment] = segment_tokens(job, first);
    if (!ss_add_u64(offsets[segment], segment_length(job, first), &offsets[segment + 1])) return false;
  }
  return true;
}

static bool build(const char *name, const struct job *job, uint64_t rows, struct ss_arena *data,
                  struct ss_trace **out, struct ss_error *error) {
  const uint64_t ranks = job->import->ranks, segments = job->iterations * ranks;
  SS_AUTO_FREE uint64_t *tokens = ss_alloc(segments, sizeof *tokens);
  uint64_t *offsets = ss_arena_alloc(data, segments + 1, sizeof *offsets);
  if (!tokens || !offsets || !measure(job, offsets, tokens)) return ss_fail_memory(error, "importing a text");
  uint32_t *ids = ss_arena_alloc(data, offsets[segments], sizeof *ids);
  if (!ids) return ss_fail_memory(error, "importing a text");
  for (uint64_t segment = 0; segment < segments; segment++) {
    const uint64_t first = first_unit(job, segment / ranks, segment % ranks);
    if (job->import->layout == SS_STREAM) fill_stream(job, first, ids + offsets[segment]);
    else fill_sentences(job, first, ids + offsets[segment]);
  }
  const struct ss_tensor tensor = {job->import->tensor, rows, job->import->row_width, job->import->dtype};
  const struct ss_trace_content content = {.source = job->import->source,
                                           .iterations = job->iterations,
                                           .ranks = job->import->ranks,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = (const uint64_t *const[]){offsets},
                                           .rows = (const uint32_t *const[]){ids},
                                           .tokens = tokens,
                                           .pad_id = PAD};
  return ss_trace_adopt(name, &content, data, out, error);
}

/* How many iterations the text has for every rank, or an error that says how much is there. */
static bool plan(const char *name, struct job *job, struct ss_error *error) {
  const struct ss_import *import = job->import;
  const bool stream = import->layout == SS_STREAM;
  job->units = stream ? job->words->tokens : job->words->lines;
  uint64_t needed;
  if (!ss_mul_u64(import->batch, stream ? import->seq : 1, &job->units_each) ||
      !ss_mul_u64(job->units_each, import->ranks, &needed))
    return ss_fail(error, SS_BAD_INPUT, "batch %" PRIu64 " and seq %" PRIu64 " are too large", import->batch,
                   import->seq);
  job->iterations = job->units / import->ranks / job->units_each;
  if (job->iterations < 1)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: has %" PRIu64 " %s; one iteration of %" PRIu32 " ranks takes %" PRIu64
                   " (use fewer ranks or a smaller batch%s)",
                   name, job->units, stream ? "words" : "lines with words", import->ranks, needed,
                   stream ? " or seq" : "");
  if (import->iterations && import->iterations < job->iterations) job->iterations = import->iterations;
  return true;
}

static bool check(const struct ss_import *import, struct ss_error *error) {
  if (import->ranks < 1 || import->ranks > SS_RANKS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "ranks must be 1 to %" PRIu32, SS_RANKS_MAX);
  if (import->batch < 1) return ss_fail(error, SS_BAD_INPUT, "batch must be at least 1");
  if (import->layout == SS_STREAM && import->seq < 1) return ss_fail(error, SS_BAD_INPUT, "seq must be at least 1");
  if (import->vocab == 1 || import->vocab > UINT32_MAX)
    return ss_fail(error, SS_BAD_INPUT, "vocab must be 2 (padding and unknown) to %" PRIu32, UINT32_MAX);
  return true;
}

static bool import_words(const char *name, const struct ss_words *words, const struct ss_import *import,
                         struct ss_trace **out, struct ss_error *error) {
  struct job job = {.import = import, .words = words};
  if (!plan(name, &job, error)) return false;
  uint64_t rows = (uint64_t)words->distinct + 2;
  if (import->vocab && import->vocab < rows) rows = import->vocab;
  SS_AUTO_FREE uint32_t *ids = ss_alloc(words->distinct, sizeof *ids);
  if (!ids || !ss_words_rank(words, rows, ids)) return ss_fail_memory(error, "ranking the words of a text");
  job.ids = ids;
  struct ss_arena data = {0};
  const bool good = build(name, &job, rows, &data, out, error);
  ss_arena_free(&data);
  return good;
}

bool ss_trace_import(const char *name, const char *text, size_t size, const struct ss_import *import,
                     struct ss_trace **out, struct ss_error *error) {
  struct ss_words words;
  if (!check(import, error)) return false;
  if (!ss_words_read(text, size, &words)) return ss_fail_memory(error, "reading the words of a text");
  const bool good = import_words(name, &words, import, out, error);
  ss_words_free(&words);
  return good;
}
