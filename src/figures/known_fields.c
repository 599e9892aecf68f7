#include "figures/known_fields.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* All others are shown by their name. */
static const struct ss_known_field knowns[] = {{"time_s", "time", "s", 1},
                                               {"iteration_s", "time", "s", 1},
                                               {"time_p50_s", "median over draws of uneven links", "s", 1},
                                               {"iteration_p50_s", "median over draws of uneven links", "s", 1},
                                               {"formula_s", "closed form", "s", 1},
                                               {"paper_s", "as printed", "s", 1},
                                               {"kernel_s", "kernel time", "s", 1},
                                               {"bytes_sent_max", "sent by the busiest rank", "B", 1},
                                               {"bytes_received_max", "received by the busiest rank", "B", 1},
                                               {"bytes_total", "sent by all", "B", 1},
                                               {"server_bytes_max", "busiest server", "B", 1},
                                               {"rank_bytes_sent", "sent", "B", 1},
                                               {"rank_bytes_received", "received", "B", 1},
                                               {"bandwidth", "bandwidth", "bit/s", 8},
                                               {"latency", "latency", "s", 1},
                                               {"density", "density", "%", 1},
                                               {"ranks", "ranks", "", 1},
                                               {"gamma", "densification ratio", "", 1},
                                               {"energy", "energy", "%", 1},
                                               {"busy_max", "busy", "%", 1},
                                               {"busy_mean", "busy", "%", 1},
                                               {NULL, NULL, NULL, 1}};

const struct ss_known_field *ss_known_field(const char *field) {
  const char *dot = strrchr(field, '.'), *word = dot ? dot + 1 : field;
  const struct ss_known_field *k = knowns;
  while (k->field && strcmp(k->field, word) != 0) k++;
  return k->field ? k : NULL;
}

void ss_figure_value(const char *field, double value, char *text, size_t size) {
  const struct ss_known_field *k = ss_known_field(field);
  const char *unit = k ? k->unit : "";
  if (strcmp(unit, "s") == 0) ss_units_format(text, size, SS_TIME, value);
  else if (strcmp(unit, "B") == 0) ss_units_format(text, size, SS_BYTES, value);
  else if (strcmp(unit, "bit/s") == 0) ss_units_format(text, size, SS_RATE, value);
  else if (strcmp(unit, "%") == 0) snprintf(text, size, "%.4g%%", 100 * value);
  else snprintf(text, size, "%.6g", value);
}
