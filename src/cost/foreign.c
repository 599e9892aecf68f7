#include "cost/foreign.h"

#include "base/file.h"

#include <search.h>

enum { FILE_BYTES = 1 << 28, RANKS_MAX = 1 << 20, TEXT_MAX = 256 };

enum kind { SEND, RECEIVE, CALCULATE };

/* An operation of GOAL; once sends and receives are pairs, `node` is the send's for both. */
struct operation {
  enum kind kind;
  uint32_t rank, peer, tag, node;
  double bytes, seconds;
};
struct need {
  uint32_t of, needs; /* operations */
};
/* A message of a round. */
struct message {
  uint32_t from, to, round;
  double bytes;
};

struct ss_foreign {
  char name[PATH_MAX];
  uint32_t ranks;
  bool goal;
  struct message *message;
  struct operation *operation;
  struct need *need;
  size_t messages, operations, needs;
};

void ss_foreign_close(struct ss_foreign *s) {
  if (!s) return;
  free(s->message);
  free(s->operation);
  free(s->need);
  free(s);
}

/* --- rounds in JSON ------------------------------------------------------------------------------------------- */

struct symbols {
  struct ss_variable *variable; /* the first: how many ranks there are */
  size_t count;
};

/* A number, a size, or a formula. */
static bool read_bytes(struct ss_node node, const struct symbols *symbols, double *out, struct ss_error *error) {
  if (!ss_node_is_text(node)) return ss_node_nonnegative(node, SS_BYTES, out, error);
  const char *text = "";
  if (!ss_node_text(node, &text, error)) return false;
  if (ss_units_parse(text, SS_BYTES, out, NULL)) return ss_node_nonnegative(node, SS_BYTES, out, error);
  struct ss_error why;
  if (!ss_expression_evaluate(text, symbols->variable, symbols->count, out, &why))
    return ss_node_fail(node, error, "%s", why.text);
  return (isfinite(*out) && *out >= 0) || ss_node_fail(node, error, "\"%.100s\" is %g, no size", text, *out);
}

static bool read_message(struct ss_foreign *s, struct ss_node node, const struct symbols *symbols, uint32_t round,
                         struct ss_error *error) {
  uint64_t end[2];
  if (!ss_node_is_array(node) || ss_node_size(node) != 3)
    return ss_node_fail(node, error, "expected [from, to, bytes]");
  struct ss_node n = ss_node_first(node);
  for (int i = 0; i < 2; i++, n = ss_node_next(n))
    if (!ss_node_count(n, 0, s->ranks - 1, &end[i], error)) return false;
  if (end[0] == end[1]) return ss_node_fail(node, error, "a message to itself");
  if (!ss_grow_by_one(s->message, s->messages)) return ss_fail_memory(error, "reading a schedule");
  struct message *m = &s->message[s->messages++];
  *m = (struct message){(uint32_t)end[0], (uint32_t)end[1], round, 0};
  return read_bytes(n, symbols, &m->bytes, error);
}

static bool read_rounds(struct ss_foreign *s, struct ss_node root, const struct symbols *symbols,
                        struct ss_error *error) {
  static const char *const keys[] = {"ranks", "rounds", "notes", NULL};
  struct ss_node ranks, rounds;
  uint64_t count;
  if (!ss_node_keys(root, keys, error) || !ss_node_need(root, "ranks", &ranks, error) ||
      !ss_node_count(ranks, 1, RANKS_MAX, &count, error) || !ss_node_need(root, "rounds", &rounds, error))
    return false;
  s->ranks = (uint32_t)count;
  symbols->variable->value = s->ranks;
  if (!ss_node_is_array(rounds)) return ss_node_fail(rounds, error, "expected a list of rounds");
  uint32_t number = 0;
  for (struct ss_node r = ss_node_first(rounds); ss_node_present(r); r = ss_node_next(r), number++) {
    if (!ss_node_is_array(r)) return ss_node_fail(r, error, "expected a list of messages");
    for (struct ss_node m = ss_node_first(r); ss_node_present(m); m = ss_node_next(m))
      if (!read_message(s, m, symbols, number, error)) return false;
  }
  return true;
}

/* done: of all rounds before; out, in: of what a port sends, and gets, in this round. */
struct port {
  double done, out, in;
  uint32_t round;
};

/* Where its last message was of an earlier round, that is done. */
static void enter(struct port *p, uint32_t round) {
  if (p->round == round) return;
  p->done = fmax(p->done, fmax(p->out, p->in));
  p->out = p->in = p->done;
  p->round = round;
}

static bool play_rounds(const struct ss_foreign *s, double latency, double byte_time, double *out,
                        struct ss_error *error) {
  SS_AUTO_FREE struct port *port = ss_alloc_zero(s->ranks, sizeof *port);
  if (!port) return ss_fail_memory(error, "playing a schedule");
  *out = 0;
  for (size_t i = 0; i < s->messages; i++) {
    const struct message *m = &s->message[i];
    struct port *from = &port[m->from], *to = &port[m->to];
    enter(from, m->round);
    enter(to, m->round);
    from->out = to->in = fmax(from->out, to->in) + latency + m->bytes * byte_time;
    *out = fmax(*out, from->out);
  }
  return true;
}

/* --- GOAL ----------------------------------------------------------------------------------------------------- */

/* A label of the rank that is read. */
struct label {
  char *text;
  uint32_t operation;
};

struct reader {
  struct ss_foreign *schedule;
  struct ss_arena arena;
  void *labels; /* a tree of them (tsearch) */
  uint64_t line;
  uint32_t rank, next; /* that is read, and whose turn it is */
  bool open, counted;
};

static int compare_labels(const void *a, const void *b) {
  return strcmp(((const struct label *)a)->text, ((const struct label *)b)->text);
}

static void forget(void *label) {
  (void)label; /* the arena's */
}

static bool bad_line(const struct reader *r, const char *why, struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "%s: line %llu: %s", r->schedule->name, (unsigned long long)r->line, why);
}

static bool add_operation(struct reader *r, struct operation o, const char *label, struct ss_error *error) {
  struct ss_foreign *s = r->schedule;
  if (o.kind != CALCULATE && (o.peer >= s->ranks || o.peer == o.rank)) return bad_line(r, "no such peer", error);
  if (s->operations >= UINT32_MAX || !ss_grow_by_one(s->operation, s->operations))
    return ss_fail_memory(error, "reading a schedule");
  o.node = (uint32_t)s->operations;
  s->operation[s->operations++] = o;
  if (!*label) return true;
  struct label *l = ss_arena_alloc(&r->arena, 1, sizeof *l);
  if (!l || !(l->text = (char *)ss_arena_text(&r->arena, label))) return ss_fail_memory(error, "reading a schedule");
  l->operation = o.node;
  struct label **found = tsearch(l, &r->labels, compare_labels);
  if (!found) return ss_fail_memory(error, "reading a schedule");
  return *found == l || bad_line(r, "this label was there before", error);
}

static bool find(const struct reader *r, char *text, uint32_t *out, struct ss_error *error) {
  struct label **found = tfind(&(struct label){text, 0}, &r->labels, compare_labels);
  if (!found) return bad_line(r, "a label that no line before it has", error);
  *out = (*found)->operation;
  return true;
}

static bool add_need(struct reader *r, char *of, char *needs, struct ss_error *error) {
  struct ss_foreign *s = r->schedule;
  struct need n;
  if (!find(r, of, &n.of, error) || !find(r, needs, &n.needs, error)) return false;
  if (s->needs >= UINT32_MAX || !ss_grow_by_one(s->need, s->needs))
    return ss_fail_memory(error, "reading a schedule");
  s->need[s->needs++] = n;
  return true;
}

static bool amount(const char *digits, double *out) {
  return ss_units_parse(digits, SS_NUMBER, out, NULL) && *out >= 0;
}

static bool whole(const char *digits, uint32_t *out) {
  double value = 0;
  if (!amount(digits, &value) || value > UINT32_MAX) return false;
  *out = (uint32_t)value;
  return true;
}

#define DIGITS "%39[0-9]"
#define AMOUNT "%39[0-9.eE+-]"

/* What follows a message: "tag 4", or nothing. */
static bool read_tag(const char *text, uint32_t *out) {
  char tag[40];
  int used = 0;
  if (sscanf(text, " tag " DIGITS " %n", tag, &used) == 1 && text[used] == '\0') return whole(tag, out);
  return text[strspn(text, " \t\r")] == '\0';
}

static bool read_requires(struct reader *r, const char *line, struct ss_error *error) {
  char of[TEXT_MAX], needs[TEXT_MAX];
  int used = 0;
  if (sscanf(line, " %200[A-Za-z0-9_] requires %200[A-Za-z0-9_] %n", of, needs, &used) != 2 || used == 0 ||
      line[used])
    return bad_line(r, "expected send, recv, calc or requires, as LogGOPSim reads them", error);
  return add_need(r, of, needs, error);
}

/* "l3: send 10b to 1 tag 4", without label and tag, "recv 10b from 1", "calc 100", "l3 requires l1". */
static bool read_operation(struct reader *r, const char *line, struct ss_error *error) {
  char label[TEXT_MAX] = "", size[40], verb[8], way[8], peer[40];
  int used = 0;
  struct operation o = {.kind = CALCULATE, .rank = r->rank};
  if (strchr(line, ':')) {
    if (sscanf(line, " %200[A-Za-z0-9_] :%n", label, &used) != 1 || used == 0)
      return bad_line(r, "expected LABEL: OPERATION", error);
    line += used;
  }
  used = 0;
  if (sscanf(line, " calc " AMOUNT " %n", size, &used) == 1 && line[used] == '\0' && amount(size, &o.seconds)) {
    o.seconds *= 1e-9;
    return add_operation(r, o, label, error);
  }
  used = 0;
  if (sscanf(line, " %7s " AMOUNT "b %7s " DIGITS "%n", verb, size, way, peer, &used) != 4 || used == 0)
    return *label ? bad_line(r, "expected send, recv or calc, as LogGOPSim reads them", error)
                  : read_requires(r, line, error);
  o.kind = strcmp(verb, "send") == 0 ? SEND : RECEIVE;
  if (strcmp(verb, o.kind == SEND ? "send" : "recv") != 0 || strcmp(way, o.kind == SEND ? "to" : "from") != 0)
    return bad_line(r, "expected \"send ... to\" or \"recv ... from\"", error);
  if (!whole(peer, &o.peer)) return bad_line(r, "no such peer", error);
  if (!read_tag(line + used, &o.tag)) return bad_line(r, "nothing but a tag may follow the message", error);
  return amount(size, &o.bytes) && o.bytes < 1e18 ? add_operation(r, o, label, error)
                                                  : bad_line(r, "no such size", error);
}

static bool read_line(struct reader *r, char *line, struct ss_error *error) {
  struct ss_foreign *s = r->schedule;
  char digits[40];
  int used = 0;
  uint32_t number = 0;
  char *comment = strstr(line, "//");
  r->line++;
  if (comment) *comment = '\0';
  if (line[strspn(line, " \t\r")] == '\0') return true;
  if (!r->counted) {
    if (sscanf(line, " num_ranks " DIGITS " %n", digits, &used) != 1 || line[used] || !whole(digits, &s->ranks) ||
        s->ranks < 1 || s->ranks > RANKS_MAX)
      return bad_line(r, "expected num_ranks", error);
    return r->counted = true;
  }
  if (!r->open) {
    if (sscanf(line, " rank " DIGITS " { %n", digits, &used) != 1 || used == 0 || line[used] ||
        !whole(digits, &number) || number != r->next || number >= s->ranks)
      return bad_line(r, "expected the next rank, \"rank N {\"", error);
    r->rank = r->next++;
    return r->open = true;
  }
  if (line[strspn(line, " \t")] != '}') return read_operation(r, line, error);
  r->open = false;
  tdestroy(r->labels, forget);
  r->labels = NULL;
  ss_arena_reset(&r->arena);
  return true;
}

/* Who a message is between; sends and receives of one order are its ends. */
static int compare_ends(const void *a, const void *b) {
  const struct operation *x = *(struct operation *const *)a, *y = *(struct operation *const *)b;
  const uint32_t keys[][2] = {{x->kind == SEND ? x->rank : x->peer, y->kind == SEND ? y->rank : y->peer},
                              {x->kind == SEND ? x->peer : x->rank, y->kind == SEND ? y->peer : y->rank},
                              {x->tag, y->tag},
                              {x->kind, y->kind},
                              {x->node, y->node}};
  for (int i = 0; i < 5; i++)
    if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
  return 0;
}

/* Do both say the same message's ends? */
static bool is_pair(const struct operation *send, const struct operation *receive) {
  return send->kind == SEND && receive->kind == RECEIVE && send->rank == receive->peer &&
         send->peer == receive->rank && send->tag == receive->tag && !(send->bytes < receive->bytes) &&
         !(send->bytes > receive->bytes);
}

/* Sends of one key stand before its receives, as many of them. */
static bool pair(struct ss_foreign *s, struct ss_error *error) {
  SS_AUTO_FREE struct operation **end = ss_alloc(s->operations + 1, sizeof *end);
  size_t count = 0;
  if (!end) return ss_fail_memory(error, "reading a schedule");
  for (size_t i = 0; i < s->operations; i++)
    if (s->operation[i].kind != CALCULATE) end[count++] = &s->operation[i];
  qsort(end, count, sizeof *end, compare_ends);
  for (size_t i = 0, n; i < count; i += 2 * n) {
    for (n = 0; i + n < count && end[i + n]->kind == SEND &&
                (n == 0 || (end[i + n]->rank == end[i]->rank && end[i + n]->peer == end[i]->peer &&
                            end[i + n]->tag == end[i]->tag));)
      n++;
    for (size_t k = 0; k < (n ? n : 1); k++) {
      if (n == 0 || i + n + k >= count || !is_pair(end[i + k], end[i + n + k]))
        return ss_fail(error, SS_BAD_INPUT, "%s: rank %u's %s rank %u with tag %u has no other end of as many bytes",
                       s->name, end[i]->rank, end[i]->kind == SEND ? "send to" : "receive from", end[i]->peer,
                       end[i]->tag);
      end[i + n + k]->node = end[i + k]->node;
    }
  }
  return true;
}

static bool read_goal(struct ss_foreign *s, char *text, struct ss_error *error) {
  struct reader r = {.schedule = s};
  bool ok = true;
  for (char *line = text, *next; ok && line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    ok = read_line(&r, line, error);
  }
  if (ok && (r.open || !r.counted || r.next != s->ranks)) ok = bad_line(&r, "ends before all ranks are there", error);
  tdestroy(r.labels, forget);
  ss_arena_free(&r.arena);
  return ok && pair(s, error);
}

/* In an order in which what is needed comes first; both ends of a message are one node. `head`, [operations], and
 * `link`, [needs]: lists of the needs that wait for a node, 1 + their numbers. */
static double finish(const struct ss_foreign *s, double latency, double byte_time, uint32_t *head, uint32_t *link,
                     uint32_t *waits, uint32_t *ready, double *start, size_t *done) {
  size_t count = 0;
  double last = 0;
  for (uint32_t i = 0; i < s->needs; i++) {
    const uint32_t needs = s->operation[s->need[i].needs].node;
    waits[s->operation[s->need[i].of].node]++;
    link[i] = head[needs];
    head[needs] = i + 1;
  }
  for (uint32_t i = 0; i < s->operations; i++)
    if (s->operation[i].node == i && waits[i] == 0) ready[count++] = i;
  for (*done = 0; *done < count; (*done)++) {
    const uint32_t i = ready[*done];
    const struct operation *o = &s->operation[i];
    const double end = start[i] + (o->kind == CALCULATE ? o->seconds : latency + o->bytes * byte_time);
    last = fmax(last, end);
    for (uint32_t k = head[i]; k > 0; k = link[k - 1]) {
      const uint32_t of = s->operation[s->need[k - 1].of].node;
      start[of] = fmax(start[of], end);
      if (--waits[of] == 0) ready[count++] = of;
    }
  }
  return last;
}

static bool play_goal(const struct ss_foreign *s, double latency, double byte_time, double *out,
                      struct ss_error *error) {
  SS_AUTO_FREE uint32_t *head = ss_alloc_zero(s->operations + 1, sizeof *head),
                        *waits = ss_alloc_zero(s->operations + 1, sizeof *waits),
                        *ready = ss_alloc(s->operations + 1, sizeof *ready),
                        *link = ss_alloc(s->needs + 1, sizeof *link);
  SS_AUTO_FREE double *start = ss_alloc_zero(s->operations + 1, sizeof *start);
  size_t done, nodes = 0;
  if (!head || !waits || !ready || !link || !start) return ss_fail_memory(error, "playing a schedule");
  for (size_t i = 0; i < s->operations; i++) nodes += s->operation[i].node == i;
  *out = finish(s, latency, byte_time, head, link, waits, ready, start, &done);
  return done == nodes || ss_fail(error, SS_BAD_INPUT, "%s: %zu of its %zu operations wait for each other for ever",
                                  s->name, nodes - done, nodes);
}

/* --- both ----------------------------------------------------------------------------------------------------- */

bool ss_foreign_play(const struct ss_foreign *s, double latency, double byte_time, double *out,
                     struct ss_error *error) {
  return s->goal ? play_goal(s, latency, byte_time, out, error) : play_rounds(s, latency, byte_time, out, error);
}

/* JSON begins with "{", GOAL with a word or a comment. */
static bool read_file(struct ss_foreign *s, const struct symbols *symbols, struct ss_error *error) {
  struct ss_mapping mapping;
  if (!ss_map_file(s->name, &mapping, error)) return false;
  size_t at = 0;
  while (at < mapping.size && strchr(" \t\r\n", mapping.data[at])) at++;
  s->goal = at < mapping.size && mapping.data[at] != '{';
  const bool fits = mapping.size < FILE_BYTES && !(mapping.size > 0 && memchr(mapping.data, '\0', mapping.size));
  SS_AUTO_FREE char *text = s->goal && fits ? ss_alloc(mapping.size + 1, 1) : NULL;
  if (text) memcpy(text, mapping.data, mapping.size), text[mapping.size] = '\0';
  ss_unmap_file(&mapping);
  if (s->goal && !fits) return ss_fail(error, SS_BAD_INPUT, "%s: no text of less than 256 MiB", s->name);
  if (s->goal) return text ? read_goal(s, text, error) : ss_fail_memory(error, "reading a schedule");
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_doc_read(s->name, FILE_BYTES, &doc, error) && read_rounds(s, ss_doc_root(doc), symbols, error);
}

bool ss_foreign_open(const char *path, struct ss_variable *variables, size_t count, struct ss_foreign **out,
                     struct ss_error *error) {
  struct ss_foreign *s = ss_alloc_zero(1, sizeof *s);
  if (!s) return ss_fail_memory(error, "reading a schedule");
  (void)snprintf(s->name, sizeof s->name, "%s", path);
  if (read_file(s, &(struct symbols){variables, count}, error)) {
    variables->value = s->ranks;
    *out = s;
    return true;
  }
  ss_foreign_close(s);
  return false;
}
/* SPDX-License-Identifier: Apache-2.0 */
