/* Rows of a panel out of results: which field of a result is x, y and series, and which results count. Within this
 * room: figure.c reads that from a figure, and asks for the results. */
#pragma once

#include "base/json.h"
#include "figures/plot.h"

struct cJSON;

/* Where a row's value comes from: a field of the result, or the same for all. */
struct ss_figure_quantity {
  const char *field, *text; /* NULL: not these */
  double value;             /* NaN: not this */
  double factor, offset;    /* of a field or value: factor * field + offset */
};

struct ss_figure_mapping {
  struct ss_figure_quantity x, y, z, low, high, series;
  struct ss_node names, where, also_where;
  const char *each; /* NULL: a row a result; else one for each member of this field */
};

/* One result, or one member of a field of it; neither for an entry that asks nothing. */
struct ss_figure_record {
  const struct cJSON *result, *member;
  double index;
};

/* The rows that were made, and what was looked for: for the message when no record has it. */
struct ss_figure_search {
  size_t rows;
  const char *missing; /* the field that the last record lacked */
  bool unsaid;         /* nobody said which field: what x, y, or the ends of a span are */
  const struct cJSON *sample;
};

/* Adds the record's row to the panel, unless `where` leaves it out or it lacks a value, which `search` notes. */
bool ss_figure_add_record(const struct ss_figure_record *r, const struct ss_figure_mapping *m, struct ss_plot *plot,
                          struct ss_plot_panel *panel, struct ss_figure_search *search,
                          struct ss_error *error) SS_MUST_CHECK;
/* A row for each member of the field `m->each`: those of a list are counted from 0, those of an object by their names
 * if they are numbers. */
bool ss_figure_add_members(const struct cJSON *result, const struct ss_figure_mapping *m, struct ss_plot *plot,
                           struct ss_plot_panel *panel, struct ss_figure_search *search,
                           struct ss_error *error) SS_MUST_CHECK;
/* Why there is no row; returns false. */
bool ss_figure_fail_search(const struct ss_figure_search *search, struct ss_error *error);
