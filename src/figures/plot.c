#include "figures/plot.h"

#include "base/csv.h"
#include "base/file.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the table --------------------------------------------------------------------------------------------- */

void ss_plot_free(struct ss_plot *plot) {
  for (size_t i = 0; i < plot->panels; i++) free(plot->panel[i].row);
  ss_arena_free(&plot->arena);
  *plot = (struct ss_plot){0};
}

const char *ss_plot_text(struct ss_plot *plot, const char *text) {
  const size_t size = strlen(text) + 1;
  char *copy = ss_arena_alloc(&plot->arena, size, 1);
  return copy ? memcpy(copy, text, size) : NULL;
}

/* "dashed" as gnuplot's dash types are numbered. */
static const char *const dashes[] = {"solid", "dashed", "dotted", "dash-dotted", "dash-dot-dotted", NULL};

static bool read_style(const char *word, struct ss_plot_style *out, struct ss_error *error) {
  if (word[0] == '#' && strlen(word) == 7 && strspn(word + 1, "0123456789abcdefABCDEF") == 6 && !out->colour[0]) {
    snprintf(out->colour, sizeof out->colour, "%s", word);
    return true;
  }
  for (int i = 0; dashes[i]; i++)
    if (strcmp(word, dashes[i]) == 0 && !out->dash) {
      out->dash = i + 1;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT,
                 "style of %.100s: \"%.40s\" is not a colour (say #cc3311) or solid, dashed, dotted, dash-dotted or "
                 "dash-dot-dotted, each once",
                 out->label, word);
}

static bool has_series(const struct ss_plot *plot, const char *label) {
  for (size_t p = 0; p < plot->panels; p++)
    for (size_t i = 0; i < plot->panel[p].rows; i++)
      if (strcmp(plot->panel[p].row[i].series, label) == 0) return true;
  return false;
}

bool ss_plot_set_style(struct ss_plot *plot, const char *label, const char *style, struct ss_error *error) {
  struct ss_plot_style own = {.label = ss_plot_text(plot, label)};
  char copy[64], *rest = copy;
  if (!own.label) return ss_fail_memory(error, "drawing");
  if (!has_series(plot, label)) return ss_fail(error, SS_BAD_INPUT, "style: no series is called \"%.100s\"", label);
  for (size_t i = 0; i < plot->styles; i++)
    if (strcmp(plot->style[i].label, label) == 0)
      return ss_fail(error, SS_BAD_INPUT, "style of %.100s: given twice", label);
  if (plot->styles == SS_PLOT_SERIES_MAX)
    return ss_fail(error, SS_BAD_INPUT, "more than %d styles", SS_PLOT_SERIES_MAX);
  snprintf(copy, sizeof copy, "%s", style);
  for (char *word; (word = strsep(&rest, ","));)
    if (!read_style(word, &own, error)) return false;
  plot->style[plot->styles++] = own;
  return true;
}

bool ss_plot_add(struct ss_plot_panel *panel, const struct ss_plot_row *row, struct ss_error *error) {
  if (panel->rows == SS_PLOT_ROWS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "more than %d points to draw (say which with --where)", SS_PLOT_ROWS_MAX);
  if (!ss_grow(panel->row, panel->capacity, panel->rows + 1)) return ss_fail_memory(error, "collecting points");
  panel->row[panel->rows++] = *row;
  return true;
}

/* A field of the table: with tabs, nothing in the text may break it. */
static void put_field(const char *text, bool tabs, FILE *stream) {
  if (!tabs) ss_csv_put(text, stream);
  for (; tabs && *text; text++) fputc((unsigned char)*text < ' ' ? ' ' : *text, stream);
}

static bool only_rounds(const struct ss_plot *plot) {
  bool rounds = plot->panels > 0;
  for (size_t p = 0; p < plot->panels; p++) rounds = rounds && plot->panel[p].kind == SS_PLOT_ROUNDS;
  return rounds;
}

enum { DATA_COLUMNS = 7 };

static void put_line(const char *const texts[DATA_COLUMNS], const double values[DATA_COLUMNS], bool tabs,
                     FILE *stream) {
  for (size_t i = 0; i < DATA_COLUMNS; i++) {
    if (i > 0) fputc(tabs ? '\t' : ',', stream);
    if (texts[i]) put_field(texts[i], tabs, stream);
    else if (!isnan(values[i])) fprintf(stream, "%.17g", values[i]);
  }
  fputc('\n', stream);
}

void ss_plot_data(const struct ss_plot *plot, bool tabs, FILE *stream) {
  static const char *const heads[][DATA_COLUMNS] = {{"panel", "series", "x", "y", "low", "high", "z"},
                                                    {"panel", "scheme", "round", "phase", "from", "to", "bytes"}};
  const bool rounds = only_rounds(plot);
  char series[600];
  put_line(heads[rounds], NULL, tabs, stream);
  for (size_t p = 0; p < plot->panels; p++)
    for (size_t i = 0; i < plot->panel[p].rows; i++) {
      const struct ss_plot_panel *panel = &plot->panel[p];
      const struct ss_plot_row *r = &panel->row[i];
      snprintf(series, sizeof series, "%.580s (printed)", r->series);
      const char *const texts[DATA_COLUMNS] = {panel->title ? panel->title : "",
                                               r->printed ? series : r->series,
                                               rounds ? NULL : r->x_text,
                                               rounds ? NULL : r->y_text,
                                               rounds ? panel->lane[(size_t)r->low] : NULL,
                                               rounds ? panel->lane[(size_t)r->high] : NULL};
      put_line(texts, (const double[DATA_COLUMNS]){NAN, NAN, r->x, r->y, r->low, r->high, r->z}, tabs, stream);
    }
}

/* --- gnuplot ----------------------------------------------------------------------------------------------- */

static bool not_there(struct ss_error *error) {
  return ss_fail(error, SS_MACHINE,
                 "gnuplot is not on the PATH: figures need it (Debian, Ubuntu: apt-get install gnuplot-nox)");
}

/* Its standard streams: the script, the picture, its complaints. They ascend, so that none is overwritten early. */
static bool spawn(const int file[3], pid_t *child, struct ss_error *error) {
  /* -d: no .gnuplot of the user's, which may define what it likes */
  static char program[] = "gnuplot", plain[] = "-d", script[] = "/dev/stdin";
  char *const arguments[] = {program, plain, script, NULL};
  posix_spawn_file_actions_t actions;
  int number = posix_spawn_file_actions_init(&actions);
  if (number != 0) return ss_fail_memory(error, "starting gnuplot");
  for (int i = 0; i < 3 && number == 0; i++) number = posix_spawn_file_actions_adddup2(&actions, file[i], i);
  if (number == 0) number = posix_spawnp(child, program, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (number == ENOENT) return not_there(error);
  return number == 0 || ss_fail(error, SS_MACHINE, "cannot start gnuplot: %s", strerror(number));
}

/* All of the file, and behind it a zero; the caller's, NULL: an error. */
static char *contents(int file, size_t *size, struct ss_error *error) {
  const off_t end = lseek(file, 0, SEEK_END);
  char *bytes = end < 0 ? NULL : ss_alloc_zero((size_t)end + 1, 1);
  *size = bytes ? (size_t)end : 0;
  if (!bytes) (void)ss_fail_memory(error, "reading a picture");
  if (!bytes || ss_scratch_read(file, bytes, *size, 0, error)) return bytes;
  free(bytes);
  return NULL;
}

static bool fail_gnuplot(int messages, struct ss_error *error) {
  size_t size;
  SS_AUTO_FREE char *text = contents(messages, &size, NULL);
  for (char *c = text; c && *c; c++)
    if (*c == '\n') *c = ' ';
  if (text && strstr(text, "unknown or ambiguous terminal"))
    return ss_fail(
        error, SS_MACHINE,
        "this gnuplot cannot draw that format (Debian, Ubuntu: apt-get install gnuplot-nox; .svg it always "
        "can): %.300s",
        text);
  return ss_fail(error, SS_MACHINE, "gnuplot failed: %.600s", text && *text ? text : "without a message");
}

static bool run_gnuplot(const int file[3], struct ss_picture_bytes *out, struct ss_error *error) {
  pid_t child;
  int status;
  if (!spawn(file, &child, error)) return false;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return ss_fail(error, SS_MACHINE, "lost sight of gnuplot: %s", strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return not_there(error);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || lseek(file[1], 0, SEEK_END) <= 0)
    return fail_gnuplot(file[2], error);
  out->bytes = contents(file[1], &out->size, error);
  return out->bytes != NULL;
}

/* A picture for TeX that is wider than the line it stands in (a column, or a page's text) shrinks to that, type and
 * all.
 */
static bool fit_line(struct ss_picture_bytes *picture, struct ss_error *error) {
  static const char before[] = "\\leavevmode\\sbox0{%\n",
                    behind[] = "}\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\box0}\\else\\box0\\fi\n";
  const size_t size = picture->size + sizeof before + sizeof behind;
  char *text = ss_alloc(size, 1);
  if (text) picture->size = (size_t)snprintf(text, size, "%s%s%s", before, picture->bytes, behind);
  free(picture->bytes);
  picture->bytes = text;
  return text || ss_fail_memory(error, "drawing");
}

bool ss_plot_draw_script(ss_plot_writer *script, const void *context, enum ss_picture picture,
                         struct ss_picture_bytes *out, struct ss_error *error) {
  int file[3] = {-1, -1, -1};
  SS_AUTO_FREE char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return ss_fail_memory(error, "drawing");
  bool ok = script(context, picture, stream, error);
  if (fclose(stream) != 0 && ok) ok = ss_fail_memory(error, "drawing");
  for (int i = 0; ok && i < 3; i++) {
    file[i] = ss_scratch_open(NULL, error);
    ok = file[i] >= 0;
  }
  ok = ok && ss_scratch_write(file[0], text, size, 0, error) && run_gnuplot(file, out, error) &&
       (picture != SS_PICTURE_TEX || fit_line(out, error));
  for (int i = 0; i < 3; i++)
    if (file[i] >= 0) (void)close(file[i]);
  return ok;
}

bool ss_plot_draw(const struct ss_plot *plot, enum ss_picture picture, struct ss_picture_bytes *out,
                  struct ss_error *error) {
  return ss_plot_draw_script(ss_plot_script, plot, picture, out, error);
}

static bool print_bytes(const void *picture, FILE *stream, struct ss_error *error) {
  const struct ss_picture_bytes *p = picture;
  (void)error; /* ss_output_write finds what goes wrong */
  fwrite(p->bytes, 1, p->size, stream);
  return true;
}

bool ss_picture_write(struct ss_picture_bytes *picture, const char *path, struct ss_error *error) {
  const bool ok = ss_output_write(path, print_bytes, picture, error);
  free(picture->bytes);
  return ok;
}

bool ss_picture_of(const char *path, enum ss_picture *out, struct ss_error *error) {
  static const char *const endings[] = {".svg", ".pdf", ".png", ".tex", ".pgf"};
  const char *dot = strrchr(path, '.');
  for (int i = 0; dot && i < 5; i++)
    if (strcmp(dot, endings[i]) == 0) {
      *out = i < SS_PICTURE_TEX ? (enum ss_picture)i : SS_PICTURE_TEX;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "%s: does not end in .svg, .pdf, .png, or of PGF .tex or .pgf", path);
}
/* SPDX-License-Identifier: Apache-2.0 */
