#include "cli/form_options.h"

#include "base/data.h"

#include <stdlib.h>
#include <string.h>

bool ss_forms_read_gamma(void *arguments, const char *text, struct ss_error *error) {
  struct ss_forms_call *c = &((struct ss_forms_arguments *)arguments)->forms;
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

bool ss_forms_add_file(void *arguments, const char *value, struct ss_error *error) {
  struct ss_forms_call *c = &((struct ss_forms_arguments *)arguments)->forms;
  if (c->files == SS_FORM_FILES_MAX) return ss_fail(error, SS_BAD_INPUT, "--file: too many");
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
  if (ok) ss_cluster_tell(cluster, call->request.notice);
  if (ok) ss_cluster_even(cluster, call->request.notice);
  if (ok && call->request.latency) ok = positive(call->request.latency, SS_TIME, "latency", &alpha, error);
  if (ok && call->request.latency) ss_cluster_set_latency(cluster, alpha);
  if (ok && call->request.bandwidth) {
    ok = positive(call->request.bandwidth, SS_RATE, "bandwidth", &rate, error);
    if (ok) ss_cluster_set_beta(cluster, 1 / rate);
  }
  return ok;
}
