#include "schemes/schemes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

struct ss_input_options ss_setting_input_options(const struct ss_setting *setting, uint32_t ranks, bool verify,
                                                 bool device) {
  const struct ss_scheme *scheme = setting->scheme;
  struct ss_input even = {.even = true};
  bool sparse_inside = setting->hierarchy && !scheme->dense;
  return (struct ss_input_options){
      .ranks = ranks,
      .lists = verify || device || scheme->valued || sparse_inside ||
               (scheme->counts_suffice && !scheme->counts_suffice(setting, &even)),
      .lookups = scheme->wants_lookups && scheme->wants_lookups(setting),
      .element = ss_setting_by_elements(setting),
      .values = scheme->valued,
  };
}

struct ss_layout ss_layout_of(const struct ss_cluster *cluster, uint32_t ranks) {
  return (struct ss_layout){ranks, ss_cluster_nodes(cluster, ranks), cluster->gpus_per_node};
}

/* Ranks and nodes as the scheme's own code sees them. */
static struct ss_layout inside(const struct ss_setting *setting, struct ss_layout layout) {
  if (setting->hierarchy == SS_FLAT) return layout;
  return (struct ss_layout){layout.nodes, layout.nodes, 1};
}

uint32_t ss_setting_servers(const struct ss_setting *setting, struct ss_layout layout) {
  struct ss_layout in = inside(setting, layout);
  if (!setting->scheme->servers || in.ranks == 1) return 0;
  return setting->scheme->servers(setting, in.ranks, in.nodes) * ss_hierarchy_groups(setting->hierarchy, layout);
}

uint64_t ss_setting_parts(const struct ss_setting *setting, struct ss_layout layout) {
  struct ss_layout in = inside(setting, layout);
  uint64_t parts = setting->scheme->parts ? setting->scheme->parts(setting, in.ranks, in.nodes) : 1;
  return parts * ss_hierarchy_groups(setting->hierarchy, layout);
}

bool ss_setting_check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  struct ss_layout in = inside(setting, layout);
  const uint32_t g = layout.per_node;
  if (setting->hierarchy && g < 2)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: a hierarchy needs nodes of several GPUs; this cluster has one a node (cluster.gpus_per_node)",
                   setting->label);
  if (setting->hierarchy == SS_SHARD && layout.ranks > g && layout.ranks % g != 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: hierarchy \"shard\" needs full nodes: %u ranks are not a multiple of %u GPUs a node (say "
                   "\"leader\", or %u ranks)",
                   setting->label, layout.ranks, g, (layout.ranks / g + 1) * g);
  return !setting->scheme->check || setting->scheme->check(setting, in.ranks, in.nodes, error);
}

/* --- what ranks contribute ------------------------------------------------------------------------------ */

static bool add_marks(struct ss_chunk *chunk, bool uncoalesced, struct ss_arena *arena) {
  if (!uncoalesced) {
    chunk->author = chunk->origin + 1;
    return true;
  }
  uint64_t *marks = ss_arena_alloc(arena, chunk->count, sizeof *marks), again = 0;
  if (!marks) return false;
  for (uint64_t i = 0; i < chunk->count; i++) {
    again = i > 0 && chunk->rows[i] == chunk->rows[i - 1] ? again + 1 : 0;
    marks[i] = ss_contribution(chunk->origin, chunk->rows[i], again);
  }
  chunk->marks = marks;
  return true;
}

static bool add_values(struct ss_chunk *chunk, struct ss_arena *arena) {
  uint64_t n;
  if (!ss_mul_u64(chunk->count, chunk->width, &n)) return false;
  float *values = ss_arena_alloc(arena, n, sizeof *values);
  if (!values) return false;
  uint64_t again = 0;
  for (uint64_t i = 0; i < chunk->count; i++) {
    again = i > 0 && chunk->rows[i] == chunk->rows[i - 1] ? again + 1 : 0;
    uint64_t mark = ss_contribution(chunk->origin, chunk->rows[i], again);
    for (uint32_t c = 0; c < chunk->width; c++) values[i * chunk->width + c] = ss_contribution_value(mark, c);
  }
  chunk->values = values;
  return true;
}

bool ss_run_own(const struct ss_setting *setting, const struct ss_input *input, bool marks, const bool *values,
                struct ss_arena *arena, const struct ss_chunk **own, struct ss_error *error) {
  bool uncoalesced = setting->scheme->uncoalesced && setting->scheme->uncoalesced(setting);
  struct ss_chunk *chunk = ss_arena_alloc(arena, input->ranks, sizeof *chunk);
  bool ok = chunk;
  for (uint32_t r = 0; ok && r < input->ranks; r++) {
    const uint32_t *const *rows = uncoalesced ? input->lookup : input->row;
    chunk[r] = (struct ss_chunk){.rows = rows ? rows[r] : NULL,
                                 .count = uncoalesced ? input->lookups[r] : input->count[r],
                                 .high = input->rows,
                                 .width = input->width,
                                 .stride = input->width,
                                 .origin = r};
    if (setting->scheme->valued) {
      chunk[r].marks = (const uint64_t *)input->value[r];
      chunk[r].distinct = true;
      continue;
    }
    ok = !marks || add_marks(&chunk[r], uncoalesced, arena);
    if (ok && values && values[r]) ok = add_values(&chunk[r], arena);
  }
  *own = chunk;
  return ok ? true : ss_fail_memory(error, "making gradients");
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static void describe_wires(struct ss_run *run) {
  const struct ss_setting *s = run->setting;
  run->dense = (struct ss_wire){.format = SS_WIRE_DENSE, .value_bytes = run->input->value_bytes};
  run->coo = (struct ss_wire){.format = SS_WIRE_COO,
                              .value_bytes = run->input->value_bytes,
                              .index_bytes = s->index_bytes,
                              .index_per_element = s->element && s->scheme->keeps_rows};
  run->dense.units = run->coo.units = s->scheme->valued;
}

bool ss_stage_run(const struct ss_stage *stage, struct ss_final *final, struct ss_outcome *out,
                  struct ss_error *error) {
  const struct ss_setting *setting = stage->setting;
  const struct ss_input *input = stage->input;
  struct ss_run run = {.setting = setting,
                       .input = input,
                       .ranks = input->ranks,
                       .servers = stage->servers,
                       .high = input->rows,
                       .shards = 1,
                       .own = stage->own,
                       .dense_lists = stage->lists,
                       .memory = stage->memory,
                       .proof = stage->proof,
                       .exact = true,
                       .agreed = true,
                       .grain = 1,
                       .push_imbalance = NAN,
                       .pull_imbalance = NAN};
  if (!ss_play_open(&run.play, stage->player, input->ranks, stage->servers, error)) return false;
  run.play.payloads = stage->payloads;
  run.play.exchange_sizes = setting->exchange_sizes;
  run.play.watchful = setting->scheme->valued;
  run.play.device = stage->device;
  run.play.arena = stage->arena;
  describe_wires(&run);
  bool ok = true;
  if (setting->hierarchy && input->ranks > 1) ok = ss_hierarchy_run(&run, stage->per_node, error);
  else if (input->ranks > 1 || setting->scheme->valued) ok = setting->scheme->run(&run, error);
  out->proven = stage->proof != NULL;
  out->exact = run.exact && run.play.mismatches == 0;
  out->sound = out->exact && run.agreed;
  out->k = ss_run_k(&run);
  out->push_imbalance = run.push_imbalance;
  out->pull_imbalance = run.pull_imbalance;
  snprintf(out->mismatch, sizeof out->mismatch, "%s", run.play.mismatch);
  if (!run.agreed && !out->mismatch[0])
    snprintf(out->mismatch, sizeof out->mismatch, "ranks end with different values");
  if (final) *final = (struct ss_final){run.final, run.grain};
  ss_play_close(&run.play);
  return ok;
}

static void per_rank(const struct ss_engine *engine, struct ss_outcome *out) {
  for (uint32_t r = 0; out->rank_sent && r < engine->ranks; r++) {
    out->rank_sent[r] = ss_engine_sent(engine, r);
    out->rank_received[r] = ss_engine_received(engine, r);
  }
}

static bool needs_payloads(const struct ss_setting *setting, const struct ss_world *world,
                           const struct ss_input *input) {
  const struct ss_scheme *scheme = setting->scheme;
  return world->verify || scheme->valued || setting->hierarchy ||
         (scheme->counts_suffice && !scheme->counts_suffice(setting, input)) ||
         (world->device && world->device->counted);
}

/* Lossless schemes are held against the brute-force sum, those of values against what ranks had. */
static bool judged_run(struct ss_stage *stage, bool verify, struct ss_outcome *out, struct ss_error *error) {
  const struct ss_scheme *scheme = stage->setting->scheme;
  struct ss_mass mass = {0};
  struct ss_final final;
  bool weigh = verify && scheme->valued;
  out->energy = out->energy_lost = out->error_l2 = out->error_mean = NAN;
  if (verify && !scheme->valued && !ss_reference_open(stage->setting, stage->input, &stage->proof, error))
    return false;
  bool ok = (!weigh || ss_mass_open(&mass, stage->input->rows, stage->own, stage->memory, error)) &&
            ss_stage_run(stage, &final, out, error);
  if (ok && weigh) {
    ss_mass_judge(&mass, stage->setting, &final, stage->memory, out);
    out->proven = true;
  }
  ss_mass_close(&mass);
  ss_reference_close(stage->proof);
  stage->proof = NULL;
  return ok;
}

bool ss_simulate_all(const struct ss_setting *setting, const struct ss_world *world,
                     const struct ss_cluster *const *clusters, uint32_t count, const struct ss_input *input,
                     struct ss_arena *arena, struct ss_outcome *out, struct ss_tally *tallies,
                     struct ss_error *error) {
  struct ss_layout layout = ss_layout_of(clusters[0], input->ranks);
  struct ss_memory alone = {0}, *memory = world->memory ? world->memory : &alone;
  struct ss_engines engines;
  struct ss_stage stage = {.setting = setting,
                           .input = input,
                           .servers = ss_setting_servers(setting, layout),
                           .per_node = layout.per_node,
                           .device = world->device,
                           .payloads = needs_payloads(setting, world, input),
                           .memory = memory,
                           .arena = arena};
  for (uint32_t i = 1; i < count; i++) assert(clusters[i]->gpus_per_node == layout.per_node);
  if (!ss_engines_open(&engines, clusters, count, input->ranks, stage.servers, error)) return false;
  for (uint32_t i = 0; world->paces && i < count; i++) engines.engine[i].pace = world->paces[i];
  stage.player = ss_engines_player(&engines);
  bool ok = ss_memory_begin(memory, input->ranks, error) &&
            ss_run_own(setting, input, world->verify || setting->scheme->valued, NULL, arena, &stage.own, error) &&
            judged_run(&stage, world->verify, out, error);
  if (ok) {
    ss_memory_end(memory);
    ss_engines_tally(&engines, tallies);
    out->tally = tallies[0];
    per_rank(&engines.engine[0], out);
  }
  ss_memory_free(&alone);
  ss_engines_close(&engines);
  return ok;
}

bool ss_simulate(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                 struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) {
  struct ss_tally tally;
  return ss_simulate_all(setting, world, &world->cluster, 1, input, arena, out, &tally, error);
}
