/* Command-line options: one table a command, which says where each value goes and what --help prints of it.
 *
 * `--name VALUE`, `--name=VALUE`, `-o VALUE`; the rest are operands, and `--` ends the options. An unknown option is
 * an error that suggests the nearest known one; a missing or superfluous value is one, an option that is given twice
 * and takes at most one value, a value that is said twice, and one that does nothing beside, or without, others that
 * the table names (`with`, `against`); so are two that would write one file. (The C library's getopt_long and argp
 * print errors themselves and suggest nothing, so that this small parser is shorter than what would hide them.) */
#pragma once

#include "base/units.h"

enum ss_option_takes {
  SS_TAKES_NOTHING,  /* bool: becomes true */
  SS_TAKES_TEXT,     /* const char *: a pointer into argv */
  SS_TAKES_TEXTS,    /* const char **, and a size_t that counts them: the option may be repeated */
  SS_TAKES_COUNT,    /* uint64_t within [low, high] */
  SS_TAKES_COUNT32,  /* uint32_t, likewise */
  SS_TAKES_QUANTITY, /* double of the dimension within [low, high] */
  SS_TAKES_CHOICE,   /* an enumeration: the index of one of the choices */
  SS_TAKES_SAID,     /* struct ss_said *, and a size_t that counts them: who reads them judges the values */
  SS_TAKES_OTHER,    /* whatever the function `read` makes of it */
  SS_REFUSED,        /* an error that ends with `help`, which says what to do instead */
  SS_HEADING         /* no option: a line of the help between options */
};

struct ss_option_spec {
  const char *name; /* "--ranks" or "-o"; a single letter may have one dash or two; "": operands; NULL ends a table */
  enum ss_option_takes kind;
  enum ss_dimension dimension;
  size_t offset; /* of the value in the command's arguments */
  size_t more;   /* SS_TAKES_TEXTS: the offset of their number */
  double low, high;
  const char *const *choices; /* NULL-terminated */
  bool (*read)(void *arguments, const char *value, struct ss_error *error);
  const char *value;   /* what stands for the value in the help: "FILE"; of an operand, what it is: "scenario" */
  const char *help;    /* NULL: --help does not show the option */
  const char *field;   /* of a request, where the option's name is not its: "files" of --file; else NULL */
  bool list;           /* SS_TAKES_SAID: the field is a list, and the option may be repeated */
  const char *with;    /* an option without which this one does nothing: to be given too; NULL: none */
  const char *against; /* options, with spaces between them: of each and this one, one would do nothing; NULL: none */
  bool writes;         /* SS_TAKES_TEXT: a file that is written, which no other such option may name */
  const char *json;    /* SS_TAKES_SAID without a value: that of the field; NULL: true */
};

/* An option as it was given. */
struct ss_said {
  const struct ss_option_spec *option;
  const char *value; /* into argv; NULL: it takes none (it has neither `value` nor `choices`) */
};

/* The least value of a quantity that must not be zero. */
#define SS_ABOVE_ZERO 0x1p-1074

/* The offset of a member of `owner`, which the compiler holds against the type. */
#define SS_OFFSET(type, owner, member) (offsetof(owner, member) + 0 * sizeof(&((owner *)0)->member == (type *)0))

/* An entry of a table, for macros that stand for some. */
#define SS_OPTION(...)                                                                                               \
  { __VA_ARGS__ }

/* Kind and offset, to stand behind the name in a table: {"--seed", SS_COUNT(struct arguments, seed, 0, 100)}. */
#define SS_FLAG(owner, member) SS_TAKES_NOTHING, .offset = SS_OFFSET(bool, owner, member)
#define SS_TEXT(owner, member) SS_TAKES_TEXT, .offset = SS_OFFSET(const char *, owner, member)
#define SS_TEXTS(owner, member, count)                                                                               \
  SS_TAKES_TEXTS, .offset = SS_OFFSET(const char **, owner, member), .more = SS_OFFSET(size_t, owner, count)
#define SS_COUNT(owner, member, low_, high_)                                                                         \
  SS_TAKES_COUNT, .offset = SS_OFFSET(uint64_t, owner, member), .low = (low_), .high = (high_)
#define SS_COUNT32(owner, member, low_, high_)                                                                       \
  SS_TAKES_COUNT32, .offset = SS_OFFSET(uint32_t, owner, member), .low = (low_), .high = (high_)
#define SS_QUANTITY(owner, member, dimension_, low_, high_)                                                          \
  SS_TAKES_QUANTITY, .offset = SS_OFFSET(double, owner, member), .dimension = (dimension_), .low = (low_),           \
                     .high = (high_)
#define SS_CHOICE(owner, member, choices_)                                                                           \
  SS_TAKES_CHOICE, .offset = SS_OFFSET(unsigned, owner, member), .choices = (choices_)
#define SS_SAID(owner, member, count)                                                                                \
  SS_TAKES_SAID, .offset = SS_OFFSET(struct ss_said *, owner, member), .more = SS_OFFSET(size_t, owner, count)
#define SS_OTHER(read_) SS_TAKES_OTHER, .read = (read_)

/* Fills in `arguments`, which hold the defaults, and stops at the first error. argv[0] is skipped. What
 * SS_TAKES_TEXTS and SS_TAKES_SAID collected is to be given back by ss_options_free, also after an error. */
bool ss_options_parse(const struct ss_option_spec *specs, int argc, char **argv, void *arguments,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_options_free(const struct ss_option_spec *specs, void *arguments);

/* The text, whose lines are broken at spaces to fit 118 columns: the first begins at column `at`, what is broken off
 * is indented. Ends with a new line. */
void ss_print_filled(const char *text, size_t at, size_t indent, FILE *stream);
/* A line or more of each option. */
void ss_options_help(const struct ss_option_spec *specs, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
