/* A page's closed forms: exact and as printed, what they assume, where the paper is wrong, and the symbols. */
#ifndef SS_REPORT_PAGE_FORMS_H
#define SS_REPORT_PAGE_FORMS_H

#include "report/page.h"

bool ss_page_forms(const struct ss_page *page, FILE *stream, struct ss_error *error) SS_MUST_CHECK;

#endif
