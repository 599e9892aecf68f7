#include "schemes/schemes.h"

#include <math.h>
#include <stdio.h>

struct ss_input_wish ss_setting_wish(const struct ss_setting *setting, uint32_t ranks, bool verify, bool device) {
  const struct ss_scheme *scheme = setting->scheme;
  struct ss_input even = {.even = true};
  return (struct ss_input_wish){
      .ranks = ranks,
      .lists = verify || device || (scheme->counts_suffice && !scheme->counts_suffice(setting, &even)),
      .lookups = scheme->wants_lookups && scheme->wants_lookups(setting),
      .element = setting->element && !scheme->keeps_rows,
  };
}

uint32_t ss_setting_servers(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes) {
  return setting->scheme->servers && ranks > 1 ? setting->scheme->servers(setting, ranks, nodes) : 0;
}

bool ss_setting_check(const struct ss_setting *setting, uint32_t ranks, uint32_t nodes, struct ss_error *error) {
  return !setting->scheme->check || setting->scheme->check(setting, ranks, nodes, error);
}

/* --- what ranks contribute ------------------------------------------------------------------------------ */

static bool add_marks(struct ss_chunk *chunk, struct ss_arena *arena) {
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
    ok = !marks || add_marks(&chunk[r], arena);
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
}

bool ss_run_play(const struct ss_setting *setting, const struct ss_input *input, uint32_t servers,
                 struct ss_player *player, const struct ss_device *device, bool payloads, const struct ss_chunk *own,
                 struct ss_proof *proof, struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) {
  struct ss_run run = {.setting = setting,
                       .input = input,
                       .ranks = input->ranks,
                       .servers = servers,
                       .own = own,
                       .proof = proof,
                       .exact = true,
                       .push_imbalance = NAN,
                       .pull_imbalance = NAN};
  if (!ss_play_open(&run.play, player, input->ranks, servers, error)) return false;
  run.play.payloads = payloads;
  run.play.exchange_sizes = setting->exchange_sizes;
  run.play.device = device;
  run.play.arena = arena;
  describe_wires(&run);
  bool ok = input->ranks == 1 || setting->scheme->run(&run, error);
  out->proven = proof != NULL;
  out->exact = run.exact && run.play.mismatches == 0;
  out->push_imbalance = run.push_imbalance;
  out->pull_imbalance = run.pull_imbalance;
  snprintf(out->mismatch, sizeof out->mismatch, "%s", run.play.mismatch);
  ss_play_close(&run.play);
  return ok;
}

static void per_rank(const struct ss_engine *engine, struct ss_outcome *out) {
  for (uint32_t r = 0; out->rank_sent && r < engine->ranks; r++) {
    out->rank_sent[r] = ss_engine_sent(engine, r);
    out->rank_received[r] = ss_engine_received(engine, r);
  }
}

bool ss_simulate(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                 struct ss_arena *arena, struct ss_outcome *out, struct ss_error *error) {
  uint32_t nodes = ss_cluster_nodes(world->cluster, input->ranks);
  uint32_t servers = ss_setting_servers(setting, input->ranks, nodes);
  bool counts = !setting->scheme->counts_suffice || setting->scheme->counts_suffice(setting, input);
  bool payloads = world->verify || !counts || (world->device && world->device->counted);
  struct ss_proof *proof = NULL;
  struct ss_engine engine;
  const struct ss_chunk *own;
  if (!ss_engine_open(&engine, world->cluster, input->ranks, servers, error)) return false;
  bool ok =
      ss_run_own(setting, input, world->verify, NULL, arena, &own, error) &&
      (!world->verify || ss_reference_open(setting, input, &proof, error)) &&
      ss_run_play(setting, input, servers, &engine.player, world->device, payloads, own, proof, arena, out, error);
  if (ok) out->tally = ss_engine_tally(&engine);
  if (ok) per_rank(&engine, out);
  ss_reference_close(proof);
  ss_engine_close(&engine);
  return ok;
}
