#include "study/plan.h"

#include "base/identity.h"
#include "base/suggest.h"
#include "schemes/registry.h"
#include "study/study_internal.h"
#include "study/window.h"

/* --- what there is to choose from ----------------------------------------------------------------------------- */

/* "zen" with "coo" behind "shard": {"name": "zen", "label": "zen coo, shard", "hierarchy": "shard"}, for the caller
 * to complete. */
/* A scheme's candidates are made option by option: of each that says so (struct ss_option), the values that it tries.
 */
struct candidates {
  cJSON *list;
  const struct ss_scheme *scheme;
  const char *hierarchy; /* of ss_hierarchies; NULL: none */
};

static bool vary(const struct candidates *c, size_t option, const cJSON *item, const char *label);

/* With the option at that value, and all of the options behind it. `label`: of the candidate so far. */
static bool vary_at(const struct candidates *c, size_t option, const cJSON *item, const char *label, const char *name,
                    cJSON *value) {
  char longer[sizeof((struct ss_setting){0}.label)];
  cJSON *own = cJSON_Duplicate(item, true);
  snprintf(longer, sizeof longer, "%.60s %.30s", label, name);
  const bool ok = ss_json_put(own, c->scheme->options[option].name, value) && vary(c, option + 1, own, longer);
  cJSON_Delete(own);
  return ok;
}

enum { TRIED_COUNT_MAX = 1024 };

static bool vary_count(const struct candidates *c, size_t option, const cJSON *item, const char *label) {
  const struct ss_option *o = &c->scheme->options[option];
  char name[64];
  bool ok = vary(c, option + 1, item, label);
  for (uint64_t n = 2; ok && n <= TRIED_COUNT_MAX; n *= 2) {
    if (n < o->low || n > o->high || (double)n == o->default_value) continue;
    snprintf(name, sizeof name, "%s=%u", o->name, (unsigned)n);
    ok = vary_at(c, option, item, label, name, cJSON_CreateNumber((double)n));
  }
  return ok;
}

/* Where "all" are tried, the default is one of them; but a library that chooses by itself does so where nothing is
 * said. */
static bool vary_choice(const struct candidates *c, size_t option, const cJSON *item, const char *label) {
  const struct ss_option *o = &c->scheme->options[option];
  const bool all = strcmp(o->tries, "all") == 0;
  char name[64]; /* where the choice alone would say the scheme twice */
  bool ok = all || vary(c, option + 1, item, label);
  for (size_t i = 0; ok && o->choices[i]; i++)
    if (all || strcmp(o->tries, o->choices[i]) == 0) {
      snprintf(name, sizeof name, "%s=%s", o->name, o->choices[i]);
      ok = vary_at(c, option, item, label, strcmp(o->choices[i], c->scheme->name) == 0 ? name : o->choices[i],
                   cJSON_CreateString(o->choices[i]));
    }
  return ok && (!all || !c->scheme->tune || c->hierarchy || vary(c, option + 1, item, label));
}

/* Takes the item. */
static bool add_candidate(const struct candidates *c, cJSON *item, const char *label) {
  char whole[sizeof((struct ss_setting){0}.label)];
  snprintf(whole, sizeof whole, "%.80s%s%s", label, c->hierarchy ? ", " : "", c->hierarchy ? c->hierarchy : "");
  if (cJSON_AddStringToObject(item, "label", whole) &&
      (!c->hierarchy || cJSON_AddStringToObject(item, "hierarchy", c->hierarchy)) &&
      cJSON_AddItemToArray(c->list, item))
    return true;
  cJSON_Delete(item);
  return false;
}

/* Appends the item with all that the options from `option` on try. */
static bool vary(const struct candidates *c, size_t option, const cJSON *item, const char *label) {
  const struct ss_option *o = c->scheme->options ? &c->scheme->options[option] : NULL;
  if (o && o->name && !o->tries) return vary(c, option + 1, item, label);
  if (o && o->name && o->kind == SS_OPTION_CHOICE) return vary_choice(c, option, item, label);
  if (o && o->name && o->kind == SS_OPTION_COUNT) return vary_count(c, option, item, label);
  if (o && o->name)
    return vary(c, option + 1, item, label) && vary_at(c, option, item, label, o->name, cJSON_CreateTrue());
  return add_candidate(c, cJSON_Duplicate(item, true), label);
}

/* Appends the item as it is offered, where its options do not try that. */
static bool add_offered(const struct candidates *c, const cJSON *item) {
  char label[sizeof((struct ss_setting){0}.label)];
  bool ok = true;
  for (const struct ss_offered *o = c->scheme->offered; ok && o && (o->option || o->offer.by[0]); o++) {
    const struct ss_option *option = c->scheme->options;
    const char *hierarchy = o->hierarchy == SS_FLAT ? NULL : ss_hierarchies[o->hierarchy];
    if (!o->option || !o->offer.by[0] || hierarchy != c->hierarchy) continue;
    while (strcmp(option->name, o->option) != 0) option++;
    if (option->tries) continue;
    const bool flag = option->kind == SS_OPTION_FLAG;
    snprintf(label, sizeof label, "%.60s %.30s=%s", c->scheme->name, o->option, o->choice);
    cJSON *own = cJSON_Duplicate(item, true);
    if (!ss_json_put(own, o->option, flag ? cJSON_CreateBool(o->choice[0] == 't') : cJSON_CreateString(o->choice))) {
      cJSON_Delete(own);
      return false;
    }
    ok = add_candidate(c, own, label);
  }
  return ok;
}

cJSON *ss_candidates(bool hierarchies, bool offered) {
  cJSON *list = cJSON_CreateArray();
  bool ok = list;
  for (size_t h = SS_FLAT; ok && ss_hierarchies[h] && (h == SS_FLAT || hierarchies); h++)
    for (const struct ss_scheme *const *s = ss_schemes(); ok && *s; s++) {
      if ((*s)->parse) continue;
      const struct candidates c = {list, *s, h == SS_FLAT ? NULL : ss_hierarchies[h]};
      cJSON *item = ss_json_object(SS_T("name", (*s)->name));
      ok = ss_json_get(item, "name") && vary(&c, 0, item, (*s)->name) && (!offered || add_offered(&c, item));
      cJSON_Delete(item);
    }
  if (ok) return list;
  cJSON_Delete(list);
  return NULL;
}

/* --- choosing ------------------------------------------------------------------------------------------- */

/* What is chosen of one tensor in one cell. */
struct choice {
  const struct ss_result *cell, *best; /* best NULL: of all tensors, each has its own */
  bool lossless, model_parallel;       /* what it is, or any of each tensor's own */
};

/* Each tensor with its own cheapest scheme: one candidate more for all of them together. */
struct each {
  struct ss_uncertain *part; /* [parts] the tensors' */
  size_t parts;
  struct ss_components components;
  double time;
  bool lossless, model_parallel;
  bool left_out; /* one of them does not fit, and the fastest for all does */
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
    out->model_parallel = out->model_parallel || c->model_parallel;
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
  char window[16];
  ss_json_add(o, SS_T("other_window", turn ? ss_window_text(turn->other, window) : NULL),
              SS_T("other_best", turn ? turn->slower->setting.label : NULL),
              SS_N("other_best_s", turn ? turn->slower_other : NAN),
              SS_N("other_time_s", turn ? turn->faster_other : NAN));
  if (turn)
    ss_json_add(o, SS_B("other_best_lossless", turn->slower->lossless),
                SS_B("other_best_model_parallel", ss_scheme_model_parallel(turn->slower->setting.scheme)));
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
              SS_J("offered", best ? ss_result_offer_json(best) : cJSON_CreateNull()), SS_N("ranks", cell->ranks),
              SS_J("at", cell->at ? cJSON_Duplicate(cell->at, 1) : cJSON_CreateObject()),
              SS_T("cluster", cell->cluster), SS_T("device", cell->device), SS_T("trace", cell->trace));
  ss_decision_add_times(o, d);
  if (d->next && d->next->of.label == each_with_its_own)
    cJSON_ReplaceItemInObjectCaseSensitive(o, "next", cJSON_CreateNull());
  ss_json_add(o, SS_N("dense_s", dense.seconds), SS_T("dense", dense.name), SS_B("lossless", row->lossless),
              SS_B("model_parallel", row->model_parallel), SS_N("energy", best ? best->energy : NAN),
              SS_N("candidates", (double)n), SS_N("peak_bytes", best ? best->peak : NAN),
              SS_N("device_memory_bytes", cell->device_memory), SS_J("unfit", unfit_json(cell, n)));
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
                                          .left_out = each.left_out,
                                          .lossy = !each.lossless,
                                          .model_parallel = each.model_parallel};
  if (!ss_decide(list, count, dense.time > 0 ? &dense : NULL, &d, error)) return false;
  const size_t best = (size_t)(d.best - list);
  struct choice *row = &p->choice[p->count++];
  *row = best < n ? (struct choice){all, &all[best], all[best].lossless,
                                    ss_scheme_model_parallel(all[best].setting.scheme)}
                  : (struct choice){all, NULL, each.lossless, each.model_parallel};
  cJSON *o = row_json(row, n, &d, turn_of(p, row->best));
  return cJSON_AddItemToArray(p->rows, o) || ss_fail_memory(error, "planning");
}

/* In three digits, a plain number in six; where these do not read back as the value, in up to nine. */
static const char *quantity_text(enum ss_dimension dimension, double value, char text[SS_AT_TEXT_SIZE]) {
  char unit[16] = "", in_one[24];
  double one = 1, back = NAN;
  if (dimension != SS_NUMBER) {
    const char *space = strchr(ss_units_format(text, SS_AT_TEXT_SIZE, dimension, value), ' ');
    snprintf(unit, sizeof unit, "%s", space ? space : "");
    snprintf(in_one, sizeof in_one, "1%s", unit);
    if (!ss_units_parse(text, dimension, &back, NULL) || !ss_units_parse(in_one, dimension, &one, NULL)) return text;
  }
  for (int digits = dimension == SS_NUMBER ? 6 : 4; digits <= 9 && !(fabs(back - value) <= 1e-12 * fabs(value));
       digits++) {
    snprintf(text, SS_AT_TEXT_SIZE, "%.*g%s", digits, value / one, unit);
    if (!ss_units_parse(text, dimension, &back, NULL)) break;
  }
  return text;
}

/* As it is written; what is too long for that as a mark that no other has. */
static const char *tree_text(const cJSON *value, char text[SS_AT_TEXT_SIZE]) {
  SS_AUTO_FREE char *whole = cJSON_PrintUnformatted(value);
  if (whole && strlen(whole) < SS_AT_TEXT_SIZE) snprintf(text, SS_AT_TEXT_SIZE, "%s", whole);
  else snprintf(text, SS_AT_TEXT_SIZE, "#%08x", (unsigned)ss_identity_of(value).low);
  return text;
}

const char *ss_at_text(const cJSON *value, char text[SS_AT_TEXT_SIZE]) {
  if (cJSON_IsString(value)) return value->valuestring;
  if (!cJSON_IsNumber(value)) return tree_text(value, text);
  if (strstr(value->string, "bandwidth")) return quantity_text(SS_RATE, value->valuedouble, text);
  return quantity_text(strstr(value->string, "latency") ? SS_TIME : SS_NUMBER, value->valuedouble, text);
}

const char *ss_at_words(const cJSON *at, bool cluster, char *text, size_t size) {
  char value[SS_AT_TEXT_SIZE];
  text[0] = '\0';
  for (const cJSON *c = at ? at->child : NULL; c; c = c->next)
    if (cluster || strcmp(c->string, "cluster") != 0)
      ss_append(text, size, "%s%s = %s", text[0] ? ", " : " at ", c->string, ss_at_text(c, value));
  return text;
}

/* Few know their library's window: who plans by it should hear where it decides. */
static void tell_turns(const struct planning *p, const struct ss_notice *notice) {
  char turn[SS_TURN_TEXT_SIZE], place[300], text[SS_TURN_TEXT_SIZE + 700];
  for (size_t i = 0; i < p->count; i++) {
    const struct ss_turn *found = turn_of(p, p->choice[i].best);
    if (!found) continue;
    const struct ss_result *cell = p->choice[i].cell;
    snprintf(text, sizeof text,
             "%u ranks on %.100s%s, tensor %.200s: the cheapest depends on the cluster's window: %s", cell->ranks,
             cell->cluster, ss_at_words(cell->at, false, place, sizeof place), cell->tensor,
             ss_turn_text(found, turn, sizeof turn));
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
/* SPDX-License-Identifier: Apache-2.0 */
