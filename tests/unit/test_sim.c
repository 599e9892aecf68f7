/* Receipts, the play, and the reading of clusters and devices. What rounds the building blocks emit is tested in
 * test_collectives.c and cli/second_model.py, what time they take and what is counted in test_player.c. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "machine/device.h"
#include "sim/collectives/collectives.h"
#include "sim/engine.h"

/* --- receipts -------------------------------------------------------------------------------------------- */

static struct ss_chunk block(uint32_t origin, uint32_t part) {
  static const uint32_t rows[] = {4, 5};
  static const uint64_t marks[] = {1, 2};
  return (struct ss_chunk){.rows = rows,
                           .proofs = marks,
                           .kind = SS_CHUNK_PROOFS,
                           .count = 2,
                           .high = 9,
                           .width = 1,
                           .origin = origin,
                           .part = part};
}

static void add(struct ss_play *play, struct ss_receipts *r, uint32_t receiver, uint32_t number, struct ss_chunk due,
                struct ss_chunk got) {
  struct ss_error error;
  assert_true(ss_receipts_add(play, r, &(struct ss_arrival){receiver, number, &due, &got}, &error));
}

TEST(receipts_remember_who_has_what) {
  enum { RECEIVERS = 3, BLOCKS = 130 };
  struct ss_play play = {0};
  struct ss_receipts r;
  struct ss_error error;
  bool has[RECEIVERS][BLOCKS] = {{0}};
  struct dice d = {.seed = 3};
  assert_true(ss_receipts_open(&r, RECEIVERS, BLOCKS, &error));
  for (uint32_t i = 0; i < 200; i++) {
    uint32_t to = dice_below(&d, RECEIVERS), b = dice_below(&d, BLOCKS);
    if (has[to][b]) continue;
    has[to][b] = true;
    if (i % 2) add(&play, &r, to, b, block(b, 7), block(b, 7));
    else ss_receipts_add_run(&play, &r, to, b, 1);
    for (uint32_t k = 0; k < RECEIVERS; k++)
      for (uint32_t j = 0; j < BLOCKS; j++) assert_int_equal(ss_receipts_has(&r, k, j), has[k][j]);
  }
  assert_int_equal(play.mismatches, 0);
  assert_int_equal(r.others, 0);
  ss_receipts_close(&r);
}

TEST(runs_wrap_around) {
  struct ss_play play = {0};
  struct ss_receipts r;
  struct ss_error error;
  assert_true(ss_receipts_open(&r, 2, 70, &error));
  ss_receipts_add_run(&play, &r, 1, 60, 25); /* 60..69, 0..14 */
  for (uint32_t b = 0; b < 70; b++) assert_int_equal(ss_receipts_has(&r, 1, b), b >= 60 || b < 15);
  for (uint32_t b = 0; b < 70; b++) assert_false(ss_receipts_has(&r, 0, b));
  assert_false(ss_receipts_regular(&r, 1));
  ss_receipts_add_run(&play, &r, 1, 15, 45);
  assert_true(ss_receipts_regular(&r, 1));
  assert_false(ss_receipts_regular(&r, 0));
  assert_int_equal(play.mismatches, 0);
  ss_receipts_close(&r);
}

TEST(what_comes_twice_is_a_mismatch) {
  struct ss_play play = {0};
  struct ss_receipts r;
  struct ss_error error;
  assert_true(ss_receipts_open(&r, 2, 3, &error));
  add(&play, &r, 0, 2, block(2, 0), block(2, 0));
  add(&play, &r, 1, 2, block(2, 0), block(2, 0));
  assert_int_equal(play.mismatches, 0);
  add(&play, &r, 0, 2, block(2, 0), block(2, 0));
  assert_int_equal(play.mismatches, 1);
  ss_receipts_add_run(&play, &r, 0, 1, 2);
  assert_int_equal(play.mismatches, 2);
  ss_receipts_close(&r);
}

TEST(what_comes_from_elsewhere_is_a_mismatch) {
  struct ss_play play = {0};
  struct ss_receipts r;
  struct ss_error error;
  assert_true(ss_receipts_open(&r, 1, 3, &error));
  add(&play, &r, 0, 0, block(5, 6), block(4, 6));
  assert_int_equal(play.mismatches, 1);
  assert_string_equal(play.mismatch, "endpoint 0 received part 6 of 4 where part 6 of 5 was due");
  add(&play, &r, 0, 1, block(5, 6), block(5, 7));
  assert_int_equal(play.mismatches, 2);
  assert_string_equal(play.mismatch, "endpoint 0 received part 6 of 4 where part 6 of 5 was due"); /* the first */
  add(&play, &r, 0, 2, block(5, 6), block(5, 6));
  assert_int_equal(play.mismatches, 2);
  assert_false(ss_receipts_regular(&r, 0));
  ss_receipts_close(&r);
}

/* A block with other rows or marks is no mismatch yet (the proof will tell), but it is kept as it came. */
TEST(what_comes_altered_is_kept) {
  enum { RECEIVERS = 40, BLOCKS = 5 };
  static const uint64_t other_marks[] = {8, 9};
  struct ss_play play = {0};
  struct ss_receipts r;
  struct ss_error error;
  struct ss_chunk sent = block(1, 1), altered = sent, shorter = sent;
  altered.marks = other_marks;
  shorter.count = 1;
  assert_true(ss_receipts_open(&r, RECEIVERS, BLOCKS, &error));
  for (uint32_t to = 0; to < RECEIVERS; to++)
    for (uint32_t b = 0; b < BLOCKS; b++)
      add(&play, &r, to, b, sent, to == 0 ? sent : b == 1 ? altered : b == 2 ? shorter : sent);
  assert_int_equal(play.mismatches, 0);
  assert_int_equal(r.others, 2 * (RECEIVERS - 1));
  for (uint32_t to = 0; to < RECEIVERS; to++) {
    assert_int_equal(ss_receipts_regular(&r, to), to == 0);
    assert_ptr_equal(ss_receipts_held(&r, to, 0, &sent), &sent);
    assert_ptr_equal(ss_receipts_held(&r, to, 1, &sent)->marks, to == 0 ? sent.marks : other_marks);
    assert_int_equal(ss_receipts_held(&r, to, 2, &sent)->count, to == 0 ? 2 : 1);
  }
  ss_receipts_close(&r);
}

TEST(what_never_came_is_not_held) {
  struct ss_play play = {0};
  struct ss_receipts r;
  struct ss_error error;
  struct ss_chunk sent = block(0, 0);
  assert_true(ss_receipts_open(&r, 2, 64, &error));
  ss_receipts_add_run(&play, &r, 1, 0, 63);
  assert_null(ss_receipts_held(&r, 1, 63, &sent));
  assert_null(ss_receipts_held(&r, 0, 0, &sent));
  assert_false(ss_receipts_regular(&r, 1));
  ss_receipts_add_run(&play, &r, 1, 63, 1);
  assert_true(ss_receipts_regular(&r, 1));
  ss_receipts_close(&r);
}

/* --- the play -------------------------------------------------------------------------------------------- */

struct catcher {
  struct ss_player player;
  struct ss_round round;
  struct ss_computation kernel[8];
  uint32_t rounds;
};

static bool catch_round(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct catcher *c = (struct catcher *)player;
  (void)error;
  c->round = *round;
  for (uint32_t i = 0; i < round->after_count; i++) c->kernel[i] = round->after[i];
  c->rounds++;
  return true;
}

TEST(plays_hand_over_rounds) {
  struct catcher c = {.player = {.play = catch_round}};
  struct ss_error error;
  struct ss_play play;
  const struct ss_wire wire = {.format = SS_WIRE_COO};
  const uint64_t bytes[] = {1, 2, 3};
  assert_true(ss_play_open(&play, &c.player, 3, 5, &error));
  assert_true(play.capacity >= 5);
  assert_true(ss_play_resident(&play, 7)); /* no `resident`: everyone lives here */

  assert_true(ss_play_messages(&play, 2, true, &wire, &error));
  assert_true(c.round.messages.count == 2 && c.round.messages.from == play.from && c.round.messages.to == play.to);
  assert_true(c.round.messages.bytes == play.bytes && c.round.dependent && !c.round.payloads && !c.round.wire);
  play.payloads = true;
  assert_true(ss_play_messages(&play, 2, false, &wire, &error));
  assert_true(c.round.payloads == play.payload && c.round.wire == &wire && !c.round.dependent);
  assert_true(ss_play_messages(&play, 2, false, NULL, &error)); /* sizes without payloads */
  assert_true(!c.round.payloads && !c.round.wire);

  const struct ss_messages ahead = {.count = 3, .shift = 2, .bytes = bytes, .each = 9};
  assert_true(ss_play_shift(&play, &ahead, true, true, &error));
  assert_true(!c.round.messages.from && !c.round.messages.to && c.round.messages.shift == 2);
  assert_true(c.round.messages.bytes == bytes && c.round.messages.each == 9 && c.round.messages.count == 3);
  assert_true(ss_message_from(&c.round.messages, 2) == 2 && ss_message_to(&c.round.messages, 2) == 1);
  assert_true(ss_message_to(&c.round.messages, 0) == 2 && ss_message_bytes(&c.round.messages, 1) == 2);
  c.round.messages.bytes = NULL;
  assert_int_equal(ss_message_bytes(&c.round.messages, 1), 9);
  ss_play_close(&play);
}

TEST(kernels_are_played_only_when_counted) {
  struct catcher c = {.player = {.play = catch_round}};
  struct ss_error error;
  struct ss_play play;
  const struct ss_device none = ss_device_none();
  struct ss_device device = ss_device_of("d", 1, 0.5);
  const struct ss_kernel_work calls = {2, 3, 4}, nothing = {.calls = 1, .bytes = 10};
  device.line[SS_KERNEL_TOP_K].piece[0].per_element = 0.25;
  assert_true(ss_play_open(&play, &c.player, 4, 0, &error));
  ss_play_note(&play, 1, SS_KERNEL_MERGE_SUM, calls);
  play.device = &none;
  ss_play_note(&play, 1, SS_KERNEL_MERGE_SUM, calls);
  assert_true(ss_play_kernels(&play, &error));
  assert_true(c.rounds == 0 && play.stream[1].work[SS_KERNEL_MERGE_SUM].calls == 0);
  play.device = &device;
  ss_play_note(&play, 1, SS_KERNEL_MERGE_SUM, calls);                       /* 2 + 4/2 */
  ss_play_note(&play, 1, SS_KERNEL_TOP_K, calls);                           /* 2 + 3/4 + 4/2 */
  ss_play_note(&play, 3, SS_KERNEL_PACK, (struct ss_kernel_work){1, 1, 1}); /* 1 + 1/2 */
  ss_play_note(&play, 2, SS_KERNEL_PACK, nothing);                          /* is not launched */
  assert_int_equal(c.rounds, 0);
  assert_true(ss_play_kernels(&play, &error));
  assert_true(c.rounds == 1 && c.round.dependent && c.round.messages.count == 0 && c.round.after_count == 2);
  assert_true(c.kernel[0].endpoint == 1 && c.kernel[0].seconds == 8.75);
  assert_true(c.kernel[1].endpoint == 3 && c.kernel[1].seconds == 1.5);
  assert_true(play.stream[1].work[SS_KERNEL_TOP_K].elements == 3 && play.stream[2].work[SS_KERNEL_PACK].calls == 0);
  assert_true(ss_play_kernels(&play, &error));
  assert_int_equal(c.rounds, 1); /* nothing is due */
  ss_play_close(&play);
}

/* Two calls, one in each piece: together they would all be of the second. */
TEST(calls_are_priced_by_their_own_size) {
  struct catcher c = {.player = {.play = catch_round}};
  struct ss_error error;
  struct ss_play play;
  struct ss_device device = ss_device_of("d", 0, 1);
  device.line[SS_KERNEL_PACK] =
      (struct ss_kernel_line){.piece = {{10, 0, 0, 1}, {INFINITY, 0, 0, 8}}, .pieces = 2, .known = true};
  assert_true(ss_play_open(&play, &c.player, 1, 0, &error));
  play.device = &device;
  ss_play_note(&play, 0, SS_KERNEL_PACK, (struct ss_kernel_work){1, 1, 10});
  ss_play_note(&play, 0, SS_KERNEL_PACK, (struct ss_kernel_work){1, 1, 100});
  assert_true(play.stream[0].work[SS_KERNEL_PACK].bytes == 110);
  assert_true(play.stream[0].work[SS_KERNEL_PACK].seconds == 10 + 800);
  assert_true(ss_play_kernels(&play, &error) && c.kernel[0].seconds == 10 + 800);
  ss_play_close(&play);
}

/* What is due runs before the next dependent round, and not before an independent one. */
TEST(kernels_run_before_what_depends_on_them) {
  struct catcher c = {.player = {.play = catch_round}};
  struct ss_error error;
  struct ss_play play;
  const struct ss_device device = ss_device_of("d", 1, 0);
  assert_true(ss_play_open(&play, &c.player, 2, 0, &error));
  play.device = &device;
  play.from[0] = 0;
  play.to[0] = 1;
  play.bytes[0] = 1;
  ss_play_note(&play, 0, SS_KERNEL_PACK, (struct ss_kernel_work){1, 1, 1});
  assert_true(ss_play_messages(&play, 1, false, NULL, &error));
  assert_int_equal(c.rounds, 1);
  assert_true(ss_play_messages(&play, 1, true, NULL, &error));
  assert_int_equal(c.rounds, 3);
  ss_play_close(&play);
}

TEST(mismatches_are_counted_and_the_first_told) {
  struct ss_play play = {0};
  ss_play_mismatch(&play, "rank %d", 3);
  ss_play_mismatch(&play, "rank %d", 4);
  assert_int_equal(play.mismatches, 2);
  assert_string_equal(play.mismatch, "rank 3");
  play = (struct ss_play){0};
  ss_play_mismatch(&play, "%0500d", 1); /* cut, and terminated */
  assert_true(strlen(play.mismatch) == sizeof play.mismatch - 1);
}

/* --- clusters and devices -------------------------------------------------------------------------------- */

static bool read_cluster(const char *text, struct ss_cluster *out, struct ss_error *error) {
  struct ss_doc *doc;
  *error = (struct ss_error){0};
  if (!ss_doc_parse("x.json", text, strlen(text), &doc, error)) return false;
  bool good = ss_cluster_read(ss_doc_root(doc), out, error);
  ss_doc_free(doc);
  return good;
}

TEST(clusters_are_read) {
  struct ss_cluster c = {0};
  struct ss_error error;
  assert_true(read_cluster("{\"latency\": \"25us\", \"bandwidth\": \"25Gbps\"}", &c, &error));
  assert_true(c.inter.alpha == 25e-6 && close_to(c.inter.beta, 8 / 25e9, 1e-15));
  assert_true(c.intra.alpha == c.inter.alpha && c.intra.beta == c.inter.beta && !c.has_intra);
  assert_true(c.gpus_per_node == 1 && !c.nic_per_node);
  assert_string_equal(c.model, "fair");
  assert_true(ss_network_model_of(&c) == &ss_network_alpha_beta); /* nothing is shared: one pass will do */

  assert_true(read_cluster("{\"name\": \"n\", \"summary\": \"s\", \"source\": \"t\", \"notes\": \"u\", \"model\": "
                           "\"alpha-beta\", \"latency\": 1, \"bandwidth\": 4, \"gpus_per_node\": 8, \"nic\": "
                           "\"per-node\", \"intra\": {\"latency\": 0.5, \"bandwidth\": 8}}",
                           &c, &error));
  assert_string_equal(c.name, "n");
  assert_true(c.inter.alpha == 1 && c.inter.beta == 0.25 && c.intra.alpha == 0.5 && c.intra.beta == 0.125);
  assert_true(c.has_intra && c.nic_per_node && c.gpus_per_node == 8);
  assert_true(ss_network_model_of(&c) == &ss_network_alpha_beta);
  assert_true(read_cluster("{\"latency\": 1, \"bandwidth\": 4, \"nic\": \"per-rank\"}", &c, &error));
  assert_false(c.nic_per_node);
}

#define RATES "\"latency\": 1, \"bandwidth\": 4, "

/* By pattern; and what libraries say of exchanges where the cluster does not. */
TEST(windows_are_read) {
  static const struct {
    const char *text;
    uint32_t chain, exchange;
  } cases[] = {
      {"\"window\": 3", 3, 3},
      {"\"window\": {\"chain\": 2, \"exchange\": \"all\"}", 2, UINT32_MAX},
      {"\"window\": {\"exchange\": 5}", 1, 5},
      {"\"window\": {\"chain\": \"all\"}", UINT32_MAX, 1},
      {"\"library\": {\"name\": \"gloo\"}", 1, UINT32_MAX},
      {"\"library\": {\"name\": \"mpich\"}", 1, 32},
      {"\"library\": {\"name\": \"openmpi\"}", 1, 1},
      {"\"library\": {\"name\": \"gloo\"}, \"window\": {\"chain\": 2}", 2, UINT32_MAX},
      {"\"library\": {\"name\": \"gloo\"}, \"window\": 2", 2, 2},
      {"\"library\": {\"name\": \"gloo\"}, \"model\": \"alpha-beta\"", 1, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct ss_cluster c = {0};
    struct ss_error error;
    char text[200];
    snprintf(text, sizeof text, "{" RATES "%s}", cases[i].text);
    assert_true(read_cluster(text, &c, &error));
    assert_int_equal(ss_cluster_window_of(&c, false), cases[i].chain);
    assert_int_equal(ss_cluster_window_of(&c, true), cases[i].exchange);
    assert_int_equal(ss_cluster_window(&c), cases[i].chain > cases[i].exchange ? cases[i].chain : cases[i].exchange);
  }
}

TEST(shared_links_are_read) {
  struct ss_cluster c = {0};
  struct ss_error error;
  assert_true(read_cluster("{" RATES
                           "\"gpus_per_node\": 8, \"nics\": 2, \"window\": \"all\", \"fabric\": [{\"nodes\": 4, "
                           "\"oversubscription\": 2}, {\"nodes\": 8, \"bandwidth\": 10, \"latency\": \"30ms\"}], "
                           "\"intra\": {\"latency\": 1, \"bandwidth\": 8, \"shared\": true}, \"exchange\": "
                           "{\"latency\": 2, \"bandwidth\": 5}}",
                           &c, &error));
  assert_true(ss_network_model_of(&c) == &ss_network_fair && c.window == UINT32_MAX && ss_cluster_nics(&c) == 2);
  assert_true(c.fabric_levels == 2 && c.fabric[1].latency == 30e-3 && c.intra_shared && c.has_exchange);
  assert_true(ss_cluster_card_rate(&c) == 5 && ss_cluster_bus_rate(&c) == 8); /* the faster class between nodes */
  assert_true(ss_cluster_uplink_rate(&c, 0) == 4 * 2 * 5 / 2.0 && ss_cluster_uplink_rate(&c, 1) == 10);
  assert_null(strstr(c.warning, "share card") ? c.warning : strstr(c.warning, "takes longer"));

  assert_true(read_cluster("{" RATES "\"gpus_per_node\": 8, \"nic\": \"per-node\"}", &c, &error));
  assert_true(ss_cluster_nics(&c) == 1 && ss_cluster_window(&c) == 1 && ss_network_model_of(&c) == &ss_network_fair);
  assert_true(read_cluster("{" RATES "\"gpus_per_node\": 8, \"nics\": 3}", &c, &error));
  assert_non_null(strstr(c.warning, "ranks 0 to 2 share card 0, and rank 3 is the first of card 1"));

  assert_true(
      read_cluster("{\"segments\": [{\"up_to\": \"8KiB\", \"latency\": 1, \"bandwidth\": 4096}, {\"latency\": 3, "
                   "\"bandwidth\": 8192}]}",
                   &c, &error));
  assert_true(c.inter_segments.count == 2 && c.inter_segments.piece[0].up_to == 8192 && c.inter.alpha == 3);
  assert_null(strstr(c.warning, "share card") ? c.warning : strstr(c.warning, "takes longer"));
  assert_true(
      read_cluster("{\"segments\": [{\"up_to\": \"8KiB\", \"latency\": 3, \"bandwidth\": 4096}, {\"latency\": 1, "
                   "\"bandwidth\": 8192}]}",
                   &c, &error));
  assert_non_null(strstr(c.warning, "8192 B takes longer"));
}

TEST(clusters_change_as_a_whole) {
  struct ss_cluster c = flat_cluster(1, 0.5);
  c.has_intra = c.has_exchange = true;
  c.intra = (struct ss_link){2, 0.25};
  c.inter_segments = (struct ss_segments){1, {{UINT64_MAX, {1, 0.5}}}};
  c.fabric_levels = 1;
  c.fabric[0] = (struct ss_fabric_level){.nodes = 2, .bandwidth = 8, .latency = 3};
  ss_cluster_scale(&c, &(struct ss_cluster_factors){.latency = 2, .byte_time = 4, .intra_bandwidth = 8});
  assert_true(c.inter.alpha == 2 && c.inter.beta == 2 && c.intra.alpha == 4 && c.intra.beta == 0.125);
  assert_true(c.inter_segments.piece[0].link.beta == 2 && c.fabric[0].bandwidth == 2 && c.fabric[0].latency == 6);
  ss_cluster_set_latency(&c, 7);
  ss_cluster_set_beta(&c, 9);
  assert_true(c.inter.alpha == 7 && c.inter.beta == 9 && c.inter_segments.count == 0 && !c.has_exchange);
  assert_true(c.intra.alpha == 4);
}

TEST(nodes_are_rounded_up) {
  struct ss_cluster c = flat_cluster(1, 1);
  for (uint32_t per_node = 1; per_node < 9; per_node++)
    for (uint32_t ranks = 1; ranks < 40; ranks++) {
      c.gpus_per_node = per_node;
      assert_int_equal(ss_cluster_nodes(&c, ranks), (ranks - 1) / per_node + 1); /* the last rank's, and one */
    }
}

static const struct bad_cluster {
  const char *text, *told;
} bad_clusters[] = {
    {"[]", ""},
    {"{}", "latency"},
    {"{\"latency\": 1}", "bandwidth"},
    {"{\"bandwidth\": 1}", "latency"},
    {"{\"latency\": 1, \"bandwidth\": 0}", "bandwidth"},
    {"{\"latency\": 1, \"bandwidth\": 1e-320}", "bandwidth"}, /* 1 / it is infinite */
    {"{\"latency\": -1, \"bandwidth\": 4}", "latency"},
    {"{\"latency\": 1, \"bandwidth\": 4, \"gpus\": 3}", "gpus_per_node"}, /* the nearest key */
    {"{\"latency\": 1, \"bandwidth\": 4, \"intra\": {}}", "intra"},
    {"{\"latency\": 1, \"bandwidth\": 4, \"intra\": {\"latency\": 1, \"bandwidth\": 0}}", "intra.bandwidth"},
    {"{\"latency\": 1, \"bandwidth\": 4, \"intra\": {\"latency\": -1, \"bandwidth\": 1}}", "intra.latency"},
    {"{" RATES "\"gpus_per_node\": 4, \"nics\": 5}", "rank l of a node uses card floor(l * nics / gpus_per_node)"},
    {"{" RATES "\"window\": 0}", "window"},
    {"{" RATES "\"window\": \"some\"}", "all"},
    {"{" RATES "\"window\": {\"chain\": 0}}", "window.chain"},
    {"{" RATES "\"fabric\": [{\"nodes\": 4}]}", "oversubscription"},
    {"{" RATES "\"fabric\": [{\"nodes\": 4, \"oversubscription\": 0.5}]}", "bandwidth"},
    {"{" RATES "\"fabric\": [{\"nodes\": 4, \"oversubscription\": 2, \"bandwidth\": 3}]}", "one of both"},
    {"{" RATES "\"fabric\": [{\"nodes\": 4, \"oversubscription\": 2}, {\"nodes\": 6, \"bandwidth\": 3}]}",
     "a multiple of 4"},
    {"{\"segments\": [{\"latency\": 1, \"bandwidth\": 4}, {\"latency\": 1, \"bandwidth\": 4}]}", "up_to"},
    {"{\"segments\": [{\"up_to\": 8, \"latency\": 1, \"bandwidth\": 4}]}", "longer than all"},
    {"{\"segments\": [{\"up_to\": 8, \"latency\": 1, \"bandwidth\": 4}, {\"up_to\": 8, \"latency\": 1, "
     "\"bandwidth\": 4}, {\"latency\": 1, \"bandwidth\": 4}]}",
     "ascending"},
    {"{" RATES "\"model\": \"alpha-beta\", \"nics\": 1}", "set \"model\" to \"fair\""},
    {"{" RATES "\"model\": \"alpha-beta\", \"window\": 1}", "window"},
    {"{" RATES "\"model\": \"alpha-beta\", \"fabric\": []}", "fabric"},
    {"{" RATES "\"model\": \"alpha-beta\", \"library\": {\"name\": \"nccl\", \"version\": \"2.21\"}}",
     "knows no \"library\""},
    {"{" RATES "\"library\": {\"name\": \"nccl\", \"version\": \"2.21\", \"channel_bandwidth\": 1.1e13}}",
     "library.channel_bandwidth"},
    {"{\"model\": \"alpha-beta\", \"segments\": []}", "fair"},
    {"{" RATES "\"model\": \"alpha-beta\", \"exchange\": {}}", "exchange"},
    {"{" RATES "\"model\": \"alpha-beta\", \"intra\": {\"latency\": 1, \"bandwidth\": 1, \"shared\": true}}",
     "shared"},
};

TEST(bad_clusters_are_refused) {
  struct ss_cluster c;
  struct ss_error error;
  for (uint32_t i = 0; i < COUNT(bad_clusters); i++) {
    if (read_cluster(bad_clusters[i].text, &c, &error)) fail_msg("%s is read", bad_clusters[i].text);
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (strncmp(error.text, "x.json: ", 8) != 0 || !strstr(error.text, bad_clusters[i].told))
      fail_msg("%s: \"%s\" does not tell of \"%s\"", bad_clusters[i].text, error.text, bad_clusters[i].told);
  }
}

static bool read_device(const char *text, struct ss_device *out, struct ss_error *error) {
  struct ss_doc *doc;
  *error = (struct ss_error){0};
  if (!ss_doc_parse("x.json", text, strlen(text), &doc, error)) return false;
  bool good = ss_device_read(ss_doc_root(doc), out, error);
  ss_doc_free(doc);
  return good;
}

TEST(devices_are_read) {
  struct ss_device d = {0};
  struct ss_error error;
  assert_true(read_device("{\"name\": \"d\", \"memory_bandwidth\": \"8GB/s\", \"efficiency\": 0.5, \"launch\": "
                          "\"5us\", \"source\": \"s\", \"summary\": \"t\", \"notes\": \"u\"}",
                          &d, &error));
  const struct ss_kernel_work thousand = {1, 1000, 4000};
  assert_true(d.counted && !d.line[SS_KERNEL_DENSE_ADD].known);
  assert_true(close_to(ss_device_time(&d, SS_KERNEL_DENSE_ADD, thousand), 6e-6, 1e-12));
  assert_string_equal(d.name, "d");
  assert_true(
      read_device("{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": \"100%\", \"launch\": 0, \"kernels\": "
                  "{\"top_k\": {\"t0\": 2, \"per_element\": \"1us\"}}}",
                  &d, &error));
  assert_true(ss_device_time(&d, SS_KERNEL_MERGE_SUM, (struct ss_kernel_work){1, 1, 3}) == 3);
  assert_true(d.line[SS_KERNEL_TOP_K].known && !d.line[SS_KERNEL_MERGE_SUM].known);
  assert_true(close_to(ss_device_time(&d, SS_KERNEL_TOP_K, thousand), 2.001, 1e-12));
  assert_true(read_device(
      "{\"name\": \"m\", \"measured\": \"x\", \"kernels\": {\"merge_sum\": {\"t0\": \"4us\", \"per_byte\": "
      "2e-9, \"valid\": [0, \"1GB\"]}, \"dense_add\": {\"t0\": 1e-6, \"per_byte\": 1e-10}, \"top_k\": "
      "{\"t0\": 1, \"per_element\": 0.5, \"per_byte\": 1}}}",
      &d, &error));
  assert_true(close_to(ss_device_time(&d, SS_KERNEL_MERGE_SUM, thousand), 12e-6, 1e-12));
  assert_true(close_to(ss_device_time(&d, SS_KERNEL_DENSE_ADD, thousand), 1.4e-6, 1e-12));
  assert_true(close_to(ss_device_time(&d, SS_KERNEL_TOP_K, (struct ss_kernel_work){2, 4, 8}), 12, 1e-12));
  /* not measured: as a dense add of as many bytes, and no line of the file */
  assert_true(close_to(ss_device_time(&d, SS_KERNEL_PACK, thousand), 1.4e-6, 1e-12));
  assert_true(!d.line[SS_KERNEL_PACK].known && d.line[SS_KERNEL_DENSE_ADD].known);
  /* elements and bytes take 3 times as long, starts as long as ever, also of what is estimated */
  assert_true(
      read_device("{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": 1, \"launch\": 5, \"slower\": 3, "
                  "\"kernels\": {\"top_k\": {\"t0\": 2, \"per_element\": 1, \"per_byte\": 10}}}",
                  &d, &error));
  assert_true(ss_device_time(&d, SS_KERNEL_TOP_K, (struct ss_kernel_work){1, 4, 8}) == 2 + 3 * (4 + 80));
  assert_true(ss_device_time(&d, SS_KERNEL_PACK, (struct ss_kernel_work){1, 4, 8}) == 5 + 3 * 8);
  assert_string_equal(d.name, "d (3 times slower)");
  d = ss_device_none();
  assert_true(!d.counted && ss_device_time(&d, SS_KERNEL_MERGE_SUM, thousand) == 0);
  assert_string_equal(d.name, "none");
}

TEST(pieces_go_by_the_size_of_a_call) {
  struct ss_device d = {0};
  struct ss_error error;
  assert_true(read_device(
      "{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": 1, \"launch\": 0, \"slower\": 2, \"kernels\": "
      "{\"top_k\": "
      "{\"pieces\": [{\"up_to\": \"1kB\", \"t0\": 1, \"per_byte\": 1}, {\"t0\": 5, \"per_element\": 3}]}}}",
      &d, &error));
  /* of 500 B a call, which stand for 1000, twice and once; then 501 */
  assert_true(ss_device_time(&d, SS_KERNEL_TOP_K, (struct ss_kernel_work){2, 9, 1000}) == 2 + 2 * 1000);
  assert_true(ss_device_time(&d, SS_KERNEL_TOP_K, (struct ss_kernel_work){1, 9, 500}) == 1 + 2 * 500);
  assert_true(ss_device_time(&d, SS_KERNEL_TOP_K, (struct ss_kernel_work){1, 9, 501}) == 5 + 2 * 27);
}

#define SUMS "\"merge_sum\": {\"t0\": 0, \"per_byte\": 1}, \"dense_add\": {\"t0\": 0, \"per_byte\": 1}, "
#define PIECES(first) "\"top_k\": {\"pieces\": [{" first "\"t0\": 0, \"per_byte\": 1}, {\"t0\": 0, \"per_byte\": 1}]}"
static const struct {
  const char *text, *told;
} bad_devices[] = {
    {"3", ""},
    {"{}", "name"},
    {"{\"name\": \"d\", \"efficiency\": 0.5, \"launch\": 1}", "memory_bandwidth"},
    {"{\"name\": \"d\", \"memory_bandwidth\": 1, \"launch\": 1}", "efficiency"},
    {"{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": 1}", "launch"},
    {"{\"name\": \"d\", \"memory_bandwidth\": 0, \"efficiency\": 1, \"launch\": 1}", "memory_bandwidth"},
    {"{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": 0, \"launch\": 1}", "efficiency"},
    {"{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": 1, \"launch\": 1, \"slower\": 1e10}", "1e-9 to 1e9"},
    {"{\"name\": \"d\", \"memory_bandwidth\": 1, \"efficiency\": 1, \"launch\": 1, \"like\": \"v100\"}", "like"},
    {"{\"name\": \"d\", \"kernels\": {\"merge_sum\": {\"t0\": 0, \"per_byte\": 1}}}", "dense_add"},
    {"{\"name\": \"d\", \"launch\": 1, \"kernels\": {}}", "memory_bandwidth"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS "\"top_k\": {\"t0\": 0}}}", "per_byte"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS "\"top_l\": {\"t0\": 0, \"per_byte\": 1}}}", "top_k"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS "\"top_k\": {\"t0\": 0, \"per_byte\": 0}}}", "per_byte"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS "\"top_k\": {\"t0\": 0, \"per_byte\": 1, \"valid\": [2, 1]}}}", "valid"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS "\"top_k\": {\"pieces\": []}}}", "1 to 4 pieces"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS
     "\"top_k\": {\"per_byte\": 1, \"pieces\": [{\"t0\": 1, \"per_byte\": 1}]}}}",
     "does nothing beside \"per_byte\""},
    {"{\"name\": \"d\", \"kernels\": {" SUMS "\"top_k\": {\"t0\": 1, \"pieces\": [{\"t0\": 1, \"per_byte\": 1}]}}}",
     "does nothing beside \"t0\""},
    {"{\"name\": \"d\", \"kernels\": {" SUMS PIECES("") "}}", "up_to"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS PIECES("\"up_to\": 0, ") "}}", "up_to"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS
     "\"top_k\": {\"pieces\": [{\"t0\": 1, \"per_byte\": 1, \"up_to\": 1}]}}}",
     "all larger calls"},
    {"{\"name\": \"d\", \"kernels\": {" SUMS
     "\"top_k\": {\"pieces\": [{\"up_to\": 2, \"t0\": 0, \"per_byte\": 1}, {\"up_to\": 2, "
     "\"t0\": 0, \"per_byte\": 1}, {\"t0\": 0, \"per_byte\": 1}]}}}",
     "not above"},
};

TEST(bad_devices_are_refused) {
  struct ss_device d;
  struct ss_error error;
  for (uint32_t i = 0; i < COUNT(bad_devices); i++) {
    if (read_device(bad_devices[i].text, &d, &error)) fail_msg("%s is read", bad_devices[i].text);
    assert_int_equal(error.status, SS_BAD_INPUT);
    if (!strstr(error.text, bad_devices[i].told))
      fail_msg("%s: \"%s\" does not tell of \"%s\"", bad_devices[i].text, error.text, bad_devices[i].told);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
