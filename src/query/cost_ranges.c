/* Where closed forms lie as the links of their cluster do: the request is evaluated once more with each component
 * that is not certain dearer, and drawn as times are. */
#include "base/json.h"
#include "machine/device.h"
#include "query/query_internal.h"
#include "study/ranges.h"

/* A form of one flat link is beyond a node, however few ranks there are, and has one window. */
static struct ss_uncertainty uncertainty_at(const struct ss_cluster *c, uint32_t ranks) {
  const struct ss_device none = ss_device_none();
  struct ss_uncertainty u =
      ss_uncertainty_of(c, &none, ranks > c->gpus_per_node ? ranks : c->gpus_per_node + 1, SS_COLLECTIVES);
  u.of[SS_WINDOW] = ss_certain.of[SS_WINDOW];
  return u;
}

/* The request's answers on dearer clusters. */
struct dearer {
  struct ss_variants varied;
  cJSON *tree[SS_COMPONENTS];
};

/* Forms are linear in what a component costs: by how much it is looked at makes no difference, and neither does of
 * how many ranks it is. */
static bool evaluate(const struct ss_costs *costs, const struct ss_costs_request *asked, struct dearer *out,
                     struct ss_error *error) {
  uint32_t most = 0;
  for (size_t i = 0; i < asked->rank_counts; i++) most = asked->ranks[i] > most ? asked->ranks[i] : most;
  const struct ss_uncertainty all = uncertainty_at(asked->cluster, most);
  ss_variants_make(&out->varied, asked->cluster, &all);
  for (uint32_t v = 0; v < out->varied.count; v++) {
    struct ss_costs_request there = *asked;
    there.cluster = &out->varied.cluster[v];
    out->tree[v] = ss_costs_json(costs, &there, error);
    if (!out->tree[v]) return false;
  }
  return true;
}

static void free_dearer(struct dearer *d) {
  for (uint32_t v = 0; v < SS_COMPONENTS; v++) cJSON_Delete(d->tree[v]);
}

/* What draws say of a field of point number i; NaN: it is null. */
static struct ss_likely draw(const struct dearer *d, const cJSON *point, int i, const char *field,
                             const struct ss_cluster *cluster) {
  const double time = ss_json_number(point, field);
  double on[SS_COMPONENTS], draws[SS_RANGE_DRAWS];
  if (!isfinite(time)) return (struct ss_likely){NAN, NAN};
  for (uint32_t v = 0; v < d->varied.count; v++)
    on[v] = ss_json_number(cJSON_GetArrayItem(ss_json_get(d->tree[v], "points"), i), field);
  const struct ss_components components = ss_variants_split(&d->varied, time, on);
  const struct ss_uncertainty uncertainty = uncertainty_at(cluster, (uint32_t)ss_json_number(point, "ranks"));
  ss_draws_of(&(struct ss_uncertain){.time = time,
                                     .components = &components,
                                     .uncertainty = &uncertainty,
                                     .label = ss_json_word(point, "scheme"),
                                     .own = {1, 1}},
              draws);
  return ss_likely_of(draws);
}

bool ss_cost_add_ranges(cJSON *tree, const struct ss_costs *costs, const struct ss_costs_request *asked,
                        struct ss_error *error) {
  static const struct {
    const char *name, *one, *low, *high; /* a form, or a pair of bounds */
  } forms[] = {{"flat", "formula_s", "formula_low_s", "formula_high_s"},
               {"placed", "placed_s", "placed_s", "placed_s"},
               {"printed", "paper_s", "paper_low_s", "paper_high_s"}};
  SS_AUTO(free_dearer) struct dearer d = {.tree = {NULL}};
  if (!evaluate(costs, asked, &d, error)) return false;
  int i = 0;
  for (cJSON *p = ss_json_get(tree, "points")->child; p; p = p->next, i++)
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
      char name[32];
      struct ss_likely low = draw(&d, p, i, forms[f].one, asked->cluster), high = low;
      if (isnan(low.low)) low = draw(&d, p, i, forms[f].low, asked->cluster);
      if (isnan(high.high)) high = draw(&d, p, i, forms[f].high, asked->cluster);
      snprintf(name, sizeof name, "%s_low_s", forms[f].name);
      ss_json_add_number(p, name, low.low);
      snprintf(name, sizeof name, "%s_high_s", forms[f].name);
      ss_json_add_number(p, name, high.high);
    }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
