#include "study/crossover.h"

#include "cost/form_grid.h"
#include "study/compute.h"
#include "study/study.h"

/* --- simulation ------------------------------------------------------------------------------------------- */

/* The nearest multiple, at least one. */
static double nearest_multiple(double wanted, double unit) {
  return fmax(1, nearbyint(wanted / unit)) * unit;
}

/* The uniform tensor nearest to what is asked of which every part of either scheme has the same whole number of rows,
 * and of non-zero ones. */
static bool round_size(const struct ss_crossover_study *s, double x, struct ss_rounding *out,
                       struct ss_error *error) {
  const struct ss_supposition *c = s->duel.with;
  const struct ss_layout layout = ss_layout_of(&s->duel.cluster, s->duel.ranks);
  const double row = (double)c->row_width * (double)c->value_bytes;
  uint64_t unit = 1;
  for (int i = 0; i < 2; i++) {
    const struct ss_duel_side *side = &s->duel.side[i];
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

static bool note_rounding(struct ss_crossover_study *s, const struct ss_rounding *r, struct ss_error *error) {
  if (fabs(r->rows - r->rows_wanted) <= 1e-9 * r->rows_wanted &&
      fabs(r->density - r->density_wanted) <= 1e-9 * r->density_wanted)
    return true;
  if (!ss_grow_by_one(s->rounding, s->roundings)) return ss_fail_memory(error, "simulating");
  s->rounding[s->roundings++] = *r;
  return true;
}

/* A scenario of both schemes at one position. */
struct trial {
  cJSON *document;
  struct ss_rounding size;
};

/* The duel's tensor; NULL: an error. */
static cJSON *uniform_of(const struct ss_supposition *c, const struct ss_rounding *size, struct ss_error *error) {
  if (size->rows * (double)c->row_width * (double)c->value_bytes > (double)SS_TENSOR_BYTES_MAX) {
    (void)ss_fail(error, SS_BAD_INPUT, "%.0f rows of %llu elements are more than 2^53 bytes", size->rows,
                  (unsigned long long)c->row_width);
    return NULL;
  }
  return ss_json_object(SS_N("rows", size->rows), SS_N("row_width", (double)c->row_width),
                        SS_N("density", size->density), SS_T("overlap", ss_gamma_names[c->kind]),
                        SS_T("dtype", c->value_bytes == 4 ? "F32" : "F16"));
}

static cJSON *schemes_of(const struct ss_duel *duel) {
  static const char *const labels[] = {"a", "b"}; /* which cannot be the same */
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; i < 2; i++) {
    cJSON *scheme = cJSON_Duplicate(ss_doc_root(duel->side[i].doc).at, true);
    (void)ss_json_put(scheme, "label", cJSON_CreateString(labels[i]));
    cJSON_AddItemToArray(list, scheme);
  }
  return list;
}

/* Its document is to be deleted, also after a failure. */
static bool set_trial(struct ss_crossover_study *s, double x, struct trial *p, struct ss_error *error) {
  const uint32_t ranks = ss_duel_move(&s->duel, x);
  *p = (struct trial){.document = NULL};
  if (ranks < 2) return ss_fail(error, SS_BAD_INPUT, "a single rank sends nothing");
  if (!round_size(s, x, &p->size, error)) return false;
  cJSON *uniform = uniform_of(s->duel.with, &p->size, error);
  if (!uniform) return false;
  p->document = cJSON_CreateObject();
  cJSON_AddItemToObject(cJSON_AddObjectToObject(p->document, "trace"), "uniform", uniform);
  ss_json_add(p->document, SS_N("ranks", ranks), SS_N("index_bytes", (double)s->duel.with->index_bytes),
              SS_T("sizes", "free"), SS_T("ragged", "v"), /* as forms have it, whatever the library does */
              SS_J("schemes", schemes_of(&s->duel)));
  cJSON_AddFalseToObject(p->document, "verify");
  return p->document || ss_fail_memory(error, "simulating");
}

static bool open_trial(const struct ss_crossover_study *s, const struct trial *p, struct ss_study **out,
                       struct ss_error *error) {
  const struct ss_request request = {
      .document = p->document, .costs = s->duel.costs, .cluster = &s->duel.cluster, .certain = s->certain};
  return ss_study_open(&request, out, error);
}

/* About what playing x takes: entries that ranks list, and messages of all with all. */
static double work_at(struct ss_crossover_study *s, double x) {
  const double ranks = ss_duel_move(&s->duel, x);
  const struct ss_supposition *c = s->duel.with;
  const double rows = c->bytes / ((double)c->row_width * (double)c->value_bytes);
  return ranks * rows * c->density + ranks * ranks;
}

/* Known before the first position is played: the dearest positions are the last. What cannot be had there for other
 * reasons is told where it is come by. */
static bool fits(struct ss_crossover_study *s, double x, struct ss_error *error) {
  struct trial p;
  struct ss_error why = {.status = SS_OK};
  SS_AUTO_STUDY struct ss_study *study = NULL;
  size_t count;
  bool ok = set_trial(s, x, &p, &why);
  if (ok) ok = open_trial(s, &p, &study, &why);
  const struct ss_point *job = ok ? ss_study_points(study, &count) : NULL;
  for (size_t i = 0; ok && i < count; i++) {
    struct ss_point named = job[i];
    snprintf(named.setting.label, sizeof named.setting.label, "%s", s->duel.side[i > 0].label);
    ok = ss_point_fits(&named, named.verify, &why);
  }
  cJSON_Delete(p.document);
  if (ok || why.status != SS_MACHINE) return true;
  return ss_fail(error, SS_MACHINE, "%s = %g: %s", ss_axes[s->duel.over].name, x, why.text);
}

static bool play(const struct ss_crossover_study *s, const struct trial *trial, struct ss_crossover_place *out,
                 struct ss_error *error) {
  const struct ss_watcher within = {.stops = s->watcher ? s->watcher->stops : NULL,
                                    .context = s->watcher ? s->watcher->context : NULL};
  const struct ss_run_options options = {.jobs = s->jobs, .watcher = &within};
  SS_AUTO_STUDY struct ss_study *study = NULL;
  SS_AUTO(ss_results_free) struct ss_results results = {0};
  if (!open_trial(s, trial, &study, error)) return false;
  const bool ok = ss_study_run(study, &options, &results, error);
  for (int i = 0; ok && i < 2; i++) {
    out->time[i] = results.result[i].time;
    out->components[i] = results.result[i].components;
    out->uncertainty[i] = results.result[i].uncertainty;
  }
  return ok;
}

static bool add_place(struct ss_crossover_study *s, const struct ss_crossover_place *place, struct ss_error *error) {
  if (!ss_grow_by_one(s->place, s->places)) return ss_fail_memory(error, "drawing links");
  s->place[s->places++] = *place;
  return true;
}

/* The two costs at x by simulation, for struct ss_crossover_search. */
static bool simulate(void *context, double x, double cost[2], struct ss_error *error) {
  struct ss_crossover_study *s = context;
  struct ss_crossover_place here = {.x = x};
  struct trial p;
  bool ok = set_trial(s, x, &p, error) && note_rounding(s, &p.size, error) && play(s, &p, &here, error);
  cJSON_Delete(p.document);
  if (ok && !s->certain) ok = add_place(s, &here, error);
  for (int i = 0; i < 2; i++) cost[i] = here.time[i];
  /* refining goes on beyond the grid */
  ss_watcher_advance(s->watcher, s->probed++ < s->wanted ? 1 : 0, work_at(s, x), s->whole);
  return ok;
}

/* A change of the winner takes some more positions to be found; that there is one, in the middle, is a guess. */
static double whole_work(struct ss_crossover_study *s, const struct ss_crossover_search *search) {
  enum { REFINING = 6 };
  double whole = REFINING * work_at(s, sqrt(s->low * s->high));
  for (uint32_t i = 0; i < ss_crossover_positions(search); i++) whole += work_at(s, ss_crossover_position(search, i));
  return whole;
}

/* --- draws ------------------------------------------------------------------------------------------------ */

/* Of which ranks; beyond one node, as forms of one flat link have it. */
static struct ss_uncertainty uncertainty_of(const struct ss_crossover_study *s) {
  const struct ss_device none = ss_device_none();
  const struct ss_cluster *c = &s->duel.cluster;
  const bool over_ranks = s->duel.over == SS_OVER_RANKS && s->found.crossings > 0;
  const uint32_t asked = over_ranks ? (uint32_t)s->found.crossing[0].at : s->duel.ranks;
  const bool flat = s->duel.form != SS_FORM_NODES && asked <= c->gpus_per_node;
  return ss_uncertainty_of(c, &none, flat ? c->gpus_per_node + 1 : asked, SS_COLLECTIVES);
}

/* False: there are no costs, for a reason that the search has told. */
static bool price(struct ss_duel *duel, const struct ss_cluster *cluster, const struct ss_variants *varied,
                  struct ss_crossover_place *out) {
  double on[SS_COMPONENTS][2], of_one[SS_COMPONENTS];
  struct ss_error ignored;
  duel->cluster = *cluster;
  if (!ss_duel_forms(duel, out->x, out->time, &ignored)) return false;
  for (uint32_t v = 0; v < varied->count; v++) {
    duel->cluster = varied->cluster[v];
    if (!ss_duel_forms(duel, out->x, on[v], &ignored)) return false;
  }
  for (int i = 0; i < 2; i++) {
    for (uint32_t v = 0; v < varied->count; v++) of_one[v] = on[v][i];
    out->components[i] = ss_variants_split(varied, out->time[i], of_one);
  }
  return true;
}

/* Of forms. */
static bool price_all(struct ss_crossover_study *s, const struct ss_crossover_search *search,
                      struct ss_error *error) {
  const struct ss_cluster cluster = s->duel.cluster;
  struct ss_uncertainty uncertainty = uncertainty_of(s);
  struct ss_variants varied;
  bool ok = true;
  uncertainty.of[SS_WINDOW] = ss_certain.of[SS_WINDOW]; /* forms have one */
  ss_variants_make(&varied, &cluster, &uncertainty);
  for (uint32_t i = 0; ok && i < ss_crossover_positions(search); i++) {
    struct ss_crossover_place p = {.x = ss_crossover_position(search, i), .uncertainty = {uncertainty, uncertainty}};
    if (price(&s->duel, &cluster, &varied, &p)) ok = add_place(s, &p, error);
  }
  s->duel.cluster = cluster;
  return ok;
}

static int by_x(const void *a, const void *b) {
  const double x = ((const struct ss_crossover_place *)a)->x, y = ((const struct ss_crossover_place *)b)->x;
  return (x > y) - (x < y);
}

/* The logarithm of b's time to a's in a draw: above 0 where a is cheaper. */
static double lead(const struct ss_crossover_place *p, const struct ss_drawn drawn[2]) {
  double time[2];
  for (int i = 0; i < 2; i++) {
    time[i] = ss_components_time(&p->components[i], p->time[i], drawn[i].component) * drawn[i].model;
  }
  return log(time[1] / time[0]);
}

/* Where the line between two places is 0, on logarithms; of whole numbers the second. */
static double between(const struct ss_crossover_study *s, size_t i, double before, double after) {
  const double low = log(s->place[i - 1].x), high = log(s->place[i].x);
  return s->duel.over == SS_OVER_RANKS ? s->place[i].x : exp(low + (high - low) * before / (before - after));
}

/* Where a draw has the crossing: the nearest change from the one to the other; where there is none, at the end of the
 * range towards which it went. */
static double where(const struct ss_crossover_study *s, const double *leads, const struct ss_crossing *crossing) {
  const double sign = crossing->below < 0 ? 1 : -1;
  double at = NAN;
  size_t here = 0;
  for (size_t i = 1; i < s->places; i++) {
    if (s->place[i].x <= crossing->at) here = i;
    if (!(sign * leads[i - 1] > 0 && sign * leads[i] <= 0)) continue;
    const double x = between(s, i, leads[i - 1], leads[i]);
    if (isnan(at) || fabs(log(x / crossing->at)) < fabs(log(at / crossing->at))) at = x;
  }
  return !isnan(at) ? at : sign * leads[here] > 0 ? s->place[s->places - 1].x : s->place[0].x;
}

/* The place of each crossing in each draw, and `leads` [draws][places]; in how many one scheme is cheaper everywhere,
 * as it is without. */
static void play_draws(struct ss_crossover_study *s, double *leads, double *at) {
  const struct ss_crossover_place *of = s->place; /* how sure all are: as at the first crossing */
  while (s->found.crossings > 0 && of + 1 < s->place + s->places && of[1].x <= s->found.crossing[0].at) of++;
  const double sign = s->found.part[0].winner < 0 ? 1 : -1;
  size_t alike = 0;
  for (uint32_t d = 0; d < SS_RANGE_DRAWS; d++, leads += s->places) {
    const struct ss_drawn drawn[2] = {ss_draw_of(&of->uncertainty[0], s->duel.side[0].label, d),
                                      ss_draw_of(&of->uncertainty[1], s->duel.side[1].label, d)};
    bool same = true;
    for (size_t i = 0; i < s->places; i++) {
      leads[i] = lead(&s->place[i], drawn);
      same = same && sign * leads[i] > 0;
    }
    alike += same;
    for (size_t i = 0; i < s->found.crossings; i++)
      at[i * SS_RANGE_DRAWS + d] = where(s, leads, &s->found.crossing[i]);
  }
  if (s->found.crossings == 0 && s->found.part[0].winner) s->always = (double)alike / SS_RANGE_DRAWS;
}

/* At each place 90% of the draws of the ratio lie between; of the part the least and the most of these. */
static struct ss_likely apart_in(const struct ss_crossover_study *s, const struct ss_crossover_part *part,
                                 const double *leads) {
  struct ss_likely out = {NAN, NAN};
  for (size_t i = 0; part->winner && i < s->places; i++) {
    double draws[SS_RANGE_DRAWS];
    if (s->place[i].x < part->from || s->place[i].x > part->to) continue;
    for (size_t d = 0; d < SS_RANGE_DRAWS; d++) draws[d] = exp(-part->winner * leads[d * s->places + i]);
    const struct ss_likely here = ss_likely_of(draws);
    out = (struct ss_likely){fmin(out.low, here.low), fmax(out.high, here.high)};
  }
  return out;
}

static bool add_ranges(struct ss_crossover_study *s, const struct ss_crossover_search *search,
                       struct ss_error *error) {
  const size_t crossings = s->found.crossings;
  if (!s->simulated && !price_all(s, search, error)) return false;
  SS_AUTO_FREE double *leads = ss_alloc(s->places * SS_RANGE_DRAWS, sizeof *leads);
  SS_AUTO_FREE double *at = ss_alloc(crossings * SS_RANGE_DRAWS, sizeof *at);
  s->likely = ss_alloc(crossings, sizeof *s->likely);
  s->apart = ss_alloc(s->found.parts, sizeof *s->apart);
  if (!leads || !at || !s->likely || !s->apart) return ss_fail_memory(error, "drawing links");
  if (s->places > 0) qsort(s->place, s->places, sizeof *s->place, by_x);
  if (s->places > 0) play_draws(s, leads, at);
  for (size_t i = 0; i < s->found.parts; i++) s->apart[i] = apart_in(s, &s->found.part[i], leads);
  if (s->places == 0) return true;
  for (size_t i = 0; i < crossings; i++) {
    const struct ss_crossing *c = &s->found.crossing[i];
    s->likely[i] = (struct ss_likely){NAN, NAN};
    if (c->below && c->above) s->likely[i] = ss_likely_of(&at[i * SS_RANGE_DRAWS]);
  }
  return true;
}

/* --- searching -------------------------------------------------------------------------------------------- */

enum { PROBES_FORMS = 257, PROBES_SIMULATED = 17 };
static const double precision_forms = 1e-12, precision_simulated = 1e-4;

bool ss_crossover_study_run(struct ss_crossover_study *s, struct ss_error *error) {
  const uint32_t usual = s->simulated ? PROBES_SIMULATED : PROBES_FORMS;
  s->probed = 0;
  s->always = NAN;
  s->wanted = s->probes ? s->probes : usual;
  const struct ss_crossover_search search = {.low = s->low,
                                             .high = s->high,
                                             .whole = s->duel.over == SS_OVER_RANKS,
                                             .probes = s->wanted,
                                             .precision = s->simulated ? precision_simulated : precision_forms,
                                             .same = 1e-12,
                                             .costs = s->simulated ? simulate : ss_duel_forms,
                                             .context = s->simulated ? (void *)s : &s->duel};
  if (s->simulated && (!fits(s, s->low, error) || !fits(s, s->high, error))) return false;
  s->whole = s->simulated ? whole_work(s, &search) : 0;
  if (s->simulated) ss_watcher_begin(s->watcher, "places", ss_crossover_positions(&search));
  const bool found = ss_crossover_find(&search, &s->found, error);
  if (s->simulated) ss_watcher_end(s->watcher);
  if (!ss_watcher_goes_on(s->watcher, error)) { /* positions that were not played look like those without a cost */
    ss_crossover_free(&s->found);
    return false;
  }
  if (!found && error && error->status == SS_MACHINE) return false;
  if (!found) return ss_fail_prefix(error, "nowhere in the range");
  return s->certain || add_ranges(s, &search, error);
}

void ss_crossover_study_free(struct ss_crossover_study *s) {
  ss_duel_close(&s->duel);
  ss_crossover_free(&s->found);
  free(s->likely);
  free(s->apart);
  s->likely = s->apart = NULL;
  free(s->rounding);
  s->rounding = NULL;
  free(s->place);
  s->place = NULL;
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

/* The label of the cheaper scheme; NULL where there is none (struct ss_crossing tells of -1, 0 and 1). */
static const char *winner_of(const struct ss_crossover_study *t, int winner) {
  return winner == 0 ? NULL : t->duel.side[winner > 0].label;
}

static cJSON *crossings_json(const struct ss_crossover_study *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->found.crossings; i++) {
    const struct ss_crossing *c = &t->found.crossing[i];
    cJSON *o =
        ss_json_object(SS_N("at", c->at), SS_N("before", c->before), SS_T("winner_below", winner_of(t, c->below)),
                       SS_T("winner_above", winner_of(t, c->above)), SS_N("a_s", c->cost[0]), SS_N("b_s", c->cost[1]),
                       SS_B("jump", c->jump));
    if (t->likely) ss_json_add(o, SS_N("at_low", t->likely[i].low), SS_N("at_high", t->likely[i].high));
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *ranges_json(const struct ss_crossover_study *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->found.parts; i++) {
    const struct ss_crossover_part *p = &t->found.part[i];
    cJSON *o = ss_json_object(SS_N("from", p->from), SS_N("to", p->to), SS_T("winner", winner_of(t, p->winner)),
                              SS_N("ratio_min", p->ratio_min), SS_N("ratio_max", p->ratio_max));
    if (t->apart) ss_json_add(o, SS_N("ratio_low", t->apart[i].low), SS_N("ratio_high", t->apart[i].high));
    cJSON_AddItemToArray(list, o);
  }
  return list;
}

static cJSON *skipped_json(const struct ss_crossover_study *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->found.gaps; i++) {
    cJSON_AddItemToArray(list, ss_json_object(SS_N("at", t->found.gap[i].at), SS_T("why", t->found.gap[i].why)));
  }
  return list;
}

static cJSON *rounded_json(const struct ss_crossover_study *t) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < t->roundings; i++) {
    const struct ss_rounding *r = &t->rounding[i];
    cJSON_AddItemToArray(list,
                         ss_json_object(SS_N("at", r->at), SS_N("rows", r->rows), SS_N("rows_wanted", r->rows_wanted),
                                        SS_N("density", r->density), SS_N("density_wanted", r->density_wanted)));
  }
  return list;
}

static cJSON *side_json(const struct ss_crossover_study *t, const struct ss_duel_side *side) {
  cJSON *o = ss_json_object(SS_J("scheme", cJSON_Duplicate(ss_doc_root(side->doc).at, 1)));
  if (t->simulated) return o;
  const char *const forms[SS_FORMS] = {[SS_FORM_PAPER] = side->first->paper,
                                       [SS_FORM_LOW] = side->first->exact_low,
                                       [SS_FORM_HIGH] = side->first->exact_high};
  const char *formula = forms[t->duel.form];
  ss_json_add(o, SS_T("formula", formula ? formula : side->first->exact), SS_T("assumes", side->first->assumes),
              SS_T("erratum", side->first->erratum), SS_B("several_forms", side->several));
  return o;
}

static void add_ratio(cJSON *root, const struct ss_crossover *found) {
  cJSON *o = cJSON_AddObjectToObject(root, "ratio");
  ss_json_add(o, SS_N("min", found->ratio_min), SS_N("min_at", found->ratio_min_at), SS_N("max", found->ratio_max),
              SS_N("max_at", found->ratio_max_at));
}

/* What does not vary; what does is null. */
static void add_supposed(cJSON *root, const struct ss_crossover_study *t) {
  const struct ss_duel *d = &t->duel;
  cJSON *links = ss_supposed_links_json(&d->cluster);
  ss_json_add(root, SS_N("ranks", d->over == SS_OVER_RANKS ? NAN : (double)d->ranks),
              SS_N("M", d->over == SS_OVER_M ? NAN : d->with->bytes),
              SS_N("density", d->over == SS_OVER_DENSITY ? NAN : d->with->density));
  if (d->over == SS_OVER_LATENCY || d->over == SS_OVER_BANDWIDTH)
    cJSON_ReplaceItemInObjectCaseSensitive(links, ss_axes[d->over].name, cJSON_CreateNull());
  cJSON_AddItemToObject(root, "links", links);
}

cJSON *ss_crossover_study_json(const struct ss_crossover_study *t) {
  const struct ss_crossover *found = &t->found;
  cJSON *root = cJSON_CreateObject(), *range;
  ss_json_add(root, SS_T("sparsync", SS_VERSION), SS_T("a", t->duel.side[0].label), SS_T("b", t->duel.side[1].label),
              SS_T("over", ss_axes[t->duel.over].name), SS_T("method", t->simulated ? "simulation" : "closed form"),
              SS_T("form", t->simulated ? NULL : ss_form_names[t->duel.form]), SS_T("cluster", t->duel.cluster.name),
              SS_T("overlap", ss_gamma_names[t->duel.with->kind]));
  add_supposed(root, t);
  range = cJSON_AddObjectToObject(root, "range");
  ss_json_add(range, SS_N("low", t->low), SS_N("high", t->high));
  ss_json_add(root, SS_J("crossings", crossings_json(t)), SS_T("winner_below", winner_of(t, found->part[0].winner)),
              SS_T("winner_above", winner_of(t, found->part[found->parts - 1].winner)),
              SS_J("ranges", ranges_json(t)));
  if (isfinite(t->always)) ss_json_add(root, SS_N("wins", t->always));
  add_ratio(root, found);
  ss_json_add(root, SS_N("probes", (double)found->probes), SS_J("skipped", skipped_json(t)),
              SS_J("rounded", rounded_json(t)), SS_J("forms_of_a", side_json(t, &t->duel.side[0])),
              SS_J("forms_of_b", side_json(t, &t->duel.side[1])));
  return root;
}
/* SPDX-License-Identifier: Apache-2.0 */
