/* Parameter server: workers push their rows to the servers of even row ranges, which sum; then workers pull
 * (EmbRace §4.1.2, Table 2; ZEN §2.4 and B.1 with the ranks themselves as servers).
 *
 * pull: union     every rank gets the whole aggregate
 *       rows      a rank gets the rows it pushed: parameters, as EmbRace and Parallax have it
 *       broadcast-binomial, broadcast-scatter   ZEN B.1's broadcasts, the owners in turn (colocated only)
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 4*(1 + 0.080) + 4*(1 +
 * 0.320) = 9.6 us; each server gets 4 rows of 16 + 4 bytes from every rank, and sends every rank their 16. */
#include "schemes/run.h"
#include "schemes/scheme.h"
#include "tensor/sets.h"

enum pull { UNION, ROWS, BROADCAST_BINOMIAL, BROADCAST_SCATTER };
static const char *const pulls[] = {"union", "rows", "broadcast-binomial", "broadcast-scatter", NULL};
enum { SERVERS, PULL, COLOCATED, DENSE, COALESCE, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [SERVERS] = {"servers", SS_OPTION_COUNT, NULL, 1, 1u << 20, 0, "server endpoints (default: as many as nodes)",
                 NULL},
    [PULL] = {"pull", SS_OPTION_CHOICE, pulls, 0, 0, UNION, "what a rank gets back, and how", NULL},
    [COLOCATED] = {"colocated", SS_OPTION_FLAG, NULL, 0, 1, 0,
                   "the ranks are the servers; own part kept, exchanges pairwise", "true"},
    [DENSE] = {"dense", SS_OPTION_FLAG, NULL, 0, 1, 0, "dense parts travel: BytePS's traffic", NULL},
    [COALESCE] = {"coalesce", SS_OPTION_FLAG, NULL, 0, 1, 1, "sum duplicate lookups before pushing", NULL},
};

struct ps {
  struct ss_run *run;
  struct ss_owners owners;
  bool dense;
  enum pull pull;
};

static struct ss_chunk part_range(const void *context, uint32_t part) {
  const struct ps *ps = context;
  struct ss_chunk range = ss_run_part(ps->run, part, ps->owners.parts);
  if (ps->dense && !ps->run->dense_lists) range.count = range.dense = true;
  return range;
}

static bool slice_of(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct ps *ps = context;
  if (!ps->dense) {
    *out = ss_run_slice(ps->run, rank, part, ps->owners.parts);
    return true;
  }
  *out = part_range(ps, part);
  out->origin = rank;
  return !ps->run->play->payloads || !ss_run_resident(ps->run, rank) ||
         ss_run_dense_part(ps->run, rank, ps->run->play->arena, out, error);
}

/* --- pulls ---------------------------------------------------------------------------------------------- */

/* Every row of an ascending list once. */
static bool list_once(const struct ps *ps, struct ss_chunk *chunk, struct ss_error *error) {
  if (ps->run->setting->value[COALESCE]) return true;
  uint32_t *rows = ss_arena_alloc(ps->run->play->arena, chunk->count, sizeof *rows);
  uint64_t n = 0;
  if (!rows) return ss_fail_memory(error, "listing rows to pull");
  for (uint64_t i = 0; i < chunk->count; i++)
    if (i == 0 || chunk->rows[i] != chunk->rows[i - 1]) rows[n++] = chunk->rows[i];
  *chunk = (struct ss_chunk){.rows = rows,
                             .count = n,
                             .low = chunk->low,
                             .high = chunk->high,
                             .width = chunk->width,
                             .stride = chunk->stride,
                             .origin = chunk->origin,
                             .part = chunk->part};
  return true;
}

/* The rows of the part that the rank asked for. */
static bool give_rows(void *context, uint32_t part, uint32_t rank, struct ss_chunk *out, struct ss_error *error) {
  const struct ps *ps = context;
  const struct ss_owners *o = &ps->owners;
  struct ss_chunk wanted;
  *out = o->aggregate[part];
  if (!slice_of(context, rank, part, &wanted, error)) return false;
  if (!ps->run->play->payloads) {
    out->count = wanted.count;
    return true;
  }
  if (!ss_run_resident(ps->run, ss_owners_endpoint(o, part))) return true;
  /* what came, not what was sent */
  const struct ss_chunk *asked = ss_receipts_held(&o->pushed, part, rank, &wanted);
  if (asked) wanted = *asked;
  return list_once(ps, &wanted, error) &&
         ss_chunk_select(&o->aggregate[part], &wanted, ps->run->play->arena, out, error);
}

/* The same, to be sent: the server goes through its sums. */
static bool send_rows(void *context, uint32_t part, uint32_t rank, struct ss_chunk *out, struct ss_error *error) {
  const struct ps *ps = context;
  const struct ss_owners *o = &ps->owners;
  if (!give_rows(context, part, rank, out, error)) return false;
  ss_play_note_filter(ps->run->play, ss_owners_endpoint(o, part), &o->aggregate[part], out);
  return true;
}

static bool pull_rows(struct ps *ps, struct ss_error *error) {
  struct ss_play *play = ps->run->play;
  struct ss_owners *o = &ps->owners;
  struct ss_exchange x = {.context = ps,
                          .give = send_rows,
                          .wire = o->pull,
                          .counted = o->counted,
                          .receipts = &o->pulled,
                          .held = o->got};
  if (o->servers) return ss_fan_out(play, &x, error);
  for (uint32_t r = 0; play->payloads && r < o->parts; r++) ss_receipts_add_run(play, &o->pulled, r, r, 1);
  return ss_pairwise(play, &x, error);
}

/* The owners in turn. */
static bool pull_broadcast(struct ps *ps, struct ss_error *error) {
  struct ss_run *run = ps->run;
  struct ss_owners *o = &ps->owners;
  struct ss_chunk *held = ss_arena_alloc(run->play->arena, run->ranks, sizeof *held);
  if (!held) return ss_fail_memory(error, "broadcasting parts");
  if (!ss_announce_sizes(run->play, error)) return false;
  for (uint32_t j = 0; j < o->parts; j++) {
    for (uint32_t r = 0; r < run->ranks; r++) {
      held[r] = o->aggregate[j];
      if (run->play->payloads && r != j) held[r].count = 0;
    }
    bool ok = ps->pull == BROADCAST_BINOMIAL ? ss_broadcast_binomial(run->play, j, o->pull, held, error)
                                             : ss_broadcast_scatter(run->play, j, o->pull, held, error);
    if (run->play->payloads) ss_receipts_add_run(run->play, &o->pulled, j, j, 1);
    for (uint32_t r = 0; ok && run->play->payloads && r < run->ranks; r++)
      if (r != j && ss_run_resident(run, r)) ok = ss_owners_got(o, r, j, &held[r], error);
    if (!ok) return false;
  }
  return true;
}

static bool pull(struct ps *ps, struct ss_error *error) {
  switch (ps->pull) {
  case UNION: return ss_owners_pull(&ps->owners, error);
  case ROWS: return pull_rows(ps, error);
  case BROADCAST_BINOMIAL:
  case BROADCAST_SCATTER: return pull_broadcast(ps, error);
  }
  return false;
}

/* --- what ranks end with -------------------------------------------------------------------------------- */

static void prove_dense(struct ps *ps, uint32_t r) {
  const struct ss_owners *o = &ps->owners;
  for (uint32_t j = 0; j < o->parts; j++) {
    const struct ss_chunk *held = ss_receipts_held(&o->pulled, r, j, &o->aggregate[j]);
    if (held) ss_run_dense(ps->run, held, o->parts);
    else ss_run_inexact(ps->run, "rank %u never received part %u", r, j);
  }
}

/* The rows that rank r pushed, part by part. */
static bool prove_rows(struct ps *ps, uint32_t r, struct ss_error *error) {
  for (uint32_t j = 0; j < ps->owners.parts; j++) {
    struct ss_chunk sent, wanted;
    if (!slice_of(ps, r, j, &wanted, error) || !list_once(ps, &wanted, error) || !give_rows(ps, j, r, &sent, error))
      return false;
    const struct ss_chunk *held = ss_receipts_held(&ps->owners.pulled, r, j, &sent);
    if (held) ss_run_sparse(ps->run, r, held, 0, &wanted);
    else ss_run_inexact(ps->run, "rank %u never received its rows of part %u", r, j);
  }
  return true;
}

static bool prove(struct ps *ps, struct ss_error *error) {
  struct ss_run *run = ps->run;
  struct ss_chunk sum;
  for (uint32_t r = 0; ss_run_reports(run) && r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (ps->dense && !run->dense_lists) {
      prove_dense(ps, r);
    } else if (ps->pull == ROWS) {
      if (!prove_rows(ps, r, error)) return false;
    } else {
      if (!ss_owners_whole(&ps->owners, r, run->low, run->high, &sum, error)) return false;
      ss_run_note_joined(run, r, &ps->owners, &sum);
      ss_run_sparse(run, r, &sum, 0, NULL);
    }
  }
  return true;
}

static bool run_ps(struct ss_run *run, struct ss_error *error) {
  struct ps ps = {.run = run};
  const bool colocated = run->setting->value[COLOCATED];
  ps.dense = run->setting->value[DENSE];
  ps.pull = (enum pull)run->setting->value[PULL];
  ps.owners = (struct ss_owners){.parts = colocated ? run->ranks : run->servers,
                                 .servers = !colocated,
                                 .counted = !ps.dense,
                                 .applied = ps.pull == ROWS,
                                 .push = ps.dense ? &run->dense : &run->coo,
                                 .pull = ps.dense ? &run->dense : &run->coo,
                                 .context = &ps,
                                 .range = part_range,
                                 .slice = slice_of};
  bool ok = ss_owners_open(run->play, &ps.owners, error) && ss_owners_push(&ps.owners, error) &&
            ss_owners_sum(&ps.owners, error) && pull(&ps, error) && prove(&ps, error);
  if (!ps.dense) ss_run_imbalance(run, &ps.owners);
  ss_owners_close(&ps.owners);
  return ok;
}

/* --- options -------------------------------------------------------------------------------------------- */

static uint32_t servers_of(const struct ss_setting *setting, struct ss_layout layout) {
  if (setting->value[COLOCATED]) return 0;
  return setting->value[SERVERS] ? (uint32_t)setting->value[SERVERS] : layout.nodes;
}

static void adapt(const struct ss_setting *setting, struct ss_layout layout, struct ss_traits *traits) {
  traits->lookups = traits->duplicates = !setting->value[COALESCE];
  traits->lists = traits->duplicates || !(setting->value[DENSE] || setting->value[PULL] == ROWS);
  traits->servers = servers_of(setting, layout);
  traits->parts = traits->servers ? traits->servers : layout.ranks;
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  uint32_t servers = servers_of(setting, layout);
  bool colocated = setting->value[COLOCATED], dense = setting->value[DENSE];
  enum pull pull = (enum pull)setting->value[PULL];
  if (servers > layout.ranks)
    return ss_fail(error, SS_BAD_INPUT, "%u servers for %u ranks: at most as many servers as ranks", servers,
                   layout.ranks);
  if (colocated && setting->value[SERVERS])
    return ss_fail(error, SS_BAD_INPUT, "\"colocated\" makes the ranks the servers: leave \"servers\" out");
  if (!colocated && pull >= BROADCAST_BINOMIAL)
    return ss_fail(error, SS_BAD_INPUT, "pull \"%s\" needs \"colocated\": true", pulls[pull]);
  if (dense && pull != UNION) return ss_fail(error, SS_BAD_INPUT, "dense parts are pulled whole: leave \"pull\" out");
  if (dense && !setting->value[COALESCE])
    return ss_fail(error, SS_BAD_INPUT, "dense parts have every row once: leave \"coalesce\" out");
  if (pull == ROWS && setting->hierarchy)
    return ss_fail(error, SS_BAD_INPUT,
                   "pull \"rows\" with a hierarchy: the sum of a node has no rows of one rank (say pull \"union\")");
  return true;
}

static const struct ss_offered offered[] = {
    {"dense",
     "true",
     SS_FLAT,
     {"BytePS", "byteps.torch.DistributedOptimizer with Embedding(sparse=False)",
      "https://github.com/bytedance/byteps", SS_NO_LIBRARY}},
    {"dense",
     "true",
     SS_SHARD,
     {"BytePS", "byteps.torch.DistributedOptimizer with Embedding(sparse=False)",
      "https://github.com/bytedance/byteps", SS_NO_LIBRARY}},
    {.option = NULL}};

const struct ss_scheme ss_scheme_ps = {
    .name = "ps",
    .summary = "Parameter server: push rows to servers of even row ranges, sum, pull",
    .source = "EmbRace §4.1.2, Table 2; ZEN §2.4 and B.1 (Sparse PS)",
    .options = options,
    .offered = offered,
    .content = SS_SENDS_ROWS,
    .adapt = adapt,
    .check = check,
    .run = run_ps,
};
/* SPDX-License-Identifier: Apache-2.0 */
