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
      ss_play_put(play, n++, ss_member(groups, 0, p), ss_member(groups, 0, (p + step) % size), wire, &held[p]);
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

/* A broadcast of a chunk in pieces, one for each position. */
struct pieces {
  struct ss_play *play;
  const struct ss_groups *groups;
  uint32_t root;
  const struct ss_wire *wire;
  struct ss_chunk whole; /* the root's */
  struct ss_chunk *piece;
  struct ss_receipts scattered;
  struct ss_gather gather;
  struct ss_chunk shared; /* what those join who hold all pieces as sent */
};

static bool give_piece(void *context, uint32_t from, uint32_t to, struct ss_chunk *out, struct ss_error *error) {
  const struct pieces *x = context;
  (void)from;
  (void)error;
  *out = x->piece[to];
  return true;
}

static bool open_pieces(struct pieces *x, struct ss_error *error) {
  const uint32_t size = x->groups->size;
  x->piece = ss_arena_alloc(x->play->arena, size, sizeof *x->piece);
  if (!x->piece) return ss_fail_memory(error, "scattering");
  return ss_gather_open(&x->gather, *x->groups, x->wire, error) &&
         (!x->play->payloads || ss_receipts_open(&x->scattered, size, size, error));
}

/* The root's entries in even shares, each to its position; then everyone has a block for the ring. */
static bool scatter_pieces(struct pieces *x, struct ss_error *error) {
  struct ss_play *play = x->play;
  struct ss_exchange exchange = {.context = x, .give = give_piece, .wire = x->wire, .receipts = &x->scattered};
  const uint32_t size = x->groups->size;
  for (uint32_t p = 0; p < size; p++) {
    uint64_t first = ss_share(x->whole.count, size, p);
    x->piece[p] = ss_chunk_entries(&x->whole, first, ss_share(x->whole.count, size, p + 1) - first);
    x->piece[p].part = p;
  }
  if (!ss_scatter(play, x->groups, x->root, &exchange, error)) return false;
  for (uint32_t p = 0; p < size; p++) {
    const struct ss_chunk *held = NULL;
    if (play->payloads && p != x->root && ss_play_resident(play, ss_member(x->groups, 0, p)))
      held = ss_receipts_held(&x->scattered, p, x->root, &x->piece[p]);
    ss_gather_set(&x->gather, 0, p, held ? held : &x->piece[p]);
  }
  return ss_gather_seal(play, &x->gather, error);
}

/* What position p makes of the pieces it holds. */
static bool join_pieces(struct pieces *x, uint32_t p, struct ss_chunk *held, struct ss_error *error) {
  const struct ss_chunk *whole = &x->whole;
  const struct ss_received received = {&x->gather.receipts, x->gather.block, whole->low, whole->high, &x->shared};
  struct ss_chunk sum;
  if (!ss_receipts_sum(x->play, &received, p, &sum, error)) return false;
  const bool as_sent = ss_play_resident(x->play, whole->origin) && ss_chunk_equal(&sum, whole);
  if (p == x->root && ss_chunk_marked(whole) && !as_sent)
    ss_play_mismatch(x->play, "position %u got back other pieces than it scattered", p);
  if (p == x->root) return true;
  sum.origin = whole->origin;
  sum.part = whole->part;
  *held = as_sent ? *whole : sum;
  return true;
}

bool ss_broadcast_scatter(struct ss_play *play, const struct ss_groups *groups, uint32_t root,
                          const struct ss_wire *wire, struct ss_chunk *held, struct ss_error *error) {
  struct pieces x = {.play = play, .groups = groups, .root = root, .wire = wire, .whole = held[root]};
  bool ok = open_pieces(&x, error) && scatter_pieces(&x, error) && ss_allgather_ring(play, &x.gather, error);
  for (uint32_t p = 0; ok && play->payloads && p < groups->size; p++)
    if (ss_play_resident(play, ss_member(groups, 0, p))) ok = join_pieces(&x, p, &held[p], error);
  ss_gather_close(&x.gather);
  ss_receipts_close(&x.scattered);
  return ok;
}

bool ss_reduce_binomial(struct ss_play *play, const struct ss_dense_sum *sum, struct ss_chunk *whole,
                        struct ss_error *error) {
  uint32_t size = sum->groups.size;
  for (uint32_t step = 1; step < size; step *= 2) {
    uint32_t n = 0;
    for (uint32_t p = step; p < size; p += 2 * step)
      ss_play_put(play, n++, ss_member(&sum->groups, 0, p), ss_member(&sum->groups, 0, p - step), sum->wire,
                  &whole[p]);
    if (!ss_dense_round(play, sum, n, error)) return false;
    n = 0;
    for (uint32_t p = step; p < size; p += 2 * step, n++)
      if (!ss_dense_take(play, sum, n, &whole[p], &whole[p - step], error)) return false;
  }
  return true;
}
