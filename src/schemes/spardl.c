/* SparDL (§3): Spar-Reduce-Scatter inside teams, Spar-All-Gather over them, all-gather inside teams; what is dropped
 * on the way stays with ranks as residuals.
 *
 * P ranks are D teams of q = P/D; a tensor has q blocks, of which block b keeps a quota of the k entries, everywhere.
 * Spar-Reduce-Scatter (§3.1, Algorithm 1): in round i the rank at position w selects in, and sends, the blocks from
 * w + 2^(l-i) on to that position, and adds what arrives to its own, which stay dense until sent.
 * Spar-All-Gather (§3.2): R-SAG exchanges, sums and selects over a power of two of teams; B-SAG (Algorithm 2) selects
 * h, which adapts, all-gathers by Bruck, sums and selects.
 * Residuals (§3.3): global, partial, local; docs/model.md says exactly what each keeps.
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte, {"k": 8}: (1 + 0.032) + (1
 * + 0.016) + (1 + 0.016) + (1 + 0.032) = 4.096 us; two blocks of 2 entries of 4 + 4 bytes, then one, and the same
 * back. */
#include "schemes/spardl.h"
#include "schemes/scheme.h"
#include "sim/groups.h"

#include <string.h>

enum sag { AUTO, RECURSIVE, BRUCK };
enum timing { BEFORE_SEND, AFTER_SUM };
static const char *const sags[] = {"auto", "recursive", "bruck", NULL};
static const char *const modes[] = {"global", "partial", "local", NULL};
static const char *const timings[] = {"before-send", "after-sum", NULL};
enum { TEAMS = SS_K_OPTIONS, SAG, RESIDUALS, TIMING, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [SS_DENSITY] = SS_OPTION_DENSITY,
    [SS_K] = SS_OPTION_K,
    [TEAMS] = {"teams", SS_OPTION_COUNT, NULL, 1, 1u << 20, 1,
               "groups that reduce apart, then gather (divides the ranks)"},
    [SAG] = {"sag", SS_OPTION_CHOICE, sags, 0, 0, AUTO,
             "Spar-All-Gather: recursive for a power of two of teams, or bruck"},
    [RESIDUALS] = {"residuals", SS_OPTION_CHOICE, modes, 0, 0, SS_SPARDL_GLOBAL,
                   "what ranks keep of what was not applied"},
    [TIMING] = {"timing", SS_OPTION_CHOICE, timings, 0, 0, BEFORE_SEND,
                "when blocks are selected in Spar-Reduce-Scatter"},
};

static bool begin(struct ss_spardl *s, struct ss_error *error) {
  struct ss_run *run = s->run;
  struct ss_arena *arena = run->play->arena;
  const uint32_t P = run->ranks;
  s->copy = ss_arena_alloc(arena, P, sizeof *s->copy);
  s->block = ss_arena_alloc(arena, (size_t)P * s->q, sizeof *s->block);
  s->dropped = ss_arena_alloc(arena, P, sizeof *s->dropped);
  s->result = ss_arena_alloc(arena, P, sizeof *s->result);
  if (!s->copy || !s->block || !s->dropped || !s->result) return ss_fail_memory(error, "selecting entries");
  memset(s->dropped, 0, P * sizeof *s->dropped);
  for (uint32_t w = 0; run->state->iteration == 0 && w < s->q; w++)
    s->steps[w] = (struct ss_spardl_step){(double)s->k / P, 0.01 * (double)s->k * (s->D - 1) / P, false};
  return ss_spardl_cut(s, error);
}

/* Teams are runs of ranks; the ranks at one position of all teams are q apart. */
static bool play_groups(struct ss_spardl *s, bool teams, ss_group_body *body, struct ss_error *error) {
  const uint32_t count = teams ? s->D : s->q, size = teams ? s->q : s->D;
  struct ss_arena *arena = s->run->play->arena;
  uint32_t *ranks = ss_arena_alloc(arena, s->run->ranks, sizeof *ranks);
  struct ss_group *groups = ss_arena_alloc(arena, count, sizeof *groups);
  if (!ranks || !groups) return ss_fail_memory(error, "forming teams");
  for (uint32_t g = 0; g < count; g++) {
    uint32_t *rank = ranks + (size_t)g * size;
    for (uint32_t i = 0; i < size; i++) rank[i] = teams ? g * s->q + i : i * s->q + g;
    groups[g] = (struct ss_group){.ranks = size, .rank = rank};
  }
  return ss_groups_play(s->run->play, count, groups, body, s, error);
}

static bool run_spardl(struct ss_run *run, struct ss_error *error) {
  const uint64_t *value = run->setting->value;
  const uint32_t teams = (uint32_t)value[TEAMS];
  struct ss_spardl s = {.run = run,
                        .D = teams,
                        .q = run->ranks / teams,
                        .k = ss_run_k(run),
                        .after_sum = value[TIMING] == AFTER_SUM,
                        .bruck = value[SAG] == BRUCK || (value[SAG] == AUTO && (teams & (teams - 1)) != 0),
                        .steps = run->state->each};
  if (!begin(&s, error) || !play_groups(&s, true, ss_spardl_reduce_scatter, error) ||
      (teams > 1 && !play_groups(&s, false, ss_spardl_gather_teams, error)) ||
      !play_groups(&s, true, ss_spardl_gather_blocks, error))
    return false;
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    ss_run_sparse(run, r, &s.result[r], 0, NULL);
    if (!ss_spardl_keep(&s, r, (enum ss_spardl_residuals)value[RESIDUALS], error)) return false;
  }
  return true;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  (void)layout;
  traits->conserves = setting->value[RESIDUALS] == SS_SPARDL_GLOBAL;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint32_t teams = (uint32_t)setting->value[TEAMS];
  if (layout.ranks % teams != 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: %u teams do not divide %u ranks", setting->label, teams, layout.ranks);
  if (setting->value[SAG] == RECURSIVE && (teams & (teams - 1)) != 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: sag \"recursive\" takes a power of two of teams, not %u (say \"bruck\")",
                   setting->label, teams);
  return true;
}

const struct ss_scheme ss_scheme_spardl = {
    .name = "spardl",
    .summary = "Spar-Reduce-Scatter in teams, Spar-All-Gather over them; k entries everywhere, nothing lost",
    .source = "SparDL §3, Algorithms 1 and 2, Eqs. 3, 5, 7",
    .options = options,
    .content = SS_SENDS_LARGEST,
    .adapt = adapt,
    .rank_state_size = sizeof(struct ss_spardl_step),
    .check = check,
    .run = run_spardl,
};
