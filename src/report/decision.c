#include "report/decision.h"

#include "base/units.h"

#include <math.h>

static void print_range(double low, double high, FILE *stream) {
  char from[32], to[32];
  fprintf(stream, " (%s to %s)", ss_units_format(from, sizeof from, SS_TIME, low),
          ss_units_format(to, sizeof to, SS_TIME, high));
}

/* At least so many: what is said to be 95 of 100 decides, and 100 are all. */
static int of_100(double share) {
  return (int)floor(100 * share + 1e-9);
}

static void print_tie(const struct ss_decision *d, const char *time, FILE *stream) {
  fprintf(stream, "%s, %s", d->best, time);
  print_range(d->low, d->high, stream);
  fprintf(stream,
          ", and %s, %.2f to %.2f times as long, cannot be told apart: they are fastest in %d and %d of 100 draws",
          d->rival, d->rival_low, d->rival_high, of_100(d->wins), of_100(d->rival_wins));
  if (d->measure) fprintf(stream, "; measuring %s would tell most", d->measure);
  else fputs("; only a run of both would tell, no number of the machine", stream);
}

void ss_decision_print(const struct ss_decision *d, FILE *stream) {
  char time[32];
  ss_units_format(time, sizeof time, SS_TIME, d->time);
  if (d->rival) {
    print_tie(d, time, stream);
    return;
  }
  fprintf(stream, "%s ", d->best);
  if (d->next) fprintf(stream, "is fastest in %d of 100 draws, %s", of_100(d->wins), time);
  else fprintf(stream, "takes %s", time);
  print_range(d->low, d->high, stream);
  if (!d->next) return;
  if (d->ratio_low == 1 && d->ratio_high == 1) fprintf(stream, "; %s takes as long", d->next);
  else fprintf(stream, "; %s takes %.2f to %.2f times as long", d->next, d->ratio_low, d->ratio_high);
}

const char *ss_ratio_text(double ratio, double low, double high, char text[SS_RATIO_TEXT_SIZE]) {
  if (!isfinite(ratio)) return NULL;
  if (isfinite(low)) snprintf(text, SS_RATIO_TEXT_SIZE, "%.2fx (%.3g..%.3g)", ratio, low, high);
  else snprintf(text, SS_RATIO_TEXT_SIZE, "%.2fx", ratio);
  return text;
}
