#include "sim/collectives/owners.h"

bool ss_owners_open(struct ss_play *play, struct ss_owners *o, struct ss_error *error) {
  o->play = play;
  o->push_imbalance = o->pull_imbalance = NAN;
  if (!ss_take(play->arena, o->aggregate, o->parts) || !ss_take(play->arena, o->slices, play->ranks) ||
      !ss_take_zero(play->arena, o->unsummed, (size_t)play->ranks + play->servers) ||
      !ss_take_zero(play->arena, o->got, (size_t)play->ranks + play->servers))
    return ss_fail_memory(error, "cutting a tensor into parts");
  return !play->payloads || (ss_receipts_open(&o->pushed, o->parts, play->ranks, error) &&
                             ss_receipts_open(&o->pulled, play->ranks, o->parts, error));
}

void ss_owners_close(struct ss_owners *o) {
  ss_receipts_close(&o->pushed);
  ss_receipts_close(&o->pulled);
}

uint32_t ss_owners_endpoint(const struct ss_owners *o, uint32_t part) {
  return o->servers ? o->play->ranks + part : part;
}

/* --- push ----------------------------------------------------------------------------------------------- */

static bool give_slice(void *context, uint32_t rank, uint32_t part, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_owners *o = context;
  return o->slice(o->context, rank, part, out, error);
}

bool ss_owners_push(struct ss_owners *o, struct ss_error *error) {
  struct ss_exchange x = {.context = o,
                          .give = give_slice,
                          .wire = o->push,
                          .counted = o->counted,
                          .receipts = &o->pushed,
                          .held = o->unsummed};
  if (o->servers) return ss_fan_in(o->play, &x, error);
  for (uint32_t r = 0; o->play->payloads && r < o->parts; r++) ss_receipts_add_run(o->play, &o->pushed, r, r, 1);
  return ss_pairwise(o->play, &x, error);
}

/* --- sum ------------------------------------------------------------------------------------------------ */

static bool sum_dense(struct ss_owners *o, uint32_t part, struct ss_error *error) {
  struct ss_chunk sum = o->aggregate[part];
  bool first = true;
  for (uint32_t r = 0; r < o->play->ranks; r++) {
    const struct ss_chunk *held = ss_receipts_held(&o->pushed, part, r, &o->slices[r]);
    if (!held || held->count != 1) {
      ss_play_mismatch(o->play, "the owner of part %u never received that of rank %u", part, r);
      continue;
    }
    if (first) sum = *held;
    else if (!ss_chunk_add_dense(&sum, held, o->play->arena, &sum, error)) return false;
    first = false;
  }
  o->aggregate[part] = sum;
  return true;
}

/* Dense parts may be lists inside. */
static bool adds_dense(const struct ss_owners *o, const struct ss_chunk *sum) {
  return sum->dense || o->push->format == SS_WIRE_DENSE;
}

static bool sum_sparse(struct ss_owners *o, uint32_t part, struct ss_error *error) {
  struct ss_chunk shared = {0}, *sum = &o->aggregate[part];
  const bool dense = adds_dense(o, sum);
  const uint64_t elements = (sum->high - sum->low) * sum->width;
  SS_KERNEL_TIMED(dense ? SS_KERNEL_DENSE_ADD : SS_KERNEL_MERGE_SUM);
  struct ss_kernel_paused kernels = {0};
  if (dense) kernels = ss_kernel_pause();
  const bool ok = ss_receipts_sum(o->play, &(struct ss_received){&o->pushed, o->slices, sum->low, sum->high, &shared},
                                  part, sum, error);
  if (dense) ss_kernel_resume(kernels);
  for (uint32_t r = 1; dense && r < o->play->ranks; r++) ss_kernel_ran(SS_KERNEL_DENSE_ADD, elements);
  return ok;
}

/* Charges the owner for the sum. Its own share counts by the entries that it has; a share that came counts by the
 * entries that its format carried, zeros of blocks too. */
static void note_sum(struct ss_owners *o, uint32_t part, const struct ss_chunk *sum) {
  const uint32_t owner = ss_owners_endpoint(o, part);
  if (!ss_play_notes(o->play) || o->play->ranks < 2) return;
  struct ss_kernel_work work = {.calls = 1, .bytes = ss_wire_bytes(o->pull, sum)};
  for (uint32_t r = 0; r < o->play->ranks; r++) {
    const struct ss_chunk *slice = &o->slices[r];
    work.elements += r == owner ? slice->count : ss_wire_entries(o->push, slice);
    work.bytes += ss_wire_bytes(o->push, slice);
  }
  if (adds_dense(o, sum)) { /* one add after the other, each of two operands */
    work.calls = o->play->ranks - 1;
    work.elements = work.calls * (sum->high - sum->low) * sum->width;
    work.bytes = 3 * work.calls * ss_wire_bytes(o->push, sum);
  }
  ss_play_note(o->play, owner, adds_dense(o, sum) ? SS_KERNEL_DENSE_ADD : SS_KERNEL_MERGE_SUM, work);
}

static bool sum_part(struct ss_owners *o, uint32_t part, uint64_t *pushed, struct ss_error *error) {
  struct ss_chunk *sum = &o->aggregate[part];
  for (uint32_t r = 0; r < o->play->ranks; r++) {
    if (!o->slice(o->context, r, part, &o->slices[r], error)) return false;
    pushed[2 * (size_t)r] += o->slices[r].count;
    if (o->slices[r].count > pushed[2 * (size_t)r + 1]) pushed[2 * (size_t)r + 1] = o->slices[r].count;
  }
  if (!(sum->dense ? sum_dense(o, part, error) : sum_sparse(o, part, error))) return false;
  ss_owners_set(o, part, sum);
  note_sum(o, part, sum);
  return true;
}

void ss_owners_hold(struct ss_owners *o, uint32_t part) {
  const struct ss_chunk *sum = &o->aggregate[part];
  const uint32_t owner = ss_owners_endpoint(o, part);
  uint64_t before = o->unsummed[owner];
  if (o->play->ranks < 2) return; /* there is nothing to add */
  o->unsummed[owner] = 0;
  if (o->applied || adds_dense(o, sum)) {
    ss_play_drop(o->play, owner, before);
    if (!o->applied && o->servers) ss_play_hold(o->play, owner, ss_wire_bytes(o->push, sum));
  } else {
    ss_play_renew(o->play, owner, &before, sum);
  }
}

void ss_owners_set(struct ss_owners *o, uint32_t part, const struct ss_chunk *sum) {
  o->aggregate[part] = *sum;
  o->aggregate[part].origin = ss_owners_endpoint(o, part);
  o->aggregate[part].part = part;
}

/* ZEN Def. 8: the largest share that one part takes of a rank's rows, or of the sum's, against an even one. */
void ss_owners_watch(struct ss_owners *o) {
  uint64_t most = 0, all = 0;
  for (uint32_t j = 0; j < o->parts; j++) {
    all += o->aggregate[j].count;
    if (o->aggregate[j].count > most) most = o->aggregate[j].count;
  }
  if (all > 0) o->pull_imbalance = (double)most * o->parts / (double)all;
}

static void watch_push(struct ss_owners *o, const uint64_t *pushed) {
  o->push_imbalance = NAN; /* also where nobody pushes anything */
  for (uint32_t r = 0; r < o->play->ranks; r++) {
    const uint64_t *own = &pushed[2 * (size_t)r];
    if (own[0] > 0) o->push_imbalance = fmax(o->push_imbalance, (double)own[1] * o->parts / (double)own[0]);
  }
}

bool ss_owners_sum(struct ss_owners *o, struct ss_error *error) {
  SS_AUTO_FREE uint64_t *pushed =
      ss_alloc_zero(2 * (size_t)o->play->ranks, sizeof *pushed); /* rows, most in a part */
  bool dense = false;
  if (!pushed) return ss_fail_memory(error, "watching the balance of parts");
  for (uint32_t j = 0; j < o->parts; j++) {
    o->aggregate[j] = o->range(o->context, j);
    o->aggregate[j].origin = ss_owners_endpoint(o, j);
    o->aggregate[j].part = j;
    dense = dense || o->aggregate[j].dense;
    if (!ss_play_resident(o->play, ss_owners_endpoint(o, j))) continue;
    if (o->play->payloads && !sum_part(o, j, pushed, error)) return false;
    ss_owners_hold(o, j);
  }
  if (o->play->payloads && !dense) {
    ss_owners_watch(o);
    watch_push(o, pushed);
  }
  return true;
}

/* --- pull ----------------------------------------------------------------------------------------------- */

bool ss_owners_got(struct ss_owners *o, uint32_t rank, uint32_t part, const struct ss_chunk *got,
                   struct ss_error *error) {
  if (!ss_play_resident(o->play, ss_owners_endpoint(o, part))) o->aggregate[part] = *got;
  return ss_receipts_add(o->play, &o->pulled, &(struct ss_arrival){rank, part, &o->aggregate[part], got}, error);
}

static bool give_sum(void *context, uint32_t part, uint32_t rank, struct ss_chunk *out, struct ss_error *error) {
  const struct ss_owners *o = context;
  (void)rank;
  (void)error;
  *out = o->aggregate[part];
  return true;
}

/* Ranks own the parts: an all-gather of what they own. */
static bool pull_gather(struct ss_owners *o, ss_allgather *how, struct ss_error *error) {
  SS_AUTO(ss_gather_close) struct ss_gather gather = {0};
  if (!ss_gather_open(&gather, o->parts, o->pull, 0, 0, error)) return false;
  for (uint32_t j = 0; j < o->parts; j++) ss_gather_set(&gather, j, &o->aggregate[j]);
  if (!(ss_wire_ragged(o->pull) ? ss_gather_ragged(o->play, &gather, o->counted, how, error)
                                : ss_gather_play(o->play, &gather, how, error)))
    return false;
  for (uint32_t r = 0; o->play->payloads && r < o->play->ranks; r++) {
    if (!ss_play_resident(o->play, r)) continue;
    ss_receipts_add_run(o->play, &o->pulled, r, r, 1);
    for (uint32_t j = 0; j < o->parts; j++) {
      const struct ss_chunk *held = ss_receipts_held(&gather.receipts, r, j, &gather.block[j]);
      if (j != r && held && !ss_owners_got(o, r, j, held, error)) return false;
    }
  }
  return true;
}

bool ss_owners_pull(struct ss_owners *o, struct ss_error *error) {
  struct ss_exchange x = {.context = o,
                          .give = give_sum,
                          .wire = o->pull,
                          .counted = o->counted,
                          .follows = o->follows,
                          .receipts = &o->pulled};
  if (ss_wire_ragged(o->pull)) x.held = o->got;
  return o->servers ? ss_fan_out(o->play, &x, error) : pull_gather(o, ss_allgather_direct, error);
}

bool ss_owners_pull_bruck(struct ss_owners *o, struct ss_error *error) {
  return pull_gather(o, ss_allgather_bruck, error);
}

bool ss_owners_whole(struct ss_owners *o, uint32_t rank, uint64_t low, uint64_t high, struct ss_chunk *out,
                     struct ss_error *error) {
  return ss_receipts_sum(o->play, &(struct ss_received){&o->pulled, o->aggregate, low, high, &o->shared}, rank, out,
                         error);
}
/* SPDX-License-Identifier: Apache-2.0 */
