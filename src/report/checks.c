#include "report/checks.h"

#include "base/file.h"
#include "report/columns.h"
#include "report/html.h"

/* --- closed forms ------------------------------------------------------------------------------------------- */

/* The worst of a form's points, and the least and the most of what is printed over what is exact. */
struct summary {
  double worst, paper_low, paper_high;
};

static struct summary summarise(const struct ss_checks *c, size_t from, size_t count) {
  struct summary s = {.paper_low = INFINITY, .paper_high = -INFINITY};
  for (size_t i = from; i < from + count; i++) {
    const struct ss_grid_result *r = &c->result[i];
    if (!(r->relative <= s.worst)) s.worst = r->relative;
    if (!isfinite(r->paper) || !isfinite(r->exact) || c->grid.point[i].cost->told_of) continue;
    s.paper_low = fmin(s.paper_low, r->paper / r->exact);
    s.paper_high = fmax(s.paper_high, r->paper / r->exact);
  }
  return s;
}

static void add_form(struct ss_table *table, const struct ss_cost *cost, const struct ss_verdict *form,
                     const struct summary *s) {
  ss_table_cell(table, "%s", form->text);
  ss_table_cell(table, "%zu", form->points);
  ss_table_cell(table, "%.1e", s->worst);
  ss_table_cell(table, "%s", form->misses ? "NO" : "yes");
  if (!(s->paper_low <= s->paper_high)) ss_table_cell(table, "%s", "-");
  else if (fabs(s->paper_low - 1) < 1e-9 && fabs(s->paper_high - 1) < 1e-9) ss_table_cell(table, "same");
  else ss_table_cell(table, "%.3f..%.3f", s->paper_low, s->paper_high);
  if (cost->exact) ss_table_cell(table, "%s", cost->exact);
  else ss_table_cell(table, "%s .. %s", cost->exact_low, cost->exact_high);
}

static bool forms_table(const struct ss_checks *c, FILE *stream, struct ss_error *error) {
  struct ss_table *table = ss_table_of("<form", "points", "worst", "ok", "paper/exact", "<exact form");
  const struct ss_verdict *form = c->forms.verdict, *end = form + c->forms.count;
  for (size_t i = 0; form < end; i += form++->points) {
    const struct summary s = summarise(c, i, form->points);
    add_form(table, c->grid.point[i].cost, form, &s);
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  form = c->forms.verdict;
  for (size_t i = 0; form < end; i += form++->points) {
    const struct ss_cost *cost = c->grid.point[i].cost;
    if (cost->erratum && cost->printed_in)
      fprintf(stream, "\n%s, as printed in %s: %s", form->text, cost->printed_in, cost->erratum);
    else if (cost->erratum) fprintf(stream, "\n%s: %s", form->text, cost->erratum);
  }
  fputc('\n', stream);
  return ok;
}

/* What the point was held against, in words. */
static void print_promise(const struct ss_grid_point *p, const struct ss_grid_result *r, FILE *stream) {
  const struct ss_cost *cost = p->cost;
  const char *touches = ss_grid_touch_name(p);
  if (cost->exact) fprintf(stream, "formula \"%s\" gives %.12g s", cost->exact, r->exact);
  else if (touches)
    fprintf(stream, "%s bound \"%s\", to be reached, is %.12g s", touches,
            p->touches == SS_TOUCH_LOW ? cost->exact_low : cost->exact_high,
            p->touches == SS_TOUCH_LOW ? r->low : r->high);
  else
    fprintf(stream, "bounds \"%s\" and \"%s\" are %.12g s and %.12g s", cost->exact_low, cost->exact_high, r->low,
            r->high);
}

void ss_parting_print(const struct ss_checks *checks, size_t index, FILE *stream) {
  const struct ss_grid_point *p = &checks->grid.point[index];
  const struct ss_grid_result *r = &checks->result[index];
  fprintf(stream,
          "at P = %u, %llu rows of %u, %llu non-zero, overlap %s, index_bytes %u, alpha %g s, beta %g s/B: simulated "
          "%.12g s, ",
          p->ranks, (unsigned long long)p->uniform.rows, p->uniform.width, (unsigned long long)p->uniform.nnz,
          ss_grid_input_name(p), p->setting.index_bytes, p->alpha, p->beta, r->simulated);
  print_promise(p, r, stream);
  if (p->iterations > 1) fputs(" (of several iterations, the last)", stream);
  if (!r->proven) fputs(" (the result is not what it should be)", stream);
}

/* --- own forms ---------------------------------------------------------------------------------------------- */

enum { NUMBERS_SHOWN = 20 };

/* What each schedule and measured time takes, and what the formula says. */
static bool numbers_table(const struct ss_checked *c, FILE *stream, struct ss_error *error) {
  struct ss_table *table = ss_table_of("<of", "ranks", "M", "takes", "formula", "off by");
  size_t left = NUMBERS_SHOWN;
  const cJSON *r = c->expectations.results->child;
  for (; r && left > 0; r = r->next, left--) {
    const double takes = ss_json_number(r, "time_s"), formula = ss_json_number(r, "formula_s"),
                 bytes = ss_json_number(ss_json_get(r, "at"), "M");
    ss_table_cell(table, "%s", ss_json_word(r, "cluster"));
    ss_table_cell(table, "%.0f", ss_json_number(r, "ranks"));
    ss_table_cell(table, "%s", isnan(bytes) ? "-" : ss_shown(SS_BYTES, bytes));
    ss_table_cell(table, "%s", ss_shown(SS_TIME, takes));
    ss_table_cell(table, "%s", ss_shown(SS_TIME, formula));
    ss_table_cell(table, "%+.2g%%", 100 * (takes / formula - 1));
  }
  if (!ss_table_print_free(table, false, stream, error)) return false;
  if (r) fprintf(stream, "%zu more: --format json has them\n", c->points - NUMBERS_SHOWN);
  return true;
}

/* --- all together ------------------------------------------------------------------------------------------- */

bool ss_checks_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_checks_report *r = report;
  for (size_t i = 0; i < r->files; i++) {
    const struct ss_checked *c = &r->file[i];
    if (c->error.text[0]) continue;
    fprintf(stream, "%s: ", c->file);
    ss_expectations_words(&c->expectations, c->points, stream);
    fputc('\n', stream);
    if (cJSON_IsArray(c->expectations.results) && !numbers_table(c, stream, error)) return false;
  }
  return r->forms.grid.count == 0 || forms_table(&r->forms, stream, error);
}

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

static void add_expectations(cJSON *list, const struct ss_checked *c) {
  for (size_t i = 0; i < c->expectations.count; i++)
    cJSON_AddItemToArray(list, ss_expectation_json(c->file, &c->expectations.verdict[i]));
}

static void add_error(cJSON *list, const struct ss_checked *c) {
  cJSON_AddItemToArray(list, ss_json_object(SS_T("file", c->file), SS_T("error", c->error.text)));
}

static cJSON *report_json(const struct ss_checks_report *r) {
  cJSON *root = ss_checks_json(&r->forms);
  cJSON *expectations = cJSON_AddArrayToObject(root, "expectations"),
        *errors = cJSON_AddArrayToObject(root, "errors");
  for (size_t i = 0; i < r->files; i++)
    if (r->file[i].error.text[0]) add_error(errors, &r->file[i]);
    else add_expectations(expectations, &r->file[i]);
  cJSON *numbers = NULL; /* of own forms */
  for (size_t i = 0; i < r->files; i++)
    if (cJSON_IsArray(r->file[i].expectations.results)) {
      if (!numbers) numbers = cJSON_AddArrayToObject(root, "numbers");
      for (const cJSON *n = r->file[i].expectations.results->child; n; n = n->next) {
        cJSON *own = cJSON_Duplicate(n, true);
        ss_json_add(own, SS_T("file", r->file[i].file));
        cJSON_AddItemToArray(numbers, own);
      }
    }
  return root;
}

bool ss_checks_as_json(const void *report, FILE *stream, struct ss_error *error) {
  return ss_json_print_exact(report_json(report), stream, error);
}

/* A line for each point at which an expectation fails; one for one that holds. */
bool ss_checks_csv(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_checks_report *r = report;
  if (r->forms.grid.count > 0 && r->files > 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "--format csv: forms and scenarios have other columns: check them one by one");
  SS_AUTO_JSON cJSON *root = report_json(r);
  if (r->files == 0) return ss_flat_csv_free(cJSON_DetachItemFromObjectCaseSensitive(root, "checks"), stream, error);
  const cJSON *judged = ss_json_get(root, "expectations");
  cJSON *list = cJSON_CreateArray();
  for (const cJSON *j = judged ? judged->child : NULL; j; j = j->next) ss_records_spread(list, j, "misses");
  return ss_flat_csv_free(list, stream, error);
}

/* --- JUnit -------------------------------------------------------------------------------------------------- */

static void open_suite(const char *name, size_t tests, size_t failures, size_t errors, FILE *s) {
  ss_html_between("  <testsuite name=\"", name, "\"", s);
  fprintf(s, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n", tests, failures, errors);
}

static void open_case(const char *suite, const char *name, FILE *s) {
  ss_html_between("    <testcase classname=\"", suite, "\"", s);
  ss_html_between(" name=\"", name, "\">", s);
}

static void write_failure(const char *message, const char *text, FILE *s) {
  ss_html_between("\n      <failure message=\"", message, "\">\n", s);
  ss_html_lines(text, s);
  fputs("</failure>\n    ", s);
}

/* A verdict, and the forms that it is one of; NULL: an expectation's. */
struct missed {
  const struct ss_verdict *verdict;
  const struct ss_checks *checks;
};

/* The first point of the form that is not as promised; of an expectation some more. */
static void write_misses(const void *context, FILE *stream) {
  const struct missed *m = context;
  if (m->checks) ss_parting_print(m->checks, m->verdict->miss[0].index, stream);
  else ss_misses_print(m->verdict, "", stream);
}

static bool write_verdict(const char *suite, size_t index, const struct missed *m, FILE *s) {
  const struct ss_verdict *v = m->verdict;
  char name[400];
  if (m->checks) snprintf(name, sizeof name, "%s", v->text);
  else snprintf(name, sizeof name, "expect[%zu]: %s", index, v->text);
  open_case(suite, name, s);
  if (!ss_verdict_holds(v)) {
    SS_AUTO_FREE char *misses = ss_written(write_misses, m);
    if (!misses) return false;
    write_failure(m->checks   ? "the simulation parts from the form"
                  : v->points ? "the expectation fails"
                              : "no point is at such a place",
                  misses, s);
  }
  fputs("</testcase>\n", s);
  return true;
}

/* `checks`: the verdicts are those of its forms; NULL: of expectations. */
static bool write_suite(const char *name, const struct ss_verdicts *verdicts, const struct ss_checks *checks,
                        const struct ss_error *error, FILE *s) {
  const bool failed = error && error->text[0];
  bool ok = true;
  open_suite(name, failed ? 1 : verdicts->count, verdicts->failed, failed, s);
  if (failed) {
    open_case(name, "is checked", s);
    ss_html_between("\n      <error message=\"", error->text, "\"/>\n    </testcase>\n", s);
  }
  for (size_t i = 0; ok && i < verdicts->count; i++)
    ok = write_verdict(name, i, &(struct missed){&verdicts->verdict[i], checks}, s);
  fputs("  </testsuite>\n", s);
  return ok;
}

bool ss_checks_junit(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_checks_report *r = report;
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sparsync check\">\n", stream);
  bool ok = true;
  for (size_t i = 0; ok && i < r->files; i++)
    ok = write_suite(r->file[i].file, &r->file[i].expectations, NULL, &r->file[i].error, stream);
  if (ok && r->forms.forms.count > 0) ok = write_suite("closed forms", &r->forms.forms, &r->forms, NULL, stream);
  fputs("</testsuites>\n", stream);
  return ok || ss_fail_memory(error, "writing XML");
}
/* SPDX-License-Identifier: Apache-2.0 */
