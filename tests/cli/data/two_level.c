/* All-gathers in teams of neighbours, then of their sums between ranks of the same place in each: a scheme of a
 * user's own, with a count that plan tries, and nodes as its default.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 3*(1 + 0.320) = 3.96 us; one
 * team, as all ranks are nodes of their own and one team is what nodes of one rank make. */
#include "schemes/run.h"
#include "schemes/scheme.h"
#include "sim/groups.h"

enum { TEAMS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [TEAMS] = {"teams", SS_OPTION_COUNT, NULL, 1, 1u << 20, 0, "groups of neighbours (default: nodes)", "2.."},
};

/* What both levels have: lists that the members of a group gather, and what each makes of them. */
struct level {
  struct ss_run *run;
  uint32_t step, size, apart; /* group g has the ranks g * apart, + step, + 2 * step, ... */
  struct ss_chunk *held;      /* [ranks] */
};

static uint32_t teams_of(const struct ss_run *run) {
  const uint32_t said = (uint32_t)run->setting->value[TEAMS], nodes = ss_run_nodes(run);
  if (said > 0) return said;
  return nodes < run->ranks && run->ranks % nodes == 0 ? nodes : 1;
}

static bool gather(void *context, uint32_t group, struct ss_play *play, struct ss_error *error) {
  const struct level *l = context;
  SS_AUTO(ss_gather_close) struct ss_gather gathered = {0};
  struct ss_chunk *block = ss_arena_alloc(play->arena, l->size, sizeof *block), sum = {0};
  if (!block) return ss_fail_memory(error, "gathering in teams");
  for (uint32_t i = 0; i < l->size; i++) {
    block[i] = l->held[group * l->apart + i * l->step];
    block[i].origin = i;
  }
  if (!ss_gather_open(&gathered, l->size, &l->run->coo, l->run->low, l->run->high, error) ||
      !ss_gather_announced(play, &gathered, block, ss_allgather_ring, error))
    return false;
  for (uint32_t i = 0; play->payloads && i < l->size; i++) {
    if (!ss_play_resident(play, i)) continue;
    if (!ss_gather_sum(play, &gathered, i, &sum, error)) return false;
    l->held[group * l->apart + i * l->step] = sum;
  }
  if (play->payloads)
    ss_play_note_sums(play, &l->run->coo, &(struct ss_operands){gathered.block, l->size, l->run->low, l->run->high},
                      &sum);
  return true;
}

/* `groups` groups of `size` ranks. */
static bool play_level(struct level *l, uint32_t groups, struct ss_error *error) {
  struct ss_arena *arena = l->run->play->arena;
  struct ss_group *group = ss_arena_zero(arena, groups, sizeof *group);
  uint32_t *rank = ss_arena_alloc(arena, (size_t)groups * l->size, sizeof *rank);
  if (!group || !rank) return ss_fail_memory(error, "gathering in teams");
  for (uint32_t g = 0; g < groups; g++) {
    group[g] = (struct ss_group){.ranks = l->size, .rank = rank + (size_t)g * l->size};
    for (uint32_t i = 0; i < l->size; i++) rank[g * l->size + i] = g * l->apart + i * l->step;
  }
  return ss_groups_play(l->run->play, groups, group, gather, l, error);
}

static bool run_two_level(struct ss_run *run, struct ss_error *error) {
  const uint32_t teams = teams_of(run), size = run->ranks / teams;
  struct ss_chunk *held = ss_arena_alloc(run->play->arena, run->ranks, sizeof *held);
  if (!held) return ss_fail_memory(error, "gathering in teams");
  for (uint32_t r = 0; r < run->ranks; r++) held[r] = run->own[r];
  struct level inside = {.run = run, .step = 1, .size = size, .apart = size, .held = held},
               across = {.run = run, .step = size, .size = teams, .apart = 1, .held = held};
  if ((size > 1 && !play_level(&inside, teams, error)) || (teams > 1 && !play_level(&across, size, error)))
    return false;
  for (uint32_t r = 0; r < run->ranks; r++)
    if (ss_run_resident(run, r)) ss_run_sparse(run, r, &held[r], 0, NULL);
  return true;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t teams = (uint32_t)setting->value[TEAMS];
  return teams == 0 || layout.ranks % teams == 0 ||
         ss_fail(error, SS_BAD_INPUT, "%u teams do not divide %u ranks", teams, layout.ranks);
}

const struct ss_scheme ss_scheme_two_level = {
    .name = "two-level",
    .summary = "AllGather in teams, then of their sums between them",
    .source = "a user's own",
    .options = options,
    .content = SS_SENDS_ROWS,
    .traits = {.lists = true},
    .check = check,
    .run = run_two_level,
};
/* SPDX-License-Identifier: Apache-2.0 */
