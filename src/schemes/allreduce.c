/* AllReduce of the dense tensor: what frameworks do that ignore sparsity.
 *
 * ring          reduce-scatter, then all-gather, of P parts (EmbRace §4.1.2, Table 2; Patarasuk & Yuan 2009); with
 *               `chunks` each part in several messages, as NCCL has it
 * rabenseifner  recursive halving, then doubling (SparDL, Table 1's "Dense")
 * tree          binomial reduce to rank 0, binomial broadcast
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 6*(1 + 0.256) = 7.536 us;
 * six steps, each of a quarter of the 64 rows of 16 bytes. */
#include "schemes/run.h"
#include "schemes/scheme.h"

enum algorithm { RING, RABENSEIFNER, TREE };
static const char *const algorithms[] = {"ring", "rabenseifner", "tree", NULL};
enum { ALGORITHM, CHUNKS, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [ALGORITHM] = {"algorithm", SS_OPTION_CHOICE, algorithms, 0, 0, RING, "how the dense tensor is reduced"},
    [CHUNKS] = {"chunks", SS_OPTION_COUNT, NULL, 1, 1024, 1,
                "messages that each part of the ring travels in: one is added while the next is on its way"},
};

static bool give(void *context, uint32_t position, struct ss_arena *arena, struct ss_chunk *chunk,
                 struct ss_error *error) {
  return ss_run_dense_part(context, position, arena, chunk, error);
}

/* Every rank holds every part, as its owner summed it. */
static void prove_parts(struct ss_run *run, const struct ss_gather *gather, uint32_t units) {
  uint32_t P = run->ranks;
  for (uint32_t p = 0; p < P; p++) ss_run_dense(run, &gather->block[p], units);
  for (uint32_t r = 0; r < P; r++) {
    if (!ss_run_resident(run, r) || ss_receipts_regular(&gather->receipts, r)) continue;
    for (uint32_t p = 0; p < P; p++) {
      const struct ss_chunk *held = ss_receipts_held(&gather->receipts, r, p, &gather->block[p]);
      if (held) ss_run_dense(run, held, units);
      else ss_run_inexact(run, "rank %u never received part %u", r, p);
    }
  }
}

static bool ring(struct ss_run *run, const struct ss_dense_sum *sum, struct ss_error *error) {
  struct ss_gather *gather = ss_arena_zero(run->play->arena, sum->chunks, sizeof *gather);
  struct ss_chunk joined;
  if (!gather) return ss_fail_memory(error, "gathering parts");
  bool ok = ss_allreduce_ring(run->play, sum, gather, error);
  for (uint32_t k = 0; ok && k < sum->chunks; k++) {
    const struct ss_aside aside = ss_aside_begin(); /* dense parts lie side by side */
    if (run->dense_lists) ok = ss_run_joined(run, &gather[k], &joined, error);
    else if (run->proof) prove_parts(run, &gather[k], sum->units);
    ss_aside_end(&aside);
  }
  for (uint32_t k = 0; k < sum->chunks; k++) ss_gather_close(&gather[k]);
  return ok;
}

static bool whole_tensor(struct ss_run *run, const struct ss_dense_sum *sum, bool tree, struct ss_error *error) {
  uint32_t P = run->ranks;
  struct ss_chunk *whole = ss_arena_alloc(run->play->arena, P, sizeof *whole);
  if (!whole) return ss_fail_memory(error, "holding a dense tensor");
  for (uint32_t r = 0; r < P; r++) {
    whole[r] = ss_dense_units(sum, 0, sum->units);
    whole[r].origin = r;
    if (run->play->payloads && ss_run_resident(run, r) && !give(run, r, run->play->arena, &whole[r], error))
      return false;
  }
  if (tree) {
    if (!ss_reduce_binomial(run->play, sum, whole, error)) return false;
    for (uint32_t r = 1; r < P; r++) whole[r] = ss_dense_units(sum, 0, 1); /* origin 0, the root */
    if (!ss_broadcast_binomial(run->play, 0, &run->dense, whole, error)) return false;
  } else if (!ss_allreduce_rabenseifner(run->play, sum, whole, error)) {
    return false;
  }
  for (uint32_t r = 0; ss_run_reports(run) && r < P; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (run->dense_lists) ss_run_sparse(run, r, &whole[r], 0, NULL);
    else ss_run_dense(run, &whole[r], sum->units);
  }
  return true;
}

static bool run_allreduce(struct ss_run *run, struct ss_error *error) {
  enum algorithm algorithm = (enum algorithm)run->setting->value[ALGORITHM];
  struct ss_dense_sum sum = {.wire = &run->dense,
                             .low = run->low,
                             .high = run->high,
                             .lists = run->dense_lists,
                             .width = run->input->width,
                             .context = run,
                             .give = give};
  sum.chunks = (uint32_t)run->setting->value[CHUNKS];
  sum.units = algorithm == RING ? run->ranks * sum.chunks : algorithm == RABENSEIFNER ? ss_fold_of(run->ranks).Q : 1;
  return algorithm == RING ? ring(run, &sum, error) : whole_tensor(run, &sum, algorithm == TREE, error);
}

static bool check(const struct ss_setting *setting, struct ss_layout layout, struct ss_error *error) {
  const uint64_t chunks = setting->value[CHUNKS];
  if (chunks == 1) return true;
  if (setting->value[ALGORITHM] != RING)
    return ss_fail(error, SS_BAD_INPUT, "\"chunks\" are of the ring: leave them, or \"algorithm\", out");
  if (setting->hierarchy)
    return ss_fail(error, SS_BAD_INPUT, "among the nodes of a hierarchy parts travel whole: leave \"chunks\" out");
  return chunks * layout.ranks <= UINT32_MAX ||
         ss_fail(error, SS_BAD_INPUT, "%u ranks have at most %u chunks", layout.ranks, UINT32_MAX / layout.ranks);
}

const struct ss_scheme ss_scheme_allreduce = {
    .name = "allreduce",
    .summary = "AllReduce of the dense tensor: every zero travels too",
    .source = "EmbRace §4.1.2, Table 2; ZEN §2; SparDL Table 1",
    .options = options,
    .content = SS_SENDS_DENSE,
    .check = check,
    .run = run_allreduce,
};
