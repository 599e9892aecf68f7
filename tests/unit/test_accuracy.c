/* What clusters say of their accuracy: read, refused, and of no consequence for any time; and what is made of errors:
 * quantiles that closed forms have too, and made-up machines of known spread; and what costs nothing is played. */
#include "support.h"

#include "calibration/accuracy.h"
#include "calibration/model.h"
#include "machine/cluster.h"
#include "machine/device.h"
#include "machine/uncertainty.h"
#include "schemes/registry.h"
#include "study/ranges.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

#define HEAD "{\"latency\": 5e-6, \"bandwidth\": 1e10, \"gpus_per_node\": 4"

static bool read_cluster(const char *accuracy, struct ss_cluster *out, struct ss_error *error) {
  char text[1024];
  struct ss_doc *doc = NULL;
  snprintf(text, sizeof text, HEAD "%s%s}", accuracy[0] ? ", \"accuracy\": " : "", accuracy);
  const bool ok =
      ss_doc_parse("test", text, strlen(text), &doc, error) && ss_cluster_read(ss_doc_root(doc), out, error);
  ss_doc_free(doc);
  return ok;
}

TEST(test_what_is_said_is_read) {
  struct ss_cluster c = {.nics = 0}, silent = c;
  struct ss_error error;
  assert_true(
      read_cluster("{\"collectives\": [\"allreduce\", \"alltoall\"], \"kinds\": [\"inside\", \"exchange\"], "
                   "\"nodes\": [2, 8], \"bytes\": [16, \"128MiB\"], \"measured\": {\"half\": 1.06, \"most\": "
                   "1.31, \"times\": 126}, \"kind\": {\"half\": 1.4, \"most\": 3}, \"doubling\": {\"half\": 1, "
                   "\"most\": 1.4, \"groups\": 3}, \"calls\": {\"alltoall\": [16, \"1MiB\"]}, \"noise\": "
                   "{\"half\": 2, \"most\": 5}, \"doubtful\": [\"it is slow\", \"and odd\"], \"pooled\": true}",
                   &c, &error));
  const struct ss_accuracy *a = &c.accuracy;
  assert_true(a->known && a->pooled);
  assert_int_equal(a->collectives, 1 << SS_ALLREDUCE | 1 << SS_ALLTOALL);
  assert_true(!a->kind[SS_CHAIN] && a->kind[SS_EXCHANGE] && a->kind[SS_INSIDE]);
  assert_true(a->nodes_min == 2 && a->nodes_max == 8 && a->bytes.least == 16 && a->bytes.most == 128 << 20);
  assert_true(a->of[SS_AS_MEASURED].half == 1.06 && a->of[SS_AS_MEASURED].most == 1.31);
  assert_true(a->of[SS_NEW_KIND].half == 1.4 && a->of[SS_NEW_KIND].most == 3);
  assert_true(a->of[SS_NODES_DOUBLED].half == 1 && a->of[SS_NODES_DOUBLED].most == 1.4);
  assert_true(a->calls.of[SS_ALLTOALL].least == 16 && a->calls.of[SS_ALLTOALL].most == 1 << 20);
  assert_true(a->calls.of[SS_ALLREDUCE].most == 0 && a->noise.half == 2 && a->noise.most == 5);
  assert_string_equal(a->doubt, "it is slow");
  assert_string_equal(c.warning, "its fit is doubtful: it is slow");
  assert_true(a->of[SS_NEW_COLLECTIVE].most == 0 && a->of[SS_SIZE_DOUBLED].half == 0); /* not said */
  assert_true(read_cluster("", &silent, &error) && !silent.accuracy.known && silent.accuracy.nodes_max == 0);
  assert_true(ss_cluster_same(&c, &silent));
}

TEST(test_what_cannot_be_is_refused) {
  static const struct {
    const char *accuracy, *says;
  } bad[] = {{"{\"colectives\": []}", "collectives"},
             {"{\"collectives\": [\"gather\"]}", "allreduce"},
             {"{\"collectives\": \"allreduce\"}", "a list"},
             {"{\"kinds\": [\"rings\"]}", "chain"},
             {"{\"kinds\": [7]}", "kinds"},
             {"{\"nodes\": [8, 2]}", "the least and the most"},
             {"{\"nodes\": [2]}", "the least and the most"},
             {"{\"nodes\": [2, 4, 8]}", "the least and the most"},
             {"{\"nodes\": [0, 8]}", "nodes"},
             {"{\"nodes\": [2.5, 8]}", "nodes"},
             {"{\"calls\": {\"gather\": [1, 2]}}", "allgather"},
             {"{\"calls\": {\"alltoall\": [2, 1]}}", "the least and the most"},
             {"{\"doubtful\": \"it is\"}", "a list"},
             {"{\"noise\": {\"half\": 2}}", "most"},
             {"{\"bytes\": [1e300, 1e301]}", "the least and the most"},
             {"{\"bytes\": [4, 2]}", "the least and the most"},
             {"{\"bytes\": {}}", "the least and the most"},
             {"{\"measured\": {\"half\": 1.2}}", "most"},
             {"{\"measured\": {\"half\": 1.2, \"most\": 1.1}}", "factors"},
             {"{\"measured\": {\"half\": 0.2, \"most\": 1.1}}", "factors"},
             {"{\"measured\": {\"half\": 1.2, \"most\": 1e7}}", "factors"},
             {"{\"doubling\": 1.2}", "object"},
             {"{\"pooled\": 1}", "pooled"},
             {"[]", "object"}};
  for (size_t i = 0; i < COUNT(bad); i++) {
    struct ss_cluster c;
    struct ss_error error = {0};
    if (read_cluster(bad[i].accuracy, &c, &error)) fail_msg("%s is taken", bad[i].accuracy);
    if (!strstr(error.text, bad[i].says)) fail_msg("%s: %s", bad[i].accuracy, error.text);
    if (!strstr(error.text, "accuracy")) fail_msg("%s: no path in %s", bad[i].accuracy, error.text);
  }
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* --- questions ----------------------------------------------------------------------------------------------- */

static const struct ss_accuracy said = {
    .of = {[SS_AS_MEASURED] = {1.1, 1.3}, {1.2, 1.5}, {1.5, 3}, {1.05, 1.4}, {1.02, 1.25}},
    .bytes = {1024, 1 << 20},
    .nodes_min = 2,
    .nodes_max = 8,
    .collectives = 1 << SS_ALLREDUCE,
    .kind = {true, false, true},
    .known = true};

TEST(test_what_is_asked_decides) {
  static const struct {
    struct ss_accuracy_question asked;
    enum ss_accuracy_class class;
    double nodes, sizes; /* doublings */
  } cases[] = {{{SS_ALLREDUCE, SS_CHAIN, 4, 4096}, SS_AS_MEASURED, 0, 0},
               {{SS_ALLREDUCE, SS_CHAIN, 2, 1024}, SS_AS_MEASURED, 0, 0},
               {{SS_ALLREDUCE, SS_CHAIN, 32, 4096}, SS_AS_MEASURED, 2, 0},
               {{SS_ALLREDUCE, SS_CHAIN, 8, 1 << 23}, SS_AS_MEASURED, 0, 3},
               {{SS_ALLREDUCE, SS_CHAIN, 64, 256}, SS_AS_MEASURED, 3, 2},
               {{SS_ALLREDUCE, SS_INSIDE, 1, 4096}, SS_AS_MEASURED, 0, 0},
               {{SS_ALLREDUCE, SS_EXCHANGE, 4, 4096}, SS_NEW_KIND, 0, 0},
               {{SS_ALLGATHER, SS_CHAIN, 4, 4096}, SS_NEW_COLLECTIVE, 0, 0},
               {{SS_COLLECTIVES, SS_CHAIN, 4, 4096}, SS_NEW_COLLECTIVE, 0, 0},
               {{SS_ALLTOALL, SS_EXCHANGE, 16, 4096}, SS_NEW_KIND, 1, 0}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    double nodes, sizes;
    assert_int_equal(ss_accuracy_class_of(&said, &cases[i].asked, &nodes, &sizes), cases[i].class);
    assert_true(close_to(nodes, cases[i].nodes, 1e-12) && close_to(sizes, cases[i].sizes, 1e-12));
    const struct ss_spread got = ss_accuracy_spread(&said, &cases[i].asked);
    const struct ss_spread *of = &said.of[cases[i].class];
    assert_true(close_to(got.half, exp(hypot(log(of->half), hypot(nodes * log(1.05), sizes * log(1.02)))), 1e-12));
    assert_true(close_to(got.most, exp(hypot(log(of->most), hypot(nodes * log(1.4), sizes * log(1.25)))), 1e-12));
  }
}

/* All-reduces were measured up to 16 KiB, others up to 1 MiB. */
TEST(test_sizes_are_the_collectives_own) {
  struct ss_accuracy own = said;
  double sizes;
  own.calls.of[SS_ALLREDUCE] = (struct ss_size_span){1024, 16384};
  const struct ss_accuracy_question asked = {SS_ALLREDUCE, SS_CHAIN, 4, 1 << 20},
                                    other = {SS_ALLGATHER, SS_CHAIN, 4, 1 << 20};
  assert_int_equal(ss_accuracy_class_of(&own, &asked, NULL, &sizes), SS_AS_MEASURED);
  assert_true(close_to(sizes, 6, 1e-12));
  (void)ss_accuracy_class_of(&own, &other, NULL, &sizes);
  assert_true(sizes == 0);
  const struct ss_spread by = ss_accuracy_beyond(&own, SS_ALLREDUCE, 1 << 20);
  assert_true(close_to(by.half, pow(1.02, 6), 1e-12) && close_to(by.most, pow(1.25, 6), 1e-12));
  assert_true(close_to(ss_accuracy_beyond(&own, SS_COLLECTIVES, 1 << 22).most, 1.25 * 1.25, 1e-12));
  assert_true(ss_accuracy_beyond(&own, SS_ALLREDUCE, 4096).most == 1 &&
              ss_accuracy_beyond(&own, SS_ALLREDUCE, 0).most == 1);
  assert_false(ss_accuracy_same(&own, &said));
}

/* --- compromises --------------------------------------------------------------------------------------------- */

/* Errors that are even between two bounds. */
static struct ss_error_levels even(double low, double high) {
  struct ss_error_levels out;
  for (int i = 0; i < SS_ERROR_LEVELS; i++) out.at[i] = low + (high - low) * (i + 0.5) / SS_ERROR_LEVELS;
  return out;
}

static void check_spread(const struct ss_own_errors *own, const struct ss_pooled_errors *pooled, double half,
                         double most) {
  struct ss_accuracy out;
  ss_accuracy_compromise(own, pooled, &out);
  /* to half a level: groups whose errors are equal have steps */
  assert_true(fabs(log(out.of[SS_NEW_COLLECTIVE].half) - half) <= 0.5 / SS_ERROR_LEVELS);
  assert_true(fabs(log(out.of[SS_NEW_COLLECTIVE].most) - most) <= 0.5 / SS_ERROR_LEVELS);
}

/* Own errors are even in [0, 1], those of others in [1, 2]: of w others to n own, a share of w / (n + w) is above 1.
 */
TEST(test_compromises_weigh_groups) {
  struct ss_own_errors own = {.count = 1};
  struct ss_pooled_errors pooled = {.weight = {[SS_NEW_COLLECTIVE] = 0}};
  own.group[0] = (struct ss_error_group){SS_NEW_COLLECTIVE, 50, 0, even(0, 1)};
  own.group[1] = own.group[2] = own.group[0];
  own.group[0].times = 7; /* a group is a group, however many times it has */
  pooled.errors[SS_NEW_COLLECTIVE] = even(1, 2);
  check_spread(&own, &pooled, 0.5, 0.9);
  pooled.weight[SS_NEW_COLLECTIVE] = 1;
  check_spread(&own, &pooled, 1, 1.8);
  own.count = 3;
  check_spread(&own, &pooled, 0.5 * 4 / 3, 1.6);
  pooled.weight[SS_NEW_COLLECTIVE] = 3;
  check_spread(&own, &pooled, 1, 1.8);
  own.count = 0; /* a machine that left nothing out takes others' errors alone */
  check_spread(&own, &pooled, 1.5, 1.9);
  own.count = 1;
  own.group[0].class = SS_NEW_KIND;
  check_spread(&own, &pooled, 1.5, 1.9);
}

TEST(test_own_residuals_tell_what_was_measured) {
  struct ss_own_errors own = {.count = 2};
  struct ss_accuracy out;
  struct ss_pooled_errors pooled = {.weight = {0}};
  own.group[0] = (struct ss_error_group){SS_AS_MEASURED, 90, 0, even(0, 1)};
  own.group[1] = (struct ss_error_group){SS_AS_MEASURED, 30, 0, even(1, 2)};
  ss_accuracy_compromise(&own, &pooled, &out);
  assert_true(out.pooled); /* of all other classes */
  /* of 120 times the 60th is the 60th of the first 90, the 108th the 18th of the other 30 */
  assert_true(fabs(log(out.of[SS_AS_MEASURED].half) - 60 / 90.0) <= 0.5 / SS_ERROR_LEVELS);
  assert_true(fabs(log(out.of[SS_AS_MEASURED].most) - (1 + 18 / 30.0)) <= 0.5 / SS_ERROR_LEVELS);
  assert_true(out.of[SS_NEW_KIND].most == 0); /* not said */
}

/* Of noise residuals may be larger than what other machines' left-out collectives were off. */
TEST(test_what_was_not_measured_is_known_no_better) {
  struct ss_own_errors own = {.count = 1};
  struct ss_accuracy out;
  struct ss_pooled_errors pooled = {.weight = {[SS_NEW_COLLECTIVE] = 4, [SS_NEW_KIND] = 4}};
  own.group[0] = (struct ss_error_group){SS_AS_MEASURED, 90, 0, even(0, 2)};
  pooled.errors[SS_NEW_COLLECTIVE] = even(0, 1);
  pooled.errors[SS_NEW_KIND] = even(0.5, 2.5);
  ss_accuracy_compromise(&own, &pooled, &out);
  assert_true(out.of[SS_NEW_COLLECTIVE].half == out.of[SS_AS_MEASURED].half);
  assert_true(out.of[SS_NEW_COLLECTIVE].most == out.of[SS_AS_MEASURED].most);
  assert_true(out.of[SS_NEW_KIND].most > out.of[SS_AS_MEASURED].most);
}

/* Machines whose scale, collectives and times vary: errors of a machine's collectives are N(0, scale), those of its
 * times about them N(0, scale / 2). */
enum { MACHINES = 200, GROUPS = 2, TIMES = 40 };

static void draw_errors(gsl_rng *rng, double scale, double *errors) {
  const double shared = gsl_ran_gaussian(rng, scale);
  for (int i = 0; i < TIMES; i++) errors[i] = fabs(shared + gsl_ran_gaussian(rng, scale / 2));
  qsort(errors, TIMES, sizeof *errors, compare_doubles);
}

static struct ss_error_levels levels_of(const double *sorted, size_t count) {
  struct ss_error_levels out;
  for (int i = 0; i < SS_ERROR_LEVELS; i++) out.at[i] = sorted[(size_t)((i + 0.5) / SS_ERROR_LEVELS * (double)count)];
  return out;
}

/* Links that a cluster says nothing of cost more as those do that they are taken from, and no others. */
TEST(test_components_scale_their_own_links) {
  static const enum ss_component both[] = {SS_LATENCY, SS_TRANSFER};
  for (size_t i = 0; i < COUNT(both); i++)
    for (unsigned own = 0; own < 4; own++) {
      struct ss_cluster c = flat_cluster(1e-6, 1e-9);
      c.has_exchange = own & 1;
      c.has_intra = own & 2;
      c.exchange = c.intra = c.inter;
      ss_cluster_scale_component(&c, both[i], 3);
      const double alpha = both[i] == SS_LATENCY ? 3e-6 : 1e-6, beta = both[i] == SS_TRANSFER ? 3e-9 : 1e-9;
      assert_true(close_to(c.inter.alpha, alpha, 1e-12) && close_to(c.inter.beta, beta, 1e-12));
      assert_true(close_to(c.exchange.alpha, c.has_exchange ? 1e-6 : alpha, 1e-12));
      assert_true(close_to(c.exchange.beta, c.has_exchange ? 1e-9 : beta, 1e-12));
      assert_true(close_to(c.intra.alpha, c.has_intra ? 1e-6 : alpha, 1e-12));
      assert_true(close_to(c.intra.beta, c.has_intra ? 1e-9 : beta, 1e-12));
    }
}

/* What grows with a component by c, and what shrinks by as much, add up to the same in each draw. */
TEST(test_draws_go_up_and_down) {
  const struct ss_uncertainty u = {.of = {[SS_PASSES] = {1.2, 1.5}}};
  const struct ss_components up = {.s[SS_PASSES] = 0.4}, down = {.s[SS_PASSES] = -0.4};
  struct ss_uncertain one = {.time = 1, .components = &up, .uncertainty = &u, .label = "one", .own = {1, 1}};
  double rising[SS_RANGE_DRAWS], falling[SS_RANGE_DRAWS];
  ss_draws_of(&one, rising);
  one.components = &down;
  ss_draws_of(&one, falling);
  for (size_t d = 0; d < SS_RANGE_DRAWS; d++) assert_true(fabs(rising[d] + falling[d] - 2) < 1e-12);
  const struct ss_likely range = ss_likely_of(falling);
  assert_true(range.low < 0.95 && range.high > 1.05);
}

/* What was played says how long and how often, draws alone which of them is which: both ends are there. */
TEST(test_draws_have_the_times_that_were_played) {
  static const double played[] = {1, 1, 1.25, 1.5, 1.5, 1.5, 2, 3};
  const struct ss_uncertainty u = {.of = {[SS_PASSES] = {1.2, 1.5}}};
  const struct ss_components up = {.s[SS_PASSES] = 0.4};
  const struct ss_uncertain one = {.time = 1,
                                   .components = &up,
                                   .uncertainty = &u,
                                   .label = "one",
                                   .own = {1, 1},
                                   .played = played,
                                   .plays = COUNT(played)};
  double drawn[SS_RANGE_DRAWS];
  ss_draws_of(&one, drawn);
  qsort(drawn, SS_RANGE_DRAWS, sizeof *drawn, compare_doubles);
  for (size_t i = 0; i < COUNT(played); i++) /* a seventh of the draws from each to the next */
    assert_true(close_to(drawn[(SS_RANGE_DRAWS - 1) * i / 7], played[i], 0.01));
  assert_true(close_to(drawn[0], 1, 0) && close_to(drawn[SS_RANGE_DRAWS - 1], 3, 0));
}

/* Ranges hold as many times of a collective that was never measured as they say, over machines that others taught,
 * and are narrower on machines that err less. */
TEST(test_ranges_cover_made_up_machines) {
  static double pool[MACHINES * TIMES];
  gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
  struct ss_pooled_errors pooled = {.weight = {[SS_NEW_COLLECTIVE] = 2}};
  size_t half = 0, most = 0, all = 0;
  double narrow = 0, wide = 0;
  gsl_rng_set(rng, 33);
  for (int m = 0; m < MACHINES; m++)
    draw_errors(rng, 0.2 * exp(gsl_ran_gaussian(rng, 0.5)), pool + (size_t)m * TIMES);
  qsort(pool, MACHINES * TIMES, sizeof *pool, compare_doubles);
  pooled.errors[SS_NEW_COLLECTIVE] = levels_of(pool, MACHINES * TIMES);
  for (int m = 0; m < MACHINES; m++) {
    const double scale = 0.2 * exp(gsl_ran_gaussian(rng, 0.5));
    struct ss_own_errors own = {.count = GROUPS};
    struct ss_accuracy a;
    double errors[TIMES];
    for (int g = 0; g < GROUPS; g++) {
      draw_errors(rng, scale, errors);
      own.group[g] = (struct ss_error_group){SS_NEW_COLLECTIVE, TIMES, 0, levels_of(errors, TIMES)};
    }
    ss_accuracy_compromise(&own, &pooled, &a);
    draw_errors(rng, scale, errors);
    for (int i = 0; i < TIMES; i++, all++) {
      half += errors[i] <= log(a.of[SS_NEW_COLLECTIVE].half);
      most += errors[i] <= log(a.of[SS_NEW_COLLECTIVE].most);
    }
    *(scale < 0.2 ? &narrow : &wide) += log(a.of[SS_NEW_COLLECTIVE].most) / MACHINES;
  }
  gsl_rng_free(rng);
  const double in_half = (double)half / (double)all, in_most = (double)most / (double)all;
  if (!(in_half > 0.4 && in_half < 0.6 && in_most > 0.85 && in_most < 0.95))
    fail_msg("50%% ranges hold %g, 90%% ranges %g", in_half, in_most);
  if (!(narrow < 0.9 * wide)) fail_msg("ranges of %g where machines err less, else %g", narrow, wide);
}

/* Which component is off: numbers of links by their sources where a run of so many ranks uses them, kernels where
 * they are counted; in a training the model errs in just those, whatever is known of them. */
TEST(test_what_is_used_is_off) {
  for (unsigned mix = 0; mix < 16; mix++)
    for (uint32_t ranks = 1; ranks <= 6; ranks++) {
      const bool intra = mix & 1, exchange = mix & 2, counted = mix & 4, measured = mix & 8;
      for (uint32_t per_node = 1; per_node <= 5; per_node++) {
        const enum ss_origin_of_number from = measured ? SS_MEASURED : SS_SUPPOSED;
        const struct ss_cluster c = {.gpus_per_node = per_node,
                                     .has_intra = intra,
                                     .has_exchange = exchange,
                                     .source = {.latency = from, .bandwidth = from, .exchange = from, .intra = from}};
        const struct ss_device device = {.counted = counted};
        const bool several = (ranks + per_node - 1) / per_node > 1, inside = intra && per_node > 1;
        const bool used[SS_COMPONENTS] = {several || !inside,
                                          several || !inside,
                                          several && exchange,
                                          several && exchange,
                                          inside,
                                          inside,
                                          counted,
                                          false};
        const struct ss_uncertainty run = ss_uncertainty_of(&c, &device, ranks, SS_COLLECTIVES);
        const struct ss_uncertainty training = ss_uncertainty_of_training(&c, &device, ranks);
        assert_true(run.model.most > 1 && ss_spread_certain(&training.model));
        for (int i = 0; i < SS_COMPONENTS; i++) {
          assert_int_equal(!ss_spread_certain(&run.of[i]), used[i] && (measured || i == SS_COMPUTING));
          assert_true(ss_spread_certain(&run.own[i]));
          assert_true(training.of[i].most == run.of[i].most && training.of[i].half == run.of[i].half);
          assert_true(fabs(training.own[i].most - (used[i] ? run.model.most : 1)) < 1e-12);
          assert_true(fabs(training.own[i].half - (used[i] ? run.model.half : 1)) < 1e-12);
        }
      }
    }
}

/* A call's spread is that of the cluster that was fitted: of none that says nothing, and of none whose numbers were
 * replaced, either of them. */
TEST(test_calls_of_what_was_fitted) {
  const struct ss_accuracy_question asked = {SS_ALLREDUCE, SS_CHAIN, 2, 1 << 20};
  for (unsigned mix = 0; mix < 8; mix++) {
    const struct ss_cluster c = {
        .gpus_per_node = 1,
        .accuracy = {.known = mix & 1},
        .source = {.latency = mix & 2 ? SS_MEASURED : SS_SUPPOSED, .bandwidth = mix & 4 ? SS_MEASURED : SS_SUPPOSED}};
    struct ss_uncertainty u;
    for (int i = 0; i < SS_COMPONENTS; i++) u.of[i] = u.own[i] = (struct ss_spread){3, 3};
    assert_int_equal(ss_uncertainty_of_call(&c, &asked, &u), mix == 7);
    for (int i = 0; i < SS_COMPONENTS; i++)
      assert_int_equal(ss_component_uncertain(&u, (enum ss_component)i), mix == 7 && i == SS_TRANSFER);
  }
}

/* What each rank ends with; two exchanges are two calls, and what is no number of bytes asks nothing. */
TEST(test_bytes_of_calls) {
  struct ss_setting setting = {.scheme = ss_scheme_find("alltoall")};
  assert_non_null(setting.scheme);
  ss_setting_reset(&setting);
  assert_int_equal(ss_scheme_call_bytes(&setting, 5, 800), 100);
  ss_setting_choose(&setting, "exchange", "lookups");
  assert_int_equal(ss_scheme_call_bytes(&setting, 5, 800), 200);
  assert_int_equal(ss_scheme_call_bytes(&setting, 1, 800), 800);
  assert_true(ss_scheme_call_bytes(&setting, 5, NAN) == 0 && ss_scheme_call_bytes(&setting, 5, -800) == 0 &&
              ss_scheme_call_bytes(&setting, 5, 1e300) == 0);
}

/* Where a fit finds that bytes inside nodes are free, they share links of infinite bandwidth: what is left is the
 * time between nodes, and no time is without end. */
TEST(test_bytes_may_be_free) {
  struct ss_measured_cluster m = {.gpus_per_node = 4, .nics = 2, .window = UINT32_MAX};
  const double per_byte[] = {0, 1e-15};
  double seconds[2];
  struct ss_error error;
  for (int kind = SS_COST_INTER; kind <= SS_COST_INTRA; kind++) {
    m.pieces[kind] = 1;
    m.piece[kind][0] = (struct ss_cost_piece){UINT64_MAX, {{.value = 5e-6}, {.value = 1e-10}}};
  }
  for (enum ss_collective of = SS_ALLREDUCE; of <= SS_ALLTOALL; of++) {
    const char *const name = of == SS_ALLTOALL ? "linear" : "ring";
    const struct ss_observation o = {
        .algorithm = ss_algorithm_of(of, name), .nodes = 2, .per_node = 4, .bytes = 1 << 20, .seconds = 1};
    for (int i = 0; i < 2; i++) {
      m.piece[SS_COST_INTRA][0].cost[1].value = per_byte[i];
      if (!ss_observation_predict(&m, &o, &seconds[i], &error)) fail_msg("%s", error.text);
    }
    assert_true(seconds[1] > 1e-5);
    if (!(fabs(seconds[0] / seconds[1] - 1) < 1e-4)) fail_msg("%s: free %g, almost %g", name, seconds[0], seconds[1]);
  }
}

/* What a time is made of adds up to about it, and is of costs that there are. */
static void check_terms(const struct ss_measured_cluster *m, const struct ss_observation *o) {
  struct ss_cost_term terms[SS_COST_TERMS];
  struct ss_error error;
  uint32_t count = 0;
  double seconds, sum = 0;
  if (!ss_observation_predict(m, o, &seconds, &error) || !ss_observation_terms(m, o, terms, &count, &error))
    fail_msg("%s", error.text);
  for (uint32_t k = 0; k < count; k++) {
    assert_true(m->pieces[terms[k].kind] > 0 && terms[k].weight > 0);
    sum += terms[k].weight * m->piece[terms[k].kind][0].cost[terms[k].which].value;
  }
  if (!(fabs(sum / seconds - 1) < 0.03)) fail_msg("%s: %g, %g", o->algorithm->name, sum, seconds);
}

/* Without pieces of memory no term is memory's. */
TEST(test_terms_are_of_costs_that_there_are) {
  static const enum ss_library_kind libraries[] = {SS_NO_LIBRARY, SS_OPEN_MPI, SS_MPICH};
  static const double part[] = {
      [SS_COST_INTER] = 1, [SS_COST_EXCHANGE] = 4, [SS_COST_INTRA] = 0.1, [SS_COST_MEMORY] = 1e-5};
  size_t algorithms;
  const struct ss_algorithm *all = ss_algorithms(&algorithms);
  for (int memory = 0; memory < 2; memory++) {
    struct ss_measured_cluster m = {.gpus_per_node = 2, .nics = 1, .window = 1};
    for (int kind = SS_COST_INTER; kind <= SS_COST_MEMORY; kind++) {
      m.pieces[kind] = kind != SS_COST_MEMORY || memory;
      m.piece[kind][0] =
          (struct ss_cost_piece){UINT64_MAX, {{.value = 5e-6 * part[kind]}, {.value = 2e-10 * part[kind]}}};
    }
    for (size_t i = 0; i < algorithms * COUNT(libraries); i++)
      check_terms(&m, &(struct ss_observation){.algorithm = &all[i / COUNT(libraries)],
                                               .library = libraries[i % COUNT(libraries)],
                                               .nodes = 4,
                                               .per_node = 2,
                                               .bytes = 1 << 16,
                                               .seconds = 1});
  }
}

/* Rings side by side send 7 * 2 * P (P - 1) messages, of which 2^24 are not too many: P = 1095, and no more. */
TEST(test_rings_are_tried_up_to_a_size) {
  struct ss_setting setting = {.scheme = ss_scheme_find("allreduce")};
  struct ss_cluster c;
  struct ss_error error;
  if (!read_cluster("", &c, &error)) fail_msg("%s", error.text);
  c.gpus_per_node = 7, c.nics = 7;
  for (uint32_t ranks = 1090; ranks < 1100; ranks++) {
    ss_setting_reset(&setting);
    assert_true(ss_dense_way_take(&ss_dense_ways[SS_DENSE_RINGS], &c, ranks, &setting) == (ranks <= 1095));
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
