#include "report/table.h"

#include "base/csv.h"
#include "exec/launch.h"
#include "report/html.h"

#include <sys/ioctl.h>
#include <unistd.h>

struct ss_table {
  size_t columns;
  const char **cells;    /* row by row, the heads first */
  bool *left;            /* by column */
  size_t used, capacity; /* cells, heads included */
  struct ss_arena texts;
  bool folds, failed;
};

void ss_table_fold(struct ss_table *table) {
  if (table != NULL) table->folds = true;
}

/* Appends `length` bytes as a cell. */
static void append(struct ss_table *table, const char *text, size_t length) {
  char *copy = NULL;
  if (ss_grow(table->cells, table->capacity, table->used + 1)) copy = ss_arena_alloc(&table->texts, length + 1, 1);
  table->failed = table->failed || copy == NULL;
  if (copy == NULL) return;
  memcpy(copy, text, length);
  copy[length] = '\0';
  table->cells[table->used++] = copy;
}

struct ss_table *ss_table_new(size_t columns, const char *const *heads) {
  struct ss_table *table = ss_alloc_zero(1, sizeof *table);
  if (table == NULL) return NULL;
  table->columns = columns;
  table->left = ss_alloc_zero(columns, sizeof *table->left);
  table->failed = table->left == NULL;
  for (size_t i = 0; i < columns && !table->failed; i++) {
    table->left[i] = heads[i][0] == '<';
    const char *head = heads[i] + table->left[i];
    append(table, head, strlen(head));
  }
  if (!table->failed) return table;
  ss_table_free(table);
  return NULL;
}

void ss_table_free(struct ss_table *table) {
  if (table == NULL) return;
  ss_arena_free(&table->texts);
  free(table->cells);
  free(table->left);
  free(table);
}

void ss_table_cell(struct ss_table *table, const char *format, ...) {
  if (table == NULL || table->failed || table->columns == 0) return;
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) {
    table->failed = true;
    return;
  }
  append(table, text, (size_t)length);
  free(text);
}

void ss_table_add_texts(struct ss_table *table, size_t count, const char *const *texts) {
  for (size_t i = 0; i < count; i++) ss_table_cell(table, "%s", texts[i]);
}

void ss_table_number(struct ss_table *table, const char *format, double value) {
  if (isfinite(value)) ss_table_cell(table, format, value);
  else ss_table_cell(table, "-");
}

void ss_table_quantity(struct ss_table *table, enum ss_dimension dimension, double value) {
  ss_table_cell(table, "%s", isfinite(value) ? ss_shown(dimension, value) : "-");
}

void ss_table_exact(struct ss_table *table, double value) {
  if (isfinite(value)) ss_table_cell(table, "%.17g", value);
  else ss_table_cell(table, "%s", "");
}

static size_t row_count(const struct ss_table *table) {
  return table->columns == 0 ? 0 : (table->used + table->columns - 1) / table->columns;
}

/* A last row that is not full ends in empty cells. */
static const char *cell_at(const struct ss_table *table, size_t row, size_t column) {
  const size_t index = row * table->columns + column;
  return index < table->used ? table->cells[index] : "";
}

static size_t text_width(const char *text) {
  size_t width = 0;
  for (; *text != '\0'; width++) {
    const size_t size = ss_utf8_printable(text, 4);
    text += size == 0 ? 1 : size;
  }
  return width;
}

/* Cells may quote file contents: what could steer a terminal or break the line is shown as '?'. */
static void put_text(const char *text, FILE *stream) {
  while (*text != '\0') {
    const size_t size = ss_utf8_printable(text, 4);
    if (size == 0) fputc('?', stream);
    else fwrite(text, 1, size, stream);
    text += size == 0 ? 1 : size;
  }
}

static void put_repeated(char c, size_t count, FILE *stream) {
  while (count-- > 0) fputc(c, stream);
}

/* Of a table that is wider than the terminal: the first `keys` columns, which say what a row is of, and those from
 * `from` up to, not including, `to`. */
struct piece {
  size_t keys, from, to;
};

static size_t column_behind(const struct piece *piece, size_t column) {
  return column + 1 == piece->keys ? piece->from : column + 1;
}

/* Prose, which is wider than its column: words in lines, one below the other. */
static void put_prose(const char *text, size_t width, size_t indent, FILE *stream) {
  size_t used = 0;
  indent += strspn(text, " "); /* what follows stands below its first word */
  for (const char *next; *text; text = next) {
    const size_t blank = strspn(text, " "), n = strcspn(text + blank, " ");
    next = text + blank + n;
    SS_AUTO_FREE char *word = strndup(text, blank + n);
    if (!word) return;
    const size_t wide = text_width(word);
    const bool breaks = used > 0 && used + wide > width;
    if (breaks) fputc('\n', stream), put_repeated(' ', indent, stream);
    put_text(breaks ? word + blank : word, stream);
    used = breaks ? wide - blank : used + wide;
  }
}

static void put_row(const struct ss_table *table, size_t row, const size_t *widths, const struct piece *piece,
                    FILE *stream) {
  size_t owed = 0, at = 0; /* spaces are written only before something, so that none trail */
  for (size_t column = 0; column < piece->to; at += widths[column] + 2, column = column_behind(piece, column)) {
    const char *text = cell_at(table, row, column);
    const size_t width = text_width(text), padding = widths[column] < width ? 0 : widths[column] - width;
    if (width > widths[column]) {
      put_repeated(' ', owed, stream);
      put_prose(text, widths[column], at, stream);
      owed = 0;
      continue;
    }
    if (!table->left[column]) owed += padding;
    if (width > 0) {
      put_repeated(' ', owed, stream);
      put_text(text, stream);
      owed = 0;
    }
    owed += 2 + (table->left[column] ? padding : 0);
  }
  fputc('\n', stream);
}

static void put_rule(const size_t *widths, const struct piece *piece, FILE *stream) {
  for (size_t column = 0; column < piece->to; column = column_behind(piece, column)) {
    put_repeated(' ', column > 0 ? 2 : 0, stream);
    put_repeated('-', widths[column], stream);
  }
  fputc('\n', stream);
}

const char *ss_colour(FILE *stream, enum ss_colour colour) {
  static const char *const codes[] = {"\033[0m", "\033[1m", "\033[1;31m", "\033[33m"};
  const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
  const int file = fileno(stream); /* below 0: in memory */
  const int number = errno;        /* of a write that failed before: isatty has one of its own */
  const bool shows = file >= 0 && isatty(file) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
  errno = number;
  /* mpirun lends its processes a terminal, also where what they print goes to a file */
  return shows && !(no && *no) && !ss_launch_read().launched ? codes[colour] : "";
}

static bool check_written(FILE *stream, struct ss_error *error) {
  if (!ferror(stream)) return true;
  return ss_fail(error, SS_MACHINE, "cannot write a table: %s", strerror(errno != 0 ? errno : EIO));
}

/* --- Markdown ----------------------------------------------------------------------------------------------- */

static enum ss_table_style printed_as;

void ss_table_style_set(enum ss_table_style style) {
  printed_as = style;
}

static void put_markdown_text(const char *text, FILE *stream) {
  while (*text != '\0') {
    const size_t size = ss_utf8_printable(text, 4);
    if (strchr("|\\`*_<[", *text)) fputc('\\', stream);
    if (size == 0) fputc('?', stream);
    else fwrite(text, 1, size, stream);
    text += size == 0 ? 1 : size;
  }
}

static bool put_markdown(const struct ss_table *table, FILE *stream, struct ss_error *error) {
  const size_t rows = row_count(table);
  errno = 0;
  fputc('\n', stream);
  for (size_t row = 0; row < rows; row++) {
    for (size_t column = 0; column < table->columns; column++) {
      fputs(column == 0 ? "| " : " ", stream);
      put_markdown_text(cell_at(table, row, column), stream);
      fputs(" |", stream);
    }
    fputc('\n', stream);
    for (size_t column = 0; row == 0 && column < table->columns; column++)
      fprintf(stream, "%s%s|", column == 0 ? "|" : "", table->left[column] ? "---" : "--:");
    if (row == 0) fputc('\n', stream);
  }
  fputc('\n', stream);
  return check_written(stream, error);
}

/* --- text and CSV ------------------------------------------------------------------------------------------- */

/* Characters of a line of the terminal; elsewhere of one that most screens show, if it folds. */
static size_t width_of(const struct ss_table *table, FILE *stream) {
  enum { LINE = 120 };
  struct winsize size;
  const int file = fileno(stream); /* below 0: in memory */
  if (file >= 0 && isatty(file) && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return table->folds ? LINE : SIZE_MAX;
}

/* Columns that stand left in the beginning, the first at least, as far as they leave room for others. */
static size_t key_columns(const struct ss_table *table, const size_t *widths, size_t width) {
  size_t keys = 0, used = 0;
  while (keys < table->columns && (keys == 0 || table->left[keys]) && used + widths[keys] + 2 <= width / 2)
    used += widths[keys++] + 2;
  return keys > 0 ? keys : 1;
}

/* Fills the piece up with columns, one at least. */
static void fill_piece(const struct ss_table *table, const size_t *widths, size_t width, struct piece *piece) {
  size_t used = 0;
  for (size_t i = 0; i < piece->keys; i++) used += widths[i] + 2;
  for (piece->to = piece->from; piece->to < table->columns; piece->to++) {
    if (piece->to > piece->from && used + widths[piece->to] > width) return;
    used += widths[piece->to] + 2;
  }
}

/* Prose in the last column, more than half a line of it, takes what room the others leave, or those that say what a
 * row is of. */
static void narrow_prose(const struct ss_table *table, size_t *widths, size_t width) {
  enum { LEAST = 40 };
  const size_t last = table->columns - 1, keys = key_columns(table, widths, width);
  size_t others = 0, room;
  if (width == SIZE_MAX || last == 0 || !table->left[last] || widths[last] <= width / 2) return;
  for (size_t i = 0; i < last; i++) others += widths[i] + 2;
  if (others + LEAST > width)
    for (others = 0, room = 0; room < keys; room++) others += widths[room] + 2;
  room = others + LEAST < width ? width - others : LEAST;
  if (room < widths[last]) widths[last] = room;
}

/* Whole where there is room, else in pieces one below the other. */
static void put_pieces(const struct ss_table *table, size_t *widths, FILE *stream) {
  const size_t rows = row_count(table), width = width_of(table, stream);
  narrow_prose(table, widths, width);
  struct piece piece = {.keys = key_columns(table, widths, width)};
  for (piece.from = piece.keys, piece.to = 0; piece.to < table->columns; piece.from = piece.to) {
    if (piece.to > 0) fputc('\n', stream);
    fill_piece(table, widths, width, &piece);
    for (size_t row = 0; row < rows; row++) {
      if (row == 0) fputs(ss_colour(stream, SS_BOLD), stream);
      put_row(table, row, widths, &piece, stream);
      if (row == 0) put_rule(widths, &piece, stream);
      if (row == 0) fputs(ss_colour(stream, SS_PLAIN), stream);
    }
  }
}

bool ss_table_print(const struct ss_table *table, FILE *stream, struct ss_error *error) {
  if (table == NULL || table->failed) return ss_fail_memory(error, "making a table");
  if (printed_as == SS_TABLE_MARKDOWN) return put_markdown(table, stream, error);
  SS_AUTO_FREE size_t *widths = ss_alloc_zero(table->columns, sizeof *widths);
  if (widths == NULL) return ss_fail_memory(error, "making a table");
  const size_t rows = row_count(table);
  for (size_t row = 0; row < rows; row++) {
    for (size_t column = 0; column < table->columns; column++) {
      const size_t width = text_width(cell_at(table, row, column));
      if (width > widths[column]) widths[column] = width;
    }
  }

  errno = 0;
  put_pieces(table, widths, stream);
  return check_written(stream, error);
}

static bool put_csv(const struct ss_table *table, size_t from, FILE *stream, struct ss_error *error) {
  if (table == NULL || table->failed) return ss_fail_memory(error, "making a table");
  errno = 0;
  const size_t rows = row_count(table);
  for (size_t row = from; row < rows; row++) {
    for (size_t column = 0; column < table->columns; column++) {
      if (column > 0) fputc(',', stream);
      ss_csv_put(cell_at(table, row, column), stream);
    }
    fputc('\n', stream);
  }
  return check_written(stream, error);
}

bool ss_table_csv(const struct ss_table *table, FILE *stream, struct ss_error *error) {
  return put_csv(table, 0, stream, error);
}

bool ss_table_csv_more(const struct ss_table *table, FILE *stream, struct ss_error *error) {
  return put_csv(table, 1, stream, error);
}

bool ss_table_print_free(struct ss_table *table, bool csv, FILE *stream, struct ss_error *error) {
  const bool ok = csv ? ss_table_csv(table, stream, error) : ss_table_print(table, stream, error);
  ss_table_free(table);
  return ok;
}

/* --- HTML --------------------------------------------------------------------------------------------------- */

static void html_row(const struct ss_table *table, size_t row, bool strong, FILE *stream) {
  fputs(strong ? "<tr class=\"best\">" : "<tr>", stream);
  for (size_t i = 0; i < table->columns; i++) {
    const bool is_head = row == 0 || i == 0;
    fprintf(stream, "<t%c%s%s>", is_head ? 'h' : 'd',
            row == 0 ? " scope=\"col\""
            : i == 0 ? " scope=\"row\""
                     : "",
            table->left[i] ? " class=\"left\"" : "");
    ss_html_text(cell_at(table, row, i), stream);
    fprintf(stream, "</t%c>", is_head ? 'h' : 'd');
  }
  fputs("</tr>\n", stream);
}

static void put_html(const struct ss_table *table, const char *look, const char *caption, size_t strong,
                     FILE *stream) {
  const size_t rows = row_count(table);
  fprintf(stream, "<div class=\"scroll\" tabindex=\"0\"><table class=\"%s\">\n", look);
  if (caption != NULL) ss_html_between("<caption>", caption, "</caption>\n", stream);
  fputs("<thead>", stream);
  html_row(table, 0, false, stream);
  fputs("</thead>\n<tbody>\n", stream);
  for (size_t i = 1; i < rows; i++) html_row(table, i, i - 1 == strong, stream);
  fputs("</tbody></table></div>\n", stream);
}

bool ss_table_html_free(struct ss_table *table, const char *look, const char *caption, size_t strong, FILE *stream,
                        struct ss_error *error) {
  const bool ok = table != NULL && !table->failed;
  if (ok) put_html(table, look, caption, strong, stream);
  ss_table_free(table);
  return ok || ss_fail_memory(error, "writing a table");
}
/* SPDX-License-Identifier: Apache-2.0 */
