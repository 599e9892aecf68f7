/* One self-contained page about a scenario: what report/page.h makes of its points. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/request.h"
#include "report/page.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: sparsync report [SCENARIO.json] -o FILE.html [OPTION...]\n"
    "\n"
    "Simulates the scenario as `run` does and writes one page of HTML that needs nothing else: the winner in words,\n"
    "the question, figures, tables, closed forms with their errata, inputs with their sources, and what makes the "
    "page\n"
    "again. Figures need gnuplot; without it the page has their data. Status 1 when an expectation of the scenario\n"
    "failed: the page is written and says which.\n"
    "\n"
    "  -o FILE              where to write, or - for standard output (a file appears whole or not at all)\n"
    "  --per-rank           a figure of the bytes of each rank\n"
    "\n";
static const char examples[] =
    "  --jobs N             threads (all cores)   --quiet            no progress bar\n"
    "\n"
    "examples:\n"
    "  sparsync report scenarios/demo.json -o report.html\n"
    "  sparsync report --trace traces/wordnet-64.safetensors --cluster h100-8x8-400g --ranks 4..64 --iterations :4 "
    "\\\n"
    "    --set 'sweep={\"cluster.bandwidth\": [\"100Gbps\", \"400Gbps\"]}' -o winners.html\n";

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

static char *command_text(int argc, char **argv) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return NULL;
  fputs("sparsync", stream);
  for (int i = 0; i < argc; i++) {
    fputc(' ', stream);
    write_word(argv[i], stream);
  }
  if (fclose(stream) == 0) return text;
  free(text);
  return NULL;
}

static void write_value(const cJSON *value, FILE *stream) {
  char *json = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
  fputs(json ? json : cJSON_IsString(value) ? value->valuestring : "?", stream);
  free(json);
}

/* "time_s of zen < allreduce at ranks = 16" */
static void write_expectation(const cJSON *e, FILE *stream) {
  static const char *const words[][2] = {{"that", ""},  {"of", " of "},         {"is", " "},
                                         {"than", " "}, {"within", " within "}, {"tensor", ", tensor "}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(e, words[i][0]);
    if (!value) continue;
    fputs(words[i][1], stream);
    write_value(value, stream);
  }
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(e, "at");
  for (const cJSON *a = at ? at->child : NULL; a; a = a->next) {
    fprintf(stream, "%s%s = ", a == at->child ? " at " : ", ", a->string);
    write_value(a, stream);
  }
}

static char *expectation_text(const cJSON *e) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return NULL;
  write_expectation(e, stream);
  if (fclose(stream) == 0) return text;
  free(text);
  return NULL;
}

/* --- one report --------------------------------------------------------------------------------------------- */

struct session {
  struct ss_study *scenario;
  struct ss_results points;
  struct ss_page page;
  struct ss_page_expectation *expectation;
  char *command, *json;
};

static bool note_expectations(struct session *s, struct ss_error *error) {
  struct ss_node expect = ss_study_expect(s->scenario);
  s->expectation = ss_alloc_zero(ss_node_size(expect) + 1, sizeof *s->expectation);
  if (!s->expectation) return ss_fail_memory(error, "listing expectations");
  for (struct ss_node n = ss_node_first(expect); ss_node_present(n); n = ss_node_next(n)) {
    struct ss_error why = {0};
    struct ss_page_expectation *e = &s->expectation[s->page.expectations++];
    e->text = expectation_text(n.at);
    if (!e->text) return ss_fail_memory(error, "listing expectations");
    if (ss_results_expect_one(&s->points, n, &why)) continue;
    e->found = strdup(why.text);
    if (!e->found) return ss_fail_memory(error, "listing expectations");
  }
  s->page.expectation = s->expectation;
  return true;
}

static bool fill_page(struct session *s, int argc, char **argv, struct ss_error *error) {
  const cJSON *resolved = ss_study_resolved(s->scenario);
  s->command = command_text(argc, argv);
  s->json = cJSON_Print(resolved);
  if (!s->command || !s->json) return ss_fail_memory(error, "writing a page");
  s->page.name = cJSON_HasObjectItem(resolved, "name") || s->points.count == 0 ? ss_study_name(s->scenario)
                                                                               : s->points.point->trace;
  s->page.summary = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(resolved, "summary"));
  s->page.command = s->command;
  s->page.scenario = s->json;
  s->page.sweep = cJSON_GetObjectItemCaseSensitive(resolved, "sweep");
  s->page.models = ss_study_models(s->scenario);
  s->page.costs = ss_study_costs(s->scenario);
  s->page.points = &s->points;
  return note_expectations(s, error);
}

static bool write_page(struct session *s, const char *path, struct ss_error *error) {
  struct ss_output output;
  if (!ss_output_open(path, &output, error)) return false;
  if (ss_page_print(&s->page, output.stream, error)) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static void close_session(struct session *s) {
  for (size_t i = 0; s->expectation && i < s->page.expectations; i++) {
    free((char *)s->expectation[i].text);
    free((char *)s->expectation[i].found);
  }
  free(s->expectation);
  free(s->command);
  free(s->json);
  ss_results_free(&s->points);
  ss_study_close(s->scenario);
}

static bool run_session(struct session *s, const struct ss_call *call, int argc, char **argv,
                        struct ss_error *error) {
  if (!ss_study_open(&call->request, &s->scenario, error) || !ss_study_check_expect(s->scenario, error) ||
      !ss_study_run(s->scenario, &call->options, NULL, &s->points, error) || !fill_page(s, argc, argv, error) ||
      !write_page(s, call->output, error))
    return false;
  if (s->page.lacking.text[0])
    fprintf(stderr, "sparsync report: no figures, their data stand on the page: %s\n", s->page.lacking.text);
  return ss_results_expect(&s->points, ss_study_expect(s->scenario), error);
}

static bool check_output(const struct ss_call *call, struct ss_error *error) {
  return call->output || !isatty(STDOUT_FILENO) ||
         ss_fail(error, SS_BAD_INPUT,
                 "a page is no text for a terminal: say -o FILE.html (or -o - if you want it here)");
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {
      {"trace", true},     {"scheme", true},     {"cluster", true}, {"ranks", true},  {"bandwidth", true},
      {"latency", true},   {"iterations", true}, {"merge", true},   {"device", true}, {"set", true},
      {"o", true},         {"jobs", true},       {"quiet", false},  {"help", false},  {"no-verify", false},
      {"per-rank", false}, {.name = NULL}};
  static const char *const texts[] = {help, ss_scenario_help, examples, NULL};
  struct ss_call call;
  if (!ss_call_parse_scenario(argc, argv, specs, NULL, NULL, &call, error)) return false;
  struct session session = {0};
  const bool ok = call.help ? ss_help_print(texts, error)
                            : check_output(&call, error) && run_session(&session, &call, argc, argv, error);
  close_session(&session);
  ss_call_free(&call);
  return ok;
}

const struct ss_command ss_command_report = {
    .name = "report", .summary = "one self-contained page about a scenario", .help = help, .run = run};
