#include "figures/plot_text.h"

enum { LINES_MAX = 40 };

void ss_plot_quote(const char *text, bool tic, FILE *stream) {
  const char *const begin = text;
  fputc('\'', stream);
  for (size_t n; *text; text += n) {
    n = ss_utf8_printable(text, 4);
    if (n == 0) {
      fputc('?', stream);
      n = 1;
      continue;
    }
    if (*text == '\'') fputs("\342\200\231", stream);
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

/* Where a line of at most `room` letters ends: behind a word if there is one. */
static size_t line_end(const char *text, size_t capacity) {
  size_t end = 0, at = 0, n = 0;
  for (; text[at] && n <= capacity; at++) {
    if (text[at] == ' ' || text[at] == '\n') end = at;
    n += ((unsigned char)text[at] & 0xc0) != 0x80;
  }
  if (!text[at] && n <= capacity) return at;
  if (end > 0) return end;
  while (at > 1 && ((unsigned char)text[at - 1] & 0xc0) == 0x80) at--;
  return at > 1 ? at - 1 : at;
}

size_t ss_text_wrap(const char *text, double width, double letter_width, FILE *stream, double top, double step,
                    const char *look, double full) {
  const size_t capacity = (size_t)((width - 12) / letter_width);
  size_t lines = 0;
  char line[1000];
  while (*text && lines < LINES_MAX) {
    size_t n = line_end(text, capacity);
    if (stream) {
      snprintf(line, sizeof line, "%.*s", (int)n, text);
      fputs("set label ", stream);
      ss_plot_quote(line, false, stream);
      fprintf(stream, " at screen %.6f, screen %.6f left %s\n", 6 / width,
              1 - (top + step * ((double)lines + 0.5)) / full, look);
    }
    text += n;
    while (*text == ' ' || *text == '\n') text++;
    lines++;
  }
  return lines;
}
