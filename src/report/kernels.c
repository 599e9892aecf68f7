#include "report/kernels.h"

#include "report/table.h"

struct ss_table *ss_kernels_rows(const struct ss_result *points, size_t n) {
  struct ss_table *table = ss_table_of("<scheme", "<kernel", "time", "calls", "elements", "moved", "<known from");
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < SS_KERNELS; k++) {
      const struct ss_kernel_use *use = &points[i].kernels[k];
      if (!(use->elements > 0)) continue;
      ss_table_texts(table, points[i].setting.label, ss_kernel_name((enum ss_kernel_kind)k));
      ss_table_quantity(table, SS_TIME, use->s);
      ss_table_cell(table, "%.4g", use->calls);
      ss_table_cell(table, "%.4g", use->elements);
      ss_table_quantity(table, SS_BYTES, use->bytes);
      ss_table_cell(table, "%s", use->estimated ? "memory bandwidth (estimated)" : "the device's line");
    }
  return table;
}
