/* Sums of dense tensors: ring reduce-scatter and Rabenseifner's all-reduce. */
#include "sim/collectives/collectives.h"

struct ss_chunk ss_dense_units(const struct ss_dense_sum *sum, uint32_t first, uint32_t count) {
  const uint64_t rows = sum->high - sum->low;
  if (sum->range) return sum->range(sum->context, first, count);
  return (struct ss_chunk){.dense = !sum->lists,
                           .count = sum->lists ? 0 : count,
                           .low = sum->low + ss_share(rows, sum->units, sum->first + first),
                           .high = sum->low + ss_share(rows, sum->units, sum->first + first + count),
                           .width = sum->width,
                           .stride = sum->width,
                           .part = sum->first + first};
}

/* Units [first, first + count) of a chunk that begins with unit chunk->part. */
static struct ss_chunk cut(const struct ss_dense_sum *sum, const struct ss_chunk *chunk, uint32_t first,
                           uint32_t count) {
  struct ss_chunk view = ss_dense_units(sum, first, count);
  if (sum->lists) {
    struct ss_chunk rows = *chunk;
    if (chunk->rows) rows = ss_chunk_slice(chunk, view.low, view.high);
    rows.low = view.low;
    rows.high = view.high;
    rows.part = first;
    return rows;
  }
  view.origin = chunk->origin;
  view.kind = chunk->kind;
  if (chunk->marks) view.marks = chunk->marks + (first - chunk->part);
  if (chunk->values) view.values = chunk->values + (view.low - chunk->low) * chunk->width;
  return view;
}

/* A round whose receivers add what they get as soon as they have it: an add reads two operands and writes one. One
 * launch adds what all rings brought. */
static bool play_sums(struct ss_play *play, const struct ss_dense_sum *sum, uint32_t count, bool dependent,
                      struct ss_error *error) {
  struct ss_round round = {
      .messages = {.count = count, .from = play->from, .to = play->to, .bytes = play->bytes},
      .dependent = dependent,
      .payloads = play->payloads ? play->payload : NULL,
      .wire = play->payloads ? sum->wire : NULL,
      .after = play->after,
  };
  for (uint32_t i = 0; ss_play_notes(play) && i < count; i++) {
    const uint64_t bytes = play->bytes[i], elements = bytes / sum->wire->value_bytes;
    const struct ss_kernel_work work = {sum->first == 0, elements, 3 * bytes};
    const double seconds = ss_play_count(play, play->to[i], SS_KERNEL_DENSE_ADD, work);
    if (seconds > 0 && !sum->fused) play->after[round.after_count++] = (struct ss_computation){play->to[i], seconds};
  }
  for (uint32_t i = 0; sum->wire != &ss_number_wire && i < count; i++) ss_play_buffer(play, &round.messages, i);
  return ss_play_round(play, &round, error);
}

bool ss_dense_round(struct ss_play *play, const struct ss_dense_sum *sum, uint32_t count, struct ss_error *error) {
  return play_sums(play, sum, count, true, error);
}

static bool add(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *held,
                const struct ss_chunk *got, struct ss_error *error) {
  if (sum->add) return sum->add(held, got, play->arena, held, error);
  if (held->dense) return ss_chunk_add_dense(held, got, play->arena, held, error);
  SS_KERNEL_TIMED(SS_KERNEL_DENSE_ADD);
  const struct ss_kernel_paused kernels = ss_kernel_pause(); /* lists stand for dense tensors here */
  const bool ok = ss_play_add(play, held->origin, NULL, held, got, error);
  ss_kernel_resume(kernels);
  ss_kernel_ran(SS_KERNEL_DENSE_ADD, (held->high - held->low) * held->width);
  return ok;
}

bool ss_dense_take(struct ss_play *play, const struct ss_dense_sum *sum, uint32_t at, const struct ss_chunk *due,
                   struct ss_chunk *held, struct ss_error *error) {
  const struct ss_chunk *got = ss_play_due(play, at, play->from[at], due->part);
  if (!got || got->origin != play->from[at] || got->part != due->part) return true;
  if (due->dense && got->count != due->count) {
    ss_play_mismatch(play, "endpoint %u received other units than were due", play->to[at]);
    return true;
  }
  return add(play, sum, held, got, error);
}

static uint32_t chunks_of(const struct ss_dense_sum *sum) {
  return sum->chunks > 0 ? sum->chunks : 1;
}

/* Sizes alone, which need no lists. */
static bool ring_of_sizes(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_error *error) {
  const uint32_t size = play->ranks, chunks = chunks_of(sum);
  assert(size > 0);
  const bool uniform = (sum->high - sum->low) % sum->units == 0;
  SS_AUTO_FREE uint64_t *bytes = ss_alloc(2 * (size_t)size * chunks, sizeof *bytes);
  if (!bytes) return ss_fail_memory(error, "cutting a tensor into parts");
  for (uint32_t j = 0; j < 2 * size * chunks; j++) { /* those of a chunk twice in a row */
    const struct ss_chunk part = ss_dense_units(sum, j / (2 * size) * size + j % size, 1);
    bytes[j] = ss_wire_bytes(sum->wire, &part);
  }
  struct ss_step step = ss_steps_of(SS_RING, size);
  while (ss_step_next(&step))
    for (uint32_t k = 0; k < chunks; k++) {
      const uint64_t *of_chunk = bytes + 2 * (size_t)size * k;
      const struct ss_messages ahead = {.count = size,
                                        .shift = ss_step_shift(&step),
                                        .bytes = uniform ? NULL : of_chunk + size - step.by,
                                        .each = bytes[0]};
      const bool as_first = uniform && (k > 0 || step.by > 1);
      for (uint32_t i = 0; !as_first && i < size; i++) ss_play_buffer(play, &ahead, i);
      if (!ss_play_shift(play, &ahead, k == 0, false, error)) return false;
    }
  return true;
}

static uint32_t rank_of(const struct ss_dense_sum *sum, uint32_t position) {
  return sum->rank ? sum->rank[position] : position;
}

/* A step of chunk k. part[p] is what position p sends next: its running sum. */
static bool pass_on(struct ss_play *play, const struct ss_dense_sum *sum, const struct ss_step *step, uint32_t k,
                    struct ss_chunk *part, struct ss_error *error) {
  const uint32_t size = play->ranks;
  bool ok;
  for (uint32_t p = 0; p < size; p++) {
    play->given[p] = part[p];
    ss_play_put(play, p, rank_of(sum, p), rank_of(sum, ss_step_move(step, p).to), sum->wire, &play->given[p]);
  }
  ok = play_sums(play, sum, size, k == 0, error);
  for (uint32_t p = 0; ok && p < size; p++) {
    const uint32_t to = ss_step_move(step, p).to;
    struct ss_chunk due = ss_dense_units(sum, k * size + (p + size - step->by) % size, 1);
    part[to] = due;
    if (play->payloads && ss_play_resident(play, play->to[p]))
      ok = sum->give(sum->context, play->to[p], play->arena, &part[to], error) &&
           ss_dense_take(play, sum, p, &due, &part[to], error);
  }
  return ok;
}

bool ss_reduce_scatter_ring(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *part,
                            struct ss_error *error) {
  const uint32_t size = play->ranks, chunks = chunks_of(sum), units = size * chunks;
  const bool notes = ss_play_notes(play);
  for (uint32_t u = 0; u < units; u++)
    part[u] = ss_dense_units(sum, u / size * size + (u % size + size - 1) % size, 1);
  if (!play->payloads && !notes && !sum->rank) {
    for (uint32_t u = 0; u < units; u++) part[u] = ss_dense_units(sum, u, 1);
    return ring_of_sizes(play, sum, error);
  }
  /* Two arenas take turns, as a sum lives until it has been sent. */
  struct ss_arena turn[2] = {{0}, {0}}, *keep = play->arena;
  bool ok = true;
  for (uint32_t u = 0; ok && play->payloads && u < units; u++)
    if (ss_play_resident(play, rank_of(sum, u % size)))
      ok = sum->give(sum->context, rank_of(sum, u % size), keep, &part[u], error);
  struct ss_step step = ss_steps_of(SS_RING, size);
  while (ok && ss_step_next(&step)) {
    ss_arena_reset(&turn[step.by % 2]);
    play->arena = step.by + 1 == size ? keep : &turn[step.by % 2];
    for (uint32_t k = 0; ok && k < chunks; k++) ok = pass_on(play, sum, &step, k, part + (size_t)k * size, error);
  }
  play->arena = keep;
  ss_arena_free(&turn[0]);
  ss_arena_free(&turn[1]);
  return ok;
}

bool ss_allreduce_ring(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_gather *gather,
                       struct ss_error *error) {
  const uint32_t size = play->ranks, chunks = chunks_of(sum);
  struct ss_chunk *part = ss_arena_alloc(play->arena, (uint64_t)size * chunks, sizeof *part);
  memset(gather, 0, chunks * sizeof *gather);
  if (!part) return ss_fail_memory(error, "cutting a tensor into parts");
  if (!ss_reduce_scatter_ring(play, sum, part, error)) return false;
  for (uint32_t k = 0; k < chunks; k++) {
    const struct ss_chunk rows = ss_dense_units(sum, k * size, size);
    const bool all = sum->range;
    if (!ss_gather_open(&gather[k], size, sum->wire, all ? sum->low : rows.low, all ? sum->high : rows.high, error))
      return false;
    gather[k].rank = sum->rank;
    for (uint32_t r = 0; r < size; r++) {
      struct ss_chunk *mine = &part[(size_t)k * size + r];
      mine->origin = rank_of(sum, r);
      ss_gather_set(&gather[k], r, mine);
    }
    if (!ss_gather_play(play, &gather[k], ss_allgather_ring, error)) return false;
  }
  return true;
}

/* --- two trees ----------------------------------------------------------------------------------------------- */

struct trees {
  const struct ss_dense_sum *sum;
  const struct ss_tree_place *place;
  struct ss_tree_pipeline pipeline;
  struct ss_chunk *held;
  uint32_t *unit; /* [ranks] that each message of a round brings */
};

/* Fills in the messages of one tree, up or down, in this step; returns how many there are. */
static uint32_t put_edges(struct ss_play *play, const struct trees *x, uint32_t tree, bool down) {
  const uint32_t P = play->ranks;
  uint32_t n = 0, chunk;
  for (uint32_t p = 0; p < P; p++) {
    const struct ss_tree_place *place = &x->place[tree * P + p];
    if (!ss_tree_sends(&x->pipeline, place, down, &chunk)) continue;
    const uint32_t from = down ? place->up : p, to = down ? p : place->up, unit = tree * x->pipeline.chunks + chunk;
    play->given[n] = x->held ? x->held[(size_t)unit * P + from] : ss_dense_units(x->sum, unit, 1);
    play->given[n].origin = from;
    x->unit[n] = unit;
    ss_play_put(play, n, from, to, x->sum->wire, &play->given[n]);
    n++;
  }
  return n;
}

static bool take_edge(struct ss_play *play, const struct trees *x, uint32_t at, bool down, struct ss_error *error) {
  struct ss_chunk *held = &x->held[(size_t)x->unit[at] * play->ranks + play->to[at]];
  const struct ss_chunk due = ss_dense_units(x->sum, x->unit[at], 1);
  if (!ss_play_resident(play, play->to[at])) return true;
  if (!down) return ss_dense_take(play, x->sum, at, &due, held, error);
  const struct ss_chunk *got = ss_play_due(play, at, play->from[at], due.part);
  if (got && due.dense && got->count != due.count)
    ss_play_mismatch(play, "endpoint %u received other units than were due", play->to[at]);
  if (got) *held = *got;
  return true;
}

static bool play_edges(struct ss_play *play, const struct trees *x, uint32_t tree, bool down,
                       struct ss_error *error) {
  const bool first = tree == 0 && !down; /* all edges of a step are ready together */
  const uint32_t n = put_edges(play, x, tree, down);
  if (!(down ? ss_play_messages(play, n, first, x->sum->wire, error) : play_sums(play, x->sum, n, first, error)))
    return false;
  for (uint32_t i = 0; x->held && i < n; i++)
    if (!take_edge(play, x, i, down, error)) return false;
  return true;
}

bool ss_allreduce_trees(struct ss_play *play, const struct ss_dense_sum *sum, const struct ss_tree_place *place,
                        uint32_t height, struct ss_chunk *held, struct ss_error *error) {
  struct trees x = {sum, place, {height, chunks_of(sum), 0}, held, NULL};
  if (!ss_take(play->arena, x.unit, play->ranks)) return ss_fail_memory(error, "planting trees");
  for (; x.pipeline.step + 1 < 2 * height + x.pipeline.chunks; x.pipeline.step++)
    for (uint32_t i = 0; i < 4; i++)
      if (!play_edges(play, &x, i % 2, i / 2, error)) return false;
  return true;
}

/* --- halving and doubling ------------------------------------------------------------------------------------- */

/* Message `at` brings all that its sender has. */
static void put_whole(struct ss_play *play, const struct ss_dense_sum *sum, const struct ss_step *step,
                      const struct ss_chunk *whole) {
  for (uint32_t i = 0; i < step->moves; i++) {
    const struct ss_move m = ss_step_move(step, i);
    ss_play_put(play, i, m.from, m.to, sum->wire, &whole[m.from]);
  }
}

/* Two halves of a tensor as one chunk. */
static bool join_halves(struct ss_play *play, const struct ss_dense_sum *sum, const struct ss_chunk *low,
                        const struct ss_chunk *high, struct ss_chunk *out, struct ss_error *error) {
  SS_ASIDE; /* dense ones lie side by side */
  const uint64_t below = (low->high - low->low) * low->width, above = (high->high - high->low) * high->width;
  struct ss_chunk whole = *low;
  whole.high = high->high;
  whole.origin = high->origin;
  if (sum->lists) {
    if (!ss_play_add(play, whole.origin, NULL, &whole, high, error)) return false;
    *out = whole;
    return true;
  }
  whole.count += high->count;
  uint64_t *marks = low->marks ? ss_arena_alloc(play->arena, whole.count, sizeof *marks) : NULL;
  float *values = low->values ? ss_arena_alloc(play->arena, below + above, sizeof *values) : NULL;
  if ((low->marks && !marks) || (low->values && !values)) return ss_fail_memory(error, "joining halves of a tensor");
  if (marks) memcpy(marks, low->marks, low->count * sizeof *marks);
  if (marks) memcpy(marks + low->count, high->marks, high->count * sizeof *marks);
  if (values) memcpy(values, low->values, below * sizeof *values);
  if (values) memcpy(values + below, high->values, above * sizeof *values);
  whole.marks = marks;
  whole.values = values;
  *out = whole;
  return true;
}

/* Folded pairs: each sums one half, the even rank the lower one, which it then hands to the odd one. */
static bool fold_in(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                    struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_FOLD_SWAP, play->ranks);
  const uint32_t half = sum->units / 2;
  if (!ss_step_next(&step)) return true;
  struct ss_chunk *kept = ss_arena_alloc(play->arena, step.moves, sizeof *kept);
  if (!kept) return ss_fail_memory(error, "cutting a tensor into halves");
  for (uint32_t i = 0; i < step.moves; i++) {
    const struct ss_move m = ss_step_move(&step, i);
    const uint32_t own = m.from % 2 * half;
    play->given[i] = cut(sum, &whole[m.from], half - own, half);
    kept[m.from] = cut(sum, &whole[m.from], own, half);
    ss_play_put(play, i, m.from, m.to, sum->wire, &play->given[i]);
  }
  if (!ss_dense_round(play, sum, step.moves, error)) return false;
  for (uint32_t i = 0; i < step.moves; i++) {
    const struct ss_chunk due = kept[play->to[i]];
    if (!ss_dense_take(play, sum, i, &due, &kept[play->to[i]], error)) return false;
  }
  step = ss_steps_of(SS_FOLD_IN, play->ranks);
  if (!ss_step_next(&step)) return true;
  put_whole(play, sum, &step, kept);
  if (!ss_play_messages(play, step.moves, true, sum->wire, error)) return false;
  for (uint32_t i = 0; i < step.moves; i++) {
    const struct ss_chunk *got = ss_play_due(play, i, play->from[i], 0);
    const uint32_t to = play->to[i];
    if (!got) continue;
    if (got->dense && got->count != half)
      ss_play_mismatch(play, "endpoint %u received other units than were due", to);
    else if (!join_halves(play, sum, got, &kept[to], &whole[to], error)) return false;
  }
  return true;
}

static bool fold_out(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                     struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_FOLD_OUT, play->ranks);
  if (!ss_step_next(&step)) return true;
  put_whole(play, sum, &step, whole);
  if (!ss_play_messages(play, step.moves, true, sum->wire, error)) return false;
  for (uint32_t i = 0; i < step.moves; i++) {
    const struct ss_chunk *got = ss_play_due(play, i, play->from[i], 0);
    if (!got) continue;
    if (!sum->lists && got->count != sum->units)
      ss_play_mismatch(play, "endpoint %u received other units than were due", play->to[i]);
    whole[play->to[i]] = *got;
  }
  return true;
}

/* Rabenseifner's recursive halving among core positions, of which part p is that of position p: each keeps the half
 * that holds its own part. */
static bool halve(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *held,
                  struct ss_error *error) {
  struct ss_step step = ss_steps_of(SS_HALVE, play->ranks);
  step.fold.near = true;
  while (ss_step_next(&step)) {
    for (uint32_t p = 0; p < step.moves; p++) {
      const struct ss_move m = ss_step_move(&step, p);
      const uint32_t mine = p & ~(step.by - 1);
      play->given[p] = cut(sum, &held[m.from], mine ^ step.by, step.by);
      held[m.from] = cut(sum, &held[m.from], mine, step.by);
      ss_play_put(play, p, m.from, m.to, sum->wire, &play->given[p]);
    }
    if (!ss_dense_round(play, sum, step.moves, error)) return false;
    for (uint32_t p = 0; p < step.moves; p++) {
      struct ss_chunk *to = &held[play->to[p]], due = *to;
      if (!ss_dense_take(play, sum, p, &due, to, error)) return false;
    }
  }
  return true;
}

/* The all-gather that ends Rabenseifner's all-reduce: core positions join the parts that they hold. */
struct joining {
  struct ss_play *play;
  const struct ss_dense_sum *sum;
  struct ss_gather gather;
};

static bool join_lists(struct joining *x, uint32_t p, struct ss_chunk *out, struct ss_error *error) {
  SS_ASIDE; /* dense parts lie side by side */
  if (!ss_gather_sum(x->play, &x->gather, p, out, error)) return false;
  out->origin = x->gather.rank[p];
  out->part = 0;
  out->width = out->stride = x->sum->width;
  return true;
}

/* Joins the Q parts that core position p holds into one chunk. */
static bool join(struct joining *x, uint32_t p, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_dense_sum *sum = x->sum;
  const struct ss_chunk *block = x->gather.block;
  if (sum->lists) return join_lists(x, p, out, error);
  struct ss_chunk whole = ss_dense_units(sum, 0, sum->units);
  uint64_t *marks = ss_arena_alloc(x->play->arena, sum->units, sizeof *marks);
  float *values = NULL;
  bool real = block[p].values;
  if (real) values = ss_arena_alloc(x->play->arena, (sum->high - sum->low) * sum->width, sizeof *values);
  if (!marks || (real && !values)) return ss_fail_memory(error, "joining the parts of a tensor");
  for (uint32_t u = 0; u < sum->units; u++) {
    const struct ss_chunk *part = ss_receipts_held(&x->gather.receipts, p, u, &block[u]);
    marks[u] = part && part->marks ? part->marks[0] : 0;
    uint64_t low = (block[u].low - sum->low) * sum->width;
    uint64_t n = (block[u].high - block[u].low) * sum->width;
    for (uint64_t i = 0; real && i < n; i++) values[low + i] = part && part->values ? part->values[i] : 0;
  }
  whole.marks = block[p].marks ? marks : NULL;
  whole.kind = block[p].kind;
  whole.origin = x->gather.rank[p];
  whole.values = values;
  *out = whole;
  return true;
}

static bool double_up(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_fold fold,
                      struct ss_chunk *whole, struct ss_error *error) {
  SS_AUTO_FREE uint32_t *core = ss_alloc(fold.Q, sizeof *core);
  struct joining x = {.play = play, .sum = sum};
  if (!core) return ss_fail_memory(error, "numbering ranks");
  if (!ss_gather_open(&x.gather, fold.Q, sum->wire, sum->low, sum->high, error)) return false;
  x.gather.rank = core;
  for (uint32_t p = 0; p < fold.Q; p++) {
    core[p] = ss_fold_member(fold, p);
    ss_gather_set(&x.gather, p, &whole[core[p]]);
  }
  bool ok = ss_gather_play(play, &x.gather, ss_allgather_doubling, error);
  for (uint32_t p = 0; ok && play->payloads && p < fold.Q; p++)
    if (ss_play_resident(play, core[p])) ok = join(&x, p, &whole[core[p]], error);
  ss_gather_close(&x.gather);
  return ok;
}

bool ss_allreduce_rabenseifner(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                               struct ss_error *error) {
  struct ss_fold fold = ss_fold_of(play->ranks);
  fold.near = true;
  if (!fold_in(play, sum, whole, error) || !halve(play, sum, whole, error)) return false;
  if (!double_up(play, sum, fold, whole, error)) return false;
  for (uint32_t p = 0; p < play->ranks; p++)
    if (!play->payloads || !ss_play_resident(play, p)) whole[p] = ss_dense_units(sum, 0, sum->units);
  return fold_out(play, sum, whole, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
