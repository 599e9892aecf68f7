#include "query/training_fit.h"

#include "base/data.h"
#include "base/fields.h"
#include "base/suggest.h"

enum { NUMBERS_AN_UNKNOWN = 3, KINDS = 3 };
static const char *const kinds[KINDS + 1] = {"workload", "system", "cluster", NULL};

struct ss_training_fit {
  struct ss_arena arena;
  struct ss_training_times times;
  struct ss_replays *replays;
  struct ss_inferred_number unknown[SS_INFERRED_MOST]; /* without values */
  struct ss_inference_unknown prior[SS_INFERRED_MOST];
  size_t unknowns;
  double *measured, *unfitted; /* [times] */
  struct ss_inference all;
};

/* --- priors -------------------------------------------------------------------------------------------------------
 */

static const struct ss_field_spec prior_fields[] = {
    {"usual", NULL, SS_IS_FROM_0, .required = true, SS_STORED(struct ss_inference_unknown, usual)},
    {"spread", NULL, SS_IS_ABOVE_0, .required = true, SS_STORED(struct ss_inference_unknown, spread)},
    {"low", NULL, SS_IS_FROM_0, .required = true, SS_STORED(struct ss_inference_unknown, low)},
    {"high", NULL, SS_IS_ABOVE_0, .required = true, SS_STORED(struct ss_inference_unknown, high)},
    {"logarithm", NULL, SS_IS_FLAG, .usual = "false", SS_STORED(struct ss_inference_unknown, logarithm)},
    {.name = NULL}};
static const struct ss_object_spec prior_spec = {.field = prior_fields};

static bool read_priors(struct ss_inference_unknown out[SS_UNKNOWNS], struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  struct ss_node all, one;
  if (!ss_data_open("measured", "unknowns", NULL, &doc, error) ||
      !ss_node_need(ss_doc_root(doc), "unknowns", &all, error))
    return false;
  for (int i = 0; i < SS_UNKNOWNS; i++) {
    struct ss_inference_unknown *u = &out[i];
    *u = (struct ss_inference_unknown){.logarithm = false};
    if (!ss_node_need(all, ss_unknown_names[i], &one, error) || !ss_object_read(&prior_spec, one, u, error))
      return false;
    if (!u->logarithm) continue;
    u->usual = log(u->usual), u->spread = log(u->spread), u->low = log(u->low), u->high = log(u->high);
  }
  return true;
}

/* --- unknowns
 * ------------------------------------------------------------------------------------------------------- */

/* "NAME@system=zen", split: which unknown, and for each kind NULL (of all), "" (each) or a name. */
struct said {
  enum ss_unknown what;
  const char *of[KINDS];
};

static bool find_unknown(const char *name, enum ss_unknown *out, struct ss_error *error) {
  for (int i = 0; i < SS_UNKNOWNS; i++)
    if (strcmp(name, ss_unknown_names[i]) == 0) {
      *out = (enum ss_unknown)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--fit: no unknown is called \"%s\"%s", name,
                 ss_suggest(name, ss_unknown_names,
                            "compute, software.step, software.step_per_byte, software.call, software.copy, "
                            "interference, host.bandwidth, goodput")
                     .text);
}

static bool split(char *text, struct said *out, struct ss_error *error) {
  char *at = strchr(text, '@');
  *out = (struct said){.of = {NULL}};
  if (at) *at++ = '\0';
  if (!find_unknown(text, &out->what, error)) return false;
  while (at) {
    char *next = strchr(at, '@'), *value;
    int kind = 0;
    if (next) *next++ = '\0';
    value = strchr(at, '=');
    if (value) *value++ = '\0';
    while (kinds[kind] && strcmp(kinds[kind], at) != 0) kind++;
    if (kind == KINDS || (value && !*value))
      return ss_fail(error, SS_BAD_INPUT, "--fit: \"@%s\" is none of @workload, @system, @cluster (or @system=NAME)",
                     at);
    out->of[kind] = value ? value : "";
    at = next;
  }
  return true;
}

static bool touches_any(const struct ss_training_fit *f, const struct ss_inferred_number *n) {
  for (size_t i = 0; i < f->times.count; i++)
    if (ss_replays_touches(f->replays, i, n)) return true;
  return false;
}

static bool add_unknown(struct ss_training_fit *f, const struct ss_inferred_number *n, struct ss_error *error) {
  for (size_t k = 0; k < f->unknowns; k++) {
    const struct ss_inferred_number *o = &f->unknown[k];
    if (o->what == n->what && o->workload == n->workload && o->system == n->system && o->cluster == n->cluster)
      return ss_fail(error, SS_BAD_INPUT, "--fit: %s is named twice", ss_unknown_names[n->what]);
  }
  if (f->unknowns == SS_INFERRED_MOST)
    return ss_fail(error, SS_BAD_INPUT, "--fit: more than %d unknowns", SS_INFERRED_MOST);
  f->unknown[f->unknowns++] = *n;
  return true;
}

/* The name as the trainings have it: the same pointer wherever it is said. */
static const char *known_name(const struct ss_training_fit *f, int kind, const char *name) {
  const char *known;
  for (size_t i = 0; (known = ss_replays_name(f->replays, kind, i)); i++)
    if (strcmp(known, name) == 0) return known;
  return NULL;
}

/* From the kind-th on. */
static bool expand(struct ss_training_fit *f, const struct said *said, int kind, struct ss_inferred_number n,
                   struct ss_error *error) {
  if (kind == KINDS) return !touches_any(f, &n) || add_unknown(f, &n, error);
  const char **place = kind == 0 ? &n.workload : kind == 1 ? &n.system : &n.cluster;
  const char *name = said->of[kind];
  if (!name) return expand(f, said, kind + 1, n, error);
  if (*name) {
    *place = known_name(f, kind, name);
    if (*place) return expand(f, said, kind + 1, n, error);
    return ss_fail(error, SS_BAD_INPUT, "--fit: no %s of %s is called \"%s\"", kinds[kind], f->times.file, name);
  }
  for (size_t i = 0; (*place = ss_replays_name(f->replays, kind, i)); i++)
    if (!expand(f, said, kind + 1, n, error)) return false;
  return true;
}

static bool add_text(struct ss_training_fit *f, const char *text, bool names, bool varied[SS_UNKNOWNS],
                     struct ss_error *error) {
  char *copy = ss_arena_zero(&f->arena, strlen(text) + 1, 1), *state = NULL;
  if (!copy) return ss_fail_memory(error, "fitting trainings");
  memcpy(copy, text, strlen(text));
  for (char *one = strtok_r(copy, ",", &state); one; one = strtok_r(NULL, ",", &state)) {
    struct said said;
    if (!split(one, &said, error)) return false;
    varied[said.what] = true;
    if (names && !expand(f, &said, 0, (struct ss_inferred_number){.what = said.what}, error)) return false;
  }
  return true;
}

/* --- predicting
 * ------------------------------------------------------------------------------------------------------ */

/* x[k] as a number: a copy's is B/s, fitted as s/B. */
static double number_of(enum ss_unknown what, double x) {
  return what == SS_UNKNOWN_COPY ? (x > 0 ? 1 / x : NAN) : x;
}

static bool predict(void *context, const double *x, size_t sets, double *out, struct ss_error *error) {
  struct ss_training_fit *f = context;
  SS_AUTO_FREE struct ss_inferred_number *number = ss_alloc(sets * (f->unknowns + 1), sizeof *number);
  SS_AUTO_FREE struct ss_inferred *set = ss_alloc(sets, sizeof *set);
  if (!number || !set) return ss_fail_memory(error, "fitting trainings");
  for (size_t s = 0; s < sets; s++) {
    set[s] = (struct ss_inferred){.number = &number[s * f->unknowns], .count = f->unknowns};
    for (size_t k = 0; k < f->unknowns; k++) {
      number[s * f->unknowns + k] = f->unknown[k];
      number[s * f->unknowns + k].value = number_of(f->unknown[k].what, x[s * f->unknowns + k]);
    }
  }
  return ss_replays_predict(f->replays, set, sets, out, error);
}

static struct ss_inference_problem problem_of(struct ss_training_fit *f, const bool *use) {
  return (struct ss_inference_problem){.unknown = f->prior,
                                       .unknowns = f->unknowns,
                                       .numbers = f->times.count,
                                       .measured = f->measured,
                                       .use = use,
                                       .predict = predict,
                                       .context = f};
}

/* --- opening
 * --------------------------------------------------------------------------------------------------------- */

static bool check_count(const struct ss_training_fit *f, struct ss_error *error) {
  if (f->unknowns == 0) return ss_fail(error, SS_BAD_INPUT, "--fit: names nothing to fit");
  return f->unknowns * NUMBERS_AN_UNKNOWN <= f->times.count ||
         ss_fail(error, SS_BAD_INPUT,
                 "--fit: %zu unknowns are too many for the %zu number%s of %s: at most %zu (a third)", f->unknowns,
                 f->times.count, f->times.count > 1 ? "s" : "", f->times.file, f->times.count / NUMBERS_AN_UNKNOWN);
}

static bool simulate(struct ss_training_fit *f, const struct ss_training_fit_request *q, struct ss_error *error) {
  struct ss_replays_request asked = {.times = &f->times, .notice = q->notice, .run = q->run};
  for (size_t i = 0; i < q->unknowns; i++)
    if (!add_text(f, q->unknown[i], false, asked.varied, error)) return false;
  return ss_replays_open(&asked, &f->replays, error);
}

static bool check_ratios(const struct ss_training_fit *f, struct ss_error *error) {
  for (size_t i = 0; i < f->times.count; i++)
    if (!isfinite(f->unfitted[i]) || !(f->unfitted[i] > 0))
      return ss_fail(error, SS_BAD_INPUT, "%s: line %llu: %s is %g there: nothing that a fit could scale",
                     f->times.file, (unsigned long long)f->times.time[i].line,
                     f->times.time[i].text[SS_TIMES_QUANTITY], f->unfitted[i]);
  return true;
}

/* An unknown that moves no number would come out as it is supposed, with a range. */
static bool check_effects(struct ss_training_fit *f, const struct ss_inference_problem *problem,
                          struct ss_error *error) {
  const size_t sets = f->unknowns + 1, n = f->times.count;
  SS_AUTO_FREE double *x = ss_alloc(sets * f->unknowns, sizeof *x), *out = ss_alloc(sets * n, sizeof *out);
  if (!x || !out) return ss_fail_memory(error, "fitting trainings");
  for (size_t i = 0; i < sets * f->unknowns; i++) {
    const struct ss_inference_unknown *u = &f->prior[i % f->unknowns];
    const bool moved = i / f->unknowns == i % f->unknowns;
    const double at = !moved ? u->usual : u->high - u->usual > u->usual - u->low ? u->high : u->low;
    x[i] = u->logarithm ? exp(at) : at;
  }
  if (!problem->predict(problem->context, x, sets, out, error)) return false;
  for (size_t k = 0; k < f->unknowns; k++) {
    bool same = true;
    for (size_t i = 0; i < n && same; i++) same = !(fabs(out[k * n + i] - out[f->unknowns * n + i]) > 0);
    if (same)
      return ss_fail(error, SS_BAD_INPUT, "--fit: %s changes no number of %s: nothing says what it is",
                     ss_unknown_names[f->unknown[k].what], f->times.file);
  }
  return true;
}

static bool fit_all(struct ss_training_fit *f, struct ss_error *error) {
  const struct ss_inferred nothing = {.count = 0};
  f->measured = ss_alloc(f->times.count, sizeof *f->measured);
  f->unfitted = ss_alloc(f->times.count, sizeof *f->unfitted);
  if (!f->measured || !f->unfitted) return ss_fail_memory(error, "fitting trainings");
  for (size_t i = 0; i < f->times.count; i++) f->measured[i] = f->times.time[i].measured;
  if (!ss_replays_predict(f->replays, &nothing, 1, f->unfitted, error) || !check_ratios(f, error)) return false;
  const struct ss_inference_problem problem = problem_of(f, NULL);
  ss_inference_begin(&problem, &f->all);
  return check_effects(f, &problem, error) && ss_infer(&problem, &f->all, error);
}

bool ss_training_fit_open(const struct ss_training_fit_request *q, struct ss_training_fit **out,
                          struct ss_error *error) {
  struct ss_training_fit *f = *out = ss_alloc_zero(1, sizeof *f);
  struct ss_inference_unknown prior[SS_UNKNOWNS];
  bool varied[SS_UNKNOWNS];
  if (!f) return ss_fail_memory(error, "fitting trainings");
  if (!ss_training_times_read(q->file, q->where, q->wheres, &f->times, error) || !read_priors(prior, error) ||
      !simulate(f, q, error))
    return false;
  for (size_t i = 0; i < q->unknowns; i++)
    if (!add_text(f, q->unknown[i], true, varied, error)) return false;
  for (size_t k = 0; k < f->unknowns; k++) f->prior[k] = prior[f->unknown[k].what];
  return check_count(f, error) && fit_all(f, error);
}

void ss_training_fit_close(struct ss_training_fit *f) {
  if (!f) return;
  ss_inference_free(&f->all);
  ss_replays_close(f->replays);
  ss_training_times_free(&f->times);
  ss_arena_free(&f->arena);
  free(f->measured);
  free(f->unfitted);
  free(f);
}

/* --- answers
 * --------------------------------------------------------------------------------------------------------- */

const struct ss_training_times *ss_training_fit_times(const struct ss_training_fit *f) {
  return &f->times;
}

size_t ss_training_fit_unknowns(const struct ss_training_fit *f) {
  return f->unknowns;
}

const struct ss_inferred_number *ss_training_fit_unknown(const struct ss_training_fit *f, size_t k) {
  return &f->unknown[k];
}

bool ss_training_fit_bound(const struct ss_training_fit *f, size_t k) {
  static const double near = 1e-6;
  const struct ss_inference_unknown *u = &f->prior[k];
  const double x = u->logarithm ? log(f->all.x[k]) : f->all.x[k], width = near * (u->high - u->low);
  return (x <= u->low + width && u->usual > u->low + width) ||
         (x >= u->high - width && f->unknown[k].what != SS_UNKNOWN_GOODPUT);
}

const struct ss_inference *ss_training_fit_all(const struct ss_training_fit *f) {
  return &f->all;
}

size_t ss_training_fit_plays(const struct ss_training_fit *f) {
  return ss_replays_plays(f->replays);
}

void ss_training_fit_numbers(const struct ss_training_fit *f, const struct ss_inference *inference,
                             struct ss_inferred_number *out) {
  for (size_t k = 0; k < f->unknowns; k++) {
    const enum ss_unknown what = f->unknown[k].what;
    const double a = number_of(what, inference->low[k]), b = number_of(what, inference->high[k]);
    out[k] = f->unknown[k];
    out[k].value = number_of(what, inference->x[k]);
    out[k].low = what == SS_UNKNOWN_COPY ? b : a;
    out[k].high = what == SS_UNKNOWN_COPY ? a : b;
  }
}

bool ss_training_fit_predict(struct ss_training_fit *f, const bool *left_out, struct ss_training_prediction *out,
                             struct ss_inference *inference, struct ss_error *error) {
  SS_AUTO(ss_inference_free) struct ss_inference own = f->all;
  SS_AUTO_FREE bool *use = ss_alloc(f->times.count, sizeof *use);
  own.predicted = NULL;
  if (!use) return ss_fail_memory(error, "fitting trainings");
  for (size_t i = 0; i < f->times.count; i++) use[i] = !left_out || !left_out[i];
  const struct ss_inference_problem problem = problem_of(f, use);
  if (left_out) { /* from where one begins who never saw them */
    ss_inference_begin(&problem, &own);
    own.deviation = 0;
  }
  if (!ss_infer(&problem, &own, error)) return false;
  for (size_t i = 0; i < f->times.count; i++) {
    const struct ss_training_time *t = &f->times.time[i];
    const double a = ss_time_printed(t->form, own.predicted[i] / own.most),
                 b = ss_time_printed(t->form, own.predicted[i] * own.most);
    out[i] = (struct ss_training_prediction){.value = ss_time_printed(t->form, own.predicted[i]),
                                             .low = fmin(a, b),
                                             .high = fmax(a, b),
                                             .ratio = own.predicted[i],
                                             .measured = t->measured,
                                             .most = own.most,
                                             .unfitted = f->unfitted[i]};
  }
  if (!inference) return true;
  *inference = own;
  own.predicted = NULL;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
