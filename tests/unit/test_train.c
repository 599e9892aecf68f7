/* Training timelines: some against hand calculation (random ones meet tests/cli/second_train.py), the engine's order
 * of events, and what schedules can cost over each other on random workloads (docs/training.md, "Bounds").
 *
 * All times of the cases by hand are dyadic, so sums of them are exact and equality is meant literally. */
#include "toy.h"

#include "train/events.h"
#include "train/iterate.h"

/* --- workloads by hand ------------------------------------------------------------------------------------- */

/* How long a task lasts: as the toy says of its module, or by its bytes. */
static double toy_seconds(const struct toy *toy, const struct ss_task *task) {
  const struct toy_module *m = &toy->module[*task->member];
  switch (task->kind) {
  case SS_TASK_LOOKUPS: return m->lookups;
  case SS_TASK_PRIOR: return m->prior;
  case SS_TASK_DELAYED: return m->delayed;
  case SS_TASK_GRADIENT: break;
  }
  if (task->members == 1 && task->parts == 1 && m->gradient > 0) return m->gradient;
  return toy->startup + toy->per_byte * (double)task->bytes;
}

struct toy_run {
  struct ss_module module[MODULES];
  struct ss_workload workload;
  struct ss_timetable timetable;
  double *seconds, split;
  struct ss_iterate_options options;
  struct ss_iterated result;
};

static void play_toy(const struct toy *toy, enum ss_schedule schedule, uint64_t iterations, struct toy_run *run) {
  struct ss_error error;
  const struct ss_policy policy = {.schedule = schedule,
                                   .bucket = schedule == SS_FIFO ? toy->bucket : 0,
                                   .partition = schedule == SS_PRIORITY ? toy->partition : 0,
                                   .exchanges = true};
  *run = (struct toy_run){.split = toy->split};
  toy_workload(toy, &run->workload, run->module);
  assert_true(ss_timetable_make(&run->workload, &policy, 2, &run->timetable, &error));
  run->seconds = calloc(run->timetable.tasks + 1, sizeof *run->seconds);
  for (uint32_t i = 0; i < run->timetable.tasks; i++) {
    run->seconds[i] = toy_seconds(toy, &run->timetable.task[i]);
    run->timetable.task[i].seconds = &run->seconds[i];
    run->timetable.task[i].period = 1;
  }
  run->timetable.split = &run->split;
  run->timetable.split_period = 1;
  run->options = (struct ss_iterate_options){
      .iterations = iterations, .warmup = iterations - 1, .compute = 1, .recorded = iterations, .seed = 1};
  if (iterations > 8) run->options.warmup = iterations / 2;
  assert_true(ss_iterate(&run->timetable, &run->options, &run->result, &error));
}

static void end_toy(struct toy_run *run) {
  ss_iterated_free(&run->result);
  ss_timetable_free(&run->timetable);
  free(run->seconds);
}

static const char *const schedule_names[] = {"fifo", "priority", "horizontal", "2d"};

/* The ends of the first iterations, as calculated by hand for each schedule. */
static void check_ends(const struct toy *toy, const double (*ends)[3]) {
  for (enum ss_schedule s = SS_FIFO; s <= SS_2D; s++) {
    struct toy_run run;
    play_toy(toy, s, 3, &run);
    for (uint32_t t = 0; t < 3; t++)
      if (fabs(run.result.end[t] - ends[s][t]) > 1e-12)
        fail_msg("%s: iteration %u ends at %.17g, by hand at %.17g", schedule_names[s], t, run.result.end[t],
                 ends[s][t]);
    end_toy(&run);
  }
}

static const struct toy translation = {
    .modules = 4,
    .split = 0.25,
    .module = {{.name = "e1",
                .embedding = true,
                .forward = 0.25,
                .backward = 0.25,
                .gradient = 1,
                .lookups = 0.5,
                .prior = 0.5,
                .delayed = 0.5},
               {.name = "d1", .forward = 1, .backward = 2, .gradient = 2, .after = {0}, .afters = 1},
               {.name = "e2",
                .embedding = true,
                .forward = 0.25,
                .backward = 0.25,
                .gradient = 1,
                .lookups = 0.5,
                .prior = 0.5,
                .delayed = 0.5},
               {.name = "d2", .forward = 1, .backward = 2, .gradient = 2, .after = {1, 2}, .afters = 2}}};

/* Encoder and decoder: e1, d1 after e1, e2, d2 after d1 and e2 (EmbRace, Fig. 5).
 * Backward: d2 [0,2], e2 [2,2.25], d1 [2.25,4.25], e1 [4.25,4.5].
 * fifo: gradients d2 [2,4], e2 [4,5], d1 [5,7], e1 [7,8]; forward e1 [8,8.25], lookups [8.25,8.75], d1 [8.75,9.75],
 *   e2 [9.75,10], lookups [10,10.5], d2 [10.5,11.5].
 * priority (places e1 0, d1 1, e2 2, d2 3): d2 [2,4], e2 [4,5] (alone), e1 [5,6], d1 [6,8]; forward e1 [6,6.25]; its
 *   lookups, made at 6.25, [8,8.5]; d1 [8.5,9.5], e2 [9.5,9.75], lookups [9.75,10.25], d2 [10.25,11.25].
 * horizontal (forward e1, e2, d1, d2): d2 [2,4], e2 [4,5], e1 [5,6], d1 [6,8]; forward e1 [6,6.25], e2 [6.25,6.5];
 *   lookups of e1 [8,8.5], of e2 [8.5,9]; d1 [8.5,9.5], d2 [9.5,10.5].
 * 2d: split [4.5,4.75]; d2 [2,4]; d1, made at 4.25, [4.25,6.25]; prior e1 [6.25,6.75], e2 [6.75,7.25]; forward e1
 *   [6.75,7]; at 7.25 the lookups of e1 go before delayed rows: [7.25,7.75]; e2 [7.25,7.5], its lookups [7.75,8.25];
 *   d1 [7.75,8.75]; d2 [8.75,9.75]; delayed e1 [8.25,8.75], e2 [8.75,9.25]: through before the next gradient. */
TEST(encoder_and_decoder) {
  static const double ends[][3] = {{11.5, 23, 34.5}, {11.25, 22.5, 33.75}, {10.5, 21, 31.5}, {9.75, 19.5, 29.25}};
  check_ends(&translation, ends);
}

/* Of the same, every operation and task of iteration 0 under 2d. */
static const struct span_by_hand {
  enum ss_span_kind kind;
  uint32_t module;
  enum ss_task_kind task;
  double start, end;
} spans_by_hand[] = {
    {SS_SPAN_BACKWARD, 3, 0, 0, 2},
    {SS_SPAN_BACKWARD, 2, 0, 2, 2.25},
    {SS_SPAN_BACKWARD, 1, 0, 2.25, 4.25},
    {SS_SPAN_BACKWARD, 0, 0, 4.25, 4.5},
    {SS_SPAN_SPLIT, 0, 0, 4.5, 4.75},
    {SS_SPAN_FORWARD, 0, 0, 6.75, 7},
    {SS_SPAN_FORWARD, 2, 0, 7.25, 7.5},
    {SS_SPAN_FORWARD, 1, 0, 7.75, 8.75},
    {SS_SPAN_FORWARD, 3, 0, 8.75, 9.75},
    {SS_SPAN_TASK, 3, SS_TASK_GRADIENT, 2, 4},
    {SS_SPAN_TASK, 1, SS_TASK_GRADIENT, 4.25, 6.25},
    {SS_SPAN_TASK, 0, SS_TASK_PRIOR, 6.25, 6.75},
    {SS_SPAN_TASK, 2, SS_TASK_PRIOR, 6.75, 7.25},
    {SS_SPAN_TASK, 0, SS_TASK_LOOKUPS, 7.25, 7.75},
    {SS_SPAN_TASK, 2, SS_TASK_LOOKUPS, 7.75, 8.25},
    {SS_SPAN_TASK, 0, SS_TASK_DELAYED, 8.25, 8.75},
    {SS_SPAN_TASK, 2, SS_TASK_DELAYED, 8.75, 9.25},
};

TEST(spans_of_2d) {
  struct toy_run run;
  play_toy(&translation, SS_2D, 3, &run);
  for (uint32_t i = 0; i < COUNT(spans_by_hand); i++) {
    const struct span_by_hand *wanted = &spans_by_hand[i];
    const struct ss_span *found = NULL;
    for (size_t k = 0; k < run.result.spans; k++) {
      const struct ss_span *s = &run.result.span[k];
      if (s->kind != wanted->kind || s->start >= 9.75) continue;
      const struct ss_task *task = s->kind == SS_SPAN_TASK ? &run.timetable.task[s->what] : NULL;
      if ((task ? *task->member : s->what) == wanted->module && (!task || task->kind == wanted->task)) found = s;
    }
    if (!found) {
      fail_msg("span %u is missing", i);
      return;
    }
    if (fabs(found->start - wanted->start) > 1e-12 || fabs(found->end - wanted->end) > 1e-12)
      fail_msg("span %u is [%.17g, %.17g], by hand [%.17g, %.17g]", i, found->start, found->end, wanted->start,
               wanted->end);
  }
  /* d2 at 8.75 began when d1 ended; d1 when e1's lookups came */
  struct ss_path_part *part;
  size_t parts;
  struct ss_error error;
  double all = 0;
  assert_true(ss_path_find(&run.timetable, &run.result, &part, &parts, &error));
  for (size_t i = 0; i < parts; i++) all += part[i].seconds;
  assert_true(fabs(all - run.result.end[2]) <= 1e-12);
  /* stall: 9.75 - (2.5 + 4.5); hidden of the 7 s on the channel [2,4], [4.25,9.25]: all but [4.5,4.75] of the split,
   * then [4.75,6.75], [7,7.25] and [7.5,7.75], where the stream waits. */
  assert_true(fabs(run.result.stall - 2.75) <= 1e-12 && fabs(run.result.split - 0.25) <= 1e-12);
  assert_true(fabs(run.result.busy - 7) <= 1e-12 && fabs(run.result.hidden - 4.25 / 7) <= 1e-12);
  free(part);
  end_toy(&run);
}

/* Delayed rows that find no room until the next split. Forward of all and backward of d take no time.
 * 2d: d's gradient is made at 0: [0,2]; e backward [0,0.25], split [0.25,0.5]; prior [2,2.5]; lookups [2.5,3]; at 3
 * the last forward ends iteration 0, and d's backward at once makes its next gradient, which goes before the delayed
 *   rows: [3,5]. Split(1) ends at 3.5: delayed(0) moves before prior(1): delayed(0) [5,6], prior(1) [6,6.5], lookups
 *   [6.5,7]. From then on 4 an iteration.
 * others: d [0,2], e (1.5) [2,3.5], lookups [3.5,4]. */
TEST(delayed_rows_come_before_the_next_prior) {
  const struct toy toy = {
      .modules = 2,
      .split = 0.25,
      .module = {{.embedding = true, .backward = 0.25, .gradient = 1.5, .lookups = 0.5, .prior = 0.5, .delayed = 1},
                 {.gradient = 2, .after = {0}, .afters = 1}}};
  static const double ends[][3] = {{4, 8, 12}, {4, 8, 12}, {4, 8, 12}, {3, 7, 11}};
  struct toy_run run;
  uint32_t seen = 0;
  check_ends(&toy, ends);
  /* the ends alone do not tell: either order keeps the channel for 1.5 */
  play_toy(&toy, SS_2D, 3, &run);
  for (size_t i = 0; i < run.result.spans; i++) {
    const struct ss_span *span = &run.result.span[i];
    if (span->kind != SS_SPAN_TASK) continue;
    const enum ss_task_kind kind = run.timetable.task[span->what].kind;
    if (kind == SS_TASK_DELAYED && span->iteration == 0 && ++seen) assert_true(close_to(span->start, 5, 1e-12));
    if (kind == SS_TASK_PRIOR && span->iteration == 1 && ++seen) assert_true(close_to(span->start, 6, 1e-12));
  }
  assert_int_equal(seen, 2);
  end_toy(&run);
}

/* Buckets of 8 bytes, parts of 4; a task lasts 1 + bytes/8. d0 and d1 have 4 bytes, d2 8. Backward d2 [0,1], d1
 * [1,2], d0 [2,3]. fifo: buckets {d2} and {d1, d0}: [1,3], [3,5]; forward 5..8. priority: four parts of 1.5: d2's
 * first [1,2.5]; at 2.5 d1 goes before d2's second: [2.5,4]; d0 [4,5.5]; d2's second [5.5,7]; forward d0 [5.5,6.5],
 * d1 [6.5,7.5], d2 [7.5,8.5]. horizontal, 2d: d2 [1,3]; at 3 d0 is made first: [3,4.5]; d1 [4.5,6]; forward d0
 * [4.5,5.5], d1 [6,7], d2 [7,8]. */
TEST(buckets_and_partitions) {
  const struct toy toy = {.modules = 3,
                          .bucket = 8,
                          .partition = 4,
                          .startup = 1,
                          .per_byte = 0.125,
                          .module = {{.forward = 1, .backward = 1, .bytes = 4},
                                     {.forward = 1, .backward = 1, .bytes = 4, .after = {0}, .afters = 1},
                                     {.forward = 1, .backward = 1, .bytes = 8, .after = {1}, .afters = 1}}};
  static const double ends[][3] = {{8, 16, 24}, {8.5, 17, 25.5}, {8, 16, 24}, {8, 16, 24}};
  check_ends(&toy, ends);
}

/* The order of the queue, were all tasks of the translation there at once. */
TEST(the_queue_is_in_the_tables_order) {
  static const char *const wanted[] = {
      [SS_PRIORITY] =
          "gradient of e1, gradient of d1, lookups of e1, gradient of e2, gradient of d2, lookups of e2, ",
      [SS_HORIZONTAL] =
          "gradient of e1, gradient of e2, lookups of e1, gradient of d1, lookups of e2, gradient of d2, ",
      [SS_2D] =
          "prior of e1, prior of e2, lookups of e1, gradient of d1, lookups of e2, gradient of d2, delayed of e1, "
          "delayed of e2, "};
  for (enum ss_schedule s = SS_PRIORITY; s <= SS_2D; s++) {
    struct toy_run run;
    char text[400] = "", name[100];
    bool seen[16] = {false};
    play_toy(&translation, s, 3, &run);
    for (uint32_t n = 0; n < run.timetable.tasks; n++) {
      uint32_t best = UINT32_MAX;
      for (uint32_t i = 0; i < run.timetable.tasks; i++)
        if (!seen[i] && (best == UINT32_MAX || run.timetable.task[i].key < run.timetable.task[best].key)) best = i;
      assert_true(best < COUNT(seen));
      if (best >= COUNT(seen)) return;
      seen[best] = true;
      ss_task_name(&run.timetable, &run.timetable.task[best], name, sizeof name);
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s, ", name);
    }
    assert_string_equal(text, wanted[s]);
    end_toy(&run);
  }
}

/* --- jitter ------------------------------------------------------------------------------------------------ */

/* Log-normal of mean 1: the median is exp(-sigma^2/2); the standard error of this mean is 0.0017. */
/* What iteration t looks up travels before it ends: lookups of the iteration after. */
TEST(bytes_are_of_the_iteration_that_sends_them) {
  static const double sent[] = {1, 2, 4, 8};
  const struct ss_iterate_options options = {.iterations = 3, .warmup = 1};
  struct ss_task task = {.kind = SS_TASK_GRADIENT, .sent = sent, .period = 4};
  assert_true(close_to(ss_task_sent(&task, &options), (2 + 4) / 2.0, 0));
  task.kind = SS_TASK_LOOKUPS;
  assert_true(close_to(ss_task_sent(&task, &options), (4 + 8) / 2.0, 0));
}

TEST(jitter_is_one_on_average) {
  enum { ITERATIONS = 1000, RANKS = 100 };
  const double sigma = 0.5;
  double sum = 0;
  uint32_t below = 0;
  for (uint32_t t = 0; t < ITERATIONS; t++)
    for (uint32_t r = 0; r < RANKS; r++) {
      const double factor = ss_jitter(5, sigma, t, r);
      sum += factor;
      below += factor < exp(-sigma * sigma / 2);
    }
  assert_true(fabs(sum / (ITERATIONS * RANKS) - 1) < 0.007);
  assert_true(fabs(below / (double)(ITERATIONS * RANKS) - 0.5) < 0.006); /* 4 of its standard errors, as above */
  assert_true(close_to(ss_jitter(5, 0, 3, 4), 1, 0));
}

/* --- what one schedule can cost over another --------------------------------------------------------------- */

static const char *const family_names[] = {"mixed", "embeddings first", "sparse-heavy"};

struct figures {
  double mean, longest;
  uint32_t tasks;
};

static struct figures play_figures(const struct toy *toy, enum ss_schedule schedule) {
  struct toy_run run;
  struct figures f = {0};
  play_toy(toy, schedule, 40, &run);
  f.mean = run.result.mean;
  f.tasks = run.timetable.tasks;
  for (uint32_t i = 0; i < run.timetable.tasks; i++) f.longest = fmax(f.longest, run.seconds[i]);
  end_toy(&run);
  return f;
}

/* needed: 2d took longer than horizontal by more than the split and start-ups, so the other terms matter. */
static uint32_t broken_horizontal, broken_2d, needed, slower;

static void compare_schedules(enum family family, uint32_t seed) {
  const struct toy toy = draw_toy(family, seed);
  const struct figures fifo = play_figures(&toy, SS_FIFO), horizontal = play_figures(&toy, SS_HORIZONTAL),
                       both = play_figures(&toy, SS_2D);
  double before = 0, slack = 0;
  uint32_t tables = 0;
  for (uint32_t i = 0; i < toy.modules; i++) {
    const struct toy_module *m = &toy.module[i];
    if (m->embedding) {
      tables++;
      slack += fmin(m->gradient, before);
    }
    before += m->backward;
  }
  const double extra = toy.startup * (horizontal.tasks - fifo.tasks);
  if (horizontal.mean > fifo.mean + extra + 1e-9) {
    broken_horizontal++;
    printf("# horizontal: %s, seed %u: %.6g > %.6g + %.6g\n", family_names[family], seed, horizontal.mean, fifo.mean,
           extra);
  }
  slower += horizontal.mean > fifo.mean + 1e-9;
  if (tables == 0) return;
  needed += both.mean > horizontal.mean + toy.split + toy.startup * tables;
  const double bound =
      toy.split + toy.startup * tables + slack + (1 + tables) * fmax(horizontal.longest, both.longest);
  if (both.mean > horizontal.mean + bound + 1e-9) {
    broken_2d++;
    printf("# 2d: %s, seed %u: %.6g > %.6g + %.6g\n", family_names[family], seed, both.mean, horizontal.mean, bound);
  }
}

TEST(schedules_cost_no_more_than_their_bounds) {
  for (enum family family = MIXED; family < FAMILIES; family++)
    for (uint32_t seed = 1; seed <= CASES(1000); seed++) compare_schedules(family, seed);
  printf("# beyond the bound: horizontal %u, 2d %u, of 3000; slower at all %u, beyond split and start-ups %u\n",
         broken_horizontal, broken_2d, slower, needed);
  assert_true(needed > 0 && slower > 0);
  assert_int_equal(broken_2d, 0);
  assert_int_equal(broken_horizontal, 0);
}
/* SPDX-License-Identifier: Apache-2.0 */
