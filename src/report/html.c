#include "report/html.h"

#include "base/error.h"

static void put(const char *text, bool lines, FILE *stream) {
  for (size_t n; *text; text += n) {
    n = ss_utf8_printable(text, 4);
    if (n == 0) {
      fputc(lines && (*text == '\n' || *text == '\t') ? *text : '?', stream);
      n = 1;
      continue;
    }
    switch (*text) {
    case '&': fputs("&amp;", stream); break;
    case '<': fputs("&lt;", stream); break;
    case '>': fputs("&gt;", stream); break;
    case '"': fputs("&quot;", stream); break;
    case '\'': fputs("&#39;", stream); break;
    default: fwrite(text, 1, n, stream);
    }
  }
}

void ss_html_text(const char *text, FILE *stream) {
  put(text, false, stream);
}

void ss_html_between(const char *before, const char *text, const char *behind, FILE *stream) {
  fputs(before, stream);
  put(text, false, stream);
  fputs(behind, stream);
}

void ss_html_lines(const char *text, FILE *stream) {
  put(text, true, stream);
}
/* SPDX-License-Identifier: Apache-2.0 */
