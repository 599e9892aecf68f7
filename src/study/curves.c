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
  return ss_json_object(SS_T("scheme", c->setting->scheme->name), SS_T("label", c->setting->label),
                        SS_J("options", ss_setting_own_json(c->setting, false)),
                        SS_B("lossless", ss_scheme_lossless(c->setting->scheme)), SS_B("sound", c->sound),
                        SS_T("same_as", first < i ? curves->curve[first].setting->label : NULL),
                        SS_B("diverged", c->diverged), SS_N("steps", (double)c->steps),
                        SS_N("loss_first", c->steps > 0 ? c->loss[0] : NAN), SS_N("loss_end", ss_curve_end(c)),
                        SS_N("bytes_sent_max", c->sent), SS_N("energy", c->energy),
                        SS_N("energy_lost", c->energy_lost), SS_N("error_l2", c->error_l2),
                        SS_J("loss", cJSON_CreateDoubleArray(c->loss, (int)c->steps)));
}

cJSON *ss_curves_json(const struct ss_curves *curves) {
  const struct ss_learn_task *task = curves->task;
  cJSON *root = ss_json_object(
      SS_T("sparsync", SS_VERSION), SS_T("text", curves->text), SS_T("layout", curves->layout),
      SS_N("ranks", ss_trace_ranks(task->text)), SS_N("iterations", (double)ss_trace_iterations(task->text)),
      SS_N("steps", (double)task->steps), SS_N("batch", (double)task->batch),
      SS_N("seq", curves->seq ? (double)curves->seq : NAN), SS_N("vocab", (double)task->shape.vocab),
      SS_N("width", task->shape.width), SS_N("context", task->shape.context), SS_N("samples", task->shape.samples),
      SS_N("seed", (double)task->shape.seed), SS_T("optimizer", ss_optimizer_names[task->optimizer.kind]),
      SS_N("lr", task->optimizer.rate), SS_B("split", task->split),
      SS_N("select", task->select.selects ? task->select.density : NAN));
  cJSON *list = cJSON_AddArrayToObject(root, "curves");
  for (size_t i = 0; i < curves->count; i++) cJSON_AddItemToArray(list, curve_json(curves, i));
  return root;
}
