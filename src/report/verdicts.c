#include "report/verdicts.h"

#include "base/file.h"
#include "report/results_table.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Points at which one expectation fails that are told in words; JSON has all. */
enum { MISSES_SHOWN = 20 };

static const char *text_of(const cJSON *point, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(point, key));
  return text ? text : "";
}

static void print_miss(const struct ss_miss *miss, FILE *stream) {
  const double ranks = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(miss->point, "ranks"));
  const cJSON *at = cJSON_GetObjectItemCaseSensitive(miss->point, "at");
  const char *tensor = text_of(miss->point, "tensor");
  fprintf(stream, "%.0f rank%s on %s", ranks, ranks == 1 ? "" : "s", text_of(miss->point, "cluster"));
  if (ss_at_says_more(at)) fputs(", ", stream);
  ss_at_print(at, false, stream);
  fprintf(stream, ", %s%s: found %.9g against %.9g", strcmp(tensor, "*") == 0 ? "all tensors together" : "tensor ",
          strcmp(tensor, "*") == 0 ? "" : tensor, miss->found, miss->against);
}

static void print_misses(const struct ss_judged_expectation *judged, const char *margin, FILE *stream) {
  for (size_t i = 0; i < judged->misses && i < MISSES_SHOWN; i++) {
    fputs(margin, stream);
    print_miss(&judged->miss[i], stream);
    fputc('\n', stream);
  }
  if (judged->misses > MISSES_SHOWN) fprintf(stream, "%sand %zu more\n", margin, judged->misses - MISSES_SHOWN);
}

static void write_misses(const void *judged, FILE *stream) {
  print_misses(judged, "", stream);
}

char *ss_misses_text(const struct ss_judged_expectation *judged) {
  return ss_written(write_misses, judged);
}

void ss_judgement_print(const struct ss_judgement *judgement, const char *name, FILE *stream) {
  for (size_t i = 0; i < judgement->count; i++) {
    const struct ss_judged_expectation *judged = &judgement->expectation[i];
    if (ss_judged_holds(judged)) continue;
    fprintf(stream, "%s: expect[%zu]: expected %s: ", name, i, judged->text);
    if (judged->points == 0) fputs("no point is at such a place, nothing was compared\n", stream);
    else
      fprintf(stream, "fails at %zu of %zu point%s:\n", judged->misses, judged->points,
              judged->points == 1 ? "" : "s");
    print_misses(judged, "  ", stream);
  }
}

void ss_judgement_words(const struct ss_judgement *judgement, size_t points, FILE *stream) {
  const char *s = judgement->count == 1 ? "" : "s";
  fprintf(stream, "%zu point%s", points, points == 1 ? "" : "s");
  if (judgement->count == 0) fputs(", none expected to be anything: the scenario has no \"expect\"", stream);
  else if (judgement->failed == 0) fprintf(stream, ", %zu expectation%s hold%s", judgement->count, s, *s ? "" : "s");
  else
    fprintf(stream, ", %zu of %zu expectation%s FAIL%s", judgement->failed, judgement->count, s,
            judgement->failed == 1 ? "S" : "");
}

bool ss_judgement_conclude(const struct ss_judgement *judgement, const char *name, struct ss_error *error) {
  if (judgement->failed == 0) return true;
  fflush(stdout);
  ss_judgement_print(judgement, name, stderr);
  return ss_fail(error, SS_UNPROVEN, "%s: %zu of %zu expectation%s fail%s", name, judgement->failed, judgement->count,
                 judgement->count == 1 ? "" : "s", judgement->failed == 1 ? "s" : "");
}
