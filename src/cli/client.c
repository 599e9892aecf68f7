#include "cli/client.h"

#include "base/memory.h"
#include "report/answers.h"

#include <cjson/cJSON.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- fields ----------------------------------------------------------------------------------------------- */

enum { FIELD_MAX = 64 };

/* "--row-width": "row_width"; "--file", which may be repeated: "files". */
static const char *field_of(const struct ss_option_spec *option, char field[static FIELD_MAX]) {
  (void)snprintf(field, FIELD_MAX, "%s%s", option->name + strspn(option->name, "-"),
                 option->kind == SS_TAKES_TEXTS ? "s" : "");
  for (char *c = field; *c; c++)
    if (*c == '-') *c = '_';
  return field;
}

static bool set(struct ss_request *request, const char *field, const cJSON *value, struct ss_error *error) {
  char *text = value ? cJSON_PrintUnformatted(value) : NULL;
  const bool good = text ? ss_request_set(request, field, text, error) : ss_fail_memory(error, "asking");
  cJSON_free(text);
  return good;
}

/* Values are texts: what they mean is the library's to say. */
static bool set_said(struct ss_request *request, const struct ss_said *said, struct ss_error *error) {
  char field[FIELD_MAX];
  cJSON *value = said->value ? cJSON_CreateString(said->value) : cJSON_CreateTrue();
  const bool good = set(request, field_of(said->option, field), value, error);
  cJSON_Delete(value);
  return good;
}

/* What an option that may be repeated collected. */
static bool set_list(struct ss_request *request, const struct ss_option_spec *option,
                     const struct ss_client_arguments *a, struct ss_error *error) {
  char field[FIELD_MAX];
  const char **text;
  size_t count;
  memcpy(&text, (const char *)a + option->place, sizeof text);
  memcpy(&count, (const char *)a + option->more, sizeof count);
  if (count == 0) return true;
  cJSON *list = cJSON_CreateStringArray(text, (int)count);
  const bool good = set(request, field_of(option, field), list, error);
  cJSON_Delete(list);
  return good;
}

static bool set_all(struct ss_request *request, const struct ss_client *client, const struct ss_client_arguments *a,
                    const cJSON *more, struct ss_error *error) {
  if (!more) return ss_fail_memory(error, "asking");
  for (size_t i = 0; i < a->fields; i++)
    if (!set_said(request, &a->said[i], error)) return false;
  for (const struct ss_option_spec *o = client->options; o->name; o++)
    if (o->kind == SS_TAKES_TEXTS && *o->name && !set_list(request, o, a, error)) return false;
  for (const cJSON *item = more->child; item; item = item->next)
    if (!set(request, item->string, item, error)) return false;
  return true;
}

/* --- messages --------------------------------------------------------------------------------------------- */

/* The option that is the field whose name the first `length` bytes are; NULL: none is. */
static const struct ss_option_spec *option_of(const struct ss_option_spec *options, const char *name, size_t length) {
  char field[FIELD_MAX];
  for (; options->name; options++)
    if ((options->kind == SS_TAKES_SAID || options->kind == SS_TAKES_TEXTS) &&
        strlen(field_of(options, field)) == length && strncmp(field, name, length) == 0)
      return options;
  return NULL;
}

/* Prints the text with `say "range"` as `say --range`. */
static void name_advice(const struct ss_option_spec *options, const char *text, char *out, size_t size) {
  static const char say[] = "say \"";
  const char *found = strstr(text, say), *name = found ? found + strlen(say) : "";
  const size_t length = strcspn(name, "\"");
  const struct ss_option_spec *option = name[length] ? option_of(options, name, length) : NULL;
  if (!option) (void)snprintf(out, size, "%s", text);
  else (void)snprintf(out, size, "%.*ssay %s%s", (int)(found - text), text, option->name, name + length + 1);
}

/* "request: the key \"M\" is missing": "say --M SIZE (--help tells more)"; "request: ranks: ...": "--ranks: ...". */
static void name_options(const struct ss_option_spec *options, struct ss_error *error) {
  static const char request[] = "request: ", missing[] = "the key \"";
  if (!error || strncmp(error->text, request, strlen(request)) != 0) return;
  const char *rest = error->text + strlen(request);
  const bool misses = strncmp(rest, missing, strlen(missing)) == 0;
  const char *name = misses ? rest + strlen(missing) : rest;
  const size_t length = strcspn(name, misses ? "\"" : ":[. ");
  const struct ss_option_spec *option = option_of(options, name, length);
  char text[sizeof error->text];
  if (!option) (void)snprintf(text, sizeof text, "%s", rest);
  else if (misses) (void)snprintf(text, sizeof text, "say %s %s (--help tells more)", option->name, option->value);
  else (void)snprintf(text, sizeof text, "%s%s", option->name, name + length);
  name_advice(options, text, error->text, sizeof error->text);
}

/* --- asking ----------------------------------------------------------------------------------------------- */

/* What the library tells, as the command's bar hears it. */
struct bar {
  const struct ss_watcher *watcher;
  struct ss_progress before;
};

static void tell(void *context, const struct ss_progress *now) {
  struct bar *bar = context;
  if (now->what != bar->before.what || now->share < bar->before.share) {
    ss_watcher_end(bar->watcher);
    ss_watcher_begin(bar->watcher, now->what, now->all);
    bar->before = (struct ss_progress){.what = now->what};
  }
  ss_watcher_advance(bar->watcher, now->done - bar->before.done, now->share - bar->before.share, 1);
  bar->before = *now;
}

static bool ask(const struct ss_client *client, const struct ss_client_arguments *a, const cJSON *more,
                struct ss_answer **out, struct ss_error *error) {
  const struct ss_call *call = &a->call;
  struct bar bar = {.watcher = call->options.watcher};
  struct ss_request *request = ss_request_new();
  if (!request) return ss_fail_memory(error, "asking");
  ss_request_use_threads(request, call->options.jobs ? call->options.jobs : (unsigned)omp_get_max_threads());
  ss_request_watch(request, tell, &bar);
  if (call->request.notice) ss_request_hear(request, call->request.notice->tell, call->request.notice->context);
  const bool good = set_all(request, client, a, more, error) && client->ask(request, out, error);
  ss_watcher_end(bar.watcher);
  ss_request_free(request);
  return good;
}

bool ss_client_run(const struct ss_client *client, const struct ss_client_arguments *a, cJSON *more,
                   struct ss_error *error) {
  struct ss_answer *answer = NULL;
  const bool answered = ask(client, a, more, &answer, error);
  cJSON_Delete(more);
  if (!answered) name_options(client->options, error);
  const bool good =
      answered && ss_call_write(&a->call, answer, client->table, ss_answer_print_json, ss_answer_print_csv, error);
  ss_answer_free(answer);
  return good;
}
