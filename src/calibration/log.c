/* Logs of nccl-tests and OSU's benchmarks: runs, one after the other, each with heads and rows. */
#include "calibration/observations.h"

enum { LINE = 4096, WORDS = 64, RANKS = 65536, HOST = 64, BLOCK = 4 /* time algbw busbw #wrong */ };

/* What the size of a row is. */
enum size { WHOLE, EACH, RATE };

static const struct tool {
  const char *name;
  const char *title; /* of OSU's: what stands behind "# OSU MPI"; NULL: of nccl-tests */
  enum ss_collective collective;
  enum size size; /* EACH: of a block, of which there are P; RATE: the second column is MB/s */
} tools[] = {
    {"all_reduce_perf", NULL, SS_ALLREDUCE, WHOLE},
    {"all_gather_perf", NULL, SS_ALLGATHER, WHOLE},
    {"reduce_scatter_perf", NULL, SS_REDUCE_SCATTER, WHOLE},
    {"alltoall_perf", NULL, SS_ALLTOALL, WHOLE},
    {"sendrecv_perf", NULL, SS_SENDRECV, WHOLE},
    {"osu_latency", "Latency Test", SS_PING_PONG, WHOLE},
    {"osu_bw", "Bandwidth Test", SS_PING_PONG, RATE},
    {"osu_allreduce", "Allreduce Latency Test", SS_ALLREDUCE, WHOLE},
    {"osu_allgather", "Allgather Latency Test", SS_ALLGATHER, EACH},
    {"osu_reduce_scatter", "Reduce_scatter Latency Test", SS_REDUCE_SCATTER, WHOLE},
    {"osu_alltoall", "All-to-All Personalized Exchange Latency Test", SS_ALLTOALL, EACH},
};
enum { TOOLS = sizeof tools / sizeof *tools };
static const char can_be_read[] = "nccl-tests (all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, "
                                  "sendrecv_perf) or OSU (osu_latency, osu_bw, osu_allreduce, osu_allgather, "
                                  "osu_reduce_scatter, osu_alltoall)";

struct row {
  uint32_t line;
  double size, seconds;
};

/* A run, as far as it has been read. */
struct reader {
  const char *path;
  const struct ss_reading *reading;
  struct ss_observations *out;
  uint32_t line; /* from 1 */
  const struct tool *tool;
  bool nccl;       /* rank lines or nccl-tests' heads were seen */
  uint32_t blocks; /* of nccl-tests' columns: 1, or 2 with in place */
  char (*host)[HOST];
  size_t hosts; /* rank lines */
  bool *seen;   /* [RANKS] */
  struct row *row;
  size_t rows, rows_room;
  uint32_t told; /* rows, those without a time among them */
  double factor; /* of the last row that tells the ratio of busbw to algbw; 0: none does */
  uint32_t runs; /* that ended with rows */
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

/* --- runs ------------------------------------------------------------------------------------------------- */

static const struct tool *tool_called(const char *name) {
  for (size_t i = 0; i < TOOLS; i++)
    if (strcmp(name, tools[i].name) == 0) return &tools[i];
  return NULL;
}

static int by_host(const void *a, const void *b) {
  return strcmp(a, b);
}

/* What the heads do not say, the options do; pairs are on two nodes. */
static bool count_ranks(struct reader *r, uint32_t *ranks, uint32_t *nodes, struct ss_error *error) {
  const struct ss_reading *reading = r->reading;
  for (size_t i = 0; i < r->hosts; i++)
    if (!r->seen[i]) return ss_fail(error, SS_BAD_INPUT, "%s: rank %zu is missing from the header", r->path, i);
  *ranks = r->tool->collective == SS_PING_PONG ? 2 : (uint32_t)r->hosts;
  if (*ranks == 0) *ranks = reading->ranks;
  if (*ranks == 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: the log does not say how many ranks there were: --ranks P", r->path);
  if (r->hosts > 0 && reading->ranks && reading->ranks != r->hosts)
    return ss_fail(error, SS_BAD_INPUT, "%s: there were %zu ranks, not %" PRIu32, r->path, r->hosts, reading->ranks);
  if (*ranks < 2) return ss_fail(error, SS_BAD_INPUT, "%s: one rank sends nothing", r->path);
  qsort(r->host, r->hosts, sizeof *r->host, by_host);
  *nodes = 1;
  for (size_t i = 1; i < r->hosts; i++) *nodes += strcmp(r->host[i], r->host[i - 1]) != 0;
  if (r->hosts == 0)
    *nodes = *ranks / (reading->per_node > 0 && r->tool->collective != SS_PING_PONG ? reading->per_node : 1);
  if (*nodes == 0 || *ranks % *nodes != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: %" PRIu32 " ranks on %" PRIu32 " hosts: only logs with equally many on each can be read",
                   r->path, *ranks, *nodes);
  if (r->hosts == 0 && !reading->per_node && r->tool->collective != SS_PING_PONG) {
    char text[256];
    (void)snprintf(text, sizeof text,
                   "%.150s does not say where its ranks ran: one on each node is supposed (--gpus-per-node G)",
                   r->path);
    ss_notice_tell(reading->notice, text);
  }
  return true;
}

bool ss_tool_is_of(const char *text, const char *path) {
  const char *equals = strrchr(text, '='), *slash = strrchr(path, '/');
  const size_t length = equals ? (size_t)(equals - text) : 0;
  return equals && ((strlen(path) == length && strncmp(text, path, length) == 0) ||
                    (slash && strlen(slash + 1) == length && strncmp(text, slash + 1, length) == 0));
}

const char *ss_tool_name(const char *text, struct ss_error *error) {
  const char *equals = strrchr(text, '='), *name = equals ? equals + 1 : text;
  if (tool_called(name)) return name;
  (void)ss_fail(error, SS_BAD_INPUT, "--tool: \"%s\" is none of those whose logs can be read: %s", name, can_be_read);
  return NULL;
}

/* What the options say of this log, or of all logs, where the log itself does not; the last one counts. */
static bool tool_given(struct reader *r, struct ss_error *error) {
  const char *own = r->tool ? r->tool->name : NULL;
  for (size_t i = 0; i < r->reading->tools; i++) {
    const char *text = r->reading->tool[i], *name = ss_tool_name(text, error), **found = &r->reading->found[i];
    if (!name) return false;
    if (strchr(text, '=') && !ss_tool_is_of(text, r->path)) continue;
    if (!own) r->tool = tool_called(name);
    if (!*found || !own || strcmp(own, name) == 0) *found = own ? own : name;
  }
  return true;
}

/* Older versions of nccl-tests do not say which they are; but busbw is 2(P-1)/P of algbw for an all-reduce, (P-1)/P
 * of it for the three others that divide what they carry, which are rings of one form, and algbw itself for a
 * sendrecv. */
static bool settle_tool(struct reader *r, struct ss_error *error) {
  const double P = (double)r->hosts, share = P > 0 ? (P - 1) / P : 0;
  const bool told = r->nccl && r->factor > 0 && P > 1;
  const bool twice = told && r->factor > 1.5 * share;
  if (r->nccl && r->tool && r->tool->title) return wrong(r, error, "rows of nccl-tests in a log of OSU's");
  if (!tool_given(r, error)) return false;
  if (!r->tool && told && !twice)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: the log is of all_gather_perf, reduce_scatter_perf or alltoall_perf, but does not say of "
                   "which: --tool NAME",
                   r->path);
  if (!r->tool && told) r->tool = tool_called("all_reduce_perf");
  if (!r->tool)
    return ss_fail(error, SS_BAD_INPUT, "%s: the log does not say which program it is of: --tool all_reduce_perf",
                   r->path);
  if (told && r->tool->collective != SS_SENDRECV && twice != (r->tool->collective == SS_ALLREDUCE))
    return ss_fail(error, SS_BAD_INPUT, "%s: busbw is %.2f of algbw, which %s with %.0f ranks does not print",
                   r->path, r->factor, r->tool->name, P);
  return true;
}

static bool add_rows(struct reader *r, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  struct ss_observation one = {.stream = r->tool->size == RATE,
                               .library = r->tool->title ? SS_OPEN_MPI : SS_NCCL,
                               .nodes = nodes,
                               .per_node = ranks / nodes};
  if (!ss_reading_suppose(r->reading, r->tool->collective, &one, error)) return false;
  for (size_t i = 0; i < r->rows; i++) {
    one.line = r->row[i].line;
    one.bytes = (uint64_t)(r->tool->size == EACH ? r->row[i].size * ranks : r->row[i].size);
    one.seconds = r->row[i].seconds;
    if (!ss_observations_add(r->out, r->reading, r->row[i].size, &one, error)) return false;
  }
  return true;
}

/* A run that ended: its rows are taken, and what it said is forgotten. */
static bool end_run(struct reader *r, struct ss_error *error) {
  uint32_t ranks, nodes;
  if (r->told > 0) {
    if (!settle_tool(r, error) || !count_ranks(r, &ranks, &nodes, error) || !add_rows(r, ranks, nodes, error))
      return false;
    r->runs++;
  }
  memset(r->seen, 0, RANKS * sizeof *r->seen);
  r->hosts = r->rows = 0;
  r->told = r->blocks = 0;
  r->tool = NULL;
  r->nccl = false;
  r->factor = 0;
  return true;
}

/* Heads that come after rows are of the next run. */
static bool begin_run(struct reader *r, struct ss_error *error) {
  return r->told == 0 || end_run(r, error);
}

static bool choose(struct reader *r, const struct tool *tool, struct ss_error *error) {
  if (!begin_run(r, error)) return false;
  if (r->tool && r->tool != tool)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": this is %s, and above, without results, was %s",
                   r->path, r->line, tool->name, r->tool->name);
  r->tool = tool;
  return true;
}

/* --- heads ------------------------------------------------------------------------------------------------ */

/* Everything behind "[0x0f]"; logs of one cluster name one kind of device. */
static bool read_hardware(struct reader *r, char **word, struct ss_error *error) {
  char name[sizeof r->out->hardware] = "";
  while (*word && **word != '[') word++;
  if (!*word) return true;
  size_t used = 0;
  for (word++; *word && used + strlen(*word) + 2 < sizeof name; word++)
    used += (size_t)snprintf(name + used, sizeof name - used, "%s%s", used ? " " : "", *word);
  if (!*name || strcmp(name, r->out->hardware) == 0) return true;
  if (*r->out->hardware)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %s, where %s has %s: logs of two clusters make none",
                   r->path, r->line, name, r->out->source[r->out->hardware_source], r->out->hardware);
  (void)snprintf(r->out->hardware, sizeof r->out->hardware, "%s", name);
  r->out->hardware_source = r->out->sources - 1;
  return true;
}

/* "Rank  0 Group  0 Pid  123 on  host0 device  0 [0x0f] NVIDIA ..." */
static bool read_rank(struct reader *r, char **word, struct ss_error *error) {
  double number;
  if (!word[1] || !is_size(word[1], &number)) return true;
  size_t on = 2;
  while (word[on] && strcmp(word[on], "on") != 0) on++;
  if (!word[on] || !word[on + 1]) return true;
  if (!begin_run(r, error)) return false;
  if (number >= RANKS) return wrong(r, error, "there cannot be so many ranks");
  if (r->seen[(size_t)number]) return wrong(r, error, "this rank stands above already");
  r->seen[(size_t)number] = true;
  r->nccl = true;
  (void)snprintf(r->host[r->hosts++], HOST, "%s", word[on + 1]);
  return read_hardware(r, word + on + 2, error);
}

/* "size count type redop root time algbw busbw #wrong time algbw busbw #wrong" */
static bool read_heads(struct reader *r, char **word, struct ss_error *error) {
  uint32_t times = 0;
  if (strcmp(word[0], "size") != 0) return true;
  for (size_t i = 1; word[i]; i++) times += strcmp(word[i], "time") == 0;
  if (times == 0) return true;
  if (!begin_run(r, error)) return false;
  r->nccl = true;
  r->blocks = times;
  return true;
}

static bool read_osu_title(struct reader *r, const char *title, struct ss_error *error) {
  for (size_t i = 0; i < TOOLS; i++)
    if (tools[i].title && strncmp(title, tools[i].title, strlen(tools[i].title)) == 0)
      return begin_run(r, error) && choose(r, &tools[i], error);
  return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": not a log that can be read: %s", r->path, r->line,
                 can_be_read);
}

/* Heads name their units: "(B) (elements) (us) (GB/s)", "Size Avg Latency(us)". Those that benchmarks do not print
 * are somebody else's. */
static bool check_units(const struct reader *r, char **word, struct ss_error *error) {
  static const char *const others[] = {"(s)", "(ms)", "(ns)", "(KB)", "(KiB)", "(MB)", "(Gb/s)"};
  if (word[0][0] != '(' && strcmp(word[0], "Size") != 0) return true;
  for (size_t i = 0; word[i]; i++)
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
      const char *unit = strchr(word[i], '(');
      if (unit && strcmp(unit, others[k]) == 0)
        return ss_fail(error, SS_BAD_INPUT,
                       "%s: line %" PRIu32
                       ": the unit \"%s\" is none that these benchmarks print: sizes must be in B, "
                       "times in us, bandwidths of osu_bw in MB/s",
                       r->path, r->line, unit);
    }
  return true;
}

/* A line that is no row: "#" was taken off. Names of programs may stand anywhere, as in an echoed command. */
static bool read_remark(struct reader *r, char *line, bool comment, struct ss_error *error) {
  char *word[WORDS + 1], *title;
  while (comment && isblank((unsigned char)*line)) line++;
  if (comment && strncmp(line, "OSU MPI", 7) == 0 && (title = strchr(line + 4, ' ')))
    return read_osu_title(r, title + 1 + strspn(title + 1, " "), error);
  if (cut(line, word) == 0 || strstr(line, "concluded")) return true;
  if (comment && strcmp(word[0], "Rank") == 0) return read_rank(r, word, error);
  if (comment && strcmp(word[0], "nThread") == 0) return begin_run(r, error);
  if (comment && !(check_units(r, word, error) && read_heads(r, word, error))) return false;
  for (size_t i = 0; word[i]; i++) {
    if (strcmp(word[i], "concluded:") == 0) return true;
    const char *slash = strrchr(word[i], '/');
    const struct tool *tool = tool_called(slash ? slash + 1 : word[i]);
    if (tool && !choose(r, tool, error)) return false;
  }
  return true;
}

/* --- rows ------------------------------------------------------------------------------------------------- */

/* `seconds` 0 or NaN: the benchmark has no time of this size. */
static bool keep(struct reader *r, double size, double seconds, struct ss_error *error) {
  r->told++;
  if (seconds >= 1e6) return wrong(r, error, "a time must be below a million seconds");
  if (!ss_grow(r->row, r->rows_room, r->rows + 1)) return ss_fail_memory(error, "reading a log");
  r->row[r->rows++] = (struct row){r->line, size, seconds};
  return true;
}

/* The blocks are the last columns: older versions leave some of those before out. */
static bool read_nccl_row(struct reader *r, char **word, size_t count, double size, struct ss_error *error) {
  double time, algbw, busbw, bad;
  const size_t width = BLOCK * (size_t)r->blocks, least = 3 + width;
  if (r->reading->in_place && r->blocks < 2) return wrong(r, error, "there are no columns for in place");
  if (count < least)
    return ss_fail(error, SS_BAD_INPUT, "%s: line %" PRIu32 ": %zu columns, where the heads want at least %zu",
                   r->path, r->line, count, least);
  char **block = word + count - width + (r->reading->in_place ? BLOCK : 0);
  if (strcmp(block[0], "N/A") == 0) return keep(r, size, NAN, error);
  if (!is_number(block[0], &time) || !is_number(block[1], &algbw) || !is_number(block[2], &busbw))
    return wrong(r, error, "time, algbw and busbw must be numbers");
  if (is_number(block[3], &bad) && bad > 0.5)
    return wrong(r, error, "the benchmark found wrong results: its times cannot be trusted");
  if (size == 0) return true; /* nothing was sent */
  if (algbw >= 1 && busbw > 0) r->factor = busbw / algbw;
  return keep(r, size, time * 1e-6, error);
}

static bool read_osu_row(struct reader *r, char **word, size_t count, double size, struct ss_error *error) {
  double value;
  if (count < 2 || !is_number(word[1], &value)) return wrong(r, error, "the second column must be a number");
  for (size_t i = 2; i < count; i++)
    if (strcmp(word[i], "Fail") == 0)
      return wrong(r, error, "the benchmark found wrong results: its times cannot be trusted");
  if (r->tool->size != RATE) return keep(r, size, value * 1e-6, error);
  return keep(r, size, value > 0 ? size / (value * 1e6) : 0, error);
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
  if (length > 1 && memchr(text, '\r', length - 1))
    return wrong(r, error, "a carriage return within a line: do lines end in it alone? (tr '\\r' '\\n' < FILE)");
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
  for (size_t at = 0, length; at < file->size; at += length + 1) {
    const char *end = memchr(text + at, '\n', file->size - at);
    length = end ? (size_t)(end - text) - at : file->size - at;
    r->line++;
    if (!read_line(r, text + at, length, error)) return false;
  }
  return end_run(r, error);
}

bool ss_log_read(const char *path, const struct ss_mapping *text, const struct ss_reading *reading,
                 struct ss_observations *out, struct ss_error *error) {
  struct reader r = {.path = path,
                     .reading = reading,
                     .out = out,
                     .host = ss_alloc(RANKS, sizeof *r.host),
                     .seen = ss_alloc_zero(RANKS, sizeof *r.seen)};
  out->logs++;
  bool ok = (r.host && r.seen) || ss_fail_memory(error, "reading a log");
  ok = ok && read_lines(&r, text, error);
  if (ok && r.runs == 0) ok = ss_fail(error, SS_BAD_INPUT, "%s: no results of %s are in it", path, can_be_read);
  free(r.host);
  free(r.seen);
  free(r.row);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
