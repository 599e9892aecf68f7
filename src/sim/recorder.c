#include "sim/recorder.h"

#include "base/list.h"

#include <stdlib.h>

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct ss_recorder *r = (struct ss_recorder *)player;
  const struct ss_messages *m = &round->messages;
  r->waits = r->waits || round->dependent;
  if (m->count == 0) return true;
  if (!ss_grow(r->message, r->capacity, r->count + m->count)) return ss_fail_memory(error, "writing messages down");
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

void ss_recorder_open(struct ss_recorder *r) {
  *r = (struct ss_recorder){.player = {.play = play}};
}

void ss_recorder_close(struct ss_recorder *r) {
  free(r->message);
  *r = (struct ss_recorder){0};
}
