#include "study/duel.h"

#include "base/list.h"
#include "base/memory.h"
#include "cost/grid.h"
#include "schemes/schemes.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- who they are ----------------------------------------------------------------------------------------- */

/* "zen-coo" of ".../zen-coo.json" */
static bool is_form(const struct ss_cost *cost, const char *name) {
  const char *slash = strrchr(cost->file, '/'), *base = slash ? slash + 1 : cost->file, *dot = strrchr(base, '.');
  const size_t length = dot ? (size_t)(dot - base) : strlen(base);
  return strlen(name) == length && strncmp(base, name, length) == 0;
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

static bool set_name(const struct ss_duel *duel, struct ss_doc *doc, const char *name, struct ss_error *error) {
  const char *names[64] = {NULL};
  if (ss_scheme_find(name)) return ss_doc_set_item(doc, "name", cJSON_CreateString(name), error);
  for (size_t i = 0; i < duel->costs.count; i++)
    if (is_form(&duel->costs.cost[i], name)) return set_form(doc, &duel->costs.cost[i], error);
  for (size_t i = 0; ss_schemes()[i] && i < 63; i++) names[i] = ss_schemes()[i]->name;
  const char *near = ss_nearest(name, names);
  return ss_fail(error, SS_BAD_INPUT, "no scheme and no closed form is called \"%s\"%s%s%s", name,
                 near ? " (did you mean \"" : " (sparsync list schemes and list costs show them)", near ? near : "",
                 near ? "\"?)" : "");
}

static bool set_options(struct ss_doc *doc, char *options, struct ss_error *error) {
  for (char *pair; (pair = strsep(&options, ","));) {
    char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
      return ss_fail(error, SS_BAD_INPUT, "\"%s\" is not an option with its value (say zen:format=coo)", pair);
    *equals = '\0';
    if (!ss_doc_set(doc, pair, equals + 1, error)) return false;
  }
  return true;
}

static bool read_scheme(const struct ss_duel *duel, const char *text, struct ss_doc **doc, struct ss_error *error) {
  if (text[0] == '{') return ss_doc_parse(text, text, strlen(text), doc, error);
  char copy[1024];
  if (strlen(text) >= sizeof copy) return ss_fail(error, SS_BAD_INPUT, "a scheme and its options are shorter");
  memcpy(copy, text, strlen(text) + 1);
  char *colon = strchr(copy, ':');
  if (colon && !strchr(colon, '=')) colon = NULL; /* design:C/A/P is a name */
  if (colon) *colon = '\0';
  if (!ss_doc_empty(text, doc, error)) return false;
  return set_name(duel, *doc, copy, error) && (!colon || set_options(*doc, colon + 1, error));
}

static bool read_side(const struct ss_duel *duel, const char *text, struct ss_duel_side *side,
                      struct ss_error *error) {
  const struct ss_setting defaults = {.index_bytes = (uint32_t)duel->forms->index_bytes};
  if (!read_scheme(duel, text, &side->doc, error) ||
      !ss_setting_read(ss_doc_root(side->doc), &defaults, &side->setting, error))
    return false;
  const bool labelled = ss_node_present(ss_node_get(ss_doc_root(side->doc), "label"));
  snprintf(side->label, sizeof side->label, "%s", labelled || text[0] == '{' ? side->setting.label : text);
  return true;
}

bool ss_duel_open(struct ss_duel *duel, const char *a, const char *b, struct ss_error *error) {
  return ss_costs_open(duel->forms->file, duel->forms->files, &duel->costs, error) &&
         read_side(duel, a, &duel->side[0], error) && read_side(duel, b, &duel->side[1], error);
}

void ss_duel_close(struct ss_duel *duel) {
  for (int i = 0; i < 2; i++)
    if (duel->side[i].doc) ss_doc_free(duel->side[i].doc);
  ss_costs_close(&duel->costs);
  free(duel->rounding);
  duel->rounding = NULL;
}

/* What varies takes its value. */
static uint32_t move_to(struct ss_duel *duel, double x) {
  switch (duel->over) {
  case SS_OVER_DENSITY: duel->forms->density = x; break;
  case SS_OVER_RANKS: duel->ranks = (uint32_t)x; break;
  case SS_OVER_BANDWIDTH: duel->cluster.inter.beta = 1 / x; break;
  case SS_OVER_LATENCY: duel->cluster.inter.alpha = x; break;
  case SS_OVER_M: duel->forms->bytes = x; break;
  case SS_OVERS: break;
  }
  if (duel->tick) duel->tick(duel->tick_context);
  return duel->ranks;
}

/* --- closed forms ----------------------------------------------------------------------------------------- */

static double value_of(enum ss_form form, const struct ss_cost_values *values) {
  switch (form) {
  case SS_FORM_EXACT: return values->exact;
  case SS_FORM_PAPER: return values->paper;
  case SS_FORM_LOW: return isnan(values->exact) ? values->exact_low : values->exact;
  case SS_FORM_HIGH: return isnan(values->exact) ? values->exact_high : values->exact;
  }
  return NAN;
}

static bool said(const struct ss_setting *setting, const char *option) {
  return ss_setting_has(setting, option) && ss_setting_given(setting, option);
}

/* The symbols as the setting has them: its own options before those of the command line, elements for rows under
 * element granularity, lookups for rows where duplicates are sent. */
static void adjust(const struct ss_setting *setting, uint32_t servers, struct ss_symbols *s) {
  const struct ss_scheme *scheme = setting->scheme;
  if (scheme->uncoalesced && scheme->uncoalesced(setting)) s->nnz = s->lookups;
  if (setting->element && !scheme->keeps_rows) {
    s->R *= s->w;
    s->nnz *= s->w;
    s->lookups *= s->w;
    s->w = 1;
  }
  struct ss_symbols own = *s;
  ss_setting_symbols(setting, &own);
  if (said(setting, "k") || said(setting, "density")) s->k = own.k;
  if (said(setting, "teams")) s->D = own.D;
  if (said(setting, "block")) s->b = own.b;
  s->index_bytes = setting->index_bytes;
  s->S = servers;
}

static uint32_t servers_of(const struct ss_duel *duel, const struct ss_setting *setting, struct ss_layout layout) {
  const bool free_to_say = ss_setting_has(setting, "servers") && !said(setting, "servers");
  if (duel->forms->servers > 0 && free_to_say) return (uint32_t)duel->forms->servers;
  return ss_setting_servers(setting, layout);
}

static bool form_cost(struct ss_duel *duel, struct ss_duel_side *side, double *out, struct ss_error *error) {
  const struct ss_layout layout = ss_layout_of(&duel->cluster, duel->ranks);
  struct ss_cost_values values;
  struct ss_forms_place place;
  if (!ss_setting_check(&side->setting, layout, error)) return ss_fail_prefix(error, "%s", side->label);
  const uint32_t servers = servers_of(duel, &side->setting, layout);
  const struct ss_cost *cost = ss_costs_find(&duel->costs, &side->setting, duel->ranks, servers);
  if (!cost)
    return ss_fail(error, SS_BAD_INPUT, "%s: no closed form at %u ranks (--simulate plays it)", side->label,
                   duel->ranks);
  ss_forms_place(duel->forms, &side->setting, &duel->cluster, duel->ranks, &place);
  adjust(&side->setting, servers, &place.symbols);
  if (!ss_cost_evaluate(cost, &place.symbols, &values, error)) return false;
  *out = value_of(duel->form, &values);
  if (isnan(*out))
    return ss_fail(error, SS_BAD_INPUT, "%s: %s%s (--simulate plays it)", side->label,
                   duel->form == SS_FORM_PAPER ? "nothing is printed for it" : "there is no exact form",
                   cost->exact_low ? ", only bounds: --form low or --form high takes one" : "");
  side->several = side->several || (side->first && side->first != cost);
  if (!side->first) side->first = cost;
  return true;
}

bool ss_duel_forms(void *context, double x, double cost[2], struct ss_error *error) {
  struct ss_duel *duel = context;
  if (move_to(duel, x) < 2) return ss_fail(error, SS_BAD_INPUT, "a single rank sends nothing");
  if (duel->forms->density > 1) return ss_fail(error, SS_BAD_INPUT, "the density is above 1");
  return form_cost(duel, &duel->side[0], &cost[0], error) && form_cost(duel, &duel->side[1], &cost[1], error);
}

/* --- simulation ------------------------------------------------------------------------------------------- */

/* The nearest multiple, at least one. */
static double nearest_multiple(double wanted, double unit) {
  return fmax(1, nearbyint(wanted / unit)) * unit;
}

/* The uniform tensor nearest to what is asked of which every part of either scheme has the same whole number of rows,
 * and of non-zero ones. */
static bool round_size(struct ss_duel *duel, double x, struct ss_rounding *out, struct ss_error *error) {
  const struct ss_forms_call *c = duel->forms;
  const struct ss_layout layout = ss_layout_of(&duel->cluster, duel->ranks);
  const double row = (double)c->row_width * (double)c->value_bytes;
  uint64_t unit = 1;
  for (int i = 0; i < 2; i++) {
    const struct ss_duel_side *side = &duel->side[i];
    if (!ss_setting_check(&side->setting, layout, error)) return ss_fail_prefix(error, "%s", side->label);
    const uint64_t parts = ss_setting_parts(&side->setting, layout);
    if (parts > 1) unit = ss_common_multiple(unit, parts);
  }
  *out = (struct ss_rounding){.at = x, .rows_wanted = c->bytes / row, .density_wanted = c->density};
  out->rows = nearest_multiple(out->rows_wanted, (double)unit);
  out->density = fmin(nearest_multiple(out->rows * c->density, (double)unit) / out->rows, 1);
  if (out->rows <= UINT32_MAX) return true;
  return ss_fail(error, SS_BAD_INPUT, "%.3g rows are more than can be played (--row-width says how wide they are)",
                 out->rows);
}

static bool note_rounding(struct ss_duel *duel, const struct ss_rounding *r, struct ss_error *error) {
  if (fabs(r->rows - r->rows_wanted) <= 1e-9 * r->rows_wanted &&
      fabs(r->density - r->density_wanted) <= 1e-9 * r->density_wanted)
    return true;
  if (!ss_grow_by_one(duel->rounding, duel->roundings)) return ss_fail_memory(error, "simulating");
  duel->rounding[duel->roundings++] = *r;
  return true;
}

/* "trace={...}" of the uniform tensor, or NULL. */
static char *trace_text(const struct ss_forms_call *c, const struct ss_rounding *size) {
  static const char *const overlaps[] = {"random", "full", "none"};
  char text[400];
  snprintf(
      text, sizeof text,
      "trace={\"uniform\":{\"rows\":%.0f,\"row_width\":%llu,\"density\":%.17g,\"overlap\":\"%s\",\"dtype\":\"%s\"}}",
      size->rows, (unsigned long long)c->row_width, size->density, overlaps[c->kind],
      c->value_bytes == 2 ? "F16" : "F32");
  return strdup(text);
}

/* "schemes=[...]" of both under labels that cannot be the same, or NULL. */
static char *schemes_text(const struct ss_duel *duel) {
  static const char *const labels[] = {"a", "b"};
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; list && i < 2; i++) {
    cJSON *item = cJSON_Duplicate(ss_doc_root(duel->side[i].doc).at, 1);
    cJSON_DeleteItemFromObjectCaseSensitive(item, "label");
    cJSON_AddStringToObject(item, "label", labels[i]);
    cJSON_AddItemToArray(list, item);
  }
  char *json = list ? cJSON_PrintUnformatted(list) : NULL, *text = NULL;
  cJSON_Delete(list);
  if (json && asprintf(&text, "schemes=%s", json) < 0) text = NULL;
  cJSON_free(json);
  return text;
}

static bool play(const struct ss_request *request, const struct ss_duel *duel, double cost[2],
                 struct ss_error *error) {
  const struct ss_run_options options = {.jobs = duel->call->options.jobs, .quiet = true};
  struct ss_scenario *scenario;
  struct ss_points points = {0};
  if (!ss_scenario_open(request, &scenario, error)) return false;
  bool ok = ss_points_run(scenario, &duel->costs, &options, NULL, &points, error);
  if (ok && points.count != 2) ok = ss_fail(error, SS_BAD_INPUT, "%zu points for two schemes", points.count);
  for (int i = 0; ok && i < 2; i++) cost[i] = points.point[i].time;
  if (ok) ss_points_free(&points);
  ss_scenario_close(scenario);
  return ok;
}

bool ss_duel_simulate(void *context, double x, double cost[2], struct ss_error *error) {
  struct ss_duel *duel = context;
  const uint32_t ranks = move_to(duel, x);
  struct ss_rounding size;
  char count[16], index_bytes[32], bandwidth[40], latency[40];
  if (ranks < 2) return ss_fail(error, SS_BAD_INPUT, "a single rank sends nothing");
  if (!round_size(duel, x, &size, error) || !note_rounding(duel, &size, error)) return false;
  snprintf(count, sizeof count, "%u", ranks);
  snprintf(index_bytes, sizeof index_bytes, "index_bytes=%llu", (unsigned long long)duel->forms->index_bytes);
  snprintf(bandwidth, sizeof bandwidth, "%.17g", 1 / duel->cluster.inter.beta);
  snprintf(latency, sizeof latency, "%.17g", duel->cluster.inter.alpha);
  SS_AUTO_FREE char *trace = trace_text(duel->forms, &size);
  SS_AUTO_FREE char *schemes = schemes_text(duel);
  if (!trace || !schemes) return ss_fail_memory(error, "simulating");
  const char *set[] = {trace, schemes, index_bytes};
  const struct ss_request request = {.cluster = duel->call->request.cluster ? duel->call->request.cluster
                                                                            : "p3.16xlarge-25g",
                                     .ranks = count,
                                     .bandwidth = bandwidth,
                                     .latency = latency,
                                     .no_verify = true,
                                     .set = set,
                                     .sets = 3};
  return play(&request, duel, cost, error);
}
