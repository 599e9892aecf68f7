/* Results for figures: a command is run in this process, a file is read, a machine is measured. */
#include "base/data.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "figures/figure.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 64, FILE_MAX = 1 << 30 };

/* What an entry's commands need on disk; removed when it is done. */
struct workshop {
  char scenario[PATH_MAX], made[PATH_MAX]; /* "": not written */
  char text[ARGUMENTS_MAX][PATH_MAX];      /* arguments with paths filled in */
};

/* --- temporary files ---------------------------------------------------------------------------------------- */

static bool temporary(char *path, size_t size, const char *ending, struct ss_error *error) {
  const char *place = getenv("TMPDIR");
  const int n = snprintf(path, size, "%s/sparsync-XXXXXX%s", place && place[0] ? place : "/tmp", ending);
  const int handle = n > 0 && (size_t)n < size ? mkstemps(path, (int)strlen(ending)) : -1;
  if (handle >= 0) {
    close(handle);
    return true;
  }
  path[0] = '\0';
  return ss_fail(error, SS_MACHINE, "cannot make a temporary file in %.200s", place && place[0] ? place : "/tmp");
}

static void sweep_out(const struct workshop *shop) {
  if (shop->scenario[0]) unlink(shop->scenario);
  if (shop->made[0]) unlink(shop->made);
}

/* --- texts with paths in them ------------------------------------------------------------------------------- */

bool ss_figure_path(const char *text, char *path, size_t size, struct ss_error *error) {
  if (strncmp(text, "$data/", 6) == 0) return ss_data_file(text + 6, path, size, error);
  if (strlen(text) >= size) return ss_fail(error, SS_BAD_INPUT, "%.40s...: is too long", text);
  snprintf(path, size, "%s", text);
  return true;
}

static bool fill_in(struct workshop *shop, const char *text, char *out, struct ss_error *error) {
  if (strcmp(text, "$made") != 0) return ss_figure_path(text, out, PATH_MAX, error);
  if (!shop->made[0]) return ss_fail(error, SS_BAD_INPUT, "$made: the entry has no \"make\"");
  snprintf(out, PATH_MAX, "%s", shop->made);
  return true;
}

/* Every text of a scenario, at any depth. */
static bool fill_in_all(struct workshop *shop, cJSON *item, struct ss_error *error) {
  char path[PATH_MAX];
  for (; item; item = item->next) {
    if (cJSON_IsString(item) && item->valuestring[0] == '$' &&
        (!fill_in(shop, item->valuestring, path, error) || !cJSON_SetValuestring(item, path)))
      return false;
    if (item->child && !fill_in_all(shop, item->child, error)) return false;
  }
  return true;
}

/* --- commands ----------------------------------------------------------------------------------------------- */

static bool read_arguments(struct ss_node list, struct workshop *shop, const char **out, size_t *count,
                           struct ss_error *error) {
  if (!ss_node_is_array(list) || ss_node_size(list) == 0)
    return ss_node_fail(list, error, "is not a list of a command's words (say [\"run\"])");
  for (struct ss_node at = ss_node_first(list); ss_node_present(at); at = ss_node_next(at)) {
    const char *word;
    if (!ss_node_text(at, &word, error)) return false;
    if (*count + 2 >= ARGUMENTS_MAX) return ss_node_fail(at, error, "is one word too many");
    if (ss_command_writes(word)) return ss_node_fail(at, error, "\"%s\": a figure's commands write nothing", word);
    if (!fill_in(shop, word, shop->text[*count], error)) return false;
    out[*count] = shop->text[*count];
    (*count)++;
  }
  return true;
}

static bool may_run(struct ss_node list, const char *const *words, size_t count, struct ss_error *error) {
  static const char *const commands[] = {"run", "cost", "plan", "train", "crossover", NULL};
  const char *first = count > 0 ? words[0] : "";
  for (size_t i = 0; commands[i]; i++)
    if (strcmp(first, commands[i]) == 0) return true;
  if (count > 1 && strcmp(first, "trace") == 0 && strcmp(words[1], "stats") == 0) return true;
  return ss_node_fail(list, error,
                      "\"%s\" is no command for a figure (run, cost, plan, train, crossover or trace stats)", first);
}

/* "make": the arguments of `trace synth`, for commands that need a trace in a file. */
static bool make_trace(struct ss_node list, struct workshop *shop, struct ss_error *error) {
  char trace[] = "trace", synth[] = "synth", option[] = "-o";
  const char *words[ARGUMENTS_MAX] = {trace, synth};
  char *argv[ARGUMENTS_MAX + 3];
  size_t count = 2;
  if (!ss_node_present(list)) return true;
  if (!read_arguments(list, shop, words, &count, error)) return false;
  if (!temporary(shop->made, sizeof shop->made, ".safetensors", error)) return false;
  for (size_t i = 0; i < count; i++) argv[i] = (char *)words[i];
  argv[count] = option;
  argv[count + 1] = shop->made;
  argv[count + 2] = NULL;
  return ss_command_execute(ss_command_find((int)count + 2, argv), (int)count + 2, argv, error);
}

static bool write_scenario(struct ss_node node, struct workshop *shop, struct ss_error *error) {
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "is not an object (a scenario)");
  cJSON *copy = cJSON_Duplicate(node.at, true);
  char *text = copy && fill_in_all(shop, copy->child, error) ? cJSON_PrintUnformatted(copy) : NULL;
  cJSON_Delete(copy);
  if (!text) return error && error->text[0] ? false : ss_fail_memory(error, "writing a scenario");
  FILE *stream = temporary(shop->scenario, sizeof shop->scenario, ".json", error) ? fopen(shop->scenario, "w") : NULL;
  bool ok = stream && fputs(text, stream) >= 0;
  if (stream && fclose(stream) != 0) ok = false;
  free(text);
  return ok || ss_fail(error, SS_MACHINE, "cannot write a temporary file");
}

/* Options that keep a figure's run short of words; the proof is the scenario's affair. */
static bool run_command(struct ss_node entry, struct workshop *shop, struct ss_records *out, struct ss_error *error) {
  const struct ss_node list = ss_node_get(entry, "command"), scenario = ss_node_get(entry, "scenario");
  const char *words[ARGUMENTS_MAX] = {NULL};
  size_t count = 0;
  if (!read_arguments(list, shop, words, &count, error) || !may_run(list, words, count, error)) return false;
  if (ss_node_present(scenario)) {
    if (!write_scenario(scenario, shop, error)) return false;
    words[count++] = shop->scenario;
  }
  return ss_command_json(words, count, &out->doc, error);
}

static bool from_work(struct ss_node entry, struct ss_records *out, struct ss_error *error) {
  const struct ss_node measure = ss_node_get(entry, "measure");
  struct workshop *shop = ss_alloc_zero(1, sizeof *shop);
  if (!shop) return ss_fail_memory(error, "running a command");
  bool ok = make_trace(ss_node_get(entry, "make"), shop, error);
  if (ok)
    ok = ss_node_present(measure) ? ss_measure(measure, shop->made, &out->made, error)
                                  : run_command(entry, shop, out, error);
  sweep_out(shop);
  free(shop);
  if (ok) return true;
  char place[200];
  return ss_fail_prefix(error, "%s: %s", ss_doc_name(entry.doc), ss_node_path(entry, place, sizeof place));
}

/* --- records ------------------------------------------------------------------------------------------------ */

/* The first list of objects in a result: "points", "tensors", "plan", "checks", ... */
static cJSON *first_list(cJSON *root) {
  if (cJSON_IsArray(root)) return root;
  for (cJSON *item = root ? root->child : NULL; item; item = item->next)
    if (cJSON_IsArray(item) && cJSON_IsObject(item->child)) return item;
  return NULL;
}

bool ss_records_get(struct ss_node entry, struct ss_records *out, struct ss_error *error) {
  const struct ss_node command = ss_node_get(entry, "command"), file = ss_node_get(entry, "file"),
                       measure = ss_node_get(entry, "measure");
  char path[PATH_MAX];
  const char *name;
  *out = (struct ss_records){0};
  if (ss_node_present(file)) {
    if (!ss_node_text(file, &name, error) || !ss_figure_path(name, path, sizeof path, error) ||
        !ss_doc_read(path, FILE_MAX, &out->doc, error))
      return false;
  } else if (ss_node_present(command) || ss_node_present(measure)) {
    if (!from_work(entry, out, error)) return false;
  } else {
    return ss_node_fail(entry, error, "has no \"command\", \"file\" or \"measure\"");
  }
  out->list = out->made ? out->made : first_list(ss_doc_root(out->doc).at);
  if (out->list && out->list->child) return true;
  ss_fail(error, SS_BAD_INPUT,
          "%s: holds no list of results (take what run, cost, plan, train or trace stats print with --format json)",
          ss_node_present(file) ? ss_doc_name(out->doc) : "the command's result");
  ss_records_free(out);
  return false;
}

void ss_records_free(struct ss_records *records) {
  ss_doc_free(records->doc);
  cJSON_Delete(records->made);
  *records = (struct ss_records){0};
}

static const cJSON *find_exactly(const cJSON *record, const char *path) {
  char key[256];
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(record, path);
  if (item) return item;
  for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
    const size_t n = (size_t)(dot - path);
    if (n >= sizeof key) return NULL;
    memcpy(key, path, n);
    key[n] = '\0';
    const cJSON *child = cJSON_GetObjectItemCaseSensitive(record, key);
    if (!cJSON_IsObject(child)) continue;
    item = find_exactly(child, dot + 1);
    if (item) return item;
  }
  return NULL;
}

/* "bandwidth" is the last word of "cluster.bandwidth". */
static const cJSON *find_last_word(const cJSON *object, const char *word) {
  const size_t n = strlen(word);
  for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
    const size_t length = item->string ? strlen(item->string) : 0;
    if (length > n && item->string[length - n - 1] == '.' && strcmp(item->string + length - n, word) == 0)
      return item;
  }
  return NULL;
}

const cJSON *ss_record_find(const cJSON *record, const char *path) {
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(record, "at"),
              *options = cJSON_GetObjectItemCaseSensitive(record, "options");
  const cJSON *item = NULL;
  /* what a sweep sets comes before what was measured: "density" is then the one asked for */
  if (!strchr(path, '.')) item = find_last_word(at, path);
  if (!item) item = find_exactly(record, path);
  if (!item && cJSON_IsObject(at)) item = find_exactly(at, path);
  if (!item && cJSON_IsObject(options)) item = find_exactly(options, path);
  return item;
}
