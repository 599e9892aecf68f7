/* What the papers print, held against the model. */
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "report/claims.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sparsync claims [PAPER|CLAIM|FILE.json]... [--list] [--format table|json|csv|markdown] [-o FILE]\n"
    "\n"
    "Computes every number of the papers that the model can speak to (scenarios/claims), and compares: printed, "
    "ours,\n"
    "verdict, and why. A verdict is reproduced, same order (ranking and direction hold, the size differs), not "
    "reproduced,\n"
    "paper inconsistent, input (our trace was fitted to it), or depends on estimate (the ranking turns when an "
    "estimated\n"
    "input is halved or doubled). Status 1 when a verdict is not the one that its file pins.\n"
    "\n"
    "  PAPER, CLAIM         embrace, zen, spardl or s2; a claim's id; without any: all\n"
    "  FILE.json            a file of claims of your own\n"
    "  --list               what there is, and the pinned verdicts; nothing is computed\n"
    "  --format FORMAT      table; markdown is docs/claims.md    -o FILE    appears whole or not at all\n"
    "  --jobs N             threads (all cores)                  --quiet    no progress bar\n"
    "\n"
    "examples:\n"
    "  sparsync claims\n"
    "  sparsync claims zen embrace-t1-ratio-bert\n"
    "  sparsync claims --format markdown -o docs/claims.md\n";

enum format { TABLE, JSON, CSV, MARKDOWN };
static const char *const formats[] = {"table", "json", "csv", "markdown", NULL};

struct call {
  const char **word, *output;
  size_t words;
  enum format format;
  bool list, quiet, help;
  unsigned jobs;
};

/* --- options --------------------------------------------------------------------------------------------------- */

static bool read_format(const char *value, enum format *out, struct ss_error *error) {
  for (size_t i = 0; formats[i]; i++)
    if (strcmp(formats[i], value) == 0) {
      *out = (enum format)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "--format: \"%s\" is not table, json, csv or markdown", value);
}

static bool seen(void *context, const char *name, const char *value, struct ss_error *error) {
  struct call *call = context;
  uint64_t jobs;
  if (!name) {
    const char **grown = ss_realloc(call->word, call->words + 1, sizeof *grown);
    if (!grown) return ss_fail_memory(error, "reading options");
    call->word = grown;
    call->word[call->words++] = value;
    return true;
  }
  if (strcmp(name, "format") == 0) return read_format(value, &call->format, error);
  if (strcmp(name, "o") == 0) call->output = value;
  if (strcmp(name, "list") == 0) call->list = true;
  if (strcmp(name, "quiet") == 0) call->quiet = true;
  if (strcmp(name, "help") == 0) call->help = true;
  if (strcmp(name, "jobs") != 0) return true;
  if (!ss_count_parse(value, "--jobs", 1, 1024, &jobs, error)) return false;
  call->jobs = (unsigned)jobs;
  return true;
}

/* --- files ----------------------------------------------------------------------------------------------------- */

/* Words that are files stand for themselves; when all are, what is shipped stays away. */
static bool open_library(struct ss_claims_library *l, const struct call *call, struct ss_error *error) {
  size_t files = 0;
  for (size_t i = 0; i < call->words; i++) {
    if (!ss_claims_word_is_file(call->word[i])) continue;
    files++;
    if (!ss_claims_library_add(l, call->word[i], error)) return false;
  }
  return (files > 0 && files == call->words) || ss_claims_library_shipped(l, error);
}

/* --- the work -------------------------------------------------------------------------------------------------- */

static void step(void *context) {
  ss_progress_step(context);
}

static bool judge_all(const struct call *call, struct ss_claims *claims, struct ss_error *error) {
  struct ss_progress progress = ss_progress_begin("claims", claims->count, call->quiet);
  const bool ok = ss_claims_judge(claims, call->jobs, step, &progress, error);
  ss_progress_end(&progress);
  return ok;
}

static void print_list(const struct ss_claims *claims, FILE *stream) {
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    fprintf(stream, "%-44s %s  %-20s %s\n", c->id, c->kind, ss_claim_verdicts[c->pinned], c->claim);
  }
}

static bool print(const struct call *call, const struct ss_claims *claims, struct ss_error *error) {
  static bool (*const printers[])(const struct ss_claims *, FILE *, struct ss_error *) = {
      ss_claims_table, ss_claims_json, ss_claims_csv, ss_claims_markdown};
  struct ss_output output;
  if (!ss_output_open(call->output, &output, error)) return false;
  bool ok = true;
  if (call->list) print_list(claims, output.stream);
  else ok = printers[call->format](claims, output.stream, error);
  if (ok) return ss_output_commit(&output, error);
  ss_output_discard(&output);
  return false;
}

static bool as_pinned(const struct ss_claims *claims, struct ss_error *error) {
  const struct ss_claim *first = NULL;
  size_t changed = 0;
  for (size_t i = 0; i < claims->count; i++) {
    if (claims->claim[i].verdict == claims->claim[i].pinned) continue;
    if (!first) first = &claims->claim[i];
    changed++;
  }
  return !first || ss_fail(error, SS_UNPROVEN, "%zu verdict%s changed: %s is \"%s\" and pinned as \"%s\"%s", changed,
                           changed == 1 ? " has" : "s have", first->id, ss_claim_verdicts[first->verdict],
                           ss_claim_verdicts[first->pinned], changed > 1 ? " (the table marks all)" : "");
}

static bool work(const struct call *call, struct ss_error *error) {
  struct ss_claims_library library = {0};
  struct ss_claims claims = {0};
  bool ok =
      open_library(&library, call, error) && ss_claims_choose(&library, call->word, call->words, &claims, error);
  if (ok && call->list) ok = print(call, &claims, error);
  else ok = ok && judge_all(call, &claims, error) && print(call, &claims, error) && as_pinned(&claims, error);
  ss_claims_free(&claims);
  ss_claims_library_close(&library);
  return ok;
}

static bool run(int argc, char **argv, struct ss_error *error) {
  static const struct ss_option_spec specs[] = {{"list", false},  {"format", true}, {"o", true},   {"jobs", true},
                                                {"quiet", false}, {"help", false},  {.name = NULL}};
  struct call call = {0};
  bool ok = ss_options_parse(argc, argv, specs, seen, &call, error);
  if (ok && call.list && call.format != TABLE)
    ok = ss_fail(error, SS_BAD_INPUT, "--list prints a table (sparsync list claims has --format)");
  if (ok) ok = call.help ? fputs(help, stdout) >= 0 : work(&call, error);
  free(call.word);
  return ok;
}

const struct ss_command ss_command_claims = {
    .name = "claims", .summary = "what the papers print, and what the model gives", .help = help, .run = run};
