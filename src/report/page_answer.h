/* A page's answer: who is fastest, by how much, where, and what was not counted. */
#ifndef SS_REPORT_PAGE_ANSWER_H
#define SS_REPORT_PAGE_ANSWER_H

#include "report/page.h"
#include "report/page_places.h"

bool ss_page_answer(const struct ss_page *page, struct ss_page_places *places, FILE *stream,
                    struct ss_error *error) SS_MUST_CHECK;

#endif
