#include "exec/value_proof.h"

#include "exec/waiting.h"
#include "tensor/topk.h"

#include <math.h>
#include <stdio.h>

enum { COARSE_BITS = 11 };

static int shift_of(const struct ss_input *input) {
  uint64_t most = 1;
  for (uint32_t r = 0; r < input->ranks; r++)
    for (uint64_t i = 0; i < input->count[r]; i++)
      if (ss_magnitude(input->value[r][i]) > most) most = ss_magnitude(input->value[r][i]);
  const int bits = 64 - __builtin_clzll(most);
  return bits > COARSE_BITS ? bits - COARSE_BITS : 0;
}

bool ss_coarse_input(const struct ss_input *input, struct ss_grain *grain, struct ss_arena *arena,
                     struct ss_input *out, struct ss_error *error) {
  const int64_t **value = ss_arena_alloc(arena, input->ranks, sizeof *value);
  if (!value) return ss_fail_memory(error, "making values coarse");
  if (!grain->known) *grain = (struct ss_grain){true, shift_of(input)};
  for (uint32_t r = 0; r < input->ranks; r++) {
    int64_t *coarse = ss_arena_alloc(arena, input->count[r], sizeof *coarse);
    if (!coarse) return ss_fail_memory(error, "making values coarse");
    for (uint64_t i = 0; i < input->count[r]; i++)
      coarse[i] = llrint(ldexp((double)input->value[r][i], -grain->shift));
    value[r] = coarse;
  }
  *out = *input;
  out->value = value;
  return true;
}

/* --- nothing is lost ------------------------------------------------------------------------------------ */

/* All ranks end with the same: one of them says what was applied. */
static bool conserved(struct ss_value_proof *p, struct ss_error *error) {
  struct ss_mass *mass = p->mass;
  ss_mass_settle(mass, p->comm->rank == 0 ? &p->final->chunk : NULL, p->memory);
  const int code = ss_wait_allreduce_table(mass->had, mass->rows, MPI_UINT64_T, MPI_SUM);
  if (!ss_mpi_check(code, "summing the dense tensor", error)) return false;
  for (uint64_t i = 0; p->good && i < mass->rows; i++) {
    if (mass->had[i] == 0) continue;
    p->good = false;
    (void)snprintf(p->why, sizeof p->why,
                   "element %llu: gradients and residuals differ from what was applied and kept by %lld",
                   (unsigned long long)i, (long long)mass->had[i]);
  }
  return true;
}

/* --- all end alike -------------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct ss_final *final) {
  uint64_t hash = 1;
  for (uint64_t i = 0; i < final->chunk.count; i++)
    if (final->chunk.units[i] != 0)
      hash = ss_mix(ss_mix(hash, final->chunk.rows[i]), (uint64_t) final->chunk.units[i]);
  return hash;
}

static bool alike(struct ss_value_proof *p, struct ss_error *error) {
  const uint64_t hash = hash_of(p->final);
  uint64_t least = 0, most = 0;
  int code = ss_wait_allreduce(&hash, &least, 1, MPI_UINT64_T, MPI_MIN);
  if (code == MPI_SUCCESS) code = ss_wait_allreduce(&hash, &most, 1, MPI_UINT64_T, MPI_MAX);
  if (!ss_mpi_check(code, "comparing what ranks end with", error)) return false;
  if (least != most) (void)snprintf(p->why, sizeof p->why, "ranks end with different values");
  p->good = least == most;
  return true;
}

bool ss_values_prove(struct ss_value_proof *p, struct ss_error *error) {
  p->why[0] = '\0';
  if (!alike(p, error)) return false;
  if (ss_scheme_estimates(p->setting->scheme) || !ss_setting_conserves(p->setting)) return true;
  return conserved(p, error);
}

/* The next entry from `i` on that is not zero. */
static uint64_t next_of(const struct ss_chunk *c, uint64_t i) {
  while (i < c->count && c->units[i] == 0) i++;
  return i;
}

bool ss_values_equal(const struct ss_final *a, const struct ss_final *b) {
  const struct ss_chunk *x = &a->chunk, *y = &b->chunk;
  uint64_t i = next_of(x, 0), j = next_of(y, 0);
  if (a->grain < b->grain || a->grain > b->grain) return false;
  for (; i < x->count && j < y->count; i = next_of(x, i + 1), j = next_of(y, j + 1))
    if (x->rows[i] != y->rows[j] || x->units[i] != y->units[j]) return false;
  return i == x->count && j == y->count;
}
