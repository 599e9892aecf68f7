#include "base/options.h"

#include "base/json.h"
#include "base/memory.h"

#include <string.h>

struct parse {
  const struct ss_option_spec *specs;
  bool (*seen)(void *context, const char *name, const char *value, struct ss_error *error);
  void *context;
  struct ss_error *error;
};

static const char *dashes(const char *name) {
  return strlen(name) == 1 ? "-" : "--";
}

/* The option that the first `length` bytes of `argument`, dashes included, spell; NULL when none. */
static const struct ss_option_spec *find(const struct ss_option_spec *specs, const char *argument, size_t length) {
  for (; specs->name != NULL; specs++) {
    const size_t name = strlen(specs->name), skip = length > name ? length - name : 0;
    const bool dashed =
        (skip == 2 && strncmp(argument, "--", 2) == 0) || (skip == 1 && name == 1 && *argument == '-');
    if (dashed && strncmp(argument + skip, specs->name, name) == 0) return specs;
  }
  return NULL;
}

static bool fail_unknown(const struct parse *parse, const char *argument, size_t length) {
  size_t count = 0;
  while (parse->specs[count].name != NULL) count++;
  SS_AUTO_FREE const char **names = ss_alloc_zero(count + 1, sizeof *names);
  SS_AUTO_FREE char *word = ss_alloc_zero(length + 1, 1);
  if (names == NULL || word == NULL) return ss_fail_memory(parse->error, "reading options");

  for (size_t i = 0; i < count; i++) names[i] = parse->specs[i].name;
  const size_t skip = strspn(argument, "-");
  memcpy(word, argument + skip, length - skip);
  const char *near = ss_nearest(word, names);
  if (near == NULL)
    return ss_fail(parse->error, SS_BAD_INPUT, "unknown option \"%.*s\" (--help lists them)", (int)length, argument);
  return ss_fail(parse->error, SS_BAD_INPUT, "unknown option \"%.*s\" (did you mean %s%s?)", (int)length, argument,
                 dashes(near), near);
}

/* Whether `argument` cannot be the value of the option before it: "--scheme --ranks 4" has forgotten one. */
static bool is_option(const struct parse *parse, const char *argument) {
  return strncmp(argument, "--", 2) == 0 || find(parse->specs, argument, strlen(argument)) != NULL;
}

/* Handles one option; *next is the argument behind it, set to NULL when it was used as the value. */
static bool take_option(const struct parse *parse, const char *argument, const char **next) {
  const bool is_long = argument[1] == '-';
  const char *equals = is_long ? strchr(argument, '=') : NULL;
  const size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
  const struct ss_option_spec *spec = find(parse->specs, argument, length);
  if (spec == NULL) return fail_unknown(parse, argument, length);

  const char *before = dashes(spec->name);
  if (!spec->takes_value) {
    if (equals != NULL)
      return ss_fail(parse->error, SS_BAD_INPUT, "%s%s takes no value, but got \"%s\"", before, spec->name,
                     equals + 1);
    return parse->seen(parse->context, spec->name, NULL, parse->error);
  }
  if (equals != NULL) return parse->seen(parse->context, spec->name, equals + 1, parse->error);
  if (*next == NULL || is_option(parse, *next))
    return ss_fail(parse->error, SS_BAD_INPUT, "%s%s needs a value (say %s%s VALUE)", before, spec->name, before,
                   spec->name);
  const char *value = *next;
  *next = NULL;
  return parse->seen(parse->context, spec->name, value, parse->error);
}

bool ss_options_parse(int argc, char **argv, const struct ss_option_spec *specs,
                      bool (*seen)(void *context, const char *name, const char *value, struct ss_error *error),
                      void *context, struct ss_error *error) {
  const struct parse parse = {specs, seen, context, error};
  bool ended = false;
  for (int i = 1; i < argc && argv[i] != NULL; i++) {
    const char *argument = argv[i];
    if (!ended && strcmp(argument, "--") == 0) {
      ended = true;
      continue;
    }
    if (ended || argument[0] != '-' || argument[1] == '\0') { /* "-" alone means standard input or output */
      if (!seen(context, NULL, argument, error)) return false;
      continue;
    }
    const char *next = i + 1 < argc ? argv[i + 1] : NULL;
    const bool had_next = next != NULL;
    if (!take_option(&parse, argument, &next)) return false;
    if (had_next && next == NULL) i++;
  }
  return true;
}
