/* Alpha and beta of a link from measured times, by robust regression (GSL's bisquare).
 *
 * A sample says how many start-ups and how many bytes in a row its pattern's closed form has: seconds = starts*alpha
 * + bytes*beta. Residuals are relative, since that is what noise is. MPI and NCCL send small messages otherwise than
 * large ones: where two segments of message sizes are very much more likely than one (BIC of Laplace's distribution
 * less by more than 10, residuals beyond 4 medians counted as 4), both are told. */
#ifndef SS_COST_FIT_LINK_H
#define SS_COST_FIT_LINK_H

#include "base/error.h"

#include <stddef.h>

struct ss_link_sample {
  double starts;  /* alphas */
  double bytes;   /* B that cost a beta each */
  double message; /* B of one message: what segments and valid ranges are told in */
  double seconds;
};

struct ss_link_piece {
  double low, high; /* B: smallest and largest message it was fitted on */
  double alpha, beta;
  double alpha_error, beta_error; /* standard errors */
  size_t samples, outliers;       /* outliers are among the samples, and were given no weight */
  double typical, worst;          /* relative residuals of the others: median, largest */
  bool no_alpha;                  /* it came out below 0, and is held at 0 */
};

struct ss_link_fit {
  struct ss_link_piece piece[2]; /* by message size */
  size_t pieces;
  double evidence; /* BIC of one segment less that of the best two; -INFINITY: too few sizes for two */
};

/* Least distinct message sizes of a fit, and of each of two segments; most samples. */
enum { SS_LINK_SIZES = 3, SS_LINK_SEGMENT = 4, SS_LINK_SAMPLES = 4096 };

/* Sorts the samples by message. Fewer sizes, and times that do not grow with them beyond noise, are SS_BAD_INPUT. */
bool ss_link_fit(struct ss_link_sample *samples, size_t count, struct ss_link_fit *out,
                 struct ss_error *error) SS_MUST_CHECK;

/* The same line for kernels: seconds = t0 + bytes*rate, starts 1 and message = bytes in every sample; one segment. */
bool ss_line_fit(struct ss_link_sample *samples, size_t count, struct ss_link_piece *out,
                 struct ss_error *error) SS_MUST_CHECK;

#endif
