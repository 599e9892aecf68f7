/* What NCCL chooses: ten machines by a program of its own (Python, from NCCL's source), and Polaris by measurements;
 * and what clusters cost by way and protocol. */
#include "support.h"

#include "sim/collectives/tuner.h"

static struct ss_cluster read_cluster(const char *format, ...) SS_PRINTF(1, 2);
static struct ss_cluster read_cluster(const char *format, ...) {
  char text[1024];
  struct ss_doc *doc = NULL;
  struct ss_cluster cluster = {0};
  struct ss_error error;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (!ss_doc_parse("test", text, strlen(text), &doc, &error) || !ss_cluster_read(ss_doc_root(doc), &cluster, &error))
    fail_msg("%s", error.text);
  ss_doc_free(doc);
  return cluster;
}

/* --- choices ------------------------------------------------------------------------------------------------ */

/* By powers of two from 64 B to 1 GiB: t, u, T trees in LL, LL128, Simple; r, s, R rings. */
static const struct machine {
  const char *version, *gpu, *cpu;
  uint32_t nodes, per_node, channels, rate;
  bool ll128;
  const char *allreduce, *allgather;
} machines[] = {
    {"2.18", "ampere", "amd", 2, 4, 4, 20, true, "tttttttttttuusssssssRRRRR", "rrrrrrrrrrrrrssssssRRRRRR"},
    {"2.18", "volta", "intel", 8, 8, 2, 12, true, "tttttttttttuuuuuussssRRRR", "rrrrrrrrrrrrrrssssssRRRRR"},
    {"2.21", "hopper", "intel", 8, 8, 8, 48, true, "ttttttttttttuuuuuuuuussRR", "rrrrrrrrrrrrrrrsssssssRRR"},
    {"2.21", "hopper", "amd", 2, 8, 8, 48, true, "ttttttttttttuuuuuuusssRRR", "rrrrrrrrrrrrsssssssssRRRR"},
    {"2.21", "ampere", "amd", 8, 4, 2, 24, false, "ttttttttttttrrrrrTRRRRRRR", "rrrrrrrrrrrrrrrrrRRRRRRRR"},
    {"2.18", "ampere", "amd", 8, 4, 2, 24, false, "ttttttttttttTTTTTTRRRRRRR", "rrrrrrrrrrrrrrrrRRRRRRRRR"},
    {"2.21", "volta", "intel", 16, 1, 1, 3, false, "tttttttttrrrrrrRRRRRRRRRR", "rrrrrrrrrrrrrrRRRRRRRRRRR"},
    {"2.18", "hopper", "intel", 64, 8, 16, 24, true, "ttttttttttttuuuuuuuuuuuTT", "rrrrrrrrrrrrrrrrrrsssssss"},
    {"2.21", "ampere", "intel", 3, 4, 4, 12, true, "tttttttttttuuussssssRRRRR", "rrrrrrrrrrrrrrsssssRRRRRR"},
    {"2.18", "ampere", "intel", 128, 4, 4, 24, true, "tttttttttttttuuuuuuuuuuTs", "rrrrrrrrrrrrrrrrrrssssssR"},
};

static void check_choices(const struct machine *m, const struct ss_cluster *c, enum ss_collective collective,
                          const char *wanted) {
  for (uint32_t i = 0; wanted[i]; i++) {
    const struct ss_choice got = ss_tuner_choose(c, collective, m->nodes * m->per_node, (uint64_t)64 << i);
    const char name = "rsRtuT"[got.way * SS_PROTOCOLS + got.protocol];
    if (name != wanted[i])
      fail_msg("%s of nccl %s on %u nodes of %u %s at %llu B: %c, not %c", ss_collective_names[collective],
               m->version, m->nodes, m->per_node, m->gpu, 64ULL << i, name, wanted[i]);
  }
}

TEST(test_choices_are_nccls) {
  for (uint32_t i = 0; i < COUNT(machines); i++) {
    const struct machine *m = &machines[i];
    const struct ss_cluster c = read_cluster(
        "{\"latency\": 5e-6, \"bandwidth\": 1e10, \"gpus_per_node\": %u, \"library\": {\"name\": \"nccl\", "
        "\"version\": \"%s\", \"gpu\": \"%s\", \"cpu\": \"%s\", \"ll128\": %s, \"channels\": %u, "
        "\"channel_bandwidth\": %u000000000}}",
        m->per_node, m->version, m->gpu, m->cpu, m->ll128 ? "true" : "false", m->channels, m->rate);
    check_choices(m, &c, SS_ALLREDUCE, m->allreduce);
    check_choices(m, &c, SS_ALLGATHER, m->allgather);
    check_choices(m, &c, SS_REDUCE_SCATTER, m->allgather);
  }
}

/* Trees take the largest chunk, by halves, of which a channel holds enough; below some size fewer are enough, and
 * none is less than 32 KiB for want of them (NCCL 2.18, enqueue.cc). */
static uint64_t chunk_of(enum ss_protocol protocol, uint32_t nodes, uint32_t per_node, uint64_t channel) {
  uint64_t chunk = protocol == SS_LL ? 32768 : protocol == SS_LL128 ? 576000 : 512 << 10, levels = 0;
  for (uint32_t n = nodes; n > 1; n /= 2) levels++;
  const uint64_t depth = per_node - 1 + levels, least[] = {depth, 4 * depth, 8 * depth}; /* of Simple */
  const double steps = (1 + (double)levels) / per_node + 0.1;
  for (; chunk > 32768; chunk /= 2) {
    const uint64_t whole = channel / chunk;
    const int size = chunk > 131072 ? 2 : chunk > 65536 ? 1 : 0;
    if (protocol == SS_SIMPLE ? whole >= least[size] : (double)whole >= steps * (size == 2 ? 64 : 16) * (1 - 1e-12))
      break;
  }
  return chunk;
}

TEST(test_chunks_are_nccls) {
  for (uint32_t nodes = 2; nodes <= 64; nodes *= 2)
    for (uint32_t per_node = 1; per_node <= 8; per_node += 7) {
      const struct ss_cluster c = read_cluster(
          "{\"latency\": 5e-6, \"bandwidth\": 1e10, \"gpus_per_node\": %u, \"library\": {\"name\": \"nccl\", "
          "\"version\": "
          "\"2.18\", \"gpu\": \"ampere\", \"cpu\": \"amd\", \"channels\": 2, \"channel_bandwidth\": 12000000000}}",
          per_node);
      for (uint64_t bytes = 1 << 14; bytes <= UINT64_C(1) << 31; bytes += bytes / 3)
        for (enum ss_protocol protocol = SS_LL; protocol < SS_PROTOCOLS; protocol++) {
          const uint64_t channel = bytes / ((uint64_t)2 * ss_library_channels(&c, nodes).count);
          const uint64_t chunk = chunk_of(protocol, nodes, per_node, channel), chunks = (channel + chunk - 1) / chunk;
          const struct ss_choice trees = {SS_WAY_TREE, protocol, 0};
          assert_int_equal(ss_choice_call(&c, trees, SS_ALLREDUCE, nodes * per_node, bytes).chunks,
                           chunks < SS_CHUNKS_MOST ? chunks : SS_CHUNKS_MOST);
        }
    }
}

/* Where measured times jump on 8 nodes of Polaris (models/measured/nccl.csv): of 2.21 behind 128 KiB, 4 and 8 MiB, of
 * 2.18 behind 128 KiB and 8 MiB. Channels and their rate follow from its two cards of 200 Gbit/s. */
TEST(test_polaris_jumps_where_measured) {
  static const struct {
    const char *version;
    uint64_t up_to[4];
    struct ss_choice is[4];
  } cases[] = {{"2.21",
                {128 << 10, 4 << 20, 8 << 20, 64 << 20},
                {{SS_WAY_TREE, SS_LL, 0}, {SS_WAY_RING, SS_LL, 0}, {SS_WAY_TREE, SS_SIMPLE, 0}, {0, SS_SIMPLE, 0}}},
               {"2.18",
                {128 << 10, 8 << 20, 64 << 20, 0},
                {{SS_WAY_TREE, SS_LL, 0}, {SS_WAY_TREE, SS_SIMPLE, 0}, {SS_WAY_RING, SS_SIMPLE, 0}, {0}}}};
  for (uint32_t i = 0; i < COUNT(cases); i++) {
    const struct ss_cluster c = read_cluster(
        "{\"latency\": 5e-6, \"bandwidth\": \"200Gbps\", \"gpus_per_node\": 4, \"nics\": 2, \"library\": "
        "{\"name\": \"nccl\", \"version\": \"%s.5\", \"cpu\": \"amd\", \"ll128\": false}}",
        cases[i].version);
    uint32_t at = 0;
    for (uint64_t bytes = 1024; bytes <= (uint64_t)64 << 20; bytes *= 2) {
      while (bytes > cases[i].up_to[at]) at++;
      const struct ss_choice got = ss_tuner_choose(&c, SS_ALLREDUCE, 32, bytes), *is = &cases[i].is[at];
      if (got.way != is->way || got.protocol != is->protocol)
        fail_msg("%s at %llu B: %s in %s", cases[i].version, (unsigned long long)bytes, ss_way_names[got.way],
                 ss_protocol_names[got.protocol]);
    }
  }
}

/* --- what is searched ---------------------------------------------------------------------------------------- */

static void channels_are(struct ss_cluster c, uint32_t nodes, uint32_t count, double rate) {
  const struct ss_channels got = ss_library_channels(&c, nodes);
  if (got.count != count || !close_to(got.rate, rate, 1e-12))
    fail_msg("%u channels of %g B/s, not %u of %g", got.count, got.rate, count, rate);
}

TEST(test_channels_follow_from_cards_and_nvlinks) {
#define CARDS(rate, gpu)                                                                                             \
  read_cluster("{\"latency\": 0, \"bandwidth\": \"" rate "\", \"gpus_per_node\": 8, \"library\": {\"name\": "        \
               "\"nccl\", \"version\": \"2.21\", \"gpu\": \"" gpu "\"}}")
  channels_are(CARDS("200Gbps", "ampere"), 2, 8, 24e9);
  channels_are(CARDS("400Gbps", "ampere"), 2, 16, 24e9); /* fast channels are halved */
  channels_are(CARDS("400Gbps", "hopper"), 9, 8, 48e9);  /* not of more than four cards of Hopper's */
  channels_are(CARDS("1Gbps", "volta"), 2, 8, .12e9);
  channels_are(CARDS("100Mbps", "volta"), 2, 8, .12e9);
  channels_are(CARDS("400Gbps", "volta"), 1, 6, 20e9);
  channels_are(CARDS("400Gbps", "ampere"), 1, 12, 20e9);
  channels_are(CARDS("400Gbps", "hopper"), 1, 12, 30e9);
}

/* --- costs --------------------------------------------------------------------------------------------------- */

static void link_is(const struct ss_link *link, double alpha, double rate, const char *what) {
  if (!close_to(link->alpha, alpha, 1e-12) || !close_to(1 / link->beta, rate, 1e-12))
    fail_msg("%s: %g s and %g B/s, not %g and %g", what, link->alpha, 1 / link->beta, alpha, rate);
}

#define TWO_CARDS                                                                                                    \
  "{\"latency\": 28e-6, \"bandwidth\": \"24GB/s\", \"gpus_per_node\": 4, \"nics\": 2, \"exchange\": {\"latency\": "  \
  "1e-5, \"bandwidth\": \"30GB/s\"}, \"intra\": {\"latency\": 3.4e-6, \"bandwidth\": 1e11}, \"library\": "           \
  "{\"name\": "                                                                                                      \
  "\"nccl\", \"version\": \"2.18\", \"channel_bandwidth\": \"24GB/s\"%s}}"

/* What is not given follows from rings in Simple, which `inter` is. */
TEST(test_costs_follow_from_rings_in_simple) {
  const struct ss_cluster c = read_cluster(TWO_CARDS, "");
  struct ss_cluster p;
  p = ss_cluster_protocol(&c, SS_WAY_RING, SS_SIMPLE, 32);
  link_is(&p.inter, 28e-6, 24e9, "rings in Simple");
  link_is(&p.intra, 3.4e-6, 1e11, "inside, rings in Simple");
  assert_false(p.has_exchange); /* the cards are as fast as the messages */
  p = ss_cluster_protocol(&c, SS_WAY_RING, SS_LL, 32);
  link_is(&p.inter, 28e-6 * 2.7 / 14, 24e9 / 4, "rings in LL");
  link_is(&p.intra, .6e-6, 1e11 / 4, "inside, rings in LL");
  p = ss_cluster_protocol(&c, SS_WAY_TREE, SS_LL, 32);
  link_is(&p.inter, 28e-6 * 5 / 14, 17.8e9 / 3.8, "trees in LL"); /* two channels carry 35.6 of 48 GB/s */
  p = ss_cluster_protocol(&c, SS_WAY_TREE, SS_SIMPLE, 32);
  link_is(&p.inter, 28e-6, 17.8e9, "trees in Simple");
  assert_true(close_to(ss_library_start(&c, SS_LL), 6.6e-6, 1e-12));
}

TEST(test_costs_are_taken_where_given) {
  const struct ss_cluster c =
      read_cluster(TWO_CARDS, ", \"costs\": {\"ring\": {\"ll\": {\"latency\": 3e-6, \"bandwidth\": \"5GB/s\"}}, "
                              "\"start\": {\"ll\": 2e-5}}");
  struct ss_cluster p = ss_cluster_protocol(&c, SS_WAY_RING, SS_LL, 32), twice = c;
  link_is(&p.inter, 3e-6, 5e9, "rings in LL");
  p = ss_cluster_protocol(&c, SS_WAY_TREE, SS_LL, 32);
  link_is(&p.inter, 28e-6 * 5 / 14, 17.8e9 / 3.8, "trees in LL");
  assert_true(close_to(ss_library_start(&c, SS_LL), 2e-5, 1e-12));
  assert_true(close_to(ss_library_start(&c, SS_SIMPLE), 8.4e-6, 1e-12));
  ss_cluster_set_beta(&twice, 2 / 24e9); /* what is given keeps to the rest */
  p = ss_cluster_protocol(&twice, SS_WAY_RING, SS_LL, 32);
  link_is(&p.inter, 3e-6, 2.5e9, "rings in LL at half the rate");
  assert_true(ss_cluster_same(&c, &c));
  assert_false(ss_cluster_same(&c, &twice));
}

/* --- versions ------------------------------------------------------------------------------------------------ */

TEST(test_unknown_versions_are_told) {
  static const struct {
    const char *version, *tells;
  } cases[] = {{"2.18", ""},
               {"2.21.5", ""},
               {"2.20", "of nccl 2.20 nothing is known: it chooses as nccl-2.18 does"},
               {"2.27.3-1", "of nccl 2.27.3-1 nothing is known: it chooses as nccl-2.21 does"},
               {"2.7.8", ""},
               {"2.17", "of nccl 2.17 nothing is known: it chooses as nccl-2.7 does"},
               {"2.4", "of nccl 2.4 nothing is known: it chooses as nccl-2.7 does"}};
  for (uint32_t i = 0; i < COUNT(cases); i++) {
    const struct ss_cluster c =
        read_cluster("{\"latency\": 0, \"bandwidth\": 1e9, \"library\": {\"name\": \"nccl\", \"version\": \"%s\"}}",
                     cases[i].version);
    assert_string_equal(c.warning, cases[i].tells);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
