/* Reading JSON with messages that name the file and the JSON path; a thin layer over cJSON.
 *
 * `ss_doc` owns a parsed document; `ss_node` is a position in it (two pointers, by value, valid while the document
 * lives and is not edited). Every reader says on failure
 *   FILE: PATH: what was found is not what is wanted (what would do)
 * Parsing refuses whatever RFC 8259 does, and also nesting beyond cJSON's limit (1000), numbers that are not
 * finite or longer than 63 characters, "\u0000", lone surrogates, malformed UTF-8, and duplicate keys anywhere. A
 * byte order mark is skipped. */
#pragma once

#include "base/suggest.h"
#include "base/units.h"

#include <cjson/cJSON.h>

struct ss_arena;
struct ss_doc;

struct ss_node {
  struct ss_doc *doc;
  struct cJSON *at; /* NULL: absent */
};

/* --- documents ------------------------------------------------------------------------------------------ */

/* Reads a file of at most `limit` bytes. The document is the caller's, to be freed with ss_doc_free. */
bool ss_doc_read(const char *path, size_t limit, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;
/* Parses `length` bytes; `name` stands for the file in messages ("--set", a trace's header). */
bool ss_doc_parse(const char *name, const char *text, size_t length, struct ss_doc **out,
                  struct ss_error *error) SS_MUST_CHECK;
/* An empty object to be filled with ss_doc_set. */
bool ss_doc_empty(const char *name, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;
void ss_doc_free(struct ss_doc *doc);
void ss_cleanup_doc(struct ss_doc **doc);
#define SS_AUTO_DOC __attribute__((cleanup(ss_cleanup_doc)))
void ss_cleanup_json(struct cJSON **tree);
#define SS_AUTO_JSON __attribute__((cleanup(ss_cleanup_json)))

const char *ss_doc_name(const struct ss_doc *doc);
struct ss_node ss_doc_root(struct ss_doc *doc);

/* The document is what a command was asked: messages name its options instead of the document and its fields.
 * `options` is {FIELD: OPTION}, which outlives the document; an option that needs saying has its value, "--M SIZE".
 * NULL: nothing changes. */
void ss_doc_call_fields(struct ss_doc *doc, const struct cJSON *options);
/* The same options for a document that is made of a part of another. */
void ss_doc_call_like(struct ss_doc *doc, const struct ss_doc *other);
/* How the user knows the field: "\"range\"", or "--range". Returns `buffer`. */
const char *ss_doc_field(const struct ss_doc *doc, const char *field, char *buffer, size_t size);
/* Where in the document: "FILE: PATH", or "--range". Returns `buffer`. */
const char *ss_doc_position(const struct ss_doc *doc, const char *path, char *buffer, size_t size);

/* A document of a ready tree, which it owns from then on, also on failure. NULL: memory was short. */
bool ss_doc_adopt(const char *name, struct cJSON *root, struct ss_doc **out, struct ss_error *error) SS_MUST_CHECK;

/* Sets the field at a dotted path ("cluster.bandwidth", "schemes.2.teams"; numbers index arrays; the spelling of
 * messages, `schemes[2].teams` or `sweep["a.b"]`, will do as well), making the objects on the way. `value` is taken
 * as JSON when it parses as JSON, else as a string, unless it begins like a list or an object. A path through
 * something that is neither object nor array, or an index beyond the end, is an error. */
bool ss_doc_set(struct ss_doc *doc, const char *path, const char *value, struct ss_error *error) SS_MUST_CHECK;
/* That value, the caller's; NULL: an error, in which `name` stands for the document. What begins like a
 * list or an object must be one; `strict`: what begins like a text, too, which programs hand over. A number is one
 * that somebody said, of which ss_node_quantity wants the unit, if it is to be a time, a size or a rate and its key
 * names none (as "forward_s" does); those inside lists and objects too, which under `strict` are as of files.
 */
struct cJSON *ss_json_value(const char *name, const char *path, const char *value, bool strict,
                            struct ss_error *error);
/* The same with a ready item, which the document owns from then on, also on failure. */
bool ss_doc_set_item(struct ss_doc *doc, const char *path, struct cJSON *item, struct ss_error *error) SS_MUST_CHECK;

/* --- nodes ---------------------------------------------------------------------------------------------- */

bool ss_node_present(struct ss_node node);
bool ss_node_is_object(struct ss_node node);
bool ss_node_is_array(struct ss_node node);
bool ss_node_is_text(struct ss_node node);
bool ss_node_is_number(struct ss_node node);
bool ss_node_is_flag(struct ss_node node);
bool ss_node_is_null(struct ss_node node);

/* Members of an array or object in order; the count is 0 for anything else. */
size_t ss_node_size(struct ss_node node);
struct ss_node ss_node_first(struct ss_node node);
struct ss_node ss_node_next(struct ss_node node);
/* The key under which this member stands in its object, or NULL. */
const char *ss_node_key(struct ss_node node);
/* The member of that name; absent when there is none or `node` is no object. Case matters. */
struct ss_node ss_node_get(struct ss_node node, const char *key);

/* "FILE: PATH: ..." with status SS_BAD_INPUT, and the path as the error's field; returns false. */
bool ss_node_fail(struct ss_node node, struct ss_error *error, const char *format, ...) SS_PRINTF(3, 4);
#define ss_node_fail(...)                                                                                            \
  ({                                                                                                                 \
    ss_node_fail(__VA_ARGS__);                                                                                       \
    false;                                                                                                           \
  }) /* as with ss_fail */
/* Writes the JSON path ("schemes[2].teams", `sweep["a.b"]`, "" for the root) and returns `buffer`. */
const char *ss_node_path(struct ss_node node, char *buffer, size_t size);

/* --- checked readers ------------------------------------------------------------------------------------ */

/* The node must be an object all of whose keys are in `known` (NULL-terminated); an unknown key's error suggests
 * the nearest known one. */
bool ss_node_keys(struct ss_node node, const char *const *known, struct ss_error *error) SS_MUST_CHECK;
/* ss_node_get, and absence is an error that names the key. */
bool ss_node_need(struct ss_node node, const char *key, struct ss_node *out, struct ss_error *error) SS_MUST_CHECK;
/* The string lives as long as the document. */
bool ss_node_text(struct ss_node node, const char **out, struct ss_error *error) SS_MUST_CHECK;
/* A text, or a list of texts; of an absent node none. The list is the arena's, the texts are the document's. */
struct ss_texts {
  const char **text;
  size_t count;
};
bool ss_node_texts(struct ss_node node, struct ss_arena *arena, struct ss_texts *out,
                   struct ss_error *error) SS_MUST_CHECK;
/* A JSON number in base units, or a string with a unit. */
bool ss_node_quantity(struct ss_node node, enum ss_dimension dimension, double *out,
                      struct ss_error *error) SS_MUST_CHECK;
/* A list of so many JSON numbers, into out[count]. */
bool ss_node_numbers(struct ss_node list, size_t count, double *out, struct ss_error *error) SS_MUST_CHECK;
/* As ss_node_quantity, and above zero (`positive`) or at least zero. */
bool ss_node_positive(struct ss_node node, enum ss_dimension dimension, double *out,
                      struct ss_error *error) SS_MUST_CHECK;
bool ss_node_nonnegative(struct ss_node node, enum ss_dimension dimension, double *out,
                         struct ss_error *error) SS_MUST_CHECK;
/* A whole number in [low, high], as a JSON number (exact up to 2^53) or a string of digits. */
bool ss_node_count(struct ss_node node, uint64_t low, uint64_t high, uint64_t *out,
                   struct ss_error *error) SS_MUST_CHECK;
bool ss_node_flag(struct ss_node node, bool *out, struct ss_error *error) SS_MUST_CHECK;
/* A string that is one of `choices` (NULL-terminated); *out is its index. The error lists them all. */
bool ss_node_choice(struct ss_node node, const char *const *choices, size_t *out,
                    struct ss_error *error) SS_MUST_CHECK;

/* --- trees as text, and members that may be null ------------------------------------------------------------ */

/* The text, the caller's to free; NULL when memory is short. Bytes that are no UTF-8, as names of files may have,
 * become
 * '?': no reader would take them. */
char *ss_json_text(const struct cJSON *tree, bool formatted);

/* A document and a new line. `tree` NULL: memory was short while it was built. */
bool ss_json_print(const struct cJSON *tree, FILE *stream, struct ss_error *error) SS_MUST_CHECK;
/* The same with numbers as ss_json_exact writes them, and the tree is deleted. */
bool ss_json_print_exact(struct cJSON *tree, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

/* Numbers are read back as the very same: cJSON prints 15 digits when they are near enough. The text, the caller's to
 * free; NULL when memory is short. Numbers of `tree` may be replaced by raw texts: afterwards it can only be printed
 * and deleted. */
char *ss_json_exact(struct cJSON *tree, bool formatted);

/* A member of an object: a number, null where it is not finite; a text, null where it is NULL; a flag; or a tree,
 * which the object takes over. */
struct ss_json_member {
  const char *name;
  enum ss_json_kind { SS_JSON_NUMBER, SS_JSON_TEXT, SS_JSON_FLAG, SS_JSON_TREE } kind;
  double number;
  const char *text;
  struct cJSON *tree;
};
#define SS_N(name, value) ((struct ss_json_member){name, SS_JSON_NUMBER, .number = (value)})
#define SS_T(name, value) ((struct ss_json_member){name, SS_JSON_TEXT, .text = (value)})
#define SS_B(name, value) ((struct ss_json_member){name, SS_JSON_FLAG, .number = (value)})
#define SS_J(name, value) ((struct ss_json_member){name, SS_JSON_TREE, .tree = (value)})

/* Adds the members that are listed: ss_json_add(object, SS_T("label", label), SS_N("time_s", time)). All are
 * made before the first is copied: no two may be written into the same buffer. What memory is too short for is
 * missing. */
#define ss_json_add(object, ...)                                                                                     \
  ss_json_add_members(object, sizeof((struct ss_json_member[]){__VA_ARGS__}) / sizeof(struct ss_json_member),        \
                      (struct ss_json_member[]){__VA_ARGS__})
void ss_json_add_members(struct cJSON *object, size_t count, const struct ss_json_member *member);
/* An object of them, the caller's. */
#define ss_json_object(...)                                                                                          \
  ss_json_object_of(sizeof((struct ss_json_member[]){__VA_ARGS__}) / sizeof(struct ss_json_member),                  \
                    (struct ss_json_member[]){__VA_ARGS__})
struct cJSON *ss_json_object_of(size_t count, const struct ss_json_member *member);
/* The member becomes that item, which the object takes over, behind all others; false: memory was short, or there is
 * no item. */
bool ss_json_put(struct cJSON *object, const char *name, struct cJSON *item);
/* "a,b" as ["a", "b"], the caller's; NULL when memory is short. */
struct cJSON *ss_json_words(const char *text);
/* One member each, as SS_N and SS_T say. */
void ss_json_add_number(struct cJSON *object, const char *name, double value);
void ss_json_add_text(struct cJSON *object, const char *name, const char *text);

/* A member; NULL: there is none, or no object. Its number, NaN when it has none; its text, NULL when it has none. */
struct cJSON *ss_json_get(const struct cJSON *object, const char *name);
double ss_json_number(const struct cJSON *object, const char *name);
const char *ss_json_word(const struct cJSON *object, const char *name);

/* Adds {"input": the path, "was", "now"} for each member in which two trees differ, of objects member by member; what
 * only one of them has is null in the other. `path`: where they stand, "" of whole documents. */
void ss_json_differences(struct cJSON *list, const char *path, const struct cJSON *was, const struct cJSON *now);
/* SPDX-License-Identifier: Apache-2.0 */
