/* Texts in HTML. What comes from files and command lines is data: it reaches a page through these and no other way.
 */
#pragma once

#include <stdio.h>

struct cJSON;

/* As character data or as an attribute in double quotes; control characters and malformed UTF-8 are shown as '?'. */
void ss_html_text(const char *text, FILE *stream);
/* The text between pieces of our own markup, which go out as they are. */
void ss_html_between(const char *before, const char *text, const char *behind, FILE *stream);
/* A string as it is, any other value as JSON. */
void ss_html_json(const struct cJSON *value, FILE *stream);
/* Begins a table of texts, in a box of its own, with these heads (NULL ends them); ss_html_texts_end ends it. */
void ss_html_texts(const char *look, const char *const *heads, FILE *stream);
void ss_html_texts_end(FILE *stream);
/* The same as ss_html_text with lines and tabs kept: for <pre>. */
void ss_html_lines(const char *text, FILE *stream);
