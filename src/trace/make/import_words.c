/* Words of a text, numbered by frequency (numbering.h) and dealt out to ranks. */
#include "trace/file/trace_internal.h"
#include "trace/make/import.h"
#include "trace/make/numbering.h"

const char *const ss_text_layout_names[] = {"stream", "sentence", NULL};

enum { PAD = 0, UNKNOWN = 1 };

/* One import at work. `units` are what the layout deals out: words, or sentences. */
struct job {
  const struct ss_import *import;
  uint64_t tokens, lines; /* lines without a word are not counted */
  uint32_t *token;        /* [tokens] each one's word by first occurrence, from 1; then its row */
  uint64_t *line;         /* [lines + 1] first token of each line */
  struct ss_numbering words;
  char *folded; /* scratch */
  size_t folded_capacity;
  uint64_t units, units_each; /* in the text; of one rank in one iteration */
  uint64_t iterations;
};

/* --- words -------------------------------------------------------------------------------------------------- */

static bool in_word(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool number_word(struct job *job, const char *spelling, size_t length, uint32_t *out) {
  if (!ss_grow(job->folded, job->folded_capacity, length)) return false;
  for (size_t i = 0; i < length; i++) {
    const char c = spelling[i];
    job->folded[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return ss_numbering_see(&job->words, job->folded, length, out);
}

/* Counts tokens and lines, and once there is room for them lists them. */
static bool scan(const char *text, size_t size, bool list, struct job *job) {
  bool line_has_word = false;
  job->tokens = job->lines = 0;
  for (size_t i = 0; i < size; i++) {
    if (text[i] == '\n') line_has_word = false;
    if (!in_word((unsigned char)text[i])) continue;
    const size_t begin = i;
    while (i + 1 < size && in_word((unsigned char)text[i + 1])) i++;
    if (list && !line_has_word) job->line[job->lines] = job->tokens;
    job->lines += !line_has_word;
    line_has_word = true;
    if (list && !number_word(job, text + begin, i + 1 - begin, &job->token[job->tokens])) return false;
    job->tokens++;
  }
  return true;
}

static bool read_words(const char *text, size_t size, struct job *job) {
  if (!scan(text, size, false, job)) return false;
  job->token = ss_alloc(job->tokens, sizeof *job->token);
  job->line = ss_alloc(job->lines + 1, sizeof *job->line);
  if (!job->token || !job->line || !scan(text, size, true, job)) return false;
  job->line[job->lines] = job->tokens;
  return true;
}

/* Row 0 of the numbering is that of words too rare for a row, which are unknown here: behind the padding. */
static bool rank_words(struct job *job) {
  if (!ss_numbering_rank(&job->words, job->import->vocab ? job->import->vocab - 1 : 0)) return false;
  for (uint64_t i = 0; i < job->tokens; i++) job->token[i] = UNKNOWN + ss_numbering_row(&job->words, job->token[i]);
  return true;
}

/* --- what each rank reads ------------------------------------------------------------------------------------- */

static uint64_t first_unit(const struct job *job, uint64_t iteration, uint64_t rank) {
  const unsigned __int128 share = (unsigned __int128)rank * job->units / job->import->ranks;
  return (uint64_t)share + iteration * job->units_each;
}

static uint64_t longest_sentence(const struct job *job, uint64_t first) {
  uint64_t longest = 0;
  for (uint64_t i = first; i < first + job->units_each; i++) {
    const uint64_t length = job->line[i + 1] - job->line[i];
    longest = length > longest ? length : longest;
  }
  return longest;
}

static uint64_t segment_length(const struct job *job, uint64_t first) {
  return job->units_each * (job->import->layout == SS_STREAM ? 1 : longest_sentence(job, first));
}

static uint64_t segment_tokens(const struct job *job, uint64_t first) {
  if (job->import->layout == SS_STREAM) return job->units_each;
  return job->line[first + job->units_each] - job->line[first];
}

static void fill_sentences(const struct job *job, uint64_t first, uint32_t *out) {
  const uint64_t longest = longest_sentence(job, first);
  for (uint64_t i = first; i < first + job->units_each; i++)
    for (uint64_t j = 0; j < longest; j++)
      *out++ = j < job->line[i + 1] - job->line[i] ? job->token[job->line[i] + j] : PAD;
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

static bool build(const char *name, const struct job *job, struct ss_trace **out, struct ss_error *error) {
  SS_AUTO(ss_arena_free) struct ss_arena data = {0};
  const struct ss_import *import = job->import;
  const uint64_t ranks = import->ranks, segments = job->iterations * ranks;
  SS_AUTO_FREE uint64_t *tokens = ss_alloc(segments, sizeof *tokens);
  uint64_t *offsets = ss_arena_alloc(&data, segments + 1, sizeof *offsets);
  if (!tokens || !offsets || !measure(job, offsets, tokens)) return ss_fail_memory(error, "importing a text");
  uint32_t *ids = ss_arena_alloc(&data, offsets[segments], sizeof *ids);
  if (!ids) return ss_fail_memory(error, "importing a text");
  for (uint64_t segment = 0; segment < segments; segment++) {
    const uint64_t first = first_unit(job, segment / ranks, segment % ranks);
    if (import->layout == SS_STREAM)
      memcpy(ids + offsets[segment], job->token + first, job->units_each * sizeof *ids);
    else fill_sentences(job, first, ids + offsets[segment]);
  }
  const struct ss_tensor tensor = {import->tensor, job->words.rows + 1, import->row_width, import->dtype};
  const struct ss_trace_content content = {.source = import->source,
                                           .iterations = job->iterations,
                                           .ranks = import->ranks,
                                           .tensors = 1,
                                           .tensor = &tensor,
                                           .offsets = (const uint64_t *const[]){offsets},
                                           .rows = (const uint32_t *const[]){ids},
                                           .tokens = tokens,
                                           .pad_id = PAD};
  return ss_trace_adopt(name, &content, &data, out, error);
}

/* How many iterations the text has for every rank, or an error that says how much is there. */
static bool plan(const char *name, struct job *job, struct ss_error *error) {
  const struct ss_import *import = job->import;
  const bool stream = import->layout == SS_STREAM;
  job->units = stream ? job->tokens : job->lines;
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

static void job_free(struct job *job) {
  free(job->token);
  free(job->line);
  free(job->folded);
  ss_numbering_free(&job->words);
}

bool ss_trace_import(const char *name, const char *text, size_t size, const struct ss_import *import,
                     struct ss_trace **out, struct ss_error *error) {
  SS_AUTO(job_free) struct job job = {.import = import};
  if (!check(import, error)) return false;
  if (!read_words(text, size, &job)) return ss_fail_memory(error, "reading the words of a text");
  if (!plan(name, &job, error)) return false;
  if (!rank_words(&job)) return ss_fail_memory(error, "ranking the words of a text");
  return build(name, &job, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
