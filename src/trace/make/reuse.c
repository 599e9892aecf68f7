#include "trace/make/reuse.h"

#include "base/file.h"
#include "base/random.h"

#include <gsl/gsl_cdf.h>

/* --- the file ----------------------------------------------------------------------------------------------- */

enum { LINE = 200, ABOVE_MOST = 1 << 30 };

/* A line's bin, below a bin of the list or the first. */
static bool add_bin(struct ss_reuse *r, const char *line) {
  uint64_t above, most;
  double share;
  int end = 0;
  // NOLINTBEGIN(cert-err34-c): ten digits fit in 64 bits, and a share is looked at below
  if (sscanf(line, "(%10" SCNu64 ", %10" SCNu64 "]: %lf %n", &above, &most, &share, &end) < 3 || line[end]) {
    end = 0;
    if (sscanf(line, "(%10" SCNu64 "+: %lf %n", &above, &share, &end) < 2 || line[end]) return false;
    most = 2 * above;
  }
  // NOLINTEND(cert-err34-c)
  if (above > ABOVE_MOST || most <= above || most > 2 * (uint64_t)ABOVE_MOST || !(share >= 0 && share <= 1))
    return false;
  if (r->bins == SS_REUSE_BINS_MAX || above != (r->bins ? r->bin[r->bins - 1].most : 0)) return false;
  r->bin[r->bins].above = above;
  r->bin[r->bins].most = most;
  r->bin[r->bins++].share = share;
  return true;
}

static bool normalise(const char *name, struct ss_reuse *r, struct ss_error *error) {
  double sum = 0;
  if (!r->bins)
    return ss_fail(error, SS_BAD_INPUT, "%s: has no histogram of lookups, which are lines like \"(1, 2]: 0.044\"",
                   name);
  for (size_t i = 0; i < r->bins; i++) sum += r->bin[i].share;
  if (!(fabs(sum - 1) <= 0.02))
    return ss_fail(error, SS_BAD_INPUT, "%s: the shares of its histogram are %g together, not 1", name, sum);
  for (size_t i = 0; i < r->bins; i++) r->bin[i].share /= sum;
  return true;
}

bool ss_reuse_parse(const char *name, const char *text, size_t size, struct ss_reuse *out, struct ss_error *error) {
  struct ss_reuse r = {0};
  bool of_rows = false; /* the bins to come tell of rows, not of lookups */
  uint64_t number = 1;
  for (size_t at = 0, length; at < size; at += length + 1, number++) {
    char line[LINE] = "";
    const char *end = memchr(text + at, '\n', size - at);
    length = end ? (size_t)(end - text) - at : size - at;
    memcpy(line, text + at, length < LINE - 1 ? length : LINE - 1);
    if (*line == '(' && of_rows) continue;
    if (*line == '(') {
      if (!add_bin(&r, line))
        return ss_fail(error, SS_BAD_INPUT,
                       "%s: line %" PRIu64 ": no bin like \"(1, 2]: 0.044\" that begins where the one before ends",
                       name, number);
    } else if (r.bins) break;
    else of_rows = strstr(line, "Histogram of col sizes") || (of_rows && !strstr(line, "index distribution"));
  }
  if (!normalise(name, &r, error)) return false;
  *out = r;
  return true;
}

bool ss_reuse_read(const char *path, struct ss_reuse *out, struct ss_error *error) {
  SS_AUTO(ss_unmap_file) struct ss_mapping text = {0};
  return ss_map_file(path, &text, error) && ss_reuse_parse(path, (const char *)text.data, text.size, out, error);
}

/* --- the fit ------------------------------------------------------------------------------------------------ */

/* Means and the shares of the lookups that go to rows of each. */
struct mixture {
  size_t count;
  double mean[SS_REUSE_CLASSES_MAX], share[SS_REUSE_CLASSES_MAX];
  double chance[SS_REUSE_CLASSES_MAX][SS_REUSE_BINS_MAX]; /* that a lookup of such a row falls into the bin */
};

/* Whoever looks up a row of mean m finds 1 + Poisson(m) lookups of it. */
static double chance(double mean, uint64_t above, uint64_t most) {
  if (!(mean > 0)) return above == 0; /* a class whose share is nought to the last bit */
  const double upto = gsl_cdf_poisson_P((unsigned)(most - 1), mean);
  return above ? upto - gsl_cdf_poisson_P((unsigned)(above - 1), mean) : upto;
}

static void lay_out(const struct ss_reuse *r, double least, struct mixture *m) {
  const double most = (double)r->bin[r->bins - 1].most;
  m->count = 0;
  double mean = least;
  while (m->count < SS_REUSE_CLASSES_MAX && (m->count == 0 || mean <= most)) {
    m->mean[m->count] = mean;
    for (size_t b = 0; b < r->bins; b++) m->chance[m->count][b] = chance(mean, r->bin[b].above, r->bin[b].most);
    m->count++;
    mean = fmax(mean * M_SQRT2, m->count == 1 ? 0.25 : 0);
  }
}

static double expected(const struct mixture *m, size_t bin) {
  double sum = 0;
  for (size_t j = 0; j < m->count; j++) sum += m->share[j] * m->chance[j][bin];
  return sum;
}

/* Expectation maximisation: each bin's share is laid to the means in proportion to what they would put there. */
static void maximise(const struct ss_reuse *r, struct mixture *m) {
  enum { STEPS = 2000 };
  for (size_t j = 0; j < m->count; j++) m->share[j] = 1 / (double)m->count;
  for (int step = 0; step < STEPS; step++) {
    double gain[SS_REUSE_BINS_MAX];
    for (size_t b = 0; b < r->bins; b++) {
      const double sum = expected(m, b);
      gain[b] = sum > 0 ? r->bin[b].share / sum : 0;
    }
    for (size_t j = 0; j < m->count; j++) {
      double factor = 0;
      for (size_t b = 0; b < r->bins; b++) factor += m->chance[j][b] * gain[b];
      m->share[j] *= factor;
    }
  }
}

/* Rows that the mixture is of, once it is fitted with that least mean. */
static double fit_rows(const struct ss_reuse *r, double least, double lookups, struct mixture *m) {
  double rows = 0;
  lay_out(r, least, m);
  maximise(r, m);
  for (size_t j = 0; j < m->count; j++) rows += m->share[j] * lookups / m->mean[j];
  return rows;
}

/* Whole numbers of rows, from the most popular on; what is less than half a row joins the next. */
static void make_classes(const struct mixture *m, uint64_t lookups, uint64_t rows, struct ss_reuse_law *law) {
  double share = 0, until = 0;
  uint64_t first = 0;
  law->classes = 0;
  for (size_t j = m->count; j-- > 0 && first < rows;) {
    share += m->share[j];
    double wanted = nearbyint(share * (double)lookups / m->mean[j]);
    if (wanted < 1 && j > 0) continue;
    wanted = fmin(fmax(wanted, 1), (double)(rows - first));
    until += share;
    law->class[law->classes].until = until;
    law->class[law->classes].first = first;
    law->class[law->classes++].rows = (uint64_t)wanted;
    first += (uint64_t)wanted;
    share = 0;
  }
  law->class[law->classes - 1].until = 1;
}

/* The largest difference between the histogram and what the law leads one to expect. */
static double difference(const struct ss_reuse *r, const struct ss_reuse_law *law, double lookups) {
  double most = 0;
  for (size_t b = 0; b < r->bins; b++) {
    double sum = 0, before = 0;
    for (size_t i = 0; i < law->classes; i++) {
      const double share = law->class[i].until - before;
      sum += share * chance(share * lookups / (double)law->class[i].rows, r->bin[b].above, r->bin[b].most);
      before = law->class[i].until;
    }
    most = fmax(most, fabs(sum - r->bin[b].share));
  }
  return most;
}

bool ss_reuse_fit(const struct ss_reuse *reuse, uint64_t lookups, uint64_t rows, struct ss_reuse_law *out,
                  struct ss_error *error) {
  enum { HALVINGS = 30 };
  struct mixture m;
  double low = 1e-6, high = 0.25;
  const double least = fit_rows(reuse, high, (double)lookups, &m);
  if (least > (double)rows)
    return ss_fail(error, SS_BAD_INPUT,
                   "rows: %" PRIu64 " lookups of this reuse take a table of about %.0f rows, not %" PRIu64, lookups,
                   ceil(least), rows);
  for (int i = 0; i < HALVINGS; i++) {
    const double middle = sqrt(low * high);
    if (fit_rows(reuse, middle, (double)lookups, &m) > (double)rows) low = middle;
    else high = middle;
  }
  (void)fit_rows(reuse, high, (double)lookups, &m);
  make_classes(&m, lookups, rows, out);
  out->off = difference(reuse, out, (double)lookups);
  return true;
}

uint64_t ss_reuse_draw(const struct ss_reuse_law *law, uint64_t key) {
  const double u = ss_unit(ss_mix(key, 0));
  size_t low = 0, high = law->classes - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (u < law->class[middle].until) high = middle;
    else low = middle + 1;
  }
  return law->class[low].first + ss_below(ss_mix(key, 1), law->class[low].rows);
}
/* SPDX-License-Identifier: Apache-2.0 */
