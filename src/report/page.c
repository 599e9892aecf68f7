#include "report/page.h"

#include "report/html.h"
#include "report/page_figures.h"
#include "report/page_forms.h"
#include "report/page_inputs.h"
#include "report/page_places.h"
#include "report/page_style.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What fits a page that somebody reads. */
enum { OPEN_MAX = 6, SHOWN_MAX = 200, WINNERS_MAX = 1000 };

/* --- head and question -------------------------------------------------------------------------------------- */

static const char *trace_of(const struct ss_point *p) {
  return p->trace;
}
static const char *cluster_of(const struct ss_point *p) {
  return p->cluster;
}
static const char *label_of(const struct ss_point *p) {
  return p->setting.label;
}
static const char *tensor_of(const struct ss_point *p) {
  return strcmp(p->tensor, "*") == 0 ? "all of them together" : p->tensor;
}
static const char *device_of(const struct ss_point *p) {
  return strcmp(p->device, "none") == 0 ? "none: kernels are not counted" : p->device;
}

/* Each text once, in order of appearance. */
static void write_distinct(const struct ss_points *points, const char *(*text)(const struct ss_point *),
                           const char *between, FILE *s) {
  enum { NAMED = 60 };
  const char *seen[NAMED];
  size_t count = 0, more = 0;
  for (size_t i = 0; i < points->count; i++) {
    const char *t = text(&points->point[i]);
    size_t k = 0;
    while (k < count && strcmp(seen[k], t) != 0) k++;
    if (k < count) continue;
    if (count == NAMED) {
      more = 1;
      continue;
    }
    fputs(count ? between : "", s);
    ss_html_text(t, s);
    seen[count++] = t;
  }
  if (more) fprintf(s, "%s...", between);
}

static void write_ranks(const struct ss_points *points, FILE *s) {
  uint32_t seen[256];
  size_t count = 0;
  for (size_t i = 0; i < points->count; i++) {
    size_t k = 0;
    while (k < count && seen[k] != points->point[i].ranks) k++;
    if (k < count || count == 256) continue;
    fprintf(s, "%s%u", count ? ", " : "", points->point[i].ranks);
    seen[count++] = points->point[i].ranks;
  }
}

/* Fields whose values the facts list anyway. */
static bool stands_already(const char *path) {
  static const char *const fields[] = {"trace", "cluster", "device", "schemes", "ranks"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (strcmp(fields[i], path) == 0) return true;
  return false;
}

static void write_sweep(const cJSON *sweep, FILE *s) {
  for (const cJSON *axis = sweep ? sweep->child : NULL; axis; axis = axis->next) {
    if (stands_already(axis->string)) continue;
    fputs("<dt>", s);
    ss_html_text(axis->string, s);
    fputs(" (swept)</dt><dd>", s);
    for (const cJSON *v = axis->child; v; v = v->next) {
      char *text = cJSON_IsString(v) ? NULL : cJSON_PrintUnformatted(v);
      fputs(v == axis->child ? "" : ", ", s);
      ss_html_text(text ? text : cJSON_IsString(v) ? v->valuestring : "?", s);
      free(text);
    }
    fputs("</dd>\n", s);
  }
}

/* Labels repeat from place to place: most are met among those already seen. */
static size_t count_labels(const struct ss_points *points) {
  enum { ENOUGH = 1024 };
  const char *seen[ENOUGH];
  size_t count = 0;
  for (size_t i = 0; i < points->count; i++) {
    size_t k = 0;
    while (k < count && strcmp(seen[k], label_of(&points->point[i])) != 0) k++;
    if (k == count && count < ENOUGH) seen[count++] = label_of(&points->point[i]);
  }
  return count;
}

/* The question in one sentence. */
static void write_lead(const struct ss_page *page, const struct ss_page_places *places, FILE *s) {
  const size_t schemes = count_labels(page->points);
  if (schemes > 1) fprintf(s, "<p>Which of %zu schemes synchronises the sparse gradients of ", schemes);
  else fputs("<p>How long does it take to synchronise the sparse gradients of ", s);
  if (page->points->count && !page->points->point->trace_hash) fputs("a trace made for it: ", s);
  write_distinct(page->points, trace_of, ", ", s);
  fputs(schemes > 1 ? " fastest, on " : ", on ", s);
  write_distinct(page->points, cluster_of, ", ", s);
  fputs(", with ", s);
  write_ranks(page->points, s);
  fputs(" ranks", s);
  for (size_t i = 0, n = 0; i < places->axes; i++) {
    if (stands_already(places->axis[i].name)) continue;
    fprintf(s, "%s%zu values of ", n++ ? " and " : ", for ", places->axis[i].values);
    ss_html_text(places->axis[i].name, s);
  }
  fputs("?</p>\n", s);
}

static void write_head(const struct ss_page *page, const struct ss_page_places *places, FILE *s) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"generator\" content=\"sparsync " SS_VERSION "\">\n<title>",
        s);
  ss_html_text(page->name, s);
  fprintf(s, " - sparsync</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", ss_page_style);
  ss_html_text(page->name, s);
  fputs("</h1>\n", s);
  if (page->summary) {
    fputs("<p class=\"soft\">", s);
    ss_html_text(page->summary, s);
    fputs("</p>\n", s);
  }
  write_lead(page, places, s);
  fputs("</header>\n", s);
}

static void write_question(const struct ss_page *page, FILE *s) {
  const struct {
    const char *name;
    const char *(*text)(const struct ss_point *);
  } facts[] = {{"trace", trace_of},
               {"tensors", tensor_of},
               {"cluster", cluster_of},
               {"device", device_of},
               {"schemes", label_of}};
  fputs("<section id=\"question\">\n<h2>What was asked</h2>\n<dl class=\"facts\">\n", s);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    fprintf(s, "<dt>%s</dt><dd>", facts[i].name);
    write_distinct(page->points, facts[i].text, facts[i].text == label_of ? "; " : ", ", s);
    fputs("</dd>\n", s);
  }
  fputs("<dt>ranks</dt><dd>", s);
  write_ranks(page->points, s);
  fprintf(s, "</dd>\n<dt>iterations</dt><dd>%llu</dd>\n",
          (unsigned long long)(page->points->count ? page->points->point->iterations : 0));
  write_sweep(page->sweep, s);
  fputs("</dl>\n</section>\n", s);
}

/* --- the answer --------------------------------------------------------------------------------------------- */

/* Below it a margin is within what the model leaves out. */
static const double CLOSE = 0.05;

static const char *time_text(char text[32], double time) {
  return isfinite(time) ? ss_units_format(text, 32, SS_TIME, time) : "-";
}

/* "1.3 times as long", or near 1 "4% longer". */
static void write_times(double ratio, FILE *s) {
  if (ratio < 1 + CLOSE) fprintf(s, "%.2g%% longer", 100 * (ratio - 1));
  else fprintf(s, "%.2f times as long", ratio);
}

/* Does a tensor by itself have another winner than all together? */
static bool tensors_differ(const struct ss_page_places *places) {
  for (size_t i = 0, first = 0; i < places->count; i++) {
    if (!places->place[i].decides) continue;
    for (; first < i; first++)
      if (strcmp(places->place[first].best->setting.label, places->place[i].best->setting.label) != 0) return true;
    first = i + 1;
  }
  return false;
}

static void write_one_answer(const struct ss_page_place *place, FILE *s) {
  char text[32];
  const struct ss_point *best = place->best;
  fputs("<p><strong>", s);
  ss_html_text(best->setting.label, s);
  fprintf(s, "</strong> %s <strong>%s</strong>", place->next ? "is fastest:" : "takes", time_text(text, best->time));
  if (strcmp(best->tensor, "*") == 0) fputs(" for all tensors together", s);
  if (place->next && best->time > 0) {
    fputs(". The next, ", s);
    ss_html_text(place->next->setting.label, s);
    if (place->next->time == best->time) fputs(", takes as long", s);
    else fputs(", takes ", s), write_times(place->next->time / best->time, s);
  }
  if (place->next && best->time > 0 && place->next->time / best->time < 1 + CLOSE) fputs(": too close to call", s);
  fputs(".</p>\n<p>", s);
  if (isfinite(place->dense) && best->time > 0 && strcmp(best->setting.scheme->name, "allreduce") != 0)
    fprintf(s, "%.2f times as fast as the all-reduce of the dense tensor. ", place->dense / best->time);
  fputs(best->lossless ? "Every rank ends with the exact sum" : "Lossy: ranks do not end with the exact sum", s);
  if (best->lossless && best->exact == SS_YES) fputs(", compared with the brute-force sum in this run", s);
  if (best->lossless && best->exact == SS_UNKNOWN) fputs(" by construction; this run did not compare it", s);
  if (best->energy < 1) fprintf(s, "; %.1f%% of the energy of what ranks had is applied", 100 * best->energy);
  fputs(best->setting.scheme->model_parallel ? ". It needs the table cut over ranks (model parallelism).</p>\n"
                                             : ".</p>\n",
        s);
}

struct wins {
  const char *label;
  size_t count;
};

static int most_first(const void *a, const void *b) {
  const struct wins *x = a, *y = b;
  return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->label, y->label);
}

static size_t count_wins(const struct ss_page_places *places, struct wins *wins) {
  size_t n = 0;
  for (size_t i = 0; i < places->count; i++) {
    const struct ss_page_place *place = &places->place[i];
    size_t k = 0;
    if (!place->decides) continue;
    while (k < n && strcmp(wins[k].label, place->best->setting.label) != 0) k++;
    if (k == n) wins[n++] = (struct wins){place->best->setting.label, 0};
    wins[k].count++;
  }
  qsort(wins, n, sizeof *wins, most_first);
  return n;
}

/* How far the winners are ahead, over all places. */
static void write_range(const struct ss_page_places *places, FILE *s) {
  double low = INFINITY, high = 0;
  size_t close = 0;
  for (size_t i = 0; i < places->count; i++) {
    const struct ss_page_place *place = &places->place[i];
    if (!place->decides || !place->next || !(place->best->time > 0)) continue;
    const double ratio = place->next->time / place->best->time;
    low = fmin(low, ratio);
    high = fmax(high, ratio);
    close += ratio < 1 + CLOSE;
  }
  if (!isfinite(low)) return;
  if (high >= 2) fprintf(s, "<p>The next takes %.2f to %.2f times as long", low, high);
  else if (high - low < 5e-4) fprintf(s, "<p>The next takes %.1f%% longer everywhere", 100 * (high - 1));
  else fprintf(s, "<p>The next takes %.1f%% to %.1f%% longer", 100 * (low - 1), 100 * (high - 1));
  if (close) fprintf(s, "; at %zu of the places less than 5%%, which is too close to call", close);
  fputs(".</p>\n", s);
}

static void write_place_wins(const struct ss_page_places *places, FILE *s) {
  const char *between = "<p>";
  for (size_t i = 0; i < places->count; i++) {
    const struct ss_page_place *place = &places->place[i];
    if (!place->decides) continue;
    fputs(between, s);
    ss_html_text(place->text, s);
    fputs(": <strong>", s);
    ss_html_text(place->best->setting.label, s);
    fputs("</strong>", s);
    between = "; ";
  }
  fputs(". The answer turns.</p>\n", s);
}

static void write_counts(const struct ss_page_places *places, const struct wins *wins, size_t n, FILE *s) {
  fputs("<p>The answer turns: ", s);
  for (size_t i = 0; i < n; i++) {
    fprintf(s, "%s<strong>", i == 0 ? "" : i + 1 == n ? " and " : ", ");
    ss_html_text(wins[i].label, s);
    fprintf(s, "</strong> %s %zu", i == 0 ? "is fastest at" : "at", wins[i].count);
  }
  fprintf(s, " of %zu places.</p>\n", places->deciding);
}

static bool write_many_answers(const struct ss_page_places *places, FILE *s, struct ss_error *error) {
  enum { FEW = 4 };
  SS_AUTO_FREE struct wins *wins = ss_alloc_zero(places->deciding, sizeof *wins);
  if (!wins) return ss_fail_memory(error, "writing the answer");
  const size_t n = count_wins(places, wins);
  if (n > 1 && places->deciding <= FEW) {
    write_place_wins(places, s);
  } else if (n > 1) {
    write_counts(places, wins, n, s);
  } else {
    fputs("<p><strong>", s);
    ss_html_text(wins->label, s);
    fprintf(s, "</strong> is fastest at all %zu places.</p>\n", places->deciding);
  }
  write_range(places, s);
  return true;
}

static void winner_row(struct ss_table *table, struct ss_page_places *places, const struct ss_page_place *place) {
  char text[32];
  const struct ss_point *best = place->best, *next = place->next;
  for (size_t i = 0; i < places->axes; i++) {
    const char *value = ss_page_value(places, &places->axis[i], place->point);
    ss_table_cell(table, "%s", value ? value : "");
  }
  ss_table_cell(table, "%s", best->setting.label);
  ss_table_cell(table, "%s", time_text(text, best->time));
  ss_table_cell(table, "%s", next ? next->setting.label : "-");
  if (next && best->time > 0) ss_table_cell(table, "+%.1f%%", 100 * (next->time / best->time - 1));
  else ss_table_cell(table, "-");
  if (isfinite(place->dense) && best->time > 0) ss_table_cell(table, "%.2fx", place->dense / best->time);
  else ss_table_cell(table, "-");
  ss_table_cell(table, "%s", best->lossless ? "yes" : "NO");
}

static bool write_winners(struct ss_page_places *places, FILE *s, struct ss_error *error) {
  const char *heads[SS_PAGE_AXES + 6];
  char words[SS_PAGE_AXES][80];
  size_t columns = 0, rows = 0;
  for (size_t i = 0; i < places->axes; i++) {
    snprintf(words[i], sizeof words[i], "%s%.70s", places->axis[i].numeric ? "" : "<", places->axis[i].word);
    heads[columns++] = words[i];
  }
  const char *const rest[] = {"<fastest", "time", "<next", "margin", "vs dense", "lossless"};
  for (size_t i = 0; i < 6; i++) heads[columns++] = rest[i];
  struct ss_table *table = ss_table_new(columns, heads);
  if (!table) return ss_fail_memory(error, "writing the answer");
  for (size_t i = 0; i < places->count && rows < WINNERS_MAX; i++)
    if (places->place[i].decides) winner_row(table, places, &places->place[i]), rows++;
  const bool ok = ss_table_html(
      table, places->several_tensors ? "All tensors together, place by place" : "Place by place", SIZE_MAX, s, error);
  ss_table_free(table);
  if (rows == WINNERS_MAX && places->deciding > rows)
    fprintf(s, "<p>%zu more places.</p>\n", places->deciding - rows);
  return ok;
}

static bool kernels_counted(const struct ss_points *points) {
  for (size_t i = 0; i < points->count; i++)
    if (strcmp(points->point[i].device, "none") != 0) return true;
  return false;
}

static void write_uncounted(const struct ss_points *points, FILE *s) {
  fputs("<h3>What was not counted</h3>\n<ul>\n", s);
  fputs(kernels_counted(points)
            ? "<li>Kernels are counted as memory traffic where a device is given, no more.</li>\n"
            : "<li>Kernels (summing, hashing, selecting): no device was named; <code>--device quick</code> estimates "
              "them.</li>\n",
        s);
  fputs("<li>The rest of the training step, and what of the communication it hides.</li>\n"
        "<li>Other traffic, congestion inside switches, jitter: a link is a latency and a rate.</li>\n</ul>\n"
        "<p>A margin of a few per cent is within that, and no reason to choose.</p>\n",
        s);
}

static bool write_answer(const struct ss_page *page, struct ss_page_places *places, FILE *s, struct ss_error *error) {
  fputs("<section id=\"answer\">\n<h2>The answer</h2>\n<div class=\"answer\">\n", s);
  if (places->deciding == 1) {
    for (size_t i = 0; i < places->count; i++)
      if (places->place[i].decides) write_one_answer(&places->place[i], s);
  } else if (!write_many_answers(places, s, error)) {
    return false;
  }
  if (tensors_differ(places))
    fputs("<p>Single tensors have other winners: <code>sparsync plan</code> chooses for each.</p>\n", s);
  size_t failed = 0;
  for (size_t i = 0; i < page->expectations; i++) failed += page->expectation[i].found != NULL;
  if (failed)
    fprintf(s, "<p class=\"fails\">%zu of %zu <a href=\"#expectations\">expectations</a> failed.</p>\n", failed,
            page->expectations);
  fputs("</div>\n", s);
  if (places->deciding > 1 && !write_winners(places, s, error)) return false;
  write_uncounted(page->points, s);
  fputs("</section>\n", s);
  return true;
}

static void write_expectations(const struct ss_page *page, FILE *s) {
  if (page->expectations == 0) return;
  fputs("<section id=\"expectations\">\n<h2>Expectations</h2>\n<ul>\n", s);
  for (size_t i = 0; i < page->expectations; i++) {
    const struct ss_page_expectation *e = &page->expectation[i];
    fprintf(s, "<li><span class=\"%s\">%s</span>: <code>", e->found ? "fails" : "holds",
            e->found ? "fails" : "holds");
    ss_html_text(e->text, s);
    fputs("</code>", s);
    if (e->found) fputs("<br>", s), ss_html_text(e->found, s);
    fputs("</li>\n", s);
  }
  fputs("</ul>\n</section>\n", s);
}

/* --- figures ------------------------------------------------------------------------------------------------ */

/* What is lacking is known only when the figures were tried, and is said before them. */
static bool write_figures(struct ss_page *page, struct ss_page_places *places, FILE *s, struct ss_error *error) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return ss_fail_memory(error, "drawing");
  page->lacking = (struct ss_error){0};
  bool ok = ss_page_figures(places, stream, &page->lacking, error);
  if (fclose(stream) != 0 && ok) ok = ss_fail_memory(error, "drawing");
  if (ok) {
    fputs("<section id=\"figures\">\n<h2>Figures</h2>\n", s);
    if (page->lacking.text[0]) {
      fputs("<p class=\"note\">Nothing could be drawn, so the numbers stand here instead: ", s);
      ss_html_text(page->lacking.text, s);
      fputs("</p>\n", s);
    }
    fprintf(s, "%s</section>\n", text);
  }
  free(text);
  return ok;
}

/* --- tables ------------------------------------------------------------------------------------------------- */

static bool write_words(const struct ss_page_place *place, FILE *s) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return false;
  ss_points_words(place->point, place->count, stream);
  const bool ok = fclose(stream) == 0;
  if (ok && size > 0 && text[size - 1] == '\n') text[size - 1] = '\0';
  fputs("<p>", s);
  if (ok) ss_html_text(text, s);
  fputs("</p>\n", s);
  free(text);
  return ok;
}

static void write_place_name(const struct ss_page_places *places, const struct ss_page_place *place, FILE *s) {
  const char *tensor = place->point->tensor;
  ss_html_text(place->text[0] ? place->text : places->several_tensors ? "" : "All schemes", s);
  if (!places->several_tensors) return;
  fputs(place->text[0] ? ": " : "", s);
  if (strcmp(tensor, "*") == 0) fputs("all tensors together", s);
  else fputs("tensor ", s), ss_html_text(tensor, s);
}

static bool write_place(const struct ss_page_places *places, const struct ss_page_place *place, FILE *s,
                        struct ss_error *error) {
  const bool folded = places->count > OPEN_MAX;
  fputs(folded ? "<details>\n<summary><h3 style=\"display:inline\">" : "<h3>", s);
  write_place_name(places, place, s);
  fputs("</h3>", s);
  if (folded) {
    fputs(": ", s);
    ss_html_text(place->best->setting.label, s);
    fputs("</summary>", s);
  }
  fputc('\n', s);
  struct ss_table *table = write_words(place, s) ? ss_points_block(place->point, place->count) : NULL;
  if (!table) return ss_fail_memory(error, "writing a table");
  const bool ok = ss_table_html(table, NULL, (size_t)(place->best - place->point), s, error);
  ss_table_free(table);
  fputs(folded ? "</details>\n" : "", s);
  return ok;
}

static void write_legend(const struct ss_points *points, FILE *s) {
  fputs("<h3>What the columns mean</h3>\n<dl class=\"facts\">\n<dt>time</dt><dd>", s);
  ss_points_time_note(points, s);
  fputs("</dd>\n", s);
  for (const struct ss_column_note *n = ss_column_notes; n->head; n++) {
    fprintf(s, "<dt>%s</dt><dd>", n->head);
    ss_html_text(n->text, s);
    if (n->more) fputc(' ', s), ss_html_text(n->more, s);
    fputs("</dd>\n", s);
  }
  fputs("</dl>\n", s);
}

static bool write_tables(const struct ss_page *page, const struct ss_page_places *places, FILE *s,
                         struct ss_error *error) {
  fputs("<section id=\"tables\">\n<h2>All numbers</h2>\n", s);
  for (size_t i = 0; i < places->count && i < SHOWN_MAX; i++)
    if (!write_place(places, &places->place[i], s, error)) return false;
  if (places->count > SHOWN_MAX)
    fprintf(s, "<p>%zu more tables: <code>sparsync run</code> with <code>--format csv</code> writes them all.</p>\n",
            places->count - SHOWN_MAX);
  write_legend(page->points, s);
  fputs("</section>\n", s);
  return true;
}

bool ss_page_print(struct ss_page *page, FILE *stream, struct ss_error *error) {
  struct ss_page_places places;
  if (!ss_page_places_make(page->points, &places, error)) return false;
  write_head(page, &places, stream);
  bool ok = write_answer(page, &places, stream, error);
  if (ok) write_question(page, stream);
  ok = ok && write_figures(page, &places, stream, error);
  if (ok) write_expectations(page, stream);
  ok = ok && write_tables(page, &places, stream, error) && ss_page_forms(page, stream, error);
  if (ok) ss_page_inputs(page, stream);
  fputs("</main>\n</body>\n</html>\n", stream);
  ss_page_places_free(&places);
  return ok;
}
