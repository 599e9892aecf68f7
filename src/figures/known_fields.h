/* How fields of results are called on axes, and the units of their values. */
#pragma once

#include <stddef.h>

struct ss_known_field {
  const char *field, *label, *unit; /* units as struct ss_plot_axis has them */
  double factor;                    /* from the field to the unit */
};
/* By the last word of a path; NULL: nothing is known of it. */
const struct ss_known_field *ss_known_field(const char *field);
/* A value of a field as words: in its unit, where that is known. */
void ss_figure_value(const char *field, double value, char *text, size_t size);
