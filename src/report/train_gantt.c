/* The last iteration of several systems, one below the other, as EmbRace's Fig. 6 shows it. */
#include "figures/plot.h"
#include "report/train.h"

#include <limits.h>
#include <string.h>

enum { WIDTH = 680, LANE = 20, POINTS_MAX = 16, NAME_LETTERS = 28 };

struct gantt {
  const struct ss_training_point *point[POINTS_MAX];
  size_t points;
  double longest; /* s */
};

/* The largest rank count of the first workload. */
static void choose(const struct ss_training *t, struct gantt *g) {
  uint32_t most = 0;
  for (size_t i = 0; i < t->points; i++)
    if (t->point[i].place == t->point[0].place && t->point[i].ranks > most) most = t->point[i].ranks;
  for (size_t i = 0; i < t->points && g->points < POINTS_MAX; i++)
    if (t->point[i].place == t->point[0].place && t->point[i].ranks == most) g->point[g->points++] = &t->point[i];
}

/* s of the last iteration */
static double last_of(const struct ss_training_point *p) {
  const double *end = p->result.end + p->options.iterations;
  return end[-1] - end[-2];
}

static double lane_of(size_t point, bool task) {
  return -2.6 * (double)point - task;
}

static void print_boxes(const struct gantt *g, enum ss_shade shade, double factor, FILE *s) {
  fputs("NaN NaN NaN NaN\n", s); /* a block of its own, also where the kind does not occur */
  for (size_t i = 0; i < g->points; i++) {
    const struct ss_training_point *p = g->point[i];
    for (size_t k = 0; k < p->result.spans; k++) {
      const struct ss_span *span = &p->result.span[k];
      struct ss_training_shown shown;
      if (!ss_training_show(p, span, &shown) || shown.shade != shade) continue;
      const double middle = lane_of(i, shown.task);
      fprintf(s, "%.17g %.17g %.17g %.17g\n", shown.start * factor, shown.end * factor, middle - 0.45, middle + 0.45);
    }
  }
  fputs("\n\n", s);
}

/* Names where there is room for them. */
static void print_names(const struct gantt *g, double factor, FILE *s) {
  fputs("NaN NaN \"\"\n", s);
  for (size_t i = 0; i < g->points; i++) {
    const struct ss_training_point *p = g->point[i];
    for (size_t k = 0; k < p->result.spans; k++) {
      struct ss_training_shown shown;
      if (!ss_training_show(p, &p->result.span[k], &shown)) continue;
      const char *name = shown.name;
      if (!*name || (double)strlen(name) * 6 > (shown.end - shown.start) / g->longest * (WIDTH - 200)) continue;
      fprintf(s, "%.17g %.17g \"", (shown.start + shown.end) / 2 * factor, lane_of(i, shown.task));
      for (const char *c = name; *c; c++) fputc(*c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '?' : *c, s);
      fputs("\"\n", s);
    }
  }
}

static void print_tics(const struct gantt *g, FILE *s) {
  fputs("set ytics (", s);
  for (size_t i = 0; i < g->points; i++) {
    char text[160];
    snprintf(text, sizeof text, "%.*s", NAME_LETTERS, g->point[i]->system->name);
    fputs(i ? ", " : "", s);
    ss_plot_quote(text, true, s);
    fprintf(s, " %.17g, 'channel' %.17g", lane_of(i, false), lane_of(i, true));
  }
  fputs(")\n", s);
}

static void print_script(const struct gantt *g, enum ss_picture picture, const char *unit, FILE *s) {
  const struct ss_training_point *p = g->point[0];
  char title[300];
  snprintf(title, sizeof title, "%.120s on %u ranks: the last iteration", p->place->workload.name, p->ranks);
  ss_plot_terminal(picture, WIDTH, 122 + LANE * 2.6 * (double)g->points, s);
  fprintf(s, "load 'style.gp'\ndata = 'gantt.dat'\ntexts = 'names.dat'\nn = %d\narray name[%d] = [", SS_SHADES,
          SS_SHADES);
  for (int i = 0; i < SS_SHADES; i++) fprintf(s, "%s'%s'", i ? ", " : "", ss_shade_names[i]);
  fputs("]\nset title ", s);
  ss_plot_quote(title, false, s);
  fprintf(s, " font big\nset xlabel 'time in %s'\nset key maxrows 2\n", unit);
  fprintf(s, "set yrange [%.17g:0.8]\nset xrange [0:*]\n", lane_of(g->points - 1, true) - 0.8);
  print_tics(g, s);
  fputs("load 'gantt.gp'\nset output\n", s);
}

static FILE *open_in(const char *folder, const char *name, struct ss_error *error) {
  char path[PATH_MAX];
  const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *s = n > 0 && (size_t)n < sizeof path ? fopen(path, "w") : NULL;
  if (!s) ss_fail(error, SS_MACHINE, "%s: cannot be written", path);
  return s;
}

static bool close_written(FILE *s, struct ss_error *error) {
  const bool bad = ferror(s) != 0;
  return (fclose(s) == 0 && !bad) || ss_fail(error, SS_MACHINE, "a figure's files cannot be written");
}

static bool script(const void *context, enum ss_picture picture, const char *folder, struct ss_error *error) {
  const struct gantt *g = context;
  const bool fine = g->longest < 1e-3;
  const double factor = fine ? 1e6 : 1e3;
  if (!ss_plot_template("style.gp", folder, error) || !ss_plot_template("gantt.gp", folder, error)) return false;
  FILE *s = open_in(folder, "gantt.dat", error);
  if (!s) return false;
  for (int i = 0; i < SS_SHADES; i++) print_boxes(g, (enum ss_shade)i, factor, s);
  if (!close_written(s, error) || !(s = open_in(folder, "names.dat", error))) return false;
  print_names(g, factor, s);
  if (!close_written(s, error) || !(s = open_in(folder, "figure.gp", error))) return false;
  print_script(g, picture, fine ? "us" : "ms", s);
  return close_written(s, error);
}

bool ss_training_gantt(const struct ss_training *t, enum ss_picture picture, struct ss_picture_bytes *out,
                       struct ss_error *error) {
  struct gantt g = {0};
  choose(t, &g);
  for (size_t i = 0; i < g.points; i++) g.longest = fmax(g.longest, last_of(g.point[i]));
  return ss_plot_draw_script(script, &g, picture, out, error);
}
