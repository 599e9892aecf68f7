#include "cost/duel.h"

#include "cost/placed.h"
#include "schemes/registry.h"
#include "schemes/simulate.h"

const struct ss_axis ss_axes[SS_OVERS] = {
    [SS_OVER_DENSITY] = {"density", SS_RATIO, 1e-4, 1},
    [SS_OVER_RANKS] = {"ranks", SS_NUMBER, 2, 256},
    [SS_OVER_BANDWIDTH] = {"bandwidth", SS_RATE, 1.25e8, 1.25e11},
    [SS_OVER_LATENCY] = {"latency", SS_TIME, 1e-7, 1e-3},
    [SS_OVER_M] = {"M", SS_BYTES, 1e6, 1e10},
};

/* --- who they are ----------------------------------------------------------------------------------------- */

static bool is_form(const struct ss_cost *cost, const char *name) {
  char form[128];
  ss_cost_form_name(cost, form, sizeof form);
  return strcmp(form, name) == 0;
}

/* The scheme of a closed form, with the options for which it holds (the first where it lists several). */
static bool set_form(struct ss_doc *doc, const struct ss_cost *cost, struct ss_error *error) {
  if (!ss_doc_set(doc, "name", cost->scheme->name, error)) return false;
  for (struct ss_node n = ss_node_first(cost->when); ss_node_present(n); n = ss_node_next(n)) {
    const struct ss_node chosen = ss_node_is_array(n) ? ss_node_first(n) : n;
    if (!ss_doc_set_item(doc, ss_node_key(n), cJSON_Duplicate(chosen.at, 1), error)) return false;
  }
  return true;
}

static bool set_name(const struct ss_costs *costs, struct ss_doc *doc, const char *name, struct ss_error *error) {
  const char *names[64] = {NULL};
  if (ss_scheme_find(name)) return ss_doc_set_item(doc, "name", cJSON_CreateString(name), error);
  for (size_t i = 0; i < costs->count; i++)
    if (is_form(&costs->cost[i], name)) return set_form(doc, &costs->cost[i], error);
  if (strchr(name, ',') && !strchr(name, ':'))
    return ss_fail(error, SS_BAD_INPUT, "\"%s\": say one at a time, with spaces between (zen allgather)", name);
  for (size_t i = 0; ss_schemes()[i] && i < 63; i++) names[i] = ss_schemes()[i]->name;
  return ss_fail(error, SS_BAD_INPUT, "no scheme and no closed form is called \"%s\"%s", name,
                 ss_suggest(name, names, "sparsync list schemes and list costs show them").text);
}

static bool read_scheme(const struct ss_costs *costs, const char *text, struct ss_doc **doc, struct ss_error *error) {
  if (text[0] == '{') return ss_doc_parse(text, text, strlen(text), doc, error);
  char copy[1024];
  if (strlen(text) >= sizeof copy) return ss_fail(error, SS_BAD_INPUT, "a scheme and its options are shorter");
  memcpy(copy, text, strlen(text) + 1);
  char *options = ss_setting_split(copy);
  if (!ss_doc_empty(text, doc, error)) return false;
  return set_name(costs, *doc, copy, error) && ss_setting_set_options(*doc, options, error);
}

bool ss_duel_side_read(const struct ss_costs *costs, const struct ss_supposition *with, const char *text,
                       struct ss_duel_side *side, struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = (uint32_t)with->index_bytes};
  if (!read_scheme(costs, text, &side->doc, error) ||
      !ss_setting_read(ss_doc_root(side->doc), &defaults, &side->setting, error))
    return false;
  const bool labelled = ss_node_present(ss_node_get(ss_doc_root(side->doc), "label"));
  snprintf(side->label, sizeof side->label, "%s", labelled || text[0] == '{' ? side->setting.label : text);
  return true;
}

bool ss_duel_open(struct ss_duel *duel, const char *a, const char *b, struct ss_error *error) {
  return ss_duel_side_read(duel->costs, duel->with, a, &duel->side[0], error) &&
         ss_duel_side_read(duel->costs, duel->with, b, &duel->side[1], error) &&
         (!cJSON_Compare(ss_doc_root(duel->side[0].doc).at, ss_doc_root(duel->side[1].doc).at, true) ||
          ss_fail(error, SS_BAD_INPUT,
                  "%s and %s are one scheme: name two (options tell them apart: %s:OPTION=VALUE)", a, b,
                  duel->side[0].setting.scheme->name));
}

void ss_duel_close(struct ss_duel *duel) {
  for (int i = 0; i < 2; i++) ss_doc_free(duel->side[i].doc);
}

uint32_t ss_duel_move(struct ss_duel *duel, double x) {
  switch (duel->over) {
  case SS_OVER_DENSITY: duel->with->density = x; break;
  case SS_OVER_RANKS: duel->ranks = (uint32_t)x; break;
  case SS_OVER_BANDWIDTH: duel->cluster.inter.beta = 1 / x; break;
  case SS_OVER_LATENCY: duel->cluster.inter.alpha = x; break;
  case SS_OVER_M: duel->with->bytes = x; break;
  case SS_OVERS: break;
  }
  if (!duel->cluster.has_intra) duel->cluster.intra = duel->cluster.inter;
  return duel->ranks;
}

/* --- closed forms ----------------------------------------------------------------------------------------- */

const char *const ss_form_names[SS_FORMS + 1] = {"exact", "paper", "low", "high", "nodes", NULL};

static double value_of(enum ss_form form, const struct ss_cost_values *values, const struct ss_placed *placed) {
  switch (form) {
  case SS_FORM_EXACT: return values->exact;
  case SS_FORM_PAPER: return values->paper;
  case SS_FORM_LOW: return isnan(values->exact) ? values->exact_low : values->exact;
  case SS_FORM_HIGH: return isnan(values->exact) ? values->exact_high : values->exact;
  case SS_FORM_NODES: return placed->exact ? placed->seconds : NAN;
  case SS_FORMS: break;
  }
  return NAN;
}

/* The symbols as the setting has them: its own options before those of the command line, elements for rows under
 * element granularity, lookups for rows where duplicates are sent. */
static void adjust(const struct ss_setting *setting, uint32_t servers, struct ss_symbols *s) {
  if (!ss_setting_coalesces(setting)) s->nnz = s->lookups;
  if (ss_setting_by_elements(setting)) {
    s->R *= s->w;
    s->nnz *= s->w;
    s->lookups *= s->w;
    s->w = 1;
  }
  struct ss_symbols own = *s;
  ss_setting_symbols(setting, &own);
  if (ss_setting_given(setting, "k") || ss_setting_given(setting, "density")) s->k = own.k;
  if (ss_setting_given(setting, "teams")) s->D = own.D;
  s->chunks = own.chunks;
  if (ss_setting_given(setting, "block")) s->b = own.b;
  s->index_bytes = setting->index_bytes;
  s->S = servers;
}

static uint32_t servers_of(const struct ss_supposition *with, const struct ss_setting *setting,
                           struct ss_layout layout) {
  const bool free_to_say = ss_setting_find(setting, "servers") && !ss_setting_given(setting, "servers");
  if (with->servers > 0 && free_to_say) return (uint32_t)with->servers;
  return ss_setting_servers(setting, layout);
}

/* Why the form that counts has none. */
static bool no_value(const struct ss_duel *duel, const struct ss_duel_side *side, const struct ss_cost *cost,
                     const struct ss_placed *placed, struct ss_error *error) {
  const char *why = "there is no exact form";
  if (duel->form == SS_FORM_PAPER) why = "nothing is printed for it";
  else if (duel->form == SS_FORM_NODES && cost->exact)
    why = isnan(placed->seconds) ? "not known on these nodes" : "only a bound is known on these nodes";
  const bool bounds = cost->exact_low && duel->form != SS_FORM_NODES;
  return ss_fail(error, SS_BAD_INPUT, "%s: %s%s (--simulate plays it)", side->label, why,
                 bounds ? ", only bounds: --form low or --form high takes one" : "");
}

bool ss_duel_side_suppose(const struct ss_duel_side *side, const struct ss_duel_setup *at, struct ss_supposed *out,
                          const struct ss_cost **cost, struct ss_error *error) {
  const struct ss_layout layout = ss_layout_of(at->cluster, at->ranks);
  *cost = NULL;
  if (!ss_setting_check(&side->setting, layout, error)) return ss_fail_prefix(error, "%s", side->label);
  const uint32_t servers = servers_of(at->with, &side->setting, layout);
  *cost = ss_costs_find(at->costs, &side->setting, at->ranks, servers);
  if (!*cost) return true;
  if (!ss_suppose(at->with, &side->setting, at->cluster, at->ranks, out, error)) return false;
  adjust(&side->setting, servers, &out->symbols);
  return true;
}

static bool form_cost(struct ss_duel *duel, struct ss_duel_side *side, double *out, struct ss_error *error) {
  const struct ss_duel_setup at = {duel->costs, duel->with, &duel->cluster, duel->ranks};
  struct ss_cost_values values;
  struct ss_placed placed = {.seconds = NAN};
  struct ss_supposed supposed;
  const struct ss_cost *cost;
  if (!ss_duel_side_suppose(side, &at, &supposed, &cost, error)) return false;
  if (!cost)
    return ss_fail(error, SS_BAD_INPUT, "%s: no closed form at %u ranks (--simulate plays it)", side->label,
                   duel->ranks);
  struct ss_cost_placing placing = {.cost = cost, .setting = &side->setting, .symbols = &supposed.symbols};
  if (!ss_cost_evaluate(cost, &supposed.symbols, &values, error) ||
      (duel->form == SS_FORM_NODES && !ss_cost_place(&placing, &duel->cluster, &placed, error)))
    return false;
  *out = value_of(duel->form, &values, &placed);
  if (isnan(*out)) return no_value(duel, side, cost, &placed, error);
  side->several = side->several || (side->first && side->first != cost);
  if (!side->first) side->first = cost;
  return true;
}

bool ss_duel_forms(void *context, double x, double cost[2], struct ss_error *error) {
  struct ss_duel *duel = context;
  if (ss_duel_move(duel, x) < 2) return ss_fail(error, SS_BAD_INPUT, "a single rank sends nothing");
  if (duel->with->density > 1) return ss_fail(error, SS_BAD_INPUT, "the density is above 1");
  return form_cost(duel, &duel->side[0], &cost[0], error) && form_cost(duel, &duel->side[1], &cost[1], error);
}
/* SPDX-License-Identifier: Apache-2.0 */
