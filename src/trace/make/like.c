#include "trace/make/like.h"

#include "base/gsl.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_randist.h>

/* Near enough to look no further, and the most that a statistic may be off: logarithms of ratios. */
static const double near = 2e-3, tolerance = 0.02;

/* --- what is asked ------------------------------------------------------------------------------------------ */

static const struct {
  const char *name;
  bool counted; /* it is of so many ranks or ranges */
} statistics[] = {{"density", false}, {"gamma", true}, {"skewness", true}, {"coalescing", false}, {"repeat", true}};
enum { STATISTICS = sizeof statistics / sizeof *statistics };

const char *ss_like_name(const struct ss_like *like, size_t index, char *buffer, size_t size) {
  const char *name = statistics[like->statistic[index].of].name;
  if (like->statistic[index].at) (void)snprintf(buffer, size, "%s@%" PRIu32, name, like->statistic[index].at);
  else (void)snprintf(buffer, size, "%s", name);
  return buffer;
}

/* The name's kind and its number. */
static bool find_kind(const char *name, size_t length, enum ss_statistic *of, uint32_t *at, struct ss_error *error) {
  const char *sign = memchr(name, '@', length);
  const size_t word = sign ? (size_t)(sign - name) : length;
  char number[16] = "";
  uint64_t value = 0;
  for (size_t i = 0; i < STATISTICS; i++) {
    if (strlen(statistics[i].name) != word || memcmp(statistics[i].name, name, word) != 0) continue;
    if (statistics[i].counted != (sign != NULL))
      return ss_fail(error, SS_BAD_INPUT, "%s: say %s%s", statistics[i].name, statistics[i].name,
                     statistics[i].counted ? "@16, of 16 ranks (skewness: of 16 ranges)" : " alone");
    if (sign) (void)snprintf(number, sizeof number, "%.*s", (int)(length - word - 1), sign + 1);
    if (sign && !ss_count_parse(number, statistics[i].name, 1, SS_RANKS_MAX, &value, error)) return false;
    *of = (enum ss_statistic)i;
    *at = (uint32_t)value;
    return true;
  }
  return ss_fail(error, SS_BAD_INPUT,
                 "\"%.*s\" is no statistic: there are density, gamma@K, skewness@P, coalescing and repeat@K",
                 (int)(length < 40 ? length : 40), name);
}

static bool add(struct ss_like *like, const char *name, size_t length, double value, struct ss_error *error) {
  enum ss_statistic of;
  uint32_t at;
  if (!find_kind(name, length, &of, &at, error)) return false;
  const double low = of == SS_LIKE_DENSITY || of == SS_LIKE_REPEAT ? 0 : 1;
  const double high = low == 0 ? 1 : of == SS_LIKE_COALESCING ? HUGE_VAL : (double)at;
  if (!(value >= low && value <= high && value > 0))
    return ss_fail(error, SS_BAD_INPUT, "%.*s: %g is not %s %g to %g", (int)length, name, value,
                   low == 0 ? "above" : "from", low, high);
  for (size_t i = 0; i < like->count; i++)
    if (like->statistic[i].of == of && like->statistic[i].at == at)
      return ss_fail(error, SS_BAD_INPUT, "%.*s is said twice", (int)length, name);
  if (like->count == SS_LIKE_MOST) return ss_fail(error, SS_BAD_INPUT, "more than %d statistics", SS_LIKE_MOST);
  like->statistic[like->count].of = of;
  like->statistic[like->count].at = at;
  like->statistic[like->count++].asked = value;
  return true;
}

bool ss_like_parse(const char *text, struct ss_like *out, struct ss_error *error) {
  *out = (struct ss_like){0};
  for (const char *at = text; at;) {
    const char *end = strchr(at, ','), *equals = strchr(at, '=');
    const size_t length = end ? (size_t)(end - at) : strlen(at);
    char number[40];
    double value;
    if (!equals || equals > at + length)
      return ss_fail(error, SS_BAD_INPUT, "\"%s\" is no list like density=1.13%%,gamma@16=5.2", text);
    if (at + length - equals > (ptrdiff_t)sizeof number)
      return ss_fail(error, SS_BAD_INPUT, "%.*s is too long a number", (int)length, at);
    (void)snprintf(number, sizeof number, "%.*s", (int)(at + length - equals - 1), equals + 1);
    if (!ss_units_parse(number, SS_RATIO, &value, error) || !add(out, at, (size_t)(equals - at), value, error))
      return false;
    at = end ? end + 1 : NULL;
  }
  return true;
}

bool ss_like_read(struct ss_node node, struct ss_like *out, struct ss_error *error) {
  *out = (struct ss_like){0};
  for (struct ss_node m = ss_node_first(node); ss_node_present(m); m = ss_node_next(m)) {
    struct ss_error why = {0};
    double value;
    if (!ss_node_quantity(m, SS_RATIO, &value, error)) return false;
    if (!add(out, ss_node_key(m), strlen(ss_node_key(m)), value, &why))
      return ss_node_fail(node, error, "%s", why.text);
  }
  return out->count > 0 || ss_node_fail(node, error, "names no statistic");
}

/* --- what a law leads one to expect ------------------------------------------------------------------------- */

struct law {
  double lookups, zipf, hot, hot_rows, hot_zipf, shared, scatter;
};

/* The table's rows, 0 the most popular, in groups that are as good as equally popular: none wider than 4%. */
enum { GROUPS_MOST = 1024 };
struct table {
  double rows;
  size_t groups;
  double edge[GROUPS_MOST + 1], log_middle[GROUPS_MOST];
};

static double log_middle(double low, double high) {
  return log((low + high + 1) / 2);
}

static void lay_out(uint64_t rows, struct table *t) {
  double low = 0;
  *t = (struct table){.rows = (double)rows};
  while (low < t->rows) {
    const double high = fmin(t->rows, fmax(low + 1, floor(low * 1.04)));
    t->log_middle[t->groups] = log_middle(low, high);
    t->edge[++t->groups] = high;
    low = high;
  }
}

/* Part of a group, all hot or all not. */
struct piece {
  double low, high, log_middle;
  bool hot;
};

/* The pieces of group g; returns how many. */
static size_t cut(const struct table *t, size_t g, const struct law *law, struct piece out[2]) {
  const double low = t->edge[g], high = t->edge[g + 1], end = law->hot > 0 ? law->hot_rows : 0;
  const bool split = low < end && end < high;
  out[0] = (struct piece){low, high, t->log_middle[g], low < end};
  if (!split) return 1;
  out[0] = (struct piece){low, end, log_middle(low, end), true};
  out[1] = (struct piece){end, high, log_middle(end, high), false};
  return 2;
}

/* Sums over the table. */
struct sums {
  double distinct;
  double of[SS_LIKE_MOST];                             /* rows of K ranks; rows looked up again */
  double range[SS_LIKE_MOST][2], spread[SS_LIKE_MOST]; /* rows in the first two ranges; variance of the first */
};

static double common(const struct piece *p, double low, double high) {
  return fmax(0, fmin(p->high, high) - fmax(p->low, low));
}

static void add_piece(const struct ss_like *like, const struct table *t, const struct law *law, const struct piece *p,
                      double chance, struct sums *sums) {
  const double missed = law->lookups * log1p(-fmin(chance, 1 - 1e-15)), found = -expm1(missed);
  const double rows = p->high - p->low;
  sums->distinct += rows * found;
  for (size_t i = 0; i < like->count; i++) {
    const double at = like->statistic[i].at, width = t->rows / at, ranks = law->shared + at * (1 - law->shared);
    switch (like->statistic[i].of) {
    case SS_LIKE_GAMMA: sums->of[i] -= rows * expm1(ranks * missed); break;
    case SS_LIKE_REPEAT: sums->of[i] -= rows * found * expm1(ranks * missed); break;
    case SS_LIKE_SKEWNESS:
      sums->range[i][0] += common(p, 0, width) * found;
      sums->range[i][1] += common(p, width, 2 * width) * found;
      sums->spread[i] += common(p, 0, width) * found * (1 - found);
      break;
    case SS_LIKE_DENSITY:
    case SS_LIKE_COALESCING: break;
    }
  }
}

/* Of the densest of P ranges: the first's rows are those that lie there in order and those scattered there; another
 * may have more, be it the second or the luckiest of all. The expected greater of two normal variables is Clark's. */
static double skewness(const struct table *t, const struct law *law, const struct sums *sums, size_t i,
                       double parts) {
  if (parts < 2) return 1;
  const double even = law->scatter * sums->distinct / parts, ordered = 1 - law->scatter;
  const double first = ordered * sums->range[i][0] + even, second = ordered * sums->range[i][1] + even;
  const double rest = (sums->distinct - first) / (parts - 1);
  const double noise = even * (1 - sums->distinct / t->rows),
               luck = gsl_cdf_ugaussian_Pinv((parts - 1.375) / (parts - 0.75));
  const double other = fmax(second, rest + fmax(0, luck) * sqrt(rest));
  const double spread = sqrt(ordered * sums->spread[i] + noise + 1e-9), away = (first - other) / spread;
  const double most =
      first * gsl_cdf_ugaussian_P(away) + other * gsl_cdf_ugaussian_Q(away) + spread * gsl_ran_ugaussian_pdf(away);
  return most * parts / sums->distinct;
}

static void expect(const struct ss_like *like, const struct table *t, const struct law *law, double *out) {
  double all = 0, hot = 0;
  struct piece piece[2];
  struct sums sums = {0};
  for (size_t g = 0; g < t->groups; g++)
    for (size_t k = 0, pieces = cut(t, g, law, piece); k < pieces; k++) {
      all += (piece[k].high - piece[k].low) * exp(-law->zipf * piece[k].log_middle);
      if (piece[k].hot) hot += (piece[k].high - piece[k].low) * exp(-law->hot_zipf * piece[k].log_middle);
    }
  for (size_t g = 0; g < t->groups; g++)
    for (size_t k = 0, pieces = cut(t, g, law, piece); k < pieces; k++) {
      double chance = (1 - law->hot) * exp(-law->zipf * piece[k].log_middle) / all;
      if (piece[k].hot) chance += law->hot * exp(-law->hot_zipf * piece[k].log_middle) / hot;
      add_piece(like, t, law, &piece[k], chance, &sums);
    }
  for (size_t i = 0; i < like->count; i++) switch (like->statistic[i].of) {
    case SS_LIKE_DENSITY: out[i] = sums.distinct / t->rows; break;
    case SS_LIKE_COALESCING: out[i] = law->lookups / sums.distinct; break;
    case SS_LIKE_GAMMA:
    case SS_LIKE_REPEAT: out[i] = sums.of[i] / sums.distinct; break;
    case SS_LIKE_SKEWNESS: out[i] = skewness(t, law, &sums, i, like->statistic[i].at); break;
    }
}

/* --- the fit ------------------------------------------------------------------------------------------------ */

enum { LOOKUPS, ZIPF, HOT, HOT_ROWS, HOT_ZIPF, SHARED, SCATTER };

/* From the simplest on: which parameters are free. What is not is 1 (zipf; 0 with an even rest), no hot set, one hot
 * row (padding), an evenly read hot set, ranks that draw alone. */
static const struct family {
  unsigned free;
  double zipf;
} families[] = {
    {1u << LOOKUPS, 1},
    {1u << LOOKUPS | 1u << ZIPF, 1},
    {1u << LOOKUPS | 1u << ZIPF | 1u << HOT, 1},
    {1u << LOOKUPS | 1u << HOT | 1u << HOT_ROWS, 0},
    {1u << LOOKUPS | 1u << ZIPF | 1u << SHARED, 1},
    {1u << LOOKUPS | 1u << ZIPF | 1u << HOT | 1u << HOT_ROWS, 0.5},
    {1u << LOOKUPS | 1u << HOT | 1u << HOT_ROWS | 1u << HOT_ZIPF, 0},
    {1u << LOOKUPS | 1u << ZIPF | 1u << HOT | 1u << HOT_ROWS | 1u << HOT_ZIPF, 0.5},
    {1u << LOOKUPS | 1u << ZIPF | 1u << HOT | 1u << HOT_ROWS | 1u << HOT_ZIPF | 1u << SHARED, 0.5},
};
enum { FAMILIES = sizeof families / sizeof *families, STARTS = 3 };

struct fit {
  const struct ss_like *like;
  const struct table *table;
  double weight[SS_LIKE_MOST];
  unsigned free;
  struct law law; /* what is not free */
};

static double between(double low, double high, double x) {
  return low + (high - low) / (1 + exp(-x));
}

static double back(double low, double high, double value) {
  const double share = fmin(fmax((value - low) / (high - low), 1e-6), 1 - 1e-6);
  return log(share / (1 - share));
}

static const double zipf_most = 4;

/* The law at a point of the search, in which every parameter runs over all numbers. */
static struct law law_at(const struct fit *f, const gsl_vector *x) {
  struct law law = f->law;
  size_t i = 0;
  if (f->free & 1u << LOOKUPS) law.lookups = exp(fmin(gsl_vector_get(x, i++), 40 * M_LN2));
  if (f->free & 1u << ZIPF) law.zipf = between(0, zipf_most, gsl_vector_get(x, i++));
  if (f->free & 1u << HOT) law.hot = between(0, 1, gsl_vector_get(x, i++));
  if (f->free & 1u << HOT_ROWS) law.hot_rows = exp(between(0, log(f->table->rows), gsl_vector_get(x, i++)));
  if (f->free & 1u << HOT_ZIPF) law.hot_zipf = between(0, zipf_most, gsl_vector_get(x, i++));
  if (f->free & 1u << SHARED) law.shared = between(0, 1, gsl_vector_get(x, i++));
  if (f->free & 1u << SCATTER) law.scatter = between(0, 1, gsl_vector_get(x, i++));
  return law;
}

static void point_of(const struct fit *f, const struct law *law, gsl_vector *x) {
  size_t i = 0;
  if (f->free & 1u << LOOKUPS) gsl_vector_set(x, i++, log(law->lookups));
  if (f->free & 1u << ZIPF) gsl_vector_set(x, i++, back(0, zipf_most, law->zipf));
  if (f->free & 1u << HOT) gsl_vector_set(x, i++, back(0, 1, law->hot));
  if (f->free & 1u << HOT_ROWS) gsl_vector_set(x, i++, back(0, log(f->table->rows), log(law->hot_rows)));
  if (f->free & 1u << HOT_ZIPF) gsl_vector_set(x, i++, back(0, zipf_most, law->hot_zipf));
  if (f->free & 1u << SHARED) gsl_vector_set(x, i++, back(0, 1, law->shared));
  if (f->free & 1u << SCATTER) gsl_vector_set(x, i++, back(0, 1, law->scatter));
}

/* Weighted logarithms of reached over asked; the rest, which there is where parameters are more, is 0. */
static int residuals(const gsl_vector *x, void *context, gsl_vector *out) {
  const struct fit *f = context;
  const struct law law = law_at(f, x);
  double reached[SS_LIKE_MOST];
  expect(f->like, f->table, &law, reached);
  gsl_vector_set_zero(out);
  for (size_t i = 0; i < f->like->count; i++)
    gsl_vector_set(out, i, f->weight[i] * log(reached[i] / f->like->statistic[i].asked));
  return GSL_SUCCESS;
}

static double asked(const struct ss_like *like, enum ss_statistic of, double otherwise) {
  for (size_t i = 0; i < like->count; i++)
    if (like->statistic[i].of == of) return like->statistic[i].asked;
  return otherwise;
}

/* The largest weighted residual. Nobody looks a row up hundreds of times who does not say so. */
static double misfit(const struct fit *f, const struct law *law) {
  enum { COALESCING_MOST = 100 };
  double reached[SS_LIKE_MOST], most = 0;
  const double density = asked(f->like, SS_LIKE_DENSITY, 0);
  if (f->free & 1u << LOOKUPS && density > 0 && asked(f->like, SS_LIKE_COALESCING, 0) == 0 &&
      law->lookups > COALESCING_MOST * density * f->table->rows)
    return INFINITY;
  expect(f->like, f->table, law, reached);
  for (size_t i = 0; i < f->like->count; i++)
    most = fmax(most, f->weight[i] * fabs(log(reached[i] / f->like->statistic[i].asked)));
  return isfinite(most) ? most : INFINITY;
}

/* Levenberg and Marquardt from `law`, which becomes where it ends; false: memory is short. */
static bool descend(const struct fit *f, struct law *law) {
  enum { STEPS = 60 };
  const size_t free = (size_t)__builtin_popcount(f->free), count = f->like->count > free ? f->like->count : free;
  gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
  gsl_multifit_nlinear_fdf problem = {.f = residuals, .n = count, .p = free, .params = (void *)f};
  int info;
  how.solver = gsl_multifit_nlinear_solver_svd;
  gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, count, free);
  gsl_vector *x = gsl_vector_alloc(free);
  const bool ok = w && x;
  if (ok) {
    point_of(f, law, x);
    if (gsl_multifit_nlinear_init(x, &problem, w) == GSL_SUCCESS)
      (void)gsl_multifit_nlinear_driver(STEPS, 1e-7, 1e-10, 0, NULL, NULL, &info, w);
    *law = law_at(f, gsl_multifit_nlinear_position(w));
  }
  if (x) gsl_vector_free(x);
  if (w) gsl_multifit_nlinear_free(w);
  return ok;
}

/* Where a family's search begins, one time and another. */
static struct law begin(const struct fit *f, const struct family *family, size_t start, bool hold) {
  static const double zipf[STARTS] = {1, 0.6, 1.4}, hot[STARTS] = {0.3, 0.6, 0.9}, size[STARTS] = {0.3, 1, 3};
  const double rows = f->table->rows, density = fmin(asked(f->like, SS_LIKE_DENSITY, 0.01), 0.999);
  struct law law = {.lookups = f->law.lookups, .zipf = family->zipf, .hot_rows = 1};
  if (!hold) law.lookups = fmax(1, asked(f->like, SS_LIKE_COALESCING, 1.5 - log1p(-density)) * density * rows);
  if (family->free & 1u << ZIPF) law.zipf *= zipf[start];
  if (family->free & 1u << HOT) law.hot = hot[start];
  if (family->free & 1u << HOT_ROWS) law.hot_rows = fmin(fmax(size[start] * density * rows, 2), rows / 2 + 1);
  if (family->free & 1u << HOT_ZIPF) law.hot_zipf = 0.5;
  if (family->free & 1u << SHARED) law.shared = hot[start];
  if (f->free & 1u << SCATTER) law.scatter = 0.2;
  return law;
}

/* The best law over all families, the first that is near enough; *off: how far it is. */
static bool search(struct fit *f, bool hold, bool skewed, struct law *best, double *off) {
  const double lookups = f->law.lookups;
  *best = (struct law){.lookups = lookups};
  *off = INFINITY;
  for (size_t i = 0; i < FAMILIES; i++)
    for (size_t start = 0; start < STARTS; start++) {
      f->free = (families[i].free & ~(hold ? 1u << LOOKUPS : 0)) | (skewed ? 1u << SCATTER : 0);
      f->law = (struct law){.lookups = lookups};
      struct law law = f->law = begin(f, &families[i], start, hold);
      if (f->free && !descend(f, &law)) return false;
      const double found = misfit(f, &law);
      if (found < *off) *best = law;
      *off = fmin(*off, found);
      f->law.lookups = lookups;
      if (*off <= near) return true;
    }
  return true;
}

/* Four significant digits, so that another machine's last bits make no other law. */
static double rounded(double value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%.4g", value);
  return strtod(text, NULL);
}

static double rounded_share(double value) {
  return value > 0.5 ? 1 - rounded(1 - value) : rounded(value);
}

static void round_law(struct law *law, bool hold, double rows) {
  if (!hold) law->lookups = fmax(1, nearbyint(rounded(law->lookups)));
  law->zipf = rounded(law->zipf);
  law->hot = rounded_share(law->hot);
  law->hot_rows = fmin(fmax(1, nearbyint(rounded(law->hot_rows))), rows);
  law->hot_zipf = rounded(law->hot_zipf);
  law->shared = rounded_share(law->shared);
  law->scatter = rounded_share(law->scatter);
}

static void lay_down(const struct law *law, bool skewed, struct ss_synth *out) {
  out->lookups = (uint64_t)law->lookups;
  out->zipf = law->zipf;
  out->hot = law->hot;
  out->hot_rows = law->hot > 0 ? (uint64_t)law->hot_rows : 0;
  out->hot_zipf = law->hot > 0 ? law->hot_zipf : 0;
  out->shared = law->shared;
  out->scatter = law->scatter;
  if (skewed) out->ids = SS_IDS_POPULARITY;
}

/* Which statistic is farthest off; the density, which says how large all is, only where it stands alone. */
static size_t farthest(const struct fit *f, const struct law *law) {
  double reached[SS_LIKE_MOST], most = -1;
  size_t worst = 0;
  expect(f->like, f->table, law, reached);
  for (size_t i = 0; i < f->like->count; i++) {
    const double off = fabs(log(reached[i] / f->like->statistic[i].asked));
    if (off <= most || (f->like->count > 1 && f->like->statistic[i].of == SS_LIKE_DENSITY)) continue;
    worst = i;
    most = off;
  }
  return worst;
}

/* Between what a law with the others has of the statistic by itself and what is asked, the nearest to that which
 * still goes with the others, by bisection; *found: there is one. */
static bool find_reach(struct fit *f, struct ss_like *like, size_t which, bool hold, double *out, bool *found) {
  enum { HALVINGS = 6 };
  const bool skewed = asked(like, SS_LIKE_SKEWNESS, 0) > 0;
  const double wanted = like->statistic[which].asked;
  double reached[SS_LIKE_MOST] = {0}, off, far = wanted;
  struct law law;
  f->weight[which] = 0;
  if (!search(f, hold, skewed, &law, &off)) return false;
  f->weight[which] = 1;
  *found = off <= tolerance;
  expect(like, f->table, &law, reached);
  *out = reached[which];
  for (int i = 0; *found && i < HALVINGS; i++) {
    like->statistic[which].asked = sqrt(*out * far);
    if (!search(f, hold, skewed, &law, &off)) return false;
    *(off <= tolerance ? out : &far) = like->statistic[which].asked;
  }
  like->statistic[which].asked = wanted;
  return true;
}

static bool refuse(struct fit *f, struct ss_like *like, bool hold, const struct law *best, struct ss_error *error) {
  const size_t worst = farthest(f, best);
  const double wanted = like->statistic[worst].asked;
  double reach;
  bool found;
  char name[40], end[60] = "";
  (void)ss_like_name(like, worst, name, sizeof name);
  if (!find_reach(f, like, worst, hold, &reach, &found)) return ss_fail_memory(error, "fitting a law");
  if (found) (void)snprintf(end, sizeof end, ": about %.3g %s", reach, reach < wanted ? "at most" : "at least");
  return ss_fail(error, SS_BAD_INPUT, "%s=%g: no law of lookups has it%s%s", name, wanted,
                 like->count > 1 ? " beside the others"
                 : hold          ? " with so many lookups"
                                 : "",
                 end);
}

static bool fit(struct fit *f, struct ss_like *like, bool hold, struct law *law, struct ss_error *error) {
  double off, reached[SS_LIKE_MOST];
  for (size_t i = 0; i < like->count; i++) f->weight[i] = 1;
  if (!search(f, hold, asked(like, SS_LIKE_SKEWNESS, 0) > 0, law, &off))
    return ss_fail_memory(error, "fitting a law");
  round_law(law, hold, f->table->rows);
  if (!(misfit(f, law) <= tolerance)) return refuse(f, like, hold, law, error);
  expect(like, f->table, law, reached);
  for (size_t i = 0; i < like->count; i++) like->statistic[i].reached = reached[i];
  return true;
}

static bool fit_anew(struct ss_like *like, bool hold, const struct ss_synth *synth, struct law *law,
                     struct ss_error *error) {
  SS_AUTO_FREE struct table *table = ss_alloc(1, sizeof *table);
  if (!table) return ss_fail_memory(error, "fitting a law");
  lay_out(synth->rows, table);
  struct fit f = {.like = like, .table = table, .law = {.lookups = (double)synth->lookups}};
  ss_gsl_errors_off();
  const bool ok = fit(&f, like, hold, law, error);
  ss_gsl_errors_back();
  return ok;
}

/* The laws that were found last: a workload is read again for each question that is asked of it. */
enum { FOUND = 64 };
static struct found {
  struct ss_like like;
  uint64_t rows, lookups;
  bool hold;
  struct law law;
} found[FOUND];
static size_t founds;

static bool same(const struct found *a, const struct found *b) {
  bool same = a->rows == b->rows && a->lookups == b->lookups && a->hold == b->hold && a->like.count == b->like.count;
  for (size_t i = 0; same && i < a->like.count; i++)
    same = a->like.statistic[i].of == b->like.statistic[i].of && a->like.statistic[i].at == b->like.statistic[i].at &&
           a->like.statistic[i].asked == b->like.statistic[i].asked;
  return same;
}

static bool recall(struct found *one) {
  bool known = false;
#pragma omp critical(ss_like_found)
  for (size_t i = 0; !known && i < founds && i < FOUND; i++)
    if ((known = same(&found[i], one))) *one = found[i];
  return known;
}

static void keep(const struct found *one) {
#pragma omp critical(ss_like_found)
  found[founds++ % FOUND] = *one;
}

bool ss_like_fit(struct ss_like *like, bool hold_lookups, struct ss_synth *synth, struct ss_error *error) {
  struct found one = {.like = *like, .rows = synth->rows, .lookups = synth->lookups};
  one.hold = hold_lookups || (asked(like, SS_LIKE_DENSITY, 0) == 0 && asked(like, SS_LIKE_COALESCING, 0) == 0);
  if (!recall(&one)) {
    if (!fit_anew(&one.like, one.hold, synth, &one.law, error)) return false;
    keep(&one);
  }
  *like = one.like;
  lay_down(&one.law, asked(like, SS_LIKE_SKEWNESS, 0) > 0, synth);
  return true;
}

/* --- in documents ------------------------------------------------------------------------------------------- */

static const struct ss_field_spec statistic = {.kind = SS_SPEC_NONNEGATIVE, .dimension = SS_RATIO};
static const struct ss_field_spec none[] = {{.name = NULL}};
const struct ss_object_spec ss_like_spec = {
    .says = "statistics that the lookups shall have: density, gamma@K, skewness@P, coalescing, repeat@K",
    .field = none,
    .others = &statistic,
    .rules = "{'minProperties': 1}"};

bool ss_like_apply(struct ss_node synth, struct ss_synth *out, struct ss_error *error) {
  static const char *const solved[] = {"zipf", "hot", "hot_rows", "hot_zipf", "shared", "scatter", "distinct"};
  const struct ss_node node = ss_node_get(synth, "like");
  struct ss_like like;
  if (!ss_node_present(node)) return true;
  for (size_t i = 0; i < sizeof solved / sizeof *solved; i++)
    if (ss_node_present(ss_node_get(synth, solved[i])))
      return ss_node_fail(ss_node_get(synth, solved[i]), error, "is solved for: leave it out beside \"like\"");
  if (!ss_like_read(node, &like, error)) return false;
  if (asked(&like, SS_LIKE_SKEWNESS, 0) > 0 && ss_node_present(ss_node_get(synth, "ids")))
    return ss_node_fail(ss_node_get(synth, "ids"), error, "is solved for: leave it out beside skewness");
  struct ss_error why = {0};
  const bool hold = ss_node_present(ss_node_get(synth, "lookups")) || ss_node_present(ss_node_get(synth, "tokens"));
  if (ss_like_fit(&like, hold, out, &why)) return true;
  if (why.status == SS_MACHINE) return ss_fail_memory(error, "fitting a law");
  return ss_node_fail(node, error, "%s", why.text);
}
/* SPDX-License-Identifier: Apache-2.0 */
