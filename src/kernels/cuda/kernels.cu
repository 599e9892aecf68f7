/* The kernels on a GPU: the one that CUDA takes first (CUDA_VISIBLE_DEVICES chooses), or that a rank chooses. */
#include "kernels/cuda/buffers.h"
#include "kernels/cuda/launches.h"

static bool grid_open(struct grid *g, struct ss_error *error) {
  int device, processors;
  if (!grid_check(cudaGetDevice(&device), "looking for an NVIDIA GPU and its driver", error) ||
      !grid_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "looking at the GPU",
                  error))
    return false;
  g->processors = (unsigned)processors;
  return grid_check(cudaStreamCreate(&g->stream), "opening a stream", error);
}

static bool grid_choose(uint32_t which, struct ss_error *error) {
  int count = 0;
  return grid_check(cudaGetDeviceCount(&count), "looking for an NVIDIA GPU and its driver", error) &&
         grid_check(cudaSetDevice(count > 0 ? (int)(which % (uint32_t)count) : 0), "choosing a GPU", error);
}

/* What fails here failed before, and was told then. */
static void grid_close(struct grid *g) {
  if (g->stream) (void)cudaStreamSynchronize(g->stream);
  for (int i = 0; i < g->count; i++) (void)cudaFree(g->taken[i]);
  (void)cudaFree(g->temporary);
  if (g->stream) (void)cudaStreamDestroy(g->stream);
}

/* --- clocks ------------------------------------------------------------------------------------------------------
 */

struct stopwatch {
  cudaEvent_t begin, end;
};

static bool stopwatch_open(struct stopwatch *w, struct ss_error *error) {
  w->begin = w->end = NULL;
  return grid_check(cudaEventCreate(&w->begin), "making a clock", error) &&
         grid_check(cudaEventCreate(&w->end), "making a clock", error);
}

static void stopwatch_close(const struct stopwatch *w) {
  if (w->begin) (void)cudaEventDestroy(w->begin);
  if (w->end) (void)cudaEventDestroy(w->end);
}

static bool stopwatch_read(const struct stopwatch *w, double *seconds, struct ss_error *error) {
  float milliseconds;
  if (!grid_check(cudaEventSynchronize(w->end), "waiting for a kernel", error) ||
      !grid_check(cudaEventElapsedTime(&milliseconds, w->begin, w->end), "reading a clock", error))
    return false;
  *seconds = (double)milliseconds * 1e-3;
  return true;
}

static bool time_between(struct ss_kernel_run *r, enum ss_kernel_kind kernel, const struct stopwatch *w,
                         double *seconds, struct ss_error *error) {
  cudaStream_t stream = r->grid.stream;
  return grid_fill(&r->grid, r->flushed, 1, r->flush, error) &&
         grid_check(cudaEventRecord(w->begin, stream), "starting a clock", error) && run_kernel(r, kernel, error) &&
         grid_check(cudaEventRecord(w->end, stream), "stopping a clock", error) && stopwatch_read(w, seconds, error);
}

static bool time_kernel(struct ss_kernel_run *r, enum ss_kernel_kind kernel, double *seconds,
                        struct ss_error *error) {
  struct stopwatch watch;
  const bool ok = stopwatch_open(&watch, error) && time_between(r, kernel, &watch, seconds, error);
  stopwatch_close(&watch);
  return ok;
}

/* --- the device --------------------------------------------------------------------------------------------------
 */

static bool describe(char *text, size_t size, uint64_t *cache, struct ss_error *error) {
  cudaDeviceProp properties;
  int count = 0, device = 0, runtime = 0;
  if (!grid_check(cudaGetDeviceCount(&count), "looking for an NVIDIA GPU and its driver", error) ||
      !grid_check(cudaGetDevice(&device), "looking for an NVIDIA GPU and its driver", error) ||
      !grid_check(cudaGetDeviceProperties(&properties, device), "looking at the GPU", error) ||
      !grid_check(cudaRuntimeGetVersion(&runtime), "looking at CUDA", error))
    return false;
  *cache = (uint64_t)properties.l2CacheSize;
  (void)snprintf(text, size, "%s, %d multiprocessors, %.0f GiB, CUDA %d.%d", properties.name,
                 properties.multiProcessorCount, (double)properties.totalGlobalMem / (double)(1 << 30),
                 runtime / 1000, runtime % 1000 / 10);
  return true;
}

struct copied {
  void *to;
  const void *from;
  uint64_t size;
};

static bool copy_once(struct grid *g, const struct stopwatch *w, const struct copied *what, double *seconds,
                      struct ss_error *error) {
  return grid_check(cudaEventRecord(w->begin, g->stream), "starting a clock", error) &&
         grid_copy(g, what->to, what->from, what->size, error) &&
         grid_check(cudaEventRecord(w->end, g->stream), "stopping a clock", error) &&
         stopwatch_read(w, seconds, error);
}

static bool time_copies(struct grid *g, const struct stopwatch *w, uint64_t size, double *rate,
                        struct ss_error *error) {
  enum { TIMES = 9 };
  unsigned char *from, *to;
  double least = INFINITY, seconds = 0;
  if (!GRID_TAKE(g, from, size, error) || !GRID_TAKE(g, to, size, error) || !grid_fill(g, from, 1, size, error))
    return false;
  const struct copied what = {to, from, size};
  for (int i = 0; i <= TIMES; i++) {
    if (!copy_once(g, w, &what, &seconds, error)) return false;
    if (i > 0 && seconds < least) least = seconds; /* the first warms up */
  }
  *rate = 2 * (double)size / least;
  return true;
}

static bool copy_rate(uint64_t size, double *rate, struct ss_error *error) {
  struct grid g = {};
  struct stopwatch watch = {};
  const bool ok = grid_open(&g, error) && stopwatch_open(&watch, error) && time_copies(&g, &watch, size, rate, error);
  stopwatch_close(&watch);
  grid_close(&g);
  return ok;
}

extern "C" {
extern const struct ss_kernel_device ss_kernels_cuda;
const struct ss_kernel_device ss_kernels_cuda = {"cuda",      describe, open_run,  run_kernel,
                                                 time_kernel, fetch,    copy_rate, close_run};
extern const struct ss_gpu_device ss_gpu_cuda;
const struct ss_gpu_device ss_gpu_cuda = GPU_DEVICE;
}
/* SPDX-License-Identifier: Apache-2.0 */
