/* A capture in words: what was measured, what is predicted for it, and what else it might run. */
#include "base/json.h"
#include "report/tables.h"
#include "study/ranges.h"

/* "469 ms"; of what changes with each call a buffer of its own. */
struct time_text {
  char text[32];
};
static struct time_text time_of(const cJSON *o, const char *field) {
  struct time_text t = {""};
  ss_units_format(t.text, sizeof t.text, SS_TIME, ss_json_number(o, field));
  return t;
}
#define TIME(o, field) (time_of((o), (field)).text)

/* A network is another one whose sums take so many times as long, or as short. */
static const double FAR = 1.5;

/* Where the range does not hold what was measured: what is off, and what the prediction consists of. */
static void print_miss(const cJSON *o, FILE *stream) {
  const char *most = ss_json_word(o, "off_most"), *largest = ss_json_word(o, "largest");
  const double quiet = ss_json_number(o, "quiet_s"), computed = ss_json_number(o, "predicted_quiet_s");
  if (!cJSON_IsFalse(ss_json_get(o, "holds"))) return;
  fputs("  The range does not hold it: ", stream);
  if (most) {
    char with[32], without[32];
    fprintf(stream, "most of all %s is off. Without communication an iteration takes %s, predicted %s; ", most,
            TIME(o, "quiet_s"), TIME(o, "predicted_quiet_s"));
    ss_units_format(with, sizeof with, SS_TIME, ss_json_number(o, "measured_s") - quiet);
    ss_units_format(without, sizeof without, SS_TIME, ss_json_number(o, "predicted_s") - computed);
    fprintf(stream, "communication adds %s, predicted %s. ", with, without);
  }
  const double sums = ss_json_number(o, "sums_s") / ss_json_number(o, "predicted_sums_s");
  if (most && isfinite(sums))
    fprintf(stream, "By themselves the sums of its buckets took %s, predicted %s. ", TIME(o, "sums_s"),
            TIME(o, "predicted_sums_s"));
  if (largest)
    fprintf(stream, "%s largest part of what is predicted is %s, %.0f%% as numbers are given.", most ? "The" : "the",
            largest, 100 * ss_json_number(o, "largest_share"));
  fputs(" The times of others below are the model's alone, then: nothing to decide by.", stream);
  fputs(fabs(log(sums)) > log(FAR)
            ? " The cluster is not the network of that hour: measure both again, on a machine at rest."
            : " Where steps differ much from one to the next, others used the machine: capture again.",
        stream);
  fputc('\n', stream);
}

void ss_capture_words(const cJSON *o, FILE *stream) {
  const double ranks = ss_json_number(o, "ranks"), off = 100 * ss_json_number(o, "off");
  fprintf(stream, "%s, %.0f rank%s: measured %s (%s to %s over %.0f step%s), predicted %s", ss_json_word(o, "system"),
          ranks, ranks == 1 ? "" : "s", TIME(o, "measured_s"), TIME(o, "measured_low_s"), TIME(o, "measured_high_s"),
          ss_json_number(o, "steps"), ss_json_number(o, "steps") == 1 ? "" : "s", TIME(o, "predicted_s"));
  if (isfinite(ss_json_number(o, "predicted_low_s")))
    fprintf(stream, " (%s to %s)", TIME(o, "predicted_low_s"), TIME(o, "predicted_high_s"));
  if (cJSON_IsTrue(ss_json_get(o, "elsewhere"))) fputs(" here, on another layout than where it ran.\n", stream);
  else fprintf(stream, ", %+.0f%%.\n", off);
  print_miss(o, stream);
  fputc('\n', stream);
}

/* "zen would be 1.8 times as fast as as-captured (1.6 to 2.1): 260 ms (223 ms to 293 ms) in place of the measured
 * 469 ms." */
static void print_switch(const cJSON *o, const cJSON *to, FILE *stream) {
  const char *name = ss_json_word(to, "system");
  fprintf(stream, "  %s%s would be %.2f times as fast as %s", name,
          ss_needs_words(cJSON_IsTrue(ss_json_get(to, "lossy")), cJSON_IsTrue(ss_json_get(to, "model_parallel"))),
          ss_json_number(to, "speedup"), ss_json_word(o, "system"));
  if (isfinite(ss_json_number(to, "speedup_low")))
    fprintf(stream, " (%.2f to %.2f%s)", ss_json_number(to, "speedup_low"), ss_json_number(to, "speedup_high"),
            ss_json_number(to, "speedup_low") <= 1 ? ", so perhaps no faster" : "");
  if (isfinite(ss_json_number(to, "time_s"))) {
    fprintf(stream, ": %s", TIME(to, "time_s"));
    if (isfinite(ss_json_number(to, "time_low_s")))
      fprintf(stream, " (%s to %s)", TIME(to, "time_low_s"), TIME(to, "time_high_s"));
    fprintf(stream, " in place of the measured %s", TIME(o, "measured_s"));
  }
  fputs(".\n", stream);
}

void ss_capture_switch(const cJSON *o, double ranks, FILE *stream) {
  const cJSON *to;
  cJSON_ArrayForEach(to, ss_json_get(o, "fastest")) {
    if (ss_json_number(to, "ranks") != ranks) continue;
    if (strcmp(ss_json_word(to, "system"), ss_json_word(o, "system")) == 0)
      fprintf(stream, "  Nothing %shere is faster than %s.\n",
              to->prev && to->prev->next && ss_json_number(to->prev, "ranks") == ranks ? "lossless " : "",
              ss_json_word(o, "system"));
    else print_switch(o, to, stream);
  }
}

void ss_capture_unknown(const cJSON *o, FILE *stream) {
  const cJSON *text;
  cJSON_ArrayForEach(text, ss_json_get(o, "unknown")) {
    if (cJSON_IsString(text)) fprintf(stream, "not known: %s\n", text->valuestring);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
