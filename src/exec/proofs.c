#include "exec/proofs.h"

#include "exec/waiting.h"
#include "tensor/topk.h"

/* --- by sums ------------------------------------------------------------------------------------------------ */

static bool equal(const float *a, const float *b, uint64_t n) {
  return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

static bool nothing(const float *row, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    if (row[i] != 0) return false;
  return true;
}

/* The rows strictly ascend within [low, high), and there are values for them. */
static bool sound(const struct ss_dense_proof *p, const struct ss_chunk *c) {
  if (c->low > c->high || c->high > p->rows) return false;
  if (c->count > 0 && (!c->rows || (!c->values && c->width > 0))) return false;
  for (uint64_t i = 0; i < c->count; i++)
    if (c->rows[i] < (i == 0 ? c->low : (uint64_t)c->rows[i - 1] + 1) || c->rows[i] >= c->high) return false;
  return true;
}

static bool sound_columns(const struct ss_dense_proof *p, const struct ss_chunk *c, uint32_t column) {
  return column <= p->width && c->width <= p->width - column;
}

static bool rows_equal_sum(const struct ss_dense_proof *p, const struct ss_chunk *c, uint32_t column) {
  for (uint64_t i = 0; i < c->count; i++)
    if (!equal(c->values + i * c->stride, p->sum + (uint64_t)c->rows[i] * p->width + column, c->width)) return false;
  return true;
}

/* No rank contributed to the rows between those listed: they are zero in all columns, also in those that the chunk
 * does not carry. */
static bool others_are_zero(const struct ss_dense_proof *p, const struct ss_chunk *c) {
  uint64_t next = c->low;
  for (uint64_t i = 0; i <= c->count; i++) {
    uint64_t until = i < c->count ? c->rows[i] : c->high;
    if (!nothing(p->sum + next * p->width, (until - next) * p->width)) return false;
    next = until + 1;
  }
  return true;
}

static bool sparse(struct ss_proof *proof, const struct ss_chunk *c, uint32_t column, const struct ss_chunk *only) {
  struct ss_dense_proof *p = (struct ss_dense_proof *)proof;
  SS_ASIDE;
  bool good = sound(p, c) && sound_columns(p, c, column) && rows_equal_sum(p, c, column);
  if (only) {
    good = good && c->count == only->count &&
           (c->count == 0 || memcmp(c->rows, only->rows, c->count * sizeof *c->rows) == 0);
    p->listed += c->count + 1; /* also when a rank has no rows to ask for */
  } else if (c->width > 0) {   /* a slice without columns says nothing */
    good = good && others_are_zero(p, c);
    p->covered += (c->high - c->low) * c->width;
  }
  return good;
}

static bool dense(struct ss_proof *proof, const struct ss_chunk *c, uint32_t units) {
  struct ss_dense_proof *p = (struct ss_dense_proof *)proof;
  SS_ASIDE;
  (void)units; /* values are by row, not by unit */
  uint64_t n = (c->high - c->low) * c->width;
  p->covered += n;
  return c->low <= c->high && c->high <= p->rows && c->width == p->width && (c->values || n == 0) &&
         (n == 0 || equal(c->values, p->sum + c->low * p->width, n));
}

static bool parameters(struct ss_proof *proof, const struct ss_chunk *c, uint32_t column) {
  struct ss_dense_proof *p = (struct ss_dense_proof *)proof;
  SS_ASIDE;
  bool good = sound_columns(p, c, column) && (c->count == 0 || (c->rows && (c->values || c->width == 0)));
  for (uint64_t i = 0; good && i < c->count; i++) {
    uint64_t mark = ss_contribution(SS_PARAMETERS, c->rows[i], 0);
    const float *value = c->values ? c->values + i * c->stride : NULL;
    for (uint32_t k = 0; good && k < c->width; k++) good = value[k] == ss_contribution_value(mark, column + k);
  }
  p->listed += c->count + 1;
  return good;
}

/* Every bag of the table, from its lookups. */
static bool pooled(struct ss_proof *proof, uint32_t rank, uint32_t table, const struct ss_chunk *c, uint32_t column) {
  struct ss_dense_proof *p = (struct ss_dense_proof *)proof;
  const struct ss_bagged *b = &p->input->bagged[rank];
  const uint64_t low = b->first[table], n = b->first[table + 1] - low, lookups = p->input->lookups[rank];
  SS_ASIDE;
  float *sum = ss_alloc_zero(n * c->width, sizeof *sum);
  if (!sum) return proof->starved = true;
  bool good = (c->count == 0 || (c->rows && (c->values || c->width == 0)));
  for (uint64_t i = ss_lower_bound(b->bag, lookups, low); good && i < lookups && b->bag[i] - low < n; i++) {
    const uint64_t mark = ss_contribution(SS_PARAMETERS, b->row[i], 0);
    for (uint32_t k = 0; k < c->width; k++)
      sum[(b->bag[i] - low) * c->width + k] += ss_contribution_value(mark, column + k);
  }
  for (uint64_t i = 0; good && i < c->count; i++) {
    good = c->rows[i] >= low && c->rows[i] - low < n && (i == 0 || c->rows[i] > c->rows[i - 1]);
    if (!good) break;
    float *due = sum + (c->rows[i] - low) * c->width;
    good = equal(c->values + i * c->stride, due, c->width);
    memset(due, 0, c->width * sizeof *due);
  }
  good = good && nothing(sum, n * c->width);
  free(sum);
  p->listed += c->count + 1;
  return good;
}

bool ss_dense_proof_open(struct ss_dense_proof *p, const struct ss_input *input, const struct ss_chunk *own,
                         struct ss_error *error) {
  *p =
      (struct ss_dense_proof){.proof = {.sparse = sparse, .dense = dense, .parameters = parameters, .pooled = pooled},
                              .input = input,
                              .rows = input->rows,
                              .width = input->width};
  uint64_t elements;
  if (ss_mul_u64(p->rows, p->width, &elements)) p->sum = ss_alloc_zero(elements, sizeof *p->sum);
  if (!p->sum) return ss_fail_memory(error, "making the dense tensor to compare with");
  for (uint64_t i = 0; i < own->count; i++) {
    float *row = p->sum + (uint64_t)own->rows[i] * p->width;
    const float *value = own->values + i * own->stride;
    for (uint32_t c = 0; c < p->width; c++) row[c] += value[c];
  }
  return true;
}

bool ss_dense_proof_sum(struct ss_dense_proof *p, struct ss_error *error) {
  const int code = ss_wait_allreduce_table(p->sum, p->rows * p->width, MPI_FLOAT, MPI_SUM);
  return ss_mpi_check(code, "summing the dense tensor", error);
}

void ss_dense_proof_close(struct ss_dense_proof *p) {
  free(p->sum);
  *p = (struct ss_dense_proof){0};
}

/* --- by values ---------------------------------------------------------------------------------------------- */

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
  if (!ss_setting_conserves(p->setting)) return true;
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
/* SPDX-License-Identifier: Apache-2.0 */
