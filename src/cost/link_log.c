#include "cost/link_log.h"

#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, WORDS = 64, RANKS = 65536, HOST = 64, BLOCK = 4 /* time algbw busbw #wrong */ };
static const size_t LARGEST = (size_t)64 << 20;

enum form { RING_ALLREDUCE, SHARES, PING_PONG, STREAM, PAIRWISE };

static const struct tool {
  const char *name;
  const char *title; /* of OSU's: what stands behind "# OSU MPI"; NULL: of nccl-tests */
  enum form form;
  const char *assumes;
} tools[] = {
    {"all_reduce_perf", NULL, RING_ALLREDUCE, "ring all-reduce: 2(P-1)(alpha + M/P*beta)"},
    {"all_gather_perf", NULL, SHARES, "ring all-gather: (P-1)(alpha + M/P*beta), M the size gathered"},
    {"reduce_scatter_perf", NULL, SHARES, "ring reduce-scatter: (P-1)(alpha + M/P*beta), M the size before"},
    {"alltoall_perf", NULL, SHARES, "pairwise exchange: (P-1)(alpha + M/P*beta), M what a rank holds"},
    {"osu_latency", "Latency Test", PING_PONG, "one message: alpha + M*beta"},
    {"osu_bw", "Bandwidth Test", STREAM, "messages that overlap: a gap + M*beta each"},
    {"osu_allreduce", "Allreduce Latency Test", RING_ALLREDUCE, "ring all-reduce: 2(P-1)(alpha + M/P*beta)"},
    {"osu_alltoall", "All-to-All Personalized Exchange Latency Test", PAIRWISE,
     "pairwise exchange: (P-1)(alpha + M*beta), M for each destination"},
};
/* What busbw alone cannot tell apart. */
static const struct tool one_of_three = {"all_gather_perf, reduce_scatter_perf or alltoall_perf", NULL, SHARES,
                                         "a ring or a pairwise exchange: (P-1)(alpha + M/P*beta)"};
enum { TOOLS = sizeof tools / sizeof *tools };

struct reader {
  const char *path;
  const struct ss_link_log_options *options;
  struct ss_link_log *log;
  const struct tool *tool;
  bool nccl;       /* rank lines or nccl-tests' heads were seen */
  uint32_t line;   /* from 1 */
  uint32_t blocks; /* of nccl-tests' columns: 1, or 2 with in place */
  char (*host)[HOST];
  size_t hosts;     /* rank lines */
  bool *seen;       /* [RANKS] */
  size_t rows;      /* also those that were not wished for */
  uint32_t factors; /* rows that tell the ratio of busbw to algbw, and: */
  double factor;    /* the last of these ratios */
  double *size, *seconds;
};

static bool wrong(const struct reader *r, struct ss_error *error, const char *what) {
  return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %s", r->path, r->line, what);
}

/* --- words ------------------------------------------------------------------------------------------------ */

/* Cuts the line into words at blanks; NULL ends them. */
static size_t cut(char *line, char **word) {
  size_t count = 0;
  char *state = NULL;
  for (char *w = strtok_r(line, " \t\r", &state); w && count < WORDS; w = strtok_r(NULL, " \t\r", &state))
    word[count++] = w;
  word[count] = NULL;
  return count;
}

static bool is_number(const char *text, double *out) {
  char *end;
  if (!isdigit((unsigned char)*text) || text[1] == 'x' || text[1] == 'X') return false;
  *out = strtod(text, &end);
  return *end == '\0' && isfinite(*out);
}

static bool is_size(const char *text, double *out) {
  const size_t digits = strspn(text, "0123456789");
  return digits > 0 && digits <= 15 && text[digits] == '\0' && is_number(text, out);
}

static const struct tool *tool_called(const char *name) {
  for (size_t i = 0; i < TOOLS; i++)
    if (strcmp(name, tools[i].name) == 0) return &tools[i];
  return NULL;
}

static bool choose(struct reader *r, const struct tool *tool, struct ss_error *error) {
  if (r->tool && r->tool != tool)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": this is %s, and above was %s: one run to a log",
                   r->path, r->line, tool->name, r->tool->name);
  r->tool = tool;
  return true;
}

/* --- heads ------------------------------------------------------------------------------------------------ */

/* "Rank  0 Group  0 Pid  123 on  host0 device  0 [0x0f] NVIDIA ..." */
static bool read_rank(struct reader *r, char **word, struct ss_error *error) {
  double number;
  if (!word[1] || !is_size(word[1], &number)) return true;
  size_t on = 2;
  while (word[on] && strcmp(word[on], "on") != 0) on++;
  if (!word[on] || !word[on + 1]) return true;
  if (number >= RANKS) return wrong(r, error, "there cannot be so many ranks");
  if (r->seen[(size_t)number]) return wrong(r, error, "this rank stands above already: one run to a log");
  r->seen[(size_t)number] = true;
  r->nccl = true;
  (void)snprintf(r->host[r->hosts++], HOST, "%s", word[on + 1]);
  return true;
}

/* "size count type redop root time algbw busbw #wrong time algbw busbw #wrong" */
static void read_heads(struct reader *r, char **word) {
  uint32_t times = 0;
  if (strcmp(word[0], "size") != 0) return;
  for (size_t i = 1; word[i]; i++) times += strcmp(word[i], "time") == 0;
  if (times == 0) return;
  r->nccl = true;
  r->blocks = times;
}

static bool read_osu_title(struct reader *r, const char *title, struct ss_error *error) {
  for (size_t i = 0; i < TOOLS; i++)
    if (tools[i].title && strncmp(title, tools[i].title, strlen(tools[i].title)) == 0)
      return choose(r, &tools[i], error);
  return wrong(r, error, "of OSU's tests osu_latency, osu_bw, osu_allreduce and osu_alltoall can be read");
}

/* A line that is no row: "#" was taken off. Names of programs may stand anywhere, as in an echoed command. */
static bool read_remark(struct reader *r, char *line, bool comment, struct ss_error *error) {
  char *word[WORDS + 1], *title;
  while (comment && isblank((unsigned char)*line)) line++;
  if (comment && strncmp(line, "OSU MPI", 7) == 0 && (title = strchr(line + 4, ' ')))
    return read_osu_title(r, title + 1 + strspn(title + 1, " "), error);
  if (cut(line, word) == 0) return true;
  if (comment && strcmp(word[0], "Rank") == 0) return read_rank(r, word, error);
  if (comment) read_heads(r, word);
  for (size_t i = 0; word[i]; i++) {
    const char *slash = strrchr(word[i], '/');
    const struct tool *tool = tool_called(slash ? slash + 1 : word[i]);
    if (tool && !choose(r, tool, error)) return false;
  }
  return true;
}

/* --- rows ------------------------------------------------------------------------------------------------- */

static bool keep(struct reader *r, double size, double seconds, struct ss_error *error) {
  r->rows++;
  if (!(seconds > 0 && seconds < 1e6)) return wrong(r, error, "a time must be above 0, and below a million seconds");
  if (size < r->options->least || size > r->options->most) return true;
  if (r->log->count == SS_LINK_SAMPLES) return wrong(r, error, "these are more rows than can be fitted (4096)");
  if (!ss_grow_by_one(r->size, r->log->count) || !ss_grow_by_one(r->seconds, r->log->count))
    return ss_fail_memory(error, "reading a log");
  r->size[r->log->count] = size;
  r->seconds[r->log->count++] = seconds;
  return true;
}

/* The blocks are the last columns: older versions leave some of those before out. */
static bool read_nccl_row(struct reader *r, char **word, size_t count, double size, struct ss_error *error) {
  double time, algbw, busbw, bad;
  const size_t width = BLOCK * (size_t)r->blocks, least = 3 + width;
  if (r->options->in_place && r->blocks < 2) return wrong(r, error, "there are no columns for in place");
  if (count < least)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %zu columns, where the heads want at least %zu",
                   r->path, r->line, count, least);
  char **block = word + count - width + (r->options->in_place ? BLOCK : 0);
  if (!is_number(block[0], &time) || !is_number(block[1], &algbw) || !is_number(block[2], &busbw))
    return wrong(r, error, "time, algbw and busbw must be numbers");
  if (is_number(block[3], &bad) && bad > 0.5)
    return wrong(r, error, "the benchmark found wrong results: its times cannot be trusted");
  if (size == 0) return true; /* nothing was sent */
  if (algbw >= 1 && busbw > 0) {
    r->factor = busbw / algbw;
    r->factors++;
  }
  return keep(r, size, time * 1e-6, error);
}

static bool read_osu_row(struct reader *r, char **word, size_t count, double size, struct ss_error *error) {
  double value;
  if (count < 2 || !is_number(word[1], &value)) return wrong(r, error, "the second column must be a number");
  for (size_t i = 2; i < count; i++)
    if (strcmp(word[i], "Fail") == 0)
      return wrong(r, error, "the benchmark found wrong results: its times cannot be trusted");
  if (r->tool->form != STREAM) return keep(r, size, value * 1e-6, error);
  if (!(value > 0)) return wrong(r, error, "a bandwidth must be above 0");
  return keep(r, size, size / (value * 1e6), error);
}

static bool read_row(struct reader *r, char *line, struct ss_error *error) {
  char *word[WORDS + 1];
  double size;
  const size_t count = cut(line, word);
  if (!r->blocks && !(r->tool && r->tool->title)) return true; /* heads come first: this is something else's */
  if (!is_size(word[0], &size)) return true;
  return r->blocks ? read_nccl_row(r, word, count, size, error) : read_osu_row(r, word, count, size, error);
}

/* --- lines ------------------------------------------------------------------------------------------------ */

/* mpirun --tag-output: "[1,0]<stdout>:" */
static char *behind_tag(char *line) {
  const size_t numbers = *line == '[' ? 1 + strspn(line + 1, "0123456789,") : 0;
  if (numbers == 0 || strncmp(line + numbers, "]<std", 5) != 0) return line;
  char *colon = strchr(line, ':');
  return colon ? colon + 1 : line;
}

static bool read_line(struct reader *r, const char *text, size_t length, struct ss_error *error) {
  char line[LINE];
  if (length >= LINE) return wrong(r, error, "longer than 4095 bytes: this is no benchmark's log");
  if (memchr(text, '\0', length)) return wrong(r, error, "a NUL byte: this is no text");
  memcpy(line, text, length);
  line[length] = '\0';
  char *start = behind_tag(line);
  start += strspn(start, " \t\r");
  if (isdigit((unsigned char)*start)) return read_row(r, start, error);
  return read_remark(r, *start == '#' ? start + 1 : start, *start == '#', error);
}

static bool read_lines(struct reader *r, const struct ss_mapping *file, struct ss_error *error) {
  const char *text = (const char *)file->data;
  size_t at = 0;
  while (at < file->size) {
    const char *end = memchr(text + at, '\n', file->size - at);
    const size_t length = end ? (size_t)(end - text) - at : file->size - at;
    r->line++;
    if (!read_line(r, text + at, length, error)) return false;
    at += length + 1;
  }
  return true;
}

/* --- what it amounts to ----------------------------------------------------------------------------------- */

static int by_host(const void *a, const void *b) {
  return strcmp(a, b);
}

static bool count_ranks(struct reader *r, struct ss_error *error) {
  struct ss_link_log *log = r->log;
  log->nodes = 1;
  log->ranks = (uint32_t)r->hosts;
  for (size_t i = 0; i < r->hosts; i++)
    if (!r->seen[i]) return ss_fail(error, SS_BAD_INPUT, "%s: rank %zu is missing from the header", r->path, i);
  qsort(r->host, r->hosts, sizeof *r->host, by_host);
  for (size_t i = 1; i < r->hosts; i++) log->nodes += strcmp(r->host[i], r->host[i - 1]) != 0;
  if (r->tool->form == PING_PONG || r->tool->form == STREAM) log->ranks = 2;
  if (log->ranks == 0) log->ranks = r->options->ranks;
  if (log->ranks == 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: the log does not say how many ranks there were: --ranks P", r->path);
  if (r->options->ranks && r->options->ranks != log->ranks)
    return ss_fail(error, SS_BAD_INPUT, "%s: there were %" PRIu32 " ranks, not %" PRIu32, r->path, log->ranks,
                   r->options->ranks);
  if (log->ranks < 2) return ss_fail(error, SS_BAD_INPUT, "%s: one rank sends nothing", r->path);
  /* With one rank a host they are its nodes; OSU's do not tell where ranks ran. */
  if (r->hosts == 0) log->nodes = log->ranks;
  if (log->ranks % log->nodes != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: %" PRIu32 " ranks on %" PRIu32 " hosts: only logs with equally many on each can be read",
                   r->path, log->ranks, log->nodes);
  return true;
}

/* Older versions of nccl-tests do not say which they are; but busbw is 2(P-1)/P of algbw for an all-reduce, and half
 * of it for the three others, which have the same form. */
static bool settle_tool(struct reader *r, struct ss_error *error) {
  const char *wished = r->options->tool;
  if (wished) {
    const struct tool *tool = tool_called(wished);
    if (!tool) return ss_fail(error, SS_BAD_INPUT, "--tool: \"%s\" is none of those whose logs can be read", wished);
    if (!choose(r, tool, error)) return false;
  }
  if (r->rows == 0 || (!r->nccl && !r->tool))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: no results of nccl-tests (all_reduce_perf, alltoall_perf, all_gather_perf, "
                   "reduce_scatter_perf) or OSU (osu_latency, osu_bw, osu_allreduce, osu_alltoall) are in it",
                   r->path);
  if (r->nccl && r->tool && r->tool->title) return wrong(r, error, "rows of nccl-tests in a log of OSU's");
  const double P = (double)r->hosts, share = P > 0 ? (P - 1) / P : 0;
  const bool told = r->nccl && r->factors > 0 && P > 1;
  const bool twice = told && r->factor > 1.5 * share;
  if (!r->tool && told) r->tool = twice ? tool_called("all_reduce_perf") : &one_of_three;
  if (!r->tool)
    return ss_fail(error, SS_BAD_INPUT, "%s: the log does not say which program it is of: --tool all_reduce_perf",
                   r->path);
  if (told && twice != (r->tool->form == RING_ALLREDUCE))
    return ss_fail(error, SS_BAD_INPUT, "%s: busbw is %.2f of algbw, which %s with %.0f ranks does not print",
                   r->path, r->factor, r->tool->name, P);
  return true;
}

static struct ss_link_sample sample(enum form form, double P, double size, double seconds) {
  const double steps = form == RING_ALLREDUCE ? 2 * (P - 1) : form == SHARES || form == PAIRWISE ? P - 1 : 1;
  const double message = form == RING_ALLREDUCE || form == SHARES ? size / P : size;
  return (struct ss_link_sample){steps, steps * message, message, seconds};
}

static bool finish(struct reader *r, struct ss_error *error) {
  struct ss_link_log *log = r->log;
  if (!settle_tool(r, error) || !count_ranks(r, error)) return false;
  log->tool = r->tool->name;
  log->assumes = r->tool->assumes;
  log->stream = r->tool->form == STREAM;
  log->samples = ss_alloc(log->count, sizeof *log->samples);
  if (!log->samples) return ss_fail_memory(error, "reading a log");
  for (size_t i = 0; i < log->count; i++)
    log->samples[i] = sample(r->tool->form, log->ranks, r->size[i], r->seconds[i]);
  return true;
}

bool ss_link_log_read(const char *path, const struct ss_link_log_options *options, struct ss_link_log *out,
                      struct ss_error *error) {
  struct ss_mapping file;
  *out = (struct ss_link_log){0};
  if (!ss_map_file(path, &file, error)) return false;
  struct reader r = {.path = path,
                     .options = options,
                     .log = out,
                     .host = ss_alloc(RANKS, sizeof *r.host),
                     .seen = ss_alloc_zero(RANKS, sizeof *r.seen)};
  bool ok = file.size <= LARGEST || ss_fail(error, SS_BAD_INPUT, "%s: larger than 64 MiB", path);
  if (ok && (!r.host || !r.seen)) ok = ss_fail_memory(error, "reading a log");
  ok = ok && read_lines(&r, &file, error) && finish(&r, error);
  ss_unmap_file(&file);
  free(r.host);
  free(r.seen);
  free(r.size);
  free(r.seconds);
  if (!ok) ss_link_log_free(out);
  return ok;
}

void ss_link_log_free(struct ss_link_log *log) {
  free(log->samples);
  *log = (struct ss_link_log){0};
}
