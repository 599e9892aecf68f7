#include "cost/measure.h"

#include "tensor/chunk.h"

#include <math.h>

/* Rows of the union in each of `parts` even ranges; returns how many in all. */
static uint64_t union_by_part(const struct ss_input *in, uint64_t *present, uint64_t *by_part) {
  uint64_t all = 0;
  for (uint32_t r = 0; r < in->ranks; r++)
    for (uint64_t i = 0; i < in->count[r]; i++) {
      uint32_t row = in->row[r][i];
      uint64_t bit = UINT64_C(1) << (row % 64);
      if (present[row / 64] & bit) continue;
      present[row / 64] |= bit;
      all++;
    }
  for (uint32_t j = 0; j < in->ranks; j++) {
    uint64_t low = ss_share(in->rows, in->ranks, j), high = ss_share(in->rows, in->ranks, j + 1), n = 0;
    for (uint64_t row = low; row < high; row++) n += present[row / 64] >> (row % 64) & 1;
    by_part[j] = n;
  }
  return all;
}

/* Densest of P even ranges, over the density of the whole. */
static double skewness(const struct ss_input *in, const uint64_t *by_part, uint64_t all) {
  double most = 0;
  for (uint32_t j = 0; j < in->ranks; j++) {
    uint64_t size = ss_share(in->rows, in->ranks, j + 1) - ss_share(in->rows, in->ranks, j);
    if (size && (double)by_part[j] / (double)size > most) most = (double)by_part[j] / (double)size;
  }
  return all ? most * (double)in->rows / (double)all : NAN;
}

static double mean_skewness(const struct ss_input *in, uint64_t *by_part) {
  double sum = 0;
  uint32_t ranks = 0;
  for (uint32_t r = 0; r < in->ranks; r++) {
    struct ss_chunk rows = {.rows = in->row[r], .count = in->count[r]};
    if (in->count[r] == 0) continue;
    for (uint32_t j = 0; j < in->ranks; j++) {
      uint64_t first;
      by_part[j] =
          ss_chunk_find(&rows, ss_share(in->rows, in->ranks, j), ss_share(in->rows, in->ranks, j + 1), &first);
    }
    sum += skewness(in, by_part, in->count[r]);
    ranks++;
  }
  return ranks ? sum / ranks : NAN;
}

bool ss_measure_input(const struct ss_input *in, const struct ss_origin *origin, struct ss_measure *out,
                      struct ss_error *error) {
  *out = (struct ss_measure){.gamma = NAN, .s_1 = NAN, .s_P = NAN};
  for (uint32_t r = 0; r < in->ranks; r++) {
    out->nnz += (double)in->count[r] / in->ranks;
    out->lookups += (double)in->lookups[r] / in->ranks;
  }
  out->density = out->nnz / (double)in->rows;
  if (!in->row) {
    out->s_1 = out->s_P = 1;
    if (origin->uniform.overlap == SS_OVERLAP_FULL) out->gamma = 1;
    if (origin->uniform.overlap == SS_OVERLAP_NONE) out->gamma = in->ranks;
    return true;
  }
  SS_AUTO_FREE uint64_t *present = ss_alloc_zero(in->rows / 64 + 1, sizeof *present);
  SS_AUTO_FREE uint64_t *by_part = ss_alloc(in->ranks, sizeof *by_part);
  if (!present || !by_part) return ss_fail_memory(error, "measuring an iteration");
  uint64_t all = union_by_part(in, present, by_part);
  out->gamma = out->nnz > 0 ? (double)all / out->nnz : NAN;
  out->s_P = skewness(in, by_part, all);
  out->s_1 = mean_skewness(in, by_part);
  return true;
}

static double gamma_of(const void *context, double k) {
  const struct ss_measure *m = context;
  return k <= 1 ? 1 : m->gamma;
}

void ss_measure_symbols(const struct ss_measure *measure, const struct ss_input *shape, uint32_t ranks,
                        uint32_t index_bytes, struct ss_symbols *out) {
  out->P = ranks;
  out->R = (double)shape->rows;
  out->w = shape->width;
  out->v = shape->value_bytes;
  out->M = out->R * out->w * out->v;
  out->nnz = measure->nnz;
  out->lookups = measure->lookups;
  out->index_bytes = index_bytes;
  out->s_1 = measure->s_1;
  out->s_P = measure->s_P;
  out->gamma = gamma_of;
  out->gamma_context = measure;
}
