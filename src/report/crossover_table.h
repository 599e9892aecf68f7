/* Where two schemes cost the same, as a table, JSON or CSV. */
#ifndef SS_REPORT_CROSSOVER_TABLE_H
#define SS_REPORT_CROSSOVER_TABLE_H

#include "report/flat.h"
#include "study/crossover.h"

/* Of a struct ss_crossover_study. */
ss_printer ss_crossover_table, ss_crossover_json, ss_crossover_csv;

#endif
