#include "figures/rounds_drawing.h"

#include "base/json.h"
#include "base/units.h"
#include "query/field.h"

enum { ROUNDS_MAX = 64, WIDTHS = 6 };
/* 1/96 inch: a page; labels beside lanes; the narrowest round; a small letter */
static const double page = 672, around = 72, narrowest = 22, letter = 5.1;

/* --- panels ------------------------------------------------------------------------------------------------- */

static uint32_t number_of(const cJSON *object, const char *key) {
  const double number = ss_json_number(object, key);
  return isnan(number) ? 0 : (uint32_t)number;
}

static bool differs(const cJSON *runs, const char *key) {
  const cJSON *first = ss_field_find(runs->child, key);
  for (const cJSON *run = runs->child->next; run; run = run->next)
    if (!cJSON_Compare(first, ss_field_find(run, key), true)) return true;
  return false;
}

/* The scheme, and in what else the runs differ. */
static void title_of(const cJSON *run, const cJSON *runs, char *text, size_t size) {
  const cJSON *at = ss_json_get(run, "at");
  snprintf(text, size, "%s, %u ranks", ss_json_word(run, "label"), number_of(run, "ranks"));
  if (differs(runs, "tensor")) ss_append(text, size, ", %s", ss_json_word(run, "tensor"));
  for (const cJSON *p = at ? at->child : NULL; p; p = p->next) {
    if (!differs(runs, p->string)) continue;
    SS_AUTO_FREE char *value = cJSON_IsString(p) ? NULL : cJSON_PrintUnformatted(p);
    ss_append(text, size, ", %s = %s", p->string, value ? value : p->valuestring);
  }
}

static bool name_lanes(struct ss_plot *plot, struct ss_plot_panel *panel, uint32_t ranks, uint32_t servers,
                       struct ss_error *error) {
  char name[32];
  const char **lane = ss_arena_alloc(&plot->arena, ranks + servers, sizeof *lane);
  panel->lane = lane;
  for (uint32_t i = 0; lane && i < ranks + servers; i++) {
    snprintf(name, sizeof name, i < ranks ? "%u" : "server %u", i < ranks ? i : i - ranks);
    lane[panel->lanes++] = ss_plot_text(plot, name);
    if (!lane[i]) return ss_fail_memory(error, "drawing");
  }
  return lane ? true : ss_fail_memory(error, "drawing");
}

static bool add_messages(struct ss_plot_panel *panel, const char *series, const cJSON *run, struct ss_error *error) {
  const cJSON *messages = ss_json_get(run, "messages");
  for (const cJSON *m = messages ? messages->child : NULL; m; m = m->next) {
    const uint32_t from = number_of(m, "from"), to = number_of(m, "to");
    const cJSON *bytes = ss_json_get(m, "bytes");
    const struct ss_plot_row row = {.series = series,
                                    .x = number_of(m, "round"),
                                    .y = number_of(m, "phase"),
                                    .low = from,
                                    .high = to,
                                    .z = cJSON_IsNumber(bytes) ? bytes->valuedouble : 0};
    if (!ss_plot_add(panel, &row, error)) return false;
  }
  return true;
}

static bool add_run(struct ss_plot *plot, const char *title, const cJSON *run, struct ss_error *error) {
  const uint32_t rounds = number_of(run, "rounds");
  const char *series = ss_plot_text(plot, ss_json_word(run, "label"));
  if (plot->panels == SS_PLOT_PANELS)
    return ss_fail(error, SS_BAD_INPUT, "more than %d runs: a picture has no room for more", SS_PLOT_PANELS);
  if (rounds == 0 || rounds > ROUNDS_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s on %u ranks has %u rounds%s", ss_json_word(run, "label"),
                   number_of(run, "ranks"), rounds,
                   rounds ? ": more than can be read; take fewer ranks (--ranks 4)" : ": there is nothing to draw");
  struct ss_plot_panel *panel = &plot->panel[plot->panels++];
  *panel = (struct ss_plot_panel){.kind = SS_PLOT_ROUNDS,
                                  .x = {.label = "round", .unit = "", .low = NAN, .high = NAN},
                                  .y = {.label = "rank", .unit = "", .low = NAN, .high = NAN},
                                  .z = {.label = "", .unit = "B", .low = NAN, .high = NAN}};
  panel->title = ss_plot_text(plot, title);
  if (!series || !panel->title) return ss_fail_memory(error, "drawing");
  return name_lanes(plot, panel, number_of(run, "ranks"), number_of(run, "servers"), error) &&
         add_messages(panel, series, run, error);
}

bool ss_rounds_add(struct ss_plot *plot, const char *title, const cJSON *tree, struct ss_error *error) {
  const cJSON *runs = ss_json_get(tree, "runs");
  char text[300];
  for (const cJSON *run = runs ? runs->child : NULL; run; run = run->next) {
    title_of(run, runs, text, sizeof text);
    if (!add_run(plot, title && !run->next && run == runs->child ? title : text, run, error)) return false;
  }
  return (runs && runs->child) || ss_fail(error, SS_BAD_INPUT, "there is nothing to draw");
}

bool ss_rounds_plot(struct ss_plot *plot, const cJSON *tree, struct ss_error *error) {
  plot->wide = true;
  plot->note =
      ss_plot_text(plot, "Each arrow is a message: it begins at its sender and ends at its receiver; above a "
                         "round stands how large its messages are, and the wider, the more bytes. What stands "
                         "behind a dotted line waits for what came before it; rounds between two go on "
                         "together, as fast as ports let them.");
  return plot->note ? ss_rounds_add(plot, NULL, tree, error) : ss_fail_memory(error, "drawing");
}

/* --- drawing ------------------------------------------------------------------------------------------------ */

size_t ss_rounds_last(const struct ss_plot_panel *panel) {
  double last = 1;
  for (size_t i = 0; i < panel->rows; i++) last = fmax(last, panel->row[i].x);
  return (size_t)last;
}

size_t ss_rounds_across(const struct ss_plot *plot) {
  size_t most = 1;
  for (size_t p = 0; p < plot->panels; p++)
    if (ss_rounds_last(&plot->panel[p]) > most) most = ss_rounds_last(&plot->panel[p]);
  const double across = floor(page / (around + narrowest * (double)most));
  return (size_t)fmin(fmax(across, 1), fmin(3, (double)plot->panels));
}

/* What a round's messages carry, as two lines: "18.5 to", "55.4 kB"; of one size the first is empty. */
struct sizes {
  char least[32], most[32];
};

static struct sizes sizes_of(const struct ss_plot_panel *panel, size_t round) {
  struct sizes out = {"", ""};
  double least = INFINITY, most = 0;
  for (size_t i = 0; i < panel->rows; i++) {
    if (panel->row[i].x != (double)round) continue;
    least = fmin(least, panel->row[i].z);
    most = fmax(most, panel->row[i].z);
  }
  ss_units_format(out.least, sizeof out.least, SS_BYTES, least);
  ss_units_format(out.most, sizeof out.most, SS_BYTES, most);
  char *unit = strchr(out.least, ' ');
  const char *other = strchr(out.most, ' ');
  if (strcmp(out.least, out.most) == 0) out.least[0] = '\0';
  else if (unit && other && strcmp(unit, other) == 0) *unit = '\0';
  return out;
}

/* Too long for a round's column. */
static bool turned(const struct ss_plot_panel *panel, double column) {
  size_t longest = 0;
  for (size_t r = 1; r <= ss_rounds_last(panel); r++) {
    const struct sizes size = sizes_of(panel, r);
    const size_t n = strlen(size.most), m = size.least[0] ? strlen(size.least) + 3 : 0;
    longest = n > longest ? n : longest;
    longest = m > longest ? m : longest;
  }
  return (double)longest * letter > column;
}

double ss_rounds_above(const struct ss_plot_panel *panel, double column) {
  return turned(panel, column) ? 84 : 44;
}

/* Turned ones that say the same as their neighbour are left out. */
static void write_sizes(const struct ss_plot_panel *panel, double column, FILE *s) {
  const bool slanted = turned(panel, column);
  char text[80], before[80] = "";
  for (size_t r = 1; r <= ss_rounds_last(panel); r++) {
    const struct sizes size = sizes_of(panel, r);
    snprintf(text, sizeof text, "%s%s%s", size.least, size.least[0] ? slanted ? " to " : " to\\n" : "", size.most);
    if (slanted && strcmp(text, before) == 0) continue;
    fprintf(s, "set label \"%s\" at %.1f, graph 1 font small %s\n", text, (double)r - 0.5,
            slanted         ? "left rotate by 60 offset 0,0.3"
            : size.least[0] ? "center offset 0,1.1"
                            : "center offset 0,0.5");
    snprintf(before, sizeof before, "%s", text);
  }
}

static void write_lanes(const struct ss_plot_panel *panel, size_t last, FILE *s) {
  fputs("set ytics scale 0 (", s);
  for (size_t i = 0; i < panel->lanes; i++) {
    if (i) fputs(", ", s);
    ss_plot_quote(panel->lane[i], SS_QUOTE_TIC, s);
    fprintf(s, " %zu", i);
  }
  fprintf(s, ")\nset yrange [%.1f:-0.5]\nset xrange [0:%zu]\n", (double)panel->lanes - 0.5, last);
  for (size_t i = 0; i < panel->lanes; i++)
    fprintf(s, "set arrow from 0,%zu to %zu,%zu nohead back linecolor rgb '#cccccc' linewidth 0.8\n", i, last, i);
}

void ss_rounds_script(const struct ss_plot_panel *panel, double column, FILE *s) {
  const size_t last = ss_rounds_last(panel), step = column < 14 ? 5 : 1;
  write_lanes(panel, last, s);
  fputs("set xtics scale 0 (", s);
  for (size_t r = 1; r <= last; r++)
    if (step == 1 || r % step == 0)
      fprintf(s, "%s'%zu' %.1f", r >= 2 * step || (step == 1 && r > 1) ? ", " : "", r, (double)r - 0.5);
  fputs(")\n", s);
  write_sizes(panel, column, s);
  for (size_t i = 1; i < panel->rows; i++)
    if (panel->row[i].y != panel->row[i - 1].y)
      fprintf(s,
              "set arrow from %.1f, graph 0 to %.1f, graph 1 nohead back linecolor rgb '#888888' dashtype 3 "
              "linewidth 1\n",
              panel->row[i].x - 1, panel->row[i].x - 1);
}

void ss_rounds_data(const struct ss_plot_panel *panel, double most, FILE *s) {
  for (int width = 0; width <= WIDTHS; width++) {
    for (size_t i = 0; i < panel->rows; i++) {
      const struct ss_plot_row *r = &panel->row[i];
      const int own = r->z > 0 ? (int)fmin(WIDTHS, 1 + floor(WIDTHS * r->z / most)) : 0;
      if (own == width) fprintf(s, "%.2f %.17g 0.84 %.17g\n", r->x - 0.92, r->low, r->high - r->low);
    }
    fputs("NaN NaN NaN NaN\n\n\n", s);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
