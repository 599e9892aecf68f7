#include "base/json.h"
#include "claims/claims.h"
#include "report/table.h"
#include "report/tables.h"

static const char *const meanings[] = {
    ("by a model: ours is within the tolerance of what is printed, and the ranking holds, also with every estimated "
     "input halved and doubled"),
    "so with our estimates, but not with every one of them halved and doubled",
    ("neither, but the part that no paper prints, inferred from other numbers of the same testbed, foretells it: "
     "within "
     "its stated range and within 15%"),
    "ranking and direction hold, the size differs by the factor that is printed beside it",
    "ranking or direction does not hold, or the number is another",
    "ranking or direction turns when an estimated input is halved or doubled",
    "the paper contradicts its own definitions or numbers",
    "printed numbers against printed numbers: no model was asked",
    "our input was fitted to this number: it cannot count as reproduced",
};
enum { VERDICTS = sizeof meanings / sizeof *meanings };

/* --- cells -------------------------------------------------------------------------------------------------- */

enum { CELL = 320 };

static const char *range_text(char *text, const struct ss_claim_range *r, const char *unit) {
  char low[32], high[32];
  snprintf(low, sizeof low, "%.5g", r->low);
  snprintf(high, sizeof high, "%.5g", r->high);
  const char *blank = unit ? " " : "", *behind = unit ? unit : "";
  if (isnan(r->low)) snprintf(text, CELL, "no number");
  else if (isinf(r->high)) snprintf(text, CELL, "at least %s%s%s", low, blank, behind);
  else if (isinf(r->low)) snprintf(text, CELL, "at most %s%s%s", high, blank, behind);
  else if (strcmp(low, high) == 0) snprintf(text, CELL, "%s%s%s", low, blank, behind);
  else snprintf(text, CELL, "%s to %s%s%s", low, high, blank, behind);
  return text;
}

static const char *times(const struct ss_claim_estimate *e) {
  return e->factor ? "x " : "";
}

static const char *printed_text(char *text, const struct ss_claim *c) {
  return c->printed_text ? c->printed_text : range_text(text, &c->printed, c->unit);
}

/* "": there is none. */
static const char *prediction_text(char *text, const struct ss_claim *c) {
  const struct ss_claim_prediction *p = &c->predicted;
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < p->ends; i++)
    used += (size_t)snprintf(text + used, CELL - used, "%s%.4g (%.4g to %.4g)", i ? " and " : "", p->end[i].value,
                             p->end[i].low, p->end[i].high);
  if (p->ends)
    snprintf(text + used, CELL - used, ", from %zu other numbers by %zu unknown%s", p->numbers, p->unknowns,
             p->unknowns == 1 ? "" : "s");
  return text;
}

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

/* Printed, a number that is not finite is null. */
static cJSON *range_json(const struct ss_claim_range *r) {
  if (isnan(r->low)) return cJSON_CreateNull();
  return r->low == r->high ? cJSON_CreateNumber(r->low)
                           : cJSON_CreateDoubleArray((const double[]){r->low, r->high}, 2);
}

static cJSON *prediction_json(const struct ss_claim_prediction *p) {
  if (p->ends == 0) return cJSON_CreateNull();
  cJSON *o = ss_json_object(SS_N("numbers", (double)p->numbers), SS_N("unknowns", (double)p->unknowns)),
        *ends = cJSON_AddArrayToObject(o, "foretold");
  for (size_t i = 0; i < p->ends; i++)
    cJSON_AddItemToArray(ends, ss_json_object(SS_N("value", p->end[i].value), SS_N("low", p->end[i].low),
                                              SS_N("high", p->end[i].high)));
  return o;
}

static cJSON *claim_json(const struct ss_claim *c) {
  cJSON *o = ss_json_object(
      SS_T("id", c->id), SS_T("paper", c->paper), SS_T("source", c->source), SS_T("class", c->kind),
      SS_T("claim", c->claim),
      SS_J("printed", c->printed_text ? cJSON_CreateString(c->printed_text) : range_json(&c->printed)),
      SS_J("ours", range_json(&c->ours)), SS_T("unit", c->unit), SS_T("tolerance", c->tolerance),
      SS_T("verdict", ss_claim_verdicts[c->verdict]), SS_T("pinned", ss_claim_verdicts[c->pinned]),
      SS_N("factor", c->factor), SS_N("margin", c->margin), SS_J("predicted", prediction_json(&c->predicted)),
      SS_J("over", c->estimates ? range_json(&c->over) : cJSON_CreateNull()), SS_T("loose", c->loose),
      SS_T("why", c->why));
  cJSON *runs = cJSON_AddArrayToObject(o, "runs");
  for (size_t i = 0; i < c->runs; i++) cJSON_AddItemToArray(runs, cJSON_CreateString(c->run[i]));
  cJSON *estimates = cJSON_AddArrayToObject(o, "estimates");
  for (size_t i = 0; i < c->estimates; i++) {
    const struct ss_claim_estimate *e = &c->estimate[i];
    cJSON_AddItemToArray(estimates,
                         ss_json_object(SS_T("input", e->input), SS_N("value", e->value), SS_N("halved", e->halved),
                                        SS_N("doubled", e->doubled), SS_J("ours_halved", range_json(&e->ours_halved)),
                                        SS_J("ours_doubled", range_json(&e->ours_doubled))));
  }
  return o;
}

bool ss_claims_json(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = report;
  cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "claims");
  for (size_t i = 0; i < claims->count; i++) cJSON_AddItemToArray(list, claim_json(&claims->claim[i]));
  return ss_json_print_free(root, stream, error);
}

/* Ranges as two columns would say less than as the text that the table has. */
bool ss_claims_csv(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = report;
  char text[CELL];
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    cJSON *o = claim_json(c);
    cJSON_ReplaceItemInObjectCaseSensitive(o, "printed", cJSON_CreateString(printed_text(text, c)));
    cJSON_ReplaceItemInObjectCaseSensitive(o, "ours", cJSON_CreateString(range_text(text, &c->ours, c->unit)));
    cJSON_ReplaceItemInObjectCaseSensitive(o, "predicted", cJSON_CreateString(prediction_text(text, c)));
    if (c->estimates)
      cJSON_ReplaceItemInObjectCaseSensitive(o, "over", cJSON_CreateString(range_text(text, &c->over, c->unit)));
    cJSON_AddItemToArray(list, o);
  }
  return ss_flat_csv_free(list, stream, error);
}

/* --- the table ---------------------------------------------------------------------------------------------- */

static void count_verdicts(const struct ss_claims *claims, size_t count[VERDICTS]) {
  memset(count, 0, VERDICTS * sizeof *count);
  for (size_t i = 0; i < claims->count; i++) count[claims->claim[i].verdict]++;
}

static void print_summary(const struct ss_claims *claims, FILE *stream) {
  size_t count[VERDICTS];
  count_verdicts(claims, count);
  fprintf(stream, "%zu claim%s: ", claims->count, claims->count == 1 ? "" : "s");
  const char *between = "";
  for (size_t v = 0; v < VERDICTS; v++) {
    if (!count[v]) continue;
    fprintf(stream, "%s%zu %s", between, count[v], ss_claim_verdicts[v]);
    between = ", ";
  }
  fputs("\n", stream);
}

static void print_reasons(const struct ss_claims *claims, FILE *stream) {
  char text[2][CELL];
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    if (c->verdict != SS_CLAIM_REPRODUCED && c->verdict != SS_CLAIM_ARITHMETIC)
      fprintf(stream, "%s: %s\n", c->id, c->why);
    if (c->predicted.ends) fprintf(stream, "%s: predicted %s\n", c->id, prediction_text(text[0], c));
    for (size_t k = 0; k < c->estimates; k++) {
      const struct ss_claim_estimate *e = &c->estimate[k];
      if (e->factor) fprintf(stream, "%s: %s estimated; ours is", c->id, e->input);
      else fprintf(stream, "%s: %s estimated at %.4g; ours is", c->id, e->input, e->value);
      fprintf(stream, " %s at %s%.4g and %s at %s%.4g\n", range_text(text[0], &e->ours_halved, c->unit), times(e),
              e->halved, range_text(text[1], &e->ours_doubled, c->unit), times(e), e->doubled);
    }
  }
}

static void verdict_cell(struct ss_table *table, const struct ss_claim *c) {
  char factor[32] = "";
  if (!isnan(c->factor)) snprintf(factor, sizeof factor, " (%.3g times)", c->factor);
  ss_table_cell(table, "%s%s%s%s", ss_claim_verdicts[c->verdict], factor, c->loose ? " (loose)" : "",
                c->verdict == c->pinned ? "" : " (CHANGED)");
}

bool ss_claims_table(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = report;
  char text[2][CELL];
  struct ss_table *table = ss_table_of("<claim", "<where", "<class", "<printed", "<ours", "<verdict");
  print_summary(claims, stream);
  fputs("\n", stream);
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    ss_table_texts(table, c->id, c->source, c->kind, printed_text(text[0], c),
                   range_text(text[1], &c->ours, c->unit));
    verdict_cell(table, c);
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  fputs("\n", stream);
  print_reasons(claims, stream);
  return ok;
}

/* --- Markdown ----------------------------------------------------------------------------------------------- */

/* A '|' would end the cell. */
static void cell(FILE *stream, const char *text, size_t length) {
  fputs(" ", stream);
  for (size_t i = 0; i < length && text[i]; i++) fprintf(stream, text[i] == '|' ? "\\%c" : "%c", text[i]);
}

/* The reason's first clause, where ours is not what is printed; all of it is in the JSON and below the table. */
static void short_reason(const struct ss_claim *c, FILE *stream) {
  const bool wanted = c->verdict >= SS_CLAIM_DIRECTION && c->verdict <= SS_CLAIM_INCONSISTENT;
  if (c->loose) fprintf(stream, ", loose");
  if (c->factor >= 1.005) fprintf(stream, ", off by %.3g times", c->factor); /* NaN: it is within the tolerance */
  if (!wanted) return;
  fputs(":", stream);
  cell(stream, c->why, strcspn(c->why, ";:("));
}

static void markdown_row(const struct ss_claim *c, FILE *stream) {
  char text[CELL];
  fprintf(stream, "| `%s` |", c->id);
  cell(stream, printed_text(text, c), SIZE_MAX);
  fputs(" |", stream);
  cell(stream, range_text(text, &c->ours, c->unit), SIZE_MAX);
  fprintf(stream, " | **%s**", ss_claim_verdicts[c->verdict]);
  short_reason(c, stream);
  fputs(" |\n", stream);
}

static void markdown_head(const struct ss_claims *claims, FILE *stream) {
  size_t count[VERDICTS], loose = 0;
  fputs("# What the papers print, and what the model gives\n\n| verdict | | claims |\n|---|---|---|\n", stream);
  count_verdicts(claims, count);
  for (size_t i = 0; i < claims->count; i++) loose += claims->claim[i].loose != NULL;
  for (size_t v = 0; v < VERDICTS; v++)
    fprintf(stream, "| **%s** | %s | %zu |\n", ss_claim_verdicts[v], meanings[v], count[v]);
  fprintf(stream,
          "\n%zu claims, of which %zu are *loose*: bounds that nearly anything passes. \"Off by\" is the factor "
          "between what is printed\nand ours, at the end that is farther off.\n",
          claims->count, loose);
}

bool ss_claims_markdown(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = report;
  (void)error;
  markdown_head(claims, stream);
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    if (i == 0 || strcmp(c->paper, c[-1].paper) != 0)
      fprintf(stream, "\n## %s\n\n| id | printed | ours | verdict |\n|---|---|---|---|\n", c->title);
    markdown_row(c, stream);
  }
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
