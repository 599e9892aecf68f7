/* Answers of the library, printed: whatever was asked as JSON and CSV, and some kinds as tables. */
#ifndef SS_REPORT_ANSWERS_H
#define SS_REPORT_ANSWERS_H

#include "report/flat.h"

/* All of them of a struct ss_answer; CSV of those with a list of rows, of which statistics have one a tensor and k.
 */
ss_printer ss_answer_print_json, ss_answer_print_csv, ss_stats_csv;
ss_printer ss_cost_table, ss_crossover_table, ss_stats_table;

#endif
