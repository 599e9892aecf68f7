#include "cli/forms.h"

#include "base/data.h"
#include "base/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool ss_forms_read_gamma(void *arguments, const char *text, struct ss_error *error) {
  struct ss_forms_call *c = &((struct ss_forms_arguments *)arguments)->forms;
  static const char *const names[] = {"random", "full", "none"};
  for (int i = 0; i < 3; i++)
    if (strcmp(text, names[i]) == 0) {
      c->kind = (enum ss_gamma_kind)i;
      return true;
    }
  c->kind = SS_GAMMA_LIST;
  c->gammas = 0; /* the last --gamma counts */
  char *copy = strdup(text), *rest = copy;
  bool ok = copy != NULL;
  for (char *word; ok && (word = strsep(&rest, ","));) {
    ok = c->gammas < SS_GAMMAS_MAX && ss_units_parse(word, SS_NUMBER, &c->gamma[c->gammas], NULL) &&
         c->gamma[c->gammas] > 0;
    c->gammas++;
  }
  free(copy);
  return ok || ss_fail(error, SS_BAD_INPUT, "--gamma: \"%s\" is not random, full, none or a list of positive numbers",
                       text);
}

static bool positive(const char *text, enum ss_dimension dimension, const char *name, double *out,
                     struct ss_error *error) {
  if (!ss_units_parse(text, dimension, out, error)) return ss_fail_prefix(error, "--%s", name);
  return *out > 0 || ss_fail(error, SS_BAD_INPUT, "--%s: \"%s\" is not above zero", name, text);
}

bool ss_forms_read_index_bytes(void *arguments, const char *value, struct ss_error *error) {
  struct ss_forms_call *c = &((struct ss_forms_arguments *)arguments)->forms;
  c->index_bytes_said = true;
  return ss_count_parse(value, "--index-bytes", 0, 16, &c->index_bytes, error);
}

bool ss_forms_add_file(void *arguments, const char *value, struct ss_error *error) {
  struct ss_forms_call *c = &((struct ss_forms_arguments *)arguments)->forms;
  if (c->files == SS_FORM_FILES_MAX) return ss_fail(error, SS_BAD_INPUT, "--file: too many");
  c->file[c->files++] = value;
  return true;
}

double ss_forms_gamma(const struct ss_forms_call *c, double k) {
  switch (c->kind) {
  case SS_GAMMA_RANDOM: return -expm1(k * log1p(-c->density)) / c->density;
  case SS_GAMMA_FULL: return 1;
  case SS_GAMMA_NONE: return k;
  case SS_GAMMA_LIST: break;
  }
  size_t at = k < 1 ? 0 : (size_t)k - 1;
  return c->gamma[at < c->gammas ? at : c->gammas - 1];
}

bool ss_forms_cluster(const struct ss_call *call, struct ss_cluster *cluster, struct ss_error *error) {
  struct ss_doc *doc;
  char path[PATH_MAX];
  double rate;
  if (!ss_data_find("clusters", call->request.cluster ? call->request.cluster : "p3.16xlarge-25g", path, sizeof path,
                    error) ||
      !ss_doc_read(path, 1 << 20, &doc, error))
    return false;
  bool ok = ss_cluster_read(ss_doc_root(doc), cluster, error);
  ss_doc_free(doc);
  if (ok && call->request.latency)
    ok = positive(call->request.latency, SS_TIME, "latency", &cluster->inter.alpha, error);
  if (ok && call->request.bandwidth) {
    ok = positive(call->request.bandwidth, SS_RATE, "bandwidth", &rate, error);
    if (ok) cluster->inter.beta = 1 / rate;
  }
  return ok;
}

static double gamma_of(const void *context, double k) {
  return ss_forms_gamma(context, k);
}

/* Blocks expected when rows stand anywhere alike, as `gamma` has it. */
static double blocks_of(const void *context, double k) {
  const struct ss_forms_place *p = context;
  const struct ss_symbols *s = &p->symbols;
  const double density = fmin(1, gamma_of(p->call, k) * p->call->density), rows = fmax(1, s->b / s->w);
  return s->R * s->w / s->b * fmax(1, s->b / s->w) / rows * -expm1(rows * log1p(-density));
}

void ss_forms_place(const struct ss_forms_call *c, const struct ss_setting *setting, const struct ss_cluster *cluster,
                    uint32_t ranks, struct ss_forms_place *out) {
  double row = (double)c->row_width * (double)c->value_bytes;
  struct ss_symbols *s = &out->symbols;
  *out = (struct ss_forms_place){.call = c};
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
}
