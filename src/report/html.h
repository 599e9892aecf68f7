/* Texts in HTML. What comes from files and command lines is data: it reaches a page through these and no other way.
 */
#ifndef SS_REPORT_HTML_H
#define SS_REPORT_HTML_H

#include <stdio.h>

/* As character data or as an attribute in double quotes; control characters and malformed UTF-8 are shown as '?'. */
void ss_html_text(const char *text, FILE *stream);
/* The same with lines and tabs kept: for <pre>. */
void ss_html_lines(const char *text, FILE *stream);

#endif
