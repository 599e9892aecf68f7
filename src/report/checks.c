#include "report/checks.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "report/html.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* --- closed forms ------------------------------------------------------------------------------------------- */

struct summary {
  size_t points, wrong;
  double worst, paper_low, paper_high; /* printed over exact */
};

static struct summary summarise(const struct ss_checks *c, size_t from, size_t *to) {
  const struct ss_cost *cost = c->grid.point[from].cost;
  struct summary s = {.paper_low = INFINITY, .paper_high = -INFINITY};
  size_t i = from;
  for (; i < c->grid.count && c->grid.point[i].cost == cost; i++) {
    const struct ss_grid_result *r = &c->result[i];
    s.points++;
    s.wrong += !r->ok;
    if (!(r->relative <= s.worst)) s.worst = r->relative;
    if (!isfinite(r->paper) || !isfinite(r->exact)) continue;
    s.paper_low = fmin(s.paper_low, r->paper / r->exact);
    s.paper_high = fmax(s.paper_high, r->paper / r->exact);
  }
  *to = i;
  return s;
}

static void summary_cells(struct ss_table *table, const struct ss_cost *cost, const struct summary *s) {
  char form[128];
  ss_cost_form_name(cost, form, sizeof form);
  ss_table_cell(table, "%s", form);
  ss_table_cell(table, "%zu", s->points);
  ss_table_cell(table, "%.1e", s->worst);
  ss_table_cell(table, "%s", s->wrong ? "NO" : "yes");
  if (!(s->paper_low <= s->paper_high)) ss_table_cell(table, "%s", "-");
  else if (fabs(s->paper_low - 1) < 1e-9 && fabs(s->paper_high - 1) < 1e-9) ss_table_cell(table, "same");
  else ss_table_cell(table, "%.3f..%.3f", s->paper_low, s->paper_high);
  if (cost->exact) ss_table_cell(table, "%s", cost->exact);
  else ss_table_cell(table, "%s .. %s", cost->exact_low, cost->exact_high);
}

static bool forms_table(const struct ss_checks *c, FILE *stream, struct ss_error *error) {
  struct ss_table *table = ss_table_of("<form", "points", "worst", "ok", "paper/exact", "<exact form");
  for (size_t i = 0, next; i < c->grid.count; i = next) {
    struct summary s = summarise(c, i, &next);
    summary_cells(table, c->grid.point[i].cost, &s);
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  for (size_t i = 0, next; i < c->grid.count; i = next) {
    const struct ss_cost *cost = c->grid.point[i].cost;
    char form[128];
    ss_cost_form_name(cost, form, sizeof form);
    (void)summarise(c, i, &next);
    if (cost->erratum && cost->printed_in)
      fprintf(stream, "\n%s, as printed in %s: %s", form, cost->printed_in, cost->erratum);
    else if (cost->erratum) fprintf(stream, "\n%s: %s", form, cost->erratum);
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

void ss_parting_print(const struct ss_grid_point *p, const struct ss_grid_result *r, FILE *stream) {
  fprintf(stream,
          "at P = %u, %llu rows of %u, %llu non-zero, overlap %s, index_bytes %u, alpha %g s, beta %g s/B: simulated "
          "%.12g s, ",
          p->ranks, (unsigned long long)p->uniform.rows, p->uniform.width, (unsigned long long)p->uniform.nnz,
          ss_grid_input_name(p), p->setting.index_bytes, p->alpha, p->beta, r->simulated);
  print_promise(p, r, stream);
  if (p->iterations > 1) fputs(" (of several iterations, the last)", stream);
  if (!r->proven) fputs(" (the result is not what it should be)", stream);
}

/* --- all together ------------------------------------------------------------------------------------------- */

bool ss_checks_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_checks_report *r = report;
  for (size_t i = 0; i < r->files; i++) {
    const struct ss_checked *c = &r->file[i];
    if (c->error.text[0]) continue;
    fprintf(stream, "%s: ", c->file);
    ss_judgement_words(&c->judgement, c->points, stream);
    fputc('\n', stream);
  }
  return r->forms.grid.count == 0 || forms_table(&r->forms, stream, error);
}

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

static void add_expectations(cJSON *list, const struct ss_checked *c) {
  for (size_t i = 0; i < c->judgement.count; i++) {
    cJSON *o = ss_judged_json(c->file, &c->judgement.expectation[i]);
    cJSON_AddItemToArray(list, o);
  }
}

static void add_error(cJSON *list, const struct ss_checked *c) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "file", c->file);
  cJSON_AddStringToObject(o, "error", c->error.text);
  cJSON_AddItemToArray(list, o);
}

static cJSON *report_json(const struct ss_checks_report *r) {
  cJSON *root = ss_checks_json(&r->forms);
  cJSON *expectations = cJSON_AddArrayToObject(root, "expectations"),
        *errors = cJSON_AddArrayToObject(root, "errors");
  for (size_t i = 0; i < r->files; i++)
    if (r->file[i].error.text[0]) add_error(errors, &r->file[i]);
    else add_expectations(expectations, &r->file[i]);
  return root;
}

bool ss_checks_as_json(const void *report, FILE *stream, struct ss_error *error) {
  return ss_json_print_exact(report_json(report), stream, error);
}

/* A line for each point at which it fails; one for one that holds. */
static void add_lines(cJSON *list, cJSON *judged) {
  cJSON *misses = cJSON_DetachItemFromObjectCaseSensitive(judged, "misses");
  for (const cJSON *miss = misses ? misses->child : NULL; miss; miss = miss->next) {
    cJSON *line = cJSON_Duplicate(judged, 1);
    for (const cJSON *v = miss->child; v; v = v->next) cJSON_AddItemToObject(line, v->string, cJSON_Duplicate(v, 1));
    cJSON_AddItemToArray(list, line);
  }
  if (cJSON_GetArraySize(misses) == 0) cJSON_AddItemToArray(list, cJSON_Duplicate(judged, 1));
  cJSON_Delete(misses);
}

bool ss_checks_csv(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_checks_report *r = report;
  if (r->forms.grid.count > 0 && r->files > 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "--format csv: forms and scenarios have other columns: check them one by one");
  cJSON *root = report_json(r), *list = cJSON_CreateArray();
  cJSON *judged = cJSON_GetObjectItemCaseSensitive(root, "expectations");
  for (cJSON *j = judged ? judged->child : NULL; j; j = j->next) add_lines(list, j);
  if (r->files == 0) {
    cJSON_Delete(list);
    list = cJSON_DetachItemFromObjectCaseSensitive(root, "checks");
  }
  cJSON_Delete(root);
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

static bool write_judged(const char *file, size_t place, const struct ss_judged_expectation *judged, FILE *s) {
  char name[400];
  SS_AUTO_FREE char *misses = ss_misses_text(judged);
  if (!misses) return false;
  snprintf(name, sizeof name, "expect[%zu]: %s", place, judged->text);
  open_case(file, name, s);
  if (!ss_judged_holds(judged))
    write_failure(judged->points ? "the expectation fails" : "no point is at such a place", misses, s);
  fputs("</testcase>\n", s);
  return true;
}

static bool write_file(const struct ss_checked *c, FILE *s) {
  const bool failed = c->error.text[0] != '\0';
  bool ok = true;
  open_suite(c->file, failed ? 1 : c->judgement.count, c->judgement.failed, failed, s);
  if (failed) {
    open_case(c->file, "is checked", s);
    ss_html_between("\n      <error message=\"", c->error.text, "\"/>\n    </testcase>\n", s);
  }
  for (size_t i = 0; ok && i < c->judgement.count; i++)
    ok = write_judged(c->file, i, &c->judgement.expectation[i], s);
  fputs("  </testsuite>\n", s);
  return ok;
}

struct parting {
  const struct ss_checks *checks;
  size_t from;
};

/* The first point from there on that is not as promised. */
static void write_parting(const void *context, FILE *stream) {
  const struct parting *p = context;
  size_t i = p->from;
  while (p->checks->result[i].ok) i++;
  ss_parting_print(&p->checks->grid.point[i], &p->checks->result[i], stream);
}

static bool write_form(const struct ss_checks *c, size_t from, const struct summary *sum, FILE *s) {
  char form[128];
  SS_AUTO_FREE char *text = sum->wrong > 0 ? ss_written(write_parting, &(struct parting){c, from}) : strdup("");
  if (!text) return false;
  ss_cost_form_name(c->grid.point[from].cost, form, sizeof form);
  open_case("closed forms", form, s);
  if (sum->wrong > 0) write_failure("the simulation parts from the form", text, s);
  fputs("</testcase>\n", s);
  return true;
}

static bool write_forms(const struct ss_checks *c, FILE *s) {
  size_t tests = 0, failures = 0;
  bool ok = true;
  for (size_t i = 0, next; i < c->grid.count; i = next, tests++) failures += summarise(c, i, &next).wrong > 0;
  if (tests == 0) return true;
  open_suite("closed forms", tests, failures, 0, s);
  for (size_t i = 0, next; ok && i < c->grid.count; i = next) {
    const struct summary sum = summarise(c, i, &next);
    ok = write_form(c, i, &sum, s);
  }
  fputs("  </testsuite>\n", s);
  return ok;
}

bool ss_checks_junit(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_checks_report *r = report;
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sparsync check\">\n", stream);
  bool ok = true;
  for (size_t i = 0; ok && i < r->files; i++) ok = write_file(&r->file[i], stream);
  ok = ok && write_forms(&r->forms, stream);
  fputs("</testsuites>\n", stream);
  return ok || ss_fail_memory(error, "writing XML");
}
