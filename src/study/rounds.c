#include "study/rounds.h"

#include "study/compute.h"

/* A player that writes down who sends what to whom; how long it takes nobody asks, and all endpoints live here. */
struct recorder {
  struct ss_player player; /* first: a player is the recorder it stands in */
  cJSON *messages;
  uint32_t rounds, phases;
  bool waits; /* a dependent round came after the last message */
};

static bool play(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct recorder *r = (struct recorder *)player;
  const struct ss_messages *m = &round->messages;
  (void)error;
  r->waits = r->waits || round->dependent;
  if (m->count == 0) return true;
  if (r->waits || r->rounds == 0) r->phases++;
  r->waits = false;
  r->rounds++;
  for (uint32_t i = 0; i < m->count; i++)
    cJSON_AddItemToArray(r->messages,
                         ss_json_object(SS_N("round", r->rounds), SS_N("phase", r->phases),
                                        SS_N("from", ss_message_from(m, i)), SS_N("to", ss_message_to(m, i)),
                                        SS_N("bytes", (double)ss_message_bytes(m, i))));
  return true;
}

/* The proof is left to runs: what is sent does not depend on it. */
static bool record(const struct ss_point *point, struct ss_worker *w, struct recorder *recorder,
                   struct ss_error *error) {
  struct ss_input_options options =
      ss_iteration_options(&point->setting, &point->selection, point->ranks, false, point->device.counted);
  const struct ss_world world = {
      .cluster = &point->cluster, .device = &point->device, .state = &w->memory, .player = &recorder->player};
  struct ss_outcome outcome = {0};
  struct ss_input input;
  options.iteration = point->first;
  if (!ss_point_fits(point, false, error)) return false;
  w->selector.selection = point->selection;
  return (ss_inputs_get(&w->inputs, point, &options, &w->arena, &input, error) &&
          ss_iteration_select(&point->setting, &w->selector, &input, &w->arena, error) &&
          ss_simulate(&point->setting, &world, &input, &w->arena, &outcome, error)) ||
         ss_fail_prefix(error, "%s, %u ranks", point->setting.label, point->ranks);
}

static bool alike(const cJSON *a, const cJSON *b) {
  static const char *const keys[] = {"label", "ranks", "tensor", "messages"};
  bool same = true;
  for (size_t i = 0; same && i < sizeof keys / sizeof *keys; i++)
    same = cJSON_Compare(ss_json_get(a, keys[i]), ss_json_get(b, keys[i]), true);
  return same;
}

/* Takes the run, unless one before it is alike but for its links. */
static bool keep(cJSON *run, cJSON *list, const struct ss_study *study, struct ss_error *error) {
  const cJSON *before = list->child;
  while (before && !alike(before, run)) before = before->next;
  if (!before && cJSON_GetArraySize(list) < SS_ROUNDS_RUNS)
    return cJSON_AddItemToArray(list, run) || ss_fail_memory(error, "writing messages down");
  cJSON_Delete(run);
  return before || ss_fail(error, SS_BAD_INPUT,
                           "%s: has more runs (schemes, rank counts, tensors, places) than the %d that a picture has "
                           "room for: choose with --scheme A,B and --ranks N, of tensors with --tensor NAME",
                           ss_study_name(study), SS_ROUNDS_RUNS);
}

static cJSON *run_of(const struct ss_point *point, const struct recorder *recorder) {
  return ss_json_object(SS_T("label", point->setting.label), SS_T("scheme", point->setting.scheme->name),
                        SS_N("ranks", point->ranks), SS_N("servers", point->servers),
                        SS_T("tensor", point->tensor_name), SS_T("cluster", point->cluster_name),
                        SS_J("at", point->at ? cJSON_Duplicate(point->at, true) : cJSON_CreateObject()),
                        SS_N("rounds", recorder->rounds), SS_J("messages", recorder->messages));
}

static bool add_run(const struct ss_study *study, const struct ss_point *point, cJSON *list, struct ss_error *error) {
  struct recorder recorder = {.player = {.play = play}, .messages = cJSON_CreateArray()};
  SS_AUTO(ss_worker_free) struct ss_worker worker = {0};
  const bool ok = record(point, &worker, &recorder, error);
  cJSON *run = run_of(point, &recorder);
  if (ok) return keep(run, list, study, error);
  cJSON_Delete(run);
  return false;
}

/* Before anything is played. */
static bool small(const struct ss_study *study, const struct ss_point *point, size_t count, struct ss_error *error) {
  for (size_t i = 0; i < count; i++)
    if (point[i].ranks > SS_ROUNDS_RANKS)
      return ss_fail(error, SS_BAD_INPUT, "%s: the rounds of %u ranks cannot be read: take at most %d (--ranks 8)",
                     ss_study_name(study), point[i].ranks, SS_ROUNDS_RANKS);
  return true;
}

bool ss_study_rounds(const struct ss_study *study, cJSON **out, struct ss_error *error) {
  size_t count;
  const struct ss_point *point = ss_study_points(study, &count);
  if (!small(study, point, count, error)) return false;
  cJSON *tree = cJSON_CreateObject(), *runs;
  cJSON_AddStringToObject(tree, "scenario", ss_study_name(study));
  runs = cJSON_AddArrayToObject(tree, "runs");
  bool ok = runs || ss_fail_memory(error, "writing messages down");
  for (size_t i = 0; ok && i < count; i++) ok = add_run(study, &point[i], runs, error);
  if (ok) *out = tree;
  else cJSON_Delete(tree);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
