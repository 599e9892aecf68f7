/* Rows of a panel out of results: which field of a result is x, y and series, and which results count. Within this
 * room: figure.c reads that from a figure, and asks for the results. */
#pragma once

#include "base/fields.h"
#include "figures/plot.h"

/* What a field of results is called on axes, and the unit of its values. */
struct ss_known_field {
  const char *field, *label, *unit; /* units as struct ss_plot_axis has them */
  double factor;                    /* from the field to the unit */
};
/* By the last word of a path; NULL: nothing is known of it. */
const struct ss_known_field *ss_known_field(const char *field);
/* A value of a field as words: in its unit, where that is known. */
void ss_figure_value(const char *field, double value, char *text, size_t size);

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

/* --- rows beside others of their panel ---------------------------------------------------------------------
 *
 * Each `node` is what the figure says, absent where it says nothing; `first` is the first row of the entry. */

/* "relative": {"to": SERIES, "as": "ratio"|"speedup"}: y over, or under, that of the series at the same x; "shown"
 * false leaves the series itself out. The rows are those of one entry, so that each has its own base. */
extern const struct ss_object_spec ss_relative_fields;
bool ss_figure_make_relative(struct ss_node node, struct ss_plot_panel *panel, size_t first,
                             struct ss_error *error) SS_MUST_CHECK;
/* "printed": the rows are what a paper prints; of a series' name, by how much that is more than the row's own series:
 * so many times less than our value of it the mark stands. */
bool ss_figure_mark_printed(struct ss_node node, struct ss_plot_panel *panel, size_t first,
                            struct ss_error *error) SS_MUST_CHECK;
/* Of a heat map a cell has one colour: of two results there, one would be hidden. */
bool ss_figure_check_cells(const struct ss_plot_panel *panel, struct ss_error *error) SS_MUST_CHECK;
/* Of the rows at one position the least z wins: it stays, with what the next takes longer (%) as z, and SS_PLOT_TIE
 * as its series where nobody does clearly. */
void ss_figure_keep_winners(struct ss_plot_panel *panel);
/* SPDX-License-Identifier: Apache-2.0 */
