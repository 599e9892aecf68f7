/* One self-contained page about a scenario: what report/page.h makes of its points. */
#include "base/file.h"
#include "base/json.h"
#include "cli/command.h"
#include "query/answers.h"
#include "report/page.h"
#include "report/verdicts.h"
#include "study/plan.h"

#include <unistd.h>

/* --- texts -------------------------------------------------------------------------------------------------- */

/* As a POSIX shell would take it. */
static void write_word(const char *word, FILE *stream) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,:=%+-@";
  if (*word && word[strspn(word, plain)] == '\0') {
    fputs(word, stream);
    return;
  }
  fputc('\'', stream);
  for (; *word; word++) {
    if (*word == '\'') fputs("'\\''", stream);
    else fputc(*word, stream);
  }
  fputc('\'', stream);
}

static void write_command(const void *context, FILE *stream) {
  const struct ss_call *call = context;
  fputs("sparsync", stream);
  for (int i = 0; i < call->argc; i++) {
    fputc(' ', stream);
    write_word(call->argv[i], stream);
  }
}

/* --- one report --------------------------------------------------------------------------------------------- */

struct report {
  struct ss_call call;
  bool fixed; /* no sliders */
};

struct session {
  struct ss_judged_study judged;
  struct ss_error lacking;
  struct ss_page page;     /* its texts, trees and expectations are the session's */
  struct ss_notice notice; /* hears warnings for the page, and passes them on */
  const struct ss_notice *told;
  ss_scaled_times *scaled;
};

static void keep(void *context, const char *text) {
  const struct session *s = context;
  cJSON_AddItemToArray(s->page.warnings, cJSON_CreateString(text));
  ss_notice_tell(s->told, text);
}

static bool fill_page(struct session *s, const struct ss_call *call, struct ss_error *error) {
  const struct ss_study *study = s->judged.study;
  const struct ss_results *results = &s->judged.results;
  const cJSON *resolved = ss_study_resolved(study);
  struct ss_page *page = &s->page;
  page->command = ss_written(write_command, call);
  page->scenario = cJSON_Print(resolved);
  if (!page->command || !page->scenario) return ss_fail_memory(error, "writing a page");
  page->name =
      cJSON_HasObjectItem(resolved, "name") || results->count == 0 ? ss_study_name(study) : results->result->trace;
  page->summary = ss_json_word(resolved, "summary");
  page->sweep = ss_json_get(resolved, "sweep");
  page->models = ss_study_models(study);
  page->results = results;
  page->scaled = (const ss_scaled_times *)s->scaled;
  page->no_lossy = ss_study_chose_schemes(study) && !call->request.lossy;
  page->no_model_parallel = ss_study_chose_schemes(study) && !call->request.model_parallel;
  page->lacking = &s->lacking;
  page->expectations = s->judged.expectations;
  return true;
}

static void close_session(struct session *s) {
  free(s->page.command);
  free(s->page.scenario);
  cJSON_Delete(s->page.warnings);
  cJSON_Delete(s->page.plan);
  free(s->scaled);
  ss_judged_study_close(&s->judged);
}

/* Of more points the other networks would take gigabytes. */
enum { POINTS_SLID = 1000 };

static bool play_scaled(struct session *s, const struct ss_call *call, struct ss_error *error) {
  char text[120];
  if (((const struct report *)call)->fixed) return true;
  if (s->judged.results.count <= POINTS_SLID)
    return ss_study_scaled(s->judged.study, &s->judged.results, &call->request.run, &s->scaled, error);
  snprintf(text, sizeof text,
           "%zu results: the page has sliders for at most %d (fewer --scheme, --ranks or --tensor)",
           s->judged.results.count, POINTS_SLID);
  keep(s, text);
  return true;
}

/* Schemes that somebody names are all played. */
static void tell_admitted(struct session *s, const struct ss_call *call) {
  if (ss_study_chose_schemes(s->judged.study)) return;
  if (call->request.lossy) keep(s, "--lossy does nothing: the schemes are named");
  if (call->request.model_parallel) keep(s, "--model-parallel does nothing: the schemes are named");
}

static bool run_session(struct session *s, struct ss_call *call, struct ss_error *error) {
  const struct ss_judged_study *j = &s->judged;
  if (!ss_judged_study_make(&call->request, &s->judged, error)) return false;
  tell_admitted(s, call);
  if (!ss_study_plan(j->study, &j->results, &s->page.plan, error) || !play_scaled(s, call, error) ||
      !fill_page(s, call, error) || !ss_output_write(call->output, ss_page_print, &s->page, error))
    return false;
  if (s->lacking.text[0])
    fprintf(stderr, "sparsync report: no figures, the tables have the numbers: %s\n", s->lacking.text);
  return ss_expectations_conclude(&j->expectations, ss_doc_name(ss_study_expect(j->study).doc), error);
}

static bool check_output(const struct ss_call *call, struct ss_error *error) {
  static const char *const others[] = {".pdf", ".png", ".svg", ".tex", ".pgf", ".csv", ".json"};
  const char *ending = call->output ? strrchr(call->output, '.') : NULL;
  for (size_t i = 0; ending && i < sizeof others / sizeof *others; i++)
    if (strcmp(ending, others[i]) == 0)
      return ss_fail(error, SS_BAD_INPUT, "%s: a page is HTML: say -o FILE.html (pictures are of sparsync plot)",
                     call->output);
  return call->output || !isatty(STDOUT_FILENO) ||
         ss_fail(error, SS_BAD_INPUT,
                 "a page is no text for a terminal: say -o FILE.html (or -o - if you want it here)");
}

static bool run(struct ss_call *call, struct ss_error *error) {
  SS_AUTO(close_session)
  struct session session = {.page.warnings = cJSON_CreateArray(), .told = call->request.notice};
  session.notice = (struct ss_notice){keep, &session};
  call->request.notice = &session.notice;
  call->request.candidates = call->request.turns = true;
  return check_output(call, error) && run_session(&session, call, error);
}

static const struct ss_option_spec options[] = {
    SS_OPTIONS_ADMITTED,
    SS_OPTIONS_SCENARIO(SS_ITERATIONS_OF_TRACE, ", or several: A,B"),
    SS_OPTION_CERTAIN,
    SS_OPTION_TENSOR,
    SS_OPTION_SCHEME,
    SS_OPTION_RANKS,
    SS_OPTION_NO_VERIFY,
    {"--per-rank", SS_FLAG(struct ss_call, request.run.per_rank), .help = "a figure of the bytes of each rank"},
    {"--no-sliders", SS_FLAG(struct report, fixed),
     .help = "play no faster and slower networks: sooner done, and nothing to slide"},
    SS_OPTION_OUTPUT,
    SS_OPTION_QUIET,
    SS_OPTION_JOBS,
    {"--format", SS_REFUSED, .help = "the page is HTML (sparsync run writes table, json and csv)"},
    {.name = NULL}};

const struct ss_command ss_command_report = {
    .name = "report",
    .summary = "one self-contained page about a scenario",
    .usage =
        "usage: sparsync report [SCENARIO.json] -o FILE.html [OPTION...]\n\n"
        "Simulates the scenario as `run` does and writes one page of HTML that needs nothing else: the winner "
        "in words, the question, figures, tables, closed forms with their errata, inputs with their sources, "
        "and what makes the page again. Where nobody names schemes those are tried that `plan` tries. Every "
        "point of a cluster with a \"window\" is simulated once more, with another one (all, of more than 32 ranks "
        "4; or 1), and the page "
        "warns where the order of schemes turns. In a browser tables sort and filter, schemes go and come, and "
        "sliders "
        "move latency and bandwidth: 24 more networks are played for them, and the page marks what lies between "
        "these. Without scripts the same stands there. Figures need gnuplot; without it the page has their data. "
        "Status 1 when an expectation of the scenario failed: the page is written and says which.\n",
    .examples = "  sparsync report scenarios/demo.json -o report.html\n"
                "  sparsync report --trace traces/wordnet-64.safetensors --cluster h100-8x8-400g --ranks 4..64 "
                "--iterations :4 \\\n"
                "    --set 'sweep={\"cluster.bandwidth\": [\"100Gbps\", \"400Gbps\"]}' -o winners.html\n",
    .options = options,
    .size = sizeof(struct report),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
