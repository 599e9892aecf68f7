/* Uneven links: what is drawn has the distribution that was asked for, and concerns those whom it should. That both
 * network models play it alike, and as a second calculation does, is test_fair's. */
#include "support.h"

#include "machine/network.h"

#define QUANTILES(...)                                                                                               \
  (struct ss_quantiles) {                                                                                            \
    sizeof((struct ss_quantile[]){__VA_ARGS__}) / sizeof(struct ss_quantile), {                                      \
      __VA_ARGS__                                                                                                    \
    }                                                                                                                \
  }

static struct ss_cluster uneven(const char *model, uint32_t gpus) {
  struct ss_cluster c = {.name = "uneven", .gpus_per_node = gpus, .inter = {1, 0.125}, .intra = {1, 0.125}};
  snprintf(c.model, sizeof c.model, "%s", model);
  c.exchange = c.inter;
  c.jitter = (struct ss_jitter){.draws = 1000, .draw = 1, .per_pair = true, .seed = 7};
  return c;
}

/* When a message alone of 8n bytes is through, which takes 1 + n seconds on even links; the `number`th of its round.
 */
static double message(const struct ss_cluster *c, uint32_t from, uint32_t to, uint64_t bytes, uint32_t number) {
  const struct ss_network_model *model = ss_network_model_of(c);
  struct ss_network *network = model->open(c, 8, 0);
  struct ss_network_result result;
  const uint64_t none = 0;
  struct ss_network_round round = {.messages = {.count = 1, .from = &from, .to = &to, .bytes = &none},
                                   .dependent = true};
  assert_non_null(network);
  for (uint32_t i = 0; i < number; i++) assert_true(model->round(network, &round));
  model->finish(network, NULL, &result);
  const double before = number ? result.time : 0;
  model->close(network);
  network = model->open(c, 8, 0);
  assert_non_null(network);
  for (uint32_t i = 0; i < number; i++) assert_true(model->round(network, &round));
  round.messages.bytes = &bytes;
  assert_true(model->round(network, &round));
  model->finish(network, NULL, &result);
  const double time = result.time - before;
  model->close(network);
  return time;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Kolmogorov's distance of 1,000 draws is below 1.63 / sqrt(1,000) in 99 of 100 cases. */
static void check_distribution(double *times, double (*share)(double time)) {
  double most = 0;
  qsort(times, 1000, sizeof *times, by_size);
  for (int i = 0; i < 1000; i++) {
    const double s = share(times[i]);
    most = fmax(most, fmax(fabs(s - i / 1000.), fabs(s - (i + 1) / 1000.)));
  }
  if (most > 0.0515) fail_msg("the draws are %g away from their distribution", most);
}

/* A bandwidth of f times its own, f even over 0.5 to 1: 8 B take 1 + 1/f s; half of all factors are above 0.75. */
static double slower(double time) {
  return 1 - (1 / (time - 1) - 0.5) / 0.5;
}

TEST(a_message_has_the_distribution_that_was_asked_for) {
  static const char *const models[] = {"fair", "alpha-beta"};
  double times[1000];
  for (int i = 0; i < 8; i++) {
    struct ss_cluster c = uneven(models[i & 1], i & 2 ? 2 : 1);
    c.nics = i & 2 && !(i & 1) ? 1 : 0; /* shared: played by fair shares */
    c.jitter.per_pair = i & 4;
    c.jitter.bandwidth = QUANTILES({0, 0.5}, {1, 1});
    for (uint32_t d = 0; d < 1000; d++) {
      c.jitter.draw = d + 1;
      times[d] = message(&c, 2, 5, 8, 0);
    }
    check_distribution(times, slower);
  }
}

TEST(pairs_of_nodes_keep_their_links) {
  struct ss_cluster c = uneven("fair", 2);
  c.jitter.bandwidth = QUANTILES({0, 0.25}, {1, 1});
  const double once = message(&c, 0, 2, 8, 0);
  assert_true(once > 2);
  assert_true(message(&c, 3, 1, 8, 0) == once);                /* the other way, by the nodes' other ranks */
  assert_true(close_to(message(&c, 0, 2, 8, 3), once, 1e-12)); /* and later */
  assert_true(message(&c, 0, 4, 8, 0) != once);
  assert_true(message(&c, 0, 1, 8, 0) == 2); /* inside a node links are even */
  c.jitter.moment = 5;
  assert_true(message(&c, 0, 2, 8, 0) == once);
  c.jitter.draw = 2;
  assert_true(message(&c, 0, 2, 8, 0) != once);
  c.jitter.draw = 0;
  assert_true(message(&c, 0, 2, 8, 0) == 2);
}

TEST(messages_draw_each) {
  struct ss_cluster c = uneven("fair", 1);
  c.jitter.per_pair = false;
  c.jitter.bandwidth = QUANTILES({0, 0.25}, {1, 1});
  const double first = message(&c, 0, 2, 8, 0), second = message(&c, 0, 2, 8, 1);
  assert_true(first > 2 && second > 2 && fabs(first - second) > 1e-6);
  assert_true(message(&c, 1, 2, 8, 0) == first); /* the first that rank 2 gets */
  c.jitter.moment = 1;
  assert_true(message(&c, 0, 2, 8, 0) != first);
}

/* What one pair may not take of a card is left to the other: 2 of 8 B/s for 0->2, 6 for 1->4, of which both have
 * 8 B to send: 1..5 and 1..1 + 4/3. */
TEST(a_slow_pair_leaves_its_card_to_others) {
  struct ss_cluster c = uneven("fair", 2);
  const uint32_t from[] = {0, 1}, to[] = {2, 4};
  struct ss_network_result result;
  c.nics = 1;
  c.jitter.bandwidth = QUANTILES({0, 0.25}, {0.5, 0.25}, {0.5, 1}, {1, 1});
  for (c.jitter.draw = 1; message(&c, 0, 2, 8, 0) < 4.9 || message(&c, 1, 4, 8, 0) > 2.1;) c.jitter.draw++;
  struct ss_network *network = ss_network_fair.open(&c, 8, 0);
  const struct ss_network_round round = {.messages = {.count = 2, .from = from, .to = to, .each = 8},
                                         .dependent = true};
  assert_true(network && ss_network_fair.round(network, &round));
  ss_network_fair.finish(network, NULL, &result);
  assert_true(close_to(result.done[0], 5, 1e-12) && close_to(result.done[1], 1 + 4. / 3, 1e-12));
  ss_network_fair.close(network);
}

TEST(quantiles_by_hand) {
  const struct ss_quantiles q = QUANTILES({0, 1}, {0.25, 2}, {0.25, 4}, {1, 10});
  double times[] = {20, 3, 5, 1, 7, 9, 11, 13, 15, 17, 19, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0};
  assert_true(ss_quantiles_at(&q, 0) == 1 && ss_quantiles_at(&q, 0.125) == 1.5);
  assert_true(ss_quantiles_at(&q, 0.25) == 4 && ss_quantiles_at(&q, 0.625) == 7);
  const struct ss_fan fan = ss_fan_of(times, 21), one = ss_fan_of((double[]){3}, 1),
                      two = ss_fan_of((double[]){4, 2}, 2);
  assert_true(fan.p5 == 1 && fan.p50 == 10 && fan.p95 == 19);
  assert_true(one.p5 == 3 && one.p95 == 3 && close_to(two.p5, 2.1, 1e-15) && two.p50 == 3);
}
/* SPDX-License-Identifier: Apache-2.0 */
