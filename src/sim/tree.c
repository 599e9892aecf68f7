/* Binomial trees: broadcast, and reduction of a dense sum. */
#include "sim/collectives.h"

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
      uint32_t at = n++;
      if (!play->payloads || !ss_play_resident(play, ss_member(groups, 0, to))) continue;
      const struct ss_chunk *got = ss_play_got(play, at);
      if (!got) continue;
      if (got->origin != held[to].origin || got->part != held[to].part ||
          (held[to].dense && got->count != held[to].count))
        ss_play_mismatch(play, "position %u received part %u of %u where part %u of %u was due", to, got->part,
                         got->origin, held[to].part, held[to].origin);
      held[to] = *got;
    }
  }
  return true;
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
      if (!ss_dense_take(play, n, &whole[p], &whole[p - step], error)) return false;
  }
  return true;
}
