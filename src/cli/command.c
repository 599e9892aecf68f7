#include "cli/command.h"

#include "base/data.h"
#include "base/file.h"
#include "exec/launch.h"
#include "library/request.h"
#include "report/table.h"
#include "report/tables.h"
#include "share/share.h"

#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

const char *const ss_formats[] = {"table", "json", "csv", "markdown", NULL};

bool ss_span_parse(const char *value, uint64_t *first, uint64_t *end, struct ss_error *error) {
  const char *colon = strchr(value, ':');
  if (!colon) return ss_fail(error, SS_BAD_INPUT, "--iterations: \"%s\" is not a range A:B (say 0:50)", value);
  SS_AUTO_FREE char *before = strndup(value, (size_t)(colon - value));
  if (!before) return ss_fail_memory(error, "reading options");
  const uint64_t most = UINT64_C(1) << 53;
  if (*before && !ss_count_parse(before, "--iterations", 0, most, first, error)) return false;
  return !colon[1] || ss_count_parse(colon + 1, "--iterations", 1, most, end, error);
}

bool ss_call_write(const struct ss_call *call, const void *report, ss_printer *table, ss_printer *json,
                   ss_printer *csv, struct ss_error *error) {
  ss_printer *const printers[] = {[SS_TABLE] = table, [SS_JSON] = json, [SS_CSV] = csv, [SS_MARKDOWN] = table};
  return ss_output_write(call->output, printers[call->format], report, error);
}

bool ss_call_ask(struct ss_call *call, const char *kind, struct ss_answer **out, struct ss_error *error) {
  if (call->request.run.jobs == 0) call->request.run.jobs = (unsigned)omp_get_max_threads();
  return ss_ask(&call->request, kind, out, error);
}

bool ss_call_answer(struct ss_call *call, const char *kind, ss_printer *table, ss_printer *csv,
                    struct ss_error *error) {
  struct ss_answer *answer = NULL;
  if (ss_data_path("scenarios", call->path, sizeof call->path, NULL)) call->request.base = call->path;
  const bool good =
      ss_call_ask(call, kind, &answer, error) && ss_call_write(call, answer, table, ss_answer_print_json, csv, error);
  ss_answer_free(answer);
  return good;
}

/* --- the request --------------------------------------------------------------------------------------------- */

enum { FIELD_MAX = 64 };

/* "--row-width": "row_width"; "--scheme": "schemes". */
static const char *field_of(const struct ss_option_spec *option, char field[static FIELD_MAX]) {
  (void)snprintf(field, FIELD_MAX, "%s", option->field ? option->field : option->name + strspn(option->name, "-"));
  if (option->field) return field;
  for (char *c = field; *c; c++)
    if (*c == '-') *c = '_';
  const char *meant = ss_field_of_word(field);
  if (meant) (void)snprintf(field, FIELD_MAX, "%s", meant);
  return field;
}

bool ss_call_operands_differ(const struct ss_call *call, struct ss_error *error) {
  for (size_t i = 1; i < call->operands; i++)
    for (size_t k = 0; k < i; k++)
      if (ss_same_file(call->operand[k], call->operand[i]))
        return ss_fail(error, SS_BAD_INPUT, "\"%s\" is named twice", call->operand[i]);
  return true;
}

bool ss_call_edit(struct ss_call *call, const char *path, cJSON *value, struct ss_error *error) {
  return ss_json_put(call->edits, path, value) || ss_fail_memory(error, "reading options"); /* the last one counts */
}

/* Of two values one would count for nothing. */
static bool say(struct ss_call *call, const char *option, const char *path, cJSON *value, struct ss_error *error) {
  if (!ss_json_get(call->edits, path)) return ss_call_edit(call, path, value, error);
  cJSON_Delete(value);
  return ss_fail(error, SS_BAD_INPUT, "%s: %s is said twice", option, path);
}

static bool edit_said(struct ss_call *call, const struct ss_said *said, struct ss_error *error) {
  char field[FIELD_MAX];
  cJSON *value =
      said->value ? cJSON_CreateString(said->value) : cJSON_Parse(said->option->json ? said->option->json : "true");
  cJSON *list = ss_json_get(call->edits, field_of(said->option, field));
  if (!said->option->list) return say(call, said->option->name, field, value, error);
  if (!list) list = cJSON_AddArrayToObject(call->edits, field);
  return cJSON_AddItemToArray(list, value) || ss_fail_memory(error, "reading options");
}

/* "PATH=VALUE" */
static bool edit_set(struct ss_call *call, const char *text, struct ss_error *error) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text)
    return ss_fail(error, SS_BAD_INPUT, "--set %s: expected PATH=VALUE (say cluster.bandwidth=100Gbps)", text);
  SS_AUTO_FREE char *path = strndup(text, (size_t)(equals - text));
  cJSON *value = path ? ss_json_value("--set", path, equals + 1, false, error) : NULL;
  if (!path) return ss_fail_memory(error, "reading options");
  return value && say(call, "--set", path, value, error) &&
         (ss_json_put(call->options, path, cJSON_CreateString("--set")) || ss_fail_memory(error, "reading options"));
}

/* Whole fields come in the order in which a scenario has them, then what --set says, then what reaches into models.
 */
static size_t turn_of(const char *field) {
  static const char *const order[] = {"trace", "cluster",   "device",  "ranks",   "iterations",
                                      "merge", "placement", "tensors", "schemes", "verify"};
  enum { FIRST = sizeof order / sizeof *order };
  size_t i = 0;
  while (i < FIRST && strcmp(order[i], field) != 0) i++;
  return strchr(field, '.') ? FIRST + 2 : i;
}

static bool make_edits(struct ss_call *call, const struct ss_option_spec *options, struct ss_error *error) {
  char field[FIELD_MAX], text[FIELD_MAX + 32];
  call->request.edits = call->edits = cJSON_CreateObject();
  call->request.options = call->options = cJSON_CreateObject();
  for (const struct ss_option_spec *o = options; o->name; o++) {
    if (o->kind != SS_TAKES_SAID || !*o->name) continue;
    (void)snprintf(text, sizeof text, "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    if (!cJSON_AddStringToObject(call->options, field_of(o, field), text))
      return ss_fail_memory(error, "reading options");
  }
  const size_t last = turn_of(".");
  for (size_t turn = 0; turn <= last; turn++) {
    for (size_t i = 0; i < call->fields; i++)
      if (turn_of(field_of(call->said[i].option, field)) == turn && !edit_said(call, &call->said[i], error))
        return false;
    for (size_t i = 0; turn + 1 == last && i < call->sets; i++)
      if (!edit_set(call, call->set[i], error)) return false;
  }
  return true;
}

/* By its path, or by the name of one that comes with the program. */
static bool find_scenario(struct ss_call *call, struct ss_error *error) {
  if (!call->request.file) return true;
  if (!ss_data_scenario(call->request.file, call->path, sizeof call->path, error)) return false;
  call->request.file = call->path;
  return true;
}

/* --- help -------------------------------------------------------------------------------------------------- */

static bool asks_for_help(const char *argument) {
  return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool wants_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (asks_for_help(argv[i])) return true;
  return false;
}

static bool print_help(const struct ss_command *command, struct ss_error *error) {
  ss_print_filled(command->usage, 0, 0, stdout);
  fputc('\n', stdout);
  for (size_t i = 0; command->commands && command->commands[i]; i++)
    fprintf(stdout, "  %-8s  %s\n", command->commands[i]->name, command->commands[i]->summary);
  if (command->options) ss_options_help(command->options, stdout);
  fprintf(stdout, "\nexamples:\n%s", command->examples);
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  return ss_fail(error, SS_MACHINE, "standard output: cannot write");
}

/* --- subcommands ------------------------------------------------------------------------------------------- */

enum { SUBCOMMANDS_MAX = 16 };

const char *ss_command_words(const struct ss_command *command, int argc, char *const *argv, char *text, size_t size) {
  (void)snprintf(text, size, "%s", command->name);
  for (size_t i = 0; argc > 1 && command->commands && command->commands[i]; i++)
    if (strcmp(argv[1], command->commands[i]->name) == 0)
      (void)snprintf(text, size, "%s %s", command->name, command->commands[i]->name);
  return text;
}

static bool execute(const struct ss_command *command, const char *called, int argc, char **argv,
                    struct ss_error *error);

static bool execute_subcommand(const struct ss_command *command, int argc, char **argv, struct ss_error *error) {
  const char *names[SUBCOMMANDS_MAX + 1] = {NULL};
  char all[200], called[80];
  for (size_t i = 0; i < SUBCOMMANDS_MAX && command->commands[i]; i++) names[i] = command->commands[i]->name;
  ss_words_join(names, " or ", all, sizeof all);
  if (argc < 2) return ss_fail(error, SS_BAD_INPUT, "say what to do: %s (--help tells more)", all);
  if (asks_for_help(argv[1])) return print_help(command, error);
  for (size_t i = 0; names[i]; i++)
    if (command->commands[i] && strcmp(argv[1], names[i]) == 0)
      return execute(command->commands[i], ss_command_words(command, argc, argv, called, sizeof called), argc - 1,
                     argv + 1, error);
  return ss_fail(error, SS_BAD_INPUT, "\"%s\" is not %s%s", argv[1], all, ss_suggest(argv[1], names, NULL).text);
}

/* --- warnings ------------------------------------------------------------------------------------------------ */

/* What was told on standard error: each text once, however many cells of a sweep it is true of. */
struct warnings {
  const char *command;
  cJSON *texts;
};

static void warn(void *context, const char *text) {
  const struct warnings *w = context;
  for (const cJSON *t = w->texts ? w->texts->child : NULL; t; t = t->next)
    if (strcmp(t->valuestring, text) == 0) return;
  fprintf(stderr, "sparsync %s: %swarning:%s %s\n", w->command, ss_colour(stderr, SS_YELLOW),
          ss_colour(stderr, SS_PLAIN), text);
  cJSON_AddItemToArray(w->texts, cJSON_CreateString(text)); /* without memory it is told again */
}

/* --- a command --------------------------------------------------------------------------------------------- */

/* Of the machine, or of the container: B, INFINITY when nobody says. */
static double whole_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  double whole = pages > 0 && size > 0 ? (double)pages * (double)size : INFINITY;
  char text[64];
  FILE *stream = fopen("/sys/fs/cgroup/memory.max", "r");
  if (stream && fgets(text, sizeof text, stream) && strtod(text, NULL) > 0) whole = fmin(whole, strtod(text, NULL));
  if (stream) fclose(stream);
  return whole;
}

/* Memory beyond that is refused, by which the command ends with what it was doing, before the machine swaps or ends
 * another program. (A sanitizer reserves more than any machine has.) */
static void limit_memory(double most) {
#ifndef __SANITIZE_ADDRESS__
  struct rlimit limit;
  if (!isfinite(most) || getrlimit(RLIMIT_DATA, &limit) != 0 || (double)limit.rlim_cur <= most) return;
  limit.rlim_cur = (rlim_t)most;
  (void)setrlimit(RLIMIT_DATA, &limit);
#else
  (void)most;
#endif
}

struct execution {
  const struct ss_command *command;
  struct ss_call *call;
  double memory; /* B that may be taken */
};

/* MPI has begun, which crashes where it gets no memory. */
static bool execute_over_mpi(void *context, struct ss_communicator *comm, struct ss_error *error) {
  const struct execution *execution = context;
  execution->call->request.run.comm = comm;
  limit_memory(execution->memory);
  return execution->command->run(execution->call, error);
}

static bool has_option(const struct ss_command *command, const char *name) {
  const struct ss_option_spec *o = command->options;
  while (o && o->name && strcmp(o->name, name) != 0) o++;
  return o && o->name && o->kind != SS_REFUSED;
}

/* Memory was short: how much may be taken, and who says so. */
static void explain_memory(const struct ss_command *command, double most, struct ss_error *error) {
  if (!error || error->status != SS_MACHINE || !strstr(error->text, "out of memory") || !isfinite(most)) return;
  (void)ss_fail(error, SS_MACHINE, "%s (%s may be taken%s%s)", error->text, ss_shown(SS_BYTES, most),
                has_option(command, "--memory") ? ": --memory says otherwise" : "",
                has_option(command, "--jobs") ? "; fewer --jobs take less" : "");
}

static bool execute(const struct ss_command *command, const char *called, int argc, char **argv,
                    struct ss_error *error) {
  const struct ss_launch launch = ss_launch_read();
  if (command->commands) return execute_subcommand(command, argc, argv, error);
  if (wants_help(argc, argv)) return launch.rank != 0 || print_help(command, error);
  SS_AUTO_FREE struct ss_call *call = ss_alloc_zero(1, command->size);
  if (!call) return ss_fail_memory(error, "reading options");
  if (command->defaults) memcpy(call, command->defaults, command->size);
  call->argc = argc;
  call->argv = argv;
  struct warnings warnings = {called, cJSON_CreateArray()};
  const struct ss_notice notice = {warn, &warnings};
  const bool understood = ss_options_parse(command->options, argc, argv, call, error) &&
                          make_edits(call, command->options, error) && find_scenario(call, error) &&
                          ss_output_has_folder(call->output, error);
  ss_table_style_set(call->format == SS_MARKDOWN ? SS_TABLE_MARKDOWN : SS_TABLE_TEXT);
  call->request.run.watcher = call->quiet ? NULL : &ss_progress_watcher;
  call->request.notice = launch.rank == 0 ? &notice : NULL; /* processes of one run read the same */
  const double most = call->memory > 0 ? call->memory : whole_memory();
  struct execution execution = {command, call, most};
  const double patience = call->request.run.patience;
  if (understood && !launch.several && patience > 0 && (patience < SS_PATIENCE || patience > SS_PATIENCE))
    ss_notice_tell(&notice, "--patience does nothing: there is one process alone (mpirun starts several)");
  const bool over_mpi =
      command->company == SS_ALWAYS_OVER_MPI || (command->company == SS_TOGETHER_UNDER_MPIRUN && launch.several);
  if (!over_mpi) limit_memory(most);
  const bool ok = over_mpi ? ss_processes_run(understood, execute_over_mpi, &execution, error)
                           : understood && command->run(call, error);
  if (!ok) explain_memory(command, most, error);
  ss_options_free(command->options, call);
  cJSON_Delete(call->edits);
  cJSON_Delete(call->options);
  cJSON_Delete(warnings.texts);
  return ok;
}

bool ss_command_execute(const struct ss_command *command, int argc, char **argv, struct ss_error *error) {
  return execute(command, command->name, argc, argv, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
