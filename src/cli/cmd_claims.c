/* What the papers print, held against the model. */
#include "base/file.h"
#include "claims/claims.h"
#include "cli/command.h"
#include "report/tables.h"

enum format { TABLE, JSON, CSV, MARKDOWN };
static const char *const formats[] = {"table", "json", "csv", "markdown", NULL};

struct arguments {
  struct ss_call call;
  unsigned format; /* enum format */
  bool list;
};

/* --- the work -------------------------------------------------------------------------------------------------- */

static bool print_list(const void *context, FILE *stream, struct ss_error *error) {
  const struct ss_claims *claims = context;
  (void)error;
  for (size_t i = 0; i < claims->count; i++) {
    const struct ss_claim *c = &claims->claim[i];
    fprintf(stream, "%-44s %s  %-32s %s\n", c->id, c->kind, ss_claim_verdicts[c->pinned], c->claim);
  }
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
  static ss_printer *const printers[] = {ss_claims_table, ss_claims_json, ss_claims_csv, ss_claims_markdown};
  const struct arguments *a = (const struct arguments *)call;
  SS_AUTO(ss_claims_free) struct ss_claims claims = {0};
  if (a->list && a->format != TABLE)
    return ss_fail(error, SS_BAD_INPUT, "--list prints a table (sparsync list claims has --format)");
  if (!ss_call_operands_differ(call, error) || !ss_claims_open(call->operand, call->operands, &claims, error))
    return false;
  if (claims.count == 0 && call->operands == 0)
    return ss_fail(error, SS_BAD_INPUT,
                   "the data folder has no scenarios/claims (set SPARSYNC_DATA, or name a file)");
  return (a->list ||
          ss_claims_judge(&claims, call->request.run.jobs, call->request.notice, call->request.run.watcher, error)) &&
         ss_output_write(call->output, a->list ? print_list : printers[a->format], &claims, error) &&
         (a->list || as_pinned(&claims, error));
}

static const struct ss_option_spec options[] = {
    SS_OPTION_OPERANDS,
    {"--list", SS_FLAG(struct arguments, list),
     .help = "what there is, and the pinned verdicts; nothing is computed"},
    {"--format", SS_CHOICE(struct arguments, format, formats), .help = "how to write (table)"},
    SS_OPTION_OUTPUT,
    SS_OPTION_QUIET,
    SS_OPTION_JOBS,
    {.name = NULL}};

const struct ss_command ss_command_claims = {
    .name = "claims",
    .summary = "what the papers print, and what the model gives",
    .usage = "usage: sparsync claims [PAPER|CLAIM|FILE.json]... [OPTION...]\n\n"
             "Computes every number of the papers that the model can speak to (scenarios/claims), and compares: "
             "printed, ours, verdict, and why. A verdict is reproduced (also with every estimated input halved and "
             "doubled); reproduced, depends on estimate; predicted (what is not printed inferred from other numbers "
             "of the testbed); direction only (by what factor); not reproduced; depends on estimate (the ranking "
             "turns with one); paper inconsistent; arithmetic holds (no model was asked); or input (ours was fitted "
             "to it). Status 1 when a verdict is not the one that its file pins.\n\n"
             "PAPER is embrace, zen, spardl or s2, CLAIM a claim's id; without any: all. FILE.json has claims of "
             "your own.\n",
    .examples = "  sparsync claims\n"
                "  sparsync claims zen embrace-t1-ratio-bert\n"
                "  sparsync claims --format csv -o claims.csv\n",
    .options = options,
    .size = sizeof(struct arguments),
    .run = run};
/* SPDX-License-Identifier: Apache-2.0 */
