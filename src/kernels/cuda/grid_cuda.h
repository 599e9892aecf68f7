/* The vocabulary of grid.h on a GPU: for nvcc alone. The primitives are CUB's. */
#pragma once

#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

enum { GRID_RESIDENT = 8 /* blocks of GRID_THREADS that fill a multiprocessor */ };
enum { GRID_ALLOCATIONS = 96 };

struct grid {
  cudaStream_t stream;
  unsigned processors;
  void *taken[GRID_ALLOCATIONS];
  int count;
  void *temporary; /* the primitives'; grows to what the first calls need */
  size_t temporary_size;
};

static bool grid_check(cudaError_t status, const char *what, struct ss_error *error) {
  if (status == cudaSuccess) return true;
  return ss_fail(error, SS_MACHINE, "cuda: %s: %s (%s)", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

/* --- launches --------------------------------------------------------------------------------------------- */

/* As many threads as stay on the device at once, or fewer where there is less to do. */
static unsigned grid_blocks(const struct grid *g, uint64_t n) {
  const uint64_t blocks = (n + GRID_THREADS - 1) / GRID_THREADS, most = (uint64_t)g->processors * GRID_RESIDENT;
  return (unsigned)(blocks < most ? blocks : most);
}

#define GRID_KERNEL(body, arguments)                                                                                 \
  static __global__ void __launch_bounds__(GRID_THREADS)                                                             \
      body##_grid(const arguments a, const uint64_t n, const uint32_t *limit) {                                      \
    const uint64_t end = limit && *limit < n ? *limit : n, stride = (uint64_t)gridDim.x * GRID_THREADS;              \
    for (uint64_t i = (uint64_t)blockIdx.x * GRID_THREADS + threadIdx.x; i < end; i += stride)                       \
      body(&a, (uint32_t)i);                                                                                         \
  }                                                                                                                  \
  static bool body##_run(struct grid *g, const arguments *a, uint64_t n, const uint32_t *limit,                      \
                         struct ss_error *error) {                                                                   \
    if (n == 0) return true;                                                                                         \
    body##_grid<<<grid_blocks(g, n), GRID_THREADS, 0, g->stream>>>(*a, n, limit);                                    \
    return grid_check(cudaGetLastError(), #body, error);                                                             \
  }
#define GRID_RUN(g, body, a, n, limit, error) body##_run((g), (a), (n), (limit), (error))

#define BLOCK_KERNEL(body, arguments, shared_type)                                                                   \
  static __global__ void __launch_bounds__(GRID_THREADS) body##_grid(const arguments a, const uint32_t phases) {     \
    __shared__ shared_type shared;                                                                                   \
    for (uint32_t phase = 0; phase < phases; phase++) {                                                              \
      body(&a, &shared, blockIdx.x, threadIdx.x, phase);                                                             \
      __syncthreads();                                                                                               \
    }                                                                                                                \
  }                                                                                                                  \
  static bool body##_run(struct grid *g, const arguments *a, uint64_t blocks, uint32_t phases,                       \
                         struct ss_error *error) {                                                                   \
    if (blocks == 0) return true;                                                                                    \
    body##_grid<<<(unsigned)blocks, GRID_THREADS, 0, g->stream>>>(*a, phases);                                       \
    return grid_check(cudaGetLastError(), #body, error);                                                             \
  }
#define BLOCK_RUN(g, body, a, blocks, phases, error) body##_run((g), (a), (blocks), (phases), (error))

/* --- memory ----------------------------------------------------------------------------------------------- */

static void *grid_take(struct grid *g, uint64_t count, size_t size, struct ss_error *error) {
  uint64_t bytes;
  void *memory = NULL;
  if (g->count == GRID_ALLOCATIONS || !ss_mul_u64(count > 0 ? count : 1, size, &bytes)) {
    (void)ss_fail_memory(error, "taking memory of the GPU");
    return NULL;
  }
  if (!grid_check(cudaMalloc(&memory, bytes), "taking memory (smaller inputs need less: --max)", error)) return NULL;
  g->taken[g->count++] = memory;
  return memory;
}

static bool grid_put(struct grid *g, void *to, const void *from_host, uint64_t bytes, struct ss_error *error) {
  return bytes == 0 || (grid_check(cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, g->stream),
                                   "copying to the GPU", error) &&
                        grid_check(cudaStreamSynchronize(g->stream), "copying to the GPU", error));
}

static bool grid_get(struct grid *g, void *to_host, const void *from, uint64_t bytes, struct ss_error *error) {
  return bytes == 0 || (grid_check(cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, g->stream),
                                   "copying from the GPU", error) &&
                        grid_check(cudaStreamSynchronize(g->stream), "copying from the GPU", error));
}

static bool grid_wait(struct grid *g, struct ss_error *error) {
  return grid_check(cudaStreamSynchronize(g->stream), "waiting for the GPU", error);
}

static bool grid_fill(struct grid *g, void *at, int byte, uint64_t bytes, struct ss_error *error) {
  return bytes == 0 || grid_check(cudaMemsetAsync(at, byte, bytes, g->stream), "filling memory", error);
}

static bool grid_copy(struct grid *g, void *to, const void *from, uint64_t bytes, struct ss_error *error) {
  return bytes == 0 || grid_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, g->stream),
                                  "copying on the GPU", error);
}

/* --- primitives ------------------------------------------------------------------------------------------- */

static bool grid_temporary(struct grid *g, size_t bytes, struct ss_error *error) {
  if (bytes <= g->temporary_size) return true;
  if (!grid_check(cudaStreamSynchronize(g->stream), "growing scratch memory", error) ||
      !grid_check(cudaFree(g->temporary), "growing scratch memory", error))
    return false;
  g->temporary = NULL;
  g->temporary_size = 0;
  if (!grid_check(cudaMalloc(&g->temporary, bytes), "taking scratch memory", error)) return false;
  g->temporary_size = bytes;
  return true;
}

/* Asks a primitive of CUB how much scratch it wants, and then runs it. */
template <class Primitive>
static bool grid_primitive(struct grid *g, const char *what, struct ss_error *error, Primitive primitive) {
  size_t bytes = 0;
  if (!grid_check(primitive(NULL, bytes), what, error) || !grid_temporary(g, bytes, error)) return false;
  bytes = g->temporary_size;
  return grid_check(primitive(g->temporary, bytes), what, error);
}

static bool grid_scan(struct grid *g, uint32_t *data, uint64_t n, struct ss_error *error) {
  return n == 0 || grid_primitive(g, "summing counts", error, [=](void *at, size_t &bytes) {
           return cub::DeviceScan::ExclusiveSum(at, bytes, data, data, (int)n, g->stream);
         });
}

static bool grid_sort_rows(struct grid *g, const uint32_t *from, uint32_t *to, uint64_t n, int bits,
                           struct ss_error *error) {
  return n == 0 || grid_primitive(g, "sorting rows", error, [=](void *at, size_t &bytes) {
           return cub::DeviceRadixSort::SortKeys(at, bytes, from, to, (int)n, 0, bits, g->stream);
         });
}

template <class Key> static bool grid_sort_by(struct grid *g, const struct grid_pairs *p, struct ss_error *error) {
  return p->n == 0 || grid_primitive(g, "sorting by part", error, [=](void *at, size_t &bytes) {
           return cub::DeviceRadixSort::SortPairs(at, bytes, (const Key *)p->keys, (Key *)p->keys_to, p->values,
                                                  p->values_to, (int)p->n, 0, p->bits, g->stream);
         });
}

static bool grid_sort_pairs(struct grid *g, const struct grid_pairs *p, struct ss_error *error) {
  return p->key_bytes == 1 ? grid_sort_by<uint8_t>(g, p, error) : grid_sort_by<uint16_t>(g, p, error);
}

template <class Type> struct grid_some {
  __device__ bool operator()(const Type &x) const {
    return x != GRID_NONE(Type);
  }
};

#define GRID_SELECT(body, arguments, type)                                                                           \
  struct body##_item {                                                                                               \
    arguments a;                                                                                                     \
    __device__ type operator()(uint32_t i) const {                                                                   \
      return body(&a, i);                                                                                            \
    }                                                                                                                \
  };                                                                                                                 \
  static bool body##_run(struct grid *g, const arguments *a, uint64_t n, type *out, uint32_t *count,                 \
                         struct ss_error *error) {                                                                   \
    using numbers = thrust::counting_iterator<uint32_t>;                                                             \
    using items = thrust::transform_iterator<body##_item, numbers, type, type>;                                      \
    if (n == 0) return grid_fill(g, count, 0, sizeof *count, error);                                                 \
    const items from(numbers(0), body##_item{*a});                                                                   \
    return grid_primitive(g, #body, error, [=](void *at, size_t &bytes) {                                            \
      return cub::DeviceSelect::If(at, bytes, from, out, count, (int)n, grid_some<type>(), g->stream);               \
    });                                                                                                              \
  }
#define GRID_RUN_SELECT(g, body, a, n, out, count, error) body##_run((g), (a), (n), (out), (count), (error))

/* --- in kernels ------------------------------------------------------------------------------------------- */

static __device__ inline uint32_t grid_or(uint32_t *at, uint32_t bits) {
  return atomicOr(at, bits);
}
static __device__ inline uint32_t grid_add(uint32_t *at, uint32_t more) {
  return atomicAdd(at, more);
}
static __device__ inline uint32_t grid_max(uint32_t *at, uint32_t other) {
  return atomicMax(at, other);
}
static __device__ inline void grid_add_long(uint64_t *at, uint64_t more) {
  static_assert(sizeof(unsigned long long) == sizeof(uint64_t), "atomicAdd takes unsigned long long");
  (void)atomicAdd((unsigned long long *)at, (unsigned long long)more);
}
/* The threads of a warp that come here together add once for all. */
static __device__ inline uint32_t grid_next(uint32_t *counter) {
  const cooperative_groups::coalesced_group here = cooperative_groups::coalesced_threads();
  uint32_t first = 0;
  if (here.thread_rank() == 0) first = atomicAdd(counter, here.size());
  return here.shfl(first, 0) + here.thread_rank();
}
static __device__ inline uint32_t grid_look(const uint32_t *at) {
  return *(const volatile uint32_t *)at;
}
static __device__ inline void grid_set(uint32_t *at, uint32_t value) {
  *(volatile uint32_t *)at = value;
}
static __device__ inline uint32_t grid_ones(uint32_t word) {
  return (uint32_t)__popc(word);
}
static __device__ inline uint32_t grid_lowest(uint32_t word) {
  return (uint32_t)__ffs((int)word) - 1;
}
/* SPDX-License-Identifier: Apache-2.0 */
