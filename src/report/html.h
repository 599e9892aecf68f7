/* Texts in HTML. What comes from files and command lines is data: it reaches a page through these and no other way.
 */
#pragma once

#include <stdio.h>

/* As character data or as an attribute in double quotes; control characters and malformed UTF-8 are shown as '?'. */
void ss_html_text(const char *text, FILE *stream);
/* The text between pieces of our own markup, which go out as they are. */
void ss_html_between(const char *before, const char *text, const char *behind, FILE *stream);
/* The same as ss_html_text with lines and tabs kept: for <pre>. */
void ss_html_lines(const char *text, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
