#include "trace/make/uniform.h"

const char *const ss_overlap_names[] = {"full", "none", "random", NULL};

uint64_t ss_uniform_rows(uint64_t rows, double density, uint64_t parts) {
  uint64_t first = (rows + parts - 1) / parts * parts;
  for (uint64_t candidate = first; candidate - first < 4096 * parts; candidate += parts) {
    double nnz = (double)candidate * density, whole = nearbyint(nnz);
    if (whole >= 1 && fabs(nnz - whole) <= 1e-9 * nnz && (uint64_t)whole % parts == 0) return candidate;
  }
  return 0;
}

static bool refuse(uint64_t rows, double density, uint64_t parts, struct ss_error *error) {
  char each[64] = "";
  if (parts > 1) snprintf(each, sizeof each, " for each of %llu even parts", (unsigned long long)parts);
  uint64_t next = ss_uniform_rows(rows + 1, density, parts);
  if (next == 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "uniform: %llu rows at density %g do not make a whole number of non-zero rows%s, and "
                   "no near number of rows does (say a density like 1/32)",
                   (unsigned long long)rows, density, each);
  return ss_fail(error, SS_BAD_INPUT,
                 "uniform: %llu rows at density %g do not make a whole number of non-zero rows%s (the "
                 "next number of rows that does is %llu)",
                 (unsigned long long)rows, density, each, (unsigned long long)next);
}

bool ss_uniform_make(double density, struct ss_uniform *u, struct ss_error *error) {
  const double nnz = (double)u->rows * density, whole = nearbyint(nnz);
  if (!(density > 0 && density <= 1))
    return ss_fail(error, SS_BAD_INPUT, "uniform: density %g is not in (0, 1]", density);
  if (whole < 1 || fabs(nnz - whole) > 1e-9 * nnz) return refuse(u->rows, density, 1, error);
  u->nnz = (uint64_t)whole;
  return true;
}

bool ss_uniform_divides(const struct ss_uniform *u, uint64_t parts, uint32_t ranks, struct ss_error *error) {
  if (u->rows % parts != 0 || u->nnz % parts != 0)
    return refuse(u->rows, (double)u->nnz / (double)u->rows, parts, error);
  if (u->overlap == SS_OVERLAP_NONE && u->rows / u->nnz < ranks)
    return ss_fail(
        error, SS_BAD_INPUT,
        "uniform: %u ranks without overlap at density %g need more rows than there are (density at most %g)", ranks,
        (double)u->nnz / (double)u->rows, 1.0 / ranks);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
