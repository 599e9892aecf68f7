/* What a message costs. */
#pragma once

/* Hockney's pair: a message of n bytes takes alpha + n*beta. */
struct ss_link {
  double alpha; /* s a message */
  double beta;  /* s a byte: 1 / bandwidth */
};
/* SPDX-License-Identifier: Apache-2.0 */
