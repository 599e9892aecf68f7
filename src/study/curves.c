#include "study/curves.h"

#include "base/json_text.h"
#include "study/results.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* --- what curves say ------------------------------------------------------------------------------------ */

bool ss_curve_same(const struct ss_curve *a, const struct ss_curve *b) {
  return a->steps == b->steps && a->diverged == b->diverged &&
         memcmp(a->loss, b->loss, a->steps * sizeof *a->loss) == 0;
}

size_t ss_curves_same(const struct ss_curves *curves, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (ss_curve_same(&curves->curve[k], &curves->curve[i])) return k;
  return i;
}

double ss_curve_mean(const struct ss_curve *curve, uint64_t first, uint64_t end) {
  double sum = 0;
  for (uint64_t t = first; t < end; t++) sum += curve->loss[t];
  return sum / (double)(end - first);
}

double ss_curve_end(const struct ss_curve *curve) {
  if (curve->diverged || curve->steps == 0) return NAN;
  return ss_curve_mean(curve, curve->steps - (curve->steps + 9) / 10, curve->steps);
}

const struct ss_curve *ss_curves_exact(const struct ss_curves *curves) {
  for (size_t i = 0; i < curves->count; i++)
    if (ss_scheme_lossless(curves->curve[i].setting->scheme)) return &curves->curve[i];
  return NULL;
}

bool ss_curves_check(const struct ss_curves *curves, struct ss_error *error) {
  const struct ss_curve *exact = ss_curves_exact(curves);
  for (size_t i = 0; i < curves->count; i++) {
    const struct ss_curve *c = &curves->curve[i];
    if (!c->sound)
      return ss_fail(error, SS_UNPROVEN, "%s: %s", c->setting->label,
                     c->mismatch[0] ? c->mismatch : "ranks end with different sums");
    if (ss_scheme_lossless(c->setting->scheme) && !ss_curve_same(c, exact))
      return ss_fail(error, SS_UNPROVEN, "%s and %s are lossless, but their curves differ", c->setting->label,
                     exact->setting->label);
  }
  return true;
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static cJSON *curve_json(const struct ss_curves *curves, size_t i) {
  const struct ss_curve *c = &curves->curve[i];
  const size_t first = ss_curves_same(curves, i);
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "scheme", c->setting->scheme->name);
  cJSON_AddStringToObject(o, "label", c->setting->label);
  cJSON_AddItemToObject(o, "options", ss_setting_own_json(c->setting, false));
  cJSON_AddBoolToObject(o, "lossless", ss_scheme_lossless(c->setting->scheme));
  cJSON_AddBoolToObject(o, "sound", c->sound);
  ss_json_add_text(o, "same_as", first < i ? curves->curve[first].setting->label : NULL);
  cJSON_AddBoolToObject(o, "diverged", c->diverged);
  cJSON_AddNumberToObject(o, "steps", (double)c->steps);
  ss_json_add_number(o, "loss_first", c->steps > 0 ? c->loss[0] : NAN);
  ss_json_add_number(o, "loss_end", ss_curve_end(c));
  ss_json_add_number(o, "bytes_sent_max", c->sent);
  ss_json_add_number(o, "energy", c->energy);
  ss_json_add_number(o, "energy_lost", c->energy_lost);
  ss_json_add_number(o, "error_l2", c->error_l2);
  cJSON_AddItemToObject(o, "loss", cJSON_CreateDoubleArray(c->loss, (int)c->steps));
  return o;
}

cJSON *ss_curves_json(const struct ss_curves *curves) {
  const struct ss_learn_task *task = curves->task;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "sparsync", SS_VERSION);
  cJSON_AddStringToObject(root, "text", curves->text);
  cJSON_AddStringToObject(root, "layout", curves->layout);
  cJSON_AddNumberToObject(root, "ranks", ss_trace_ranks(task->text));
  cJSON_AddNumberToObject(root, "iterations", (double)ss_trace_iterations(task->text));
  cJSON_AddNumberToObject(root, "steps", (double)task->steps);
  cJSON_AddNumberToObject(root, "batch", (double)task->batch);
  ss_json_add_number(root, "seq", curves->seq ? (double)curves->seq : NAN);
  cJSON_AddNumberToObject(root, "vocab", (double)task->shape.vocab);
  cJSON_AddNumberToObject(root, "width", task->shape.width);
  cJSON_AddNumberToObject(root, "context", task->shape.context);
  cJSON_AddNumberToObject(root, "samples", task->shape.samples);
  cJSON_AddNumberToObject(root, "seed", (double)task->shape.seed);
  cJSON_AddStringToObject(root, "optimizer", ss_optimizer_names[task->optimizer.kind]);
  cJSON_AddNumberToObject(root, "lr", task->optimizer.rate);
  cJSON_AddBoolToObject(root, "split", task->split);
  ss_json_add_number(root, "select", task->select.selects ? task->select.density : NAN);
  cJSON *list = cJSON_AddArrayToObject(root, "curves");
  for (size_t i = 0; i < curves->count; i++) cJSON_AddItemToArray(list, curve_json(curves, i));
  return root;
}
