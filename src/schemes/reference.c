/* The brute-force sum over ranks, to hold results against.
 *
 * Made from the input's lists, row by row into a table as long as the tensor, without chunks, merges or parts: the
 * obvious way, so that it shares no code with what it judges. */
#include "schemes/proof.h"

struct reference {
  struct ss_proof proof;
  const struct ss_input *input;
  uint64_t *sum;    /* [rows] */
  uint8_t *touched; /* [rows] some rank contributed */
  uint64_t *upto;   /* [rows / STEP + 2] touched rows before row i * STEP: how many a range has is found quickly */
  uint64_t *dense;  /* [units] */
  uint32_t units;
  struct ss_chunk last; /* the last chunk found right: ranks share sums */
};

enum { STEP = 4096 };

static void add_rank(struct reference *r, uint32_t rank, bool uncoalesced) {
  const struct ss_input *in = r->input;
  uint64_t n = uncoalesced ? in->lookups[rank] : in->count[rank], again = 0;
  const uint32_t *rows = uncoalesced ? in->lookup[rank] : in->row[rank];
  for (uint64_t i = 0; i < n; i++) {
    again = i > 0 && rows[i] == rows[i - 1] ? again + 1 : 0;
    r->sum[rows[i]] += ss_contribution(rank, rows[i], again);
    r->touched[rows[i]] = 1;
  }
}

/* A row gets the gradient of each bag that has it, as often as it has it. */
static void add_bags(struct reference *r, uint32_t rank) {
  const struct ss_bagged *b = &r->input->bagged[rank];
  for (uint64_t i = 0; i < r->input->lookups[rank]; i++) {
    r->sum[b->row[i]] += ss_contribution(rank, b->bag[i], 0);
    r->touched[b->row[i]] = 1;
  }
}

/* Sums of all bags of the table, lookup by lookup, against those that the chunk lists. */
static bool pooled(struct ss_proof *proof, uint32_t rank, uint32_t table, const struct ss_chunk *c, uint32_t column) {
  struct reference *r = (struct reference *)proof;
  const struct ss_input *in = r->input;
  const struct ss_bagged *b = &in->bagged[rank];
  const uint64_t low = b->first[table], n = b->first[table + 1] - low;
  SS_AUTO_FREE uint64_t *sum = ss_alloc_zero(n, sizeof *sum);
  (void)column; /* an integer stands for all columns */
  if (!sum) return r->proof.starved = true;
  if (c->count > 0 && (!c->rows || !ss_chunk_marked(c))) return false;
  for (uint64_t i = ss_lower_bound(b->bag, in->lookups[rank], low); i < in->lookups[rank]; i++)
    if (b->bag[i] - low < n) sum[b->bag[i] - low] += ss_contribution(SS_PARAMETERS, b->row[i], 0);
    else break;
  for (uint64_t i = 0; i < c->count; i++) {
    const uint64_t at = c->rows[i] - low;
    if (c->rows[i] < low || at >= n || (i > 0 && c->rows[i] <= c->rows[i - 1])) return false;
    if (sum[at] != ss_chunk_mark(c, i)) return false;
    sum[at] = 0;
  }
  bool nothing_left = true;
  for (uint64_t i = 0; i < n; i++) nothing_left = nothing_left && sum[i] == 0;
  return nothing_left;
}

static uint64_t touched_before(const struct reference *r, uint64_t row) {
  uint64_t n = r->upto[row / STEP];
  for (uint64_t i = row / STEP * STEP; i < row; i++) n += r->touched[i];
  return n;
}

static bool right(const struct reference *r, const struct ss_chunk *c) {
  for (uint64_t i = 0; i < c->count; i++) {
    uint32_t row = c->rows[i];
    if (row < c->low || row >= c->high || (i > 0 && row <= c->rows[i - 1])) return false;
    if (!r->touched[row] || ss_chunk_mark(c, i) != r->sum[row]) return false;
  }
  return true;
}

static bool sparse(struct ss_proof *proof, const struct ss_chunk *c, uint32_t column, const struct ss_chunk *only) {
  struct reference *r = (struct reference *)proof;
  (void)column; /* a row's proof integer stands for all its columns */
  if (c->count > 0 && (!c->rows || !ss_chunk_marked(c))) return false;
  if (only && (c->count != only->count || memcmp(c->rows, only->rows, c->count * sizeof *c->rows) != 0)) return false;
  if (!only && c->count != touched_before(r, c->high) - touched_before(r, c->low)) return false;
  if (c->count > 0 && ss_chunk_same_entries(&r->last, c)) return true;
  if (!right(r, c)) return false;
  r->last = *c;
  return true;
}

static bool dense(struct ss_proof *proof, const struct ss_chunk *c, uint32_t units) {
  struct reference *r = (struct reference *)proof;
  if (r->units != units) {
    uint64_t *sums = ss_realloc(r->dense, units, sizeof *sums);
    if (!sums) return r->proof.starved = true;
    memset(sums, 0, units * sizeof *sums);
    for (uint32_t rank = 0; rank < r->input->ranks; rank++)
      for (uint32_t u = 0; u < units; u++) sums[u] += ss_contribution(rank, u, 0);
    r->dense = sums;
    r->units = units;
  }
  if (c->kind != SS_CHUNK_PROOFS || c->part + c->count > units ||
      c->low != ss_share(r->input->rows, units, c->part) ||
      c->high != ss_share(r->input->rows, units, c->part + c->count))
    return false;
  return memcmp(c->proofs, r->dense + c->part, c->count * sizeof *c->proofs) == 0;
}

bool ss_reference_open(const struct ss_setting *setting, const struct ss_input *input, struct ss_proof **out,
                       struct ss_error *error) {
  const bool uncoalesced = !ss_setting_coalesces(setting);
  struct reference *r = ss_alloc_zero(1, sizeof *r);
  if (!r) return ss_fail_memory(error, "making the brute-force sum");
  r->proof = (struct ss_proof){.sparse = sparse, .dense = dense, .pooled = pooled};
  r->input = input;
  r->sum = ss_alloc_zero(input->rows, sizeof *r->sum);
  r->touched = ss_alloc_zero(input->rows, 1);
  r->upto = ss_alloc_zero(input->rows / STEP + 2, sizeof *r->upto);
  if (!r->sum || !r->touched || !r->upto) {
    ss_reference_close(&r->proof);
    return ss_fail_memory(error, "making the brute-force sum");
  }
  const bool pools = ss_setting_traits(setting, (struct ss_layout){.ranks = 1, .nodes = 1, .per_node = 1}).pools;
  for (uint32_t rank = 0; rank < input->ranks; rank++) {
    if (pools) add_bags(r, rank);
    else add_rank(r, rank, uncoalesced);
  }
  for (uint64_t row = 0, n = 0; row < input->rows; row++) {
    if (row % STEP == 0) r->upto[row / STEP] = n;
    n += r->touched[row];
    if (row + 1 == input->rows && (row + 1) % STEP == 0) r->upto[(row + 1) / STEP] = n;
  }
  *out = &r->proof;
  return true;
}

void ss_reference_close(struct ss_proof *proof) {
  struct reference *r = (struct reference *)proof;
  if (!r) return;
  free(r->sum);
  free(r->touched);
  free(r->upto);
  free(r->dense);
  free(r);
}
/* SPDX-License-Identifier: Apache-2.0 */
