/* Reading scenarios/claims/PAPER.json, and choosing claims by name. */
#include "claims/claims.h"

#include "base/data.h"
#include "base/list.h"
#include "base/memory.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ss_claim_verdicts[] = {"reproduced",
                                         "reproduced, depends on estimate",
                                         "direction only",
                                         "not reproduced",
                                         "depends on estimate",
                                         "paper inconsistent",
                                         "arithmetic holds",
                                         "input",
                                         NULL};

void ss_claims_free(struct ss_claims *claims) {
  for (size_t i = 0; i < claims->count; i++) {
    free(claims->claim[i].why);
    free(claims->claim[i].estimate);
    free(claims->claim[i].run);
  }
  free(claims->claim);
  *claims = (struct ss_claims){0};
}

enum { LIMIT = 1 << 22 };

/* Reads and checks all but what only a computation can tell. */
static bool read_file(const char *path, struct ss_claims_file *out, struct ss_error *error) {
  static const char *const keys[] = {"paper", "title", "notes", "inputs", "estimates", "claims", NULL};
  struct ss_node paper, title;
  *out = (struct ss_claims_file){0};
  if (!ss_doc_read(path, LIMIT, &out->doc, error)) return false;
  struct ss_node root = ss_doc_root(out->doc);
  out->inputs = ss_node_get(root, "inputs");
  out->estimates = ss_node_get(root, "estimates");
  bool ok = ss_node_keys(root, keys, error) && ss_node_need(root, "paper", &paper, error) &&
            ss_node_text(paper, &out->paper, error) && ss_node_need(root, "title", &title, error) &&
            ss_node_text(title, &out->title, error) && ss_node_need(root, "claims", &out->claims, error);
  if (ok && !ss_node_is_array(out->claims)) ok = ss_node_fail(out->claims, error, "expected a list of claims");
  if (ok && ss_node_present(out->inputs) && !ss_node_is_object(out->inputs))
    ok = ss_node_fail(out->inputs, error, "expected an object of inputs by name");
  if (ok && ss_node_present(out->estimates) && !ss_node_is_object(out->estimates))
    ok = ss_node_fail(out->estimates, error, "expected an object of lists of estimated inputs by name");
  if (!ok) ss_doc_free(out->doc);
  return ok;
}

bool ss_claims_library_add(struct ss_claims_library *library, const char *path, struct ss_error *error) {
  if (!ss_grow_by_one(library->file, library->count)) return ss_fail_memory(error, "reading claims");
  if (!read_file(path, &library->file[library->count], error)) return false;
  library->count++;
  return true;
}

bool ss_claims_library_shipped(struct ss_claims_library *library, struct ss_error *error) {
  static const char folder[] = "scenarios/claims";
  char **names, relative[PATH_MAX / 2], path[PATH_MAX];
  size_t count;
  if (!ss_data_list_in(folder, &names, &count, error)) return false;
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++) {
    snprintf(relative, sizeof relative, "%s/%s.json", folder, names[i]);
    ok = ss_data_path(relative, path, sizeof path, error) && ss_claims_library_add(library, path, error);
  }
  free(names);
  return ok;
}

void ss_claims_library_close(struct ss_claims_library *library) {
  for (size_t i = 0; i < library->count; i++) ss_doc_free(library->file[i].doc);
  free(library->file);
  *library = (struct ss_claims_library){0};
}

static bool need_text(struct ss_node node, const char *key, const char **out, struct ss_error *error) {
  struct ss_node member;
  return ss_node_need(node, key, &member, error) && ss_node_text(member, out, error);
}

/* A number, or [low, high] of which one may be null. */
static bool read_range(struct ss_node node, struct ss_claim_range *out, struct ss_error *error) {
  *out = (struct ss_claim_range){-INFINITY, INFINITY};
  if (ss_node_is_number(node)) {
    if (!ss_node_quantity(node, SS_NUMBER, &out->low, error)) return false;
    out->high = out->low;
    return true;
  }
  struct ss_node low = ss_node_first(node), high = ss_node_next(low);
  if (!ss_node_is_array(node) || ss_node_size(node) != 2 || (ss_node_is_null(low) && ss_node_is_null(high)))
    return ss_node_fail(node, error, "expected a number or [low, high], one of which may be null");
  if (!ss_node_is_null(low) && !ss_node_quantity(low, SS_NUMBER, &out->low, error)) return false;
  if (!ss_node_is_null(high) && !ss_node_quantity(high, SS_NUMBER, &out->high, error)) return false;
  return out->low <= out->high || ss_node_fail(node, error, "low is above high");
}

/* What ours is compared with: "expect", or what is printed if that is a number. */
static bool read_expectation(struct ss_node node, struct ss_claim *out, struct ss_error *error) {
  struct ss_node printed, expect = ss_node_get(node, "expect"), tolerance = ss_node_get(node, "tolerance"),
                          ends = ss_node_get(node, "ends");
  out->printed = (struct ss_claim_range){NAN, NAN};
  if (!ss_node_need(node, "printed", &printed, error)) return false;
  if (ss_node_is_text(printed)) {
    if (!ss_node_text(printed, &out->printed_text, error)) return false;
    if (ss_node_present(expect) && !read_range(expect, &out->printed, error)) return false;
  } else if (ss_node_present(expect)) {
    return ss_node_fail(expect, error, "\"printed\" is a number already: leave \"expect\" out");
  } else if (!read_range(printed, &out->printed, error)) {
    return false;
  }
  if (ss_node_present(ends) && !ss_node_flag(ends, &out->ends, error)) return false;
  if (out->ends && (!isfinite(out->printed.low) || !isfinite(out->printed.high)))
    return ss_node_fail(ends, error, "there are no two numbers to match: print [low, high]");
  if (isnan(out->printed.low) == ss_node_present(tolerance))
    return ss_node_fail(node, error, "\"tolerance\" is %s",
                        ss_node_present(tolerance)
                            ? "there, but no number to compare with (say \"expect\")"
                            : "missing: how far from the number ours may be, say 0.05 or \"5%\"");
  return true;
}

static bool read_tolerance(struct ss_node node, struct ss_claim *out, struct ss_error *error) {
  struct ss_node tolerance = ss_node_get(node, "tolerance");
  double value;
  if (!ss_node_present(tolerance)) return true;
  return ss_node_text(tolerance, &out->tolerance, error) && ss_node_nonnegative(tolerance, SS_RATIO, &value, error);
}

static bool need_order(struct ss_node node, const struct ss_claim *claim, struct ss_error *error) {
  static const char *const wants[] = {"a claim without a number to compare with", "a claim of class B"};
  if (ss_node_present(ss_node_get(node, "order"))) return true;
  const bool hardware = strcmp(claim->kind, "B") == 0;
  if (!isnan(claim->printed.low) && !hardware) return true;
  return ss_node_fail(node, error, "\"order\" is missing: %s says what ranking or direction is claimed",
                      wants[hardware]);
}

static bool read_claim(const struct ss_claims_file *file, struct ss_node node, struct ss_claim *out,
                       struct ss_error *error) {
  static const char *const keys[] = {
      "id",    "source", "class",        "claim",     "printed", "expect", "unit",  "tolerance", "let",   "ours",
      "order", "input",  "inconsistent", "estimated", "verdict", "why",    "notes", "ends",      "loose", NULL};
  static const char *const kinds[] = {"A", "B", "C", NULL};
  struct ss_node kind, verdict, ours, unit = ss_node_get(node, "unit"), loose = ss_node_get(node, "loose");
  size_t choice, pinned;
  *out = (struct ss_claim){
      .file = file, .node = node, .paper = file->paper, .title = file->title, .factor = NAN, .margin = NAN};
  if (!ss_node_keys(node, keys, error) || !need_text(node, "id", &out->id, error) ||
      !need_text(node, "source", &out->source, error) || !need_text(node, "claim", &out->claim, error) ||
      !ss_node_need(node, "class", &kind, error) || !ss_node_choice(kind, kinds, &choice, error) ||
      !ss_node_need(node, "verdict", &verdict, error) ||
      !ss_node_choice(verdict, ss_claim_verdicts, &pinned, error) || !ss_node_need(node, "ours", &ours, error))
    return false;
  out->kind = kinds[choice];
  out->pinned = (enum ss_claim_verdict)pinned;
  if (ss_node_present(unit) && !ss_node_text(unit, &out->unit, error)) return false;
  if (ss_node_present(loose) && !ss_node_text(loose, &out->loose, error)) return false;
  return read_expectation(node, out, error) && read_tolerance(node, out, error) && need_order(node, out, error);
}

/* --- which claims ------------------------------------------------------------------------------------------- */

bool ss_claims_word_is_file(const char *word) {
  const size_t length = strlen(word);
  return strchr(word, '/') || strcmp(word, "-") == 0 || (length > 5 && strcmp(word + length - 5, ".json") == 0);
}

static bool unique(const struct ss_claims *all, const struct ss_claim *e, struct ss_error *error) {
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->claim[i].id, e->id) == 0)
      return ss_node_fail(e->node, error, "two claims are called \"%s\"", e->id);
  return true;
}

static bool read_all(const struct ss_claims_library *l, struct ss_claims *out, struct ss_error *error) {
  size_t capacity = 0;
  for (size_t i = 0; i < l->count; i++) capacity += ss_node_size(l->file[i].claims);
  *out = (struct ss_claims){.claim = ss_alloc(capacity, sizeof *out->claim)};
  if (!out->claim) return ss_fail_memory(error, "reading claims");
  for (size_t i = 0; i < l->count; i++) {
    for (struct ss_node n = ss_node_first(l->file[i].claims); ss_node_present(n); n = ss_node_next(n)) {
      struct ss_claim *e = &out->claim[out->count];
      if (!read_claim(&l->file[i], n, e, error) || !unique(out, e, error)) return false;
      out->count++;
    }
  }
  return true;
}

static bool names(const char *word, const struct ss_claim *e) {
  return strcmp(word, e->paper) == 0 || strcmp(word, e->id) == 0 ||
         (ss_claims_word_is_file(word) && strcmp(word, ss_doc_name(e->file->doc)) == 0);
}

static bool fail_unknown(const char *word, const struct ss_claims *all, struct ss_error *error) {
  SS_AUTO_FREE const char **known = ss_alloc_zero(2 * all->count + 1, sizeof *known);
  if (!known) return ss_fail_memory(error, "reading claims");
  for (size_t i = 0; i < all->count; i++) {
    known[i] = all->claim[i].paper;
    known[all->count + i] = all->claim[i].id;
  }
  return ss_fail(error, SS_BAD_INPUT, "no paper or claim is called \"%s\"%s", word,
                 ss_suggest(word, known, "sparsync claims --list shows them").text);
}

static bool keep_named(struct ss_claims *all, const char *const *words, size_t count, struct ss_error *error) {
  for (size_t w = 0; w < count; w++) {
    bool found = ss_claims_word_is_file(words[w]);
    for (size_t i = 0; i < all->count && !found; i++) found = names(words[w], &all->claim[i]);
    if (!found) return fail_unknown(words[w], all, error);
  }
  size_t kept = 0;
  for (size_t i = 0; i < all->count; i++) {
    bool wanted = false;
    for (size_t w = 0; w < count && !wanted; w++) wanted = names(words[w], &all->claim[i]);
    if (wanted) all->claim[kept++] = all->claim[i];
  }
  all->count = kept;
  return true;
}

bool ss_claims_choose(const struct ss_claims_library *library, const char *const *words, size_t count,
                      struct ss_claims *out, struct ss_error *error) {
  bool ok = read_all(library, out, error);
  if (ok && count > 0) ok = keep_named(out, words, count, error);
  else if (ok && out->count == 0)
    ok = ss_fail(error, SS_BAD_INPUT, "the data folder has no scenarios/claims (set SPARSYNC_DATA, or name a file)");
  if (ok) return true;
  ss_claims_free(out);
  return false;
}
