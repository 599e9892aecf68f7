#include "exec/value_proof.h"

#include "exec/patient.h"
#include "tensor/topk.h"

#include <math.h>
#include <stdio.h>

enum { COARSE_BITS = 11, BLOCK = 1 << 24 /* elements of one all-reduce */ };

static int shift_of(const struct ss_input *input) {
  uint64_t most = 1;
  for (uint32_t r = 0; r < input->ranks; r++)
    for (uint64_t i = 0; i < input->count[r]; i++)
      if (ss_magnitude((uint64_t)input->value[r][i]) > most) most = ss_magnitude((uint64_t)input->value[r][i]);
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

static bool sum_table(uint64_t *table, uint64_t rows, struct ss_error *error) {
  for (uint64_t at = 0; at < rows; at += BLOCK) {
    const int n = rows - at < BLOCK ? (int)(rows - at) : BLOCK;
    const int code = ss_patient_allreduce(MPI_IN_PLACE, table + at, n, MPI_UINT64_T, MPI_SUM);
    if (!ss_mpi_check(code, "summing the dense tensor", error)) return false;
  }
  return true;
}

/* All ranks end with the same: one of them says what was applied. */
static bool conserved(const struct ss_communicator *comm, struct ss_mass *mass, const struct ss_final *final,
                      const struct ss_state *memory, bool *good, char why[160], struct ss_error *error) {
  ss_mass_settle(mass, comm->rank == 0 ? &final->chunk : NULL, memory);
  if (!sum_table(mass->had, mass->rows, error)) return false;
  for (uint64_t i = 0; *good && i < mass->rows; i++) {
    if (mass->had[i] == 0) continue;
    *good = false;
    (void)snprintf(why, 160, "element %llu: gradients and residuals differ from what was applied and kept by %lld",
                   (unsigned long long)i, (long long)mass->had[i]);
  }
  return true;
}

/* --- all end alike -------------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct ss_final *final) {
  uint64_t hash = 1;
  for (uint64_t i = 0; i < final->chunk.count; i++)
    if (final->chunk.marks[i] != 0) hash = ss_mix(ss_mix(hash, final->chunk.rows[i]), final->chunk.marks[i]);
  return hash;
}

static bool alike(const struct ss_final *final, bool *good, char why[160], struct ss_error *error) {
  const uint64_t hash = hash_of(final);
  uint64_t least = 0, most = 0;
  int code = ss_patient_allreduce(&hash, &least, 1, MPI_UINT64_T, MPI_MIN);
  if (code == MPI_SUCCESS) code = ss_patient_allreduce(&hash, &most, 1, MPI_UINT64_T, MPI_MAX);
  if (!ss_mpi_check(code, "comparing what ranks end with", error)) return false;
  if (least != most && *good) (void)snprintf(why, 160, "ranks end with different values");
  *good = *good && least == most;
  return true;
}

bool ss_values_prove(const struct ss_communicator *comm, const struct ss_setting *setting, struct ss_mass *mass,
                     const struct ss_final *final, const struct ss_state *memory, bool *good, char why[160],
                     struct ss_error *error) {
  *good = true;
  if (!alike(final, good, why, error)) return false;
  if (ss_scheme_estimates(setting->scheme) || !ss_setting_conserves(setting)) return true;
  return conserved(comm, mass, final, memory, good, why, error);
}

/* The next entry from `i` on that is not zero. */
static uint64_t next_of(const struct ss_chunk *c, uint64_t i) {
  while (i < c->count && c->marks[i] == 0) i++;
  return i;
}

bool ss_values_equal(const struct ss_final *a, const struct ss_final *b) {
  const struct ss_chunk *x = &a->chunk, *y = &b->chunk;
  uint64_t i = next_of(x, 0), j = next_of(y, 0);
  if (a->grain < b->grain || a->grain > b->grain) return false;
  for (; i < x->count && j < y->count; i = next_of(x, i + 1), j = next_of(y, j + 1))
    if (x->rows[i] != y->rows[j] || x->marks[i] != y->marks[j]) return false;
  return i == x->count && j == y->count;
}
