/* The channel's queue and the agenda against plain lists that are searched from end to end. */
#include "support.h"

#include "train/events.h"

enum { TASKS = 40, CASES = 300, EVENTS = 200 };

/* Tasks in the order of their numbers; while the n-th runs, some are submitted and some get another key. */
struct scene {
  struct dice dice;
  struct ss_events events;
  uint32_t submitted, started;
  bool waits[TASKS];
  double key[TASKS];
  uint64_t order[TASKS]; /* of the waiting ones: by key, then by this */
  uint32_t wrong;
};

static double some_key(struct scene *s) {
  return dice_below(&s->dice, 6); /* few, so that many are equal */
}

static void submit_some(struct scene *s, uint32_t count) {
  for (; count > 0 && s->submitted < TASKS; count--) {
    const uint32_t task = s->submitted++;
    s->waits[task] = true;
    s->key[task] = some_key(s);
    s->order[task] = task;
    assert_true(ss_events_submit(
        &s->events, 0, (struct ss_event){.at = s->key[task], .who = task, .alone = 0.5 * dice_below(&s->dice, 3)},
        NULL));
  }
}

static void rekey_some(struct scene *s) {
  for (uint32_t i = dice_below(&s->dice, 4); i > 0; i--) {
    const uint32_t task = dice_below(&s->dice, TASKS);
    const double key = some_key(s);
    assert_int_equal(ss_events_rekey(&s->events, 0, task, key), s->waits[task]);
    if (s->waits[task]) s->key[task] = key;
  }
}

static uint32_t first_waiting(const struct scene *s) {
  uint32_t best = TASKS;
  for (uint32_t i = 0; i < TASKS; i++) {
    if (!s->waits[i]) continue;
    if (best == TASKS || s->key[i] < s->key[best] || (s->key[i] == s->key[best] && s->order[i] < s->order[best]))
      best = i;
  }
  return best;
}

static bool next(void *context, uint32_t stream, double now, double *seconds) {
  struct scene *s = context;
  (void)stream;
  if (now > 0 || s->submitted > 0) return false;
  *seconds = 1; /* one operation, which begins the scene */
  return true;
}

static bool ended(void *context, uint32_t stream, double now, struct ss_error *error) {
  (void)stream;
  (void)now;
  (void)error;
  submit_some(context, 10);
  return true;
}

static void task_started(void *context, uint32_t task, double now) {
  struct scene *s = context;
  (void)now;
  s->wrong += task != first_waiting(s);
  s->waits[task] = false;
  s->started++;
}

static bool task_ended(void *context, uint32_t task, double now, struct ss_error *error) {
  struct scene *s = context;
  (void)task;
  (void)now;
  (void)error;
  submit_some(s, dice_below(&s->dice, 4));
  rekey_some(s);
  return true;
}

TEST(test_queue) {
  for (uint64_t seed = 0; seed < CASES; seed++) {
    struct scene s = {.dice = {.seed = seed}};
    const struct ss_stage_client client = {&s, next, ended, task_started, task_ended, NULL};
    assert_true(ss_events_open(&s.events, 1, &(struct ss_concurrency){.channels = 1}, client, NULL));
    assert_true(ss_events_run(&s.events, NULL));
    if (s.wrong || s.started != s.submitted)
      fail_msg("seed %llu: %u of %u tasks out of turn, %u started", (unsigned long long)seed, s.wrong, s.submitted,
               s.started);
    ss_events_close(&s.events);
  }
}

TEST(test_agenda) {
  for (uint64_t seed = 0; seed < CASES; seed++) {
    struct dice dice = {.seed = seed};
    struct ss_agenda agenda = {0};
    double at[EVENTS];
    bool there[EVENTS] = {false};
    uint32_t added = 0, taken = 0;
    while (taken < EVENTS) {
      if (added < EVENTS && dice_one_in(&dice, 2)) {
        at[added] = dice_below(&dice, 8);
        there[added] = true;
        assert_true(ss_agenda_add(&agenda, (struct ss_event){.at = at[added], .what = 7, .who = added}));
        added++;
        continue;
      }
      struct ss_event event;
      const double until = added < EVENTS ? dice_below(&dice, 8) : HUGE_VAL;
      uint32_t first = EVENTS;
      for (uint32_t i = 0; i < added; i++)
        if (there[i] && at[i] <= until && (first == EVENTS || at[i] < at[first])) first = i;
      assert_int_equal(ss_agenda_take(&agenda, until, &event), first < EVENTS);
      if (first == EVENTS) continue;
      assert_int_equal(event.who, first);
      there[first] = false;
      taken++;
    }
    ss_agenda_free(&agenda);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
