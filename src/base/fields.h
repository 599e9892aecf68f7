/* The fields of a document's objects, said once: a table of them is read by (ss_object_read), and the JSON Schema of
 * docs/schemas is written from it (ss_object_schema).
 *
 *   static const struct ss_field_spec fields[] = {
 *       {"latency", "to start a message", SS_IS_TIME, .required = true, SS_STORED(struct link, alpha)},
 *       {"shared", "ranks share one bus", SS_IS_FLAG, .usual = "false", SS_STORED(struct link, shared)},
 *       {"notes", SS_NOT_READ}, {NULL}};
 *
 * What is stored is read, in the table's order; what has no place in the struct is its own reader's, and the table
 * says only that it may be there and what it looks like. */
#pragma once

#include "base/json.h"

enum ss_spec_kind {
  SS_SPEC_ANY,         /* nothing is said of it; stored as struct ss_node */
  SS_SPEC_TEXT,        /* stored as const char *, the document's, or cut to fit a char[] */
  SS_SPEC_FLAG,        /* bool */
  SS_SPEC_COUNT,       /* uint32_t or uint64_t */
  SS_SPEC_NUMBER,      /* double, of any sign */
  SS_SPEC_POSITIVE,    /* double above 0 */
  SS_SPEC_NONNEGATIVE, /* double of at least 0 */
  SS_SPEC_CHOICE,      /* an enum or a bool: the number of the choice; by a function a text, which is not judged */
  SS_SPEC_OBJECT,      /* a struct, by a table of its own; where names are free, struct ss_node */
  SS_SPEC_LIST,        /* struct ss_node; of numbers also struct ss_numbers */
  SS_SPEC_EITHER,      /* struct ss_node */
};

struct ss_object_spec;

struct ss_field_spec {
  const char *name; /* NULL ends a table */
  const char *says; /* one sentence; NULL: the name says it all */
  enum ss_spec_kind kind;
  enum ss_dimension dimension; /* of quantities */
  bool required;
  bool nullable;      /* null may stand there, and is as if it were absent */
  uint64_t low, high; /* of a count: its range; of texts and lists: how long. `high` 0: no limit */
  double most;        /* of a quantity; 0: no limit */
  const char *const *choices;
  const char *(*choice)(size_t number); /* in their place, for the schema: NULL behind the last */
  const char *pattern;                  /* of a text, for the schema */
  const char *usual;                    /* what it is by default, as a document would say it; NULL: as it was */
  const char *alias;                    /* another name that still works; NULL: none */
  const struct ss_field_spec *item; /* of a list; of what is either, all of them up to one without kind and says */
  const struct ss_object_spec *object;
  size_t offset, size; /* where it is stored; `size` 0: it is not */
  /* Fields, with spaces between them, beside which this one would do nothing; the one without which it does. NULL:
   * none. A flag that is false is not there. */
  const char *against, *with;
  /* Reads it in place of what the kind says, into where it is stored, or (`size` 0) into the struct. */
  bool (*read)(struct ss_node node, void *out, struct ss_error *error);
};

/* An object with these fields and no others. */
struct ss_object_spec {
  const char *name;  /* under which schemas refer to it; NULL: it stands where it is used */
  const char *title; /* of a document */
  const char *says;  /* NULL: the title says it all */
  const struct ss_field_spec *field;
  const struct ss_field_spec *others;   /* what a member of any other name is; NULL: there is none */
  const char *(*choice)(size_t number); /* the names that those others may have; NULL: any */
  const char *rules;                    /* for the schema: what fields do together, as JSON with ' for " */
  bool open;                            /* for the schema: it may gain fields */
  bool written; /* a document that the program writes: its quantities are numbers in base units */
};

/* Numbers, counts, or the numbers of choices. */
enum { SS_NUMBERS_MAX = 64 };
struct ss_numbers {
  double value[SS_NUMBERS_MAX];
  size_t count;
};

#define SS_IS_TEXT .kind = SS_SPEC_TEXT
#define SS_IS_NAME .kind = SS_SPEC_TEXT, .low = 1
#define SS_IS_FLAG .kind = SS_SPEC_FLAG
#define SS_IS_ANY .kind = SS_SPEC_ANY
#define SS_IS_COUNT(low_, high_) .kind = SS_SPEC_COUNT, .low = (low_), .high = (high_)
#define SS_IS_NUMBER .kind = SS_SPEC_NUMBER
#define SS_IS_ABOVE_0 .kind = SS_SPEC_POSITIVE
#define SS_IS_FROM_0 .kind = SS_SPEC_NONNEGATIVE
#define SS_IS_RATE .kind = SS_SPEC_POSITIVE, .dimension = SS_RATE
#define SS_IS_TIME .kind = SS_SPEC_NONNEGATIVE, .dimension = SS_TIME
#define SS_IS_BYTES .kind = SS_SPEC_NONNEGATIVE, .dimension = SS_BYTES
#define SS_IS_RATIO .kind = SS_SPEC_NONNEGATIVE, .dimension = SS_RATIO
#define SS_IS_SHARE .kind = SS_SPEC_POSITIVE, .dimension = SS_RATIO
#define SS_IS_SEED .kind = SS_SPEC_COUNT, .high = UINT64_C(1) << 53
#define SS_IS_CHOICE(choices_) .kind = SS_SPEC_CHOICE, .choices = (choices_)
#define SS_IS_OBJECT(object_) .kind = SS_SPEC_OBJECT, .object = (object_)
#define SS_IS_LIST(item_, low_, high_) .kind = SS_SPEC_LIST, .item = (item_), .low = (low_), .high = (high_)
#define SS_IS_EITHER(items) .kind = SS_SPEC_EITHER, .item = (items)
#define SS_STORED(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
/* What every model may have beside what is read. */
#define SS_NOT_READ "not read by the program", .kind = SS_SPEC_ANY
#define SS_SPEC_SOURCE                                                                                               \
  {                                                                                                                  \
    "source",                                                                                                        \
        "where each number comes from; a text that begins with \"estimated\" or \"measured\" says how sure it is",   \
        .kind = SS_SPEC_ANY                                                                                          \
  }
#define SS_SPEC_NOTES                                                                                                \
  { "notes", SS_NOT_READ }
#define SS_SPEC_SUMMARY                                                                                              \
  { "summary", NULL, SS_IS_TEXT }

/* A text that is not empty, as an item of lists, and the ways to say one or several. */
extern const struct ss_field_spec ss_name_field, ss_texts_forms[];

/* The node must be an object of known fields with all that are required; what is stored is then read into `out`, and
 * what is absent but has a usual value gets that. Texts are the document's. */
bool ss_object_read(const struct ss_object_spec *spec, struct ss_node node, void *out,
                    struct ss_error *error) SS_MUST_CHECK;
/* The same where the object may have other members, too. */
bool ss_object_read_known(const struct ss_object_spec *spec, struct ss_node node, void *out,
                          struct ss_error *error) SS_MUST_CHECK;
/* Only that its fields are known. */
bool ss_object_check_keys(const struct ss_object_spec *spec, struct ss_node node,
                          struct ss_error *error) SS_MUST_CHECK;

/* Of a field that the path (a.b.2.c) leads to, the object loses what it says under the field's other name: so that an
 * edit by one name replaces the other. */
void ss_object_forget_other_name(const struct ss_object_spec *spec, struct cJSON *object, const char *path);

/* A document that there is a schema of; lists of them end without a name. */
struct ss_schema {
  const char *name;
  const struct ss_object_spec *spec;
};
/* A JSON Schema (2020-12) for all that the table says; the caller's. NULL: memory was short. */
struct cJSON *ss_object_schema(const struct ss_object_spec *spec);
/* SPDX-License-Identifier: Apache-2.0 */
