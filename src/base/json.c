#include "base/json_internal.h"

#include "base/file.h"
#include "base/json.h"

/* --- documents ------------------------------------------------------------------------------------------- */

struct keys {
  const char **list;
  size_t capacity;
};

/* Sorts the keys of one object, so that a hostile one cannot cost the square of its size. */
static bool check_object(struct ss_node node, struct keys *keys, struct ss_error *error) {
  const size_t count = ss_node_size(node);
  if (count < 2) return true;
  if (keys->list == NULL || count > keys->capacity) {
    const char **list = ss_realloc(keys->list, count, sizeof *list);
    if (list == NULL) return ss_fail_memory(error, "reading JSON");
    *keys = (struct keys){list, count};
  }
  size_t i = 0;
  for (const cJSON *member = node.at->child; member != NULL; member = member->next) keys->list[i++] = member->string;
  const char *twice = ss_sort_texts(keys->list, count);
  return !twice || ss_node_fail(node, error, "the key \"%.60s\" stands here twice", twice);
}

static bool check_unique_keys(struct ss_node node, struct keys *keys, struct ss_error *error) {
  if (cJSON_IsObject(node.at) && !check_object(node, keys, error)) return false;
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!check_unique_keys(n, keys, error)) return false;
  return true;
}

bool ss_doc_adopt(const char *name, cJSON *root, struct ss_doc **out, struct ss_error *error) {
  struct ss_doc *doc = root != NULL ? ss_alloc_zero(1, sizeof *doc) : NULL;
  if (doc == NULL) {
    cJSON_Delete(root);
    return ss_fail_memory(error, "reading JSON");
  }
  doc->root = root;
  doc->name = strdup(name);
  if (doc->name == NULL) {
    ss_doc_free(doc);
    return ss_fail_memory(error, "reading JSON");
  }
  *out = doc;
  return true;
}

bool ss_doc_parse(const char *name, const char *text, size_t length, struct ss_doc **out, struct ss_error *error) {
  const size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  if (!ss_json_check(name, text, mark, length, error)) return false;

  SS_AUTO_DOC struct ss_doc *doc = NULL;
  cJSON *root = cJSON_ParseWithLengthOpts(text + mark, length - mark, NULL, false);
  if (!ss_doc_adopt(name, root, &doc, error)) return false;
  struct keys keys = {0};
  if (check_unique_keys(ss_doc_root(doc), &keys, error)) {
    *out = doc;
    doc = NULL;
  }
  free(keys.list);
  return doc == NULL;
}

/* Reads to the end or just past `limit`; pipes have no size to ask for. */
static bool read_stream(const char *path, FILE *stream, size_t limit, char **text, size_t *length,
                        struct ss_error *error) {
  size_t capacity = 0;
  *length = 0;
  for (;;) {
    if (!ss_grow(*text, capacity, *length + 4096)) return ss_fail_memory(error, "reading JSON");
    const size_t got = fread(*text + *length, 1, capacity - *length, stream);
    *length += got;
    if (*length > limit) return ss_fail(error, SS_BAD_INPUT, "%s: is larger than %zu bytes", path, limit);
    if (got > 0) continue;
    if (ferror(stream)) return ss_fail(error, SS_BAD_INPUT, "%s: cannot read: %s", path, strerror(errno));
    return true;
  }
}

bool ss_doc_read(const char *path, size_t limit, struct ss_doc **out, struct ss_error *error) {
  const bool piped = strcmp(path, "-") == 0;
  const int descriptor = piped ? ss_input_open(path, error) : -1;
  if (piped && descriptor < 0) return false;
  FILE *stream = piped ? fdopen(descriptor, "r") : fopen(path, "re");
  if (stream == NULL) return ss_fail(error, SS_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
  ss_input_note(fileno(stream));
  SS_AUTO_FREE char *text = NULL;
  size_t length;
  const bool read = read_stream(path, stream, limit, &text, &length, error);
  fclose(stream);
  return read && ss_doc_parse(path, text, length, out, error);
}

bool ss_doc_empty(const char *name, struct ss_doc **out, struct ss_error *error) {
  return ss_doc_adopt(name, cJSON_CreateObject(), out, error);
}

void ss_doc_free(struct ss_doc *doc) {
  if (doc == NULL) return;
  cJSON_Delete(doc->root);
  free(doc->name);
  free(doc);
}

void ss_cleanup_doc(struct ss_doc **doc) {
  ss_doc_free(*doc);
}

void ss_cleanup_json(cJSON **tree) {
  cJSON_Delete(*tree);
}

const char *ss_doc_name(const struct ss_doc *doc) {
  return doc->name;
}

struct ss_node ss_doc_root(struct ss_doc *doc) {
  return (struct ss_node){doc, doc->root};
}

/* --- options of a command --------------------------------------------------------------------------------- */

void ss_doc_call_fields(struct ss_doc *doc, const cJSON *options) {
  doc->options = options;
}

void ss_doc_call_like(struct ss_doc *doc, const struct ss_doc *other) {
  doc->options = other->options;
}

/* "--M SIZE" of the field that the first `length` bytes name; NULL: no option is it. */
static const char *option_of(const struct ss_doc *doc, const char *field, size_t length) {
  const cJSON *o = doc->options != NULL ? doc->options->child : NULL;
  while (o != NULL && (strncmp(o->string, field, length) != 0 || o->string[length] != '\0')) o = o->next;
  return cJSON_GetStringValue(o);
}

const char *ss_doc_field(const struct ss_doc *doc, const char *field, char *buffer, size_t size) {
  const char *option = option_of(doc, field, strlen(field));
  if (option != NULL) (void)snprintf(buffer, size, "%.*s", (int)strcspn(option, " "), option);
  else (void)snprintf(buffer, size, "\"%s\"", field);
  return buffer;
}

const char *ss_doc_position(const struct ss_doc *doc, const char *path, char *buffer, size_t size) {
  const size_t head = strcspn(path, "[.");
  const char *option = option_of(doc, path, head);
  if (option != NULL) (void)snprintf(buffer, size, "%.*s%s", (int)strcspn(option, " "), option, path + head);
  else if (doc->options != NULL) (void)snprintf(buffer, size, "%s", path);
  else (void)snprintf(buffer, size, "%s%s%s", doc->name, *path != '\0' ? ": " : "", path);
  return buffer;
}

/* --- nodes ----------------------------------------------------------------------------------------------- */

bool ss_node_present(struct ss_node node) {
  return node.at != NULL;
}
bool ss_node_is_object(struct ss_node node) {
  return cJSON_IsObject(node.at);
}
bool ss_node_is_array(struct ss_node node) {
  return cJSON_IsArray(node.at);
}
bool ss_node_is_text(struct ss_node node) {
  return cJSON_IsString(node.at) && node.at->valuestring != NULL;
}
bool ss_node_is_number(struct ss_node node) {
  return cJSON_IsNumber(node.at);
}
bool ss_node_is_flag(struct ss_node node) {
  return cJSON_IsBool(node.at);
}
bool ss_node_is_null(struct ss_node node) {
  return cJSON_IsNull(node.at);
}

size_t ss_node_size(struct ss_node node) {
  size_t count = 0;
  for (struct ss_node member = ss_node_first(node); ss_node_present(member); member = ss_node_next(member)) count++;
  return count;
}

struct ss_node ss_node_first(struct ss_node node) {
  return (struct ss_node){node.doc, node.at != NULL ? node.at->child : NULL};
}

struct ss_node ss_node_next(struct ss_node node) {
  return (struct ss_node){node.doc, node.at != NULL ? node.at->next : NULL};
}

const char *ss_node_key(struct ss_node node) {
  return node.at != NULL ? node.at->string : NULL;
}

struct ss_node ss_node_get(struct ss_node node, const char *key) {
  cJSON *member = ss_node_is_object(node) ? ss_json_get(node.at, key) : NULL;
  return (struct ss_node){node.doc, member};
}

static bool is_plain_key(const char *key) {
  if (*key == '\0') return false;
  for (; *key != '\0'; key++)
    if (!isalnum((unsigned char)*key) && *key != '_' && *key != '-') return false;
  return true;
}

/* Puts the step to a member before the path that goes on from there. */
static void prepend(struct ss_node member, bool of_array, size_t index, char *path, size_t size) {
  const char *key = member.at->string != NULL ? member.at->string : "";
  const char *dot = *path != '\0' && *path != '[' ? "." : "";
  SS_AUTO_FREE char *whole = NULL;
  const int length = of_array            ? asprintf(&whole, "[%zu]%s%s", index, dot, path)
                     : is_plain_key(key) ? asprintf(&whole, "%s%s%s", key, dot, path)
                                         : asprintf(&whole, "[\"%s\"]%s%s", key, dot, path);
  if (length < 0) whole = NULL;
  else (void)snprintf(path, size, "%s", whole);
}

/* Is it in there? Then its path from `from` on. */
static bool find_path(struct ss_node from, const cJSON *wanted, char *path, size_t size) {
  size_t index = 0;
  for (struct ss_node n = ss_node_first(from); ss_node_present(n); n = ss_node_next(n), index++)
    if (n.at == wanted || find_path(n, wanted, path, size)) {
      prepend(n, ss_node_is_array(from), index, path, size);
      return true;
    }
  return false;
}

const char *ss_node_path(struct ss_node node, char *buffer, size_t size) {
  *buffer = '\0';
  (void)find_path(ss_doc_root(node.doc), node.at, buffer, size);
  return buffer;
}

bool(ss_node_fail)(struct ss_node node, struct ss_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ss_vfail(error, SS_BAD_INPUT, format, arguments);
  va_end(arguments);
  char path[400], where[900];
  ss_node_path(node, path, sizeof path);
  if (*ss_doc_position(node.doc, path, where, sizeof where) != '\0') ss_fail_prefix(error, "%s", where);
  if (error != NULL) (void)snprintf(error->field, sizeof error->field, "%.*s", (int)sizeof error->field - 1, path);
  return false;
}

/* --- checked readers ------------------------------------------------------------------------------------- */

enum { FOUND_SIZE = 100, LIST_SIZE = 600 };

/* What calls take beside the fields of documents. */
static const char *const of_calls[] = {"lossy",      "model_parallel", "per_rank", "per_iteration",
                                       "no_sliders", "bandwidth",      "latency",  "no_verify",
                                       "threads",    "progress",       NULL};

/* What stands at the node, as its error names it. */
static const char *describe(struct ss_node node, char buffer[FOUND_SIZE]) {
  if (!ss_node_present(node)) return "nothing";
  if (ss_node_is_object(node)) return "an object";
  if (ss_node_is_array(node)) return "an array";
  if (ss_node_is_null(node)) return "null";
  if (ss_node_is_flag(node)) return cJSON_IsTrue(node.at) ? "true" : "false";
  if (ss_node_is_number(node)) {
    snprintf(buffer, FOUND_SIZE, "%.15g", node.at->valuedouble);
    return buffer;
  }
  const char *text = ss_node_is_text(node) ? node.at->valuestring : "";
  snprintf(buffer, FOUND_SIZE, "\"%.60s%s\"", text, strlen(text) > 60 ? "..." : "");
  return buffer;
}

static bool is_listed(const char *word, const char *const *words) {
  for (; *words != NULL; words++)
    if (strcmp(word, *words) == 0) return true;
  return false;
}

bool ss_node_keys(struct ss_node node, const char *const *known, struct ss_error *error) {
  char buffer[LIST_SIZE];
  if (!ss_node_is_object(node)) return ss_node_fail(node, error, "%s is not an object", describe(node, buffer));
  for (struct ss_node member = ss_node_first(node); ss_node_present(member); member = ss_node_next(member)) {
    const char *key = ss_node_key(member);
    if (is_listed(key, known)) continue;
    char hint[LIST_SIZE + 8];
    const char *call = node.at == node.doc->root && !ss_nearest(key, known) ? ss_nearest(key, of_calls) : NULL;
    if (call && strcmp(call, key) == 0)
      return ss_node_fail(member, error, "unknown key: calls take it, and no file does");
    if (call)
      return ss_node_fail(member, error, "unknown key (did you mean \"%s\", which calls take, and no file?)", call);
    snprintf(hint, sizeof hint, "known: %s", ss_words_join(known, ", ", buffer, sizeof buffer));
    return ss_node_fail(member, error, "unknown key%s", ss_suggest(key, known, hint).text);
  }
  return true;
}

bool ss_node_need(struct ss_node node, const char *key, struct ss_node *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "%s is not an object with the key \"%s\"", describe(node, found), key);
  const struct ss_node member = ss_node_get(node, key);
  const char *option = option_of(node.doc, key, strlen(key));
  if (!ss_node_present(member) && option != NULL)
    return ss_fail(error, SS_BAD_INPUT, "say %s (--help tells more)", option);
  if (!ss_node_present(member)) return ss_node_fail(node, error, "the key \"%s\" is missing", key);
  *out = member;
  return true;
}

bool ss_node_text(struct ss_node node, const char **out, struct ss_error *error) {
  char found[FOUND_SIZE];
  if (!ss_node_is_text(node)) return ss_node_fail(node, error, "%s is not a string", describe(node, found));
  *out = node.at->valuestring;
  return true;
}

bool ss_node_numbers(struct ss_node list, size_t count, double *out, struct ss_error *error) {
  size_t i = 0;
  if (!ss_node_is_array(list) || ss_node_size(list) != count)
    return ss_node_fail(list, error, "expected a list of %zu numbers", count);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_is_number(n)) return ss_node_fail(n, error, "expected a number");
    else if (!ss_node_quantity(n, SS_NUMBER, &out[i++], error)) return false;
  return true;
}

/* Its key, or that of the list that it stands in, says the unit: "forward_s", "bytes", "busbw_bytes_per_s". */
static bool key_says_unit(struct ss_node node, enum ss_dimension dimension) {
  static const char *const endings[] = {[SS_TIME] = "_s", [SS_BYTES] = "bytes", [SS_RATE] = "bytes_per_s"};
  const char *ending = endings[dimension];
  char path[400];
  size_t size = strlen(ss_node_path(node, path, sizeof path));
  while (size > 0 && path[size - 1] == ']')
    while (size > 0 && path[--size] != '[') continue;
  return ending && size >= strlen(ending) && memcmp(path + size - strlen(ending), ending, strlen(ending)) == 0;
}

bool ss_node_quantity(struct ss_node node, enum ss_dimension dimension, double *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  struct ss_error problem;
  if (ss_node_is_number(node) && isfinite(node.at->valuedouble)) {
    const char *said = node.at->valuestring; /* ss_json_value's */
    if (said && !ss_units_said(said, dimension, out, &problem) && !key_says_unit(node, dimension))
      return ss_node_fail(node, error, "%s", problem.text);
    *out = node.at->valuedouble;
    return true;
  }
  if (!ss_node_is_text(node))
    return ss_node_fail(node, error, "%s is not %s", describe(node, found), ss_dimension_wanted(dimension));
  if (ss_units_said(node.at->valuestring, dimension, out, &problem)) return true;
  return ss_node_fail(node, error, "%s%s", problem.text,
                      strchr(node.at->valuestring, ',') ? ": one alone (several go into a \"sweep\" of run and plan: "
                                                          "--set 'sweep={\"PATH\": [\"A\", \"B\"]}')"
                                                        : "");
}

/* Above zero, or zero too. */
static bool quantity_from_0(struct ss_node node, enum ss_dimension dimension, bool zero, double *out,
                            struct ss_error *error) {
  char found[FOUND_SIZE];
  double value;
  if (!ss_node_quantity(node, dimension, &value, error)) return false;
  if (!(zero ? value >= 0 : value > 0))
    return ss_node_fail(node, error, "%s is %s zero", describe(node, found), zero ? "below" : "not above");
  *out = value;
  return true;
}

bool ss_node_positive(struct ss_node node, enum ss_dimension dimension, double *out, struct ss_error *error) {
  return quantity_from_0(node, dimension, false, out, error);
}

bool ss_node_nonnegative(struct ss_node node, enum ss_dimension dimension, double *out, struct ss_error *error) {
  return quantity_from_0(node, dimension, true, out, error);
}

/* False also beyond 2^53, where a double no longer tells neighbours apart. */
static bool number_to_count(double value, uint64_t *out) {
  if (!(value >= 0 && value <= 0x1p53)) return false;
  *out = (uint64_t)value;
  return !((double)*out < value);
}

bool ss_node_texts(struct ss_node node, struct ss_arena *arena, struct ss_texts *out, struct ss_error *error) {
  const bool list = ss_node_is_array(node);
  *out = (struct ss_texts){.text = ss_arena_alloc(arena, list ? ss_node_size(node) : 1, sizeof *out->text)};
  if (!out->text) return ss_fail_memory(error, "reading a list");
  if (!ss_node_present(node)) return true;
  if (!list) return ss_node_text(node, &out->text[out->count++], error);
  for (struct ss_node n = ss_node_first(node); ss_node_present(n); n = ss_node_next(n))
    if (!ss_node_text(n, &out->text[out->count++], error)) return false;
  return true;
}

bool ss_node_count(struct ss_node node, uint64_t low, uint64_t high, uint64_t *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  uint64_t value = 0;
  bool whole = false;
  if (ss_node_is_number(node)) whole = number_to_count(node.at->valuedouble, &value);
  if (ss_node_is_text(node)) whole = ss_count_parse(node.at->valuestring, "", 0, UINT64_MAX, &value, NULL);
  if (whole && value >= low && value <= high) {
    *out = value;
    return true;
  }
  if (ss_node_is_number(node) && node.at->valuedouble > 0x1p53 && high > UINT64_C(1) << 53)
    return ss_node_fail(node, error, "%s is beyond 2^53, where JSON numbers are not exact (write it in quotes)",
                        describe(node, found));
  if (high == UINT64_MAX)
    return ss_node_fail(node, error, "%s is not a whole number of at least %llu", describe(node, found),
                        (unsigned long long)low);
  return ss_node_fail(node, error, "%s is not a whole number from %llu to %llu", describe(node, found),
                      (unsigned long long)low, (unsigned long long)high);
}

bool ss_node_flag(struct ss_node node, bool *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  if (!ss_node_is_flag(node)) return ss_node_fail(node, error, "%s is not true or false", describe(node, found));
  *out = cJSON_IsTrue(node.at);
  return true;
}

bool ss_node_choice(struct ss_node node, const char *const *choices, size_t *out, struct ss_error *error) {
  const char *text = ss_node_is_text(node) ? node.at->valuestring : "";
  for (size_t i = 0; choices[i] != NULL && ss_node_is_text(node); i++) {
    if (strcmp(text, choices[i]) != 0) continue;
    *out = i;
    return true;
  }
  char found[FOUND_SIZE], list[LIST_SIZE];
  return ss_node_fail(node, error, "%s is not one of %s%s", describe(node, found),
                      ss_words_join(choices, ", ", list, sizeof list), ss_suggest(text, choices, NULL).text);
}
/* SPDX-License-Identifier: Apache-2.0 */
