#include "claims/fits.h"

#include "query/cache.h"
#include "query/calibrate_training_request.h"

static const struct ss_field_spec fields[] = {{"fit", "one of the file's \"fits\"", SS_IS_NAME, .required = true},
                                              {"without",
                                               "claims whose numbers say the same, and are left out with this one's",
                                               SS_IS_LIST(&ss_name_field, 0, 0)},
                                              {.name = NULL}};
const struct ss_object_spec ss_prediction_fields = {
    .name = "predicted", .says = "which other printed numbers foretell it", .field = fields};

struct fit {
  const struct ss_claims_file *file;
  const char *name;
  struct ss_calibrate_training_request asked;
  struct ss_training_fit *fit;
  char path[PATH_MAX];                       /* of the table */
  struct ss_training_prediction *prediction; /* [numbers] */
  bool *left_out;                            /* [numbers] */
  struct fit *next;
};

struct ss_claim_fits {
  unsigned jobs;
  struct fit *first;
};

struct ss_claim_fits *ss_claim_fits_new(unsigned jobs) {
  struct ss_claim_fits *fits = ss_alloc_zero(1, sizeof *fits);
  if (fits) *fits = (struct ss_claim_fits){.jobs = jobs};
  return fits;
}

static void free_fit(struct fit *f) {
  ss_training_fit_close(f->fit);
  ss_calibrate_training_close(&f->asked);
  free(f->prediction);
  free(f->left_out);
  free(f);
}

void ss_claim_fits_free(struct ss_claim_fits *fits) {
  struct fit *next;
  for (struct fit *f = fits ? fits->first : NULL; f; f = next) {
    next = f->next;
    free_fit(f);
  }
  free(fits);
}

/* --- fits ------------------------------------------------------------------------------------------------------ */

static bool open_fit(const struct ss_claim_fits *fits, struct ss_node node, struct fit *f, struct ss_error *error) {

  if (!ss_calibrate_training_read(node, &f->asked, error)) return false;
  if (!f->asked.times) return ss_node_need(node, "times", &node, error);
  if (!ss_request_path(f->asked.times, f->path, sizeof f->path, error)) return false;
  const struct ss_training_fit_request request = {.file = f->path,
                                                  .where = f->asked.where.text,
                                                  .wheres = f->asked.where.count,
                                                  .unknown = f->asked.fit.text,
                                                  .unknowns = f->asked.fit.count,
                                                  .run = {.jobs = fits->jobs}};
  if (!ss_training_fit_open(&request, &f->fit, error)) return false;
  const size_t numbers = ss_training_fit_times(f->fit)->count;
  f->prediction = ss_alloc(numbers, sizeof *f->prediction);
  f->left_out = ss_alloc(numbers, sizeof *f->left_out);
  return (f->prediction && f->left_out) || ss_fail_memory(error, "predicting claims");
}

static bool find_fit(struct ss_claim_fits *fits, const struct ss_claims_file *file, struct ss_node name,
                     struct fit **out, struct ss_error *error) {
  const char *text;
  if (!ss_node_text(name, &text, error)) return false;
  for (*out = fits->first; *out; *out = (*out)->next)
    if ((*out)->file == file && strcmp((*out)->name, text) == 0) return true;
  const struct ss_node node = ss_node_get(file->fits, text);
  if (!ss_node_present(node)) return ss_node_fail(name, error, "none of \"fits\" is called \"%s\"", text);
  struct fit *f = ss_alloc_zero(1, sizeof *f);
  if (!f) return ss_fail_memory(error, "predicting claims");
  f->file = file;
  f->name = text;
  if (!open_fit(fits, node, f, error)) {
    free_fit(f);
    return ss_fail_prefix(error, "%s: fits.%s", ss_doc_name(file->doc), text);
  }
  f->next = fits->first;
  *out = fits->first = f;
  return true;
}

/* --- numbers --------------------------------------------------------------------------------------------------- */

/* Is it one of the words? */
static bool lists(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " "))
    if (strcspn(at, " ") == length && strncmp(at, word, length) == 0) return true;
  return false;
}

static bool states_any(const struct ss_training_time *time, const char *id, struct ss_node others) {
  bool found = lists(time->text[SS_TIMES_CLAIM], id);
  for (struct ss_node n = ss_node_first(others); ss_node_present(n) && !found; n = ss_node_next(n))
    found = ss_node_is_text(n) && lists(time->text[SS_TIMES_CLAIM], n.at->valuestring);
  return found;
}

/* The claim may print the number in another form than the table: as 18% more, where that has 1.18 times. */
static bool foretells(const struct ss_training_time *time, const struct ss_training_prediction *p, double number,
                      struct ss_claim_foretold *out) {
  static const enum ss_time_form forms[] = {SS_TIME_TIMES, SS_TIME_MORE, SS_TIME_LESS, SS_TIME_PERCENT};
  static const double rounding = 0.005;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (fabs(ss_time_printed(forms[i], time->measured) - number) > rounding * fabs(number)) continue;
    const double low = ss_time_printed(forms[i], ss_time_ratio(time->form, p->low)),
                 high = ss_time_printed(forms[i], ss_time_ratio(time->form, p->high));
    *out = (struct ss_claim_foretold){ss_time_printed(forms[i], p->ratio), fmin(low, high), fmax(low, high)};
    return isfinite(out->value);
  }
  return false;
}

/* The number at one end of what is printed: the least or the most of several, where the table says so. */
static bool find_end(const struct fit *f, const char *id, bool high, double number, struct ss_claim_foretold *out) {
  const struct ss_training_times *times = ss_training_fit_times(f->fit);
  for (size_t i = 0; i < times->count; i++) {
    const struct ss_training_time *t = &times->time[i];
    const bool other_end = t->reduce == (high ? SS_TIME_LEAST : SS_TIME_MOST);
    if (!other_end && lists(t->text[SS_TIMES_CLAIM], id) && foretells(t, &f->prediction[i], number, out)) return true;
  }
  return false;
}

static bool predict_without(struct fit *f, const char *id, struct ss_node others, struct ss_claim_prediction *out,
                            struct ss_error *error) {
  const struct ss_training_times *times = ss_training_fit_times(f->fit);
  struct ss_inference inference = {.fitted = 0};
  for (size_t i = 0; i < times->count; i++) f->left_out[i] = states_any(&times->time[i], id, others);
  const bool ok = ss_training_fit_predict(f->fit, f->left_out, f->prediction, &inference, error);
  out->numbers = inference.fitted;
  out->unknowns = ss_training_fit_unknowns(f->fit);
  ss_inference_free(&inference);
  return ok;
}

bool ss_claim_fits_predict(struct ss_claim_fits *fits, const struct ss_claim *claim, struct ss_claim_prediction *out,
                           struct ss_error *error) {
  const struct ss_node asked = ss_node_get(claim->node, "predicted");
  const double number[] = {claim->printed.low, claim->printed.high};
  struct ss_node name;
  struct fit *f;
  *out = (struct ss_claim_prediction){0};
  if (!ss_node_present(asked)) return true;
  if (!ss_object_check_keys(&ss_prediction_fields, asked, error) || !ss_node_need(asked, "fit", &name, error) ||
      !find_fit(fits, claim->file, name, &f, error) ||
      !predict_without(f, claim->id, ss_node_get(asked, "without"), out, error))
    return false;
  if (3 * out->unknowns > out->numbers)
    return ss_node_fail(asked, error, "%zu unknowns are more than a third of the %zu numbers that are left",
                        out->unknowns, out->numbers);
  const size_t ends = number[0] == number[1] ? 1 : 2;
  for (size_t i = 0; i < ends; i++)
    if (!find_end(f, claim->id, i > 0, number[i], &out->end[i]))
      return ss_node_fail(asked, error, "%g is none of the table's numbers that this claim states", number[i]);
  out->ends = ends;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
