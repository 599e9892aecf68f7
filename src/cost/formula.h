/* Closed forms as text, evaluated by muParser.
 *
 * Symbols (docs/model.md, "Closed forms"; nnz counts the rows that a rank sends: its lookups where `coalesce` is
 * false): P, L, Q, q, f (powers of two on any P), alpha, beta, M, R, w, v, nnz, lookups, x, y, d, S, index_bytes,
 * gamma, s_1, s_P; functions gamma(k), gamma_sum(P), fold_sum(P), ceil, floor and what muParser has (log2, min, max,
 * sqrt, ...). */
#ifndef SS_COST_FORMULA_H
#define SS_COST_FORMULA_H

#include "base/error.h"

#include <stdint.h>

struct ss_symbols {
  double P, alpha, beta;
  double M, R, w, v; /* the dense tensor: bytes, rows, elements a row, bytes an element */
  double nnz, lookups, index_bytes;
  double S;                                       /* servers */
  double s_1, s_P;                                /* skewness ratio over P even parts: of one rank, of the union */
  double (*gamma)(const void *context, double k); /* densification ratio after k ranks */
  const void *gamma_context;
};

/* The value in seconds. Syntax errors, unknown symbols and results that are not finite are errors that quote the
 * formula. */
bool ss_formula_evaluate(const char *formula, const struct ss_symbols *symbols, double *out,
                         struct ss_error *error) SS_MUST_CHECK;

#endif
