#include "figures/printed.h"

#include "base/data.h"
#include "study/store.h"

/* A factor that the eye sees. */
static const double worth_telling = 1.1;

static bool same_place(const struct ss_plot_row *a, const struct ss_plot_row *b) {
  if (strcmp(a->series, b->series) != 0) return false;
  return a->x_text && b->x_text ? strcmp(a->x_text, b->x_text) == 0 : !a->x_text && !b->x_text && a->x == b->x;
}

/* Between what is printed and ours of the same series at the same x; 1: nothing is comparable. */
static double largest_factor(const struct ss_plot_panel *panel) {
  double most = 1;
  for (size_t i = 0; i < panel->rows; i++)
    for (size_t k = 0; panel->row[i].printed && k < panel->rows; k++) {
      const struct ss_plot_row *printed = &panel->row[i], *ours = &panel->row[k];
      if (ours->printed || !same_place(printed, ours) || !(printed->y > 0) || !(ours->y > 0)) continue;
      most = fmax(most, fmax(printed->y / ours->y, ours->y / printed->y));
    }
  return most;
}

/* --- claims ------------------------------------------------------------------------------------------------- */

/* What the figure names: files, and ids of what stands in them. */
struct named {
  cJSON *files, *ids; /* objects, of which the keys count */
};

static void collect(const cJSON *item, struct named *named) {
  for (const cJSON *c = item->child; c; c = c->next) {
    cJSON *into = !c->string                       ? NULL
                  : strcmp(c->string, "file") == 0 ? named->files
                  : strcmp(c->string, "id") == 0   ? named->ids
                                                   : NULL;
    for (const cJSON *one = cJSON_IsArray(c) ? c->child : c; into && one; one = cJSON_IsArray(c) ? one->next : NULL)
      if (cJSON_IsString(one) && !ss_json_get(into, one->valuestring)) cJSON_AddNullToObject(into, one->valuestring);
    collect(c, named);
  }
}

/* How many of the claims have which verdict: {"direction only": 2}. */
static bool count_verdicts(const char *name, const char *base, const cJSON *ids, cJSON *counts,
                           struct ss_error *error) {
  char path[PATH_MAX];
  SS_AUTO_DOC struct ss_doc *doc = NULL;
  ss_data_locate(name, base, path, sizeof path);
  if (!ss_doc_read(path, SS_RESULTS_BYTES, &doc, error)) return false;
  const cJSON *claims = ss_json_get(ss_doc_root(doc).at, "claims");
  for (const cJSON *c = claims ? claims->child : NULL; c; c = c->next) {
    const char *id = ss_json_word(c, "id"), *verdict = ss_json_word(c, "verdict");
    if (!id || !verdict || !ss_json_get(ids, id)) continue;
    cJSON *count = ss_json_get(counts, verdict);
    if (count) cJSON_SetNumberValue(count, count->valuedouble + 1);
    else cJSON_AddNumberToObject(counts, verdict, 1);
  }
  return true;
}

static bool is_good(const char *verdict) {
  static const char *const good[] = {"reproduced", "reproduced, depends on estimate", "predicted", "arithmetic holds",
                                     "input"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    if (strcmp(verdict, good[i]) == 0) return true;
  return false;
}

/* "; of its claims 2 are direction only, 1 is predicted (docs/claims.md)", or nothing. */
static void say_verdicts(const cJSON *counts, char *text, size_t size) {
  bool good = true;
  for (const cJSON *c = counts->child; c; c = c->next) good = good && is_good(c->string);
  for (const cJSON *c = good ? NULL : counts->child; c; c = c->next)
    ss_append(text, size, "%s%.0f %s \"%s\"", c == counts->child ? "Of the claims drawn " : ", ", c->valuedouble,
              c->valuedouble == 1 ? "is" : "are", c->string);
  if (!good) ss_append(text, size, " (docs/claims.md). ");
}

static bool tell_verdicts(struct ss_node root, char *text, size_t size, struct ss_error *error) {
  SS_AUTO_JSON cJSON *files = cJSON_CreateObject(), *ids = cJSON_CreateObject(), *counts = cJSON_CreateObject();
  struct named named = {files, ids};
  if (!files || !ids || !counts) return ss_fail_memory(error, "reading a figure");
  collect(root.at, &named);
  for (const cJSON *f = ids->child ? files->child : NULL; f; f = f->next)
    if (!count_verdicts(f->string, ss_doc_name(root.doc), ids, counts, error)) return false;
  say_verdicts(counts, text, size);
  return true;
}

bool ss_figure_tell_printed(struct ss_node root, struct ss_plot *plot, struct ss_error *error) {
  char text[800] = "", whole[4000];
  const struct ss_plot_panel *worst = NULL;
  double most = worth_telling;
  for (size_t p = 0; p < plot->panels; p++)
    if (largest_factor(&plot->panel[p]) > most) worst = &plot->panel[p], most = largest_factor(worst);
  if (worst)
    ss_append(text, sizeof text, "What is printed and ours lie up to a factor of %.3g apart%s%.100s. ", most,
              worst->title && plot->panels > 1 ? ", in " : "", worst->title && plot->panels > 1 ? worst->title : "");
  if (!tell_verdicts(root, text, sizeof text, error)) return false;
  if (!text[0]) return true;
  const char *note = plot->note ? plot->note : "";
  const size_t n = strlen(note);
  snprintf(whole, sizeof whole, "%s%s%s", note, n == 0 ? "" : note[n - 1] == '.' ? " " : ". ", text);
  plot->note = ss_plot_text(plot, whole);
  return plot->note ? true : ss_fail_memory(error, "reading a figure");
}
/* SPDX-License-Identifier: Apache-2.0 */
