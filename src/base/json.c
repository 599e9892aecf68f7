#include "base/json.h"

#include "base/memory.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PATH_STEPS bounds what ss_doc_set may nest on top of the parser's limit, so that no tree is deeper than TREE_DEPTH
 * and cJSON's recursion stays small. */
enum { PATH_STEPS = 64, TREE_DEPTH = CJSON_NESTING_LIMIT + PATH_STEPS, LONGEST_NUMBER = 63 };

struct ss_doc {
  char *name;
  cJSON *root;
};

/* --- syntax ---------------------------------------------------------------------------------------------
 *
 * cJSON takes much that is not JSON ("01", "1.", raw control characters), cuts strings at "\u0000" and numbers at 63
 * characters, and does not say where it stopped for which reason. So the grammar is checked here first, without
 * recursion; after that cJSON can fail for want of memory only. */

struct scan {
  const char *name, *text;
  size_t at, length;
  size_t depth;
  char open[CJSON_NESTING_LIMIT]; /* '{' or '[' by depth */
  struct ss_error *error;
};

static bool scan_fail(const struct scan *scan, const char *problem) {
  size_t line = 1;
  for (size_t i = 0; i < scan->at; i++) line += scan->text[i] == '\n';
  return ss_fail(scan->error, SS_BAD_INPUT, "%s: byte %zu (line %zu): not JSON: %s", scan->name, scan->at, line,
                 problem);
}

static bool scan_expected(const struct scan *scan, const char *wanted) {
  char problem[160];
  if (scan->at >= scan->length) {
    snprintf(problem, sizeof problem, "expected %s, but the text ends", wanted);
    return scan_fail(scan, problem);
  }
  const unsigned char found = (unsigned char)scan->text[scan->at];
  snprintf(problem, sizeof problem,
           found > 0x20 && found < 0x7f ? "expected %s, found '%c'" : "expected %s, found byte 0x%02x", wanted,
           found);
  return scan_fail(scan, problem);
}

/* The byte that is due, or 0 at the end; a NUL byte itself is nowhere allowed, so the two need no telling apart. */
static char scan_peek(const struct scan *scan) {
  return scan->at < scan->length ? scan->text[scan->at] : '\0';
}

static bool scan_take(struct scan *scan, char wanted) {
  if (scan_peek(scan) != wanted) return false;
  scan->at++;
  return true;
}

static void scan_space(struct scan *scan) {
  for (char c = scan_peek(scan); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = scan_peek(scan)) scan->at++;
}

static bool scan_digits(struct scan *scan) {
  if (!isdigit((unsigned char)scan_peek(scan))) return scan_expected(scan, "a digit");
  while (isdigit((unsigned char)scan_peek(scan))) scan->at++;
  return true;
}

static bool scan_number(struct scan *scan) {
  const size_t start = scan->at;
  scan_take(scan, '-');
  if (scan_take(scan, '0')) {
    if (isdigit((unsigned char)scan_peek(scan))) return scan_fail(scan, "a number does not begin with 0");
  } else if (!scan_digits(scan)) {
    return false;
  }
  if (scan_take(scan, '.') && !scan_digits(scan)) return false;
  if (scan_take(scan, 'e') || scan_take(scan, 'E')) {
    if (!scan_take(scan, '+')) scan_take(scan, '-');
    if (!scan_digits(scan)) return false;
  }

  const size_t length = scan->at - start;
  char number[LONGEST_NUMBER + 1] = "";
  double value;
  scan->at = start; /* what may yet be wrong is wrong with the whole number */
  if (length > LONGEST_NUMBER) return scan_fail(scan, "a number of more than 63 characters");
  memcpy(number, scan->text + start, length);
  if (!ss_units_parse(number, SS_NUMBER, &value, NULL)) return scan_fail(scan, "a number too large for a double");
  scan->at = start + length;
  return true;
}

/* The four digits of a \u escape, `at` bytes in. */
static bool scan_hex(const struct scan *scan, size_t at, unsigned *out) {
  if (at > scan->length || scan->length - at < 4) return false;
  unsigned value = 0;
  for (size_t i = at; i < at + 4; i++) {
    const char c = scan->text[i];
    if (!isxdigit((unsigned char)c)) return false;
    value = value * 16 + (unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  *out = value;
  return true;
}

static bool scan_escape(struct scan *scan) {
  const char *text = scan->text + scan->at;
  const size_t left = scan->length - scan->at;
  if (left >= 2 && text[1] != '\0' && strchr("\"\\/bfnrt", text[1]) != NULL) {
    scan->at += 2;
    return true;
  }
  unsigned first, second;
  if (left < 2 || text[1] != 'u' || !scan_hex(scan, scan->at + 2, &first))
    return scan_fail(scan, "a backslash is followed by one of \"\\/bfnrt or by u and four hex digits");
  if (first == 0) return scan_fail(scan, "\"\\u0000\" in a string");
  if (first < 0xd800 || first > 0xdfff) {
    scan->at += 6;
    return true;
  }
  const bool pair = first < 0xdc00 && left >= 12 && text[6] == '\\' && text[7] == 'u' &&
                    scan_hex(scan, scan->at + 8, &second) && second >= 0xdc00 && second <= 0xdfff;
  if (!pair) return scan_fail(scan, "half of a surrogate pair");
  scan->at += 12;
  return true;
}

static bool scan_string(struct scan *scan) {
  if (!scan_take(scan, '"')) return scan_expected(scan, "a string");
  while (!scan_take(scan, '"')) {
    if (scan->at >= scan->length) return scan_expected(scan, "the closing '\"' of a string");
    const unsigned char c = (unsigned char)scan_peek(scan);
    if (c < 0x20) return scan_fail(scan, "a control character in a string (write it as an escape)");
    if (c == '\\') {
      if (!scan_escape(scan)) return false;
      continue;
    }
    const size_t size = ss_utf8_size(scan->text + scan->at, scan->length - scan->at);
    if (size == 0) return scan_fail(scan, "a string that is not UTF-8");
    scan->at += size;
  }
  return true;
}

static bool scan_word(struct scan *scan, const char *word) {
  const size_t length = strlen(word);
  if (scan->length - scan->at < length || memcmp(scan->text + scan->at, word, length) != 0)
    return scan_expected(scan, "a value");
  scan->at += length;
  return true;
}

static bool scan_scalar(struct scan *scan) {
  switch (scan_peek(scan)) {
  case '"': return scan_string(scan);
  case 't': return scan_word(scan, "true");
  case 'f': return scan_word(scan, "false");
  case 'n': return scan_word(scan, "null");
  default: break;
  }
  if (scan_peek(scan) == '-' || isdigit((unsigned char)scan_peek(scan))) return scan_number(scan);
  return scan_expected(scan, "a value");
}

static bool scan_key(struct scan *scan) {
  scan_space(scan);
  if (scan_peek(scan) != '"') return scan_expected(scan, "a key in quotes");
  if (!scan_string(scan)) return false;
  scan_space(scan);
  return scan_take(scan, ':') || scan_expected(scan, "':'");
}

/* Enters the array or object that begins here. *empty: it has ended, too. */
static bool scan_open(struct scan *scan, bool *empty) {
  if (scan->depth == CJSON_NESTING_LIMIT) return scan_fail(scan, "nested more than 1000 deep");
  const char kind = scan_peek(scan);
  scan->at++;
  scan_space(scan);
  *empty = scan_take(scan, kind == '{' ? '}' : ']');
  if (*empty) return true;
  scan->open[scan->depth++] = kind;
  return kind == '[' || scan_key(scan);
}

/* Behind a value: leaves what ends here. Afterwards a value is due, or at depth 0 nothing. */
static bool scan_close(struct scan *scan) {
  while (scan->depth > 0) {
    const bool object = scan->open[scan->depth - 1] == '{';
    scan_space(scan);
    if (scan_take(scan, ',')) return object ? scan_key(scan) : true;
    if (!scan_take(scan, object ? '}' : ']')) return scan_expected(scan, object ? "',' or '}'" : "',' or ']'");
    scan->depth--;
  }
  return true;
}

static bool scan_document(struct scan *scan) {
  do {
    scan_space(scan);
    const char c = scan_peek(scan);
    bool complete = true;
    if (c != '{' && c != '[') {
      if (!scan_scalar(scan)) return false;
    } else if (!scan_open(scan, &complete)) {
      return false;
    }
    if (complete && !scan_close(scan)) return false;
  } while (scan->depth > 0);
  scan_space(scan);
  return scan->at == scan->length || scan_expected(scan, "nothing behind the value");
}

/* --- walking a tree -------------------------------------------------------------------------------------- */

/* A preorder walk without recursion; the steps lead from the root to `item`. */
struct walk {
  cJSON *item;
  size_t depth;
  struct {
    cJSON *item;
    size_t index;
  } steps[TREE_DEPTH];
};

static bool walk_next(struct walk *walk) {
  if (walk->item->child != NULL && walk->depth < TREE_DEPTH) {
    walk->steps[walk->depth].item = walk->item = walk->item->child;
    walk->steps[walk->depth++].index = 0;
    return true;
  }
  while (walk->depth > 0 && walk->steps[walk->depth - 1].item->next == NULL) walk->depth--;
  if (walk->depth == 0) return false;
  walk->item = walk->steps[walk->depth - 1].item->next;
  walk->steps[walk->depth - 1].item = walk->item;
  walk->steps[walk->depth - 1].index++;
  return true;
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct keys {
  const char **list;
  size_t room;
};

/* Sorts the keys of one object, so that a hostile one cannot cost the square of its size. */
static bool check_object(struct ss_node node, struct keys *keys, struct ss_error *error) {
  const size_t count = ss_node_size(node);
  if (count < 2) return true;
  if (keys->list == NULL || count > keys->room) {
    const char **list = ss_realloc(keys->list, count, sizeof *list);
    if (list == NULL) return ss_fail_memory(error, "reading JSON");
    *keys = (struct keys){list, count};
  }
  size_t i = 0;
  for (const cJSON *member = node.at->child; member != NULL; member = member->next) keys->list[i++] = member->string;
  qsort(keys->list, count, sizeof *keys->list, compare_keys);
  for (i = 1; i < count; i++)
    if (strcmp(keys->list[i - 1], keys->list[i]) == 0)
      return ss_node_fail(node, error, "the key \"%.60s\" stands here twice", keys->list[i]);
  return true;
}

static bool check_unique_keys(struct ss_doc *doc, struct ss_error *error) {
  struct keys keys = {0};
  struct walk walk = {.item = doc->root};
  bool unique = true;
  do {
    if (cJSON_IsObject(walk.item)) unique = check_object((struct ss_node){doc, walk.item}, &keys, error);
  } while (unique && walk_next(&walk));
  free(keys.list);
  return unique;
}

/* --- documents ------------------------------------------------------------------------------------------- */

static bool doc_new(const char *name, cJSON *root, struct ss_doc **out, struct ss_error *error) {
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
  struct scan scan = {.name = name, .text = text, .at = mark, .length = length, .error = error};
  if (!scan_document(&scan)) return false;

  SS_AUTO_DOC struct ss_doc *doc = NULL;
  cJSON *root = cJSON_ParseWithLengthOpts(text + mark, length - mark, NULL, false);
  if (!doc_new(name, root, &doc, error)) return false;
  if (!check_unique_keys(doc, error)) return false;
  *out = doc;
  doc = NULL;
  return true;
}

/* Reads to the end or just past `limit`; pipes have no size to ask for. */
static bool read_stream(const char *path, FILE *stream, size_t limit, char **text, size_t *length,
                        struct ss_error *error) {
  size_t room = 0;
  *length = 0;
  for (;;) {
    if (*length == room) {
      room = room == 0 ? 4096 : room * 2;
      char *grown = ss_realloc(*text, room, 1);
      if (grown == NULL) return ss_fail_memory(error, "reading JSON");
      *text = grown;
    }
    const size_t got = fread(*text + *length, 1, room - *length, stream);
    *length += got;
    if (*length > limit) return ss_fail(error, SS_BAD_INPUT, "%s: is larger than %zu bytes", path, limit);
    if (got > 0) continue;
    if (ferror(stream)) return ss_fail(error, SS_BAD_INPUT, "%s: cannot read: %s", path, strerror(errno));
    return true;
  }
}

bool ss_doc_read(const char *path, size_t limit, struct ss_doc **out, struct ss_error *error) {
  FILE *stream = fopen(path, "re");
  if (stream == NULL) return ss_fail(error, SS_BAD_INPUT, "%s: cannot open: %s", path, strerror(errno));
  SS_AUTO_FREE char *text = NULL;
  size_t length;
  const bool read = read_stream(path, stream, limit, &text, &length, error);
  fclose(stream);
  return read && ss_doc_parse(path, text, length, out, error);
}

bool ss_doc_empty(const char *name, struct ss_doc **out, struct ss_error *error) {
  return doc_new(name, cJSON_CreateObject(), out, error);
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

const char *ss_doc_name(const struct ss_doc *doc) {
  return doc->name;
}

struct ss_node ss_doc_root(struct ss_doc *doc) {
  return (struct ss_node){doc, doc->root};
}

/* --- editing --------------------------------------------------------------------------------------------- */

struct path {
  char *steps[PATH_STEPS];
  size_t count;
};

/* The end of the bracketed step that begins behind *at, which is set to the step itself; NULL when there is none. */
static char *end_of_bracket(char **at, size_t *skip) {
  const bool quoted = **at == '"';
  *at += quoted;
  *skip = quoted ? 2 : 1;
  return quoted ? strstr(*at, "\"]") : strchr(*at, ']');
}

/* Cuts `text` into the steps it spells: a.b, a.2, a[2], a["b.c"]. */
static bool split_path(char *text, struct path *path) {
  bool bracket = *text == '[';
  char *at = text + bracket;
  for (path->count = 0; path->count < PATH_STEPS;) {
    char *end = at + strcspn(at, ".[");
    size_t skip = 0;
    if (bracket) end = end_of_bracket(&at, &skip);
    if (end == NULL || end == at) return false;
    const char separator = end[skip];
    if (bracket && separator != '\0' && separator != '.' && separator != '[') return false;
    *end = '\0';
    path->steps[path->count++] = at;
    if (separator == '\0') return true;
    bracket = separator == '[';
    at = end + skip + 1;
  }
  return false;
}

/* Where a new item goes: into `parent`, in place of `old` if there is one, under the path's step `step`. */
struct place {
  cJSON *parent, *old;
  size_t step;
};

static bool find_place(struct ss_doc *doc, const struct path *path, struct place *place, struct ss_error *error) {
  cJSON *at = doc->root;
  for (size_t i = 0;; i++) {
    const struct ss_node node = {doc, at};
    const char *step = path->steps[i];
    cJSON *next;
    if (cJSON_IsArray(at)) {
      const size_t size = ss_node_size(node);
      uint64_t index;
      if (!ss_count_parse(step, "index", 0, INT32_MAX, &index, NULL) || index >= size)
        return ss_node_fail(node, error, "\"%.60s\" is not the index of one of the %zu members", step, size);
      next = cJSON_GetArrayItem(at, (int)index);
    } else if (cJSON_IsObject(at)) {
      next = cJSON_GetObjectItemCaseSensitive(at, step);
    } else {
      return ss_node_fail(node, error, "has no field \"%.60s\" to be set: it is neither object nor array", step);
    }
    if (next == NULL || i + 1 == path->count) {
      *place = (struct place){at, next, i};
      return true;
    }
    at = next;
  }
}

static bool put_item(const struct path *path, const struct place *place, cJSON *item) {
  for (size_t i = path->count - 1; i > place->step; i--) {
    cJSON *holder = cJSON_CreateObject();
    if (holder == NULL || !cJSON_AddItemToObject(holder, path->steps[i], item)) {
      cJSON_Delete(holder);
      cJSON_Delete(item);
      return false;
    }
    item = holder;
  }
  /* Into an object it goes by way of its end: that gives it the key, and the replacement then cannot fail. */
  if (cJSON_IsObject(place->parent)) {
    if (!cJSON_AddItemToObject(place->parent, path->steps[place->step], item)) {
      cJSON_Delete(item);
      return false;
    }
    if (place->old == NULL) return true;
    cJSON_DetachItemViaPointer(place->parent, item);
  }
  cJSON_ReplaceItemViaPointer(place->parent, place->old, item);
  return true;
}

bool ss_doc_set_item(struct ss_doc *doc, const char *path, cJSON *item, struct ss_error *error) {
  if (item == NULL) return ss_fail_memory(error, "setting a field");
  SS_AUTO_FREE char *copy = strdup(path);
  struct path steps;
  struct place place = {0};
  bool found = copy != NULL || ss_fail_memory(error, "setting a field");
  if (found && !split_path(copy, &steps))
    found =
        ss_fail(error, SS_BAD_INPUT,
                "%s: \"%.200s\" is not a path (say \"cluster.bandwidth\" or \"schemes.2.teams\")", doc->name, path);
  found = found && find_place(doc, &steps, &place, error);
  if (!found) {
    cJSON_Delete(item);
    return false;
  }
  return put_item(&steps, &place, item) || ss_fail_memory(error, "setting a field");
}

static bool is_utf8(const char *text) {
  while (*text != '\0') {
    const size_t size = ss_utf8_size(text, 4);
    if (size == 0) return false;
    text += size;
  }
  return true;
}

bool ss_doc_set(struct ss_doc *doc, const char *path, const char *value, struct ss_error *error) {
  if (!is_utf8(path) || !is_utf8(value))
    return ss_fail(error, SS_BAD_INPUT, "%s: %.200s: \"%.200s\" is not UTF-8", doc->name, path, value);
  struct ss_doc *parsed = NULL;
  struct ss_error no_json;
  cJSON *item = NULL;
  if (ss_doc_parse("value", value, strlen(value), &parsed, &no_json)) {
    item = parsed->root;
    parsed->root = NULL;
    ss_doc_free(parsed);
  } else if (no_json.status == SS_BAD_INPUT) {
    item = cJSON_CreateString(value);
  }
  return ss_doc_set_item(doc, path, item, error);
}

/* --- places ---------------------------------------------------------------------------------------------- */

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
  cJSON *member = ss_node_is_object(node) ? cJSON_GetObjectItemCaseSensitive(node.at, key) : NULL;
  return (struct ss_node){node.doc, member};
}

static bool is_plain_key(const char *key) {
  if (*key == '\0') return false;
  for (; *key != '\0'; key++)
    if (!isalnum((unsigned char)*key) && *key != '_' && *key != '-') return false;
  return true;
}

const char *ss_node_path(struct ss_node node, char *buffer, size_t size) {
  struct walk walk = {.item = node.doc->root};
  if (size > 0) *buffer = '\0';
  while (walk.item != node.at)
    if (!walk_next(&walk)) return buffer; /* absent: it has no path */

  size_t used = 0;
  const cJSON *parent = node.doc->root;
  for (size_t i = 0; i < walk.depth && used < size; i++) {
    const cJSON *item = walk.steps[i].item;
    const char *key = item->string != NULL ? item->string : "";
    int length;
    if (cJSON_IsArray(parent)) length = snprintf(buffer + used, size - used, "[%zu]", walk.steps[i].index);
    else if (is_plain_key(key)) length = snprintf(buffer + used, size - used, "%s%s", i > 0 ? "." : "", key);
    else length = snprintf(buffer + used, size - used, "[\"%s\"]", key);
    if (length < 0) break;
    used += (size_t)length;
    parent = item;
  }
  return buffer;
}

bool(ss_node_fail)(struct ss_node node, struct ss_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ss_vfail(error, SS_BAD_INPUT, format, arguments);
  va_end(arguments);
  char path[400];
  ss_node_path(node, path, sizeof path);
  return *path == '\0' ? ss_fail_prefix(error, "%s", node.doc->name)
                       : ss_fail_prefix(error, "%s: %s", node.doc->name, path);
}

/* --- checked readers ------------------------------------------------------------------------------------- */

enum { FOUND_SIZE = 100, LIST_SIZE = 600 };

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

static const char *list_words(const char *const *words, char buffer[LIST_SIZE]) {
  size_t used = 0;
  *buffer = '\0';
  for (const char *const *word = words; *word != NULL && used < LIST_SIZE; word++) {
    const int length = snprintf(buffer + used, LIST_SIZE - used, "%s%s", word == words ? "" : ", ", *word);
    used += length > 0 ? (size_t)length : 0;
  }
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
    const char *near = ss_nearest(key, known);
    if (near != NULL) return ss_node_fail(member, error, "unknown key (did you mean \"%s\"?)", near);
    return ss_node_fail(member, error, "unknown key (known: %s)", list_words(known, buffer));
  }
  return true;
}

bool ss_node_need(struct ss_node node, const char *key, struct ss_node *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  if (!ss_node_is_object(node))
    return ss_node_fail(node, error, "%s is not an object with the key \"%s\"", describe(node, found), key);
  const struct ss_node member = ss_node_get(node, key);
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

bool ss_node_quantity(struct ss_node node, enum ss_dimension dimension, double *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  struct ss_error problem;
  if (ss_node_is_number(node) && isfinite(node.at->valuedouble)) {
    *out = node.at->valuedouble;
    return true;
  }
  if (!ss_node_is_text(node))
    return ss_node_fail(node, error, "%s is not %s", describe(node, found), ss_dimension_wanted(dimension));
  return ss_units_parse(node.at->valuestring, dimension, out, &problem) ||
         ss_node_fail(node, error, "%s", problem.text);
}

bool ss_node_positive(struct ss_node node, enum ss_dimension dimension, double *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  double value;
  if (!ss_node_quantity(node, dimension, &value, error)) return false;
  if (!(value > 0)) return ss_node_fail(node, error, "%s is not above zero", describe(node, found));
  *out = value;
  return true;
}

bool ss_node_nonnegative(struct ss_node node, enum ss_dimension dimension, double *out, struct ss_error *error) {
  char found[FOUND_SIZE];
  double value;
  if (!ss_node_quantity(node, dimension, &value, error)) return false;
  if (!(value >= 0)) return ss_node_fail(node, error, "%s is below zero", describe(node, found));
  *out = value;
  return true;
}

/* False also beyond 2^53, where a double no longer tells neighbours apart. */
static bool number_to_count(double value, uint64_t *out) {
  if (!(value >= 0 && value <= 0x1p53)) return false;
  *out = (uint64_t)value;
  return !((double)*out < value);
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
  const char *near = ss_nearest(text, choices);
  return ss_node_fail(node, error, "%s is not one of %s%s%s%s", describe(node, found), list_words(choices, list),
                      near != NULL ? " (did you mean \"" : "", near != NULL ? near : "", near != NULL ? "\"?)" : "");
}

/* --- suggestions ----------------------------------------------------------------------------------------- */

enum { LONGEST_WORD = 64 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) that make `a` into `b`, whatever the case. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][LONGEST_WORD + 1]; /* of the table of distances between prefixes: this one and the two before */
  for (size_t j = 0; j <= b_length; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
      if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]))
        row[j] = least(row[j], higher[j - 2] + 1);
    }
  }
  return rows[a_length % 3][b_length];
}

const char *ss_nearest(const char *word, const char *const *known) {
  const size_t length = strlen(word);
  if (length == 0 || length > LONGEST_WORD) return NULL;
  /* One letter in three may be wrong, and at least one, but never all of them. */
  size_t best = (length < 6 ? 1 : length / 3) + 1;
  const char *nearest = NULL;
  for (; *known != NULL; known++) {
    const size_t known_length = strlen(*known);
    if (known_length > LONGEST_WORD) continue;
    const size_t distance = edit_distance(word, length, *known, known_length);
    if (distance >= best || distance >= length) continue;
    best = distance;
    nearest = *known;
  }
  return nearest;
}
