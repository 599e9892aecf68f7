#include "study/plan.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "base/notice.h"
#include "schemes/registry.h"
#include "study/study_internal.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what there is to choose from ----------------------------------------------------------------------------- */

/* "zen" with "coo" behind "shard": {"name": "zen", "label": "zen coo, shard", "hierarchy": "shard"}, for the caller
 * to complete. */
static cJSON *add_candidate(cJSON *list, const char *name, const char *variant, const char *hierarchy) {
  char label[96]; /* names are ours, and short */
  snprintf(label, sizeof label, "%s%s%s%s%s", name, variant ? " " : "", variant ? variant : "", hierarchy ? ", " : "",
           hierarchy ? hierarchy : "");
  cJSON *item = ss_json_object(SS_T("name", name), SS_T("label", label));
  if (hierarchy) cJSON_AddStringToObject(item, "hierarchy", hierarchy);
  cJSON_AddItemToArray(list, item);
  return item;
}

/* Options whose every choice is worth a try. Others trade something else than time, or are for experiments. */
static bool worth_trying(const struct ss_option *option) {
  return option->kind == SS_OPTION_CHOICE &&
         (strcmp(option->name, "algorithm") == 0 || strcmp(option->name, "format") == 0);
}

/* Whole tables, all in one exchange: another answer than one for each table. */
static void add_whole_tables(cJSON *list, const struct ss_scheme *scheme) {
  for (const struct ss_option *o = scheme->options; o && o->name; o++)
    for (size_t i = 0; ss_scheme_model_parallel(scheme) && strcmp(o->name, "partition") == 0 && o->choices[i]; i++)
      if (strcmp(o->choices[i], "table") == 0)
        cJSON_AddStringToObject(add_candidate(list, scheme->name, "table", NULL), o->name, o->choices[i]);
}

static void add_scheme(cJSON *list, const struct ss_scheme *scheme, const char *hierarchy) {
  bool varied = false;
  for (const struct ss_option *o = scheme->options; o && o->name; o++) {
    if (!worth_trying(o)) continue;
    varied = true;
    for (size_t i = 0; o->choices[i]; i++)
      cJSON_AddStringToObject(add_candidate(list, scheme->name, o->choices[i], hierarchy), o->name, o->choices[i]);
  }
  if (!varied || (scheme->tune && !hierarchy)) add_candidate(list, scheme->name, NULL, hierarchy);
  for (const struct ss_option *o = scheme->options; o && o->name; o++)
    if (o->kind == SS_OPTION_FLAG && strcmp(o->name, "colocated") == 0)
      cJSON_AddTrueToObject(add_candidate(list, scheme->name, o->name, hierarchy), o->name);
  if (!hierarchy) add_whole_tables(list, scheme);
}

cJSON *ss_candidates(bool hierarchies) {
  static const char *const in_node[] = {NULL, "shard", "leader"};
  cJSON *list = cJSON_CreateArray();
  for (size_t h = 0; list && h < (hierarchies ? 3 : 1); h++)
    for (const struct ss_scheme *const *s = ss_schemes(); *s; s++)
      if (!(*s)->parse) add_scheme(list, *s, in_node[h]);
  return list;
}

/* --- choosing ------------------------------------------------------------------------------------------- */

static bool is_sum(const struct ss_result *p) {
  return strcmp(p->tensor, "*") == 0;
}

static const struct ss_likely no_range = {NAN, NAN};
static const char each_with_its_own[] = "each with its own";

/* The row's time, whoever takes it. */
static struct ss_uncertain row_uncertain(const struct ss_plan_row *row) {
  const struct ss_uncertain of_best = ss_result_uncertain(row->best ? row->best : row->cell);
  return (struct ss_uncertain){row->time, &row->components, of_best.uncertainty,
                               row->best ? row->best->setting.label : each_with_its_own, of_best.own};
}

static bool is_ranged(const struct ss_result *p) {
  return !ss_spread_certain(&p->uncertainty.model);
}

/* Fills in what draws say of the row and of its dense baseline. */
static void add_draws(struct ss_plan_row *row) {
  const struct ss_result *p = row->cell;
  const struct ss_uncertain mine = row_uncertain(row), dense = ss_result_dense_uncertain(p);
  if (!is_ranged(p)) {
    if (ss_result_ranged(p) && row->best) row->range = (struct ss_likely){row->best->time_low, row->best->time_high};
    return;
  }
  row->range = ss_range_of(&mine);
  if (p->dense_s > 0) row->dense_ratio = ss_compare(&mine, &dense).ratio;
}

static struct ss_plan_row choose(const struct ss_result *results, size_t n) {
  struct ss_plan_row row = {.cell = results,
                            .dense = ss_results_dense(results, n),
                            .range = no_range,
                            .next_ratio = no_range,
                            .dense_ratio = no_range,
                            .wins = NAN,
                            .all = results,
                            .candidates = n};
  ss_results_rank(results, n, &row.best, &row.next);
  row.time = row.best->time;
  row.next_time = row.next ? row.next->time : NAN;
  row.lossless = row.best->lossless;
  row.components = row.best->components;
  add_draws(&row);
  if (!is_ranged(results)) return row;
  const struct ss_contest contest = ss_results_contest(results, n, row.best);
  const struct ss_uncertain mine = row_uncertain(&row);
  row.wins = contest.wins;
  if (contest.rival && !contest.decided) {
    row.rival = contest.rival->setting.label;
    row.rival_wins = contest.rival_wins;
    row.rival_ratio = contest.against.ratio;
    row.measure = ss_comparison_measure(&contest.against);
  }
  if (!row.next) return row;
  const struct ss_uncertain next = ss_result_uncertain(row.next);
  row.next_ratio = ss_compare(&mine, &next).ratio;
  return row;
}

/* `row` is of the faster of the two, of which one takes each tensor by its own cheapest. */
static void compare_each(struct ss_plan_row *row, const struct ss_uncertain *slower, const char *name) {
  const struct ss_uncertain mine = row_uncertain(row);
  if (!is_ranged(row->cell)) return;
  const struct ss_comparison c = ss_compare(&mine, slower);
  row->next_ratio = c.ratio;
  row->wins = isnan(row->wins) || !row->best ? c.wins : fmin(row->wins, c.wins);
  if (row->best && row->rival) return;
  row->rival = c.wins >= 0.95 ? NULL : name;
  row->rival_wins = 1 - c.wins;
  row->rival_ratio = c.ratio;
  row->measure = row->rival ? ss_comparison_measure(&c) : NULL;
}

/* Of all tensors together there is one candidate more, unless all others take them in one exchange: each with what
 * its own row of `rows` says. */
static void consider_each(struct ss_plan_row *row, const struct ss_plan_row *rows, size_t n) {
  struct ss_plan_row each = *row;
  bool any = false, other = false; /* some tensor has another scheme than the one for all */
  each.time = 0;
  each.lossless = true;
  each.components = (struct ss_components){{0}};
  each.range = (struct ss_likely){0, 0};
  for (size_t k = 0; k < n; k++) {
    if (rows[k].cell->ranks != row->cell->ranks || rows[k].cell->at != row->cell->at) continue;
    any = true;
    other =
        other || !rows[k].best || !row->best || strcmp(rows[k].best->setting.label, row->best->setting.label) != 0;
    each.time += rows[k].time;
    each.range.low += rows[k].range.low; /* of extrapolated ranks alone; add_draws says it of all that is drawn */
    each.range.high += rows[k].range.high;
    for (int i = 0; i < SS_COMPONENTS; i++) each.components.s[i] += rows[k].components.s[i];
    each.lossless = each.lossless && rows[k].lossless;
  }
  if (!any || !other || (row->time < each.time && row->next_time <= each.time)) return;
  each.best = NULL;
  if (row->time < each.time) {
    const struct ss_uncertain slower = row_uncertain(&each);
    row->next = NULL;
    row->next_time = each.time;
    compare_each(row, &slower, each_with_its_own);
    return;
  }
  const struct ss_plan_row one = *row;
  const struct ss_uncertain slower = row_uncertain(&one);
  each.next = one.best;
  each.next_time = one.time;
  each.rival = NULL;
  add_draws(&each);
  compare_each(&each, &slower, one.best->setting.label);
  *row = each;
}

bool ss_plan_make(const struct ss_results *results, struct ss_plan *out, struct ss_error *error) {
  *out = (struct ss_plan){.row = ss_alloc_zero(results->count, sizeof *out->row)};
  if (!out->row) return ss_fail_memory(error, "planning");
  for (size_t i = 0, n; i < results->count; i += n) {
    const struct ss_result *p = &results->result[i];
    n = ss_results_in_cell(p, results->count - i);
    struct ss_plan_row row = choose(p, n);
    if (is_sum(p)) consider_each(&row, out->row, out->count);
    out->row[out->count++] = row;
  }
  return true;
}

void ss_plan_free(struct ss_plan *plan) {
  free(plan->row);
  ss_turns_free(&plan->turns);
  *plan = (struct ss_plan){0};
}

/* Few know their library's window: who plans by it should hear where it decides. */
static void tell_turns(const struct ss_plan *plan, const struct ss_notice *notice) {
  char turn[SS_TURN_TEXT_SIZE], text[SS_TURN_TEXT_SIZE + 300];
  for (size_t i = 0; i < plan->count; i++) {
    const struct ss_plan_row *row = &plan->row[i];
    if (!row->turn) continue;
    snprintf(text, sizeof text, "%u ranks, tensor %.200s: the cheapest depends on the cluster's window: %s",
             row->cell->ranks, row->cell->tensor, ss_turn_text(row->turn, turn, sizeof turn));
    ss_notice_tell(notice, text);
  }
}

bool ss_study_plan(const struct ss_study *study, const struct ss_results *results, struct ss_plan *out,
                   struct ss_error *error) {
  struct ss_turns *turns = &out->turns;
  if (!ss_plan_make(results, out, error)) return false;
  if (study->request.turns && !ss_study_turns(study, results, &study->request.run, turns, error)) return false;
  for (size_t i = 0; i < turns->count; i++)
    for (size_t k = 0; turns->turn[i].winner && k < out->count; k++)
      if (out->row[k].best == turns->turn[i].faster) out->row[k].turn = &turns->turn[i];
  tell_turns(out, study->request.notice);
  return true;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_form(cJSON *o, const struct ss_result *best) {
  const bool placed = best && isfinite(best->placed_s);
  ss_json_add(o, SS_N("formula_s", best ? best->formula_s : NAN), SS_N("placed_s", best ? best->placed_s : NAN),
              SS_T("placed", !placed              ? NULL
                             : best->placed_exact ? "exact"
                                                  : "bound"));
}

static void add_turn(cJSON *o, const struct ss_turn *turn) {
  ss_json_add(o,
              SS_T("other_window", !turn                       ? NULL
                                   : turn->other == UINT32_MAX ? "all"
                                                               : "1"),
              SS_T("other_best", turn ? turn->slower->setting.label : NULL),
              SS_N("other_best_s", turn ? turn->slower_other : NAN),
              SS_N("other_time_s", turn ? turn->faster_other : NAN));
}

/* Candidates that do not fit. */
static cJSON *unfit_json(const struct ss_plan_row *row) {
  cJSON *list = cJSON_CreateArray();
  for (const struct ss_result *p = row->all; p < row->all + row->candidates; p++)
    if (!ss_result_fits(p))
      cJSON_AddItemToArray(list, ss_json_object(SS_T("label", p->setting.label), SS_N("peak_bytes", p->peak)));
  return list;
}

static cJSON *row_json(const struct ss_plan_row *row) {
  const struct ss_result *best = row->best, *cell = row->cell;
  cJSON *o = cJSON_CreateObject(), *result = best ? ss_result_json(best) : NULL,
        *options = cJSON_DetachItemFromObjectCaseSensitive(result, "options");
  cJSON_Delete(result);
  ss_json_add(
      o, SS_T("tensor", cell->tensor), SS_T("scheme", best ? best->setting.scheme->name : NULL),
      SS_T("label", best ? best->setting.label : NULL), SS_J("options", options ? options : cJSON_CreateObject()),
      SS_N("ranks", cell->ranks), SS_J("at", cell->at ? cJSON_Duplicate(cell->at, 1) : cJSON_CreateObject()),
      SS_T("cluster", cell->cluster), SS_T("device", cell->device), SS_T("trace", cell->trace),
      SS_N("time_s", row->time), SS_T("next", row->next ? row->next->setting.label : NULL),
      SS_N("next_time_s", row->next_time), SS_N("margin", row->time > 0 ? row->next_time / row->time - 1 : NAN),
      SS_N("dense_s", row->dense.seconds), SS_T("dense", row->dense.name), SS_B("lossless", row->lossless),
      SS_N("energy", best ? best->energy : NAN), SS_N("candidates", (double)row->candidates),
      SS_N("peak_bytes", best ? best->peak : NAN), SS_N("device_memory_bytes", cell->device_memory),
      SS_J("unfit", unfit_json(row)));
  if (cell->extrapolated_from) ss_json_add(o, SS_N("extrapolated_from", cell->extrapolated_from));
  if (ss_result_ranged(cell))
    ss_json_add(o, SS_N("time_low_s", row->range.low), SS_N("time_high_s", row->range.high));
  if (is_ranged(cell))
    ss_json_add(o, SS_N("wins", row->wins), SS_N("next_ratio_low", row->next_ratio.low),
                SS_N("next_ratio_high", row->next_ratio.high), SS_N("dense_ratio_low", row->dense_ratio.low),
                SS_N("dense_ratio_high", row->dense_ratio.high), SS_T("rival", row->rival),
                SS_N("rival_wins", row->rival ? row->rival_wins : NAN),
                SS_N("rival_ratio_low", row->rival ? row->rival_ratio.low : NAN),
                SS_N("rival_ratio_high", row->rival ? row->rival_ratio.high : NAN), SS_T("measure", row->measure));
  add_form(o, best);
  add_turn(o, row->turn);
  return o;
}

cJSON *ss_plan_json(const struct ss_plan *plan, const char *scenario) {
  cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", scenario));
  cJSON *list = cJSON_AddArrayToObject(root, "plan");
  for (size_t i = 0; list && i < plan->count; i++) cJSON_AddItemToArray(list, row_json(&plan->row[i]));
  return root;
}
