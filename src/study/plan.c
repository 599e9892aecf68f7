#include "study/plan.h"

#include "schemes/registry.h"
#include "study/study_internal.h"
#include "study/window.h"

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

/* What is chosen of one tensor in one cell. */
struct choice {
  const struct ss_result *cell, *best; /* best NULL: of all tensors, each has its own */
  bool lossless;
};

/* Each tensor with its own cheapest scheme: one candidate more for all of them together. */
struct each {
  struct ss_uncertain *part; /* [parts] the tensors' */
  size_t parts;
  struct ss_components components;
  double time;
  bool lossless, left_out; /* one of them does not fit, and the fastest for all does */
};

struct planning {
  const struct ss_results *results;
  struct choice *choice; /* [count] of the rows so far */
  size_t count;
  struct ss_turns turns;
  cJSON *rows;
};

static const char each_with_its_own[] = "each with its own";

static bool is_sum(const struct ss_result *p) {
  return strcmp(p->tensor, "*") == 0;
}

/* False: of these schemes for all tensors the fastest is what each tensor has, or there are no tensors apart. */
static bool add_each(const struct planning *p, const struct ss_result *all, size_t n, struct each *out) {
  const struct ss_result *one, *next;
  bool other = false;
  ss_results_rank(all, n, &one, &next);
  out->lossless = true;
  for (size_t k = 0; k < p->count; k++) {
    const struct choice *c = &p->choice[k];
    if (!c->best || c->cell->ranks != all->ranks || c->cell->at != all->at || c->cell->cluster != all->cluster)
      continue;
    other = other || strcmp(c->best->setting.label, one->setting.label) != 0;
    out->part[out->parts++] = ss_result_uncertain(c->best);
    out->time += c->best->time;
    for (int i = 0; i < SS_COMPONENTS; i++) out->components.s[i] += c->best->components.s[i];
    out->lossless = out->lossless && c->lossless;
    out->left_out = out->left_out || ss_result_left_out(c->best, one);
  }
  return other;
}

static const struct ss_turn *turn_of(const struct planning *p, const struct ss_result *best) {
  for (size_t i = 0; best && i < p->turns.count; i++)
    if (p->turns.turn[i].faster == best) return &p->turns.turn[i];
  return NULL;
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
static cJSON *unfit_json(const struct ss_result *all, size_t n) {
  cJSON *list = cJSON_CreateArray();
  for (const struct ss_result *p = all; p < all + n; p++)
    if (!ss_result_fits(p))
      cJSON_AddItemToArray(list, ss_json_object(SS_T("label", p->setting.label), SS_N("peak_bytes", p->peak)));
  return list;
}

/* `n`: schemes of the cell. */
static cJSON *row_json(const struct choice *row, size_t n, const struct ss_decision *d, const struct ss_turn *turn) {
  const struct ss_result *best = row->best, *cell = row->cell;
  const struct ss_dense_time dense = ss_results_dense(cell, n);
  cJSON *o = cJSON_CreateObject();
  ss_json_add(o, SS_T("tensor", cell->tensor), SS_T("scheme", best ? best->setting.scheme->name : NULL),
              SS_T("label", best ? best->setting.label : NULL),
              SS_J("options", best ? ss_setting_json(&best->setting) : cJSON_CreateObject()),
              SS_J("offered", ss_offer_json(best ? ss_setting_offer(&best->setting) : NULL)),
              SS_N("ranks", cell->ranks), SS_J("at", cell->at ? cJSON_Duplicate(cell->at, 1) : cJSON_CreateObject()),
              SS_T("cluster", cell->cluster), SS_T("device", cell->device), SS_T("trace", cell->trace));
  ss_decision_add_times(o, d);
  if (d->next && d->next->of.label == each_with_its_own)
    cJSON_ReplaceItemInObjectCaseSensitive(o, "next", cJSON_CreateNull());
  ss_json_add(o, SS_N("dense_s", dense.seconds), SS_T("dense", dense.name), SS_B("lossless", row->lossless),
              SS_N("energy", best ? best->energy : NAN), SS_N("candidates", (double)n),
              SS_N("peak_bytes", best ? best->peak : NAN), SS_N("device_memory_bytes", cell->device_memory),
              SS_J("unfit", unfit_json(cell, n)));
  if (cell->extrapolated_from) ss_json_add(o, SS_N("extrapolated_from", cell->extrapolated_from));
  ss_decision_add_draws(o, d);
  add_form(o, best);
  add_turn(o, turn);
  return o;
}

/* Of the n results of one tensor in one cell. */
static bool add_row(struct planning *p, const struct ss_result *all, size_t n, struct ss_error *error) {
  SS_AUTO_FREE struct ss_candidate *list = ss_alloc_zero(n + 1, sizeof *list);
  SS_AUTO_FREE struct ss_uncertain *part = ss_alloc(p->count + 1, sizeof *part);
  const struct ss_uncertain dense = ss_result_dense_uncertain(all);
  struct each each = {.part = part};
  struct ss_decision d;
  size_t count = n;
  if (!list || !part) return ss_fail_memory(error, "planning");
  ss_results_candidates(all, n, list);
  if (is_sum(all) && add_each(p, all, n, &each))
    list[count++] = (struct ss_candidate){.of = {.time = each.time,
                                                 .components = &each.components,
                                                 .uncertainty = part->uncertainty,
                                                 .label = each_with_its_own,
                                                 .own = {1, 1},
                                                 .part = part,
                                                 .parts = each.parts},
                                          .left_out = each.left_out};
  if (!ss_decide(list, count, dense.time > 0 ? &dense : NULL, &d, error)) return false;
  const size_t best = (size_t)(d.best - list);
  struct choice *row = &p->choice[p->count++];
  *row = (struct choice){all, best < n ? &all[best] : NULL, best < n ? all[best].lossless : each.lossless};
  return cJSON_AddItemToArray(p->rows, row_json(row, n, &d, turn_of(p, row->best))) ||
         ss_fail_memory(error, "planning");
}

/* Few know their library's window: who plans by it should hear where it decides. */
static void tell_turns(const struct planning *p, const struct ss_notice *notice) {
  char turn[SS_TURN_TEXT_SIZE], text[SS_TURN_TEXT_SIZE + 300];
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_turn *found = turn_of(p, p->choice[i].best);
    if (!found) continue;
    snprintf(text, sizeof text, "%u ranks, tensor %.200s: the cheapest depends on the cluster's window: %s",
             p->choice[i].cell->ranks, p->choice[i].cell->tensor, ss_turn_text(found, turn, sizeof turn));
    ss_notice_tell(notice, text);
  }
}

static bool plan(struct planning *p, struct ss_error *error) {
  const struct ss_results *results = p->results;
  p->choice = ss_alloc(results->count, sizeof *p->choice);
  if (!p->choice || !p->rows) return ss_fail_memory(error, "planning");
  for (size_t i = 0, n; i < results->count; i += n) {
    n = ss_results_in_cell(&results->result[i], results->count - i);
    if (!add_row(p, &results->result[i], n, error)) return false;
  }
  return true;
}

bool ss_study_plan(const struct ss_study *study, const struct ss_results *results, cJSON **out,
                   struct ss_error *error) {
  const struct ss_request *request = &study->request;
  cJSON *root = ss_json_object(SS_T("sparsync", SS_VERSION), SS_T("scenario", ss_study_name(study)));
  struct planning p = {.results = results, .rows = cJSON_AddArrayToObject(root, "plan")};
  const bool ok =
      (!request->turns || ss_study_turns(study, results, &request->run, &p.turns, error)) && plan(&p, error);
  if (ok) tell_turns(&p, request->notice);
  if (ok) *out = root;
  else cJSON_Delete(root);
  ss_turns_free(&p.turns);
  free(p.choice);
  return ok;
}
