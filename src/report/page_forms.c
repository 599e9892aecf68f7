#include "report/page_parts.h"

#include "base/memory.h"
#include "report/html.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* docs/model.md, "Symbols". */
static const struct symbol {
  const char *name, *meaning;
} symbols[] = {{"P", "ranks"},
               {"alpha", "time to start one message, s"},
               {"beta", "time per byte, 1/bandwidth, s/B"},
               {"R", "rows of the table"},
               {"w", "elements of a row"},
               {"v", "bytes of an element"},
               {"M", "R*w*v, the dense tensor, B"},
               {"lookups", "rows that a rank looks up in one iteration, duplicates counted"},
               {"nnz", "distinct rows among them"},
               {"d", "nnz/R, density"},
               {"index_bytes", "bytes of an index"},
               {"x", "nnz*(w*v + index_bytes): a rank's gradient with indices, B"},
               {"y", "nnz*w*v: the same without, B"},
               {"gamma", "densification ratio: rows of the union of k ranks over nnz; alone, of all ranks"},
               {"S", "servers, or aggregators of their own"},
               {"n", "elements of the tensor, R*w"},
               {"k", "entries that a rank selects"},
               {"B_1", "non-zero blocks of one rank"},
               {"B_P", "non-zero blocks of the union of all ranks"},
               {"b", "elements of a block"},
               {"D", "teams"},
               {"s_1", "skewness ratio of one rank over P even ranges of rows"},
               {"s_P", "the same of the union of all ranks"},
               {"L", "floor(log2(P))"},
               {"Q", "2^L"},
               {"q", "P - Q; of SparDL: ranks of a team, P/D"},
               {"f", "1 if q > 0, else 0"},
               {"c", "buckets in each hash of a sketch"},
               {"r", "hashes of a sketch"},
               {"gamma_sum", "of P: the sum of gamma(2^i), 2^i < P"},
               {"gamma_ring", "of P: the sum of gamma(1..P-1)"},
               {"gamma_halving", "of P: the sum of gamma(2^i)/2^(i+1), 2^i < P"},
               {"gamma_fold", "of P: the sum of gamma(2^i + min(q, 2^i)), i < L"},
               {"blocks", "non-zero blocks of the union of k ranks"},
               {"blocks_ring", "of P: the sum of blocks(1..P-1)"},
               {"blocks_halving", "of P: the sum of blocks(2^i)/2^(i+1), 2^i < P"},
               {"blocks_fold", "of P: the sum of blocks(2^i + min(q, 2^i)), i < L"},
               {"fold_sum", "of P: the sum of min(q, 2^i), i < L"},
               {"pow2", "1 for a power of two, else 0"},
               {NULL, NULL}};

/* Several labels may share a form. */
struct form {
  const struct ss_result *result;
  const struct ss_cost *cost; /* NULL: not found, which leaves its remarks out */
};

struct forms {
  struct form *form;
  size_t count;
};

static bool has_form(const struct ss_result *p) {
  return p->formula || p->formula_low || p->formula_high || p->paper;
}

/* Texts are the cost's own: their addresses tell forms apart. */
static bool same_form(const struct ss_result *a, const struct ss_result *b) {
  return a->setting.scheme == b->setting.scheme && a->formula == b->formula && a->formula_low == b->formula_low &&
         a->paper == b->paper && a->erratum == b->erratum;
}

static const struct ss_cost *cost_of(const struct ss_costs *costs, const struct ss_result *p) {
  for (size_t i = 0; i < costs->count; i++) {
    const struct ss_cost *c = ss_cost_way(&costs->cost[i], p->setting.exchange_sizes, p->setting.ragged);
    if (c && c->scheme == p->setting.scheme && c->exact == p->formula && c->exact_low == p->formula_low &&
        c->paper == p->paper && c->erratum == p->erratum)
      return c;
  }
  return NULL;
}

static bool collect(const struct ss_page *page, struct forms *out, struct ss_error *error) {
  const struct ss_results *results = page->results;
  out->form = ss_alloc_zero(results->count, sizeof *out->form);
  if (!out->form) return ss_fail_memory(error, "listing formulas");
  for (size_t i = 0; i < results->count; i++) {
    const struct ss_result *p = &results->result[i];
    size_t k = 0;
    if (!has_form(p)) continue;
    while (k < out->count && !same_form(out->form[k].result, p)) k++;
    if (k == out->count) out->form[out->count++] = (struct form){p, cost_of(page->costs, p)};
  }
  return true;
}

/* --- writing ------------------------------------------------------------------------------------------------ */

static void write_labels(const struct ss_results *results, const struct ss_result *form, FILE *s) {
  enum { NAMED = 12 };
  const char *seen[NAMED];
  size_t count = 0;
  for (size_t i = 0; i < results->count && count < NAMED; i++) {
    const struct ss_result *p = &results->result[i];
    size_t k = 0;
    if (!has_form(p) || !same_form(p, form)) continue;
    while (k < count && strcmp(seen[k], p->setting.label) != 0) k++;
    if (k < count) continue;
    ss_html_between(count ? "<br>" : "", p->setting.label, "", s);
    seen[count++] = p->setting.label;
  }
}

static void write_form(const char *form, const char *low, const char *high, FILE *s) {
  const char *const texts[] = {form, low, high};
  fputs("<td>", s);
  for (size_t i = 0; i < 3; i++) {
    if (!texts[i]) continue;
    ss_html_between(i == 1 ? "from <code>" : i == 2 ? " to <code>" : "<code>", texts[i], "</code>", s);
    if (i == 0) break;
  }
  if (!form && !low && !high) fputs("none", s);
  fputs("</td>", s);
}

static void write_remark(const char *head, const char *text, FILE *s) {
  if (!text) return;
  fprintf(s, "<dt>%s</dt><dd>", head);
  ss_html_between("", text, "</dd>\n", s);
}

static void write_remarks(const struct forms *forms, FILE *s) {
  for (size_t i = 0; i < forms->count; i++) {
    const struct form *f = &forms->form[i];
    if (!f->result->erratum && !(f->cost && (f->cost->assumes || f->cost->printed_in))) continue;
    ss_html_between("<h3>", f->result->setting.label, "</h3>\n<dl class=\"facts\">\n", s);
    write_remark("printed in", f->cost ? f->cost->printed_in : NULL, s);
    write_remark("assumes", f->cost ? f->cost->assumes : NULL, s);
    write_remark("erratum", f->result->erratum, s);
    fputs("</dl>\n", s);
  }
}

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool names(const char *form, const char *symbol) {
  const size_t n = strlen(symbol);
  for (const char *at = form; at && (at = strstr(at, symbol)); at++)
    if ((at == form || !in_word(at[-1])) && !in_word(at[n])) return true;
  return false;
}

static bool is_used(const struct forms *forms, const char *symbol) {
  for (size_t i = 0; i < forms->count; i++) {
    const struct ss_result *p = forms->form[i].result;
    const char *const texts[] = {p->formula, p->formula_low, p->formula_high, p->paper};
    for (size_t k = 0; k < 4; k++)
      if (names(texts[k], symbol)) return true;
  }
  return false;
}

static void write_symbols(const struct forms *forms, FILE *s) {
  fputs("<h3>Symbols</h3>\n<dl class=\"facts\">\n", s);
  for (const struct symbol *y = symbols; y->name; y++) {
    if (!is_used(forms, y->name)) continue;
    fprintf(s, "<dt><code>%s</code></dt><dd>", y->name);
    ss_html_between("", y->meaning, "</dd>\n", s);
  }
  fputs("</dl>\n", s);
}

static void write_section(const struct ss_page *page, const struct forms *forms, FILE *s) {
  fputs(
      "<section id=\"formulas\">\n<h2>Closed forms</h2>\n<p>Evaluated with the trace's measured density and gamma on "
      "one flat class of links. What the simulation adds to them, skew and shared links, is \"off by\" in the "
      "tables.</p>\n",
      s);
  ss_html_texts("texts", (const char *const[]){"scheme", "exact", "as printed", NULL}, s);
  for (size_t i = 0; i < forms->count; i++) {
    const struct ss_result *p = forms->form[i].result;
    const struct ss_cost *c = forms->form[i].cost;
    fputs("<tr><th scope=\"row\">", s);
    write_labels(page->results, p, s);
    fputs("</th>", s);
    write_form(p->formula, p->formula_low, p->formula_high, s);
    write_form(p->paper, c ? c->paper_low : NULL, c ? c->paper_high : NULL, s);
    fputs("</tr>\n", s);
  }
  ss_html_texts_end(s);
  write_remarks(forms, s);
  write_symbols(forms, s);
  fputs("</section>\n", s);
}

bool ss_page_forms(const struct ss_page *page, FILE *s, struct ss_error *error) {
  struct forms forms = {0};
  const bool ok = collect(page, &forms, error);
  if (ok && forms.count > 0) write_section(page, &forms, s);
  free(forms.form);
  return ok;
}
