#include "figures/plot.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/list.h"
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
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

static void put_number(const char *text, double value, bool tabs, FILE *stream) {
  fputc(tabs ? '\t' : ',', stream);
  if (text) put_field(text, tabs, stream);
  else if (!isnan(value)) fprintf(stream, "%.17g", value);
}

static bool only_rounds(const struct ss_plot *plot) {
  size_t rounds = 0;
  for (size_t p = 0; p < plot->panels; p++) rounds += plot->panel[p].kind == SS_PLOT_ROUNDS;
  return rounds > 0 && rounds == plot->panels;
}

/* Messages, in the words for them. */
static void put_rounds(const struct ss_plot *plot, bool tabs, FILE *stream) {
  fputs(tabs ? "panel\tscheme\tround\tphase\tfrom\tto\tbytes\n" : "panel,scheme,round,phase,from,to,bytes\n", stream);
  for (size_t p = 0; p < plot->panels; p++)
    for (size_t i = 0; i < plot->panel[p].rows; i++) {
      const struct ss_plot_row *r = &plot->panel[p].row[i];
      put_field(plot->panel[p].title, tabs, stream);
      fputc(tabs ? '\t' : ',', stream);
      put_field(r->series, tabs, stream);
      put_number(NULL, r->x, tabs, stream);
      put_number(NULL, r->y, tabs, stream);
      put_number(plot->panel[p].lane[(size_t)r->low], 0, tabs, stream);
      put_number(plot->panel[p].lane[(size_t)r->high], 0, tabs, stream);
      put_number(NULL, r->z, tabs, stream);
      fputc('\n', stream);
    }
}

void ss_plot_data(const struct ss_plot *plot, bool tabs, FILE *stream) {
  if (only_rounds(plot)) {
    put_rounds(plot, tabs, stream);
    return;
  }
  fputs(tabs ? "panel\tseries\tx\ty\tlow\thigh\tz\n" : "panel,series,x,y,low,high,z\n", stream);
  for (size_t p = 0; p < plot->panels; p++)
    for (size_t i = 0; i < plot->panel[p].rows; i++) {
      const struct ss_plot_row *r = &plot->panel[p].row[i];
      put_field(plot->panel[p].title ? plot->panel[p].title : "", tabs, stream);
      fputc(tabs ? '\t' : ',', stream);
      put_field(r->series, tabs, stream);
      if (r->printed) fputs(" (printed)", stream);
      put_number(r->x_text, r->x, tabs, stream);
      put_number(r->y_text, r->y, tabs, stream);
      put_number(NULL, r->low, tabs, stream);
      put_number(NULL, r->high, tabs, stream);
      put_number(NULL, r->z, tabs, stream);
      fputc('\n', stream);
    }
}

/* --- gnuplot ----------------------------------------------------------------------------------------------- */

static bool in_folder(char *path, size_t size, const char *folder, const char *name, struct ss_error *error) {
  const int n = snprintf(path, size, "%s/%s", folder, name);
  return (n > 0 && (size_t)n < size) || ss_fail(error, SS_MACHINE, "%.80s...: the path is too long", folder);
}

static void remove_folder(const char *folder) {
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      (void)unlinkat(dirfd(dir), entry->d_name, 0);
  if (dir) closedir(dir);
  (void)rmdir(folder);
  ss_temporary_forget(folder);
}

static bool make_folder(char *folder, size_t size, struct ss_error *error) {
  const char *parent = getenv("TMPDIR");
  if (!parent || !parent[0]) parent = "/tmp";
  const int n = snprintf(folder, size, "%s/sparsync-plot-XXXXXX", parent);
  if (n > 0 && (size_t)n < size && mkdtemp(folder)) {
    ss_temporary_add(folder);
    return true;
  }
  return ss_fail(error, SS_MACHINE, "cannot make a temporary folder in %.200s: %s (TMPDIR says where)", parent,
                 strerror(errno));
}

static bool not_there(struct ss_error *error) {
  return ss_fail(error, SS_MACHINE,
                 "gnuplot is not on the PATH: figures need it (Debian, Ubuntu: apt-get install gnuplot-nox)");
}

/* Standard output goes to where it does no harm, messages into FOLDER/messages. */
static bool spawn(const char *folder, pid_t *child, struct ss_error *error) {
  /* -d: no .gnuplot of the user's, which may define what it likes */
  static char program[] = "gnuplot", plain[] = "-d", script[] = "figure.gp";
  char *const arguments[] = {program, plain, script, NULL};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return ss_fail_memory(error, "starting gnuplot");
  int number = posix_spawn_file_actions_addchdir_np(&actions, folder);
  if (number == 0) number = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (number == 0) number = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (number == 0)
    number = posix_spawn_file_actions_addopen(&actions, 2, "messages", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (number == 0) number = posix_spawnp(child, program, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (number == ENOENT) return not_there(error);
  return number == 0 || ss_fail(error, SS_MACHINE, "cannot start gnuplot: %s", strerror(number));
}

static bool fail_gnuplot(const char *folder, int status, struct ss_error *error) {
  char path[PATH_MAX], text[600] = "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return not_there(error);
  if (in_folder(path, sizeof path, folder, "messages", NULL)) {
    FILE *stream = fopen(path, "r");
    const size_t n = stream ? fread(text, 1, sizeof text - 1, stream) : 0;
    text[n] = '\0';
    if (stream) fclose(stream);
  }
  for (char *c = text; *c; c++)
    if (*c == '\n') *c = ' ';
  return ss_fail(error, SS_MACHINE, "gnuplot failed: %s", text[0] ? text : "without a message");
}

static bool run_gnuplot(const char *folder, struct ss_error *error) {
  pid_t child;
  int status;
  if (!spawn(folder, &child, error)) return false;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return ss_fail(error, SS_MACHINE, "lost sight of gnuplot: %s", strerror(errno));
  return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || fail_gnuplot(folder, status, error);
}

static bool take_picture(const char *folder, struct ss_picture_bytes *out, struct ss_error *error) {
  char path[PATH_MAX];
  struct ss_mapping mapping;
  if (!in_folder(path, sizeof path, folder, "picture", error)) return false;
  if (!ss_map_file(path, &mapping, NULL) || mapping.size == 0) return fail_gnuplot(folder, 0, error);
  char *copy = ss_alloc(mapping.size + 1, 1);
  if (copy) {
    memcpy(copy, mapping.data, mapping.size);
    copy[mapping.size] = '\0';
    *out = (struct ss_picture_bytes){copy, mapping.size};
  }
  ss_unmap_file(&mapping);
  ss_input_release(path); /* its number may soon be another file's */
  return copy ? true : ss_fail_memory(error, "reading a picture");
}

bool ss_plot_draw_script(bool (*script)(const void *, enum ss_picture, const char *, struct ss_error *),
                         const void *context, enum ss_picture picture, struct ss_picture_bytes *out,
                         struct ss_error *error) {
  char folder[PATH_MAX / 2];
  if (!make_folder(folder, sizeof folder, error)) return false;
  const bool ok =
      script(context, picture, folder, error) && run_gnuplot(folder, error) && take_picture(folder, out, error);
  remove_folder(folder);
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
  static const char *const endings[] = {".svg", ".pdf", ".png"};
  const char *dot = strrchr(path, '.');
  for (int i = 0; dot && i < 3; i++)
    if (strcmp(dot, endings[i]) == 0) {
      *out = (enum ss_picture)i;
      return true;
    }
  return ss_fail(error, SS_BAD_INPUT, "%s: does not end in .svg, .pdf or .png", path);
}
