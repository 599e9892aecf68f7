#include "cost/measure.h"

#include "cost/forms.h"
#include "trace/measure/rank_sets.h"

/* --- what the union of ranks holds ----------------------------------------------------------------------- */

/* The bits that were not set before, of [from, to]. */
static uint64_t mark(uint64_t *present, uint64_t from, uint64_t to) {
  uint64_t fresh = 0;
  for (uint64_t i = from; i <= to; i++) {
    const uint64_t bit = UINT64_C(1) << (i % 64);
    fresh += !(present[i / 64] & bit);
    present[i / 64] |= bit;
  }
  return fresh;
}

static uint64_t mark_rows(const struct ss_input *in, uint32_t rank, uint64_t *present) {
  uint64_t fresh = 0;
  for (uint64_t i = 0; i < in->count[rank]; i++) fresh += mark(present, in->row[rank][i], in->row[rank][i]);
  return fresh;
}

/* The blocks that the rank's elements lie in, and how many of them nobody before had. */
static uint64_t mark_blocks(const struct ss_input *in, uint32_t rank, uint32_t block, uint64_t *present,
                            uint64_t *own) {
  uint64_t fresh = 0, next = 0;
  for (uint64_t i = 0; i < in->count[rank]; i++) {
    const uint64_t element = (uint64_t)in->row[rank][i] * in->width, end = element + in->width - 1;
    if (end < next * block) continue; /* counted with the row before: no division for each */
    const uint64_t last = end / block;
    uint64_t first = element / block;
    if (first < next) first = next;
    *own += last + 1 - first;
    fresh += mark(present, first, last);
    next = last + 1;
  }
  return fresh;
}

static uint64_t bits_before(uint64_t word, uint64_t n) {
  return (uint64_t)__builtin_popcountll(n < 64 ? word & ((UINT64_C(1) << n) - 1) : word);
}

/* Rows of the union in [low, high). */
static uint64_t count_rows(const uint64_t *present, uint64_t low, uint64_t high) {
  uint64_t n = 0;
  for (uint64_t w = low / 64; w * 64 < high; w++) {
    n += bits_before(present[w], high - w * 64);
    if (w == low / 64) n -= bits_before(present[w], low % 64);
  }
  return n;
}

/* --- skew ------------------------------------------------------------------------------------------------ */

/* Densest of P even ranges, over the density of the whole. */
static double union_skewness(const struct ss_input *in, const uint64_t *present, uint64_t all) {
  double most = 0;
  for (uint32_t j = 0; j < in->ranks; j++) {
    const uint64_t low = ss_share(in->rows, in->ranks, j), high = ss_share(in->rows, in->ranks, j + 1);
    if (high > low) most = fmax(most, (double)count_rows(present, low, high) / (double)(high - low));
  }
  return all ? most * (double)in->rows / (double)all : NAN;
}

static double mean_skewness(const struct ss_input *in) {
  double sum = 0;
  uint32_t ranks = 0;
  for (uint32_t r = 0; r < in->ranks; r++) {
    if (in->count[r] == 0) continue;
    sum += ss_skewness(in->row[r], in->count[r], in->rows, in->ranks);
    ranks++;
  }
  return ranks ? sum / ranks : NAN;
}

/* --- iterations ------------------------------------------------------------------------------------------ */

bool ss_measure_begin(struct ss_measures *m, uint32_t ranks, uint32_t block, struct ss_error *error) {
  double *curve = ss_realloc(m->curve, 4 * (size_t)ranks, sizeof *curve);
  if (curve) m->curve = curve;
  if (!curve) return ss_fail_memory(error, "measuring iterations");
  memset(curve, 0, 4 * (size_t)ranks * sizeof *curve);
  m->ranks = ranks;
  m->block = block;
  m->sum = m->count = (struct ss_measure){0};
  m->rows = m->lookups = m->iterations = m->longest = m->longest_lookups = 0;
  m->unions = 0;
  return true;
}

void ss_measure_free(struct ss_measures *m) {
  free(m->curve);
  free(m->present);
  *m = (struct ss_measures){0};
}

static bool clear_bits(struct ss_measures *m, uint64_t bits, struct ss_error *error) {
  const uint64_t words = bits / 64 + 1;
  if (words > m->words) {
    uint64_t *present = ss_realloc(m->present, words, sizeof *present);
    if (!present) return ss_fail_memory(error, "measuring an iteration");
    m->present = present;
    m->words = words;
  }
  memset(m->present, 0, words * sizeof *m->present);
  return true;
}

static bool add_blocks(struct ss_measures *m, const struct ss_input *in, struct ss_error *error) {
  uint64_t all = 0, own = 0;
  if (!clear_bits(m, in->rows * in->width / m->block + 1, error)) return false;
  for (uint32_t r = 0; r < in->ranks; r++) {
    all += mark_blocks(in, r, m->block, m->present, &own);
    if (r > 0) m->curve[m->ranks + r] += (double)all;
  }
  m->curve[m->ranks] += (double)own / in->ranks;
  return true;
}

static bool add_lists(struct ss_measures *m, const struct ss_input *in, struct ss_measure *now,
                      struct ss_error *error) {
  uint64_t all = 0;
  if (!clear_bits(m, in->rows, error)) return false;
  for (uint32_t r = 0; r < in->ranks; r++) {
    if (all < in->rows) all += mark_rows(in, r, m->present);
    if (now->nnz > 0) m->curve[r] += (double)all / now->nnz;
  }
  now->gamma = now->nnz > 0 ? (double)all / now->nnz : NAN;
  now->s_P = union_skewness(in, m->present, all);
  now->s_1 = mean_skewness(in);
  m->unions += now->nnz > 0;
  return m->block == 0 || add_blocks(m, in, error);
}

/* A uniform tensor of which only the counts are known. */
static void add_uniform(struct ss_measures *m, const struct ss_origin *origin, struct ss_measure *now) {
  now->s_1 = now->s_P = 1;
  for (uint32_t r = 0; r < m->ranks; r++) {
    now->gamma = NAN;
    if (origin->uniform.overlap == SS_OVERLAP_FULL) now->gamma = 1;
    if (origin->uniform.overlap == SS_OVERLAP_NONE) now->gamma = r + 1;
    m->curve[r] += now->gamma;
    m->curve[m->ranks + r] = NAN;
  }
  m->unions++;
}

static void add_mean(double value, double *sum, double *count) {
  if (!isfinite(value)) return;
  *sum += value;
  *count += 1;
}

bool ss_measure_add(struct ss_measures *m, const struct ss_input *in, const struct ss_origin *origin,
                    struct ss_error *error) {
  struct ss_measure now = {.gamma = NAN, .s_1 = NAN, .s_P = NAN};
  uint64_t rows = 0, lookups = 0, longest = 0, longest_lookups = 0;
  for (uint32_t r = 0; r < in->ranks; r++) {
    rows += in->count[r];
    lookups += in->lookups[r];
    longest = in->count[r] > longest ? in->count[r] : longest;
    longest_lookups = in->lookups[r] > longest_lookups ? in->lookups[r] : longest_lookups;
  }
  now.nnz = (double)rows / in->ranks;
  now.density = now.nnz / (double)in->rows;
  if (!in->row) add_uniform(m, origin, &now);
  else if (!add_lists(m, in, &now, error)) return false;
  m->rows += rows;
  m->lookups += lookups;
  m->longest += longest;
  m->longest_lookups += longest_lookups;
  m->iterations++;
  add_mean(now.density, &m->sum.density, &m->count.density);
  add_mean(now.gamma, &m->sum.gamma, &m->count.gamma);
  add_mean(now.s_1, &m->sum.s_1, &m->count.s_1);
  add_mean(now.s_P, &m->sum.s_P, &m->count.s_P);
  return true;
}

const struct ss_measure *ss_measure_mean(struct ss_measures *m) {
  double *gammas = m->curve + 2 * (size_t)m->ranks, *blocks = gammas + m->ranks;
  for (uint32_t r = 0; r < m->ranks; r++) {
    gammas[r] = m->curve[r] / m->unions;
    blocks[r] = m->block ? m->curve[m->ranks + r] / (double)m->iterations : NAN;
  }
  const double parts = (double)m->iterations * m->ranks; /* counts are divided once, in the end */
  m->mean = (struct ss_measure){.nnz = (double)m->rows / parts,
                                .lookups = (double)m->lookups / parts,
                                .longest = (double)m->longest / (double)m->iterations,
                                .longest_lookups = (double)m->longest_lookups / (double)m->iterations,
                                .density = m->sum.density / m->count.density,
                                .gamma = m->sum.gamma / m->count.gamma,
                                .s_1 = m->sum.s_1 / m->count.s_1,
                                .s_P = m->sum.s_P / m->count.s_P,
                                .ranks = m->ranks,
                                .gammas = gammas,
                                .blocks = blocks};
  return &m->mean;
}

/* --- symbols --------------------------------------------------------------------------------------------- */

static double of_ranks(const struct ss_measure *m, const double *curve, double k) {
  return curve[k >= m->ranks ? m->ranks - 1 : k < 1 ? 0 : (uint32_t)k - 1];
}

/* One rank's densification is 1: its nnz is the mean's, not rank 0's. */
static double gamma_of(const void *context, double k) {
  const struct ss_measure *m = context;
  if (k <= 1) return 1;
  return k >= m->ranks ? m->gamma : of_ranks(m, m->gammas, k);
}

/* Where ranks send as much as the longest has, unions have what they had. */
static double gamma_padded(const void *context, double k) {
  const struct ss_measure *m = context;
  return k <= 1 ? 1 : gamma_of(context, k) * m->nnz / m->longest;
}

static double blocks_of(const void *context, double k) {
  const struct ss_measure *m = context;
  return of_ranks(m, m->blocks, k);
}

void ss_measure_symbols(const struct ss_measure *measure, const struct ss_input *shape,
                        const struct ss_setting *setting, struct ss_symbols *out) {
  out->P = measure->ranks;
  out->R = (double)shape->rows;
  out->w = shape->width;
  out->v = shape->value_bytes;
  out->rows = out->R * out->w / shape->row_width;
  out->M = out->R * out->w * out->v;
  const bool padded = setting->ragged == SS_RAGGED_PADDED;
  out->lookups = padded ? measure->longest_lookups : measure->lookups;
  out->nnz = !ss_setting_coalesces(setting) ? out->lookups : padded ? measure->longest : measure->nnz;
  out->s_1 = measure->s_1;
  out->s_P = measure->s_P;
  out->gamma = padded ? gamma_padded : gamma_of;
  out->blocks = blocks_of;
  out->gamma_context = out->blocks_context = measure;
  ss_setting_symbols(setting, out);
}
/* SPDX-License-Identifier: Apache-2.0 */
