#include "base/options.h"

#include "base/file.h"
#include "base/suggest.h"

/* --- values ------------------------------------------------------------------------------------------------ */

static bool fail_quantity(const struct ss_option_spec *spec, const char *value, struct ss_error *error) {
  char low[40], high[40];
  ss_units_format(low, sizeof low, spec->dimension, spec->low);
  ss_units_format(high, sizeof high, spec->dimension, spec->high);
  const bool open = spec->low > 0 && spec->low <= SS_ABOVE_ZERO, bounded = !isinf(spec->high);
  if (open)
    return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not above zero%s%s", spec->name, value,
                   bounded ? " and at most " : "", bounded ? high : "");
  if (bounded) return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not from %s to %s", spec->name, value, low, high);
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is less than %s", spec->name, value, low);
}

static bool store_quantity(const struct ss_option_spec *spec, const char *value, double *out,
                           struct ss_error *error) {
  double quantity;
  if (!ss_units_said(value, spec->dimension, &quantity, error)) return ss_fail_prefix(error, "%s", spec->name);
  if (!(quantity >= spec->low && quantity <= spec->high)) return fail_quantity(spec, value, error);
  *out = quantity;
  return true;
}

static bool store_count(const struct ss_option_spec *spec, const char *value, void *out, struct ss_error *error) {
  uint64_t count;
  if (!ss_count_parse(value, spec->name, (uint64_t)spec->low, (uint64_t)spec->high, &count, error)) return false;
  if (spec->kind == SS_TAKES_COUNT32) *(uint32_t *)out = (uint32_t)count;
  else *(uint64_t *)out = count;
  return true;
}

static bool store_choice(const struct ss_option_spec *spec, const char *value, unsigned *out,
                         struct ss_error *error) {
  char all[200];
  for (unsigned i = 0; spec->choices[i]; i++) {
    if (strcmp(spec->choices[i], value) != 0) continue;
    *out = i;
    return true;
  }
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not %s", spec->name, value,
                 ss_words_join(spec->choices, " or ", all, sizeof all));
}

static bool fail_second(const struct ss_option_spec *spec, const char *value, struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "one %s is enough: \"%s\" is left over", spec->value, value);
}

static bool store_text(const struct ss_option_spec *spec, const char *value, const char **out,
                       struct ss_error *error) {
  if (!*spec->name && *out) return fail_second(spec, value, error);
  *out = value;
  return true;
}

/* An option may be repeated, not what it says. (An operand may: the command knows what that means.) */
static bool fail_again(const struct ss_option_spec *spec, const char *value, struct ss_error *error) {
  return ss_fail(error, SS_BAD_INPUT, "%s %s is said twice", spec->name, value);
}

static bool add_text(const struct ss_option_spec *spec, const char *value, const char ***list, size_t *count,
                     struct ss_error *error) {
  for (size_t i = 0; *spec->name && i < *count; i++)
    if (strcmp((*list)[i], value) == 0) return fail_again(spec, value, error);
  if (!ss_grow_by_one(*list, *count)) return ss_fail_memory(error, "reading options");
  (*list)[(*count)++] = value;
  return true;
}

static bool add_said(const struct ss_option_spec *spec, const char *value, struct ss_said **list, size_t *count,
                     struct ss_error *error) {
  for (size_t i = 0; !*spec->name && !spec->list && i < *count; i++)
    if ((*list)[i].option == spec) return fail_second(spec, value, error);
  for (size_t i = 0; *spec->name && spec->list && i < *count; i++)
    if ((*list)[i].option == spec && strcmp((*list)[i].value, value) == 0) return fail_again(spec, value, error);
  if (!ss_grow_by_one(*list, *count)) return ss_fail_memory(error, "reading options");
  (*list)[(*count)++] = (struct ss_said){spec, value};
  return true;
}

static bool store(const struct ss_option_spec *spec, const char *value, void *arguments, struct ss_error *error) {
  void *to = (char *)arguments + spec->offset, *count = (char *)arguments + spec->more;
  switch (spec->kind) {
  case SS_TAKES_NOTHING: return *(bool *)to = true;
  case SS_TAKES_TEXT: return store_text(spec, value, to, error);
  case SS_TAKES_TEXTS: return add_text(spec, value, to, count, error);
  case SS_TAKES_SAID: return add_said(spec, value, to, count, error);
  case SS_TAKES_COUNT:
  case SS_TAKES_COUNT32: return store_count(spec, value, to, error);
  case SS_TAKES_QUANTITY: return store_quantity(spec, value, to, error);
  case SS_TAKES_CHOICE: return store_choice(spec, value, to, error);
  case SS_TAKES_OTHER: return spec->read(arguments, value, error);
  case SS_REFUSED:
  case SS_HEADING: break;
  }
  return ss_fail(error, SS_BAD_INPUT, "no %s here: %s", spec->name, spec->help);
}

/* --- finding options --------------------------------------------------------------------------------------- */

static const char *without_dashes(const char *name) {
  return name + strspn(name, "-");
}

/* The option that the first `length` bytes of `argument`, dashes included, spell; NULL when none. */
static const struct ss_option_spec *find(const struct ss_option_spec *specs, const char *argument, size_t length) {
  const size_t dashes = strspn(argument, "-");
  for (; specs->name; specs++) {
    const char *name = without_dashes(specs->name);
    const bool dashed = dashes == 2 || (dashes == 1 && strlen(name) == 1);
    if (*name && dashed && length == dashes + strlen(name) && memcmp(argument + dashes, name, length - dashes) == 0)
      return specs;
  }
  return NULL;
}

static const struct ss_option_spec *find_operand(const struct ss_option_spec *specs) {
  while (specs->name && (*specs->name || specs->kind == SS_HEADING)) specs++;
  return specs->name ? specs : NULL;
}

static bool fail_unknown(const struct ss_option_spec *specs, const char *argument, size_t length,
                         struct ss_error *error) {
  size_t count = 0;
  while (specs[count].name) count++;
  SS_AUTO_FREE const char **names = ss_alloc_zero(count + 2, sizeof *names);
  SS_AUTO_FREE char *word = strndup(argument, length);
  if (!names || !word) return ss_fail_memory(error, "reading options");
  for (size_t i = 0; i < count; i++) names[i] = without_dashes(specs[i].name);
  names[count] = "help";
  const char *near = ss_nearest(without_dashes(word), names);
  const struct ss_option_spec *meant = specs;
  while (near && meant->name && without_dashes(meant->name) != near) meant++;
  if (!near) return ss_fail(error, SS_BAD_INPUT, "unknown option \"%s\" (--help lists them)", word);
  return ss_fail(error, SS_BAD_INPUT, "unknown option \"%s\" (did you mean %s?)", word,
                 meant->name ? meant->name : "--help");
}

static bool takes_value(const struct ss_option_spec *spec) {
  const bool nothing = spec->kind == SS_TAKES_SAID && !spec->value && !spec->choices;
  return spec->kind != SS_TAKES_NOTHING && spec->kind != SS_REFUSED && !nothing;
}

/* --- parsing ----------------------------------------------------------------------------------------------- */

/* Not to be said twice: one would count for nothing. */
static bool takes_one(const struct ss_option_spec *spec) {
  const bool several = spec->kind == SS_TAKES_TEXTS || (spec->kind == SS_TAKES_SAID && spec->list);
  return *spec->name && !several;
}

static bool note_given(const struct ss_option_spec **given, const struct ss_option_spec *spec,
                       struct ss_error *error) {
  for (; *given; given++)
    if (*given == spec && takes_one(spec)) return ss_fail(error, SS_BAD_INPUT, "%s is given twice", spec->name);
  *given = spec;
  return true;
}

/* Whether one of `names`, with spaces between them, was given: its first, or NULL. */
static const struct ss_option_spec *one_of(const char *names, const struct ss_option_spec *const *given) {
  for (; *given; given++) {
    const size_t length = strlen((*given)->name);
    for (const char *at = names; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
      if (strcspn(at, " ") == length && strncmp(at, (*given)->name, length) == 0) return *given;
  }
  return NULL;
}

/* What was given must do something beside the rest. */
static bool have_say(const struct ss_option_spec *specs, const struct ss_option_spec *const *given,
                     struct ss_error *error) {
  for (const struct ss_option_spec *const *g = given; *g; g++) {
    const struct ss_option_spec *spec = *g, *other = one_of(spec->against, given);
    if (spec->with && !one_of(spec->with, given)) {
      const struct ss_option_spec *needed = find(specs, spec->with, strlen(spec->with));
      return ss_fail(error, SS_BAD_INPUT, "%s does nothing without %s%s%s", spec->name, spec->with,
                     needed && needed->value ? " " : "", needed && needed->value ? needed->value : "");
    }
    if (other)
      return ss_fail(error, SS_BAD_INPUT, "%s and %s do not go together: one of them would do nothing", other->name,
                     spec->name);
  }
  return true;
}

static const char *written(const struct ss_option_spec *spec, const void *arguments) {
  const char *path;
  memcpy(&path, (const char *)arguments + spec->offset, sizeof path);
  return path;
}

/* What is written first would be lost. */
static bool write_apart(const struct ss_option_spec *const *given, const void *arguments, struct ss_error *error) {
  for (const struct ss_option_spec *const *a = given; *a; a++)
    for (const struct ss_option_spec *const *b = given; b < a; b++)
      if ((*a)->writes && (*b)->writes && ss_same_file(written(*a, arguments), written(*b, arguments)))
        return ss_fail(error, SS_BAD_INPUT, "%s and %s would both write %s", (*b)->name, (*a)->name,
                       written(*a, arguments));
  return true;
}

/* Handles one option. `next` is the argument behind it, or NULL; *used becomes true when it was the value. */
static bool take_option(const struct ss_option_spec *specs, const char *argument, const char *next, bool *used,
                        const struct ss_option_spec **given, void *arguments, struct ss_error *error) {
  const char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
  const size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
  const struct ss_option_spec *spec = find(specs, argument, length);
  if (!spec) return fail_unknown(specs, argument, length, error);
  if (!takes_value(spec) && spec->kind != SS_REFUSED && equals)
    return ss_fail(error, SS_BAD_INPUT, "%s takes no value, but got \"%s\"", spec->name, equals + 1);
  if (!note_given(given, spec, error)) return false;
  if (equals || !takes_value(spec)) return store(spec, equals ? equals + 1 : NULL, arguments, error);
  /* "--scheme --ranks 4" has forgotten a value. */
  if (!next || strncmp(next, "--", 2) == 0 || find(specs, next, strlen(next)))
    return ss_fail(error, SS_BAD_INPUT, "%s needs a value (say %s VALUE)", spec->name, spec->name);
  *used = true;
  return store(spec, next, arguments, error);
}

bool ss_options_parse(const struct ss_option_spec *specs, int argc, char **argv, void *arguments,
                      struct ss_error *error) {
  const struct ss_option_spec *operand = find_operand(specs);
  bool ended = false;
  SS_AUTO_FREE const struct ss_option_spec **given = ss_alloc_zero((size_t)argc + 1, sizeof *given);
  if (!given) return ss_fail_memory(error, "reading options");
  for (int i = 1; i < argc && argv[i]; i++) {
    const char *argument = argv[i];
    if (!ended && strcmp(argument, "--") == 0) {
      ended = true;
    } else if (ended || argument[0] != '-' || argument[1] == '\0') { /* "-" alone: standard input or output */
      if (!operand) return ss_fail(error, SS_BAD_INPUT, "\"%s\" is left over", argument);
      if (!store(operand, argument, arguments, error)) return false;
    } else {
      bool used = false;
      if (!take_option(specs, argument, i + 1 < argc ? argv[i + 1] : NULL, &used, given, arguments, error))
        return false;
      i += used;
    }
  }
  if (!write_apart(given, arguments, error)) return false;
  return have_say(specs, given, error);
}

void ss_options_free(const struct ss_option_spec *specs, void *arguments) {
  for (; specs->name; specs++) {
    if (specs->kind != SS_TAKES_TEXTS && specs->kind != SS_TAKES_SAID) continue;
    char *from = (char *)arguments + specs->offset;
    void *list;
    memcpy(&list, from, sizeof list);
    free(list);
    memcpy(from, &(void *){NULL}, sizeof list);
  }
}

/* --- help -------------------------------------------------------------------------------------------------- */

enum { INDENT = 23, WIDTH = 118 };

void ss_print_filled(const char *text, size_t at, size_t indent, FILE *stream) {
  while (*text) {
    const size_t line = strcspn(text, "\n"), room = at < WIDTH ? WIDTH - at : 0;
    size_t part = line < room ? line : room;
    while (part < line && part > 0 && text[part] != ' ') part--;
    if (part == 0) part = strcspn(text, " \n"); /* a word that is longer than a line */
    fprintf(stream, "%.*s\n", (int)part, text);
    at = text[part] == ' ' ? indent : 0;
    text += part + (text[part] != '\0');
    if (*text) fprintf(stream, "%*s", (int)at, "");
  }
}

void ss_options_help(const struct ss_option_spec *specs, FILE *stream) {
  for (; specs->name; specs++) {
    if (specs->kind == SS_HEADING) fprintf(stream, "\n%s\n", specs->help);
    if (specs->kind == SS_HEADING || specs->kind == SS_REFUSED || !specs->help) continue;
    int column = fprintf(stream, "  %s", specs->name);
    for (size_t i = 0; specs->choices && specs->choices[i]; i++)
      column += fprintf(stream, "%c%s", i == 0 ? ' ' : '|', specs->choices[i]);
    if (specs->value && !specs->choices) column += fprintf(stream, " %s", specs->value);
    if (column > INDENT - 1) column = fprintf(stream, "\n") - 1;
    column += fprintf(stream, "%*s", INDENT - column, "");
    ss_print_filled(specs->help, (size_t)column, INDENT, stream);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
