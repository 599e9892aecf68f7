/* The last iteration of several systems, one below the other, as EmbRace's Fig. 6 shows it. */
#include "figures/plot.h"
#include "report/tables.h"
#include "study/trainings.h"

enum { POINTS_MAX = 16, NAME_LETTERS = 28 };

/* Of a point what is computed (channel -1), or what a channel carries. */
static bool add_lane(struct ss_plot *plot, const struct ss_training_point *p, int64_t channel,
                     struct ss_error *error) {
  const bool task = channel >= 0;
  char text[160];
  snprintf(text, sizeof text, "%.*s%s", NAME_LETTERS, p->system->name, task ? ": channel" : "");
  if (task && p->system->concurrency.channels > 1)
    snprintf(text, sizeof text, "%.*s: channel %d", NAME_LETTERS, p->system->name, (int)channel);
  const char *lane = ss_plot_text(plot, text);
  if (!lane) return ss_fail_memory(error, "drawing");
  for (size_t k = 0; k < p->result.spans; k++) {
    struct ss_training_shown shown;
    if (!ss_training_show(p, &p->result.span[k], &shown) || shown.task != task || (task && shown.channel != channel))
      continue;
    const struct ss_plot_row row = {.series = ss_shade_names[shown.shade],
                                    .x_text = shown.name,
                                    .y_text = lane,
                                    .x = NAN,
                                    .y = NAN,
                                    .z = NAN,
                                    .low = shown.start,
                                    .high = shown.end};
    if (!ss_plot_add(plot->panel, &row, error)) return false;
  }
  return true;
}

/* The largest rank count of the first workload. */
static bool fill(const struct ss_training *t, struct ss_plot *plot, struct ss_error *error) {
  uint32_t most = 0;
  size_t count = 0;
  char title[300];
  bool ok = true;
  for (size_t i = 0; i < t->points; i++)
    if (t->point[i].fed == t->point->fed && t->point[i].ranks > most) most = t->point[i].ranks;
  for (size_t i = 0; ok && i < t->points && count < POINTS_MAX; i++) {
    const struct ss_training_point *p = &t->point[i];
    if (p->fed != t->point->fed || p->ranks != most) continue;
    for (int64_t c = -1; ok && c < (int64_t)p->system->concurrency.channels; c++) ok = add_lane(plot, p, c, error);
    count++;
  }
  snprintf(title, sizeof title, "%.120s on %u ranks: the last iteration", t->point->fed->workload.name, most);
  plot->title = ss_plot_text(plot, title);
  return ok && (plot->title || ss_fail_memory(error, "drawing"));
}

bool ss_training_gantt(const struct ss_training *t, enum ss_picture picture, struct ss_picture_bytes *out,
                       struct ss_error *error) {
  const struct ss_plot_axis nothing = {.label = "", .unit = "", .low = NAN, .high = NAN};
  SS_AUTO(ss_plot_free) struct ss_plot plot = {.wide = true, .panels = 1};
  plot.panel[0] = (struct ss_plot_panel){
      .kind = SS_PLOT_SPANS, .x = {.label = "time", .unit = "s", .low = 0, .high = NAN}, .y = nothing, .z = nothing};
  return fill(t, &plot, error) && ss_plot_draw(&plot, picture, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
