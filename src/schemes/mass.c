#include "schemes/simulate.h"

static void add(uint64_t *table, const struct ss_chunk *c, bool minus) {
  for (uint64_t i = 0; i < c->count; i++)
    table[c->rows[i]] += minus ? 0 - (uint64_t)c->units[i] : (uint64_t)c->units[i];
}

/* What is waiting: residuals, or what is kept for the next iteration, of all shards. */
static void add_waiting(uint64_t *table, const struct ss_state *m, bool kept, bool minus) {
  for (uint32_t r = 0; r < m->ranks; r++) add(table, kept ? &m->kept[r] : &m->residual[r], minus);
  for (uint32_t i = 0; i < m->shards; i++) add_waiting(table, &m->shard[i], kept, minus);
}

bool ss_mass_open(struct ss_mass *mass, uint64_t rows, const struct ss_chunk *own, const struct ss_state *state,
                  struct ss_error *error) {
  *mass = (struct ss_mass){.rows = rows, .had = ss_alloc_zero(rows, sizeof *mass->had)};
  if (!mass->had) return ss_fail_memory(error, "weighing gradients");
  for (uint32_t r = 0; r < state->ranks; r++) add(mass->had, &own[r], false);
  add_waiting(mass->had, state, false, false);
  return true;
}

void ss_mass_settle(struct ss_mass *mass, const struct ss_chunk *final, const struct ss_state *state) {
  if (final) add(mass->had, final, true);
  add_waiting(mass->had, state, true, true);
}

static double energy_of(const uint64_t *table, uint64_t rows) {
  double sum = 0;
  for (uint64_t i = 0; i < rows; i++) sum += (double)(int64_t)table[i] * (double)(int64_t)table[i];
  return sum;
}

/* Of estimates, over the elements that were decoded. */
static void judge_estimates(const struct ss_mass *mass, const struct ss_final *final, struct ss_outcome *out) {
  double square = 0, energy = 0, off = 0, magnitude = 0;
  for (uint64_t i = 0; i < final->chunk.count; i++) {
    double is = (double) final->chunk.units[i] * final->grain;
    double was = (double)(int64_t)mass->had[final->chunk.rows[i]], error = is - was;
    square += error * error;
    energy += was * was;
    off += error;
    magnitude += fabs(was);
  }
  out->error_l2 = energy > 0 ? sqrt(square / energy) : 0;
  out->error_mean = magnitude > 0 ? off / magnitude : 0;
}

void ss_mass_judge(struct ss_mass *mass, const struct ss_setting *setting, const struct ss_final *final,
                   const struct ss_state *state, struct ss_outcome *out) {
  double had = energy_of(mass->had, mass->rows);
  out->energy = had > 0 ? ss_chunk_energy(&final->chunk) * final->grain * final->grain / had : 1;
  if (ss_scheme_estimates(setting->scheme)) {
    judge_estimates(mass, final, out);
    if (!ss_setting_conserves(setting)) return;
  }
  ss_mass_settle(mass, &final->chunk, state);
  double lost = energy_of(mass->had, mass->rows);
  out->energy_lost = had > 0 ? lost / had : 0;
  if (lost == 0 || !ss_setting_conserves(setting)) return;
  out->sound = false;
  if (!out->mismatch[0])
    snprintf(out->mismatch, sizeof out->mismatch, "gradient and residual are not what was applied and kept");
}

void ss_mass_close(struct ss_mass *mass) {
  free(mass->had);
  *mass = (struct ss_mass){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
