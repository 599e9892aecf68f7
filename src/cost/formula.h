/* Closed forms as text, evaluated by muParser.
 *
 * Symbols (docs/model.md, "Closed forms"; nnz counts the rows that a rank sends: its lookups where `coalesce` is
 * false): P, L, Q, q, f (powers of two on any P), alpha, beta, M, R, w, v, rows, nnz, lookups, x, y, d, S,
 * index_bytes, call, gamma, s_1, s_P, k, D, b, c, r, B_1, B_P, and the scheme's options by their names. Functions, of
 * which sums are over a scheme's steps:
 *   gamma(k), blocks(k)                 of the union of k ranks
 *   gamma_sum(P), blocks_sum(P)         of 2^i ranks, i = 0..ceil(log2 P) - 1 (ZEN Eq. 2)
 *   gamma_ring(P), blocks_ring(P)       of 1..P-1 ranks
 *   gamma_halving(P), blocks_halving(P) of 2^i ranks, each over 2^(i+1)
 *   gamma_fold(P), blocks_fold(P)       of 2^i + min(q, 2^i) ranks, i < L: recursive doubling on any P
 *   fold_sum(P)                         min(q, 2^i), i < L
 *   pow2(n)                             1 for a power of two, else 0
 *   ceil, floor, and what muParser has (log2, min, max, sqrt, ...). */
#pragma once

#include "base/base.h"

struct ss_option;

struct ss_symbols {
  double P, alpha, beta;
  double M, R, w, v; /* the dense tensor: bytes, rows, elements a row, bytes an element */
  double rows;       /* of the tensor, where R counts elements */
  double nnz, lookups, index_bytes;
  double S;                        /* servers, or aggregators of their own */
  double s_1, s_P;                 /* skewness ratio over P even parts: of one rank, of the union */
  double k, D;                     /* entries that a rank selects; teams */
  double chunks;                   /* of a part, which follow each other */
  double b;                        /* elements of a block */
  double c, r;                     /* a sketch's buckets, in each of its hashes */
  double call;                     /* s that hosts wait once sizes came */
  const struct ss_option *options; /* of the scheme: each is a symbol, too, by its name; NULL: none */
  double option[8];                /* [SS_OPTIONS_MAX] what they stand at: of a choice its number, from 0 on */
  double (*gamma)(const void *context, double k); /* densification ratio after k ranks */
  const void *gamma_context;
  double (*blocks)(const void *context, double k); /* non-zero blocks of k ranks' union: B_1 and B_P at 1 and P */
  const void *blocks_context;
};

/* The value in seconds. Syntax errors, unknown symbols and results that are not finite are errors that quote the
 * formula. */
bool ss_formula_evaluate(const char *formula, const struct ss_symbols *symbols, double *out,
                         struct ss_error *error) SS_MUST_CHECK;

/* Whether it can be parsed, and all names in it are known: symbols, options of the scheme (NULL: none), functions.
 * Nothing is evaluated; errors likewise. */
bool ss_formula_check(const char *formula, const struct ss_option *options, struct ss_error *error) SS_MUST_CHECK;

/* What is taken with a latency of 1 and no time for bytes, and with no latency and 1 s a byte; errors likewise. */
bool ss_formula_take_apart(const char *formula, const struct ss_symbols *symbols, double *startups, double *bytes,
                           struct ss_error *error) SS_MUST_CHECK;

/* The same language over names of the caller's own: no symbols, and of the functions above ceil, floor, pow2. A name
 * is letters, digits and '_', and no digit first; of equal ones the first counts. */
struct ss_variable {
  const char *name;
  double value;
};
bool ss_expression_evaluate(const char *expression, const struct ss_variable *variables, size_t count, double *out,
                            struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
