#include "cost/grid.h"

#include <math.h>
#include <stdlib.h>

enum { LIST_MAX = 64 };

struct list {
  double value[LIST_MAX];
  size_t count;
};

static bool read_list(struct ss_node grid, const char *key, enum ss_dimension dimension, struct list *out,
                      struct ss_error *error) {
  struct ss_node node;
  out->count = 0;
  if (!ss_node_need(grid, key, &node, error)) return false;
  if (!ss_node_is_array(node) || ss_node_size(node) == 0 || ss_node_size(node) > LIST_MAX)
    return ss_node_fail(node, error, "expected a list of 1 to %d values", LIST_MAX);
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_positive(n, dimension, &out->value[out->count++], error)) return false;
  return true;
}

static bool read_overlaps(struct ss_node grid, struct list *out, struct ss_error *error) {
  static const char *const names[] = {"full", "none", NULL};
  struct ss_node node = ss_node_get(grid, "overlap");
  *out = (struct list){.value = {SS_OVERLAP_FULL}, .count = 1};
  if (!ss_node_present(node)) return true;
  out->count = 0;
  for (struct ss_node n = ss_node_first(node); ss_node_present(n) && out->count < LIST_MAX; n = ss_node_next(n)) {
    size_t choice;
    if (!ss_node_choice(n, names, &choice, error)) return false;
    out->value[out->count++] = (double)choice;
  }
  return out->count > 0 || ss_node_fail(node, error, "expected a list of overlaps");
}

/* --- enumeration ---------------------------------------------------------------------------------------- */

struct axes {
  struct list P, d, M, alpha, beta, overlap;
  uint64_t width;
};

static bool append(struct ss_grid *grid, const struct ss_grid_point *point, struct ss_error *error) {
  if ((grid->count & (grid->count - 1)) == 0) { /* room doubles at powers of two */
    struct ss_grid_point *grown = ss_realloc(grid->point, grid->count ? 2 * grid->count : 1, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "listing a grid");
    grid->point = grown;
  }
  grid->point[grid->count++] = *point;
  return true;
}

/* Rows so that every part of every algorithm has the same whole number of them, and of non-zero ones. */
static bool fit(const struct ss_cost *cost, const struct axes *axes, struct ss_grid_point *p, double d, double M,
                enum ss_overlap overlap, struct ss_error *error) {
  uint64_t unit = p->setting.scheme->parts ? p->setting.scheme->parts(&p->setting, p->ranks, p->ranks) : 1;
  unit *= (uint64_t)p->ranks * ss_fold_of(p->ranks).Q;
  uint64_t rows = ss_uniform_rows((uint64_t)ceil(M / (double)(4 * axes->width)), d, unit);
  if (rows == 0)
    return ss_fail(error, SS_BAD_INPUT, "%s: grid: no size near %g B divides over %u ranks at density %g", cost->file,
                   M, p->ranks, d);
  return ss_uniform_make(rows, d, (uint32_t)axes->width, 4, overlap, 1, &p->uniform, error) &&
         (ss_uniform_divides(&p->uniform, p->ranks, p->ranks, error) ||
          ss_fail_prefix(error, "%s: grid", cost->file));
}

static bool add_networks(struct ss_grid *grid, const struct axes *axes, struct ss_grid_point *p,
                         struct ss_error *error) {
  for (size_t a = 0; a < axes->alpha.count; a++)
    for (size_t b = 0; b < axes->beta.count; b++) {
      p->alpha = axes->alpha.value[a];
      p->beta = axes->beta.value[b];
      p->verify = a == 0 && b == 0; /* with payloads once; without, the time must be the same */
      if (!append(grid, p, error)) return false;
    }
  return true;
}

static bool add_sizes(struct ss_grid *grid, const struct ss_cost *cost, const struct axes *axes,
                      struct ss_grid_point *p, struct ss_error *error) {
  for (size_t d = 0; d < axes->d.count; d++)
    for (size_t m = 0; m < axes->M.count; m++)
      for (size_t o = 0; o < axes->overlap.count; o++)
        if (!fit(cost, axes, p, axes->d.value[d], axes->M.value[m], (enum ss_overlap)axes->overlap.value[o], error) ||
            !add_networks(grid, axes, p, error))
          return false;
  return true;
}

static bool add_setting(struct ss_grid *grid, const struct ss_cost *cost, const struct axes *axes,
                        struct ss_node options, struct ss_error *error) {
  struct ss_grid_point p = {.cost = cost};
  if (!ss_cost_setting(cost, options, &p.setting, error)) return false;
  for (size_t r = 0; r < axes->P.count; r++) {
    p.ranks = (uint32_t)axes->P.value[r];
    if (p.ranks < 2 || p.ranks > 65536 || p.ranks != axes->P.value[r])
      return ss_node_fail(ss_node_get(cost->grid, "P"), error, "ranks are whole numbers of 2 to 65536");
    if (!ss_setting_check(&p.setting, p.ranks, p.ranks, error)) return false;
    if (!add_sizes(grid, cost, axes, &p, error)) return false;
  }
  return true;
}

bool ss_grid_add(struct ss_grid *grid, const struct ss_cost *cost, struct ss_error *error) {
  static const char *const keys[] = {"P", "d", "M", "alpha", "beta", "row_width", "overlap", "options", NULL};
  struct ss_node width, options = ss_node_get(cost->grid, "options");
  struct axes axes;
  if (!ss_node_present(cost->grid))
    return ss_fail(error, SS_BAD_INPUT, "%s: \"exact\" without a \"grid\"", cost->file);
  if (!ss_node_keys(cost->grid, keys, error) || !read_list(cost->grid, "P", SS_NUMBER, &axes.P, error) ||
      !read_list(cost->grid, "d", SS_RATIO, &axes.d, error) ||
      !read_list(cost->grid, "M", SS_BYTES, &axes.M, error) ||
      !read_list(cost->grid, "alpha", SS_TIME, &axes.alpha, error) ||
      !read_list(cost->grid, "beta", SS_RATIO, &axes.beta, error) ||
      !read_overlaps(cost->grid, &axes.overlap, error) || !ss_node_need(cost->grid, "row_width", &width, error) ||
      !ss_node_count(width, 1, 1u << 20, &axes.width, error))
    return false;
  if (!ss_node_present(options)) return add_setting(grid, cost, &axes, (struct ss_node){0}, error);
  for (struct ss_node n = ss_node_first(options); ss_node_present(n); n = ss_node_next(n))
    if (!add_setting(grid, cost, &axes, n, error)) return false;
  return true;
}

void ss_grid_free(struct ss_grid *grid) {
  free(grid->point);
  *grid = (struct ss_grid){0};
}

/* --- playing -------------------------------------------------------------------------------------------- */

static double gamma_of(const void *context, double k) {
  const struct ss_uniform *u = context;
  return u->overlap == SS_OVERLAP_NONE ? k : 1;
}

static struct ss_symbols symbols_of(const struct ss_grid_point *p, const struct ss_input *shape, uint32_t servers) {
  double factor = (double)shape->rows / (double)p->uniform.rows; /* elements a row, under element granularity */
  struct ss_symbols s = {.P = p->ranks, .alpha = p->alpha, .beta = p->beta, .R = (double)shape->rows};
  s.w = shape->width;
  s.v = shape->value_bytes;
  s.M = s.R * s.w * s.v;
  s.nnz = s.lookups = (double)p->uniform.nnz * factor;
  s.index_bytes = p->setting.index_bytes;
  s.S = servers;
  s.s_1 = s.s_P = 1;
  s.gamma = gamma_of;
  s.gamma_context = &p->uniform;
  return s;
}

bool ss_grid_play(const struct ss_grid_point *p, struct ss_arena *arena, struct ss_coalesce_scratch *scratch,
                  struct ss_grid_result *out, struct ss_error *error) {
  struct ss_cluster cluster = {.name = "flat", .model = "alpha-beta", .gpus_per_node = 1};
  struct ss_origin origin = {.merge = 1, .uniform = p->uniform};
  struct ss_world world = {.cluster = &cluster, .verify = p->verify};
  struct ss_input_wish wish = ss_setting_wish(&p->setting, p->ranks, p->verify, false);
  struct ss_outcome outcome = {0};
  struct ss_cost_values values;
  struct ss_input input;
  cluster.inter = cluster.intra = (struct ss_link){p->alpha, p->beta};
  ss_arena_reset(arena);
  if (!ss_input_make(&origin, &wish, arena, scratch, &input, error) ||
      !ss_simulate(&p->setting, &world, &input, arena, &outcome, error))
    return false;
  struct ss_symbols symbols = symbols_of(p, &input, ss_setting_servers(&p->setting, p->ranks, p->ranks));
  if (!ss_cost_evaluate(p->cost, &symbols, &values, error)) return false;
  out->simulated = outcome.tally.time;
  out->exact = values.exact;
  out->paper = values.paper;
  out->relative = fabs(out->simulated - out->exact) / out->exact;
  out->ok = out->relative <= 1e-9 && (!p->verify || (outcome.proven && outcome.exact));
  return true;
}
