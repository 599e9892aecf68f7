#include "report/decision.h"

#include "base/json.h"
#include "base/units.h"

const char *ss_decision_name(const struct cJSON *record, const char *field) {
  const char *label = ss_json_word(record, field);
  return label ? label : "each with its own";
}

void ss_decision_print_time(const struct cJSON *record, FILE *stream) {
  const double low = ss_json_number(record, "time_low_s"), high = ss_json_number(record, "time_high_s");
  char time[32], from[32], to[32];
  fputs(ss_units_format(time, sizeof time, SS_TIME, ss_json_number(record, "time_s")), stream);
  if (low < high)
    fprintf(stream, " (%s to %s)", ss_units_format(from, sizeof from, SS_TIME, low),
            ss_units_format(to, sizeof to, SS_TIME, high));
}

int ss_of_100(double share) {
  return (int)floor(100 * share + 1e-9);
}

static int of_100(const struct cJSON *record, const char *share) {
  return ss_of_100(ss_json_number(record, share));
}

/* From that share of the draws on, and below 95 of 100, which decide, it is called likely, as the IPCC does (Guidance
 * Note on uncertainties, 2010, Table 1: likely is 66 to 100 of 100). */
static const double LIKELY = 0.66;

static void print_tie(const struct cJSON *record, const char *rival, FILE *stream) {
  const char *measure = ss_json_word(record, "measure");
  const bool likely = ss_json_number(record, "wins") >= LIKELY;
  const double low = ss_json_number(record, "rival_ratio_low"), high = ss_json_number(record, "rival_ratio_high");
  fprintf(stream, "%s", ss_decision_name(record, "label"));
  if (likely) fprintf(stream, " is likely fastest, in %d of 100 draws", of_100(record, "wins"));
  fputs(", ", stream);
  ss_decision_print_time(record, stream);
  if (likely)
    fprintf(stream, "; %s, %.2f to %.2f times as long, is in %d", rival, low, high, of_100(record, "rival_wins"));
  else
    fprintf(stream,
            ", and %s, %.2f to %.2f times as long, cannot be told apart: they are fastest in %d and %d of 100 draws",
            rival, low, high, of_100(record, "wins"), of_100(record, "rival_wins"));
  if (measure) fprintf(stream, "; measuring %s would tell most", measure);
  else fputs("; only a run of both would tell, no number of the machine", stream);
}

static void print_next(const struct cJSON *record, FILE *stream) {
  const double time = ss_json_number(record, "time_s"), next = ss_json_number(record, "next_time_s"),
               low = ss_json_number(record, "next_ratio_low"), high = ss_json_number(record, "next_ratio_high");
  const char *name = ss_decision_name(record, "next");
  char text[32];
  if (time == 0 && next > 0)
    fprintf(stream, "; %s takes %s", name, ss_units_format(text, sizeof text, SS_TIME, next));
  else if (low == 1 && high == 1) fprintf(stream, "; %s takes as long", name);
  else if (isfinite(low)) fprintf(stream, "; %s takes %.2f to %.2f times as long", name, low, high);
  else if (next == time) fprintf(stream, "; so is %s", name);
  else if (next < 1.005 * time) fprintf(stream, "; %s is nearly as fast", name);
  else fprintf(stream, "; %s takes %.2f times as long", name, next / time);
}

void ss_decision_print(const struct cJSON *record, FILE *stream) {
  const char *rival = ss_json_word(record, "rival");
  const bool drawn = isfinite(ss_json_number(record, "wins")) && ss_json_number(record, "time_s") > 0,
             alone = isnan(ss_json_number(record, "next_time_s"));
  if (drawn && rival) {
    print_tie(record, rival, stream);
    return;
  }
  fprintf(stream, "%s ", ss_decision_name(record, "label"));
  if (alone) fputs("takes ", stream);
  else if (drawn) fprintf(stream, "is fastest in %d of 100 draws, ", of_100(record, "wins"));
  else fputs("is fastest, ", stream);
  ss_decision_print_time(record, stream);
  if (!alone) print_next(record, stream);
}

void ss_offer_print(const char *name, const cJSON *offered, FILE *stream) {
  const char *by = ss_json_word(offered, "by");
  if (by) fprintf(stream, "In PyTorch: %s is %s's: %s.", name, by, ss_json_word(offered, "how"));
  else
    fprintf(stream,
            "In PyTorch: nobody offers %s: it takes code of your own, say a comm hook (sparsync.torch.apply).", name);
}

static bool said_before(const cJSON *record, const char *label) {
  for (const cJSON *r = record->prev; r->next; r = r->prev) {
    const char *other = ss_json_word(r, "label");
    if (other && strcmp(other, label) == 0) return true;
  }
  return false;
}

void ss_offers_print(const cJSON *records, FILE *stream) {
  for (const cJSON *r = records->child; r; r = r->next) {
    const char *label = ss_json_word(r, "label");
    if (!label || said_before(r, label)) continue;
    ss_offer_print(label, ss_json_get(r, "offered"), stream);
    fputc('\n', stream);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
