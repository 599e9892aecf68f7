#include "base/json.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "report/page_parts.h"

#include "base/file.h"
#include "page_style.h" /* made of plots/page.css */
#include "report/html.h"
#include "report/links.h"
#include "report/table.h"
#include "report/verdicts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What fits a page that somebody reads. */
enum { OPEN_MAX = 6, SHOWN_MAX = 200 };

/* --- head and question -------------------------------------------------------------------------------------- */

static const char *trace_of(const struct ss_result *p) {
  return p->trace;
}
static const char *cluster_of(const struct ss_result *p) {
  return p->cluster;
}
static const char *label_of(const struct ss_result *p) {
  return p->setting.label;
}
static const char *tensor_of(const struct ss_result *p) {
  return strcmp(p->tensor, "*") == 0 ? "all of them together" : p->tensor;
}
static const char *device_of(const struct ss_result *p) {
  return strcmp(p->device, "none") == 0 ? "none: kernels are not counted" : p->device;
}

/* Each text once, in order of appearance, the first `most` of them; how many there are. */
static size_t distinct(const struct ss_results *results, const char *(*text)(const struct ss_result *),
                       const char **seen, size_t most) {
  size_t count = 0;
  for (size_t i = 0; i < results->count && count < most; i++) {
    const char *t = text(&results->result[i]);
    size_t k = 0;
    while (k < count && strcmp(seen[k], t) != 0) k++;
    if (k == count) seen[count++] = t;
  }
  return count;
}

static void write_distinct(const struct ss_results *results, const char *(*text)(const struct ss_result *),
                           const char *between, FILE *s) {
  enum { NAMED = 60 };
  const char *seen[NAMED + 1];
  const size_t count = distinct(results, text, seen, NAMED + 1);
  for (size_t i = 0; i < count && i < NAMED; i++) ss_html_between(i > 0 ? between : "", seen[i], "", s);
  if (count > NAMED) fprintf(s, "%s...", between);
}

static void write_ranks(const struct ss_results *results, FILE *s) {
  uint32_t seen[256];
  size_t count = 0;
  for (size_t i = 0; i < results->count; i++) {
    size_t k = 0;
    while (k < count && seen[k] != results->result[i].ranks) k++;
    if (k < count || count == 256) continue;
    fprintf(s, "%s%u", count ? ", " : "", results->result[i].ranks);
    seen[count++] = results->result[i].ranks;
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
    ss_html_between("<dt>", axis->string, " (swept)</dt><dd>", s);
    for (const cJSON *v = axis->child; v; v = v->next) {
      fputs(v == axis->child ? "" : ", ", s);
      ss_html_json(v, s);
    }
    fputs("</dd>\n", s);
  }
}

/* The question in one sentence. */
static void write_lead(const struct ss_page *page, const struct ss_page_cells *cells, FILE *s) {
  const char *labels[1024];
  const size_t schemes = distinct(page->results, label_of, labels, sizeof labels / sizeof *labels);
  if (schemes > 1) fprintf(s, "<p>Which of %zu schemes synchronises the sparse gradients of ", schemes);
  else fputs("<p>How long does it take to synchronise the sparse gradients of ", s);
  if (page->results->count && !page->results->result->trace_hash) fputs("a trace made for it: ", s);
  write_distinct(page->results, trace_of, ", ", s);
  fputs(schemes > 1 ? " fastest, on " : ", on ", s);
  write_distinct(page->results, cluster_of, ", ", s);
  fputs(", with ", s);
  write_ranks(page->results, s);
  fputs(" ranks", s);
  for (size_t i = 0, n = 0; i < cells->axes; i++) {
    if (stands_already(cells->axis[i].name)) continue;
    fprintf(s, "%s%zu values of ", n++ ? " and " : ", for ", cells->axis[i].values);
    ss_html_text(cells->axis[i].name, s);
  }
  fputs("?</p>\n", s);
}

static void write_head(const struct ss_page *page, const struct ss_page_cells *cells, FILE *s) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"generator\" content=\"sparsync " SS_VERSION "\">\n<title>",
        s);
  ss_html_text(page->name, s);
  fprintf(s, " - sparsync</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", SS_PAGE_STYLE);
  ss_html_between("", page->name, "</h1>\n", s);
  if (page->summary) ss_html_between("<p class=\"soft\">", page->summary, "</p>\n", s);
  write_lead(page, cells, s);
  fputs("</header>\n", s);
}

static void write_question(const struct ss_page *page, FILE *s) {
  const struct {
    const char *name;
    const char *(*text)(const struct ss_result *);
  } facts[] = {{"trace", trace_of},
               {"tensors", tensor_of},
               {"cluster", cluster_of},
               {"device", device_of},
               {"schemes", label_of}};
  fputs("<section id=\"question\">\n<h2>What was asked</h2>\n<dl class=\"facts\">\n", s);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    fprintf(s, "<dt>%s</dt><dd>", facts[i].name);
    write_distinct(page->results, facts[i].text, facts[i].text == label_of ? "; " : ", ", s);
    fputs("</dd>\n", s);
  }
  fputs("<dt>ranks</dt><dd>", s);
  write_ranks(page->results, s);
  fprintf(s, "</dd>\n<dt>iterations</dt><dd>%llu</dd>\n",
          (unsigned long long)(page->results->count ? page->results->result->iterations : 0));
  write_sweep(page->sweep, s);
  fputs("</dl>\n</section>\n", s);
}

/* --- expectations ------------------------------------------------------------------------------------------- */

static void write_misses(const void *verdict, FILE *s) {
  ss_misses_print(verdict, "", s);
}

static void write_expectations(const struct ss_verdicts *verdicts, FILE *s) {
  if (verdicts->count == 0) return;
  fputs("<section id=\"expectations\">\n<h2>Expectations</h2>\n<ul>\n", s);
  for (size_t i = 0; i < verdicts->count; i++) {
    const struct ss_verdict *judged = &verdicts->verdict[i];
    const char *verdict = ss_verdict_holds(judged) ? "holds" : "fails";
    fprintf(s, "<li><span class=\"%s\">%s</span>: <code>", verdict, verdict);
    ss_html_between("", judged->text, "</code>", s);
    if (judged->points == 0) fputs("<br>no point is at such a place: nothing was compared", s);
    if (judged->misses > 0) fprintf(s, " at %zu of %zu points", judged->misses, judged->points);
    SS_AUTO_FREE char *misses = judged->misses > 0 ? ss_written(write_misses, judged) : NULL;
    if (misses) {
      fputs("<pre>", s);
      ss_html_lines(misses, s);
      fputs("</pre>", s);
    }
    fputs("</li>\n", s);
  }
  fputs("</ul>\n</section>\n", s);
}

/* --- figures ------------------------------------------------------------------------------------------------ */

/* What is lacking is known only when the figures were tried, and is said before them. */
static bool write_figures(const struct ss_page *page, const struct ss_page_cells *cells, FILE *s,
                          struct ss_error *error) {
  SS_AUTO_FREE char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return ss_fail_memory(error, "drawing");
  *page->lacking = (struct ss_error){0};
  bool ok = ss_page_figures(cells, stream, page->lacking, error);
  if (fclose(stream) != 0 && ok) ok = ss_fail_memory(error, "drawing");
  if (!ok) return false;
  fputs("<section id=\"figures\">\n<h2>Figures</h2>\n", s);
  if (page->lacking->text[0])
    ss_html_between("<p class=\"note\">Nothing could be drawn, so the numbers stand here instead: ",
                    page->lacking->text, "</p>\n", s);
  fprintf(s, "%s</section>\n", text);
  return true;
}

/* --- tables ------------------------------------------------------------------------------------------------- */

static void words_of(const void *row, FILE *stream) {
  const struct ss_plan_row *p = row;
  ss_results_words(p->cell, p->candidates, stream);
}

static bool write_words(const struct ss_plan_row *row, FILE *s) {
  SS_AUTO_FREE char *text = ss_written(words_of, row);
  if (text && *text) text[strlen(text) - 1] = '\0'; /* the line's end */
  ss_html_between("<p>", text ? text : "", "</p>\n", s);
  return text != NULL;
}

static void write_cell_name(const struct ss_page_cells *cells, const struct ss_page_row *row, FILE *s) {
  const char *tensor = row->plan->cell->tensor;
  ss_html_text(row->place[0] ? row->place : cells->several_tensors ? "" : "All schemes", s);
  if (!cells->several_tensors) return;
  fputs(row->place[0] ? ": " : "", s);
  if (strcmp(tensor, "*") == 0) fputs("all tensors together", s);
  else ss_html_between("tensor ", tensor, "", s);
}

static bool write_cell(const struct ss_page_cells *cells, const struct ss_page_row *row, FILE *s,
                       struct ss_error *error) {
  const struct ss_result *all = row->plan->cell, *first, *next;
  const bool folded = cells->plan.count > OPEN_MAX;
  ss_results_rank(all, row->plan->candidates, &first, &next);
  fputs(folded ? "<details>\n<summary><h3 style=\"display:inline\">" : "<h3>", s);
  write_cell_name(cells, row, s);
  fputs("</h3>", s);
  if (folded) ss_html_between(": ", first->setting.label, "</summary>", s);
  fputc('\n', s);
  if (!write_words(row->plan, s)) return ss_fail_memory(error, "writing a table");
  SS_AUTO_JSON cJSON *records = ss_results_records(all, row->plan->candidates);
  bool ok = ss_table_html_free(ss_results_block(records), NULL, (size_t)(first - all), s, error);
  bool links = false;
  for (const cJSON *r = records ? records->child : NULL; r; r = r->next)
    links = links || ss_json_get(r, "links")->child;
  if (ok && links)
    ok = ss_table_html_free(ss_results_links(records),
                            "How busy its links are: the busiest of each kind / the mean of all of them", SIZE_MAX, s,
                            error);
  fputs(folded ? "</details>\n" : "", s);
  return ok;
}

static void write_note(const char *head, const char *text, FILE *s) {
  fprintf(s, "<dt>%s</dt><dd>", head);
  ss_html_lines(text, s);
  fputs("</dd>\n", s);
}

static bool write_legend(const struct ss_results *results, FILE *s, struct ss_error *error) {
  fputs("<h3>What the columns mean</h3>\n<dl class=\"facts\">\n", s);
  if (!ss_results_notes(results, write_note, s, error)) return false;
  fputs("<dt>egress, ingress</dt><dd>ports of ranks and servers: the share of the time in which bytes flow through "
        "them</dd>\n<dt>NIC, uplink, downlink, bus</dt><dd>the same of cards that ranks of a node share, of links of "
        "groups of nodes, of a node's bus: columns that are not there are not shared on this cluster</dd>\n",
        s);
  fputs("</dl>\n", s);
  return true;
}

static bool write_tables(const struct ss_page *page, const struct ss_page_cells *cells, FILE *s,
                         struct ss_error *error) {
  fputs("<section id=\"tables\">\n<h2>All numbers</h2>\n", s);
  for (size_t i = 0; i < cells->plan.count && i < SHOWN_MAX; i++)
    if (!write_cell(cells, &cells->row[i], s, error)) return false;
  if (cells->plan.count > SHOWN_MAX)
    fprintf(s, "<p>%zu more tables: <code>sparsync run</code> with <code>--format csv</code> writes them all.</p>\n",
            cells->plan.count - SHOWN_MAX);
  if (!write_legend(page->results, s, error)) return false;
  fputs("</section>\n", s);
  return true;
}

bool ss_page_print(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_page *page = report;
  SS_AUTO(ss_page_cells_free) struct ss_page_cells cells = {0};
  if (!ss_page_cells_make(page->results, &cells, error)) return false;
  write_head(page, &cells, stream);
  if (!ss_page_answer(page, &cells, stream, error)) return false;
  write_question(page, stream);
  if (!write_figures(page, &cells, stream, error)) return false;
  write_expectations(&page->expectations, stream);
  if (!write_tables(page, &cells, stream, error) || !ss_page_forms(page, stream, error)) return false;
  ss_page_inputs(page, stream);
  fputs("</main>\n</body>\n</html>\n", stream);
  return true;
}
