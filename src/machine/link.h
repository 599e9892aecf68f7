/* What a message costs. */
#ifndef SS_MACHINE_LINK_H
#define SS_MACHINE_LINK_H

/* Hockney's pair: a message of n bytes takes alpha + n*beta. */
struct ss_link {
  double alpha; /* s a message */
  double beta;  /* s a byte: 1 / bandwidth */
};

#endif
