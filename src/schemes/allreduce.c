/* AllReduce of the dense tensor: what frameworks do that ignore sparsity.
 *
 * ring          reduce-scatter, then all-gather, of P parts (EmbRace §4.1.2, Table 2; Patarasuk & Yuan 2009)
 * rabenseifner  recursive halving, then doubling (SparDL, Table 1's "Dense")
 * tree          binomial reduce to rank 0, binomial broadcast
 *
 * Check: 64 rows of 4 floats, 16 on each of 4 ranks, none shared, 1 us and 1 ns a byte: 6*(1 + 0.256) = 7.536 us;
 * six steps, each of a quarter of the 64 rows of 16 bytes. */
#include "schemes/run.h"
#include "schemes/scheme.h"

enum algorithm { RING, RABENSEIFNER, TREE };
static const char *const algorithms[] = {"ring", "rabenseifner", "tree", NULL};
enum { ALGORITHM, OPTIONS };
static const struct ss_option options[OPTIONS + 1] = {
    [ALGORITHM] = {"algorithm", SS_OPTION_CHOICE, algorithms, 0, 0, RING, "how the dense tensor is reduced"},
};

struct dense_run {
  struct ss_run *run;
  struct ss_dense_sum sum;
};

static bool give(void *context, uint32_t position, struct ss_arena *arena, struct ss_chunk *chunk,
                 struct ss_error *error) {
  const struct dense_run *d = context;
  return ss_run_dense_part(d->run, position, arena, chunk, error);
}

/* Every rank holds every part, as its owner summed it. */
static void prove_parts(struct dense_run *d, const struct ss_gather *gather) {
  uint32_t P = d->run->ranks;
  for (uint32_t p = 0; p < P; p++) ss_run_dense(d->run, &gather->block[p], P);
  for (uint32_t r = 0; r < P; r++) {
    if (!ss_run_resident(d->run, r) || ss_receipts_regular(&gather->receipts, r)) continue;
    for (uint32_t p = 0; p < P; p++) {
      const struct ss_chunk *held = ss_receipts_held(&gather->receipts, r, p, &gather->block[p]);
      if (held) ss_run_dense(d->run, held, P);
      else ss_run_inexact(d->run, "rank %u never received part %u", r, p);
    }
  }
}

static bool ring(struct dense_run *d, struct ss_error *error) {
  struct ss_run *run = d->run;
  uint32_t P = run->ranks;
  struct ss_chunk *part = ss_arena_alloc(run->play->arena, P, sizeof *part);
  struct ss_gather gather;
  struct ss_chunk sum;
  if (!part) return ss_fail_memory(error, "cutting a tensor into parts");
  if (!ss_reduce_scatter_ring(run->play, &d->sum, part, error)) return false;
  if (!ss_gather_open(&gather, d->sum.groups, &run->dense, error)) return false;
  for (uint32_t r = 0; r < P; r++) {
    part[r].origin = r; /* known to all: r is the owner of part r */
    ss_gather_set(&gather, 0, r, &part[r]);
  }
  bool ok = ss_gather_seal(run->play, &gather, error) && ss_allgather_ring(run->play, &gather, error);
  if (ok && run->dense_lists) ok = ss_run_joined(run, &gather, &sum, error);
  else if (ok && run->proof) prove_parts(d, &gather);
  ss_gather_close(&gather);
  return ok;
}

static bool whole_tensor(struct dense_run *d, bool tree, struct ss_error *error) {
  struct ss_run *run = d->run;
  uint32_t P = run->ranks;
  struct ss_chunk *whole = ss_arena_alloc(run->play->arena, P, sizeof *whole);
  if (!whole) return ss_fail_memory(error, "holding a dense tensor");
  for (uint32_t r = 0; r < P; r++) {
    whole[r] = ss_dense_units(&d->sum, 0, d->sum.units);
    whole[r].origin = r;
    if (run->play->payloads && ss_run_resident(run, r) && !give(d, r, run->play->arena, &whole[r], error))
      return false;
  }
  if (tree) {
    if (!ss_reduce_binomial(run->play, &d->sum, whole, error)) return false;
    for (uint32_t r = 1; r < P; r++) whole[r] = ss_dense_units(&d->sum, 0, 1); /* origin 0, the root */
    if (!ss_broadcast_binomial(run->play, &d->sum.groups, 0, &run->dense, whole, error)) return false;
  } else if (!ss_allreduce_rabenseifner(run->play, &d->sum, whole, error)) {
    return false;
  }
  for (uint32_t r = 0; ss_run_reports(run) && r < P; r++) {
    if (!ss_run_resident(run, r)) continue;
    if (run->dense_lists) ss_run_sparse(run, r, &whole[r], 0, NULL);
    else ss_run_dense(run, &whole[r], d->sum.units);
  }
  return true;
}

static bool run_allreduce(struct ss_run *run, struct ss_error *error) {
  enum algorithm algorithm = (enum algorithm)run->setting->value[ALGORITHM];
  struct dense_run d = {.run = run};
  d.sum = (struct ss_dense_sum){.groups = ss_everyone(run->ranks),
                                .wire = &run->dense,
                                .low = run->low,
                                .high = run->high,
                                .lists = run->dense_lists,
                                .width = run->input->width,
                                .context = &d,
                                .give = give};
  d.sum.units = algorithm == RING ? run->ranks : algorithm == RABENSEIFNER ? ss_fold_of(run->ranks).Q : 1;
  return algorithm == RING ? ring(&d, error) : whole_tensor(&d, algorithm == TREE, error);
}

const struct ss_scheme ss_scheme_allreduce = {
    .name = "allreduce",
    .summary = "AllReduce of the dense tensor: every zero travels too",
    .source = "EmbRace §4.1.2, Table 2; ZEN §2; SparDL Table 1",
    .options = options,
    .content = SS_SENDS_DENSE,
    .run = run_allreduce,
};
