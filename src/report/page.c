#include "report/page.h"

#include "base/file.h"
#include "figures/figure.h"
#include "page_script.h" /* made of plots/page.js */
#include "page_style.h"  /* and of plots/page.css */
#include "report/columns.h"
#include "report/decision.h"
#include "report/html.h"
#include "report/page_data.h"
#include "report/tables.h"
#include "report/verdicts.h"

#include <strings.h>

/* What fits a page that somebody reads. */
enum { SENTENCES_OPEN = 12, WARNINGS_OPEN = 3, CELLS_OPEN = 6, CELLS_MAX = 200, ROWS_MAX = 1000 };

static void begin_section(const char *id, const char *head, FILE *s) {
  fprintf(s, "<section id=\"%s\">\n<h2>%s</h2>\n", id, head);
}

/* Each line a paragraph; those behind the first `open` folded away. */
static void write_lines(const char *text, size_t open, FILE *s) {
  size_t lines = 0, n;
  for (; *text; text += n + (text[n] == '\n')) {
    n = strcspn(text, "\n");
    SS_AUTO_FREE char *line = strndup(text, n);
    if (lines++ == open) fputs("<details><summary>More</summary>\n", s);
    ss_html_between("<p>", line ? line : "", "</p>\n", s);
  }
  if (lines > open) fputs("</details>\n", s);
}

static void write_head(const struct ss_page *page, FILE *s) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'sha256-" SS_PAGE_SCRIPT_HASH "'\">\n"
        "<meta name=\"generator\" content=\"sparsync " SS_VERSION "\">\n<title>",
        s);
  ss_html_text(page->name, s);
  fprintf(s, " - sparsync</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", SS_PAGE_STYLE);
  ss_html_between("", page->name, "</h1>\n", s);
  if (page->summary) ss_html_between("<p class=\"soft\">", page->summary, "</p>\n", s);
  fputs("</header>\n", s);
}

/* --- the answer --------------------------------------------------------------------------------------------- */

static void plan_words(const void *rows, FILE *stream) {
  ss_plan_words(rows, stream);
}

static void hierarchies(const void *rows, FILE *stream) {
  ss_plan_hierarchies(rows, stream);
}

static void write_remarks(const struct ss_page *page, FILE *s) {
  if (page->no_lossy || page->no_model_parallel)
    fprintf(s, "<p>Not considered:%s%s%s.</p>\n", page->no_lossy ? " lossy schemes (<code>--lossy</code>)" : "",
            page->no_lossy && page->no_model_parallel ? "," : "",
            page->no_model_parallel ? " schemes that need the table cut over ranks (<code>--model-parallel</code>)"
                                    : "");
  if (page->expectations.failed)
    fprintf(s, "<p class=\"fails\">%zu of %zu <a href=\"#expectations\">expectations</a> failed.</p>\n",
            page->expectations.failed, page->expectations.count);
}

/* The first of them; what else was warned of is folded away. */
static void write_warnings(const cJSON *warnings, FILE *s) {
  const int count = cJSON_GetArraySize(warnings);
  int i = 0;
  for (const cJSON *w = count > 0 ? warnings->child : NULL; w; w = w->next, i++) {
    if (i == WARNINGS_OPEN)
      fprintf(s, "<details><summary>%d more warning%s</summary>\n", count - WARNINGS_OPEN,
              count == WARNINGS_OPEN + 1 ? "" : "s");
    ss_html_between("<p class=\"note warning\">", w->valuestring, "</p>\n", s);
  }
  if (i > WARNINGS_OPEN) fputs("</details>\n", s);
}

static bool write_answer(const struct ss_page *page, FILE *s, struct ss_error *error) {
  cJSON *rows = ss_json_get(page->plan, "plan");
  SS_AUTO_FREE char *words = ss_written(plan_words, rows), *best = ss_written(hierarchies, rows);
  if (!words || !best) return ss_fail_memory(error, "writing the answer");
  begin_section("answer", "The answer", s);
  fputs("<div class=\"answer\">\n", s);
  write_lines(words, SENTENCES_OPEN, s);
  write_lines(best, SENTENCES_OPEN, s);
  write_remarks(page, s);
  fputs("</div>\n", s);
  write_warnings(page->warnings, s);
  const int count = cJSON_GetArraySize(rows);
  SS_AUTO_JSON cJSON *own = cJSON_Duplicate(rows, true); /* the figures ask the plan, too */
  cJSON *shown = ss_records_take(own, ROWS_MAX);
  const bool ok = ss_table_html_free(ss_plan_block(shown), "", NULL, SIZE_MAX, s, error);
  cJSON_Delete(shown);
  if (count > ROWS_MAX) fprintf(s, "<p>%d more rows: <code>sparsync plan</code> has them.</p>\n", count - ROWS_MAX);
  fputs("</section>\n", s);
  return ok;
}

/* --- the figure --------------------------------------------------------------------------------------------- */

/* Of more schemes than can be told apart only so many are drawn. */
enum { SCHEMES_DRAWN = 12, OF_MORE_DRAWN = 10 };

/* A label, and how far from the fastest it is: the mean of the logarithms over cells. */
struct drawn {
  const char *label;
  double behind;
  size_t cells;
  bool first, drawn; /* the fastest somewhere, or may be, as the answer says */
};

static bool is_rival(const struct ss_page *page, const char *label) {
  const cJSON *rows = ss_json_get(page->plan, "plan");
  for (const cJSON *r = rows ? rows->child : NULL; r; r = r->next) {
    const char *rival = ss_json_word(r, "rival");
    if (rival && strcmp(rival, label) == 0) return true;
  }
  return false;
}

static struct drawn *find_drawn(struct drawn *list, size_t *count, const char *label) {
  for (size_t i = 0; i < *count; i++)
    if (strcmp(list[i].label, label) == 0) return &list[i];
  list[*count] = (struct drawn){.label = label};
  return &list[(*count)++];
}

static int nearest_first(const void *a, const void *b) {
  const struct drawn *p = a, *q = b;
  if (p->first != q->first) return p->first ? -1 : 1;
  const double left = p->behind / (double)p->cells, right = q->behind / (double)q->cells;
  return left < right ? -1 : left > right ? 1 : strcmp(p->label, q->label);
}

/* Are there results of all tensors together? Then they alone are drawn. */
static bool has_whole(const struct ss_results *all) {
  bool whole = false;
  for (size_t i = 0; i < all->count && !whole; i++) whole = strcmp(all->result[i].tensor, "*") == 0;
  return whole;
}

static bool is_part(const struct ss_result *r, bool whole) {
  return whole && strcmp(r->tensor, "*") != 0;
}

/* Fills list[all->count]; returns how many labels there are. */
static size_t choose_drawn(const struct ss_page *page, struct drawn *list) {
  const struct ss_results *all = page->results;
  const bool whole = has_whole(all);
  size_t count = 0;
  for (size_t i = 0, n; i < all->count; i += n) {
    const struct ss_result *first = &all->result[i], *best, *next;
    n = ss_results_in_cell(first, all->count - i);
    if (is_part(first, whole)) continue;
    ss_results_rank(first, n, &best, &next);
    for (const struct ss_result *r = first; r < first + n; r++) {
      struct drawn *d = find_drawn(list, &count, r->setting.label);
      d->first = d->first || r == best || (d->cells == 0 && is_rival(page, d->label));
      d->behind += best->time > 0 ? log(r->time / best->time) : r->time > 0;
      d->cells++;
    }
  }
  qsort(list, count, sizeof *list, nearest_first);
  for (size_t i = 0; i < count; i++) list[i].drawn = count <= SCHEMES_DRAWN || i < OF_MORE_DRAWN;
  return count;
}

/* The two fastest of each cell, who are all that a map shows. */
static cJSON *winners_records(const struct ss_results *all) {
  const bool whole = has_whole(all);
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0, n; i < all->count; i += n) {
    const struct ss_result *best, *next;
    n = ss_results_in_cell(&all->result[i], all->count - i);
    if (is_part(&all->result[i], whole)) continue;
    ss_results_rank(&all->result[i], n, &best, &next);
    cJSON_AddItemToArray(list, ss_result_json(best));
    if (next) cJSON_AddItemToArray(list, ss_result_json(next));
  }
  return list;
}

/* What is drawn, and over how many axes it varies; *of: among how many labels, *left_out of which are not drawn.
 * NULL: memory is short. */
static cJSON *drawn_records(const struct ss_page *page, const cJSON *varies[SS_PLACES], size_t *axes, size_t *of,
                            size_t *left_out) {
  const struct ss_results *all = page->results;
  const bool whole = has_whole(all);
  SS_AUTO_FREE struct drawn *label = ss_alloc_zero(all->count + 1, sizeof *label);
  if (!label) return NULL;
  *of = choose_drawn(page, label);
  cJSON *list = winners_records(all);
  *axes = ss_places_vary(list, varies, true);
  *left_out = 0;
  if (*axes > 1) return list;
  cJSON_Delete(list);
  list = cJSON_CreateArray();
  for (size_t i = 0; i < all->count; i++) {
    const struct ss_result *r = &all->result[i];
    if (!is_part(r, whole) && find_drawn(label, of, r->setting.label)->drawn)
      cJSON_AddItemToArray(list, ss_result_json(r));
  }
  for (size_t i = 0; i < *of; i++) *left_out += !label[i].drawn;
  const cJSON *rows = ss_json_get(page->plan, "plan");
  for (const cJSON *r = rows ? rows->child : NULL; r; r = r->next)
    if (ss_page_own(r)) {
      cJSON *own = cJSON_Duplicate(r, true);
      cJSON_ReplaceItemInObjectCaseSensitive(own, "label", cJSON_CreateString(ss_decision_name(r, "label")));
      cJSON_AddItemToArray(list, own);
    }
  *axes = ss_places_vary(list, varies, true);
  return list;
}

/* gnuplot gives its marks the same names in every picture. On a page each picture has its own: inside tags, `prefix`
 * comes before what is named and before what refers to it. Texts, in which "<" is escaped, stay as they are. */
static void write_named(const char *svg, unsigned number, FILE *stream) {
  static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
  bool tag = false;
  while (*svg) {
    size_t n = 0;
    for (size_t i = 0; tag && n == 0 && i < sizeof before / sizeof *before; i++)
      if (strncmp(svg, before[i], strlen(before[i])) == 0) n = strlen(before[i]);
    if (n > 0) {
      fprintf(stream, "%.*sfigure%u-", (int)n, svg, number);
      svg += n;
      continue;
    }
    if (*svg == '<') tag = true;
    if (*svg == '>') tag = false;
    fputc(*svg++, stream);
  }
}

/* The picture without its XML declaration, which has no place inside HTML, and without gnuplot's title, which
 * browsers would show under the pointer. */
static void write_svg(const char *svg, unsigned number, bool narrow, FILE *s) {
  static const char last[] = "</desc>";
  const char *root = strstr(svg, "<svg"), *end = root ? strchr(root, '>') : NULL,
             *desc = end ? strstr(end, last) : NULL;
  if (!end) return;
  fprintf(s, "<div class=\"picture%s\"><svg role=\"img\" aria-labelledby=\"caption%u\"%.*s", narrow ? " narrow" : "",
          number, (int)(end - root - 3), root + 4);
  write_named(desc ? desc + sizeof last - 1 : end + 1, narrow ? 10 + number : number, s);
  fputs("</div>\n", s);
}

/* As `plot` draws the records: panels beside each other, and below each other for narrow screens. */
static bool write_figure(const struct ss_page *page, const struct ss_plot_options *options, const cJSON *records,
                         unsigned number, const char *caption, FILE *s, struct ss_error *error) {
  SS_AUTO(ss_plot_free) struct ss_plot plot = {0};
  struct ss_picture_bytes svg[2] = {{NULL, 0}, {NULL, 0}};
  if (page->lacking->text[0]) return true;
  if (!ss_figure_plot_results(options, records, NULL, &plot, error)) return false;
  bool drawn = true;
  for (int narrow = 0; narrow < 2 && drawn; narrow++) {
    plot.wide = !narrow;
    drawn = ss_plot_draw(&plot, SS_PICTURE_SVG, &svg[narrow], page->lacking);
  }
  if (drawn) {
    fputs("<figure>\n", s);
    for (int narrow = 0; narrow < 2; narrow++) write_svg(svg[narrow].bytes, number, narrow, s);
    fprintf(s, "<figcaption id=\"caption%u\">", number);
    ss_html_between("", caption, "</figcaption>\n</figure>\n", s);
  }
  free(svg[0].bytes);
  free(svg[1].bytes);
  return drawn || page->lacking->status == SS_MACHINE ||
         ss_fail(error, page->lacking->status, "%s", page->lacking->text);
}

/* A map of who is fastest over two numbers that vary, lines over one, else bars. */
static bool write_times(const struct ss_page *page, FILE *s, struct ss_error *error) {
  size_t places = 0, axes, labels, left_out;
  const cJSON *varies[SS_PLACES];
  char caption[400], some[120] = "";
  SS_AUTO_JSON cJSON *records = drawn_records(page, varies, &axes, &labels, &left_out);
  if (!records) return ss_fail_memory(error, "drawing");
  struct ss_plot_options options = {.file = "the page", .left_out = &places};
  if (axes > 0) options.x = varies[0]->string;
  if (axes > 1) options.kind = "map", options.y = varies[1]->string;
  if (left_out)
    snprintf(some, sizeof some,
             "; of %zu schemes the %zu that are nearest to the fastest, the others stand in the tables", labels,
             labels - left_out);
  snprintf(caption, sizeof caption, "%s%s%s",
           axes > 1 ? "Who is fastest as the numbers are given"
                    : "Time of one synchronisation, with the range of 90 of 100 draws where something is not certain",
           some, places ? "; other places stand in the tables" : "");
  return write_figure(page, &options, records, 1, caption, s, error);
}

/* Of each rank, where there are most. */
static bool write_traffic(const struct ss_page *page, FILE *s, struct ss_error *error) {
  const struct ss_result *most = NULL;
  SS_AUTO_JSON cJSON *records = cJSON_CreateArray();
  for (size_t i = 0; i < page->results->count; i++) {
    const struct ss_result *r = &page->results->result[i];
    if (r->rank_sent && (!most || r->ranks > most->ranks)) most = r;
  }
  if (!most) return true;
  for (size_t i = 0; i < page->results->count; i++)
    if (ss_result_same_cell(most, &page->results->result[i]))
      cJSON_AddItemToArray(records, ss_result_json(&page->results->result[i]));
  const struct ss_plot_options options = {.file = "the page", .kind = "traffic"};
  return write_figure(page, &options, records, 2, "Bytes of each rank", s, error);
}

static bool write_figures(const struct ss_page *page, FILE *s, struct ss_error *error) {
  *page->lacking = (struct ss_error){0};
  begin_section("figures", "Figures", s);
  if (!write_times(page, s, error) || !write_traffic(page, s, error)) return false;
  if (page->lacking->text[0])
    ss_html_between("<p class=\"note\">Nothing could be drawn; the tables have the numbers: ", page->lacking->text,
                    "</p>\n", s);
  fputs("</section>\n", s);
  return true;
}

/* --- tables ------------------------------------------------------------------------------------------------- */

struct cell {
  const struct ss_result *first;
  size_t n;
};

static void write_name(const void *context, FILE *s) {
  const struct ss_result *r = ((const struct cell *)context)->first;
  ss_cell_print(r->ranks, r->cluster, r->at, r->tensor, s);
}

static bool write_cell(const struct cell *cell, bool folded, FILE *s, struct ss_error *error) {
  SS_AUTO_FREE char *name = ss_written(write_name, cell);
  SS_AUTO_JSON cJSON *records = ss_results_records(cell->first, cell->n);
  if (!name || !records) return ss_fail_memory(error, "writing a table");
  ss_html_between(folded ? "<details>\n<summary>" : "<h3>", name, folded ? "</summary>\n" : "</h3>\n", s);
  bool ok =
      ss_table_html_free(ss_results_block(records), "times", NULL, ss_results_winner(cell->first, cell->n), s, error);
  if (ok && ss_json_get(records->child, "links")->child)
    ok = ss_table_html_free(ss_results_links(records), "links",
                            "How busy its links are: the busiest of each kind / the mean of all of them", SIZE_MAX, s,
                            error);
  if (folded) fputs("</details>\n", s);
  return ok;
}

static void write_note(const char *head, const char *text, FILE *s) {
  fprintf(s, "<dt>%s</dt><dd>", head);
  ss_html_lines(text, s);
  fputs("</dd>\n", s);
}

static bool write_tables(const struct ss_page *page, FILE *s, struct ss_error *error) {
  const struct ss_results *all = page->results;
  size_t cells = 0, shown = 0;
  begin_section("tables", "All numbers", s);
  for (size_t i = 0; i < all->count; i += ss_results_in_cell(&all->result[i], all->count - i)) cells++;
  for (size_t i = 0; i < all->count && shown < CELLS_MAX; shown++) {
    const struct cell cell = {&all->result[i], ss_results_in_cell(&all->result[i], all->count - i)};
    if (!write_cell(&cell, cells > CELLS_OPEN, s, error)) return false;
    i += cell.n;
  }
  if (cells > shown)
    fprintf(s, "<p>%zu more tables: <code>sparsync run</code> with <code>--format csv</code> writes them all.</p>\n",
            cells - shown);
  fputs("<h3>What the columns mean</h3>\n<dl class=\"facts\">\n", s);
  if (!ss_results_notes(all, write_note, s, error)) return false;
  fputs("</dl>\n</section>\n", s);
  return true;
}

/* Closed forms of the results, each once, and where the paper is wrong. */
static bool write_forms(const struct ss_page *page, FILE *s, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<scheme", "scheme", NULL},     {"<exact", "formula", NULL},
                                             {"?<from", "formula_low", NULL}, {"?<to", "formula_high", NULL},
                                             {"?<as printed", "paper", NULL}, {"?<erratum", "erratum", NULL}};
  SS_AUTO_JSON cJSON *seen = cJSON_CreateObject(), *list = cJSON_CreateArray();
  char key[200];
  for (size_t i = 0; i < page->results->count; i++) {
    const struct ss_result *r = &page->results->result[i];
    /* their texts are the form's own */
    snprintf(key, sizeof key, "%.80s %p %p %p", r->setting.scheme->name, (const void *)r->formula,
             (const void *)r->formula_low, (const void *)r->paper);
    if ((!r->formula && !r->formula_low && !r->paper) || ss_json_get(seen, key)) continue;
    cJSON_AddNullToObject(seen, key);
    cJSON_AddItemToArray(list,
                         ss_json_object(SS_T("scheme", r->setting.label), SS_T("formula", r->formula),
                                        SS_T("formula_low", r->formula_low), SS_T("formula_high", r->formula_high),
                                        SS_T("paper", r->paper), SS_T("erratum", r->erratum)));
  }
  if (!list->child) return true;
  begin_section("formulas", "Closed forms", s);
  fputs("<p>Evaluated with the trace's measured density and gamma; docs/model.md has the symbols.</p>\n", s);
  const bool ok = ss_table_html_free(ss_records_table(columns, list), "texts", NULL, SIZE_MAX, s, error);
  fputs("</section>\n", s);
  return ok;
}

/* --- expectations ------------------------------------------------------------------------------------------- */

static void write_misses(const void *verdict, FILE *s) {
  ss_misses_print(verdict, "", s);
}

static void write_expectations(const struct ss_verdicts *verdicts, FILE *s) {
  if (verdicts->count == 0) return;
  begin_section("expectations", "Expectations", s);
  fputs("<ul>\n", s);
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

/* --- inputs ------------------------------------------------------------------------------------------------- */

static bool is_estimate(const char *text) {
  for (; *text; text++)
    if (strncasecmp(text, "estimate", 8) == 0) return true;
  return false;
}

/* An object as "latency 5us, bandwidth 130GB/s", what lies in it in brackets: "sort (t0 1.2e-06, per_byte 3e-11)". */
static void write_value(const void *context, FILE *s) {
  const cJSON *value = context;
  for (const cJSON *v = value->child; v; v = v->next) {
    const bool nested = v->child != NULL;
    if (v->string) fprintf(s, "%s ", v->string);
    if (nested) fputc('(', s);
    write_value(v, s);
    fprintf(s, "%s%s", nested ? ")" : "", v->next ? ", " : "");
  }
  if (cJSON_IsString(value)) fputs(value->valuestring, s);
  else if (cJSON_IsNumber(value)) fprintf(s, "%.6g", value->valuedouble);
  else if (!value->child) fputs(cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "none", s);
}

/* Is the field, or one within it, swept? */
static bool is_swept(const cJSON *sweep, const char *kind, const char *field) {
  char path[200];
  snprintf(path, sizeof path, "%s.%.100s", kind, field);
  const size_t n = strlen(path);
  for (const cJSON *axis = sweep ? sweep->child : NULL; axis; axis = axis->next)
    if (strncmp(axis->string, path, n) == 0 && (axis->string[n] == '\0' || axis->string[n] == '.')) return true;
  return false;
}

/* Words about the model are no inputs, and a network model of the one kind there is needs no source. */
static bool is_input(const char *key) {
  static const char *const words[] = {"name", "summary", "source", "notes", "model"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], key) == 0) return false;
  return true;
}

static bool write_model(const struct ss_page *page, const cJSON *entry, FILE *s, struct ss_error *error) {
  static const struct ss_column columns[] = {
      {"<field", "field", NULL}, {"<value", "value", NULL}, {"<source", "source", NULL}};
  const char *kind = ss_json_word(entry, "kind");
  const cJSON *model = ss_json_get(entry, "model"), *source = ss_json_get(model, "source");
  const char *name = ss_json_word(model, "name"), *summary = ss_json_word(model, "summary");
  SS_AUTO_JSON cJSON *fields = cJSON_CreateArray();
  for (const cJSON *f = model->child; f; f = f->next) {
    const cJSON *own = cJSON_IsObject(source) ? ss_json_get(source, f->string) : source;
    const bool swept = is_swept(page->sweep, kind, f->string);
    SS_AUTO_FREE char *value = ss_written(write_value, f);
    if (is_input(f->string))
      cJSON_AddItemToArray(fields, ss_json_object(SS_T("field", f->string), SS_T("value", swept ? "swept" : value),
                                                  SS_T("source", swept                 ? "the scenario's sweep"
                                                                 : cJSON_IsString(own) ? own->valuestring
                                                                                       : "not stated")));
  }
  fprintf(s, "<h3>%s ", strcmp(kind, "device") == 0 ? "Device" : "Cluster");
  ss_html_between("", name ? name : "inline", "</h3>\n", s);
  if (summary) ss_html_between("<p class=\"soft\">", summary, "</p>\n", s);
  return ss_table_html_free(ss_records_table(columns, fields), "texts", NULL, SIZE_MAX, s, error);
}

static bool write_traces(const struct ss_results *results, FILE *s, struct ss_error *error) {
  static const struct ss_column columns[] = {{"<trace", "trace", NULL},
                                             {"<hash of the file", "hash", NULL},
                                             {"iterations", "iterations", "%.0f"},
                                             {"seed", "seed", "%.0f"}};
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < results->count; i++) {
    const struct ss_result *r = &results->result[i];
    char hash[40];
    snprintf(hash, sizeof hash, "xxh64:%016llx", (unsigned long long)r->trace_hash);
    cJSON *line =
        ss_json_object(SS_T("trace", r->trace), SS_T("hash", r->trace_hash ? hash : "made from the scenario"),
                       SS_N("iterations", (double)r->iterations), SS_N("seed", (double)r->seed));
    bool known = false;
    for (const cJSON *l = list->child; l && !known; l = l->next) known = cJSON_Compare(l, line, true);
    if (known || !cJSON_AddItemToArray(list, line)) cJSON_Delete(line);
  }
  fputs("<h3>Traces</h3>\n", s);
  return ss_table_html_free(ss_records_table(columns, list), "texts", NULL, SIZE_MAX, s, error);
}

static bool write_inputs(const struct ss_page *page, FILE *s, struct ss_error *error) {
  SS_AUTO_FREE char *all = page->models ? cJSON_PrintUnformatted(page->models) : NULL;
  begin_section("inputs", "Inputs", s);
  if (all && is_estimate(all))
    fputs("<p>Some inputs are estimated, as their sources say; ranges draw them (docs/ranges.md).</p>\n", s);
  for (const cJSON *m = page->models ? page->models->child : NULL; m; m = m->next)
    if (!write_model(page, m, s, error)) return false;
  if (!write_traces(page->results, s, error)) return false;
  fputs("</section>\n", s);
  begin_section("reproduce", "To make this page again", s);
  fputs("<p>sparsync " SS_VERSION ", called as</p>\n<pre tabindex=\"0\"><code>", s);
  ss_html_lines(page->command, s);
  fputs("</code></pre>\n<p>or, without the files it named and its options, with the scenario that came of them:</p>\n"
        "<details><summary>The scenario, as JSON</summary>\n<pre tabindex=\"0\"><code>",
        s);
  ss_html_lines(page->scenario, s);
  fputs("</code></pre>\n</details>\n</section>\n", s);
  return true;
}

/* What the script reads, and the script. */
static bool write_script(const struct ss_page *page, FILE *s, struct ss_error *error) {
  const cJSON *varies[SS_PLACES];
  size_t axes, labels, left_out;
  SS_AUTO_JSON cJSON *records = drawn_records(page, varies, &axes, &labels, &left_out), *seen = cJSON_CreateObject();
  if (!records) return ss_fail_memory(error, "writing a page's numbers");
  SS_AUTO_JSON cJSON *series = cJSON_CreateArray();
  for (const cJSON *r = records->child; r; r = r->next) {
    const char *label = ss_json_word(r, "label");
    if (ss_json_get(seen, label)) continue;
    cJSON_AddNullToObject(seen, label);
    cJSON_AddItemToArray(series, cJSON_CreateString(label));
  }
  if (!ss_page_data_print(page, CELLS_MAX, series, s, error)) return false;
  fputs("<script>" SS_PAGE_SCRIPT "</script>\n", s);
  return true;
}

bool ss_page_print(const void *report, FILE *stream, struct ss_error *error) {
  const struct ss_page *page = report;
  write_head(page, stream);
  if (!write_answer(page, stream, error) || !write_figures(page, stream, error)) return false;
  write_expectations(&page->expectations, stream);
  if (!write_tables(page, stream, error) || !write_forms(page, stream, error) || !write_inputs(page, stream, error))
    return false;
  fputs("</main>\n", stream);
  if (!write_script(page, stream, error)) return false;
  fputs("</body>\n</html>\n", stream);
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
