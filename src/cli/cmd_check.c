/* CI regression: simulation against the exact closed forms, and scenarios against their own expectations. */
#include "base/data.h"
#include "base/file.h"
#include "cli/command.h"
#include "query/answers.h"
#include "query/own_form.h"
#include "report/checks.h"

#include <unistd.h>

enum { JUNIT = SS_MARKDOWN + 1, FILE_BYTES = 1 << 24 };
static const char *const formats[] = {"table", "json", "csv", "markdown", "junit", NULL};

struct session {
  const struct ss_call *call;
  struct ss_costs all; /* scenarios show closed forms of all schemes */
  struct ss_costs forms;
  struct ss_checks_report report;
};

/* --- scenarios ------------------------------------------------------------------------------------------ */

static bool judge(const struct session *s, struct ss_checked *out, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_request request = s->call->request;
  SS_AUTO(ss_judged_study_close) struct ss_judged_study judged = {0};
  request.file = path;
  request.costs = &s->all;
  request.verdicts = true;
  if (!ss_data_scenario(out->file, path, sizeof path, error)) return false;
  const bool ok = ss_judged_study_make(&request, &judged, error);
  out->points = judged.results.count;
  out->expectations = judged.expectations;
  judged.expectations = (struct ss_verdicts){0};
  return ok;
}

static bool judge_own(struct ss_checked *out, struct ss_error *error) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  return ss_doc_read(out->file, FILE_BYTES, &doc, error) &&
         ss_own_form_judge(doc, &out->points, &out->expectations, error);
}

/* A JSON file that has "schemes" or "trace" is a scenario, one with a "formula", "schedules" or "measured" a form of
 * the user's own; names of closed forms are neither. */
enum what { FORM, OWN_FORM, SCENARIO };
static enum what what_is(const char *file) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  char path[PATH_MAX];
  if (!ss_data_scenario(file, path, sizeof path, NULL) || !ss_doc_read(path, FILE_BYTES, &doc, NULL)) return FORM;
  const struct ss_node root = ss_doc_root(doc);
  if (ss_own_form_is(doc)) return OWN_FORM;
  return ss_node_present(ss_node_get(root, "schemes")) || ss_node_present(ss_node_get(root, "trace")) ? SCENARIO
                                                                                                      : FORM;
}

/* What becomes of the next file; NULL when memory is short. */
static struct ss_checked *add_file(struct session *s, const char *file, struct ss_error *error) {
  struct ss_checks_report *r = &s->report;
  if (!ss_grow_by_one(r->file, r->files)) return (void)ss_fail_memory(error, "checking"), NULL;
  r->file[r->files] = (struct ss_checked){.file = file};
  return &r->file[r->files++];
}

/* What is wrong with one file does not keep the others from being checked. */
static bool check_scenarios(struct session *s, struct ss_error *error) {
  for (size_t i = 0; i < s->call->operands; i++) {
    const char *file = s->call->operand[i];
    const enum what what = what_is(file);
    if (what == FORM) continue;
    if (what == SCENARIO && s->all.count == 0 && !ss_costs_open(NULL, 0, &s->all, error)) return false;
    struct ss_checked *checked = add_file(s, file, error);
    if (!checked) return false;
    const bool judged = what == SCENARIO ? judge(s, checked, &checked->error) : judge_own(checked, &checked->error);
    (void)judged; /* its error says why not */
  }
  return true;
}

/* --- closed forms --------------------------------------------------------------------------------------- */

/* Why the operand cannot be a form: a file that is there is what is wrong with it, else the name is. */
static void explain(const char *file, struct ss_error *why) {
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  if (access(file, R_OK) == 0 && !ss_doc_read(file, FILE_BYTES, &doc, why))
    (void)ss_fail(why, SS_BAD_INPUT, "%s: check takes scenarios and forms, which are JSON", why->text);
}

/* Operands that are no scenarios are forms; what is wrong with one that cannot be read is noted. */
static bool check_forms(struct session *s, struct ss_error *error) {
  SS_AUTO_FREE const char **forms = ss_alloc(s->call->operands, sizeof *forms);
  size_t count = 0;
  if (!forms) return ss_fail_memory(error, "checking");
  for (size_t i = 0; i < s->call->operands; i++) {
    const char *file = s->call->operand[i];
    SS_AUTO(ss_costs_close) struct ss_costs alone = {0};
    struct ss_error why = {0};
    if (what_is(file) != FORM) continue;
    if (ss_costs_open(&file, 1, &alone, &why)) {
      forms[count++] = file;
      continue;
    }
    struct ss_checked *checked = add_file(s, file, error);
    if (!checked) return false;
    explain(file, &why);
    checked->error = why;
  }
  if (s->call->operands && count == 0) return true;
  return ss_costs_open(forms, count, &s->forms, error) &&
         (!s->forms.left_out.text[0] || ss_fail(error, SS_BAD_INPUT, "%s", s->forms.left_out.text)) &&
         ss_checks_run(&s->forms, &s->call->request.run, &s->report.forms, error);
}

/* --- the answer ----------------------------------------------------------------------------------------- */

/* Whoever asks for quiet and for no file wants to know whether all is well: the exit status says so. */
static bool answer(const struct session *s, struct ss_error *error) {
  static ss_printer *const printers[] = {ss_checks_table, ss_checks_as_json, ss_checks_csv, ss_checks_table,
                                         ss_checks_junit};
  const struct ss_call *call = s->call;
  if (call->quiet && call->format == SS_TABLE && !call->output) return true;
  return ss_output_write(call->output, printers[call->format], &s->report, error);
}

static enum ss_status worse(enum ss_status a, enum ss_status b) {
  return a > b ? a : b;
}

/* A line of each form that parts from the simulation: its first point. */
static enum ss_status tell_partings(const struct ss_checks *c) {
  for (size_t i = 0; i < c->forms.count; i++) {
    const struct ss_verdict *form = &c->forms.verdict[i];
    if (form->misses == 0) continue;
    fprintf(stderr, "sparsync check: %s: ", c->grid.point[form->miss[0].index].cost->file);
    ss_parting_print(c, form->miss[0].index, stderr);
    fputc('\n', stderr);
  }
  return c->forms.failed ? SS_UNPROVEN : SS_OK;
}

/* All that is amiss, on standard error; false when anything is. */
static bool conclude(const struct session *s, struct ss_error *error) {
  enum ss_status status = SS_OK;
  fflush(stdout);
  for (size_t i = 0; i < s->report.files; i++) {
    struct ss_checked *c = &s->report.file[i];
    if (!c->error.text[0] && ss_expectations_conclude(&c->expectations, c->file, &c->error)) continue;
    fprintf(stderr, "sparsync check: %s\n", c->error.text);
    status = worse(status, c->error.status);
  }
  status = worse(status, tell_partings(&s->report.forms));
  if (status != SS_OK && error) *error = (struct ss_error){.status = status};
  return status == SS_OK;
}

static void close_session(struct session *s) {
  for (size_t i = 0; i < s->report.files; i++) ss_verdicts_free(&s->report.file[i].expectations);
  free(s->report.file);
  ss_checks_free(&s->report.forms);
  ss_costs_close(&s->forms);
  ss_costs_close(&s->all);
}

static bool run(struct ss_call *call, struct ss_error *error) {
  SS_AUTO(close_session) struct session session = {.call = call};
  return ss_call_operands_differ(call, error) && check_scenarios(&session, error) && check_forms(&session, error) &&
         answer(&session, error) && conclude(&session, error);
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--format", SS_CHOICE(struct ss_call, format, formats),
     .help = "how to write (table); junit is XML as build servers read it"},
    SS_OPTION_OUTPUT,
    {"--quiet", SS_FLAG(struct ss_call, quiet),
     .help = "no progress bar, and no table on standard output: only what parts, and the exit status"},
    SS_OPTION_JOBS,
    {"--scheme", SS_REFUSED, .help = "name the closed forms to check (sparsync list costs)"},
    {"--ranks", SS_REFUSED, .help = "the grid of the closed form has its rank counts"},
    {.name = NULL}};

const struct ss_command ss_command_check = {
    .name = "check",
    .summary = "hold the simulation against the exact closed forms",
    .usage =
        "usage: sparsync check [FILE...] [OPTION...]\n\n"
        "Plays every scheme that has an exact closed form, or bounds, over the form's grid of inputs and "
        "compares to 1e-9; inputs built to reach a bound must reach it. Shows by how much the paper's printed "
        "form differs. Without FILE: all of models/costs. A FILE may be a closed form (a path, or a name in "
        "models/costs), a scenario with an \"expect\" list, or a form of your own (\"formula\") with schedules of a "
        "collective that no scheme plays, as GOAL or rounds, or with measured times. All are checked, whatever is "
        "wrong with one. "
        "Status 1 when a point parts or an expectation fails.\n",
    .examples = "  sparsync check\n"
                "  sparsync check allgather-ring my-form.json\n"
                "  sparsync check scenarios/demo.json\n"
                "  sparsync check ci/*.json --format junit -o sparsync.xml\n",
    .options = options,
    .size = sizeof(struct ss_call),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
