#include "report/claims.h"

#include "base/json_text.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static const char *const meanings[] = {
    "ours is within the tolerance of what is printed, and the ranking holds",
    "ranking and direction hold, the size differs",
    "ranking or direction does not hold, or the number is another",
    "the paper contradicts its own definitions or numbers",
    "our trace was fitted to this number: it cannot count as reproduced",
    "the ranking turns when an estimated input is halved or doubled",
};
enum { VERDICTS = sizeof meanings / sizeof *meanings };

/* --- cells -------------------------------------------------------------------------------------------------- */

enum { CELL = 160 };

static const char *range_text(char *text, const struct ss_claim_range *r, const char *unit) {
  char low[32], high[32];
  snprintf(low, sizeof low, "%.5g", r->low);
  snprintf(high, sizeof high, "%.5g", r->high);
  const char *blank = unit ? " " : "", *behind = unit ? unit : "";
  if (isinf(r->high)) snprintf(text, CELL, "at least %s%s%s", low, blank, behind);
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

/* --- JSON and CSV ------------------------------------------------------------------------------------------- */

static cJSON *number(double value) {
  return isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}

static cJSON *range_json(const struct ss_claim_range *r) {
  if (r->low == r->high) return number(r->low);
  cJSON *pair = cJSON_CreateArray();
  cJSON_AddItemToArray(pair, number(r->low));
  cJSON_AddItemToArray(pair, number(r->high));
  return pair;
}

static cJSON *claim_json(const struct ss_claim *c) {
  cJSON *o = cJSON_CreateObject();
  ss_json_add_text(o, "id", c->id);
  ss_json_add_text(o, "paper", c->paper);
  ss_json_add_text(o, "source", c->source);
  ss_json_add_text(o, "class", c->kind);
  ss_json_add_text(o, "claim", c->claim);
  cJSON_AddItemToObject(o, "printed",
                        c->printed_text ? cJSON_CreateString(c->printed_text) : range_json(&c->printed));
  cJSON_AddItemToObject(o, "ours", range_json(&c->ours));
  ss_json_add_text(o, "unit", c->unit);
  ss_json_add_text(o, "tolerance", c->tolerance);
  ss_json_add_text(o, "verdict", ss_claim_verdicts[c->verdict]);
  ss_json_add_text(o, "pinned", ss_claim_verdicts[c->pinned]);
  ss_json_add_text(o, "why", c->why);
  cJSON *estimates = cJSON_AddArrayToObject(o, "estimates");
  for (size_t i = 0; i < c->estimates; i++) {
    const struct ss_claim_estimate *e = &c->estimate[i];
    cJSON *item = cJSON_CreateObject();
    ss_json_add_text(item, "input", e->input);
    cJSON_AddItemToObject(item, "value", number(e->value));
    cJSON_AddItemToObject(item, "halved", number(e->halved));
    cJSON_AddItemToObject(item, "doubled", number(e->doubled));
    cJSON_AddItemToObject(item, "ours_halved", range_json(&e->ours_halved));
    cJSON_AddItemToObject(item, "ours_doubled", range_json(&e->ours_doubled));
    cJSON_AddItemToArray(estimates, item);
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
    if (c->verdict != SS_CLAIM_REPRODUCED) fprintf(stream, "%s: %s\n", c->id, c->why);
    for (size_t k = 0; k < c->estimates; k++) {
      const struct ss_claim_estimate *e = &c->estimate[k];
      if (e->factor) fprintf(stream, "%s: %s estimated; ours is", c->id, e->input);
      else fprintf(stream, "%s: %s estimated at %.4g; ours is", c->id, e->input, e->value);
      fprintf(stream, " %s at %s%.4g and %s at %s%.4g\n", range_text(text[0], &e->ours_halved, c->unit), times(e),
              e->halved, range_text(text[1], &e->ours_doubled, c->unit), times(e), e->doubled);
    }
  }
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
    ss_table_cell(table, "%s%s", ss_claim_verdicts[c->verdict], c->verdict == c->pinned ? "" : " (CHANGED)");
  }
  const bool ok = ss_table_print_free(table, false, stream, error);
  fputs("\n", stream);
  print_reasons(claims, stream);
  return ok;
}

/* --- docs/claims.md ----------------------------------------------------------------------------------------- */

/* A '|' would end the cell. */
static void cell(FILE *stream, const char *text) {
  fputs(" ", stream);
  for (; *text; text++) fprintf(stream, *text == '|' ? "\\%c" : "%c", *text);
  fputs(" |", stream);
}

static void markdown_row(const struct ss_claim *c, FILE *stream) {
  char text[CELL];
  fprintf(stream, "| `%s` |", c->id);
  cell(stream, c->claim);
  cell(stream, c->source);
  cell(stream, c->kind);
  cell(stream, printed_text(text, c));
  cell(stream, c->tolerance ? c->tolerance : "ranking");
  cell(stream, range_text(text, &c->ours, c->unit));
  fprintf(stream, " **%s** |", ss_claim_verdicts[c->verdict]);
  cell(stream, c->why);
  fputs("\n", stream);
}

static void markdown_estimates(const struct ss_claim *claims, size_t count, FILE *stream) {
  char text[CELL];
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    const struct ss_claim *c = &claims[i];
    for (size_t k = 0; k < c->estimates; k++) {
      const struct ss_claim_estimate *e = &c->estimate[k];
      if (!any)
        fputs("\nEstimated inputs, and ours with each at half and double:\n\n"
              "| id | estimated input | value | at | ours | at | ours |\n|---|---|---|---|---|---|---|\n",
              stream);
      any = true;
      fprintf(stream, "| `%s` |", c->id);
      cell(stream, e->input);
      if (e->factor) fputs(" as it is |", stream);
      else fprintf(stream, " %.4g |", e->value);
      fprintf(stream, " %s%.4g |", times(e), e->halved);
      cell(stream, range_text(text, &e->ours_halved, c->unit));
      fprintf(stream, " %s%.4g |", times(e), e->doubled);
      cell(stream, range_text(text, &e->ours_doubled, c->unit));
      fputs("\n", stream);
    }
  }
}

static void markdown_head(const struct ss_claims *claims, FILE *stream) {
  size_t count[VERDICTS];
  fputs("# What the papers print, and what the model gives\n\n"
        "Made by `sparsync claims --format markdown -o docs/claims.md` from `scenarios/claims/*.json`; edit those. "
        "`sparsync claims`\ncomputes every number anew and ends with status 1 when a verdict differs from the one "
        "pinned in its file.\n\n"
        "| verdict | | claims |\n|---|---|---|\n",
        stream);
  count_verdicts(claims, count);
  for (size_t v = 0; v < VERDICTS; v++)
    fprintf(stream, "| **%s** | %s | %zu |\n", ss_claim_verdicts[v], meanings[v], count[v]);
  fputs(
      "\nClass A follows from the algorithms alone; class B has hardware in it, and its estimated inputs are "
      "also halved and\ndoubled (its file names those that are not, and why); class C is about what is learned.\n\n"
      "Tolerances follow from how the paper prints, by one rule fixed before anything was computed: half a unit of "
      "the "
      "last digit for\narithmetic on printed numbers; nothing beyond a printed bound (\"over\", \"less than\"); 5% "
      "for \"around\" and for what the text says\nof a figure; 10% for times measured on hardware of which latencies "
      "are estimates, at both ends\nwhere the least and the most of several are printed; 0.01 nats, which is chance, "
      "for what "
      "is learned; 1e-9 for closed\nforms, 1% where P does not divide k. \"ranking\": no number is printed, only "
      "what is "
      "faster or grows.\n",
      stream);
}

bool ss_claims_markdown(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = report;
  (void)error;
  markdown_head(claims, stream);
  for (size_t i = 0, n; i < claims->count; i += n) {
    const char *paper = claims->claim[i].paper;
    for (n = 0; i + n < claims->count && strcmp(claims->claim[i + n].paper, paper) == 0;) n++;
    fprintf(stream,
            "\n## %s\n\n| id | claim | where | class | printed | tolerance | ours | verdict | why |\n"
            "|---|---|---|---|---|---|---|---|---|\n",
            claims->claim[i].title);
    for (size_t k = 0; k < n; k++) markdown_row(&claims->claim[i + k], stream);
    markdown_estimates(claims->claim + i, n, stream);
  }
  return true;
}
