/* Plays that are under way at once, and trainings that they belong to, against a second calculation
 * (fair_reference.c, together_reference.c). */
#include "fair_cases.h"
#include "together_reference.h"
#include "toy.h"

#include "train/iterate.h"

/* --- by hand --------------------------------------------------------------------------------------------------- */

/* Two ranks a node on one card. A message of 8n bytes between nodes takes 1 + n seconds alone. */
static struct ss_cluster shared_cluster(void) {
  struct ss_cluster c = {.name = "shared", .model = "fair", .gpus_per_node = 2, .nics = 1};
  c.inter = c.intra = (struct ss_link){1, 0.125};
  return c;
}

struct line {
  uint32_t from, to;
  uint64_t bytes;
  double at, end;
};

struct single {
  struct ss_network_round round;
  bool given;
};

static const struct ss_network_round *next_single(void *context) {
  struct single *s = context;
  if (s->given) return NULL;
  s->given = true;
  return &s->round;
}

/* Plays of one message each; they are started in order, and end when they are said to. */
static void check_lines(const struct line *line, uint32_t count) {
  const struct ss_cluster c = shared_cluster(), *on = &c;
  struct ss_plays *plays = ss_plays_open(&on, 1, (struct ss_plays_size){.ranks = 4});
  struct single single[8];
  double ended[8] = {0}, at;
  uint32_t id;
  assert_true(plays && count <= COUNT(single));
  for (uint32_t i = 0; i <= count; i++) {
    const double until = i < count ? line[i].at : 100;
    while (ss_plays_advance(plays, until, &id, &at) == SS_PLAYS_ENDED) ended[id] = at;
    for (uint32_t k = 0; k < i; k++) assert_true(line[k].end > until || ended[k] > 0);
    if (i == count) break;
    const struct ss_messages messages = {.count = 1, .from = &line[i].from, .to = &line[i].to, .each = line[i].bytes};
    single[i] = (struct single){{.messages = messages, .dependent = true}, false};
    assert_true(ss_plays_start(
        plays,
        &(struct ss_play_begun){.cluster = &c, .stretch = 1, .pace = 1, .rounds = {&single[i], next_single}, .id = i},
        line[i].at, 0));
  }
  for (uint32_t i = 0; i < count; i++)
    if (!close_to(ended[i], line[i].end, 1e-12)) fail_msg("play %u ends at %.17g, not %g", i, ended[i], line[i].end);
  ss_plays_close(plays);
}
#define LINES(...) check_lines((struct line[]){__VA_ARGS__}, COUNT(((struct line[]){__VA_ARGS__})))

TEST(plays_share_what_they_cross) {
  LINES({0, 2, 16, 0, 4}, {1, 3, 8, 1, 4});                  /* a card from 2 on, when 8 B each are left */
  LINES({0, 2, 16, 0, 4}, {0, 2, 8, 1, 4});                  /* a port: the window holds within a play */
  LINES({0, 2, 16, 0, 3}, {3, 1, 8, 1, 3});                  /* two directions */
  LINES({0, 2, 16, 0, 3}, {1, 3, 8, 3, 5});                  /* one begins when the other ends */
  LINES({0, 2, 8, 0, 3}, {1, 3, 8, 0, 3}, {1, 0, 0, 3, 4});  /* at once; an empty one inside a node */
  LINES({0, 2, 24, 0, 6}, {1, 3, 8, 0, 4}, {0, 3, 8, 0, 4}); /* thirds 1..4, then 16 B alone */
}

/* --- random plays --------------------------------------------------------------------------------------------- */

enum { PLAYS = 5, ROUNDS = 8, CLUSTERS = 2 };

/* What one play sends, and the recording that it is played from. */
struct act {
  const struct ss_cluster *cluster;
  uint32_t servers, rings, count;
  double stretch, pace, at, delay;
  struct ss_network_round round[ROUNDS];
  struct ss_recording recording;
  struct ss_replay replay;
  double end, wanted;
};

struct show {
  struct ss_cluster cluster[CLUSTERS];
  const struct ss_cluster *on[CLUSTERS];
  uint32_t clusters, ranks, plays;
  struct act act[PLAYS];
};

/* Another of the same nodes: what messages cost there is its own. */
static struct ss_cluster another_cluster(struct dice *d, const struct ss_cluster *c) {
  struct ss_cluster other = *c;
  const double factor = 0.5 + dice_unit(d);
  ss_cluster_scale(&other, &(struct ss_cluster_factors){dice_unit(d), factor, 1 / factor});
  other.window = dice_between(d, 1, 3);
  other.chain_window = dice_below(d, 2);
  other.jitter = random_jitter(d);
  return other;
}

static void draw_act(struct dice *d, struct show *s, struct act *a, uint32_t rounds, struct ss_arena *arena) {
  *a = (struct act){.cluster = s->on[dice_below(d, s->clusters)],
                    .servers = dice_one_in(d, 3) ? dice_between(d, 1, 4) : 0,
                    .rings = dice_one_in(d, 4) ? dice_between(d, 2, 3) : dice_below(d, 2),
                    .count = dice_one_in(d, 10) ? 0 : dice_between(d, 1, rounds),
                    .stretch = dice_one_in(d, 4) ? 1 + 3 * dice_unit(d) : 1,
                    .pace = dice_one_in(d, 4) ? 2 * dice_unit(d) : 1,
                    .at = dice_one_in(d, 3) ? dice_below(d, 8) : 20 * dice_unit(d),
                    .delay = dice_one_in(d, 3) ? dice_unit(d) : 0};
  ss_recording_open(&a->recording);
  for (uint32_t r = 0; r < a->count; r++) {
    const struct ss_network_round *x = &a->round[r];
    a->round[r] = random_round(d, s->ranks, s->ranks + a->servers, r, arena);
    struct ss_round round = {.messages = x->messages,
                             .dependent = x->dependent,
                             .exchange = x->exchange,
                             .settled = x->settled,
                             .settled_count = x->settled_count,
                             .after = x->after,
                             .after_count = x->after_count};
    assert_true(a->recording.player.play(&a->recording.player, &round, NULL));
  }
  a->replay = (struct ss_replay){.recording = &a->recording};
}

/* On so many ranks, plays of at most so many rounds. */
static void draw_show(struct dice *d, struct show *s, uint32_t ranks, uint32_t rounds, struct ss_arena *arena) {
  s->cluster[0] = random_fair(d);
  s->cluster[1] = another_cluster(d, &s->cluster[0]);
  for (uint32_t i = 0; i < CLUSTERS; i++) s->on[i] = &s->cluster[i];
  s->clusters = dice_between(d, 1, CLUSTERS);
  s->ranks = ranks;
  s->plays = dice_between(d, 2, PLAYS);
  double at = 0;
  for (uint32_t i = 0; i < s->plays; i++) {
    draw_act(d, s, &s->act[i], rounds, arena);
    at = s->act[i].at = dice_one_in(d, 5) ? at : at + s->act[i].at; /* some at the same instant */
  }
}

static void end_show(struct show *s) {
  for (uint32_t i = 0; i < s->plays; i++) ss_recording_free(&s->act[i].recording);
}

/* Time until then; who ends. */
static void let_pass(struct ss_plays *plays, struct show *s, double until) {
  enum ss_plays_state state;
  uint32_t id;
  double ended;
  while ((state = ss_plays_advance(plays, until, &id, &ended)) == SS_PLAYS_ENDED) {
    assert_true(id < s->plays && ended <= until && isnan(s->act[id].end));
    s->act[id].end = ended;
  }
  assert_int_equal(state, SS_PLAYS_GO_ON);
}

static void play_show(struct show *s) {
  struct ss_plays_size size = {.ranks = s->ranks};
  for (uint32_t i = 0; i < s->plays; i++)
    if (s->act[i].servers > size.servers) size.servers = s->act[i].servers;
  struct ss_plays *plays = ss_plays_open(s->on, s->clusters, size);
  assert_non_null(plays);
  for (uint32_t i = 0; i < s->plays; i++) {
    struct act *a = &s->act[i];
    const struct ss_play_begun begun = {.cluster = a->cluster,
                                        .servers = a->servers,
                                        .rings = a->rings,
                                        .stretch = a->stretch,
                                        .pace = a->pace,
                                        .rounds = ss_replay_rounds(&a->replay),
                                        .id = i};
    a->end = NAN;
    let_pass(plays, s, a->at);
    assert_true(ss_plays_start(plays, &begun, a->at, a->delay));
  }
  let_pass(plays, s, HUGE_VAL);
  ss_plays_close(plays);
}

static void pass_reference(double until) {
  for (double next; (next = reference_next()) < until;) reference_go(next);
  if (until < HUGE_VAL) reference_go(until);
}

static void play_reference(struct show *s) {
  reference_open(s->on, s->clusters, s->ranks, true);
  for (uint32_t i = 0; i < s->plays; i++) {
    const struct act *a = &s->act[i];
    pass_reference(a->at);
    reference_start(
        &(struct reference_begun){a->cluster, a->servers, a->rings, a->stretch, a->pace, a->round, a->count},
        a->at + a->delay);
    reference_go(a->at);
  }
  pass_reference(HUGE_VAL);
  for (uint32_t i = 0; i < s->plays; i++) s->act[i].wanted = reference_end(i);
}

static void compare_show(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct show s;
  draw_show(&d, &s, dice_between(&d, 1, dice_one_in(&d, 4) ? 24 : 9), ROUNDS, arena);
  play_show(&s);
  play_reference(&s);
  for (uint32_t i = 0; i < s.plays; i++)
    if (!close_to(s.act[i].end, s.act[i].wanted, 1e-9))
      fail_msg("seed %llu: play %u of %u, from %.17g, ends at %.17g, not %.17g", (unsigned long long)seed, i, s.plays,
               s.act[i].at, s.act[i].end, s.act[i].wanted);
  end_show(&s);
}

static void for_each_seed(void (*compare_case)(uint64_t seed, struct ss_arena *arena)) {
  AUTO(ss_arena_free) struct ss_arena arena = {0};
  for (uint64_t seed = 1; seed <= CASES(3000); seed++) {
    compare_case(seed, &arena);
    ss_arena_reset(&arena);
  }
}

TEST(plays_at_once_agree_with_a_second_calculation) {
  for_each_seed(compare_show);
}

/* What makes a message faster than its class while its port is no link: of plays at once ports are. */
static bool beyond_its_port(const struct act *a) {
  const struct ss_jitter *j = &a->cluster->jitter;
  const uint32_t last = j->bandwidth.count - 1;
  return a->rings <= 1 && ss_cluster_window(a->cluster) == 1 && j->draw > 0 && j->bandwidth.count > 0 &&
         j->bandwidth.point[last].factor > 1;
}

static void compare_engine(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct show s;
  struct ss_network_result result;
  draw_show(&d, &s, dice_between(&d, 1, dice_one_in(&d, 4) ? 24 : 9), ROUNDS, arena);
  struct act *a = &s.act[0];
  a->cluster = &s.cluster[0];
  a->at = a->delay = 0;
  a->stretch = a->pace = 1;
  struct show alone = s;
  alone.plays = alone.clusters = 1;
  alone.act[0].replay.recording = &alone.act[0].recording;
  play_show(&alone);
  struct ss_cluster wide = *a->cluster;
  ss_cluster_widen(&wide, a->rings);
  struct ss_network *network = ss_network_fair.open(&wide, s.ranks, a->servers);
  for (uint32_t r = 0; r < a->count; r++) assert_true(ss_network_fair.round(network, &a->round[r]));
  ss_network_fair.finish(network, NULL, &result);
  if (!beyond_its_port(a) && !close_to(alone.act[0].end, result.time, 1e-12))
    fail_msg("seed %llu: a play of %u+%u ends at %.17g, of the engine at %.17g", (unsigned long long)seed, s.ranks,
             a->servers, alone.act[0].end, result.time);
  ss_network_fair.close(network);
  end_show(&s);
}

TEST(a_play_alone_is_the_engines) {
  for_each_seed(compare_engine);
}

/* --- random trainings ------------------------------------------------------------------------------------------ */

enum { PERIOD = 3 };

/* A workload whose tasks play what the show has. */
struct course {
  struct show show;
  double alone[PLAYS]; /* s that each act takes */
  struct ss_workload workload;
  struct ss_module module[MODULES];
  struct ss_concurrency concurrency;
  struct ss_timetable timetable;
  double *seconds, split[2], step[2 * MODULES];
  struct ss_iterate_options options;
  struct ss_task_network network;
};

static const struct act *act_of(const struct course *c, uint32_t task, uint64_t iteration) {
  const uint32_t period = c->timetable.task[task].period, plays = c->show.plays;
  return &c->show.act[period > 0 && plays > 0 ? (task * 7 + iteration % period * 3) % plays : 0];
}

static bool play_task(void *context, uint32_t task, uint64_t iteration, struct ss_task_play *out,
                      struct ss_error *error) {
  const struct act *a = act_of(context, task, iteration);
  (void)error;
  *out = (struct ss_task_play){.recording = &a->recording,
                               .cluster = *a->cluster,
                               .servers = a->servers,
                               .rings = a->rings,
                               .start = a->delay,
                               .stretch = a->stretch,
                               .pace = a->pace};
  return true;
}

static void task_over(void *context, uint32_t task) {
  (void)context;
  (void)task;
}

static struct reference_call call_task(void *context, uint32_t task, uint64_t iteration) {
  const struct act *a = act_of(context, task, iteration);
  return (struct reference_call){{a->cluster, a->servers, a->rings, a->stretch, a->pace, a->round, a->count},
                                 a->delay};
}

static struct ss_concurrency draw_concurrency(struct dice *d) {
  struct ss_concurrency c = {.channels = dice_between(d, 1, 4)};
  for (uint32_t i = 0; i < SS_CARGOES; i++) c.channel[i] = (uint8_t)dice_below(d, c.channels);
  if (dice_one_in(d, 2)) c.interference = dice_unit(d);
  if (dice_one_in(d, 2)) c.software.call = dice_unit(d);
  if (dice_one_in(d, 2)) c.software.copy = 1e6 * (0.1 + dice_unit(d));
  if (dice_one_in(d, 3)) c.software.cycle = 0.1 + 3 * dice_unit(d);
  c.shared_kernels = dice_one_in(d, 3);
  return c;
}

/* Seconds of every task: what its acts take alone, as the second calculation has it. */
static void draw_tasks(struct dice *d, struct course *c) {
  struct ss_timetable *t = &c->timetable;
  for (uint32_t i = 0; i < c->show.plays; i++) {
    const struct act *a = &c->show.act[i];
    reference_open(c->show.on, c->show.clusters, c->show.ranks, true);
    reference_start(
        &(struct reference_begun){a->cluster, a->servers, a->rings, a->stretch, a->pace, a->round, a->count},
        a->delay);
    reference_go(0);
    pass_reference(HUGE_VAL);
    c->alone[i] = reference_end(0);
  }
  const uint32_t most = dice_between(d, 1, PERIOD);
  c->seconds = calloc((size_t)t->tasks * PERIOD + 1, sizeof *c->seconds);
  for (uint32_t i = 0; i < t->tasks; i++) {
    struct ss_task *task = &t->task[i];
    task->period = dice_between(d, 1, most);
    task->seconds = c->seconds + i * PERIOD;
    for (uint32_t k = 0; k < task->period; k++) c->seconds[i * PERIOD + k] = c->alone[act_of(c, i, k) - c->show.act];
  }
}

static void draw_course(struct dice *d, struct course *c, struct ss_arena *arena) {
  const enum ss_schedule schedule = (enum ss_schedule)dice_below(d, 4);
  const struct toy toy = draw_toy((enum family)dice_below(d, FAMILIES), (uint32_t)d->seed);
  struct ss_error error;
  draw_show(d, &c->show, dice_between(d, 1, 5), 3, arena);
  toy_workload(&toy, &c->workload, c->module);
  for (uint32_t i = 0; i < toy.modules; i++)
    c->module[i].after = memcpy(ss_arena_alloc(arena, MODULES, sizeof *toy.module[i].after), toy.module[i].after,
                                sizeof toy.module[i].after);
  for (uint32_t i = 0; i < toy.modules; i++) c->module[i].optimizer = dice_one_in(d, 2) ? dice_unit(d) : 0;
  c->concurrency = draw_concurrency(d);
  const struct ss_policy policy = {.schedule = schedule,
                                   .bucket = schedule == SS_FIFO ? toy.bucket : 0,
                                   .partition = schedule == SS_PRIORITY && dice_one_in(d, 2) ? 1000000 : 0,
                                   .exchanges = dice_one_in(d, 2),
                                   .concurrency = c->concurrency};
  const uint32_t ranks = c->concurrency.shared_kernels ? c->show.ranks : dice_between(d, 2, 4);
  assert_true(ss_timetable_make(&c->workload, &policy, ranks, &c->timetable, &error));
  draw_tasks(d, c);
  for (uint32_t i = 0; i < 2; i++) c->split[i] = dice_unit(d);
  for (uint32_t i = 0; i < 2 * toy.modules; i++) c->step[i] = dice_unit(d);
  c->timetable.split = c->split;
  c->timetable.split_period = dice_between(d, 1, 2);
  c->timetable.step = dice_one_in(d, 2) ? c->step : NULL;
  c->timetable.step_period = dice_between(d, 1, 2);
  c->network = (struct ss_task_network){.clusters = c->show.on,
                                        .count = c->show.clusters,
                                        .size = {.ranks = c->show.ranks, .servers = 4},
                                        .context = c,
                                        .play = play_task,
                                        .ended = task_over};
  c->options = (struct ss_iterate_options){.iterations = dice_one_in(d, 3) ? 24 : 7, /* 24: some are left out */
                                           .warmup = dice_between(d, 1, 3),
                                           .compute = 0.5 + dice_unit(d),
                                           .accumulation = dice_below(d, 4),
                                           .sigma = dice_one_in(d, 2) ? 0.3 : 0,
                                           .seed = d->seed,
                                           .network = &c->network};
}

static void end_course(struct course *c) {
  ss_timetable_free(&c->timetable);
  free(c->seconds);
  end_show(&c->show);
}

static void compare_figure(const struct course *c, uint64_t seed, const char *name, double got, double wanted) {
  if ((isnan(got) && isnan(wanted)) || fabs(got - wanted) <= 1e-9 * fmax(fabs(wanted), 1)) return;
  fail_msg("seed %llu, %s, %u channels: %s is %.17g, not %.17g", (unsigned long long)seed,
           ss_schedule_name(c->timetable.policy.schedule), c->concurrency.channels, name, got, wanted);
}

/* With one channel a network is asked nothing: the same bits as without. */
static void compare_alone(const struct course *c, uint64_t seed, const struct ss_iterated *got) {
  struct ss_iterate_options options = c->options;
  struct ss_iterated other;
  struct ss_error error;
  options.network = NULL;
  if (ss_concurrency_needs_network(&c->concurrency) || c->options.sigma <= 0)
    return; /* without jitter, iterations may be left out */
  assert_true(ss_iterate(&c->timetable, &options, &other, &error));
  const double figures[] = {got->busy, got->hidden, got->own, got->stall, got->mean},
               others[] = {other.busy, other.hidden, other.own, other.stall, other.mean};
  bool same = true;
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) same = same && figures[i] == others[i];
  for (uint64_t t = 0; t < c->options.iterations; t++) same = same && got->end[t] == other.end[t];
  if (!same) fail_msg("seed %llu: a network changes one channel", (unsigned long long)seed);
  ss_iterated_free(&other);
}

static void compare_course(uint64_t seed, struct ss_arena *arena) {
  struct dice d = {.seed = seed};
  struct course c = {.split = {0}};
  struct ss_iterated got;
  struct reference_trained wanted;
  struct ss_error error;
  draw_course(&d, &c, arena);
  const struct reference_training training = {.timetable = &c.timetable,
                                              .concurrency = &c.concurrency,
                                              .options = &c.options,
                                              .clusters = c.show.on,
                                              .count = c.show.clusters,
                                              .ranks = c.show.ranks,
                                              .call = call_task,
                                              .context = &c};
  if (!ss_iterate(&c.timetable, &c.options, &got, &error))
    fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
  reference_train(&training, &wanted);
  compare_alone(&c, seed, &got);
  for (uint32_t t = 0; t < c.options.iterations; t++) compare_figure(&c, seed, "an end", got.end[t], wanted.end[t]);
  compare_figure(&c, seed, "busy", got.busy, wanted.busy);
  compare_figure(&c, seed, "hidden", got.hidden, wanted.hidden);
  compare_figure(&c, seed, "own", got.own, wanted.own);
  compare_figure(&c, seed, "stall", got.stall, wanted.stall);
  compare_figure(&c, seed, "split", got.split, wanted.split);
  compare_figure(&c, seed, "step", got.step, wanted.step);
  ss_iterated_free(&got);
  end_course(&c);
}

TEST(trainings_agree_with_a_second_calculation) {
  for_each_seed(compare_course);
}

/* --- a training by hand ---------------------------------------------------------------------------------------- */

/* A table and a dense module behind it, under `fifo`, each with a channel; the play of the dense gradient is 24 B
 * from rank 0 to 2, and there a shared kernel of `kernel` s, if any; that of the rows 16 B from 1 to 3, on the card
 * above. Forward passes of 1 s, backward of 2 and `table`. */
static const struct by_hand {
  double table, interference, call, copy, cycle, period, busy, hidden, kernel;
} by_hand[] = {
    /* dense [0,2], its play from 2; the table at half speed [2,4], its play from 4: 8 and 16 B are left at 5, when it
     * flows too: dense is through at 7, rows at 8; then two forward passes */
    {1, 1, 0, 0, 0, 10, 6, 2.0 / 6, 0},
    /* the table [2,6]: its play begins when the other ends, 6..9 */
    {2, 1, 0, 0, 0, 11, 7, 4.0 / 7, 0},
    /* both are chosen at 4, and flow from 5: rows until 9, the 8 B that dense has left until 10; all again at 12 */
    {1, 1, 0, 0, 4, 12, 6, 0, 0},
    /* a call of 1 s, and 24 B filled in 1: dense's play from 4, that of rows, made at 3, as well; as above, and dense
     * is emptied until 11; a call slows nothing down */
    {1, 1, 1, 24, 0, 13, 9, 1.0 / 9, 0},
    /* the kernel asks at 6, while rank 2 has the table [2,8], and runs [8,13]; rows 8..11 */
    {6, 0, 0, 0, 0, 15, 11, 6.0 / 11, 5},
};

static struct ss_recording hand_recording[3]; /* dense, rows, dense with the kernel */
static const struct ss_cluster *hand_cluster;

static bool play_by_hand(void *context, uint32_t task, uint64_t iteration, struct ss_task_play *out,
                         struct ss_error *error) {
  const struct ss_timetable *t = context;
  (void)iteration;
  (void)error;
  *out = (struct ss_task_play){.recording = &hand_recording[!t->task[task].dense                   ? 1
                                                            : t->policy.concurrency.shared_kernels ? 2
                                                                                                   : 0],
                               .cluster = *hand_cluster,
                               .stretch = 1,
                               .pace = 1};
  return true;
}

static void record_line(struct ss_recording *out, struct line line, double kernel) {
  const struct ss_computation after = {line.to, kernel};
  struct ss_round round = {.messages = {.count = 1, .from = &line.from, .to = &line.to, .each = line.bytes},
                           .dependent = true,
                           .after = &after,
                           .after_count = kernel > 0};
  ss_recording_open(out);
  assert_true(out->player.play(&out->player, &round, NULL));
}

static void check_by_hand(const struct by_hand *b) {
  const struct toy toy = {.modules = 2,
                          .module = {{.embedding = true, .forward = 1, .backward = b->table},
                                     {.forward = 1, .backward = 2, .bytes = 24, .after = {0}, .afters = 1}}};
  const struct ss_policy policy = {
      .schedule = SS_FIFO,
      .concurrency = {.channels = 2,
                      .channel = {[SS_CARGO_GRADIENT] = 1},
                      .shared_kernels = b->kernel > 0,
                      .interference = b->interference,
                      .software = {.call = b->call, .copy = b->copy, .cycle = b->cycle}}};
  static const double dense = 4, rows = 3, nothing = 0;
  struct ss_module module[MODULES];
  struct ss_workload workload;
  struct ss_timetable t;
  struct ss_iterated got;
  struct ss_error error;
  toy_workload(&toy, &workload, module);
  assert_true(ss_timetable_make(&workload, &policy, 4, &t, &error));
  assert_int_equal(t.tasks, 2);
  for (uint32_t i = 0; i < t.tasks; i++) t.task[i].seconds = t.task[i].dense ? &dense : &rows, t.task[i].period = 1;
  t.split = &nothing;
  t.split_period = 1;
  const struct ss_task_network network = {.clusters = &hand_cluster,
                                          .count = 1,
                                          .size = {.ranks = 4},
                                          .context = &t,
                                          .play = play_by_hand,
                                          .ended = task_over};
  const struct ss_iterate_options options = {.iterations = 3, .warmup = 1, .compute = 1, .network = &network};
  assert_true(ss_iterate(&t, &options, &got, &error));
  for (uint32_t i = 0; i < 3; i++)
    if (!close_to(got.end[i], (i + 1) * b->period, 1e-12))
      fail_msg("case %u: iteration %u ends at %.17g, by hand at %g", (uint32_t)(b - by_hand), i, got.end[i],
               (i + 1) * b->period);
  assert_true(close_to(got.busy, b->busy, 1e-12) && close_to(got.hidden, b->hidden, 1e-12));
  assert_true(close_to(got.own, 4 + b->table, 1e-12)); /* as if nothing was sent */
  ss_iterated_free(&got);
  ss_timetable_free(&t);
}

TEST(trainings_by_hand) {
  const struct ss_cluster c = shared_cluster();
  hand_cluster = &c;
  record_line(&hand_recording[0], (struct line){0, 2, 24, 0, 0}, 0);
  record_line(&hand_recording[1], (struct line){1, 3, 16, 0, 0}, 0);
  for (uint32_t i = 0; i < COUNT(by_hand); i++) {
    record_line(&hand_recording[2], (struct line){0, 2, 24, 0, 0}, by_hand[i].kernel);
    check_by_hand(&by_hand[i]);
    ss_recording_free(&hand_recording[2]);
  }
  for (uint32_t i = 0; i < 2; i++) ss_recording_free(&hand_recording[i]);
}
/* SPDX-License-Identifier: Apache-2.0 */
