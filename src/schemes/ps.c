/* Parameter server: workers push their rows to the servers of even row ranges, which sum; then workers pull
 * (EmbRace §4.1.2, Table 2; ZEN §2.4 and B.1 with the ranks themselves as servers).
 *
 * pull: union     every rank gets the whole aggregate
 *       rows      a rank gets the rows it pushed: parameters, as EmbRace and Parallax have it
 *       broadcast-binomial, broadcast-scatter   ZEN B.1's broadcasts, the owners in turn (colocated only) */
#include "schemes/registry.h"

#include <math.h>

enum pull { UNION, ROWS, BROADCAST_BINOMIAL, BROADCAST_SCATTER };
static const char *const pulls[] = {"union", "rows", "broadcast-binomial", "broadcast-scatter", NULL};
static const struct ss_option options[] = {
    {"servers", SS_OPTION_COUNT, NULL, 1, 1u << 20, 0, "server endpoints (default: as many as nodes)"},
    {"pull", SS_OPTION_CHOICE, pulls, 0, 0, UNION, "what a rank gets back, and how"},
    {"colocated", SS_OPTION_FLAG, NULL, 0, 1, 0, "the ranks are the servers; own part kept, exchanges pairwise"},
    {"dense", SS_OPTION_FLAG, NULL, 0, 1, 0, "dense parts travel: BytePS's traffic"},
    {.name = NULL}};

struct ps {
  struct ss_run *run;
  bool colocated, dense;
  enum pull pull;
  uint32_t parts; /* servers, or ranks when colocated */
  struct ss_groups everyone;
  struct ss_receipts pushed;  /* receiver: part; block: rank */
  struct ss_receipts pulled;  /* receiver: rank; block: part */
  struct ss_chunk *aggregate; /* [parts] */
  struct ss_chunk *slice;     /* [ranks] what each rank has for one part */
  uint64_t *moved;            /* [parts] bytes that a server's sum reads and writes */
};

static uint64_t low_of(const struct ps *ps, uint32_t part) {
  return ss_share(ps->run->input->rows, ps->parts, part);
}

/* The endpoint that owns the part. */
static uint32_t owner(const struct ps *ps, uint32_t part) {
  return ps->colocated ? part : ps->run->ranks + part;
}

static struct ss_chunk part_range(const struct ps *ps, uint32_t part) {
  const struct ss_input *input = ps->run->input;
  return (struct ss_chunk){.low = low_of(ps, part),
                           .high = low_of(ps, part + 1),
                           .width = input->width,
                           .stride = input->width,
                           .part = part,
                           .count = ps->dense,
                           .dense = ps->dense};
}

static bool slice_of(const struct ps *ps, uint32_t rank, uint32_t part, struct ss_chunk *out,
                     struct ss_error *error) {
  *out = part_range(ps, part);
  out->origin = rank;
  if (ps->dense)
    return !ps->run->play.payloads || !ss_run_resident(ps->run, rank) ||
           ss_run_dense_part(ps->run, rank, ps->run->play.arena, out, error);
  *out = ss_chunk_slice(&ps->run->own[rank], out->low, out->high);
  out->part = part;
  return true;
}

static bool give_push(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  return slice_of(context, rank, part, out, error);
}

/* The part as the rank asked for it: the rows it pushed, or all. */
static bool give_pull(void *context, uint32_t part, uint32_t rank, struct ss_chunk *out, struct ss_error *error) {
  const struct ps *ps = context;
  struct ss_chunk wanted;
  *out = ps->aggregate[part];
  if (ps->pull != ROWS || ps->dense) return true;
  if (!slice_of(ps, rank, part, &wanted, error)) return false;
  if (!ps->run->play.payloads) {
    out->count = wanted.count;
    return true;
  }
  if (!ss_run_resident(ps->run, owner(ps, part))) return true;
  /* what came, not what was sent */
  const struct ss_chunk *asked = ss_receipts_held(&ps->pushed, part, rank, &wanted);
  return ss_chunk_select(&ps->aggregate[part], asked ? asked : &wanted, ps->run->play.arena, out, error);
}

static bool announce(struct ps *ps, struct ss_error *error) {
  return ps->dense || ss_announce_sizes(&ps->run->play, &ps->everyone, error);
}

static struct ss_exchange exchange_of(struct ps *ps, struct ss_receipts *receipts,
                                      bool (*give)(void *, uint32_t, uint32_t, struct ss_chunk *,
                                                   struct ss_error *)) {
  return (struct ss_exchange){
      .context = ps, .give = give, .wire = ps->dense ? &ps->run->dense : &ps->run->coo, .receipts = receipts};
}

static bool push(struct ps *ps, struct ss_error *error) {
  struct ss_play *play = &ps->run->play;
  struct ss_exchange x = exchange_of(ps, &ps->pushed, give_push);
  if (!announce(ps, error)) return false;
  if (!ps->colocated) return ss_fan_in(play, &x, error);
  for (uint32_t r = 0; play->payloads && r < ps->parts; r++) ss_receipts_add_run(play, &ps->pushed, r, r, 1);
  return ss_pairwise(play, &ps->everyone, &x, error);
}

static bool add_dense(struct ps *ps, uint32_t part, struct ss_error *error) {
  struct ss_chunk sum = part_range(ps, part);
  bool first = true;
  for (uint32_t r = 0; r < ps->run->ranks; r++) {
    const struct ss_chunk *held = ss_receipts_held(&ps->pushed, part, r, &ps->slice[r]);
    if (!held || held->count != 1) {
      ss_play_mismatch(&ps->run->play, "server of part %u never received the part of rank %u", part, r);
      continue;
    }
    if (first) sum = *held;
    else if (!ss_chunk_add_dense(&sum, held, ps->run->play.arena, &sum, error)) return false;
    first = false;
  }
  ps->aggregate[part] = sum;
  return true;
}

/* ZEN Def. 8: the largest share of a rank's rows that one part takes, against an even share. */
static void watch_push(struct ps *ps, uint32_t part) {
  for (uint32_t r = 0; !ps->dense && r < ps->run->ranks; r++) {
    uint64_t all = ps->run->own[r].count;
    double ratio = all ? (double)ps->slice[r].count * ps->parts / (double)all : 0;
    if (part == 0 && r == 0) ps->run->push_imbalance = 0;
    if (ratio > ps->run->push_imbalance) ps->run->push_imbalance = ratio;
  }
}

static bool aggregate_part(struct ps *ps, uint32_t part, struct ss_error *error) {
  struct ss_run *run = ps->run;
  struct ss_chunk shared = {0}, *sum = &ps->aggregate[part];
  uint64_t bytes = 0;
  for (uint32_t r = 0; r < run->ranks; r++) {
    if (!slice_of(ps, r, part, &ps->slice[r], error)) return false;
    bytes += ss_wire_bytes(ps->dense ? &run->dense : &run->coo, &ps->slice[r]);
  }
  watch_push(ps, part);
  if (ps->dense) {
    if (!add_dense(ps, part, error)) return false;
  } else if (!ss_receipts_sum(&run->play, &ps->pushed, part, ps->slice, low_of(ps, part), low_of(ps, part + 1),
                              &shared, sum, error)) {
    return false;
  }
  ps->moved[part] = bytes + ss_wire_bytes(ps->dense ? &run->dense : &run->coo, sum);
  sum->origin = owner(ps, part);
  sum->part = part;
  return true;
}

static bool aggregate(struct ps *ps, struct ss_error *error) {
  uint64_t most = 0, all = 0;
  for (uint32_t j = 0; j < ps->parts; j++) {
    ps->aggregate[j] = part_range(ps, j);
    ps->aggregate[j].origin = owner(ps, j);
    if (!ps->run->play.payloads || !ss_run_resident(ps->run, owner(ps, j))) continue;
    if (!aggregate_part(ps, j, error)) return false;
    all += ps->aggregate[j].count;
    if (ps->aggregate[j].count > most) most = ps->aggregate[j].count;
  }
  if (!ps->dense && all > 0) ps->run->pull_imbalance = (double)most * ps->parts / (double)all;
  return ss_play_kernels(&ps->run->play, owner(ps, 0), ps->parts, ps->moved, error);
}

/* --- pulls ---------------------------------------------------------------------------------------------- */

/* Rank r got part j, as `got`. A process that did not have the part keeps it. */
static bool got_part(struct ps *ps, uint32_t r, uint32_t j, const struct ss_chunk *got, struct ss_error *error) {
  if (!ss_run_resident(ps->run, owner(ps, j))) ps->aggregate[j] = *got;
  return ss_receipts_add(&ps->run->play, &ps->pulled, r, j, &ps->aggregate[j], got, error);
}

static bool pull_direct(struct ps *ps, struct ss_error *error) {
  struct ss_gather gather;
  const struct ss_wire *wire = ps->dense ? &ps->run->dense : &ps->run->coo;
  if (!ss_gather_open(&gather, ps->everyone, wire, error)) return false;
  for (uint32_t j = 0; j < ps->parts; j++) ss_gather_set(&gather, 0, j, &ps->aggregate[j]);
  bool ok = ss_gather_seal(&ps->run->play, &gather, error) && ss_allgather_direct(&ps->run->play, &gather, error);
  for (uint32_t r = 0; ok && ps->run->play.payloads && r < ps->run->ranks; r++) {
    if (!ss_run_resident(ps->run, r)) continue;
    for (uint32_t j = 0; ok && j < ps->parts; j++) {
      const struct ss_chunk *held = ss_receipts_held(&gather.receipts, r, j, &gather.block[j]);
      ok = j == r || !held || got_part(ps, r, j, held, error);
    }
  }
  ss_gather_close(&gather);
  return ok;
}

/* The owners in turn. */
static bool pull_broadcast(struct ps *ps, struct ss_error *error) {
  struct ss_run *run = ps->run;
  struct ss_chunk *held = ss_arena_alloc(run->play.arena, run->ranks, sizeof *held);
  if (!held) return ss_fail_memory(error, "broadcasting parts");
  for (uint32_t j = 0; j < ps->parts; j++) {
    for (uint32_t r = 0; r < run->ranks; r++) {
      held[r] = ps->aggregate[j];
      if (run->play.payloads && r != j) held[r].count = 0;
    }
    bool ok = ps->pull == BROADCAST_BINOMIAL
                  ? ss_broadcast_binomial(&run->play, &ps->everyone, j, &run->coo, held, error)
                  : ss_broadcast_scatter(&run->play, &ps->everyone, j, &run->coo, held, error);
    for (uint32_t r = 0; ok && run->play.payloads && r < run->ranks; r++)
      if (r != j && ss_run_resident(run, r)) ok = got_part(ps, r, j, &held[r], error);
    if (!ok) return false;
  }
  return true;
}

static bool pull(struct ps *ps, struct ss_error *error) {
  struct ss_play *play = &ps->run->play;
  struct ss_exchange x = exchange_of(ps, &ps->pulled, give_pull);
  if (!announce(ps, error)) return false;
  if (!ps->colocated) return ss_fan_out(play, &x, error);
  for (uint32_t r = 0; play->payloads && r < ps->parts; r++) ss_receipts_add_run(play, &ps->pulled, r, r, 1);
  switch (ps->pull) {
  case UNION: return pull_direct(ps, error);
  case ROWS: return ss_pairwise(play, &ps->everyone, &x, error);
  case BROADCAST_BINOMIAL:
  case BROADCAST_SCATTER: return pull_broadcast(ps, error);
  }
  return false;
}

/* --- what ranks end with -------------------------------------------------------------------------------- */

static void prove_dense(struct ps *ps, uint32_t r) {
  for (uint32_t j = 0; j < ps->parts; j++) {
    const struct ss_chunk *held = ss_receipts_held(&ps->pulled, r, j, &ps->aggregate[j]);
    if (held) ss_run_dense(ps->run, held, ps->parts);
    else ss_run_inexact(ps->run, "rank %u never received part %u", r, j);
  }
}

/* The rows that rank r pushed, part by part. */
static bool prove_rows(struct ps *ps, uint32_t r, struct ss_error *error) {
  for (uint32_t j = 0; j < ps->parts; j++) {
    struct ss_chunk sent, wanted;
    if (!slice_of(ps, r, j, &wanted, error) || !give_pull(ps, j, r, &sent, error)) return false;
    const struct ss_chunk *held = ss_receipts_held(&ps->pulled, r, j, &sent);
    if (held) ss_run_sparse(ps->run, held, 0, &wanted);
    else ss_run_inexact(ps->run, "rank %u never received its rows of part %u", r, j);
  }
  return true;
}

static bool prove(struct ps *ps, struct ss_error *error) {
  struct ss_run *run = ps->run;
  struct ss_chunk shared = {0}, sum;
  for (uint32_t r = 0; run->proof && r < run->ranks; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (ps->dense) {
      prove_dense(ps, r);
    } else if (ps->pull == ROWS) {
      if (!prove_rows(ps, r, error)) return false;
    } else {
      if (!ss_receipts_sum(&run->play, &ps->pulled, r, ps->aggregate, 0, run->input->rows, &shared, &sum, error))
        return false;
      ss_run_sparse(run, &sum, 0, NULL);
    }
  }
  return true;
}

static bool run_ps(struct ss_run *run, struct ss_error *error) {
  struct ps ps = {.run = run, .everyone = ss_everyone(run->ranks)};
  ps.colocated = ss_setting_value(run->setting, "colocated");
  ps.dense = ss_setting_value(run->setting, "dense");
  ps.pull = (enum pull)ss_setting_value(run->setting, "pull");
  ps.parts = ps.colocated ? run->ranks : run->servers;
  ps.aggregate = ss_arena_alloc(run->play.arena, ps.parts, sizeof *ps.aggregate);
  ps.slice = ss_arena_alloc(run->play.arena, run->ranks, sizeof *ps.slice);
  ps.moved = ss_arena_alloc(run->play.arena, ps.parts, sizeof *ps.moved);
  if (!ps.aggregate || !ps.slice || !ps.moved) return ss_fail_memory(error, "cutting a tensor over servers");
  for (uint32_t j = 0; j < ps.parts; j++) ps.moved[j] = 0;
  bool ok = (!run->play.payloads || (ss_receipts_open(&ps.pushed, ps.parts, run->ranks, error) &&
                                     ss_receipts_open(&ps.pulled, run->ranks, ps.parts, error))) &&
            push(&ps, error) && aggregate(&ps, error) && pull(&ps, error) && prove(&ps, error);
  ss_receipts_close(&ps.pushed);
  ss_receipts_close(&ps.pulled);
  return ok;
}

/* --- options -------------------------------------------------------------------------------------------- */

static uint32_t servers_of(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  (void)ranks;
  if (ss_setting_value(setting, "colocated")) return 0;
  uint64_t servers = ss_setting_value(setting, "servers");
  return servers ? (uint32_t)servers : nodes;
}

static uint64_t parts_of(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  uint32_t servers = servers_of(setting, ranks, nodes);
  return servers ? servers : ranks;
}

static bool check(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  uint32_t servers = servers_of(setting, ranks, nodes);
  bool colocated = ss_setting_value(setting, "colocated"), dense = ss_setting_value(setting, "dense");
  enum pull pull = (enum pull)ss_setting_value(setting, "pull");
  if (servers > ranks)
    return ss_fail(error, SS_BAD_INPUT, "%s: %u servers for %u ranks: at most as many servers as ranks",
                   setting->label, servers, ranks);
  if (colocated && ss_setting_value(setting, "servers"))
    return ss_fail(error, SS_BAD_INPUT, "%s: \"colocated\" makes the ranks the servers: leave \"servers\" out",
                   setting->label);
  if (!colocated && pull >= BROADCAST_BINOMIAL)
    return ss_fail(error, SS_BAD_INPUT, "%s: pull \"%s\" needs \"colocated\": true", setting->label, pulls[pull]);
  if (dense && pull != UNION)
    return ss_fail(error, SS_BAD_INPUT, "%s: dense parts are pulled whole: leave \"pull\" out", setting->label);
  return true;
}

static bool counts_suffice(const struct ss_setting *setting, const struct ss_input *input) {
  return ss_setting_value(setting, "dense") ||
         (ss_setting_value(setting, "pull") == ROWS && (input->even || input->row));
}

const struct ss_scheme ss_scheme_ps = {
    .name = "ps",
    .summary = "Parameter server: push rows to servers of even row ranges, sum, pull",
    .source = "EmbRace §4.1.2, Table 2; ZEN §2.4 and B.1 (Sparse PS)",
    .options = options,
    .lossless = true,
    .check = check,
    .servers = servers_of,
    .parts = parts_of,
    .counts_suffice = counts_suffice,
    .run = run_ps,
};
