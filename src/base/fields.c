#include "base/fields.h"

const struct ss_field_spec ss_name_field = {NULL, NULL, SS_IS_NAME};
const struct ss_field_spec ss_texts_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_LIST(&ss_name_field, 1, 0)}, {.name = NULL}};

enum { FIELDS_MAX = 64 };

/* --- reading ------------------------------------------------------------------------------------------------- */

static bool is_one(const struct ss_field_spec *f) {
  return f->name != NULL;
}

/* What the object has of a field under either of its names; a flag that is false and null are not there. */
static struct ss_node said(const struct ss_field_spec *f, struct ss_node node) {
  struct ss_node found = ss_node_get(node, f->name);
  if (!ss_node_present(found) && f->alias) found = ss_node_get(node, f->alias);
  if (cJSON_IsFalse(found.at) || cJSON_IsNull(found.at)) found.at = NULL;
  return found;
}

/* The fields of such names, one after the other. */
static const struct ss_field_spec *next_of(const struct ss_object_spec *spec, const char **names) {
  const char *at = *names ? *names + strspn(*names, " ") : "";
  const size_t length = strcspn(at, " ");
  const struct ss_field_spec *f = length > 0 ? spec->field : NULL;
  while (f && is_one(f) && (strncmp(f->name, at, length) != 0 || f->name[length])) f++;
  *names = at + length;
  assert(!f || is_one(f));
  return f;
}

/* The first of the names that the object has; NULL: none. */
static const struct ss_field_spec *first_of(const struct ss_object_spec *spec, struct ss_node node,
                                            const char *names) {
  const struct ss_field_spec *f;
  while ((f = next_of(spec, &names)) && !ss_node_present(said(f, node))) continue;
  return f;
}

/* What is there must do something beside the rest. */
static bool have_say(const struct ss_object_spec *spec, struct ss_node node, struct ss_error *error) {
  char shown[80];
  for (const struct ss_field_spec *f = spec->field; is_one(f); f++) {
    const struct ss_node here = said(f, node);
    if (!ss_node_present(here)) continue;
    const struct ss_field_spec *other = first_of(spec, node, f->against);
    if (other)
      return ss_node_fail(here, error, "does nothing beside %s: leave one of the two out",
                          ss_doc_field(node.doc, said(other, node).at->string, shown, sizeof shown));
    if (f->with && !first_of(spec, node, f->with))
      return ss_node_fail(here, error, "does nothing without %s",
                          ss_doc_field(node.doc, f->with, shown, sizeof shown));
  }
  return true;
}

/* What may stand in the field's place and have members; NULL: nothing. */
static const struct ss_object_spec *members_of(const struct ss_field_spec *f) {
  const struct ss_object_spec *found = f->kind == SS_SPEC_OBJECT ? f->object : NULL;
  if (f->kind == SS_SPEC_LIST) return members_of(f->item);
  for (const struct ss_field_spec *way = f->item; f->kind == SS_SPEC_EITHER && !found && way->kind; way++)
    found = members_of(way);
  return found;
}

/* The field of which the key is a member; NULL: none. */
static const char *outer_of(const struct ss_object_spec *spec, const char *key) {
  for (const struct ss_field_spec *f = spec->field; is_one(f); f++) {
    const struct ss_object_spec *members = members_of(f);
    for (const struct ss_field_spec *m = members ? members->field : NULL; m && is_one(m); m++)
      if (strcmp(m->name, key) == 0) return f->name;
  }
  return NULL;
}

bool ss_object_check_keys(const struct ss_object_spec *spec, struct ss_node node, struct ss_error *error) {
  const char *known[2 * FIELDS_MAX + 1] = {NULL};
  size_t n = 0, extra = 0;
  for (const struct ss_field_spec *f = spec->field; is_one(f); f++) known[n++] = f->name;
  /* a name that still works is no suggestion, unless it was given */
  for (const struct ss_field_spec *f = spec->field; is_one(f); f++)
    if (f->alias && ss_node_present(ss_node_get(node, f->alias))) known[n + extra++] = f->alias;
  for (struct ss_node m = ss_node_first(node); cJSON_IsObject(node.at) && ss_node_present(m); m = ss_node_next(m)) {
    size_t i = 0;
    while (known[i] && strcmp(known[i], ss_node_key(m)) != 0) i++;
    const char *outer = known[i] ? NULL : outer_of(spec, ss_node_key(m));
    if (outer) return ss_node_fail(m, error, "unknown key (did you mean \"%s.%s\"?)", outer, ss_node_key(m));
  }
  return ss_node_keys(node, known, error) && have_say(spec, node, error);
}

static bool find(struct ss_node node, const struct ss_field_spec *f, struct ss_node *out, struct ss_error *error) {
  *out = ss_node_get(node, f->name);
  const struct ss_node other = f->alias ? ss_node_get(node, f->alias) : (struct ss_node){0};
  if (!ss_node_present(other)) return !f->required || ss_node_need(node, f->name, out, error);
  if (ss_node_present(*out))
    return ss_node_fail(other, error, "is another name of \"%s\", which is there: leave it out", f->name);
  *out = other;
  return true;
}

static void store_count(const struct ss_field_spec *f, void *at, uint64_t value) {
  if (f->size == sizeof value) memcpy(at, &value, sizeof value);
  else if (f->size == sizeof(bool)) *(bool *)at = value != 0;
  else memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
}

static void store_text(const struct ss_field_spec *f, void *at, const char *text) {
  if (f->size == sizeof text) memcpy(at, &text, sizeof text);
  else (void)snprintf(at, f->size, "%s", text);
}

static bool read_real(const struct ss_field_spec *f, struct ss_node node, void *at, struct ss_error *error) {
  double value;
  if (!(f->kind == SS_SPEC_POSITIVE      ? ss_node_positive(node, f->dimension, &value, error)
        : f->kind == SS_SPEC_NONNEGATIVE ? ss_node_nonnegative(node, f->dimension, &value, error)
                                         : ss_node_quantity(node, f->dimension, &value, error)))
    return false;
  if (f->most > 0 && value > f->most) return ss_node_fail(node, error, "%g is above %g", value, f->most);
  memcpy(at, &value, sizeof value);
  return true;
}

static bool read_value(const struct ss_field_spec *f, struct ss_node node, void *at, struct ss_error *error);

static bool read_numbers(const struct ss_field_spec *f, struct ss_node list, struct ss_numbers *out,
                         struct ss_error *error) {
  const uint64_t most = f->high ? f->high : SS_NUMBERS_MAX;
  struct ss_field_spec item = *f->item;
  union {
    double number;
    uint64_t count;
  } read = {0};
  item.size = sizeof read;
  out->count = 0;
  if (!ss_node_is_array(list) || ss_node_size(list) < f->low || ss_node_size(list) > most)
    return ss_node_fail(list, error, "expected a list of %d to %d values", (int)f->low, (int)most);
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    if (!read_value(&item, n, &read, error)) return false;
    const bool whole = item.kind == SS_SPEC_COUNT || item.kind == SS_SPEC_CHOICE;
    out->value[out->count++] = whole ? (double)read.count : read.number;
  }
  return true;
}

static bool read_value(const struct ss_field_spec *f, struct ss_node node, void *at, struct ss_error *error) {
  uint64_t count;
  size_t choice;
  const char *text;
  if (f->read) return f->read(node, at, error);
  switch (f->kind) {
  case SS_SPEC_TEXT:
    if (!ss_node_text(node, &text, error)) return false;
    store_text(f, at, text);
    return true;
  case SS_SPEC_FLAG: return ss_node_flag(node, at, error);
  case SS_SPEC_COUNT:
    if (!ss_node_count(node, f->low, f->high ? f->high : UINT64_MAX, &count, error)) return false;
    store_count(f, at, count);
    return true;
  case SS_SPEC_NUMBER:
  case SS_SPEC_POSITIVE:
  case SS_SPEC_NONNEGATIVE: return read_real(f, node, at, error);
  case SS_SPEC_CHOICE:
    if (!f->choices) return ss_node_text(node, at, error);
    if (!ss_node_choice(node, f->choices, &choice, error)) return false;
    store_count(f, at, choice);
    return true;
  case SS_SPEC_OBJECT:
    if (f->object->field) return ss_object_read(f->object, node, at, error);
    break;
  case SS_SPEC_LIST:
    if (f->size == sizeof(struct ss_numbers)) return read_numbers(f, node, at, error);
    break;
  case SS_SPEC_ANY:
  case SS_SPEC_EITHER: break;
  }
  memcpy(at, &node, sizeof node);
  if (f->kind == SS_SPEC_LIST) return ss_node_is_array(node) || ss_node_fail(node, error, "expected a list");
  return f->kind != SS_SPEC_OBJECT || ss_node_is_object(node) ||
         ss_node_fail(node, error, "expected an object of %s", f->object->says ? f->object->says : "values by name");
}

static void store_usual(const struct ss_field_spec *f, void *at) {
  double value = 0;
  uint64_t choice = 0;
  switch (f->kind) {
  case SS_SPEC_TEXT: store_text(f, at, f->usual); break;
  case SS_SPEC_FLAG: *(bool *)at = strcmp(f->usual, "true") == 0; break;
  case SS_SPEC_COUNT: store_count(f, at, strtoull(f->usual, NULL, 10)); break;
  case SS_SPEC_NUMBER:
  case SS_SPEC_POSITIVE:
  case SS_SPEC_NONNEGATIVE:
    if (ss_units_parse(f->usual, f->dimension, &value, NULL)) memcpy(at, &value, sizeof value);
    break;
  case SS_SPEC_CHOICE:
    for (const char *const *c = f->choices; c[choice] && strcmp(c[choice], f->usual) != 0;) choice++;
    store_count(f, at, choice);
    break;
  case SS_SPEC_ANY:
  case SS_SPEC_OBJECT:
  case SS_SPEC_LIST:
  case SS_SPEC_EITHER: break;
  }
}

bool ss_object_read(const struct ss_object_spec *spec, struct ss_node node, void *out, struct ss_error *error) {
  return ss_object_check_keys(spec, node, error) && ss_object_read_known(spec, node, out, error);
}

bool ss_object_read_known(const struct ss_object_spec *spec, struct ss_node node, void *out, struct ss_error *error) {
  struct ss_node found[FIELDS_MAX];
  for (size_t i = 0; is_one(&spec->field[i]); i++)
    if (!find(node, &spec->field[i], &found[i], error)) return false;
  for (size_t i = 0; is_one(&spec->field[i]); i++) {
    const struct ss_field_spec *f = &spec->field[i];
    void *at = (char *)out + f->offset;
    if (f->nullable && ss_node_is_null(found[i])) found[i].at = NULL;
    if (!f->size && !f->read) continue;
    if (ss_node_present(found[i]) && !read_value(f, found[i], at, error)) return false;
    if (!ss_node_present(found[i]) && f->usual) store_usual(f, at);
  }
  return true;
}

void ss_object_forget_other_name(const struct ss_object_spec *spec, cJSON *object, const char *path) {
  const size_t n = strcspn(path, ".");
  const struct ss_field_spec *f = spec->field;
  char name[40];
  if (!f) return; /* values by name: any */
  snprintf(name, sizeof name, "%.*s", (int)n, path);
  while (f && is_one(f) && strcmp(f->name, name) != 0 && (!f->alias || strcmp(f->alias, name) != 0)) f++;
  if (!f || !is_one(f)) return; /* names are free, or there is no such field */
  if (!path[n] && f->alias)
    cJSON_DeleteItemFromObjectCaseSensitive(object, strcmp(f->name, name) == 0 ? f->alias : f->name);
  cJSON *inside = ss_json_get(object, name);
  const char *rest = path + n + (path[n] != '\0');
  const struct ss_object_spec *members = members_of(f);
  if (cJSON_IsArray(inside) && *rest) {
    inside = cJSON_GetArrayItem(inside, (int)strtol(rest, NULL, 10));
    rest += strcspn(rest, ".");
    rest += *rest != '\0';
  }
  if (*rest && members && inside) ss_object_forget_other_name(members, inside, rest);
}

/* --- schemas ------------------------------------------------------------------------------------------------- */

#define UNSIGNED "([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"

/* By enum ss_dimension: what may stand behind a number, and an example. */
static const struct {
  const char *name, *units, *says;
} dimensions[] = {
    [SS_NUMBER] = {"number", "", "a number, or a text of one"},
    [SS_RATIO] = {"ratio", "( *%| */ *[+-]?" UNSIGNED ")?", "a number, \"1.13%\" or \"1/32\""},
    [SS_TIME] = {"time", " *(ns|us|ms|s|min|h)", "s, or a text with a unit: \"10us\""},
    [SS_BYTES] = {"size", " *([kKMGTP]|[KMGTP]i)?B", "B, or a text with a unit: \"128MiB\""},
    [SS_RATE] = {"rate", " *([kKMGTP]|[KMGTP]i)?(B/s|bps|bit/s|b/s)",
                 "B/s, or a text with a unit: \"25Gbps\", \"3.1GB/s\""},
};

struct writing {
  cJSON *defs;
  bool written; /* the document is one that the program writes */
};

static cJSON *object_of(const struct ss_object_spec *spec, const struct writing *w);
static cJSON *value_of(const struct ss_field_spec *f, const struct writing *w);

static cJSON *of_type(const char *type) {
  return ss_json_object(SS_T("type", type));
}

static cJSON *text_schema(const struct ss_field_spec *f) {
  cJSON *out = of_type("string");
  if (f->low) cJSON_AddNumberToObject(out, "minLength", (double)f->low);
  if (f->high) cJSON_AddNumberToObject(out, "maxLength", (double)f->high);
  if (f->pattern) cJSON_AddStringToObject(out, "pattern", f->pattern);
  return out;
}

/* A number that may come as a text, too. */
static cJSON *number_or_text(cJSON *number, const char *pattern) {
  cJSON *out = cJSON_CreateObject(), *ways = cJSON_AddArrayToObject(out, "anyOf"), *text = of_type("string");
  cJSON_AddItemToArray(ways, number);
  cJSON_AddStringToObject(text, "pattern", pattern);
  cJSON_AddItemToArray(ways, text);
  return out;
}

static cJSON *count_schema(const struct ss_field_spec *f, const struct writing *w) {
  cJSON *number = of_type("integer");
  cJSON_AddNumberToObject(number, "minimum", (double)f->low);
  if (f->high) cJSON_AddNumberToObject(number, "maximum", (double)f->high);
  return w->written ? number : number_or_text(number, "^[0-9]+$");
}

static cJSON *quantity_schema(const struct ss_field_spec *f, const struct writing *w) {
  char pattern[240];
  cJSON *number = of_type("number");
  if (f->kind == SS_SPEC_POSITIVE) cJSON_AddNumberToObject(number, "exclusiveMinimum", 0);
  if (f->kind == SS_SPEC_NONNEGATIVE) cJSON_AddNumberToObject(number, "minimum", 0);
  if (f->most > 0) cJSON_AddNumberToObject(number, "maximum", f->most);
  if (w->written) return number;
  const bool needed = f->dimension == SS_TIME || f->dimension == SS_RATE ||
                      f->dimension == SS_BYTES; /* the unit; see ss_units_said */
  snprintf(pattern, sizeof pattern, "^%s([+-]?" UNSIGNED "%s%s)$", f->kind == SS_SPEC_NUMBER ? "" : "(?!-)",
           dimensions[f->dimension].units, needed ? "|0" : "");
  cJSON *out = number_or_text(number, pattern);
  cJSON_AddStringToObject(out, "description", dimensions[f->dimension].says);
  return out;
}

/* {"$ref": "#/$defs/NAME"}; what it refers to is added if it is not there. */
static cJSON *reference(const char *name, const struct writing *w, bool *missing) {
  char path[80];
  cJSON *out = cJSON_CreateObject();
  snprintf(path, sizeof path, "#/$defs/%s", name);
  cJSON_AddStringToObject(out, "$ref", path);
  *missing = !ss_json_get(w->defs, name);
  return out;
}

static cJSON *shared_quantity(const struct ss_field_spec *f, const struct writing *w) {
  static const char *const signs[] = {
      [SS_SPEC_NUMBER] = "any_", [SS_SPEC_POSITIVE] = "positive_", [SS_SPEC_NONNEGATIVE] = ""};
  char name[40];
  bool missing;
  if (f->most > 0 || w->written) return quantity_schema(f, w);
  snprintf(name, sizeof name, "%s%s", signs[f->kind], dimensions[f->dimension].name);
  cJSON *out = reference(name, w, &missing);
  if (missing) cJSON_AddItemToObject(w->defs, name, quantity_schema(f, w));
  return out;
}

static cJSON *shared_object(const struct ss_object_spec *spec, const struct writing *w) {
  bool missing;
  if (!spec->name) return object_of(spec, w);
  cJSON *out = reference(spec->name, w, &missing);
  if (missing) { /* there is a place for it before its fields refer to it */
    cJSON_AddTrueToObject(w->defs, spec->name);
    cJSON_ReplaceItemInObjectCaseSensitive(w->defs, spec->name, object_of(spec, w));
  }
  return out;
}

static cJSON *list_schema(const struct ss_field_spec *f, const struct writing *w) {
  cJSON *out = of_type("array");
  if (f->low) cJSON_AddNumberToObject(out, "minItems", (double)f->low);
  if (f->high) cJSON_AddNumberToObject(out, "maxItems", (double)f->high);
  cJSON_AddItemToObject(out, "items", value_of(f->item, w));
  return out;
}

static cJSON *choice_schema(const char *const *choices, const char *(*choice)(size_t number)) {
  cJSON *out = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(out, "enum");
  const char *name;
  for (size_t i = 0; (name = choice ? choice(i) : choices ? choices[i] : NULL); i++)
    cJSON_AddItemToArray(list, cJSON_CreateString(name));
  return out;
}

static cJSON *either_schema(const struct ss_field_spec *f, const struct writing *w) {
  cJSON *out = cJSON_CreateObject(), *ways = cJSON_AddArrayToObject(out, "anyOf");
  for (const struct ss_field_spec *way = f->item; way->kind != SS_SPEC_ANY; way++)
    cJSON_AddItemToArray(ways, value_of(way, w));
  return out;
}

static cJSON *kind_schema(const struct ss_field_spec *f, const struct writing *w) {
  switch (f->kind) {
  case SS_SPEC_TEXT: return text_schema(f);
  case SS_SPEC_FLAG: return of_type("boolean");
  case SS_SPEC_COUNT: return count_schema(f, w);
  case SS_SPEC_NUMBER:
  case SS_SPEC_POSITIVE:
  case SS_SPEC_NONNEGATIVE: return shared_quantity(f, w);
  case SS_SPEC_CHOICE: return choice_schema(f->choices, f->choice);
  case SS_SPEC_OBJECT: return shared_object(f->object, w);
  case SS_SPEC_LIST: return list_schema(f, w);
  case SS_SPEC_EITHER: return either_schema(f, w);
  case SS_SPEC_ANY: break;
  }
  return cJSON_CreateObject();
}

/* The usual value as JSON: texts stand without quotes in tables. */
static cJSON *usual_of(const struct ss_field_spec *f) {
  cJSON *value = f->kind == SS_SPEC_TEXT || f->kind == SS_SPEC_CHOICE ? NULL : cJSON_Parse(f->usual);
  return value ? value : cJSON_CreateString(f->usual);
}

static cJSON *value_of(const struct ss_field_spec *f, const struct writing *w) {
  cJSON *out = kind_schema(f, w);
  if (f->nullable) {
    cJSON *either = cJSON_CreateObject(), *ways = cJSON_AddArrayToObject(either, "anyOf");
    cJSON_AddItemToArray(ways, out);
    cJSON_AddItemToArray(ways, of_type("null"));
    out = either;
  }
  cJSON_DeleteItemFromObjectCaseSensitive(out, f->says ? "description" : "");
  if (f->says) cJSON_AddStringToObject(out, "description", f->says);
  if (f->usual) cJSON_AddItemToObject(out, "default", usual_of(f));
  return out;
}

static void add_property(cJSON *properties, const struct ss_field_spec *f, const struct writing *w) {
  char says[80];
  cJSON_AddItemToObject(properties, f->name, value_of(f, w));
  if (!f->alias) return;
  cJSON *other = value_of(f, w);
  snprintf(says, sizeof says, "another name of %s", f->name);
  cJSON_DeleteItemFromObjectCaseSensitive(other, "description");
  cJSON_AddStringToObject(other, "description", says);
  cJSON_AddTrueToObject(other, "deprecated");
  cJSON_AddItemToObject(properties, f->alias, other);
}

/* Members of a JSON text with ' for ". */
static void add_rules(cJSON *out, const char *rules) {
  char text[2000];
  snprintf(text, sizeof text, "%s", rules);
  for (char *quote = text; (quote = strchr(quote, '\''));) *quote = '"';
  cJSON *parsed = cJSON_Parse(text);
  while (parsed && parsed->child) {
    cJSON *member = cJSON_DetachItemViaPointer(parsed, parsed->child);
    cJSON_AddItemToObject(out, member->string, member);
  }
  cJSON_Delete(parsed);
}

/* Adds that the field is there, or is not; a flag that is false is not. */
static void add_presence(cJSON *to, const struct ss_field_spec *f, bool there) {
  cJSON *properties = cJSON_GetObjectItemCaseSensitive(to, "properties");
  if (!properties) properties = cJSON_AddObjectToObject(to, "properties");
  if (f->kind == SS_SPEC_FLAG) cJSON_AddBoolToObject(cJSON_AddObjectToObject(properties, f->name), "const", there);
  else if (!there) cJSON_AddFalseToObject(properties, f->name);
  if (there) cJSON_AddItemToObject(to, "required", cJSON_CreateStringArray(&f->name, 1));
}

/* A field that is there needs what it goes with, and none of those that it does not go with. */
static void add_company(cJSON *out, const struct ss_object_spec *spec) {
  cJSON *rules = cJSON_CreateObject();
  for (const struct ss_field_spec *f = spec->field, *other; f && is_one(f); f++) {
    if (!f->with && !f->against) continue;
    cJSON *rule = cJSON_AddObjectToObject(rules, f->name);
    if (f->kind == SS_SPEC_FLAG) {
      cJSON *ways = cJSON_AddArrayToObject(rule, "anyOf"), *off = cJSON_CreateObject();
      add_presence(off, f, false);
      cJSON_AddItemToArray(ways, off);
      rule = cJSON_CreateObject();
      cJSON_AddItemToArray(ways, rule);
    }
    for (const char *names = f->with; (other = next_of(spec, &names));) add_presence(rule, other, true);
    for (const char *names = f->against; (other = next_of(spec, &names));) add_presence(rule, other, false);
  }
  if (rules->child) cJSON_AddItemToObject(out, "dependentSchemas", rules);
  else cJSON_Delete(rules);
}

static void fill(cJSON *out, const struct ss_object_spec *spec, const struct writing *w) {
  cJSON *required = cJSON_CreateArray(), *properties = cJSON_CreateObject();
  cJSON_AddStringToObject(out, "type", "object");
  for (const struct ss_field_spec *f = spec->field; f && is_one(f); f++) {
    if (f->required && !f->alias) cJSON_AddItemToArray(required, cJSON_CreateString(f->name));
    add_property(properties, f, w);
  }
  if (required->child) cJSON_AddItemToObject(out, "required", required);
  else cJSON_Delete(required);
  if (properties->child) cJSON_AddItemToObject(out, "properties", properties);
  else cJSON_Delete(properties);
  if (spec->choice) cJSON_AddItemToObject(out, "propertyNames", choice_schema(NULL, spec->choice));
  if (spec->others) cJSON_AddItemToObject(out, "additionalProperties", value_of(spec->others, w));
  else if (!spec->open) cJSON_AddFalseToObject(out, "additionalProperties");
  add_company(out, spec);
  if (spec->rules) add_rules(out, spec->rules);
}

static cJSON *object_of(const struct ss_object_spec *spec, const struct writing *w) {
  cJSON *out = cJSON_CreateObject();
  if (spec->says || spec->title) cJSON_AddStringToObject(out, "description", spec->says ? spec->says : spec->title);
  fill(out, spec, w);
  return out;
}

cJSON *ss_object_schema(const struct ss_object_spec *spec) {
  const struct writing w = {cJSON_CreateObject(), spec->written};
  cJSON *out = ss_json_object(SS_T("$schema", "https://json-schema.org/draft/2020-12/schema"),
                              SS_T("$comment", "written by the program from its tables: ./dev schemas"),
                              SS_T("title", spec->title));
  if (spec->says) cJSON_AddStringToObject(out, "description", spec->says);
  fill(out, spec, &w);
  if (w.defs && w.defs->child) cJSON_AddItemToObject(out, "$defs", w.defs);
  else cJSON_Delete(w.defs);
  return out;
}
/* SPDX-License-Identifier: Apache-2.0 */
