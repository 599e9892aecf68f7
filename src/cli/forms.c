#include "cli/forms.h"

#include "base/data.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool read_gamma(struct ss_forms_call *c, const char *text, struct ss_error *error) {
  static const char *const names[] = {"random", "full", "none"};
  for (int i = 0; i < 3; i++)
    if (strcmp(text, names[i]) == 0) {
      c->with.kind = (enum ss_gamma_kind)i;
      return true;
    }
  c->with.kind = SS_GAMMA_LIST;
  c->with.gammas = 0; /* the last --gamma counts */
  char *copy = strdup(text), *rest = copy;
  bool ok = copy != NULL;
  for (char *word; ok && (word = strsep(&rest, ","));) {
    ok = c->with.gammas < SS_GAMMAS_MAX && ss_units_parse(word, SS_NUMBER, &c->with.gamma[c->with.gammas], NULL) &&
         c->with.gamma[c->with.gammas] > 0;
    c->with.gammas++;
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

struct ss_forms_call *ss_forms_new(void) {
  struct ss_forms_call *c = ss_alloc_zero(1, sizeof *c);
  if (c) ss_supposition_init(&c->with);
  return c;
}

bool ss_forms_option(struct ss_forms_call *c, const char *name, const char *value, struct ss_error *error) {
  if (strcmp(name, "M") == 0) return positive(value, SS_BYTES, name, &c->with.bytes, error);
  if (strcmp(name, "density") == 0) return positive(value, SS_RATIO, name, &c->with.density, error);
  if (strcmp(name, "lookups") == 0) return positive(value, SS_RATIO, name, &c->with.lookups, error);
  if (strcmp(name, "gamma") == 0) return read_gamma(c, value, error);
  if (strcmp(name, "row-width") == 0)
    return ss_count_parse(value, "--row-width", 1, UINT32_MAX, &c->with.row_width, error);
  if (strcmp(name, "value-bytes") == 0)
    return ss_count_parse(value, "--value-bytes", 1, 16, &c->with.value_bytes, error);
  if (strcmp(name, "index-bytes") == 0)
    return ss_count_parse(value, "--index-bytes", 0, 16, &c->with.index_bytes, error);
  if (strcmp(name, "servers") == 0) return ss_count_parse(value, "--servers", 1, 1u << 20, &c->with.servers, error);
  if (strcmp(name, "k") == 0) return ss_count_parse(value, "--k", 1, UINT32_MAX, &c->with.k, error);
  if (strcmp(name, "teams") == 0) return ss_count_parse(value, "--teams", 1, 1u << 20, &c->with.teams, error);
  if (strcmp(name, "block") == 0) return ss_count_parse(value, "--block", 1, 1u << 20, &c->with.block, error);
  if (c->files == sizeof c->file / sizeof *c->file) return ss_fail(error, SS_BAD_INPUT, "--file: too many");
  c->file[c->files++] = value;
  return true;
}

bool ss_forms_cluster(const struct ss_call *call, struct ss_cluster *cluster, struct ss_error *error) {
  struct ss_doc *doc;
  double rate, alpha = 0;
  if (!ss_data_open("clusters", call->request.cluster ? call->request.cluster : "p3.16xlarge-25g", NULL, &doc, error))
    return false;
  bool ok = ss_cluster_read(ss_doc_root(doc), cluster, error);
  ss_doc_free(doc);
  if (ok && call->request.latency) ok = positive(call->request.latency, SS_TIME, "latency", &alpha, error);
  if (ok && call->request.latency) ss_cluster_set_latency(cluster, alpha);
  if (ok && call->request.bandwidth) {
    ok = positive(call->request.bandwidth, SS_RATE, "bandwidth", &rate, error);
    if (ok) ss_cluster_set_beta(cluster, 1 / rate);
  }
  if (ok && !cluster->has_intra) cluster->intra = cluster->inter;
  return ok;
}
