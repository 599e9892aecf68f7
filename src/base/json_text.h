/* JSON as text, and fields that may be null. */
#pragma once

#include "base/base.h"

struct cJSON;

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
