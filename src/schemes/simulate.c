#include "schemes/simulate.h"

#include "schemes/run.h"
#include "sim/collectives/tuner.h"

struct ss_layout ss_layout_of(const struct ss_cluster *cluster, uint32_t ranks) {
  return (struct ss_layout){ranks,
                            ss_cluster_nodes(cluster, ranks),
                            cluster->gpus_per_node,
                            ss_cluster_fair(cluster) ? ss_cluster_nics(cluster) : 0,
                            ss_tuner_chooses(cluster, SS_ALLREDUCE),
                            ss_cluster_mpi(cluster),
                            cluster->switch_sums};
}

void ss_setting_tune(struct ss_setting *setting, const struct ss_cluster *cluster, uint32_t ranks, uint64_t bytes) {
  if (setting->scheme->tune && !setting->hierarchy && ranks > 1 && ss_tuner_chooses(cluster, SS_ALLREDUCE))
    setting->scheme->tune(setting, cluster, ranks, bytes);
}

struct ss_cluster ss_setting_cluster(const struct ss_setting *setting, const struct ss_cluster *cluster,
                                     const struct ss_input *input, double *start) {
  const uint64_t *protocol = ss_setting_find(setting, "protocol"), *chunks = ss_setting_find(setting, "chunks");
  *start = 0;
  if (!protocol || *protocol == 0 || input->ranks == 1) return *cluster;
  const struct ss_choice choice = {ss_setting_says(setting, "algorithm", "trees") ? SS_WAY_TREE : SS_WAY_RING,
                                   (enum ss_protocol)(*protocol - 1), NAN};
  const uint64_t bytes = input->rows * input->width * input->value_bytes;
  struct ss_pattern_call call = ss_choice_call(cluster, choice, SS_ALLREDUCE, input->ranks, bytes);
  call.chunks = (uint32_t)*chunks;
  call.rings = ss_setting_rings(setting, ss_layout_of(cluster, input->ranks));
  *start = ss_library_start(cluster, choice.protocol);
  return ss_choice_cluster(cluster, choice, &call);
}

/* Sums of nodes have other rows than ranks have: what is sent of them is known when they are made. */
static bool sums_rows(const struct ss_setting *setting) {
  return setting->hierarchy && setting->scheme->content != SS_SENDS_DENSE;
}

struct ss_input_options ss_setting_input_options(const struct ss_setting *setting, uint32_t ranks, bool verify,
                                                 bool device) {
  const struct ss_scheme *scheme = setting->scheme;
  const struct ss_traits traits =
      ss_setting_traits(setting, (struct ss_layout){.ranks = ranks, .nodes = ranks, .per_node = 1});
  return (struct ss_input_options){
      .ranks = ranks,
      .lists = verify || device || ss_scheme_valued(scheme) || sums_rows(setting) || traits.lists,
      .lookups = traits.lookups,
      .bags = traits.pools,
      .before = device,
      .coalesces = !traits.duplicates && !traits.fetches && !traits.pools &&
                   !ss_hierarchy_dense(setting->hierarchy) &&
                   (scheme->content == SS_SENDS_ROWS || ss_scheme_model_parallel(scheme)),
      .element = ss_setting_by_elements(setting),
      .values = ss_scheme_valued(scheme),
  };
}

/* --- what ranks contribute ------------------------------------------------------------------------------ */

static bool add_proofs(struct ss_chunk *chunk, bool uncoalesced, struct ss_arena *arena) {
  if (!uncoalesced) {
    chunk->kind = SS_CHUNK_CONTRIBUTIONS;
    chunk->author = chunk->origin;
    return true;
  }
  uint64_t *proofs = ss_arena_alloc(arena, chunk->count, sizeof *proofs), again = 0;
  if (!proofs) return false;
  assert(chunk->rows || chunk->count == 0);
  for (uint64_t i = 0; i < chunk->count; i++) {
    again = i > 0 && chunk->rows[i] == chunk->rows[i - 1] ? again + 1 : 0;
    proofs[i] = ss_contribution(chunk->origin, chunk->rows[i], again);
  }
  chunk->proofs = proofs;
  chunk->kind = SS_CHUNK_PROOFS;
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

/* Where bags are pooled, a row gets the gradients of all bags that have it. */
static bool add_bag_values(const struct ss_bagged *bagged, uint64_t lookups, struct ss_chunk *chunk,
                           struct ss_arena *arena) {
  float *values = ss_arena_zero(arena, chunk->count * chunk->width, sizeof *values);
  if (!values) return false;
  for (uint64_t i = 0; i < lookups; i++) {
    const uint64_t at = ss_lower_bound(chunk->rows, chunk->count, bagged->row[i]);
    const uint64_t mark = ss_contribution(chunk->origin, bagged->bag[i], 0);
    for (uint32_t c = 0; c < chunk->width; c++) values[at * chunk->width + c] += ss_contribution_value(mark, c);
  }
  chunk->values = values;
  return true;
}

bool ss_run_own(const struct ss_setting *setting, const struct ss_input *input, struct ss_own_content content,
                struct ss_arena *arena, const struct ss_chunk **own, struct ss_error *error) {
  const bool uncoalesced = !ss_setting_coalesces(setting);
  const bool pools = ss_setting_traits(setting, (struct ss_layout){.ranks = 1, .nodes = 1, .per_node = 1}).pools;
  struct ss_chunk *chunk = ss_arena_alloc(arena, input->ranks, sizeof *chunk);
  bool ok = chunk;
  for (uint32_t r = 0; ok && r < input->ranks; r++) {
    const uint32_t *const *rows = uncoalesced ? input->lookup : input->row;
    chunk[r] = (struct ss_chunk){.rows = rows ? rows[r] : NULL,
                                 .count = uncoalesced ? input->lookups[r] : input->count[r],
                                 .high = input->rows,
                                 .width = input->width,
                                 .stride = input->width,
                                 .origin = r,
                                 .distinct = !uncoalesced};
    if (ss_scheme_valued(setting->scheme)) {
      chunk[r].units = input->value[r];
      chunk[r].kind = SS_CHUNK_VALUES;
      chunk[r].distinct = true; /* these never travel as looked up */
      continue;
    }
    ok = !content.proofs || add_proofs(&chunk[r], uncoalesced, arena);
    if (!ok || !content.values || !content.values[r]) continue;
    ok =
        pools ? add_bag_values(&input->bagged[r], input->lookups[r], &chunk[r], arena) : add_values(&chunk[r], arena);
  }
  *own = chunk;
  return ok ? true : ss_fail_memory(error, "making gradients");
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* What is known in the end. */
static void tell(const struct ss_run *run, struct ss_outcome *out) {
  const struct ss_run_verdict *verdict = run->verdict;
  out->proven = run->proof != NULL;
  out->exact = verdict->exact && run->play->mismatches == 0;
  out->sound = out->exact && verdict->agreed;
  out->k = ss_run_k(run);
  out->push_imbalance = verdict->push_imbalance;
  out->pull_imbalance = verdict->pull_imbalance;
  snprintf(out->mismatch, sizeof out->mismatch, "%s", run->play->mismatch);
  if (!verdict->agreed && !out->mismatch[0])
    snprintf(out->mismatch, sizeof out->mismatch, "ranks end with different values");
}

/* What ranks computed to have what they start from. */
static void note_before(struct ss_play *play, const struct ss_input *input) {
  for (uint32_t r = 0; input->before && r < input->ranks; r++) {
    const struct ss_kernel_work *work = input->before + (size_t)r * SS_KERNELS;
    for (int k = 0; k < SS_KERNELS; k++) ss_play_note(play, r, (enum ss_kernel_kind)k, work[k]);
  }
}

/* B of what the rank has of rows [low, high) of `width` elements, of bags that are numbered from `bags` on. */
static uint64_t own_bytes(const struct ss_run *run, uint32_t r, const struct ss_input_table *table, uint32_t t) {
  const bool valued = ss_scheme_valued(run->setting->scheme);
  const struct ss_bagged *bagged = run->input->bagged;
  struct ss_chunk own = ss_chunk_slice(&run->own[r], table->low, table->low + table->rows);
  own.width = table->width;
  if (bagged) return (bagged[r].first[t + 1] - bagged[r].first[t]) * table->width * run->input->value_bytes;
  return ss_wire_bytes(valued ? &run->play->listed : &run->coo, &own);
}

/* What ranks hold from the beginning to the end: their gradients, and what these were selected of. */
static void hold_own(const struct ss_run *run) {
  const struct ss_setting *setting = run->setting;
  const struct ss_input *input = run->input;
  const struct ss_input_table one = {.rows = input->rows, .width = input->width};
  const bool dense = ss_setting_sends_dense(setting) || ss_hierarchy_dense(setting->hierarchy);
  const bool fetches = ss_setting_traits(setting, (struct ss_layout){.ranks = 1, .nodes = 1, .per_node = 1}).fetches;
  for (uint32_t r = 0; r < run->ranks; r++) {
    uint64_t bytes = dense ? input->rows * input->width * input->value_bytes : 0;
    for (uint32_t t = 0; !dense && !fetches && t < (input->table ? input->tables : 1); t++)
      bytes += own_bytes(run, r, input->table ? &input->table[t] : &one, t);
    ss_play_hold(run->play, r, bytes + input->beside);
    if (run->play->holding) run->play->holding[r].own = bytes + input->beside;
  }
}

static void tell_memory(const struct ss_play *play, struct ss_outcome *out) {
  for (uint32_t e = 0; play->holding && e < play->ranks + play->servers; e++) {
    const struct ss_holding *h = &play->holding[e];
    uint64_t *peak = e < play->ranks ? &out->peak : &out->server_peak;
    if (h->peak > *peak) *peak = h->peak;
    if (e >= play->ranks) continue;
    if (h->own > out->own) out->own = h->own;
    if (h->peak - h->own > out->besides) out->besides = h->peak - h->own;
  }
}

static double seconds_of(const struct ss_kernel_stream *c) {
  double sum = 0;
  for (int k = 0; k < SS_KERNELS; k++) sum += c->work[k].seconds;
  return sum;
}

/* Of all endpoints, and of the one that computes longest. */
static void tell_work(const struct ss_play *play, const struct ss_stage *stage, struct ss_outcome *out) {
  const uint32_t endpoints = play->ranks + play->servers;
  double most = -1;
  for (uint32_t e = 0; ss_play_notes(play) && e < endpoints; e++) {
    const struct ss_kernel_stream *c = &play->stream[e];
    const double seconds = seconds_of(c);
    if (stage->work) memcpy(stage->work + (size_t)e * SS_KERNELS, c->work, sizeof c->work);
    if (seconds > most) memcpy(out->work, c->work, sizeof c->work);
    most = seconds > most ? seconds : most;
  }
}

bool ss_stage_run(const struct ss_stage *stage, struct ss_final *final, struct ss_outcome *out,
                  struct ss_error *error) {
  const struct ss_setting *setting = stage->setting;
  const struct ss_input *input = stage->input;
  const bool valued = ss_scheme_valued(setting->scheme);
  const bool index_per_element = setting->element && ss_scheme_model_parallel(setting->scheme);
  struct ss_run_verdict verdict = {
      .exact = true, .agreed = true, .grain = 1, .push_imbalance = NAN, .pull_imbalance = NAN};
  struct ss_play play;
  struct ss_run run = {.play = &play,
                       .setting = setting,
                       .input = input,
                       .ranks = input->ranks,
                       .servers = stage->servers,
                       .per_node = stage->per_node,
                       .rings = stage->rings,
                       .high = input->rows,
                       .shards = 1,
                       .dense = {.format = SS_WIRE_DENSE, .value_bytes = input->value_bytes, .units = valued},
                       .coo = {.format = SS_WIRE_COO,
                               .value_bytes = input->value_bytes,
                               .index_bytes = setting->index_bytes,
                               .index_per_element = index_per_element,
                               .units = valued},
                       .own = stage->own,
                       .dense_lists = stage->lists,
                       .state = stage->state,
                       .proof = stage->proof,
                       .verdict = &verdict};
  const bool holds = !stage->player->resident;
  struct ss_holding *holding =
      holds ? ss_arena_zero(stage->arena, input->ranks + stage->servers, sizeof *holding) : NULL;
  if (holds && !holding) return ss_fail_memory(error, "counting what ranks hold");
  if (!ss_play_open(&play, stage->player, input->ranks, stage->servers, error)) return false;
  play.holding = holding;
  play.listed = run.coo;
  play.listed.format = SS_WIRE_SMALLER;
  play.payloads = stage->payloads;
  play.exchange_sizes = setting->exchange_sizes;
  play.ragged = setting->ragged;
  play.call = setting->call;
  play.watchful = valued;
  play.device = stage->device;
  play.counts = stage->work != NULL;
  play.arena = stage->arena;
  note_before(&play, input);
  hold_own(&run);
  bool ok = true;
  if (setting->hierarchy && input->ranks > 1) ok = ss_hierarchy_run(&run, stage->per_node, error);
  else if (input->ranks > 1 || valued) ok = ss_run_scheme(&run, error);
  ok = ok && ss_play_kernels(&play, error);
  if (ok && stage->proof && stage->proof->starved) ok = ss_fail_memory(error, "proving what ranks end with");
  tell(&run, out);
  tell_work(&play, stage, out);
  tell_memory(&play, out);
  if (final) *final = (struct ss_final){run.final, verdict.grain};
  ss_play_close(&play);
  return ok;
}

/* A dense tensor travels as long, and takes as long to add up, whatever lies in it: kernels need no payloads then,
 * unless somebody records what was played: as many rows are drawn for that as before. */
static bool needs_payloads(const struct ss_setting *setting, const struct ss_world *world, struct ss_layout layout) {
  const bool counts =
      world->device && world->device->counted && (world->player || setting->scheme->content != SS_SENDS_DENSE);
  return world->verify || ss_scheme_valued(setting->scheme) || sums_rows(setting) ||
         ss_setting_traits(setting, layout).lists || counts;
}

/* Lossless schemes are held against the brute-force sum, those of values against what ranks had. */
static bool judged_run(struct ss_stage *stage, bool verify, struct ss_outcome *out, struct ss_error *error) {
  const struct ss_scheme *scheme = stage->setting->scheme;
  struct ss_mass mass = {0};
  struct ss_final final;
  bool weigh = verify && ss_scheme_valued(scheme);
  out->energy = out->energy_lost = out->error_l2 = out->error_mean = NAN;
  if (verify && !ss_scheme_valued(scheme) && !ss_reference_open(stage->setting, stage->input, &stage->proof, error))
    return false;
  bool ok = (!weigh || ss_mass_open(&mass, stage->input->rows, stage->own, stage->state, error)) &&
            ss_stage_run(stage, &final, out, error);
  if (ok && weigh) {
    ss_mass_judge(&mass, stage->setting, &final, stage->state, out);
    out->proven = true;
  }
  ss_mass_close(&mass);
  ss_reference_close(stage->proof);
  stage->proof = NULL;
  return ok;
}

/* What the setting's messages find on the world's clusters, and what a call takes besides. */
struct networks {
  struct ss_cluster *cluster;
  const struct ss_cluster **list;
  double *start;
  uint32_t count;
};

/* The tallies of all clusters, and what each rank sent, for a caller who wants them. */
static void take_tallies(struct ss_engine *engine, const struct networks *on, struct ss_outcome *out) {
  for (uint32_t i = 0; i < (out->tallies ? engine->count : 1); i++) {
    struct ss_tally tally = ss_engine_tally(engine, i);
    tally.time += on->start[i];
    if (i == 0) out->tally = tally;
    if (out->tallies) out->tallies[i] = tally;
  }
  for (uint32_t r = 0; out->rank_sent && r < engine->ranks; r++) {
    out->rank_sent[r] = ss_engine_sent(engine, r);
    out->rank_received[r] = ss_engine_received(engine, r);
  }
}

static bool check_tallies(const struct ss_outcome *out, uint32_t count, struct ss_error *error) {
  for (uint32_t i = 0; i < (out->tallies ? count : 1); i++) {
    const struct ss_tally *t = out->tallies ? &out->tallies[i] : &out->tally;
    if (!ss_seconds_check(t->time, error) || !ss_seconds_check(t->kernel, error) ||
        !ss_seconds_check(t->bound, error))
      return false;
  }
  return true;
}

static bool find_networks(const struct ss_setting *setting, const struct ss_world *world,
                          const struct ss_input *input, struct ss_arena *arena, struct networks *out,
                          struct ss_error *error) {
  out->count = world->clusters ? world->cluster_count : 1;
  if (!ss_take(arena, out->cluster, out->count) || !ss_take(arena, out->list, out->count) ||
      !ss_take(arena, out->start, out->count))
    return ss_fail_memory(error, "listing networks");
  for (uint32_t i = 0; i < out->count; i++) {
    const struct ss_cluster *cluster = world->clusters ? world->clusters[i] : world->cluster;
    out->cluster[i] = ss_setting_cluster(setting, cluster, input, &out->start[i]);
    out->list[i] = &out->cluster[i];
  }
  return true;
}

static bool open_engine(struct ss_engine *engine, const struct ss_world *world, const struct networks *on,
                        struct ss_engine_size size, struct ss_error *error) {
  for (uint32_t i = 1; i < on->count; i++)
    assert(on->list[i]->gpus_per_node == on->list[0]->gpus_per_node &&
           (size.rings == 1 || ss_cluster_nics(on->list[i]) == ss_cluster_nics(on->list[0])));
  if (!ss_engine_open_each(engine, on->list, on->count, size, error)) return false;
  for (uint32_t i = 0; world->paces && i < on->count; i++) engine->on[i].pace = world->paces[i];
  return true;
}

bool ss_simulate(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                 struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) {
  const struct ss_layout layout = ss_layout_of(world->cluster, input->ranks);
  SS_AUTO(ss_state_free) struct ss_state alone = {0};
  struct ss_state *state = world->state ? world->state : &alone;
  const struct ss_own_content content = {.proofs = world->verify || ss_scheme_valued(setting->scheme)};
  SS_AUTO(ss_engine_close) struct ss_engine engine = {0};
  struct ss_stage stage = {.setting = setting,
                           .input = input,
                           .servers = ss_setting_servers(setting, layout),
                           .per_node = layout.per_node,
                           .rings = ss_setting_rings(setting, layout),
                           .player = world->player ? world->player : &engine.player,
                           .device = world->device,
                           .payloads = needs_payloads(setting, world, layout),
                           .state = state,
                           .arena = arena};
  struct networks on = {0};
  const struct ss_engine_size size = {input->ranks, stage.servers, stage.rings, world->threads};
  if (!world->player &&
      (!find_networks(setting, world, input, arena, &on, error) || !open_engine(&engine, world, &on, size, error)))
    return false;
  if (!ss_state_begin(state, input->ranks, error) || !ss_run_own(setting, input, content, arena, &stage.own, error) ||
      !judged_run(&stage, world->verify, out, error))
    return false;
  ss_state_end(state);
  if (world->player) return true;
  if (!ss_engine_end(&engine, error)) return false;
  take_tallies(&engine, &on, out);
  return check_tallies(out, on.count, error);
}

/* --- what an iteration starts from ------------------------------------------------------------------------ */

struct ss_input_options ss_iteration_options(const struct ss_setting *setting, const struct ss_selection *selection,
                                             uint32_t ranks, bool verify, bool device) {
  struct ss_input_options options = ss_setting_input_options(setting, ranks, verify, device);
  if (selection->selects) options.element = options.values = options.lists = true;
  return options;
}

bool ss_iteration_select(const struct ss_setting *setting, struct ss_selector *selector, struct ss_input *input,
                         struct ss_arena *arena, struct ss_error *error) {
  if (selector->selection.selects && ss_setting_says(setting, "residuals", "sketch"))
    return ss_fail(
        error, SS_BAD_INPUT,
        "%s: errors of the sketch go to what is selected from, which `learn` alone plays: leave \"residuals\" or "
        "\"select\" out",
        setting->label);
  return !selector->selection.selects ||
         ss_selector_apply(selector, ss_setting_by_elements(setting), input, arena, error);
}

bool ss_iteration_shape(const struct ss_setting *setting, const struct ss_selection *selection,
                        const struct ss_origin *origin, struct ss_input *out, struct ss_error *error) {
  const bool element = ss_setting_by_elements(setting);
  if (!ss_input_shape(origin, element || selection->selects, out, error)) return false;
  ss_selection_shape(selection, element, out);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
