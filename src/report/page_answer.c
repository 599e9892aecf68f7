#include "report/page_parts.h"

#include "base/file.h"
#include "report/html.h"
#include "report/links.h"
#include "report/results_table.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More rows than these nobody reads. */
enum { WINNERS_MAX = 1000 };
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
static bool tensors_differ(const struct ss_page_cells *cells) {
  for (size_t i = 0, first = 0; i < cells->count; i++) {
    if (!cells->cell[i].decides) continue;
    for (; first < i; first++)
      if (strcmp(cells->cell[first].best->setting.label, cells->cell[i].best->setting.label) != 0) return true;
    first = i + 1;
  }
  return false;
}

static void why(const void *context, FILE *stream) {
  const struct ss_page_cell *cell = context;
  ss_links_words(cell->best, stream);
  ss_range_words(cell->best, cell->next, stream);
}

static bool write_why(const struct ss_page_cell *cell, FILE *s) {
  SS_AUTO_FREE char *text = ss_written(why, cell);
  if (text && *text) ss_html_between("<p>", text, "</p>\n", s);
  return text != NULL;
}

static void write_one_answer(const struct ss_page_cell *cell, FILE *s) {
  char text[32];
  const struct ss_result *best = cell->best;
  ss_html_between("<p><strong>", best->setting.label, "", s);
  fprintf(s, "</strong> %s <strong>%s</strong>", cell->next ? "is fastest:" : "takes", time_text(text, best->time));
  if (strcmp(best->tensor, "*") == 0) fputs(" for all tensors together", s);
  if (cell->next && best->time > 0) {
    ss_html_between(". The next, ", cell->next->setting.label, "", s);
    if (cell->next->time == best->time) fputs(", takes as long", s);
    else fputs(", takes ", s), write_times(cell->next->time / best->time, s);
  }
  if (cell->next && best->time > 0 && cell->next->time / best->time < 1 + CLOSE) fputs(": too close to call", s);
  fputs(".</p>\n<p>", s);
  if (isfinite(ss_vs_dense(cell->dense.seconds, best->time)) && strcmp(best->setting.scheme->name, "allreduce") != 0)
    fprintf(s, "%.2f times as fast as a library's dense all-reduce%s%s%s. ", cell->dense.seconds / best->time,
            cell->dense.name ? " (" : "", cell->dense.name ? cell->dense.name : "", cell->dense.name ? ")" : "");
  fputs(best->lossless ? "Every rank ends with the exact sum" : "Lossy: ranks do not end with the exact sum", s);
  if (best->lossless && best->exact == SS_YES) fputs(", compared with the brute-force sum in this run", s);
  if (best->lossless && best->exact == SS_UNKNOWN) fputs(" by construction; this run did not compare it", s);
  if (best->energy < 1) fprintf(s, "; %.1f%% of the energy of what ranks had is applied", 100 * best->energy);
  fputs(ss_scheme_model_parallel(best->setting.scheme)
            ? ". It needs the table cut over ranks (model parallelism).</p>\n"
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

static size_t count_wins(const struct ss_page_cells *cells, struct wins *wins) {
  size_t n = 0;
  for (size_t i = 0; i < cells->count; i++) {
    const struct ss_page_cell *cell = &cells->cell[i];
    size_t k = 0;
    if (!cell->decides) continue;
    while (k < n && strcmp(wins[k].label, cell->best->setting.label) != 0) k++;
    if (k == n) wins[n++] = (struct wins){cell->best->setting.label, 0};
    wins[k].count++;
  }
  qsort(wins, n, sizeof *wins, most_first);
  return n;
}

/* How far the winners are ahead, over all cells. */
static void write_range(const struct ss_page_cells *cells, FILE *s) {
  double low = INFINITY, high = 0;
  size_t close = 0;
  for (size_t i = 0; i < cells->count; i++) {
    const struct ss_page_cell *cell = &cells->cell[i];
    if (!cell->decides || !cell->next || !(cell->best->time > 0)) continue;
    const double ratio = cell->next->time / cell->best->time;
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

static void write_cell_wins(const struct ss_page_cells *cells, FILE *s) {
  const char *between = "<p>";
  for (size_t i = 0; i < cells->count; i++) {
    const struct ss_page_cell *cell = &cells->cell[i];
    if (!cell->decides) continue;
    ss_html_between(between, cell->text, "", s);
    ss_html_between(": <strong>", cell->best->setting.label, "</strong>", s);
    between = "; ";
  }
  fputs(". The answer turns.</p>\n", s);
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

/* A hierarchy is the reader's to choose, as a scheme is: where a sweep goes over them, the best of all. */
static void write_best_of_hierarchies(const struct ss_page_cells *cells, FILE *s) {
  char time[32];
  for (size_t i = 0; i < cells->count; i++) {
    const struct ss_page_cell *first = &cells->cell[i], *best = first;
    bool told = !first->decides;
    size_t others = 0;
    for (size_t k = 0; k < cells->count && !told; k++) {
      const struct ss_page_cell *other = &cells->cell[k];
      if (k == i || !other->decides || other->result->ranks != first->result->ranks ||
          !ss_at_same_but(first->result->at, other->result->at, "hierarchy"))
        continue;
      told = k < i;
      others++;
      if (other->best->time < best->best->time) best = other;
    }
    if (told || others == 0) continue;
    ss_html_between("<p>Of all hierarchies <strong>", best->best->setting.label, "</strong>", s);
    ss_html_between(" is fastest at ", best->text, "", s);
    fprintf(s, ": %s.</p>\n", time_text(time, best->best->time));
  }
}

static bool write_many_answers(const struct ss_page_cells *cells, FILE *s, struct ss_error *error) {
  enum { FEW = 4 };
  SS_AUTO_FREE struct wins *wins = ss_alloc_zero(cells->deciding, sizeof *wins);
  if (!wins) return ss_fail_memory(error, "writing the answer");
  const size_t n = count_wins(cells, wins);
  if (n > 1 && cells->deciding <= FEW) {
    write_cell_wins(cells, s);
  } else if (n > 1) {
    write_counts(cells, wins, n, s);
  } else {
    ss_html_between("<p><strong>", wins->label, "", s);
    fprintf(s, "</strong> is fastest at all %zu places.</p>\n", cells->deciding);
  }
  write_range(cells, s);
  write_best_of_hierarchies(cells, s);
  return true;
}

static void winner_row(struct ss_table *table, struct ss_page_cells *cells, const struct ss_page_cell *cell) {
  char bound[2][SS_BOUND_TEXT_SIZE];
  const struct ss_result *best = cell->best, *next = cell->next;
  for (size_t i = 0; i < cells->axes; i++) {
    const char *value = ss_page_value(cells, &cells->axis[i], cell->result);
    ss_table_cell(table, "%s", value ? value : "");
  }
  ss_table_cell(table, "%s", best->setting.label);
  ss_table_quantity(table, SS_TIME, best->time);
  ss_table_cell(table, "%s", next ? next->setting.label : "-");
  ss_table_number(table, "+%.1f%%", next && best->time > 0 ? 100 * (next->time / best->time - 1) : NAN);
  ss_table_number(table, "%.2fx", ss_vs_dense(cell->dense.seconds, best->time));
  ss_table_texts(table, best->lossless ? "yes" : "NO", ss_bound_text(best, bound[0]),
                 ss_busiest_text(best, bound[1]));
}

static bool write_winners(struct ss_page_cells *cells, FILE *s, struct ss_error *error) {
  static const char *const rest[] = {"<fastest", "time",     "<next",       "margin",
                                     "vs dense", "lossless", "<bottleneck", "<busiest kind"};
  enum { REST = sizeof rest / sizeof *rest };
  const char *heads[SS_PAGE_AXES + REST];
  char words[SS_PAGE_AXES][80];
  size_t columns = 0, rows = 0;
  for (size_t i = 0; i < cells->axes; i++) {
    snprintf(words[i], sizeof words[i], "%s%.70s", cells->axis[i].numeric ? "" : "<", cells->axis[i].word);
    heads[columns++] = words[i];
  }
  for (size_t i = 0; i < REST; i++) heads[columns++] = rest[i];
  struct ss_table *table = ss_table_new(columns, heads);
  for (size_t i = 0; i < cells->count && rows < WINNERS_MAX; i++)
    if (cells->cell[i].decides) winner_row(table, cells, &cells->cell[i]), rows++;
  const char *caption = cells->several_tensors ? "All tensors together, place by place" : "Place by place";
  const bool ok = ss_table_html_free(table, caption, SIZE_MAX, s, error);
  if (rows == WINNERS_MAX && cells->deciding > rows) fprintf(s, "<p>%zu more places.</p>\n", cells->deciding - rows);
  return ok;
}

/* --- the window ----------------------------------------------------------------------------------------------- */

static const struct ss_page_cell *cell_of(const struct ss_page_cells *cells, const struct ss_result *result) {
  for (size_t i = 0; i < cells->count; i++) {
    const struct ss_page_cell *cell = &cells->cell[i];
    if (result >= cell->result && result < cell->result + cell->count) return cell;
  }
  return NULL;
}

static void write_turn(const struct ss_page_cells *cells, const struct ss_turn *t, FILE *s) {
  char text[SS_TURN_TEXT_SIZE];
  const struct ss_page_cell *cell = cell_of(cells, t->faster);
  fputs("<li>", s);
  if (t->winner) fputs("<strong>the fastest turns</strong>: ", s);
  if (cell && cell->text[0]) ss_html_between("", cell->text, ": ", s);
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

bool ss_page_answer(const struct ss_page *page, struct ss_page_cells *cells, FILE *s, struct ss_error *error) {
  fputs("<section id=\"answer\">\n<h2>The answer</h2>\n<div class=\"answer\">\n", s);
  if (cells->deciding == 1) {
    for (size_t i = 0; i < cells->count; i++)
      if (cells->cell[i].decides) {
        write_one_answer(&cells->cell[i], s);
        if (!write_why(&cells->cell[i], s)) return ss_fail_memory(error, "writing the answer");
      }
  } else if (!write_many_answers(cells, s, error)) {
    return false;
  }
  if (tensors_differ(cells))
    fputs("<p>Single tensors have other winners: <code>sparsync plan</code> chooses for each.</p>\n", s);
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
