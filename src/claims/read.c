/* Reading scenarios/claims/PAPER.json, and choosing claims by name. */
#include "claims/estimates.h"

#include "base/data.h"
#include "query/calibrate_training_request.h"
#include "query/pick.h"

const char *const ss_claim_verdicts[] = {"reproduced",
                                         "reproduced, depends on estimate",
                                         "predicted",
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
  for (size_t i = 0; i < claims->files; i++) ss_doc_free(claims->file[i].doc);
  free(claims->file);
  *claims = (struct ss_claims){0};
}

/* --- fields ------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"A", "B", "C", NULL};

static bool read_class(struct ss_node node, void *out, struct ss_error *error) {
  size_t choice;
  if (!ss_node_choice(node, kinds, &choice, error)) return false;
  *(const char **)out = kinds[choice];
  return true;
}

static const struct ss_field_spec truth_forms[] = {
    {NULL, NULL, SS_IS_FLAG}, {NULL, NULL, SS_IS_EITHER(ss_expression_forms)}, {.name = NULL}};
static const struct ss_field_spec number = {NULL, NULL, SS_IS_NUMBER, .nullable = true},
                                  expression = {NULL, NULL, SS_IS_EITHER(ss_expression_forms)},
                                  range_forms[] = {{NULL, NULL, SS_IS_NUMBER},
                                                   {NULL, NULL, SS_IS_LIST(&number, 2, 2)},
                                                   {.name = NULL}},
                                  printed_forms[] = {{NULL, NULL, SS_IS_TEXT},
                                                     {NULL, NULL, SS_IS_EITHER(range_forms)},
                                                     {.name = NULL}},
                                  ours_forms[] = {{NULL, NULL, SS_IS_EITHER(ss_expression_forms)},
                                                  {NULL, "[low, high]", SS_IS_LIST(&expression, 2, 2)},
                                                  {.name = NULL}},
                                  estimate = {NULL, NULL, SS_IS_OBJECT(&ss_estimate_fields)},
                                  estimated_forms[] = {{NULL, NULL, SS_IS_LIST(&estimate, 0, SS_CLAIM_ESTIMATES)},
                                                       {NULL, "a list of \"estimates\"", SS_IS_NAME},
                                                       {.name = NULL}};
#define PART(member) SS_STORED(struct ss_claim, member)
static const struct ss_field_spec claim_fields[] = {
    {"id", NULL, SS_IS_NAME, .required = true, PART(id)},
    {"source", "where it is printed", SS_IS_NAME, .required = true, PART(source)},
    {"class", NULL, SS_IS_CHOICE(kinds), .required = true, .read = read_class, PART(kind)},
    {"claim", "in words", SS_IS_NAME, .required = true, PART(claim)},
    {"printed", NULL, SS_IS_EITHER(printed_forms), .required = true},
    {"expect", "what ours is compared with where printed is a text", SS_IS_EITHER(range_forms)},
    {"ends", "printed is the least and the most of several: ours are to match both (to lie between)", SS_IS_FLAG,
     PART(ends)},
    {"unit", NULL, SS_IS_TEXT, PART(unit)},
    {"tolerance", "in the unit, or in % of the bound", SS_IS_TEXT, PART(tolerance)},
    {"let", NULL, SS_IS_OBJECT(&ss_picks_fields)},
    {"ours", NULL, SS_IS_EITHER(ours_forms), .required = true},
    {"order", "not 0: the claimed ranking or direction holds", SS_IS_EITHER(ss_expression_forms)},
    {"input", "our input was fitted to it", SS_IS_EITHER(truth_forms)},
    {"loose", "why nearly anything would pass", SS_IS_NAME, PART(loose)},
    {"inconsistent", "not 0: the paper contradicts itself", SS_IS_EITHER(ss_expression_forms)},
    {"estimated", NULL, SS_IS_EITHER(estimated_forms)},
    {"predicted", NULL, SS_IS_OBJECT(&ss_prediction_fields)},
    {"verdict", NULL, SS_IS_CHOICE(ss_claim_verdicts), .required = true, PART(pinned)},
    {"why", "{name} is replaced by the value of that name", SS_IS_NAME, .required = true},
    SS_SPEC_NOTES,
    {.name = NULL}};
static const struct ss_object_spec claim_spec = {.name = "claim", .field = claim_fields};

static const struct ss_field_spec a_reason = {NULL, NULL, SS_IS_NAME};
static const struct ss_object_spec reasons_spec = {.says = "why it is no estimate, by path", .others = &a_reason};
static const struct ss_field_spec an_input_given = {NULL, NULL, SS_IS_OBJECT(&reasons_spec)};
static const struct ss_object_spec given_spec = {.says = "of inputs by name: what is open in others and not in them",
                                                 .others = &an_input_given};
static const struct ss_field_spec a_fit = {NULL, NULL, SS_IS_OBJECT(&ss_calibrate_training_fields)};
static const struct ss_object_spec fits_spec = {.says = "what is inferred from a table of times, by name",
                                                .others = &a_fit};
static const struct ss_field_spec a_claim = {NULL, NULL, SS_IS_OBJECT(&claim_spec)};
static const struct ss_object_spec lists_spec = {.says = "lists of estimated inputs by name",
                                                 .others = &estimated_forms[0]};
static const struct ss_field_spec file_fields[] = {
    {"paper", NULL, SS_IS_NAME, .required = true, SS_STORED(struct ss_claims_file, paper)},
    {"title", NULL, SS_IS_NAME, .required = true, SS_STORED(struct ss_claims_file, title)},
    SS_SPEC_NOTES,
    {"inputs", NULL, SS_IS_OBJECT(&ss_inputs_fields), SS_STORED(struct ss_claims_file, inputs)},
    {"estimates", NULL, SS_IS_OBJECT(&lists_spec), SS_STORED(struct ss_claims_file, estimates)},
    {"given", NULL, SS_IS_OBJECT(&given_spec), SS_STORED(struct ss_claims_file, given)},
    {"fits", NULL, SS_IS_OBJECT(&fits_spec), SS_STORED(struct ss_claims_file, fits)},
    {"claims", NULL, SS_IS_LIST(&a_claim, 0, 0), .required = true, SS_STORED(struct ss_claims_file, claims)},
    {.name = NULL}};
const struct ss_object_spec ss_claims_fields = {
    .title = "A file of claims (scenarios/claims; several may be one paper's)",
    .says = "What a paper prints, how ours is computed, and the verdict that is pinned.",
    .field = file_fields};

/* --- files --------------------------------------------------------------------------------------------------- */

enum { LIMIT = 1 << 22 };

static bool add_file(struct ss_claims *claims, const char *path, struct ss_error *error) {
  if (!ss_grow_by_one(claims->file, claims->files)) return ss_fail_memory(error, "reading claims");
  struct ss_claims_file *file = &claims->file[claims->files++];
  *file = (struct ss_claims_file){0};
  return ss_doc_read(path, LIMIT, &file->doc, error) &&
         ss_object_read(&ss_claims_fields, ss_doc_root(file->doc), file, error) &&
         ss_estimates_check_given(file, error);
}

/* All of scenarios/claims, by name. */
static bool add_shipped(struct ss_claims *claims, struct ss_error *error) {
  static const char folder[] = "scenarios/claims";
  SS_AUTO_FREE char **names = NULL;
  char relative[PATH_MAX / 2], path[PATH_MAX];
  size_t count;
  if (!ss_data_list_in(folder, &names, &count, error)) return false;
  for (size_t i = 0; i < count; i++) {
    snprintf(relative, sizeof relative, "%s/%s.json", folder, names[i]);
    if (!ss_data_path(relative, path, sizeof path, error) || !add_file(claims, path, error)) return false;
  }
  return true;
}

static bool is_file(const char *word) {
  const size_t length = strlen(word);
  return strchr(word, '/') || strcmp(word, "-") == 0 || (length > 5 && strcmp(word + length - 5, ".json") == 0);
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
  struct ss_node printed = ss_node_get(node, "printed"), expect = ss_node_get(node, "expect"),
                 tolerance = ss_node_get(node, "tolerance");
  out->printed = (struct ss_claim_range){NAN, NAN};
  if (ss_node_is_text(printed)) {
    if (!ss_node_text(printed, &out->printed_text, error)) return false;
    if (ss_node_present(expect) && !read_range(expect, &out->printed, error)) return false;
  } else if (ss_node_present(expect)) {
    return ss_node_fail(expect, error, "\"printed\" is a number already: leave \"expect\" out");
  } else if (!read_range(printed, &out->printed, error)) {
    return false;
  }
  if (out->ends && (!isfinite(out->printed.low) || !isfinite(out->printed.high)))
    return ss_node_fail(ss_node_get(node, "ends"), error, "there are no two numbers to match: print [low, high]");
  if (isnan(out->printed.low) == ss_node_present(tolerance))
    return ss_node_fail(node, error, "\"tolerance\" is %s",
                        ss_node_present(tolerance)
                            ? "there, but no number to compare with (say \"expect\")"
                            : "missing: how far from the number ours may be, say 0.05 or \"5%\"");
  return true;
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
  const struct ss_node tolerance = ss_node_get(node, "tolerance");
  double value;
  *out = (struct ss_claim){
      .file = file, .node = node, .paper = file->paper, .title = file->title, .factor = NAN, .margin = NAN};
  return ss_object_read(&claim_spec, node, out, error) && read_expectation(node, out, error) &&
         (!ss_node_present(tolerance) || ss_node_nonnegative(tolerance, SS_RATIO, &value, error)) &&
         need_order(node, out, error);
}

/* --- which claims ------------------------------------------------------------------------------------------- */

static bool unique(const struct ss_claims *all, const struct ss_claim *e, struct ss_error *error) {
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->claim[i].id, e->id) == 0)
      return ss_node_fail(e->node, error, "two claims are called \"%s\"", e->id);
  return true;
}

static bool read_all(struct ss_claims *out, struct ss_error *error) {
  size_t capacity = 0;
  for (size_t i = 0; i < out->files; i++) capacity += ss_node_size(out->file[i].claims);
  out->claim = ss_alloc(capacity, sizeof *out->claim);
  if (!out->claim) return ss_fail_memory(error, "reading claims");
  for (size_t i = 0; i < out->files; i++) {
    for (struct ss_node n = ss_node_first(out->file[i].claims); ss_node_present(n); n = ss_node_next(n)) {
      struct ss_claim *e = &out->claim[out->count];
      if (!read_claim(&out->file[i], n, e, error) || !unique(out, e, error)) return false;
      out->count++;
    }
  }
  return true;
}

static bool names(const char *word, const struct ss_claim *e) {
  return strcmp(word, e->paper) == 0 || strcmp(word, e->id) == 0 ||
         (is_file(word) && strcmp(word, ss_doc_name(e->file->doc)) == 0);
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
    bool found = is_file(words[w]);
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

bool ss_claims_open(const char *const *words, size_t count, struct ss_claims *out, struct ss_error *error) {
  size_t files = 0;
  *out = (struct ss_claims){0};
  for (size_t i = 0; i < count; i++) {
    if (!is_file(words[i])) continue;
    if (!add_file(out, words[i], error)) return false;
    files++;
  }
  return ((count > 0 && files == count) || add_shipped(out, error)) && read_all(out, error) &&
         (count == 0 || keep_named(out, words, count, error));
}
/* SPDX-License-Identifier: Apache-2.0 */
