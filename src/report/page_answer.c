#include "report/page_parts.h"

#include "base/file.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "report/columns.h"
#include "report/html.h"
#include "report/links.h"
#include "report/tables.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below it a margin is within what the model leaves out, where no draws tell. */
static const double CLOSE = 0.05;

static bool too_close(const struct ss_page_row *row) {
  return isnan(row->plan->wins) ? ss_json_number(row->json, "margin") < CLOSE : row->plan->rival != NULL;
}

/* --- in words ------------------------------------------------------------------------------------------------ */

/* As plan has them: of each tensor, where there are few, and of what decides also why. */
static void words(const void *context, FILE *stream) {
  const struct ss_page_cells *cells = context;
  const struct ss_plan_row *last = &cells->plan.row[cells->plan.count - 1];
  enum { FEW = 5 };
  const size_t from = cells->plan.count > FEW ? cells->plan.count - 1 : 0;
  for (size_t i = from; i < cells->plan.count; i++) ss_plan_words(cells->row[i].json, stream);
  if (last->best) ss_links_words(last->best, stream);
  if (last->best) ss_range_words(last->best, last->next, stream);
}

static bool write_one_answer(const struct ss_page_cells *cells, FILE *s) {
  const struct ss_page_row *row = &cells->row[cells->plan.count - 1];
  char time[32];
  SS_AUTO_FREE char *text = ss_written(words, cells);
  ss_html_between("<p><strong>", ss_plan_name(row->json, "label"), "</strong>", s);
  fprintf(s, " %s <strong>%s</strong>%s.</p>\n<p>", isnan(row->plan->next_time) ? "takes" : "is fastest:",
          ss_units_format(time, sizeof time, SS_TIME, row->plan->time),
          too_close(row) ? "; the next is too close to call" : "");
  if (text) ss_html_lines(text, s);
  fputs("</p>\n", s);
  return text != NULL;
}

struct wins {
  const char *label;
  size_t count;
};

static int most_first(const void *a, const void *b) {
  const struct wins *x = a, *y = b;
  return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->label, y->label);
}

static size_t count_wins(const struct ss_page_cells *cells, struct wins *wins) {
  size_t n = 0;
  for (size_t i = 0; i < cells->plan.count; i++) {
    const char *label = ss_plan_name(cells->row[i].json, "label");
    size_t k = 0;
    if (!cells->row[i].decides) continue;
    while (k < n && strcmp(wins[k].label, label) != 0) k++;
    if (k == n) wins[n++] = (struct wins){label, 0};
    wins[k].count++;
  }
  qsort(wins, n, sizeof *wins, most_first);
  return n;
}

/* How far the winners are ahead, over all cells; and over what is drawn, if something is. */
static void write_range(const struct ss_page_cells *cells, FILE *s) {
  double low = INFINITY, high = 0;
  size_t close = 0;
  bool drawn = false;
  for (size_t i = 0; i < cells->plan.count; i++) {
    const struct ss_plan_row *row = cells->row[i].plan;
    const double margin = ss_json_number(cells->row[i].json, "margin");
    if (!cells->row[i].decides || isnan(margin)) continue;
    drawn = drawn || isfinite(row->next_ratio.low);
    low = fmin(low, fmin(margin, row->next_ratio.low - 1));
    high = fmax(high, fmax(margin, row->next_ratio.high - 1));
    close += too_close(&cells->row[i]);
  }
  if (!isfinite(low)) return;
  if (high >= 1 || drawn) fprintf(s, "<p>The next takes %.2f to %.2f times as long", 1 + low, 1 + high);
  else if (high - low < 5e-4) fprintf(s, "<p>The next takes %.1f%% longer everywhere", 100 * high);
  else fprintf(s, "<p>The next takes %.1f%% to %.1f%% longer", 100 * low, 100 * high);
  if (close) fprintf(s, "; at %zu of the places it is too close to call", close);
  fputs(".</p>\n", s);
}

static void write_counts(const struct ss_page_cells *cells, const struct wins *wins, size_t n, FILE *s) {
  fputs("<p>The answer turns: ", s);
  for (size_t i = 0; i < n; i++) {
    fprintf(s, "%s<strong>", i == 0 ? "" : i + 1 == n ? " and " : ", ");
    ss_html_text(wins[i].label, s);
    fprintf(s, "</strong> %s %zu", i == 0 ? "is fastest at" : "at", wins[i].count);
  }
  fprintf(s, " of %zu places.</p>\n", cells->deciding);
}

static void hierarchies(const void *rows, FILE *stream) {
  (void)ss_plan_hierarchies(rows, stream);
}

static bool write_many_answers(const struct ss_page_cells *cells, FILE *s, struct ss_error *error) {
  SS_AUTO_FREE struct wins *wins = ss_alloc_zero(cells->deciding, sizeof *wins);
  SS_AUTO_FREE char *best = ss_written(hierarchies, cells->json);
  if (!wins || !best) return ss_fail_memory(error, "writing the answer");
  const size_t n = count_wins(cells, wins);
  if (n > 1) write_counts(cells, wins, n, s);
  else ss_html_between("<p><strong>", wins->label, "</strong> is fastest at all ", s);
  if (n <= 1) fprintf(s, "%zu places.</p>\n", cells->deciding);
  write_range(cells, s);
  if (*best) fputs("<p>", s), ss_html_lines(best, s), fputs("</p>\n", s);
  return true;
}

/* --- place by place ------------------------------------------------------------------------------------------- */

/* Adds what the table shows besides the plan. */
static void add_words(const struct ss_page_cells *cells, const struct ss_page_row *row) {
  char bound[2][SS_BOUND_TEXT_SIZE], text[SS_AT_TEXT_SIZE];
  const struct ss_result *best = row->plan->best;
  cJSON *shown = cJSON_AddArrayToObject(row->json, "shown");
  for (size_t i = 0; i < cells->axes; i++)
    cJSON_AddItemToArray(shown, cJSON_CreateString(ss_at_text(
                                    ss_json_get(ss_json_get(row->json, "axes"), cells->axis[i].name), text)));
  ss_plan_add_words(row->json);
  ss_json_add(row->json, SS_T("fastest", ss_plan_name(row->json, "label")),
              SS_T("bottleneck", best ? ss_bound_text(best, bound[0]) : NULL),
              SS_T("busiest", best ? ss_busiest_text(best, bound[1]) : NULL));
}

static bool write_winners(const struct ss_page_cells *cells, FILE *s, struct ss_error *error) {
  static const struct ss_column rest[] = {{"<fastest", "fastest", NULL},     {"time", "time_s", "s"},
                                          {"?low..high", "range", NULL},     {"<next", "second", NULL},
                                          {"it takes", "times", NULL},       {"vs dense", "vs_dense_text", NULL},
                                          {"lossless", "lossless", NULL},    {"<bottleneck", "bottleneck", NULL},
                                          {"<busiest kind", "busiest", NULL}};
  enum { REST = sizeof rest / sizeof *rest, WINNERS_MAX = 1000 /* more rows nobody reads */ };
  struct ss_column columns[SS_PAGE_AXES + REST];
  char heads[SS_PAGE_AXES][80], fields[SS_PAGE_AXES][32];
  size_t rows = 0;
  for (size_t i = 0; i < cells->axes; i++) {
    snprintf(heads[i], sizeof heads[i], "%s%.70s", cells->axis[i].numeric ? "" : "<", cells->axis[i].word);
    snprintf(fields[i], sizeof fields[i], "shown.%zu", i);
    columns[i] = (struct ss_column){heads[i], fields[i], NULL};
  }
  memcpy(columns + cells->axes, rest, sizeof rest);
  SS_AUTO_JSON cJSON *records = cJSON_CreateArray();
  for (size_t i = 0; i < cells->plan.count && rows < WINNERS_MAX; i++) {
    if (!cells->row[i].decides) continue;
    add_words(cells, &cells->row[i]);
    if (cJSON_AddItemReferenceToArray(records, cells->row[i].json)) rows++;
  }
  const char *caption = cells->several_tensors ? "All tensors together, place by place" : "Place by place";
  const bool ok =
      ss_table_html_free(ss_table_of_records(columns, cells->axes + REST, records), caption, SIZE_MAX, s, error);
  if (rows == WINNERS_MAX && cells->deciding > rows) fprintf(s, "<p>%zu more places.</p>\n", cells->deciding - rows);
  return ok;
}

/* --- the window ----------------------------------------------------------------------------------------------- */

static void write_turn(const struct ss_page_cells *cells, const struct ss_turn *t, FILE *s) {
  char text[SS_TURN_TEXT_SIZE];
  size_t i = cells->plan.count - 1; /* the last row that begins no later */
  while (i > 0 && cells->plan.row[i].cell > t->faster) i--;
  fputs("<li>", s);
  if (t->winner) fputs("<strong>the fastest turns</strong>: ", s);
  if (cells->row[i].place[0]) ss_html_between("", cells->row[i].place, ": ", s);
  if (cells->several_tensors) ss_html_between("", t->faster->tensor, ": ", s);
  ss_html_between("", ss_turn_text(t, text, sizeof text), "</li>\n", s);
}

/* Turns of the fastest first; more than a few are folded away, and more than many nobody reads. */
static void write_turns(const struct ss_page_cells *cells, const struct ss_turns *turns, FILE *s) {
  enum { OPEN = 2, SHOWN = 100 };
  size_t shown = 0;
  if (!turns || turns->count == 0) return;
  fputs("<div class=\"note\" id=\"window\">\n<p>The order of schemes depends on the cluster's "
        "<code>window</code>: how many messages a port has under way.</p>\n<ul>\n",
        s);
  for (int winner = 1; winner >= 0; winner--)
    for (size_t i = 0; i < turns->count && shown < SHOWN; i++) {
      if (turns->turn[i].winner != winner) continue;
      if (shown == OPEN)
        fprintf(s, "</ul>\n<details><summary>%zu more pairs turn</summary>\n<ul>\n", turns->count - OPEN);
      write_turn(cells, &turns->turn[i], s);
      shown++;
    }
  fputs("</ul>\n", s);
  if (turns->count > shown) fprintf(s, "<p>The first %zu are listed.</p>\n", shown);
  fputs(shown > OPEN ? "</details>\n</div>\n" : "</div>\n", s);
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

static void write_uncounted(const struct ss_results *results, FILE *s) {
  fputs("<h3>What was not counted</h3>\n<ul>\n", s);
  fputs(ss_results_count_kernels(results)
            ? "<li>Kernels are counted as memory traffic where a device is given, no more.</li>\n"
            : "<li>Kernels (summing, hashing, selecting): no device was named; <code>--device quick</code> estimates "
              "them.</li>\n",
        s);
  fputs("<li>The rest of the training step, and what of the communication it hides.</li>\n"
        "<li>Other traffic, congestion inside switches, jitter: a link is a latency and a rate.</li>\n</ul>\n"
        "<p>A margin of a few per cent is within that, and no reason to choose.</p>\n",
        s);
}

bool ss_page_answer(const struct ss_page *page, const struct ss_page_cells *cells, FILE *s, struct ss_error *error) {
  fputs("<section id=\"answer\">\n<h2>The answer</h2>\n<div class=\"answer\">\n", s);
  if (cells->deciding > 1 && !write_many_answers(cells, s, error)) return false;
  if (cells->deciding == 1 && !write_one_answer(cells, s)) return ss_fail_memory(error, "writing the answer");
  if (page->no_lossy || page->no_model_parallel)
    fprintf(s, "<p>Not considered:%s%s%s.</p>\n", page->no_lossy ? " lossy schemes (<code>--lossy</code>)" : "",
            page->no_lossy && page->no_model_parallel ? "," : "",
            page->no_model_parallel ? " schemes that need the table cut over ranks (<code>--model-parallel</code>)"
                                    : "");
  if (page->expectations.failed)
    fprintf(s, "<p class=\"fails\">%zu of %zu <a href=\"#expectations\">expectations</a> failed.</p>\n",
            page->expectations.failed, page->expectations.count);
  fputs("</div>\n", s);
  write_turns(cells, page->turns, s);
  if (cells->deciding > 1 && !write_winners(cells, s, error)) return false;
  write_uncounted(page->results, s);
  fputs("</section>\n", s);
  return true;
}
