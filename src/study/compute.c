#include "study/compute.h"

#include "cost/placed.h"
#include "study/extrapolation.h"
#include "study/ranges.h"

static bool point_arrays(struct ss_result *p, const struct ss_run_options *options, struct ss_error *error) {
  if (options->per_iteration) p->iteration_s = ss_alloc_zero(p->iterations, sizeof *p->iteration_s);
  if (p->draws > 0) p->draw_s = ss_alloc_zero(p->draws, sizeof *p->draw_s);
  if (p->draws > 0 && !p->draw_s) return ss_fail_memory(error, "recording draws");
  if (options->per_iteration && !p->iteration_s) return ss_fail_memory(error, "recording iterations");
  if (!options->per_rank) return true;
  p->rank_sent = ss_alloc_zero(p->ranks, sizeof *p->rank_sent);
  p->rank_received = ss_alloc_zero(p->ranks, sizeof *p->rank_received);
  return (p->rank_sent && p->rank_received) || ss_fail_memory(error, "recording ranks");
}

/* Even links of each point first, then what is drawn for each. */
static uint32_t networks_of(const struct ss_computing *all, const struct ss_point_group *group) {
  uint32_t networks = group->count;
  for (uint32_t i = 0; i < group->count; i++) networks += all->points[group->point[i]]->cluster.jitter.draws;
  return networks;
}

/* Networks behind those, on which a component of a point's time costs more. */
static uint32_t variants_of(const struct ss_computing *all, const struct ss_point_group *group) {
  uint32_t variants = 0;
  for (uint32_t i = 0; i < group->count; i++)
    variants += ss_variants_count(&all->points[group->point[i]]->uncertainty);
  return variants;
}

static bool worker_arrays(const struct ss_computing *all, const struct ss_point_group *group, struct ss_worker *w,
                          struct ss_error *error) {
  const uint32_t ranks = all->points[group->point[0]]->ranks;
  ss_arena_reset(&w->arrays);
  w->networks = networks_of(all, group);
  w->variants = variants_of(all, group);
  const size_t all_networks = (size_t)w->networks + w->variants;
  return (ss_take(&w->arrays, w->sent, ranks) && ss_take(&w->arrays, w->received, ranks) &&
          ss_take(&w->arrays, w->clusters, all_networks) && ss_take(&w->arrays, w->paces, all_networks) &&
          ss_take(&w->arrays, w->tallies, all_networks) && ss_take(&w->arrays, w->drawn, w->networks) &&
          ss_take(&w->arrays, w->varied, group->count)) ||
         ss_fail_memory(error, "recording ranks");
}

/* What one iteration adds to the fields that are means over iterations; NaN: it does not have that field. */
static struct ss_result values_of(const struct ss_outcome *o, const struct ss_tally *t) {
  return (struct ss_result){.time = t->time,
                            .kernel = t->kernel,
                            .bound = t->bound,
                            .bound_startup = t->bound_link.startup,
                            .messages = (double)t->messages,
                            .rounds = (double)t->rounds,
                            .bytes = (double)t->bytes,
                            .sent_max = (double)t->sent_max,
                            .received_max = (double)t->received_max,
                            .server_max = (double)t->server_max,
                            .push_imbalance = o->push_imbalance,
                            .pull_imbalance = o->pull_imbalance,
                            .error_l2 = o->error_l2,
                            .error_mean = o->error_mean,
                            .energy = o->energy,
                            .energy_lost = o->energy_lost,
                            .k = o->k ? (double)o->k : NAN,
                            .dropped = o->dropped};
}

static bool is_mean(size_t field) {
  return ss_result_fields[field].is & SS_FIELD_MEAN;
}

/* What its links carried, and which of them bounds the iteration that is bounded most. */
static void add_links(struct ss_result *p, const struct ss_tally *t, const struct ss_cluster *cluster) {
  const uint32_t nics = ss_cluster_nics(cluster);
  if (t->bound > p->bound_max) {
    p->bound_max = t->bound;
    (void)ss_link_use_name(&t->bound_link, nics, p->bound_by, sizeof p->bound_by);
  }
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    struct ss_link_usage *sum = &p->usage[k];
    const struct ss_link_usage *u = &t->usage[k];
    if (u->links > sum->links) sum->links = u->links;
    sum->bytes_max += u->bytes_max;
    sum->bytes_mean += u->bytes_mean;
    sum->busy_max += u->busy_max;
    sum->busy_mean += u->busy_mean;
  }
}

static void add_draws(struct ss_result *p, const struct ss_tally *drawn) {
  for (uint32_t d = 0; d < p->draws; d++) p->draw_s[d] += drawn[d].time;
}

static void add_kernels(struct ss_result *p, const struct ss_outcome *o, const struct ss_device *device) {
  for (int k = 0; k < SS_KERNELS; k++) {
    struct ss_kernel_use *sum = &p->kernels[k];
    sum->s += o->work[k].seconds;
    sum->calls += (double)o->work[k].calls;
    sum->elements += (double)o->work[k].elements;
    sum->bytes += (double)o->work[k].bytes;
    sum->estimated = sum->elements > 0 && !device->line[k].known;
  }
}

/* Adds an iteration on network `n`. What it does not have (the balance of parts when nobody has rows) is not in the
 * mean. */
static void accumulate(struct ss_result *p, const struct ss_outcome *o, const struct ss_worker *w, uint32_t n,
                       uint64_t i) {
  const struct ss_tally *t = &w->tallies[n];
  add_links(p, t, w->clusters[n]);
  const struct ss_result values = values_of(o, t);
  p->time_sd = ss_mean_square_add(p->time_sd, p->time, i, t->time);
  for (size_t k = 0; k < SS_RESULT_FIELDS; k++) {
    const double value = ss_result_value(&values, k);
    if (is_mean(k) && !isnan(value)) ss_result_set_value(p, k, ss_result_value(p, k) + value);
  }
  if (i == 0 || t->time < p->time_min) p->time_min = t->time;
  if (i == 0 || t->time > p->time_max) p->time_max = t->time;
  p->peak = fmax(p->peak, (double)o->peak);
  p->server_peak = fmax(p->server_peak, (double)o->server_peak);
  if (o->proven && p->lossless) p->exact = p->exact == SS_NO || !o->exact ? SS_NO : SS_YES;
  if (p->iteration_s) p->iteration_s[i] = t->time;
  for (uint32_t r = 0; p->rank_sent && r < p->ranks; r++) {
    p->rank_sent[r] += (double)w->sent[r];
    p->rank_received[r] += (double)w->received[r];
  }
}

static void count_values(struct ss_worker *w, const struct ss_outcome *o) {
  const struct ss_result values = values_of(o, &w->tallies[0]);
  for (size_t k = 0; k < SS_RESULT_FIELDS; k++) w->counted[k] += isnan(ss_result_value(&values, k)) ? 0 : 1;
}

/* Fields were summed first and are divided once, so that equal iterations give their own value. */
static void divide(struct ss_result *p, const struct ss_worker *w) {
  const double n = (double)p->iterations;
  for (size_t k = 0; k < SS_RESULT_FIELDS; k++)
    if (is_mean(k)) ss_result_set_value(p, k, w->counted[k] ? ss_result_value(p, k) / (double)w->counted[k] : NAN);
  p->time = fmin(fmax(p->time, p->time_min), p->time_max);
  p->time_sd = n > 1 ? sqrt(p->time_sd / (n - 1)) : 0;
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    p->usage[k].bytes_max /= n;
    p->usage[k].bytes_mean /= n;
    p->usage[k].busy_max = p->time > 0 ? p->usage[k].busy_max / n / p->time : 0;
    p->usage[k].busy_mean = p->time > 0 ? p->usage[k].busy_mean / n / p->time : 0;
  }
  for (int k = 0; k < SS_KERNELS; k++) {
    p->kernels[k].s /= n;
    p->kernels[k].calls /= n;
    p->kernels[k].elements /= n;
    p->kernels[k].bytes /= n;
  }
  for (uint32_t r = 0; p->rank_sent && r < p->ranks; r++) {
    p->rank_sent[r] /= n;
    p->rank_received[r] /= n;
  }
  for (uint32_t d = 0; d < p->draws; d++) p->draw_s[d] /= n;
  ss_result_widen(p);
}

/* The fan; draw_s stays in the order of draws, in which other tensors' have it, too. */
static bool rank_draws(struct ss_result *p, struct ss_arena *arena, struct ss_error *error) {
  double *sorted = ss_arena_alloc(arena, p->draws, sizeof *sorted);
  if (!sorted) return ss_fail_memory(error, "ordering draws");
  if (p->draws == 0) return true;
  memcpy(sorted, p->draw_s, p->draws * sizeof *sorted);
  p->fan = ss_fan_of(sorted, p->draws);
  return true;
}

/* The closed form that fits; NULL: none does. They are of one table. */
static const struct ss_cost *cost_of(const struct ss_point *point, const struct ss_costs *costs) {
  if (point->origin.joint && point->origin.joint->tables > 1) return NULL;
  return ss_costs_find(costs, &point->setting, point->ranks, point->servers);
}

static void add_texts(struct ss_result *p, const struct ss_cost *cost) {
  p->formula = cost->exact;
  p->formula_low = cost->exact_low;
  p->formula_high = cost->exact_high;
  p->paper = cost->paper;
  p->erratum = cost->erratum;
}

void ss_result_add_texts(struct ss_result *result, const struct ss_point *point, const struct ss_costs *costs) {
  const struct ss_cost *cost = point->ranks > 1 ? cost_of(point, costs) : NULL;
  if (cost) add_texts(result, cost);
}

/* The closed form of a group with what was measured. */
struct form {
  const struct ss_cost *cost; /* NULL: there is none */
  struct ss_symbols symbols;
  struct ss_cost_placing placing;
  struct ss_input shape; /* of the tensor, without content */
};

/* One that is not finite here (a single rank, say) is left out. */
static void open_form(struct form *form, const struct ss_point *point, const struct ss_costs *costs,
                      const struct ss_measure *measure) {
  struct ss_error ignored;
  *form = (struct form){.cost = point->ranks > 1 ? cost_of(point, costs) : NULL};
  if (!form->cost) return;
  if (!ss_iteration_shape(&point->setting, &point->selection, &point->origin, &form->shape, &ignored))
    form->cost = NULL;
  form->shape.ranks = point->ranks;
  form->symbols.S = point->servers;
  if (form->cost) ss_measure_symbols(measure, &form->shape, &point->setting, &form->symbols);
  form->placing = (struct ss_cost_placing){.cost = form->cost, .setting = &point->setting, .symbols = &form->symbols};
}

static void add_form(struct ss_result *p, const struct ss_point *point, struct form *form) {
  struct ss_cost_values values;
  struct ss_error ignored;
  struct ss_placed placed;
  p->formula_s = p->formula_low_s = p->formula_high_s = p->placed_s = NAN;
  p->paper_s = p->paper_low_s = p->paper_high_s = NAN;
  if (!form->cost) return;
  double start;
  const struct ss_cluster cluster = ss_setting_cluster(&point->setting, &point->cluster, &form->shape, &start);
  /* one flat link class: the links inside the node when all ranks live in one */
  const struct ss_link *link = point->ranks <= cluster.gpus_per_node ? &cluster.intra : &cluster.inter;
  form->symbols.alpha = link->alpha;
  form->symbols.beta = link->beta;
  if (!ss_cost_evaluate(form->cost, &form->symbols, &values, &ignored)) return;
  if (ss_cost_place(&form->placing, &cluster, &placed, &ignored)) p->placed_s = placed.seconds + start;
  p->placed_exact = isfinite(p->placed_s) && placed.exact;
  add_texts(p, form->cost);
  p->formula_s = values.exact + start;
  p->formula_low_s = values.exact_low;
  p->formula_high_s = values.exact_high;
  p->paper_s = values.paper;
  p->paper_low_s = values.paper_low;
  p->paper_high_s = values.paper_high;
}

void ss_result_begin(struct ss_result *result, const struct ss_point *point) {
  *result = (struct ss_result){.setting = point->setting,
                               .ranks = point->ranks,
                               .tensor = point->tensor_name,
                               .at = point->at,
                               .cluster = point->cluster_name,
                               .machine = &point->cluster,
                               .device = point->device_name,
                               .device_memory = point->device.memory_size > 0 ? point->device.memory_size : NAN,
                               .trace = point->trace_name,
                               .trace_hash = point->trace_hash,
                               .seed = point->seed,
                               .iterations = point->end - point->first,
                               .lossless = ss_scheme_lossless(point->setting.scheme),
                               .exact = SS_UNKNOWN,
                               .fan = SS_FAN_NONE,
                               .extrapolated_from = point->extrapolation ? point->extrapolation->from : 0,
                               .captured = NAN,
                               .by_half = NAN,
                               .off = NAN,
                               .time_low = NAN,
                               .time_high = NAN,
                               .wins = NAN,
                               .next_low = NAN,
                               .next_high = NAN,
                               .dense_s = NAN,
                               .dense_low = NAN,
                               .dense_high = NAN,
                               .uncertainty = point->uncertainty,
                               .dense_uncertainty = point->dense_uncertainty,
                               .further = {NAN, NAN},
                               .draws = point->cluster.jitter.draws,
                               .identity = point->is.point};
}

/* What the exact sum applies is all there is, or all that was selected of it. */
static void weigh(const struct ss_point *point, const struct ss_worker *w, struct ss_outcome *o) {
  const bool lossless = ss_scheme_lossless(point->setting.scheme);
  if (lossless && o->proven) {
    o->error_l2 = o->error_mean = o->energy_lost = 0;
    o->energy = 1;
  }
  if (point->selection.selects && o->proven)
    o->energy = lossless ? w->selector.energy : o->energy * w->selector.energy;
  if (point->selection.selects) o->k = w->selector.k;
}

static double dropped_share(const struct ss_point *point, const struct ss_input *input) {
  double kept = 0;
  if (!(point->origin.capacity > 0)) return NAN;
  for (uint32_t r = 0; r < input->ranks; r++) kept += (double)input->lookups[r];
  return input->dropped > 0 ? (double)input->dropped / (kept + (double)input->dropped) : 0;
}

/* One iteration, on all networks. */
static bool run_iteration(const struct ss_computing *all, const struct ss_point_group *group, uint64_t t,
                          struct ss_worker *w, struct ss_outcome *out, struct ss_error *error) {
  const struct ss_point *point = all->points[group->point[0]];
  const struct ss_world world = {.cluster = w->clusters[0],
                                 .device = &point->device,
                                 .verify = point->verify,
                                 .state = &w->memory,
                                 .clusters = w->clusters,
                                 .cluster_count = w->networks + (t == point->first ? w->variants : 0),
                                 .threads = w->threads,
                                 .paces = w->paces};
  struct ss_input_options input_options =
      ss_iteration_options(&point->setting, &point->selection, point->ranks, point->verify, point->device.counted);
  struct ss_input input;
  *out = (struct ss_outcome){
      .rank_sent = all->options->per_rank ? w->sent : NULL, .rank_received = w->received, .tallies = w->tallies};
  input_options.iteration = t;
  for (uint32_t n = group->count; n < w->networks; n++) w->drawn[n].jitter.moment = ss_mix(point->origin.tensor, t);
  ss_arena_reset(&w->arena);
  if (!ss_inputs_get(&w->inputs, point, &input_options, &w->arena, &input, error) ||
      !ss_iteration_select(&point->setting, &w->selector, &input, &w->arena, error) ||
      !ss_measure_add(&w->measures, &input, &point->origin, error) ||
      !ss_simulate(&point->setting, &world, &input, &w->arena, out, error))
    return ss_fail_prefix(error, "%s, %u ranks, iteration %llu", point->setting.label, point->ranks,
                          (unsigned long long)t);
  if (out->proven && !out->sound)
    return ss_fail(error, SS_UNPROVEN, "%s, %u ranks, iteration %llu: %s: %s", point->setting.label, point->ranks,
                   (unsigned long long)t,
                   ss_scheme_lossless(point->setting.scheme) ? "not the exact sum" : "not what it should be",
                   out->mismatch);
  weigh(point, w, out);
  out->dropped = dropped_share(point, &input);
  return true;
}

/* From network n on; returns the number behind the last. */
static uint32_t draw_networks(struct ss_worker *w, const struct ss_cluster *cluster, uint32_t n) {
  for (uint32_t d = 1; d <= cluster->jitter.draws; d++, n++) {
    w->drawn[n] = *cluster;
    w->drawn[n].jitter.draw = d;
    w->clusters[n] = &w->drawn[n];
  }
  return n;
}

/* From network n on, on which one component each of the point's time costs more. */
static uint32_t vary_networks(struct ss_worker *w, const struct ss_point *point, struct ss_variants *varied,
                              uint32_t n) {
  ss_variants_make(varied, &point->cluster, &point->uncertainty);
  for (uint32_t v = 0; v < varied->count; v++, n++) {
    w->clusters[n] = &varied->cluster[v];
    w->paces[n] = varied->pace[v];
  }
  return n;
}

static bool begin_group(const struct ss_computing *all, const struct ss_point_group *group, struct ss_worker *w,
                        struct ss_error *error) {
  const struct ss_point *point = all->points[group->point[0]];
  const struct ss_cost *cost = cost_of(point, all->costs);
  const uint32_t block = cost ? ss_cost_block(cost, &point->setting) : 0;
  ss_state_free(&w->memory); /* each group begins with nothing kept */
  ss_selector_free(&w->selector);
  w->selector = (struct ss_selector){.selection = point->selection};
  memset(w->counted, 0, sizeof w->counted);
  if (!worker_arrays(all, group, w, error)) return false;
  uint32_t n = group->count, varied = w->networks;
  for (uint32_t i = 0; i < w->networks; i++) w->paces[i] = 1;
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_result *p = &all->results[group->point[i]];
    w->clusters[i] = &all->points[group->point[i]]->cluster;
    n = draw_networks(w, w->clusters[i], n);
    varied = vary_networks(w, all->points[group->point[i]], &w->varied[i], varied);
    ss_result_free_arrays(p);
    ss_result_begin(p, all->points[group->point[i]]);
    if (!point_arrays(p, all->options, error)) return false;
  }
  return ss_measure_begin(&w->measures, point->ranks, block, error);
}

/* The components of the first iteration, as shares of its time. */
static void split_times(const struct ss_computing *all, const struct ss_point_group *group,
                        const struct ss_worker *w) {
  const struct ss_tally *on = w->tallies + w->networks;
  for (uint32_t i = 0; i < group->count; i++) {
    const double time = w->tallies[i].time;
    double times[SS_COMPONENTS];
    for (uint32_t v = 0; v < w->varied[i].count; v++) times[v] = (on++)->time;
    struct ss_components *c = &all->results[group->point[i]].components;
    *c = ss_variants_split(&w->varied[i], time, times);
    for (int k = 0; k < SS_COMPONENTS; k++) c->s[k] = time > 0 ? c->s[k] / time : 0;
  }
}

bool ss_group_play(const struct ss_computing *all, const struct ss_point_group *group, struct ss_worker *w,
                   struct ss_error *error) {
  const struct ss_point *point = all->points[group->point[0]];
  if (!begin_group(all, group, w, error)) return false;
  for (uint64_t t = point->first; t < point->end; t++) {
    struct ss_outcome outcome;
    if (!ss_watcher_goes_on(all->options->watcher, error) || !run_iteration(all, group, t, w, &outcome, error))
      return false;
    count_values(w, &outcome);
    const struct ss_tally *drawn = w->tallies + group->count;
    for (uint32_t i = 0; i < group->count; i++) {
      struct ss_result *p = &all->results[group->point[i]];
      accumulate(p, &outcome, w, i, t - point->first);
      add_draws(p, drawn);
      drawn += p->draws;
      add_kernels(p, &outcome, &point->device);
    }
    if (t == point->first) split_times(all, group, w);
  }
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_result *p = &all->results[group->point[i]];
    divide(p, w);
    for (int k = 0; k < SS_COMPONENTS; k++) p->components.s[k] *= p->time;
  }
  return true;
}

bool ss_group_compute(const struct ss_computing *all, const struct ss_point_group *group, struct ss_worker *w,
                      struct ss_error *error) {
  const struct ss_point *point = all->points[group->point[0]];
  if (!ss_group_play(all, group, w, error)) return false;
  const struct ss_measure *mean = ss_measure_mean(&w->measures);
  struct form form;
  open_form(&form, point, all->costs, mean);
  /* experts' tokens cannot be summed instead */
  const bool dispatch = ss_setting_says(&point->setting, "exchange", "tokens");
  if (!dispatch && !ss_dense_find(&w->dense, point, w->clusters, group->count, w->varied, error)) return false;
  for (uint32_t i = 0; i < group->count; i++) {
    struct ss_result *p = &all->results[group->point[i]];
    if (!rank_draws(p, &w->arrays, error)) return false;
    if (!dispatch) {
      p->dense_s = w->dense.time[i].seconds;
      p->dense = w->dense.time[i].name;
      p->dense_components = w->dense.time[i].components;
    }
    p->density = mean->density;
    p->gamma = mean->gamma;
    add_form(p, all->points[group->point[i]], &form);
  }
  return ss_extrapolation_judge(all, group, w, error);
}

void ss_points_tell_even(const struct ss_point *points, size_t count, const struct ss_notice *notice) {
  for (size_t i = 0; i < count; i++) {
    if (points[i].cluster.jitter.draws == 0) continue;
    ss_notice_tell(notice, "the cluster's \"jitter\" is left out: here links are even (run plays its draws)");
    return;
  }
}

void ss_worker_free(struct ss_worker *w) {
  ss_arena_free(&w->arena);
  ss_arena_free(&w->arrays);
  ss_inputs_free(&w->inputs);
  ss_state_free(&w->memory);
  ss_selector_free(&w->selector);
  ss_measure_free(&w->measures);
  ss_dense_free(&w->dense);
}
/* SPDX-License-Identifier: Apache-2.0 */
