#include "report/html.h"

#include "base/error.h"
#include "base/memory.h"

#include <cjson/cJSON.h>

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

void ss_html_json(const cJSON *value, FILE *stream) {
  SS_AUTO_FREE char *json = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
  put(json ? json : cJSON_IsString(value) ? value->valuestring : "?", false, stream);
}

void ss_html_lines(const char *text, FILE *stream) {
  put(text, true, stream);
}

void ss_html_texts(const char *look, const char *const *heads, FILE *stream) {
  fprintf(stream, "<div class=\"scroll\" tabindex=\"0\"><table class=\"%s\">\n<thead><tr>", look);
  for (; *heads; heads++) ss_html_between("<th scope=\"col\">", *heads, "</th>", stream);
  fputs("</tr></thead>\n<tbody>\n", stream);
}

void ss_html_texts_end(FILE *stream) {
  fputs("</tbody></table></div>\n", stream);
}
