/* What the papers print, held against the model. */
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "claims/claims.h"
#include "cli/command.h"
#include "cli/progress.h"

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
    if (!ss_grow_by_one(call->word, call->words)) return ss_fail_memory(error, "reading options");
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

static bool is_file(const char *word) {
  const size_t length = strlen(word);
  return strchr(word, '/') || (length > 5 && strcmp(word + length - 5, ".json") == 0);
}

/* Words that are files stand for themselves; when all are, what is shipped stays away. */
static bool open_library(struct ss_claims_library *l, const struct call *call, struct ss_error *error) {
  size_t files = 0;
  for (size_t i = 0; i < call->words; i++) {
    if (!is_file(call->word[i])) continue;
    files++;
    if (!ss_claims_library_add(l, call->word[i], error)) return false;
  }
  return (files > 0 && files == call->words) || ss_claims_library_shipped(l, error);
}

/* --- which claims ---------------------------------------------------------------------------------------------- */

struct entry {
  const struct ss_claims_file *file;
  struct ss_node node;
  struct ss_claim claim;
};

struct entries {
  struct entry *entry;
  size_t count;
};

static bool unique(const struct entries *all, const struct entry *e, struct ss_error *error) {
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->entry[i].claim.id, e->claim.id) == 0)
      return ss_node_fail(e->node, error, "two claims are called \"%s\"", e->claim.id);
  return true;
}

static bool read_all(const struct ss_claims_library *l, struct entries *out, struct ss_error *error) {
  size_t capacity = 0;
  for (size_t i = 0; i < l->count; i++) capacity += ss_node_size(l->file[i].claims);
  *out = (struct entries){.entry = ss_alloc(capacity, sizeof *out->entry)};
  if (!out->entry) return ss_fail_memory(error, "reading claims");
  for (size_t i = 0; i < l->count; i++) {
    for (struct ss_node n = ss_node_first(l->file[i].claims); ss_node_present(n); n = ss_node_next(n)) {
      struct entry *e = &out->entry[out->count];
      *e = (struct entry){.file = &l->file[i], .node = n};
      if (!ss_claim_read(e->file, n, &e->claim, error) || !unique(out, e, error)) return false;
      out->count++;
    }
  }
  return true;
}

static bool names(const char *word, const struct entry *e) {
  return strcmp(word, e->claim.paper) == 0 || strcmp(word, e->claim.id) == 0 ||
         (is_file(word) && strcmp(word, ss_doc_name(e->file->doc)) == 0);
}

static bool fail_unknown(const char *word, const struct entries *all, struct ss_error *error) {
  SS_AUTO_FREE const char **known = ss_alloc_zero(2 * all->count + 1, sizeof *known);
  if (!known) return ss_fail_memory(error, "reading claims");
  for (size_t i = 0; i < all->count; i++) {
    known[i] = all->entry[i].claim.paper;
    known[all->count + i] = all->entry[i].claim.id;
  }
  const char *near = ss_nearest(word, known);
  return ss_fail(error, SS_BAD_INPUT, "no paper or claim is called \"%s\"%s%s%s", word,
                 near ? " (did you mean \"" : " (sparsync claims --list shows them)", near ? near : "",
                 near ? "\"?)" : "");
}

/* Keeps what the words name, in the order of the files. */
static bool choose(const struct call *call, struct entries *all, struct ss_error *error) {
  if (call->words == 0)
    return all->count > 0 || ss_fail(error, SS_BAD_INPUT,
                                     "the data folder has no scenarios/claims (set SPARSYNC_DATA, or name a file)");
  for (size_t w = 0; w < call->words; w++) {
    bool found = is_file(call->word[w]);
    for (size_t i = 0; i < all->count && !found; i++) found = names(call->word[w], &all->entry[i]);
    if (!found) return fail_unknown(call->word[w], all, error);
  }
  size_t kept = 0;
  for (size_t i = 0; i < all->count; i++) {
    bool wanted = false;
    for (size_t w = 0; w < call->words && !wanted; w++) wanted = names(call->word[w], &all->entry[i]);
    if (wanted) all->entry[kept++] = all->entry[i];
  }
  all->count = kept;
  return true;
}

/* --- the work -------------------------------------------------------------------------------------------------- */

static bool judge_all(const struct call *call, struct entries *all, struct ss_claims *out, struct ss_error *error) {
  struct ss_claims_cache cache = {.jobs = call->jobs};
  struct ss_progress progress = ss_progress_begin("claims", all->count, call->quiet);
  bool ok = true;
  for (size_t i = 0; ok && i < all->count; i++) {
    out->claim[out->count] = all->entry[i].claim;
    ok = ss_claim_judge(&cache, all->entry[i].file, all->entry[i].node, &out->claim[out->count++], error);
    ss_progress_step(&progress);
  }
  ss_progress_end(&progress);
  ss_claims_cache_free(&cache);
  return ok;
}

static void print_list(const struct entries *all, FILE *stream) {
  for (size_t i = 0; i < all->count; i++) {
    const struct ss_claim *c = &all->entry[i].claim;
    fprintf(stream, "%-44s %s  %-20s %s\n", c->id, c->kind, ss_claim_verdicts[c->pinned], c->claim);
  }
}

static bool print(const struct call *call, const struct entries *all, const struct ss_claims *claims,
                  struct ss_error *error) {
  static bool (*const printers[])(const struct ss_claims *, FILE *, struct ss_error *) = {
      ss_claims_table, ss_claims_json, ss_claims_csv, ss_claims_markdown};
  struct ss_output output;
  if (!ss_output_open(call->output, &output, error)) return false;
  bool ok = true;
  if (call->list) print_list(all, output.stream);
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
  struct entries all = {0};
  struct ss_claims claims = {0};
  bool ok = open_library(&library, call, error) && read_all(&library, &all, error) && choose(call, &all, error);
  if (ok && !call->list) {
    claims.claim = ss_alloc_zero(all.count, sizeof *claims.claim);
    ok = claims.claim ? judge_all(call, &all, &claims, error) : ss_fail_memory(error, "judging claims");
  }
  ok = ok && print(call, &all, &claims, error) && as_pinned(&claims, error);
  ss_claims_free(&claims);
  free(all.entry);
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
