/* A page's inputs: clusters and devices with the source of each number, traces with their hashes, and what reproduces
 * the page. */
#ifndef SS_REPORT_PAGE_INPUTS_H
#define SS_REPORT_PAGE_INPUTS_H

#include "report/page.h"

void ss_page_inputs(const struct ss_page *page, FILE *stream);

#endif
