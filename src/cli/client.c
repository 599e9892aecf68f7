#include "cli/client.h"

#include "base/memory.h"
#include "library/request.h"
#include "report/answers.h"

#include <cjson/cJSON.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- fields ----------------------------------------------------------------------------------------------- */

enum { FIELD_MAX = 64 };

static bool is_list(const struct ss_option_spec *option) {
  return option->kind == SS_TAKES_TEXTS && option->field;
}

/* "--row-width": "row_width". */
static const char *field_of(const struct ss_option_spec *option, char field[static FIELD_MAX]) {
  (void)snprintf(field, FIELD_MAX, "%s", option->field ? option->field : option->name + strspn(option->name, "-"));
  for (char *c = field; *c; c++)
    if (*c == '-') *c = '_';
  return field;
}

/* Takes the value over. */
static bool add(cJSON *fields, const char *field, cJSON *value) {
  if (cJSON_AddItemToObject(fields, field, value)) return true;
  cJSON_Delete(value);
  return false;
}

/* Values are texts: what they mean is the library's to say. The last of an option counts. */
static bool add_said(cJSON *fields, const struct ss_said *said) {
  char field[FIELD_MAX];
  cJSON_DeleteItemFromObjectCaseSensitive(fields, field_of(said->option, field));
  return add(fields, field, said->value ? cJSON_CreateString(said->value) : cJSON_CreateTrue());
}

/* What an option that may be repeated collected. */
static bool add_list(cJSON *fields, const struct ss_option_spec *option, const struct ss_client_arguments *a) {
  const char **text;
  size_t count;
  memcpy(&text, (const char *)a + option->place, sizeof text);
  memcpy(&count, (const char *)a + option->more, sizeof count);
  return count == 0 || add(fields, option->field, cJSON_CreateStringArray(text, (int)count));
}

bool ss_client_document(const struct ss_option_spec *options, const struct ss_client_arguments *a, cJSON *more,
                        struct ss_doc **out, struct ss_error *error) {
  bool good = more != NULL;
  for (size_t i = 0; good && i < a->fields; i++) good = add_said(more, &a->said[i]);
  for (const struct ss_option_spec *o = options; good && o->name; o++)
    if (is_list(o)) good = add_list(more, o, a);
  if (good) return ss_doc_adopt("request", more, out, error);
  cJSON_Delete(more);
  return ss_fail_memory(error, "asking");
}

/* --- messages --------------------------------------------------------------------------------------------- */

/* The option that is the field whose name the first `length` bytes are; NULL: none is. */
static const struct ss_option_spec *option_of(const struct ss_option_spec *options, const char *name, size_t length) {
  char field[FIELD_MAX];
  for (; options->name; options++)
    if ((options->kind == SS_TAKES_SAID || is_list(options)) && strlen(field_of(options, field)) == length &&
        strncmp(field, name, length) == 0)
      return options;
  return NULL;
}

/* Whether the text up to `at` ends in the word. */
static bool follows(const char *text, const char *at, const char *word) {
  const size_t length = strlen(word);
  return (size_t)(at - text) >= length && strncmp(at - length, word, length) == 0;
}

/* Prints the text with `say "range"` as `say --range`, and what `or` adds to it likewise. */
static void name_advice(const struct ss_option_spec *options, const char *text, char *out, size_t size) {
  size_t used = 0;
  for (const char *at = text; *at && used + 1 < size;) {
    const size_t length = *at == '"' ? strcspn(at + 1, "\"") : 0;
    const bool advised = length > 0 && (follows(text, at, "say ") || follows(text, at, " or "));
    const struct ss_option_spec *option = advised && at[length + 1] ? option_of(options, at + 1, length) : NULL;
    if (option) used += (size_t)snprintf(out + used, size - used, "%s", option->name);
    else out[used++] = *at;
    at += option ? length + 2 : 1;
  }
  out[used < size ? used : size - 1] = '\0';
}

/* "request: the key \"M\" is missing": "say --M SIZE (--help tells more)"; "request: ranks: ...": "--ranks: ...". */
void ss_client_name_options(const struct ss_option_spec *options, struct ss_error *error) {
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

bool ss_client_ask(const struct ss_option_spec *options, const struct ss_client_arguments *a, cJSON *more,
                   ss_client_asking *asking, void *context, struct ss_error *error) {
  const struct ss_call *call = &a->call;
  struct ss_doc *doc;
  if (!ss_client_document(options, a, more, &doc, error)) return false;
  struct bar bar = {.watcher = call->options.watcher};
  struct ss_request *request = ss_request_new();
  if (!request) {
    ss_doc_free(doc);
    return ss_fail_memory(error, "asking");
  }
  ss_request_use_threads(request, call->options.jobs ? call->options.jobs : (unsigned)omp_get_max_threads());
  ss_request_watch(request, tell, &bar);
  if (call->request.notice) ss_request_hear(request, call->request.notice->tell, call->request.notice->context);
  const bool good = ss_request_adopt(request, doc, NULL, error) && asking(request, context, error);
  ss_watcher_end(bar.watcher);
  ss_request_free(request);
  if (!good) ss_client_name_options(options, error);
  return good;
}

/* What is asked, and the answer. */
struct exchange {
  const struct ss_client *client;
  struct ss_answer *answer;
};

static bool ask(struct ss_request *request, void *context, struct ss_error *error) {
  struct exchange *exchange = context;
  return exchange->client->ask(request, &exchange->answer, error);
}

bool ss_client_run(const struct ss_client *client, const struct ss_client_arguments *a, cJSON *more,
                   struct ss_error *error) {
  struct exchange of = {.client = client};
  const bool good = ss_client_ask(client->options, a, more, ask, &of, error) &&
                    ss_call_write(&a->call, of.answer, client->table, ss_answer_print_json, client->csv, error);
  ss_answer_free(of.answer);
  return good;
}
