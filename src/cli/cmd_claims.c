/* What the papers print, held against the model. */
#include "base/file.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "claims/claims.h"
#include "cli/command.h"
#include "cli/progress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum format { TABLE, JSON, CSV, MARKDOWN };
static const char *const formats[] = {"table", "json", "csv", "markdown", NULL};

struct arguments {
  struct ss_call call;
  unsigned format; /* enum format */
  bool list;
};

/* --- files ----------------------------------------------------------------------------------------------------- */

static bool is_file(const char *word) {
  const size_t length = strlen(word);
  return strchr(word, '/') || (length > 5 && strcmp(word + length - 5, ".json") == 0);
}

/* Words that are files stand for themselves; when all are, what is shipped stays away. */
static bool open_library(struct ss_claims_library *l, const struct ss_call *call, struct ss_error *error) {
  size_t files = 0;
  for (size_t i = 0; i < call->operands; i++) {
    if (!is_file(call->operand[i])) continue;
    files++;
    if (!ss_claims_library_add(l, call->operand[i], error)) return false;
  }
  return (files > 0 && files == call->operands) || ss_claims_library_shipped(l, error);
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
  return ss_fail(error, SS_BAD_INPUT, "no paper or claim is called \"%s\"%s", word,
                 ss_suggest(word, known, "sparsync claims --list shows them").text);
}

/* Keeps what the words name, in the order of the files. */
static bool choose(const struct ss_call *call, struct entries *all, struct ss_error *error) {
  if (call->operands == 0)
    return all->count > 0 || ss_fail(error, SS_BAD_INPUT,
                                     "the data folder has no scenarios/claims (set SPARSYNC_DATA, or name a file)");
  for (size_t w = 0; w < call->operands; w++) {
    bool found = is_file(call->operand[w]);
    for (size_t i = 0; i < all->count && !found; i++) found = names(call->operand[w], &all->entry[i]);
    if (!found) return fail_unknown(call->operand[w], all, error);
  }
  size_t kept = 0;
  for (size_t i = 0; i < all->count; i++) {
    bool wanted = false;
    for (size_t w = 0; w < call->operands && !wanted; w++) wanted = names(call->operand[w], &all->entry[i]);
    if (wanted) all->entry[kept++] = all->entry[i];
  }
  all->count = kept;
  return true;
}

/* --- the work -------------------------------------------------------------------------------------------------- */

static bool judge_all(const struct ss_call *call, struct entries *all, struct ss_claims *out,
                      struct ss_error *error) {
  struct ss_claims_cache cache = {.jobs = call->options.jobs};
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

struct answer {
  const struct arguments *arguments;
  const struct entries *all;
  const struct ss_claims *claims;
};

static bool print(const void *context, FILE *stream, struct ss_error *error) {
  static bool (*const printers[])(const struct ss_claims *, FILE *, struct ss_error *) = {
      ss_claims_table, ss_claims_json, ss_claims_csv, ss_claims_markdown};
  const struct answer *a = context;
  if (!a->arguments->list) return printers[a->arguments->format](a->claims, stream, error);
  print_list(a->all, stream);
  return true;
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

static bool run(struct ss_call *call, struct ss_error *error) {
  const struct arguments *a = (const struct arguments *)call;
  struct ss_claims_library library = {0};
  struct entries all = {0};
  struct ss_claims claims = {0};
  if (a->list && a->format != TABLE)
    return ss_fail(error, SS_BAD_INPUT, "--list prints a table (sparsync list claims has --format)");
  bool ok = open_library(&library, call, error) && read_all(&library, &all, error) && choose(call, &all, error);
  if (ok && !a->list) {
    claims.claim = ss_alloc_zero(all.count, sizeof *claims.claim);
    ok = claims.claim ? judge_all(call, &all, &claims, error) : ss_fail_memory(error, "judging claims");
  }
  ok = ok && ss_output_write(call->output, print, &(struct answer){a, &all, &claims}, error) &&
       as_pinned(&claims, error);
  ss_claims_free(&claims);
  free(all.entry);
  ss_claims_library_close(&library);
  return ok;
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--list", SS_FLAG(struct arguments, list),
     .help = "what there is, and the pinned verdicts; nothing is computed"},
    {"--format", SS_CHOICE(struct arguments, format, formats),
     .help = "how to write (table); markdown is docs/claims.md"},
    SS_OPTION_OUTPUT,
    SS_OPTION_QUIET,
    SS_OPTION_JOBS,
    {.name = NULL}};

const struct ss_command ss_command_claims = {
    .name = "claims",
    .summary = "what the papers print, and what the model gives",
    .usage =
        "usage: sparsync claims [PAPER|CLAIM|FILE.json]... [OPTION...]\n"
        "\n"
        "Computes every number of the papers that the model can speak to (scenarios/claims), and compares: printed, "
        "ours,\n"
        "verdict, and why. A verdict is reproduced, same order (ranking and direction hold, the size differs), not "
        "reproduced,\n"
        "paper inconsistent, input (our trace was fitted to it), or depends on estimate (the ranking turns when an "
        "estimated\n"
        "input is halved or doubled). Status 1 when a verdict is not the one that its file pins.\n"
        "\n"
        "PAPER is embrace, zen, spardl or s2, CLAIM a claim's id; without any: all. FILE.json has claims of your "
        "own.\n",
    .examples = "examples:\n"
                "  sparsync claims\n"
                "  sparsync claims zen embrace-t1-ratio-bert\n"
                "  sparsync claims --format markdown -o docs/claims.md\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
