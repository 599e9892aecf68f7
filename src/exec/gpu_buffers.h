/* Messages in the memory of a GPU, for an MPI that takes its pointers there ("CUDA-aware"), and sums by the GPU's
 * kernels.
 *
 * Schemes go on with chunks in the host's memory: what is sent is copied to the GPU before, what came from there, and
 * so are operands and sums. A program that keeps its gradients on the GPU makes no such copies: they are set aside
 * (tensor/kernel.h), and their time is told. */
#pragma once

#include "exec/communicator.h"
#include "kernels/gpu.h"
#include "tensor/summer.h"

struct ss_gpu_buffers {
  struct ss_summer summer; /* first: a summer is the GPU it stands in */
  const struct ss_gpu_device *device;
  struct ss_gpu_run *gpu;
  struct ss_arena operands;  /* of the sum that is made */
  uint64_t sums[SS_KERNELS]; /* calls that the GPU made, in the last run that counted calls */
  double copies;             /* s, between host and GPU, in the last run */
};

/* Collective. Opens this rank's GPU; ranks of one machine take its GPUs in turn. Fails everywhere where one rank has
 * no GPU, or MPI does not say that it takes pointers to its memory. */
bool ss_gpu_buffers_open(const struct ss_communicator *comm, struct ss_gpu_buffers *out,
                         struct ss_error *error) SS_MUST_CHECK;
void ss_gpu_buffers_close(struct ss_gpu_buffers *b); /* a zeroed struct is allowed */

/* A run begins: from here on this GPU adds (ss_summer). */
void ss_gpu_buffers_begin(struct ss_gpu_buffers *b);

/* Of a message: room on the GPU for what comes, the same with what is sent, and what came to the host. */
bool ss_gpu_buffers_place(struct ss_gpu_buffers *b, uint64_t bytes, void **at, struct ss_error *error) SS_MUST_CHECK;
bool ss_gpu_buffers_send(struct ss_gpu_buffers *b, const void *host, uint64_t bytes, const void **at,
                         struct ss_error *error) SS_MUST_CHECK;
bool ss_gpu_buffers_fetch(struct ss_gpu_buffers *b, void *host, const void *at, uint64_t bytes,
                          struct ss_error *error) SS_MUST_CHECK;
/* All messages have gone and come: their memory is free. */
void ss_gpu_buffers_release(struct ss_gpu_buffers *b);
/* SPDX-License-Identifier: Apache-2.0 */
