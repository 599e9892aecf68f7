#include "cost/form_grid.h"

#include "sim/collectives/collectives.h"

enum { NETWORKS_MAX = 32 };

/* --- enumeration ---------------------------------------------------------------------------------------- */

struct axes {
  struct ss_node entry, gradient, options;
  struct ss_numbers P, d, M, n, alpha, beta, overlap;
  uint64_t width, multiple, iterations;
  enum ss_touch touches;
};

static struct ss_layout layout_of(const struct ss_grid_point *p) {
  return (struct ss_layout){.ranks = p->ranks, .nodes = p->ranks, .per_node = 1, .switch_sums = true};
}

uint64_t ss_common_multiple(uint64_t a, uint64_t b) {
  uint64_t x = a, y = b;
  while (y > 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

/* Rows so that every part of every algorithm has the same whole number of them, and of non-zero ones. */
static bool fit(const struct axes *axes, struct ss_grid_point *p, double d, double M, enum ss_overlap overlap,
                struct ss_error *error) {
  uint64_t unit = ss_common_multiple(ss_setting_parts(&p->setting, layout_of(p)), p->ranks);
  unit = ss_common_multiple(unit, ss_fold_of(p->ranks).Q) * axes->multiple;
  uint64_t rows = ss_uniform_rows((uint64_t)ceil(M / (double)(4 * axes->width)), d, unit);
  if (rows == 0)
    return ss_node_fail(axes->entry, error, "no size near %g B divides over %u ranks at density %g", M, p->ranks, d);
  p->uniform = (struct ss_uniform){
      .rows = rows, .width = (uint32_t)axes->width, .value_bytes = 4, .overlap = overlap, .seed = 1};
  return ss_uniform_make(d, &p->uniform, error) && (ss_uniform_divides(&p->uniform, p->ranks, p->ranks, error) ||
                                                    ss_fail_prefix(error, "%s: grid", p->cost->file));
}

/* With payloads once; without, the time must be the same. Of a form's other ways one network will do, the last size
 * and the first gradient.
 */
static bool add_networks(struct ss_grid *grid, const struct axes *axes, struct ss_grid_point *p,
                         struct ss_error *error) {
  const size_t betas = axes->beta.count, all = axes->alpha.count * betas;
  for (size_t i = p->cost->told_of ? all - 1 : 0; i < all; i++) {
    p->alpha = axes->alpha.value[i / betas];
    p->beta = axes->beta.value[i % betas];
    p->verify = i == 0;
    p->networks = i == 0 ? 1 : 0;
    if (i % NETWORKS_MAX == 1) p->networks = all - i < NETWORKS_MAX ? (uint32_t)(all - i) : NETWORKS_MAX;
    if (p->cost->told_of) p->networks = 1;
    if (!ss_grow_by_one(grid->point, grid->count)) return ss_fail_memory(error, "listing a grid");
    grid->point[grid->count++] = *p;
  }
  return true;
}

static bool add_uniform(struct ss_grid *grid, const struct axes *axes, struct ss_grid_point *p,
                        struct ss_error *error) {
  for (size_t d = 0; d < axes->d.count; d++)
    for (size_t m = p->cost->told_of ? axes->M.count - 1 : 0; m < axes->M.count; m++)
      for (size_t o = 0; o < axes->overlap.count; o++)
        if (!fit(axes, p, axes->d.value[d], axes->M.value[m], (enum ss_overlap)axes->overlap.value[o], error) ||
            !add_networks(grid, axes, p, error))
          return false;
  return true;
}

static const struct ss_field_spec gradient_fields[] = {SS_GRADIENT_FIELDS(1024), {.name = NULL}};
static const struct ss_object_spec gradient_spec = {.field = gradient_fields};

bool ss_gradient_read(const struct ss_object_spec *spec, struct ss_node node, struct ss_gradient *out,
                      struct ss_error *error) {
  ss_gradient_defaults(out);
  return ss_object_read(spec, node, out, error);
}

static bool add_gradients(struct ss_grid *grid, const struct axes *axes, struct ss_grid_point *p,
                          struct ss_error *error) {
  const struct ss_node none = {0};
  for (struct ss_node g = ss_node_first(axes->gradient); ss_node_present(g);
       g = p->cost->told_of ? none : ss_node_next(g))
    for (size_t n = 0; n < axes->n.count; n++) {
      if (!ss_gradient_read(&gradient_spec, g, &p->gradient, error)) return false;
      p->gradient.iterations = axes->iterations;
      p->gradient.elements = (uint64_t)axes->n.value[n];
      p->uniform = (struct ss_uniform){.rows = p->gradient.elements, .nnz = p->gradient.elements, .width = 1};
      if (!add_networks(grid, axes, p, error)) return false;
    }
  return true;
}

/* What hosts wait for sizes, where they are told: any time would do. */
static const double CALL = 1.5e-5;

static bool add_setting(struct ss_grid *grid, const struct ss_cost *cost, const struct axes *axes,
                        struct ss_node options, struct ss_error *error) {
  struct ss_grid_point p = {.cost = cost, .iterations = axes->iterations, .touches = axes->touches};
  bool holds;
  if (!ss_cost_setting(cost, options, &p.setting, error)) return false;
  if (cost->exchanged) p.setting.call = CALL;
  for (size_t r = 0; r < axes->P.count; r++) {
    p.ranks = (uint32_t)axes->P.value[r];
    if (!ss_setting_check(&p.setting, layout_of(&p), error) ||
        !ss_cost_holds(cost, &p.setting, p.ranks, ss_setting_servers(&p.setting, layout_of(&p)), &holds, error))
      return false;
    if (!holds) return ss_node_fail(axes->entry, error, "\"where\" does not hold at P = %u", p.ranks);
    if (!(axes->n.count > 0 ? add_gradients : add_uniform)(grid, axes, &p, error)) return false;
  }
  return true;
}

/* --- reading -------------------------------------------------------------------------------------------- */

#define LISTED(field) SS_IS_LIST(&(field), 1, SS_NUMBERS_MAX)
#define PART(member) SS_STORED(struct axes, member)
static const char *const bounds[] = {"low", "high", NULL};

static bool read_touch(struct ss_node node, void *touch, struct ss_error *error) {
  size_t choice;
  if (!ss_node_choice(node, bounds, &choice, error)) return false;
  *(enum ss_touch *)touch = choice ? SS_TOUCH_HIGH : SS_TOUCH_LOW;
  return true;
}

static const struct ss_field_spec a_rank_count = {NULL, NULL, SS_IS_COUNT(2, 65536)},
                                  a_share = {NULL, NULL, SS_IS_SHARE},
                                  a_size = {NULL, NULL, .kind = SS_SPEC_POSITIVE, .dimension = SS_BYTES},
                                  a_time = {NULL, NULL, .kind = SS_SPEC_POSITIVE, .dimension = SS_TIME},
                                  an_overlap = {NULL, NULL, SS_IS_CHOICE(ss_overlap_names)},
                                  a_gradient = {NULL, NULL, SS_IS_OBJECT(&gradient_spec)},
                                  a_count = {NULL, NULL, SS_IS_COUNT(1, UINT32_MAX)};
static const struct ss_object_spec options_spec = {.open = true};
static const struct ss_field_spec some_options = {NULL, NULL, SS_IS_OBJECT(&options_spec)};
static const struct ss_field_spec entry_fields[] = {
    {"P", NULL, LISTED(a_rank_count), .required = true, PART(P)},
    {"d", NULL, LISTED(a_share), PART(d)},
    {"M", NULL, LISTED(a_size), PART(M)},
    {"alpha", NULL, LISTED(a_time), .required = true, PART(alpha)},
    {"beta", "s/B", LISTED(a_share), .required = true, PART(beta)},
    {"row_width", NULL, SS_IS_COUNT(1, 1 << 20), PART(width)},
    {"overlap", "random: where there are only bounds", LISTED(an_overlap), PART(overlap)},
    {"multiple", "divides the rows and the non-zero rows of every part", SS_IS_COUNT(1, 1 << 20), .usual = "1",
     PART(multiple)},
    {"gradient", "instead of uniform inputs (d, M, row_width, overlap, multiple): synthetic gradients",
     SS_IS_LIST(&a_gradient, 1, 0), PART(gradient)},
    {"n", "elements of the gradients", LISTED(a_count), PART(n)},
    {"iterations", "played one after the other, with residuals", SS_IS_COUNT(1, 4096), .usual = "1",
     PART(iterations)},
    {"touches", "the bound that the last iteration must reach", SS_IS_CHOICE(bounds), .read = read_touch,
     PART(touches)},
    {"options", "of the scheme", SS_IS_LIST(&some_options, 1, 0), PART(options)},
    {.name = NULL}};
const struct ss_object_spec ss_grid_entry_fields = {
    .name = "entry",
    .field = entry_fields,
    .rules =
        "{'oneOf': [{'required': ['d', 'M', 'row_width'], 'not': {'anyOf': [{'required': ['gradient']}, {'required': "
        "['n']}]}}, {'required': ['gradient', 'n'], 'not': {'anyOf': [{'required': ['d']}, {'required': ['M']}, "
        "{'required': ['row_width']}, {'required': ['overlap']}, {'required': ['multiple']}]}}]}"};

/* Uniform inputs, or gradients: what an entry says of one it cannot say of the other. */
static bool check_kind(const struct axes *axes, bool gradients, struct ss_error *error) {
  static const struct {
    const char *key;
    bool of_gradients, needed;
  } fields[] = {{"d", false, true},        {"M", false, true},         {"row_width", false, true},
                {"overlap", false, false}, {"multiple", false, false}, {"n", true, true}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    struct ss_node field = ss_node_get(axes->entry, fields[i].key);
    if (fields[i].of_gradients != gradients && ss_node_present(field))
      return ss_node_fail(field, error, "belongs to %s",
                          gradients ? "uniform inputs, not to gradients" : "\"gradient\"");
    if (fields[i].of_gradients == gradients && fields[i].needed &&
        !ss_node_need(axes->entry, fields[i].key, &field, error))
      return false;
  }
  return !gradients || ss_node_size(axes->gradient) > 0 ||
         ss_node_fail(axes->gradient, error, "expected a list of gradients");
}

/* A union of rows at random has no gamma known beforehand: only bounds can be held against it. */
static bool read_axes(const struct ss_cost *cost, struct ss_node entry, struct axes *axes, struct ss_error *error) {
  *axes = (struct axes){.entry = entry, .overlap = {{SS_OVERLAP_FULL}, 1}};
  if (!ss_object_read(&ss_grid_entry_fields, entry, axes, error) ||
      !check_kind(axes, ss_node_present(axes->gradient), error))
    return false;
  for (size_t i = 0; cost->exact && i < axes->overlap.count; i++)
    if (axes->overlap.value[i] == SS_OVERLAP_RANDOM)
      return ss_node_fail(ss_node_get(entry, "overlap"), error, "\"random\" is where there are only bounds");
  return axes->touches == SS_TOUCH_NONE || cost->exact_low ||
         ss_node_fail(ss_node_get(entry, "touches"), error, "\"exact_low\" and \"exact_high\" are not there");
}

static bool add_entry(struct ss_grid *grid, const struct ss_cost *cost, struct ss_node entry,
                      struct ss_error *error) {
  struct axes axes;
  if (!read_axes(cost, entry, &axes, error)) return false;
  if (!ss_node_present(axes.options)) return add_setting(grid, cost, &axes, (struct ss_node){0}, error);
  for (struct ss_node n = ss_node_first(axes.options); ss_node_present(n); n = ss_node_next(n))
    if (!add_setting(grid, cost, &axes, n, error)) return false;
  return true;
}

bool ss_grid_add(struct ss_grid *grid, const struct ss_cost *cost, struct ss_error *error) {
  if (!ss_node_present(cost->grid))
    return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" without a \"grid\"", cost->file,
                   cost->exact ? "exact" : "exact_low");
  if (!ss_node_is_array(cost->grid)) return add_entry(grid, cost, cost->grid, error);
  if (ss_node_size(cost->grid) == 0) return ss_node_fail(cost->grid, error, "expected an entry or a list of some");
  for (struct ss_node n = ss_node_first(cost->grid); ss_node_present(n); n = ss_node_next(n))
    if (!add_entry(grid, cost, n, error)) return false;
  return true;
}

void ss_grid_free(struct ss_grid *grid) {
  free(grid->point);
  *grid = (struct ss_grid){0};
}

/* --- what a point's forms are made of ------------------------------------------------------------------- */

/* All ranks list the same rows: of a gradient, all. */
static bool alike(const struct ss_grid_point *p) {
  return p->gradient.elements > 0 || p->uniform.overlap == SS_OVERLAP_FULL;
}

static double gamma_of(const void *context, double k) {
  const struct ss_grid_point *p = context;
  return alike(p) ? 1 : p->uniform.overlap == SS_OVERLAP_NONE ? k : (double)NAN;
}

struct blocks {
  const struct ss_grid_point *point;
  double elements;
};

/* Ranks 0..k-1 hold k rows from the start of every stratum on, or the same one. */
static double blocks_of(const void *context, double k) {
  const struct blocks *b = context;
  const struct ss_uniform *u = &b->point->uniform;
  const uint64_t block = (uint64_t)b->elements, span = u->overlap == SS_OVERLAP_NONE ? (uint64_t)k : 1;
  uint64_t blocks = 0, next = 0;
  for (uint64_t i = 0; i < u->nnz; i++) {
    const uint64_t row = ss_share(u->rows, u->nnz, i), last = ((row + span) * u->width - 1) / block;
    const uint64_t first = row * u->width / block < next ? next : row * u->width / block;
    if (first > last) continue;
    blocks += last + 1 - first;
    next = last + 1;
  }
  return (double)blocks;
}

static struct ss_symbols symbols_of(const struct ss_grid_point *p, const struct ss_input *shape,
                                    struct blocks *blocks) {
  double factor = (double)shape->rows / (double)p->uniform.rows; /* elements a row, under element granularity */
  struct ss_symbols s = {.P = p->ranks, .alpha = p->alpha, .beta = p->beta, .R = (double)shape->rows};
  s.w = shape->width;
  s.v = shape->value_bytes;
  s.rows = (double)p->uniform.rows;
  s.M = s.R * s.w * s.v;
  s.nnz = s.lookups = (double)p->uniform.nnz * factor;
  s.S = ss_setting_servers(&p->setting, layout_of(p));
  s.s_1 = s.s_P = 1;
  ss_setting_symbols(&p->setting, &s);
  s.gamma = gamma_of;
  s.gamma_context = p;
  if (!ss_cost_block(p->cost, &p->setting)) return s;
  *blocks = (struct blocks){p, s.b};
  s.blocks = blocks_of;
  s.blocks_context = blocks;
  return s;
}

/* --- playing -------------------------------------------------------------------------------------------- */

/* What one iteration's time is off by, of what the point promises. */
static double distance(const struct ss_grid_point *p, const struct ss_grid_result *r, bool last) {
  double off = 0;
  if (isfinite(r->exact)) off = fabs(r->simulated - r->exact) / r->exact;
  if (!isfinite(r->low)) return off;
  off = fmax(off, fmax((r->low - r->simulated) / r->low, (r->simulated - r->high) / r->high));
  const double bound = p->touches == SS_TOUCH_LOW ? r->low : r->high;
  return last && p->touches ? fabs(r->simulated - bound) / bound : off;
}

static bool judge(const struct ss_grid_point *p, const struct ss_input *input, bool last, struct ss_grid_result *out,
                  struct ss_error *error) {
  struct ss_cost_values values;
  struct blocks blocks;
  struct ss_symbols symbols = symbols_of(p, input, &blocks);
  if (!ss_cost_evaluate(p->cost, &symbols, &values, error)) return false;
  out->exact = values.exact;
  out->low = values.exact_low;
  out->high = values.exact_high;
  out->paper = values.paper;
  out->relative = fmax(out->relative, distance(p, out, last));
  return true;
}

static bool play_iteration(const struct ss_grid_point *p, uint64_t t, const struct ss_world *world,
                           struct ss_grid_scratch *scratch, struct ss_grid_result *out, struct ss_error *error) {
  struct ss_arena *arena = &scratch->arena;
  struct ss_origin origin = {.merge = 1, .uniform = p->uniform};
  struct ss_input_options options = ss_setting_input_options(&p->setting, p->ranks, p->verify, false);
  struct ss_outcome outcome = {0};
  struct ss_input input;
  if (p->gradient.elements > 0) origin.gradient = &p->gradient;
  options.iteration = t;
  ss_arena_reset(arena);
  outcome.tallies = ss_arena_alloc(arena, world->cluster_count, sizeof *outcome.tallies);
  if (!outcome.tallies) return ss_fail_memory(error, "playing a grid");
  if (!ss_input_make(&origin, &options, arena, &scratch->coalesce, &input, error) ||
      !ss_simulate(&p->setting, world, &input, arena, &outcome, error))
    return false;
  for (uint32_t i = 0; i < world->cluster_count; i++) {
    out[i].simulated = outcome.tallies[i].time;
    out[i].proven = out[i].proven && (!p->verify || (outcome.proven && outcome.sound));
    if (!judge(&p[i], &input, t + 1 == p->iterations, &out[i], error)) return false;
  }
  return true;
}

bool ss_grid_play(const struct ss_grid_point *p, uint32_t networks, struct ss_grid_scratch *scratch,
                  struct ss_grid_result *out, struct ss_error *error) {
  struct ss_cluster cluster[NETWORKS_MAX];
  const struct ss_cluster *clusters[NETWORKS_MAX];
  struct ss_state state = {0};
  const struct ss_world world = {
      .cluster = cluster, .verify = p->verify, .state = &state, .clusters = clusters, .cluster_count = networks};
  bool ok = true;
  assert(networks <= NETWORKS_MAX);
  for (uint32_t i = 0; i < networks; i++) {
    const struct ss_link link = {p[i].alpha, p[i].beta};
    cluster[i] =
        (struct ss_cluster){.name = "flat", .model = "alpha-beta", .gpus_per_node = 1, .inter = link, .intra = link};
    clusters[i] = &cluster[i];
    out[i] = (struct ss_grid_result){.proven = true};
  }
  for (uint64_t t = 0; ok && t < p->iterations; t++) ok = play_iteration(p, t, &world, scratch, out, error);
  ss_state_free(&state);
  for (uint32_t i = 0; i < networks; i++) out[i].ok = out[i].proven && out[i].relative <= 1e-9;
  return ok;
}

void ss_grid_scratch_free(struct ss_grid_scratch *scratch) {
  ss_arena_free(&scratch->arena);
  ss_coalesce_free(&scratch->coalesce);
}
/* SPDX-License-Identifier: Apache-2.0 */
