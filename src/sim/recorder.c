#include "sim/recorder.h"

#include "base/list.h"

#include <stdlib.h>

static bool write_down(struct ss_recorder *r, const struct ss_round *round) {
  const struct ss_messages *m = &round->messages;
  r->waits = r->waits || round->dependent;
  if (m->count == 0) return true;
  if (!ss_grow(r->message, r->capacity, r->count + m->count)) return false;
  if (r->waits || r->rounds == 0) r->phases++;
  r->waits = false;
  r->rounds++;
  for (uint32_t i = 0; i < m->count; i++)
    r->message[r->count++] = (struct ss_recorded_message){.from = ss_message_from(m, i),
                                                          .to = ss_message_to(m, i),
                                                          .round = r->rounds,
                                                          .phase = r->phases,
                                                          .bytes = ss_message_bytes(m, i)};
  return true;
}

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_recorder *r = (struct ss_recorder *)player;
  if (!write_down(r, round)) return ss_fail_memory(error, "writing messages down");
  return !r->on || r->on->play(r->on, round, error);
}

static bool resident(const struct ss_player *player, uint32_t endpoint) {
  const struct ss_recorder *r = (const struct ss_recorder *)player;
  return !r->on || !r->on->resident || r->on->resident(r->on, endpoint);
}

static bool pool(struct ss_player *player, uint64_t *numbers, uint64_t count, enum ss_pool how,
                 struct ss_error *error) {
  const struct ss_recorder *r = (const struct ss_recorder *)player;
  return !r->on || !r->on->pool || r->on->pool(r->on, numbers, count, how, error);
}

void ss_recorder_open(struct ss_recorder *r, struct ss_player *on) {
  *r = (struct ss_recorder){.player = {.play = play, .resident = resident, .pool = pool}, .on = on};
}

void ss_recorder_close(struct ss_recorder *r) {
  free(r->message);
  *r = (struct ss_recorder){0};
}
