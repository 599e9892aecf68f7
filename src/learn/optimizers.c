#include "learn/optimizers.h"

const char *const ss_optimizer_names[] = {[SS_SGD] = "sgd", [SS_ADAGRAD] = "adagrad", [SS_ADAM] = "adam", NULL};

static const double beta1 = 0.9, beta2 = 0.999, adam_epsilon = 1e-8, adagrad_epsilon = 1e-10;

double ss_optimizer_rate(enum ss_optimizer_kind kind) {
  static const double rates[] = {[SS_SGD] = 1, [SS_ADAGRAD] = 0.1, [SS_ADAM] = 0.001};
  return rates[kind];
}

bool ss_optimizer_open(const struct ss_optimizer_options *options, uint64_t elements, struct ss_optimizer *out,
                       struct ss_error *error) {
  *out = (struct ss_optimizer){.options = *options};
  if (options->kind == SS_ADAM) out->first = ss_alloc_zero(elements, sizeof *out->first);
  if (options->kind != SS_SGD) out->second = ss_alloc_zero(elements, sizeof *out->second);
  if ((options->kind != SS_ADAM || out->first) && (options->kind == SS_SGD || out->second)) return true;
  ss_optimizer_close(out);
  return ss_fail_memory(error, "making an optimiser");
}

void ss_optimizer_close(struct ss_optimizer *optimizer) {
  free(optimizer->first);
  free(optimizer->second);
  *optimizer = (struct ss_optimizer){0};
}

static void adagrad(struct ss_optimizer *o, double *parameters, const struct ss_update *update) {
  for (uint64_t i = 0; i < update->count; i++) {
    const uint32_t e = update->element[i];
    const double g = update->gradient[i];
    o->second[e] += g * g;
    parameters[e] -= o->options.rate * g / (sqrt(o->second[e]) + adagrad_epsilon);
  }
}

static void adam(struct ss_optimizer *o, double *parameters, const struct ss_update *update, uint64_t step) {
  const double rate = o->options.rate * sqrt(1 - pow(beta2, (double)step)) / (1 - pow(beta1, (double)step));
  for (uint64_t i = 0; i < update->count; i++) {
    const uint32_t e = update->element[i];
    const double g = update->gradient[i];
    o->first[e] = beta1 * o->first[e] + (1 - beta1) * g;
    o->second[e] = beta2 * o->second[e] + (1 - beta2) * g * g;
    parameters[e] -= rate * o->first[e] / (sqrt(o->second[e]) + adam_epsilon);
  }
}

void ss_optimizer_apply(struct ss_optimizer *o, double *parameters, const struct ss_update *update,
                        enum ss_part part) {
  switch (o->options.kind) {
  case SS_SGD:
    for (uint64_t i = 0; i < update->count; i++)
      parameters[update->element[i]] -= o->options.rate * update->gradient[i];
    break;
  case SS_ADAGRAD: adagrad(o, parameters, update); break;
  case SS_ADAM: adam(o, parameters, update, o->step + 1); break;
  }
  if (part != SS_PART_PRIOR) o->step++;
}
/* SPDX-License-Identifier: Apache-2.0 */
