/* Writes down what a scheme sends, round by round, and how long the engine takes for it: simgrid_rounds reads it.
 *
 *   dump_rounds TRACE CLUSTER.json SCHEME [SLOWER [--kernels]]
 *
 * TRACE: a .safetensors file, of which the first iteration is played, or "exchange:P", a pairwise exchange of P ranks
 * with ragged sizes (SCHEME is not looked at). SCHEME: JSON, as a scenario has it. */
#include "schemes/simulate.h"
#include "sim/engine.h"
#include "trace/file/trace.h"

#include "base/memory.h"
#include "ragged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recorder {
  struct ss_player player; /* first: a player is the recorder it stands in */
  struct ss_engine engine;
};

static double slower = 1;

static void fail(const struct ss_error *error) {
  fprintf(stderr, "dump_rounds: %s\n", error->text);
  exit(2);
}

/* --- the cluster -------------------------------------------------------------------------------------------- */

static void print_class(const char *name, const struct ss_link *plain, const struct ss_segments *segments) {
  printf("class %s %" PRIu32, name, segments->count ? segments->count : 1);
  if (segments->count == 0) printf(" %" PRIu64 " %.17g %.17g", UINT64_MAX, plain->alpha, 1 / plain->beta);
  for (uint32_t i = 0; i < segments->count; i++)
    printf(" %" PRIu64 " %.17g %.17g", segments->piece[i].up_to, segments->piece[i].link.alpha,
           1 / segments->piece[i].link.beta);
  putchar('\n');
}

static void print_cluster(const struct ss_cluster *c, uint32_t ranks, uint32_t servers) {
  printf("cluster %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %d\n", ranks, servers, c->gpus_per_node,
         ss_cluster_nics(c), ss_cluster_window(c), c->intra_shared);
  print_class("inter", &c->inter, &c->inter_segments);
  print_class("exchange", c->has_exchange ? &c->exchange : &c->inter,
              c->has_exchange ? &c->exchange_segments : &c->inter_segments);
  print_class("intra", c->has_intra ? &c->intra : &c->inter, c->has_intra ? &c->intra_segments : &c->inter_segments);
  for (uint32_t l = 0; l < c->fabric_levels; l++)
    printf("level %" PRIu32 " %.17g %.17g\n", c->fabric[l].nodes, ss_cluster_uplink_rate(c, l), c->fabric[l].latency);
}

/* --- rounds ------------------------------------------------------------------------------------------------- */

static bool record(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct recorder *r = (struct recorder *)player;
  const struct ss_messages *m = &round->messages;
  printf("round %d %d %" PRId64, round->dependent, round->exchange,
         round->settled ? (int64_t)round->settled_count : (int64_t)-1);
  for (uint32_t i = 0; round->settled && i < round->settled_count; i++) printf(" %" PRIu32, round->settled[i]);
  putchar('\n');
  for (uint32_t i = 0; i < m->count; i++)
    printf("m %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", ss_message_from(m, i), ss_message_to(m, i),
           ss_message_bytes(m, i));
  for (uint32_t i = 0; i < round->after_count; i++)
    printf("c %" PRIu32 " %.17g\n", round->after[i].endpoint, round->after[i].seconds);
  return r->engine.player.play(&r->engine.player, round, error);
}

static void open_recorder(struct recorder *r, const struct ss_cluster *cluster, uint32_t ranks, uint32_t servers) {
  struct ss_error error;
  *r = (struct recorder){.player = {.play = record}};
  print_cluster(cluster, ranks, servers);
  if (!ss_engine_open(&r->engine, cluster, ranks, servers, &error)) fail(&error);
}

static void close_recorder(struct recorder *r) {
  printf("result %.17g\n", ss_engine_tally(&r->engine, 0).time / slower);
  ss_engine_close(&r->engine);
}

static void play_exchange(const struct ss_cluster *cluster, uint32_t ranks) {
  struct recorder r;
  struct ss_error error;
  SS_AUTO_FREE uint64_t *bytes = ss_alloc(ranks, sizeof *bytes);
  open_recorder(&r, cluster, ranks, 0);
  for (uint32_t s = 1; s < ranks && bytes; s++) {
    for (uint32_t i = 0; i < ranks; i++) bytes[i] = ragged_bytes(i, s);
    struct ss_round round = {
        .messages = {.count = ranks, .shift = s, .bytes = bytes}, .dependent = s == 1, .exchange = true};
    if (!r.player.play(&r.player, &round, &error)) fail(&error);
  }
  close_recorder(&r);
}

/* --- schemes ------------------------------------------------------------------------------------------------ */

static void run_scheme(const struct ss_setting *setting, const struct ss_cluster *cluster,
                       const struct ss_input *input, const struct ss_device *device, struct ss_arena *arena) {
  const struct ss_layout layout = ss_layout_of(cluster, input->ranks);
  struct ss_state state = {0};
  struct ss_outcome outcome = {.exact = false};
  struct ss_error error;
  struct recorder r;
  struct ss_stage stage = {.setting = setting,
                           .input = input,
                           .servers = ss_setting_servers(setting, layout),
                           .per_node = layout.per_node,
                           .player = &r.player,
                           .device = device,
                           .payloads = true,
                           .state = &state,
                           .arena = arena};
  open_recorder(&r, cluster, input->ranks, stage.servers);
  if (!ss_state_begin(&state, input->ranks, &error) ||
      !ss_run_own(setting, input, (struct ss_own_content){.proofs = true}, arena, &stage.own, &error) ||
      !ss_stage_run(&stage, NULL, &outcome, &error))
    fail(&error);
  ss_state_free(&state);
  close_recorder(&r);
}

static void read_setting(const char *json, struct ss_layout layout, struct ss_setting *out) {
  const struct ss_setting defaults = {.index_bytes = 4};
  struct ss_error error;
  struct ss_doc *doc;
  if (!ss_doc_parse("scheme", json, strlen(json), &doc, &error) ||
      !ss_setting_read(ss_doc_root(doc), &defaults, out, &error) || !ss_setting_check(out, layout, &error))
    fail(&error);
  ss_doc_free(doc);
}

static void play_scheme(const struct ss_cluster *cluster, const char *path, const char *scheme, bool kernels) {
  struct ss_coalesce_scratch scratch = {0};
  struct ss_arena arena = {0};
  struct ss_error error;
  struct ss_trace *trace;
  struct ss_setting setting;
  struct ss_input input;
  const struct ss_device none = ss_device_none();
  const struct ss_device quick = ss_device_of("quick", 5e-6 * slower, 1e-11 * slower);
  if (!ss_trace_open(path, &trace, &error)) fail(&error);
  const struct ss_origin origin = {.trace = trace, .merge = 1};
  read_setting(scheme, ss_layout_of(cluster, ss_trace_ranks(trace)), &setting);
  const struct ss_input_options options = ss_setting_input_options(&setting, ss_trace_ranks(trace), true, false);
  if (!ss_input_make(&origin, &options, &arena, &scratch, &input, &error)) fail(&error);
  run_scheme(&setting, cluster, &input, kernels ? &quick : &none, &arena);
  ss_coalesce_free(&scratch);
  ss_trace_close(trace);
  ss_arena_free(&arena);
}

int main(int count, char **arguments) {
  struct ss_cluster cluster;
  struct ss_error error;
  struct ss_doc *doc;
  if (count < 4) {
    fprintf(stderr, "usage: dump_rounds TRACE CLUSTER.json SCHEME [SLOWER [--kernels]]\n");
    return 2;
  }
  if (!ss_doc_read(arguments[2], 1 << 20, &doc, &error) || !ss_cluster_read(ss_doc_root(doc), &cluster, &error))
    fail(&error);
  ss_doc_free(doc);
  if (count > 4) slower = strtod(arguments[4], NULL);
  ss_cluster_scale(&cluster,
                   &(struct ss_cluster_factors){.latency = slower, .byte_time = slower, .intra_bandwidth = 1});
  if (strncmp(arguments[1], "exchange:", 9) == 0) play_exchange(&cluster, (uint32_t)atoi(arguments[1] + 9));
  else play_scheme(&cluster, arguments[1], arguments[3], count > 5);
  return 0;
}
