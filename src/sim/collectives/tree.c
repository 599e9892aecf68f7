/* From one and to one: broadcasts, and the binomial reduction of a dense sum. */
#include "sim/collectives/collectives.h"

/* The receiver of message `at` now holds what came; `held` described what was due. */
static void take_whole(struct ss_play *play, uint32_t at, struct ss_chunk *held) {
  if (!play->payloads || !ss_play_resident(play, play->to[at])) return;
  const struct ss_chunk *got = ss_play_got(play, at);
  if (!got) return;
  if (got->origin != held->origin || got->part != held->part || (held->dense && got->count != held->count))
    ss_play_mismatch(play, "endpoint %u received part %u of %u where part %u of %u was due", play->to[at], got->part,
                     got->origin, held->part, held->origin);
  *held = *got;
}

bool ss_broadcast_binomial(struct ss_play *play, const struct ss_groups *groups, uint32_t root,
                           const struct ss_wire *wire, struct ss_chunk *held, struct ss_error *error) {
  uint32_t size = groups->size, top = 1;
  while (top < size) top *= 2;
  for (uint32_t step = top / 2; step > 0; step /= 2) {
    uint32_t n = 0;
    for (uint32_t p = 0; p < size; p++) {
      uint32_t v = (p + size - root) % size;
      if (v % (2 * step) != 0 || v + step >= size) continue;
      play->from[n] = ss_member(groups, 0, p);
      play->to[n] = ss_member(groups, 0, (p + step) % size);
      play->bytes[n] = ss_wire_bytes(wire, &held[p]);
      play->payload[n++] = (struct ss_payload){.chunks = &held[p], .count = 1};
    }
    if (!ss_play_messages(play, n, true, wire, error)) return false;
    n = 0;
    for (uint32_t p = 0; p < size; p++) {
      uint32_t v = (p + size - root) % size, to = (p + step) % size;
      if (v % (2 * step) != 0 || v + step >= size) continue;
      take_whole(play, n++, &held[to]);
    }
  }
  return true;
}

struct pieces {
  const struct ss_chunk *piece;
};

static bool give_piece(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct pieces *pieces = context;
  (void)from;
  (void)error;
  *out = pieces->piece[to];
  return true;
}

/* The root's entries in even shares, each to its position; then everyone has a block for the ring. */
static bool scatter_pieces(struct ss_play *play, const struct ss_groups *groups, uint32_t root,
                           const struct ss_wire *wire, const struct ss_chunk *whole, struct ss_gather *gather,
                           struct ss_receipts *scattered, struct ss_error *error) {
  uint32_t size = groups->size;
  struct ss_chunk *piece = ss_arena_alloc(play->arena, size, sizeof *piece);
  struct pieces pieces = {.piece = piece};
  struct ss_exchange x = {.context = &pieces, .give = give_piece, .wire = wire, .receipts = scattered};
  if (!piece) return ss_fail_memory(error, "scattering");
  for (uint32_t p = 0; p < size; p++) {
    uint64_t first = ss_share(whole->count, size, p);
    piece[p] = ss_chunk_entries(whole, first, ss_share(whole->count, size, p + 1) - first);
    piece[p].part = p;
  }
  if (!ss_scatter(play, groups, root, &x, error)) return false;
  for (uint32_t p = 0; p < size; p++) {
    const struct ss_chunk *held = NULL;
    if (play->payloads && p != root && ss_play_resident(play, ss_member(groups, 0, p)))
      held = ss_receipts_held(scattered, p, root, &piece[p]);
    ss_gather_set(gather, 0, p, held ? held : &piece[p]);
  }
  return true;
}

/* What position p makes of the pieces it holds. */
static bool join_pieces(struct ss_play *play, const struct ss_gather *gather, uint32_t p,
                        const struct ss_chunk *whole, bool root, struct ss_chunk *shared, struct ss_chunk *held,
                        struct ss_error *error) {
  struct ss_chunk sum;
  if (!ss_receipts_sum(play, &gather->receipts, p, gather->block, whole->low, whole->high, shared, &sum, error))
    return false;
  bool as_sent = ss_play_resident(play, whole->origin) && ss_chunk_equal(&sum, whole);
  if (root && ss_chunk_marked(whole) && !as_sent)
    ss_play_mismatch(play, "position %u got back other pieces than it scattered", p);
  if (root) return true;
  sum.origin = whole->origin;
  sum.part = whole->part;
  *held = as_sent ? *whole : sum;
  return true;
}

bool ss_broadcast_scatter(struct ss_play *play, const struct ss_groups *groups, uint32_t root,
                          const struct ss_wire *wire, struct ss_chunk *held, struct ss_error *error) {
  struct ss_gather gather = {0};
  struct ss_receipts scattered = {0};
  struct ss_chunk shared = {0};
  const struct ss_chunk whole = held[root];
  bool ok = ss_gather_open(&gather, *groups, wire, error) &&
            (!play->payloads || ss_receipts_open(&scattered, groups->size, groups->size, error)) &&
            scatter_pieces(play, groups, root, wire, &whole, &gather, &scattered, error) &&
            ss_gather_seal(play, &gather, error) && ss_allgather_ring(play, &gather, error);
  for (uint32_t p = 0; ok && play->payloads && p < groups->size; p++)
    if (ss_play_resident(play, ss_member(groups, 0, p)))
      ok = join_pieces(play, &gather, p, &whole, p == root, &shared, &held[p], error);
  ss_gather_close(&gather);
  ss_receipts_close(&scattered);
  return ok;
}

bool ss_reduce_binomial(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                        struct ss_error *error) {
  uint32_t size = sum->groups.size;
  for (uint32_t step = 1; step < size; step *= 2) {
    uint32_t n = 0;
    for (uint32_t p = step; p < size; p += 2 * step, n++) {
      play->from[n] = ss_member(&sum->groups, 0, p);
      play->to[n] = ss_member(&sum->groups, 0, p - step);
      play->bytes[n] = ss_wire_bytes(sum->wire, &whole[p]);
      play->payload[n] = (struct ss_payload){.chunks = &whole[p], .count = 1};
    }
    if (!ss_dense_round(play, sum, n, error)) return false;
    n = 0;
    for (uint32_t p = step; p < size; p += 2 * step, n++)
      if (!ss_dense_take(play, sum, n, &whole[p], &whole[p - step], error)) return false;
  }
  return true;
}
