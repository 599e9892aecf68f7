/* The ways in which messages of unlike lengths travel, and what each makes of a form. */
#include "cost/forms.h"

/* What telling sizes adds for each building block (docs/model.md, "Closed forms"). */
enum { GATHERS = 3, EXCHANGE = 4 }; /* so many are gathers, which come first */
const char *const ss_cost_steps[] = {
    "gather",  "gather-in-teams", "gather-of-teams", "direct", "exchange", "ring", "doubling",
    "halving", "down-teams",      "across-teams",    "fan-in", "fan-out",  NULL};
#define GATHERED(size) "ceil(log2(" size "))*alpha + 8*(" size "-1)*beta + call"
#define SENT(steps) steps "*(alpha + 8*beta + call)"
/* Counts of servers, of which rank 0 tells, or hears, the last one's last: only then do hosts wait, and nobody is
 * told meanwhile. That is hidden where one server tells rank 0 first, and of two where the second is ahead by what
 * the first waited for ranks. */
#define COUNTS "P*(alpha + 8*beta)"
#define FANNED(servers) "(S > " servers " ? " COUNTS " + call : max(" COUNTS ", S*(alpha + 8*beta) + call))"
static const char *const sizes[] = {
    GATHERED("P"), GATHERED("P/D"), GATHERED("D"),   GATHERED("P"),           "(P-1)*(alpha + 8*beta) + call",
    SENT("(P-1)"), SENT("(L+2*f)"), SENT("log2(P)"), SENT("ceil(log2(P/D))"), SENT("log2(D)"),
    FANNED("1"),   FANNED("2")};

/* The form with what the way adds to it; NULL: there is none. */
static bool compose(const struct ss_cost *way, const char *form, struct ss_arena *arena, const char **out,
                    struct ss_error *error) {
  enum { SIZE = 1500 };
  char text[SIZE];
  size_t step, used = 0;
  *out = NULL;
  if (!form) return true;
  used = (size_t)snprintf(text, SIZE, "%s", form);
  for (struct ss_node n = ss_node_first(way->steps); way->exchanged && ss_node_present(n); n = ss_node_next(n)) {
    if (!ss_node_choice(n, ss_cost_steps, &step, error)) return false;
    /* the longest message is announced, not counted pair by pair */
    if (step == EXCHANGE && way->ragged == SS_RAGGED_PADDED) step = 0;
    if (used < SIZE) used += (size_t)snprintf(text + used, SIZE - used, " + %s", sizes[step]);
  }
  if (used >= SIZE) return ss_fail(error, SS_BAD_INPUT, "%s: a form has at most %d bytes", way->file, SIZE - 1);
  *out = ss_arena_text(arena, text);
  return *out || ss_fail_memory(error, "reading closed forms");
}

/* Groups of broadcasts take the place of all gathers but direct ones. */
static bool gathers(const struct ss_cost *cost) {
  size_t step;
  for (struct ss_node n = ss_node_first(cost->steps); ss_node_present(n); n = ss_node_next(n))
    if (ss_node_choice(n, ss_cost_steps, &step, NULL) && step < GATHERS) return true;
  return false;
}

static bool add_way(const struct ss_cost *cost, struct ss_arena *arena, struct ss_cost *way, struct ss_error *error) {
  const bool replaced = way->ragged == SS_RAGGED_BROADCASTS && (cost->broadcasts || gathers(cost));
  const struct ss_cost from = {.exact = replaced ? cost->broadcasts : cost->exact,
                               .exact_low = replaced ? NULL : cost->exact_low,
                               .exact_high = replaced ? NULL : cost->exact_high};
  if (replaced) way->pattern = SS_PATTERN_NONE;
  return compose(way, from.exact, arena, &way->exact, error) &&
         compose(way, from.exact_low, arena, &way->exact_low, error) &&
         compose(way, from.exact_high, arena, &way->exact_high, error);
}

bool ss_cost_add_ways(struct ss_cost *cost, struct ss_arena *arena, struct ss_error *error) {
  struct ss_cost *way;
  if (!ss_node_present(cost->steps)) return true;
  if (!ss_take(arena, way, SS_COST_WAYS)) return ss_fail_memory(error, "reading closed forms");
  for (int i = 0; i < SS_COST_WAYS; i++) {
    way[i] = *cost;
    way[i].exchanged = i % 2;
    way[i].ragged = (enum ss_ragged)(i / 2);
    way[i].told_of = &way[i - i % 2];
    if (!add_way(cost, arena, &way[i], error)) return false;
  }
  cost->way = way;
  return true;
}

const struct ss_cost *ss_cost_way(const struct ss_cost *cost, bool exchanged, enum ss_ragged ragged) {
  if (!exchanged && ragged == SS_RAGGED_V) return cost;
  const struct ss_cost *way = cost->way ? &cost->way[2 * (int)ragged + exchanged] : NULL;
  return way && (way->exact || way->exact_low) ? way : NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
