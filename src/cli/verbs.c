#include "cli/verbs.h"

#include "base/json.h"
#include "cli/request.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 16 };

static bool wants_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0) return true;
  return false;
}

static bool print_help(const char *text, struct ss_error *error) {
  return ss_help_print((const char *const[]){text, NULL}, error);
}

/* "import, synth or fit" */
static const char *list(const struct ss_verbs *v, char *text, size_t size) {
  text[0] = '\0';
  for (size_t i = 0; v->verb[i]; i++) {
    const char *between = i == 0 ? "" : v->verb[i + 1] ? ", " : " or ";
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s%s", between, v->verb[i]->name);
  }
  return text;
}

static bool fail_verb(const struct ss_verbs *v, const char *name, struct ss_error *error) {
  const char *names[ROOM] = {NULL};
  char all[200];
  for (size_t i = 0; v->verb[i] && i + 1 < ROOM; i++) names[i] = v->verb[i]->name;
  const char *near = ss_nearest(name, names);
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%s\" is not %s%s%s%s", v->command, name, list(v, all, sizeof all),
                 near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

bool ss_verbs_run(const struct ss_verbs *v, int argc, char **argv, struct ss_error *error) {
  char all[200];
  if (argc < 2)
    return ss_fail(error, SS_BAD_INPUT, "%s: say what to do: %s (--help tells more)", v->command,
                   list(v, all, sizeof all));
  if (strcmp(argv[1], "--help") == 0) return print_help(v->help, error);
  for (size_t i = 0; v->verb[i]; i++) {
    if (strcmp(argv[1], v->verb[i]->name) != 0) continue;
    if (wants_help(argc - 1, argv + 1)) return print_help(v->verb[i]->help, error);
    return v->verb[i]->run(argc - 1, argv + 1, error);
  }
  return fail_verb(v, argv[1], error);
}
