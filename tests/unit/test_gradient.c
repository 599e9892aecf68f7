/* Synthetic gradients against their formula, element by element; and what ranks select of theirs, with what they keep
 * for the next iteration, against plain loops over dense tensors. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "schemes/select.h"
#include "trace/make/gradient.h"

#include <gsl/gsl_cdf.h>
#include <omp.h>

/* --- the formula ------------------------------------------------------------------------------------------- */

static double standard(const struct ss_gradient *g, uint64_t random) {
  const double u = ((double)(random >> 11) + 0.5) / 9007199254740992.0;
  return g->laplace ? gsl_cdf_laplace_Pinv(u, sqrt(0.5)) : gsl_cdf_ugaussian_Pinv(u);
}

/* g(t, r, i) = scale * exp(sigma * z_layer) * (rho * s(t, i) + sqrt(1 - rho^2) * n(t, r, i)). */
static double element(const struct ss_gradient *g, uint64_t t, uint32_t r, uint64_t i) {
  uint32_t layer = 0;
  while (i >= (layer + 1) * g->elements / g->layers) layer++;
  struct ss_gradient normal = *g;
  normal.laplace = false;
  const double a = g->scale * exp(g->sigma * standard(&normal, ss_mix(ss_mix(g->seed, 0), layer)));
  const double s = standard(g, ss_mix(ss_mix(ss_mix(g->seed, 1), t), i));
  const double n = standard(g, ss_mix(ss_mix(ss_mix(ss_mix(g->seed, 2), t), r), i));
  return a * (g->rho * s + sqrt(1 - g->rho * g->rho) * n);
}

static int64_t **make(const struct ss_gradient *g, uint64_t t, uint32_t ranks) {
  int64_t **values = calloc(ranks, sizeof *values);
  for (uint32_t r = 0; r < ranks; r++) {
    values[r] = malloc((g->elements + 1) * sizeof **values);
    values[r][g->elements] = 42;
  }
  ss_gradient_make(g, t, ranks, values);
  for (uint32_t r = 0; r < ranks; r++) assert_int_equal(values[r][g->elements], 42);
  return values;
}

static void drop(int64_t **values, uint32_t ranks) {
  for (uint32_t r = 0; r < ranks; r++) free(values[r]);
  free(values);
}

static void elements_follow_from_their_index(void **state) {
  static const double rhos[] = {0.5, 0, 1, 0.3};
  (void)state;
  for (uint32_t seed = 1; seed <= 24; seed++) {
    struct ss_gradient g;
    ss_gradient_defaults(&g);
    assert_true(close_to(g.rho, 0.5, 0) && close_to(g.scale, 1, 0) && close_to(g.sigma, 1, 0) && g.layers == 8);
    assert_true(!g.laplace && g.iterations == 4);
    g.seed = seed;
    g.elements = 1 + 131 * seed % 1000;
    g.rho = rhos[seed % 4];
    g.laplace = seed % 2;
    g.layers = 1 + seed % 11;
    g.sigma = seed % 3 ? 1 : 0;
    g.scale = seed % 5 ? 1 : 37.5;
    for (uint64_t t = 0; t < 3; t++) {
      int64_t **values = make(&g, t, 4);
      for (uint32_t r = 0; r < 4; r++)
        for (uint64_t i = 0; i < g.elements; i++) {
          const double wanted = fmax(-1024, fmin(1024, element(&g, t, r, i))) * 1048576;
          /* the order of the products may differ: half a unit, and a little */
          if (fabs((double)values[r][i] - wanted) > 0.5 + 1e-9 * fabs(wanted))
            fail_msg("seed %u, iteration %llu, rank %u, element %llu: %lld instead of %g", seed,
                     (unsigned long long)t, r, (unsigned long long)i, (long long)values[r][i], wanted);
        }
      drop(values, 4);
    }
  }
}

static void threads_change_nothing(void **state) {
  struct ss_gradient g;
  const int before = omp_get_max_threads();
  (void)state;
  ss_gradient_defaults(&g);
  g.elements = 30011;
  omp_set_num_threads(1);
  int64_t **one = make(&g, 2, 3);
  for (int threads = 2; threads <= 7; threads += 5) {
    omp_set_num_threads(threads);
    int64_t **many = make(&g, 2, 3);
    for (uint32_t r = 0; r < 3; r++) assert_memory_equal(one[r], many[r], g.elements * sizeof **one);
    drop(many, 3);
  }
  drop(one, 3);
  omp_set_num_threads(before);
}

static void values_are_clipped(void **state) {
  struct ss_gradient g;
  uint32_t clipped = 0;
  (void)state;
  ss_gradient_defaults(&g);
  g.elements = 5000;
  g.scale = 800;
  int64_t **values = make(&g, 0, 2);
  for (uint32_t r = 0; r < 2; r++)
    for (uint64_t i = 0; i < g.elements; i++) {
      assert_true(values[r][i] <= 1 << 30 && values[r][i] >= -(1 << 30));
      clipped += values[r][i] == 1 << 30 || values[r][i] == -(1 << 30);
    }
  assert_true(clipped > 100 && clipped < 9000);
  drop(values, 2);
}

static void units_are_rounded_half_to_even(void **state) {
  const double unit = 1.0 / 1048576;
  (void)state;
  assert_int_equal(ss_value_units(1, 0), 1 << 20);
  assert_int_equal(ss_value_units(-3.25, 2), -13 * (1 << 20));
  assert_int_equal(ss_value_units(0.5 * unit, 0), 0);
  assert_int_equal(ss_value_units(1.5 * unit, 0), 2);
  assert_int_equal(ss_value_units(-2.5 * unit, 0), -2);
  assert_int_equal(ss_value_units(5 * unit, -1), 2);
  assert_int_equal(ss_value_units(1024, 0), 1 << 30);
  assert_int_equal(ss_value_units(1e300, 0), 1 << 30);
  assert_int_equal(ss_value_units(-1e300, 5), -(1 << 30));
}

/* Unit variance, and rho^2 as the correlation of two ranks, where layers are alike. */
static void distributions_have_the_moments_asked_for(void **state) {
  (void)state;
  for (uint32_t laplace = 0; laplace < 2; laplace++) {
    struct ss_gradient g;
    double sum = 0, square = 0, fourth = 0, product = 0;
    ss_gradient_defaults(&g);
    g.elements = 200000;
    g.sigma = 0;
    g.rho = laplace ? 0 : 0.6;
    g.laplace = laplace;
    int64_t **values = make(&g, 1, 2);
    for (uint64_t i = 0; i < g.elements; i++) {
      const double x = (double)values[0][i] / 1048576, y = (double)values[1][i] / 1048576;
      sum += x, square += x * x, fourth += x * x * x * x, product += x * y;
    }
    const double n = (double)g.elements;
    assert_true(fabs(sum / n) < 0.01 && fabs(square / n - 1) < 0.02);
    assert_true(fabs(product / n - g.rho * g.rho) < 0.01);
    assert_true(fabs(fourth / n - (laplace ? 6 : 3)) < (laplace ? 0.6 : 0.1));
    drop(values, 2);
  }
}

/* --- selection ---------------------------------------------------------------------------------------------- */

enum { MOST = 300, RANKS = 5 };

/* All dense: what a rank has, keeps and selects. */
struct plain {
  uint64_t n;
  int64_t gradient[RANKS][MOST], residual[RANKS][MOST], copy[RANKS][MOST], picked[RANKS][MOST];
  bool listed[RANKS][MOST]; /* of single entries, or of blocks */
};

static uint64_t magnitude(int64_t v) {
  return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* The largest of the entries not taken yet; ties to the lower index, zeros never. */
static void pick_entries(struct plain *p, uint32_t r, uint64_t k) {
  memset(p->listed[r], 0, sizeof p->listed[r]);
  for (; k > 0; k--) {
    uint64_t best = UINT64_MAX, largest = 0;
    for (uint64_t i = 0; i < p->n; i++)
      if (!p->listed[r][i] && magnitude(p->copy[r][i]) > largest) best = i, largest = magnitude(p->copy[r][i]);
    if (best == UINT64_MAX) return;
    p->listed[r][best] = true;
    p->picked[r][best] = p->copy[r][best];
  }
}

static void pick_blocks(struct plain *p, uint32_t r, uint64_t keep, uint32_t block) {
  memset(p->listed[r], 0, sizeof p->listed[r]);
  for (; keep > 0; keep--) {
    uint64_t best = UINT64_MAX, blocks = (p->n + block - 1) / block;
    unsigned __int128 largest = 0;
    for (uint64_t b = 0; b < blocks; b++) {
      unsigned __int128 norm = 0;
      for (uint64_t i = b * block; i < p->n && i < (b + 1) * block; i++)
        norm += (unsigned __int128)magnitude(p->copy[r][i]) * magnitude(p->copy[r][i]);
      if (!p->listed[r][b] && norm > largest) best = b, largest = norm;
    }
    if (best == UINT64_MAX) return;
    p->listed[r][best] = true;
    for (uint64_t i = best * block; i < p->n && i < (best + 1) * block; i++) p->picked[r][i] = p->copy[r][i];
  }
}

static void select_plainly(struct plain *p, const struct ss_selection *s) {
  memset(p->picked, 0, sizeof p->picked);
  for (uint32_t r = 0; r < RANKS; r++) {
    uint64_t blocks = s->block ? (p->n + s->block - 1) / s->block : p->n;
    uint64_t k = s->k ? s->k : (uint64_t)(s->density * (double)blocks + 0.5);
    if (k == 0) k = 1;
    for (uint64_t i = 0; i < p->n; i++) p->copy[r][i] = p->gradient[r][i] + p->residual[r][i];
    if (s->block) pick_blocks(p, r, k, s->block);
    else pick_entries(p, r, k);
    for (uint64_t i = 0; s->residual && i < p->n; i++) p->residual[r][i] = p->copy[r][i] - p->picked[r][i];
  }
}

static double energy(const struct plain *p) {
  double some = 0, all = 0;
  for (uint64_t i = 0; i < p->n; i++) {
    double picked = 0, had = 0;
    for (uint32_t r = 0; r < RANKS; r++) picked += (double)p->picked[r][i], had += (double)p->copy[r][i];
    some += picked * picked;
    all += had * had;
  }
  return all > 0 ? some / all : 1;
}

/* Gradients with small whole numbers, so that magnitudes tie; or with large ones. Zeros are not listed. */
static struct ss_input throw_input(struct dice *d, struct plain *p, struct ss_arena *arena) {
  struct ss_input in = {.rows = p->n, .ranks = RANKS, .width = 1, .row_width = 1, .value_bytes = 4};
  uint64_t *count = ss_arena_alloc(arena, RANKS, sizeof *count);
  const uint32_t **row = ss_arena_alloc(arena, RANKS, sizeof *row);
  const int64_t **value = ss_arena_alloc(arena, RANKS, sizeof *value);
  bool small = dice_one_in(d, 2);
  for (uint32_t r = 0; r < RANKS; r++) {
    uint32_t *rows = ss_arena_alloc(arena, p->n, sizeof *rows), nothing = dice_one_in(d, 6);
    int64_t *values = ss_arena_alloc(arena, p->n, sizeof *values);
    count[r] = 0;
    for (uint64_t i = 0; i < p->n; i++) {
      int64_t v = small ? (int64_t)dice_below(d, 7) - 3 : (int64_t)dice_below(d, 1u << 30) - (1 << 29);
      p->gradient[r][i] = nothing || dice_one_in(d, 3) ? 0 : v;
      if (p->gradient[r][i] == 0) continue;
      rows[count[r]] = (uint32_t)i;
      values[count[r]++] = p->gradient[r][i];
    }
    row[r] = rows;
    value[r] = values;
  }
  in.count = in.lookups = count;
  in.row = in.lookup = row;
  in.value = value;
  return in;
}

static void check_entries(const struct plain *p, const struct ss_input *in, uint64_t seed) {
  assert_true(in->rows == p->n && in->width == 1);
  for (uint32_t r = 0; r < RANKS; r++) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < p->n; i++) {
      if (!p->listed[r][i]) continue;
      if (at >= in->count[r] || in->row[r][at] != i || in->value[r][at] != p->picked[r][i])
        fail_msg("seed %llu: rank %u selects another than entry %llu", (unsigned long long)seed, r,
                 (unsigned long long)i);
      at++;
    }
    assert_int_equal(at, in->count[r]);
    assert_int_equal(at, in->lookups[r]);
  }
}

static void check_blocks(const struct plain *p, const struct ss_input *in, uint32_t block, bool element,
                         uint64_t seed) {
  const uint64_t blocks = (p->n + block - 1) / block;
  assert_true(in->rows == (element ? blocks * block : blocks) && in->width == (element ? 1 : block));
  for (uint32_t r = 0; r < RANKS; r++) {
    uint64_t at = 0;
    for (uint64_t b = 0; b < blocks; b++) {
      if (!p->listed[r][b]) continue;
      for (uint32_t i = 0; i < block; i++) {
        int64_t wanted = b * block + i < p->n ? p->picked[r][b * block + i] : 0;
        bool row_is = element ? in->row[r][at * block + i] == b * block + i : in->row[r][at] == b;
        if (!row_is || in->value[r][at * block + i] != wanted)
          fail_msg("seed %llu: rank %u selects another than block %llu", (unsigned long long)seed, r,
                   (unsigned long long)b);
      }
      at++;
    }
    assert_int_equal(element ? at * block : at, in->count[r]);
  }
}

static void ranks_select_what_plain_loops_do(void **state) {
  static struct plain p;
  struct ss_arena arena = {0};
  uint32_t waited = 0;
  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct dice d = {.seed = seed};
    struct ss_selector s = {.selection = {.selects = true, .residual = dice_below(&d, 4) > 0}};
    bool element = dice_one_in(&d, 2);
    memset(&p, 0, sizeof p);
    p.n = dice_between(&d, 1, MOST);
    if (dice_one_in(&d, 2)) s.selection.k = dice_between(&d, 1, 40);
    else s.selection.density = dice_unit(&d) * (dice_one_in(&d, 2) ? 1 : 0.05) + 1e-6;
    if (seed % 2) s.selection.block = dice_between(&d, 1, 40);
    for (uint32_t t = 0; t < 5; t++) {
      struct ss_error error;
      ss_arena_reset(&arena);
      struct ss_input in = throw_input(&d, &p, &arena);
      if (!ss_selector_apply(&s, element, &in, &arena, &error)) fail_msg("%s", error.text);
      select_plainly(&p, &s.selection);
      if (s.selection.block) check_blocks(&p, &in, s.selection.block, element, seed);
      else check_entries(&p, &in, seed);
      assert_true(close_to(s.energy, energy(&p), 1e-12));
      assert_true(!in.even && in.value_bytes == 4 && in.ranks == RANKS);
      for (uint64_t i = 0; i < p.n; i++) waited += p.residual[0][i] != 0;
    }
    ss_selector_free(&s);
  }
  assert_true(waited > 1000);
  ss_arena_free(&arena);
}

/* Bit patterns from the formats' definitions (IEEE 754 binary16; bfloat16 is the upper half of a single). */
static void half_precision_values(void **state) {
  static const uint16_t halves[] = {0x0000, 0x3C00, 0xC000, 0x7BFF, 0x0001, 0x0400, 0x3555, 0xFC00};
  static const double values[] = {0, 1, -2, 65504, 0x1p-24, 0x1p-14, 0.333251953125, -INFINITY};
  static const uint16_t brains[] = {0x3F80, 0xC040, 0x0080};
  (void)state;
  for (size_t i = 0; i < COUNT(halves); i++) assert_true(ss_dtype_value(SS_F16, halves, i) == values[i]);
  assert_true(isnan(ss_dtype_value(SS_F16, (const uint16_t[]){0x7E00}, 0)));
  assert_true(ss_dtype_value(SS_BF16, brains, 0) == 1);
  assert_true(ss_dtype_value(SS_BF16, brains, 1) == -3);
  assert_true(ss_dtype_value(SS_BF16, brains, 2) == 0x1p-126);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(half_precision_values),
      cmocka_unit_test(elements_follow_from_their_index),
      cmocka_unit_test(threads_change_nothing),
      cmocka_unit_test(values_are_clipped),
      cmocka_unit_test(units_are_rounded_half_to_even),
      cmocka_unit_test(distributions_have_the_moments_asked_for),
      cmocka_unit_test(ranks_select_what_plain_loops_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
