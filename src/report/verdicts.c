#include "report/verdicts.h"

#include "base/file.h"
#include "report/results_table.h"

/* Points at which one expectation fails that are told in words; JSON has all. */
enum { MISSES_SHOWN = 20 };

static const char *text_of(const cJSON *point, const char *key) {
  const char *text = ss_json_word(point, key);
  return text ? text : "";
}

static void print_miss(const struct ss_miss *miss, FILE *stream) {
  const char *tensor = text_of(miss->record, "tensor");
  ss_cell_print(ss_json_number(miss->record, "ranks"), text_of(miss->record, "cluster"),
                ss_json_get(miss->record, "at"), *tensor ? tensor : NULL, stream);
  fprintf(stream, ": found %.9g against %.9g", miss->found, miss->against);
}

void ss_misses_print(const struct ss_verdict *verdict, const char *margin, FILE *stream) {
  for (size_t i = 0; i < verdict->misses && i < MISSES_SHOWN; i++) {
    fputs(margin, stream);
    print_miss(&verdict->miss[i], stream);
    fputc('\n', stream);
  }
  if (verdict->misses > MISSES_SHOWN) fprintf(stream, "%sand %zu more\n", margin, verdict->misses - MISSES_SHOWN);
}

static void print_failed(const struct ss_verdicts *verdicts, const char *name, FILE *stream) {
  for (size_t i = 0; i < verdicts->count; i++) {
    const struct ss_verdict *verdict = &verdicts->verdict[i];
    if (ss_verdict_holds(verdict)) continue;
    fprintf(stream, "%s: expect[%zu]: expected %s: ", name, i, verdict->text);
    if (verdict->points == 0) fputs("no point is at such a place, nothing was compared\n", stream);
    else
      fprintf(stream, "fails at %zu of %zu point%s:\n", verdict->misses, verdict->points,
              verdict->points == 1 ? "" : "s");
    ss_misses_print(verdict, "  ", stream);
  }
}

void ss_expectations_words(const struct ss_verdicts *verdicts, size_t points, FILE *stream) {
  const char *s = verdicts->count == 1 ? "" : "s";
  fprintf(stream, "%zu point%s", points, points == 1 ? "" : "s");
  if (verdicts->count == 0) fputs(", none expected to be anything: the scenario has no \"expect\"", stream);
  else if (verdicts->failed == 0) fprintf(stream, ", %zu expectation%s hold%s", verdicts->count, s, *s ? "" : "s");
  else if (verdicts->count == 1) fputs(", the one expectation FAILS", stream);
  else
    fprintf(stream, ", %zu of %zu expectations FAIL%s", verdicts->failed, verdicts->count,
            verdicts->failed == 1 ? "S" : "");
  for (size_t i = 0; i < verdicts->count; i++)
    if (!isnan(verdicts->verdict[i].share))
      fprintf(stream, "; expect[%zu] in %.3g of the draws", i, verdicts->verdict[i].share);
}

bool ss_expectations_conclude(const struct ss_verdicts *verdicts, const char *name, struct ss_error *error) {
  if (verdicts->failed == 0) return true;
  fflush(stdout);
  print_failed(verdicts, name, stderr);
  if (verdicts->count == 1) return ss_fail(error, SS_UNPROVEN, "%s: the one expectation fails", name);
  return ss_fail(error, SS_UNPROVEN, "%s: %zu of %zu expectations fail%s", name, verdicts->failed, verdicts->count,
                 verdicts->failed == 1 ? "s" : "");
}
/* SPDX-License-Identifier: Apache-2.0 */
