#include "cost/suppose.h"

const char *const ss_gamma_names[] = {"random", "full", "none", "list", NULL};

static double gamma_of(const void *context, double k) {
  const struct ss_supposition *c = context;
  switch (c->kind) {
  case SS_GAMMA_RANDOM: return -expm1(k * log1p(-c->density)) / c->density;
  case SS_GAMMA_FULL: return 1;
  case SS_GAMMA_NONE: return k;
  case SS_GAMMA_LIST: break;
  }
  size_t at = k < 1 ? 0 : (size_t)k - 1;
  return c->gamma[at < c->gammas ? at : c->gammas - 1];
}

/* Blocks expected when rows stand anywhere alike, as `gamma` has it. */
static double blocks_of(const void *context, double k) {
  const struct ss_supposed *p = context;
  const struct ss_symbols *s = &p->symbols;
  const double density = fmin(1, gamma_of(p->of, k) * p->of->density), rows = fmax(1, s->b / s->w);
  return s->R * s->w / s->b * fmax(1, s->b / s->w) / rows * -expm1(rows * log1p(-density));
}

static bool check(const struct ss_supposition *c, uint32_t ranks, struct ss_error *error) {
  if (c->lookups < c->density)
    return ss_fail(error, SS_BAD_INPUT, "lookups of %g of the rows are fewer than the rows looked up, %g", c->lookups,
                   c->density);
  for (size_t i = 0; c->kind == SS_GAMMA_LIST && i < c->gammas && i < ranks; i++)
    if (!(c->gamma[i] >= (i > 0 ? c->gamma[i - 1] : 1) && c->gamma[i] <= (double)i + 1))
      return ss_fail(
          error, SS_BAD_INPUT,
          "gamma: %g for %zu ranks is not from %g to %zu: the union of that many ranks has at least the rows "
          "of fewer, and at most those of each",
          c->gamma[i], i + 1, i > 0 ? c->gamma[i - 1] : 1, i + 1);
  return true;
}

bool ss_suppose(const struct ss_supposition *c, const struct ss_setting *setting, const struct ss_cluster *cluster,
                uint32_t ranks, struct ss_supposed *out, struct ss_error *error) {
  double row = (double)c->row_width * (double)c->value_bytes;
  struct ss_symbols *s = &out->symbols;
  if (!check(c, ranks, error)) return false;
  *out = (struct ss_supposed){.of = c};
  *s = (struct ss_symbols){.P = ranks, .alpha = cluster->inter.alpha, .beta = cluster->inter.beta, .M = c->bytes};
  s->R = s->rows = c->bytes / row;
  s->w = (double)c->row_width;
  s->v = (double)c->value_bytes;
  s->nnz = c->density * s->R;
  s->lookups = isnan(c->lookups) ? s->nnz : c->lookups * s->R;
  ss_setting_symbols(setting, s);
  s->index_bytes = (double)c->index_bytes;
  s->k = c->k ? (double)c->k : s->nnz * s->w;
  if (c->teams) s->D = (double)c->teams;
  if (c->block) s->b = (double)c->block;
  s->S = c->servers ? (double)c->servers : ss_cluster_nodes(cluster, ranks);
  s->s_1 = s->s_P = 1;
  s->gamma = gamma_of;
  s->gamma_context = c;
  s->blocks = blocks_of;
  s->blocks_context = out;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
