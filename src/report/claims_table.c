#include "report/claims_table.h"

#include "base/json_text.h"
#include "base/memory.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const meanings[] = {
    ("by a model: ours is within the tolerance of what is printed, and the ranking holds, also with every estimated "
     "input halved and doubled"),
    "so with our estimates, but not with every one of them halved and doubled",
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

/* Over what was tried of the estimates, and the one that moves it most; "" where there are none. */
static const char *over_text(char *text, const struct ss_claim *c) {
  const struct ss_claim_estimate *most = NULL;
  double reach = 0;
  for (size_t k = 0; k < c->estimates; k++) {
    const struct ss_claim_estimate *e = &c->estimate[k];
    const double low = fmin(e->ours_halved.low, e->ours_doubled.low),
                 high = fmax(e->ours_halved.high, e->ours_doubled.high);
    const double moved = fmax(c->ours.low - low, high - c->ours.high);
    if (moved <= reach) continue;
    reach = moved;
    most = e;
  }
  text[0] = '\0';
  if (c->estimates == 0) return text;
  range_text(text, &c->over, c->unit);
  const size_t used = strlen(text);
  if (most) snprintf(text + used, CELL - used, ", most by %.*s", (int)strcspn(most->input, "(;"), most->input);
  return text;
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
  cJSON_AddItemToObject(o, "factor", number(c->factor));
  cJSON_AddItemToObject(o, "margin", number(c->margin));
  cJSON_AddItemToObject(o, "over", c->estimates ? range_json(&c->over) : cJSON_CreateNull());
  ss_json_add_text(o, "loose", c->loose);
  ss_json_add_text(o, "why", c->why);
  cJSON *runs = cJSON_AddArrayToObject(o, "runs");
  for (size_t i = 0; i < c->runs; i++) cJSON_AddItemToArray(runs, cJSON_CreateString(c->run[i]));
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
  cell(stream, over_text(text, c));
  fprintf(stream, " **%s**%s |", ss_claim_verdicts[c->verdict], c->loose ? ", loose" : "");
  if (isnan(c->factor)) fputs("  |", stream);
  else fprintf(stream, " %.3g |", c->factor);
  fputs(" ", stream);
  if (c->loose) fprintf(stream, "Loose: %s. ", c->loose);
  fputs(c->why, stream);
  for (size_t i = 0; i < c->runs; i++) fprintf(stream, "%s`%s`", i ? ", " : " Run: ", c->run[i]);
  fputs(" |\n", stream);
}

/* What an input asks, as a command where it is a scenario's file. */
static void markdown_input(struct ss_node input, FILE *stream) {
  const char *text, *notes = "";
  struct ss_error ignored;
  struct ss_node first = ss_node_first(input), set = ss_node_get(input, "set"), said = ss_node_get(input, "notes");
  if (first.at == said.at) first = ss_node_next(first);
  if (ss_node_present(said) && !ss_node_text(said, &notes, &ignored)) notes = "";
  fprintf(stream, "| `%s` | ", ss_node_key(input));
  if (ss_node_is_text(first) && ss_node_text(first, &text, &ignored)) {
    fputs("`", stream);
    if (strcmp(ss_node_key(first), "file") != 0) fprintf(stream, "sparsync %s ", ss_node_key(first));
    fputs(text, stream);
    for (struct ss_node n = ss_node_first(set); ss_node_present(n); n = ss_node_next(n)) {
      char *value = cJSON_PrintUnformatted(n.at);
      if (value) fprintf(stream, " --set '%s=%s'", ss_node_key(n), value);
      cJSON_free(value);
    }
    fputs("`", stream);
  } else {
    fprintf(stream, "%s, as the file has it", ss_node_key(first));
  }
  fputs(" |", stream);
  cell(stream, notes);
  fputs("\n", stream);
}

static void markdown_inputs(const struct ss_claim *claims, size_t count, FILE *stream) {
  fputs("\nRuns, each an input of the paper's files in `scenarios/claims`; `sparsync claims ID` repeats those of a "
        "claim, and prints it with each estimate at half and double:\n\n| run | asks | |\n|---|---|---|\n",
        stream);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && claims[i].file == claims[i - 1].file) continue;
    for (struct ss_node n = ss_node_first(claims[i].file->inputs); ss_node_present(n); n = ss_node_next(n))
      markdown_input(n, stream);
  }
}

struct ranked {
  double factor;
  const struct ss_claim *claim;
};

/* Largest first. */
static int by_factor(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  if (x->factor > y->factor) return -1;
  if (x->factor < y->factor) return 1;
  return strcmp(x->claim->id, y->claim->id);
}

/* The claims that miss, or those that pass a bound with a margin; NULL: memory is short. */
static struct ranked *ranked(const struct ss_claims *claims, bool misses, size_t *count, struct ss_error *error) {
  struct ranked *list = ss_alloc(claims->count + 1, sizeof *list);
  *count = 0;
  if (!list) {
    (void)ss_fail_memory(error, "printing claims");
    return NULL;
  }
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    const double factor = misses ? c->factor : c->margin;
    if (!isnan(factor)) list[(*count)++] = (struct ranked){factor, c};
  }
  qsort(list, *count, sizeof *list, by_factor);
  return list;
}

static void markdown_ranked(const struct ranked *r, FILE *stream) {
  char text[CELL];
  fprintf(stream, "| %.3g | `%s` |", r->factor, r->claim->id);
  cell(stream, printed_text(text, r->claim));
  cell(stream, range_text(text, &r->claim->ours, r->claim->unit));
}

static bool markdown_misses(const struct ss_claims *claims, FILE *stream, struct ss_error *error) {
  size_t count;
  SS_AUTO_FREE struct ranked *miss = ranked(claims, true, &count, error);
  if (!miss || count == 0) return miss;
  fputs("\n## Misses, the largest first\n\n"
        "The factor between what is printed and ours, at the end that is farther off.\n\n"
        "| factor | id | printed | ours | verdict |\n|---|---|---|---|---|\n",
        stream);
  for (size_t i = 0; i < count; i++) {
    markdown_ranked(&miss[i], stream);
    fprintf(stream, " %s |\n", ss_claim_verdicts[miss[i].claim->verdict]);
  }
  return true;
}

static bool markdown_bounds(const struct ss_claims *claims, FILE *stream, struct ss_error *error) {
  size_t count;
  SS_AUTO_FREE struct ranked *bound = ranked(claims, false, &count, error);
  if (!bound || count == 0) return bound;
  fputs("\n## Bounds on one side that ours passes, the loosest first\n\n"
        "The factor between the bound and ours. What nearly anything passes is called loose, with the reason.\n\n"
        "| factor | id | printed | ours | loose |\n|---|---|---|---|---|\n",
        stream);
  for (size_t i = 0; i < count; i++) {
    markdown_ranked(&bound[i], stream);
    cell(stream, bound[i].claim->loose ? bound[i].claim->loose : "");
    fputs("\n", stream);
  }
  return true;
}

static void markdown_head(const struct ss_claims *claims, FILE *stream) {
  size_t count[VERDICTS], loose = 0;
  fputs(
      "# What the papers print, and what the model gives\n\n"
      "Made by `scenarios/claims/replay.py build/sparsync` from `scenarios/claims/*.json`; edit those. `sparsync "
      "claims`\ncomputes every number anew and ends with status 1 when a verdict differs from the one pinned in its "
      "file.\n\n"
      "| verdict | | claims |\n|---|---|---|\n",
      stream);
  count_verdicts(claims, count);
  for (size_t i = 0; i < claims->count; i++) loose += claims->claim[i].loose != NULL;
  for (size_t v = 0; v < VERDICTS; v++)
    fprintf(stream, "| **%s** | %s | %zu |\n", ss_claim_verdicts[v], meanings[v], count[v]);
  fprintf(stream,
          "\n%zu claims, of which %zu are *loose*: bounds that nearly anything passes; the reason says why.\n"
          "\nClass A follows from the algorithms alone; class B has hardware in it, and its estimated inputs are "
          "also halved and\ndoubled, one by one (its file names those that are not, and why): the column \"over "
          "estimates\" has the least and the most of ours;\nclass C is about what is learned.\n\n",
          claims->count, loose);
  fputs(
      "Tolerances follow from how the paper prints, by one rule fixed before anything was computed: half a unit of "
      "the last digit for\narithmetic on printed numbers, or what that half unit of each of them makes of the result "
      "where that is more; nothing beyond a printed\nbound (\"over\", \"less than\"); 5% for \"around\", \"roughly\" "
      "and for what "
      "the text says of a figure; 10% for times measured on hardware of which\nlatencies are estimates, at both ends "
      "where the least and the most of several are printed; 0.01 nats, which is chance, for what is\nlearned; four "
      "standard errors for a mean over seeds; 1e-9 for closed forms, 1% where P does not divide k. \"ranking\": no "
      "number is "
      "printed, only what is faster or\ngrows; where a word says by how much (\"much\", \"a little bit\", "
      "\"marginal\", \"slight\", \"stable\"), what it is read as stands beside it, a tenth in every case.\n",
      stream);
}

bool ss_claims_markdown(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = report;
  markdown_head(claims, stream);
  if (!markdown_misses(claims, stream, error) || !markdown_bounds(claims, stream, error)) return false;
  for (size_t i = 0, n; i < claims->count; i += n) {
    const char *paper = claims->claim[i].paper;
    for (n = 0; i + n < claims->count && strcmp(claims->claim[i + n].paper, paper) == 0;) n++;
    fprintf(
        stream,
        "\n## %s\n\n| id | claim | where | class | printed | tolerance | ours | over estimates | verdict | off by "
        "| why |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
        claims->claim[i].title);
    for (size_t k = 0; k < n; k++) markdown_row(&claims->claim[i + k], stream);
    markdown_inputs(claims->claim + i, n, stream);
  }
  return true;
}
