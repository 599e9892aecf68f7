#include "exec/gpu_buffers.h"

#include "exec/waiting.h"
#include "tensor/topk.h"
#include "tensor/wire.h"

#include <dlfcn.h>

/* --- who has one ------------------------------------------------------------------------------------------ */

/* Open MPI, MPICH and MVAPICH have this function, and say by it whether they were built with CUDA and use it. It is
 * no part of MPI: a library without it takes no GPU's memory. */
static bool mpi_takes_it(struct ss_error *error) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int (*query)(void), length;
  void *found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  memcpy(&query, &found, sizeof query); /* ISO C has no cast for it */
  if (found && query() == 1) return true;
  (void)MPI_Get_library_version(version, &length);
  return ss_fail(
      error, SS_MACHINE,
      "--gpu-buffers: this MPI (%.*s) does not take pointers to a GPU's memory: build with one that was built "
      "with CUDA (Open MPI: --with-cuda), or leave --gpu-buffers out",
      (int)strcspn(version, ",\n"), version);
}

/* Which of the ranks on this machine this one is. */
static bool rank_here(uint32_t *out, struct ss_error *error) {
  MPI_Comm here;
  int rank;
  if (!ss_mpi_check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here),
                    "finding ranks that share a machine", error))
    return false;
  const int code = MPI_Comm_rank(here, &rank);
  *out = (uint32_t)rank;
  return ss_mpi_check(MPI_Comm_free(&here), "finding ranks that share a machine", error) &&
         ss_mpi_check(code, "finding ranks that share a machine", error);
}

/* --- copies ----------------------------------------------------------------------------------------------- */

/* What follows, to the end of the block, copies between host and GPU: no part of the scheme. */
struct copying {
  double *seconds, since;
};

static struct copying copying(struct ss_gpu_buffers *b) {
  return (struct copying){&b->copies, MPI_Wtime()};
}

static void copied(const struct copying *c) {
  *c->seconds += MPI_Wtime() - c->since;
}
#define COPIES(b)                                                                                                    \
  SS_ASIDE;                                                                                                          \
  const struct copying copying_here __attribute__((unused, cleanup(copied))) = copying(b)

bool ss_gpu_buffers_place(struct ss_gpu_buffers *b, uint64_t bytes, void **at, struct ss_error *error) {
  COPIES(b);
  *at = b->device->take(b->gpu, bytes, error);
  return *at != NULL;
}

bool ss_gpu_buffers_send(struct ss_gpu_buffers *b, const void *host, uint64_t bytes, const void **at,
                         struct ss_error *error) {
  COPIES(b);
  void *to = b->device->take(b->gpu, bytes, error);
  *at = to;
  return to && b->device->put(b->gpu, to, host, bytes, error);
}

bool ss_gpu_buffers_fetch(struct ss_gpu_buffers *b, void *host, const void *at, uint64_t bytes,
                          struct ss_error *error) {
  COPIES(b);
  return b->device->get(b->gpu, host, at, bytes, error);
}

void ss_gpu_buffers_release(struct ss_gpu_buffers *b) {
  b->device->release(b->gpu);
}

/* --- sums ------------------------------------------------------------------------------------------------- */

/* Where kernels are counted; else it stands for another. */
static void made(struct ss_gpu_buffers *b, enum ss_kernel_kind kernel) {
  b->sums[kernel] += ss_kernel_counts != NULL;
}

static bool ascends(const struct ss_chunk *c) {
  uint64_t e = 1;
  while (e < c->count && c->rows[e - 1] < c->rows[e]) e++;
  return c->distinct || e >= c->count;
}

/* Lists of distinct rows with floats; or with units, which floats hold whatever their sum is. */
static bool takes(struct ss_summer *summer, const struct ss_operands *of, enum ss_chunk_kind kind) {
  uint64_t most = 0;
  SS_ASIDE;
  (void)summer;
  for (uint32_t i = 0; i < of->count; i++) {
    const struct ss_chunk *c = &of->chunk[i];
    uint64_t largest = 0;
    if (!ascends(c) || (c->count > 0 && (kind == SS_CHUNK_BARE ? !c->values : !c->units))) return false;
    for (uint64_t e = 0; kind == SS_CHUNK_VALUES && e < c->count; e++)
      if (ss_magnitude(c->units[e]) > largest) largest = ss_magnitude(c->units[e]);
    if (!ss_add_u64(most, largest, &most)) return false;
  }
  return (kind == SS_CHUNK_BARE || kind == SS_CHUNK_VALUES) && most <= SS_WIRE_UNITS_MOST && of->chunk[0].width > 0;
}

/* Entries of [low, high) as a GPU takes them: rows from 0 on, and floats row by row. */
static bool list_of(const struct ss_operands *of, uint32_t i, struct ss_arena *arena, struct ss_gpu_operand *out) {
  const struct ss_chunk part = ss_chunk_slice(&of->chunk[i], of->low, of->high);
  const uint32_t width = of->chunk[0].width;
  uint32_t *rows = ss_arena_alloc(arena, part.count, sizeof *rows);
  float *values = ss_arena_alloc(arena, part.count * width, sizeof *values);
  if (!rows || !values) return false;
  for (uint64_t e = 0; e < part.count; e++) {
    rows[e] = (uint32_t)(part.rows[e] - of->low);
    if (part.kind == SS_CHUNK_VALUES) values[e] = (float)part.units[e];
    else memcpy(values + e * width, part.values + e * part.stride, width * sizeof *values);
  }
  *out = (struct ss_gpu_operand){rows, values, part.count};
  return true;
}

static bool load_all(struct ss_gpu_buffers *b, const struct ss_gpu_sum *sum, struct ss_error *error) {
  COPIES(b);
  return b->device->load(b->gpu, sum, error);
}

/* Operands from `at` on, behind what those before them came to. */
static bool load(struct ss_gpu_buffers *b, const struct ss_operands *of, struct ss_gpu_sum *sum, uint32_t at,
                 struct ss_error *error) {
  SS_ASIDE;
  while (sum->operands < SS_KERNEL_OPERANDS && at < of->count)
    if (!list_of(of, at++, &b->operands, &sum->operand[sum->operands++]))
      return ss_fail_memory(error, "summing on a GPU");
  return load_all(b, sum, error);
}

static bool fetch(struct ss_gpu_buffers *b, uint64_t count, uint32_t width, struct ss_gpu_operand *out,
                  struct ss_error *error) {
  COPIES(b);
  uint32_t *rows = ss_arena_alloc(&b->operands, count, sizeof *rows);
  float *values = ss_arena_alloc(&b->operands, count * width, sizeof *values);
  *out = (struct ss_gpu_operand){rows, values, count};
  return rows && values ? b->device->fetch(b->gpu, rows, values, error) : ss_fail_memory(error, "summing on a GPU");
}

/* As the sum of a CPU: rows of the tensor, and the kind that was asked for. */
static bool give(struct ss_gpu_buffers *b, const struct ss_operands *of, enum ss_chunk_kind kind,
                 const struct ss_gpu_operand *sum, struct ss_arena *arena, struct ss_chunk *out,
                 struct ss_error *error) {
  const uint32_t width = of->chunk[0].width;
  COPIES(b);
  uint32_t *rows = ss_arena_alloc(arena, sum->count, sizeof *rows);
  float *values = ss_arena_alloc(arena, sum->count * width, sizeof *values);
  int64_t *units = kind == SS_CHUNK_VALUES ? ss_arena_alloc(arena, sum->count, sizeof *units) : NULL;
  if (!rows || !values || (kind == SS_CHUNK_VALUES && !units)) return ss_fail_memory(error, "summing on a GPU");
  for (uint64_t e = 0; e < sum->count; e++) {
    rows[e] = (uint32_t)(sum->rows[e] + of->low);
    if (units) units[e] = (int64_t)sum->values[e];
  }
  if (sum->count > 0) memcpy(values, sum->values, sum->count * width * sizeof *values);
  *out = (struct ss_chunk){.rows = rows,
                           .units = units,
                           .values = units ? NULL : values,
                           .count = sum->count,
                           .low = of->low,
                           .high = of->high,
                           .width = width,
                           .stride = width,
                           .kind = kind,
                           .distinct = true};
  return true;
}

/* Kernels take a few operands: more are added to what these came to, in their order. */
static bool sparse(struct ss_summer *summer, const struct ss_operands *of, enum ss_chunk_kind kind,
                   struct ss_arena *arena, struct ss_chunk *out, struct ss_error *error) {
  struct ss_gpu_buffers *b = (struct ss_gpu_buffers *)summer;
  struct ss_gpu_sum sum = {.width = of->chunk[0].width, .rows = of->high - of->low};
  uint64_t count = 0;
  ss_arena_reset(&b->operands);
  for (uint32_t at = 0; at < of->count;) {
    const uint32_t kept = sum.operands;
    if (!load(b, of, &sum, at, error) || !b->device->add(b->gpu, &count, error) ||
        !fetch(b, count, sum.width, &sum.operand[0], error))
      return false;
    at += sum.operands - kept;
    sum.operands = 1;
  }
  made(b, SS_KERNEL_MERGE_SUM);
  return give(b, of, kind, &sum.operand[0], arena, out, error);
}

static bool dense(struct ss_summer *summer, const float *x, const float *y, uint64_t n, float *out,
                  struct ss_error *error) {
  struct ss_gpu_buffers *b = (struct ss_gpu_buffers *)summer;
  const struct ss_gpu_sum sum = {.operand = {{NULL, x, n}, {NULL, y, n}}, .operands = 2, .width = 1, .rows = n};
  uint64_t count;
  if (!load_all(b, &sum, error) || !b->device->add(b->gpu, &count, error)) return false;
  made(b, SS_KERNEL_DENSE_ADD);
  COPIES(b);
  return b->device->fetch(b->gpu, NULL, out, error);
}

/* --- beginning and end ------------------------------------------------------------------------------------ */

bool ss_gpu_buffers_open(const struct ss_communicator *comm, struct ss_gpu_buffers *out, struct ss_error *error) {
  uint32_t which = 0;
  *out = (struct ss_gpu_buffers){.summer = {takes, sparse, dense}, .device = &ss_gpu_cuda};
  return ss_communicator_agree(
      comm, rank_here(&which, error) && out->device->open(which, &out->gpu, error) && mpi_takes_it(error), error);
}

void ss_gpu_buffers_begin(struct ss_gpu_buffers *b) {
  if (ss_kernel_counts) memset(b->sums, 0, sizeof b->sums);
  b->copies = 0;
  ss_summer = &b->summer;
}

void ss_gpu_buffers_close(struct ss_gpu_buffers *b) {
  if (b->gpu) b->device->close(b->gpu);
  ss_arena_free(&b->operands);
  *b = (struct ss_gpu_buffers){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
