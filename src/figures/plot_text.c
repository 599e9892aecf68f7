#include "figures/plot_text.h"

enum { LINES_MAX = 40 };

/* What TeX would take for something else; NULL: it is a letter there, too. */
static const char *tex_of(char c) {
  static const struct {
    char is;
    const char *said;
  } special[] = {{'\\', "\\textbackslash{}"},
                 {'{', "\\{"},
                 {'}', "\\}"},
                 {'$', "\\$"},
                 {'&', "\\&"},
                 {'#', "\\#"},
                 {'_', "\\_"},
                 {'%', "\\%"},
                 {'^', "\\textasciicircum{}"},
                 {'~', "\\textasciitilde{}"},
                 {'<', "\\textless{}"},
                 {'>', "\\textgreater{}"}};
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (special[i].is == c) return special[i].said;
  return NULL;
}

void ss_plot_quote(const char *text, unsigned quote, FILE *stream) {
  const char *const begin = text;
  const bool tex = quote & SS_QUOTE_TEX, tic = quote & SS_QUOTE_TIC;
  fputc('\'', stream);
  for (size_t n; *text; text += n) {
    n = ss_utf8_printable(text, 4);
    if (n == 0) {
      fputc('?', stream);
      n = 1;
      continue;
    }
    if (*text == '\'') fputs("\342\200\231", stream);
    else if (tex && *text == '"') /* which TeX takes for a closing one */
      fputs(text == begin || strchr(" (", text[-1]) ? "\342\200\234" : "\342\200\235", stream);
    else if (tex && tex_of(*text)) fputs(tex_of(*text), stream);
    else if (*text == '>' && text - begin >= 2 && text[-1] == ']' && text[-2] == ']') fputs("\342\200\272", stream);
    else fwrite(text, 1, n, stream);
    if (tic && *text == '%') fputc(*text, stream);
  }
  fputc('\'', stream);
}

size_t ss_text_letters(const char *text) {
  size_t n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

void ss_text_cut(const char *text, size_t most, char *out, size_t size) {
  size_t at = 0, n = 0;
  for (; text[at] && n < most; at++) n += ((unsigned char)text[at + 1] & 0xc0) != 0x80;
  snprintf(out, size, "%.*s%s", (int)at, text, text[at] ? "..." : "");
}

/* Where a line of at most `capacity` letters ends: behind a word if there is one, which is no number: its unit would
 * begin the next. */
static size_t line_end(const char *text, size_t capacity) {
  size_t end = 0, at = 0, n = 0;
  for (; text[at] && n <= capacity; at++) {
    const bool number = at > 0 && isdigit((unsigned char)text[at - 1]);
    if ((text[at] == ' ' && !number) || text[at] == '\n') end = at;
    n += ((unsigned char)text[at] & 0xc0) != 0x80;
  }
  if (!text[at] && n <= capacity) return at;
  if (end > 0) return end;
  while (at > 1 && ((unsigned char)text[at - 1] & 0xc0) == 0x80) at--;
  return at > 1 ? at - 1 : at;
}

/* The next line, which ends before what is returned; NULL: there is none. */
static const char *next_line(const struct ss_paragraph *p, const char *text, size_t *length) {
  if (!text || !*text) return NULL;
  *length = line_end(text, (size_t)((p->width - 12) / p->letter));
  text += *length;
  while (*text == ' ' || *text == '\n') text++;
  return text;
}

double ss_paragraph_height(const struct ss_paragraph *p) {
  size_t lines = 0, length;
  for (const char *at = p->text; lines < LINES_MAX && (at = next_line(p, at, &length));) lines++;
  return p->text ? p->step * (double)lines + 8 : 4;
}

void ss_paragraph_write(const struct ss_paragraph *p, double top, double height, FILE *stream) {
  char line[1000];
  size_t lines = 0, length;
  for (const char *at = p->text, *after; lines < LINES_MAX && (after = next_line(p, at, &length)); at = after) {
    snprintf(line, sizeof line, "%.*s", (int)length, at);
    fputs("set label ", stream);
    ss_plot_quote(line, p->quote, stream);
    fprintf(stream, " at screen %.6f, screen %.6f left %s\n", 6 / p->width,
            1 - (top + p->step * ((double)lines++ + 0.5)) / height, p->look);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
