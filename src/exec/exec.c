#include "exec/exec.h"

#include "exec/mpi_player.h"
#include "exec/waiting.h"

#include <gsl/gsl_statistics_double.h>

struct execution {
  const struct ss_communicator *comm;
  const struct ss_execution *what;
  const struct ss_input *input; /* as it is executed */
  struct ss_arena *arena;
  struct ss_arena run; /* what one real run makes; the next one writes over it, into pages that are there */
  uint32_t servers, rings;
  struct ss_chunk *own; /* [ranks] with rows and values for this rank, without content for the others */
  struct ss_exec_memory *memory;
  struct ss_mpi_player player;
  struct ss_state before; /* what the memory was before the first of two runs */
  struct ss_input coarse;
  struct ss_dense_proof proof;            /* of lossless schemes; */
  struct ss_mass mass;                    /* of schemes of values, with: */
  struct ss_final final, simulated_final; /* the latter on rank 0 */
  struct ss_traffic *executed, *simulated;
  struct ss_kernel_work ran[SS_KERNELS]; /* kernels of this process, in the first run */
  double (*took)[SS_KERNELS];            /* [repeats] s, in the runs after it */
  struct ss_kernel_total *work;          /* [endpoints * SS_KERNELS] those of the simulation */
};

bool ss_execute_check(const struct ss_setting *setting, const struct ss_input *shape, struct ss_error *error) {
  if (shape->value_bytes != sizeof(float))
    return ss_fail(error, SS_BAD_INPUT, "exec sends single-precision floats: %u-byte elements can only be simulated",
                   shape->value_bytes);
  if (setting->index_bytes != 4 && setting->index_bytes != 8)
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: exec sends indices of 4 or 8 bytes: \"index_bytes\" %u can only be simulated", setting->label,
                   setting->index_bytes);
  if (setting->element && ss_scheme_model_parallel(setting->scheme))
    return ss_fail(error, SS_BAD_INPUT,
                   "%s: exec sends an index a row: granularity \"element\" can only be simulated", setting->label);
  return true;
}

/* This rank's gradient, and of the others' only what is known without a message: range, width and origin. */
static bool make_own(struct execution *x, struct ss_error *error) {
  uint32_t P = x->comm->size;
  const struct ss_chunk *all;
  bool *values = ss_arena_alloc(x->arena, P, sizeof *values);
  x->own = ss_arena_alloc(x->arena, P, sizeof *x->own);
  if (!values || !x->own) return ss_fail_memory(error, "making gradients");
  for (uint32_t r = 0; r < P; r++) values[r] = r == x->comm->rank;
  if (!ss_run_own(x->what->setting, x->input, (struct ss_own_content){.values = values}, x->arena, &all, error))
    return false;
  for (uint32_t r = 0; r < P; r++) {
    x->own[r] = all[r];
    if (r == x->comm->rank) continue;
    x->own[r].rows = NULL;
    x->own[r].marks = NULL;
    x->own[r].kind = SS_CHUNK_BARE;
    x->own[r].values = NULL;
    x->own[r].count = 0;
  }
  return true;
}

static bool valued(const struct execution *x) {
  return ss_scheme_valued(x->what->setting->scheme);
}

/* All that can fail in one process alone. */
static bool prepare(struct execution *x, struct ss_error *error) {
  uint32_t P = x->comm->size;
  const struct ss_layout layout = ss_layout_of(x->what->cluster, P);
  x->servers = ss_setting_servers(x->what->setting, layout);
  x->rings = ss_setting_rings(x->what->setting, layout);
  if (!ss_take(x->arena, x->executed, P + x->servers) || !ss_take(x->arena, x->simulated, P + x->servers) ||
      !ss_take_zero(x->arena, x->work, (size_t)(P + x->servers) * SS_KERNELS) ||
      !ss_take_zero(x->arena, x->took, x->what->repeats))
    return ss_fail_memory(error, "counting bytes");
  if (valued(x)) {
    if (!ss_coarse_input(x->input, &x->memory->grain, x->arena, &x->coarse, error)) return false;
    x->input = &x->coarse;
  }
  if (!make_own(x, error) || !ss_state_begin(&x->memory->executed, P, error) ||
      !ss_state_save(&x->memory->executed, &x->before, error))
    return false;
  if (!(valued(x) ? ss_mass_open(&x->mass, x->input->rows, x->own, &x->memory->executed, error)
                  : ss_dense_proof_open(&x->proof, x->input, &x->own[x->comm->rank], error)))
    return false;
  return ss_mpi_player_open(&x->player, x->comm, x->what->gpu, x->servers, &x->run, error);
}

/* The proof must have been asked about all there is: a rank's own copy, or for a table cut over ranks all their
 * shares together. Rows that are only a part of the sum (ps, pull rows; lookups) may be all that a scheme reports. */
static bool judge_sum(const struct execution *x, struct ss_executed *out, struct ss_error *error) {
  uint64_t asked[2] = {x->proof.covered, x->proof.listed};
  const uint64_t all = x->input->table ? x->input->elements : x->input->rows * x->input->width;
  if (ss_scheme_model_parallel(x->what->setting->scheme) &&
      !ss_mpi_check(ss_wait_allreduce(MPI_IN_PLACE, asked, 2, MPI_UINT64_T, MPI_SUM), "counting", error))
    return false;
  if (out->exact && x->comm->size > 1 && asked[0] < all && (asked[0] > 0 || asked[1] == 0)) {
    out->exact = false;
    (void)snprintf(out->mismatch, sizeof out->mismatch, "only %llu of %llu elements were compared",
                   (unsigned long long)asked[0], (unsigned long long)all);
  }
  return true;
}

static bool judge_values(struct execution *x, struct ss_executed *out, struct ss_error *error) {
  struct ss_value_proof proof = {.comm = x->comm,
                                 .setting = x->what->setting,
                                 .mass = &x->mass,
                                 .final = &x->final,
                                 .memory = &x->memory->executed};
  if (!ss_values_prove(&proof, error)) return false;
  if (out->exact && !proof.good) memcpy(out->mismatch, proof.why, sizeof proof.why);
  out->exact = out->exact && proof.good;
  return true;
}

/* Whether all ranks are good; else the words are those of the lowest rank that is not. */
static int gather_words(const struct execution *x, bool *good, char *words, size_t size) {
  struct {
    int value, rank;
  } mine = {*good, (int)x->comm->rank}, least = mine;
  int code = ss_wait_allreduce(&mine, &least, 1, MPI_2INT, MPI_MINLOC);
  if (code == MPI_SUCCESS) code = ss_wait_bcast(words, (int)size, MPI_CHAR, least.rank);
  *good = least.value != 0;
  return code;
}

static bool judge(struct execution *x, const struct ss_outcome *outcome, struct ss_executed *out,
                  struct ss_error *error) {
  out->exact = outcome->sound;
  memcpy(out->mismatch, outcome->mismatch, sizeof out->mismatch);
  if (!(valued(x) ? judge_values(x, out, error) : judge_sum(x, out, error))) return false;
  if (!ss_mpi_check(gather_words(x, &out->exact, out->mismatch, sizeof out->mismatch), "judging", error))
    return false;
  if (out->exact) out->mismatch[0] = '\0';
  return true;
}

static struct ss_stage stage_of(const struct execution *x) {
  return (struct ss_stage){.setting = x->what->setting,
                           .input = x->input,
                           .servers = x->servers,
                           .rings = x->rings,
                           .per_node = x->what->cluster->gpus_per_node,
                           .payloads = true};
}

/* The scheme itself, between two clocks; *seconds of the rank that took longest, without what it set aside. */
static bool run_timed(struct execution *x, struct ss_proof *proof, struct ss_outcome *outcome, double *seconds,
                      struct ss_error *error) {
  const struct ss_device none = ss_device_none();
  struct ss_stage stage = stage_of(x);
  stage.player = &x->player.player;
  stage.device = &none;
  stage.arena = &x->run;
  stage.own = x->own;
  stage.proof = proof;
  stage.state = &x->memory->executed;
  if (!ss_mpi_check(ss_wait_barrier(), "waiting for all ranks", error)) return false;
  double aside = 0;
  const double start = MPI_Wtime();
  if (x->what->gpu) ss_gpu_buffers_begin(x->what->gpu);
  ss_seconds_aside = &aside;
  const bool ran = ss_stage_run(&stage, &x->final, outcome, error);
  ss_seconds_aside = NULL;
  ss_summer = NULL;
  if (!ran) return false;
  const double mine = MPI_Wtime() - start - aside;
  return ss_mpi_check(ss_wait_allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX), "timing", error);
}

/* The first run tells all ranks what the model takes as known, and warms up; those after it are timed, and the last
 * one is judged. */
static bool run_for_real(struct execution *x, struct ss_executed *out, struct ss_error *error) {
  struct ss_outcome outcome = {0};
  struct ss_state *memory = &x->memory->executed;
  struct ss_proof *proof = valued(x) ? NULL : &x->proof.proof;
  double times[SS_EXEC_REPEATS_MAX];
  const uint32_t n = x->what->repeats;
  if (proof && !ss_dense_proof_sum(&x->proof, error)) return false;
  ss_kernel_counts = x->ran;
  const bool first = run_timed(x, NULL, &outcome, &out->announced, error);
  ss_kernel_counts = NULL;
  if (!first) return false;
  for (uint32_t i = 0; i < n; i++) {
    ss_arena_reset(&x->run);
    ss_state_rewind(memory, &x->before);
    ss_mpi_player_again(&x->player);
    if (!ss_state_begin(memory, x->comm->size, error)) return false;
    ss_kernel_seconds = x->took[i];
    const bool ran = run_timed(x, i + 1 == n ? proof : NULL, &outcome, &times[i], error);
    ss_kernel_seconds = NULL;
    if (!ran) return false;
  }
  out->measured = gsl_stats_median(times, 1, n);
  if (!judge(x, &outcome, out, error)) return false;
  ss_state_end(memory);
  return true;
}

/* Each process has counted at its own endpoints; all get all. */
static bool gather_traffic(struct execution *x, struct ss_executed *out, struct ss_error *error) {
  uint32_t n = x->player.endpoints;
  for (uint32_t e = 0; e < n; e++) x->executed[e] = (struct ss_traffic){x->player.sent[e], x->player.received[e]};
  int code = ss_wait_allreduce(MPI_IN_PLACE, x->executed, (int)(2 * n), MPI_UINT64_T, MPI_SUM);
  if (code == MPI_SUCCESS) code = ss_wait_allreduce(&x->player.headers, &out->headers, 1, MPI_UINT64_T, MPI_SUM);
  return ss_mpi_check(code, "gathering counts", error);
}

/* The cluster, the same where kernels take no time, and where one component each costs more. */
struct predictions {
  struct ss_variants varied;
  uint32_t count;
  struct ss_cluster cluster[2 + SS_COMPONENTS];
  const struct ss_cluster *on[2 + SS_COMPONENTS];
  double start[2 + SS_COMPONENTS]; /* s, of the call */
};

static bool open_predictions(const struct execution *x, struct predictions *p, struct ss_engine *engine,
                             struct ss_error *error) {
  ss_variants_make(&p->varied, x->what->cluster, x->what->uncertainty);
  p->count = 2 + p->varied.count;
  for (uint32_t i = 0; i < p->count; i++) {
    const struct ss_cluster *of = i < 2 ? x->what->cluster : &p->varied.cluster[i - 2];
    p->cluster[i] = ss_setting_cluster(x->what->setting, of, x->input, &p->start[i]);
    p->on[i] = &p->cluster[i];
  }
  const struct ss_engine_size size = {x->comm->size, x->servers, x->rings, 1};
  if (!ss_engine_open_each(engine, p->on, p->count, size, error)) return false;
  engine->on[1].pace = 0;
  for (uint32_t i = 2; i < p->count; i++) engine->on[i].pace = p->varied.pace[i - 2];
  return true;
}

static void read_predictions(const struct predictions *p, struct ss_engine *engine, struct ss_executed *out) {
  double times[2 + SS_COMPONENTS] = {0};
  for (uint32_t i = 0; i < p->count; i++) times[i] = ss_engine_tally(engine, i).time + p->start[i];
  out->predicted = times[0];
  out->network = times[1];
  out->components = ss_variants_split(&p->varied, times[0], times + 2);
}

static bool simulate(struct execution *x, struct ss_executed *out, struct ss_error *error) {
  struct ss_outcome outcome = {0};
  struct ss_engine engine;
  const struct ss_chunk *own;
  uint32_t P = x->comm->size;
  struct predictions *predictions = ss_arena_alloc(x->arena, 1, sizeof *predictions);
  if (!predictions) return ss_fail_memory(error, "predicting times");
  if (!ss_run_own(x->what->setting, x->input, (struct ss_own_content){0}, x->arena, &own, error) ||
      !open_predictions(x, predictions, &engine, error))
    return false;
  struct ss_stage stage = stage_of(x);
  stage.player = &engine.player;
  stage.device = x->what->device;
  stage.arena = x->arena;
  stage.own = own;
  stage.state = &x->memory->simulated;
  stage.work = x->work;
  bool ok = ss_state_begin(stage.state, P, error) && ss_stage_run(&stage, &x->simulated_final, &outcome, error);
  if (ok) read_predictions(predictions, &engine, out);
  for (uint32_t e = 0; ok && e < P + x->servers; e++)
    x->simulated[e] = (struct ss_traffic){ss_engine_sent(&engine, e), ss_engine_received(&engine, e)};
  ss_engine_close(&engine);
  if (ok) ss_state_end(stage.state);
  return ok;
}

/* Encoders and decoders take several messages at once in the simulation, and one launch adds what all rings brought:
 * their calls are not compared. */
static bool batched(const struct execution *x, uint32_t kernel) {
  if (kernel == SS_KERNEL_DENSE_ADD && x->rings > 1) return true;
  return (kernel >= SS_KERNEL_BITMAP_ENCODE && kernel <= SS_KERNEL_BLOCK_DECODE) || kernel == SS_KERNEL_PACK;
}

/* Blocks bring rows that nobody listed, more with each sum, and cut rows: of what is made of them calls are compared,
 * not elements. */
static bool of_blocks(uint32_t kernel) {
  return kernel == SS_KERNEL_MERGE_SUM || kernel == SS_KERNEL_BLOCK_ENCODE || kernel == SS_KERNEL_BLOCK_DECODE;
}

/* What the simulation had of a kernel at this process's endpoints. */
static struct ss_kernel_total simulated_work(const struct execution *x, uint32_t kernel) {
  struct ss_kernel_total work = {0};
  for (uint32_t e = x->comm->rank; e < x->player.endpoints; e += x->comm->size)
    ss_kernel_total_add(&work, &x->work[(size_t)e * SS_KERNELS + kernel]);
  return work;
}

/* Did this process run the kernels that its endpoints ran in the simulation? The first that it did not is told. */
static bool ran_as_simulated(const struct execution *x, char *mismatch, size_t size) {
  const bool blocks = x->ran[SS_KERNEL_BLOCK_DECODE].elements > 0;
  for (uint32_t k = 0; k < SS_KERNELS; k++) {
    const struct ss_kernel_work *ran = &x->ran[k];
    const struct ss_kernel_total simulated = simulated_work(x, k);
    const bool as_often = ran->calls == simulated.calls || batched(x, k),
               as_much = ran->elements == simulated.elements || (blocks && of_blocks(k));
    if (as_often && as_much) continue;
    (void)snprintf(mismatch, size, "rank %u ran %s %llu times on %llu elements, its simulation %llu times on %llu",
                   x->comm->rank, ss_kernel_name((enum ss_kernel_kind)k), (unsigned long long)ran->calls,
                   (unsigned long long)ran->elements, (unsigned long long)simulated.calls,
                   (unsigned long long)simulated.elements);
    return false;
  }
  return true;
}

/* Calls and elements of all processes, seconds of the one that has most of them. */
static int gather_kernels(const struct execution *x, struct ss_executed *out) {
  const uint32_t n = x->what->repeats;
  uint64_t counts[3 * SS_KERNELS];
  double seconds[2 * SS_KERNELS], took[SS_EXEC_REPEATS_MAX];
  for (uint32_t k = 0; k < SS_KERNELS; k++) {
    for (uint32_t i = 0; i < n; i++) took[i] = x->took[i][k];
    counts[3 * k] = x->ran[k].calls;
    counts[3 * k + 1] = x->ran[k].elements;
    counts[3 * k + 2] = x->what->gpu ? x->what->gpu->sums[k] : 0;
    seconds[2 * k] = gsl_stats_median(took, 1, n);
    seconds[2 * k + 1] = simulated_work(x, k).seconds;
  }
  int code = ss_wait_allreduce(MPI_IN_PLACE, counts, 3 * SS_KERNELS, MPI_UINT64_T, MPI_SUM);
  if (code == MPI_SUCCESS) code = ss_wait_allreduce(MPI_IN_PLACE, seconds, 2 * SS_KERNELS, MPI_DOUBLE, MPI_MAX);
  for (int k = 0; k < SS_KERNELS; k++)
    out->kernels[k] = (struct ss_executed_kernel){counts[3 * k], counts[3 * k + 1], counts[3 * k + 2], seconds[2 * k],
                                                  seconds[2 * k + 1]};
  out->copies = x->what->gpu ? x->what->gpu->copies : 0;
  if (code == MPI_SUCCESS) code = ss_wait_allreduce(MPI_IN_PLACE, &out->copies, 1, MPI_DOUBLE, MPI_MAX);
  return code;
}

static int compare_kernels(struct execution *x, struct ss_executed *out) {
  char why[sizeof out->mismatch] = "";
  out->kernels_equal = ran_as_simulated(x, why, sizeof why);
  const int code = gather_words(x, &out->kernels_equal, why, sizeof why);
  if (!out->kernels_equal && !out->mismatch[0]) memcpy(out->mismatch, why, sizeof why);
  return code;
}

/* Rank 0 simulates, and tells the others. */
static bool compare(struct execution *x, struct ss_executed *out, struct ss_error *error) {
  int bytes = (int)(x->player.endpoints * sizeof *x->simulated);
  bool ok = x->comm->rank != 0 || simulate(x, out, error);
  if (!ss_communicator_agree(x->comm, ok, error)) return false;
  if (valued(x) && x->comm->rank == 0 && out->exact && !ss_values_equal(&x->final, &x->simulated_final)) {
    out->exact = false;
    (void)snprintf(out->mismatch, sizeof out->mismatch, "other values than those of the simulation");
  }
  ss_communicator_broadcast(x->comm, x->simulated, (size_t)bytes);
  ss_communicator_broadcast(x->comm, x->work, (size_t)x->player.endpoints * SS_KERNELS * sizeof *x->work);
  ss_communicator_broadcast(x->comm, &out->predicted, sizeof out->predicted);
  ss_communicator_broadcast(x->comm, &out->network, sizeof out->network);
  ss_communicator_broadcast(x->comm, &out->exact, sizeof out->exact);
  ss_communicator_broadcast(x->comm, out->mismatch, sizeof out->mismatch);
  int code = compare_kernels(x, out);
  if (code == MPI_SUCCESS) code = gather_kernels(x, out);
  if (!ss_mpi_check(code, "sharing the simulation", error)) ss_communicator_abort(x->comm, error);
  out->equal = memcmp(x->simulated, x->executed, (size_t)bytes) == 0;
  return true;
}

static bool execute(struct execution *x, struct ss_executed *out, struct ss_error *error) {
  if (!ss_communicator_agree(x->comm, prepare(x, error), error)) return false;
  /* From here to the next agreement another rank may be waiting for a message of this one. */
  if (!run_for_real(x, out, error) || !gather_traffic(x, out, error)) ss_communicator_abort(x->comm, error);
  out->endpoints = x->player.endpoints;
  out->executed = x->executed;
  out->simulated = x->simulated;
  return compare(x, out, error);
}

bool ss_execute(const struct ss_communicator *comm, const struct ss_execution *what, struct ss_exec_memory *memory,
                struct ss_arena *arena, struct ss_executed *out, struct ss_error *error) {
  struct execution x = {.comm = comm, .what = what, .input = what->input, .memory = memory, .arena = arena};
  *out = (struct ss_executed){0};
  bool ok = execute(&x, out, error);
  ss_mpi_player_close(&x.player);
  ss_dense_proof_close(&x.proof);
  ss_mass_close(&x.mass);
  ss_state_free(&x.before);
  ss_arena_free(&x.run);
  return ok;
}

void ss_exec_memory_free(struct ss_exec_memory *memory) {
  ss_state_free(&memory->executed);
  ss_state_free(&memory->simulated);
  *memory = (struct ss_exec_memory){0};
}
/* SPDX-License-Identifier: Apache-2.0 */
